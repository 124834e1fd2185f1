#include "data/metadata.h"

#include <math.h>
#include <string.h>

#include "archive/json.h"
#include "archive/json_build.h"
#include "data/decision_json.h"
#include "host/text.h"

enum {
    SCHEMA = 1,
    TEXT_MAX = NUC_FRONT_END_MAX, /* bytes of a name */
    BOUNDARY_MAX = 4096,
};

/* ---- the fields: what is written and read ---- */

enum kind {
    TEXT,    /* const char *; NULL: absent */
    NUMBER,  /* double; NaN: absent */
    NUMBERS, /* up to 3 of them in place, and how many */
    TEXTS,   /* a list of texts, and how many; none: absent */
    WORD,    /* an int, the place of a word of a list */
};

struct field {
    const char *key;
    enum kind kind;
    size_t at, count_at; /* in the item */
    const char *const *words;
};

/* A list of items, or a single one. */
struct section {
    const char *key;
    bool is_list;
    size_t item_size;
    size_t items_at, count_at; /* in struct nuc_metadata */
    const struct field *fields;
    size_t n_fields;
};

const char *const nuc_resize_words[] = {"auto", "none", "stretch", "crop", NULL};

#define AT(type, member) offsetof(struct type, member)

static const struct field input_fields[] = {
    {"name", TEXT, AT(nuc_input_metadata, name), 0, NULL},
    {"least", NUMBER, AT(nuc_input_metadata, least), 0, NULL},
    {"most", NUMBER, AT(nuc_input_metadata, most), 0, NULL},
};

static const struct field output_fields[] = {
    {"name", TEXT, AT(nuc_output_metadata, name), 0, NULL},
    {"key", TEXT, AT(nuc_output_metadata, key), 0, NULL},
    {"classes", TEXTS, AT(nuc_output_metadata, classes), AT(nuc_output_metadata, n_classes), NULL},
};

static const struct field image_fields[] = {
    {"mean", NUMBERS, AT(nuc_image_metadata, mean), AT(nuc_image_metadata, n_mean), NULL},
    {"std", NUMBERS, AT(nuc_image_metadata, std), AT(nuc_image_metadata, n_std), NULL},
    {"resize", WORD, AT(nuc_image_metadata, resize), 0, nuc_resize_words},
};

static const struct field calibration_fields[] = {
    {"marks", NUMBERS, AT(nuc_calibration_metadata, marks), AT(nuc_calibration_metadata, n_marks), NULL},
};

static const struct field front_end_fields[] = {
    {"text", TEXT, AT(nuc_front_end_metadata, text), 0, NULL},
};

static const char *const holds_words[] = {"planned", "temporary", "weights", NULL};

static const struct field memory_fields[] = {
    {"name", TEXT, AT(nuc_memory_metadata, name), 0, NULL},
    {"bytes", NUMBER, AT(nuc_memory_metadata, bytes), 0, NULL},
    {"holds", WORD, AT(nuc_memory_metadata, holds), 0, holds_words},
};

static const struct field target_fields[] = {
    {"name", TEXT, AT(nuc_target_metadata, name), 0, NULL},
    {"cpu", TEXT, AT(nuc_target_metadata, cpu), 0, NULL},
};

#define COUNT(rows) (sizeof rows / sizeof rows[0])
#define SECTION(key, is_list, item, items, fields)                                                                     \
    {                                                                                                                  \
        key, is_list, sizeof(struct item), AT(nuc_metadata, items), AT(nuc_metadata, n_##items), fields, COUNT(fields) \
    }

static const struct section sections[] = {
    SECTION("inputs", true, nuc_input_metadata, inputs, input_fields),
    SECTION("outputs", true, nuc_output_metadata, outputs, output_fields),
    SECTION("images", false, nuc_image_metadata, images, image_fields),
    SECTION("calibration", false, nuc_calibration_metadata, calibration, calibration_fields),
    SECTION("front_end", false, nuc_front_end_metadata, front_ends, front_end_fields),
    SECTION("memories", true, nuc_memory_metadata, memories, memory_fields),
    SECTION("target", false, nuc_target_metadata, target, target_fields),
};

/* ---- items by section ---- */

static size_t count_of(const struct nuc_metadata *m, const struct section *s)
{
    return *(const size_t *)((const char *)m + s->count_at);
}

static char *make_items(struct nuc_context *cx, struct nuc_metadata *m, const struct section *s, size_t count)
{
    char *items = nuc_alloc_array(cx, count, s->item_size);

    for (size_t k = 0; k < s->n_fields; k++) {
        for (size_t i = 0; s->fields[k].kind == NUMBER && i < count; i++)
            *(double *)(items + i * s->item_size + s->fields[k].at) = (double)NAN;
    }
    memcpy((char *)m + s->items_at, &items, sizeof items);
    *(size_t *)((char *)m + s->count_at) = count;
    return items;
}

struct nuc_metadata *nuc_metadata_new(struct nuc_context *cx, size_t n_inputs, size_t n_outputs)
{
    struct nuc_metadata *m = nuc_alloc(cx, sizeof *m);

    make_items(cx, m, &sections[0], n_inputs);
    make_items(cx, m, &sections[1], n_outputs);
    return m;
}

/* ---- writing ---- */

static bool is_control(const char *p)
{
    unsigned char c = (unsigned char)p[0];

    return c < ' ' || c == 127 || (c == 0xc2 && (unsigned char)p[1] < 0xa0);
}

const char *nuc_metadata_text(struct nuc_context *cx, const char *text)
{
    struct nuc_text out = {.cx = cx};
    json_t *string = json_string(text), *any = json_string_nocheck(text);
    bool plain = string != NULL, no_memory = any == NULL;

    json_decref(string);
    json_decref(any);
    if (no_memory)
        nuc_fail(cx, NUC_NO_MEMORY, "out of memory");
    for (const char *p = text; *p != '\0' && plain; p++)
        plain = !is_control(p);
    if (plain)
        return text;
    for (const char *p = text; *p != '\0'; p++)
        nuc_text_addf(&out, *p >= ' ' && *p < 127 ? "%c" : "\\x%02x", (unsigned char)*p);
    return nuc_text_string(&out);
}

static void put_field(struct nuc_context *cx, json_t *to, const struct field *f, const char *item)
{
    const char *at = item + f->at, *text;
    const char *const *texts;

    switch (f->kind) {
    case TEXT:
        memcpy(&text, at, sizeof text);
        if (text != NULL)
            nuc_put_string(cx, to, f->key, nuc_metadata_text(cx, text));
        break;
    case NUMBER:
        if (isfinite(*(const double *)at))
            nuc_put_double(cx, to, f->key, *(const double *)at);
        break;
    case NUMBERS: {
        json_t *list = nuc_put_array(cx, to, f->key);
        for (size_t i = 0; i < *(const size_t *)(item + f->count_at); i++)
            nuc_put_double(cx, list, NULL, ((const double *)at)[i]);
        break;
    }
    case TEXTS:
        memcpy(&texts, at, sizeof texts);
        size_t count = *(const size_t *)(item + f->count_at);
        json_t *list = count == 0 ? NULL : nuc_put_array(cx, to, f->key);
        for (size_t i = 0; i < count; i++)
            nuc_put_string(cx, list, NULL, nuc_metadata_text(cx, texts[i]));
        break;
    case WORD:
        nuc_put_string(cx, to, f->key, f->words[*(const int *)at]);
        break;
    }
}

void nuc_metadata_put(struct nuc_context *cx, const struct nuc_metadata *m, json_t *tree)
{
    nuc_put_int(cx, tree, "schema", SCHEMA);
    for (size_t k = 0; k < COUNT(sections); k++) {
        const struct section *s = &sections[k];
        const char *items;
        memcpy(&items, (const char *)m + s->items_at, sizeof items);
        /* Inputs and outputs are said also where there are none. */
        json_t *list = s->is_list && (k < 2 || count_of(m, s) > 0) ? nuc_put_array(cx, tree, s->key) : NULL;
        for (size_t i = 0; i < count_of(m, s); i++) {
            json_t *item = nuc_put_object(cx, s->is_list ? list : tree, s->is_list ? NULL : s->key);
            for (size_t f = 0; f < s->n_fields; f++)
                put_field(cx, item, &s->fields[f], items + i * s->item_size);
        }
    }
    if (m->decision != NULL)
        nuc_decision_put(cx, tree, "decision", m->decision);
}

struct nuc_span nuc_metadata_write(struct nuc_context *cx, const struct nuc_metadata *m)
{
    json_t *tree = nuc_json_tree(cx);

    nuc_metadata_put(cx, m, tree);
    /* Ranges and what images are divided by are float32 numbers: 9 digits give them back. */
    return nuc_json_dump(cx, tree, JSON_COMPACT | JSON_REAL_PRECISION(9));
}

/* ---- reading ---- */

static const char *read_text(const struct nuc_json *j)
{
    const char *text = nuc_json_string(j);
    size_t length = 0;

    for (; text[length] != '\0'; length++) {
        if (is_control(text + length))
            nuc_json_fail(j, NUC_BAD_INPUT, "holds control characters");
    }
    if (length == 0 || length > TEXT_MAX)
        nuc_json_fail(j, NUC_BAD_INPUT, "has %zu bytes, 1 to %d are allowed", length, TEXT_MAX);
    return nuc_strdup(j->file->cx, text);
}

static double read_number(const struct nuc_json *j)
{
    double value = nuc_json_double(j);

    if (!isfinite(value))
        nuc_json_fail(j, NUC_BAD_INPUT, "is not finite");
    return value;
}

static size_t read_numbers(const struct nuc_json *j, double *numbers)
{
    size_t count = nuc_json_count(j);

    if (count != 1 && count != 3)
        nuc_json_fail(j, NUC_BAD_INPUT, "has %zu numbers, 1 or 3 are taken", count);
    for (size_t i = 0; i < count; i++) {
        struct nuc_json item = nuc_json_item(j, i);
        numbers[i] = read_number(&item);
    }
    return count;
}

static const char *const *read_texts(const struct nuc_json *j, size_t *count)
{
    size_t n = nuc_json_count(j);
    const char **texts = nuc_alloc_array(j->file->cx, n, sizeof *texts);

    for (size_t i = 0; i < n; i++) {
        struct nuc_json item = nuc_json_item(j, i);
        texts[i] = read_text(&item);
    }
    *count = n;
    return texts;
}

static void read_field(const struct nuc_json *object, const struct field *f, char *item)
{
    struct nuc_json j = f->kind == NUMBERS ? nuc_json_field(object, f->key) : nuc_json_optional(object, f->key);
    char *at = item + f->at;

    if (!nuc_json_is_there(&j) && f->kind != WORD)
        return;
    switch (f->kind) {
    case TEXT: {
        const char *text = read_text(&j);
        memcpy(at, &text, sizeof text);
        break;
    }
    case NUMBER:
        *(double *)at = read_number(&j);
        break;
    case NUMBERS:
        *(size_t *)(item + f->count_at) = read_numbers(&j, (double *)at);
        break;
    case TEXTS: {
        const char *const *texts = read_texts(&j, (size_t *)(item + f->count_at));
        memcpy(at, &texts, sizeof texts);
        break;
    }
    case WORD:
        *(int *)at = nuc_json_word(object, f->key, f->words, -1);
        break;
    }
}

/* Names of memories become those of sections and macros. */
static bool is_identifier(const char *name)
{
    size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

    return n > 0 && n < 32 && name[n] == '\0' && !(name[0] >= '0' && name[0] <= '9');
}

static void read_decision(const struct nuc_json *root, struct nuc_metadata *m)
{
    const struct nuc_decision_source nothing = {.folder = NULL};
    const struct nuc_json j = nuc_json_optional(root, "decision");

    if (!nuc_json_is_there(&j))
        return;
    struct nuc_decision_rule *d = nuc_decision_read(&j, &nothing);
    for (size_t i = 0; i < d->n_views; i++) {
        if (d->views[i].output >= m->n_outputs)
            nuc_json_fail(&j, NUC_BAD_INPUT, "is of output %u, there are %zu", (unsigned)d->views[i].output,
                          m->n_outputs);
    }
    m->decision = d;
}

struct reading {
    struct nuc_span text;
    struct nuc_metadata *m;
};

static void read_all(struct nuc_context *cx, void *arg)
{
    struct reading *r = arg;
    struct nuc_metadata *m = nuc_alloc(cx, sizeof *m);

    if (r->text.size > NUC_METADATA_MAX)
        nuc_fail(cx, NUC_BAD_INPUT, "%zu bytes, at most %zu are allowed", r->text.size, NUC_METADATA_MAX);
    struct nuc_json root = nuc_json_parse(cx, "named data '" NUC_METADATA_KEY "'", r->text);
    struct nuc_json schema = nuc_json_field(&root, "schema");
    if (nuc_json_int(&schema) != SCHEMA)
        nuc_json_fail(&schema, NUC_BAD_INPUT, "is %lld, %d is known", (long long)nuc_json_int(&schema), SCHEMA);
    for (size_t k = 0; k < COUNT(sections); k++) {
        const struct section *s = &sections[k];
        struct nuc_json j = nuc_json_optional(&root, s->key);
        size_t count = !nuc_json_is_there(&j) ? 0 : s->is_list ? nuc_json_count(&j) : 1;
        if (count > BOUNDARY_MAX)
            nuc_json_fail(&j, NUC_BAD_INPUT, "has %zu items, at most %d are allowed", count, BOUNDARY_MAX);
        char *items = make_items(cx, m, s, count);
        for (size_t i = 0; i < count; i++) {
            struct nuc_json item = s->is_list ? nuc_json_item(&j, i) : j;
            for (size_t f = 0; f < s->n_fields; f++)
                read_field(&item, &s->fields[f], items + i * s->item_size);
        }
    }
    read_decision(&root, m);
    /* What no field can say alone. */
    for (size_t i = 0; i < m->n_inputs; i++) {
        const struct nuc_input_metadata *input = &m->inputs[i];
        if (isnan(input->least) != isnan(input->most) || input->least > input->most)
            nuc_json_fail(&root, NUC_BAD_INPUT, "the range of input %zu is none", i);
    }
    for (size_t i = 0; i < m->n_memories; i++) {
        const struct nuc_memory_metadata *memory = &m->memories[i];
        if (memory->name == NULL || !is_identifier(memory->name))
            nuc_json_fail(&root, NUC_BAD_INPUT, "the name of memory %zu is none", i);
    }
    for (size_t i = 0; i < m->n_images; i++) {
        const struct nuc_image_metadata *images = &m->images[i];
        if (images->n_mean != images->n_std)
            nuc_json_fail(&root, NUC_BAD_INPUT, "mean and std are of different numbers of channels");
        for (size_t c = 0; c < images->n_std; c++) {
            if (!(images->std[c] > 0))
                nuc_json_fail(&root, NUC_BAD_INPUT, "std is not above 0");
        }
    }
    r->m = m;
}

const struct nuc_metadata *nuc_metadata_read(struct nuc_context *cx, struct nuc_span text, const char **why)
{
    struct reading r = {text, NULL};
    enum nuc_status status = nuc_try(cx, read_all, &r);

    if (status == NUC_NO_MEMORY || status == NUC_INTERRUPTED)
        nuc_fail_again(cx, status);
    *why = status == NUC_OK ? NULL : nuc_strdup(cx, cx->message);
    return status == NUC_OK ? r.m : NULL;
}

const char *nuc_metadata_memory(const struct nuc_metadata *m, enum nuc_memory_holds holds, size_t index)
{
    for (size_t i = 0; m != NULL && i < m->n_memories; i++) {
        if (m->memories[i].holds == (int)holds && index-- == 0)
            return m->memories[i].name;
    }
    return NULL;
}

const struct nuc_metadata *nuc_metadata_of(struct nuc_context *cx, const struct nuc_program_view *view)
{
    const char *why;

    for (uint32_t i = 0; i < view->n_named; i++) {
        if (nuc_view_is(view->named[i].key, NUC_METADATA_KEY))
            return nuc_metadata_read(cx, view->named[i].data, &why);
    }
    return NULL;
}
