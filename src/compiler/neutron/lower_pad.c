#include <string.h>

#include "compiler/neutron/lowering.h"

int32_t nuc_lower_byte(struct nuc_lowering *l, const char *name, int32_t like, uint32_t rank, int64_t value)
{
    const int32_t one = 1;
    uint8_t byte = (uint8_t)value;
    int32_t t = nuc_draft_constant(l->draft, name, nuc_draft_at(l->draft, like)->dtype, &one, rank, &byte);

    nuc_draft_at(l->draft, t)->quant = nuc_draft_at(l->draft, like)->quant;
    return t;
}

int32_t nuc_lower_pad_hw(struct nuc_lowering *l, int32_t input, const int32_t pad[2], uint32_t value_rank,
                         int64_t value)
{
    const int32_t pads[4][2] = {{0, 0}, {pad[0], pad[0]}, {pad[1], pad[1]}, {0, 0}};
    const int32_t pads_shape[2] = {4, 2};

    if (pad[0] == 0 && pad[1] == 0)
        return input;
    enum nuc_dtype dtype = nuc_draft_at(l->draft, input)->dtype;
    if (nuc_draft_at(l->draft, input)->rank != 4 || (dtype != NUC_I8 && dtype != NUC_U8))
        nuc_fail(l->cx, NUC_INTERNAL, "%s: '%s' is padded, but is not an 8-bit tensor of rank 4", l->g->file,
                 nuc_draft_at(l->draft, input)->name);
    int32_t padded = nuc_draft_duplicate(l->draft, input, "_padded", false);
    nuc_draft_at(l->draft, padded)->shape[1] += 2 * pad[0];
    nuc_draft_at(l->draft, padded)->shape[2] += 2 * pad[1];
    int32_t pads_tensor = nuc_draft_constant(l->draft, "padding", NUC_I32, pads_shape, 2, pads);
    int32_t value_tensor = nuc_lower_byte(l, "constant_values", input, value_rank, value);
    nuc_draft_op(l->draft, NUC_LT_PADV2, (const int32_t[]){input, pads_tensor, value_tensor}, 3, padded);
    return padded;
}

/* torch lists pads from the innermost dimension outwards, LiteRT has a pair for each dimension of the tensor. */
static int32_t torch_pads(struct nuc_lowering *l, const struct nuc_node *node, int32_t x)
{
    const struct nuc_arg *pad = &node->args[1];
    uint32_t rank = nuc_draft_at(l->draft, x)->rank;
    int32_t perm[NUC_MAX_RANK], pads[NUC_MAX_RANK][2] = {{0}}, out[NUC_MAX_RANK][2];
    const int32_t shape[2] = {(int32_t)rank, 2};

    if (pad->kind != NUC_ARG_INTS || pad->count % 2 != 0 || pad->count / 2 > rank)
        nuc_lower_refuse(l, node, "its pads are not pairs, one for each dimension");
    for (uint32_t i = 0; i < pad->count / 2; i++) {
        pads[rank - 1 - i][0] = (int32_t)pad->u.ints[2 * i];
        pads[rank - 1 - i][1] = (int32_t)pad->u.ints[2 * i + 1];
    }
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = (int32_t)i;
    if (nuc_draft_is_last(l->draft, x))
        nuc_perm_to_last(perm, rank);
    for (uint32_t i = 0; i < rank; i++)
        memcpy(out[i], pads[perm[i]], sizeof out[i]);
    return nuc_draft_constant(l->draft, "paddings", NUC_I32, shape, 2, out);
}

void nuc_lower_pad(struct nuc_lowering *l, const struct nuc_node *node)
{
    int32_t x = nuc_lower_input(l, node, 0);
    int32_t y = nuc_lower_output(l, node);
    double value = nuc_lower_scalar(node, 2, 0);
    int32_t pads_tensor = torch_pads(l, node, x);

    if (!(value < 0) && !(value > 0)) {
        /* PAD pads with the value that stands for 0. */
        nuc_draft_op(l->draft, NUC_LT_PAD, (const int32_t[]){x, pads_tensor}, 2, y);
        return;
    }
    const struct nuc_lt_tensor *t = nuc_draft_at(l->draft, x);
    bool is_unsigned = t->dtype == NUC_U8;
    if (t->quant.count != 1 || (t->dtype != NUC_I8 && !is_unsigned))
        nuc_lower_refuse(l, node, "its input is not quantized to 8 bits");
    int64_t q = nuc_lower_quantized((double)(float)value, (double)t->quant.scale[0], t->quant.zero_point[0],
                                    is_unsigned ? 0 : INT8_MIN, is_unsigned ? UINT8_MAX : INT8_MAX);
    int32_t value_tensor = nuc_lower_byte(l, "constant", x, 1, q);
    nuc_draft_op(l->draft, NUC_LT_PADV2, (const int32_t[]){x, pads_tensor, value_tensor}, 3, y);
}

/* Reflection alone: the support rules admit no other mode. */
void nuc_lower_mirror_pad(struct nuc_lowering *l, const struct nuc_node *node)
{
    int32_t x = nuc_lower_input(l, node, 0);
    int32_t y = nuc_lower_output(l, node);

    if (node->args[2].kind != NUC_ARG_STRING || strcmp(node->args[2].u.string, "reflect") != 0)
        nuc_lower_refuse(l, node, "its mode is not reflect");
    nuc_draft_op(l->draft, NUC_LT_MIRROR_PAD, (const int32_t[]){x, torch_pads(l, node, x)}, 2, y);
}
