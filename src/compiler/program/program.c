#include "compiler/program/program.h"

#include "compiler/program/emit.h"
#include "compiler/program/legalize.h"
#include "compiler/program/sink.h"

static void report_tensors(const struct nuc_emission *e, struct nuc_program_memory_report *out)
{
    struct nuc_planned *tensors = nuc_alloc_array(e->cx, e->n_storages, sizeof *tensors);

    out->n_tensors = 0;
    for (size_t i = 0; i < e->n_storages; i++) {
        const struct nuc_emit_storage *s = &e->storages[i];
        if (s->bytes > 0 && s->first <= s->last)
            tensors[out->n_tensors++] =
                (struct nuc_planned){s->name, s->bytes, (uint64_t)s->address, s->first, s->last};
    }
    out->tensors = tensors;
}

static void report(const struct nuc_emission *e, struct nuc_program_memory_report *out)
{
    out->planned = e->plan.size;
    out->lower_bound = e->plan.bound;
    out->proven = e->plan.proven;
    out->method = e->plan.method;
    out->n_values = e->n_values;
    out->n_instructions = e->n_instructions;
    out->constants = 0;
    report_tensors(e, out);
    for (size_t i = 1; i < e->n_constants; i++)
        out->constants = nuc_align_up(out->constants, 16) + e->constants[i].size;
}

static struct nuc_emission *emit(struct nuc_graph *g, const struct nuc_program_options *o)
{
    nuc_legalize_dim_orders(g, o->keep_order);
    if (!o->keep_order)
        nuc_sink_constant_operators(g);
    return nuc_emit_graph(g, o);
}

size_t nuc_plan_graph(struct nuc_graph *g, const struct nuc_program_options *o)
{
    return emit(g, o)->plan.size;
}

struct nuc_span nuc_write_program(struct nuc_graph *g, const struct nuc_program_options *o)
{
    struct nuc_emission *e = emit(g, o);

    if (o->report != NULL)
        report(e, o->report);
    return nuc_serialize(e, o);
}
