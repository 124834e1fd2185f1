#include <string.h>

#include "device/runtime/loader.h"
#include "device/runtime/operators/arguments.h"

#define LONGEST_NAME 99 /* "namespace::operator.overload", as in ExecuTorch */

/* Joins name and overload; no dot when the overload is empty. */
static bool operator_name(struct nuc_image *im, uint32_t index, char out[LONGEST_NAME + 1])
{
    struct nuc_fb_table t = nuc_fb_vec_table(&im->reader, im->operators, index);
    uint32_t length = 0;
    uint32_t overload_length = 0;
    const char *name = nuc_fb_string(&im->reader, t, 0, &length);
    const char *overload = nuc_fb_string(&im->reader, t, 1, &overload_length);

    if (!nuc_image_ok(im) ||
        !nuc_image_need(im, name != NULL && length <= LONGEST_NAME && overload_length < LONGEST_NAME - length,
                        NUC_TEXT("an operator has no name or a name that is too long")))
        return false;
    memcpy(out, name, length);
    im->detail->where = name; /* in the image, which outlives the message; `out` does not */
    if (overload_length > 0) {
        out[length++] = '.';
        memcpy(out + length, overload, overload_length);
    }
    out[length + overload_length] = '\0';
    return true;
}

/* A tensor or list of tensors without a constant. */
static bool is_writable(const struct nuc_program *p, const struct nuc_value *v)
{
    struct nuc_value item;

    for (uint32_t i = 0; v->kind == NUC_VALUE_TENSORS && i < v->u.list.count; i++) {
        nuc_value_read(p, nuc_load_u32(v->u.list.items + 4 * (size_t)i), &item);
        if (item.u.tensor.constant)
            return false;
    }
    return v->kind != NUC_VALUE_TENSOR || !v->u.tensor.constant;
}

enum nuc_status nuc_check_call(const struct nuc_program *p, const struct nuc_instruction *in, struct nuc_detail *detail)
{
    struct nuc_kernel_context cx = {.program = p, .detail = detail};
    const uint32_t *accepts = in->u.call.of.kernel->accepts;
    const char *name = in->u.call.of.kernel->arguments;
    uint32_t n_args = nuc_call_n_args(in), i = 0;
    struct nuc_value v, first;

    for (; accepts[i] != 0 && i < n_args; i++) {
        nuc_value_read(p, nuc_call_arg(in, i), &v);
        if (i == 0)
            first = v;
        detail->argument = name[0] != '\0' ? name : NULL;
        enum nuc_status status = nuc_check_arg(&cx, accepts[i], &v, &first.u.tensor);
        if (status != NUC_OK)
            return status;
        if ((accepts[i] & 1) != 0 && !is_writable(p, &v))
            break;
        while (detail->argument != NULL && *name++ != '\0')
            continue;
    }
    bool fits = accepts[i] == 0 && n_args == i + 1; /* one return value follows */
    if (fits)
        detail->argument = NULL;
    else
        detail->message = NUC_TEXT("the arguments do not fit the operator's signature");
    return fits ? NUC_OK : NUC_BAD_INPUT;
}

/* Arguments of a kernel or delegate call: indices of values, checked once and read in place at each call. */
static bool read_args(const struct nuc_program *p, struct nuc_image *im, struct nuc_fb_table t,
                      struct nuc_instruction *in)
{
    struct nuc_fb_vector args = nuc_fb_vec(&im->reader, t, NUC_CALL_ARGS, 4);

    in->u.call.args = im->reader.bytes.data + args.at;
    if (!nuc_image_ok(im) || !nuc_image_need(im, args.at != 0, NUC_TEXT("a call has no arguments")))
        return false;
    for (uint32_t i = 0; i < args.count; i++) {
        if (!nuc_image_need(im, nuc_call_arg(in, i) < p->n_values,
                            NUC_TEXT("an argument is not a value of the method")))
            return false;
    }
    return true;
}

static bool read_kernel(struct nuc_program *p, struct nuc_image *im, struct nuc_fb_table t, struct nuc_instruction *in,
                        const struct nuc_kernel_table *kernels)
{
    char name[LONGEST_NAME + 1];

    if (!operator_name(im, nuc_fb_u32(&im->reader, t, NUC_CALL_INDEX, 0), name) || !read_args(p, im, t, in))
        return false;
    in->u.call.of.kernel = nuc_kernel_find(kernels, name);
    if (!nuc_image_need(im, in->u.call.of.kernel != NULL, NUC_TEXT("the operator table lacks an operator")))
        return false;
    im->detail->where = in->u.call.of.kernel->name;
    return true;
}

static bool read_delegate_call(struct nuc_program *p, struct nuc_image *im, struct nuc_fb_table t,
                               struct nuc_instruction *in)
{
    uint32_t index = nuc_fb_u32(&im->reader, t, NUC_CALL_INDEX, 0);

    if (!read_args(p, im, t, in) ||
        !nuc_image_need(im, index < p->n_delegates, NUC_TEXT("a call names a delegate that does not exist")))
        return false;
    in->u.call.of.delegate = &p->delegates[index];
    return true;
}

/* Kinds stay what they were when calls were checked; of tensors the bytes move, not the address. */
static bool read_move(struct nuc_program *p, struct nuc_image *im, struct nuc_fb_table t, struct nuc_instruction *in)
{
    uint32_t from = nuc_fb_u32(&im->reader, t, 0, 0);
    uint32_t to = nuc_fb_u32(&im->reader, t, 1, 0);

    in->u.move.from = from;
    in->u.move.to = to;
    if (!nuc_image_ok(im) ||
        !nuc_image_need(im, from < p->n_values && to < p->n_values, NUC_TEXT("a move names no value")))
        return false;
    struct nuc_value a, b;
    nuc_value_read(p, from, &a);
    nuc_value_read(p, to, &b);
    bool tensors = a.kind == NUC_VALUE_TENSOR && b.kind == NUC_VALUE_TENSOR && !b.u.tensor.constant &&
                   a.u.tensor.dtype == b.u.tensor.dtype && a.u.tensor.bytes == b.u.tensor.bytes;
    bool scalars = a.kind == b.kind && (a.kind == NUC_VALUE_NONE || a.kind == NUC_VALUE_INT ||
                                        a.kind == NUC_VALUE_BOOL || a.kind == NUC_VALUE_DOUBLE);
    p->numbers_move = p->numbers_move || !tensors;
    return nuc_image_need(im, tensors || scalars, NUC_TEXT("a move between values that differ"));
}

/* Jumps lead ahead, so that every execution ends. */
static bool read_jump(struct nuc_program *p, struct nuc_image *im, struct nuc_fb_table t, uint32_t at,
                      struct nuc_instruction *in)
{
    uint32_t condition = nuc_fb_u32(&im->reader, t, 0, 0);
    uint32_t target = nuc_fb_u32(&im->reader, t, 1, 0);

    in->u.jump.condition = condition;
    in->u.jump.target = target;
    if (!nuc_image_ok(im) || !nuc_image_need(im, condition < p->n_values, NUC_TEXT("a jump names no value")))
        return false;
    struct nuc_value v;
    nuc_value_read(p, condition, &v);
    return nuc_image_need(im, v.kind == NUC_VALUE_BOOL || (v.kind == NUC_VALUE_TENSOR && v.u.tensor.dtype == NUC_BOOL),
                          NUC_TEXT("the condition of a jump is not a bool")) &&
           nuc_image_need(im, target > at && target <= p->n_instructions, NUC_TEXT("a jump does not lead ahead"));
}

static bool read_instruction(struct nuc_program *p, struct nuc_image *im, uint32_t at,
                             const struct nuc_kernel_table *kernels)
{
    struct nuc_fb_table entry = nuc_fb_vec_table(&im->reader, im->instructions, at);
    struct nuc_fb_table t = nuc_fb_sub(&im->reader, entry, NUC_INSTRUCTION_ARGS);
    struct nuc_instruction *in = &p->instructions[at];

    in->kind = nuc_fb_u8(&im->reader, entry, NUC_INSTRUCTION_TYPE, 0);
    if (!nuc_image_ok(im) || !nuc_image_need(im, t.at != 0, NUC_TEXT("an instruction is empty")))
        return false;
    switch (in->kind) {
    case NUC_INSTRUCTION_KERNEL:
        return read_kernel(p, im, t, in, kernels);
    case NUC_INSTRUCTION_DELEGATE:
        return read_delegate_call(p, im, t, in);
    case NUC_INSTRUCTION_MOVE:
        return read_move(p, im, t, in);
    case NUC_INSTRUCTION_JUMP_FALSE:
        return read_jump(p, im, t, at, in);
    case NUC_INSTRUCTION_FREE:
        in->u.move.from = nuc_fb_u32(&im->reader, t, 0, 0);
        return nuc_image_ok(im) && nuc_image_need(im, in->u.move.from < p->n_values, NUC_TEXT("a free names no value"));
    default:
        return nuc_image_need(im, false, NUC_TEXT("an instruction of an unknown kind"));
    }
}

enum nuc_status nuc_load_instructions(struct nuc_program *p, struct nuc_image *im,
                                      const struct nuc_kernel_table *kernels)
{
    for (uint32_t i = 0; i < p->n_instructions; i++) {
        enum nuc_status status = read_instruction(p, im, i, kernels) ? NUC_OK : NUC_BAD_INPUT;
        if (status == NUC_OK && p->instructions[i].kind == NUC_INSTRUCTION_KERNEL)
            status = nuc_check_call(p, &p->instructions[i], im->detail);
        if (status != NUC_OK) {
            im->detail->instruction = (int32_t)i;
            return status;
        }
    }
    im->detail->where = NULL;
    return NUC_OK;
}
