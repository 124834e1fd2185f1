#include "quantize/search/width_choice.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/args.h"
#include "ir/conv_args.h"
#include "ir/work.h"
#include "quantize/search/effect.h"

/*
 * Error of the outputs, relative to their power, that is none: 50 dB in a network with recurrent layers in int8, beside
 * whose cycles those of wider sequences around them hardly count.
 */
#define SMALL_ERROR_BY_RECURRENT 1e-5

/* The same where the user asks for int16 wherever it gains for its cycles: 70 dB. */
#define SMALL_ERROR_OF_MIXED 1e-7

/* Multiply-accumulates that may be spent on the effects of single values. */
#define BUDGET 3e9

/* The same, and nodes, of a network that is looked at beyond a fair error: most networks are so good, and few gain. */
#define BUDGET_BEYOND 3e8
#define MOST_NODES_BEYOND 400

#define LEAST_SAMPLES 8

/* Runs of a network on so many samples that the budget has to cover, or the network is a large one. */
#define LEAST_RUNS 16

/* Values that are looked at, and nodes of a network that is: trials of placement take their time. */
#define MOST_VALUES 64
#define MOST_NODES 4000

/*
 * Share of the network's products that a region may have, in a network whose values are all looked at and in a large
 * one: an NPU computes 32 products in the time of one in float, so that more of them take more than a quarter of its
 * cycles, unless it computes others badly.
 */
#define MOST_SHARE 0.25
#define LEAST_SHARE (1.0 / 256)

#define NONE UINT32_MAX

static double small_error(const struct nuc_calibration *c)
{
    bool has_recurrent = false;

    for (const struct nuc_node *n = c->g->first; n != NULL && !has_recurrent; n = n->next)
        has_recurrent = nuc_op_family(n->op) == NUC_FAMILY_RECURRENT && nuc_is_annotated(c->annotations[n->id]);
    return c->mixed ? SMALL_ERROR_OF_MIXED : has_recurrent ? SMALL_ERROR_BY_RECURRENT : NUC_SMALL_ERROR;
}

struct value {
    uint32_t group;
    bool may_be_free;  /* of int8 */
    bool few_products; /* its operators have a small share of the network's */
    double error;      /* that it makes alone */
    double in_int16;   /* the same with steps of int16 */
    uint32_t path;     /* the first of the values that it is one sum of after the other with */
    uint32_t n_members;
    const struct nuc_node **members; /* operators that compute it or with it */
};

struct nuc_width_search {
    struct nuc_calibration *c;
    bool quantized_io;
    double small; /* an error that is none */
    bool beyond;  /* a fair error is looked at */
    bool *layers; /* by node id: those that int16 is wide enough for; NULL: not known */
    double error; /* of the network */
    double all;   /* of all values alone, summed up; with int16 also what is left by weights, which stay int8 */
    uint32_t n_values;
    struct value *values; /* of those that are measured the ones that make the largest errors, in this order */
};

/* ---- operators that a value is free of int8 with ---- */

static bool is_int8(const struct nuc_calibration *c, const struct nuc_node *node)
{
    return nuc_is_call(node) && nuc_is_annotated(c->annotations[node->id]);
}

bool nuc_is_float_anyway(const struct nuc_calibration *c, const struct nuc_node *node)
{
    return nuc_is_call(node) && node->n_vals == 1 && node->vals[0].dtype == NUC_F32 && !is_int8(c, node);
}

static void add_member(struct nuc_calibration *c, struct value *v, size_t *capacity, const struct nuc_node *node)
{
    if (!is_int8(c, node))
        return;
    for (uint32_t i = 0; i < v->n_members; i++) {
        if (v->members[i] == node)
            return;
    }
    v->members = nuc_grow(c->g->cx, v->members, capacity, v->n_members + 1, sizeof *v->members);
    v->members[v->n_members++] = node;
}

/* False: the value is int8 whatever computes it. */
static bool find_members(const struct nuc_width_search *s, struct value *v)
{
    struct nuc_calibration *c = s->c;
    size_t capacity = 0;

    for (uint32_t i = 0; i < c->n_points; i++) {
        const struct nuc_node *node = c->points[i].node;
        if (c->points[i].group != v->group || nuc_is_static(node))
            continue;
        bool is_result = c->observed[node->id].output == v->group;
        if ((s->quantized_io && nuc_is_placeholder(node)) || node->source->width == NUC_WIDTH_INT8)
            return false;
        /* With it goes what is quantized together with it, as the convolution in front of an activation. */
        if (is_result) {
            add_member(c, v, &capacity, node);
            const struct nuc_node *in = nuc_is_call(node) ? nuc_arg_node(node, NUC_SELF) : NULL;
            if (in != NULL && nuc_is_call(in) && nuc_observed_group(c, in, node) == NUC_NO_GROUP)
                add_member(c, v, &capacity, in);
        }
        for (uint32_t k = 0; k < node->n_users; k++) {
            const struct nuc_node *user = node->users[k];
            if (!is_result && nuc_observed_group(c, node, user) != v->group)
                continue;
            if ((s->quantized_io && user->op == NUC_OP_OUTPUT) || user->source->width == NUC_WIDTH_INT8)
                return false;
            add_member(c, v, &capacity, user);
        }
    }
    return true;
}

static bool is_free(const struct value *v, const bool *wide)
{
    for (uint32_t i = 0; i < v->n_members; i++) {
        if (!wide[v->members[i]->id])
            return false;
    }
    return true;
}

static void add_value(const struct value *v, bool *wide)
{
    for (uint32_t i = 0; i < v->n_members; i++)
        wide[v->members[i]->id] = true;
}

/* ---- what they cost ---- */

static bool is_function(const struct nuc_node *node)
{
    return nuc_op_family(node->op) == NUC_FAMILY_SOFTMAX || node->op == NUC_OP_GELU ||
           (nuc_op_family(node->op) == NUC_FAMILY_MAP && nuc_op_makes_real(node->op));
}

static double cycles_of(const struct nuc_width_costs *k, const struct nuc_node *node, bool in_int16)
{
    if (in_int16) /* among operators in float */
        return k->call + (double)nuc_value_elements(node) * k->conversion + nuc_node_products(node) * k->in_layer;
    if (nuc_op_family(node->op) == NUC_FAMILY_VIEW || node->op == NUC_OP_GETITEM)
        return 0;
    if (nuc_op_family(node->op) == NUC_FAMILY_RECURRENT)
        return k->call + nuc_node_products(node) * k->recurrent;
    return k->call + (double)nuc_value_elements(node) * (is_function(node) ? k->function : k->element) +
           nuc_node_products(node) * k->product;
}

/* Of what is wider, and of the conversions at its border. layers, NULL: none; those that may take int16 beside float.
 */
static double total_cycles(const struct nuc_calibration *c, const bool *layers, const struct nuc_width_costs *costs,
                           const bool *wide)
{
    double sum = 0;

    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        bool makes_int8 = is_int8(c, n) && !wide[n->id], read_float = false, read_int8 = false;
        if (nuc_is_static(n))
            continue;
        if (wide[n->id])
            sum += cycles_of(costs, n, costs->in_layer > 0 && layers != NULL && layers[n->id]);
        for (uint32_t i = 0; i < n->n_users; i++) {
            bool reads_int8 = is_int8(c, n->users[i]) && !wide[n->users[i]->id];
            read_float |= !reads_int8;
            read_int8 |= reads_int8;
        }
        if (n->n_vals == 1 && n->vals[0].dtype == NUC_F32 && (makes_int8 ? read_float : read_int8))
            sum += costs->call + (double)nuc_value_elements(n) * costs->conversion;
    }
    return sum;
}

double nuc_width_of_all(const struct nuc_calibration *c, const struct nuc_width_costs *costs, bool *wide)
{
    memset(wide, 0, c->g->next_id * sizeof *wide);
    const double before = total_cycles(c, NULL, costs, wide);

    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next)
        wide[n->id] = is_int8(c, n) && n->source->width != NUC_WIDTH_INT8;
    return total_cycles(c, NULL, costs, wide) - before;
}

/* ---- what single values lose ---- */

double nuc_held_out_error(const struct nuc_calibration *c, double *errors)
{
    const struct nuc_held_out *h = &c->held_out;
    double sum = 0;

    for (size_t k = 0; k < h->n_samples; k++) {
        double error = h->error[k] * (double)c->samples->count;
        sum += error;
        if (errors != NULL)
            errors[k] = error;
    }
    return h->n_samples == 0 ? 0 : sum / (double)h->n_samples;
}

size_t nuc_held_out_samples(const struct nuc_calibration *c)
{
    return c->held_out.n_samples;
}

/* All groups of computed values and inputs. False: none may be free of int8. */
static bool list_values(struct nuc_width_search *s, double share)
{
    struct nuc_calibration *c = s->c;
    double all = 0;
    bool any = false;

    s->values = nuc_alloc_array(c->g->cx, c->sharing->n_groups, sizeof *s->values);
    for (const struct nuc_node *i = c->g->first; i != NULL; i = i->next)
        all += nuc_is_call(i) ? nuc_node_products(i) : 0;
    for (uint32_t i = 0; i < c->sharing->n_groups; i++) {
        struct value *v = &s->values[s->n_values++];
        double products = 0;
        v->group = i;
        v->may_be_free = find_members(s, v) && v->n_members != 0;
        for (uint32_t k = 0; k < v->n_members; k++)
            products += nuc_node_products(v->members[k]);
        v->few_products = products <= share * all;
        v->may_be_free = v->may_be_free && (v->few_products || share > LEAST_SHARE || c->mixed);
        any = any || v->may_be_free;
    }
    return any;
}

/* Those with an effect, the last one of a run first. */
static void order_values(struct nuc_width_search *s, const struct nuc_effects *fx)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_values; i++) {
        struct value v = s->values[i];
        uint32_t at = n;
        if (!nuc_has_effect(fx, v.group))
            continue;
        for (n++; at > 0 && nuc_cost_after(fx, s->values[at - 1].group) > nuc_cost_after(fx, v.group); at--)
            s->values[at] = s->values[at - 1];
        s->values[at] = v;
    }
    s->n_values = n;
}

static struct nuc_tried alone(const struct nuc_calibration *c, enum nuc_effect effect, uint32_t group)
{
    struct nuc_tried t = {.effect = effect, .n_groups = 1, .groups = nuc_copy(c->g->cx, &group, sizeof group)};

    for (unsigned part = 0; part < 2; part++)
        t.parameters[part] = &c->held_out.parameters[part][group];
    return t;
}

static bool is_layer(const struct nuc_node *node)
{
    return nuc_conv_args(node->op) != NULL || nuc_op_family(node->op) == NUC_FAMILY_MATRIX;
}

static bool has_layer(const struct value *v)
{
    bool any = false;

    for (uint32_t i = 0; i < v->n_members; i++)
        any |= is_layer(v->members[i]);
    return any;
}

/* The same range in steps of int16, which are symmetric. */
static struct nuc_parameters steps_of_int16(const struct nuc_calibration *c, uint32_t group, struct nuc_parameters p)
{
    const struct nuc_qspec *spec = c->observers[group]->spec;
    const int64_t above = spec->quant_max - p.zero_point, below = p.zero_point - spec->quant_min;

    return (struct nuc_parameters){p.scale * (float)(above > below ? above : below) / INT16_MAX, 0};
}

/*
 * Which layers int16 is wide enough for: all those whose values lose little in it. What is not measured, beyond `runs`,
 * may lose as much as in int8.
 */
static void find_layers(struct nuc_width_search *s, struct nuc_effects *fx, size_t n_samples, double runs)
{
    struct nuc_calibration *c = s->c;
    struct nuc_context *cx = c->g->cx;
    struct nuc_tried *tried = nuc_alloc_array(cx, s->n_values, sizeof *tried);
    struct value **of = nuc_alloc_array(cx, s->n_values, sizeof(struct value *));
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_values; i++) {
        struct value *v = &s->values[i];
        double cost = nuc_cost_after(fx, v->group);
        v->in_int16 = v->error;
        if (!(v->error > NUC_SMALL_ERROR) || !has_layer(v) || cost > runs)
            continue;
        runs -= cost;
        tried[n] = alone(c, NUC_EFFECT_ROUNDING, v->group);
        for (unsigned part = 0; part < 2; part++) {
            struct nuc_parameters p = steps_of_int16(c, v->group, *tried[n].parameters[part]);
            tried[n].parameters[part] = nuc_copy(cx, &p, sizeof p);
        }
        of[n++] = v;
    }
    double *errors = nuc_alloc_array(cx, n * n_samples + 1, sizeof *errors);
    if (n > 0)
        nuc_effects_of(fx, tried, n, NULL, n_samples, errors);
    for (uint32_t i = 0; i < n; i++) {
        of[i]->in_int16 = 0;
        for (size_t k = 0; k < n_samples; k++)
            of[i]->in_int16 += errors[k * n + i];
    }
    for (const struct nuc_node *node = c->g->first; node != NULL; node = node->next)
        s->layers[node->id] = is_int8(c, node) && is_layer(node);
    for (uint32_t i = 0; i < s->n_values; i++) {
        for (uint32_t k = 0; s->values[i].in_int16 > NUC_SMALL_ERROR && k < s->values[i].n_members; k++)
            s->layers[s->values[i].members[k]->id] = false;
    }
}

/*
 * As many values as the budget covers: the last ones of a run are the cheapest. What a single value does is bounded by
 * what the network loses, as in a logarithm of what rounding leaves nothing of.
 */
static void measure(struct nuc_width_search *s, struct nuc_effects *fx, size_t n_samples)
{
    struct nuc_calibration *c = s->c;
    struct nuc_context *cx = c->g->cx;
    double runs = BUDGET / nuc_run_cost(c->g) / (double)n_samples - 1;
    struct nuc_tried *tried = nuc_alloc_array(cx, s->n_values, sizeof *tried);
    uint32_t n = 0;

    for (; n < s->n_values && runs >= nuc_cost_after(fx, s->values[n].group); n++) {
        runs -= nuc_cost_after(fx, s->values[n].group);
        tried[n] = alone(c, NUC_EFFECT_BOTH, s->values[n].group);
    }
    bool has_all = n == s->n_values;
    s->n_values = n;
    if (n == 0)
        return;
    double *errors = nuc_alloc_array(cx, n * n_samples, sizeof *errors);
    nuc_effects_of(fx, tried, n, NULL, n_samples, errors);
    for (uint32_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = 0; k < n_samples; k++)
            sum += errors[k * n + i];
        s->values[i].error = sum < s->error ? sum : s->error;
        s->all += s->values[i].error;
    }
    /* Values together may lose more than each alone, as behind a sample beyond all ranges: trials tell. */
    double more = has_all && s->all > 0 ? fmax(s->error / s->all, 1) : 1;
    for (uint32_t i = 0; i < n; i++)
        s->values[i].error *= more;
    s->all *= more;
    if (s->layers != NULL)
        find_layers(s, fx, n_samples, runs - 1);
}

static int by_error(const void *a, const void *b)
{
    const struct value *x = a, *y = b;

    if (x->error < y->error || x->error > y->error)
        return x->error > y->error ? -1 : 1;
    return x->group < y->group ? -1 : x->group > y->group;
}

/* How many samples single values are looked at with, of those that the network was measured with. */
static size_t samples_to_look_at(size_t n_samples)
{
    return n_samples > LEAST_SAMPLES ? LEAST_SAMPLES : n_samples;
}

static double cost_of_looks(const struct nuc_calibration *c, size_t n_samples)
{
    return (double)samples_to_look_at(n_samples) * nuc_run_cost(c->g) * LEAST_RUNS;
}

/* Lists the values. False: there is none to free of int8, or no way to tell. */
static bool may_free(struct nuc_width_search *s, size_t n_samples)
{
    const struct nuc_calibration *c = s->c;

    return nuc_has_both_parts(c->samples, n_samples) && c->g->n_nodes <= MOST_NODES &&
           list_values(s, cost_of_looks(c, n_samples) > BUDGET ? LEAST_SHARE : MOST_SHARE);
}

bool nuc_may_free_values(struct nuc_calibration *c, size_t n_samples)
{
    struct nuc_width_search s = {.c = c};

    return !(c->without & NUC_STEP_WIDTH) && may_free(&s, n_samples);
}

static uint32_t value_of(const struct nuc_width_search *s, uint32_t group)
{
    uint32_t i = 0;

    while (i < s->n_values && s->values[i].group != group)
        i++;
    return i < s->n_values ? i : NONE;
}

/*
 * What goes on from sum to sum, as in a network with residuals, is one path: alone each of them gains little, since the
 * next one is int8 again.
 */
static void find_paths(struct nuc_width_search *s)
{
    const struct nuc_calibration *c = s->c;

    for (uint32_t i = 0; i < s->n_values; i++)
        s->values[i].path = i;
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        struct nuc_cursor at = {0, 0};
        const uint32_t sum = is_int8(c, n) && n->op == NUC_OP_ADD ? value_of(s, c->observed[n->id].output) : NONE;
        if (sum == NONE)
            continue;
        for (const struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at)) {
            const uint32_t term = value_of(s, nuc_observed_group(c, in, n));
            if (term == NONE || nuc_is_static(in) || s->values[term].n_members < 3) /* what nothing else reads */
                continue;
            const uint32_t old = s->values[sum].path, path = s->values[term].path;
            for (uint32_t i = 0; i < s->n_values; i++)
                s->values[i].path = s->values[i].path == old ? path : s->values[i].path;
        }
    }
}

/* The error that the network is to have. */
static double enough(const struct nuc_width_search *s)
{
    return s->small < NUC_SMALL_ERROR ? s->small : NUC_FAIR_ERROR;
}

bool nuc_width_goes_beyond(const struct nuc_width_search *s)
{
    return s->beyond;
}

bool nuc_is_layer_in_int16(const struct nuc_width_search *s, const struct nuc_node *node)
{
    return s->layers != NULL && s->layers[node->id];
}

struct nuc_width_search *nuc_width_search_new(struct nuc_calibration *c, bool quantized_io, bool beyond, bool has_int16)
{
    struct nuc_context *cx = c->g->cx;
    struct nuc_width_search *s = nuc_alloc(cx, sizeof *s);
    size_t n_samples = samples_to_look_at(c->held_out.n_samples);
    double free = 0;

    *s = (struct nuc_width_search){
        .c = c, .quantized_io = quantized_io, .small = small_error(c), .error = nuc_held_out_error(c, NULL)};
    s->beyond = beyond && s->small >= NUC_SMALL_ERROR && c->g->n_nodes <= MOST_NODES_BEYOND &&
                cost_of_looks(c, c->held_out.n_samples) <= BUDGET_BEYOND;
    if (!(s->error > (s->beyond ? s->small : enough(s))) || !may_free(s, c->held_out.n_samples))
        return NULL;
    s->layers = has_int16 && s->error > NUC_FAIR_ERROR ? nuc_alloc_array(cx, c->g->next_id, sizeof *s->layers) : NULL;
    struct nuc_sub_arena *memory = nuc_enter_sub_arena(cx);
    nuc_calibration_parameters(c);
    struct nuc_converted q = nuc_convert_graph(c, NULL);
    c->has_parameters = false; /* they are in memory that goes */
    struct nuc_effects *fx = nuc_effects_new(c, &q, n_samples, true);
    nuc_leave_sub_arena(cx, memory);
    order_values(s, fx);
    if (s->n_values != 0)
        measure(s, fx, n_samples);
    nuc_free_sub_arena(memory);
    if (s->n_values != 0)
        qsort(s->values, s->n_values, sizeof *s->values, by_error);
    s->n_values = s->n_values < MOST_VALUES ? s->n_values : MOST_VALUES;
    for (uint32_t i = 0; i < s->n_values; i++)
        free += s->values[i].may_be_free ? s->values[i].error : 0;
    s->all = c->mixed ? fmax(s->all, s->error) : s->all;
    find_paths(s);
    return s->all > nuc_worthwhile(s->error, s->beyond, c->mixed) * (s->all - free) ? s : NULL;
}

/* ---- regions ---- */

struct proposal {
    const struct nuc_width_search *s;
    const struct nuc_width_costs *costs;
    bool *wide;    /* by node id */
    bool *trial;   /* the same, while another value is tried */
    bool *taken;   /* by value: its operators are wide */
    double enough; /* error that is to be reached */
    double error, cycles;
};

/* Of the network, when the values that are free of int8 make none. */
static double error_left(const struct nuc_width_search *s, const bool *wide)
{
    double left = s->all;

    for (uint32_t i = 0; i < s->n_values; i++)
        left -= is_free(&s->values[i], wide) ? s->values[i].error : 0;
    return left > DBL_MIN ? left : DBL_MIN;
}

/* All that is taken, but for one value; NONE: all. */
static void collect(const struct proposal *p, uint32_t without, bool *wide)
{
    memset(wide, 0, p->s->c->g->next_id * sizeof *wide);
    for (uint32_t i = 0; i < p->s->n_values; i++) {
        if (p->taken[i] && i != without)
            add_value(&p->s->values[i], wide);
    }
}

/* Its layers do, whose products are few enough then. */
static bool takes_int16(const struct proposal *p, const struct value *v)
{
    bool all = p->costs->in_layer > 0 && p->s->layers != NULL;

    for (uint32_t i = 0; all && i < v->n_members; i++)
        all = !is_layer(v->members[i]) || p->s->layers[v->members[i]->id];
    return all;
}

static bool may_take(const struct proposal *p, uint32_t i)
{
    const struct value *v = &p->s->values[i];

    return !p->taken[i] && v->may_be_free && (!p->costs->few_products || v->few_products || takes_int16(p, v));
}

/* What the values numbers `from` to `to` - 1 of a path, NONE: of any, gain for a cycle together; 0: too many cycles. */
static double gain_of(const struct proposal *p, uint32_t from, uint32_t to, uint32_t path, double most_cycles)
{
    const struct nuc_width_search *s = p->s;
    uint32_t count = 0;

    memcpy(p->trial, p->wide, s->c->g->next_id * sizeof *p->trial);
    for (uint32_t i = from; i < to; i++) {
        if (!may_take(p, i) || (path != NONE && s->values[i].path != path))
            continue;
        add_value(&s->values[i], p->trial);
        count++;
    }
    if (count < (path == NONE ? 1 : 2))
        return 0;
    double cycles = total_cycles(s->c, s->layers, p->costs, p->trial);
    return cycles > most_cycles ? 0 : log(p->error / error_left(s, p->trial)) / fmax(cycles - p->cycles, 1);
}

/* Takes the value, or the path, that gains most decibels for the cycles that it takes. False: none may be.
 */
static bool take_best(struct proposal *p, double most_cycles)
{
    const uint32_t n = p->s->n_values;
    double best = 0;
    uint32_t from = 0, to = 0, path = NONE;

    for (uint32_t i = 0; i < n; i++) {
        double gain = may_take(p, i) ? gain_of(p, i, i + 1, NONE, most_cycles) : 0;
        if (gain > best) {
            best = gain;
            from = i;
            to = i + 1;
            path = NONE;
        }
        gain = p->costs->by_path && p->s->values[i].path == i ? gain_of(p, 0, n, i, most_cycles) : 0;
        if (gain > best) {
            best = gain;
            from = 0;
            to = n;
            path = i;
        }
    }
    for (uint32_t i = from; i < to; i++) {
        if (may_take(p, i) && (path == NONE || p->s->values[i].path == path)) {
            p->taken[i] = true;
            add_value(&p->s->values[i], p->wide);
        }
    }
    return best > 0;
}

/* What hardly counts goes again, the last first. */
static void prune(struct proposal *p)
{
    for (uint32_t i = p->s->n_values; i-- > 0;) {
        if (!p->taken[i])
            continue;
        collect(p, i, p->trial);
        double left = error_left(p->s, p->trial);
        const struct nuc_calibration *c = p->s->c;
        if (left > (c->mixed ? NUC_NOTICED_OF_MIXED : NUC_NOTICED) * p->error && left > p->enough)
            continue;
        p->taken[i] = false;
        collect(p, NONE, p->wide);
        p->error = error_left(p->s, p->wide);
    }
}

/* Neighbours that take fewer cycles in float than the conversions between them and a region. */
static void close_over(struct proposal *p)
{
    const struct nuc_calibration *c = p->s->c;
    bool changed = true;

    p->cycles = total_cycles(c, p->s->layers, p->costs, p->wide);
    while (changed) {
        changed = false;
        for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
            struct nuc_cursor at = {0, 0};
            bool touches = false;
            for (const struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at))
                touches |= p->wide[in->id];
            for (uint32_t i = 0; i < n->n_users; i++)
                touches |= p->wide[n->users[i]->id];
            if (!touches || p->wide[n->id] || !is_int8(c, n))
                continue;
            p->wide[n->id] = true;
            double cycles = total_cycles(c, p->s->layers, p->costs, p->wide);
            p->wide[n->id] = cycles < p->cycles;
            changed |= p->wide[n->id];
            p->cycles = p->wide[n->id] ? cycles : p->cycles;
        }
    }
}

double nuc_width_propose(const struct nuc_width_search *s, const struct nuc_width_costs *costs, double most_cycles,
                         bool beyond, bool *wide, double *left)
{
    uint32_t n_ids = s->c->g->next_id;
    struct proposal p = {.s = s,
                         .costs = costs,
                         .wide = wide,
                         .trial = nuc_alloc_array(s->c->g->cx, n_ids, sizeof *p.trial),
                         .taken = nuc_alloc_array(s->c->g->cx, s->n_values, sizeof *p.taken),
                         .enough = beyond ? s->small : enough(s),
                         .error = s->all};
    double before;

    memset(wide, 0, n_ids * sizeof *wide);
    before = p.cycles = total_cycles(s->c, s->layers, costs, wide);
    while (p.error > p.enough && take_best(&p, before + most_cycles)) {
        p.cycles = total_cycles(s->c, s->layers, costs, wide);
        p.error = error_left(s, wide);
    }
    prune(&p);
    if (!(s->all > nuc_worthwhile(s->error, s->beyond, s->c->mixed) * p.error))
        return 0;
    close_over(&p);
    *left = p.error / s->all;
    return fmax(p.cycles - before, 1); /* conversions that it does without may be more than it takes */
}
