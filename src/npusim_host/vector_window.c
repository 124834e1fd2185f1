/* Rows of an image for the vector kernels: in place, or staged. */
#include <string.h>

#include "npusim_host/vector_call.h"

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* What columns of the image are staged, and where. */
static void measure_columns(struct vec_window *w)
{
    w->inside = w->padded_w > w->pad_left ? smaller(w->padded_w - w->pad_left, w->in_w) : 0;
    w->most = vec_up(w->inside, w->split);
    w->last = (w->inside + w->split - 1) % w->split;
    w->first_plane = w->pad_left % w->split;
    w->first_at = w->pad_left / w->split;
    w->turns = w->pairs && w->split == 2 && w->spread == 1 && w->pixel < VEC_ALIGNMENT && w->in_pixel == w->pixel &&
               w->pitch == (size_t)w->pixel;
}

uint64_t vec_window_measure(struct vec_window *w)
{
    uint64_t pixels = ((uint64_t)w->padded_w + (uint64_t)w->split - 1) / (uint64_t)w->split;
    uint64_t each = w->pairs ? 2 : 1, plane = pixels * (uint64_t)w->pitch * each;
    uint64_t slot = (plane * (uint64_t)w->split + each * VEC_SLACK + VEC_ALIGNMENT - 1) / VEC_ALIGNMENT * VEC_ALIGNMENT;

    measure_columns(w);
    w->plane = (size_t)plane;
    w->slot = (size_t)slot;
    return ((uint64_t)w->ring + (!w->pairs ? 1 : w->spread > 1 ? 3 : 2)) * slot;
}

/* For which offsets are planned. */
static int32_t slots_of(const struct vec_window *w)
{
    return w->ring > 0 ? w->ring : 1;
}

uint64_t vec_window_taps(const struct vec_window *w)
{
    return (uint64_t)w->n_taps * (sizeof(struct vec_tap) + (uint64_t)slots_of(w) * sizeof(ptrdiff_t));
}

void vec_window_place(struct vec_window *w)
{
    ptrdiff_t *offset = (ptrdiff_t *)(void *)(w->taps + w->n_taps);
    const int64_t slots = slots_of(w);

    w->offsets = offset;
    for (int64_t slot = 0; slot < slots; slot++) {
        for (int32_t t = 0; t < w->n_taps; t++) {
            int64_t row = w->taps[t].row * (int64_t)w->dilation_h;
            *offset++ =
                w->taps[t].at + (ptrdiff_t)(w->ring > 0 ? (slot + row) % slots * (int64_t)w->slot : row * w->in_row);
        }
    }
}

/* Bytes from one staged pixel to the next. */
static size_t staged_pitch(const struct vec_window *w)
{
    return w->pitch * (w->pairs ? 2 : 1);
}

/* The columns of a plane that are inside the image: their number, the first one there, its plane and staged pixel. */
struct columns {
    int32_t n, first, plane, at;
};

static struct columns columns_of_first(const struct vec_window *w)
{
    return (struct columns){w->most, 0, w->first_plane, w->first_at};
}

/* Those of the next plane, which may be none. */
static struct columns columns_after(const struct vec_window *w, struct columns of)
{
    of.first++;
    of.n = w->most - (of.first > w->last);
    of.plane++;
    if (of.plane == w->split) {
        of.plane = 0;
        of.at++;
    }
    return of;
}

/* Where they are in the row staged in `slot`. */
static int8_t *place_of(const struct vec_window *w, struct columns of, int8_t *slot)
{
    return slot + (size_t)of.plane * w->plane + (size_t)of.at * staged_pitch(w);
}

static bool reaches_beyond(const struct vec_window *w)
{
    int64_t rows = w->pairs ? vec_up(w->out_h, 2) : w->out_h;
    int64_t bottom = (rows - 1) * w->stride_h - w->pad_top + (int64_t)(w->tap_rows - 1) * w->dilation_h;

    return w->pad_top > 0 || bottom >= w->in_h;
}

void vec_cursor_start(struct vec_cursor *c, const struct vec_window *w, const int8_t *input, uint8_t *scratch)
{
    int32_t zero = w->zero ^ w->flip;
    size_t pitch = staged_pitch(w);

    *c = (struct vec_cursor){.window = w, .input = input, .slots = (int8_t *)scratch, .batch = -1};
    int8_t *zeros = c->slots + (size_t)w->ring * w->slot;
    c->zeros = zeros;
    if (reaches_beyond(w))
        memset(zeros, zero, w->slot);
    if (w->pairs && (w->before > 0 || w->image_h % 2 > 0)) /* a row outside the image, as it would lie there */
        memset(zeros + w->slot, w->zero, (size_t)w->pixel * (size_t)w->inside);
    /* Padded columns are written here and never again. */
    for (struct columns of = columns_of_first(w); of.first < w->split; of = columns_after(w, of)) {
        size_t before = of.n > 0 ? (size_t)of.at * pitch : w->plane, inside = (size_t)of.n * pitch;
        int8_t *plane = c->slots + (size_t)of.plane * w->plane;
        for (int32_t i = 0; i < w->ring; i++, plane += w->slot) {
            memset(plane, zero, before);
            memset(plane + before + inside, zero, w->plane - before - inside);
        }
    }
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
static void lay_pixels(const struct vec_window *w, struct vec_line row, int32_t n, int8_t *to)
{
    if (w->spread == 1 && w->pitch == (size_t)w->pixel)
        w->isa->copy(to, row.at, n, w->pixel, row.step, w->flip);
    else
        spread_pixels(to, row.at, n, w, row.step);
}

/* The same of two rows. Channels that are repeated are so before. */
static void pair_pixels(const struct vec_cursor *c, struct vec_line a, struct vec_line b, int32_t n, int8_t *to)
{
    const struct vec_window *w = c->window;
    int8_t flip = w->flip;
    ptrdiff_t pitch = (ptrdiff_t)w->pitch, bytes = (ptrdiff_t)w->pixel * w->spread;

    if (w->spread > 1) {
        int8_t *copy = c->slots + ((size_t)w->ring + 2) * w->slot;
        spread_pixels(copy, a.at, n, w, a.step);
        spread_pixels(copy + w->slot / 2, b.at, n, w, b.step);
        a = (struct vec_line){copy, pitch};
        b = (struct vec_line){copy + w->slot / 2, pitch};
        flip = 0;
    }
    bool dense = pitch == bytes && a.step == bytes && b.step == bytes;
    w->isa->pair(to, 2 * pitch, a, b, dense ? 1 : n, (int32_t)bytes * (dense ? n : 1), flip);
}

/* A row, or two of them as a pair. */
static void stage_row(const struct vec_cursor *c, const struct vec_line *row, int8_t *slot)
{
    const struct vec_window *w = c->window;
    struct columns of = columns_of_first(w);

    if (w->turns) {
        int8_t *to[2] = {place_of(w, of, slot), place_of(w, columns_after(w, of), slot)};
        w->isa->pair_turns(to, row[0].at, row[1].at, w->inside, w->pixel, w->flip);
        return;
    }
    for (; of.first < w->split && of.n > 0; of = columns_after(w, of)) {
        int8_t *to = place_of(w, of, slot);
        struct vec_line a = {row[0].at + of.first * row[0].step, row[0].step * w->split};
        if (w->pairs)
            pair_pixels(c, a, (struct vec_line){row[1].at + of.first * row[1].step, row[1].step * w->split}, of.n, to);
        else
            lay_pixels(w, a, of.n, to);
    }
}

/* The two rows of a pair, one of which may be outside the image. */
static void rows_of_pair(const struct vec_cursor *c, const int8_t *image, int64_t index, struct vec_line *row)
{
    const struct vec_window *w = c->window;

    for (int32_t i = 0; i < 2; i++) {
        int64_t y = 2 * index - w->before + i;
        bool inside = y >= 0 && y < w->image_h;
        row[i] = inside ? (struct vec_line){image + y * w->in_row, w->in_pixel}
                        : (struct vec_line){c->zeros + w->slot, w->pixel};
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
        struct vec_line row[2] = {{image + c->next * w->in_row, w->in_pixel}};
        if (w->pairs)
            rows_of_pair(c, image, c->next, row);
        stage_row(c, row, c->slots + (size_t)c->slot * w->slot);
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
    /* The slots of a window are those in front of the next one's: less than two rings, unless all rows are outside. */
    int64_t slot = w->ring > 0 ? c->slot - (c->next - top) : 0, last = top + (w->tap_rows - 1) * (int64_t)w->dilation_h;
    slot += slot < 0 ? w->ring : 0;
    const ptrdiff_t *offset = w->offsets + (slot < 0 ? 0 : slot * w->n_taps);
    const ptrdiff_t start = w->ring > 0 ? 0 : (ptrdiff_t)(top * w->in_row);
    const int8_t *rows = w->ring > 0 ? c->slots : image;
    if (top >= 0 && last < w->in_h) {
        for (int32_t t = 0, n = w->n_taps; t < n; t++)
            tap[t] = rows + (start + offset[t]);
        return;
    }
    for (int32_t t = 0; t < w->n_taps; t++) {
        int64_t row = top + w->taps[t].row * (int64_t)w->dilation_h;
        tap[t] = row >= 0 && row < w->in_h ? rows + (start + offset[t]) : c->zeros + w->taps[t].at;
    }
}
