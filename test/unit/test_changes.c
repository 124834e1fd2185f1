/* Changes of a model's source: each has a graph that it is about, and does to the values what it says. */
#include "rewrites.h"

#include "host/numbers.h"
#include "rewrite/recognize/changes.h"

/* dB between the graph as it was and as it is: of all but rounding, and of what is nearly the same. */
#define EXACT_DB 80.0
#define CLOSE_DB 20.0

static double sqnr(struct nuc_graph *before, struct nuc_graph *after)
{
    uint32_t n, n_after;
    struct nuc_sqnr sum = {0, 0};
    float **a = run_graph(before, &n), **b = run_graph(after, &n_after);

    assert_int_equal(n, n_after);
    for (uint32_t i = 0; i < n; i++) {
        const struct nuc_meta *m = &nuc_output_node(before)->args[0].u.nodes[i]->vals[0];
        assert_true(nuc_same_sizes(m, &nuc_output_node(after)->args[0].u.nodes[i]->vals[0]));
        for (size_t k = 0; k < (size_t)nuc_elements(m); k++) {
            double x = (double)a[i][k], y = (double)b[i][k];
            assert_true(isfinite(y));
            sum.signal += x * x;
            sum.noise += (x - y) * (x - y);
        }
    }
    return nuc_sqnr_db(&sum);
}

static void check_change(struct nuc_context *cx, void *arg)
{
    struct text_case *c = arg;
    const struct nuc_change *row = nuc_find_change(c->name);
    struct nuc_change_places places = {.count = 0};
    struct nuc_graph *before = parse_graph(cx, c->lines);

    if (row == NULL)
        fail_msg("no change is named '%s'", c->name);
    fill_constants(before);
    struct nuc_graph *after = nuc_graph_copy(before);
    if (nuc_make_change(after, row, NULL, &places) < nuc_output_node(before)->args[0].count)
        fail_msg("%s: not every result was changed", c->name);
    nuc_expand(after);
    nuc_graph_verify(after, c->name);
    for (uint32_t i = 0; i < places.count; i++)
        assert_true(places.items[i].from[0] != '\0' && places.items[i].to[0] != '\0');
    double db = sqnr(before, after);
    if ((row->effect == NUC_CHANGE_EXACT && db < EXACT_DB) || (row->effect == NUC_CHANGE_CLOSE && db < CLOSE_DB))
        fail_msg("%s: %.1f dB", c->name, db);
    /* At a node by its name alone, and nowhere. */
    struct nuc_graph *again = nuc_graph_copy(before);
    places = (struct nuc_change_places){.count = 0};
    assert_int_equal(nuc_make_change(again, row, "nothing*", &places), 0);
    assert_true(nuc_make_change(again, row, "y", &places) + nuc_make_change(again, row, "s", &places) == 1);
}

static void test_cases(void **state)
{
    run_cases("cases/changes.txt", check_change, NULL);
}

/* No change is without a case. */
static void test_all_have_cases(void **state)
{
    char *text = read_cases("cases/changes.txt"), head[128];

    for (const struct nuc_change *row = nuc_next_change(NULL); row != NULL; row = nuc_next_change(row)) {
        snprintf(head, sizeof head, "== %s\n", row->name);
        if (strstr(text, head) == NULL)
            fail_msg("no case for '%s'", row->name);
    }
    test_free(text);
}

RUN_TESTS(cmocka_unit_test(test_cases), cmocka_unit_test(test_all_have_cases))
