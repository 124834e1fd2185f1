/*
 * Weights in flash: the bytes of a node's calls are copied into the staging buffer while the node before it computes,
 * on two channels in turn. The buffer is as large as the two neighbours with most weights; where three in a row fit it,
 * the copy begins a node earlier, so that fewer calls wait for one.
 */

#include "algorithms/plan.h"
#include "npu/convert/conversion.h"

/* Windows with bytes, in order, and where each is staged. */
struct staged {
    const struct nuc_cv_window **windows;
    struct nuc_plan_range *ranges;
    const uint64_t *addresses;
    uint32_t count;
};

static struct staged collect(struct nuc_cv *cv)
{
    struct staged s = {nuc_alloc_array(cv->cx, cv->n_windows, sizeof(struct nuc_cv_window *)),
                       nuc_alloc_array(cv->cx, cv->n_windows, sizeof *s.ranges), NULL, 0};

    for (size_t i = 0; i < cv->n_windows; i++) {
        const struct nuc_cv_window *w = &cv->windows[i];
        if (w->end <= w->start || w->end_call == w->first_call)
            continue;
        /* Alive from the copy, which begins with the node before, until the node is done. */
        s.ranges[s.count] = (struct nuc_plan_range){.size = w->end - w->start,
                                                    .first = s.count > 0 ? s.count - 1 : 0,
                                                    .last = s.count,
                                                    .alignment = NUC_MC_ALIGNMENT};
        s.windows[s.count++] = w;
    }
    return s;
}

static struct nuc_plan plan_of(struct nuc_cv *cv, const struct staged *s)
{
    const struct nuc_plan_problem problem = {.ranges = s->ranges, .n = s->count};

    return nuc_plan_memory(cv->cx, &problem);
}

static bool is_early(const struct staged *s, uint32_t window)
{
    return window >= 2 && window < s->count && s->ranges[window].first == window - 2;
}

static uint64_t aligned_size(const struct staged *s, uint32_t window)
{
    return nuc_align_up((size_t)s->ranges[window].size, NUC_MC_ALIGNMENT);
}

/* Copies begin two nodes ahead where `room` bytes take three windows in a row. Returns how many do. */
static uint32_t begin_earlier(struct staged *s, uint64_t room)
{
    uint32_t count = 0;

    for (uint32_t i = 2; i < s->count; i++) {
        if (aligned_size(s, i - 2) + aligned_size(s, i - 1) + aligned_size(s, i) > room)
            continue;
        s->ranges[i].first = i - 2;
        count++;
    }
    return count;
}

/* Early copies whose windows a plan puts beyond the room begin with the node before again, or all do. */
static uint32_t begin_later(struct staged *s, const struct nuc_plan *plan, uint64_t room, bool all)
{
    uint32_t count = 0;

    for (uint32_t i = 2; i < s->count; i++) {
        if (!is_early(s, i) || (!all && plan->addresses[i] + s->ranges[i].size <= room))
            continue;
        s->ranges[i].first = i - 1;
        count++;
    }
    return count;
}

/* Sets addresses and returns the size of the buffer, the same with early copies as without. */
static uint64_t plan_staging(struct nuc_cv *cv, struct staged *s)
{
    enum { TRIALS = 8 };
    const struct nuc_plan first = plan_of(cv, s);

    s->addresses = first.addresses;
    if (cv->revision_3 || begin_earlier(s, first.size) == 0)
        return first.size;
    for (int i = 0; i < TRIALS; i++) {
        const struct nuc_plan plan = plan_of(cv, s);
        if (plan.size <= first.size) {
            s->addresses = plan.addresses;
            return plan.size;
        }
        if (begin_later(s, &plan, first.size, i == TRIALS - 2) == 0)
            break;
    }
    begin_later(s, &first, first.size, true);
    return first.size;
}

/* A FETCH or WAIT of a window, noted for the operator whose calls it serves. */
static void add_copy(struct nuc_cv *cv, const struct staged *s, uint32_t window, uint32_t lt_op, uint32_t opcode)
{
    const struct nuc_cv_window *w = s->windows[window];
    union nuc_mc_record r = {.fetch = {.weights_offset = (int32_t)w->start,
                                       .size = (int32_t)(w->end - w->start),
                                       .staging_offset = (int32_t)s->addresses[window],
                                       .channel = (int32_t)(window % NUC_MC_CHANNELS)}};

    cv->current = &cv->nodes[lt_op];
    nuc_cv_emit(cv, opcode, &r);
}

uint32_t nuc_cv_add_fetches(struct nuc_cv *cv)
{
    struct staged s = collect(cv);
    const struct nuc_cv_bytes records = cv->records;
    const struct nuc_neutron_call *calls = cv->calls;
    uint32_t n_calls = cv->n_calls, next = 0;
    uint64_t size = plan_staging(cv, &s);

    cv->records = (struct nuc_cv_bytes){NULL, 0, 0};
    cv->calls = NULL;
    cv->calls_capacity = 0;
    cv->n_calls = 0;
    if (s.count > 0)
        add_copy(cv, &s, 0, calls[s.windows[0]->first_call].lt_op, NUC_MC_OP_FETCH);
    for (uint32_t i = 0; i < n_calls; i++) {
        if (next < s.count && s.windows[next]->first_call == i) {
            /*
             * What goes in front of the first call of a window: the copy of the next one unless it has begun, then the
             * wait.
             */
            uint32_t window = next++;
            uint32_t lt_op = calls[s.windows[window]->first_call].lt_op;
            if (window + 1 < s.count && !is_early(&s, window + 1))
                add_copy(cv, &s, window + 1, calls[s.windows[window + 1]->first_call].lt_op, NUC_MC_OP_FETCH);
            add_copy(cv, &s, window, lt_op, NUC_MC_OP_WAIT);
            if (is_early(&s, window + 2)) {
                /* On this window's channel, while its weights are read. */
                cv->revision = cv->revision < 5 ? 5 : cv->revision;
                add_copy(cv, &s, window + 2, calls[s.windows[window + 2]->first_call].lt_op, NUC_MC_OP_FETCH);
            }
        }
        /* Appends the call `&calls[i]` of the list before. */
        const uint8_t *record = records.data + calls[i].offset;
        cv->current = &cv->nodes[calls[i].lt_op];
        nuc_cv_add_record(cv, record, nuc_mc_whole_size(nuc_load_u32(record)));
    }
    return (uint32_t)size;
}
