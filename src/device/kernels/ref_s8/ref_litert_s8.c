#include "device/kernels/ref_s8/litert_layers.h"

static int16_t saturated(int32_t v)
{
    return (int16_t)nuc_clamp_i32(v, INT16_MIN, INT16_MAX);
}

/* Sum of w * (x - zero), to which `sum` is added. */
static int32_t dot(const int8_t *w, const int8_t *x, int32_t count, int32_t zero, int32_t sum)
{
    for (int32_t i = 0; i < count; i++)
        sum = nuc_wrap_add(sum, w[i] * (x[i] - zero));
    return sum;
}

/* ---- SVDF ---- */

/* A row of a state: it moves on by one value, and the sum of its products is added. */
#define FILTER(name, type)                                                                                             \
    static int32_t name(const struct nuc_svdf_s8 *p, int32_t row, const type *before, int32_t new, type *after,        \
                        int32_t sum)                                                                                   \
    {                                                                                                                  \
        const type *w = (const type *)p->times + (ptrdiff_t)row * p->memory;                                           \
                                                                                                                       \
        for (int32_t i = 0; i < p->memory; i++) {                                                                      \
            after[i] = i + 1 < p->memory ? before[i + 1] : (type) new;                                                 \
            sum = nuc_wrap_add(sum, (int32_t)((int64_t)w[i] * (after[i] - p->state_zero)));                            \
        }                                                                                                              \
        return sum;                                                                                                    \
    }
FILTER(filter_s8, int8_t)
FILTER(filter_s16, int16_t)

void nuc_kernel_svdf_s8(const struct nuc_svdf_s8 *p, const int8_t *in, const void *before, void *after, int8_t *out)
{
    const int32_t low = p->wide ? INT16_MIN : INT8_MIN, high = p->wide ? INT16_MAX : INT8_MAX;

    for (int32_t n = 0; n < p->batch; n++, in += p->features) {
        for (int32_t unit = 0; unit < p->rows / p->rank; unit++) {
            int32_t sum = p->bias != NULL ? p->bias[unit] : 0;
            for (int32_t row = unit * p->rank; row < (unit + 1) * p->rank; row++) {
                const int8_t *w = p->weights + (ptrdiff_t)row * p->features;
                int32_t feature = nuc_requantize(dot(w, in, p->features, p->input_zero, 0), p->to_state);
                /* Of a state with a zero point it wraps, as the reference's does. */
                int32_t new = nuc_clamp_i32(feature, low, high) + p->state_zero;
                ptrdiff_t at = ((ptrdiff_t)n * p->rows + row) * p->memory;
                if (p->wide)
                    sum = filter_s16(p, row, (const int16_t *)before + at, new, (int16_t *)after + at, sum);
                else
                    sum = filter_s8(p, row, (const int8_t *)before + at, new, (int8_t *)after + at, sum);
            }
            *out++ = nuc_saturate_i8(nuc_wrap_add(nuc_requantize(sum, p->to_out), p->output_zero));
        }
    }
}

/* ---- LSTM ---- */

enum { INPUT, FORGET, CANDIDATE, SHOWN };

/* The same of int16, by parts whose sums have 32 bits. */
static int64_t long_dot(const int8_t *w, const int16_t *x, int32_t count, int64_t sum)
{
    enum { PART = 256 };

    for (int32_t first = 0; first < count; first += PART) {
        const int32_t end = count - first < PART ? count : first + PART;
        int32_t part = 0;
        for (int32_t i = first; i < end; i++)
            part += w[i] * x[i];
        sum += part;
    }
    return sum;
}

/* A row of weights times a vector, in units of 2^-12. */
static int32_t product(const struct nuc_litert_lstm *p, const int8_t *w, const void *x, int32_t count, ptrdiff_t bias,
                       struct nuc_multiplier m)
{
    if (p->wide)
        return saturated(nuc_requantize_long(long_dot(w, x, count, ((const int64_t *)p->biases)[bias]), m));
    return saturated(nuc_requantize(dot(w, x, count, 0, ((const int32_t *)p->biases)[bias]), m));
}

/* The sum of a gate of unit k, in these units. */
static int32_t gate(const struct nuc_litert_lstm *p, int32_t gate, int32_t k, const void *x, const void *h)
{
    const ptrdiff_t row = (ptrdiff_t)gate * p->r.hidden + k;
    int32_t of_x = product(p, p->w_x + row * p->r.inputs, x, p->r.inputs, 2 * row, p->from_x[gate]);
    int32_t of_h = product(p, p->w_h + row * p->r.hidden, h, p->r.hidden, 2 * row + 1, p->from_h[gate]);

    return saturated(of_x + of_h);
}

static int32_t unit(const struct nuc_litert_lstm *p, int32_t k, const void *x, const void *h, int16_t before,
                    int16_t *c)
{
    const struct nuc_q15_units sums = nuc_q15_units(-12);
    int32_t forget = nuc_logistic_q15(nuc_to_q15_units(sums, gate(p, FORGET, k, x, h)));
    int32_t input = nuc_logistic_q15(nuc_to_q15_units(sums, gate(p, INPUT, k, x, h)));
    int32_t candidate = nuc_tanh_q15(nuc_to_q15_units(sums, gate(p, CANDIDATE, k, x, h)));
    int32_t shown = nuc_logistic_q15(nuc_to_q15_units(sums, gate(p, SHOWN, k, x, h)));
    int32_t kept = saturated(nuc_requantize(forget * before, p->keep));
    int32_t new = saturated(nuc_requantize(input * candidate, p->add));

    *c = saturated(kept + new);
    if (p->clip > 0)
        *c = (int16_t)nuc_clamp_i32(*c, -p->clip, p->clip);
    int32_t bent = nuc_tanh_q15(nuc_to_q15_units(nuc_q15_units(p->cell_power), *c));
    return nuc_wrap_add(nuc_requantize(bent * shown, p->show), p->zero_point);
}

static void store(void *to, int32_t k, bool wide, int32_t v)
{
    if (wide)
        ((int16_t *)to)[k] = saturated(v);
    else
        ((int8_t *)to)[k] = nuc_saturate_i8(v);
}

void nuc_kernel_litert_lstm(const struct nuc_litert_lstm *p, const void *in, void *out)
{
    const struct nuc_recurrence *r = &p->r;
    const ptrdiff_t bytes = p->wide ? 2 : 1;

    for (int32_t n = 0; n < r->batch; n++) {
        const ptrdiff_t state = (ptrdiff_t)n * r->hidden;
        uint8_t *final = (uint8_t *)p->h_n + state * bytes;
        const uint8_t *h = (const uint8_t *)p->h0 + state * bytes;
        const int16_t *c = p->c0 + state;
        for (int32_t t = 0; t < r->steps; t++) {
            const uint8_t *x = (const uint8_t *)in + (t * r->in_step + n * r->in_sample) * bytes;
            uint8_t *next = (uint8_t *)out + (t * r->out_step + n * r->out_sample) * bytes;
            for (int32_t k = 0; k < r->hidden; k++)
                store(next, k, p->wide, unit(p, k, x, h, c[k], &p->c_n[state + k]));
            h = next;
            c = p->c_n + state;
        }
        for (ptrdiff_t k = 0; k < r->hidden * bytes; k++)
            final[k] = h[k];
    }
}
