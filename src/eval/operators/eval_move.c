/*
 * Operators that show elements of their inputs in another place: permutations, repetitions, slices, splits,
 * concatenation. Any element type.
 */
#include <string.h>

#include "eval/eval_call.h"
#include "host/numbers.h"
#include "ir/axis_map.h"

/* ---- copies whose elements are a fixed distance apart along every dimension ---- */

/* How the values of a node show one of its arguments. */
struct strided {
    uint32_t arg;
    size_t strides[NUC_MAX_RANK]; /* of the argument, in elements, by output dimension; negative ones wrap */
    size_t *first;                /* [values] element the value starts with */
};

static struct strided *new_strided(struct nuc_eval_call *c, uint32_t arg)
{
    struct strided *s = nuc_alloc(c->cx, sizeof *s);
    const struct nuc_meta *in = nuc_eval_in_meta(c, arg);

    s->arg = arg;
    s->first = nuc_alloc_array(c->cx, c->node->n_vals, sizeof *s->first);
    for (uint32_t d = 0; d < in->rank; d++)
        s->strides[d] = nuc_product_of_dims(in, d + 1, in->rank);
    c->state = s;
    return s;
}

/* Where the types differ. */
static void convert_rows(const struct nuc_eval_call *c, const char *in, uint32_t val)
{
    const struct strided *s = c->state;
    const struct nuc_meta *out = &c->node->vals[val];
    enum nuc_dtype in_dtype = nuc_eval_in_meta(c, s->arg)->dtype;
    size_t size = nuc_dtype_size(out->dtype), in_size = nuc_dtype_size(in_dtype), length = nuc_eval_row_length(out);
    size_t step = out->rank == 0 ? 1 : s->strides[out->rank - 1];
    char *to = c->out[val];

    for (size_t row = 0; length != 0 && row < nuc_eval_rows(out); row++) {
        const size_t first = s->first[val] + nuc_eval_row_offset(out, row, s->strides);
        for (size_t i = 0; i < length; i++, to += size)
            nuc_eval_convert(in_dtype, in + (first + i * step) * in_size, out->dtype, to, 1);
    }
}

static void run_strided(const struct nuc_eval_call *c)
{
    const struct strided *s = c->state;
    const char *in = nuc_eval_in(c, s->arg);
    enum nuc_dtype in_dtype = nuc_eval_in_meta(c, s->arg)->dtype;

    for (uint32_t v = 0; v < c->node->n_vals; v++) {
        const struct nuc_meta *out = &c->node->vals[v];
        if (in_dtype != out->dtype) {
            convert_rows(c, in, v);
            continue;
        }
        struct nuc_plane p = {1, nuc_eval_row_length(out), nuc_dtype_size(out->dtype), 0, 1};
        p.rows = out->rank < 2 ? 1 : (size_t)out->sizes[out->rank - 2];
        p.pitch = out->rank < 2 ? 0 : (ptrdiff_t)s->strides[out->rank - 2];
        p.step = out->rank == 0 ? 1 : (ptrdiff_t)s->strides[out->rank - 1];
        char *to = c->out[v];
        for (size_t row = 0; p.rows * p.count != 0 && row < nuc_eval_rows(out); row += p.rows) {
            nuc_copy_plane(to, in + (s->first[v] + nuc_eval_row_offset(out, row, s->strides)) * p.size, &p);
            to += p.rows * p.count * p.size;
        }
    }
}

/* Permutations, slices, splits, repetitions, flips, diagonals: where each index comes from says the axis map. */
static void prepare_move(struct nuc_eval_call *c)
{
    int64_t dense[NUC_MAX_RANK] = {0}, strides[NUC_MAX_RANK], first;
    struct strided *s = new_strided(c, NUC_SELF);
    struct nuc_axis_map map;

    for (uint32_t d = 0; d < NUC_MAX_RANK; d++)
        dense[d] = (int64_t)s->strides[d];
    for (uint32_t v = 0; v < c->node->n_vals; v++) {
        if (!nuc_axis_map(c->node, v, NUC_SELF, 0, &map) || !nuc_axis_strides(&map, dense, strides, &first))
            nuc_fail(c->cx, NUC_INTERNAL, "%s: %s has no axis map", c->g->file, nuc_node_text(c->cx, c->node));
        s->first[v] = (size_t)first;
        for (uint32_t d = 0; d < NUC_MAX_RANK; d++)
            s->strides[d] = (size_t)strides[d];
    }
}

const struct nuc_eval_op nuc_eval_move = {.prepare = prepare_move, .run = run_strided};

/* copy(self, src): src in the shape and type of self. */
static void prepare_broadcast(struct nuc_eval_call *c)
{
    const struct nuc_meta *src = nuc_eval_in_meta(c, NUC_ARG(COPY, src));

    nuc_eval_check_convert(c, src->dtype, nuc_eval_result(c)->dtype);
    nuc_eval_broadcast_strides(src, nuc_eval_result(c), new_strided(c, NUC_ARG(COPY, src))->strides);
}

const struct nuc_eval_op nuc_eval_broadcast = {.prepare = prepare_broadcast, .run = run_strided};

static void prepare_unfold(struct nuc_eval_call *c)
{
    uint32_t rank = nuc_eval_in_meta(c, NUC_SELF)->rank;
    struct strided *s = new_strided(c, NUC_SELF);

    s->strides[rank] = 1;
    if (rank == 0)
        return;
    uint32_t dim = (uint32_t)nuc_dim(c->node, NUC_ARG(UNFOLD, dimension), 0, rank);
    s->strides[rank] = s->strides[dim];
    s->strides[dim] *= (size_t)nuc_integer(c->node, NUC_ARG(UNFOLD, step), 1);
}

const struct nuc_eval_op nuc_eval_unfold = {.prepare = prepare_unfold, .run = run_strided};

/* ---- slice_scatter, select_scatter ---- */

struct slice {
    uint32_t dim;
    size_t start, count, step;
};

static void prepare_slice_scatter(struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    struct slice *slice = nuc_alloc(c->cx, sizeof *slice);
    uint32_t dim = (uint32_t)nuc_dim(c->node, NUC_ARG(SLICE_SCATTER, dim), 0, in->rank);
    int64_t step = nuc_integer(c->node, NUC_ARG(SLICE_SCATTER, step), 1);
    int64_t start = nuc_slice_end(nuc_integer(c->node, NUC_ARG(SLICE_SCATTER, start), 0), in->sizes[dim]);
    int64_t end = nuc_slice_end(nuc_integer(c->node, NUC_ARG(SLICE_SCATTER, end), INT64_MAX), in->sizes[dim]);
    int64_t count = end <= start ? 0 : (end - start - 1) / step + 1;

    *slice = (struct slice){dim, (size_t)start, (size_t)count, count <= 1 ? 1 : (size_t)step};
    nuc_eval_expect(c, NUC_ARG(SLICE_SCATTER, src), nuc_eval_result(c)->dtype);
    c->state = slice;
}

/* One index of a dimension. */
static void prepare_select_scatter(struct nuc_eval_call *c)
{
    const struct nuc_meta *out = nuc_eval_result(c);
    struct slice *slice = nuc_alloc(c->cx, sizeof *slice);
    int64_t index = nuc_integer(c->node, NUC_ARG(SELECT_SCATTER, index), 0);

    slice->dim = (uint32_t)nuc_dim(c->node, NUC_ARG(SELECT_SCATTER, dim), 0, out->rank);
    slice->start = (size_t)(index < 0 ? index + out->sizes[slice->dim] : index);
    slice->count = 1;
    c->state = slice;
}

static void run_slice_scatter(const struct nuc_eval_call *c)
{
    const struct slice *s = c->state;
    const struct nuc_meta *out = nuc_eval_result(c);
    const struct nuc_eval_lines lines = nuc_eval_lines_of(out, s->dim);
    size_t inner = lines.inner * nuc_dtype_size(out->dtype);
    const char *src = nuc_eval_in(c, NUC_ARG(SLICE_SCATTER, src));

    memcpy(c->out[0], nuc_eval_in(c, NUC_SELF), nuc_bytes(out));
    for (size_t o = 0; o < lines.outer; o++) {
        for (size_t i = 0; i < s->count; i++, src += inner)
            memcpy((char *)c->out[0] + (o * lines.size + s->start + i * s->step) * inner, src, inner);
    }
}

const struct nuc_eval_op nuc_eval_slice_scatter = {.prepare = prepare_slice_scatter, .run = run_slice_scatter};
const struct nuc_eval_op nuc_eval_select_scatter = {.prepare = prepare_select_scatter, .run = run_slice_scatter};

/* ---- as_strided: places in the memory of its argument, which lies there in its dim order ---- */

static void to_size(const int64_t *from, uint32_t count, size_t to[NUC_MAX_RANK])
{
    for (uint32_t d = 0; d < count; d++)
        to[d] = (size_t)from[d];
}

/* The state is the offset in `self` of every element. */
static void prepare_as_strided(struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF), *out = nuc_eval_result(c);
    size_t first = (size_t)nuc_integer(c->node, NUC_ARG(AS_STRIDED, storage_offset), 0);
    size_t places = (size_t)nuc_elements(in), *logical = nuc_alloc_array(c->cx, places, sizeof *logical);
    size_t count = nuc_eval_elements(c), *offsets = nuc_alloc_array(c->cx, count, sizeof *offsets);
    size_t strides[NUC_MAX_RANK];
    int64_t dense[NUC_MAX_RANK];

    /* The logical offset of the element at every place of the memory. */
    nuc_dense_strides(in, dense);
    to_size(dense, in->rank, strides);
    for (size_t i = 0; i < places; i++)
        logical[nuc_eval_offset(in, i, strides)] = i;
    to_size(nuc_arg_at(c->node, NUC_ARG(AS_STRIDED, stride))->u.ints, out->rank, strides);
    for (size_t i = 0; i < count; i++)
        offsets[i] = logical[first + nuc_eval_offset(out, i, strides)];
    c->state = offsets;
}

static void run_as_strided(const struct nuc_eval_call *c)
{
    const size_t *offsets = c->state;
    const struct nuc_meta *out = nuc_eval_result(c);
    size_t count = (size_t)nuc_elements(out), size = nuc_dtype_size(out->dtype);
    const char *in = nuc_eval_in(c, NUC_SELF);

    for (size_t i = 0; i < count; i++)
        memcpy((char *)c->out[0] + i * size, in + offsets[i] * size, size);
}

const struct nuc_eval_op nuc_eval_as_strided = {.prepare = prepare_as_strided, .run = run_as_strided};

/* ---- cat ---- */

#define TENSORS NUC_ARG(CAT, tensors)

static void prepare_cat(struct nuc_eval_call *c)
{
    uint32_t *dim = nuc_alloc(c->cx, sizeof *dim);

    *dim = (uint32_t)nuc_dim(c->node, NUC_ARG(CAT, dim), 0, nuc_eval_result(c)->rank);
    c->state = dim;
}

static void run_cat(const struct nuc_eval_call *c)
{
    const uint32_t *dim = c->state;
    const struct nuc_meta *out = nuc_eval_result(c);
    size_t outer = nuc_product_of_dims(out, 0, *dim), stride = nuc_product_of_dims(out, *dim, out->rank), at = 0;
    size_t size = nuc_dtype_size(out->dtype);

    for (uint32_t i = 0; i < nuc_eval_list_count(c, TENSORS); i++) {
        const struct nuc_meta *in = nuc_eval_list_meta(c, TENSORS, i);
        /* torch lets an empty tensor of rank 1 stand in any concatenation. */
        if (in->rank == 1 && in->sizes[0] == 0)
            continue;
        size_t inner = nuc_product_of_dims(in, *dim, in->rank);
        const char *from = nuc_eval_list_in(c, TENSORS, i);
        for (size_t o = 0; o < outer; o++)
            memcpy((char *)c->out[0] + (o * stride + at) * size, from + o * inner * size, inner * size);
        at += inner;
    }
}

const struct nuc_eval_op nuc_eval_cat = {.prepare = prepare_cat, .run = run_cat};
