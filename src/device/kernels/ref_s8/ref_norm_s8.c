/* Norms, variance and logarithmic softmax of int8 and int16. */
#include <math.h>

#include "device/base/fixed_point.h"
#include "device/base/real.h"
#include "device/kernels/dsp/packed.h"
#include "device/kernels/ref/element.h"
#include "device/kernels/ref_s8/quantized.h"

/* Functions of a type are inlined where it is known. */
#define INLINE static inline __attribute__((always_inline))

INLINE void store_rounded(enum nuc_dtype dtype, void *out, ptrdiff_t i, float x, int32_t zero_point)
{
    if (dtype == NUC_I8)
        ((int8_t *)out)[i] = nuc_saturate_i8(nuc_nearest_int(x, zero_point));
    else
        ((int16_t *)out)[i] = (int16_t)nuc_clamp_i32(nuc_nearest_int(x, zero_point), INT16_MIN, INT16_MAX);
}

/* ---- norms ---- */

struct statistics {
    float centre, inverse; /* in steps of the input, its zero point included; 1 / deviation */
};

struct sums {
    int32_t values; /* of at most 2^22 bytes or 2^16 int16 */
    int64_t squares;
};

/* So many squares of at most 2^14 fit in 31 bits. */
#define MOST_AT_ONCE 65536

static void add_bytes(const int8_t *in, size_t count, size_t step, struct sums *s)
{
    for (size_t i = 0; i < count;) {
        size_t end = count - i > MOST_AT_ONCE ? i + MOST_AT_ONCE : count;
        int32_t values = 0, squares = 0;
        for (; step == 1 && i + 4 <= end; i += 4) {
            uint32_t word = nuc_load_word(in + i), even = nuc_sxtb16(word), odd = nuc_sxtb16_odd(word);
            values = nuc_smlad(even, nuc_twice(1), nuc_smlad(odd, nuc_twice(1), values));
            squares = nuc_smlad(even, even, nuc_smlad(odd, odd, squares));
        }
        for (; i < end; i++) {
            values += in[i * step];
            squares += in[i * step] * in[i * step];
        }
        s->values += values;
        s->squares += squares;
    }
}

INLINE void add_line(enum nuc_dtype dtype, const void *in, ptrdiff_t at, size_t count, size_t step, struct sums *s)
{
    if (dtype == NUC_I8) {
        add_bytes((const int8_t *)in + at, count, step, s);
        return;
    }
    for (const int16_t *x = (const int16_t *)in + at; count > 0; count--, x += step) {
        s->values += *x;
        s->squares += (int64_t)*x * *x;
    }
}

/* In whole numbers up to the quotient: count * squares - sum^2 is the variance times count^2. */
INLINE struct statistics statistics_of(const struct nuc_norm_s8 *n, enum nuc_dtype dtype, const void *in, ptrdiff_t at)
{
    int32_t count = (int32_t)(n->channels * n->inner), z = n->zero_point;
    struct sums s = {0, 0};

    if (n->inner == 1)
        add_line(dtype, in, at, n->channels, n->channel_step, &s);
    for (size_t c = 0; n->inner != 1 && c < n->channels; c++)
        add_line(dtype, in, at + (ptrdiff_t)(c * n->channel_step), n->inner, n->inner_step, &s);
    float size = (float)count, centre = n->centred ? (float)s.values / size : (float)z;
    int64_t sum = s.values;
    int64_t around =
        n->centred ? count * s.squares - sum * sum : count * (s.squares - 2 * z * sum + (int64_t)count * z * z);
    return (struct statistics){centre, 1.0f / sqrtf((float)around / (size * size) + n->eps)};
}

INLINE void normalize_line(enum nuc_dtype dtype, const struct statistics *s, const void *in, ptrdiff_t at, size_t count,
                           size_t step, const float *weight, const float *bias, size_t weight_step, int32_t zero_point,
                           void *out)
{
    static const float none = 0.0f;
    float centre = s->centre, inverse = s->inverse;
    size_t bias_step = bias != NULL ? weight_step : 0;

    bias = bias != NULL ? bias : &none;
    for (size_t i = 0; i < count; i++, at += (ptrdiff_t)step) {
        float factor = inverse * weight[i * weight_step], x = (float)(int32_t)nuc_load_whole(dtype, in, at);
        store_rounded(dtype, out, at, (x - centre) * factor + bias[i * bias_step], zero_point);
    }
}

INLINE void normalize(const struct nuc_norm_s8 *n, enum nuc_dtype dtype, const void *in, const float *weight,
                      const float *bias, void *out)
{
    const int32_t zero_point = n->output_zero_point;

    for (size_t g = 0; g < n->batch * n->groups; g++) {
        size_t group = g % n->groups, start = group * n->channels;
        ptrdiff_t at = (ptrdiff_t)(g / n->groups * n->batch_step + start * n->channel_step);
        const struct statistics s = statistics_of(n, dtype, in, at);
        const float *w = weight + start, *b = bias != NULL ? bias + start : NULL;
        if (n->inner == 1)
            normalize_line(dtype, &s, in, at, n->channels, n->channel_step, w, b, 1, zero_point, out);
        for (size_t c = 0; n->inner != 1 && c < n->channels; c++)
            normalize_line(dtype, &s, in, at + (ptrdiff_t)(c * n->channel_step), n->inner, n->inner_step, w + c,
                           b != NULL ? b + c : NULL, 0, zero_point, out);
    }
}

void nuc_kernel_norm_int(const struct nuc_norm_s8 *n, enum nuc_dtype dtype, const void *in, const float *weight,
                         const float *bias, void *out)
{
    if (dtype == NUC_I8)
        normalize(n, NUC_I8, in, weight, bias, out);
    else
        normalize(n, NUC_I16, in, weight, bias, out);
}

/* ---- variance ---- */

INLINE float squared_deviations(const struct nuc_loops *reduced, enum nuc_dtype dtype, const void *in, ptrdiff_t at)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(reduced);
    int64_t count = 0;
    int64_t sum = 0;
    int64_t squares = 0;

    do {
        for (int32_t i = 0; i < nuc_row_length(reduced); i++) {
            int32_t x = (int32_t)nuc_load_whole(dtype, in, at + walk.a + i * steps.a);
            sum += x;
            squares += x * x;
        }
        count += nuc_row_length(reduced);
    } while (nuc_walk_next_row(reduced, &walk));
    return (float)(count * squares - sum * sum) / (float)count;
}

INLINE void variances(const struct nuc_loops *kept, const struct nuc_loops *reduced, float scale, int32_t zero_point,
                      enum nuc_dtype dtype, const void *in, void *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    do
        store_rounded(dtype, out, walk.out, squared_deviations(reduced, dtype, in, walk.a) * scale, zero_point);
    while (nuc_walk_next(kept, &walk));
}

void nuc_kernel_var_int(const struct nuc_loops *kept, const struct nuc_loops *reduced, float scale, int32_t zero_point,
                        enum nuc_dtype dtype, const void *in, void *out)
{
    if (dtype == NUC_I8)
        variances(kept, reduced, scale, zero_point, NUC_I8, in, out);
    else
        variances(kept, reduced, scale, zero_point, NUC_I16, in, out);
}

/* ---- logarithmic softmax ---- */

/* A difference of two int16 is the sum of a multiple of 256 and the rest: its exponential is a product. */
INLINE float exponential_of(const struct nuc_log_softmax_s8 *s, enum nuc_dtype dtype, int32_t below)
{
    return dtype == NUC_I8 ? s->exponentials[below]
                           : s->exponentials[below & 255] * s->exponentials[256 + (below >> 8)];
}

INLINE void log_softmax_line(const struct nuc_log_softmax_s8 *s, const struct nuc_line *line, enum nuc_dtype dtype,
                             const void *in, ptrdiff_t in_at, void *out, ptrdiff_t out_at)
{
    int32_t largest = (int32_t)nuc_load_whole(dtype, in, in_at);
    float sum = 0.0f;

    for (int32_t i = 1; i < line->size; i++) {
        int32_t x = (int32_t)nuc_load_whole(dtype, in, in_at + i * line->in_step);
        largest = x > largest ? x : largest;
    }
    for (int32_t i = 0; i < line->size; i++)
        sum += exponential_of(s, dtype, largest - (int32_t)nuc_load_whole(dtype, in, in_at + i * line->in_step));
    float shift = nuc_real_log(sum) * s->log_scale;
    for (int32_t i = 0; i < line->size; i++) {
        int32_t x = (int32_t)nuc_load_whole(dtype, in, in_at + i * line->in_step);
        store_rounded(dtype, out, out_at + i * line->out_step, (float)(x - largest) * s->scale - shift, s->zero_point);
    }
}

INLINE void log_softmax(const struct nuc_log_softmax_s8 *s, const struct nuc_loops *lines, const struct nuc_line *line,
                        enum nuc_dtype dtype, const void *in, void *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    do
        log_softmax_line(s, line, dtype, in, walk.a, out, walk.out);
    while (nuc_walk_next(lines, &walk));
}

void nuc_kernel_log_softmax_int(const struct nuc_log_softmax_s8 *s, const struct nuc_loops *lines,
                                const struct nuc_line *line, enum nuc_dtype dtype, const void *in, void *out)
{
    if (dtype == NUC_I8)
        log_softmax(s, lines, line, NUC_I8, in, out);
    else
        log_softmax(s, lines, line, NUC_I16, in, out);
}
