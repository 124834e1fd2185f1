/*
 * Channels that a quantized model has scaled against the float one, as equalization across layers does: the least
 * squares of one factor for each channel bring them back.
 */
#include <math.h>
#include <string.h>

#include "host/numbers.h"
#include "tools/evaluate/scored_output.h"

/* What scaling back must gain to be believed: quantization errs by far less than the factors of an equalization. */
#define LEAST_GAIN_DB 6

/* Elements a factor is fitted to: of fewer it fits errors as well. */
#define LEAST_ELEMENTS 4

static size_t channel_axis(const struct nuc_channel_sums *s, size_t which)
{
    return which == 0 ? 1 : s->rank - 1;
}

void nuc_channel_sums_init(struct nuc_context *cx, struct nuc_channel_sums *s, const struct nuc_tensor_info *t)
{
    size_t most = 0;

    *s = (struct nuc_channel_sums){.rank = t->rank};
    for (size_t i = 0; i < t->rank; i++)
        s->sizes[i] = (size_t)t->sizes[i];
    s->n_axes = t->rank < 2 ? 0 : t->rank < 3 ? 1 : 2;
    for (size_t which = 0; which < s->n_axes; which++) {
        size_t n = nuc_channel_count(s, which);
        s->of[which] = nuc_alloc_array(cx, n, sizeof *s->of[which]);
        most = n > most ? n : most;
    }
    s->sample = nuc_alloc_array(cx, most, sizeof *s->sample);
}

size_t nuc_channel_count(const struct nuc_channel_sums *s, size_t which)
{
    return s->sizes[channel_axis(s, which)];
}

void nuc_channel_sums_add(struct nuc_context *cx, struct nuc_channel_sums *s, const float *f, const float *q,
                          const float *p, size_t count)
{
    s->n_elements += count;
    for (size_t which = 0; which < s->n_axes; which++) {
        /* One sample along one axis, in the order of its elements. */
        size_t axis = channel_axis(s, which);
        size_t inner = 1;
        memset(s->sample, 0, s->sizes[axis] * sizeof *s->sample);
        for (size_t i = axis + 1; i < s->rank; i++)
            inner *= s->sizes[i];
        for (size_t i = 0; i < count; i++) {
            double *of = s->sample[i / inner % s->sizes[axis]];
            double a = (double)f[i], b = (double)q[i], d = (double)p[i];
            if (!isfinite(a) || !isfinite(b) || !isfinite(d))
                continue;
            of[NUC_FF] += a * a;
            of[NUC_FQ] += a * b;
            of[NUC_QQ] += b * b;
            of[NUC_FP] += a * d;
            of[NUC_PP] += d * d;
        }
        for (size_t i = 0; i < nuc_channel_count(s, which); i++) {
            for (size_t k = 0; k < NUC_N_PRODUCTS; k++)
                nuc_exact_add(cx, &s->of[which][i].of[k], s->sample[i][k]);
        }
    }
}

void nuc_channel_sums_merge(struct nuc_context *cx, struct nuc_channel_sums *to, const struct nuc_channel_sums *from)
{
    to->n_elements += from->n_elements;
    for (size_t which = 0; which < to->n_axes; which++) {
        for (size_t i = 0; i < nuc_channel_count(to, which); i++) {
            for (size_t k = 0; k < NUC_N_PRODUCTS; k++)
                nuc_exact_merge(cx, &to->of[which][i].of[k], &from->of[which][i].of[k]);
        }
    }
}

void nuc_channel_sums_finish(const struct nuc_channel_sums *s, struct nuc_node_score *score)
{
    double best = score->float_quantized.sqnr_db + LEAST_GAIN_DB;

    for (size_t which = 0; which < s->n_axes && score->float_quantized.n_broken == 0; which++) {
        struct nuc_sqnr quantized = {0, 0}, program = {0, 0};
        size_t channels = nuc_channel_count(s, which);
        if (s->n_elements < channels * LEAST_ELEMENTS)
            continue;
        for (size_t i = 0; i < channels; i++) {
            /* Errors after each channel has been multiplied by the factor that fits the quantized model best. */
            double sums[NUC_N_PRODUCTS];
            for (size_t k = 0; k < NUC_N_PRODUCTS; k++)
                sums[k] = nuc_exact_value(&s->of[which][i].of[k]);
            double factor = sums[NUC_QQ] > 0 && sums[NUC_FQ] > 0 ? sums[NUC_FQ] / sums[NUC_QQ] : 1;
            quantized.signal += sums[NUC_FF];
            program.signal += sums[NUC_FF];
            quantized.noise += fmax(0, sums[NUC_FF] - 2 * factor * sums[NUC_FQ] + factor * factor * sums[NUC_QQ]);
            program.noise += fmax(0, sums[NUC_FF] - 2 * factor * sums[NUC_FP] + factor * factor * sums[NUC_PP]);
        }
        if (quantized.signal == 0 || nuc_sqnr_db(&quantized) < best)
            continue;
        best = nuc_sqnr_db(&quantized);
        score->is_rescaled = true;
        score->rescaled_quantized_db = best;
        score->rescaled_program_db = nuc_sqnr_db(&program);
    }
}
