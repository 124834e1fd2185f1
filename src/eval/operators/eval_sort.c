/*
 * topk and sort: values along one dimension in order of size, and where they were. Equal values keep their order; a NaN
 * counts as larger than every number, as in torch.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval_call.h"

struct sort {
    struct nuc_eval_lines in, out;
    bool descending;
};

/* A value and its place in the line. */
struct ranked {
    double real;
    int64_t whole;
    int64_t place;
};

static void prepare(struct nuc_eval_call *c)
{
    struct sort *s = nuc_alloc(c->cx, sizeof *s);
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    enum nuc_op op = c->node->op;
    uint32_t dim = op == NUC_OP_TOPK   ? NUC_ARG(TOPK, dim)
                   : op == NUC_OP_SORT ? NUC_ARG(SORT, dim)
                                       : NUC_ARG(SORT_STABLE, dim);

    if (!nuc_eval_can_convert(in->dtype))
        nuc_eval_fail(c, "%s is not sorted", nuc_dtype_name(in->dtype));
    dim = (uint32_t)nuc_dim(c->node, dim, -1, in->rank == 0 ? 1 : in->rank);
    s->in = nuc_eval_lines_of(in, dim);
    s->out = nuc_eval_lines_of(nuc_eval_result(c), dim);
    s->descending = nuc_flag(c->node, op == NUC_OP_TOPK   ? NUC_ARG(TOPK, largest)
                                      : op == NUC_OP_SORT ? NUC_ARG(SORT, descending)
                                                          : NUC_ARG(SORT_STABLE, descending));
    c->scratch_size = s->in.size * sizeof(struct ranked);
    c->state = s;
}

static int compare_reals(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int ascending(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    int order = a->whole == b->whole ? compare_reals(a->real, b->real) : (a->whole > b->whole) - (a->whole < b->whole);

    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

static int descending(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    int order = a->whole == b->whole ? compare_reals(a->real, b->real) : (a->whole > b->whole) - (a->whole < b->whole);

    return order != 0 ? -order : (a->place > b->place) - (a->place < b->place);
}

static void run(const struct nuc_eval_call *c)
{
    const struct sort *s = c->state;
    enum nuc_dtype dtype = nuc_eval_in_meta(c, NUC_SELF)->dtype;
    const void *in = nuc_eval_in(c, NUC_SELF);
    struct ranked *ranks = c->scratch;
    size_t bytes = nuc_dtype_size(dtype);

    for (size_t line = 0; line < s->in.outer * s->in.inner; line++) {
        size_t from = nuc_eval_line(&s->in, line), to = nuc_eval_line(&s->out, line);
        for (size_t i = 0; i < s->in.size; i++) {
            size_t at = from + i * s->in.inner;
            ranks[i] = (struct ranked){.place = (int64_t)i};
            if (nuc_is_integer(dtype))
                ranks[i].whole = nuc_int_at(dtype, in, at);
            else
                ranks[i].real = nuc_number_at(dtype, in, at);
        }
        qsort(ranks, s->in.size, sizeof *ranks, s->descending ? descending : ascending);
        for (size_t i = 0; i < s->out.size; i++, to += s->out.inner) {
            size_t at = from + (size_t)ranks[i].place * s->in.inner;
            memcpy((char *)c->out[0] + to * bytes, (const char *)in + at * bytes, bytes);
            ((int64_t *)c->out[1])[to] = ranks[i].place;
        }
    }
}

const struct nuc_eval_op nuc_eval_sort = {.prepare = prepare, .run = run};
