/*
 * Branch and bound over plans in which addresses do not decrease from one placement to the next. Every plan can be
 * pushed down until each range lies at 0, at its fixed address or on top of one it meets, without becoming larger; and
 * in such a plan, taken in the order of addresses, each range lies at the lowest address those before it leave. So it
 * is enough to branch over which range comes next. A branch ends where some step has no space for what is still to be
 * placed in it, or where a range that is left would have fitted below.
 */
#include <string.h>

#include "plan_part.h"

#define MOST_ITEMS 512 /* a level of the search keeps the lowest addresses of all items */

struct search {
    struct nuc_plan_part *part;
    uint64_t limit;   /* largest size looked for */
    uint64_t *lowest; /* [level][item]: end of what is placed below, rounded up; the address of a placed item */
    uint32_t *chosen; /* [level] item placed there */
    uint32_t *next;   /* [level] candidate to try next, in `rank` order */
    uint32_t *ranked; /* items, the most promising first */
    bool *placed;
    uint64_t *load;  /* [step] bytes still to be placed */
    uint64_t *floor; /* [step] scratch of space_is_left() */
    uint64_t cost;   /* effort of a candidate */
};

static uint64_t *level_of(const struct search *s, uint32_t level)
{
    return s->lowest + (size_t)level * s->part->n;
}

/* Every step has space above the lowest address its items can take. */
static bool space_is_left(const struct search *s, const uint64_t *lowest, uint64_t from)
{
    const struct nuc_plan_part *part = s->part;

    for (uint32_t t = 0; t < part->n_steps; t++)
        s->floor[t] = UINT64_MAX;
    for (uint32_t i = 0; i < part->n; i++) {
        if (s->placed[i])
            continue;
        uint64_t at = lowest[i] > from ? lowest[i] : from;
        if (at + part->items[i].size > s->limit)
            return false;
        for (uint32_t t = part->items[i].first; t <= part->items[i].last; t++)
            s->floor[t] = at < s->floor[t] ? at : s->floor[t];
    }
    for (uint32_t t = 0; t < part->n_steps; t++) {
        if (s->load[t] > 0 && s->floor[t] + s->load[t] > s->limit)
            return false;
    }
    return true;
}

/* Whether item `i` would leave a hole in which an item that is not placed fits. */
static bool leaves_hole(const struct search *s, const uint64_t *lowest, uint32_t i)
{
    const struct nuc_plan_item *items = s->part->items;

    for (uint32_t k = 0; k < s->part->n; k++) {
        if (k != i && !s->placed[k] && nuc_plan_meet(&items[i], &items[k]) && lowest[k] + items[k].size <= lowest[i])
            return true;
    }
    return false;
}

static void set_load(struct search *s, uint32_t i, bool add)
{
    const struct nuc_plan_item *item = &s->part->items[i];

    for (uint32_t t = item->first; t <= item->last; t++)
        s->load[t] = add ? s->load[t] + item->size : s->load[t] - item->size;
    s->placed[i] = !add;
}

/* Lifts what meets item `i`, placed at its lowest address. False when a fixed one would have to move. */
static bool lift(const struct search *s, const uint64_t *lowest, uint32_t i, uint64_t *after)
{
    const struct nuc_plan_item *items = s->part->items;
    uint64_t end = lowest[i] + items[i].size;

    memcpy(after, lowest, s->part->n * sizeof *after);
    for (uint32_t k = 0; k < s->part->n; k++) {
        if (s->placed[k] || k == i || !nuc_plan_meet(&items[i], &items[k]) || lowest[k] >= end)
            continue;
        if (items[k].fixed)
            return false;
        after[k] = nuc_plan_align(end, items[k].alignment);
    }
    return true;
}

/* Not below the item placed last; of several at one address, which do not meet, in one order only. */
static bool in_order(const struct search *s, const uint64_t *lowest, uint32_t i, uint32_t level)
{
    if (level == 0)
        return true;
    uint32_t last = s->chosen[level - 1];
    return lowest[i] > lowest[last] || (lowest[i] == lowest[last] && i > last);
}

/* Tries to go from `level` to the next. False when there is no candidate left, or no effort. */
static bool descend(struct search *s, uint32_t level)
{
    const uint64_t *lowest = level_of(s, level);

    while (s->next[level] < s->part->n) {
        uint32_t i = s->ranked[s->next[level]++];
        if (s->placed[i] || !in_order(s, lowest, i, level))
            continue;
        if (s->part->effort < s->cost)
            return false;
        s->part->effort -= s->cost;
        if (leaves_hole(s, lowest, i))
            continue;
        set_load(s, i, false);
        if (lift(s, lowest, i, level_of(s, level + 1)) && space_is_left(s, level_of(s, level + 1), lowest[i])) {
            s->chosen[level] = i;
            s->next[level + 1] = 0;
            return true;
        }
        set_load(s, i, true);
    }
    return false;
}

enum outcome { FOUND, NONE, GAVE_UP };

static enum outcome find(struct search *s)
{
    const struct nuc_plan_part *part = s->part;
    uint32_t level = 0;

    memset(s->load, 0, part->n_steps * sizeof *s->load);
    for (uint32_t i = 0; i < part->n; i++) {
        s->lowest[i] = part->items[i].fixed ? part->items[i].address : 0;
        set_load(s, i, true);
    }
    s->next[0] = 0;
    if (!space_is_left(s, s->lowest, 0))
        return NONE;
    while (level < part->n) {
        if (descend(s, level)) {
            level++;
            continue;
        }
        if (part->effort < s->cost)
            return GAVE_UP;
        if (level-- == 0)
            return NONE;
        set_load(s, s->chosen[level], true);
    }
    return FOUND;
}

void nuc_plan_search(struct nuc_context *cx, struct nuc_plan_part *part, uint64_t limit)
{
    if (part->n > MOST_ITEMS || part->proven)
        return;
    struct search *s = nuc_alloc(cx, sizeof *s);
    size_t n = part->n;
    s->part = part;
    s->lowest = nuc_alloc_array(cx, (n + 1) * n, sizeof *s->lowest);
    s->chosen = nuc_alloc_array(cx, n + 1, sizeof *s->chosen);
    s->next = nuc_alloc_array(cx, n + 1, sizeof *s->next);
    s->ranked = nuc_alloc_array(cx, n, sizeof *s->ranked);
    s->placed = nuc_alloc_array(cx, n, sizeof *s->placed);
    s->load = nuc_alloc_array(cx, part->n_steps, sizeof *s->load);
    s->floor = nuc_alloc_array(cx, part->n_steps, sizeof *s->floor);
    s->cost = 8 * (uint64_t)n + part->n_steps;
    /* Long-lived and large items first: they decide most. */
    const struct nuc_plan_item *items = part->items;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        double key = (double)items[i].size * (items[i].last - items[i].first + 1.0);
        for (; at > 0; at--) {
            const struct nuc_plan_item *before = &items[s->ranked[at - 1]];
            if ((double)before->size * (before->last - before->first + 1.0) >= key)
                break;
            s->ranked[at] = s->ranked[at - 1];
        }
        s->ranked[at] = i;
    }
    while (!part->proven && limit < part->size) {
        s->limit = limit;
        enum outcome outcome = find(s);
        if (outcome == GAVE_UP)
            return;
        if (outcome == FOUND) {
            memcpy(part->addresses, level_of(s, part->n), part->n * sizeof *part->addresses);
            part->size = 0;
            for (uint32_t i = 0; i < part->n; i++) {
                uint64_t end = part->addresses[i] + part->items[i].size;
                part->size = end > part->size ? end : part->size;
            }
            part->method = "search";
            part->proven = part->size <= part->target;
        } else if (limit + part->unit >= part->size) {
            part->proven = true;
        }
        /* Nothing of `limit` bytes or less exists, or the plan has them: next just below what is known. */
        limit = part->size - part->unit;
    }
}
