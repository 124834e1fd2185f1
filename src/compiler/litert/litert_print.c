#include "compiler/litert/litert.h"
#include "host/text.h"

static void print_shape(struct nuc_text *out, const int32_t *shape, uint32_t rank)
{
    nuc_text_addf(out, "[");
    for (uint32_t i = 0; i < rank; i++)
        nuc_text_addf(out, "%s%d", i == 0 ? "" : ", ", (int)shape[i]);
    nuc_text_addf(out, "]");
}

static void print_quant(struct nuc_text *out, const struct nuc_lt_quant *q)
{
    if (q->count == 0)
        return;
    nuc_text_addf(out, " scale %.9g zero_point %lld", (double)q->scale[0], (long long)q->zero_point[0]);
    if (q->count > 1)
        nuc_text_addf(out, " and %u more along axis %d", q->count - 1, (int)q->axis);
}

static void print_tensor(struct nuc_text *out, uint32_t index, const struct nuc_lt_tensor *t)
{
    nuc_text_addf(out, "  %%%u %s", index, nuc_dtype_name(t->dtype));
    print_shape(out, t->shape, t->rank);
    if (t->data.data != NULL)
        nuc_text_addf(out, " constant");
    if (t->is_variable)
        nuc_text_addf(out, " variable");
    print_quant(out, &t->quant);
    nuc_text_addf(out, " '%s'\n", t->name);
}

static void print_indices(struct nuc_text *out, const int32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] < 0)
            nuc_text_addf(out, "%snone", i == 0 ? "" : ", ");
        else
            nuc_text_addf(out, "%s%%%d", i == 0 ? "" : ", ", (int)list[i]);
    }
}

static const char *padding_name(enum nuc_lt_padding padding)
{
    return padding == NUC_LT_VALID ? "valid" : "same";
}

static void print_activation(struct nuc_text *out, enum nuc_lt_activation activation)
{
    static const char *const names[] = {
        [NUC_LT_ACT_NONE] = "",
        [NUC_LT_ACT_RELU] = " relu",
        [NUC_LT_ACT_RELU_N1_TO_1] = " relu_n1_to_1",
        [NUC_LT_ACT_RELU6] = " relu6",
    };

    nuc_text_addf(out, "%s", names[activation]);
}

static void print_conv(struct nuc_text *out, const union nuc_lt_options *o)
{
    nuc_text_addf(out, " stride %dx%d dilation %dx%d %s", (int)o->conv.stride_h, (int)o->conv.stride_w,
                  (int)o->conv.dilation_h, (int)o->conv.dilation_w, padding_name(o->conv.padding));
    if (o->conv.depth_multiplier != 0)
        nuc_text_addf(out, " depth_multiplier %d", (int)o->conv.depth_multiplier);
    print_activation(out, o->conv.activation);
}

static void print_pool(struct nuc_text *out, const union nuc_lt_options *o)
{
    nuc_text_addf(out, " filter %dx%d stride %dx%d %s", (int)o->pool.filter_h, (int)o->pool.filter_w,
                  (int)o->pool.stride_h, (int)o->pool.stride_w, padding_name(o->pool.padding));
    print_activation(out, o->pool.activation);
}

static void print_fully_connected(struct nuc_text *out, const union nuc_lt_options *o)
{
    nuc_text_addf(out, "%s", o->fully_connected.keep_num_dims ? " keep_num_dims" : "");
    print_activation(out, o->fully_connected.activation);
}

static void print_arith(struct nuc_text *out, const union nuc_lt_options *o)
{
    print_activation(out, o->arith.activation);
}

static void print_softmax(struct nuc_text *out, const union nuc_lt_options *o)
{
    nuc_text_addf(out, " beta %g", (double)o->softmax.beta);
}

static void print_reshape(struct nuc_text *out, const union nuc_lt_options *o)
{
    if (!o->reshape.has_shape)
        return;
    nuc_text_addf(out, " to ");
    print_shape(out, o->reshape.shape, o->reshape.rank);
}

static void print_reduce(struct nuc_text *out, const union nuc_lt_options *o)
{
    nuc_text_addf(out, "%s", o->reduce.keep_dims ? " keep_dims" : "");
}

static void print_concat(struct nuc_text *out, const union nuc_lt_options *o)
{
    nuc_text_addf(out, " axis %d", (int)o->concat.axis);
    print_activation(out, o->concat.activation);
}

static void print_resize(struct nuc_text *out, const union nuc_lt_options *o)
{
    nuc_text_addf(out, "%s%s", o->resize.align_corners ? " align_corners" : "",
                  o->resize.half_pixel_centers ? " half_pixel_centers" : "");
}

static void print_batch_matmul(struct nuc_text *out, const union nuc_lt_options *o)
{
    nuc_text_addf(out, "%s%s", o->batch_matmul.adj_x ? " adj_x" : "", o->batch_matmul.adj_y ? " adj_y" : "");
}

static void print_leaky_relu(struct nuc_text *out, const union nuc_lt_options *o)
{
    nuc_text_addf(out, " alpha %.9g", (double)o->leaky_relu.alpha);
}

static void print_custom(struct nuc_text *out, const union nuc_lt_options *o)
{
    nuc_text_addf(out, " with %zu bytes of options", o->custom.options.size);
}

static const struct {
    int32_t code;
    void (*print)(struct nuc_text *out, const union nuc_lt_options *o);
} option_printers[] = {
    {NUC_LT_CONV_2D, print_conv},
    {NUC_LT_DEPTHWISE_CONV_2D, print_conv},
    {NUC_LT_TRANSPOSE_CONV, print_conv},
    {NUC_LT_AVERAGE_POOL_2D, print_pool},
    {NUC_LT_MAX_POOL_2D, print_pool},
    {NUC_LT_FULLY_CONNECTED, print_fully_connected},
    {NUC_LT_ADD, print_arith},
    {NUC_LT_SUB, print_arith},
    {NUC_LT_MUL, print_arith},
    {NUC_LT_SOFTMAX, print_softmax},
    {NUC_LT_RESHAPE, print_reshape},
    {NUC_LT_MEAN, print_reduce},
    {NUC_LT_SUM, print_reduce},
    {NUC_LT_REDUCE_MAX, print_reduce},
    {NUC_LT_REDUCE_MIN, print_reduce},
    {NUC_LT_CONCATENATION, print_concat},
    {NUC_LT_RESIZE_BILINEAR, print_resize},
    {NUC_LT_RESIZE_NEAREST_NEIGHBOR, print_resize},
    {NUC_LT_BATCH_MATMUL, print_batch_matmul},
    {NUC_LT_LEAKY_RELU, print_leaky_relu},
    {NUC_LT_CUSTOM, print_custom},
};

static void print_op(struct nuc_text *out, struct nuc_context *cx, const struct nuc_lt_op *op)
{
    nuc_text_addf(out, "  ");
    print_indices(out, op->outputs, op->n_outputs);
    nuc_text_addf(out, " = %s", nuc_lt_code_name(cx, op->code));
    if (op->custom_code != NULL)
        nuc_text_addf(out, " '%s'", op->custom_code);
    nuc_text_addf(out, "(");
    print_indices(out, op->inputs, op->n_inputs);
    nuc_text_addf(out, ")");
    for (size_t i = 0; i < sizeof option_printers / sizeof option_printers[0]; i++) {
        if (option_printers[i].code == op->code)
            option_printers[i].print(out, &op->options);
    }
    nuc_text_addf(out, "\n");
}

const char *nuc_lt_print(struct nuc_lt_model *m)
{
    struct nuc_text out;

    nuc_text_init(&out, m->cx);
    for (uint32_t k = 0; k < m->n_subgraphs; k++) {
        const struct nuc_lt_subgraph *s = &m->subgraphs[k];
        nuc_text_addf(&out, "subgraph %u '%s'\n  inputs ", k, s->name == NULL ? "" : s->name);
        print_indices(&out, s->inputs, s->n_inputs);
        nuc_text_addf(&out, "\n  outputs ");
        print_indices(&out, s->outputs, s->n_outputs);
        nuc_text_addf(&out, "\n");
        for (uint32_t i = 0; i < s->n_tensors; i++)
            print_tensor(&out, i, &s->tensors[i]);
        for (uint32_t i = 0; i < s->n_ops; i++)
            print_op(&out, m->cx, &s->ops[i]);
    }
    return nuc_text_string(&out);
}
