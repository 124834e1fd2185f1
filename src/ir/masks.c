#include "ir/masks.h"

#include <float.h>
#include <math.h>

#include "ir/args.h"
#include "ir/axis_map.h"
#include "ir/op_list.h"

/* ---- values ---- */

/* Every value is between two, or another one. */
static bool are_values_of(struct nuc_graph *g, const struct nuc_node *constant, float least, float most, float other)
{
    const float *values = nuc_const_contiguous(g, constant);

    for (int64_t i = 0; i < nuc_elements(&constant->vals[0]); i++) {
        if (!(values[i] >= least && values[i] <= most) && !(values[i] >= other && values[i] <= other))
            return false;
    }
    return true;
}

bool nuc_is_far(struct nuc_graph *g, const struct nuc_node *node)
{
    return nuc_is_real_value(node) && nuc_is_static(node) && nuc_elements(&node->vals[0]) > 0 &&
           are_values_of(g, node, -INFINITY, NUC_FAR, NUC_MASKED);
}

uint32_t nuc_far_choice(struct nuc_graph *g, const struct nuc_node *where)
{
    if (where->op != NUC_OP_WHERE)
        return NUC_NO_ARG;
    if (nuc_is_far(g, nuc_arg_node(where, NUC_ARG(WHERE, self))))
        return NUC_ARG(WHERE, self);
    return nuc_is_far(g, nuc_arg_node(where, NUC_ARG(WHERE, other))) ? NUC_ARG(WHERE, other) : NUC_NO_ARG;
}

/* ---- what masks ---- */

bool nuc_moves_whole(const struct nuc_node *node)
{
    return nuc_is_call(node) && nuc_is_real_value(node) && nuc_is_real_value(nuc_arg_node(node, NUC_SELF)) &&
           (nuc_op_rearranges(node->op) || nuc_op_family(node->op) == NUC_FAMILY_CAST || node->op == NUC_OP_EXPAND);
}

static bool is_elementwise(const struct nuc_node *node)
{
    switch ((int)nuc_op_family(node->op)) {
    case NUC_FAMILY_MAP:
    case NUC_FAMILY_BINARY:
    case NUC_FAMILY_COMPARE:
    case NUC_FAMILY_CAST:
    case NUC_FAMILY_PAD:
    case NUC_FAMILY_CAT:
        return true;
    default:
        return nuc_op_rearranges(node->op) || node->op == NUC_OP_WHERE || node->op == NUC_OP_SLICE ||
               node->op == NUC_OP_EXPAND;
    }
}

/* Operators that a mask is computed by; more are no mask. */
#define MOST_OPERATORS 64

/* The value follows from inputs element by element; *n_inputs counts them. */
static bool follows_from_inputs(const struct nuc_node *node, uint32_t *left, uint32_t *n_inputs)
{
    struct nuc_cursor at = {0, 0};

    if (*left == 0)
        return false;
    --*left;
    *n_inputs += nuc_is_input(node);
    if (nuc_is_placeholder(node))
        return true;
    if (node->is_tuple || !is_elementwise(node))
        return false;
    for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at)) {
        if (!follows_from_inputs(in, left, n_inputs))
            return false;
    }
    return true;
}

/* A layer with weights, or a norm: no model gives it infinite values. */
static bool asks_for_finite(const struct nuc_node *node)
{
    const enum nuc_family family = nuc_op_family(node->op);
    const uint32_t at = node->op == NUC_OP_ADDMM ? NUC_ARG(ADDMM, mat2) : NUC_OTHER;
    const struct nuc_node *weight = family == NUC_FAMILY_MATRIX ? nuc_arg_node(node, at) : NULL;

    return family == NUC_FAMILY_CONV || family == NUC_FAMILY_NORM || family == NUC_FAMILY_RECURRENT ||
           (weight != NULL && nuc_is_static(weight));
}

/* A number that it puts beside values, or in their place. */
static bool adds_infinity(const struct nuc_node *node)
{
    const enum nuc_family family = nuc_op_family(node->op);

    for (uint32_t i = 0; (family == NUC_FAMILY_PAD || family == NUC_FAMILY_FILL) && i < node->n_args; i++) {
        if (node->args[i].kind == NUC_ARG_FLOAT && !isfinite(node->args[i].u.f))
            return true;
    }
    return false;
}

static bool stays_finite(struct nuc_graph *g, const struct nuc_node *node, uint32_t *left)
{
    struct nuc_cursor at = {0};

    if (node->n_vals > 0 && node->vals[0].dtype != NUC_F32)
        return true;
    if (nuc_is_static(node))
        return are_values_of(g, node, -FLT_MAX, FLT_MAX, 0);
    if (node->op == NUC_OP_NAN_TO_NUM || asks_for_finite(node))
        return true;
    if (*left == 0 || adds_infinity(node))
        return false;
    double power = nuc_power_of(node);
    if (nuc_op_is_partial(node->op) && !(power > 0 && power <= 4 && power == floor(power)))
        return false;
    --*left;
    for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at)) {
        if (!stays_finite(g, in, left))
            return false;
    }
    return true;
}

bool nuc_is_finite(struct nuc_graph *g, const struct nuc_node *node)
{
    uint32_t left = MOST_OPERATORS;

    return stays_finite(g, node, &left);
}

static bool hides(struct nuc_graph *g, const struct nuc_node *node)
{
    while (nuc_moves_whole(node))
        node = nuc_arg_node(node, NUC_SELF);
    if (!nuc_is_real_value(node))
        return false;
    if (nuc_is_static(node))
        return are_values_of(g, node, NUC_MASKED, NUC_MASKED, 0) && !are_values_of(g, node, 0, 0, 0);
    uint32_t far = nuc_far_choice(g, node);
    if (far == NUC_NO_ARG)
        return false;
    const struct nuc_node *other =
        nuc_arg_node(node, far == NUC_ARG(WHERE, self) ? NUC_ARG(WHERE, other) : NUC_ARG(WHERE, self));
    return nuc_is_real_value(other) && nuc_is_static(other) && are_values_of(g, other, 0, 0, 0);
}

enum nuc_mask nuc_mask_of(struct nuc_graph *g, const struct nuc_node *node)
{
    uint32_t left = MOST_OPERATORS, n_inputs = 0;

    if (!nuc_is_real_value(node))
        return NUC_MASK_NONE;
    if (hides(g, node))
        return NUC_MASK_HIDES;
    return follows_from_inputs(node, &left, &n_inputs) && n_inputs > 0 ? NUC_MASK_OPEN : NUC_MASK_NONE;
}

/* The operand of a sum that is a mask where the other one is none; NULL: there is no such. */
static struct nuc_node *mask_in_sum(struct nuc_graph *g, const struct nuc_node *add, enum nuc_mask *kind)
{
    struct nuc_node *terms[2] = {nuc_arg_node(add, NUC_SELF), nuc_arg_node(add, NUC_OTHER)};

    if (add->op != NUC_OP_ADD || !nuc_is_real_value(add) || !nuc_is_real_value(terms[0]) ||
        !nuc_is_real_value(terms[1]) || !nuc_has_plain_alpha(add))
        return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        const struct nuc_node *scores = terms[1 - i];
        if (nuc_is_static(scores) || !nuc_same_sizes(&scores->vals[0], &add->vals[0]))
            continue;
        *kind = nuc_mask_of(g, terms[i]);
        if (*kind != NUC_MASK_NONE && nuc_mask_of(g, scores) == NUC_MASK_NONE)
            return terms[i];
    }
    return NULL;
}

/* ---- who reads ---- */

/* The only dimension of [begin, end) that holds more than one element; the first where none does. -1: several do. */
static int64_t long_dim(const struct nuc_meta *m, uint32_t begin, uint32_t end)
{
    int64_t found = -1;

    for (uint32_t i = begin; i < end; i++) {
        if (m->sizes[i] > 1 && found >= 0 && m->sizes[found] > 1)
            return -1;
        if (found < 0 || m->sizes[i] > 1)
            found = i;
    }
    return found;
}

/* The dimension of the operand that dimension `dim` of a move's result is; -1: none by itself. */
static int64_t dim_before(const struct nuc_node *move, int64_t dim)
{
    const struct nuc_meta *in = nuc_input_meta(move, NUC_SELF), *out = &move->vals[0];
    struct nuc_axis_map map;

    if (dim < 0 || !nuc_axis_map(move, 0, NUC_SELF, 0, &map))
        return -1;
    const struct nuc_axis *axis = nuc_axis_to(&map, (uint32_t)dim);
    if (axis == NULL || axis->kind != NUC_AXIS_ELEMENT || axis->step != 1 || axis->start != 0)
        return -1;
    int64_t from = long_dim(in, axis->from, axis->from_end), to = long_dim(out, axis->to, axis->to_end);
    return from >= 0 && to >= 0 && in->sizes[from] == out->sizes[dim] ? from : -1;
}

/* Chains of readers that are followed. */
#define MOST_READERS 16

int64_t nuc_row_dim(const struct nuc_node *node)
{
    const struct nuc_arg *dim = nuc_arg_at(node, NUC_ARG(SOFTMAX, dim));
    int64_t rank = nuc_input_meta(node, NUC_SELF)->rank;
    int64_t at = dim->kind == NUC_ARG_INT                       ? dim->u.i
                 : dim->kind == NUC_ARG_INTS && dim->count == 1 ? dim->u.ints[0]
                                                                : -rank - 1;

    at += at < 0 ? rank : 0;
    return at >= 0 && at < rank ? at : -1;
}

/* `readers`: operators whose second argument is the dimension that is returned. */
static int64_t read_along(struct nuc_graph *g, const struct nuc_node *node, const enum nuc_op *readers, unsigned left)
{
    int64_t found = -1;

    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        enum nuc_mask kind;
        int64_t dim = -1;
        if (nuc_op_is_in(user->op, readers))
            dim = nuc_row_dim(user);
        else if (left > 0 && nuc_moves_whole(user) && user->op != NUC_OP_EXPAND)
            dim = dim_before(user, read_along(g, user, readers, left - 1));
        else if (left > 0 && user->op == NUC_OP_ADD && mask_in_sum(g, user, &kind) != NULL &&
                 mask_in_sum(g, user, &kind) != node)
            dim = read_along(g, user, readers, left - 1);
        if (dim < 0 || (found >= 0 && dim != found))
            return -1;
        found = dim;
    }
    return found;
}

int64_t nuc_softmax_dim(struct nuc_graph *g, const struct nuc_node *node)
{
    return read_along(g, node, NUC_OPS(NUC_OP_SOFTMAX, NUC_OP_NATIVE_SOFTMAX, NUC_OP_AMAX), MOST_READERS);
}

int64_t nuc_ranked_dim(struct nuc_graph *g, const struct nuc_node *node, bool *smallest)
{
    int64_t dim = read_along(g, node, NUC_OPS(NUC_OP_ARGMIN), MOST_READERS);

    *smallest = dim >= 0;
    return dim >= 0 ? dim : read_along(g, node, NUC_OPS(NUC_OP_ARGMAX), MOST_READERS);
}

struct nuc_node *nuc_added_mask(struct nuc_graph *g, const struct nuc_node *add, enum nuc_mask *kind)
{
    struct nuc_node *mask = mask_in_sum(g, add, kind);

    return mask != NULL && nuc_softmax_dim(g, add) >= 0 ? mask : NULL;
}

/* ---- what stays in float ---- */

/* The operators that a mask is computed by. */
static void mark_mask(const struct nuc_node *node, bool *marks)
{
    struct nuc_cursor at = {0, 0};

    if (marks[node->id] || nuc_is_static(node))
        return;
    marks[node->id] = true;
    for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at))
        mark_mask(in, marks);
}

/* A value that is as far as what is chosen or added, and what is made of it until a logarithm or exponential. */
static void mark_far(const struct nuc_node *node, bool *marks)
{
    static const enum nuc_op keeps[] = {NUC_OP_SUB, NUC_OP_CLAMP, NUC_OP_COUNT};
    static const enum nuc_op ends[] = {NUC_OP_LOG_SOFTMAX, NUC_OP_NATIVE_LOG_SOFTMAX, NUC_OP_EXP, NUC_OP_COUNT};

    marks[node->id] = true;
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        if (marks[user->id] || nuc_arg_node(user, NUC_SELF) != node)
            continue;
        marks[user->id] = nuc_op_is_in(user->op, ends);
        if (nuc_moves_whole(user) || nuc_op_is_in(user->op, keeps))
            mark_far(user, marks);
    }
}

/* A constant beyond all activations: beside it, in int8, all others were one. */
static bool has_far(struct nuc_graph *g, const struct nuc_node *node)
{
    const float far = 1e4f;

    return nuc_is_real_value(node) && nuc_is_static(node) && !are_values_of(g, node, -far, far, 0);
}

void nuc_mark_float_masks(struct nuc_graph *g, bool *marks)
{
    const enum nuc_op *logarithm = NUC_OPS(NUC_OP_LOG_SOFTMAX, NUC_OP_NATIVE_LOG_SOFTMAX);

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        enum nuc_mask kind;
        struct nuc_node *mask = mask_in_sum(g, n, &kind);
        bool log = mask != NULL && read_along(g, n, logarithm, MOST_READERS) >= 0;
        if (mask != NULL && (log || nuc_softmax_dim(g, n) >= 0))
            mark_mask(mask, marks);
        bool far = (n->op == NUC_OP_WHERE || n->op == NUC_OP_ADD) &&
                   (has_far(g, nuc_arg_node(n, n->op == NUC_OP_ADD ? NUC_SELF : NUC_ARG(WHERE, self))) ||
                    has_far(g, nuc_arg_node(n, n->op == NUC_OP_ADD ? NUC_OTHER : NUC_ARG(WHERE, other))));
        if (log || (far && nuc_softmax_dim(g, n) < 0))
            mark_far(n, marks);
    }
}
