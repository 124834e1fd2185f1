/*
 * Weights in flash: the bytes of a node's calls are copied into the staging buffer while the node before it computes,
 * on two channels in turn, so that at most two nodes' weights are staged at a time.
 */
#include <string.h>

#include "compiler/neutron/convert/convert_private.h"
#include "compiler/plan/plan.h"

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

/* Appends the call `from` of the list before. */
static void move_call(struct nuc_cv *cv, const struct nuc_cv_bytes *records, const struct nuc_neutron_call *from)
{
    const uint8_t *record = records->data + from->offset;

    cv->current = &cv->nodes[from->lt_op];
    nuc_cv_add_record(cv, record, nuc_mc_whole_size(nuc_load_u32(record)));
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
    const struct nuc_plan_problem problem = {.ranges = s.ranges, .n = s.count};
    const struct nuc_plan plan = nuc_plan_memory(cv->cx, &problem);
    uint32_t n_calls = cv->n_calls, next = 0;

    s.addresses = plan.addresses;
    cv->records = (struct nuc_cv_bytes){NULL, 0, 0};
    cv->calls = NULL;
    cv->calls_capacity = 0;
    cv->n_calls = 0;
    if (s.count > 0)
        add_copy(cv, &s, 0, calls[s.windows[0]->first_call].lt_op, NUC_MC_OP_FETCH);
    for (uint32_t i = 0; i < n_calls; i++) {
        if (next < s.count && s.windows[next]->first_call == i) {
            if (next + 1 < s.count)
                add_copy(cv, &s, next + 1, calls[s.windows[next + 1]->first_call].lt_op, NUC_MC_OP_FETCH);
            add_copy(cv, &s, next++, calls[i].lt_op, NUC_MC_OP_WAIT);
        }
        move_call(cv, &records, &calls[i]);
    }
    return (uint32_t)plan.size;
}
