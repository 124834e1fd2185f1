/*
 * Lowering of small networks that go through format inference and partitioning as real ones do: which LiteRT operators
 * an Edge operator becomes, with which options and constants, and where formats put transposes. Expectations follow the
 * reference backend. The text leaves weights out: test/differential compares what programs compute with them.
 */
#include "lower_net.h"
#include "text_cases.h"

#include "npu/support/support.h"

/* A graph and, after "=> HOW", its model. HOW may be "runtime", "compat" and "sdk-3.1". */
static void check_lowering(struct nuc_context *cx, void *arg)
{
    struct text_case *c = arg;
    char *model = split_at(c->lines, "=>");
    struct net n = {.cx = cx, .g = parse_quantized(cx, c->lines)};

    const char *how = model == NULL ? "" : take_line(&model);
    assert_non_null(model);
    n.options.use_neutron_for_format_conversion = strstr(how, "runtime") == NULL;
    n.options.reference_compat = strstr(how, "compat") != NULL;
    n.options.flavor = strstr(how, "sdk-3.1") != NULL ? nuc_flavor_find(cx, "sdk-3.1") : NULL;
    fill_quantized(n.g);
    lower_graph(&n);
    const char *got = model_text(&n);
    size_t length = strlen(got);
    if (strncmp(got, model, length) != 0 || model[length + strspn(model + length, "\n")] != '\0')
        fail_msg("%s:\n%s", c->name, got);
}

/* The pad of a convolution is of the same node of the graph; a transpose of a boundary is of none. */
static void debug_handles(struct nuc_context *cx, void *arg)
{
    struct net n = {
        .cx = cx,
        .g = parse_quantized(cx, "%x = input : float32[1, 2, 4, 5] ! 0.5, 3; %w = buffer : int8[3, 2, 3, 3] ! 0.25\n"
                                 "%r = edge.aten.convolution.default(%dx, %dw, none, [1, 1], [1, 1], [1, 1], "
                                 "false, [0, 0], 1) ! 0.75, -5\n")};

    n.options.use_neutron_for_format_conversion = true;
    fill_quantized(n.g);
    lower_graph(&n);
    assert_int_equal(n.s->ops[0].debug_handle, 0);
    assert_int_not_equal(n.s->ops[1].debug_handle, 0);
    assert_int_equal(n.s->ops[1].debug_handle, n.s->ops[2].debug_handle);
}

/* ---- refusals ---- */

struct refusal {
    struct nuc_graph *g;
    struct nuc_partition p;
};

static void lower_by_hand(struct nuc_context *cx, void *arg)
{
    struct refusal *r = arg;
    struct nuc_lower_io io;

    nuc_lower_partition(r->g, &r->p, NULL, &io);
}

/* A softmax of another axis than the channels, and a partition without the input that it reads. */
static void refuse(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_quantized(cx, "%x = input : float32[1, 4] ! 0.5, 3\n"
                                              "%r = edge.aten._softmax.default(%dx, 0, false) ! 0.00390625, -128\n");
    struct nuc_node *qx = node_of(g, "qx"), *qr = node_of(g, "qr");
    struct refusal refused = {g, {.tag = "tag0", .n_nodes = 3, .n_inputs = 1, .n_outputs = 1}};

    refused.p.nodes = (struct nuc_node *[]){node_of(g, "dx"), node_of(g, "r"), qr};
    refused.p.inputs = &qx;
    refused.p.outputs = &qr;
    assert_int_equal(nuc_try(cx, lower_by_hand, &refused), NUC_INTERNAL);
    assert_non_null(strstr(cx->message, "'r'"));
    refused.p.n_inputs = 0;
    assert_int_equal(nuc_try(cx, lower_by_hand, &refused), NUC_INTERNAL);
    assert_non_null(strstr(cx->message, "tag0"));
}

static void test_can_lower(void **state)
{
    assert_true(nuc_can_lower(nuc_op_find("edge.aten.convolution.default").op));
    assert_true(nuc_can_lower(NUC_OP_GETITEM));
    assert_true(nuc_can_lower(NUC_OP_DEQUANTIZE_PER_CHANNEL));
    assert_false(nuc_can_lower(nuc_op_find("edge.aten._native_batch_norm_legit_no_training.default").op));
    assert_false(nuc_can_lower(NUC_OP_COUNT));
}

/* Whatever a rule set admits has a lowering. */
static void test_rules_are_lowered(void **state)
{
    for (size_t i = 0; nuc_flavor_at(i) != NULL; i++) {
        const struct nuc_support s = {.flavor = nuc_flavor_at(i)};
        for (int op = 0; op < NUC_OP_COUNT; op++) {
            const struct nuc_support_row *row = nuc_support_row(&s, (enum nuc_op)op);
            if (row != NULL && !nuc_can_lower((enum nuc_op)op))
                fail_msg("%s is supported by %s but not lowered", nuc_op_name((enum nuc_op)op, NUC_EDGE),
                         nuc_flavor_at(i)->name);
        }
    }
}

RUN_TESTS(TEXT_TEST("cases/lower.txt", check_lowering, NULL), CONTEXT_TEST(debug_handles), CONTEXT_TEST(refuse),
          cmocka_unit_test(test_can_lower), cmocka_unit_test(test_rules_are_lowered))
