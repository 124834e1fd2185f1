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
                 j->m->graph->file, nuc_samples_name(r->dataset));
    if (r->made_up) {
        nuc_warn(r->cx,
                 "%s: is a float model without calibration samples: its ranges are made up, so that there are "
                 "no figures of accuracy",
                 j->m->graph->file);
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

struct report_call {
    struct nuc_call call;
    const struct nuc_report_options *options;
    const char *path;
    struct nuc_report *r;
    const char **text;
    struct nuc_report **out;
    /* Of the context, around this call. */
    void (*warn)(void *user, const char *message);
    void *warn_user;
    struct nuc_arena *arena; /* of the report: notes are made in arenas inside of it, too */
};

/* Notes stand in the report, too. */
static void note(void *user, const char *message)
{
    struct report_call *k = user;
    struct nuc_report_note *n = nuc_alloc_in(k->r->cx, k->arena, sizeof *n);

    n->text = nuc_copy_out(k->r->cx, k->arena, message, strlen(message) + 1);
    *k->r->last_note = n;
    k->r->last_note = &n->next;
    if (k->warn != NULL)
        k->warn(k->warn_user, message);
}

static void make(struct nuc_call *call)
{
    struct report_call *k = (struct report_call *)call;
    struct nuc_context *cx = call->c->cx;

    k->r = nuc_alloc(cx, sizeof *k->r);
    *k->r = (struct nuc_report){.c = call->c,
                                .cx = cx,
                                .o = k->options != NULL ? *k->options : (struct nuc_report_options){.dataset = NULL},
                                .model = call->m,
                                .job = {.c = call->c, .m = call->m}};
    k->r->calibration = (struct nuc_sample_source){k->r->o.calibration, k->r->o.calibration_data};
    k->r->dataset = (struct nuc_sample_source){k->r->o.dataset, k->r->o.dataset_data};
    k->r->last_note = &k->r->notes;
    k->arena = cx->arena;
    cx->warn = note;
    cx->warn_user = k;
    nuc_check_report_compare(k->r);
    build(k->r);
    collect(k->r);
    *k->out = k->r;
}

enum nuc_status nuc_report_make(struct nuc_model *m, const struct nuc_report_options *options, struct nuc_report **out)
{
    struct nuc_context *cx = m->c->cx;
    struct report_call k = {
        .call = {.c = m->c, .m = m}, .options = options, .out = out, .warn = cx->warn, .warn_user = cx->warn_user};
    enum nuc_status status = nuc_enter(&k.call, make);

    cx->warn = k.warn;
    cx->warn_user = k.warn_user;
    return status;
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

static void print_json(struct nuc_call *call)
{
    struct report_call *k = (struct report_call *)call;

    *k->text = json_of(k->r);
}

static void print_page(struct nuc_call *call)
{
    struct report_call *k = (struct report_call *)call;

    *k->text = page_of(k->r);
}

enum nuc_status nuc_report_json(struct nuc_report *r, const char **text)
{
    struct report_call k = {.call = {.c = r->c}, .r = r, .text = text};

    return nuc_enter(&k.call, print_json);
}

enum nuc_status nuc_report_page(struct nuc_report *r, const char **text)
{
    struct report_call k = {.call = {.c = r->c}, .r = r, .text = text};

    return nuc_enter(&k.call, print_page);
}

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), n = strlen(end);

    return length > n && strcasecmp(path + length - n, end) == 0;
}

static void write_file(struct nuc_call *call)
{
    struct report_call *k = (struct report_call *)call;
    bool is_page = ends_with(k->path, ".html") || ends_with(k->path, ".htm");

    if (!is_page && !ends_with(k->path, ".json"))
        nuc_fail(k->r->cx, NUC_BAD_USAGE, "%s: a report is a page, .html, or an object, .json: name it so", k->path);
    nuc_write_text(k->r->cx, k->path, is_page ? page_of(k->r) : json_of(k->r));
}

enum nuc_status nuc_report_write(struct nuc_report *r, const char *path)
{
    struct report_call k = {.call = {.c = r->c}, .r = r, .path = path};

    return nuc_enter(&k.call, write_file);
}
