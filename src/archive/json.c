/* Checked access to the values of a text. */
#include "archive/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host/characters.h"
#include "host/limits.h"
#include "host/nearest.h"
#include "host/text.h"

struct nuc_json_text *nuc_json_room(struct nuc_context *cx, const char *name, uint64_t size)
{
    if (size > NUC_MAX_JSON)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s: %llu bytes of JSON (limit %zu): export a smaller model", name,
                 (unsigned long long)size, NUC_MAX_JSON);
    return nuc_json_text_new(cx, (size_t)size);
}

/* The value of a token; of the root, which nobody holds, for what is absent. */
static struct nuc_json make(const struct nuc_json_file *file, const struct nuc_json *parent, const char *key,
                            size_t index, uint32_t token)
{
    enum nuc_json_type type = token == 0 ? NUC_JSON_ABSENT : nuc_json_text_type(file->text, token);

    return (struct nuc_json){file, parent, key, index, token, type};
}

static struct nuc_json root_of(struct nuc_context *cx, const char *name, struct nuc_json_text *text)
{
    struct nuc_json_file *file = nuc_alloc(cx, sizeof *file);

    *file = (struct nuc_json_file){cx, nuc_strdup(cx, name), text};
    return (struct nuc_json){.file = file, .type = nuc_json_text_type(text, 0)};
}

struct nuc_json nuc_json_parse_own(struct nuc_context *cx, const char *name, struct nuc_json_text *text)
{
    if (!nuc_json_text_parse(text))
        nuc_fail(cx, NUC_BAD_INPUT, "%s: line %d: not valid JSON: %s%s%s", name, text->line, text->what,
                 text->near[0] != '\0' ? " near " : "", text->near);
    return root_of(cx, name, text);
}

struct nuc_json nuc_json_parse(struct nuc_context *cx, const char *name, struct nuc_span text)
{
    struct nuc_json_text *own = nuc_json_room(cx, name, text.size);

    if (text.size != 0)
        memcpy(own->text, text.data, text.size);
    return nuc_json_parse_own(cx, name, own);
}

bool nuc_is_json_object(const char *given)
{
    return given[strspn(given, " \t\r\n")] == '{';
}

void nuc_json_close(const struct nuc_json *root)
{
    nuc_json_text_close(root->file->text);
}

/* "graph_module.graph.nodes[12].inputs[0]" */
static const char *path_of(const struct nuc_json *j)
{
    struct nuc_context *cx = j->file->cx;
    struct nuc_text text = {.cx = cx};
    size_t depth = 0;

    for (const struct nuc_json *at = j; at->parent != NULL; at = at->parent)
        depth++;
    const struct nuc_json **way = nuc_alloc_array(cx, depth, sizeof *way);
    for (const struct nuc_json *at = j; at->parent != NULL; at = at->parent)
        way[--depth] = at;
    for (const struct nuc_json *at = j; at->parent != NULL; at = at->parent, depth++) {
        if (way[depth]->key == NULL)
            nuc_text_addf(&text, "[%zu]", way[depth]->index);
        else
            nuc_text_addf(&text, "%s%s", depth == 0 ? "" : ".", way[depth]->key);
    }
    return nuc_text_string(&text);
}

_Noreturn void nuc_json_fail(const struct nuc_json *j, enum nuc_status status, const char *format, ...)
{
    char what[NUC_MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    nuc_fail(j->file->cx, status, "%s: %s%s%s", j->file->name, path_of(j), j->parent != NULL ? ": " : "", what);
}

_Noreturn static void wrong_type(const struct nuc_json *j, const char *wanted)
{
    static const char *const names[] = {
        [NUC_JSON_ABSENT] = "absent", [NUC_JSON_OBJECT] = "an object",   [NUC_JSON_ARRAY] = "an array",
        [NUC_JSON_STRING] = "a text", [NUC_JSON_INTEGER] = "an integer", [NUC_JSON_REAL] = "a real number",
        [NUC_JSON_TRUE] = "true",     [NUC_JSON_FALSE] = "false",        [NUC_JSON_NULL] = "null",
    };

    nuc_json_fail(j, NUC_BAD_INPUT, "is %s where %s belongs", names[j->type], wanted);
}

struct nuc_json nuc_json_entry(const struct nuc_json *object, const char *key)
{
    if (object->type != NUC_JSON_OBJECT)
        wrong_type(object, "an object");
    return make(object->file, object, key, 0, nuc_json_text_member(object->file->text, object->token, key));
}

struct nuc_json nuc_json_field(const struct nuc_json *object, const char *key)
{
    struct nuc_json field = nuc_json_entry(object, key);

    if (!nuc_json_is_there(&field))
        nuc_json_fail(&field, NUC_BAD_INPUT, "the field is missing");
    return field;
}

struct nuc_json nuc_json_optional(const struct nuc_json *object, const char *key)
{
    struct nuc_json field = nuc_json_entry(object, key);

    if (field.type == NUC_JSON_NULL)
        field.type = NUC_JSON_ABSENT;
    return field;
}

size_t nuc_json_count(const struct nuc_json *array)
{
    if (array->type != NUC_JSON_ARRAY)
        wrong_type(array, "an array");
    return nuc_json_text_count(array->file->text, array->token);
}

struct nuc_json nuc_json_item(const struct nuc_json *array, size_t index)
{
    return make(array->file, array, NULL, index, nuc_json_text_item(array->file->text, array->token, (uint32_t)index));
}

struct nuc_json nuc_json_union(const struct nuc_json *object)
{
    const struct nuc_json_text *text = object->file->text;

    if (object->type != NUC_JSON_OBJECT)
        wrong_type(object, "an object");
    uint32_t count = nuc_json_text_count(text, object->token), key = nuc_json_text_first(object->token);
    if (count != 1)
        nuc_json_fail(object, NUC_BAD_INPUT, "has %u fields where one belongs", (unsigned)count);
    return make(object->file, object, nuc_json_text_string(text, key), 0, key + 1);
}

static const char *word_at(const void *words, size_t index)
{
    return ((const char *const *)words)[index];
}

static const char *list_of(struct nuc_context *cx, const char *const *words)
{
    const char *list = words[0];

    for (size_t i = 1; words[i] != NULL; i++)
        list = nuc_format(cx, "%s, %s", list, words[i]);
    return list;
}

static const char *instead_of(struct nuc_context *cx, const char *name, const char *const *words)
{
    const char *near = nuc_did_you_mean(cx, name, word_at, words);

    return *near != '\0' ? near : nuc_format(cx, ": give one of: %s", list_of(cx, words));
}

void nuc_json_only(const struct nuc_json *object, const char *const *words)
{
    const struct nuc_json_text *text = object->file->text;

    if (object->type != NUC_JSON_OBJECT)
        wrong_type(object, "an object");
    uint32_t key = nuc_json_text_first(object->token);
    for (uint32_t left = nuc_json_text_count(text, object->token); left > 0; left--) {
        const char *name = nuc_json_text_string(text, key);
        const struct nuc_json member = make(object->file, object, name, 0, key + 1);
        if (!nuc_is_one_of(name, words, SIZE_MAX))
            nuc_json_fail(&member, NUC_BAD_INPUT, "is not known here%s", instead_of(object->file->cx, name, words));
        key = nuc_json_text_next(text, key + 1);
    }
}

struct nuc_json nuc_json_kind(const struct nuc_json *object, const char *const *words, int *which)
{
    if (object->type != NUC_JSON_OBJECT || nuc_json_text_count(object->file->text, object->token) != 1)
        nuc_json_fail(object, NUC_BAD_INPUT, "is not an object with one member: give one of: %s",
                      list_of(object->file->cx, words));
    nuc_json_only(object, words);
    const struct nuc_json member = nuc_json_union(object);
    for (*which = 0; strcmp(words[*which], member.key) != 0;)
        ++*which;
    return member;
}

int nuc_json_word(const struct nuc_json *object, const char *key, const char *const *words, int absent)
{
    const struct nuc_json j = nuc_json_optional(object, key);
    struct nuc_context *cx = object->file->cx;

    if (!nuc_json_is_there(&j) && absent >= 0)
        return absent;
    if (!nuc_json_is_there(&j))
        nuc_json_fail(&j, NUC_BAD_INPUT, "is missing: give one of: %s", list_of(cx, words));
    const char *text = nuc_json_string(&j);
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0)
            return i;
    }
    nuc_json_fail(&j, NUC_BAD_INPUT, "'%.40s' is none of: %s%s", text, list_of(cx, words),
                  nuc_did_you_mean(cx, text, word_at, words));
}

int64_t nuc_json_int(const struct nuc_json *j)
{
    if (j->type != NUC_JSON_INTEGER)
        wrong_type(j, "an integer");
    return nuc_json_text_integer(j->file->text, j->token);
}

bool nuc_json_bool(const struct nuc_json *j)
{
    if (j->type != NUC_JSON_TRUE && j->type != NUC_JSON_FALSE)
        wrong_type(j, "true or false");
    return j->type == NUC_JSON_TRUE;
}

const char *nuc_json_string(const struct nuc_json *j)
{
    if (j->type != NUC_JSON_STRING)
        wrong_type(j, "a text");
    const char *text = nuc_json_text_string(j->file->text, j->token);
    if (!nuc_is_plain(text))
        nuc_json_fail(j, NUC_BAD_INPUT, "the text has control characters: export the model again with other names");
    return text;
}

double nuc_json_double(const struct nuc_json *j)
{
    if (j->type == NUC_JSON_INTEGER)
        return (double)nuc_json_text_integer(j->file->text, j->token);
    if (j->type == NUC_JSON_REAL)
        return nuc_json_text_number(j->file->text, j->token);
    if (j->type == NUC_JSON_STRING) {
        const char *text = nuc_json_text_string(j->file->text, j->token);
        if (strcmp(text, "Infinity") == 0)
            return (double)INFINITY;
        if (strcmp(text, "-Infinity") == 0)
            return -(double)INFINITY;
        if (strcmp(text, "NaN") == 0)
            return (double)NAN;
    }
    wrong_type(j, "a number");
}

/* ---- never failing ---- */

struct nuc_json nuc_json_maybe_member(const struct nuc_json *object, const char *key)
{
    bool has = object->type == NUC_JSON_OBJECT;

    return make(object->file, NULL, NULL, 0, has ? nuc_json_text_member(object->file->text, object->token, key) : 0);
}

struct nuc_json nuc_json_maybe_item(const struct nuc_json *array, size_t index)
{
    bool has = index < nuc_json_maybe_count(array) && array->type == NUC_JSON_ARRAY;

    return make(array->file, NULL, NULL, 0,
                has ? nuc_json_text_item(array->file->text, array->token, (uint32_t)index) : 0);
}

size_t nuc_json_maybe_count(const struct nuc_json *container)
{
    bool has = container->type == NUC_JSON_ARRAY || container->type == NUC_JSON_OBJECT;

    return has ? nuc_json_text_count(container->file->text, container->token) : 0;
}

const char *nuc_json_maybe_text(const struct nuc_json *j)
{
    return j->type == NUC_JSON_STRING ? nuc_json_text_string(j->file->text, j->token) : NULL;
}

struct nuc_json nuc_json_maybe_parse(struct nuc_context *cx, const char *text)
{
    struct nuc_json absent = {.type = NUC_JSON_ABSENT};

    if (text == NULL || strlen(text) > NUC_MAX_JSON)
        return absent;
    struct nuc_json_text *own = nuc_json_text_new(cx, strlen(text));
    memcpy(own->text, text, own->size);
    return nuc_json_text_parse(own) ? root_of(cx, "text", own) : absent;
}
