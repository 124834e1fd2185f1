/*
 * Taps of a convolution that meet nothing but padding, as those of a kernel of 3x3 around an image of one pixel: they
 * go, with as much of the padding.
 */
#include "ir/conv_args.h"
#include "ir/op_list.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

enum { AXES = 2 };

struct taps {
    int64_t first, count; /* those that meet the image */
    int64_t padding;      /* what is left of it */
};

/* False where the rest cannot be padded alike on both sides. */
static bool taps_along(const struct nuc_node *conv, int d, struct taps *t)
{
    const struct nuc_conv_args *args = nuc_conv_args(conv->op);
    int64_t stride[AXES], padding[AXES], dilation[AXES];
    int64_t in = nuc_input_meta(conv, NUC_CONV_INPUT)->sizes[2 + d], out = conv->vals[0].sizes[2 + d];
    int64_t kernel = nuc_input_meta(conv, NUC_CONV_WEIGHT)->sizes[2 + d], last;

    nuc_conv_numbers(conv, args->stride, AXES, 1, stride);
    nuc_conv_numbers(conv, args->padding, AXES, 0, padding);
    nuc_conv_numbers(conv, args->dilation, AXES, 1, dilation);
    /* The first tap meets most of the image in the last window, the last tap in the first one. */
    t->first = 0;
    while (t->first < kernel && (out - 1) * stride[d] - padding[d] + t->first * dilation[d] < 0)
        t->first++;
    last = kernel - 1;
    while (last > t->first && last * dilation[d] - padding[d] >= in)
        last--;
    t->count = last - t->first + 1;
    t->padding = padding[d] - t->first * dilation[d];
    int64_t reach = (t->count - 1) * dilation[d] + 1;
    return t->first < kernel && t->padding >= 0 && in + 2 * t->padding >= reach &&
           (in + 2 * t->padding - reach) / stride[d] + 1 == out;
}

static bool crop(struct nuc_graph *g, struct nuc_node *conv)
{
    struct nuc_node *weight = nuc_operand(g, conv, NUC_CONV_WEIGHT);
    const struct nuc_meta *m = &weight->vals[0];
    struct taps t[AXES];

    if (!nuc_is_static(weight) || m->dtype != NUC_F32 || m->rank != 4 || nuc_elements(m) == 0 ||
        nuc_input_meta(conv, NUC_CONV_INPUT)->rank != 4 || nuc_elements(&conv->vals[0]) == 0 ||
        !taps_along(conv, 0, &t[0]) || !taps_along(conv, 1, &t[1]) ||
        (t[0].count == m->sizes[2] && t[1].count == m->sizes[3]))
        return false;
    /* The weight [outputs, inputs, height, width] without the other taps. */
    const struct nuc_meta *from = &weight->vals[0];
    const int64_t sizes[] = {from->sizes[0], from->sizes[1], t[0].count, t[1].count};
    const struct nuc_meta to = nuc_meta_make(NUC_F32, sizes, 4);
    const float *data = nuc_const_contiguous(g, weight);
    float *left = nuc_alloc_array(g->cx, (size_t)nuc_elements(&to), sizeof *left), *at = left;
    for (int64_t row = 0; row < sizes[0] * sizes[1] * sizes[2]; row++) {
        int64_t y = row / sizes[2] * from->sizes[2] + t[0].first + row % sizes[2];
        for (int64_t x = 0; x < sizes[3]; x++)
            *at++ = data[y * from->sizes[3] + t[1].first + x];
    }
    nuc_set_arg_node(conv, g, NUC_CONV_WEIGHT, nuc_take_parameter(g, weight, "_cropped", &to, left));
    nuc_set_arg_ints(conv, g, NUC_ARG(CONV2D, padding), (const int64_t[]){t[0].padding, t[1].padding}, AXES);
    return true;
}

bool nuc_crop_kernels(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_CONV2D), crop);
}
