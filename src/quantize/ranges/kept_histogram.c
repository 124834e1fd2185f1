#include "quantize/ranges/kept_histogram.h"

#include <string.h>

#include "device/base/span.h"
#include "host/clones.h"

#define BINS NUC_HISTOGRAM_BINS
#define WORD 64

/* Bytes of 0 and 1, from eight of which one product makes bits in their order. */
NUC_CLONES static void mark_bins(const float *bins, uint8_t *restrict marks)
{
    for (size_t b = 0; b < BINS; b++)
        marks[b] = bins[b] > 0;
}

static uint32_t mark_used(const struct nuc_histogram *h, uint64_t used[BINS / WORD])
{
    uint8_t marks[BINS];
    uint32_t count = 0;

    mark_bins(h->bins, marks);
    for (uint32_t w = 0; w < BINS / WORD; w++) {
        used[w] = 0;
        for (uint32_t i = 0; i < WORD; i += 8)
            used[w] |= (nuc_load_u64(marks + w * WORD + i) * UINT64_C(0x0102040810204080)) >> 56 << i;
        count += (uint32_t)__builtin_popcountll(used[w]);
    }
    return count;
}

/* Geometric growth: what is outgrown stays in the arena. The bins there are stay. */
static void make_room(struct nuc_context *cx, struct nuc_arena *arena, struct nuc_kept_histogram *kept, uint32_t count)
{
    uint32_t wanted = count > 2 * kept->capacity ? count : 2 * kept->capacity;
    const float *old = kept->bins;

    if (count <= kept->capacity)
        return;
    kept->bins = nuc_alloc_unset(cx, arena, (wanted < BINS ? wanted : BINS) * sizeof *kept->bins);
    if (kept->capacity != 0)
        memcpy(kept->bins, old, kept->capacity * sizeof *old);
    kept->capacity = wanted < BINS ? wanted : BINS;
}

void nuc_histogram_reserve(struct nuc_context *cx, struct nuc_arena *arena, struct nuc_kept_histogram *kept)
{
    make_room(cx, arena, kept, BINS);
}

void nuc_histogram_keep(struct nuc_context *cx, struct nuc_arena *arena, struct nuc_kept_histogram *kept,
                        const struct nuc_histogram *h)
{
    float *to;

    kept->seen = h->seen;
    kept->min = h->min;
    kept->max = h->max;
    kept->count = mark_used(h, kept->used);
    make_room(cx, arena, kept, kept->count);
    to = kept->bins;
    for (uint32_t w = 0; w < BINS / WORD; w++) {
        const float *bins = h->bins + w * WORD;
        uint64_t left = kept->used[w];
        if (left == UINT64_MAX) {
            memcpy(to, bins, WORD * sizeof *to);
            to += WORD;
            continue;
        }
        for (; left != 0; left &= left - 1)
            *to++ = bins[(uint32_t)__builtin_ctzll(left)];
    }
}

void nuc_histogram_take(const struct nuc_kept_histogram *kept, struct nuc_histogram *h)
{
    const float *from = kept->bins;

    h->seen = kept->seen;
    h->min = kept->min;
    h->max = kept->max;
    memset(h->bins, 0, sizeof h->bins);
    for (uint32_t w = 0; w < BINS / WORD; w++) {
        float *bins = h->bins + w * WORD;
        uint64_t left = kept->used[w];
        if (left == UINT64_MAX) {
            memcpy(bins, from, WORD * sizeof *from);
            from += WORD;
            continue;
        }
        for (; left != 0; left &= left - 1)
            bins[(uint32_t)__builtin_ctzll(left)] = *from++;
    }
}
