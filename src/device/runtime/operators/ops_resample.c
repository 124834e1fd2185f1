/* Images in other sizes, and sampled at the positions of a grid. */
#include "device/runtime/operators/op_shapes.h"

/* ---- other sizes ---- */

/* Batch, channels, height, width on both sides, and input positions per output position. */
static bool upsample(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out,
                     const struct nuc_value *output_size, const struct nuc_value *scale_factors,
                     struct nuc_upsample2d *u)
{
    bool sized = output_size->kind == NUC_VALUE_INTS;
    ptrdiff_t in_strides[NUC_MAX_RANK];
    ptrdiff_t out_strides[NUC_MAX_RANK];

    if (!nuc_need(cx, in->sizes[0] == out->sizes[0] && in->sizes[1] == out->sizes[1],
                  NUC_TEXT("arguments 'input' and 'out' are not images of one batch and channels")) ||
        !nuc_need(cx, sized != (scale_factors->kind == NUC_VALUE_DOUBLES),
                  NUC_TEXT("not one of arguments 'output_size' and 'scale_factors' is given")))
        return false;
    bool fits = (sized ? output_size : scale_factors)->u.list.count == 2;
    u->batch = in->sizes[0];
    u->channels = in->sizes[1];
    nuc_tensor_strides(in, in_strides);
    nuc_tensor_strides(out, out_strides);
    for (int d = 0; d < 4; d++) {
        u->in_strides[d] = in_strides[d];
        u->out_strides[d] = out_strides[d];
    }
    for (uint32_t d = 0; fits && d < 2; d++) {
        int32_t from = u->in_size[d] = in->sizes[2 + d], to = u->out_size[d] = out->sizes[2 + d];
        double factor = sized ? (double)to / (double)from : nuc_list_double(scale_factors, d);
        double size = (double)from * factor;
        fits = sized ? nuc_list_int(cx, output_size, d) == to
                     : factor > 0.0 && size >= 0.0 && size < 2147483648.0 && (int32_t)size == to;
        if (!u->align_corners)
            u->scale[d] = (float)(1.0 / factor);
        else
            u->scale[d] = to > 1 ? (float)((double)(from - 1) / (double)(to - 1)) : 0.0f;
    }
    return nuc_need(cx, fits, NUC_TEXT("argument 'out' has the wrong height or width"));
}

enum nuc_status nuc_op_upsample_bilinear2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_upsample_bilinear2d *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    struct nuc_upsample2d u = {.align_corners = a->align_corners->u.b};

    if (!upsample(cx, in, out, a->output_size, a->scale_factors, &u))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_upsample_bilinear_f32(&u, in->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_upsample_nearest2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_upsample_nearest2d *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    struct nuc_upsample2d u = {.align_corners = false};

    if (!upsample(cx, in, out, a->output_size, a->scale_factors, &u))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_upsample_nearest(&u, nuc_element_size(in), in->data, out->data);
    return NUC_OK;
}

/* ---- images and volumes at the positions of a grid ---- */

/* Strides of an image are those of a volume of depth 1. */
static void volume_strides(const struct nuc_tensor *t, uint32_t before_depth, ptrdiff_t out[5])
{
    ptrdiff_t strides[NUC_MAX_RANK];
    uint32_t at = 0;

    nuc_tensor_strides(t, strides);
    for (uint32_t d = 0; d < 5; d++)
        out[d] = t->rank == 4 && d == before_depth ? 0 : strides[at++];
}

static bool sizes_fit(const struct nuc_tensor *in, const struct nuc_tensor *grid, const struct nuc_tensor *out)
{
    uint32_t spatial = in->rank - 2u;

    if (grid->rank != in->rank || out->rank != in->rank || grid->sizes[0] != in->sizes[0] ||
        out->sizes[0] != in->sizes[0] || out->sizes[1] != in->sizes[1] || grid->sizes[in->rank - 1] != (int32_t)spatial)
        return false;
    for (uint32_t d = 0; d < spatial; d++) {
        if (out->sizes[2 + d] != grid->sizes[1 + d] || in->sizes[2 + d] < 1)
            return false;
    }
    return true;
}

static bool read_sizes(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *grid,
                       const struct nuc_tensor *out, uint32_t rank, enum nuc_grid_mode last, struct nuc_grid *g)
{
    if (!nuc_need(cx, in->rank == rank && sizes_fit(in, grid, out),
                  NUC_TEXT("arguments 'input', 'grid' and 'out' do not fit each other")) ||
        !nuc_need(cx, g->mode <= last && g->padding <= NUC_GRID_REFLECTION,
                  NUC_TEXT("argument 'interpolation_mode' or 'padding_mode' is out of range")))
        return false;
    g->batch = in->sizes[0];
    g->channels = in->sizes[1];
    g->spatial = (int32_t)rank - 2;
    for (uint32_t d = 0; d < 3; d++) {
        g->in_size[d] = d + rank < 5 ? 1 : in->sizes[d + rank - 3];
        g->out_size[d] = d + rank < 5 ? 1 : out->sizes[d + rank - 3];
    }
    volume_strides(in, 2, g->in_strides);
    volume_strides(grid, 1, g->grid_strides);
    volume_strides(out, 2, g->out_strides);
    return true;
}

static enum nuc_status grid_sample(struct nuc_kernel_context *cx, struct nuc_value *const *args, uint32_t rank)
{
    const struct nuc_args_grid_sampler *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *grid = &a->grid->u.tensor, *out = &a->out->u.tensor;
    struct nuc_grid g = {.mode = (enum nuc_grid_mode)a->interpolation_mode->u.i,
                         .padding = (enum nuc_grid_padding)a->padding_mode->u.i,
                         .align_corners = a->align_corners->u.b};

    if (!read_sizes(cx, in, grid, out, rank, rank == 4 ? NUC_GRID_BICUBIC : NUC_GRID_NEAREST, &g))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_grid_sample_f32(&g, in->data, grid->data, out->data);
    return NUC_OK;
}

/* Positions that fit the kernel's sums: x first in the program. */
static bool read_positions(struct nuc_kernel_context *cx, const struct nuc_args_int8_grid_sampler *a,
                           struct nuc_grid_int *g)
{
    bool fits = g->sizes.in_size[1] <= NUC_MOST_GRID_SIZE && g->sizes.in_size[2] <= NUC_MOST_GRID_SIZE &&
                a->steps->u.list.count == 2 && a->starts->u.list.count == 2;

    for (uint32_t d = 0; fits && d < 2; d++) {
        int64_t step = nuc_list_int(cx, a->steps, d), start = nuc_list_int(cx, a->starts, d);
        fits = step >= 0 && step <= INT32_MAX && start >= -NUC_MOST_GRID_START && start <= NUC_MOST_GRID_START;
        g->step[2 - d] = (int32_t)step;
        g->start[2 - d] = start;
    }
    return fits;
}

enum nuc_status nuc_op_int8_grid_sampler(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_grid_sampler *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *grid = &a->grid->u.tensor, *out = &a->out->u.tensor;
    struct nuc_grid_int g = {.sizes = {.mode = (enum nuc_grid_mode)a->interpolation_mode->u.i,
                                       .padding = (enum nuc_grid_padding)a->padding_mode->u.i,
                                       .align_corners = a->align_corners->u.b},
                             .zero_point = nuc_int32(a->zero_point)};

    if (!read_sizes(cx, in, grid, out, 4, NUC_GRID_NEAREST, &g.sizes) ||
        !nuc_need(cx, read_positions(cx, a, &g),
                  NUC_TEXT("argument 'steps' or 'starts' is out of range, or 'input' is too large")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_grid_sample_int(&g, (enum nuc_dtype)in->dtype, (enum nuc_dtype)grid->dtype, in->data, grid->data,
                                   out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_grid_sampler_2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return grid_sample(cx, args, 4);
}

enum nuc_status nuc_op_grid_sampler_3d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return grid_sample(cx, args, 5);
}
