/* Copies of graphs, so that a stage can rewrite its own and leave its input as it was. */
#include "ir/graph.h"
#include "ir/names.h"

static struct nuc_node *copy_node(struct nuc_graph *to, const struct nuc_node *from, struct nuc_node *const *copies)
{
    struct nuc_node *node = nuc_add_node(to, NULL, from->op, from->name);

    node->dialect = from->dialect;
    node->in_place = from->in_place;
    for (uint32_t i = 0; i < from->n_args; i++) {
        const struct nuc_arg *arg = &from->args[i];
        if (arg->kind == NUC_ARG_NODE) {
            nuc_set_arg_node(node, to, i, copies[arg->u.node->id]);
        } else if (arg->kind == NUC_ARG_NODES) {
            struct nuc_node **list = nuc_alloc_array(to->cx, arg->count, sizeof(struct nuc_node *));
            for (uint32_t k = 0; k < arg->count; k++)
                list[k] = arg->u.nodes[k] == NULL ? NULL : copies[arg->u.nodes[k]->id];
            nuc_set_arg_nodes(node, to, i, list, arg->count);
        } else {
            node->args[i] = *arg;
        }
        node->args[i].given = arg->given;
    }
    if (from->is_tuple)
        nuc_set_tuple(to, node, from->vals, from->n_vals);
    else if (from->n_vals != 0)
        nuc_set_val(to, node, from->vals);
    nuc_made_of(node, from);
    node->input_kind = from->input_kind;
    node->target = from->target;
    node->data = from->data;
    node->format = from->format;
    node->partition = from->partition;
    node->do_not_delegate = from->do_not_delegate;
    node->is_centred = from->is_centred;
    node->delegate = from->delegate;
    return node;
}

struct nuc_graph *nuc_graph_copy(const struct nuc_graph *g)
{
    struct nuc_graph *to = nuc_graph_new(g->cx, g->file);
    struct nuc_node **copies = nuc_alloc_array(g->cx, g->next_id, sizeof(struct nuc_node *));

    to->call_spec = g->call_spec;
    to->dialect = g->dialect;
    to->is_copying = true;
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        copies[n->id] = copy_node(to, n, copies);
    to->is_copying = false;
    nuc_names_copy(to, g, copies);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (n->cluster != NULL)
            copies[n->id]->cluster = copies[n->cluster->id];
    }
    return to;
}
