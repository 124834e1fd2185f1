#include "archive/json_text.h"

#include <assert.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/characters.h"

#define MOST_DEPTH 2048 /* of lists and objects inside each other */
#define SHORT 16u       /* members that are looked through one after the other */
#define NUMBER_MAX 400  /* characters of a number that is looked at */
#define MARK 0x80000000u

/* Steps from where a key should be in an index to where it is. By chance there are some hundreds in a million. */
#define MOST_COLLISIONS 4096u

/* Strings that are looked for among those before: keys and words of a schema are the same again and again. */
#define KNOWN_STRINGS 1024u

/* ---- memory ---- */

/* Memory that is given back before the arena goes. */
static void *allocate(struct nuc_context *cx, size_t size)
{
    void *block = cx->allocator.allocate(cx->allocator.user, NULL, size);

    if (block == NULL)
        nuc_fail(cx, NUC_NO_MEMORY, "out of memory: %zu bytes could not be allocated", size);
    return block;
}

static void give_back(struct nuc_context *cx, void *block)
{
    if (block != NULL)
        cx->allocator.allocate(cx->allocator.user, block, 0);
}

/* Indexes are the arena's. */
static void release(void *object)
{
    struct nuc_json_text *t = object;

    give_back(t->cx, t->text);
    give_back(t->cx, t->tokens);
    *t = (struct nuc_json_text){.cx = t->cx};
}

struct nuc_json_text *nuc_json_text_new(struct nuc_context *cx, size_t size)
{
    struct nuc_json_text *t = nuc_alloc(cx, sizeof *t);

    t->cx = cx;
    nuc_defer(cx, release, t);
    t->text = allocate(cx, size + 1);
    t->size = size;
    return t;
}

void nuc_json_text_close(struct nuc_json_text *t)
{
    for (size_t i = 0; i < t->n_indexes; i++) {
        nuc_give_back(t->cx, t->indexes[i].items, t->indexes[i].count * sizeof *t->indexes[i].items);
        nuc_index_free(t->cx, &t->indexes[i].keys);
    }
    nuc_give_back(t->cx, t->indexes, t->indexes_capacity * sizeof *t->indexes);
    release(t);
}

/* ---- parsing ---- */

/* What was read moves to the front of the text, where it takes less: strings once, no space and no punctuation. */
struct parser {
    struct nuc_json_text *t;
    char *at, *end;
    char *out; /* the end of what was moved, never beyond the token that is read next */
    int line;
    uint32_t known[KNOWN_STRINGS]; /* by a hash: where one is, 0: none; a later one takes its place */
};

static bool wrong(struct parser *p, const char *what)
{
    struct nuc_json_text *t = p->t;
    size_t n = 0;

    if (t->what != NULL)
        return false;
    t->what = what;
    t->line = p->line;
    for (const char *at = p->at; n + 1 < sizeof t->near && at < p->end && *at >= ' ' && *at <= '~'; at++)
        t->near[n++] = *at;
    t->near[n] = '\0';
    return false;
}

/* The quotation mark that ends a string, or the end of the text. */
static const char *end_of_string(const char *at, const char *end)
{
    while (at < end && *at != '"')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    return at;
}

/* Every value and key follows a sign that is counted here; lists and objects have two more. */
static size_t most_tokens(const struct nuc_json_text *t)
{
    const char *end = t->text + t->size;
    size_t count = 1;

    for (const char *at = t->text; at < end; at++) {
        if (*at == '"')
            at = end_of_string(at + 1, end);
        else if (*at == ',' || *at == ':')
            count++;
        else if (*at == '[' || *at == '{')
            count += 3;
    }
    return count;
}

/*
 * `length` characters at `from` move: a number with the character behind it, which ends it. Returns their place.
 */
static uint32_t place(struct parser *p, const char *from, size_t length)
{
    uint32_t place = (uint32_t)(p->out - p->t->text);

    memmove(p->out, from, length);
    p->out += length;
    return place;
}

static uint32_t add_token(struct parser *p, uint32_t token)
{
    struct nuc_json_text *t = p->t;

    assert(t->n_tokens < t->most_tokens);
    t->tokens[t->n_tokens] = token;
    return (uint32_t)t->n_tokens++;
}

static void skip_space(struct parser *p)
{
    for (; p->at < p->end; p->at++) {
        if (*p->at == '\n')
            p->line++;
        else if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r')
            return;
    }
}

/* Whether the next character that is no space is that one, which is taken. */
static bool take(struct parser *p, char c)
{
    skip_space(p);
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

/* ---- strings ---- */

/* Four hexadecimal digits; -1: they are not there. */
static int32_t four_digits(const struct parser *p, const char *from)
{
    int32_t value = 0;

    if (p->end - from < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = from[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static char *put_character(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t marks[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(marks[more] | c >> (6 * more));
    while (more-- > 0)
        *to++ = (char)(0x80 | (c >> (6 * more) & 0x3f));
    return to;
}

/* \uXXXX, two of which make a character beyond U+FFFF. p->at is behind the 'u'. */
static bool unicode(struct parser *p, char **to)
{
    int32_t c = four_digits(p, p->at);

    if (c < 0)
        return wrong(p, "invalid escape");
    if (c == 0)
        return wrong(p, "\\u0000 is not allowed");
    p->at += 4;
    if (c >= 0xdc00 && c < 0xe000)
        return wrong(p, "invalid Unicode");
    if (c >= 0xd800 && c < 0xdc00) {
        int32_t low = p->end - p->at >= 6 && p->at[0] == '\\' && p->at[1] == 'u' ? four_digits(p, p->at + 2) : -1;
        if (low < 0xdc00 || low >= 0xe000)
            return wrong(p, "invalid Unicode");
        p->at += 6;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    *to = put_character(*to, (uint32_t)c);
    return true;
}

/* p->at is at the backslash. What it stands for is never longer. */
static bool escape(struct parser *p, char **to)
{
    static const char letters[] = "\"\\/bfnrt", stand_for[] = "\"\\/\b\f\n\r\t";
    char c = p->end - p->at < 2 ? '\0' : p->at[1];
    const char *found = c == '\0' ? NULL : strchr(letters, c);

    if (c != 'u' && found == NULL)
        return wrong(p, "invalid escape");
    p->at += 2;
    if (c == 'u')
        return unicode(p, to);
    *(*to)++ = stand_for[found - letters];
    return true;
}

/* A string of `length` at `from`, of which there is one already, or which moves. Returns its place. */
static uint32_t place_string(struct parser *p, const char *from, size_t length)
{
    uint32_t hash = (uint32_t)length;

    if (length > 0)
        hash = ((hash * 31 + (uint8_t)from[0]) * 31 + (uint8_t)from[length / 2]) * 31 + (uint8_t)from[length - 1];
    uint32_t *known = &p->known[hash % KNOWN_STRINGS];
    if (*known == 0 || memcmp(p->t->text + *known, from - 1, length + 2) != 0)
        *known = place(p, from - 1, length + 2);
    return *known;
}

static bool is_simple(char c)
{
    return (uint8_t)c >= 0x20 && (uint8_t)c < 0x80 && c != '"' && c != '\\';
}

/* p->at is behind the quotation mark. The place of the string is that of the token. */
static bool string(struct parser *p, uint32_t token)
{
    const char *from = p->at;

    while (p->at < p->end && is_simple(*p->at))
        p->at++;
    for (char *to = p->at; p->at < p->end;) {
        size_t n = 1;
        if (*p->at == '"') {
            p->at++;
            *to = '\0';
            p->t->tokens[token] = place_string(p, from, (size_t)(to - from));
            return true;
        }
        if (*p->at == '\\') {
            if (!escape(p, &to))
                return false;
            continue;
        }
        if ((uint8_t)*p->at < 0x20)
            return wrong(p, "control character in a string");
        nuc_character(p->at, &n); /* the text ends with a zero, which no character goes on with */
        if (n == 0)
            return wrong(p, "not in UTF-8");
        memmove(to, p->at, n);
        to += n;
        p->at += n;
    }
    return wrong(p, "premature end of input");
}

/* ---- numbers ---- */

static bool digits(struct parser *p)
{
    const char *from = p->at;

    while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
        p->at++;
    return p->at > from;
}

/* strtod() takes the point of the locale. */
static double to_double(const char *from, size_t length)
{
    char text[NUMBER_MAX + 1];

    assert(length <= NUMBER_MAX);
    memcpy(text, from, length);
    text[length] = '\0';
    char *point = strchr(text, '.');
    if (point != NULL)
        *point = *localeconv()->decimal_point;
    return strtod(text, NULL);
}

#define NUMBER_FITS 18 /* digits of an integer of any value */

static bool number(struct parser *p)
{
    const char *from = p->at;
    bool is_real = false;

    if (*p->at == '-')
        p->at++;
    const char *whole = p->at;
    if (!digits(p) || (*whole == '0' && p->at > whole + 1))
        return wrong(p, "invalid number");
    if (p->at < p->end && *p->at == '.') {
        p->at++;
        is_real = true;
        if (!digits(p))
            return wrong(p, "invalid number");
    }
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        p->at++;
        is_real = true;
        if (p->at < p->end && (*p->at == '+' || *p->at == '-'))
            p->at++;
        if (!digits(p))
            return wrong(p, "invalid number");
    }
    if (p->at - from > NUMBER_MAX)
        return wrong(p, "too long a number");
    if (is_real)
        return isfinite(to_double(from, (size_t)(p->at - from))) || wrong(p, "real number overflow");
    if (p->at - whole <= NUMBER_FITS)
        return true;
    errno = 0;
    (void)strtoll(from, NULL, 10);
    return errno == 0 || wrong(p, "too big an integer");
}

/* ---- tokens ---- */

static const char *text_at(const struct nuc_json_text *t, uint32_t token)
{
    return t->text + (t->tokens[token] & ~MARK);
}

uint32_t nuc_json_text_first(uint32_t container)
{
    return container + 3;
}

uint32_t nuc_json_text_next(const struct nuc_json_text *t, uint32_t i)
{
    return (t->tokens[i] & MARK) == 0 ? i + 1 : t->tokens[i + 1];
}

/* NULL: it is not long. */
static const struct nuc_json_index *index_of(const struct nuc_json_text *t, uint32_t container)
{
    const uint32_t count = t->tokens[container + 2];

    return (count & MARK) == 0 ? NULL : &t->indexes[count & ~MARK];
}

uint32_t nuc_json_text_count(const struct nuc_json_text *t, uint32_t i)
{
    const struct nuc_json_index *index = index_of(t, i);

    return index != NULL ? index->count : t->tokens[i + 2];
}

/* ---- long lists and objects ---- */

static const char *key_text(const struct nuc_json_text *t, uint32_t token)
{
    return text_at(t, token) + 1;
}

/* 0: it is not there, and `s` is where it would be. */
static uint32_t find_key(const struct nuc_json_text *t, struct nuc_index_search *s, const char *key)
{
    while (nuc_index_next(s)) {
        if (strcmp(key_text(t, s->place), key) == 0)
            return s->place;
    }
    return 0;
}

static struct nuc_json_index *add_index(struct nuc_json_text *t, uint32_t container, uint32_t count)
{
    t->indexes = nuc_grow(t->cx, t->indexes, &t->indexes_capacity, t->n_indexes + 1, sizeof *t->indexes);
    t->tokens[container + 2] = MARK | (uint32_t)t->n_indexes;
    t->indexes[t->n_indexes] = (struct nuc_json_index){.count = count};
    return &t->indexes[t->n_indexes++];
}

/* What is wrong with the keys of a long object; NULL: nothing. */
static const char *index_members(struct nuc_json_text *t, uint32_t object, uint32_t count)
{
    struct nuc_index *keys = &add_index(t, object, count)->keys;
    uint32_t key = nuc_json_text_first(object);

    nuc_index_reserve(t->cx, keys, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t hash = nuc_index_text(key_text(t, key));
        struct nuc_index_search s = nuc_index_search(keys, hash);
        const uint32_t first = s.at;
        if (find_key(t, &s, key_text(t, key)) != 0)
            return "duplicate object key";
        if (((s.at - first) & (keys->size - 1)) > MOST_COLLISIONS)
            return "keys of an object that are made to collide";
        nuc_index_add(t->cx, keys, hash, key);
        key = nuc_json_text_next(t, key + 1);
    }
    return NULL;
}

static bool repeats_key(const struct nuc_json_text *t, uint32_t object, uint32_t count)
{
    uint32_t last = nuc_json_text_first(object), key;

    for (uint32_t i = 0; i < count; i++) {
        for (key = nuc_json_text_first(object); key != last; key = nuc_json_text_next(t, key + 1)) {
            if (strcmp(key_text(t, key), key_text(t, last)) == 0)
                return true;
        }
        last = nuc_json_text_next(t, last + 1);
    }
    return false;
}

static bool finish(struct parser *p, uint32_t container, bool is_object, uint32_t count)
{
    struct nuc_json_text *t = p->t;

    t->tokens[container + 1] = (uint32_t)t->n_tokens;
    t->tokens[container + 2] = count;
    const char *what = NULL;
    if (is_object && count > SHORT)
        what = index_members(t, container, count);
    else if (is_object && repeats_key(t, container, count))
        what = "duplicate object key";
    if (what != NULL)
        return wrong(p, what);
    if (!is_object && count > SHORT) {
        uint32_t item = nuc_json_text_first(container), *items = nuc_alloc_array(t->cx, count, sizeof *items);
        add_index(t, container, count)->items = items;
        for (uint32_t i = 0; i < count; i++) {
            items[i] = item;
            item = nuc_json_text_next(t, item);
        }
    }
    return true;
}

/* ---- values ---- */

static bool word(struct parser *p, const char *text)
{
    size_t length = strlen(text);

    if ((size_t)(p->end - p->at) < length || memcmp(p->at, text, length) != 0)
        return wrong(p, "invalid token");
    p->at += length;
    return true;
}

static bool value(struct parser *p, unsigned depth);

static bool key(struct parser *p)
{
    const uint32_t token = add_token(p, 0);

    if (!take(p, '"') || !string(p, token))
        return wrong(p, "a key in quotation marks is missing");
    return take(p, ':') || wrong(p, "':' expected");
}

/* Recursion is bounded by MOST_DEPTH. */
static bool value(struct parser *p, unsigned depth)
{
    bool good = false;

    skip_space(p);
    if (p->at == p->end)
        return wrong(p, "premature end of input");
    const uint32_t token = add_token(p, 0);
    const char *from = p->at;
    switch (*from) {
    case '{':
    case '[':
        p->at++;
        /* The members; the opening bracket is taken. */
        char close = p->at[-1] == '{' ? '}' : ']';
        bool is_object = close == '}';
        uint32_t count = 0;
        if (depth == MOST_DEPTH)
            return wrong(p, "maximum parsing depth reached");
        p->t->tokens[token] = MARK | place(p, from, 1);
        add_token(p, 0);
        add_token(p, 0);
        if (take(p, close))
            return finish(p, token, is_object, 0);
        do {
            if ((is_object && !key(p)) || !value(p, depth + 1))
                return false;
            count++;
        } while (take(p, ','));
        return take(p, close) ? finish(p, token, is_object, count) : wrong(p, "',' or a closing bracket expected");
    case '"':
        p->at++;
        return string(p, token);
    case 't':
        good = word(p, "true");
        break;
    case 'f':
        good = word(p, "false");
        break;
    case 'n':
        good = word(p, "null");
        break;
    default:
        good = *from == '-' || (*from >= '0' && *from <= '9') ? number(p) : wrong(p, "invalid token");
        break;
    }
    p->t->tokens[token] = place(p, from, (size_t)(p->at - from) + 1);
    return good;
}

bool nuc_json_text_parse(struct nuc_json_text *t)
{
    struct parser p = {.t = t, .at = t->text, .end = t->text + t->size, .out = t->text, .line = 1};

    assert(t->size < MARK);
    t->text[t->size] = '\0';
    t->most_tokens = most_tokens(t);
    t->tokens = allocate(t->cx, t->most_tokens * sizeof *t->tokens);
    skip_space(&p);
    if (p.at < p.end && *p.at != '{' && *p.at != '[')
        return wrong(&p, "'[' or '{' expected");
    if (!value(&p, 0))
        return false;
    skip_space(&p);
    if (p.at < p.end)
        return wrong(&p, "end of file expected");
    /* What nothing was moved to is given back. */
    t->size = (size_t)(p.out - t->text);
    t->text = nuc_shrink(t->cx, t->text, t->size);
    return true;
}

/* ---- reading ---- */

enum nuc_json_type nuc_json_text_type(const struct nuc_json_text *t, uint32_t i)
{
    const char *first = text_at(t, i);
    char after;

    switch (*first) {
    case '{':
        return NUC_JSON_OBJECT;
    case '[':
        return NUC_JSON_ARRAY;
    case '"':
        return NUC_JSON_STRING;
    case 't':
        return NUC_JSON_TRUE;
    case 'f':
        return NUC_JSON_FALSE;
    case 'n':
        return NUC_JSON_NULL;
    default:
        after = first[strspn(first, "-0123456789")];
        return after == '.' || after == 'e' || after == 'E' ? NUC_JSON_REAL : NUC_JSON_INTEGER;
    }
}

const char *nuc_json_text_string(const struct nuc_json_text *t, uint32_t i)
{
    return text_at(t, i) + 1;
}

int64_t nuc_json_text_integer(const struct nuc_json_text *t, uint32_t i)
{
    const char *c = text_at(t, i);
    const bool negative = *c == '-';
    int64_t value = 0;

    for (c += negative; *c >= '0' && *c <= '9'; c++)
        value = 10 * value - (*c - '0'); /* the least number has no positive one */
    return negative ? value : -value;
}

double nuc_json_text_number(const struct nuc_json_text *t, uint32_t i)
{
    const char *from = text_at(t, i);

    return to_double(from, strspn(from, "+-.0123456789eE"));
}

uint32_t nuc_json_text_member(const struct nuc_json_text *t, uint32_t object, const char *wanted)
{
    const struct nuc_json_index *index = index_of(t, object);
    uint32_t at = nuc_json_text_first(object);

    if (index != NULL) {
        struct nuc_index_search s = nuc_index_search(&index->keys, nuc_index_text(wanted));
        uint32_t found = find_key(t, &s, wanted);
        return found == 0 ? 0 : found + 1;
    }
    for (uint32_t left = t->tokens[object + 2]; left > 0; left--) {
        if (strcmp(key_text(t, at), wanted) == 0)
            return at + 1;
        at = nuc_json_text_next(t, at + 1);
    }
    return 0;
}

uint32_t nuc_json_text_item(const struct nuc_json_text *t, uint32_t array, uint32_t index)
{
    const struct nuc_json_index *long_list = index_of(t, array);
    uint32_t at = nuc_json_text_first(array);

    if (index >= nuc_json_text_count(t, array))
        return 0;
    if (long_list != NULL)
        return long_list->items[index];
    for (; index > 0; index--)
        at = nuc_json_text_next(t, at);
    return at;
}
