/* Lifetimes of the program's tensors, the order of its instructions, and their addresses. */

#include "back/program/emit.h"
#include "device/base/span.h"
#include "npu/partition/delegate.h"

#define ALIGNMENT 16

/* ---- what an instruction touches ---- */

static void add_storage(const struct nuc_emission *e, struct nuc_emit_instruction *in, int64_t value)
{
    const struct nuc_emit_value *v = value < 0 ? NULL : &e->values[value];

    if (v != NULL && v->kind == NUC_EMIT_TENSOR && v->storage != NUC_NO_STORAGE)
        in->n_storages = nuc_plan_add_once(in->storages, in->n_storages, v->storage);
}

static bool is_tensor_list(const struct nuc_emit_value *v)
{
    return v->kind == NUC_EMIT_TENSORS || v->kind == NUC_EMIT_OPTIONAL_TENSORS;
}

/* ---- order ---- */

/* The instruction computes a part of the storage. */
static bool writes_part(const struct nuc_emission *e, const struct nuc_emit_instruction *in, uint32_t storage)
{
    const struct nuc_emit_place *place = in->node == NULL ? NULL : &e->places[in->node->id];

    return place != NULL && place->part && place->storage == storage;
}

/* What reads a storage that is computed in parts comes after all of them. */
static uint32_t follow_parts(const struct nuc_emission *e, uint32_t reader, uint32_t storage, uint32_t *after,
                             uint32_t n_after)
{
    if (writes_part(e, &e->instructions[reader], storage))
        return n_after;
    for (uint32_t i = 0; i < reader; i++) {
        if (writes_part(e, &e->instructions[i], storage))
            n_after = nuc_plan_add_once(after, n_after, i);
    }
    return n_after;
}

/* A storage is written by the first instruction that touches it, or in parts; all others come after that. */
static struct nuc_plan_operator *describe(struct nuc_emission *e)
{
    struct nuc_plan_operator *operators = nuc_alloc_array(e->cx, e->n_instructions, sizeof *operators);
    uint32_t *writer = nuc_alloc_array(e->cx, e->n_storages, sizeof *writer); /* UINT32_MAX: an input */

    for (size_t s = 0; s < e->n_storages; s++)
        writer[s] = UINT32_MAX;
    for (uint32_t i = 0; i < e->n_instructions; i++) {
        const struct nuc_emit_instruction *in = &e->instructions[i];
        size_t most = in->n_storages;
        for (uint32_t k = 0; k < in->n_storages; k++)
            most += e->storages[in->storages[k]].in_parts ? i : 0;
        uint32_t *after = nuc_alloc_array(e->cx, most, sizeof *after), n_after = 0;
        for (uint32_t k = 0; k < in->n_storages; k++) {
            uint32_t s = in->storages[k];
            if (e->storages[s].in_parts) {
                n_after = follow_parts(e, i, s, after, n_after);
                continue;
            }
            if (writer[s] == UINT32_MAX && e->storages[s].first > 0)
                writer[s] = i;
            if (writer[s] != UINT32_MAX && writer[s] != i)
                n_after = nuc_plan_add_once(after, n_after, writer[s]);
        }
        operators[i] = (struct nuc_plan_operator){
            .buffers = in->storages, .n_buffers = in->n_storages, .after = after, .n_after = n_after};
    }
    return operators;
}

/* Lifetimes are those of the order given: they say what is an input and what is an output. */
static void order_instructions(struct nuc_emission *e)
{
    struct nuc_arena *outer = nuc_push_arena(e->cx);
    struct nuc_plan_buffer *buffers = nuc_alloc_array(e->cx, e->n_storages, sizeof *buffers);
    struct nuc_emit_instruction *given = nuc_copy(e->cx, e->instructions, e->n_instructions * sizeof *given);

    for (size_t s = 0; s < e->n_storages; s++)
        buffers[s] = (struct nuc_plan_buffer){nuc_align_up(e->storages[s].bytes, ALIGNMENT), e->storages[s].first == 0,
                                              e->storages[s].last > e->n_instructions};
    const struct nuc_order_problem problem = {describe(e), (uint32_t)e->n_instructions, buffers,
                                              (uint32_t)e->n_storages, 0};
    struct nuc_plan_order order = nuc_plan_operators(e->cx, &problem);
    for (size_t i = 0; i < e->n_instructions; i++)
        e->instructions[i] = given[order.operators[i]];
    nuc_pop_arena(e->cx, outer);
}

/* ---- lifetimes ---- */

/*
 * Inputs are there before the first instruction, outputs until after the last. So is what states become, as long as the
 * instructions are ordered that it does not come from.
 */
static void find_lifetimes(struct nuc_emission *e, bool ordering)
{
    uint32_t end = (uint32_t)e->n_instructions + 1;

    for (size_t s = 0; s < e->n_storages; s++) {
        e->storages[s].first = end;
        e->storages[s].last = 0;
    }
    for (size_t i = 0; i < e->n_inputs; i++) {
        if (e->values[e->inputs[i]].storage != NUC_NO_STORAGE)
            e->storages[e->values[e->inputs[i]].storage].first = 0;
    }
    for (size_t i = 0; i < e->n_outputs; i++) {
        const struct nuc_emit_value *v = &e->values[e->outputs[i]];
        if (v->kind == NUC_EMIT_TENSOR && v->storage != NUC_NO_STORAGE)
            e->storages[v->storage].last = end;
    }
    for (size_t i = 0; i < e->n_writes && ordering; i++) {
        const struct nuc_emit_value *v = &e->values[e->writes[i].value];
        if (v->storage != NUC_NO_STORAGE)
            e->storages[v->storage].last = end;
    }
    for (size_t s = 0; s < e->n_storages; s++) {
        if (e->storages[s].is_state) {
            e->storages[s].first = 0;
            e->storages[s].last = end;
        }
    }
    for (uint32_t i = 0; i < e->n_instructions; i++) {
        for (uint32_t k = 0; k < e->instructions[i].n_storages; k++) {
            struct nuc_emit_storage *s = &e->storages[e->instructions[i].storages[k]];
            s->first = i + 1 < s->first ? i + 1 : s->first;
            s->last = i + 1 > s->last ? i + 1 : s->last;
        }
    }
}

/* ---- results over inputs ---- */

/* Only where that is smaller: a kernel that has the choice may be faster with memory apart. */
static void plan_in_place(struct nuc_emission *e, struct nuc_plan_problem *problem)
{
    /* All that the kernels allow: which are used is the planner's choice. */
    size_t *n = &problem->n_pairs;
    struct nuc_plan_pair *pairs = nuc_alloc_array(e->cx, NUC_MOST_OVERLAYS * e->n_instructions + 1, sizeof *pairs);

    *n = 0;
    for (size_t i = 0; i < e->n_instructions; i++) {
        uint32_t storages[NUC_MOST_OVERLAYS], result;
        uint32_t count = nuc_overlays(e, &e->instructions[i], storages, &result);
        for (uint32_t k = 0; k < count; k++) {
            if (!e->storages[storages[k]].is_state && !e->storages[result].is_state)
                pairs[(*n)++] = (struct nuc_plan_pair){storages[k], result, true};
        }
    }
    problem->pairs = pairs;
    if (problem->n_pairs == 0)
        return;
    struct nuc_plan plan = nuc_plan_memory(e->cx, problem);
    if (plan.size < e->plan.size)
        e->plan = plan;
    e->plan.bound = plan.bound;
    e->plan.proven = e->plan.size <= plan.bound;
}

static struct nuc_plan_range *storage_ranges(struct nuc_emission *e)
{
    struct nuc_plan_range *ranges = nuc_alloc_array(e->cx, e->n_storages, sizeof *ranges);

    for (size_t s = 0; s < e->n_storages; s++) {
        const struct nuc_emit_storage *storage = &e->storages[s];
        bool dead = storage->first > storage->last || storage->is_state;
        ranges[s] = (struct nuc_plan_range){.first = storage->first,
                                            .last = dead ? storage->first : storage->last,
                                            .size = dead ? 0 : storage->bytes,
                                            .alignment = ALIGNMENT};
    }
    return ranges;
}

/* ---- inputs and outputs of delegates inside their scratch ---- */

static void fix(struct nuc_plan_range *r, uint32_t place)
{
    r->fixed = true;
    r->address = place;
}

static const struct nuc_emit_value *input_value(const struct nuc_emission *e, const struct nuc_arg *inputs, uint32_t i)
{
    return &e->values[e->value_of[inputs->u.nodes[i]->id][0]];
}

/* The input begins where its storage does, and no other one lies in that: names of slices may. */
static bool has_own_storage(const struct nuc_emission *e, const struct nuc_arg *inputs, uint32_t i)
{
    const struct nuc_emit_value *v = input_value(e, inputs, i);

    for (uint32_t k = 0; k < inputs->count; k++) {
        if (k != i && input_value(e, inputs, k)->storage == v->storage)
            return false;
    }
    return v->offset == 0;
}

/*
 * The scratch of every delegate at address 0; an input that is read for the last time lies in its place inside, and is
 * part of the scratch during the call; so is an output, from the call on.
 */
static void fix_boundary(struct nuc_emission *e, uint32_t instruction, struct nuc_plan_range *ranges)
{
    const struct nuc_emit_instruction *in = &e->instructions[instruction];
    const struct nuc_delegate *d = e->delegates[in->index];
    const struct nuc_arg *inputs = &in->node->args[NUC_ARG(CALL_DELEGATE, inputs)];
    uint32_t step = instruction + 1;

    fix(&ranges[e->scratch_of[in->index]], 0);
    for (uint32_t i = 0; i < inputs->count; i++) {
        uint32_t s = input_value(e, inputs, i)->storage;
        if (s == NUC_NO_STORAGE || d->input_places[i] == UINT32_MAX || ranges[s].fixed || ranges[s].last != step ||
            e->storages[s].is_state || !has_own_storage(e, inputs, i))
            continue;
        fix(&ranges[s], d->input_places[i]);
        ranges[s].last = step - 1;
    }
    for (uint32_t i = 0; i < in->node->n_vals; i++) {
        uint32_t s = e->values[e->value_of[in->node->id][i]].storage;
        if (s == NUC_NO_STORAGE || d->output_places[i] == UINT32_MAX || ranges[s].fixed || ranges[s].first != step ||
            ranges[s].last == step || e->storages[s].is_state)
            continue;
        fix(&ranges[s], d->output_places[i]);
        ranges[s].first = step + 1;
    }
}

static bool any_clash(const struct nuc_plan_range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; ranges[i].fixed && k < i; k++) {
            if (nuc_plan_clash(&ranges[i], &ranges[k]))
                return true;
        }
    }
    return false;
}

/* False when there is nothing to gain, or when delegates expect one tensor in two places. */
static bool pool_boundaries(struct nuc_emission *e, struct nuc_plan_range *ranges)
{
    bool any = false;

    for (uint32_t i = 0; i < e->n_instructions; i++) {
        const struct nuc_emit_instruction *in = &e->instructions[i];
        if (!in->delegate || e->scratch_of[in->index] == NUC_NO_STORAGE || in->node == NULL ||
            e->delegates[in->index]->input_places == NULL || e->delegates[in->index]->output_places == NULL)
            continue;
        fix_boundary(e, i, ranges);
        any = true;
    }
    return any && !any_clash(ranges, e->n_storages);
}

/* Every storage that each instruction reads or writes. */
static void list_storages(struct nuc_emission *e)
{
    for (size_t i = 0; i < e->n_instructions; i++) {
        struct nuc_emit_instruction *in = &e->instructions[i];
        in->n_storages = 0;
        size_t most = (size_t)in->n_args + 1;
        for (uint32_t c = 0; c < in->n_args; c++)
            most += is_tensor_list(&e->values[in->args[c]]) ? e->values[in->args[c]].count : 0;
        in->storages = nuc_alloc_array(e->cx, most, sizeof *in->storages);
        for (uint32_t c = 0; c < in->n_args; c++) {
            const struct nuc_emit_value *v = &e->values[in->args[c]];
            add_storage(e, in, in->args[c]);
            for (uint32_t k = 0; is_tensor_list(v) && k < v->count; k++)
                add_storage(e, in, v->u.items[k]);
        }
        if (in->delegate && e->scratch_of != NULL && e->scratch_of[in->index] != NUC_NO_STORAGE)
            in->n_storages = nuc_plan_add_once(in->storages, in->n_storages, e->scratch_of[in->index]);
    }
}

/* ---- states ---- */

static bool touches(const struct nuc_emit_instruction *in, uint32_t storage)
{
    for (uint32_t k = 0; k < in->n_storages; k++) {
        if (in->storages[k] == storage)
            return true;
    }
    return false;
}

/*
 * The next value is computed where the state is when no instruction reads the state after the one that computes it
 * begins, but for that one where its kernel reads each element before it writes it, and nothing else becomes of it.
 */
static void write_in_place(struct nuc_emission *e, const struct nuc_emit_write *write, bool own_kernels)
{
    const struct nuc_emit_value *v = &e->values[write->value];
    const uint32_t state = e->values[write->state].storage, next = v->storage;
    uint32_t overlays[NUC_MOST_OVERLAYS], result, writer = UINT32_MAX, last = 0;

    if (next == NUC_NO_STORAGE || e->storages[next].is_state || e->storages[next].in_parts || v->offset != 0 ||
        e->storages[next].first == 0 || e->storages[next].bytes != e->storages[state].bytes)
        return;
    for (size_t i = 0; i < e->n_writes; i++) {
        const uint32_t s = e->values[e->writes[i].value].storage;
        /* Another state may take the old value, or the same one. */
        if (&e->writes[i] != write && (s == state || s == next))
            return;
    }
    for (size_t i = 0; i < e->n_outputs; i++) {
        if (e->values[e->outputs[i]].storage == state)
            return;
    }
    for (uint32_t i = 0; i < e->n_instructions; i++) {
        writer = writer == UINT32_MAX && touches(&e->instructions[i], next) ? i : writer;
        last = touches(&e->instructions[i], state) ? i + 1 : last;
    }
    bool overlays_it = false;
    if (writer != UINT32_MAX && last == writer + 1 && own_kernels) {
        uint32_t n = nuc_overlays(e, &e->instructions[writer], overlays, &result);
        for (uint32_t k = 0; k < n && result == next; k++)
            overlays_it |= overlays[k] == state;
    }
    if (writer == UINT32_MAX || (last > writer && !overlays_it))
        return;
    for (size_t i = 0; i < e->n_values; i++) {
        if (e->values[i].kind == NUC_EMIT_TENSOR && e->values[i].storage == next)
            e->values[i].storage = state;
    }
}

void nuc_plan_program(struct nuc_emission *e, const struct nuc_program_options *o)
{
    if (o->plan_delegate_scratch) {
        /* A storage for the scratch of each delegate. */
        e->scratch_of = nuc_alloc_array(e->cx, e->n_delegates, sizeof *e->scratch_of);
        for (size_t i = 0; i < e->n_delegates; i++) {
            const struct nuc_delegate *d = e->delegates[i];
            const char *what = nuc_format(e->cx, "scratch of %s", d->tag);
            e->scratch_of[i] =
                d->scratch_size == 0 ? NUC_NO_STORAGE : nuc_emit_storage(e, d->scratch_size, NULL, 0, what);
        }
    }
    list_storages(e);
    find_lifetimes(e, true);
    if (!o->keep_order) {
        order_instructions(e);
        find_lifetimes(e, true);
    }
    if (e->n_writes > 0) {
        for (size_t i = 0; i < e->n_writes; i++)
            write_in_place(e, &e->writes[i], o->in_place);
        nuc_emit_writes(e);
        list_storages(e);
        find_lifetimes(e, false);
    }
    struct nuc_plan_range *ranges = storage_ranges(e);
    struct nuc_plan_problem problem = {.ranges = ranges, .n = e->n_storages, .effort = o->plan_effort};
    e->ranges = ranges;
    e->plan = nuc_plan_memory(e->cx, &problem);
    if (o->in_place)
        plan_in_place(e, &problem);
    if (o->plan_delegate_scratch) {
        problem.ranges = ranges = storage_ranges(e);
        if (pool_boundaries(e, ranges)) {
            struct nuc_plan pooled = nuc_plan_memory(e->cx, &problem);
            e->ranges = pooled.size < e->plan.size ? ranges : e->ranges;
            e->plan = pooled.size < e->plan.size ? pooled : e->plan;
        }
    }
    e->n_memories = o->banks != NULL ? o->banks->n : 1;
    e->memories[0] = e->plan.size;
    for (size_t s = 0; s < e->n_storages; s++) {
        struct nuc_emit_storage *storage = &e->storages[s];
        storage->memory = storage->is_state ? e->n_memories + 1 : 1;
        storage->address = storage->is_state ? e->states_size : e->plan.addresses[s];
        if (storage->is_state)
            e->states_size = nuc_align_up((size_t)e->states_size + storage->bytes, ALIGNMENT);
    }
}
