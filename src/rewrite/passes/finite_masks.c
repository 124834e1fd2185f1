/*
 * Masks of attention written out: -infinity, or a very negative number, is added to scores or put in their place in
 * front of a softmax. A finite number does as well and can be quantized; where the mask is constant it is added as a
 * tensor of its own, so that the finite values of the mask, and the scores, keep their steps.
 */
#include <math.h>
#include <string.h>

#include "ir/args.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"
#include "rewrite/to_edge/decompose.h"

static bool is_far(float value)
{
    return value <= NUC_MASKED / 2;
}

static bool is_float_constant(const struct nuc_node *node)
{
    return node != NULL && nuc_is_static(node) && node->vals[0].dtype == NUC_F32;
}

/* What masks the input of a softmax: a sum or a choice, perhaps behind views. */
static struct nuc_node *masking(const struct nuc_node *softmax)
{
    struct nuc_node *x = nuc_arg_node(softmax, NUC_SELF);

    while (x != NULL && nuc_op_family(x->op) == NUC_FAMILY_VIEW && x->n_users == 1)
        x = nuc_arg_node(x, NUC_SELF);
    return x;
}

static struct nuc_node *insert_add(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *x,
                                   const struct nuc_node *like, const struct nuc_meta *meta, const float *values)
{
    bool any = false;

    for (int64_t i = 0; i < nuc_elements(meta); i++)
        any = any || values[i] < 0.0f || values[i] > 0.0f;
    return any ? nuc_insert_binary(g, before, NUC_OP_ADD, x, nuc_add_parameter(g, like, "_mask", meta, values)) : x;
}

/*
 * x + mask as x + finite + hidden; false when there is nothing to do, or a row of the mask hides all: what softmax
 * makes of such a row is not known here.
 */
static bool split_addend(struct nuc_graph *g, struct nuc_node *add, struct nuc_node *x, struct nuc_node *mask)
{
    const struct nuc_meta m = mask->vals[0];
    size_t count = (size_t)nuc_elements(&m), columns = m.rank == 0 ? 0 : (size_t)m.sizes[m.rank - 1];
    const float *values = nuc_const_contiguous(g, mask);
    float *finite = nuc_alloc_array(g->cx, count + 1, sizeof *finite);
    float *hidden = nuc_alloc_array(g->cx, count + 1, sizeof *hidden);
    bool changes = false;

    for (size_t row = 0; columns > 1 && row < count / columns; row++) {
        float most = -INFINITY;
        for (size_t i = row * columns; i < (row + 1) * columns; i++) {
            most = values[i] > most ? values[i] : most;
            hidden[i] = is_far(values[i]) ? NUC_MASKED : 0.0f;
            finite[i] = is_far(values[i]) ? 0.0f : values[i];
            changes = changes || (is_far(values[i]) && (values[i] < NUC_MASKED || values[i] > NUC_MASKED));
        }
        if (is_far(most))
            return false;
    }
    if (!changes)
        return false;
    struct nuc_node *sum = insert_add(g, add, x, mask, &m, finite);
    nuc_replace_uses(g, add, insert_add(g, add, sum, mask, &m, hidden), NULL);
    return true;
}

static bool all_far(struct nuc_graph *g, const struct nuc_node *constant)
{
    const float *values = nuc_const_contiguous(g, constant);
    bool far = true;

    for (int64_t i = 0; i < nuc_elements(&constant->vals[0]); i++)
        far = far && is_far(values[i]);
    return far;
}

/* where(mask, number, x) of a constant mask as x + hidden. */
static bool add_instead(struct nuc_graph *g, struct nuc_node *where, struct nuc_node *x, bool hides)
{
    struct nuc_node *mask = nuc_operand(g, where, NUC_ARG(WHERE, condition));
    struct nuc_meta m = mask->vals[0];
    size_t count = (size_t)nuc_elements(&m), columns = m.rank == 0 ? 0 : (size_t)m.sizes[m.rank - 1];

    if (!nuc_is_static(mask) || columns < 2 || !nuc_same_sizes(&x->vals[0], &where->vals[0]))
        return false;
    const bool *flags = nuc_const_contiguous(g, mask);
    float *hidden = nuc_alloc_array(g->cx, count, sizeof *hidden);
    for (size_t row = 0; row < count / columns; row++) {
        bool some = false;
        for (size_t i = row * columns; i < (row + 1) * columns; i++) {
            hidden[i] = flags[i] == hides ? NUC_MASKED : 0.0f;
            some = some || flags[i] != hides;
        }
        if (!some)
            return false;
    }
    m.dtype = NUC_F32;
    nuc_replace_uses(g, where, insert_add(g, where, x, mask, &m, hidden), NULL);
    return true;
}

/* The number that a choice puts in the place of hidden values becomes finite, or the choice a sum. */
static bool finite_choice(struct nuc_graph *g, struct nuc_node *where)
{
    struct nuc_node *branches[2] = {nuc_operand(g, where, NUC_ARG(WHERE, self)),
                                    nuc_operand(g, where, NUC_ARG(WHERE, other))};

    for (uint32_t i = 0; i < 2; i++) {
        if (!is_float_constant(branches[i]) || !all_far(g, branches[i]))
            continue;
        if (!nuc_is_static(branches[1 - i]) && add_instead(g, where, branches[1 - i], i == 0))
            return true;
        const struct nuc_meta scalar = nuc_meta_make(NUC_F32, NULL, 0);
        const float number = NUC_MASKED;
        nuc_set_arg_node(where, g, i == 0 ? NUC_ARG(WHERE, self) : NUC_ARG(WHERE, other),
                         nuc_add_parameter(g, branches[i], "_finite", &scalar, &number));
        return true;
    }
    return false;
}

/* A repetition written as a product with ones. */
static bool is_times_ones(struct nuc_graph *g, const struct nuc_node *node)
{
    const struct nuc_node *ones = node->op == NUC_OP_MUL ? nuc_arg_node(node, NUC_OTHER) : NULL;

    if (!is_float_constant(ones))
        return false;
    const float *values = nuc_const_contiguous(g, ones);
    for (int64_t i = 0; i < nuc_elements(&ones->vals[0]); i++) {
        if (!nuc_numbers_equal((double)values[i], 1.0))
            return false;
    }
    return true;
}

/* Views, copies, repetitions and slices of a mask. */
static bool passes_mask(struct nuc_graph *g, const struct nuc_node *node)
{
    return nuc_op_family(node->op) == NUC_FAMILY_VIEW || nuc_op_family(node->op) == NUC_FAMILY_COPY ||
           node->op == NUC_OP_EXPAND || node->op == NUC_OP_SLICE || is_times_ones(g, node);
}

/* Nothing but sums reads it. */
static bool is_only_added(struct nuc_graph *g, const struct nuc_node *mask)
{
    for (uint32_t i = 0; i < mask->n_users; i++) {
        const struct nuc_node *user = mask->users[i];
        if (user->op != NUC_OP_ADD && (!passes_mask(g, user) || !is_only_added(g, user)))
            return false;
    }
    return mask->n_users > 0;
}

/* (1 - mask) times a number: no larger than it has to be. */
static bool finite_product(struct nuc_graph *g, struct nuc_node *mul)
{
    for (uint32_t i = NUC_SELF; i <= NUC_OTHER; i++) {
        struct nuc_node *number = nuc_arg_node(mul, i);
        const struct nuc_meta scalar = nuc_meta_make(NUC_F32, NULL, 0);
        const float masked = NUC_MASKED;
        if (!is_float_constant(number) || nuc_elements(&number->vals[0]) != 1 ||
            !(*(const float *)nuc_const_contiguous(g, number) < NUC_MASKED))
            continue;
        nuc_set_arg_node(mul, g, i, nuc_add_parameter(g, number, "_finite", &scalar, &masked));
        return true;
    }
    return false;
}

static bool finite_sum(struct nuc_graph *g, struct nuc_node *add)
{
    struct nuc_node *terms[2] = {nuc_arg_node(add, NUC_SELF), nuc_arg_node(add, NUC_OTHER)};

    if (!nuc_numbers_equal(nuc_scalar(add, NUC_ARG(ADD, alpha), 1.0), 1.0) || terms[0] == NULL || terms[1] == NULL)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        if (is_float_constant(terms[i]) && !nuc_is_static(terms[1 - i]))
            return split_addend(g, add, terms[1 - i], terms[i]);
        /* Where a mask that is added comes from, behind views and repetitions. */
        struct nuc_node *term = terms[i];
        while (passes_mask(g, term)) {
            struct nuc_node *input = nuc_arg_node(term, NUC_SELF);
            if (input == NULL)
                break;
            term = input;
        }
        struct nuc_node *source = term;
        if (source->in_place || !is_only_added(g, source))
            continue;
        if (source->op == NUC_OP_WHERE && finite_choice(g, source))
            return true;
        if (source->op == NUC_OP_MUL && finite_product(g, source))
            return true;
    }
    return false;
}

/* Of torch's safe softmax, where(not any(not (x == -infinity)), 0, softmax(x)): whether it is the condition. */
static bool tells_hidden_rows(const struct nuc_node *condition, const struct nuc_node *x)
{
    static const enum nuc_op chain[] = {NUC_OP_LOGICAL_NOT, NUC_OP_ANY_DIMS, NUC_OP_LOGICAL_NOT, NUC_OP_EQ};
    const struct nuc_node *node = condition;

    for (size_t i = 0; i < sizeof chain / sizeof chain[0]; i++, node = nuc_arg_node(node, NUC_SELF)) {
        if (node == NULL || node->op != chain[i])
            return false;
    }
    return node == x;
}

/* No row is hidden as a whole: what makes zeros of those goes. */
static void drop_safety(struct nuc_graph *g, struct nuc_node *softmax, const struct nuc_node *x)
{
    for (uint32_t i = softmax->n_users; i-- > 0;) {
        struct nuc_node *user = softmax->users[i];
        if (user->op == NUC_OP_WHERE && nuc_arg_node(user, NUC_ARG(WHERE, other)) == softmax &&
            tells_hidden_rows(nuc_arg_node(user, NUC_ARG(WHERE, condition)), x))
            nuc_replace_uses(g, user, softmax, NULL);
    }
}

static bool finite_mask(struct nuc_graph *g, struct nuc_node *softmax)
{
    struct nuc_node *x = masking(softmax);
    bool changed = false;

    if (x == NULL || x->in_place)
        return false;
    if (x->op == NUC_OP_ADD)
        changed = finite_sum(g, x);
    else if (x->op == NUC_OP_WHERE)
        changed = finite_choice(g, x);
    if (changed)
        drop_safety(g, softmax, nuc_arg_node(softmax, NUC_SELF));
    return changed;
}

bool nuc_finite_masks(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_SOFTMAX, NUC_OP_LOG_SOFTMAX), finite_mask);
}
