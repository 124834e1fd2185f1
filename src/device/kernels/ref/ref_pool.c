#include "device/kernels/ref/ref.h"

/* The taps of one window along one dimension that lie inside the input, and the window's extent. */
struct window {
    int64_t first;        /* position of tap 0 */
    int32_t begin, end;   /* taps inside */
    int64_t inside, full; /* elements of an undilated window, without and with the padding */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct window window_at(const struct nuc_pool2d *p, int dimension, int32_t position)
{
    int64_t limit = p->in_size[dimension];
    int64_t size = p->kernel[dimension];
    int64_t dilation = p->dilation[dimension];
    int64_t first = (int64_t)position * p->stride[dimension] - p->padding[dimension];
    int64_t begin = first < 0 ? least((-first + dilation - 1) / dilation, size) : 0;
    int64_t end = first >= limit ? begin : least((limit - 1 - first) / dilation + 1, size);
    int64_t last = least(first + size, limit + p->padding[dimension]);

    return (struct window){first, (int32_t)begin, (int32_t)most(begin, end),
                           most(least(last, limit) - most(first, 0), 0), last - first};
}

struct maximum {
    float value;
    int64_t index;
};

static struct maximum max_of_window(const struct nuc_pool2d *p, struct window y, struct window x, const float *in)
{
    struct maximum best = {0.0f, 0};
    bool first = true;

    for (int32_t ky = y.begin; ky < y.end; ky++) {
        int64_t row = y.first + (int64_t)ky * p->dilation[0];
        for (int32_t kx = x.begin; kx < x.end; kx++) {
            int64_t column = x.first + (int64_t)kx * p->dilation[1];
            float value = in[(ptrdiff_t)row * p->in_strides[2] + (ptrdiff_t)column * p->in_strides[3]];
            if (first || value > best.value)
                best = (struct maximum){value, row * p->in_size[1] + column};
            first = false;
        }
    }
    return best;
}

static void max_pool_plane(const struct nuc_pool2d *p, const float *in, float *out, int64_t *indices)
{
    for (int32_t oy = 0; oy < p->out_size[0]; oy++) {
        struct window y = window_at(p, 0, oy);
        for (int32_t ox = 0; ox < p->out_size[1]; ox++) {
            struct maximum best = max_of_window(p, y, window_at(p, 1, ox), in);
            ptrdiff_t at = oy * p->out_strides[2] + ox * p->out_strides[3];
            out[at] = best.value;
            if (indices != NULL)
                indices[at] = best.index;
        }
    }
}

void nuc_kernel_max_pool_f32(const struct nuc_pool2d *p, const float *in, float *out, int64_t *indices)
{
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t c = 0; c < p->channels; c++) {
            ptrdiff_t at = n * p->out_strides[0] + c * p->out_strides[1];
            max_pool_plane(p, in + n * p->in_strides[0] + c * p->in_strides[1], out + at,
                           indices != NULL ? indices + at : NULL);
        }
    }
}

static float sum_of(const float *in, const ptrdiff_t strides[4], int64_t y, int64_t y_end, int64_t x, int64_t x_end)
{
    float sum = 0.0f;

    for (int64_t row = y; row < y_end; row++) {
        for (int64_t column = x; column < x_end; column++)
            sum += in[(ptrdiff_t)row * strides[2] + (ptrdiff_t)column * strides[3]];
    }
    return sum;
}

static float average_of_window(const struct nuc_pool2d *p, struct window y, struct window x, const float *in)
{
    float sum = sum_of(in, p->in_strides, y.first + y.begin, y.first + y.end, x.first + x.begin, x.first + x.end);
    int64_t count = p->count_include_pad ? y.full * x.full : y.inside * x.inside;

    if (y.begin == y.end || x.begin == x.end)
        return 0.0f;
    return sum / (float)(p->divisor != 0 ? p->divisor : count);
}

typedef struct window window_fn(const struct nuc_pool2d *p, int dimension, int32_t position);

static void averages(const struct nuc_pool2d *p, window_fn *at, const float *in, float *out)
{
    for (int64_t plane = 0; plane < (int64_t)p->batch * p->channels; plane++) {
        ptrdiff_t n = (ptrdiff_t)(plane / p->channels), c = (ptrdiff_t)(plane % p->channels);
        const float *from = in + n * p->in_strides[0] + c * p->in_strides[1];
        float *to = out + n * p->out_strides[0] + c * p->out_strides[1];
        for (int32_t oy = 0; oy < p->out_size[0]; oy++) {
            struct window y = at(p, 0, oy);
            for (int32_t ox = 0; ox < p->out_size[1]; ox++)
                to[oy * p->out_strides[2] + ox * p->out_strides[3]] = average_of_window(p, y, at(p, 1, ox), from);
        }
    }
}

void nuc_kernel_avg_pool_f32(const struct nuc_pool2d *p, const float *in, float *out)
{
    averages(p, window_at, in, out);
}

static struct window adaptive_window_at(const struct nuc_pool2d *p, int dimension, int32_t position)
{
    int64_t in = p->in_size[dimension], out = p->out_size[dimension], first = position * in / out;
    int64_t size = ((position + 1) * in + out - 1) / out - first;

    return (struct window){first, 0, (int32_t)size, size, size};
}

void nuc_kernel_adaptive_avg_pool_f32(const struct nuc_pool2d *p, const float *in, float *out)
{
    averages(p, adaptive_window_at, in, out);
}
