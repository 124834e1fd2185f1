/* Layer, RMS and group norm of float32. */
#include <math.h>

#include "device/kernels/ref/ref.h"

struct sums {
    float sum, squares;
};

static struct sums sums_of(const float *in, size_t count)
{
    struct sums s = {0.0f, 0.0f};

    for (size_t i = 0; i < count; i++) {
        s.sum += in[i];
        s.squares += in[i] * in[i];
    }
    return s;
}

void nuc_kernel_layer_norm_f32(size_t rows, size_t count, const float *in, const float *weight, const float *bias,
                               float eps, float *out, float *mean_out, float *inverse_out)
{
    for (size_t row = 0; row < rows; row++, in += count, out += count) {
        struct sums s = sums_of(in, count);
        float mean = s.sum / (float)count;
        float variance = s.squares / (float)count - mean * mean;
        float deviation = sqrtf(variance + eps);
        for (size_t i = 0; i < count; i++)
            out[i] = (in[i] - mean) / deviation * (weight != NULL ? weight[i] : 1.0f) + (bias != NULL ? bias[i] : 0.0f);
        mean_out[row] = mean;
        inverse_out[row] = (float)(1.0 / (double)deviation);
    }
}

void nuc_kernel_rms_norm_f32(size_t rows, size_t count, const float *in, const float *weight, float eps, float *out)
{
    for (size_t row = 0; row < rows; row++, in += count, out += count) {
        float inverse = 1.0f / sqrtf(sums_of(in, count).squares / (float)count + eps);
        for (size_t i = 0; i < count; i++)
            out[i] = in[i] * inverse * (weight != NULL ? weight[i] : 1.0f);
    }
}

/* The channels of one group, one image. */
static void scale_group(const struct nuc_group_norm *g, size_t group, double mean, double inverse, const float *in,
                        const float *weight, const float *bias, float *out)
{
    for (size_t c = group * g->channels; c < (group + 1) * g->channels; c++) {
        double scale = inverse * (weight != NULL ? (double)weight[c] : 1.0);
        double shift = -scale * mean + (bias != NULL ? (double)bias[c] : 0.0);
        for (size_t i = 0; i < g->inner; i++)
            *out++ = (float)(scale * (double)*in++ + shift);
    }
}

void nuc_kernel_group_norm_f32(const struct nuc_group_norm *g, const float *in, const float *weight, const float *bias,
                               double eps, float *out, float *mean_out, float *inverse_out)
{
    size_t count = g->channels * g->inner;

    for (size_t i = 0; i < g->batch * g->groups; i++, in += count, out += count) {
        struct sums s = sums_of(in, count);
        double mean = (double)s.sum / (double)count;
        double variance = (double)s.squares / (double)count - mean * mean;
        double inverse = 1.0 / sqrt(variance + eps);
        if (weight == NULL && bias == NULL) {
            for (size_t k = 0; k < g->channels * g->inner; k++)
                out[k] = (float)(((double)in[k] - mean) * inverse);
        } else {
            scale_group(g, i % g->groups, mean, inverse, in, weight, bias, out);
        }
        mean_out[i] = (float)mean;
        inverse_out[i] = (float)inverse;
    }
}
