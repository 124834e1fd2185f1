/*
 * The order in which torch's CPU kernels add up the products of a convolution or a matrix product. Orders differ in the
 * last digits only, but calibration can fall to either side of a tie by them. The rules are those of torch 2.14 with
 * oneDNN on a CPU with AVX-512; they depend on shapes and layouts alone, never on the host.
 */
#ifndef NUC_EVAL_EVAL_ORDER_H
#define NUC_EVAL_EVAL_ORDER_H

#include <stdbool.h>
#include <stddef.h>

/* Which products come first. */
enum nuc_tap_order {
    NUC_CHANNELS_OUTERMOST, /* channel, depth, row, column: the order of the weight */
    NUC_CHANNELS_INNERMOST, /* depth, row, column, channel */
    NUC_COLUMNS_OUTERMOST,  /* column, depth, row, channel */
    NUC_TAPS_BACKWARDS,     /* depth, row, column, each from the last to the first, then channel */
};

struct nuc_order {
    bool fused;              /* product and addition are rounded once */
    bool bias_first;         /* the sum starts with the bias; else it is added to the sum */
    enum nuc_tap_order taps; /* within a block of channels */
    size_t block;            /* channels summed up by themselves, sums added one after the other; 0: all together */
    bool tap_sums;           /* the channels of every tap are summed up by themselves */
};

/* What a convolution's order depends on. */
struct nuc_conv_facts {
    bool channels_last, transposed;
    size_t batch, groups;
    size_t in_channels, out_channels; /* of a group */
    size_t in_elements;
    size_t kernel[3], stride[3], dilation[3]; /* depth, height, width */
    size_t out[3];
};

struct nuc_order nuc_conv_order(const struct nuc_conv_facts *f);

/* Of a matrix product whose right side lies in memory with its columns (linear: the weight) or its rows together. */
struct nuc_order nuc_matrix_order(bool columns_together);

#endif
