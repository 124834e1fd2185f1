#include "compiler/cortexm/cortexm.h"

#include <string.h>

#include "compiler/cortexm/cortexm_private.h"

static nuc_cm_lowering *const lowerings[NUC_OP_COUNT] = {
    [NUC_OP_CONVOLUTION] = nuc_cm_lower_convolution,
    [NUC_OP_LINEAR] = nuc_cm_lower_linear,
    [NUC_OP_ADDMM] = nuc_cm_lower_addmm,
    [NUC_OP_MM] = nuc_cm_lower_mm,
    [NUC_OP_BMM] = nuc_cm_lower_bmm,
    [NUC_OP_ADD] = nuc_cm_lower_add,
    [NUC_OP_SUB] = nuc_cm_lower_add,
    [NUC_OP_MUL] = nuc_cm_lower_mul,
    [NUC_OP_DIV] = nuc_cm_lower_div,
    [NUC_OP_MINIMUM] = nuc_cm_lower_extreme,
    [NUC_OP_MAXIMUM] = nuc_cm_lower_extreme,
    [NUC_OP_NATIVE_SOFTMAX] = nuc_cm_lower_softmax,
    [NUC_OP_PRELU] = nuc_cm_lower_prelu,
    [NUC_OP_RELU] = nuc_cm_lower_clamp,
    [NUC_OP_HARDTANH] = nuc_cm_lower_clamp,
    [NUC_OP_CLAMP] = nuc_cm_lower_clamp,
    [NUC_OP_MAX_POOL2D_INDICES] = nuc_cm_lower_max_pool,
    [NUC_OP_AVG_POOL2D] = nuc_cm_lower_avg_pool,
    [NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D] = nuc_cm_lower_adaptive_pool,
    [NUC_OP_MEAN_DIM] = nuc_cm_lower_sum,
    [NUC_OP_SUM_DIM] = nuc_cm_lower_sum,
    [NUC_OP_AMAX] = nuc_cm_lower_reduce_extreme,
    [NUC_OP_AMIN] = nuc_cm_lower_reduce_extreme,
    [NUC_OP_UPSAMPLE_BILINEAR] = nuc_cm_lower_bilinear,
    [NUC_OP_UPSAMPLE_NEAREST] = nuc_cm_lower_nearest,
    [NUC_OP_CONSTANT_PAD] = nuc_cm_lower_pad,
    [NUC_OP_PAD] = nuc_cm_lower_pad,
    [NUC_OP_PERMUTE] = nuc_cm_lower_permute,
    [NUC_OP_VIEW] = nuc_cm_lower_view,
    [NUC_OP_SQUEEZE] = nuc_cm_lower_view,
    [NUC_OP_SQUEEZE_DIM] = nuc_cm_lower_view,
    [NUC_OP_SQUEEZE_DIMS] = nuc_cm_lower_view,
    [NUC_OP_UNSQUEEZE] = nuc_cm_lower_view,
    [NUC_OP_EXPAND] = nuc_cm_lower_view,
    [NUC_OP_SLICE] = nuc_cm_lower_slice,
    [NUC_OP_GETITEM] = nuc_cm_lower_part,
    [NUC_OP_INDEX] = nuc_cm_lower_view,
    [NUC_OP_CAT] = nuc_cm_lower_cat,
    [NUC_OP_CLONE] = nuc_cm_lower_clone,
    [NUC_OP_CLONE_DIM_ORDER] = nuc_cm_lower_clone,
    [NUC_OP_TO_DIM_ORDER_COPY] = nuc_cm_lower_clone,
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

/* ---- readers that are not lowered: they want the dim orders from before ---- */

/* The output and the delegate calls, and what they read as it was. */
struct reader {
    struct nuc_node *node;
    uint32_t count;
    struct nuc_meta *wanted;
};

struct readers {
    struct reader *items;
    size_t count, capacity;
};

static void find_readers(struct nuc_graph *g, struct readers *r)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (n->op != NUC_OP_OUTPUT && n->op != NUC_OP_CALL_DELEGATE)
            continue;
        const struct nuc_arg *values = &n->args[0];
        struct reader reader = {n, values->count, nuc_alloc_array(g->cx, values->count, sizeof(struct nuc_meta))};
        for (uint32_t i = 0; i < reader.count; i++) {
            if (values->u.nodes[i] != NULL)
                reader.wanted[i] = values->u.nodes[i]->vals[0];
        }
        r->items = nuc_grow(g->cx, r->items, &r->capacity, r->count + 1, sizeof *r->items);
        r->items[r->count++] = reader;
    }
}

static bool is_listed(struct nuc_node *const *values, uint32_t count, const struct nuc_node *node)
{
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] == node)
            return true;
    }
    return false;
}

/* The payload of a delegate goes by the name of the order, and one value is one input. */
static struct nuc_node *delegate_input(struct nuc_cm *c, struct nuc_node *value, const struct nuc_meta *wanted,
                                       bool listed, struct nuc_node *call)
{
    bool named = memcmp(value->vals[0].dim_order, wanted->dim_order, wanted->rank) == 0;

    if (named && !listed)
        return value;
    struct nuc_node *copy = nuc_cm_copy(c, value, call);
    copy->vals[0] = *wanted;
    return copy;
}

/* A delegate's payload counts on as many inputs as there were; two that became one value are two again. */
static void restore_reader(struct nuc_cm *c, const struct reader *r)
{
    struct nuc_node **values = nuc_alloc_array(c->g->cx, (size_t)r->count + 1, sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < r->count; i++) {
        struct nuc_node *value = r->node->args[0].u.nodes[i];
        if (value != NULL)
            value = nuc_cm_in_order(c, value, &r->wanted[i], r->node);
        if (value != NULL && r->node->op == NUC_OP_CALL_DELEGATE)
            value = delegate_input(c, value, &r->wanted[i], is_listed(values, i, value), r->node);
        values[i] = value;
    }
    nuc_set_arg_nodes(r->node, c->g, 0, values, r->count);
}

/* Values dequantize nodes, which still say what they want, delegate calls and the output read. */
static void restore_orders(struct nuc_cm *c, const struct readers *r)
{
    for (struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        struct nuc_node *value = nuc_is_dequantize(n) ? nuc_arg_node(n, 0) : NULL;
        if (value != NULL && nuc_is_call(value))
            nuc_set_arg_node(n, c->g, 0, nuc_cm_in_order(c, value, &n->vals[0], n));
    }
    for (size_t i = 0; i < r->count; i++)
        restore_reader(c, &r->items[i]);
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
    struct readers readers = {.count = 0};

    find_readers(g, &readers);
    nuc_cm_separate_moves(g);
    /* What a lowering adds stands behind the node. Of the nodes it replaces only quantize nodes go at once. */
    for (struct nuc_node *n = g->first, *next; n != NULL; n = next) {
        struct nuc_node *before = n->prev;
        bool goes = n->op == NUC_OP_QUANTIZE_PER_TENSOR;
        next = lower_node(&c, n) && goes ? before->next : n->next;
    }
    nuc_remove_dead(g);
    restore_orders(&c, &readers);
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
