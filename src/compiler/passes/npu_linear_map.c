/*
 * Operators that are linear along height and width with constant coefficients, and that the NPU has for few sizes only:
 * resampling, and average pooling into windows of unequal size. Along each axis they are the product with a constant
 * matrix: a convolution of one pixel, for which the axis takes the place of the channels.
 */
#include <assert.h>
#include <string.h>

#include "compiler/eval/eval.h"
#include "compiler/passes/npu_linear_map.h"
#include "compiler/support/estimate.h"

enum { HEIGHT, WIDTH, AXES };

/* Places of the axes of an image. */
enum { BATCH, CHANNELS, SPATIAL, IMAGE_RANK = 4 };

struct sizes {
    int64_t batch, channels, in[AXES], out[AXES];
};

static bool makes_images(const struct nuc_node *node)
{
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF), *out = &node->vals[0];

    return in->rank == IMAGE_RANK && out->rank == IMAGE_RANK && in->dtype == NUC_F32 && nuc_elements(in) > 0 &&
           nuc_elements(out) > 0;
}

static struct sizes sizes_of(const struct nuc_node *node)
{
    const int64_t *in = nuc_input_meta(node, NUC_SELF)->sizes, *out = node->vals[0].sizes;

    return (struct sizes){in[BATCH], in[CHANNELS], {in[SPATIAL], in[SPATIAL + 1]}, {out[SPATIAL], out[SPATIAL + 1]}};
}

/* Its arguments are in the same places. */
static enum nuc_op edge_op(const struct nuc_node *node)
{
    return node->op == NUC_OP_ADAPTIVE_AVG_POOL2D ? NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D : node->op;
}

/* Corners that are aligned leave an axis of one size as it is, and so does a window a pixel. */
static bool stays(const struct sizes *s, int d)
{
    return s->in[d] == s->out[d];
}

/* The axis that grows less is first: the image between has fewer pixels. */
static int first_axis(const struct sizes *s)
{
    return s->out[WIDTH] * s->in[HEIGHT] < s->out[HEIGHT] * s->in[WIDTH] ? WIDTH : HEIGHT;
}

/* ---- matrices ---- */

/*
 * [out, in] of an axis: what the operator makes of images that are one where a pixel of this axis is, an image for each
 * pixel, with a single pixel along the other axis.
 */
static const float *matrix_of(struct nuc_graph *g, const struct nuc_node *node, const struct sizes *s, int d)
{
    int64_t in = s->in[d], out = s->out[d], pixel[2] = {out, 1};
    struct nuc_graph *trial = nuc_graph_new(g->cx, g->file);
    struct nuc_meta meta = nuc_meta_make(NUC_F32, (int64_t[]){1, in, in, 1}, IMAGE_RANK);
    float *units = nuc_alloc_array(g->cx, (size_t)(in * in), sizeof *units);
    float *matrix = nuc_alloc_array(g->cx, (size_t)(in * out), sizeof *matrix);
    struct nuc_node *copy = nuc_add_node(trial, NULL, node->op, "axis");
    void *result[1] = {NULL};

    for (int64_t i = 0; i < in; i++)
        units[i * in + i] = 1.0f;
    nuc_set_arg_node(copy, trial, NUC_SELF, nuc_add_constant(trial, "units", &meta, units));
    for (uint32_t i = NUC_SELF + 1; i < node->n_args; i++) {
        const struct nuc_arg *a = &node->args[i];
        double factors[2] = {a->kind == NUC_ARG_FLOATS && a->count == AXES ? a->u.floats[d] : 1.0, 1.0};
        copy->args[i] = *a;
        if (a->kind == NUC_ARG_INTS)
            nuc_set_arg_ints(copy, trial, i, pixel, 2);
        else if (a->kind == NUC_ARG_FLOATS)
            copy->args[i].u.floats = nuc_copy(g->cx, factors, sizeof factors);
    }
    nuc_infer_shape(trial, copy);
    bool computed = nuc_eval_constant(trial, copy, result);
    assert(computed);
    (void)computed;
    const float *columns = result[0];
    for (int64_t i = 0; i < in; i++) {
        for (int64_t o = 0; o < out; o++)
            matrix[o * in + i] = columns[i * out + o];
    }
    return matrix;
}

static struct nuc_node *multiply(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *value,
                                 const float *matrix, int64_t in, int64_t out)
{
    const int64_t sizes[] = {out, in, 1, 1};
    struct nuc_node *weight = nuc_insert_floats(g, node, matrix, sizes, 4);

    return nuc_emit(g, node, NUC_OP_CONV2D, node, NUC_ARGS(nuc_node_arg(value), nuc_node_arg(weight)));
}

/* ---- one axis after the other ---- */

/* The axes in the order `to` of a value that has them in the order `from`. */
static struct nuc_node *in_order(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *value, int64_t *from,
                                 const int64_t *to)
{
    int64_t dims[IMAGE_RANK];

    for (int i = 0; i < IMAGE_RANK; i++) {
        for (int k = 0; k < IMAGE_RANK; k++)
            dims[i] = from[k] == to[i] ? k : dims[i];
    }
    memcpy(from, to, sizeof dims);
    return nuc_insert_permuted(g, node, value, dims);
}

struct nuc_node *nuc_form_axes(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *value = nuc_operand(g, node, NUC_SELF);
    static const int64_t image[IMAGE_RANK] = {BATCH, CHANNELS, SPATIAL + HEIGHT, SPATIAL + WIDTH};
    int64_t order[IMAGE_RANK];
    struct sizes s = sizes_of(node);

    memcpy(order, image, sizeof order);
    for (int i = 0; i < AXES; i++) {
        int d = i == 0 ? first_axis(&s) : 1 - first_axis(&s);
        const int64_t pixels[IMAGE_RANK] = {BATCH, SPATIAL + d, CHANNELS, SPATIAL + 1 - d};
        if (stays(&s, d))
            continue;
        value = in_order(g, node, value, order, pixels);
        value = multiply(g, node, value, matrix_of(g, node, &s, d), s.in[d], s.out[d]);
    }
    return in_order(g, node, value, order, image);
}

/* ---- cycles ---- */

static uint64_t product_cycles(const struct nuc_support *s, int64_t rows, int64_t in, int64_t out)
{
    return nuc_estimate_product(s->target, (uint64_t)rows, (uint64_t)out, (uint64_t)in);
}

/* Channels are the last axis of what is around it. */
static uint64_t cycles_of_axes(const struct nuc_support *s, const struct sizes *z)
{
    int64_t rows = z->batch * z->channels, size[AXES] = {z->in[HEIGHT], z->in[WIDTH]};
    uint64_t cycles = 0;

    for (int i = 0; i < AXES; i++) {
        int d = i == 0 ? first_axis(z) : 1 - first_axis(z);
        if (stays(z, d))
            continue;
        cycles += nuc_estimate_move(s->target, (uint64_t)(rows * size[HEIGHT] * size[WIDTH]));
        cycles += product_cycles(s, rows * size[1 - d], z->in[d], z->out[d]);
        size[d] = z->out[d];
    }
    return cycles + nuc_estimate_move(s->target, (uint64_t)(rows * size[HEIGHT] * size[WIDTH]));
}

/* On the CPU the value leaves the NPU and comes back, in float where there are no int8 kernels. */
static uint64_t cycles_of_cpu(const struct nuc_support *s, const struct nuc_node *node, const struct sizes *z)
{
    const struct nuc_costs *c = &s->target->costs;
    int64_t planes = z->batch * z->channels;
    double values = (double)planes * (double)(z->in[HEIGHT] * z->in[WIDTH] + z->out[HEIGHT] * z->out[WIDTH]);
    struct nuc_node edge = *node;

    edge.op = edge_op(node);
    uint64_t cycles = nuc_estimate_cpu(s->target, &edge) + c->npu_call;

    return s->target->cpu != NULL ? cycles : cycles + nuc_cpu_cycles(c, -1, values, c->cpu_element);
}

/* ---- conditions ---- */

/* The constants of an axis are computed, and stored, up to this number of elements. */
#define MAX_MATRIX ((int64_t)1 << 20)

/* What a convolution of so many channels asks of the target. */
static bool fits(const struct nuc_support *s, int64_t channels)
{
    return channels <= s->target->max_mac_buffer / s->target->num_macs * s->target->num_macs;
}

static bool has_small_matrices(const struct nuc_support *s, const struct sizes *z)
{
    for (int d = 0; d < AXES; d++) {
        if (!fits(s, z->in[d]) || z->in[d] * z->out[d] > MAX_MATRIX || z->in[d] * z->in[d] > MAX_MATRIX)
            return false;
    }
    return true;
}

/* The NPU does not have it as it is. */
static bool is_refused(const struct nuc_support *s, const struct nuc_node *node)
{
    return !nuc_check_unquantized(s, edge_op(node), node).ok;
}

bool nuc_form_axes_applies(const struct nuc_support *s, const struct nuc_node *node)
{
    if (!makes_images(node) || !is_refused(s, node))
        return false;
    struct sizes z = sizes_of(node);
    return has_small_matrices(s, &z) && cycles_of_axes(s, &z) < cycles_of_cpu(s, node, &z);
}
