/* The text form of graphs parses back, errors name their line, and the verifier finds what is broken. */
#include "contexts.h"

#include "graph_text/parse_graph.h"

/* Every kind of argument, value, annotation and name the form has. */
static const char everything[] =
    "nucleon-graph 1\n"
    "%w = parameter \"conv.weight\" : float32[1, 2, 1, 1] data 0000803f000000c0\n"
    "%b = buffer \"a\\\"b\\\\c\\x0a\" : int64[]\n"
    "%k = constant \"k\" : int8[0]\n"
    "%\"odd name\" = input : float32[1, 2, 4, 4] format=channels-first\n"
    "%cl = input : float32[1, 2, 4, 4] channels-last\n"
    "%q = input : int8[2, 3] dim-order(1, 0) format=none\n"
    "%conv2d = aten.conv2d.default(%\"odd name\", %w, none, groups=1) : float32[1, 1, 4, 4] cluster=%relu partition=0 "
    "no-delegate at \"dir/net.py\":12 in \"stem\"\n"
    "%hard = aten.hardtanh.default(%conv2d, -inf, 0.10000000000000001) : float32[1, 1, 4, 4] in \"\"\n"
    "%relu = aten.relu.default(%hard) : float32[1, 1, 4, 4] format=formatless\n"
    "%pad = aten.pad.default(%relu, [1, -1], \"constant\", 1e+300) : float32[1, 1, 4, 4]\n"
    "%dq = quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, -3, -128, 127, int8, out_dtype=none) : "
    "float32[2, 3] dim-order(1, 0)\n"
    "%soft = aten.softmax.int(%dq, -1) : float32[2, 3]\n"
    "%to = aten.to.dtype_layout(%pad, layout=other, copy=false, memory_format=preserve) : float32[1, 1, 4, 4]\n"
    "%clone = aten.clone.default(%cl, memory_format=contiguous) : float32[1, 2, 4, 4]\n"
    "%pool = edge.aten.max_pool2d_with_indices.default(%to, [2, 2], []) : (float32[1, 1, 2, 2], int64[1, 1, 2, 2])\n"
    "%getitem = getitem(%pool, 0) : float32[1, 1, 2, 2]\n"
    "%add = aten.add.Tensor(%getitem, %getitem, alpha=2.0) : float32[1, 1, 2, 2]\n"
    "%output = output([%add, %soft])\n";

struct parsing {
    const char *text;
    struct nuc_graph *g;
};

static void parse(struct nuc_context *cx, void *arg)
{
    struct parsing *p = arg;

    p->g = nuc_graph_parse(cx, "test.txt", p->text);
}

static struct nuc_graph *parse_good(struct nuc_context *cx, const char *text)
{
    struct parsing p = {text, NULL};

    if (nuc_try(cx, parse, &p) != NUC_OK)
        fail_msg("%s", cx->message);
    return p.g;
}

static void verify(struct nuc_context *cx, void *arg)
{
    nuc_graph_verify(arg, "test");
}

static void prints_what_it_parsed(void **state)
{
    struct nuc_context *cx = *state;
    struct nuc_graph *g = parse_good(cx, everything);

    const char *printed = nuc_graph_print(g, true);
    /* 0.1 reads back equal with fewer digits, which is the only difference */
    const char *shorter = strstr(printed, "0.1)");
    assert_non_null(shorter);
    assert_null(strstr(printed, "0.10000000000000001"));
    assert_memory_equal(printed, everything, (size_t)(shorter - printed));
    assert_string_equal(strchr(shorter, ')'), strchr(strstr(everything, "0.10000000000000001"), ')'));
    assert_string_equal(nuc_graph_print(parse_good(cx, printed), true), printed);
    if (nuc_try(cx, verify, g) != NUC_OK)
        fail_msg("%s", cx->message);
}

static void parses_values(void **state)
{
    struct nuc_context *cx = *state;
    struct nuc_graph *g = parse_good(cx, everything);
    const struct nuc_node *conv = nuc_find_node(g, "conv2d");
    const struct nuc_node *w = nuc_find_node(g, "w");

    assert_string_equal(nuc_find_node(g, "b")->target, "a\"b\\c\n");
    assert_string_equal(nuc_arg_node(conv, 0)->name, "odd name");
    assert_true(conv->args[2].given && !conv->args[3].given && conv->args[6].given);
    assert_int_equal(conv->args[3].u.ints[0], 1);
    assert_ptr_equal(conv->cluster, nuc_find_node(g, "relu"));
    assert_int_equal(conv->partition, 0);
    assert_true(conv->do_not_delegate);
    assert_int_equal(conv->source->line, 12);
    assert_int_equal(w->partition, -1);
    assert_int_equal(w->data->bytes.size, 8);
    assert_true(((const float *)nuc_const_contiguous(g, w))[1] == -2.0f);
    assert_int_equal(nuc_find_node(g, "q")->vals[0].dim_order[0], 1);
    assert_int_equal(nuc_find_node(g, "pool")->n_vals, 2);
    assert_int_equal(nuc_find_node(g, "pool")->args[2].count, 0);
    assert_true(nuc_find_node(g, "soft")->args[1].u.i == -1);
}

static void data_are_optional(void **state)
{
    struct nuc_context *cx = *state;
    struct nuc_graph *g = parse_good(cx, nuc_graph_print(parse_good(cx, everything), false));

    assert_null(nuc_find_node(g, "w")->data);
}

/* Types follow from the operators, values repeat until the tensor is full. */
static const char shortened[] = "nucleon-graph 1\n"
                                "%w = parameter \"w\" : float32[2, 1, 1, 2] values(0.5, -2)\n"
                                "# A comment, and one behind a line.\n"
                                "%k = constant \"k\" : int8[5] values(-1, 2) # -1, 2, -1, 2, -1\n"
                                "%n = constant \"n\" : int64[] values(-3)\n"
                                "%x = input : float32[1, 1, 4, 4] channels-last\n"
                                "%y = aten.conv2d.default(%x, %w)\n"
                                "%p = edge.aten.max_pool2d_with_indices.default(%y, [2, 1])\n"
                                "%i = getitem(%p, 1)\n"
                                "%output = output([%i])\n";

/* Both print as if they had been written. */
static void infers_types_and_fills_values(void **state)
{
    struct nuc_context *cx = *state;
    struct nuc_graph *g = parse_good(cx, shortened);

    assert_string_equal(
        nuc_graph_print(g, true),
        "nucleon-graph 1\n"
        "%w = parameter \"w\" : float32[2, 1, 1, 2] data 0000003f000000c00000003f000000c0\n"
        "%k = constant \"k\" : int8[5] data ff02ff02ff\n"
        "%n = constant \"n\" : int64[] data fdffffffffffffff\n"
        "%x = input : float32[1, 1, 4, 4] channels-last\n"
        "%y = aten.conv2d.default(%x, %w) : float32[1, 2, 4, 3] channels-last\n"
        "%p = edge.aten.max_pool2d_with_indices.default(%y, [2, 1]) : (float32[1, 2, 2, 3] channels-last, int64[1, 2, "
        "2, 3] channels-last)\n"
        "%i = getitem(%p, 1) : int64[1, 2, 2, 3] channels-last\n"
        "%output = output([%i])\n");
}

/* Strided data print dense, in the order of the tensor. */
static void prints_strided_data(void **state)
{
    static const uint8_t bytes[6] = {1, 2, 3, 4, 5, 6};
    static const int64_t sizes[2] = {2, 3};
    struct nuc_context *cx = *state;
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    struct nuc_meta meta = nuc_meta_make(NUC_U8, sizes, 2);
    struct nuc_node *k = nuc_add_constant(g, "k", &meta, bytes);
    struct nuc_data columns = {{bytes, sizeof bytes}, (const int64_t[]){1, 2}};

    k->data = &columns;
    assert_non_null(strstr(nuc_graph_print(g, true), " data 010305020406\n"));
    meta.dim_order[0] = 1;
    meta.dim_order[1] = 0;
    nuc_set_val(g, k, &meta);
    assert_non_null(strstr(nuc_graph_print(g, true), " data 010203040506\n"));
}

static void errors_name_the_line(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "test.txt:1: the first line"},
        {"nucleon-graph 2\n", "test.txt:1: the first line"},
        {"nucleon-graph 1\n\n", "test.txt:3: the output is missing"},
        {"nucleon-graph 1\n%y = aten.relu.default(%x) : int8[1]\n", "test.txt:2: %x is not defined above"},
        {"nucleon-graph 1\n%x = input : int8[1]\n%x = input : int8[1]\n", "test.txt:3: the name 'x'"},
        {"nucleon-graph 1\n%x = input : int8[-1]\n", "test.txt:2: the sizes"},
        {"nucleon-graph 1\n%x = input : int8[2147483647, 2]\n", "test.txt:2: the sizes"},
        {"nucleon-graph 1\n%x = input : int8[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]\n", "too many dimensions"},
        {"nucleon-graph 1\n%x = input : int8[2, 2] dim-order(0, 0)\n", "test.txt:2: the sizes or the dim order"},
        {"nucleon-graph 1\n%x = input : int9[1]\n", "an element type is missing"},
        {"nucleon-graph 1\n%x = input\n", "the value's type is missing"},
        {"nucleon-graph 1\n%x = input : int8[1] data 00\n", "only a parameter"},
        {"nucleon-graph 1\n%x = constant \"x\" : int8[2] data 000\n", "3 hexadecimal digits of data for 2 bytes"},
        {"nucleon-graph 1\n%x = constant \"x : int8[2]\n", "does not end on its line"},
        {"nucleon-graph 1\n%x = input : int8[1]\n%y = aten.relu(%x) : int8[1]\n", "no operator 'aten.relu'"},
        {"nucleon-graph 1\n%x = input : int8[1]\n%y = aten.relu.default() : int8[1]\n", "'self' is missing"},
        {"nucleon-graph 1\n%x = input : int8[1]\n%y = aten.relu.default(%x, 1) : int8[1]\n", "too many arguments"},
        {"nucleon-graph 1\n%x = input : int8[1]\n%y = aten.relu.default(5) : int8[1]\n", "'self' has the wrong type"},
        {"nucleon-graph 1\n%x = input : int8[1]\n%y = aten.relu.default(%x, self=%x) : int8[1]\n", "given twice"},
        {"nucleon-graph 1\n%x = input : int8[1]\n%y = aten.relu.default(%y) : int8[1]\n", "is what the line defines"},
        {"nucleon-graph 1\n%x = input : int8[1]\n%y = aten.cat.default([%x, %y]) : int8[2]\n",
         "is what the line defines"},
        {"nucleon-graph 1\n%x = input : int8[1]\n%y = aten.relu.default([%x]) : int8[1]\n", "'self' is not a list"},
        {"nucleon-graph 1\n%x = input : int8[1]\n%o = output([%x])\n%y = input : int8[1]\n", "test.txt:4:"},
        {"nucleon-graph 1\n%x = input : int8[1] cluster=%z\n%o = output([%x])\n", "test.txt:2: there is no node 'z'"},
        {"nucleon-graph 1\n%x = input : int8[1] colour=3\n", "unknown annotation"},
        {"nucleon-graph 1\n%x = input : int8[99999999999999999999]\n", "64 bits"},
        {"nucleon-graph 1\n%x = input : int8[2]\n%c = call_delegate([%x])\n", "the value's type is missing"},
        {"nucleon-graph 1\n%x = input : int8[2]\n%s = aten.split.Tensor(%x, 1)\n%y = aten.relu.default(%s)\n",
         "only getitem reads a tuple"},
        {"nucleon-graph 1\n%x = input : int8[2]\n%y = getitem(%x, 0)\n", "only getitem reads a tuple"},
        {"nucleon-graph 1\n%x = input : int8[2]\n%y = aten.t.default(%x)\n%z = aten.mm.default(%x, %y)\n", "'z'"},
        {"nucleon-graph 1\n%x = input : int8[1] values(1)\n", "only a parameter"},
        {"nucleon-graph 1\n%x = constant \"x\" : int8[1] values(1, 2)\n", "more values than"},
        {"nucleon-graph 1\n%x = constant \"x\" : int8[1] values(1.5)\n", "cannot be an element of int8"},
        {"nucleon-graph 1\n%x = constant \"x\" : int8[1] values()\n", "a number is missing"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        struct parsing p = {cases[i].text, NULL};
        assert_int_equal(nuc_try(cx, parse, &p), NUC_BAD_INPUT);
        if (strstr(cx->message, cases[i].message) == NULL)
            fail_msg("'%s' is not in '%s'", cases[i].message, cx->message);
        nuc_context_free(cx);
    }
}

/* ---- the verifier ---- */

static void break_users(struct nuc_graph *g)
{
    nuc_find_node(g, "relu")->n_users = 0;
}

static void add_false_user(struct nuc_graph *g)
{
    struct nuc_node *relu = nuc_find_node(g, "relu");

    struct nuc_node **users = nuc_alloc_array(g->cx, 2, sizeof(struct nuc_node *));

    users[0] = relu->users[0];
    users[1] = nuc_find_node(g, "add");
    relu->users = users;
    relu->n_users = relu->users_capacity = 2;
}

static void break_order(struct nuc_graph *g)
{
    nuc_move_before(g, nuc_find_node(g, "relu"), nuc_find_node(g, "hard"));
}

static void break_dim_order(struct nuc_graph *g)
{
    struct nuc_meta meta = nuc_find_node(g, "q")->vals[0];

    meta.dim_order[0] = 0;
    nuc_set_val(g, nuc_find_node(g, "q"), &meta);
}

static void break_size(struct nuc_graph *g)
{
    struct nuc_meta meta = nuc_find_node(g, "relu")->vals[0];

    meta.sizes[2] = 5;
    nuc_set_val(g, nuc_find_node(g, "relu"), &meta);
}

static void break_dtype(struct nuc_graph *g)
{
    struct nuc_meta meta = nuc_find_node(g, "soft")->vals[0];

    meta.dtype = NUC_I8;
    nuc_set_val(g, nuc_find_node(g, "soft"), &meta);
}

static void break_argument(struct nuc_graph *g)
{
    nuc_set_arg_float(nuc_find_node(g, "soft"), 1, 1.0);
}

static void break_data(struct nuc_graph *g)
{
    struct nuc_data *data = nuc_copy(g->cx, nuc_find_node(g, "w")->data, sizeof *data);

    data->bytes.size--;
    nuc_find_node(g, "w")->data = data;
}

static void break_name(struct nuc_graph *g)
{
    nuc_find_node(g, "relu")->name = "hard";
}

static void break_end(struct nuc_graph *g)
{
    nuc_move_before(g, nuc_output_node(g), nuc_find_node(g, "add"));
}

static void break_tuple(struct nuc_graph *g)
{
    nuc_replace_uses(g, nuc_find_node(g, "getitem"), nuc_find_node(g, "pool"), NULL);
}

static void break_count(struct nuc_graph *g)
{
    g->n_nodes++;
}

static void break_count_of_op(struct nuc_graph *g)
{
    g->n_of_op[NUC_OP_CONV2D]++;
}

/* The text of another node's name would do: a name belongs to the node it was given to. */
static void break_text_of_name(struct nuc_graph *g)
{
    struct nuc_node *node = nuc_find_node(g, "relu");

    node->name = nuc_strdup(g->cx, node->name);
}

static void verifier_finds_defects(void **state)
{
    static const struct {
        void (*damage)(struct nuc_graph *g);
        const char *message;
    } cases[] = {
        {break_users, "does not know it as a user"},
        {add_false_user, "users are noted"},
        {break_order, "does not come before it"},
        {break_dim_order, "dim order are impossible"},
        {break_size, "node 'relu' (aten.relu.default): it says float32[1, 1, 5, 4]"},
        {break_dtype, "it says int8[2, 3], its operator makes float32[2, 3]"},
        {break_argument, "argument 'dim' has the wrong type"},
        {break_data, "data are shorter"},
        {break_name, "name belongs to another"},
        {break_end, "the output"},
        {break_tuple, "only getitem reads a tuple"},
        {break_count, "the graph counts"},
        {break_count_of_op, "the graph counts"},
        {break_text_of_name, "name belongs to another"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        struct nuc_graph *g = parse_good(cx, everything);
        cases[i].damage(g);
        assert_int_equal(nuc_try(cx, verify, g), NUC_INTERNAL);
        assert_non_null(strstr(cx->message, "after test"));
        if (strstr(cx->message, cases[i].message) == NULL)
            fail_msg("'%s' is not in '%s'", cases[i].message, cx->message);
        nuc_context_free(cx);
    }
}

RUN_TESTS(STATE_TEST(prints_what_it_parsed), STATE_TEST(parses_values), STATE_TEST(data_are_optional),
          STATE_TEST(infers_types_and_fills_values), STATE_TEST(prints_strided_data),
          cmocka_unit_test(errors_name_the_line), cmocka_unit_test(verifier_finds_defects))
