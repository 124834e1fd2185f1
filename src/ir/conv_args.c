#include "ir/conv_args.h"

#include <string.h>

#include "ir/args.h"

#define COMMON(op) .stride = NUC_ARG(op, stride), .padding = NUC_ARG(op, padding), .dilation = NUC_ARG(op, dilation)
#define FORWARD(id, dims, named)                                                                                       \
    {                                                                                                                  \
        .op = NUC_OP_##id, .spatial = (dims), .named_padding = (named), COMMON(id), .groups = NUC_ARG(id, groups),     \
        .output_padding = NUC_NO_ARG, .is_transposed = NUC_NO_ARG                                                      \
    }
#define TRANSPOSED(id, dims)                                                                                           \
    {                                                                                                                  \
        .op = NUC_OP_##id, .spatial = (dims), .transposed = true, COMMON(id), .groups = NUC_ARG(id, groups),           \
        .output_padding = NUC_ARG(id, output_padding), .is_transposed = NUC_NO_ARG                                     \
    }

static const struct nuc_conv_args rows[] = {
    FORWARD(CONV1D, 1, false),
    FORWARD(CONV2D, 2, false),
    FORWARD(CONV3D, 3, false),
    FORWARD(CONV1D_PADDING, 1, true),
    FORWARD(CONV2D_PADDING, 2, true),
    FORWARD(CONV3D_PADDING, 3, true),
    TRANSPOSED(CONV_TRANSPOSE1D, 1),
    TRANSPOSED(CONV_TRANSPOSE2D, 2),
    TRANSPOSED(CONV_TRANSPOSE3D, 3),
    {.op = NUC_OP_CONVOLUTION,
     COMMON(CONVOLUTION),
     .groups = NUC_ARG(CONVOLUTION, groups),
     .output_padding = NUC_ARG(CONVOLUTION, output_padding),
     .is_transposed = NUC_ARG(CONVOLUTION, transposed)},
};

const struct nuc_conv_args *nuc_conv_args(enum nuc_op op)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].op == op)
            return &rows[i];
    }
    return NULL;
}

void nuc_conv_numbers(const struct nuc_node *node, uint32_t index, uint32_t spatial, int64_t fallback, int64_t *out)
{
    const struct nuc_arg *a = nuc_arg_at(node, index);

    for (uint32_t i = 0; i < spatial; i++) {
        out[i] = fallback;
        if (a->kind == NUC_ARG_INT)
            out[i] = a->u.i;
        else if (a->kind == NUC_ARG_INTS && a->count > 0)
            out[i] = a->u.ints[a->count == spatial ? i : 0];
    }
}

void nuc_conv_padding(const struct nuc_node *conv, uint32_t spatial, int64_t *before, int64_t *more)
{
    const struct nuc_conv_args *args = nuc_conv_args(conv->op);
    const struct nuc_arg *name = nuc_arg_at(conv, args->padding);
    const struct nuc_meta *weight = nuc_input_meta(conv, NUC_CONV_WEIGHT);
    bool same = name->kind == NUC_ARG_STRING && strcmp(name->u.string, "same") == 0;
    int64_t dilation[NUC_MAX_RANK];

    nuc_conv_numbers(conv, args->padding, spatial, 0, before);
    nuc_conv_numbers(conv, args->dilation, spatial, 1, dilation);
    for (uint32_t i = 0; i < spatial; i++) {
        int64_t total = same ? dilation[i] * (weight->sizes[2 + i] - 1) : 0;
        before[i] = same ? total / 2 : before[i];
        more[i] = total % 2;
    }
}

bool nuc_conv_paddings(const struct nuc_node *node, uint32_t index, int64_t before[2], int64_t after[2])
{
    const struct nuc_arg *a = nuc_arg_at(node, index);
    bool each_side = a->kind == NUC_ARG_INTS && a->count == 4;

    if (!each_side && a->kind != NUC_ARG_INT && (a->kind != NUC_ARG_INTS || a->count < 1 || a->count > 2))
        return false;
    nuc_conv_numbers(node, index, 2, 0, before);
    for (uint32_t i = 0; i < 2; i++) {
        if (each_side)
            before[i] = a->u.ints[i];
        after[i] = each_side ? a->u.ints[2 + i] : before[i];
    }
    return true;
}

int64_t nuc_depthwise_overlay(const struct nuc_node *conv)
{
    const struct nuc_meta *in = nuc_input_meta(conv, NUC_ARG(CORTEXM_DEPTHWISE, input)), *out = &conv->vals[0];
    const struct nuc_meta *weight = nuc_input_meta(conv, NUC_ARG(CORTEXM_DEPTHWISE, weight));
    int64_t before[2], after[2], dilation[2];

    nuc_conv_numbers(conv, NUC_ARG(CORTEXM_DEPTHWISE, dilation), 2, 1, dilation);
    if (in->sizes[1] != out->sizes[1] || !nuc_conv_paddings(conv, NUC_ARG(CORTEXM_DEPTHWISE, padding), before, after))
        return 0;
    for (uint32_t d = 0; d < 2; d++) {
        if (out->sizes[2 + d] > in->sizes[2 + d] || before[d] > (weight->sizes[1 + d] - 1) * dilation[d])
            return 0;
    }
    return ((weight->sizes[1] - 1) * dilation[0] + 1) * in->sizes[3];
}
