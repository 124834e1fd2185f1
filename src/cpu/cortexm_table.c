/*
 * Functions of one tensor, value by value, as tables: activations, requantization, arithmetic with single numbers, and
 * whatever chain of them stands between a dequantize and a quantize node. Of int8 a table has all 256 results, of int16
 * some, between which the kernel interpolates.
 */
#include <math.h>
#include <string.h>

#include "cpu/cortexm_site.h"
#include "device/base/sampled.h"
#include "eval/eval.h"
#include "host/numbers.h"
#include "ir/op_list.h"

#define TABLE_SIZE 256

/* What entry `i` of a table is for. */
static double value_at(const struct nuc_cm_value *in, int i)
{
    return (double)(i + INT8_MIN - in->zero_point) * in->scale;
}

/* Half away from zero, as the reference's build_activation_lut. */
static int8_t rounded(double real, const struct nuc_cm_value *to)
{
    double q = round(real / to->scale + (double)to->zero_point);

    if (!(q > INT8_MIN))
        return INT8_MIN;
    return q < INT8_MAX ? (int8_t)q : INT8_MAX;
}

static struct nuc_node *emit_table(struct nuc_cm *c, struct nuc_node *in, const int8_t table[TABLE_SIZE],
                                   const struct nuc_node *like, struct nuc_node *before)
{
    static const int64_t size = TABLE_SIZE;
    struct nuc_node *lut = nuc_cm_constant(c, like, "_lut", NUC_I8, &size, 1, nuc_copy(c->g->cx, table, TABLE_SIZE));

    return nuc_emit(c->g, before, NUC_OP_CORTEXM_ACTIVATION, like, NUC_ARGS(in, lut));
}

struct nuc_node *nuc_cm_requantize(struct nuc_cm *c, const struct nuc_cm_value *from, const struct nuc_cm_value *to,
                                   struct nuc_node *before)
{
    int8_t table[TABLE_SIZE];

    if (nuc_cm_same_params(from, to))
        return from->node;
    if (from->dtype != NUC_I8 || to->dtype != NUC_I8) {
        const struct nuc_int_range range = nuc_int_range(to->dtype);
        const struct nuc_cm_result whole = {.params = *to, .low = range.low, .high = range.high};
        return nuc_cm_emit_requantize(c, from, &whole, (double)(float)from->scale / (double)(float)to->scale, before);
    }
    for (int i = 0; i < TABLE_SIZE; i++)
        table[i] = c->options->as_litert ? nuc_cm_litert_part(from, to, i + INT8_MIN) : rounded(value_at(from, i), to);
    return emit_table(c, from->node, table, to->node != NULL ? to->node : from->node, before);
}

void nuc_cm_replace_as(struct nuc_cm *c, const struct nuc_cm_value *in, const struct nuc_cm_result *result,
                       struct nuc_node *node)
{
    struct nuc_cm_value made = *in;
    struct nuc_node *before = nuc_is_call(node) ? node->next : nuc_cm_place(result);

    made.node = node;
    nuc_cm_replace(c, result, nuc_cm_requantize(c, &made, &result->params, before));
}

/* ---- chains of functions ---- */

/* Computed value by value when all operands are one tensor or single numbers. */
bool nuc_cm_is_pointwise(enum nuc_op op)
{
    static const bool families[NUC_FAMILY_COUNT] = {
        [NUC_FAMILY_MAP] = true,
        [NUC_FAMILY_BINARY] = true,
        [NUC_FAMILY_COMPARE] = true,
        [NUC_FAMILY_COPY] = true,
    };

    return families[nuc_op_family(op)] || op == NUC_OP_WHERE;
}

/* A copy in another type does, too; in another dim order alone it is a move. */
static bool is_cast(const struct nuc_node *node)
{
    return nuc_op_family(node->op) == NUC_FAMILY_CAST && nuc_arg_node(node, NUC_SELF) != NULL &&
           node->vals[0].dtype != nuc_input_meta(node, NUC_SELF)->dtype;
}

/* The reference makes tables of these alone; of a hardswish it makes a minimum and a product. */
static const enum nuc_op *const reference_tables = NUC_OPS(NUC_OP_HARDSWISH, NUC_OP_SIGMOID, NUC_OP_TANH, NUC_OP_GELU);

#define MAX_CHAIN 32

struct chain {
    struct nuc_cm *c;
    struct nuc_cm_value in; /* node NULL before one is found */
    uint32_t n_nodes;
    struct nuc_node *nodes[MAX_CHAIN]; /* every one after its readers */
    bool ok;
};

/* A constant number, or one for all elements, quantized, in another type or as it is. */
static bool is_number(const struct nuc_node *node)
{
    const struct nuc_node *source = nuc_is_dequantize(node) || is_cast(node) ? nuc_arg_node(node, NUC_SELF) : node;

    if (source == NULL || !nuc_is_static(source) || node->n_vals != 1)
        return false;
    if (nuc_elements(&node->vals[0]) == 1)
        return true;
    const size_t size = nuc_dtype_size(source->vals[0].dtype), all = nuc_bytes(&source->vals[0]);
    const struct nuc_span bytes = source->data->bytes;
    return all > 0 && bytes.size == all && memcmp(bytes.data, bytes.data + size, all - size) == 0;
}

static bool is_listed(const struct chain *v, const struct nuc_node *node)
{
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        if (v->nodes[i] == node)
            return true;
    }
    return false;
}

static void visit(struct chain *v, struct nuc_node *input)
{
    struct nuc_cm_value value;

    if (is_number(input) || is_listed(v, input))
        return;
    if (nuc_is_dequantize(input)) {
        bool usable = nuc_cm_values(input, &value);
        bool first = v->in.node == NULL;
        v->ok = v->ok && usable && (first || (value.node == v->in.node && nuc_cm_same_params(&value, &v->in)));
        if (first && usable)
            v->in = value;
        return;
    }
    v->ok = v->ok && (nuc_cm_is_pointwise(input->op) || is_cast(input)) && !input->is_tuple && v->n_nodes < MAX_CHAIN;
    if (v->ok)
        v->nodes[v->n_nodes++] = input;
}

/* The chain that ends in `last`; false when it depends on more than one tensor or does not go value by value. */
static bool find_chain(struct nuc_cm *c, struct nuc_node *last, struct chain *v)
{
    *v = (struct chain){.c = c, .ok = true};
    visit(v, last);
    for (uint32_t i = 0; v->ok && i < v->n_nodes; i++) {
        const struct nuc_node *n = v->nodes[i];
        struct nuc_cursor at = {0, 0};
        for (struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at))
            visit(v, in);
    }
    if (!v->ok || v->in.node == NULL || nuc_is_static(v->in.node))
        return false;
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        const struct nuc_meta *m = &v->nodes[i]->vals[0];
        if (!nuc_same_sizes(m, &v->in.node->vals[0]) && nuc_elements(m) != 1)
            return false;
    }
    return v->n_nodes > 0 && nuc_same_sizes(&last->vals[0], &v->in.node->vals[0]);
}

/*
 * A line, which no table of lines bends, with a number: a positive factor is another scale, and of many values the rest
 * is a table, which would be larger than fewer are. LiteRT rounds the number, too.
 */
static bool is_line(const struct nuc_cm *c, const struct nuc_node *node)
{
    const struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);
    bool line = nuc_op_is_in(node->op, NUC_OPS(NUC_OP_ADD, NUC_OP_SUB, NUC_OP_MUL)) ||
                (node->op == NUC_OP_DIV && b != NULL && is_number(b));
    double number;

    for (uint32_t i = 0; i < node->n_users; i++)
        line = line && nuc_is_quantize(node->users[i]);
    if (!line || c->options->as_litert)
        return false;
    bool scales =
        node->op == NUC_OP_MUL && (nuc_cm_number(c->g, a, &number) || nuc_cm_number(c->g, b, &number)) && number > 0;
    return scales || nuc_elements(&node->vals[0]) >= 2 * NUC_EVEN;
}

bool nuc_cm_is_table(struct nuc_cm *c, struct nuc_node *node)
{
    struct chain v;

    return find_chain(NULL, node, &v) && (v.in.dtype == NUC_I8 || (v.in.dtype == NUC_I16 && is_line(c, node)));
}

/* ---- computing ---- */

/* The first element; NULL: it is not known. */
static const void *element_of(struct nuc_graph *g, const struct nuc_node *node)
{
    void *computed = NULL;
    const void *bytes = nuc_is_static(node) ? nuc_const_contiguous(g, node) : NULL;

    return bytes == NULL && nuc_eval_constant(g, node, &computed) ? computed : bytes;
}

static double number_of(struct nuc_graph *g, const struct nuc_node *node)
{
    const void *bytes = element_of(g, node);

    return bytes == NULL ? 0.0 : nuc_number_at(node->vals[0].dtype, bytes, 0);
}

bool nuc_cm_number(struct nuc_graph *g, const struct nuc_node *node, double *number)
{
    bool is = node != NULL && is_number(node);

    *number = is ? number_of(g, node) : 0;
    return is;
}

struct copying {
    struct chain *v;
    struct nuc_graph *table;
    struct nuc_node *x;
    struct nuc_node *copies[MAX_CHAIN];
};

/* What stands for `node` in the graph of the table. */
static struct nuc_node *counterpart(struct copying *k, const struct nuc_node *node)
{
    for (uint32_t i = 0; i < k->v->n_nodes; i++) {
        if (k->v->nodes[i] == node)
            return k->copies[i];
    }
    if (!is_number(node))
        return k->x;
    enum nuc_dtype dtype = node->vals[0].dtype;
    const void *element = nuc_is_floating(dtype) ? NULL : element_of(k->v->c->g, node);
    float value = (float)number_of(k->v->c->g, node);
    struct nuc_meta one = nuc_meta_make(element != NULL ? dtype : NUC_F32, (int64_t[]){1}, 1);
    return nuc_add_constant(k->table, "number", &one, element != NULL ? element : &value);
}

static struct nuc_node *copy_node(struct copying *k, const struct nuc_node *node)
{
    bool renames = nuc_op_family(node->op) == NUC_FAMILY_COPY;
    enum nuc_op op = renames ? NUC_OP_ALIAS : is_cast(node) ? NUC_OP_TO_DTYPE : node->op;
    struct nuc_node *copy = nuc_add_node(k->table, NULL, op, NULL);

    if (op == NUC_OP_TO_DTYPE) {
        nuc_set_arg_node(copy, k->table, NUC_SELF, counterpart(k, nuc_arg_node(node, NUC_SELF)));
        nuc_set_arg_dtype(copy, NUC_ARG(TO_DTYPE, dtype), node->vals[0].dtype);
        nuc_infer_shape(k->table, copy);
        return copy;
    }
    for (uint32_t i = 0; i < copy->n_args; i++) {
        if (node->args[i].kind == NUC_ARG_NODE)
            nuc_set_arg_node(copy, k->table, i, counterpart(k, node->args[i].u.node));
        else
            copy->args[i] = node->args[i];
    }
    nuc_infer_shape(k->table, copy);
    return copy;
}

/*
 * The order of computation, which ends with `last`: readers were listed first, but a node may have been listed by its
 * first reader only.
 */
static void sort_chain(struct chain *v, struct nuc_node *last)
{
    struct nuc_node *sorted[MAX_CHAIN];

    for (uint32_t left = v->n_nodes; left > 0; last = last->prev) {
        if (is_listed(v, last))
            sorted[--left] = last;
    }
    memcpy(v->nodes, sorted, v->n_nodes * sizeof(struct nuc_node *));
}

/* The chain over `count` values: float32 or truths, as the last operator makes them. */
static void evaluate(struct chain *v, const struct nuc_node *last, const float *x, int64_t count, void *results)
{
    struct nuc_context *cx = v->c->g->cx;
    struct nuc_arena *outer = nuc_push_arena(cx);
    struct copying k = {.v = v, .table = nuc_graph_new(cx, v->c->g->file)};
    struct nuc_meta meta = nuc_meta_make(NUC_F32, (int64_t[]){count}, 1);
    void *outputs[1] = {results};
    const void *inputs[1] = {x};

    k.x = nuc_add_placeholder(k.table, "x", NUC_USER_INPUT, &meta);
    sort_chain(v, v->nodes[0]);
    for (uint32_t i = 0; i < v->n_nodes; i++)
        k.copies[i] = copy_node(&k, v->nodes[i]);
    struct nuc_node *result = counterpart(&k, last);
    struct nuc_node *output = nuc_add_node(k.table, NULL, NUC_OP_OUTPUT, "output");
    nuc_set_arg_nodes(output, k.table, NUC_ARG(OUTPUT, values), &result, 1);
    nuc_infer_shape(k.table, output);
    nuc_eval_run(nuc_eval_new(k.table, 1), inputs, outputs);
    nuc_pop_arena(cx, outer);
}

/* All values that an int8 tensor can take. */
static void evaluate_int8(struct chain *v, const struct nuc_node *last, void *results)
{
    float x[TABLE_SIZE];

    for (int i = 0; i < TABLE_SIZE; i++)
        x[i] = (float)value_at(&v->in, i);
    evaluate(v, last, x, TABLE_SIZE, results);
}

static double gelu(double x)
{
    return 0.5 * x * (1 + erf(x / sqrt(2)));
}

static double sigmoid(double x)
{
    double e = exp(-fabs(x));

    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

typedef double real_function(double x);

/* What the reference computes in double; NULL: nothing, a table is computed by the evaluator. */
static real_function *exact_function(const struct chain *v)
{
    const struct nuc_node *node = v->nodes[0];

    if (v->n_nodes != 1)
        return NULL;
    if (node->op == NUC_OP_SIGMOID)
        return sigmoid;
    if (node->op == NUC_OP_TANH)
        return tanh;
    return node->op == NUC_OP_GELU && strcmp(node->args[NUC_ARG(GELU, approximate)].u.string, "none") == 0 ? gelu
                                                                                                           : NULL;
}

/* ---- int16: some results, in between by interpolation ---- */

#define FIRST (INT16_MIN - 1) /* the numbers that tables have results of, and all between them */
#define NUMBERS (65536 + 2)

/* In steps of the result; NaN is the least. */
static double steps_of(float result, double scale, int32_t most)
{
    double steps = round((double)result / scale);

    return steps > -most - 1 ? fmin(steps, most) : -most - 1;
}

/* In squares of steps: what rounding makes on average of 12 bits, half of what int16 has over int8. */
#define MOST_ERROR (16.0 * 16.0 / 12)

/*
 * Of both forms of tables the one whose squared errors, each by the distance of its number from 0 and 256, add up to
 * less: numbers about 0 are the most frequent. NULL where even these are above those of 12 bits, as of a sine that has
 * many periods or of steps.
 */
static struct nuc_node *best_samples(struct nuc_cm *c, const struct nuc_node *like, const float *results, double scale)
{
    const int64_t n_even = NUC_EVEN, n_octaves = 2 * NUC_OCTAVES;
    int32_t *even = nuc_alloc_array(c->g->cx, NUC_EVEN, sizeof *even);
    int32_t *octaves = nuc_alloc_array(c->g->cx, 2 * NUC_OCTAVES, sizeof *octaves);
    double error_even = 0, error_octaves = 0, most = 0;

    for (int32_t i = 0; i < NUC_EVEN; i++)
        even[i] = (int32_t)steps_of(results[nuc_even_number(i) - FIRST], scale, NUC_MOST_SAMPLE);
    for (int32_t i = 0; i < 2 * NUC_OCTAVES; i++)
        octaves[i] = (int32_t)steps_of(results[nuc_octave_number(i) - FIRST], scale, NUC_MOST_SAMPLE);
    for (int32_t q = INT16_MIN; q <= INT16_MAX; q++) {
        double steps = steps_of(results[q - FIRST], scale, INT16_MAX), weight = 1 / (256 + fabs((double)q));
        double of_even = nuc_clamp_i32(nuc_even_value(even, q), INT16_MIN, INT16_MAX) - steps;
        double of_octaves = nuc_clamp_i32(nuc_octave_value(octaves, q), INT16_MIN, INT16_MAX) - steps;
        error_even += of_even * of_even * weight;
        error_octaves += of_octaves * of_octaves * weight;
        most += MOST_ERROR * weight;
    }
    if (fmin(error_even, error_octaves) > most)
        return NULL;
    if (error_even <= error_octaves)
        return nuc_cm_constant(c, like, "_samples", NUC_I32, &n_even, 1, even);
    return nuc_cm_constant(c, like, "_samples", NUC_I32, &n_octaves, 1, octaves);
}

/* The kernel is of int16 to int16: an int8 tensor at either end is one of 128 times as many steps. */
static struct nuc_cm_value widened(const struct nuc_cm_value *v)
{
    return v->dtype == NUC_I16 ? *v : (struct nuc_cm_value){.node = v->node, .dtype = NUC_I16, .scale = v->scale / 128};
}

static bool lower_wide_chain(struct nuc_cm *c, struct chain *v, struct nuc_node *last, const struct nuc_cm_result *out)
{
    struct nuc_cm_value in = widened(&v->in), made = widened(&out->params);

    if (!nuc_cm_is_own(c) || last->vals[0].dtype != NUC_F32)
        return false;
    struct nuc_node *before = nuc_cm_place(out);
    float *x = nuc_alloc_array(c->g->cx, NUMBERS, sizeof *x), *results = nuc_alloc_array(c->g->cx, NUMBERS, sizeof *x);
    for (int32_t i = 0; i < NUMBERS; i++)
        x[i] = (float)((FIRST + i) * in.scale);
    evaluate(v, last, x, NUMBERS, results);
    struct nuc_node *samples = best_samples(c, last, results, made.scale);
    if (samples == NULL)
        return false;
    in.node = nuc_cm_requantize(c, &v->in, &in, before);
    made.node = nuc_emit(c->g, before, NUC_OP_NUCLEON_FUNCTION, out->value, NUC_ARGS(in.node, samples));
    return nuc_cm_replace(c, out, nuc_cm_requantize(c, &made, &out->params, before));
}

bool nuc_cm_lower_table(struct nuc_cm *c, struct nuc_node *quantize)
{
    struct nuc_node *last = nuc_arg_node(quantize, NUC_SELF);
    struct nuc_cm_result out;
    struct nuc_cm_value in;
    struct chain v;
    int8_t table[TABLE_SIZE];

    if (!nuc_cm_result(last, false, &out))
        return false;
    if (nuc_is_dequantize(last)) {
        if (c->options->reference_compat || out.params.dtype != NUC_I8 || !nuc_cm_int8(last, &in) ||
            nuc_is_static(in.node))
            return false;
        if (!nuc_cm_same_params(&in, &out.params) && nuc_cm_litert_table(c, NULL, &in, &out.params, table))
            nuc_cm_replace(c, &out, emit_table(c, in.node, table, in.node, last->next));
        else
            nuc_cm_replace(c, &out, nuc_cm_requantize(c, &in, &out.params, last->next));
        return true;
    }
    if (!find_chain(c, last, &v))
        return false;
    if (v.in.dtype != NUC_I8 || out.params.dtype != NUC_I8)
        return lower_wide_chain(c, &v, last, &out);
    if (c->options->reference_compat && (v.n_nodes != 1 || !nuc_op_is_in(last->op, reference_tables)))
        return false;
    if (v.n_nodes == 1 && nuc_cm_litert_table(c, last, &v.in, &out.params, table))
        return nuc_cm_replace(c, &out, emit_table(c, v.in.node, table, last, last->next));
    real_function *exact = exact_function(&v);
    float results[TABLE_SIZE];
    if (exact == NULL)
        evaluate_int8(&v, last, results);
    for (int i = 0; i < TABLE_SIZE; i++)
        table[i] = rounded(exact != NULL ? exact(value_at(&v.in, i)) : (double)results[i], &out.params);
    return nuc_cm_replace(c, &out, emit_table(c, v.in.node, table, last, last->next));
}

/* ---- truths ---- */

static struct nuc_node *truth_table(struct nuc_cm *c, struct chain *v, struct nuc_node *last)
{
    static const int64_t size = TABLE_SIZE;
    bool truths[TABLE_SIZE];

    evaluate_int8(v, last, truths);
    struct nuc_node *table =
        nuc_cm_constant(c, last, "_truths", NUC_BOOL, &size, 1, nuc_copy(c->g->cx, truths, sizeof truths));
    return nuc_emit(c->g, last->next, NUC_OP_NUCLEON_TEST, last, NUC_ARGS(v->in.node, table));
}

/*
 * Both as multiples of twice the larger scale, as a sum has them: equal scales give equal multipliers. NULL: it is no
 * comparison.
 */
static struct nuc_node *comparison(struct nuc_cm *c, struct nuc_node *node)
{
    static const enum nuc_op relations[] = {NUC_OP_EQ, NUC_OP_NE, NUC_OP_LT, NUC_OP_LE, NUC_OP_GT, NUC_OP_GE};
    int64_t relation = sizeof relations / sizeof *relations - 1;
    struct nuc_cm_value a, b;

    while (relation >= 0 && relations[relation] != node->op)
        relation--;
    if (relation < 0 || !nuc_cm_tensor(node, NUC_SELF, &a) || !nuc_cm_tensor(node, NUC_OTHER, &b) || a.dtype != b.dtype)
        return NULL;
    double twice_max = 2 * (a.scale > b.scale ? a.scale : b.scale);
    struct nuc_multiplier m = nuc_cm_multiplier(a.scale / twice_max), n = nuc_cm_multiplier(b.scale / twice_max);
    return nuc_emit(
        c->g, node->next, NUC_OP_NUCLEON_COMPARE, node,
        NUC_ARGS(a.node, a.zero_point, m.multiplier, m.shift, b.node, b.zero_point, n.multiplier, n.shift, relation));
}

bool nuc_cm_lower_truth(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_node *next = node->next, *truths;
    struct chain v;

    if (c->options->executorch_ops_only || !nuc_cm_is_pointwise(node->op))
        return false;
    truths = find_chain(c, node, &v) && v.in.dtype == NUC_I8 ? truth_table(c, &v, node) : comparison(c, node);
    if (truths == NULL)
        return false;
    nuc_replace_uses(c->g, node, nuc_cm_in_order(c, truths, &node->vals[0], next), NULL);
    return true;
}
