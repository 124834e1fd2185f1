#include "teacher.h"

#include <string.h>

#include "device/base/sampled.h"
#include "driver/driver.h"
#include "ir/args.h"
#include "ir/quant.h"

/*
 * Every operator the table does not name moves, selects or clips quantized values of one scale and zero point: both
 * sides have to give the same bytes.
 */
#define FIXED_POINT "the multiplier is a 31-bit fraction and rounding takes two steps, the evaluator multiplies floats"
#define TIES "halves are rounded away from zero, in the quantized graph to even"
#define RESCALED "the result has another scale, and the 31-bit factor between the two is not a float"
#define TABLE "LiteRT multiplies values by the reciprocal of the scale, in float, to fill its table"
#define ON_THE_CPU "it is computed in float on the CPU, in another order"
#define IN_FLOAT "a sum of exponentials and its logarithm are float"
#define EXPONENTIAL "exponentials and the division are fixed-point numbers of a few dozen bits"

static const char *const reasons[NUC_OP_COUNT] = {
    [NUC_OP_CONV2D] = FIXED_POINT,
    [NUC_OP_CONV2D_PADDING] = FIXED_POINT,
    [NUC_OP_CONV1D] = FIXED_POINT,
    [NUC_OP_CONV1D_PADDING] = FIXED_POINT,
    [NUC_OP_CONV_TRANSPOSE1D] = FIXED_POINT,
    [NUC_OP_CONV_TRANSPOSE2D] = FIXED_POINT,
    [NUC_OP_LINEAR] = FIXED_POINT,
    [NUC_OP_ADDMM] = FIXED_POINT,
    [NUC_OP_MM] = FIXED_POINT,
    [NUC_OP_BMM] = FIXED_POINT,
    [NUC_OP_MATMUL] = FIXED_POINT,
    [NUC_OP_ADD] = FIXED_POINT,
    [NUC_OP_SUB] = FIXED_POINT,
    [NUC_OP_MUL] = FIXED_POINT,
    [NUC_OP_DIV] = FIXED_POINT,
    [NUC_OP_LEAKY_RELU] = FIXED_POINT,
    [NUC_OP_PRELU] = FIXED_POINT,
    [NUC_OP_HARDSWISH] = FIXED_POINT,
    [NUC_OP_UPSAMPLE_BILINEAR] = TIES,
    [NUC_OP_AVG_POOL1D] = TIES,
    [NUC_OP_AVG_POOL2D] = TIES,
    [NUC_OP_ADAPTIVE_AVG_POOL2D] = TIES,
    [NUC_OP_MEAN_DIM] = FIXED_POINT,
    [NUC_OP_RELU] = RESCALED,
    [NUC_OP_RELU6] = RESCALED,
    [NUC_OP_HARDTANH] = RESCALED,
    [NUC_OP_CLAMP] = RESCALED,
    [NUC_OP_ABS] = RESCALED,
    [NUC_OP_NEG] = RESCALED,
    [NUC_OP_BATCH_NORM] = ON_THE_CPU,
    [NUC_OP_SILU] = ON_THE_CPU,
    [NUC_OP_GELU] = ON_THE_CPU,
    [NUC_OP_HARDSIGMOID] = ON_THE_CPU,
    [NUC_OP_EXP] = TABLE,
    [NUC_OP_SIGMOID] = TABLE,
    [NUC_OP_TANH] = TABLE,
    [NUC_OP_LOG] = TABLE,
    [NUC_OP_RSQRT] = TABLE,
    [NUC_OP_SQRT] = ON_THE_CPU,
    [NUC_OP_ELU] = ON_THE_CPU,
    [NUC_OP_SELU] = ON_THE_CPU,
    [NUC_OP_CELU] = ON_THE_CPU,
    [NUC_OP_SOFTPLUS] = ON_THE_CPU,
    [NUC_OP_MISH] = ON_THE_CPU,
    [NUC_OP_LOG_SIGMOID] = ON_THE_CPU,
    [NUC_OP_POW_SCALAR] = ON_THE_CPU,
    [NUC_OP_RECIPROCAL] = ON_THE_CPU,
    [NUC_OP_ERF] = ON_THE_CPU,
    [NUC_OP_ATAN] = ON_THE_CPU,
    [NUC_OP_SOFTMAX] = EXPONENTIAL,
    [NUC_OP_LOG_SOFTMAX] = IN_FLOAT,
};

const char *teacher_reason(enum nuc_op op)
{
    return reasons[op];
}

/* Values that depend on user inputs, by node id. */
static bool *find_live(const struct nuc_graph *g)
{
    bool *live = nuc_alloc_array(g->cx, g->next_id, sizeof *live);

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        live[n->id] |= nuc_is_placeholder(n) && n->input_kind == NUC_USER_INPUT;
        for (uint32_t i = 0; live[n->id] && i < n->n_users; i++)
            live[n->users[i]->id] = true;
    }
    return live;
}

static bool is_taught(const struct nuc_node *n, const bool *live)
{
    return n->op == NUC_OP_QUANTIZE_PER_TENSOR && live[n->id];
}

static void note_op(struct teacher_value *v, enum nuc_op op)
{
    unsigned at = 0;

    while (at < v->n_ops && v->ops[at] < op)
        at++;
    if ((at < v->n_ops && v->ops[at] == op) || v->n_ops == TEACHER_MAX_OPS)
        return;
    memmove(v->ops + at + 1, v->ops + at, (v->n_ops - at) * sizeof v->ops[0]);
    v->ops[at] = op;
    v->n_ops++;
    v->exact = v->exact && reasons[op] == NULL;
}

/* What goes from one scale to another is rounded on the NPU as LiteRT does it, ties away from zero. */
static bool has_other_parameters(const struct nuc_node *dequantize, const struct nuc_node *quantize)
{
    struct nuc_quant a, b;

    return nuc_quant_of(dequantize, &a) && nuc_quant_of(quantize, &b) && !nuc_same_parameters(&a, &b);
}

/* Operators from the quantize node back to quantized values, inputs and constants. */
static void find_ops(const struct nuc_graph *g, const bool *live, struct teacher_value *v)
{
    bool *wanted = nuc_alloc_array(g->cx, g->next_id, sizeof *wanted);
    struct nuc_node *inputs[64];
    unsigned n_sources = 0;

    wanted[v->quantize->args[0].u.node->id] = true;
    for (const struct nuc_node *n = v->quantize->prev; n != NULL; n = n->prev) {
        if (!wanted[n->id] || !live[n->id] || nuc_is_placeholder(n))
            continue;
        if (nuc_is_dequantize(n)) {
            v->exact = v->exact && !has_other_parameters(n, v->quantize);
            v->source = ++n_sources == 1 ? nuc_arg_node(n, NUC_SELF) : NULL;
            continue;
        }
        if (n->op != NUC_OP_GETITEM)
            note_op(v, n->op);
        uint32_t count = nuc_inputs(n, inputs, 64);
        for (uint32_t i = 0; i < count && i < 64; i++)
            wanted[inputs[i]->id] = true;
    }
}

static void describe(const struct nuc_graph *g, const bool *live, const struct nuc_node *q, struct teacher_value *v)
{
    const struct nuc_arg *scale = &q->args[1];

    *v = (struct teacher_value){.quantize = q,
                                .scale = scale->kind == NUC_ARG_INT ? (double)scale->u.i : scale->u.f,
                                .zero = q->args[2].u.i,
                                .low = q->args[3].u.i,
                                .high = q->args[4].u.i,
                                .dtype = q->vals[0].dtype,
                                .elements = (size_t)nuc_elements(&q->vals[0]),
                                .exact = true};
    find_ops(g, live, v);
}

/* ---- the two graphs ---- */

static struct nuc_graph *expose(const struct teacher *t, const struct nuc_graph *from)
{
    struct nuc_graph *g = nuc_graph_copy(from);
    struct nuc_node *output = nuc_output_node(g);
    struct nuc_node **results = nuc_alloc_array(g->cx, t->n_outputs + t->n_values, sizeof(struct nuc_node *));

    memcpy(results, output->args[0].u.nodes, t->n_outputs * sizeof(struct nuc_node *));
    for (uint32_t i = 0; i < t->n_values; i++)
        results[t->n_outputs + i] = nuc_probe_quantized(g, nuc_find_node(g, t->values[i].quantize->name));
    nuc_set_arg_nodes(output, g, 0, results, t->n_outputs + t->n_values);
    nuc_graph_verify(g, "expose");
    return g;
}

/* What int16 cuts off is between 16 and 21 bits wide. */
static void widen(struct nuc_graph *g, struct nuc_node *node)
{
    nuc_set_arg_dtype(node, NUC_ARG(QUANTIZE_PER_TENSOR, dtype), NUC_I32);
    nuc_set_arg_int(node, NUC_ARG(QUANTIZE_PER_TENSOR, quant_min), -NUC_MOST_SAMPLE - 1);
    nuc_set_arg_int(node, NUC_ARG(QUANTIZE_PER_TENSOR, quant_max), NUC_MOST_SAMPLE);
    nuc_infer_shape(g, node);
}

static struct nuc_graph *teach(const struct teacher *t, const struct nuc_graph *from)
{
    struct nuc_graph *g = nuc_graph_copy(from);
    struct nuc_node *output = nuc_output_node(g);
    struct nuc_node **results = nuc_alloc_array(g->cx, t->n_outputs + t->n_values, sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < t->n_values; i++) {
        struct nuc_node *q = nuc_find_node(g, t->values[i].quantize->name);
        const bool wide = t->values[i].dtype == NUC_I16;
        if (wide)
            widen(g, q);
        struct nuc_node *given = nuc_add_placeholder(g, "taught", NUC_USER_INPUT, &q->vals[0]);
        nuc_replace_uses(g, q, given, NULL);
        for (uint32_t k = 0; wide && k < given->n_users; k++)
            widen(g, given->users[k]);
        results[i] = q;
    }
    memcpy(results + t->n_values, output->args[0].u.nodes, t->n_outputs * sizeof(struct nuc_node *));
    nuc_set_arg_nodes(output, g, 0, results, t->n_outputs + t->n_values);
    nuc_graph_verify(g, "teach");
    return g;
}

struct teacher teacher_make(const struct nuc_graph *quantized)
{
    struct teacher t = {.n_outputs = nuc_output_node(quantized)->args[0].count};
    const bool *live = find_live(quantized);

    t.values = nuc_alloc_array(quantized->cx, quantized->n_nodes, sizeof *t.values);
    for (const struct nuc_node *n = quantized->first; n != NULL; n = n->next) {
        t.n_inputs += nuc_is_placeholder(n) && n->input_kind == NUC_USER_INPUT;
        if (is_taught(n, live))
            describe(quantized, live, n, &t.values[t.n_values++]);
    }
    t.exposed = expose(&t, quantized);
    t.taught = teach(&t, quantized);
    return t;
}
