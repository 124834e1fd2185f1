/* Shape rules: cases/shapes.txt has one node and the value torch gives it in each line. */
#include "quantized_text.h"
#include "text_cases.h"

#include "ir/shapes/shapes.h"
#include "ir/work.h"

struct inference {
    struct nuc_graph *g;
    struct nuc_node *node;
    const char *text;
};

static void parse(struct nuc_context *cx, void *arg)
{
    struct inference *r = arg;

    r->g = parse_unverified(cx, r->text);
    r->node = node_of(r->g, "y");
}

static void infer(struct nuc_context *cx, void *arg)
{
    struct inference *r = arg;

    nuc_infer_shape(r->g, r->node);
}

static const char *printed_values(struct nuc_context *cx, const struct nuc_node *n)
{
    const char *text = nuc_meta_text(cx, &n->vals[0]);

    for (uint32_t k = 1; k < n->n_vals; k++)
        text = nuc_format(cx, "%s, %s", text, nuc_meta_text(cx, &n->vals[k]));
    return text;
}

/* Parses the inputs and the call with a value that is certainly wrong, then applies the rule. */
static void check_call(struct nuc_context *cx, struct text_line *line)
{
    struct inference r = {.text = nuc_format(cx, "%s%%y = %s : bool[7, 7, 7]\n", line->graph, line->left)};

    if (line->right == NULL || nuc_try(cx, parse, &r) != NUC_OK)
        fail_msg("%s: %s", line->left, cx->message);
    enum nuc_status status = nuc_try(cx, infer, &r);
    const char *got = status == NUC_OK ? printed_values(cx, r.node) : cx->message;
    bool same = line->refused ? strstr(got, line->right) != NULL && strstr(got, "test: node 'y'") != NULL
                              : strcmp(got, line->right) == 0;
    if (status != (line->refused ? NUC_BAD_INPUT : NUC_OK) || !same)
        fail_msg("%s: %s instead of %s", line->left, got, line->right);
}

/* Every operator has a rule: it fails for want of arguments, not for want of a rule. */
static void every_operator_has_a_rule(void **state)
{
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

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t order[NUC_MAX_RANK];
        nuc_dim_order_of_strides(cases[i].sizes, cases[i].strides, cases[i].rank, order);
        assert_memory_equal(order, cases[i].order, cases[i].rank);
    }
}

static void check_work(struct nuc_context *cx, void *arg)
{
    nuc_check_work(parse_unverified(cx, arg));
    (void)cx;
}

/* A few bytes of a file may ask for more than a host has. */
static void work_is_bounded(void **state)
{
    struct nuc_context *cx = *state;
    char large[] = "%x = input : float32[20000, 8]; %w = input : float32[8, 20000]\n"
                   "%y = aten.mm.default(%x, %w) : float32[20000, 20000]";
    char pools[] = "%x = input : float32[1, 1, 2000, 2000]\n"
                   "%y = aten.avg_pool2d.default(%x, [1000, 1000], [1, 1]) : float32[1, 1, 1001, 1001]";
    char fine[] = "%x = input : float32[1, 1, 224, 224]\n"
                  "%y = aten.avg_pool2d.default(%x, [7, 7], [1, 1]) : float32[1, 1, 218, 218]";

    assert_int_equal(nuc_try(cx, check_work, large), NUC_UNSUPPORTED);
    assert_non_null(strstr(cx->message, "makes a value of 1600000000 bytes"));
    assert_int_equal(nuc_try(cx, check_work, pools), NUC_UNSUPPORTED);
    assert_non_null(strstr(cx->message, "a run takes 1e+12 products"));
    assert_int_equal(nuc_try(cx, check_work, fine), NUC_OK);
}

RUN_TESTS(LINE_TEST("cases/shapes.txt", check_call, NULL), cmocka_unit_test(every_operator_has_a_rule),
          cmocka_unit_test(dim_orders_of_strides), STATE_TEST(work_is_bounded))
