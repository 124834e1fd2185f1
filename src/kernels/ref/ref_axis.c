#include <math.h>

#include "kernels/ref/ref.h"

/* `size` elements, `step` apart. */
static void softmax_line(const float *in, float *out, size_t size, size_t step)
{
    float largest = in[0];
    float sum = 0.0f;

    for (size_t i = 1; i < size; i++)
        largest = largest < in[i * step] ? in[i * step] : largest;
    for (size_t i = 0; i < size; i++)
        sum += expf(in[i * step] - largest);
    for (size_t i = 0; i < size; i++)
        out[i * step] = expf(in[i * step] - largest) / sum;
}

void nuc_ref_softmax_f32(const struct nuc_axis *axis, const float *in, float *out)
{
    for (size_t outer = 0; outer < axis->outer; outer++) {
        for (size_t inner = 0; inner < axis->inner; inner++) {
            size_t at = outer * axis->size * axis->inner + inner;
            softmax_line(in + at, out + at, axis->size, axis->inner);
        }
    }
}

void nuc_ref_batch_norm_f32(const struct nuc_axis *axis, const float *in, const float *weight, const float *bias,
                            const float *mean, const float *var, double eps, float *out)
{
    for (size_t outer = 0; outer < axis->outer; outer++) {
        for (size_t c = 0; c < axis->size; c++) {
            float inverse = (float)(1.0 / sqrt((double)var[c] + eps));
            float factor = weight != NULL ? weight[c] : 1.0f;
            float shift = bias != NULL ? bias[c] : 0.0f;
            size_t at = (outer * axis->size + c) * axis->inner;
            for (size_t i = at; i < at + axis->inner; i++)
                out[i] = (in[i] - mean[c]) * inverse * factor + shift;
        }
    }
}
