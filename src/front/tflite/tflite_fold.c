/* What is computed from constants alone: weights behind DEQUANTIZE, arithmetic of shapes. */
#include <string.h>

#include "rewrite/known.h"
#include "tflite_import.h"

/* What a list of sizes, indices or positions may have. */
#define MOST_INTEGERS 65536

struct integers {
    uint32_t count;
    int64_t *values;
};

static bool is_index(enum nuc_dtype dtype)
{
    return dtype == NUC_I32 || dtype == NUC_I64;
}

/* Constant operand i, when it holds few integers. */
static bool read_integers(const struct nuc_ti *ti, uint32_t i, struct integers *out)
{
    const struct nuc_lt_tensor *t = nuc_ti_has(ti, i) ? nuc_ti_in(ti, i) : NULL;

    if (t == NULL || t->data.data == NULL || !is_index(t->dtype) || t->quant.count != 0)
        return false;
    int64_t count = nuc_lt_elements(t);
    if (count < 0 || count > MOST_INTEGERS || (size_t)count * nuc_dtype_size(t->dtype) != t->data.size)
        return false;
    *out = (struct integers){(uint32_t)count, nuc_alloc_array(ti->cx, (size_t)count, sizeof(int64_t))};
    for (uint32_t k = 0; k < out->count; k++)
        out->values[k] = nuc_int_at(t->dtype, t->data.data, k);
    return true;
}

/* The result is these numbers. False when its stated type or sizes are others: then the operator is imported. */
static bool define_integers(struct nuc_ti *ti, const struct integers *from)
{
    struct nuc_lt_tensor *y = &ti->tensors[ti->op->outputs[0]];
    size_t size = nuc_dtype_size(y->dtype);
    bool fits = is_index(y->dtype) && nuc_lt_elements(y) == (int64_t)from->count;

    for (uint32_t k = 0; fits && y->dtype == NUC_I32 && k < from->count; k++)
        fits = from->values[k] >= INT32_MIN && from->values[k] <= INT32_MAX;
    if (!fits)
        return false;
    uint8_t *bytes = nuc_alloc_array(ti->cx, from->count, size);
    for (uint32_t k = 0; k < from->count; k++) {
        int32_t narrow = (int32_t)from->values[k];
        memcpy(bytes + k * size, size == sizeof narrow ? (const void *)&narrow : &from->values[k], size);
    }
    y->data = (struct nuc_span){bytes, from->count * size};
    return true;
}

static bool fold_shape(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    int64_t sizes[NUC_MAX_RANK];

    for (uint32_t d = 0; d < x->rank; d++)
        sizes[d] = x->shape[d];
    return define_integers(ti, &(struct integers){x->rank, sizes});
}

static bool fold_rank(struct nuc_ti *ti)
{
    int64_t rank = nuc_ti_in(ti, 0)->rank;

    return define_integers(ti, &(struct integers){1, &rank});
}

/* One list after the other: numbers that a PACK puts side by side, or lists that CONCATENATION joins. */
static bool fold_join(struct nuc_ti *ti)
{
    struct integers all = {0, NULL}, part;
    uint32_t rank = ti->op->code == NUC_LT_PACK ? 0 : 1;
    size_t capacity = 0;

    for (uint32_t i = 0; i < ti->op->n_inputs; i++) {
        if (!read_integers(ti, i, &part) || nuc_ti_in(ti, i)->rank != rank || all.count + part.count > MOST_INTEGERS)
            return false;
        all.values = nuc_grow(ti->cx, all.values, &capacity, all.count + part.count, sizeof *all.values);
        for (uint32_t k = 0; k < part.count; k++)
            all.values[all.count++] = part.values[k];
    }
    return define_integers(ti, &all);
}

/* The shape that two shapes broadcast to. */
static bool fold_broadcast(struct nuc_ti *ti)
{
    struct integers a, b;

    if (!read_integers(ti, 0, &a) || !read_integers(ti, 1, &b))
        return false;
    struct integers longer = a.count >= b.count ? a : b, other = a.count >= b.count ? b : a;
    for (uint32_t k = 0; k < other.count; k++) {
        int64_t *size = &longer.values[longer.count - other.count + k];
        if (*size == 1)
            *size = other.values[k];
        else if (other.values[k] != 1 && other.values[k] != *size)
            return false;
    }
    return define_integers(ti, &longer);
}

/* A part of a list. */
static bool fold_strided_slice(struct nuc_ti *ti)
{
    struct integers from, out;
    struct nuc_ti_cut cuts[NUC_MAX_RANK];

    if (!read_integers(ti, 0, &from) || nuc_ti_in(ti, 0)->rank != 1 || !nuc_ti_strided_cuts(ti, cuts))
        return false;
    out = (struct integers){0, nuc_alloc_array(ti->cx, from.count, sizeof(int64_t))};
    for (int64_t k = cuts[0].begin; cuts[0].step > 0 ? k < cuts[0].end : k > cuts[0].end; k += cuts[0].step)
        out.values[out.count++] = from.values[k];
    return define_integers(ti, &out);
}

static bool fold_slice(struct nuc_ti *ti)
{
    struct integers from, begin, size;

    if (!read_integers(ti, 0, &from) || !read_integers(ti, 1, &begin) || !read_integers(ti, 2, &size) ||
        nuc_ti_in(ti, 0)->rank != 1 || begin.count != 1 || size.count != 1)
        return false;
    int64_t first = begin.values[0];
    if (first < 0 || first > from.count)
        return false;
    int64_t count = size.values[0] == -1 ? from.count - first : size.values[0];
    if (count < 0 || count > from.count - first)
        return false;
    return define_integers(ti, &(struct integers){(uint32_t)count, from.values + first});
}

static bool fold_range(struct nuc_ti *ti)
{
    struct integers start, limit, step, out = {0, NULL};

    if (!read_integers(ti, 0, &start) || !read_integers(ti, 1, &limit) || !read_integers(ti, 2, &step) ||
        start.count != 1 || limit.count != 1 || step.count != 1 || step.values[0] == 0)
        return false;
    out.values = nuc_alloc_array(ti->cx, MOST_INTEGERS, sizeof(int64_t));
    for (int64_t v = start.values[0]; step.values[0] > 0 ? v < limit.values[0] : v > limit.values[0];) {
        if (out.count == MOST_INTEGERS)
            return false;
        out.values[out.count++] = v;
        if (__builtin_add_overflow(v, step.values[0], &v))
            break;
    }
    return define_integers(ti, &out);
}

/* ---- whatever the type ---- */

/* What a file of a few bytes may make of them. */
#define MOST_FILLED (1 << 24)

/* One value everywhere: that of operand 1, or zero. */
static bool fold_fill(struct nuc_ti *ti)
{
    struct nuc_lt_tensor *y = &ti->tensors[ti->op->outputs[0]];
    const struct nuc_lt_tensor *value = ti->op->code == NUC_LT_FILL ? nuc_ti_in(ti, 1) : NULL;
    size_t size = nuc_dtype_size(y->dtype);
    int64_t count = nuc_lt_elements(y);

    if (count < 1 || count > MOST_FILLED || y->quant.count != 0 || y->dtype == NUC_I8)
        return false;
    if (value != NULL && (value->data.data == NULL || value->dtype != y->dtype || nuc_ti_held(value) != 1))
        return false;
    uint8_t *bytes = nuc_alloc_array(ti->cx, (size_t)count, size);
    for (int64_t i = 0; value != NULL && i < count; i++)
        memcpy(bytes + (size_t)i * size, value->data.data, size);
    y->data = (struct nuc_span){bytes, (size_t)count * size};
    return true;
}

/* The same bytes under other sizes. */
static bool fold_view(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    struct nuc_lt_tensor *y = &ti->tensors[ti->op->outputs[0]];

    if (x->dtype != y->dtype || x->quant.count > 1 || !nuc_lt_quant_equal(&x->quant, &y->quant) ||
        nuc_ti_held(x) != nuc_lt_elements(y))
        return false;
    y->data = x->data;
    return true;
}

/* Numbers as real ones, which a scale may give. */
static bool fold_to_real(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    struct nuc_lt_tensor *y = &ti->tensors[ti->op->outputs[0]];

    if (y->dtype != NUC_F32 || nuc_ti_held(x) != nuc_lt_elements(y))
        return false;
    y->data = nuc_ti_as_floats(ti, x);
    return true;
}

/* A SLICE of no elements, as what lies before the first one of a list that a loop fills: a constant of none. */
static bool fold_nothing(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    struct nuc_lt_tensor *y = &ti->tensors[ti->op->outputs[0]];
    struct integers begin, size;
    bool is_empty = false;

    if (!read_integers(ti, 1, &begin) || !read_integers(ti, 2, &size) || begin.count != x->rank ||
        size.count != x->rank || y->dtype != x->dtype ||
        nuc_lt_contains(ti->s->outputs, ti->s->n_outputs, ti->op->outputs[0]))
        return false;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (begin.values[d] < 0 || begin.values[d] > x->shape[d])
            return false;
        const int64_t rest = x->shape[d] - begin.values[d];
        size.values[d] = size.values[d] == -1 ? rest : size.values[d];
        if (size.values[d] < 0 || size.values[d] > rest)
            return false;
        is_empty = is_empty || size.values[d] == 0;
    }
    if (!is_empty)
        return false;
    y->rank = x->rank;
    for (uint32_t d = 0; d < x->rank; d++)
        y->shape[d] = (int32_t)size.values[d];
    y->data = (struct nuc_span){nuc_alloc(ti->cx, 1), 0};
    return true;
}

static bool is_constant(const struct nuc_ti *ti, uint32_t i)
{
    return !nuc_ti_has(ti, i) || nuc_ti_in(ti, i)->data.data != NULL;
}

bool nuc_ti_fold(struct nuc_ti *ti)
{
    bool constants = true;

    if (ti->op->n_outputs != 1 || ti->op->n_inputs == 0)
        return false;
    for (uint32_t i = 0; i < ti->op->n_inputs; i++)
        constants = constants && is_constant(ti, i);
    switch (ti->op->code) {
    case NUC_LT_SHAPE:
        return fold_shape(ti);
    case NUC_LT_RANK:
        return fold_rank(ti);
    case NUC_LT_FILL:
    case NUC_LT_ZEROS_LIKE:
        return fold_fill(ti);
    case NUC_LT_RESHAPE:
    case NUC_LT_SQUEEZE:
    case NUC_LT_EXPAND_DIMS:
    case NUC_LT_DENSIFY:
        return is_constant(ti, 0) && fold_view(ti);
    case NUC_LT_DEQUANTIZE:
    case NUC_LT_CAST:
        return constants && fold_to_real(ti);
    case NUC_LT_PACK:
    case NUC_LT_CONCATENATION:
        return constants && fold_join(ti);
    case NUC_LT_BROADCAST_ARGS:
        return constants && fold_broadcast(ti);
    case NUC_LT_STRIDED_SLICE:
        return constants && fold_strided_slice(ti);
    case NUC_LT_SLICE:
        return (constants && fold_slice(ti)) || fold_nothing(ti);
    case NUC_LT_RANGE:
        return constants && fold_range(ti);
    default:
        return false;
    }
}

/* ---- by the evaluator ---- */

/* Numbers that stand for themselves, and truths. */
static bool is_list(const struct nuc_lt_tensor *t)
{
    return t->rank < 4 && t->quant.count == 0 && (is_index(t->dtype) || t->dtype == NUC_BOOL) &&
           nuc_lt_elements(t) > 0 && nuc_lt_elements(t) <= MOST_INTEGERS;
}

void nuc_ti_fold_result(struct nuc_ti *ti)
{
    const int32_t result = ti->op->n_outputs == 1 ? ti->op->outputs[0] : -1;

    for (uint32_t i = 0; i < ti->op->n_inputs; i++) {
        if (!is_constant(ti, i) || (nuc_ti_has(ti, i) && !is_list(nuc_ti_in(ti, i))))
            return;
    }
    struct nuc_node *node = result < 0 ? NULL : ti->values[result].nodes[NUC_TI_PLAIN];
    if (node == NULL || !nuc_is_call(node) || !is_list(&ti->tensors[result]))
        return;
    const void *values = nuc_known_value(ti->g, node);
    if (values != NULL && nuc_lt_elements(&ti->tensors[result]) == nuc_elements(&node->vals[0])) {
        ti->tensors[result].data = (struct nuc_span){values, nuc_bytes(&node->vals[0])};
        ti->values[result] = (struct nuc_ti_value){.form = NUC_TI_PLAIN};
        /* Others may have its name. */
        if (node->n_users == 0)
            nuc_remove_node(ti->g, node);
    }
}
