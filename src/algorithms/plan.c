/* Checks, pairs joined to one item, parts that share no step, and the sequence of methods. */
#include "algorithms/plan.h"

#include <stdlib.h>
#include <string.h>

#include "device/base/span.h"
#include "plan_part.h"

#define DEFAULT_EFFORT ((uint64_t)1 << 25) /* tens of milliseconds */
#define NOT_JOINED UINT32_MAX

struct planner {
    struct nuc_context *cx;
    const struct nuc_plan_problem *problem;
    uint64_t unit;      /* the smallest alignment */
    uint64_t *sizes;    /* per range, rounded up */
    uint32_t *taken_by; /* range that goes on at the address of this one, or NOT_JOINED */
    uint32_t *takes;    /* range whose address this one goes on at, or NOT_JOINED */
    uint64_t bound;
    uint64_t effort;
};

/* ---- the problem ---- */

bool nuc_plan_clash(const struct nuc_plan_range *a, const struct nuc_plan_range *b)
{
    return a->fixed && b->fixed && a->size > 0 && b->size > 0 && a->first <= b->last && b->first <= a->last &&
           a->address < b->address + b->size && b->address < a->address + a->size;
}

static void measure(struct planner *p)
{
    const struct nuc_plan_problem *problem = p->problem;
    uint64_t sum = 0;

    p->unit = problem->n > 0 ? problem->ranges[0].alignment : 1;
    for (size_t i = 0; i < problem->n; i++) {
        const struct nuc_plan_range *r = &problem->ranges[i];
        if (r->alignment == 0 || (r->alignment & (r->alignment - 1)) != 0 || r->last < r->first ||
            (r->fixed && r->address % r->alignment != 0))
            nuc_fail(p->cx, NUC_INTERNAL, "memory plan: range %zu is not well formed", i);
        for (size_t k = 0; r->fixed && k < i; k++) {
            if (nuc_plan_clash(r, &problem->ranges[k]))
                nuc_fail(p->cx, NUC_UNSUPPORTED, "memory plan: ranges %zu and %zu are fixed at overlapping addresses",
                         k, i);
        }
        p->unit = r->alignment < p->unit ? r->alignment : p->unit;
    }
    for (size_t i = 0; i < problem->n; i++) {
        const struct nuc_plan_range *r = &problem->ranges[i];
        /* Padding of at most an alignment per range: the sum bounds every address a plan forms. */
        uint64_t most = r->fixed ? r->address : 0;
        if (r->size > (uint64_t)1 << 60 || most > (uint64_t)1 << 60 ||
            __builtin_add_overflow(sum, r->size + most + 2 * (uint64_t)r->alignment, &sum) || sum > (uint64_t)1 << 62)
            nuc_fail(p->cx, NUC_UNSUPPORTED, "memory plan: tensors exceed the address space: use a smaller model");
        p->sizes[i] = nuc_plan_align(r->size, p->unit);
    }
}

static bool may_join(const struct planner *p, const struct nuc_plan_pair *pair)
{
    const struct nuc_plan_range *from = &p->problem->ranges[pair->from], *to = &p->problem->ranges[pair->to];

    uint64_t a = p->sizes[pair->from], b = p->sizes[pair->to];
    bool fits = a == b || (pair->smaller && b < a);

    return pair->from != pair->to && fits && from->size > 0 && to->size > 0 && !from->fixed && !to->fixed &&
           from->first < from->last && from->last == to->first;
}

/* ---- the bound ---- */

struct edge {
    uint64_t step; /* twice the step, plus one for an end */
    uint64_t size;
    uint64_t saved; /* at a start: what the best pair saves in that one step */
};

static int compare_edges(const void *pa, const void *pb)
{
    const struct edge *a = pa, *b = pb;

    return a->step < b->step ? -1 : a->step > b->step;
}

/* The most bytes live in a step, where every range that may take over another's bytes does. */
static uint64_t peak(const struct planner *p, const uint64_t *saved)
{
    const struct nuc_plan_problem *problem = p->problem;
    uint64_t live = 0, most = 0;
    size_t n = 0;

    for (size_t i = 0; i < problem->n; i++)
        n += p->sizes[i] > 0 ? 2 : 0;
    struct nuc_arena *outer = nuc_push_arena(p->cx);
    struct edge *edges = nuc_alloc_array(p->cx, n + 1, sizeof *edges);
    n = 0;
    for (size_t i = 0; i < problem->n; i++) {
        const struct nuc_plan_range *r = &problem->ranges[i];
        if (p->sizes[i] == 0)
            continue;
        edges[n++] = (struct edge){2 * (uint64_t)r->first, p->sizes[i], saved[i]};
        edges[n++] = (struct edge){2 * (uint64_t)r->last + 1, p->sizes[i], 0};
        if (r->fixed && r->address + p->sizes[i] > most)
            most = r->address + p->sizes[i];
    }
    qsort(edges, n, sizeof *edges, compare_edges);
    for (size_t i = 0; i < n;) {
        uint64_t step = edges[i].step, less = 0;
        for (; i < n && edges[i].step == step; i++) {
            live = step % 2 == 0 ? live + edges[i].size : live - edges[i].size;
            less += edges[i].saved;
        }
        /* Savings of chains in one step may count a range twice: then the bound is only lower. */
        uint64_t used = live > less ? live - less : 0;
        most = used > most ? used : most;
    }
    nuc_pop_arena(p->cx, outer);
    return most;
}

/* ---- pairs ---- */

static void separate(struct planner *p)
{
    for (size_t i = 0; i < p->problem->n; i++)
        p->taken_by[i] = p->takes[i] = NOT_JOINED;
}

/* Joins the pairs from the front or from the back of the list, each range with one other at each end. */
static void join(struct planner *p, bool from_back)
{
    const struct nuc_plan_problem *problem = p->problem;

    separate(p);
    for (size_t k = 0; k < problem->n_pairs; k++) {
        const struct nuc_plan_pair *pair = &problem->pairs[from_back ? problem->n_pairs - 1 - k : k];
        if (!may_join(p, pair) || p->taken_by[pair->from] != NOT_JOINED || p->takes[pair->to] != NOT_JOINED)
            continue;
        p->taken_by[pair->from] = pair->to;
        p->takes[pair->to] = pair->from;
    }
}

/* ---- parts ---- */

/* The ranges of a chain of pairs as one, with its first range's index. */
struct chain {
    struct nuc_plan_item item; /* steps of the problem */
    uint32_t range;
};

static int compare_chains(const void *pa, const void *pb)
{
    const struct chain *a = pa, *b = pb;

    if (a->item.first != b->item.first)
        return a->item.first < b->item.first ? -1 : 1;
    return a->range < b->range ? -1 : a->range > b->range;
}

static uint32_t make_chains(const struct planner *p, struct chain *chains)
{
    const struct nuc_plan_problem *problem = p->problem;
    uint32_t n = 0;

    for (size_t i = 0; i < problem->n; i++) {
        const struct nuc_plan_range *r = &problem->ranges[i];
        if (r->size == 0 || p->takes[i] != NOT_JOINED)
            continue;
        struct nuc_plan_item item = {r->first, r->last, p->sizes[i], r->alignment, r->fixed, r->address};
        for (uint32_t k = p->taken_by[i]; k != NOT_JOINED; k = p->taken_by[k]) {
            item.last = problem->ranges[k].last;
            item.alignment =
                problem->ranges[k].alignment > item.alignment ? problem->ranges[k].alignment : item.alignment;
        }
        chains[n++] = (struct chain){item, (uint32_t)i};
    }
    qsort(chains, n, sizeof *chains, compare_chains);
    return n;
}

/* Number of the last start at or before `step`. */
static uint32_t start_before(const uint32_t *starts, uint32_t n, uint32_t step)
{
    uint32_t low = 0;

    for (uint32_t high = n; high - low > 1;) {
        uint32_t middle = low + (high - low) / 2;
        if (starts[middle] <= step)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#define MOST_LEVELS 33

/* The most bytes live during each item, and over all of them. */
static uint64_t *crowds(const struct planner *p, const struct nuc_plan_part *part, uint64_t *most)
{
    uint64_t *live = nuc_alloc_array(p->cx, (size_t)part->n_steps + 1, sizeof *live), *levels[MOST_LEVELS];
    uint64_t *crowd = nuc_alloc_array(p->cx, part->n, sizeof *crowd);

    *most = 0;
    /* What begins less what has ended, as sums that wrap. */
    for (uint32_t i = 0; i < part->n; i++) {
        live[part->items[i].first] += part->items[i].size;
        live[part->items[i].last + 1] -= part->items[i].size;
    }
    for (uint32_t t = 1; t < part->n_steps; t++)
        live[t] += live[t - 1];
    /* levels[k][t]: the most of the 2^k steps from t on. */
    levels[0] = live;
    for (uint32_t width = 1, n = 1; width <= part->n_steps / 2; width *= 2, n++) {
        levels[n] = nuc_alloc_array(p->cx, part->n_steps, sizeof *live);
        for (uint32_t t = 0; t + 2 * width <= part->n_steps; t++) {
            uint64_t left = levels[n - 1][t], right = levels[n - 1][t + width];
            levels[n][t] = left > right ? left : right;
        }
    }
    for (uint32_t i = 0; i < part->n; i++) {
        uint32_t steps = part->items[i].last - part->items[i].first + 1, level = 31 - (uint32_t)__builtin_clz(steps);
        uint64_t left = levels[level][part->items[i].first],
                 right = levels[level][part->items[i].last + 1 - (1u << level)];
        crowd[i] = left > right ? left : right;
        *most = crowd[i] > *most ? crowd[i] : *most;
    }
    return crowd;
}

static struct nuc_plan_part plan_part(struct planner *p, const struct chain *chains, uint32_t n)
{
    /* Steps in which nothing begins say no more than the one before: steps become numbers of starts. */
    struct nuc_plan_item *items = nuc_alloc_array(p->cx, n, sizeof *items);
    uint32_t *starts = nuc_alloc_array(p->cx, n, sizeof *starts), n_starts = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || chains[i].item.first != starts[n_starts - 1])
            starts[n_starts++] = chains[i].item.first;
    }
    for (uint32_t i = 0; i < n; i++) {
        items[i] = chains[i].item;
        items[i].first = start_before(starts, n_starts, items[i].first);
        items[i].last = start_before(starts, n_starts, items[i].last);
    }
    struct nuc_plan_part part = {.items = items,
                                 .n = n,
                                 .n_steps = n_starts,
                                 .unit = p->unit,
                                 .addresses = nuc_alloc_array(p->cx, n, sizeof(uint64_t)),
                                 .size = UINT64_MAX,
                                 .method = "none",
                                 .effort = p->effort};
    uint64_t bound, *crowd = crowds(p, &part, &bound);

    part.target = bound > p->bound ? bound : p->bound;
    nuc_plan_greedy(p->cx, &part, crowd);
    /* Half of the effort for a plan of the bound, a quarter for better plans of any size, the rest for a proof. */
    uint64_t all = part.effort;
    part.effort = all / 2;
    nuc_plan_search(p->cx, &part, part.target);
    part.effort = all / 4;
    nuc_plan_exchange(p->cx, &part);
    part.effort = all / 4;
    if (!part.proven)
        nuc_plan_search(p->cx, &part, part.size - part.unit);
    p->effort = all / 2 + part.effort;
    return part;
}

/* ---- the plan ---- */

/* Plans with the pairs joined now. `proven`: no plan with these pairs is smaller. */
static struct nuc_plan plan_joined(struct planner *p)
{
    struct nuc_plan plan = {.addresses = nuc_alloc_array(p->cx, p->problem->n + 1, sizeof(uint64_t)),
                            .bound = p->bound,
                            .method = "none",
                            .proven = true};
    struct chain *chains = nuc_alloc_array(p->cx, p->problem->n + 1, sizeof *chains);
    uint32_t n = make_chains(p, chains);

    for (uint32_t first = 0, end; first < n; first = end) {
        uint32_t last = chains[first].item.last;
        for (end = first + 1; end < n && chains[end].item.first <= last; end++)
            last = chains[end].item.last > last ? chains[end].item.last : last;
        struct nuc_plan_part part = plan_part(p, chains + first, end - first);
        for (uint32_t i = 0; i < part.n; i++) {
            uint32_t range = chains[first + i].range;
            for (; range != NOT_JOINED; range = p->taken_by[range])
                plan.addresses[range] = part.addresses[i];
        }
        if (part.size > plan.size) {
            plan.size = part.size;
            plan.method = part.method;
            plan.proven = part.proven;
        }
    }
    return plan;
}

/* Every use of the pairs tried; the smallest plan. */
static struct nuc_plan best_plan(struct planner *p)
{
    separate(p);
    if (p->problem->n_pairs == 0)
        return plan_joined(p);
    join(p, false);
    struct nuc_plan best = plan_joined(p);
    for (int use = 0; use < 2 && best.size > p->bound; use++) {
        if (use == 0)
            join(p, true);
        else
            separate(p);
        struct nuc_plan other = plan_joined(p);
        best = other.size < best.size ? other : best;
    }
    /* A search over the addresses of one use of the pairs says nothing of the others. */
    best.proven = best.size <= p->bound;
    return best;
}

static struct planner begin(struct nuc_context *cx, const struct nuc_plan_problem *problem)
{
    struct planner p = {.cx = cx, .problem = problem, .effort = problem->effort ? problem->effort : DEFAULT_EFFORT};

    if (problem->n >= UINT32_MAX / 2)
        nuc_fail(cx, NUC_UNSUPPORTED, "memory plan: too many tensors");
    p.sizes = nuc_alloc_array(cx, problem->n + 1, sizeof *p.sizes);
    measure(&p);
    uint64_t *saved = nuc_alloc_array(cx, problem->n + 1, sizeof *saved);
    for (size_t i = 0; i < problem->n_pairs; i++) {
        if (may_join(&p, &problem->pairs[i]))
            saved[problem->pairs[i].to] = p.sizes[problem->pairs[i].to];
    }
    p.bound = peak(&p, saved);
    return p;
}

struct nuc_plan nuc_plan_memory(struct nuc_context *cx, const struct nuc_plan_problem *problem)
{
    uint64_t *addresses = nuc_alloc_array(cx, problem->n + 1, sizeof *addresses);
    struct nuc_arena *outer = nuc_push_arena(cx);
    struct planner p = begin(cx, problem);

    p.taken_by = nuc_alloc_array(cx, problem->n + 1, sizeof *p.taken_by);
    p.takes = nuc_alloc_array(cx, problem->n + 1, sizeof *p.takes);
    struct nuc_plan plan = best_plan(&p);
    memcpy(addresses, plan.addresses, problem->n * sizeof *addresses);
    nuc_pop_arena(cx, outer);
    plan.addresses = addresses;
    return plan;
}
