#include "compiler/export/json_build.h"

#include <math.h>

static void release(void *object)
{
    json_t **tree = object;

    json_decref(*tree);
}

static json_t *checked(struct nuc_context *cx, json_t *value)
{
    if (value == NULL)
        nuc_fail(cx, NUC_NO_MEMORY, "out of memory");
    return value;
}

json_t *nuc_json_tree(struct nuc_context *cx)
{
    json_t **tree = nuc_alloc(cx, sizeof *tree);

    nuc_defer(cx, release, tree);
    *tree = json_object();
    return checked(cx, *tree);
}

/* Takes over the value, even when it cannot be attached. */
static json_t *put(struct nuc_context *cx, json_t *parent, const char *key, json_t *value)
{
    checked(cx, value);
    int failed = key == NULL ? json_array_append_new(parent, value) : json_object_set_new(parent, key, value);
    return checked(cx, failed != 0 ? NULL : value);
}

json_t *nuc_put_object(struct nuc_context *cx, json_t *parent, const char *key)
{
    return put(cx, parent, key, json_object());
}

json_t *nuc_put_array(struct nuc_context *cx, json_t *parent, const char *key)
{
    return put(cx, parent, key, json_array());
}

void nuc_put_null(struct nuc_context *cx, json_t *parent, const char *key)
{
    put(cx, parent, key, json_null());
}

void nuc_put_bool(struct nuc_context *cx, json_t *parent, const char *key, bool value)
{
    put(cx, parent, key, json_boolean(value));
}

void nuc_put_int(struct nuc_context *cx, json_t *parent, const char *key, int64_t value)
{
    put(cx, parent, key, json_integer(value));
}

void nuc_put_double(struct nuc_context *cx, json_t *parent, const char *key, double value)
{
    if (isnan(value))
        nuc_put_string(cx, parent, key, "NaN");
    else if (isinf(value))
        nuc_put_string(cx, parent, key, value < 0 ? "-Infinity" : "Infinity");
    else
        put(cx, parent, key, json_real(value));
}

void nuc_put_string(struct nuc_context *cx, json_t *parent, const char *key, const char *value)
{
    json_t *string = json_string(value);

    if (string == NULL && (string = json_string_nocheck(value)) != NULL) {
        json_decref(string);
        nuc_fail(cx, NUC_BAD_INPUT, "'%s' is not UTF-8 text: rename it", value);
    }
    put(cx, parent, key, string);
}

struct nuc_span nuc_json_dump(struct nuc_context *cx, const json_t *tree, size_t flags)
{
    if ((flags & JSON_REAL_PRECISION(31)) == 0)
        flags |= JSON_REAL_PRECISION(17);
    size_t size = json_dumpb(tree, NULL, 0, flags);
    char *text = nuc_alloc(cx, size);

    if (size == 0 || json_dumpb(tree, text, size, flags) != size)
        nuc_fail(cx, NUC_NO_MEMORY, "out of memory");
    return (struct nuc_span){(const uint8_t *)text, size};
}
