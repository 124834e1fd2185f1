/*
 * Channels that a quantized model has scaled against the float one, as equalization across layers does: the least
 * squares of one factor for each channel bring them back.
 */
#include <math.h>

#include "compiler/eval/sqnr.h"
#include "compiler/score/score.h"

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
    *s = (struct nuc_channel_sums){.rank = t->rank};
    for (size_t i = 0; i < t->rank; i++)
        s->sizes[i] = (size_t)t->sizes[i];
    s->n_axes = t->rank < 2 ? 0 : t->rank < 3 ? 1 : 2;
    for (size_t which = 0; which < s->n_axes; which++)
        s->of[which] = nuc_alloc_array(cx, s->sizes[channel_axis(s, which)], sizeof *s->of[which]);
}

void nuc_channel_sums_add(struct nuc_channel_sums *s, const float *f, const float *q, const float *p, size_t count)
{
    s->n_elements += count;
    for (size_t which = 0; which < s->n_axes; which++) {
        size_t axis = channel_axis(s, which), inner = 1;
        for (size_t i = axis + 1; i < s->rank; i++)
            inner *= s->sizes[i];
        for (size_t i = 0; i < count; i++) {
            struct nuc_channel_sum *c = &s->of[which][i / inner % s->sizes[axis]];
            double a = (double)f[i], b = (double)q[i], d = (double)p[i];
            if (!isfinite(a) || !isfinite(b) || !isfinite(d))
                continue;
            c->ff += a * a;
            c->fq += a * b;
            c->qq += b * b;
            c->fp += a * d;
            c->pp += d * d;
        }
    }
}

/* Errors after each channel has been multiplied by the factor that fits the quantized model best. */
static void add_errors(const struct nuc_channel_sum *c, struct nuc_sqnr *quantized, struct nuc_sqnr *program)
{
    double factor = c->qq > 0 && c->fq > 0 ? c->fq / c->qq : 1;

    quantized->signal += c->ff;
    program->signal += c->ff;
    quantized->noise += fmax(0, c->ff - 2 * factor * c->fq + factor * factor * c->qq);
    program->noise += fmax(0, c->ff - 2 * factor * c->fp + factor * factor * c->pp);
}

void nuc_channel_sums_finish(const struct nuc_channel_sums *s, struct nuc_node_score *score)
{
    double best = score->float_quantized.sqnr_db + LEAST_GAIN_DB;

    for (size_t which = 0; which < s->n_axes && score->float_quantized.n_broken == 0; which++) {
        struct nuc_sqnr quantized = {0, 0}, program = {0, 0};
        size_t channels = s->sizes[channel_axis(s, which)];
        if (s->n_elements < channels * LEAST_ELEMENTS)
            continue;
        for (size_t i = 0; i < channels; i++)
            add_errors(&s->of[which][i], &quantized, &program);
        if (quantized.signal == 0 || nuc_sqnr_db(&quantized) < best)
            continue;
        best = nuc_sqnr_db(&quantized);
        score->is_rescaled = true;
        score->rescaled_quantized_db = best;
        score->rescaled_program_db = nuc_sqnr_db(&program);
    }
}
