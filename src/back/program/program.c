#include "back/program/program.h"

#include "back/program/emit.h"
#include "back/program/legalize.h"
#include "ir/labels.h"

static const char *label_of(struct nuc_context *cx, const struct nuc_labels *labels, const struct nuc_emit_storage *s)
{
    if (s->node == NULL)
        return s->form;
    const char *label = nuc_label_of_result(cx, labels, s->node, s->result);
    return s->form != NULL ? nuc_format(cx, "%s (%s)", label, s->form) : label;
}

/* Bytes as a size_t, the largest one where that of the host has not as many bits. */
static size_t as_size(uint64_t bytes)
{
    return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

static void report(const struct nuc_emission *e, struct nuc_program_memory_report *out)
{
    uint64_t planned = e->states_size;

    for (uint32_t i = 0; i < e->n_memories; i++)
        planned += e->memories[i];
    out->planned = as_size(planned);
    out->lower_bound = as_size(e->plan.bound);
    out->proven = e->plan.proven;
    out->method = e->plan.method;
    out->n_values = e->n_values;
    out->n_instructions = e->n_instructions;
    const struct nuc_node **nodes = nuc_alloc_array(e->cx, e->n_instructions, sizeof(struct nuc_node *));
    for (size_t i = 0; i < e->n_instructions; i++)
        nodes[i] = e->instructions[i].node;
    out->nodes = nodes;
    out->constants = 0;
    const struct nuc_labels labels = nuc_label_graph(e->g);
    struct nuc_planned *tensors = nuc_alloc_array(e->cx, e->n_storages, sizeof *tensors);
    uint32_t *memories = nuc_alloc_array(e->cx, e->n_storages, sizeof *memories);
    /* By storage: 1 + id of the first node whose value lies in it; of views that is what they view. */
    uint32_t *owners = nuc_alloc_array(e->cx, e->n_storages + 1, sizeof *owners);
    for (const struct nuc_node *n = e->g->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; e->value_of[n->id] != NULL && n->op != NUC_OP_CALL_DELEGATE && i < n->n_vals; i++) {
            uint32_t storage = e->values[e->value_of[n->id][i]].storage;
            if (storage != NUC_NO_STORAGE && owners[storage] == 0)
                owners[storage] = n->id + 1;
        }
    }
    out->n_tensors = 0;
    for (size_t i = 0; i < e->n_storages; i++) {
        const struct nuc_emit_storage *s = &e->storages[i];
        if (s->bytes == 0 || s->first > s->last)
            continue;
        memories[out->n_tensors] = s->memory;
        tensors[out->n_tensors++] = (struct nuc_planned){
            label_of(e->cx, &labels, s), s->bytes, (uint64_t)s->address, s->first, s->last, owners[i]};
    }
    out->tensors = tensors;
    out->memories = memories;
    for (size_t i = 1; i < e->n_constants; i++)
        out->constants = nuc_align_up(out->constants, 16) + e->constants[i].size;
}

#define MOST_FOR_NAMES 50 /* 2 % */

static struct nuc_emission *planned(struct nuc_graph *g, const struct nuc_program_options *o, bool names_rows)
{
    struct nuc_emission *e = nuc_emit_graph(g, o->keep_order, names_rows);

    nuc_plan_program(e, o);
    return e;
}

static void settle(struct nuc_graph *g, const struct nuc_program_options *o)
{
    nuc_legalize_dim_orders(g, o->keep_order);
    nuc_settle_states(g);
    if (!o->keep_order)
        nuc_sink_constant_operators(g);
}

static struct nuc_emission *emit(struct nuc_graph *g, const struct nuc_program_options *o)
{
    struct nuc_emission *e = planned(g, o, !o->keep_order);
    if (e->n_named_rows > 0) {
        /* A name keeps all of what it is a part of: not where that takes noticeably more memory. */
        struct nuc_program_options quick = *o;
        quick.plan_effort = 1 << 16;
        const struct nuc_emission *copies = planned(g, &quick, false);
        if (e->plan.size > copies->plan.size + copies->plan.size / MOST_FOR_NAMES)
            e = planned(g, o, false);
    }
    if (o->banks != NULL && !nuc_place_in_banks(e, o, e->n_named_rows == 0)) {
        struct nuc_emission *copies = planned(g, o, false);
        if (nuc_place_in_banks(copies, o, false))
            return copies;
        nuc_place_in_banks(e, o, true);
    }
    return e;
}

size_t nuc_plan_graph(struct nuc_graph *g, const struct nuc_program_options *o)
{
    settle(g, o);
    const struct nuc_emission *e = emit(g, o);

    return as_size(e->plan.size + e->states_size);
}

struct nuc_span nuc_write_program(struct nuc_graph *g, const struct nuc_program_options *o)
{
    settle(g, o);
    /* Many times the program. Of banks the report keeps more. */
    struct nuc_sub_arena *sub = o->banks == NULL ? nuc_enter_sub_arena(g->cx) : NULL;
    struct nuc_emission *e = emit(g, o);

    if (sub != NULL)
        nuc_leave_sub_arena(g->cx, sub);
    if (o->report != NULL)
        report(e, o->report);
    struct nuc_span program = nuc_serialize(e, o);
    nuc_free_sub_arena(sub);
    return program;
}
