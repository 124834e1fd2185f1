/* Operators from graph to result: written as a program, loaded, run, and compared with values computed by hand. */
#include "back/program/out_variant.h"
#include "eval/eval.h"
#include "program_graphs.h"

#include <math.h>

/* ---- the table of out variants ---- */

/* What ExecuTorch's portable library has no kernel for. */
static bool has_no_kernel(enum nuc_op op)
{
    return op == NUC_OP_PRELU || op == NUC_OP_PAD || op == NUC_OP_HARDSWISH || op == NUC_OP_LINEAR ||
           op == NUC_OP_NUCLEON_PERMUTE_VIEW || op == NUC_OP_NUCLEON_ROWS_VIEW ||
           op == NUC_OP_NUCLEON_JOINED_ROWS; /* no instruction */
}

static void check_every_operator(struct nuc_context *cx, void *user)
{
    (void)user;
    for (int op = 0; op < NUC_OP_COUNT; op++) {
        const char *name = nuc_op_name((enum nuc_op)op, NUC_EDGE);
        struct nuc_out_variant variant = nuc_out_variant(cx, (enum nuc_op)op);
        enum nuc_op_kind kind = nuc_op_kind((enum nuc_op)op);
        bool wanted = strncmp(name, "edge.", 5) == 0 || kind == NUC_KIND_QUANT || kind == NUC_KIND_DEQUANT;
        char full[100];
        if ((variant.name != NULL) != (wanted && !has_no_kernel((enum nuc_op)op)))
            fail_msg("%s", name);
        if (variant.name == NULL)
            continue;
        assert_true(strlen(variant.name) + strlen(variant.overload) < sizeof full - 1);
        strcpy(full, variant.name);
        strcat(full, ".");
        strcat(full, variant.overload);
        if (nuc_kernel_find(&nuc_default_kernels, full) == NULL)
            fail_msg("no kernel for %s, out variant of %s", full, name);
    }
}

/* ---- operators ---- */

/* One input of float32, one output; text is the graph between them, from %x to %y. */
static const struct op_row {
    const char *what;
    const char *text;
    float in[8];
    uint32_t n_out;
    float expected[16];
} rows[] = {
    {"gelu",
     "%x = input : float32[2]; %y = edge.aten.gelu.default(%x, approximate=\"none\")",
     {0, INFINITY},
     2,
     {0, INFINITY}},
    {"gt, where",
     "%x = input : float32[1, 4]; %c = edge.aten.gt.Scalar(%x, 1); %n = edge.aten.neg.default(%x)\n"
     "%y = edge.aten.where.self(%c, %x, %n)",
     {0.5f, 1, 2, -3},
     4,
     {-0.5f, -1, 2, 3}},
    {"arange, clamp, index: replicated border",
     "%x = input : float32[2, 3]; %a = edge.aten.arange.start_step(-1, 4, 1, dtype=int64)\n"
     "%c = edge.aten.clamp.default(%a, 0, 2); %y = edge.aten.index.Tensor(%x, [none, %c])",
     {1, 2, 3, 4, 5, 6},
     10,
     {1, 1, 2, 3, 3, 4, 4, 5, 6, 6}},
    {"abs, sub of positions: reflected border",
     "%two = constant : int64[] values(2); %x = input : float32[3]\n"
     "%a = edge.aten.arange.start_step(-2, 5, 1, dtype=int64); %b = edge.aten.abs.default(%a)\n"
     "%c = edge.aten.sub.Tensor(%two, %b); %d = edge.aten.abs.default(%c)\n"
     "%e = edge.aten.sub.Tensor(%two, %d); %y = edge.aten.index.Tensor(%x, [%e])",
     {1, 2, 3},
     7,
     {3, 2, 1, 2, 3, 2, 1}},
    {"flip of two dimensions, windows of each row",
     "%x = input : float32[2, 3]; %f = edge.aten.flip.default(%x, [0, -1])\n"
     "%y = edge.aten.unfold_copy.default(%f, 1, 2, 1)",
     {1, 2, 3, 4, 5, 6},
     8,
     {6, 5, 5, 4, 3, 2, 2, 1}},
    {"flip of channels-last",
     "%x = input : float32[1, 2, 1, 2] channels-last; %y = edge.aten.flip.default(%x, [1])",
     {1, 2, 3, 4},
     4,
     {2, 4, 1, 3}},
    {"diagonals below and above the main one",
     "%x = input : float32[2, 2, 2]; %a = edge.aten.diagonal_copy.default(%x, -1, 1, 2)\n"
     "%b = edge.aten.diagonal_copy.default(%x, 1, 0, 2); %y = edge.aten.cat.default([%a, %b])",
     {0, 1, 2, 3, 4, 5, 6, 7},
     4,
     {2, 6, 1, 3}},
    {"two indices side by side",
     "%i = constant : int64[2] values(1, 0); %x = input : float32[2, 2, 2]\n"
     "%y = edge.aten.index.Tensor(%x, [none, %i, %i])",
     {0, 1, 2, 3, 4, 5, 6, 7},
     4,
     {3, 0, 7, 4}},
    {"two indices with a gap between: their dimensions come first",
     "%i = constant : int64[2] values(-1, 0); %x = input : float32[2, 2, 2]\n"
     "%y = edge.aten.index.Tensor(%x, [%i, none, %i])",
     {0, 1, 2, 3, 4, 5, 6, 7},
     4,
     {5, 7, 0, 2}},
    {"index_select and gather along the same dimension",
     "%i = constant : int64[2] values(2, 0); %j = constant : int64[2, 1] values(1, 0); %x = input : float32[2, 3]\n"
     "%a = edge.aten.index_select.default(%x, 1, %i); %y = edge.aten.gather.default(%a, 1, %j)",
     {1, 2, 3, 4, 5, 6},
     2,
     {1, 6}},
    {"gather from channels-last",
     "%j = constant : int64[1, 2, 1, 2] values(1, 0, 1, 1); %x = input : float32[1, 2, 1, 2] channels-last\n"
     "%y = edge.aten.gather.default(%x, 1, %j)",
     {1, 2, 3, 4},
     4,
     {2, 3, 2, 4}},
    {"embedding of a matrix of indices",
     "%w = constant : float32[3, 2] values(1, 2, 3, 4, 5, 6); %i = constant : int64[2, 2] values(2, 0, 1, 2)\n"
     "%x = input : float32[1]; %e = edge.aten.embedding.default(%w, %i); %y = edge.aten.mul.Tensor(%e, %x)",
     {2},
     8,
     {10, 12, 2, 4, 6, 8, 10, 12}},
    {"scatter of values and of a number",
     "%i = constant : int64[1, 3] values(1, 0, 1); %x = input : float32[2, 3]; %n = edge.aten.neg.default(%x)\n"
     "%a = edge.aten.scatter.src(%x, 0, %i, %n); %y = edge.aten.scatter.value(%a, 1, %i, 9)",
     {1, 2, 3, 4, 5, 6},
     6,
     {9, 9, 3, -1, 5, -3}},
    {"scatter_add and scatter_reduce take in each of several values",
     "%i = constant : int64[3] values(1, 1, 0); %x = input : float32[3]\n"
     "%a = edge.aten.scatter_add.default(%x, 0, %i, %x)\n"
     "%y = edge.aten.scatter_reduce.two(%a, 0, %i, %x, \"amax\", include_self=true)",
     {5, 2, 3},
     3,
     {8, 9, 3}},
    {"index_put of a broadcast value, and adding to one place twice",
     "%i = constant : int64[2] values(-1, 0); %k = constant : int64[2] values(1, 1)\n"
     "%v = constant : float32[1] values(7); %x = input : float32[2, 3]\n"
     "%a = edge.aten.index_put.default(%x, [none, %i], %v, false)\n"
     "%w = constant : float32[2, 1] values(10, 20)\n"
     "%y = edge.aten.index_put.default(%a, [%k], %w, true)",
     {1, 2, 3, 4, 5, 6},
     6,
     {7, 2, 7, 37, 35, 37}},
    {"masked_scatter",
     "%z = constant : float32[] values(2); %x = input : float32[4]; %m = edge.aten.gt.Scalar(%x, 2)\n"
     "%n = edge.aten.neg.default(%x); %y = edge.aten.masked_scatter.default(%x, %m, %n)",
     {1, 5, 2, 6},
     4,
     {1, -1, 2, -5}},
    {"select_scatter",
     "%v = constant : float32[2] values(8, 9); %x = input : float32[2, 3]\n"
     "%y = edge.aten.select_scatter.default(%x, %v, 1, -1)",
     {1, 2, 3, 4, 5, 6},
     6,
     {1, 2, 8, 4, 5, 9}},
    {"the largest of lines of another dimension",
     "%x = input : float32[3, 2]; %t = edge.aten.topk.default(%x, 2, 0, true, true); %y = getitem(%t, 0)",
     {1, 6, 3, 2, 2, 4},
     4,
     {3, 6, 2, 4}},
    {"a stable sort: places of equal values keep their order, NaN is last",
     "%x = input : float32[6]; %t = edge.aten.sort.stable(%x, stable=true, dim=0, descending=false)\n"
     "%i = getitem(%t, 1); %y = edge.dim_order_ops._to_dim_order_copy.default(%i, dtype=float32, dim_order=[0])",
     {2, 1, NAN, 1, 2, -3},
     6,
     {5, 1, 3, 0, 4, 2}},
    {"products of integers",
     "%m = constant : int64[2, 2] values(1, 2, 3, 4); %x = input : float32[2]\n"
     "%i = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=int64, dim_order=[0])\n"
     "%v = edge.aten.view_copy.default(%i, [2, 1]); %p = edge.aten.mm.default(%m, %v)\n"
     "%y = edge.dim_order_ops._to_dim_order_copy.default(%p, dtype=float32, dim_order=[0, 1])",
     {5, 6},
     2,
     {17, 39}},
    {"products of the columns",
     "%x = input : float32[2, 3]; %y = edge.aten.prod.dim_int(%x, 0)",
     {1, 2, 3, 4, 5, 6},
     3,
     {4, 10, 18}},
    {"any: NaN is not 0",
     "%x = input : float32[3, 2]; %a = edge.aten.any.dims(%x, [1])\n"
     "%y = edge.dim_order_ops._to_dim_order_copy.default(%a, dtype=float32, dim_order=[0])",
     {0, 0, NAN, 0, -1, 2},
     3,
     {0, 1, 1}},
    {"the first of the largest, NaN above all",
     "%x = input : float32[2, 3]; %a = edge.aten.argmax.default(%x, 1)\n"
     "%y = edge.dim_order_ops._to_dim_order_copy.default(%a, dtype=float32, dim_order=[0])",
     {1, 3, 3, 7, NAN, 9},
     2,
     {1, 1}},
    {"the place of the smallest of all",
     "%x = input : float32[2, 3]; %a = edge.aten.argmin.default(%x, none, true)\n"
     "%y = edge.dim_order_ops._to_dim_order_copy.default(%a, dtype=float32, dim_order=[0, 1])",
     {1, 3, 3, 0, 8, 0},
     1,
     {3}},
    {"variance, corrected",
     "%x = input : float32[2, 2]; %y = edge.aten.var.correction(%x, [1])",
     {1, 3, 2, 8},
     2,
     {2, 18}},
    {"variance, not corrected, of channels-last",
     "%x = input : float32[1, 2, 1, 2] channels-last\n"
     "%y = edge.aten.var.correction(%x, [3], correction=0)",
     {1, 3, 2, 8},
     2,
     {0.25f, 6.25f}},
    {"running sums along the rows",
     "%x = input : float32[3, 2]; %y = edge.aten.cumsum.default(%x, 0)",
     {1, 2, 3, 4, 5, 6},
     6,
     {1, 2, 4, 6, 9, 12}},
    {"sums, products, extrema and running sums of integers",
     "%x = input : float32[2, 2]\n"
     "%i = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=int32, dim_order=[0, 1])\n"
     "%c = edge.aten.cumsum.default(%i, 1); %s = edge.aten.sum.dim_IntList(%c, [1], true)\n"
     "%p = edge.aten.prod.dim_int(%i, 1, true); %d = edge.aten.cat.default([%s, %p], 1)\n"
     "%m = edge.aten.amax.default(%d, [0])\n"
     "%y = edge.dim_order_ops._to_dim_order_copy.default(%m, dtype=float32, dim_order=[0])",
     {1, 2, 3, -4},
     2,
     {4, 2}},
    {"log_softmax along the columns",
     "%x = input : float32[2, 2]; %y = edge.aten._log_softmax.default(%x, 0, false)",
     {0, 100, 0, 0},
     4,
     {-0.693147181f, 0, -0.693147181f, -100}},
    {"layer norm",
     "%w = constant : float32[2] values(2, 3); %b = constant : float32[2] values(1, 0); %x = input : float32[2, 2]\n"
     "%n = edge.aten.native_layer_norm.default(%x, [2], %w, %b, 0.0); %y = getitem(%n, 0)",
     {1, 2, 3, 7},
     4,
     {-1, 3, -1, 3}},
    {"RMS norm",
     "%w = constant : float32[2] values(2, 3); %x = input : float32[2, 2]\n"
     "%y = edge.aten.rms_norm.default(%x, [2], %w, 0.0)",
     {1, 7, -3, -3},
     4,
     {0.4f, 4.2f, -2, -3}},
    {"RMS norm of everything, without weight and eps",
     "%x = input : float32[2, 2]; %y = edge.aten.rms_norm.default(%x, [2, 2])",
     {0, 0, 0, 4},
     4,
     {0, 0, 0, 2}},
    {"group norm: groups of two channels",
     "%w = constant : float32[4] values(1, 2, 1, 1); %b = constant : float32[4] values(0, 0, 0, 5)\n"
     "%x = input : float32[1, 4, 2]\n"
     "%n = edge.aten.native_group_norm.default(%x, %w, %b, 1, 4, 2, 2, 0.0); %y = getitem(%n, 0)",
     {1, 1, 3, 3, 0, 0, 4, 4},
     8,
     {-1, -1, 2, 2, -1, -1, 6, 6}},
    {"convolution of a volume, padded along its width",
     "%w = constant : float32[1, 1, 2, 1, 2] values(1, 2, 3, 4); %x = input : float32[1, 1, 2, 2, 2]\n"
     "%y = edge.aten.convolution.default(%x, %w, none, [1, 1, 1], [0, 0, 1], [1, 1, 1], false, [0, 0, 0], 1)",
     {1, 2, 3, 4, 5, 6, 7, 8},
     6,
     {22, 44, 20, 34, 64, 28}},
    {"atan",
     "%x = input : float32[4]; %y = edge.aten.atan.default(%x)",
     {0, 1, -1, INFINITY},
     4,
     {0, 0.785398163f, -0.785398163f, 1.57079633f}},
    {"slice_scatter",
     "%x = input : float32[2, 2]; %n = edge.aten.neg.default(%x)\n"
     "%s = edge.aten.slice_copy.Tensor(%n, 1, 0, 1, 1)\n"
     "%y = edge.aten.slice_scatter.default(%x, %s, 1, 1, 2, 1)",
     {1, 2, 3, 4},
     4,
     {1, -1, 3, -3}},
    {"empty, copy",
     "%x = input : float32[2]; %e = edge.dim_order_ops._empty_dim_order.default([3, 2], dim_order=[0, 1])\n"
     "%y = edge.aten.copy.default(%e, %x)",
     {1, 2},
     6,
     {1, 2, 1, 2, 1, 2}},
    {"split_with_sizes",
     "%x = input : float32[1, 3]; %s = edge.aten.split_with_sizes_copy.default(%x, [1, 2], 1)\n"
     "%a = getitem(%s, 0); %b = getitem(%s, 1); %y = edge.aten.cat.default([%b, %a], 1)",
     {1, 2, 3},
     3,
     {2, 3, 1}},
    {"squeeze, unsqueeze: views in any dim order",
     "%x = input : float32[1, 2, 1, 2] channels-last; %a = edge.aten.squeeze_copy.dims(%x, [2])\n"
     "%r = edge.aten.relu.default(%a)\n"
     "%b = edge.dim_order_ops._clone_dim_order.default(%r, dim_order=[0, 1, 2])\n"
     "%c = edge.aten.unsqueeze_copy.default(%b, 0); %y = edge.aten.neg.default(%c)",
     {1, 2, 3, 4},
     4,
     {-1, -3, -2, -4}},
    {"squeeze to an output",
     "%x = input : float32[1, 2, 1]; %y = edge.aten.squeeze_copy.default(%x)",
     {1, 2},
     2,
     {1, 2}},
    {"as_strided",
     "%x = input : float32[4]; %y = edge.aten.as_strided_copy.default(%x, [2, 2], [1, 2], 0)",
     {1, 2, 3, 4},
     4,
     {1, 3, 2, 4}},
    {"integers to float",
     "%n = constant : int64[] values(-3); %x = input : float32[2]\n"
     "%f = edge.dim_order_ops._to_dim_order_copy.default(%n, dtype=float32, dim_order=[])\n"
     "%y = edge.aten.add.Tensor(%x, %f)",
     {1, 2},
     2,
     {-2, -1}},
    {"nearest, by factors",
     "%x = input : float32[1, 1, 1, 2]; %y = edge.aten.upsample_nearest2d.vec(%x, none, [2.0, 2.0])",
     {1, 2},
     8,
     {1, 1, 2, 2, 1, 1, 2, 2}},
    {"bilinear, by size, corners aligned",
     "%x = input : float32[1, 1, 1, 2]; %y = edge.aten.upsample_bilinear2d.vec(%x, [1, 3], true, none)",
     {1, 3},
     3,
     {1, 2, 3}},
    {"bilinear, by factors",
     "%x = input : float32[1, 1, 1, 2]; %y = edge.aten.upsample_bilinear2d.vec(%x, none, false, [1.0, 2.0])",
     {0, 4},
     4,
     {0, 1, 3, 4}},
    {"softmax along a dimension that is not innermost in memory",
     "%x = input : float32[1, 2, 1, 2] channels-last; %y = edge.aten._softmax.default(%x, 3, false)",
     {1, -1000, 1, 1000},
     4,
     {0.5f, 0.5f, 0, 1}},
};

static void check_values(const struct op_row *row, const char *by, const float *values)
{
    for (uint32_t i = 0; i < row->n_out; i++) {
        if (values[i] < row->expected[i] || values[i] > row->expected[i])
            fail_msg("%s: element %u is %g by the %s, not %g", row->what, i, (double)values[i], by,
                     (double)row->expected[i]);
    }
}

/* Evaluator and kernels compute the same. The evaluator takes values in logical order. */
static void evaluate_row(struct nuc_context *cx, const struct op_row *row)
{
    if (strstr(row->text, "channels-last") != NULL)
        return;
    struct nuc_evaluator *e = nuc_eval_new(parse_quantized(cx, row->text), 1);
    float values[16];
    const void *in = row->in;
    void *out = values;

    nuc_eval_run(e, &in, &out);
    check_values(row, "evaluator", values);
}

static void run_row(struct nuc_context *cx, void *arg)
{
    const struct op_row *row = arg;
    struct nuc_program_options o = {.method = NULL};
    struct test_program p;
    struct nuc_tensor t;

    test_load(cx, &p, nuc_write_program(parse_quantized(cx, row->text), &o), NULL);
    if (p.status != NUC_OK)
        fail_msg("%s: %s", row->what, p.detail.message);
    assert_int_equal(nuc_program_input_info(&p.program, 0, &t), NUC_OK);
    assert_int_equal(nuc_program_set_input(&p.program, 0, row->in, t.bytes, NULL), NUC_OK);
    if (nuc_program_execute(&p.program, &p.detail) != NUC_OK)
        fail_msg("%s: %s", row->what, p.detail.message);
    assert_int_equal(nuc_program_output(&p.program, 0, &t), NUC_OK);
    assert_int_equal(t.bytes, row->n_out * sizeof(float));
    check_values(row, "kernel", t.data);
    evaluate_row(cx, row);
}

/* ---- what a kernel refuses ---- */

static const struct {
    const char *text;
    const char *message;
} refused[] = {
    {"%i = constant : int64[1] values(2); %x = input : float32[2]; %y = edge.aten.index.Tensor(%x, [%i]) : float32[1]",
     "an index lies outside its dimension"},
    {"%i = constant : int64[1, 1] values(1); %x = input : float32[2]; %v = edge.aten.view_copy.default(%x, [2, 1]) : "
     "float32[2, 1]; %y = edge.aten.gather.default(%v, 1, %i) : float32[1, 1]",
     "an index lies outside its dimension"},
    {"%i = constant : int64[1] values(-1); %x = input : float32[2]; %y = edge.aten.scatter.value(%x, 0, %i, 1) : "
     "float32[2]",
     "an index lies outside its dimension"},
    {"%i = constant : int64[1] values(2); %w = constant : float32[2, 1] values(1, 2); %x = input : float32[2]; %y = "
     "edge.aten.embedding.default(%w, %i) : float32[1, 1]",
     "an index lies outside its dimension"},
    {"%i = constant : int64[1] values(2); %x = input : float32[2]; %v = constant : float32[] values(1); %y = "
     "edge.aten.index_put.default(%x, [%i], %v, false) : float32[2]",
     "an index lies outside its dimension"},
    {"%s = constant : float32[1] values(1); %x = input : float32[2]; %m = edge.aten.gt.Scalar(%x, 0) : bool[2]; %y = "
     "edge.aten.masked_scatter.default(%x, %m, %s) : float32[2]",
     "argument 'mask' chooses more elements than 'source' has"},
    {"%x = input : float32[2]; %y = edge.aten.as_strided_copy.default(%x, [2], [2], 0) : float32[2]",
     "arguments 'size', 'stride' and 'storage_offset' leave 'self' or do not fit 'out'"},
    {"%x = input : float32[2]; %y = edge.aten.gelu.default(%x, approximate=\"other\") : float32[2]",
     "argument 'approximate' is neither 'none' nor 'tanh'"},
    {"%x = input : float32[1, 1, 1, 2]; %y = edge.aten.upsample_nearest2d.vec(%x, none, [2.0, 3.0]) : float32[1, 1, 2, "
     "4]",
     "argument 'out' has the wrong height or width"},
    {"%x = input : float32[2]; %a = edge.aten.arange.start_step(0, 4, 0, dtype=int64) : int64[2]; %y = "
     "edge.aten.index.Tensor(%x, [%a]) : float32[2]",
     "argument 'out' has the wrong size"},
    {"%x = input : float32[1, 1, 1, 1, 2]; %w = constant : float32[1, 1, 1, 1, 1] values(1); %y = "
     "edge.aten.convolution.default(%x, %w, none, [1, 1, 1], [0, 0, 0], [1, 1, 1], true, [0, 0, 0], 1) : float32[1, 1, "
     "1, 1, 3]",
     "argument 'out' has the wrong depth, height or width"},
};

static void run_refused(struct nuc_context *cx, void *arg)
{
    size_t i = *(const size_t *)arg;
    static const float in[2] = {1, 2};
    struct nuc_program_options o = {.method = NULL};
    struct test_program p;

    test_load(cx, &p, nuc_write_program(parse_unverified(cx, refused[i].text), &o), NULL);
    assert_int_equal(p.status, NUC_OK);
    assert_int_equal(nuc_program_set_input(&p.program, 0, in, sizeof in, NULL), NUC_OK);
    assert_int_equal(nuc_program_execute(&p.program, &p.detail), NUC_UNSUPPORTED);
    assert_string_equal(p.detail.message, refused[i].message);
}

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        run_in_context(run_refused, &i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTEXT_TEST(check_every_operator),
        ROW_TEST(run_row, rows),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
