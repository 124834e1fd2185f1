#include "compiler/neutron/lower/lowering.h"

/*
 * Up-sampling of a channels-last image. torch's bilinear form samples pixel centers unless corners are aligned; its
 * nearest form takes floor(position * in / out), which is LiteRT's without both flags.
 */
void nuc_lower_resize(struct nuc_lowering *l, const struct nuc_node *node)
{
    bool bilinear = node->op == NUC_OP_UPSAMPLE_BILINEAR;
    bool corners = bilinear && node->args[2].u.b;
    int32_t x = nuc_lower_input(l, node, 0);
    int32_t y = nuc_lower_output(l, node);
    const struct nuc_lt_tensor *output = nuc_ltb_at(l->b, y);

    if (output->rank != 4 || !nuc_ltb_is_last(l->b, x) || !nuc_ltb_is_last(l->b, y))
        nuc_lower_refuse(l, node, "input and output must be images");
    const int32_t size[2] = {output->shape[1], output->shape[2]};
    int32_t size_tensor = nuc_ltb_list(l->b, "sizes", size, 2);
    struct nuc_lt_op *op = nuc_ltb_op(l->b, bilinear ? NUC_LT_RESIZE_BILINEAR : NUC_LT_RESIZE_NEAREST_NEIGHBOR,
                                      (const int32_t[]){x, size_tensor}, 2, y);
    op->options.resize.align_corners = corners;
    op->options.resize.half_pixel_centers = bilinear && !corners;
}
