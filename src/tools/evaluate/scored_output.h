/* An evaluation under way: outputs, their labels, what is counted. */
#ifndef NUC_TOOLS_EVALUATE_SCORED_OUTPUT_H
#define NUC_TOOLS_EVALUATE_SCORED_OUTPUT_H

#include <jansson.h>

#include "data/dataset.h"
#include "data/metadata.h"
#include "host/call.h"
#include "host/text.h"
#include "introspect/introspect.h"
#include "nucleon/evaluate.h"
#include "tools/evaluate/exact_sum.h"

/* ---- numbers (deviation.c) ---- */

/* Numbers above are infinite here: sums of their squares are not. */
#define NUC_LARGEST 1e150

/* The sums of a deviation before they are rounded. */
struct nuc_deviation_sums {
    struct nuc_exact_sum signal, noise, absolute;
};

/*
 * Adds `count` elements of `x`, judged against those of `of`; a zeroed struct is the empty sum. Within a call elements
 * are summed in their order, calls without rounding: with a call for each sample, samples may be cut into parts.
 */
void nuc_deviation_add(struct nuc_context *cx, struct nuc_deviation *d, enum nuc_dtype of_type, const void *of,
                       enum nuc_dtype x_type, const void *x, size_t count);

/* Adds the elements of another one. */
void nuc_deviation_merge(struct nuc_context *cx, struct nuc_deviation *to, const struct nuc_deviation *from);

/* Counts what is not finite in `x` alone. */
void nuc_deviation_count(struct nuc_deviation *d, enum nuc_dtype type, const void *x, size_t count);

/* The members that follow from the sums. */
void nuc_deviation_finish(struct nuc_deviation *d);

/* ---- decisions (classes.c) ---- */

/* Where the scores of one decision lie among an output's elements: `classes` of them, `inner` elements apart. */
struct nuc_scores {
    size_t outer, classes, inner;
    bool is_index;  /* elements are classes themselves: the best first, as topk gives them */
    bool is_binary; /* one score for two classes: 1 above the threshold */
    double threshold;
};

#define NUC_UNDECIDED (-1)

size_t nuc_decisions(const struct nuc_scores *s);

/* The class with the highest score, the first of equals; NUC_UNDECIDED where a score is NaN. */
int64_t nuc_decide(const struct nuc_scores *s, enum nuc_dtype type, const void *data, size_t decision);

/* How many of the best are looked at for a label: NUC_TOP, or as many indices as there are; 0: that says nothing. */
size_t nuc_top_of(const struct nuc_scores *s);

/* Whether the label is among the NUC_TOP highest scores; of equal ones the first counts. */
bool nuc_is_in_top(const struct nuc_scores *s, enum nuc_dtype type, const void *data, size_t decision, int64_t label);

/* Decisions against labels so far. Those that are no class (undecided, or beyond the labels' classes) are wrong. */
struct nuc_tally {
    size_t n_classes, n, n_right, n_top;
    uint64_t *right, *labelled, *decided; /* by class */
    uint64_t *confusion;                  /* NULL: too many classes */
};

void nuc_tally_init(struct nuc_context *cx, struct nuc_tally *t, size_t n_classes);
void nuc_tally_add(struct nuc_tally *t, int64_t label, int64_t decision, bool in_top);
void nuc_tally_merge(struct nuc_tally *to, const struct nuc_tally *from);
struct nuc_label_score nuc_tally_accuracy(const struct nuc_tally *t, size_t top);

/* ---- outputs ---- */

struct nuc_scored_output {
    struct nuc_output_score *score;
    enum nuc_dtype program_type, reference_type;
    size_t n_elements;
    struct nuc_scores scores;
    const int64_t *labels;                /* one per decision and sample; NULL: none */
    const struct nuc_array_info *targets; /* the numbers of a regression; NULL: none */
    struct nuc_tally program, reference;
    int64_t *program_decisions, *reference_decisions; /* of the sample under way */
};

struct nuc_scoring {
    struct nuc_context *cx;
    struct nuc_compiler *c;
    const struct nuc_evaluate_options *options;
    struct nuc_runner *runner;
    struct nuc_dataset *data;
    struct nuc_model *reference; /* NULL: none */
    struct nuc_evaluation *result;
    struct nuc_output_score *scores; /* of the result */
    struct nuc_scored_output *outputs;
    size_t first; /* sample of the data set that is the result's first one */
    struct nuc_disagreement *disagreements;
    size_t room;  /* for how many */
    bool insists; /* the array under way belongs to the output or nowhere: what does not fit is refused */
    struct nuc_step_score *steps;           /* of the result */
    size_t step;                            /* of the sequence under way, from 1 */
    bool of_sequences;                      /* the array under way has a label for each */
    struct nuc_decision_scoring *decisions; /* NULL: there are none, or no labels of them */
    /* Of the samples that run side by side: `batch` times those of one. */
    size_t batch;
    void **batch_inputs, **batch_outputs;
    const void **inputs;                       /* of one, as the data set gives them */
    void **program_blocks, **reference_blocks; /* of the sample under way */
};

/*
 * Sets where the scores are: along `axis`; or the elements themselves are class indices, the last `ranks` of them for
 * one decision.
 */
void nuc_scores_along(struct nuc_scored_output *o, size_t axis);
void nuc_scores_are_indices(struct nuc_scored_output *o, size_t ranks);

/* Fails unless the output has classes along the axis, which --class-axis may name (tasks.c). */
void nuc_check_class_axis(const struct nuc_scoring *s, const struct nuc_output_score *o, size_t axis);

/* What the reference's graph says of an output; without a reference nothing (tasks.c). */
struct nuc_output_facts nuc_scored_facts(const struct nuc_scoring *s, size_t output);

/* Finds the labels of all outputs (class_labels.c), then the tasks of those without (tasks.c). Fail with the remedy. */
void nuc_find_labels(struct nuc_scoring *s);

/*
 * Notes labels of the data set `path` that do not fit the decisions: counted from 1 or without a class in front, of one
 * class alone, or right as seldom as by chance.
 */
void nuc_note_doubtful_labels(struct nuc_context *cx, const char *path, const struct nuc_evaluation *e);
void nuc_find_tasks(struct nuc_scoring *s);

/* ---- sequences of programs with states (sequences.c) ---- */

/*
 * Gives an array of labels the axis of samples in place of those of sequences and steps. True: it has a label for each
 * sequence, which all of its steps have then.
 */
bool nuc_label_steps(const struct nuc_scoring *s, struct nuc_array_info *a);

void nuc_open_sequences(struct nuc_scoring *s);

/* Counts a sample whose decisions are made. */
void nuc_count_step(struct nuc_scoring *s, size_t sample);

/* Members "sequences" of an evaluation's JSON, and "last_step" of the classes of an output. */
void nuc_put_sequences(struct nuc_context *cx, json_t *to, const struct nuc_evaluation *e);
void nuc_put_last_decisions(struct nuc_context *cx, json_t *to, const struct nuc_evaluation *e,
                            const struct nuc_output_score *score);

/* ---- decisions that the program carries (decision_score.c) ---- */

struct nuc_decision_scoring;

/* Whether the array is the labels of these, and of no output. */
bool nuc_is_decision_label(const struct nuc_scoring *s, const char *name);
void nuc_open_decision_scores(struct nuc_scoring *s);
void nuc_count_decision(struct nuc_scoring *s, size_t sample);
void nuc_finish_decisions(struct nuc_scoring *s);
void nuc_put_decision_scores(struct nuc_context *cx, json_t *to, const struct nuc_evaluation *e);

/* ---- channels in another scale (channel_rescale.c) ---- */

/* Products of float (F), quantized (Q) and compiled (P) values of one channel, summed. */
enum nuc_product { NUC_FF, NUC_FQ, NUC_QQ, NUC_FP, NUC_PP, NUC_N_PRODUCTS };

struct nuc_channel_sum {
    struct nuc_exact_sum of[NUC_N_PRODUCTS];
};

struct nuc_channel_sums {
    size_t rank, sizes[NUC_MAX_RANK];
    size_t n_elements;
    size_t n_axes; /* where the channels may be: 1 and the last */
    struct nuc_channel_sum *of[2];
    double (*sample)[NUC_N_PRODUCTS]; /* by channel: of the sample under way */
};

void nuc_channel_sums_init(struct nuc_context *cx, struct nuc_channel_sums *s, const struct nuc_tensor_info *t);

/* Channels along one of its axes. */
size_t nuc_channel_count(const struct nuc_channel_sums *s, size_t which);

/* The elements of one sample; samples are added without rounding. */
void nuc_channel_sums_add(struct nuc_context *cx, struct nuc_channel_sums *s, const float *f, const float *q,
                          const float *p, size_t count);
void nuc_channel_sums_merge(struct nuc_context *cx, struct nuc_channel_sums *to, const struct nuc_channel_sums *from);

/* Sets the rescaled members of a finished score, where scaling its channels back explains most of the error. */
void nuc_channel_sums_finish(const struct nuc_channel_sums *s, struct nuc_node_score *score);

/* Measures that follow from the sums of a node. */
void nuc_finish_node(struct nuc_node_score *score);

/* ---- JSON (evaluate_json.c) ---- */

/* By enum nuc_task; NULL of NUC_TASK_AUTO. */
extern const char *const nuc_task_names[];

/* A member of a struct, and its name in the JSON. */
struct nuc_member {
    const char *key;
    size_t offset;
};

/* The deviations of a node, members of struct nuc_node_score. */
enum { NUC_NODE_DEVIATIONS = 3 };
extern const struct nuc_member nuc_node_deviations[NUC_NODE_DEVIATIONS];

static inline struct nuc_deviation *nuc_node_deviation(const struct nuc_node_score *s, size_t which)
{
    return (struct nuc_deviation *)((uintptr_t)s + nuc_node_deviations[which].offset);
}

/* What nuc_evaluation_json() has but the seconds; confusion matrices of at most `most_classes` classes. */
void nuc_put_evaluation(struct nuc_context *cx, json_t *to, const struct nuc_evaluation *e, size_t most_classes);

/* Measures that follow from the sums and counts of all outputs, which are the evaluation's. */
void nuc_finish_evaluation(struct nuc_evaluation *e, struct nuc_output_score *outputs);

/* ---- shards (shard.c) ---- */

/* Of an evaluation whose samples still are all of the data set. */
const struct nuc_evaluation_origin *nuc_origin_of(const struct nuc_scoring *s);

/* Fails when there is no such shard, or something is asked of it that only all samples have. */
void nuc_check_shard(struct nuc_context *cx, const struct nuc_evaluate_options *o);

/* Its first sample, of n; that of the shard after the last one is n. */
size_t nuc_shard_first(struct nuc_shard shard, size_t n);

/* Member "shard" of an evaluation's JSON. */
void nuc_put_shard(struct nuc_context *cx, json_t *to, const struct nuc_evaluation *e,
                   const struct nuc_node_evaluation *nodes);

/* ---- gates (gates.c) ---- */

/* Fails when one is demanded that cannot be measured. */
void nuc_check_gates(struct nuc_context *cx, const struct nuc_evaluation *e, const struct nuc_evaluate_options *o);

/* One line that names what is missed; NULL: nothing is. */
const char *nuc_missed_gates(struct nuc_context *cx, const struct nuc_evaluation *e,
                             const struct nuc_evaluate_options *o);

#endif
