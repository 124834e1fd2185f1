#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite.h"

static bool is_elementwise(enum nuc_op op)
{
    return op == NUC_OP_ADD;
}

/* One element of that dtype, or NULL when the dtype is none the number can be stored in. */
static const void *element(struct nuc_context *cx, const struct nuc_arg *number, enum nuc_dtype dtype)
{
    double value = number->kind == NUC_ARG_INT ? (double)number->u.i : number->u.f;

    if (dtype == NUC_F32) {
        float *f = nuc_alloc(cx, sizeof *f);
        *f = (float)value;
        return f;
    }
    if ((dtype == NUC_I64 || dtype == NUC_I32) && number->kind == NUC_ARG_INT) {
        int64_t *i = nuc_alloc(cx, sizeof *i);
        *i = number->u.i; /* little-endian: the low half comes first */
        return i;
    }
    return NULL;
}

static bool replace_scalar(struct nuc_graph *g, struct nuc_node *node, uint32_t index)
{
    const struct nuc_node *sibling = nuc_arg_node(node, 1 - index);
    const struct nuc_arg *arg = &node->args[index];

    if ((arg->kind != NUC_ARG_FLOAT && arg->kind != NUC_ARG_INT) || sibling == NULL)
        return false;
    struct nuc_meta meta = nuc_meta_make(sibling->vals[0].dtype, NULL, 0);
    const void *data = element(g->cx, arg, meta.dtype);
    if (data == NULL)
        return false;
    struct nuc_node *constant = nuc_add_constant(g, "_scalar_const_", &meta, data);
    constant->input_kind = NUC_PARAMETER;
    constant->source = node->source;
    nuc_set_arg_node(node, g, index, constant);
    return true;
}

bool nuc_scalars_to_constants(struct nuc_graph *g)
{
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; is_elementwise(n->op) && i < 2; i++)
            changed |= replace_scalar(g, n, i);
    }
    return changed;
}
