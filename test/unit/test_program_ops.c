/* Operators from graph to result: evaluated, and written as a program, loaded and run. */
#include "back/program/out_variant.h"
#include "program_graphs.h"
#include "rewrite/passes.h"
#include "value_cases.h"

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

/* Graphs of a file: lowered to the Edge dialect first; evaluated once they are expanded; how much results may differ.
 */
struct manner {
    bool lowered, composite;
    double tolerance;
};

static void run_case(struct nuc_context *cx, const struct value_case *c)
{
    const struct manner *how = c->user;
    struct nuc_program_options o = {.method = NULL};
    struct nuc_graph *g = (c->message == NULL ? parse_quantized : parse_unverified)(cx, c->graph);
    struct test_program p;
    struct nuc_tensor t;

    if (how->lowered)
        nuc_expand(g);
    if (how->composite)
        evaluate_graph(nuc_graph_copy(g), c, how->tolerance);
    if (how->lowered)
        nuc_to_edge(g, NULL);
    const void *in = values_of_input(g, c);
    test_load(cx, &p, nuc_write_program(g, &o), NULL);
    if (p.status != NUC_OK)
        fail_msg("%s: %s", c->name, p.detail.message);
    assert_int_equal(nuc_program_input_info(&p.program, 0, &t), NUC_OK);
    assert_int_equal(nuc_program_set_input(&p.program, 0, in, t.bytes, NULL), NUC_OK);
    enum nuc_status status = nuc_program_execute(&p.program, &p.detail);
    if ((status == NUC_OK) != (c->message == NULL))
        fail_msg("%s: %s", c->name, p.detail.message);
    if (c->message != NULL) {
        assert_string_equal(p.detail.message, c->message);
        return;
    }
    assert_int_equal(nuc_program_output(&p.program, 0, &t), NUC_OK);
    compare_values(c, "kernel", t.dtype, t.data, t.bytes / nuc_dtype_size(t.dtype), how->tolerance);
    if (!how->composite && strstr(c->graph, "channels-last") == NULL) /* which the evaluator takes in logical order */
        evaluate_case(cx, c, how->tolerance);
}

static void check_cases(struct nuc_context *cx, void *text)
{
    for_values(cx, text, run_case);
}

static void expand_graph(struct nuc_context *cx, void *text)
{
    nuc_expand(parse_graph(cx, text));
}

/* How many elements a mask chooses is not known: they are not summed up, given out or put under another mask. */
static void chosen_elements_are_written_back_alone(void **state)
{
    static const char *const ends[] = {
        "%y = aten.sum.default(%i) : float32[]",
        "%y = aten.add.Tensor(%i, %i) : float32[2, 3]",
        "%y = aten.index_put.default(%x, [%n], %i) : float32[2, 3]",
        ("%t = aten.add_.Tensor(%x, %v) : float32[2, 3]\n%o = aten.gt.Tensor(%x, %w) : bool[2, 3]\n"
         "%y = aten.index_put.default(%x, [%o], %i) : float32[2, 3]"),
        "%r = aten.gt.Tensor(%i, %v) : bool[2, 3]\n%y = aten.index.Tensor(%i, [%r]) : float32[2, 3]",
        "%y = aten.mul.Tensor(%i, %k) : float32[2, 3]"};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "%%w = buffer \"w\" : float32[1]\n%%v = buffer \"v\" : float32[1]\n"
                 "%%k = buffer \"k\" : float32[3]\n%%x = input : float32[2, 3]\n"
                 "%%m = aten.gt.Tensor(%%x, %%w) : bool[2, 3]\n%%n = aten.gt.Tensor(%%x, %%v) : bool[2, 3]\n"
                 "%%i = aten.index.Tensor(%%x, [%%m]) : float32[2, 3]\n%s\n%%output = output([%%y])\n",
                 ends[i]);
        expect_failure(expand_graph, text, NUC_UNSUPPORTED,
                       "the index is a mask, so that the shape depends on the data");
    }
}

/* As in torch.where(), so that a logarithm where the mask is false is not seen in calibration. */
static void the_choice_reads_what_is_computed(struct nuc_context *cx, void *unused)
{
    struct nuc_graph *g =
        parse_graph(cx, "%w = buffer \"w\" : float32[1]\n%x = input : float32[2, 3]\n"
                        "%m = aten.gt.Tensor(%x, %w) : bool[2, 3]\n%i = aten.index.Tensor(%x, [%m]) : float32[2, 3]\n"
                        "%l = aten.log.default(%i) : float32[2, 3]\n"
                        "%y = aten.index_put.default(%x, [%m], %l) : float32[2, 3]\n%output = output([%y])\n");
    bool reads_log = false;

    nuc_expand(g);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const struct nuc_node *log = n->op == NUC_OP_WHERE ? nuc_arg_node(n, NUC_ARG(WHERE, self)) : NULL;
        reads_log =
            reads_log || (log != NULL && log->op == NUC_OP_LOG && nuc_arg_node(log, NUC_SELF) == g->first->next);
    }
    assert_true(reads_log);
}

RUN_TESTS(CONTEXT_TEST(check_every_operator), cmocka_unit_test(chosen_elements_are_written_back_alone),
          CONTEXT_TEST(the_choice_reads_what_is_computed),
          TEXT_TEST("cases/operators.txt", check_cases, &((struct manner){false, false, 0})),
          TEXT_TEST("cases/elementwise.txt", check_cases, &((struct manner){true, false, 1e-6})),
          TEXT_TEST("cases/composite.txt", check_cases, &((struct manner){true, true, 1e-6})))
