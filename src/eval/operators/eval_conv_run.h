/* A convolution as it is planned, which eval_conv.c does, and run, eval_conv_run.c. */
#ifndef NUC_EVAL_OPERATORS_EVAL_CONV_RUN_H
#define NUC_EVAL_OPERATORS_EVAL_CONV_RUN_H

#include "eval/eval_call.h"
#include "eval/eval_gemm.h"
#include "eval/eval_order.h"

/* Every convolution has these in the same places, and names the others alike. */
#define COMMON(name) NUC_ARG(CONVOLUTION, name)

/* Fewer dimensions are the last ones; the others have size 1. */
enum { DEPTH, HEIGHT, WIDTH, SPATIAL };

/*
 * The padded image of a channel lies apart by phases: what is read together where an output moves by its stride, every
 * second row and column with stride 2, lies side by side. An image that is used in place is one phase.
 */
struct conv {
    bool transposed;
    size_t batch, groups;
    size_t in_channels, out_channels; /* of one group */
    size_t in[SPATIAL], out[SPATIAL], kernel[SPATIAL];
    size_t stride[SPATIAL], dilation[SPATIAL]; /* of the product: stride 1 when transposed */
    size_t spread[SPATIAL];  /* distance of neighbouring inputs in the padded image: 1 unless transposed */
    int64_t origin[SPATIAL]; /* where the first input lies in the padded image; negative: cropped */
    size_t padded[SPATIAL];
    bool single;            /* every output channel has an input channel of its own */
    bool in_place;          /* the padded image is the image; never of single channels */
    size_t phases[SPATIAL]; /* 1 along the depth */
    size_t phase[SPATIAL];  /* size of one */
    size_t channel;         /* floats of a padded channel */
    size_t *rows;           /* [depth * height] where rows of the image lie in one, NUC_CROPPED where they do not */
    size_t image, room;     /* floats of the padded image, 0 where there is none, and of what a thread works in */
    size_t k, part;         /* products of a sum, and of a part of it that is summed up by itself */
    size_t *offsets;        /* [k] in the order of the sum: from a pixel's corner, in the padded image of one group */
    size_t *sources;        /* [k] the same products among the k weights of an output channel */
    struct nuc_order order;
    bool arranged;       /* the weight is used as it is */
    const float *weight; /* rearranged constant weight, or NULL */
    struct nuc_gemm gemm;
};

#define NUC_CROPPED SIZE_MAX

/* Floats of a channel, [depth][height][width]. */
static inline size_t nuc_conv_volume(const size_t sizes[SPATIAL])
{
    return sizes[DEPTH] * sizes[HEIGHT] * sizes[WIDTH];
}

/* Offset of a position in the padded image of one channel. */
static inline size_t nuc_conv_offset(const struct conv *v, size_t z, size_t y, size_t x)
{
    size_t phase = y % v->phases[HEIGHT] * v->phases[WIDTH] + x % v->phases[WIDTH];
    size_t row = (z * v->phases[HEIGHT] * v->phases[WIDTH] + phase) * v->phase[HEIGHT] + y / v->phases[HEIGHT];

    return row * v->phase[WIDTH] + x / v->phases[WIDTH];
}

static inline size_t nuc_conv_weights(const struct conv *v)
{
    return v->groups * v->out_channels * v->k;
}

/* Where an input coordinate lies in the padded image; false when it is cropped. */
bool nuc_conv_padded_at(const struct conv *v, int d, size_t at, size_t *padded);

/* The weight in the order of the sums, [groups][out][k]. */
void nuc_conv_arrange(const struct conv *v, const float *weight, float *arranged);

/* Sets `image` and `room`; false when they are more than there can be. */
bool nuc_conv_set_scratch(struct conv *v);

void nuc_conv_run(const struct nuc_eval_call *c);

#endif
