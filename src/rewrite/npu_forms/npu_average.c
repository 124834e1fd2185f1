#include "rewrite/npu_forms/npu_average.h"

#include <string.h>

#include "ir/args.h"
#include "ir/conv_args.h"
#include "ir/quant.h"
#include "rewrite/insert.h"
#include "rewrite/rewrite.h"

enum { H = 2, W = 3 }; /* of an image */

/* The windows of [N, C, H, W] that are averaged, without padding; false: something else. */
static bool read_window(const struct nuc_node *node, struct nuc_pair *window, struct nuc_pair *stride)
{
    const struct nuc_node *x = nuc_arg_node(node, NUC_SELF);
    const struct nuc_meta *out = &node->vals[0];

    if (x == NULL || node->n_vals != 1 || x->vals[0].rank != 4 || x->vals[0].dtype != NUC_F32 ||
        nuc_elements(&x->vals[0]) == 0)
        return false;
    *window = (struct nuc_pair){x->vals[0].sizes[H], x->vals[0].sizes[W]};
    *stride = (struct nuc_pair){1, 1};
    if (node->op == NUC_OP_ADAPTIVE_AVG_POOL2D)
        return out->sizes[H] == 1 && out->sizes[W] == 1;
    if (node->op == NUC_OP_AVG_POOL2D) {
        const struct nuc_pair padding = nuc_pair(node, NUC_ARG(AVG_POOL2D, padding), (struct nuc_pair){0, 0});
        *window = nuc_pair(node, NUC_ARG(AVG_POOL2D, kernel_size), *stride);
        *stride = nuc_pair(node, NUC_ARG(AVG_POOL2D, stride), *window);
        return padding.h == 0 && padding.w == 0 && !nuc_flag(node, NUC_ARG(AVG_POOL2D, ceil_mode)) &&
               nuc_integer(node, NUC_ARG(AVG_POOL2D, divisor_override), 0) == 0;
    }
    return node->op == NUC_OP_MEAN_DIM && nuc_dims_mask(node, NUC_ARG(MEAN_DIM, dim), 4) == (1u << H | 1u << W);
}

bool nuc_may_have_npu_average(const struct nuc_node *node)
{
    struct nuc_pair window, stride;
    struct nuc_quant in, out;

    return nuc_is_call(node) && read_window(node, &window, &stride) &&
           !(nuc_result_quant(node, &out) && nuc_dequantize_quant(nuc_arg_node(node, NUC_SELF), &in) &&
             nuc_same_parameters(&in, &out));
}

bool nuc_has_npu_average(const struct nuc_support *s, const struct nuc_node *node)
{
    const struct nuc_node *value = nuc_arg_node(node, NUC_SELF);
    struct nuc_pair window, stride;
    struct nuc_quant in, out;

    if (value == NULL || !read_window(node, &window, &stride) || !nuc_dequantize_quant(value, &in) || in.per_channel ||
        in.dtype != NUC_I8 || !nuc_result_quant(node, &out) || nuc_same_parameters(&in, &out))
        return false;
    struct nuc_meta image = value->vals[0];
    struct nuc_meta kernel = nuc_meta_make(NUC_F32, (const int64_t[]){image.sizes[1], 1, window.h, window.w}, 4);
    struct nuc_node x = {.n_vals = 1, .vals = &image};
    struct nuc_node weight = {.op = NUC_OP_PLACEHOLDER, .input_kind = NUC_CONSTANT, .n_vals = 1, .vals = &kernel};
    struct nuc_arg args[] = {nuc_node_arg(&x), nuc_node_arg(&weight), nuc_node_arg(NULL), NUC_PAIR_ARG(stride)};
    struct nuc_meta pixel = image;
    pixel.sizes[H] = (image.sizes[H] - window.h) / stride.h + 1;
    pixel.sizes[W] = (image.sizes[W] - window.w) / stride.w + 1;
    struct nuc_node conv = {.op = NUC_OP_CONVOLUTION, .args = args, .n_args = 4, .n_vals = 1, .vals = &pixel};
    return nuc_check_unquantized(s, NUC_OP_CONVOLUTION, &conv).ok;
}

struct nuc_node *nuc_to_npu_average(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF);
    const struct nuc_meta image = x->vals[0], out = node->vals[0];
    struct nuc_pair window, stride;

    if (!read_window(node, &window, &stride))
        return NULL;
    const struct nuc_meta kernel = nuc_meta_make(NUC_I8, (const int64_t[]){image.sizes[1], 1, window.h, window.w}, 4);
    int8_t *ones = nuc_alloc_array(g->cx, (size_t)nuc_elements(&kernel), sizeof *ones);
    struct nuc_quant of_result;

    /* Each weight is 1 / (H W), the largest number of its scale. */
    memset(ones, INT8_MAX, (size_t)nuc_elements(&kernel));
    const struct nuc_quant q = {.scale = 1 / ((double)INT8_MAX * (double)(window.h * window.w)),
                                .axis = -1,
                                .quant_min = -INT8_MAX,
                                .quant_max = INT8_MAX,
                                .dtype = NUC_I8};
    struct nuc_node *weight = nuc_add_parameter(g, node, "_weight", &kernel, ones);
    const int64_t one[2] = {1, 1}, none[2] = {0, 0};
    struct nuc_node *conv = nuc_emit(g, node, NUC_OP_CONVOLUTION, node,
                                     NUC_ARGS(x, nuc_insert_quant(g, node, NUC_OP_DEQUANTIZE_PER_TENSOR, weight, &q),
                                              NULL, NUC_PAIR_ARG(stride), nuc_ints_arg(none, 2), nuc_ints_arg(one, 2),
                                              nuc_bool_arg(false), nuc_ints_arg(none, 2), image.sizes[1]));
    conv->args[NUC_CONV_BIAS].given = true;
    if (out.rank == 4 || !nuc_result_quant(node, &of_result))
        return conv;
    struct nuc_node *quantized = nuc_insert_quant(g, node, NUC_OP_QUANTIZE_PER_TENSOR, conv, &of_result);
    struct nuc_node *value = nuc_insert_quant(g, node, NUC_OP_DEQUANTIZE_PER_TENSOR, quantized, &of_result);
    return nuc_insert_view(g, node, value, out.sizes, out.rank);
}
