/* Norms, variance and logarithmic softmax of int8. */
#include "device/runtime/operators/ops_int8.h"

/* Counts times squares of 8 bits fit 63 bits. */
#define MOST_ELEMENTS ((size_t)1 << 22)

static bool check_tensors(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out)
{
    return nuc_need(cx, nuc_is_s8(in) && nuc_is_s8(out), NUC_TEXT("argument 'input' or 'out' is not int8")) &&
           nuc_need(cx, nuc_tensor_same_layout(in, out),
                    NUC_TEXT("argument 'out' differs from 'input' in sizes or dim order")) &&
           nuc_need(cx, in->bytes > 0, NUC_TEXT("argument 'input' has no elements"));
}

static bool is_vector(const struct nuc_tensor *t, size_t count)
{
    return nuc_is_f32(t) && t->rank == 1 && (size_t)t->sizes[0] == count;
}

/* ---- norms ---- */

/* Rows of as many values as there are weights, which lie at the end of a contiguous tensor. */
static bool read_rows(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *weight,
                      struct nuc_norm_s8 *n)
{
    if (!nuc_need(cx, nuc_is_f32(weight) && weight->rank == 1 && weight->bytes > 0,
                  NUC_TEXT("argument 'weight' is not a float32 vector")) ||
        !nuc_need(cx, nuc_tensor_is_contiguous(in), NUC_TEXT("argument 'input' is not contiguous")))
        return false;
    n->groups = n->inner = n->channel_step = n->inner_step = 1;
    n->channels = n->batch_step = (size_t)weight->sizes[0];
    n->batch = in->bytes / n->channels;
    return nuc_need(cx, in->bytes % n->channels == 0 && n->channels <= MOST_ELEMENTS,
                    NUC_TEXT("argument 'weight' does not fit 'input'"));
}

static bool read_numbers(struct nuc_kernel_context *cx, const struct nuc_value *zero_point, const struct nuc_value *eps,
                         struct nuc_norm_s8 *n)
{
    n->output_zero_point = (int32_t)zero_point->u.i;
    n->eps = (float)nuc_value_scalar(eps);
    return nuc_need(cx, nuc_is_zero_point(zero_point), NUC_TEXT("a zero point is out of range"));
}

/* (input, weight, bias, output_zero_point, eps, out) */
enum nuc_status nuc_op_int8_layer_norm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *weight = nuc_arg_tensor(args, 1);
    struct nuc_tensor *bias = nuc_arg_tensor(args, 2);
    struct nuc_tensor *out = nuc_arg_tensor(args, 5);
    struct nuc_norm_s8 n = {.centred = true};

    if (!check_tensors(cx, in, out) || !read_rows(cx, in, weight, &n) || !read_numbers(cx, args[3], args[4], &n) ||
        !nuc_need(cx, is_vector(bias, n.channels), NUC_TEXT("argument 'bias' does not fit 'weight'")))
        return NUC_UNSUPPORTED;
    nuc_kernel_norm_s8(&n, in->data, weight->data, bias->data, out->data);
    return NUC_OK;
}

/* (input, weight, input_zero_point, output_zero_point, eps, out) */
enum nuc_status nuc_op_int8_rms_norm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *weight = nuc_arg_tensor(args, 1);
    struct nuc_tensor *out = nuc_arg_tensor(args, 5);
    struct nuc_norm_s8 n = {.centred = false, .zero_point = (int32_t)args[2]->u.i};

    if (!check_tensors(cx, in, out) || !read_rows(cx, in, weight, &n) || !read_numbers(cx, args[3], args[4], &n) ||
        !nuc_need(cx, nuc_is_zero_point(args[2]), NUC_TEXT("a zero point is out of range")))
        return NUC_UNSUPPORTED;
    nuc_kernel_norm_s8(&n, in->data, weight->data, NULL, out->data);
    return NUC_OK;
}

/* Contiguous [N, C, ...] or channels-last [N, C, H, W]. */
static bool read_groups(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_value *groups,
                        struct nuc_norm_s8 *n)
{
    bool last = in->rank == 4 && !nuc_tensor_is_contiguous(in) && nuc_tensor_is_channels_last(in);

    if (!nuc_need(cx, in->rank >= 2 && (last || nuc_tensor_is_contiguous(in)),
                  NUC_TEXT("argument 'input' is neither contiguous nor a channels-last image")) ||
        !nuc_need(cx, groups->u.i >= 1 && in->sizes[1] % groups->u.i == 0,
                  NUC_TEXT("argument 'groups' does not divide the channels")))
        return false;
    size_t channels = (size_t)in->sizes[1];
    n->batch = (size_t)in->sizes[0];
    n->groups = (size_t)groups->u.i;
    n->channels = channels / n->groups;
    n->batch_step = in->bytes / n->batch;
    n->inner = n->batch_step / channels;
    n->channel_step = last ? 1 : n->inner;
    n->inner_step = last ? channels : 1;
    return nuc_need(cx, n->channels * n->inner <= MOST_ELEMENTS, NUC_TEXT("argument 'input' is too large"));
}

/* (input, groups, weight, bias, output_zero_point, eps, out) */
enum nuc_status nuc_op_int8_group_norm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *weight = nuc_arg_tensor(args, 2);
    struct nuc_tensor *bias = nuc_arg_tensor(args, 3);
    struct nuc_tensor *out = nuc_arg_tensor(args, 6);
    struct nuc_norm_s8 n = {.centred = true};

    if (!check_tensors(cx, in, out) || !read_groups(cx, in, args[1], &n) || !read_numbers(cx, args[4], args[5], &n) ||
        !nuc_need(cx, is_vector(weight, n.groups * n.channels) && is_vector(bias, n.groups * n.channels),
                  NUC_TEXT("argument 'weight' or 'bias' is not one float32 a channel")))
        return NUC_UNSUPPORTED;
    nuc_kernel_norm_s8(&n, in->data, weight->data, bias->data, out->data);
    return NUC_OK;
}

/* ---- variance ---- */

/* (input, dim, keepdim, output_zero_point, scale, out) */
enum nuc_status nuc_op_int8_var(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 5);
    struct nuc_loops kept = {.rank = 0};
    struct nuc_loops reduced = {.rank = 0};

    if (!nuc_need(cx, nuc_is_s8(in) && nuc_is_s8(out), NUC_TEXT("argument 'input' or 'out' is not int8")) ||
        !nuc_need(cx, in->bytes > 0, NUC_TEXT("argument 'input' has no elements")) ||
        !nuc_need(cx, nuc_is_zero_point(args[3]), NUC_TEXT("a zero point is out of range")) ||
        !nuc_reduction_loops(cx, args[1], args[2]->u.b, in, out, &kept, &reduced) ||
        !nuc_need(cx, in->bytes / out->bytes <= MOST_ELEMENTS, NUC_TEXT("argument 'input' is too large")))
        return NUC_UNSUPPORTED;
    nuc_kernel_var_s8(&kept, &reduced, (float)nuc_value_scalar(args[4]), (int32_t)args[3]->u.i, in->data, out->data);
    return NUC_OK;
}

/* ---- logarithmic softmax ---- */

/* (input, dim, exponentials, output_zero_point, scale, log_scale, out) */
enum nuc_status nuc_op_int8_log_softmax(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *exponentials = nuc_arg_tensor(args, 2);
    struct nuc_tensor *out = nuc_arg_tensor(args, 6);
    struct nuc_loops lines;
    struct nuc_line line;
    uint32_t dim;

    if (!check_tensors(cx, in, out) ||
        !nuc_need(cx, is_vector(exponentials, 256), NUC_TEXT("argument 'exponentials' is not float32[256]")) ||
        !nuc_need(cx, nuc_is_zero_point(args[3]), NUC_TEXT("a zero point is out of range")) ||
        !nuc_need(cx, nuc_tensor_dim(in, args[1]->u.i, &dim), NUC_TEXT("argument 'dim' is not a dimension of 'input'")))
        return NUC_UNSUPPORTED;
    struct nuc_log_softmax_s8 s = {exponentials->data, (float)nuc_value_scalar(args[4]),
                                   (float)nuc_value_scalar(args[5]), (int32_t)args[3]->u.i};
    nuc_lines_along(in, out, dim, &lines, &line);
    nuc_kernel_log_softmax_s8(&s, &lines, &line, in->data, out->data);
    return NUC_OK;
}
