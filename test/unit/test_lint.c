/* What inspection says of programs ExecuTorch's runtime would refuse. */
#include "base/microcode.h"
#include "compiler/neutron/container/payload.h"
#include "compiler/report/lint_program.h"
#include "program_graphs.h"

static uint32_t lint(struct nuc_context *cx, struct nuc_graph *g, bool keep_order, const struct nuc_lint_finding **out)
{
    struct nuc_program_options o = {.keep_order = keep_order};
    uint32_t count;

    *out = nuc_lint_program(cx, nuc_program_view_open(cx, "test.pte", nuc_write_program(g, &o)), &count);
    return count;
}

struct lint_case {
    const char *graph;
    bool keep_order;         /* as ExecuTorch's own lowering leaves it */
    const char *what, *rule; /* parts of the only finding; NULL: there is none */
};

#define IMAGE "%x = input : float32[1, 2, 3, 4] channels-last; "
#define REDUCED IMAGE "%y = edge.aten.amax.default(%x, [1], true)"
#define SCALED(shape) IMAGE "%f = input : float32" shape " channels-last; %y = edge.aten.mul.Tensor(%x, %f)"
#define SLICED(channels, dim, result)                                                                                  \
    "%x = input : float32[2, " channels ", 3, 4] channels-last; %y = edge.aten.slice_copy.Tensor(%x, " dim             \
    ", 0, 1) : float32" result " channels-last"

static const struct lint_case lint_cases[] = {
    /* The kernel refuses it; a copy in front helps. */
    {REDUCED, true, "aten::amax", "channels-last"},
    {REDUCED, false, NULL, NULL},
    /* Kernels take channels-last tensors, but compute the offsets of a broadcast operand as of contiguous ones. */
    {SCALED("[1, 2, 3, 4]"), true, NULL, NULL},
    {SCALED("[1, 1, 1, 1]"), true, NULL, NULL},
    {SCALED("[1, 2, 1, 1]"), true, "aten::mul", "broadcasts"},
    /* Along dimension 0, or of one channel, the memory is the same in both orders. */
    {SLICED("2", "0", "[1, 2, 3, 4]"), true, NULL, NULL},
    {SLICED("1", "2", "[2, 1, 1, 4]"), true, NULL, NULL},
    {SLICED("2", "2", "[2, 2, 1, 4]"), true, "aten::slice_copy", "wrong"},
    {"%w = input : float32[1, 2, 1, 1, 1]; %x = input : float32[1, 2, 2, 2, 2]\n"
     "%y = edge.aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : "
     "float32[1, 1, 2, 2, 2]",
     true, "aten::convolution", "rank"},
};

static void check_lint(struct nuc_context *cx, void *arg)
{
    const struct lint_case *c = arg;
    const struct nuc_lint_finding *f;
    uint32_t count = lint(cx, parse_unverified(cx, c->graph), c->keep_order, &f);

    assert_int_equal(count, c->rule != NULL);
    if (c->rule == NULL)
        return;
    assert_int_equal(f[0].instruction, 0);
    assert_string_equal(f[0].what, c->what);
    assert_non_null(strstr(f[0].rule, c->rule));
}

static void kernels(struct nuc_context *cx, void *arg)
{
    const struct nuc_lint_finding *f;

    (void)arg;
    assert_int_equal(lint(cx, test_graph(cx, false), false, &f), 0);
    assert_int_equal(lint(cx, test_graph(cx, true), false, &f), 0);
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

/* The backend takes one channel, and payloads without channels-last boundaries, contiguous only. */
static void boundaries(struct nuc_context *cx, void *arg)
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

int main(void)
{
    const struct CMUnitTest tests[] = {CONTEXT_TEST(kernels), ROW_TEST(check_lint, lint_cases),
                                       CONTEXT_TEST(boundaries)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
