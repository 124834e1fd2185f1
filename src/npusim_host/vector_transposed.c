/*
 * Transposed convolutions. Outputs whose position has the same remainder by the stride read the same taps, and
 * neighbors among them neighboring inputs: each such phase is a dense convolution of stride 1 with the taps it has, in
 * reverse.
 */
#include <stdlib.h>
#include <string.h>

#include "npusim_host/vector_call.h"

#define MOST_PHASES 64

/* One axis of a phase. */
struct phase {
    int32_t first, count; /* outputs first, first + stride, ... */
    int32_t tap, taps;    /* kernel positions tap, tap + stride, ... */
    int32_t pad;          /* rows or columns in front of the input that the first output reads */
    int32_t skip;         /* or those of the input that no output reads */
};

static struct phase phase_of(int32_t first, int32_t stride, int32_t pad, int32_t kernel, int32_t out)
{
    struct phase p = {.first = first, .tap = (int32_t)(((int64_t)first + pad) % stride)};
    int64_t newest = ((int64_t)first + pad - p.tap) / stride, oldest;

    p.count = first < out ? vec_up(out - first, stride) : 0;
    /* Without taps, one whose weights are 0. */
    p.taps = p.tap < kernel ? vec_up(kernel - p.tap, stride) : 1;
    oldest = newest - (p.taps - 1);
    p.pad = oldest < 0 ? (int32_t)-oldest : 0;
    p.skip = oldest > 0 ? (int32_t)oldest : 0;
    return p;
}

static void reverse_taps(const struct nuc_mc_conv *c, const int8_t *from, const struct phase *y, const struct phase *x,
                         int8_t *to)
{
    for (int32_t o = 0; o < c->out_c; o++) {
        for (int32_t j = y->taps - 1; j >= 0; j--) {
            for (int32_t i = x->taps - 1; i >= 0; i--, to += c->in_c) {
                int32_t ky = y->tap + j * c->stride_h, kx = x->tap + i * c->stride_w;
                if (ky < c->k_h && kx < c->k_w)
                    memcpy(to, from + (((int64_t)o * c->k_h + ky) * c->k_w + kx) * c->in_c, (size_t)c->in_c);
                else
                    memset(to, 0, (size_t)c->in_c);
            }
        }
    }
}

/* The window of a phase is that of its dense convolution, but for the steps of images whose rest others have. */
static void place(struct vec_conv_plan *p, const struct nuc_mc_conv *c, const struct phase *y, const struct phase *x)
{
    ptrdiff_t in_pixel = (ptrdiff_t)npu_pitch(c->in_pitch, c->in_c);
    ptrdiff_t out_pixel = (ptrdiff_t)npu_pitch(c->out_pitch, c->out_c);
    struct vec_window *w = &p->window;

    p->pixels = 0;
    p->rows = y->count;
    w->in_row = c->in_w * in_pixel;
    w->out_row = c->stride_h * c->out_w * out_pixel;
    vec_window_place(w);
    p->images = c->batches;
    p->in_start = y->skip * w->in_row + x->skip * in_pixel;
    p->in_image = c->in_h * w->in_row;
    p->out_start = (y->first * (ptrdiff_t)c->out_w + x->first) * out_pixel;
    p->out_image = (ptrdiff_t)c->out_h * c->out_w * out_pixel;
}

static struct vec_plan *plan_phase(const struct vec_isa *isa, const struct nuc_npu *npu, const struct nuc_mc_conv *c,
                                   const struct phase *y, const struct phase *x, struct vec_budget *budget)
{
    struct nuc_mc_conv dense = *c;
    int64_t pitch = c->stride_w * npu_pitch(c->out_pitch, c->out_c);
    const uint64_t taps = (uint64_t)c->in_c * (uint64_t)y->taps * (uint64_t)x->taps, bytes = taps * (uint64_t)c->out_c;

    if (y->skip >= c->in_h || x->skip >= c->in_w || pitch > INT32_MAX || bytes > UINT32_MAX)
        return NULL;
    int8_t *reversed = malloc((size_t)bytes);
    const struct vec_weights w = {reversed, (int64_t)taps, 1, 1};
    if (!reversed)
        return NULL;
    reverse_taps(c, vec_constant(npu, c->weight), y, x, reversed);
    dense.batches = 1;
    dense.in_h -= y->skip;
    dense.in_w -= x->skip;
    dense.out_h = y->count;
    dense.out_w = x->count;
    dense.k_h = y->taps;
    dense.k_w = x->taps;
    dense.stride_h = dense.stride_w = 1;
    dense.pad_top = y->pad;
    dense.pad_left = x->pad;
    dense.out_pitch = (int32_t)pitch;
    struct vec_plan *plan = vec_plan_dense(isa, npu, &dense, &w, budget);
    free(reversed);
    if (plan)
        place(&plan->u.conv, c, y, x);
    return plan;
}

/* Adds the phases of a row of them. False: one has no plan. */
static bool plan_phases(const struct vec_isa *isa, const struct nuc_npu *npu, const struct nuc_mc_conv *c,
                        const struct phase *y, struct vec_budget *budget, struct vec_plan **first)
{
    for (int32_t i = 0; i < c->stride_w; i++) {
        struct phase x = phase_of(i, c->stride_w, c->pad_left, c->k_w, c->out_w);
        struct vec_plan *part = y->count > 0 && x.count > 0 ? plan_phase(isa, npu, c, y, &x, budget) : NULL;
        if (!part && y->count > 0 && x.count > 0)
            return false;
        if (!part)
            continue;
        part->next = *first;
        part->scratch = *first && (*first)->scratch > part->scratch ? (*first)->scratch : part->scratch;
        *first = part;
    }
    return true;
}

struct vec_plan *vec_plan_transposed(const struct vec_isa *isa, const struct nuc_npu *npu, const union nuc_mc_record *r,
                                     struct vec_budget *budget)
{
    const struct nuc_mc_conv *c = &r->conv;
    struct vec_plan *first = NULL;

    if (!vec_constant(npu, c->weight) || (int64_t)c->stride_h * c->stride_w > MOST_PHASES)
        return NULL;
    for (int32_t i = 0; i < c->stride_h; i++) {
        struct phase y = phase_of(i, c->stride_h, c->pad_top, c->k_h, c->out_h);
        if (!plan_phases(isa, npu, c, &y, budget, &first)) {
            vec_plan_free(first);
            return NULL;
        }
    }
    return first;
}
