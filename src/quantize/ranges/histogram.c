/* Counting values into bins, and joining histograms over different ranges. */
#include <math.h>
#include <string.h>

#include "quantize/ranges/histogram.h"

#include "eval/eval_parallel.h"
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

/* ---- pieces of a tensor, on the threads that there are ---- */

#define MOST_PIECES 2
#define LARGE 16384 /* values that are worth a thread */

/* Of an element, in multiply-accumulates. */
#define PIECE_COST 8.0

static size_t pieces_of(const struct nuc_seen_values *v)
{
    return v->pool != NULL && v->count >= LARGE ? MOST_PIECES : 1;
}

static size_t piece_begin(const struct nuc_seen_values *v, size_t piece)
{
    return v->count * piece / pieces_of(v);
}

static void for_pieces(const struct nuc_seen_values *v, nuc_parallel_fn fn, const void *arg)
{
    if (pieces_of(v) == 1)
        fn(arg, (struct nuc_part){0, 1, 0});
    else
        nuc_parallel_for(v->pool, pieces_of(v), (double)v->count * PIECE_COST, fn, arg);
}

struct piece_range {
    float min, max;
    bool has_nan;
};

static void add_range(struct piece_range *r, const float *x, size_t count)
{
    float min, max;

    r->has_nan |= !nuc_min_max(x, count, &min, &max);
    r->min = min < r->min ? min : r->min;
    r->max = max > r->max ? max : r->max;
}

static void set_range(struct nuc_seen_values *v, const struct piece_range *pieces)
{
    v->min = pieces[0].min;
    v->max = pieces[0].max;
    for (size_t i = 0; i < pieces_of(v); i++) {
        v->min = pieces[i].min < v->min ? pieces[i].min : v->min;
        v->max = pieces[i].max > v->max ? pieces[i].max : v->max;
        v->has_nan |= pieces[i].has_nan;
    }
    v->has_range = true;
}

struct looking {
    const struct nuc_seen_values *v;
    struct piece_range *ranges; /* of each piece */
};

static void look(const void *arg, struct nuc_part part)
{
    const struct looking *l = arg;

    for (size_t i = part.begin; i < part.end; i++) {
        size_t begin = piece_begin(l->v, i);
        l->ranges[i] = (struct piece_range){l->v->x[begin], l->v->x[begin], false};
        add_range(&l->ranges[i], l->v->x + begin, piece_begin(l->v, i + 1) - begin);
    }
}

bool nuc_seen_range(struct nuc_seen_values *v)
{
    struct piece_range ranges[MOST_PIECES];

    if (!v->has_range) {
        for_pieces(v, look, &(struct looking){v, ranges});
        set_range(v, ranges);
    }
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
};

/* Values for which one of the tables is enough: the others are neither cleared nor summed up. */
#define FEW ((size_t)BINS)

static size_t tables_of(const struct nuc_seen_values *v)
{
    return v->count < FEW ? 1 : TABLES;
}

static void count_block(struct counters *c, size_t tables, const int32_t *bin, size_t count)
{
    size_t i = 0;

    for (; tables == TABLES && i + TABLES <= count; i += TABLES) {
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

struct counting {
    const struct nuc_seen_values *v;
    bool has_infinity;
    float lo, width;
    /* Of each piece. */
    struct counters *counters;
    struct piece_range *ranges;
    /* Where the range of the values is not known yet: what it must not go beyond for the counters to mean anything. */
    bool looks;
    float min, max;
};

static void count_stretch(const struct counting *c, struct counters *to, const float *x, size_t count)
{
    int32_t bin[BLOCK];
    float finite[BLOCK];

    for (size_t i = 0; i < count; i += BLOCK) {
        const float *block = x + i;
        size_t n = count - i < BLOCK ? count - i : BLOCK;
        if (c->has_infinity) {
            n = take_finite(block, n, finite);
            block = finite;
        }
        bin_numbers(block, n, c->lo, c->width, bin);
        count_block(to, tables_of(c->v), bin, n);
    }
}

/* Numbers do not depend on who counts which. */
static void count_pieces(const void *arg, struct nuc_part part)
{
    const struct counting *c = arg;

    for (size_t piece = part.begin; piece < part.end; piece++) {
        size_t begin = piece_begin(c->v, piece), end = piece_begin(c->v, piece + 1);
        struct counters *to = &c->counters[piece];
        struct piece_range seen = {c->v->x[begin], c->v->x[begin], false}, *r = &c->ranges[piece];
        bool inside = true;
        memset(to->tables, 0, tables_of(c->v) * sizeof *to->tables);
        for (size_t i = begin; i < end; i += STRETCH) {
            size_t n = end - i < STRETCH ? end - i : STRETCH;
            if (c->looks) {
                add_range(&seen, c->v->x + i, n);
                inside = inside && !seen.has_nan && seen.min >= c->min && seen.max <= c->max;
            }
            if (inside)
                count_stretch(c, to, c->v->x + i, n);
        }
        if (c->looks)
            *r = seen;
    }
}

static void sum_counters(const struct counters *pieces, const struct nuc_seen_values *v, float counts[BINS])
{
    uint32_t sums[BINS] = {0};

    for (size_t k = 0; k < pieces_of(v) * tables_of(v); k++) {
        const uint32_t *table = pieces[k / tables_of(v)].tables[k % tables_of(v)];
        for (size_t b = 0; b < BINS; b++)
            sums[b] += table[b];
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

/* counts[b]: of values over [min, max]. False where they turn out to lie elsewhere: nothing is counted then. */
static bool count(struct nuc_seen_values *v, float min, float max, bool has_infinity, float counts[BINS])
{
    struct counters counters[MOST_PIECES];
    struct piece_range ranges[MOST_PIECES];
    bool looks = !v->has_range;
    float lo = min, hi = max;

    /*
     * torch widens an empty range by 1 on both sides. The limits are finite; a width that overflows or underflows makes
     * the quotient in bin_numbers() infinite or NaN, which its bound takes into the last bin.
     */
    if (lo == hi) {
        lo = (float)((double)lo - 1);
        hi = (float)((double)hi + 1);
    }
    for_pieces(v, count_pieces, &(struct counting){v, has_infinity, lo, hi - lo, counters, ranges, looks, min, max});
    if (looks)
        set_range(v, ranges);
    if (v->has_nan || (looks && (v->min < min || v->max > max)))
        return false;
    sum_counters(counters, v, counts);
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
