/* Reductions of integers, places of extrema, variances, running sums. */
#include "device/kernels/ref/element.h"
#include "device/kernels/ref/ref.h"

/* ---- integers ---- */

static int64_t combine(enum nuc_reduce_op op, int64_t a, int64_t b)
{
    switch (op) {
    case NUC_REDUCE_MAX:
        return b > a ? b : a;
    case NUC_REDUCE_MIN:
        return b < a ? b : a;
    case NUC_REDUCE_PROD:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case NUC_REDUCE_ANY:
        return a != 0 || b != 0;
    case NUC_REDUCE_SUM:
    case NUC_REDUCE_MEAN:
    default:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    }
}

/* `in` at the first element; a product and an extreme start with it, too. */
static int64_t fold(enum nuc_reduce_op op, enum nuc_dtype dtype, const struct nuc_loops *reduced, const void *in,
                    ptrdiff_t first)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const ptrdiff_t step = nuc_row_steps(reduced).a;
    int64_t result = op == NUC_REDUCE_SUM || op == NUC_REDUCE_ANY ? 0 : nuc_load_whole(dtype, in, first);
    int32_t i = op == NUC_REDUCE_SUM || op == NUC_REDUCE_ANY ? 0 : 1;

    do {
        for (; i < nuc_row_length(reduced); i++)
            result = combine(op, result, nuc_load_whole(dtype, in, first + walk.a + i * step));
        i = 0;
    } while (nuc_walk_next_row(reduced, &walk));
    return result;
}

void nuc_kernel_reduce_int(enum nuc_reduce_op op, const struct nuc_loops *kept, const struct nuc_loops *reduced,
                           enum nuc_dtype from, enum nuc_dtype to, const void *in, void *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    do
        nuc_store_whole(to, out, walk.out, fold(op, from, reduced, in, walk.a));
    while (nuc_walk_next(kept, &walk));
}

/* ---- any of float32 ---- */

static bool any_of(const struct nuc_loops *reduced, const float *in)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const ptrdiff_t step = nuc_row_steps(reduced).a;

    do {
        for (int32_t i = 0; i < nuc_row_length(reduced); i++) {
            float v = in[walk.a + i * step];
            if (v < 0.0f || v > 0.0f || v != v)
                return true;
        }
    } while (nuc_walk_next_row(reduced, &walk));
    return false;
}

void nuc_kernel_any_f32(const struct nuc_loops *kept, const struct nuc_loops *reduced, const float *in, bool *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    do
        out[walk.out] = any_of(reduced, in + walk.a);
    while (nuc_walk_next(kept, &walk));
}

/* ---- place of the largest or smallest ---- */

/* The first of equal ones stays; NaN beats everything, the first of them stays, too. */
static bool beats_f32(bool largest, float value, float best)
{
    if (best != best)
        return false;
    return largest ? !(value <= best) : !(value >= best);
}

static int64_t place(bool largest, enum nuc_dtype dtype, const struct nuc_loops *reduced, const void *in,
                     ptrdiff_t first)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const ptrdiff_t step = nuc_row_steps(reduced).a;
    ptrdiff_t best = first;
    int64_t best_place = 0;
    int64_t at = 0;

    do {
        for (int32_t i = 0; i < nuc_row_length(reduced); i++, at++) {
            ptrdiff_t j = first + walk.a + i * step;
            bool beats;
            if (dtype == NUC_F32) {
                beats = beats_f32(largest, ((const float *)in)[j], ((const float *)in)[best]);
            } else {
                int64_t value = nuc_load_whole(dtype, in, j);
                int64_t other = nuc_load_whole(dtype, in, best);
                beats = largest ? value > other : value < other;
            }
            if (beats) {
                best = j;
                best_place = at;
            }
        }
    } while (nuc_walk_next_row(reduced, &walk));
    return best_place;
}

/* Of int8: the largest so far, or the smallest negated, and its place. */
struct best_s8 {
    int32_t value;
    ptrdiff_t place;
};

/* Elements of a row, the first of which has the place `at`. */
static void look_along_s8(int32_t sign, const int8_t *row, int32_t length, ptrdiff_t step, ptrdiff_t at,
                          struct best_s8 *best)
{
    struct best_s8 b = *best;
    ptrdiff_t j = 0;

    for (int32_t i = 0; i < length; i++, j += step) {
        const int32_t value = sign * row[j];
        if (value > b.value)
            b = (struct best_s8){value, at + i};
    }
    *best = b;
}

static int64_t place_s8(bool largest, const struct nuc_loops *reduced, const int8_t *in)
{
    const ptrdiff_t step = nuc_row_steps(reduced).a;
    const int32_t length = nuc_row_length(reduced), sign = largest ? 1 : -1;
    struct best_s8 best = {sign * in[0], 0};

    look_along_s8(sign, in, length, step, 0, &best);
    if (reduced->rank > 1) {
        struct nuc_walk walk = {{0}, 0, 0, 0};
        for (ptrdiff_t at = length; nuc_walk_next_row(reduced, &walk); at += length)
            look_along_s8(sign, in + walk.a, length, step, at, &best);
    }
    return best.place;
}

/* Results side by side, as of the channels of pixels: each looks at one element before any looks at the next. */
#define LEAST_TOGETHER 4
#define MOST_TOGETHER 16
#define MOST_ELEMENTS 64 /* of each: a longer search by itself is the faster one */

static void places_s8(int32_t sign, const int8_t *in, struct nuc_steps result, int32_t count, int32_t length,
                      ptrdiff_t step, int64_t *out)
{
    int32_t best[MOST_TOGETHER], place[MOST_TOGETHER];

    for (int32_t n = 0; n < count; n++) {
        best[n] = sign * in[n * result.a];
        place[n] = 0;
    }
    for (int32_t i = 1; i < length; i++) {
        for (int32_t n = 0; n < count; n++) {
            const int32_t value = sign * in[i * step + n * result.a];
            if (value > best[n]) {
                best[n] = value;
                place[n] = i;
            }
        }
    }
    for (int32_t n = 0; n < count; n++)
        out[n * result.out] = place[n];
}

static void row_of_places_s8(bool largest, const struct nuc_loops *kept, const struct nuc_loops *reduced,
                             const int8_t *in, int64_t *out)
{
    const struct nuc_steps result = nuc_row_steps(kept);
    const int32_t row = nuc_row_length(kept);

    for (int32_t n = 0, count; n < row; n += count) {
        count = row - n < MOST_TOGETHER ? row - n : MOST_TOGETHER;
        places_s8(largest ? 1 : -1, in + n * result.a, result, count, nuc_row_length(reduced), nuc_row_steps(reduced).a,
                  out + n * result.out);
    }
}

void nuc_kernel_arg_extreme(bool largest, const struct nuc_loops *kept, const struct nuc_loops *reduced,
                            enum nuc_dtype dtype, const void *in, int64_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    if (dtype == NUC_I8 && reduced->rank <= 1 && nuc_row_length(reduced) <= MOST_ELEMENTS &&
        nuc_row_length(kept) >= LEAST_TOGETHER) {
        do
            row_of_places_s8(largest, kept, reduced, (const int8_t *)in + walk.a, out + walk.out);
        while (nuc_walk_next_row(kept, &walk));
        return;
    }
    do
        out[walk.out] = dtype == NUC_I8 ? place_s8(largest, reduced, (const int8_t *)in + walk.a)
                                        : place(largest, dtype, reduced, in, walk.a);
    while (nuc_walk_next(kept, &walk));
}

/* ---- variance ---- */

/* Sum of (element - centre), or of its square; the sum starts with the first one. */
static float sum_around(const struct nuc_loops *reduced, const float *in, float centre, bool squares, size_t *count)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const ptrdiff_t step = nuc_row_steps(reduced).a;
    float sum = 0.0f;

    *count = 0;
    do {
        for (int32_t i = 0; i < nuc_row_length(reduced); i++) {
            float v = in[walk.a + i * step];
            sum += squares ? (v - centre) * (v - centre) : v;
        }
        *count += (size_t)nuc_row_length(reduced);
    } while (nuc_walk_next_row(reduced, &walk));
    return sum;
}

void nuc_kernel_var_f32(const struct nuc_loops *kept, const struct nuc_loops *reduced, double correction,
                        const float *in, float *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    do {
        const float *first = in + walk.a;
        size_t count;
        float sum = sum_around(reduced, first, 0.0f, false, &count);
        double divisor = (double)count - correction;
        float squares = sum_around(reduced, first, sum / (float)count, true, &count);
        out[walk.out] = divisor > 0.0 ? (float)((double)squares / divisor) : __builtin_nanf("");
    } while (nuc_walk_next(kept, &walk));
}

/* ---- running sums ---- */

void nuc_kernel_cumsum_f32(const struct nuc_loops *lines, const struct nuc_line *line, const float *in, float *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    do {
        const float *from = in + walk.a;
        float *to = out + walk.out;
        float sum = from[0];
        to[0] = sum;
        for (int32_t k = 1; k < line->size; k++) {
            sum += from[k * line->in_step];
            to[k * line->out_step] = sum;
        }
    } while (nuc_walk_next(lines, &walk));
}

void nuc_kernel_cumsum_int(const struct nuc_loops *lines, const struct nuc_line *line, enum nuc_dtype from,
                           enum nuc_dtype to, const void *in, void *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    do {
        uint64_t sum = 0;
        for (int32_t k = 0; k < line->size; k++) {
            sum += (uint64_t)nuc_load_whole(from, in, walk.a + k * line->in_step);
            nuc_store_whole(to, out, walk.out + k * line->out_step, (int64_t)sum);
        }
    } while (nuc_walk_next(lines, &walk));
}
