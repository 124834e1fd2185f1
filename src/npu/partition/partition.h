/*
 * Which nodes run on the NPU, in which groups, and for every other node the rule that keeps it on the CPU.
 *
 * A node is a candidate when it is the compute node of a QDQ cluster (dequantize* -> operator -> quantize) that every
 * support rule accepts, or a quantize, dequantize or auxiliary node of such a cluster. Candidates are merged into
 * partitions as torch.fx's capability-based partitioner does, then partitions that would be refused as a whole are
 * forbidden and the proposal is made anew, until it holds. By cost, candidates that are cheaper on the CPU stay there.
 */
#ifndef NUC_NPU_PARTITION_PARTITION_H
#define NUC_NPU_PARTITION_PARTITION_H

#include "ir/graph.h"
#include "npu/partition/delegate.h"

struct nuc_target;
struct nuc_flavor;

/*
 * One delegated group, as the lowering and the delegate call see it. Arrays belong to the graph's arena.
 *
 * nodes    in graph order: operators, quantize, dequantize and getitem nodes; no placeholders.
 * inputs   values read from outside in the order of the delegate call: order of first use over `nodes`. User inputs
 *          and results of operators, never parameters, buffers or constants that were moved into the partition.
 * outputs  values of `nodes` that are read outside or are results of the program, in the order of `nodes`. The graph's
 *          delegate call has one getitem for each.
 */
struct nuc_partition {
    const char *tag; /* "tag1": the number is the identity the partitioner gave it; numbers may have gaps */
    uint32_t n_nodes;
    struct nuc_node **nodes;
    uint32_t n_inputs;
    struct nuc_node **inputs;
    uint32_t n_outputs;
    struct nuc_node **outputs;
    uint32_t n_constants; /* parameters, buffers and constants read inside, each once, in graph order */
    struct nuc_node **constants;
};

/* Outcome of one of the gates a node passes, for reports. */
enum nuc_check { NUC_CHECK_NOT_ASKED, NUC_CHECK_PASSED, NUC_CHECK_FAILED };

/* Why a node is where it is. `rule` is NULL for a delegated node; strings are static or live in the graph's arena. */
struct nuc_decision {
    const struct nuc_node *node;
    const char *rule;                 /* what had to hold: "the output is read by one quantize node" */
    const char *actual;               /* what was found: "kernel 5000 x 1", or "" */
    const char *limit;                /* what is allowed: "4096", or "" */
    const struct nuc_node *neighbour; /* the node `actual` was found of, when the rule is about another one */
    const struct nuc_node *because;   /* the compute node whose rule decided, when it is not the node itself */
    bool delegated;
    bool by_cost; /* the NPU could run it: the model takes fewer cycles with it on the CPU */
    enum nuc_check format : 8, ir : 8, target : 8; /* gates of the operator's support rules */
};

/* The rule of what the options keep on the CPU. */
extern const char nuc_not_named_rule[];

/* The rule of what stays in float for its accuracy. */
extern const char nuc_wide_enough_rule[];

struct nuc_partitions {
    uint32_t count;
    struct nuc_partition *items;
    uint32_t n_decisions;
    struct nuc_decision *decisions; /* one for every operator node, in graph order */
    uint32_t n_by_cost;             /* compute nodes the NPU could run that are cheaper on the CPU */
    uint32_t n_by_id;
    struct nuc_decision **by_id; /* indexed by nuc_node.id; NULL for placeholders and the output */
};

struct nuc_partition_options {
    const struct nuc_target *target; /* NULL: "imxrt700" */
    const struct nuc_flavor *flavor; /* NULL: "sdk-3.2" */
    bool no_delegate;                /* everything stays on the CPU */
    /*
     * What stays on the CPU: names of operators ("aten.add.Tensor", "aten::add", "add"), as the Edge graph or the
     * model's file has them, or of nodes, with * and ? as in a shell. An entry that matches nothing fails with
     * NUC_BAD_USAGE. With reference_compat instead every node whose name contains an entry, "::" in it standing for
     * "_". In flavor sdk-3.1 reference_compat also accepts operators whose results are wrong or that nucleon's
     * converter cannot convert.
     */
    const char *const *operators_not_to_delegate;
    uint32_t n_operators_not_to_delegate;
    bool names_are_checked; /* an entry may match nothing: each matched before the graph was changed */
    bool reference_compat;
    bool allow_no_op_partitions;
    bool force_delegate_cat; /* flavor sdk-3.1: concatenations of any size are delegated */
    /*
     * What the NPU could run goes where the whole graph takes the fewest cycles (place.h), of which a call counts
     * `by_cost` times: with more than one there are fewer partitions. 0: it goes to the NPU.
     */
    uint32_t by_cost;
    bool (*has_int8_kernel)(enum nuc_op op); /* whether the CPU computes an operator in int8; NULL: it does in float */
    /* Asked for every compute node the rules accept; false keeps it on the CPU. NULL: accept. */
    bool (*check_op_support)(void *user, const struct nuc_node *node);
    void *check_op_support_user;
};

/*
 * Fills node->cluster, node->format and node->partition (index into the result's items, or -1), for constants too:
 * those carry the partition with the smallest tag, compared as text, that reads them. The graph's nodes keep their
 * order. `options` may be NULL.
 */
struct nuc_partitions *nuc_partition_graph(struct nuc_graph *g, const struct nuc_partition_options *options);

/*
 * The same where several placements are compared: what does not depend on them is asked once, with the options but for
 * by_cost. nuc_partitioner_place() marks the nodes as one has them, and returns its partitions without decisions; after
 * nuc_partitioner_end_search() it is asked for the greedy one alone. nuc_partitioner_decide() adds decisions to the one
 * that is taken, whose marks the nodes have, and ends the partitioner.
 */
struct nuc_partitioner;
struct nuc_partitioner *nuc_partitioner_new(struct nuc_graph *g, const struct nuc_partition_options *options);
struct nuc_partitions *nuc_partitioner_place(struct nuc_partitioner *p, uint32_t by_cost);
void nuc_partitioner_end_search(struct nuc_partitioner *p);
void nuc_partitioner_decide(struct nuc_partitioner *p, struct nuc_partitions *partitions);

/* What every report counts of a partitioned graph, and how much of that is in partitions. */
struct nuc_operator_counts {
    uint32_t all, delegated;      /* operators of the model */
    uint32_t nodes, nodes_on_npu; /* all calls */
};
struct nuc_operator_counts nuc_count_operators(const struct nuc_graph *g);

/*
 * Replaces every partition by a CALL_DELEGATE node named "executorch_call_delegate", with the partition's inputs as
 * its list, a tuple of the outputs as its value, and a getitem for each output. node->delegate stays NULL for the
 * caller to fill in. The partition's own nodes leave the graph and read nothing any more: they are lowered before.
 * No node has a cluster then.
 * Returns the calls, indexed as partitions->items.
 */
struct nuc_node **nuc_fuse_partitions(struct nuc_graph *g, struct nuc_partitions *partitions);

#endif
