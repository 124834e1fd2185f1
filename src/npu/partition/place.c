#include "npu/partition/place.h"

#include <stdlib.h>
#include <string.h>

/* Proposals: as many as take about the time of the rest of a compilation for large graphs. */
enum { FEWEST_PROPOSALS = 8, MOST_PROPOSALS = 96, NODES_PROPOSED = 200000 };

/* A placement, and what its proposal came to. */
struct state {
    bool *on_cpu;   /* by item: it was chosen for the CPU */
    int32_t *of;    /* by item: its partition, -1: on the CPU, perhaps since a rule asks for it */
    uint32_t count; /* of partitions */
    int64_t cost;   /* cycles */
};

/* Items that change sides together. */
struct move {
    uint32_t first, count; /* in search.members */
    bool to_cpu;
    int64_t bound; /* what it can gain at most is -bound */
};

struct search {
    const struct nuc_place_model *m;
    const struct nuc_place_proposer *proposer;
    struct nuc_context *cx;
    uint32_t proposals_left;
    struct state best, trial;
    bool *wish; /* by item: the cut without calls has it on the CPU */
    struct move *moves;
    uint32_t n_moves;
    size_t move_capacity;
    uint32_t *members, *queue; /* items of the moves; of a group under way */
    uint32_t n_members;
    size_t member_capacity;
    uint32_t *seen, round; /* by item: the round it was last met in */
    uint32_t *met, stamp;  /* by partition: the group it was last met next to */
};

static struct state new_state(struct nuc_context *cx, uint32_t n_items)
{
    return (struct state){.on_cpu = nuc_alloc_array(cx, (size_t)n_items + 1, sizeof(bool)),
                          .of = nuc_alloc_array(cx, (size_t)n_items + 1, sizeof(int32_t))};
}

static void take_proposal(const struct nuc_place_model *m, struct state *s, const struct nuc_proposal *proposal)
{
    for (uint32_t i = 0; i < m->n_items; i++)
        s->of[i] = proposal->of[m->items[i].node->id];
    s->count = proposal->count;
    s->cost = nuc_place_cost(m, proposal);
}

/* Proposes for the sides of the state. False: there were as many proposals as may be. */
static bool propose(struct search *s, struct state *state)
{
    if (s->proposals_left == 0)
        return false;
    s->proposals_left--;
    struct nuc_arena *outer = nuc_push_arena(s->cx);
    take_proposal(s->m, state, s->proposer->propose(s->proposer->user, state->on_cpu));
    nuc_pop_arena(s->cx, outer);
    return true;
}

/* True when the trial is the new best. */
static bool try_trial(struct search *s)
{
    if (!propose(s, &s->trial) || s->trial.cost >= s->best.cost)
        return false;
    struct state better = s->trial;
    s->trial = s->best;
    s->best = better;
    return true;
}

/* ---- groups ---- */

static bool is_in_group(const struct search *s, uint32_t item, const bool *among, int32_t partition)
{
    return s->seen[item] != s->round && (among == NULL || among[item]) &&
           (partition < 0 ? s->best.of[item] < 0 : s->best.of[item] >= 0);
}

static void meet(struct search *s, uint32_t item, const bool *among, int32_t partition, uint32_t *count)
{
    if (item == NUC_NO_ITEM || !is_in_group(s, item, among, partition))
        return;
    s->seen[item] = s->round;
    s->queue[(*count)++] = item;
}

/* Adds the items that hang together with `start` among those on its side; partition -1: the CPU. */
static uint32_t find_group(struct search *s, uint32_t start, const bool *among, int32_t partition)
{
    const struct nuc_place_model *m = s->m;
    uint32_t count = 0;

    meet(s, start, among, partition, &count);
    for (uint32_t head = 0; head < count; head++) {
        const struct nuc_place_item *it = &m->items[s->queue[head]];
        for (uint32_t i = 0; i < it->n_values; i++) {
            const struct nuc_place_value *v = &m->values[m->item_values[it->first_value + i]];
            meet(s, v->maker, among, partition, &count);
            for (uint32_t r = 0; r < v->n_readers; r++)
                meet(s, m->readers[v->first_reader + r], among, partition, &count);
        }
    }
    return count;
}

/* What ends of values at a boundary cost at most, and the partitions next to the items. */
static int64_t around(struct search *s, const uint32_t *items, uint32_t count, uint32_t *n_partitions)
{
    const struct nuc_place_model *m = s->m;
    int64_t sum = 0;

    s->stamp++;
    for (uint32_t k = 0; k < count; k++) {
        const struct nuc_place_item *it = &m->items[items[k]];
        for (uint32_t i = 0; i < it->n_values; i++) {
            const struct nuc_place_value *v = &m->values[m->item_values[it->first_value + i]];
            sum += v->out + v->into * (1 + (int64_t)v->n_readers);
            for (uint32_t r = 0; r <= v->n_readers; r++) {
                uint32_t other = r < v->n_readers ? m->readers[v->first_reader + r] : v->maker;
                int32_t of = other != NUC_NO_ITEM ? s->best.of[other] : -1;
                if (of < 0 || s->met[of] == s->stamp)
                    continue;
                s->met[of] = s->stamp;
                ++*n_partitions;
            }
        }
    }
    return sum;
}

static void add_move(struct search *s, const uint32_t *items, uint32_t count, bool to_cpu, bool whole)
{
    uint32_t n_partitions = 0;
    int64_t bound = -around(s, items, count, &n_partitions);

    if (to_cpu)
        n_partitions = whole;
    else
        n_partitions -= n_partitions > 0; /* at best, one stays of those it joins */
    bound -= s->m->call * n_partitions;
    for (uint32_t i = 0; i < count; i++) {
        const struct nuc_place_item *it = &s->m->items[items[i]];
        bound += to_cpu ? it->cpu - it->npu : it->npu - it->cpu;
    }
    if (bound >= 0 || count == 0)
        return;
    s->members = nuc_grow(s->cx, s->members, &s->member_capacity, (size_t)s->n_members + count, sizeof *s->members);
    memcpy(s->members + s->n_members, items, count * sizeof *items);
    s->moves = nuc_grow(s->cx, s->moves, &s->move_capacity, (size_t)s->n_moves + 1, sizeof *s->moves);
    s->moves[s->n_moves++] = (struct move){s->n_members, count, to_cpu, bound};
    s->n_members += count;
}

/* ---- moves ---- */

static int compare_moves(const void *a, const void *b)
{
    const struct move *x = a, *y = b;

    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* The most promising move that gains. */
static bool improve(struct search *s)
{
    struct nuc_arena *outer = nuc_push_arena(s->cx);
    uint32_t *buffer = nuc_alloc_array(s->cx, (size_t)s->m->n_items + 1, sizeof *buffer);
    bool better = false;

    s->n_moves = s->n_members = 0;
    s->move_capacity = s->member_capacity = 0;
    s->moves = NULL;
    s->members = NULL;
    s->stamp = 0;
    s->met = nuc_alloc_array(s->cx, (size_t)s->best.count + 1, sizeof *s->met);
    /* Groups on the CPU that may go back: each alone, and those next to one partition together, as branches are. */
    uint32_t n_chosen = 0;
    s->round++;
    for (uint32_t i = 0; i < s->m->n_items; i++) {
        if (!s->best.on_cpu[i])
            continue;
        buffer[n_chosen++] = i;
        uint32_t count = find_group(s, i, s->best.on_cpu, -1);
        add_move(s, s->queue, count, false, false);
    }
    if (s->n_moves > 1)
        add_move(s, buffer, n_chosen, false, false);
    /* Whole partitions. */
    uint32_t *start = nuc_alloc_array(s->cx, (size_t)s->best.count + 2, sizeof *start);
    for (uint32_t i = 0; i < s->m->n_items; i++) {
        if (s->best.of[i] >= 0)
            start[s->best.of[i] + 1]++;
    }
    for (uint32_t k = 0; k < s->best.count; k++)
        start[k + 1] += start[k];
    uint32_t *at = nuc_copy(s->cx, start, (s->best.count + 1) * sizeof *start);
    for (uint32_t i = 0; i < s->m->n_items; i++) {
        if (s->best.of[i] >= 0)
            buffer[at[s->best.of[i]]++] = i;
    }
    for (uint32_t k = 0; k < s->best.count; k++)
        add_move(s, buffer + start[k], start[k + 1] - start[k], true, true);
    /* Parts of partitions that are cheaper on the CPU. */
    s->round++;
    for (uint32_t i = 0; i < s->m->n_items; i++) {
        if (!s->wish[i] || s->best.of[i] < 0)
            continue;
        uint32_t count = find_group(s, i, s->wish, 0);
        add_move(s, s->queue, count, true, false);
    }
    if (s->n_moves > 1)
        qsort(s->moves, s->n_moves, sizeof *s->moves, compare_moves);
    for (uint32_t i = 0; i < s->n_moves && !better && s->proposals_left > 0; i++) {
        const struct move *move = &s->moves[i];
        memcpy(s->trial.on_cpu, s->best.on_cpu, s->m->n_items * sizeof(bool));
        for (uint32_t k = 0; k < move->count; k++)
            s->trial.on_cpu[s->members[move->first + k]] = move->to_cpu;
        better = try_trial(s);
    }
    nuc_pop_arena(s->cx, outer);
    return better;
}

/* ---- starts ---- */

enum { N_STARTS = 4 };

/* Stable, so that every host finds the same. */
static void sort_states(struct state *states, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t k = i; k > 0 && states[k].cost < states[k - 1].cost; k--) {
            struct state cheaper = states[k];
            states[k] = states[k - 1];
            states[k - 1] = cheaper;
        }
    }
}

/* The greedy placement and three cuts, the cheapest first; returns how many differ. */
static uint32_t find_starts(struct search *s, const struct nuc_proposal *greedy, struct state starts[N_STARTS])
{
    uint32_t n_items = s->m->n_items, count = 1;

    starts[0] = new_state(s->cx, n_items);
    take_proposal(s->m, &starts[0], greedy);
    for (int64_t k = 0; k < N_STARTS - 1; k++) {
        struct state *start = &starts[count];
        *start = new_state(s->cx, n_items);
        nuc_place_cut(s->m, k * s->m->call / 2, start->on_cpu);
        if (k == 0)
            memcpy(s->wish, start->on_cpu, n_items * sizeof *s->wish);
        bool is_new = true;
        for (uint32_t i = 0; i < count; i++)
            is_new &= memcmp(start->on_cpu, starts[i].on_cpu, n_items * sizeof(bool)) != 0;
        count += is_new && propose(s, start);
    }
    sort_states(starts, count);
    return count;
}

bool nuc_place_search(const struct nuc_place_model *m, const struct nuc_place_proposer *proposer,
                      const struct nuc_proposal *greedy, bool *on_cpu)
{
    struct nuc_context *cx = m->g->cx;
    struct nuc_arena *outer = nuc_push_arena(cx);
    uint32_t proposals = NODES_PROPOSED / (m->g->n_nodes + 1);
    struct state starts[N_STARTS];
    struct search s = {
        .m = m,
        .proposer = proposer,
        .cx = cx,
        .trial = new_state(cx, m->n_items),
        .wish = nuc_alloc_array(cx, (size_t)m->n_items + 1, sizeof(bool)),
        .queue = nuc_alloc_array(cx, (size_t)m->n_items + 1, sizeof(uint32_t)),
        .seen = nuc_alloc_array(cx, (size_t)m->n_items + 1, sizeof(uint32_t)),
    };

    s.proposals_left = proposals < FEWEST_PROPOSALS ? FEWEST_PROPOSALS
                       : proposals > MOST_PROPOSALS ? MOST_PROPOSALS
                                                    : proposals;
    uint32_t n_starts = find_starts(&s, greedy, starts);
    for (uint32_t i = 0; i < n_starts; i++) {
        s.best = starts[i];
        while (improve(&s))
            ;
        starts[i] = s.best; /* the arrays of states go from one to the other */
    }
    sort_states(starts, n_starts);
    memcpy(on_cpu, starts[0].on_cpu, m->n_items * sizeof *on_cpu);
    nuc_pop_arena(cx, outer);
    return memchr(on_cpu, true, m->n_items) != NULL;
}

/* ---- reasons ---- */

/* The item at which a value of the group is counted: that which makes it, or the first of the group to read it. */
static uint32_t counted_at(const struct nuc_place_model *m, const struct nuc_place_value *v, const bool *in_group)
{
    if (v->maker != NUC_NO_ITEM && in_group[v->maker])
        return v->maker;
    for (uint32_t r = 0; r < v->n_readers; r++) {
        if (in_group[m->readers[v->first_reader + r]])
            return m->readers[v->first_reader + r];
    }
    return NUC_NO_ITEM;
}

static bool leaves(const struct nuc_place_model *m, const struct nuc_place_value *v, const bool *in_group)
{
    for (uint32_t r = 0; r < v->n_readers; r++) {
        if (!in_group[m->readers[v->first_reader + r]])
            return true;
    }
    return v->read_outside;
}

/* What the boundary of the group in the queue costs as a partition, with everything around it on the CPU. */
static int64_t boundary_of(const struct search *s, const bool *in_group, uint32_t count)
{
    const struct nuc_place_model *m = s->m;
    int64_t sum = 0;

    for (uint32_t k = 0; k < count; k++) {
        const struct nuc_place_item *it = &m->items[s->queue[k]];
        for (uint32_t i = 0; i < it->n_values; i++) {
            const struct nuc_place_value *v = &m->values[m->item_values[it->first_value + i]];
            if (counted_at(m, v, in_group) != s->queue[k])
                continue;
            if (v->maker != s->queue[k])
                sum += v->into;
            else if (leaves(m, v, in_group))
                sum += v->out;
        }
    }
    return sum;
}

/* Of a group on the CPU: what the NPU would take for it, where it is next to no partition with a call of its own. */
static struct nuc_verdict reason_of(struct search *s, bool *in_group, uint32_t count)
{
    struct nuc_context *cx = s->cx;
    uint32_t n_partitions = 0;
    int64_t npu = 0, cpu = 0;

    around(s, s->queue, count, &n_partitions);
    for (uint32_t i = 0; i < count; i++)
        in_group[s->queue[i]] = true;

    for (uint32_t i = 0; i < count; i++) {
        npu += s->m->items[s->queue[i]].npu;
        cpu += s->m->items[s->queue[i]].cpu;
    }
    if (n_partitions == 0)
        npu += s->m->call + boundary_of(s, in_group, count);
    for (uint32_t i = 0; i < count; i++)
        in_group[s->queue[i]] = false;
    return (struct nuc_verdict){
        .rule = "the NPU takes fewer cycles than the CPU, calls and what a boundary costs included",
        .actual = nuc_format(cx, "about %lld cycles on the NPU", (long long)npu),
        .limit = nuc_format(cx, "%lld on the CPU", (long long)cpu),
    };
}

const struct nuc_verdict *nuc_place_reasons(const struct nuc_place_model *m, const struct nuc_proposal *proposal,
                                            const bool *on_cpu)
{
    struct nuc_context *cx = m->g->cx;
    struct nuc_verdict *reasons = nuc_alloc_array(cx, (size_t)m->n_items + 1, sizeof *reasons);
    bool *in_group = nuc_alloc_array(cx, (size_t)m->n_items + 1, sizeof *in_group);
    struct search s = {
        .m = m,
        .cx = cx,
        .best = new_state(cx, m->n_items),
        .queue = nuc_alloc_array(cx, (size_t)m->n_items + 1, sizeof(uint32_t)),
        .seen = nuc_alloc_array(cx, (size_t)m->n_items + 1, sizeof(uint32_t)),
        .met = nuc_alloc_array(cx, (size_t)proposal->count + 1, sizeof(uint32_t)),
        .round = 1,
    };

    take_proposal(m, &s.best, proposal);
    for (uint32_t i = 0; i < m->n_items; i++) {
        uint32_t count = find_group(&s, i, on_cpu, -1);
        struct nuc_verdict reason = count > 0 ? reason_of(&s, in_group, count) : (struct nuc_verdict){.ok = true};
        for (uint32_t k = 0; k < count; k++)
            reasons[s.queue[k]] = reason;
    }
    return reasons;
}
