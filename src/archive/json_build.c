#include "archive/json_build.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host/characters.h"

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

/* jansson's own check does not tell such a text from memory that ran out. */
static bool is_utf8(const char *text)
{
    for (size_t bytes; *text != '\0'; text += bytes) {
        bytes = 1;
        if ((*text & 0x80) != 0)
            nuc_character(text, &bytes);
        if (bytes == 0)
            return false;
    }
    return true;
}

void nuc_put_string(struct nuc_context *cx, json_t *parent, const char *key, const char *value)
{
    if (!is_utf8(value))
        nuc_fail(cx, NUC_BAD_INPUT, "'%s' is not UTF-8 text: rename it", value);
    put(cx, parent, key, json_string_nocheck(value));
}

void nuc_put_text(struct nuc_context *cx, json_t *parent, const char *key, const char *value)
{
    if (value == NULL)
        nuc_put_null(cx, parent, key);
    else
        nuc_put_string(cx, parent, key, is_utf8(value) ? value : nuc_plain_text(cx, value));
}

void nuc_put_texts(struct nuc_context *cx, json_t *parent, const char *key, const char *const *texts, size_t count)
{
    json_t *list = nuc_put_array(cx, parent, key);

    for (size_t i = 0; i < count; i++)
        nuc_put_text(cx, list, NULL, texts[i]);
}

void nuc_put_count(struct nuc_context *cx, json_t *parent, const char *key, uint64_t value)
{
    nuc_put_int(cx, parent, key, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void nuc_put_known_count(struct nuc_context *cx, json_t *parent, const char *key, bool known, uint64_t value)
{
    if (known)
        nuc_put_count(cx, parent, key, value);
    else
        nuc_put_null(cx, parent, key);
}

void nuc_put_sizes(struct nuc_context *cx, json_t *to, const int64_t *sizes, size_t rank)
{
    json_t *list = nuc_put_array(cx, to, "sizes");

    for (size_t i = 0; i < rank; i++)
        nuc_put_int(cx, list, NULL, sizes[i]);
}

void nuc_put_measure(struct nuc_context *cx, json_t *parent, const char *key, double value)
{
    if (isnan(value))
        nuc_put_null(cx, parent, key);
    else
        nuc_put_double(cx, parent, key, value);
}

const char *nuc_json_text(struct nuc_context *cx, const json_t *tree)
{
    struct nuc_span text = nuc_json_dump(cx, tree, JSON_INDENT(1) | JSON_ENSURE_ASCII);

    char *line = nuc_alloc(cx, text.size + 2); /* zeroed: its end is there */

    memcpy(line, text.data, text.size);
    line[text.size] = '\n';
    return line;
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

/* ---- long lists ---- */

#define MEMBERS_HELD 128 /* of a long list in the tree */
#define MARK_SIZE 32     /* of a mark with its quotation marks, at most */

static bool is_array(const struct nuc_json_long *list)
{
    return json_is_array(list->container);
}

/* Text goes to the end of blocks of this size, or of its own where it is longer. */
#define TEXT_BLOCK ((size_t)512 << 10)

/* Between the brackets of a text stand the members: a comma takes the place of the first one, the last one goes. */
static void make_text(struct nuc_context *cx, struct nuc_json_long *list)
{
    const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(17);
    bool first = list->text.count == 0;
    size_t size = json_dumpb(list->container, list->end, list->room, flags);

    if (size > list->room) {
        /* Room for what comes next; what is in front of it lies there already. */
        list->room = size > TEXT_BLOCK ? size : TEXT_BLOCK;
        list->end = nuc_alloc(cx, list->room);
        nuc_add_piece(cx, &list->text, (struct nuc_span){(const uint8_t *)list->end, 1});
        list->text.items[list->text.count - 1].size = 0;
        size = json_dumpb(list->container, list->end, size, flags);
    }
    if (size == 0 || size > list->room)
        nuc_fail(cx, NUC_NO_MEMORY, "out of memory");
    struct nuc_span *piece = &list->text.items[list->text.count - 1];
    if (first)
        piece->data++;
    else
        *list->end = ',';
    piece->size += size - 1 - first;
    list->end += size - 1;
    list->room -= size - 1;
    if (is_array(list))
        json_array_clear(list->container);
    else
        json_object_clear(list->container);
}

void nuc_json_member_done(struct nuc_context *cx, struct nuc_json_long *list)
{
    size_t held = is_array(list) ? json_array_size(list->container) : json_object_size(list->container);

    if (held >= MEMBERS_HELD)
        make_text(cx, list);
}

/* Where the text names a list, and which; NULL: none does any more. */
static const uint8_t *find_mark(const uint8_t *from, const uint8_t *end, struct nuc_json_long *const *lists,
                                size_t count, size_t *index, size_t *size)
{
    char mark[MARK_SIZE];

    for (; (from = memchr(from, '"', (size_t)(end - from))) != NULL; from++) {
        for (*index = 0; *index < count; (*index)++) {
            /* A control character, which no name has, as JSON writes it. */
            *size =
                (size_t)snprintf(mark, MARK_SIZE, "\"\\u0001%zu\"%s", *index, is_array(lists[*index]) ? "" : ":null");
            if ((size_t)(end - from) >= *size && memcmp(from, mark, *size) == 0)
                return from;
        }
    }
    return NULL;
}

struct nuc_pieces nuc_json_dump_long(struct nuc_context *cx, const json_t *tree, struct nuc_json_long *const *lists,
                                     size_t count)
{
    struct nuc_pieces text = {0};
    size_t index, mark_size;

    for (size_t i = 0; i < count; i++) {
        struct nuc_json_long *list = lists[i];
        if (json_array_size(list->container) + json_object_size(list->container) > 0)
            make_text(cx, list);
        /* What stands for the members in the tree. */
        char mark[MARK_SIZE];
        snprintf(mark, sizeof mark, "\001%zu", i);
        if (is_array(list))
            nuc_put_string(cx, list->container, NULL, mark);
        else
            nuc_put_null(cx, list->container, mark);
    }
    struct nuc_span frame = nuc_json_dump(cx, tree, JSON_COMPACT);
    const uint8_t *from = frame.data, *end = frame.data + frame.size, *mark;
    while ((mark = find_mark(from, end, lists, count, &index, &mark_size)) != NULL) {
        nuc_add_piece(cx, &text, (struct nuc_span){from, (size_t)(mark - from)});
        nuc_add_pieces(cx, &text, &lists[index]->text);
        from = mark + mark_size;
    }
    nuc_add_piece(cx, &text, (struct nuc_span){from, (size_t)(end - from)});
    return text;
}
