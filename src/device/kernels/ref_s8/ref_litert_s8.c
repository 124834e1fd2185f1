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

/* A row of a state in int8: it moves on by one value, and the sum of its products is added. */
static int32_t filter_s8(const struct nuc_svdf_s8 *p, int32_t row, const int8_t *before, int32_t new, int8_t *after,
                         int32_t sum)
{
    const int8_t *w = (const int8_t *)p->times + (ptrdiff_t)row * p->memory;

    for (int32_t i = 0; i < p->memory; i++) {
        after[i] = i + 1 < p->memory ? before[i + 1] : (int8_t) new;
        sum = nuc_wrap_add(sum, w[i] * (after[i] - p->state_zero));
    }
    return sum;
}

static int32_t filter_s16(const struct nuc_svdf_s8 *p, int32_t row, const int16_t *before, int32_t new, int16_t *after,
                          int32_t sum)
{
    const int16_t *w = (const int16_t *)p->times + (ptrdiff_t)row * p->memory;

    for (int32_t i = 0; i < p->memory; i++) {
        after[i] = i + 1 < p->memory ? before[i + 1] : (int16_t) new;
        sum = nuc_wrap_add(sum, (int32_t)((int64_t)w[i] * (after[i] - p->state_zero)));
    }
    return sum;
}

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

/* The sum of a gate of unit k, in units of 2^-12. */
static int32_t gate(const struct nuc_litert_lstm *p, int32_t gate, int32_t k, const int8_t *x, const int8_t *h)
{
    const ptrdiff_t row = (ptrdiff_t)gate * p->r.hidden + k;
    const int32_t *bias = p->biases + 2 * row;
    const int8_t *w_x = p->w_x + row * p->r.inputs, *w_h = p->w_h + row * p->r.hidden;
    int32_t of_x = nuc_requantize(dot(w_x, x, p->r.inputs, 0, bias[0]), p->from_x[gate]);
    int32_t of_h = nuc_requantize(dot(w_h, h, p->r.hidden, 0, bias[1]), p->from_h[gate]);

    return saturated(saturated(of_x) + saturated(of_h));
}

static int8_t unit(const struct nuc_litert_lstm *p, int32_t k, const int8_t *x, const int8_t *h, int16_t before,
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
    return nuc_saturate_i8(nuc_wrap_add(nuc_requantize(bent * shown, p->show), p->zero_point));
}

void nuc_kernel_litert_lstm(const struct nuc_litert_lstm *p, const int8_t *in, int8_t *out)
{
    const struct nuc_recurrence *r = &p->r;

    for (int32_t n = 0; n < r->batch; n++) {
        const ptrdiff_t state = (ptrdiff_t)n * r->hidden;
        const int8_t *h = p->h0 + state;
        const int16_t *c = p->c0 + state;
        for (int32_t t = 0; t < r->steps; t++) {
            const int8_t *x = in + t * r->in_step + n * r->in_sample;
            int8_t *next = out + t * r->out_step + n * r->out_sample;
            for (int32_t k = 0; k < r->hidden; k++)
                next[k] = unit(p, k, x, h, c[k], &p->c_n[state + k]);
            h = next;
            c = p->c_n + state;
        }
        for (int32_t k = 0; k < r->hidden; k++)
            p->h_n[state + k] = h[k];
    }
}
