/* Norms, variance and logarithmic softmax of int8 and int16. */
#include "device/runtime/operators/ops_int8.h"

/* Of a tensor of int16 zero points are 0. */
static bool takes(struct nuc_kernel_context *cx, const struct nuc_tensor *in, size_t count, int64_t zero_a,
                  int64_t zero_b)
{
    return nuc_need(cx, count <= (nuc_is_s8(in) ? NUC_MOST_IN_GROUP : NUC_MOST_WIDE_IN_GROUP),
                    NUC_TEXT("argument 'input' is too large")) &&
           (nuc_is_s8(in) || nuc_zeros(cx, zero_a, zero_b, 0));
}

static bool is_count(const struct nuc_value *vector, size_t count)
{
    return (size_t)vector->u.tensor.sizes[0] == count;
}

/* ---- norms ---- */

/* Rows of as many values as there are weights, which lie at the end of a contiguous tensor. */
static bool read_rows(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *weight,
                      struct nuc_norm_s8 *n)
{
    n->groups = n->inner = n->channel_step = n->inner_step = 1;
    n->channels = n->batch_step = (size_t)weight->sizes[0];
    n->batch = nuc_tensor_elements(in) / n->channels;
    return nuc_need(cx, nuc_tensor_elements(in) % n->channels == 0,
                    NUC_TEXT("argument 'weight' does not fit 'input'")) &&
           takes(cx, in, n->channels, n->zero_point, n->output_zero_point);
}

enum nuc_status nuc_op_int8_layer_norm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_layer_norm *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *weight = &a->weight->u.tensor;
    struct nuc_norm_s8 n = {
        .centred = true, .output_zero_point = nuc_int32(a->output_zero_point), .eps = nuc_value_float(a->eps)};

    if (!read_rows(cx, in, weight, &n) ||
        !nuc_need(cx, is_count(a->bias, n.channels), NUC_TEXT("argument 'bias' does not fit 'weight'")))
        return NUC_UNSUPPORTED;
    nuc_kernel_norm_int(&n, (enum nuc_dtype)in->dtype, in->data, weight->data, a->bias->u.tensor.data,
                        a->out->u.tensor.data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_rms_norm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_rms_norm *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *weight = &a->weight->u.tensor;
    struct nuc_norm_s8 n = {.centred = false,
                            .zero_point = nuc_int32(a->input_zero_point),
                            .output_zero_point = nuc_int32(a->output_zero_point),
                            .eps = nuc_value_float(a->eps)};

    if (!read_rows(cx, in, weight, &n))
        return NUC_UNSUPPORTED;
    nuc_kernel_norm_int(&n, (enum nuc_dtype)in->dtype, in->data, weight->data, NULL, a->out->u.tensor.data);
    return NUC_OK;
}

/* Contiguous [N, C, ...] or channels-last [N, C, H, W]. */
enum nuc_status nuc_op_int8_group_norm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_group_norm *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor;
    bool contiguous = nuc_tensor_is_contiguous(in);
    struct nuc_norm_s8 n = {.centred = true,
                            .groups = (size_t)a->groups->u.i,
                            .output_zero_point = nuc_int32(a->output_zero_point),
                            .eps = nuc_value_float(a->eps)};

    if (!nuc_need(cx, in->rank >= 2 && (contiguous || nuc_tensor_is_channels_last(in)),
                  NUC_TEXT("argument 'input' is neither contiguous nor a channels-last image")))
        return NUC_UNSUPPORTED;
    size_t channels = (size_t)in->sizes[1];
    n.batch = (size_t)in->sizes[0];
    n.channels = channels / n.groups;
    n.batch_step = nuc_tensor_elements(in) / n.batch;
    n.inner = n.batch_step / channels;
    n.channel_step = contiguous ? n.inner : 1;
    n.inner_step = contiguous ? 1 : channels;
    if (!nuc_need(cx, channels % n.groups == 0, NUC_TEXT("argument 'groups' does not divide the channels")) ||
        !takes(cx, in, n.channels * n.inner, 0, n.output_zero_point) ||
        !nuc_need(cx, is_count(a->weight, channels) && is_count(a->bias, channels),
                  NUC_TEXT("argument 'weight' or 'bias' is not one float32 a channel")))
        return NUC_UNSUPPORTED;
    nuc_kernel_norm_int(&n, (enum nuc_dtype)in->dtype, in->data, a->weight->u.tensor.data, a->bias->u.tensor.data,
                        a->out->u.tensor.data);
    return NUC_OK;
}

/* ---- variance ---- */

enum nuc_status nuc_op_int8_var(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_var *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops kept, reduced;

    if (!nuc_reduction_loops(cx, a->dim, a->keepdim->u.b, in, out, &kept, &reduced) ||
        !takes(cx, in, in->bytes / out->bytes, 0, nuc_int32(a->output_zero_point)))
        return NUC_UNSUPPORTED;
    nuc_kernel_var_int(&kept, &reduced, nuc_value_float(a->scale), nuc_int32(a->output_zero_point),
                       (enum nuc_dtype)in->dtype, in->data, out->data);
    return NUC_OK;
}

/* ---- logarithmic softmax ---- */

enum nuc_status nuc_op_int8_log_softmax(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_log_softmax *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    const struct nuc_log_softmax_s8 s = {a->exponentials->u.tensor.data, nuc_value_float(a->scale),
                                         nuc_value_float(a->log_scale), nuc_int32(a->output_zero_point)};
    struct nuc_loops lines;
    struct nuc_line line;

    if (!nuc_need(cx, is_count(a->exponentials, nuc_is_s8(in) ? 256 : 512),
                  NUC_TEXT("argument 'exponentials' is not float32[256], for int16 float32[512]")))
        return NUC_UNSUPPORTED;
    nuc_lines_along(in, out, nuc_dim_of(in, a->dim), &lines, &line);
    nuc_kernel_log_softmax_int(&s, &lines, &line, (enum nuc_dtype)in->dtype, in->data, out->data);
    return NUC_OK;
}
