/* Operators that move values: reshapes, transposes, slices, pads, concatenation, resizing. */
#include <string.h>

#include "tflite_import.h"

/* ---- shapes ---- */

/* The result's own sizes; also those of a SQUEEZE. */
void nuc_ti_reshape(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *y = nuc_ti_out(ti);
    enum nuc_ti_form from = nuc_ti_is_flat(x) ? nuc_ti_form_of(ti, 0) : NUC_TI_PLAIN;
    enum nuc_ti_form to = y->rank == 4 && nuc_ti_is_flat(y) ? NUC_TI_IMAGE : NUC_TI_PLAIN;
    int64_t sizes[NUC_MAX_RANK];

    if (nuc_lt_elements(x) != nuc_lt_elements(y))
        nuc_ti_fail(ti, "'%s' and '%s' have different numbers of elements", x->name, y->name);
    nuc_ti_sizes(y, to, sizes);
    nuc_ti_define(ti, nuc_ti_view(ti, nuc_ti_real(ti, 0, from), sizes, y->rank), to);
}

/* For each dimension of the result in form `to` the dimension of operand 0 in form `from`. */
static bool map_dims(const int64_t *perm, uint32_t rank, enum nuc_ti_form from, enum nuc_ti_form to, int64_t *dims)
{
    bool identity = true;

    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = nuc_ti_dim(from, (uint32_t)perm[nuc_ti_axis(to, d)]);
        identity = identity && dims[d] == (int64_t)d;
    }
    return identity;
}

/* Of a constant it is done here; one that turns one form into the other gives the value in the other form. */
void nuc_ti_transpose(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *y = nuc_ti_out(ti);
    enum nuc_ti_form from = nuc_ti_form_of(ti, 0);
    const struct nuc_ti_value *v = &ti->values[ti->op->inputs[0]];
    int64_t perm[NUC_MAX_RANK], dims[NUC_MAX_RANK];
    uint32_t rank = nuc_ti_integers(ti, 1, NUC_MAX_RANK, perm), seen = 0;

    for (uint32_t i = 0; i < rank; i++)
        seen |= perm[i] >= 0 && perm[i] < NUC_MAX_RANK ? 1u << perm[i] : 0;
    if (rank != x->rank || seen != (1u << rank) - 1)
        nuc_ti_fail(ti, "operand 1 is not an order of %u dimensions", x->rank);
    if (nuc_ti_define_transposed(ti, x, perm))
        return;
    bool same = x->dtype == y->dtype && nuc_lt_quant_equal(&x->quant, &y->quant) && v->nodes[from] != NULL;
    for (int to = NUC_TI_FORMS - 1; same && rank == 4 && to >= 0; to--) {
        if (map_dims(perm, rank, from, (enum nuc_ti_form)to, dims)) {
            nuc_ti_define_alias(ti, v->nodes[from], (enum nuc_ti_form)to);
            return;
        }
    }
    map_dims(perm, rank, from, from, dims);
    nuc_ti_define(ti, nuc_ti_permute(ti, nuc_ti_real(ti, 0, from), dims, rank), from);
}

void nuc_ti_concat(struct nuc_ti *ti)
{
    uint32_t count = ti->op->n_inputs, rank = nuc_ti_in(ti, 0)->rank;
    struct nuc_node **parts = nuc_alloc_array(ti->cx, count, sizeof(struct nuc_node *));
    int32_t axis = nuc_lt_axis(ti->op->options.concat.axis, rank);
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);

    if (axis < 0)
        nuc_ti_fail(ti, "axis %d does not exist", ti->op->options.concat.axis);
    for (uint32_t i = 0; i < count; i++)
        parts[i] = nuc_ti_real(ti, i, form);
    const struct nuc_arg dim = nuc_int_arg(nuc_ti_dim(form, (uint32_t)axis));
    struct nuc_node *cat = nuc_ti_emit(ti, NUC_OP_CAT, NUC_ARGS(nuc_nodes_arg(parts, count), dim));
    nuc_ti_define(ti, nuc_ti_activate(ti, cat, ti->op->options.concat.activation), form);
}

/* ---- slices ---- */

struct cut {
    int64_t begin, end, step;
};

/* One slice per dimension that is cut. */
static struct nuc_node *slice_axes(struct nuc_ti *ti, enum nuc_ti_form form, const struct cut *cuts)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    struct nuc_node *real = nuc_ti_real(ti, 0, form), *before = real;

    for (uint32_t axis = 0; axis < x->rank; axis++) {
        const struct cut *c = &cuts[axis];
        if (c->begin < 0 || c->end > x->shape[axis] || c->begin >= c->end || c->step < 1)
            nuc_ti_fail(ti, "takes %lld to %lld in steps of %lld of %d elements of axis %u", (long long)c->begin,
                        (long long)c->end, (long long)c->step, x->shape[axis], axis);
        if (c->begin == 0 && c->end == x->shape[axis] && c->step == 1)
            continue;
        real = real == before ? real : nuc_ti_settle(ti, real, x);
        real = nuc_ti_emit(ti, NUC_OP_SLICE,
                           NUC_ARGS(nuc_node_arg(real), nuc_int_arg(nuc_ti_dim(form, axis)), nuc_int_arg(c->begin),
                                    nuc_int_arg(c->end), nuc_int_arg(c->step)));
    }
    return real;
}

void nuc_ti_slice(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    int64_t begin[NUC_MAX_RANK], size[NUC_MAX_RANK];
    struct cut cuts[NUC_MAX_RANK];

    if (nuc_ti_integers(ti, 1, NUC_MAX_RANK, begin) != x->rank || nuc_ti_integers(ti, 2, NUC_MAX_RANK, size) != x->rank)
        nuc_ti_fail(ti, "needs a begin and a size for each of %u dimensions", x->rank);
    for (uint32_t axis = 0; axis < x->rank; axis++) {
        bool sane = begin[axis] >= 0 && begin[axis] <= x->shape[axis] && size[axis] <= x->shape[axis];
        int64_t end = size[axis] == -1 ? x->shape[axis] : sane ? begin[axis] + size[axis] : -1;
        cuts[axis] = (struct cut){begin[axis], end, 1};
    }
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    nuc_ti_define(ti, slice_axes(ti, form, cuts), form);
}

/* An end of a range as Python counts, clipped. */
static int64_t clipped(int64_t at, int64_t size)
{
    if (at < 0)
        at += size;
    return at < 0 ? 0 : at > size ? size : at;
}

void nuc_ti_strided_slice(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *y = nuc_ti_out(ti);
    const union nuc_lt_options *o = &ti->op->options;
    int64_t begin[NUC_MAX_RANK], end[NUC_MAX_RANK], step[NUC_MAX_RANK], sizes[NUC_MAX_RANK];
    uint32_t count = nuc_ti_integers(ti, 1, NUC_MAX_RANK, begin);
    struct cut cuts[NUC_MAX_RANK];

    if (o->strided_slice.ellipsis_mask != 0 || o->strided_slice.new_axis_mask != 0 || o->strided_slice.offset)
        nuc_ti_fail(ti, "an ellipsis, new axes and relative ends are not handled");
    if (nuc_ti_integers(ti, 2, NUC_MAX_RANK, end) != count || nuc_ti_integers(ti, 3, NUC_MAX_RANK, step) != count ||
        count > x->rank)
        nuc_ti_fail(ti, "needs as many begins as ends and steps, at most %u", x->rank);
    for (uint32_t axis = 0; axis < x->rank; axis++) {
        int64_t size = x->shape[axis];
        if (axis >= count) {
            cuts[axis] = (struct cut){0, size, 1};
            continue;
        }
        cuts[axis].begin = o->strided_slice.begin_mask >> axis & 1 ? 0 : clipped(begin[axis], size);
        cuts[axis].end = o->strided_slice.end_mask >> axis & 1 ? size : clipped(end[axis], size);
        cuts[axis].step = step[axis] < INT16_MAX ? step[axis] : INT16_MAX;
        if (o->strided_slice.shrink_axis_mask >> axis & 1)
            cuts[axis] = (struct cut){clipped(begin[axis], size), clipped(begin[axis], size) + 1, 1};
    }
    enum nuc_ti_form form = o->strided_slice.shrink_axis_mask != 0 ? NUC_TI_PLAIN : nuc_ti_form_of(ti, 0);
    struct nuc_node *real = slice_axes(ti, form, cuts);
    if (o->strided_slice.shrink_axis_mask != 0) {
        nuc_ti_sizes(y, NUC_TI_PLAIN, sizes);
        real = nuc_ti_view(ti, nuc_ti_settle(ti, real, x), sizes, y->rank);
    }
    nuc_ti_define(ti, real, form);
}

/* ---- pads ---- */

/* torch's list: pairs from the last dimension to the first. Pairs at its end that pad nothing are left out. */
static uint32_t pad_list(struct nuc_ti *ti, enum nuc_ti_form form, int64_t list[2 * NUC_MAX_RANK])
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    int64_t pairs[2 * NUC_MAX_RANK];
    uint32_t used = 0;

    if (nuc_ti_integers(ti, 1, 2 * NUC_MAX_RANK, pairs) != 2 * x->rank)
        nuc_ti_fail(ti, "needs two numbers for each of %u dimensions", x->rank);
    for (uint32_t k = 0; k < x->rank; k++) {
        uint32_t axis = nuc_ti_axis(form, x->rank - 1 - k);
        for (uint32_t side = 0; side < 2; side++) {
            int64_t n = pairs[2 * axis + side];
            if (n < 0 || n > INT32_MAX)
                nuc_ti_fail(ti, "pads axis %u by %lld", axis, (long long)n);
            list[2 * k + side] = n;
            used = n != 0 ? 2 * (k + 1) : used;
        }
    }
    return used == 0 ? 2 : used;
}

/* The real value of PADV2's number, which has the quantization of the input. */
static double pad_value(const struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *value;

    if (ti->op->code == NUC_LT_PAD)
        return 0;
    value = nuc_ti_in(ti, 2);
    if (value->data.data == NULL || nuc_lt_elements(value) != 1 || value->dtype != x->dtype)
        nuc_ti_fail(ti, "the padded number must be one constant of the operand's type");
    if (value->dtype == NUC_F32) {
        float number;
        memcpy(&number, value->data.data, sizeof number);
        return (double)number;
    }
    return ((double)(int8_t)value->data.data[0] - (double)x->quant.zero_point[0]) * (double)x->quant.scale[0];
}

static void pad(struct nuc_ti *ti, const char *mode, double value)
{
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    int64_t list[2 * NUC_MAX_RANK];
    uint32_t count = pad_list(ti, form, list);

    nuc_ti_define(ti, nuc_ti_padded(ti, nuc_ti_real(ti, 0, form), list, count, mode, value), form);
}

void nuc_ti_pad(struct nuc_ti *ti)
{
    pad(ti, "constant", pad_value(ti));
}

void nuc_ti_mirror_pad(struct nuc_ti *ti)
{
    if (ti->op->options.mirror_pad.mode != 0)
        nuc_ti_fail(ti, "mode SYMMETRIC is not handled: REFLECT is");
    pad(ti, "reflect", 0);
}

/* ---- resizing ---- */

void nuc_ti_resize(struct nuc_ti *ti)
{
    const union nuc_lt_options *o = &ti->op->options;
    bool bilinear = ti->op->code == NUC_LT_RESIZE_BILINEAR;
    bool aligned = o->resize.align_corners, half = o->resize.half_pixel_centers;
    int64_t sizes[2];

    if (bilinear ? aligned == half : aligned || half)
        nuc_ti_fail(ti, "align_corners %s with half_pixel_centers %s is not handled: %s", aligned ? "true" : "false",
                    half ? "true" : "false", bilinear ? "exactly one of them must be true" : "both must be false");
    if (nuc_ti_integers(ti, 1, 2, sizes) != 2)
        nuc_ti_fail(ti, "needs height and width");
    struct nuc_node *real = nuc_ti_real(ti, 0, NUC_TI_IMAGE);
    const struct nuc_arg size = nuc_ints_arg(sizes, 2);
    struct nuc_node *node =
        bilinear ? nuc_ti_emit(ti, NUC_OP_UPSAMPLE_BILINEAR, NUC_ARGS(nuc_node_arg(real), size, nuc_bool_arg(aligned)))
                 : nuc_ti_emit(ti, NUC_OP_UPSAMPLE_NEAREST, NUC_ARGS(nuc_node_arg(real), size));
    nuc_ti_define(ti, node, NUC_TI_IMAGE);
}
