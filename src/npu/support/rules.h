/* What the lists of rules are made of: rows, reports, and the rules that several operators or rule sets share. */
#ifndef NUC_NPU_SUPPORT_RULES_H
#define NUC_NPU_SUPPORT_RULES_H

#include <stddef.h>

#include "ir/op_list.h"
#include "npu/support/facts.h"

/* clang-format off */

#define RULE(text_, holds_, param_) {.text = (text_), .holds = (holds_), .param = (param_)}
#define WAIVABLE(waiver, text_, holds_, param_) \
    {.text = (text_), .holds = (holds_), .param = (param_), .waived_by = (waiver)}
#define QUANTIZED(text_, holds_, param_) WAIVABLE(NUC_WAIVE_QUANTIZATION, text_, holds_, param_)
#define LIMIT(text_, measure_, field) \
    {.text = (text_), .measure = (measure_), .limit = offsetof(struct nuc_target, field)}
#define RULES_END {.text = NULL}
#define RULES(...) ((const struct nuc_support_rule[]){__VA_ARGS__, RULES_END})
#define ROWS_END {.ops = NULL}

/* ---- rows of several operators ---- */

#define RULE_INPUT_8BIT_AT(mask) \
    QUANTIZED("the data input is quantized to int8 or uint8", nuc_inputs_are_8bit, mask)
#define RULE_INPUT_8BIT RULE_INPUT_8BIT_AT(1)
#define RULE_INPUTS_8BIT \
    QUANTIZED("both inputs are quantized to int8 or uint8", nuc_inputs_are_8bit, 3)
#define RULE_OUTPUT_8BIT \
    QUANTIZED("the output is read by one quantize node of int8 or uint8", nuc_output_is_8bit, 0)
#define RULE_SHARED_QUANTIZATION \
    QUANTIZED("input and output have the same scale and zero point", nuc_shares_quantization, 0)
#define RULE_ALL_SHARE_QUANTIZATION \
    QUANTIZED("all inputs and the result have the same type, scale and zero point", nuc_all_share_quantization, 0)

#define RULE_WEIGHT_INT8(index) \
    QUANTIZED("the weight is quantized to int8 with zero point 0", nuc_input_is_weight, index)
#define RULE_BIAS_INT32(index) \
    QUANTIZED("the bias is quantized to int32", nuc_input_is_int32, index)
#define RULE_BIAS_STATIC(index) \
    RULE("the bias is a parameter", nuc_input_is_static, index)

#define RULE_RESULT_RANK4 \
    RULE("the result has 4 dimensions", nuc_has_rank, RANK_OF_RESULT(4))
#define RULE_LINEAR_INPUTS \
    RULE("input and weight are two different tensors", nuc_has_distinct_inputs, 2)
#define RULE_ADDMM_INPUTS \
    RULE("bias, input and weight are three different tensors", nuc_has_distinct_inputs, 3)
#define RULE_WEIGHT_MATRIX(index) \
    RULE("the weight has 2 dimensions", nuc_has_rank, RANK_OF(index, 2))
#define RULE_PRELU_FORMAT(waiver)                                                                                       \
    WAIVABLE(waiver, "with a slope for each channel the data is channels-first", nuc_prelu_has_format, 0)
#define RULE_ALPHA(waiver) \
    WAIVABLE(waiver, "alpha is 1", nuc_alpha_is_one, 0)

#define LIMIT_SOFTMAX_CHANNELS(field) \
    LIMIT("the channels fit the hardware", nuc_softmax_channels, field)
#define LIMIT_SOFTMAX_ROWS \
    LIMIT("the product of the other dimensions fits the hardware", nuc_softmax_rows, max_softmax_rows)
#define LIMIT_SOFTMAX_ELEMENTS \
    LIMIT("the number of elements fits the hardware", \
          nuc_softmax_elements, max_softmax_elements)

/* clang-format on */

/* ---- reports ---- */

/* Gives the verdict what was found and what is allowed; returns false. */
bool nuc_rule_report(const struct nuc_rule_query *q, const char *limit, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a pair that was found. */
bool nuc_rule_report_pair(const struct nuc_rule_query *q, const char *limit, struct nuc_pair found);

/* Text of a limit. */
const char *nuc_rule_text(const struct nuc_rule_query *q, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The shape of a value as text: "[1, 3, 8]". */
const char *nuc_rule_shape_text(const struct nuc_rule_query *q, const struct nuc_node *node);

/* With a slope for each channel the data of a prelu is channels-first: LiteRT aligns the slopes with the last
 * dimension. */
bool nuc_prelu_has_format(const struct nuc_rule_query *q);

/* The extent is at most the limit, or is reported. */
bool nuc_rule_within(const struct nuc_rule_query *q, struct nuc_extent extent, int64_t limit);

/* ---- predicates ---- */

/* param: bit i set: argument i must come from a dequantize node of int8 or uint8. */
bool nuc_inputs_are_8bit(const struct nuc_rule_query *q);
/* param: index of the output. */
bool nuc_output_is_8bit(const struct nuc_rule_query *q);
bool nuc_shares_quantization(const struct nuc_rule_query *q);
bool nuc_all_share_quantization(const struct nuc_rule_query *q);
bool nuc_one_input_is_whole(const struct nuc_rule_query *q);
/* param: index of the argument that must be int8, or int32 when it is there. */
bool nuc_input_is_weight(const struct nuc_rule_query *q);
bool nuc_input_is_int32(const struct nuc_rule_query *q);
/* param: index of the argument that must be static; a weight also through a permutation. */
bool nuc_weight_is_static(const struct nuc_rule_query *q);
bool nuc_input_is_static(const struct nuc_rule_query *q);
/* param: how many different tensors the node reads. */
bool nuc_has_distinct_inputs(const struct nuc_rule_query *q);
/* param: RANK_OF(argument, rank), RANK_OF_RESULT(rank) */
#define RANK_OF(index, rank) ((index) << 8 | (rank))
#define RANK_OF_RESULT(rank) RANK_OF(255, rank)
bool nuc_has_rank(const struct nuc_rule_query *q);
/* param: index of a flag that is false. */
bool nuc_flag_is_false(const struct nuc_rule_query *q);
bool nuc_alpha_is_one(const struct nuc_rule_query *q);

struct nuc_extent nuc_softmax_channels(const struct nuc_rule_query *q);
struct nuc_extent nuc_softmax_rows(const struct nuc_rule_query *q);
struct nuc_extent nuc_softmax_elements(const struct nuc_rule_query *q);

/* ---- lists of both rule sets ---- */

extern const struct nuc_support_rule nuc_convolution_ir[], nuc_avg_pool_ir[], nuc_adaptive_pool_ir[], nuc_max_pool_ir[],
    nuc_upsample_ir[], nuc_shared_quantization_ir[], nuc_softmax_ir[], nuc_bmm_ir[], nuc_neg_ir[], nuc_cat_ir[],
    nuc_slice_ir[], nuc_pad_ir[], nuc_view_ir[], nuc_clone_ir[], nuc_clone_partition[];
/* One input and one result of int8 or uint8; the same with two inputs, of which one is as large as the result. */
extern const struct nuc_support_rule nuc_unary_target[];

/* ---- rows of rule set sdk-3.2 ---- */

/* Of a function of one value that Neutron's firmware computes and that has no row of its own. */
extern const struct nuc_support_row nuc_function_row;

extern const struct nuc_support_row nuc_activation_rows[], nuc_conv_rows[], nuc_elementwise_rows[], nuc_math_rows[],
    nuc_move_rows[], nuc_shape_rows[];

#endif
