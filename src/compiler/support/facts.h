/* What the rules ask about a node: quantization of its inputs and outputs, static data, arguments. */
#ifndef NUC_SUPPORT_FACTS_H
#define NUC_SUPPORT_FACTS_H

#include "compiler/support/support.h"

/* Parameters of a quantize or dequantize node. */
struct quant {
    bool per_channel;
    double scale;                  /* per tensor */
    int64_t zero_point;            /* per tensor */
    const struct nuc_node *scales; /* per channel */
    const struct nuc_node *zero_points;
    int64_t quant_min, quant_max;
    enum nuc_dtype dtype; /* of the quantized tensor */
};

/* True when argument `index` is a dequantize node. */
bool nuc_input_quant(const struct nuc_node *node, uint32_t index, struct quant *out);

/* Parameters of the dequantize node itself. */
bool nuc_dequantize_quant(const struct nuc_node *node, struct quant *out);
bool nuc_quantize_quant(const struct nuc_node *node, struct quant *out);

/*
 * True when the only reader of the node is a quantize node; or all readers are getitem nodes, exactly one of them
 * takes output `index`, and its only reader is a quantize node.
 */
bool nuc_output_quant(const struct nuc_node *node, uint32_t index, struct quant *out);

/* Scale and zero point are the same, bit for bit. */
bool nuc_same_parameters(const struct quant *a, const struct quant *b);

bool nuc_is_8bit(enum nuc_dtype dtype);

/* A parameter, buffer or constant, also behind a dequantize node. */
bool nuc_is_effectively_static(const struct nuc_node *node);
/* Also behind dequantize(quantize(permute(...))). */
bool nuc_is_static_weight(const struct nuc_node *node);

/* Meta of tensor argument `index`; one of rank 0 when there is none. */
const struct nuc_meta *nuc_input_meta(const struct nuc_node *node, uint32_t index);

/* The tensors the node reads, each once; at most `max` are stored, the count of all is returned. */
uint32_t nuc_distinct_inputs(const struct nuc_node *node, const struct nuc_node **out, uint32_t max);

/* A two-dimensional argument: one element stands for both, none for `fallback`. */
struct pair {
    int64_t h, w;
};
struct pair nuc_arg_pair(const struct nuc_node *node, uint32_t index, struct pair fallback);

/* A Scalar argument as a number. */
double nuc_arg_number(const struct nuc_node *node, uint32_t index, double fallback);
bool nuc_arg_flag(const struct nuc_node *node, uint32_t index);

/* Dimensions a reduction (self, dim, ...) sums over, as a bit mask. */
uint32_t nuc_reduced_dims(const struct nuc_node *node);

/* Gives the verdict what was found and what is allowed; returns false. */
bool nuc_rule_report(const struct nuc_rule_query *q, const char *limit, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Gives the verdict the nearest change that makes the rule hold; returns false. */
bool nuc_rule_advise(const struct nuc_rule_query *q, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The shape of a value as text: "[1, 3, 8]". */
const char *nuc_rule_shape_text(const struct nuc_support *s, const struct nuc_node *node);

/* ---- rules several operators share ---- */

/* param: bit i set: argument i must come from a dequantize node of int8 or uint8. */
bool nuc_inputs_are_8bit(const struct nuc_rule_query *q);
/* param: index of the output. */
bool nuc_output_is_8bit(const struct nuc_rule_query *q);
bool nuc_shares_quantization(const struct nuc_rule_query *q);
bool nuc_one_input_is_whole(const struct nuc_rule_query *q);
/* param: index of the argument that must be int8, or int32 when it is there. */
bool nuc_input_is_int8(const struct nuc_rule_query *q);
bool nuc_input_is_int32(const struct nuc_rule_query *q);
/* param: index of the argument that must be static. */
bool nuc_weight_is_static(const struct nuc_rule_query *q);
bool nuc_input_is_static(const struct nuc_rule_query *q);
/* The node is the only one of its partition that is neither quantize nor dequantize. */
bool nuc_is_alone(const struct nuc_support *s, const struct nuc_node *node);

/* clang-format off */
#define RULE_INPUT_8BIT {"the data input is quantized to int8 or uint8", nuc_inputs_are_8bit, 1}
#define RULE_INPUTS_8BIT {"both inputs are quantized to int8 or uint8", nuc_inputs_are_8bit, 3}
#define RULE_OUTPUT_8BIT {"the output is read by one quantize node of int8 or uint8", nuc_output_is_8bit, 0}
#define RULE_SHARED_QUANTIZATION {"input and output have the same scale and zero point", nuc_shares_quantization, 0}
/* clang-format on */

/* ---- rows (rules_*.c) ---- */

extern const struct nuc_support_rule nuc_convolution_ir[], nuc_convolution_target[];
extern const struct nuc_support_rule nuc_avg_pool_ir[], nuc_avg_pool_target[];
extern const struct nuc_support_rule nuc_adaptive_pool_ir[], nuc_adaptive_pool_target[];
extern const struct nuc_support_rule nuc_max_pool_ir[], nuc_max_pool_target[];
extern const struct nuc_support_rule nuc_addmm_ir[], nuc_addmm_target[], nuc_mm_ir[], nuc_mm_target[];
extern const struct nuc_support_rule nuc_add_ir[], nuc_add_target[];
extern const struct nuc_support_rule nuc_softmax_ir[], nuc_softmax_target[];
extern const struct nuc_support_rule nuc_unary_target[], nuc_binary_target[], nuc_extreme_ir[], nuc_prelu_ir[],
    nuc_bmm_target[];
extern const struct nuc_support_rule nuc_cat_target[], nuc_slice_target[], nuc_reflect_ir[];
extern const struct nuc_support_rule nuc_bilinear_target[], nuc_nearest_target[], nuc_upsample_partition[];
extern const struct nuc_support_rule nuc_relu_partition[];
extern const struct nuc_support_rule nuc_hardtanh_target[], nuc_hardtanh_partition[];
extern const struct nuc_support_rule nuc_mean_ir[], nuc_mean_target[], nuc_mean_partition[];
extern const struct nuc_support_rule nuc_pad_ir[], nuc_pad_target[];
extern const struct nuc_support_rule nuc_permute_ir[], nuc_permute_target[], nuc_permute_partition[];
extern const struct nuc_support_rule nuc_view_ir[];
extern const struct nuc_support_rule nuc_clone_ir[], nuc_clone_partition[];

#endif
