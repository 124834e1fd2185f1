/* Building and rewriting graphs: names, users, defaults, metas. */
#include "unit/test.h"

#include "ir/graph.h"

static struct nuc_graph *two_relus(struct nuc_context *cx, struct nuc_node *nodes[4])
{
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    const int64_t sizes[] = {1, 2, 3, 4};
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, 4);

    nodes[0] = nuc_add_placeholder(g, "x", NUC_USER_INPUT, &meta);
    for (int i = 1; i < 3; i++) {
        nodes[i] = nuc_add_node(g, NULL, NUC_OP_RELU, NULL);
        nuc_set_arg_node(nodes[i], g, 0, nodes[i - 1]);
        nuc_set_val(g, nodes[i], &meta);
    }
    nodes[3] = nuc_add_node(g, NULL, NUC_OP_OUTPUT, "output");
    nuc_set_arg_nodes(nodes[3], g, 0, &nodes[2], 1);
    return g;
}

static void schemas_parse(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = nuc_graph_new(cx, "forms");

    for (unsigned op = 0; op < NUC_OP_COUNT; op++) {
        struct nuc_node *node = nuc_add_node(g, NULL, (enum nuc_op)op, NULL);
        for (int form = 0; form < 4; form++) {
            node->dialect = form % 2 == 0 ? NUC_ATEN : NUC_EDGE;
            node->in_place = form == 2;
            struct nuc_op_form found = nuc_op_find(nuc_node_op_name(node));
            bool exists =
                form == 2 ? nuc_op_has_in_place((enum nuc_op)op) : nuc_op_in_dialect((enum nuc_op)op, node->dialect);
            if (!exists)
                continue;
            assert_int_equal(found.op, op);
            assert_int_equal(found.in_place, node->in_place);
        }
        assert_int_equal(nuc_op_find(nuc_op_name((enum nuc_op)op, NUC_EDGE)).op, op);
    }
    assert_int_equal(nuc_op_find("aten.relu_.default").op, NUC_OP_RELU);
    assert_true(nuc_op_find("aten.relu_.default").in_place);
    assert_int_equal(nuc_op_find("edge.aten.view_copy.default").op, NUC_OP_VIEW);
    assert_int_equal(nuc_op_find("edge.aten.view_copy.default").dialect, NUC_EDGE);
    assert_int_equal(nuc_op_find("edge.aten.view.default").op, NUC_OP_COUNT);
    assert_int_equal(nuc_op_find("aten.cat_.default").op, NUC_OP_COUNT);
    const struct nuc_schema *conv = nuc_op_schema(NUC_OP_CONV2D);
    assert_int_equal(conv->n_args, 7);
    assert_int_equal(nuc_schema_arg_index(conv, "padding"), 4);
    assert_int_equal(conv->args[3].list_size, 2);
    assert_int_equal(conv->args[3].fallback.count, 2);
    assert_int_equal(conv->args[3].fallback.u.ints[1], 1);
    assert_true(conv->args[2].optional);
    assert_true(nuc_op_schema(NUC_OP_ADD)->args[2].keyword_only);
    assert_int_equal(nuc_op_schema(NUC_OP_MAX_POOL2D_INDICES)->n_returns, 2);
    assert_int_equal(nuc_op_find("aten.nothing.default").op, NUC_OP_COUNT);
}

static void names_are_unique(struct nuc_context *cx, void *arg)
{
    struct nuc_node *n[4];
    struct nuc_graph *g = two_relus(cx, n);

    assert_string_equal(n[1]->name, "aten_relu_default");
    assert_string_equal(n[2]->name, "aten_relu_default_1");
    for (int i = 0; i < 1000; i++)
        nuc_add_node(g, n[1], NUC_OP_RELU, "a");
    assert_non_null(nuc_find_node(g, "a_999"));
    assert_null(nuc_find_node(g, "a_1000"));
    nuc_remove_node(g, nuc_find_node(g, "a_5"));
    assert_null(nuc_find_node(g, "a_5"));
    nuc_rename_as_traced(g);
    assert_null(nuc_find_node(g, "a"));
    assert_ptr_equal(nuc_find_node(g, "x"), n[0]);
    assert_string_equal(n[2]->name, "aten_relu_default_1000");
}

/* Whatever is added, moved or removed in between, a placeholder goes behind the last one. */
static void placeholders_stay_in_front(struct nuc_context *cx, void *arg)
{
    struct nuc_node *n[4];
    struct nuc_graph *g = two_relus(cx, n);
    struct nuc_meta meta = nuc_meta_make(NUC_F32, (const int64_t[]){4}, 1);
    uint32_t random = 5, count = 0;

    for (int i = 0; i < 500; i++) {
        random = random * 1664525u + 1013904223u;
        if (random >> 30 == 0)
            nuc_add_placeholder(g, "p", NUC_PARAMETER, &meta);
        else if (random >> 30 == 1)
            nuc_add_node(g, n[1], NUC_OP_RELU, "r");
        else if (random >> 30 == 2 && g->body != n[1])
            nuc_remove_node(g, g->body);
        else
            nuc_move_before(g, g->body, n[1]);
    }
    const struct nuc_node *at = g->first;
    for (; nuc_is_placeholder(at); at = at->next)
        count++;
    assert_ptr_equal(at, g->body);
    for (; at != NULL; at = at->next)
        assert_false(nuc_is_placeholder(at));
    assert_true(count > 50);
    struct nuc_graph *empty = nuc_graph_new(cx, "empty");
    struct nuc_node *only = nuc_add_placeholder(empty, "x", NUC_USER_INPUT, &meta);
    assert_null(empty->body);
    struct nuc_node *first = nuc_add_node(empty, only, NUC_OP_RELU, "r");
    assert_ptr_equal(empty->body, first);
}

static void users_follow_rewrites(struct nuc_context *cx, void *arg)
{
    struct nuc_node *n[4];
    struct nuc_graph *g = two_relus(cx, n);

    struct nuc_node *add = nuc_add_node(g, n[3], NUC_OP_ADD, NULL);
    nuc_set_arg_node(add, g, 0, n[1]);
    nuc_set_arg_node(add, g, 1, n[1]);
    assert_int_equal(n[1]->n_users, 2);
    assert_ptr_equal(n[1]->users[1], add);
    nuc_set_arg_node(add, g, 0, n[2]);
    assert_int_equal(n[1]->n_users, 2); /* still read through the other argument */
    nuc_replace_uses(g, n[1], n[0], n[2]);
    assert_ptr_equal(nuc_arg_node(add, 1), n[0]);
    assert_int_equal(n[1]->n_users, 1);
    assert_int_equal(n[0]->n_users, 2);
    nuc_replace_input(g, n[3], n[2], add);
    assert_ptr_equal(n[3]->args[0].u.nodes[0], add);
    struct nuc_node *inputs[4];
    assert_int_equal(nuc_inputs(add, inputs, 4), 2);
    nuc_replace_uses(g, n[2], n[0], NULL);
    nuc_remove_dead(g);
    assert_int_equal(g->n_nodes, 3); /* x, add, output */
}

static void copies_stand_alone(struct nuc_context *cx, void *arg)
{
    struct nuc_node *n[4];
    struct nuc_graph *g = two_relus(cx, n);
    struct nuc_graph *copy = nuc_graph_copy(g);

    assert_int_equal(copy->n_nodes, g->n_nodes);
    struct nuc_node *first = nuc_find_node(copy, "aten_relu_default");
    assert_ptr_not_equal(first, n[1]);
    assert_ptr_equal(nuc_arg_node(first, 0), nuc_find_node(copy, "x"));
    assert_true(nuc_meta_equal(&first->vals[0], &n[1]->vals[0]));
    nuc_replace_uses(copy, first, nuc_find_node(copy, "x"), NULL);
    nuc_remove_dead(copy);
    assert_int_equal(copy->n_nodes, 3);
    assert_int_equal(g->n_nodes, 4);
    assert_int_equal(n[1]->n_users, 1);
}

/* Ids without gaps, and no name that is taken by a node which left. */
static void renumbered_as_copies_are(struct nuc_context *cx, void *arg)
{
    struct nuc_node *n[4];
    struct nuc_graph *g = two_relus(cx, n);

    nuc_replace_uses(g, n[1], n[0], NULL);
    nuc_remove_dead(g);
    struct nuc_graph *copy = nuc_graph_copy(g);
    nuc_renumber(g);
    assert_int_equal(g->next_id, 3);
    for (struct nuc_node *a = g->first, *b = copy->first; a != NULL; a = a->next, b = b->next) {
        assert_int_equal(a->id, b->id);
        assert_string_equal(a->name, b->name);
        assert_ptr_equal(nuc_find_node(g, a->name), a);
    }
    assert_null(nuc_find_node(g, "aten_relu_default"));
    assert_string_equal(nuc_add_node(g, g->last, NUC_OP_RELU, NULL)->name,
                        nuc_add_node(copy, copy->last, NUC_OP_RELU, NULL)->name);
}

/* What was added in between lies in between, and all else is as it was. */
static void gathered_in_order(struct nuc_context *cx, void *arg)
{
    struct nuc_node *n[4], *inputs[2];
    struct nuc_graph *g = two_relus(cx, n);
    struct nuc_node *add = nuc_add_node(g, n[2], NUC_OP_ADD, NULL);

    nuc_set_arg_node(add, g, 0, n[1]);
    nuc_set_arg_node(add, g, 1, n[0]);
    nuc_set_val(g, add, &n[0]->vals[0]);
    nuc_replace_input(g, n[3], n[1], add);
    nuc_replace_input(g, n[3], n[2], add);
    nuc_remove_dead(g);
    const char *before = nuc_graph_print(g, false);
    const uint32_t id = add->id, next_id = g->next_id;
    nuc_graph_gather(g);
    nuc_graph_verify(g, "gather");
    assert_string_equal(nuc_graph_print(g, false), before);
    assert_int_equal(g->next_id, next_id);
    for (struct nuc_node *a = g->first; a->next != NULL; a = a->next)
        assert_ptr_equal(a->next, a + 1);
    add = nuc_find_node(g, "aten_add_tensor");
    assert_int_equal(add->id, id);
    assert_int_equal(nuc_inputs(add, inputs, 2), 2);
    assert_ptr_equal(inputs[1], g->first);
    assert_int_equal(g->first->n_users, 2);
    assert_ptr_equal(g->first->users[1], add);
    assert_ptr_equal(nuc_add_node(g, g->last, NUC_OP_RELU, NULL)->prev, add);
}

static void metas(struct nuc_context *cx, void *arg)
{
    const int64_t sizes[] = {2, 3, 4, 5};
    struct nuc_meta m = nuc_meta_make(NUC_I16, sizes, 4);
    int64_t strides[NUC_MAX_RANK];

    assert_true(nuc_is_contiguous(&m));
    assert_int_equal(nuc_bytes(&m), 240);
    nuc_set_channels_last(&m);
    assert_true(nuc_is_channels_last(&m) && !nuc_is_contiguous(&m));
    nuc_dense_strides(&m, strides);
    assert_int_equal(strides[0], 60);
    assert_int_equal(strides[1], 1);
    assert_int_equal(strides[3], 3);
    assert_string_equal(nuc_meta_text(cx, &m), "int16[2, 3, 4, 5] channels-last");

    /* Channels-last bytes come back in logical order. */
    int16_t bytes[120];
    for (int16_t i = 0; i < 120; i++)
        bytes[i] = i;
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    struct nuc_node *c = nuc_add_constant(g, "w", &m, bytes);
    const int16_t *flat = nuc_const_contiguous(g, c);
    assert_int_equal(flat[((1 * 3 + 2) * 4 + 3) * 5 + 4], ((1 * 4 + 3) * 5 + 4) * 3 + 2);
    assert_int_equal(flat[5], 1 * 5 * 3);
}

static void run(void **state, void (*fn)(struct nuc_context *cx, void *arg))
{
    struct nuc_context *cx = nuc_context_new(NULL);

    enum nuc_status s = nuc_try(cx, fn, NULL);
    if (s != NUC_OK)
        print_error("%s\n", cx->message);
    assert_int_equal(s, NUC_OK);
    nuc_context_free(cx);
}

static void test_schemas(void **state)
{
    run(state, schemas_parse);
}

static void test_names(void **state)
{
    run(state, names_are_unique);
}

static void test_placeholders(void **state)
{
    run(state, placeholders_stay_in_front);
}

static void test_users(void **state)
{
    run(state, users_follow_rewrites);
}

static void test_copies(void **state)
{
    run(state, copies_stand_alone);
}

static void test_renumbering(void **state)
{
    run(state, renumbered_as_copies_are);
    run(state, gathered_in_order);
}

static void test_metas(void **state)
{
    run(state, metas);
}

RUN_TESTS(cmocka_unit_test(test_schemas), cmocka_unit_test(test_names), cmocka_unit_test(test_users),
          cmocka_unit_test(test_placeholders), cmocka_unit_test(test_copies), cmocka_unit_test(test_metas),
          cmocka_unit_test(test_renumbering))
