/*
 * Results over inputs in programs for a Cortex-M: networks whose plan is smaller so give the bytes that they give with
 * memory apart.
 */
#include "cpu/cortexm.h"
#include "npu/target/target.h"
#include "program_graphs.h"
#include "quantized_text.h"

/* An image of 8 channels becomes one of 64 and 8 again, so that the peak is in what `lines` do between. */
struct net {
    const char *what;
    int64_t sizes[2], taps; /* of the image; of the depthwise weight, which is %w */
    const char *kernel, *lines;
    bool smaller;
};

#define DEPTHWISE(name, input, stride, padding, dilation)                                                              \
    "%" name " = edge.aten.convolution.default(%d" input ", %dw, none, [" stride "], [" padding "], [" dilation        \
    "], false, [0, 0], 64) ! 0.125, 5\n"

static const struct net nets[] = {
    {"padding all around", {9, 11}, 9, "3, 3", DEPTHWISE("y", "e", "1, 1", "1, 1", "1, 1"), true},
    {"two in a row, with a stride",
     {10, 12},
     9,
     "3, 3",
     DEPTHWISE("a", "e", "2, 2", "1, 1", "1, 1") DEPTHWISE("y", "a", "1, 1", "1, 1", "1, 1"),
     true},
    {"dilation", {9, 11}, 9, "3, 3", DEPTHWISE("y", "e", "1, 1", "2, 2", "2, 2"), true},
    {"no padding, a stride beyond the kernel", {12, 12}, 4, "2, 2", DEPTHWISE("y", "e", "3, 3", "0, 0", "1, 1"), true},
    {"wide rows", {4, 150}, 9, "3, 3", DEPTHWISE("y", "e", "1, 1", "1, 1", "1, 1"), true},
    {"the image is read once more",
     {9, 11},
     9,
     "3, 3",
     DEPTHWISE("a", "e", "1, 1", "1, 1", "1, 1") "%y = edge.aten.add.Tensor(%da, %de) ! 0.25, 5\n",
     true},
    {"a larger result", {9, 11}, 9, "3, 3", DEPTHWISE("y", "e", "1, 1", "2, 2", "1, 1"), false},
    {"a table and a difference of it",
     {9, 11},
     9,
     "3, 3",
     "%a = edge.aten.tanh.default(%de) ! 0.0078125, 0\n%y = edge.aten.sub.Tensor(%da, %de) ! 0.125, 5\n",
     true},
    {"a table", {9, 11}, 9, "3, 3", "%y = edge.aten.tanh.default(%de) ! 0.0078125, 0\n", true},
};

static const char *weights(struct nuc_context *cx, const char *name, const char *shape, int64_t count)
{
    const char *text = nuc_format(cx, "%%%s = parameter : int8[%s] values(", name, shape);

    for (int64_t i = 0; i < count; i++)
        text = nuc_format(cx, "%s%s%d", text, i == 0 ? "" : ", ", (int)((i * 37 + 11) % 27) - 13);
    return nuc_format(cx, "%s) ! 0.0625, 0, -127, 127, int8\n", text);
}

static struct nuc_graph *graph_of(struct nuc_context *cx, const struct net *net)
{
    const struct nuc_cortexm_options options = {.cpu = nuc_target_find(cx, "cortex-m33")->cpu};
    struct nuc_graph *g = parse_quantized(
        cx, nuc_format(cx,
                       "%s%s%s%%x = input : float32[1, 8, %d, %d] channels-last ! 0.0625, -3\n"
                       "%%e = edge.aten.convolution.default(%%dx, %%dv, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)"
                       " ! 0.125, -7\n%s"
                       "%%z = edge.aten.convolution.default(%%dy, %%du, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)"
                       " ! 0.25, 1\n",
                       weights(cx, "v", "64, 8, 1, 1", 512), weights(cx, "u", "8, 64, 1, 1", 512),
                       weights(cx, "w", nuc_format(cx, "64, 1, %s", net->kernel), 64 * net->taps), (int)net->sizes[0],
                       (int)net->sizes[1], net->lines));

    nuc_cortexm_lower(g, &options);
    return g;
}

/* The output of one execution. */
static struct nuc_tensor run(struct nuc_context *cx, struct test_program *p, struct nuc_span file)
{
    struct nuc_tensor in, out;

    test_load(cx, p, file, NULL);
    assert_int_equal(p->status, NUC_OK);
    assert_int_equal(nuc_program_input_info(&p->program, 0, &in), NUC_OK);
    float *values = nuc_alloc(cx, in.bytes);
    for (size_t i = 0; i < in.bytes / sizeof *values; i++)
        values[i] = (float)((int)(i * 29 % 201) - 100) / 16;
    assert_int_equal(nuc_program_set_input(&p->program, 0, values, in.bytes, NULL), NUC_OK);
    assert_int_equal(nuc_program_execute(&p->program, &p->detail), NUC_OK);
    assert_int_equal(nuc_program_output(&p->program, 0, &out), NUC_OK);
    return out;
}

static void same_bytes(struct nuc_context *cx, void *arg)
{
    const struct net *net = arg;
    const struct nuc_program_options apart = {.method = NULL}, over = {.in_place = true};
    struct test_program a, b;
    struct nuc_tensor expected = run(cx, &a, nuc_write_program(graph_of(cx, net), &apart));
    struct nuc_tensor got = run(cx, &b, nuc_write_program(graph_of(cx, net), &over));

    assert_int_equal(got.bytes, expected.bytes);
    if (memcmp(got.data, expected.data, got.bytes) != 0)
        fail_msg("%s: other bytes in place", net->what);
    if ((b.sizes.planned[0] < a.sizes.planned[0]) != net->smaller || b.sizes.planned[0] > a.sizes.planned[0])
        fail_msg("%s: %zu bytes in place, %zu apart", net->what, b.sizes.planned[0], a.sizes.planned[0]);
}

RUN_TESTS(ROW_TEST(same_bytes, nets))
