/*
 * FULLY_CONNECTED whose weights have a scale for each output, which the NPU is not known to take: a CONV_2D of one
 * pixel takes them. The rows are the pixels of one image, so that the reshapes around it move nothing.
 */
#include "npu/arrange/arrange.h"

/* [.., C] as [1, rows, 1, C]. */
static int32_t as_image(struct nuc_ltb *b, int32_t tensor)
{
    const struct nuc_lt_tensor *t = nuc_ltb_at(b, tensor);
    int32_t channels = t->shape[t->rank - 1];
    const int32_t shape[4] = {1, (int32_t)(nuc_lt_elements(t) / channels), 1, channels};
    int32_t image = nuc_ltb_duplicate(b, tensor, "_rows", false);

    nuc_ltb_set_shape(b, image, shape, 4);
    return image;
}

static void append_convolution(struct nuc_ltb *b, const struct nuc_lt_op *product)
{
    int32_t x = as_image(b, product->inputs[0]), y = as_image(b, product->outputs[0]);
    /* [O, I] as [O, 1, 1, I]. */
    const int32_t *from = nuc_ltb_at(b, product->inputs[1])->shape, shape[4] = {from[0], 1, 1, from[1]};
    int32_t kernel = nuc_ltb_duplicate(b, product->inputs[1], "_kernel", true);
    nuc_ltb_set_shape(b, kernel, shape, 4);
    int32_t bias = product->n_inputs > 2 && product->inputs[2] >= 0 ? product->inputs[2]
                                                                    : nuc_ltb_no_bias(b, "no_bias", x, kernel);

    b->debug_handle = product->debug_handle;
    nuc_ltb_reshape(b, product->inputs[0], x);
    struct nuc_lt_op *op = nuc_ltb_op(b, NUC_LT_CONV_2D, (const int32_t[]){x, kernel, bias}, 3, y);
    op->options.conv.padding = NUC_LT_VALID;
    op->options.conv.stride_h = op->options.conv.stride_w = 1;
    op->options.conv.dilation_h = op->options.conv.dilation_w = 1;
    op->options.conv.activation = product->options.fully_connected.activation;
    nuc_ltb_reshape(b, y, product->outputs[0]);
}

void nuc_products_to_convolutions(struct nuc_ltb *b)
{
    struct nuc_lt_subgraph *s = nuc_ltb_graph(b);
    uint32_t n_ops = s->n_ops;
    const struct nuc_lt_op *ops = nuc_copy(b->cx, s->ops, n_ops * sizeof *ops);

    s->n_ops = 0;
    for (uint32_t i = 0; i < n_ops; i++) {
        if (ops[i].code == NUC_LT_FULLY_CONNECTED && ops[i].n_inputs > 1 &&
            nuc_ltb_at(b, ops[i].inputs[1])->quant.count > 1)
            append_convolution(b, &ops[i]);
        else
            *nuc_lt_add_op(b->model, ops[i].code, ops[i].inputs, ops[i].n_inputs, ops[i].outputs, ops[i].n_outputs) =
                ops[i];
    }
    nuc_give_back(b->cx, ops, n_ops * sizeof *ops);
}
