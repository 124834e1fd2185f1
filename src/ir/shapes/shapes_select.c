/* Shape rules of choice by values: elements picked or written where indices say, elements in order of size. */
#include "ir/shapes/shapes.h"

static const struct nuc_meta *index_of(const struct nuc_shape_call *c, uint32_t arg)
{
    const struct nuc_meta *index = nuc_shape_input(c, arg);

    if (index->dtype != NUC_I64 && index->dtype != NUC_I32)
        nuc_shape_fail(c, "an index is %s instead of int64 or int32", nuc_dtype_name(index->dtype));
    return index;
}

static void contiguous_result(const struct nuc_shape_call *c, struct nuc_meta *m)
{
    nuc_set_contiguous(m);
    nuc_shape_result(c, m);
}

/* self, dim, index [n] or of rank 0: dimension `dim` gets n elements. */
void nuc_shape_index_select(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);
    const struct nuc_meta *index = index_of(c, NUC_ARG(INDEX_SELECT, index));
    uint32_t dim = nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(INDEX_SELECT, dim)), m.rank);

    if (index->rank > 1)
        nuc_shape_fail(c, "the index %s has more than one dimension", nuc_meta_text(c->g->cx, index));
    if (m.rank > 0)
        m.sizes[dim] = nuc_elements(index);
    else if (nuc_elements(index) != 1)
        nuc_shape_fail(c, "a scalar has one element, not %lld", (long long)nuc_elements(index));
    contiguous_result(c, &m);
}

/* weight [n, width], indices of any rank: [..., width]. */
void nuc_shape_embedding(const struct nuc_shape_call *c)
{
    const struct nuc_meta *weight = nuc_shape_input(c, NUC_ARG(EMBEDDING, weight));
    struct nuc_meta m = *index_of(c, NUC_ARG(EMBEDDING, indices));

    if (weight->rank != 2 || m.rank == NUC_MAX_RANK)
        nuc_shape_fail(c, "rows of %s cannot be chosen by %s", nuc_meta_text(c->g->cx, weight),
                       nuc_meta_text(c->g->cx, &m));
    m.dtype = weight->dtype;
    m.sizes[m.rank++] = weight->sizes[1];
    contiguous_result(c, &m);
}

/*
 * self, dim, index: the index has the rank of self (a scalar counts as one element) and, but along `dim`, no larger
 * sizes.
 */
static const struct nuc_meta *index_along(const struct nuc_shape_call *c)
{
    const struct nuc_meta *self = nuc_shape_input(c, NUC_SELF), *index = index_of(c, NUC_ARG(GATHER, index));
    uint32_t dim = nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(GATHER, dim)), self->rank);
    bool fits = (self->rank == 0 ? 1 : self->rank) == (index->rank == 0 ? 1 : index->rank);

    for (uint32_t d = 0; fits && nuc_elements(index) != 0 && d < self->rank && d < index->rank; d++)
        fits = d == dim || index->sizes[d] <= self->sizes[d];
    if (!fits && nuc_elements(index) != 0)
        nuc_shape_fail(c, "the index %s does not fit %s", nuc_meta_text(c->g->cx, index),
                       nuc_meta_text(c->g->cx, self));
    return index;
}

/* self, dim, index: the sizes are those of the index. */
void nuc_shape_gather(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *index_along(c);

    m.dtype = nuc_shape_input(c, NUC_SELF)->dtype;
    contiguous_result(c, &m);
}

static void check_source(const struct nuc_shape_call *c, const struct nuc_meta *index)
{
    const struct nuc_meta *src = nuc_shape_input(c, NUC_ARG(SCATTER, src));
    bool fits = (src->rank == 0 ? 1 : src->rank) == (index->rank == 0 ? 1 : index->rank);

    if (src->rank == 0)
        fits = fits && nuc_elements(index) == 1;
    for (uint32_t d = 0; fits && d < index->rank && d < src->rank; d++)
        fits = index->sizes[d] <= src->sizes[d];
    if (!fits && nuc_elements(index) != 0)
        nuc_shape_fail(c, "%s has no value for each index of %s", nuc_meta_text(c->g->cx, src),
                       nuc_meta_text(c->g->cx, index));
    if (src->dtype != nuc_shape_input(c, NUC_SELF)->dtype)
        nuc_shape_fail(c, "self is %s, the values are %s", nuc_dtype_name(nuc_shape_input(c, NUC_SELF)->dtype),
                       nuc_dtype_name(src->dtype));
}

/* self, dim, index, and a value or src of at least the sizes of the index */
void nuc_shape_scatter(const struct nuc_shape_call *c)
{
    const struct nuc_meta *index = index_along(c);
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);

    if (c->node->op != NUC_OP_SCATTER_VALUE)
        check_source(c, index);
    if (!c->node->in_place)
        nuc_set_contiguous(&m);
    nuc_shape_result(c, &m);
}

/* self, mask, source: both broadcast to the result */
void nuc_shape_masked_scatter(const struct nuc_shape_call *c)
{
    const struct nuc_meta *source = nuc_shape_input(c, NUC_ARG(MASKED_SCATTER, source));
    struct nuc_meta m = nuc_shape_broadcast(c, NUC_ARG(MASKED_SCATTER, mask));

    m.dtype = nuc_shape_input(c, NUC_SELF)->dtype;
    if (nuc_shape_input(c, NUC_ARG(MASKED_SCATTER, mask))->dtype != NUC_BOOL || source->dtype != m.dtype)
        nuc_shape_fail(c, "the mask is not bool, or the values are not %s", nuc_dtype_name(m.dtype));
    contiguous_result(c, &m);
}

/* self, indices as of index.Tensor, values that broadcast to what the indices pick */
void nuc_shape_index_put(const struct nuc_shape_call *c)
{
    const struct nuc_meta *self = nuc_shape_input(c, NUC_SELF);
    const struct nuc_meta *values = nuc_shape_input(c, NUC_ARG(INDEX_PUT, values));
    struct nuc_meta picked;

    if (values->dtype != self->dtype)
        nuc_shape_fail(c, "self is %s, the values are %s", nuc_dtype_name(self->dtype), nuc_dtype_name(values->dtype));
    if (nuc_shape_has_masks(c, NUC_ARG(INDEX_PUT, indices))) {
        nuc_shape_result(c, self); /* the stage `expand` rewrites it */
        return;
    }
    picked = nuc_shape_picked(c, NUC_ARG(INDEX_PUT, indices));
    if (!nuc_broadcasts_to(values, &picked))
        nuc_shape_fail(c, "%s does not broadcast to %s", nuc_meta_text(c->g->cx, values),
                       nuc_meta_text(c->g->cx, &picked));
    nuc_shape_result(c, self);
}

/* self, src [without the dimension], dim, index */
void nuc_shape_select_scatter(const struct nuc_shape_call *c)
{
    const struct nuc_meta *self = nuc_shape_input(c, NUC_SELF);
    const struct nuc_meta *src = nuc_shape_input(c, NUC_ARG(SELECT_SCATTER, src));
    uint32_t dim = nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(SELECT_SCATTER, dim)), self->rank);
    int64_t index = nuc_shape_int(c, NUC_ARG(SELECT_SCATTER, index));
    bool fits = self->rank > 0 && src->rank + 1u == self->rank;

    for (uint32_t d = 0; fits && d < src->rank; d++)
        fits = src->sizes[d] == self->sizes[d < dim ? d : d + 1];
    if (!fits || index < -self->sizes[dim] || index >= self->sizes[dim])
        nuc_shape_fail(c, "%s does not fit index %lld of dimension %u of %s", nuc_meta_text(c->g->cx, src),
                       (long long)index, (unsigned)dim, nuc_meta_text(c->g->cx, self));
    nuc_shape_result(c, self);
}

/* ---- order ---- */

static void values_and_indices(const struct nuc_shape_call *c, const struct nuc_meta *values)
{
    struct nuc_meta indices = *values;

    indices.dtype = NUC_I64;
    nuc_shape_results(c, (struct nuc_meta[]){*values, indices}, 2);
}

/* self, k, dim, ...: values and indices */
void nuc_shape_topk(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);
    uint32_t dim = nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(TOPK, dim)), m.rank);
    int64_t k = nuc_shape_int(c, NUC_ARG(TOPK, k)), size = m.rank == 0 ? 1 : m.sizes[dim];

    if (k < 0 || k > size)
        nuc_shape_fail(c, "%lld of %lld elements are asked for", (long long)k, (long long)size);
    if (m.rank > 0)
        m.sizes[dim] = k;
    nuc_set_contiguous(&m);
    values_and_indices(c, &m);
}

/* In the order of self. */
void nuc_shape_sort(const struct nuc_shape_call *c)
{
    const struct nuc_meta *self = nuc_shape_input(c, NUC_SELF);
    uint32_t dim = c->node->op == NUC_OP_SORT ? NUC_ARG(SORT, dim) : NUC_ARG(SORT_STABLE, dim);

    nuc_shape_dim(c, nuc_shape_int(c, dim), self->rank);
    values_and_indices(c, self);
}
