/* nuc_report_make(): one quantization and one compilation, and everything that they left put into one object. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "archive/json_build.h"
#include "host/file.h"
#include "host/text.h"
#include "introspect/trial.h"
#include "tools/report/device.h"
#include "tools/report/full_report.h"
#include "tools/report/page_sources.h"

/* ---- figures of the whole ---- */

void nuc_report_figures(const struct nuc_report *r, struct nuc_report_figures *out)
{
    *out = (struct nuc_report_figures){
        .accuracy = (double)NAN, .reference_accuracy = (double)NAN, .agreement = (double)NAN, .worst_db = (double)NAN};
    if (r->evaluation != NULL) {
        /* The first output with labels, and the first with classes: what people mean by accuracy. */
        out->samples = r->evaluation->n_samples;
        for (size_t i = 0; i < r->evaluation->n_outputs; i++) {
            const struct nuc_output_score *o = &r->evaluation->outputs[i];
            if (isnan(out->accuracy) && o->program_accuracy.n > 0) {
                out->accuracy = (double)o->program_accuracy.n_right / (double)o->program_accuracy.n;
                if (r->evaluation->has_reference)
                    out->reference_accuracy = (double)o->reference_accuracy.n_right / (double)o->reference_accuracy.n;
            }
            if (isnan(out->agreement) && r->evaluation->has_reference && o->n_decisions > 0)
                out->agreement = (double)o->n_agree / (double)o->n_decisions;
        }
    }
    for (uint32_t i = 0; i < r->facts.n_nodes; i++) {
        double db = r->facts.nodes[i].sqnr_output_db;
        if (!r->facts.nodes[i].is_operator || !isfinite(db) || db >= out->worst_db)
            continue;
        out->worst_node = r->facts.nodes[i].label;
        out->worst_db = db;
    }
}

static void put_summary(struct nuc_report *r)
{
    json_t *to = nuc_put_object(r->cx, r->tree, "summary");

    nuc_put_network_figures(r->network, to);
    const struct nuc_evaluation *e = r->evaluation;
    struct nuc_output_quality q = {.sqnr_db = (double)NAN};
    struct nuc_report_figures f;
    nuc_report_figures(r, &f);
    bool is_evaluated = e != NULL && e->has_reference;
    if (is_evaluated)
        q.sqnr_db = nuc_total_sqnr(e);
    else
        nuc_network_quality(r->network, &q);
    nuc_put_measure(r->cx, to, "sqnr_db", q.sqnr_db);
    nuc_put_measure(r->cx, to, "sqnr_lowest_db", q.held_out > 0 ? q.lowest_db : (double)NAN);
    nuc_put_measure(r->cx, to, "sqnr_highest_db", q.held_out > 0 ? q.highest_db : (double)NAN);
    nuc_put_count(r->cx, to, "sqnr_held_out", q.held_out);
    nuc_put_measure(r->cx, to, "accuracy", f.accuracy);
    nuc_put_measure(r->cx, to, "reference_accuracy", f.reference_accuracy);
    nuc_put_measure(r->cx, to, "agreement", f.agreement);
    nuc_put_count(r->cx, to, "samples", f.samples);
    nuc_put_count(r->cx, to, "node_samples", r->facts.n_measured);
    nuc_put_bool(r->cx, to, "made_up_ranges", r->facts.made_up);
    nuc_put_text(r->cx, to, "missed", r->missed);
}

/* ---- making it ---- */

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
    nuc_put_int(r->cx, r->tree, "schema", 1);
    nuc_put_string(r->cx, r->tree, "command", "report");
    nuc_put_string(r->cx, r->tree, "nucleon", nuc_version());
    nuc_put_text(r->cx, r->tree, "invocation", r->o.invocation);
    nuc_put_network_model(r->network, r->tree);
    json_t *list = nuc_put_array(r->cx, r->tree, "warnings");
    for (const struct nuc_report_note *n = r->notes; n != NULL; n = n->next)
        nuc_put_string(r->cx, list, NULL, n->text);
    nuc_put_network_obstacles(r->network, r->tree);
    put_summary(r);
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

/* ---- its forms ---- */

static void add_source(struct nuc_text *out, const char *element, const char *source, size_t size)
{
    nuc_text_addf(out, "<%s>\n", element);
    nuc_text_add(out, source, size);
    nuc_text_addf(out, "</%s>\n", element);
}

static bool is_line(const char *line, size_t length, const char *mark)
{
    while (length > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        length--;
    }
    return length == strlen(mark) && memcmp(line, mark, length) == 0;
}

/* The sources of page/ with the object in their middle. */
static const char *page_text(struct nuc_context *cx, const char *json)
{
    const char *page = nuc_page_html, *end = page + nuc_page_html_size;
    struct nuc_text out = {.cx = cx};

    while (page < end) {
        const char *stop = memchr(page, '\n', (size_t)(end - page));
        size_t length = stop != NULL ? (size_t)(stop - page) : (size_t)(end - page);
        if (is_line(page, length, "<!--CSS-->"))
            add_source(&out, "style", nuc_page_css, nuc_page_css_size);
        else if (is_line(page, length, "<!--JS-->"))
            add_source(&out, "script", nuc_page_js, nuc_page_js_size);
        else if (is_line(page, length, "<!--DATA-->")) {
            /* JSON inside of an element of HTML: no text in it may end the element. */
            const char *from = json;
            nuc_text_addf(&out, "<script type=\"application/json\" id=\"report\">");
            for (const char *p; (p = strchr(from, '<')) != NULL; from = p + 1) {
                nuc_text_add(&out, from, (size_t)(p - from));
                nuc_text_addf(&out, "\\u003c");
            }
            nuc_text_add(&out, from, strcspn(from, "\n")); /* which ends the object */
            nuc_text_addf(&out, "</script>\n");
        } else
            nuc_text_addf(&out, "%.*s\n", (int)length, page);
        page += length + 1;
    }
    return nuc_text_string(&out);
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
        r->page = page_text(r->cx, json_of(r));
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
