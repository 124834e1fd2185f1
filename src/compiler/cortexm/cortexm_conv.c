/* Convolutions: weights in the order the kernels read them, one multiplier a channel. */
#include <math.h>
#include <string.h>

#include "compiler/cortexm/cortexm_private.h"

/* Schema positions of edge.aten.convolution. */
enum { INPUT, WEIGHT, BIAS, STRIDE, PADDING, DILATION, TRANSPOSED, OUTPUT_PADDING, GROUPS };

struct conv {
    struct nuc_cm_value in, weight;
    struct nuc_cm_result out;
    int64_t groups;
    bool transposed;
    int64_t out_channels; /* all groups */
};

/* One number stands for both dimensions. */
static bool is_pair(const struct nuc_arg *arg)
{
    return arg->kind == NUC_ARG_INTS && (arg->count == 2 || arg->count == 1);
}

static void copy_pair(struct nuc_cm *c, struct nuc_node *conv, uint32_t index, const struct nuc_arg *from)
{
    int64_t pair[2] = {from->u.ints[0], from->u.ints[from->count - 1]};

    nuc_set_arg_ints(conv, c->g, index, pair, 2);
}

static bool read_conv(struct nuc_node *node, struct conv *v)
{
    if (!nuc_cm_tensor(node, INPUT, &v->in) || !nuc_cm_operand(nuc_arg_node(node, WEIGHT), &v->weight) ||
        !nuc_is_static(v->weight.node) || v->weight.dtype != NUC_I8 || v->weight.zero_point != 0 ||
        v->in.node->vals[0].rank != 4 || !is_pair(&node->args[STRIDE]) || !is_pair(&node->args[PADDING]) ||
        !is_pair(&node->args[DILATION]) || !is_pair(&node->args[OUTPUT_PADDING]))
        return false;
    v->transposed = node->args[TRANSPOSED].u.b;
    v->groups = node->args[GROUPS].u.i;
    v->out_channels = node->vals[0].sizes[1];
    /* A bias correction or another pass may have left scales of the channels of one group. */
    int axis = v->transposed ? 1 : 0;
    if (v->weight.scales != NULL && (v->weight.axis != axis || v->weight.n_scales == 0))
        return false;
    return nuc_cm_result(node, true, &v->out);
}

static double weight_scale(const struct conv *v, int64_t channel)
{
    return v->weight.scales == NULL ? v->weight.scale : (double)v->weight.scales[channel % v->weight.n_scales];
}

/* [A, B, H, W] -> the dimensions in the order of `perm`, contiguous. */
static int8_t *permuted(struct nuc_cm *c, const struct nuc_node *weight, const uint8_t perm[4], int64_t sizes[4])
{
    const struct nuc_meta *m = &weight->vals[0];
    const int8_t *from = nuc_const_contiguous(c->g, weight);
    int8_t *to = nuc_alloc(c->g->cx, (size_t)nuc_elements(m) + 1);
    int64_t strides[4] = {m->sizes[1] * m->sizes[2] * m->sizes[3], m->sizes[2] * m->sizes[3], m->sizes[3], 1};
    size_t at = 0;

    for (int d = 0; d < 4; d++)
        sizes[d] = m->sizes[perm[d]];
    for (int64_t a = 0; a < sizes[0]; a++)
        for (int64_t b = 0; b < sizes[1]; b++)
            for (int64_t i = 0; i < sizes[2]; i++)
                for (int64_t k = 0; k < sizes[3]; k++)
                    to[at++] =
                        from[a * strides[perm[0]] + b * strides[perm[1]] + i * strides[perm[2]] + k * strides[perm[3]]];
    return to;
}

/* The int32 bias with the scale input * weight; NULL when there is none. */
static bool read_bias(struct nuc_cm *c, struct nuc_node *node, const struct conv *v, struct nuc_node **out)
{
    struct nuc_node *arg = nuc_arg_node(node, BIAS);
    struct nuc_cm_value bias;
    int64_t n = v->out_channels;

    *out = NULL;
    if (arg == NULL)
        return true;
    if (nuc_cm_operand(arg, &bias) && nuc_is_static(bias.node) && bias.dtype == NUC_I32) {
        *out = bias.node;
        return true;
    }
    if (!nuc_is_static(arg) || arg->vals[0].dtype != NUC_F32 || nuc_elements(&arg->vals[0]) != n)
        return false;
    const float *values = nuc_const_contiguous(c->g, arg);
    int32_t *quantized = nuc_alloc_array(c->g->cx, (size_t)n, sizeof *quantized);
    for (int64_t i = 0; i < n; i++) {
        double q = nearbyint((double)values[i] / (v->in.scale * weight_scale(v, i)));
        quantized[i] = q > INT32_MAX ? INT32_MAX : q < INT32_MIN ? INT32_MIN : (int32_t)q;
    }
    *out = nuc_cm_constant(c, node, "_bias", NUC_I32, &n, 1, quantized);
    return true;
}

struct constants {
    struct nuc_node *weight, *multipliers, *shifts, *bias;
};

static void add_multipliers(struct nuc_cm *c, const struct nuc_node *node, const struct conv *v, int64_t count,
                            struct constants *k)
{
    int32_t *multipliers = nuc_alloc_array(c->g->cx, (size_t)count, sizeof *multipliers);
    int32_t *shifts = nuc_alloc_array(c->g->cx, (size_t)count, sizeof *shifts);

    for (int64_t i = 0; i < count; i++) {
        struct nuc_multiplier m = nuc_cm_multiplier(v->in.scale * weight_scale(v, i) / v->out.params.scale);
        multipliers[i] = m.multiplier;
        shifts[i] = m.shift;
    }
    k->multipliers = nuc_cm_constant(c, node, "_quantized_multiplier", NUC_I32, &count, 1, multipliers);
    k->shifts = nuc_cm_constant(c, node, "_quantized_shift", NUC_I32, &count, 1, shifts);
}

static void add_constants(struct nuc_cm *c, struct nuc_node *node, const struct conv *v, const uint8_t perm[4],
                          struct constants *k)
{
    int64_t sizes[4];
    const int8_t *weight = permuted(c, v->weight.node, perm, sizes);

    k->weight = nuc_cm_constant(c, node, "_weight_nhwc", NUC_I8, sizes, 4, weight);
    add_multipliers(c, node, v, v->out_channels, k);
    if (k->bias == NULL && v->groups > 1) {
        const int32_t *zeros = nuc_alloc_array(c->g->cx, (size_t)v->out_channels, sizeof *zeros);
        k->bias = nuc_cm_constant(c, node, "_zero_bias", NUC_I32, &v->out_channels, 1, zeros);
    }
}

/* Input, weight, bias; from `at` on: offsets, multipliers, shifts, bounds. */
static void set_args(struct nuc_cm *c, struct nuc_node *conv, const struct conv *v, const struct constants *k,
                     uint32_t at)
{
    struct nuc_graph *g = c->g;

    nuc_set_arg_node(conv, g, 0, nuc_cm_channels_last(c, v->in.node, conv));
    nuc_set_arg_node(conv, g, 1, k->weight);
    if (k->bias != NULL)
        nuc_set_arg_node(conv, g, 2, k->bias);
    nuc_set_arg_int(conv, at, -v->in.zero_point);
    nuc_set_arg_int(conv, at + 1, v->out.params.zero_point);
    nuc_set_arg_node(conv, g, at + 2, k->multipliers);
    nuc_set_arg_node(conv, g, at + 3, k->shifts);
    nuc_set_arg_int(conv, at + 4, v->out.low);
    nuc_set_arg_int(conv, at + 5, v->out.high);
}

static void finish(struct nuc_cm *c, struct nuc_node *conv, const struct conv *v)
{
    nuc_infer_shape(c->g, conv);
    nuc_cm_replace(c, &v->out, conv);
}

static bool lower_forward(struct nuc_cm *c, struct nuc_node *node, struct conv *v, struct constants *k)
{
    static const uint8_t to_ihwo[4] = {1, 2, 3, 0}, to_ohwi[4] = {0, 2, 3, 1};
    int64_t in_channels = v->in.node->vals[0].sizes[1];
    bool depthwise = v->groups == in_channels && v->out_channels % in_channels == 0 &&
                     v->weight.node->vals[0].sizes[1] == 1 && node->vals[0].sizes[0] == 1;
    uint32_t scratch_arg = depthwise ? 13 : 12;

    add_constants(c, node, v, depthwise ? to_ihwo : to_ohwi, k);
    struct nuc_node *conv = nuc_cm_insert(c, &v->out, depthwise ? NUC_OP_CORTEXM_DEPTHWISE : NUC_OP_CORTEXM_CONV2D);
    for (uint32_t i = STRIDE; i <= DILATION; i++)
        copy_pair(c, conv, i, &node->args[i]);
    if (depthwise)
        nuc_set_arg_int(conv, 6, v->out_channels / in_channels);
    set_args(c, conv, v, k, depthwise ? 7 : 6);
    conv->vals = node->vals; /* the scratch size depends on the result's sizes */
    conv->n_vals = 1;
    size_t bytes =
        depthwise ? nuc_cm_depthwise_scratch(c->options->cpu, conv) : nuc_cm_conv_scratch(c->options->cpu, conv);
    nuc_cm_scratch(c, conv, scratch_arg, bytes);
    conv->vals = NULL;
    finish(c, conv, v);
    return true;
}

static bool all(const struct nuc_arg *arg, int64_t value)
{
    return arg->u.ints[0] == value && arg->u.ints[arg->count - 1] == value;
}

static bool lower_transposed(struct nuc_cm *c, struct nuc_node *node, struct conv *v, struct constants *k)
{
    static const uint8_t to_ohwi[4] = {1, 2, 3, 0};
    bool plain = v->groups == 1 && all(&node->args[OUTPUT_PADDING], 0) && all(&node->args[DILATION], 1);
    size_t first, second;

    if (!plain && (c->options->executorch_ops_only || c->options->reference_compat))
        return false;
    add_constants(c, node, v, to_ohwi, k);
    struct nuc_node *conv =
        nuc_cm_insert(c, &v->out, plain ? NUC_OP_CORTEXM_TRANSPOSE_CONV2D : NUC_OP_NUCLEON_TRANSPOSE_CONV2D);
    copy_pair(c, conv, 3, &node->args[STRIDE]);
    copy_pair(c, conv, 4, &node->args[PADDING]);
    copy_pair(c, conv, 5, &node->args[OUTPUT_PADDING]);
    copy_pair(c, conv, 6, &node->args[DILATION]);
    if (!plain)
        nuc_set_arg_int(conv, 7, v->groups);
    set_args(c, conv, v, k, plain ? 7 : 8);
    if (plain) {
        conv->vals = node->vals;
        conv->n_vals = 1;
        nuc_cm_transposed_scratch(c->options->cpu, conv, &first, &second);
        nuc_cm_scratch(c, conv, 13, first);
        nuc_cm_scratch(c, conv, 14, second);
        conv->vals = NULL;
    }
    finish(c, conv, v);
    return true;
}

bool nuc_cm_lower_convolution(struct nuc_cm *c, struct nuc_node *node)
{
    struct conv v = {.groups = 1};
    struct constants k = {.bias = NULL};

    if (!read_conv(node, &v) || !read_bias(c, node, &v, &k.bias))
        return false;
    return v.transposed ? lower_transposed(c, node, &v, &k) : lower_forward(c, node, &v, &k);
}
