/*
 * Everything that describes a file: inspection as text and as JSON, and for programs the lint, the profile, its
 * ETDump and the LiteRT models in it. JSON, of the bytes in memory, must be readable again.
 */
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "back/profile/profile.h"
#include "fuzz_support.h"
#include "inspect/inspect.h"
#include "npu/container/container.h"

#define MEMORY ((size_t)256 << 20)

struct report_call {
    const char *path;
    struct nuc_span bytes;
};

static void as_text(struct nuc_context *cx, void *arg)
{
    const struct report_call *call = arg;

    nuc_inspect(cx, (struct nuc_stored){.path = call->path}, NUC_INSPECT_TEXT, true);
}

static void as_json(struct nuc_context *cx, void *arg)
{
    const struct report_call *call = arg;
    const char *text = nuc_inspect(cx, (struct nuc_stored){call->path, call->bytes}, NUC_INSPECT_JSON, true);
    json_t *tree = json_loads(text, JSON_DECODE_ANY, NULL);

    if (tree == NULL)
        fuzz_broken("inspection prints JSON that cannot be read");
    json_decref(tree);
}

static void as_dot(struct nuc_context *cx, void *arg)
{
    const struct report_call *call = arg;

    nuc_inspect(cx, (struct nuc_stored){.path = call->path}, NUC_INSPECT_DOT, false);
}

/* What is taken out of a program is a LiteRT model with the graph in it. */
static void extract(struct nuc_context *cx, void *arg)
{
    const struct report_call *call = arg;
    size_t count;
    const struct nuc_extracted *models =
        nuc_extract_litert(cx, nuc_program_view_open(cx, "input", call->bytes), &count);

    for (size_t i = 0; i < count; i++) {
        struct nuc_lt_model *m = nuc_lt_read(cx, "extracted", models[i].bytes);
        if (m->subgraphs[0].n_ops != 1 || !nuc_is_neutron_graph(&m->subgraphs[0].ops[0]))
            fuzz_broken("an extracted model is not a NeutronGraph");
    }
}

static void lint(struct nuc_context *cx, void *arg)
{
    const struct report_call *call = arg;
    uint32_t count;

    nuc_lint_program(cx, nuc_program_view_open(cx, "input", call->bytes), &count);
}

/* The records of a run are the program's own bytes: as hostile as any. */
static void profile(struct nuc_context *cx, void *arg)
{
    const struct report_call *call = arg;
    struct nuc_profile_call calls[] = {{0, call->bytes.data, call->bytes.size},
                                       {1, call->bytes.data, call->bytes.size / 16 * 16}};
    struct nuc_profile_run run = {calls, sizeof calls / sizeof calls[0]};
    const struct nuc_target *target = nuc_target_find(cx, "imxrt700");
    const struct nuc_program_view *view = nuc_program_view_open(cx, "input", call->bytes);
    const struct nuc_profile *profiles[] = {nuc_profile_read(cx, target, view, NULL),
                                            nuc_profile_read(cx, target, view, &run)};

    for (size_t i = 0; i < 2; i++)
        nuc_profile_table(cx, profiles[i]);
    nuc_profile_dump(cx, profiles, 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const reports[])(struct nuc_context *, void *) = {as_text, as_json, as_dot, extract, lint, profile};
    uint8_t *copy = fuzz_copy(data, size);
    char path[64];
    struct report_call call = {path, {copy, size}};
    int fd = fuzz_file(copy, size, path);

    for (size_t i = 0; fd >= 0 && i < sizeof reports / sizeof reports[0]; i++) {
        struct fuzz_memory memory;
        struct nuc_context *cx = fuzz_context(&memory, MEMORY);
        enum nuc_status status = nuc_try(cx, reports[i], &call);
        if (status == NUC_INTERNAL || (status != NUC_OK && cx->message[0] == '\0'))
            fuzz_broken(cx->message);
        if (i == 0)
            fuzz_verdict(status == NUC_OK ? NULL : cx->message);
        nuc_context_free(cx);
    }
    if (fd >= 0)
        close(fd);
    free(copy);
    return 0;
}
