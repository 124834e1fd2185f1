/*
 * What a loop does to each part of one value alone, as the linear layer of a cell's input, or to the same part of two,
 * as products with gates that do not depend on the state: the same layer, norm or function of every index of a
 * dimension becomes one of the whole values, whose results are cut into the parts. One product of many rows takes a
 * fraction of the time of many products of one row.
 */
#include <string.h>

#include "ir/args.h"
#include "ir/op_list.h"
#include "rewrite/formula/formula.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"
#include "rewrite/recognize/written.h"

#define FEWEST_STEPS 3
#define FEWEST_TURNED 8      /* steps that are worth a transposition */
#define FEWEST_PRODUCTS 4096 /* with a step: fewer take no more time than adding up what two layers make */
#define MOST_ELEMENTS 16384  /* of a result that is more than twice as large as what is read */

/* One index of a dimension that is not the last one. */
struct step {
    struct nuc_taken taken;
    bool squeezed; /* the dimension is gone */
};

static bool is_step(const struct nuc_node *value, struct step *s)
{
    s->squeezed = value != NULL && value->op == NUC_OP_SQUEEZE_DIM;
    if (!nuc_takes_one(s->squeezed ? nuc_arg_node(value, NUC_SELF) : value, &s->taken) || nuc_is_static(s->taken.of))
        return false;
    const struct nuc_meta *m = &s->taken.of->vals[0];
    return s->taken.dim + 1 < m->rank && m->sizes[s->taken.dim] != 1 &&
           (!s->squeezed || nuc_dim(value, NUC_ARG(SQUEEZE_DIM, dim), 0, m->rank) == s->taken.dim);
}

/* Functions of the last dimension, or of each value. */
#define BY_ROWS                                                                                                        \
    NUC_OPS(NUC_OP_LINEAR, NUC_OP_LAYER_NORM, NUC_OP_RELU, NUC_OP_TANH, NUC_OP_SIGMOID, NUC_OP_SILU, NUC_OP_EXP,       \
            NUC_OP_NEG, NUC_OP_SOFTPLUS, NUC_OP_ADD, NUC_OP_SUB, NUC_OP_MUL)

static bool has_two(const struct nuc_node *node)
{
    return node->op == NUC_OP_ADD || node->op == NUC_OP_SUB || node->op == NUC_OP_MUL;
}

/* The step that a node computes with: of two operands that are steps both are the same one. */
static bool read_step(const struct nuc_node *node, struct step *s)
{
    struct step other;
    bool first = is_step(nuc_arg_node(node, NUC_SELF), s);

    if (!has_two(node) || !is_step(nuc_arg_node(node, NUC_OTHER), first ? &other : s))
        return first;
    return !first || (s->taken.dim == other.taken.dim && s->taken.at == other.taken.at &&
                      s->squeezed == other.squeezed && s->taken.of->vals[0].rank == other.taken.of->vals[0].rank &&
                      s->taken.of->vals[0].sizes[s->taken.dim] == other.taken.of->vals[0].sizes[s->taken.dim]);
}

static bool is_same_argument(struct nuc_graph *g, const struct nuc_arg *a, const struct nuc_arg *b)
{
    if (a->kind == NUC_ARG_NODE && b->kind == NUC_ARG_NODE)
        return a->u.node != NULL && nuc_is_static(a->u.node) && nuc_is_same_number(g, a->u.node, b->u.node);
    return a->kind == b->kind && (a->kind != NUC_ARG_INTS || a->count == 1) && nuc_same_value(a, b);
}

/* Behind the dimension of the steps, or a number that leaves the step its dimensions: it is the same beside all. */
static bool stands_beside(const struct nuc_node *node, const struct step *s)
{
    const uint32_t rank = s->taken.of->vals[0].rank;

    return node->vals[0].rank <= rank - (nuc_elements(&node->vals[0]) == 1 ? s->squeezed : (uint32_t)s->taken.dim + 1);
}

/* An operand that is a step is one of the same value; what else there is is the same. */
static bool is_same_operand(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *other, uint32_t i,
                            const struct step *s)
{
    const struct nuc_node *value = nuc_arg_node(node, i);
    bool may_be_step = i == NUC_SELF || (i == NUC_OTHER && has_two(node));
    struct step a, b;

    if (!may_be_step || !is_step(value, &a))
        return is_same_argument(g, &node->args[i], &other->args[i]) && (!may_be_step || stands_beside(value, s));
    return is_step(nuc_arg_node(other, i), &b) && a.taken.of == b.taken.of && a.taken.dim == b.taken.dim &&
           a.squeezed == b.squeezed;
}

static bool is_same_of(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *other,
                       const struct step *s)
{
    struct step of;
    bool same = other->op == node->op && other->n_args == node->n_args && other->n_users > 0 && !other->in_place &&
                read_step(other, &of) && of.taken.of == s->taken.of && of.taken.dim == s->taken.dim;

    for (uint32_t i = 0; same && i < node->n_args; i++)
        same = is_same_operand(g, node, other, i, s);
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
                if (!is_same_of(g, node, reader, s) || (*count > 0 && found[*count - 1] == reader))
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

    if (!read_step(node, &s) || !is_same_of(g, node, node, &s))
        return false;
    const struct nuc_meta *m = &s.taken.of->vals[0], *row = &node->vals[0];
    const int64_t elements = nuc_elements(row) * m->sizes[s.taken.dim];
    if (elements > MOST_ELEMENTS && elements > 2 * (int64_t)nuc_elements(m))
        return false;
    struct nuc_node **same = same_of(g, node, &s, &count);
    if (same == NULL)
        return false;
    struct nuc_arg operands[2] = {node->args[NUC_SELF], node->args[NUC_OTHER]};
    for (uint32_t i = 0; i < (has_two(node) ? 2 : 1); i++) {
        struct step of;
        if (is_step(nuc_arg_node(node, i), &of))
            operands[i] = nuc_node_arg(of.taken.of);
    }
    struct nuc_node *all = nuc_emit_like(g, node, node, operands, has_two(node) ? 2 : 1);
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

/* ---- a layer of a step and of the state beside it ---- */

enum { NEITHER = 2 };

/* w(cat([x[:, t], h], -1)): which of the two is the step. */
static uint32_t step_beside_state(const struct nuc_node *node, struct step *s, struct nuc_node *parts[2])
{
    const struct nuc_node *cat = nuc_arg_node(node, NUC_SELF);
    struct step other;

    if (cat == NULL || cat->op != NUC_OP_CAT || cat->args[NUC_SELF].count != 2 ||
        nuc_dim(cat, NUC_ARG(CAT, dim), 0, cat->vals[0].rank) + 1 != cat->vals[0].rank)
        return NEITHER;
    memcpy(parts, cat->args[NUC_SELF].u.nodes, 2 * sizeof *parts);
    const bool first = is_step(parts[0], s), second = is_step(parts[1], first ? &other : s);
    return first == second ? NEITHER : second;
}

static struct nuc_node *columns_of(struct nuc_graph *g, struct nuc_node *weight, int64_t from, int64_t count,
                                   const char *name)
{
    const int64_t rows = weight->vals[0].sizes[0], columns = weight->vals[0].sizes[1];
    const struct nuc_meta m = nuc_meta_make(NUC_F32, (const int64_t[]){rows, count}, 2);
    const float *all = nuc_const_contiguous(g, weight);
    float *part = nuc_alloc_array(g->cx, (size_t)(rows * count), sizeof *part);

    for (int64_t r = 0; r < rows; r++)
        memcpy(part + r * count, all + r * columns + from, (size_t)count * sizeof *part);
    return nuc_add_parameter(g, weight, name, &m, part);
}

/* One layer for each of the two, so that those of the steps can be joined. */
static bool split_beside_state(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *weight = nuc_arg_node(node, NUC_ARG(LINEAR, weight)), *parts[2], *w[2];
    struct step s, of;
    const uint32_t at = step_beside_state(node, &s, parts);
    uint32_t count = 0;

    if (at == NEITHER || !nuc_is_static_float(weight))
        return false;
    const struct nuc_meta *m = &s.taken.of->vals[0];
    const int64_t step = m->sizes[m->rank - 1], state = weight->vals[0].sizes[1] - step;
    if (step * weight->vals[0].sizes[0] < FEWEST_PRODUCTS)
        return false;
    struct nuc_node **same = nuc_copy(g->cx, weight->users, weight->n_users * sizeof *same);
    for (uint32_t i = 0; i < weight->n_users; i++) {
        if (same[i]->op == NUC_OP_LINEAR && step_beside_state(same[i], &of, parts) == at && of.taken.of == s.taken.of &&
            of.taken.dim == s.taken.dim &&
            nuc_arg_node(same[i], NUC_ARG(LINEAR, bias)) == nuc_arg_node(node, NUC_ARG(LINEAR, bias)))
            same[count++] = same[i];
    }
    if (count < FEWEST_STEPS || 2 * (int64_t)count < m->sizes[s.taken.dim])
        return false;
    w[at] = columns_of(g, weight, at == 0 ? 0 : state, step, "_input");
    w[1 - at] = columns_of(g, weight, at == 0 ? step : 0, state, "_state");
    for (uint32_t i = 0; i < count; i++) {
        step_beside_state(same[i], &of, parts);
        struct nuc_node *x = nuc_emit_like(g, same[i], same[i], NUC_ARGS(parts[at], w[at]));
        struct nuc_node *h = nuc_emit(g, same[i], NUC_OP_LINEAR, same[i], NUC_ARGS(parts[1 - at], w[1 - at]));
        nuc_replace_uses(g, same[i], nuc_insert_binary(g, same[i], NUC_OP_ADD, x, h), NULL);
    }
    return true;
}

/* ---- steps along the last dimension ---- */

/* x[..., t], whose values lie apart in memory: the step, or NULL. */
static struct nuc_node *last_taken(const struct nuc_node *node, struct nuc_taken *taken)
{
    if (node->op != NUC_OP_SQUEEZE_DIM || !nuc_takes_one(nuc_arg_node(node, NUC_SELF), taken) ||
        nuc_is_static(taken->of))
        return NULL;
    const struct nuc_meta *m = &taken->of->vals[0];
    bool is_last = taken->dim + 1 == m->rank && nuc_dim(node, NUC_ARG(SQUEEZE_DIM, dim), 0, m->rank) == taken->dim;
    return is_last && m->sizes[taken->dim] >= FEWEST_TURNED && nuc_elements(&node->vals[0]) > 1 ? taken->of : NULL;
}

/* Steps of a value whose last dimension stands behind the first one lie together, and are no copies. */
static bool turn_steps(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_taken taken;
    struct nuc_node *of = last_taken(node, &taken), **same = NULL;
    uint32_t count = 0;
    size_t capacity = 0;

    for (uint32_t i = 0; of != NULL && i < of->n_users; i++) {
        for (uint32_t k = 0; k < of->users[i]->n_users; k++) {
            struct nuc_node *user = of->users[i]->users[k];
            if (last_taken(user, &taken) != of)
                continue;
            same = nuc_grow(g->cx, same, &capacity, count + 1, sizeof *same);
            same[count++] = user;
        }
    }
    if (of == NULL || 2 * (int64_t)count < of->vals[0].sizes[of->vals[0].rank - 1])
        return false;
    const int64_t last = (int64_t)of->vals[0].rank - 1, to = last > 1;
    struct nuc_node *turned = nuc_insert_moved_dims(g, node, of, &last, &to, 1);
    for (uint32_t i = 0; i < count; i++) {
        last_taken(same[i], &taken);
        struct nuc_node *part = nuc_insert_slice(g, same[i], turned, to, taken.at, taken.at + 1);
        nuc_replace_uses(g, same[i], nuc_insert_with_dim(g, same[i], NUC_OP_SQUEEZE_DIM, part, to), NULL);
    }
    return true;
}

bool nuc_join_steps(struct nuc_graph *g)
{
    bool any = nuc_rewrite_each(g, NUC_OPS(NUC_OP_SQUEEZE_DIM), turn_steps);

    any = nuc_rewrite_each(g, NUC_OPS(NUC_OP_LINEAR), split_beside_state) || any;

    return nuc_rewrite_each(g, BY_ROWS, join_steps) || any;
}
