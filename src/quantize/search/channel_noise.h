/*
 * An estimate of the noise of quantization that depends on the factors of channels (channel_factors.h), and factors
 * that make it small. Steps of s give noise of s^2 / 12. That of a value goes through the weights that read it; that of
 * a weight is multiplied with the power of what it reads. Both count relative to the power of what the layer gives, and
 * all layers count alike.
 *
 * A range is a maximum of values divided by factors, noise a sum of squared factors, so that the estimate is a sum of
 * products of such terms: it is convex in the logarithms of the factors.
 */
#ifndef NUC_QUANTIZE_SEARCH_CHANNEL_NOISE_H
#define NUC_QUANTIZE_SEARCH_CHANNEL_NOISE_H

#include "quantize/search/channel_labels.h"

/* Steps of a value in all, and of a weight on each side of 0. */
#define NUC_STEPS_OF_VALUES 255.0
#define NUC_STEPS_OF_WEIGHTS 127.0

/* A channel of a value: what it reaches above and below 0, and what its noise counts. */
struct nuc_noise_share {
    nuc_label label;
    float above, below;
    double weight;
    bool squared; /* its factor is the square of the label's */
};

/* Values that have one scale. */
struct nuc_noise_tensor {
    struct nuc_noise_share *shares;
    uint32_t count;
    size_t capacity;
};

/* A weight of `groups` groups: what is read is multiplied by factors, what is written divided. */
struct nuc_noise_matrix {
    uint32_t out, in, groups;        /* outputs and inputs of all groups */
    bool per_output;                 /* a scale for each output: its own factor makes no difference */
    const nuc_label *written, *read; /* by output, by input */
    const float *largest;            /* by output, then input of its group: over the taps */
    const double *power;             /* by input: of what is read, as it counts in each output */
};

struct nuc_noise_model {
    struct nuc_context *cx;
    uint32_t n_labels;
    double *lowest; /* by label: of the logarithm of its factor, which is 0 at most */
    uint32_t n_tensors, n_matrices;
    struct nuc_noise_tensor *tensors;
    struct nuc_noise_matrix *matrices;
};

/* Labels are roots of their sets, or NUC_ANY_LABEL, whose factor is 1. Shares of one label in a tensor become one. */
void nuc_noise_add_share(struct nuc_noise_model *m, uint32_t tensor, struct nuc_noise_share share);

/* Sets exponents[label]. Returns the decibels by which the estimate falls from where all are 0, 0 for none. */
double nuc_noise_reduce(struct nuc_noise_model *m, double *exponents);

#endif
