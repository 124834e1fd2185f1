/*
 * Operators that show elements of their inputs in another place: permutations, repetitions, slices, splits,
 * concatenation. Any element type.
 */
#include <string.h>

#include "eval/eval_call.h"
#include "host/numbers.h"
#include "ir/axis_map.h"

/* ---- copies whose elements are a fixed distance apart along every dimension ---- */

/* How the values of a node show its argument. */
struct strided {
    size_t strides[NUC_MAX_RANK]; /* of the argument, in elements, by output dimension; negative ones wrap */
    size_t *first;                /* [values] element the value starts with */
};

static void run_strided(const struct nuc_eval_call *c)
{
    const struct strided *s = c->state;
    const char *in = nuc_eval_in(c, NUC_SELF);

    for (uint32_t v = 0; v < c->node->n_vals; v++) {
        const struct nuc_meta *out = &c->node->vals[v];
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
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    struct strided *s = nuc_alloc(c->cx, sizeof *s);
    struct nuc_axis_map map;

    s->first = nuc_alloc_array(c->cx, c->node->n_vals, sizeof *s->first);
    for (uint32_t d = 0; d < in->rank; d++)
        dense[d] = (int64_t)nuc_product_of_dims(in, d + 1, in->rank);
    for (uint32_t v = 0; v < c->node->n_vals; v++) {
        if (!nuc_axis_map(c->node, v, NUC_SELF, 0, &map) || !nuc_axis_strides(&map, dense, strides, &first))
            nuc_fail(c->cx, NUC_INTERNAL, "%s: %s has no axis map", c->g->file, nuc_node_text(c->cx, c->node));
        s->first[v] = (size_t)first;
        for (uint32_t d = 0; d < NUC_MAX_RANK; d++)
            s->strides[d] = (size_t)strides[d];
    }
    c->state = s;
}

const struct nuc_eval_op nuc_eval_move = {.prepare = prepare_move, .run = run_strided};

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
