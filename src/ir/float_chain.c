#include "ir/float_chain.h"

#include "ir/args.h"
#include "ir/op_list.h"

/* What is moved, or changes its sign. */
static bool is_move(const struct nuc_node *node)
{
    return nuc_op_rearranges(node->op) || nuc_op_is_in(node->op, NUC_OPS(NUC_OP_SLICE, NUC_OP_EXPAND, NUC_OP_NEG));
}

static const struct nuc_node *behind_moves(const struct nuc_node *node)
{
    while (node != NULL && is_move(node))
        node = nuc_arg_node(node, NUC_SELF);
    return node;
}

static bool is_number(const struct nuc_node *node)
{
    return node != NULL && nuc_is_static(node) && nuc_elements(&node->vals[0]) == 1;
}

static bool is_logarithm(const struct nuc_node *node)
{
    return nuc_op_is_in(node->op, NUC_OPS(NUC_OP_LOG, NUC_OP_LOG2, NUC_OP_LOG10));
}

static bool is_softmax(const struct nuc_node *node)
{
    return node->op == NUC_OP_SOFTMAX || node->op == NUC_OP_NATIVE_SOFTMAX;
}

/*
 * What a logarithm is taken of: a softmax or sigmoid, behind moves, a sum with a number, bounds, or 1 minus all that;
 * NULL for anything else. *floor says whether a number is added to it.
 */
static struct nuc_node *probability(const struct nuc_node *logarithm, bool *floor)
{
    struct nuc_node *node = nuc_arg_node(logarithm, NUC_SELF);

    *floor = false;
    while (node != NULL && !is_softmax(node) && node->op != NUC_OP_SIGMOID) {
        struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);
        if (is_move(node) || nuc_has_bounds(node)) {
            node = a;
        } else if (node->op == NUC_OP_ADD && (is_number(a) || is_number(b))) {
            *floor = true;
            node = is_number(b) ? a : b;
        } else if (node->op == NUC_OP_SUB && is_number(a)) {
            node = b;
        } else {
            return NULL;
        }
    }
    return node;
}

/* What the softmax of a value, or its logarithm, is made of. */
static const struct nuc_node *scores_of(const struct nuc_node *node)
{
    const struct nuc_node *log = node->op == NUC_OP_EXP ? nuc_arg_node(node, NUC_SELF) : NULL;
    bool floor;

    if (log != NULL && (log->op == NUC_OP_LOG_SOFTMAX || log->op == NUC_OP_NATIVE_LOG_SOFTMAX))
        node = log;
    else if (is_logarithm(node))
        node = probability(node, &floor);
    return node != NULL && nuc_op_family(node->op) == NUC_FAMILY_SOFTMAX ? nuc_arg_node(node, NUC_SELF) : NULL;
}

static bool is_norm(const struct nuc_node *node)
{
    return nuc_op_is_in(node->op, NUC_OPS(NUC_OP_RMS_NORM, NUC_OP_LAYER_NORM));
}

static bool is_probability(const struct nuc_node *node)
{
    return is_softmax(node) || node->op == NUC_OP_EXP;
}

/* x x, of which the root of a sum is taken: a norm of x. */
static bool is_square_of_norm(const struct nuc_node *node)
{
    const struct nuc_node *sum = node->n_users == 1 ? node->users[0] : NULL;

    if (node->op != NUC_OP_MUL || nuc_arg_node(node, NUC_SELF) != nuc_arg_node(node, NUC_OTHER) || sum == NULL ||
        nuc_op_family(sum->op) != NUC_FAMILY_REDUCE)
        return false;
    while (sum->n_users == 1 && is_move(sum->users[0]))
        sum = sum->users[0];
    return sum->n_users == 1 && sum->users[0]->op == NUC_OP_SQRT;
}

bool nuc_is_exact_product(const struct nuc_node *node)
{
    const struct nuc_node *a = behind_moves(nuc_arg_node(node, NUC_SELF));
    const struct nuc_node *b = behind_moves(nuc_arg_node(node, NUC_OTHER));

    if (node->op != NUC_OP_MUL || a == NULL || b == NULL)
        return false;
    if (is_square_of_norm(node))
        return true;
    if (is_norm(a) && is_norm(b))
        return node->n_users == 1 && nuc_op_family(node->users[0]->op) == NUC_FAMILY_REDUCE;
    if (is_probability(b)) {
        const struct nuc_node *swapped = a;
        a = b;
        b = swapped;
    }
    return is_probability(a) && !is_probability(b) && scores_of(a) != NULL && scores_of(a) == scores_of(b);
}

/* The node and what leads to it, as far as that is moved, bounded or changed by a number. */
static void mark_back(const struct nuc_node *node, bool *marks)
{
    while (node != NULL && nuc_is_call(node)) {
        const struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);
        bool passes = is_move(node) || nuc_has_bounds(node) || is_logarithm(node) || node->op == NUC_OP_EXP ||
                      (node->op == NUC_OP_ADD && (is_number(a) || is_number(b))) ||
                      (node->op == NUC_OP_SUB && is_number(a));
        marks[node->id] = true;
        node = passes ? (is_number(a) ? b : a) : NULL;
    }
}

static bool is_sum(const struct nuc_node *node)
{
    return nuc_op_family(node->op) == NUC_FAMILY_REDUCE || nuc_op_family(node->op) == NUC_FAMILY_POOL;
}

/* The node and what is made of it by powers, as the root of a mean of powers. */
static void mark_powers(const struct nuc_node *node, bool *marks)
{
    marks[node->id] = true;
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (nuc_op_is_in(node->users[i]->op, NUC_OPS(NUC_OP_SQUARE, NUC_OP_POW_SCALAR, NUC_OP_POW, NUC_OP_SQRT)))
            mark_powers(node->users[i], marks);
    }
}

bool nuc_is_summed_power(const struct nuc_node *node)
{
    if (node->op != NUC_OP_SQUARE && node->op != NUC_OP_POW_SCALAR && node->op != NUC_OP_POW)
        return false;
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (is_sum(node->users[i]) || nuc_op_family(node->users[i]->op) == NUC_FAMILY_CONV)
            return true;
    }
    return false;
}

/* What is compared, as far as it is a value that is moved, summed up, or changed by constants. */
static void mark_compared(const struct nuc_node *node, bool *marks)
{
    while (node != NULL && nuc_is_call(node)) {
        const struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);
        bool has_constant = (a != NULL && nuc_is_static(a)) || (b != NULL && nuc_is_static(b));
        bool changes = nuc_op_is_in(node->op, NUC_OPS(NUC_OP_ADD, NUC_OP_SUB, NUC_OP_MUL)) && has_constant;
        if (!changes && !is_move(node) && node->op != NUC_OP_CUMSUM)
            return;
        marks[node->id] = true;
        node = a != NULL && nuc_is_static(a) ? b : a;
    }
}

static bool is_comparison(const struct nuc_node *node)
{
    const struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);

    return nuc_op_is_in(node->op, NUC_OPS(NUC_OP_GT, NUC_OP_LT, NUC_OP_GE, NUC_OP_LE)) && a != NULL && b != NULL &&
           !nuc_is_static(a) && !nuc_is_static(b);
}

void nuc_mark_float_chains(struct nuc_graph *g, bool *marks)
{
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        bool floor;
        if (nuc_is_summed_power(n)) {
            marks[n->id] = true;
            for (uint32_t i = 0; i < n->n_users; i++) {
                if (is_sum(n->users[i]))
                    mark_powers(n->users[i], marks);
            }
        }
        if (is_comparison(n)) {
            mark_compared(nuc_arg_node(n, NUC_SELF), marks);
            mark_compared(nuc_arg_node(n, NUC_OTHER), marks);
        }
        if (is_logarithm(n) && probability(n, &floor) != NULL && floor)
            mark_back(n, marks);
        if (!nuc_is_exact_product(n))
            continue;
        marks[n->id] = true;
        if (!is_square_of_norm(n)) {
            mark_back(nuc_arg_node(n, NUC_SELF), marks);
            mark_back(nuc_arg_node(n, NUC_OTHER), marks);
        }
        for (uint32_t i = 0; i < n->n_users; i++)
            marks[n->users[i]->id] = marks[n->users[i]->id] || nuc_op_family(n->users[i]->op) == NUC_FAMILY_REDUCE;
    }
}
