/* What the lowering of one operator works with. */
#ifndef NUC_CORTEXM_PRIVATE_H
#define NUC_CORTEXM_PRIVATE_H

#include "base/fixed_point.h"
#include "compiler/cortexm/cortexm.h"
#include "compiler/passes/rewrite.h"
#include "compiler/target/target.h"

struct nuc_cm {
    struct nuc_graph *g;
    const struct nuc_cortexm_options *options;
};

/* A quantized tensor: an int8 or int32 value and what its numbers mean. */
struct nuc_cm_value {
    struct nuc_node *node;
    enum nuc_dtype dtype;
    double scale; /* of channel 0 when there is one a channel */
    int64_t zero_point;
    const float *scales; /* n_scales, NULL per tensor */
    uint32_t n_scales;
    int axis;
};

/* The result of an operator: where it is quantized, and the clamp in between. */
struct nuc_cm_result {
    struct nuc_node *value;     /* last node of the operator: itself, a getitem, an activation */
    struct nuc_node *quantize;  /* the first quantize node; the others have the same parameters */
    struct nuc_cm_value params; /* node is the quantize node */
    int64_t low, high;          /* activation bounds, quantized */
};

/* ---- cortexm_site.c: reading and replacing ---- */

/* The tensor behind a dequantize node. False for anything else. */
bool nuc_cm_operand(const struct nuc_node *dequantize, struct nuc_cm_value *out);

/* Argument `index` as an int8 tensor with one scale. */
bool nuc_cm_tensor(const struct nuc_node *node, uint32_t index, struct nuc_cm_value *out);

/*
 * How the operator's result is quantized: every reader is a quantize node of the same int8 parameters. With `fuse` a
 * ReLU or clamp that is the only reader may stand between.
 */
bool nuc_cm_result(struct nuc_node *node, bool fuse, struct nuc_cm_result *out);

/* A new operator right behind the value it computes, for `result`. */
struct nuc_node *nuc_cm_insert(struct nuc_cm *c, const struct nuc_cm_result *result, enum nuc_op op);

/* Readers of the quantize nodes read `node`, an int8 tensor of the same sizes. */
void nuc_cm_replace(struct nuc_cm *c, const struct nuc_cm_result *result, struct nuc_node *node);

bool nuc_cm_same_params(const struct nuc_cm_value *a, const struct nuc_cm_value *b);

/* round(x / scale) + zero point, half to even, clamped to int8. */
int64_t nuc_cm_quantize(const struct nuc_cm_value *params, double x);

/* The fixed-point form of a scale as the reference computes it: mantissa rounded half to even. */
struct nuc_multiplier nuc_cm_multiplier(double scale);

/* A constant of the bytes, contiguous, named after `like`. */
struct nuc_node *nuc_cm_constant(struct nuc_cm *c, const struct nuc_node *like, const char *suffix,
                                 enum nuc_dtype dtype, const int64_t *sizes, uint32_t rank, const void *bytes);

/* ---- layouts: all give `value` itself when it lies so already ---- */

struct nuc_node *nuc_cm_channels_last(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before);
struct nuc_node *nuc_cm_contiguous(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before);
/* In the dim order of `like`. */
struct nuc_node *nuc_cm_in_order(struct nuc_cm *c, struct nuc_node *value, const struct nuc_meta *like,
                                 struct nuc_node *before);
/* The same bytes once more. */
struct nuc_node *nuc_cm_copy(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before);
/* [N, C, H, W] channels-last as contiguous [N, H, W, C], and back, without moving a byte. */
struct nuc_node *nuc_cm_as_nhwc(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before);
struct nuc_node *nuc_cm_as_nchw(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before);
/* Rank 4, channels-last and not contiguous at the same time. */
bool nuc_cm_is_nhwc(const struct nuc_node *value);

/* ---- scratch memory (cortexm_scratch.c) ---- */

/* A memory.alloc node in front of `node` as its argument `index`. */
void nuc_cm_scratch(struct nuc_cm *c, struct nuc_node *node, uint32_t index, size_t bytes);

/* The window of a convolution or depthwise convolution, from the operator's arguments. */
size_t nuc_cm_conv_scratch(const struct nuc_cpu *cpu, const struct nuc_node *conv);
size_t nuc_cm_depthwise_scratch(const struct nuc_cpu *cpu, const struct nuc_node *conv);
/* first: the accumulators; second: the reversed weights. */
void nuc_cm_transposed_scratch(const struct nuc_cpu *cpu, const struct nuc_node *conv, size_t *first, size_t *second);

/* ---- tables (cortexm_table.c) ---- */

/* The value with other parameters, by a table; itself when they are the same. */
struct nuc_node *nuc_cm_requantize(struct nuc_cm *c, const struct nuc_cm_value *from, const struct nuc_cm_value *to,
                                   struct nuc_node *before);

/* What a quantize node reads is a function of one int8 tensor, value by value: it becomes a table. */
bool nuc_cm_lower_table(struct nuc_cm *c, struct nuc_node *quantize);

bool nuc_cm_is_pointwise(enum nuc_op op);

/* The node belongs to such a function. */
bool nuc_cm_is_table(struct nuc_node *node);

/* ---- lowerings: false when the node has no int8 form; nothing is changed then ---- */

typedef bool nuc_cm_lowering(struct nuc_cm *c, struct nuc_node *node);

nuc_cm_lowering nuc_cm_lower_convolution; /* cortexm_conv.c */
nuc_cm_lowering nuc_cm_lower_linear;      /* cortexm_matrix.c */
nuc_cm_lowering nuc_cm_lower_addmm;
nuc_cm_lowering nuc_cm_lower_mm;
nuc_cm_lowering nuc_cm_lower_bmm;
nuc_cm_lowering nuc_cm_lower_add; /* cortexm_arith.c: add and sub */
nuc_cm_lowering nuc_cm_lower_mul;
nuc_cm_lowering nuc_cm_lower_div;
nuc_cm_lowering nuc_cm_lower_extreme; /* minimum, maximum */
nuc_cm_lowering nuc_cm_lower_softmax;
nuc_cm_lowering nuc_cm_lower_prelu;
nuc_cm_lowering nuc_cm_lower_clamp;    /* relu, hardtanh, clamp */
nuc_cm_lowering nuc_cm_lower_max_pool; /* cortexm_pool.c */
nuc_cm_lowering nuc_cm_lower_avg_pool;
nuc_cm_lowering nuc_cm_lower_adaptive_pool;
nuc_cm_lowering nuc_cm_lower_sum; /* mean and sum */
nuc_cm_lowering nuc_cm_lower_reduce_extreme;
nuc_cm_lowering nuc_cm_lower_bilinear;
nuc_cm_lowering nuc_cm_lower_nearest;
nuc_cm_lowering nuc_cm_lower_pad; /* cortexm_move.c */
nuc_cm_lowering nuc_cm_lower_permute;
nuc_cm_lowering nuc_cm_lower_view;
nuc_cm_lowering nuc_cm_lower_slice;
nuc_cm_lowering nuc_cm_lower_part; /* getitem of a split */
nuc_cm_lowering nuc_cm_lower_cat;
nuc_cm_lowering nuc_cm_lower_clone;

/* ---- cortexm_fold.c ---- */

/* A view or permutation between an operator and its quantize node gets quantize and dequantize nodes of its own. */
void nuc_cm_separate_moves(struct nuc_graph *g);

/*
 * Int8 data movements and clamps directly behind a product, addition or maximum join it; copies of a dim order that
 * undo each other vanish.
 */
void nuc_cm_fold(struct nuc_cm *c);

#endif
