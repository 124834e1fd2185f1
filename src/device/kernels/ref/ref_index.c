/* Elements picked, and written, where indices say. An index outside its dimension ends a kernel. */
#include <string.h>

#include "device/kernels/ref/element.h"
#include "device/kernels/ref/ref.h"

/* Where an index leads, from the start of its line on; false when it is none of the dimension. */
static inline __attribute__((always_inline)) bool offset_of(const struct nuc_indexed *x, ptrdiff_t at,
                                                            ptrdiff_t *offset)
{
    int64_t index = nuc_load_whole(x->dtype, x->index, at);

    if (index < 0 && x->from_end)
        index += x->size;
    if (index < 0 || index >= x->size)
        return false;
    *offset = (ptrdiff_t)index * x->stride;
    return true;
}

/* An index for each `bytes`, elements of `size` each: numbers that are known where this is inlined. */
static inline __attribute__((always_inline)) bool gather_each(const struct nuc_indexed *x, ptrdiff_t at,
                                                              struct nuc_steps steps, int32_t count, ptrdiff_t size,
                                                              size_t bytes, const uint8_t *in, uint8_t *out)
{
    const struct nuc_indexed by = *x; /* which no element that is written changes */

    for (int32_t i = 0; i < count; i++, at += steps.a, in += steps.b * size, out += steps.out * size) {
        ptrdiff_t offset;
        if (!offset_of(&by, at, &offset))
            return false;
        __builtin_memmove(out, in + offset * size, bytes); /* freestanding code would call a function for an element */
    }
    return true;
}

static bool gather_elements(const struct nuc_indexed *x, ptrdiff_t at, struct nuc_steps steps, int32_t count,
                            ptrdiff_t size, const uint8_t *in, uint8_t *out)
{
    switch (size) {
    case 1:
        return gather_each(x, at, steps, count, 1, 1, in, out);
    case 2:
        return gather_each(x, at, steps, count, 2, 2, in, out);
    case 4:
        return gather_each(x, at, steps, count, 4, 4, in, out);
    default:
        return gather_each(x, at, steps, count, size, (size_t)size, in, out);
    }
}

bool nuc_kernel_gather(const struct nuc_loops *loops, const struct nuc_indexed *x, size_t element_size, const void *in,
                       void *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    ptrdiff_t size = (ptrdiff_t)element_size;
    /* One index for a row that lies in one piece on both sides. */
    bool whole = steps.a == 0 && steps.b == 1 && steps.out == 1;
    int32_t count = nuc_row_length(loops);

    do {
        const uint8_t *from = (const uint8_t *)in + walk.b * size;
        uint8_t *to = (uint8_t *)out + walk.out * size;
        bool inside = whole ? gather_each(x, walk.a, steps, 1, size, element_size * (size_t)count, from, to)
                            : gather_elements(x, walk.a, steps, count, size, from, to);
        if (!inside)
            return false;
    } while (nuc_walk_next_row(loops, &walk));
    return true;
}

/* ---- combining ---- */

static bool is_nan(float x)
{
    return x != x; /* NOLINT(misc-redundant-expression) */
}

static float combine_f32(enum nuc_combination how, float a, float b)
{
    switch (how) {
    case NUC_COMBINE_ADD:
        return a + b;
    case NUC_COMBINE_MULTIPLY:
        return a * b;
    case NUC_COMBINE_MAX:
        return is_nan(a) || a > b ? a : b;
    case NUC_COMBINE_MIN:
        return is_nan(a) || a < b ? a : b;
    case NUC_COMBINE_REPLACE:
    default:
        return b;
    }
}

static int64_t combine_int(enum nuc_combination how, int64_t a, int64_t b)
{
    switch (how) {
    case NUC_COMBINE_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case NUC_COMBINE_MULTIPLY:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case NUC_COMBINE_MAX:
        return a > b ? a : b;
    case NUC_COMBINE_MIN:
        return a < b ? a : b;
    case NUC_COMBINE_REPLACE:
    default:
        return b;
    }
}

/* Integers wrap to their type. */
static void combine(enum nuc_combination how, enum nuc_dtype dtype, size_t size, const uint8_t *from, uint8_t *to)
{
    if (how == NUC_COMBINE_REPLACE) {
        memmove(to, from, size);
        return;
    }
    if (dtype == NUC_F32) {
        float value = combine_f32(how, *(const float *)(const void *)to, *(const float *)(const void *)from);
        memcpy(to, &value, sizeof value);
        return;
    }
    nuc_store_whole(dtype, to, 0, combine_int(how, nuc_load_whole(dtype, to, 0), nuc_load_whole(dtype, from, 0)));
}

bool nuc_kernel_scatter(const struct nuc_loops *loops, const struct nuc_indexed *x, enum nuc_combination how,
                        enum nuc_dtype dtype, const void *src, void *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    size_t size = nuc_dtype_size(dtype);

    do {
        for (int32_t i = 0; i < nuc_row_length(loops); i++) {
            ptrdiff_t offset;
            if (!offset_of(x, walk.a + i * steps.a, &offset))
                return false;
            ptrdiff_t to = walk.out + i * steps.out + offset;
            combine(how, dtype, size, (const uint8_t *)src + (walk.b + i * steps.b) * (ptrdiff_t)size,
                    (uint8_t *)out + to * (ptrdiff_t)size);
        }
    } while (nuc_walk_next_row(loops, &walk));
    return true;
}

void nuc_kernel_combine(const struct nuc_loops *loops, enum nuc_combination how, enum nuc_dtype dtype, const void *in,
                        void *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    size_t size = nuc_dtype_size(dtype);

    do {
        for (int32_t i = 0; i < nuc_row_length(loops); i++)
            combine(how, dtype, size, (const uint8_t *)in + (walk.a + i * steps.a) * (ptrdiff_t)size,
                    (uint8_t *)out + (walk.out + i * steps.out) * (ptrdiff_t)size);
    } while (nuc_walk_next_row(loops, &walk));
}

bool nuc_kernel_masked_scatter(const struct nuc_loops *loops, size_t element_size, const bool *mask, const void *source,
                               size_t count, void *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    size_t used = 0;

    do {
        for (int32_t i = 0; i < nuc_row_length(loops); i++) {
            if (!mask[walk.a + i * steps.a])
                continue;
            if (used == count)
                return false;
            memmove((uint8_t *)out + (walk.out + i * steps.out) * (ptrdiff_t)element_size,
                    (const uint8_t *)source + used++ * element_size, element_size);
        }
    } while (nuc_walk_next_row(loops, &walk));
    return true;
}

/* ---- order ---- */

/* NaN is larger than every number. */
static int compare_f32(float a, float b)
{
    if (is_nan(a) || is_nan(b))
        return (is_nan(a) ? 1 : 0) - (is_nan(b) ? 1 : 0);
    return (a > b ? 1 : 0) - (a < b ? 1 : 0);
}

static const uint8_t *element(const struct nuc_sort *s, const uint8_t *in, int64_t i)
{
    return in + (ptrdiff_t)i * s->in_step * (ptrdiff_t)nuc_dtype_size(s->dtype);
}

/* Whether element a of the line comes in front of element b; equal ones keep their order. */
static bool precedes(const struct nuc_sort *s, const uint8_t *in, int64_t a, int64_t b)
{
    const uint8_t *x = element(s, in, a), *y = element(s, in, b);
    int order;

    if (s->dtype == NUC_F32) {
        order = compare_f32(*(const float *)(const void *)x, *(const float *)(const void *)y);
    } else {
        int64_t u = nuc_load_whole(s->dtype, x, 0), v = nuc_load_whole(s->dtype, y, 0);
        order = (u > v ? 1 : 0) - (u < v ? 1 : 0);
    }
    if (order == 0)
        return a < b;
    return s->descending ? order > 0 : order < 0;
}

/* A heap of places whose root comes last in order; moves the entry at `root` down among the first `count`. */
static void sift(const struct nuc_sort *s, const uint8_t *in, int64_t *heap, int32_t root, int32_t count)
{
    int64_t moved = heap[root * s->out_step];

    for (int32_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && precedes(s, in, heap[child * s->out_step], heap[(child + 1) * s->out_step]))
            child++;
        if (!precedes(s, in, moved, heap[child * s->out_step]))
            break;
        heap[root * s->out_step] = heap[child * s->out_step];
        root = child;
    }
    heap[root * s->out_step] = moved;
}

void nuc_kernel_sort(const struct nuc_sort *s, const void *line, void *values, int64_t *indices)
{
    const uint8_t *in = line;
    size_t size = nuc_dtype_size(s->dtype);

    for (int32_t i = 0; i < s->count; i++)
        indices[i * s->out_step] = i;
    for (int32_t i = s->count / 2; i-- > 0;)
        sift(s, in, indices, i, s->count);
    for (int32_t i = s->count; s->count > 0 && i < s->size; i++) {
        if (!precedes(s, in, i, indices[0]))
            continue;
        indices[0] = i;
        sift(s, in, indices, 0, s->count);
    }
    for (int32_t last = s->count - 1; last > 0; last--) {
        int64_t root = indices[0];
        indices[0] = indices[last * s->out_step];
        indices[last * s->out_step] = root;
        sift(s, in, indices, 0, last);
    }
    for (int32_t i = 0; i < s->count; i++)
        memcpy((uint8_t *)values + i * s->out_step * (ptrdiff_t)size, element(s, in, indices[i * s->out_step]), size);
}
