/* Operators that move values: transposes, pads, concatenations, slices, mirror pads, resizes. */
#include <math.h>

#include "npu/convert/conversion.h"

/* A copy in the making: int8 elements, strides in bytes. */
struct move {
    uint32_t rank;
    int64_t shape[NUC_MAX_RANK], in[NUC_MAX_RANK], out[NUC_MAX_RANK];
    int64_t in_at, out_at; /* bytes from the start of the operands */
    int32_t fill_size, fill_value;
};

/* Moves keep values as they are. */
static void check_moved(const struct nuc_cv *cv, const struct nuc_cv_node *n, const struct nuc_lt_tensor *x,
                        const struct nuc_lt_tensor *y)
{
    if (!x || x->dtype != y->dtype || (x->dtype == NUC_I8 && !nuc_cv_same_params(cv, n, x, y)))
        nuc_cv_fail(cv, n, "input and output must have one type, scale and zero point");
    if (x->dtype != NUC_I8 && x->dtype != NUC_U8 && x->dtype != NUC_BOOL)
        nuc_cv_fail(cv, n, "tensor '%s' is %s, the NPU takes int8: quantize it", x->name, nuc_dtype_name(x->dtype));
}

/*
 * The move of the elements of tensor `from`, which has the shape of `x`, one after the other, to the beginning of the
 * result, both where they lie. convert_view.c has made sure that strides describe it.
 */
static struct move begin_move(const struct nuc_cv *cv, const struct nuc_cv_node *n, int32_t from,
                              const struct nuc_lt_tensor *x)
{
    struct nuc_cv_place place = nuc_cv_place(cv, n->output), source = nuc_cv_place(cv, from);
    struct move v = {.rank = x->rank};

    check_moved(cv, n, x, nuc_cv_y(cv, n));
    if (!nuc_cv_strides(x, &source.layout, v.in))
        nuc_cv_fail(cv, n, "the input has no strides inside the tensor it is a part of");
    if (!nuc_cv_strides(nuc_cv_y(cv, n), &place.layout, v.out))
        nuc_cv_fail(cv, n, "the result has no strides inside the tensor it is a part of");
    for (uint32_t i = 0; i < x->rank; i++)
        v.shape[i] = x->shape[i];
    return v;
}

static void emit_move(struct nuc_cv *cv, int32_t from, const struct move *v)
{
    union nuc_mc_record r = {.copy = {.unit = 1, .fill_size = v->fill_size, .fill_value = v->fill_value}};
    struct nuc_mc_copy *c = &r.copy;
    struct nuc_cv_dimensions dimensions = {&c->rank, c->shape, c->in_stride, c->out_stride};

    for (uint32_t i = 0; i < v->rank; i++) {
        if (!nuc_cv_add_dimension(&dimensions, v->shape[i], v->in[i], v->out[i], false))
            nuc_cv_fail(cv, cv->current, "more than %d separate dimensions: reshape the input", NUC_MC_MAX_RANK);
    }
    int32_t last = c->rank - 1;
    if (last >= 0 && c->in_stride[last] == 1 && c->out_stride[last] == 1) {
        c->unit = c->shape[last];
        c->rank--;
    }
    if (c->rank == 0) {
        c->rank = 1;
        c->shape[0] = 1;
    }
    c->input = nuc_cv_tensor_ref(cv, from);
    c->output = nuc_cv_output_ref(cv);
    c->input.offset += (uint32_t)v->in_at;
    c->out_start = (int32_t)v->out_at;
    nuc_cv_emit(cv, NUC_MC_OP_COPY, &r);
}

/* The result's shape stands for both: the elements keep their sequence. */
void nuc_cv_emit_reshape(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);

    check_moved(cv, n, x, y);
    if (nuc_lt_elements(x) != nuc_lt_elements(y))
        nuc_cv_fail(cv, n, "input and output differ in size");
    struct move v = begin_move(cv, n, n->input, y);
    emit_move(cv, n->input, &v);
}

void nuc_cv_emit_transpose(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    int64_t perm[NUC_MAX_RANK], out[NUC_MAX_RANK];
    struct nuc_cv_place place = nuc_cv_place(cv, n->output);
    struct nuc_cv_turned lies;

    check_moved(cv, n, x, y);
    if (nuc_cv_integers(cv, n, 1, NUC_MAX_RANK, perm) != x->rank || y->rank != x->rank)
        nuc_cv_fail(cv, n, "the permutation must have one entry per dimension");
    if (!nuc_cv_turn(cv, n, &lies))
        nuc_cv_fail(cv, n, "the permutation does not lead from the input's to the output's shape");
    if (!nuc_cv_strides(y, &place.layout, out))
        nuc_cv_fail(cv, n, "the result has no strides inside the tensor it is a part of");
    struct move v = {.rank = lies.rank};
    for (uint32_t i = lies.rank; i-- > 0;) {
        bool is_outer = i + 1 < lies.rank && lies.of[i] == lies.of[i + 1];
        v.shape[i] = lies.size[i];
        v.in[i] = lies.stride[i];
        v.out[i] = is_outer ? v.out[i + 1] * lies.size[i + 1] : out[lies.of[i]];
    }
    emit_move(cv, n->input, &v);
}

bool nuc_cv_pad_value(const struct nuc_cv *cv, const struct nuc_cv_node *n, int32_t *value)
{
    const struct nuc_lt_tensor *t = n->op->code == NUC_LT_PAD ? NULL : nuc_cv_in(cv, n, 2);

    *value = nuc_cv_params(cv, n, nuc_cv_in(cv, n, 0)).zero;
    if (t == NULL)
        return n->op->code == NUC_LT_PAD;
    if (!t->data.data || t->dtype != NUC_I8 || t->data.size < 1)
        return false;
    *value = (int8_t)t->data.data[0];
    return true;
}

void nuc_cv_emit_pad(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    int64_t pads[2 * NUC_MAX_RANK];

    if (nuc_cv_integers(cv, n, 1, 2 * NUC_MAX_RANK, pads) != 2 * x->rank || y->rank != x->rank)
        nuc_cv_fail(cv, n, "paddings must be two numbers per dimension");
    struct move v = begin_move(cv, n, n->input, x);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (pads[2 * i] < 0 || pads[2 * i + 1] < 0 || pads[2 * i] + x->shape[i] + pads[2 * i + 1] != y->shape[i])
            nuc_cv_fail(cv, n, "paddings of dimension %u do not lead from %d to %d", i, x->shape[i], y->shape[i]);
        v.out_at += pads[2 * i] * v.out[i];
    }
    if (!nuc_cv_pad_value(cv, n, &v.fill_value))
        nuc_cv_fail(cv, n, "the fill value must be an int8 constant");
    v.fill_value &= 0xFF;
    v.fill_size = (int32_t)nuc_lt_elements(y);
    emit_move(cv, n->input, &v);
}

/*
 * The element of the input at picks[d][i] for index i of dimension d, at the same index where there are no picks; the
 * last dimensions that lie as they are become the unit.
 */
static void emit_gather(struct nuc_cv *cv, const struct nuc_cv_node *n, const int32_t *const *picks)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    struct nuc_cv_place place = nuc_cv_place(cv, n->input);
    union nuc_mc_record r = {.gather = {.unit = 1}};
    int64_t stride[NUC_MAX_RANK];
    uint32_t rank = x->rank;
    size_t entries = 0;

    if (!nuc_cv_strides(x, &place.layout, stride))
        nuc_cv_fail(cv, n, "the input has no strides inside the tensor it is a part of");
    for (; rank > 1 && !picks[rank - 1] && stride[rank - 1] == r.gather.unit; rank--)
        r.gather.unit *= y->shape[rank - 1];
    for (uint32_t d = 0; d < rank; d++)
        entries += (size_t)y->shape[d];
    uint8_t *words = nuc_alloc_array(cv->cx, entries, 4), *at = words;
    for (uint32_t d = 0; d < rank; d++) {
        r.gather.shape[d] = y->shape[d];
        for (int32_t i = 0; i < y->shape[d]; i++, at += 4)
            nuc_store_u32(at, (uint32_t)((picks[d] ? picks[d][i] : i) * stride[d]));
    }
    r.gather.rank = (int32_t)rank;
    r.gather.input = nuc_cv_tensor_ref(cv, n->input);
    r.gather.output = nuc_cv_output_ref(cv);
    r.gather.table = nuc_cv_weights_ref(cv, words, entries * 4);
    nuc_cv_emit(cv, NUC_MC_OP_GATHER, &r);
}

/* Copies operand `i`, which begins at position `at` of the axis. */
static void emit_part(struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t i, int64_t axis, int64_t at)
{
    /* Whether operand `i` has been written where it belongs in the result. */
    struct nuc_cv_place x = nuc_cv_place(cv, n->op->inputs[i]), y = nuc_cv_place(cv, n->output);
    struct nuc_cv_layout part = nuc_cv_concat_part(cv, n, i, at);
    if (x.holder == y.holder && nuc_cv_compose(&part, nuc_cv_bytes(cv, n->op->inputs[i]), &y.layout) &&
        part.at == x.layout.at && part.row == x.layout.row && part.pitch == x.layout.pitch)
        return;
    struct move v = begin_move(cv, n, n->op->inputs[i], nuc_cv_in(cv, n, i));
    v.out_at = at * v.out[axis];
    emit_move(cv, n->op->inputs[i], &v);
}

void nuc_cv_emit_concat(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    int32_t axis = nuc_cv_concat_axis(cv, n);
    int64_t at = 0;

    if (n->picks) {
        check_moved(cv, n, nuc_cv_x(cv, n), nuc_cv_y(cv, n));
        emit_gather(cv, n, n->picks);
        return;
    }
    if (axis < 0)
        nuc_cv_fail(cv, n,
                    "operands must have the output's type, scale, zero point and other dimensions, and fill it "
                    "along the axis, without an activation");
    for (uint32_t i = 0; i < n->op->n_inputs; i++) {
        emit_part(cv, n, i, axis, at);
        at += nuc_cv_in(cv, n, i)->shape[axis];
    }
}

/* Operands: input, begin, size. */
void nuc_cv_emit_slice(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    int64_t begin[NUC_MAX_RANK];

    if (nuc_cv_integers(cv, n, 1, NUC_MAX_RANK, begin) != x->rank || y->rank != x->rank)
        nuc_cv_fail(cv, n, "begin must have one entry per dimension");
    struct move v = begin_move(cv, n, n->input, x);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (begin[i] < 0 || begin[i] + y->shape[i] > x->shape[i])
            nuc_cv_fail(cv, n, "the slice leaves the input in dimension %u", i);
        v.shape[i] = y->shape[i];
        v.in_at += begin[i] * v.in[i];
    }
    emit_move(cv, n->input, &v);
}

/* ---- gathers ---- */

/* REFLECT leaves the edge out, SYMMETRIC repeats it. */
static int64_t mirrored(int64_t i, int64_t size, int64_t offset)
{
    if (i < 0)
        i = -i - 1 + offset;
    if (i >= size)
        i = 2 * size - 1 - i - offset;
    return i;
}

void nuc_cv_emit_mirror_pad(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    int64_t pads[2 * NUC_MAX_RANK], edge = n->op->options.mirror_pad.mode == 0 ? 1 : 0;
    const int32_t *picks[NUC_MAX_RANK] = {NULL};

    check_moved(cv, n, x, y);
    if (nuc_cv_integers(cv, n, 1, 2 * NUC_MAX_RANK, pads) != 2 * x->rank || y->rank != x->rank || x->rank < 1 ||
        x->rank > NUC_MC_MAX_RANK)
        nuc_cv_fail(cv, n, "paddings must be two numbers per dimension, of at most %d dimensions", NUC_MC_MAX_RANK);
    for (uint32_t d = 0; d < x->rank; d++) {
        int64_t before = pads[2 * d], after = pads[2 * d + 1], most = x->shape[d] - edge;
        if (before < 0 || after < 0 || before > most || after > most || before + x->shape[d] + after != y->shape[d])
            nuc_cv_fail(cv, n, "paddings of dimension %u do not fit its size %d", d, x->shape[d]);
        if (before == 0 && after == 0)
            continue;
        int32_t *pick = nuc_alloc_array(cv->cx, (size_t)y->shape[d], sizeof *pick);
        for (int32_t i = 0; i < y->shape[d]; i++)
            pick[i] = (int32_t)mirrored(i - before, x->shape[d], edge);
        picks[d] = pick;
    }
    emit_gather(cv, n, picks);
}

/* Source: LiteRT GetNearestNeighbor, in float. */
static int32_t nearest(int32_t out, int32_t in_size, int32_t out_size, bool corners, bool half)
{
    float scale =
        corners && out_size > 1 ? (float)(in_size - 1) / (float)(out_size - 1) : (float)in_size / (float)out_size;
    float position = ((float)out + (half ? 0.5f : 0.0f)) * scale;
    int32_t v = (int32_t)(corners ? roundf(position) : floorf(position));

    v = v < in_size - 1 ? v : in_size - 1;
    return v > 0 ? v : 0;
}

static void check_images(const struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);

    check_moved(cv, n, x, y);
    if (x->rank != 4 || y->rank != 4 || x->shape[0] != y->shape[0] || x->shape[3] != y->shape[3])
        nuc_cv_fail(cv, n, "input and output must be images of equal batch and channels");
}

void nuc_cv_emit_nearest(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    bool corners = n->op->options.resize.align_corners, half = n->op->options.resize.half_pixel_centers;
    const int32_t *picks[NUC_MAX_RANK] = {NULL};

    check_images(cv, n);
    for (uint32_t d = 1; d < 3; d++) {
        int32_t *pick = nuc_alloc_array(cv->cx, (size_t)y->shape[d], sizeof *pick);
        for (int32_t i = 0; i < y->shape[d]; i++)
            pick[i] = nearest(i, x->shape[d], y->shape[d], corners, half);
        picks[d] = pick;
    }
    emit_gather(cv, n, picks);
}

/* Scale in 1/1024. Source: LiteRT ResizeBilinearInteger. */
static int32_t bilinear_scale(int32_t in, int32_t out, bool corners)
{
    if (corners && out > 1)
        return (int32_t)(((int64_t)1024 * (in - 1) + (out - 1) / 2) / (out - 1));
    return (int32_t)(((int64_t)1024 * in + out / 2) / out);
}

void nuc_cv_emit_bilinear(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    bool corners = n->op->options.resize.align_corners;
    union nuc_mc_record r = {.resize = {.batches = 0}};
    struct nuc_mc_resize *z = &r.resize;

    check_images(cv, n);
    z->batches = x->shape[0];
    z->in_h = x->shape[1];
    z->in_w = x->shape[2];
    z->channels = x->shape[3];
    z->out_h = y->shape[1];
    z->out_w = y->shape[2];
    z->scale_h = bilinear_scale(z->in_h, z->out_h, corners);
    z->scale_w = bilinear_scale(z->in_w, z->out_w, corners);
    z->half_pixel = n->op->options.resize.half_pixel_centers ? 1 : 0;
    z->input = nuc_cv_tensor_ref(cv, n->input);
    z->output = nuc_cv_output_ref(cv);
    z->out_pitch = nuc_cv_out_pitch(cv);
    nuc_cv_emit(cv, NUC_MC_OP_RESIZE_BILINEAR, &r);
}
