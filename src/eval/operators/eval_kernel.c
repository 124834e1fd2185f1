/*
 * Operators whose results have one definition, which the kernels of a program and the evaluator share: those that pick,
 * write or order elements as they are, and front ends for sound. They are computed by the kernels of
 * src/device/runtime.
 */
#include <string.h>

#include "device/runtime/operators/arguments.h"
#include "eval/eval_call.h"

/* The values of a call, as a program has them; data of tensors is known when it runs. */
struct arguments {
    uint32_t count, n_values; /* of the kernel; with the elements of lists behind them */
    struct nuc_value *values;
    uint32_t *slots; /* by value: of a tensor, else NUC_NO_SLOT */
};

static uint32_t add_value(struct arguments *a, struct nuc_value value, uint32_t slot)
{
    a->values[a->n_values] = value;
    a->slots[a->n_values] = slot;
    return a->n_values++;
}

static struct nuc_value tensor_of(const struct nuc_eval_call *c, uint32_t slot)
{
    static const uint8_t order[NUC_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const struct nuc_eval_value *v = &c->values[slot];
    const struct nuc_meta *m = &v->node->vals[v->index];
    int32_t *sizes = nuc_alloc_array(c->cx, m->rank, sizeof *sizes);

    for (uint32_t d = 0; d < m->rank; d++) {
        if (m->sizes[d] > INT32_MAX)
            nuc_eval_fail(c, "%s is too large", nuc_meta_text(c->cx, m));
        sizes[d] = (int32_t)m->sizes[d];
    }
    return (struct nuc_value){.kind = NUC_VALUE_TENSOR,
                              .u.tensor = {.sizes = sizes,
                                           .dim_order = order,
                                           .bytes = v->bytes,
                                           .dtype = (uint8_t)m->dtype,
                                           .rank = (uint8_t)m->rank}};
}

static struct nuc_value int_value(int64_t i)
{
    return (struct nuc_value){.kind = NUC_VALUE_INT, .u.i = i};
}

/* The elements are values of their own; the list has their numbers in `size` bytes each. */
static struct nuc_value list_of(const struct nuc_eval_call *c, struct arguments *a, uint32_t index, size_t size)
{
    const struct nuc_arg *arg = &c->node->args[index];
    uint8_t *items = nuc_alloc_array(c->cx, arg->count, size);

    for (uint32_t i = 0; i < arg->count; i++) {
        const uint32_t slot = arg->kind == NUC_ARG_NODES ? c->list_slots[index][i] : NUC_NO_SLOT;
        uint64_t at = UINT32_MAX;
        if (arg->kind == NUC_ARG_INTS)
            at = add_value(a, int_value(arg->u.ints[i]), NUC_NO_SLOT);
        else if (slot != NUC_NO_SLOT)
            at = add_value(a, tensor_of(c, slot), slot);
        for (size_t k = 0; k < size; k++)
            items[i * size + k] = (uint8_t)(at >> 8 * k);
    }
    return (struct nuc_value){.kind = arg->kind == NUC_ARG_INTS ? NUC_VALUE_INTS : NUC_VALUE_OPTIONAL_TENSORS,
                              .u.list = {.items = items, .count = arg->count}};
}

static struct nuc_value value_of(const struct nuc_eval_call *c, struct arguments *a, uint32_t index, uint32_t accepts)
{
    const struct nuc_arg *arg = &c->node->args[index];

    switch ((int)arg->kind) {
    case NUC_ARG_NODE:
        return tensor_of(c, c->in_slots[index]);
    case NUC_ARG_NODES:
        return list_of(c, a, index, 4);
    case NUC_ARG_INTS:
        return list_of(c, a, index, 8);
    case NUC_ARG_INT:
        return int_value(arg->u.i);
    case NUC_ARG_FLOAT:
        return (struct nuc_value){.kind = NUC_VALUE_DOUBLE, .u.f = arg->u.f};
    case NUC_ARG_BOOL: /* a truth in place of a number is one */
        return (accepts >> NUC_VALUE_BOOL & 1) == 0 ? int_value(arg->u.b)
                                                    : (struct nuc_value){.kind = NUC_VALUE_BOOL, .u.b = arg->u.b};
    case NUC_ARG_STRING:
        return (struct nuc_value){
            .kind = NUC_VALUE_STRING,
            .u.list = {.items = (const uint8_t *)arg->u.string, .count = (uint32_t)strlen(arg->u.string)}};
    default:
        return (struct nuc_value){.kind = NUC_VALUE_NONE};
    }
}

/* Type and sizes of an operand, and of int64 the least and the greatest: what an index is out of. data: NULL as yet. */
static const char *with_operand(struct nuc_context *cx, const char *text, const struct nuc_meta *m, const int64_t *data)
{
    int64_t least = INT64_MAX, most = INT64_MIN;

    text = nuc_format(cx, "%s%s %s", text, *text == '\0' ? "" : ",", nuc_meta_text(cx, m));
    for (int64_t k = 0; data != NULL && m->dtype == NUC_I64 && k < nuc_elements(m); k++) {
        least = data[k] < least ? data[k] : least;
        most = data[k] > most ? data[k] : most;
    }
    return least > most ? text : nuc_format(cx, "%s of %lld to %lld", text, (long long)least, (long long)most);
}

static const char *operands_of(const struct nuc_eval_call *c, bool has_data)
{
    const char *text = "";

    for (uint32_t i = 0; i < c->node->n_args; i++) {
        if (nuc_eval_has_in(c, i))
            text = with_operand(c->cx, text, nuc_eval_in_meta(c, i), has_data ? nuc_eval_in(c, i) : NULL);
        for (uint32_t k = 0; c->node->args[i].kind == NUC_ARG_NODES && k < c->node->args[i].count; k++) {
            if (c->list_slots[i][k] != NUC_NO_SLOT)
                text =
                    with_operand(c->cx, text, nuc_eval_list_meta(c, i, k), has_data ? nuc_eval_list_in(c, i, k) : NULL);
        }
    }
    return text;
}

static void prepare(struct nuc_eval_call *c)
{
    const uint32_t n_args = c->node->n_args;
    struct arguments *a = nuc_alloc(c->cx, sizeof *a);
    struct nuc_detail detail = {.message = NULL};
    size_t most = 0;

    for (; c->op->accepts[a->count] != 0; a->count++)
        most++;
    for (uint32_t i = 0; i < n_args; i++)
        most += c->node->args[i].count;
    a->values = nuc_alloc_array(c->cx, most, sizeof *a->values);
    a->slots = nuc_alloc_array(c->cx, most, sizeof *a->slots);
    a->n_values = a->count;
    for (uint32_t i = 0, from = 0; i < a->count; i++) {
        const bool absent = c->node->op == NUC_OP_SORT && i == NUC_ARG(SORT_STABLE, stable);
        a->slots[i] = NUC_NO_SLOT;
        if (absent) {
            a->values[i] = (struct nuc_value){.kind = NUC_VALUE_NONE};
        } else if (from < n_args) {
            a->slots[i] = c->in_slots[from];
            a->values[i] = value_of(c, a, from++, c->op->accepts[i]);
        } else {
            a->slots[i] = c->out_slot + from++ - n_args;
            a->values[i] = tensor_of(c, a->slots[i]);
        }
    }
    struct nuc_kernel_context context = {.values = a->values, .n_values = a->n_values, .detail = &detail};
    for (uint32_t i = 0; i < a->count; i++) {
        if (nuc_check_arg(&context, c->op->accepts[i], &a->values[i], &a->values[0].u.tensor) != NUC_OK)
            nuc_eval_fail(c, "%s:%s; convert them with to()", detail.message, operands_of(c, false));
    }
    c->scratch_size = a->n_values * sizeof *a->values;
    c->state = a;
}

static void run(const struct nuc_eval_call *c)
{
    const struct arguments *a = c->state;
    struct nuc_value *values = c->scratch, *args[NUC_MAX_RANK];
    struct nuc_detail detail = {.message = NULL};
    struct nuc_kernel_context context = {.values = values, .n_values = a->n_values, .detail = &detail};

    memcpy(values, a->values, a->n_values * sizeof *values);
    for (uint32_t i = 0; i < a->n_values; i++) {
        if (i < a->count)
            args[i] = &values[i];
        if (a->slots[i] != NUC_NO_SLOT)
            values[i].u.tensor.data = (void *)(uintptr_t)c->values[c->values[a->slots[i]].root].data;
    }
    if (c->op->kernel(&context, args) != NUC_OK)
        *c->refusal = (struct nuc_eval_refusal){c, detail.message};
}

_Noreturn void nuc_eval_fail_refused(const struct nuc_eval_refusal *r, const char *where)
{
    nuc_eval_fail(r->call, "%s:%s%s", r->why, operands_of(r->call, true), where);
}

/* X(name, arguments, kernel): nuc_eval_NAME is computed by nuc_op_KERNEL with arguments of that list. */
#define KERNELS(X)                                                                                                     \
    X(index, index, index)                                                                                             \
    X(index_select, index_select, index_select)                                                                        \
    X(gather, gather, gather)                                                                                          \
    X(embedding, embedding, embedding)                                                                                 \
    X(scatter, scatter, scatter_src)                                                                                   \
    X(scatter_add, scatter, scatter_add)                                                                               \
    X(scatter_value, scatter_value, scatter_value)                                                                     \
    X(scatter_reduce, scatter_reduce, scatter_reduce)                                                                  \
    X(index_put, index_put, index_put)                                                                                 \
    X(masked_scatter, masked_scatter, masked_scatter)                                                                  \
    X(slice_scatter, slice_scatter, slice_scatter)                                                                     \
    X(select_scatter, select_scatter, select_scatter)                                                                  \
    X(unfold, unfold_copy, unfold_copy)                                                                                \
    X(topk, topk, topk)                                                                                                \
    X(sort, sort, sort)                                                                                                \
    X(amax, amax, amax)                                                                                                \
    X(amin, amax, amin)                                                                                                \
    X(argmax, argmax, argmax)                                                                                          \
    X(argmin, argmax, argmin)                                                                                          \
    X(copy, copy, copy)                                                                                                \
    X(where, where, where)                                                                                             \
    X(signal_window, signal_window, signal_window)                                                                     \
    X(signal_auto_scale, signal_auto_scale, signal_auto_scale)                                                         \
    X(signal_rfft, signal_rfft, signal_rfft)                                                                           \
    X(signal_energy, signal_energy, signal_energy)                                                                     \
    X(signal_filter_bank, signal_filter_bank, signal_filter_bank)                                                      \
    X(signal_root, signal_square_root, signal_square_root)                                                             \
    X(signal_noise_reduction, signal_noise_reduction, signal_noise_reduction)                                          \
    X(signal_pcan, signal_pcan, signal_pcan)                                                                           \
    X(signal_log, signal_log, signal_log)                                                                              \
    X(signal_features, signal_features, signal_features)                                                               \
    X(signal_micro, signal_micro, signal_micro)
#define ROW(name, arguments, function)                                                                                 \
    const struct nuc_eval_op nuc_eval_##name = {                                                                       \
        .prepare = prepare, .run = run, .kernel = nuc_op_##function, .accepts = nuc_accepts_##arguments};
KERNELS(ROW)
