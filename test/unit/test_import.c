/* torch.export archives: a small one made here, read whole, and damaged in every way that has its own message. */
#include "graph_texts.h"
#include "text_cases.h"

#include <unistd.h>

#include "archive/zip.h"
#include "archive/zip_write.h"
#include "data/arrays.h"
#include "front/pt2/pt2.h"
#include "host/file.h"
#include "ir/obstacles.h"
#include "nucleon/compile.h"

/* Of cases/archive. */
static char *model_json, *weights_json, *constants_json;

static int read_archive(void **state)
{
    model_json = read_cases("cases/archive/model.json");
    weights_json = read_cases("cases/archive/weights.json");
    constants_json = read_cases("cases/archive/constants.json");
    return 0;
}

static int free_archive(void **state)
{
    test_free(model_json);
    test_free(weights_json);
    test_free(constants_json);
    return 0;
}

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

struct import {
    struct nuc_stored archive;
    struct nuc_graph *g;
    const struct nuc_sizes *sizes;
};

static void import(struct nuc_context *cx, void *arg)
{
    struct import *call = arg;

    call->g = nuc_import_pt2(cx, call->archive, call->sizes);
}

/* The graph, or NULL with the status. */
static struct nuc_graph *import_bytes(struct nuc_context *cx, struct nuc_span bytes, enum nuc_status *status)
{
    struct import call = {{"archive", bytes}, NULL, NULL};

    *status = nuc_try(cx, import, &call);
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

/* OLD -> NEW, the first OLD. */
static const char *edited(struct nuc_context *cx, const char *text, char *edit)
{
    const char *new = split_at(edit, " -> ");

    if (new == NULL)
        fail_msg("'%s' is no edit", edit);
    return replace(cx, text, edit, new);
}

/* Size 0 of the input has no example: the samples say it, along axis 0 of which they lie, if their rank tells it apart.
 */
static void open_sizes_are_those_of_samples(void **state)
{
    static const char fixed[] = "\"x\":{\"dtype\":7,\"sizes\":[{\"as_int\":1}";
    static const char open[] =
        "\"x\":{\"dtype\":7,\"sizes\":[{\"as_expr\":{\"expr_str\":\"Symbol('s0')\",\"hint\":null}}";
    static const float values[2 * 2 * 4 * 4];
    struct nuc_context *cx = *state;
    const struct nuc_options options = {.target = NULL};
    struct archive a = whole();

    a.model = replace(cx, a.model, fixed, open);
    for (uint32_t rank = 4; rank <= 5; rank++) {
        struct nuc_array x = {"x", NUC_F32, rank, {2, 1, 2, 4, 4}, {(const uint8_t *)values, sizeof values}, NULL, 0};
        if (rank == 4)
            memcpy(x.shape, (const int64_t[]){2, 2, 4, 4}, 4 * sizeof(int64_t));
        char samples[] = "/tmp/nucleon_test_XXXXXX.npz";
        close(mkstemps(samples, 4));
        nuc_write_npz(cx, samples, &(struct nuc_arrays){1, &x});
        const struct nuc_sizes sizes = {NULL, 0, {.path = samples}, &options};
        struct import call = {{"archive", make_archive(cx, &a)}, NULL, &sizes};
        enum nuc_status status = nuc_try(cx, import, &call);
        unlink(samples);
        assert_int_equal(status, rank == 5 ? NUC_OK : NUC_UNSUPPORTED);
        if (rank == 5)
            assert_int_equal(nuc_find_node(call.g, "x")->vals[0].sizes[0], 1);
    }
}

static void expect_refusal(struct nuc_context *cx, const struct archive *a, const char *expected)
{
    static const char *const words[] = {[NUC_UNSUPPORTED] = "unsupported: ", [NUC_BAD_INPUT] = "bad input: "};
    enum nuc_status status;

    import_bytes(cx, make_archive(cx, a), &status);
    const char *word = status == NUC_UNSUPPORTED || status == NUC_BAD_INPUT ? words[status] : "?";
    if (strncmp(expected, word, strlen(word)) != 0 || strstr(cx->message, expected + strlen(word)) == NULL)
        fail_msg("status %d: %s, expected %s", (int)status, cx->message, expected);
}

/* Lines "FILE:LINE OPERATOR TEXT" up to an empty one: what the model is refused for, the texts from the beginning. */
static void check_obstacles(struct nuc_context *cx, struct text_case *c)
{
    const struct nuc_obstacle *o = cx->obstacles->first;

    for (char *line; (line = take_line(&c->lines)) != NULL && *line != '\0'; o = o->next) {
        assert_non_null(o);
        const char *got =
            nuc_format(cx, "%s:%d %s %s", o->file != NULL ? nuc_base_name(o->file) : "-", o->line, o->op, o->text);
        if (strncmp(got, line, strlen(line)) != 0)
            fail_msg("%s: '%s', expected '%s'", c->name, got, line);
    }
    assert_null(o);
}

static void check_model(struct nuc_context *cx, void *arg)
{
    struct text_case *c = arg;
    struct archive a = whole();
    enum nuc_status status;

    for (char *line; (line = take_line(&c->lines)) != NULL;) {
        char *refusal = split_at(line, " ! ");
        if (strcmp(line, "=>") == 0 || strcmp(line, "=> in part") == 0) {
            if (line[2] != '\0')
                nuc_collect_obstacles(cx);
            struct nuc_graph *g = import_bytes(cx, make_archive(cx, &a), &status);
            if (status != NUC_OK)
                fail_msg("%s: %s", c->name, cx->message);
            nuc_graph_verify(g, "import");
            if (cx->obstacles != NULL)
                check_obstacles(cx, c);
            assert_graph(g, c->lines);
            return;
        }
        if (*line != '\0')
            a.model = edited(cx, a.model, line);
        if (refusal != NULL) {
            expect_refusal(cx, &a, refusal);
            a = whole();
        }
    }
}

static void note(void *user, const char *message)
{
    snprintf(user, 256, "%s", message);
}

/* Inputs that are no tensors have the value of the export; None is not worth a word. */
static void constant_inputs_are_left_out(void **state)
{
    static const char spec[] = "{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}}";
    static const char last_input[] = "{\"as_tensor\":{\"name\":\"x\"}}]";
    static const char *const values[] = {"{\"as_none\":true}", "{\"as_int\":3}"};

    for (size_t i = 0; i < 2; i++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        char message[256] = "";
        cx->warn = note;
        cx->warn_user = message;
        struct archive a = whole();
        enum nuc_status status;
        a.model = replace(cx, a.model, spec,
                          nuc_format(cx, "%s,{\"constant_input\":{\"name\":\"n\",\"value\":%s}}", spec, values[i]));
        a.model = replace(cx, a.model, last_input,
                          nuc_format(cx, "%.*s,%s]", (int)strlen(last_input) - 1, last_input, values[i]));
        struct nuc_graph *g = import_bytes(cx, make_archive(cx, &a), &status);
        if (status != NUC_OK)
            fail_msg("%s", cx->message);
        assert_null(nuc_find_node(g, "n"));
        assert_true((strstr(message, "input 'n' is not a tensor") != NULL) == (i == 1));
        nuc_context_free(cx);
    }
}

/* ---- what is refused ---- */

static void refuses_missing_entries(void **state)
{
    struct nuc_context *cx = *state;
    static const char *const needed[] = {
        "m/archive_version",
        "m/byteorder",
        "m/models/model.json",
        "m/data/weights/weight_0",
        "m/data/weights/model_weights_config.json",
        "m/data/constants/model_constants_config.json",
    };
    struct archive a = whole();

    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        a.without = needed[i];
        expect_refusal(cx, &a, nuc_format(cx, "bad input: %s", needed[i] + 2));
    }
    a.without = "m/archive_format";
    expect_refusal(cx, &a, "bad input: not one of torch.export.save");
}

static void refuses_bad_weights(void **state)
{
    struct nuc_context *cx = *state;
    struct archive a = whole();

    a.weight_bytes = 35 * sizeof(float);
    expect_refusal(cx, &a, "bad input: config.w.tensor_meta: the tensor reaches to element 35, its file has 35");
    a = whole();
    a.weights = replace(cx, weights_json, "\"storage_offset\":{\"as_int\":0}", "\"storage_offset\":{\"as_int\":1}");
    expect_refusal(cx, &a, "bad input: reaches to element 36");
    a.weights = replace(cx, weights_json, "{\"as_int\":18}", "{\"as_int\":-18}");
    expect_refusal(cx, &a, "bad input: strides[0]");
    a.weights = replace(cx, weights_json, "\"use_pickle\":false", "\"use_pickle\":true");
    expect_refusal(cx, &a, "unsupported: pickled");
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

/* Archives have checksums: a bit that is turned over is an error, or one that decides nothing, as those of dates do. */
static void refuses_flipped_bits(void **state)
{
    struct archive a = whole();
    const struct nuc_span bytes = make_archive(*state, &a);
    enum nuc_status status;
    const char *expected = nuc_graph_print(import_bytes(*state, bytes, &status), true);

    for (size_t at = 0; at < bytes.size; at++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        uint8_t *copy = nuc_copy(cx, bytes.data, bytes.size);
        copy[at] ^= (uint8_t)(1u << at % 8);
        struct nuc_graph *g = import_bytes(cx, (struct nuc_span){copy, bytes.size}, &status);
        if (status == NUC_OK)
            assert_string_equal(nuc_graph_print(g, true), expected);
        else
            assert_in_range(status, NUC_BAD_INPUT, NUC_UNSUPPORTED);
        nuc_context_free(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEXT_TEST("cases/import.txt", check_model, NULL),
        STATE_TEST(tied_weights_share_bytes),
        STATE_TEST(open_sizes_are_those_of_samples),
        cmocka_unit_test(constant_inputs_are_left_out),
        STATE_TEST(refuses_missing_entries),
        STATE_TEST(refuses_bad_weights),
        STATE_TEST(refuses_other_files),
        STATE_TEST(refuses_every_truncation),
        STATE_TEST(refuses_flipped_bits),
    };

    return cmocka_run_group_tests(tests, read_archive, free_archive);
}
