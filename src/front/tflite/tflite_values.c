/* Values of tensors in the form an operator asks for, constants, quantization. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "ir/quant.h"
#include "tflite_import.h"

_Noreturn void nuc_ti_fail(const struct nuc_ti *ti, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    nuc_lt_refuse(ti->m, ti->index, ti->op, format, args);
}

const char *nuc_ti_identifier(struct nuc_context *cx, const char *name, const char *other)
{
    if (name == NULL || *name == '\0' || strlen(name) > 64)
        return other;
    char *text = nuc_format(cx, "%s%s", *name >= '0' && *name <= '9' ? "input_" : "", name);
    for (char *p = text; *p != '\0'; p++) {
        bool good = (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
        if (!good)
            *p = '_';
    }
    return text;
}

/* Dimension of an image for axis i of [N, H, W, C]; axis of [N, H, W, C] for dimension i of an image. */
static const uint32_t image_dim[4] = {0, 2, 3, 1};
static const uint32_t image_axis[4] = {0, 3, 1, 2};
static const int64_t to_plain[4] = {0, 2, 3, 1};
static const int64_t to_image[4] = {0, 3, 1, 2};

uint32_t nuc_ti_dim(enum nuc_ti_form form, uint32_t axis)
{
    return form == NUC_TI_IMAGE ? image_dim[axis] : axis;
}

uint32_t nuc_ti_axis(enum nuc_ti_form form, uint32_t dim)
{
    return form == NUC_TI_IMAGE ? image_axis[dim] : dim;
}

struct nuc_meta nuc_ti_meta(const struct nuc_lt_tensor *t, enum nuc_ti_form form)
{
    int64_t sizes[NUC_MAX_RANK];

    for (uint32_t d = 0; d < t->rank; d++)
        sizes[d] = t->shape[nuc_ti_axis(form, d)];
    struct nuc_meta meta = nuc_meta_make(t->dtype, sizes, t->rank);
    if (form == NUC_TI_IMAGE)
        nuc_set_channels_last(&meta);
    return meta;
}

bool nuc_ti_is_flat(const struct nuc_lt_tensor *t)
{
    return t->rank != 4 || t->shape[3] == 1 || (t->shape[1] == 1 && t->shape[2] == 1);
}

/* ---- operands ---- */

bool nuc_ti_has(const struct nuc_ti *ti, uint32_t i)
{
    return i < ti->op->n_inputs && ti->op->inputs[i] >= 0;
}

const struct nuc_lt_tensor *nuc_ti_in(const struct nuc_ti *ti, uint32_t i)
{
    if (!nuc_ti_has(ti, i))
        nuc_ti_fail(ti, "operand %u is missing", i);
    return &ti->s->tensors[ti->op->inputs[i]];
}

const struct nuc_lt_tensor *nuc_ti_out(const struct nuc_ti *ti)
{
    return &ti->s->tensors[ti->op->outputs[0]];
}

void nuc_ti_need_float(const struct nuc_ti *ti)
{
    bool quantized = nuc_ti_is_quantized(nuc_ti_out(ti));

    for (uint32_t i = 0; i < ti->op->n_inputs; i++)
        quantized = quantized || (nuc_ti_has(ti, i) && nuc_ti_is_quantized(nuc_ti_in(ti, i)));
    if (quantized)
        nuc_ti_fail(ti, "is handled for float32 alone: convert the model without quantization, it is quantized here");
}

enum nuc_ti_form nuc_ti_form_of(const struct nuc_ti *ti, uint32_t i)
{
    const struct nuc_lt_tensor *t = nuc_ti_in(ti, i);

    if (t->data.data != NULL)
        return nuc_ti_own_form(t);
    return ti->values[ti->op->inputs[i]].form;
}

uint32_t nuc_ti_integers(const struct nuc_ti *ti, uint32_t i, uint32_t max, int64_t *out)
{
    uint32_t count = nuc_lt_integers(nuc_ti_in(ti, i), max, out);

    if (count == UINT32_MAX)
        nuc_ti_fail(ti, "operand %u must be a constant of at most %u integers", i, max);
    return count;
}

/* ---- constants ---- */

/* The elements in the dim order of `meta`. */
static void gather(const struct nuc_meta *meta, const int64_t *strides, size_t size, const uint8_t *from, uint8_t *to)
{
    int64_t at[NUC_MAX_RANK] = {0}, offset = 0, count = nuc_elements(meta);

    for (int64_t i = 0; i < count; i++) {
        memcpy(to + (size_t)i * size, from + (size_t)offset * size, size);
        for (uint32_t k = meta->rank; k-- > 0;) {
            uint8_t d = meta->dim_order[k];
            offset += strides[d];
            if (++at[d] < meta->sizes[d])
                break;
            offset -= strides[d] * meta->sizes[d];
            at[d] = 0;
        }
    }
}

static struct nuc_node *add_buffer(struct nuc_ti *ti, const char *name, const struct nuc_meta *meta, const void *bytes)
{
    struct nuc_node *node = nuc_add_placeholder(ti->g, name, NUC_BUFFER, meta);

    node->data = nuc_dense_data(ti->cx, meta, bytes);
    node->target = node->name;
    return node;
}

struct nuc_node *nuc_ti_number(struct nuc_ti *ti, double value)
{
    const struct nuc_meta meta = nuc_meta_make(NUC_F32, NULL, 0);
    const float number = (float)value;

    return add_buffer(ti, "numbers", &meta, nuc_copy(ti->cx, &number, sizeof number));
}

/* A quantize or dequantize node with the parameters of `t`. */
static struct nuc_node *quantization(struct nuc_ti *ti, enum nuc_op op, struct nuc_node *x,
                                     const struct nuc_lt_tensor *t, struct nuc_int_range range)
{
    const struct nuc_quant quant = {.scale = (double)t->quant.scale[0],
                                    .zero_point = t->quant.zero_point[0],
                                    .axis = -1,
                                    .quant_min = range.low,
                                    .quant_max = range.high,
                                    .dtype = t->dtype};
    struct nuc_node *node = nuc_ti_call(ti, op, x);

    nuc_set_quant(node, &quant);
    return nuc_ti_infer(ti, node);
}

struct nuc_node *nuc_ti_constant(struct nuc_ti *ti, const struct nuc_lt_tensor *t, const struct nuc_meta *meta,
                                 const int64_t *strides, uint32_t channel)
{
    int64_t dense[NUC_MAX_RANK];
    size_t size = nuc_dtype_size(t->dtype);
    const uint8_t *bytes = t->data.data;

    /* Of constants: weights of eight bits, and numbers of channels, are about zero. */
    struct nuc_int_range range = nuc_int_range(t->dtype);
    if (t->dtype == NUC_I8 || t->quant.count > 1)
        range.low = -range.high;
    bool quantized = t->quant.count > 0 && (nuc_ti_is_quantized(t) || t->dtype == NUC_I64);
    bool plain = t->dtype == NUC_F32 || t->dtype == NUC_BOOL || nuc_ti_is_index(t) ||
                 (t->quant.count == 0 && (t->dtype == NUC_I8 || t->dtype == NUC_I16));
    if (t->data.data == NULL)
        nuc_ti_fail(ti, "tensor '%s' must be a constant", t->name);
    if (!quantized && !plain)
        nuc_ti_fail(
            ti, "constant '%s' is %s with %u scales: quantized integers, float32, int32, int64 and bool are handled",
            t->name, nuc_dtype_name(t->dtype), t->quant.count);
    if (t->quant.count > 1 && (channel >= meta->rank || meta->sizes[channel] != (int64_t)t->quant.count))
        nuc_ti_fail(ti, "constant '%s' has %u scales along axis %d, which is not its channel axis", t->name,
                    t->quant.count, t->quant.axis);
    for (uint32_t i = 0; quantized && i < t->quant.count; i++) {
        int64_t zero = t->quant.zero_point[i];
        bool in_range = zero >= nuc_int_range(t->dtype).low && zero <= range.high;
        if (!(t->quant.scale[i] > 0.0f) || !(t->quant.scale[i] < 1e30f) || !in_range)
            nuc_ti_fail(ti, "constant '%s' has scale %g and zero point %lld", t->name, (double)t->quant.scale[i],
                        (long long)t->quant.zero_point[i]);
    }
    nuc_dense_strides(meta, dense);
    bool in_place = (uintptr_t)bytes % size == 0;
    for (uint32_t d = 0; d < meta->rank; d++)
        in_place = in_place && (meta->sizes[d] == 1 || dense[d] == strides[d]);
    if (!in_place) {
        uint8_t *copy = nuc_alloc_array(ti->cx, (size_t)nuc_elements(meta), size);
        gather(meta, strides, size, t->data.data, copy);
        bytes = copy;
    }
    struct nuc_node *buffer = add_buffer(ti, "constant", meta, bytes);
    if (t->dtype == NUC_F32 || t->quant.count == 0)
        return buffer;
    if (t->quant.count > 1) {
        int64_t count = t->quant.count;
        struct nuc_meta scales = nuc_meta_make(NUC_F32, &count, 1), zeros = nuc_meta_make(NUC_I64, &count, 1);
        struct nuc_node *scale = add_buffer(ti, "scale", &scales, t->quant.scale);
        struct nuc_node *zero_point = add_buffer(ti, "zero_point", &zeros, t->quant.zero_point);
        struct nuc_node *dq = nuc_ti_call(ti, NUC_OP_DEQUANTIZE_PER_CHANNEL, buffer);
        nuc_set_args(ti->g, dq, NUC_ARGS(buffer, scale, zero_point, channel, range.low, range.high));
        nuc_set_arg_dtype(dq, NUC_ARG(DEQUANTIZE_PER_CHANNEL, dtype), t->dtype);
        return nuc_ti_infer(ti, dq);
    }
    return quantization(ti, NUC_OP_DEQUANTIZE_PER_TENSOR, buffer, t, range);
}

/* A constant in a form, with dimensions of size 1 in front when its rank is below that of the form. */
static struct nuc_node *constant_operand(struct nuc_ti *ti, const struct nuc_lt_tensor *t, enum nuc_ti_form form)
{
    uint32_t rank = form == NUC_TI_IMAGE ? 4 : t->rank, missing = rank - t->rank;
    int64_t sizes[NUC_MAX_RANK] = {0}, strides[NUC_MAX_RANK] = {0}, stride = 1;
    uint32_t channel = 0;

    for (uint32_t axis = rank; axis-- > 0;) {
        uint32_t d = nuc_ti_dim(form, axis);
        sizes[d] = axis < missing ? 1 : t->shape[axis - missing];
        strides[d] = stride;
        stride *= sizes[d];
        if (axis >= missing && t->quant.count > 1 && (int32_t)(axis - missing) == t->quant.axis)
            channel = d;
    }
    struct nuc_meta meta = nuc_meta_make(t->dtype, sizes, rank);
    if (form == NUC_TI_IMAGE)
        nuc_set_channels_last(&meta);
    return nuc_ti_constant(ti, t, &meta, strides, channel);
}

/* scale * (q - zero point), rounded once, as LiteRT's DEQUANTIZE and hybrid kernels have it. */
struct nuc_span nuc_ti_as_floats(const struct nuc_ti *ti, const struct nuc_lt_tensor *t)
{
    const struct nuc_lt_quant *q = &t->quant;
    size_t count = (size_t)nuc_ti_held(t), inner = 1; /* elements of one scale before the next one's */
    float *values = nuc_alloc_array(ti->cx, count, sizeof *values);

    for (uint32_t d = (uint32_t)q->axis + 1; q->count > 1 && d < t->rank; d++)
        inner *= (size_t)t->shape[d];
    if (q->count > 1 && (q->axis < 0 || q->axis >= (int64_t)t->rank || t->shape[q->axis] != (int64_t)q->count))
        nuc_ti_fail(ti, "constant '%s' has %u scales, which belong to none of its dimensions", t->name, q->count);
    for (uint32_t k = 0; k < q->count; k++) {
        if (!isfinite(q->scale[k]) || q->zero_point[k] < -(1 << 24) || q->zero_point[k] > 1 << 24)
            nuc_ti_fail(ti, "constant '%s' has scale %g and zero point %lld", t->name, (double)q->scale[k],
                        (long long)q->zero_point[k]);
    }
    for (size_t i = 0; i < count; i++) {
        size_t channel = t->quant.count > 1 ? i / inner % t->quant.count : 0;
        if (nuc_is_floating(t->dtype))
            values[i] = (float)nuc_number_at(t->dtype, t->data.data, i);
        else if (t->quant.count == 0)
            values[i] = (float)nuc_int_at(t->dtype, t->data.data, i);
        else
            values[i] = (float)((double)t->quant.scale[channel] *
                                (double)(nuc_int_at(t->dtype, t->data.data, i) - t->quant.zero_point[channel]));
    }
    return (struct nuc_span){(const uint8_t *)values, count * sizeof *values};
}

/* ---- building ---- */

struct nuc_node *nuc_ti_call(struct nuc_ti *ti, enum nuc_op op, struct nuc_node *input)
{
    const char *name = nuc_op_name(op, NUC_ATEN);
    const char *dot = strchr(name, '.');
    const char *own = dot != NULL ? dot + 1 : name;
    struct nuc_node *node =
        nuc_add_node(ti->g, ti->before, op, nuc_format(ti->cx, "%.*s", (int)strcspn(own, "."), own));

    if (ti->source != NULL) /* an output that is a constant is of no operator */
        node->source = ti->source;
    if (input != NULL)
        nuc_set_arg_node(node, ti->g, NUC_SELF, input);
    return node;
}

struct nuc_node *nuc_ti_infer(struct nuc_ti *ti, struct nuc_node *node)
{
    nuc_infer_shape(ti->g, node);
    return node;
}

struct nuc_node *nuc_ti_emit(struct nuc_ti *ti, enum nuc_op op, const struct nuc_arg *args, size_t n_args)
{
    struct nuc_node *node = nuc_ti_call(ti, op, NULL);

    nuc_set_args(ti->g, node, args, n_args);
    return nuc_ti_infer(ti, node);
}

struct nuc_node *nuc_ti_item(struct nuc_ti *ti, struct nuc_node *tuple, int64_t index)
{
    return nuc_ti_emit(ti, NUC_OP_GETITEM, NUC_ARGS(tuple, index));
}

struct nuc_node *nuc_ti_quantize(struct nuc_ti *ti, struct nuc_node *real, const struct nuc_lt_tensor *like)
{
    return quantization(ti, NUC_OP_QUANTIZE_PER_TENSOR, real, like, nuc_int_range(like->dtype));
}

struct nuc_node *nuc_ti_dequantize(struct nuc_ti *ti, struct nuc_node *quantized, const struct nuc_lt_tensor *like)
{
    return quantization(ti, NUC_OP_DEQUANTIZE_PER_TENSOR, quantized, like, nuc_int_range(like->dtype));
}

struct nuc_node *nuc_ti_settle(struct nuc_ti *ti, struct nuc_node *real, const struct nuc_lt_tensor *like)
{
    if (!nuc_ti_is_quantized(like))
        return real;
    return nuc_ti_dequantize(ti, nuc_ti_quantize(ti, real, like), like);
}

struct nuc_node *nuc_ti_view(struct nuc_ti *ti, struct nuc_node *x, const int64_t *sizes, uint32_t rank)
{
    return nuc_ti_emit(ti, NUC_OP_RESHAPE, NUC_ARGS(x, nuc_ints_arg(sizes, rank)));
}

struct nuc_node *nuc_ti_view_as(struct nuc_ti *ti, struct nuc_node *x, const struct nuc_lt_tensor *t,
                                enum nuc_ti_form form)
{
    return nuc_ti_view(ti, x, nuc_ti_meta(t, form).sizes, t->rank);
}

struct nuc_node *nuc_ti_permute(struct nuc_ti *ti, struct nuc_node *x, const int64_t *dims, uint32_t rank)
{
    return nuc_ti_emit(ti, NUC_OP_PERMUTE, NUC_ARGS(x, nuc_ints_arg(dims, rank)));
}

struct nuc_node *nuc_ti_to_type(struct nuc_ti *ti, struct nuc_node *x, enum nuc_dtype dtype)
{
    if (x->vals[0].dtype == dtype)
        return x;
    struct nuc_node *cast = nuc_ti_call(ti, NUC_OP_TO_DTYPE, x);
    nuc_set_arg_dtype(cast, NUC_ARG(TO_DTYPE, dtype), dtype);
    return nuc_ti_infer(ti, cast);
}

/* ---- values in the form asked for ---- */

struct nuc_node *nuc_ti_real(struct nuc_ti *ti, uint32_t i, enum nuc_ti_form form)
{
    const struct nuc_lt_tensor *t = nuc_ti_in(ti, i);
    struct nuc_ti_value *v = &ti->values[ti->op->inputs[i]];
    bool quantized = nuc_ti_is_quantized(t);

    if (form == NUC_TI_IMAGE && t->rank != 4)
        nuc_ti_fail(ti, "tensor '%s' has %u dimensions, 4 are needed", t->name, t->rank);
    if (t->data.data != NULL)
        return constant_operand(ti, t, form);
    if (v->nodes[form] == NULL) {
        struct nuc_node *other = v->nodes[v->form];
        struct nuc_node *real = quantized ? nuc_ti_dequantize(ti, other, t) : other;
        real = nuc_ti_permute(ti, real, form == NUC_TI_IMAGE ? to_image : to_plain, 4);
        v->nodes[form] = quantized ? nuc_ti_quantize(ti, real, t) : real;
        v->ordered[form] = form == NUC_TI_PLAIN;
    }
    return quantized ? nuc_ti_dequantize(ti, v->nodes[form], t) : v->nodes[form];
}

/* Whether a value of lower rank has one element for each channel, or one for each pixel but not both. */
static bool suits_images(const struct nuc_lt_tensor *t)
{
    int64_t channels = t->rank > 0 ? t->shape[t->rank - 1] : 1;

    return t->rank == 4 || (t->rank < 4 && (channels == 1 || nuc_lt_elements(t) == channels));
}

enum nuc_ti_form nuc_ti_common_form(const struct nuc_ti *ti, uint32_t count)
{
    bool image = false, all_constant = true;

    if (nuc_ti_out(ti)->rank != 4)
        return NUC_TI_PLAIN;
    for (uint32_t i = 0; i < count; i++) {
        const struct nuc_lt_tensor *t = nuc_ti_in(ti, i);
        bool computed = t->data.data == NULL;
        if (computed && !suits_images(t))
            return NUC_TI_PLAIN;
        image = image || (computed && nuc_ti_form_of(ti, i) == NUC_TI_IMAGE);
        all_constant = all_constant && !computed;
    }
    return image || all_constant ? NUC_TI_IMAGE : NUC_TI_PLAIN;
}

struct nuc_node *nuc_ti_broadcast(struct nuc_ti *ti, uint32_t i, enum nuc_ti_form form)
{
    const struct nuc_lt_tensor *t = nuc_ti_in(ti, i);
    int64_t sizes[4] = {1, 1, 1, 1};

    if (form == NUC_TI_PLAIN || t->rank == 4)
        return nuc_ti_real(ti, i, form);
    if (t->rank > 4)
        nuc_ti_fail(ti, "tensor '%s' has %u dimensions, at most 4 are handled here", t->name, t->rank);
    if (t->data.data != NULL)
        return constant_operand(ti, t, form);
    for (uint32_t k = 0; k < t->rank; k++)
        sizes[nuc_ti_dim(form, k + 4 - t->rank)] = t->shape[k];
    if (sizes[1] != 1 && sizes[2] * sizes[3] != 1)
        nuc_ti_fail(ti, "tensor '%s' has %u dimensions and would be repeated over pixels: reshape it to 4", t->name,
                    t->rank);
    return nuc_ti_settle(ti, nuc_ti_view(ti, nuc_ti_real(ti, i, NUC_TI_PLAIN), sizes, 4), t);
}

/* ---- results ---- */

/* Whether the range [low, high] of the quantized activation lets every quantized value through. */
static bool does_nothing(const struct nuc_lt_tensor *out, double low, double high)
{
    const struct nuc_int_range range = nuc_int_range(out->dtype);

    if (!nuc_ti_is_quantized(out))
        return false;
    double scale = (double)out->quant.scale[0], zero = (double)out->quant.zero_point[0];
    return zero + nearbyint(low / scale) <= (double)range.low &&
           (isinf(high) || zero + nearbyint(high / scale) >= (double)range.high);
}

struct nuc_node *nuc_ti_activate(struct nuc_ti *ti, struct nuc_node *x, enum nuc_lt_activation activation)
{
    struct nuc_lt_bounds bounds = nuc_lt_bounds(activation);

    if (activation == NUC_LT_ACT_NONE || does_nothing(nuc_ti_out(ti), (double)bounds.low, (double)bounds.high))
        return x;
    if (isinf(bounds.high))
        return nuc_ti_emit(ti, NUC_OP_RELU, NUC_ARGS(x));
    return nuc_ti_emit(ti, NUC_OP_HARDTANH, NUC_ARGS(x, (double)bounds.low, (double)bounds.high));
}

/* What the operator computes counts, not what the file states. */
static void take_sizes(struct nuc_ti *ti, uint32_t k, const struct nuc_node *node, enum nuc_ti_form form)
{
    const struct nuc_meta *made = &node->vals[0];
    int64_t sizes[NUC_MAX_RANK] = {0};

    if (form == NUC_TI_IMAGE && made->rank != 4)
        nuc_ti_fail(ti, "the result '%s' has %u dimensions, 4 are needed", nuc_ti_out(ti)->name, made->rank);
    for (uint32_t d = 0; d < made->rank; d++)
        sizes[nuc_ti_axis(form, d)] = made->sizes[d];
    nuc_ti_restate_result(ti, k, sizes, made->rank);
}

/* The value as the tensor has it: quantized, or of its type where both are integers. */
static struct nuc_node *as_stated(struct nuc_ti *ti, const struct nuc_lt_tensor *t, struct nuc_node *real)
{
    enum nuc_dtype dtype = real->vals[0].dtype;

    if (nuc_ti_is_quantized(t) && dtype == NUC_F32)
        return nuc_ti_quantize(ti, real, t);
    if (dtype == t->dtype)
        return real;
    if (!nuc_ti_is_index(t) || (dtype != NUC_I32 && dtype != NUC_I64))
        nuc_ti_fail(ti, "gives %s, the result '%s' is stated as %s", nuc_meta_text(ti->cx, &real->vals[0]), t->name,
                    nuc_dtype_name(t->dtype));
    return nuc_ti_to_type(ti, real, t->dtype);
}

void nuc_ti_define_result(struct nuc_ti *ti, uint32_t k, struct nuc_node *real, enum nuc_ti_form form)
{
    const struct nuc_lt_tensor *t = &ti->s->tensors[ti->op->outputs[k]];
    struct nuc_ti_value *v = &ti->values[ti->op->outputs[k]];

    take_sizes(ti, k, real, form);
    v->nodes[form] = as_stated(ti, t, real);
    v->form = form;
    struct nuc_meta wanted = real->vals[0];
    if (form == NUC_TI_IMAGE)
        nuc_set_channels_last(&wanted);
    else
        nuc_set_contiguous(&wanted);
    v->ordered[form] = nuc_same_layout(&wanted, &real->vals[0]);
}

void nuc_ti_define(struct nuc_ti *ti, struct nuc_node *real, enum nuc_ti_form form)
{
    nuc_ti_define_result(ti, 0, real, form);
}

void nuc_ti_define_viewed(struct nuc_ti *ti, struct nuc_node *real)
{
    const struct nuc_lt_tensor *y = nuc_ti_out(ti);
    const struct nuc_meta wanted = nuc_ti_meta(y, NUC_TI_PLAIN);

    if (nuc_elements(&wanted) == nuc_elements(&real->vals[0]) && !nuc_same_sizes(&wanted, &real->vals[0]))
        real = nuc_ti_view_as(ti, nuc_ti_settle(ti, real, y), y, NUC_TI_PLAIN);
    nuc_ti_define(ti, real, NUC_TI_PLAIN);
}

void nuc_ti_define_alias(struct nuc_ti *ti, struct nuc_node *node, enum nuc_ti_form form)
{
    struct nuc_ti_value *v = &ti->values[ti->op->outputs[0]];

    take_sizes(ti, 0, node, form);
    v->nodes[form] = node;
    v->form = form;
    v->ordered[form] = false;
}

int64_t nuc_ti_held(const struct nuc_lt_tensor *t)
{
    size_t size = nuc_dtype_size(t->dtype), count = t->data.size / size;
    int64_t n = 1;

    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->shape[d] < 1 || n > (int64_t)count)
            return 0;
        n *= t->shape[d];
    }
    return (size_t)n == count && count * size == t->data.size ? n : 0;
}

bool nuc_ti_define_transposed(struct nuc_ti *ti, const struct nuc_lt_tensor *x, const int64_t *perm)
{
    int32_t result = ti->op->outputs[0];
    struct nuc_lt_tensor *y = &ti->tensors[result];
    int64_t dense[NUC_MAX_RANK] = {0}, strides[NUC_MAX_RANK] = {0}, sizes[NUC_MAX_RANK] = {0};
    bool alike = x->dtype == y->dtype && x->quant.count <= 1 && nuc_lt_quant_equal(&x->quant, &y->quant);

    if (x->data.data == NULL || !alike || nuc_lt_contains(ti->s->outputs, ti->s->n_outputs, result) ||
        nuc_ti_held(x) == 0)
        return false;
    nuc_lt_strides(x, dense);
    for (uint32_t d = 0; d < x->rank; d++) {
        sizes[d] = x->shape[perm[d]];
        strides[d] = dense[perm[d]];
        if (y->rank != x->rank || y->shape[d] != sizes[d])
            return false;
    }
    struct nuc_meta meta = nuc_meta_make(x->dtype, sizes, x->rank);
    uint8_t *bytes = nuc_alloc(ti->cx, x->data.size);
    gather(&meta, strides, nuc_dtype_size(x->dtype), x->data.data, bytes);
    y->data = (struct nuc_span){bytes, x->data.size};
    return true;
}

void nuc_ti_restate_result(struct nuc_ti *ti, uint32_t k, const int64_t *sizes, uint32_t rank)
{
    struct nuc_lt_tensor *y = &ti->tensors[ti->op->outputs[k]];
    int64_t elements = 1;

    for (uint32_t d = 0; d < rank; d++) {
        if (sizes[d] < 1 || __builtin_mul_overflow(elements, sizes[d], &elements) || elements > INT32_MAX)
            return;
    }
    y->rank = rank;
    for (uint32_t d = 0; d < rank; d++)
        y->shape[d] = (int32_t)sizes[d];
}
