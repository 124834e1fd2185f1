#include "litert/litert.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct nuc_lt_model *nuc_lt_model_new(struct nuc_context *cx, const char *file)
{
    struct nuc_lt_model *m = nuc_alloc(cx, sizeof *m);

    m->cx = cx;
    m->file = file;
    m->n_subgraphs = 1;
    m->subgraphs = nuc_alloc(cx, sizeof *m->subgraphs);
    return m;
}

int32_t nuc_lt_add_tensor(struct nuc_lt_model *m, const struct nuc_lt_tensor *tensor)
{
    struct nuc_lt_subgraph *s = &m->subgraphs[0];

    s->tensors = nuc_grow(m->cx, s->tensors, &s->tensors_capacity, (size_t)s->n_tensors + 1, sizeof *s->tensors);
    s->tensors[s->n_tensors] = *tensor;
    return (int32_t)s->n_tensors++;
}

struct nuc_lt_op *nuc_lt_add_op(struct nuc_lt_model *m, int32_t code, const int32_t *inputs, uint32_t n_inputs,
                                const int32_t *outputs, uint32_t n_outputs)
{
    struct nuc_lt_subgraph *s = &m->subgraphs[0];

    s->ops = nuc_grow(m->cx, s->ops, &s->ops_capacity, (size_t)s->n_ops + 1, sizeof *s->ops);
    struct nuc_lt_op *op = &s->ops[s->n_ops++];

    assert(code >= 0);
    *op = (struct nuc_lt_op){.code = code, .version = 1, .n_inputs = n_inputs, .n_outputs = n_outputs};
    op->inputs = nuc_copy(m->cx, inputs, n_inputs * sizeof *inputs);
    op->outputs = nuc_copy(m->cx, outputs, n_outputs * sizeof *outputs);
    return op;
}

struct nuc_lt_list nuc_lt_list(const int32_t *values, uint32_t count)
{
    struct nuc_lt_list list = {.count = count, .present = true};

    assert(count <= NUC_MAX_RANK);
    memcpy(list.values, values, count * sizeof *values);
    return list;
}

bool nuc_lt_contains(const int32_t *list, uint32_t count, int32_t value)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] == value)
            return true;
    }
    return false;
}

int64_t nuc_lt_elements(const struct nuc_lt_tensor *t)
{
    int64_t n = 1;

    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->shape[i];
    return n;
}

void nuc_lt_strides(const struct nuc_lt_tensor *t, int64_t *stride)
{
    int64_t step = 1;

    for (uint32_t i = t->rank; i-- > 0; step *= t->shape[i])
        stride[i] = step;
}

uint32_t nuc_lt_integers(const struct nuc_lt_tensor *t, uint32_t max, int64_t *out)
{
    if (t == NULL || t->data.data == NULL || (t->dtype != NUC_I32 && t->dtype != NUC_I64))
        return UINT32_MAX;
    size_t size = nuc_dtype_size(t->dtype), count = t->data.size / size;
    for (size_t k = 0; k < count && k < max; k++) {
        const uint8_t *at = t->data.data + k * size;
        out[k] = size == 4 ? (int32_t)nuc_load_u32(at) : (int64_t)nuc_load_u64(at);
    }
    return count > max ? UINT32_MAX : (uint32_t)count;
}

int32_t nuc_lt_axis(int64_t axis, uint32_t rank)
{
    axis = axis < 0 ? axis + rank : axis;
    return axis < 0 || axis >= rank ? -1 : (int32_t)axis;
}

/* Source: LiteRT ComputePadding and ComputeOutSize. */
struct nuc_lt_windows nuc_lt_windows(enum nuc_lt_padding padding, int64_t size, int64_t span, int64_t stride)
{
    struct nuc_lt_windows w = {.count = (size - span + stride) / stride};

    if (padding != NUC_LT_SAME)
        return w;
    w.count = (size + stride - 1) / stride;
    int64_t total = (w.count - 1) * stride + span - size;
    w.before = total > 0 ? total / 2 : 0;
    w.after = total > 0 ? total - w.before : 0;
    return w;
}

bool nuc_lt_quant_equal(const struct nuc_lt_quant *a, const struct nuc_lt_quant *b)
{
    if (a->count != b->count || (a->count > 1 && a->axis != b->axis))
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->scale[i] < b->scale[i] || a->scale[i] > b->scale[i] || a->zero_point[i] != b->zero_point[i])
            return false;
    }
    return true;
}

/* ---- uses ---- */

struct nuc_lt_uses nuc_lt_uses(struct nuc_context *cx, const struct nuc_lt_subgraph *s)
{
    struct nuc_lt_uses u = {
        .producer = nuc_alloc_array(cx, s->n_tensors, sizeof *u.producer),
        .first = nuc_alloc_array(cx, (size_t)s->n_tensors + 1, sizeof *u.first),
    };
    uint32_t *fill = nuc_alloc_array(cx, (size_t)s->n_tensors + 1, sizeof *fill);

    for (uint32_t i = 0; i < s->n_tensors; i++)
        u.producer[i] = -1;
    for (uint32_t i = 0; i < s->n_ops; i++) {
        for (uint32_t k = 0; k < s->ops[i].n_outputs; k++) {
            if (s->ops[i].outputs[k] >= 0)
                u.producer[s->ops[i].outputs[k]] = (int32_t)i;
        }
        for (uint32_t k = 0; k < s->ops[i].n_inputs; k++) {
            if (s->ops[i].inputs[k] >= 0)
                u.first[s->ops[i].inputs[k] + 1]++;
        }
    }
    for (uint32_t i = 0; i < s->n_tensors; i++)
        u.first[i + 1] += u.first[i];
    u.reader = nuc_alloc_array(cx, (size_t)u.first[s->n_tensors] + 1, sizeof *u.reader);
    for (uint32_t i = 0; i < s->n_ops; i++) {
        for (uint32_t k = 0; k < s->ops[i].n_inputs; k++) {
            int32_t t = s->ops[i].inputs[k];
            if (t >= 0)
                u.reader[u.first[t] + fill[t]++] = i;
        }
    }
    return u;
}

/* ---- what nothing reads ---- */

static void mark(int32_t *number, const int32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] >= 0)
            number[list[i]] = 0;
    }
}

static void renumber(const int32_t *number, int32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] >= 0)
            list[i] = number[list[i]];
    }
}

void nuc_lt_remove_dead(struct nuc_lt_model *m)
{
    struct nuc_lt_subgraph *s = &m->subgraphs[0];
    const size_t before = s->n_tensors;
    int32_t *number = nuc_alloc_array(m->cx, before, sizeof *number);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < s->n_tensors; i++)
        number[i] = -1;
    mark(number, s->inputs, s->n_inputs);
    mark(number, s->outputs, s->n_outputs);
    for (uint32_t i = 0; i < s->n_ops; i++) {
        mark(number, s->ops[i].inputs, s->ops[i].n_inputs);
        mark(number, s->ops[i].outputs, s->ops[i].n_outputs);
    }
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        if (number[i] < 0)
            continue;
        number[i] = (int32_t)kept;
        s->tensors[kept++] = s->tensors[i];
    }
    s->n_tensors = kept;
    renumber(number, s->inputs, s->n_inputs);
    renumber(number, s->outputs, s->n_outputs);
    for (uint32_t i = 0; i < s->n_ops; i++) {
        renumber(number, s->ops[i].inputs, s->ops[i].n_inputs);
        renumber(number, s->ops[i].outputs, s->ops[i].n_outputs);
    }
    nuc_give_back(m->cx, number, before * sizeof *number);
    const struct nuc_lt_tensor *all = s->tensors;
    s->tensors = nuc_copy(m->cx, all, kept * sizeof *all);
    nuc_give_back(m->cx, all, s->tensors_capacity * sizeof *all);
    s->tensors_capacity = kept;
}

/* ---- messages ---- */

_Noreturn void nuc_lt_refuse(const struct nuc_lt_model *m, uint32_t index, const struct nuc_lt_op *op,
                             const char *format, va_list args)
{
    char text[NUC_MESSAGE_SIZE];

    vsnprintf(text, sizeof text, format, args);
    nuc_fail(m->cx, NUC_UNSUPPORTED, "%s: operator %u (%s): %s", m->file, index, nuc_lt_code_name(m->cx, op->code),
             text);
}
