/* Shape rules of views and of copies in another layout. */
#include <math.h>

#include "ir/args.h"
#include "ir/shapes/shapes.h"

/* ---- view and reshape ---- */

/* Sizes with at most one -1, resolved so that the elements stay the same. */
static void read_size(const struct nuc_shape_call *c, const struct nuc_meta *in, struct nuc_meta *m)
{
    uint32_t count;
    const int64_t *sizes = nuc_shape_ints(c, NUC_ARG(VIEW, size), &count);
    int64_t known[NUC_MAX_RANK];
    int64_t elements = nuc_elements(in);
    int inferred = -1;

    if (count > NUC_MAX_RANK)
        nuc_shape_fail(c, "%u dimensions are asked for; %d is the limit", (unsigned)count, NUC_MAX_RANK);
    for (uint32_t i = 0; i < count; i++) {
        if (sizes[i] < -1 || (sizes[i] == -1 && inferred >= 0))
            nuc_shape_fail(c, "size %lld at position %u", (long long)sizes[i], (unsigned)i);
        if (sizes[i] == -1)
            inferred = (int)i;
        known[i] = sizes[i] == -1 ? 1 : sizes[i];
    }
    int64_t product = nuc_checked_elements(known, count);
    bool determined = inferred < 0 || (product > 0 && elements % product == 0);
    if (inferred >= 0 && determined)
        known[inferred] = elements / product;
    *m = nuc_meta_make(in->dtype, known, count);
    if (!determined || nuc_checked_elements(known, count) != elements)
        nuc_shape_fail(c, "%s cannot have the sizes %s", nuc_meta_text(c->g->cx, in), nuc_meta_text(c->g->cx, m));
}

/*
 * Dimensions of `in` that lie one inside the other form a chunk; every chunk must be the product of a run of the new
 * sizes. Source: at::detail::computeStride.
 */
bool nuc_view_strides(const struct nuc_meta *in, const int64_t *own, const struct nuc_meta *m,
                      int64_t strides[NUC_MAX_RANK])
{
    int64_t chunk_stride, chunk = 1, viewed = 1;
    int d = m->rank - 1;

    chunk_stride = in->rank == 0 ? 1 : own[in->rank - 1];
    for (int t = in->rank - 1; t >= 0; t--) {
        chunk *= in->sizes[t];
        bool chunk_ends = t == 0 || (in->sizes[t - 1] != 1 && own[t - 1] != chunk * chunk_stride);
        if (!chunk_ends)
            continue;
        for (; d >= 0 && (viewed < chunk || m->sizes[d] == 1); d--) {
            strides[d] = viewed * chunk_stride;
            viewed *= m->sizes[d];
        }
        if (viewed != chunk)
            return false;
        if (t > 0) {
            chunk_stride = own[t - 1];
            chunk = viewed = 1;
        }
    }
    return d == -1;
}

/* The view when there is one, else a contiguous copy when `may_copy`; in the Edge dialect always a copy. */
static void set_viewed(const struct nuc_shape_call *c, const struct nuc_meta *in, struct nuc_meta *m, bool may_copy)
{
    int64_t own[NUC_MAX_RANK], strides[NUC_MAX_RANK];

    nuc_dense_strides(in, own);
    if (in->rank == 0 || nuc_elements(in) == 0 || nuc_shape_is_copy(c)) {
        nuc_order_as(m, false);
    } else if (nuc_view_strides(in, own, m, strides)) {
        /*
         * Leading dimensions that stay keep their strides, where computeStride gives size-1 dimensions others of its
         * own.
         */
        for (uint32_t i = 0; i < in->rank && i < m->rank && in->sizes[i] == m->sizes[i]; i++)
            strides[i] = own[i];
        nuc_dim_order_of_strides(m->sizes, strides, m->rank, m->dim_order);
    } else if (may_copy) {
        nuc_order_as(m, false);
    } else {
        nuc_shape_fail(c, "%s cannot be viewed as %s without a copy: use reshape", nuc_meta_text(c->g->cx, in),
                       nuc_meta_text(c->g->cx, m));
    }
    nuc_shape_result(c, m);
}

/* view and reshape */
void nuc_shape_view(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    struct nuc_meta m;

    read_size(c, in, &m);
    set_viewed(c, in, &m, c->node->op == NUC_OP_RESHAPE);
}

/* self, start_dim, end_dim: those dimensions become one. */
void nuc_shape_flatten(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    uint32_t start = nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(FLATTEN, start_dim)), in->rank);
    uint32_t end = nuc_shape_dim(c, nuc_shape_int(c, NUC_ARG(FLATTEN, end_dim)), in->rank);
    struct nuc_meta m = {.dtype = in->dtype};

    if (start > end)
        nuc_shape_fail(c, "start_dim %u lies after end_dim %u", (unsigned)start, (unsigned)end);
    if (start == end && in->rank > 0) {
        nuc_shape_result(c, in);
        return;
    }
    for (uint32_t i = 0; i < in->rank; i++) {
        if (i > start && i <= end)
            m.sizes[m.rank - 1] *= in->sizes[i];
        else
            m.sizes[m.rank++] = in->sizes[i];
    }
    if (in->rank == 0)
        m.sizes[m.rank++] = 1;
    nuc_set_contiguous(&m);
    set_viewed(c, in, &m, true);
}

/* ---- copies in another layout ---- */

static void set_format(const struct nuc_shape_call *c, struct nuc_meta *m, enum nuc_memory_format format)
{
    switch (format) {
    case NUC_PRESERVE_FORMAT:
        return;
    case NUC_CONTIGUOUS_FORMAT:
        nuc_order_as(m, false);
        return;
    case NUC_CHANNELS_LAST:
        if (m->rank != 4)
            nuc_shape_fail(c, "channels-last is asked for a tensor of rank %d; it expects 4", m->rank);
        nuc_order_as(m, true);
        return;
    case NUC_CHANNELS_LAST_3D:
    default:
        nuc_shape_fail(c, "the memory format channels-last-3d is not handled");
    }
}

static enum nuc_memory_format read_format(const struct nuc_shape_call *c, uint32_t index)
{
    if (nuc_shape_is_none(c, index))
        return NUC_PRESERVE_FORMAT;
    const struct nuc_arg *a = &c->node->args[index];
    if (a->kind != NUC_ARG_MEMORY_FORMAT)
        nuc_shape_fail(c, "memory_format is of the wrong type");
    return a->u.memory_format;
}

/* A tensor that lies in the asked order already, size-1 dimensions not counted, is returned as it is. */
static bool lies_in(const struct nuc_meta *m, enum nuc_memory_format format)
{
    static const uint8_t nhwc[4] = {0, 2, 3, 1};
    int64_t strides[NUC_MAX_RANK];
    int64_t expected = 1;

    nuc_dense_strides(m, strides);
    for (uint32_t i = m->rank; i-- > 0;) {
        uint32_t d = format == NUC_CHANNELS_LAST && m->rank == 4 ? nhwc[i] : i;
        if (m->sizes[d] == 1)
            continue;
        if (strides[d] != expected)
            return false;
        expected *= m->sizes[d] == 0 ? 1 : m->sizes[d];
    }
    return true;
}

void nuc_shape_contiguous(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);
    enum nuc_memory_format format = read_format(c, NUC_ARG(CONTIGUOUS, memory_format));

    if (!lies_in(&m, format))
        set_format(c, &m, format);
    nuc_shape_result(c, &m);
}

/* A dim_order argument: outermost dimension first; None preserves. */
static void set_dim_order(const struct nuc_shape_call *c, uint32_t index, struct nuc_meta *m)
{
    bool seen[NUC_MAX_RANK] = {false};
    uint32_t count;
    const int64_t *order = nuc_shape_ints(c, index, &count);

    if (nuc_shape_is_none(c, index))
        return;
    if (count != m->rank)
        nuc_shape_fail(c, "dim_order has %u entries for %s", (unsigned)count, nuc_meta_text(c->g->cx, m));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t dim = nuc_shape_dim(c, order[i], m->rank);
        if (seen[dim])
            nuc_shape_fail(c, "dim_order names dimension %u twice", (unsigned)dim);
        seen[dim] = true;
        m->dim_order[i] = (uint8_t)dim;
    }
    int64_t strides[NUC_MAX_RANK];
    nuc_dense_strides(m, strides);
    nuc_dim_order_of_strides(m->sizes, strides, m->rank, m->dim_order);
}

/* A copy in the dtype, the memory format and the dim order that its operator can ask for. */
void nuc_shape_clone(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);

    m.dtype = nuc_shape_dtype(c, nuc_arg_named(c->node, "dtype"), m.dtype);
    set_format(c, &m, read_format(c, nuc_arg_named(c->node, "memory_format")));
    set_dim_order(c, nuc_arg_named(c->node, "dim_order"), &m);
    nuc_shape_result(c, &m);
}

/* ---- creation ---- */

/* zeros, and empty, which may name a dim order: size, dtype, layout, device, pin_memory, dim_order */
void nuc_shape_zeros(const struct nuc_shape_call *c)
{
    uint32_t count;
    const int64_t *sizes = nuc_shape_ints(c, NUC_ARG(ZEROS, size), &count);

    if (count > NUC_MAX_RANK)
        nuc_shape_fail(c, "%u dimensions are asked for; %d is the limit", (unsigned)count, NUC_MAX_RANK);
    struct nuc_meta m = nuc_meta_make(nuc_shape_dtype(c, NUC_ARG(ZEROS, dtype), NUC_F32), sizes, count);
    nuc_shape_check(c, &m);
    nuc_order_as(&m, false);
    set_dim_order(c, nuc_arg_named(c->node, "dim_order"), &m);
    nuc_shape_result(c, &m);
}

static bool is_whole(double value)
{
    return value == floor(value);
}

/* start, end, step, dtype: int64 by default when all three are whole numbers, else float32 */
void nuc_shape_arange(const struct nuc_shape_call *c)
{
    double start = nuc_shape_float(c, NUC_ARG(ARANGE, start)), end = nuc_shape_float(c, NUC_ARG(ARANGE, end)),
           step = nuc_shape_float(c, NUC_ARG(ARANGE, step));
    bool whole = is_whole(start) && is_whole(end) && is_whole(step);
    double count = ceil((end - start) / step);

    if (!(count >= 0.0) || count > (double)NUC_MAX_ELEMENTS || step == 0.0)
        nuc_shape_fail(c, "no range leads from %g to %g in steps of %g", start, end, step);
    struct nuc_meta m = nuc_meta_make(nuc_shape_dtype(c, NUC_ARG(ARANGE, dtype), whole ? NUC_I64 : NUC_F32),
                                      (const int64_t[]){(int64_t)count}, 1);
    nuc_shape_result(c, &m);
}
