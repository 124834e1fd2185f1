/*
 * Expansions of pooling, padding and sliding windows. A pooling of three dimensions is one of the last two and then one
 * of the first: maxima and, with their divisors, means separate.
 */
#include <assert.h>
#include <string.h>

#include "rewrite/expand/expand_list.h"

#define MAX_SPATIAL 3

/* ---- building blocks ---- */

struct nuc_node *nuc_insert_taken(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                  const int64_t *indices, int64_t count)
{
    struct nuc_node *list[NUC_MAX_RANK] = {NULL};
    bool same = count == input->vals[0].sizes[dim];

    for (int64_t i = 0; same && i < count; i++)
        same = indices[i] == i;
    if (same)
        return input;
    list[dim] = nuc_insert_indices(g, node, indices, &count, 1);
    return nuc_emit(g, node, NUC_OP_INDEX, node, NUC_ARGS(nuc_node_arg(input), nuc_nodes_arg(list, dim + 1)));
}

/* A window: numbers for each spatial dimension. */
struct window {
    int64_t kernel[MAX_SPATIAL], stride[MAX_SPATIAL], padding[MAX_SPATIAL], dilation[MAX_SPATIAL];
    bool ceil_mode;
};

static void read_numbers(const struct nuc_node *node, uint32_t index, uint32_t count, const int64_t *fallback,
                         int64_t *out)
{
    const struct nuc_arg *a = nuc_arg_at(node, index);

    for (uint32_t i = 0; i < count; i++) {
        bool given = a->kind == NUC_ARG_INTS && a->count > 0;
        out[i] = given ? a->u.ints[a->count == count ? i : 0] : fallback[i];
    }
}

/* kernel, stride and padding are the arguments 1 to 3 of all poolings, and the dilation follows where there is one. */
static struct window read_window(const struct nuc_node *node, uint32_t spatial, bool dilated)
{
    static const int64_t ones[] = {1, 1, 1}, zeros[] = {0, 0, 0};
    struct window w;

    read_numbers(node, NUC_ARG(MAX_POOL3D, kernel_size), spatial, ones, w.kernel);
    read_numbers(node, NUC_ARG(MAX_POOL3D, stride), spatial, w.kernel, w.stride);
    read_numbers(node, NUC_ARG(MAX_POOL3D, padding), spatial, zeros, w.padding);
    memcpy(w.dilation, ones, sizeof ones);
    if (dilated)
        read_numbers(node, NUC_ARG(MAX_POOL3D, dilation), spatial, ones, w.dilation);
    w.ceil_mode = nuc_flag(node, dilated ? NUC_ARG(MAX_POOL3D, ceil_mode) : NUC_ARG(AVG_POOL3D, ceil_mode));
    return w;
}

/* The input with a batch dimension. */
static struct nuc_node *with_batch(struct nuc_graph *g, struct nuc_node *node, uint32_t spatial)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    int64_t sizes[NUC_MAX_RANK] = {1};

    if (input->vals[0].rank == spatial + 2)
        return input;
    if (input->vals[0].rank != spatial + 1)
        nuc_expand_fail(g, node, "an input of rank %u has not %u spatial dimensions", (unsigned)input->vals[0].rank,
                        (unsigned)spatial);
    memcpy(sizes + 1, input->vals[0].sizes, (spatial + 1) * sizeof *sizes);
    return nuc_insert_reshaped(g, node, input, sizes, spatial + 2);
}

/* The value in the shape that item `index` of the node states: without the batch dimension where there was none. */
static struct nuc_node *in_shape_of(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *value, uint32_t index)
{
    const struct nuc_meta *m = &node->vals[index];

    if (nuc_same_sizes(m, &value->vals[0]) || nuc_elements(m) != nuc_elements(&value->vals[0]))
        return value;
    return nuc_insert_reshaped(g, node, value, m->sizes, m->rank);
}

/* [N, C, D, H, W] as images of the last two dimensions, [N, C * D, H, W]. */
static struct nuc_node *planes(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *volume)
{
    const int64_t *s = volume->vals[0].sizes;

    return nuc_insert_reshaped(g, node, volume, (const int64_t[]){s[0], s[1] * s[2], s[3], s[4]}, 4);
}

/* [N, C * D, H, W] as images of depth and the rest, [N, C, D, H * W]. */
static struct nuc_node *columns(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *image, int64_t channels)
{
    const int64_t *s = image->vals[0].sizes;

    return nuc_insert_reshaped(g, node, image,
                               (const int64_t[]){s[0], channels, channels == 0 ? 0 : s[1] / channels, s[2] * s[3]}, 4);
}

/* [N, C, D, H * W] as a volume again. */
static struct nuc_node *volume_of(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *image, int64_t height,
                                  int64_t width)
{
    const int64_t *s = image->vals[0].sizes;

    return nuc_insert_reshaped(g, node, image, (const int64_t[]){s[0], s[1], s[2], height, width}, 5);
}

/* ---- maxima ---- */

/* What a pooling with indices gives: values, and where they stand in the image, counted row by row. */
struct maxima {
    struct nuc_node *values, *indices;
};

/* The window of the dimensions [first, first + 2) of `w`; first == 2 stands for one more of size 1 after the first. */
static struct maxima insert_max_pool(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *image,
                                     const struct window *w, bool with_indices)
{
    struct nuc_node *pool =
        nuc_emit(g, node, with_indices ? NUC_OP_MAX_POOL2D_INDICES : NUC_OP_MAX_POOL2D, node,
                 NUC_ARGS(nuc_node_arg(image), nuc_ints_arg(w->kernel, 2), nuc_ints_arg(w->stride, 2),
                          nuc_ints_arg(w->padding, 2), nuc_ints_arg(w->dilation, 2), nuc_bool_arg(w->ceil_mode)));

    if (!with_indices)
        return (struct maxima){pool, NULL};
    return (struct maxima){nuc_insert_getitem(g, node, pool, 0), nuc_insert_getitem(g, node, pool, 1)};
}

/* The part of a window for rows and columns of images: dimension `of` and, where there is one, the one after it. */
static struct window part_of(const struct window *w, uint32_t of, bool alone)
{
    struct window part = {.kernel = {w->kernel[of], 1}, .stride = {w->stride[of], 1}, .ceil_mode = w->ceil_mode};

    part.padding[0] = w->padding[of];
    part.dilation[0] = w->dilation[of];
    part.dilation[1] = 1;
    if (alone)
        return part;
    part.kernel[1] = w->kernel[of + 1];
    part.stride[1] = w->stride[of + 1];
    part.padding[1] = w->padding[of + 1];
    part.dilation[1] = w->dilation[of + 1];
    return part;
}

/*
 * Where the maximum of a volume stands: `at` says for each result which element of [D, H' * W'] it is, and `inner`, of
 * that shape, where that one stands in the plane [H, W].
 */
static struct nuc_node *volume_indices(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *inner,
                                       struct nuc_node *at, int64_t plane)
{
    const struct nuc_meta *in = &inner->vals[0], *out = &at->vals[0];
    const int64_t flat[] = {in->sizes[0], in->sizes[1], in->sizes[2] * in->sizes[3]};
    const int64_t picks[] = {out->sizes[0], out->sizes[1], out->sizes[2] * out->sizes[3]};
    struct nuc_node *places = nuc_insert_reshaped(g, node, at, picks, 3);
    struct nuc_node *in_plane = nuc_emit(
        g, node, NUC_OP_GATHER, node,
        NUC_ARGS(nuc_node_arg(nuc_insert_reshaped(g, node, inner, flat, 3)), nuc_int_arg(2), nuc_node_arg(places)));
    struct nuc_node *depth =
        nuc_insert_with_number(g, node, NUC_OP_FLOOR_DIVIDE, places, (double)(in->sizes[3] > 0 ? in->sizes[3] : 1));
    struct nuc_node *offset = nuc_insert_with_number(g, node, NUC_OP_MUL, depth, (double)plane);

    return nuc_insert_reshaped(g, node, nuc_insert_binary(g, node, NUC_OP_ADD, offset, in_plane), out->sizes, 4);
}

static struct maxima pool_volume(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *volume,
                                 const struct window *w, bool with_indices)
{
    const struct nuc_meta in = volume->vals[0];
    struct window rows = part_of(w, 1, false), depth = part_of(w, 0, true);
    struct maxima plane = insert_max_pool(g, node, planes(g, node, volume), &rows, with_indices);
    const int64_t height = plane.values->vals[0].sizes[2], width = plane.values->vals[0].sizes[3];
    struct maxima all = insert_max_pool(g, node, columns(g, node, plane.values, in.sizes[1]), &depth, with_indices);

    if (with_indices) {
        struct nuc_node *inner = columns(g, node, plane.indices, in.sizes[1]);
        all.indices = volume_indices(g, node, inner, all.indices, in.sizes[3] * in.sizes[4]);
        all.indices = volume_of(g, node, all.indices, height, width);
    }
    all.values = volume_of(g, node, all.values, height, width);
    return all;
}

/* A row of values as an image of one row. */
static struct nuc_node *row_image(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *row)
{
    const int64_t *s = row->vals[0].sizes;

    return nuc_insert_reshaped(g, node, row, (const int64_t[]){s[0], s[1], 1, s[2]}, 4);
}

static bool is_read(const struct nuc_node *tuple, uint32_t index)
{
    for (uint32_t i = 0; i < tuple->n_users; i++) {
        if (nuc_is_item(tuple->users[i], index) && tuple->users[i]->n_users > 0)
            return true;
    }
    return false;
}

static void replace_both(struct nuc_graph *g, struct nuc_node *node, struct maxima m)
{
    nuc_replace_item(g, node, 0, in_shape_of(g, node, m.values, 0));
    if (m.indices != NULL)
        nuc_replace_item(g, node, 1, in_shape_of(g, node, m.indices, 1));
}

struct nuc_node *nuc_expand_max_pool3d(struct nuc_graph *g, struct nuc_node *node)
{
    struct window w = read_window(node, 3, true);

    return in_shape_of(g, node, pool_volume(g, node, with_batch(g, node, 3), &w, false).values, 0);
}

struct nuc_node *nuc_expand_max_pool3d_indices(struct nuc_graph *g, struct nuc_node *node)
{
    struct window w = read_window(node, 3, true);

    replace_both(g, node, pool_volume(g, node, with_batch(g, node, 3), &w, is_read(node, 1)));
    return NULL;
}

struct nuc_node *nuc_expand_max_pool1d_indices(struct nuc_graph *g, struct nuc_node *node)
{
    struct window w = read_window(node, 1, true);
    struct window image = {.kernel = {1, w.kernel[0]},
                           .stride = {1, w.stride[0]},
                           .padding = {0, w.padding[0]},
                           .dilation = {1, w.dilation[0]},
                           .ceil_mode = w.ceil_mode};
    struct nuc_node *input = row_image(g, node, with_batch(g, node, 1));

    replace_both(g, node, insert_max_pool(g, node, input, &image, is_read(node, 1)));
    return NULL;
}

/* ---- means ---- */

static struct nuc_node *insert_avg_pool(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *image,
                                        const struct window *w, bool counts_padding, int64_t divisor)
{
    struct nuc_arg by = divisor == 0 ? nuc_node_arg(NULL) : nuc_int_arg(divisor);

    return nuc_emit(g, node, NUC_OP_AVG_POOL2D, node,
                    NUC_ARGS(nuc_node_arg(image), nuc_ints_arg(w->kernel, 2), nuc_ints_arg(w->stride, 2),
                             nuc_ints_arg(w->padding, 2), nuc_bool_arg(w->ceil_mode), nuc_bool_arg(counts_padding),
                             by));
}

/* The count of a window is the product of those of its dimensions; a divisor of one's own takes the place of both. */
struct nuc_node *nuc_expand_avg_pool3d(struct nuc_graph *g, struct nuc_node *node)
{
    struct window w = read_window(node, 3, false);
    struct window rows = part_of(&w, 1, false), depth = part_of(&w, 0, true);
    struct nuc_node *volume = with_batch(g, node, 3);
    bool counts_padding = nuc_flag(node, NUC_ARG(AVG_POOL3D, count_include_pad));
    int64_t divisor = nuc_integer(node, NUC_ARG(AVG_POOL3D, divisor_override), 0);
    int64_t channels = volume->vals[0].sizes[1];
    struct nuc_node *plane =
        insert_avg_pool(g, node, planes(g, node, volume), &rows, counts_padding, divisor == 0 ? 0 : 1);
    const int64_t height = plane->vals[0].sizes[2], width = plane->vals[0].sizes[3];
    struct nuc_node *all = insert_avg_pool(g, node, columns(g, node, plane, channels), &depth, counts_padding, divisor);

    return in_shape_of(g, node, volume_of(g, node, all, height, width), 0);
}

/* ---- adaptive pooling ---- */

static struct nuc_node *insert_adaptive(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *image,
                                        int64_t height, int64_t width)
{
    return nuc_emit(g, node, NUC_OP_ADAPTIVE_AVG_POOL2D, node,
                    NUC_ARGS(nuc_node_arg(image), nuc_ints_arg((const int64_t[]){height, width}, 2)));
}

/* Sizes of the result; of one that is None, as torch has it, the input's. */
static void adaptive_sizes(const struct nuc_node *node, uint32_t spatial, int64_t *out)
{
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF);

    read_numbers(node, NUC_ARG(ADAPTIVE_AVG_POOL3D, output_size), spatial,
                 in->rank >= spatial ? in->sizes + (in->rank - spatial) : in->sizes, out);
}

struct nuc_node *nuc_expand_adaptive_avg_pool1d(struct nuc_graph *g, struct nuc_node *node)
{
    int64_t size;

    adaptive_sizes(node, 1, &size);
    return in_shape_of(g, node, insert_adaptive(g, node, row_image(g, node, with_batch(g, node, 1)), 1, size), 0);
}

struct nuc_node *nuc_expand_adaptive_avg_pool3d(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *volume = with_batch(g, node, 3);
    int64_t channels = volume->vals[0].sizes[1], s[3];

    adaptive_sizes(node, 3, s);
    struct nuc_node *plane = insert_adaptive(g, node, planes(g, node, volume), s[1], s[2]);
    struct nuc_node *all = insert_adaptive(g, node, columns(g, node, plane, channels), s[0], s[1] * s[2]);
    return in_shape_of(g, node, volume_of(g, node, all, s[1], s[2]), 0);
}

/* The windows of an adaptive pooling along one dimension, each filled up to the longest by its last element. */
struct adaptive {
    int64_t out, longest;
    int64_t *indices; /* [out * longest] */
};

static struct adaptive adaptive_windows(struct nuc_graph *g, struct nuc_node *node, int64_t in, int64_t out)
{
    struct adaptive a = {.out = out, .longest = 1};

    if (in < 1 || out < 1 || out > INT32_MAX)
        nuc_expand_fail(g, node, "makes %lld of %lld elements", (long long)out, (long long)in);
    for (int64_t i = 0; i < out; i++) {
        int64_t length = ((i + 1) * in + out - 1) / out - i * in / out;
        a.longest = length > a.longest ? length : a.longest;
    }
    a.indices = nuc_alloc_array(g->cx, (size_t)out * (size_t)a.longest, sizeof *a.indices);
    for (int64_t i = 0; i < out; i++) {
        int64_t start = i * in / out, end = ((i + 1) * in + out - 1) / out;
        for (int64_t k = 0; k < a.longest; k++)
            a.indices[i * a.longest + k] = start + k < end ? start + k : end - 1;
    }
    return a;
}

/* Places in the image of the filled windows as places in the image they were taken from. */
static struct nuc_node *original_places(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *places,
                                        const struct adaptive *rows, const struct adaptive *cols, int64_t width)
{
    int64_t height = rows->out * rows->longest, filled = cols->out * cols->longest, count = height * filled;
    int64_t *table = nuc_alloc_array(g->cx, (size_t)count, sizeof *table);

    for (int64_t y = 0; y < height; y++) {
        for (int64_t x = 0; x < filled; x++)
            table[y * filled + x] = rows->indices[y] * width + cols->indices[x];
    }
    struct nuc_node *list[1] = {places};
    return nuc_emit(g, node, NUC_OP_INDEX, node,
                    NUC_ARGS(nuc_node_arg(nuc_insert_indices(g, node, table, &count, 1)), nuc_nodes_arg(list, 1)));
}

static struct maxima adaptive_image(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *image, int64_t height,
                                    int64_t width, bool with_indices)
{
    const struct nuc_meta in = image->vals[0];
    struct adaptive rows = adaptive_windows(g, node, in.sizes[2], height);
    struct adaptive cols = adaptive_windows(g, node, in.sizes[3], width);
    struct window w = {
        .kernel = {rows.longest, cols.longest}, .stride = {rows.longest, cols.longest}, .dilation = {1, 1}};
    struct nuc_node *filled = nuc_insert_taken(g, node, image, 2, rows.indices, rows.out * rows.longest);

    filled = nuc_insert_taken(g, node, filled, 3, cols.indices, cols.out * cols.longest);
    struct maxima m = insert_max_pool(g, node, filled, &w, with_indices);
    if (with_indices && filled != image)
        m.indices = original_places(g, node, m.indices, &rows, &cols, in.sizes[3]);
    return m;
}

struct nuc_node *nuc_expand_adaptive_max_pool1d(struct nuc_graph *g, struct nuc_node *node)
{
    int64_t size;

    adaptive_sizes(node, 1, &size);
    struct nuc_node *image = row_image(g, node, with_batch(g, node, 1));
    replace_both(g, node, adaptive_image(g, node, image, 1, size, is_read(node, 1)));
    return NULL;
}

struct nuc_node *nuc_expand_adaptive_max_pool2d(struct nuc_graph *g, struct nuc_node *node)
{
    int64_t s[2];

    adaptive_sizes(node, 2, s);
    replace_both(g, node, adaptive_image(g, node, with_batch(g, node, 2), s[0], s[1], is_read(node, 1)));
    return NULL;
}

struct nuc_node *nuc_expand_adaptive_max_pool3d(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *volume = with_batch(g, node, 3);
    const struct nuc_meta in = volume->vals[0];
    bool with_indices = is_read(node, 1);
    int64_t s[3];

    adaptive_sizes(node, 3, s);
    struct maxima plane = adaptive_image(g, node, planes(g, node, volume), s[1], s[2], with_indices);
    struct nuc_node *image = columns(g, node, plane.values, in.sizes[1]);
    struct maxima all = adaptive_image(g, node, image, s[0], s[1] * s[2], with_indices);
    all.values = volume_of(g, node, all.values, s[1], s[2]);
    if (with_indices) {
        struct nuc_node *inner = columns(g, node, plane.indices, in.sizes[1]);
        all.indices = volume_indices(g, node, inner, all.indices, in.sizes[3] * in.sizes[4]);
        all.indices = volume_of(g, node, all.indices, s[1], s[2]);
    }
    replace_both(g, node, all);
    return NULL;
}

/* ---- back from maxima ---- */

/* Zeros, and each value where its index says. */
struct nuc_node *nuc_expand_max_unpool(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    struct nuc_node *indices = nuc_operand(g, node, NUC_ARG(MAX_UNPOOL2D, indices));
    const struct nuc_meta *in = &input->vals[0], *out = &node->vals[0];
    uint32_t spatial = node->op == NUC_OP_MAX_UNPOOL2D ? 2 : 3, lead = out->rank - spatial;
    int64_t from[NUC_MAX_RANK], to[NUC_MAX_RANK];

    if (in->rank != out->rank || out->rank < spatial)
        nuc_expand_fail(g, node, "an input of rank %u has not %u spatial dimensions", (unsigned)in->rank,
                        (unsigned)spatial);
    from[lead] = to[lead] = 1;
    for (uint32_t i = 0; i < out->rank; i++) {
        if (i < lead) {
            from[i] = in->sizes[i];
            to[i] = out->sizes[i];
            continue;
        }
        from[lead] *= in->sizes[i];
        to[lead] *= out->sizes[i];
    }
    struct nuc_meta whole = nuc_meta_make(in->dtype, to, lead + 1);
    struct nuc_node *zeros = nuc_insert_filled(g, node, &whole, 0.0);
    struct nuc_node *value = nuc_emit(g, node, NUC_OP_SCATTER, node,
                                      NUC_ARGS(nuc_node_arg(zeros), nuc_int_arg(lead),
                                               nuc_node_arg(nuc_insert_reshaped(g, node, indices, from, lead + 1)),
                                               nuc_node_arg(nuc_insert_reshaped(g, node, input, from, lead + 1))));
    return nuc_insert_reshaped(g, node, value, out->sizes, out->rank);
}

/* ---- padding ---- */

static struct nuc_node *pad_as(struct nuc_graph *g, struct nuc_node *node, const char *mode)
{
    struct nuc_node *pad = nuc_insert(g, node, NUC_OP_PAD, node);

    nuc_copy_arg(g, pad, NUC_SELF, node, NUC_SELF);
    nuc_copy_arg(g, pad, NUC_ARG(PAD, pad), node, NUC_ARG(REFLECTION_PAD1D, padding));
    nuc_set_arg_string(pad, NUC_ARG(PAD, mode), mode);
    nuc_infer_shape(g, pad);
    return pad;
}

struct nuc_node *nuc_expand_reflection_pad(struct nuc_graph *g, struct nuc_node *node)
{
    return pad_as(g, node, "reflect");
}

struct nuc_node *nuc_expand_replication_pad(struct nuc_graph *g, struct nuc_node *node)
{
    return pad_as(g, node, "replicate");
}

/* ---- windows as columns ---- */

struct columns {
    int64_t kernel[2], dilation[2], padding[2], stride[2];
};

/* The arguments from `first` on, in the order that both operators have. */
static struct columns read_columns(const struct nuc_node *node, uint32_t first)
{
    static const int64_t ones[] = {1, 1}, zeros[] = {0, 0};
    struct columns c;

    read_numbers(node, first, 2, ones, c.kernel);
    read_numbers(node, first + 1, 2, ones, c.dilation);
    read_numbers(node, first + 2, 2, zeros, c.padding);
    read_numbers(node, first + 3, 2, ones, c.stride);
    return c;
}

/* How many windows there are along a dimension; fails when there is none or a number is out of range. */
static int64_t windows_along(struct nuc_graph *g, const struct nuc_node *node, const struct columns *c, uint32_t d,
                             int64_t size)
{
    const int64_t limit = INT32_MAX;
    bool in_range = c->kernel[d] > 0 && c->kernel[d] < limit && c->dilation[d] > 0 && c->dilation[d] < limit &&
                    c->stride[d] > 0 && c->padding[d] >= 0 && c->padding[d] < limit;
    int64_t left = in_range ? size + 2 * c->padding[d] - c->dilation[d] * (c->kernel[d] - 1) - 1 : -1;

    if (left < 0)
        nuc_expand_fail(g, node, "no window of %lld elements fits %lld", (long long)c->kernel[d], (long long)size);
    return left / c->stride[d] + 1;
}

/* The rows, or columns, that all windows have, [kernel * windows]. */
static struct nuc_node *take_windows(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *image,
                                     const struct columns *c, uint32_t d, int64_t windows)
{
    int64_t count = c->kernel[d] * windows;
    int64_t *indices = nuc_alloc_array(g->cx, (size_t)count, sizeof *indices);

    for (int64_t k = 0; k < c->kernel[d]; k++) {
        for (int64_t w = 0; w < windows; w++)
            indices[k * windows + w] = k * c->dilation[d] + w * c->stride[d];
    }
    return nuc_insert_taken(g, node, image, 2 + d, indices, count);
}

/* [N, C, H, W] to [N, C * kernel, windows]: rows and columns are taken by constant indices. */
struct nuc_node *nuc_expand_im2col(struct nuc_graph *g, struct nuc_node *node)
{
    struct columns c = read_columns(node, NUC_ARG(IM2COL, kernel_size));
    struct nuc_node *image = with_batch(g, node, 2);
    const struct nuc_meta in = image->vals[0];
    int64_t oh = windows_along(g, node, &c, 0, in.sizes[2]), ow = windows_along(g, node, &c, 1, in.sizes[3]);
    const int64_t pad[] = {c.padding[1], c.padding[1], c.padding[0], c.padding[0]};

    if (pad[0] != 0 || pad[2] != 0)
        image = nuc_emit(g, node, NUC_OP_PAD, node, NUC_ARGS(nuc_node_arg(image), nuc_ints_arg(pad, 4)));
    image = take_windows(g, node, take_windows(g, node, image, &c, 0, oh), &c, 1, ow);
    const int64_t split[] = {in.sizes[0], in.sizes[1], c.kernel[0], oh, c.kernel[1], ow};
    static const int64_t order[] = {0, 1, 2, 4, 3, 5};
    const int64_t out[] = {in.sizes[0], in.sizes[1] * c.kernel[0] * c.kernel[1], oh * ow};
    struct nuc_node *value = nuc_insert_reshaped(g, node, image, split, 6);
    value = nuc_emit(g, node, NUC_OP_PERMUTE, node, NUC_ARGS(nuc_node_arg(value), nuc_ints_arg(order, 6)));
    return in_shape_of(g, node, nuc_insert_reshaped(g, node, value, out, 3), 0);
}

/*
 * The sum of overlapping windows is a transposed convolution of channels of their own, whose weight puts value k of a
 * window at place k.
 */
struct nuc_node *nuc_expand_col2im(struct nuc_graph *g, struct nuc_node *node)
{
    struct columns c = read_columns(node, NUC_ARG(COL2IM, kernel_size));
    struct nuc_node *input = with_batch(g, node, 1);
    const struct nuc_meta in = input->vals[0];
    int64_t size[2], windows[2], more[2], area = c.kernel[0] * c.kernel[1];

    read_numbers(node, NUC_ARG(COL2IM, output_size), 2, c.kernel, size);
    for (uint32_t d = 0; d < 2; d++) {
        windows[d] = windows_along(g, node, &c, d, size[d]);
        more[d] = size[d] - ((windows[d] - 1) * c.stride[d] - 2 * c.padding[d] + c.dilation[d] * (c.kernel[d] - 1) + 1);
    }
    if (area < 1 || area > INT32_MAX || in.sizes[1] % area != 0 || in.sizes[2] != windows[0] * windows[1])
        nuc_expand_fail(g, node, "%s does not hold the windows of its arguments", nuc_meta_text(g->cx, &in));
    const int64_t image[] = {in.sizes[0], in.sizes[1], windows[0], windows[1]};
    const int64_t weight[] = {in.sizes[1], 1, c.kernel[0], c.kernel[1]};
    float *ones = nuc_alloc_array(g->cx, (size_t)in.sizes[1] * (size_t)area, sizeof *ones);
    for (int64_t i = 0; i < in.sizes[1]; i++)
        ones[i * area + i % area] = 1.0f;
    struct nuc_node *value =
        nuc_emit(g, node, NUC_OP_CONV_TRANSPOSE2D, node,
                 NUC_ARGS(nuc_node_arg(nuc_insert_reshaped(g, node, input, image, 4)),
                          nuc_node_arg(nuc_insert_floats(g, node, ones, weight, 4)), nuc_node_arg(NULL),
                          nuc_ints_arg(c.stride, 2), nuc_ints_arg(c.padding, 2), nuc_ints_arg(more, 2),
                          nuc_int_arg(in.sizes[1] / area), nuc_ints_arg(c.dilation, 2)));
    return in_shape_of(g, node, value, 0);
}
