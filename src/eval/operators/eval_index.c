/*
 * index(self, indices): integer tensors, broadcast against each other, pick positions along the dimensions they stand
 * for; None keeps a dimension whole. The picked dimensions stand where the first index stands when the indices are
 * neighbours, else in front.
 */
#include <string.h>

#include "eval/eval_private.h"

#define INPUT NUC_ARG(INDEX, self)
#define INDICES NUC_ARG(INDEX, indices)

struct index {
    struct nuc_meta picked; /* common shape of the indices */
    uint32_t picked_at;     /* first of its dimensions in the output */
    uint32_t n_indexed;
    struct indexed {
        uint32_t dim; /* of the input, and place in the list */
        size_t size, stride;
        size_t strides[NUC_MAX_RANK]; /* of the index, by output dimension */
    } indexed[NUC_MAX_RANK];
    size_t strides[NUC_MAX_RANK]; /* of the input, by output dimension; 0 for picked ones */
};

static void add_index(struct nuc_eval_call *c, struct index *x, uint32_t dim)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT);

    /* Dimensions that do not stand together move to the front. */
    if (x->n_indexed == 0)
        x->picked_at = dim;
    else if (x->indexed[x->n_indexed - 1].dim + 1 != dim)
        x->picked_at = 0;
    x->indexed[x->n_indexed++] = (struct indexed){
        .dim = dim, .size = (size_t)in->sizes[dim], .stride = nuc_product_of_dims(in, dim + 1, in->rank)};
    nuc_eval_join_shapes(&x->picked, nuc_eval_list_meta(c, INDICES, dim));
}

static bool is_indexed(const struct nuc_eval_call *c, uint32_t dim)
{
    return dim < nuc_eval_list_count(c, INDICES) && nuc_eval_list_has(c, INDICES, dim);
}

static void prepare(struct nuc_eval_call *c)
{
    struct index *x = nuc_alloc(c->cx, sizeof *x);
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT);
    uint32_t at = 0;

    for (uint32_t d = 0; d < in->rank; d++) {
        if (is_indexed(c, d))
            add_index(c, x, d);
    }
    for (uint32_t i = 0; i < x->n_indexed; i++) {
        size_t strides[NUC_MAX_RANK];
        nuc_eval_broadcast_strides(nuc_eval_list_meta(c, INDICES, x->indexed[i].dim), &x->picked, strides);
        memcpy(x->indexed[i].strides + x->picked_at, strides, x->picked.rank * sizeof *strides);
    }
    /* Dimensions that are kept stand in order around the picked ones. */
    for (uint32_t d = 0; d < in->rank; d++) {
        at += at == x->picked_at ? x->picked.rank : 0;
        if (!is_indexed(c, d))
            x->strides[at++] = nuc_product_of_dims(in, d + 1, in->rank);
    }
    c->state = x;
}

/* Offset in the input of what an index says for an element of the output. */
static size_t indexed_offset(const struct nuc_eval_call *c, const struct indexed *item, size_t element)
{
    size_t place = nuc_eval_offset(nuc_eval_result(c), element, item->strides);
    int64_t value =
        nuc_int_at(nuc_eval_list_meta(c, INDICES, item->dim)->dtype, nuc_eval_list_in(c, INDICES, item->dim), place);

    if (value < -(int64_t)item->size || value >= (int64_t)item->size)
        nuc_eval_fail(c, "index %lld into %zu elements", (long long)value, item->size);
    return (size_t)(value < 0 ? value + (int64_t)item->size : value) * item->stride;
}

static void run(const struct nuc_eval_call *c)
{
    const struct index *x = c->state;
    const struct nuc_meta *out = nuc_eval_result(c);
    size_t count = nuc_eval_elements(c), size = nuc_dtype_size(out->dtype);

    for (size_t i = 0; i < count; i++) {
        size_t offset = nuc_eval_offset(out, i, x->strides);
        for (uint32_t k = 0; k < x->n_indexed; k++)
            offset += indexed_offset(c, &x->indexed[k], i);
        memcpy((char *)c->out[0] + i * size, (const char *)nuc_eval_in(c, INPUT) + offset * size, size);
    }
}

const struct nuc_eval_op nuc_eval_index = {.prepare = prepare, .run = run};
