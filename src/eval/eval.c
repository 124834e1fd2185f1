/* Planning and running: values, live ranges, the arena, the loop over the nodes. */
#include "eval/eval.h"

#include <string.h>

#include "algorithms/plan.h"
#include "eval/eval_call.h"
#include "ir/quant.h"

#define ALIGNMENT 64u

/* One node in execution order. */
struct step {
    const struct nuc_node *node;
    struct nuc_eval_call *call; /* NULL when there is nothing to compute in a run: placeholder, view, constant */
    uint32_t then;              /* the step that is computed with this one; 0: none */
    bool follows;               /* it is computed with one before it */
};

struct nuc_evaluator {
    struct nuc_context *cx;
    struct nuc_graph *g;
    struct nuc_pool *pool;
    uint32_t *first_slots; /* by node id */
    struct nuc_eval_value *values;
    uint32_t n_values;
    struct step *steps;
    uint32_t n_steps;
    uint32_t *inputs, *outputs; /* slots */
    size_t n_inputs, n_outputs;
    struct nuc_eval_refusal refusal;
    uint8_t *arena; /* of whole runs */
    size_t arena_size;
    struct nuc_rounding *roundings; /* by node id; NULL: pairs of quantize and dequantize nodes are what they are */
    bool *taken;                    /* the same: of another graph, nuc_eval_take_biases() */
    const bool *seen;               /* by node id: may be looked at; NULL: all */
    bool branches;                  /* steps are run again from quantize nodes on */
    nuc_eval_observer observer;
    void *observer_user;
};

/* ---- binding nodes to values ---- */

static struct nuc_eval_value *value_of(struct nuc_evaluator *e, const struct nuc_node *node, uint32_t val)
{
    return &e->values[e->first_slots[node->id] + val];
}

static void add_values(struct nuc_evaluator *e, const struct nuc_node *node)
{
    e->first_slots[node->id] = e->n_values;
    for (uint32_t v = 0; v < node->n_vals; v++) {
        uint32_t slot = e->n_values++;
        e->values[slot] =
            (struct nuc_eval_value){.node = node, .index = v, .root = slot, .bytes = nuc_bytes(&node->vals[v])};
    }
}

static uint32_t slot_of(const struct nuc_evaluator *e, const struct nuc_node *in)
{
    return in == NULL || in->n_vals == 0 ? NUC_NO_SLOT : e->first_slots[in->id];
}

static struct nuc_eval_call *bind(struct nuc_evaluator *e, const struct nuc_node *node)
{
    struct nuc_eval_call *c = nuc_alloc(e->cx, sizeof *c);
    uint32_t *slots = nuc_alloc_array(e->cx, node->n_args, sizeof *slots);
    const uint32_t **lists = nuc_alloc_array(e->cx, node->n_args, sizeof *lists);

    for (uint32_t i = 0; i < node->n_args; i++) {
        const struct nuc_arg *arg = &node->args[i];
        slots[i] = slot_of(e, nuc_arg_node(node, i));
        if (arg->kind != NUC_ARG_NODES)
            continue;
        uint32_t *list = nuc_alloc_array(e->cx, (size_t)arg->count + 1, sizeof *list);
        for (uint32_t k = 0; k < arg->count; k++)
            list[k] = slot_of(e, arg->u.nodes[k]);
        lists[i] = list;
    }
    *c = (struct nuc_eval_call){.cx = e->cx,
                                .g = e->g,
                                .pool = e->pool,
                                .node = node,
                                .op = nuc_eval_find(node->op),
                                .values = e->values,
                                .in_slots = slots,
                                .list_slots = lists,
                                .out_slot = e->first_slots[node->id],
                                .refusal = &e->refusal,
                                .out = nuc_alloc_array(e->cx, node->n_vals, sizeof(void *))};
    return c;
}

static bool is_constant_slot(const struct nuc_eval_call *c, uint32_t slot)
{
    return slot == NUC_NO_SLOT || c->values[slot].constant;
}

/* The value becomes the memory of its first argument; of the selected element for a getitem. */
static void bind_view(struct nuc_eval_call *c)
{
    struct nuc_eval_value *value = &c->values[c->out_slot];
    const struct nuc_node *in = nuc_arg_node(c->node, NUC_SELF);
    int64_t index = c->node->op == NUC_OP_GETITEM ? nuc_integer(c->node, NUC_ARG(GETITEM, index), 0) : 0;

    if (in == NULL || index < 0 || index >= (int64_t)in->n_vals || c->node->n_vals != 1)
        nuc_eval_fail(c, "it reads nothing that it could show");
    uint32_t slot = c->in_slots[NUC_SELF] + (uint32_t)index;
    if (c->values[slot].bytes != value->bytes || in->vals[index].dtype != c->node->vals[0].dtype)
        nuc_eval_fail(c, "%s cannot be seen as %s", nuc_meta_text(c->cx, &in->vals[index]),
                      nuc_meta_text(c->cx, &c->node->vals[0]));
    value->root = c->values[slot].root;
    value->constant = c->values[slot].constant;
}

/* ---- pairs of quantize and dequantize nodes as roundings ---- */

/* Nobody looks at the integers. */
static bool is_rounding(const struct nuc_evaluator *e, const struct nuc_node *node)
{
    const struct nuc_node *in = nuc_arg_node(node, NUC_SELF);

    if (e->roundings == NULL || node->op != NUC_OP_QUANTIZE_PER_TENSOR || in == NULL || node->n_users == 0 ||
        e->values[e->first_slots[in->id]].constant)
        return false;
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (node->users[i]->op != NUC_OP_DEQUANTIZE_PER_TENSOR)
            return false;
    }
    return true;
}

/* ---- calls ---- */

static size_t scratch_of(const struct nuc_eval_call *c, unsigned threads)
{
    return threads * c->room_size + c->scratch_size;
}

/* Returns the call when it has to be computed in every run. */
static struct nuc_eval_call *plan_call(struct nuc_evaluator *e, const struct nuc_node *node)
{
    if (is_rounding(e, node)) {
        /* In place of the integers there are the values that they stand for. */
        struct nuc_eval_call *i = bind(e, node);
        value_of(e, node, 0)->bytes = (size_t)nuc_elements(&node->vals[0]) * sizeof(float);
        i->op = &nuc_eval_rounding;
        i->state = &e->roundings[node->id];
        i->shows = e->branches;
        return i;
    }
    const struct nuc_node *in = nuc_arg_node(node, NUC_SELF);
    if (node->op == NUC_OP_DEQUANTIZE_PER_TENSOR && in != NULL && is_rounding(e, in)) {
        value_of(e, node, 0)->root = e->values[slot_of(e, nuc_arg_node(node, NUC_SELF))].root;
        return NULL;
    }
    struct nuc_eval_call *c = bind(e, node);
    const struct nuc_eval_op *op = c->op;

    if (op == NULL)
        nuc_eval_fail(c, "the evaluator does not know the operator");
    if (op->is_view != NULL && op->is_view(node)) {
        bind_view(c);
        return NULL;
    }
    if (op->prepare != NULL)
        op->prepare(c);
    for (uint32_t i = 0; i < c->node->n_args; i++) {
        if (!is_constant_slot(c, c->in_slots[i]))
            return c;
        for (uint32_t k = 0; k < nuc_eval_list_count(c, i); k++) {
            if (!is_constant_slot(c, c->list_slots[i][k]))
                return c;
        }
    }
    /* Memory that outlives every run. */
    for (uint32_t v = 0; v < c->node->n_vals; v++) {
        struct nuc_eval_value *value = &c->values[c->out_slot + v];
        c->out[v] = nuc_alloc_unset(c->cx, c->cx->arena, value->bytes);
        value->data = c->out[v];
        value->constant = true;
    }
    struct nuc_arena *outer = nuc_push_arena(c->cx);
    c->scratch = nuc_alloc_unset(c->cx, c->cx->arena, scratch_of(c, nuc_pool_threads(c->pool)));
    c->op->run(c);
    nuc_eval_check(e, "");
    nuc_pop_arena(c->cx, outer);
    return NULL;
}

static void plan_placeholder(struct nuc_evaluator *e, const struct nuc_node *node)
{
    struct nuc_eval_value *value = value_of(e, node, 0);

    if (nuc_is_static(node)) {
        value->constant = true;
        value->data = nuc_const_contiguous(e->g, node);
    } else {
        value->user_input = true;
        e->inputs[e->n_inputs++] = e->first_slots[node->id];
    }
}

/* ---- steps that are computed together ---- */

/* The step that computes a function of every float of `node` and is the only one that reads it; 0: there is none. */
static uint32_t next_step(const struct nuc_evaluator *e, const struct nuc_node *node, const uint32_t *steps)
{
    if (e->seen[node->id] || node->n_vals != 1 || node->n_users != 1)
        return 0;
    uint32_t next = steps[node->users[0]->id];
    const struct nuc_eval_call *c = e->steps[next].call;
    bool applies = c != NULL && c->op->apply != NULL && (c->op->applies == NULL || c->op->applies(c)) &&
                   c->in_slots[NUC_SELF] == e->first_slots[node->id];

    return applies && nuc_elements(&c->node->vals[0]) == nuc_elements(&node->vals[0]) ? next : 0;
}

/* All results of a chain are the memory of the last one. */
static void join_steps(struct nuc_evaluator *e)
{
    struct nuc_arena *outer = nuc_push_arena(e->cx);
    uint32_t *steps = nuc_alloc_array(e->cx, e->g->next_id, sizeof *steps);

    for (uint32_t s = 0; s < e->n_steps; s++)
        steps[e->steps[s].node->id] = s;
    for (uint32_t s = 0; s < e->n_steps; s++) {
        uint32_t last = s;
        if (e->steps[s].call == NULL || e->steps[s].follows || !e->steps[s].call->op->finishes)
            continue;
        for (uint32_t next; (next = next_step(e, e->steps[last].node, steps)) != 0; last = next) {
            e->steps[last].then = next;
            e->steps[last].call->then = e->steps[next].call;
            e->steps[next].follows = true;
        }
        for (uint32_t k = s; k != last; k = e->steps[k].then)
            value_of(e, e->steps[k].node, 0)->root = e->first_slots[e->steps[last].node->id];
    }
    nuc_pop_arena(e->cx, outer);
}

/* ---- live ranges and the arena ---- */

static void use(struct nuc_evaluator *e, uint32_t slot, uint32_t step)
{
    if (slot == NUC_NO_SLOT)
        return;
    struct nuc_eval_value *root = &e->values[e->values[slot].root];
    if (root->last_use < step)
        root->last_use = step;
}

static void use_inputs(struct nuc_evaluator *e, const struct nuc_eval_call *c, uint32_t step)
{
    for (uint32_t i = 0; i < c->node->n_args; i++) {
        use(e, c->in_slots[i], step);
        for (uint32_t k = 0; k < nuc_eval_list_count(c, i); k++)
            use(e, c->list_slots[i][k], step);
    }
}

/* Whether the value needs room in the arena. */
static bool is_activation(const struct nuc_evaluator *e, uint32_t slot)
{
    const struct nuc_eval_value *v = &e->values[slot];

    return v->root == slot && !v->constant && !v->user_input;
}

/* Addresses are those of the best greedy order: the search for better ones takes longer than an inference or two. */
static void plan_arena(struct nuc_evaluator *e)
{
    struct nuc_arena *outer = nuc_push_arena(e->cx);
    struct nuc_plan_range *ranges = nuc_alloc_array(e->cx, e->n_values, sizeof *ranges);

    for (uint32_t s = 0; s < e->n_steps; s++) {
        const struct nuc_node *node = e->steps[s].node;
        for (uint32_t slot = e->first_slots[node->id]; slot < e->first_slots[node->id] + node->n_vals; slot++)
            ranges[slot] = (struct nuc_plan_range){.first = s,
                                                   .last = is_activation(e, slot) ? e->values[slot].last_use : s,
                                                   .size = is_activation(e, slot) ? e->values[slot].bytes : 0,
                                                   .alignment = ALIGNMENT};
    }
    for (uint32_t s = 0; s < e->n_steps; s++) {
        for (uint32_t k = e->steps[s].follows ? 0 : e->steps[s].then; k != 0; k = e->steps[k].then)
            ranges[e->first_slots[e->steps[k].node->id]].first = s;
    }
    struct nuc_plan plan =
        nuc_plan_memory(e->cx, &(struct nuc_plan_problem){.ranges = ranges, .n = e->n_values, .effort = 1});
    for (uint32_t slot = 0; slot < e->n_values; slot++)
        e->values[slot].offset = (size_t)plan.addresses[slot];
    e->arena_size = (size_t)plan.size;
    nuc_pop_arena(e->cx, outer);
}

static size_t most_scratch(const struct nuc_evaluator *e, unsigned threads)
{
    size_t most = 0;

    for (uint32_t s = 0; s < e->n_steps; s++) {
        const size_t size = e->steps[s].call == NULL ? 0 : scratch_of(e->steps[s].call, threads);
        most = size > most ? size : most;
    }
    return most;
}

/* Gives activations and scratch their memory. */
static void assign_memory(struct nuc_evaluator *e)
{
    void *scratch = nuc_alloc_unset(e->cx, e->cx->arena, most_scratch(e, nuc_pool_threads(e->pool)));
    e->arena = nuc_alloc_unset(e->cx, e->cx->arena, e->arena_size);
    for (uint32_t slot = 0; slot < e->n_values; slot++) {
        if (is_activation(e, slot))
            e->values[slot].data = e->arena + e->values[slot].offset;
    }
    for (uint32_t s = 0; s < e->n_steps; s++) {
        struct nuc_eval_call *c = e->steps[s].call;
        for (uint32_t v = 0; c != NULL && v < c->node->n_vals; v++)
            c->out[v] = e->arena + e->values[e->values[c->out_slot + v].root].offset;
        if (c != NULL)
            c->scratch = scratch;
    }
}

/* ---- interface ---- */

static struct nuc_evaluator *new_evaluator(struct nuc_graph *g, unsigned threads, size_t max_values)
{
    struct nuc_evaluator *e = nuc_alloc(g->cx, sizeof *e);

    e->cx = g->cx;
    e->g = g;
    e->pool = nuc_pool_new(g->cx, threads);
    /* Nodes that are added set theirs: a constant is of few of many. */
    e->first_slots = nuc_alloc_unset(g->cx, g->cx->arena, (size_t)g->next_id * sizeof *e->first_slots);
    e->values = nuc_alloc_array(g->cx, max_values, sizeof *e->values);
    return e;
}

/* holds: every value has memory of its own. seen: NULL: all. */
static struct nuc_evaluator *plan_graph(struct nuc_graph *g, unsigned threads, bool adjustable, bool holds,
                                        const struct nuc_node *const *kept, size_t n_kept, const bool *seen)
{
    size_t n_values = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        n_values += n->n_vals;
    struct nuc_evaluator *e = new_evaluator(g, threads, n_values);
    if (adjustable) {
        e->roundings = nuc_alloc_array(e->cx, g->next_id, sizeof *e->roundings);
        e->taken = nuc_alloc_array(e->cx, g->next_id, sizeof *e->taken);
    }
    e->branches = holds && seen != NULL;
    e->steps = nuc_alloc_array(e->cx, g->n_nodes, sizeof *e->steps);
    e->inputs = nuc_alloc_array(e->cx, g->n_nodes, sizeof *e->inputs);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct step *step = &e->steps[e->n_steps++];
        step->node = n;
        add_values(e, n);
        if (n->op == NUC_OP_PLACEHOLDER) {
            plan_placeholder(e, n);
        } else if (n->op == NUC_OP_OUTPUT) {
            const struct nuc_arg *list = nuc_arg_at(n, NUC_ARG(OUTPUT, values));
            e->outputs = nuc_alloc_array(e->cx, list->count, sizeof *e->outputs);
            for (uint32_t i = 0; i < list->count; i++) {
                uint32_t slot = e->first_slots[list->u.nodes[i]->id];
                e->outputs[e->n_outputs++] = slot;
                e->values[e->values[slot].root].last_use = e->n_steps - 1; /* the output is the last step */
            }
        } else {
            step->call = plan_call(e, n);
        }
    }
    e->seen = seen;
    if (seen != NULL)
        join_steps(e);
    /* What the caller gives comes first, then the states. */
    size_t n_given = 0;
    for (int states = 0; states < 2; states++) {
        for (const struct nuc_node *n = g->first; nuc_is_placeholder(n); n = n->next) {
            if (states != 0 ? nuc_is_state(n) : nuc_is_user_input(n))
                e->inputs[n_given++] = e->first_slots[n->id];
        }
    }
    /* A value is used by what computes and by the observer, which sees views too. */
    for (uint32_t s = 0; s < e->n_steps; s++) {
        if (e->steps[s].call != NULL)
            use_inputs(e, e->steps[s].call, s);
        for (uint32_t v = 0; v < e->steps[s].node->n_vals; v++)
            use(e, e->first_slots[e->steps[s].node->id] + v, s);
    }
    for (size_t i = 0; i < n_kept; i++)
        use(e, e->first_slots[kept[i]->id], e->n_steps - 1);
    if (holds) {
        for (uint32_t slot = 0; slot < e->n_values; slot++) {
            if (!is_activation(e, slot))
                continue;
            e->values[slot].offset = e->arena_size;
            e->arena_size = nuc_align_up(e->arena_size + e->values[slot].bytes, ALIGNMENT);
        }
    } else
        plan_arena(e);
    assign_memory(e);
    return e;
}

struct nuc_evaluator *nuc_eval_new(struct nuc_graph *g, unsigned threads)
{
    return plan_graph(g, threads, false, false, NULL, 0, NULL);
}

struct nuc_evaluator *nuc_eval_new_observed(struct nuc_graph *g, unsigned threads, const bool *seen)
{
    const bool *none = nuc_alloc_array(g->cx, g->next_id, sizeof *none);

    return plan_graph(g, threads, false, false, NULL, 0, seen == NULL ? none : seen);
}

struct nuc_evaluator *nuc_eval_new_adjustable(struct nuc_graph *g, unsigned threads, const struct nuc_node *const *kept,
                                              size_t n_kept, bool branches)
{
    bool *seen = kept == NULL ? NULL : nuc_alloc_array(g->cx, g->next_id, sizeof *seen);

    for (size_t i = 0; i < n_kept; i++)
        seen[kept[i]->id] = true;
    for (const struct nuc_node *n = g->first; n != NULL && branches && kept != NULL; n = n->next) {
        if (nuc_is_quantize(n) && nuc_arg_node(n, NUC_SELF) != NULL)
            seen[nuc_arg_node(n, NUC_SELF)->id] = true;
    }
    return plan_graph(g, threads, true, branches, kept, n_kept, seen);
}

/* What constants and the states of calls hold is only read from here on. */
struct nuc_evaluator *nuc_eval_fork(const struct nuc_evaluator *e)
{
    struct nuc_evaluator *f = nuc_copy(e->cx, e, sizeof *e);

    f->pool = nuc_pool_new(e->cx, 1);
    f->values = nuc_copy(e->cx, e->values, e->n_values * sizeof *e->values);
    f->steps = nuc_copy(e->cx, e->steps, e->n_steps * sizeof *e->steps);
    if (e->roundings != NULL)
        f->roundings = nuc_copy(e->cx, e->roundings, e->g->next_id * sizeof *e->roundings);
    for (uint32_t s = 0; s < e->n_steps; s++) {
        if (e->steps[s].call == NULL)
            continue;
        struct nuc_eval_call *c = f->steps[s].call = nuc_copy(e->cx, e->steps[s].call, sizeof *c);
        c->pool = f->pool;
        c->values = f->values;
        c->refusal = &f->refusal;
        c->out = nuc_alloc_array(e->cx, c->node->n_vals, sizeof(void *));
        if (c->op == &nuc_eval_rounding)
            c->state = &f->roundings[c->node->id];
    }
    for (uint32_t s = 0; s < e->n_steps; s++) {
        if (e->steps[s].then != 0)
            f->steps[s].call->then = f->steps[e->steps[s].then].call;
    }
    assign_memory(f);
    return f;
}

/* What is added to the sums of a layer, which is read in every run: other constants are taken apart before the first.
 */
static const struct nuc_node *bias_of(const struct nuc_node *node)
{
    bool is_layer = nuc_op_family(node->op) == NUC_FAMILY_CONV || node->op == NUC_OP_LINEAR;

    return is_layer ? nuc_arg_node(node, NUC_ARG(CONV2D, bias)) : NULL;
}

static bool have_other_parameters(const struct nuc_node *a, const struct nuc_node *b)
{
    struct nuc_quant p, q;

    return nuc_quant_of(a, &p) && nuc_quant_of(b, &q) && !p.per_channel && !nuc_same_parameters(&p, &q);
}

static bool is_rounded_value(const struct nuc_evaluator *e, const struct nuc_node *node)
{
    return is_rounding(e, node) || (nuc_is_dequantize(node) && is_rounding(e, nuc_arg_node(node, NUC_SELF)));
}

bool nuc_eval_take_biases(struct nuc_evaluator *e, struct nuc_graph *g)
{
    const struct nuc_node *n = g->first;

    for (uint32_t s = 0; s < e->n_steps; s++, n = n->next) {
        const struct nuc_node *own = e->steps[s].node;
        if (n == NULL || n->op != own->op || n->id != own->id)
            return false;
        struct nuc_eval_value *v = own->n_vals == 0 ? NULL : value_of(e, own, 0);
        bool *taken = &e->taken[n->id];
        if (nuc_is_static(n)) {
            const void *data = nuc_const_contiguous(g, n);
            *taken = *taken || memcmp(nuc_const_contiguous(e->g, own), data, v->bytes) != 0;
            v->data = *taken ? data : v->data;
            continue;
        }
        bool any = *taken || (have_other_parameters(own, n) && !is_rounded_value(e, own)), made = any;
        struct nuc_cursor at = {0, 0};
        for (const struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at)) {
            any = any || e->taken[in->id];
            made = made || (e->taken[in->id] && in != bias_of(n));
        }
        if (made && (v == NULL || !v->constant))
            return false;
        *taken = any && v != NULL && v->constant;
        if (*taken)
            plan_call(e, n);
    }
    return n == NULL;
}

struct nuc_pool *nuc_eval_pool(const struct nuc_evaluator *e)
{
    return e->pool;
}

size_t nuc_eval_n_inputs(const struct nuc_evaluator *e)
{
    return e->n_inputs;
}

size_t nuc_eval_n_outputs(const struct nuc_evaluator *e)
{
    return e->n_outputs;
}

const struct nuc_node *nuc_eval_input(const struct nuc_evaluator *e, size_t index)
{
    return e->values[e->inputs[index]].node;
}

const struct nuc_node *nuc_eval_output(const struct nuc_evaluator *e, size_t index)
{
    return e->values[e->outputs[index]].node;
}

void nuc_eval_observe(struct nuc_evaluator *e, nuc_eval_observer observer, void *user)
{
    e->observer = observer;
    e->observer_user = user;
}

size_t nuc_eval_fork_size(const struct nuc_evaluator *e)
{
    return e->arena_size + most_scratch(e, 1);
}

bool nuc_eval_is_refused(const struct nuc_evaluator *e)
{
    return e->refusal.call != NULL;
}

void nuc_eval_check(const struct nuc_evaluator *e, const char *where)
{
    if (nuc_eval_is_refused(e))
        nuc_eval_fail_refused(&e->refusal, where);
}

void nuc_eval_start(struct nuc_evaluator *e, const void *const *inputs)
{
    for (size_t i = 0; i < e->n_inputs; i++)
        e->values[e->inputs[i]].data = inputs[i];
}

void nuc_eval_steps(struct nuc_evaluator *e, uint32_t from, uint32_t to)
{
    for (uint32_t s = from; s < to && !nuc_eval_is_refused(e); s++) {
        const struct nuc_node *node = e->steps[s].node;
        if (e->steps[s].call != NULL && !e->steps[s].follows)
            e->steps[s].call->op->run(e->steps[s].call);
        if (e->observer != NULL && !nuc_eval_is_refused(e) && (e->seen == NULL || e->seen[node->id])) {
            for (uint32_t v = 0; v < node->n_vals; v++) {
                const struct nuc_eval_value *root = &e->values[value_of(e, node, v)->root];
                e->observer(e->observer_user, node, v, root->data, (size_t)nuc_elements(&node->vals[v]));
            }
        }
    }
}

const void *nuc_eval_result_data(const struct nuc_evaluator *e, size_t index)
{
    return e->values[e->values[e->outputs[index]].root].data;
}

const void *nuc_eval_node_data(const struct nuc_evaluator *e, const struct nuc_node *node)
{
    return e->values[e->values[e->first_slots[node->id]].root].data;
}

void nuc_eval_shift(struct nuc_evaluator *e, const struct nuc_node *node, const float *by)
{
    const uint32_t root = e->values[e->first_slots[node->id]].root;
    float *data = (void *)(e->arena + e->values[root].offset);
    const size_t count = is_activation(e, root) ? (size_t)nuc_elements(&node->vals[0]) : 0;

    for (size_t i = 0; i < count; i++)
        data[i] += by[i];
}

void nuc_eval_run(struct nuc_evaluator *e, const void *const *inputs, void *const *outputs)
{
    nuc_eval_start(e, inputs);
    nuc_eval_steps(e, 0, e->n_steps);
    nuc_eval_check(e, "");
    for (size_t i = 0; outputs != NULL && i < e->n_outputs; i++) {
        if (outputs[i] != NULL)
            memcpy(outputs[i], nuc_eval_result_data(e, i), e->values[e->outputs[i]].bytes);
    }
}

uint32_t nuc_eval_n_steps(const struct nuc_evaluator *e)
{
    return e->n_steps;
}

const struct nuc_node *nuc_eval_step_node(const struct nuc_evaluator *e, uint32_t step)
{
    return e->steps[step].node;
}

bool nuc_eval_can_round(const struct nuc_evaluator *e, const struct nuc_node *quantize)
{
    return is_rounding(e, quantize);
}

void nuc_eval_round(struct nuc_evaluator *e, const struct nuc_node *quantize, struct nuc_rounding rounding)
{
    e->roundings[quantize->id] = rounding;
}

/* ---- constant folding ---- */

static bool is_foldable(const struct nuc_node *node)
{
    struct nuc_node *inputs[NUC_MAX_RANK];
    uint32_t count = nuc_inputs(node, inputs, NUC_MAX_RANK);
    bool fills = node->op == NUC_OP_ARANGE || node->op == NUC_OP_ZEROS;

    if (!nuc_is_call(node) || node->op == NUC_OP_CALL_DELEGATE || node->n_vals == 0 || (count == 0 && !fills) ||
        count > NUC_MAX_RANK)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!nuc_is_static(inputs[i]))
            return false;
    }
    return true;
}

bool nuc_eval_constant(struct nuc_graph *g, const struct nuc_node *node, void **out)
{
    struct nuc_node *inputs[NUC_MAX_RANK];

    if (!is_foldable(node))
        return false;
    for (uint32_t v = 0; v < node->n_vals; v++)
        out[v] = nuc_alloc_unset(g->cx, g->cx->arena, nuc_bytes(&node->vals[v]));
    struct nuc_arena *outer = nuc_push_arena(g->cx);
    uint32_t count = nuc_inputs(node, inputs, NUC_MAX_RANK);
    struct nuc_evaluator *e = new_evaluator(g, 1, (size_t)count + node->n_vals);
    for (uint32_t i = 0; i < count; i++) {
        add_values(e, inputs[i]);
        plan_placeholder(e, inputs[i]);
    }
    add_values(e, node);
    plan_call(e, node);
    for (uint32_t v = 0; v < node->n_vals; v++) {
        const struct nuc_eval_value *value = value_of(e, node, v);
        memcpy(out[v], e->values[value->root].data, value->bytes);
    }
    nuc_pop_arena(g->cx, outer);
    return true;
}
