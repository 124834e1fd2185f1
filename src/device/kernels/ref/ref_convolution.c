#include "device/kernels/ref/ref.h"

/* Taps [begin, end) of a kernel of `size` whose input position first + tap * dilation lies in [0, limit). */
struct taps {
    int32_t begin, end;
};

static struct taps taps_inside(int64_t first, int32_t size, int32_t dilation, int32_t limit)
{
    int64_t begin = first < 0 ? (-first + dilation - 1) / dilation : 0;
    int64_t end = first >= limit ? 0 : (limit - 1 - first) / dilation + 1;

    if (begin > size)
        begin = size;
    if (end > size)
        end = size;
    return (struct taps){(int32_t)begin, (int32_t)(end < begin ? begin : end)};
}

static float row_product(const float *in, ptrdiff_t in_step, const float *weight, ptrdiff_t weight_step, int32_t count,
                         float accumulator)
{
    for (int32_t i = 0; i < count; i++)
        accumulator += in[i * in_step] * weight[i * weight_step];
    return accumulator;
}

/* One output element: channels, then rows, then columns, as the portable kernel visits them. */
static float output_element(const struct nuc_conv2d *c, const float *in, const float *weight, int64_t y, int64_t x)
{
    struct taps rows = taps_inside(y, c->kernel[0], c->dilation[0], c->in_size[0]);
    struct taps columns = taps_inside(x, c->kernel[1], c->dilation[1], c->in_size[1]);
    int32_t channels = c->in_channels / c->groups;
    float accumulator = 0.0f;

    if (columns.begin == columns.end)
        return 0.0f;
    for (int32_t channel = 0; channel < channels; channel++) {
        for (int32_t ky = rows.begin; ky < rows.end; ky++) {
            ptrdiff_t in_y = (ptrdiff_t)(y + (int64_t)ky * c->dilation[0]);
            ptrdiff_t in_x = (ptrdiff_t)(x + (int64_t)columns.begin * c->dilation[1]);
            const float *in_row = in + channel * c->in_strides[1] + in_y * c->in_strides[2] + in_x * c->in_strides[3];
            const float *weight_row = weight + channel * c->weight_strides[1] + ky * c->weight_strides[2] +
                                      columns.begin * c->weight_strides[3];
            accumulator = row_product(in_row, c->in_strides[3] * c->dilation[1], weight_row, c->weight_strides[3],
                                      columns.end - columns.begin, accumulator);
        }
    }
    return accumulator;
}

/* One output channel of one image; `in` points at the group's first channel. */
static void output_plane(const struct nuc_conv2d *c, const float *in, const float *weight, float bias, bool has_bias,
                         float *out)
{
    for (int32_t oy = 0; oy < c->out_size[0]; oy++) {
        int64_t y = (int64_t)oy * c->stride[0] - c->padding[0];
        for (int32_t ox = 0; ox < c->out_size[1]; ox++) {
            int64_t x = (int64_t)ox * c->stride[1] - c->padding[1];
            float value = output_element(c, in, weight, y, x);
            out[oy * c->out_strides[2] + ox * c->out_strides[3]] = has_bias ? value + bias : value;
        }
    }
}

void nuc_ref_convolution_f32(const struct nuc_conv2d *c, const float *in, const float *weight, const float *bias,
                             float *out)
{
    int32_t in_per_group = c->in_channels / c->groups;
    int32_t out_per_group = c->out_channels / c->groups;

    for (int32_t n = 0; n < c->batch; n++) {
        for (int32_t oc = 0; oc < c->out_channels; oc++) {
            ptrdiff_t first_channel = (ptrdiff_t)(oc / out_per_group) * in_per_group;
            output_plane(c, in + n * c->in_strides[0] + first_channel * c->in_strides[1],
                         weight + oc * c->weight_strides[0], bias != NULL ? bias[oc] : 0.0f, bias != NULL,
                         out + n * c->out_strides[0] + oc * c->out_strides[1]);
        }
    }
}

/* Adds one input channel's share to one output channel. */
static void scatter_plane(const struct nuc_conv2d *c, const float *in, const float *weight, float *out, int32_t iy,
                          int32_t ix)
{
    int64_t y = (int64_t)iy * c->stride[0] - c->padding[0];
    int64_t x = (int64_t)ix * c->stride[1] - c->padding[1];
    struct taps rows = taps_inside(y, c->kernel[0], c->dilation[0], c->out_size[0]);
    struct taps columns = taps_inside(x, c->kernel[1], c->dilation[1], c->out_size[1]);
    float value = in[iy * c->in_strides[2] + ix * c->in_strides[3]];

    for (int32_t ky = rows.begin; ky < rows.end; ky++) {
        for (int32_t kx = columns.begin; kx < columns.end; kx++) {
            ptrdiff_t oy = (ptrdiff_t)(y + (int64_t)ky * c->dilation[0]);
            ptrdiff_t ox = (ptrdiff_t)(x + (int64_t)kx * c->dilation[1]);
            out[oy * c->out_strides[2] + ox * c->out_strides[3]] +=
                value * weight[ky * c->weight_strides[2] + kx * c->weight_strides[3]];
        }
    }
}

static void fill_plane(const struct nuc_conv2d *c, float value, float *out)
{
    for (int32_t oy = 0; oy < c->out_size[0]; oy++) {
        for (int32_t ox = 0; ox < c->out_size[1]; ox++)
            out[oy * c->out_strides[2] + ox * c->out_strides[3]] = value;
    }
}

/* The order in which one output element receives its terms: rows, columns, then channels of the input. */
static void transposed_plane(const struct nuc_conv2d *c, const float *in, const float *weight, float *out)
{
    int32_t channels = c->in_channels / c->groups;

    for (int32_t iy = 0; iy < c->in_size[0]; iy++) {
        for (int32_t ix = 0; ix < c->in_size[1]; ix++) {
            for (int32_t channel = 0; channel < channels; channel++)
                scatter_plane(c, in + channel * c->in_strides[1], weight + channel * c->weight_strides[0], out, iy, ix);
        }
    }
}

void nuc_kernel_transposed_convolution_f32(const struct nuc_conv2d *c, const float *in, const float *weight,
                                           const float *bias, float *out)
{
    int32_t in_per_group = c->in_channels / c->groups;
    int32_t out_per_group = c->out_channels / c->groups;

    for (int32_t n = 0; n < c->batch; n++) {
        for (int32_t oc = 0; oc < c->out_channels; oc++) {
            ptrdiff_t first = (ptrdiff_t)(oc / out_per_group) * in_per_group;
            float *plane = out + n * c->out_strides[0] + oc * c->out_strides[1];
            fill_plane(c, bias != NULL ? bias[oc] : 0.0f, plane);
            transposed_plane(c, in + n * c->in_strides[0] + first * c->in_strides[1],
                             weight + first * c->weight_strides[0] + (oc % out_per_group) * c->weight_strides[1],
                             plane);
        }
    }
}
