/* What the CPU's part of a program takes, by the nodes it was made of: those of the profile that the program has. */
#include "back/profile/profile.h"
#include "back/program/program.h"
#include "driver/explain_options.h"
#include "driver/lower_model.h"
#include "npu/explain/explain.h"
#include "npu/support/estimate.h"

struct pricing {
    const struct nuc_model *lowered;
    uint64_t *cycles; /* by id of a node of what was lowered */
    uint32_t n_ids;
    uint64_t total;
};

/* Of a copy, since writing a program rewrites its graph; where things lie does not change what they take. */
static void price(struct nuc_context *cx, void *arg)
{
    struct pricing *p = arg;
    const struct nuc_settings *s = p->lowered->settings;
    struct nuc_program_memory_report report = {.planned = 0};
    const struct nuc_program_options options = {
        .keep_order = s->o.reference_compat, .in_place = nuc_allows_in_place(s), .plan_effort = 1, .report = &report};
    struct nuc_graph *g = nuc_graph_copy(p->lowered->graph);
    const struct nuc_profile *profile = nuc_profile_read(cx, s->target, g->file, nuc_write_program(g, &options), NULL);

    for (size_t i = 0; i < profile->n_rows; i++) {
        const struct nuc_profile_row *row = &profile->rows[i];
        const struct nuc_node *node = report.nodes[row->instruction];
        if (row->kind != NUC_PROFILE_CPU)
            continue;
        p->total += row->cycles;
        if (node != NULL && node->origin > 0 && node->origin <= p->n_ids)
            p->cycles[node->origin - 1] += row->cycles;
    }
}

/* Whether a kernel for `n` may compute its only reader as well: an activation after products, what is no operator. */
static bool may_hold(const struct nuc_node *n, const struct nuc_node *reader)
{
    return reader->partition < 0 &&
           (!nuc_is_operator(reader) || (nuc_estimate_macs(n) > 0 && nuc_estimate_macs(reader) == 0));
}

const struct nuc_explain_cpu *nuc_cpu_cycles_of(const struct nuc_graph *g, const struct nuc_model *lowered)
{
    struct nuc_context *cx = lowered->c->cx;
    struct pricing p = {.lowered = lowered, .n_ids = g->next_id};
    struct nuc_explain_cpu *cpu = nuc_alloc(cx, sizeof *cpu);

    p.cycles = nuc_alloc_array(cx, (size_t)g->next_id + 1, sizeof *p.cycles);
    struct nuc_arena *outer = nuc_push_arena(cx);
    enum nuc_status status = nuc_attempt(cx, price, &p);
    nuc_pop_arena(cx, outer);
    if (status != NUC_OK)
        return NULL;
    /*
     * A kernel that computes what follows, too, is made of the last of these; what it takes is that of the first one.
     */
    uint64_t *cycles = p.cycles;
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const struct nuc_node *last = n;
        if (!nuc_is_operator(n) || n->partition >= 0)
            continue;
        while (cycles[last->id] == 0 && last->n_users == 1 && may_hold(n, last->users[0]))
            last = last->users[0];
        if (last == n)
            continue;
        cycles[n->id] = cycles[last->id];
        cycles[last->id] = 0;
    }
    *cpu = (struct nuc_explain_cpu){p.cycles, p.total};
    return cpu;
}
