#include "ir/args.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"

static bool is_float_vector(const struct nuc_node *node, int64_t length)
{
    return nuc_is_static_float(node) && node->vals[0].rank == 1 && node->vals[0].sizes[0] == length;
}

/* bias + alpha * other, or NULL when the addition is not one of a bias. */
static struct nuc_node *fused_bias(struct nuc_graph *g, struct nuc_node *linear, struct nuc_node *other, float alpha)
{
    struct nuc_node *bias = nuc_arg_node(linear, NUC_ARG(LINEAR, bias));
    int64_t features = nuc_operand(g, linear, NUC_ARG(LINEAR, weight))->vals[0].sizes[0];

    if (!is_float_vector(other, features) || (bias != NULL && !is_float_vector(bias, features)))
        return NULL;
    if (bias == NULL && !(alpha < 1.0f) && !(alpha > 1.0f))
        return other;
    const float *a = bias != NULL ? nuc_const_contiguous(g, bias) : NULL, *b = nuc_const_contiguous(g, other);
    float *sum = nuc_alloc_array(g->cx, (size_t)features, sizeof *sum);
    for (size_t i = 0; i < (size_t)features; i++) {
        float term = b[i] * alpha;
        sum[i] = a != NULL ? a[i] + term : term;
    }
    return nuc_add_parameter(g, bias != NULL ? bias : other, bias != NULL ? "combined0" : "_combined", &other->vals[0],
                             sum);
}

bool nuc_fuse_linear_add(struct nuc_graph *g)
{
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct nuc_node *add = n->op == NUC_OP_LINEAR && n->n_users == 1 ? n->users[0] : NULL;
        if (add == NULL || add->op != NUC_OP_ADD || nuc_arg_node(add, NUC_SELF) != n ||
            nuc_arg_node(add, NUC_OTHER) == n)
            continue;
        struct nuc_node *bias =
            fused_bias(g, n, nuc_arg_node(add, NUC_OTHER), (float)nuc_scalar(add, NUC_ARG(ADD, alpha), 1.0));
        if (bias == NULL)
            continue;
        nuc_set_arg_node(n, g, NUC_ARG(LINEAR, bias), bias);
        nuc_replace_uses(g, add, n, NULL);
        nuc_remove_node(g, add);
        changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}

/* ---- layers that follow each other ---- */

/* Whether a view keeps the rows of what it reads. */
static bool keeps_rows(const struct nuc_node *view)
{
    const struct nuc_node *input = nuc_arg_node(view, NUC_SELF);
    const struct nuc_meta *out = &view->vals[0];

    return nuc_op_family(view->op) == NUC_FAMILY_VIEW && input != NULL && input->vals[0].rank > 0 && out->rank > 0 &&
           input->vals[0].sizes[input->vals[0].rank - 1] == out->sizes[out->rank - 1];
}

/* The layer whose rows `linear` reads, perhaps behind views that keep them; NULL: something else reads them, too. */
static struct nuc_node *layer_before(const struct nuc_node *linear)
{
    struct nuc_node *at = nuc_arg_node(linear, NUC_ARG(LINEAR, input));

    while (at != NULL && at->n_users == 1 && keeps_rows(at))
        at = nuc_arg_node(at, NUC_SELF);
    return at != NULL && at->n_users == 1 && at->op == NUC_OP_LINEAR ? at : NULL;
}

static bool is_float_matrix(const struct nuc_node *node)
{
    return nuc_is_static_float(node) && node->vals[0].rank == 2;
}

/* Rows of w [rows, n] times m [n, columns], and `start` where it is not NULL. */
static float *product(struct nuc_graph *g, const float *w, const float *m, const float *start, const int64_t size[3])
{
    float *out = nuc_alloc_array(g->cx, (size_t)(size[0] * size[2]) + 1, sizeof *out);

    for (int64_t i = 0; i < size[0]; i++) {
        for (int64_t k = 0; k < size[2]; k++) {
            double sum = start != NULL ? (double)start[i * size[2] + k] : 0;
            for (int64_t j = 0; j < size[1]; j++)
                sum += (double)w[i * size[1] + j] * (double)m[j * size[2] + k];
            out[i * size[2] + k] = (float)sum;
        }
    }
    return out;
}

static bool fuse_linears(struct nuc_graph *g, struct nuc_node *linear)
{
    struct nuc_node *inner = layer_before(linear), *value = nuc_arg_node(linear, NUC_ARG(LINEAR, input));
    struct nuc_node *w[2] = {inner != NULL ? nuc_arg_node(inner, NUC_ARG(LINEAR, weight)) : NULL,
                             nuc_arg_node(linear, NUC_ARG(LINEAR, weight))};
    struct nuc_node *b[2] = {inner != NULL ? nuc_arg_node(inner, NUC_ARG(LINEAR, bias)) : NULL,
                             nuc_arg_node(linear, NUC_ARG(LINEAR, bias))};

    if (inner == NULL || value == NULL || !is_float_matrix(w[0]) || !is_float_matrix(w[1]))
        return false;
    int64_t in = w[0]->vals[0].sizes[1], between = w[0]->vals[0].sizes[0], out = w[1]->vals[0].sizes[0];
    if ((b[0] != NULL && !is_float_vector(b[0], between)) || (b[1] != NULL && !is_float_vector(b[1], out)) ||
        w[1]->vals[0].sizes[1] != between || out * in > between * (in + out))
        return false;
    const float *outer = nuc_const_contiguous(g, w[1]);
    const float *bias = b[1] != NULL ? nuc_const_contiguous(g, b[1]) : NULL;
    const struct nuc_meta weight = nuc_meta_make(NUC_F32, (const int64_t[]){out, in}, 2);
    const struct nuc_meta sums = nuc_meta_make(NUC_F32, &out, 1);
    struct nuc_node *fused =
        nuc_add_parameter(g, w[1], "_fused", &weight,
                          product(g, outer, nuc_const_contiguous(g, w[0]), NULL, (const int64_t[]){out, between, in}));
    if (b[0] != NULL)
        b[1] = nuc_add_parameter(
            g, b[0], "_fused", &sums,
            product(g, outer, nuc_const_contiguous(g, b[0]), bias, (const int64_t[]){out, between, 1}));
    struct nuc_node *one =
        nuc_emit(g, inner, NUC_OP_LINEAR, linear, NUC_ARGS(nuc_arg_node(inner, NUC_ARG(LINEAR, input)), fused, b[1]));
    nuc_replace_uses(g, linear, nuc_insert_reshaped(g, linear, one, linear->vals[0].sizes, linear->vals[0].rank), NULL);
    return true;
}

bool nuc_fuse_linears(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_LINEAR), fuse_linears);
}
