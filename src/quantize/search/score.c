#include "quantize/search/score.h"

#include <math.h>

#include "host/numbers.h"
#include "ir/args.h"

/* The same values in another order, shape or type, or rounded. */
static bool keeps_values(const struct nuc_node *n)
{
    enum nuc_family f = nuc_op_family(n->op);

    return nuc_is_quantize(n) || nuc_is_dequantize(n) || f == NUC_FAMILY_VIEW || f == NUC_FAMILY_PERMUTE ||
           f == NUC_FAMILY_COPY || f == NUC_FAMILY_CAST || n->op == NUC_OP_GETITEM;
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

struct nuc_score *nuc_scores(struct nuc_graph *g, size_t *count)
{
    const struct nuc_arg *outputs = nuc_arg_at(g->last, NUC_ARG(OUTPUT, values));
    struct nuc_score *scores = nuc_alloc_array(g->cx, outputs->count, sizeof *scores);

    *count = 0;
    for (uint32_t i = 0; i < outputs->count; i++) {
        struct nuc_score s = score_of(outputs->u.nodes[i]);
        bool known = s.node == NULL || nuc_is_static(s.node);
        s.output = i;
        for (size_t k = 0; k < *count; k++)
            known = known || scores[k].node == s.node;
        if (!known)
            scores[(*count)++] = s;
    }
    return scores;
}

bool nuc_are_same_score(const struct nuc_score *a, const struct nuc_score *b)
{
    return a->output == b->output && a->row == b->row &&
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
