#include "npu/support/facts.h"

#include <math.h>

/* ---- quantization ---- */

bool nuc_input_quant(const struct nuc_node *node, uint32_t index, struct nuc_quant *out)
{
    return nuc_dequantize_quant(nuc_arg_node(node, index), out);
}

bool nuc_output_quant(const struct nuc_node *node, uint32_t index, struct nuc_quant *out)
{
    const struct nuc_node *selected = NULL;

    if (node->n_users == 1 && nuc_is_quantize(node->users[0]))
        return index == 0 && nuc_quantize_quant(node->users[0], out);
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        if (user->op != NUC_OP_GETITEM)
            return false;
        if (nuc_integer(user, NUC_ARG(GETITEM, index), 0) != (int64_t)index)
            continue;
        if (selected != NULL)
            return false;
        selected = user;
    }
    return selected != NULL && selected->n_users == 1 && nuc_quantize_quant(selected->users[0], out);
}

bool nuc_is_8bit(enum nuc_dtype dtype)
{
    return dtype == NUC_I8 || dtype == NUC_U8;
}

/* ---- static data ---- */

const struct nuc_node *nuc_dequantize_source(const struct nuc_node *node)
{
    return node != NULL && nuc_is_dequantize(node) ? nuc_arg_node(node, NUC_SELF) : NULL;
}

const struct nuc_node *nuc_quantize_source(const struct nuc_node *node)
{
    return node != NULL && nuc_is_quantize(node) ? nuc_arg_node(node, NUC_SELF) : NULL;
}

bool nuc_is_effectively_static(const struct nuc_node *node)
{
    const struct nuc_node *source = nuc_dequantize_source(node);

    return (node != NULL && nuc_is_static(node)) || (source != NULL && nuc_is_static(source));
}

bool nuc_is_static_weight(const struct nuc_node *node)
{
    const struct nuc_node *permute = nuc_quantize_source(nuc_dequantize_source(node));

    if (permute != NULL && permute->op == NUC_OP_PERMUTE)
        return nuc_is_effectively_static(nuc_arg_node(permute, NUC_SELF));
    return nuc_is_effectively_static(node);
}

/* ---- arguments ---- */

bool nuc_is_channels_first(const struct nuc_node *node)
{
    return node != NULL && node->format == NUC_CHANNELS_FIRST;
}

static bool is_listed(const struct nuc_node **list, uint32_t count, const struct nuc_node *node)
{
    uint32_t i = 0;

    while (i < count && list[i] != node)
        i++;
    return i < count;
}

uint32_t nuc_distinct_inputs(const struct nuc_node *node, const struct nuc_node **out, uint32_t max)
{
    struct nuc_cursor at = {0, 0};
    uint32_t count = 0;

    for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at)) {
        if (is_listed(out, count < max ? count : max, in))
            continue;
        if (count < max)
            out[count] = in;
        count++;
    }
    return count;
}

int64_t nuc_multiple_above(int64_t size, int64_t factor)
{
    int64_t rest = size % factor;

    return rest == 0 || size > INT64_MAX - factor ? size : size + factor - rest;
}

uint32_t nuc_channels_dim(const struct nuc_node *node)
{
    uint32_t rank = node->n_vals > 0 ? node->vals[0].rank : 0;

    return nuc_is_channels_first(node) && rank > 1 ? 1 : rank > 0 ? rank - 1 : 0;
}

int64_t nuc_channels_of(const struct nuc_node *node)
{
    uint32_t c = nuc_channels_dim(node);

    return node->n_vals > 0 && c < node->vals[0].rank ? node->vals[0].sizes[c] : 1;
}

/* ---- operators ---- */

#define CONV(name) NUC_ARG(CONVOLUTION, name)
#define POOL(name) NUC_ARG(AVG_POOL2D, name)

struct conv nuc_conv_of(const struct nuc_node *node)
{
    const struct nuc_meta *input = nuc_input_meta(node, CONV(input)), *weight = nuc_input_meta(node, CONV(weight));
    struct conv c = {
        .transposed = nuc_flag(node, CONV(transposed)),
        .groups = nuc_integer(node, CONV(groups), 1),
        .batch = input->sizes[0],
        .channels = input->sizes[1],
        .kernel = {weight->sizes[2], weight->sizes[3]},
        .stride = nuc_pair(node, CONV(stride), (struct nuc_pair){1, 1}),
        .padding = nuc_pair(node, CONV(padding), (struct nuc_pair){0, 0}),
        .dilation = nuc_pair(node, CONV(dilation), (struct nuc_pair){1, 1}),
        .output_padding = nuc_pair(node, CONV(output_padding), (struct nuc_pair){0, 0}),
    };

    c.depthwise = c.channels == c.groups && weight->sizes[0] == c.groups;
    return c;
}

struct nuc_pool nuc_pool_of(const struct nuc_node *node)
{
    struct nuc_pool p = {.kernel = nuc_pair(node, POOL(kernel_size), (struct nuc_pair){1, 1})};

    p.stride = nuc_pair(node, POOL(stride), p.kernel);
    p.padding = nuc_pair(node, POOL(padding), (struct nuc_pair){0, 0});
    return p;
}

bool nuc_is_relu_like(struct nuc_bounds b, bool allow_infinite)
{
    if (nuc_numbers_equal(b.max, 1.0))
        return nuc_numbers_equal(b.min, -1.0) || nuc_numbers_equal(b.min, 0.0);
    return nuc_numbers_equal(b.min, 0.0) && (nuc_numbers_equal(b.max, 6.0) || (allow_infinite && b.max >= HUGE_VAL));
}

/* ---- partitions ---- */

bool nuc_is_alone(const struct nuc_support *s, const struct nuc_node *node)
{
    int32_t partition = s->partitions->of[node->id];

    return partition >= 0 && s->partitions->n_compute[partition] == 1;
}

bool nuc_is_in_same_partition(const struct nuc_support *s, const struct nuc_node *node, const struct nuc_node *other)
{
    return other != NULL && nuc_is_call(other) && s->partitions->of[other->id] == s->partitions->of[node->id];
}
