/*
 * How far quantization moves the value of each node: the float and the quantized network run on calibration samples.
 * What the quantizer made of a node knows it, and so does what later stages made of that, so that the nodes of the
 * three graphs need not be matched.
 */
#include <math.h>
#include <string.h>

#include "eval/eval.h"
#include "host/numbers.h"
#include "introspect/network_private.h"
#include "ir/quant.h"

/* Multiply-accumulates, elements and bytes; see affordable_samples() and run_groups(). */
#define MOST_WORK 2.5e9
#define WORK_OF_ELEMENT 30
#define MOST_HELD ((size_t)256 << 20)

/* A value that is compared: of a node of the float graph, and of what the quantizer made of it. */
struct compared {
    const struct nuc_node *real, *quantized; /* in the graph that is run; NULL: nothing is */
    const struct nuc_node *rounded;          /* the first dequantize node after it; NULL: it stays as it is */
    const struct nuc_node *twin;             /* the same operator with float weights; NULL: it has none */
    size_t elements;
    struct nuc_sqnr sqnr, own_sqnr;
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
    const struct nuc_node **inputs =
        nuc_alloc_array(m->net->cx, (size_t)m->real->n_nodes + 1, sizeof(struct nuc_node *));
    size_t n_inputs = 0, next = 0;

    for (const struct nuc_node *n = m->real->first; n != NULL; n = n->next) {
        if (nuc_is_user_input(n))
            inputs[n_inputs++] = n;
        m->values[n->id].real = is_compared(n) ? n : NULL;
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

    if (weight == NULL || !nuc_is_static(weight) || weight->vals[0].dtype != NUC_F32 ||
        !nuc_same_sizes(&weight->vals[0], &now->vals[0]))
        return false;
    struct nuc_meta meta = weight->vals[0];
    nuc_set_contiguous(&meta);
    nuc_set_arg_node(twin, m->quantized, index,
                     nuc_add_constant(m->quantized, "twin", &meta, nuc_const_contiguous(m->real, weight)));
    return true;
}

/* In front of the operator. */
static void add_twin(struct measuring *m, struct compared *v)
{
    const struct nuc_node *n = v->quantized;
    bool weighted = false, complete = true;

    for (uint32_t i = 0; nuc_is_call(n) && i < n->n_args; i++)
        weighted = weighted || constant_of(nuc_arg_node(n, i)) != NULL;
    if (!weighted || v->real->n_args != n->n_args)
        return;
    struct nuc_node *twin = nuc_add_node(m->quantized, nuc_find_node(m->quantized, n->name), n->op, "twin");
    for (uint32_t i = 0; i < n->n_args; i++) {
        if (n->args[i].kind == NUC_ARG_NODE)
            nuc_set_arg_node(twin, m->quantized, i, n->args[i].u.node);
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

/* A node that nothing reads is not computed: twins become outputs. */
static void expose_twins(struct measuring *m)
{
    struct nuc_node *output = nuc_output_node(m->quantized);
    const struct nuc_arg *values = &output->args[NUC_ARG(OUTPUT, values)];
    struct nuc_node **all = nuc_alloc_array(m->net->cx, values->count + m->n, sizeof(struct nuc_node *));
    uint32_t count = values->count;

    for (uint32_t i = 0; i < count; i++)
        all[i] = values->u.nodes[i];
    for (size_t i = 0; i < m->n; i++) {
        struct compared *v = &m->values[i];
        if (v->quantized == NULL)
            continue;
        add_twin(m, v);
        if (v->twin != NULL)
            all[count++] = nuc_find_node(m->quantized, v->twin->name);
    }
    nuc_set_arg_nodes(output, m->quantized, NUC_ARG(OUTPUT, values), all, count);
}

static void index_nodes(struct measuring *m)
{
    m->of = nuc_alloc_array(m->net->cx, (size_t)m->quantized->next_id + 1, sizeof *m->of);
    for (size_t i = 0; i < m->n; i++) {
        const struct compared *v = &m->values[i];
        if (v->quantized == NULL)
            continue;
        m->of[v->quantized->id] = (uint32_t)i + 1;
        if (v->rounded != NULL)
            m->of[v->rounded->id] = (uint32_t)i + 1;
        if (v->twin != NULL)
            m->of[v->twin->id] = (uint32_t)i + 1;
    }
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

static void run_samples(struct measuring *m, const struct nuc_node *const *kept, size_t n_kept,
                        struct nuc_dataset *samples, size_t n)
{
    unsigned threads = m->net->c->options.threads;
    struct nuc_evaluator *quantized = nuc_eval_new(m->quantized, threads);
    const void **inputs = nuc_alloc_array(m->net->cx, samples->n_inputs, sizeof(void *));

    m->float_run = nuc_eval_new_adjustable(m->real, threads, kept, n_kept);
    nuc_eval_observe(quantized, see_quantized, m);
    for (size_t i = 0; i < n; i++) {
        nuc_dataset_read_sample(samples, i * samples->n_samples / n, inputs);
        nuc_eval_run(m->float_run, inputs, NULL);
        nuc_eval_run(quantized, inputs, NULL);
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

/* By the work of three networks, so that it depends on nothing but the model. */
static size_t affordable_samples(const struct measuring *m, size_t available)
{
    double work = 1;

    for (uint32_t i = 0; i < m->net->n_nodes; i++)
        work += m->net->nodes[i].row != NULL ? 3 * (double)m->net->nodes[i].row->macs : 0;
    for (const struct nuc_node *n = m->real->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; nuc_is_call(n) && i < n->n_vals; i++)
            work += WORK_OF_ELEMENT * (double)nuc_elements(&n->vals[i]);
    }
    double most = MOST_WORK / work;
    return most < 1 ? 1 : most < (double)available ? (size_t)most : available;
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
        if (v->quantized == NULL || last[i] == 0)
            continue;
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
    expose_twins(&m);
    index_nodes(&m);
    net->n_measured = affordable_samples(&m, samples->n_samples);
    run_groups(&m, samples, net->n_measured);
    spread(&m);
    nuc_leave_sub_arena(cx, sub);
    nuc_free_sub_arena(sub);
    cx->warn = warn;
}
