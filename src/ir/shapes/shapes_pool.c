/* Shape rules of pooling and upsampling: inputs [N, C, ...], or [C, ...] without a batch for pooling. */
#include <string.h>

#include "ir/args.h"
#include "ir/shapes/shapes.h"

/* ---- pooling ---- */

#define POOL(name) NUC_ARG(MAX_POOL2D, name)

struct pool {
    uint32_t spatial; /* number of spatial dimensions, 1 or 2 */
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    bool ceil_mode;
};

static int64_t pool_size(const struct nuc_shape_call *c, const struct pool *p, uint32_t i, int64_t in)
{
    if (p->kernel[i] < 1 || p->stride[i] < 1 || p->dilation[i] < 1 || p->padding[i] < 0 ||
        p->padding[i] > p->kernel[i] / 2)
        nuc_shape_fail(c, "kernel %lld, stride %lld, padding %lld and dilation %lld make no pooling window",
                       (long long)p->kernel[i], (long long)p->stride[i], (long long)p->padding[i],
                       (long long)p->dilation[i]);
    int64_t span = in + 2 * p->padding[i] - p->dilation[i] * (p->kernel[i] - 1) - 1;
    if (p->ceil_mode)
        span += p->stride[i] - 1;
    if (span < 0)
        nuc_shape_fail(c, "a window of %lld does not fit the padded input of %lld", (long long)p->kernel[i],
                       (long long)in);
    int64_t out = span / p->stride[i] + 1;
    /* The last window starts inside the input or its left padding. */
    if (p->ceil_mode && (out - 1) * p->stride[i] >= in + p->padding[i])
        out--;
    return out;
}

static const struct nuc_meta *pool_input(const struct nuc_shape_call *c, uint32_t spatial)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);

    if (in->rank != spatial + 1 && in->rank != spatial + 2)
        nuc_shape_fail(c, "the input has rank %d; %u-D pooling expects %u or %u", in->rank, (unsigned)spatial,
                       (unsigned)spatial + 1, (unsigned)spatial + 2);
    return in;
}

static struct nuc_meta pool_meta(const struct nuc_shape_call *c, const struct pool *p)
{
    const struct nuc_meta *in = pool_input(c, p->spatial);
    struct nuc_meta m = *in;
    uint32_t first = m.rank - p->spatial;

    for (uint32_t i = 0; i < p->spatial; i++)
        m.sizes[first + i] = pool_size(c, p, i, in->sizes[first + i]);
    nuc_order_as(&m, nuc_suggests_channels_last(in));
    return m;
}

/* One number for each spatial dimension, or one for all. False when the list is empty. */
static bool read_numbers(const struct nuc_shape_call *c, uint32_t index, uint32_t spatial, int64_t out[2])
{
    uint32_t count;
    const int64_t *ints = nuc_shape_ints(c, index, &count);

    if (count == 0)
        return false;
    if (count != 1 && count != spatial)
        nuc_shape_fail(c, "a list of %u numbers is given for %u spatial dimensions", (unsigned)count,
                       (unsigned)spatial);
    out[0] = ints[0];
    out[1] = ints[count - 1];
    return true;
}

/* kernel_size, stride (the kernel by default) and padding follow the input. */
static void read_window(const struct nuc_shape_call *c, struct pool *p, uint32_t spatial)
{
    p->spatial = spatial;
    if (!read_numbers(c, POOL(kernel_size), spatial, p->kernel))
        nuc_shape_fail(c, "kernel_size is empty");
    if (!read_numbers(c, POOL(stride), spatial, p->stride))
        memcpy(p->stride, p->kernel, sizeof p->stride);
    if (!read_numbers(c, POOL(padding), spatial, p->padding))
        nuc_shape_fail(c, "padding is empty");
}

void nuc_shape_pool(const struct nuc_shape_call *c)
{
    const enum nuc_op op = c->node->op;
    const uint32_t spatial = op == NUC_OP_MAX_POOL1D || op == NUC_OP_AVG_POOL1D ? 1 : 2;
    const uint32_t dilation = nuc_arg_named(c->node, "dilation");
    struct pool p = {.ceil_mode = nuc_shape_bool(c, nuc_arg_named(c->node, "ceil_mode")), .dilation = {1, 1}};

    read_window(c, &p, spatial);
    if (dilation != NUC_NO_ARG && !read_numbers(c, dilation, spatial, p.dilation))
        nuc_shape_fail(c, "dilation is empty");
    struct nuc_meta m = pool_meta(c, &p), indices = m;
    indices.dtype = NUC_I64;
    if (op == NUC_OP_MAX_POOL2D_INDICES)
        nuc_shape_results(c, (struct nuc_meta[]){m, indices}, 2);
    else
        nuc_shape_result(c, &m);
}

void nuc_shape_adaptive_avg_pool2d(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = pool_input(c, 2);
    struct nuc_meta m = *in;
    int64_t size[2];

    if (!nuc_shape_pair(c, NUC_ARG(ADAPTIVE_AVG_POOL2D, output_size), size))
        nuc_shape_fail(c, "output_size is empty");
    if (size[0] < 1 || size[1] < 1)
        nuc_shape_fail(c, "output_size is %lld x %lld", (long long)size[0], (long long)size[1]);
    m.sizes[m.rank - 2] = size[0];
    m.sizes[m.rank - 1] = size[1];
    nuc_order_as(&m, nuc_suggests_channels_last(in));
    nuc_shape_result(c, &m);
}

/* ---- upsampling ---- */

/* The product in double, its fraction dropped. Source: at::native::upsample::compute_output_size. */
static int64_t scaled_size(const struct nuc_shape_call *c, int64_t size, double factor)
{
    double scaled = (double)size * factor;

    if (!(scaled >= 1.0) || scaled > (double)NUC_MAX_ELEMENTS)
        nuc_shape_fail(c, "a size of %lld cannot be scaled by %g", (long long)size, factor);
    return (int64_t)scaled;
}

/* Exactly one of output_size and scale_factors is given, with a number for height and one for width. */
void nuc_shape_upsample(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, NUC_SELF);
    uint32_t n_sizes, n_factors;
    const int64_t *sizes = nuc_shape_ints(c, nuc_arg_named(c->node, "output_size"), &n_sizes);
    const double *factors = nuc_shape_floats(c, nuc_arg_named(c->node, "scale_factors"), &n_factors);

    if (m.rank != 4)
        nuc_shape_fail(c, "the input has rank %d; 2-D upsampling expects 4", m.rank);
    if (n_sizes + n_factors != 2 || n_sizes == 1)
        nuc_shape_fail(c, "give either two output sizes or two scale factors");
    for (uint32_t i = 0; i < 2; i++) {
        m.sizes[2 + i] = n_sizes == 2 ? sizes[i] : scaled_size(c, m.sizes[2 + i], factors[i]);
        if (m.sizes[2 + i] < 1)
            nuc_shape_fail(c, "output_size is %lld", (long long)m.sizes[2 + i]);
    }
    nuc_order_as(&m, nuc_suggests_channels_last(nuc_shape_input(c, NUC_SELF)));
    nuc_shape_result(c, &m);
}

/* ---- sampling: input [N, C, sizes], grid [N, sizes of the result, as many coordinates as sizes] ---- */

void nuc_shape_grid_sampler(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_ARG(GRID_SAMPLER_2D, input));
    const struct nuc_meta *grid = nuc_shape_input(c, NUC_ARG(GRID_SAMPLER_2D, grid));
    uint32_t rank = c->node->op == NUC_OP_GRID_SAMPLER_3D ? 5 : 4;
    struct nuc_meta m = *in;

    if (in->rank != rank || grid->rank != rank || grid->sizes[0] != in->sizes[0] ||
        grid->sizes[rank - 1] != (int64_t)rank - 2)
        nuc_shape_fail(c, "%s has no positions for %s", nuc_meta_text(c->g->cx, grid), nuc_meta_text(c->g->cx, in));
    for (uint32_t i = 2; i < rank; i++) {
        if (in->sizes[i] < 1)
            nuc_shape_fail(c, "there is nothing to sample in %s", nuc_meta_text(c->g->cx, in));
        m.sizes[i] = grid->sizes[i - 1];
    }
    nuc_order_as(&m, nuc_suggests_channels_last(in));
    nuc_shape_result(c, &m);
}
