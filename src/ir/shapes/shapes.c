/* The table of shape rules. */
#include "ir/shapes/shapes.h"

/* ---- structure ---- */

/* Their metas are given, not computed: a placeholder's by the file, a delegate call's by the partition. */
static void keep(const struct nuc_shape_call *c)
{
    (void)c;
}

/* Its value is what the archive, or the text, states; the stage `expand` compares it with what it is made of. */
static void as_stated(const struct nuc_shape_call *c)
{
    if (c->node->vals == NULL)
        nuc_shape_fail(c, "the type of its value is not stated");
}

void nuc_shape_no_value(const struct nuc_shape_call *c)
{
    c->node->is_tuple = false;
    c->node->n_vals = 0;
    c->node->vals = NULL;
}

void nuc_shape_getitem(const struct nuc_shape_call *c)
{
    const struct nuc_node *tuple = nuc_shape_arg(c, NUC_SELF, NUC_ARG_NODE)->u.node;
    int64_t index = nuc_shape_int(c, NUC_ARG(GETITEM, index));

    if (!tuple->is_tuple || index < 0 || index >= tuple->n_vals)
        nuc_shape_fail(c, "'%s' has no item %lld", tuple->name, (long long)index);
    nuc_shape_result(c, &tuple->vals[index]);
}

/* ---- the table ---- */

/* Of a family; of the operators below where theirs is another. */
static nuc_shape_rule *const family_rules[NUC_FAMILY_COUNT] = {
    [NUC_FAMILY_GRAPH] = keep,
    [NUC_FAMILY_QUANT] = nuc_shape_quantize,
    [NUC_FAMILY_DEQUANT] = nuc_shape_dequantize,
    [NUC_FAMILY_MAP] = nuc_shape_unary,
    [NUC_FAMILY_BINARY] = nuc_shape_binary,
    [NUC_FAMILY_COMPARE] = nuc_shape_compare,
    [NUC_FAMILY_CONV] = nuc_shape_conv,
    [NUC_FAMILY_POOL] = nuc_shape_pool,
    [NUC_FAMILY_REDUCE] = nuc_shape_extreme,
    [NUC_FAMILY_SOFTMAX] = nuc_shape_softmax,
    [NUC_FAMILY_RECURRENT] = nuc_shape_recurrent,
    [NUC_FAMILY_PERMUTE] = nuc_shape_permute,
    [NUC_FAMILY_COPY] = nuc_shape_unary,
    [NUC_FAMILY_ASSERT] = nuc_shape_no_value,
    [NUC_FAMILY_CAT] = nuc_shape_cat,
    [NUC_FAMILY_SCAN] = nuc_shape_scan,
    [NUC_FAMILY_COMPOSITE] = as_stated,
};

static nuc_shape_rule *const rules[NUC_OP_COUNT] = {
#define SHAPE(op, rule) [NUC_OP_##op] = nuc_shape_##rule,
#include "ir/ops.def"
};

void nuc_infer_shape(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_shape_call c = {g, node};

    if ((unsigned)node->op >= NUC_OP_COUNT)
        nuc_fail(g->cx, NUC_INTERNAL, "%s: '%s' is not an operator", g->file, node->name);
    nuc_shape_rule *rule = rules[node->op] != NULL ? rules[node->op] : family_rules[nuc_op_family(node->op)];
    if (rule == NULL)
        nuc_fail(g->cx, NUC_INTERNAL, "%s: %s: the operator has no shape rule", g->file, nuc_node_text(g->cx, node));
    rule(&c);
}
