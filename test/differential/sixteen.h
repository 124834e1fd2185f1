/*
 * What int16 kernels are defined to compute where that is not the real function: the line between samples of it, the
 * logistic function and the softmax of LiteRT, pixels at positions of 10 fractional bits. Written once more, for the
 * comparison of every value; the samples are the evaluator's.
 */
#ifndef NUC_SIXTEEN_H
#define NUC_SIXTEEN_H

#include "teacher.h"

/* Numbers between which the lines of both forms of tables (device/base/sampled.h) lie, their lower and upper ends. */
enum sixteen_ends { EVEN_LOWER, EVEN_UPPER, OCTAVE_LOWER, OCTAVE_UPPER, SIXTEEN_ENDS };
int32_t sixteen_end(enum sixteen_ends end, int32_t q);

/*
 * Whether `got` is a definition's result, in all elements: `source` are the numbers that the value is computed of, and
 * `at[e]` what the evaluator makes of their ends, not cut to int16. A sample of a line is the evaluator's up to one
 * step, all else is exact.
 */
bool sixteen_defines(const struct teacher_value *v, const struct teacher_value *of, const int32_t *source,
                     const int32_t *const at[SIXTEEN_ENDS], const int32_t *got);

#endif
