/* Counting values into bins, and joining histograms over different ranges. */
#include <math.h>
#include <string.h>

#include "quantize/ranges/histogram.h"

#include "host/clones.h"

#define BINS NUC_HISTOGRAM_BINS

/* Each bin is cut into this many when a histogram moves to a wider range. */
#define UPSAMPLE 16

#define LANES 16  /* independent accumulators: lets the compiler use vector registers without reordering */
#define BLOCK 512 /* values whose bin numbers are computed at a time */

/* Values that are looked at, then counted, while they are in a cache. */
#define STRETCH ((size_t)8192)

/* ---- range ---- */

NUC_CLONES static void min_max_block(const float *x, size_t count, float *restrict lo, float *restrict hi,
                                     int32_t *restrict nan)
{
    for (size_t i = 0; i + LANES <= count; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            float v = x[i + k];
            lo[k] = v < lo[k] ? v : lo[k];
            hi[k] = v > hi[k] ? v : hi[k];
            nan[k] |= v != v;
        }
    }
}

bool nuc_min_max(const float *x, size_t count, float *min, float *max)
{
    float lo[LANES], hi[LANES];
    int32_t nan[LANES] = {0};
    size_t whole = count - count % LANES;

    for (size_t k = 0; k < LANES; k++)
        lo[k] = hi[k] = x[0];
    min_max_block(x, count, lo, hi, nan);
    for (size_t i = whole; i < count; i++) {
        lo[0] = x[i] < lo[0] ? x[i] : lo[0];
        hi[0] = x[i] > hi[0] ? x[i] : hi[0];
        nan[0] |= x[i] != x[i];
    }
    for (size_t k = 1; k < LANES; k++) {
        lo[0] = lo[k] < lo[0] ? lo[k] : lo[0];
        hi[0] = hi[k] > hi[0] ? hi[k] : hi[0];
        nan[0] |= nan[k];
    }
    *min = lo[0];
    *max = hi[0];
    return nan[0] == 0;
}

bool nuc_seen_range(struct nuc_seen_values *v)
{
    if (!v->has_range)
        v->has_nan = !nuc_min_max(v->x, v->count, &v->min, &v->max);
    v->has_range = true;
    return !v->has_nan;
}

/* Range of the finite values. False when there are none. */
bool nuc_finite_range(const struct nuc_seen_values *v, float *min, float *max)
{
    bool any = false;

    *min = v->min;
    *max = v->max;
    if (!isinf(v->min) && !isinf(v->max))
        return true;
    for (size_t i = 0; i < v->count; i++) {
        if (isinf(v->x[i]))
            continue;
        *min = !any || v->x[i] < *min ? v->x[i] : *min;
        *max = !any || v->x[i] > *max ? v->x[i] : *max;
        any = true;
    }
    return any;
}

/* ---- counting: torch.histc ---- */

/* The last bin includes its right edge. `x` holds values in [lo, lo + width]. */
NUC_CLONES static void bin_numbers(const float *x, size_t count, float lo, float width, int32_t *out)
{
    for (size_t i = 0; i < count; i++) {
        float position = (x[i] - lo) * (float)BINS / width;
        out[i] = (int32_t)(position < (float)(BINS - 1) ? position : (float)(BINS - 1));
    }
}

#define TABLES 4 /* counters of neighbouring values, so that equal values do not wait for each other */

struct counters {
    uint32_t tables[TABLES][BINS];
    size_t used; /* where one of them is enough, the others are neither cleared nor summed up */
};

#define FEW ((size_t)BINS) /* values for which it is */

static void count_block(struct counters *c, const int32_t *bin, size_t count)
{
    size_t i = 0;

    for (; c->used == TABLES && i + TABLES <= count; i += TABLES) {
        for (size_t k = 0; k < TABLES; k++)
            c->tables[k][bin[i + k]]++;
    }
    for (; i < count; i++)
        c->tables[0][bin[i]]++;
}

/* Moves the finite values of x[0..count) to the front of `out`; returns how many there are. */
static size_t take_finite(const float *x, size_t count, float *out)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (!isinf(x[i]))
            out[n++] = x[i];
    }
    return n;
}

/* Of values in [lo, lo + width]. */
static void count_stretch(struct counters *c, bool has_infinity, float lo, float width, const float *x, size_t count)
{
    int32_t bin[BLOCK];
    float finite[BLOCK];

    for (size_t i = 0; i < count; i += BLOCK) {
        const float *block = x + i;
        size_t n = count - i < BLOCK ? count - i : BLOCK;
        if (has_infinity) {
            n = take_finite(block, n, finite);
            block = finite;
        }
        bin_numbers(block, n, lo, width, bin);
        count_block(c, bin, n);
    }
}

static void sum_counters(const struct counters *c, float counts[BINS])
{
    uint32_t sums[BINS] = {0};

    for (size_t k = 0; k < c->used; k++) {
        for (size_t b = 0; b < BINS; b++)
            sums[b] += c->tables[k][b];
    }
    for (size_t b = 0; b < BINS; b++)
        counts[b] = (float)sums[b];
}

/* ---- sum: torch.sum ---- */

float nuc_histogram_sum(const float bins[NUC_HISTOGRAM_BINS])
{
    enum { WIDTH = 32, VECTOR = 8, ROWS = 16 };
    float partial[WIDTH] = {0}, sums[WIDTH] = {0}, total = 0;

    for (size_t row = 0; row < BINS / WIDTH; row++) {
        for (size_t k = 0; k < WIDTH; k++)
            partial[k] += bins[row * WIDTH + k];
        if (row % ROWS != ROWS - 1)
            continue;
        for (size_t k = 0; k < WIDTH; k++) {
            sums[k] += partial[k];
            partial[k] = 0;
        }
    }
    for (size_t k = VECTOR; k < WIDTH; k++)
        sums[k % VECTOR] += sums[k];
    for (size_t k = 0; k < VECTOR; k++)
        total += sums[k];
    return total;
}

/* ---- joining ---- */

/* torch.linspace(start, end, steps)[index]: counted from the nearer end. */
static inline float linspace(float start, float end, size_t steps, size_t index)
{
    float step = (end - start) / (float)(steps - 1);

    return index < steps / 2 ? start + step * (float)index : end - step * (float)(steps - index - 1);
}

/* The bin of `edges` that holds `value`, looked for from the bin of the last, smaller or nearly equal value. */
static inline size_t walk(const float edges[BINS + 1], float value, size_t bin)
{
    while (bin > 0 && edges[bin] > value)
        bin--;
    while (bin < BINS - 1 && edges[bin + 1] <= value)
        bin++;
    return bin;
}

/* Whether a multiple of the last bit of all floats up to `most`. */
static inline bool is_multiple(float x, float most)
{
    uint32_t bits;

    memcpy(&bits, &most, sizeof bits);
    bits = (bits & 0x7f800000) + 0x800000;
    memcpy(&most, &bits, sizeof bits);
    return (x + most) - most == x;
}

/* `count` times, each sum rounded: at once where none of them is. */
static inline float add_parts(float sum, float part, size_t count)
{
    const float most = sum + part * (float)count;

    if (most < 0x1p100f && is_multiple(sum, most) && is_multiple(part, most))
        return most;
    for (size_t i = 0; i < count; i++)
        sum += part;
    return sum;
}

/* Old bins whose parts are looked at together; all of one half. */
#define GROUP 64

/* linspace() + half of the parts of a group. */
static inline void set_middles(const struct nuc_histogram *old, size_t group, float half,
                               float middles[GROUP * UPSAMPLE])
{
    const float step = (old->max - old->min) / (float)(BINS * UPSAMPLE);
    const float end = group < BINS / 2 ? old->min : old->max;
    const int32_t first = (int32_t)(group < BINS / 2 ? group : group - BINS) * UPSAMPLE;

    for (int32_t i = 0; i < GROUP * UPSAMPLE; i++)
        middles[i] = end + step * (float)(first + i) + half;
}

/*
 * Adds the old bins, each cut into UPSAMPLE equal parts, to the new ones over [min, max]: a part counts where its
 * middle lies. The sum of the bin at hand is not stored before the next one.
 */
NUC_CLONES static void move_bins(const struct nuc_histogram *old, float min, float max, float moved[BINS])
{
    float edges[BINS + 1], middles[GROUP * UPSAMPLE], sum = 0;
    float half = 0.5f * ((old->max - old->min) / (float)(BINS * UPSAMPLE));
    int32_t ascend = 1; /* not where rounding, or a width that overflows, forbids */
    size_t bin = 0;

    for (size_t i = 0; i <= BINS; i++)
        edges[i] = linspace(min, max, BINS + 1, i);
    for (size_t i = 0; i < BINS; i++)
        ascend &= edges[i] <= edges[i + 1];
    for (size_t b = 0; b < BINS; b++) {
        const float part = old->bins[b] / (float)UPSAMPLE, *middle = middles + b % GROUP * UPSAMPLE;
        if (b % GROUP == 0)
            set_middles(old, b, half, middles);
        for (size_t i = 0, end; part != 0 && i < UPSAMPLE; i = end) {
            size_t next = walk(edges, middle[i], bin);
            if (next != bin) {
                moved[bin] = sum;
                sum = moved[next];
                bin = next;
            }
            end = i + 1;
            if (ascend && (bin == BINS - 1 || middle[UPSAMPLE - 1] < edges[bin + 1]))
                end = UPSAMPLE;
            while (ascend && end < UPSAMPLE && middle[end] < edges[bin + 1])
                end++;
            sum = add_parts(sum, part, end - i);
        }
    }
    moved[bin] = sum;
}

/* Makes `counts` over [min, max], which contains the old range, include the old histogram. */
static void join(const struct nuc_histogram *old, float min, float max, float counts[BINS])
{
    if (min == old->min && max == old->max) {
        for (size_t b = 0; b < BINS; b++)
            counts[b] += old->bins[b];
    } else if (old->min == old->max) {
        int32_t bin;
        bin_numbers(&old->min, 1, min, max - min, &bin);
        counts[bin] += nuc_histogram_sum(old->bins);
    } else {
        float moved[BINS] = {0};
        move_bins(old, min, max, moved);
        for (size_t b = 0; b < BINS; b++)
            counts[b] += moved[b];
    }
}

/* The range of the values grows by some. */
static void add_range(struct nuc_seen_values *v, const float *x, size_t count)
{
    float min, max;

    v->has_nan |= !nuc_min_max(x, count, &min, &max);
    v->min = min < v->min ? min : v->min;
    v->max = max > v->max ? max : v->max;
}

/*
 * counts[b]: of values over [min, max]. Where their range is not known yet, it is found on the way; false where they
 * turn out to lie elsewhere: nothing is counted then.
 */
static bool count(struct nuc_seen_values *v, float min, float max, bool has_infinity, float counts[BINS])
{
    struct counters c;
    bool looks = !v->has_range, inside = true;
    float lo = min, hi = max;

    /*
     * torch widens an empty range by 1 on both sides. The limits are finite; a width that overflows or underflows makes
     * the quotient in bin_numbers() infinite or NaN, which its bound takes into the last bin.
     */
    if (lo == hi) {
        lo = (float)((double)lo - 1);
        hi = (float)((double)hi + 1);
    }
    c.used = v->count < FEW ? 1 : TABLES;
    memset(c.tables, 0, c.used * sizeof *c.tables);
    if (looks)
        v->min = v->max = v->x[0];
    for (size_t i = 0; i < v->count; i += STRETCH) {
        size_t n = v->count - i < STRETCH ? v->count - i : STRETCH;
        if (looks) {
            add_range(v, v->x + i, n);
            inside = inside && !v->has_nan && v->min >= min && v->max <= max;
        }
        if (inside)
            count_stretch(&c, has_infinity, lo, hi - lo, v->x + i, n);
    }
    v->has_range = true;
    if (v->has_nan || !inside)
        return false;
    sum_counters(&c, counts);
    return true;
}

bool nuc_histogram_add(struct nuc_histogram *h, struct nuc_seen_values *v)
{
    float counts[BINS], min, max;

    if (v->count == 0)
        return true;
    /* Most tensors lie in the range of those before. */
    bool counted = h->seen && !v->has_range && count(v, h->min, h->max, false, counts);
    if (counted) {
        min = h->min;
        max = h->max;
    } else {
        if (!nuc_seen_range(v))
            return false;
        if (!nuc_finite_range(v, &min, &max))
            return true;
        bool has_infinity = isinf(v->min) || isinf(v->max);
        if (h->seen) {
            min = h->min < min ? h->min : min;
            max = h->max > max ? h->max : max;
        }
        count(v, min, max, has_infinity, counts);
    }
    if (h->seen)
        join(h, min, max, counts);
    h->seen = true;
    h->min = min;
    h->max = max;
    memcpy(h->bins, counts, sizeof counts);
    return true;
}

void nuc_histogram_join(struct nuc_histogram *h, const struct nuc_histogram *a, const struct nuc_histogram *b)
{
    if (!a->seen || !b->seen) {
        *h = a->seen ? *a : *b;
        return;
    }
    *h = (struct nuc_histogram){
        .seen = true, .min = a->min < b->min ? a->min : b->min, .max = a->max > b->max ? a->max : b->max};
    join(a, h->min, h->max, h->bins);
    join(b, h->min, h->max, h->bins);
}
