/*
 * index_select, gather and embedding: each element of the result is one of the input, whose place along one dimension
 * an index says. Any element type.
 */
#include <string.h>

#include "eval/eval_private.h"

struct gather {
    uint32_t in, index;                 /* arguments */
    size_t size, stride;                /* of the input along the dimension */
    size_t in_strides[NUC_MAX_RANK];    /* of the input by dimension of the result; 0 along the dimension */
    size_t index_strides[NUC_MAX_RANK]; /* of the index, likewise */
};

static struct gather *new_gather(struct nuc_eval_call *c, uint32_t in, uint32_t index, uint32_t dim)
{
    struct gather *s = nuc_alloc(c->cx, sizeof *s);
    const struct nuc_meta *m = nuc_eval_in_meta(c, in);

    *s = (struct gather){.in = in, .index = index, .size = 1, .stride = 1};
    if (m->rank > 0) {
        s->size = (size_t)m->sizes[dim];
        s->stride = nuc_product_of_dims(m, dim + 1, m->rank);
    }
    c->state = s;
    return s;
}

static void prepare_index_select(struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    uint32_t dim = (uint32_t)nuc_dim(c->node, NUC_ARG(INDEX_SELECT, dim), 0, in->rank);
    struct gather *s = new_gather(c, NUC_SELF, NUC_ARG(INDEX_SELECT, index), dim);

    for (uint32_t d = 0; d < in->rank; d++) {
        s->in_strides[d] = d == dim ? 0 : nuc_product_of_dims(in, d + 1, in->rank);
        s->index_strides[d] = d == dim ? 1 : 0;
    }
}

static void prepare_gather(struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF), *index = nuc_eval_in_meta(c, NUC_ARG(GATHER, index));
    uint32_t dim = (uint32_t)nuc_dim(c->node, NUC_ARG(GATHER, dim), 0, in->rank);
    struct gather *s = new_gather(c, NUC_SELF, NUC_ARG(GATHER, index), dim);

    for (uint32_t d = 0; d < index->rank; d++) {
        s->in_strides[d] = d == dim || in->rank == 0 ? 0 : nuc_product_of_dims(in, d + 1, in->rank);
        s->index_strides[d] = nuc_product_of_dims(index, d + 1, index->rank);
    }
}

static void prepare_embedding(struct nuc_eval_call *c)
{
    const struct nuc_meta *index = nuc_eval_in_meta(c, NUC_ARG(EMBEDDING, indices));
    struct gather *s = new_gather(c, NUC_ARG(EMBEDDING, weight), NUC_ARG(EMBEDDING, indices), 0);

    for (uint32_t d = 0; d < index->rank; d++)
        s->index_strides[d] = nuc_product_of_dims(index, d + 1, index->rank);
    s->in_strides[index->rank] = 1;
}

static void run(const struct nuc_eval_call *c)
{
    const struct gather *s = c->state;
    const struct nuc_meta *out = nuc_eval_result(c);
    enum nuc_dtype dtype = nuc_eval_in_meta(c, s->index)->dtype;
    const char *in = nuc_eval_in(c, s->in);
    size_t count = nuc_eval_elements(c), size = nuc_dtype_size(out->dtype);

    for (size_t i = 0; i < count; i++) {
        int64_t at = nuc_int_at(dtype, nuc_eval_in(c, s->index), nuc_eval_offset(out, i, s->index_strides));
        if (at < 0 || at >= (int64_t)s->size)
            nuc_eval_fail(c, "index %lld into %zu elements", (long long)at, s->size);
        size_t from = nuc_eval_offset(out, i, s->in_strides) + (size_t)at * s->stride;
        memcpy((char *)c->out[0] + i * size, in + from * size, size);
    }
}

const struct nuc_eval_op nuc_eval_index_select = {.prepare = prepare_index_select, .run = run};
const struct nuc_eval_op nuc_eval_gather = {.prepare = prepare_gather, .run = run};
const struct nuc_eval_op nuc_eval_embedding = {.prepare = prepare_embedding, .run = run};
