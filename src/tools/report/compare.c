/* What changed since an older report: operators with the same label are the same. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive/json.h"
#include "archive/json_build.h"
#include "host/file.h"
#include "host/limits.h"
#include "tools/report/full_report.h"

/* A difference below is no news: of other samples it would be another one. */
#define LEAST_GAIN_DB 0.5

/* Of the operators of two reports of one model, one in so many is in both. */
#define LEAST_IN_COMMON 4

struct old_node {
    const char *label, *where;
    int64_t cycles;
    double sqnr_db; /* NaN: not known */
    bool is_found;  /* in the new report, too */
};

struct change {
    uint32_t id; /* of the new node */
    double old_value, new_value, size;
};

struct comparing {
    struct nuc_report *r;
    struct old_node *old;
    size_t n_old;
    struct old_node **of; /* by id of the new report; NULL: it is new */
};

/* ---- the older report ---- */

/* The object inside of a page, or the file itself. */
static struct nuc_span object_of(struct nuc_span file)
{
    static const char begin[] = "<script type=\"application/json\" id=\"report\">", end[] = "</script>";
    size_t n = sizeof begin - 1, from = 0;

    if (file.size == 0 || file.data[0] != '<')
        return file;
    while (from + n <= file.size && memcmp(file.data + from, begin, n) != 0)
        from++;
    if (from + n > file.size)
        return file;
    from += n;
    size_t to = from;
    while (to + sizeof end - 1 <= file.size && memcmp(file.data + to, end, sizeof end - 1) != 0)
        to++;
    return (struct nuc_span){file.data + from, to - from};
}

static const char *text_of(const struct nuc_json *object, const char *key)
{
    struct nuc_json member = nuc_json_maybe_member(object, key);

    return nuc_json_maybe_text(&member);
}

static struct nuc_json open_report(struct nuc_context *cx, const char *path)
{
    struct nuc_span text = object_of(nuc_read_file(cx, path));
    size_t i = 0;

    while (i < text.size && (text.data[i] == ' ' || text.data[i] == '\n' || text.data[i] == '\r'))
        i++;
    if (i == text.size || text.data[i] != '{')
        nuc_fail(cx, NUC_BAD_INPUT, "%s: is no report: give what 'nucleon report' wrote, .json or .html", path);
    if (text.size > NUC_MAX_JSON)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: has %zu bytes of data, a report at most %zu: it cannot be compared with", path,
                 text.size, NUC_MAX_JSON);
    struct nuc_json root = nuc_json_parse(cx, path, text);
    const char *command = text_of(&root, "command");
    if (command == NULL || strcmp(command, "report") != 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: is no report: give what 'nucleon report' wrote, .json or .html", path);
    struct nuc_json schema = nuc_json_field(&root, "schema");
    int64_t number = nuc_json_int(&schema);
    if (number != 1)
        nuc_fail(cx, NUC_BAD_INPUT,
                 "%s: is a report of schema %lld, this nucleon reads schema 1: make it again with this one", path,
                 (long long)number);
    return root;
}

/* ---- the same operators ---- */

static int by_label(const void *pa, const void *pb)
{
    const struct old_node *a = *(const struct old_node *const *)pa, *b = *(const struct old_node *const *)pb;
    int order = strcmp(a->label, b->label);

    return order != 0 ? order : a < b ? -1 : a > b;
}

static int find_label(const void *key, const void *item)
{
    return strcmp(key, (*(const struct old_node *const *)item)->label);
}

static void match(struct comparing *k, const char *path, const char *file)
{
    struct nuc_report *r = k->r;
    struct old_node **sorted = nuc_alloc_array(r->cx, k->n_old + 1, sizeof(struct old_node *));
    size_t n_found = 0, n_operators = 0;

    for (size_t i = 0; i < k->n_old; i++)
        sorted[i] = &k->old[i];
    qsort(sorted, k->n_old, sizeof *sorted, by_label);
    k->of = nuc_alloc_array(r->cx, (size_t)r->facts.n_nodes + 1, sizeof(struct old_node *));
    for (uint32_t i = 0; i < r->facts.n_nodes; i++) {
        if (!r->facts.nodes[i].is_operator)
            continue;
        n_operators++;
        struct old_node **found = bsearch(r->facts.nodes[i].label, sorted, k->n_old, sizeof *sorted, find_label);
        if (found == NULL)
            continue;
        k->of[i] = *found;
        (*found)->is_found = true;
        n_found++;
    }
    size_t fewer = n_operators < k->n_old ? n_operators : k->n_old;
    if (n_found * LEAST_IN_COMMON < fewer)
        nuc_fail(r->cx, NUC_BAD_INPUT, "%s: is the report of another model, %s: %zu of its %zu operators are in %s",
                 path, file != NULL ? file : "which it does not name", n_found, k->n_old, nuc_model_file(r->model));
}

/* ---- members ---- */

/* The figures that the new summary has, as the old one has them. */
static void put_old_summary(const struct comparing *k, json_t *to, const struct nuc_json *root)
{
    struct nuc_context *cx = k->r->cx;
    json_t *old = nuc_put_object(cx, to, "summary"), *now = json_object_get(k->r->tree, "summary"), *value;
    struct nuc_json summary = nuc_json_field(root, "summary");
    const char *key;

    json_object_foreach(now, key, value)
    {
        struct nuc_json member = nuc_json_maybe_member(&summary, key);
        if (member.type == NUC_JSON_INTEGER)
            nuc_put_int(cx, old, key, nuc_json_int(&member));
        else if (member.type == NUC_JSON_REAL)
            nuc_put_double(cx, old, key, nuc_json_double(&member));
        else if (member.type == NUC_JSON_TRUE || member.type == NUC_JSON_FALSE)
            nuc_put_bool(cx, old, key, member.type == NUC_JSON_TRUE);
        else
            nuc_put_text(cx, old, key, nuc_json_maybe_text(&member));
    }
}

static void put_moved(const struct comparing *k, json_t *to)
{
    json_t *list = nuc_put_array(k->r->cx, to, "moved");

    for (uint32_t i = 0; i < k->r->facts.n_nodes; i++) {
        const char *where = nuc_where_word(k->r->facts.nodes[i].where);
        if (k->of[i] == NULL || strcmp(k->of[i]->where, where) == 0)
            continue;
        json_t *o = nuc_put_object(k->r->cx, list, NULL);
        nuc_put_text(k->r->cx, o, "label", k->r->facts.nodes[i].label);
        nuc_put_text(k->r->cx, o, "from", k->of[i]->where);
        nuc_put_text(k->r->cx, o, "to", where);
    }
}

/* The largest first, of equals the first one. */
static int by_size(const void *pa, const void *pb)
{
    const struct change *a = pa, *b = pb;

    if (a->size > b->size || a->size < b->size)
        return a->size > b->size ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Those whose value rose, or fell, by `least` or more. */
static size_t find_changes(const struct comparing *k, bool cycles, bool rose, double least, struct change *out)
{
    size_t n = 0;

    for (uint32_t i = 0; i < k->r->facts.n_nodes; i++) {
        const struct old_node *old = k->of[i];
        if (old == NULL)
            continue;
        double before = cycles ? (double)old->cycles : old->sqnr_db;
        double now = cycles ? (double)k->r->facts.nodes[i].cycles : k->r->facts.nodes[i].sqnr_db;
        /* Infinities of one sign do not differ. */
        double size = before > now ? before - now : before < now ? now - before : 0;
        if (size >= least && (rose ? now > before : now < before))
            out[n++] = (struct change){i, before, now, size};
    }
    return n;
}

static void put_all_changes(const struct comparing *k, json_t *to)
{
    static const struct {
        const char *key;
        bool cycles, rose;
        double least;
    } kinds[] = {{"faster", true, false, 1},
                 {"slower", true, true, 1},
                 {"better", false, true, LEAST_GAIN_DB},
                 {"worse", false, false, LEAST_GAIN_DB}};
    struct nuc_context *cx = k->r->cx;
    struct change *changes = nuc_alloc_array(cx, (size_t)k->r->facts.n_nodes + 1, sizeof *changes);

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t n = find_changes(k, kinds[i].cycles, kinds[i].rose, kinds[i].least, changes);
        json_t *list = nuc_put_array(cx, to, kinds[i].key);
        qsort(changes, n, sizeof *changes, by_size);
        for (size_t j = 0; j < n; j++) {
            json_t *o = nuc_put_object(cx, list, NULL);
            nuc_put_text(cx, o, "label", k->r->facts.nodes[changes[j].id].label);
            if (kinds[i].cycles) {
                nuc_put_int(cx, o, "old_cycles", (int64_t)changes[j].old_value);
                nuc_put_int(cx, o, "new_cycles", (int64_t)changes[j].new_value);
            } else {
                nuc_put_double(cx, o, "old_db", changes[j].old_value);
                nuc_put_double(cx, o, "new_db", changes[j].new_value);
            }
        }
    }
}

static void put_added_and_removed(const struct comparing *k, json_t *to)
{
    json_t *list = nuc_put_array(k->r->cx, to, "added");

    for (uint32_t i = 0; i < k->r->facts.n_nodes; i++) {
        if (k->r->facts.nodes[i].is_operator && k->of[i] == NULL)
            nuc_put_string(k->r->cx, list, NULL, k->r->facts.nodes[i].label);
    }
    list = nuc_put_array(k->r->cx, to, "removed");
    for (size_t i = 0; i < k->n_old; i++) {
        if (!k->old[i].is_found)
            nuc_put_string(k->r->cx, list, NULL, k->old[i].label);
    }
}

void nuc_check_report_compare(struct nuc_report *r)
{
    if (r->o.compare == NULL)
        return;
    struct nuc_json root = open_report(r->cx, r->o.compare);
    nuc_json_close(&root);
}

void nuc_put_report_compare(struct nuc_report *r)
{
    struct comparing k = {.r = r};

    if (r->o.compare == NULL) {
        nuc_put_null(r->cx, r->tree, "compare");
        return;
    }
    struct nuc_json root = open_report(r->cx, r->o.compare);
    struct nuc_json model = nuc_json_field(&root, "model");
    struct nuc_json list = nuc_json_field(&root, "nodes");
    size_t count = nuc_json_count(&list);
    k.old = nuc_alloc_array(r->cx, count + 1, sizeof *k.old);
    for (size_t i = 0; i < count; i++) {
        struct nuc_json node = nuc_json_item(&list, i), where = nuc_json_optional(&node, "where");
        struct nuc_json label = nuc_json_field(&node, "label"), cycles = nuc_json_field(&node, "cycles");
        struct nuc_json sqnr = nuc_json_optional(&node, "sqnr_db");
        if (!nuc_json_is_there(&where)) /* an input or an output */
            continue;
        k.old[k.n_old++] =
            (struct old_node){.label = nuc_json_string(&label),
                              .where = nuc_json_string(&where),
                              .cycles = nuc_json_int(&cycles),
                              .sqnr_db = nuc_json_is_there(&sqnr) ? nuc_json_double(&sqnr) : (double)NAN};
    }
    match(&k, r->o.compare, text_of(&model, "file"));
    json_t *to = nuc_put_object(r->cx, r->tree, "compare"), *old = nuc_put_object(r->cx, to, "old");
    struct nuc_json target = nuc_json_field(&root, "target");
    nuc_put_text(r->cx, old, "file", r->o.compare);
    nuc_put_text(r->cx, old, "model", text_of(&model, "file"));
    nuc_put_text(r->cx, old, "target", text_of(&target, "name"));
    nuc_put_text(r->cx, old, "invocation", text_of(&root, "invocation"));
    nuc_put_text(r->cx, old, "nucleon", text_of(&root, "nucleon"));
    put_old_summary(&k, old, &root);
    put_moved(&k, to);
    put_all_changes(&k, to);
    put_added_and_removed(&k, to);
    nuc_json_close(&root);
}
