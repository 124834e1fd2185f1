/* Memory below what the operators take one after the other: the first of them in strips of rows, where the budget asks.
 */
#include "cpu/strips.h"

#include <string.h>

#include "back/program/program.h"
#include "driver/lowered.h"
#include "driver/node_cycles.h"

enum {
    MOST_STAGES = 3,      /* one after the other */
    MOST_PLANS = 60,      /* that are made in all, */
    MOST_NEXT = 8,        /* and of one more stage each, the fewest cycles first */
    MOST_FIRST = 3,       /* stages that are gone on from where they do not do alone */
    MOST_ALLOWANCES = 5,  /* bytes that the estimate may take: some in addition, as the order may be better, or less */
    MOST_WORK = 1 << 29,  /* of the search for stages, as nuc_find_strips() counts it: seconds */
    PLAN_EFFORT = 1 << 16 /* of plans that are compared; the program's own has the usual one */
};

struct search {
    struct nuc_job *j;
    const struct nuc_graph *plain;
    size_t budget; /* of the arena */
    struct nuc_strips stages[MOST_STAGES];
    uint32_t n;
    uint32_t plans; /* made so far */
    uint64_t work;  /* of what was sought so far */
    size_t least;   /* smallest plan that find_least() has made, and its stages */
    struct nuc_strips least_stages[MOST_STAGES];
    uint32_t n_least;
};

static struct nuc_graph *cut(struct search *s)
{
    struct nuc_graph *g = nuc_graph_copy(s->plain);

    for (uint32_t i = 0; i < s->n; i++)
        nuc_cut_into_strips(g, s->j->m->settings->target, &s->stages[i]);
    return g;
}

/* The arena of the program with the stages chosen. */
static size_t planned(struct search *s)
{
    struct nuc_context *cx = s->j->c->cx;
    struct nuc_arena *outer = nuc_push_arena(cx);
    struct nuc_program_options options = nuc_plan_options(s->j->m->settings);

    options.plan_effort = PLAN_EFFORT;
    size_t size = nuc_plan_graph(cut(s), &options);

    nuc_pop_arena(cx, outer);
    s->plans++;
    return size;
}

/* Of `g`; NULL items once the search has taken long enough. */
static struct nuc_strip_choices find(struct search *s, struct nuc_graph *g, size_t bytes)
{
    struct nuc_strip_choices choices = {.items = NULL};

    if (s->work < MOST_WORK)
        nuc_find_strips(g, s->j->m->settings->target, bytes, &choices);
    s->work += choices.work;
    return choices;
}

static bool search(struct search *s)
{
    struct nuc_context *cx = s->j->c->cx;
    struct nuc_graph *g = cut(s);
    struct nuc_strip_choices choices;

    for (uint32_t i = 0; i < MOST_ALLOWANCES; i++) {
        choices = find(s, g, s->budget + s->budget / 16 - s->budget / 16 * i);
        /* One more stage, after which the plan fits. */
        uint32_t plans = 0;
        for (size_t k = 0; k < choices.count && plans < MOST_NEXT && s->plans < MOST_PLANS; k++) {
            if (choices.items[k].outside > s->budget)
                continue;
            s->stages[s->n++] = choices.items[k];
            plans++;
            if (planned(s) <= s->budget)
                return true;
            s->n--;
        }
    }
    choices = find(s, g, s->budget);
    bool *tried = nuc_alloc_array(cx, choices.count, sizeof *tried);
    for (uint32_t i = 0; i < MOST_FIRST && s->n + 1 < MOST_STAGES && s->plans < MOST_PLANS; i++) {
        /* Indices of the choices that leave least outside, the fewest cycles first among equal ones. */
        size_t first = choices.count;
        for (size_t k = 0; k < choices.count; k++) {
            if (!tried[k] && (first == choices.count || choices.items[k].outside < choices.items[first].outside))
                first = k;
        }
        if (first == choices.count)
            break;
        tried[first] = true;
        s->stages[s->n++] = choices.items[first];
        if (search(s))
            return true;
        s->n--;
    }
    return false;
}

bool nuc_may_need_strips(const struct nuc_job *j)
{
    const struct nuc_options *o = &j->m->settings->o;

    return o->memory_budget > 0 && j->m->settings->target->cpu != NULL && !o->reference_compat &&
           !o->executorch_ops_only;
}

/* Of the budget, what the scratch of delegates leaves. */
static size_t arena_budget(const struct nuc_job *j)
{
    size_t budget = j->m->settings->o.memory_budget, scratch = 0;

    for (uint32_t i = 0; i < j->m->lowered->n_partitions; i++) {
        size_t bytes = j->m->lowered->partitions[i].info.scratch_size;
        scratch = bytes > scratch ? bytes : scratch;
    }
    if (j->m->settings->o.plan_delegate_scratch)
        return budget;
    return budget > scratch ? budget - scratch : 0;
}

/*
 * What is possible where the budget is not: one stage after the other, of those that leave least alive the one with the
 * smallest plan. It does not depend on the budget, so that the budget may be what it finds.
 */
static void find_least(struct search *s)
{
    bool smaller = true;

    s->work = 0; /* takes no more than a search for each stage */
    s->n_least = 0;
    for (s->n = 0; s->n < MOST_STAGES && smaller;) {
        struct nuc_strip_choices choices = find(s, cut(s), 0);
        size_t best = 0;
        smaller = false;
        for (size_t k = 0; k < choices.count && k < MOST_NEXT; k++) {
            s->stages[s->n++] = choices.items[k];
            size_t size = planned(s);
            s->n--;
            if (size >= s->least)
                continue;
            s->least = size;
            best = k;
            smaller = true;
        }
        if (smaller) {
            s->stages[s->n++] = choices.items[best];
            memcpy(s->least_stages, s->stages, s->n * sizeof *s->stages);
            s->n_least = s->n;
        }
    }
    s->n = 0;
}

/* What strips cost is the difference of two programs: the figure that latencies show, too. */
static void report(const struct search *s, struct nuc_program_report *r)
{
    for (uint32_t i = 0; i < s->n; i++)
        r->n_strips += (size_t)s->stages[i].count;
    r->n_strip_stages = s->n;
    uint64_t cycles = s->n > 0 ? nuc_cycles_with(s->j->m, nuc_graph_copy(s->j->m->graph)) : 0;
    r->strip_cycles = cycles > r->plain_cycles ? cycles - r->plain_cycles : 0;
}

void nuc_compute_in_strips(struct nuc_job *j)
{
    struct search s = {.j = j, .plain = j->m->graph, .budget = arena_budget(j)};
    size_t plain = planned(&s);
    bool found = plain > s.budget && search(&s);

    if (plain <= s.budget)
        return;
    j->m->lowered->report.plain_arena = plain;
    s.least = plain;
    if (!found)
        find_least(&s);
    if (!found && s.least <= s.budget) {
        memcpy(s.stages, s.least_stages, s.n_least * sizeof *s.stages);
        s.n = s.n_least;
    }
    j->m->lowered->report.least_arena = s.least;
    j->m->lowered->report.plain_cycles = s.n > 0 ? nuc_cycles_with(j->m, nuc_graph_copy(s.plain)) : 0;
    for (uint32_t i = 0; i < s.n; i++)
        nuc_cut_into_strips(j->m->graph, j->m->settings->target, &s.stages[i]);
    report(&s, &j->m->lowered->report);
}
