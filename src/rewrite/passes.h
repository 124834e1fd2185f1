/*
 * Rewrites of the graph on its way to the partitioner. Each pass is one function in one file; run_passes.c holds the
 * lists, in which their order is fixed.
 *
 *   nuc_expand()        ATen, after import: composite operators become those of the stages to come
 *   nuc_aten_passes     ATen, before observers are placed
 *   nuc_norm_passes     the same, after them
 *   nuc_written_passes, nuc_int8_passes   the same, for a graph to be quantized
 *   nuc_quantized_passes   ATen with quantize nodes, before it becomes Edge
 *   nuc_archive_passes     the same after them, not of LiteRT models, whose kernels requantize in their own ways
 *   nuc_to_edge()       ATen to Edge: in-place operators become functional, composite ones are decomposed
 *   nuc_order_passes    Edge: dim orders that tensors can have at run time, parameters as they are read
 *   nuc_edge_passes     Edge, before partitioning, as the reference backend has them
 *   nuc_plain_passes, nuc_cluster_passes   after these, where the reference is not followed
 *   nuc_npu_passes      after these, for the newest rules of an NPU
 *   nuc_lowered_passes  Edge, after partitioning
 */
#ifndef NUC_REWRITE_PASSES_H
#define NUC_REWRITE_PASSES_H

#include "ir/graph.h"
#include "ir/quant.h"

struct nuc_pass;

/* What the passes follow: which rows of a list run. */
enum nuc_pass_mode {
    NUC_PASSES_DEFAULT,
    NUC_PASSES_COMPAT,     /* what the reference backend leaves undone stays undone */
    NUC_PASSES_COMPAT_CPU, /* ATen: what the reference does for a CPU alone */
    NUC_PASSES_SDK_3_1     /* Edge: what the backend for converter flavor sdk-3.1 does */
};

struct nuc_pass_list {
    const struct nuc_pass *passes;
    uint32_t count;
    bool repeat; /* each until it finds nothing more, and up to ten times all until none changes anything */
    void (*finish)(struct nuc_graph *g); /* after the last one; NULL: nothing */
    bool always_finish;                  /* not only when a pass changed something */
    bool refresh; /* after a pass that changed something: a value in another dim order changes what is computed of it */
};

/* Batch norms are folded, constants computed, operators brought into a quantizable form. Each pass once. */
extern const struct nuc_pass_list nuc_aten_passes;

/*
 * After these, but not in compatibility mode: norms that a model writes out, before any part of them gets another form;
 * where the graph is going to be quantized, the other operators that it writes out, and the rest.
 */
extern const struct nuc_pass_list nuc_norm_passes, nuc_written_passes, nuc_int8_passes;

/* Archives quantized outside of nucleon, brought to what its own quantizer leaves; in compatibility mode what cannot be
 * computed otherwise. */
extern const struct nuc_pass_list nuc_quantized_passes;
extern const struct nuc_pass_list nuc_archive_passes;

/* Not in compatibility mode, where copies that change only a dim order stay on the CPU and divide partitions. */
extern const struct nuc_pass_list nuc_order_passes;

extern const struct nuc_pass_list nuc_edge_passes;

/*
 * Not in compatibility mode: only dim orders that tensors can have at run time, and quantized values at all boundaries
 * of all clusters, so that no float value leaves or enters one.
 */
extern const struct nuc_pass_list nuc_plain_passes, nuc_cluster_passes, nuc_npu_passes;

/* For a float program: constants that the decomposition computes of parameters. */
extern const struct nuc_pass_list nuc_float_passes;

/*
 * Permutations and concatenations left on the CPU that read and write int8 of the same parameters move the int8 values
 * themselves: their quantize and dequantize nodes go.
 */
extern const struct nuc_pass_list nuc_lowered_passes;

/* Name of pass `index` of the list. */
const char *nuc_pass_name(const struct nuc_pass_list *list, uint32_t index);

/* Called after each pass that ran, for dumps and checks. */
struct nuc_pass_hook {
    void (*done)(void *user, const char *pass, struct nuc_graph *g);
    void *user;
};

/* Runs the passes of the list that belong to the mode, in order: whether one changed something. `hook` may be NULL. */
bool nuc_run_passes(struct nuc_graph *g, const struct nuc_pass_list *list, enum nuc_pass_mode mode,
                    const struct nuc_pass_hook *hook);

struct nuc_target;
struct nuc_flavor;

/*
 * The stage `expand`: composite operators become those that all later stages know. Returns whether there were any.
 * Fails with NUC_UNSUPPORTED or NUC_BAD_INPUT naming the node that cannot be expressed.
 */
bool nuc_expand(struct nuc_graph *g);

/*
 * The Edge operator that does the work of an ATen operator, itself where it has an Edge form; NUC_OP_COUNT for one that
 * several others express.
 */
enum nuc_op nuc_edge_carrier(struct nuc_context *cx, enum nuc_op op);

/* Whether the stage rewrites the operator. */
bool nuc_has_expansion(enum nuc_op op);

/* Operators of preserve_ops, and functions that are to be expressed, in graph order. */
struct nuc_preserved {
    uint32_t count;
    struct nuc_preserved_op {
        uint32_t id, end; /* Edge nodes from one to before the other; id NUC_NOT_PRESERVED: it was decomposed */
        bool decompose;   /* it is not to be preserved */
    } * ops;
};

#define NUC_NOT_PRESERVED UINT32_MAX

struct nuc_edge_options {
    /*
     * ATen operators to keep whole where the NPU takes them, as "aten.pad.default", "aten::pad" or "pad". They are
     * decomposed where a rule of the NPU or check_op_support speaks against the node, and where no Edge operator of
     * their own exists.
     */
    const char *const *preserve_ops;
    size_t n_preserve_ops;
    /* Whether a function of one value is made of operators of the NPU (npu_function.h). NULL: none is. */
    bool (*express)(void *user, const struct nuc_node *node);
    void *express_user;
    const struct nuc_target *target; /* whose rules; NULL: the default */
    const struct nuc_flavor *flavor;
    bool (*check_op_support)(void *user, const struct nuc_node *node); /* NULL: accept */
    void *check_op_support_user;
    /* NULL, or what became of each operator: empty at first, and in later calls for the same graph as it was left. */
    struct nuc_preserved *preserved;
    bool reference_compat;    /* operators as the reference has them, where others would do less at run time */
    bool keep_for_cpu;        /* whole operators the CPU has int8 kernels or tables for */
    bool executorch_ops_only; /* nothing that ExecuTorch's runtime has no kernel for */
};

/*
 * Leaves only operators of the Edge dialect, quantize and dequantize nodes and getitem. Values get the dim orders Edge
 * operators give them, and nodes the names torch gives them when it traces the graph again. Fails with
 * NUC_UNSUPPORTED naming the node when an operator has no Edge form. `options` may be NULL: nothing is preserved.
 */
void nuc_to_edge(struct nuc_graph *g, const struct nuc_edge_options *options);

/* Whether it may leave operators that another round decomposes: there are such as the options name or the NPU has. */
bool nuc_may_preserve(struct nuc_graph *g, const struct nuc_edge_options *options);

/*
 * A product with an int8 value that stands for 1, by which a value gets other parameters on the NPU. Those that
 * are in no partition, or whose value or result is not of an operator in one, are taken out again: quantize and
 * dequantize nodes do the same then. Returns whether there were any.
 */
bool nuc_is_requantization(struct nuc_graph *g, const struct nuc_node *node);
bool nuc_drop_requantizations(struct nuc_graph *g);

/* Whether nuc_to_edge() has a row for the ATen operator, for the completeness test over ops.def. */
bool nuc_has_edge_form(enum nuc_op op);

/* How user inputs and outputs are quantized per tensor, in the order of the program; NULL: they are as they were. */
struct nuc_io_quantizations {
    uint32_t n_inputs, n_outputs;
    const struct nuc_quant **inputs, **outputs;
};

/* What a node says that is `op`, quantize or dequantize per tensor; of another node NULL. */
const struct nuc_quant *nuc_io_quantization_of(struct nuc_context *cx, const struct nuc_node *node, enum nuc_op op);

/*
 * User inputs that a quantize node reads become inputs of its type, results of dequantize nodes outputs of theirs: the
 * program takes and gives int8. Readers of such an input in other steps get its values dequantized; with `strict`, as
 * in ExecuTorch's own pass, an input of several readers fails with NUC_UNSUPPORTED. Nodes are renamed.
 */
void nuc_remove_io_quantization(struct nuc_graph *g, bool strict, struct nuc_io_quantizations *out);

/*
 * States that are read as integers and become integers of the same scale and zero point are kept as such: their
 * quantize nodes, and the dequantize nodes of what they become, go; what they begin with is quantized.
 */
void nuc_quantize_states(struct nuc_graph *g);

#endif
