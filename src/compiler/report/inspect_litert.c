/* A LiteRT model as JSON and in dot. */
#include <string.h>

#include "compiler/import/json_build.h"
#include "compiler/report/inspect_forms.h"

/* ---- options ---- */

static void put_pair(struct nuc_context *cx, json_t *out, const char *key, int32_t height, int32_t width)
{
    json_t *pair = nuc_put_array(cx, out, key);

    nuc_put_int(cx, pair, NULL, height);
    nuc_put_int(cx, pair, NULL, width);
}

static void put_padding(struct nuc_context *cx, json_t *out, enum nuc_lt_padding padding)
{
    nuc_put_string(cx, out, "padding", padding == NUC_LT_VALID ? "valid" : "same");
}

static void put_activation(struct nuc_context *cx, json_t *out, enum nuc_lt_activation activation)
{
    static const char *const names[] = {
        [NUC_LT_ACT_NONE] = "none",
        [NUC_LT_ACT_RELU] = "relu",
        [NUC_LT_ACT_RELU_N1_TO_1] = "relu_n1_to_1",
        [NUC_LT_ACT_RELU6] = "relu6",
    };

    nuc_put_string(cx, out, "activation", names[activation]);
}

static void put_conv(struct nuc_context *cx, json_t *out, const union nuc_lt_options *o)
{
    put_pair(cx, out, "stride", o->conv.stride_h, o->conv.stride_w);
    put_pair(cx, out, "dilation", o->conv.dilation_h, o->conv.dilation_w);
    put_padding(cx, out, o->conv.padding);
    if (o->conv.depth_multiplier != 0)
        nuc_put_int(cx, out, "depth_multiplier", o->conv.depth_multiplier);
    put_activation(cx, out, o->conv.activation);
}

static void put_pool(struct nuc_context *cx, json_t *out, const union nuc_lt_options *o)
{
    put_pair(cx, out, "filter", o->pool.filter_h, o->pool.filter_w);
    put_pair(cx, out, "stride", o->pool.stride_h, o->pool.stride_w);
    put_padding(cx, out, o->pool.padding);
    put_activation(cx, out, o->pool.activation);
}

static void put_fully_connected(struct nuc_context *cx, json_t *out, const union nuc_lt_options *o)
{
    nuc_put_bool(cx, out, "keep_num_dims", o->fully_connected.keep_num_dims);
    put_activation(cx, out, o->fully_connected.activation);
}

static void put_arith(struct nuc_context *cx, json_t *out, const union nuc_lt_options *o)
{
    put_activation(cx, out, o->arith.activation);
}

static void put_softmax(struct nuc_context *cx, json_t *out, const union nuc_lt_options *o)
{
    nuc_put_double(cx, out, "beta", (double)o->softmax.beta);
}

static void put_reshape(struct nuc_context *cx, json_t *out, const union nuc_lt_options *o)
{
    if (!o->reshape.has_shape)
        return;
    json_t *shape = nuc_put_array(cx, out, "new_shape");
    for (uint32_t i = 0; i < o->reshape.rank; i++)
        nuc_put_int(cx, shape, NULL, o->reshape.shape[i]);
}

static void put_reduce(struct nuc_context *cx, json_t *out, const union nuc_lt_options *o)
{
    nuc_put_bool(cx, out, "keep_dims", o->reduce.keep_dims);
}

static void put_concat(struct nuc_context *cx, json_t *out, const union nuc_lt_options *o)
{
    nuc_put_int(cx, out, "axis", o->concat.axis);
    put_activation(cx, out, o->concat.activation);
}

static void put_resize(struct nuc_context *cx, json_t *out, const union nuc_lt_options *o)
{
    nuc_put_bool(cx, out, "align_corners", o->resize.align_corners);
    nuc_put_bool(cx, out, "half_pixel_centers", o->resize.half_pixel_centers);
}

static void put_batch_matmul(struct nuc_context *cx, json_t *out, const union nuc_lt_options *o)
{
    nuc_put_bool(cx, out, "adj_x", o->batch_matmul.adj_x);
    nuc_put_bool(cx, out, "adj_y", o->batch_matmul.adj_y);
}

static void put_leaky_relu(struct nuc_context *cx, json_t *out, const union nuc_lt_options *o)
{
    nuc_put_double(cx, out, "alpha", (double)o->leaky_relu.alpha);
}

static void put_mirror_pad(struct nuc_context *cx, json_t *out, const union nuc_lt_options *o)
{
    nuc_put_int(cx, out, "mode", o->mirror_pad.mode);
}

static void put_custom(struct nuc_context *cx, json_t *out, const union nuc_lt_options *o)
{
    nuc_put_int(cx, out, "custom_bytes", (int64_t)o->custom.options.size);
}

static const struct {
    int32_t code;
    void (*put)(struct nuc_context *cx, json_t *out, const union nuc_lt_options *o);
} option_writers[] = {
    {NUC_LT_CONV_2D, put_conv},
    {NUC_LT_DEPTHWISE_CONV_2D, put_conv},
    {NUC_LT_TRANSPOSE_CONV, put_conv},
    {NUC_LT_AVERAGE_POOL_2D, put_pool},
    {NUC_LT_MAX_POOL_2D, put_pool},
    {NUC_LT_FULLY_CONNECTED, put_fully_connected},
    {NUC_LT_ADD, put_arith},
    {NUC_LT_SUB, put_arith},
    {NUC_LT_MUL, put_arith},
    {NUC_LT_SOFTMAX, put_softmax},
    {NUC_LT_RESHAPE, put_reshape},
    {NUC_LT_MEAN, put_reduce},
    {NUC_LT_SUM, put_reduce},
    {NUC_LT_REDUCE_MAX, put_reduce},
    {NUC_LT_REDUCE_MIN, put_reduce},
    {NUC_LT_CONCATENATION, put_concat},
    {NUC_LT_RESIZE_BILINEAR, put_resize},
    {NUC_LT_RESIZE_NEAREST_NEIGHBOR, put_resize},
    {NUC_LT_BATCH_MATMUL, put_batch_matmul},
    {NUC_LT_LEAKY_RELU, put_leaky_relu},
    {NUC_LT_MIRROR_PAD, put_mirror_pad},
    {NUC_LT_CUSTOM, put_custom},
};

/* ---- JSON ---- */

static void put_text(struct nuc_context *cx, json_t *out, const char *key, const char *text)
{
    nuc_put_bytes_text(cx, out, key, text == NULL ? "" : text, text == NULL ? 0 : strlen(text));
}

static void put_indices(struct nuc_context *cx, json_t *out, const char *key, const int32_t *list, uint32_t count)
{
    json_t *array = nuc_put_array(cx, out, key);

    for (uint32_t i = 0; i < count; i++) {
        if (list[i] < 0)
            nuc_put_null(cx, array, NULL);
        else
            nuc_put_int(cx, array, NULL, list[i]);
    }
}

static void put_quant(struct nuc_context *cx, json_t *out, const struct nuc_lt_quant *q)
{
    if (q->count == 0)
        return;
    json_t *scales = nuc_put_array(cx, out, "scales");
    json_t *zero_points = nuc_put_array(cx, out, "zero_points");
    for (uint32_t i = 0; i < q->count; i++) {
        nuc_put_double(cx, scales, NULL, (double)q->scale[i]);
        nuc_put_int(cx, zero_points, NULL, q->zero_point[i]);
    }
    if (q->count > 1)
        nuc_put_int(cx, out, "axis", q->axis);
}

static void put_tensor(struct nuc_context *cx, json_t *list, const struct nuc_lt_tensor *t)
{
    json_t *out = nuc_put_object(cx, list, NULL);

    put_text(cx, out, "name", t->name);
    nuc_put_string(cx, out, "dtype", nuc_dtype_name(t->dtype));
    json_t *shape = nuc_put_array(cx, out, "shape");
    for (uint32_t i = 0; i < t->rank; i++)
        nuc_put_int(cx, shape, NULL, t->shape[i]);
    nuc_put_bool(cx, out, "constant", t->data.data != NULL);
    if (t->is_variable)
        nuc_put_bool(cx, out, "variable", true);
    put_quant(cx, out, &t->quant);
}

static void put_operator(struct nuc_context *cx, json_t *list, const struct nuc_lt_op *op)
{
    json_t *out = nuc_put_object(cx, list, NULL);

    nuc_put_string(cx, out, "operator", nuc_lt_code_name(cx, op->code));
    if (op->custom_code != NULL)
        put_text(cx, out, "custom_code", op->custom_code);
    put_indices(cx, out, "inputs", op->inputs, op->n_inputs);
    put_indices(cx, out, "outputs", op->outputs, op->n_outputs);
    for (size_t i = 0; i < sizeof option_writers / sizeof option_writers[0]; i++) {
        if (option_writers[i].code == op->code)
            option_writers[i].put(cx, nuc_put_object(cx, out, "options"), &op->options);
    }
}

void nuc_inspect_litert_json(struct nuc_context *cx, const struct nuc_lt_model *m, json_t *out)
{
    json_t *subgraphs = nuc_put_array(cx, out, "subgraphs");

    for (uint32_t k = 0; k < m->n_subgraphs; k++) {
        const struct nuc_lt_subgraph *s = &m->subgraphs[k];
        json_t *subgraph = nuc_put_object(cx, subgraphs, NULL);
        put_text(cx, subgraph, "name", s->name);
        put_indices(cx, subgraph, "inputs", s->inputs, s->n_inputs);
        put_indices(cx, subgraph, "outputs", s->outputs, s->n_outputs);
        json_t *tensors = nuc_put_array(cx, subgraph, "tensors");
        for (uint32_t i = 0; i < s->n_tensors; i++)
            put_tensor(cx, tensors, &s->tensors[i]);
        json_t *operators = nuc_put_array(cx, subgraph, "operators");
        for (uint32_t i = 0; i < s->n_ops; i++)
            put_operator(cx, operators, &s->ops[i]);
    }
}

/* ---- dot ---- */

static const char *tensor_label(struct nuc_context *cx, const struct nuc_lt_tensor *t)
{
    struct nuc_text text;

    nuc_text_init(&text, cx);
    nuc_text_addf(&text, "%s[", nuc_dtype_name(t->dtype));
    for (uint32_t i = 0; i < t->rank; i++)
        nuc_text_addf(&text, "%s%d", i == 0 ? "" : ", ", (int)t->shape[i]);
    nuc_text_addf(&text, "]");
    return nuc_text_string(&text);
}

/* Inputs and outputs of a subgraph: t<k>_<index>. */
static void draw_borders(struct nuc_text *out, uint32_t k, const struct nuc_lt_subgraph *s, const char *what,
                         const int32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] < 0)
            continue;
        const char *name = s->tensors[list[i]].name;
        nuc_text_addf(out, "  %s%u_%d [shape=ellipse, label=", what, k, (int)list[i]);
        nuc_dot_string(out, name == NULL ? "" : name);
        nuc_text_addf(out, "];\n");
    }
}

static void draw_edge(struct nuc_text *out, const struct nuc_lt_tensor *t, const char *from, const char *to)
{
    nuc_text_addf(out, "  %s -> %s [label=", from, to);
    nuc_dot_string(out, tensor_label(out->cx, t));
    nuc_text_addf(out, "];\n");
}

/* Which operator made each tensor so far; -1: an input or a constant. */
static int32_t *no_makers(struct nuc_context *cx, const struct nuc_lt_subgraph *s)
{
    int32_t *makers = nuc_alloc_array(cx, s->n_tensors, sizeof *makers);

    for (uint32_t i = 0; i < s->n_tensors; i++)
        makers[i] = -1;
    return makers;
}

static const char *origin(struct nuc_context *cx, uint32_t k, const int32_t *makers, int32_t tensor)
{
    return makers[tensor] < 0 ? nuc_format(cx, "i%u_%d", k, (int)tensor)
                              : nuc_format(cx, "o%u_%d", k, (int)makers[tensor]);
}

static void draw_operator(struct nuc_text *out, uint32_t k, const struct nuc_lt_subgraph *s, uint32_t index,
                          int32_t *makers)
{
    const struct nuc_lt_op *op = &s->ops[index];
    const char *name = nuc_format(out->cx, "o%u_%u", k, index);

    nuc_text_addf(out, "  %s [label=", name);
    nuc_dot_string(out, nuc_lt_code_name(out->cx, op->code));
    nuc_text_addf(out, "];\n");
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        if (op->inputs[i] < 0 || s->tensors[op->inputs[i]].data.data != NULL)
            continue;
        draw_edge(out, &s->tensors[op->inputs[i]], origin(out->cx, k, makers, op->inputs[i]), name);
    }
    for (uint32_t i = 0; i < op->n_outputs; i++) {
        if (op->outputs[i] >= 0)
            makers[op->outputs[i]] = (int32_t)index;
    }
}

static void draw_subgraph(struct nuc_text *out, uint32_t k, const struct nuc_lt_subgraph *s)
{
    int32_t *makers = no_makers(out->cx, s);

    draw_borders(out, k, s, "i", s->inputs, s->n_inputs);
    for (uint32_t i = 0; i < s->n_ops; i++)
        draw_operator(out, k, s, i, makers);
    draw_borders(out, k, s, "r", s->outputs, s->n_outputs);
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        if (s->outputs[i] >= 0)
            draw_edge(out, &s->tensors[s->outputs[i]], origin(out->cx, k, makers, s->outputs[i]),
                      nuc_format(out->cx, "r%u_%d", k, (int)s->outputs[i]));
    }
}

void nuc_inspect_litert_dot(struct nuc_text *out, const struct nuc_lt_model *m)
{
    nuc_text_addf(out, "digraph model {\n  node [shape=box];\n");
    for (uint32_t k = 0; k < m->n_subgraphs; k++)
        draw_subgraph(out, k, &m->subgraphs[k]);
    nuc_text_addf(out, "}\n");
}
