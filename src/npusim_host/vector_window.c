/* Rows of an image for the vector kernels: in place, or staged. */
#include <string.h>

#include "npusim_host/vector_plan.h"

uint64_t vec_window_measure(struct vec_window *w, bool stage)
{
    uint64_t pixels = ((uint64_t)w->padded_w + (uint64_t)w->split - 1) / (uint64_t)w->split;
    uint64_t plane = pixels * (uint64_t)w->pitch;
    uint64_t slot = (plane * (uint64_t)w->split + VEC_SLACK + VEC_ALIGNMENT - 1) / VEC_ALIGNMENT * VEC_ALIGNMENT;

    w->plane = (size_t)plane;
    w->slot = (size_t)slot;
    if (!stage)
        w->ring = 0;
    return ((uint64_t)w->ring + 1) * slot;
}

void vec_cursor_start(struct vec_cursor *c, const struct vec_window *w, const int8_t *input, uint8_t *scratch)
{
    *c = (struct vec_cursor){.window = w, .input = input, .slots = (int8_t *)scratch, .batch = -1};
    /* Padded columns are written here and never again. */
    c->zeros = c->slots + (size_t)w->ring * w->slot;
    memset(c->slots, w->zero ^ w->flip, ((size_t)w->ring + 1) * w->slot);
}

/* Pixels that do not lie next to each other, or each channel `spread` times. */
static void spread_pixels(int8_t *to, const int8_t *from, int32_t n, const struct vec_window *w, ptrdiff_t step)
{
    for (int32_t i = 0; i < n; i++, from += step, to += w->pitch) {
        if (w->spread == 1)
            w->isa->copy(to, from, 1, w->pixel, 0, w->flip);
        for (int32_t ch = 0; ch < w->pixel && w->spread > 1; ch++)
            memset(to + ch * w->spread, from[ch] ^ w->flip, (size_t)w->spread);
    }
}

/* `n` pixels of a plane. */
static void stage_pixels(const struct vec_window *w, const int8_t *from, int32_t n, int8_t *to)
{
    ptrdiff_t step = w->in_pixel * w->split;

    if (n <= 0)
        return;
    if (w->spread == 1 && w->pitch == (size_t)w->pixel)
        w->isa->copy(to, from, n, w->pixel, step, w->flip);
    else
        spread_pixels(to, from, n, w, step);
}

static void stage_row(const struct vec_window *w, const int8_t *from, int8_t *slot)
{
    int32_t end = w->padded_w - w->pad_left < w->in_w ? w->padded_w : w->pad_left + w->in_w;

    if (w->split == 1) {
        stage_pixels(w, from, end - w->pad_left, slot + (size_t)w->pad_left * w->pitch);
        return;
    }
    for (int32_t p = 0; p < w->split; p++) {
        /* The first padded column of the plane that is inside the image. */
        int32_t first = p >= w->pad_left ? p : p + (w->pad_left - p + w->split - 1) / w->split * w->split;
        int32_t n = end > first ? (end - first + w->split - 1) / w->split : 0;
        stage_pixels(w, from + (first - w->pad_left) * w->in_pixel, n,
                     slot + (size_t)p * w->plane + (size_t)(first / w->split) * w->pitch);
    }
}

/* Stages the rows of the image in [low, high) that are not in the ring yet. */
static void stage_rows(struct vec_cursor *c, const int8_t *image, int64_t low, int64_t high)
{
    const struct vec_window *w = c->window;

    if (low > c->next) {
        c->next = low;
        c->slot = low % w->ring;
    }
    high = high < w->in_h ? high : w->in_h;
    for (; c->next < high; c->next++) {
        stage_row(w, image + c->next * w->in_row, c->slots + (size_t)c->slot * w->slot);
        c->slot = c->slot + 1 == w->ring ? 0 : c->slot + 1;
    }
}

void vec_cursor_row(struct vec_cursor *c, int64_t batch, int32_t oy, const int8_t **tap)
{
    const struct vec_window *w = c->window;
    const int8_t *image = c->input + batch * w->in_batch;
    int64_t top = (int64_t)oy * w->stride_h - w->pad_top;

    if (c->batch != batch) {
        c->batch = batch;
        c->next = 0;
        c->slot = 0;
    }
    if (w->ring > 0)
        stage_rows(c, image, top, top + w->ring);
    /* The row after those of the window takes the slot of its first. At the bottom, where it is missing, one divides.
     */
    int64_t ring = w->ring, slot = top;
    if (ring > 0)
        slot = c->next == top + ring ? c->slot : top % ring;
    slot += ring > 0 && slot < 0 ? ring : 0;
    uint64_t in_h = (uint64_t)w->in_h;
    ptrdiff_t between = ring > 0 ? (ptrdiff_t)w->slot : w->in_row;
    const int8_t *rows = ring > 0 ? c->slots : image, *zeros = c->zeros, *of_row[VEC_MAX_TAPS];
    const struct vec_tap *taps = w->taps;
    int64_t dilation = w->dilation_h, down = 0, wrap = ring > 0 ? ring : INT64_MAX;
    /* No branch depends on the row, and no place on the one before. All are less than two rings from the start. */
    for (int32_t r = 0, n = w->tap_rows; r < n; r++, down += dilation) {
        bool inside = (uint64_t)(top + down) < in_h;
        int64_t at = slot + down;
        at -= at >= wrap ? wrap : 0;
        of_row[r] = (inside ? rows : zeros) + (inside ? at * between : 0);
    }
    for (int32_t t = 0, n = w->n_taps; t < n; t++)
        tap[t] = of_row[taps[t].row] + taps[t].at;
}
