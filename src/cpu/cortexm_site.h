/* What the lowering of one operator works with. */
#ifndef NUC_CPU_CORTEXM_SITE_H
#define NUC_CPU_CORTEXM_SITE_H

#include "algorithms/constant_channels.h"
#include "cpu/cortexm.h"
#include "device/base/fixed_point.h"
#include "host/numbers.h"
#include "ir/args.h"
#include "npu/target/target.h"
#include "rewrite/rewrite.h"

struct nuc_cm {
    struct nuc_graph *g;
    const struct nuc_cortexm_options *options;
};

/* Operators of our own dialect may be used. */
static inline bool nuc_cm_is_own(const struct nuc_cm *c)
{
    return !c->options->executorch_ops_only && !c->options->reference_compat;
}

/* A quantized tensor: an integer value and what its numbers mean. */
struct nuc_cm_value {
    struct nuc_node *node;
    enum nuc_dtype dtype;
    double scale; /* of channel 0 when there is one per channel */
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

struct nuc_cm_unary {
    struct nuc_cm_value in;
    struct nuc_cm_result out;
};

struct nuc_cm_binary {
    struct nuc_cm_value a, b;
    struct nuc_cm_result out;
};

/* ---- cortexm_site.c: reading and replacing ---- */

/* The tensor a dequantize node reads. False for anything else. */
bool nuc_cm_operand(const struct nuc_node *dequantize, struct nuc_cm_value *out);

/*
 * The same of an int8 tensor with one scale alone; of one of int8 or of int16 about 0; argument `index` as one of the
 * latter.
 */
bool nuc_cm_int8(const struct nuc_node *dequantize, struct nuc_cm_value *out);
bool nuc_cm_values(const struct nuc_node *dequantize, struct nuc_cm_value *out);
bool nuc_cm_tensor(const struct nuc_node *node, uint32_t index, struct nuc_cm_value *out);

/*
 * How the operator's result is quantized: every reader is a quantize node of the same parameters, int8 or int16 about
 * 0. With `fuse` a ReLU or clamp that is the only reader may stand between.
 */
bool nuc_cm_result(struct nuc_node *node, bool fuse, struct nuc_cm_result *out);

/* The same of integers of any parameters. */
bool nuc_cm_any_result(struct nuc_node *node, struct nuc_cm_result *out);

/* An activation leaves numbers out. */
bool nuc_cm_is_clamped(const struct nuc_cm_result *result);

/* The first operand, or the first two, as tensors and the result, all of one type. */
bool nuc_cm_read_unary(struct nuc_node *node, bool fuse, struct nuc_cm_unary *out);
bool nuc_cm_read_binary(struct nuc_node *node, bool fuse, struct nuc_cm_binary *out);

/* Readers of the quantize nodes read `node`, a quantized tensor of the same sizes. True: the operator is lowered. */
bool nuc_cm_replace(struct nuc_cm *c, const struct nuc_cm_result *result, struct nuc_node *node);

bool nuc_cm_same_params(const struct nuc_cm_value *a, const struct nuc_cm_value *b);

/* Another type or other parameters of it, between bounds; the real factor is `ratio`. */
struct nuc_node *nuc_cm_emit_requantize(struct nuc_cm *c, const struct nuc_cm_value *from,
                                        const struct nuc_cm_result *to, double ratio, struct nuc_node *before);

/* round(x / scale) + zero point, half to even, clamped to the type. */
int64_t nuc_cm_quantize(const struct nuc_cm_value *params, double x);

/* The fixed-point form of a scale as the reference computes it: mantissa rounded half to even. */
struct nuc_multiplier nuc_cm_multiplier(double scale);

/* Scale of a channel of a weight; fewer scales than channels are those of each group. */
double nuc_cm_channel_scale(const struct nuc_cm_value *weight, int64_t channel);

/*
 * The int32 bias, of int16 inputs also int64, `arg` of `n` channels with the scale input * weight, computed when it is
 * a float constant; *out is NULL when there is none. False when it is neither.
 */
bool nuc_cm_bias(struct nuc_cm *c, const struct nuc_node *like, struct nuc_node *arg, int64_t n,
                 const struct nuc_cm_value *in, const struct nuc_cm_value *weight, struct nuc_node **out);

/* ---- new nodes ---- */

/* Where an operator for `result` goes: right after the value it computes. */
static inline struct nuc_node *nuc_cm_place(const struct nuc_cm_result *result)
{
    return result->value->next;
}

/* A quantize or dequantize node per tensor with the parameters of another one. */
struct nuc_node *nuc_cm_insert_quant(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op,
                                     struct nuc_node *input, const struct nuc_node *like);

/* A constant of the bytes, contiguous, named after `like`. */
struct nuc_node *nuc_cm_constant(struct nuc_cm *c, const struct nuc_node *like, const char *suffix,
                                 enum nuc_dtype dtype, const int64_t *sizes, uint32_t rank, const void *bytes);

/* A constant with its dimensions in the order of `perm`. */
struct nuc_node *nuc_cm_permuted_constant(struct nuc_cm *c, const struct nuc_node *like, const char *suffix,
                                          const struct nuc_node *value, const uint8_t *perm);

/* The values in contiguous order under other sizes, under other dimensions; in front of `before`. */
struct nuc_node *nuc_cm_view(struct nuc_cm *c, struct nuc_node *value, const int64_t *sizes, uint32_t rank,
                             struct nuc_node *before);
struct nuc_node *nuc_cm_transpose(struct nuc_cm *c, struct nuc_node *value, const int64_t *perm,
                                  struct nuc_node *before);
struct nuc_node *nuc_cm_slice(struct nuc_cm *c, struct nuc_node *value, int64_t dim, int64_t start, int64_t end,
                              int64_t step, struct nuc_node *before);
/* `low` and `high` by dimension in memory, aligned right to four. */
struct nuc_node *nuc_cm_pad(struct nuc_cm *c, struct nuc_node *value, const int64_t low[4], const int64_t high[4],
                            int64_t fill, struct nuc_node *before);

/* ---- layers with constant weights (cortexm_channels.c) ---- */

/* input scale * weight scale / output scale of each channel, in memory of the graph's arena. */
struct nuc_multiplier *nuc_cm_multipliers(struct nuc_cm *c, const struct nuc_cm_value *in,
                                          const struct nuc_cm_value *weight, const struct nuc_cm_result *out,
                                          int64_t channels);

/* The two constants that kernels read them from. */
void nuc_cm_add_multipliers(struct nuc_cm *c, const struct nuc_node *like, const struct nuc_multiplier *rescale,
                            int64_t channels, struct nuc_node **multipliers, struct nuc_node **shifts);

/*
 * Channels that are one value for every input: see algorithms/constant_channels.h. Weight, bias and multipliers
 * become others when there are any; *bias may be NULL. Not for programs as the reference makes them.
 */
void nuc_cm_fold_channels(struct nuc_cm *c, const struct nuc_node *like, const struct nuc_channels *shape,
                          struct nuc_multiplier *rescale, struct nuc_node **weight, struct nuc_node **bias);

/* Sums of `count` values next to each other, times the multiplier, as products with ones; in front of `before`. */
struct nuc_node *nuc_cm_sum_rows(struct nuc_cm *c, const struct nuc_node *node, const struct nuc_cm_unary *u,
                                 struct nuc_node *x, int64_t count, struct nuc_multiplier m, struct nuc_node *before);

/* ---- layouts: copies give `value` itself when it lies so already ---- */

struct nuc_node *nuc_cm_channels_last(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before);
struct nuc_node *nuc_cm_contiguous(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before);
/* In the dim order of `like`. */
struct nuc_node *nuc_cm_in_order(struct nuc_cm *c, struct nuc_node *value, const struct nuc_meta *like,
                                 struct nuc_node *before);
/* The same bytes once more. */
struct nuc_node *nuc_cm_copy(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before);
/* The same value by the name of another order, in which its bytes lie as they do. */
void nuc_cm_name_contiguous(struct nuc_cm *c, struct nuc_node *value);
void nuc_cm_name_channels_last(struct nuc_cm *c, struct nuc_node *value);
/* [N, C, H, W] channels-last as contiguous [N, H, W, C], and back, without moving a byte. */
struct nuc_node *nuc_cm_as_nhwc(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before);
struct nuc_node *nuc_cm_as_nchw(struct nuc_cm *c, struct nuc_node *value, struct nuc_node *before);
/* A copy of int8 or int16 values in another dim order. */
static inline bool nuc_cm_is_order_copy(const struct nuc_node *node)
{
    return node->op == NUC_OP_TO_DIM_ORDER_COPY && (node->vals[0].dtype == NUC_I8 || node->vals[0].dtype == NUC_I16);
}
/* Rank 4, channels-last and not contiguous at the same time. */
bool nuc_cm_is_nhwc(const struct nuc_node *value);
/* Where dimension `dim` of [N, C, H, W] is in [N, H, W, C]. */
int64_t nuc_cm_nhwc_dim(int64_t dim);

/* ---- scratch memory (cortexm_scratch.c) ---- */

/* A memory.alloc node in front of `node` as its argument `index`. */
void nuc_cm_scratch(struct nuc_graph *g, struct nuc_node *node, uint32_t index, size_t bytes);

/* The window of a convolution or depthwise convolution, from the operator's arguments. */
size_t nuc_cm_conv_scratch(const struct nuc_cpu *cpu, const struct nuc_node *conv);
size_t nuc_cm_depthwise_scratch(const struct nuc_cpu *cpu, const struct nuc_node *conv);
/* first: the accumulators; second: the reversed weights. */
void nuc_cm_transposed_scratch(const struct nuc_cpu *cpu, const struct nuc_node *conv, size_t *first, size_t *second);

/* ---- int16 (cortexm_int16.c) ---- */

/* Products of both, values or constant weights, are about 0, with factors that kernels with sums of 64 bits take. */
bool nuc_cm_takes_int16(const struct nuc_cm_value *in, const struct nuc_cm_value *weight,
                        const struct nuc_cm_result *out);

/* The result is a function of one int16 tensor, or one of another type: `last` computes it, or dequantizes. */
bool nuc_cm_lower_wide_function(struct nuc_cm *c, struct nuc_node *last);

/* Softmax along the last dimension of `value`. */
struct nuc_node *nuc_cm_emit_wide_softmax(struct nuc_cm *c, struct nuc_node *value, const struct nuc_cm_unary *u,
                                          int64_t dim, struct nuc_node *before);

/* ---- tables (cortexm_table.c) ---- */

/* The value with other parameters, of int8 by a table; itself when they are the same. */
struct nuc_node *nuc_cm_requantize(struct nuc_cm *c, const struct nuc_cm_value *from, const struct nuc_cm_value *to,
                                   struct nuc_node *before);

/* nuc_cm_replace() by a tensor with the parameters of `in`: where the result has others, what makes them comes after
 * it. */
void nuc_cm_replace_as(struct nuc_cm *c, const struct nuc_cm_value *in, const struct nuc_cm_result *result,
                       struct nuc_node *node);

/*
 * The table of the function `node`, or of a change of parameters where it is NULL, as LiteRT's kernel computes it, for
 * networks of LiteRT. False where the rounded real result is the same.
 */
bool nuc_cm_litert_table(const struct nuc_cm *c, const struct nuc_node *node, const struct nuc_cm_value *in,
                         const struct nuc_cm_value *out, int8_t table[256]);

/* What a part of a concatenation has for q in the result's parameters: LiteRT computes it in float32. */
int8_t nuc_cm_litert_part(const struct nuc_cm_value *from, const struct nuc_cm_value *to, int32_t q);

/* What a quantize node reads is a function of one int8 tensor, value by value: it becomes a table. */
bool nuc_cm_lower_table(struct nuc_cm *c, struct nuc_node *quantize);

/*
 * The same for an operator whose results are truths: a table of them, or a comparison of two int8 tensors. False where
 * it has no such form.
 */
bool nuc_cm_lower_truth(struct nuc_cm *c, struct nuc_node *node);

/* Choices and truths of values that lie channels last lie so, too, rather than copies of these. */
void nuc_cm_move_copies(struct nuc_cm *c);

/* The operator goes value by value: functions of one value, and those of two where one is a number. */
bool nuc_cm_is_pointwise(enum nuc_op op);

/* The node belongs to such a function. */
bool nuc_cm_is_table(struct nuc_cm *c, struct nuc_node *node);

/* Whether the node is a number, the same everywhere, and which. */
bool nuc_cm_number(struct nuc_graph *g, const struct nuc_node *node, double *number);

/* ---- lowerings: false when the node has no int8 form; nothing is changed then ---- */

typedef bool nuc_cm_lowering(struct nuc_cm *c, struct nuc_node *node);

nuc_cm_lowering nuc_cm_lower_convolution, nuc_cm_lower_softmax, nuc_cm_lower_clamp, nuc_cm_lower_pad,
    nuc_cm_lower_permute, nuc_cm_lower_cat, nuc_cm_lower_recurrent;
#define CPU(op, lowering) nuc_cm_lowering nuc_cm_lower_##lowering;
#include "ir/ops.def"

/* ---- cortexm_fold.c ---- */

/* A view or permutation between an operator and its quantize node gets quantize and dequantize nodes of its own. */
void nuc_cm_separate_moves(struct nuc_graph *g);

/*
 * Copies of a dim order that undo each other vanish, and outputs that are views of other values get bytes of their own.
 */
void nuc_cm_fold(struct nuc_cm *c);

/*
 * Padding in front of a convolution with the convolution's zero point becomes padding of the convolution where nobody
 * else reads it (cortexm_padding.c).
 */
void nuc_cm_fold_padding(struct nuc_cm *c);

/*
 * The convolution or depthwise convolution over another image, with a padding for top, left, bottom and right and
 * scratch memory of its own, in front of `before`.
 */
struct nuc_node *nuc_cm_conv_over(struct nuc_cm *c, struct nuc_node *conv, struct nuc_node *image,
                                  const int64_t padding[4], struct nuc_node *before);

/* Depthwise convolutions that alone read their input become the operator that may write its result over it. */
void nuc_cm_overlay_depthwise(struct nuc_cm *c);

#endif
