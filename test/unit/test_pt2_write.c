/* Archives written from graphs: read back equal, the same bytes each time, laid out as torch does it. */
#include <unistd.h>

#include "failing_memory.h"
#include "graph_texts.h"

#include "archive/json.h"
#include "archive/json_build.h"
#include "archive/zip.h"
#include "front/pt2/pt2.h"
#include "front/pt2/pt2_write.h"
#include "host/file.h"
#include "ir/labels.h"

/* Writes the bytes to a file of their own; the caller unlinks it. */
static const char *save(struct nuc_context *cx, struct nuc_span bytes)
{
    char *path = nuc_strdup(cx, "/tmp/nucleon_test_XXXXXX");
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    nuc_write_file(cx, path, bytes);
    return path;
}

/* The archive of a graph, in one span. */
static struct nuc_span written(struct nuc_graph *g)
{
    struct nuc_pieces archive = nuc_write_pt2(g);

    return nuc_join_pieces(g->cx, &archive);
}

static struct nuc_graph *import(struct nuc_context *cx, struct nuc_span bytes)
{
    const char *path = save(cx, bytes);
    struct nuc_graph *g = nuc_import_pt2(cx, (struct nuc_stored){.path = path}, NULL);

    unlink(path);
    return g;
}

static const struct nuc_zip *open_zip(struct nuc_context *cx, struct nuc_span bytes)
{
    const char *path = save(cx, bytes);
    const struct nuc_zip *zip = nuc_zip_open(cx, (struct nuc_stored){.path = path});

    unlink(path);
    return zip;
}

static struct nuc_span entry(const struct nuc_zip *zip, const char *name)
{
    const struct nuc_zip_entry *e = nuc_zip_find(zip, name);

    if (e == NULL)
        fail_msg("no entry '%s'", name);
    return nuc_zip_read(zip, e);
}

/* The description of the model, as text. */
static const char *model_text(struct nuc_graph *g)
{
    struct nuc_span text = entry(open_zip(g->cx, written(g)), "archive/models/model.json");

    return nuc_format(g->cx, "%.*s", (int)text.size, (const char *)text.data);
}

static void expect_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in: %s", part, text);
}

static void check_round_trip(struct nuc_context *cx, const char *lines)
{
    struct nuc_graph *g = parse_graph(cx, lines);

    nuc_label_sources(g); /* as importers do */
    struct nuc_span first = written(g);
    struct nuc_span second = written(nuc_graph_copy(g));

    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    struct nuc_graph *back = import(cx, first);
    assert_string_equal(nuc_graph_print(back, true), nuc_graph_print(g, true));
    struct nuc_span third = written(back);
    assert_int_equal(first.size, third.size);
    assert_memory_equal(first.data, third.data, first.size);
}

/* ---- round trips ---- */

#define ZEROS8 "00000000000000000000000000000000"

static const char *const graphs[] = {
    /* a state */
    "%b_h = state \"cell.h\" : float32[2] data 0000003f0000803f\n"
    "%x = input : float32[2]\n"
    "%add = aten.add.Tensor(%x, %b_h) : float32[2]\n"
    "%relu = aten.relu.default(%add) : float32[2]\n"
    "%output = output([%relu, %add])\n",
    /* a convolution with a channels-last weight and everything a source can say */
    "%p_w = parameter \"stem.weight\" : float32[1, 2, 1, 2] channels-last data 0000803f000000400000404000008040\n"
    "%x = input : float32[1, 2, 3, 3] channels-last\n"
    "%conv2d = aten.conv2d.default(%x, %p_w, none, [1, 1], [0, 0]) : float32[1, 1, 3, 2] channels-last at \"net.py\":7 "
    "in \"blocks.0.stem\"\n"
    "%relu = aten.relu.default(%conv2d) : float32[1, 1, 3, 2] channels-last at \"net.py\":8 in \"\"\n"
    "%output = output([%relu])\n",

    /* quantized: tensors as scales, an argument by keyword after a gap */
    "%b_q = buffer \"_frozen_param0\" : int8[2, 2] data 01ff7f80\n"
    "%b_s = buffer \"_scale_0\" : float32[2] data 0000003f0000803f\n"
    "%b_z = buffer \"_zero_point_0\" : int64[2] data 00000000000000000100000000000000\n"
    "%x = input : float32[1, 2]\n"
    "%w = quantized_decomposed.dequantize_per_channel.default(%b_q, %b_s, %b_z, 0, -127, 127, int8) : float32[2, 2]\n"
    "%q = quantized_decomposed.quantize_per_tensor.default(%x, 0.0039215686274509803, -128, -128, 127, int8) : int8[1, "
    "2]\n"
    "%d = quantized_decomposed.dequantize_per_tensor.default(%q, 0.0039215686274509803, -128, -128, 127, int8, "
    "out_dtype=float32) : float32[1, 2]\n"
    "%linear = aten.linear.default(%d, %w) : float32[1, 2]\n"
    "%output = output([%linear, %linear])\n",

    /* a list of results of which one is not read, a pair of results, lists of tensors, keyword-only arguments */
    "%x = input : float32[1, 6, 4, 4]\n"
    "%split = aten.split.Tensor(%x, 2, 1) : (float32[1, 2, 4, 4], float32[1, 2, 4, 4], float32[1, 2, 4, 4])\n"
    "%a = getitem(%split, 0) : float32[1, 2, 4, 4]\n"
    "%c = getitem(%split, 2) : float32[1, 2, 4, 4]\n"
    "%cat = aten.cat.default([%c, %a], 1) : float32[1, 4, 4, 4]\n"
    "%pool = aten.max_pool2d_with_indices.default(%cat, [2, 2]) : (float32[1, 4, 2, 2], int64[1, 4, 2, 2])\n"
    "%p = getitem(%pool, 0) : float32[1, 4, 2, 2]\n"
    "%gelu = aten.gelu.default(%p, approximate=\"tanh\") : float32[1, 4, 2, 2]\n"
    "%clone = aten.clone.default(%gelu, memory_format=contiguous) : float32[1, 4, 2, 2]\n"
    "%sum = aten.sum.dim_IntList(%clone, [2, 3], true) : float32[1, 4, 1, 1]\n"
    "%output = output([%sum, %x])\n",

    /* bounds without numbers, in place, a number that was a tensor argument */
    "%x = input : float32[2, 2]\n"
    "%add_other = constant \"add_other\" : float32[] data 00002040\n"
    "%clamp = aten.clamp.default(%x, -inf, 6.0) : float32[2, 2]\n"
    "%relu_ = aten.relu_.default(%clamp) : float32[2, 2]\n"
    "%add = aten.add.Tensor(%relu_, %add_other) : float32[2, 2]\n"
    "%output = output([%add])\n",

    /* nothing in it, no dimension, every element type */
    "%b_empty = buffer \"empty\" : float32[0, 3] data\n"
    "%c_f64 = constant \"f64\" : float64[1] data 000000000000f03f\n"
    "%c_i16 = constant \"i16\" : int16[1] data 0100\n"
    "%c_u16 = constant \"u16\" : uint16[1] data 0100\n"
    "%c_i32 = constant \"i32\" : int32[1] data 01000000\n"
    "%c_u8 = constant \"u8\" : uint8[1] data 01\n"
    "%c_bool = constant \"bool\" : bool[1] data 01\n"
    "%x = input : float32[]\n"
    "%output = output([%b_empty, %c_f64, %c_i16, %c_u16, %c_i32, %c_u8, %c_bool, %x])\n",
};

static void check_graph(struct nuc_context *cx, void *arg)
{
    check_round_trip(cx, graphs[*(size_t *)arg]);
}

static void test_round_trips(void **state)
{
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++)
        run_in_context(check_graph, &i);
}

/* ---- layout of the archive ---- */

static void check_tied(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_graph(cx, "%p_a = parameter \"a\" : float32[2, 2] data " ZEROS8 "\n"
                                          "%p_b = parameter \"b\" : float32[2, 2] data " ZEROS8 "\n"
                                          "%p_c = parameter \"c\" : float32[2, 2] data " ZEROS8 "\n"
                                          "%x = input : float32[1, 2]\n"
                                          "%l = aten.linear.default(%x, %p_a) : float32[1, 2]\n"
                                          "%m = aten.linear.default(%l, %p_b) : float32[1, 2]\n"
                                          "%n = aten.linear.default(%m, %p_c) : float32[1, 2]\n"
                                          "%output = output([%n])\n");

    node_of(g, "p_c")->data = node_of(g, "p_a")->data;
    const struct nuc_zip *zip = open_zip(cx, written(g));
    assert_int_equal(entry(zip, "archive/data/weights/weight_0").size, 16);
    assert_int_equal(entry(zip, "archive/data/weights/weight_1").size, 16);
    assert_null(nuc_zip_find(zip, "archive/data/weights/weight_2"));
    struct nuc_graph *back = import(cx, written(g));
    assert_ptr_equal(node_of(back, "p_a")->data->bytes.data, node_of(back, "p_c")->data->bytes.data);
    assert_string_equal(nuc_graph_print(back, true), nuc_graph_print(g, true));
}

/* Names of the state dict are unique even when those of the graph's constants are not. */
static void check_same_target(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_graph(cx, "%p_a = parameter \"a\" : float32[1, 2] data 0000000000000000\n"
                                          "%p_b = parameter \"a\" : float32[1, 2] data 0000803f0000803f\n"
                                          "%x = input : float32[1, 2]\n"
                                          "%l = aten.linear.default(%x, %p_a) : float32[1, 1]\n"
                                          "%m = aten.linear.default(%x, %p_b) : float32[1, 1]\n"
                                          "%output = output([%l, %m])\n");
    struct nuc_graph *back = import(cx, written(g));
    const float *b = nuc_const_contiguous(back, node_of(back, "p_b"));

    assert_string_equal(node_of(back, "p_b")->target, "a_1");
    assert_true(b[0] == 1.0f);
}

static void check_entries(struct nuc_context *cx, void *arg)
{
    static const struct {
        const char *name, *content;
    } texts[] = {
        {"archive/archive_format", "pt2"},
        {"archive/archive_version", "0"},
        {"archive/byteorder", "little"},
        {"archive/.data/version", "6\n"},
        {"archive/data/sample_inputs/model.pt", ""},
        {"archive/data/constants/model_constants_config.json", "{\"config\":{}}"},
    };
    const struct nuc_zip *zip = open_zip(cx, written(parse_graph(cx, graphs[0])));

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct nuc_span content = entry(zip, texts[i].name);
        assert_int_equal(content.size, strlen(texts[i].content));
        assert_memory_equal(content.data, texts[i].content, content.size);
    }
    for (size_t i = 0; i < zip->count; i++)
        assert_int_equal(zip->entries[i].method, 0);
}

/* ---- what torch evaluates ---- */

/* What an in-place operator overwrites may be read later, or be the model's own: then it must not work in place. */
static void check_in_place(struct nuc_context *cx, void *arg)
{
    const char *text = model_text(parse_graph(cx, "%p_a = parameter \"a\" : float32[2] data 0000000000000000\n"
                                                  "%x = input : float32[2]\n"
                                                  "%y = aten.neg.default(%x) : float32[2]\n"
                                                  "%v = aten.view.default(%y, [2]) : float32[2]\n"
                                                  "%r = aten.relu_.default(%y) : float32[2]\n"
                                                  "%s = aten.sigmoid_.default(%p_a) : float32[2]\n"
                                                  "%z = aten.abs.default(%r) : float32[2]\n"
                                                  "%h = aten.hardswish_.default(%z) : float32[2]\n"
                                                  "%output = output([%v, %s, %h])\n"));

    expect_text(text, "torch.ops.aten.relu.default");
    expect_text(text, "torch.ops.aten.sigmoid.default");
    expect_text(text, "torch.ops.aten.hardswish_.default");
}

/* clamp(x, 0.0) of an integer tensor is a floating tensor, clamp(x, 0) is not. */
static void check_integer_scalars(struct nuc_context *cx, void *arg)
{
    const char *text = model_text(parse_graph(cx, "%x = input : int32[2]\n"
                                                  "%c = aten.clamp.default(%x, 0, 6) : int32[2]\n"
                                                  "%output = output([%c])\n"));

    expect_text(text, "{\"name\":\"min\",\"arg\":{\"as_int\":0},\"kind\":1}");
}

/* Arguments after one that is left out go by keyword. */
static void check_argument_kinds(struct nuc_context *cx, void *arg)
{
    const char *text = model_text(parse_graph(cx, "%x = input : float32[1, 2, 4, 4]\n"
                                                  "%p = aten.avg_pool2d.default(%x, [2, 2], ceil_mode=true) : "
                                                  "float32[1, 2, 2, 2]\n"
                                                  "%output = output([%p])\n"));

    expect_text(text, "{\"name\":\"kernel_size\",\"arg\":{\"as_ints\":[2,2]},\"kind\":1}");
    expect_text(text, "{\"name\":\"ceil_mode\",\"arg\":{\"as_bool\":true},\"kind\":2}");

    struct nuc_graph *g = parse_graph(cx, "%x = input : float32[1, 2, 4, 4]\n"
                                          "%u = aten.upsample_nearest2d.vec(%x, none, [2.0, 2.0]) : "
                                          "float32[1, 2, 8, 8]\n"
                                          "%output = output([%u])\n");
    g->last->prev->args[NUC_ARG(UPSAMPLE_NEAREST, output_size)].given = false; /* as a rewrite leaves it */
    expect_text(model_text(g), "{\"name\":\"output_size\",\"arg\":{\"as_none\":true},\"kind\":1}");
}

/* ---- how Python calls the model ---- */

#define LEAF "{\\\"type\\\": null, \\\"context\\\": null, \\\"children_spec\\\": []}"

static void check_call_spec(struct nuc_context *cx, void *arg)
{
    static const char *const names[] = {"batch"};
    static const struct nuc_call_spec spec = {"[1, \"in\"]", "[1, \"out\"]", 1, names};
    struct nuc_graph *g = parse_graph(cx, "%x = input : float32[2]\n"
                                          "%y = input : float32[2]\n"
                                          "%m = aten.maximum.default(%x, %y) : float32[2]\n"
                                          "%output = output([%m])\n");

    const char *text = model_text(g);
    expect_text(text, "\"children_spec\\\": [" LEAF ", " LEAF "]}, {\\\"type\\\": \\\"builtins.dict\\\"");
    expect_text(text, "\"out_spec\":\"[1, " LEAF "]\"");
    expect_text(text, "\"forward_arg_names\":[\"x\",\"y\"]");
    g->call_spec = &spec;
    text = model_text(import(cx, written(nuc_graph_copy(g))));
    expect_text(text, "\"in_spec\":\"[1, \\\"in\\\"]\"");
    expect_text(text, "\"out_spec\":\"[1, \\\"out\\\"]\"");
    expect_text(text, "\"forward_arg_names\":[\"batch\"]");
}

/* ---- failures ---- */

static const char *const refused[] = {
    "%x = input : float32[2]\n"
    "%r = edge.aten.relu.default(%x) : float32[2]\n"
    "%output = output([%r])\n",
    "%x = input : float32[2]\n"
    "%r = aten.relu.default(%x) : float32[2] at \"\\xff.py\":3\n"
    "%output = output([%r])\n",
};

static void write_refused(struct nuc_context *cx, void *arg)
{
    written(parse_graph(cx, refused[*(size_t *)arg]));
}

static void test_failures(void **state)
{
    expect_failure(write_refused, &(size_t){0}, NUC_BAD_USAGE, "node 'r' (edge.aten.relu.default)");
    expect_failure(write_refused, &(size_t){1}, NUC_BAD_INPUT, "not UTF-8");
}

static void write_whole(struct nuc_context *cx, void *arg)
{
    assert_true(nuc_write_pt2(parse_graph(cx, graphs[2])).count > 0);
    *(bool *)arg = true;
}

static void test_out_of_memory(void **state)
{
    bool done = false;

    assert_true(run_call_out_of_memory(write_whole, &done) > 0);
    assert_true(done);
}

/* ---- long lists ---- */

/* An object with a list and an object of so many members between others, made text at once or while they grow. */
static struct nuc_span long_text(struct nuc_context *cx, unsigned members, bool at_once)
{
    json_t *tree = nuc_json_tree(cx);

    nuc_put_string(cx, tree, "before", "\"0\":null");
    struct nuc_json_long object = {.container = nuc_put_object(cx, tree, "object")};
    struct nuc_json_long list = {.container = nuc_put_array(cx, nuc_put_object(cx, tree, "inside"), "list")};
    nuc_put_array(cx, tree, "empty");
    for (unsigned i = 0; i < members; i++) {
        nuc_put_int(cx, nuc_put_object(cx, object.container, nuc_format(cx, "k%u", i)), "value", i);
        nuc_put_string(cx, nuc_put_object(cx, list.container, NULL), "text", "a, [1]");
        if (at_once)
            continue;
        nuc_json_member_done(cx, &object);
        nuc_json_member_done(cx, &list);
    }
    if (at_once)
        return nuc_json_dump(cx, tree, JSON_COMPACT);
    struct nuc_pieces text = nuc_json_dump_long(cx, tree, (struct nuc_json_long *const[]){&list, &object}, 2);
    return nuc_join_pieces(cx, &text);
}

static void check_long_lists(struct nuc_context *cx, void *arg)
{
    static const unsigned members[] = {0, 1, 127, 128, 129, 256, 1000};

    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        struct nuc_span once = long_text(cx, members[i], true), grown = long_text(cx, members[i], false);
        assert_int_equal(grown.size, once.size);
        assert_memory_equal(grown.data, once.data, once.size);
    }
}

/* ---- */

RUN_TESTS(cmocka_unit_test(test_round_trips), CONTEXT_TEST(check_tied), CONTEXT_TEST(check_same_target),
          CONTEXT_TEST(check_entries), CONTEXT_TEST(check_in_place), CONTEXT_TEST(check_integer_scalars),
          CONTEXT_TEST(check_argument_kinds), CONTEXT_TEST(check_call_spec), CONTEXT_TEST(check_long_lists),
          cmocka_unit_test(test_failures), cmocka_unit_test(test_out_of_memory))
