/*
 * Functions of reals in float32, the same bits on every machine: steps of IEEE 754 in a fixed order, nothing of a C
 * library but what IEEE 754 gives one result for (roots, whole parts, remainders). Freestanding.
 *
 * The build compiles without contraction (-ffp-contract=off), and code that includes this has to be, too: a fused
 * multiply-add rounds once where two instructions round twice.
 */
#ifndef NUC_DEVICE_BASE_REAL_H
#define NUC_DEVICE_BASE_REAL_H

/*
 * Functions of one value: name, and the largest error in units of the last place of the result, of which the unit
 * tests try every part of the range; gelu's and gelu_tanh's is in those of x, since they vanish below 0. NaN stays,
 * and is the result outside of the domain; infinities, the signs of zeros and subnormal results are those of C.
 */
#define NUC_REAL_FUNCTIONS(F)                                                                                          \
    F(exp, 0.8)                                                                                                        \
    F(expm1, 1.1)                                                                                                      \
    F(log, 0.9)                                                                                                        \
    F(log1p, 0.9)                                                                                                      \
    F(log2, 0.9)                                                                                                       \
    F(log10, 0.9)                                                                                                      \
    F(sigmoid, 2.5)                                                                                                    \
    F(tanh, 1.4)                                                                                                       \
    F(sinh, 1.4)                                                                                                       \
    F(cosh, 1.2)                                                                                                       \
    F(asinh, 1.1)                                                                                                      \
    F(acosh, 1.6)                                                                                                      \
    F(atanh, 2.0)                                                                                                      \
    F(sin, 0.9)                                                                                                        \
    F(cos, 0.9)                                                                                                        \
    F(tan, 1.6)                                                                                                        \
    F(asin, 1.3)                                                                                                       \
    F(acos, 1.2)                                                                                                       \
    F(atan, 0.9)                                                                                                       \
    F(erf, 1.3)                                                                                                        \
    F(gelu, 1.5)                                                                                                       \
    F(gelu_tanh, 1.8)

/* float nuc_real_exp(float x) and so on. sigmoid: 1 / (1 + exp(-x)). */
#define NUC_REAL_DECLARATION(name, error) float nuc_real_##name(float x);
NUC_REAL_FUNCTIONS(NUC_REAL_DECLARATION)
#undef NUC_REAL_DECLARATION

/* Functions of two values, with the special cases of C's atan2() and pow(). */
#define NUC_REAL_FUNCTIONS_OF_TWO(F)                                                                                   \
    F(atan2, 1.8)                                                                                                      \
    F(pow, 0.9)

float nuc_real_atan2(float y, float x);
float nuc_real_pow(float x, float y);

#endif
