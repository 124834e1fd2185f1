#include "compiler/cortexm/cortexm.h"

#include "compiler/cortexm/cortexm_private.h"

static nuc_cm_lowering *const lowerings[NUC_OP_COUNT] = {
    [NUC_OP_EDGE_CONVOLUTION] = nuc_cm_lower_convolution,
    [NUC_OP_EDGE_LINEAR] = nuc_cm_lower_linear,
    [NUC_OP_EDGE_ADDMM] = nuc_cm_lower_addmm,
    [NUC_OP_EDGE_MM] = nuc_cm_lower_mm,
    [NUC_OP_EDGE_BMM] = nuc_cm_lower_bmm,
    [NUC_OP_EDGE_ADD] = nuc_cm_lower_add,
    [NUC_OP_EDGE_SUB] = nuc_cm_lower_add,
    [NUC_OP_EDGE_MUL] = nuc_cm_lower_mul,
    [NUC_OP_EDGE_DIV] = nuc_cm_lower_div,
    [NUC_OP_EDGE_MINIMUM] = nuc_cm_lower_extreme,
    [NUC_OP_EDGE_MAXIMUM] = nuc_cm_lower_extreme,
    [NUC_OP_EDGE_SOFTMAX] = nuc_cm_lower_softmax,
    [NUC_OP_EDGE_PRELU] = nuc_cm_lower_prelu,
    [NUC_OP_EDGE_RELU] = nuc_cm_lower_clamp,
    [NUC_OP_EDGE_HARDTANH] = nuc_cm_lower_clamp,
    [NUC_OP_EDGE_CLAMP] = nuc_cm_lower_clamp,
    [NUC_OP_EDGE_MAX_POOL2D] = nuc_cm_lower_max_pool,
    [NUC_OP_EDGE_AVG_POOL2D] = nuc_cm_lower_avg_pool,
    [NUC_OP_EDGE_ADAPTIVE_AVG_POOL2D] = nuc_cm_lower_adaptive_pool,
    [NUC_OP_EDGE_MEAN_DIM] = nuc_cm_lower_sum,
    [NUC_OP_EDGE_SUM_DIM] = nuc_cm_lower_sum,
    [NUC_OP_EDGE_AMAX] = nuc_cm_lower_reduce_extreme,
    [NUC_OP_EDGE_AMIN] = nuc_cm_lower_reduce_extreme,
    [NUC_OP_EDGE_UPSAMPLE_BILINEAR] = nuc_cm_lower_bilinear,
    [NUC_OP_EDGE_UPSAMPLE_NEAREST] = nuc_cm_lower_nearest,
    [NUC_OP_EDGE_CONSTANT_PAD] = nuc_cm_lower_pad,
    [NUC_OP_EDGE_PAD] = nuc_cm_lower_pad,
    [NUC_OP_EDGE_PERMUTE] = nuc_cm_lower_permute,
    [NUC_OP_EDGE_VIEW] = nuc_cm_lower_view,
    [NUC_OP_EDGE_SQUEEZE] = nuc_cm_lower_view,
    [NUC_OP_EDGE_SQUEEZE_DIM] = nuc_cm_lower_view,
    [NUC_OP_EDGE_SQUEEZE_DIMS] = nuc_cm_lower_view,
    [NUC_OP_EDGE_UNSQUEEZE] = nuc_cm_lower_view,
    [NUC_OP_EDGE_EXPAND] = nuc_cm_lower_view,
    [NUC_OP_EDGE_SLICE] = nuc_cm_lower_slice,
    [NUC_OP_GETITEM] = nuc_cm_lower_part,
    [NUC_OP_EDGE_INDEX] = nuc_cm_lower_view,
    [NUC_OP_EDGE_CAT] = nuc_cm_lower_cat,
    [NUC_OP_EDGE_CLONE] = nuc_cm_lower_clone,
    [NUC_OP_EDGE_CLONE_DIM_ORDER] = nuc_cm_lower_clone,
    [NUC_OP_EDGE_TO_DIM_ORDER_COPY] = nuc_cm_lower_clone,
};

/* ---- what stays quantized by operators of its own ---- */

static bool is_int8_or_int16(const struct nuc_node *node)
{
    return node->args[5].kind == NUC_ARG_DTYPE && (node->args[5].u.dtype == NUC_I8 || node->args[5].u.dtype == NUC_I16);
}

/* Same arguments, but for out_dtype, which the Cortex-M operator does not have. */
static void rename_border(struct nuc_cm *c, struct nuc_node *node)
{
    bool quantize = node->op == NUC_OP_QUANTIZE_PER_TENSOR;
    struct nuc_node *border =
        nuc_insert(c->g, node, quantize ? NUC_OP_CORTEXM_QUANTIZE : NUC_OP_CORTEXM_DEQUANTIZE, node);

    for (uint32_t i = 0; i < border->n_args; i++)
        nuc_copy_arg(c->g, border, i, node, i);
    nuc_set_val(c->g, border, &node->vals[0]);
    nuc_replace_uses(c->g, node, border, NULL);
    nuc_remove_node(c->g, node);
}

static void rename_borders(struct nuc_cm *c)
{
    for (struct nuc_node *n = c->g->first, *next; n != NULL; n = next) {
        next = n->next;
        bool border = n->op == NUC_OP_QUANTIZE_PER_TENSOR || n->op == NUC_OP_DEQUANTIZE_PER_TENSOR;
        if (border && is_int8_or_int16(n))
            rename_border(c, n);
    }
}

/* ---- readers that are not lowered ---- */

static bool wants_order(const struct nuc_node *user)
{
    return nuc_is_dequantize(user) || user->op == NUC_OP_OUTPUT || user->op == NUC_OP_CALL_DELEGATE;
}

static struct nuc_node *next_reader(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (wants_order(node->users[i]))
            return node->users[i];
    }
    return NULL;
}

static bool is_in_graph(const struct nuc_graph *g, const struct nuc_node *node)
{
    return nuc_find_node(g, node->name) == node;
}

/* A copy in the dim order of the value the node stands for. */
static void restore_orders(struct nuc_cm *c)
{
    for (size_t i = 0; i < c->n_orders; i++) {
        struct nuc_node *node = c->orders[i].node;
        if (!is_in_graph(c->g, node) || next_reader(node) == NULL)
            continue;
        struct nuc_node *copy = nuc_cm_in_order(c, node, &c->orders[i].before, node->next);
        for (struct nuc_node *user = next_reader(node); user != NULL && copy != node; user = next_reader(node))
            nuc_replace_input(c->g, user, node, copy);
    }
}

/* ---- the graph ---- */

static bool lower_node(struct nuc_cm *c, struct nuc_node *node)
{
    if (node->n_users == 0 || !nuc_is_call(node))
        return false;
    if (node->op == NUC_OP_QUANTIZE_PER_TENSOR)
        return nuc_cm_lower_table(c, node);
    if (lowerings[node->op] == NULL)
        return false;
    /* A function of one tensor is best a table, unless it joins the operator that computes the tensor. */
    bool table = !c->options->reference_compat && lowerings[node->op] != nuc_cm_lower_clamp &&
                 lowerings[node->op] != nuc_cm_lower_clone && nuc_cm_is_table(node);
    return !table && lowerings[node->op](c, node);
}

void nuc_cortexm_lower(struct nuc_graph *g, const struct nuc_cortexm_options *options)
{
    struct nuc_cm c = {.g = g, .options = options};

    nuc_cm_separate_moves(g);
    /* What a lowering adds stands behind the node. Of the nodes it replaces only quantize nodes go at once. */
    for (struct nuc_node *n = g->first, *next; n != NULL; n = next) {
        struct nuc_node *before = n->prev;
        bool goes = n->op == NUC_OP_QUANTIZE_PER_TENSOR;
        next = lower_node(&c, n) && goes ? before->next : n->next;
    }
    nuc_remove_dead(g);
    restore_orders(&c);
    nuc_cm_fold(&c);
    rename_borders(&c);
    nuc_remove_dead(g);
    nuc_rename_as_traced(g);
}

bool nuc_cortexm_has_kernel(enum nuc_op op)
{
    return lowerings[op] != NULL || nuc_cm_is_pointwise(op) || op == NUC_OP_GETITEM;
}

bool nuc_is_float_operator(const struct nuc_node *node)
{
    return nuc_is_call(node) && node->op != NUC_OP_CALL_DELEGATE && node->op != NUC_OP_GETITEM &&
           !nuc_is_quantize(node) && !nuc_is_dequantize(node) && node->n_vals > 0 && node->vals[0].dtype == NUC_F32;
}
