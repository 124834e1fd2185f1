#include "npu/partition/slotset.h"

#include <stddef.h>

/* Index of the first run that ends at `slot` or later; n_runs when there is none. */
static uint32_t find_run(const struct slot_set *set, uint32_t slot)
{
    uint32_t low = 0, high = set->n_runs;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set->runs[middle].last < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool nuc_slot_set_has(const struct slot_set *set, uint32_t slot)
{
    if (set == NULL)
        return false;
    uint32_t i = find_run(set, slot);
    return i < set->n_runs && set->runs[i].first <= slot;
}

uint32_t nuc_slot_set_next_absent(const struct slot_set *set, uint32_t slot)
{
    if (set == NULL)
        return slot;
    uint32_t i = find_run(set, slot);
    return i < set->n_runs && set->runs[i].first <= slot ? set->runs[i].last + 1 : slot;
}

static bool contains(const struct slot_set *set, const struct slot_set *part)
{
    for (uint32_t i = 0; i < part->n_runs; i++) {
        uint32_t k = find_run(set, part->runs[i].first);
        if (k == set->n_runs || set->runs[k].first > part->runs[i].first || set->runs[k].last < part->runs[i].last)
            return false;
    }
    return true;
}

static struct slot_set *new_set(struct nuc_context *cx, size_t n_runs)
{
    return nuc_alloc(cx, offsetof(struct slot_set, runs) + n_runs * sizeof(struct slot_run));
}

/* Runs come in ascending order of their first number. */
static void append(struct slot_set *set, struct slot_run run)
{
    struct slot_run *last = set->n_runs > 0 ? &set->runs[set->n_runs - 1] : NULL;

    if (last == NULL || run.first > last->last + 1)
        set->runs[set->n_runs++] = run;
    else if (run.last > last->last)
        last->last = run.last;
}

const struct slot_set *nuc_slot_set_union(struct nuc_context *cx, const struct slot_set *a, const struct slot_set *b)
{
    if (b == NULL || a == b || (a != NULL && contains(a, b)))
        return a;
    if (a == NULL || contains(b, a))
        return b;
    struct slot_set *set = new_set(cx, (size_t)a->n_runs + b->n_runs);
    uint32_t i = 0, k = 0;
    while (i < a->n_runs || k < b->n_runs) {
        if (k == b->n_runs || (i < a->n_runs && a->runs[i].first <= b->runs[k].first))
            append(set, a->runs[i++]);
        else
            append(set, b->runs[k++]);
    }
    return set;
}

const struct slot_set *nuc_slot_set_add(struct nuc_context *cx, const struct slot_set *set, uint32_t slot)
{
    if (nuc_slot_set_has(set, slot))
        return set;
    struct slot_set *one = new_set(cx, 1);
    append(one, (struct slot_run){slot, slot});
    return nuc_slot_set_union(cx, set, one);
}
