/*
 * scatter, index_put, masked_scatter: a copy of self into which values are written, or with whose elements they are
 * combined, where indices or a mask say, one after the other in logical order of the indices.
 */
#include <math.h>
#include <string.h>

#include "eval/eval_private.h"

enum combination { COMBINE_REPLACE, COMBINE_ADD, COMBINE_MULTIPLY, COMBINE_MAX, COMBINE_MIN };

static float combine_f32(enum combination how, float a, float b)
{
    switch (how) {
    case COMBINE_ADD:
        return a + b;
    case COMBINE_MULTIPLY:
        return a * b;
    case COMBINE_MAX:
        return isnan(a) || a > b ? a : b;
    case COMBINE_MIN:
        return isnan(a) || a < b ? a : b;
    case COMBINE_REPLACE:
    default:
        return b;
    }
}

static int64_t combine_int(enum combination how, int64_t a, int64_t b)
{
    switch (how) {
    case COMBINE_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case COMBINE_MULTIPLY:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case COMBINE_MAX:
        return a > b ? a : b;
    case COMBINE_MIN:
        return a < b ? a : b;
    case COMBINE_REPLACE:
    default:
        return b;
    }
}

/* Integers wrap to their type. */
static void store_wrapped(enum nuc_dtype dtype, void *data, size_t i, int64_t value)
{
    size_t size = nuc_dtype_size(dtype);

    if (dtype == NUC_BOOL)
        value = value != 0;
    memcpy((char *)data + i * size, &value, size); /* little-endian, as everything here */
}

static void combine(enum combination how, enum nuc_dtype dtype, void *out, size_t to, const void *from, size_t at)
{
    size_t size = nuc_dtype_size(dtype);

    if (how == COMBINE_REPLACE)
        memcpy((char *)out + to * size, (const char *)from + at * size, size);
    else if (dtype == NUC_F32)
        ((float *)out)[to] = combine_f32(how, ((const float *)out)[to], ((const float *)from)[at]);
    else
        store_wrapped(dtype, out, to, combine_int(how, nuc_int_at(dtype, out, to), nuc_int_at(dtype, from, at)));
}

static void check_combination(const struct nuc_eval_call *c, enum combination how)
{
    enum nuc_dtype dtype = nuc_eval_result(c)->dtype;

    if (how != COMBINE_REPLACE && dtype != NUC_F32 && !nuc_is_integer(dtype))
        nuc_eval_fail(c, "elements of type %s are not combined", nuc_dtype_name(dtype));
}

/* ---- scatter along a dimension ---- */

struct scatter {
    enum combination how;
    uint32_t src; /* argument */
    char value[8];
    size_t size, stride;               /* of self along the dimension */
    size_t self_strides[NUC_MAX_RANK]; /* by dimension of the index; 0 along the dimension */
    size_t src_strides[NUC_MAX_RANK];
};

static struct scatter *new_scatter(struct nuc_eval_call *c, enum combination how)
{
    struct scatter *s = nuc_alloc(c->cx, sizeof *s);
    const struct nuc_meta *self = nuc_eval_in_meta(c, NUC_SELF), *index = nuc_eval_in_meta(c, NUC_ARG(SCATTER, index));
    uint32_t dim = (uint32_t)nuc_dim(c->node, NUC_ARG(SCATTER, dim), 0, self->rank);

    *s = (struct scatter){.how = how, .src = NUC_ARG(SCATTER, src), .size = 1, .stride = 1};
    if (self->rank > 0) {
        s->size = (size_t)self->sizes[dim];
        s->stride = nuc_product_of_dims(self, dim + 1, self->rank);
    }
    for (uint32_t d = 0; d < index->rank && d < self->rank; d++)
        s->self_strides[d] = d == dim ? 0 : nuc_product_of_dims(self, d + 1, self->rank);
    check_combination(c, how);
    c->state = s;
    return s;
}

static enum combination reduction_of(const struct nuc_eval_call *c)
{
    static const struct {
        const char *name;
        enum combination how;
    } names[] = {{"sum", COMBINE_ADD}, {"prod", COMBINE_MULTIPLY}, {"amax", COMBINE_MAX}, {"amin", COMBINE_MIN}};
    const struct nuc_arg *reduce = nuc_arg_at(c->node, NUC_ARG(SCATTER_REDUCE, reduce));

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (reduce->kind == NUC_ARG_STRING && strcmp(reduce->u.string, names[i].name) == 0)
            return names[i].how;
    }
    nuc_eval_fail(c, "the reduction is none of sum, prod, amax and amin");
}

/* scatter, scatter_add, scatter_reduce: values of a tensor. */
static void prepare_scatter(struct nuc_eval_call *c)
{
    bool reduces = c->node->op == NUC_OP_SCATTER_REDUCE;
    enum combination how = c->node->op == NUC_OP_SCATTER_ADD ? COMBINE_ADD : COMBINE_REPLACE;
    struct scatter *s = new_scatter(c, reduces ? reduction_of(c) : how);
    const struct nuc_meta *src = nuc_eval_in_meta(c, s->src);

    if (reduces && !nuc_flag(c->node, NUC_ARG(SCATTER_REDUCE, include_self)))
        nuc_eval_fail(c, "the reduction leaves out self");
    for (uint32_t d = 0; d < src->rank; d++)
        s->src_strides[d] = nuc_product_of_dims(src, d + 1, src->rank);
}

static void prepare_scatter_value(struct nuc_eval_call *c)
{
    struct scatter *s = new_scatter(c, COMBINE_REPLACE);
    const struct nuc_arg *value = nuc_arg_at(c->node, NUC_ARG(SCATTER_VALUE, value));

    if (value->kind == NUC_ARG_INT)
        nuc_eval_store_int(nuc_eval_result(c)->dtype, s->value, 0, value->u.i);
    else
        nuc_eval_store_number(
            nuc_eval_result(c)->dtype, s->value, 0,
            nuc_scalar(c->node, NUC_ARG(SCATTER_VALUE, value), nuc_flag(c->node, NUC_ARG(SCATTER_VALUE, value))));
}

static void run_scatter(const struct nuc_eval_call *c)
{
    const struct scatter *s = c->state;
    const struct nuc_meta *index = nuc_eval_in_meta(c, NUC_ARG(SCATTER, index)), *out = nuc_eval_result(c);
    bool constant = c->node->op == NUC_OP_SCATTER_VALUE;
    const void *src = constant ? (const void *)s->value : nuc_eval_in(c, s->src);

    memcpy(c->out[0], nuc_eval_in(c, NUC_SELF), nuc_bytes(out));
    for (size_t i = 0; i < (size_t)nuc_elements(index); i++) {
        int64_t at = nuc_int_at(index->dtype, nuc_eval_in(c, NUC_ARG(SCATTER, index)), i);
        if (at < 0 || at >= (int64_t)s->size)
            nuc_eval_fail(c, "index %lld into %zu elements", (long long)at, s->size);
        size_t to = nuc_eval_offset(index, i, s->self_strides) + (size_t)at * s->stride;
        combine(s->how, out->dtype, c->out[0], to, src, nuc_eval_offset(index, i, s->src_strides));
    }
}

const struct nuc_eval_op nuc_eval_scatter = {.prepare = prepare_scatter, .run = run_scatter};
const struct nuc_eval_op nuc_eval_scatter_value = {.prepare = prepare_scatter_value, .run = run_scatter};

/* ---- index_put ---- */

#define INDICES NUC_ARG(INDEX_PUT, indices)

struct index_put {
    struct nuc_meta picked; /* what the indices pick: what the values broadcast to */
    size_t value_strides[NUC_MAX_RANK];
    size_t self_strides[NUC_MAX_RANK]; /* by dimension of `picked`, 0 along the indices */
    uint32_t n_indexed;
    struct {
        uint32_t dim;
        size_t size, stride;
        size_t strides[NUC_MAX_RANK]; /* of the index, by dimension of `picked` */
    } indexed[NUC_MAX_RANK];
};

static bool is_indexed(const struct nuc_eval_call *c, uint32_t dim)
{
    return dim < nuc_eval_list_count(c, INDICES) && nuc_eval_list_has(c, INDICES, dim);
}

/* Dimensions of the indices stand where the first one does, in front when they are not neighbours. */
static void prepare_index_put(struct nuc_eval_call *c)
{
    struct index_put *s = nuc_alloc(c->cx, sizeof *s);
    const struct nuc_meta *self = nuc_eval_in_meta(c, NUC_SELF);
    struct nuc_meta chosen = {.rank = 0};
    uint32_t first = 0, last = 0;

    *s = (struct index_put){.n_indexed = 0};
    for (uint32_t d = 0; d < self->rank; d++) {
        if (!is_indexed(c, d))
            continue;
        first = s->n_indexed == 0 ? d : first;
        last = d;
        s->indexed[s->n_indexed].dim = d;
        s->indexed[s->n_indexed].size = (size_t)self->sizes[d];
        s->indexed[s->n_indexed++].stride = nuc_product_of_dims(self, d + 1, self->rank);
        nuc_eval_join_shapes(&chosen, nuc_eval_list_meta(c, INDICES, d));
    }
    uint32_t at = last - first + 1 == s->n_indexed ? first : 0;
    for (uint32_t d = 0; d <= self->rank; d++) {
        for (uint32_t k = 0; d == at && k < chosen.rank; k++)
            s->picked.sizes[s->picked.rank++] = chosen.sizes[k];
        if (d < self->rank && !is_indexed(c, d)) {
            s->self_strides[s->picked.rank] = nuc_product_of_dims(self, d + 1, self->rank);
            s->picked.sizes[s->picked.rank++] = self->sizes[d];
        }
    }
    for (uint32_t i = 0; i < s->n_indexed; i++) {
        size_t strides[NUC_MAX_RANK];
        nuc_eval_broadcast_strides(nuc_eval_list_meta(c, INDICES, s->indexed[i].dim), &chosen, strides);
        memcpy(s->indexed[i].strides + at, strides, chosen.rank * sizeof *strides);
    }
    struct nuc_meta values = *nuc_eval_in_meta(c, NUC_ARG(INDEX_PUT, values));
    while (values.rank > s->picked.rank && values.sizes[0] == 1) {
        memmove(values.sizes, values.sizes + 1, --values.rank * sizeof *values.sizes);
    }
    nuc_eval_broadcast_strides(&values, &s->picked, s->value_strides);
    check_combination(c, nuc_flag(c->node, NUC_ARG(INDEX_PUT, accumulate)) ? COMBINE_ADD : COMBINE_REPLACE);
    c->state = s;
}

static void run_index_put(const struct nuc_eval_call *c)
{
    const struct index_put *s = c->state;
    const struct nuc_meta *out = nuc_eval_result(c);
    enum combination how = nuc_flag(c->node, NUC_ARG(INDEX_PUT, accumulate)) ? COMBINE_ADD : COMBINE_REPLACE;

    memcpy(c->out[0], nuc_eval_in(c, NUC_SELF), nuc_bytes(out));
    for (size_t i = 0; i < (size_t)nuc_elements(&s->picked); i++) {
        size_t to = nuc_eval_offset(&s->picked, i, s->self_strides);
        for (uint32_t k = 0; k < s->n_indexed; k++) {
            uint32_t d = s->indexed[k].dim;
            int64_t size = (int64_t)s->indexed[k].size;
            int64_t at = nuc_int_at(nuc_eval_list_meta(c, INDICES, d)->dtype, nuc_eval_list_in(c, INDICES, d),
                                    nuc_eval_offset(&s->picked, i, s->indexed[k].strides));
            if (at < -size || at >= size)
                nuc_eval_fail(c, "index %lld into %lld elements", (long long)at, (long long)size);
            to += (size_t)(at < 0 ? at + size : at) * s->indexed[k].stride;
        }
        combine(how, out->dtype, c->out[0], to, nuc_eval_in(c, NUC_ARG(INDEX_PUT, values)),
                nuc_eval_offset(&s->picked, i, s->value_strides));
    }
}

const struct nuc_eval_op nuc_eval_index_put = {.prepare = prepare_index_put, .run = run_index_put};

/* ---- masked_scatter: values of source in order, one for each element where the mask is true ---- */

struct masked {
    size_t self_strides[NUC_MAX_RANK], mask_strides[NUC_MAX_RANK];
};

static void prepare_masked_scatter(struct nuc_eval_call *c)
{
    struct masked *s = nuc_alloc(c->cx, sizeof *s);

    nuc_eval_broadcast_strides(nuc_eval_in_meta(c, NUC_SELF), nuc_eval_result(c), s->self_strides);
    nuc_eval_broadcast_strides(nuc_eval_in_meta(c, NUC_ARG(MASKED_SCATTER, mask)), nuc_eval_result(c), s->mask_strides);
    c->state = s;
}

static void run_masked_scatter(const struct nuc_eval_call *c)
{
    const struct masked *s = c->state;
    const struct nuc_meta *out = nuc_eval_result(c);
    const bool *mask = nuc_eval_in(c, NUC_ARG(MASKED_SCATTER, mask));
    size_t used = 0, values = (size_t)nuc_elements(nuc_eval_in_meta(c, NUC_ARG(MASKED_SCATTER, source)));

    for (size_t i = 0; i < nuc_eval_elements(c); i++) {
        bool chosen = mask[nuc_eval_offset(out, i, s->mask_strides)];
        if (chosen && used == values)
            nuc_eval_fail(c, "the mask chooses more than the %zu values of source", values);
        if (chosen)
            combine(COMBINE_REPLACE, out->dtype, c->out[0], i, nuc_eval_in(c, NUC_ARG(MASKED_SCATTER, source)), used++);
        else
            combine(COMBINE_REPLACE, out->dtype, c->out[0], i, nuc_eval_in(c, NUC_SELF),
                    nuc_eval_offset(out, i, s->self_strides));
    }
}

const struct nuc_eval_op nuc_eval_masked_scatter = {.prepare = prepare_masked_scatter, .run = run_masked_scatter};

/* ---- select_scatter: one index of a dimension ---- */

static void run_select_scatter(const struct nuc_eval_call *c)
{
    const struct nuc_meta *out = nuc_eval_result(c);
    uint32_t dim = (uint32_t)nuc_dim(c->node, NUC_ARG(SELECT_SCATTER, dim), 0, out->rank);
    int64_t index = nuc_integer(c->node, NUC_ARG(SELECT_SCATTER, index), 0);
    size_t inner = nuc_product_of_dims(out, dim + 1, out->rank) * nuc_dtype_size(out->dtype);
    size_t outer = nuc_product_of_dims(out, 0, dim), size = (size_t)out->sizes[dim];
    size_t at = (size_t)(index < 0 ? index + out->sizes[dim] : index);
    const char *src = nuc_eval_in(c, NUC_ARG(SELECT_SCATTER, src));

    memcpy(c->out[0], nuc_eval_in(c, NUC_SELF), nuc_bytes(out));
    for (size_t o = 0; o < outer; o++, src += inner)
        memcpy((char *)c->out[0] + (o * size + at) * inner, src, inner);
}

const struct nuc_eval_op nuc_eval_select_scatter = {.run = run_select_scatter};
