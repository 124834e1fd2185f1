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

/*
 * The operator rounds to the scale of its input. A result of a finer scale, requantized by a table, would be further
 * than a step off.
 */
static bool rounds_finely(const struct unary *u)
{
    return nuc_cm_same_params(&u->in, &u->out.params) || u->in.scale <= u->out.params.scale;
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

struct max_window {
    int64_t kernel[2], stride[2], padding[2], dilation[2];
};

static struct nuc_node *slice(struct nuc_cm *c, struct nuc_node *value, int64_t dim, int64_t start, int64_t count,
                              int64_t step, struct nuc_node *before)
{
    struct nuc_node *node = nuc_insert(c->g, before, NUC_OP_SLICE, value);

    nuc_set_arg_node(node, c->g, 0, value);
    nuc_set_arg_int(node, 1, dim);
    nuc_set_arg_int(node, 2, start);
    nuc_set_arg_int(node, 3, start + (count - 1) * step + 1);
    nuc_set_arg_int(node, 4, step);
    nuc_infer_shape(c->g, node);
    return node;
}

/* The kernel has no dilation: the result is the maximum of as many strided parts of the image as the window has taps.
 */
static struct nuc_node *maximum_of_taps(struct nuc_cm *c, struct nuc_node *image, const struct max_window *w,
                                        const struct nuc_meta *result, struct nuc_node *before)
{
    struct nuc_node *all = nuc_cm_is_nhwc(image) ? nuc_cm_as_nhwc(c, image, before) : NULL;
    struct nuc_node *largest = NULL;

    if (all == NULL)
        return NULL;
    for (int64_t y = 0; y < w->kernel[0]; y++) {
        struct nuc_node *rows = slice(c, all, 1, y * w->dilation[0], result->sizes[2], w->stride[0], before);
        for (int64_t x = 0; x < w->kernel[1]; x++) {
            struct nuc_node *tap = slice(c, rows, 2, x * w->dilation[1], result->sizes[3], w->stride[1], before);
            if (largest == NULL) {
                largest = tap;
                continue;
            }
            struct nuc_node *maximum = nuc_insert(c->g, before, NUC_OP_CORTEXM_MAXIMUM, image);
            nuc_set_arg_node(maximum, c->g, 0, largest);
            nuc_set_arg_node(maximum, c->g, 1, tap);
            nuc_infer_shape(c->g, maximum);
            largest = maximum;
        }
    }
    return nuc_cm_as_nchw(c, largest, before);
}

static void read_max_window(const struct nuc_node *node, struct max_window *w)
{
    static const int64_t zeros[2] = {0, 0}, ones[2] = {1, 1};

    get_pair(&node->args[1], ones, w->kernel);
    get_pair(&node->args[2], w->kernel, w->stride);
    get_pair(&node->args[3], zeros, w->padding);
    get_pair(&node->args[4], ones, w->dilation);
}

/* Windows over the edge see the smallest value there: the image with its padding and what ceil mode adds. */
static struct nuc_node *pad_for_windows(struct nuc_cm *c, struct nuc_node *in, struct max_window *w,
                                        const struct nuc_meta *result, struct nuc_node *before)
{
    int64_t post[2];

    for (int i = 0; i < 2; i++) {
        int64_t reach = (result->sizes[2 + i] - 1) * w->stride[i] + w->dilation[i] * (w->kernel[i] - 1) + 1;
        post[i] = reach - in->vals[0].sizes[2 + i] - w->padding[i];
        post[i] = post[i] > 0 ? post[i] : 0;
    }
    if (w->padding[0] == 0 && w->padding[1] == 0 && post[0] == 0 && post[1] == 0)
        return in;
    in = pad_spatial(c, in, w->padding, post, INT8_MIN, before);
    w->padding[0] = w->padding[1] = 0;
    return in;
}

static void emit_max_pool(struct nuc_cm *c, const struct unary *u, struct max_window *w, bool ceil_mode)
{
    struct nuc_node *pool = nuc_cm_insert(c, &u->out, NUC_OP_CORTEXM_MAX_POOL2D);
    struct nuc_node *in = nuc_cm_channels_last(c, u->in.node, pool);

    if (ceil_mode)
        in = pad_for_windows(c, in, w, &u->out.value->vals[0], pool);
    nuc_set_arg_node(pool, c->g, 0, in);
    nuc_set_arg_ints(pool, c->g, 1, w->kernel, 2);
    nuc_set_arg_ints(pool, c->g, 2, w->stride, 2);
    nuc_set_arg_ints(pool, c->g, 3, w->padding, 2);
    nuc_set_arg_ints(pool, c->g, 4, w->dilation, 2);
    nuc_set_arg_bool(pool, 5, false);
    nuc_set_arg_int(pool, 6, u->in.zero_point);
    nuc_set_arg_int(pool, 7, u->in.zero_point);
    nuc_set_arg_int(pool, 8, u->out.low);
    nuc_set_arg_int(pool, 9, u->out.high);
    nuc_infer_shape(c->g, pool);
    nuc_set_channels_last(&pool->vals[0]);
    finish(c, u, pool);
}

static bool lower_dilated_pool(struct nuc_cm *c, const struct unary *u, struct max_window *w)
{
    struct nuc_node *before = u->out.value->next;
    const struct nuc_meta *result = &u->out.value->vals[0];
    const int64_t max_taps = 25;

    if (c->options->reference_compat || u->out.low != INT8_MIN || u->out.high != INT8_MAX ||
        w->kernel[0] * w->kernel[1] > max_taps || u->in.node->vals[0].sizes[1] == 1)
        return false;
    struct nuc_node *in = nuc_cm_channels_last(c, u->in.node, before);
    in = pad_for_windows(c, in, w, result, before);
    struct nuc_node *largest = maximum_of_taps(c, in, w, result, before);
    if (largest == NULL)
        return false;
    finish(c, u, largest);
    return true;
}

bool nuc_cm_lower_max_pool(struct nuc_cm *c, struct nuc_node *node)
{
    struct unary u;
    struct max_window w;
    bool ceil_mode = node->args[5].u.b;

    if (!read_unary(node, true, &u) || u.in.node->vals[0].rank != 4)
        return false;
    read_max_window(node, &w);
    bool same = nuc_cm_same_params(&u.in, &u.out.params);
    if (c->options->reference_compat && (ceil_mode || !same))
        return false;
    if (!same && (u.out.low != INT8_MIN || u.out.high != INT8_MAX))
        return false;
    if (w.dilation[0] != 1 || w.dilation[1] != 1)
        return lower_dilated_pool(c, &u, &w);
    emit_max_pool(c, &u, &w, ceil_mode);
    return true;
}

/* ---- average pooling ---- */

struct window {
    int64_t kernel[2], stride[2], padding[2];
    bool ceil_mode, pad_first;
};

static struct nuc_node *emit_avg_pool(struct nuc_cm *c, const struct unary *u, struct window *w)
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
    return pool;
}

/* Padded zeros count as values, unless count_include_pad is off: then the kernel divides by the values it covers. */
bool nuc_cm_lower_avg_pool(struct nuc_cm *c, struct nuc_node *node)
{
    static const int64_t zeros[2] = {0, 0}, ones[2] = {1, 1};
    struct unary u;
    struct window w;

    if (!read_unary(node, false, &u) || u.in.node->vals[0].rank != 4 || node->args[6].kind != NUC_ARG_NONE ||
        !rounds_finely(&u))
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
    finish(c, &u, emit_avg_pool(c, &u, &w));
    return true;
}

/* Windows of one size that do not overlap. */
bool nuc_cm_lower_adaptive_pool(struct nuc_cm *c, struct nuc_node *node)
{
    struct unary u;
    struct window w = {.padding = {0, 0}};

    if (!read_unary(node, false, &u) || u.in.node->vals[0].rank != 4 || !rounds_finely(&u))
        return false;
    for (int i = 0; i < 2; i++) {
        int64_t in = u.in.node->vals[0].sizes[2 + i], out = node->vals[0].sizes[2 + i];
        if (out < 1 || in % out != 0)
            return false;
        w.kernel[i] = w.stride[i] = in / out;
    }
    finish(c, &u, emit_avg_pool(c, &u, &w));
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
    struct nuc_node *view = nuc_insert(c->g, contiguous->next, NUC_OP_VIEW, node);
    nuc_set_arg_node(view, c->g, 0, contiguous);
    nuc_set_arg_ints(view, c->g, 1, node->vals[0].sizes, node->vals[0].rank);
    nuc_infer_shape(c->g, view);
    return view;
}

/* The mean of an image's pixels is an average pooling, the only mean ExecuTorch has a kernel for. */
static bool lower_image_mean(struct nuc_cm *c, struct nuc_node *node)
{
    const struct nuc_arg *dims = &node->args[1];
    struct unary u;
    struct window w = {.padding = {0, 0}};

    if (node->op != NUC_OP_MEAN_DIM || dims->count != 2 || !read_unary(node, false, &u) ||
        u.in.node->vals[0].rank != 4 || !rounds_finely(&u))
        return false;
    int64_t first = (dims->u.ints[0] + 4) % 4, second = (dims->u.ints[1] + 4) % 4;
    if (first + second != 5 || first < 2 || second < 2)
        return false;
    for (int i = 0; i < 2; i++)
        w.kernel[i] = w.stride[i] = u.in.node->vals[0].sizes[2 + i];
    struct nuc_cm_value made = u.in;
    made.node = emit_avg_pool(c, &u, &w);
    if (!node->args[2].u.b) {
        struct nuc_node *view = nuc_insert(c->g, made.node->next, NUC_OP_VIEW, node);
        nuc_set_arg_node(view, c->g, 0, made.node);
        nuc_set_arg_ints(view, c->g, 1, node->vals[0].sizes, node->vals[0].rank);
        nuc_infer_shape(c->g, view);
        made.node = view;
    }
    finish(c, &u, made.node);
    return true;
}

/* Sum or mean: one requantization of the int32 sum. */
bool nuc_cm_lower_sum(struct nuc_cm *c, struct nuc_node *node)
{
    struct unary u;

    if (c->options->executorch_ops_only)
        return lower_image_mean(c, node);
    if (c->options->reference_compat || !read_unary(node, false, &u) || nuc_elements(&node->vals[0]) == 0)
        return false;
    double count = (double)(nuc_elements(&u.in.node->vals[0]) / nuc_elements(&node->vals[0]));
    double factor = node->op == NUC_OP_MEAN_DIM ? 1 / count : 1;
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

    nuc_set_arg_node(resize, c->g, 0, nuc_cm_channels_last(c, u->in.node, resize));
    nuc_set_arg_ints(resize, c->g, 1, node->vals[0].sizes + 2, 2);
    return resize;
}

bool nuc_cm_lower_bilinear(struct nuc_cm *c, struct nuc_node *node)
{
    struct unary u;

    if (c->options->executorch_ops_only || !read_unary(node, false, &u) || u.in.node->vals[0].rank != 4 ||
        !scales_fit(node, &node->args[3]) || !rounds_finely(&u))
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
