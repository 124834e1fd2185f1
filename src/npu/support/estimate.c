#include "npu/support/estimate.h"

#include "ir/args.h"
#include "ir/recurrent_args.h"
#include "npu/support/kernel_cycles.h"

/* What the work of an operator is made of. */
enum work {
    WORK_ELEMENTS, /* one pass over the larger one of input and output */
    WORK_CONV,     /* kernel * input channels of a group for each element of the output; transposed, for each one of the
                      input */
    WORK_MATRIX,   /* inner dimension for each element of the output */
    WORK_WINDOW,   /* one pass over the input for each element of the window */
    WORK_FUNCTION, /* a function of every element, computed in real numbers */
    WORK_SOFTMAX,
    WORK_RECURRENT, /* both products of every gate, for each step and direction */
    WORK_NONE       /* the data stay where they are */
};

static enum work work_of(const struct nuc_node *node)
{
    static const enum work by_family[NUC_FAMILY_COUNT] = {
        [NUC_FAMILY_MATRIX] = WORK_MATRIX,
        [NUC_FAMILY_POOL] = WORK_WINDOW,
        [NUC_FAMILY_SOFTMAX] = WORK_SOFTMAX,
        [NUC_FAMILY_RECURRENT] = WORK_RECURRENT,
    };
    enum nuc_family family = nuc_op_family(node->op);

    if (node->op == NUC_OP_GETITEM || node->op == NUC_OP_VIEW)
        return WORK_NONE;
    if (node->op == NUC_OP_CONVOLUTION) /* what every convolution is in the Edge dialect */
        return WORK_CONV;
    if (node->op == NUC_OP_GELU || (family == NUC_FAMILY_MAP && nuc_op_makes_real(node->op)))
        return WORK_FUNCTION;
    /* Its windows meet, so that it reads each element about once. */
    return node->op == NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D ? WORK_ELEMENTS : by_family[family];
}

static double elements_of(const struct nuc_node *node)
{
    return (double)nuc_value_elements(node);
}

static int64_t size_at(const struct nuc_node *node, uint32_t dim)
{
    return node != NULL && node->n_vals > 0 && dim < node->vals[0].rank ? node->vals[0].sizes[dim] : 1;
}

/* The sizes of the kernel * dimension 1 of the weight: the channels of a group. */
static double conv_inner(const struct nuc_node *node)
{
    const struct nuc_node *weight = nuc_arg_node(node, NUC_ARG(CONVOLUTION, weight));

    return size_at(weight, 0) > 0 ? elements_of(weight) / (double)size_at(weight, 0) : 0;
}

static const struct nuc_node *matrix_left(const struct nuc_node *node)
{
    return nuc_arg_node(node, node->op == NUC_OP_ADDMM ? NUC_ARG(ADDMM, mat1) : NUC_SELF);
}

static int64_t last_size(const struct nuc_node *node)
{
    uint32_t rank = node != NULL && node->n_vals > 0 ? node->vals[0].rank : 0;

    return rank > 0 ? size_at(node, rank - 1) : 1;
}

/* Of a convolution. */
static bool is_transposed(const struct nuc_node *node)
{
    const struct nuc_arg *transposed = &node->args[NUC_ARG(CONVOLUTION, transposed)];

    return transposed->kind == NUC_ARG_BOOL && transposed->u.b;
}

/* Gates of all units, steps and directions of one layer: what the Edge dialect has. */
static double recurrent_gates(const struct nuc_recurrent *r)
{
    return (double)r->steps * (double)r->batch * (double)r->hidden * r->gates * r->directions;
}

/* Multiply-accumulates; -1 for other operators. */
static double macs_of(const struct nuc_node *node)
{
    enum work work = work_of(node);

    if (work == WORK_CONV)
        return elements_of(is_transposed(node) ? nuc_arg_node(node, NUC_SELF) : node) * conv_inner(node);
    if (work == WORK_MATRIX)
        return elements_of(node) * (double)last_size(matrix_left(node));
    if (work == WORK_RECURRENT) {
        struct nuc_recurrent r = nuc_recurrent_of(node);
        return recurrent_gates(&r) * (double)(r.inputs + r.hidden);
    }
    return nuc_litert_layer_macs(node);
}

/* Values read: those of the larger side, as often as a window looks at them. */
static double touched(const struct nuc_node *node)
{
    double in = elements_of(nuc_arg_node(node, NUC_SELF)), out = elements_of(node);

    if (nuc_op_family(node->op) == NUC_FAMILY_SELECT || node->op == NUC_OP_SLICE)
        return out; /* what is chosen or cut out, not what from */
    if (work_of(node) != WORK_WINDOW)
        return in > out ? in : out;
    const struct nuc_arg *window = &node->args[NUC_ARG(AVG_POOL2D, kernel_size)]; /* max_pool2d's, too */
    for (uint32_t i = 0; window->kind == NUC_ARG_INTS && i < window->count; i++)
        out *= (double)window->u.ints[i];
    return out;
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
    const struct nuc_node *input = nuc_quantized_operand(node, NUC_SELF);

    return node->op == NUC_OP_PERMUTE && input != NULL && nuc_is_static(input);
}

/* int8 operands and result, and an int32 bias and a requantization pair for each channel. */
static uint64_t bytes_of(const struct nuc_node *node)
{
    const struct nuc_node *left = nuc_arg_node(node, NUC_SELF), *right = nuc_arg_node(node, NUC_OTHER);
    double bytes = elements_of(left) + elements_of(node);

    if (nuc_op_family(node->op) == NUC_FAMILY_SELECT)
        bytes = 2 * elements_of(node); /* of the operand what is chosen */
    else if (work_of(node) == WORK_CONV)
        bytes += elements_of(right) + 12 * (double)size_at(node, 1);
    else if (node->op == NUC_OP_ADDMM)
        bytes = elements_of(right) + elements_of(nuc_arg_node(node, NUC_ARG(ADDMM, mat2))) + elements_of(node) +
                12 * (double)last_size(node);
    else if (node->n_args > NUC_OTHER && node->args[NUC_OTHER].kind == NUC_ARG_NODE)
        bytes += elements_of(right);
    return whole(bytes);
}

/* A convolution that has as many groups as input channels is a depthwise one. */
static struct nuc_npu_work conv_work(const struct nuc_npu_costs *k, const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_arg_node(node, NUC_SELF);
    const struct nuc_node *weight = nuc_arg_node(node, NUC_ARG(CONVOLUTION, weight));
    const struct nuc_arg *groups_arg = &node->args[NUC_ARG(CONVOLUTION, groups)];
    const struct nuc_node *visited = is_transposed(node) ? input : node;
    int64_t in = size_at(input, 1), out = size_at(node, 1), groups = 1;
    uint64_t visits =
        nuc_npu_times(whole(elements_of(visited)) / (uint64_t)(size_at(visited, 1) + !size_at(visited, 1)),
                      (uint64_t)size_at(weight, 2) * (uint64_t)size_at(weight, 3));

    if (groups_arg->kind == NUC_ARG_INT && groups_arg->u.i > 0)
        groups = groups_arg->u.i;
    if (groups > 1 && groups == in)
        return (struct nuc_npu_work){.depthwise = nuc_npu_times(visits, nuc_npu_round_up((uint64_t)out, k->pipelines))};
    uint64_t channels = nuc_npu_times(nuc_npu_round_up((uint64_t)(in / groups), k->num_macs),
                                      nuc_npu_round_up((uint64_t)(out / groups), k->pipelines));
    return (struct nuc_npu_work){.array = nuc_npu_times(nuc_npu_times(visits, channels), (uint64_t)groups)};
}

static uint64_t product_macs(const struct nuc_npu_costs *k, uint64_t rows, uint64_t columns, uint64_t depth)
{
    return nuc_npu_times(nuc_npu_times(rows, nuc_npu_round_up(columns, k->pipelines)),
                         nuc_npu_round_up(depth, k->num_macs));
}

uint64_t nuc_estimate_product(const struct nuc_target *target, uint64_t rows, uint64_t columns, uint64_t depth)
{
    double bytes = (double)rows * ((double)depth + (double)columns) + (double)columns * ((double)depth + 12);
    struct nuc_npu_work work = {.array = product_macs(target->npu, rows, columns, depth), .bytes = whole(bytes)};

    return nuc_npu_cycles(target->npu, &work);
}

uint64_t nuc_estimate_move(const struct nuc_target *target, uint64_t elements)
{
    struct nuc_npu_work work = {.lanes = elements, .bytes = nuc_npu_times(elements, 2)};

    return nuc_npu_cycles(target->npu, &work);
}

/* Quantize and dequantize nodes inside a partition, and views, cost nothing: they name parameters. */
uint64_t nuc_estimate_npu(const struct nuc_target *target, const struct nuc_node *node)
{
    const struct nuc_npu_costs *k = target->npu;
    enum work kind = work_of(node);
    struct nuc_npu_work work = {.lanes = 0};

    if (nuc_is_quantization(node) || kind == WORK_NONE || is_static_work(node))
        return 0;
    if (kind == WORK_CONV) {
        work = conv_work(k, node);
    } else if (kind == WORK_MATRIX) {
        int64_t columns = last_size(node), depth = last_size(matrix_left(node));
        uint64_t rows = columns > 0 ? whole(elements_of(node)) / (uint64_t)columns : 0;
        work = (struct nuc_npu_work){.array = product_macs(k, rows, (uint64_t)columns, (uint64_t)depth)};
    } else {
        work.lanes = nuc_npu_times(whole(touched(node)), kind == WORK_SOFTMAX ? k->softmax_steps : 1);
    }
    work.bytes = bytes_of(node);
    return nuc_npu_cycles(k, &work);
}

uint64_t nuc_cpu_cycles(const struct nuc_kernel_costs *c, double count, double each)
{
    return whole(c->call + count * each);
}

/* ---- the CPU's kernels ---- */

static enum nuc_op transposed_kernel(const struct nuc_node *node)
{
    return nuc_integer(node, NUC_ARG(CONVOLUTION, groups), 1) > 1 ? NUC_OP_NUCLEON_TRANSPOSE_CONV2D
                                                                  : NUC_OP_CORTEXM_TRANSPOSE_CONV2D;
}

/* A convolution of groups of one channel, and one of a single channel, are depthwise in int8. */
static uint64_t conv_cycles_of(const struct nuc_kernel_costs *c, const struct nuc_node *node)
{
    const struct nuc_node *in = nuc_arg_node(node, NUC_SELF);
    const struct nuc_node *weight = nuc_arg_node(node, NUC_ARG(CONVOLUTION, weight));
    uint32_t rank = weight != NULL && weight->n_vals > 0 ? weight->vals[0].rank : 0;
    bool depthwise = size_at(weight, 1) == 1;
    int64_t height = rank > 3 ? size_at(weight, 2) : 1, width = size_at(weight, rank - 1);
    struct nuc_meta sizes = {.rank = 4, .sizes = {size_at(weight, 0), height, width, size_at(weight, 1)}};

    if (in == NULL || in->n_vals == 0 || rank < 3)
        return 0;
    if (depthwise) {
        sizes.sizes[3] = sizes.sizes[0];
        sizes.sizes[0] = 1;
    }
    const struct nuc_kernel_call call = {.op = rank > 4              ? node->op
                                               : is_transposed(node) ? transposed_kernel(node)
                                               : depthwise           ? NUC_OP_CORTEXM_DEPTHWISE
                                                                     : NUC_OP_CORTEXM_CONV2D,
                                         .in = &in->vals[0],
                                         .weight = &sizes,
                                         .out = &node->vals[0],
                                         .products = macs_of(node),
                                         .written = 1,
                                         .read = 1};
    return nuc_kernel_call_cycles(c, &call);
}

/* Products by constants are convolutions of one pixel there. */
static uint64_t matrix_cycles_of(const struct nuc_kernel_costs *c, const struct nuc_node *node)
{
    const struct nuc_node *left = matrix_left(node);
    int64_t columns = last_size(node), depth = last_size(left);
    int64_t n_rows = columns > 0 ? (int64_t)(elements_of(node) / (double)columns) : 0;
    const struct nuc_meta in = {.rank = 4, .sizes = {1, depth, n_rows, 1}};
    const struct nuc_meta out = {.rank = 4, .sizes = {1, columns, n_rows, 1}};
    const struct nuc_meta weight = {.rank = 4, .sizes = {columns, 1, 1, depth}};
    struct nuc_kernel_call call = {
        .op = NUC_OP_CORTEXM_CONV2D, .in = &in, .weight = &weight, .out = &out, .written = 1, .read = 1};

    if (node->op == NUC_OP_BMM) {
        call.op = node->op;
        call.in = &left->vals[0];
        call.out = &node->vals[0];
    }
    return nuc_kernel_call_cycles(c, &call);
}

/* A function of one int8 value is a table there: arithmetic with a number or of a value with itself is one, too. */
static bool is_function(const struct nuc_node *node)
{
    const struct nuc_node *a = nuc_quantized_operand(node, NUC_SELF), *b = nuc_quantized_operand(node, NUC_OTHER);

    if (nuc_op_family(node->op) != NUC_FAMILY_BINARY)
        return false;
    return a == NULL || b == NULL || a == b || (nuc_is_static(a) && elements_of(a) == 1) ||
           (nuc_is_static(b) && elements_of(b) == 1);
}

/* Results of a comparison of two scales; of one scale the steps are compared. */
static double rescaled(const struct nuc_node *node)
{
    const int64_t self[] = {nuc_integer(node, NUC_ARG(NUCLEON_COMPARE, self_multiplier), 0),
                            nuc_integer(node, NUC_ARG(NUCLEON_COMPARE, self_shift), 0)};
    const int64_t other[] = {nuc_integer(node, NUC_ARG(NUCLEON_COMPARE, other_multiplier), 0),
                             nuc_integer(node, NUC_ARG(NUCLEON_COMPARE, other_shift), 0)};

    return self[0] == other[0] && self[1] == other[1] ? 0 : elements_of(node);
}

/* 0: the kernel is not modelled. */
static uint64_t call_cycles(const struct nuc_kernel_costs *c, const struct nuc_node *node)
{
    struct nuc_cursor at = {0, 0};
    const struct nuc_node *in = nuc_next_input(node, &at); /* of a concatenation, too */
    bool has_input = in != NULL && in->n_vals > 0;
    struct nuc_kernel_call call = {.op = node->op, .written = 1, .read = 1};

    if (node->n_vals == 0 || !has_input)
        return 0;
    if (work_of(node) == WORK_CONV)
        return conv_cycles_of(c, node);
    if (work_of(node) == WORK_MATRIX)
        return matrix_cycles_of(c, node);
    call.in = &in->vals[0];
    call.out = &node->vals[0];
    const struct nuc_node *taps = node->op == NUC_OP_PREPARE_FRAME ? nuc_arg_node(node, NUC_ARG(PREPARE_FRAME, columns))
                                  : node->op == NUC_OP_SIGNAL_FEATURES
                                      ? nuc_arg_node(node, NUC_ARG(SIGNAL_FEATURES, window))
                                      : NULL;
    call.weight = taps != NULL ? &taps->vals[0] : NULL;
    if (nuc_op_family(node->op) == NUC_FAMILY_MAP || (!c->real && is_function(node)))
        call.op = NUC_OP_CORTEXM_ACTIVATION;
    if (work_of(node) == WORK_RECURRENT) {
        const struct nuc_recurrent r = nuc_recurrent_of(node);
        call.gates = recurrent_gates(&r);
    }
    call.products = work_of(node) == WORK_RECURRENT      ? macs_of(node)
                    : node->op == NUC_OP_INDEX_PUT       ? elements_of(nuc_arg_node(node, NUC_ARG(INDEX_PUT, values)))
                    : node->op == NUC_OP_NUCLEON_COMPARE ? rescaled(node)
                    : work_of(node) == WORK_WINDOW || node->op == NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D
                        ? touched(node)
                        : nuc_litert_layer_products(node);
    call.together = nuc_permuted_together(node);
    return nuc_kernel_call_cycles(c, &call);
}

uint64_t nuc_recurrent_cycles(const struct nuc_kernel_costs *c, double macs, double gates)
{
    return nuc_cpu_cycles(c, macs, c->mac) + whole(gates * c->gate);
}

uint64_t nuc_estimate_cpu(const struct nuc_target *target, const struct nuc_node *node, bool in_float)
{
    bool converts = nuc_is_quantization(node);
    const struct nuc_kernel_costs *c = in_float && !converts ? &target->costs.real : &target->costs.int8;
    struct nuc_recurrent r;

    if (work_of(node) == WORK_NONE || is_static_work(node) || nuc_cuts_rows(node))
        return 0;
    uint64_t modelled = call_cycles(c, node);
    if (modelled > 0)
        return modelled;
    switch (work_of(node)) {
    case WORK_CONV:
        return nuc_cpu_cycles(c, macs_of(node), c->conv_mac);
    case WORK_MATRIX:
        return nuc_cpu_cycles(c, macs_of(node), c->mac);
    case WORK_RECURRENT:
        r = nuc_recurrent_of(node);
        return nuc_recurrent_cycles(c, macs_of(node), recurrent_gates(&r));
    case WORK_FUNCTION:
        return nuc_cpu_cycles(c, touched(node), c->function);
    case WORK_SOFTMAX:
        return nuc_cpu_cycles(c, touched(node), c->softmax);
    case WORK_ELEMENTS:
    case WORK_WINDOW:
    case WORK_NONE:
        break;
    }
    return nuc_cpu_cycles(c, touched(node), c->element);
}
