#include "cpu/cortexm.h"

#include "cpu/cortexm_site.h"
#include "ir/op_list.h"
#include "ir/quant.h"
#include "npu/layout/orders.h"

/*
 * A function of one value joins the operator that computes the value or is a table where it is quantized: no function
 * needs a row.
 */
static nuc_cm_lowering *const by_family[NUC_FAMILY_COUNT] = {
    [NUC_FAMILY_MAP] = nuc_cm_lower_clamp,       [NUC_FAMILY_CONV] = nuc_cm_lower_convolution,
    [NUC_FAMILY_SOFTMAX] = nuc_cm_lower_softmax, [NUC_FAMILY_VIEW] = nuc_cm_lower_view,
    [NUC_FAMILY_PAD] = nuc_cm_lower_pad,         [NUC_FAMILY_PERMUTE] = nuc_cm_lower_permute,
    [NUC_FAMILY_CAT] = nuc_cm_lower_cat,         [NUC_FAMILY_RECURRENT] = nuc_cm_lower_recurrent,
};

static nuc_cm_lowering *const by_operator[NUC_OP_COUNT] = {
#define CPU(op, lowering) [NUC_OP_##op] = nuc_cm_lower_##lowering,
#include "ir/ops.def"
};

static nuc_cm_lowering *lowering_of(enum nuc_op op)
{
    return by_operator[op] != NULL ? by_operator[op] : by_family[nuc_op_family(op)];
}

/* ---- what stays quantized by operators of its own ---- */

/*
 * Same arguments, but for out_dtype, which the Cortex-M operator does not have. That multiplies by the reciprocal of
 * the scale, of which int8 seldom keeps a trace, int16 does.
 */
static void rename_boundary(struct nuc_cm *c, struct nuc_node *node)
{
    bool quantize = node->op == NUC_OP_QUANTIZE_PER_TENSOR;
    bool exact = c->options->as_litert && node->vals[0].dtype == NUC_I16 && !c->options->executorch_ops_only;
    enum nuc_op op = !quantize ? NUC_OP_CORTEXM_DEQUANTIZE : exact ? NUC_OP_NUCLEON_QUANTIZE : NUC_OP_CORTEXM_QUANTIZE;
    struct nuc_node *boundary = nuc_cm_insert_quant(c->g, node, op, nuc_operand(c->g, node, NUC_SELF), node);

    nuc_made_of(boundary, node);
    nuc_set_val(c->g, boundary, &node->vals[0]);
    nuc_replace_uses(c->g, node, boundary, NULL);
    nuc_remove_node(c->g, node);
}

/* ---- readers that are not lowered: they expect the dim orders from before ---- */

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

/*
 * A delegate's payload goes by the name of the order, and counts on as many inputs as there were: two that became one
 * value are two again.
 */
static void restore_reader(struct nuc_cm *c, const struct reader *r)
{
    struct nuc_node **values = nuc_alloc_array(c->g->cx, (size_t)r->count + 1, sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < r->count; i++) {
        struct nuc_node *value = r->node->args[NUC_SELF].u.nodes[i];
        bool listed = false;
        if (value != NULL)
            value = nuc_cm_in_order(c, value, &r->wanted[i], r->node);
        for (uint32_t k = 0; k < i; k++)
            listed = listed || values[k] == value;
        if (value != NULL && r->node->op == NUC_OP_CALL_DELEGATE &&
            (listed || !nuc_same_order(&value->vals[0], &r->wanted[i]))) {
            value = nuc_cm_copy(c, value, r->node);
            nuc_set_val(c->g, value, &r->wanted[i]);
        }
        values[i] = value;
    }
    nuc_set_arg_nodes(r->node, c->g, NUC_SELF, values, r->count);
}

/* ---- the graph ---- */

static bool lower_node(struct nuc_cm *c, struct nuc_node *node)
{
    if (node->n_users == 0 || !nuc_is_call(node))
        return false;
    if (node->op == NUC_OP_QUANTIZE_PER_TENSOR) {
        struct nuc_node *last = nuc_arg_node(node, NUC_SELF);
        return last != NULL && (nuc_cm_lower_wide_function(c, last) || nuc_cm_lower_table(c, node));
    }
    nuc_cm_lowering *lower = lowering_of(node->op);
    if (lower == NULL || (nuc_is_int16(node) && !nuc_cm_is_own(c)))
        return false;
    /* A function of one tensor is best a table, unless it joins the operator that computes the tensor. */
    bool table = !c->options->reference_compat && lower != nuc_cm_lower_clamp && lower != nuc_cm_lower_clone &&
                 nuc_cm_is_table(c, node);
    return !table && lower(c, node);
}

void nuc_cortexm_lower(struct nuc_graph *g, const struct nuc_cortexm_options *options)
{
    struct nuc_cm c = {.g = g, .options = options};
    struct readers readers = {.count = 0};

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (n->op != NUC_OP_OUTPUT && n->op != NUC_OP_CALL_DELEGATE)
            continue;
        const struct nuc_arg *values = &n->args[NUC_SELF]; /* the list of either */
        struct reader reader = {n, values->count, nuc_alloc_array(g->cx, values->count, sizeof(struct nuc_meta))};
        for (uint32_t i = 0; i < reader.count; i++) {
            if (values->u.nodes[i] != NULL)
                reader.wanted[i] = values->u.nodes[i]->vals[0];
        }
        readers.items = nuc_grow(g->cx, readers.items, &readers.capacity, readers.count + 1, sizeof *readers.items);
        readers.items[readers.count++] = reader;
    }
    nuc_cm_separate_moves(g);
    /* What a lowering adds comes after the node. Of the nodes it replaces only quantize nodes go at once. */
    for (struct nuc_node *n = g->first, *next; n != NULL; n = next) {
        struct nuc_node *before = n->prev;
        bool goes = n->op == NUC_OP_QUANTIZE_PER_TENSOR;
        next = lower_node(&c, n) && goes ? before->next : n->next;
    }
    nuc_remove_dead(g);
    /* Those that are not part of a table by now; the last ones first, which may be all of a chain. */
    for (struct nuc_node *n = c.g->last, *prev; n != NULL && !c.options->reference_compat; n = prev) {
        prev = n->prev;
        if (nuc_is_call(n) && n->n_vals == 1 && n->vals[0].dtype == NUC_BOOL && n->n_users > 0)
            nuc_cm_lower_truth(&c, n);
    }
    if (!options->reference_compat)
        nuc_cm_move_copies(&c);
    /* Values that dequantize nodes, which still say what they expect, delegate calls and the output read. */
    for (struct nuc_node *n = c.g->first; n != NULL; n = n->next) {
        struct nuc_node *value = nuc_is_dequantize(n) ? nuc_arg_node(n, NUC_SELF) : NULL;
        if (value != NULL && nuc_is_call(value))
            nuc_set_arg_node(n, c.g, NUC_SELF, nuc_cm_in_order(&c, value, &n->vals[0], n));
    }
    for (size_t i = 0; i < readers.count; i++)
        restore_reader(&c, &readers.items[i]);
    if (!options->reference_compat)
        nuc_cm_fold_padding(&c);
    if (nuc_cm_is_own(&c))
        nuc_cm_overlay_depthwise(&c);
    nuc_cm_fold(&c);
    struct nuc_quant quant;
    for (struct nuc_node *n = c.g->first, *next; n != NULL; n = next) {
        next = n->next;
        bool boundary = n->op == NUC_OP_QUANTIZE_PER_TENSOR || n->op == NUC_OP_DEQUANTIZE_PER_TENSOR;
        if (boundary && nuc_quant_of(n, &quant) && (quant.dtype == NUC_I8 || quant.dtype == NUC_I16))
            rename_boundary(&c, n);
    }
    nuc_remove_dead(g);
    nuc_rename_as_traced(g);
}

bool nuc_cortexm_has_kernel(enum nuc_op op)
{
    return lowering_of(op) != NULL || nuc_cm_is_pointwise(op);
}

/* Int8 kernels that give float32 where nothing asks for int8. */
#define MIXED NUC_OPS(NUC_OP_NUCLEON_LSTM, NUC_OP_NUCLEON_GRU, NUC_OP_NUCLEON_RNN)

bool nuc_is_float_operator(const struct nuc_node *node)
{
    return nuc_is_call(node) && !nuc_op_is_in(node->op, MIXED) && node->op != NUC_OP_CALL_DELEGATE &&
           node->op != NUC_OP_GETITEM && !nuc_is_quantization(node) && node->n_vals > 0 &&
           node->vals[0].dtype == NUC_F32;
}
