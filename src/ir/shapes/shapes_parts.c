/* Shape rules that take tensors apart and put them together: slice, split, cat, index, padding. */
#include <string.h>

#include "ir/args.h"
#include "ir/shapes/shapes.h"

/* ---- slice ---- */

/* How far an argument of a slice stands from its dim. */
#define SLICE(name) (NUC_ARG(SLICE, name) - NUC_ARG(SLICE, dim))

/* A bound as Python takes it: negative ones count from the end, those outside are moved to the nearest end. */
static int64_t slice_bound(const struct nuc_shape_call *c, uint32_t index, int64_t size, int64_t absent)
{
    const struct nuc_arg *a = &c->node->args[index];

    if (nuc_shape_is_none(c, index))
        return absent;
    /* "Until the end" is the largest 64-bit integer. */
    return a->kind == NUC_ARG_INT && a->u.i > NUC_MAX_ELEMENTS ? size : nuc_slice_end(nuc_shape_int(c, index), size);
}

/* dim, start, end, step from argument `first`, the dim, on: the dimension and how many of its elements are taken. */
static uint32_t read_slice(const struct nuc_shape_call *c, uint32_t first, const struct nuc_meta *in, int64_t *count,
                           int64_t *step)
{
    if (in->rank == 0)
        nuc_shape_fail(c, "a scalar cannot be sliced");
    uint32_t dim = nuc_shape_dim(c, nuc_shape_int(c, first), in->rank);
    int64_t size = in->sizes[dim];
    int64_t start = slice_bound(c, first + SLICE(start), size, 0);
    int64_t end = slice_bound(c, first + SLICE(end), size, size);

    *step = nuc_shape_int(c, first + SLICE(step));
    if (*step < 1)
        nuc_shape_fail(c, "the step %lld is not positive", (long long)*step);
    *count = end <= start ? 0 : (end - start + *step - 1) / *step;
    return dim;
}

/* self, dim, start, end, step: a view, whose strides are those of the input, the sliced one `step` times as large */
void nuc_shape_slice(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);
    int64_t strides[NUC_MAX_RANK];
    int64_t count, step;
    uint32_t dim = read_slice(c, NUC_ARG(SLICE, dim), &m, &count, &step);

    nuc_dense_strides(&m, strides);
    strides[dim] *= step;
    m.sizes[dim] = count;
    nuc_shape_strided(c, &m, strides);
}

/* self, dim, index: a view without the dimension */
void nuc_shape_select(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    int64_t index = nuc_shape_int(c, NUC_ARG(SELECT, index)), strides[NUC_MAX_RANK];
    bool drop[NUC_MAX_RANK] = {false};

    if (in->rank == 0)
        nuc_shape_fail(c, "a scalar has no elements to select");
    uint32_t dim = nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(SELECT, dim)), in->rank);
    if (index < -in->sizes[dim] || index >= in->sizes[dim])
        nuc_shape_fail(c, "index %lld is not in dimension %u of %s", (long long)index, (unsigned)dim,
                       nuc_meta_text(c->g->cx, in));
    drop[dim] = true;
    struct nuc_meta m = nuc_shape_without(in, drop, strides);
    nuc_set_contiguous(&m);
    nuc_dim_order_of_strides(m.sizes, strides, m.rank, m.dim_order);
    nuc_shape_result(c, &m);
}

/* self, src, dim, start, end, step: self with src, which has the sizes of the slice, in its place */
void nuc_shape_slice_scatter(const struct nuc_shape_call *c)
{
    const struct nuc_meta *self = nuc_shape_input(c, NUC_SELF);
    const struct nuc_meta *src = nuc_shape_input(c, NUC_ARG(SLICE_SCATTER, src));
    struct nuc_meta part = *self;
    int64_t count, step;
    uint32_t dim = read_slice(c, NUC_ARG(SLICE_SCATTER, dim), self, &count, &step);

    part.sizes[dim] = count;
    if (!nuc_same_sizes(&part, src))
        nuc_shape_fail(c, "src is %s, the slice %s", nuc_meta_text(c->g->cx, src), nuc_meta_text(c->g->cx, &part));
    nuc_shape_result(c, self);
}

/* self, src: the elements of src with the type, sizes and order of self */
void nuc_shape_copy(const struct nuc_shape_call *c)
{
    const struct nuc_meta *self = nuc_shape_input(c, NUC_SELF);
    const struct nuc_meta *src = nuc_shape_input(c, NUC_ARG(COPY, src));

    if (src->rank > self->rank || !nuc_broadcasts_to(src, self))
        nuc_shape_fail(c, "%s cannot be copied to %s", nuc_meta_text(c->g->cx, src), nuc_meta_text(c->g->cx, self));
    nuc_shape_result(c, self);
}

/* ---- split ---- */

/* More parts than this are refused: a small file could ask for billions of empty ones. */
#define MAX_PARTS 4096

/*
 * self, then the sizes of all parts, or one for all of which the last may be smaller, or how many parts of one size
 * there are at most, then dim
 */
void nuc_shape_split(const struct nuc_shape_call *c)
{
    bool chunks = c->node->op == NUC_OP_CHUNK, even = chunks || c->node->op == NUC_OP_SPLIT;
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    const int64_t *sizes = NULL;
    int64_t each = 0, count;

    if (in->rank == 0)
        nuc_shape_fail(c, "a scalar cannot be split");
    uint32_t dim = nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(SPLIT, dim)), in->rank);
    int64_t left = in->sizes[dim];
    if (even) {
        each = nuc_shape_int(c, NUC_ARG(SPLIT, split_size));
        count = each;
        if (chunks && count < 1)
            nuc_shape_fail(c, "%lld chunks are asked for", (long long)count);
        if (chunks)
            each = (left + count - 1) / count;
        if (each < 0 || (each == 0 && left != 0))
            nuc_shape_fail(c, "parts of %lld elements are asked for", (long long)each);
        if (left != 0)
            count = (left + each - 1) / each;
        else if (!chunks)
            count = 1;
    } else {
        uint32_t n_sizes;
        sizes = nuc_shape_ints(c, NUC_ARG(SPLIT_WITH_SIZES, split_sizes), &n_sizes);
        count = n_sizes;
    }
    if (count > MAX_PARTS)
        nuc_shape_fail(c, "%lld parts are asked for; %d is the limit", (long long)count, MAX_PARTS);
    struct nuc_meta *metas = nuc_alloc_array(c->g->cx, (size_t)count, sizeof *metas);
    int64_t strides[NUC_MAX_RANK];
    nuc_dense_strides(in, strides);
    for (int64_t i = 0; i < count; i++) {
        metas[i] = *in;
        metas[i].sizes[dim] = !even ? sizes[i] : each < left ? each : left;
        left -= metas[i].sizes[dim];
        nuc_shape_order_view(c, &metas[i], strides);
    }
    if (left != 0)
        nuc_shape_fail(c, "the parts are not as long as dimension %u of %s", (unsigned)dim,
                       nuc_meta_text(c->g->cx, in));
    nuc_shape_results(c, metas, (uint32_t)count);
}

/* ---- cat ---- */

/* An empty vector, which torch lets stand for "nothing" whatever the rank of the others. */
static bool is_nothing(const struct nuc_meta *m)
{
    return m->rank == 1 && m->sizes[0] == 0;
}

/* tensors, dim: channels-last when every input is */
void nuc_shape_cat(const struct nuc_shape_call *c)
{
    const struct nuc_arg *list = nuc_shape_arg(c, NUC_ARG(CAT, tensors), NUC_ARG_NODES);
    const struct nuc_meta *first = NULL;
    bool channels_last = true;
    struct nuc_meta m;

    if (list->count == 0)
        nuc_shape_fail(c, "the list of tensors is empty");
    for (uint32_t i = 0; i < list->count && (first == NULL || is_nothing(first)); i++)
        first = nuc_shape_list_item(c, list, i, "element");
    if (first->rank == 0)
        nuc_shape_fail(c, "scalars cannot be put together");
    uint32_t dim = nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(CAT, dim)), first->rank);
    m = *first;
    m.sizes[dim] = 0;
    nuc_set_contiguous(&m);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct nuc_meta *item = nuc_shape_list_item(c, list, i, "element");
        if (is_nothing(item) && !is_nothing(first))
            continue;
        channels_last = channels_last && nuc_suggests_channels_last(item);
        bool fits = item->rank == m.rank;
        for (uint32_t k = 0; fits && k < m.rank; k++)
            fits = k == dim || item->sizes[k] == m.sizes[k];
        if (!fits)
            nuc_shape_fail(c, "%s and %s cannot be put together along dimension %u", nuc_meta_text(c->g->cx, &m),
                           nuc_meta_text(c->g->cx, item), (unsigned)dim);
        m.dtype = nuc_shape_promote(c, &m, item);
        m.sizes[dim] += item->sizes[dim];
        nuc_shape_check(c, &m);
    }
    nuc_order_as(&m, channels_last);
    nuc_shape_result(c, &m);
}

/* ---- index ---- */

/* The indices of index.Tensor: tensors of integers that broadcast together, absent for dimensions taken whole. */
struct indexing {
    const struct nuc_meta *in;
    bool indexed[NUC_MAX_RANK];
    struct nuc_meta selection; /* the indices broadcast */
    uint32_t at;               /* where its dimensions stand in the result */
};

/* A mask alone, of the first dimensions: all elements are there that it may choose (rewrite/expand/masked.c). */
static bool is_whole_mask(const struct nuc_shape_call *c, const struct nuc_arg *list, const struct nuc_meta *in)
{
    const struct nuc_meta *mask = list->count == 1 ? nuc_shape_list_item(c, list, 0, "element") : NULL;

    return mask != NULL && mask->dtype == NUC_BOOL && mask->rank > 0 && mask->rank <= in->rank &&
           memcmp(mask->sizes, in->sizes, mask->rank * sizeof *mask->sizes) == 0 && c->node->dialect == NUC_ATEN;
}

static void read_indices(const struct nuc_shape_call *c, uint32_t arg, struct indexing *x)
{
    const struct nuc_arg *list = nuc_shape_arg(c, arg, NUC_ARG_NODES);
    uint32_t n_indexed = 0, first = 0, last = 0;

    if (list->count > x->in->rank)
        nuc_shape_fail(c, "%u indices for %s", (unsigned)list->count, nuc_meta_text(c->g->cx, x->in));
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->u.nodes[i] == NULL)
            continue;
        x->indexed[i] = true;
        first = n_indexed++ == 0 ? i : first;
        last = i;
        const struct nuc_meta *index = nuc_shape_list_item(c, list, i, "element");
        struct nuc_meta wide = {.dtype = NUC_I64};
        if (is_whole_mask(c, list, x->in)) {
            for (uint32_t k = 0; k < index->rank; k++)
                x->indexed[k] = true;
            x->selection = nuc_meta_make(NUC_I64, index->sizes, index->rank);
            return;
        }
        if (index->dtype == NUC_BOOL)
            nuc_shape_fail(c, NUC_INDEX_IS_MASK);
        if (index->dtype != NUC_I64 && index->dtype != NUC_I32)
            nuc_shape_fail(c, "an index is %s instead of int64 or int32", nuc_dtype_name(index->dtype));
        if (!nuc_broadcast_sizes(index, &x->selection, &wide))
            nuc_shape_fail(c, "the indices do not broadcast");
        x->selection = wide;
    }
    if (n_indexed == 0)
        nuc_shape_fail(c, "there is no index");
    /* Indexed dimensions that do not stand together move to the front. */
    x->at = last - first + 1 == n_indexed ? first : 0;
}

/* Sizes of the result, and the strides of the input seen so: 0 along the selection. */
static struct nuc_meta indexed_meta(const struct nuc_shape_call *c, const struct indexing *x, int64_t *strides)
{
    struct nuc_meta m = {.dtype = x->in->dtype};
    int64_t own[NUC_MAX_RANK];
    uint32_t kept = 0;

    nuc_dense_strides(x->in, own);
    for (uint32_t i = 0; i < x->in->rank; i++)
        kept += x->indexed[i] ? 0 : 1;
    if (kept + x->selection.rank > NUC_MAX_RANK)
        nuc_shape_fail(c, "the result has more than %d dimensions", NUC_MAX_RANK);
    for (uint32_t i = 0; i <= x->in->rank; i++) {
        for (uint32_t k = 0; i == x->at && k < x->selection.rank; k++) {
            strides[m.rank] = 0;
            m.sizes[m.rank++] = x->selection.sizes[k];
        }
        if (i < x->in->rank && !x->indexed[i]) {
            strides[m.rank] = own[i];
            m.sizes[m.rank++] = x->in->sizes[i];
        }
    }
    return m;
}

/* self, indices: the result is ordered as the input; source: torch._meta_registrations.meta_index_Tensor */
void nuc_shape_index(const struct nuc_shape_call *c)
{
    struct indexing x = {.in = nuc_shape_input(c, NUC_SELF), .selection = {.dtype = NUC_I64}};
    int64_t strides[NUC_MAX_RANK];

    read_indices(c, NUC_ARG(INDEX, indices), &x);
    struct nuc_meta m = indexed_meta(c, &x, strides);
    nuc_set_contiguous(&m);
    nuc_shape_check(c, &m);
    if (nuc_elements(x.in) != 0)
        nuc_dim_order_of_strides(m.sizes, strides, m.rank, m.dim_order);
    int64_t dense[NUC_MAX_RANK];
    nuc_dense_strides(&m, dense);
    nuc_dim_order_of_strides(m.sizes, dense, m.rank, m.dim_order);
    nuc_shape_result(c, &m);
}

struct nuc_meta nuc_shape_picked(const struct nuc_shape_call *c, uint32_t arg)
{
    struct indexing x = {.in = nuc_shape_input(c, NUC_SELF), .selection = {.dtype = NUC_I64}};
    int64_t strides[NUC_MAX_RANK];

    read_indices(c, arg, &x);
    return indexed_meta(c, &x, strides);
}

bool nuc_shape_has_masks(const struct nuc_shape_call *c, uint32_t arg)
{
    const struct nuc_arg *list = nuc_shape_arg(c, arg, NUC_ARG_NODES);

    for (uint32_t i = 0; i < list->count; i++) {
        if (list->u.nodes[i] != NULL && nuc_shape_list_item(c, list, i, "element")->dtype == NUC_BOOL)
            return true;
    }
    return false;
}

/* ---- padding ---- */

/*
 * self, pad, mode, value, of a constant pad without the mode: `pad` counts from the last dimension, before and after
 * the last, before and after the one in front of it, ...
 */
void nuc_shape_pad(const struct nuc_shape_call *c)
{
    const char *mode = c->node->op == NUC_OP_PAD ? nuc_shape_string(c, NUC_ARG(PAD, mode)) : "constant";
    bool constant = strcmp(mode, "constant") == 0, circular = strcmp(mode, "circular") == 0;
    bool reflect = strcmp(mode, "reflect") == 0, grows = false;
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    struct nuc_meta m = *in;
    uint32_t count;
    const int64_t *pad = nuc_shape_ints(c, NUC_ARG(PAD, pad), &count);

    if (count % 2 != 0 || count / 2 > m.rank)
        nuc_shape_fail(c, "%u pad numbers for %s", (unsigned)count, nuc_meta_text(c->g->cx, &m));
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t d = m.rank - 1u - i;
        m.sizes[d] += pad[2 * i] + pad[2 * i + 1];
        if (m.sizes[d] < 0 || (m.sizes[d] == 0 && (pad[2 * i] != 0 || pad[2 * i + 1] != 0)))
            nuc_shape_fail(c, "padding %lld and %lld leaves nothing of dimension %u", (long long)pad[2 * i],
                           (long long)pad[2 * i + 1], (unsigned)d);
    }
    for (uint32_t i = 0; i < count; i++) {
        int64_t size = in->sizes[in->rank - 1u - i / 2];
        /* Of copies there are as many as elements, without the edge where it is the mirror; of an edge any number. */
        int64_t most = circular ? size : reflect ? size - 1 : size == 0 ? 0 : INT64_MAX;
        if (!constant && pad[i] > 0 && pad[i] > most)
            nuc_shape_fail(c, "padding %lld copies more than there is of dimension %u of %s", (long long)pad[i],
                           (unsigned)(in->rank - 1u - i / 2), nuc_meta_text(c->g->cx, in));
        grows = grows || pad[i] > 0;
    }
    /* Cropping by a constant pad is a clone, which keeps the order. */
    if (!constant || grows)
        nuc_order_as(&m, !circular && nuc_suggests_channels_last(in));
    nuc_shape_result(c, &m);
}
