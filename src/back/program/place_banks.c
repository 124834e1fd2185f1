#include "back/program/banks.h"

#include <string.h>

#include "back/program/emit.h"
#include "npu/target/target.h"

#define ALIGNMENT 16

/* What takes room in a bank beside its planned memory. */
struct beside {
    uint32_t temporary, states; /* banks */
};

/* ---- who touches what ---- */

/* Banks that all who touch the storage reach; the caller's inputs and outputs are the CPU's. */
static void find_uses(const struct nuc_emission *e, const struct nuc_banks *banks, uint32_t *allowed, uint64_t *uses,
                      unsigned *states)
{
    unsigned *reach = nuc_alloc_array(e->cx, e->n_storages + 1, sizeof *reach);

    *states = NUC_BY_CPU;
    for (size_t s = 0; s < e->n_storages; s++)
        reach[s] = e->storages[s].first == 0 || e->storages[s].last > e->n_instructions ? NUC_BY_CPU : 0;
    for (size_t i = 0; i < e->n_instructions; i++) {
        const struct nuc_emit_instruction *in = &e->instructions[i];
        for (uint32_t k = 0; k < in->n_storages; k++) {
            reach[in->storages[k]] |= in->delegate ? NUC_BY_NPU : NUC_BY_CPU;
            uses[in->storages[k]] += e->storages[in->storages[k]].bytes;
        }
    }
    for (size_t s = 0; s < e->n_storages; s++) {
        *states |= e->storages[s].is_state ? reach[s] : 0;
        for (uint32_t b = 0; b < banks->n; b++)
            allowed[s] |= (banks->of[b].reach & reach[s]) == reach[s] ? 1U << b : 0;
    }
    /* The runtime looks for the scratch of delegates, and so for what lies inside of it, in memory 1. */
    for (size_t d = 0; e->scratch_of != NULL && d < e->n_delegates; d++) {
        if (e->scratch_of[d] != NUC_NO_STORAGE)
            allowed[e->scratch_of[d]] &= 1;
    }
}

/* ---- a plan for given sizes ---- */

struct placing {
    const struct nuc_emission *e;
    struct nuc_bank_problem problem;
    struct nuc_banks banks;
    unsigned states_reach;
};

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool take(uint64_t *room, uint64_t bytes)
{
    if (bytes > *room)
        return false;
    *room -= bytes;
    return true;
}

static bool reaches(const struct nuc_bank *bank, unsigned reach)
{
    return (bank->reach & reach) == reach;
}

/* Room for planned memory with the others where `at` says; false: there is none for these. */
static bool leave_room(struct placing *p, const struct beside *at)
{
    const struct nuc_banks *b = &p->banks;
    uint64_t *room = p->problem.sizes;

    for (uint32_t i = 0; i < b->n; i++) {
        room[i] = b->of[i].bytes - b->of[i].bytes % ALIGNMENT;
        bool weights = b->weights != NULL && strcmp(b->weights, b->of[i].name) == 0;
        if (weights && !take(&room[i], b->weights_bytes))
            return false;
    }
    return (b->temporary == 0 ||
            (reaches(&b->of[at->temporary], b->temporary_reach) && take(&room[at->temporary], b->temporary))) &&
           (p->e->states_size == 0 ||
            (reaches(&b->of[at->states], p->states_reach) && take(&room[at->states], p->e->states_size)));
}

/* Temporary memory and states go to the last banks with room, so that the best ones have it for values. */
static struct nuc_bank_plan try_sizes(struct placing *p, struct beside *at)
{
    const uint32_t n = p->banks.n, temporaries = p->banks.temporary > 0 ? n : 1;
    const uint32_t states = p->e->states_size > 0 ? n : 1;
    struct nuc_bank_plan plan = {.fits = false};

    for (uint32_t i = 0; i < temporaries * states && !plan.fits; i++) {
        *at = (struct beside){n - 1 - i / states, n - 1 - i % states};
        if (leave_room(p, at))
            plan = nuc_plan_banks(p->e->cx, &p->problem);
    }
    return plan;
}

/* ---- when it does not fit ---- */

/* The least size of a bank that fits, as the others are; 0: none that the target has. */
static uint64_t least_size(struct placing *p, uint32_t bank)
{
    struct nuc_bank *b = &p->banks.of[bank];
    const uint64_t given = b->bytes;
    struct beside at;
    uint64_t low = given, high = given, all = ALIGNMENT * (uint64_t)3;

    for (size_t s = 0; s < p->problem.n; s++)
        all += p->problem.ranges[s].size + ALIGNMENT;
    all += p->banks.temporary + p->banks.weights_bytes + p->e->states_size;
    high = b->most - given < all ? b->most : given + all;
    b->bytes = high;
    if (!try_sizes(p, &at).fits)
        high = 0;
    /* The sizes between are multiples of the alignment. */
    while (high != 0 && low / ALIGNMENT + 1 < (high + ALIGNMENT - 1) / ALIGNMENT) {
        uint64_t middle = (low / ALIGNMENT + (high + ALIGNMENT - 1) / ALIGNMENT) / 2 * ALIGNMENT;
        struct nuc_arena *outer = nuc_push_arena(p->e->cx);
        b->bytes = middle;
        if (try_sizes(p, &at).fits)
            high = middle;
        else
            low = middle;
        nuc_pop_arena(p->e->cx, outer);
    }
    b->bytes = given;
    return high;
}

_Noreturn static void refuse(struct placing *p)
{
    const struct nuc_banks *b = &p->banks;
    struct nuc_context *cx = p->e->cx;
    uint64_t best = 0, missing = UINT64_MAX;
    uint32_t where = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        uint64_t size = least_size(p, i);
        if (size == 0 || size - b->of[i].bytes >= missing)
            continue;
        best = size;
        missing = size - b->of[i].bytes;
        where = i;
    }
    if (best == 0)
        nuc_fail(
            cx, NUC_PROPERTY,
            "%s: does not fit the memories of the target, whatever one of --memory has: it takes %llu bytes of "
            "planned memory in one piece; give another bank, or make the tensors that are alive at the peak smaller",
            p->e->g->file, (unsigned long long)p->problem.joint->size);
    nuc_fail(cx, NUC_PROPERTY, "%s: does not fit: %llu bytes are missing in %s; --memory %s=%llu has room",
             p->e->g->file, (unsigned long long)missing, b->of[where].name, b->of[where].name,
             (unsigned long long)best);
}

/* ---- of the program ---- */

static void report(const struct placing *p, const struct nuc_bank_plan *plan, const struct beside *at,
                   struct nuc_program_memory_report *out)
{
    const struct nuc_banks *b = &p->banks;
    struct nuc_bank_use *uses = nuc_alloc_array(p->e->cx, b->n, sizeof *uses);

    for (uint32_t i = 0; i < b->n; i++) {
        /* Banks are at most as large as an option says, 1 GiB. */
        uses[i] = (struct nuc_bank_use){.name = b->of[i].name,
                                        .size = (size_t)b->of[i].bytes,
                                        .planned = (size_t)plan->used[i],
                                        .peak = (size_t)plan->bound[i],
                                        .temporary = at->temporary == i ? (size_t)b->temporary : 0,
                                        .states = at->states == i ? (size_t)p->e->states_size : 0};
        if (b->weights != NULL && strcmp(b->weights, b->of[i].name) == 0)
            uses[i].weights = (size_t)b->weights_bytes;
    }
    out->banks = uses;
    out->n_banks = b->n;
}

bool nuc_place_in_banks(struct nuc_emission *e, const struct nuc_program_options *o, bool must)
{
    uint32_t *allowed = nuc_alloc_array(e->cx, e->n_storages + 1, sizeof *allowed);
    uint64_t *uses = nuc_alloc_array(e->cx, e->n_storages + 1, sizeof *uses);
    struct placing p = {.e = e, .banks = *o->banks};
    struct beside at = {0, 0};

    p.banks.temporary = rounded(p.banks.temporary);
    p.banks.weights_bytes = rounded(p.banks.weights_bytes);
    find_uses(e, &p.banks, allowed, uses, &p.states_reach);
    for (size_t s = 0; s < e->n_storages; s++)
        allowed[s] &= e->ranges[s].fixed ? 1 : UINT32_MAX;
    p.problem = (struct nuc_bank_problem){.ranges = e->ranges,
                                          .n = e->n_storages,
                                          .joint = &e->plan,
                                          .allowed = allowed,
                                          .uses = uses,
                                          .n_banks = p.banks.n};
    struct nuc_bank_plan plan = try_sizes(&p, &at);
    if (!plan.fits && must)
        refuse(&p);
    if (!plan.fits)
        return false;
    e->n_memories = p.banks.n;
    for (uint32_t b = 0; b < p.banks.n; b++)
        e->memories[b] = plan.used[b];
    for (size_t s = 0; s < e->n_storages; s++) {
        if (e->storages[s].is_state)
            continue;
        e->storages[s].memory = plan.banks[s] + 1;
        e->storages[s].address = plan.addresses[s];
    }
    if (o->report != NULL)
        report(&p, &plan, &at, o->report);
    return true;
}
