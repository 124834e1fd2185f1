/*
 * Rule set sdk-3.1: every rule just inside and just outside its limit, the cases whose answer its backend's own tests
 * record, and its rules about partitions. Formats are set by hand: what they follow from is tested with the layout.
 */
#include "support_nets.h"

#include "npu/partition/partition.h"

/* Channels-first are the nodes that stand in front of the line; all others are FORMATLESS. */
static struct nuc_graph *graph_of(struct nuc_context *cx, const struct text_line *line)
{
    const char *words;
    struct nuc_graph *g = line_net(cx, line, &words);

    words = nuc_format(cx, " %s ", words);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        bool first = strstr(words, nuc_format(cx, " %s ", n->name)) != NULL;
        n->format = first ? NUC_CHANNELS_FIRST : NUC_FORMATLESS;
    }
    return g;
}

static bool has_case[NUC_OP_COUNT]; /* in which the operator is supported */

static void check_rule(struct nuc_context *cx, struct text_line *line)
{
    struct nuc_graph *g = graph_of(cx, line);
    struct nuc_support s = support_of(g, "sdk-3.1");

    s.waived |= NUC_WAIVE_CORRECTNESS;
    struct nuc_verdict v = check_verdict(&s, line_rule(line));
    assert_int_equal(v.ok, v.rule == NULL);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        has_case[n->op] = has_case[n->op] || v.ok;
}

/* Every operator of the set has a case in which it is supported. */
static void check_complete(struct nuc_context *cx, void *arg)
{
    const struct nuc_flavor *flavor = nuc_flavor_find(cx, "sdk-3.1");
    uint32_t operators = 0;

    for (unsigned op = 0; op < NUC_OP_COUNT; op++) {
        if (nuc_support_row(&(struct nuc_support){.flavor = flavor}, (enum nuc_op)op) == NULL || op == NUC_OP_CLONE)
            continue;
        operators++;
        if (!has_case[op])
            fail_msg("no case in which %s is supported", nuc_op_name((enum nuc_op)op, NUC_EDGE));
    }
    /* The table of the vendor's backend: 30 operators, two of them clones. */
    assert_int_equal(operators, 29);
}

static void check_stricter(struct nuc_context *cx, struct text_line *line)
{
    struct nuc_graph *g = graph_of(cx, line);
    struct nuc_support s = support_of(g, "sdk-3.1");

    check_verdict(&s, line_rule(line));
    s.waived |= NUC_WAIVE_CORRECTNESS;
    assert_true(nuc_check_support(&s, node_of(g, "r")).ok);
}

static void check_forced_cat(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_net(cx, "aten.cat.default([%dx, %dy], 1) of [3, 1, 3] and [3, 1, 3]");
    struct nuc_support s = support_of(g, "sdk-3.1");

    assert_false(nuc_check_support(&s, node_of(g, "r")).ok);
    s.waived |= NUC_WAIVE_CAT_SIZES;
    assert_true(nuc_check_support(&s, node_of(g, "r")).ok);
}

static void check_limit(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_net(cx, "aten._softmax.default(%dx, 1, false) of [2, 30]");
    struct nuc_support s = support_of(g, "sdk-3.1");

    struct nuc_verdict v = nuc_check_support(&s, node_of(g, "r"));
    assert_string_equal(v.actual, "channels 30");
    assert_string_equal(v.limit, "a multiple of 8");
}

/* ---- partitions ---- */

static void check_where(struct nuc_context *cx, struct text_line *line)
{
    const char *words;
    struct nuc_graph *g = line_net(cx, line, &words);
    struct nuc_partition_options options = {.flavor = nuc_flavor_find(cx, "sdk-3.1")};

    const struct nuc_partitions *p = nuc_partition_graph(g, &options);
    const struct nuc_decision *d = p->by_id[node_of(g, "r")->id];
    if (d->delegated == line->refused)
        fail_msg("%s (%s) in:\n%s", d->delegated ? "delegated" : d->rule, d->actual, nuc_graph_print(g, false));
}

/* ---- no-ops: maximum-like operators and permutations are not tried ---- */

static void check_no_ops(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_net(cx, "aten.permute_copy.default(%dx, [0, 1]) of [2, 3]");
    struct nuc_support s = support_of(g, "sdk-3.1");

    assert_false(nuc_is_no_op(&s, node_of(g, "r")));
    s.flavor = nuc_flavor_find(cx, "sdk-3.2");
    assert_true(nuc_is_no_op(&s, node_of(g, "r")));
}

/* ---- boundaries ---- */

static void check_transposes(struct nuc_context *cx, void *arg)
{
    static const struct {
        int32_t sizes[4];
        int32_t perm[4];
        bool possible;
    } transposes[] = {
        {{1, 8, 8, 8}, {0, 2, 3, 1}, true},  /* input of a convolution 8 -> 8 */
        {{1, 8, 8, 3}, {0, 2, 3, 1}, false}, /* width 3 */
        {{1, 3, 8, 8}, {0, 2, 3, 1}, false}, /* an image */
        {{1, 8, 3, 8}, {0, 2, 3, 1}, true},  {{2, 8, 8, 8}, {0, 2, 3, 1}, false},
        {{1, 8, 3, 8}, {0, 3, 1, 2}, true}, /* 24 pixels of 8 channels */
        {{1, 3, 3, 8}, {0, 3, 1, 2}, false}, {{1, 8, 8, 3}, {0, 3, 1, 2}, false},
        {{2, 8, 8, 8}, {0, 3, 1, 2}, false}, {{1, 8, 8, 8}, {0, 1, 3, 2}, false},
        {{5, 1, 1, 7}, {0, 3, 1, 2}, true}, /* the data stay where they are */
    };
    const struct nuc_target *target = nuc_target_find(cx, NULL);

    for (size_t i = 0; i < sizeof transposes / sizeof transposes[0]; i++) {
        const int32_t *sizes = transposes[i].sizes;
        const int32_t *perm = transposes[i].perm;
        assert_int_equal(nuc_can_transpose(target, nuc_flavor_find(cx, "sdk-3.1"), sizes, perm, 4),
                         transposes[i].possible);
        assert_true(nuc_can_transpose(target, nuc_flavor_find(cx, "sdk-3.2"), sizes, perm, 4));
    }
}

int main(void)
{
    static const struct net_check checks[] = {
        {"rules", check_rule}, {"stricter", check_stricter}, {"partitions", check_where}, {NULL, NULL}};
    const struct CMUnitTest tests[] = {
        TEXT_TEST("cases/rules31.txt", check_nets, checks),
        CONTEXT_TEST(check_complete),
        CONTEXT_TEST(check_forced_cat),
        CONTEXT_TEST(check_limit),
        CONTEXT_TEST(check_no_ops),
        CONTEXT_TEST(check_transposes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
