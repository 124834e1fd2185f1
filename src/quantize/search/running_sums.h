/* States that are sums of what came before, and what int8 loses of them over a sequence (running_sums.c). */
#ifndef NUC_QUANTIZE_SEARCH_RUNNING_SUMS_H
#define NUC_QUANTIZE_SEARCH_RUNNING_SUMS_H

#include "quantize/quantize.h"

/* The samples of a calibration in their order: user inputs, and whether a sequence begins with them. */
struct nuc_steps {
    size_t count, n_inputs;
    bool (*read)(void *user, size_t step, const void **inputs);
    void *user;
};

/*
 * Calls wide(user, state, path, loss, steps) for each state whose rounding takes more than half a decibel off an SQNR
 * of 40 dB; path[id]: the state and the nodes that make its next value of it. Returns whether there is one. `c` has
 * observed the samples and chosen its ranges.
 */
bool nuc_find_running_sums(struct nuc_calibration *c, const struct nuc_steps *steps,
                           void (*wide)(void *user, const struct nuc_node *state, const bool *path, double loss,
                                        size_t n_steps),
                           void *user);

#endif
