/* What inspection says of programs ExecuTorch's runtime would refuse. */
#include "device/base/microcode.h"
#include "host/flatbuilder.h"
#include "inspect/inspect.h"
#include "npu/container/payload.h"
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

#define TRANSPOSED(channels, kernel, stride, result)                                                                   \
    "%x = input : int8[1, " channels ", 3, 3] channels-last; %w = input : int8[1, " kernel ", " kernel ", " channels   \
    "]; %m = input : int32[1]; %s = input : uint8[1]; %y = edge.cortex_m.quantized_transpose_conv2d.default(%x, %w, "  \
    "none, [" stride ", " stride "], [1, 1], [0, 0], [1, 1], 0, 0, %m, %m, -128, 127, %s, %s) : int8[1, 1, " result    \
    ", " result "] channels-last"

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
    /* Of 2 channels, with padding 1 and stride 2; of 17 it is another function of CMSIS-NN. */
    {TRANSPOSED("2", "3", "2", "5"), true, "cortex_m::quantized_transpose_conv2d", "wrong rows"},
    {TRANSPOSED("2", "3", "1", "3"), true, NULL, NULL},
    {TRANSPOSED("17", "3", "2", "5"), true, NULL, NULL},
    {TRANSPOSED("17", "4", "3", "8"), true, "cortex_m::quantized_transpose_conv2d", "wrong rows"},
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

    assert_int_equal(lint(cx, test_graph(cx, false), false, &f), 0);
    assert_int_equal(lint(cx, test_graph(cx, true), false, &f), 0);
}

/* Its input is argument `map` of those that the payload counts. */
static struct nuc_span mapped_payload(struct nuc_context *cx, uint8_t format, uint32_t staging, uint8_t map)
{
    struct nuc_payload_io io = {.format = format, .map = 0}, input = {.format = format, .map = map};
    uint8_t *words = nuc_alloc(cx, 4 * NUC_MC_HEADER_WORDS);
    struct nuc_payload p = {.n_inputs = 1, .n_outputs = 1, .version = 1, .inputs = &input, .outputs = &io};

    p.n_args = (uint8_t)(map + 1);
    nuc_store_u32(words + 4 * NUC_MC_WORD_MAGIC, NUC_MC_MAGIC);
    nuc_store_u32(words + 4 * NUC_MC_WORD_INPUTS, 1);
    nuc_store_u32(words + 4 * NUC_MC_WORD_OUTPUTS, 1);
    nuc_store_u32(words + 4 * NUC_MC_WORD_SIZE, 4 * NUC_MC_HEADER_WORDS);
    nuc_store_u32(words + 4 * NUC_MC_WORD_PREFETCH, staging);
    p.microcode = (struct nuc_span){words, 4 * NUC_MC_HEADER_WORDS};
    p.weights = p.kernels = (struct nuc_span){words, 16};
    return nuc_payload_compose(cx, &p);
}

static struct nuc_span payload(struct nuc_context *cx, uint8_t format, uint32_t staging)
{
    return mapped_payload(cx, format, staging, 0);
}

/* The backend takes one channel, and payloads without channels-last boundaries, contiguous only. */
static void boundaries(struct nuc_context *cx, void *arg)
{
    const struct nuc_lint_finding *f;

    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, false, payload(cx, 0, 0)), false, &f), 0);
    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, true, payload(cx, 1, 0)), false, &f), 0);
    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, false, payload(cx, 1, 0)), false, &f), 0);
    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, true, payload(cx, 0, 0)), false, &f), 2);
    assert_string_equal(f[1].what, "NeutronBackend");
    assert_int_equal(f[1].instruction, 1);
    /* The input gets its name by a copy. */
    assert_int_equal(lint(cx, test_delegate_graph(cx, 1, true, payload(cx, 1, 0)), false, &f), 1);
    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, false, payload(cx, 0, 64)), false, &f), 1);
    assert_non_null(strstr(f[0].rule, "EXTERNAL_MEM"));
    assert_int_equal(lint(cx, test_delegate_graph(cx, 3, false, mapped_payload(cx, 0, 0, 5)), false, &f), 1);
    assert_non_null(strstr(f[0].rule, "maps do not fit"));
}

/* ---- the view that inspection, lint, profile and codegen read ---- */

static void view(struct nuc_context *cx, void *arg)
{
    const struct nuc_program_options o = {.keep_order = false};
    struct nuc_span bytes = nuc_write_program(test_delegate_graph(cx, 3, false, payload(cx, 0, 0)), &o);
    const struct nuc_program_view *v = nuc_program_view_open(cx, "test.pte", bytes);
    const struct nuc_view_method *m = v->methods;
    const struct nuc_view_instruction *call = &m->chains[0].instructions[1];

    assert_true(v->has_header && v->n_methods == 1 && m->n_chains == 1 && m->n_delegates == 1);
    assert_true(nuc_view_is(m->name, "forward") && !nuc_view_is(m->name, "for") && nuc_view_begins(m->name, "for"));
    assert_int_equal(call->kind, NUC_INSTRUCTION_DELEGATE);
    const struct nuc_view_value *input = &m->values[nuc_view_int(call->args, 0)];
    assert_int_equal(input->kind, NUC_VALUE_TENSOR);
    assert_int_equal(input->u.tensor.dtype, NUC_I8);
    assert_true(input->u.tensor.planned && input->u.tensor.memory == 1);
    assert_int_equal(nuc_view_int(input->u.tensor.sizes, 1), 3);
    assert_true(nuc_view_is(m->delegates[0].backend, "NeutronBackend"));
    assert_string_equal(nuc_view_text(cx, m->delegates[0].specs[0].value), "tflite");
    assert_true(m->delegates[0].data.data > bytes.data && m->delegates[0].data.size > 0);
    struct nuc_view_list odd = {(const uint8_t *)"a\n\xff", 3, 1};
    assert_string_equal(nuc_view_text(cx, odd), "a\\x0a\\xff");
}

static void open_view(struct nuc_context *cx, void *arg)
{
    nuc_program_view_open(cx, "damaged.pte", *(const struct nuc_span *)arg);
}

/* A small file in which 500 chains are one chain of 500 instructions: a quarter of a million to describe. */
static void shared(struct nuc_context *cx, void *arg)
{
    enum { MANY = 500 };
    struct nuc_fb_builder *b = nuc_fb_builder_new(cx);
    nuc_fb_ref refs[MANY];

    nuc_fb_table_begin(b);
    nuc_fb_ref instruction = nuc_fb_table_end(b);
    for (size_t i = 0; i < MANY; i++)
        refs[i] = instruction;
    nuc_fb_ref instructions = nuc_fb_add_refs(b, refs, MANY);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, NUC_CHAIN_INSTRUCTIONS, instructions);
    nuc_fb_ref chain = nuc_fb_table_end(b);
    for (size_t i = 0; i < MANY; i++)
        refs[i] = chain;
    nuc_fb_ref chains = nuc_fb_add_refs(b, refs, MANY);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, NUC_PLAN_CHAINS, chains);
    nuc_fb_ref plan = nuc_fb_table_end(b);
    nuc_fb_ref plans = nuc_fb_add_refs(b, &plan, 1);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, NUC_PROGRAM_PLANS, plans);
    struct nuc_span bytes = nuc_fb_finish(b, nuc_fb_table_end(b), "ET12", NULL, 0, 4);
    assert_int_equal(nuc_try(cx, open_view, &bytes), NUC_BAD_INPUT);
    assert_non_null(strstr(cx->message, "its lists hold more than the file"));
}

RUN_TESTS(CONTEXT_TEST(kernels), ROW_TEST(check_lint, lint_cases), CONTEXT_TEST(boundaries), CONTEXT_TEST(view),
          CONTEXT_TEST(shared))
