/* Reading what stands around an operator, replacing it, new nodes, and layouts of their tensors. */
#include <math.h>
#include <string.h>

#include "cpu/cortexm_site.h"
#include "ir/quant.h"
#include "npu/layout/orders.h"

/* ---- parameters ---- */

/* Per channel they are symmetric, as weights and biases are; else 0 is among the values, whatever a file says. */
static bool read_parameters(const struct nuc_node *node, struct nuc_cm_value *out)
{
    struct nuc_quant q;

    if (!nuc_quant_of(node, &q))
        return false;
    *out = (struct nuc_cm_value){.dtype = q.dtype, .zero_point = q.zero_point, .n_scales = 1, .axis = (int)q.axis};
    if (!q.per_channel) {
        const struct nuc_int_range range = nuc_int_range(q.dtype);
        out->scale = q.scale;
        return q.scale > 0 && q.zero_point >= range.low && q.zero_point <= range.high;
    }
    const struct nuc_meta *m = &q.scales->vals[0];
    if (q.scales->data == NULL || m->dtype != NUC_F32 || m->rank != 1 || m->sizes[0] < 1)
        return false;
    out->scales = (const float *)q.scales->data->bytes.data;
    out->scale = (double)out->scales[0];
    out->n_scales = (uint32_t)m->sizes[0];
    return true;
}

bool nuc_cm_operand(const struct nuc_node *dequantize, struct nuc_cm_value *out)
{
    if (dequantize == NULL || !nuc_is_dequantize(dequantize) || !read_parameters(dequantize, out))
        return false;
    out->node = nuc_arg_node(dequantize, NUC_ARG(DEQUANTIZE_PER_TENSOR, input));
    return out->node != NULL;
}

bool nuc_cm_int8(const struct nuc_node *dequantize, struct nuc_cm_value *out)
{
    return nuc_cm_operand(dequantize, out) && out->scales == NULL && out->dtype == NUC_I8;
}

static bool has_kernels(const struct nuc_cm_value *v)
{
    return v->scales == NULL && (v->dtype == NUC_I8 || (v->dtype == NUC_I16 && v->zero_point == 0));
}

bool nuc_cm_values(const struct nuc_node *dequantize, struct nuc_cm_value *out)
{
    return nuc_cm_operand(dequantize, out) && has_kernels(out);
}

bool nuc_cm_tensor(const struct nuc_node *node, uint32_t index, struct nuc_cm_value *out)
{
    return nuc_cm_values(nuc_arg_node(node, index), out);
}

bool nuc_cm_same_params(const struct nuc_cm_value *a, const struct nuc_cm_value *b)
{
    return a->dtype == b->dtype && nuc_numbers_equal(a->scale, b->scale) && a->zero_point == b->zero_point &&
           a->scales == NULL && b->scales == NULL;
}

int64_t nuc_cm_quantize(const struct nuc_cm_value *params, double x)
{
    double q = nearbyint((double)(float)(x / params->scale + (double)params->zero_point));
    const struct nuc_int_range range = nuc_int_range(params->dtype);

    if (!(q > (double)range.low))
        return range.low;
    return q < (double)range.high ? (int64_t)q : range.high;
}

struct nuc_multiplier nuc_cm_multiplier(double scale)
{
    int shift;
    double mantissa = nearbyint(ldexp(frexp(scale, &shift), 31));

    return nuc_multiplier_from_scale(ldexp(mantissa, shift - 31));
}

double nuc_cm_channel_scale(const struct nuc_cm_value *weight, int64_t channel)
{
    return weight->scales == NULL ? weight->scale : (double)weight->scales[channel % weight->n_scales];
}

/* Of int16 and int8 whose sum, beside a bias below 2^30, fits an int32, as sums have the width of the bias. */
#define MOST_SHORT_PRODUCTS 256

static bool may_wrap(const struct nuc_cm *c, const struct nuc_node *bias, int64_t n_products)
{
    const int32_t *values = nuc_const_contiguous(c->g, bias);
    bool large = n_products > MOST_SHORT_PRODUCTS;

    for (int64_t i = 0; i < nuc_elements(&bias->vals[0]); i++)
        large = large || values[i] >= 1 << 30 || values[i] <= -(1 << 30);
    return large;
}

static struct nuc_node *long_bias(struct nuc_cm *c, const struct nuc_node *like, const struct nuc_node *bias)
{
    int64_t n = nuc_elements(&bias->vals[0]), *longs = nuc_alloc_array(c->g->cx, (size_t)n, sizeof *longs);
    const int32_t *values = nuc_const_contiguous(c->g, bias);

    for (int64_t i = 0; i < n; i++)
        longs[i] = values[i];
    return nuc_cm_constant(c, like, "_bias", NUC_I64, &n, 1, longs);
}

bool nuc_cm_bias(struct nuc_cm *c, const struct nuc_node *like, struct nuc_node *arg, int64_t n,
                 const struct nuc_cm_value *in, const struct nuc_cm_value *weight, struct nuc_node **out)
{
    struct nuc_cm_value bias;

    *out = NULL;
    if (arg == NULL)
        return true;
    const bool wide = in->dtype == NUC_I16;
    if (nuc_cm_operand(arg, &bias) && nuc_is_static(bias.node) &&
        (bias.dtype == NUC_I32 || (wide && bias.dtype == NUC_I64))) {
        bool widened = wide && bias.dtype == NUC_I32 && !c->options->as_litert &&
                       may_wrap(c, bias.node, nuc_elements(&weight->node->vals[0]) / n);
        *out = widened ? long_bias(c, like, bias.node) : bias.node;
        return bias.node->vals[0].rank <= 1;
    }
    if (!nuc_is_static_float(arg) || arg->vals[0].rank != 1 || arg->vals[0].sizes[0] != n)
        return false;
    const float *values = nuc_const_contiguous(c->g, arg);
    int32_t *quantized = nuc_alloc_array(c->g->cx, (size_t)n, sizeof *quantized);
    int64_t *longs = nuc_alloc_array(c->g->cx, (size_t)n, sizeof *longs);
    for (int64_t i = 0; i < n; i++) {
        double q = nearbyint((double)values[i] / (in->scale * nuc_cm_channel_scale(weight, i)));
        const bool fits =
            fabs(q) <= 0x1p46; /* where inputs are next to nothing it may not, and int16 would be of no use */
        if (wide && !fits)
            return false;
        longs[i] = fits ? (int64_t)q : q > 0 ? INT32_MAX : INT32_MIN;
        quantized[i] = nuc_saturate_i32(longs[i]);
    }
    *out = nuc_cm_constant(c, like, "_bias", wide ? NUC_I64 : NUC_I32, &n, 1, wide ? (const void *)longs : quantized);
    return true;
}

/* ---- results ---- */

/* Every reader is a quantize node, all of the same parameters. */
static bool read_quantize(struct nuc_node *value, bool any, struct nuc_cm_result *out)
{
    for (uint32_t i = 0; i < value->n_users; i++) {
        struct nuc_cm_value params;
        if (value->users[i]->op != NUC_OP_QUANTIZE_PER_TENSOR || !read_parameters(value->users[i], &params) ||
            (!any && !has_kernels(&params)) || (i > 0 && !nuc_cm_same_params(&params, &out->params)))
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
    struct nuc_bounds bounds = {-HUGE_VAL, HUGE_VAL};

    *out = (struct nuc_cm_result){.value = NULL};
    if (node->is_tuple) {
        if (node->n_users != 1 || node->users[0]->op != NUC_OP_GETITEM ||
            nuc_integer(node->users[0], NUC_ARG(GETITEM, index), -1) != 0)
            return false;
        value = node->users[0];
    }
    if (fuse && value->n_users == 1 && nuc_has_bounds(value->users[0])) {
        value = value->users[0];
        bounds = nuc_bounds_of(value);
        if (isnan(bounds.min))
            return false;
    }
    out->value = value;
    if (!read_quantize(value, false, out))
        return false;
    out->low = nuc_int_range(out->params.dtype).low;
    out->high = nuc_int_range(out->params.dtype).high;
    if (bounds.min > -HUGE_VAL)
        out->low = nuc_cm_quantize(&out->params, bounds.min);
    if (bounds.max < HUGE_VAL)
        out->high = nuc_cm_quantize(&out->params, bounds.max);
    return true;
}

bool nuc_cm_any_result(struct nuc_node *node, struct nuc_cm_result *out)
{
    *out = (struct nuc_cm_result){.value = node};
    if (node->is_tuple || !read_quantize(node, true, out))
        return false;
    out->low = nuc_int_range(out->params.dtype).low;
    out->high = nuc_int_range(out->params.dtype).high;
    return true;
}

bool nuc_cm_is_clamped(const struct nuc_cm_result *result)
{
    const struct nuc_int_range range = nuc_int_range(result->params.dtype);

    return result->low != range.low || result->high != range.high;
}

bool nuc_cm_read_unary(struct nuc_node *node, bool fuse, struct nuc_cm_unary *out)
{
    return nuc_cm_tensor(node, NUC_SELF, &out->in) && nuc_cm_result(node, fuse, &out->out) &&
           out->in.dtype == out->out.params.dtype;
}

bool nuc_cm_read_binary(struct nuc_node *node, bool fuse, struct nuc_cm_binary *out)
{
    return nuc_cm_tensor(node, NUC_SELF, &out->a) && nuc_cm_tensor(node, NUC_OTHER, &out->b) &&
           nuc_cm_result(node, fuse, &out->out) && out->a.dtype == out->b.dtype &&
           out->a.dtype == out->out.params.dtype;
}

bool nuc_cm_replace(struct nuc_cm *c, const struct nuc_cm_result *result, struct nuc_node *node)
{
    struct nuc_node *value = result->value;
    struct nuc_meta before = result->quantize->vals[0];

    /* Of names for one layout, the one from before. */
    if (nuc_same_layout(&before, &node->vals[0]))
        nuc_set_val(c->g, node, &before);
    while (value->n_users > 0) {
        struct nuc_node *quantize = value->users[0];
        nuc_replace_uses(c->g, quantize, node, NULL);
        nuc_remove_node(c->g, quantize);
    }
    return true;
}

/* ---- new nodes ---- */

struct nuc_node *nuc_cm_emit_requantize(struct nuc_cm *c, const struct nuc_cm_value *from,
                                        const struct nuc_cm_result *to, double ratio, struct nuc_node *before)
{
    const struct nuc_multiplier m = nuc_multiplier_from_scale(ratio);
    const struct nuc_node *like = to->params.node != NULL ? to->params.node : from->node;
    struct nuc_node *node = nuc_emit(c->g, before, NUC_OP_NUCLEON_REQUANTIZE, like,
                                     NUC_ARGS(from->node, from->zero_point, to->params.zero_point, m.multiplier,
                                              m.shift, to->low, to->high, nuc_dtype_arg(to->params.dtype)));

    return node;
}

struct nuc_node *nuc_cm_insert_quant(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op,
                                     struct nuc_node *input, const struct nuc_node *like)
{
    struct nuc_node *node = nuc_insert(g, before, op, input);

    nuc_set_arg_node(node, g, NUC_SELF, input);
    for (uint32_t i = NUC_ARG(QUANTIZE_PER_TENSOR, scale); i <= NUC_ARG(QUANTIZE_PER_TENSOR, dtype); i++)
        nuc_copy_arg(g, node, i, like, i);
    nuc_infer_shape(g, node);
    return node;
}

struct nuc_node *nuc_cm_constant(struct nuc_cm *c, const struct nuc_node *like, const char *suffix,
                                 enum nuc_dtype dtype, const int64_t *sizes, uint32_t rank, const void *bytes)
{
    struct nuc_meta meta = nuc_meta_make(dtype, sizes, rank);
    struct nuc_node *constant =
        nuc_add_placeholder(c->g, nuc_format(c->g->cx, "%s%s", like->name, suffix), NUC_PARAMETER, &meta);

    constant->data = nuc_dense_data(c->g->cx, &meta, bytes);
    constant->target = constant->name;
    nuc_made_of(constant, like);
    return constant;
}

struct nuc_node *nuc_cm_permuted_constant(struct nuc_cm *c, const struct nuc_node *like, const char *suffix,
                                          const struct nuc_node *value, const uint8_t *perm)
{
    struct nuc_meta m = value->vals[0];
    int64_t sizes[NUC_MAX_RANK];

    for (uint32_t i = 0; i < m.rank; i++) {
        m.dim_order[i] = perm[i];
        sizes[i] = m.sizes[perm[i]];
    }
    return nuc_cm_constant(c, like, suffix, m.dtype, sizes, m.rank,
                           nuc_in_dim_order(c->g->cx, &m, nuc_const_contiguous(c->g, value)));
}

struct nuc_node *nuc_cm_view(struct nuc_cm *c, struct nuc_node *value, const int64_t *sizes, uint32_t rank,
                             struct nuc_node *before)
{
    struct nuc_node *contiguous = nuc_cm_contiguous(c, value, before);
    const struct nuc_meta wanted = nuc_meta_make(value->vals[0].dtype, sizes, rank);

    if (nuc_same_sizes(&wanted, &contiguous->vals[0]))
        return contiguous;
    return nuc_emit(c->g, before, NUC_OP_VIEW, value, NUC_ARGS(contiguous, nuc_ints_arg(sizes, rank)));
}

struct nuc_node *nuc_cm_transpose(struct nuc_cm *c, struct nuc_node *value, const int64_t *perm,
                                  struct nuc_node *before)
{
    struct nuc_node *contiguous = nuc_cm_contiguous(c, value, before);

    return nuc_emit(c->g, before, value->vals[0].dtype == NUC_I8 ? NUC_OP_CORTEXM_TRANSPOSE : NUC_OP_PERMUTE, value,
                    NUC_ARGS(contiguous, nuc_ints_arg(perm, value->vals[0].rank)));
}

struct nuc_node *nuc_cm_slice(struct nuc_cm *c, struct nuc_node *value, int64_t dim, int64_t start, int64_t end,
                              int64_t step, struct nuc_node *before)
{
    return nuc_emit(c->g, before, NUC_OP_SLICE, value, NUC_ARGS(value, dim, start, end, step));
}

struct nuc_node *nuc_cm_pad(struct nuc_cm *c, struct nuc_node *value, const int64_t low[4], const int64_t high[4],
                            int64_t fill, struct nuc_node *before)
{
    return nuc_emit(c->g, before, NUC_OP_CORTEXM_PAD, value,
                    NUC_ARGS(value, nuc_ints_arg(low, 4), nuc_ints_arg(high, 4), fill));
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

    nuc_set_arg_node(copy, c->g, NUC_SELF, value);
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
    nuc_set_val(c->g, ordered, &wanted);
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

int64_t nuc_cm_nhwc_dim(int64_t dim)
{
    static const int64_t place[4] = {0, 3, 1, 2};

    return place[nuc_positive_dim(dim, 4)];
}

void nuc_cm_name_contiguous(struct nuc_cm *c, struct nuc_node *value)
{
    struct nuc_meta named = value->vals[0];

    nuc_set_contiguous(&named);
    nuc_set_val(c->g, value, &named);
}

void nuc_cm_name_channels_last(struct nuc_cm *c, struct nuc_node *value)
{
    struct nuc_meta named = value->vals[0];

    nuc_set_channels_last(&named);
    nuc_set_val(c->g, value, &named);
}

static struct nuc_node *permute_view(struct nuc_cm *c, struct nuc_node *value, const int64_t dims[4],
                                     struct nuc_node *before)
{
    return nuc_emit(c->g, before, NUC_OP_NUCLEON_PERMUTE_VIEW, value, NUC_ARGS(value, nuc_ints_arg(dims, 4)));
}

struct nuc_node *nuc_cm_as_nhwc(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before)
{
    struct nuc_node *view = permute_view(c, value, (const int64_t[]){0, 2, 3, 1}, before);

    nuc_cm_name_contiguous(c, view);
    return view;
}

struct nuc_node *nuc_cm_as_nchw(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before)
{
    struct nuc_node *view = permute_view(c, value, (const int64_t[]){0, 3, 1, 2}, before);

    nuc_cm_name_channels_last(c, view);
    return view;
}
