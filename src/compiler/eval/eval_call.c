/* What run and prepare functions of all families use: arguments, shapes, single elements. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compiler/eval/eval_private.h"

_Noreturn void nuc_eval_fail(const struct nuc_eval_call *c, const char *format, ...)
{
    char text[NUC_MESSAGE_SIZE / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    nuc_fail(c->cx, NUC_UNSUPPORTED, "%s: %s cannot be evaluated: %s", c->g->file, nuc_node_text(c->cx, c->node), text);
}

void nuc_eval_want(const struct nuc_eval_call *c, uint32_t arg, enum nuc_dtype dtype)
{
    if (!nuc_eval_has_in(c, arg))
        nuc_eval_fail(c, "tensor argument %u is missing", (unsigned)arg);
    if (nuc_eval_in_meta(c, arg)->dtype != dtype)
        nuc_eval_fail(c, "argument %u is %s, only %s is computed; convert it with to()", (unsigned)arg,
                      nuc_dtype_name(nuc_eval_in_meta(c, arg)->dtype), nuc_dtype_name(dtype));
}

void nuc_eval_want_float(const struct nuc_eval_call *c, uint32_t arg)
{
    nuc_eval_want(c, arg, NUC_F32);
    if (nuc_eval_out_meta(c, 0)->dtype != NUC_F32)
        nuc_eval_fail(c, "the result is %s, only float32 is computed", nuc_dtype_name(nuc_eval_out_meta(c, 0)->dtype));
}

static const struct nuc_arg *argument(const struct nuc_eval_call *c, uint32_t arg)
{
    if (arg >= c->node->n_args)
        nuc_eval_fail(c, "argument %u is missing", (unsigned)arg);
    return &c->node->args[arg];
}

double nuc_eval_number(const struct nuc_eval_call *c, uint32_t arg, double fallback)
{
    const struct nuc_arg *a = argument(c, arg);

    if (a->kind == NUC_ARG_NONE)
        return fallback;
    if (a->kind == NUC_ARG_FLOAT)
        return a->u.f;
    if (a->kind == NUC_ARG_INT)
        return (double)a->u.i;
    if (a->kind == NUC_ARG_BOOL)
        return a->u.b ? 1.0 : 0.0;
    nuc_eval_fail(c, "argument %u is not a number", (unsigned)arg);
}

int64_t nuc_eval_int(const struct nuc_eval_call *c, uint32_t arg, int64_t fallback)
{
    const struct nuc_arg *a = argument(c, arg);

    if (a->kind == NUC_ARG_NONE)
        return fallback;
    if (a->kind == NUC_ARG_INT)
        return a->u.i;
    if (a->kind == NUC_ARG_BOOL)
        return a->u.b;
    nuc_eval_fail(c, "argument %u is not an integer", (unsigned)arg);
}

bool nuc_eval_pair(const struct nuc_eval_call *c, uint32_t arg, int64_t out[2])
{
    const struct nuc_arg *a = argument(c, arg);

    if (a->kind == NUC_ARG_NONE || (a->kind == NUC_ARG_INTS && a->count == 0))
        return false;
    if (a->kind == NUC_ARG_INT) {
        out[0] = out[1] = a->u.i;
    } else if (a->kind == NUC_ARG_INTS && a->count <= 2) {
        out[0] = a->u.ints[0];
        out[1] = a->u.ints[a->count - 1];
    } else {
        nuc_eval_fail(c, "argument %u is not a pair of height and width", (unsigned)arg);
    }
    return true;
}

uint32_t nuc_eval_dim(const struct nuc_eval_call *c, int64_t dim, uint32_t rank)
{
    int64_t limit = rank == 0 ? 1 : rank;

    if (dim < -limit || dim >= limit)
        nuc_eval_fail(c, "dimension %lld of a tensor of rank %u", (long long)dim, (unsigned)rank);
    return (uint32_t)(dim < 0 ? dim + limit : dim);
}

uint32_t nuc_eval_dim_arg(const struct nuc_eval_call *c, uint32_t arg, uint32_t rank)
{
    return nuc_eval_dim(c, nuc_eval_int(c, arg, 0), rank);
}

void nuc_eval_marked_dims(const struct nuc_eval_call *c, uint32_t arg, uint32_t rank, bool marked[NUC_MAX_RANK])
{
    const struct nuc_arg *dims = argument(c, arg);
    bool all = dims->kind == NUC_ARG_NONE || (dims->kind == NUC_ARG_INTS && dims->count == 0);

    for (uint32_t d = 0; d < NUC_MAX_RANK; d++)
        marked[d] = all;
    if (dims->kind == NUC_ARG_INT)
        marked[nuc_eval_dim(c, dims->u.i, rank)] = true;
    if (dims->kind == NUC_ARG_INTS) {
        for (uint32_t i = 0; i < dims->count; i++)
            marked[nuc_eval_dim(c, dims->u.ints[i], rank)] = true;
    }
}

void nuc_eval_check_broadcast(const struct nuc_eval_call *c, uint32_t arg)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, arg), *out = nuc_eval_out_meta(c, 0);

    for (uint32_t i = 1; i <= in->rank; i++) {
        int64_t size = in->sizes[in->rank - i];
        if (i > out->rank || (size != 1 && size != out->sizes[out->rank - i]))
            nuc_eval_fail(c, "%s does not broadcast to %s", nuc_meta_text(c->cx, in), nuc_meta_text(c->cx, out));
    }
}

size_t nuc_eval_product(const struct nuc_meta *m, uint32_t from, uint32_t to)
{
    size_t product = 1;

    for (uint32_t d = from; d < to; d++)
        product *= (size_t)m->sizes[d];
    return product;
}

struct nuc_eval_image nuc_eval_image(const struct nuc_eval_call *c, const struct nuc_meta *m)
{
    if (m->rank != 3 && m->rank != 4)
        nuc_eval_fail(c, "%s is no image of rank 3 or 4", nuc_meta_text(c->cx, m));
    const int64_t *s = m->sizes + (m->rank - 3);
    return (struct nuc_eval_image){m->rank == 4 ? (size_t)m->sizes[0] : 1, (size_t)s[0], (size_t)s[1], (size_t)s[2]};
}

size_t nuc_eval_row_length(const struct nuc_meta *m)
{
    return m->rank == 0 ? 1 : (size_t)m->sizes[m->rank - 1];
}

size_t nuc_eval_rows(const struct nuc_meta *m)
{
    return m->rank == 0 ? 1 : nuc_eval_product(m, 0, m->rank - 1u);
}

size_t nuc_eval_row_offset(const struct nuc_meta *m, size_t row, const size_t strides[NUC_MAX_RANK])
{
    size_t offset = 0;

    for (uint32_t d = m->rank < 1 ? 0 : m->rank - 1u; d-- > 0;) {
        offset += row % (size_t)m->sizes[d] * strides[d];
        row /= (size_t)m->sizes[d];
    }
    return offset;
}

void nuc_eval_broadcast_strides(const struct nuc_meta *from, const struct nuc_meta *to, size_t strides[NUC_MAX_RANK])
{
    size_t stride = 1;

    memset(strides, 0, NUC_MAX_RANK * sizeof *strides);
    for (uint32_t i = 1; i <= from->rank && i <= to->rank; i++) {
        size_t size = (size_t)from->sizes[from->rank - i];
        strides[to->rank - i] = size == 1 ? 0 : stride;
        stride *= size;
    }
}

bool nuc_eval_is_integer(enum nuc_dtype dtype)
{
    return nuc_eval_can_convert(dtype) && dtype != NUC_F32 && dtype != NUC_F64;
}

bool nuc_eval_can_convert(enum nuc_dtype dtype)
{
    return dtype < NUC_DTYPE_COUNT && dtype != NUC_F16 && dtype != NUC_BF16;
}

int64_t nuc_eval_load_int(enum nuc_dtype dtype, const void *data, size_t i)
{
    switch (dtype) {
    case NUC_U8:
    case NUC_BOOL:
        return ((const uint8_t *)data)[i];
    case NUC_I8:
        return ((const int8_t *)data)[i];
    case NUC_I16:
        return ((const int16_t *)data)[i];
    case NUC_U16:
        return ((const uint16_t *)data)[i];
    case NUC_I32:
        return ((const int32_t *)data)[i];
    case NUC_I64:
        return ((const int64_t *)data)[i];
    case NUC_F16:
    case NUC_F32:
    case NUC_F64:
    case NUC_BF16:
    case NUC_DTYPE_COUNT:
    default:
        return 0;
    }
}

double nuc_eval_load_number(enum nuc_dtype dtype, const void *data, size_t i)
{
    if (dtype == NUC_F32)
        return (double)((const float *)data)[i];
    if (dtype == NUC_F64)
        return ((const double *)data)[i];
    return (double)nuc_eval_load_int(dtype, data, i);
}

static int64_t limited(int64_t value, int64_t low, int64_t high)
{
    if (value < low)
        return low;
    return value > high ? high : value;
}

void nuc_eval_store_int(enum nuc_dtype dtype, void *data, size_t i, int64_t value)
{
    switch (dtype) {
    case NUC_U8:
        ((uint8_t *)data)[i] = (uint8_t)limited(value, 0, UINT8_MAX);
        break;
    case NUC_BOOL:
        ((uint8_t *)data)[i] = value != 0;
        break;
    case NUC_I8:
        ((int8_t *)data)[i] = (int8_t)limited(value, INT8_MIN, INT8_MAX);
        break;
    case NUC_I16:
        ((int16_t *)data)[i] = (int16_t)limited(value, INT16_MIN, INT16_MAX);
        break;
    case NUC_U16:
        ((uint16_t *)data)[i] = (uint16_t)limited(value, 0, UINT16_MAX);
        break;
    case NUC_I32:
        ((int32_t *)data)[i] = (int32_t)limited(value, INT32_MIN, INT32_MAX);
        break;
    case NUC_I64:
        ((int64_t *)data)[i] = value;
        break;
    case NUC_F32:
        ((float *)data)[i] = (float)value;
        break;
    case NUC_F64:
        ((double *)data)[i] = (double)value;
        break;
    case NUC_F16:
    case NUC_BF16:
    case NUC_DTYPE_COUNT:
    default:
        break;
    }
}

void nuc_eval_store_number(enum nuc_dtype dtype, void *data, size_t i, double value)
{
    if (dtype == NUC_F32)
        ((float *)data)[i] = (float)value;
    else if (dtype == NUC_F64)
        ((double *)data)[i] = value;
    else if (dtype == NUC_BOOL)
        ((uint8_t *)data)[i] = value != 0.0;
    else if (!(fabs(value) < 9.2e18))
        nuc_eval_store_int(dtype, data, i, value > 0.0 ? INT64_MAX : value < 0.0 ? INT64_MIN : 0);
    else
        nuc_eval_store_int(dtype, data, i, (int64_t)value);
}

void nuc_eval_convert(enum nuc_dtype from, const void *in, enum nuc_dtype to, void *out, size_t count)
{
    bool exact = nuc_eval_is_integer(from);

    if (from == to) {
        memcpy(out, in, count * nuc_dtype_size(to));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (exact)
            nuc_eval_store_int(to, out, i, nuc_eval_load_int(from, in, i));
        else
            nuc_eval_store_number(to, out, i, nuc_eval_load_number(from, in, i));
    }
}

void nuc_eval_copy_strided(void *to, const void *from, size_t count, size_t stride, size_t size)
{
    const char *in = from;
    char *out = to;

    if (size == 4) { /* float32: a constant size makes the copy a single load and store */
        for (size_t i = 0; i < count; i++)
            memcpy(out + i * 4, in + i * stride * 4, 4);
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * size, in + i * stride * size, size);
}
