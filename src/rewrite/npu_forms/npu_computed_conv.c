/*
 * Convolutions whose weight is computed, as a product of two activations and operators that only move: with n images,
 * or one for each group, of I channels, O results and K taps of the kernel
 *
 *   windows first    [n, results, I K] of the image times [n, I K, O]
 *   products first   [n, pixels, I] of the image times [n, I, O K], the taps of a result summed up in place
 *
 * Sums of taps are a convolution with a kernel of a single one for each tap; windows are either that, or parts of the
 * image one behind the other, which takes a copy for each row and column of the kernel.
 */
#include "rewrite/npu_forms/npu_forms.h"

#include <string.h>

#include "ir/conv_args.h"
#include "npu/support/estimate.h"

struct computed {
    const struct nuc_support *s;
    struct nuc_graph *g;
    const struct nuc_conv_args *args;
    struct nuc_node *node, *x, *weight;
    int64_t batch, groups, images;              /* of the input; images: groups, or else the batch */
    int64_t inputs, outputs;                    /* channels of a group */
    int64_t taps, pixels, results;              /* of a kernel, of an image and of its results in one channel */
    int64_t kernel[2], padding[2], dilation[2]; /* height, width */
    bool moves;                                 /* a kernel of one pixel that reads each as it is */
    bool steps;                                 /* windows that are not next to each other, or unknown padding */
};

static bool read_computed(const struct nuc_support *s, struct nuc_node *node, struct computed *c)
{
    *c = (struct computed){.s = s,
                           .g = s->g,
                           .args = nuc_conv_args(node->op),
                           .node = node,
                           .x = nuc_arg_node(node, NUC_CONV_INPUT),
                           .weight = nuc_arg_node(node, NUC_CONV_WEIGHT)};
    if (c->args == NULL || c->args->spatial < 1 || c->args->spatial > 2 || !nuc_is_float_value(node) ||
        !nuc_is_float_value(c->x) || !nuc_is_float_value(c->weight) || nuc_is_static(c->weight) ||
        c->x->vals[0].rank != c->args->spatial + 2)
        return false;
    const struct nuc_meta *x = &c->x->vals[0], *w = &c->weight->vals[0];
    int64_t stride[2] = {1, 1};
    uint32_t first = 2 - c->args->spatial;
    c->batch = x->sizes[0];
    c->groups = nuc_integer(node, c->args->groups, 1);
    c->images = c->groups > 1 ? c->groups : c->batch;
    c->inputs = x->sizes[1] / c->groups;
    c->outputs = node->vals[0].sizes[1] / c->groups;
    c->taps = nuc_elements_between(w, 2, w->rank);
    c->pixels = nuc_elements_between(x, 2, x->rank);
    c->results = nuc_elements_between(&node->vals[0], 2, node->vals[0].rank);
    c->kernel[0] = c->dilation[0] = 1;
    for (uint32_t d = first; d < 2; d++)
        c->kernel[d] = w->sizes[w->rank - 2u + d];
    nuc_conv_numbers(node, c->args->stride, c->args->spatial, 1, stride + first);
    nuc_conv_numbers(node, c->args->dilation, c->args->spatial, 1, c->dilation + first);
    if (!c->args->named_padding)
        nuc_conv_numbers(node, c->args->padding, c->args->spatial, 0, c->padding + first);
    c->steps = stride[0] != 1 || stride[1] != 1 || c->args->named_padding;
    c->moves = c->taps == 1 && c->pixels == c->results && !c->steps && c->padding[0] == 0 && c->padding[1] == 0;
    /* Samples in groups have to be taken apart: a view cannot. */
    return c->groups == 1 || c->batch == 1;
}

/* ---- cycles ---- */

static uint64_t array_cycles(const struct nuc_target *t, int64_t rows, int64_t columns, int64_t depth)
{
    return nuc_estimate_product(t, (uint64_t)rows, (uint64_t)columns, (uint64_t)depth);
}

/* Weights change their order, and groups become images and come back. */
static uint64_t cycles_of_moves(const struct nuc_target *t, const struct computed *c)
{
    uint64_t cycles = nuc_estimate_move(t, (uint64_t)nuc_elements(&c->weight->vals[0]));

    if (c->groups > 1 && c->inputs * c->groups > 1)
        cycles += nuc_estimate_move(t, (uint64_t)nuc_elements(&c->x->vals[0])) +
                  nuc_estimate_move(t, (uint64_t)nuc_elements(&c->node->vals[0]));
    return cycles;
}

/*
 * What lies between the two steps is in memory as a whole. A kernel of ones has as many weights as the square of its
 * channels, and the channels of each result have to fit.
 */
static bool fits(const struct nuc_target *t, double elements, double channels, double depth)
{
    const uint64_t part = 4;
    const double most_ones = 1 << 19;

    return elements <= (double)(t->memories[0].bytes / part) && channels * channels <= most_ones &&
           depth <= (double)t->max_mac_buffer;
}

/* One copy for each column of the kernel, then one for each row, of an image with its padding. */
static uint64_t cycles_of_parts(const struct nuc_target *t, const struct computed *c)
{
    const int64_t *in = c->x->vals[0].sizes, *out = c->node->vals[0].sizes;
    int64_t rows = in[2] + 2 * c->padding[0], width = out[3], channels = c->images * c->inputs;
    uint64_t cycles = nuc_estimate_move(t, (uint64_t)(channels * rows * (in[3] + 2 * c->padding[1])));

    for (int64_t i = 0; i < c->kernel[1]; i++)
        cycles += nuc_estimate_move(t, (uint64_t)(channels * rows * width));
    for (int64_t i = 0; i < c->kernel[0]; i++)
        cycles += nuc_estimate_move(t, (uint64_t)(channels * c->kernel[1] * out[2] * width));
    return cycles;
}

static uint64_t cycles_of_ones(const struct nuc_target *t, const struct computed *c)
{
    const struct nuc_npu_work work = {
        .array = nuc_npu_times(nuc_npu_times((uint64_t)(c->images * c->results * c->taps),
                                             nuc_npu_round_up((uint64_t)c->inputs, t->npu->num_macs)),
                               nuc_npu_round_up((uint64_t)(c->inputs * c->taps), t->npu->pipelines)),
        .bytes = (uint64_t)(c->images * c->inputs * (c->results * c->taps + c->pixels) +
                            c->inputs * c->inputs * c->taps * c->taps),
    };

    return nuc_npu_cycles(t->npu, &work);
}

static bool are_parts(const struct nuc_target *t, const struct computed *c)
{
    return c->args->spatial == 2 && !c->steps && cycles_of_parts(t, c) < cycles_of_ones(t, c);
}

static uint64_t cycles_of_windows(const struct nuc_target *t, const struct computed *c)
{
    double elements = (double)c->images * (double)c->results * (double)(c->inputs * c->taps);
    bool parts = are_parts(t, c), ones = !parts && !c->moves;

    if (c->args->transposed || !fits(t, elements, ones ? (double)(c->inputs * c->taps) : 0,
                                     ones ? (double)c->taps * (double)(c->inputs + t->num_macs) : 0))
        return UINT64_MAX;
    uint64_t cycles = array_cycles(t, c->images * c->results, c->outputs, c->inputs * c->taps) + cycles_of_moves(t, c);
    return cycles + (c->moves ? 0 : parts ? cycles_of_parts(t, c) : cycles_of_ones(t, c));
}

static uint64_t cycles_of_products(const struct nuc_target *t, const struct computed *c)
{
    double elements = (double)c->images * (double)c->pixels * (double)(c->outputs * c->taps);
    int64_t visited = c->args->transposed ? c->pixels : c->results;

    if (!fits(t, elements, (double)(c->outputs * c->taps),
              (double)c->taps * (double)(c->outputs * c->taps + t->num_macs)))
        return UINT64_MAX;
    return array_cycles(t, c->images * c->pixels, c->outputs * c->taps, c->inputs) + cycles_of_moves(t, c) +
           array_cycles(t, c->images * visited, c->outputs, c->outputs * c->taps * c->taps);
}

uint64_t nuc_computed_conv_cycles(const struct nuc_support *s, struct nuc_node *node)
{
    struct computed c;

    if (!read_computed(s, node, &c))
        return UINT64_MAX;
    uint64_t windows = cycles_of_windows(s->target, &c), products = cycles_of_products(s->target, &c);
    return windows < products ? windows : products;
}

/*
 * What an operator on the CPU beside the NPU, or one of the NPU beside the CPU, costs more than one among its own: its
 * images lie in another order there.
 */
static double boundary_cycles(const struct nuc_support *s, const struct computed *c, bool on_npu)
{
    const struct nuc_costs *k = &s->target->costs;
    bool is_last = c->node->n_users == 1 && c->node->users[0] == nuc_output_node(s->g);
    const struct {
        const struct nuc_node *value;
        bool outside;
    } sides[] = {{c->x, nuc_is_placeholder(c->x)}, {c->weight, nuc_is_placeholder(c->weight)}, {c->node, is_last}};
    double cycles = k->npu_call;

    for (int i = 0; i < 3; i++) {
        int64_t values = nuc_elements(&sides[i].value->vals[0]);
        if (sides[i].outside == on_npu)
            cycles += (double)nuc_cpu_cycles(&k->int8, (double)values, k->int8.element);
        if (!on_npu && !sides[i].outside)
            cycles += (double)nuc_estimate_move(s->target, (uint64_t)values);
    }
    return cycles;
}

static bool gains(const struct nuc_support *s, const struct computed *c, uint64_t npu)
{
    const struct nuc_meta *visited = c->args->transposed ? &c->x->vals[0] : &c->node->vals[0];
    double of_each = (double)c->taps * (double)(c->args->transposed ? c->outputs : c->inputs);
    const struct nuc_kernel_costs *real = &s->target->costs.real; /* the CPU has no int8 kernel for such a weight */
    double cpu = (double)nuc_cpu_cycles(real, (double)nuc_elements(visited) * of_each, real->conv_mac);

    return npu != UINT64_MAX && (double)npu + boundary_cycles(s, c, true) < cpu + boundary_cycles(s, c, false);
}

/* Images, and a bias that can be added. */
static bool is_plain(const struct computed *c)
{
    const struct nuc_node *bias = nuc_arg_node(c->node, NUC_CONV_BIAS);

    return c->args->spatial == 2 && (bias == NULL || nuc_is_static(bias));
}

/* ---- building ---- */

/* [images, I, H, W] */
static struct nuc_node *insert_images(const struct computed *c)
{
    struct nuc_node *x = nuc_operand(c->g, c->node, NUC_CONV_INPUT);
    const int64_t *in = x->vals[0].sizes, sizes[] = {c->images, c->inputs, in[2], in[3]};
    struct nuc_node *samples = nuc_op_family(x->op) == NUC_FAMILY_VIEW ? nuc_arg_node(x, NUC_SELF) : NULL;

    /* Samples that are in groups. */
    if (samples != NULL && samples->vals[0].rank == 4 && memcmp(samples->vals[0].sizes, sizes, sizeof sizes) == 0)
        return samples;
    return nuc_insert_reshaped(c->g, c->node, x, sizes, 4);
}

/* The operator over other channels with a constant kernel. */
static struct nuc_node *insert_like(const struct computed *c, struct nuc_node *x, float *ones, const int64_t weight[4])
{
    struct nuc_node *constant = nuc_insert_floats(c->g, c->node, ones, weight, 4);

    return nuc_emit_conv_like(c->g, c->node, c->node, (struct nuc_node *[]){x, constant, NULL}, 1);
}

/* Channel (c, k) is what tap k of channel c reads. */
static struct nuc_node *windows_by_ones(const struct computed *c, struct nuc_node *x)
{
    const int64_t *w = c->weight->vals[0].sizes, channels = c->inputs * c->taps;
    const int64_t sizes[] = {channels, c->inputs, w[2], w[3]};
    float *ones = nuc_alloc_array(c->g->cx, (size_t)(channels * c->inputs * c->taps), sizeof *ones);

    for (int64_t i = 0; i < channels; i++)
        ones[(i * c->inputs + i / c->taps) * c->taps + i % c->taps] = 1.0f;
    return insert_like(c, x, ones, sizes);
}

/* The weight as a matrix of `columns`, the dimensions of [groups, first, second, taps] in that order before. */
static struct nuc_node *insert_product(const struct computed *c, struct nuc_node *x, const int64_t order[4],
                                       int64_t columns)
{
    int64_t first = c->args->transposed ? c->inputs : c->outputs, second = c->args->transposed ? c->outputs : c->inputs;
    const int64_t apart[] = {c->groups, first, second, c->taps};

    return nuc_built(c->s, c->node, "times_computed_weight",
                     NUC_ARGS(x, c->weight, nuc_ints_arg(apart, 4), nuc_ints_arg(order, 4), columns));
}

static struct nuc_node *insert_bias_behind(const struct computed *c, struct nuc_node *value)
{
    return nuc_built(c->s, c->node, "with_bias_behind", NUC_ARGS(value, nuc_arg_node(c->node, NUC_CONV_BIAS)));
}

static struct nuc_node *windows_first(const struct computed *c, bool parts)
{
    static const int64_t taps_last[] = {0, 2, 3, 1}, taps_first[] = {0, 3, 2, 1};
    struct nuc_node *x = insert_images(c);

    if (!c->moves && parts)
        x = nuc_built(
            c->s, c->node, "windows_by_parts",
            NUC_ARGS(x, nuc_ints_arg(c->kernel, 2), nuc_ints_arg(c->padding, 2), nuc_ints_arg(c->dilation, 2)));
    else if (!c->moves)
        x = windows_by_ones(c, x);
    return insert_bias_behind(c, insert_product(c, x, parts ? taps_first : taps_last, c->outputs));
}

static struct nuc_node *products_first(const struct computed *c)
{
    static const int64_t order[] = {0, 2, 1, 3}, in_order[] = {0, 1, 2, 3};
    const int64_t *w = c->weight->vals[0].sizes, channels = c->outputs * c->taps;
    const int64_t forward[] = {c->outputs, channels, w[2], w[3]}, transposed[] = {channels, c->outputs, w[2], w[3]};
    float *ones = nuc_alloc_array(c->g->cx, (size_t)(c->outputs * channels * c->taps), sizeof *ones);

    /* Channel (o, k) is added to result o by tap k. */
    for (int64_t i = 0; i < channels; i++) {
        int64_t o = i / c->taps, k = i % c->taps, at = c->args->transposed ? i * c->outputs + o : o * channels + i;
        ones[at * c->taps + k] = 1.0f;
    }
    struct nuc_node *x = insert_product(c, insert_images(c), c->args->transposed ? in_order : order, channels);
    return insert_bias_behind(c, insert_like(c, x, ones, c->args->transposed ? transposed : forward));
}

static struct nuc_node *form_computed_conv(const struct nuc_support *s, struct nuc_node *node)
{
    struct computed c;

    if (!read_computed(s, node, &c) || !is_plain(&c))
        return NULL;
    uint64_t windows = cycles_of_windows(s->target, &c), products = cycles_of_products(s->target, &c);
    if (windows <= products && gains(s, &c, windows))
        return windows_first(&c, are_parts(s->target, &c));
    return gains(s, &c, products) ? products_first(&c) : NULL;
}

/* ---- the forms ---- */

const struct nuc_npu_form nuc_computed_conv_forms[] = {
    /* Convolutions whose weight is computed: windows of the image, or of the taps, and a product of two activations. */
    {NUC_OPS(NUC_OP_CONV2D, NUC_OP_CONV2D_PADDING, NUC_OP_CONV_TRANSPOSE2D), form_computed_conv},
    {.form = NULL},
};
