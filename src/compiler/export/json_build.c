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

/* Bytes of the character at `p`, 0 when it is none (RFC 3629: the shortest form, no surrogates, up to U+10FFFF). */
static size_t character(const unsigned char *p)
{
    size_t more = p[0] < 0x80 ? 0 : p[0] >= 0xc2 && p[0] < 0xe0 ? 1 : p[0] >= 0xe0 && p[0] < 0xf0 ? 2 : 3;

    if (p[0] > 0xf4 || (p[0] >= 0x80 && p[0] < 0xc2))
        return 0;
    for (size_t i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] >= 0x90))
        return 0;
    return more + 1;
}

/* jansson's own check does not tell such a text from memory that ran out. */
static bool is_utf8(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    while (*p != '\0') {
        size_t size = character(p);
        if (size == 0)
            return false;
        p += size;
    }
    return true;
}

void nuc_put_string(struct nuc_context *cx, json_t *parent, const char *key, const char *value)
{
    if (!is_utf8(value))
        nuc_fail(cx, NUC_BAD_INPUT, "'%s' is not UTF-8 text: rename it", value);
    put(cx, parent, key, json_string_nocheck(value));
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
