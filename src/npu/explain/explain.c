#include "npu/explain/explain.h"

#include <assert.h>
#include <string.h>

#include "npu/support/estimate.h"

static void fill_row(const struct nuc_explanation *e, const struct nuc_partitions *partitions,
                     const struct nuc_decision *decision, struct nuc_explain_row *row)
{
    const struct nuc_node *node = decision->node;

    assert(!decision->delegated || (node->partition >= 0 && (uint32_t)node->partition < partitions->count));
    *row = (struct nuc_explain_row){
        .node = node,
        .decision = decision,
        .partition = decision->delegated ? partitions->items[node->partition].tag : NULL,
        .is_operator = nuc_is_operator(node),
        .macs = nuc_estimate_macs(node),
        .npu_cycles = nuc_estimate_npu(e->target, node),
        .cpu_cycles = nuc_estimate_cpu(e->target, node),
    };
}

/* What a node costs counts where it runs; what the other side would have saved is shown, too. */
static void add_up(struct nuc_explanation *e, const struct nuc_explain_row *row)
{
    if (row->partition != NULL) {
        e->npu_cycles += row->npu_cycles;
        return;
    }
    e->cpu_cycles += row->cpu_cycles;
    e->lost_cycles += nuc_explain_lost(e, row);
    e->n_by_cost += row->is_operator && row->decision->by_cost;
}

/*
 * The cycles of a lowered kernel call go to the node it was made for, the rest to changes of formats. A node whose name
 * is not among the rows was added by the lowering.
 */
static void add_call(struct nuc_explanation *e, struct nuc_explain_row *const *row_of, const struct nuc_graph *g,
                     const struct nuc_explain_call *call)
{
    const struct nuc_node *node = call->node == NULL ? NULL : nuc_find_node(g, call->node);
    struct nuc_explain_row *row = node == NULL ? NULL : row_of[node->id];

    if (row != NULL && row->partition != NULL) {
        row->npu_cycles += call->cycles;
        return;
    }
    e->format_cycles += call->cycles;
    e->npu_cycles += call->cycles;
}

struct nuc_explanation *nuc_explain_graph(const struct nuc_graph *g, const struct nuc_partitions *partitions,
                                          const struct nuc_target *target, const struct nuc_flavor *flavor,
                                          const struct nuc_explain_call *calls, size_t n_calls,
                                          const struct nuc_explain_cpu *cpu)
{
    struct nuc_context *cx = g->cx;
    struct nuc_explanation *e = nuc_alloc(cx, sizeof *e);

    struct nuc_operator_counts counts = nuc_count_operators(g);

    e->file = g->file;
    e->labels = nuc_label_graph(g);
    e->n_operators = counts.all;
    e->n_delegated = counts.delegated;
    e->target = target != NULL ? target : nuc_target_find(cx, NULL);
    e->flavor = flavor != NULL ? flavor : nuc_flavor_find(cx, NULL);
    e->n_partitions = partitions->count;
    e->n_rows = partitions->n_decisions;
    e->rows = nuc_alloc_array(cx, (size_t)e->n_rows + 1, sizeof *e->rows);
    e->npu_cycles = (uint64_t)partitions->count * e->target->costs.npu_call;
    struct nuc_explain_row **row_of = nuc_alloc_array(cx, (size_t)g->next_id + 1, sizeof *row_of);
    for (uint32_t i = 0; i < e->n_rows; i++) {
        fill_row(e, partitions, &partitions->decisions[i], &e->rows[i]);
        row_of[e->rows[i].node->id] = &e->rows[i];
        if (calls != NULL && e->rows[i].partition != NULL)
            e->rows[i].npu_cycles = 0; /* the calls say it better */
        if (cpu != NULL && e->rows[i].partition == NULL)
            e->rows[i].cpu_cycles = cpu->cycles[e->rows[i].node->id];
    }
    for (size_t i = 0; calls != NULL && i < n_calls; i++)
        add_call(e, row_of, g, &calls[i]);
    for (uint32_t i = 0; i < e->n_rows; i++)
        add_up(e, &e->rows[i]);
    e->cpu_cycles = cpu != NULL ? cpu->total : e->cpu_cycles;
    nuc_explain_causes(cx, e);
    nuc_explain_splits(cx, e, partitions, calls, n_calls);
    return e;
}

const char *nuc_explain_first(struct nuc_context *cx, const struct nuc_explanation *e)
{
    if (e->n_causes == 0)
        return NULL;
    const struct nuc_decision *d = e->rows[e->causes[0].root].decision;
    bool actual = d->actual != NULL && *d->actual != '\0', limit = d->limit != NULL && *d->limit != '\0';
    return nuc_format(cx, "%s: required is that %s%s%s%s%s%s%s", nuc_node_text(cx, d->node), d->rule,
                      actual ? "; found " : "", actual ? d->actual : "", limit ? "; allowed " : "",
                      limit ? d->limit : "", d->fix != NULL ? ": " : "", d->fix != NULL ? d->fix : "");
}
