/* Estimated time of an operator on the CPU from its name and the sizes of its arguments: a program says no more. */
#include <string.h>

#include "back/profile/profile.h"
#include "npu/support/estimate.h"
#include "npu/support/kernel_cycles.h"

/* Elements, first and last size of a tensor; 0 elements for another kind of value. */
static double tensor_size(const struct nuc_view_value *value, double *first, double *last)
{
    double elements = 1;

    *first = *last = 1;
    if (value->kind != NUC_VALUE_TENSOR)
        return 0;
    for (uint32_t i = 0; i < value->u.tensor.sizes.count; i++) {
        *last = (double)nuc_view_int(value->u.tensor.sizes, i);
        *first = i == 0 ? *last : *first;
        elements *= *last;
    }
    return elements;
}

static bool is_named(const char *name, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strstr(name, parts[i]) != NULL)
            return true;
    }
    return false;
}

#define IS_NAMED(name, parts) is_named(name, parts, sizeof parts / sizeof parts[0])

/* Elements of the tensors of a list, and rows of its matrices; numbers of rows are neither. */
static double list_size(const struct nuc_view_method *m, const struct nuc_view_value *list, double *rows)
{
    double elements = 0, first, last;

    *rows = 0;
    for (uint32_t i = 0; list->kind == NUC_VALUE_TENSORS && i < list->u.list.count; i++) {
        const struct nuc_view_value *item = &m->values[nuc_view_int(list->u.list, i)];
        if (item->u.tensor.dtype == NUC_I32)
            continue;
        elements += tensor_size(item, &first, &last);
        *rows += item->u.tensor.sizes.count == 2 ? first : 0;
    }
    return elements;
}

struct work {
    double macs;    /* of convolutions and products of matrices; -1: the operator has none */
    bool conv;      /* they are a convolution's */
    double values;  /* read or written, whichever are more */
    double gates;   /* of a recurrent layer */
    double windows; /* elements of a pool's windows */
};

/* Every weight once for each step and sample; a gate has a row of weights for the input and one for the state. */
static void measure_layer(const struct nuc_view_method *m, struct nuc_view_list args, struct work *work)
{
    double first, last, steps = tensor_size(&m->values[nuc_view_int(args, 0)], &first, &last), rows, most = 0;

    steps /= last > 0 ? last : 1;
    for (uint32_t i = 1; i < args.count; i++) {
        double size = list_size(m, &m->values[nuc_view_int(args, i)], &rows);
        if (size <= most) /* the states may be a list, too */
            continue;
        most = size;
        work->macs = steps * size;
        work->gates = steps * rows / 2;
    }
}

static const struct nuc_view_value *arg(const struct nuc_view_method *m, struct nuc_view_list args, uint32_t i)
{
    return &m->values[nuc_view_int(args, i)];
}

static struct work measure(const struct nuc_view_method *m, const char *name, struct nuc_view_list args)
{
    enum { TRANSPOSED = NUC_ARG(CONVOLUTION, transposed) };
    static const char *const products[] = {"::mm", "::bmm", "::addmm", "linear", "matmul"};
    static const char *const chosen[] = {"embedding", "::index", "::gather", "::slice_copy"};
    static const char *const recurrent[] = {"gru.out", "lstm.out", "rnn.out", "rnn_tanh.out", "rnn_relu.out"};
    double first, last, result = 0;
    struct work work = {.macs = -1};

    for (uint32_t i = 0; i < args.count; i++) {
        double size = tensor_size(arg(m, args, i), &first, &last);
        work.values = size > work.values ? size : work.values;
        result = size > 0 ? size : result; /* out arguments come last */
    }
    if (IS_NAMED(name, chosen))
        work.values = result;
    if (args.count < 3)
        return work;
    if (IS_NAMED(name, recurrent)) {
        measure_layer(m, args, &work);
    } else if (strstr(name, "conv") != NULL) {
        double weight = tensor_size(arg(m, args, 1), &first, &last);
        double channels = strstr(name, "depthwise") != NULL ? last : first;
        /* Transposed, each element of the input meets the taps of its channel: the weight's first dimension in aten. */
        bool transposed = strstr(name, "transpose_conv") != NULL;
        if (transposed)
            channels = last;
        if (args.count > TRANSPOSED && strstr(name, "::convolution") != NULL &&
            arg(m, args, TRANSPOSED)->kind == NUC_VALUE_BOOL)
            transposed = arg(m, args, TRANSPOSED)->u.b;
        double points = transposed ? tensor_size(arg(m, args, 0), &first, &last) : result;
        work.macs = channels > 0 ? points * weight / channels : -1;
        work.conv = true;
    } else if (IS_NAMED(name, products)) {
        tensor_size(arg(m, args, strstr(name, "addmm") != NULL ? 1 : 0), &first, &last); /* addmm: the bias is first */
        work.macs = result * last;
    } else if (strstr(name, "pool2d") != NULL) {
        /* The elements of a pool's window. */
        const struct nuc_view_value *list = arg(m, args, 1);
        work.windows = result;
        for (uint32_t i = 0; list->kind == NUC_VALUE_INTS && i < list->u.list.count; i++) {
            const struct nuc_view_value *item = &m->values[nuc_view_int(list->u.list, i)];
            work.windows *= item->kind == NUC_VALUE_INT ? (double)item->u.i : 1;
        }
        work.values = work.windows;
    }
    return work;
}

/* An operator of int8, and what converts from and to it, has that in its name or reads no float. */
static bool is_in_float(const struct nuc_view_method *m, const char *name, struct nuc_view_list args)
{
    for (uint32_t i = 0; i < args.count && strstr(name, "quantize") == NULL; i++) {
        if (arg(m, args, i)->kind == NUC_VALUE_TENSOR && arg(m, args, i)->u.tensor.dtype == NUC_F32)
            return true;
    }
    return false;
}

/* ---- kernels that are modelled ---- */

/* An out variant's operator: its name is the functional one's with another overload. */
static enum nuc_op op_of(struct nuc_context *cx, const char *name)
{
    /* Out variants that torch names by hand. */
    static const struct {
        const char *name;
        enum nuc_op op;
    } by_hand[] = {{"aten::add.out", NUC_OP_ADD},
                   {"aten::sub.out", NUC_OP_SUB},
                   {"aten::mul.out", NUC_OP_MUL},
                   {"aten::mean.out", NUC_OP_MEAN_DIM},
                   {"aten::sum.IntList_out", NUC_OP_SUM_DIM},
                   {"aten::copy_", NUC_OP_NUCLEON_COPY}};
    const char *scope = strstr(name, "::"), *dot = scope != NULL ? strchr(scope, '.') : NULL;

    for (size_t i = 0; i < sizeof by_hand / sizeof by_hand[0]; i++) {
        if (strcmp(name, by_hand[i].name) == 0)
            return by_hand[i].op;
    }
    if (dot == NULL)
        return NUC_OP_COUNT;
    size_t overload = strlen(dot + 1);
    /* Our own ones of int16 are int8 operators of ours, or of the Cortex-M dialect. */
    bool int16 = strcmp(dot + 1, "int16_out") == 0;
    const char *base = nuc_format(cx, "%.*s.default", (int)(dot - scope - 2), scope + 2);
    enum nuc_op own = int16 ? nuc_op_find(nuc_format(cx, "edge.nucleon.%s", base)).op : NUC_OP_COUNT;
    if (int16)
        return own != NUC_OP_COUNT ? own : nuc_op_find(nuc_format(cx, "edge.cortex_m.%s", base)).op;
    bool out = overload > 4 && strcmp(dot + 1 + overload - 4, "_out") == 0;
    return nuc_op_find(nuc_format(cx, "edge.%.*s.%.*s.%.*s", (int)(scope - name), name, (int)(dot - scope - 2),
                                  scope + 2, out ? (int)overload - 4 : 7, out ? dot + 1 : "default"))
        .op;
}

static bool take_sizes(const struct nuc_view_value *value, struct nuc_meta *m)
{
    if (value->kind != NUC_VALUE_TENSOR || value->u.tensor.sizes.count > NUC_MAX_RANK)
        return false;
    *m = (struct nuc_meta){.dtype = value->u.tensor.dtype, .rank = (uint8_t)value->u.tensor.sizes.count};
    for (uint32_t i = 0; i < m->rank; i++) {
        bool ordered = value->u.tensor.dim_order.count == m->rank;
        uint8_t dim = ordered ? value->u.tensor.dim_order.data[i] : (uint8_t)i;
        m->sizes[i] = nuc_view_int(value->u.tensor.sizes, i);
        m->dim_order[i] = dim < m->rank ? dim : (uint8_t)i;
    }
    return true;
}

/* Output channels that a layer with weights of more than eight bits computes once more. */
static double channels_again(const struct nuc_program_view *view, const struct nuc_kernel_call *call,
                             struct nuc_view_list args)
{
    uint32_t index = nuc_excess_arg(call->op);
    const struct nuc_view_value *excess = index < args.count ? arg(view->methods, args, index) : NULL;
    struct nuc_span listed;

    if (excess == NULL || excess->kind != NUC_VALUE_TENSOR || excess->u.tensor.sizes.count != 2 ||
        excess->u.tensor.constant == 0)
        return 0;
    int64_t count = nuc_view_int(excess->u.tensor.sizes, 0);
    if (count < 0 || count > INT32_MAX ||
        !nuc_view_constant(view, excess->u.tensor.constant, (size_t)count * 2 * sizeof(int32_t), &listed))
        return 0;
    return nuc_channels_again(call, listed.data, (size_t)count);
}

static double litert_products(const struct nuc_view_method *m, enum nuc_op op, struct nuc_view_list args)
{
    double held[NUC_LITERT_OPERANDS] = {0}, first, row = 1, last;

    for (uint32_t i = 0; i < NUC_LITERT_OPERANDS && i < args.count; i++) {
        held[i] = tensor_size(arg(m, args, i), &first, &last);
        row = i == 0 && last > 0 ? last : row;
    }
    return nuc_litert_products(op, held[0] / row, held);
}

/* How many there are; 0: no list of ints, or a longer one. */
static uint32_t take_ints(const struct nuc_view_method *m, const struct nuc_view_value *list, int64_t out[NUC_MAX_RANK])
{
    uint32_t count = list->kind == NUC_VALUE_INTS && list->u.list.count <= NUC_MAX_RANK ? list->u.list.count : 0;

    for (uint32_t i = 0; i < count; i++)
        out[i] = m->values[nuc_view_int(list->u.list, i)].u.i;
    return count;
}

/* 0: it is none of these. */
static uint64_t call_cycles(struct nuc_context *cx, const struct nuc_kernel_costs *c,
                            const struct nuc_program_view *view, const char *name, struct nuc_view_list args,
                            const struct work *work)
{
    const struct nuc_view_method *m = view->methods;
    struct nuc_meta in, weight, out;
    struct nuc_kernel_call call = {.op = op_of(cx, name), .gates = work->gates, .written = 1, .read = 1};

    if (call.op == NUC_OP_COUNT || args.count < 2)
        return 0;
    const struct nuc_view_value *first = arg(m, args, 0);
    if (first->kind == NUC_VALUE_TENSORS && first->u.list.count > 0 && nuc_view_int(first->u.list, 0) >= 0)
        first = &m->values[nuc_view_int(first->u.list, 0)];
    call.in = take_sizes(first, &in) ? &in : NULL;
    call.weight = take_sizes(arg(m, args, 1), &weight) ? &weight : NULL;
    const struct nuc_view_value *last = arg(m, args, args.count - 1);
    if (last->kind == NUC_VALUE_TENSORS && last->u.list.count > 0) /* a layer's results: the first is the largest */
        last = &m->values[nuc_view_int(last->u.list, 0)];
    if (call.in == NULL || !take_sizes(last, &out) || (work->conv && call.weight == NULL))
        return 0;
    call.out = &out;
    call.products = work->macs >= 0 ? work->macs : work->windows;
    int64_t numbers[NUC_MAX_RANK];
    double edge;
    if (call.op == NUC_OP_INDEX_PUT && args.count > NUC_ARG(INDEX_PUT, values))
        call.products = tensor_size(arg(m, args, NUC_ARG(INDEX_PUT, values)), &edge, &edge);
    if (call.op == NUC_OP_NUCLEON_FUNCTION)
        call.products = tensor_size(arg(m, args, NUC_ARG(NUCLEON_FUNCTION, samples)), &edge, &edge);
    if (call.op == NUC_OP_NUCLEON_COMPARE && args.count > NUC_ARG(NUCLEON_COMPARE, other_shift))
        call.products = arg(m, args, NUC_ARG(NUCLEON_COMPARE, self_multiplier))->u.i ==
                                    arg(m, args, NUC_ARG(NUCLEON_COMPARE, other_multiplier))->u.i &&
                                arg(m, args, NUC_ARG(NUCLEON_COMPARE, self_shift))->u.i ==
                                    arg(m, args, NUC_ARG(NUCLEON_COMPARE, other_shift))->u.i
                            ? 0
                            : (double)nuc_elements(&out);
    const double of_litert = litert_products(m, call.op, args);
    call.products = of_litert > 0 ? of_litert : call.products;
    if (nuc_int8_op(call.op) == NUC_OP_CORTEXM_TRANSPOSE)
        call.together = nuc_elements_together(&out, numbers, take_ints(m, arg(m, args, 1), numbers));
    call.again = channels_again(view, &call, args);
    if (work->conv && args.count > NUC_ARG(CORTEXM_CONV2D, dilation)) {
        if (take_ints(m, arg(m, args, NUC_ARG(CORTEXM_CONV2D, dilation)), numbers) == 2)
            call.parts = nuc_dilated_parts(&out, numbers[0], numbers[1]);
    }
    return nuc_kernel_call_cycles(c, &call);
}

uint64_t nuc_profile_cpu_cycles(struct nuc_context *cx, const struct nuc_target *target,
                                const struct nuc_program_view *view, const char *name, struct nuc_view_list args)
{
    static const char *const functions[] = {"::exp.", "::exp2", "::expm1", "::log", "sqrt", "sigmoid", "tanh", "gelu"};
    const struct nuc_view_method *m = view->methods;
    const struct nuc_kernel_costs *c = is_in_float(m, name, args) ? &target->costs.real : &target->costs.int8;
    struct work work = measure(m, name, args);
    uint64_t modelled = call_cycles(cx, c, view, name, args, &work);

    if (modelled > 0)
        return modelled;
    if (work.gates > 0)
        return nuc_recurrent_cycles(c, work.macs, work.gates);
    if (work.macs >= 0)
        return nuc_cpu_cycles(c, work.macs, work.conv ? c->conv_mac : c->mac);
    return nuc_cpu_cycles(c, work.values,
                          strstr(name, "softmax") != NULL ? c->softmax
                          : IS_NAMED(name, functions)     ? c->function
                                                          : c->element);
}
