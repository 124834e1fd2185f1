/*
 * index(self, indices): integer tensors, broadcast against each other, pick positions along the dimensions they stand
 * for; None keeps a dimension whole. The picked dimensions stand where the first index stands when the indices are
 * neighbours, else in front.
 */
#include "compiler/eval/eval_private.h"

enum { INPUT, INDICES };

struct index {
    struct nuc_meta picked; /* common shape of the indices */
    uint32_t picked_at;     /* first of its dimensions in the output */
    uint32_t n_indexed;
    struct indexed {
        uint32_t item; /* of the list */
        size_t size, stride;
        size_t strides[NUC_MAX_RANK]; /* of the index, by dimension of `picked` */
    } indexed[NUC_MAX_RANK];
    size_t strides[NUC_MAX_RANK]; /* of the input, by output dimension; 0 for picked ones */
};

static void join_shapes(const struct nuc_eval_call *c, struct nuc_meta *common, const struct nuc_meta *m)
{
    uint32_t rank = common->rank > m->rank ? common->rank : m->rank;
    struct nuc_meta joined = {.rank = (uint8_t)rank};

    for (uint32_t i = 1; i <= rank; i++) {
        int64_t a = i <= common->rank ? common->sizes[common->rank - i] : 1;
        int64_t b = i <= m->rank ? m->sizes[m->rank - i] : 1;
        if (a != b && a != 1 && b != 1)
            nuc_eval_fail(c, "the indices do not broadcast");
        joined.sizes[rank - i] = a == 1 ? b : a;
    }
    *common = joined;
}

static void add_index(struct nuc_eval_call *c, struct index *x, uint32_t dim)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT), *m = nuc_eval_list_meta(c, INDICES, dim);

    if (m->dtype != NUC_I64 && m->dtype != NUC_I32)
        nuc_eval_fail(c, "an index is %s, only int32 and int64 are computed", nuc_dtype_name(m->dtype));
    x->indexed[x->n_indexed++] = (struct indexed){
        .item = dim, .size = (size_t)in->sizes[dim], .stride = nuc_eval_product(in, dim + 1, in->rank)};
    join_shapes(c, &x->picked, m);
}

/* Input dimensions that are kept, in order around the picked ones. */
static void place_dims(struct nuc_eval_call *c, struct index *x, const bool *is_indexed)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT), *out = nuc_eval_out_meta(c, 0);
    uint32_t at = 0;

    if (out->rank != in->rank - x->n_indexed + x->picked.rank)
        nuc_eval_fail(c, "the result %s does not fit", nuc_meta_text(c->cx, out));
    for (uint32_t d = 0; d < in->rank; d++) {
        if (is_indexed[d])
            continue;
        if (at == x->picked_at)
            at += x->picked.rank;
        if (out->sizes[at] != in->sizes[d])
            nuc_eval_fail(c, "the result %s does not fit", nuc_meta_text(c->cx, out));
        x->strides[at++] = nuc_eval_product(in, d + 1, in->rank);
    }
    for (uint32_t d = 0; d < x->picked.rank; d++) {
        if (out->sizes[x->picked_at + d] != x->picked.sizes[d])
            nuc_eval_fail(c, "the result %s does not fit", nuc_meta_text(c->cx, out));
    }
}

static void prepare(struct nuc_eval_call *c)
{
    struct index *x = nuc_alloc(c->cx, sizeof *x);
    uint32_t count = nuc_eval_list_count(c, INDICES), last = 0;
    bool is_indexed[NUC_MAX_RANK] = {false};

    if (count > nuc_eval_in_meta(c, INPUT)->rank)
        nuc_eval_fail(c, "%u indices for a tensor of rank %u", (unsigned)count,
                      (unsigned)nuc_eval_in_meta(c, INPUT)->rank);
    for (uint32_t d = 0; d < count; d++) {
        is_indexed[d] = nuc_eval_list_has(c, INDICES, d);
        if (!is_indexed[d])
            continue;
        if (x->n_indexed == 0)
            x->picked_at = d;
        else if (d != last + 1)
            x->picked_at = 0;
        last = d;
        add_index(c, x, d);
    }
    for (uint32_t i = 0; i < x->n_indexed; i++)
        nuc_eval_broadcast_strides(nuc_eval_list_meta(c, INDICES, x->indexed[i].item), &x->picked,
                                   x->indexed[i].strides);
    place_dims(c, x, is_indexed);
    c->state = x;
}

/* Offset in the input that the indices give at one place of their common shape. */
static size_t picked_offset(const struct nuc_eval_call *c, const struct index *x, const size_t *at)
{
    size_t offset = 0;

    for (uint32_t i = 0; i < x->n_indexed; i++) {
        const struct indexed *item = &x->indexed[i];
        size_t place = 0;
        for (uint32_t d = 0; d < x->picked.rank; d++)
            place += at[d] * item->strides[d];
        int64_t value = nuc_eval_load_int(nuc_eval_list_meta(c, INDICES, item->item)->dtype,
                                          nuc_eval_list_in(c, INDICES, item->item), place);
        if (value < -(int64_t)item->size || value >= (int64_t)item->size)
            nuc_eval_fail(c, "index %lld into %zu elements", (long long)value, item->size);
        offset += (size_t)(value < 0 ? value + (int64_t)item->size : value) * item->stride;
    }
    return offset;
}

static void run(const struct nuc_eval_call *c)
{
    const struct index *x = c->state;
    const struct nuc_meta *out = nuc_eval_out_meta(c, 0);
    size_t count = (size_t)nuc_elements(out), size = nuc_dtype_size(out->dtype);

    for (size_t i = 0; i < count; i++) {
        size_t at[NUC_MAX_RANK] = {0}, rest = i, offset = 0;
        for (uint32_t d = out->rank; d-- > 0;) {
            at[d] = rest % (size_t)out->sizes[d];
            rest /= (size_t)out->sizes[d];
            offset += at[d] * x->strides[d];
        }
        offset += picked_offset(c, x, at + x->picked_at);
        nuc_eval_copy_strided((char *)c->out[0] + i * size, (const char *)nuc_eval_in(c, INPUT) + offset * size, 1, 1,
                              size);
    }
}

const struct nuc_eval_op nuc_eval_index = {.prepare = prepare, .run = run};
