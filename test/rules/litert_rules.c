#include "rules/litert_rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host/file.h"

/* Limits of eIQ Neutron N3-64 and of the converter. */
#define MAX_SIZE 4096 /* kernel, stride, dilation */
#define MAX_WINDOW 65535
#define NUM_MACS 8
#define MAX_TRANSPOSED_STRIDE 2
#define MAX_CLASSES 2040
#define MAX_SOFTMAX_ROWS 4096
#define MAX_SOFTMAX 524288
#define MAX_RESHAPED_RANK 7

/* An operator with its operands; those that are left out are NULL. */
struct view {
    const struct nuc_lt_subgraph *s;
    const struct nuc_lt_op *op;
    const struct nuc_lt_tensor *in[4], *out;
};

typedef bool holds(const struct view *v);

/* ---- tensors ---- */

static bool is_int8(const struct nuc_lt_tensor *t)
{
    return t && (t->dtype == NUC_I8 || t->dtype == NUC_U8) && t->quant.count == 1 && t->quant.scale[0] > 0;
}

static bool is_static(const struct nuc_lt_tensor *t)
{
    return t && t->data.data != NULL;
}

static bool same_params(const struct nuc_lt_tensor *a, const struct nuc_lt_tensor *b)
{
    return is_int8(a) && is_int8(b) && a->dtype == b->dtype &&
           memcmp(a->quant.scale, b->quant.scale, sizeof(float)) == 0 &&
           a->quant.zero_point[0] == b->quant.zero_point[0];
}

static bool has_params(const struct nuc_lt_tensor *t, float scale, int64_t zero)
{
    return is_int8(t) && memcmp(t->quant.scale, &scale, sizeof scale) == 0 && t->quant.zero_point[0] == zero;
}

/* The integers of a constant, which may be none; UINT32_MAX: it is not constant. */
static uint32_t integers(const struct nuc_lt_tensor *t, uint32_t max, int64_t *out)
{
    return t && t->dtype == NUC_I32 && t->rank == 1 && t->shape[0] == 0 ? 0 : nuc_lt_integers(t, max, out);
}

/* Dimension `d`, 0 where there is none. */
static int64_t dim(const struct nuc_lt_tensor *t, uint32_t d)
{
    return t && d < t->rank ? t->shape[d] : 0;
}

static bool in_range(int64_t v, int64_t low, int64_t high)
{
    return v >= low && v <= high;
}

/* Where weights, input and bias of the operator are. */
static const struct nuc_lt_tensor *weights(const struct view *v)
{
    return v->in[1];
}

static const struct nuc_lt_tensor *data(const struct view *v)
{
    return v->op->code == NUC_LT_TRANSPOSE_CONV ? v->in[2] : v->in[0];
}

static const struct nuc_lt_tensor *bias(const struct view *v)
{
    return v->op->code == NUC_LT_TRANSPOSE_CONV ? v->in[3] : v->in[2];
}

/* ---- quantization ---- */

static bool int8_data(const struct view *v)
{
    return is_int8(data(v)) && is_int8(v->out);
}

static bool int8_both(const struct view *v)
{
    return is_int8(v->in[0]) && is_int8(v->in[1]) && is_int8(v->out);
}

static bool int8_all(const struct view *v)
{
    for (uint32_t i = 0; i < v->op->n_inputs; i++) {
        if (!is_int8(&v->s->tensors[v->op->inputs[i]]))
            return false;
    }
    return is_int8(v->out);
}

static bool shared(const struct view *v)
{
    return same_params(v->in[0], v->out);
}

static bool shared_all(const struct view *v)
{
    for (uint32_t i = 0; i < v->op->n_inputs; i++) {
        if (!same_params(&v->s->tensors[v->op->inputs[i]], v->out))
            return false;
    }
    return v->op->n_inputs > 0;
}

static bool out_256(const struct view *v)
{
    return has_params(v->out, 1.0f / 256, v->out->dtype == NUC_I8 ? -128 : 0);
}

static bool out_128(const struct view *v)
{
    return has_params(v->out, 1.0f / 128, v->out->dtype == NUC_I8 ? 0 : 128);
}

static bool zero_points_0(const struct view *v)
{
    return v->in[0]->quant.zero_point[0] == 0 && v->in[1]->quant.zero_point[0] == 0;
}

/* Whether a constant is transposed to make the tensor: a matrix that is stored [inputs, outputs]. */
static bool is_static_transposed(const struct view *v, const struct nuc_lt_tensor *t)
{
    for (const struct nuc_lt_op *op = v->s->ops; op < v->op; op++) {
        if (op->code == NUC_LT_TRANSPOSE && &v->s->tensors[op->outputs[0]] == t)
            return is_static(&v->s->tensors[op->inputs[0]]);
    }
    return false;
}

/* int8, constant, symmetric. */
static bool static_weights(const struct view *v)
{
    const struct nuc_lt_tensor *w = weights(v);

    if (!w || (!is_static(w) && !(v->op->code == NUC_LT_FULLY_CONNECTED && is_static_transposed(v, w))) ||
        w->dtype != NUC_I8 || w->quant.count == 0)
        return false;
    for (uint32_t i = 0; i < w->quant.count; i++) {
        if (w->quant.zero_point[i] != 0 || !(w->quant.scale[i] > 0))
            return false;
    }
    return true;
}

static bool one_weight_scale(const struct view *v)
{
    return weights(v)->quant.count == 1;
}

static bool static_bias(const struct view *v)
{
    const struct nuc_lt_tensor *b = bias(v);

    return !b || (is_static(b) && b->dtype == NUC_I32);
}

static bool has_bias(const struct view *v)
{
    return bias(v) != NULL;
}

/* The product of the scales of input and weights, within numpy.allclose's defaults; zero points 0. */
static bool bias_scale(const struct view *v)
{
    const struct nuc_lt_tensor *b = bias(v), *w = weights(v), *x = data(v);

    if (!b || b->quant.count == 0)
        return true;
    if (x->quant.count != 1 || (b->quant.count != 1 && w->quant.count != 1 && b->quant.count != w->quant.count))
        return false;
    uint32_t n = b->quant.count > w->quant.count ? b->quant.count : w->quant.count;
    for (uint32_t i = 0; i < n; i++) {
        double product = (double)x->quant.scale[0] * (double)w->quant.scale[w->quant.count == 1 ? 0 : i];
        double scale = (double)b->quant.scale[b->quant.count == 1 ? 0 : i];
        if (fabs(product - scale) > 1e-8 + 1e-5 * fabs(scale) || b->quant.zero_point[b->quant.count == 1 ? 0 : i] != 0)
            return false;
    }
    return true;
}

/* ---- shapes and options ---- */

/* At least one operand has as many elements as the result. */
static bool broadcasts(const struct view *v)
{
    return nuc_lt_elements(v->in[0]) == nuc_lt_elements(v->out) || nuc_lt_elements(v->in[1]) == nuc_lt_elements(v->out);
}

static bool not_fused(const struct view *v)
{
    const union nuc_lt_options *o = &v->op->options;

    switch (v->op->code) {
    case NUC_LT_CONV_2D:
    case NUC_LT_DEPTHWISE_CONV_2D:
    case NUC_LT_TRANSPOSE_CONV:
        return o->conv.activation == NUC_LT_ACT_NONE;
    case NUC_LT_AVERAGE_POOL_2D:
    case NUC_LT_MAX_POOL_2D:
        return o->pool.activation == NUC_LT_ACT_NONE;
    case NUC_LT_FULLY_CONNECTED:
        return o->fully_connected.activation == NUC_LT_ACT_NONE;
    case NUC_LT_CONCATENATION:
        return o->concat.activation == NUC_LT_ACT_NONE;
    default:
        return o->arith.activation == NUC_LT_ACT_NONE;
    }
}

static bool valid_windows(const struct view *v)
{
    bool pool = v->op->code == NUC_LT_AVERAGE_POOL_2D || v->op->code == NUC_LT_MAX_POOL_2D;

    return (pool ? v->op->options.pool.padding : v->op->options.conv.padding) == NUC_LT_VALID;
}

static bool pool_kernel(const struct view *v)
{
    return in_range(v->op->options.pool.filter_h, 1, MAX_SIZE) && in_range(v->op->options.pool.filter_w, 1, MAX_SIZE);
}

static bool pool_stride(const struct view *v)
{
    return in_range(v->op->options.pool.stride_h, 1, MAX_SIZE) && in_range(v->op->options.pool.stride_w, 1, MAX_SIZE);
}

static bool rank_4(const struct view *v)
{
    return data(v)->rank == 4 && v->out->rank == 4;
}

static bool conv_kernel(const struct view *v)
{
    const struct nuc_lt_tensor *w = weights(v);

    return w && w->rank == 4 && in_range(w->shape[1], 1, MAX_SIZE) && in_range(w->shape[2], 1, MAX_SIZE);
}

static bool conv_stride(const struct view *v)
{
    return in_range(v->op->options.conv.stride_h, 1, MAX_SIZE) && in_range(v->op->options.conv.stride_w, 1, MAX_SIZE) &&
           in_range(v->op->options.conv.dilation_h, 1, MAX_SIZE) &&
           in_range(v->op->options.conv.dilation_w, 1, MAX_SIZE);
}

static bool conv_window(const struct view *v)
{
    const struct nuc_lt_tensor *w = weights(v);
    int64_t channels = (dim(data(v), 3) + NUM_MACS - 1) / NUM_MACS * NUM_MACS;

    return dim(w, 1) * dim(w, 2) * channels <= MAX_WINDOW;
}

static bool whole_groups(const struct view *v)
{
    int64_t per_group = dim(weights(v), 3), in = dim(data(v), 3), out = dim(v->out, 3);

    return per_group > 0 && in % per_group == 0 && out % (in / per_group) == 0 && dim(weights(v), 0) == out;
}

static bool channel_each(const struct view *v)
{
    return dim(weights(v), 0) == 1 && dim(data(v), 3) == dim(v->out, 3) && dim(weights(v), 3) == dim(v->out, 3) &&
           v->op->options.conv.depth_multiplier == 1;
}

static bool transposed_stride(const struct view *v)
{
    const struct nuc_lt_tensor *w = weights(v);
    int32_t h = v->op->options.conv.stride_h, s = v->op->options.conv.stride_w;

    return in_range(h, 1, MAX_TRANSPOSED_STRIDE) && in_range(s, 1, MAX_TRANSPOSED_STRIDE) && h <= dim(w, 1) &&
           s <= dim(w, 2);
}

/* One group, and not one channel to one channel, which the reference takes for depthwise. */
static bool transposed_channels(const struct view *v)
{
    const struct nuc_lt_tensor *w = weights(v);
    int64_t in = dim(data(v), 3), out = dim(v->out, 3);

    return dim(w, 0) == out && dim(w, 3) == in && !(in == 1 && out == 1);
}

/* The declared shape is that of VALID padding and of nothing else. */
static bool transposed_shape(const struct view *v)
{
    const struct nuc_lt_tensor *x = data(v), *w = weights(v);
    int64_t list[NUC_MAX_RANK];

    if (integers(v->in[0], NUC_MAX_RANK, list) != 4)
        return false;
    for (uint32_t d = 0; d < 4; d++) {
        if (list[d] != dim(v->out, d))
            return false;
    }
    for (uint32_t d = 1; d < 3; d++) {
        int64_t stride = d == 1 ? v->op->options.conv.stride_h : v->op->options.conv.stride_w;
        int64_t least = (dim(x, d) - 1) * stride + dim(w, d);
        /* output_padding is below the stride */
        if (!in_range(list[d], least, least + stride - 1))
            return false;
    }
    return true;
}

static bool rank_2(const struct view *v)
{
    return v->in[0]->rank == 2 && weights(v)->rank == 2 && v->out->rank == 2 &&
           v->op->options.fully_connected.weights_format == 0;
}

static bool two_operands_of_rank_3(const struct view *v)
{
    return v->in[0]->rank == 3 && v->in[1]->rank == 3 && v->out->rank == 3 && v->op->inputs[0] != v->op->inputs[1] &&
           dim(v->in[0], 0) == dim(v->in[1], 0);
}

static bool softmax_beta(const struct view *v)
{
    float one = 1.0f;

    return memcmp(&v->op->options.softmax.beta, &one, sizeof one) == 0;
}

static bool softmax_classes(const struct view *v)
{
    return v->in[0]->rank > 0 && dim(v->in[0], v->in[0]->rank - 1) <= MAX_CLASSES;
}

static bool softmax_rows(const struct view *v)
{
    int64_t classes = dim(v->in[0], v->in[0]->rank - 1), all = nuc_lt_elements(v->in[0]);

    return classes > 0 && all / classes <= MAX_SOFTMAX_ROWS && all <= MAX_SOFTMAX;
}

static bool reshaped_rank(const struct view *v)
{
    return v->out->rank <= MAX_RESHAPED_RANK && nuc_lt_elements(v->in[0]) == nuc_lt_elements(v->out);
}

static bool is_factor(int64_t out, int64_t in)
{
    return in > 0 && (out == in || out == 2 * in || out == 4 * in || out == 8 * in);
}

static bool resize_factor(const struct view *v)
{
    for (uint32_t d = 1; d < 3; d++) {
        int64_t in = dim(v->in[0], d), out = dim(v->out, d);
        bool corners = v->op->options.resize.align_corners;
        if (corners ? in == 1 || !is_factor(out - 1, in - 1) : !is_factor(out, in))
            return false;
    }
    return true;
}

static bool bilinear_centers(const struct view *v)
{
    return v->op->options.resize.align_corners != v->op->options.resize.half_pixel_centers;
}

static bool nearest_corners(const struct view *v)
{
    return !v->op->options.resize.align_corners && !v->op->options.resize.half_pixel_centers;
}

static bool reflects(const struct view *v)
{
    return v->op->options.mirror_pad.mode == 0;
}

static bool static_list(const struct view *v)
{
    int64_t list[2 * NUC_MAX_RANK];

    return integers(v->in[1], 2 * NUC_MAX_RANK, list) != UINT32_MAX;
}

/* Amounts that are none below 0; the value of PADV2 is a constant in the input's type. */
static bool pads(const struct view *v)
{
    int64_t list[2 * NUC_MAX_RANK];
    uint32_t n = integers(v->in[1], 2 * NUC_MAX_RANK, list);

    if (n != 2 * v->in[0]->rank || (v->in[2] && !(is_static(v->in[2]) && same_params(v->in[2], v->in[0]))))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] < 0)
            return false;
    }
    return true;
}

static bool slices(const struct view *v)
{
    int64_t begin[NUC_MAX_RANK], size[NUC_MAX_RANK];
    uint32_t rank = v->in[0]->rank;

    if (integers(v->in[1], NUC_MAX_RANK, begin) != rank || integers(v->in[2], NUC_MAX_RANK, size) != rank)
        return false;
    for (uint32_t d = 0; d < rank; d++) {
        if (begin[d] < 0 || size[d] < 1 || begin[d] + size[d] > v->in[0]->shape[d])
            return false;
    }
    return true;
}

/* ---- the table ---- */

static const struct rule {
    holds *holds;
    const char *sentence;
} int8 = {int8_data, "input and output are int8 with one scale"},
  int8_two = {int8_both, "inputs and output are int8 with one scale"},
  int8_each = {int8_all, "all inputs and the output are int8 with one scale"},
  equal = {shared, "input and output have the same scale and zero point"},
  equal_all = {shared_all, "all inputs and the output have the same scale and zero point"},
  of_256 = {out_256, "the output has scale 1/256 and zero point -128"},
  of_128 = {out_128, "the output has scale 1/128 and zero point 0"},
  symmetric = {zero_points_0, "both zero points are 0"},
  weight = {static_weights, "weights are constant int8 with zero point 0"},
  weight_scale = {one_weight_scale, "weights have one scale"}, static_b = {static_bias, "the bias is constant int32"},
  with_b = {has_bias, "there is a bias"},
  scale_b = {bias_scale, "the bias has the product of the scales of input and weights and zero point 0"},
  broadcast = {broadcasts, "one input has as many elements as the output"},
  unfused = {not_fused, "there is no fused activation"}, valid = {valid_windows, "padding is VALID"},
  image = {rank_4, "input and output have rank 4"}, kernel_p = {pool_kernel, "the kernel is at most 4096"},
  stride_p = {pool_stride, "the stride is at most 4096"},
  kernel_c = {conv_kernel, "the kernel has rank 4 and is at most 4096"},
  stride_c = {conv_stride, "stride and dilation are at most 4096"},
  window_c = {conv_window, "kernel height * width * input channels rounded up to 8 is at most 65535"},
  groups_c = {whole_groups, "weights are [outputs, height, width, inputs / groups]"},
  depthwise_c = {channel_each, "weights are [1, height, width, channels], multiplier 1"},
  stride_t = {transposed_stride, "the stride is at most 2 and at most the kernel"},
  channels_t = {transposed_channels, "there is one group, not depthwise"},
  shape_t = {transposed_shape, "the output shape is that of VALID padding"},
  matrix = {rank_2, "input, weights and output have rank 2"},
  batches = {two_operands_of_rank_3, "two different inputs have rank 3 and one number of batches"},
  beta = {softmax_beta, "beta is 1"}, classes = {softmax_classes, "there are at most 2040 classes"},
  rows = {softmax_rows, "there are at most 4096 rows and 524288 values"},
  rank = {reshaped_rank, "the output's rank is below 8"},
  factor = {resize_factor, "height and width grow by 1, 2, 4 or 8"},
  centers = {bilinear_centers, "pixel centers are halves unless corners are aligned"},
  corners = {nearest_corners, "neither corners nor centers are aligned"}, mirror = {reflects, "the mode is REFLECT"},
  list = {static_list, "the list of operand 1 is constant"},
  padding = {pads, "paddings are constant and not negative, the value is a constant with the input's quantization"},
  slice = {slices, "begin and size are constants inside the input"};

#define MAX_RULES 14

/* Every operator that the converter takes, and what must hold for it. */
static const struct row {
    int32_t code;
    const struct rule *rules[MAX_RULES];
} table[] = {
    {NUC_LT_ABS, {&int8}},
    {NUC_LT_ADD, {&int8_two, &broadcast, &unfused}},
    {NUC_LT_AVERAGE_POOL_2D, {&int8, &image, &equal, &valid, &kernel_p, &stride_p, &unfused}},
    {NUC_LT_BATCH_MATMUL, {&int8_two, &batches, &symmetric}},
    {NUC_LT_CONCATENATION, {&int8_each, &equal_all, &unfused}},
    {NUC_LT_CONV_2D,
     {&int8, &image, &weight, &with_b, &static_b, &scale_b, &valid, &kernel_c, &stride_c, &window_c, &groups_c,
      &unfused}},
    {NUC_LT_DEPTHWISE_CONV_2D,
     {&int8, &image, &weight, &with_b, &static_b, &scale_b, &valid, &kernel_c, &stride_c, &window_c, &depthwise_c,
      &unfused}},
    {NUC_LT_EXP, {&int8}},
    {NUC_LT_FULLY_CONNECTED, {&int8, &matrix, &weight, &weight_scale, &static_b, &scale_b, &unfused}},
    {NUC_LT_HARD_SWISH, {&int8}},
    {NUC_LT_LEAKY_RELU, {&int8}},
    {NUC_LT_LOG, {&int8}},
    {NUC_LT_LOGISTIC, {&int8, &of_256}},
    {NUC_LT_MAXIMUM, {&int8_two, &broadcast, &equal_all}},
    {NUC_LT_MAX_POOL_2D, {&int8, &image, &equal, &valid, &stride_p, &unfused}},
    {NUC_LT_MEAN, {&int8, &equal, &list}},
    {NUC_LT_MINIMUM, {&int8_two, &broadcast, &equal_all}},
    {NUC_LT_MIRROR_PAD, {&int8, &equal, &mirror, &padding}},
    {NUC_LT_MUL, {&int8_two, &broadcast, &unfused}},
    {NUC_LT_PAD, {&int8, &equal, &padding}},
    {NUC_LT_PADV2, {&int8, &equal, &padding}},
    {NUC_LT_PRELU, {&int8_two, &broadcast}},
    {NUC_LT_REDUCE_MAX, {&int8, &equal, &list}},
    {NUC_LT_REDUCE_MIN, {&int8, &equal, &list}},
    {NUC_LT_RELU, {&int8}},
    {NUC_LT_RELU6, {&int8}},
    {NUC_LT_RELU_0_TO_1, {&int8}},
    {NUC_LT_RELU_N1_TO_1, {&int8}},
    {NUC_LT_RESHAPE, {&equal, &rank}},
    {NUC_LT_RESIZE_BILINEAR, {&int8, &image, &equal, &list, &factor, &centers}},
    {NUC_LT_RESIZE_NEAREST_NEIGHBOR, {&int8, &image, &equal, &list, &factor, &corners}},
    {NUC_LT_RSQRT, {&int8}},
    {NUC_LT_SLICE, {&int8, &equal, &slice}},
    {NUC_LT_SOFTMAX, {&int8, &of_256, &beta, &classes, &rows}},
    {NUC_LT_SUB, {&int8_two, &broadcast, &unfused}},
    {NUC_LT_SUM, {&int8, &equal, &list}},
    {NUC_LT_TANH, {&int8, &of_128}},
    {NUC_LT_TRANSPOSE, {&equal, &list}},
    {NUC_LT_TRANSPOSE_CONV,
     {&int8, &image, &weight, &with_b, &static_b, &scale_b, &valid, &kernel_c, &window_c, &stride_t, &channels_t,
      &shape_t, &unfused}},
};

static const struct row *row_of(int32_t code)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].code == code)
            return &table[i];
    }
    return NULL;
}

/* ---- models ---- */

static void broken(const struct nuc_lt_model *m, uint32_t index, const struct view *v, const char *rule,
                   struct rule_report *report)
{
    printf("%s: operator %u (%s", m->file, index, nuc_lt_code_name(m->cx, v->op->code));
    for (uint32_t i = 0; i < 4 && v->in[i]; i++) {
        printf("%s", i == 0 ? " " : ", ");
        for (uint32_t d = 0; d < v->in[i]->rank; d++)
            printf("%s%d", d == 0 ? "" : "x", v->in[i]->shape[d]);
    }
    printf(") breaks: %s\n", rule);
    report->broken++;
}

static void check_op(const struct nuc_lt_model *m, uint32_t index, struct rule_report *report)
{
    const struct nuc_lt_subgraph *s = &m->subgraphs[0];
    const struct nuc_lt_op *op = &s->ops[index];
    struct view v = {.s = s, .op = op, .out = op->n_outputs > 0 ? &s->tensors[op->outputs[0]] : NULL};
    const struct row *row = row_of(op->code);

    report->operators++;
    for (uint32_t i = 0; i < op->n_inputs && i < 4; i++)
        v.in[i] = op->inputs[i] >= 0 ? &s->tensors[op->inputs[i]] : NULL;
    if (!row || op->n_outputs != 1 || !v.in[0]) {
        broken(m, index, &v, "the operator is one that the converter takes", report);
        return;
    }
    for (int i = 0; i < MAX_RULES && row->rules[i]; i++) {
        if (!row->rules[i]->holds(&v)) {
            /* Rules after it may read what it asks for. */
            broken(m, index, &v, row->rules[i]->sentence, report);
            return;
        }
    }
}

/* Every output is computed in the model, and every size is known. */
static void check_boundary(const struct nuc_lt_model *m, struct rule_report *report)
{
    const struct nuc_lt_subgraph *s = &m->subgraphs[0];
    struct nuc_lt_uses uses = nuc_lt_uses(m->cx, s);

    for (uint32_t i = 0; i < s->n_outputs; i++) {
        if (uses.producer[s->outputs[i]] < 0) {
            printf("%s: output %u breaks: outputs are computed by operators\n", m->file, i);
            report->broken++;
        }
    }
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        if (nuc_lt_elements(&s->tensors[s->inputs[i]]) < 1) {
            printf("%s: input %u breaks: sizes are positive\n", m->file, i);
            report->broken++;
        }
    }
}

void rules_check_model(const struct nuc_lt_model *m, struct rule_report *report)
{
    report->models++;
    if (m->n_subgraphs != 1) {
        printf("%s: breaks: there is one subgraph\n", m->file);
        report->broken++;
        return;
    }
    check_boundary(m, report);
    for (uint32_t i = 0; i < m->subgraphs[0].n_ops; i++)
        check_op(m, i, report);
}

struct file {
    const char *path;
    struct rule_report *report;
};

static void check_file(struct nuc_context *cx, void *arg)
{
    const struct file *f = arg;

    rules_check_model(nuc_lt_read(cx, f->path, nuc_read_file(cx, f->path)), f->report);
}

bool rules_check_file(const char *path, struct rule_report *report)
{
    struct nuc_context *cx = nuc_context_new(NULL);
    struct file f = {path, report};

    if (!cx)
        return false;
    bool read = nuc_try(cx, check_file, &f) == NUC_OK;
    if (!read)
        printf("%s\n", cx->message);
    nuc_context_free(cx);
    return read;
}
