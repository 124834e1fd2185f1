/* Shared by the files of the lowering: its state, the table of operators and what several operators need. */
#ifndef NUC_NPU_LOWER_LOWERING_H
#define NUC_NPU_LOWER_LOWERING_H

#include "host/index.h"
#include "ir/args.h"
#include "npu/arrange/builder.h"
#include "npu/lower/lower.h"

struct nuc_lowering {
    struct nuc_context *cx;
    struct nuc_graph *g;
    const struct nuc_partition *partition;
    struct nuc_lower_options options;
    struct nuc_ltb *b;
    int32_t code; /* of LiteRT, that the node at hand becomes where that follows from its operator alone; else 0 */
    /*
     * The tensors of nodes' first values, which those of a tuple follow, by id. Of the partition's nodes, not of the
     * graph's: there may be as many partitions as nodes.
     */
    struct nuc_index tensors;
};

/* Appends the operators of one node. Tensor `x` is its argument 0, -1 when that is not one node; `y` its result. */
typedef void nuc_lower_fn(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y);

nuc_lower_fn nuc_lower_reduction, nuc_lower_unary, nuc_lower_binary;
#define LITERT(op, lowering, code) nuc_lower_fn nuc_lower_##lowering;
#include "ir/ops.def"

/* ---- what lowerings share ---- */

/* Fails with NUC_INTERNAL: the support rules let through what cannot be lowered. */
_Noreturn void nuc_lower_refuse(const struct nuc_lowering *l, const struct nuc_node *node, const char *what);

/* Tensors for the values of the nodes that have none yet. */
void nuc_lower_add_values(struct nuc_lowering *l, struct nuc_node *const *nodes, uint32_t count);

bool nuc_lower_is_one_of(const struct nuc_node *node, struct nuc_node *const *list, uint32_t count);

/*
 * Quantize and dequantize nodes of the partition have the tensor that they read, but what reads a boundary in int8: the
 * boundary keeps its own.
 */
bool nuc_lower_is_its_input(const struct nuc_lowering *l, const struct nuc_node *node);

/* The tensor of the node's first value. */
int32_t nuc_lower_first_value(const struct nuc_lowering *l, const struct nuc_node *node);

/* The tensor of the node in argument `index`, or -1 for an optional argument left out. */
int32_t nuc_lower_input(const struct nuc_lowering *l, const struct nuc_node *node, uint32_t index);
int32_t nuc_lower_output(const struct nuc_lowering *l, const struct nuc_node *node);

/* The axis of the node's int argument `index`, not negative, as counted in the tensor. */
int32_t nuc_lower_axis(const struct nuc_lowering *l, const struct nuc_node *node, uint32_t index, int32_t tensor);

/*
 * Pads height and width of a channels-last tensor by PADV2 with `value`, and returns the result; the input itself when
 * both are 0. The value becomes a constant of rank `value_rank`, 0 or 1.
 */
int32_t nuc_lower_pad_hw(struct nuc_lowering *l, int32_t input, struct nuc_pair pad, uint32_t value_rank,
                         int64_t value);

/* Appends a SLICE of `input` to the shape of `output`, which begins at `begin`, one position per axis. */
void nuc_lower_append_slice(struct nuc_lowering *l, int32_t input, const int32_t *begin, int32_t output);

/* One 8-bit value with the type and quantization of `like`; `rank` is 0 or 1. */
int32_t nuc_lower_byte(struct nuc_lowering *l, const char *name, int32_t like, uint32_t rank, int64_t value);

/* round half to even(value / scale) + zero point, saturated to [low, high], as torch quantizes. */
int64_t nuc_lower_quantized(double value, double scale, int64_t zero_point, int64_t low, int64_t high);

/* Gives `to` the quantization and type of `from` when it has none of its own: a node without a quantize after it. */
void nuc_lower_propagate(struct nuc_lowering *l, int32_t from, int32_t to);

#endif
