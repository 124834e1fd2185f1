#include "compiler/neutron/scratch_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/span.h"

#define ALIGNMENT 16
#define SWAPS 4000      /* tries to improve the best greedy plan when it misses the bound */
#define SWAP_RANGES 512 /* with more ranges that would take seconds */
#define LIMIT ((uint64_t)1 << 31)

/* What an order sorts by, largest first; ties keep the order of the ranges. */
enum order { BY_SIZE, BY_AREA, BY_DURATION, BY_START, BY_END, BY_CROWD, ORDER_COUNT };

struct item {
    uint64_t key, second;
    uint32_t index;
};

/* The plan under construction: items placed so far, in order of address. */
struct plan {
    const struct nuc_scratch_range *ranges;
    uint64_t *offset; /* of each range */
    uint32_t *placed; /* indices by offset */
    uint32_t n_placed;
    uint64_t size;
};

static uint64_t padded(const struct nuc_scratch_range *r)
{
    return nuc_align_up(r->size, ALIGNMENT);
}

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    if (x->second != y->second)
        return x->second > y->second ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Bytes live in each step; returns the largest. `live` has one entry a step. */
static uint64_t live_bytes(const struct nuc_scratch_range *ranges, uint32_t n, uint64_t *live, uint32_t steps)
{
    uint64_t peak = 0;

    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t s = ranges[i].first; s <= ranges[i].last; s++)
            live[s] += padded(&ranges[i]);
    }
    for (uint32_t s = 0; s < steps; s++)
        peak = live[s] > peak ? live[s] : peak;
    return peak;
}

/* The fullest step of a range's life: tensors of the peak are placed first by BY_CROWD. */
static uint64_t crowd(const struct nuc_scratch_range *r, const uint64_t *live)
{
    uint64_t most = 0;

    for (uint32_t s = r->first; s <= r->last; s++)
        most = live[s] > most ? live[s] : most;
    return most;
}

static uint64_t order_key(const struct nuc_scratch_range *r, enum order order, const uint64_t *live)
{
    uint64_t duration = (uint64_t)r->last - r->first + 1;

    switch (order) {
    case BY_AREA:
        return padded(r) * duration;
    case BY_DURATION:
        return duration;
    case BY_START:
        return UINT32_MAX - r->first;
    case BY_END:
        return r->last;
    case BY_CROWD:
        return crowd(r, live);
    case BY_SIZE:
    case ORDER_COUNT:
        break;
    }
    return padded(r);
}

/* The lowest gap between placed ranges that live at the same time. */
static void place(struct plan *p, uint32_t index)
{
    const struct nuc_scratch_range *r = &p->ranges[index];
    uint64_t at = 0;
    uint32_t where = 0;

    for (uint32_t i = 0; i < p->n_placed; i++) {
        const struct nuc_scratch_range *other = &p->ranges[p->placed[i]];
        uint64_t offset = p->offset[p->placed[i]];
        if (other->last < r->first || other->first > r->last)
            continue;
        if (offset >= at + padded(r))
            break;
        at = offset + padded(other) > at ? offset + padded(other) : at;
    }
    p->offset[index] = at;
    p->size = at + padded(r) > p->size ? at + padded(r) : p->size;
    while (where < p->n_placed && p->offset[p->placed[where]] <= at)
        where++;
    memmove(p->placed + where + 1, p->placed + where, (p->n_placed - where) * sizeof *p->placed);
    p->placed[where] = index;
    p->n_placed++;
}

static uint64_t place_all(struct plan *p, const struct item *items, uint32_t n)
{
    p->n_placed = 0;
    p->size = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (p->ranges[items[i].index].size > 0)
            place(p, items[i].index);
    }
    return p->size;
}

static uint64_t plan_by(struct plan *p, struct item *items, uint32_t n, enum order order, const uint64_t *live)
{
    for (uint32_t i = 0; i < n; i++)
        items[i] = (struct item){order_key(&p->ranges[i], order, live), padded(&p->ranges[i]), i};
    qsort(items, n, sizeof *items, compare_items);
    return place_all(p, items, n);
}

static void keep(const struct plan *p, struct nuc_scratch_range *ranges, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        ranges[i].offset = (uint32_t)p->offset[i];
}

/* Exchanges two places of the order as long as that does not make the plan larger. Deterministic. */
static uint64_t improve(struct plan *p, struct nuc_scratch_range *ranges, struct item *items, uint32_t n, uint64_t best,
                        uint64_t bound)
{
    uint32_t random = 0x9E3779B9u;
    uint64_t current = place_all(p, items, n);

    for (uint32_t tries = 0; tries < SWAPS && best > bound; tries++) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        uint32_t a = (random & 0xFFFFu) % n, b = (random >> 16) % n;
        struct item saved = items[a];
        items[a] = items[b];
        items[b] = saved;
        uint64_t size = place_all(p, items, n);
        if (size > current) {
            items[b] = items[a];
            items[a] = saved;
            continue;
        }
        current = size;
        if (size < best) {
            best = size;
            keep(p, ranges, n);
        }
    }
    return best;
}

static uint64_t best_plan(struct nuc_context *cx, struct nuc_scratch_range *ranges, uint32_t n, const uint64_t *live,
                          uint64_t bound)
{
    struct plan p = {.ranges = ranges,
                     .offset = nuc_alloc_array(cx, n, sizeof(uint64_t)),
                     .placed = nuc_alloc_array(cx, n, sizeof(uint32_t))};
    struct item *items = nuc_alloc_array(cx, n, sizeof *items);
    uint64_t best = UINT64_MAX;

    for (int order = 0; order < ORDER_COUNT && best > bound; order++) {
        uint64_t size = plan_by(&p, items, n, (enum order)order, live);
        if (size >= best)
            continue;
        best = size;
        keep(&p, ranges, n);
    }
    return n <= SWAP_RANGES ? improve(&p, ranges, items, n, best, bound) : best;
}

uint32_t nuc_scratch_plan(struct nuc_context *cx, struct nuc_scratch_range *ranges, uint32_t n, uint32_t *bound)
{
    uint32_t steps = 1;
    uint64_t size = 0;

    *bound = 0;
    if (n == 0)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        steps = ranges[i].last >= steps ? ranges[i].last + 1 : steps;
    struct nuc_arena *outer = nuc_push_arena(cx);
    uint64_t *live = nuc_alloc_array(cx, steps, sizeof *live);
    uint64_t peak = live_bytes(ranges, n, live, steps);
    size = peak < LIMIT ? best_plan(cx, ranges, n, live, peak) : peak;
    nuc_pop_arena(cx, outer);
    if (size >= LIMIT)
        nuc_fail(cx, NUC_UNSUPPORTED,
                 "the intermediates need %llu bytes of scratch, the NPU addresses 2 GiB: "
                 "split the model or make its inputs smaller",
                 (unsigned long long)size);
    *bound = (uint32_t)peak;
    return (uint32_t)size;
}
