/* Pads, slices, concatenations. */
#include <string.h>

#include "ir/args.h"
#include "npu/lower/lowering.h"
#include "npu/target/target.h"

#define ARG(name) NUC_ARG(PAD, name)

int32_t nuc_lower_byte(struct nuc_lowering *l, const char *name, int32_t like, uint32_t rank, int64_t value)
{
    const int32_t one = 1;
    uint8_t byte = (uint8_t)value;
    int32_t t = nuc_ltb_constant(l->b, name, nuc_ltb_at(l->b, like)->dtype, &one, rank, &byte);

    nuc_ltb_at(l->b, t)->quant = nuc_ltb_at(l->b, like)->quant;
    return t;
}

int32_t nuc_lower_pad_hw(struct nuc_lowering *l, int32_t input, struct nuc_pair pad, uint32_t value_rank, int64_t value)
{
    const int32_t pads[4][2] = {{0, 0}, {(int32_t)pad.h, (int32_t)pad.h}, {(int32_t)pad.w, (int32_t)pad.w}, {0, 0}};
    const int32_t pads_shape[2] = {4, 2};

    if (pad.h == 0 && pad.w == 0)
        return input;
    enum nuc_dtype dtype = nuc_ltb_at(l->b, input)->dtype;
    if (nuc_ltb_at(l->b, input)->rank != 4 || (dtype != NUC_I8 && dtype != NUC_U8))
        nuc_fail(l->cx, NUC_INTERNAL, "%s: '%s' is padded, but is not an 8-bit tensor of rank 4", l->g->file,
                 nuc_ltb_at(l->b, input)->name);
    int32_t padded = nuc_ltb_duplicate(l->b, input, "_padded", false);
    nuc_ltb_at(l->b, padded)->shape[1] += (int32_t)(2 * pad.h);
    nuc_ltb_at(l->b, padded)->shape[2] += (int32_t)(2 * pad.w);
    int32_t pads_index = nuc_ltb_constant(l->b, "padding", NUC_I32, pads_shape, 2, pads);
    int32_t value_tensor = nuc_lower_byte(l, "constant_values", input, value_rank, value);
    nuc_ltb_op(l->b, NUC_LT_PADV2, (const int32_t[]){input, pads_index, value_tensor}, 3, padded);
    return padded;
}

struct pads {
    int32_t of[NUC_MAX_RANK][2]; /* before and after each axis of the tensor */
};

/* torch lists pads from the innermost dimension outwards, LiteRT has a pair for each dimension of the tensor. */
static struct pads torch_pads(const struct nuc_lowering *l, const struct nuc_node *node, int32_t x)
{
    const struct nuc_arg *pad = nuc_arg_at(node, ARG(pad));
    uint32_t rank = nuc_ltb_at(l->b, x)->rank;
    int32_t perm[NUC_MAX_RANK];
    struct pads torch = {{{0}}}, out = {{{0}}};

    if (pad->kind != NUC_ARG_INTS || pad->count % 2 != 0 || pad->count / 2 > rank)
        nuc_lower_refuse(l, node, "its pads are not pairs, one for each dimension");
    for (uint32_t i = 0; i < pad->count; i++) {
        if (pad->u.ints[i] > INT32_MAX || pad->u.ints[i] < -INT32_MAX)
            nuc_lower_refuse(l, node, "a pad exceeds 2^31");
        torch.of[rank - 1 - i / 2][i % 2] = (int32_t)pad->u.ints[i];
    }
    nuc_perm_identity(perm, rank);
    if (nuc_ltb_is_last(l->b, x))
        nuc_perm_to_last(perm, rank);
    for (uint32_t i = 0; i < rank; i++)
        memcpy(out.of[i], torch.of[perm[i]], sizeof out.of[i]);
    return out;
}

static int32_t pads_tensor(struct nuc_lowering *l, const struct pads *pads, uint32_t rank)
{
    const int32_t shape[2] = {(int32_t)rank, 2};

    return nuc_ltb_constant(l->b, "paddings", NUC_I32, shape, 2, pads->of);
}

/* torch's negative pads take elements off, which LiteRT's operators do not: a slice does, and leaves pads of 0. */
static int32_t crop(struct nuc_lowering *l, int32_t x, struct pads *pads)
{
    const struct nuc_lt_tensor *t = nuc_ltb_at(l->b, x);
    int32_t begin[NUC_MAX_RANK], shape[NUC_MAX_RANK];
    uint32_t rank = t->rank;
    bool crops = false;

    for (uint32_t i = 0; i < rank; i++) {
        begin[i] = pads->of[i][0] < 0 ? -pads->of[i][0] : 0;
        shape[i] = t->shape[i] - begin[i] + (pads->of[i][1] < 0 ? pads->of[i][1] : 0);
        for (int k = 0; k < 2; k++) {
            crops = crops || pads->of[i][k] < 0;
            pads->of[i][k] = pads->of[i][k] < 0 ? 0 : pads->of[i][k];
        }
    }
    if (!crops)
        return x;
    int32_t cropped = nuc_ltb_duplicate(l->b, x, "_cropped", false);
    nuc_ltb_set_shape(l->b, cropped, shape, rank);
    nuc_lower_append_slice(l, x, begin, cropped);
    return cropped;
}

void nuc_lower_pad(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    double value = nuc_scalar(node, NUC_ARG(CONSTANT_PAD, value), 0);
    struct pads pads = torch_pads(l, node, x);

    x = crop(l, x, &pads);
    int32_t pads_index = pads_tensor(l, &pads, nuc_ltb_at(l->b, x)->rank);
    if (!(value < 0) && !(value > 0)) {
        /* PAD pads with the value that stands for 0. */
        nuc_ltb_op(l->b, NUC_LT_PAD, (const int32_t[]){x, pads_index}, 2, y);
        return;
    }
    const struct nuc_lt_tensor *t = nuc_ltb_at(l->b, x);
    bool is_unsigned = t->dtype == NUC_U8;
    if (t->quant.count != 1 || (t->dtype != NUC_I8 && !is_unsigned))
        nuc_lower_refuse(l, node, "its input is not quantized to 8 bits");
    int64_t q = nuc_lower_quantized((double)(float)value, (double)t->quant.scale[0], t->quant.zero_point[0],
                                    is_unsigned ? 0 : INT8_MIN, is_unsigned ? UINT8_MAX : INT8_MAX);
    int32_t value_tensor = nuc_lower_byte(l, "constant", x, 1, q);
    nuc_ltb_op(l->b, NUC_LT_PADV2, (const int32_t[]){x, pads_index, value_tensor}, 3, y);
}

/* Reflection alone: the support rules admit no other mode. */
void nuc_lower_mirror_pad(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    struct pads pads = torch_pads(l, node, x);

    const struct nuc_arg *mode = nuc_arg_at(node, ARG(mode));
    if (mode->kind != NUC_ARG_STRING || strcmp(mode->u.string, "reflect") != 0)
        nuc_lower_refuse(l, node, "its mode is not reflect");
    int32_t pads_index = pads_tensor(l, &pads, nuc_ltb_at(l->b, x)->rank);
    nuc_ltb_op(l->b, NUC_LT_MIRROR_PAD, (const int32_t[]){x, pads_index}, 2, y);
}

/* ---- slices, concatenations ---- */

void nuc_lower_append_slice(struct nuc_lowering *l, int32_t input, const int32_t *begin, int32_t output)
{
    uint32_t rank = nuc_ltb_at(l->b, output)->rank;
    int32_t size[NUC_MAX_RANK];

    memcpy(size, nuc_ltb_at(l->b, output)->shape, sizeof size);
    int32_t begin_tensor = nuc_ltb_list(l->b, "begin", begin, rank);
    int32_t size_tensor = nuc_ltb_list(l->b, "size", size, rank);
    nuc_ltb_op(l->b, NUC_LT_SLICE, (const int32_t[]){input, begin_tensor, size_tensor}, 3, output);
}

/*
 * Rule set sdk-3.1 slices the last axis alone: another one changes places with it before and after. Its support rules
 * see to it that the NPU has both transposes.
 */
static void slice_swapped(struct nuc_lowering *l, int32_t x, const int32_t *begin, int32_t axis, int32_t y)
{
    uint32_t rank = nuc_ltb_at(l->b, x)->rank;
    int32_t swap[NUC_MAX_RANK], swapped[NUC_MAX_RANK];

    nuc_perm_identity(swap, rank);
    swap[axis] = (int32_t)rank - 1;
    swap[rank - 1] = axis;
    nuc_perm_apply(swapped, begin, swap, rank);
    x = nuc_ltb_transpose_before(l->b, x, swap, NUC_LTB_BETWEEN);
    struct nuc_ltb_result result = nuc_ltb_begin_result(l->b, y, swap, NUC_LTB_BETWEEN);
    nuc_lower_append_slice(l, x, swapped, result.written);
    nuc_ltb_end_result(l->b, &result);
}

/* A contiguous part of one dimension; start counts from the end when negative, and is clipped to the tensor. */
void nuc_lower_slice(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    const struct nuc_lt_tensor *t = nuc_ltb_at(l->b, x);
    int32_t axis = nuc_lower_axis(l, node, NUC_ARG(SLICE, dim), x), size = t->shape[axis], begin[NUC_MAX_RANK] = {0};
    bool last = axis == (int32_t)t->rank - 1;

    if (nuc_integer(node, NUC_ARG(SLICE, step), 1) != 1)
        nuc_lower_refuse(l, node, "its step is not 1");
    int64_t start = nuc_integer(node, NUC_ARG(SLICE, start), 0);
    start = start < 0 ? start + size : start;
    begin[axis] = (int32_t)(start < 0 ? 0 : start > size ? size : start);
    if (l->options.flavor->rules == NUC_RULES_SDK_3_1 && !last)
        slice_swapped(l, x, begin, axis, y);
    else
        nuc_lower_append_slice(l, x, begin, y);
}

void nuc_lower_cat(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    const struct nuc_arg *list = nuc_arg_at(node, NUC_ARG(CAT, tensors));
    int32_t axis = nuc_lower_axis(l, node, NUC_ARG(CAT, dim), y);
    int32_t *operands = nuc_alloc_array(l->cx, list->count, sizeof *operands);

    (void)x;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->u.nodes[i] == NULL)
            nuc_lower_refuse(l, node, "an operand is left out");
        operands[i] = nuc_lower_output(l, list->u.nodes[i]);
    }
    nuc_ltb_op(l->b, NUC_LT_CONCATENATION, operands, list->count, y)->options.concat.axis = axis;
}
