/*
 * Orders of execution by branch and bound. What is live after a set of operators has run does not depend on their
 * order, so a set reached before with no higher a peak is not entered again; and an operator that is ready, fits below
 * the peak so far and leaves no more bytes live than before runs at once, because no order gains by putting it off.
 */
#include <string.h>

#include "algorithms/plan.h"

#define DEFAULT_EFFORT ((uint64_t)1 << 23)
#define MOST_OPERATORS 4096
#define MEMO_BITS 16 /* sets remembered: later ones replace earlier ones */
#define NOBODY UINT32_MAX

/* A set of operators that have run, by two sums of random numbers, and the peak on the way to it. */
struct memo {
    uint64_t key[2];
    uint64_t peak;
    bool used;
};

struct level {
    size_t candidates; /* where they begin in `pool` */
    uint32_t n, next;
    uint64_t peak; /* before the operator of this level */
};

struct order {
    struct nuc_context *cx;
    const struct nuc_order_problem *problem;
    uint32_t *left;    /* [buffer] operators still to touch it */
    uint32_t *starter; /* [buffer] operator that made it live; NOBODY: it is not live yet, or lives from the start */
    bool *live;        /* [buffer] has begun */
    uint32_t *waits;   /* [operator] operators it still has to wait for */
    uint32_t *followers,
        *follower_at; /* [operator] who waits for it: followers[follower_at[i] ... follower_at[i + 1]] */
    bool *done;
    uint64_t bytes; /* live now */
    uint64_t key[2];
    struct memo *memo;
    struct level *levels;
    uint32_t *chosen; /* [level] operator */
    uint32_t *pool;
    size_t pool_size, pool_capacity;
    uint64_t effort;
};

/* SplitMix64: well mixed numbers from indices. */
static uint64_t mixed(uint64_t v)
{
    v += 0x9E3779B97F4A7C15u;
    v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9u;
    v = (v ^ v >> 27) * 0x94D049BB133111EBu;
    return v ^ v >> 31;
}

static void toggle(struct order *o, uint32_t op, bool run)
{
    uint64_t sign = run ? 1 : UINT64_MAX;

    o->key[0] += sign * mixed(2 * (uint64_t)op);
    o->key[1] += sign * mixed(2 * (uint64_t)op + 1);
    o->done[op] = run;
}

/* Bytes of the result that need no place of their own. */
static uint64_t saved_in_place(const struct order *o, const struct nuc_plan_operator *op)
{
    const struct nuc_plan_buffer *buffers = o->problem->buffers;

    for (uint32_t i = 0; i < op->n_in_place; i++) {
        uint32_t b = op->in_place[i];
        if (o->left[b] == 1 && !buffers[b].to_end && buffers[b].size == buffers[op->result].size)
            return o->live[op->result] ? 0 : buffers[op->result].size;
    }
    return 0;
}

/* Bytes live while the operator runs, and after it, were it next. */
static uint64_t bytes_during(const struct order *o, uint32_t index, uint64_t *after)
{
    const struct nuc_plan_operator *op = &o->problem->operators[index];
    uint64_t during = o->bytes, freed = 0;

    for (uint32_t i = 0; i < op->n_buffers; i++) {
        uint32_t b = op->buffers[i];
        during += o->live[b] ? 0 : o->problem->buffers[b].size;
        freed += o->left[b] == 1 && !o->problem->buffers[b].to_end ? o->problem->buffers[b].size : 0;
    }
    *after = during - freed;
    return during - saved_in_place(o, op);
}

static void run(struct order *o, uint32_t index)
{
    const struct nuc_plan_operator *op = &o->problem->operators[index];

    for (uint32_t i = 0; i < op->n_buffers; i++) {
        uint32_t b = op->buffers[i];
        if (!o->live[b]) {
            o->live[b] = true;
            o->starter[b] = index;
            o->bytes += o->problem->buffers[b].size;
        }
        if (--o->left[b] == 0 && !o->problem->buffers[b].to_end)
            o->bytes -= o->problem->buffers[b].size;
    }
    for (uint32_t i = o->follower_at[index]; i < o->follower_at[index + 1]; i++)
        o->waits[o->followers[i]]--;
    toggle(o, index, true);
}

static void take_back(struct order *o, uint32_t index)
{
    const struct nuc_plan_operator *op = &o->problem->operators[index];

    for (uint32_t i = 0; i < op->n_buffers; i++) {
        uint32_t b = op->buffers[i];
        if (o->left[b]++ == 0 && !o->problem->buffers[b].to_end)
            o->bytes += o->problem->buffers[b].size;
        if (o->starter[b] == index) {
            o->live[b] = false;
            o->starter[b] = NOBODY;
            o->bytes -= o->problem->buffers[b].size;
        }
    }
    for (uint32_t i = o->follower_at[index]; i < o->follower_at[index + 1]; i++)
        o->waits[o->followers[i]]++;
    toggle(o, index, false);
}

/* False when this set of operators was entered before with no higher a peak. */
static bool enter(struct order *o, uint64_t peak)
{
    struct memo *m = &o->memo[o->key[0] >> (64 - MEMO_BITS)];

    if (m->used && m->key[0] == o->key[0] && m->key[1] == o->key[1] && m->peak <= peak)
        return false;
    *m = (struct memo){{o->key[0], o->key[1]}, peak, true};
    return true;
}

/* The operators that can run next below `limit`, those that leave least live first; or the one that may run at once. */
static void find_candidates(struct order *o, struct level *level, uint64_t limit)
{
    uint32_t n_operators = o->problem->n_operators;

    *level = (struct level){.candidates = o->pool_size, .peak = level->peak};
    o->pool = nuc_grow(o->cx, o->pool, &o->pool_capacity, o->pool_size + n_operators, sizeof *o->pool);
    uint32_t *candidates = o->pool + o->pool_size;
    for (uint32_t i = 0; i < n_operators; i++) {
        if (o->done[i] || o->waits[i] > 0)
            continue;
        uint64_t after, other_after, during = bytes_during(o, i, &after);
        if (during >= limit)
            continue;
        if (during <= level->peak && after <= o->bytes) {
            candidates[0] = i;
            level->n = 1;
            break;
        }
        uint32_t at = level->n++;
        for (; at > 0; at--) {
            bytes_during(o, candidates[at - 1], &other_after);
            if (other_after <= after)
                break;
            candidates[at] = candidates[at - 1];
        }
        candidates[at] = i;
    }
    o->pool_size += level->n;
}

/* Searches all orders with peaks below best->peak. Returns whether it came to an end. */
static bool search(struct order *o, struct nuc_plan_order *best, uint64_t bound)
{
    uint32_t n = o->problem->n_operators, level = 0;
    uint64_t cost = 4 * (uint64_t)n;

    o->levels[0].peak = o->bytes;
    find_candidates(o, &o->levels[0], best->peak);
    for (;;) {
        struct level *l = &o->levels[level];
        if (l->next == l->n || l->peak >= best->peak) {
            o->pool_size = l->candidates;
            if (level-- == 0)
                return true;
            take_back(o, o->chosen[level]);
            continue;
        }
        uint32_t op = o->pool[l->candidates + l->next++];
        uint64_t after, during = bytes_during(o, op, &after), peak = during > l->peak ? during : l->peak;
        if (peak >= best->peak)
            continue;
        if (o->effort < cost)
            return false;
        o->effort -= cost;
        run(o, op);
        o->chosen[level] = op;
        if (level + 1 == n) {
            memcpy(best->operators, o->chosen, n * sizeof *best->operators);
            best->peak = peak;
        }
        if (best->peak <= bound)
            return true;
        if (level + 1 == n || !enter(o, peak)) {
            take_back(o, op);
            continue;
        }
        o->levels[++level].peak = peak;
        find_candidates(o, &o->levels[level], best->peak);
    }
}

static void set_up_followers(struct order *o)
{
    const struct nuc_order_problem *problem = o->problem;
    uint32_t n = problem->n_operators, *at = nuc_alloc_array(o->cx, (size_t)n + 2, sizeof *at);
    size_t total = 0;

    for (uint32_t i = 0; i < n; i++) {
        o->waits[i] = problem->operators[i].n_after;
        total += problem->operators[i].n_after;
        for (uint32_t k = 0; k < problem->operators[i].n_after; k++)
            at[problem->operators[i].after[k] + 2]++;
    }
    for (uint32_t i = 2; i < n + 2; i++)
        at[i] += at[i - 1];
    o->followers = nuc_alloc_array(o->cx, total + 1, sizeof *o->followers);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < problem->operators[i].n_after; k++)
            o->followers[at[problem->operators[i].after[k] + 1]++] = i;
    }
    o->follower_at = at;
}

/* The peak of the order given, and what no order goes below: an operator with all it touches, less what it may save. */
static uint64_t given_peak(struct order *o, uint64_t *bound)
{
    const struct nuc_order_problem *problem = o->problem;
    uint64_t peak = o->bytes, after;

    *bound = o->bytes;
    for (uint32_t i = 0; i < problem->n_operators; i++) {
        const struct nuc_plan_operator *op = &problem->operators[i];
        uint64_t own = 0, during = bytes_during(o, i, &after);
        for (uint32_t k = 0; k < op->n_buffers; k++)
            own += problem->buffers[op->buffers[k]].size;
        own -= op->n_in_place > 0 ? problem->buffers[op->result].size : 0;
        *bound = own > *bound ? own : *bound;
        peak = during > peak ? during : peak;
        run(o, i);
    }
    for (uint32_t i = problem->n_operators; i-- > 0;)
        take_back(o, i);
    return peak;
}

struct nuc_plan_order nuc_plan_operators(struct nuc_context *cx, const struct nuc_order_problem *problem)
{
    struct nuc_plan_order best = {.operators = nuc_alloc_array(cx, (size_t)problem->n_operators + 1, sizeof(uint32_t))};
    struct nuc_arena *outer = nuc_push_arena(cx);
    struct order *o = nuc_alloc(cx, sizeof *o);
    o->cx = cx;
    o->problem = problem;
    o->effort = problem->effort ? problem->effort : DEFAULT_EFFORT;
    o->left = nuc_alloc_array(cx, problem->n_buffers, sizeof *o->left);
    o->starter = nuc_alloc_array(cx, problem->n_buffers, sizeof *o->starter);
    o->live = nuc_alloc_array(cx, problem->n_buffers, sizeof *o->live);
    o->waits = nuc_alloc_array(cx, problem->n_operators, sizeof *o->waits);
    o->done = nuc_alloc_array(cx, problem->n_operators, sizeof *o->done);
    o->levels = nuc_alloc_array(cx, (size_t)problem->n_operators + 1, sizeof *o->levels);
    o->chosen = nuc_alloc_array(cx, problem->n_operators, sizeof *o->chosen);
    set_up_followers(o);
    for (uint32_t i = 0; i < problem->n_operators; i++) {
        for (uint32_t k = 0; k < problem->operators[i].n_buffers; k++)
            o->left[problem->operators[i].buffers[k]]++;
    }
    for (uint32_t b = 0; b < problem->n_buffers; b++) {
        o->starter[b] = NOBODY;
        o->live[b] = problem->buffers[b].from_start;
        if (o->live[b] && (o->left[b] > 0 || problem->buffers[b].to_end))
            o->bytes += problem->buffers[b].size;
    }
    uint64_t bound;

    for (uint32_t i = 0; i < problem->n_operators; i++)
        best.operators[i] = i;
    best.peak = best.given_peak = given_peak(o, &bound);
    best.proven = best.peak <= bound;
    if (!best.proven && problem->n_operators <= MOST_OPERATORS) {
        o->memo = nuc_alloc_array(cx, (size_t)1 << MEMO_BITS, sizeof *o->memo);
        best.proven = search(o, &best, bound);
    }
    nuc_pop_arena(cx, outer);
    return best;
}

uint32_t nuc_plan_add_once(uint32_t *list, uint32_t n, uint32_t value)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == value)
            return n;
    }
    list[n] = value;
    return n + 1;
}
