/*
 * Rounding of the weights of one layer, or of a group or block of its inputs, by what the layer is to give. With
 * residuals D = Y - (W X + b) between the float network's results Y and those of the float weights on the quantized
 * network's inputs X, rounded weights W + E on a grid and a bias b + c are looked for with least
 *
 *     ||D - E X - c||^2
 *
 * over the columns, so that they also take back what earlier layers did to X. Weights are rounded one after the other
 * and the error of each is passed on to those after it, which is Babai's nearest plane in the lattice that the Cholesky
 * factor of X X^T spans; then single weights move to a neighbour as long as one gains. Sources: Frantar et al., "GPTQ",
 * ICLR 2023 (order and passing on of errors); Nagel et al., "Up or down? Adaptive rounding", ICML 2020, section 3.3
 * (inputs of the quantized network, results of the float one).
 *
 * Few samples say little about many inputs: entries of X X^T off its diagonal and of D X^T shrink by the share of their
 * power that is chance, which their spread over batches of columns tells. Source: Schaefer, Strimmer, "A shrinkage
 * approach to large-scale covariance matrix estimation", SAGMB 2005, section 2.
 *
 * Halves of the columns decide what is taken: of what is found on one half, what does better on the other. The errors
 * of the weights alone decide whether they are rounded so at all, since what is left of the residuals depends on the
 * samples far more.
 */
#ifndef NUC_QUANTIZE_SEARCH_ROUND_SOLVE_H
#define NUC_QUANTIZE_SEARCH_ROUND_SOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eval/eval_parallel.h"

/* Columns [begin, end) that belong together, as those of one sample. */
struct nuc_round_batch {
    size_t begin, end;
    unsigned half; /* 0 or 1 */
};

/* From what changes nothing to what changes most. */
enum nuc_round_way {
    NUC_WAY_NEAREST,           /* as without any of this */
    NUC_WAY_NEAREST_CENTRED,   /* with a bias that takes off what the weights do to the mean */
    NUC_WAY_ROUNDED,           /* with the least error of the weights, and such a bias */
    NUC_WAY_ROUNDED_TO_MEAN,   /* with a bias that takes off what the inputs do to the mean, too */
    NUC_WAY_ROUNDED_TO_RESULT, /* and weights that take off what they do otherwise */
    NUC_WAYS
};

struct nuc_round_problem {
    uint32_t depth, out;
    size_t stride;        /* of the rows of inputs and residuals */
    float *inputs;        /* [depth][stride], centred by the call where the bias may change */
    float *residuals;     /* [out][stride], the same */
    const float *weights; /* [out][depth] */
    const float *scales;  /* of each output, for rounding to the nearest */
    float most;           /* integers are -most .. most */
    uint32_t n_batches;
    const struct nuc_round_batch *batches;
    bool moves_bias;             /* c may be other than 0 */
    enum nuc_round_way most_way; /* which is tried */
    bool moves_scales;           /* an output may have a smaller scale, at which the largest weights are cut off */
};

struct nuc_round_solution {
    int8_t *integers;    /* [out][depth] */
    float *scales;       /* [out] */
    double *bias_change; /* [out] */
    bool rounds;         /* not all of them are the nearest ones */
};

struct nuc_rounder;

/* Memory for problems of up to `depth`, `out` and `batches`. The pool may be NULL: the caller's thread alone. */
struct nuc_rounder *nuc_rounder_new(struct nuc_context *cx, struct nuc_pool *pool, uint32_t depth, uint32_t out,
                                    uint32_t batches);

/* Allocates nothing. Arrays of the solution are the caller's. Does not depend on threads. */
void nuc_round(struct nuc_rounder *r, const struct nuc_round_problem *p, struct nuc_round_solution *s);

#endif
