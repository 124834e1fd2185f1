/*
 * Cycles of single nodes from sizes: what the kernel of a node would take by the cost model of docs/cycle-model.md, and
 * what the CPU would.
 */
#include "compiler/report/explain.h"

/* What the work of an operator is made of. */
enum work {
    WORK_ELEMENTS, /* one pass over the larger one of input and output */
    WORK_CONV,     /* kernel * input channels of a group for each element of the output; transposed, for each one of the
                      input */
    WORK_MATRIX,   /* inner dimension for each element of the output */
    WORK_WINDOW,   /* one pass over the input for each element of the window */
    WORK_FUNCTION, /* a function of every element */
    WORK_SOFTMAX,
    WORK_NONE /* the data stay where they are */
};

static const enum work works[NUC_OP_COUNT] = {
    [NUC_OP_GETITEM] = WORK_NONE,
    [NUC_OP_CONVOLUTION] = WORK_CONV,
    [NUC_OP_LINEAR] = WORK_MATRIX,
    [NUC_OP_ADDMM] = WORK_MATRIX,
    [NUC_OP_MM] = WORK_MATRIX,
    [NUC_OP_BMM] = WORK_MATRIX,
    [NUC_OP_AVG_POOL2D] = WORK_WINDOW,
    [NUC_OP_MAX_POOL2D_INDICES] = WORK_WINDOW,
    [NUC_OP_NATIVE_SOFTMAX] = WORK_SOFTMAX,
    [NUC_OP_EXP] = WORK_FUNCTION,
    [NUC_OP_LOG] = WORK_FUNCTION,
    [NUC_OP_SIGMOID] = WORK_FUNCTION,
    [NUC_OP_TANH] = WORK_FUNCTION,
    [NUC_OP_GELU] = WORK_FUNCTION,
    [NUC_OP_SQRT] = WORK_FUNCTION,
    [NUC_OP_RSQRT] = WORK_FUNCTION,
    [NUC_OP_HARDSWISH] = WORK_ELEMENTS,
    [NUC_OP_VIEW] = WORK_NONE,
};

static double elements_of(const struct nuc_node *node)
{
    double count = 1;

    if (node == NULL || node->n_vals == 0)
        return 0;
    for (uint32_t i = 0; i < node->vals[0].rank; i++)
        count *= (double)node->vals[0].sizes[i];
    return count;
}

static int64_t size_at(const struct nuc_node *node, uint32_t dim)
{
    return node != NULL && node->n_vals > 0 && dim < node->vals[0].rank ? node->vals[0].sizes[dim] : 1;
}

/* Kernel height * width * dimension 1 of the weight: the channels of a group. */
static double conv_inner(const struct nuc_node *node)
{
    const struct nuc_node *weight = nuc_arg_node(node, 1);

    return (double)size_at(weight, 1) * (double)size_at(weight, 2) * (double)size_at(weight, 3);
}

static const struct nuc_node *matrix_left(const struct nuc_node *node)
{
    return nuc_arg_node(node, node->op == NUC_OP_ADDMM ? 1 : 0);
}

static int64_t last_size(const struct nuc_node *node)
{
    uint32_t rank = node != NULL && node->n_vals > 0 ? node->vals[0].rank : 0;

    return rank > 0 ? size_at(node, rank - 1) : 1;
}

static bool is_transposed(const struct nuc_node *node)
{
    return works[node->op] == WORK_CONV && node->args[6].kind == NUC_ARG_BOOL && node->args[6].u.b;
}

/* Multiply-accumulates; -1 for other operators. */
static double macs_of(const struct nuc_node *node)
{
    if (works[node->op] == WORK_CONV)
        return elements_of(is_transposed(node) ? nuc_arg_node(node, 0) : node) * conv_inner(node);
    if (works[node->op] == WORK_MATRIX)
        return elements_of(node) * (double)last_size(matrix_left(node));
    return -1;
}

/* Values read: those of the larger side, as often as a window looks at them. */
static double touched(const struct nuc_node *node)
{
    double in = elements_of(nuc_arg_node(node, 0)), out = elements_of(node), window = 1;

    if (works[node->op] == WORK_WINDOW && node->args[1].kind == NUC_ARG_INTS) {
        for (uint32_t i = 0; i < node->args[1].count; i++)
            window *= (double)node->args[1].u.ints[i];
        return out * window;
    }
    return in > out ? in : out;
}

static uint64_t whole(double value)
{
    if (!(value > 0))
        return 0;
    return value < 1e18 ? (uint64_t)value : (uint64_t)1e18;
}

uint64_t nuc_estimate_macs(const struct nuc_node *node)
{
    double macs = macs_of(node);

    return macs < 0 ? 0 : whole(macs);
}

/* Computed while compiling: a parameter, also dequantized. */
static bool is_static_work(const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_arg_node(node, 0);

    if (input != NULL && nuc_is_dequantize(input))
        input = nuc_arg_node(input, 0);
    return node->op == NUC_OP_PERMUTE && input != NULL && nuc_is_static(input);
}

/* int8 operands and result, and an int32 bias and a requant pair a channel. */
static uint64_t bytes_of(const struct nuc_node *node)
{
    const struct nuc_node *left = nuc_arg_node(node, 0), *right = nuc_arg_node(node, 1);
    double bytes = elements_of(left) + elements_of(node);

    if (works[node->op] == WORK_CONV)
        bytes += elements_of(right) + 12 * (double)size_at(node, 1);
    else if (node->op == NUC_OP_ADDMM)
        bytes =
            elements_of(right) + elements_of(nuc_arg_node(node, 2)) + elements_of(node) + 12 * (double)last_size(node);
    else if (works[node->op] == WORK_MATRIX || (node->n_args > 1 && node->args[1].kind == NUC_ARG_NODE))
        bytes += elements_of(right);
    return whole(bytes);
}

/* A convolution that has as many groups as input channels is a depthwise one. */
static struct nuc_npu_work conv_work(const struct nuc_npu_costs *k, const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_arg_node(node, 0), *weight = nuc_arg_node(node, 1);
    const struct nuc_node *visited = is_transposed(node) ? input : node;
    int64_t in = size_at(input, 1), out = size_at(node, 1), groups = 1;
    uint64_t visits =
        nuc_npu_times(whole(elements_of(visited)) / (uint64_t)(size_at(visited, 1) + !size_at(visited, 1)),
                      (uint64_t)size_at(weight, 2) * (uint64_t)size_at(weight, 3));

    if (node->args[8].kind == NUC_ARG_INT && node->args[8].u.i > 0)
        groups = node->args[8].u.i;
    if (groups > 1 && groups == in)
        return (struct nuc_npu_work){.depthwise = nuc_npu_times(visits, nuc_npu_round_up((uint64_t)out, k->pipelines))};
    uint64_t channels = nuc_npu_times(nuc_npu_round_up((uint64_t)(in / groups), k->num_macs),
                                      nuc_npu_round_up((uint64_t)(out / groups), k->pipelines));
    return (struct nuc_npu_work){.array = nuc_npu_times(nuc_npu_times(visits, channels), (uint64_t)groups)};
}

static struct nuc_npu_work matrix_work(const struct nuc_npu_costs *k, const struct nuc_node *node)
{
    int64_t columns = last_size(node), depth = last_size(matrix_left(node));
    uint64_t rows = columns > 0 ? whole(elements_of(node)) / (uint64_t)columns : 0;

    return (struct nuc_npu_work){
        .array = nuc_npu_times(nuc_npu_times(rows, nuc_npu_round_up((uint64_t)columns, k->pipelines)),
                               nuc_npu_round_up((uint64_t)depth, k->num_macs))};
}

static struct nuc_npu_work work_of(const struct nuc_npu_costs *k, const struct nuc_node *node)
{
    struct nuc_npu_work work = {.lanes = 0};

    if (works[node->op] == WORK_CONV)
        work = conv_work(k, node);
    else if (works[node->op] == WORK_MATRIX)
        work = matrix_work(k, node);
    else
        work.lanes = nuc_npu_times(whole(touched(node)), works[node->op] == WORK_SOFTMAX ? k->softmax_steps : 1);
    work.bytes = bytes_of(node);
    return work;
}

/* Quantize and dequantize nodes inside a partition, and views, cost nothing: they name parameters. */
uint64_t nuc_estimate_npu(const struct nuc_target *target, const struct nuc_node *node)
{
    if (nuc_is_quantize(node) || nuc_is_dequantize(node) || works[node->op] == WORK_NONE || is_static_work(node))
        return 0;
    struct nuc_npu_work work = work_of(target->npu, node);
    return nuc_npu_cycles(target->npu, &work);
}

uint64_t nuc_estimate_cpu(const struct nuc_target *target, const struct nuc_node *node)
{
    double macs = macs_of(node);
    const struct nuc_costs *c = &target->costs;
    double each = works[node->op] == WORK_FUNCTION  ? c->cpu_function
                  : works[node->op] == WORK_SOFTMAX ? c->cpu_softmax
                                                    : c->cpu_element;

    if (works[node->op] == WORK_NONE)
        return 0;
    if (macs >= 0)
        return whole(c->cpu_operator + macs * c->cpu_mac);
    return whole(c->cpu_operator + touched(node) * each);
}
