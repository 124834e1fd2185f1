#include "compiler/support/facts.h"

#include <math.h>

/* ---- quantization ---- */

static double number_of(const struct nuc_arg *a, double fallback)
{
    if (a->kind == NUC_ARG_FLOAT)
        return a->u.f;
    return a->kind == NUC_ARG_INT ? (double)a->u.i : fallback;
}

static int64_t integer_of(const struct nuc_arg *a)
{
    return a->kind == NUC_ARG_INT ? a->u.i : 0;
}

/* `quantized` is the node that holds the quantized tensor. */
static bool read_parameters(const struct nuc_node *node, const struct nuc_node *quantized, bool per_channel,
                            struct quant *out)
{
    uint32_t range = per_channel ? 4 : 3; /* position of quant_min */

    if (quantized == NULL || quantized->n_vals == 0)
        return false;
    *out = (struct quant){.per_channel = per_channel, .dtype = quantized->vals[0].dtype};
    if (per_channel) {
        out->scales = nuc_arg_node(node, 1);
        out->zero_points = nuc_arg_node(node, 2);
    } else {
        out->scale = number_of(&node->args[1], 0.0);
        out->zero_point = integer_of(&node->args[2]);
    }
    out->quant_min = integer_of(&node->args[range]);
    out->quant_max = integer_of(&node->args[range + 1]);
    return true;
}

bool nuc_dequantize_quant(const struct nuc_node *node, struct quant *out)
{
    if (node == NULL || !nuc_is_dequantize(node))
        return false;
    return read_parameters(node, nuc_arg_node(node, 0), node->op == NUC_OP_DEQUANTIZE_PER_CHANNEL, out);
}

bool nuc_quantize_quant(const struct nuc_node *node, struct quant *out)
{
    if (node == NULL || !nuc_is_quantize(node))
        return false;
    return read_parameters(node, node, node->op == NUC_OP_QUANTIZE_PER_CHANNEL, out);
}

bool nuc_input_quant(const struct nuc_node *node, uint32_t index, struct quant *out)
{
    return nuc_dequantize_quant(nuc_arg_node(node, index), out);
}

bool nuc_output_quant(const struct nuc_node *node, uint32_t index, struct quant *out)
{
    const struct nuc_node *selected = NULL;

    if (node->n_users == 1 && nuc_is_quantize(node->users[0]))
        return index == 0 && nuc_quantize_quant(node->users[0], out);
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        if (user->op != NUC_OP_GETITEM)
            return false;
        if (integer_of(&user->args[1]) != (int64_t)index)
            continue;
        if (selected != NULL)
            return false;
        selected = user;
    }
    return selected != NULL && selected->n_users == 1 && nuc_quantize_quant(selected->users[0], out);
}

bool nuc_same_parameters(const struct quant *a, const struct quant *b)
{
    if (a->per_channel != b->per_channel)
        return false;
    if (a->per_channel)
        return a->scales == b->scales && a->zero_points == b->zero_points;
    return !(a->scale < b->scale) && !(a->scale > b->scale) && a->zero_point == b->zero_point;
}

bool nuc_is_8bit(enum nuc_dtype dtype)
{
    return dtype == NUC_I8 || dtype == NUC_U8;
}

/* ---- static data ---- */

bool nuc_is_effectively_static(const struct nuc_node *node)
{
    if (node == NULL)
        return false;
    if (nuc_is_static(node))
        return true;
    const struct nuc_node *source = nuc_is_dequantize(node) ? nuc_arg_node(node, 0) : NULL;
    return source != NULL && nuc_is_static(source);
}

bool nuc_is_static_weight(const struct nuc_node *node)
{
    const struct nuc_node *quantize = node != NULL && nuc_is_dequantize(node) ? nuc_arg_node(node, 0) : NULL;
    const struct nuc_node *permute = quantize != NULL && nuc_is_quantize(quantize) ? nuc_arg_node(quantize, 0) : NULL;

    if (permute != NULL && permute->op == NUC_OP_PERMUTE)
        return nuc_is_effectively_static(nuc_arg_node(permute, 0));
    return nuc_is_effectively_static(node);
}

/* ---- arguments ---- */

bool nuc_is_channels_first(const struct nuc_node *node)
{
    return node != NULL && node->format == NUC_CHANNELS_FIRST;
}

const struct nuc_meta *nuc_input_meta(const struct nuc_node *node, uint32_t index)
{
    static const struct nuc_meta none = {.rank = 0};
    const struct nuc_node *input = nuc_arg_node(node, index);

    return input != NULL && input->n_vals > 0 ? &input->vals[0] : &none;
}

struct distinct {
    const struct nuc_node **out;
    uint32_t max, count;
};

static void add_distinct(void *user, struct nuc_node *input)
{
    struct distinct *d = user;

    for (uint32_t i = 0; i < d->count && i < d->max; i++) {
        if (d->out[i] == input)
            return;
    }
    if (d->count < d->max)
        d->out[d->count] = input;
    d->count++;
}

uint32_t nuc_distinct_inputs(const struct nuc_node *node, const struct nuc_node **out, uint32_t max)
{
    struct distinct d = {out, max, 0};

    nuc_for_each_input(node, add_distinct, &d);
    return d.count;
}

struct pair nuc_arg_pair(const struct nuc_node *node, uint32_t index, struct pair fallback)
{
    if (index >= node->n_args)
        return fallback;
    const struct nuc_arg *a = &node->args[index];
    if (a->kind == NUC_ARG_INT)
        return (struct pair){a->u.i, a->u.i};
    if (a->kind != NUC_ARG_INTS || a->count == 0)
        return fallback;
    return (struct pair){a->u.ints[0], a->u.ints[a->count == 1 ? 0 : 1]};
}

double nuc_arg_number(const struct nuc_node *node, uint32_t index, double fallback)
{
    return index < node->n_args ? number_of(&node->args[index], fallback) : fallback;
}

bool nuc_arg_flag(const struct nuc_node *node, uint32_t index)
{
    return index < node->n_args && node->args[index].kind == NUC_ARG_BOOL && node->args[index].u.b;
}

uint32_t nuc_reduced_dims(const struct nuc_node *node)
{
    const struct nuc_arg *dims = &node->args[1];
    uint32_t rank = nuc_input_meta(node, 0)->rank, mask = 0;

    if (dims->kind != NUC_ARG_INTS || dims->count == 0)
        return (1u << rank) - 1;
    for (uint32_t i = 0; i < dims->count; i++) {
        int64_t d = dims->u.ints[i] < 0 ? dims->u.ints[i] + rank : dims->u.ints[i];
        if (d >= 0 && d < rank)
            mask |= 1u << (uint32_t)d;
    }
    return mask;
}

int64_t nuc_arg_integer(const struct nuc_node *node, uint32_t index, int64_t fallback)
{
    return index < node->n_args && node->args[index].kind == NUC_ARG_INT ? node->args[index].u.i : fallback;
}

int64_t nuc_multiple_above(int64_t size, int64_t factor)
{
    int64_t rest = size % factor;

    return rest == 0 || size > INT64_MAX - factor ? size : size + factor - rest;
}

int64_t nuc_positive_dim(const struct nuc_node *of, int64_t dim)
{
    int64_t rank = of != NULL && of->n_vals > 0 ? of->vals[0].rank : 0;

    return dim < 0 ? dim + rank : dim;
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

struct conv nuc_conv_of(const struct nuc_node *node)
{
    enum { INPUT, WEIGHT, BIAS, STRIDE, PADDING, DILATION, TRANSPOSED, OUTPUT_PADDING, GROUPS };
    const struct nuc_meta *input = nuc_input_meta(node, INPUT), *weight = nuc_input_meta(node, WEIGHT);
    struct conv c = {
        .transposed = nuc_arg_flag(node, TRANSPOSED),
        .groups = nuc_arg_integer(node, GROUPS, 1),
        .batch = input->sizes[0],
        .channels = input->sizes[1],
        .kernel = {weight->sizes[2], weight->sizes[3]},
        .stride = nuc_arg_pair(node, STRIDE, (struct pair){1, 1}),
        .padding = nuc_arg_pair(node, PADDING, (struct pair){0, 0}),
        .dilation = nuc_arg_pair(node, DILATION, (struct pair){1, 1}),
        .output_padding = nuc_arg_pair(node, OUTPUT_PADDING, (struct pair){0, 0}),
    };

    c.depthwise = c.channels == c.groups && weight->sizes[0] == c.groups;
    return c;
}

struct pool nuc_pool_of(const struct nuc_node *node)
{
    struct pool p = {.kernel = nuc_arg_pair(node, 1, (struct pair){1, 1})};

    p.stride = nuc_arg_pair(node, 2, p.kernel);
    p.padding = nuc_arg_pair(node, 3, (struct pair){0, 0});
    return p;
}

struct bounds nuc_bounds_of(const struct nuc_node *node)
{
    double most = node->op == NUC_OP_CLAMP ? HUGE_VAL : 1.0;

    return (struct bounds){nuc_arg_number(node, 1, -most), nuc_arg_number(node, 2, most)};
}

bool nuc_numbers_equal(double a, double b)
{
    return !(a < b) && !(a > b);
}

bool nuc_is_relu_like(struct bounds b, bool allow_infinite)
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
