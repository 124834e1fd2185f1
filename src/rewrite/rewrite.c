#include "rewrite/rewrite.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "ir/args.h"
#include "ir/conv_args.h"

struct nuc_node *nuc_operand(struct nuc_graph *g, const struct nuc_node *node, uint32_t index)
{
    struct nuc_node *operand = nuc_arg_node(node, index);

    if (operand == NULL || operand->n_vals == 0)
        nuc_fail(g->cx, NUC_BAD_INPUT, "%s: %s: argument %u is not a tensor: export the model again", g->file,
                 nuc_node_text(g->cx, node), index);
    return operand;
}

/* "aten.slice.Tensor" -> "slice_tensor". */
static const char *traced_name(struct nuc_graph *g, const struct nuc_node *form)
{
    static const char dialect[] = "aten.";
    const char *full = nuc_node_op_name(form);
    bool is_aten = strncmp(full, dialect, sizeof dialect - 1) == 0;
    char *name = nuc_strdup(g->cx, is_aten ? full + sizeof dialect - 1 : full);

    if (g->short_names && strchr(full, '.') != NULL) {
        name = nuc_strdup(g->cx, strchr(full, '.') + 1);
        name[strcspn(name, ".")] = '\0';
    }
    for (char *p = name; *p != '\0'; p++)
        *p = (char)(*p == '.' ? '_' : tolower((unsigned char)*p));
    return name;
}

struct nuc_node *nuc_insert(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op, const struct nuc_node *from)
{
    bool aten = g->dialect == NUC_ATEN;
    struct nuc_node form = {.op = op, .in_place = aten && from->in_place && nuc_op_has_in_place(op)};
    struct nuc_node *node = nuc_add_node(g, before, op, aten ? traced_name(g, &form) : NULL);

    node->in_place = form.in_place;
    nuc_made_of(node, from);
    return node;
}

struct nuc_node *nuc_emit(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op, const struct nuc_node *from,
                          const struct nuc_arg *args, size_t n_args)
{
    struct nuc_node *node = nuc_insert(g, before, op, from);

    nuc_set_args(g, node, args, n_args);
    nuc_infer_shape(g, node);
    return node;
}

struct nuc_node *nuc_emit_like(struct nuc_graph *g, struct nuc_node *before, const struct nuc_node *like,
                               const struct nuc_arg *args, size_t n_args)
{
    struct nuc_node *node = nuc_insert(g, before, like->op, like);

    nuc_set_args(g, node, args, n_args);
    for (uint32_t i = (uint32_t)n_args; i < like->n_args; i++)
        nuc_copy_arg(g, node, i, like, i);
    nuc_infer_shape(g, node);
    return node;
}

struct nuc_node *nuc_emit_conv_like(struct nuc_graph *g, struct nuc_node *before, const struct nuc_node *like,
                                    struct nuc_node *const operands[3], int64_t groups)
{
    struct nuc_node *conv = nuc_insert(g, before, like->op, like);

    for (uint32_t i = 0; i < like->n_args; i++) {
        if (i <= NUC_CONV_BIAS)
            nuc_set_arg_node(conv, g, i, operands[i]);
        else
            nuc_copy_arg(g, conv, i, like, i);
    }
    nuc_set_arg_int(conv, nuc_conv_args(like->op)->groups, groups);
    nuc_infer_shape(g, conv);
    return conv;
}

struct nuc_node *nuc_insert_quant(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op, struct nuc_node *value,
                                  const struct nuc_quant *parameters)
{
    struct nuc_node *node = nuc_insert(g, before, op, before);

    nuc_set_arg_node(node, g, NUC_SELF, value);
    nuc_set_quant(node, parameters);
    nuc_infer_shape(g, node);
    return node;
}

struct nuc_node *nuc_insert_cat(struct nuc_graph *g, struct nuc_node *before, struct nuc_node **parts, uint32_t count,
                                int64_t dim)
{
    return nuc_emit(g, before, NUC_OP_CAT, before, NUC_ARGS(nuc_nodes_arg(parts, count), dim));
}

struct nuc_node *nuc_insert_getitem(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *tuple,
                                    uint32_t index)
{
    struct nuc_node *item = nuc_insert(g, before, NUC_OP_GETITEM, tuple);

    nuc_set_arg_node(item, g, NUC_SELF, tuple);
    nuc_set_arg_int(item, NUC_ARG(GETITEM, index), index);
    assert(tuple->is_tuple && index < tuple->n_vals);
    nuc_set_val(g, item, &tuple->vals[index]);
    return item;
}

bool nuc_is_item(const struct nuc_node *node, uint32_t index)
{
    return node->op == NUC_OP_GETITEM && nuc_integer(node, NUC_ARG(GETITEM, index), -1) == (int64_t)index;
}

bool nuc_replace_item(struct nuc_graph *g, struct nuc_node *tuple, uint32_t index, struct nuc_node *value)
{
    bool read = false;

    for (uint32_t i = tuple->n_users; i > 0; i--) {
        struct nuc_node *item = tuple->users[i - 1];
        if (!nuc_is_item(item, index))
            continue;
        nuc_replace_uses(g, item, value, NULL);
        nuc_remove_node(g, item);
        read = true;
    }
    return read;
}

struct nuc_node **nuc_collect(struct nuc_graph *g, const enum nuc_op *ops, uint32_t *count)
{
    uint32_t there = 0;

    for (unsigned op = 0; op < NUC_OP_COUNT; op++)
        there += ops == NULL || nuc_op_is_in((enum nuc_op)op, ops) ? g->n_of_op[op] : 0;
    struct nuc_node **nodes = nuc_alloc_array(g->cx, (size_t)there + 1, sizeof(struct nuc_node *));
    *count = 0;
    for (struct nuc_node *n = g->first; *count < there && n != NULL; n = n->next) {
        if (ops == NULL || nuc_op_is_in(n->op, ops))
            nodes[(*count)++] = n;
    }
    return nodes;
}

bool nuc_is_written(const struct nuc_node *x)
{
    for (uint32_t i = 0; i < x->n_users; i++) {
        if (x->users[i]->in_place)
            return true;
    }
    return false;
}

void nuc_take_place(struct nuc_graph *g, struct nuc_node *node, uint32_t old_ids, struct nuc_node *value)
{
    const char *name = node->name;

    nuc_replace_uses(g, node, value, NULL);
    nuc_remove_node(g, node);
    if (value->id >= old_ids)
        nuc_rename(g, value, name);
}

bool nuc_rewrite_each(struct nuc_graph *g, const enum nuc_op *ops,
                      bool (*rewrite)(struct nuc_graph *g, struct nuc_node *node))
{
    uint32_t count;
    struct nuc_node **nodes = nuc_collect(g, ops, &count);
    bool changed = false;

    for (uint32_t i = 0; i < count; i++)
        changed |= rewrite(g, nodes[i]);
    nuc_give_back(g->cx, nodes, ((size_t)count + 1) * sizeof *nodes);
    if (changed)
        nuc_remove_dead(g);
    return changed;
}

void nuc_copy_arg(struct nuc_graph *g, struct nuc_node *node, uint32_t index, const struct nuc_node *from,
                  uint32_t from_index)
{
    const struct nuc_arg *arg = &from->args[from_index];

    assert(index < node->n_args && from_index < from->n_args);
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
    nuc_made_of(node, like);
    return node;
}

struct nuc_node *nuc_add_parameter(struct nuc_graph *g, const struct nuc_node *like, const char *suffix,
                                   const struct nuc_meta *meta, const void *data)
{
    const void *own = nuc_is_contiguous(meta) ? nuc_copy(g->cx, data, nuc_bytes(meta)) : data;

    return nuc_take_parameter(g, like, suffix, meta, own);
}

void nuc_count_once(const struct nuc_node *node, const struct nuc_node *value, uint32_t first)
{
    const struct nuc_node *from;

    while ((!nuc_is_operator(value) || nuc_op_rearranges(value->op)) &&
           (from = nuc_arg_node(value, NUC_SELF)) != NULL && from->id >= first)
        value = from;
    for (struct nuc_node *n = node->prev; n != NULL && n->id >= first && value->id >= first; n = n->prev)
        n->is_step = (node->is_step || n != value) && nuc_is_operator(n);
}
