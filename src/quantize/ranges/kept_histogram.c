#include "quantize/ranges/kept_histogram.h"

#include <string.h>

#define BINS NUC_HISTOGRAM_BINS
#define WORD 64

static uint32_t mark_used(const struct nuc_histogram *h, uint64_t used[BINS / WORD])
{
    uint32_t count = 0;

    for (uint32_t w = 0; w < BINS / WORD; w++) {
        used[w] = 0;
        for (uint32_t i = 0; i < WORD; i++)
            used[w] |= (uint64_t)(h->bins[w * WORD + i] > 0) << i;
        count += (uint32_t)__builtin_popcountll(used[w]);
    }
    return count;
}

/* Geometric growth: what is outgrown stays in the arena. */
static void make_room(struct nuc_context *cx, struct nuc_arena *arena, struct nuc_kept_histogram *kept)
{
    uint32_t wanted = kept->count > 2 * kept->capacity ? kept->count : 2 * kept->capacity;

    if (kept->count <= kept->capacity)
        return;
    kept->capacity = wanted < BINS ? wanted : BINS;
    kept->bins = nuc_alloc_in(cx, arena, kept->capacity * sizeof *kept->bins);
}

void nuc_histogram_keep(struct nuc_context *cx, struct nuc_arena *arena, struct nuc_kept_histogram *kept,
                        const struct nuc_histogram *h)
{
    float *to;

    kept->seen = h->seen;
    kept->min = h->min;
    kept->max = h->max;
    kept->count = mark_used(h, kept->used);
    make_room(cx, arena, kept);
    to = kept->bins;
    for (uint32_t w = 0; w < BINS / WORD; w++) {
        for (uint64_t left = kept->used[w]; left != 0; left &= left - 1)
            *to++ = h->bins[w * WORD + (uint32_t)__builtin_ctzll(left)];
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
        for (uint64_t left = kept->used[w]; left != 0; left &= left - 1)
            h->bins[w * WORD + (uint32_t)__builtin_ctzll(left)] = *from++;
    }
}
