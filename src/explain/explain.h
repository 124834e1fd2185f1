/*
 * Where every node of a model runs and why: what `nucleon explain` prints. Cycles are estimates from the costs of the
 * target (docs/explain.md), not measurements.
 */
#ifndef NUC_EXPLAIN_EXPLAIN_H
#define NUC_EXPLAIN_EXPLAIN_H

#include "host/text.h"
#include "ir/labels.h"
#include "ir/obstacles.h"
#include "ir/quant.h"
#include "npu/partition/partition.h"
#include "npu/target/target.h"
#include "nucleon/compile.h"
#include "rewrite/recognize/changes.h"

#define NUC_NO_CAUSE UINT32_MAX

struct nuc_explain_row {
    const struct nuc_node *node;
    const struct nuc_decision *decision;
    const char *partition; /* tag, NULL: CPU */
    bool is_operator;      /* not a quantize, dequantize or getitem node */
    bool in_float;         /* on the CPU of a target with int8 kernels, none of which computes it: */
    bool by_measure;       /* there is one, but trials of the network chose float */
    uint32_t cause;        /* of an operator on the CPU: index of what keeps it there; else NUC_NO_CAUSE */
    uint64_t macs;
    uint64_t cycles; /* where it runs; 0: it became part of another node's kernel or instruction, or nothing */
    /* On either side, wherever it runs: there `cycles`, on the other side an estimate from its sizes. */
    uint64_t npu_cycles, cpu_cycles;
};

/* What takes cycles and is no node's. */
enum nuc_boundary_kind {
    NUC_BOUNDARY_CALL,     /* calls of the NPU beside their kernels: driver, caches, interrupt */
    NUC_BOUNDARY_FORMAT,   /* kernels of the NPU that bring values of a partition's boundary into another format */
    NUC_BOUNDARY_QUANTIZE, /* on the CPU, where no node of the partitioned graph does it */
    NUC_BOUNDARY_DEQUANTIZE,
    NUC_BOUNDARY_COPY /* on the CPU: copies between dim orders, what is done to results of the NPU */
};

#define NUC_NO_PARTITION UINT32_MAX

struct nuc_explain_boundary {
    enum nuc_boundary_kind kind;
    uint32_t partition;           /* index; NUC_NO_PARTITION: on the CPU */
    const struct nuc_node *value; /* on the CPU: of the partitioned graph; NULL: not known */
    uint32_t count;               /* kernels, calls or instructions */
    uint64_t cycles;
};

/* What an inference takes: all nodes and boundaries together as much as NPU and CPU. */
struct nuc_explain_cycles {
    const uint64_t *of; /* by id of a node of the partitioned graph, wherever it runs */
    uint64_t npu, cpu;
    bool foreign; /* kernels of another converter, of which nothing is known */
    uint32_t n_boundaries;
    const struct nuc_explain_boundary *boundaries; /* in the order of the program */
    size_t n_instructions;
    const uint64_t *instructions;         /* by instruction, the kernels of a call included */
    const struct nuc_node *const *owners; /* by instruction: the node that has its cycles; NULL: a call, a boundary */
};

/* What the program keeps from run to run. */
struct nuc_explain_state {
    const char *name; /* in the model */
    uint64_t bytes;
};

/*
 * One operator of the model whose own rules keep it, and others because of it, on the CPU: those that are float because
 * a neighbour is, and auxiliary operators of its cluster.
 */
struct nuc_explain_cause {
    uint32_t root;          /* row of the operator whose rule does not hold; of several parts the one that loses most */
    uint32_t n_rows;        /* operators that stay on the CPU, the root included */
    uint32_t n_parts;       /* of these, what became of the root's operator of the model */
    uint64_t part_cycles;   /* of these parts on the CPU */
    uint64_t follow_cycles; /* of the others */
    uint64_t lost_cycles;   /* of all, more than on the NPU */
    uint32_t trial;         /* the one that helps; NUC_NO_TRIAL: none does */
};

/* Work of the CPU that lies between partitions, all on paths from one to another: without it they would be one. */
struct nuc_explain_split {
    uint32_t n_before, n_after;
    const char **before, **after; /* tags of the partitions that it reads and that read it, in graph order */
    uint32_t cause;               /* the one that loses most; NUC_NO_CAUSE: quantize and dequantize nodes alone */
    uint32_t n_causes;
    const struct nuc_node *first; /* in graph order */
    uint64_t saved_cycles;        /* about what joining them saves: see docs/explain.md */
};

/*
 * A change that was tried on the model: an option of `compile`, given or left out, or a change of the model's source,
 * which --rewrite makes. The rest is what becomes of the model with it.
 */
struct nuc_explain_trial {
    const char *options;             /* as given to compile; NULL: one is left out, */
    const char *without;             /* this one */
    const char *about;               /* an option's: the rule that it stands behind (partition.h); NULL: none */
    const struct nuc_change *change; /* of the source; NULL: none */
    uint32_t n_places;
    const struct nuc_change_place *places;
    bool compiles;
    uint64_t than_cycles;          /* of the model as it is, quantized as it was for the trial */
    uint64_t cycles, saved_cycles; /* less than those; 0: it does not help */
    uint32_t n_on_cpu, n_partitions;
    bool by_random; /* quantized with one random sample, as what it is compared with, though the model has others */
    double sqnr_db; /* of the outputs, from those of the float model as it is; NaN: not measured */
    bool is_shown;  /* it helps, and no other one helps at the same places more */
};

#define NUC_NO_TRIAL UINT32_MAX

/* Forms of the network that its compilation measured, in the order in which it tried them, before it chose one. */
#define NUC_MOST_ALTERNATIVES 32

struct nuc_alternative {
    const char *form;
    uint64_t cycles;
    double sqnr_db; /* on samples that were held out */
    bool is_chosen;
};

struct nuc_alternatives {
    uint32_t count;
    struct nuc_alternative list[NUC_MOST_ALTERNATIVES];
};

struct nuc_explanation {
    struct nuc_context *cx;
    struct nuc_graph *graph; /* partitioned */
    const char *file;
    const struct nuc_target *target;
    const struct nuc_flavor *flavor;
    bool delegates;           /* the NPU was asked */
    bool made_up_ranges;      /* the model came without quantization and without samples */
    struct nuc_labels labels; /* of the graph that was explained */
    uint32_t n_rows;
    struct nuc_explain_row *rows; /* in graph order */
    uint32_t n_operators, n_delegated, n_partitions;
    const char *const *tags;         /* of the partitions */
    uint64_t npu_cycles, cpu_cycles; /* of nodes where they are and of boundaries: all that an inference takes */
    bool foreign; /* kernels of another converter: npu_cycles and those of nodes there are not known */
    uint32_t n_boundaries;
    const struct nuc_explain_boundary *boundaries; /* in the order of the program */
    uint64_t format_cycles;                        /* of these, changes of formats */
    uint32_t n_on_cpu[NUC_NUMBERS_COUNT];          /* operators there; FLOAT: with in_float */
    uint32_t n_by_cost; /* operators that the NPU could run, and that are on the CPU for their cost */
    /* Of targets that leave a choice: cycles with --placement greedy and cost; 0: not known. */
    uint64_t greedy_cycles, cost_cycles;
    /* With a memory budget that the program exceeds: its arena, and what computing in strips of rows makes of it. */
    uint64_t plain_arena, least_arena; /* 0: it fits as it is */
    uint32_t n_strips, n_strip_stages; /* 0: none fits */
    uint64_t strip_cycles;             /* of cpu_cycles */
    uint32_t n_states;
    struct nuc_explain_state *states;
    const struct nuc_stream_report *stream; /* what --stream made; NULL: nothing */
    uint64_t window_cycles;                 /* of the network over its window; 0: not known */
    uint64_t lost_cycles;                   /* what the nodes on the CPU would take less on the NPU */
    uint32_t n_causes;
    struct nuc_explain_cause *causes; /* in graph order of their first operator */
    uint32_t n_splits;
    struct nuc_explain_split *splits;       /* in graph order */
    const struct nuc_alternatives *weighed; /* NULL: none */
    bool has_trials;                        /* it was asked what would help */
    uint32_t n_trials;
    struct nuc_explain_trial *trials;      /* those that save most first */
    uint32_t n_left_out;                   /* changes that were not tried: that would take too long */
    double sqnr_db;                        /* of the model as it is; NaN: not measured */
    const struct nuc_obstacles *obstacles; /* the model is refused for them, and this is about the rest; NULL: none */
};

/*
 * The graph is partitioned. NULL for target and flavor: the defaults. `cycles` are those of its program; NULL: nodes
 * have estimates from their sizes.
 */
struct nuc_explanation *nuc_explain_graph(struct nuc_graph *g, const struct nuc_partitions *partitions,
                                          const struct nuc_target *target, const struct nuc_flavor *flavor,
                                          const struct nuc_explain_cycles *cycles);

/* Causes and splits of an explanation whose rows and boundaries are complete (explain_causes.c). */
void nuc_explain_causes(struct nuc_context *cx, struct nuc_explanation *e);
void nuc_explain_splits(struct nuc_context *cx, struct nuc_explanation *e, const struct nuc_partitions *partitions);

/* All that an inference takes. */
uint64_t nuc_explained_cycles(const struct nuc_explanation *e);

/* Lines of at most 80 columns. `all`: every node with its names in the Edge graph, and all reasons for partitions. */
const char *nuc_explain_text(struct nuc_context *cx, const struct nuc_explanation *e, bool all);

/* Every node as an object; docs/json.md has the keys. */
const char *nuc_explain_json(struct nuc_context *cx, const struct nuc_explanation *e);

/* What keeps the first operator on the CPU there, in one line for an error message; NULL when all are delegated. */
const char *nuc_explain_first(struct nuc_context *cx, const struct nuc_explanation *e);

/* Cycles that the operator of a row takes more on the CPU than on the NPU; 0 where it is there for its cost. */
uint64_t nuc_explain_lost(const struct nuc_explanation *e, const struct nuc_explain_row *row);

/* The operator of the row is, or is a part of, what stands at the place; at one of those of the change. */
bool nuc_is_at(const struct nuc_change_place *place, const struct nuc_explain_row *row);
bool nuc_is_about(const struct nuc_explain_trial *trial, const struct nuc_explain_row *row);

/* Its outputs err so much more than those of the model as it is that it is no help. */
bool nuc_ruins(const struct nuc_explanation *e, const struct nuc_explain_trial *trial);

/* The trials that are shown, by what they save; each cause gets the one that is about it. */
void nuc_settle_trials(struct nuc_explanation *e);

/* Two nodes are, or are parts of, one operator of the model's file. */
bool nuc_is_same_call(const struct nuc_node *a, const struct nuc_node *b);

/* The operator of the model's file without its overload: "aten.silu", "CONV_2D". */
const char *nuc_written_operator(struct nuc_context *cx, const struct nuc_node *node);

#endif
