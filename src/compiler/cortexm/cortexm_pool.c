/* Pooling, reductions, resampling. */
#include <math.h>

#include "compiler/cortexm/cortexm_private.h"

struct unary {
    struct nuc_cm_value in;
    struct nuc_cm_result out;
};

static bool read_unary(struct nuc_node *node, bool fuse, struct unary *u)
{
    return nuc_cm_tensor(node, 0, &u->in) && nuc_cm_result(node, fuse, &u->out);
}

static void finish(struct nuc_cm *c, const struct unary *u, struct nuc_node *node)
{
    /* The operator keeps the parameters of its input; a result of others is a table behind it. */
    struct nuc_cm_value made = u->in;

    made.node = node;
    nuc_cm_replace(c, &u->out, nuc_cm_requantize(c, &made, &u->out.params, node->next));
}

static void get_pair(const struct nuc_arg *arg, const int64_t absent[2], int64_t pair[2])
{
    bool list = arg->kind == NUC_ARG_INTS && arg->count > 0;

    for (int i = 0; i < 2; i++)
        pair[i] = list ? arg->u.ints[arg->count == 1 ? 0 : i] : arg->kind == NUC_ARG_INT ? arg->u.i : absent[i];
}

static struct nuc_node *pad_spatial(struct nuc_cm *c, struct nuc_node *image, const int64_t pre[2],
                                    const int64_t post[2], int64_t value, struct nuc_node *before)
{
    struct nuc_node *pad = nuc_insert(c->g, before, NUC_OP_CORTEXM_PAD, image);

    /* Physical order N, H, W, C. */
    nuc_set_arg_node(pad, c->g, 0, image);
    nuc_set_arg_ints(pad, c->g, 1, (int64_t[]){0, pre[0], pre[1], 0}, 4);
    nuc_set_arg_ints(pad, c->g, 2, (int64_t[]){0, post[0], post[1], 0}, 4);
    nuc_set_arg_int(pad, 3, value);
    nuc_infer_shape(c->g, pad);
    return pad;
}

/* ---- max pooling ---- */

bool nuc_cm_lower_max_pool(struct nuc_cm *c, struct nuc_node *node)
{
    static const int64_t zeros[2] = {0, 0}, ones[2] = {1, 1};
    struct unary u;
    int64_t kernel[2], stride[2], padding[2], dilation[2];

    if (!read_unary(node, true, &u) || u.in.node->vals[0].rank != 4)
        return false;
    bool ceil_mode = node->args[5].u.b;
    get_pair(&node->args[1], ones, kernel);
    get_pair(&node->args[2], kernel, stride);
    get_pair(&node->args[3], zeros, padding);
    get_pair(&node->args[4], ones, dilation);
    bool same = nuc_cm_same_params(&u.in, &u.out.params);
    if (dilation[0] != 1 || dilation[1] != 1 || (c->options->reference_compat && (ceil_mode || !same)))
        return false;
    if (!same && (u.out.low != INT8_MIN || u.out.high != INT8_MAX))
        return false;
    struct nuc_node *pool = nuc_cm_insert(c, &u.out, NUC_OP_CORTEXM_MAX_POOL2D);
    struct nuc_node *in = nuc_cm_channels_last(c, u.in.node, pool);
    const struct nuc_meta *result = &u.out.value->vals[0];
    if (ceil_mode) {
        /* Windows over the edge see the smallest value there. */
        int64_t post[2];
        for (int i = 0; i < 2; i++) {
            int64_t reach = (result->sizes[2 + i] - 1) * stride[i] + kernel[i];
            post[i] = reach - in->vals[0].sizes[2 + i] - padding[i];
            post[i] = post[i] > 0 ? post[i] : 0;
        }
        in = pad_spatial(c, in, padding, post, INT8_MIN, pool);
        padding[0] = padding[1] = 0;
    }
    nuc_set_arg_node(pool, c->g, 0, in);
    nuc_set_arg_ints(pool, c->g, 1, kernel, 2);
    nuc_set_arg_ints(pool, c->g, 2, stride, 2);
    nuc_set_arg_ints(pool, c->g, 3, padding, 2);
    nuc_set_arg_ints(pool, c->g, 4, dilation, 2);
    nuc_set_arg_bool(pool, 5, false);
    nuc_set_arg_int(pool, 6, u.in.zero_point);
    nuc_set_arg_int(pool, 7, u.in.zero_point);
    nuc_set_arg_int(pool, 8, u.out.low);
    nuc_set_arg_int(pool, 9, u.out.high);
    nuc_infer_shape(c->g, pool);
    nuc_set_channels_last(&pool->vals[0]);
    finish(c, &u, pool);
    return true;
}

/* ---- average pooling ---- */

struct window {
    int64_t kernel[2], stride[2], padding[2];
    bool ceil_mode, pad_first;
};

static void emit_avg_pool(struct nuc_cm *c, const struct unary *u, struct window *w)
{
    struct nuc_node *pool = nuc_cm_insert(c, &u->out, NUC_OP_CORTEXM_AVG_POOL2D);
    struct nuc_node *in = nuc_cm_channels_last(c, u->in.node, pool);
    struct nuc_multiplier m = nuc_cm_multiplier(u->in.scale);

    if (w->pad_first) {
        in = pad_spatial(c, in, w->padding, w->padding, u->in.zero_point, pool);
        w->padding[0] = w->padding[1] = 0;
    }
    nuc_set_arg_node(pool, c->g, 0, in);
    nuc_set_arg_ints(pool, c->g, 1, w->kernel, 2);
    nuc_set_arg_ints(pool, c->g, 2, w->stride, 2);
    nuc_set_arg_ints(pool, c->g, 3, w->padding, 2);
    nuc_set_arg_bool(pool, 4, w->ceil_mode);
    nuc_set_arg_int(pool, 5, u->in.zero_point);
    nuc_set_arg_int(pool, 6, m.multiplier);
    nuc_set_arg_int(pool, 7, m.shift);
    nuc_cm_scratch(c, pool, 8, c->options->cpu->scratch->pool_bytes * (size_t)in->vals[0].sizes[1]);
    nuc_infer_shape(c->g, pool);
    nuc_set_channels_last(&pool->vals[0]);
    finish(c, u, pool);
}

/* Padded zeros count as values, unless count_include_pad is off: then the kernel divides by the values it covers. */
bool nuc_cm_lower_avg_pool(struct nuc_cm *c, struct nuc_node *node)
{
    static const int64_t zeros[2] = {0, 0}, ones[2] = {1, 1};
    struct unary u;
    struct window w;

    if (!read_unary(node, false, &u) || u.in.node->vals[0].rank != 4 || node->args[6].kind != NUC_ARG_NONE)
        return false;
    get_pair(&node->args[1], ones, w.kernel);
    get_pair(&node->args[2], w.kernel, w.stride);
    get_pair(&node->args[3], zeros, w.padding);
    w.ceil_mode = node->args[4].u.b;
    bool padded = w.padding[0] != 0 || w.padding[1] != 0;
    w.pad_first = node->args[5].u.b && (padded || c->options->reference_compat);
    /* Windows over the edge divide by another number than the padded copy has values. */
    if (w.pad_first && padded && w.ceil_mode && !c->options->reference_compat)
        return false;
    emit_avg_pool(c, &u, &w);
    return true;
}

/* Windows of one size that do not overlap. */
bool nuc_cm_lower_adaptive_pool(struct nuc_cm *c, struct nuc_node *node)
{
    struct unary u;
    struct window w = {.padding = {0, 0}};

    if (!read_unary(node, false, &u) || u.in.node->vals[0].rank != 4)
        return false;
    for (int i = 0; i < 2; i++) {
        int64_t in = u.in.node->vals[0].sizes[2 + i], out = node->vals[0].sizes[2 + i];
        if (out < 1 || in % out != 0)
            return false;
        w.kernel[i] = w.stride[i] = in / out;
    }
    emit_avg_pool(c, &u, &w);
    return true;
}

/* ---- reductions ---- */

static const int64_t nhwc_place[4] = {0, 3, 1, 2}; /* of the dimensions N, C, H, W */

/*
 * The reduced value: `op` over `in`, which lies contiguous or is seen as [N, H, W, C] where that is its order. The
 * kernels add up contiguous tensors.
 */
static struct nuc_node *emit_reduction(struct nuc_cm *c, struct nuc_node *node, const struct unary *u, enum nuc_op op)
{
    struct nuc_node *r = nuc_cm_insert(c, &u->out, op);
    const struct nuc_arg *dims = &node->args[1];
    uint32_t rank = u->in.node->vals[0].rank, count = dims->kind == NUC_ARG_INTS ? dims->count : 0;
    int64_t list[NUC_MAX_RANK];
    bool nhwc = nuc_cm_is_nhwc(u->in.node);

    for (uint32_t i = 0; i < count; i++) {
        list[i] = dims->u.ints[i] < 0 ? dims->u.ints[i] + rank : dims->u.ints[i];
        list[i] = nhwc ? nhwc_place[list[i]] : list[i];
    }
    struct nuc_node *in = nhwc ? nuc_cm_as_nhwc(c, u->in.node, r) : nuc_cm_contiguous(c, u->in.node, r);
    nuc_set_arg_node(r, c->g, 0, in);
    nuc_set_arg_ints(r, c->g, 1, list, count);
    nuc_set_arg_bool(r, 2, nhwc || node->args[2].u.b);
    return r;
}

/* Behind a reduction that kept all dimensions of [N, H, W, C]: the sizes the result has. */
static struct nuc_node *settle_reduction(struct nuc_cm *c, const struct nuc_node *node, struct nuc_node *r)
{
    if (nuc_same_sizes(&r->vals[0], &node->vals[0]))
        return r;
    /* Kept dimensions go back to N, C, H, W; the values of the others lie in order once one channel each is left. */
    struct nuc_node *value = nuc_cm_as_nchw(c, r, r->next);
    struct nuc_node *contiguous = nuc_cm_contiguous(c, value, value->next);
    if (nuc_same_sizes(&contiguous->vals[0], &node->vals[0]))
        return contiguous;
    struct nuc_node *view = nuc_insert(c->g, contiguous->next, NUC_OP_EDGE_VIEW, node);
    nuc_set_arg_node(view, c->g, 0, contiguous);
    nuc_set_arg_ints(view, c->g, 1, node->vals[0].sizes, node->vals[0].rank);
    nuc_infer_shape(c->g, view);
    return view;
}

/* Sum or mean: one requantization of the int32 sum. */
bool nuc_cm_lower_sum(struct nuc_cm *c, struct nuc_node *node)
{
    struct unary u;

    if (c->options->executorch_ops_only || c->options->reference_compat || !read_unary(node, false, &u) ||
        nuc_elements(&node->vals[0]) == 0)
        return false;
    double count = (double)(nuc_elements(&u.in.node->vals[0]) / nuc_elements(&node->vals[0]));
    double factor = node->op == NUC_OP_EDGE_MEAN_DIM ? 1 / count : 1;
    /* The int32 sum of the products must not overflow. */
    if (count > (double)(1 << 22))
        return false;
    struct nuc_node *sum = emit_reduction(c, node, &u, NUC_OP_NUCLEON_SUM);
    struct nuc_multiplier m = nuc_cm_multiplier(u.in.scale * factor / u.out.params.scale);
    nuc_set_arg_int(sum, 3, u.in.zero_point);
    nuc_set_arg_int(sum, 4, u.out.params.zero_point);
    nuc_set_arg_int(sum, 5, m.multiplier);
    nuc_set_arg_int(sum, 6, m.shift);
    nuc_infer_shape(c->g, sum);
    nuc_cm_replace(c, &u.out, settle_reduction(c, node, sum));
    return true;
}

/* amax, amin: the order of quantized values is that of the values. */
bool nuc_cm_lower_reduce_extreme(struct nuc_cm *c, struct nuc_node *node)
{
    struct unary u;

    if (!read_unary(node, false, &u))
        return false;
    struct nuc_node *r = emit_reduction(c, node, &u, node->op);
    nuc_infer_shape(c->g, r);
    finish(c, &u, settle_reduction(c, node, r));
    return true;
}

/* ---- resampling ---- */

/* Scale factors that are not the quotients of the sizes sample other places. */
static bool scales_fit(const struct nuc_node *node, const struct nuc_arg *factors)
{
    const struct nuc_node *in = nuc_arg_node(node, 0);

    for (uint32_t i = 0; factors->kind == NUC_ARG_FLOATS && i < factors->count && i < 2; i++) {
        double exact = (double)node->vals[0].sizes[2 + i] / (double)in->vals[0].sizes[2 + i];
        if (node->args[1].kind == NUC_ARG_NONE && fabs(factors->u.floats[i] - exact) > 1e-6 * exact)
            return false;
    }
    return true;
}

static struct nuc_node *emit_resize(struct nuc_cm *c, const struct nuc_node *node, const struct unary *u,
                                    enum nuc_op op)
{
    struct nuc_node *resize = nuc_cm_insert(c, &u->out, op);

    nuc_set_arg_node(resize, c->g, 0, u->in.node);
    nuc_set_arg_ints(resize, c->g, 1, node->vals[0].sizes + 2, 2);
    return resize;
}

bool nuc_cm_lower_bilinear(struct nuc_cm *c, struct nuc_node *node)
{
    struct unary u;

    if (c->options->executorch_ops_only || !read_unary(node, false, &u) || u.in.node->vals[0].rank != 4 ||
        !scales_fit(node, &node->args[3]))
        return false;
    struct nuc_node *resize = emit_resize(c, node, &u, NUC_OP_NUCLEON_RESIZE_BILINEAR);
    nuc_set_arg_bool(resize, 2, node->args[2].u.b);
    nuc_infer_shape(c->g, resize);
    finish(c, &u, resize);
    return true;
}

bool nuc_cm_lower_nearest(struct nuc_cm *c, struct nuc_node *node)
{
    struct unary u;

    if (!read_unary(node, false, &u) || u.in.node->vals[0].rank != 4)
        return false;
    bool own = !c->options->executorch_ops_only && scales_fit(node, &node->args[2]);
    struct nuc_node *resize;
    if (own) {
        resize = emit_resize(c, node, &u, NUC_OP_NUCLEON_RESIZE_NEAREST);
    } else {
        resize = nuc_cm_insert(c, &u.out, node->op);
        nuc_set_arg_node(resize, c->g, 0, u.in.node);
        nuc_copy_arg(c->g, resize, 1, node, 1);
        nuc_copy_arg(c->g, resize, 2, node, 2);
    }
    nuc_infer_shape(c->g, resize);
    finish(c, &u, resize);
    return true;
}
