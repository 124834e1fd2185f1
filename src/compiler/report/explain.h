/*
 * Where every node of a model runs and why: what `nucleon explain` prints. Cycles are estimates from the costs of the
 * target (docs/explain.md), not measurements.
 */
#ifndef NUC_REPORT_EXPLAIN_H
#define NUC_REPORT_EXPLAIN_H

#include "compiler/graph/graph.h"
#include "compiler/partition/partition.h"
#include "compiler/target/target.h"
#include "host/text.h"

struct nuc_explain_row {
    const struct nuc_node *node;
    const struct nuc_decision *decision;
    const char *partition; /* tag, NULL: CPU */
    bool is_operator;      /* not a quantize, dequantize or getitem node */
    bool in_float;         /* on the CPU of a target with int8 kernels, none of which it has */
    uint64_t macs;
    /* On either side, wherever it runs. On the NPU, 0 is a node that became part of another node's kernel. */
    uint64_t npu_cycles, cpu_cycles;
};

struct nuc_explanation {
    const char *file;
    const struct nuc_target *target;
    const struct nuc_flavor *flavor;
    bool made_up_ranges; /* the model came without quantization and without samples */
    uint32_t n_rows;
    struct nuc_explain_row *rows; /* in graph order */
    uint32_t n_operators, n_delegated, n_partitions;
    uint64_t npu_cycles, cpu_cycles; /* of the nodes where they are, calls of partitions included */
    uint64_t format_cycles;          /* of these, kernels that change formats at the boundary of a partition */
    uint32_t n_float;                /* operators with in_float */
    /* Of targets that leave a choice: cycles with --placement greedy and cost; 0: not known. */
    uint64_t greedy_cycles, cost_cycles;
    uint64_t lost_cycles; /* what the nodes on the CPU would take less on the NPU */
};

/* Cycles of a kernel call of the lowered model, and the node it was made for; NULL: a change of format at a boundary.
 */
struct nuc_explain_call {
    const char *node;
    uint64_t cycles;
};

/*
 * The graph is partitioned. NULL for target and flavor: the defaults. `calls` are those of all partitions, from which
 * nodes on the NPU have their cycles; without any (`calls` NULL) they are estimated node by node.
 */
struct nuc_explanation *nuc_explain_graph(const struct nuc_graph *g, const struct nuc_partitions *partitions,
                                          const struct nuc_target *target, const struct nuc_flavor *flavor,
                                          const struct nuc_explain_call *calls, size_t n_calls);

/* Lines of at most 120 columns. `all`: also quantize, dequantize and getitem nodes. */
const char *nuc_explain_text(struct nuc_context *cx, const struct nuc_explanation *e, bool all);

/* Every node as an object; keys are documented in docs/explain.md. */
const char *nuc_explain_json(struct nuc_context *cx, const struct nuc_explanation *e);

/* The first operator on the CPU, in one line for an error message; NULL when all are delegated. */
const char *nuc_explain_first(struct nuc_context *cx, const struct nuc_explanation *e);

/*
 * `text` in a column of a table, a space after it. Of a text that is too long `head` characters and what fits of its
 * end stay.
 */
void nuc_print_column(struct nuc_text *out, const char *text, size_t width, size_t head);

#endif
