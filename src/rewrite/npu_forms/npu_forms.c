#include "rewrite/npu_forms/npu_forms.h"

#include "rewrite/formula/formula.h"

/* ---- quotients ---- */

/*
 * a / sqrt(b), where the CPU would divide in int8, as a rsqrt(b): the inverse in int8 has half a step of 1/255 of its
 * range, which float on the CPU has not; its int8 kernels err more.
 */
static struct nuc_node *form_times_root(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *root = nuc_arg_node(node, NUC_OTHER);

    if (!s->divides_in_int8 || !nuc_is_real_value(node) || !nuc_is_real_value(a) || !nuc_is_real_value(root) ||
        root->op != NUC_OP_SQRT || root->n_users != 1)
        return NULL;
    root = nuc_insert_unary(s->g, node, NUC_OP_RSQRT, nuc_operand(s->g, root, NUC_SELF));
    return nuc_insert_binary(s->g, node, NUC_OP_MUL, a, root);
}

/* a / b, where the NPU multiplies with the inverse. */
static struct nuc_node *form_times_inverse(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);

    if (!s->divides_in_int8 || !nuc_divides_by_few(node))
        return NULL;
    return nuc_insert_binary(s->g, node, NUC_OP_MUL, a, nuc_insert_unary(s->g, node, NUC_OP_RECIPROCAL, b));
}

static const struct nuc_npu_form quotient_forms[] = {
    {NUC_OPS(NUC_OP_DIV), form_times_root},
    {NUC_OPS(NUC_OP_DIV), form_times_inverse},
    {.form = NULL},
};

/* What is built is looked at again, so that a form may use operators that have one. */
static const struct nuc_npu_form *const families[] = {
    nuc_norm_forms,          quotient_forms, nuc_softmax_forms, nuc_linear_map_forms, nuc_sum_forms,
    nuc_computed_conv_forms, nuc_conv_forms, nuc_window_forms,  nuc_matrix_forms,     nuc_broadcast_forms,
    nuc_stride_forms,        nuc_move_forms, nuc_unpool_forms,
};

/* What the first form that has one makes of the node; NULL: none has. */
static struct nuc_node *form_in(const struct nuc_npu_form *forms, const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *value = NULL;

    for (; forms->form != NULL && value == NULL; forms++) {
        if (nuc_op_is_in(node->op, forms->ops))
            value = forms->form(s, node);
    }
    return value;
}

/* The same of all families. What is made of a node in place is no longer so. */
static struct nuc_node *form_of(const struct nuc_support *s, struct nuc_node *node)
{
    const bool in_place = node->in_place;
    struct nuc_node *value = NULL;

    node->in_place = false;
    for (size_t i = 0; value == NULL && i < sizeof families / sizeof *families; i++)
        value = form_in(families[i], s, node);
    node->in_place = in_place && value == NULL;
    return value;
}

static struct nuc_support with_formulas(const struct nuc_support *s)
{
    struct nuc_support out = *s;

    out.formulas = nuc_formulas_new(s->g->cx);
    return out;
}

bool nuc_to_forms(const struct nuc_support *support, const struct nuc_npu_form *forms)
{
    const struct nuc_support of = with_formulas(support), *s = &of;
    const uint32_t first_id = s->g->next_id;
    bool changed = false;

    for (struct nuc_node *n = s->g->first, *next; n != NULL; n = next) {
        struct nuc_node *before = n->prev;
        uint32_t old_ids = s->g->next_id;
        struct nuc_node *value = nuc_is_call(n) && !n->in_place ? form_in(forms, s, n) : NULL;
        next = value != NULL ? nuc_replace_expanded(s->g, n, before, old_ids, value) : n->next;
        changed = changed || value != NULL;
    }
    if (s->g->next_id != first_id) /* also by what was looked at */
        nuc_remove_dead(s->g);
    return changed;
}

bool nuc_to_npu_forms(const struct nuc_support *support)
{
    const struct nuc_support of = with_formulas(support), *s = &of;
    bool changed = false;

    for (struct nuc_node *n = s->g->first, *next; n != NULL; n = next) {
        bool is_written =
            nuc_op_is_in(n->op, NUC_OPS(NUC_OP_MUL, NUC_OP_DIV, NUC_OP_WHERE, NUC_OP_THRESHOLD, NUC_OP_HARDSHRINK));
        struct nuc_node *before = n->prev;
        uint32_t old_ids = s->g->next_id;
        struct nuc_node *value = is_written ? nuc_recognize(s->formulas, NUC_PATTERN_NPU, s->g, n) : NULL;
        if (value == NULL && nuc_is_call(n))
            value = form_of(s, n);
        if (value != NULL)
            nuc_count_once(n, value, old_ids);
        next = value != NULL ? nuc_replace_expanded(s->g, n, before, old_ids, value) : n->next;
        changed = changed || value != NULL;
    }
    if (changed)
        nuc_remove_dead(s->g);
    return changed;
}
