/* Reading what stands around an operator, replacing it, and layouts of its tensors. */
#include <math.h>
#include <string.h>

#include "compiler/cortexm/cortexm_private.h"
#include "compiler/layout/orders.h"

/* ---- parameters ---- */

static double number(const struct nuc_arg *arg)
{
    return arg->kind == NUC_ARG_INT ? (double)arg->u.i : arg->u.f;
}

static bool read_per_tensor(const struct nuc_node *node, struct nuc_cm_value *out)
{
    if ((node->args[1].kind != NUC_ARG_FLOAT && node->args[1].kind != NUC_ARG_INT) ||
        node->args[2].kind != NUC_ARG_INT || node->args[5].kind != NUC_ARG_DTYPE)
        return false;
    *out = (struct nuc_cm_value){
        .dtype = node->args[5].u.dtype,
        .scale = number(&node->args[1]),
        .zero_point = node->args[2].u.i,
        .n_scales = 1,
        .axis = -1,
    };
    return out->scale > 0;
}

/* Symmetric, as weights and biases are. */
static bool read_per_channel(const struct nuc_node *node, struct nuc_cm_value *out)
{
    const struct nuc_node *scales = nuc_arg_node(node, 1);

    if (scales == NULL || scales->data == NULL || scales->vals[0].dtype != NUC_F32 || scales->vals[0].rank != 1 ||
        scales->vals[0].sizes[0] < 1 || node->args[3].kind != NUC_ARG_INT || node->args[6].kind != NUC_ARG_DTYPE)
        return false;
    const float *values = (const float *)scales->data->bytes.data;
    *out = (struct nuc_cm_value){
        .dtype = node->args[6].u.dtype,
        .scale = (double)values[0],
        .scales = values,
        .n_scales = (uint32_t)scales->vals[0].sizes[0],
        .axis = (int)node->args[3].u.i,
    };
    return true;
}

bool nuc_cm_operand(const struct nuc_node *dequantize, struct nuc_cm_value *out)
{
    bool ok = false;

    if (dequantize == NULL)
        return false;
    if (dequantize->op == NUC_OP_DEQUANTIZE_PER_TENSOR)
        ok = read_per_tensor(dequantize, out);
    else if (dequantize->op == NUC_OP_DEQUANTIZE_PER_CHANNEL)
        ok = read_per_channel(dequantize, out);
    if (ok)
        out->node = nuc_arg_node(dequantize, 0);
    return ok && out->node != NULL;
}

bool nuc_cm_tensor(const struct nuc_node *node, uint32_t index, struct nuc_cm_value *out)
{
    return nuc_cm_operand(nuc_arg_node(node, index), out) && out->scales == NULL && out->dtype == NUC_I8;
}

bool nuc_cm_same_params(const struct nuc_cm_value *a, const struct nuc_cm_value *b)
{
    return a->dtype == b->dtype && !(a->scale < b->scale) && !(a->scale > b->scale) && a->zero_point == b->zero_point &&
           a->scales == NULL && b->scales == NULL;
}

int64_t nuc_cm_quantize(const struct nuc_cm_value *params, double x)
{
    double q = nearbyint((double)(float)(x / params->scale + (double)params->zero_point));

    if (!(q > INT8_MIN))
        return INT8_MIN;
    return q < INT8_MAX ? (int64_t)q : INT8_MAX;
}

struct nuc_multiplier nuc_cm_multiplier(double scale)
{
    int shift;
    double mantissa = nearbyint(ldexp(frexp(scale, &shift), 31));

    if (mantissa >= 0x1p31) {
        mantissa /= 2;
        shift++;
    }
    if (!(scale > 0) || shift < -31)
        return (struct nuc_multiplier){0, 0};
    if (shift > 30)
        return (struct nuc_multiplier){INT32_MAX, 30};
    return (struct nuc_multiplier){(int32_t)mantissa, shift};
}

/* ---- results ---- */

static double bound(const struct nuc_node *node, uint32_t arg, double absent)
{
    if (arg >= node->n_args || (node->args[arg].kind != NUC_ARG_INT && node->args[arg].kind != NUC_ARG_FLOAT))
        return absent;
    return number(&node->args[arg]);
}

/* The bounds of a ReLU or clamp; false for other operators. */
static bool clamp_bounds(const struct nuc_node *node, double *low, double *high)
{
    switch ((int)node->op) {
    case NUC_OP_RELU:
        *low = 0;
        *high = (double)INFINITY;
        return true;
    case NUC_OP_HARDTANH:
    case NUC_OP_CLAMP:
        *low = bound(node, 1, -(double)INFINITY);
        *high = bound(node, 2, (double)INFINITY);
        return true;
    default:
        return false;
    }
}

/* Every reader is a quantize node, all of the same parameters. */
static bool read_quantize(struct nuc_node *value, struct nuc_cm_result *out)
{
    for (uint32_t i = 0; i < value->n_users; i++) {
        struct nuc_cm_value params;
        if (value->users[i]->op != NUC_OP_QUANTIZE_PER_TENSOR || !read_per_tensor(value->users[i], &params) ||
            params.dtype != NUC_I8 || (i > 0 && !nuc_cm_same_params(&params, &out->params)))
            return false;
        if (i == 0) {
            out->quantize = value->users[0];
            out->params = params;
            out->params.node = value->users[0];
        }
    }
    return value->n_users > 0;
}

bool nuc_cm_result(struct nuc_node *node, bool fuse, struct nuc_cm_result *out)
{
    struct nuc_node *value = node;
    double low = -(double)INFINITY, high = (double)INFINITY;

    *out = (struct nuc_cm_result){.low = INT8_MIN, .high = INT8_MAX};
    if (node->is_tuple) {
        if (node->n_users != 1 || node->users[0]->op != NUC_OP_GETITEM || node->users[0]->args[1].u.i != 0)
            return false;
        value = node->users[0];
    }
    if (fuse && value->n_users == 1 && clamp_bounds(value->users[0], &low, &high))
        value = value->users[0];
    out->value = value;
    if (!read_quantize(value, out))
        return false;
    if (low > -(double)INFINITY)
        out->low = nuc_cm_quantize(&out->params, low);
    if (high < (double)INFINITY)
        out->high = nuc_cm_quantize(&out->params, high);
    return true;
}

struct nuc_node *nuc_cm_insert(struct nuc_cm *c, const struct nuc_cm_result *result, enum nuc_op op)
{
    return nuc_insert(c->g, result->value->next, op, result->value);
}

void nuc_cm_replace(struct nuc_cm *c, const struct nuc_cm_result *result, struct nuc_node *node)
{
    struct nuc_node *value = result->value;
    struct nuc_meta before = result->quantize->vals[0];

    /* Of names for one layout, the one from before. */
    if (nuc_same_layout(&before, &node->vals[0]))
        node->vals[0] = before;
    while (value->n_users > 0) {
        struct nuc_node *quantize = value->users[0];
        nuc_replace_uses(c->g, quantize, node, NULL);
        nuc_remove_node(c->g, quantize);
    }
}

struct nuc_node *nuc_cm_constant(struct nuc_cm *c, const struct nuc_node *like, const char *suffix,
                                 enum nuc_dtype dtype, const int64_t *sizes, uint32_t rank, const void *bytes)
{
    struct nuc_meta meta = nuc_meta_make(dtype, sizes, rank);
    struct nuc_node *constant =
        nuc_add_placeholder(c->g, nuc_format(c->g->cx, "%s%s", like->name, suffix), NUC_PARAMETER, &meta);

    constant->data = nuc_dense_data(c->g->cx, &meta, bytes);
    constant->target = constant->name;
    constant->source = like->source;
    return constant;
}

/* ---- layouts ---- */

struct nuc_node *nuc_cm_in_order(struct nuc_cm *c, struct nuc_node *value, const struct nuc_meta *like,
                                 struct nuc_node *before)
{
    struct nuc_meta wanted = value->vals[0];

    memcpy(wanted.dim_order, like->dim_order, sizeof wanted.dim_order);
    if (nuc_same_layout(&wanted, &value->vals[0]))
        return value;
    return nuc_insert_in_order(c->g, before, NUC_OP_TO_DIM_ORDER_COPY, value, &wanted);
}

struct nuc_node *nuc_cm_copy(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before)
{
    struct nuc_node *copy = nuc_insert(c->g, before, NUC_OP_CLONE_DIM_ORDER, value);

    nuc_set_arg_node(copy, c->g, 0, value);
    nuc_set_val(c->g, copy, &value->vals[0]);
    return copy;
}

/* Kernels read the name of the order; with one channel or one pixel they take any. */
static bool is_named_channels_last(const struct nuc_meta *m)
{
    return m->rank != 4 || m->sizes[1] == 1 || (m->sizes[2] == 1 && m->sizes[3] == 1) || nuc_is_channels_last(m);
}

struct nuc_node *nuc_cm_channels_last(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before)
{
    struct nuc_meta wanted = nuc_in_channels_last_order(&value->vals[0]);
    struct nuc_node *ordered = nuc_cm_in_order(c, value, &wanted, before);
    if (is_named_channels_last(&ordered->vals[0]))
        return ordered;
    ordered = nuc_cm_copy(c, ordered, before);
    ordered->vals[0] = wanted;
    return ordered;
}

struct nuc_node *nuc_cm_contiguous(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before)
{
    struct nuc_meta wanted = nuc_in_contiguous_order(&value->vals[0]);

    return nuc_cm_in_order(c, value, &wanted, before);
}

bool nuc_cm_is_nhwc(const struct nuc_node *value)
{
    const struct nuc_meta *m = &value->vals[0];

    return m->rank == 4 && nuc_is_channels_last(m) && !nuc_lies_contiguous(m);
}

static struct nuc_node *permute_view(struct nuc_cm *c, struct nuc_node *value, const int64_t dims[4],
                                     struct nuc_node *before)
{
    struct nuc_node *view = nuc_insert(c->g, before, NUC_OP_NUCLEON_PERMUTE_VIEW, value);

    nuc_set_arg_node(view, c->g, 0, value);
    nuc_set_arg_ints(view, c->g, 1, dims, 4);
    nuc_infer_shape(c->g, view);
    return view;
}

struct nuc_node *nuc_cm_as_nhwc(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before)
{
    static const int64_t dims[4] = {0, 2, 3, 1};
    struct nuc_node *view = permute_view(c, value, dims, before);

    nuc_set_contiguous(&view->vals[0]);
    return view;
}

struct nuc_node *nuc_cm_as_nchw(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before)
{
    static const int64_t dims[4] = {0, 3, 1, 2};
    struct nuc_node *view = permute_view(c, value, dims, before);

    nuc_set_channels_last(&view->vals[0]);
    return view;
}
