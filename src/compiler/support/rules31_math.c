/* Rule set sdk-3.1: elementwise arithmetic, matrix products, softmax, means, activations. */
#include <math.h>

#include "compiler/support/rules31.h"

#define MAX_INPUTS 4

/* ---- add, sub, mul ---- */

static bool inputs_have_one_shape(const struct nuc_rule_query *q)
{
    const struct nuc_node *inputs[MAX_INPUTS];
    uint32_t count = nuc_distinct_inputs(q->node, inputs, MAX_INPUTS);

    for (uint32_t i = 1; i < count && i < MAX_INPUTS; i++) {
        if (inputs[i]->n_vals == 0 || inputs[0]->n_vals == 0 ||
            nuc_same_sizes(&inputs[0]->vals[0], &inputs[i]->vals[0]))
            continue;
        return nuc_rule_report(q, nuc_rule_shape_text(q->s, inputs[0]), "%s", nuc_rule_shape_text(q->s, inputs[i]));
    }
    return true;
}

/* The backend of sdk-3.1 looks for alpha where it never is, and leaves it out. */
static bool alpha_is_one(const struct nuc_rule_query *q)
{
    double alpha = nuc_arg_number(q->node, 2, 1.0);

    return q->s->reference_compat || (!(alpha < 1.0) && !(alpha > 1.0)) || nuc_rule_report(q, "1", "%g", alpha);
}

#define RULE_ONE_SHAPE                                                                                                 \
    {                                                                                                                  \
        "the inputs have one shape", inputs_have_one_shape, 0                                                          \
    }

/* clang-format off */
const struct nuc_support_rule nuc_same_shape31[] = {
    {"alpha is 1", alpha_is_one, 0},
    RULE_ONE_SHAPE,
    {NULL, NULL, 0},
};
/* clang-format on */

/* Any one dimension will do, whichever it is. */
static bool mul_dimension(const struct nuc_rule_query *q)
{
    const struct nuc_meta *out = &q->node->vals[0];
    bool ones = true;

    for (uint32_t i = 0; i < out->rank; i++) {
        if (out->sizes[i] % q->s->target->num_macs == 0)
            return true;
        ones = ones && out->sizes[i] == 1;
    }
    if (ones)
        return true;
    int64_t last = out->sizes[out->rank - 1];
    nuc_rule_advise(q, "pad the last dimension %lld to %lld", (long long)last,
                    (long long)nuc_multiple_above(last, q->s->target->num_macs));
    return nuc_rule_report(q, nuc_format(q->s->g->cx, "one multiple of %u", q->s->target->num_macs), "%s",
                           nuc_rule_shape_text(q->s, q->node));
}

const struct nuc_support_rule nuc_mul31_target[] = {
    RULE_ONE_SHAPE,
    {"some dimension is a multiple of the dot product's length, or all are 1", mul_dimension, 0},
    {NULL, NULL, 0},
};

/* ---- matrix products: addmm bias, input, weight; mm and bmm input, weight ---- */

/* param: position of the last input */
static bool distinct_input_count(const struct nuc_rule_query *q)
{
    const struct nuc_node *inputs[MAX_INPUTS];
    uint32_t count = nuc_distinct_inputs(q->node, inputs, MAX_INPUTS), wanted = q->param + 1;

    return count == wanted || nuc_rule_report(q, nuc_format(q->s->g->cx, "%u", wanted), "%u", count);
}

/* param: position of the weight */
static bool weight_is_matrix(const struct nuc_rule_query *q)
{
    uint32_t rank = nuc_input_meta(q->node, q->param)->rank;

    return rank == 2 || nuc_rule_report(q, "2", "%u", rank);
}

/*
 * param: position of the weight. The converter of sdk-3.1 takes any; nucleon's own has kernels for parameters only.
 * Here the permutation of a weight belongs to the product's cluster.
 */
static bool linear_weight_is_static(const struct nuc_rule_query *q)
{
    const struct nuc_node *weight = nuc_arg_node(q->node, q->param);

    if (weight != NULL && weight->op == NUC_OP_EDGE_PERMUTE)
        weight = nuc_arg_node(weight, 0);
    return q->s->reference_compat || nuc_is_static_weight(weight) ||
           nuc_rule_report(q, "a parameter", "%s", weight != NULL ? weight->name : "none");
}

const struct nuc_support_rule nuc_addmm31_ir[] = {
    {"bias, input and weight are three different tensors", distinct_input_count, 2},
    {"the weight has 2 dimensions", weight_is_matrix, 2},
    {"the weight is a parameter", linear_weight_is_static, 2},
    {NULL, NULL, 0},
};

const struct nuc_support_rule nuc_mm31_ir[] = {
    {"input and weight are two different tensors", distinct_input_count, 1},
    {"the weight has 2 dimensions", weight_is_matrix, 1},
    {"the weight is a parameter", linear_weight_is_static, 1},
    {NULL, NULL, 0},
};

static bool bmm_ranks(const struct nuc_rule_query *q)
{
    uint32_t a = nuc_input_meta(q->node, 0)->rank, b = nuc_input_meta(q->node, 1)->rank;

    return (a == 3 && b == 3) || nuc_rule_report(q, "3 and 3", "%u and %u", a, b);
}

const struct nuc_support_rule nuc_bmm31_ir[] = {
    {"the factors are two different tensors", distinct_input_count, 1},
    {"both factors have 3 dimensions", bmm_ranks, 0},
    {NULL, NULL, 0},
};

static bool bmm_formats(const struct nuc_rule_query *q)
{
    bool a = nuc_is_channels_first(nuc_arg_node(q->node, 0)), b = nuc_is_channels_first(nuc_arg_node(q->node, 1));

    return !a || b || nuc_rule_report(q, "", "only the first one is");
}

static bool bmm_result(const struct nuc_rule_query *q)
{
    struct shape31 shape = nuc_rule_stored_shape(q->node);

    return !nuc_is_channels_first(q->node) ||
           nuc_can_transpose31(q->s->target, &shape, nuc_to_channels_last(shape.rank)) ||
           nuc_rule_report(q, "", "%s", nuc_rule_shape_text(q->s, q->node));
}

static bool bmm_sizes(const struct nuc_rule_query *q)
{
    for (uint32_t i = 0; i < 2; i++) {
        const struct nuc_meta *m = nuc_input_meta(q->node, i);
        for (uint32_t k = 1; k < 3; k++) {
            if (m->sizes[k] % q->s->target->num_macs != 0)
                return nuc_refuse_multiple(q, k == 1 ? "rows" : "columns", m->sizes[k]);
        }
    }
    return true;
}

const struct nuc_support_rule nuc_bmm31_target[] = {
    {"when the first factor is channels-first data, the second one is too", bmm_formats, 0},
    {"channels-first results can be transposed", bmm_result, 0},
    {"rows and columns of both factors are multiples of the dot product's length", bmm_sizes, 0},
    {NULL, NULL, 0},
};

/* ---- softmax: self, dim, half_to_float ---- */

static uint32_t channels_dim(const struct nuc_node *node)
{
    uint32_t rank = node->vals[0].rank;

    return nuc_is_channels_first(node) ? 1 : rank > 0 ? rank - 1 : 0;
}

static bool softmax_dim(const struct nuc_rule_query *q)
{
    int64_t dim = nuc_positive_dim(q->node, (int64_t)nuc_arg_number(q->node, 1, 0)), c = channels_dim(q->node);

    return dim == c || nuc_rule_report(q, nuc_format(q->s->g->cx, "%lld", (long long)c), "%lld", (long long)dim);
}

static bool softmax_not_half(const struct nuc_rule_query *q)
{
    return !nuc_arg_flag(q->node, 2) || nuc_rule_report(q, "false", "true");
}

const struct nuc_support_rule nuc_softmax31_ir[] = {
    {"the dimension is the channels: 1 for channels-first data, else the last", softmax_dim, 0},
    {"half_to_float is false", softmax_not_half, 0},
    {NULL, NULL, 0},
};

/* Product of all dimensions but the channels; saturates. */
static int64_t softmax_row_count(const struct nuc_node *node)
{
    struct shape31 shape = nuc_rule_stored_shape(node);
    int64_t rows = 1;

    for (uint32_t i = 0; i + 1 < shape.rank; i++) {
        if (__builtin_mul_overflow(rows, shape.sizes[i], &rows))
            return INT64_MAX;
    }
    return rows;
}

static bool softmax_rank(const struct nuc_rule_query *q)
{
    return q->node->vals[0].rank > 1 || nuc_rule_report(q, "at least 2", "%u", q->node->vals[0].rank);
}

static bool softmax_multiple(const struct nuc_rule_query *q)
{
    int64_t channels = nuc_rule_channels_of(q->node);

    return channels % q->s->target->num_macs == 0 || nuc_refuse_multiple(q, "channels", channels);
}

static bool softmax_channels(const struct nuc_rule_query *q)
{
    int64_t channels = nuc_rule_channels_of(q->node), limit = q->s->target->max_softmax_channels_sdk31;

    return channels <= limit ||
           nuc_rule_report(q, nuc_format(q->s->g->cx, "%lld", (long long)limit), "%lld", (long long)channels);
}

static bool softmax_rows(const struct nuc_rule_query *q)
{
    int64_t rows = softmax_row_count(q->node), limit = q->s->target->max_softmax_rows;

    return rows <= limit ||
           nuc_rule_report(q, nuc_format(q->s->g->cx, "%lld", (long long)limit), "%lld", (long long)rows);
}

static bool softmax_elements(const struct nuc_rule_query *q)
{
    int64_t channels = nuc_rule_channels_of(q->node), rows = softmax_row_count(q->node), product;
    int64_t limit = q->s->target->max_softmax_elements;

    return (!__builtin_mul_overflow(channels, rows, &product) && product <= limit) ||
           nuc_rule_report(q, nuc_format(q->s->g->cx, "%lld", (long long)limit), "%lld x %lld", (long long)channels,
                           (long long)rows);
}

const struct nuc_support_rule nuc_softmax31_target[] = {
    {"there are at least 2 dimensions", softmax_rank, 0},
    {"the channels are a multiple of the dot product's length", softmax_multiple, 0},
    {"the channels fit the hardware", softmax_channels, 0},
    {"the product of the other dimensions fits the hardware", softmax_rows, 0},
    {"the number of elements fits the hardware", softmax_elements, 0},
    {NULL, NULL, 0},
};

/* ---- mean: self, dim, keepdim ---- */

static bool mean_rank(const struct nuc_rule_query *q)
{
    uint32_t rank = nuc_input_meta(q->node, 0)->rank;

    return rank == 4 || nuc_rule_report(q, "4", "%u", rank);
}

static bool mean_keeps(const struct nuc_rule_query *q)
{
    return nuc_arg_flag(q->node, 2) || nuc_rule_report(q, "true", "false");
}

static bool mean_channels(const struct nuc_rule_query *q)
{
    int64_t channels = nuc_rule_channels_of(q->node);

    return channels % q->s->target->num_macs == 0 || nuc_refuse_multiple(q, "channels", channels);
}

/* Height and width, in either order, where the format has them. */
static bool mean_dims(const struct nuc_rule_query *q)
{
    const struct nuc_arg *dims = &q->node->args[1];
    int64_t first = nuc_is_channels_first(q->node) ? 2 : 1;
    const char *limit = first == 2 ? "2 and 3" : "1 and 2";

    if (dims->kind != NUC_ARG_INTS || dims->count != 2)
        return nuc_rule_report(q, limit, "%u dimensions", dims->kind == NUC_ARG_INTS ? dims->count : 0);
    int64_t a = nuc_positive_dim(nuc_arg_node(q->node, 0), dims->u.ints[0]);
    int64_t b = nuc_positive_dim(nuc_arg_node(q->node, 0), dims->u.ints[1]);
    return (a == first && b == first + 1) || (b == first && a == first + 1) ||
           nuc_rule_report(q, limit, "%lld and %lld", (long long)a, (long long)b);
}

const struct nuc_support_rule nuc_mean31_target[] = {
    {"the input has 4 dimensions", mean_rank, 0},
    {"keepdim is true", mean_keeps, 0},
    {"the channels are a multiple of the dot product's length", mean_channels, 0},
    {"the mean is taken over height and width", mean_dims, 0},
    {NULL, NULL, 0},
};

/* ---- prelu: self, weight ---- */

static bool prelu_rank(const struct nuc_rule_query *q)
{
    return q->node->vals[0].rank == 4 || nuc_rule_report(q, "4", "%u", q->node->vals[0].rank);
}

static bool prelu_channels(const struct nuc_rule_query *q)
{
    int64_t channels = nuc_rule_channels_of(q->node);

    return channels % q->s->target->num_macs == 0 || nuc_refuse_multiple(q, "channels", channels);
}

static bool prelu_pixels(const struct nuc_rule_query *q)
{
    struct shape31 shape = nuc_rule_stored_shape(q->node);
    int64_t pixels, limit = q->s->target->max_prelu_pixels_sdk31;

    return (!__builtin_mul_overflow(shape.sizes[1], shape.sizes[2], &pixels) && pixels <= limit) ||
           nuc_rule_report(q, nuc_format(q->s->g->cx, "%lld", (long long)limit), "%lld x %lld",
                           (long long)shape.sizes[1], (long long)shape.sizes[2]);
}

const struct nuc_support_rule nuc_prelu31_target[] = {
    {"the result has 4 dimensions", prelu_rank, 0},
    {"the channels are a multiple of the dot product's length", prelu_channels, 0},
    {"height * width fits the hardware", prelu_pixels, 0},
    {NULL, NULL, 0},
};

/* ---- clamp and hardtanh: self, min, max; relu; neg ---- */

static bool equals(double a, double b)
{
    return !(a < b) && !(a > b);
}

static bool is_relu_family(double min, double max)
{
    if (equals(max, 1.0))
        return equals(min, -1.0) || equals(min, 0.0);
    return equals(min, 0.0) && (equals(max, 6.0) || max >= HUGE_VAL);
}

static bool refuse_bounds(const struct nuc_rule_query *q, double min, double max)
{
    return nuc_rule_report(q, "-1 to 1, 0 to 1, 0 to 6, 0 to inf", "%g to %g", min, max);
}

static bool clamp_bounds(const struct nuc_rule_query *q)
{
    double min = nuc_arg_number(q->node, 1, -HUGE_VAL), max = nuc_arg_number(q->node, 2, HUGE_VAL);

    return is_relu_family(min, max) || refuse_bounds(q, min, max);
}

static bool hardtanh_bounds(const struct nuc_rule_query *q)
{
    double min = nuc_arg_number(q->node, 1, -1.0), max = nuc_arg_number(q->node, 2, 1.0);

    return is_relu_family(min, max) || refuse_bounds(q, min, max);
}

const struct nuc_support_rule nuc_clamp31_target[] = {
    {"the bounds are those of a ReLU", clamp_bounds, 0},
    {NULL, NULL, 0},
};

const struct nuc_support_rule nuc_hardtanh31_target[] = {
    {"the bounds are those of a ReLU", hardtanh_bounds, 0},
    {NULL, NULL, 0},
};

static bool channels_when_alone(const struct nuc_rule_query *q)
{
    int64_t channels = nuc_rule_channels_of(nuc_arg_node(q->node, 0));

    return !nuc_is_alone(q->s, q->node) || channels % q->s->target->num_macs == 0 ||
           nuc_refuse_multiple(q, "channels", channels);
}

/* A bound of 6, or none; written out as infinite it escapes. */
static bool clamp_when_alone(const struct nuc_rule_query *q)
{
    bool open = q->node->args[2].kind == NUC_ARG_NONE;

    if (!equals(nuc_arg_number(q->node, 1, -HUGE_VAL), 0.0) || !(open || equals(nuc_arg_number(q->node, 2, 0.0), 6.0)))
        return true;
    return channels_when_alone(q);
}

static bool hardtanh_when_alone(const struct nuc_rule_query *q)
{
    return equals(nuc_arg_number(q->node, 2, 1.0), 1.0) || channels_when_alone(q);
}

#define RULE_ALONE "alone in its partition the activation has channels in multiples of the dot product's length"

const struct nuc_support_rule nuc_relu31_partition[] = {{RULE_ALONE, channels_when_alone, 0}, {NULL, NULL, 0}};
const struct nuc_support_rule nuc_clamp31_partition[] = {{RULE_ALONE, clamp_when_alone, 0}, {NULL, NULL, 0}};
const struct nuc_support_rule nuc_hardtanh31_partition[] = {{RULE_ALONE, hardtanh_when_alone, 0}, {NULL, NULL, 0}};

static bool neg_quantization(const struct nuc_rule_query *q)
{
    struct quant in;

    return (nuc_input_quant(q->node, 0, &in) && !in.per_channel) ||
           nuc_rule_report(q, "one scale", "none, or one a channel");
}

const struct nuc_support_rule nuc_neg31_ir[] = {
    {"the input has one scale and zero point", neg_quantization, 0},
    {NULL, NULL, 0},
};
