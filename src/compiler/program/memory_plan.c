#include "compiler/program/memory_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/span.h"

#define IMPROVEMENTS 200      /* attempts to better the best greedy plan */
#define IMPROVEMENT_LIMIT 600 /* ranges beyond which an attempt costs more than it is worth */

/* A range as the orders see it. */
struct item {
    uint32_t first, last;
    size_t bytes; /* aligned */
    size_t index;
};

struct planner {
    struct nuc_context *cx;
    size_t n;
    const struct item *items; /* by index */
    size_t *order;            /* indices in the order of placement */
    size_t *by_offset;        /* indices of placed ranges, lowest offset first */
    size_t *offsets;
};

static int by_index(const struct item *a, const struct item *b)
{
    return a->index < b->index ? -1 : a->index > b->index;
}

static int larger_first(const void *pa, const void *pb)
{
    const struct item *a = pa;
    const struct item *b = pb;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return by_index(a, b);
}

static int earlier_first(const void *pa, const void *pb)
{
    const struct item *a = pa;
    const struct item *b = pb;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return larger_first(pa, pb);
}

static int later_first(const void *pa, const void *pb)
{
    const struct item *a = pa;
    const struct item *b = pb;

    if (a->last != b->last)
        return a->last > b->last ? -1 : 1;
    return larger_first(pa, pb);
}

static uint64_t lifetime(const struct item *a)
{
    return (uint64_t)a->last - a->first + 1;
}

static int longer_first(const void *pa, const void *pb)
{
    uint64_t a = lifetime(pa);
    uint64_t b = lifetime(pb);

    if (a != b)
        return a > b ? -1 : 1;
    return larger_first(pa, pb);
}

/* Bytes times steps, as doubles: they only order. */
static int wider_first(const void *pa, const void *pb)
{
    double a = (double)lifetime(pa) * (double)((const struct item *)pa)->bytes;
    double b = (double)lifetime(pb) * (double)((const struct item *)pb)->bytes;

    if (a > b || a < b)
        return a > b ? -1 : 1;
    return by_index(pa, pb);
}

static const struct {
    const char *name;
    int (*compare)(const void *a, const void *b);
} orders[] = {
    {"larger first", larger_first}, {"earlier first", earlier_first}, {"later first", later_first},
    {"longer first", longer_first}, {"wider first", wider_first},
};

static bool overlap(const struct item *a, const struct item *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest offset at which `item` collides with none of the `placed` ranges. */
static size_t lowest_free(const struct planner *p, const struct item *item, size_t placed)
{
    size_t at = 0;

    for (size_t i = 0; i < placed; i++) {
        size_t other = p->by_offset[i];
        if (!overlap(item, &p->items[other]))
            continue;
        if (p->offsets[other] >= at + item->bytes)
            break;
        size_t end = p->offsets[other] + p->items[other].bytes;
        at = end > at ? end : at;
    }
    return at;
}

static void remember(struct planner *p, size_t index, size_t placed)
{
    size_t i = placed;

    for (; i > 0 && p->offsets[p->by_offset[i - 1]] > p->offsets[index]; i--)
        p->by_offset[i] = p->by_offset[i - 1];
    p->by_offset[i] = index;
}

/* Places all ranges in p->order; returns the size. Ranges without bytes take no place. */
static size_t place(struct planner *p)
{
    size_t size = 0;
    size_t placed = 0;

    for (size_t i = 0; i < p->n; i++) {
        size_t index = p->order[i];
        p->offsets[index] = 0;
        if (p->items[index].bytes == 0)
            continue;
        p->offsets[index] = lowest_free(p, &p->items[index], placed);
        remember(p, index, placed++);
        size_t end = p->offsets[index] + p->items[index].bytes;
        size = end > size ? end : size;
    }
    return size;
}

static void keep(const struct planner *p, struct nuc_memory_plan *best, size_t size, const char *order)
{
    memcpy(best->offsets, p->offsets, p->n * sizeof *p->offsets);
    best->size = size;
    best->order = order;
}

/* Moves the first range that ends at the top of the current plan to place `to` of the order. */
static void advance_top(struct planner *p, size_t size, size_t to)
{
    size_t i = p->n;

    while (i-- > 0) {
        size_t index = p->order[i];
        if (p->items[index].bytes != 0 && p->offsets[index] + p->items[index].bytes == size)
            break;
    }
    if (i == (size_t)-1 || to >= i)
        return;
    size_t index = p->order[i];
    memmove(p->order + to + 1, p->order + to, (i - to) * sizeof *p->order);
    p->order[to] = index;
}

static void improve(struct planner *p, struct nuc_memory_plan *best, size_t *best_order)
{
    uint32_t random = 1;

    if (p->n > IMPROVEMENT_LIMIT)
        return;
    memcpy(p->order, best_order, p->n * sizeof *p->order);
    size_t size = place(p);
    for (int i = 0; i < IMPROVEMENTS && best->size > best->lower_bound; i++) {
        random = random * 1664525u + 1013904223u; /* Numerical Recipes' generator: the same sequence everywhere */
        advance_top(p, size, (random >> 8) % p->n);
        size = place(p);
        if (size < best->size)
            keep(p, best, size, "improved");
        if (size <= best->size)
            memcpy(best_order, p->order, p->n * sizeof *p->order);
        else
            memcpy(p->order, best_order, p->n * sizeof *p->order);
    }
}

struct edge {
    uint64_t step; /* twice the step, plus one for an end */
    size_t bytes;
};

static int compare_edges(const void *pa, const void *pb)
{
    const struct edge *a = pa;
    const struct edge *b = pb;

    return a->step < b->step ? -1 : a->step > b->step;
}

/* A range begins at 2 * first and ends at 2 * last + 1: the sum over time peaks at the bound. */
static size_t peak(struct nuc_context *cx, const struct item *items, size_t n)
{
    struct edge *edges = nuc_alloc_array(cx, 2 * n + 1, sizeof *edges);
    size_t live = 0;
    size_t most = 0;

    for (size_t i = 0; i < n; i++) {
        edges[2 * i] = (struct edge){2 * (uint64_t)items[i].first, items[i].bytes};
        edges[2 * i + 1] = (struct edge){2 * (uint64_t)items[i].last + 1, items[i].bytes};
    }
    qsort(edges, 2 * n, sizeof *edges, compare_edges);
    for (size_t i = 0; i < 2 * n; i++) {
        live = edges[i].step % 2 == 0 ? live + edges[i].bytes : live - edges[i].bytes;
        most = live > most ? live : most;
    }
    return most;
}

static struct item *aligned_items(struct nuc_context *cx, const struct nuc_live_range *ranges, size_t n,
                                  size_t alignment)
{
    struct item *items = nuc_alloc_array(cx, n + 1, sizeof *items);
    size_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        if (ranges[i].bytes > SIZE_MAX / 4 || !nuc_add_size(sum, nuc_align_up(ranges[i].bytes, alignment), &sum))
            nuc_fail(cx, NUC_UNSUPPORTED, "memory plan: tensors exceed the address space: use a smaller model");
        items[i] = (struct item){ranges[i].first, ranges[i].last, nuc_align_up(ranges[i].bytes, alignment), i};
    }
    return items;
}

static void greedy(struct planner *p, struct nuc_memory_plan *best, size_t *best_order)
{
    struct item *sorted = nuc_alloc_array(p->cx, p->n + 1, sizeof *sorted);

    best->size = SIZE_MAX;
    for (size_t o = 0; o < sizeof orders / sizeof orders[0] && best->size > best->lower_bound; o++) {
        memcpy(sorted, p->items, p->n * sizeof *sorted);
        qsort(sorted, p->n, sizeof *sorted, orders[o].compare);
        for (size_t i = 0; i < p->n; i++)
            p->order[i] = sorted[i].index;
        size_t size = place(p);
        if (size >= best->size)
            continue;
        keep(p, best, size, orders[o].name);
        memcpy(best_order, p->order, p->n * sizeof *p->order);
    }
}

struct nuc_memory_plan nuc_plan_memory(struct nuc_context *cx, const struct nuc_live_range *ranges, size_t n,
                                       size_t alignment)
{
    struct nuc_memory_plan best = {.offsets = nuc_alloc_array(cx, n + 1, sizeof(size_t)), .order = "none"};
    struct nuc_arena *outer = nuc_push_arena(cx);
    size_t *best_order = nuc_alloc_array(cx, n + 1, sizeof *best_order);
    struct item *items = aligned_items(cx, ranges, n, alignment);
    struct planner p = {.cx = cx, .n = n, .items = items};

    p.order = nuc_alloc_array(cx, n + 1, sizeof *p.order);
    p.by_offset = nuc_alloc_array(cx, n + 1, sizeof *p.by_offset);
    p.offsets = nuc_alloc_array(cx, n + 1, sizeof *p.offsets);
    best.lower_bound = peak(cx, items, n);
    if (n > 0) {
        greedy(&p, &best, best_order);
        improve(&p, &best, best_order);
    }
    nuc_pop_arena(cx, outer);
    return best;
}
