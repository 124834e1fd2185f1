/*
 * The .pt2 importer. An input that begins as a zip archive is one; anything else is taken as the text of model.json
 * inside an archive that is otherwise in order, so that mutations reach the graph beyond the archive.
 */
#include <string.h>
#include <unistd.h>

#include "archive/zip.h"
#include "archive/zip_write.h"
#include "front/pt2/importer.h"
#include "front/pt2/pt2.h"
#include "front/pt2/pt2_write.h"
#include "fuzz_support.h"
#include "ir/obstacles.h"

#define MEMORY ((size_t)256 << 20)

static void add_text(struct nuc_zip_writer *w, const char *name, const char *text)
{
    nuc_zip_add(w, name, (struct nuc_span){(const uint8_t *)text, strlen(text)});
}

struct wrapped {
    struct nuc_span model, archive;
};

/* Two parameters of 64 float32 each are there for the taking. */
static void wrap(struct nuc_context *cx, void *arg)
{
    static const char weights[] =
        "{\"config\": {\"w\": {\"path_name\": \"weight_0\", \"is_param\": true, \"use_pickle\": false, "
        "\"tensor_meta\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 4}, {\"as_int\": 4}, {\"as_int\": 2}, "
        "{\"as_int\": 2}], \"requires_grad\": true, \"device\": {\"type\": \"cpu\", \"index\": null}, \"strides\": "
        "[{\"as_int\": 16}, {\"as_int\": 4}, {\"as_int\": 2}, {\"as_int\": 1}], \"storage_offset\": {\"as_int\": 0}, "
        "\"layout\": 7}}, \"b\": {\"path_name\": \"weight_1\", \"is_param\": true, \"use_pickle\": false, "
        "\"tensor_meta\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 4}], \"requires_grad\": true, \"device\": "
        "{\"type\": \"cpu\", \"index\": null}, \"strides\": [{\"as_int\": 1}], \"storage_offset\": {\"as_int\": 0}, "
        "\"layout\": 7}}}}";
    static const uint8_t zeros[256];
    struct wrapped *w = arg;
    struct nuc_zip_writer *zip = nuc_zip_writer_new(cx);

    add_text(zip, "m/archive_format", "pt2");
    add_text(zip, "m/archive_version", "0");
    add_text(zip, "m/byteorder", "little");
    nuc_zip_add(zip, "m/models/model.json", w->model);
    add_text(zip, "m/data/weights/model_weights_config.json", weights);
    add_text(zip, "m/data/constants/model_constants_config.json", "{\"config\": {}}");
    nuc_zip_add(zip, "m/data/weights/weight_0", (struct nuc_span){zeros, sizeof zeros});
    nuc_zip_add(zip, "m/data/weights/weight_1", (struct nuc_span){zeros, sizeof zeros});
    struct nuc_pieces archive = nuc_zip_finish(zip, "archive");
    w->archive = nuc_join_pieces(cx, &archive);
}

struct import_call {
    struct nuc_stored archive;
    const char *text; /* of the graph, from the archive */
    bool in_place;    /* an operator works in place: the writer expects graphs without, and may write another one */
    struct nuc_span written;
};

static void import(struct nuc_context *cx, void *arg)
{
    struct import_call *call = arg;
    struct nuc_graph *g = nuc_import_pt2(cx, call->archive, NULL);

    nuc_graph_verify(g, "import");
    call->text = nuc_graph_print(g, false);
    call->in_place = nuc_has_in_place(g);
    struct nuc_pieces archive = nuc_write_pt2(g);
    call->written = nuc_join_pieces(cx, &archive);
}

/* Where the text goes on behind what may differ: the ".0" of an integer, and an order of dimensions. */
static const char *behind(const char *t)
{
    if (t[0] == '.' && t[1] == '0' && (t[2] == ',' || t[2] == ')' || t[2] == ']'))
        return t + 2;
    if (strncmp(t, " channels-last", 14) == 0)
        return t + 14;
    return strncmp(t, " dim-order(", 11) == 0 ? t + strcspn(t, ")") + 1 : t;
}

/*
 * Equal, but for the ".0" of whole numbers, which among integers are written as integers, and for orders, which are
 * several where dimensions have one element: strides with gaps say another one than those that are written.
 */
static bool same_text(const char *a, const char *b)
{
    for (;; a++, b++) {
        a = behind(a);
        b = behind(b);
        if (*a != *b || *a == '\0')
            return *a == *b;
    }
}

/* What cannot be imported is left out: what stays holds its invariants, too. */
static void import_in_part(struct nuc_context *cx, void *arg)
{
    const struct import_call *call = arg;

    nuc_collect_obstacles(cx);
    nuc_graph_verify(nuc_import_pt2(cx, call->archive, NULL), "import in part");
}

/* What was read can be written, and is the same when it is read again, from memory. */
static void import_again(struct nuc_context *cx, const struct import_call *first)
{
    struct import_call again = {.archive = {"written", first->written}};
    enum nuc_status status = nuc_try(cx, import, &again);
    if (status != NUC_OK && status != NUC_NO_MEMORY)
        fuzz_broken(cx->message);
    if (status == NUC_OK && !first->in_place && !same_text(again.text, first->text))
        fuzz_broken("the archive that was written reads differently");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_memory memory;
    struct nuc_context *cx = fuzz_context(&memory, MEMORY);
    struct wrapped w = {{data, size}, {data, size}};
    char path[64];

    if (!nuc_is_zip(w.model) && nuc_try(cx, wrap, &w) != NUC_OK) {
        fuzz_verdict(cx->message);
        nuc_context_free(cx);
        return 0;
    }
    int fd = fuzz_file(w.archive.data, w.archive.size, path);
    if (fd >= 0) {
        struct import_call call = {.archive = {.path = path}};
        enum nuc_status status = nuc_try(cx, import, &call);
        if (status == NUC_INTERNAL)
            fuzz_broken(cx->message);
        fuzz_verdict(status == NUC_OK ? NULL : cx->message);
        if (status == NUC_OK)
            import_again(cx, &call);
        else if (nuc_try(cx, import_in_part, &call) == NUC_INTERNAL)
            fuzz_broken(cx->message);
        close(fd);
    }
    nuc_context_free(cx);
    return 0;
}
