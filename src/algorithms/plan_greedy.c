/* Greedy plans: one range after the other at the lowest free address. */
#include <stdlib.h>
#include <string.h>

#include "device/base/span.h"
#include "plan_part.h"

/* What an order sorts by, largest first; ties by size, then by index. */
enum key { BY_SIZE, BY_CROWD, BY_AREA, BY_DURATION, BY_START, BY_END, KEY_COUNT };

static const char *const names[KEY_COUNT] = {
    [BY_SIZE] = "larger first",     [BY_CROWD] = "fullest step first", [BY_AREA] = "wider first",
    [BY_DURATION] = "longer first", [BY_START] = "earlier first",      [BY_END] = "later first",
};

struct rank {
    bool fixed;
    uint64_t key, size;
    uint32_t index;
};

#define NOT_PLACED UINT64_MAX

/*
 * Few items are looked through as a whole. Of many it is listed which of them meet, unless those are more than so many
 * pairs per item.
 */
#define FEW 256
#define MOST_MET 64

struct span {
    uint64_t begin, end;
};

/* Where an item lies, and when it lives. */
struct placed {
    uint64_t begin, end;
    uint32_t first, last;
};

/* A plan in the making. */
struct greedy {
    const struct nuc_plan_part *part;
    uint64_t *addresses;
    struct placed *placed; /* items by address; not kept where `met` is */
    /* The items that item i meets: met[first[i]] to met[first[i + 1] - 1]. NULL: too many. */
    uint32_t *met;
    size_t *first;
    struct span *around; /* scratch: what meets an item, by address */
};

static int compare_ranks(const void *pa, const void *pb)
{
    const struct rank *a = pa, *b = pb;

    if (a->fixed != b->fixed)
        return a->fixed ? -1 : 1;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static void sort_ranks(struct rank *ranks, uint32_t n, uint32_t *order)
{
    qsort(ranks, n, sizeof *ranks, compare_ranks);
    for (uint32_t i = 0; i < n; i++)
        order[i] = ranks[i].index;
}

/* size * duration without overflow: it only orders. */
static uint64_t area(const struct nuc_plan_item *item)
{
    uint64_t product;

    return __builtin_mul_overflow(item->size, (uint64_t)(item->last - item->first + 1), &product) ? UINT64_MAX
                                                                                                  : product;
}

static uint64_t key_of(const struct nuc_plan_item *item, enum key key, uint64_t crowd)
{
    switch (key) {
    case BY_CROWD:
        return crowd;
    case BY_AREA:
        return area(item);
    case BY_DURATION:
        return item->last - item->first;
    case BY_START:
        return UINT32_MAX - item->first;
    case BY_END:
        return item->last;
    case BY_SIZE:
    case KEY_COUNT:
        break;
    }
    return item->size;
}

/* The lowest gap between items placed before that live at the same time. */
static uint64_t lowest_gap(const struct greedy *g, const struct nuc_plan_item *item, uint32_t n_placed)
{
    uint64_t at = 0;

    for (uint32_t i = 0; i < n_placed; i++) {
        const struct placed *other = &g->placed[i];
        if (other->first > item->last || other->last < item->first)
            continue;
        if (other->begin >= at + item->size)
            break;
        uint64_t end = nuc_plan_align(other->end, item->alignment);
        at = end > at ? end : at;
    }
    return at;
}

/* Behind all that begin at the address or below. */
static void insert(struct greedy *g, const struct nuc_plan_item *item, uint64_t at, uint32_t n_placed)
{
    uint32_t low = 0, high = n_placed;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (g->placed[middle].begin > at)
            high = middle;
        else
            low = middle + 1;
    }
    memmove(g->placed + low + 1, g->placed + low, (n_placed - low) * sizeof *g->placed);
    g->placed[low] = (struct placed){at, at + item->size, item->first, item->last};
}

static int compare_spans(const void *pa, const void *pb)
{
    const struct span *a = pa, *b = pb;

    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* The same from the items that it meets. */
static uint64_t lowest_gap_among(const struct greedy *g, uint32_t index)
{
    const struct nuc_plan_item *item = &g->part->items[index];
    size_t n = 0;
    uint64_t at = 0;

    for (size_t k = g->first[index]; k < g->first[index + 1]; k++) {
        uint64_t begin = g->addresses[g->met[k]];
        if (begin != NOT_PLACED)
            g->around[n++] = (struct span){begin, begin + g->part->items[g->met[k]].size};
    }
    qsort(g->around, n, sizeof *g->around, compare_spans);
    for (size_t k = 0; k < n && g->around[k].begin < at + item->size; k++) {
        uint64_t end = nuc_plan_align(g->around[k].end, item->alignment);
        at = end > at ? end : at;
    }
    return at;
}

/* Places all items in the order given; returns the size. */
static uint64_t place_all(struct greedy *g, const uint32_t *order)
{
    uint64_t size = 0;

    if (g->met != NULL)
        memset(g->addresses, 0xff, g->part->n * sizeof *g->addresses);
    for (uint32_t k = 0; k < g->part->n; k++) {
        const struct nuc_plan_item *item = &g->part->items[order[k]];
        uint64_t at = item->fixed      ? item->address
                      : g->met != NULL ? lowest_gap_among(g, order[k])
                                       : lowest_gap(g, item, k);
        if (g->met == NULL)
            insert(g, item, at, k);
        g->addresses[order[k]] = at;
        size = at + item->size > size ? at + item->size : size;
    }
    return size;
}

static void keep(struct nuc_plan_part *part, const struct greedy *g, uint64_t size, const char *method)
{
    memcpy(part->addresses, g->addresses, part->n * sizeof *part->addresses);
    part->size = size;
    part->method = method;
    part->proven = size <= part->target;
}

/* Lists for each item those that it meets: items come in the order of their first steps. */
static void list_met(struct nuc_context *cx, struct greedy *g)
{
    const struct nuc_plan_item *items = g->part->items;
    uint32_t n = g->part->n, most = 0;
    size_t *first = nuc_alloc_array(cx, (size_t)n + 2, sizeof *first), pairs = 0;

    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = i + 1; k < n && items[k].first <= items[i].last; k++) {
            first[i + 2]++;
            first[k + 2]++;
            if (++pairs > (size_t)MOST_MET * n)
                return;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        most = first[i + 2] > most ? (uint32_t)first[i + 2] : most;
        first[i + 2] += first[i + 1];
    }
    g->met = nuc_alloc_array(cx, 2 * pairs + 1, sizeof *g->met);
    g->around = nuc_alloc_array(cx, (size_t)most + 1, sizeof *g->around);
    g->first = first;
    /* Counted two places on, the lists begin one place on until they are full. */
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = i + 1; k < n && items[k].first <= items[i].last; k++) {
            g->met[first[i + 1]++] = k;
            g->met[first[k + 1]++] = i;
        }
    }
}

static struct greedy start(struct nuc_context *cx, const struct nuc_plan_part *part)
{
    struct greedy g = {.part = part,
                       .addresses = nuc_alloc_array(cx, part->n, sizeof(uint64_t)),
                       .placed = nuc_alloc_array(cx, part->n, sizeof(struct placed))};

    if (part->n > FEW)
        list_met(cx, &g);
    return g;
}

void nuc_plan_greedy(struct nuc_context *cx, struct nuc_plan_part *part, const uint64_t *crowd)
{
    struct greedy g = start(cx, part);
    struct rank *ranks = nuc_alloc_array(cx, part->n, sizeof *ranks);
    uint32_t *order = nuc_alloc_array(cx, part->n, sizeof *order);

    for (int key = 0; key < KEY_COUNT && !part->proven; key++) {
        for (uint32_t i = 0; i < part->n; i++)
            ranks[i] = (struct rank){part->items[i].fixed, key_of(&part->items[i], (enum key)key, crowd[i]),
                                     part->items[i].size, i};
        sort_ranks(ranks, part->n, order);
        uint64_t size = place_all(&g, order);
        if (size < part->size)
            keep(part, &g, size, names[key]);
    }
}

static void swap(uint32_t *order, uint32_t a, uint32_t b)
{
    uint32_t kept = order[a];

    order[a] = order[b];
    order[b] = kept;
}

void nuc_plan_exchange(struct nuc_context *cx, struct nuc_plan_part *part)
{
    struct greedy g = start(cx, part);
    uint32_t *order = nuc_alloc_array(cx, part->n, sizeof *order), first = 0, random = 1;
    uint64_t cost = (uint64_t)part->n * part->n, current = part->size;

    for (uint32_t i = 0; i < part->n; i++)
        first += part->items[i].fixed ? 1 : 0;
    /* The order of addresses of the best plan: placing in it gives a plan that is not larger. */
    struct rank *ranks = nuc_alloc_array(cx, part->n, sizeof *ranks);
    for (uint32_t i = 0; i < part->n; i++)
        ranks[i] = (struct rank){part->items[i].fixed, UINT64_MAX - part->addresses[i], 0, i};
    sort_ranks(ranks, part->n, order);
    while (!part->proven && part->n > first + 1 && part->effort >= cost) {
        part->effort -= cost;
        random = random * 1664525u + 1013904223u; /* Numerical Recipes' generator: the same sequence everywhere */
        uint32_t a = first + (random >> 8) % (part->n - first);
        random = random * 1664525u + 1013904223u;
        uint32_t b = first + (random >> 8) % (part->n - first);
        swap(order, a, b);
        uint64_t size = place_all(&g, order);
        if (size > current) {
            swap(order, a, b);
            continue;
        }
        current = size;
        if (size < part->size)
            keep(part, &g, size, "exchanges");
    }
}
