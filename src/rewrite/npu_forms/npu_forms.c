#include "rewrite/npu_forms/npu_forms.h"

#include "rewrite/formula/formula.h"

/* ---- quotients ---- */

/*
 * a / sqrt(b), where the CPU would divide in int8: the inverse in int8 has half a step of 1/255 of its range, which
 * float on the CPU has not; its int8 kernels err more.
 */
static bool is_over_root(const struct nuc_support *s, const struct nuc_node *node)
{
    const struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *root = nuc_arg_node(node, NUC_OTHER);

    return s->divides_in_int8 && nuc_is_real_value(node) && nuc_is_real_value(a) && nuc_is_real_value(root) &&
           root->op == NUC_OP_SQRT && root->n_users == 1;
}

/* a / b, where the NPU multiplies with the inverse. */
static bool is_over_few(const struct nuc_support *s, const struct nuc_node *node)
{
    return s->divides_in_int8 && nuc_divides_by_few(node);
}

static struct nuc_node *to_times_inverse(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *inverse = nuc_insert_unary(g, node, NUC_OP_RECIPROCAL, nuc_operand(g, node, NUC_OTHER));

    return nuc_insert_binary(g, node, NUC_OP_MUL, nuc_operand(g, node, NUC_SELF), inverse);
}

/* a rsqrt(b) */
static struct nuc_node *to_times_root(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *root = nuc_operand(g, node, NUC_OTHER);
    struct nuc_node *inverse = nuc_insert_unary(g, node, NUC_OP_RSQRT, nuc_operand(g, root, NUC_SELF));

    return nuc_insert_binary(g, node, NUC_OP_MUL, nuc_operand(g, node, NUC_SELF), inverse);
}

static const struct nuc_npu_form quotient_forms[] = {
    {NUC_OPS(NUC_OP_DIV), to_times_root, is_over_root},
    {NUC_OPS(NUC_OP_DIV), to_times_inverse, is_over_few},
    {.build = NULL},
};

/* What is built is looked at again, so that a form may use operators that have one. */
static const struct nuc_npu_form *const families[] = {
    quotient_forms,          nuc_softmax_forms, nuc_linear_map_forms, nuc_sum_forms,
    nuc_computed_conv_forms, nuc_conv_forms,    nuc_window_forms,     nuc_matrix_forms,
    nuc_broadcast_forms,     nuc_stride_forms,  nuc_move_forms,       nuc_unpool_forms,
};

static expansion form_in(const struct nuc_npu_form *form, const struct nuc_support *s, const struct nuc_node *node)
{
    while (form->build != NULL && (!nuc_op_is_in(node->op, form->ops) || !form->applies(s, node)))
        form++;
    return form->build;
}

static expansion form_of(const struct nuc_support *s, const struct nuc_node *node)
{
    expansion build = NULL;

    for (size_t i = 0; build == NULL && i < sizeof families / sizeof *families; i++)
        build = form_in(families[i], s, node);
    return build;
}

bool nuc_to_forms(const struct nuc_support *s, const struct nuc_npu_form *forms)
{
    uint32_t old_ids = s->g->next_id;
    bool changed = false;

    for (struct nuc_node *n = s->g->first, *next; n != NULL; n = next) {
        expansion build = nuc_is_call(n) ? form_in(forms, s, n) : NULL;
        next = build != NULL ? nuc_expand_node(s->g, n, build) : n->next;
        changed = changed || build != NULL;
    }
    if (s->g->next_id != old_ids) /* also by what was looked at */
        nuc_remove_dead(s->g);
    return changed;
}

bool nuc_to_npu_forms(const struct nuc_support *s)
{
    struct nuc_formulas *formulas = nuc_formulas_new(s->g->cx);
    bool changed = false;

    for (struct nuc_node *n = s->g->first, *before; n != NULL;) {
        bool is_written =
            nuc_op_is_in(n->op, NUC_OPS(NUC_OP_MUL, NUC_OP_DIV, NUC_OP_WHERE, NUC_OP_THRESHOLD, NUC_OP_HARDSHRINK));
        uint32_t old_ids = s->g->next_id;
        before = n->prev;
        struct nuc_node *value = is_written ? nuc_recognize(formulas, NUC_PATTERN_NPU, s->g, n) : NULL;
        bool is_norm = value == NULL && nuc_is_call(n) && nuc_has_npu_norm(s, n);
        expansion build = value == NULL && nuc_is_call(n) && !is_norm ? form_of(s, n) : NULL;
        if (value == NULL && build == NULL && !is_norm) {
            n = n->next;
            continue;
        }
        n->in_place = n->in_place && build == NULL && !is_norm;
        value = is_norm ? nuc_to_npu_norm(s, n) : build != NULL ? build(s->g, n) : value;
        if (value != NULL)
            nuc_count_once(n, value, old_ids);
        n = nuc_replace_expanded(s->g, n, before, old_ids, value);
        changed = true;
    }
    if (changed)
        nuc_remove_dead(s->g);
    return changed;
}
