/* Operators that compute positions or are given them: ranges and indices. */
#include <string.h>

#include "device/runtime/operators/op_shapes.h"

/* ---- aten::arange ---- */

enum nuc_status nuc_op_arange(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_arange *a = (const void *)args;
    const struct nuc_tensor *out = &a->out->u.tensor;
    double start = nuc_value_scalar(a->start);
    double step = nuc_value_scalar(a->step);
    double steps = (nuc_value_scalar(a->end) - start) / step;
    double count = (double)nuc_tensor_elements(out);

    if (!nuc_need(cx, steps > count - 1.0 && steps <= count, NUC_TEXT("argument 'out' has the wrong size")))
        return NUC_UNSUPPORTED;
    nuc_kernel_arange((enum nuc_dtype)out->dtype, start, step, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

/* ---- aten::index ---- */

/*
 * The index tensors of a call: tensors[d] indexes dimension d, NULL takes it whole. All broadcast to `rank` sizes,
 * which stand in the output where the indexed dimensions are, or in front when those are not next to each other.
 */
struct indices {
    const struct nuc_tensor *tensors[NUC_MAX_RANK];
    ptrdiff_t strides[NUC_MAX_RANK][NUC_MAX_RANK]; /* [dimension indexed][dimension of the broadcast sizes] */
    int32_t sizes[NUC_MAX_RANK];
    uint32_t rank;
    uint32_t indexed; /* bit d: dimension d is indexed */
    uint32_t at;      /* first of the broadcast dimensions in the output */
};

/* The sizes all index tensors broadcast to, and the strides with which each does. */
static bool broadcast_indices(struct indices *x)
{
    for (uint32_t i = 0; i < x->rank; i++)
        x->sizes[i] = 1;
    for (uint32_t d = 0; d < NUC_MAX_RANK; d++) {
        const struct nuc_tensor *t = x->tensors[d];
        for (uint32_t i = 0; t != NULL && i < t->rank; i++) {
            int32_t *size = &x->sizes[x->rank - t->rank + i];
            if (t->sizes[i] != 1 && *size != 1 && *size != t->sizes[i])
                return false;
            *size = t->sizes[i] != 1 ? t->sizes[i] : *size;
        }
    }
    for (uint32_t d = 0; d < NUC_MAX_RANK; d++) {
        const struct nuc_tensor *t = x->tensors[d];
        ptrdiff_t strides[NUC_MAX_RANK];
        if (t == NULL)
            continue;
        nuc_tensor_strides(t, strides);
        for (uint32_t i = 0; i < t->rank; i++)
            x->strides[d][x->rank - t->rank + i] = t->sizes[i] == 1 ? 0 : strides[i];
    }
    return true;
}

/* Where the broadcast dimensions go: the first indexed one when there is no gap between them. */
static uint32_t place_of_indices(uint32_t indexed)
{
    uint32_t first = 0;

    if (indexed == 0)
        return 0;
    while ((indexed >> first & 1) == 0)
        first++;
    uint32_t run = indexed >> first;
    return (run & (run + 1)) == 0 ? first : 0;
}

static bool collect(struct nuc_kernel_context *cx, const struct nuc_value *list, const struct nuc_tensor *in,
                    struct indices *x)
{
    if (!nuc_need(cx, list->u.list.count <= in->rank, NUC_TEXT("argument 'indices' has more entries than dimensions")))
        return false;
    for (uint32_t d = 0; d < list->u.list.count; d++) {
        const struct nuc_value *value = nuc_list_value(cx, list, d);
        if (value == NULL)
            continue;
        const struct nuc_tensor *t = &value->u.tensor;
        if (!nuc_need(cx, t->dtype == NUC_I64 || t->dtype == NUC_I32,
                      NUC_TEXT("argument 'indices' holds a tensor that is neither int64 nor int32")))
            return false;
        x->tensors[d] = t;
        x->indexed |= 1U << d;
        x->rank = t->rank > x->rank ? t->rank : x->rank;
    }
    x->at = place_of_indices(x->indexed);
    return nuc_need(cx, broadcast_indices(x), NUC_TEXT("the tensors of 'indices' do not broadcast"));
}

/*
 * Loops over the dimensions of `t` that are taken whole, with the strides of `t` and of `picked`, which is what the
 * indices pick or is put there, and the strides of `picked` along the dimensions of the indices. False when it has
 * other sizes; what is put may broadcast to them.
 */
static bool picked_loops(const struct nuc_tensor *t, const struct nuc_tensor *picked, const struct indices *x, bool put,
                         struct nuc_loops *loops, ptrdiff_t strides[NUC_MAX_RANK])
{
    ptrdiff_t *of_t = put ? loops->out : loops->a, *of_picked = put ? loops->a : loops->out, own[NUC_MAX_RANK];
    uint32_t l = 0;

    nuc_tensor_strides(t, own);
    loops->rank = 0;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (x->tensors[d] != NULL)
            continue;
        loops->sizes[loops->rank] = t->sizes[d];
        loops->b[loops->rank] = 0;
        of_t[loops->rank++] = own[d];
    }
    int32_t rank = (int32_t)(loops->rank + x->rank), lead = rank - (int32_t)picked->rank;
    if (rank > NUC_MAX_RANK || (!put && lead != 0))
        return false;
    for (int32_t i = lead; i < 0; i++) {
        if (picked->sizes[i - lead] != 1)
            return false;
    }
    nuc_tensor_strides(picked, own);
    /* Dimensions of the result: whole ones in front of the indices, the indices, whole ones after them. */
    for (int32_t r = 0; r < rank; r++) {
        bool indexed = (uint32_t)r >= x->at && (uint32_t)r < x->at + x->rank;
        int32_t size = r < lead ? 1 : picked->sizes[r - lead];
        int32_t wanted = indexed ? x->sizes[(uint32_t)r - x->at] : loops->sizes[l];
        if (size != wanted && (!put || size != 1))
            return false;
        ptrdiff_t stride = r < lead || size != wanted ? 0 : own[r - lead];
        if (indexed)
            strides[(uint32_t)r - x->at] = stride;
        else
            of_picked[l++] = stride;
    }
    return true;
}

/* The element of `in` that the indices at `position` lead to; false when one lies outside its dimension. */
static bool input_offset(const struct nuc_tensor *in, const ptrdiff_t *in_strides, const struct indices *x,
                         const int32_t *position, ptrdiff_t *offset)
{
    *offset = 0;
    for (uint32_t d = 0; d < in->rank; d++) {
        const struct nuc_tensor *t = x->tensors[d];
        ptrdiff_t at = 0;
        if (t == NULL)
            continue;
        for (uint32_t i = 0; i < x->rank; i++)
            at += position[i] * x->strides[d][i];
        int64_t index = t->dtype == NUC_I64 ? ((const int64_t *)t->data)[at] : ((const int32_t *)t->data)[at];
        if (index < -(int64_t)in->sizes[d] || index >= in->sizes[d])
            return false;
        *offset += (ptrdiff_t)(index < 0 ? index + in->sizes[d] : index) * in_strides[d];
    }
    return true;
}

/* Advances through the broadcast sizes; false when all have been visited. */
static bool next_position(const struct indices *x, int32_t *position)
{
    for (uint32_t i = x->rank; i-- > 0;) {
        if (++position[i] < x->sizes[i])
            return true;
        position[i] = 0;
    }
    return false;
}

static bool gather(const struct nuc_tensor *in, const struct nuc_tensor *out, const struct indices *x,
                   const struct nuc_loops *loops, const ptrdiff_t strides[NUC_MAX_RANK])
{
    ptrdiff_t size = (ptrdiff_t)nuc_element_size(in);
    int32_t position[NUC_MAX_RANK] = {0};
    ptrdiff_t in_strides[NUC_MAX_RANK];
    bool single = !nuc_has_elements(loops, 2);

    nuc_tensor_strides(in, in_strides);
    do {
        ptrdiff_t from;
        ptrdiff_t to = 0;
        if (!input_offset(in, in_strides, x, position, &from))
            return false;
        for (uint32_t i = 0; i < x->rank; i++)
            to += position[i] * strides[i];
        if (single)
            memmove((uint8_t *)out->data + to * size, (const uint8_t *)in->data + from * size, (size_t)size);
        else
            nuc_kernel_copy(loops, (size_t)size, (const uint8_t *)in->data + from * size,
                            (uint8_t *)out->data + to * size);
    } while (next_position(x, position));
    return true;
}

/* Of the one dimension that is indexed. */
static bool gather_along(const struct nuc_tensor *in, const struct nuc_tensor *out, const struct indices *x)
{
    const uint32_t dim = x->at;
    const struct nuc_tensor *index = x->tensors[dim];
    struct nuc_loops loops = {.rank = out->rank};
    ptrdiff_t strides[NUC_MAX_RANK];

    nuc_tensor_strides(in, strides);
    nuc_tensor_strides(out, loops.out);
    for (uint32_t d = 0; d < out->rank; d++) {
        bool indexed = d >= dim && d < dim + x->rank;
        loops.sizes[d] = out->sizes[d];
        loops.a[d] = indexed ? x->strides[dim][d - dim] : 0;
        loops.b[d] = indexed ? 0 : strides[d < dim ? d : d - x->rank + 1];
    }
    const struct nuc_indexed by = {index->data, (enum nuc_dtype)index->dtype, in->sizes[dim], strides[dim], true};
    return nuc_kernel_gather(&loops, &by, nuc_element_size(in), in->data, out->data);
}

enum nuc_status nuc_op_index(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_index *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    struct indices x = {.rank = 0};
    ptrdiff_t strides[NUC_MAX_RANK];
    struct nuc_loops loops;

    if (!collect(cx, a->indices, in, &x) || !nuc_need(cx, picked_loops(in, out, &x, false, &loops, strides),
                                                      NUC_TEXT("argument 'out' has the wrong sizes")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    return nuc_in_range(cx, x.indexed == 1U << x.at ? gather_along(in, out, &x) : gather(in, out, &x, &loops, strides));
}

/* ---- aten::index_put ---- */

static bool put(const struct nuc_tensor *values, const struct nuc_tensor *out, const struct indices *x,
                const struct nuc_loops *loops, const ptrdiff_t strides[NUC_MAX_RANK], enum nuc_combination how)
{
    ptrdiff_t size = (ptrdiff_t)nuc_element_size(out);
    int32_t position[NUC_MAX_RANK] = {0};
    ptrdiff_t out_strides[NUC_MAX_RANK];

    nuc_tensor_strides(out, out_strides);
    do {
        ptrdiff_t from = 0;
        ptrdiff_t to;
        if (!input_offset(out, out_strides, x, position, &to))
            return false;
        for (uint32_t i = 0; i < x->rank; i++)
            from += position[i] * strides[i];
        nuc_kernel_combine(loops, how, (enum nuc_dtype)out->dtype, (const uint8_t *)values->data + from * size,
                           (uint8_t *)out->data + to * size);
    } while (next_position(x, position));
    return true;
}

enum nuc_status nuc_op_index_put(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_index_put *a = (const void *)args;
    const struct nuc_tensor *self = &a->self->u.tensor, *values = &a->values->u.tensor, *out = &a->out->u.tensor;
    enum nuc_combination how = a->accumulate->u.b ? NUC_COMBINE_ADD : NUC_COMBINE_REPLACE;
    struct indices x = {.rank = 0};
    ptrdiff_t strides[NUC_MAX_RANK];
    struct nuc_loops loops;

    if (!nuc_need(cx, how == NUC_COMBINE_REPLACE || (nuc_is_convertible(out) && out->dtype != NUC_F64),
                  NUC_TEXT("elements of this type are not added")) ||
        !collect(cx, a->indices, self, &x) ||
        !nuc_need(cx, picked_loops(out, values, &x, true, &loops, strides),
                  NUC_TEXT("argument 'values' does not broadcast to what the indices pick")))
        return NUC_UNSUPPORTED;
    enum nuc_status status = nuc_copy_tensor(cx, self, out);
    if (status != NUC_OK || out->bytes == 0 || values->bytes == 0)
        return status;
    for (uint32_t i = 0; i < x.rank; i++) {
        if (x.sizes[i] == 0)
            return NUC_OK;
    }
    return nuc_in_range(cx, put(values, out, &x, &loops, strides, how));
}
