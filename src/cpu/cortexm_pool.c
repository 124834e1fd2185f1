/* Pooling, reductions, resampling. */
#include <math.h>
#include <string.h>

#include "cpu/cortexm_site.h"
#include "npu/layout/orders.h"
#include "rewrite/insert.h"

/*
 * The operator rounds to the scale of its input. A result of a finer scale, requantized by a table, would be further
 * than a step off.
 */
static bool rounds_finely(const struct nuc_cm_unary *u)
{
    return nuc_cm_same_params(&u->in, &u->out.params) || u->in.scale <= u->out.params.scale;
}

static bool is_image(const struct nuc_cm_unary *u)
{
    return u->in.node->vals[0].rank == 4;
}

/* The operator keeps the parameters of its input; a result of others is a table after it. */
static void finish(struct nuc_cm *c, const struct nuc_cm_unary *u, struct nuc_node *node)
{
    nuc_cm_replace_as(c, &u->in, &u->out, node);
}

/* ---- windows ---- */

struct window {
    struct nuc_pair kernel, stride, padding, dilation;
};

/* max_pool2d has the same arguments in the same places, and dilation after them. */
static struct window read_window(const struct nuc_node *node)
{
    struct window w = {.kernel = nuc_pair(node, NUC_ARG(AVG_POOL2D, kernel_size), (struct nuc_pair){1, 1}),
                       .padding = nuc_pair(node, NUC_ARG(AVG_POOL2D, padding), (struct nuc_pair){0, 0}),
                       .dilation = {1, 1}};

    w.stride = nuc_pair(node, NUC_ARG(AVG_POOL2D, stride), w.kernel);
    if (node->op == NUC_OP_MAX_POOL2D_INDICES)
        w.dilation = nuc_pair(node, NUC_ARG(MAX_POOL2D_INDICES, dilation), w.dilation);
    return w;
}

/* The image with that many rows and columns around it, which the window does not pad then. */
static struct nuc_node *pad_image(struct nuc_cm *c, struct nuc_node *image, struct window *w, struct nuc_pair post,
                                  int64_t value, struct nuc_node *before)
{
    struct nuc_pair pre = w->padding;

    w->padding = (struct nuc_pair){0, 0};
    /* In memory N, H, W, C. */
    return nuc_cm_pad(c, image, (const int64_t[]){0, pre.h, pre.w, 0}, (const int64_t[]){0, post.h, post.w, 0}, value,
                      before);
}

/* ---- max pooling ---- */

/*
 * The kernel of int8 has no dilation: the result is the maximum of as many strided parts of the image as the window has
 * elements. NULL when the image does not lie as [N, H, W, C].
 */
static struct nuc_node *maximum_of_parts(struct nuc_cm *c, struct nuc_node *image, const struct window *w,
                                         const struct nuc_meta *result, struct nuc_node *before)
{
    int64_t height = (result->sizes[2] - 1) * w->stride.h + 1, width = (result->sizes[3] - 1) * w->stride.w + 1;
    struct nuc_node *largest = NULL;

    if (!nuc_cm_is_nhwc(image))
        return NULL;
    struct nuc_node *all = nuc_cm_as_nhwc(c, image, before);
    for (int64_t y = 0; y < w->kernel.h; y++) {
        int64_t top = y * w->dilation.h;
        struct nuc_node *rows = nuc_cm_slice(c, all, 1, top, top + height, w->stride.h, before);
        for (int64_t x = 0; x < w->kernel.w; x++) {
            int64_t left = x * w->dilation.w;
            struct nuc_node *part = nuc_cm_slice(c, rows, 2, left, left + width, w->stride.w, before);
            largest =
                largest == NULL ? part : nuc_emit(c->g, before, NUC_OP_CORTEXM_MAXIMUM, image, NUC_ARGS(largest, part));
        }
    }
    return nuc_cm_as_nchw(c, largest, before);
}

/* What the last window reads beyond the image and the padding before it. */
static int64_t beyond(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation)
{
    int64_t reach = (out - 1) * stride + dilation * (kernel - 1) + 1 - in - padding;

    return reach > 0 ? reach : 0;
}

/* Windows over the edge see the smallest value there: the image with its padding and what ceil mode adds. */
static struct nuc_node *pad_for_windows(struct nuc_cm *c, struct nuc_node *in, struct window *w,
                                        const struct nuc_meta *result, struct nuc_node *before)
{
    const int64_t *sizes = in->vals[0].sizes;
    struct nuc_pair post = {
        beyond(sizes[2], result->sizes[2], w->kernel.h, w->stride.h, w->padding.h, w->dilation.h),
        beyond(sizes[3], result->sizes[3], w->kernel.w, w->stride.w, w->padding.w, w->dilation.w),
    };

    if (w->padding.h == 0 && w->padding.w == 0 && post.h == 0 && post.w == 0)
        return in;
    return pad_image(c, in, w, post, nuc_int_range(in->vals[0].dtype).low, before);
}

static bool lower_dilated_pool(struct nuc_cm *c, const struct nuc_cm_unary *u, struct window *w)
{
    struct nuc_node *before = nuc_cm_place(&u->out);
    const struct nuc_meta *result = &u->out.value->vals[0];
    const uint32_t first_id = c->g->next_id;
    const int64_t most_parts = 25;

    if (c->options->reference_compat || nuc_cm_is_clamped(&u->out) || w->kernel.h * w->kernel.w > most_parts ||
        u->in.node->vals[0].sizes[1] == 1)
        return false;
    struct nuc_node *in = nuc_cm_channels_last(c, u->in.node, before);
    in = pad_for_windows(c, in, w, result, before);
    struct nuc_node *largest = maximum_of_parts(c, in, w, result, before);
    if (largest == NULL)
        return false;
    const struct nuc_node *value = u->out.value,
                          *pool = value->op == NUC_OP_GETITEM ? nuc_arg_node(value, NUC_SELF) : value;
    for (struct nuc_node *part = before->prev; part != NULL && part->id >= first_id; part = part->prev)
        nuc_made_of(part, pool);
    finish(c, u, largest);
    return true;
}

bool nuc_cm_lower_max_pool(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_unary u;
    struct window w = read_window(node);
    bool ceil_mode = nuc_flag(node, NUC_ARG(MAX_POOL2D_INDICES, ceil_mode));

    if (!nuc_cm_read_unary(node, true, &u) || !is_image(&u))
        return false;
    bool same = nuc_cm_same_params(&u.in, &u.out.params);
    if (c->options->reference_compat && (ceil_mode || !same))
        return false;
    if (!same && nuc_cm_is_clamped(&u.out))
        return false;
    if (u.in.dtype == NUC_I8 && (w.dilation.h != 1 || w.dilation.w != 1))
        return lower_dilated_pool(c, &u, &w);
    struct nuc_node *before = nuc_cm_place(&u.out), *in = nuc_cm_channels_last(c, u.in.node, before);
    if (ceil_mode)
        in = pad_for_windows(c, in, &w, &u.out.value->vals[0], before);
    struct nuc_node *pool = nuc_emit(c->g, before, NUC_OP_CORTEXM_MAX_POOL2D, u.out.value,
                                     NUC_ARGS(in, NUC_PAIR_ARG(w.kernel), NUC_PAIR_ARG(w.stride),
                                              NUC_PAIR_ARG(w.padding), NUC_PAIR_ARG(w.dilation), nuc_bool_arg(false),
                                              u.in.zero_point, u.in.zero_point, u.out.low, u.out.high));
    nuc_cm_name_channels_last(c, pool);
    finish(c, &u, pool);
    return true;
}

/* ---- average pooling ---- */

/*
 * A pool whose halves go up rather than away from zero, as LiteRT's pools of uint8 do: its only reader adds less than
 * half a step before it is quantized. That reader, or NULL.
 */
static struct nuc_node *turned_upwards(const struct nuc_cm *c, const struct nuc_node *pool)
{
    struct nuc_node *add = pool->n_users == 1 && pool->users[0]->op == NUC_OP_ADD ? pool->users[0] : NULL;
    const struct nuc_node *number = add == NULL ? NULL : nuc_arg_node(add, NUC_OTHER);
    struct nuc_cm_value in;

    if (number == NULL || !nuc_is_static(number) || nuc_elements(&number->vals[0]) != 1 ||
        number->vals[0].dtype != NUC_F32 || !nuc_cm_tensor(pool, NUC_SELF, &in) || c->options->executorch_ops_only)
        return NULL;
    float added;
    memcpy(&added, nuc_const_contiguous(c->g, number), sizeof added);
    return added > 0 && (double)added < in.scale / 2 ? add : NULL;
}

/* Of `in`, in place of u's input. */
static struct nuc_node *emit_avg_pool_of(struct nuc_cm *c, const struct nuc_cm_unary *u, enum nuc_op op,
                                         struct nuc_node *in, const struct window *w, bool ceil_mode,
                                         struct nuc_node *before)
{
    struct nuc_multiplier m = nuc_cm_multiplier(u->in.scale);
    struct nuc_node *pool =
        nuc_emit(c->g, before, op, u->out.value,
                 NUC_ARGS(in, NUC_PAIR_ARG(w->kernel), NUC_PAIR_ARG(w->stride), NUC_PAIR_ARG(w->padding),
                          nuc_bool_arg(ceil_mode), u->in.zero_point, m.multiplier, m.shift));

    nuc_cm_scratch(c->g, pool, NUC_ARG(CORTEXM_AVG_POOL2D, scratch),
                   c->options->cpu->scratch->pool_bytes * (size_t)in->vals[0].sizes[1]);
    nuc_cm_name_channels_last(c, pool);
    return pool;
}

static struct nuc_node *emit_avg_pool(struct nuc_cm *c, const struct nuc_cm_unary *u, enum nuc_op op, struct window *w,
                                      bool pad_first, bool ceil_mode)
{
    struct nuc_node *before = nuc_cm_place(&u->out), *in = nuc_cm_channels_last(c, u->in.node, before);

    if (pad_first)
        in = pad_image(c, in, w, w->padding, u->in.zero_point, before);
    return emit_avg_pool_of(c, u, op, in, w, ceil_mode, before);
}

/* Padded zeros count as values, unless count_include_pad is off: then the kernel divides by the values it covers. */
bool nuc_cm_lower_avg_pool(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_unary u;
    struct window w = read_window(node);
    bool ceil_mode = nuc_flag(node, NUC_ARG(AVG_POOL2D, ceil_mode)), padded = w.padding.h != 0 || w.padding.w != 0;
    bool pad_first = nuc_flag(node, NUC_ARG(AVG_POOL2D, count_include_pad)) && (padded || c->options->reference_compat);

    struct nuc_node *upwards = turned_upwards(c, node);
    enum nuc_op op = upwards != NULL ? NUC_OP_NUCLEON_AVG_POOL2D : NUC_OP_CORTEXM_AVG_POOL2D;

    if (!nuc_cm_tensor(node, NUC_SELF, &u.in) || !nuc_cm_result(upwards != NULL ? upwards : node, false, &u.out) ||
        u.in.dtype != u.out.params.dtype || !is_image(&u) || !rounds_finely(&u) ||
        nuc_arg_at(node, NUC_ARG(AVG_POOL2D, divisor_override))->kind != NUC_ARG_NONE)
        return false;
    /* Windows over the edge divide by another number than the padded copy has values. */
    if (pad_first && padded && ceil_mode && !c->options->reference_compat)
        return false;
    finish(c, &u, emit_avg_pool(c, &u, op, &w, pad_first, ceil_mode));
    return true;
}

/* Windows of one size that do not overlap, `rows` by `columns` of them. */
static struct nuc_node *emit_even_pool(struct nuc_cm *c, const struct nuc_cm_unary *u, int64_t rows, int64_t columns)
{
    const int64_t *sizes = u->in.node->vals[0].sizes;
    struct window w = {.kernel = {sizes[2] / rows, sizes[3] / columns}};

    w.stride = w.kernel;
    return emit_avg_pool(c, u, NUC_OP_CORTEXM_AVG_POOL2D, &w, false, false);
}

/* Windows along a dimension that an average of `size` places takes: their places one after the other. */
struct windows {
    int64_t size, count, *places;
};

#define MOST_KINDS 2 /* sizes of windows differ by one at most */

/* Of window i of an adaptive pool: from i in / out, rounded down, to (i + 1) in / out, rounded up. */
static int64_t size_of_window(int64_t in, int64_t out, int64_t i)
{
    return ((i + 1) * in + out - 1) / out - i * in / out;
}

/*
 * The windows of an adaptive pool by size, the larger ones first. A window whose size divides that of larger ones is
 * one of these that has each of its places several times, which leaves its average as it is. at[i]: which of all listed
 * windows window i is. Returns how many kinds there are.
 */
static uint32_t list_windows(struct nuc_context *cx, int64_t in, int64_t out, struct windows kinds[MOST_KINDS],
                             int64_t *at)
{
    int64_t largest = 1, listed = 0;
    uint32_t n = 0;

    for (int64_t i = 0; i < out; i++) {
        int64_t size = size_of_window(in, out, i);
        largest = size > largest ? size : largest;
        at[i] = -1;
    }
    for (int64_t size = largest; size > largest - MOST_KINDS && size > 0; size--) {
        struct windows w = {.size = size, .places = nuc_alloc_array(cx, (size_t)(size * out), sizeof *w.places)};
        for (int64_t i = 0; i < out; i++) {
            int64_t first = i * in / out, own = size_of_window(in, out, i);
            if (at[i] >= 0 || size % own != 0)
                continue;
            at[i] = listed++;
            for (int64_t k = 0; k < size; k++)
                w.places[w.count * size + k] = first + k * own / size;
            w.count++;
        }
        if (w.count > 0)
            kinds[n++] = w;
    }
    return n;
}

/* Windows of several sizes: an average of those of each size, in the order of the windows then. */
static void lower_uneven_pool(struct nuc_cm *c, const struct nuc_cm_unary *u, const int64_t *out)
{
    const int64_t *in = u->in.node->vals[0].sizes;
    struct windows kinds[2][MOST_KINDS];
    int64_t *at[2];
    uint32_t n[2];

    for (uint32_t d = 0; d < 2; d++) {
        at[d] = nuc_alloc_array(c->g->cx, (size_t)out[2 + d], sizeof **at);
        n[d] = list_windows(c->g->cx, in[2 + d], out[2 + d], kinds[d], at[d]);
    }
    struct nuc_node *before = nuc_cm_place(&u->out), *rows[MOST_KINDS], *parts[MOST_KINDS];
    struct nuc_node *image = nuc_cm_as_nhwc(c, nuc_cm_channels_last(c, u->in.node, before), before);
    for (uint32_t i = 0; i < n[0]; i++) {
        const struct windows *h = &kinds[0][i];
        struct nuc_node *of_rows = nuc_insert_taken(c->g, before, image, 1, h->places, h->count * h->size);
        for (uint32_t j = 0; j < n[1]; j++) {
            const struct windows *w = &kinds[1][j];
            const struct window window = {.kernel = {h->size, w->size}, .stride = {h->size, w->size}};
            struct nuc_node *part =
                nuc_cm_as_nchw(c, nuc_insert_taken(c->g, before, of_rows, 2, w->places, w->count * w->size), before);
            if (h->size * w->size > 1)
                part = emit_avg_pool_of(c, u, NUC_OP_CORTEXM_AVG_POOL2D, part, &window, false, before);
            if (n[0] * n[1] == 1) {
                finish(c, u, part);
                return;
            }
            parts[j] = nuc_cm_as_nhwc(c, part, before);
        }
        rows[i] = n[1] > 1 ? nuc_insert_cat(c->g, before, parts, n[1], 2) : parts[0];
    }
    struct nuc_node *value = n[0] > 1 ? nuc_insert_cat(c->g, before, rows, n[0], 1) : rows[0];
    for (uint32_t d = 0; d < 2; d++)
        value = nuc_insert_taken(c->g, before, value, 1 + d, at[d], out[2 + d]);
    finish(c, u, nuc_cm_as_nchw(c, value, before));
}

bool nuc_cm_lower_adaptive_pool(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_unary u;
    const int64_t *out = node->vals[0].sizes;

    if (!nuc_cm_read_unary(node, false, &u) || !is_image(&u) || !rounds_finely(&u) || out[2] < 1 || out[3] < 1)
        return false;
    const int64_t *in = u.in.node->vals[0].sizes;
    bool even = in[2] % out[2] == 0 && in[3] % out[3] == 0;
    if (!even && c->options->reference_compat)
        return false;
    if (even)
        finish(c, &u, emit_even_pool(c, &u, out[2], out[3]));
    else
        lower_uneven_pool(c, &u, out);
    return true;
}

/* ---- reductions ---- */

/* mean, sum, amax and amin have the same arguments in the same places. */
#define DIM NUC_ARG(MEAN_DIM, dim)
#define KEEPDIM NUC_ARG(MEAN_DIM, keepdim)

/* The first arguments of a reduction: input, dimensions, whether they are kept. */
struct reduction {
    struct nuc_node *in;
    int64_t dims[NUC_MAX_RANK];
    uint32_t n_dims;
    bool keepdim, nhwc;
};

/*
 * The kernels add up contiguous tensors: the input contiguous, or seen as [N, H, W, C] where that is its order. Then
 * dimensions are kept, so that settle() can tell what became of them.
 */
static struct reduction prepare(struct nuc_cm *c, const struct nuc_node *node, const struct nuc_cm_unary *u,
                                bool keepdim, struct nuc_node *before)
{
    const struct nuc_arg *dims = nuc_arg_at(node, DIM);
    bool nhwc = nuc_cm_is_nhwc(u->in.node);
    struct reduction r = {
        .n_dims = dims->kind == NUC_ARG_INTS ? dims->count : 0, .keepdim = nhwc || keepdim, .nhwc = nhwc};

    for (uint32_t i = 0; i < r.n_dims; i++)
        r.dims[i] =
            nhwc ? nuc_cm_nhwc_dim(dims->u.ints[i]) : nuc_positive_dim(dims->u.ints[i], u->in.node->vals[0].rank);
    r.in = nhwc ? nuc_cm_as_nhwc(c, u->in.node, before) : nuc_cm_contiguous(c, u->in.node, before);
    return r;
}

/* After a reduction, of [N, H, W, C] one that kept all dimensions: the sizes the result has. */
static struct nuc_node *settle(struct nuc_cm *c, const struct nuc_node *node, const struct reduction *reduced,
                               struct nuc_node *r)
{
    const struct nuc_meta *result = &node->vals[0];
    struct nuc_node *before = r->next;

    if (!reduced->nhwc)
        return r;
    /* The same bytes in the same sizes with the channels first. */
    struct nuc_meta last = *result;
    nuc_set_channels_last(&last);
    if (nuc_same_sizes(&r->vals[0], result) && nuc_lies_contiguous(&last))
        return r;
    /* Kept dimensions go back to N, C, H, W; the values of the others lie in order once one channel each is left. */
    struct nuc_node *value = nuc_cm_contiguous(c, nuc_cm_as_nchw(c, r, before), before);
    return nuc_same_sizes(&value->vals[0], result) ? value : nuc_cm_view(c, value, result->sizes, result->rank, before);
}

/* The mean of an image's pixels as an average pooling, which has the scale of its input. */
static bool lower_image_mean(struct nuc_cm *c, struct nuc_node *node)
{
    const struct nuc_meta *result = &node->vals[0];
    struct nuc_cm_unary u;
    const struct nuc_arg *dims = nuc_arg_at(node, DIM);

    if (node->op != NUC_OP_MEAN_DIM || dims->kind != NUC_ARG_INTS || dims->count != 2 ||
        !nuc_cm_read_unary(node, false, &u) || !is_image(&u) || !rounds_finely(&u) ||
        nuc_dims_mask(node, DIM, 4) != (1u << 2 | 1u << 3))
        return false;
    struct nuc_node *mean = emit_even_pool(c, &u, 1, 1);
    if (!nuc_flag(node, KEEPDIM))
        mean = nuc_cm_view(c, mean, result->sizes, result->rank, mean->next);
    finish(c, &u, mean);
    return true;
}

static bool is_added(const struct reduction *r, uint32_t dim)
{
    bool added = r->n_dims == 0;

    for (uint32_t i = 0; i < r->n_dims; i++)
        added = added || r->dims[i] == (int64_t)dim;
    return added;
}

/*
 * A contiguous tensor as [in front of what is added up, that, behind it]. False where other dimensions lie between
 * those that are added up; those of one element lie anywhere.
 */
static bool as_block(const struct reduction *r, int64_t sizes[3])
{
    const struct nuc_meta *m = &r->in->vals[0];

    sizes[0] = sizes[1] = sizes[2] = 1;
    for (uint32_t d = 0; d < m->rank; d++) {
        if (m->sizes[d] == 1)
            continue;
        if (is_added(r, d) && sizes[2] != 1)
            return false;
        sizes[is_added(r, d) ? 1 : sizes[1] == 1 ? 0 : 2] *= m->sizes[d];
    }
    return true;
}

#define MOST_ONES 2048 /* bytes of a program that fewer cycles are worth */

/*
 * A sum over the last dimensions is a product with ones, one over others after a transposition, which takes memory.
 * NULL where dimensions lie between them.
 */
static struct nuc_node *sum_of_products(struct nuc_cm *c, const struct nuc_node *node, const struct nuc_cm_unary *u,
                                        const struct reduction *r, struct nuc_multiplier m, bool transposes,
                                        struct nuc_node *before)
{
    const struct nuc_meta *in = &r->in->vals[0];
    int64_t block[3], sizes[NUC_MAX_RANK];
    uint32_t rank = 0;

    if (in->dtype != NUC_I8 || !as_block(r, block) || (block[2] > 1 && !transposes) ||
        (block[1] > MOST_ONES && !c->options->executorch_ops_only))
        return NULL;
    struct nuc_node *x = r->in;
    if (block[2] > 1)
        x = nuc_cm_transpose(c, nuc_cm_view(c, x, block, 3, before), (const int64_t[]){0, 2, 1}, before);
    for (uint32_t d = 0; d < in->rank; d++) {
        if (!is_added(r, d) || r->keepdim)
            sizes[rank++] = is_added(r, d) ? 1 : in->sizes[d];
    }
    return nuc_cm_view(c, nuc_cm_sum_rows(c, node, u, x, block[1], m, before), sizes, rank, before);
}

/* Sum or mean: one requantization of the int32 sum. */
bool nuc_cm_lower_sum(struct nuc_cm *c, struct nuc_node *node)
{
    const struct nuc_cortexm_options *o = c->options;
    struct nuc_cm_unary u;

    if (o->reference_compat || !nuc_cm_read_unary(node, false, &u))
        return o->executorch_ops_only && lower_image_mean(c, node);
    if (o->executorch_ops_only && !o->as_litert && nuc_cm_same_params(&u.in, &u.out.params) &&
        lower_image_mean(c, node))
        return true;
    if (nuc_elements(&node->vals[0]) == 0 || nuc_elements(&u.in.node->vals[0]) == 0)
        return false;
    double count = (double)(nuc_elements(&u.in.node->vals[0]) / nuc_elements(&node->vals[0]));
    /* The int32 sum of the products must not overflow. */
    if (count > (double)(u.in.dtype == NUC_I8 ? 1 << 22 : 1 << 15))
        return false;
    double scale = u.in.scale / u.out.params.scale;
    struct nuc_multiplier m =
        node->op == NUC_OP_MEAN_DIM ? nuc_mean_multiplier(scale, (int64_t)count) : nuc_cm_multiplier(scale);
    struct nuc_node *before = nuc_cm_place(&u.out);
    struct reduction r = prepare(c, node, &u, nuc_flag(node, KEEPDIM), before);
    struct nuc_node *sum = sum_of_products(c, node, &u, &r, m, o->executorch_ops_only, before);
    if (sum == NULL && o->executorch_ops_only)
        return lower_image_mean(c, node);
    if (sum == NULL)
        sum = nuc_emit(c->g, before, NUC_OP_NUCLEON_SUM, u.out.value,
                       NUC_ARGS(r.in, nuc_ints_arg(r.dims, r.n_dims), nuc_bool_arg(r.keepdim), u.in.zero_point,
                                u.out.params.zero_point, m.multiplier, m.shift));
    return nuc_cm_replace(c, &u.out, settle(c, node, &r, sum));
}

#define SUM(name) NUC_ARG(NUCLEON_SUM, name)

bool nuc_cortexm_part_sums(struct nuc_graph *g, const struct nuc_cortexm_options *options)
{
    struct nuc_cm c = {.g = g, .options = options};
    bool found = false;

    for (struct nuc_node *n = g->first, *next; n != NULL; n = next) {
        next = n->next;
        if (n->op != NUC_OP_NUCLEON_SUM)
            continue;
        const struct nuc_arg *dims = nuc_arg_at(n, SUM(dim));
        struct reduction r = {
            .in = nuc_arg_node(n, SUM(input)), .n_dims = dims->count, .keepdim = nuc_flag(n, SUM(keepdim))};
        const struct nuc_cm_unary u = {.in.zero_point = nuc_integer(n, SUM(input_zero_point), 0),
                                       .out = {.value = n,
                                               .params.zero_point = nuc_integer(n, SUM(output_zero_point), 0),
                                               .low = INT8_MIN,
                                               .high = INT8_MAX}};
        const struct nuc_multiplier m = {(int32_t)nuc_integer(n, SUM(output_multiplier), 0),
                                         (int32_t)nuc_integer(n, SUM(output_shift), 0)};
        for (uint32_t i = 0; i < r.n_dims; i++)
            r.dims[i] = nuc_positive_dim(dims->u.ints[i], r.in->vals[0].rank);
        struct nuc_node *sum = sum_of_products(&c, n, &u, &r, m, true, n);
        if (sum == NULL)
            continue;
        nuc_replace_uses(g, n, sum, NULL);
        nuc_remove_node(g, n);
        found = true;
    }
    return found;
}

/* The squared scale, the divisor and the output's scale are one factor. */
bool nuc_cm_lower_var(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_unary u;

    if (!nuc_cm_is_own(c) || !nuc_cm_read_unary(node, false, &u) || nuc_elements(&node->vals[0]) == 0)
        return false;
    double count = (double)(nuc_elements(&u.in.node->vals[0]) / nuc_elements(&node->vals[0]));
    double divisor = count - nuc_scalar(node, NUC_ARG(VAR, correction), 1);
    if (!(divisor > 0) || count > (double)(u.in.dtype == NUC_I8 ? NUC_MOST_IN_GROUP : NUC_MOST_WIDE_IN_GROUP))
        return false;
    struct nuc_node *before = nuc_cm_place(&u.out);
    struct reduction r = prepare(c, node, &u, nuc_flag(node, NUC_ARG(VAR, keepdim)), before);
    struct nuc_node *var =
        nuc_emit(c->g, before, NUC_OP_NUCLEON_VAR, u.out.value,
                 NUC_ARGS(r.in, nuc_ints_arg(r.dims, r.n_dims), nuc_bool_arg(r.keepdim), u.out.params.zero_point,
                          u.in.scale * u.in.scale / (divisor * u.out.params.scale)));
    return nuc_cm_replace(c, &u.out, settle(c, node, &r, var));
}

/* The place of the largest quantized value is that of the largest value. */
bool nuc_cm_lower_arg_extreme(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_node *like = nuc_arg_node(node, NUC_SELF);
    struct nuc_cm_value in;

    if (c->options->reference_compat || !nuc_cm_tensor(node, NUC_SELF, &in))
        return false;
    nuc_replace_input(c->g, node, like, in.node);
    return true;
}

/* amax, amin: the order of quantized values is that of the values. */
bool nuc_cm_lower_reduce_extreme(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_unary u;

    if (!nuc_cm_read_unary(node, false, &u))
        return false;
    struct nuc_node *before = nuc_cm_place(&u.out);
    struct reduction r = prepare(c, node, &u, nuc_flag(node, KEEPDIM), before);
    struct nuc_node *extreme = nuc_emit(c->g, before, node->op, u.out.value,
                                        NUC_ARGS(r.in, nuc_ints_arg(r.dims, r.n_dims), nuc_bool_arg(r.keepdim)));
    finish(c, &u, settle(c, node, &r, extreme));
    return true;
}

/* ---- resampling ---- */

/* Scale factors that are not the quotients of the sizes sample other places. */
static bool scales_fit(const struct nuc_node *node, uint32_t scale_factors)
{
    const struct nuc_arg *factors = nuc_arg_at(node, scale_factors);
    bool by_size = nuc_arg_at(node, NUC_ARG(UPSAMPLE_BILINEAR, output_size))->kind != NUC_ARG_NONE;

    for (uint32_t i = 0; factors->kind == NUC_ARG_FLOATS && !by_size && i < factors->count && i < 2; i++) {
        double exact = (double)node->vals[0].sizes[2 + i] / (double)nuc_input_meta(node, NUC_SELF)->sizes[2 + i];
        if (fabs(factors->u.floats[i] - exact) > 1e-6 * exact)
            return false;
    }
    return true;
}

bool nuc_cm_lower_bilinear(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_unary u;

    if (c->options->executorch_ops_only || !nuc_cm_read_unary(node, false, &u) || !is_image(&u) ||
        !scales_fit(node, NUC_ARG(UPSAMPLE_BILINEAR, scale_factors)) || !rounds_finely(&u))
        return false;
    struct nuc_node *before = nuc_cm_place(&u.out), *in = nuc_cm_channels_last(c, u.in.node, before);
    finish(c, &u,
           nuc_emit(c->g, before, NUC_OP_NUCLEON_RESIZE_BILINEAR, u.out.value,
                    NUC_ARGS(in, nuc_ints_arg(node->vals[0].sizes + 2, 2),
                             nuc_bool_arg(nuc_flag(node, NUC_ARG(UPSAMPLE_BILINEAR, align_corners))))));
    return true;
}

/* By the kernel of our own where it samples the same places, else by the portable one. */
bool nuc_cm_lower_nearest(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_unary u;

    if (!nuc_cm_read_unary(node, false, &u) || !is_image(&u))
        return false;
    struct nuc_node *before = nuc_cm_place(&u.out), *resize;
    if (!c->options->executorch_ops_only && (u.in.dtype == NUC_I8 || !c->options->reference_compat) &&
        scales_fit(node, NUC_ARG(UPSAMPLE_NEAREST, scale_factors))) {
        struct nuc_node *in = nuc_cm_channels_last(c, u.in.node, before);
        resize = nuc_emit(c->g, before, NUC_OP_NUCLEON_RESIZE_NEAREST, u.out.value,
                          NUC_ARGS(in, nuc_ints_arg(node->vals[0].sizes + 2, 2)));
    } else {
        resize = nuc_emit_like(c->g, before, node, NUC_ARGS(u.in.node));
    }
    finish(c, &u, resize);
    return true;
}

/* ---- sampling at the positions of a grid ---- */

/*
 * The grid as integers. One of floats becomes int16: where pixels beyond the image are all alike, positions up to the
 * first of these are all there are. Not to pick the nearest pixel, since a position rounded across the border between
 * two is off by the difference of both.
 */
static bool read_grid(struct nuc_cm *c, const struct nuc_node *node, struct nuc_node *before, struct nuc_cm_value *grid)
{
    const int64_t *sizes = nuc_input_meta(node, NUC_ARG(GRID_SAMPLER_2D, input))->sizes;
    struct nuc_node *value = nuc_arg_node(node, NUC_ARG(GRID_SAMPLER_2D, grid));
    const int64_t least = sizes[2] < sizes[3] ? sizes[2] : sizes[3];

    if (nuc_cm_values(value, grid))
        return true;
    if (value->vals[0].dtype != NUC_F32 ||
        nuc_integer(node, NUC_ARG(GRID_SAMPLER_2D, interpolation_mode), 0) != NUC_GRID_BILINEAR ||
        nuc_integer(node, NUC_ARG(GRID_SAMPLER_2D, padding_mode), 0) == NUC_GRID_REFLECTION)
        return false;
    *grid =
        (struct nuc_cm_value){.dtype = NUC_I16, .scale = (1 + 2.0 / (double)(least > 2 ? least - 1 : 1)) / INT16_MAX};
    if (nuc_is_static(value)) {
        const int64_t n = nuc_elements(&value->vals[0]);
        const float *positions = nuc_const_contiguous(c->g, value);
        int16_t *q = nuc_alloc_array(c->g->cx, (size_t)n, sizeof *q);
        for (int64_t i = 0; i < n; i++)
            q[i] = (int16_t)nuc_cm_quantize(grid, (double)positions[i]);
        grid->node = nuc_cm_constant(c, value, "_positions", NUC_I16, value->vals[0].sizes, 4, q);
    } else {
        grid->node = nuc_emit(c->g, before, NUC_OP_QUANTIZE_PER_TENSOR, value,
                              NUC_ARGS(value, grid->scale, 0, INT16_MIN, INT16_MAX, nuc_dtype_arg(NUC_I16)));
    }
    return true;
}

/* Where coordinates lie, as the operator has it. False where the kernel's sums do not hold them. */
static bool positions_of(const struct nuc_cm_value *grid, const int64_t *sizes, bool align_corners, bool nearest,
                         int64_t steps[2], int64_t starts[2])
{
    for (int d = 0; d < 2; d++) {
        double size = (double)sizes[3 - d], half = (align_corners ? size - 1 : size) / 2;
        double step = nearbyint(ldexp(grid->scale * half, NUC_GRID_BITS - (grid->dtype == NUC_I8 ? 8 : 0)));
        double zero = (double)grid->zero_point * step * (grid->dtype == NUC_I8 ? 256 : 1);
        double start = ldexp((size - 1) / 2 + (nearest ? 0 : 0x1p-12), NUC_GRID_BITS) - zero;
        if (size > NUC_MOST_GRID_SIZE || step > INT32_MAX || fabs(start) > (double)NUC_MOST_GRID_START)
            return false;
        steps[d] = (int64_t)step;
        starts[d] = (int64_t)start;
    }
    return true;
}

bool nuc_cm_lower_grid_sampler(struct nuc_cm *c, struct nuc_node *node)
{
    const int64_t *sizes = nuc_input_meta(node, NUC_SELF)->sizes;
    bool align_corners = nuc_flag(node, NUC_ARG(GRID_SAMPLER_2D, align_corners));
    int64_t mode = nuc_integer(node, NUC_ARG(GRID_SAMPLER_2D, interpolation_mode), 0), steps[2], starts[2];
    struct nuc_cm_value grid;
    struct nuc_cm_unary u;

    if (!nuc_cm_is_own(c) || !nuc_cm_read_unary(node, false, &u) || !rounds_finely(&u) || mode > NUC_GRID_NEAREST)
        return false;
    struct nuc_node *before = nuc_cm_place(&u.out);
    if (!read_grid(c, node, before, &grid) || (mode == NUC_GRID_NEAREST && grid.dtype != NUC_I16) ||
        !positions_of(&grid, sizes, align_corners, mode == NUC_GRID_NEAREST, steps, starts))
        return false;
    finish(c, &u,
           nuc_emit(c->g, before, NUC_OP_NUCLEON_GRID_SAMPLER, u.out.value,
                    NUC_ARGS(u.in.node, grid.node, mode, *nuc_arg_at(node, NUC_ARG(GRID_SAMPLER_2D, padding_mode)),
                             nuc_bool_arg(align_corners), u.in.zero_point, nuc_ints_arg(steps, 2),
                             nuc_ints_arg(starts, 2))));
    return true;
}
