/* What is computed from constants alone: weights behind DEQUANTIZE, arithmetic of shapes. */
#include <string.h>

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

/* Elements of a list, at positions that are constants. */
static bool fold_gather(struct nuc_ti *ti)
{
    struct integers from, at;

    if (!read_integers(ti, 0, &from) || !read_integers(ti, 1, &at) || nuc_ti_in(ti, 0)->rank != 1)
        return false;
    for (uint32_t k = 0; k < at.count; k++) {
        if (at.values[k] < 0 || at.values[k] >= from.count)
            return false;
        at.values[k] = from.values[at.values[k]];
    }
    return define_integers(ti, &at);
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

static int64_t floor_division(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/* False for a result that int64 does not hold. */
static bool combine(int32_t code, int64_t a, int64_t b, int64_t *out)
{
    bool divides = b != 0 && !(a == INT64_MIN && b == -1);

    switch (code) {
    case NUC_LT_ADD:
        return !__builtin_add_overflow(a, b, out);
    case NUC_LT_SUB:
        return !__builtin_sub_overflow(a, b, out);
    case NUC_LT_MUL:
        return !__builtin_mul_overflow(a, b, out);
    case NUC_LT_MAXIMUM:
        *out = a > b ? a : b;
        return true;
    case NUC_LT_MINIMUM:
        *out = a < b ? a : b;
        return true;
    case NUC_LT_DIV:
        *out = divides ? a / b : 0;
        return divides;
    case NUC_LT_FLOOR_DIV:
        *out = divides ? floor_division(a, b) : 0;
        return divides;
    default: /* FLOOR_MOD */
        *out = divides ? a - b * floor_division(a, b) : 0;
        return divides;
    }
}

/* Lists of equal length, or one number with each of a list. */
static bool fold_binary(struct nuc_ti *ti)
{
    struct integers a, b, out;

    if (!read_integers(ti, 0, &a) || !read_integers(ti, 1, &b) || nuc_ti_in(ti, 0)->rank > 1 ||
        nuc_ti_in(ti, 1)->rank > 1 || (a.count != b.count && a.count != 1 && b.count != 1))
        return false;
    out.count = a.count == 1 ? b.count : a.count;
    out.values = nuc_alloc_array(ti->cx, out.count, sizeof(int64_t));
    for (uint32_t k = 0; k < out.count; k++) {
        if (!combine(ti->op->code, a.values[a.count == 1 ? 0 : k], b.values[b.count == 1 ? 0 : k], &out.values[k]))
            return false;
    }
    return define_integers(ti, &out);
}

/* One truth, of a relation between two numbers or of other truths. */
static bool define_truth(struct nuc_ti *ti, bool truth)
{
    struct nuc_lt_tensor *y = &ti->tensors[ti->op->outputs[0]];
    const uint8_t byte = truth;

    if (y->dtype != NUC_BOOL || nuc_lt_elements(y) != 1)
        return false;
    y->data = (struct nuc_span){nuc_copy(ti->cx, &byte, 1), 1};
    return true;
}

static bool fold_relation(struct nuc_ti *ti)
{
    struct integers a, b;
    int32_t code = ti->op->code;

    if (!read_integers(ti, 0, &a) || !read_integers(ti, 1, &b) || a.count != 1 || b.count != 1)
        return false;
    bool less = a.values[0] < b.values[0], equal = a.values[0] == b.values[0];
    return define_truth(ti, code == NUC_LT_LESS            ? less
                            : code == NUC_LT_LESS_EQUAL    ? less || equal
                            : code == NUC_LT_GREATER       ? !less && !equal
                            : code == NUC_LT_GREATER_EQUAL ? !less
                                                           : equal == (code == NUC_LT_EQUAL));
}

static bool fold_truths(struct nuc_ti *ti)
{
    bool truth[2] = {false, false};

    for (uint32_t i = 0; i < ti->op->n_inputs && i < 2; i++) {
        const struct nuc_lt_tensor *t = nuc_ti_in(ti, i);
        if (t->dtype != NUC_BOOL || nuc_ti_held(t) != 1)
            return false;
        truth[i] = t->data.data[0] != 0;
    }
    return define_truth(ti, ti->op->code == NUC_LT_LOGICAL_NOT  ? !truth[0]
                            : ti->op->code == NUC_LT_LOGICAL_OR ? truth[0] || truth[1]
                                                                : truth[0] && truth[1]);
}

static bool fold_product(struct nuc_ti *ti)
{
    struct integers from;
    int64_t product = 1;

    if (!read_integers(ti, 0, &from) || nuc_ti_in(ti, 0)->rank != 1)
        return false;
    for (uint32_t k = 0; k < from.count; k++) {
        if (__builtin_mul_overflow(product, from.values[k], &product))
            return false;
    }
    return define_integers(ti, &(struct integers){1, &product});
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

/* Numbers of another type, real ones that a scale gives among them. */
static bool fold_to_type(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    struct nuc_lt_tensor *y = &ti->tensors[ti->op->outputs[0]];
    struct integers from;

    if (y->dtype == NUC_F32 && nuc_ti_held(x) == nuc_lt_elements(y)) {
        y->data = nuc_ti_as_floats(ti, x);
        return true;
    }
    return read_integers(ti, 0, &from) && define_integers(ti, &from);
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
        return constants && fold_to_type(ti);
    case NUC_LT_PACK:
    case NUC_LT_CONCATENATION:
        return constants && fold_join(ti);
    case NUC_LT_BROADCAST_ARGS:
        return constants && fold_broadcast(ti);
    case NUC_LT_GATHER:
        return constants && fold_gather(ti);
    case NUC_LT_STRIDED_SLICE:
        return constants && fold_strided_slice(ti);
    case NUC_LT_SLICE:
        return constants && fold_slice(ti);
    case NUC_LT_RANGE:
        return constants && fold_range(ti);
    case NUC_LT_REDUCE_PROD:
        return constants && fold_product(ti);
    case NUC_LT_ADD:
    case NUC_LT_SUB:
    case NUC_LT_MUL:
    case NUC_LT_DIV:
    case NUC_LT_FLOOR_DIV:
    case NUC_LT_FLOOR_MOD:
    case NUC_LT_MAXIMUM:
    case NUC_LT_MINIMUM:
        return constants && fold_binary(ti);
    case NUC_LT_LESS:
    case NUC_LT_LESS_EQUAL:
    case NUC_LT_GREATER:
    case NUC_LT_GREATER_EQUAL:
    case NUC_LT_EQUAL:
    case NUC_LT_NOT_EQUAL:
        return constants && fold_relation(ti);
    case NUC_LT_LOGICAL_NOT:
    case NUC_LT_LOGICAL_AND:
    case NUC_LT_LOGICAL_OR:
        return constants && fold_truths(ti);
    default:
        return false;
    }
}
