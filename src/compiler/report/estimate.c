/* Cycles of single nodes from sizes and the costs of the target: the model docs/explain.md describes. */
#include "compiler/report/explain.h"

/* What the work of an operator is made of. */
enum work {
    WORK_ELEMENTS, /* one pass over the larger one of input and output */
    WORK_CONV,     /* kernel * input channels of a group for each element of the output; transposed, for each one of the
                      input */
    WORK_MATRIX,   /* inner dimension for each element of the output */
    WORK_WINDOW,   /* one pass over the input for each element of the window */
    WORK_FUNCTION, /* a function of every element */
    WORK_NONE      /* the data stay where they are */
};

static const enum work works[NUC_OP_COUNT] = {
    [NUC_OP_GETITEM] = WORK_NONE,           [NUC_OP_EDGE_CONVOLUTION] = WORK_CONV,
    [NUC_OP_EDGE_ADDMM] = WORK_MATRIX,      [NUC_OP_EDGE_MM] = WORK_MATRIX,
    [NUC_OP_EDGE_BMM] = WORK_MATRIX,        [NUC_OP_EDGE_AVG_POOL2D] = WORK_WINDOW,
    [NUC_OP_EDGE_MAX_POOL2D] = WORK_WINDOW, [NUC_OP_EDGE_SOFTMAX] = WORK_FUNCTION,
    [NUC_OP_EDGE_EXP] = WORK_FUNCTION,      [NUC_OP_EDGE_LOG] = WORK_FUNCTION,
    [NUC_OP_EDGE_SIGMOID] = WORK_FUNCTION,  [NUC_OP_EDGE_TANH] = WORK_FUNCTION,
    [NUC_OP_EDGE_GELU] = WORK_FUNCTION,     [NUC_OP_EDGE_SQRT] = WORK_FUNCTION,
    [NUC_OP_EDGE_RSQRT] = WORK_FUNCTION,    [NUC_OP_EDGE_HARDSWISH] = WORK_ELEMENTS,
    [NUC_OP_EDGE_VIEW] = WORK_NONE,
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

/* Kernel height * width * dimension 1 of the weight, the channels of a group, rounded up to `round`. */
static double conv_inner(const struct nuc_node *node, int64_t round)
{
    const struct nuc_node *weight = nuc_arg_node(node, 1);
    int64_t channels = size_at(weight, 1);

    channels = (channels + round - 1) / round * round;
    return (double)size_at(weight, 2) * (double)size_at(weight, 3) * (double)channels;
}

static double matrix_inner(const struct nuc_node *node, int64_t round)
{
    const struct nuc_node *left = nuc_arg_node(node, node->op == NUC_OP_EDGE_ADDMM ? 1 : 0);
    uint32_t rank = left != NULL && left->n_vals > 0 ? left->vals[0].rank : 0;
    int64_t inner = rank > 0 ? size_at(left, rank - 1) : 1;

    return (double)((inner + round - 1) / round * round);
}

/* Multiply-accumulates with the inner dimension rounded up; -1 for other operators. */
static double macs_of(const struct nuc_node *node, int64_t round)
{
    bool transposed = works[node->op] == WORK_CONV && node->args[6].kind == NUC_ARG_BOOL && node->args[6].u.b;

    switch (works[node->op]) {
    case WORK_CONV:
        return elements_of(transposed ? nuc_arg_node(node, 0) : node) * conv_inner(node, round);
    case WORK_MATRIX:
        return elements_of(node) * matrix_inner(node, round);
    case WORK_ELEMENTS:
    case WORK_WINDOW:
    case WORK_FUNCTION:
    case WORK_NONE:
        break;
    }
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
    double macs = macs_of(node, 1);

    return macs < 0 ? 0 : whole(macs);
}

/* Computed while compiling: a parameter, also dequantized. */
static bool is_static_work(const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_arg_node(node, 0);

    if (input != NULL && nuc_is_dequantize(input))
        input = nuc_arg_node(input, 0);
    return node->op == NUC_OP_EDGE_PERMUTE && input != NULL && nuc_is_static(input);
}

/* Quantize and dequantize nodes inside a partition, and views, cost nothing: they name parameters. */
uint64_t nuc_estimate_npu(const struct nuc_target *target, const struct nuc_node *node)
{
    double macs = macs_of(node, target->num_macs);

    if (nuc_is_quantize(node) || nuc_is_dequantize(node) || works[node->op] == WORK_NONE || is_static_work(node))
        return 0;
    if (macs >= 0)
        return target->costs.npu_kernel + whole(macs / (target->num_macs * target->pipelines));
    return target->costs.npu_kernel + whole(touched(node) / target->pipelines);
}

uint64_t nuc_estimate_cpu(const struct nuc_target *target, const struct nuc_node *node)
{
    double macs = macs_of(node, 1);
    const struct nuc_costs *c = &target->costs;

    if (works[node->op] == WORK_NONE)
        return 0;
    if (macs >= 0)
        return whole(c->cpu_operator + macs * c->cpu_mac);
    return whole(c->cpu_operator +
                 touched(node) * (works[node->op] == WORK_FUNCTION ? c->cpu_function : c->cpu_element));
}
