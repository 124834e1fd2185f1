/*
 * What a program is worth: its outputs over a data set against the float model it was made of, and against labels.
 * docs/evaluate.md says what each number means.
 */
#ifndef NUCLEON_EVALUATE_H
#define NUCLEON_EVALUATE_H

#include "nucleon/runner.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the numbers of an output are. */
enum nuc_task {
    NUC_TASK_AUTO,     /* as an option: found by labels, model and shape; in a result: numbers of no known meaning */
    NUC_TASK_CLASSIFY, /* scores of classes along an axis, or class indices: one decision for each of the others */
    NUC_TASK_SEGMENT,  /* the same for pixels: mean IoU is what counts */
    NUC_TASK_REGRESS   /* quantities: labels are the numbers themselves */
};

#define NUC_TOP 5
#define NUC_CLASS_AXIS_AUTO (-1)
#define NUC_NO_LABEL INT64_MIN

/* What program and reference decide at one place. -1: no label, no reference, or undecided. */
struct nuc_disagreement {
    size_t sample, output, position; /* position: among the decisions of the sample */
    int64_t label, reference, program;
};

/*
 * One of `count` parts of a data set, `index` from 1 on: of n samples, in their order, those from (index - 1) * n /
 * count up to index * n / count, rounded down. count 0: all samples.
 */
struct nuc_shard {
    size_t index, count;
};

/* Start from nuc_evaluate_options_default(). Gates that are NaN demand nothing; a shard has none. */
struct nuc_evaluate_options {
    enum nuc_task task;
    int class_axis;           /* NUC_CLASS_AXIS_AUTO, or the axis of the scores */
    int64_t ignore_label;     /* decisions with this label are left out; NUC_NO_LABEL: none are */
    size_t max_disagreements; /* decisions that differ between program and reference to keep */
    struct nuc_shard shard;   /* the samples to evaluate; nuc_merge_evaluations() makes one evaluation of all shards */
    double min_accuracy;      /* percent of right decisions, of the worst output with labels */
    double min_agreement;     /* percent of equal decisions, of the worst output with classes */
    double min_sqnr;          /* dB, of the worst output that is not an integer */
    /* Told every decision, in the order of samples, outputs and positions; NULL: nobody is. */
    void (*decided)(void *user, const struct nuc_disagreement *decision);
    void *decided_user;
};
void nuc_evaluate_options_default(struct nuc_evaluate_options *options);

/*
 * How far numbers are from others. Elements that are not finite are counted, not summed: where both have the same (NaN,
 * or an infinity of one sign) they are equal; where not, the errors are infinite.
 */
struct nuc_deviation_sums;

struct nuc_deviation {
    size_t n_elements;
    size_t n_equal;         /* the same value */
    size_t n_nan;           /* NaN in what is judged, */
    size_t n_infinite;      /* infinities in it, */
    size_t n_of_not_finite; /* elements of what it is compared with that are not finite, */
    size_t n_not_finite;    /* elements where either is not, */
    size_t n_broken;        /* and those of them that differ */
    /*
     * Sums over the finite elements: a sample's are added in the order of its elements, those of samples without
     * rounding, so that they do not depend on how a data set is cut into shards.
     */
    struct nuc_deviation_sums *sums; /* before they are rounded; not for callers */
    double signal;                   /* of the squares of what it is compared with, */
    double noise;                    /* of the squares of the differences, */
    double absolute;                 /* and of the absolute differences */
    double min, max;                 /* of what it is compared with, finite elements; max < min: there are none */
    double max_error;
    /* What follows from these; docs/evaluate.md has the formulas. */
    double sqnr_db; /* infinite: equal; -infinite: the errors are infinite or the signal is zero */
    double mse, mae;
    double psnr_db; /* peak: max - min */
};

/* Decisions against labels. */
struct nuc_label_score {
    size_t n;         /* with a label */
    size_t n_right;   /* the label has the highest score: the first of equals counts */
    size_t n_top;     /* the label is among the `top` highest */
    size_t top;       /* NUC_TOP, or the indices an output gives; 0: not counted, there are not more scores */
    double mean_iou;  /* intersection over union of label and decision, mean over the classes that occur; 0 to 1 */
    size_t n_present; /* classes that occur in labels or decisions */
    const uint64_t *right, *labelled, *decided; /* by class: right decisions, labels, decisions */
    /* [n_classes][n_classes]: rows are labels, columns decisions; NULL above NUC_MAX_CONFUSION classes. */
    const uint64_t *confusion;
};

#define NUC_MAX_CONFUSION 1024

struct nuc_output_score {
    const char *name;               /* the reference's, else "output0", ... */
    struct nuc_tensor_info info;    /* as compared: float32 for an int8 output whose quantization is known */
    bool is_quantized;              /* that is so */
    bool is_integer;                /* integers or bool: share of equal elements instead of SQNR */
    struct nuc_deviation deviation; /* from the reference; without one only the counts of what is not finite */

    enum nuc_task task;
    const char *because; /* how that was found, for people */
    bool is_guess;       /* by the shape alone */
    bool is_index;       /* the elements are class indices */
    size_t class_axis;   /* where they are scores */
    size_t n_classes;
    size_t n_decisions, n_undecided; /* the latter: of the program, because of NaN */
    size_t n_agree;                  /* with the reference */

    const char *labels;                                          /* the array; NULL: none */
    size_t n_ignored;                                            /* labels left out */
    struct nuc_label_score program_accuracy, reference_accuracy; /* of classes */
    struct nuc_deviation program_error, reference_error;         /* from the labels of a regression */
};

struct nuc_evaluation_origin;

struct nuc_evaluation {
    size_t n_samples;
    struct nuc_shard shard;                     /* count 0: these are all */
    const struct nuc_evaluation_origin *origin; /* of a shard: what it was made of; not for callers */
    size_t n_data;
    const char *const *data; /* lines for people: what the data set's arrays are bound to */
    bool has_reference;
    size_t n_outputs;
    const struct nuc_output_score *outputs;
    size_t n_class_names; /* of the program, or of folders of images; 0: classes have no names */
    const char *const *class_names;
    size_t n_disagreements; /* kept */
    const struct nuc_disagreement *disagreements;
    double seconds, program_seconds, reference_seconds; /* of a merged one: summed over its shards */
    double signal, noise; /* summed over the outputs that are not integers: the measure of quantization */
    const char *missed;   /* the gates that do not hold, one line; NULL: all hold */
};

/*
 * Runs the program over all samples. `reference` is the float model, or NULL; its inputs and outputs must be the
 * program's. Labels are the arrays "label" or "labels" (of the first output that they fit), "label0", "label1", ...
 * and "label_NAME" (of that output). NUC_BAD_USAGE before anything runs when a gate cannot be measured. The result
 * belongs to the compiler, as does the memory of the program's runs. Takes `progress` of struct nuc_options.
 */
enum nuc_status nuc_evaluate(struct nuc_runner *program, struct nuc_dataset *data, struct nuc_model *reference,
                             const struct nuc_evaluate_options *options, const struct nuc_evaluation **out);

/* SQNR in dB of all outputs that are not integers together; infinite as in struct nuc_deviation. */
double nuc_total_sqnr(const struct nuc_evaluation *e);

/* ---- node by node ---- */

struct nuc_channel_sums;

/* The value of one node of a quantized model, over all samples. */
struct nuc_node_score {
    const char *name, *float_name; /* of the node in the quantized model, and in the float one after its passes */
    const char *label;             /* what people call it: "layers.0.conv1", "layers.0/add" */
    const char *op;
    const char *module;                                                     /* path in the torch model; NULL: unknown */
    struct nuc_deviation float_quantized, quantized_program, float_program; /* the second judged against the first */
    /*
     * The quantized model has the channels of the value in other scales, as equalization leaves them: SQNR against the
     * float model after they are scaled back, of the quantized model and of the program.
     */
    bool is_rescaled;
    double rescaled_quantized_db, rescaled_program_db;
    const struct nuc_channel_sums *channels; /* not for callers */
};

struct nuc_node_evaluation {
    const char *origin; /* of a shard: the quantized model; not for callers */
    size_t n_nodes;
    const struct nuc_node_score *nodes; /* in graph order */
    size_t n_unmatched;
    const char *const *unmatched; /* nodes of the quantized model without a counterpart in the float one */
    /* Outputs of the program, and those of them that compiling the quantized model again makes differently. */
    size_t n_elements, n_unequal;
};

/*
 * Compares float, quantized and compiled model at every node whose value is quantized. `data` is bound, by
 * nuc_evaluate(); `quantized` is what the program was compiled from, and is compiled again with its inner values as
 * outputs. Nodes are matched by the call of the model's file that they are made of, operator and shape.
 */
enum nuc_status nuc_evaluate_nodes(struct nuc_runner *program, struct nuc_dataset *data, struct nuc_model *reference,
                                   struct nuc_model *quantized, const struct nuc_node_evaluation **out);

/*
 * One evaluation of its shards, in any order: `files` hold what `nucleon evaluate --shard I/N --json` printed, or what
 * nuc_evaluation_json() gave. Every number is that of an evaluation without shards, but the seconds. Of `options` the
 * gates count; NULL: there are none. `nodes` may be NULL; *nodes is NULL when the shards have none. NUC_BAD_INPUT when
 * a file is no shard, or one of another program, model, data set, version or options, when a shard is missing or there
 * twice; NUC_BAD_USAGE when a gate cannot be measured. Notes of the shards are given again, each once.
 */
enum nuc_status nuc_merge_evaluations(struct nuc_compiler *c, const char *const *files, size_t n_files,
                                      const struct nuc_evaluate_options *options, const struct nuc_evaluation **out,
                                      const struct nuc_node_evaluation **nodes);

/*
 * One JSON object (docs/evaluate.md); of a shard with what nuc_merge_evaluations() needs. `nodes` may be NULL. The text
 * belongs to the compiler.
 */
enum nuc_status nuc_evaluation_json(struct nuc_compiler *c, const struct nuc_evaluation *e,
                                    const struct nuc_node_evaluation *nodes, const char **text);

#ifdef __cplusplus
}
#endif
#endif
