/*
 * Evaluates a program over a data set: compares its outputs with those of the float model, and with labels.
 * docs/evaluate.md explains each number.
 */
#ifndef NUCLEON_EVALUATE_H
#define NUCLEON_EVALUATE_H

#include "nucleon/runner.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The meaning of the numbers of an output. */
enum nuc_task {
    NUC_TASK_AUTO,     /* as an option: derived from labels, model and shape; in a result: unknown */
    NUC_TASK_CLASSIFY, /* class scores along an axis, or class indices: one decision per other element */
    NUC_TASK_SEGMENT,  /* the same for pixels; the measure is the mean IoU */
    NUC_TASK_REGRESS   /* quantities; labels are the expected numbers */
};

#define NUC_TOP 5
#define NUC_CLASS_AXIS_AUTO (-1)
#define NUC_NO_LABEL INT64_MIN

/* The decisions of program and reference at one place. -1: no label, no reference, or undecided. */
struct nuc_disagreement {
    size_t sample, output, position; /* position: among the decisions of the sample */
    int64_t label, reference, program;
};

/*
 * Part `index`, from 1, of `count` parts of a data set. Of n samples it holds those from (index - 1) * n / count up to
 * index * n / count, rounded down. count 0: all samples.
 */
struct nuc_shard {
    size_t index, count;
};

/* Start from nuc_evaluate_options_default(). A gate of NaN requires nothing; a shard must have no gates. */
struct nuc_evaluate_options {
    enum nuc_task task;
    int class_axis;           /* NUC_CLASS_AXIS_AUTO, or the axis of the scores */
    int64_t ignore_label;     /* decisions with this label do not count; NUC_NO_LABEL: all count */
    size_t max_disagreements; /* the number of differing decisions to keep */
    struct nuc_shard shard;   /* the samples to evaluate; nuc_merge_evaluations() makes one evaluation of all shards */
    double min_accuracy;      /* percent of right decisions, of the worst output with labels; docs/evaluate.md */
    double min_agreement;     /* percent of equal decisions, of the worst output with classes */
    double min_sqnr;          /* dB, of the worst output that is not an integer */
    double max_false_alarms;  /* of a program's decision: events an hour, or percent of samples without anomaly */
    /* Called for every decision, in the order of samples, outputs and positions. May be NULL. */
    void (*decided)(void *user, const struct nuc_disagreement *decision);
    void *decided_user;
};
void nuc_evaluate_options_default(struct nuc_evaluate_options *options);

/*
 * The deviation of numbers from others. Elements that are not finite are counted, not summed: two equal ones (NaN, or
 * infinities of the same sign) count as equal; otherwise the errors are infinite.
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
     * Sums over the finite elements. The elements of a sample are added in their order, the sums of samples without
     * rounding; the result does not depend on the shards of a data set.
     */
    struct nuc_deviation_sums *sums; /* before they are rounded; not for callers */
    double signal;                   /* of the squares of what it is compared with, */
    double noise;                    /* of the squares of the differences, */
    double absolute;                 /* and of the absolute differences */
    double min, max;                 /* of what it is compared with, finite elements; max < min: there are none */
    double max_error;
    /* Derived from these; docs/evaluate.md has the formulas. */
    double sqnr_db; /* infinite: equal; -infinite: the errors are infinite or the signal is zero */
    double mse, mae;
    double psnr_db; /* peak: max - min */
};

/* Decisions against labels. */
struct nuc_label_score {
    size_t n;         /* with a label */
    size_t n_right;   /* the label has the highest score; ties go to the first class */
    size_t n_top;     /* the label is among the `top` highest */
    size_t top;       /* NUC_TOP, or the number of indices of the output; 0: too few scores to count */
    double mean_iou;  /* intersection over union of label and decision, mean over the classes that occur; 0 to 1 */
    size_t n_present; /* classes that occur in labels or decisions */
    const uint64_t *right, *labelled, *decided; /* by class: right decisions, labels, decisions */
    /* [n_classes][n_classes]: rows are labels, columns decisions; NULL above NUC_MAX_CONFUSION classes. */
    const uint64_t *confusion;
};

#define NUC_MAX_CONFUSION 1024

/* Decisions at the last steps of the sequences of a program with states. */
struct nuc_last_decisions {
    size_t n_decisions, n_agree; /* the latter: with the reference */
    size_t n_labelled, n_program_right, n_reference_right;
};

/* Steps `first` to `last` of all sequences, from 1: sums over the float32 outputs, as of struct nuc_deviation. */
struct nuc_step_score {
    size_t first, last;
    double signal, noise;
};

struct nuc_output_score {
    const char *name;               /* the reference's, else "output0", ... */
    struct nuc_tensor_info info;    /* as compared: float32 for an int8 output whose quantization is known */
    bool is_quantized;              /* the output is such an int8 output */
    bool is_integer;                /* integers or bool: share of equal elements instead of SQNR */
    struct nuc_deviation deviation; /* from the reference; without one only the counts of what is not finite */

    enum nuc_task task;
    const char *because; /* how the task was found, for people */
    bool is_guess;       /* by the shape alone */
    bool is_index;       /* the elements are class indices */
    size_t class_axis;   /* of scores */
    size_t n_classes;
    size_t n_decisions, n_undecided; /* the latter: of the program, because of NaN */
    size_t n_agree;                  /* with the reference */

    struct nuc_last_decisions last_step;
    bool labels_of_sequences;                                    /* a label for each sequence, at all of its steps */
    const char *labels;                                          /* the array; NULL: none */
    size_t n_ignored;                                            /* labels left out */
    struct nuc_label_score program_accuracy, reference_accuracy; /* of classes */
    struct nuc_deviation program_error, reference_error;         /* from the labels of a regression */
};

struct nuc_evaluation_origin;

/* How good decisions are (nucleon/decision.h); what a kind does not have is 0, what is not known NaN. */
struct nuc_decision_score {
    size_t n_labelled, n_found; /* boxes; points; events, and those noticed; anomalies, and those noticed */
    double map50, map;          /* boxes: mean average precision at an IoU of 0.5, and over 0.5 to 0.95 */
    double distance;            /* keypoints: mean, the input being 1 wide and high */
    size_t n_false, n_normal;   /* false alarms; samples that are no anomaly */
    double false_per_hour, delay_steps, delay_seconds; /* classes */
    double auc;                                        /* anomalies */
};

struct nuc_evaluation {
    size_t n_samples;
    size_t n_sequences; /* that the samples are steps of; 0: the program has no states */
    size_t n_steps;     /* spans of steps, each twice as long as the one before; without a reference 0 */
    const struct nuc_step_score *steps;
    struct nuc_step_score last_step;            /* of all sequences */
    struct nuc_shard shard;                     /* count 0: these are all */
    const struct nuc_evaluation_origin *origin; /* of a shard: its sources; not for callers */
    size_t n_data;
    const char *const *data; /* lines for people: the binding of the data set's arrays */
    bool has_reference;
    size_t n_outputs;
    const struct nuc_output_score *outputs;
    size_t n_class_names; /* of the program, or of folders of images; 0: classes have no names */
    const char *const *class_names;
    size_t n_disagreements; /* kept */
    const struct nuc_disagreement *disagreements;
    double seconds, program_seconds, reference_seconds; /* of a merged one: summed over its shards */
    double signal, noise; /* summed over the outputs that are not integers: the measure of quantization */
    const char *decision; /* "boxes", ...: the labels of the program's decisions are there; NULL: they are not */
    struct nuc_decision_score program_decisions, reference_decisions;
    const char *missed; /* the gates that are missed, one line; NULL: none */
};

/*
 * Runs the program over all samples. `reference` is the float model, or NULL; its inputs and outputs must match the
 * program's. Labels are the arrays "label" or "labels" (for the first output that they fit), and "label0", "label1",
 * ... and "label_NAME" (for that output). NUC_BAD_USAGE, before anything runs: a gate cannot be measured. The result
 * and the memory of the runs belong to the compiler. Calls `progress` of struct nuc_options.
 */
enum nuc_status nuc_evaluate(struct nuc_runner *program, struct nuc_dataset *data, struct nuc_model *reference,
                             const struct nuc_evaluate_options *options, const struct nuc_evaluation **out);

/* SQNR in dB over all outputs that are not integers; infinite as in struct nuc_deviation. */
double nuc_total_sqnr(const struct nuc_evaluation *e);

/* ---- node by node ---- */

struct nuc_channel_sums;

/* The value of one node of a quantized model, over all samples. */
struct nuc_node_score {
    const char *name, *float_name; /* of the node in the quantized model, and in the float one after its passes */
    const char *label;             /* a readable name: "layers.0.conv1", "layers.0/add" */
    const char *op;
    const char *module;                                                     /* path in the torch model; NULL: unknown */
    struct nuc_deviation float_quantized, quantized_program, float_program; /* the second judged against the first */
    /*
     * Whether equalization changed the scales of the value's channels. If so: SQNR of the quantized model and of the
     * program against the float model, after the channels are scaled back.
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
    /* Elements of the program's outputs, and those that differ after the quantized model is compiled again. */
    size_t n_elements, n_unequal;
};

/*
 * Compares float, quantized and compiled model at every node with a quantized value. nuc_evaluate() must have bound
 * `data`. `quantized` is the source of the program; it is compiled again with its inner values as outputs. Nodes match
 * if they come from the same call in the model's file and have the same operator and shape.
 */
enum nuc_status nuc_evaluate_nodes(struct nuc_runner *program, struct nuc_dataset *data, struct nuc_model *reference,
                                   struct nuc_model *quantized, const struct nuc_node_evaluation **out);

/*
 * Merges shards, in any order, into one evaluation. `files` hold the output of `nucleon evaluate --shard I/N --json` or
 * of nuc_evaluation_json(). All numbers except the seconds equal those of an evaluation without shards. Only the gates
 * of `options` count; NULL: no gates. `nodes` may be NULL; *nodes is NULL if the shards have no nodes. NUC_BAD_INPUT: a
 * file is no shard, or belongs to another program, model, data set, version or options, or a shard is missing or occurs
 * twice. NUC_BAD_USAGE: a gate cannot be measured. Each note of the shards is repeated once.
 */
enum nuc_status nuc_merge_evaluations(struct nuc_compiler *c, const char *const *files, size_t n_files,
                                      const struct nuc_evaluate_options *options, const struct nuc_evaluation **out,
                                      const struct nuc_node_evaluation **nodes);

/*
 * Returns one JSON object (docs/evaluate.md). For a shard it includes the data for nuc_merge_evaluations(). `nodes` may
 * be NULL. The text belongs to the compiler.
 */
enum nuc_status nuc_evaluation_json(struct nuc_compiler *c, const struct nuc_evaluation *e,
                                    const struct nuc_node_evaluation *nodes, const char **text);

#ifdef __cplusplus
}
#endif
#endif
