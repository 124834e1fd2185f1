/* Source: ExecuTorch backends/nxp/quantizer/{neutron_quantizer,patterns}.py. */
#include "compiler/quantize/quant_patterns.h"

#include <math.h>
#include <string.h>

/* ---- specs ---- */

#define FLOAT32_EPS 0x1p-23f /* what torchao's observers take when no eps is given */

#define ACTIVATION_SPEC                                                                                                \
    {                                                                                                                  \
        .kind = NUC_QSPEC_OBSERVED, .observer = NUC_OBSERVER_HISTOGRAM, .dtype = NUC_I8, .quant_min = -128,            \
        .quant_max = 127, .scheme = NUC_PER_TENSOR_AFFINE, .ch_axis = -1, .eps = 0x1p-12f                              \
    }
#define SYMMETRIC_SPEC                                                                                                 \
    {                                                                                                                  \
        .kind = NUC_QSPEC_OBSERVED, .observer = NUC_OBSERVER_MIN_MAX, .dtype = NUC_I8, .quant_min = -127,              \
        .quant_max = 127, .scheme = NUC_PER_TENSOR_SYMMETRIC, .ch_axis = -1, .eps = FLOAT32_EPS                        \
    }
#define CHANNELS_SPEC(axis)                                                                                            \
    {                                                                                                                  \
        .kind = NUC_QSPEC_OBSERVED, .observer = NUC_OBSERVER_PER_CHANNEL_MIN_MAX, .dtype = NUC_I8, .quant_min = -127,  \
        .quant_max = 127, .scheme = NUC_PER_CHANNEL_SYMMETRIC, .ch_axis = (axis), .eps = FLOAT32_EPS                   \
    }
#define FIXED_SPEC(step, zero)                                                                                         \
    {                                                                                                                  \
        .kind = NUC_QSPEC_FIXED, .observer = NUC_OBSERVER_FIXED, .dtype = NUC_I8, .quant_min = -128, .quant_max = 127, \
        .scheme = NUC_PER_TENSOR_AFFINE, .ch_axis = -1, .scale = (step), .zero_point = (zero)                          \
    }

static const struct nuc_qspec reference_specs[NUC_SPEC_COUNT] = {
    [NUC_SPEC_ACTIVATION] = ACTIVATION_SPEC,
    [NUC_SPEC_SYMMETRIC] = SYMMETRIC_SPEC,
    [NUC_SPEC_FACTOR] = FIXED_SPEC(0x1p-8f, 0),
    [NUC_SPEC_WEIGHT] = SYMMETRIC_SPEC,
    [NUC_SPEC_WEIGHT_AXIS_0] = CHANNELS_SPEC(0),
    [NUC_SPEC_WEIGHT_AXIS_1] = CHANNELS_SPEC(1),
    [NUC_SPEC_BIAS] = {.kind = NUC_QSPEC_DERIVED,
                       .observer = NUC_OBSERVER_DERIVED,
                       .dtype = NUC_I32,
                       .quant_min = INT32_MIN,
                       .quant_max = INT32_MAX,
                       .scheme = NUC_PER_TENSOR_AFFINE,
                       .ch_axis = -1},
    [NUC_SPEC_BIAS_CHANNELS] = {.kind = NUC_QSPEC_DERIVED,
                                .observer = NUC_OBSERVER_DERIVED,
                                .dtype = NUC_I32,
                                .quant_min = -INT32_MAX,
                                .quant_max = INT32_MAX,
                                .scheme = NUC_PER_CHANNEL_SYMMETRIC,
                                .ch_axis = 0},
    [NUC_SPEC_PROBABILITY] = FIXED_SPEC(0x1p-8f, -128),
    [NUC_SPEC_TANH] = FIXED_SPEC(0x1p-7f, 0),
};

void nuc_specs(const struct nuc_quantize_options *options, struct nuc_qspec specs[NUC_SPEC_COUNT])
{
    static const enum nuc_observer_kind kinds[] = {
        [NUC_OBSERVE_HISTOGRAM] = NUC_OBSERVER_HISTOGRAM,
        [NUC_OBSERVE_MIN_MAX] = NUC_OBSERVER_MIN_MAX,
        [NUC_OBSERVE_MSE] = NUC_OBSERVER_MSE,
        [NUC_OBSERVE_PERCENTILE] = NUC_OBSERVER_PERCENTILE,
        [NUC_OBSERVE_MOVING_AVERAGE] = NUC_OBSERVER_MOVING_AVERAGE,
    };

    memcpy(specs, reference_specs, sizeof reference_specs);
    specs[NUC_SPEC_ACTIVATION].observer = kinds[options->observer];
    if (!options->reference_compat)
        specs[NUC_SPEC_FACTOR] = specs[NUC_SPEC_ACTIVATION];
    if (options->weights == NUC_WEIGHTS_PER_TENSOR) {
        specs[NUC_SPEC_WEIGHT_AXIS_0] = specs[NUC_SPEC_WEIGHT_AXIS_1] = specs[NUC_SPEC_WEIGHT];
        specs[NUC_SPEC_BIAS_CHANNELS] = specs[NUC_SPEC_BIAS];
    }
}

/* ---- patterns ---- */

#define ANY_RANK NUC_MAX_RANK
#define INPUT_ACTIVATION .anchors = {{NUC_SPEC_ACTIVATION, 0}}
#define UNARY .form = NUC_FORM_OWN, INPUT_ACTIVATION, .output = NUC_SPEC_ACTIVATION
#define SHARED .form = NUC_FORM_SHARED, INPUT_ACTIVATION
#define MAP .form = NUC_FORM_MAP, INPUT_ACTIVATION, .output = NUC_SPEC_ACTIVATION
#define BOUNDED .form = NUC_FORM_BOUNDED, INPUT_ACTIVATION, .output = NUC_SPEC_ACTIVATION
#define SQUASHED(to) .form = NUC_FORM_OWN, INPUT_ACTIVATION, .output = (to), .joins = NUC_JOINS_REFERENCE
#define BINARY(in) .form = NUC_FORM_OWN, .anchors = {{(in), 0}, {(in), 1}}, .output = NUC_SPEC_ACTIVATION
#define CONVOLUTION(weight)                                                                                            \
    .form = NUC_FORM_OWN, .anchors = {{NUC_SPEC_ACTIVATION, 0}, {(weight), 1}, {NUC_SPEC_BIAS_CHANNELS, 2}},           \
    .output = NUC_SPEC_ACTIVATION, .joint_rank = ANY_RANK

static const struct nuc_pattern patterns[NUC_OP_COUNT] = {
    /* products */
    [NUC_OP_CONV2D] = {CONVOLUTION(NUC_SPEC_WEIGHT_AXIS_0), .cluster = NUC_CLUSTER_COMPUTE},
    [NUC_OP_CONV2D_PADDING] = {CONVOLUTION(NUC_SPEC_WEIGHT_AXIS_0)},
    [NUC_OP_CONV_TRANSPOSE2D] = {CONVOLUTION(NUC_SPEC_WEIGHT_AXIS_1)},
    [NUC_OP_LINEAR] = {.form = NUC_FORM_OWN,
                       .anchors = {{NUC_SPEC_ACTIVATION, 0}, {NUC_SPEC_WEIGHT, 1}, {NUC_SPEC_BIAS, 2}},
                       .output = NUC_SPEC_ACTIVATION,
                       .joint_rank = 2,
                       .cluster = NUC_CLUSTER_COMPUTE},
    [NUC_OP_ADDMM] = {.form = NUC_FORM_OWN,
                      .anchors = {{NUC_SPEC_ACTIVATION, 1}, {NUC_SPEC_WEIGHT, 2}, {NUC_SPEC_BIAS, 0}},
                      .output = NUC_SPEC_ACTIVATION,
                      .joint_rank = ANY_RANK,
                      .cluster = NUC_CLUSTER_COMPUTE},
    [NUC_OP_MM] = {.form = NUC_FORM_OWN,
                   .anchors = {{NUC_SPEC_ACTIVATION, 0}, {NUC_SPEC_WEIGHT, 1}},
                   .output = NUC_SPEC_ACTIVATION,
                   .joint_rank = ANY_RANK,
                   .cluster = NUC_CLUSTER_COMPUTE},
    [NUC_OP_BMM] = {BINARY(NUC_SPEC_SYMMETRIC)},

    /* element by element */
    [NUC_OP_ADD] = {BINARY(NUC_SPEC_ACTIVATION), .extension_in_place = true},
    [NUC_OP_SUB] = {BINARY(NUC_SPEC_ACTIVATION), .extension_in_place = true},
    [NUC_OP_MUL] = {BINARY(NUC_SPEC_FACTOR), .extension_in_place = true},
    [NUC_OP_MAXIMUM] = {.form = NUC_FORM_PAIR},
    [NUC_OP_MINIMUM] = {.form = NUC_FORM_PAIR},
    [NUC_OP_ABS] = {MAP, .extension_in_place = true},
    [NUC_OP_EXP] = {MAP, .extension_in_place = true},
    [NUC_OP_NEG] = {MAP, .extension_in_place = true},
    [NUC_OP_LOG] = {UNARY, .extension_in_place = true},
    [NUC_OP_RSQRT] = {UNARY, .extension_in_place = true},

    /* activations */
    [NUC_OP_RELU] = {UNARY, .joins = NUC_JOINS_ALWAYS, .cluster = NUC_CLUSTER_RELU},
    [NUC_OP_RELU6] = {UNARY, .joins = NUC_JOINS_ALWAYS, .extension = true},
    [NUC_OP_HARDTANH] = {BOUNDED, .joins = NUC_JOINS_BOUNDS, .cluster = NUC_CLUSTER_CLAMP},
    [NUC_OP_CLAMP] = {BOUNDED, .extension_in_place = true},
    [NUC_OP_HARDSWISH] = {UNARY},
    [NUC_OP_LEAKY_RELU] = {UNARY},
    [NUC_OP_PRELU] = {.form = NUC_FORM_OWN,
                      .anchors = {{NUC_SPEC_ACTIVATION, 0}, {NUC_SPEC_WEIGHT, 1}},
                      .output = NUC_SPEC_ACTIVATION},
    [NUC_OP_SIGMOID] = {SQUASHED(NUC_SPEC_PROBABILITY), .cluster = NUC_CLUSTER_SIGMOID, .extension_in_place = true},
    [NUC_OP_TANH] = {SQUASHED(NUC_SPEC_TANH), .cluster = NUC_CLUSTER_TANH},
    [NUC_OP_SOFTMAX] = {.form = NUC_FORM_OWN, INPUT_ACTIVATION, .output = NUC_SPEC_PROBABILITY},

    /* reductions and resampling: inputs and outputs have the same parameters on the target */
    [NUC_OP_ADAPTIVE_AVG_POOL2D] = {SHARED},
    [NUC_OP_AMAX] = {SHARED},
    [NUC_OP_AMIN] = {SHARED},
    [NUC_OP_AVG_POOL1D] = {SHARED},
    [NUC_OP_AVG_POOL2D] = {SHARED},
    [NUC_OP_MAX_POOL1D] = {SHARED},
    [NUC_OP_MAX_POOL2D] = {SHARED},
    [NUC_OP_MEAN_DIM] = {SHARED},
    [NUC_OP_SUM] = {SHARED},
    [NUC_OP_SUM_DIM] = {SHARED},
    [NUC_OP_UPSAMPLE_BILINEAR] = {SHARED},
    [NUC_OP_UPSAMPLE_NEAREST] = {SHARED},

    /* moving values */
    [NUC_OP_CAT] = {.form = NUC_FORM_LIST},
    [NUC_OP_DROPOUT] = {SHARED},
    [NUC_OP_FLATTEN] = {SHARED},
    [NUC_OP_PAD] = {SHARED},
    [NUC_OP_PERMUTE] = {SHARED},
    [NUC_OP_RESHAPE] = {SHARED},
    [NUC_OP_SLICE] = {SHARED},
    [NUC_OP_SQUEEZE] = {SHARED},
    [NUC_OP_SQUEEZE_DIM] = {SHARED},
    [NUC_OP_SQUEEZE_DIMS] = {SHARED},
    [NUC_OP_TRANSPOSE] = {SHARED},
    [NUC_OP_UNSQUEEZE] = {SHARED},
    [NUC_OP_VIEW] = {SHARED},
};

const struct nuc_pattern *nuc_pattern_of(enum nuc_op op)
{
    return &patterns[op];
}

/* ---- conditions ---- */

bool nuc_is_extension(const struct nuc_pattern *p, const struct nuc_node *node)
{
    return p->extension || (p->extension_in_place && node->in_place);
}

/* Positions of the bounds of hardtanh and clamp. */
#define BOUND_MIN 1
#define BOUND_MAX 2

static double bound(const struct nuc_node *node, uint32_t arg, double absent)
{
    const struct nuc_arg *a = &node->args[arg];

    if (a->kind == NUC_ARG_INT)
        return (double)a->u.i;
    return a->kind == NUC_ARG_FLOAT ? a->u.f : absent;
}

static double bound_min(const struct nuc_node *node)
{
    return bound(node, BOUND_MIN, -(double)INFINITY);
}

static double bound_max(const struct nuc_node *node)
{
    return bound(node, BOUND_MAX, (double)INFINITY);
}

bool nuc_has_relu_bounds(const struct nuc_node *clamp)
{
    static const double variants[][2] = {{-1, 1}, {0, 1}, {0, 6}, {0, (double)INFINITY}};
    double min = bound_min(clamp), max = bound_max(clamp);

    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (min == variants[i][0] && max == variants[i][1])
            return true;
    }
    return false;
}

bool nuc_joins_compute(const struct nuc_node *node, const struct nuc_pattern *p, bool reference_compat)
{
    if (nuc_is_extension(p, node) && reference_compat)
        return false;
    switch (p->joins) {
    case NUC_JOINS_ALWAYS:
        return true;
    case NUC_JOINS_BOUNDS:
        return bound_min(node) == 0 && (bound_max(node) == 6 || bound_max(node) == (double)INFINITY);
    case NUC_JOINS_REFERENCE:
        return reference_compat;
    case NUC_JOINS_NEVER:
    default:
        return false;
    }
}
