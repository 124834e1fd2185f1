/* What inspection says of programs ExecuTorch's runtime would refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/microcode.h"
#include "compiler/neutron/container/payload.h"
#include "compiler/report/lint_program.h"
#include "program_graphs.h"

static void run(void (*fn)(struct nuc_context *, void *))
{
    struct nuc_context *cx = nuc_context_new(NULL);

    if (nuc_try(cx, fn, NULL) != NUC_OK)
        fail_msg("%s", cx->message);
    nuc_context_free(cx);
}

static uint32_t lint(struct nuc_context *cx, struct nuc_graph *g, bool keep_order, const struct nuc_lint_finding **out)
{
    struct nuc_program_options o = {.keep_order = keep_order};
    uint32_t count;

    *out = nuc_lint_program(cx, nuc_program_view_open(cx, "test.pte", nuc_write_program(g, &o)), &count);
    return count;
}

/* x, channels-last -> operator over dimension 1 -> output. */
static struct nuc_graph *channels_last_reduction(struct nuc_context *cx)
{
    static const int64_t image[4] = {1, 2, 3, 4}, dims[1] = {1};
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    g->dialect = NUC_EDGE;
    struct nuc_meta meta = test_meta(NUC_F32, true, 4, image);
    struct nuc_node *x = nuc_add_placeholder(g, "x", NUC_USER_INPUT, &meta);
    struct nuc_node *amax = nuc_add_node(g, NULL, NUC_OP_AMAX, NULL);

    nuc_set_arg_node(amax, g, 0, x);
    nuc_set_arg_ints(amax, g, 1, dims, 1);
    nuc_set_arg_bool(amax, 2, true);
    nuc_infer_shape(g, amax);
    test_output(g, amax);
    return g;
}

static void kernels(struct nuc_context *cx, void *arg)
{
    const struct nuc_lint_finding *f;

    (void)arg;
    assert_int_equal(lint(cx, test_graph(cx, false), false, &f), 0);
    assert_int_equal(lint(cx, test_graph(cx, true), false, &f), 0);
    /* As ExecuTorch's own lowering leaves it, the kernel refuses it; a copy in front helps. */
    assert_int_equal(lint(cx, channels_last_reduction(cx), true, &f), 1);
    assert_int_equal(f[0].instruction, 0);
    assert_string_equal(f[0].what, "aten::amax");
    assert_non_null(strstr(f[0].rule, "channels-last"));
    assert_int_equal(lint(cx, channels_last_reduction(cx), false, &f), 0);
}

/* x and y, channels-last -> operator -> output, as ExecuTorch's own lowering leaves it. */
static uint32_t lint_binary(struct nuc_context *cx, const int64_t *second, const char **rule)
{
    static const int64_t image[4] = {1, 2, 3, 4};
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    g->dialect = NUC_EDGE;
    struct nuc_meta x = test_meta(NUC_F32, true, 4, image), y = test_meta(NUC_F32, true, 4, second);
    struct nuc_node *a = nuc_add_placeholder(g, "a", NUC_USER_INPUT, &x);
    struct nuc_node *b = nuc_add_placeholder(g, "b", NUC_USER_INPUT, &y);
    struct nuc_node *mul = nuc_add_node(g, NULL, NUC_OP_MUL, NULL);
    const struct nuc_lint_finding *f;

    nuc_set_arg_node(mul, g, 0, a);
    nuc_set_arg_node(mul, g, 1, b);
    nuc_set_val(g, mul, &x);
    test_output(g, mul);
    uint32_t count = lint(cx, g, true, &f);
    *rule = count > 0 ? f[0].rule : "";
    return count;
}

/* Kernels take channels-last tensors, but compute the offsets of a broadcast operand as of contiguous ones. */
static void broadcasts(struct nuc_context *cx, void *arg)
{
    static const int64_t image[4] = {1, 2, 3, 4}, one[4] = {1, 1, 1, 1}, channels[4] = {1, 2, 1, 1};
    const char *rule;

    (void)arg;
    assert_int_equal(lint_binary(cx, image, &rule), 0);
    assert_int_equal(lint_binary(cx, one, &rule), 0);
    assert_int_equal(lint_binary(cx, channels, &rule), 1);
    assert_non_null(strstr(rule, "broadcasts"));
}

static uint32_t lint_slice(struct nuc_context *cx, int64_t dim, int64_t n_channels, const char **rule)
{
    const int64_t image[4] = {2, n_channels, 3, 4};
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    g->dialect = NUC_EDGE;
    struct nuc_meta meta = test_meta(NUC_F32, true, 4, image);
    struct nuc_node *x = nuc_add_placeholder(g, "x", NUC_USER_INPUT, &meta);
    struct nuc_node *slice = nuc_add_node(g, NULL, NUC_OP_SLICE, NULL);
    const struct nuc_lint_finding *f;

    nuc_set_arg_node(slice, g, 0, x);
    nuc_set_arg_int(slice, 1, dim);
    nuc_set_arg_int(slice, 2, 0);
    nuc_set_arg_int(slice, 3, 1);
    meta.sizes[dim] = 1;
    nuc_set_channels_last(&meta);
    nuc_set_val(g, slice, &meta);
    test_output(g, slice);
    uint32_t count = lint(cx, g, true, &f);
    *rule = count > 0 ? f[0].rule : "";
    return count;
}

/* Along dimension 0, or of one channel, the memory is the same in both orders. */
static void slices(struct nuc_context *cx, void *arg)
{
    const char *rule;

    (void)arg;
    assert_int_equal(lint_slice(cx, 0, 2, &rule), 0);
    assert_int_equal(lint_slice(cx, 2, 1, &rule), 0);
    assert_int_equal(lint_slice(cx, 2, 2, &rule), 1);
    assert_non_null(strstr(rule, "wrong"));
}

/* x, of rank 5 -> convolution -> output. */
static void convolution_of_volumes(struct nuc_context *cx, void *arg)
{
    static const int64_t volume[5] = {1, 2, 2, 2, 2}, kernel[5] = {1, 2, 1, 1, 1};
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    g->dialect = NUC_EDGE;
    struct nuc_meta meta = test_meta(NUC_F32, false, 5, volume), weights = test_meta(NUC_F32, false, 5, kernel);
    const struct nuc_lint_finding *f;

    (void)arg;
    struct nuc_node *weight = nuc_add_placeholder(g, "w", NUC_USER_INPUT, &weights);
    test_output(g, test_conv(g, nuc_add_placeholder(g, "x", NUC_USER_INPUT, &meta), weight));
    assert_int_equal(lint(cx, g, true, &f), 1);
    assert_string_equal(f[0].what, "aten::convolution");
    assert_non_null(strstr(f[0].rule, "rank"));
}

static struct nuc_span payload(struct nuc_context *cx, uint8_t format, uint32_t staging)
{
    struct nuc_payload_io io = {.format = format, .map = 0};
    uint8_t *words = nuc_alloc(cx, 4 * NUC_MC_HEADER_WORDS);
    struct nuc_payload p = {.n_args = 1, .n_inputs = 1, .n_outputs = 1, .version = 1, .inputs = &io, .outputs = &io};

    nuc_store_u32(words + 4 * NUC_MC_WORD_MAGIC, NUC_MC_MAGIC);
    nuc_store_u32(words + 4 * NUC_MC_WORD_INPUTS, 1);
    nuc_store_u32(words + 4 * NUC_MC_WORD_OUTPUTS, 1);
    nuc_store_u32(words + 4 * NUC_MC_WORD_SIZE, 4 * NUC_MC_HEADER_WORDS);
    nuc_store_u32(words + 4 * NUC_MC_WORD_PREFETCH, staging);
    p.microcode = (struct nuc_span){words, 4 * NUC_MC_HEADER_WORDS};
    p.weights = p.kernels = (struct nuc_span){words, 16};
    return nuc_payload_compose(cx, &p);
}

/* The backend takes one channel, and payloads without channels-last borders, contiguous only. */
static void borders(struct nuc_context *cx, void *arg)
{
    const struct nuc_lint_finding *f;

    (void)arg;
    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, false, payload(cx, 0, 0)), false, &f), 0);
    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, true, payload(cx, 1, 0)), false, &f), 0);
    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, false, payload(cx, 1, 0)), false, &f), 0);
    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, true, payload(cx, 0, 0)), false, &f), 2);
    assert_string_equal(f[1].what, "NeutronBackend");
    assert_int_equal(f[1].instruction, 1);
    assert_int_equal(lint(cx, test_delegate_graph(cx, 1, true, payload(cx, 1, 0)), false, &f), 2);
    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, false, payload(cx, 0, 64)), false, &f), 1);
    assert_non_null(strstr(f[0].rule, "EXTERNAL_MEM"));
}

static void test_kernels(void **state)
{
    (void)state;
    run(kernels);
}

static void test_borders(void **state)
{
    (void)state;
    run(borders);
}

static void test_results(void **state)
{
    (void)state;
    run(broadcasts);
    run(slices);
    run(convolution_of_volumes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels), cmocka_unit_test(test_results),
                                       cmocka_unit_test(test_borders)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
