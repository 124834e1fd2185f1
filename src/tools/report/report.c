/* nuc_report_make(): one quantization and one compilation, and everything that they left put into one object. */
#include <string.h>
#include <strings.h>

#include "archive/json_build.h"
#include "driver/explain_options.h"
#include "host/file.h"
#include "host/text.h"
#include "tools/report/full_report.h"

/* ---- from model to program ---- */

void nuc_report_add_missed(struct nuc_report *r, const char *text)
{
    r->missed = r->missed == NULL ? text : nuc_format(r->cx, "%s; %s", r->missed, text);
}

static void quantize(struct nuc_report *r)
{
    struct nuc_job *j = &r->job;

    r->made_up = !nuc_model_is_quantized(j->m) && !nuc_has_samples(r->calibration) && !j->m->settings->o.no_quantize;
    if (r->made_up && nuc_has_samples(r->dataset))
        nuc_fail(r->cx, NUC_BAD_USAGE,
                 "%s: is a float model: accuracy on %s takes one that is quantized with samples: give --calibration "
                 "DATA, or --no-quantize",
                 nuc_model_file(j->m), nuc_samples_name(r->dataset));
    if (r->made_up) {
        nuc_warn(r->cx,
                 "%s: is a float model without calibration samples: its ranges are made up, so that there are "
                 "no figures of accuracy",
                 nuc_model_file(j->m));
        j->m = nuc_quantize_random(j->m);
        return;
    }
    nuc_check_model(j, r->calibration);
    nuc_quantize_if_asked(j, r->calibration);
}

static void check_delegation(struct nuc_report *r)
{
    const struct nuc_explanation *e = r->e;

    if (r->model->settings->o.require_full_delegation && e->n_delegated < e->n_operators)
        nuc_report_add_missed(
            r, nuc_format(r->cx, "%s: %u of %u operators stay on the CPU, all must be delegated; the first is %s",
                          e->file, e->n_operators - e->n_delegated, e->n_operators, nuc_explain_first(r->cx, e)));
}

static void check_budget(struct nuc_context *cx, void *arg)
{
    (void)cx;
    nuc_check_memory_budget(arg);
}

/* A program that is too large is reported all the same. */
static void check_memory(struct nuc_report *r)
{
    if (nuc_attempt(r->cx, check_budget, &r->job) != NUC_OK)
        nuc_report_add_missed(r, nuc_strdup(r->cx, r->cx->message));
}

/* Stages up to `lower` are explained before what follows changes their graph. */
static void build(struct nuc_report *r)
{
    struct nuc_job *j = &r->job;

    quantize(r);
    r->quantized = j->m;
    nuc_run_stages(j, NUC_STAGE_DIM_ORDER, NUC_STAGE_PARTITION);
    r->partitioned = j->m;
    nuc_run_stages(j, NUC_STAGE_DELEGATE, NUC_STAGE_BOUNDARY);
    r->e = nuc_explain_lowered(r->partitioned, j->m);
    r->e->made_up_ranges = r->made_up;
    nuc_try_options(r->partitioned, r->quantized, r->e);
    nuc_run_stages(j, NUC_STAGE_STRIPS, NUC_STAGE_STRIPS);
    nuc_explain_strips(r->e, r->partitioned, j->m);
    nuc_run_stages(j, NUC_STAGE_PROGRAM, NUC_STAGE_PROGRAM);
    nuc_remember(j);
    nuc_rehearse_program(j);
    check_delegation(r);
    check_memory(r);
}

/* ---- the object ---- */

static void collect(struct nuc_report *r)
{
    nuc_list_report_nodes(r);
    nuc_settle_instructions(r);
    nuc_place_nodes(r);
    nuc_measure_report_nodes(r);
    nuc_evaluate_report(r);
    r->tree = nuc_json_tree(r->cx);
    nuc_put_report_model(r);
    nuc_put_report_summary(r);
    nuc_put_report_nodes(r);
    nuc_put_report_partitions(r);
    nuc_put_report_instructions(r);
    nuc_put_report_memory(r);
    nuc_put_report_placement(r);
    nuc_put_report_evaluation(r);
    nuc_put_report_compare(r);
}

/* ---- public calls ---- */

/* Who is told notes around the call, and where those of the report go: they are made in arenas inside of its own, too.
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

    n->text = nuc_copy_out(l->r->cx, l->arena, message, strlen(message) + 1);
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
    build(r);
    collect(r);
}

enum nuc_status nuc_report_make(struct nuc_model *m, const struct nuc_report_options *options, struct nuc_report **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(m), __func__, out != NULL);
        struct nuc_context *cx = m->c->cx;
        struct nuc_report *r = nuc_alloc(cx, sizeof *r);
        struct listener listener = {r, cx->arena, cx->warn, cx->warn_user};
        *r = (struct nuc_report){.c = m->c, .cx = cx, .model = m, .job = {.c = m->c, .m = m}, .last_note = &r->notes};
        if (options != NULL)
            r->o = *options;
        r->calibration = (struct nuc_sample_source){r->o.calibration, r->o.calibration_data};
        r->dataset = (struct nuc_sample_source){r->o.dataset, r->o.dataset_data};
        cx->warn = note;
        cx->warn_user = &listener;
        enum nuc_status status = nuc_try(cx, make, r);
        cx->warn = listener.warn;
        cx->warn_user = listener.warn_user;
        if (status != NUC_OK)
            nuc_fail_again(cx, status);
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
