#include "compiler/litert/litert.h"

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
    *op = (struct nuc_lt_op){.code = code, .version = 1, .n_inputs = n_inputs, .n_outputs = n_outputs};
    op->inputs = nuc_copy(m->cx, inputs, n_inputs * sizeof *inputs);
    op->outputs = nuc_copy(m->cx, outputs, n_outputs * sizeof *outputs);
    return op;
}

struct nuc_lt_list nuc_lt_list(const int32_t *values, uint32_t count)
{
    struct nuc_lt_list list = {.count = count, .present = true};

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
