/* What stays on the CPU and what it costs: causes, splits of the NPU's part, options that would help. */
#include "archive/json_build.h"
#include "explain/explain_lines.h"
#include "explain/explain_members.h"
#include "introspect/network_private.h"

static uint32_t id_of_cause(const struct nuc_network *net, uint32_t cause)
{
    return cause == NUC_NO_CAUSE ? NUC_NO_ID : nuc_network_id(net, net->e->rows[net->e->causes[cause].root].node);
}

static void put_cause(const struct nuc_network *net, json_t *to, uint32_t index)
{
    const struct nuc_explain_cause *cause = &net->e->causes[index];
    const struct nuc_explain_row *root = &net->e->rows[cause->root];
    const struct nuc_decision *d = root->decision;

    nuc_put_id(net->cx, to, "node", id_of_cause(net, index));
    json_t *list = nuc_put_array(net->cx, to, "operators");
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        if (net->nodes[i].row != NULL && net->nodes[i].row->cause == index)
            nuc_put_int(net->cx, list, NULL, i);
    }
    nuc_put_decision(net->cx, to, net->e, root, nuc_found_text(net->cx, net->e, d, NULL));
    nuc_put_bool(net->cx, to, "by_cost", d->by_cost);
    nuc_put_count(net->cx, to, "cycles", cause->part_cycles + cause->follow_cycles);
    nuc_put_count(net->cx, to, "lost_cycles", cause->lost_cycles);
}

void nuc_put_network_placement(struct nuc_network *net, json_t *tree)
{
    const struct nuc_explanation *e = net->e;
    json_t *list = nuc_put_array(net->cx, tree, "on_cpu");

    for (uint32_t i = 0; i < e->n_causes; i++)
        put_cause(net, nuc_put_object(net->cx, list, NULL), i);
    list = nuc_put_array(net->cx, tree, "splits");
    for (uint32_t i = 0; i < e->n_splits; i++) {
        const struct nuc_explain_split *s = &e->splits[i];
        json_t *to = nuc_put_object(net->cx, list, NULL);
        nuc_put_split_tags(net->cx, to, s);
        nuc_put_id(net->cx, to, "node", id_of_cause(net, s->cause));
        nuc_put_int(net->cx, to, "causes", s->n_causes);
        nuc_put_count(net->cx, to, "saved_cycles", s->saved_cycles);
    }
    nuc_put_fixes(net->cx, tree, e);
    nuc_put_alternatives(net->cx, tree, e);
}
