/*
 * The sum of two convolutions of one value, one of which may be the value itself or its batch norm, is one convolution
 * with the sum of their kernels: blocks that are trained with parallel branches (RepVGG, MobileOne, RepViT), of which
 * the smaller kernels lie within the largest. Branches of other widths than the sum, as the user has decided, stay.
 *
 * One kernel has one step for each channel. Beside a weight of 1 for the value itself many small weights are rounded
 * more than alone; on the other hand nobody rounds what the branches make. Weights of the same size are compared by
 * that, for inputs with a power of 1: a kernel of n weights not 0 and a step of s errs by n s^2 / 12, and results of
 * int8, which reach four deviations, by 1.1e-4 of their power, which is the sum of the squared weights.
 */
#include <math.h>
#include <string.h>

#include "ir/conv_args.h"
#include "ir/op_list.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

enum { MAX_SPATIAL = 3 };

#define INT8_ERROR ((8.0 / 255.0) * (8.0 / 255.0) / 12.0)

/* What is added, as a convolution of the value: weight [channels, inputs of a group, kernel]. */
struct branch {
    struct nuc_node *conv; /* NULL: the value itself or its norm */
    const float *weight, *bias;
    double factor;
    int64_t groups, stride[MAX_SPATIAL], padding[MAX_SPATIAL], dilation[MAX_SPATIAL], kernel[MAX_SPATIAL], taps;
    bool exact; /* the value itself */
};

struct sum {
    struct nuc_node *node, *input;
    uint32_t spatial;
    int64_t channels, inputs;
    struct branch branches[2]; /* the second's kernel lies within the first's */
};

/* What a convolution or batch norm reads that the sum alone reads. */
static struct nuc_node *source(const struct nuc_node *node)
{
    const bool reads = nuc_conv_args(node->op) != NULL || node->op == NUC_OP_BATCH_NORM;

    return reads && node->n_users == 1 ? nuc_arg_node(node, NUC_CONV_INPUT) : NULL;
}

static bool read_conv(struct nuc_graph *g, const struct sum *s, struct nuc_node *node, struct branch *b)
{
    const struct nuc_conv_args *args = nuc_conv_args(node->op);
    const struct nuc_node *weight = nuc_arg_node(node, NUC_CONV_WEIGHT), *bias = nuc_arg_node(node, NUC_CONV_BIAS);

    if (args == NULL || args->transposed || args->named_padding || args->spatial != s->spatial ||
        !nuc_is_static_float(weight) || weight->vals[0].rank != 2 + s->spatial ||
        (bias != NULL && !nuc_is_static_float(bias)))
        return false;
    b->conv = node;
    b->weight = nuc_const_contiguous(g, weight);
    b->bias = bias != NULL ? nuc_const_contiguous(g, bias) : NULL;
    b->groups = nuc_integer(node, args->groups, 1);
    nuc_conv_numbers(node, args->stride, s->spatial, 1, b->stride);
    nuc_conv_numbers(node, args->padding, s->spatial, 0, b->padding);
    nuc_conv_numbers(node, args->dilation, s->spatial, 1, b->dilation);
    memcpy(b->kernel, weight->vals[0].sizes + 2, s->spatial * sizeof *b->kernel);
    return true;
}

static bool read_branch(struct nuc_graph *g, const struct sum *s, struct nuc_node *node, double factor,
                        struct branch *b)
{
    *b = (struct branch){
        .factor = factor, .groups = s->channels, .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .kernel = {1, 1, 1}};
    if (!nuc_same_sizes(&node->vals[0], &s->node->vals[0]) ||
        (node != s->input && node->source->width != s->node->source->width))
        return false;
    if (node == s->input) {
        float *ones = nuc_alloc_array(g->cx, (size_t)s->channels, sizeof *ones);
        for (int64_t c = 0; c < s->channels; c++)
            ones[c] = 1;
        b->weight = ones;
        b->exact = true;
    } else if (node->op == NUC_OP_BATCH_NORM) {
        float *scales, *shifts;
        if (!nuc_batch_norm_factors(g, node, &scales, &shifts))
            return false;
        b->weight = scales;
        b->bias = shifts;
    } else if (!read_conv(g, s, node, b)) {
        return false;
    }
    b->taps = 1;
    for (uint32_t d = 0; d < s->spatial; d++)
        b->taps *= b->kernel[d];
    return b->groups > 0 && s->channels % b->groups == 0 && s->inputs % b->groups == 0;
}

/* The place in the kernel of `large` of a tap of `small`; negative: it has none. */
static int64_t place_of(const struct sum *s, int64_t tap)
{
    const struct branch *large = &s->branches[0], *small = &s->branches[1];
    int64_t place = 0, width = 1;

    for (uint32_t d = s->spatial; d-- > 0; tap /= small->kernel[d], width *= large->kernel[d]) {
        int64_t offset = tap % small->kernel[d] * small->dilation[d] - small->padding[d] + large->padding[d];
        if (offset < 0 || offset % large->dilation[d] != 0 || offset / large->dilation[d] >= large->kernel[d])
            return -1;
        place += offset / large->dilation[d] * width;
    }
    return place;
}

/* Whether one convolution in that many groups has all taps, and no more products than both. */
static bool fits(const struct sum *s, int64_t groups)
{
    const struct branch *large = &s->branches[0], *small = &s->branches[1];

    if (large->conv == NULL || large->groups % groups != 0 || small->groups % groups != 0 ||
        memcmp(large->stride, small->stride, s->spatial * sizeof *large->stride) != 0)
        return false;
    for (int64_t tap = 0; tap < small->taps; tap++) {
        if (place_of(s, tap) < 0)
            return false;
    }
    return s->inputs / groups * large->taps <=
           s->inputs / large->groups * large->taps + s->inputs / small->groups * small->taps;
}

/* The kernel of a channel, [inputs of the merged groups, taps of the larger kernel], grows by that of a branch. */
static void add_kernel(const struct sum *s, const struct branch *b, int64_t channel, int64_t groups, float *sum)
{
    const int64_t inputs = s->inputs / b->groups, taps = s->branches[0].taps;
    const int64_t first =
        channel / (s->channels / b->groups) * inputs - channel / (s->channels / groups) * (s->inputs / groups);

    for (int64_t i = 0; i < inputs; i++) {
        for (int64_t tap = 0; tap < b->taps; tap++) {
            float *at = &sum[(first + i) * taps + (b == &s->branches[0] ? tap : place_of(s, tap))];
            *at += (float)b->factor * b->weight[(channel * inputs + i) * b->taps + tap];
        }
    }
}

/* Of a kernel in int8, and its power. */
static double rounding(const float *kernel, int64_t count, double *power)
{
    double largest = 0, used = 0;

    *power = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)kernel[i]));
        used += kernel[i] < 0 || kernel[i] > 0;
        *power += (double)kernel[i] * (double)kernel[i];
    }
    return used * largest * largest / (127.0 * 127.0 * 12.0);
}

/* The weight of the sum; NULL: int8 would make more of an error of it, by more than results of the sum have anyway. */
static float *merged_weight(struct nuc_graph *g, const struct sum *s, int64_t groups)
{
    const int64_t count = s->inputs / groups * s->branches[0].taps;
    float *weight = nuc_alloc_array(g->cx, (size_t)(s->channels * count) + 1, sizeof *weight);
    double one = 0, two = 0, own = 0, power;

    memset(weight, 0, (size_t)(s->channels * count) * sizeof *weight);
    for (int64_t c = 0; c < s->channels; c++) {
        for (size_t k = 0; k < 2; k++) {
            const struct branch *b = &s->branches[k];
            const int64_t length = s->inputs / b->groups * b->taps;
            add_kernel(s, b, c, groups, weight + c * count);
            const double error = rounding(b->weight + c * length, length, &power);
            two += b->exact ? 0 : (error + INT8_ERROR * power) * b->factor * b->factor;
        }
        one += rounding(weight + c * count, count, &power);
        own += INT8_ERROR * power;
    }
    return one <= two + own ? weight : NULL;
}

static float *merged_bias(struct nuc_graph *g, const struct sum *s)
{
    float *bias = nuc_alloc_array(g->cx, (size_t)s->channels, sizeof *bias);

    for (int64_t c = 0; c < s->channels; c++) {
        double sum = 0;
        for (size_t k = 0; k < 2; k++)
            sum += s->branches[k].bias != NULL ? s->branches[k].factor * (double)s->branches[k].bias[c] : 0;
        bias[c] = (float)sum;
    }
    return bias;
}

static bool read_sum(struct nuc_graph *g, struct nuc_node *node, struct sum *s)
{
    struct nuc_node *terms[] = {nuc_operand(g, node, NUC_SELF), nuc_arg_node(node, NUC_OTHER)};
    const double alpha = nuc_scalar(node, NUC_ARG(ADD, alpha), 1.0), factor = node->op == NUC_OP_SUB ? -alpha : alpha;

    *s = (struct sum){.node = node};
    if (terms[1] == NULL || terms[0] == terms[1])
        return false;
    struct nuc_node *sources[] = {source(terms[0]), source(terms[1])};
    s->input = sources[1] == terms[0] || sources[0] == NULL ? sources[1] : sources[0];
    if (s->input == NULL || (sources[0] != s->input && terms[0] != s->input) ||
        (sources[1] != s->input && terms[1] != s->input))
        return false;
    const struct nuc_meta *in = &s->input->vals[0], *out = &node->vals[0];
    if (in->rank < 3 || in->rank > 2 + MAX_SPATIAL || in->rank != out->rank || in->dtype != NUC_F32 ||
        nuc_elements(in) == 0 || nuc_elements(out) == 0)
        return false;
    s->spatial = in->rank - 2u;
    s->inputs = in->sizes[1];
    s->channels = out->sizes[1];
    struct branch b[2];
    if (!read_branch(g, s, terms[0], 1, &b[0]) || !read_branch(g, s, terms[1], factor, &b[1]))
        return false;
    const bool swapped = b[0].conv == NULL || (b[1].conv != NULL && b[1].taps > b[0].taps);
    s->branches[0] = b[swapped];
    s->branches[1] = b[!swapped];
    return true;
}

static bool merge(struct nuc_graph *g, struct nuc_node *node)
{
    struct sum s;

    if (!read_sum(g, node, &s))
        return false;
    struct branch *large = &s.branches[0];
    const int64_t groups = large->groups < s.branches[1].groups ? large->groups : s.branches[1].groups;
    float *values = fits(&s, groups) ? merged_weight(g, &s, groups) : NULL;
    if (values == NULL)
        return false;
    struct nuc_node *like = nuc_operand(g, large->conv, NUC_CONV_WEIGHT);
    int64_t sizes[2 + MAX_SPATIAL] = {s.channels, s.inputs / groups};
    memcpy(sizes + 2, large->kernel, s.spatial * sizeof *sizes);
    const struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, 2 + s.spatial);
    const struct nuc_meta vector = nuc_meta_make(NUC_F32, sizes, 1);
    struct nuc_node *weight = nuc_take_parameter(g, like, "_merged", &meta, values);
    struct nuc_node *bias = nuc_take_parameter(g, like, "_bias", &vector, merged_bias(g, &s));
    struct nuc_node *operands[] = {s.input, weight, bias};
    nuc_replace_uses(g, node, nuc_emit_conv_like(g, node, large->conv, operands, groups), NULL);
    return true;
}

/* x + 0, with which a loop over branches begins, and what stands for a branch that is not there. */
static bool drop_zeros(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *terms[] = {nuc_operand(g, node, NUC_SELF), nuc_arg_node(node, NUC_OTHER)};
    const bool commutes = node->op == NUC_OP_ADD && nuc_has_plain_alpha(node);

    for (size_t k = 0; k < (commutes ? 2 : 1) && terms[1] != NULL; k++) {
        const struct nuc_meta *m = &terms[k]->vals[0];
        if (nuc_is_static(terms[k]) || m->dtype != node->vals[0].dtype || !nuc_same_sizes(m, &node->vals[0]) ||
            !nuc_is_static_zero(g, terms[!k]))
            continue;
        nuc_replace_uses(g, node, terms[k], NULL);
        return true;
    }
    return false;
}

bool nuc_merge_convs(struct nuc_graph *g)
{
    bool changed = nuc_rewrite_each(g, NUC_OPS(NUC_OP_ADD, NUC_OP_SUB), drop_zeros), merged;

    /* A norm or a factor of each channel behind a sum goes into what it has become, which may be part of another. */
    do {
        merged = nuc_rewrite_each(g, NUC_OPS(NUC_OP_ADD, NUC_OP_SUB), merge);
        if (merged) {
            nuc_fold_batch_norm(g);
            nuc_fold_channel_terms(g);
        }
        changed |= merged;
    } while (merged);
    return changed;
}
