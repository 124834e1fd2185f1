/* Shape rules of elementwise operators, reductions, matrix products and quantization. */
#include <string.h>

#include "compiler/graph/shapes.h"

/* ---- elementwise ---- */

/* Result as the input: relu, hardtanh, dropout (the identity outside training). */
void nuc_shape_unary(const struct nuc_shape_call *c)
{
    nuc_shape_result(c, nuc_shape_input(c, 0));
}

/* Order of torch's promotion among bool, integers and floats. */
static int dtype_category(enum nuc_dtype dtype)
{
    switch (dtype) {
    case NUC_BOOL:
        return 0;
    case NUC_U8:
    case NUC_I8:
    case NUC_I16:
    case NUC_I32:
    case NUC_I64:
    case NUC_U16:
        return 1;
    case NUC_F16:
    case NUC_BF16:
    case NUC_F32:
    case NUC_F64:
        return 2;
    case NUC_DTYPE_COUNT:
    default:
        return -1;
    }
}

bool nuc_is_floating(enum nuc_dtype dtype)
{
    return dtype_category(dtype) == 2;
}

/* torch.result_type of two tensors; a scalar tensor yields to one with dimensions unless its category is higher. */
static enum nuc_dtype promote(const struct nuc_shape_call *c, const struct nuc_meta *a, const struct nuc_meta *b)
{
    int category_a = dtype_category(a->dtype);
    int category_b = dtype_category(b->dtype);

    if (a->dtype == b->dtype)
        return a->dtype;
    if (category_a != category_b)
        return category_a > category_b ? a->dtype : b->dtype;
    if ((a->rank == 0) != (b->rank == 0))
        return a->rank == 0 ? b->dtype : a->dtype;
    size_t size_a = nuc_dtype_size(a->dtype);
    size_t size_b = nuc_dtype_size(b->dtype);
    if (size_a == size_b || a->dtype == NUC_U16 || b->dtype == NUC_U16)
        nuc_shape_fail(c, "the inputs are %s and %s: convert one of them", nuc_dtype_name(a->dtype),
                       nuc_dtype_name(b->dtype));
    return size_a > size_b ? a->dtype : b->dtype;
}

/* Strides of `m` seen as the broadcast result of rank `rank`: 0 where it is repeated. */
static void broadcast_strides(const struct nuc_meta *m, const struct nuc_meta *result, int64_t strides[NUC_MAX_RANK])
{
    int64_t own[NUC_MAX_RANK];
    uint32_t lead = (uint32_t)(result->rank - m->rank);

    nuc_dense_strides(m, own);
    for (uint32_t i = 0; i < result->rank; i++) {
        bool repeated = i < lead || (m->sizes[i - lead] == 1 && result->sizes[i] != 1);
        strides[i] = repeated ? 0 : own[i - lead];
    }
}

static void broadcast_sizes(const struct nuc_shape_call *c, const struct nuc_meta *a, const struct nuc_meta *b,
                            struct nuc_meta *m)
{
    m->rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i < m->rank; i++) {
        int64_t size_a = i + a->rank < m->rank ? 1 : a->sizes[i + a->rank - m->rank];
        int64_t size_b = i + b->rank < m->rank ? 1 : b->sizes[i + b->rank - m->rank];
        if (size_a != size_b && size_a != 1 && size_b != 1)
            nuc_shape_fail(c, "%s and %s do not broadcast", nuc_meta_text(c->g->cx, a), nuc_meta_text(c->g->cx, b));
        m->sizes[i] = size_a == 1 ? size_b : size_a;
    }
}

/*
 * Order of a binary result. Operands of one shape: contiguous when both can be, else channels-last when both can be
 * (TensorIterator's fast set-up); else sorted by the operands' strides, the first deciding.
 */
static void binary_order(const struct nuc_meta *a, const struct nuc_meta *b, struct nuc_meta *m)
{
    int64_t strides[2][NUC_MAX_RANK];
    uint32_t count = 0;

    if (a->rank != 0 || b->rank == 0)
        broadcast_strides(a, m, strides[count++]);
    if (b->rank != 0)
        broadcast_strides(b, m, strides[count++]);
    nuc_dim_order_of_inputs(m->sizes, (const int64_t(*)[NUC_MAX_RANK])strides, count, m->rank, m->dim_order);
}

void nuc_shape_binary(const struct nuc_shape_call *c)
{
    const struct nuc_meta *a = nuc_shape_input(c, 0);
    const struct nuc_meta *b = nuc_shape_input(c, 1);
    struct nuc_meta m = {.dtype = promote(c, a, b)};

    broadcast_sizes(c, a, b, &m);
    nuc_set_contiguous(&m);
    nuc_shape_check(c, &m);
    binary_order(a, b, &m);
    nuc_shape_result(c, &m);
}

/* ---- reductions ---- */

/* Which dimensions are reduced; an empty or absent list means all. */
static void read_reduced(const struct nuc_shape_call *c, uint32_t rank, bool reduced[NUC_MAX_RANK])
{
    uint32_t count;
    const int64_t *dims = nuc_shape_ints(c, 1, &count);

    for (uint32_t i = 0; i < NUC_MAX_RANK; i++)
        reduced[i] = count == 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t dim = nuc_shape_dim(c, dims[i], rank);
        if (reduced[dim])
            nuc_shape_fail(c, "dimension %u is reduced twice", (unsigned)dim);
        reduced[dim] = true;
    }
}

/* self, dim, keepdim, dtype; the result is contiguous. */
void nuc_shape_mean_dim(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, 0);
    bool keep = nuc_shape_bool(c, 2);
    bool reduced[NUC_MAX_RANK];
    struct nuc_meta m = {.dtype = nuc_shape_dtype(c, 3, in->dtype)};

    if (!nuc_is_floating(m.dtype))
        nuc_shape_fail(c, "the mean of %s is not defined: pass dtype", nuc_dtype_name(m.dtype));
    read_reduced(c, in->rank, reduced);
    for (uint32_t i = 0; i < in->rank; i++) {
        if (!reduced[i])
            m.sizes[m.rank++] = in->sizes[i];
        else if (keep)
            m.sizes[m.rank++] = 1;
    }
    nuc_order_as(&m, false);
    nuc_shape_result(c, &m);
}

/* aten.softmax.int and aten._softmax: self, dim, and a dtype or a bool that a float input leaves without effect. */
void nuc_shape_softmax(const struct nuc_shape_call *c)
{
    struct nuc_meta m = *nuc_shape_input(c, 0);

    nuc_shape_dim(c, nuc_shape_int(c, 1), m.rank);
    if (c->node->args[2].kind == NUC_ARG_DTYPE)
        m.dtype = c->node->args[2].u.dtype;
    nuc_order_as(&m, false);
    nuc_shape_result(c, &m);
}

/* ---- matrix products: results are contiguous ---- */

/* input [..., in], weight [out, in] or [in], bias [out] */
void nuc_shape_linear(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, 0);
    const struct nuc_meta *w = nuc_shape_input(c, 1);
    const struct nuc_meta *bias = nuc_shape_optional_input(c, 2);
    struct nuc_meta m = *in;

    if (in->rank < 1 || w->rank < 1 || w->rank > 2 || in->sizes[in->rank - 1] != w->sizes[w->rank - 1])
        nuc_shape_fail(c, "the input %s and the weight %s do not fit each other", nuc_meta_text(c->g->cx, in),
                       nuc_meta_text(c->g->cx, w));
    if (in->dtype != w->dtype)
        nuc_shape_fail(c, "the input is %s, the weight %s", nuc_dtype_name(in->dtype), nuc_dtype_name(w->dtype));
    if (w->rank == 2)
        m.sizes[m.rank - 1] = w->sizes[0];
    else
        m.rank--;
    if (bias != NULL && (bias->rank > 1 || (bias->rank == 1 && (w->rank != 2 || bias->sizes[0] != w->sizes[0]))))
        nuc_shape_fail(c, "the bias %s does not fit the weight %s", nuc_meta_text(c->g->cx, bias),
                       nuc_meta_text(c->g->cx, w));
    nuc_order_as(&m, false);
    nuc_shape_result(c, &m);
}

static struct nuc_meta matrix_product(const struct nuc_shape_call *c, const struct nuc_meta *a,
                                      const struct nuc_meta *b)
{
    if (a->rank != 2 || b->rank != 2 || a->sizes[1] != b->sizes[0] || a->dtype != b->dtype)
        nuc_shape_fail(c, "%s and %s cannot be multiplied", nuc_meta_text(c->g->cx, a), nuc_meta_text(c->g->cx, b));
    struct nuc_meta m = nuc_meta_make(a->dtype, (const int64_t[]){a->sizes[0], b->sizes[1]}, 2);
    nuc_order_as(&m, false);
    return m;
}

/* self + mat1 * mat2, self broadcast */
void nuc_shape_addmm(const struct nuc_shape_call *c)
{
    const struct nuc_meta *self = nuc_shape_input(c, 0);
    struct nuc_meta m = matrix_product(c, nuc_shape_input(c, 1), nuc_shape_input(c, 2));
    bool fits = self->rank <= 2;

    for (uint32_t i = 0; fits && i < self->rank; i++) {
        int64_t size = self->sizes[i];
        fits = size == 1 || size == m.sizes[i + 2 - self->rank];
    }
    if (!fits)
        nuc_shape_fail(c, "%s cannot be added to %s", nuc_meta_text(c->g->cx, self), nuc_meta_text(c->g->cx, &m));
    nuc_shape_result(c, &m);
}

void nuc_shape_mm(const struct nuc_shape_call *c)
{
    struct nuc_meta m = matrix_product(c, nuc_shape_input(c, 0), nuc_shape_input(c, 1));

    nuc_shape_result(c, &m);
}

/* ---- quantization: sizes and order as the input ---- */

static void change_dtype(const struct nuc_shape_call *c, enum nuc_dtype dtype)
{
    struct nuc_meta m = *nuc_shape_input(c, 0);

    m.dtype = dtype;
    nuc_shape_result(c, &m);
}

/* Quantized values have the type the operator states. */
static void check_quantized(const struct nuc_shape_call *c, uint32_t dtype_index)
{
    enum nuc_dtype stated = nuc_shape_dtype(c, dtype_index, NUC_I8);
    enum nuc_dtype actual = nuc_shape_input(c, 0)->dtype;

    if (stated != actual)
        nuc_shape_fail(c, "the input is %s, the operator states %s", nuc_dtype_name(actual), nuc_dtype_name(stated));
}

/* input, scales, zero_points, axis: a scale and a zero point for each index of that dimension. */
static void check_axis(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, 0);
    uint32_t axis = nuc_shape_dim(c, nuc_shape_int(c, 3), in->rank);

    if (in->rank == 0)
        nuc_shape_fail(c, "a scalar has no channels");
    for (uint32_t i = 1; i <= 2; i++) {
        const struct nuc_meta *m = nuc_shape_optional_input(c, i);
        if (m != NULL && (m->rank != 1 || m->sizes[0] != in->sizes[axis]))
            nuc_shape_fail(c, "%s holds parameters for %lld channels", nuc_meta_text(c->g->cx, m),
                           (long long)in->sizes[axis]);
    }
}

void nuc_shape_quantize_per_tensor(const struct nuc_shape_call *c)
{
    change_dtype(c, nuc_shape_dtype(c, 5, NUC_I8));
}

void nuc_shape_dequantize_per_tensor(const struct nuc_shape_call *c)
{
    check_quantized(c, 5);
    change_dtype(c, nuc_shape_dtype(c, 6, NUC_F32));
}

void nuc_shape_quantize_per_channel(const struct nuc_shape_call *c)
{
    check_axis(c);
    change_dtype(c, nuc_shape_dtype(c, 6, NUC_I8));
}

void nuc_shape_dequantize_per_channel(const struct nuc_shape_call *c)
{
    check_quantized(c, 6);
    check_axis(c);
    change_dtype(c, nuc_shape_dtype(c, 7, NUC_F32));
}
