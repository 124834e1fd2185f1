/*
 * Softmax and what is made of exponentials, where a model writes it out. The logarithm of a probability tells apart
 * what int8, in steps of 1/256, does not; so do sums of exponentials. They are computed from the values in front of the
 * exponential instead, by log_softmax, log_sigmoid, softplus and logit.
 */
#include <float.h>
#include <math.h>

#include "ir/args.h"
#include "ir/op_list.h"
#include "rewrite/expand/expand.h"
#include "rewrite/formula/formula.h"
#include "rewrite/pass_list.h"
#include "rewrite/recognize/written.h"

/* ---- parts ---- */

static struct nuc_node *operand_if(const struct nuc_node *node, enum nuc_op op)
{
    struct nuc_node *in = node != NULL && node->op == op ? nuc_arg_node(node, NUC_SELF) : NULL;

    return nuc_is_real_value(in) ? in : NULL;
}

/* p of 1 - p */
static struct nuc_node *complement(struct nuc_graph *g, const struct nuc_node *node)
{
    double number;
    struct nuc_node *p = node->op == NUC_OP_SUB && nuc_has_plain_alpha(node) ? nuc_arg_node(node, NUC_OTHER) : NULL;

    return nuc_is_real_value(p) && nuc_number_of(g, nuc_arg_node(node, NUC_SELF), &number) && nuc_is_number(number, 1)
               ? p
               : NULL;
}

/* Whether the value is a / b, with a number for a, where `a` is NULL. */
static bool is_quotient(struct nuc_graph *g, const struct nuc_node *node, struct nuc_node **a, struct nuc_node **b)
{
    double number;

    *a = nuc_arg_node(node, NUC_SELF);
    *b = nuc_arg_node(node, NUC_OTHER);
    if (node->op == NUC_OP_RECIPROCAL) {
        *b = *a;
        *a = NULL;
        return nuc_is_real_value(*b);
    }
    if (node->op == NUC_OP_DIV) {
        if (nuc_number_of(g, *a, &number) && nuc_is_number(number, 1))
            *a = NULL;
        return nuc_is_real_value(*b);
    }
    for (int i = 0; node->op == NUC_OP_MUL && i < 2; i++) {
        struct nuc_node *inverse = operand_if(nuc_arg_node(node, (uint32_t)i), NUC_OP_RECIPROCAL);
        if (inverse != NULL) {
            *a = nuc_arg_node(node, (uint32_t)(1 - i));
            *b = inverse;
            return nuc_is_real_value(*a);
        }
    }
    return false;
}

/* x of where(abs(x) == infinity, 0, x) */
static struct nuc_node *where_finite(const struct nuc_node *node)
{
    struct nuc_node *x = node->op == NUC_OP_WHERE ? nuc_arg_node(node, NUC_ARG(WHERE, other)) : NULL;
    const struct nuc_node *test = x == NULL ? NULL : nuc_arg_node(node, NUC_ARG(WHERE, condition));

    if (test == NULL || test->op != NUC_OP_EQ || operand_if(nuc_arg_node(test, NUC_SELF), NUC_OP_ABS) != x)
        return NULL;
    return x;
}

/* Behind copies and bounds of all finite numbers. */
static struct nuc_node *without_limits(struct nuc_node *node)
{
    for (;;) {
        struct nuc_node *finite = where_finite(node);
        bool wide = nuc_has_bounds(node) && nuc_bounds_of(node).min <= -(double)FLT_MAX &&
                    nuc_bounds_of(node).max >= (double)FLT_MAX;
        if (finite == NULL && !wide && !nuc_is_plain_copy(node))
            return node;
        node = finite != NULL ? finite : nuc_arg_node(node, NUC_SELF);
    }
}

/* The value has the sizes of x, but for one element along the dimensions of the mask. */
static bool keeps_dims(const struct nuc_node *node, const struct nuc_node *x, uint32_t mask)
{
    const struct nuc_meta *a = &node->vals[0], *b = &x->vals[0];

    if (a->rank != b->rank)
        return false;
    for (uint32_t d = 0; d < a->rank; d++) {
        if (a->sizes[d] != ((mask >> d & 1) != 0 ? 1 : b->sizes[d]))
            return false;
    }
    return true;
}

/* The greatest of x along these dimensions, in any shape. */
static bool is_greatest_of(struct nuc_node *node, const struct nuc_node *x, uint32_t mask)
{
    node = without_limits(nuc_behind_views(without_limits(node)));
    return node->op == NUC_OP_AMAX && nuc_arg_node(node, NUC_SELF) == x &&
           nuc_dims_mask(node, NUC_ARG(AMAX, dim), x->vals[0].rank) == mask;
}

/* x of x - greatest of x, else the value itself. */
static struct nuc_node *without_shift(struct nuc_node *node, uint32_t mask)
{
    struct nuc_node *x = operand_if(node, NUC_OP_SUB), *shift = nuc_arg_node(node, NUC_OTHER);

    return x != NULL && nuc_is_real_value(shift) && nuc_has_plain_alpha(node) &&
                   (nuc_elements(&shift->vals[0]) == 1 || keeps_dims(nuc_behind_expand(shift), x, mask)) &&
                   nuc_elements(&x->vals[0]) == nuc_elements(&node->vals[0]) && is_greatest_of(shift, x, mask)
               ? x
               : node;
}

/* x of the sum of exp(x) over dimensions, NULL where it is none. */
static struct nuc_node *summed_exponent(const struct nuc_node *sum, uint32_t *mask)
{
    const struct nuc_node *e = operand_if(sum, NUC_OP_SUM_DIM);
    struct nuc_node *x = operand_if(e, NUC_OP_EXP);

    if (x == NULL)
        return NULL;
    *mask = nuc_dims_mask(sum, NUC_ARG(SUM_DIM, dim), x->vals[0].rank);
    return x;
}

/* x of log(sum of exp(x)), and of log(sum of exp(x - greatest)) + greatest; behind views. */
static struct nuc_node *log_sum_exponent(struct nuc_node *node, uint32_t *mask)
{
    struct nuc_node *x;

    node = nuc_behind_views(node);
    if (node->op == NUC_OP_LOG) {
        struct nuc_node *sum = nuc_arg_node(node, NUC_SELF);
        return nuc_is_real_value(sum) ? summed_exponent(nuc_behind_views(sum), mask) : NULL;
    }
    if (node->op != NUC_OP_ADD || !nuc_has_plain_alpha(node))
        return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        struct nuc_node *log = nuc_arg_node(node, i), *shift = nuc_arg_node(node, 1 - i);
        if (!nuc_is_real_value(log) || !nuc_is_real_value(shift) || nuc_behind_views(log)->op != NUC_OP_LOG)
            continue;
        struct nuc_node *shifted = log_sum_exponent(log, mask);
        x = shifted == NULL ? NULL : without_shift(shifted, *mask);
        if (x != NULL && x != shifted && is_greatest_of(shift, x, *mask))
            return x;
    }
    return NULL;
}

/* The dimension of a mask that has one; -1 for more. */
static int64_t only_dim(uint32_t mask)
{
    int64_t dim = 0;

    while (mask != 0 && (mask & 1) == 0) {
        mask >>= 1;
        dim++;
    }
    return mask == 1 ? dim : -1;
}

static struct nuc_node *emit_softmax(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *x,
                                     uint32_t mask)
{
    return nuc_emit(g, node, op, node, NUC_ARGS(without_shift(x, mask), only_dim(mask)));
}

/* ---- softmax ---- */

/*
 * The result of a softmax has steps of 1/256: of more elements than this the probabilities are few of these, where
 * exponentials and the quotient have ranges of their own.
 */
enum { MAX_CLASSES = 32 };

/* exp(x) / sum of exp(x) */
static struct nuc_node *to_softmax(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *a, *sum;
    uint32_t mask;

    if (!is_quotient(g, node, &a, &sum) || a == NULL)
        return NULL;
    sum = nuc_behind_expand(sum);
    struct nuc_node *x = operand_if(a, NUC_OP_EXP);
    bool found = x != NULL && summed_exponent(nuc_behind_views(sum), &mask) == x && only_dim(mask) >= 0 &&
                 x->vals[0].sizes[only_dim(mask)] <= MAX_CLASSES && keeps_dims(sum, x, mask) &&
                 nuc_same_sizes(&x->vals[0], &node->vals[0]);
    return found ? emit_softmax(g, node, NUC_OP_SOFTMAX, x, mask) : NULL;
}

/* x - log(sum of exp(x)) */
static struct nuc_node *to_log_softmax(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = operand_if(node, NUC_OP_SUB), *log = nuc_arg_node(node, NUC_OTHER);
    uint32_t mask;

    if (x == NULL || !nuc_is_real_value(log) || !nuc_has_plain_alpha(node))
        return NULL;
    log = nuc_behind_expand(log);
    bool found = log_sum_exponent(log, &mask) == x && only_dim(mask) >= 0 && keeps_dims(log, x, mask) &&
                 nuc_same_sizes(&x->vals[0], &node->vals[0]);
    return found ? emit_softmax(g, node, NUC_OP_LOG_SOFTMAX, x, mask) : NULL;
}

/* log(sum of exp(x)) from the greatest on, as torch.logsumexp computes it: exponentials of at most 1. */
static struct nuc_node *to_shifted_sum(struct nuc_graph *g, struct nuc_formulas *formulas, struct nuc_node *node)
{
    int64_t dims[NUC_MAX_RANK];
    uint32_t mask, count;
    struct nuc_node *x = node->op == NUC_OP_LOG ? log_sum_exponent(node, &mask) : NULL;

    if (x == NULL || x->op == NUC_OP_SUB)
        return NULL;
    count = nuc_list_dims(mask, x->vals[0].rank, dims);
    if (count == 0)
        return NULL;
    return nuc_formula_call(formulas, g, node, "stated_log_of_sum", NUC_ARGS(x, nuc_ints_arg(dims, count)));
}

/* ---- functions of one value ---- */

static struct nuc_node *negated(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x)
{
    struct nuc_node *in = operand_if(x, NUC_OP_NEG);

    return in != NULL ? in : nuc_insert_unary(g, node, NUC_OP_NEG, x);
}

/* ---- logarithms ---- */

enum { MAX_MOVES = 8 };

/* What a logarithm is taken of: moves of a softmax or sigmoid, or 1 - sigmoid, perhaps with bounds. A number added to
 * it is not taken out: such a chain stays in float (ir/float_chain.h). */
struct probability {
    struct nuc_node *of; /* softmax or sigmoid */
    bool complement;     /* 1 minus that */
    double min, max;
    uint32_t n_moves;
    struct nuc_node *moves[MAX_MOVES]; /* the last one first */
};

static bool read_probability(struct nuc_graph *g, struct nuc_node *node, struct probability *p)
{
    *p = (struct probability){.min = 0, .max = HUGE_VAL};
    while (nuc_is_real_value(node)) {
        struct nuc_node *rest = complement(g, node);
        bool floor = p->min > 0 || p->max < HUGE_VAL;
        if (nuc_op_family(node->op) == NUC_FAMILY_SOFTMAX || node->op == NUC_OP_SIGMOID) {
            p->of = node;
            return node->op == NUC_OP_SOFTMAX || node->op == NUC_OP_NATIVE_SOFTMAX || node->op == NUC_OP_SIGMOID;
        }
        static const enum nuc_op ops[] = {NUC_OP_SLICE, NUC_OP_EXPAND, NUC_OP_COUNT};
        enum nuc_family family = nuc_op_family(node->op);
        if ((nuc_is_real_value(node) && nuc_is_real_value(nuc_arg_node(node, NUC_SELF)) &&
             (family == NUC_FAMILY_VIEW || family == NUC_FAMILY_PERMUTE || nuc_is_plain_copy(node) ||
              nuc_op_is_in(node->op, ops))) &&
            p->n_moves < MAX_MOVES) {
            p->moves[p->n_moves++] = node;
            node = nuc_arg_node(node, NUC_SELF);
        } else if (nuc_has_bounds(node) && !floor && !p->complement && nuc_bounds_of(node).min > 0) {
            struct nuc_bounds b = nuc_bounds_of(node);
            p->min = b.min;
            p->max = b.max;
            node = nuc_arg_node(node, NUC_SELF);
        } else if (rest != NULL && !p->complement) {
            p->complement = true;
            node = rest;
        } else {
            return false;
        }
    }
    return false;
}

/* The logarithm of the softmax or sigmoid itself. */
static struct nuc_node *logarithm(struct nuc_graph *g, struct nuc_node *node, const struct probability *p)
{
    struct nuc_node *x = nuc_operand(g, p->of, NUC_SELF);

    if (p->of->op == NUC_OP_SIGMOID)
        return nuc_emit(g, node, NUC_OP_LOG_SIGMOID, node, NUC_ARGS(p->complement ? negated(g, node, x) : x));
    return nuc_emit(g, node, p->of->op == NUC_OP_SOFTMAX ? NUC_OP_LOG_SOFTMAX : NUC_OP_NATIVE_LOG_SOFTMAX, node,
                    p->of->args, p->of->n_args);
}

static struct nuc_node *to_logarithm(struct nuc_graph *g, struct nuc_node *node)
{
    enum nuc_op op = node->op;
    double base = op == NUC_OP_LOG2 ? 2 : op == NUC_OP_LOG10 ? 10 : op == NUC_OP_LOG ? M_E : 0;
    struct probability p;

    if (!(base > 0) || !read_probability(g, nuc_arg_node(node, NUC_SELF), &p) ||
        (p.complement && p.of->op != NUC_OP_SIGMOID))
        return NULL;
    /* The same moves of another value. */
    struct nuc_node *value = logarithm(g, node, &p);
    for (uint32_t i = p.n_moves; i-- > 0;)
        value = nuc_emit_like(g, node, p.moves[i], NUC_ARGS(value));
    struct nuc_node *y = value;
    if (p.min > 0)
        y = nuc_emit(g, node, NUC_OP_CLAMP, node, NUC_ARGS(y, log(p.min), p.max < 1 ? log(p.max) : 0));
    return base < M_E || base > M_E ? nuc_insert_with_number(g, node, NUC_OP_MUL, y, 1 / log(base)) : y;
}

/* ---- logit ---- */

/* p of log(p / (1 - p)) */
static struct nuc_node *odds(struct nuc_graph *g, const struct nuc_node *node)
{
    struct nuc_node *p, *rest;
    const struct nuc_node *in = node->op == NUC_OP_LOG ? nuc_arg_node(node, NUC_SELF) : NULL;

    return in != NULL && is_quotient(g, in, &p, &rest) && p != NULL && complement(g, rest) == p ? p : NULL;
}

/* The bound of where(x > number, number, x) and of the other direction; NULL when the node is none. */
static struct nuc_node *where_bounded(struct nuc_graph *g, const struct nuc_node *node, struct nuc_bounds *b)
{
    struct nuc_node *x = node->op == NUC_OP_WHERE ? nuc_arg_node(node, NUC_ARG(WHERE, other)) : NULL;
    const struct nuc_node *test = x == NULL ? NULL : nuc_arg_node(node, NUC_ARG(WHERE, condition));
    double number, limit;

    if (!nuc_is_real_value(x) || test == NULL || (test->op != NUC_OP_GT && test->op != NUC_OP_LT) ||
        !nuc_number_of(g, nuc_arg_node(node, NUC_ARG(WHERE, self)), &number) ||
        !nuc_number_of(g, nuc_arg_node(test, NUC_OTHER), &limit) || !nuc_numbers_equal(number, limit))
        return NULL;
    if (test->op == NUC_OP_GT)
        b->max = fmin(b->max, number);
    else
        b->min = fmax(b->min, number);
    return x;
}

/* Takes off the bounds of a value. */
static struct nuc_node *without_bounds(struct nuc_graph *g, struct nuc_node *node, struct nuc_bounds *b)
{
    struct nuc_node *x = node;

    while (x != NULL) {
        node = x;
        x = where_bounded(g, node, b);
        if (x == NULL && nuc_has_bounds(node)) {
            struct nuc_bounds own = nuc_bounds_of(node);
            x = nuc_arg_node(node, NUC_SELF);
            *b = (struct nuc_bounds){fmax(b->min, own.min), fmin(b->max, own.max)};
        }
    }
    return node;
}

/* The logit of a sigmoid is what that is taken of, between the bounds of the probability. */
static struct nuc_node *to_logit(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *p = node->op == NUC_OP_LOGIT ? nuc_arg_node(node, NUC_SELF) : odds(g, node);
    double eps = node->op == NUC_OP_LOGIT ? nuc_scalar(node, NUC_ARG(LOGIT, eps), 0) : 0;
    struct nuc_bounds b = {eps, 1 - eps};

    if (!nuc_is_real_value(p))
        return NULL;
    p = without_bounds(g, p, &b);
    struct nuc_node *x = operand_if(p, NUC_OP_SIGMOID);
    if (x == NULL && node->op == NUC_OP_LOGIT)
        return NULL;
    if (x == NULL)
        return nuc_emit(g, node, NUC_OP_LOGIT, node, NUC_ARGS(odds(g, node)));
    struct nuc_arg min = {.kind = NUC_ARG_NONE}, max = min;
    if (!(b.min < 1) || !(b.max > 0))
        return NULL;
    if (b.min > 0)
        min = nuc_float_arg(log(b.min / (1 - b.min)));
    if (b.max < 1)
        max = nuc_float_arg(log(b.max / (1 - b.max)));
    return b.min > 0 || b.max < 1 ? nuc_emit(g, node, NUC_OP_CLAMP, node, NUC_ARGS(x, min, max)) : x;
}

/* ---- the pass ---- */

/* By the patterns of that use, behind the rules above for what is written. */
static struct nuc_node *rewritten(struct nuc_graph *g, struct nuc_formulas *formulas, enum nuc_pattern_use use,
                                  struct nuc_node *node)
{
    static struct nuc_node *(*const rules[])(struct nuc_graph * g, struct nuc_node * node) = {
        to_softmax,
        to_log_softmax,
        to_logit,
        to_logarithm,
    };

    for (size_t i = 0; use == NUC_PATTERN_WRITTEN && nuc_is_real_value(node) && i < sizeof rules / sizeof *rules; i++) {
        struct nuc_node *value = rules[i](g, node);
        if (value != NULL)
            return value;
    }
    struct nuc_node *sum = use == NUC_PATTERN_WRITTEN ? to_shifted_sum(g, formulas, node) : NULL;
    return sum != NULL ? sum : nuc_recognize(formulas, use, g, node);
}

/* From the end: the logarithm of a sum may be a part of a logarithmic softmax. */
static bool rewrite_all(struct nuc_graph *g, struct nuc_formulas *formulas, enum nuc_pattern_use use)
{
    uint32_t count;
    struct nuc_node **nodes = nuc_collect(g, NULL, &count);
    bool changed = false;

    for (uint32_t i = count; i-- > 0;) {
        struct nuc_node *node = nodes[i];
        uint32_t old_ids = g->next_id;
        struct nuc_node *value = node->n_users > 0 ? rewritten(g, formulas, use, node) : NULL;
        if (value == NULL)
            continue;
        nuc_replace_uses(g, node, value, NULL);
        nuc_remove_dead(g);
        if (node->op == NUC_OP_LINEAR) /* what it was made of, which forms ask for */
            nuc_fold_constants(g);
        if (value->id >= old_ids)
            nuc_rename(g, value, node->name);
        changed = true;
    }
    return changed;
}

bool nuc_written_operators(struct nuc_graph *g)
{
    return rewrite_all(g, nuc_formulas_new(g->cx), NUC_PATTERN_DECOMPOSED);
}

bool nuc_written_softmax(struct nuc_graph *g)
{
    const int rounds = 4; /* what becomes a softmax may stand below a logarithm */
    struct nuc_formulas *formulas = nuc_formulas_new(g->cx);
    bool changed = false;

    for (int i = 0; i < rounds && rewrite_all(g, formulas, NUC_PATTERN_WRITTEN); i++)
        changed = true;
    return changed;
}
