/*
 * Patterns of the int8 kernels of a Cortex-M. Source of the specs: ExecuTorch backends/cortex_m/quantizer/
 * quantization_configs.py. The rows hold for all operators the lowering has kernels or tables for, which are more than
 * the reference quantizes (its list is in annotate_cortexm.c).
 */
#include <string.h>

#include "compiler/quantize/quant_patterns.h"

#define FLOAT32_EPS 0x1p-23f /* what torchao's observers take when no eps is given */

#define WEIGHT_SPEC(kind_, scheme_, axis)                                                                              \
    {                                                                                                                  \
        .kind = NUC_QSPEC_OBSERVED, .observer = (kind_), .dtype = NUC_I8, .quant_min = -128, .quant_max = 127,         \
        .scheme = (scheme_), .ch_axis = (axis), .eps = FLOAT32_EPS                                                     \
    }
#define BIAS_SPEC(scheme_, axis)                                                                                       \
    {                                                                                                                  \
        .kind = NUC_QSPEC_DERIVED, .observer = NUC_OBSERVER_DERIVED, .dtype = NUC_I32, .quant_min = INT32_MIN,         \
        .quant_max = INT32_MAX - 1, .scheme = (scheme_), .ch_axis = (axis)                                             \
    }

void nuc_cpu_specs(const struct nuc_quantize_options *options, struct nuc_qspec specs[NUC_SPEC_COUNT])
{
    static const struct nuc_qspec per_tensor = WEIGHT_SPEC(NUC_OBSERVER_MIN_MAX, NUC_PER_TENSOR_SYMMETRIC, -1);
    static const struct nuc_qspec axis_0 = WEIGHT_SPEC(NUC_OBSERVER_PER_CHANNEL_MIN_MAX, NUC_PER_CHANNEL_SYMMETRIC, 0);
    static const struct nuc_qspec axis_1 = WEIGHT_SPEC(NUC_OBSERVER_PER_CHANNEL_MIN_MAX, NUC_PER_CHANNEL_SYMMETRIC, 1);
    static const struct nuc_qspec bias = BIAS_SPEC(NUC_PER_TENSOR_AFFINE, -1);
    static const struct nuc_qspec bias_channels = BIAS_SPEC(NUC_PER_CHANNEL_SYMMETRIC, 0);
    bool channels = options->weights != NUC_WEIGHTS_PER_TENSOR;

    nuc_specs(options, specs);
    specs[NUC_SPEC_ACTIVATION].eps = FLOAT32_EPS;
    specs[NUC_SPEC_FACTOR] = specs[NUC_SPEC_SYMMETRIC] = specs[NUC_SPEC_ACTIVATION];
    specs[NUC_SPEC_WEIGHT] = per_tensor;
    specs[NUC_SPEC_WEIGHT_AXIS_0] = channels ? axis_0 : per_tensor;
    specs[NUC_SPEC_WEIGHT_AXIS_1] = channels ? axis_1 : per_tensor;
    specs[NUC_SPEC_BIAS] = bias;
    specs[NUC_SPEC_BIAS_CHANNELS] = channels ? bias_channels : bias;
}

#define ANY_RANK NUC_MAX_RANK
#define INPUT_ACTIVATION .anchors = {{NUC_SPEC_ACTIVATION, 0}}
#define TABLE .form = NUC_FORM_OWN, INPUT_ACTIVATION, .output = NUC_SPEC_ACTIVATION
#define CLAMP TABLE, .joins = NUC_JOINS_ALWAYS
#define SHARED .form = NUC_FORM_SHARED, INPUT_ACTIVATION
#define BINARY                                                                                                         \
    .form = NUC_FORM_OWN, .anchors = {{NUC_SPEC_ACTIVATION, 0}, {NUC_SPEC_ACTIVATION, 1}}, .output = NUC_SPEC_ACTIVATION
#define CONVOLUTION(weight)                                                                                            \
    .form = NUC_FORM_OWN, .anchors = {{NUC_SPEC_ACTIVATION, 0}, {(weight), 1}, {NUC_SPEC_BIAS_CHANNELS, 2}},           \
    .output = NUC_SPEC_ACTIVATION, .joint_rank = ANY_RANK

static const struct nuc_pattern patterns[NUC_OP_COUNT] = {
    [NUC_OP_CONV2D] = {CONVOLUTION(NUC_SPEC_WEIGHT_AXIS_0)},
    [NUC_OP_CONV2D_PADDING] = {CONVOLUTION(NUC_SPEC_WEIGHT_AXIS_0)},
    [NUC_OP_CONV_TRANSPOSE2D] = {CONVOLUTION(NUC_SPEC_WEIGHT_AXIS_1)},
    [NUC_OP_LINEAR] = {.form = NUC_FORM_OWN,
                       .anchors = {{NUC_SPEC_ACTIVATION, 0}, {NUC_SPEC_WEIGHT, 1}, {NUC_SPEC_BIAS, 2}},
                       .output = NUC_SPEC_ACTIVATION,
                       .joint_rank = ANY_RANK},
    [NUC_OP_ADDMM] = {.form = NUC_FORM_OWN,
                      .anchors = {{NUC_SPEC_ACTIVATION, 1}, {NUC_SPEC_WEIGHT, 2}, {NUC_SPEC_BIAS, 0}},
                      .output = NUC_SPEC_ACTIVATION,
                      .joint_rank = ANY_RANK},
    [NUC_OP_MM] = {.form = NUC_FORM_OWN,
                   .anchors = {{NUC_SPEC_ACTIVATION, 0}, {NUC_SPEC_WEIGHT, 1}},
                   .output = NUC_SPEC_ACTIVATION,
                   .joint_rank = ANY_RANK},
    [NUC_OP_BMM] = {BINARY},
    [NUC_OP_MATMUL] = {BINARY},

    [NUC_OP_ADD] = {BINARY, .joint_rank = ANY_RANK},
    [NUC_OP_SUB] = {BINARY, .joint_rank = ANY_RANK},
    [NUC_OP_MUL] = {BINARY},
    [NUC_OP_DIV] = {BINARY},
    [NUC_OP_MAXIMUM] = {.form = NUC_FORM_PAIR},
    [NUC_OP_MINIMUM] = {.form = NUC_FORM_PAIR},

    [NUC_OP_ABS] = {TABLE},
    [NUC_OP_NEG] = {TABLE},
    [NUC_OP_EXP] = {TABLE},
    [NUC_OP_LOG] = {TABLE},
    [NUC_OP_SQRT] = {TABLE},
    [NUC_OP_RSQRT] = {TABLE},
    [NUC_OP_SIGMOID] = {TABLE},
    [NUC_OP_TANH] = {TABLE},
    [NUC_OP_HARDSWISH] = {TABLE},
    [NUC_OP_HARDSIGMOID] = {TABLE},
    [NUC_OP_SILU] = {TABLE},
    [NUC_OP_GELU] = {TABLE},
    [NUC_OP_LEAKY_RELU] = {TABLE},
    [NUC_OP_RELU] = {CLAMP},
    [NUC_OP_RELU6] = {CLAMP},
    [NUC_OP_HARDTANH] = {CLAMP},
    [NUC_OP_CLAMP] = {CLAMP},
    [NUC_OP_PRELU] = {.form = NUC_FORM_OWN,
                      .anchors = {{NUC_SPEC_ACTIVATION, 0}, {NUC_SPEC_WEIGHT, 1}},
                      .output = NUC_SPEC_ACTIVATION},
    [NUC_OP_SOFTMAX] = {.form = NUC_FORM_OWN, INPUT_ACTIVATION, .output = NUC_SPEC_PROBABILITY},

    [NUC_OP_MEAN_DIM] = {TABLE},
    [NUC_OP_SUM] = {TABLE},
    [NUC_OP_SUM_DIM] = {TABLE},
    [NUC_OP_ADAPTIVE_AVG_POOL2D] = {SHARED},
    [NUC_OP_AVG_POOL1D] = {SHARED},
    [NUC_OP_AVG_POOL2D] = {SHARED},
    [NUC_OP_MAX_POOL1D] = {SHARED},
    [NUC_OP_MAX_POOL2D] = {SHARED},
    [NUC_OP_AMAX] = {SHARED},
    [NUC_OP_AMIN] = {SHARED},
    [NUC_OP_UPSAMPLE_BILINEAR] = {SHARED},
    [NUC_OP_UPSAMPLE_NEAREST] = {SHARED},

    [NUC_OP_CAT] = {.form = NUC_FORM_LIST},
    [NUC_OP_CLONE] = {SHARED},
    [NUC_OP_CONTIGUOUS] = {SHARED},
    [NUC_OP_ALIAS] = {SHARED},
    [NUC_OP_DROPOUT] = {SHARED},
    [NUC_OP_FLATTEN] = {SHARED},
    [NUC_OP_PAD] = {SHARED},
    [NUC_OP_PERMUTE] = {SHARED},
    [NUC_OP_RESHAPE] = {SHARED},
    [NUC_OP_SLICE] = {SHARED},
    [NUC_OP_SQUEEZE] = {SHARED},
    [NUC_OP_SQUEEZE_DIM] = {SHARED},
    [NUC_OP_SQUEEZE_DIMS] = {SHARED},
    [NUC_OP_T] = {SHARED},
    [NUC_OP_TRANSPOSE] = {SHARED},
    [NUC_OP_UNSQUEEZE] = {SHARED},
    [NUC_OP_VIEW] = {SHARED},
};

const struct nuc_pattern *nuc_cpu_pattern_of(enum nuc_op op)
{
    return &patterns[op];
}
