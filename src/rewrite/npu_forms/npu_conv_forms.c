/*
 * A transposed convolution of stride s makes s * s images, the phases, that alternate in the result: result s * q + f
 * is made of inputs q - j and of the taps f + s * j of the kernel. All phases are one convolution of stride 1, their
 * channels next to each other, whose pixels are spread afterwards; no zeros are multiplied.
 */
#include "rewrite/npu_forms/npu_forms.h"

#include <string.h>

#include "ir/conv_args.h"
#include "npu/support/estimate.h"
#include "npu/support/kernel_cycles.h"
#include "rewrite/formula/formula.h"
#include "rewrite/fused_activation.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"

enum { HEIGHT, WIDTH, AXES };

/* Along one axis. */
struct phases {
    int64_t in, out, kernel, stride, dilation;
    int64_t taps;          /* of each phase */
    int64_t count;         /* of the results of a phase */
    int64_t before, after; /* zeros around the input; less than none: what is not read */
    int64_t skipped;       /* of the spread results in front of the first */
};

static struct phases phases_of(const struct nuc_node *node, int d)
{
    const struct nuc_conv_args *args = nuc_conv_args(node->op);
    int64_t stride[AXES], padding[AXES], dilation[AXES];

    nuc_conv_numbers(node, args->stride, AXES, 1, stride);
    nuc_conv_numbers(node, args->padding, AXES, 0, padding);
    nuc_conv_numbers(node, args->dilation, AXES, 1, dilation);
    struct phases p = {
        .in = nuc_input_meta(node, NUC_CONV_INPUT)->sizes[2 + d],
        .out = node->vals[0].sizes[2 + d],
        .kernel = nuc_input_meta(node, NUC_CONV_WEIGHT)->sizes[2 + d],
        .stride = stride[d],
        .dilation = dilation[d],
    };
    int64_t reach = (p.kernel - 1) * p.dilation + 1, first = padding[d] / p.stride;
    int64_t last = (padding[d] + p.out - 1) / p.stride;
    p.taps = (reach + p.stride - 1) / p.stride;
    p.count = last - first + 1;
    p.before = p.taps - 1 - first;
    p.after = last - (p.in - 1);
    p.skipped = padding[d] - first * p.stride;
    return p;
}

/* Tap of the kernel that phase `phase` has at `place` of its own; -1: a zero. */
static int64_t tap_of(const struct phases *p, int64_t phase, int64_t place)
{
    int64_t at = phase + p->stride * (p->taps - 1 - place);

    return at % p->dilation == 0 && at / p->dilation < p->kernel ? at / p->dilation : -1;
}

struct weight_sizes {
    int64_t groups, inputs, outputs; /* channels of a group */
    bool apart;                      /* groups stay groups */
};

/* Up to `merged` groups are one, with zeros between them. */
static struct weight_sizes weight_sizes_of(const struct nuc_node *node, int64_t merged)
{
    const int64_t *sizes = nuc_input_meta(node, NUC_CONV_WEIGHT)->sizes;
    int64_t groups = nuc_integer(node, nuc_conv_args(node->op)->groups, 1);

    return (struct weight_sizes){groups, sizes[0] / groups, sizes[1], groups > merged};
}

/* What channel `channel` of the convolution stands for: those of an output, or else of a phase, are together. */
struct channel {
    int64_t group, image, output;
};

static struct channel channel_of(const struct weight_sizes *w, int64_t images, int64_t channel)
{
    int64_t outputs = w->groups * w->outputs;
    int64_t image = w->apart ? channel % images : channel / outputs;
    int64_t output = w->apart ? channel / images : channel % outputs;

    return (struct channel){output / w->outputs, image, output % w->outputs};
}

static struct nuc_meta weight_meta(const struct weight_sizes *w, const struct phases p[AXES])
{
    const int64_t sizes[] = {w->groups * p[HEIGHT].stride * p[WIDTH].stride * w->outputs,
                             w->apart ? w->inputs : w->groups * w->inputs, p[HEIGHT].taps, p[WIDTH].taps};

    return nuc_meta_make(NUC_F32, sizes, 4);
}

/* From [groups * inputs, outputs, kernel, kernel]. */
static struct nuc_node *insert_weight(struct nuc_graph *g, const struct nuc_node *node, const struct weight_sizes *w,
                                      const struct phases p[AXES])
{
    struct nuc_node *weight = nuc_operand(g, node, NUC_CONV_WEIGHT);
    struct nuc_meta meta = weight_meta(w, p);
    int64_t images = p[HEIGHT].stride * p[WIDTH].stride, taps = p[HEIGHT].taps * p[WIDTH].taps;
    const float *from = nuc_const_contiguous(g, weight);
    float *data = nuc_alloc_array(g->cx, (size_t)nuc_elements(&meta), sizeof *data);

    for (int64_t o = 0; o < meta.sizes[0]; o++) {
        struct channel c = channel_of(w, images, o);
        int64_t first = w->apart ? 0 : c.group * w->inputs;
        for (int64_t k = 0; k < w->inputs * taps; k++) {
            int64_t input = c.group * w->inputs + k / taps, place = k % taps;
            int64_t y = tap_of(&p[HEIGHT], c.image / p[WIDTH].stride, place / p[WIDTH].taps);
            int64_t x = tap_of(&p[WIDTH], c.image % p[WIDTH].stride, place % p[WIDTH].taps);
            if (y >= 0 && x >= 0)
                data[(o * meta.sizes[1] + first) * taps + k] =
                    from[((input * w->outputs + c.output) * p[HEIGHT].kernel + y) * p[WIDTH].kernel + x];
        }
    }
    return nuc_take_parameter(g, weight, "_phases", &meta, data);
}

/* That of each output channel for all of its phases. */
static struct nuc_node *insert_bias(struct nuc_graph *g, const struct nuc_node *node, const struct weight_sizes *w,
                                    int64_t images)
{
    struct nuc_node *bias = nuc_arg_node(node, NUC_CONV_BIAS);
    const int64_t count = w->groups * images * w->outputs;

    if (bias == NULL)
        return NULL;
    struct nuc_meta meta = nuc_meta_make(NUC_F32, &count, 1);
    const float *from = nuc_const_contiguous(g, bias);
    float *data = nuc_alloc_array(g->cx, (size_t)count, sizeof *data);
    for (int64_t o = 0; o < count; o++) {
        struct channel c = channel_of(w, images, o);
        data[o] = from[c.group * w->outputs + c.output];
    }
    return nuc_take_parameter(g, bias, "_phases", &meta, data);
}

static struct nuc_node *insert_phases(const struct nuc_support *s, struct nuc_node *node, const struct weight_sizes *w,
                                      const struct phases p[AXES])
{
    const int64_t before[] = {p[HEIGHT].before, p[WIDTH].before}, after[] = {p[HEIGHT].after, p[WIDTH].after};
    const int64_t stride[] = {p[HEIGHT].stride, p[WIDTH].stride}, skipped[] = {p[HEIGHT].skipped, p[WIDTH].skipped};
    struct nuc_node *weight = insert_weight(s->g, node, w, p),
                    *bias = insert_bias(s->g, node, w, stride[0] * stride[1]);
    struct nuc_node *value =
        nuc_built(s, node, "convolved_phases",
                  NUC_ARGS(nuc_operand(s->g, node, NUC_CONV_INPUT), weight, bias, nuc_ints_arg(before, AXES),
                           nuc_ints_arg(after, AXES), w->apart ? w->groups : 1));

    return nuc_built(s, node, "spread_phases",
                     NUC_ARGS(value, nuc_bool_arg(w->apart), nuc_ints_arg(stride, AXES), nuc_ints_arg(skipped, AXES)));
}

/* ---- conditions ---- */

/* What the rules say of a convolution with a kernel of `sizes`, before anything is quantized. */
static bool takes(const struct nuc_support *s, const struct nuc_node *node, const int64_t *sizes,
                  const struct nuc_arg numbers[3], int64_t groups, bool transposed)
{
    struct nuc_node weight = *nuc_operand(s->g, node, NUC_CONV_WEIGHT), edge = *node;
    struct nuc_meta meta = nuc_meta_make(weight.vals[0].dtype, sizes, weight.vals[0].rank);
    struct nuc_arg args[NUC_ARG(CONVOLUTION, groups) + 1] = {
        [NUC_CONV_INPUT] = node->args[NUC_CONV_INPUT],
        [NUC_CONV_WEIGHT] = nuc_node_arg(&weight),
        [NUC_CONV_BIAS] = node->args[NUC_CONV_BIAS],
        [NUC_ARG(CONVOLUTION, stride)] = numbers[0],
        [NUC_ARG(CONVOLUTION, padding)] = numbers[1],
        [NUC_ARG(CONVOLUTION, dilation)] = numbers[2],
        [NUC_ARG(CONVOLUTION, transposed)] = nuc_bool_arg(transposed),
        [NUC_ARG(CONVOLUTION, groups)] = nuc_int_arg(groups),
    };

    weight.vals = &meta;
    edge.op = NUC_OP_CONVOLUTION;
    edge.n_args = sizeof args / sizeof *args;
    edge.args = args;
    return nuc_check_unquantized(s, NUC_OP_CONVOLUTION, &edge).ok;
}

/* Stride, padding and dilation as they are. */
static bool takes_whole(const struct nuc_support *s, const struct nuc_node *node, bool transposed)
{
    const struct nuc_conv_args *args = nuc_conv_args(node->op);
    const struct nuc_arg own[] = {*nuc_arg_at(node, args->stride), *nuc_arg_at(node, args->padding),
                                  *nuc_arg_at(node, args->dilation)};

    return takes(s, node, nuc_input_meta(node, NUC_CONV_WEIGHT)->sizes, own, nuc_integer(node, args->groups, 1),
                 transposed);
}

bool nuc_takes_conv(const struct nuc_support *s, const struct nuc_node *conv)
{
    return conv->op == NUC_OP_CONV2D && nuc_input_meta(conv, NUC_CONV_INPUT)->rank == 4 && takes_whole(s, conv, false);
}

static bool is_static_float(const struct nuc_node *node)
{
    return node == NULL || nuc_is_static_float(node);
}

static bool has_float_constants(const struct nuc_support *s, const struct nuc_node *node)
{
    const struct nuc_meta *in = &nuc_operand(s->g, node, NUC_CONV_INPUT)->vals[0];

    return in->dtype == NUC_F32 && nuc_elements(in) > 0 && nuc_elements(&node->vals[0]) > 0 &&
           is_static_float(nuc_operand(s->g, node, NUC_CONV_WEIGHT)) &&
           is_static_float(nuc_arg_node(node, NUC_CONV_BIAS));
}

/* Of the CPU's kernel. */
static uint64_t transposed_cycles(const struct nuc_support *s, const struct nuc_node *node)
{
    const int64_t *w = nuc_input_meta(node, NUC_CONV_WEIGHT)->sizes;
    struct nuc_meta in = *nuc_input_meta(node, NUC_CONV_INPUT), out = node->vals[0];
    const int64_t sizes[] = {w[1], w[2], w[3], w[0]};
    const struct nuc_meta weight = nuc_meta_make(NUC_I8, sizes, 4);
    bool grouped = nuc_integer(node, nuc_conv_args(node->op)->groups, 1) > 1;
    const struct nuc_kernel_call call = {.op = grouped ? NUC_OP_NUCLEON_TRANSPOSE_CONV2D
                                                       : NUC_OP_CORTEXM_TRANSPOSE_CONV2D,
                                         .in = &in,
                                         .weight = &weight,
                                         .out = &out,
                                         .products = (double)nuc_elements(&in) * (double)(w[1] * w[2] * w[3]),
                                         .written = 1,
                                         .read = 1};

    in.dtype = out.dtype = NUC_I8;
    return s->target->cpu != NULL
               ? nuc_kernel_call_cycles(&s->target->costs.int8, &call)
               : nuc_cpu_cycles(&s->target->costs.real, call.products, s->target->costs.real.conv_mac);
}

/* A few groups are one for the NPU, where each would take a kernel of its own. */
static struct nuc_node *form_phases(const struct nuc_support *s, struct nuc_node *node)
{
    const struct nuc_meta *in = nuc_input_meta(node, NUC_CONV_INPUT);
    const struct nuc_arg none[3] = {{.kind = NUC_ARG_NONE}};

    if (in->rank != 4 || !has_float_constants(s, node) || takes_whole(s, node, true))
        return NULL;
    const struct phases p[AXES] = {phases_of(node, HEIGHT), phases_of(node, WIDTH)};
    const struct weight_sizes c = weight_sizes_of(node, NUC_MAX_SPLIT_GROUPS);
    struct nuc_meta meta = weight_meta(&c, p);
    if (!takes(s, node, meta.sizes, none, c.apart ? c.groups : 1, false))
        return NULL;
    int64_t pixels = in->sizes[0] * p[HEIGHT].count * p[WIDTH].count;
    uint64_t npu = nuc_estimate_product(s->target, (uint64_t)pixels, (uint64_t)meta.sizes[0],
                                        (uint64_t)(meta.sizes[1] * meta.sizes[2] * meta.sizes[3])) +
                   2 * nuc_estimate_move(s->target, (uint64_t)nuc_elements(&node->vals[0]));
    return npu < transposed_cycles(s, node) ? insert_phases(s, node, &c, p) : NULL;
}

/* ---- three dimensions ---- */

/* [N, C, D, H, W], with a batch or without. */
struct volume {
    int64_t batch, channels, depth, height, width;
};

static struct volume volume_of(const struct nuc_meta *m)
{
    const int64_t *s = m->sizes + m->rank - 4;

    return (struct volume){m->rank == 5 ? m->sizes[0] : 1, s[0], s[1], s[2], s[3]};
}

/* With a kernel of depth alone, each image is a row. */
static struct nuc_node *form_rows_on_cpu(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_graph *g = s->g;
    const struct nuc_conv_args *args = nuc_conv_args(node->op);
    struct nuc_node *input = nuc_operand(g, node, NUC_CONV_INPUT), *weight = nuc_operand(g, node, NUC_CONV_WEIGHT);
    const struct volume v = volume_of(&input->vals[0]);
    const int64_t rows[] = {v.batch, v.channels, v.depth, v.height * v.width}, *w = weight->vals[0].sizes;
    const int64_t sizes[] = {w[0], w[1], w[2], 1};
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, 4);
    int64_t stride[3], padding[3], dilation[3];

    nuc_conv_numbers(node, args->stride, 3, 1, stride);
    nuc_conv_numbers(node, args->padding, 3, 0, padding);
    nuc_conv_numbers(node, args->dilation, 3, 1, dilation);
    if (!has_float_constants(s, node) || w[3] != 1 || w[4] != 1 || stride[1] != 1 || stride[2] != 1 ||
        padding[1] != 0 || padding[2] != 0)
        return NULL;
    dilation[1] = 1;
    struct nuc_node *flat = nuc_take_parameter(g, weight, "_2d", &meta, nuc_const_contiguous(g, weight));
    struct nuc_node *conv =
        nuc_emit(g, node, NUC_OP_CONV2D, node,
                 NUC_ARGS(nuc_insert_reshaped(g, node, input, rows, 4), flat, nuc_arg_node(node, NUC_CONV_BIAS),
                          nuc_ints_arg(stride, 2), nuc_ints_arg(padding, 2), nuc_ints_arg(dilation, 2),
                          nuc_integer(node, args->groups, 1)));
    return nuc_insert_reshaped(g, node, conv, node->vals[0].sizes, node->vals[0].rank);
}

/* Of float constants, and a kernel that fits with all its depths as channels. */
static bool is_flat_convolution(const struct nuc_support *s, const struct nuc_node *node)
{
    const int64_t *kernel = nuc_operand(s->g, node, NUC_CONV_WEIGHT)->vals[0].sizes + 2;
    int64_t channels = volume_of(&nuc_operand(s->g, node, NUC_CONV_INPUT)->vals[0]).channels + s->target->num_macs;

    return has_float_constants(s, node) && kernel[0] * kernel[1] * kernel[2] * channels <= s->target->max_mac_buffer;
}

static struct nuc_node *form_rows(const struct nuc_support *s, struct nuc_node *node)
{
    return is_flat_convolution(s, node) ? form_rows_on_cpu(s, node) : NULL;
}

/* What comes from outside, or goes there, is quantized or dequantized for the NPU alone. */
static uint64_t boundary_cycles(const struct nuc_support *s, const struct nuc_node *node)
{
    const struct nuc_kernel_costs *c = &s->target->costs.int8;
    const struct nuc_node *input = nuc_operand(s->g, node, NUC_CONV_INPUT);
    uint64_t cycles = 0;

    if (nuc_is_placeholder(input))
        cycles += nuc_cpu_cycles(c, (double)nuc_elements(&input->vals[0]), c->element);
    if (node->n_users == 1 && node->users[0] == nuc_output_node(s->g))
        cycles += s->target->costs.npu_call + nuc_cpu_cycles(c, (double)nuc_elements(&node->vals[0]), c->element);
    return cycles;
}

/* What ExecuTorch's kernels get. */
static struct nuc_node *insert_flat(const struct nuc_support *s, struct nuc_node *node)
{
    const struct nuc_formula_row *row = nuc_formula_of(s->formulas, NUC_FORMULA_EXECUTORCH, s->g, node);

    return nuc_formula_build(s->formulas, row, s->g, node);
}

/* int8 rounds weights and result, which the CPU computes in float: it has to be worth that. */
#define LEAST_GAIN 2

/*
 * Copies of the images for each depth of the kernel, and before and behind, against the CPU. A transposed one may be
 * refused again, by its stride; it is rewritten then.
 */
static struct nuc_node *form_depths(const struct nuc_support *s, struct nuc_node *node)
{
    const struct nuc_meta *in = &nuc_operand(s->g, node, NUC_CONV_INPUT)->vals[0], *out = &node->vals[0];
    const int64_t *w = nuc_operand(s->g, node, NUC_CONV_WEIGHT)->vals[0].sizes;
    const struct nuc_meta *visited = nuc_conv_args(node->op)->transposed ? in : out;
    int64_t depth_of_product = w[1] * w[2] * w[3] * w[4];

    if (!is_flat_convolution(s, node))
        return NULL;
    int64_t pixels = nuc_elements(visited) / volume_of(visited).channels;
    uint64_t npu = nuc_estimate_product(s->target, (uint64_t)pixels, (uint64_t)volume_of(out).channels,
                                        (uint64_t)depth_of_product) +
                   (uint64_t)(w[2] + 1) * nuc_estimate_move(s->target, (uint64_t)nuc_elements(in)) +
                   nuc_estimate_move(s->target, (uint64_t)nuc_elements(out));
    const struct nuc_kernel_costs *c = &s->target->costs.real;
    uint64_t cpu = nuc_cpu_cycles(c, (double)nuc_elements(visited) * (double)depth_of_product, c->conv_mac);
    return LEAST_GAIN * (npu + boundary_cycles(s, node)) < cpu ? insert_flat(s, node) : NULL;
}

/* ---- for the CPU ---- */

/* Of what changes the order of the elements. */
static uint64_t copy_cycles(const struct nuc_support *s, const struct nuc_meta *m)
{
    const struct nuc_kernel_call copy = {.op = NUC_OP_TO_DIM_ORDER_COPY, .out = m, .written = 1};

    return nuc_kernel_call_cycles(&s->target->costs.int8, &copy);
}

/* Of convolutions of `in` to `out`, one for each of `parts` of their channels, with `inputs` channels of a group. */
static uint64_t conv_cycles(const struct nuc_support *s, struct nuc_meta in, struct nuc_meta out,
                            const int64_t kernel[AXES], int64_t parts, int64_t inputs)
{
    bool depthwise = inputs == 1 && in.sizes[1] > 1 && in.sizes[0] == 1;
    int64_t channels = out.sizes[1] / parts;
    const int64_t sizes[] = {depthwise ? 1 : channels, kernel[HEIGHT], kernel[WIDTH], depthwise ? channels : inputs};
    const struct nuc_meta weight = nuc_meta_make(NUC_I8, sizes, 4);
    const struct nuc_kernel_call call = {.op = depthwise ? NUC_OP_CORTEXM_DEPTHWISE : NUC_OP_CORTEXM_CONV2D,
                                         .in = &in,
                                         .weight = &weight,
                                         .out = &out,
                                         .written = 1,
                                         .read = 1};

    in.dtype = out.dtype = NUC_I8;
    in.sizes[1] = depthwise ? channels : in.sizes[1] / parts; /* an input channel is repeated for each of its outputs */
    out.sizes[1] = channels;
    return (uint64_t)parts * nuc_kernel_call_cycles(&s->target->costs.int8, &call);
}

static struct nuc_node *form_phases_on_cpu(const struct nuc_support *s, struct nuc_node *node)
{
    const struct nuc_meta *in = nuc_input_meta(node, NUC_CONV_INPUT), *out = &node->vals[0];

    if (in->rank != 4 || !has_float_constants(s, node))
        return NULL;
    const struct weight_sizes w = weight_sizes_of(node, 1);
    const struct phases p[AXES] = {phases_of(node, HEIGHT), phases_of(node, WIDTH)};
    if (p[HEIGHT].stride > p[HEIGHT].kernel || p[WIDTH].stride > p[WIDTH].kernel) /* phases of zeros */
        return NULL;
    const int64_t kernel[AXES] = {p[HEIGHT].taps, p[WIDTH].taps}, images = p[HEIGHT].stride * p[WIDTH].stride;
    const int64_t sizes[] = {in->sizes[0], out->sizes[1] * images, p[HEIGHT].count, p[WIDTH].count};
    const struct nuc_meta results = nuc_meta_make(NUC_F32, sizes, 4);
    bool split = w.apart && w.inputs > 1 && w.groups <= NUC_MAX_SPLIT_GROUPS; /* nuc_split_group_conv() */
    uint64_t cycles = conv_cycles(s, *in, results, kernel, split ? w.groups : 1, w.inputs) + 3 * copy_cycles(s, out);
    if (w.apart)
        cycles += copy_cycles(s, in) + copy_cycles(s, &results);
    return cycles < transposed_cycles(s, node) ? insert_phases(s, node, &w, p) : NULL;
}

static struct nuc_node *form_depths_on_cpu(const struct nuc_support *s, struct nuc_node *node)
{
    return has_float_constants(s, node) ? insert_flat(s, node) : NULL;
}

/* As many as a convolution each is made for. */
static int64_t fewer_groups(int64_t groups)
{
    int64_t fewer = NUC_MAX_SPLIT_GROUPS;

    while (groups % fewer != 0)
        fewer--;
    return fewer;
}

/* Several groups are one, with zeros between them. */
static struct nuc_node *form_fewer_groups(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_graph *g = s->g;
    struct nuc_node *weight = nuc_operand(g, node, NUC_CONV_WEIGHT);
    const struct nuc_meta *in = nuc_input_meta(node, NUC_CONV_INPUT), *out = &node->vals[0];
    struct nuc_meta meta = weight->vals[0];
    int64_t groups = nuc_integer(node, nuc_conv_args(node->op)->groups, 1);

    if (groups <= NUC_MAX_SPLIT_GROUPS || in->rank != meta.rank || !has_float_constants(s, node) ||
        (meta.sizes[1] == 1 && in->sizes[0] == 1)) /* has a kernel */
        return NULL;
    const int64_t kernel[AXES] = {meta.sizes[2], in->rank == 4 ? meta.sizes[3] : 1}, fewer = fewer_groups(groups);
    const int64_t merged = groups / fewer, outputs = meta.sizes[0] / groups;
    if (conv_cycles(s, *in, *out, kernel, fewer, meta.sizes[1] * merged) + copy_cycles(s, in) + copy_cycles(s, out) >=
        conv_cycles(s, *in, *out, kernel, 1, meta.sizes[1]))
        return NULL;
    size_t row = (size_t)(nuc_elements(&meta) / meta.sizes[0]);
    meta.sizes[1] *= merged;
    const float *from = nuc_const_contiguous(g, weight);
    float *data = nuc_alloc_array(g->cx, (size_t)nuc_elements(&meta), sizeof *data);

    for (int64_t o = 0; o < meta.sizes[0]; o++)
        memcpy(data + (size_t)(o * merged + o / outputs % merged) * row, from + (size_t)o * row, row * sizeof *data);
    struct nuc_node *operands[] = {nuc_operand(g, node, NUC_CONV_INPUT),
                                   nuc_take_parameter(g, weight, "_merged", &meta, data),
                                   nuc_arg_node(node, NUC_CONV_BIAS)};
    return nuc_emit_conv_like(g, node, node, operands, (uint32_t)fewer);
}

/* ---- activations ---- */

static bool only_moves(const struct nuc_node *node)
{
    return node->n_users == 1 && (node->op == NUC_OP_RESHAPE || node->op == NUC_OP_PERMUTE || node->op == NUC_OP_SLICE);
}

/* `move` and those in front of it, of the activation instead of the convolution. */
static struct nuc_node *move_again(struct nuc_graph *g, struct nuc_node *node, const struct nuc_node *move,
                                   struct nuc_node *activation)
{
    struct nuc_node *input = nuc_operand(g, move, NUC_SELF);
    struct nuc_node *value = only_moves(input) ? move_again(g, node, input, activation) : activation;

    return nuc_emit_like(g, node, move, NUC_ARGS(value));
}

/* Of a convolution whose values reach the activation by moves alone. */
static struct nuc_node *form_early_activation(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *move = nuc_arg_node(node, NUC_SELF), *conv = move;

    while (conv != NULL && only_moves(conv))
        conv = nuc_arg_node(conv, NUC_SELF);
    if (conv == NULL || conv == move || conv->op != NUC_OP_CONV2D || conv->n_users != 1 ||
        !nuc_is_fused_activation(node) || !nuc_takes_activation(conv))
        return NULL;
    return move_again(s->g, node, move, nuc_emit_like(s->g, node, node, NUC_ARGS(conv)));
}

/* ---- the forms ---- */

const struct nuc_npu_form nuc_conv_forms[] = {
    /* conv_transpose2d with groups, a dilation, a stride above 2 or above its kernel: a convolution of all phases. */
    {NUC_OPS(NUC_OP_CONV_TRANSPOSE2D), form_phases},
    /* An activation of a convolution whose values are moved in between: the two are one kernel. */
    {NUC_OPS(NUC_OP_RELU, NUC_OP_RELU6, NUC_OP_HARDTANH), form_early_activation},
    /* conv3d with a kernel of depth alone. Any, and conv_transpose3d: insert_flat(). */
    {NUC_OPS(NUC_OP_CONV3D), form_rows},
    {NUC_OPS(NUC_OP_CONV3D, NUC_OP_CONV3D_PADDING, NUC_OP_CONV_TRANSPOSE3D), form_depths},
    {.form = NULL},
};

const struct nuc_npu_form nuc_cpu_conv_forms[] = {
    {NUC_OPS(NUC_OP_CONV_TRANSPOSE2D), form_phases_on_cpu},
    {NUC_OPS(NUC_OP_CONV3D), form_rows_on_cpu},
    {NUC_OPS(NUC_OP_CONV3D, NUC_OP_CONV3D_PADDING, NUC_OP_CONV_TRANSPOSE3D), form_depths_on_cpu},
    {NUC_OPS(NUC_OP_CONV1D, NUC_OP_CONV2D), form_fewer_groups},
    {.form = NULL},
};
