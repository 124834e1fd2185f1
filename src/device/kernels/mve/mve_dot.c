#include "device/kernels/mve/mve_dot.h"

#include "device/kernels/mve/rescale.h"

/* ---- products ---- */

static int32_t sum_of_row(const int8_t *w, int32_t depth)
{
    int32_t sum = 0;

    for (; depth >= NUC_LANES_B; depth -= NUC_LANES_B, w += NUC_LANES_B)
        sum = nuc_vaddva(sum, nuc_vldr_b(w));
    return depth == 0 ? sum : nuc_vaddva(sum, nuc_vldr_b_some(w, depth));
}

static int32_t product_of_row(const int8_t *w, const int8_t *x, int32_t depth)
{
    int32_t sum = 0;

    for (; depth >= NUC_LANES_B; depth -= NUC_LANES_B, w += NUC_LANES_B, x += NUC_LANES_B)
        sum = nuc_vmladava(sum, nuc_vldr_b(w), nuc_vldr_b(x));
    return depth == 0 ? sum : nuc_vmladava(sum, nuc_vldr_b_some(w, depth), nuc_vldr_b_some(x, depth));
}

#ifndef __ARM_FEATURE_MVE

void nuc_mve_dot_pairs(const struct nuc_dot_pairs *p)
{
    const int8_t *w = p->weight;

    for (int32_t *sums = p->sums; sums < p->end; sums++, w += p->row) {
        for (int32_t i = 0; i < NUC_DOT_INPUTS; i++)
            sums[i * NUC_DOT_ROWS] = product_of_row(w, p->x[i], p->depth);
    }
}

void nuc_mve_dot_fours(const struct nuc_dot_fours *f)
{
    const int8_t *w = f->weight;

    for (int32_t *sums = f->sums; sums < f->end; sums++, w += f->row)
        *sums = product_of_row(w, f->x, f->depth);
}

void nuc_mve_sum_fours(const struct nuc_dot_fours *f)
{
    const int8_t *w = f->weight;

    for (int32_t *sums = f->sums; sums < f->end; sums++, w += f->row)
        *sums = sum_of_row(w, f->depth);
}

void nuc_mve_sum_windows(const struct nuc_window_sums *s)
{
    for (int32_t k = 0; k < s->channels; k++) {
        nuc_bytes w = nuc_vldr_b(s->weights + k * NUC_WINDOW_BYTES);
        for (int32_t i = 0; i < s->count; i++)
            s->sums[i * NUC_WINDOW_CHANNELS + k] = nuc_vmladav(nuc_vldr_b(s->at + k * s->channel + i * s->step), w);
    }
}

#endif

/* Into the sums' adds. */
static void sum_rows(const struct nuc_dot_rows *d, struct nuc_dot_sums *s)
{
    int32_t fours = d->rows & ~3;
    const struct nuc_dot_fours f = {NULL, s->adds + fours, d->weight, d->row, d->depth, s->adds};

    if (fours > 0)
        nuc_mve_sum_fours(&f);
    for (int32_t r = fours; r < d->rows; r++)
        s->adds[r] = sum_of_row(d->weight + r * d->row, d->depth);
}

void nuc_mve_dot_begin(const struct nuc_dot_rows *d, int32_t more, struct nuc_dot_sums *s)
{
    const nuc_words offset = nuc_vdup_w(d->offset), all = nuc_vdup_w(more);

    s->left = d->rescale != NULL && nuc_shifts_left(d->rescale, d->first, d->rows);
    if (d->offset != 0)
        sum_rows(d, s);
    for (int32_t r = 0; r < d->rows; r += NUC_LANES_W) {
        nuc_words v = all;
        if (d->offset != 0)
            v = nuc_vadd_w(v, nuc_vmul_w(nuc_vldr_w(s->adds + r), offset));
        if (d->bias != NULL)
            v = nuc_vadd_w(v, nuc_vldr_w_some(d->bias + r, d->rows - r));
        nuc_vstr_w(s->adds + r, v);
    }
}

void nuc_mve_dot_three(const struct nuc_dot_rows *d, const int8_t *const x[NUC_DOT_INPUTS], struct nuc_dot_sums *s)
{
    int32_t even = d->rows & ~1;
    struct nuc_dot_pairs p = {d->row, d->depth, {x[0], x[1], x[2]}, s->of[0] + even, d->weight, s->of[0]};

    if (even > 0)
        nuc_mve_dot_pairs(&p);
    if (even < d->rows) { /* the last row twice */
        p.weight += even * d->row;
        p.row = 0;
        p.sums += even;
        p.end += 2;
        nuc_mve_dot_pairs(&p);
    }
}

void nuc_mve_dot_one(const struct nuc_dot_rows *d, const int8_t *x, struct nuc_dot_sums *s)
{
    int32_t fours = d->rows & ~3;
    const struct nuc_dot_fours f = {x, s->of[0] + fours, d->weight, d->row, d->depth, s->of[0]};

    if (fours > 0)
        nuc_mve_dot_fours(&f);
    for (int32_t r = fours; r < d->rows; r++)
        s->of[0][r] = product_of_row(d->weight + r * d->row, x, d->depth);
}

/* ---- results ---- */

/* Four channels of one input. */
static inline nuc_words finish_four(const struct nuc_rescale *r, const struct nuc_vscale *scale, nuc_words add,
                                    const int32_t *sums, bool left)
{
    nuc_words v = nuc_vrequantize(nuc_vadd_w(nuc_vldr_w(sums), add), scale, left);

    return nuc_vclamp_w(nuc_vadd_wn(v, r->offset), r->low, r->high);
}

/* `count` channels, whole vectors without shifts to the left, of three inputs. */
static void finish_three(const struct nuc_dot_rows *d, const struct nuc_dot_sums *s, int32_t count, int8_t *out,
                         ptrdiff_t step)
{
    const struct nuc_rescale r = *d->rescale; /* what is written is not in it */
    const int32_t *sums = s->of[0], *adds = s->adds;
    int32_t channel = d->first;

    for (int32_t n = count / NUC_LANES_W; n > 0; n--) {
        const struct nuc_vscale scale = nuc_vscale_at(&r, channel, NUC_LANES_W);
        nuc_words add = nuc_vldr_w(adds);
        nuc_vstr_bw(out, finish_four(&r, &scale, add, sums, false));
        nuc_vstr_bw(out + step, finish_four(&r, &scale, add, sums + NUC_DOT_ROWS, false));
        nuc_vstr_bw(out + 2 * step, finish_four(&r, &scale, add, sums + 2 * NUC_DOT_ROWS, false));
        channel += NUC_LANES_W, adds += NUC_LANES_W, sums += NUC_LANES_W, out += NUC_LANES_W;
    }
}

void nuc_mve_dot_finish(const struct nuc_dot_rows *d, const struct nuc_dot_sums *s, int32_t inputs, int8_t *out,
                        ptrdiff_t step)
{
    int32_t done = s->left || inputs != NUC_DOT_INPUTS ? 0 : d->rows & ~(NUC_LANES_W - 1);

    if (done > 0)
        finish_three(d, s, done, out, step);
    for (int32_t o = done; o < d->rows; o += NUC_LANES_W) {
        int32_t some = d->rows - o;
        const struct nuc_vscale scale = nuc_vscale_at(d->rescale, d->first + o, some);
        nuc_words add = nuc_vldr_w(s->adds + o);
        for (int32_t i = 0; i < inputs; i++)
            nuc_vstr_bw_some(out + i * step + o, finish_four(d->rescale, &scale, add, s->of[i] + o, true), some);
    }
}
