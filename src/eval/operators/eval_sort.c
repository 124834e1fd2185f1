/*
 * topk and sort: values along one dimension in order of size, and where they were. Equal values keep their order; a NaN
 * counts as larger than every number, as in torch.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval_private.h"

struct sort {
    uint32_t dim;
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
    s->dim = (uint32_t)nuc_dim(c->node, dim, -1, in->rank == 0 ? 1 : in->rank);
    s->descending = nuc_flag(c->node, op == NUC_OP_TOPK   ? NUC_ARG(TOPK, largest)
                                      : op == NUC_OP_SORT ? NUC_ARG(SORT, descending)
                                                          : NUC_ARG(SORT_STABLE, descending));
    c->scratch_size = (in->rank == 0 ? 1 : (size_t)in->sizes[s->dim]) * sizeof(struct ranked);
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
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF);
    struct nuc_meta out = c->node->vals[0];
    struct ranked *line = c->scratch;
    bool whole = nuc_is_integer(in->dtype);
    size_t bytes = nuc_dtype_size(in->dtype), size = in->rank == 0 ? 1 : (size_t)in->sizes[s->dim];
    size_t kept = in->rank == 0 ? (size_t)nuc_elements(&out) : (size_t)out.sizes[s->dim];
    size_t inner = in->rank == 0 ? 1 : nuc_product_of_dims(in, s->dim + 1, in->rank);
    size_t outer = in->rank == 0 ? 1 : nuc_product_of_dims(in, 0, s->dim);

    for (size_t o = 0; o < outer; o++) {
        for (size_t n = 0; n < inner; n++) {
            for (size_t i = 0; i < size; i++) {
                size_t at = (o * size + i) * inner + n;
                line[i] = (struct ranked){.place = (int64_t)i};
                if (whole)
                    line[i].whole = nuc_int_at(in->dtype, nuc_eval_in(c, NUC_SELF), at);
                else
                    line[i].real = nuc_number_at(in->dtype, nuc_eval_in(c, NUC_SELF), at);
            }
            qsort(line, size, sizeof *line, s->descending ? descending : ascending);
            for (size_t i = 0; i < kept; i++) {
                size_t to = (o * kept + i) * inner + n, from = (o * size + (size_t)line[i].place) * inner + n;
                memcpy((char *)c->out[0] + to * bytes, (const char *)nuc_eval_in(c, NUC_SELF) + from * bytes, bytes);
                ((int64_t *)c->out[1])[to] = line[i].place;
            }
        }
    }
}

const struct nuc_eval_op nuc_eval_sort = {.prepare = prepare, .run = run};
