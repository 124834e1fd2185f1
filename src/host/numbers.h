/* Elements of arrays as numbers, and how far arrays are from each other. */
#ifndef NUC_HOST_NUMBERS_H
#define NUC_HOST_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nucleon/types.h"

/* Integers and bool. */
bool nuc_is_integer(enum nuc_dtype dtype);
bool nuc_is_floating(enum nuc_dtype dtype);

/* Element `i` of an array of integers, which may lie at any address as those of files do; 0 of others. */
int64_t nuc_int_at(enum nuc_dtype dtype, const void *data, size_t i);

/* Element `i` of an array of any type. */
double nuc_number_at(enum nuc_dtype dtype, const void *data, size_t i);

/*
 * Sets element `i` of an array of any type but float16 and bfloat16. A float that becomes an integer is truncated and
 * saturates; an integer that becomes a narrower one wraps around.
 */
void nuc_store_number(enum nuc_dtype dtype, void *data, size_t i, double value);
void nuc_store_int(enum nuc_dtype dtype, void *data, size_t i, int64_t value);

/* Least and greatest number of a type of integers; of bool and other types those of int64. */
struct nuc_int_range {
    int64_t low, high;
};
struct nuc_int_range nuc_int_range(enum nuc_dtype dtype);

/* Rows of `count` elements of `size` bytes that lie `step` elements apart; the rows begin `pitch` elements apart. */
struct nuc_plane {
    size_t rows, count, size;
    ptrdiff_t pitch, step;
};

/* To neighbouring places, row after row. */
void nuc_copy_plane(void *to, const void *from, const struct nuc_plane *p);

/* The greatest that divides both; not negative. */
int64_t nuc_common_divisor(int64_t a, int64_t b);

/* Signal-to-quantization-noise ratio, accumulated over any number of arrays. */
struct nuc_sqnr {
    double signal; /* sum of reference^2 */
    double noise;  /* sum of (reference - x)^2 */
};

/* Adds the elements of one array; a zeroed struct is the empty sum. */
void nuc_sqnr_add(struct nuc_sqnr *s, const float *reference, const float *x, size_t count);

/* 10 * log10(signal / noise) in dB: infinite without noise, minus infinite for noise on a signal of zeros. */
double nuc_sqnr_db(const struct nuc_sqnr *s);

#endif
