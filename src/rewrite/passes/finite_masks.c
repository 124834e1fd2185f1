/*
 * Masks in front of a softmax or a largest value: -infinity, or a very negative number, is added to scores or put in
 * their place. What is added becomes a sum of the scores, of biases and of tensors that hide, each with the dimensions
 * that it varies along, so that each keeps steps of its own in int8: NUC_MASKED takes out what -infinity does and can
 * be quantized.
 */
#include <math.h>
#include <string.h>

#include "ir/args.h"
#include "ir/axis_map.h"
#include "ir/masks.h"
#include "rewrite/insert.h"
#include "rewrite/known.h"
#include "rewrite/pass_list.h"

/* ---- constants ---- */

static bool any_value(const float *values, size_t count)
{
    bool any = false;

    for (size_t i = 0; i < count; i++)
        any = any || values[i] < 0.0f || values[i] > 0.0f;
    return any;
}

/* ---- terms ---- */

/* Terms of a sum, and nesting of the operators that it is written by. */
#define MOST_TERMS 16
#define DEEPEST 16

struct term {
    struct nuc_node *value; /* broadcasts to what is taken apart */
    enum nuc_mask mask;
};

struct terms {
    struct term at[MOST_TERMS];
    uint32_t n;
};

struct sum {
    struct nuc_graph *g;
    struct nuc_node *before;   /* where nodes are inserted */
    uint32_t columns_from_end; /* place of the dimension that the softmax is taken along; 1: the last one */
    struct terms terms;
    bool infinite;            /* -infinity hides, not only numbers */
    struct nuc_node *bounded; /* a mask of which infinities are bounded, and what it is a sum of; NULL: none */
    struct terms of_bounded;
    bool too_many;
};

/* The number that a choice hides by; 0: it does not. */
static float hiding_number(struct nuc_graph *g, const struct nuc_node *where)
{
    uint32_t far = nuc_far_choice(g, where);

    return far == NUC_NO_ARG ? 0.0f : *(const float *)nuc_const_contiguous(g, nuc_operand(g, where, far));
}

static void add_term(struct sum *s, struct nuc_node *value, enum nuc_mask mask)
{
    s->infinite = s->infinite || mask == NUC_MASK_OPEN;
    if (mask == NUC_MASK_NONE && nuc_is_static_zero(s->g, value))
        return;
    if (s->terms.n == MOST_TERMS)
        s->too_many = true;
    else
        s->terms.at[s->terms.n++] = (struct term){value, mask};
}

/* ---- constants, split ---- */

/* Rows of a constant along the dimension that the softmax is taken along; 1 element each where it has none. */
struct row {
    size_t count, columns, step;
};

static struct row rows_of(const struct sum *s, const struct nuc_meta *m)
{
    struct row r = {(size_t)nuc_elements(m), 1, 1};

    if (s->columns_from_end > m->rank || r.count == 0)
        return r;
    uint32_t dim = m->rank - s->columns_from_end;
    r.columns = (size_t)m->sizes[dim];
    r.count /= r.columns;
    for (uint32_t i = dim + 1; i < m->rank; i++)
        r.step *= (size_t)m->sizes[i];
    return r;
}

/* A row without anything left is uniform where the numbers swallow the scores, and no case of those below where not. */
#define SWALLOWS (-1e6f)

/*
 * Values of a row that are so far below its largest one that they hide. False: they all do, though scores would still
 * be told apart below them.
 */
static bool split_row(struct sum *s, const struct row *r, const float *values, size_t at, float *finite, float *hidden,
                      bool *any)
{
    float most = -INFINITY;

    for (size_t i = at; i < at + r->columns * r->step; i += r->step)
        most = values[i] > most ? values[i] : most;
    if (most <= NUC_MASKED / 2 && most > SWALLOWS)
        return false;
    for (size_t i = at; i < at + r->columns * r->step; i += r->step) {
        bool far = values[i] <= NUC_MASKED / 2 || values[i] <= most + NUC_FAR;
        hidden[i] = far ? NUC_MASKED : 0.0f;
        finite[i] = far ? 0.0f : values[i];
        *any = *any || far;
        s->infinite = s->infinite || isinf(values[i]);
    }
    return true;
}

/* The constant as biases and what hides; false: nothing does. */
static bool split_constant(struct sum *s, struct nuc_node *constant)
{
    const struct nuc_meta m = constant->vals[0];
    const struct row r = rows_of(s, &m);
    size_t count = (size_t)nuc_elements(&m);
    const float *values = nuc_const_contiguous(s->g, constant);
    float *finite = nuc_alloc_array(s->g->cx, count + 1, sizeof *finite);
    float *hidden = nuc_alloc_array(s->g->cx, count + 1, sizeof *hidden);
    bool any = false;

    for (size_t k = 0; k < r.count; k++) {
        if (!split_row(s, &r, values, k / r.step * r.step * r.columns + k % r.step, finite, hidden, &any))
            return false;
    }
    if (!any)
        return false;
    if (any_value(finite, count))
        add_term(s, nuc_add_parameter(s->g, constant, "_bias", &m, finite), NUC_MASK_NONE);
    add_term(s, nuc_add_parameter(s->g, constant, "_mask", &m, hidden), NUC_MASK_HIDES);
    return true;
}

/* NUC_MASKED where the condition of a where chooses the number that hides, 0 elsewhere. */
static struct nuc_node *hidden_places(struct sum *s, struct nuc_node *where, uint32_t far)
{
    struct nuc_node *condition = nuc_operand(s->g, where, NUC_ARG(WHERE, condition));
    bool hides = far == NUC_ARG(WHERE, self);

    s->infinite = s->infinite || isinf(hiding_number(s->g, where));
    if (!nuc_is_static(condition)) {
        struct nuc_node *masked = nuc_insert_constant(s->g, s->before, NUC_F32, (double)NUC_MASKED);
        struct nuc_node *zero = nuc_insert_constant(s->g, s->before, NUC_F32, 0);
        return nuc_emit(s->g, s->before, NUC_OP_WHERE, where,
                        NUC_ARGS(condition, hides ? masked : zero, hides ? zero : masked));
    }
    struct nuc_meta m = condition->vals[0];
    const bool *flags = nuc_const_contiguous(s->g, condition);
    float *hidden = nuc_alloc_array(s->g->cx, (size_t)nuc_elements(&m) + 1, sizeof *hidden);
    for (int64_t i = 0; i < nuc_elements(&m); i++)
        hidden[i] = flags[i] == hides ? NUC_MASKED : 0.0f;
    m.dtype = NUC_F32;
    return nuc_add_parameter(s->g, condition, "_mask", &m, hidden);
}

/* ---- moves ---- */

/*
 * A view or permutation of what broadcasts to its input: dimensions of 1 stay such where the move keeps them apart from
 * others, the rest is repeated.
 */
static struct nuc_node *moved(struct sum *s, struct nuc_node *value, const struct nuc_node *move)
{
    const struct nuc_meta *in = nuc_input_meta(move, NUC_SELF), *out = &move->vals[0];
    enum nuc_family family = nuc_op_family(move->op);
    struct nuc_axis_map map;
    struct nuc_meta aligned = *in, whole, to = *out;
    int64_t dims[NUC_MAX_RANK];
    uint32_t missing = in->rank - value->vals[0].rank;

    if (family != NUC_FAMILY_VIEW && family != NUC_FAMILY_PERMUTE)
        return value;
    if (!nuc_axis_map(move, 0, NUC_SELF, 0, &map))
        return NULL;
    for (uint32_t i = 0; i < in->rank; i++)
        aligned.sizes[i] = i < missing ? 1 : value->vals[0].sizes[i - missing];
    whole = aligned;
    for (uint32_t k = 0; k < map.count; k++) {
        const struct nuc_axis *a = &map.axes[k];
        bool ones = true;
        for (uint32_t i = a->from; i < a->from_end; i++)
            ones = ones && aligned.sizes[i] == 1;
        for (uint32_t i = a->from; i < a->from_end && !ones; i++)
            whole.sizes[i] = in->sizes[i];
        for (uint32_t i = a->to; i < a->to_end; i++) {
            to.sizes[i] = ones ? 1 : to.sizes[i];
            dims[i] = a->from;
        }
    }
    value = nuc_insert_reshaped(s->g, s->before, value, aligned.sizes, in->rank);
    if (family == NUC_FAMILY_PERMUTE)
        return nuc_insert_permuted(s->g, s->before, value, dims);
    value = nuc_insert_expanded(s->g, s->before, value, whole.sizes, in->rank);
    return nuc_insert_reshaped(s->g, s->before, value, to.sizes, out->rank);
}

/* ---- taking apart ---- */

/* A factor of one element, above 0; NULL: none. */
static struct nuc_node *factor(struct nuc_graph *g, const struct nuc_node *mul, struct nuc_node **value)
{
    for (uint32_t i = NUC_SELF; mul->op == NUC_OP_MUL && i <= NUC_OTHER; i++) {
        struct nuc_node *number = nuc_arg_node(mul, i);
        *value = nuc_arg_node(mul, i == NUC_SELF ? NUC_OTHER : NUC_SELF);
        if (nuc_is_static_float(number) && nuc_elements(&number->vals[0]) == 1 && *value != NULL &&
            *(const float *)nuc_const_contiguous(g, number) > 0.0f)
            return number;
    }
    return NULL;
}

/* Bounds that nothing but what hides goes beyond. */
static bool bounds_far(struct nuc_graph *g, const struct nuc_node *node)
{
    const struct nuc_bounds b = nuc_bounds_of(node);

    if (node->op == NUC_OP_MAXIMUM)
        return nuc_is_far(g, nuc_arg_node(node, NUC_OTHER)) &&
               nuc_input_meta(node, NUC_SELF)->rank == node->vals[0].rank;
    return nuc_has_bounds(node) && b.min <= (double)NUC_MASKED / 2 && b.max >= -(double)NUC_MASKED;
}

static bool is_sum(const struct nuc_node *node)
{
    return (node->op == NUC_OP_ADD || node->op == NUC_OP_SUB) && nuc_has_plain_alpha(node) &&
           nuc_arg_node(node, NUC_SELF) != NULL && nuc_arg_node(node, NUC_OTHER) != NULL;
}

/* A mask that is computed as a whole: not the sum of several, nor of one and biases. */
static bool is_one_mask(struct nuc_graph *g, const struct nuc_node *node)
{
    if (nuc_mask_of(g, node) != NUC_MASK_OPEN)
        return false;
    while (nuc_moves_whole(node) || bounds_far(g, node))
        node = nuc_arg_node(node, NUC_SELF);
    if (nuc_far_choice(g, node) != NUC_NO_ARG)
        return false;
    for (uint32_t i = NUC_SELF; is_sum(node) && i <= NUC_OTHER; i++) {
        const struct nuc_node *term = nuc_arg_node(node, i);
        if (nuc_is_static_float(term) && nuc_elements(&term->vals[0]) == 1)
            return true;
    }
    return node->op != NUC_OP_ADD || !is_sum(node);
}

/* Steps in which a mask is looked for. */
#define MOST_STEPS 256

/* There is something in the value that hides, or may; left: steps that may be taken. */
static bool holds_mask(struct nuc_graph *g, struct nuc_node *node, uint32_t *left)
{
    struct nuc_node *input = nuc_arg_node(node, NUC_SELF), *number = factor(g, node, &input);

    if (*left == 0 || node->vals[0].dtype != NUC_F32)
        return false;
    --*left;
    if (nuc_is_static_float(node)) {
        const float *values = nuc_const_contiguous(g, node);
        for (int64_t i = 0; i < nuc_elements(&node->vals[0]); i++) {
            if (values[i] <= NUC_FAR)
                return true;
        }
        return false;
    }
    if (nuc_mask_of(g, node) != NUC_MASK_NONE || nuc_far_choice(g, node) != NUC_NO_ARG)
        return true;
    if (is_sum(node))
        return holds_mask(g, input, left) || holds_mask(g, nuc_arg_node(node, NUC_OTHER), left);
    return (number != NULL || nuc_moves_whole(node) || bounds_far(g, node)) && input != NULL &&
           holds_mask(g, input, left);
}

/* Scores with masks added one after the other, none of which has parts, repetitions or bounds. */
static bool is_settled(struct nuc_graph *g, struct nuc_node *node)
{
    uint32_t steps = MOST_STEPS;

    while (node->op == NUC_OP_ADD && is_sum(node)) {
        struct nuc_node *mask = nuc_operand(g, node, NUC_OTHER), *at = mask;
        while (nuc_op_family(at->op) == NUC_FAMILY_VIEW || nuc_op_family(at->op) == NUC_FAMILY_PERMUTE)
            at = nuc_operand(g, at, NUC_SELF);
        bool hides = nuc_mask_of(g, at) == NUC_MASK_HIDES && hiding_number(g, at) >= NUC_MASKED;
        bool whole = !nuc_moves_whole(at) && !bounds_far(g, at);
        if (!whole || (!hides && !is_one_mask(g, mask)))
            break;
        node = nuc_operand(g, node, NUC_SELF);
    }
    return !holds_mask(g, node, &steps);
}

static void take_apart(struct sum *s, struct nuc_node *node, unsigned left);

/* The terms of the operand, each through `node`. */
static bool take_through(struct sum *s, struct nuc_node *node, unsigned left)
{
    struct nuc_node *input = nuc_arg_node(node, NUC_SELF), *number = factor(s->g, node, &input);
    uint32_t first = s->terms.n;

    if (input == NULL || input->vals[0].dtype != NUC_F32 || (number == NULL && !nuc_moves_whole(node)))
        return false;
    take_apart(s, input, left);
    bool is_sum = s->terms.n > first + 1 || (s->terms.n > first && s->terms.at[first].mask != NUC_MASK_NONE);
    for (uint32_t i = first; i < s->terms.n && is_sum; i++) {
        struct term *t = &s->terms.at[i];
        if (number == NULL)
            t->value = moved(s, t->value, node);
        else if (t->mask != NUC_MASK_HIDES)
            t->value = nuc_insert_binary(s->g, s->before, NUC_OP_MUL, t->value, number);
        if (t->value == NULL)
            return false;
    }
    return is_sum;
}

/* What the node is a sum of; itself where it is none. */
static void take_apart(struct sum *s, struct nuc_node *node, unsigned left)
{
    enum nuc_mask mask = nuc_mask_of(s->g, node);
    uint32_t first = s->terms.n, steps = MOST_STEPS;

    if (left == 0 || s->too_many || (mask == NUC_MASK_HIDES && nuc_is_static(node)) ||
        (is_one_mask(s->g, node) && !nuc_moves_whole(node) && !bounds_far(s->g, node)) ||
        !holds_mask(s->g, node, &steps)) {
        add_term(s, node, mask);
    } else if (is_sum(node)) {
        take_apart(s, nuc_arg_node(node, NUC_SELF), left - 1);
        uint32_t second = s->terms.n;
        take_apart(s, nuc_arg_node(node, NUC_OTHER), left - 1);
        for (uint32_t i = second; i < s->terms.n && node->op == NUC_OP_SUB; i++) {
            s->terms.at[i].value = nuc_insert_unary(s->g, s->before, NUC_OP_NEG, s->terms.at[i].value);
            s->terms.at[i].mask = nuc_mask_of(s->g, s->terms.at[i].value);
        }
    } else if (nuc_far_choice(s->g, node) != NUC_NO_ARG) {
        uint32_t far = nuc_far_choice(s->g, node);
        take_apart(s, nuc_arg_node(node, far == NUC_ARG(WHERE, self) ? NUC_ARG(WHERE, other) : NUC_ARG(WHERE, self)),
                   left - 1);
        add_term(s, hidden_places(s, node, far), NUC_MASK_HIDES);
    } else if (bounds_far(s->g, node)) {
        struct nuc_node *input = nuc_arg_node(node, NUC_SELF);
        take_apart(s, input, left - 1);
        s->bounded = input;
        s->of_bounded.n = s->terms.n - first;
        memcpy(s->of_bounded.at, &s->terms.at[first], s->of_bounded.n * sizeof(struct term));
    } else if (!(nuc_is_static_float(node) && split_constant(s, node)) && !take_through(s, node, left - 1)) {
        s->terms.n = first;
        add_term(s, node, mask);
    }
}

/* ---- putting together ---- */

enum part { PART_SCORES, PART_BIASES, PART_MASKS };

static enum part part_of(const struct term *t)
{
    return t->mask != NUC_MASK_NONE ? PART_MASKS : nuc_is_static(t->value) ? PART_BIASES : PART_SCORES;
}

/* x and all terms of a part. */
static struct nuc_node *joined(struct sum *s, const struct terms *t, struct nuc_node *x, enum part part)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (part_of(&t->at[i]) == part)
            x = x == NULL ? t->at[i].value : nuc_insert_binary(s->g, s->before, NUC_OP_ADD, x, t->at[i].value);
    }
    return x;
}

/* ---- rows that are hidden as a whole ---- */

/* Whether a choice leaves something of a row, by its condition; NULL: the mask is none, or another one broadcasts. */
static struct nuc_node *left_by_choice(struct sum *s, struct nuc_node *mask)
{
    uint32_t far = nuc_far_choice(s->g, mask);
    struct nuc_node *condition = far != NUC_NO_ARG ? nuc_operand(s->g, mask, NUC_ARG(WHERE, condition)) : NULL;
    const int64_t dim[1] = {-(int64_t)s->columns_from_end};

    if (condition == NULL || !nuc_same_sizes(&condition->vals[0], &mask->vals[0]))
        return NULL;
    if (far == NUC_ARG(WHERE, self))
        condition = nuc_insert_unary(s->g, s->before, NUC_OP_LOGICAL_NOT, condition);
    return nuc_emit(s->g, s->before, NUC_OP_ANY_DIMS, s->before,
                    NUC_ARGS(condition, nuc_ints_arg(dim, 1), nuc_bool_arg(true)));
}

/*
 * float 1 for rows of which masks leave something, 0 for others: [.., 1], broadcasts to the rows of the sum. NULL: not
 * known here, or 1 in any case.
 */
static struct nuc_node *rows_left(struct sum *s, const struct terms *t)
{
    uint32_t n_hiding = 0, n_open = 0;
    bool moves = false;

    for (uint32_t i = 0; i < t->n; i++) {
        n_hiding += t->at[i].mask == NUC_MASK_HIDES;
        n_open += t->at[i].mask == NUC_MASK_OPEN;
        moves = moves || (t->at[i].mask != NUC_MASK_NONE && !nuc_is_static(t->at[i].value));
    }
    if (n_open > 1 || (n_open == 1 && n_hiding > 0) || !moves)
        return NULL;
    const int64_t dim[1] = {-(int64_t)s->columns_from_end};
    struct nuc_node *mask = joined(s, t, NULL, PART_MASKS);
    struct nuc_node *some = n_hiding == 1 ? left_by_choice(s, mask) : NULL;
    if (some != NULL)
        return nuc_insert_cast(s->g, s->before, some, NUC_F32);
    struct nuc_node *most =
        nuc_emit(s->g, s->before, NUC_OP_AMAX, s->before, NUC_ARGS(mask, nuc_ints_arg(dim, 1), nuc_bool_arg(true)));
    double least = n_open > 0 ? (double)-INFINITY : (double)NUC_MASKED / 2;
    return nuc_insert_cast(s->g, s->before, nuc_insert_with_number(s->g, s->before, NUC_OP_GT, most, least), NUC_F32);
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

/* What makes zeros of rows that are hidden as a whole asks the masks, not the scores. */
static void tell_hidden_rows(struct sum *s, struct nuc_node *softmax, const struct nuc_node *x)
{
    for (uint32_t i = softmax->n_users; i-- > 0;) {
        struct nuc_node *user = softmax->users[i];
        if (user->op != NUC_OP_WHERE || nuc_arg_node(user, NUC_ARG(WHERE, other)) != softmax ||
            !tells_hidden_rows(nuc_arg_node(user, NUC_ARG(WHERE, condition)), x))
            continue;
        struct nuc_node *left = s->infinite ? rows_left(s, &s->terms) : NULL;
        if (left == NULL) {
            nuc_replace_uses(s->g, user, softmax, NULL);
            continue;
        }
        nuc_replace_uses(s->g, user, nuc_insert_binary(s->g, user, NUC_OP_MUL, softmax, left), NULL);
    }
}

/* max(mask) > -infinity as float, of a mask that is bounded elsewhere. */
static struct nuc_node *told_by_bounded(struct nuc_graph *g, const struct nuc_node *most)
{
    const struct nuc_node *some = most->op == NUC_OP_AMAX && most->n_users == 1 ? most->users[0] : NULL;
    const struct nuc_node *number = some != NULL && some->op == NUC_OP_GT ? nuc_arg_node(some, NUC_OTHER) : NULL;

    if (!nuc_is_static_float(number) || nuc_elements(&number->vals[0]) != 1 || some->n_users != 1 ||
        nuc_op_family(some->users[0]->op) != NUC_FAMILY_CAST)
        return NULL;
    return *(const float *)nuc_const_contiguous(g, number) < NUC_MASKED ? some->users[0] : NULL;
}

/* All that reads the value comes after a place. */
static bool is_read_behind(const struct nuc_node *value, const struct nuc_node *place)
{
    uint32_t n = 0;

    for (const struct nuc_node *at = place; at != NULL; at = at->next) {
        for (uint32_t i = 0; i < value->n_users; i++)
            n += value->users[i] == at;
    }
    return n == value->n_users;
}

/* The same of the parts of the mask, which take less. */
static void tell_by_parts(struct sum *s)
{
    for (uint32_t i = s->bounded != NULL && s->infinite ? s->bounded->n_users : 0; i-- > 0;) {
        struct nuc_node *told = told_by_bounded(s->g, s->bounded->users[i]);
        struct nuc_node *left = told != NULL && is_read_behind(told, s->before) ? rows_left(s, &s->of_bounded) : NULL;
        if (left == NULL)
            continue;
        left = nuc_insert_expanded(s->g, s->before, left, told->vals[0].sizes, told->vals[0].rank);
        nuc_replace_uses(s->g, told, left, NULL);
    }
}

/* ---- softmax, and the largest value ---- */

/* Of rows in which a choice hides places; masks are asked for their largest value as well. */
static bool is_masked_largest(struct nuc_graph *g, const struct nuc_node *amax)
{
    const struct nuc_node *x = nuc_operand(g, amax, NUC_SELF);

    while (x->n_users == 1 && nuc_moves_whole(x))
        x = nuc_operand(g, x, NUC_SELF);
    return x->n_users == 1 && nuc_far_choice(g, x) != NUC_NO_ARG && nuc_mask_of(g, x) == NUC_MASK_NONE;
}

/* The sum that it is taken of: what is a layer's and no mask comes first. */
static bool finite_masks(struct nuc_graph *g, struct nuc_node *softmax)
{
    struct nuc_node *input = nuc_operand(g, softmax, NUC_SELF);
    uint32_t rank = input->vals[0].rank, counts[3] = {0, 0, 0};
    int64_t dim = rank > 0 ? nuc_row_dim(softmax) : -1;

    if (dim < 0 || (is_settled(g, input) && input->n_users == 1) ||
        (softmax->op == NUC_OP_AMAX && !is_masked_largest(g, softmax)))
        return false;
    struct sum s = {.g = g, .before = softmax, .columns_from_end = rank - (uint32_t)dim};
    take_apart(&s, input, DEEPEST);
    for (uint32_t i = 0; i < s.terms.n; i++)
        counts[part_of(&s.terms.at[i])]++;
    if (counts[PART_MASKS] == 0 || counts[PART_SCORES] == 0 || s.too_many)
        return false;
    struct nuc_node *sum = joined(&s, &s.terms, NULL, PART_SCORES);
    sum = joined(&s, &s.terms, sum, PART_BIASES);
    sum = joined(&s, &s.terms, sum, PART_MASKS);
    sum = nuc_insert_expanded(g, softmax, sum, input->vals[0].sizes, rank);
    nuc_set_arg_node(softmax, g, NUC_SELF, sum);
    tell_hidden_rows(&s, softmax, input);
    tell_by_parts(&s);
    return true;
}

/* Zeros that a mask is filled into are a constant. */
static bool fill_constant(struct nuc_graph *g, struct nuc_node *zeros)
{
    for (uint32_t i = 0; i < zeros->n_users; i++) {
        if (zeros->users[i]->op == NUC_OP_WHERE)
            return nuc_known_value(g, zeros) != NULL;
    }
    return false;
}

bool nuc_finite_masks(struct nuc_graph *g)
{
    bool filled = nuc_rewrite_each(g, NUC_OPS(NUC_OP_ZEROS), fill_constant);

    bool changed = nuc_rewrite_each(g, NUC_OPS(NUC_OP_SOFTMAX, NUC_OP_AMAX), finite_masks);

    if (changed)
        nuc_merge_equal(g); /* layers have the same mask */
    return changed || filled;
}
