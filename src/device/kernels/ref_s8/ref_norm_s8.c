/* Norms, variance and logarithmic softmax of int8. */
#include <math.h>

#include "device/base/real.h"
#include "device/kernels/ref_s8/quantized.h"

/* NaN becomes the lowest value. */
static int8_t rounded(float x, int32_t zero_point)
{
    float v = (x < 0.0f ? x - 0.5f : x + 0.5f);

    if (!(v > -1024.0f && v < 1024.0f))
        v = v >= 1024.0f ? 1024.0f : -1024.0f;
    return nuc_saturate_i8((int32_t)v + zero_point);
}

/* ---- norms ---- */

struct statistics {
    float mean, inverse; /* mean of in - zero_point; 1 / deviation */
};

struct sums {
    int64_t values, squares;
};

/* So many squares of at most 383 fit in 32 bits. */
#define MOST_AT_ONCE 16384

static void add_line(const int8_t *in, size_t count, size_t step, int32_t zero_point, struct sums *s)
{
    for (size_t i = 0; i < count;) {
        size_t end = count - i > MOST_AT_ONCE ? i + MOST_AT_ONCE : count;
        int32_t values = 0;
        uint32_t squares = 0;
        for (; i < end; i++) {
            int32_t x = in[i * step] - zero_point;
            values += x;
            squares += (uint32_t)(x * x);
        }
        s->values += values;
        s->squares += squares;
    }
}

/* In whole numbers up to the quotient: count * squares - sum^2 is the variance times count^2. */
static struct statistics statistics_of(const struct nuc_norm_s8 *n, const int8_t *group)
{
    int64_t count = (int64_t)(n->channels * n->inner);
    struct sums s = {0, 0};

    if (n->inner == 1)
        add_line(group, n->channels, n->channel_step, n->zero_point, &s);
    for (size_t c = 0; n->inner != 1 && c < n->channels; c++)
        add_line(group + c * n->channel_step, n->inner, n->inner_step, n->zero_point, &s);
    int64_t sum = s.values, squares = s.squares;
    if (!n->centred)
        sum = 0;
    float variance = (float)(count * squares - sum * sum) / ((float)count * (float)count);
    return (struct statistics){(float)sum / (float)count, 1.0f / sqrtf(variance + n->eps)};
}

static void normalize_line(const struct nuc_norm_s8 *n, const struct statistics *s, const int8_t *in, size_t count,
                           size_t step, const float *weight, const float *bias, size_t weight_step, int8_t *out)
{
    int32_t zero_point = n->zero_point, output_zero_point = n->output_zero_point;
    float mean = s->mean, inverse = s->inverse;

    for (size_t i = 0; i < count; i++, in += step, out += step) {
        float factor = inverse * weight[i * weight_step];
        float shift = bias != NULL ? bias[i * weight_step] : 0.0f;
        *out = rounded(((float)(*in - zero_point) - mean) * factor + shift, output_zero_point);
    }
}

static void normalize(const struct nuc_norm_s8 *n, const int8_t *in, const float *weight, const float *bias,
                      int8_t *out)
{
    struct statistics s = statistics_of(n, in);

    if (n->inner == 1)
        normalize_line(n, &s, in, n->channels, n->channel_step, weight, bias, 1, out);
    for (size_t c = 0; n->inner != 1 && c < n->channels; c++)
        normalize_line(n, &s, in + c * n->channel_step, n->inner, n->inner_step, weight + c,
                       bias != NULL ? bias + c : NULL, 0, out + c * n->channel_step);
}

void nuc_kernel_norm_s8(const struct nuc_norm_s8 *n, const int8_t *in, const float *weight, const float *bias,
                        int8_t *out)
{
    for (size_t b = 0; b < n->batch; b++) {
        for (size_t g = 0; g < n->groups; g++) {
            size_t at = b * n->batch_step + g * n->channels * n->channel_step;
            normalize(n, in + at, weight + g * n->channels, bias != NULL ? bias + g * n->channels : NULL, out + at);
        }
    }
}

/* ---- variance ---- */

static float squared_deviations(const struct nuc_loops *reduced, const int8_t *in)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    ptrdiff_t step = reduced->rank == 0 ? 0 : reduced->a[reduced->rank - 1];
    int64_t count = 0;
    int64_t sum = 0;
    int64_t squares = 0;

    do {
        for (int32_t i = 0; i < nuc_row_length(reduced); i++) {
            int32_t x = in[walk.a + i * step];
            sum += x;
            squares += x * x;
        }
        count += nuc_row_length(reduced);
    } while (nuc_walk_next_row(reduced, &walk));
    return (float)(count * squares - sum * sum) / (float)count;
}

void nuc_kernel_var_s8(const struct nuc_loops *kept, const struct nuc_loops *reduced, float scale, int32_t zero_point,
                       const int8_t *in, int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    uint32_t last = kept->rank == 0 ? 0 : kept->rank - 1;
    ptrdiff_t in_step = kept->rank == 0 ? 0 : kept->a[last];
    ptrdiff_t out_step = kept->rank == 0 ? 0 : kept->out[last];

    do {
        for (int32_t i = 0; i < nuc_row_length(kept); i++)
            out[walk.out + i * out_step] =
                rounded(squared_deviations(reduced, in + walk.a + i * in_step) * scale, zero_point);
    } while (nuc_walk_next_row(kept, &walk));
}

/* ---- logarithmic softmax ---- */

static void log_softmax_line(const struct nuc_log_softmax_s8 *s, const struct nuc_line *line, const int8_t *in,
                             int8_t *out)
{
    int32_t largest = in[0];
    float sum = 0.0f;

    for (int32_t i = 1; i < line->size; i++)
        largest = in[i * line->in_step] > largest ? in[i * line->in_step] : largest;
    for (int32_t i = 0; i < line->size; i++)
        sum += s->exponentials[largest - in[i * line->in_step]];
    float shift = nuc_real_log(sum) * s->log_scale;
    for (int32_t i = 0; i < line->size; i++)
        out[i * line->out_step] = rounded((float)(in[i * line->in_step] - largest) * s->scale - shift, s->zero_point);
}

void nuc_kernel_log_softmax_s8(const struct nuc_log_softmax_s8 *s, const struct nuc_loops *lines,
                               const struct nuc_line *line, const int8_t *in, int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    uint32_t last = lines->rank == 0 ? 0 : lines->rank - 1;
    ptrdiff_t in_step = lines->rank == 0 ? 0 : lines->a[last];
    ptrdiff_t out_step = lines->rank == 0 ? 0 : lines->out[last];

    do {
        for (int32_t i = 0; i < nuc_row_length(lines); i++)
            log_softmax_line(s, line, in + walk.a + i * in_step, out + walk.out + i * out_step);
    } while (nuc_walk_next_row(lines, &walk));
}
