/*
 * Bilinear resizes: two rows of the input are blended for a row of the output, then columns of that. The sums are those
 * of the definition in another order, modulo 2^32: they fit where it counts, as weights of equal values add up to 1.
 */

#include "device/base/span.h"
#include "npusim_host/vector_call.h"

/* Positions of `n` outputs, each `copies` times: low and high times `step`, and what follows them by channel. */
static void fill_positions(const struct vec_positions *p, int32_t n, int32_t copies, int32_t step, int32_t scale,
                           bool half_pixel, int32_t size)
{
    for (int32_t i = 0; i < n; i++) {
        struct npu_between b = npu_between(i, scale, half_pixel, size);
        for (int32_t k = 0; k < copies; k++) {
            p->low[i * copies + k] = b.low * step + k;
            p->high[i * copies + k] = b.high * step + k;
            p->part[i * copies + k] = (int32_t)b.part;
        }
    }
}

static uint8_t *take_positions(struct vec_positions *p, uint8_t *memory, int32_t n)
{
    p->low = (int32_t *)(void *)memory;
    p->high = p->low + n;
    p->part = p->high + n;
    return (uint8_t *)(p->part + n);
}

struct vec_plan *vec_plan_resize(const struct vec_isa *isa, const struct nuc_npu *npu, const union nuc_mc_record *r,
                                 struct vec_budget *budget)
{
    const struct nuc_mc_resize *z = &r->resize;
    /* Values of few channels have a position each. */
    bool narrow = z->channels < VEC_LANES && npu_pitch(z->out_pitch, z->channels) == z->channels;
    int64_t values = (int64_t)z->out_w * (narrow ? z->channels : 1), row = (int64_t)z->in_w * z->channels;
    uint64_t scratch = nuc_align_up((size_t)row * sizeof(int32_t) + VEC_SLACK, VEC_ALIGNMENT);
    uint8_t *memory;

    (void)isa;
    (void)npu;
    if (row > INT32_MAX || values > INT32_MAX || scratch > VEC_MOST_SCRATCH)
        return NULL;
    struct vec_plan *plan =
        vec_plan_new(budget, vec_run_resize, 3 * sizeof(int32_t) * ((uint64_t)values + (uint64_t)z->out_h), &memory);
    if (!plan)
        return NULL;
    struct vec_resize_plan *p = &plan->u.resize;
    plan->scratch = (size_t)scratch;
    p->columns.n = (int32_t)values;
    p->columns.run = narrow ? 1 : z->channels;
    p->columns.pitch = narrow ? 1 : (ptrdiff_t)npu_pitch(z->out_pitch, z->channels);
    memory = take_positions(&p->columns.at, memory, p->columns.n);
    take_positions(&p->rows, memory, z->out_h);
    fill_positions(&p->columns.at, z->out_w, narrow ? z->channels : 1, z->channels, z->scale_w, z->half_pixel, z->in_w);
    fill_positions(&p->rows, z->out_h, 1, 1, z->scale_h, z->half_pixel, z->in_h);
    return plan;
}

static void resize_rows(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct vec_call *c = arg;
    const struct nuc_mc_resize *z = &c->r->resize;
    const struct vec_resize_plan *p = &c->plan->u.resize;
    const struct vec_positions *at = &p->rows;
    int32_t *blended = (int32_t *)(void *)(c->v->scratch + thread * c->v->scratch_size);
    int64_t row = (int64_t)z->in_w * z->channels, out_row = z->out_w * npu_pitch(z->out_pitch, z->channels);

    for (int64_t r = begin; r < end; r++) {
        const int8_t *image = c->in + r / z->out_h * z->in_h * row;
        int64_t y = r % z->out_h;
        c->v->isa->blend_rows(image + at->low[y] * row, image + at->high[y] * row, at->part[y], (int32_t)row, blended);
        c->v->isa->blend_columns(&p->columns, blended, c->out + r * out_row);
    }
}

bool vec_run_resize(struct vec_call *c)
{
    const struct nuc_mc_resize *z = &c->r->resize;

    vec_share(c->v, resize_rows, c, (int64_t)z->batches * z->out_h,
              1 + ((int64_t)z->in_w + z->out_w) * z->channels / VEC_LANES * VEC_STEPS_BLEND);
    return true;
}
