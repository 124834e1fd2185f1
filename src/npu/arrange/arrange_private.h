/*
 * State of the arrangement. A value is what one operator computes, whatever transposes and reshapes by ones follow
 * it: the tensors between them are the same value in different orders of its axes, which are its dimensions of size
 * above 1. Every operator that can work on permuted axes has a permutation of its positions; the permutations
 * decide in which order each operator gives and takes its values.
 */
#ifndef NUC_NPU_ARRANGE_ARRANGE_PRIVATE_H
#define NUC_NPU_ARRANGE_ARRANGE_PRIVATE_H

#include "npu/arrange/arrange.h"

#define NUC_NO_AXIS 255 /* dimensions of size 1 */
#define NUC_NO_VALUE (-1)
#define NUC_RESULT UINT32_MAX   /* operand number of an operator's result */
#define NUC_BOUNDARY UINT32_MAX /* operator number of the model's inputs and outputs */

/* What a permutation of an operator's positions means. */
enum nuc_permutable {
    NUC_AXES_FIXED,       /* only the order it has */
    NUC_AXES_ELEMENTWISE, /* positions: dimensions of the result, operands aligned at the innermost */
    NUC_AXES_CONCAT,
    NUC_AXES_PAD,
    NUC_AXES_SLICE,
    NUC_AXES_REDUCE,  /* positions: dimensions of the input */
    NUC_AXES_SOFTMAX, /* the last position stays */
    NUC_AXES_WINDOW,  /* pooling, resizing: [N, H, W, C], or each channel as an image of its own, [N * C, H, W, 1] */
    NUC_AXES_RESHAPE, /* positions: groups of dimensions that keep their size together */
    NUC_AXES_FLATTEN, /* [N, ...] to [N, K] for constant weights, whose columns move; the result keeps its order */
};

/* A tensor as an order of the axes of a value. */
struct nuc_tensor_view {
    int32_t value; /* NUC_NO_VALUE: a constant */
    uint8_t axis[NUC_MAX_RANK];
};

struct nuc_arranged_op {
    const struct nuc_lt_op *op;
    enum nuc_permutable permutable;
    uint32_t rank;              /* positions */
    uint8_t perm[NUC_MAX_RANK]; /* position of old that comes to stand at each new one */
    uint8_t next[NUC_MAX_RANK]; /* the permutation a move would give it */
    bool moved;                 /* part of the move under consideration */
    uint8_t in_position[NUC_MAX_RANK], out_position[NUC_MAX_RANK]; /* RESHAPE, REDUCE: of each dimension */
};

/* One end of a value: an operator's operand or result, or a boundary. */
struct nuc_port {
    uint32_t op;
    uint32_t operand;
    int32_t tensor; /* of the model before */
};

struct nuc_value {
    uint64_t bytes;
    struct nuc_port producer;
    struct nuc_port *readers;
    size_t readers_capacity;
    uint32_t n_readers;
};

struct nuc_arrangement {
    struct nuc_ltb *b;
    struct nuc_tensor_view *views; /* by tensor */
    uint32_t n_views;              /* tensors of the model before */
    struct nuc_value *values;
    size_t values_capacity;
    uint32_t n_values;
    struct nuc_arranged_op *ops; /* without the transposes and reshapes by ones */
    uint32_t n_ops;
    uint32_t *queue;        /* of the operators of one move */
    uint64_t n_ports, work; /* ports of all values; looked at so far */
};

/* ---- arrange_ops.c: what operators allow ---- */

/* Sets permutable, rank, positions and the identity as permutation. */
void nuc_arrange_describe(const struct nuc_arrangement *a, struct nuc_arranged_op *o, const struct nuc_lt_op *op);

/* How many operands from the first are data, whose order the permutation decides. */
uint32_t nuc_arrange_data_operands(const struct nuc_arranged_op *o);

/* Position of dimension `dim` of an operand or result. */
uint32_t nuc_arrange_position(const struct nuc_arrangement *a, const struct nuc_arranged_op *o, uint32_t operand,
                              uint32_t dim);

/* Axes of the value at a port, four bits each, outermost first, under a permutation of the port's operator. */
uint64_t nuc_arrange_order(const struct nuc_arrangement *a, const struct nuc_port *port, const uint8_t *perm);

/* The permutation nearest to the present one with which the operator has `order` at the port; false when there is none.
 */
bool nuc_arrange_permute(const struct nuc_arrangement *a, const struct nuc_port *port, uint64_t order, uint8_t *perm);

bool nuc_arrange_is_identity(const struct nuc_arranged_op *o);

/* What an operator takes longer under that permutation than in the order it has, as bytes a transpose moves in that
 * time. */
uint64_t nuc_arrange_extra_bytes(const struct nuc_arrangement *a, const struct nuc_arranged_op *o, const uint8_t *perm);

/* ---- arrange_emit.c ---- */

/* Replaces the builder's operators by those the permutations ask for. */
void nuc_arrange_emit(struct nuc_arrangement *a);

#endif
