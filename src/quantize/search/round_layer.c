#include "quantize/search/round_layer.h"

#include "ir/args.h"
#include "ir/conv_args.h"
#include "ir/op_list.h"

static bool is_own_constant(const struct nuc_node *node)
{
    return node != NULL && nuc_is_static(node) && node->n_users == 1 && node->n_vals == 1 &&
           node->vals[0].dtype == NUC_F32 && nuc_elements(&node->vals[0]) > 0;
}

static void read_args(struct nuc_product_layer *l, uint32_t input, uint32_t weight, uint32_t bias)
{
    l->input_arg = input;
    l->weight_arg = weight;
    l->bias_arg = bias;
    l->input = nuc_arg_node(l->node, input);
    l->weight = nuc_arg_node(l->node, weight);
    l->bias = nuc_arg_node(l->node, bias);
}

/* ---- convolutions ---- */

/* What "same" leaves over goes to the end. */
static int64_t named_padding(const struct nuc_product_layer *l, uint32_t d)
{
    return l->out_size[d] == l->in_size[d] ? l->dilation[d] * (l->kernel[d] - 1) / 2 : 0;
}

static bool read_geometry(struct nuc_product_layer *l, const struct nuc_conv_args *at)
{
    const struct nuc_meta *in = &l->input->vals[0], *out = &l->node->vals[0], *w = &l->weight->vals[0];

    if (w->rank < 3 || w->rank > 2 + NUC_LAYER_DIMS || in->rank != w->rank || out->rank != w->rank)
        return false;
    l->spatial = w->rank - 2u;
    nuc_conv_numbers(l->node, at->stride, l->spatial, 1, l->stride);
    nuc_conv_numbers(l->node, at->dilation, l->spatial, 1, l->dilation);
    if (!at->named_padding)
        nuc_conv_numbers(l->node, at->padding, l->spatial, 0, l->padding);
    l->taps = 1;
    l->places = (uint32_t)out->sizes[0];
    for (uint32_t d = 0; d < l->spatial; d++) {
        l->in_size[d] = in->sizes[2 + d];
        l->out_size[d] = out->sizes[2 + d];
        l->kernel[d] = w->sizes[2 + d];
        l->taps *= (uint32_t)l->kernel[d];
        l->places *= (uint32_t)l->out_size[d];
        if (at->named_padding)
            l->padding[d] = named_padding(l, d);
    }
    return true;
}

static bool read_convolution(struct nuc_product_layer *l, const struct nuc_conv_args *at)
{
    struct nuc_node *n = l->node;

    read_args(l, NUC_CONV_INPUT, NUC_CONV_WEIGHT, NUC_CONV_BIAS);
    if (l->input == NULL || l->weight == NULL || l->weight->n_vals != 1 || at->op == NUC_OP_CONVOLUTION ||
        !read_geometry(l, at))
        return false;
    l->groups = (uint32_t)nuc_integer(n, at->groups, 1);
    l->form = at->transposed ? NUC_WEIGHT_TRANSPOSED : NUC_WEIGHT_ROWS;
    l->in = (uint32_t)l->input->vals[0].sizes[1];
    l->out = (uint32_t)n->vals[0].sizes[1];
    return true;
}

/* ---- matrix products ---- */

static bool read_linear(struct nuc_product_layer *l)
{
    read_args(l, NUC_ARG(LINEAR, input), NUC_ARG(LINEAR, weight), NUC_ARG(LINEAR, bias));
    return l->weight != NULL && l->weight->n_vals == 1 && l->weight->vals[0].rank == 2;
}

static bool read_product(struct nuc_product_layer *l)
{
    const struct nuc_node *n = l->node;

    l->form = NUC_WEIGHT_COLUMNS;
    if (n->op == NUC_OP_MM) {
        read_args(l, NUC_SELF, NUC_OTHER, NUC_NO_ARG);
        return true;
    }
    read_args(l, NUC_ARG(ADDMM, mat1), NUC_ARG(ADDMM, mat2), NUC_ARG(ADDMM, self));
    return l->bias != NULL && l->bias->n_vals == 1 && l->bias->vals[0].rank == 1 &&
           nuc_numbers_equal(nuc_scalar(n, NUC_ARG(ADDMM, alpha), 1), 1) &&
           nuc_numbers_equal(nuc_scalar(n, NUC_ARG(ADDMM, beta), 1), 1);
}

static bool read_matrix(struct nuc_product_layer *l)
{
    if (l->node->op == NUC_OP_LINEAR ? !read_linear(l) : !read_product(l))
        return false;
    if (l->input == NULL || l->weight == NULL || l->weight->n_vals != 1 || l->weight->vals[0].rank != 2 ||
        l->input->vals[0].rank == 0)
        return false;
    l->groups = l->taps = 1;
    l->in = (uint32_t)l->input->vals[0].sizes[l->input->vals[0].rank - 1];
    l->out = (uint32_t)l->weight->vals[0].sizes[l->form == NUC_WEIGHT_COLUMNS];
    l->places = l->in == 0 ? 0 : (uint32_t)(nuc_elements(&l->input->vals[0]) / l->in);
    return true;
}

bool nuc_product_layer_of(struct nuc_node *node, struct nuc_product_layer *out)
{
    struct nuc_product_layer l = {.node = node};
    const struct nuc_conv_args *at = nuc_conv_args(node->op);
    bool matrix = nuc_op_is_in(node->op, NUC_OPS(NUC_OP_LINEAR, NUC_OP_ADDMM, NUC_OP_MM));

    if ((at == NULL && !matrix) || node->n_vals != 1 || node->vals[0].dtype != NUC_F32)
        return false;
    if (at != NULL ? !read_convolution(&l, at) : !read_matrix(&l))
        return false;
    if (l.input->n_vals != 1 || l.input->vals[0].dtype != NUC_F32 || !is_own_constant(l.weight) ||
        (l.bias != NULL && !is_own_constant(l.bias)) || l.groups == 0 || l.out % l.groups != 0 ||
        l.in % l.groups != 0 || l.places == 0)
        return false;
    l.depth = l.in / l.groups * l.taps;
    if ((int64_t)l.depth * l.out != nuc_elements(&l.weight->vals[0]) ||
        (l.bias != NULL && nuc_elements(&l.bias->vals[0]) != l.out))
        return false;
    *out = l;
    return true;
}

size_t nuc_weight_at(const struct nuc_product_layer *l, uint32_t o, uint32_t i)
{
    uint32_t group_out = l->out / l->groups, channel = i / l->taps;

    if (l->form == NUC_WEIGHT_ROWS)
        return (size_t)o * l->depth + i;
    if (l->form == NUC_WEIGHT_COLUMNS)
        return (size_t)i * l->out + o;
    return (((size_t)(o / group_out) * (l->in / l->groups) + channel) * group_out + o % group_out) * l->taps +
           i % l->taps;
}

/* ---- values ---- */

/* Where tap position `k` reads for output position `o` along dimension `d`; -1: padding. */
static int64_t source(const struct nuc_product_layer *l, uint32_t d, int64_t o, int64_t k)
{
    bool spreads = l->form == NUC_WEIGHT_TRANSPOSED;
    int64_t at =
        spreads ? o + l->padding[d] - k * l->dilation[d] : o * l->stride[d] - l->padding[d] + k * l->dilation[d];

    if (spreads) {
        if (at < 0 || at % l->stride[d] != 0)
            return -1;
        at /= l->stride[d];
    }
    return at >= 0 && at < l->in_size[d] ? at : -1;
}

/* Offset in the channels of the first image at which `tap` reads for a place; -1: padding. */
static int64_t offset_of(const struct nuc_product_layer *l, uint32_t place, uint32_t tap)
{
    int64_t offset = 0, stride = 1, at = place, t = tap;

    for (uint32_t d = l->spatial; d-- > 0;) {
        int64_t x = source(l, d, at % l->out_size[d], t % l->kernel[d]);
        if (x < 0)
            return -1;
        offset += x * stride;
        stride *= l->in_size[d];
        at /= l->out_size[d];
        t /= l->kernel[d];
    }
    return offset + at * l->in * stride;
}

static size_t volume(const struct nuc_product_layer *l, const int64_t *sizes)
{
    size_t v = 1;

    for (uint32_t d = 0; d < l->spatial; d++)
        v *= (size_t)sizes[d];
    return v;
}

void nuc_gather_inputs(const struct nuc_product_layer *l, const float *input, const uint32_t *places, size_t count,
                       uint32_t group, uint32_t first, uint32_t n, float *rows, size_t stride)
{
    uint32_t last = first + n;

    if (l->spatial == 0) {
        for (size_t j = 0; j < count; j++) {
            const float *row = input + (size_t)places[j] * l->in + first;
            for (uint32_t k = 0; k < n; k++)
                rows[k * stride + j] = row[k];
        }
        return;
    }
    input += (size_t)group * (l->in / l->groups) * volume(l, l->in_size);
    for (uint32_t tap = 0; tap < l->taps; tap++) {
        /* those with first <= channel * taps + tap < last */
        uint32_t channels[2] = {first > tap ? (first - tap + l->taps - 1) / l->taps : 0,
                                last > tap ? (last - tap + l->taps - 1) / l->taps : 0};
        for (size_t j = 0; j < count; j++) {
            uint32_t place = places[j];
            int64_t offset = offset_of(l, place, tap);
            size_t plane = volume(l, l->in_size);
            for (uint32_t ch = channels[0]; ch < channels[1]; ch++)
                rows[(ch * l->taps + tap - first) * stride + j] = offset < 0 ? 0 : input[(size_t)offset + ch * plane];
        }
    }
}

void nuc_gather_outputs(const struct nuc_product_layer *l, const float *output, const uint32_t *places, size_t count,
                        uint32_t o, float *row)
{
    size_t plane = volume(l, l->out_size);

    for (size_t j = 0; j < count; j++) {
        if (l->spatial == 0)
            row[j] = output[(size_t)places[j] * l->out + o];
        else
            row[j] = output[(places[j] / plane * l->out + o) * plane + places[j] % plane];
    }
}
