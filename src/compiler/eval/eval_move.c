/*
 * Operators that show elements of their inputs in another place: permutations, slices, splits, concatenation, indices.
 * Any element type.
 */
#include <string.h>

#include "compiler/eval/eval_private.h"

enum { INPUT };

/* ---- copies whose elements are a fixed distance apart along every dimension ---- */

/* How the values of a node show its first argument. */
struct strided {
    size_t strides[NUC_MAX_RANK]; /* of the input, in elements, by output dimension */
    size_t *first;                /* [values] element the value starts with */
};

static void contiguous_strides(const struct nuc_meta *m, size_t strides[NUC_MAX_RANK])
{
    for (uint32_t d = 0; d < m->rank; d++)
        strides[d] = nuc_eval_product(m, d + 1, m->rank);
}

static struct strided *new_strided(struct nuc_eval_call *c)
{
    struct strided *s = nuc_alloc(c->cx, sizeof *s);

    s->first = nuc_alloc_array(c->cx, c->node->n_vals, sizeof *s->first);
    contiguous_strides(nuc_eval_in_meta(c, INPUT), s->strides);
    c->state = s;
    return s;
}

static void copy_value(const struct nuc_eval_call *c, uint32_t val)
{
    const struct strided *s = c->state;
    const struct nuc_meta *out = nuc_eval_out_meta(c, val);
    size_t size = nuc_dtype_size(out->dtype), length = nuc_eval_row_length(out);
    size_t step = out->rank == 0 ? 1 : s->strides[out->rank - 1];
    const char *in = (const char *)nuc_eval_in(c, INPUT) + s->first[val] * size;
    char *to = c->out[val];

    if (length == 0)
        return;
    for (size_t row = 0; row < nuc_eval_rows(out); row++, to += length * size) {
        const char *from = in + nuc_eval_row_offset(out, row, s->strides) * size;
        if (step == 1)
            memcpy(to, from, length * size);
        else
            nuc_eval_copy_strided(to, from, length, step, size);
    }
}

static void run_strided(const struct nuc_eval_call *c)
{
    for (uint32_t v = 0; v < c->node->n_vals; v++)
        copy_value(c, v);
}

/* Output dimension d is input dimension dims[d]. */
static void permute(struct nuc_eval_call *c, const uint32_t dims[NUC_MAX_RANK])
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT);
    struct strided *s = new_strided(c);
    size_t strides[NUC_MAX_RANK];
    uint32_t seen = 0;

    memcpy(strides, s->strides, sizeof strides);
    for (uint32_t d = 0; d < in->rank; d++) {
        if ((seen >> dims[d] & 1) != 0 || nuc_eval_out_meta(c, 0)->sizes[d] != in->sizes[dims[d]])
            nuc_eval_fail(c, "the permutation does not fit %s", nuc_meta_text(c->cx, in));
        seen |= 1u << dims[d];
        s->strides[d] = strides[dims[d]];
    }
}

static void prepare_permute(struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT);
    const struct nuc_arg *list = &c->node->args[1];
    uint32_t dims[NUC_MAX_RANK];

    if (list->count != in->rank || nuc_eval_out_meta(c, 0)->rank != in->rank)
        nuc_eval_fail(c, "the permutation names %u dimensions of %u", (unsigned)list->count, (unsigned)in->rank);
    for (uint32_t d = 0; d < in->rank; d++)
        dims[d] = nuc_eval_dim(c, list->u.ints[d], in->rank);
    permute(c, dims);
}

/* transpose(self, dim0, dim1), and t(self) of at most two dimensions. */
static void prepare_transpose(struct nuc_eval_call *c)
{
    uint32_t rank = nuc_eval_in_meta(c, INPUT)->rank, dims[NUC_MAX_RANK];
    bool named = c->node->n_args == 3;
    uint32_t a = named ? nuc_eval_dim_arg(c, 1, rank) : 0;
    uint32_t b = named ? nuc_eval_dim_arg(c, 2, rank) : rank < 2 ? 0 : 1;

    if (nuc_eval_out_meta(c, 0)->rank != rank)
        nuc_eval_fail(c, "the result is of another rank");
    for (uint32_t d = 0; d < NUC_MAX_RANK; d++)
        dims[d] = d;
    if (rank != 0) {
        dims[a] = b;
        dims[b] = a;
    }
    permute(c, dims);
}

const struct nuc_eval_op nuc_eval_permute = {.prepare = prepare_permute, .run = run_strided};
const struct nuc_eval_op nuc_eval_transpose = {.prepare = prepare_transpose, .run = run_strided};

static void prepare_expand(struct nuc_eval_call *c)
{
    struct strided *s = new_strided(c);

    nuc_eval_check_broadcast(c, INPUT);
    nuc_eval_broadcast_strides(nuc_eval_in_meta(c, INPUT), nuc_eval_out_meta(c, 0), s->strides);
}

const struct nuc_eval_op nuc_eval_expand = {.prepare = prepare_expand, .run = run_strided};

/* ---- slices: dim, start, end, step from argument `arg` on ---- */

struct slice {
    uint32_t dim;
    size_t start, count, step;
};

/* Bounds count from the end when negative, and stop at the borders. */
static int64_t slice_bound(const struct nuc_eval_call *c, uint32_t arg, int64_t size, int64_t fallback)
{
    int64_t at = nuc_eval_int(c, arg, fallback);

    if (at < 0)
        at = at < -size ? 0 : at + size;
    return at > size ? size : at;
}

static struct slice read_slice(const struct nuc_eval_call *c, uint32_t arg)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT);
    uint32_t dim = nuc_eval_dim_arg(c, arg, in->rank);
    int64_t step = nuc_eval_int(c, arg + 3, 1);

    if (in->rank == 0 || step < 1)
        nuc_eval_fail(c, "a slice needs a dimension and a positive step");
    int64_t start = slice_bound(c, arg + 1, in->sizes[dim], 0);
    int64_t end = slice_bound(c, arg + 2, in->sizes[dim], INT64_MAX);
    int64_t count = end <= start ? 0 : (end - start - 1) / step + 1;
    return (struct slice){dim, (size_t)start, (size_t)count, count <= 1 ? 1 : (size_t)step};
}

static void prepare_slice(struct nuc_eval_call *c)
{
    const struct nuc_meta *out = nuc_eval_out_meta(c, 0);
    struct slice slice = read_slice(c, 1);
    struct strided *s = new_strided(c);

    if (slice.dim >= out->rank || (size_t)out->sizes[slice.dim] != slice.count)
        nuc_eval_fail(c, "the slice does not have shape %s", nuc_meta_text(c->cx, out));
    s->first[0] = slice.count == 0 ? 0 : slice.start * s->strides[slice.dim];
    s->strides[slice.dim] *= slice.step;
}

const struct nuc_eval_op nuc_eval_slice = {.prepare = prepare_slice, .run = run_strided};

/* split, split_with_sizes, chunk: self, sizes, dim. The shapes of the values say where they end. */
static void prepare_split(struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT);
    uint32_t dim = nuc_eval_dim_arg(c, 2, in->rank);
    struct strided *s = new_strided(c);
    size_t at = 0;

    if (in->rank == 0)
        nuc_eval_fail(c, "a scalar is not split");
    for (uint32_t v = 0; v < c->node->n_vals; v++) {
        const struct nuc_meta *out = nuc_eval_out_meta(c, v);
        s->first[v] = at * s->strides[dim];
        if (out->rank != in->rank)
            nuc_eval_fail(c, "part %u is of another rank", (unsigned)v);
        at += (size_t)out->sizes[dim];
    }
    if (at != (size_t)in->sizes[dim])
        nuc_eval_fail(c, "the parts have %zu of %lld elements", at, (long long)in->sizes[dim]);
}

const struct nuc_eval_op nuc_eval_split = {.prepare = prepare_split, .run = run_strided};

/* ---- slice_scatter: self, src, dim, start, end, step ---- */

static void prepare_slice_scatter(struct nuc_eval_call *c)
{
    const struct nuc_meta *src = nuc_eval_in_meta(c, 1);
    struct slice *slice = nuc_alloc(c->cx, sizeof *slice);

    *slice = read_slice(c, 2);
    for (uint32_t arg = 0; arg < 2; arg++)
        nuc_eval_want(c, arg, nuc_eval_out_meta(c, 0)->dtype);
    for (uint32_t d = 0; d < nuc_eval_in_meta(c, INPUT)->rank; d++) {
        size_t want = d == slice->dim ? slice->count : (size_t)nuc_eval_in_meta(c, INPUT)->sizes[d];
        if (src->rank != nuc_eval_in_meta(c, INPUT)->rank || (size_t)src->sizes[d] != want)
            nuc_eval_fail(c, "%s does not fill the slice", nuc_meta_text(c->cx, src));
    }
    c->state = slice;
}

static void run_slice_scatter(const struct nuc_eval_call *c)
{
    const struct slice *s = c->state;
    const struct nuc_meta *out = nuc_eval_out_meta(c, 0);
    size_t inner = nuc_eval_product(out, s->dim + 1, out->rank) * nuc_dtype_size(out->dtype);
    size_t outer = nuc_eval_product(out, 0, s->dim), size = (size_t)out->sizes[s->dim];
    const char *src = nuc_eval_in(c, 1);

    memcpy(c->out[0], nuc_eval_in(c, INPUT), nuc_bytes(out));
    for (size_t o = 0; o < outer; o++) {
        for (size_t i = 0; i < s->count; i++, src += inner)
            memcpy((char *)c->out[0] + (o * size + s->start + i * s->step) * inner, src, inner);
    }
}

const struct nuc_eval_op nuc_eval_slice_scatter = {.prepare = prepare_slice_scatter, .run = run_slice_scatter};

/* ---- as_strided: places in the memory of its argument, which lies there in its dim order ---- */

/* Logical offset of the element at every place of a dense tensor's memory. */
static size_t *logical_offsets(const struct nuc_eval_call *c, const struct nuc_meta *m)
{
    size_t count = (size_t)nuc_elements(m);
    size_t *offsets = nuc_alloc_array(c->cx, count, sizeof *offsets);
    int64_t strides[NUC_MAX_RANK];

    nuc_dense_strides(m, strides);
    for (size_t i = 0; i < count; i++) {
        size_t rest = i, place = 0;
        for (uint32_t d = m->rank; d-- > 0;) {
            place += rest % (size_t)m->sizes[d] * (size_t)strides[d];
            rest /= (size_t)m->sizes[d];
        }
        offsets[place] = i;
    }
    return offsets;
}

/* Place of the last element; fails when it lies outside [0, limit). */
static void check_reach(const struct nuc_eval_call *c, const int64_t *strides, int64_t first, int64_t limit)
{
    const struct nuc_meta *out = nuc_eval_out_meta(c, 0);
    int64_t last = first;

    if (nuc_elements(out) == 0)
        return;
    for (uint32_t d = 0; d < out->rank; d++) {
        int64_t room = limit - last;
        if (strides[d] < 0 || first < 0 || room <= 0 || (out->sizes[d] > 1 && strides[d] > room / (out->sizes[d] - 1)))
            nuc_eval_fail(c, "strides and offset lead outside the %lld elements of the input", (long long)limit);
        last += strides[d] * (out->sizes[d] - 1);
    }
    if (first < 0 || last >= limit)
        nuc_eval_fail(c, "strides and offset lead outside the %lld elements of the input", (long long)limit);
}

/* self, size, stride, storage_offset. The state is the offset in `self` of every element. */
static void prepare_as_strided(struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT), *out = nuc_eval_out_meta(c, 0);
    const struct nuc_arg *strides = &c->node->args[2];
    int64_t first = nuc_eval_int(c, 3, 0);
    size_t count = (size_t)nuc_elements(out);

    if (strides->count != out->rank)
        nuc_eval_fail(c, "%u strides for %u dimensions", (unsigned)strides->count, (unsigned)out->rank);
    check_reach(c, strides->u.ints, first, nuc_elements(in));
    size_t *logical = logical_offsets(c, in), *offsets = nuc_alloc_array(c->cx, count, sizeof *offsets);
    for (size_t i = 0; i < count; i++) {
        size_t rest = i, place = (size_t)first;
        for (uint32_t d = out->rank; d-- > 0;) {
            place += rest % (size_t)out->sizes[d] * (size_t)strides->u.ints[d];
            rest /= (size_t)out->sizes[d];
        }
        offsets[i] = logical[place];
    }
    c->state = offsets;
}

static void run_as_strided(const struct nuc_eval_call *c)
{
    const size_t *offsets = c->state;
    const struct nuc_meta *out = nuc_eval_out_meta(c, 0);
    size_t count = (size_t)nuc_elements(out), size = nuc_dtype_size(out->dtype);
    const char *in = nuc_eval_in(c, INPUT);

    for (size_t i = 0; i < count; i++)
        memcpy((char *)c->out[0] + i * size, in + offsets[i] * size, size);
}

const struct nuc_eval_op nuc_eval_as_strided = {.prepare = prepare_as_strided, .run = run_as_strided};

/* ---- cat: tensors, dim ---- */

/* torch lets an empty tensor of rank 1 stand in any concatenation. */
static bool is_skipped(const struct nuc_meta *m)
{
    return m->rank == 1 && m->sizes[0] == 0;
}

static void prepare_cat(struct nuc_eval_call *c)
{
    const struct nuc_meta *out = nuc_eval_out_meta(c, 0);
    uint32_t *dim = nuc_alloc(c->cx, sizeof *dim);
    int64_t total = 0;

    *dim = nuc_eval_dim_arg(c, 1, out->rank);
    for (uint32_t i = 0; i < nuc_eval_list_count(c, INPUT); i++) {
        const struct nuc_meta *in = nuc_eval_list_meta(c, INPUT, i);
        if (is_skipped(in))
            continue;
        if (in->rank != out->rank || out->rank == 0)
            nuc_eval_fail(c, "%s cannot be joined to %s", nuc_meta_text(c->cx, in), nuc_meta_text(c->cx, out));
        if (in->dtype != out->dtype && (!nuc_eval_can_convert(in->dtype) || !nuc_eval_can_convert(out->dtype)))
            nuc_eval_fail(c, "%s is not converted to %s", nuc_dtype_name(in->dtype), nuc_dtype_name(out->dtype));
        for (uint32_t d = 0; d < out->rank; d++) {
            if (d != *dim && in->sizes[d] != out->sizes[d])
                nuc_eval_fail(c, "%s cannot be joined to %s", nuc_meta_text(c->cx, in), nuc_meta_text(c->cx, out));
        }
        total += in->sizes[*dim];
    }
    if (out->rank != 0 && total != out->sizes[*dim] && !is_skipped(out))
        nuc_eval_fail(c, "the parts have %lld of %lld elements", (long long)total, (long long)out->sizes[*dim]);
    c->state = dim;
}

static void run_cat(const struct nuc_eval_call *c)
{
    const uint32_t *dim = c->state;
    const struct nuc_meta *out = nuc_eval_out_meta(c, 0);
    size_t outer = nuc_eval_product(out, 0, *dim), stride = nuc_eval_product(out, *dim, out->rank), at = 0;

    for (uint32_t i = 0; i < nuc_eval_list_count(c, INPUT); i++) {
        const struct nuc_meta *in = nuc_eval_list_meta(c, INPUT, i);
        if (is_skipped(in))
            continue;
        size_t inner = nuc_eval_product(in, *dim, in->rank);
        const char *from = nuc_eval_list_in(c, INPUT, i);
        for (size_t o = 0; o < outer; o++)
            nuc_eval_convert(in->dtype, from + o * inner * nuc_dtype_size(in->dtype), out->dtype,
                             (char *)c->out[0] + (o * stride + at) * nuc_dtype_size(out->dtype), inner);
        at += inner;
    }
}

const struct nuc_eval_op nuc_eval_cat = {.prepare = prepare_cat, .run = run_cat};

/* ---- copy: self, src. The value is src in the shape and dtype of self. ---- */

static void prepare_copy(struct nuc_eval_call *c)
{
    struct strided *s = new_strided(c);
    enum nuc_dtype from = nuc_eval_in_meta(c, 1)->dtype, to = nuc_eval_out_meta(c, 0)->dtype;

    nuc_eval_check_broadcast(c, 1);
    if (from != to && (!nuc_eval_can_convert(from) || !nuc_eval_can_convert(to)))
        nuc_eval_fail(c, "%s is not converted to %s", nuc_dtype_name(from), nuc_dtype_name(to));
    nuc_eval_broadcast_strides(nuc_eval_in_meta(c, 1), nuc_eval_out_meta(c, 0), s->strides);
}

static void run_copy(const struct nuc_eval_call *c)
{
    const struct strided *s = c->state;
    const struct nuc_meta *src = nuc_eval_in_meta(c, 1), *out = nuc_eval_out_meta(c, 0);
    size_t length = nuc_eval_row_length(out), to_size = nuc_dtype_size(out->dtype), size = nuc_dtype_size(src->dtype);
    size_t step = out->rank == 0 ? 1 : s->strides[out->rank - 1];
    char *to = c->out[0];

    for (size_t row = 0; length != 0 && row < nuc_eval_rows(out); row++, to += length * to_size) {
        const char *from = (const char *)nuc_eval_in(c, 1) + nuc_eval_row_offset(out, row, s->strides) * size;
        for (size_t i = 0; i < length; i++)
            nuc_eval_convert(src->dtype, from + i * step * size, out->dtype, to + i * to_size, 1);
    }
}

const struct nuc_eval_op nuc_eval_copy = {.prepare = prepare_copy, .run = run_copy};
