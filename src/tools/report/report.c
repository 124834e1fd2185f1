/* nuc_report_make(): one quantization and one compilation, and everything that they left put into one object. */
#include <string.h>
#include <strings.h>

#include "archive/json_build.h"
#include "host/file.h"
#include "introspect/trial.h"
#include "tools/report/device.h"
#include "tools/report/full_report.h"

/* ---- public calls ---- */

/*
 * Who is told notes around the call, and where those of the report go: they are made in arenas inside of its own, too.
 */
struct listener {
    struct nuc_report *r;
    struct nuc_arena *arena;
    void (*warn)(void *user, const char *message);
    void *warn_user;
};

/* Notes stand in the report, too. */
static void note(void *user, const char *message)
{
    struct listener *l = user;
    struct nuc_report_note *n = nuc_alloc_in(l->r->cx, l->arena, sizeof *n);

    n->text = nuc_strdup_out(l->r->cx, l->arena, message);
    *l->r->last_note = n;
    l->r->last_note = &n->next;
    if (l->warn != NULL)
        l->warn(l->warn_user, message);
}

static void make(struct nuc_context *cx, void *arg)
{
    struct nuc_report *r = arg;

    (void)cx;
    nuc_check_report_compare(r);
    if (r->o.device != NULL)
        r->device = nuc_device_take(r->cx, r->o.device, r->o.baud);
    bool stays_float = nuc_model_choices(r->model).options->no_quantize;
    if (!nuc_model_is_quantized(r->model) && !nuc_has_samples(r->calibration) && !stays_float &&
        nuc_has_samples(r->dataset))
        nuc_fail(r->cx, NUC_BAD_USAGE,
                 "%s: is a float model: accuracy on %s takes one that is quantized with samples: give --calibration "
                 "DATA, or --no-quantize",
                 nuc_model_file(r->model), nuc_samples_name(r->dataset));
    r->network = nuc_compile_network(r->model, r->calibration);
    r->facts = nuc_network_facts(r->network);
    r->missed = r->facts.missed;
    nuc_evaluate_report(r);
    r->tree = nuc_json_tree(r->cx);
    nuc_put_report_model(r);
    nuc_put_network_obstacles(r->network, r->tree);
    nuc_put_report_summary(r);
    nuc_put_network_nodes(r->network, r->tree);
    nuc_put_network_partitions(r->network, r->tree);
    nuc_put_network_instructions(r->network, r->tree);
    nuc_put_network_memory(r->network, r->tree);
    nuc_put_network_placement(r->network, r->tree);
    nuc_put_report_evaluation(r);
    if (r->o.device != NULL)
        nuc_device_put(r->cx, nuc_put_object(r->cx, r->tree, "self_test"), r->device);
    else
        nuc_put_null(r->cx, r->tree, "self_test");
    nuc_put_report_compare(r);
}

enum nuc_status nuc_report_make(struct nuc_model *m, const struct nuc_report_options *options, struct nuc_report **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(m), __func__, out != NULL);
        struct nuc_context *cx = nuc_model_context(m);
        struct nuc_report *r = nuc_alloc(cx, sizeof *r);
        struct listener listener = {r, cx->arena, cx->warn, cx->warn_user};
        *r = (struct nuc_report){.c = nuc_model_compiler(m), .cx = cx, .model = m, .last_note = &r->notes};
        if (options != NULL)
            r->o = *options;
        if (nuc_model_refusal(m) == NULL) {
            r->calibration = (struct nuc_sample_source){r->o.calibration, r->o.calibration_data};
            r->dataset = (struct nuc_sample_source){r->o.dataset, r->o.dataset_data};
        }
        cx->warn = note;
        cx->warn_user = &listener;
        enum nuc_status status = nuc_try(cx, make, r);
        cx->warn = listener.warn;
        cx->warn_user = listener.warn_user;
        nuc_check(cx, status);
        *out = r;
    }
    return nuc_leave(&call);
}

const char *nuc_report_missed(const struct nuc_report *r)
{
    return r->missed;
}

static const char *json_of(struct nuc_report *r)
{
    if (r->json == NULL) {
        struct nuc_span text =
            nuc_json_dump(r->cx, r->tree, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(NUC_REPORT_DIGITS));
        char *line = nuc_alloc(r->cx, text.size + 2);
        memcpy(line, text.data, text.size);
        line[text.size] = '\n';
        r->json = line;
    }
    return r->json;
}

static const char *page_of(struct nuc_report *r)
{
    if (r->page == NULL)
        r->page = nuc_report_page_text(r->cx, json_of(r));
    return r->page;
}

enum nuc_status nuc_report_json(struct nuc_report *r, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, r != NULL ? r->cx : NULL, __func__, text != NULL);
        *text = json_of(r);
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_report_page(struct nuc_report *r, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, r != NULL ? r->cx : NULL, __func__, text != NULL);
        *text = page_of(r);
    }
    return nuc_leave(&call);
}

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), n = strlen(end);

    return length > n && strcasecmp(path + length - n, end) == 0;
}

enum nuc_status nuc_report_write(struct nuc_report *r, const char *path)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, r != NULL ? r->cx : NULL, __func__, path != NULL);
        bool is_page = ends_with(path, ".html") || ends_with(path, ".htm");
        if (!is_page && !ends_with(path, ".json"))
            nuc_fail(r->cx, NUC_BAD_USAGE, "%s: a report is a page, .html, or an object, .json: name it so", path);
        nuc_write_text(r->cx, path, is_page ? page_of(r) : json_of(r));
    }
    return nuc_leave(&call);
}
