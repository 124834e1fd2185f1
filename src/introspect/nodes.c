/* The nodes of a network: inputs, operators of the partitioned graph, outputs. */
#include <math.h>

#include "archive/json_build.h"
#include "explain/explain_members.h"
#include "introspect/network_private.h"
#include "ir/labels.h"
#include "ir/quant.h"

/* ---- the list ---- */

static struct nuc_network_node *add(struct nuc_network *net, const struct nuc_node *node, enum nuc_where where)
{
    struct nuc_network_node *n = &net->nodes[net->n_nodes++];

    *n = (struct nuc_network_node){.node = node,
                                   .where = where,
                                   .sqnr_db = (double)NAN,
                                   .sqnr_own_db = (double)NAN,
                                   .sqnr_output_db = (double)NAN,
                                   .name = node->name};
    return n;
}

static void add_with_id(struct nuc_network *net, const struct nuc_node *node, enum nuc_where where)
{
    net->id_of[node->id] = net->n_nodes;
    add(net, node, where);
}

void nuc_list_network_nodes(struct nuc_network *net)
{
    const struct nuc_graph *g = net->partitioned->graph;
    const struct nuc_arg *outputs = &nuc_output_node(g)->args[NUC_ARG(OUTPUT, values)];
    const uint32_t n_outputs = nuc_n_results(g);
    const struct nuc_labels labels = nuc_label_graph(g);
    size_t index = 0;

    net->nodes = nuc_alloc_array(net->cx, (size_t)g->n_nodes + n_outputs, sizeof *net->nodes);
    net->id_of = nuc_alloc_array(net->cx, (size_t)g->next_id + 1, sizeof *net->id_of);
    net->by_id = nuc_alloc_array(net->cx, (size_t)g->next_id + 1, sizeof(struct nuc_node *));
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        net->by_id[n->id] = n;
    for (uint32_t i = 0; i <= g->next_id; i++)
        net->id_of[i] = NUC_NO_ID;
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_user_input(n))
            continue;
        add_with_id(net, n, NUC_BOUNDARY);
        net->nodes[net->n_nodes - 1].label = nuc_input_name(net->model, index++);
    }
    for (uint32_t i = 0; i < net->e->n_rows; i++) {
        const struct nuc_explain_row *row = &net->e->rows[i];
        if (!row->is_operator)
            continue;
        add_with_id(net, row->node,
                    row->partition != NULL ? NUC_ON_NPU
                    : row->cycles == 0     ? NUC_FOLDED
                    : row->in_float        ? NUC_ON_CPU_IN_FLOAT
                                           : NUC_ON_CPU);
        net->nodes[net->n_nodes - 1].row = row;
        net->nodes[net->n_nodes - 1].cycles = row->cycles;
        net->nodes[net->n_nodes - 1].is_operator = true;
        net->nodes[net->n_nodes - 1].label = labels.of[row->node->id];
    }
    for (uint32_t i = 0; i < n_outputs; i++) {
        struct nuc_network_node *n = add(net, outputs->u.nodes[i], NUC_BOUNDARY);
        n->is_output = true;
        n->label = n->name = nuc_output_name(net->model, i);
    }
}

/* ---- ids ---- */

uint32_t nuc_network_id(const struct nuc_network *net, const struct nuc_node *node)
{
    while (node != NULL && net->id_of[node->id] == NUC_NO_ID)
        node = nuc_arg_node(node, NUC_SELF);
    return node == NULL ? NUC_NO_ID : net->id_of[node->id];
}

static uint32_t id_of_origin(const struct nuc_network *net, uint32_t origin)
{
    if (origin == 0 || origin > net->partitioned->graph->next_id)
        return NUC_NO_ID;
    return nuc_network_id(net, net->by_id[origin - 1]);
}

uint32_t nuc_network_id_of_lowered(const struct nuc_network *net, const struct nuc_node *lowered)
{
    return id_of_origin(net, lowered->origin);
}

uint32_t nuc_network_id_of_handle(const struct nuc_network *net, uint32_t handle)
{
    const struct nuc_lowered *l = net->job.m->lowered;

    return handle == 0 || handle > l->n_handles ? NUC_NO_ID : id_of_origin(net, l->origins[handle - 1]);
}

/* ---- as members ---- */

void nuc_put_id(struct nuc_context *cx, json_t *to, const char *key, uint32_t id)
{
    nuc_put_known_count(cx, to, key, id != NUC_NO_ID, id);
}

const char *nuc_where_word(enum nuc_where where)
{
    static const char *const words[] = {[NUC_ON_NPU] = "npu",
                                        [NUC_ON_CPU] = "cpu",
                                        [NUC_ON_CPU_IN_FLOAT] = "cpu_float",
                                        [NUC_FOLDED] = "folded",
                                        [NUC_BOUNDARY] = NULL};

    return words[where];
}

/* The parameters of the value, per tensor. */
static bool quant_of(const struct nuc_node *node, struct nuc_quant *q)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (nuc_quant_of(node->users[i], q) && !q->per_channel)
            return true;
    }
    return nuc_quant_of(node, q) && !q->per_channel;
}

/* Each once: what the operator reads, constants left out. */
static void put_inputs(const struct nuc_network *net, json_t *to, const struct nuc_network_node *n)
{
    json_t *list = nuc_put_array(net->cx, to, "inputs");
    struct nuc_cursor at = {0, 0};
    const struct nuc_node *input;

    if (n->is_output) {
        nuc_put_int(net->cx, list, NULL, nuc_network_id(net, n->node));
        return;
    }
    while ((input = nuc_next_input(n->node, &at)) != NULL) {
        uint32_t id = nuc_network_id(net, input);
        size_t k = 0;
        while (k < json_array_size(list) && json_integer_value(json_array_get(list, k)) != (json_int_t)id)
            k++;
        if (id != NUC_NO_ID && k == json_array_size(list))
            nuc_put_int(net->cx, list, NULL, id);
    }
}

static void put_node(const struct nuc_network *net, json_t *to, uint32_t id)
{
    const struct nuc_network_node *n = &net->nodes[id];
    const struct nuc_explain_row *row = n->row;
    const struct nuc_source *s = n->node->source;
    const char *boundary = n->is_output ? "output" : "input";

    nuc_put_int(net->cx, to, "id", id);
    nuc_put_text(net->cx, to, "label", n->label);
    nuc_put_text(net->cx, to, "name", n->name);
    nuc_put_text(net->cx, to, "operator", row != NULL ? nuc_written_operator(net->cx, n->node) : boundary);
    nuc_put_text(net->cx, to, "module", row != NULL ? s->module : NULL);
    nuc_put_text(net->cx, to, "file", row != NULL ? s->file : NULL);
    nuc_put_known_count(net->cx, to, "line", row != NULL && s->file != NULL, (uint64_t)s->line);
    nuc_put_text(net->cx, to, "where", nuc_where_word(n->where));
    nuc_put_bool(net->cx, to, "counted", row != NULL && nuc_is_counted(n->node));
    nuc_put_id(net->cx, to, "partition", n->where == NUC_ON_NPU ? (uint32_t)n->node->partition : NUC_NO_ID);
    put_inputs(net, to, n);
    struct nuc_quant q;
    bool quantized = quant_of(n->node, &q);
    if (n->node->n_vals == 0) {
        nuc_put_null(net->cx, to, "dtype");
        nuc_put_null(net->cx, to, "sizes");
    } else {
        nuc_put_text(net->cx, to, "dtype", nuc_dtype_name(quantized ? q.dtype : n->node->vals[0].dtype));
        nuc_put_sizes(net->cx, to, n->node->vals[0].sizes, n->node->vals[0].rank);
    }
    nuc_put_measure(net->cx, to, "scale", quantized ? q.scale : (double)NAN);
    if (quantized)
        nuc_put_int(net->cx, to, "zero_point", q.zero_point);
    else
        nuc_put_null(net->cx, to, "zero_point");
    nuc_put_count(net->cx, to, "macs", row != NULL ? row->macs : 0);
    nuc_put_cycles(net->cx, to, net->e, n->cycles, !net->e->foreign || n->where != NUC_ON_NPU);
    nuc_put_count(net->cx, to, "npu_cycles", row != NULL ? row->npu_cycles : 0);
    nuc_put_count(net->cx, to, "cpu_cycles", row != NULL ? row->cpu_cycles : 0);
    nuc_put_measure(net->cx, to, "sqnr_db", n->sqnr_db);
    nuc_put_measure(net->cx, to, "sqnr_own_db", n->sqnr_own_db);
    nuc_put_measure(net->cx, to, "sqnr_output_db", n->sqnr_output_db);
    const struct nuc_decision *d = row != NULL && row->partition == NULL ? row->decision : NULL;
    nuc_put_decision(net->cx, to, net->e, row, d != NULL ? d->actual : NULL);
    nuc_put_id(net->cx, to, "because", d != NULL && d->because != NULL ? nuc_network_id(net, d->because) : NUC_NO_ID);
    nuc_put_count(net->cx, to, "gain_cycles", d != NULL ? nuc_explain_lost(net->e, row) : 0);
}

void nuc_put_network_nodes(struct nuc_network *net, json_t *tree)
{
    json_t *list = nuc_put_array(net->cx, tree, "nodes");

    for (uint32_t i = 0; i < net->n_nodes; i++)
        put_node(net, nuc_put_object(net->cx, list, NULL), i);
    nuc_put_boundaries(net->cx, tree, net->e, true);
}
