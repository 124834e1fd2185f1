/* Values that are repeated to fit others, where the NPU does not do it by itself. */
#include <math.h>

#include "rewrite/npu_forms/npu_forms.h"

/* ---- expand ---- */

static bool is_arithmetic(const struct nuc_node *node)
{
    return node->op == NUC_OP_ADD || node->op == NUC_OP_SUB || node->op == NUC_OP_MUL || node->op == NUC_OP_DIV;
}

static struct nuc_node *other_of(const struct nuc_node *node, const struct nuc_node *x)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);

    return a == x ? b : a;
}

/* All that read the value are operators that broadcast it to their other operand. */
static bool is_broadcast_by_readers(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        const struct nuc_node *other = is_arithmetic(user) && !user->in_place ? other_of(user, node) : NULL;
        if (other == NULL || other == node || !nuc_is_float_value(other) || !nuc_is_float_value(user) ||
            !nuc_same_sizes(&other->vals[0], &user->vals[0]))
            return false;
    }
    return node->n_users > 0;
}

/* Of a concatenation, which takes a kernel for each. */
#define MAX_COPIES 2

static struct nuc_node *form_expand(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_graph *g = s->g;
    struct nuc_node *x = nuc_arg_node(node, NUC_SELF);

    if (!nuc_is_float_value(x) || !nuc_is_float_value(node) || nuc_is_static(x) || is_broadcast_by_readers(node))
        return NULL;
    const struct nuc_meta in = x->vals[0], out = node->vals[0];
    int64_t sizes[NUC_MAX_RANK], copies = 1;
    uint32_t missing = out.rank - in.rank;
    for (uint32_t i = 0; i < out.rank; i++) {
        sizes[i] = i < missing ? 1 : in.sizes[i - missing];
        copies *= out.sizes[i] / sizes[i];
    }
    x = nuc_insert_reshaped(g, node, x, sizes, out.rank);
    if (copies > MAX_COPIES) {
        /* A product with ones takes one kernel, and a constant as large as the result. */
        struct nuc_meta whole = nuc_meta_make(NUC_F32, node->vals[0].sizes, node->vals[0].rank);
        return nuc_insert_binary(g, node, NUC_OP_MUL, x, nuc_insert_filled(g, node, &whole, 1.0));
    }
    for (uint32_t i = out.rank; i-- > 0;)
        x = nuc_insert_repeated(g, node, x, i, out.sizes[i] / sizes[i]);
    return x;
}

/* ---- operators of two values ---- */

static bool is_whole(const struct nuc_node *x, const struct nuc_node *result)
{
    return nuc_elements(&x->vals[0]) == nuc_elements(&result->vals[0]);
}

/* The operands of one of float values, of which both are read as such. */
static bool has_float_operands(const struct nuc_node *node, struct nuc_node **a, struct nuc_node **b)
{
    *a = nuc_arg_node(node, NUC_SELF);
    *b = nuc_arg_node(node, NUC_OTHER);
    return nuc_is_float_value(node) && nuc_is_float_value(*a) && nuc_is_float_value(*b);
}

static struct nuc_node *form_outer(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_graph *g = s->g;
    struct nuc_node *a, *b;

    if (!has_float_operands(node, &a, &b) || is_whole(a, node) || is_whole(b, node))
        return NULL;
    bool first = nuc_is_static(b) ? false : nuc_is_static(a) || nuc_elements(&a->vals[0]) >= nuc_elements(&b->vals[0]);
    struct nuc_node *repeated = nuc_insert_expand(g, node, first ? a : b, node->vals[0].sizes, node->vals[0].rank);

    return nuc_emit_like(g, node, node, NUC_ARGS(first ? repeated : a, first ? b : repeated));
}

/* x of expand(x); NULL for what is something else. */
static struct nuc_node *expanded(const struct nuc_node *x)
{
    return x->op == NUC_OP_EXPAND ? nuc_arg_node(x, NUC_SELF) : NULL;
}

static struct nuc_node *form_broadcast(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *a, *b;

    if (!has_float_operands(node, &a, &b))
        return NULL;
    struct nuc_node *x = expanded(a), *y = expanded(b);
    if (x != NULL && is_whole(b, node) && !nuc_is_static(x))
        return nuc_emit_like(s->g, node, node, NUC_ARGS(x, b));
    return y != NULL && is_whole(a, node) && !nuc_is_static(y) ? nuc_emit_like(s->g, node, node, NUC_ARGS(a, y)) : NULL;
}

static bool is_constant_image(const struct nuc_node *x)
{
    return nuc_is_static(x) && x->vals[0].rank > 2 && nuc_is_channels_last(&x->vals[0]) &&
           !nuc_is_contiguous(&x->vals[0]);
}

static struct nuc_node *plain(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x)
{
    if (!is_constant_image(x))
        return x;
    return nuc_insert_floats(g, node, nuc_const_contiguous(g, x), x->vals[0].sizes, x->vals[0].rank);
}

static struct nuc_node *form_plain_constant(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *a, *b;

    if (!has_float_operands(node, &a, &b) ||
        ((!is_constant_image(b) || nuc_is_of_images(a)) && (!is_constant_image(a) || nuc_is_of_images(b))))
        return NULL;
    a = plain(s->g, node, a);
    b = plain(s->g, node, b);
    return nuc_emit_like(s->g, node, node, NUC_ARGS(a, b));
}

/* ---- comparisons with constants ---- */

/* Finite: a difference from an infinity is none. */
static bool are_finite(struct nuc_graph *g, const struct nuc_node *constants)
{
    const float *x = nuc_const_contiguous(g, constants);

    for (int64_t i = 0; i < nuc_elements(&constants->vals[0]); i++) {
        if (!isfinite(x[i]))
            return false;
    }
    return true;
}

static struct nuc_node *form_difference(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);

    if (a == NULL || b == NULL || nuc_is_static(a) == nuc_is_static(b))
        return NULL;
    const struct nuc_node *x = nuc_is_static(a) ? b : a, *constants = nuc_is_static(a) ? a : b;
    return nuc_is_float_value(x) && nuc_is_static_float(constants) && nuc_elements(&constants->vals[0]) > 1 &&
                   nuc_same_sizes(&x->vals[0], &node->vals[0]) && are_finite(s->g, constants)
               ? nuc_insert_with_number(s->g, node, node->op, nuc_insert_binary(s->g, node, NUC_OP_SUB, a, b), 0)
               : NULL;
}

/* ---- nothing ---- */

static struct nuc_node *form_alias(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *x = nuc_arg_node(node, NUC_SELF);

    (void)s;
    return x != NULL && (nuc_is_call(x) || !nuc_feeds_output(node)) && nuc_same_sizes(&x->vals[0], &node->vals[0]) &&
                   (x->n_users == 1 || (!nuc_is_written(node) && !nuc_is_written(x)))
               ? x
               : NULL;
}

/* ---- the forms ---- */

const struct nuc_npu_form nuc_broadcast_forms[] = {
    /* Another name of a value, and a slice of all of it. */
    {NUC_OPS(NUC_OP_ALIAS, NUC_OP_SLICE), form_alias},
    /* expand, where an operator after it does not broadcast: a concatenation, or a product with ones. */
    {NUC_OPS(NUC_OP_EXPAND), form_expand},
    /* An operator of two values, one of them expanded to the other: it broadcasts by itself. */
    {NUC_OPS(NUC_OP_ADD, NUC_OP_SUB, NUC_OP_MUL, NUC_OP_DIV), form_broadcast},
    /* An operator of two values that both broadcast: one of them is expanded. */
    {NUC_OPS(NUC_OP_ADD, NUC_OP_SUB, NUC_OP_MUL), form_outer},
    /*
     * A constant operand that lies channels last beside a value that is no image: it would have the operators around it
     * work on the wrong dimension.
     */
    {NUC_OPS(NUC_OP_ADD, NUC_OP_SUB, NUC_OP_MUL), form_plain_constant},
    /* x > several numbers: their difference > 0, which is a function of one value. */
    {NUC_OPS(NUC_OP_GT, NUC_OP_GE, NUC_OP_LT, NUC_OP_LE), form_difference},
    {.form = NULL},
};
