/*
 * Shape rules. Each case is one node in the text form and the value torch gives it: sizes by the formulas of the
 * operator's documentation, dim orders as Tensor.dim_order() names the strides of eager torch.
 */
#include "contexts.h"

#include "ir/shapes/shapes.h"

/* Inputs that the cases use. */
static const char inputs[] = "nucleon-graph 1\n"
                             "%x = input : float32[1, 3, 9, 8]\n"
                             "%xl = input : float32[1, 3, 9, 8] channels-last\n"
                             "%one = input : float32[1, 1, 9, 8]\n"
                             "%onel = input : float32[1, 1, 9, 8] channels-last\n"
                             "%point = input : float32[1, 3, 1, 1]\n"
                             "%pointl = input : float32[1, 3, 1, 1] channels-last\n"
                             "%chw = input : float32[3, 9, 8]\n"
                             "%row = input : float32[8]\n"
                             "%m = input : float32[4, 6]\n"
                             "%mt = input : float32[4, 6] dim-order(1, 0)\n"
                             "%n = input : float32[6, 5]\n"
                             "%scalar = input : float32[]\n"
                             "%i = input : int8[1, 3, 9, 8]\n"
                             "%i64 = input : int64[]\n"
                             "%byte = input : uint8[8]\n"
                             "%w = input : float32[6, 3, 3, 2]\n"
                             "%wl = input : float32[6, 3, 3, 2] channels-last\n"
                             "%dw = input : float32[3, 1, 3, 3]\n"
                             "%wt = input : float32[3, 4, 3, 3]\n"
                             "%w1 = input : float32[4, 3, 3]\n"
                             "%x1 = input : float32[2, 3, 10]\n"
                             "%c3 = input : float32[3]\n"
                             "%c6 = input : float32[6]\n"
                             "%z3 = input : int64[3]\n"
                             "%fc = input : float32[5, 6]\n"
                             "%c5 = input : float32[5]\n"
                             "%big = input : float32[1, 1, 40000, 40000]\n"
                             "%empty = input : float32[0, 4]\n"
                             "%nothing = input : float32[0]\n"
                             "%x3 = input : float32[1, 2, 4, 5, 6]\n"
                             "%w3 = input : float32[3, 2, 2, 2, 2]\n"
                             "%wt1 = input : float32[3, 2, 3]\n"
                             "%wtg = input : float32[3, 2, 1, 1]\n"
                             "%c10 = input : float32[10]\n"
                             "%batch = input : float32[1, 10, 4]\n"
                             "%batch2 = input : float32[2, 10, 4]\n"
                             "%cond = input : bool[9, 1]\n"
                             "%ix = input : int64[3]\n"
                             "%ix1 = input : int64[1]\n"
                             "%part = input : float32[1, 3, 2, 8]\n"
                             "%seq = input : float32[5, 2, 4]\n"
                             "%seqb = input : float32[2, 5, 4]\n"
                             "%h = input : float32[2, 2, 3]\n"
                             "%wi = input : float32[9, 4]\n"
                             "%li = input : float32[12, 4]\n"
                             "%lh = input : float32[12, 3]\n"
                             "%lp = input : float32[12, 2]\n"
                             "%lb = input : float32[12]\n"
                             "%lr = input : float32[2, 3]\n"
                             "%hp = input : float32[2, 2, 2]\n"
                             "%rnn = input : float32[3, 4]\n"
                             "%rnnh = input : float32[3, 3]\n"
                             "%wh = input : float32[9, 3]\n"
                             "%wb = input : float32[9]\n";

struct shape_case {
    const char *call;
    const char *value; /* as printed; for a refusal a part of the message */
};

struct inference {
    struct nuc_graph *g;
    struct nuc_node *node;
    const char *text;
};

static void parse(struct nuc_context *cx, void *arg)
{
    struct inference *r = arg;

    r->g = nuc_graph_parse(cx, "case", r->text);
    r->node = nuc_find_node(r->g, "y");
}

static void infer(struct nuc_context *cx, void *arg)
{
    struct inference *r = arg;

    (void)cx;
    nuc_infer_shape(r->g, r->node);
}

/* Parses the inputs and the call with a value that is certainly wrong, then applies the rule. */
static enum nuc_status run_rule(struct nuc_context *cx, const char *call, struct inference *r)
{
    r->text = nuc_format(cx, "%s%%y = %s : bool[7, 7, 7]\n%%output = output([%%x])\n", inputs, call);
    if (nuc_try(cx, parse, r) != NUC_OK)
        fail_msg("%s", cx->message);
    return nuc_try(cx, infer, r);
}

static void check_shape(struct nuc_context *cx, void *arg)
{
    const struct shape_case *c = arg;
    struct inference r = {NULL, NULL, NULL};

    if (run_rule(cx, c->call, &r) != NUC_OK)
        fail_msg("%s", cx->message);
    const char *text = nuc_meta_text(cx, &r.node->vals[0]);
    for (uint32_t k = 1; k < r.node->n_vals; k++)
        text = nuc_format(cx, "%s, %s", text, nuc_meta_text(cx, &r.node->vals[k]));
    if (strcmp(text, c->value) != 0)
        fail_msg("%s: %s instead of %s", c->call, text, c->value);
}

static const struct shape_case convolution[] = {
    {"aten.conv2d.default(%x, %w, %c6)", "float32[1, 6, 7, 7]"},
    {"aten.conv2d.default(%x, %w, none, [2, 3], [1, 0], [2, 1])", "float32[1, 6, 4, 3]"},
    {"aten.conv2d.default(%xl, %w)", "float32[1, 6, 7, 7] channels-last"},
    {"aten.conv2d.default(%x, %wl)", "float32[1, 6, 7, 7] channels-last"},
    {"aten.conv2d.default(%x, %dw, none, [1, 1], [1, 1], [1, 1], 3)", "float32[1, 3, 9, 8]"},
    {"aten.conv2d.default(%chw, %w)", "float32[6, 7, 7]"},
    {"aten.conv2d.default(%chw, %wl)", "float32[6, 7, 7] dim-order(1, 2, 0)"},
    {"edge.aten.convolution.default(%x, %w, %c6, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)", "float32[1, 6, 7, 7]"},
    {"edge.aten.convolution.default(%xl, %wt, none, [2, 2], [1, 1], [1, 1], true, [1, 0], 1)",
     "float32[1, 4, 18, 15] channels-last"},
    {"edge.aten.convolution.default(%x1, %w1, none, [2], [1], [1], false, [0], 1)", "float32[2, 4, 5]"},
};

static const struct shape_case convolution_forms[] = {
    {"aten.conv1d.default(%x1, %w1)", "float32[2, 4, 8]"},
    {"aten.conv1d.default(%x1, %w1, none, [2], [1])", "float32[2, 4, 5]"},
    {"aten.conv1d.padding(%x1, %w1)", "float32[2, 4, 8]"},
    {"aten.conv1d.padding(%x1, %w1, none, [1], \"same\", [2])", "float32[2, 4, 10]"},
    {"aten.conv2d.padding(%xl, %w, none, [1, 1], \"same\")", "float32[1, 6, 9, 8] channels-last"},
    {"aten.conv2d.padding(%x, %w, %c6, [2, 2], \"valid\")", "float32[1, 6, 4, 4]"},
    {"aten.conv3d.default(%x3, %w3, %c3)", "float32[1, 3, 3, 4, 5]"},
    {"aten.conv_transpose1d.default(%x1, %wt1, none, [2], [1], [1])", "float32[2, 2, 20]"},
    {"aten.conv_transpose2d.input(%xl, %wt, none, [3, 3], [1, 0], [2, 1])", "float32[1, 4, 27, 25] channels-last"},
    {"aten.conv_transpose2d.input(%x, %wtg, %c6, groups=3)", "float32[1, 6, 9, 8]"},
    {"aten.conv_transpose2d.input(%x, %wt, dilation=[2, 1])", "float32[1, 4, 13, 10]"},
};

static const struct shape_case pooling_and_upsampling[] = {
    {"aten.max_pool1d.default(%x1, [3])", "float32[2, 3, 3]"},
    {"aten.max_pool1d.default(%x1, [3], [2], [1], [1], true)", "float32[2, 3, 6]"},
    {"aten.avg_pool1d.default(%x1, [4], [3])", "float32[2, 3, 3]"},
    {"aten.max_pool2d_with_indices.default(%x, [2, 2])", "float32[1, 3, 4, 4], int64[1, 3, 4, 4]"},
    {"aten.upsample_nearest2d.vec(%xl, [5, 20], none)", "float32[1, 3, 5, 20] channels-last"},
    {"aten.upsample_nearest2d.vec(%x, none, [2.0, 1.5])", "float32[1, 3, 18, 12]"},
    {"aten.upsample_bilinear2d.vec(%x, none, true, [1.3, 0.5])", "float32[1, 3, 11, 4]"},
    {"edge.aten.upsample_bilinear2d.vec(%x, [1, 1], false, none)", "float32[1, 3, 1, 1]"},
};

static const struct shape_case normalization_and_pooling[] = {
    {"aten.batch_norm.default(%xl, %c3, %c3, %c3, %c3, false, 0.1, 1e-05, false)", "float32[1, 3, 9, 8] channels-last"},
    {"edge.aten._native_batch_norm_legit_no_training.default(%x, none, none, %c3, %c3, 0.1, 1e-05)",
     "float32[1, 3, 9, 8], float32[0], float32[0]"},
    {"aten.max_pool2d.default(%x, [2, 2])", "float32[1, 3, 4, 4]"},
    {"aten.max_pool2d.default(%x, [2], [2], [1], [1], true)", "float32[1, 3, 5, 5]"},
    {"aten.max_pool2d.default(%x, [3, 3], [3, 3], [1, 1], [1, 1], true)", "float32[1, 3, 4, 3]"},
    {"aten.max_pool2d.default(%xl, [3, 2], [2, 1], [1, 0], [2, 3])", "float32[1, 3, 4, 5] channels-last"},
    {"aten.max_pool2d.default(%chw, [2, 2])", "float32[3, 4, 4]"},
    {"edge.aten.max_pool2d_with_indices.default(%xl, [2, 2])",
     "float32[1, 3, 4, 4] channels-last, int64[1, 3, 4, 4] channels-last"},
    {"aten.avg_pool2d.default(%xl, [9, 8])", "float32[1, 3, 1, 1] channels-last"},
    {"aten.avg_pool2d.default(%x, [9, 8])", "float32[1, 3, 1, 1]"},
    {"aten.avg_pool2d.default(%x, [2, 2], ceil_mode=true)", "float32[1, 3, 5, 4]"},
    {"aten.adaptive_avg_pool2d.default(%xl, [1, 1])", "float32[1, 3, 1, 1] channels-last"},
    {"edge.aten._adaptive_avg_pool2d.default(%x, [4, 2])", "float32[1, 3, 4, 2]"},
};

static const struct shape_case elementwise[] = {
    {"aten.relu.default(%xl)", "float32[1, 3, 9, 8] channels-last"},
    {"aten.hardtanh_.default(%pointl)", "float32[1, 3, 1, 1] channels-last"},
    {"aten.dropout.default(%mt, 0.5, false)", "float32[4, 6] dim-order(1, 0)"},
    {"aten.add.Tensor(%x, %x)", "float32[1, 3, 9, 8]"},
    {"aten.add.Tensor(%xl, %xl)", "float32[1, 3, 9, 8] channels-last"},
    {"aten.add.Tensor(%xl, %row)", "float32[1, 3, 9, 8] channels-last"},
    {"aten.add.Tensor(%row, %xl)", "float32[1, 3, 9, 8] channels-last"},
    {"aten.add.Tensor(%scalar, %xl)", "float32[1, 3, 9, 8] channels-last"},
    {"aten.add.Tensor(%x, %point)", "float32[1, 3, 9, 8]"},
    {"aten.add.Tensor(%mt, %m)", "float32[4, 6] dim-order(1, 0)"},
    {"aten.add.Tensor(%m, %mt)", "float32[4, 6]"},
    {"aten.add.Tensor(%i, %scalar)", "float32[1, 3, 9, 8]"},
    {"aten.add.Tensor(%i, %i64)", "int8[1, 3, 9, 8]"},
    {"aten.add_.Tensor(%xl, %row)", "float32[1, 3, 9, 8] channels-last"},
    {"aten.add.Tensor(%i, %byte)", "int16[1, 3, 9, 8]"},
    {"aten.mul.Tensor(%cond, %i64)", "int64[9, 1]"},
    {"aten.gt.Tensor(%xl, %i)", "bool[1, 3, 9, 8] channels-last"},
    {"aten.eq_.Tensor(%xl, %row)", "float32[1, 3, 9, 8] channels-last"},
    {"aten.logical_not.default(%m)", "bool[4, 6]"},
    {"aten.logical_not_.default(%m)", "float32[4, 6]"},
    {"aten.clamp.default(%i, 1, 5)", "int8[1, 3, 9, 8]"},
    {"aten.clamp.default(%i, 1, 5.0)", "float32[1, 3, 9, 8]"},
    {"aten.clamp_min.default(%cond, 0)", "int64[9, 1]"},
    {"aten.pow.Tensor_Scalar(%i, 2)", "int8[1, 3, 9, 8]"},
    {"aten.pow.Tensor_Scalar(%i, 2.0)", "float32[1, 3, 9, 8]"},
    {"aten.pow_.Scalar(%m, 2)", "float32[4, 6]"},
    {"aten.pow.Scalar(2, %z3)", "int64[3]"},
    {"aten.pow.Scalar(2.0, %z3)", "float32[3]"},
    {"aten.square.default(%cond)", "int64[9, 1]"},
    {"aten.div.Tensor_mode(%i, %i64, rounding_mode=\"floor\")", "int8[1, 3, 9, 8]"},
    {"aten.div.Tensor_mode(%i, %i64)", "float32[1, 3, 9, 8]"},
    {"aten.div.Tensor(%i, %i64)", "float32[1, 3, 9, 8]"},
    {"aten.maximum.default(%one, %point)", "float32[1, 3, 9, 8]"},
    {"aten.exp.default(%i)", "float32[1, 3, 9, 8]"},
    {"aten.abs.default(%i)", "int8[1, 3, 9, 8]"},
    {"aten.prelu.default(%xl, %c3)", "float32[1, 3, 9, 8] channels-last"},
    {"aten.clamp.default(%xl, none, 1.0)", "float32[1, 3, 9, 8] channels-last"},
    {"edge.aten.gt.Scalar(%xl, 0)", "bool[1, 3, 9, 8] channels-last"},
    {"edge.aten.where.self(%cond, %xl, %row)", "float32[1, 3, 9, 8] channels-last"},
    {"edge.aten.where.self(%cond, %row, %scalar)", "float32[9, 8]"},
};

static const struct shape_case reductions_and_products[] = {
    {"aten.mean.dim(%xl, [-1, 2])", "float32[1, 3]"},
    {"aten.mean.dim(%xl, [2, 3], true)", "float32[1, 3, 1, 1]"},
    {"aten.mean.dim(%x, none)", "float32[]"},
    {"aten.mean.dim(%i, [1], dtype=float32)", "float32[1, 9, 8]"},
    {"aten.softmax.int(%mt, -1)", "float32[4, 6]"},
    {"edge.aten._softmax.default(%xl, 1, false)", "float32[1, 3, 9, 8]"},
    {"aten.linear.default(%m, %fc, %c5)", "float32[4, 5]"},
    {"aten.linear.default(%c6, %fc)", "float32[5]"},
    {"aten.addmm.default(%c5, %m, %n)", "float32[4, 5]"},
    {"edge.aten.mm.default(%mt, %n)", "float32[4, 5]"},
    {"aten.sum.default(%i)", "int64[]"},
    {"aten.sum.dim_IntList(%xl, [1], true)", "float32[1, 1, 9, 8]"},
    {"aten.amax.default(%x)", "float32[]"},
    {"aten.layer_norm.default(%xl, [9, 8])", "float32[1, 3, 9, 8]"},
    {"aten.native_layer_norm.default(%x, [8], none, none, 1e-05)",
     "float32[1, 3, 9, 8], float32[1, 3, 9, 1], float32[1, 3, 9, 1]"},
    {"aten.rms_norm.default(%x, [8])", "float32[1, 3, 9, 8]"},
    {"aten.group_norm.default(%xl, 3)", "float32[1, 3, 9, 8] channels-last"},
    {"edge.aten.native_group_norm.default(%xl, none, none, 1, 3, 72, 1, 1e-05)",
     "float32[1, 3, 9, 8], float32[1, 1], float32[1, 1]"},
    {"aten.argmax.default(%x, -1, true)", "int64[1, 3, 9, 1]"},
    {"aten.argmin.default(%x)", "int64[]"},
    {"aten.any.dims(%x, [0, 2])", "bool[3, 8]"},
    {"aten.prod.dim_int(%i, 1)", "int64[1, 9, 8]"},
    {"aten.var.correction(%x, [1], keepdim=true)", "float32[1, 1, 9, 8]"},
    {"aten.cumsum.default(%i, 1)", "int64[1, 3, 9, 8]"},
    {"aten.cumsum.default(%xl, 1)", "float32[1, 3, 9, 8]"},
    {"aten.amin.default(%xl, [-1])", "float32[1, 3, 9]"},
    {"aten.bmm.default(%x1, %batch2)", "float32[2, 3, 4]"},
    {"aten.matmul.default(%x1, %batch)", "float32[2, 3, 4]"},
    {"aten.matmul.default(%x1, %c10)", "float32[2, 3]"},
    {"aten.matmul.default(%c6, %n)", "float32[5]"},
    {"aten.matmul.default(%c6, %c6)", "float32[]"},
};

static const struct shape_case views_and_copies[] = {
    {"aten.view.default(%x, [3, -1])", "float32[3, 72]"},
    {"aten.view.default(%xl, [1, 3, 72])", "float32[1, 3, 72] channels-last"},
    {"aten.view.default(%xl, [3, 72])", "float32[3, 72] dim-order(1, 0)"},
    {"aten.view.default(%scalar, [1, 1])", "float32[1, 1]"},
    {"aten.view.default(%empty, [-1, 2])", "float32[0, 2]"},
    {"aten.reshape.default(%xl, [3, 72])", "float32[3, 72] dim-order(1, 0)"},
    {"aten.reshape.default(%xl, [1, 72, 3])", "float32[1, 72, 3]"},
    {"aten.flatten.using_ints(%xl, 1)", "float32[1, 216]"},
    {"aten.flatten.using_ints(%xl, 2)", "float32[1, 3, 72] channels-last"},
    {"aten.flatten.using_ints(%x)", "float32[216]"},
    {"aten.flatten.using_ints(%scalar)", "float32[1]"},
    {"edge.aten.view_copy.default(%xl, [1, 3, 72])", "float32[1, 3, 72]"},
    {"edge.aten.permute_copy.default(%xl, [0, 2, 3, -3])", "float32[1, 9, 8, 3]"},
    {"aten.clone.default(%xl)", "float32[1, 3, 9, 8] channels-last"},
    {"aten.clone.default(%xl, memory_format=contiguous)", "float32[1, 3, 9, 8]"},
    {"aten.clone.default(%x, memory_format=channels-last)", "float32[1, 3, 9, 8] channels-last"},
    {"aten.contiguous.default(%xl)", "float32[1, 3, 9, 8]"},
    {"aten.contiguous.default(%onel)", "float32[1, 1, 9, 8] channels-last"},
    {"aten.to.dtype_layout(%xl, dtype=float16)", "float16[1, 3, 9, 8] channels-last"},
    {"edge.dim_order_ops._clone_dim_order.default(%x, dim_order=[0, 2, 3, 1])", "float32[1, 3, 9, 8] channels-last"},
    {"edge.dim_order_ops._to_dim_order_copy.default(%xl, dtype=int8, dim_order=[0, 1, 2, 3])", "int8[1, 3, 9, 8]"},
    {"aten.pad.default(%xl, [1, 2, 3, 4])", "float32[1, 3, 16, 11] channels-last"},
    {"aten.pad.default(%xl, [-1, -1])", "float32[1, 3, 9, 6] channels-last"},
    {"edge.aten.constant_pad_nd.default(%x, [0, 0, 0, 0, 1, 1])", "float32[1, 5, 9, 8]"},
};

static const struct shape_case recurrence[] = {
    {"aten.gru.input(%seq, %h, [%wi, %wh, %wb, %wb, %wi, %wh, %wb, %wb], true, 1, 0.0, false, true, false)",
     "float32[5, 2, 6], float32[2, 2, 3]"},
    {"aten.gru.input(%seqb, %h, [%wi, %wh, %wh, %wh], false, 2, 0.0, false, false, true)",
     "float32[2, 5, 3] dim-order(1, 0, 2), float32[2, 2, 3]"},
    {"edge.aten.gru.input(%seqb, %h, [%wi, %wh, %wi, %wh], false, 1, 0.0, false, true, true)",
     "float32[2, 5, 6], float32[2, 2, 3]"},
    {"aten.lstm.input(%seq, [%h, %h], [%li, %lh, %lb, %lb, %li, %lh, %lb, %lb], true, 1, 0.0, false, true, false)",
     "float32[5, 2, 6], float32[2, 2, 3], float32[2, 2, 3]"},
    {"aten.lstm.input(%seqb, [%hp, %h], [%li, %lp, %lr, %lp, %lp, %lr], false, 2, 0.0, false, false, true)",
     "float32[2, 5, 2] dim-order(1, 0, 2), float32[2, 2, 2], float32[2, 2, 3]"},
    {"aten.rnn_relu.input(%seq, %h, [%rnn, %rnnh, %rnnh, %rnnh], false, 2, 0.0, false, false, false)",
     "float32[5, 2, 3], float32[2, 2, 3]"},
};

static const struct shape_case dimensions[] = {
    {"aten.permute.default(%x, [0, 2, 3, 1])", "float32[1, 9, 8, 3] dim-order(0, 3, 1, 2)"},
    {"aten.permute.default(%xl, [0, 2, -1, 1])", "float32[1, 9, 8, 3]"},
    {"aten.transpose.int(%m, 0, -1)", "float32[6, 4] dim-order(1, 0)"},
    {"aten.t.default(%mt)", "float32[6, 4]"},
    {"aten.t.default(%row)", "float32[8]"},
    {"aten.squeeze.default(%point)", "float32[3]"},
    {"aten.squeeze.dim(%x, 1)", "float32[1, 3, 9, 8]"},
    {"aten.squeeze.dims(%xl, [0, 1])", "float32[3, 9, 8] dim-order(1, 2, 0)"},
    {"aten.unsqueeze.default(%m, -1)", "float32[4, 6, 1]"},
    {"aten.unsqueeze.default(%m, -3)", "float32[1, 4, 6]"},
    {"edge.aten.squeeze_copy.dims(%xl, [0])", "float32[3, 9, 8]"},
    {"edge.aten.unsqueeze_copy.default(%mt, 1)", "float32[4, 1, 6]"},
    {"edge.aten.expand_copy.default(%row, [2, -1])", "float32[2, 8]"},
    {"edge.aten.expand_copy.default(%pointl, [4, 3, 9, -1])", "float32[4, 3, 9, 1]"},
    {"edge.aten.as_strided_copy.default(%m, [2, 3], [6, 2], 1)", "float32[2, 3]"},
    {"edge.aten.alias_copy.default(%xl)", "float32[1, 3, 9, 8] channels-last"},
    {"aten.alias.default(%xl)", "float32[1, 3, 9, 8] channels-last"},
};

static const struct shape_case parts[] = {
    {"aten.slice.Tensor(%x, 1, 1)", "float32[1, 2, 9, 8]"},
    {"aten.slice.Tensor(%xl, 1, -2, 9223372036854775807)", "float32[1, 2, 9, 8] channels-last"},
    {"aten.slice.Tensor(%x, 3, -100, 100, 3)", "float32[1, 3, 9, 3]"},
    {"aten.slice.Tensor(%x, -2, 5, 2)", "float32[1, 3, 0, 8]"},
    {"edge.aten.slice_copy.Tensor(%xl, 1, none, -1)", "float32[1, 2, 9, 8]"},
    {"aten.select.int(%x, 1, -3)", "float32[1, 9, 8]"},
    {"aten.diagonal.default(%x, 2, 1, 2)", "float32[1, 8, 3] channels-last"},
    {"aten.diagonal.default(%x, -9, 2, 3)", "float32[1, 3, 0]"},
    {"edge.aten.unfold_copy.default(%x, 2, 4, 3)", "float32[1, 3, 2, 8, 4]"},
    {"aten.flip.default(%xl, [1, -1])", "float32[1, 3, 9, 8] channels-last"},
    {"aten.repeat.default(%m, [2, 1, 3])", "float32[2, 4, 18]"},
    {"edge.aten.slice_scatter.default(%xl, %part, 2, 7)", "float32[1, 3, 9, 8] channels-last"},
    {"edge.aten.copy.default(%xl, %row)", "float32[1, 3, 9, 8] channels-last"},
    {"aten.split.Tensor(%m, 4, 1)", "float32[4, 4], float32[4, 2]"},
    {"aten.split_with_sizes.default(%xl, [1, 2], 1)",
     "float32[1, 1, 9, 8] channels-last, float32[1, 2, 9, 8] channels-last"},
    {"aten.chunk.default(%x1, 4, 2)", "float32[2, 3, 3], float32[2, 3, 3], float32[2, 3, 3], float32[2, 3, 1]"},
    {"aten.chunk.default(%m, 5, 1)", "float32[4, 2], float32[4, 2], float32[4, 2]"},
    {"aten.chunk.default(%empty, 2)", "float32[0, 4], float32[0, 4]"},
    {"edge.aten.split_with_sizes_copy.default(%xl, [3], 1)", "float32[1, 3, 9, 8]"},
    {"aten.cat.default([%xl, %xl], 1)", "float32[1, 6, 9, 8] channels-last"},
    {"aten.cat.default([%x, %xl], -3)", "float32[1, 6, 9, 8]"},
    {"aten.cat.default([%nothing, %m, %m])", "float32[8, 6]"},
    {"edge.aten.index.Tensor(%m, [%ix])", "float32[3, 6]"},
    {"aten.index_select.default(%xl, 2, %ix)", "float32[1, 3, 3, 8]"},
    {"aten.index_select.default(%m, -1, %i64)", "float32[4, 1]"},
    {"aten.embedding.default(%fc, %ix)", "float32[3, 6]"},
    {"aten.gather.default(%c6, 0, %ix)", "float32[3]"},
    {"aten.scatter.value(%c6, 0, %ix, 1)", "float32[6]"},
    {"aten.scatter.src(%c6, 0, %ix, %c5)", "float32[6]"},
    {"aten.masked_scatter.default(%x, %cond, %row)", "float32[1, 3, 9, 8]"},
    {"aten.index_put.default(%m, [none, %ix], %c3, true)", "float32[4, 6]"},
    {"aten.select_scatter.default(%m, %c6, 0, -1)", "float32[4, 6]"},
    {"edge.aten.index.Tensor(%x, [none, none, %ix, %ix1])", "float32[1, 3, 3]"},
    {"edge.aten.index.Tensor(%x, [%ix1, none, %ix])", "float32[3, 3, 8]"},
    {"edge.aten.index.Tensor(%mt, [none, %ix])", "float32[4, 3]"},
};

static const struct shape_case creation[] = {
    {"aten.zeros.default([2, 3])", "float32[2, 3]"},
    {"aten.zeros.default([], dtype=int8)", "int8[]"},
    {"edge.aten.arange.start_step(0, 7, 2)", "int64[4]"},
    {"edge.aten.arange.start_step(0, 1, 0.3)", "float32[4]"},
    {"edge.aten.arange.start_step(3, -3, -2, dtype=int32)", "int32[3]"},
    {"edge.dim_order_ops._empty_dim_order.default([1, 2, 3, 3], dim_order=[0, 2, 3, 1])",
     "float32[1, 2, 3, 3] channels-last"},
    {"aten.to.dtype(%xl, int8)", "int8[1, 3, 9, 8] channels-last"},
    {"aten.to.dtype(%xl, float16, memory_format=contiguous)", "float16[1, 3, 9, 8]"},
};

static const struct shape_case quantization[] = {
    {"quantized_decomposed.quantize_per_tensor.default(%xl, 0.5, 0, -128, 127, int8)",
     "int8[1, 3, 9, 8] channels-last"},
    {"quantized_decomposed.dequantize_per_tensor.default(%i, 0.5, 0, -128, 127, int8)", "float32[1, 3, 9, 8]"},
    {"quantized_decomposed.dequantize_per_tensor.default(%i, 0.5, 0, -128, 127, int8, out_dtype=float16)",
     "float16[1, 3, 9, 8]"},
    {"quantized_decomposed.quantize_per_channel.default(%x, %c3, %z3, 1, -128, 127, int16)", "int16[1, 3, 9, 8]"},
    {"quantized_decomposed.dequantize_per_channel.default(%i, %c3, none, -3, -128, 127, int8)", "float32[1, 3, 9, 8]"},
};

static const struct shape_case refusals[] = {
    {"aten.select.int(%x, 1, 3)", "index 3 is not in dimension 1"},
    {"aten.diagonal.default(%x, 0, 1, -3)", "have no diagonal"},
    {"aten.unfold.default(%x, 2, 10, 1)", "windows of 10 elements"},
    {"aten.flip.default(%x, [0, 0])", "dimension 0 is named twice"},
    {"aten.repeat.default(%x, [2])", "1 numbers of repetitions"},
    {"aten.conv2d.default(%x, %dw)", "the input float32[1, 3, 9, 8] has 3 channels"},
    {"aten.conv2d.default(%x, %w, %c5)", "bias float32[5] does not have 6 elements"},
    {"aten.conv2d.default(%i, %w)", "the input is int8, the weight float32"},
    {"aten.conv2d.default(%x, %w, none, [0, 1])", "0 is below 1"},
    {"aten.conv2d.default(%x, %w, none, [1, 1], [0, 0], [5, 1])", "does not fit the padded input"},
    {"aten.conv2d.default(%x, %w, none, [1, 1, 1])", "a list of 3 numbers"},
    {"aten.conv2d.default(%x, %w, none, [1, 1], [2147483647, 2147483647])", "more than 2147483647 elements"},
    {"aten.conv2d.default(%x, %w, none, [1, 1], [9000000000, 0])", "does not fit 32 bits"},
    {"aten.conv2d.default(%x, %w, none, [1, 1], [0, 0], [1, 1], 0)", "groups is 0"},
    {"aten.max_pool2d.default(%x, [2, 2], [2, 2], [2, 2])", "no pooling window"},
    {"aten.max_pool2d.default(%x, [10, 2])", "does not fit the padded input of 9"},
    {"aten.max_pool2d.default(%m, [2, 2])", "rank 2"},
    {"aten.adaptive_avg_pool2d.default(%x, [0, 1])", "output_size is 0 x 1"},
    {"aten.batch_norm.default(%x, %c6, %c3, %c3, %c3, false, 0.1, 1e-05, false)", "float32[6] for 3 channels"},
    {"aten.add.Tensor(%m, %n)", "do not broadcast"},
    {"aten.add.Tensor(%big, %point)", "more than 2147483647 elements"},
    {"aten.mean.dim(%x, [4])", "dimension 4 does not exist in a tensor of rank 4"},
    {"aten.mean.dim(%x, [1, -3])", "dimension 1 is reduced twice"},
    {"aten.mean.dim(%i, [1])", "the mean of int8"},
    {"aten.linear.default(%m, %n)", "do not fit each other"},
    {"edge.aten.mm.default(%n, %m)", "cannot be multiplied"},
    {"aten.view.default(%xl, [216])", "cannot be viewed as float32[216] without a copy: use reshape"},
    {"aten.view.default(%x, [-1, -1])", "size -1 at position 1"},
    {"aten.view.default(%x, [5, -1])", "cannot have the sizes"},
    {"aten.view.default(%empty, [0, -1])", "cannot have the sizes"},
    {"edge.aten.permute_copy.default(%x, [0, 1, 2, 2])", "dimension 2 is named twice"},
    {"edge.dim_order_ops._clone_dim_order.default(%x, dim_order=[0, 1])", "dim_order has 2 entries"},
    {"aten.clone.default(%m, memory_format=channels-last)", "rank 2; it expects 4"},
    {"aten.pad.default(%x, [1])", "1 pad numbers"},
    {"aten.pad.default(%x, [-4, -4])", "leaves nothing of dimension 3"},
    {"quantized_decomposed.dequantize_per_tensor.default(%i, 0.5, 0, 0, 255, uint8)",
     "the input is int8, the operator states uint8"},
    {"quantized_decomposed.dequantize_per_channel.default(%i, %c6, none, 1, -128, 127, int8)",
     "float32[6] holds parameters for 3 channels"},
    {"getitem(%x, 0)", "'x' has no item 0"},
    {"aten.conv2d.padding(%x, %w, none, [2, 2], \"same\")", "goes with stride 1 only, not 2"},
    {"aten.conv2d.padding(%x, %w, none, [1, 1], \"full\")", "neither \"same\" nor \"valid\""},
    {"aten.conv1d.default(%x, %w)", "rank 4 instead of 3"},
    {"aten.conv_transpose2d.input(%x, %wt, none, [2, 2], [0, 0], [2, 1])", "output_padding 2 is not below"},
    {"aten.max_pool1d.default(%x1, [3, 2])", "a list of 2 numbers is given for 1 spatial dimensions"},
    {"aten.upsample_nearest2d.vec(%x, [4, 4], [2.0, 2.0])", "either two output sizes or two scale factors"},
    {"aten.upsample_nearest2d.vec(%x, none, [nan, 2.0])", "cannot be scaled by nan"},
    {"aten.upsample_nearest2d.vec(%x, none, [1e30, 2.0])", "cannot be scaled by 1e+30"},
    {"aten.upsample_nearest2d.vec(%x, none, [0.1, 2.0])", "cannot be scaled by 0.1"},
    {"aten.add_.Tensor(%row, %xl)", "does not fit into self, float32[8]"},
    {"aten.add_.Tensor(%i, %x)", "does not fit into self, int8"},
    {"aten.prelu.default(%x, %c5)", "holds slopes for 3 channels"},
    {"edge.aten.where.self(%x, %x, %x)", "the condition is float32"},
    {"aten.amax.default(%empty)", "has no largest or smallest element"},
    {"aten.argmax.default(%x, 4)", "dimension 4 does not exist"},
    {"aten.var.correction(%i)", "the variance of int8 is not defined"},
    {"aten.layer_norm.default(%x, [9])", "normalized dimension 0 is 9"},
    {"aten.layer_norm.default(%x, [])", "0 dimensions of float32[1, 3, 9, 8] are normalized"},
    {"aten.layer_norm.default(%x, [8], %x)", "is applied to float32[8]"},
    {"aten.group_norm.default(%x, 2)", "3 channels are not divided by 2 groups"},
    {"aten.group_norm.default(%x, 3, %x)", "is applied to 3 channels"},
    {"aten.native_group_norm.default(%x, none, none, 2, 3, 72, 1, 1e-05)", "states another batch"},
    {"aten.bmm.default(%x1, %batch)", "cannot be multiplied"},
    {"aten.matmul.default(%scalar, %m)", "cannot be multiplied"},
    {"aten.gru.input(%seq, %h, [%wi, %wh], false, 2, 0.0, false, false, false)", "2 parameters are given, 4"},
    {"aten.gru.input(%seq, %h, [%wi, %wi, %wh, %wh], false, 2, 0.0, false, false, false)",
     "weight 1 is float32[9, 4] instead of [9, 3]"},
    {"aten.lstm.input(%seq, [%h], [%li, %lh, %li, %lh], false, 1, 0.0, false, true, false)", "1 states are given, 2"},
    {"aten.lstm.input(%seq, [%h, %seq], [%li, %lh, %li, %lh], false, 1, 0.0, false, true, false)", "the cell state"},
    {"aten.lstm.input(%seq, [%hp, %h], [%li, %lp, %li, %lp], false, 1, 0.0, false, true, false)",
     "4 parameters are given, 6"},
    {"aten.lstm.input(%seq, [%hp, %h], [%li, %lp, %lp, %li, %lp, %lr], false, 1, 0.0, false, true, false)",
     "weight 2 is float32[12, 2] instead of [2, 3]"},
    {"aten.rnn_tanh.input(%seq, %h, [%wi, %wh], false, 1, 0.0, false, true, false)", "parameters are given"},
    {"aten.t.default(%x)", "rank 4"},
    {"aten.squeeze.dims(%x, [0, -4])", "dimension 0 is named twice"},
    {"aten.unsqueeze.default(%m, 3)", "dimension 3 does not exist"},
    {"edge.aten.expand_copy.default(%row, [2, 9])", "cannot become 9"},
    {"edge.aten.expand_copy.default(%row, [-1, 8])", "has a negative size"},
    {"edge.aten.as_strided_copy.default(%m, [4, 6], [7, 1])", "beyond the 24 elements"},
    {"edge.aten.as_strided_copy.default(%m, [4], [-1])", "stride -1 is negative"},
    {"aten.slice.Tensor(%x, 0, 0, 1, 0)", "the step 0 is not positive"},
    {"aten.slice.Tensor(%scalar)", "a scalar cannot be sliced"},
    {"edge.aten.slice_scatter.default(%x, %part, 2, 6)", "the slice float32[1, 3, 3, 8]"},
    {"edge.aten.copy.default(%row, %x)", "cannot be copied to"},
    {"aten.split.Tensor(%m, 0)", "parts of 0 elements"},
    {"aten.split.Tensor(%big, 1, 2)", "40000 parts are asked for"},
    {"aten.chunk.default(%m, 0)", "0 chunks are asked for"},
    {"aten.split_with_sizes.default(%m, [1, 2])", "not as long as dimension 0"},
    {"aten.split_with_sizes.default(%m, [5, -1])", "has a negative size"},
    {"aten.cat.default([])", "the list of tensors is empty"},
    {"aten.cat.default([%m, %n])", "cannot be put together along dimension 0"},
    {"edge.aten.index.Tensor(%m, [%m])", "an index is float32"},
    {"edge.aten.index.Tensor(%m, [none])", "there is no index"},
    {"aten.index_select.default(%m, 0, %row)", "an index is float32"},
    {"aten.embedding.default(%row, %ix)", "rows of float32[8]"},
    {"aten.gather.default(%m, 0, %ix)", "does not fit float32[4, 6]"},
    {"aten.scatter.src(%c6, 0, %ix, %scalar)", "has no value for each index"},
    {"aten.masked_scatter.default(%m, %m, %m)", "the mask is not bool"},
    {"aten.index_put.default(%m, [none, %ix], %c5, false)", "does not broadcast to float32[4, 3]"},
    {"aten.select_scatter.default(%m, %c5, 0, 0)", "does not fit index 0"},
    {"aten.topk.default(%row, 9)", "9 of 8 elements"},
    {"aten.sort.default(%row, 1)", "dimension 1 does not exist"},
    {"edge.aten.arange.start_step(0, 7, 0)", "no range leads"},
    {"edge.aten.arange.start_step(0, 7, -1)", "no range leads"},
    {"aten.zeros.default([40000, 40000, 2])", "more than 2147483647 elements"},
};

static void check_refusal(struct nuc_context *cx, void *arg)
{
    const struct shape_case *c = arg;
    struct inference r = {NULL, NULL, NULL};
    enum nuc_status status = run_rule(cx, c->call, &r);

    if (status != NUC_BAD_INPUT || strstr(cx->message, c->value) == NULL)
        fail_msg("%s: status %d, %s", c->call, (int)status, cx->message);
    assert_non_null(strstr(cx->message, "case: node 'y'"));
}

/* Every operator has a rule: it fails for want of arguments, not for want of a rule. */
static void every_operator_has_a_rule(void **state)
{
    (void)state;
    for (unsigned op = 0; op < NUC_OP_COUNT; op++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        struct inference r = {nuc_graph_new(cx, "case"), NULL, NULL};
        r.node = nuc_add_node(r.g, NULL, (enum nuc_op)op, "y");
        if (nuc_try(cx, infer, &r) == NUC_INTERNAL)
            fail_msg("%s", cx->message);
        nuc_context_free(cx);
    }
}

/* Strides and what Tensor.dim_order() returns for them. */
static void dim_orders_of_strides(void **state)
{
    static const struct {
        uint32_t rank;
        int64_t sizes[4], strides[4];
        uint8_t order[4];
    } cases[] = {
        {4, {1, 3, 9, 8}, {216, 72, 8, 1}, {0, 1, 2, 3}},
        {4, {1, 3, 9, 8}, {216, 1, 24, 3}, {0, 2, 3, 1}},
        {4, {16, 1, 3, 3}, {9, 9, 3, 1}, {0, 1, 2, 3}},
        {4, {16, 1, 3, 3}, {9, 1, 3, 1}, {0, 2, 3, 1}},
        {4, {1, 64, 1, 1}, {64, 1, 64, 64}, {0, 2, 3, 1}},
        {4, {1, 64, 1, 1}, {64, 1, 1, 1}, {0, 1, 2, 3}},
        {4, {1, 1, 1, 1}, {1, 1, 1, 1}, {0, 1, 2, 3}},
        {3, {1, 3, 4}, {4, 4, 1}, {0, 1, 2}},
        {3, {1, 8, 16}, {128, 1, 8}, {0, 2, 1}},
        {2, {4, 6}, {1, 4}, {1, 0}},
        {2, {4, 6}, {0, 1}, {0, 1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t order[NUC_MAX_RANK];
        nuc_dim_order_of_strides(cases[i].sizes, cases[i].strides, cases[i].rank, order);
        assert_memory_equal(order, cases[i].order, cases[i].rank);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW_TEST(check_shape, convolution),
        ROW_TEST(check_shape, convolution_forms),
        ROW_TEST(check_shape, pooling_and_upsampling),
        ROW_TEST(check_shape, recurrence),
        ROW_TEST(check_shape, dimensions),
        ROW_TEST(check_shape, parts),
        ROW_TEST(check_shape, creation),
        ROW_TEST(check_shape, normalization_and_pooling),
        ROW_TEST(check_shape, elementwise),
        ROW_TEST(check_shape, reductions_and_products),
        ROW_TEST(check_shape, views_and_copies),
        ROW_TEST(check_shape, quantization),
        ROW_TEST(check_refusal, refusals),
        cmocka_unit_test(every_operator_has_a_rule),
        cmocka_unit_test(dim_orders_of_strides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
