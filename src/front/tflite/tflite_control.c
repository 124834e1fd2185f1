/* IF and WHILE whose conditions are constants, and CALL_ONCE: what they lead to, inlined. */
#include "tflite_import.h"

#define MOST_DEPTH 8           /* of subgraphs in each other */
#define MOST_INLINED (1 << 16) /* operators and tensors of a model, each iteration of a loop counted */

/* Tensor `to` of one subgraph is `from` of another, by its own name. */
static void pass_on(const struct nuc_ti *source, int32_t from, struct nuc_ti *target, int32_t to)
{
    const char *name = target->tensors[to].name;

    target->tensors[to] = source->tensors[from];
    target->tensors[to].name = name;
    target->values[to] = source->values[from];
    if (target->was_uint8 != NULL)
        target->was_uint8[to] = source->was_uint8[from];
}

struct inlined {
    struct nuc_ti ti;
    struct nuc_lt_subgraph s;
};

/* The subgraph over these tensors of `from`. */
static struct inlined *inline_subgraph(struct nuc_ti *ti, int32_t index, const struct nuc_ti *from,
                                       const int32_t *operands, uint32_t n_operands)
{
    struct inlined *in = nuc_alloc(ti->cx, sizeof *in);

    if (index < 0 || (uint32_t)index >= ti->m->n_subgraphs || ti->depth == MOST_DEPTH)
        nuc_ti_fail(ti, "has subgraph %d: %u are there, at most %d in each other", (int)index, ti->m->n_subgraphs,
                    MOST_DEPTH);
    in->s = ti->m->subgraphs[index];
    /* One more, for loops of nothing. */
    const uint64_t size = 1 + (uint64_t)in->s.n_ops + in->s.n_tensors;
    if (in->s.n_inputs != n_operands)
        nuc_ti_fail(ti, "has %u operands for %u inputs of its subgraph", n_operands, in->s.n_inputs);
    if (size > MOST_INLINED - *ti->n_inlined)
        nuc_ti_fail(ti, "goes on for more than %d operators and tensors, which are not inlined", MOST_INLINED);
    *ti->n_inlined += (uint32_t)size;
    in->ti = *ti;
    in->ti.depth++;
    in->ti.s = &in->s;
    in->ti.subgraph = (uint32_t)index;
    nuc_ti_prepare(&in->ti, &in->s);
    for (uint32_t i = 0; i < n_operands; i++) {
        if (operands[i] < 0)
            nuc_ti_fail(ti, "operand %u is missing", i);
        pass_on(from, operands[i], &in->ti, in->s.inputs[i]);
    }
    for (uint32_t i = 0; i < in->s.n_ops; i++)
        nuc_ti_import_operator(&in->ti, i);
    return in;
}

static void take_results(struct nuc_ti *ti, const struct nuc_ti *from, const int32_t *results, uint32_t n_results)
{
    if (n_results != ti->op->n_outputs)
        nuc_ti_fail(ti, "has %u results, its subgraph %u", ti->op->n_outputs, n_results);
    for (uint32_t i = 0; i < n_results; i++)
        pass_on(from, results[i], ti, ti->op->outputs[i]);
}

static bool truth_of(const struct nuc_ti *ti, const struct nuc_lt_tensor *t)
{
    if (t->dtype != NUC_BOOL || t->data.data == NULL || nuc_ti_held(t) != 1)
        nuc_ti_fail(ti, "its condition is computed from inputs of the model: only one that follows from constants is "
                        "handled, write a choice as SELECT_V2");
    return t->data.data[0] != 0;
}

void nuc_ti_choice(struct nuc_ti *ti)
{
    const union nuc_lt_options *o = &ti->op->options;
    int32_t chosen = truth_of(ti, nuc_ti_in(ti, 0)) ? o->subgraphs.first : o->subgraphs.second;
    const struct inlined *in = inline_subgraph(ti, chosen, ti, ti->op->inputs + 1, ti->op->n_inputs - 1);

    take_results(ti, &in->ti, in->s.outputs, in->s.n_outputs);
}

/* Its constants are what variables begin with. */
void nuc_ti_call_once(struct nuc_ti *ti)
{
    const bool was_first = ti->is_first;

    ti->is_first = true;
    inline_subgraph(ti, ti->op->options.subgraphs.first, ti, NULL, 0);
    ti->is_first = was_first;
}

/* The values of one iteration are the operands of the next. */
void nuc_ti_loop(struct nuc_ti *ti)
{
    const union nuc_lt_options *o = &ti->op->options;
    const struct nuc_ti *from = ti;
    const int32_t *values = ti->op->inputs;
    uint32_t count = ti->op->n_inputs;

    for (;;) {
        const struct inlined *condition = inline_subgraph(ti, o->subgraphs.first, from, values, count);
        if (condition->s.n_outputs != 1)
            nuc_ti_fail(ti, "has a condition of %u results", condition->s.n_outputs);
        if (!truth_of(ti, &condition->ti.tensors[condition->s.outputs[0]]))
            break;
        const struct inlined *body = inline_subgraph(ti, o->subgraphs.second, from, values, count);
        from = &body->ti;
        values = body->s.outputs;
        count = body->s.n_outputs;
    }
    take_results(ti, from, values, count);
}
