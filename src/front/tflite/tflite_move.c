/* Operators that move values: reshapes, transposes, slices, pads, concatenation, resizing. */
#include <math.h>

#include "tflite_import.h"

/* ---- shapes ---- */

/* The result's own sizes; also those of a SQUEEZE. */
void nuc_ti_reshape(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *y = nuc_ti_out(ti);
    enum nuc_ti_form from = nuc_ti_is_flat(x) ? nuc_ti_form_of(ti, 0) : NUC_TI_PLAIN;
    enum nuc_ti_form to = y->rank == 4 && nuc_ti_is_flat(y) ? NUC_TI_IMAGE : NUC_TI_PLAIN;

    if (nuc_lt_elements(x) != nuc_lt_elements(y))
        nuc_ti_fail(ti, "'%s' and '%s' have different numbers of elements", x->name, y->name);
    nuc_ti_define(ti, nuc_ti_view_as(ti, nuc_ti_real(ti, 0, from), y, to), to);
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

/* The elements from the last taken to the first, then the other way round: no slice of the graph goes backwards. */
static struct nuc_node *slice_backwards(struct nuc_ti *ti, struct nuc_node *x, int64_t dim, const struct nuc_ti_cut *c)
{
    int64_t step = -c->step, count = (c->begin - c->end + step - 1) / step, first = c->begin - (count - 1) * step;
    const struct nuc_arg end = nuc_int_arg(c->begin + 1);
    struct nuc_node *part = nuc_ti_emit(ti, NUC_OP_SLICE, NUC_ARGS(x, dim, first, end, step));

    part = nuc_ti_settle(ti, part, nuc_ti_in(ti, 0));
    return nuc_ti_emit(ti, NUC_OP_FLIP, NUC_ARGS(part, nuc_ints_arg(&dim, 1)));
}

/* One slice per dimension that is cut. */
static struct nuc_node *slice_axes(struct nuc_ti *ti, enum nuc_ti_form form, const struct nuc_ti_cut *cuts)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    struct nuc_node *real = nuc_ti_real(ti, 0, form), *before = real;

    for (uint32_t axis = 0; axis < x->rank; axis++) {
        const struct nuc_ti_cut *c = &cuts[axis];
        int64_t size = x->shape[axis], dim = nuc_ti_dim(form, axis);
        bool forward = c->step > 0 && c->begin >= 0 && c->end <= size && c->begin < c->end;
        bool backward = c->step < 0 && c->begin < size && c->end >= -1 && c->begin > c->end;
        if (!forward && !backward)
            nuc_ti_fail(ti, "takes %lld to %lld in steps of %lld of %d elements of axis %u", (long long)c->begin,
                        (long long)c->end, (long long)c->step, x->shape[axis], axis);
        if (c->begin == 0 && c->end == size && c->step == 1)
            continue;
        real = real == before ? real : nuc_ti_settle(ti, real, x);
        if (backward)
            real = slice_backwards(ti, real, dim, c);
        else
            real = nuc_ti_emit(ti, NUC_OP_SLICE, NUC_ARGS(real, dim, c->begin, c->end, c->step));
    }
    return real;
}

void nuc_ti_slice(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    int64_t begin[NUC_MAX_RANK], size[NUC_MAX_RANK];
    struct nuc_ti_cut cuts[NUC_MAX_RANK];

    if (nuc_ti_integers(ti, 1, NUC_MAX_RANK, begin) != x->rank || nuc_ti_integers(ti, 2, NUC_MAX_RANK, size) != x->rank)
        nuc_ti_fail(ti, "needs a begin and a size for each of %u dimensions", x->rank);
    for (uint32_t axis = 0; axis < x->rank; axis++) {
        bool sane = begin[axis] >= 0 && begin[axis] <= x->shape[axis] && size[axis] <= x->shape[axis];
        int64_t end = size[axis] == -1 ? x->shape[axis] : sane ? begin[axis] + size[axis] : -1;
        cuts[axis] = (struct nuc_ti_cut){begin[axis], end, 1};
    }
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    nuc_ti_define(ti, slice_axes(ti, form, cuts), form);
}

/* Operand 1 in place of as large a part of operand 0, from constant positions on, which are moved inside of it. */
void nuc_ti_update_slice(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *part = nuc_ti_in(ti, 1);
    int64_t begin[NUC_MAX_RANK];
    struct nuc_arg bounds[NUC_MAX_RANK][3];
    struct nuc_node *cut[NUC_MAX_RANK + 1];
    uint32_t n = 0;

    if (x->rank != part->rank || nuc_ti_integers(ti, 2, NUC_MAX_RANK, begin) != x->rank)
        nuc_ti_fail(ti, "needs a constant position for each of %u dimensions", x->rank);
    cut[0] = nuc_ti_real(ti, 0, NUC_TI_PLAIN);
    for (uint32_t d = 0; d < x->rank; d++) {
        int64_t room = x->shape[d] - part->shape[d], at = begin[d] < 0 ? 0 : begin[d] > room ? room : begin[d];
        if (room < 0)
            nuc_ti_fail(ti, "'%s' is larger than '%s'", part->name, x->name);
        if (room == 0)
            continue;
        bounds[n][0] = nuc_int_arg(d);
        bounds[n][1] = nuc_int_arg(at);
        bounds[n][2] = nuc_int_arg(at + part->shape[d]);
        cut[n + 1] = nuc_ti_settle(
            ti, nuc_ti_emit(ti, NUC_OP_SLICE, NUC_ARGS(cut[n], bounds[n][0], bounds[n][1], bounds[n][2])), x);
        n++;
    }
    struct nuc_node *result = nuc_ti_real(ti, 1, NUC_TI_PLAIN);
    while (n-- > 0)
        result = nuc_ti_settle(
            ti,
            nuc_ti_emit(ti, NUC_OP_SLICE_SCATTER, NUC_ARGS(cut[n], result, bounds[n][0], bounds[n][1], bounds[n][2])),
            x);
    nuc_ti_define(ti, result, NUC_TI_PLAIN);
}

/* An end of a range as Python counts, clipped to what a walk in that direction may begin or end with. */
static int64_t clipped(int64_t at, int64_t size, int64_t step)
{
    int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;

    if (at < 0)
        at += size;
    return at < least ? least : at > most ? most : at;
}

/* What entry i of begins, ends and steps says of an axis. */
static struct nuc_ti_cut cut_of(const struct nuc_ti *ti, uint32_t i, int64_t size, int64_t begin, int64_t end,
                                int64_t step)
{
    const union nuc_lt_options *o = &ti->op->options;
    bool whole_begin = (o->strided_slice.begin_mask >> i & 1) != 0;
    bool whole_end = (o->strided_slice.end_mask >> i & 1) != 0;
    int64_t first = step > 0 ? 0 : size - 1, past = step > 0 ? size : -1;

    if (step == 0)
        nuc_ti_fail(ti, "a step is 0");
    if (o->strided_slice.shrink_axis_mask >> i & 1) {
        int64_t at = begin < 0 ? begin + size : begin;
        if (at < 0 || at >= size)
            nuc_ti_fail(ti, "takes element %lld of %lld", (long long)begin, (long long)size);
        return (struct nuc_ti_cut){at, at + 1, 1};
    }
    if (o->strided_slice.offset && __builtin_add_overflow(begin, end, &end))
        nuc_ti_fail(ti, "an end is out of range");
    step = step > INT16_MAX ? INT16_MAX : step < -INT16_MAX ? -INT16_MAX : step;
    return (struct nuc_ti_cut){whole_begin ? first : clipped(begin, size, step),
                               whole_end ? past : clipped(end, size, step), step};
}

bool nuc_ti_strided_cuts(const struct nuc_ti *ti, struct nuc_ti_cut *cuts)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    const union nuc_lt_options *o = &ti->op->options;
    int64_t begin[2 * NUC_MAX_RANK], end[2 * NUC_MAX_RANK], step[2 * NUC_MAX_RANK];
    uint32_t count = nuc_lt_integers(nuc_ti_in(ti, 1), 2 * NUC_MAX_RANK, begin), axis = 0;

    if (count == UINT32_MAX || nuc_lt_integers(nuc_ti_in(ti, 2), 2 * NUC_MAX_RANK, end) != count ||
        nuc_lt_integers(nuc_ti_in(ti, 3), 2 * NUC_MAX_RANK, step) != count)
        return false;
    for (uint32_t d = 0; d < x->rank; d++)
        cuts[d] = (struct nuc_ti_cut){0, x->shape[d], 1};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t later = 0; /* axes that the entries behind stand for */
        for (uint32_t k = i + 1; k < count; k++)
            later += (o->strided_slice.new_axis_mask >> k & 1) == 0;
        if (o->strided_slice.ellipsis_mask >> i & 1) {
            axis = later <= x->rank && x->rank - later > axis ? x->rank - later : axis;
            continue;
        }
        if (o->strided_slice.new_axis_mask >> i & 1)
            continue;
        if (axis == x->rank)
            nuc_ti_fail(ti, "names more axes than the %u of '%s'", x->rank, x->name);
        cuts[axis] = cut_of(ti, i, x->shape[axis], begin[i], end[i], step[i]);
        axis++;
    }
    return true;
}

void nuc_ti_strided_slice(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    const union nuc_lt_options *o = &ti->op->options;
    struct nuc_ti_cut cuts[NUC_MAX_RANK];
    bool reshapes = o->strided_slice.shrink_axis_mask != 0 || o->strided_slice.new_axis_mask != 0;
    enum nuc_ti_form form = reshapes ? NUC_TI_PLAIN : nuc_ti_form_of(ti, 0);

    if (!nuc_ti_strided_cuts(ti, cuts))
        nuc_ti_fail(ti, "needs as many constant begins as ends and steps");
    struct nuc_node *real = slice_axes(ti, form, cuts);
    if (reshapes)
        nuc_ti_define_viewed(ti, nuc_ti_settle(ti, real, x));
    else
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
    struct nuc_lt_tensor number = *value;
    number.quant = x->quant;
    return (double)*(const float *)(const void *)nuc_ti_as_floats(ti, &number).data;
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

/* The indices at each position of dimension `dim`. */
static struct nuc_node *pick(struct nuc_ti *ti, struct nuc_node *x, int64_t dim, const int64_t *indices, int64_t count)
{
    struct nuc_node *index = nuc_ti_indices(ti, indices, &count, 1);

    return nuc_ti_emit(ti, NUC_OP_INDEX_SELECT, NUC_ARGS(x, dim, index));
}

/* Of an axis that is continued: a model of some hundred bytes may state any size, and each position takes an index. */
#define MAX_MIRRORED (INT64_C(1) << 20)

/* The image is continued by its mirror image, the elements at the edge included. */
static void mirror_with_edges(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    int64_t list[2 * NUC_MAX_RANK];
    uint32_t pairs = pad_list(ti, form, list) / 2;
    struct nuc_node *real = nuc_ti_real(ti, 0, form);

    for (uint32_t k = 0; k < pairs; k++) {
        int64_t dim = x->rank - 1 - k, size = real->vals[0].sizes[dim], before = list[2 * k], after = list[2 * k + 1];
        if (before > size || after > size)
            nuc_ti_fail(ti, "pads an axis of %lld by %lld and %lld", (long long)size, (long long)before,
                        (long long)after);
        if (before == 0 && after == 0)
            continue;
        if (size > MAX_MIRRORED)
            nuc_ti_fail(ti, "mirrors an axis of %lld (limit %lld)", (long long)size, (long long)MAX_MIRRORED);
        int64_t *indices = nuc_alloc_array(ti->cx, (size_t)(before + size + after), sizeof *indices);
        for (int64_t i = -before; i < size + after; i++)
            indices[before + i] = i < 0 ? -i - 1 : i < size ? i : 2 * size - 1 - i;
        real = nuc_ti_settle(ti, pick(ti, real, dim, indices, before + size + after), x);
    }
    nuc_ti_define(ti, real, form);
}

void nuc_ti_mirror_pad(struct nuc_ti *ti)
{
    if (ti->op->options.mirror_pad.mode != 0)
        mirror_with_edges(ti);
    else
        pad(ti, "reflect", 0);
}

/* ---- resizing ---- */

/* The element that the nearest one is of `in`, at position i of `out`, in float32 as LiteRT computes it. */
static int64_t nearest(const struct nuc_ti *ti, int64_t i, int64_t in, int64_t out)
{
    bool aligned = ti->op->options.resize.align_corners && out > 1;
    float scale = aligned ? (float)(in - 1) / (float)(out - 1) : (float)in / (float)out;
    float at = ((float)i + (ti->op->options.resize.half_pixel_centers ? 0.5f : 0.0f)) * scale;
    int64_t index = (int64_t)(ti->op->options.resize.align_corners ? roundf(at) : floorf(at));

    return index < in ? index : in - 1;
}

static struct nuc_node *nearest_along(struct nuc_ti *ti, struct nuc_node *x, int64_t dim, int64_t out)
{
    int64_t *indices = nuc_alloc_array(ti->cx, (size_t)out, sizeof *indices);

    for (int64_t i = 0; i < out; i++)
        indices[i] = nearest(ti, i, x->vals[0].sizes[dim], out);
    return pick(ti, x, dim, indices, out);
}

/* LiteRT 1's rule: position i of the result lies at i * in / out, between two elements or on the last one. */
static struct nuc_node *linear_along(struct nuc_ti *ti, struct nuc_node *x, int64_t dim, int64_t out)
{
    int64_t in = x->vals[0].sizes[dim], sizes[4] = {1, 1, 1, 1};
    int64_t *low = nuc_alloc_array(ti->cx, (size_t)out, sizeof *low), *high = nuc_copy(ti->cx, low, (size_t)out * 8);
    float *part = nuc_alloc_array(ti->cx, (size_t)out, sizeof *part), scale = (float)in / (float)out;

    for (int64_t i = 0; i < out; i++) {
        float at = (float)i * scale, below = floorf(at);
        low[i] = (int64_t)below < in ? (int64_t)below : in - 1;
        high[i] = low[i] + 1 < in ? low[i] + 1 : in - 1;
        part[i] = at - below;
    }
    sizes[dim] = out;
    struct nuc_node *below = pick(ti, x, dim, low, out), *above = pick(ti, x, dim, high, out);
    struct nuc_node *step = nuc_ti_emit(ti, NUC_OP_SUB, NUC_ARGS(above, below));
    step = nuc_ti_emit(ti, NUC_OP_MUL, NUC_ARGS(step, nuc_ti_floats(ti, part, sizes, 4)));
    return nuc_ti_emit(ti, NUC_OP_ADD, NUC_ARGS(below, step));
}

/* The rules of LiteRT that torch does not have, one axis after the other. */
static struct nuc_node *resize_by_axes(struct nuc_ti *ti, struct nuc_node *x, const int64_t *sizes)
{
    struct nuc_node *(*const along)(struct nuc_ti *, struct nuc_node *, int64_t, int64_t) =
        ti->op->code == NUC_LT_RESIZE_BILINEAR ? linear_along : nearest_along;

    for (int k = 0; k < 2; k++) {
        if (x->vals[0].sizes[2 + k] == sizes[k])
            continue;
        x = along(ti, x, 2 + k, sizes[k]);
        /* What is computed is rounded once. */
        if (along == nearest_along)
            x = nuc_ti_settle(ti, x, nuc_ti_out(ti));
    }
    return x;
}

void nuc_ti_resize(struct nuc_ti *ti)
{
    const union nuc_lt_options *o = &ti->op->options;
    bool bilinear = ti->op->code == NUC_LT_RESIZE_BILINEAR;
    bool aligned = o->resize.align_corners, half = o->resize.half_pixel_centers;
    int64_t sizes[2];

    if (aligned && half)
        nuc_ti_fail(ti, "has align_corners and half_pixel_centers: only one of them may be true");
    bool as_torch = bilinear ? aligned || half : !aligned && !half;
    if (nuc_ti_integers(ti, 1, 2, sizes) != 2 || sizes[0] < 1 || sizes[1] < 1 || sizes[0] > INT16_MAX ||
        sizes[1] > INT16_MAX)
        nuc_ti_fail(ti, "needs height and width");
    struct nuc_node *real = nuc_ti_real(ti, 0, NUC_TI_IMAGE), *node;
    const struct nuc_arg size = nuc_ints_arg(sizes, 2);
    if (!as_torch)
        node = resize_by_axes(ti, real, sizes);
    else if (bilinear)
        node = nuc_ti_emit(ti, NUC_OP_UPSAMPLE_BILINEAR, NUC_ARGS(real, size, nuc_bool_arg(aligned)));
    else
        node = nuc_ti_emit(ti, NUC_OP_UPSAMPLE_NEAREST, NUC_ARGS(real, size));
    nuc_ti_define(ti, node, NUC_TI_IMAGE);
}
