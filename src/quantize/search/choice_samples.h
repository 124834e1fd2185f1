/*
 * Calibration samples that are kept, with the outputs of the float graph, to compare quantized graphs on. They are
 * spread evenly over all samples: when there is room for no more, every other one makes room.
 */
#ifndef NUC_QUANTIZE_SEARCH_CHOICE_SAMPLES_H
#define NUC_QUANTIZE_SEARCH_CHOICE_SAMPLES_H

#include <limits.h>

#include "eval/eval.h"
#include "quantize/search/score.h"

#define NUC_CHOICE_MOST 32

/*
 * Samples are held out in folds of neighbours, as neighbours may be of one recording. For sums that are kept while
 * samples come, a fold has whole blocks of one, two, four, ... samples, of which there are at most NUC_MOST_BLOCKS.
 */
#define NUC_MOST_BLOCKS 16
#define NUC_MOST_FOLDS 4
#define NUC_NO_FOLD UINT_MAX

unsigned nuc_n_folds(size_t n_samples);
unsigned nuc_sample_fold(size_t number, size_t n_samples);

struct nuc_choice_sample {
    void **inputs, **outputs; /* outputs: of the float graph */
    float **values;           /* by score */
    unsigned part;
    size_t number; /* among those seen */
};

struct nuc_choice_samples {
    size_t wanted, count, n_inputs, n_outputs;
    size_t seen, stride;      /* every stride-th of those seen is kept */
    struct nuc_score *scores; /* of the float graph */
    size_t n_scores;
    double *signal; /* by score: summed over all samples; from nuc_choice_signals() on */
    struct nuc_choice_sample kept[NUC_CHOICE_MOST];
};

/*
 * The half that sample `number` of a calibration belongs to, 0 or 1: each has as many, also of every second, fourth,
 * ... sample, and neighbours are not always in different ones.
 */
unsigned nuc_sample_part(size_t number);

/* Of so many of them, from the first on, some are in each half. */
bool nuc_has_both_parts(const struct nuc_choice_samples *s, size_t count);

/* After the last sample. */
void nuc_choice_signals(struct nuc_context *cx, struct nuc_choice_samples *s);

/* Those that are of `which`. They share the memory of `all`. */
struct nuc_choice_samples nuc_samples_of(const struct nuc_choice_samples *all, const unsigned *of, unsigned which);

/*
 * The mean of what samples gain by a choice, less `errors` standard errors of that mean: what is gained beyond chance
 * if it is more than 0. One sample, or several that gain the same, are no evidence: 0.
 */
double nuc_sure_gain(const double *gains, size_t count, double errors);

/*
 * Whether that may be more than `least` when gains[k] of the first `known` samples are what they are and those of the
 * others no more than what they are: samples that cannot change a choice need not be run.
 */
bool nuc_may_gain(const double *gains, size_t known, size_t count, double errors, double least);

/* The mean of what samples lose, and `errors` standard errors of that mean more. */
double nuc_most_loss(const double *losses, size_t count, double errors);

/*
 * What errors of samples fall by, beyond chance in the mean of the errors, after a share of those before is taken off,
 * and in the mean of their logarithms: a few samples may make most of the error while all others lose. 0: they do not.
 */
double nuc_sure_fall(const double *before, const double *after, size_t count, double share, double errors);

/* Products (ir/work.h) or what takes as long, of a node and of one run of a graph. */
double nuc_node_cost(const struct nuc_node *node);
double nuc_run_cost(const struct nuc_graph *g);

/* Room for as many samples as a graph of that nuc_run_cost() makes cheap, 8 at least. */
struct nuc_choice_samples *nuc_choice_samples_new(struct nuc_graph *g, double cost);

/* Whether one more sample is kept, for as long as later ones do not take its place. */
bool nuc_choice_keep(struct nuc_choice_samples *s);

/* After that was asked for all samples that run at the same time: makes room for one that is kept, with its inputs. */
void nuc_choice_copy(struct nuc_context *cx, struct nuc_choice_samples *s, const struct nuc_evaluator *e,
                     struct nuc_choice_sample *kept, const void *const *inputs);

/* While it runs: the values of a node, which may be a score's. */
void nuc_choice_see(const struct nuc_choice_samples *s, struct nuc_choice_sample *kept, const struct nuc_node *node,
                    const void *data);

/* After it has run. */
void nuc_choice_see_outputs(struct nuc_choice_sample *kept, const struct nuc_evaluator *e);

#endif
