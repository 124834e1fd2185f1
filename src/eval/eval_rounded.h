/*
 * Functions of float32 that are computed in double and rounded once: what libm's function of double, converted to
 * float, gives on every host, by vectors.
 */
#ifndef NUC_EVAL_EVAL_ROUNDED_H
#define NUC_EVAL_EVAL_ROUNDED_H

#include <stddef.h>

/* out[i]: of in[i]. The two do not overlap. */
void nuc_eval_exp(const float *in, float *out, size_t count);
void nuc_eval_tanh(const float *in, float *out, size_t count);
void nuc_eval_erf(const float *in, float *out, size_t count);

#endif
