#include "algorithms/plan_banks.h"

#include <stdlib.h>
#include <string.h>

#include "plan_part.h"

#define SEARCH_EFFORT ((uint64_t)1 << 20) /* steps of lifetimes looked at for each order, besides those of all */
#define PLAN_EFFORT ((uint64_t)1 << 21)   /* of the plan of a bank */
#define MOST_PLANS 4                      /* distributions that are planned, for each order */

/* Ranges that share bytes, in place of one another, as one. */
struct group {
    uint32_t first, last, allowed;
    uint64_t size, uses;
    uint32_t head; /* range */
    uint32_t bank;
};

struct banks {
    struct nuc_context *cx;
    const struct nuc_bank_problem *problem;
    struct group *groups;
    uint32_t n_groups, n_steps;
    uint32_t *head_of; /* by range: the first of its group; UINT32_MAX: it takes no place */
    uint64_t work;     /* steps of all lifetimes */
    uint64_t *live[NUC_MOST_BANKS];
    uint64_t room[NUC_MOST_BANKS]; /* what the search may fill */
};

/* ---- groups ---- */

static bool share_bytes(const struct nuc_bank_problem *p, size_t a, size_t b)
{
    const struct nuc_plan_range *x = &p->ranges[a], *y = &p->ranges[b];
    const uint64_t *at = p->joint->addresses;

    return !x->fixed && !y->fixed && x->last == y->first && x->first < y->first && at[a] == at[b];
}

struct begin {
    uint32_t first, range;
};

static int by_begin(const void *px, const void *py)
{
    const struct begin *x = px, *y = py;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->range < y->range ? -1 : x->range > y->range;
}

/* Ranges by their first step; what goes on at the address of a group that ends then joins it. */
static void make_groups(struct banks *b)
{
    const struct nuc_bank_problem *p = b->problem;
    struct begin *order = nuc_alloc_array(b->cx, p->n + 1, sizeof *order);
    uint32_t *ends = nuc_alloc_array(b->cx, p->n + 1, sizeof *ends), n = 0; /* by group: its last range */

    b->groups = nuc_alloc_array(b->cx, p->n + 1, sizeof *b->groups);
    for (uint32_t i = 0; i < p->n; i++) {
        b->head_of[i] = UINT32_MAX;
        if (p->ranges[i].size > 0)
            order[n++] = (struct begin){p->ranges[i].first, i};
    }
    qsort(order, n, sizeof *order, by_begin);
    for (uint32_t o = 0; o < n; o++) {
        const uint32_t i = order[o].range;
        const struct nuc_plan_range *r = &p->ranges[i];
        uint32_t k = 0;
        while (k < b->n_groups && (!share_bytes(p, ends[k], i) || (b->groups[k].allowed & p->allowed[i]) == 0))
            k++;
        if (k == b->n_groups)
            b->groups[b->n_groups++] = (struct group){
                .first = r->first, .allowed = UINT32_MAX, .size = nuc_plan_align(r->size, r->alignment), .head = i};
        struct group *g = &b->groups[k];
        ends[k] = i;
        b->head_of[i] = g->head;
        g->last = r->last > g->last ? r->last : g->last;
        g->allowed &= p->allowed[i];
        g->uses += p->uses[i];
        b->work += (uint64_t)r->last - r->first + 1;
    }
}

/* ---- distribution ---- */

static uint32_t count_bits(uint32_t bits)
{
    uint32_t count = 0;

    for (; bits != 0; bits &= bits - 1)
        count++;
    return count;
}

/* What has fewer banks to choose from comes first. Negative: x before y. */
static int by_choices(const struct group *x, const struct group *y)
{
    uint32_t a = count_bits(x->allowed), b = count_bits(y->allowed);

    return a < b ? -1 : a > b;
}

static int by_size(const void *px, const void *py)
{
    const struct group *x = px, *y = py;
    int choices = by_choices(x, y);

    if (choices != 0 || x->size == y->size)
        return choices != 0 ? choices : x->head < y->head ? -1 : x->head > y->head;
    return x->size > y->size ? -1 : 1;
}

static int by_uses(const void *px, const void *py)
{
    const struct group *x = px, *y = py;
    int choices = by_choices(x, y);
    double a = (double)x->uses / (double)x->size, b = (double)y->uses / (double)y->size;

    return choices != 0 ? choices : a > b ? -1 : a < b ? 1 : by_size(px, py);
}

static int by_area(const void *px, const void *py)
{
    const struct group *x = px, *y = py;
    int choices = by_choices(x, y);
    double a = (double)x->size * (x->last - x->first + 1.0), b = (double)y->size * (y->last - y->first + 1.0);

    return choices != 0 ? choices : a > b ? -1 : a < b ? 1 : by_size(px, py);
}

static bool has_room(const struct banks *b, const struct group *g, uint32_t bank)
{
    const uint64_t *live = b->live[bank], room = b->room[bank];

    if (bank >= b->problem->n_banks || (g->allowed >> bank & 1) == 0 || g->size > room)
        return false;
    for (uint32_t t = g->first; t <= g->last; t++) {
        if (live[t] > room - g->size)
            return false;
    }
    return true;
}

static void occupy(const struct banks *b, const struct group *g, bool take)
{
    for (uint32_t t = g->first; t <= g->last; t++)
        b->live[g->bank][t] = take ? b->live[g->bank][t] + g->size : b->live[g->bank][t] - g->size;
}

/* Gives each group, in their order, the first bank with room; goes back where one has none. */
static bool distribute(const struct banks *b)
{
    uint64_t effort = SEARCH_EFFORT + 2 * b->problem->n_banks * b->work;
    uint32_t next = 0; /* bank to try for group i */

    for (uint32_t k = 0; k < b->problem->n_banks; k++)
        memset(b->live[k], 0, b->n_steps * sizeof *b->live[k]);
    for (uint32_t i = 0; i < b->n_groups;) {
        struct group *g = &b->groups[i];
        uint64_t steps = (uint64_t)g->last - g->first + 1;
        while (next < b->problem->n_banks && !has_room(b, g, next))
            next++;
        if (effort < steps * (next + 1))
            return false;
        effort -= steps * (next + 1);
        if (next < b->problem->n_banks) {
            g->bank = next;
            occupy(b, g, true);
            next = 0;
            i++;
            continue;
        }
        if (i == 0)
            return false;
        i--;
        occupy(b, &b->groups[i], false);
        next = b->groups[i].bank + 1;
    }
    return true;
}

/* ---- addresses ---- */

/* Plans one bank; the bytes that it takes. */
static uint64_t plan_bank(const struct banks *b, uint32_t bank, struct nuc_bank_plan *out)
{
    const struct nuc_bank_problem *p = b->problem;
    struct nuc_plan_range *ranges = nuc_alloc_array(b->cx, b->n_groups + (size_t)1, sizeof *ranges);
    uint32_t *heads = nuc_alloc_array(b->cx, b->n_groups + (size_t)1, sizeof *heads), n = 0;

    for (uint32_t i = 0; i < b->n_groups; i++) {
        const struct group *g = &b->groups[i];
        if (g->bank != bank)
            continue;
        ranges[n] = p->ranges[g->head];
        ranges[n].last = g->last;
        heads[n++] = g->head;
    }
    const struct nuc_plan_problem problem = {.ranges = ranges, .n = n, .effort = PLAN_EFFORT};
    struct nuc_plan plan = nuc_plan_memory(b->cx, &problem);
    /* The plan of all in one memory had more effort. */
    bool as_joint = n == b->n_groups && p->joint->size <= plan.size;
    plan = as_joint ? *p->joint : plan;
    for (uint32_t i = 0; i < n; i++)
        out->addresses[heads[i]] = as_joint ? p->joint->addresses[heads[i]] : plan.addresses[i];
    out->used[bank] = plan.size;
    out->bound[bank] = plan.bound;
    return plan.size;
}

/* A bank whose plan is larger than its room gets less of it the next time. */
static bool plan_in_order(struct banks *b, int (*order)(const void *, const void *), struct nuc_bank_plan *out)
{
    qsort(b->groups, b->n_groups, sizeof *b->groups, order);
    for (uint32_t k = 0; k < b->problem->n_banks; k++)
        b->room[k] = b->problem->sizes[k];
    for (int tries = 0; tries < MOST_PLANS && distribute(b); tries++) {
        bool fits = true;
        for (uint32_t k = 0; k < b->problem->n_banks; k++) {
            uint64_t size = plan_bank(b, k, out), most = b->problem->sizes[k];
            uint64_t over = size > most ? size - most : 0;
            fits = fits && over == 0;
            b->room[k] = over < b->room[k] ? b->room[k] - over : 0;
        }
        if (fits) {
            for (uint32_t i = 0; i < b->n_groups; i++)
                out->banks[b->groups[i].head] = b->groups[i].bank;
            return true;
        }
    }
    return false;
}

struct nuc_bank_plan nuc_plan_banks(struct nuc_context *cx, const struct nuc_bank_problem *problem)
{
    static int (*const orders[])(const void *, const void *) = {by_uses, by_size, by_area};
    struct banks b = {.cx = cx, .problem = problem};
    struct nuc_bank_plan out = {.fits = false};

    out.banks = nuc_alloc_array(cx, problem->n + 1, sizeof *out.banks);
    out.addresses = nuc_alloc_array(cx, problem->n + 1, sizeof *out.addresses);
    struct nuc_arena *outer = nuc_push_arena(cx);
    for (size_t i = 0; i < problem->n; i++)
        b.n_steps = problem->ranges[i].last >= b.n_steps ? problem->ranges[i].last + 1 : b.n_steps;
    for (uint32_t k = 0; k < problem->n_banks; k++)
        b.live[k] = nuc_alloc_array(cx, b.n_steps + (size_t)1, sizeof *b.live[k]);
    b.head_of = nuc_alloc_array(cx, problem->n + 1, sizeof *b.head_of);
    make_groups(&b);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0] && !out.fits; i++)
        out.fits = plan_in_order(&b, orders[i], &out);
    /* Ranges behind the first of their group. */
    for (size_t i = 0; i < problem->n; i++) {
        if (b.head_of[i] == UINT32_MAX)
            continue;
        out.banks[i] = out.banks[b.head_of[i]];
        out.addresses[i] = out.addresses[b.head_of[i]];
    }
    nuc_pop_arena(cx, outer);
    return out;
}
