#include "device/signal/frame.h"

/* ---- taps ---- */

static inline size_t first_of(const struct nuc_frame_taps *t, size_t i)
{
    return (size_t)t->words[i * t->stride];
}

static inline size_t end_of(const struct nuc_frame_taps *t, size_t i)
{
    return first_of(t, i) + (size_t)t->words[i * t->stride + 1];
}

static bool taps_fit(const struct nuc_frame_taps *t, size_t size)
{
    size_t first = 0, end = 0;

    if (t->count < 1 || t->count > NUC_FRAME_LONGEST || t->stride < 3)
        return false;
    for (size_t i = 0; i < t->count; i++) {
        const int32_t *words = t->words + i * t->stride;
        if (words[0] < 0 || words[1] < 1 || (size_t)words[1] + 2 > t->stride || first_of(t, i) < first ||
            end_of(t, i) < end || end_of(t, i) > size)
            return false;
        first = first_of(t, i);
        end = end_of(t, i);
    }
    return true;
}

static inline size_t channels_of(const struct nuc_frame_input *p)
{
    return p->channels == NUC_CHANNELS_GREY ? 1 : 3;
}

static bool has_pairs(enum nuc_pixel_format pixels)
{
    return pixels == NUC_PIXELS_YUYV || pixels == NUC_PIXELS_UYVY;
}

bool nuc_frame_input_fits(const struct nuc_frame_input *p)
{
    return (unsigned)p->pixels < NUC_PIXELS_COUNT && (unsigned)p->channels < NUC_CHANNELS_COUNT &&
           (!has_pairs(p->pixels) || p->width % 2 == 0) && taps_fit(&p->columns, p->width) &&
           taps_fit(&p->rows, p->height);
}

/* Rows of the result that one row of the frame adds to, at most: each has sums of its own. */
static size_t rows_at_once(const struct nuc_frame_taps *rows)
{
    size_t next = 0, most = 1;

    for (size_t i = 0; i < rows->count; i++) {
        while (next < rows->count && first_of(rows, next) < end_of(rows, i))
            next++;
        most = next - i > most ? next - i : most;
    }
    return most;
}

/* The columns of the frame that are read; of pairs of pixels both. */
static void columns_of(const struct nuc_frame_input *p, size_t *from, size_t *end)
{
    *from = first_of(&p->columns, 0);
    *end = end_of(&p->columns, p->columns.count - 1);
    if (has_pairs(p->pixels)) {
        *from -= *from % 2;
        *end += *end % 2;
    }
}

/* Whether each value is one pixel. */
static bool are_single(const struct nuc_frame_taps *t)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->words[i * t->stride + 1] != 1 || t->words[i * t->stride + 2] != 1 << NUC_FRAME_WEIGHT_BITS)
            return false;
    }
    return true;
}

/* Then there are no sums. */
static bool is_single(const struct nuc_frame_input *p)
{
    return are_single(&p->rows) && are_single(&p->columns);
}

/* Whether a line's bytes are the colours that are read of it. */
static bool is_read_in_place(const struct nuc_frame_input *p)
{
    return p->channels == NUC_CHANNELS_GREY ? p->pixels == NUC_PIXELS_GREY : p->pixels == NUC_PIXELS_RGB888;
}

size_t nuc_frame_scratch(const struct nuc_frame_input *p)
{
    const size_t row = p->columns.count * channels_of(p);
    size_t from, end;

    columns_of(p, &from, &end);
    const size_t sums = is_single(p) ? 0 : rows_at_once(&p->rows) * row * sizeof(uint32_t);
    return sums + row + (is_read_in_place(p) ? 0 : (end - from) * channels_of(p));
}

/* ---- colours ---- */

/* v >> shift between 0 and 255, in one instruction where there is one. */
#ifdef __ARM_FEATURE_SAT
#define CLIPPED(v, shift)                                                                                              \
    ({                                                                                                                 \
        uint32_t result;                                                                                               \
        __asm("usat %0, #8, %1, asr %2" : "=r"(result) : "r"(v), "I"(shift));                                          \
        (uint8_t) result;                                                                                              \
    })
#else
static inline uint8_t clipped(int32_t v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}
#define CLIPPED(v, shift) clipped((v) >> (shift))
#endif

/* Pixel x of a line without pairs. The upper bits of 5 and 6 bits are repeated below, so that all ones are 255. */
static inline void read_rgb(enum nuc_pixel_format pixels, const uint8_t *line, size_t x, uint8_t rgb[3])
{
    if (pixels == NUC_PIXELS_RGB565) {
        const uint32_t word = line[2 * x] | (uint32_t)line[2 * x + 1] << 8;
        const uint32_t red = word >> 11, green = word >> 5 & 63, blue = word & 31;
        rgb[0] = (uint8_t)(red << 3 | red >> 2);
        rgb[1] = (uint8_t)(green << 2 | green >> 4);
        rgb[2] = (uint8_t)(blue << 3 | blue >> 2);
    } else if (pixels == NUC_PIXELS_GREY) {
        rgb[0] = rgb[1] = rgb[2] = line[x];
    } else {
        const size_t red = pixels == NUC_PIXELS_BGR888 ? 2 : 0;
        rgb[0] = line[3 * x + red];
        rgb[1] = line[3 * x + 1];
        rgb[2] = line[3 * x + 2 - red];
    }
}

/* Two pixels of one colour, by the products of libjpeg, rounded to whole numbers before luma is added. */
static inline void read_pair(const uint8_t *luma, const uint8_t *colour, uint8_t rgb[6])
{
    const int32_t cb = colour[0] - 128, cr = colour[2] - 128, half = 1 << 15;
    const int32_t red = 91881 * cr + half, green = -22554 * cb - 46802 * cr + half, blue = 116130 * cb + half;

    for (int i = 0; i < 2; i++) {
        const int32_t y = luma[2 * i] * (1 << 16);
        rgb[3 * i] = CLIPPED(y + red, 16);
        rgb[3 * i + 1] = CLIPPED(y + green, 16);
        rgb[3 * i + 2] = CLIPPED(y + blue, 16);
    }
}

static inline void read_colours(enum nuc_pixel_format pixels, const uint8_t *line, size_t from, size_t end,
                                uint8_t *out)
{
    const size_t luma = pixels == NUC_PIXELS_UYVY ? 1 : 0;

    if (has_pairs(pixels)) {
        for (size_t x = from; x < end; x += 2, out += 6)
            read_pair(line + 2 * x + luma, line + 2 * x + 1 - luma, out);
        return;
    }
    for (size_t x = from; x < end; x++, out += 3)
        read_rgb(pixels, line, x, out);
}

static inline void read_luma(enum nuc_pixel_format pixels, const uint8_t *line, size_t from, size_t end, uint8_t *out)
{
    const size_t step = pixels == NUC_PIXELS_GREY ? 1 : 2, at = pixels == NUC_PIXELS_UYVY ? 1 : 0;
    uint8_t rgb[3];

    for (size_t x = from; x < end; x++) {
        if (pixels == NUC_PIXELS_GREY || has_pairs(pixels)) {
            *out++ = line[step * x + at];
            continue;
        }
        read_rgb(pixels, line, x, rgb);
        *out++ = nuc_luma(rgb[0], rgb[1], rgb[2]);
    }
}

static inline void read_as(const struct nuc_frame_input *p, enum nuc_pixel_format pixels, const uint8_t *line,
                           size_t from, size_t end, uint8_t *out)
{
    if (p->channels == NUC_CHANNELS_GREY)
        read_luma(pixels, line, from, end, out);
    else
        read_colours(pixels, line, from, end, out);
}

/* Each format is a loop of its own, in which the format is a constant. */
static void read_line(const struct nuc_frame_input *p, const uint8_t *line, size_t from, size_t end, uint8_t *out)
{
    switch (p->pixels) {
    case NUC_PIXELS_RGB565:
        read_as(p, NUC_PIXELS_RGB565, line, from, end, out);
        break;
    case NUC_PIXELS_RGB888:
        read_as(p, NUC_PIXELS_RGB888, line, from, end, out);
        break;
    case NUC_PIXELS_BGR888:
        read_as(p, NUC_PIXELS_BGR888, line, from, end, out);
        break;
    case NUC_PIXELS_YUYV:
        read_as(p, NUC_PIXELS_YUYV, line, from, end, out);
        break;
    case NUC_PIXELS_UYVY:
        read_as(p, NUC_PIXELS_UYVY, line, from, end, out);
        break;
    case NUC_PIXELS_GREY:
        read_as(p, NUC_PIXELS_GREY, line, from, end, out);
        break;
    case NUC_PIXELS_COUNT:
        break;
    }
}

/* ---- sums ---- */

#define HALF (1u << (NUC_FRAME_WEIGHT_BITS - 1))

static inline uint8_t rounded(uint32_t sum)
{
    return CLIPPED((int32_t)sum, NUC_FRAME_WEIGHT_BITS);
}

/* A row of the result's width. Sums wrap around where weights are not those of a mean. */
static void sum_columns(const struct nuc_frame_taps *t, const uint8_t *pixels, size_t origin, size_t channels,
                        uint8_t *out)
{
    for (size_t i = 0; i < t->count; i++) {
        const int32_t *weights = t->words + i * t->stride + 2, *end = weights + weights[-1];
        const uint8_t *at = pixels + (first_of(t, i) - origin) * channels;
        uint32_t sums[3] = {HALF, HALF, HALF};
        if (channels == 1) {
            for (; weights < end; at++)
                sums[0] += (uint32_t)*weights++ * *at;
        }
        for (; weights < end; at += 3, weights++) {
            sums[0] += (uint32_t)*weights * at[0];
            sums[1] += (uint32_t)*weights * at[1];
            sums[2] += (uint32_t)*weights * at[2];
        }
        for (size_t c = 0; c < channels; c++)
            *out++ = rounded(sums[c]);
    }
}

static inline void write_values(const struct nuc_frame_input *p, const uint8_t *values, bool is_wide, size_t row,
                                void *out)
{
    const size_t channels = channels_of(p), step = p->column_step, width = is_wide ? 4 : 1;

    for (size_t c = 0; c < channels; c++) {
        const uint8_t *at = values + (p->channels == NUC_CHANNELS_BGR ? 2 - c : c);
        const uint8_t *table = (const uint8_t *)p->table + width * (p->one_table ? 0 : 256 * c);
        uint8_t *to = (uint8_t *)out + width * (row * p->row_step + c * p->channel_step);
        for (size_t i = p->columns.count; i > 0; i--, at += channels, to += width * step) {
            if (is_wide)
                __builtin_memcpy(to, table + 4 * (size_t)*at, 4);
            else
                *to = table[*at];
        }
    }
}

/* What the table has for the colours of a row. */
static void write_row(const struct nuc_frame_input *p, const uint8_t *values, size_t row, void *out)
{
    if (p->is_wide)
        write_values(p, values, true, row, out);
    else
        write_values(p, values, false, row, out);
}

/* The colours of a line from a column on. */
static const uint8_t *colours_of(const struct nuc_frame_input *p, const uint8_t *frame, size_t y, size_t from,
                                 size_t end, uint8_t *pixels)
{
    const uint8_t *line = frame + y * nuc_frame_bytes(p->pixels, p->width, 1);

    if (is_read_in_place(p))
        return line + from * channels_of(p);
    read_line(p, line, from, end, pixels);
    return pixels;
}

/* The pixels of the columns of which each is a value: where they lie, or copied to `row` where they are apart. */
static const uint8_t *pick_columns(const struct nuc_frame_taps *t, const uint8_t *colours, size_t origin,
                                   size_t channels, uint8_t *row)
{
    const size_t first = first_of(t, 0);

    if (first_of(t, t->count - 1) - first == t->count - 1)
        return colours + (first - origin) * channels;
    for (size_t i = 0; i < t->count && channels == 1; i++)
        row[i] = colours[first_of(t, i) - origin];
    for (size_t i = 0; i < t->count && channels == 3; i++)
        __builtin_memcpy(row + 3 * i, colours + 3 * (first_of(t, i) - origin), 3);
    return row;
}

static void prepare_single(const struct nuc_frame_input *p, const uint8_t *frame, uint8_t *row, void *out)
{
    const size_t channels = channels_of(p);
    size_t from, end;

    columns_of(p, &from, &end);
    for (size_t i = 0; i < p->rows.count; i++) {
        const uint8_t *colours =
            colours_of(p, frame, first_of(&p->rows, i), from, end, row + p->columns.count * channels);
        write_row(p, pick_columns(&p->columns, colours, from, channels, row), i, out);
    }
}

void nuc_prepare_frame(const struct nuc_frame_input *p, const uint8_t *frame, void *scratch, void *out)
{
    const struct nuc_frame_taps *rows = &p->rows;
    const size_t channels = channels_of(p), size = p->columns.count * channels, ring = rows_at_once(rows);
    uint32_t *sums = scratch;
    uint8_t *row = (uint8_t *)(sums + ring * size);
    size_t done = 0, begun = 0, from, end;

    if (is_single(p)) {
        prepare_single(p, frame, scratch, out);
        return;
    }
    columns_of(p, &from, &end);
    for (size_t y = first_of(rows, 0); done < rows->count; y++) {
        for (; begun < rows->count && first_of(rows, begun) == y; begun++) {
            for (size_t i = 0; i < size; i++)
                sums[begun % ring * size + i] = HALF;
        }
        if (done == begun)
            continue; /* between rows that count */
        sum_columns(&p->columns, colours_of(p, frame, y, from, end, row + size), from, channels, row);
        for (size_t i = done; i < begun; i++) {
            uint32_t *to = sums + i % ring * size;
            const uint32_t weight = (uint32_t)rows->words[i * rows->stride + 2 + y - first_of(rows, i)];
            for (size_t k = 0; k < size; k++)
                to[k] += weight * row[k];
        }
        for (; done < begun && end_of(rows, done) == y + 1; done++) {
            const uint32_t *from_sums = sums + done % ring * size;
            for (size_t k = 0; k < size; k++)
                row[k] = rounded(from_sums[k]);
            write_row(p, row, done, out);
        }
    }
}
