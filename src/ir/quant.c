#include "ir/quant.h"

#include <assert.h>

#include "host/numbers.h"
#include "ir/args.h"

/* The operators of both directions, and those of the Cortex-M dialect, have the same arguments in the same places. */
#define PER_TENSOR(name) NUC_ARG(QUANTIZE_PER_TENSOR, name)
#define PER_CHANNEL(name) NUC_ARG(QUANTIZE_PER_CHANNEL, name)

static bool is_per_channel(const struct nuc_node *node)
{
    return node->op == NUC_OP_QUANTIZE_PER_CHANNEL || node->op == NUC_OP_DEQUANTIZE_PER_CHANNEL;
}

static bool is_scalar(const struct nuc_arg *a)
{
    return a->kind == NUC_ARG_FLOAT || a->kind == NUC_ARG_INT;
}

static bool read_per_tensor(const struct nuc_node *node, struct nuc_quant *out)
{
    const struct nuc_arg *dtype = nuc_arg_at(node, PER_TENSOR(dtype));

    if (!is_scalar(nuc_arg_at(node, PER_TENSOR(scale))) || dtype->kind != NUC_ARG_DTYPE)
        return false;
    *out = (struct nuc_quant){
        .scale = nuc_scalar(node, PER_TENSOR(scale), 0.0),
        .zero_point = nuc_integer(node, PER_TENSOR(zero_point), 0),
        .axis = -1,
        .quant_min = nuc_integer(node, PER_TENSOR(quant_min), 0),
        .quant_max = nuc_integer(node, PER_TENSOR(quant_max), 0),
        .dtype = dtype->u.dtype,
    };
    return true;
}

static bool read_per_channel(const struct nuc_node *node, struct nuc_quant *out)
{
    const struct nuc_arg *dtype = nuc_arg_at(node, PER_CHANNEL(dtype));

    if (nuc_arg_node(node, PER_CHANNEL(scales)) == NULL || dtype->kind != NUC_ARG_DTYPE)
        return false;
    *out = (struct nuc_quant){
        .per_channel = true,
        .scales = nuc_arg_node(node, PER_CHANNEL(scales)),
        .zero_points = nuc_arg_node(node, PER_CHANNEL(zero_points)),
        .axis = nuc_integer(node, PER_CHANNEL(axis), 0),
        .quant_min = nuc_integer(node, PER_CHANNEL(quant_min), 0),
        .quant_max = nuc_integer(node, PER_CHANNEL(quant_max), 0),
        .dtype = dtype->u.dtype,
    };
    return true;
}

bool nuc_quant_of(const struct nuc_node *node, struct nuc_quant *out)
{
    if (node == NULL || !nuc_is_quantization(node))
        return false;
    return is_per_channel(node) ? read_per_channel(node, out) : read_per_tensor(node, out);
}

bool nuc_dequantize_quant(const struct nuc_node *node, struct nuc_quant *out)
{
    return node != NULL && nuc_is_dequantize(node) && nuc_quant_of(node, out);
}

bool nuc_quantize_quant(const struct nuc_node *node, struct nuc_quant *out)
{
    return node != NULL && nuc_is_quantize(node) && nuc_quant_of(node, out);
}

bool nuc_result_quant(const struct nuc_node *value, struct nuc_quant *out)
{
    for (uint32_t i = 0; i < value->n_users; i++) {
        struct nuc_quant q;
        if (!nuc_quantize_quant(value->users[i], &q) || (i > 0 && !nuc_same_quant(&q, out)))
            return false;
        *out = q;
    }
    return value->n_users > 0 && !out->per_channel && out->dtype == NUC_I8;
}

static bool quantizes_int16(const struct nuc_node *node)
{
    struct nuc_quant q;

    return nuc_quant_of(node, &q) && q.dtype == NUC_I16;
}

bool nuc_is_int16(const struct nuc_node *node)
{
    struct nuc_cursor at = {0, 0};

    for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at)) {
        if (quantizes_int16(in))
            return true;
    }
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        bool between = user->op == NUC_OP_GETITEM || nuc_has_bounds(user);
        if (quantizes_int16(user) || (between && user->n_users > 0 && quantizes_int16(user->users[0])))
            return true;
    }
    return false;
}

static bool has_reals(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_vals; i++) {
        if (!nuc_is_integer(node->vals[i].dtype))
            return true;
    }
    return false;
}

enum nuc_numbers nuc_numbers_of(const struct nuc_node *node)
{
    struct nuc_cursor at = {0, 0};
    bool reals = has_reals(node);

    for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at))
        reals = reals || has_reals(in);
    return !reals ? NUC_NUMBERS_INTEGERS : nuc_is_int16(node) ? NUC_NUMBERS_INT16 : NUC_NUMBERS_INT8;
}

void nuc_count_int8(uint32_t counts[NUC_NUMBERS_COUNT], uint32_t on_cpu)
{
    counts[NUC_NUMBERS_INT8] =
        on_cpu - counts[NUC_NUMBERS_FLOAT] - counts[NUC_NUMBERS_INT16] - counts[NUC_NUMBERS_INTEGERS];
}

bool nuc_same_parameters(const struct nuc_quant *a, const struct nuc_quant *b)
{
    if (a->per_channel != b->per_channel)
        return false;
    if (a->per_channel)
        return a->scales == b->scales && a->zero_points == b->zero_points;
    return nuc_numbers_equal(a->scale, b->scale) && a->zero_point == b->zero_point;
}

bool nuc_same_quant(const struct nuc_quant *a, const struct nuc_quant *b)
{
    return nuc_same_parameters(a, b) && a->axis == b->axis && a->quant_min == b->quant_min &&
           a->quant_max == b->quant_max && a->dtype == b->dtype;
}

void nuc_set_quant(struct nuc_node *node, const struct nuc_quant *quant)
{
    assert(nuc_is_quantization(node) && !is_per_channel(node) && !quant->per_channel);
    nuc_set_arg_float(node, PER_TENSOR(scale), quant->scale);
    nuc_set_arg_int(node, PER_TENSOR(zero_point), quant->zero_point);
    nuc_set_arg_int(node, PER_TENSOR(quant_min), quant->quant_min);
    nuc_set_arg_int(node, PER_TENSOR(quant_max), quant->quant_max);
    nuc_set_arg_dtype(node, PER_TENSOR(dtype), quant->dtype);
}
