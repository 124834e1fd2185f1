#include "compiler/passes/rewrite.h"

#include <ctype.h>
#include <string.h>

struct nuc_node *nuc_operand(struct nuc_graph *g, const struct nuc_node *node, uint32_t index)
{
    struct nuc_node *operand = nuc_arg_node(node, index);

    if (operand == NULL || operand->n_vals == 0)
        nuc_fail(g->cx, NUC_BAD_INPUT, "%s: %s: argument %u is no tensor: export the model again", g->file,
                 nuc_node_text(g->cx, node), index);
    return operand;
}

struct nuc_node *nuc_insert(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op, const struct nuc_node *from)
{
    struct nuc_node *node = nuc_add_node(g, before, op, NULL);

    node->source = from->source;
    return node;
}

struct nuc_node *nuc_insert_aten(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op,
                                 const struct nuc_node *from)
{
    static const char dialect[] = "aten.";
    struct nuc_node form = {.op = op, .in_place = from->in_place && nuc_op_has_in_place(op)};
    const char *full = nuc_node_op_name(&form);
    char *name = nuc_strdup(g->cx, strncmp(full, dialect, sizeof dialect - 1) == 0 ? full + sizeof dialect - 1 : full);
    for (char *p = name; *p != '\0'; p++)
        *p = (char)(*p == '.' ? '_' : tolower((unsigned char)*p));
    struct nuc_node *node = nuc_add_node(g, before, op, name);
    node->in_place = form.in_place;
    node->source = from->source;
    return node;
}

struct nuc_node *nuc_insert_getitem(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *tuple,
                                    uint32_t index)
{
    struct nuc_node *item = nuc_insert(g, before, NUC_OP_GETITEM, tuple);

    nuc_set_arg_node(item, g, 0, tuple);
    nuc_set_arg_int(item, 1, index);
    nuc_set_val(g, item, &tuple->vals[index]);
    return item;
}

struct nuc_node **nuc_collect(struct nuc_graph *g, bool (*wanted)(enum nuc_op op), uint32_t *count)
{
    struct nuc_node **nodes = nuc_alloc_array(g->cx, g->n_nodes, sizeof(struct nuc_node *));

    *count = 0;
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (wanted(n->op))
            nodes[(*count)++] = n;
    }
    return nodes;
}

void nuc_copy_arg(struct nuc_graph *g, struct nuc_node *node, uint32_t index, const struct nuc_node *from,
                  uint32_t from_index)
{
    const struct nuc_arg *arg = &from->args[from_index];

    if (arg->kind == NUC_ARG_NODE)
        nuc_set_arg_node(node, g, index, arg->u.node);
    else if (arg->kind == NUC_ARG_NODES)
        nuc_set_arg_nodes(node, g, index, arg->u.nodes, arg->count);
    else
        node->args[index] = *arg;
    node->args[index].given = arg->given;
}

struct nuc_node *nuc_take_parameter(struct nuc_graph *g, const struct nuc_node *like, const char *suffix,
                                    const struct nuc_meta *meta, const void *data)
{
    struct nuc_context *cx = g->cx;
    struct nuc_node *node = nuc_add_placeholder(g, nuc_format(cx, "%s%s", like->name, suffix), NUC_PARAMETER, meta);

    node->data = nuc_dense_data(cx, meta, nuc_in_dim_order(cx, meta, data));
    node->target = like->target != NULL ? nuc_format(cx, "%s%s", like->target, suffix) : node->name;
    node->source = like->source;
    return node;
}

struct nuc_node *nuc_add_parameter(struct nuc_graph *g, const struct nuc_node *like, const char *suffix,
                                   const struct nuc_meta *meta, const void *data)
{
    const void *own = nuc_is_contiguous(meta) ? nuc_copy(g->cx, data, nuc_bytes(meta)) : data;

    return nuc_take_parameter(g, like, suffix, meta, own);
}

void nuc_set_contiguous_val(struct nuc_graph *g, struct nuc_node *node, enum nuc_dtype dtype, const int64_t *sizes,
                            uint32_t rank)
{
    struct nuc_meta meta = nuc_meta_make(dtype, sizes, rank);

    nuc_set_val(g, node, &meta);
}
