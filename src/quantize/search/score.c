#include "quantize/search/score.h"

#include <math.h>

#include "host/numbers.h"
#include "ir/args.h"

/* The same values in another order, shape or type, or rounded. */
static bool keeps_values(const struct nuc_node *n)
{
    return nuc_is_quantization(n) || nuc_op_rearranges(n->op) || nuc_op_family(n->op) == NUC_FAMILY_CAST ||
           n->op == NUC_OP_GETITEM;
}

static bool ranks(const struct nuc_node *n)
{
    return n->op == NUC_OP_ARGMAX || n->op == NUC_OP_ARGMIN || nuc_op_family(n->op) == NUC_FAMILY_ORDER;
}

static bool is_float(const struct nuc_node *n)
{
    return n != NULL && n->n_vals > 0 && n->vals[0].dtype == NUC_F32;
}

/* What makes the values, past moves. */
static const struct nuc_node *maker(const struct nuc_node *n)
{
    while (n != NULL && keeps_values(n) && nuc_arg_node(n, NUC_SELF) != NULL)
        n = nuc_arg_node(n, NUC_SELF);
    return n;
}

static bool is_softmax_of_rows(const struct nuc_node *n)
{
    const struct nuc_node *in = n == NULL ? NULL : nuc_arg_node(n, NUC_SELF);

    return in != NULL && nuc_op_family(n->op) == NUC_FAMILY_SOFTMAX && is_float(in) && in->vals[0].rank > 0 &&
           nuc_dim(n, NUC_ARG(SOFTMAX, dim), -1, in->vals[0].rank) == (int64_t)in->vals[0].rank - 1;
}

static struct nuc_score score_of(const struct nuc_node *output)
{
    const struct nuc_node *made = maker(output);
    const struct nuc_node *logged = made != NULL && made->op == NUC_OP_LOG ? maker(nuc_arg_node(made, NUC_SELF)) : NULL;

    if (is_softmax_of_rows(logged))
        made = logged;
    if (made != NULL && ranks(made) && is_float(nuc_arg_node(made, NUC_SELF)))
        return score_of(nuc_arg_node(made, NUC_SELF));
    const struct nuc_node *in = made != NULL && is_softmax_of_rows(made) ? nuc_arg_node(made, NUC_SELF) : NULL;
    if (in != NULL)
        return (struct nuc_score){.node = in, .row = (size_t)in->vals[0].sizes[in->vals[0].rank - 1]};
    return (struct nuc_score){.node = is_float(output) ? output : NULL};
}

/* Concatenations of concatenations, as of levels and of what each of them detects. */
#define MOST_DEPTH 3

/* Of more parts all are compared as one. */
#define MOST_PARTS 32

static const struct nuc_arg *parts_of(const struct nuc_node *node, int depth)
{
    const struct nuc_node *made = depth > 0 ? maker(node) : NULL;

    return made != NULL && made->op == NUC_OP_CAT && is_float(made) ? nuc_arg_at(made, NUC_ARG(CAT, tensors)) : NULL;
}

static size_t count_parts(const struct nuc_node *node, int depth)
{
    const struct nuc_arg *parts = parts_of(node, depth);
    size_t count = parts == NULL;

    for (uint32_t i = 0; parts != NULL && i < parts->count; i++)
        count += count_parts(parts->u.nodes[i], depth - 1);
    return count;
}

struct list {
    struct nuc_score *scores;
    size_t count, capacity;
    size_t output, part; /* that come next */
};

static void add(struct nuc_graph *g, struct list *l, struct nuc_score s)
{
    bool known = s.node == NULL || nuc_is_static(s.node);

    for (size_t k = 0; k < l->count; k++)
        known = known || l->scores[k].node == s.node;
    s.output = l->output;
    s.part = l->part++;
    if (known)
        return;
    l->scores = nuc_grow(g->cx, l->scores, &l->capacity, l->count + 1, sizeof *l->scores);
    l->scores[l->count++] = s;
}

/* A softmax beside values of other units is compared as it is: their steps are its own. */
static void add_parts(struct nuc_graph *g, struct list *l, const struct nuc_node *node, int depth)
{
    const struct nuc_arg *parts = parts_of(node, depth);

    if (parts == NULL)
        add(g, l, (struct nuc_score){.node = is_float(node) ? node : NULL});
    for (uint32_t i = 0; parts != NULL && i < parts->count; i++)
        add_parts(g, l, parts->u.nodes[i], depth - 1);
}

struct nuc_score *nuc_scores(struct nuc_graph *g, size_t *count)
{
    const struct nuc_arg *outputs = nuc_arg_at(g->last, NUC_ARG(OUTPUT, values));
    struct list l = {.count = 0};

    for (uint32_t i = 0; i < outputs->count; i++) {
        size_t parts = count_parts(outputs->u.nodes[i], MOST_DEPTH);
        l.output = i;
        l.part = 0;
        if (parts > 1 && parts <= MOST_PARTS)
            add_parts(g, &l, outputs->u.nodes[i], MOST_DEPTH);
        else
            add(g, &l, score_of(outputs->u.nodes[i]));
    }
    *count = l.count;
    return l.scores;
}

bool nuc_are_same_score(const struct nuc_score *a, const struct nuc_score *b)
{
    return a->output == b->output && a->part == b->part && a->row == b->row &&
           nuc_elements(&a->node->vals[0]) == nuc_elements(&b->node->vals[0]);
}

/* ---- errors ---- */

/* The spread of the values, or 1 where it is less. */
static double temperature(const float *x, size_t count)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < count; i++)
        sum += (double)x[i];
    for (size_t i = 0; i < count; i++)
        squares += ((double)x[i] - sum / (double)count) * ((double)x[i] - sum / (double)count);
    double spread = sqrt(squares / (double)count);
    return spread > 1 ? spread : 1;
}

static double largest(const float *x, size_t count)
{
    double most = (double)x[0];

    for (size_t i = 1; i < count; i++)
        most = (double)x[i] > most ? (double)x[i] : most;
    return most;
}

static void add_row(struct nuc_sqnr *s, const float *reference, const float *x, size_t count)
{
    double t = temperature(reference, count), a = largest(reference, count), b = largest(x, count);
    double sum_a = 0, sum_b = 0;

    for (size_t i = 0; i < count; i++) {
        sum_a += exp(((double)reference[i] - a) / t);
        sum_b += exp(((double)x[i] - b) / t);
    }
    for (size_t i = 0; i < count; i++) {
        double p = exp(((double)reference[i] - a) / t) / sum_a, q = exp(((double)x[i] - b) / t) / sum_b;
        s->signal += p * p;
        s->noise += (p - q) * (p - q);
    }
}

struct nuc_sqnr nuc_score_error(const struct nuc_score *s, const float *reference, const float *x)
{
    struct nuc_sqnr sum = {0, 0};
    size_t count = (size_t)nuc_elements(&s->node->vals[0]);

    if (s->row == 0)
        nuc_sqnr_add(&sum, reference, x, count);
    for (size_t i = 0; s->row != 0 && i < count; i += s->row)
        add_row(&sum, reference + i, x + i, s->row);
    return sum;
}
