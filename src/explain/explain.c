#include "explain/explain_lines.h"

#include <assert.h>
#include <math.h>

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
        .cpu_cycles = nuc_estimate_cpu(e->target, node, e->target->cpu == NULL),
    };
}

/* Estimates of the nodes, and a call for each partition. */
static void estimate_cycles(struct nuc_context *cx, struct nuc_explanation *e)
{
    struct nuc_explain_boundary *calls = nuc_alloc_array(cx, (size_t)e->n_partitions + 1, sizeof *calls);

    for (uint32_t i = 0; i < e->n_rows; i++) {
        struct nuc_explain_row *row = &e->rows[i];
        row->cycles = row->partition != NULL ? row->npu_cycles : row->cpu_cycles;
        *(row->partition != NULL ? &e->npu_cycles : &e->cpu_cycles) += row->cycles;
    }
    for (uint32_t i = 0; i < e->n_partitions; i++) {
        calls[i] = (struct nuc_explain_boundary){
            .kind = NUC_BOUNDARY_CALL, .partition = i, .count = 1, .cycles = e->target->costs.npu_call};
        e->npu_cycles += calls[i].cycles;
    }
    e->boundaries = calls;
    e->n_boundaries = e->n_partitions;
}

struct nuc_explanation *nuc_explain_graph(struct nuc_graph *g, const struct nuc_partitions *partitions,
                                          const struct nuc_target *target, const struct nuc_flavor *flavor,
                                          const struct nuc_explain_cycles *cycles)
{
    struct nuc_context *cx = g->cx;
    struct nuc_explanation *e = nuc_alloc(cx, sizeof *e);
    struct nuc_operator_counts counts = nuc_count_operators(g);

    e->cx = cx;
    e->graph = g;
    e->file = g->file;
    e->sqnr_db = (double)NAN;
    e->labels = nuc_label_graph(g);
    e->n_operators = counts.all;
    e->n_delegated = counts.delegated;
    e->target = target != NULL ? target : nuc_target_find(cx, NULL);
    e->flavor = flavor != NULL ? flavor : nuc_flavor_find(cx, NULL);
    e->n_partitions = partitions->count;
    const char **tags = nuc_alloc_array(cx, (size_t)partitions->count + 1, sizeof(char *));
    for (uint32_t i = 0; i < partitions->count; i++)
        tags[i] = partitions->items[i].tag;
    e->tags = tags;
    e->n_rows = partitions->n_decisions;
    e->rows = nuc_alloc_array(cx, (size_t)e->n_rows + 1, sizeof *e->rows);
    for (uint32_t i = 0; i < e->n_rows; i++)
        fill_row(e, partitions, &partitions->decisions[i], &e->rows[i]);
    if (cycles != NULL) {
        for (uint32_t i = 0; i < e->n_rows; i++) {
            struct nuc_explain_row *row = &e->rows[i];
            row->cycles = cycles->of[row->node->id];
            *(row->partition != NULL ? &row->npu_cycles : &row->cpu_cycles) = row->cycles;
        }
        e->npu_cycles = cycles->npu;
        e->cpu_cycles = cycles->cpu;
        e->foreign = cycles->foreign;
        e->boundaries = cycles->boundaries;
        e->n_boundaries = cycles->n_boundaries;
    } else
        estimate_cycles(cx, e);
    for (uint32_t i = 0; i < e->n_boundaries; i++)
        e->format_cycles += e->boundaries[i].kind == NUC_BOUNDARY_FORMAT ? e->boundaries[i].cycles : 0;
    for (uint32_t i = 0; i < e->n_rows; i++) {
        const struct nuc_explain_row *row = &e->rows[i];
        e->lost_cycles += nuc_explain_lost(e, row);
        e->n_by_cost += row->is_operator && row->partition == NULL && row->decision->by_cost;
    }
    nuc_explain_causes(cx, e);
    nuc_explain_splits(cx, e, partitions);
    return e;
}

const char *nuc_explain_first(struct nuc_context *cx, const struct nuc_explanation *e)
{
    if (e->n_causes == 0)
        return NULL;
    const struct nuc_explain_row *row = &e->rows[e->causes[0].root];
    return nuc_format(cx, "%s: %s; 'nucleon explain' tries what helps", nuc_node_text(cx, row->node),
                      nuc_why_text(cx, e, row));
}
