/*
 * What a loop does to each part of one value alone, as the linear layer of a cell's input: the same layer, norm or
 * function of every index of a dimension becomes one of the whole value, whose results are cut into the parts. One
 * product of many rows takes a fraction of the time of many products of one row.
 */
#include "ir/args.h"
#include "ir/op_list.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"

#define FEWEST_STEPS 3
#define MOST_ELEMENTS 16384 /* of a result that is more than twice as large as what is read */

/* One index of a dimension that is not the last one. */
struct step {
    struct nuc_taken taken;
    bool squeezed; /* the dimension is gone */
};

static bool read_step(const struct nuc_node *node, struct step *s)
{
    const struct nuc_node *value = nuc_arg_node(node, NUC_SELF);

    s->squeezed = value != NULL && value->op == NUC_OP_SQUEEZE_DIM;
    if (!nuc_takes_one(s->squeezed ? nuc_arg_node(value, NUC_SELF) : value, &s->taken) || nuc_is_static(s->taken.of))
        return false;
    const struct nuc_meta *m = &s->taken.of->vals[0];
    return s->taken.dim + 1 < m->rank && m->sizes[s->taken.dim] != 1 &&
           (!s->squeezed || nuc_dim(value, NUC_ARG(SQUEEZE_DIM, dim), 0, m->rank) == s->taken.dim);
}

static bool is_same_argument(const struct nuc_arg *a, const struct nuc_arg *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == NUC_ARG_NODE)
        return a->u.node == b->u.node && nuc_is_static(a->u.node);
    if (a->kind == NUC_ARG_INTS)
        return a->count == 1 && b->count == 1 && a->u.ints[0] == b->u.ints[0];
    return a->kind == NUC_ARG_FLOAT  ? nuc_numbers_equal(a->u.f, b->u.f)
           : a->kind == NUC_ARG_BOOL ? a->u.b == b->u.b
                                     : a->kind == NUC_ARG_NONE;
}

/* Functions of the last dimension, or of each value. */
#define BY_ROWS NUC_OPS(NUC_OP_LINEAR, NUC_OP_LAYER_NORM, NUC_OP_RELU, NUC_OP_TANH, NUC_OP_SIGMOID, NUC_OP_SILU)

static bool is_same_of(const struct nuc_node *node, const struct nuc_node *other, const struct step *s)
{
    struct step of;
    bool same = other->op == node->op && other->n_args == node->n_args && other->n_users > 0 && !other->in_place &&
                read_step(other, &of) && of.taken.of == s->taken.of && of.taken.dim == s->taken.dim;

    for (uint32_t i = 1; same && i < node->n_args; i++)
        same = is_same_argument(&node->args[i], &other->args[i]);
    return same;
}

/* The nodes that do the same to other steps of the value, `node` among them; NULL: too few, or of less than half of it.
 */
static struct nuc_node **same_of(struct nuc_graph *g, const struct nuc_node *node, const struct step *s,
                                 uint32_t *count)
{
    struct nuc_node **found = NULL;
    size_t capacity = 0;

    *count = 0;
    for (uint32_t i = 0; i < s->taken.of->n_users; i++) {
        struct nuc_node *slice = s->taken.of->users[i];
        for (uint32_t k = 0; k < slice->n_users; k++) {
            struct nuc_node *user = slice->users[k];
            bool squeezes = user->op == NUC_OP_SQUEEZE_DIM;
            for (uint32_t r = 0; r < (squeezes ? user->n_users : 1); r++) {
                struct nuc_node *reader = squeezes ? user->users[r] : user;
                if (!is_same_of(node, reader, s))
                    continue;
                found = nuc_grow(g->cx, found, &capacity, *count + 1, sizeof(*found));
                found[(*count)++] = reader;
            }
        }
    }
    return *count >= FEWEST_STEPS && 2 * (int64_t)*count >= s->taken.of->vals[0].sizes[s->taken.dim] ? found : NULL;
}

/* Of the earliest node, in front of which nothing else reads a part. */
static bool join_steps(struct nuc_graph *g, struct nuc_node *node)
{
    struct step s;
    uint32_t count;

    if (!read_step(node, &s) || !is_same_of(node, node, &s))
        return false;
    const struct nuc_meta *m = &s.taken.of->vals[0], *row = &node->vals[0];
    const int64_t elements = nuc_elements(row) * m->sizes[s.taken.dim];
    if (elements > MOST_ELEMENTS && elements > 2 * (int64_t)nuc_elements(m))
        return false;
    struct nuc_node **same = same_of(g, node, &s, &count);
    if (same == NULL)
        return false;
    struct nuc_node *all = nuc_emit_like(g, node, node, NUC_ARGS(nuc_node_arg(s.taken.of)));
    for (uint32_t i = 0; i < count; i++) {
        struct step of;
        read_step(same[i], &of);
        struct nuc_node *part = nuc_insert_slice(g, same[i], all, of.taken.dim, of.taken.at, of.taken.at + 1);
        if (of.squeezed)
            part = nuc_insert_with_dim(g, same[i], NUC_OP_SQUEEZE_DIM, part, of.taken.dim);
        nuc_replace_uses(g, same[i], part, NULL);
    }
    return true;
}

bool nuc_join_steps(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, BY_ROWS, join_steps);
}
