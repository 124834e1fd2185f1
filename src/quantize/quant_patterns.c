/*
 * Sources: ExecuTorch backends/nxp/quantizer/{neutron_quantizer,patterns}.py for the NPU,
 * backends/cortex_m/quantizer/quantization_configs.py for int8 kernels of a Cortex-M. There the rows hold for all
 * operators the lowering has kernels or tables for, more than the reference quantizes (annotate_cortexm.c has its
 * list).
 */
#include "quantize/quant_patterns.h"

#include <math.h>
#include <string.h>

#include "ir/args.h"

/* ---- specs ---- */

/* Beyond the reference: products of two such scales, over a third, are still normal numbers. */
#define TINY_SCALE 0x1p-60f

#define FLOAT32_EPS 0x1p-23f /* what torchao's observers take when no eps is given */

#define OBSERVED_SPEC(by, lowest, scheme_, axis, eps_)                                                                 \
    {                                                                                                                  \
        .kind = NUC_QSPEC_OBSERVED, .observer = (by), .dtype = NUC_I8, .quant_min = (lowest), .quant_max = 127,        \
        .scheme = (scheme_), .ch_axis = (axis), .eps = (eps_), .least = (eps_)                                         \
    }
#define ACTIVATION_SPEC OBSERVED_SPEC(NUC_OBSERVER_HISTOGRAM, -128, NUC_PER_TENSOR_AFFINE, -1, 0x1p-12f)
#define SYMMETRIC_SPEC OBSERVED_SPEC(NUC_OBSERVER_MIN_MAX, -127, NUC_PER_TENSOR_SYMMETRIC, -1, FLOAT32_EPS)
#define CHANNELS_SPEC(axis)                                                                                            \
    OBSERVED_SPEC(NUC_OBSERVER_PER_CHANNEL_MIN_MAX, -127, NUC_PER_CHANNEL_SYMMETRIC, axis, FLOAT32_EPS)
#define WIDE_SPEC(kind_, by, step)                                                                                     \
    {                                                                                                                  \
        .kind = (kind_), .observer = (by), .dtype = NUC_I16, .quant_min = INT16_MIN, .quant_max = INT16_MAX,           \
        .scheme = NUC_PER_TENSOR_SYMMETRIC, .ch_axis = -1, .eps = FLOAT32_EPS, .scale = (step)                         \
    }
#define FIXED_SPEC(step, zero)                                                                                         \
    {                                                                                                                  \
        .kind = NUC_QSPEC_FIXED, .observer = NUC_OBSERVER_FIXED, .dtype = NUC_I8, .quant_min = -128, .quant_max = 127, \
        .scheme = NUC_PER_TENSOR_AFFINE, .ch_axis = -1, .scale = (step), .zero_point = (zero)                          \
    }
#define BIAS_SPEC(lowest, scheme_, axis)                                                                               \
    {                                                                                                                  \
        .kind = NUC_QSPEC_DERIVED, .observer = NUC_OBSERVER_DERIVED, .dtype = NUC_I32, .quant_min = (lowest),          \
        .quant_max = INT32_MAX, .scheme = (scheme_), .ch_axis = (axis)                                                 \
    }

static const struct nuc_qspec reference_specs[NUC_SPEC_COUNT] = {
    [NUC_SPEC_ACTIVATION] = ACTIVATION_SPEC,
    [NUC_SPEC_SYMMETRIC] = SYMMETRIC_SPEC,
    [NUC_SPEC_FACTOR] = FIXED_SPEC(0x1p-8f, 0),
    [NUC_SPEC_WEIGHT] = SYMMETRIC_SPEC,
    [NUC_SPEC_WEIGHT_AXIS_0] = CHANNELS_SPEC(0),
    [NUC_SPEC_WEIGHT_AXIS_1] = CHANNELS_SPEC(1),
    [NUC_SPEC_BIAS] = BIAS_SPEC(INT32_MIN, NUC_PER_TENSOR_AFFINE, -1),
    [NUC_SPEC_BIAS_CHANNELS] = BIAS_SPEC(-INT32_MAX, NUC_PER_CHANNEL_SYMMETRIC, 0),
    [NUC_SPEC_PROBABILITY] = FIXED_SPEC(0x1p-8f, -128),
    [NUC_SPEC_TANH] = FIXED_SPEC(0x1p-7f, 0),
};

static void npu_specs(const struct nuc_quantize_options *options, struct nuc_qspec specs[NUC_SPEC_COUNT])
{
    static const enum nuc_observer_kind kinds[] = {
        [NUC_OBSERVE_AUTO] = NUC_OBSERVER_AUTO,
        [NUC_OBSERVE_HISTOGRAM] = NUC_OBSERVER_HISTOGRAM,
        [NUC_OBSERVE_MIN_MAX] = NUC_OBSERVER_MIN_MAX,
        [NUC_OBSERVE_MSE] = NUC_OBSERVER_MSE,
        [NUC_OBSERVE_PERCENTILE] = NUC_OBSERVER_PERCENTILE,
        [NUC_OBSERVE_MOVING_AVERAGE] = NUC_OBSERVER_MOVING_AVERAGE,
    };

    memcpy(specs, reference_specs, sizeof reference_specs);
    specs[NUC_SPEC_ACTIVATION].observer = kinds[options->observer];
    if (options->reference_compat && options->observer == NUC_OBSERVE_AUTO)
        specs[NUC_SPEC_ACTIVATION].observer = NUC_OBSERVER_HISTOGRAM;
    if (options->one_scale)
        specs[NUC_SPEC_SYMMETRIC].quant_min = INT8_MIN;
    for (int i = 0; i < NUC_SPEC_COUNT && !options->reference_compat; i++)
        specs[i].least = TINY_SCALE;
    if (!options->reference_compat)
        specs[NUC_SPEC_FACTOR] = specs[NUC_SPEC_ACTIVATION];
    if (options->weights == NUC_WEIGHTS_PER_TENSOR) {
        specs[NUC_SPEC_WEIGHT_AXIS_0] = specs[NUC_SPEC_WEIGHT_AXIS_1] = specs[NUC_SPEC_WEIGHT];
        specs[NUC_SPEC_BIAS_CHANNELS] = specs[NUC_SPEC_BIAS];
    }
}

void nuc_specs(enum nuc_side side, const struct nuc_quantize_options *options, struct nuc_qspec specs[NUC_SPEC_COUNT])
{
    if (side != NUC_SIDE_NPU) {
        /* The kernels of a Cortex-M: all 256 steps for weights, accumulators short of the largest int32. */
        npu_specs(options, specs);
        specs[NUC_SPEC_ACTIVATION].eps = FLOAT32_EPS;
        specs[NUC_SPEC_FACTOR] = specs[NUC_SPEC_SYMMETRIC] = specs[NUC_SPEC_TANH] = specs[NUC_SPEC_ACTIVATION];
        for (int weight = NUC_SPEC_WEIGHT; weight <= NUC_SPEC_WEIGHT_AXIS_1; weight++) {
            specs[weight].quant_min = INT8_MIN;
            specs[weight].whole = !options->reference_compat;
        }
        for (int bias = NUC_SPEC_BIAS; bias <= NUC_SPEC_BIAS_CHANNELS; bias++) {
            specs[bias].quant_min = INT32_MIN;
            specs[bias].quant_max = INT32_MAX - 1;
        }
        /* Ranges of int16 reach as far as is seen and beyond: there are steps enough. */
        if (side == NUC_SIDE_WIDE) {
            static const struct nuc_qspec observed = WIDE_SPEC(NUC_QSPEC_OBSERVED, NUC_OBSERVER_AUTO, 0);
            static const struct nuc_qspec fixed = WIDE_SPEC(NUC_QSPEC_FIXED, NUC_OBSERVER_FIXED, 0x1p-15f);
            specs[NUC_SPEC_ACTIVATION] = specs[NUC_SPEC_FACTOR] = specs[NUC_SPEC_SYMMETRIC] = observed;
            specs[NUC_SPEC_PROBABILITY] = specs[NUC_SPEC_TANH] = fixed;
            specs[NUC_SPEC_BIAS].kind = specs[NUC_SPEC_BIAS_CHANNELS].kind = NUC_QSPEC_NONE;
            specs[NUC_SPEC_ACTIVATION].least = specs[NUC_SPEC_FACTOR].least = specs[NUC_SPEC_SYMMETRIC].least =
                TINY_SCALE;
        }
    } else {
        npu_specs(options, specs);
    }
}

/* ---- patterns ---- */

#define ANY_RANK NUC_MAX_RANK
#define INPUT .anchors = {{NUC_SPEC_ACTIVATION, NUC_SELF}}
#define UNARY_TO(to) .form = NUC_FORM_OWN, INPUT, .output = (to)
#define UNARY UNARY_TO(NUC_SPEC_ACTIVATION)
#define SHARED .form = NUC_FORM_SHARED, INPUT
#define MAP .form = NUC_FORM_MAP, INPUT, .output = NUC_SPEC_ACTIVATION
#define BOUNDED .form = NUC_FORM_BOUNDED, INPUT, .output = NUC_SPEC_ACTIVATION
#define TWO(first, second)                                                                                             \
    .form = NUC_FORM_OWN, .anchors = {{(first), NUC_SELF}, {(second), NUC_OTHER}}, .output = NUC_SPEC_ACTIVATION
#define WEIGHTED(op, input, weight, weight_spec, bias, bias_spec)                                                      \
    .form = NUC_FORM_OWN,                                                                                              \
    .anchors = {{NUC_SPEC_ACTIVATION, NUC_ARG(op, input)},                                                             \
                {(weight_spec), NUC_ARG(op, weight)},                                                                  \
                {(bias_spec), NUC_ARG(op, bias)}},                                                                     \
    .output = NUC_SPEC_ACTIVATION
#define CONVOLUTION(op, weight_spec)                                                                                   \
    WEIGHTED(op, input, weight, weight_spec, bias, NUC_SPEC_BIAS_CHANNELS), .joint_rank = ANY_RANK
#define LINEAR WEIGHTED(LINEAR, input, weight, NUC_SPEC_WEIGHT, bias, NUC_SPEC_BIAS)

/* What moves values or picks some has the same parameters before and after. */
#define FAMILIES_OF_BOTH                                                                                               \
    [NUC_FAMILY_POOL] = {SHARED}, [NUC_FAMILY_RESIZE] = {SHARED}, [NUC_FAMILY_REDUCE] = {SHARED},                      \
    [NUC_FAMILY_VIEW] = {SHARED}, [NUC_FAMILY_PERMUTE] = {SHARED}, [NUC_FAMILY_SLICE] = {SHARED},                      \
    [NUC_FAMILY_COPY] = {SHARED}, [NUC_FAMILY_PAD] = {SHARED}, [NUC_FAMILY_CAT] = {.form = NUC_FORM_LIST},             \
    [NUC_FAMILY_SOFTMAX] = {UNARY_TO(NUC_SPEC_PROBABILITY)}

/* A function of one value is a table of the CPU; which the NPU has is said operator by operator. */
static const struct nuc_quant_pattern families[NUC_SIDE_COUNT][NUC_FAMILY_COUNT] = {
    [NUC_SIDE_NPU] = {FAMILIES_OF_BOTH},
    [NUC_SIDE_CPU] = {FAMILIES_OF_BOTH, [NUC_FAMILY_MAP] = {UNARY},
                      [NUC_FAMILY_BINARY] = {TWO(NUC_SPEC_ACTIVATION, NUC_SPEC_ACTIVATION)}},
};

/* Columns OBSERVED of ops.def: patterns of both sides, of the NPU, of the CPU. */
static const struct nuc_quant_pattern family = {.form = NUC_FORM_NONE}; /* that of the operator's family */
static const struct nuc_quant_pattern conv2d = {CONVOLUTION(CONV2D, NUC_SPEC_WEIGHT_AXIS_0),
                                                .cluster = NUC_CLUSTER_COMPUTE};
static const struct nuc_quant_pattern conv2d_padding = {CONVOLUTION(CONV2D_PADDING, NUC_SPEC_WEIGHT_AXIS_0)};
static const struct nuc_quant_pattern conv_transpose2d = {CONVOLUTION(CONV_TRANSPOSE2D, NUC_SPEC_WEIGHT_AXIS_1)};
static const struct nuc_quant_pattern addmm = {WEIGHTED(ADDMM, mat1, mat2, NUC_SPEC_WEIGHT, self, NUC_SPEC_BIAS),
                                               .joint_rank = ANY_RANK, .cluster = NUC_CLUSTER_COMPUTE};
static const struct nuc_quant_pattern mm = {TWO(NUC_SPEC_ACTIVATION, NUC_SPEC_WEIGHT), .joint_rank = ANY_RANK,
                                            .cluster = NUC_CLUSTER_COMPUTE};
static const struct nuc_quant_pattern prelu = {TWO(NUC_SPEC_ACTIVATION, NUC_SPEC_WEIGHT)};
static const struct nuc_quant_pattern pair = {.form = NUC_FORM_PAIR};
/* Reads what its producer gives, and gives no values of its kind; of the NPU also what it has no operator for. */
static const struct nuc_quant_pattern none = {.form = NUC_FORM_NONE};
static const struct nuc_quant_pattern unary = {UNARY};

static const struct nuc_quant_pattern npu_linear = {LINEAR, .joint_rank = 2, .cluster = NUC_CLUSTER_COMPUTE};
static const struct nuc_quant_pattern symmetric = {TWO(NUC_SPEC_SYMMETRIC, NUC_SPEC_SYMMETRIC)};
static const struct nuc_quant_pattern npu_sum = {TWO(NUC_SPEC_ACTIVATION, NUC_SPEC_ACTIVATION),
                                                 .extension_in_place = true};
static const struct nuc_quant_pattern npu_product = {TWO(NUC_SPEC_FACTOR, NUC_SPEC_FACTOR), .extension_in_place = true};
static const struct nuc_quant_pattern npu_map = {MAP, .extension_in_place = true};
static const struct nuc_quant_pattern functional = {UNARY, .extension_in_place = true};
static const struct nuc_quant_pattern npu_relu = {UNARY, .joins = NUC_JOINS_ALWAYS, .cluster = NUC_CLUSTER_RELU};
static const struct nuc_quant_pattern npu_relu6 = {UNARY, .joins = NUC_JOINS_ALWAYS, .extension = true};
static const struct nuc_quant_pattern npu_hardtanh = {BOUNDED, .joins = NUC_JOINS_BOUNDS, .cluster = NUC_CLUSTER_CLAMP};
static const struct nuc_quant_pattern npu_clamp = {BOUNDED, .extension_in_place = true};
static const struct nuc_quant_pattern npu_sigmoid = {UNARY_TO(NUC_SPEC_PROBABILITY), .joins = NUC_JOINS_REFERENCE,
                                                     .cluster = NUC_CLUSTER_SIGMOID, .extension_in_place = true};
static const struct nuc_quant_pattern npu_tanh = {UNARY_TO(NUC_SPEC_TANH), .joins = NUC_JOINS_REFERENCE,
                                                  .cluster = NUC_CLUSTER_TANH};
/* Expressed in operators of the NPU after quantization. */
static const struct nuc_quant_pattern asked = {UNARY, .asked = true, .extension = true};
/* Moves of values that the reference has no pattern for. */
static const struct nuc_quant_pattern moved = {.form = NUC_FORM_MOVED, INPUT, .extension = true};

static const struct nuc_quant_pattern shared = {SHARED};
static const struct nuc_quant_pattern cpu_linear = {LINEAR, .joint_rank = ANY_RANK};
/* Observed, it would take the range of the values it is concatenated with. */
static const struct nuc_quant_pattern probability = {UNARY_TO(NUC_SPEC_PROBABILITY)};
static const struct nuc_quant_pattern cpu_tanh = {UNARY_TO(NUC_SPEC_TANH)};
static const struct nuc_quant_pattern two = {TWO(NUC_SPEC_ACTIVATION, NUC_SPEC_ACTIVATION)};
static const struct nuc_quant_pattern cpu_sum = {TWO(NUC_SPEC_ACTIVATION, NUC_SPEC_ACTIVATION), .joint_rank = ANY_RANK};
static const struct nuc_quant_pattern where = {
    .form = NUC_FORM_OWN,
    .anchors = {{NUC_SPEC_ACTIVATION, NUC_ARG(WHERE, self)}, {NUC_SPEC_ACTIVATION, NUC_ARG(WHERE, other)}},
    .output = NUC_SPEC_ACTIVATION};
static const struct nuc_quant_pattern clamped = {UNARY, .joins = NUC_JOINS_ALWAYS};
static const struct nuc_quant_pattern mean = {.form = NUC_FORM_MEAN, INPUT, .output = NUC_SPEC_ACTIVATION};
static const struct nuc_quant_pattern list = {.form = NUC_FORM_LIST};

const struct nuc_quant_pattern *nuc_pattern_of(enum nuc_side side, enum nuc_op op)
{
    static const struct nuc_quant_pattern *const rows[NUC_OP_COUNT][2] = {
#define OBSERVED(op, npu, cpu) [NUC_OP_##op] = {&(npu), &(cpu)},
#include "ir/ops.def"
    };
    const struct nuc_quant_pattern *p = rows[op][side != NUC_SIDE_NPU];

    if (p == NULL || p == &family)
        p = &families[side == NUC_SIDE_NPU ? NUC_SIDE_NPU : NUC_SIDE_CPU][nuc_op_family(op)];
    return p;
}

/* ---- conditions ---- */

bool nuc_is_extension(const struct nuc_quant_pattern *p, const struct nuc_node *node)
{
    return p->extension || (p->extension_in_place && node->in_place);
}

bool nuc_has_relu_bounds(const struct nuc_node *clamp)
{
    static const struct nuc_bounds variants[] = {{-1, 1}, {0, 1}, {0, 6}, {0, HUGE_VAL}};
    struct nuc_bounds bounds = nuc_bounds_of(clamp);

    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (bounds.min == variants[i].min && bounds.max == variants[i].max)
            return true;
    }
    return false;
}

bool nuc_joins_compute(const struct nuc_node *node, const struct nuc_quant_pattern *p, bool reference_compat)
{
    struct nuc_bounds bounds = nuc_bounds_of(node);

    if (nuc_is_extension(p, node) && reference_compat)
        return false;
    switch (p->joins) {
    case NUC_JOINS_ALWAYS:
        return true;
    case NUC_JOINS_BOUNDS:
        return bounds.min == 0 && (bounds.max == 6 || bounds.max == HUGE_VAL);
    case NUC_JOINS_REFERENCE:
        return reference_compat;
    case NUC_JOINS_NEVER:
    default:
        return false;
    }
}
