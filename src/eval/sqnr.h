/* Signal-to-quantization-noise ratio, accumulated over any number of arrays. */
#ifndef NUC_EVAL_SQNR_H
#define NUC_EVAL_SQNR_H

#include <stddef.h>

struct nuc_sqnr {
    double signal; /* sum of reference^2 */
    double noise;  /* sum of (reference - x)^2 */
};

/* Adds the elements of one array; a zeroed struct is the empty sum. */
void nuc_sqnr_add(struct nuc_sqnr *s, const float *reference, const float *x, size_t count);

/* 10 * log10(signal / noise) in dB: infinite without noise, minus infinite for noise on a signal of zeros. */
double nuc_sqnr_db(const struct nuc_sqnr *s);

#endif
