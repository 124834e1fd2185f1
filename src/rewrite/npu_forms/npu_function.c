/* Which functions there are, what they are made of, and the nodes of one. */
#include "rewrite/npu_forms/npu_function.h"

#include <math.h>

#include "eval/eval.h"
#include "ir/args.h"
#include "ir/float_chain.h"
#include "npu/support/estimate.h"
#include "rewrite/expand/expand.h"
#include "rewrite/recognize/written.h"

/* ---- expressions ---- */

#define X NUC_FUNCTION_X
#define F(op, a)                                                                                                       \
    {                                                                                                                  \
        NUC_OP_##op, (a), NUC_FUNCTION_NOTHING, 0, {0}, 0, 0                                                           \
    }
#define B(op, a, b)                                                                                                    \
    {                                                                                                                  \
        NUC_OP_##op, (a), (b), 0, {0}, 0, 0                                                                            \
    }
#define N(op, a, number)                                                                                               \
    {                                                                                                                  \
        NUC_OP_##op, (a), NUC_FUNCTION_NUMBER, (number), {0}, 0, 0                                                     \
    }
#define P(op, a, number, ...)                                                                                          \
    {                                                                                                                  \
        NUC_OP_##op, (a), NUC_FUNCTION_NUMBER, (number), {__VA_ARGS__}, 0, 0                                           \
    }
#define P_ABOVE_0(op, a, number, ...)                                                                                  \
    {                                                                                                                  \
        NUC_OP_##op, (a), NUC_FUNCTION_NUMBER, (number), {__VA_ARGS__}, 0, HUGE_VAL                                    \
    }
#define B_WITHIN(op, a, b, low, high)                                                                                  \
    {                                                                                                                  \
        NUC_OP_##op, (a), (b), 0, {0}, (low), (high)                                                                   \
    }
typedef const struct nuc_function_step steps;

/* A gate's scale of 1/256 lets it reach 255/256 only: taken as this much larger it errs by half a step at both ends. */
#define FULL_GATE (256.0 / 255.5)
/* Beyond it a sigmoid is 0 or 1 in int8. */
#define GATE_END 6.5

static steps silu[] = {F(SIGMOID, X), B(MUL, X, 1)};
static steps silu_full[] = {F(SIGMOID, X), N(MUL, 1, FULL_GATE), B(MUL, X, 2)};
/* relu(x) - |x| sigmoid(-|x|): the difference is small, and so are its errors. */
static steps silu_apart[] = {F(ABS, X),    N(MUL, 1, -1), F(SIGMOID, 2), F(ABS, X),
                             B(MUL, 3, 4), F(RELU, X),    B(SUB, 6, 5)};
/* The same with e^(-|x| / 2) squared times sigmoid(|x|): far out a root's steps are the finer ones. */
static steps silu_root[] = {F(ABS, X),     N(MUL, 1, -0.5), F(EXP, 2),  B(MUL, 1, 3), B(MUL, 4, 3),
                            F(SIGMOID, 1), B(MUL, 5, 6),    F(RELU, X), B(SUB, 8, 7)};

/* x sigmoid(x (1.5957691 + 0.0713548 x^2)): the form of the tangent, which differs from that of erf by 5e-4. */
#define GELU_GATE                                                                                                      \
    B(MUL, X, X), N(MUL, 1, 0.0713548163), N(ADD, 2, 1.5957691216), B_WITHIN(MUL, X, 3, -GATE_END, GATE_END),          \
        F(SIGMOID, 4)
static steps gelu[] = {GELU_GATE, B(MUL, X, 5)};
static steps gelu_full[] = {GELU_GATE, N(MUL, 5, FULL_GATE), B(MUL, X, 6)};
/* Beyond 4.5 the gate is 0 or 1: of a wide x what it is made of has finer steps. */
#define GELU_NEAR_GATE                                                                                                 \
    {NUC_OP_MUL, X, NUC_FUNCTION_NUMBER, 1, {0}, -4.5, 4.5}, B(MUL, 1, 1), N(MUL, 2, 0.0713548163),                    \
        N(ADD, 3, 1.5957691216), B_WITHIN(MUL, 1, 4, -GATE_END, GATE_END), F(SIGMOID, 5)
static steps gelu_near[] = {GELU_NEAR_GATE, B(MUL, X, 6)};
static steps gelu_near_full[] = {GELU_NEAR_GATE, N(MUL, 6, FULL_GATE), B(MUL, X, 7)};
static steps gelu_apart[] = {F(ABS, X),
                             B(MUL, X, X),
                             N(MUL, 2, -0.0713548163),
                             N(ADD, 3, -1.5957691216),
                             B_WITHIN(MUL, 1, 4, -GATE_END, 0),
                             F(SIGMOID, 5),
                             B(MUL, 1, 6),
                             F(RELU, X),
                             B(SUB, 8, 7)};
/* As silu_root; beyond 12 even the root of the gate is 0. */
static steps gelu_root[] = {F(ABS, X),
                            B(MUL, X, X),
                            N(MUL, 2, 0.0713548163),
                            N(ADD, 3, 1.5957691216),
                            B_WITHIN(MUL, 1, 4, 0, 12),
                            N(MUL, 5, -0.5),
                            F(EXP, 6),
                            B(MUL, 1, 7),
                            B(MUL, 8, 7),
                            F(SIGMOID, 5),
                            B(MUL, 9, 10),
                            F(RELU, X),
                            B(SUB, 12, 11)};

/* The parameters are alpha, scale and input_scale: max(x, 0) scale + (exp(min(x, 0) input_scale) - 1) alpha scale. */
static steps elu[] = {F(RELU, X), P(MUL, 1, 1, 0, 1), N(MUL, X, -1),      F(RELU, 3),  P(MUL, 4, -1, 0, 0, 1),
                      F(EXP, 5),  N(ADD, 6, -1),      P(MUL, 7, 1, 1, 1), B(ADD, 2, 8)};
/* x + n n (0.5 - n (0.1561 - 0.024 n)), n = max(-x, 0): of a narrow x what is added is small, and so are its errors. */
static steps elu_near[] = {N(MUL, X, -1), F(RELU, 1),     B(MUL, 2, 2), N(MUL, 2, 0.024), N(ADD, 4, -0.1561),
                           B(MUL, 2, 5),  N(ADD, 6, 0.5), B(MUL, 3, 7), B(ADD, X, 8)};
/* max(x, 0) + (exp(min(x, 0) / alpha) - 1) alpha */
static steps celu[] = {F(RELU, X), N(MUL, X, -1), F(RELU, 2),      P(MUL, 3, -1, -1),
                       F(EXP, 4),  N(ADD, 5, -1), P(MUL, 6, 1, 1), B(ADD, 1, 7)};
static steps selu[] = {F(RELU, X),    N(MUL, 1, NUC_SELU_SCALE),
                       N(MUL, X, -1), F(RELU, 3),
                       N(MUL, 4, -1), F(EXP, 5),
                       N(ADD, 6, -1), N(MUL, 7, NUC_SELU_ALPHA *NUC_SELU_SCALE),
                       B(ADD, 2, 8)};

/* max(x, 0) - log(sigmoid(|x| beta)) / beta */
static steps softplus[] = {F(ABS, X),         P(MUL, 1, 1, 1), F(SIGMOID, 2), F(LOG, 3),
                           P(MUL, 4, -1, -1), F(RELU, X),      B(ADD, 5, 6)};
/* log(sigmoid(|x|)) - max(-x, 0) */
static steps log_sigmoid[] = {F(ABS, X), F(SIGMOID, 1), F(LOG, 2), N(MUL, X, -1), F(RELU, 4), B(SUB, 3, 5)};

/* x tanh(log(1 + e^x)) = x sigmoid(x + log(1 + e^x / 2)), the logarithm max(v, 0) - log(sigmoid(|v|)), v = x - log 2 */
#define MISH_GATE                                                                                                      \
    N(ADD, X, -M_LN2), F(ABS, 1), F(SIGMOID, 2), F(LOG, 3), N(ADD, X, -M_LN2), F(RELU, 5), B(SUB, 6, 4),               \
        B_WITHIN(ADD, X, 7, -GATE_END, GATE_END), F(SIGMOID, 8)
static steps mish[] = {MISH_GATE, B(MUL, X, 9)};
static steps mish_full[] = {MISH_GATE, N(MUL, 9, FULL_GATE), B(MUL, X, 10)};

/* In other steps than those of the operator. */
static steps sigmoid_requantized[] = {F(SIGMOID, X), N(MUL, 1, 1)};
static steps tanh_requantized[] = {F(TANH, X), N(MUL, 1, 1)};
/* Of results up to a half, which the steps of 1/128 of the operator itself are too large for: x + x^3 (a + b x^2). */
static steps narrow_tanh[] = {B(MUL, X, X), N(MUL, 1, 0.1134), N(ADD, 2, -0.3315),
                              B(MUL, 1, 3), B(MUL, X, 4),      B(ADD, X, 5)};
/* The range of the result ends at 0 and 1, which bounds it. */
static steps hardsigmoid[] = {N(MUL, X, 1.0 / 6.0), N(ADD, 1, 0.5)};
static steps square[] = {B(MUL, X, X)};
static steps cube[] = {B(MUL, X, X), B(MUL, X, 1)};
/* What is below zero is cut off by the range. */
static steps softshrink[] = {P_ABOVE_0(ADD, X, -1, 1), N(MUL, X, -1), P_ABOVE_0(ADD, 2, -1, 1), B(SUB, 1, 3)};
/* Of positive numbers. */
static steps reciprocal[] = {F(RSQRT, X), B(MUL, 1, 1)};
static steps log2_[] = {F(LOG, X), N(MUL, 1, M_LOG2E)};
static steps log10_[] = {F(LOG, X), N(MUL, 1, M_LOG10E)};
static steps exp2_[] = {N(MUL, X, M_LN2), F(EXP, 1)};

/*
 * From a number on 1, up to there 0, or the other way round. The parameters are the last quantized number below and
 * what is 1 at the one behind it: clamp((x + a) b, 0, 1), both exact.
 */
static steps threshold[] = {P(ADD, X, 1, 1), {NUC_OP_MUL, 1, NUC_FUNCTION_NUMBER, 1, {0, 1}, 0, 1}, F(RELU, 2)};

#define STEPS(name) .steps = (name), .n_steps = sizeof(name) / sizeof *(name)

/* dB: a longer expression has to be as much closer, as other converters may make a call of each operator. */
#define WORTH_OPERATORS 0.05

/* Of one function the shortest first. */
static const struct nuc_function functions[] = {
    {NUC_OP_SILU, STEPS(silu)},
    {NUC_OP_SILU, STEPS(silu_full)},
    {NUC_OP_SILU, STEPS(silu_apart)},
    {NUC_OP_SILU, STEPS(silu_root)},
    {NUC_OP_GELU, STEPS(gelu)},
    {NUC_OP_GELU, STEPS(gelu_full)},
    {NUC_OP_GELU, STEPS(gelu_near)},
    {NUC_OP_GELU, STEPS(gelu_near_full)},
    {NUC_OP_GELU, STEPS(gelu_apart)},
    {NUC_OP_GELU, STEPS(gelu_root)},
    {NUC_OP_ELU, {{NUC_ARG(ELU, alpha), 1}, {NUC_ARG(ELU, scale), 1}, {NUC_ARG(ELU, input_scale), 1}}, STEPS(elu)},
    {NUC_OP_ELU,
     {{NUC_ARG(ELU, alpha), 1}, {NUC_ARG(ELU, scale), 1}, {NUC_ARG(ELU, input_scale), 1}},
     .only = true,
     STEPS(elu_near)},
    {NUC_OP_SELU, STEPS(selu)},
    {NUC_OP_CELU, {{NUC_ARG(CELU, alpha), 1}}, STEPS(celu)},
    {NUC_OP_SOFTPLUS, {{NUC_ARG(SOFTPLUS, beta), 1}}, STEPS(softplus)},
    {NUC_OP_LOG_SIGMOID, STEPS(log_sigmoid)},
    {NUC_OP_MISH, STEPS(mish)},
    {NUC_OP_MISH, STEPS(mish_full)},
    {NUC_OP_SIGMOID, STEPS(sigmoid_requantized)},
    {NUC_OP_TANH, STEPS(tanh_requantized)},
    {NUC_OP_TANH, STEPS(narrow_tanh)},
    {NUC_OP_HARDSIGMOID, STEPS(hardsigmoid)},
    {NUC_OP_SQUARE, STEPS(square)},
    {NUC_OP_POW_SCALAR, {{NUC_ARG(POW_SCALAR, exponent), 2}}, .only = true, STEPS(square)},
    {NUC_OP_POW_SCALAR, {{NUC_ARG(POW_SCALAR, exponent), 3}}, .only = true, STEPS(cube)},
    {NUC_OP_SOFTSHRINK, {{NUC_ARG(SOFTSHRINK, lambd), 0.5}}, STEPS(softshrink)},
    {NUC_OP_RECIPROCAL, STEPS(reciprocal)},
    {NUC_OP_LOG2, STEPS(log2_)},
    {NUC_OP_LOG10, STEPS(log10_)},
    {NUC_OP_EXP2, STEPS(exp2_)},
    {NUC_OP_TO_DTYPE, STEPS(threshold)},
};

/* ---- thresholds: a comparison with a number, its truth cast to a number ---- */

/* The value that a function is one of: of a threshold what is compared. */
static struct nuc_node *argument_of(const struct nuc_node *node)
{
    struct nuc_node *x = nuc_arg_node(node, NUC_SELF);
    bool compares = node->op == NUC_OP_TO_DTYPE && x != NULL && nuc_is_call(x) && x->n_vals == 1 &&
                    x->vals[0].dtype == NUC_BOOL && nuc_op_family(x->op) == NUC_FAMILY_COMPARE;

    return compares ? nuc_arg_node(x, NUC_SELF) : x;
}

/* Whether it is 1 from the number on, with `strict` behind it; `falls`: up to there. */
static bool read_threshold(struct nuc_graph *g, const struct nuc_node *node, double *number, bool *strict, bool *falls)
{
    static const struct comparison {
        enum nuc_op op;
        bool strict, falls;
    } rows[] = {{NUC_OP_GE, false, false}, {NUC_OP_GT, true, false}, {NUC_OP_LT, false, true}, {NUC_OP_LE, true, true}};
    const struct nuc_node *compare = nuc_arg_node(node, NUC_SELF);

    for (size_t i = 0; argument_of(node) != compare && i < sizeof rows / sizeof *rows; i++) {
        *strict = rows[i].strict;
        *falls = rows[i].falls;
        if (rows[i].op == compare->op)
            return nuc_number_of(g, nuc_arg_node(compare, NUC_OTHER), number);
    }
    return false;
}

/* The parameters of a threshold for the numbers that come in, and what it makes of them. */
static void run_threshold(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_quant *in, double *params,
                          float results[256])
{
    double number = 0;
    bool strict = false, falls = false;
    int first = 0; /* of those behind the threshold */

    read_threshold(g, node, &number, &strict, &falls);
    for (int i = 0; i < 256; i++) {
        float x = (float)((double)(i + INT8_MIN - in->zero_point) * in->scale), at = (float)number;
        bool behind = strict ? x > at : x >= at;
        results[i] = behind != falls ? 1 : 0;
        first += behind ? 0 : 1;
    }
    /* Of a falling one the first behind the threshold is 0, the one below it 1. */
    params[0] = -(double)(first + INT8_MIN - in->zero_point - (falls ? 0 : 1)) * in->scale;
    params[1] = (falls ? -1 : 1) / in->scale;
    params[2] = 1;
}

static bool read_params(const struct nuc_function *f, const struct nuc_node *node, double params[NUC_FUNCTION_PARAMS])
{
    for (int i = 0; i < NUC_FUNCTION_PARAMS; i++) {
        params[i] = f->params[i].arg == 0 ? 1 : nuc_scalar(node, f->params[i].arg, f->params[i].value);
        if (!isfinite(params[i]) || nuc_numbers_equal(params[i], 0))
            return false;
    }
    return !f->only || nuc_numbers_equal(params[0], f->params[0].value);
}

/* ---- cycles ---- */

/* What a value is made of, past quantize and dequantize nodes. */
static const struct nuc_node *past_quantization(const struct nuc_node *node)
{
    while (node != NULL && nuc_is_quantization(node) && node->n_users == 1)
        node = nuc_arg_node(node, NUC_SELF);
    return node;
}

/* Operators whose call may end with a table (docs/microcode.md). */
static bool may_end_with_table(const struct nuc_node *node)
{
    static const bool families[NUC_FAMILY_COUNT] = {
        [NUC_FAMILY_CONV] = true,   [NUC_FAMILY_MATRIX] = true, [NUC_FAMILY_POOL] = true,
        [NUC_FAMILY_REDUCE] = true, [NUC_FAMILY_BINARY] = true,
    };

    return node != NULL && nuc_is_call(node) && node->n_users == 1 && families[nuc_op_family(node->op)];
}

/* All operators of one value are one table for the converter, the end of the call before it where nothing else reads
 * what that makes. */
static uint64_t npu_cycles(const struct nuc_target *target, const struct nuc_node *node, uint64_t elements)
{
    struct nuc_npu_work table = {.lanes = elements, .bytes = nuc_npu_times(2, elements)};

    if (may_end_with_table(past_quantization(argument_of(node))))
        return elements / target->pipelines;
    return nuc_npu_cycles(target->npu, &table);
}

/* On the CPU: a table where it has int8 kernels, else in float; and a delegate call more for what follows. */
static uint64_t cpu_cycles(const struct nuc_target *target, const struct nuc_node *node, double elements)
{
    const struct nuc_kernel_costs *c = &target->costs.int8;

    if (target->cpu != NULL)
        return nuc_cpu_cycles(c, elements, c->element) + target->costs.npu_call;
    return nuc_estimate_cpu(target, node, true) + 2 * nuc_cpu_cycles(c, elements, c->element) + target->costs.npu_call;
}

static bool gains(const struct nuc_target *target, const struct nuc_node *node)
{
    int64_t elements = nuc_elements(&node->vals[0]);

    return elements > 0 && npu_cycles(target, node, (uint64_t)elements) < cpu_cycles(target, node, (double)elements);
}

/* The next expression of the node's function after `f` (NULL: the first) that gains, or NULL. */
static const struct nuc_function *next_function(const struct nuc_support *s, const struct nuc_node *node,
                                                const struct nuc_function *f, double params[NUC_FUNCTION_PARAMS])
{
    const struct nuc_function *end = functions + sizeof functions / sizeof *functions;
    double number;
    bool strict, falls;

    if (node->op == NUC_OP_TO_DTYPE)
        return f == NULL && read_threshold(s->g, node, &number, &strict, &falls) && gains(s->target, node) ? end - 1
                                                                                                           : NULL;
    for (f = f == NULL ? functions : f + 1; f < end; f++) {
        if (f->op == node->op && read_params(f, node, params) && gains(s->target, node))
            return f;
    }
    return NULL;
}

bool nuc_has_npu_function(const struct nuc_support *s, const struct nuc_node *node)
{
    const struct nuc_node *x = argument_of(node);
    double params[NUC_FUNCTION_PARAMS];

    return nuc_is_call(node) && !node->is_tuple && node->n_vals == 1 && node->vals[0].dtype == NUC_F32 && x != NULL &&
           x->vals[0].dtype == NUC_F32 && !nuc_is_summed_power(node) && next_function(s, node, NULL, params) != NULL;
}

/* ---- the function itself ---- */

/* Of the 256 numbers that come in. */
static void evaluate(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_quant *in, float results[256])
{
    struct nuc_arena *outer = nuc_push_arena(g->cx);
    struct nuc_graph *alone = nuc_graph_new(g->cx, g->file);
    struct nuc_meta meta = nuc_meta_make(NUC_F32, (int64_t[]){256}, 1);
    struct nuc_node *input = nuc_add_placeholder(alone, "x", NUC_USER_INPUT, &meta);
    struct nuc_node *copy = nuc_add_node(alone, NULL, node->op, "y");
    float x[256];

    for (uint32_t i = 0; i < node->n_args; i++) {
        if (i != NUC_SELF)
            nuc_copy_arg(alone, copy, i, node, i);
    }
    nuc_set_arg_node(copy, alone, NUC_SELF, input);
    nuc_infer_shape(alone, copy);
    struct nuc_node *output = nuc_add_node(alone, NULL, NUC_OP_OUTPUT, "output");
    nuc_set_arg_nodes(output, alone, NUC_ARG(OUTPUT, values), &copy, 1);
    nuc_infer_shape(alone, output);
    for (int i = 0; i < 256; i++)
        x[i] = (float)((double)(i + INT8_MIN - in->zero_point) * in->scale);
    nuc_eval_run(nuc_eval_new(alone, 1), (const void *const[]){x}, (void *const[]){results});
    nuc_pop_arena(g->cx, outer);
}

/* ---- nodes ---- */

static bool is_int8(const struct nuc_quant *q)
{
    return !q->per_channel && q->dtype == NUC_I8 && q->quant_min == INT8_MIN && q->quant_max == INT8_MAX;
}

/* The largest number of a scale, so that nothing of it is rounded away. */
static struct nuc_node *insert_number(struct nuc_graph *g, struct nuc_node *node, double number)
{
    int64_t code = number > 0 ? INT8_MAX : number < 0 ? -INT8_MAX : 0;
    struct nuc_quant q = {.scale = (double)(float)((code == 0 ? 1 : fabs(number)) / INT8_MAX),
                          .axis = -1,
                          .quant_min = INT8_MIN,
                          .quant_max = INT8_MAX,
                          .dtype = NUC_I8};
    struct nuc_node *constant = nuc_insert_constant(g, node, NUC_I8, (double)code);

    return nuc_insert_quant(g, node, NUC_OP_DEQUANTIZE_PER_TENSOR, constant, &q);
}

static struct nuc_node *insert_step(struct nuc_graph *g, struct nuc_node *node, const struct nuc_function_step *step,
                                    struct nuc_node *const *values, const struct nuc_function_scales *scales)
{
    struct nuc_node *a = nuc_insert_quant(g, node, NUC_OP_DEQUANTIZE_PER_TENSOR, values[step->a], &scales->of[step->a]);
    double number = nuc_function_number(step, scales->params);

    if (step->b == NUC_FUNCTION_NOTHING)
        return nuc_insert_unary(g, node, step->op, a);
    if (step->op == NUC_OP_LEAKY_RELU)
        return nuc_emit(g, node, step->op, node, NUC_ARGS(a, number));
    struct nuc_node *b = step->b == NUC_FUNCTION_NUMBER ? insert_number(g, node, number)
                                                        : nuc_insert_quant(g, node, NUC_OP_DEQUANTIZE_PER_TENSOR,
                                                                           values[step->b], &scales->of[step->b]);
    return nuc_insert_binary(g, node, step->op, a, b);
}

/* In the steps that the NPU gives the result. */
static bool is_operator(const struct nuc_node *node, const struct nuc_quant *out)
{
    double step = node->op == NUC_OP_TANH ? 0x1p-7 : 0x1p-8;
    int64_t zero_point = node->op == NUC_OP_TANH ? 0 : INT8_MIN;

    return (node->op == NUC_OP_TANH || node->op == NUC_OP_SIGMOID) && nuc_numbers_equal(out->scale, step) &&
           out->zero_point == zero_point;
}

/* The first expression of least loss; NULL: none is near enough. `least` becomes its loss, or that of the nearest. */
static const struct nuc_function *choose(const struct nuc_support *s, struct nuc_node *node,
                                         struct nuc_function_scales *best_scales, double *least)
{
    const struct nuc_function *f = NULL, *best = NULL;
    struct nuc_function_scales scales;
    struct nuc_quant in, out;
    double nearest = HUGE_VAL;
    float exact[256];

    *least = (double)NAN;
    if (!nuc_has_npu_function(s, node) || !nuc_dequantize_quant(argument_of(node), &in) || !is_int8(&in) ||
        !nuc_result_quant(node, &out) || !is_int8(&out) || is_operator(node, &out))
        return NULL;
    *least = NUC_FUNCTION_MAX_LOSS;
    if (node->op == NUC_OP_TO_DTYPE)
        run_threshold(s->g, node, &in, scales.params, exact);
    else
        evaluate(s->g, node, &in, exact);
    while ((f = next_function(s, node, f, scales.params)) != NULL) {
        double results[256];
        scales.of[0] = in;
        scales.of[f->n_steps] = out;
        nuc_function_run(f, &scales, results);
        double loss = nuc_function_loss(&scales, f->n_steps, exact, results);
        nearest = fmin(nearest, loss);
        if (loss > *least || (best != NULL && loss > *least - WORTH_OPERATORS))
            continue;
        *least = loss;
        best = f;
        *best_scales = scales;
    }
    *least = best != NULL ? *least : nearest;
    return best;
}

double nuc_npu_function_loss(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_function_scales scales;
    double loss;

    choose(s, node, &scales, &loss);
    return loss;
}

struct nuc_node *nuc_to_npu_function(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_function_scales scales;
    struct nuc_graph *g = s->g;
    double loss;
    const struct nuc_function *best = choose(s, node, &scales, &loss);

    if (best == NULL)
        return NULL;
    struct nuc_node *values[NUC_FUNCTION_MAX_STEPS + 1];
    values[0] = nuc_operand(g, argument_of(node), NUC_SELF);
    for (uint32_t k = 1;; k++) {
        struct nuc_node *value = insert_step(g, node, &best->steps[k - 1], values, &scales);
        if (k == best->n_steps)
            return value;
        values[k] = nuc_insert_quant(g, node, NUC_OP_QUANTIZE_PER_TENSOR, value, &scales.of[k]);
    }
}
