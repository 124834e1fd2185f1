/*
 * Expansions of views, permutations and parts: by reshape, permute, slice, squeeze, cat and expand, which the NPU, int8
 * and float kernels move without arithmetic. Building blocks of other expansions, too.
 */
#include <string.h>

#include "rewrite/expand/expand_list.h"
#include "rewrite/known.h"

/* Repetitions up to this number are a concatenation, which the NPU has; an expand, which it has not, is smaller. */
#define MAX_CAT 16

/* ---- building blocks ---- */

uint32_t nuc_expand_dim(struct nuc_graph *g, const struct nuc_node *node, int64_t dim, uint32_t rank)
{
    int64_t limit = rank == 0 ? 1 : rank;

    if (dim < -limit || dim >= limit)
        nuc_expand_fail(g, node, "dimension %lld does not exist in a tensor of rank %u", (long long)dim,
                        (unsigned)rank);
    return (uint32_t)(dim < 0 ? dim + limit : dim);
}

struct nuc_node *nuc_insert_reshaped(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     const int64_t *sizes, uint32_t rank)
{
    struct nuc_meta wanted = nuc_meta_make(input->vals[0].dtype, sizes, rank);

    if (nuc_same_sizes(&input->vals[0], &wanted))
        return input;
    return nuc_emit(g, node, NUC_OP_RESHAPE, node, NUC_ARGS(nuc_node_arg(input), nuc_ints_arg(sizes, rank)));
}

struct nuc_node *nuc_insert_part(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                 int64_t start, int64_t end)
{
    if (start == 0 && end == input->vals[0].sizes[dim])
        return input;
    return nuc_insert_slice(g, node, input, dim, start, end);
}

struct nuc_node *nuc_insert_selected(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                     int64_t index)
{
    struct nuc_node *part = nuc_insert_part(g, node, input, dim, index, index + 1);

    return nuc_insert_with_dim(g, node, NUC_OP_SQUEEZE_DIM, part, dim);
}

struct nuc_node *nuc_insert_permuted(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     const int64_t *dims)
{
    uint32_t rank = input->vals[0].rank, i = 0;

    while (i < rank && dims[i] == (int64_t)i)
        i++;
    return i == rank ? input : nuc_insert_permute(g, node, input, dims);
}

struct nuc_node *nuc_insert_expanded(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     const int64_t *sizes, uint32_t rank)
{
    struct nuc_meta wanted = nuc_meta_make(input->vals[0].dtype, sizes, rank);

    return nuc_same_sizes(&input->vals[0], &wanted) ? input : nuc_insert_expand(g, node, input, sizes, rank);
}

/* The value `times` times one after the other along a dimension. */
static struct nuc_node *cat_of_itself(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                      int64_t times)
{
    struct nuc_node *parts[MAX_CAT];

    for (int64_t i = 0; i < times; i++)
        parts[i] = input;
    return nuc_insert_cat(g, node, parts, (uint32_t)times, dim);
}

/* [.., size, ..] becomes [.., 1, size, ..], that dimension is repeated, and the two become one. */
static struct nuc_node *repeated_by_expand(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                           uint32_t dim, int64_t times)
{
    struct nuc_meta m = input->vals[0];

    if (m.rank == NUC_MAX_RANK)
        nuc_expand_fail(g, node, "a tensor of %d dimensions cannot be repeated so often", NUC_MAX_RANK);
    struct nuc_node *value = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, input, dim);
    struct nuc_meta wide = value->vals[0];
    wide.sizes[dim] = times;
    value = nuc_insert_expand(g, node, value, wide.sizes, wide.rank);
    m.sizes[dim] *= times;
    return nuc_insert_reshaped(g, node, value, m.sizes, m.rank);
}

struct nuc_node *nuc_insert_repeated(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                                     int64_t times)
{
    struct nuc_meta m = input->vals[0];

    if (times == 1)
        return input;
    if (times == 0)
        return nuc_insert_slice(g, node, input, dim, 0, 0);
    if (times <= MAX_CAT)
        return cat_of_itself(g, node, input, dim, times);
    if (m.sizes[dim] != 1)
        return repeated_by_expand(g, node, input, dim, times);
    m.sizes[dim] = times;
    return nuc_insert_expand(g, node, input, m.sizes, m.rank);
}

static const struct nuc_meta *meta_of(struct nuc_graph *g, const struct nuc_node *node)
{
    return &nuc_operand(g, node, NUC_SELF)->vals[0];
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool nuc_is_item_read(const struct nuc_node *tuple, uint32_t index)
{
    for (uint32_t i = 0; i < tuple->n_users; i++) {
        if (nuc_is_item(tuple->users[i], index) && tuple->users[i]->n_users > 0)
            return true;
    }
    return false;
}

/* ---- the same values in another shape ---- */

/* The archive states the sizes; the reshape checks that the elements stay the same. */
struct nuc_node *nuc_expand_reshape(struct nuc_graph *g, struct nuc_node *node)
{
    return nuc_insert_reshaped(g, node, nuc_operand(g, node, NUC_SELF), node->vals[0].sizes, node->vals[0].rank);
}

/* view.dtype: the bytes of a constant can be read as those of another type; those of a computed value cannot. */
struct nuc_node *nuc_expand_view_dtype(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    const struct nuc_meta *out = &node->vals[0];

    if (self->vals[0].dtype == out->dtype)
        return self;
    const void *bytes = nuc_known_value(g, self);
    if (bytes == NULL || nuc_bytes(&self->vals[0]) != nuc_bytes(out))
        nuc_expand_fail(g, node, "takes the bytes of %s for %s: use to() to convert values",
                        nuc_dtype_name(self->vals[0].dtype), nuc_dtype_name(out->dtype));
    struct nuc_meta meta = nuc_meta_make(out->dtype, out->sizes, out->rank);
    return nuc_add_constant(g, nuc_format(g->cx, "%s_constant", node->name), &meta, bytes);
}

/* Dimension `dim` of sizes becomes two of [outer, size / outer]. */
static void divide_dim(struct nuc_graph *g, const struct nuc_node *node, struct nuc_meta *m, uint32_t dim,
                       int64_t outer)
{
    if (outer < 1 || m->sizes[dim] % outer != 0 || m->rank == NUC_MAX_RANK)
        nuc_expand_fail(g, node, "dimension %u of %s cannot be divided into %lld parts", (unsigned)dim,
                        nuc_meta_text(g->cx, m), (long long)outer);
    memmove(&m->sizes[dim + 1], &m->sizes[dim], (m->rank - dim) * sizeof *m->sizes);
    m->sizes[dim] = outer;
    m->sizes[dim + 1] /= outer;
    m->rank++;
}

/* Seen with the sizes of `m`, dimensions moved, and in the stated sizes. */
static struct nuc_node *shuffled(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *m,
                                 const int64_t *from, const int64_t *to, uint32_t count)
{
    struct nuc_node *value = nuc_insert_reshaped(g, node, nuc_operand(g, node, NUC_SELF), m->sizes, m->rank);

    value = nuc_insert_moved_dims(g, node, value, from, to, count);
    return nuc_insert_reshaped(g, node, value, node->vals[0].sizes, node->vals[0].rank);
}

struct nuc_node *nuc_insert_moved_dims(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                       const int64_t *from, const int64_t *to, uint32_t count)
{
    uint32_t rank = input->vals[0].rank, next = 0;
    int64_t dims[NUC_MAX_RANK];
    bool placed[NUC_MAX_RANK] = {false}, taken[NUC_MAX_RANK] = {false};

    for (uint32_t i = 0; i < count; i++) {
        uint32_t source = nuc_expand_dim(g, node, from[i], rank), place = nuc_expand_dim(g, node, to[i], rank);
        if (taken[source] || placed[place])
            nuc_expand_fail(g, node, "a dimension is named twice");
        taken[source] = placed[place] = true;
        dims[place] = source;
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (placed[i])
            continue;
        while (taken[next])
            next++;
        dims[i] = next++;
    }
    return nuc_insert_permuted(g, node, input, dims);
}

/* Channels, rows and columns are the last three dimensions; the first of them, and the factor. */
static int64_t pixel_factor(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_meta *m, uint32_t *c)
{
    int64_t r = nuc_integer(node, NUC_ARG(PIXEL_SHUFFLE, upscale_factor), 1);

    if (m->rank < 3 || r < 1 || r > INT16_MAX)
        nuc_expand_fail(g, node, "expects channels, rows and columns, and a factor of at least 1");
    *c = m->rank - 3u;
    return r;
}

/* [.., C * r * r, H, W] to [.., C, H * r, W * r] by [.., C, r, r, H, W] and [.., C, H, r, W, r] */
struct nuc_node *nuc_expand_pixel_shuffle(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_meta m = *meta_of(g, node);
    uint32_t c;
    int64_t r = pixel_factor(g, node, &m, &c);

    if (r == 1)
        return nuc_operand(g, node, NUC_SELF);
    if (m.sizes[c] % (r * r) != 0)
        nuc_expand_fail(g, node, "%lld channels are no multiple of %lld", (long long)m.sizes[c], (long long)(r * r));
    divide_dim(g, node, &m, c, m.sizes[c] / r);
    divide_dim(g, node, &m, c, m.sizes[c] / r);
    return shuffled(g, node, &m, (const int64_t[]){c + 1, c + 2}, (const int64_t[]){c + 2, c + 4}, 2);
}

/* [.., C, H * r, W * r] to [.., C * r * r, H, W] by [.., C, H, r, W, r] and [.., C, r, r, H, W] */
struct nuc_node *nuc_expand_pixel_unshuffle(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_meta m = *meta_of(g, node);
    uint32_t c;
    int64_t r = pixel_factor(g, node, &m, &c);

    if (r == 1)
        return nuc_operand(g, node, NUC_SELF);
    divide_dim(g, node, &m, c + 2, m.sizes[c + 2] / r);
    divide_dim(g, node, &m, c + 1, m.sizes[c + 1] / r);
    return shuffled(g, node, &m, (const int64_t[]){c + 2, c + 4}, (const int64_t[]){c + 1, c + 2}, 2);
}

/* [N, groups * C, ..]: group and place in the group change places. */
struct nuc_node *nuc_expand_channel_shuffle(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_meta m = *meta_of(g, node);
    int64_t groups = nuc_integer(node, NUC_ARG(CHANNEL_SHUFFLE, groups), 1);

    if (m.rank < 3)
        nuc_expand_fail(g, node, "expects at least 3 dimensions");
    if (groups == 1)
        return nuc_operand(g, node, NUC_SELF);
    divide_dim(g, node, &m, 1, groups);
    return shuffled(g, node, &m, (const int64_t[]){1}, (const int64_t[]){2}, 1);
}

/* ---- dimensions in another order ---- */

struct nuc_node *nuc_expand_movedim(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    const struct nuc_arg *from = nuc_arg_at(node, NUC_ARG(MOVEDIM, source));
    const struct nuc_arg *to = nuc_arg_at(node, NUC_ARG(MOVEDIM, destination));

    if (node->op == NUC_OP_MOVEDIM_INT)
        return nuc_insert_moved_dims(g, node, self, &from->u.i, &to->u.i, 1);
    if (from->count != to->count)
        nuc_expand_fail(g, node, "source and destination differ in length");
    return nuc_insert_moved_dims(g, node, self, from->u.ints, to->u.ints, from->count);
}

/* mT, mH, adjoint: the last two; T: all in reverse. */
struct nuc_node *nuc_expand_reversed_dims(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    uint32_t rank = self->vals[0].rank, first = node->op == NUC_OP_NUMPY_T || rank < 2 ? 0 : rank - 2u;
    int64_t dims[NUC_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i < first ? i : rank - 1u - (i - first);
    return nuc_insert_permuted(g, node, self, dims);
}

static struct nuc_node *flipped(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, const int64_t *dims,
                                uint32_t count)
{
    return nuc_emit(g, node, NUC_OP_FLIP, node, NUC_ARGS(nuc_node_arg(input), nuc_ints_arg(dims, count)));
}

/* fliplr, flipud: dimension 1 or 0 */
struct nuc_node *nuc_expand_flip(struct nuc_graph *g, struct nuc_node *node)
{
    const int64_t dim = node->op == NUC_OP_FLIPLR ? 1 : 0;

    return flipped(g, node, nuc_operand(g, node, NUC_SELF), &dim, 1);
}

/* k quarter turns from dims[0] to dims[1] */
struct nuc_node *nuc_expand_rot90(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    const struct nuc_arg *list = nuc_arg_at(node, NUC_ARG(ROT90, dims));
    int64_t k = (nuc_integer(node, NUC_ARG(ROT90, k), 1) % 4 + 4) % 4, order[NUC_MAX_RANK];
    uint32_t rank = self->vals[0].rank;

    if (list->count != 2)
        nuc_expand_fail(g, node, "expects two dimensions");
    const int64_t dims[] = {nuc_expand_dim(g, node, list->u.ints[0], rank),
                            nuc_expand_dim(g, node, list->u.ints[1], rank)};
    if (k == 0)
        return self;
    if (k == 2)
        return flipped(g, node, self, dims, 2);
    for (uint32_t i = 0; i < rank; i++)
        order[i] = i == dims[0] ? dims[1] : i == dims[1] ? dims[0] : i;
    return nuc_insert_permuted(g, node, flipped(g, node, self, &dims[k == 1 ? 1 : 0], 1), order);
}

/* What leaves at one end of the dimension comes in at the other. */
static struct nuc_node *rolled(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                               int64_t shift)
{
    int64_t size = input->vals[0].sizes[dim], at = size == 0 ? 0 : (size - shift % size) % size;

    if (at == 0)
        return input;
    struct nuc_node *parts[] = {nuc_insert_slice(g, node, input, dim, at, size),
                                nuc_insert_slice(g, node, input, dim, 0, at)};
    return nuc_insert_cat(g, node, parts, 2, dim);
}

struct nuc_node *nuc_expand_roll(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *value = nuc_operand(g, node, NUC_SELF);
    const struct nuc_arg *shifts = nuc_arg_at(node, NUC_ARG(ROLL, shifts));
    const struct nuc_arg *dims = nuc_arg_at(node, NUC_ARG(ROLL, dims));
    const struct nuc_meta m = value->vals[0];
    const int64_t elements = nuc_elements(&m);

    if (shifts->count != (dims->count == 0 ? 1 : dims->count))
        nuc_expand_fail(g, node, "shifts and dims differ in length");
    if (dims->count == 0) {
        value = rolled(g, node, nuc_insert_reshaped(g, node, value, &elements, 1), 0, shifts->u.ints[0]);
        return nuc_insert_reshaped(g, node, value, m.sizes, m.rank);
    }
    for (uint32_t i = 0; i < dims->count && m.rank > 0; i++)
        value = rolled(g, node, value, nuc_expand_dim(g, node, dims->u.ints[i], m.rank), shifts->u.ints[i]);
    return value;
}

/* ---- parts ---- */

struct nuc_node *nuc_expand_select(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    uint32_t dim = nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(SELECT, dim), 0), self->vals[0].rank);
    int64_t index = nuc_integer(node, NUC_ARG(SELECT, index), 0), size = self->vals[0].sizes[dim];

    /* The shape rule has checked the index. */
    return nuc_insert_selected(g, node, self, dim, index < 0 ? index + size : index);
}

struct nuc_node *nuc_expand_narrow(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    uint32_t rank = self->vals[0].rank;
    uint32_t dim = nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(NARROW, dim), 0), rank);
    int64_t size = rank == 0 ? 0 : self->vals[0].sizes[dim];
    int64_t start = nuc_integer(node, NUC_ARG(NARROW, start), 0),
            length = nuc_integer(node, NUC_ARG(NARROW, length), 0);

    start = start < 0 ? start + size : start;
    if (rank == 0 || start < 0 || start > size || length < 0 || length > size - start)
        nuc_expand_fail(g, node, "%lld elements from %lld on are not in dimension %u of %s", (long long)length,
                        (long long)start, (unsigned)dim, nuc_meta_text(g->cx, &self->vals[0]));
    return nuc_insert_part(g, node, self, dim, start, start + length);
}

struct nuc_node *nuc_expand_unbind(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    uint32_t dim = nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(UNBIND, dim), 0), self->vals[0].rank);

    if (self->vals[0].rank == 0 || self->vals[0].sizes[dim] != (int64_t)node->n_vals)
        nuc_expand_fail(g, node, "the archive states %u values of %s", (unsigned)node->n_vals,
                        nuc_meta_text(g->cx, &self->vals[0]));
    for (uint32_t i = 0; i < node->n_vals; i++) {
        if (nuc_is_item_read(node, i))
            nuc_expand_item(g, node, i, nuc_insert_selected(g, node, self, dim, i));
    }
    return NULL;
}

/* Part i of `count` begins at starts[i] and ends where the next one begins. */
static void split_at(struct nuc_graph *g, struct nuc_node *node, uint32_t dim, const int64_t *starts, uint32_t count)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    int64_t size = self->vals[0].sizes[dim];

    if (count != node->n_vals)
        nuc_expand_fail(g, node, "the archive states %u parts, the operator makes %u", (unsigned)node->n_vals,
                        (unsigned)count);
    for (uint32_t i = 0; i < count; i++) {
        int64_t end = i + 1 < count ? starts[i + 1] : size;
        if (nuc_is_item_read(node, i))
            nuc_expand_item(g, node, i, nuc_insert_part(g, node, self, dim, starts[i], end));
    }
}

/* Parts of `each` elements, the first `larger` of them of one more. */
static void split_evenly(struct nuc_graph *g, struct nuc_node *node, uint32_t dim, int64_t count, int64_t each,
                         int64_t larger)
{
    int64_t size = nuc_operand(g, node, NUC_SELF)->vals[0].sizes[dim];

    if (count < 1 || count != (int64_t)node->n_vals)
        nuc_expand_fail(g, node, "the archive states %u parts, the operator makes %lld", (unsigned)node->n_vals,
                        (long long)count);
    int64_t *starts = nuc_alloc_array(g->cx, (size_t)count, sizeof *starts);
    for (int64_t i = 0; i < count; i++)
        starts[i] = smaller(i * each + smaller(i, larger), size);
    split_at(g, node, dim, starts, (uint32_t)count);
}

/* The dimension that hsplit, vsplit and dsplit take, and that of the others' argument. */
static uint32_t dim_of_split(struct nuc_graph *g, const struct nuc_node *node)
{
    uint32_t rank = meta_of(g, node)->rank;
    int64_t dim = nuc_integer(node, NUC_ARG(TENSOR_SPLIT, dim), 0);

    if (node->op == NUC_OP_HSPLIT || node->op == NUC_OP_HSPLIT_ARRAY)
        dim = rank == 1 ? 0 : 1;
    if (node->op == NUC_OP_VSPLIT || node->op == NUC_OP_VSPLIT_ARRAY)
        dim = 0;
    if (node->op == NUC_OP_DSPLIT || node->op == NUC_OP_DSPLIT_ARRAY)
        dim = 2;
    if (rank == 0)
        nuc_expand_fail(g, node, "a scalar cannot be split");
    return nuc_expand_dim(g, node, dim, rank);
}

struct nuc_node *nuc_expand_split_sections(struct nuc_graph *g, struct nuc_node *node)
{
    uint32_t dim = dim_of_split(g, node);
    int64_t count = nuc_integer(node, NUC_ARG(TENSOR_SPLIT_SECTIONS, sections), 1);
    int64_t size = meta_of(g, node)->sizes[dim];

    if (count < 1)
        nuc_expand_fail(g, node, "%lld parts are asked for", (long long)count);
    split_evenly(g, node, dim, count, size / count, size % count);
    return NULL;
}

/* Indices as Python takes the bounds of slices. */
struct nuc_node *nuc_expand_split_indices(struct nuc_graph *g, struct nuc_node *node)
{
    uint32_t dim = dim_of_split(g, node);
    const struct nuc_arg *indices = nuc_arg_at(node, NUC_ARG(TENSOR_SPLIT, indices));
    int64_t size = meta_of(g, node)->sizes[dim];
    int64_t *starts = nuc_alloc_array(g->cx, indices->count + (size_t)1, sizeof *starts);

    for (uint32_t i = 0; i < indices->count; i++) {
        int64_t at = indices->u.ints[i];
        at = at < 0 ? at + size : at;
        starts[i + 1] = at < 0 ? 0 : smaller(at, size);
    }
    split_at(g, node, dim, starts, indices->count + 1);
    return NULL;
}

struct nuc_node *nuc_expand_split_each(struct nuc_graph *g, struct nuc_node *node)
{
    uint32_t dim = dim_of_split(g, node);
    int64_t number = nuc_integer(node, NUC_ARG(SPLIT, split_size), 1), size = meta_of(g, node)->sizes[dim];

    if (number < 1)
        nuc_expand_fail(g, node, "parts of %lld elements are asked for", (long long)number);
    /* chunk(n): as many parts of one size as it takes */
    if (node->op == NUC_OP_UNSAFE_CHUNK && size > 0)
        number = (size + number - 1) / number;
    split_evenly(g, node, dim, size == 0 ? (int64_t)node->n_vals : (size + number - 1) / number, number, 0);
    return NULL;
}

struct nuc_node *nuc_expand_split_sizes(struct nuc_graph *g, struct nuc_node *node)
{
    uint32_t dim = dim_of_split(g, node);
    const struct nuc_arg *sizes = nuc_arg_at(node, NUC_ARG(SPLIT_WITH_SIZES, split_sizes));
    int64_t *starts = nuc_alloc_array(g->cx, sizes->count + (size_t)1, sizeof *starts);

    for (uint32_t i = 0; i < sizes->count; i++) {
        if (sizes->u.ints[i] < 0 || sizes->u.ints[i] > meta_of(g, node)->sizes[dim] - starts[i])
            nuc_expand_fail(g, node, "the parts are longer than dimension %u", (unsigned)dim);
        starts[i + 1] = starts[i] + sizes->u.ints[i];
    }
    if (starts[sizes->count] != meta_of(g, node)->sizes[dim])
        nuc_expand_fail(g, node, "the parts are not as long as dimension %u", (unsigned)dim);
    split_at(g, node, dim, starts, sizes->count);
    return NULL;
}
