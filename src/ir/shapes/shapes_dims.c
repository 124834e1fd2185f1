/*
 * Shape rules that reorder, add and remove dimensions. In the ATen dialect results are views: the strides of the input
 * go along. In the Edge dialect they are copies, and contiguous.
 */
#include "ir/args.h"
#include "ir/shapes/shapes.h"

void nuc_shape_order_view(const struct nuc_shape_call *c, struct nuc_meta *m, const int64_t *strides)
{
    nuc_set_contiguous(m);
    nuc_shape_check(c, m);
    if (nuc_shape_is_copy(c))
        nuc_order_as(m, false);
    else
        nuc_dim_order_of_strides(m->sizes, strides, m->rank, m->dim_order);
}

void nuc_shape_strided(const struct nuc_shape_call *c, struct nuc_meta *m, const int64_t *strides)
{
    nuc_shape_order_view(c, m, strides);
    nuc_shape_result(c, m);
}

struct nuc_meta nuc_shape_without(const struct nuc_meta *in, const bool *drop, int64_t strides[NUC_MAX_RANK])
{
    struct nuc_meta m = {.dtype = in->dtype};
    int64_t own[NUC_MAX_RANK];

    nuc_dense_strides(in, own);
    for (uint32_t i = 0; i < in->rank; i++) {
        if (drop[i])
            continue;
        strides[m.rank] = own[i];
        m.sizes[m.rank++] = in->sizes[i];
    }
    return m;
}

/* ---- permutation ---- */

static void permute(const struct nuc_shape_call *c, const uint32_t *dims)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    struct nuc_meta m = {.dtype = in->dtype, .rank = in->rank};
    int64_t own[NUC_MAX_RANK], strides[NUC_MAX_RANK];

    nuc_dense_strides(in, own);
    for (uint32_t i = 0; i < in->rank; i++) {
        m.sizes[i] = in->sizes[dims[i]];
        strides[i] = own[dims[i]];
    }
    nuc_shape_strided(c, &m, strides);
}

/* self, dims */
void nuc_shape_permute(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    bool seen[NUC_MAX_RANK] = {false};
    uint32_t order[NUC_MAX_RANK];
    uint32_t count;
    const int64_t *dims = nuc_shape_ints(c, NUC_ARG(PERMUTE, dims), &count);

    if (count != in->rank)
        nuc_shape_fail(c, "%u dimensions are named for %s", (unsigned)count, nuc_meta_text(c->g->cx, in));
    for (uint32_t i = 0; i < count; i++) {
        order[i] = nuc_shape_dim(c, dims[i], in->rank);
        if (seen[order[i]])
            nuc_shape_fail(c, "dimension %u is named twice", (unsigned)order[i]);
        seen[order[i]] = true;
    }
    permute(c, order);
}

static void transpose(const struct nuc_shape_call *c, uint32_t a, uint32_t b)
{
    uint32_t order[NUC_MAX_RANK];

    for (uint32_t i = 0; i < NUC_MAX_RANK; i++)
        order[i] = i == a ? b : i == b ? a : i;
    permute(c, order);
}

/* self, dim0, dim1 */
void nuc_shape_transpose(const struct nuc_shape_call *c)
{
    uint32_t rank = nuc_shape_input(c, NUC_SELF)->rank;

    transpose(c, nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(TRANSPOSE, dim0)), rank),
              nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(TRANSPOSE, dim1)), rank));
}

/* Of a matrix; vectors and scalars stay. */
void nuc_shape_t(const struct nuc_shape_call *c)
{
    uint32_t rank = nuc_shape_input(c, NUC_SELF)->rank;

    if (rank > 2)
        nuc_shape_fail(c, "the input has rank %u; t expects at most 2", (unsigned)rank);
    transpose(c, 0, rank == 2 ? 1 : 0);
}

/* ---- dimensions of size 1 ---- */

/* self and which dimensions go, when they are of size 1: the one or those that the operator names, else all */
void nuc_shape_squeeze(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    bool all = c->node->op == NUC_OP_SQUEEZE, drop[NUC_MAX_RANK] = {false};
    int64_t strides[NUC_MAX_RANK];

    if (!all)
        nuc_shape_named_dims(c, NUC_ARG(SQUEEZE_DIMS, dim), in->rank, drop);
    for (uint32_t i = 0; i < in->rank; i++)
        drop[i] = (all || drop[i]) && in->sizes[i] == 1;
    struct nuc_meta m = nuc_shape_without(in, drop, strides);
    nuc_shape_strided(c, &m, strides);
}

/* self, dim in [-rank - 1, rank]: where the new dimension stands */
void nuc_shape_unsqueeze(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    struct nuc_meta m = {.dtype = in->dtype};
    int64_t own[NUC_MAX_RANK], strides[NUC_MAX_RANK];

    if (in->rank == NUC_MAX_RANK)
        nuc_shape_fail(c, "the result has more than %d dimensions", NUC_MAX_RANK);
    uint32_t at = nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(UNSQUEEZE, dim)), in->rank + 1u);
    nuc_dense_strides(in, own);
    for (uint32_t i = 0; i <= in->rank; i++) {
        if (i == at) {
            strides[m.rank] = i < in->rank ? own[i] * in->sizes[i] : 1;
            m.sizes[m.rank++] = 1;
        }
        if (i < in->rank) {
            strides[m.rank] = own[i];
            m.sizes[m.rank++] = in->sizes[i];
        }
    }
    nuc_shape_strided(c, &m, strides);
}

/* ---- repetition, other strides ---- */

/* self, size: dimensions of size 1 are repeated, -1 keeps one as it is, new ones stand in front */
void nuc_shape_expand_copy(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    uint32_t count;
    const int64_t *sizes = nuc_shape_ints(c, NUC_ARG(EXPAND, size), &count);
    struct nuc_meta m = {.dtype = in->dtype};
    int64_t own_strides[NUC_MAX_RANK], strides[NUC_MAX_RANK];

    if (count < in->rank || count > NUC_MAX_RANK)
        nuc_shape_fail(c, "%u sizes are given for %s", (unsigned)count, nuc_meta_text(c->g->cx, in));
    uint32_t lead = count - in->rank;
    nuc_dense_strides(in, own_strides);
    for (uint32_t i = 0; i < count; i++) {
        int64_t own = i < lead ? 1 : in->sizes[i - lead];
        bool keep = i >= lead && sizes[i] == -1;
        if (!keep && own != 1 && own != sizes[i])
            nuc_shape_fail(c, "dimension %u of %s cannot become %lld", (unsigned)(i - lead),
                           nuc_meta_text(c->g->cx, in), (long long)sizes[i]);
        strides[i] = i < lead || (own == 1 && !keep && sizes[i] != 1) ? 0 : own_strides[i - lead];
        m.sizes[m.rank++] = keep ? own : sizes[i];
    }
    nuc_shape_strided(c, &m, strides);
}

/* self, size, stride, storage_offset: elements of the input's memory read in another way */
void nuc_shape_as_strided_copy(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    uint32_t count, n_strides;
    const int64_t *sizes = nuc_shape_ints(c, NUC_ARG(AS_STRIDED, size), &count);
    const int64_t *strides = nuc_shape_ints(c, NUC_ARG(AS_STRIDED, stride), &n_strides);
    int64_t offset = nuc_shape_is_none(c, NUC_ARG(AS_STRIDED, storage_offset))
                         ? 0
                         : nuc_shape_int(c, NUC_ARG(AS_STRIDED, storage_offset));

    if (count != n_strides || count > NUC_MAX_RANK || offset < 0)
        nuc_shape_fail(c, "%u sizes, %u strides and the offset %lld describe no tensor", (unsigned)count,
                       (unsigned)n_strides, (long long)offset);
    for (uint32_t i = 0; i < n_strides; i++) {
        if (strides[i] < 0)
            nuc_shape_fail(c, "stride %lld is negative", (long long)strides[i]);
    }
    struct nuc_meta m = nuc_meta_make(in->dtype, sizes, count);
    nuc_shape_check(c, &m);
    if (nuc_last_element(sizes, strides, count, offset) >= nuc_elements(in))
        nuc_shape_fail(c, "the strides lead beyond the %lld elements of %s", (long long)nuc_elements(in),
                       nuc_meta_text(c->g->cx, in));
    nuc_shape_strided(c, &m, strides);
}

/* self, repeats: a number for each dimension, counted from the last; new ones stand in front */
void nuc_shape_repeat(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    uint32_t count;
    const int64_t *times = nuc_shape_ints(c, NUC_ARG(REPEAT, repeats), &count);
    struct nuc_meta m = {.dtype = in->dtype};

    if (count < in->rank || count > NUC_MAX_RANK)
        nuc_shape_fail(c, "%u numbers of repetitions for %s", (unsigned)count, nuc_meta_text(c->g->cx, in));
    uint32_t lead = count - in->rank;
    for (uint32_t i = 0; i < count; i++)
        m.sizes[m.rank++] = (i < lead ? 1 : in->sizes[i - lead]) * times[i];
    nuc_set_contiguous(&m);
    nuc_shape_result(c, &m);
}

/* ---- places in another order ---- */

/* self, dims: ordered as the input */
void nuc_shape_flip(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    bool named[NUC_MAX_RANK] = {false};

    nuc_shape_named_dims(c, NUC_ARG(FLIP, dims), in->rank, named);
    nuc_shape_result(c, in);
}

/* self, offset, dim1, dim2: the two dimensions go, the diagonal is the last one */
void nuc_shape_diagonal(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    uint32_t a = nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(DIAGONAL, dim1)), in->rank);
    uint32_t b = nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(DIAGONAL, dim2)), in->rank);
    int64_t offset = nuc_shape_int(c, NUC_ARG(DIAGONAL, offset)), own[NUC_MAX_RANK], strides[NUC_MAX_RANK];
    bool drop[NUC_MAX_RANK] = {false};

    if (in->rank < 2 || a == b)
        nuc_shape_fail(c, "dimensions %u and %u of %s have no diagonal", (unsigned)a, (unsigned)b,
                       nuc_meta_text(c->g->cx, in));
    nuc_dense_strides(in, own);
    drop[a] = drop[b] = true;
    struct nuc_meta m = nuc_shape_without(in, drop, strides);
    int64_t rows = in->sizes[a] + (offset < 0 ? offset : 0), columns = in->sizes[b] - (offset > 0 ? offset : 0);
    int64_t length = rows < columns ? rows : columns;
    strides[m.rank] = own[a] + own[b];
    m.sizes[m.rank++] = length < 0 ? 0 : length;
    nuc_shape_strided(c, &m, strides);
}

/* self, dimension, size, step: windows along a dimension, whose elements are a new last one */
void nuc_shape_unfold(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);
    uint32_t dim = nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(UNFOLD, dimension)), m.rank);
    int64_t size = nuc_shape_int(c, NUC_ARG(UNFOLD, size)), step = nuc_shape_int(c, NUC_ARG(UNFOLD, step));
    int64_t strides[NUC_MAX_RANK], whole = m.rank == 0 ? 1 : m.sizes[dim];

    if (size < 0 || size > whole || step < 1 || m.rank == NUC_MAX_RANK)
        nuc_shape_fail(c, "windows of %lld elements in steps of %lld along dimension %u of %s", (long long)size,
                       (long long)step, (unsigned)dim, nuc_meta_text(c->g->cx, &m));
    nuc_dense_strides(&m, strides);
    strides[m.rank] = m.rank == 0 ? 1 : strides[dim];
    if (m.rank > 0) {
        m.sizes[dim] = (whole - size) / step + 1;
        strides[dim] *= step;
    }
    m.sizes[m.rank++] = size;
    nuc_shape_strided(c, &m, strides);
}
