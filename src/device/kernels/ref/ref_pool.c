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

void nuc_kernel_avg_pool_f32(const struct nuc_pool2d *p, const float *in, float *out)
{
    int32_t planes_per_image = p->channels;

    for (int64_t plane = 0; plane < (int64_t)p->batch * planes_per_image; plane++) {
        ptrdiff_t n = (ptrdiff_t)(plane / planes_per_image);
        ptrdiff_t c = (ptrdiff_t)(plane % planes_per_image);
        const float *from = in + n * p->in_strides[0] + c * p->in_strides[1];
        float *to = out + n * p->out_strides[0] + c * p->out_strides[1];
        for (int32_t oy = 0; oy < p->out_size[0]; oy++) {
            struct window y = window_at(p, 0, oy);
            for (int32_t ox = 0; ox < p->out_size[1]; ox++)
                to[oy * p->out_strides[2] + ox * p->out_strides[3]] =
                    average_of_window(p, y, window_at(p, 1, ox), from);
        }
    }
}

static int64_t adaptive_begin(int64_t out, int64_t out_size, int64_t in_size)
{
    return out * in_size / out_size;
}

static int64_t adaptive_end(int64_t out, int64_t out_size, int64_t in_size)
{
    return ((out + 1) * in_size + out_size - 1) / out_size;
}

static void adaptive_plane(const struct nuc_pool2d *p, const float *in, float *out)
{
    for (int32_t oy = 0; oy < p->out_size[0]; oy++) {
        int64_t y = adaptive_begin(oy, p->out_size[0], p->in_size[0]);
        int64_t y_end = adaptive_end(oy, p->out_size[0], p->in_size[0]);
        for (int32_t ox = 0; ox < p->out_size[1]; ox++) {
            int64_t x = adaptive_begin(ox, p->out_size[1], p->in_size[1]);
            int64_t x_end = adaptive_end(ox, p->out_size[1], p->in_size[1]);
            float sum = sum_of(in, p->in_strides, y, y_end, x, x_end);
            out[oy * p->out_strides[2] + ox * p->out_strides[3]] = sum / (float)((y_end - y) * (x_end - x));
        }
    }
}

void nuc_kernel_adaptive_avg_pool_f32(const struct nuc_pool2d *p, const float *in, float *out)
{
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t c = 0; c < p->channels; c++)
            adaptive_plane(p, in + n * p->in_strides[0] + c * p->in_strides[1],
                           out + n * p->out_strides[0] + c * p->out_strides[1]);
    }
}
