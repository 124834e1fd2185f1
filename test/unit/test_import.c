/* torch.export archives: a small one made here, read whole, and damaged in every way that has its own message. */
#include "contexts.h"

#include <unistd.h>

#include "archive/zip.h"
#include "archive/zip_write.h"
#include "front/pt2/pt2.h"
#include "host/file.h"

/*
 * y = flatten(relu_(conv(conv(x, w), v)), 1): w and v are tied (one file, v reads it channels-last), the batch counter
 * is dead, the assertion has no result.
 */
#define SIZES_X "[{\"as_int\":1},{\"as_int\":2},{\"as_int\":4},{\"as_int\":4}]"
#define META(sizes, strides, dtype)                                                                                    \
    "{\"dtype\":" dtype ",\"sizes\":" sizes ",\"strides\":" strides                                                    \
    ",\"storage_offset\":{\"as_int\":0},\"layout\":7,\"requires_grad\":false}"
#define STRIDES_X "[{\"as_int\":32},{\"as_int\":16},{\"as_int\":4},{\"as_int\":1}]"
#define STRIDES_CL "[{\"as_int\":32},{\"as_int\":1},{\"as_int\":8},{\"as_int\":2}]"
#define SIZES_W "[{\"as_int\":2},{\"as_int\":2},{\"as_int\":3},{\"as_int\":3}]"
#define STRIDES_W "[{\"as_int\":18},{\"as_int\":9},{\"as_int\":3},{\"as_int\":1}]"
#define STRIDES_V "[{\"as_int\":18},{\"as_int\":1},{\"as_int\":6},{\"as_int\":2}]"
#define TENSOR(name) "{\"as_tensor\":{\"name\":\"" name "\"}}"
#define INPUT(name, arg) "{\"name\":\"" name "\",\"arg\":" arg ",\"kind\":1}"

/* clang-format off */
static const char model_json[] =
    "{\"schema_version\":{\"major\":8,\"minor\":20},\"graph_module\":{\"graph\":{"
    "\"inputs\":[" TENSOR("p_w") "," TENSOR("p_v") "," TENSOR("b_count") "," TENSOR("x") "],"
    "\"outputs\":[" TENSOR("flatten") "],"
    "\"nodes\":["
    "{\"target\":\"torch.ops.aten._assert_tensor_metadata.default\",\"inputs\":[],\"outputs\":[],\"metadata\":{}},"
    "{\"target\":\"torch.ops.aten.conv2d.default\",\"name\":\"conv2d\",\"inputs\":["
    INPUT("input", TENSOR("x")) "," INPUT("weight", TENSOR("p_w")) "," INPUT("bias", "{\"as_none\":true}") ","
    INPUT("stride", "{\"as_ints\":[1]}") "," INPUT("padding", "{\"as_int\":1}") "],"
    "\"outputs\":[" TENSOR("conv2d") "],\"metadata\":{"
    "\"stack_trace\":\"File \\\"net.py\\\", line 12, in forward\\n    y\\n"
    "  File \\\"/usr/torch/nn/conv.py\\\", line 5, in f\","
    "\"nn_module_stack\":\"L__self__,,Net;L__self__stem,stem,torch.nn.Conv2d\"}},"
    "{\"target\":\"torch.ops.aten.conv2d.default\",\"name\":\"conv2d_1\",\"inputs\":["
    INPUT("input", TENSOR("conv2d")) "," INPUT("weight", TENSOR("p_v")) "," INPUT("padding", "{\"as_ints\":[1,1]}") "],"
    "\"outputs\":[" TENSOR("conv2d_1") "],\"metadata\":{}},"
    "{\"target\":\"torch.ops.aten.relu_.default\",\"name\":\"relu_\",\"inputs\":["
    INPUT("self", TENSOR("conv2d_1")) "],\"outputs\":[" TENSOR("relu_") "],\"metadata\":{}},"
    "{\"target\":\"torch.ops.aten.flatten.using_ints\",\"name\":\"flatten\",\"inputs\":["
    INPUT("self", TENSOR("conv2d_1")) "," INPUT("start_dim", "{\"as_int\":1}") "],"
    "\"outputs\":[" TENSOR("flatten") "],\"metadata\":{}}],"
    "\"tensor_values\":{"
    "\"p_w\":" META(SIZES_W, STRIDES_W, "7") ",\"p_v\":" META(SIZES_W, STRIDES_V, "7") ","
    "\"b_count\":" META("[]", "[]", "5") ",\"x\":" META(SIZES_X, STRIDES_X, "7") ","
    "\"conv2d\":" META(SIZES_X, STRIDES_X, "7") ",\"conv2d_1\":" META(SIZES_X, STRIDES_CL, "7") ","
    "\"relu_\":" META(SIZES_X, STRIDES_CL, "7") ","
    "\"flatten\":" META("[{\"as_int\":1},{\"as_int\":32}]", "[{\"as_int\":32},{\"as_int\":1}]", "7") "}},"
    "\"signature\":{\"input_specs\":["
    "{\"parameter\":{\"arg\":{\"name\":\"p_w\"},\"parameter_name\":\"w\"}},"
    "{\"parameter\":{\"arg\":{\"name\":\"p_v\"},\"parameter_name\":\"v\"}},"
    "{\"buffer\":{\"arg\":{\"name\":\"b_count\"},\"buffer_name\":\"count\",\"persistent\":false}},"
    "{\"user_input\":{\"arg\":" TENSOR("x") "}}],"
    "\"output_specs\":[{\"user_output\":{\"arg\":" TENSOR("flatten") "}}]}}}";
/* clang-format on */

static const char weights_json[] =
    "{\"config\":{"
    "\"w\":{\"path_name\":\"weight_0\",\"is_param\":true,\"use_pickle\":false,\"tensor_meta\":" META(
        SIZES_W, STRIDES_W,
        "7") "},"
             "\"v\":{\"path_name\":\"weight_0\",\"is_param\":true,\"use_pickle\":false,\"tensor_meta\":" META(
                 SIZES_W, STRIDES_V, "7") "}}}";

static const char constants_json[] = "{\"config\":{\"count\":{\"path_name\":\"constant_0\",\"is_param\":false,\"use_"
                                     "pickle\":false,\"tensor_meta\":" META("[]", "[]", "5") "}}}";

struct archive {
    const char *model, *weights, *constants;
    size_t weight_bytes;
    const char *without; /* an entry left out, or NULL */
};

static struct archive whole(void)
{
    return (struct archive){model_json, weights_json, constants_json, 36 * sizeof(float), NULL};
}

static struct nuc_span text_span(const char *text)
{
    return (struct nuc_span){(const uint8_t *)text, strlen(text)};
}

static void add(struct nuc_zip_writer *w, const struct archive *a, const char *name, struct nuc_span content)
{
    if (a->without == NULL || strcmp(a->without, name) != 0)
        nuc_zip_add(w, name, content);
}

static struct nuc_span make_archive(struct nuc_context *cx, const struct archive *a)
{
    struct nuc_zip_writer *w = nuc_zip_writer_new(cx);
    float weights[36];
    int64_t count = 7;

    for (size_t i = 0; i < 36; i++)
        weights[i] = (float)i;
    add(w, a, "m/archive_format", text_span("pt2"));
    add(w, a, "m/archive_version", text_span("0"));
    add(w, a, "m/byteorder", text_span("little\n"));
    add(w, a, "m/data/weights/weight_0", (struct nuc_span){(const uint8_t *)weights, a->weight_bytes});
    add(w, a, "m/data/constants/constant_0", (struct nuc_span){(const uint8_t *)&count, sizeof count});
    add(w, a, "m/data/weights/model_weights_config.json", text_span(a->weights));
    add(w, a, "m/data/constants/model_constants_config.json", text_span(a->constants));
    add(w, a, "m/models/model.json", text_span(a->model));
    struct nuc_pieces archive = nuc_zip_finish(w, "archive");
    return nuc_join_pieces(cx, &archive);
}

/* Writes the bytes to a file of its own; the caller unlinks it. */
static const char *save(struct nuc_context *cx, struct nuc_span bytes)
{
    char *path = nuc_strdup(cx, "/tmp/nucleon_test_XXXXXX");
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    nuc_write_file(cx, path, bytes);
    return path;
}

struct import {
    const char *path;
    struct nuc_graph *g;
};

static void import(struct nuc_context *cx, void *arg)
{
    struct import *call = arg;

    call->g = nuc_import_pt2(cx, (struct nuc_stored){.path = call->path});
}

/* The graph, or NULL with the status. */
static struct nuc_graph *import_bytes(struct nuc_context *cx, struct nuc_span bytes, enum nuc_status *status)
{
    struct import call = {save(cx, bytes), NULL};

    *status = nuc_try(cx, import, &call);
    unlink(call.path);
    return call.g;
}

static struct nuc_graph *import_whole(struct nuc_context *cx)
{
    struct archive a = whole();
    enum nuc_status status;
    struct nuc_graph *g = import_bytes(cx, make_archive(cx, &a), &status);

    if (status != NUC_OK)
        fail_msg("%s", cx->message);
    return g;
}

/* ---- what is read ---- */

static void reads_nodes(void **state)
{
    struct nuc_context *cx = *state;
    struct nuc_graph *g = import_whole(cx);
    const struct nuc_node *conv = nuc_find_node(g, "conv2d");

    nuc_graph_verify(g, "import");
    assert_int_equal(g->n_nodes, 8); /* w, v, x, two convolutions, relu_, flatten, output */
    assert_null(nuc_find_node(g, "b_count"));
    assert_int_equal(conv->op, NUC_OP_CONV2D);
    assert_string_equal(conv->source->file, "net.py");
    assert_int_equal(conv->source->line, 12);
    assert_string_equal(conv->source->module, "stem");
    assert_int_equal(conv->args[2].kind, NUC_ARG_NONE);
    assert_int_equal(conv->args[3].count, 2); /* [1] and 1 stand for both dimensions */
    assert_int_equal(conv->args[4].count, 2);
    assert_int_equal(conv->args[4].u.ints[1], 1);
    assert_true(conv->args[4].given);
    assert_false(conv->args[5].given);
    assert_int_equal(conv->args[6].u.i, 1);
}

static void follows_channels_last_weight(void **state)
{
    struct nuc_context *cx = *state;
    struct nuc_graph *g = import_whole(cx);

    assert_true(nuc_is_contiguous(&nuc_find_node(g, "conv2d")->vals[0]));
    assert_true(nuc_is_channels_last(&nuc_find_node(g, "p_v")->vals[0]));
    assert_true(nuc_is_channels_last(&nuc_find_node(g, "conv2d_1")->vals[0]));
}

static void tied_weights_share_bytes(void **state)
{
    struct nuc_context *cx = *state;
    struct nuc_graph *g = import_whole(cx);
    const struct nuc_node *w = nuc_find_node(g, "p_w");
    const struct nuc_node *v = nuc_find_node(g, "p_v");

    assert_ptr_equal(w->data->bytes.data, v->data->bytes.data);
    assert_string_equal(v->target, "v");
    const float *logical = nuc_const_contiguous(g, v);
    /* v[o][i][y][x] lies at 18 o + i + 6 y + 2 x */
    assert_true(logical[0] == 0.0f && logical[1] == 2.0f && logical[3] == 6.0f && logical[9] == 1.0f);
    assert_true(logical[18] == 18.0f);
}

/* ---- other models, made from the whole one ---- */

/* The first `old` in `text` becomes `new`. */
static const char *replace(struct nuc_context *cx, const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);

    assert_non_null(at);
    return nuc_format(cx, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

struct edit {
    const char *old, *new;
};

static struct nuc_graph *import_edited(struct nuc_context *cx, const struct edit *edits, size_t count,
                                       enum nuc_status *status)
{
    struct archive a = whole();

    for (size_t i = 0; i < count; i++)
        a.model = replace(cx, a.model, edits[i].old, edits[i].new);
    return import_bytes(cx, make_archive(cx, &a), status);
}

#define RELU_NODE                                                                                                      \
    "{\"target\":\"torch.ops.aten.relu_.default\",\"name\":\"relu_\",\"inputs\":[" INPUT(                              \
        "self", TENSOR("conv2d_1")) "],\"outputs\":[" TENSOR("relu_") "],\"metadata\":{}}"
#define FLATTEN_INPUT INPUT("self", TENSOR("conv2d_1")) "," INPUT("start_dim", "{\"as_int\":1}")
#define SIZES_HALF "[{\"as_int\":1},{\"as_int\":1},{\"as_int\":4},{\"as_int\":4}]"
#define CHUNK_NODE                                                                                                     \
    "{\"target\":\"torch.ops.aten.chunk.default\",\"name\":\"chunk\",\"inputs\":[" INPUT(                              \
        "self",                                                                                                        \
        TENSOR("conv2d_1")) "," INPUT("chunks",                                                                        \
                                      "{\"as_int\":2}") "," INPUT("dim",                                               \
                                                                  "{\"as_int\":1}") "],\"outputs\":[{\"as_tensors\":[" \
                                                                                    "{\"name\":\"part\"},{\"name\":"   \
                                                                                    "\"relu_\"}]}],\"metadata\":{}}"

/* A list of results becomes a tuple and items with the archive's names. */
static void lists_of_results_become_items(void **state)
{
    static const struct edit edits[] = {
        {RELU_NODE, CHUNK_NODE},
        {"\"relu_\":" META(SIZES_X, STRIDES_CL, "7"),
         "\"relu_\":" META(SIZES_HALF, STRIDES_CL, "7") ",\"part\":" META(SIZES_HALF, STRIDES_CL, "7")},
        {FLATTEN_INPUT, INPUT("self", TENSOR("relu_")) "," INPUT("start_dim", "{\"as_int\":1}")},
        {"[{\"as_int\":1},{\"as_int\":32}]", "[{\"as_int\":1},{\"as_int\":16}]"},
    };
    struct nuc_context *cx = *state;
    enum nuc_status status;
    struct nuc_graph *g = import_edited(cx, edits, 4, &status);

    if (status != NUC_OK)
        fail_msg("%s", cx->message);
    const struct nuc_node *item = nuc_find_node(g, "relu_");
    assert_int_equal(item->op, NUC_OP_GETITEM);
    assert_int_equal(item->args[1].u.i, 1);
    assert_int_equal(nuc_find_node(g, "chunk")->n_vals, 2);
    assert_int_equal(item->vals[0].sizes[1], 1);
    assert_null(nuc_find_node(g, "part")); /* nothing reads it */
}

/* torch.tensor(...) in forward(): copies and detaches of a constant leave no nodes. */
static void identities_are_left_out(void **state)
{
    static const struct edit edits[] = {
        {"aten.relu_.default", "aten.lift_fresh_copy.default"},
        {FLATTEN_INPUT, INPUT("self", TENSOR("relu_")) "," INPUT("start_dim", "{\"as_int\":1}")},
    };
    struct nuc_context *cx = *state;
    enum nuc_status status;
    struct nuc_graph *g = import_edited(cx, edits, 2, &status);

    if (status != NUC_OK)
        fail_msg("%s", cx->message);
    assert_null(nuc_find_node(g, "relu_"));
    assert_ptr_equal(nuc_arg_node(nuc_find_node(g, "flatten"), 0), nuc_find_node(g, "conv2d_1"));
}

/* clang-format off */
#define QUANTIZE_NODE(scale)                                                                                           \
    "{\"target\":\"torch.ops.quantized_decomposed.quantize_per_tensor.tensor\",\"name\":\"relu_\",\"inputs\":["          \
    INPUT("input", TENSOR("conv2d_1")) "," INPUT("scale", TENSOR(scale)) ","                                           \
    INPUT("zero_point", TENSOR("b_count")) "," INPUT("quant_min", "{\"as_int\":-128}") ","                             \
    INPUT("quant_max", "{\"as_int\":127}") "," INPUT("dtype", "{\"as_scalar_type\":2}") "],"                           \
    "\"outputs\":[" TENSOR("relu_") "],\"metadata\":{}}"
/* clang-format on */

/* Quantization whose parameters are tensors: constants of one element are read, others refused. */
static void parameters_as_tensors_are_read(void **state)
{
    static const struct edit edits[] = {
        {RELU_NODE, QUANTIZE_NODE("b_count")},
        {"\"relu_\":" META(SIZES_X, STRIDES_CL, "7"), "\"relu_\":" META(SIZES_X, STRIDES_CL, "2")},
        {FLATTEN_INPUT, INPUT("self", TENSOR("relu_")) "," INPUT("start_dim", "{\"as_int\":1}")},
        {"\"flatten\":{\"dtype\":7", "\"flatten\":{\"dtype\":2"},
    };
    static const struct edit computed[] = {{RELU_NODE, QUANTIZE_NODE("conv2d")}};
    struct nuc_context *cx = *state;
    enum nuc_status status;
    struct nuc_graph *g = import_edited(cx, edits, 4, &status);

    if (status != NUC_OK)
        fail_msg("%s", cx->message);
    const struct nuc_node *q = nuc_find_node(g, "relu_");
    assert_int_equal(q->op, NUC_OP_QUANTIZE_PER_TENSOR);
    assert_int_equal(q->args[1].kind, NUC_ARG_FLOAT);
    assert_int_equal(q->args[2].kind, NUC_ARG_INT);
    import_edited(cx, computed, 1, &status);
    assert_int_equal(status, NUC_UNSUPPORTED);
    assert_non_null(strstr(cx->message, "argument 'scale' of node 'relu_'"));
}

static void note(void *user, const char *message)
{
    snprintf(user, 256, "%s", message);
}

/* Inputs that are no tensors have the value of the export; None is not worth a word. */
static void constant_inputs_are_left_out(void **state)
{
    static const char spec[] = "{\"user_input\":{\"arg\":" TENSOR("x") "}}";
    static const char *const values[] = {"{\"as_none\":true}", "{\"as_int\":3}"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        char message[256] = "";
        cx->warn = note;
        cx->warn_user = message;
        const struct edit edits[] = {
            {spec, nuc_format(cx, "%s,{\"constant_input\":{\"name\":\"n\",\"value\":%s}}", spec, values[i])},
            {TENSOR("b_count") "," TENSOR("x") "]",
             nuc_format(cx, "%s,%s]", TENSOR("b_count") "," TENSOR("x"), values[i])},
        };
        enum nuc_status status;
        struct nuc_graph *g = import_edited(cx, edits, 2, &status);
        if (status != NUC_OK)
            fail_msg("%s", cx->message);
        assert_null(nuc_find_node(g, "n"));
        assert_true((strstr(message, "input 'n' is not a tensor") != NULL) == (i == 1));
        nuc_context_free(cx);
    }
}

/* ---- what is refused ---- */

static const struct {
    const char *old, *new; /* in models/model.json */
    enum nuc_status status;
    const char *message; /* part of it */
} refusals[] = {
    {"\"major\":8", "\"major\":7", NUC_UNSUPPORTED, "schema_version.major: schema 7"},
    {"\"major\":8", "\"major\":\"8\"", NUC_BAD_INPUT, "schema_version.major: is a text where an integer belongs"},
    {"\"major\":8", "\"major\":8,\"major\":8", NUC_BAD_INPUT, "not valid JSON"},
    {"\"graph_module\"", "\"graph_modul\"", NUC_BAD_INPUT, "graph_module: the field is missing"},
    {"aten.conv2d.default", "aten.nonzero.default", NUC_UNSUPPORTED,
     "not handled: aten.nonzero.default (node 'conv2d', net.py:12), which gives a tensor whose shape depends on"},
    {"aten.conv2d.default", "aten.conv2e.default", NUC_UNSUPPORTED,
     "aten.conv2e.default (node 'conv2d', net.py:12), the nearest is aten.conv2d.default; run_decompositions()"},
    {"aten.conv2d.default", "aten.fft_rfft.default", NUC_UNSUPPORTED, "which works on complex numbers"},
    {"aten.conv2d.default", "mylib.conv.default", NUC_UNSUPPORTED, "which is not an operator of torch"},
    {"aten.conv2d.default", "aten.randn_like.default", NUC_UNSUPPORTED, "which makes random numbers"},
    {"aten.conv2d.default", "aten.convolution.default", NUC_BAD_INPUT, "argument 'dilation' is missing"},
    {"torch.ops.aten.relu_.default", "getitem", NUC_UNSUPPORTED, "getitem (node 'relu_')"},
    {"torch.ops.aten.relu_", "torch.ops.edge.aten.relu", NUC_UNSUPPORTED, "edge.aten.relu.default"},
    {"\"x\":{\"dtype\":7,\"sizes\":[{\"as_int\":1}", "\"x\":{\"dtype\":7,\"sizes\":[{\"as_expr\":{}}", NUC_UNSUPPORTED,
     "tensor_values.x.sizes[0]: the size is symbolic"},
    {"\"x\":{\"dtype\":7,\"sizes\":[{\"as_int\":1}", "\"x\":{\"dtype\":7,\"sizes\":[{\"as_int\":-1}", NUC_BAD_INPUT,
     "outside 0 to"},
    {"\"x\":{\"dtype\":7,\"sizes\":[{\"as_int\":1},{\"as_int\":2}",
     "\"x\":{\"dtype\":7,\"sizes\":[{\"as_int\":2147483647},{\"as_int\":2147483647}", NUC_UNSUPPORTED,
     "more than 2147483647 elements"},
    {"\"x\":{\"dtype\":7", "\"x\":{\"dtype\":9", NUC_UNSUPPORTED, "element type 9"},
    {"\"x\":{\"dtype\":7", "\"x\":{\"dtype\":-1", NUC_UNSUPPORTED, "element type -1"},
    {"\"x\":{\"dtype\":7", "\"x\":{\"dtype\":99999999999999999999", NUC_BAD_INPUT, "not valid JSON"},
    {"\"flatten\":{\"dtype\":7", "\"flatten\":{\"dtype\":2", NUC_BAD_INPUT,
     "node 'flatten' (aten.flatten.using_ints): the archive states int8[1, 32], the operator makes float32[1, 32]"},
    {"\"flatten\":{\"dtype\":7,\"sizes\":[{\"as_int\":1},{\"as_int\":32}",
     "\"flatten\":{\"dtype\":7,\"sizes\":[{\"as_int\":1},{\"as_int\":33}", NUC_BAD_INPUT, "the archive states"},
    {"\"p_w\":{\"dtype\":7", "\"p_w\":{\"dtype\":4", NUC_BAD_INPUT, "is float32[2, 2, 3, 3], in the graph int32"},
    {"\"name\":\"conv2d\",", "\"name\":\"p_w\",", NUC_OK, NULL}, /* only tuples are named by the node */
    {"\"outputs\":[" TENSOR("conv2d_1"), "\"outputs\":[" TENSOR("conv2d"), NUC_BAD_INPUT, "is used twice"},
    {"\"weight\",\"arg\":" TENSOR("p_w"), "\"weight\",\"arg\":" TENSOR("conv2d_1"), NUC_BAD_INPUT,
     "there is no value 'conv2d_1' in front of this"},
    {"\"weight\",\"arg\":" TENSOR("p_w"), "\"weight\",\"arg\":{\"as_none\":true}", NUC_BAD_INPUT,
     "argument 'weight' of node 'conv2d' (aten.conv2d.default, net.py:12) cannot be given so"},
    {"{\"name\":\"weight\"", "{\"name\":\"wait\"", NUC_UNSUPPORTED, "no argument 'wait'"},
    {"{\"name\":\"bias\"", "{\"name\":\"weight\"", NUC_BAD_INPUT, "argument 'weight' is given twice"},
    {INPUT("weight", TENSOR("p_w")) ",", "", NUC_BAD_INPUT, "argument 'weight' is missing"},
    {"\"as_ints\":[1]", "\"as_ints\":[0]", NUC_BAD_INPUT, "node 'conv2d'"},
    {"\"as_ints\":[1]", "\"as_ints\":[9000000000]", NUC_BAD_INPUT, "does not fit 32 bits"},
    {"\"as_ints\":[1]", "\"as_ints\":[1],\"as_int\":1", NUC_BAD_INPUT, "has 2 fields where one belongs"},
    {"aten.conv2d.default\",\"name\":\"conv2d\",\"inputs\":[" INPUT("input", TENSOR("x")) "," INPUT(
         "weight",
         TENSOR("p_w")) "," INPUT("bias",
                                  "{\"as_none\":true}") "," INPUT("stride",
                                                                  "{\"as_ints\":[1]}") "," INPUT("padding",
                                                                                                 "{\"as_int\":1}"),
     "aten.dropout.default\",\"name\":\"conv2d\",\"inputs\":[" INPUT("input", TENSOR("x")) "," INPUT(
         "p", "{\"as_float\":0.5}") "," INPUT("train", "{\"as_bool\":true}"),
     NUC_UNSUPPORTED, "node 'conv2d' (aten.dropout.default, net.py:12) is in training mode: call model.eval()"},
    {"user_output", "buffer_mutation", NUC_BAD_INPUT, "buffer_name: the field is missing"},
    {"\"user_output\":{", "\"buffer_mutation\":{\"buffer_name\":\"mean\",", NUC_UNSUPPORTED,
     "changes its buffer 'mean': call model.eval()"},
    {"user_output", "loss_output", NUC_UNSUPPORTED, "an output of this kind"},
    {"\"user_input\"", "\"custom_obj\"", NUC_UNSUPPORTED, "an input of this kind"},
    {"\"user_input\":{\"arg\":" TENSOR("x"), "\"user_input\":{\"arg\":{\"as_int\":3}", NUC_UNSUPPORTED,
     "the input is not a tensor"},
    {"\"parameter_name\":\"w\"", "\"parameter_name\":\"q\"", NUC_BAD_INPUT, "'q' is neither among the weights"},
    {"\"arg\":{\"name\":\"p_v\"}", "\"arg\":{\"name\":\"p_w\"}", NUC_BAD_INPUT, "used twice"},
};

static void refuse_model(const char *old, const char *new, enum nuc_status wanted, const char *message)
{
    struct nuc_context *cx = nuc_context_new(NULL);
    struct archive a = whole();
    enum nuc_status status;

    a.model = replace(cx, model_json, old, new);
    import_bytes(cx, make_archive(cx, &a), &status);
    if (status != wanted || (message != NULL && strstr(cx->message, message) == NULL))
        fail_msg("'%s' -> '%s': status %d, message %s", old, new, (int)status, cx->message);
    nuc_context_free(cx);
}

static void refuses_damaged_models(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        refuse_model(refusals[i].old, refusals[i].new, refusals[i].status, refusals[i].message);
}

static void expect_refusal(struct archive a, enum nuc_status wanted, const char *message)
{
    struct nuc_context *cx = nuc_context_new(NULL);
    enum nuc_status status;

    import_bytes(cx, make_archive(cx, &a), &status);
    assert_int_equal(status, wanted);
    if (strstr(cx->message, message) == NULL)
        fail_msg("'%s' is not in '%s'", message, cx->message);
    nuc_context_free(cx);
}

static void refuses_missing_entries(void **state)
{
    static const char *const needed[] = {
        "m/archive_version",
        "m/byteorder",
        "m/models/model.json",
        "m/data/weights/weight_0",
        "m/data/weights/model_weights_config.json",
        "m/data/constants/model_constants_config.json",
    };
    struct archive a = whole();

    (void)state;
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        a.without = needed[i];
        expect_refusal(a, NUC_BAD_INPUT, needed[i] + 2);
    }
    a.without = "m/archive_format";
    expect_refusal(a, NUC_BAD_INPUT, "not one of torch.export.save");
}

static void refuses_bad_weights(void **state)
{
    struct nuc_context *cx = *state;
    struct archive a = whole();

    a.weight_bytes = 35 * sizeof(float);
    expect_refusal(a, NUC_BAD_INPUT, "config.w.tensor_meta: the tensor reaches to element 35, its file has 35");
    a = whole();
    a.weights = replace(cx, weights_json, "\"storage_offset\":{\"as_int\":0}", "\"storage_offset\":{\"as_int\":1}");
    expect_refusal(a, NUC_BAD_INPUT, "reaches to element 36");
    a.weights = replace(cx, weights_json, "{\"as_int\":18}", "{\"as_int\":-18}");
    expect_refusal(a, NUC_BAD_INPUT, "strides[0]");
    a.weights = replace(cx, weights_json, "\"use_pickle\":false", "\"use_pickle\":true");
    expect_refusal(a, NUC_UNSUPPORTED, "pickled");
}

static void refuses_other_files(void **state)
{
    struct nuc_context *cx = *state;
    struct nuc_zip_writer *w = nuc_zip_writer_new(cx);
    enum nuc_status status;

    import_bytes(cx, text_span("not a zip archive at all"), &status);
    assert_int_equal(status, NUC_BAD_INPUT);
    assert_non_null(strstr(cx->message, "is not a zip archive"));
    nuc_zip_add(w, "serialized_exported_program.json", text_span("{}"));
    struct nuc_pieces old = nuc_zip_finish(w, "old");
    import_bytes(cx, nuc_join_pieces(cx, &old), &status);
    assert_int_equal(status, NUC_UNSUPPORTED);
    assert_non_null(strstr(cx->message, "torch 2.8"));
}

static void refuses_every_truncation(void **state)
{
    struct nuc_context *cx = *state;
    struct archive a = whole();
    struct nuc_span bytes = make_archive(cx, &a);

    for (size_t size = 0; size < bytes.size; size += bytes.size / 97 + 1) {
        enum nuc_status status;
        import_bytes(cx, (struct nuc_span){bytes.data, size}, &status);
        assert_int_equal(status, NUC_BAD_INPUT);
    }
}

/* Any byte may change: the answer is a graph that verifies, or an error, never a crash. */
static void survives_flipped_bytes(void **state)
{
    uint32_t random = 1;

    (void)state;
    for (int round = 0; round < 400; round++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        struct archive a = whole();
        struct nuc_span bytes = make_archive(cx, &a);
        uint8_t *copy = nuc_copy(cx, bytes.data, bytes.size);
        enum nuc_status status;
        for (int flips = 0; flips < 3; flips++) {
            random = random * 1664525u + 1013904223u;
            copy[random % bytes.size] ^= (uint8_t)(random >> 24);
        }
        struct nuc_graph *g = import_bytes(cx, (struct nuc_span){copy, bytes.size}, &status);
        if (status == NUC_OK)
            nuc_graph_verify(g, "import");
        else
            assert_in_range(status, NUC_BAD_INPUT, NUC_UNSUPPORTED);
        nuc_context_free(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STATE_TEST(reads_nodes),
        STATE_TEST(follows_channels_last_weight),
        STATE_TEST(tied_weights_share_bytes),
        STATE_TEST(lists_of_results_become_items),
        STATE_TEST(identities_are_left_out),
        STATE_TEST(parameters_as_tensors_are_read),
        cmocka_unit_test(constant_inputs_are_left_out),
        cmocka_unit_test(refuses_damaged_models),
        cmocka_unit_test(refuses_missing_entries),
        STATE_TEST(refuses_bad_weights),
        STATE_TEST(refuses_other_files),
        STATE_TEST(refuses_every_truncation),
        cmocka_unit_test(survives_flipped_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
