/*
 * Expansions of resizing. One and three spatial dimensions are images in turn; where torch weighs more than two
 * neighbours (bicubic, antialias), each dimension is a product with a constant matrix. Source of the positions and
 * weights: aten/src/ATen/native/UpSample.h and cpu/UpSampleKernel.cpp.
 */
#include <math.h>

#include "rewrite/expand/expand.h"

#define MAX_SPATIAL 3

/* What the arguments say: sizes of the result, and the factors where these, not the sizes, decide the positions. */
struct resize {
    uint32_t spatial;
    bool align_corners, has_factors;
    int64_t in[MAX_SPATIAL], out[MAX_SPATIAL];
    double factors[MAX_SPATIAL];
};

/* Arguments of the .vec overloads by position; NUC_ARG of one that has them in the same places. */
#define SIZE NUC_ARG(UPSAMPLE_LINEAR1D, output_size)
#define ALIGN NUC_ARG(UPSAMPLE_LINEAR1D, align_corners)

static void read_factors(struct resize *r, const struct nuc_arg *factors)
{
    r->has_factors = factors->kind == NUC_ARG_FLOATS && factors->count == r->spatial;
    for (uint32_t i = 0; r->has_factors && i < r->spatial; i++)
        r->factors[i] = factors->u.floats[i];
}

static void read_sizes(struct resize *r, const struct nuc_meta *in, const struct nuc_meta *out)
{
    for (uint32_t i = 0; i < r->spatial; i++) {
        r->in[i] = in->sizes[2 + i];
        r->out[i] = out->sizes[2 + i];
    }
}

/* `align`, `factors`: positions of these arguments; the sizes of the result are those that the archive states. */
static struct resize read_resize(struct nuc_graph *g, const struct nuc_node *node, uint32_t align, uint32_t factors)
{
    const struct nuc_meta *in = &nuc_operand(g, node, NUC_SELF)->vals[0], *out = &node->vals[0];
    struct resize r = {.align_corners = nuc_flag(node, align)};

    if (in->rank < 3 || in->rank > 2 + MAX_SPATIAL || out->rank != in->rank)
        nuc_expand_fail(g, node, "%s has not 1 to 3 spatial dimensions", nuc_meta_text(g->cx, in));
    r.spatial = in->rank - 2u;
    read_sizes(&r, in, out);
    for (uint32_t i = 0; i < r.spatial; i++) {
        if (r.in[i] < 1 || r.out[i] < 1)
            nuc_expand_fail(g, node, "makes %lld of %lld elements", (long long)r.out[i], (long long)r.in[i]);
    }
    read_factors(&r, nuc_arg_at(node, factors));
    return r;
}

/* ---- one and three dimensions as images ---- */

/* The image with two dimensions resized, of which `of` is the first in `r` or, alone, the second. */
static struct nuc_node *insert_resize(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op,
                                      struct nuc_node *image, const struct resize *r, const uint32_t of[2])
{
    int64_t sizes[2];
    double factors[2];

    for (uint32_t d = 0; d < 2; d++) {
        bool resized = of[d] < r->spatial;
        sizes[d] = resized ? r->out[of[d]] : image->vals[0].sizes[2 + d];
        factors[d] = resized && r->has_factors ? r->factors[of[d]] : 1.0;
    }
    struct nuc_node *resize = nuc_insert(g, node, op, node);
    uint32_t at = op == NUC_OP_UPSAMPLE_BILINEAR ? NUC_ARG(UPSAMPLE_BILINEAR, scale_factors)
                                                 : NUC_ARG(UPSAMPLE_NEAREST, scale_factors);
    nuc_set_arg_node(resize, g, NUC_SELF, image);
    if (op == NUC_OP_UPSAMPLE_BILINEAR)
        nuc_set_arg_bool(resize, NUC_ARG(UPSAMPLE_BILINEAR, align_corners), r->align_corners);
    if (r->has_factors)
        resize->args[at] = (struct nuc_arg){
            .kind = NUC_ARG_FLOATS, .given = true, .count = 2, .u.floats = nuc_copy(g->cx, factors, sizeof factors)};
    else
        nuc_set_arg_ints(resize, g, SIZE, sizes, 2);
    nuc_infer_shape(g, resize);
    return resize;
}

/* In the shape that the archive states. */
static struct nuc_node *in_stated_shape(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *value)
{
    return nuc_insert_reshaped(g, node, value, node->vals[0].sizes, node->vals[0].rank);
}

static struct nuc_node *resize_row(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, const struct resize *r)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    const int64_t *s = input->vals[0].sizes, image[] = {s[0], s[1], 1, s[2]};
    static const uint32_t of[] = {UINT32_MAX, 0};

    return in_stated_shape(g, node, insert_resize(g, node, op, nuc_insert_reshaped(g, node, input, image, 4), r, of));
}

static struct nuc_node *resize_volume(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op,
                                      const struct resize *r)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_SELF);
    const int64_t *s = input->vals[0].sizes, planes[] = {s[0], s[1] * s[2], s[3], s[4]};
    const int64_t columns[] = {s[0], s[1], s[2], r->out[1] * r->out[2]};
    static const uint32_t plane_of[] = {1, 2}, depth_of[] = {0, UINT32_MAX};
    struct nuc_node *plane = insert_resize(g, node, op, nuc_insert_reshaped(g, node, input, planes, 4), r, plane_of);

    return in_stated_shape(g, node,
                           insert_resize(g, node, op, nuc_insert_reshaped(g, node, plane, columns, 4), r, depth_of));
}

static struct nuc_node *expand_linear_resize(struct nuc_graph *g, struct nuc_node *node)
{
    struct resize r = read_resize(g, node, ALIGN, NUC_ARG(UPSAMPLE_LINEAR1D, scale_factors));

    return r.spatial == 1 ? resize_row(g, node, NUC_OP_UPSAMPLE_BILINEAR, &r)
                          : resize_volume(g, node, NUC_OP_UPSAMPLE_BILINEAR, &r);
}

/* ---- nearest, by corners and by pixel centres ---- */

/* Input positions per output position. */
static float ratio(const struct resize *r, uint32_t d)
{
    if (r->align_corners)
        return r->out[d] > 1 ? (float)(r->in[d] - 1) / (float)(r->out[d] - 1) : 0.0f;
    if (r->has_factors && r->factors[d] > 0.0)
        return (float)(1.0 / r->factors[d]);
    return (float)r->in[d] / (float)r->out[d];
}

/* Input pixels by the positions of output pixels, `offset` away from their corners. */
static struct nuc_node *take_nearest(struct nuc_graph *g, struct nuc_node *node, const struct resize *r, float offset)
{
    struct nuc_node *value = nuc_operand(g, node, NUC_SELF);

    for (uint32_t d = 0; d < r->spatial; d++) {
        int64_t *indices = nuc_alloc_array(g->cx, (size_t)r->out[d], sizeof *indices);
        for (int64_t i = 0; i < r->out[d]; i++) {
            float at = floorf(((float)i + offset) * ratio(r, d));
            indices[i] = at < (float)r->in[d] ? (int64_t)at : r->in[d] - 1;
        }
        value = nuc_insert_taken(g, node, value, 2 + d, indices, r->out[d]);
    }
    return value;
}

/* Where an image stays as large or doubles, torch goes by the sizes (nearest_idx() of UpSample.h). */
static void go_by_sizes(struct resize *r)
{
    for (uint32_t d = 0; r->has_factors && d < r->spatial; d++) {
        if (r->out[d] == r->in[d] || r->out[d] == 2 * r->in[d])
            r->factors[d] = r->out[d] == r->in[d] ? 1.0 : 2.0;
    }
}

static bool factors_hold(const struct resize *r)
{
    struct resize by_sizes = *r;

    go_by_sizes(&by_sizes);
    for (uint32_t d = 0; r->has_factors && d < r->spatial; d++) {
        if (!nuc_numbers_equal(r->factors[d], by_sizes.factors[d]))
            return false;
    }
    return true;
}

/* Rows and volumes, where the factors hold; what they become are images. */
static struct nuc_node *expand_nearest(struct nuc_graph *g, struct nuc_node *node)
{
    struct resize r = read_resize(g, node, UINT32_MAX, NUC_ARG(UPSAMPLE_NEAREST1D, scale_factors));

    if (!factors_hold(&r))
        return take_nearest(g, node, &r, 0.0f);
    return r.spatial == 1 ? resize_row(g, node, NUC_OP_UPSAMPLE_NEAREST, &r)
                          : resize_volume(g, node, NUC_OP_UPSAMPLE_NEAREST, &r);
}

static struct nuc_node *expand_nearest_image(struct nuc_graph *g, struct nuc_node *node)
{
    struct resize r = read_resize(g, node, UINT32_MAX, NUC_ARG(UPSAMPLE_NEAREST, scale_factors));
    static const uint32_t both[] = {0, 1};

    go_by_sizes(&r);
    return insert_resize(g, node, NUC_OP_UPSAMPLE_NEAREST, nuc_operand(g, node, NUC_SELF), &r, both);
}

static bool has_other_factors(const struct nuc_node *node)
{
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF), *out = &node->vals[0];
    struct resize r = {.spatial = 2};

    if (in->rank != 4 || out->rank != 4)
        return false;
    read_sizes(&r, in, out);
    read_factors(&r, nuc_arg_at(node, NUC_ARG(UPSAMPLE_NEAREST, scale_factors)));
    return !factors_hold(&r);
}

/* Where every pixel is repeated a whole number of times, it is the nearest by corners as well. */
static bool repeats(const struct resize *r)
{
    for (uint32_t d = 0; d < r->spatial; d++) {
        bool whole = r->out[d] % r->in[d] == 0;
        if (!whole || (r->has_factors && !nuc_numbers_equal(r->factors[d], (double)(r->out[d] / r->in[d]))))
            return false;
    }
    return true;
}

static struct nuc_node *expand_nearest_exact(struct nuc_graph *g, struct nuc_node *node)
{
    struct resize r = read_resize(g, node, UINT32_MAX, NUC_ARG(UPSAMPLE_NEAREST_EXACT2D, scale_factors));
    static const uint32_t both[] = {0, 1};

    return r.spatial == 2 && repeats(&r)
               ? insert_resize(g, node, NUC_OP_UPSAMPLE_NEAREST, nuc_operand(g, node, NUC_SELF), &r, both)
               : take_nearest(g, node, &r, 0.5f);
}

/* ---- products with constant matrices ---- */

/* Keys' kernel with parameter a: 1 at 0, 0 at other whole numbers. */
static double cubic(double x, double a)
{
    x = fabs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double triangle(double x)
{
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

/* torch's bicubic interpolation has a = -0.75; with antialias, as PIL, -0.5. */
#define PLAIN_A (-0.75)
#define ANTIALIAS_A (-0.5)

#define MAX_WEIGHTS ((int64_t)1 << 24)

enum kernel { CUBIC, ANTIALIAS_LINEAR, ANTIALIAS_CUBIC };

/* [out, in]: the weight of a linear layer along the dimension. */
static struct nuc_node *insert_matrix(struct nuc_graph *g, struct nuc_node *node, const struct resize *r, uint32_t d,
                                      enum kernel kernel)
{
    const int64_t sizes[] = {r->out[d], r->in[d]};
    double scale = (double)ratio(r, d);

    if (r->out[d] > MAX_WEIGHTS / r->in[d])
        nuc_expand_fail(g, node, "makes %lld of %lld elements, which takes too large a matrix: resize in two steps",
                        (long long)r->out[d], (long long)r->in[d]);
    float *matrix = nuc_alloc_array(g->cx, (size_t)(r->out[d] * r->in[d]), sizeof *matrix);
    for (int64_t i = 0; i < r->out[d]; i++) {
        float *row = matrix + i * r->in[d];
        if (kernel == CUBIC) {
            /* Four neighbours; those outside stand for the pixel at the edge. */
            int64_t in = r->in[d];
            double at = r->align_corners ? scale * (double)i : scale * ((double)i + 0.5) - 0.5;
            double first = floor(at);
            for (int k = -1; k <= 2; k++) {
                double place = first + k;
                int64_t index = place < 0 ? 0 : place < (double)in ? (int64_t)place : in - 1;
                row[index] += (float)cubic(at - place, PLAIN_A);
            }
        } else {
            /* All pixels that the kernel, as wide as an output pixel, covers; weights sum up to 1. */
            int64_t in = r->in[d];
            bool is_cubic = kernel == ANTIALIAS_CUBIC;
            double reach = (is_cubic ? 2.0 : 1.0) * (scale >= 1 ? scale : 1.0), shrink = scale >= 1 ? 1 / scale : 1.0;
            double centre = scale * ((double)i + 0.5), sum = 0;
            int64_t from = (int64_t)(centre - reach + 0.5), to = (int64_t)(centre + reach + 0.5);

            from = from < 0 ? 0 : from;
            to = to < in ? to : in;
            for (int64_t k = from; k < to; k++) {
                double x = ((double)k - centre + 0.5) * shrink;
                row[k] = (float)(is_cubic ? cubic(x, ANTIALIAS_A) : triangle(x));
                sum += (double)row[k];
            }
            for (int64_t k = from; k < to; k++)
                row[k] = (float)((double)row[k] / sum);
        }
    }
    return nuc_insert_floats(g, node, matrix, sizes, 2);
}

static struct nuc_node *by_matrices(struct nuc_graph *g, struct nuc_node *node, const struct resize *r,
                                    enum kernel kernel)
{
    struct nuc_node *value = nuc_operand(g, node, NUC_SELF);

    for (uint32_t d = r->spatial; d-- > 0;) {
        bool same = r->in[d] == r->out[d] && (r->align_corners || nuc_numbers_equal((double)ratio(r, d), 1.0));
        if (!same)
            value = nuc_insert_along(g, node, value, 2 + d, insert_matrix(g, node, r, d, kernel));
    }
    return value;
}

static struct nuc_node *expand_bicubic(struct nuc_graph *g, struct nuc_node *node)
{
    struct resize r = read_resize(g, node, ALIGN, NUC_ARG(UPSAMPLE_BICUBIC2D, scale_factors));

    return by_matrices(g, node, &r, CUBIC);
}

static struct nuc_node *expand_antialias(struct nuc_graph *g, struct nuc_node *node)
{
    struct resize r = read_resize(g, node, ALIGN, NUC_ARG(UPSAMPLE_BICUBIC_AA, scale_factors));

    return by_matrices(g, node, &r, node->op == NUC_OP_UPSAMPLE_BICUBIC_AA ? ANTIALIAS_CUBIC : ANTIALIAS_LINEAR);
}

/* ---- sizes and factors apart ---- */

static struct nuc_node *expand_resize_to_size(struct nuc_graph *g, struct nuc_node *node)
{
    static const uint32_t both[] = {0, 1};
    bool nearest = node->op == NUC_OP_UPSAMPLE_NEAREST_SIZE;
    struct resize r =
        read_resize(g, node, nearest ? UINT32_MAX : NUC_ARG(UPSAMPLE_BILINEAR_SIZE, align_corners), UINT32_MAX);

    if (r.spatial != 2)
        nuc_expand_fail(g, node, "resizes %u dimensions instead of 2", (unsigned)r.spatial);
    /* The overloads of decomposed archives: the factors decide where they are given. */
    uint32_t first = nearest ? NUC_ARG(UPSAMPLE_NEAREST_SIZE, scales_h) : NUC_ARG(UPSAMPLE_BILINEAR_SIZE, scales_h);
    r.has_factors =
        nuc_arg_at(node, first)->kind == NUC_ARG_FLOAT && nuc_arg_at(node, first + 1)->kind == NUC_ARG_FLOAT;
    for (uint32_t d = 0; r.has_factors && d < 2; d++)
        r.factors[d] = nuc_scalar(node, first + d, 1.0);
    /* Factors that lead to other sizes say less than the sizes. */
    for (uint32_t d = 0; r.has_factors && d < 2; d++)
        r.has_factors = (int64_t)((double)r.in[d] * r.factors[d]) == r.out[d];
    switch ((int)node->op) {
    case NUC_OP_UPSAMPLE_BICUBIC_SIZE:
        return by_matrices(g, node, &r, CUBIC);
    case NUC_OP_UPSAMPLE_BILINEAR_AA_SIZE:
        return by_matrices(g, node, &r, ANTIALIAS_LINEAR);
    case NUC_OP_UPSAMPLE_BICUBIC_AA_SIZE:
        return by_matrices(g, node, &r, ANTIALIAS_CUBIC);
    case NUC_OP_UPSAMPLE_NEAREST_SIZE:
        go_by_sizes(&r);
        break;
    default:
        break;
    }
    return insert_resize(g, node, nearest ? NUC_OP_UPSAMPLE_NEAREST : NUC_OP_UPSAMPLE_BILINEAR,
                         nuc_operand(g, node, NUC_SELF), &r, both);
}

/* ---- grids ---- */

/* Centres of pixels from -1 to 1 along a dimension: at the corners, or half a pixel inside. */
static double grid_at(int64_t i, int64_t size, bool align_corners)
{
    if (size <= 1)
        return 0;
    double at = -1 + 2 * (double)i / (double)(size - 1);
    return align_corners ? at : at * (double)(size - 1) / (double)size;
}

/* theta [N, s, s + 1] times (x, y[, z], 1) of every pixel. */
static struct nuc_node *expand_affine_grid(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *theta = nuc_operand(g, node, NUC_SELF);
    const struct nuc_meta *out = &node->vals[0];
    uint32_t spatial = out->rank - 2u;
    bool align = nuc_flag(node, NUC_ARG(AFFINE_GRID_GENERATOR, align_corners));
    int64_t pixels = 1;

    if (out->rank < 4 || out->rank > 5)
        nuc_expand_fail(g, node, "makes %s instead of a grid of 2 or 3 dimensions", nuc_meta_text(g->cx, out));
    for (uint32_t d = 0; d < spatial; d++)
        pixels *= out->sizes[1 + d];
    const int64_t sizes[] = {pixels, spatial + 1};
    float *base = nuc_alloc_array(g->cx, (size_t)pixels, (spatial + 1) * sizeof *base);
    for (int64_t i = 0; i < pixels; i++) {
        int64_t rest = i;
        /* The last dimension is x. */
        for (uint32_t d = 0; d < spatial; d++) {
            int64_t size = out->sizes[spatial - d];
            base[i * (spatial + 1) + d] = (float)grid_at(rest % size, size, align);
            rest /= size;
        }
        base[i * (spatial + 1) + spatial] = 1.0f;
    }
    struct nuc_node *matrix = nuc_emit(g, node, NUC_OP_TRANSPOSE, node, NUC_ARGS(theta, 1, 2));
    struct nuc_node *grid =
        nuc_emit(g, node, NUC_OP_MATMUL, node, NUC_ARGS(nuc_insert_floats(g, node, base, sizes, 2), matrix));
    return in_stated_shape(g, node, grid);
}

const struct nuc_expansion nuc_resize_expansions[] = {
    {.op = NUC_OP_UPSAMPLE_NEAREST, .expand = expand_nearest_image, .applies = has_other_factors},
    {.op = NUC_OP_UPSAMPLE_NEAREST1D, .expand = expand_nearest},
    {.op = NUC_OP_UPSAMPLE_NEAREST3D, .expand = expand_nearest},
    {.op = NUC_OP_UPSAMPLE_NEAREST_EXACT1D, .expand = expand_nearest_exact},
    {.op = NUC_OP_UPSAMPLE_NEAREST_EXACT2D, .expand = expand_nearest_exact},
    {.op = NUC_OP_UPSAMPLE_NEAREST_EXACT3D, .expand = expand_nearest_exact},
    {.op = NUC_OP_UPSAMPLE_LINEAR1D, .expand = expand_linear_resize},
    {.op = NUC_OP_UPSAMPLE_TRILINEAR3D, .expand = expand_linear_resize},
    {.op = NUC_OP_UPSAMPLE_BICUBIC2D, .expand = expand_bicubic},
    {.op = NUC_OP_UPSAMPLE_BILINEAR_AA, .expand = expand_antialias},
    {.op = NUC_OP_UPSAMPLE_BICUBIC_AA, .expand = expand_antialias},
    {.op = NUC_OP_UPSAMPLE_BILINEAR_AA_SIZE, .expand = expand_resize_to_size},
    {.op = NUC_OP_UPSAMPLE_BICUBIC_AA_SIZE, .expand = expand_resize_to_size},
    {.op = NUC_OP_UPSAMPLE_BILINEAR_SIZE, .expand = expand_resize_to_size},
    {.op = NUC_OP_UPSAMPLE_NEAREST_SIZE, .expand = expand_resize_to_size},
    {.op = NUC_OP_UPSAMPLE_BICUBIC_SIZE, .expand = expand_resize_to_size},
    {.op = NUC_OP_AFFINE_GRID_GENERATOR, .expand = expand_affine_grid},
    {.expand = NULL},
};
