/*
 * Sums of doubles without rounding: what a data set sums to does not depend on how it is cut into parts. They are kept
 * as doubles of which each begins below the last bit of the next one (J. R. Shewchuk, "Adaptive Precision
 * Floating-Point Arithmetic and Fast Robust Geometric Predicates", 1997): most often two or three.
 */
#ifndef NUC_TOOLS_EVALUATE_EXACT_SUM_H
#define NUC_TOOLS_EVALUATE_EXACT_SUM_H

#include "host/context.h"

/* A zeroed struct is the empty sum. Terms that are too large for a double make it infinite, for good. */
struct nuc_exact_sum {
    double *parts; /* the smallest first */
    size_t count, capacity;
};

/* `term` is not NaN. */
void nuc_exact_add(struct nuc_context *cx, struct nuc_exact_sum *s, double term);

/* Adds what is in `from`. */
void nuc_exact_merge(struct nuc_context *cx, struct nuc_exact_sum *to, const struct nuc_exact_sum *from);

/* The sum, rounded once: to the nearest double, of two as near the one whose last bit is 0. */
double nuc_exact_value(const struct nuc_exact_sum *s);

#endif
