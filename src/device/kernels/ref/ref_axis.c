#include <math.h>

#include "device/base/real.h"
#include "device/kernels/ref/ref.h"

/* The largest element, and the sum of the exponentials of what lies below it. */
static float exponential_sum(const struct nuc_line *line, const float *in, float *largest)
{
    float sum = 0.0f;

    *largest = in[0];
    for (int32_t i = 1; i < line->size; i++)
        *largest = *largest < in[i * line->in_step] ? in[i * line->in_step] : *largest;
    for (int32_t i = 0; i < line->size; i++)
        sum += nuc_real_exp(in[i * line->in_step] - *largest);
    return sum;
}

static void softmax_line(const struct nuc_line *line, const float *in, float *out)
{
    float largest, sum = exponential_sum(line, in, &largest);

    for (int32_t i = 0; i < line->size; i++)
        out[i * line->out_step] = nuc_real_exp(in[i * line->in_step] - largest) / sum;
}

static void log_softmax_line(const struct nuc_line *line, const float *in, float *out)
{
    float largest, sum = nuc_real_log(exponential_sum(line, in, &largest));

    for (int32_t i = 0; i < line->size; i++)
        out[i * line->out_step] = in[i * line->in_step] - largest - sum;
}

static void each_line(void (*one)(const struct nuc_line *line, const float *in, float *out),
                      const struct nuc_loops *lines, const struct nuc_line *line, const float *in, float *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    do
        one(line, in + walk.a, out + walk.out);
    while (nuc_walk_next(lines, &walk));
}

void nuc_kernel_softmax_f32(const struct nuc_loops *lines, const struct nuc_line *line, const float *in, float *out)
{
    each_line(softmax_line, lines, line, in, out);
}

void nuc_kernel_log_softmax_f32(const struct nuc_loops *lines, const struct nuc_line *line, const float *in, float *out)
{
    each_line(log_softmax_line, lines, line, in, out);
}

void nuc_kernel_batch_norm_f32(const struct nuc_axis_sizes *axis, const float *in, const float *weight,
                               const float *bias, const float *mean, const float *var, double eps, float *out)
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
