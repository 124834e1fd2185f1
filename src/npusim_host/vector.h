/*
 * Vector kernels of the simulator on the host. Calls are prepared once into plans: geometry, packed weights, and
 * parameters of 16 output channels at a time. What depends on the instruction set is a table of functions, made from
 * one source (vector_kernels.h) that is compiled for each of them (vector_isa.c).
 *
 * Products are int8 x int8 summed in 32 bits. x86's dot product takes one operand unsigned, so inputs are read with
 * 128 added and 128 * sum(weights) is taken off the bias; likewise input_zero * sum(weights), so that the kernels
 * multiply stored values. Sums wrap modulo 2^32, which makes the order of all this irrelevant.
 */
#ifndef NUC_NPUSIM_HOST_VECTOR_H
#define NUC_NPUSIM_HOST_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/npusim/npu.h"
#include "nucleon/simulator.h"

#define VEC_LANES 16         /* int32 accumulators kernels work on at once */
#define VEC_DEPTH 4          /* products a dot product sums */
#define VEC_TILE 8           /* pixels of the largest tile */
#define VEC_SLACK 64         /* readable bytes after a staged row */
#define VEC_MAX_TAPS 256     /* of a window */
#define VEC_MAX_BLOCK 64     /* outputs of a block of the depthwise kernel */
#define VEC_MAX_POOLED 32768 /* values an average is of: sums stay below 2^23, where the reciprocal is exact */
#define VEC_LIMIT (1 << 29)  /* bound of accumulators in front of the requantization */
#define VEC_WORD 32256       /* bound of results, zero points apart, that stay inside 16 bits */
#define VEC_ALIGNMENT 64

/* Asked for less than all, clang is done with a loop before a function is inlined and the number of steps is known. */
#ifdef __clang__
#define VEC_UNROLL _Pragma("clang loop unroll(full)")
#else
#define VEC_UNROLL _Pragma("GCC unroll 18")
#endif

/*
 * Requantization of 16 outputs and their zero point, in the first of four forms that is exact for all of them. Results
 * that are clamped to the zero point or more are said to be rectified.
 *
 * VEC_LINE: v * scale + offset in float, rounded once, to a whole number: the offset has 3 * 2^22, whose unit is 1. The
 * bias has the bits of that float, so that those of a sum are 3 * 2^22 + v, and what the offset lacks behind the point
 * (vec_params_bend). Of rectified results, for multipliers of enough bits.
 *
 * VEC_BENT: that, and another line below `left`, which is 0 with the bias: `away` is added, the offset is another one.
 *
 * VEC_BOUNDED: h = v * multiplier / 2^31, rounded, then (h + round - (v < 0)) >> right, round being half of 1 << right:
 * both roundings. A negative v whose h is 0 gives 0 with and without the 1 taken off. This form and those above are for
 * |v| below VEC_LIMIT and multipliers of 0 and more: nothing saturates or wraps. What kernels pack from the lower words
 * of lanes is below VEC_WORD, too.
 *
 * VEC_ANY: as fixed_point.h has it, the remainder of the shift compared with its half, and the zero point added in 32
 * bits. Exact for all but the multiplier INT32_MIN.
 */
enum vec_form { VEC_LINE, VEC_BENT, VEC_BOUNDED, VEC_ANY };

#define VEC_MAGIC_WHOLE INT64_C(12582912) /* 3 * 2^22: the bits of floats near it count up by 1 */
#define VEC_MAGIC ((float)VEC_MAGIC_WHOLE)
#define VEC_MAGIC_BITS 0x4B400000 /* its own */

struct vec_params {
    union {
        int32_t multiplier[VEC_LANES];
        float scale[VEC_LANES];
    };
    union {
        int32_t right[VEC_LANES]; /* of VEC_BOUNDED: and the instruction set's own bits of h */
        float offset[VEC_LANES];
    };
    union {
        int32_t round[VEC_LANES]; /* what is added before the shift, zero point included */
        float offset_below[VEC_LANES];
    };
    /* What is taken off, or 0 where nothing is shifted right. Of VEC_ANY: the bits that are shifted out. */
    int32_t away[VEC_LANES];
    int32_t left[VEC_LANES]; /* of VEC_ANY and VEC_BENT */
    int32_t form;            /* enum vec_form */
    int32_t zero;            /* of the output */
    /* While the lanes are set: whether one of them rules lines out, and the bound of all, at most VEC_LIMIT. */
    int32_t not_lines, bound, unused[VEC_LANES - 4];
};

/* Bounds of a result, in each byte of a word: as a word they reach vectors at no cost. */
struct vec_output {
    int32_t zero;
    uint32_t low, high;
};

/*
 * A row of output pixels of a convolution or matrix product. A pixel's window is `segments` runs of 4 * run bytes; the
 * next pixel's begins `pixel` bytes further in each. weights: [columns / 16][segments][run][16][4], or by turns, of a
 * single pixel: [columns / 16 / wide][segments][run][wide][16][4]. Of a block with 8 columns both halves are the same.
 */
struct vec_gemm {
    const uint8_t *weights;
    const int32_t *bias;             /* of each column, in whole blocks of 16 */
    const struct vec_params *params; /* of a block each, or of all */
    int32_t params_step;             /* 1, or 0: blocks share them */
    size_t block_bytes;              /* of weights */
    int32_t segments, run, columns;
    int32_t taps;          /* of a run, if they are whole groups of four and `pixel` apart; else 0 or 1 */
    bool staged;           /* inputs have the kernels' offset already */
    bool by_turns;         /* weights are one stream, which caches foresee; all blocks are whole turns */
    const int32_t *addend; /* of each pixel, to all its sums; NULL: 0 */
    ptrdiff_t pixel, out_pixel;
    struct vec_output output;
};

/*
 * Rows of output pixels of a depthwise convolution: `lines` times `line` outputs, output i of a line being the sum
 * over taps of tap[i] * weight. Blocks of a line use the tables of weights and parameters one after the other, from
 * the first again after `tables`. With `rows` 2 the same taps serve the row below as well, with other weights, and
 * their bytes lie in pairs: tap[i] is of the taps 2 * i and 2 * i + 1. Weights of a table: [taps / 4][rows][block][4].
 */
struct vec_depthwise {
    const uint8_t *weights;
    const int32_t *bias; /* of a table: of `block` outputs */
    const struct vec_params *params;
    size_t table_bytes;
    int32_t groups; /* taps / 4 */
    int32_t rows;
    int32_t tables, lines, line;
    ptrdiff_t in_line, out_line, out_row;
    struct vec_output output;
};

/*
 * (high + a * a_high + b * b_high + ((low + a * a_low + b * b_low) >> VEC_LOW_BITS)) >> shift, the operands as they are
 * stored: weights and addend of 30 bits and more in two parts, whose products are of 16 bits, with those of `a` in the
 * lower words. The zero point of the output is part of the addend.
 */
struct vec_linear {
    int32_t high_words, low_words, high, low, shift;
};

#define VEC_LOW_BITS 15

/*
 * Products with one operand that many rows share: v = x - zero, (v * weight + addend - (v < 0 ? less : 0)) >> shift, by
 * the byte of the shared operand. Both roundings of a product go away from 0, so negative ones begin elsewhere.
 * words: `weight` below `less`, of 16 bits each, which a dot product multiplies by v and its sign.
 */
struct vec_lines {
    int32_t words[256], addend[256], shift[256];
    int32_t zero;
    int32_t rows; /* that share it */
    bool a_is_shared;
};

/* Elementwise operators over a run of the last dimension; strides are 0 or 1. */
struct vec_binary {
    struct vec_params a, b, out; /* of VEC_ANY */
    struct vec_linear linear;
    bool is_linear;                /* what is computed is `linear` */
    const struct vec_lines *lines; /* or these; NULL: not */
    int32_t a_zero, b_zero, left_shift;
    uint32_t opcode;
    struct vec_output output;
};

struct vec_scaled_rows {
    const int32_t *words, *addend, *shift; /* of lines, in whole blocks of 64 */
    int32_t zero;
    int64_t rows, in_row, out_row;
    struct vec_output output; /* its zero point is 0 */
};

/* Output pixels of a pool next to each other: windows of `rows` x `columns` taps inside the input, `step` apart. */
struct vec_pool {
    int32_t pixels, rows, columns, channels;
    ptrdiff_t row, pixel; /* bytes between taps */
    ptrdiff_t step, out_pixel;
    int32_t start;    /* sum of the taps outside that count */
    int32_t count;    /* taps the average divides by, 1 to VEC_MAX_POOLED */
    float reciprocal; /* of the count, rounded up: products with sums, cut off, are the quotients of all of them */
    struct vec_output output;
};

/* Two places of the input that an output lies between, and the weight of the upper one in 1/1024: an entry each. */
struct vec_positions {
    int32_t *low, *high, *part;
};

/* A row of a bilinear resize: `n` times `run` values, from the places of `at` in a row of blended values. */
struct vec_blend {
    struct vec_positions at;
    int32_t n, run;
    ptrdiff_t pitch; /* bytes from one run of outputs to the next */
};

/* Pixels of a row, `step` bytes apart. */
struct vec_line {
    const int8_t *at;
    ptrdiff_t step;
};

struct vec_isa {
    enum nuc_simulator_path path;
    int32_t input_offset; /* the kernels add to inputs */
    int32_t weight_bytes; /* 1, or 2: weights widened, in pairs [2][16][2] of the first and third of four */
    int32_t bits;         /* of h that the kernels have behind the point */
    bool lines;           /* VEC_LINE and VEC_BENT are the shortest forms */
    int32_t wide;         /* blocks that take turns */
    int32_t block;        /* outputs of a block of the depthwise kernel: 16 or 64 */
    /* [block]: output of each accumulator of the depthwise kernel's block, by whether taps lie in pairs. */
    const uint8_t *order[2];

    /* Copies n pixels of `bytes` each, `step` bytes apart in the source, next to each other, bits of `flip` turned. */
    void (*copy)(int8_t *to, const int8_t *from, int32_t n, int32_t bytes, ptrdiff_t step, int8_t flip);
    /* Pixels of two rows become one each of twice the bytes, `pitch` apart: a byte of `a`, one of `b`, and so on. */
    void (*pair)(int8_t *to, ptrdiff_t pitch, struct vec_line a, struct vec_line b, int32_t n, int32_t bytes,
                 int8_t flip);
    /* Rows of `n` pixels, of which every second one goes to to[1]. */
    void (*pair_turns)(int8_t *const *to, const int8_t *a, const int8_t *b, int32_t n, int32_t bytes, int8_t flip);
    /* segment[s]: first byte of the first pixel's run; out: its first column. */
    void (*gemm)(const struct vec_gemm *g, const int8_t *const *segment, int32_t pixels, int8_t *out);
    /* `rows` of 1 or 2 are stored. */
    void (*depthwise)(const struct vec_depthwise *d, const int8_t *const *tap, int32_t rows, int8_t *out);
    void (*binary)(const struct vec_binary *e, const int8_t *a, int32_t a_stride, const int8_t *b, int32_t b_stride,
                   int32_t n, int8_t *out);
    /* Lines of n values in each row, the same in all rows. */
    void (*scale_rows)(const struct vec_scaled_rows *s, const int8_t *in, int32_t n, int8_t *out);
    void (*average)(const struct vec_pool *p, const int8_t *in, int8_t *out);
    void (*maximum)(const struct vec_pool *p, const int8_t *in, int8_t *out);
    /* out[i] = table[in[i] + 128] */
    void (*lookup)(const int8_t *table, const int8_t *in, int32_t n, int8_t *out);
    /* sum[i] += in[r * row + i] over r < rows, for n values next to each other. */
    void (*sum_rows)(const int8_t *in, ptrdiff_t row, int32_t rows, int32_t n, int32_t *sum);
    /* `n` results of the same parameters; sums in whole blocks of 16. */
    void (*scale_sums)(const struct vec_params *p, const struct vec_output *o, const int32_t *sum, int32_t n,
                       int8_t *out);
    /* out[i] = low[i] * (1024 - part) + high[i] * part */
    void (*blend_rows)(const int8_t *low, const int8_t *high, int32_t part, int32_t n, int32_t *out);
    /* out[column * out_row + row] = in[row * in_row + column] */
    void (*transpose)(const int8_t *in, ptrdiff_t in_row, int32_t rows, int32_t columns, int8_t *out,
                      ptrdiff_t out_row);
    void (*blend_columns)(const struct vec_blend *b, const int32_t *row, int8_t *out);
};

extern const struct vec_isa vec_isa_avx2, vec_isa_avx512vnni, vec_isa_neondot;

#endif
