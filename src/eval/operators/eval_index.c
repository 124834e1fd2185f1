/*
 * Operators on elements whose places indices say: index, index_select, gather and embedding show them; the scatters and
 * index_put are a copy of self into which values are written, or with whose elements they are combined, one after the
 * other in logical order of the indices. Any element type.
 */
#include <math.h>
#include <string.h>

#include "eval/eval_call.h"

/* Both operators with a list of indices, and all that take one along a dimension, have them in the same places. */
#define INDICES NUC_ARG(INDEX, indices)
#define INDEX NUC_ARG(GATHER, index)

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

static void combine(enum combination how, enum nuc_dtype dtype, void *out, size_t to, const void *from, size_t at)
{
    size_t size = nuc_dtype_size(dtype);

    if (how == COMBINE_REPLACE)
        memcpy((char *)out + to * size, (const char *)from + at * size, size);
    else if (dtype == NUC_F32)
        ((float *)out)[to] = combine_f32(how, ((const float *)out)[to], ((const float *)from)[at]);
    else
        nuc_store_int(dtype, out, to, combine_int(how, nuc_int_at(dtype, out, to), nuc_int_at(dtype, from, at)));
}

/* ---- the elements that indices pick ---- */

struct picked {
    struct nuc_meta shape;        /* in whose logical order they are walked */
    size_t strides[NUC_MAX_RANK]; /* of the first argument by dimension of the shape; 0 along what an index says */
    bool wraps;                   /* negative indices count from the end */
    uint32_t n_indexed;
    struct indexed {
        uint32_t slot;                /* of the index */
        size_t size, stride;          /* of the first argument along the dimension */
        size_t strides[NUC_MAX_RANK]; /* of the index by dimension of the shape */
    } indexed[NUC_MAX_RANK];
    /* What is written there. */
    enum combination how;
    uint32_t src; /* argument */
    size_t src_strides[NUC_MAX_RANK];
    char value[8]; /* in its place, where it is one number */
};

static struct picked *new_picked(struct nuc_eval_call *c, const struct nuc_meta *shape)
{
    struct picked *p = nuc_alloc(c->cx, sizeof *p);

    p->shape = *shape;
    c->state = p;
    return p;
}

static void add_index(const struct nuc_eval_call *c, struct picked *p, uint32_t dim, uint32_t slot)
{
    const struct nuc_eval_lines l = nuc_eval_lines_of(nuc_eval_in_meta(c, NUC_SELF), dim);

    p->indexed[p->n_indexed++] = (struct indexed){.slot = slot, .size = l.size, .stride = l.inner};
}

static size_t offset_of(const struct nuc_eval_call *c, const struct picked *p, size_t element)
{
    size_t offset = nuc_eval_offset(&p->shape, element, p->strides);

    for (uint32_t i = 0; i < p->n_indexed; i++) {
        const struct indexed *x = &p->indexed[i];
        const struct nuc_eval_value *v = &c->values[x->slot];
        int64_t size = (int64_t)x->size;
        int64_t at = nuc_int_at(v->node->vals[v->index].dtype, c->values[v->root].data,
                                nuc_eval_offset(&p->shape, element, x->strides));
        if (at < (p->wraps ? -size : 0) || at >= size)
            nuc_eval_fail(c, "index %lld into %lld elements", (long long)at, (long long)size);
        offset += (size_t)(at < 0 ? at + size : at) * x->stride;
    }
    return offset;
}

/* gather and scatters: an element for each of the index, in the same place but along one dimension. */
static struct picked *pick_along(struct nuc_eval_call *c)
{
    const struct nuc_meta *self = nuc_eval_in_meta(c, NUC_SELF), *index = nuc_eval_in_meta(c, INDEX);
    uint32_t dim = (uint32_t)nuc_dim(c->node, NUC_ARG(GATHER, dim), 0, self->rank);
    struct picked *p = new_picked(c, index);

    add_index(c, p, dim, c->in_slots[INDEX]);
    nuc_eval_broadcast_strides(index, index, p->indexed[0].strides);
    nuc_eval_broadcast_strides(self, self, p->strides);
    p->strides[dim] = 0;
    return p;
}

/*
 * index(self, indices) and index_put: integer tensors, broadcast against each other, pick positions along the
 * dimensions they stand for; None keeps a dimension whole. The picked dimensions stand where the first index stands
 * when the indices are neighbours, else in front.
 */
static struct picked *pick_listed(struct nuc_eval_call *c)
{
    const struct nuc_meta *self = nuc_eval_in_meta(c, NUC_SELF);
    struct nuc_meta chosen = {.rank = 0};
    struct picked *p = new_picked(c, &chosen);
    uint32_t first = 0, last = 0, indexed = 0;

    p->wraps = true;
    for (uint32_t d = 0; d < nuc_eval_list_count(c, INDICES); d++) {
        if (!nuc_eval_list_has(c, INDICES, d))
            continue;
        first = indexed == 0 ? d : first;
        last = d;
        indexed |= 1u << d;
        add_index(c, p, d, c->list_slots[INDICES][d]);
        nuc_eval_join_shapes(&chosen, nuc_eval_list_meta(c, INDICES, d));
    }
    uint32_t at = last - first + 1 == p->n_indexed ? first : 0;
    for (uint32_t d = 0; d <= self->rank; d++) {
        for (uint32_t k = 0; d == at && k < chosen.rank; k++)
            p->shape.sizes[p->shape.rank++] = chosen.sizes[k];
        if (d < self->rank && (indexed >> d & 1) == 0) {
            p->strides[p->shape.rank] = nuc_product_of_dims(self, d + 1, self->rank);
            p->shape.sizes[p->shape.rank++] = self->sizes[d];
        }
    }
    for (uint32_t i = 0; i < p->n_indexed; i++) {
        const struct nuc_eval_value *v = &c->values[p->indexed[i].slot];
        size_t strides[NUC_MAX_RANK];
        nuc_eval_broadcast_strides(&v->node->vals[v->index], &chosen, strides);
        memcpy(p->indexed[i].strides + at, strides, chosen.rank * sizeof *strides);
    }
    return p;
}

/* ---- index, index_select, gather, embedding ---- */

static void prepare_index(struct nuc_eval_call *c)
{
    pick_listed(c);
}

static void prepare_gather(struct nuc_eval_call *c)
{
    pick_along(c);
}

static void prepare_index_select(struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    uint32_t dim = (uint32_t)nuc_dim(c->node, NUC_ARG(INDEX_SELECT, dim), 0, in->rank);
    struct picked *p = new_picked(c, nuc_eval_result(c));

    add_index(c, p, dim, c->in_slots[NUC_ARG(INDEX_SELECT, index)]);
    nuc_eval_broadcast_strides(in, in, p->strides);
    p->strides[dim] = 0;
    p->indexed[0].strides[dim] = 1;
}

static void prepare_embedding(struct nuc_eval_call *c)
{
    const struct nuc_meta *index = nuc_eval_in_meta(c, NUC_ARG(EMBEDDING, indices));
    struct picked *p = new_picked(c, nuc_eval_result(c));

    add_index(c, p, 0, c->in_slots[NUC_ARG(EMBEDDING, indices)]);
    nuc_eval_broadcast_strides(index, index, p->indexed[0].strides);
    p->strides[index->rank] = 1;
}

static void run_pick(const struct nuc_eval_call *c)
{
    const size_t count = nuc_eval_elements(c), size = nuc_dtype_size(nuc_eval_result(c)->dtype);
    const char *in = nuc_eval_in(c, NUC_SELF);

    for (size_t i = 0; i < count; i++)
        memcpy((char *)c->out[0] + i * size, in + offset_of(c, c->state, i) * size, size);
}

const struct nuc_eval_op nuc_eval_index = {.prepare = prepare_index, .run = run_pick};
const struct nuc_eval_op nuc_eval_index_select = {.prepare = prepare_index_select, .run = run_pick};
const struct nuc_eval_op nuc_eval_gather = {.prepare = prepare_gather, .run = run_pick};
const struct nuc_eval_op nuc_eval_embedding = {.prepare = prepare_embedding, .run = run_pick};

/* ---- scatter, index_put ---- */

/* The values that are written are those of an argument. */
static void write_argument(const struct nuc_eval_call *c, struct picked *p, enum combination how, uint32_t src)
{
    enum nuc_dtype dtype = nuc_eval_result(c)->dtype;
    if (how != COMBINE_REPLACE && dtype != NUC_F32 && !nuc_is_integer(dtype))
        nuc_eval_fail(c, "elements of type %s are not combined", nuc_dtype_name(dtype));
    p->how = how;
    p->src = src;
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
    const struct nuc_meta *src = nuc_eval_in_meta(c, NUC_ARG(SCATTER, src));
    struct picked *p = pick_along(c);

    write_argument(c, p,
                   reduces                             ? reduction_of(c)
                   : c->node->op == NUC_OP_SCATTER_ADD ? COMBINE_ADD
                                                       : COMBINE_REPLACE,
                   NUC_ARG(SCATTER, src));
    if (reduces && !nuc_flag(c->node, NUC_ARG(SCATTER_REDUCE, include_self)))
        nuc_eval_fail(c, "the reduction leaves out self");
    nuc_eval_broadcast_strides(src, src, p->src_strides);
}

static void prepare_scatter_value(struct nuc_eval_call *c)
{
    struct picked *p = pick_along(c);
    const struct nuc_arg *value = nuc_arg_at(c->node, NUC_ARG(SCATTER_VALUE, value));

    if (value->kind == NUC_ARG_INT)
        nuc_store_int(nuc_eval_result(c)->dtype, p->value, 0, value->u.i);
    else
        nuc_store_number(
            nuc_eval_result(c)->dtype, p->value, 0,
            nuc_scalar(c->node, NUC_ARG(SCATTER_VALUE, value), nuc_flag(c->node, NUC_ARG(SCATTER_VALUE, value))));
}

static void prepare_index_put(struct nuc_eval_call *c)
{
    struct picked *p = pick_listed(c);
    struct nuc_meta values = *nuc_eval_in_meta(c, NUC_ARG(INDEX_PUT, values));

    while (values.rank > p->shape.rank && values.sizes[0] == 1)
        memmove(values.sizes, values.sizes + 1, --values.rank * sizeof *values.sizes);
    nuc_eval_broadcast_strides(&values, &p->shape, p->src_strides);
    write_argument(c, p, nuc_flag(c->node, NUC_ARG(INDEX_PUT, accumulate)) ? COMBINE_ADD : COMBINE_REPLACE,
                   NUC_ARG(INDEX_PUT, values));
}

static void run_write(const struct nuc_eval_call *c)
{
    const struct picked *p = c->state;
    const struct nuc_meta *out = nuc_eval_result(c);
    const void *src = c->node->op == NUC_OP_SCATTER_VALUE ? p->value : nuc_eval_in(c, p->src);

    memcpy(c->out[0], nuc_eval_in(c, NUC_SELF), nuc_bytes(out));
    for (size_t i = 0; i < (size_t)nuc_elements(&p->shape); i++)
        combine(p->how, out->dtype, c->out[0], offset_of(c, p, i), src, nuc_eval_offset(&p->shape, i, p->src_strides));
}

const struct nuc_eval_op nuc_eval_scatter = {.prepare = prepare_scatter, .run = run_write};
const struct nuc_eval_op nuc_eval_scatter_value = {.prepare = prepare_scatter_value, .run = run_write};
const struct nuc_eval_op nuc_eval_index_put = {.prepare = prepare_index_put, .run = run_write};

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
