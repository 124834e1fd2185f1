/*
 * Operators that are linear along height and width with constant coefficients, and that the NPU has for few sizes only:
 * resampling, and average pooling into windows of unequal size or without the padding around the image. Along each axis
 * they are the product with a constant matrix. Where its rows are equal windows, or single pixels in turn, a pooling or
 * repetitions do the same without rounding; else it is a convolution of one pixel, for which the axis takes the place
 * of the channels.
 */
#include "rewrite/npu_forms/npu_forms.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "device/base/npu_cost.h"
#include "eval/eval.h"
#include "ir/args.h"
#include "npu/support/estimate.h"

enum { HEIGHT, WIDTH, AXES };

/* Places of the axes of an image. */
enum { BATCH, CHANNELS, SPATIAL, IMAGE_RANK = 4 };

struct axis {
    int64_t in, out;
    const float *matrix; /* [out, in] */
};

struct map {
    int64_t batch, channels;
    struct axis axes[AXES];
};

/* Its arguments are in the same places. */
static enum nuc_op edge_op(const struct nuc_node *node)
{
    return node->op == NUC_OP_ADAPTIVE_AVG_POOL2D ? NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D : node->op;
}

/* ---- matrices ---- */

/* The constants of an axis are computed, and stored, up to this number of elements. */
#define MAX_MATRIX ((int64_t)1 << 18)

static bool has_small_matrices(const struct nuc_node *node)
{
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF), *out = &node->vals[0];

    if (in->rank != IMAGE_RANK || out->rank != IMAGE_RANK || in->dtype != NUC_F32 || nuc_elements(in) == 0 ||
        nuc_elements(out) == 0)
        return false;
    for (int d = SPATIAL; d < IMAGE_RANK; d++) {
        if (in->sizes[d] > MAX_MATRIX / in->sizes[d] || in->sizes[d] > MAX_MATRIX / out->sizes[d])
            return false;
    }
    return true;
}

/* The operator with what it is given for one axis, and for the other a single pixel that stays one. */
static struct nuc_node *insert_trial(struct nuc_graph *trial, const struct nuc_node *node, int d, int64_t out,
                                     struct nuc_node *input)
{
    struct nuc_node *copy = nuc_add_node(trial, NULL, node->op, "axis");
    const int64_t sizes[] = {out, 1};

    nuc_set_arg_node(copy, trial, NUC_SELF, input);
    for (uint32_t i = NUC_SELF + 1; i < node->n_args; i++) {
        const struct nuc_arg *a = &node->args[i];
        copy->args[i] = *a;
        if (node->op == NUC_OP_AVG_POOL2D && a->kind == NUC_ARG_INTS && a->count > 0) {
            const int64_t window[] = {a->u.ints[a->count == AXES ? d : 0], i == NUC_ARG(AVG_POOL2D, padding) ? 0 : 1};
            nuc_set_arg_ints(copy, trial, i, window, 2);
        } else if (a->kind == NUC_ARG_INTS || a->kind == NUC_ARG_INT) {
            nuc_set_arg_ints(copy, trial, i, sizes, 2);
        }
        if (a->kind != NUC_ARG_FLOATS || a->count != AXES)
            continue;
        const double factors[] = {a->u.floats[d], 1.0};
        copy->args[i].u.floats = nuc_copy(trial->cx, factors, sizeof factors);
    }
    nuc_infer_shape(trial, copy);
    return copy;
}

/* What the operator makes of images, one for each pixel of the axis, that are one there and zero elsewhere. */
static struct axis axis_of(struct nuc_graph *g, const struct nuc_node *node, int d)
{
    int64_t in = nuc_input_meta(node, NUC_SELF)->sizes[SPATIAL + d], out = node->vals[0].sizes[SPATIAL + d];
    const int64_t sizes[] = {1, in, in, 1};
    struct nuc_graph *trial = nuc_graph_new(g->cx, g->file);
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, IMAGE_RANK);
    float *units = nuc_alloc_array(g->cx, (size_t)(in * in), sizeof *units);
    float *matrix = nuc_alloc_array(g->cx, (size_t)(in * out), sizeof *matrix);
    void *result[1] = {NULL};

    for (int64_t i = 0; i < in; i++)
        units[i * in + i] = 1.0f;
    struct nuc_node *input = nuc_add_constant(trial, "units", &meta, units);
    bool computed = nuc_eval_constant(trial, insert_trial(trial, node, d, out, input), result);
    assert(computed);
    (void)computed;
    const float *columns = result[0];
    for (int64_t i = 0; i < in; i++) {
        for (int64_t o = 0; o < out; o++)
            matrix[o * in + i] = columns[i * out + o];
    }
    return (struct axis){in, out, matrix};
}

static struct map map_of(struct nuc_graph *g, const struct nuc_node *node)
{
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF);

    return (struct map){in->sizes[BATCH], in->sizes[CHANNELS], {axis_of(g, node, HEIGHT), axis_of(g, node, WIDTH)}};
}

static bool is_near(float a, float b)
{
    return fabsf(a - b) <= 1e-6f;
}

/* Each row is the mean of `kernel` pixels; their first ones are `stride` apart. No kernel: it is not so. */
struct windows {
    int64_t kernel, stride, offset;
};

static bool is_window(const struct axis *a, int64_t row, const struct windows *w)
{
    int64_t begin = w->offset + row * w->stride, end = begin + w->kernel;

    for (int64_t i = 0; i < a->in; i++) {
        float weight = i >= begin && i < end ? 1.0f / (float)w->kernel : 0.0f;
        if (!is_near(a->matrix[row * a->in + i], weight))
            return false;
    }
    return end <= a->in;
}

static int64_t first_pixel(const struct axis *a, int64_t row)
{
    int64_t i = 0;

    while (i < a->in && is_near(a->matrix[row * a->in + i], 0))
        i++;
    return i;
}

static struct windows windows_of(const struct axis *a)
{
    struct windows w = {.offset = first_pixel(a, 0), .stride = 1};

    while (w.offset + w.kernel < a->in && !is_near(a->matrix[w.offset + w.kernel], 0))
        w.kernel++;
    if (a->out > 1)
        w.stride = first_pixel(a, 1) - w.offset;
    for (int64_t row = 0; row < a->out && w.kernel > 0; row++) {
        if (w.stride < 1 || !is_window(a, row, &w))
            w.kernel = 0;
    }
    return w;
}

static bool stays(const struct axis *a)
{
    struct windows w = windows_of(a);

    return a->in == a->out && w.kernel == 1 && w.stride == 1;
}

/* How often each pixel follows itself; 0 when the axis is something else. */
static int64_t repeats_of(const struct axis *a)
{
    int64_t times = a->out / a->in;

    for (int64_t o = 0; o < a->out && times > 0; o++) {
        for (int64_t i = 0; i < a->in; i++) {
            if (a->out % a->in != 0 || !is_near(a->matrix[o * a->in + i], i == o / times ? 1.0f : 0.0f))
                return 0;
        }
    }
    return times;
}

/* ---- windows ---- */

static struct nuc_node *insert_windows(const struct nuc_support *s, struct nuc_node *node, const struct windows w[AXES])
{
    const int64_t kernel[] = {w[HEIGHT].kernel, w[WIDTH].kernel}, stride[] = {w[HEIGHT].stride, w[WIDTH].stride};
    const int64_t offset[] = {w[HEIGHT].offset, w[WIDTH].offset};

    return nuc_built(s, node, "equal_windows",
                     NUC_ARGS(nuc_operand(s->g, node, NUC_SELF), nuc_ints_arg(offset, AXES), nuc_ints_arg(kernel, AXES),
                              nuc_ints_arg(stride, AXES)));
}

/* ---- repetitions ---- */

/* The largest power of two by which the NPU enlarges (support/rules_move.c). */
#define LARGEST_FACTOR 8

/* The factor of the next resampling: none when what is left is odd. */
static int64_t next_factor(int64_t *times)
{
    int64_t factor = 1;

    while (*times % 2 == 0 && factor < LARGEST_FACTOR) {
        *times /= 2;
        factor *= 2;
    }
    return factor;
}

/* ---- products ---- */

/* The kernel of one pixel. */
static struct nuc_node *insert_matrix(struct nuc_graph *g, struct nuc_node *node, const float *matrix, int64_t in,
                                      int64_t out)
{
    const int64_t sizes[] = {out, in, 1, 1};

    return nuc_insert_floats(g, node, matrix, sizes, 4);
}

/* The axis that grows less is first: the image between has fewer pixels. */
static int first_axis(const struct map *m)
{
    const struct axis *h = &m->axes[HEIGHT], *w = &m->axes[WIDTH];

    return w->out * h->in < h->out * w->in ? WIDTH : HEIGHT;
}

/* Rows of a matrix that choose one pixel each leave nothing to round. */
static bool chooses(const struct axis *a)
{
    for (int64_t i = 0; i < a->in * a->out; i++) {
        if (!is_near(a->matrix[i], 0) && !is_near(a->matrix[i], 1))
            return false;
    }
    return true;
}

/* Behind moves. */
static bool has_no_negative_values(const struct nuc_node *value)
{
    static const bool moves[NUC_FAMILY_COUNT] = {
        [NUC_FAMILY_VIEW] = true,  [NUC_FAMILY_PERMUTE] = true, [NUC_FAMILY_COPY] = true,
        [NUC_FAMILY_SLICE] = true, [NUC_FAMILY_POOL] = true,    [NUC_FAMILY_RESIZE] = true,
    };

    while (moves[nuc_op_family(value->op)] && nuc_arg_node(value, NUC_SELF) != NULL)
        value = nuc_arg_node(value, NUC_SELF);
    return nuc_op_family(value->op) == NUC_FAMILY_SOFTMAX || (nuc_has_bounds(value) && nuc_bounds_of(value).min >= 0) ||
           nuc_op_is_in(value->op, NUC_OPS(NUC_OP_SIGMOID, NUC_OP_HARDSIGMOID, NUC_OP_EXP, NUC_OP_ABS, NUC_OP_SQUARE));
}

/*
 * The value between two products is rounded, which one operator would not do. Its positive and its negative part, one
 * after the other, take half of the range, so that their steps are half as large: max(A x, 0) and max(-A x, 0), of
 * which the second product makes B (A x) with the matrix (B, -B). They are two images of a batch in between.
 */
static bool takes_parts(const struct map *m, const struct nuc_node *value)
{
    return m->batch == 1 && !chooses(&m->axes[HEIGHT]) && !chooses(&m->axes[WIDTH]) && !has_no_negative_values(value);
}

/* The matrix and its negative, below it or beside it. */
static const float *with_negative(struct nuc_graph *g, const struct axis *a, bool beside)
{
    float *both = nuc_alloc_array(g->cx, (size_t)(2 * a->in * a->out), sizeof *both);

    for (int64_t o = 0; o < a->out; o++) {
        for (int64_t i = 0; i < a->in; i++) {
            float weight = a->matrix[o * a->in + i];
            both[beside ? 2 * o * a->in + i : o * a->in + i] = weight;
            both[beside ? (2 * o + 1) * a->in + i : (a->out + o) * a->in + i] = -weight;
        }
    }
    return both;
}

/* One axis after the other, but for one that stays. */
static struct nuc_node *insert_axes(const struct nuc_support *s, struct nuc_node *node, const struct map *m, bool parts)
{
    const int first = first_axis(m);
    const struct axis *a = &m->axes[first], *b = &m->axes[1 - first];
    struct nuc_node *x = nuc_operand(s->g, node, NUC_SELF), *one = NULL, *other = NULL;

    if (parts) {
        one = insert_matrix(s->g, node, with_negative(s->g, a, false), a->in, 2 * a->out);
        other = insert_matrix(s->g, node, with_negative(s->g, b, true), 2 * b->in, b->out);
        return nuc_built(s, node, "axes_in_parts", NUC_ARGS(x, first, one, other));
    }
    if (!stays(a))
        one = insert_matrix(s->g, node, a->matrix, a->in, a->out);
    if (!stays(b))
        other = insert_matrix(s->g, node, b->matrix, b->in, b->out);
    return nuc_built(s, node, "axes_in_turn", NUC_ARGS(x, first, one, other));
}

static struct nuc_node *insert_image(const struct nuc_support *s, struct nuc_node *node, const struct map *m)
{
    const struct axis *h = &m->axes[HEIGHT], *w = &m->axes[WIDTH];
    int64_t in = h->in * w->in, out = h->out * w->out;
    float *matrix = nuc_alloc_array(s->g->cx, (size_t)(in * out), sizeof *matrix);

    for (int64_t o = 0; o < out; o++) {
        for (int64_t i = 0; i < in; i++)
            matrix[o * in + i] = h->matrix[o / w->out * h->in + i / w->in] * w->matrix[o % w->out * w->in + i % w->in];
    }
    return nuc_built(s, node, "whole_image",
                     NUC_ARGS(nuc_operand(s->g, node, NUC_SELF), insert_matrix(s->g, node, matrix, in, out)));
}

/* ---- cycles ---- */

static uint64_t move_cycles(const struct nuc_support *s, const struct map *m, int64_t height, int64_t width)
{
    return nuc_estimate_move(s->target, (uint64_t)(m->batch * m->channels * height * width));
}

static uint64_t product_cycles(const struct nuc_support *s, int64_t rows, int64_t in, int64_t out)
{
    return nuc_estimate_product(s->target, (uint64_t)rows, (uint64_t)out, (uint64_t)in);
}

/* Channels are the last axis of what is around it. `parts`: of the value between the products. */
static uint64_t cycles_of_axes(const struct nuc_support *s, const struct map *m, int64_t parts)
{
    int64_t size[AXES] = {m->axes[HEIGHT].in, m->axes[WIDTH].in};
    uint64_t cycles = 0;

    for (int i = 0; i < AXES; i++) {
        int d = i == 0 ? first_axis(m) : 1 - first_axis(m);
        const struct axis *a = &m->axes[d];
        if (stays(a))
            continue;
        cycles += move_cycles(s, m, (i == 0 ? 1 : parts) * size[HEIGHT], size[WIDTH]);
        cycles += product_cycles(s, m->batch * m->channels * size[1 - d], (i == 0 ? 1 : parts) * a->in,
                                 (i == 0 ? parts : 1) * a->out);
        size[d] = a->out;
    }
    return cycles + move_cycles(s, m, size[HEIGHT], size[WIDTH]);
}

static uint64_t cycles_of_image(const struct nuc_support *s, const struct map *m)
{
    const struct axis *h = &m->axes[HEIGHT], *w = &m->axes[WIDTH];

    return move_cycles(s, m, h->in, w->in) + product_cycles(s, m->batch * m->channels, h->in * w->in, h->out * w->out) +
           move_cycles(s, m, h->out, w->out);
}

/*
 * A single pixel is broadcast, by the operator that reads it or by one more. Resampling reads four values for each that
 * it makes; a concatenation copies each of its parts by itself.
 */
static uint64_t cycles_of_repeats(const struct nuc_support *s, const struct map *m)
{
    int64_t h = repeats_of(&m->axes[HEIGHT]), w = repeats_of(&m->axes[WIDTH]);
    int64_t height = m->axes[HEIGHT].in, width = m->axes[WIDTH].in;
    uint64_t cycles = 0;

    if (height * width == 1)
        return move_cycles(s, m, h, w);
    while (h % 2 == 0 || w % 2 == 0) {
        height *= next_factor(&h);
        width *= next_factor(&w);
        cycles += move_cycles(s, m, 3 * height, width);
    }
    if (h > 1)
        cycles += (uint64_t)h * move_cycles(s, m, height, width);
    if (w > 1)
        cycles += (uint64_t)w * move_cycles(s, m, height * h, width);
    return cycles;
}

/* ---- the forms ---- */

/* What a convolution of so many channels asks of the target. */
static bool fits(const struct nuc_support *s, int64_t channels)
{
    return channels <= s->target->max_mac_buffer / s->target->num_macs * s->target->num_macs;
}

/* Of a convolution of each channel with ones; it takes as long as of all channels that the NPU computes at once. */
static uint64_t cycles_of_sums(const struct nuc_support *s, const struct nuc_node *pool)
{
    struct nuc_meta in = *nuc_input_meta(pool, NUC_SELF), out = pool->vals[0];
    struct nuc_node input = {.n_vals = 1, .vals = &in}, sums = *pool;
    struct nuc_arg *args = nuc_copy(s->g->cx, pool->args, pool->n_args * sizeof *args);

    in.sizes[CHANNELS] = out.sizes[CHANNELS] =
        (int64_t)nuc_npu_round_up((uint64_t)in.sizes[CHANNELS], s->target->num_macs);
    args[NUC_SELF] = nuc_node_arg(&input);
    sums.args = args;
    sums.vals = &out;
    return nuc_estimate_npu(s->target, &sums);
}

/* Means of windows that do not count the padding: else sums, and a factor behind them, which rounds them once more. */
static struct nuc_node *form_means(const struct nuc_support *s, struct nuc_node *node)
{
    if (!has_small_matrices(node) || nuc_flag(node, NUC_ARG(AVG_POOL2D, count_include_pad)) ||
        nuc_arg_at(node, NUC_ARG(AVG_POOL2D, divisor_override))->kind != NUC_ARG_NONE ||
        nuc_check_unquantized(s, node->op, node).ok)
        return NULL;
    const struct map m = map_of(s->g, node);
    const struct axis *h = &m.axes[HEIGHT], *w = &m.axes[WIDTH];
    int64_t parts = takes_parts(&m, nuc_arg_node(node, NUC_SELF)) ? 2 : 1;
    return fits(s, h->in * parts) && fits(s, w->in * parts) &&
                   cycles_of_axes(s, &m, parts) < cycles_of_sums(s, node) + move_cycles(s, &m, h->out, w->out)
               ? insert_axes(s, node, &m, parts == 2)
               : NULL;
}

/* On the CPU the value leaves the NPU and comes back, in float where there are no int8 kernels. */
static uint64_t cycles_of_cpu(const struct nuc_support *s, const struct nuc_node *node, bool has_windows)
{
    const struct nuc_costs *c = &s->target->costs;
    double values = (double)(nuc_elements(nuc_input_meta(node, NUC_SELF)) + nuc_elements(&node->vals[0]));
    struct nuc_node edge = *node;
    /* Kernels for means of windows have windows of one size. */
    bool in_float = s->target->cpu == NULL || (node->op == NUC_OP_ADAPTIVE_AVG_POOL2D && !has_windows);

    edge.op = edge_op(node);
    return nuc_estimate_cpu(s->target, &edge, in_float) + c->npu_call +
           (in_float ? nuc_cpu_cycles(&c->int8, values, c->int8.element) : 0);
}

/* More than the image is worth. */
#define MAX_IMAGE_WEIGHTS ((int64_t)1 << 16)

/* Of what the NPU does not have as it is: windows, where these are equal, else the cheapest by the cycle model. */
static struct nuc_node *form_resampling(const struct nuc_support *s, struct nuc_node *node)
{
    if (!has_small_matrices(node) || nuc_check_unquantized(s, edge_op(node), node).ok)
        return NULL;
    const struct map m = map_of(s->g, node);
    const struct axis *h = &m.axes[HEIGHT], *w = &m.axes[WIDTH];
    const struct windows of[AXES] = {windows_of(h), windows_of(w)};
    bool has_windows = of[HEIGHT].kernel > 0 && of[WIDTH].kernel > 0, fit = has_windows;
    for (int d = 0; d < AXES; d++)
        fit = fit && of[d].kernel <= s->target->max_window && of[d].stride <= s->target->max_window;
    if (fit)
        return insert_windows(s, node, of);
    int64_t parts = takes_parts(&m, nuc_arg_node(node, NUC_SELF)) ? 2 : 1;
    uint64_t repeats = UINT64_MAX, axes = UINT64_MAX, image = UINT64_MAX, cpu = cycles_of_cpu(s, node, has_windows);
    if (repeats_of(h) > 0 && repeats_of(w) > 0)
        repeats = cycles_of_repeats(s, &m);
    if (fits(s, h->in * parts) && fits(s, w->in * parts))
        axes = cycles_of_axes(s, &m, parts);
    if (fits(s, h->in * w->in) && h->out * w->out <= MAX_IMAGE_WEIGHTS / (h->in * w->in))
        image = cycles_of_image(s, &m);
    if (repeats < cpu && repeats <= axes && repeats <= image)
        return nuc_built(s, node, "repeated_pixels",
                         NUC_ARGS(nuc_operand(s->g, node, NUC_SELF), repeats_of(h), repeats_of(w)));
    if (axes < cpu && axes <= image)
        return insert_axes(s, node, &m, parts == 2);
    return image < cpu ? insert_image(s, node, &m) : NULL;
}

const struct nuc_npu_form nuc_linear_map_forms[] = {
    /*
     * upsample_bilinear2d, upsample_nearest2d and adaptive_avg_pool2d that the rules refuse: as a pooling of equal
     * windows; as repetitions of each pixel; as products with a matrix, one axis after the other or of the whole image
     * at once.
     */
    {NUC_OPS(NUC_OP_UPSAMPLE_BILINEAR, NUC_OP_UPSAMPLE_NEAREST, NUC_OP_ADAPTIVE_AVG_POOL2D), form_resampling},
    /* avg_pool2d without count_include_pad, one axis after the other. */
    {NUC_OPS(NUC_OP_AVG_POOL2D), form_means},
    {.form = NULL},
};
