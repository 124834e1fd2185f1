/*
 * Values that live from run to run: variable tensors, which recurrent operators read and write, and resource variables,
 * which VAR_HANDLE names. Both are states of the graph. One that nothing writes is a constant.
 */
#include <string.h>

#include "host/limits.h"
#include "ir/invariants.h"
#include "tflite_import.h"

struct nuc_ti_state {
    struct nuc_ti_state *next;
    uint32_t
        subgraph; /* of a variable tensor: where it is, and which; of an operator's own: minus 2, minus its index */
    int32_t tensor;
    const char *container, *name; /* of a resource variable, else NULL */
    struct nuc_node *node;        /* what a run begins with; NULL: nothing has read that */
    struct nuc_ti_value now;      /* what is read next */
    struct nuc_span first;        /* what CALL_ONCE assigns */
};

static struct nuc_ti_state *new_state(struct nuc_ti *ti, const struct nuc_ti_state *s)
{
    struct nuc_ti_state *copy = nuc_copy(ti->cx, s, sizeof *s);

    copy->next = *ti->states;
    *ti->states = copy;
    return copy;
}

static struct nuc_node *now(const struct nuc_ti_state *s)
{
    return s->now.nodes[s->now.form];
}

/* The placeholder, which is what the tensor says before the first run: zero, where nothing was assigned. */
static void begin(struct nuc_ti *ti, struct nuc_ti_state *s, const struct nuc_lt_tensor *t, const struct nuc_meta *meta,
                  enum nuc_ti_form form)
{
    if (!nuc_meta_is_valid(meta) || (uint64_t)nuc_elements(meta) * nuc_dtype_size(meta->dtype) > NUC_MAX_VALUE_BYTES)
        nuc_ti_fail(ti, "the state '%s' has no static sizes from 1, or more than %llu bytes", t->name,
                    (unsigned long long)NUC_MAX_VALUE_BYTES);
    const size_t size = nuc_bytes(meta);
    uint8_t *zeros = nuc_alloc(ti->cx, size + 1);
    if (s->first.data != NULL && s->first.size != size)
        nuc_ti_fail(ti, "the variable '%s' has %zu bytes, and begins with %zu", s->name, size, s->first.size);
    if (t->dtype == NUC_I8 && t->quant.count == 1)
        memset(zeros, (int)t->quant.zero_point[0], size);
    const char *name = s->name != NULL && *s->name != '\0' ? s->name : t->name;
    s->node = nuc_add_placeholder(ti->g, nuc_ti_identifier(ti->cx, name, "state"), NUC_STATE, meta);
    s->node->data = nuc_dense_data(ti->cx, meta, s->first.data != NULL ? s->first.data : zeros);
    s->node->target = s->node->name;
    s->now = (struct nuc_ti_value){.form = form};
    s->now.nodes[form] = s->node;
    s->now.ordered[form] = true;
}

/* ---- variable tensors ---- */

/* That of a tensor of this subgraph, or of an operator: see struct nuc_ti_state. */
static struct nuc_ti_state *state_of(struct nuc_ti *ti, int32_t tensor)
{
    for (struct nuc_ti_state *s = *ti->states; s != NULL; s = s->next) {
        if (s->name == NULL && s->subgraph == ti->subgraph && s->tensor == tensor)
            return s;
    }
    return new_state(ti, &(struct nuc_ti_state){.subgraph = ti->subgraph, .tensor = tensor});
}

struct nuc_node *nuc_ti_state(struct nuc_ti *ti, uint32_t i, const int64_t *sizes, uint32_t rank)
{
    const struct nuc_lt_tensor *t = nuc_ti_in(ti, i);
    const struct nuc_meta meta = nuc_meta_make(t->dtype, sizes, rank);
    struct nuc_ti_state *s = state_of(ti, ti->op->inputs[i]);

    if (!t->is_variable || t->data.data != NULL || !nuc_meta_is_valid(&meta) ||
        nuc_lt_elements(t) != nuc_elements(&meta))
        nuc_ti_fail(ti, "state '%s' must be a variable of the sizes %s that begins with zeros", t->name,
                    nuc_meta_text(ti->cx, &meta));
    if (now(s) == NULL)
        begin(ti, s, t, &meta, NUC_TI_PLAIN);
    if (!nuc_same_sizes(&now(s)->vals[0], &meta))
        nuc_ti_fail(ti, "state '%s' has other sizes for another operator", t->name);
    return now(s);
}

void nuc_ti_set_state(struct nuc_ti *ti, uint32_t i, struct nuc_node *next)
{
    state_of(ti, ti->op->inputs[i])->now = (struct nuc_ti_value){.nodes[NUC_TI_PLAIN] = next, .form = NUC_TI_PLAIN};
}

/* ---- states of operators ---- */

static struct nuc_ti_state *own_state(struct nuc_ti *ti)
{
    return state_of(ti, -2 - (int32_t)ti->index);
}

struct nuc_node *nuc_ti_own_state(struct nuc_ti *ti, const char *name, const struct nuc_meta *meta)
{
    struct nuc_ti_state *s = own_state(ti);

    begin(ti, s, &(struct nuc_lt_tensor){.name = name, .dtype = meta->dtype}, meta, NUC_TI_PLAIN);
    return s->node;
}

void nuc_ti_set_own_state(struct nuc_ti *ti, struct nuc_node *next)
{
    own_state(ti)->now = (struct nuc_ti_value){.nodes[NUC_TI_PLAIN] = next, .form = NUC_TI_PLAIN};
}

/* ---- resource variables ---- */

void nuc_ti_var_handle(struct nuc_ti *ti)
{
    const union nuc_lt_options *o = &ti->op->options;
    const char *container = o->variable.container != NULL ? o->variable.container : "";
    const char *name = o->variable.name != NULL ? o->variable.name : "";
    struct nuc_ti_state *s = *ti->states;

    while (s != NULL && (s->name == NULL || strcmp(s->name, name) != 0 || strcmp(s->container, container) != 0))
        s = s->next;
    if (s == NULL)
        s = new_state(ti, &(struct nuc_ti_state){.container = container, .name = name});
    ti->values[ti->op->outputs[0]].variable = s;
}

static struct nuc_ti_state *variable(const struct nuc_ti *ti)
{
    struct nuc_ti_state *s = nuc_ti_in(ti, 0)->is_resource ? ti->values[ti->op->inputs[0]].variable : NULL;

    if (s == NULL)
        nuc_ti_fail(ti, "operand 0 is no handle that VAR_HANDLE makes in this model");
    return s;
}

void nuc_ti_read_variable(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *y = nuc_ti_out(ti);
    const struct nuc_meta own = nuc_ti_meta(y, nuc_ti_own_form(y));
    struct nuc_ti_state *s = variable(ti);

    if (now(s) == NULL)
        begin(ti, s, y, &own, nuc_ti_own_form(y));
    const struct nuc_meta stated = nuc_ti_meta(y, s->now.form), *held = &now(s)->vals[0];
    if (held->dtype != y->dtype || !nuc_same_sizes(held, &stated))
        nuc_ti_fail(ti, "reads '%s' as %s, which is %s", s->name, nuc_meta_text(ti->cx, &stated),
                    nuc_meta_text(ti->cx, held));
    ti->values[ti->op->outputs[0]] = s->now;
}

void nuc_ti_assign_variable(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 1);
    struct nuc_ti_state *s = variable(ti);

    if (ti->is_first && (x->data.data == NULL || nuc_ti_held(x) == 0))
        nuc_ti_fail(ti, "what '%s' begins with is computed: make it a constant in the model", s->name);
    if (ti->is_first && now(s) != NULL)
        nuc_ti_fail(ti, "'%s' is read before CALL_ONCE: let the model begin with that", s->name);
    if (ti->is_first) {
        s->first = x->data;
        return;
    }
    const enum nuc_ti_form form =
        s->node != NULL ? (s->node->vals[0].rank == 4 ? NUC_TI_IMAGE : NUC_TI_PLAIN) : nuc_ti_form_of(ti, 1);
    struct nuc_node *real = nuc_ti_real(ti, 1, form);
    struct nuc_ti_value next = ti->values[ti->op->inputs[1]];
    if (next.nodes[form] == NULL) {
        next.nodes[form] =
            nuc_ti_is_quantized(x) ? nuc_ti_quantize(ti, real, x) : nuc_ti_emit(ti, NUC_OP_CLONE, NUC_ARGS(real));
        next.ordered[form] = false;
    }
    next.form = form;
    const struct nuc_meta *given = &next.nodes[form]->vals[0], *held = s->node == NULL ? given : &s->node->vals[0];
    if (given->dtype != held->dtype || !nuc_same_sizes(given, held))
        nuc_ti_fail(ti, "assigns %s to '%s', which is %s", nuc_meta_text(ti->cx, given), s->name,
                    nuc_meta_text(ti->cx, held));
    s->now = next;
}

/* ---- what the states become ---- */

uint32_t nuc_ti_return_states(struct nuc_ti *ti, struct nuc_node **values, uint32_t count)
{
    for (struct nuc_node *n = ti->g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        struct nuc_ti_state *s = *ti->states;
        while (s != NULL && s->node != n)
            s = s->next;
        if (s != NULL && now(s) == n)
            n->input_kind = NUC_BUFFER;
        else if (s != NULL)
            values[count++] = now(s);
    }
    return count;
}
