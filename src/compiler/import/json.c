/* Checked access to jansson values. jansson bounds nesting (2,048 levels) and refuses numbers beyond 64 bits. */
#include "compiler/import/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compiler/import/json_memory.h"
#include "host/characters.h"
#include "host/limits.h"
#include "host/text.h"

/* The tree lies in the arena. */
struct nuc_json nuc_json_parse(struct nuc_context *cx, const char *name, struct nuc_span text)
{
    struct nuc_json_file *file = nuc_alloc(cx, sizeof *file);
    json_error_t error;

    if (text.size > NUC_MAX_JSON)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s: %zu bytes of JSON (limit %zu): export a smaller model", name, text.size,
                 NUC_MAX_JSON);
    *file = (struct nuc_json_file){cx, nuc_strdup(cx, name)};
    nuc_json_memory_begin(cx);
    json_t *value = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &error);
    nuc_json_memory_end();
    if (value == NULL)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: line %d: not valid JSON: %s", name, error.line, error.text);
    return (struct nuc_json){.file = file, .value = value};
}

/* "graph_module.graph.nodes[12].inputs[0]" */
static const char *path_of(const struct nuc_json *j)
{
    struct nuc_context *cx = j->file->cx;
    struct nuc_text text;
    size_t depth = 0;

    for (const struct nuc_json *at = j; at->parent != NULL; at = at->parent)
        depth++;
    const struct nuc_json **way = nuc_alloc_array(cx, depth, sizeof *way);
    for (const struct nuc_json *at = j; at->parent != NULL; at = at->parent)
        way[--depth] = at;
    nuc_text_init(&text, cx);
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
    nuc_fail(j->file->cx, status, "%s: %s: %s", j->file->name, path_of(j), what);
}

static const char *type_name(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object",   [JSON_ARRAY] = "an array",     [JSON_STRING] = "a text",
        [JSON_INTEGER] = "an integer", [JSON_REAL] = "a real number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",        [JSON_NULL] = "null",
    };

    return value == NULL ? "absent" : names[json_typeof(value)];
}

_Noreturn static void wrong_type(const struct nuc_json *j, const char *wanted)
{
    nuc_json_fail(j, NUC_BAD_INPUT, "is %s where %s belongs", type_name(j->value), wanted);
}

struct nuc_json nuc_json_entry(const struct nuc_json *object, const char *key)
{
    if (!json_is_object(object->value))
        wrong_type(object, "an object");
    return (struct nuc_json){object->file, object, key, 0, json_object_get(object->value, key)};
}

struct nuc_json nuc_json_field(const struct nuc_json *object, const char *key)
{
    struct nuc_json field = nuc_json_entry(object, key);

    if (field.value == NULL)
        nuc_json_fail(&field, NUC_BAD_INPUT, "the field is missing");
    return field;
}

struct nuc_json nuc_json_optional(const struct nuc_json *object, const char *key)
{
    struct nuc_json field = nuc_json_entry(object, key);

    if (json_is_null(field.value))
        field.value = NULL;
    return field;
}

size_t nuc_json_count(const struct nuc_json *array)
{
    if (!json_is_array(array->value))
        wrong_type(array, "an array");
    return json_array_size(array->value);
}

struct nuc_json nuc_json_item(const struct nuc_json *array, size_t index)
{
    return (struct nuc_json){array->file, array, NULL, index, json_array_get(array->value, index)};
}

struct nuc_json nuc_json_union(const struct nuc_json *object)
{
    if (!json_is_object(object->value))
        wrong_type(object, "an object");
    if (json_object_size(object->value) != 1)
        nuc_json_fail(object, NUC_BAD_INPUT, "has %zu fields where one belongs", json_object_size(object->value));
    void *iter = json_object_iter(object->value);
    return (struct nuc_json){object->file, object, json_object_iter_key(iter), 0, json_object_iter_value(iter)};
}

int64_t nuc_json_int(const struct nuc_json *j)
{
    if (!json_is_integer(j->value))
        wrong_type(j, "an integer");
    return json_integer_value(j->value);
}

bool nuc_json_bool(const struct nuc_json *j)
{
    if (!json_is_boolean(j->value))
        wrong_type(j, "true or false");
    return json_is_true(j->value);
}

const char *nuc_json_string(const struct nuc_json *j)
{
    if (!json_is_string(j->value))
        wrong_type(j, "a text");
    if (!nuc_is_plain(json_string_value(j->value)))
        nuc_json_fail(j, NUC_BAD_INPUT, "the text has control characters: export the model again with other names");
    return json_string_value(j->value);
}

double nuc_json_double(const struct nuc_json *j)
{
    if (json_is_number(j->value))
        return json_number_value(j->value);
    if (json_is_string(j->value)) {
        const char *text = json_string_value(j->value);
        if (strcmp(text, "Infinity") == 0)
            return (double)INFINITY;
        if (strcmp(text, "-Infinity") == 0)
            return -(double)INFINITY;
        if (strcmp(text, "NaN") == 0)
            return (double)NAN;
    }
    wrong_type(j, "a number");
}
