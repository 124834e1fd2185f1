/*
 * How far quantization moves the value of each node: the float and the quantized network run on calibration samples.
 * What the quantizer made of a node knows it, and so does what later stages made of that, so that the nodes of the
 * three graphs need not be matched.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/sequence.h"
#include "host/numbers.h"
#include "introspect/network_private.h"
#include "ir/masks.h"
#include "ir/op_list.h"

/* Multiply-accumulates, elements and bytes; see affordable() and run_groups(). */
#define MOST_WORK 2.5e9
#define WORK_OF_ELEMENT 30
#define MOST_HELD ((size_t)256 << 20)

/* A value that is compared: of a node of the float graph, and of what the quantizer made of it. */
struct compared {
    const struct nuc_node *real, *quantized; /* in the graph that is run; NULL: nothing is */
    const struct nuc_node *rounded;          /* the first dequantize node after it; NULL: it stays as it is */
    const struct nuc_node *twin;             /* the same operator with float weights; NULL: it has none */
    bool is_fused;                           /* its activation alone is rounded, which is compared for both */
    size_t elements;
    struct nuc_sqnr sqnr, own_sqnr;
    /* Of those whose effect is measured: */
    uint32_t step;               /* of the float run */
    float *error;                /* of its own, of the sample under way */
    struct nuc_sqnr output_sqnr; /* of the outputs with that error alone */
};

struct measuring {
    struct nuc_network *net;
    struct nuc_graph *real, *quantized;
    struct compared *values; /* by id of the float graph */
    size_t n;
    uint32_t *of;      /* by id of the quantized graph: 1 + index of the value whose node, twin or rounding it is */
    size_t first, end; /* of those that are held */
    struct nuc_evaluator *float_run;
    float *exact; /* of the sample under way: what the operator gives before it is rounded, with float weights */
    const struct compared *exact_of;
};

/* ---- sums ---- */

/* As nuc_sqnr_add(), in lanes that are summed side by side. */
static void add_errors(struct nuc_sqnr *s, const float *of, const float *x, size_t count)
{
    enum { LANES = 16 };
    double signal[LANES] = {0}, noise[LANES] = {0};
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            double a = (double)of[i + k], d = a - (double)x[i + k];
            signal[k] += a * a;
            noise[k] += d * d;
        }
    }
    nuc_sqnr_add(s, of + i, x + i, count - i);
    for (size_t k = 0; k < LANES; k++) {
        s->signal += signal[k];
        s->noise += noise[k];
    }
}

/* ---- what is compared ---- */

static bool is_compared(const struct nuc_node *n)
{
    bool is_input = nuc_is_user_input(n);

    return (is_input || nuc_is_operator(n)) && n->n_vals == 1 && n->vals[0].dtype == NUC_F32;
}

static const struct nuc_node *rounding_of(const struct nuc_node *n)
{
    for (uint32_t i = 0; i < n->n_users; i++) {
        const struct nuc_node *q = n->users[i];
        for (uint32_t k = 0; nuc_is_quantize(q) && k < q->n_users; k++) {
            if (nuc_is_dequantize(q->users[k]))
                return q->users[k];
        }
    }
    return NULL;
}

/* Inputs come in the same order in both graphs; operators know what they were made of. */
static void match(struct measuring *m)
{
    /*
     * Values that no input changes, and masks, whose places are all or nothing: they have no error that says anything.
     */
    const bool *follows = nuc_nodes_that_vary(m->real);
    bool *is_left_out = nuc_alloc_array(m->net->cx, m->n + 1, sizeof *is_left_out);

    nuc_mark_float_masks(m->real, is_left_out);
    for (const struct nuc_node *n = m->real->first; n != NULL; n = n->next)
        is_left_out[n->id] |= !follows[n->id];
    const struct nuc_node **inputs =
        nuc_alloc_array(m->net->cx, (size_t)m->real->n_nodes + 1, sizeof(struct nuc_node *));
    size_t n_inputs = 0, next = 0;
    for (const struct nuc_node *n = m->real->first; n != NULL; n = n->next) {
        if (nuc_is_user_input(n))
            inputs[n_inputs++] = n;
        m->values[n->id].real = is_compared(n) && !is_left_out[n->id] ? n : NULL;
    }
    for (const struct nuc_node *n = m->quantized->first; n != NULL; n = n->next) {
        bool is_input = nuc_is_user_input(n);
        uint32_t id = is_input && next < n_inputs ? inputs[next]->id : n->origin - 1;
        next += is_input;
        if (!is_compared(n) || (!is_input && (n->origin == 0 || id >= m->n)))
            continue;
        struct compared *v = &m->values[id];
        if (v->real == NULL || v->quantized != NULL || !nuc_same_sizes(&v->real->vals[0], &n->vals[0]))
            continue;
        v->quantized = n;
        v->rounded = rounding_of(n);
        v->elements = (size_t)nuc_elements(&n->vals[0]);
    }
}

/* ---- twins: what the operator would give with its float weights ---- */

static const struct nuc_node *constant_of(const struct nuc_node *n)
{
    const struct nuc_node *of = n != NULL && nuc_is_dequantize(n) ? nuc_arg_node(n, NUC_SELF) : NULL;

    return of != NULL && nuc_is_static(of) ? of : NULL;
}

/* A float constant in place of a dequantized one. */
static bool take_float(struct measuring *m, struct nuc_node *twin, uint32_t index, const struct nuc_node *real)
{
    const struct nuc_node *weight = nuc_arg_node(real, index);
    const struct nuc_node *now = nuc_arg_node(twin, index);

    if (!nuc_is_static_float(weight) || !nuc_same_sizes(&weight->vals[0], &now->vals[0]))
        return false;
    struct nuc_meta meta = weight->vals[0];
    nuc_set_contiguous(&meta);
    nuc_set_arg_node(twin, m->quantized, index,
                     nuc_add_constant(m->quantized, "twin", &meta, nuc_const_contiguous(m->real, weight)));
    return true;
}

static const enum nuc_op *const cutting = NUC_OPS(NUC_OP_RELU, NUC_OP_RELU6, NUC_OP_HARDTANH);

/*
 * The value that its activation alone reads, be it rounded in between or not: what that cuts off is no error. NULL: it
 * is another one.
 */
static struct compared *fused_with(struct measuring *m, const struct compared *v)
{
    const struct nuc_node *in = NULL;

    if (v->rounded != NULL && nuc_op_is_in(v->quantized->op, cutting))
        in = nuc_arg_node(v->quantized, NUC_SELF);
    for (unsigned i = 0; i < 2 && in != NULL && nuc_is_quantization(in); i++)
        in = in->n_users == 1 ? nuc_arg_node(in, NUC_SELF) : NULL;
    if (in == NULL || in->n_users != 1 || in->origin == 0 || in->origin > m->n)
        return NULL;
    struct compared *maker = &m->values[in->origin - 1];
    return maker->quantized == in && nuc_is_operator(in) ? maker : NULL;
}

/*
 * In front of the operator. That of an activation is what it makes of what the operator in front of it would give with
 * float weights and without rounding.
 */
static void add_twin(struct measuring *m, struct compared *v)
{
    const struct nuc_node *n = v->quantized;
    struct compared *maker = fused_with(m, v);
    struct nuc_node *self = NULL;
    bool differs = false, complete = true;

    if (maker != NULL) {
        self = nuc_find_node(m->quantized, (maker->twin != NULL ? maker->twin : maker->quantized)->name);
        maker->is_fused = true;
        differs = maker->twin != NULL || maker->rounded != NULL;
    }
    for (uint32_t i = 0; maker == NULL && nuc_is_call(n) && i < n->n_args; i++)
        differs = differs || constant_of(nuc_arg_node(n, i)) != NULL;
    if (!differs || (maker == NULL && v->real->n_args != n->n_args))
        return;
    struct nuc_node *twin = nuc_add_node(m->quantized, nuc_find_node(m->quantized, n->name), n->op, "twin");
    for (uint32_t i = 0; i < n->n_args; i++) {
        if (n->args[i].kind == NUC_ARG_NODE)
            nuc_set_arg_node(twin, m->quantized, i, i == NUC_SELF && self != NULL ? self : n->args[i].u.node);
        else if (n->args[i].kind == NUC_ARG_NODES)
            nuc_set_arg_nodes(twin, m->quantized, i, n->args[i].u.nodes, n->args[i].count);
        else
            twin->args[i] = n->args[i];
        if (constant_of(nuc_arg_node(n, i)) != NULL)
            complete = take_float(m, twin, i, v->real) && complete;
    }
    nuc_set_val(m->quantized, twin, &n->vals[0]);
    if (complete)
        v->twin = twin;
    else
        nuc_remove_node(m->quantized, twin);
}

/* ---- runs ---- */

static struct compared *held(struct measuring *m, size_t index)
{
    struct compared *v = &m->values[index];

    return index >= m->first && index < m->end && v->quantized != NULL ? v : NULL;
}

/* What the operator gives with its float weights comes right before what it gives, and that before it is rounded. */
static void see_quantized(void *user, const struct nuc_node *node, uint32_t index, const void *data, size_t elements)
{
    struct measuring *m = user;
    struct compared *v = m->of[node->id] == 0 ? NULL : held(m, m->of[node->id] - 1);

    if (v == NULL || index != 0)
        return;
    bool is_value = node == (v->rounded != NULL ? v->rounded : v->quantized);
    bool is_exact = node == (v->twin != NULL ? v->twin : v->quantized);
    if (is_value)
        add_errors(&v->sqnr, nuc_eval_node_data(m->float_run, v->real), data, elements);
    if (is_value && !is_exact && m->exact_of == v)
        add_errors(&v->own_sqnr, m->exact, data, elements);
    if (is_exact && !is_value) {
        memcpy(m->exact, data, elements * sizeof(float));
        m->exact_of = v;
    }
}

/* Number `i` of `n`: spread evenly over all, but the first ones of sequences. */
static size_t sample_of(const struct measuring *m, size_t i, size_t n, size_t n_samples)
{
    return nuc_n_states(m->real) > 0 ? i : i * n_samples / n;
}

static void run_samples(struct measuring *m, const struct nuc_node *const *kept, size_t n_kept,
                        struct nuc_dataset *samples, size_t n)
{
    unsigned threads = m->net->c->options.threads;
    struct nuc_evaluator *quantized = nuc_eval_new(m->quantized, threads);
    const void **inputs = nuc_alloc_array(m->net->cx, samples->n_inputs, sizeof(void *));

    struct nuc_sequence *sequence = nuc_sequence_new(m->real);
    m->float_run = nuc_eval_new_adjustable(m->real, threads, kept, n_kept, kept == NULL);
    nuc_eval_observe(quantized, see_quantized, m);
    for (size_t i = 0; i < n; i++) {
        nuc_dataset_read_sample(samples, sample_of(m, i, n, samples->n_samples), inputs);
        if (nuc_dataset_begins(samples, i))
            nuc_sequence_reset(sequence);
        const void *const *all = nuc_sequence_inputs(sequence, inputs);
        nuc_eval_run(m->float_run, all, NULL);
        nuc_eval_run(quantized, all, NULL);
        nuc_sequence_advance(sequence, m->float_run);
    }
}

/* Float values of at most MOST_HELD bytes are held at once; larger networks run several times. */
static void run_groups(struct measuring *m, struct nuc_dataset *samples, size_t n)
{
    const struct nuc_node **kept = nuc_alloc_array(m->net->cx, m->n + 1, sizeof(struct nuc_node *));
    size_t largest = 0;

    for (size_t i = 0; i < m->n; i++)
        largest = m->values[i].elements > largest ? m->values[i].elements : largest;
    m->exact = nuc_alloc_array(m->net->cx, largest + 1, sizeof *m->exact);
    for (m->first = 0; m->first < m->n; m->first = m->end) {
        struct nuc_arena *outer = nuc_push_arena(m->net->cx);
        size_t bytes = 0, n_kept = 0;
        for (m->end = m->first; m->end < m->n; m->end++) {
            const struct compared *v = &m->values[m->end];
            bytes += v->elements * sizeof(float);
            if (n_kept > 0 && bytes > MOST_HELD)
                break;
            if (v->quantized != NULL)
                kept[n_kept++] = v->real;
        }
        if (n_kept > 0)
            run_samples(m, kept, n_kept, samples, n);
        nuc_pop_arena(m->net->cx, outer);
    }
}

static size_t affordable(const struct measuring *m, size_t available, double runs)
{
    /* Of three networks, so that it depends on nothing but the model. */
    double work = 1;

    for (uint32_t i = 0; i < m->net->n_nodes; i++)
        work += m->net->nodes[i].row != NULL ? 3 * (double)m->net->nodes[i].row->macs : 0;
    for (const struct nuc_node *n = m->real->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; nuc_is_call(n) && i < n->n_vals; i++)
            work += WORK_OF_ELEMENT * (double)nuc_elements(&n->vals[i]);
    }
    double most = MOST_WORK / (work * runs);
    return most < 1 ? 1 : most < (double)available ? (size_t)most : available;
}

/* ---- what the errors of single nodes do to the outputs ---- */

/* As see_quantized(), but the error of the value alone. */
static void see_error(void *user, const struct nuc_node *node, uint32_t index, const void *data, size_t elements)
{
    struct measuring *m = user;
    struct compared *v = m->of[node->id] == 0 ? NULL : &m->values[m->of[node->id] - 1];

    if (v == NULL || v->error == NULL || index != 0)
        return;
    if (node == (v->twin != NULL ? v->twin : v->quantized)) {
        memcpy(m->exact, data, elements * sizeof(float));
        m->exact_of = v;
    } else if (node == (v->rounded != NULL ? v->rounded : v->quantized) && m->exact_of == v) {
        for (size_t i = 0; i < elements; i++)
            v->error[i] = ((const float *)data)[i] - m->exact[i];
    }
}

static int compare_by_own(const void *a, const void *b)
{
    const struct compared *x = *(struct compared *const *)a, *y = *(struct compared *const *)b;
    double p = nuc_sqnr_db(&x->own_sqnr), q = nuc_sqnr_db(&y->own_sqnr);

    return p < q ? -1 : p > q ? 1 : (x->real->id > y->real->id) - (x->real->id < y->real->id);
}

static int compare_by_step(const void *a, const void *b)
{
    const struct compared *x = *(struct compared *const *)a, *y = *(struct compared *const *)b;

    return (x->step < y->step) - (x->step > y->step);
}

/* Those with the largest errors of their own, as many as half a run for each is affordable of and as can be held. */
static size_t choose_values(struct measuring *m, struct compared **chosen)
{
    size_t count = 0, kept = 0, bytes = 0;

    for (size_t i = 0; i < m->n; i++) {
        struct compared *v = &m->values[i];
        if (v->quantized != NULL && !v->is_fused && nuc_is_operator(v->real) && v->own_sqnr.noise > 0)
            chosen[count++] = v;
    }
    qsort(chosen, count, sizeof *chosen, compare_by_own);
    const size_t most = affordable(m, count, 1.0 / 6);
    for (; kept < count && kept < most; kept++) {
        bytes += chosen[kept]->elements * sizeof(float);
        if (bytes > MOST_HELD)
            break;
    }
    return kept;
}

/* From the last one to the first, so that what a later one changed is computed anew. */
static void measure_effects(struct measuring *m, struct compared **chosen, size_t count, struct nuc_dataset *samples)
{
    struct nuc_context *cx = m->net->cx;
    const unsigned threads = m->net->c->options.threads;
    struct nuc_evaluator *e = nuc_eval_new_adjustable(m->real, threads, NULL, 0, true);
    struct nuc_evaluator *quantized = nuc_eval_new(m->quantized, threads);
    const void **inputs = nuc_alloc_array(cx, samples->n_inputs, sizeof(void *));
    float **exact = nuc_alloc_array(cx, nuc_eval_n_outputs(e), sizeof *exact);
    const uint32_t n_steps = nuc_eval_n_steps(e);
    const size_t n = affordable(m, samples->n_samples, (double)count / 6 + 1);

    for (uint32_t s = 0; s < n_steps; s++)
        m->values[nuc_eval_step_node(e, s)->id].step = s;
    qsort(chosen, count, sizeof *chosen, compare_by_step);
    for (size_t i = 0; i < nuc_eval_n_outputs(e); i++)
        exact[i] = nuc_alloc(cx, nuc_bytes(&nuc_eval_output(e, i)->vals[0]));
    nuc_eval_observe(quantized, see_error, m);
    struct nuc_sequence *sequence = nuc_sequence_new(m->real);
    for (size_t k = 0; k < n; k++) {
        nuc_dataset_read_sample(samples, sample_of(m, k, n, samples->n_samples), inputs);
        if (nuc_dataset_begins(samples, k))
            nuc_sequence_reset(sequence);
        const void *const *all = nuc_sequence_inputs(sequence, inputs);
        nuc_eval_run(quantized, all, NULL);
        nuc_eval_run(e, all, (void *const *)exact);
        nuc_sequence_advance(sequence, e);
        for (size_t i = 0; i < count; i++) {
            nuc_eval_shift(e, chosen[i]->real, chosen[i]->error);
            nuc_eval_steps(e, chosen[i]->step + 1, n_steps);
            nuc_eval_check(e, "");
            for (size_t j = 0; j < nuc_eval_n_outputs(e); j++) {
                const struct nuc_meta *meta = &nuc_eval_output(e, j)->vals[0];
                if (meta->dtype == NUC_F32)
                    nuc_sqnr_add(&chosen[i]->output_sqnr, exact[j], nuc_eval_result_data(e, j),
                                 (size_t)nuc_elements(meta));
            }
        }
    }
}

static void rank(struct measuring *m, struct nuc_dataset *samples)
{
    struct compared **chosen = nuc_alloc_array(m->net->cx, m->n + 1, sizeof *chosen);
    size_t bytes = 0;

    for (const struct nuc_node *n = m->real->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; nuc_is_call(n) && i < n->n_vals; i++)
            bytes += (size_t)nuc_bytes(&n->vals[i]);
    }
    const size_t count = bytes > MOST_HELD ? 0 : choose_values(m, chosen);
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        chosen[i]->error = nuc_alloc_array(m->net->cx, chosen[i]->elements + 1, sizeof(float));
    measure_effects(m, chosen, count, samples);
}

/* ---- the network's nodes ---- */

/* It computes the value, and does not only give it another shape. */
static bool computes(const struct nuc_node *n, const struct compared *v)
{
    return nuc_op_kind(n->op) == NUC_KIND_COMPUTE && n->n_vals > 0 && (size_t)nuc_elements(&n->vals[0]) == v->elements;
}

/* Of several nodes that a value was decomposed into, the last one that computes it has it, else the last one. */
static void spread(struct measuring *m)
{
    struct nuc_network *net = m->net;
    uint32_t *last = nuc_alloc_array(net->cx, m->n + 1, sizeof *last);
    size_t next = 0;

    for (uint32_t i = 0; i < net->n_nodes; i++) {
        const struct nuc_node *n = net->nodes[i].node;
        if (net->nodes[i].row == NULL || n->origin == 0 || n->origin > m->n)
            continue;
        const struct compared *v = &m->values[n->origin - 1];
        uint32_t *at = &last[n->origin - 1];
        if (*at == 0 || computes(n, v) || !computes(net->nodes[*at - 1].node, v))
            *at = i + 1;
    }
    for (const struct nuc_node *n = m->real->first; n != NULL; n = n->next) {
        if (nuc_is_user_input(n))
            last[n->id] = (uint32_t)++next; /* inputs are the first nodes */
    }
    for (size_t i = 0; i < m->n; i++) {
        const struct compared *v = &m->values[i];
        if (v->quantized == NULL || v->is_fused || last[i] == 0)
            continue;
        if (v->error != NULL)
            net->nodes[last[i] - 1].sqnr_output_db = nuc_sqnr_db(&v->output_sqnr);
        net->nodes[last[i] - 1].sqnr_db = nuc_sqnr_db(&v->sqnr);
        net->nodes[last[i] - 1].sqnr_own_db =
            v->rounded == NULL && v->twin == NULL ? (double)INFINITY : nuc_sqnr_db(&v->own_sqnr);
    }
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        uint32_t id = net->nodes[i].is_output ? nuc_network_id(net, net->nodes[i].node) : NUC_NO_ID;
        if (id != NUC_NO_ID)
            net->nodes[i].sqnr_db = net->nodes[id].sqnr_db;
    }
}

void nuc_measure_network_nodes(struct nuc_network *net)
{
    struct nuc_context *cx = net->cx;
    struct measuring m = {.net = net};

    if (net->job.prepared == NULL || !nuc_has_samples(net->calibration))
        return;
    struct nuc_sub_arena *sub = nuc_enter_sub_arena(cx);
    void (*warn)(void *user, const char *message) = cx->warn;
    cx->warn = NULL; /* the calibration has noted what there is to note */
    struct nuc_dataset *samples = nuc_dataset_again(net->c, net->calibration);
    nuc_dataset_bind_model(samples, net->job.prepared);
    m.real = net->job.prepared->graph;
    m.quantized = nuc_graph_copy(net->quantized->graph);
    m.n = m.real->next_id;
    m.values = nuc_alloc_array(cx, m.n + 1, sizeof *m.values);
    match(&m);
    /* A node that nothing reads is not computed: twins become outputs. */
    struct nuc_node *output = nuc_output_node(m.quantized);
    const struct nuc_arg *values = &output->args[NUC_ARG(OUTPUT, values)];
    struct nuc_node **all = nuc_alloc_array(cx, values->count + m.n, sizeof(struct nuc_node *));
    const uint32_t n_results = nuc_n_results(m.quantized);
    uint32_t count = n_results;
    for (uint32_t i = 0; i < count; i++)
        all[i] = values->u.nodes[i];
    for (size_t i = 0; i < m.n; i++) {
        struct compared *v = &m.values[i];
        if (v->quantized == NULL)
            continue;
        add_twin(&m, v);
        if (v->twin != NULL)
            all[count++] = nuc_find_node(m.quantized, v->twin->name);
    }
    for (uint32_t i = n_results; i < values->count; i++)
        all[count++] = values->u.nodes[i];
    nuc_set_arg_nodes(output, m.quantized, NUC_ARG(OUTPUT, values), all, count);
    m.of = nuc_alloc_array(cx, (size_t)m.quantized->next_id + 1, sizeof *m.of);
    for (size_t i = 0; i < m.n; i++) {
        const struct compared *v = &m.values[i];
        if (v->quantized == NULL)
            continue;
        m.of[v->quantized->id] = (uint32_t)i + 1;
        if (v->rounded != NULL)
            m.of[v->rounded->id] = (uint32_t)i + 1;
        if (v->twin != NULL)
            m.of[v->twin->id] = (uint32_t)i + 1;
    }
    net->n_measured = affordable(&m, samples->n_samples, 1);
    run_groups(&m, samples, net->n_measured);
    rank(&m, samples);
    spread(&m);
    nuc_leave_sub_arena(cx, sub);
    nuc_free_sub_arena(sub);
    cx->warn = warn;
}
