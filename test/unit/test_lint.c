/* What inspection says of programs ExecuTorch's runtime would refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/microcode.h"
#include "compiler/neutron/payload.h"
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

    *out = nuc_lint_program(cx, "test.pte", nuc_write_program(g, &o), &count);
    return count;
}

/* x, channels-last -> operator over dimension 1 -> output. */
static struct nuc_graph *channels_last_reduction(struct nuc_context *cx)
{
    static const int64_t image[4] = {1, 2, 3, 4}, dims[1] = {1};
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    struct nuc_meta meta = test_meta(NUC_F32, true, 4, image);
    struct nuc_node *x = nuc_add_placeholder(g, "x", NUC_USER_INPUT, &meta);
    struct nuc_node *amax = nuc_add_node(g, NULL, NUC_OP_EDGE_AMAX, NULL);

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

static struct nuc_span payload(struct nuc_context *cx, uint8_t format)
{
    struct nuc_payload_io io = {.format = format, .map = 0};
    uint8_t *words = nuc_alloc(cx, 4 * NUC_MC_HEADER_WORDS);
    struct nuc_payload p = {.n_args = 1, .n_inputs = 1, .n_outputs = 1, .version = 1, .inputs = &io, .outputs = &io};

    nuc_store_u32(words + 4 * NUC_MC_WORD_MAGIC, NUC_MC_MAGIC);
    nuc_store_u32(words + 4 * NUC_MC_WORD_INPUTS, 1);
    nuc_store_u32(words + 4 * NUC_MC_WORD_OUTPUTS, 1);
    nuc_store_u32(words + 4 * NUC_MC_WORD_SIZE, 4 * NUC_MC_HEADER_WORDS);
    p.microcode = (struct nuc_span){words, 4 * NUC_MC_HEADER_WORDS};
    p.weights = p.kernels = (struct nuc_span){words, 16};
    return nuc_payload_compose(cx, &p);
}

/* The backend takes one channel, and payloads without channels-last borders, contiguous only. */
static void borders(struct nuc_context *cx, void *arg)
{
    const struct nuc_lint_finding *f;

    (void)arg;
    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, false, payload(cx, 0)), false, &f), 0);
    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, true, payload(cx, 1)), false, &f), 0);
    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, false, payload(cx, 1)), false, &f), 0);
    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, true, payload(cx, 0)), false, &f), 2);
    assert_string_equal(f[1].what, "NeutronBackend");
    assert_int_equal(f[1].instruction, 1);
    assert_int_equal(lint(cx, test_delegate_graph(cx, 1, true, payload(cx, 1)), false, &f), 2);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels), cmocka_unit_test(test_borders)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
