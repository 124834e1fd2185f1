/*
 * JSON, value by value. The text need not be right: what is between brackets, quotes and commas is found by a scan.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mutate.h"

#define MOST_VALUES 8192
#define MOST_DEPTH 64
#define MOST_TEXT 1024 /* of a value that takes the place of another */

struct value {
    uint32_t from;       /* where its key begins, or else itself */
    uint32_t start, end; /* of the text, which ends before `end` */
    uint32_t key;        /* where the text of the last key before it or around it begins; 0: there is none */
    bool is_key;
};

struct values {
    const uint8_t *data;
    size_t size, count;
    struct value items[MOST_VALUES];
};

/* Behind the string that begins at `at`. */
static size_t end_of_string(const struct values *v, size_t at)
{
    for (at++; at < v->size && v->data[at] != '"'; at++)
        at += v->data[at] == '\\';
    return at < v->size ? at + 1 : v->size;
}

static size_t end_of_word(const struct values *v, size_t at)
{
    while (at < v->size && memchr(",:]}[{\" \n\t\r", v->data[at], 11) == NULL)
        at++;
    return at;
}

static void find_values(struct values *v)
{
    struct value *open[MOST_DEPTH] = {NULL}; /* objects and lists around */
    uint32_t depth = 0, key = 0, from = 0;

    for (size_t at = 0; at < v->size && v->count < MOST_VALUES && depth < MOST_DEPTH - 1; at++) {
        const uint8_t c = v->data[at];
        if (memchr(",: \n\t\r", c, 6) != NULL)
            continue;
        if (c == '}' || c == ']') {
            depth -= depth != 0;
            if (open[depth] != NULL)
                open[depth]->end = (uint32_t)at + 1;
            key = depth != 0 ? open[depth - 1]->key : 0;
            continue;
        }
        struct value *item = &v->items[v->count++];
        *item = (struct value){from != 0 ? from : (uint32_t)at, (uint32_t)at, (uint32_t)at + 1, key, false};
        from = 0;
        if (c == '{' || c == '[') {
            open[depth++] = item;
            continue;
        }
        item->end = (uint32_t)(c == '"' ? end_of_string(v, at) : end_of_word(v, at));
        item->is_key = c == '"' && item->end < v->size && v->data[item->end] == ':';
        if (item->is_key)
            from = key = item->start;
        at = item->end - 1;
    }
}

/* `length` bytes in the place of what is between `start` and `end`; the new size, the old one when there is no room. */
static size_t splice(uint8_t *data, size_t size, size_t max_size, size_t start, size_t end, const void *text,
                     size_t length)
{
    if (size - (end - start) + length > max_size)
        return size;
    memmove(data + start + length, data + end, size - end);
    memcpy(data + start, text, length);
    return size - (end - start) + length;
}

static bool same_key(const struct values *v, const struct value *a, const struct value *b)
{
    const size_t n = a->key == 0 || b->key == 0 ? 0 : end_of_string(v, a->key) - a->key;

    return a->is_key == b->is_key && n != 0 && b->key + n <= v->size &&
           memcmp(v->data + a->key, v->data + b->key, n) == 0;
}

/* Another value, after some tries one of the same key. */
static const struct value *find_other(const struct values *v, uint32_t *state, const struct value *item)
{
    const struct value *other = item;

    for (uint32_t tries = fuzz_next(state) % 4 == 0 ? 1 : 64; tries > 0; tries--) {
        other = &v->items[fuzz_next(state) % v->count];
        if (other != item && same_key(v, item, other))
            break;
    }
    return other->is_key == item->is_key ? other : item;
}

/* The value with its key, and the comma behind it or else in front of it. */
static size_t drop(uint8_t *data, size_t size, const struct value *item)
{
    size_t start = item->from, end = item->end;

    while (end < size && memchr(" \n", data[end], 2) != NULL)
        end++;
    if (end < size && data[end] == ',')
        end++;
    else
        while (start > 0 && memchr(" ,\n", data[start - 1], 3) != NULL)
            start--;
    return splice(data, size, size, start, end, "", 0);
}

/* A literal: a number of the kind that is there, or what stands for nothing. */
static size_t set_literal(uint8_t *data, size_t size, size_t max_size, const struct value *item, uint32_t *state)
{
    static const char *const literals[] = {
        "0",
        "1",
        "-1",
        "2",
        "3",
        "4",
        "7",
        "8",
        "127",
        "128",
        "-128",
        "255",
        "256",
        "65536",
        "null",
        "true",
        "false",
        "[]",
        "{}",
        "\"\"",
        "0.5",
        "1e30",
        "-1e-30",
        "2147483647",
        "-2147483648",
        "4294967296",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "\"NaN\"",
        "\"inf\"",
        "[1, 2, 3]",
    };
    char text[32];
    const uint32_t choice = fuzz_next(state) % 48, count = sizeof literals / sizeof literals[0];

    if (choice < count)
        return splice(data, size, max_size, item->start, item->end, literals[choice], strlen(literals[choice]));
    snprintf(text, sizeof text, "%u", fuzz_next(state) % 40);
    return splice(data, size, max_size, item->start, item->end, text, strlen(text));
}

static size_t change_value(struct values *v, uint8_t *data, size_t max_size, uint32_t *state)
{
    const struct value *item = &v->items[1 + fuzz_next(state) % (v->count - 1)], *other; /* not the whole */
    const uint32_t choice = fuzz_next(state) % 8;
    char text[MOST_TEXT];

    if (choice == 0) /* a key goes with its value */
        return drop(data, v->size, item + (item->is_key && item + 1 < v->items + v->count));
    if (choice <= 3 && !item->is_key)
        return set_literal(data, v->size, max_size, item, state);
    other = find_other(v, state, item);
    const size_t length = other->end - other->start;
    if (length > sizeof text)
        return v->size;
    memcpy(text, data + other->start, length);
    return splice(data, v->size, max_size, item->start, item->end, text, length);
}

size_t fuzz_mutate_json(uint8_t *data, size_t size, size_t max_size, uint32_t seed)
{
    static struct values v;
    uint32_t state = seed | 1;

    if (size == 0 || data[0] != '{')
        return 0;
    for (uint32_t n = 1 + fuzz_next(&state) % 2; n > 0; n--) {
        v.data = data;
        v.size = size;
        v.count = 0;
        find_values(&v);
        if (v.count < 2)
            return 0;
        size = change_value(&v, data, max_size, &state);
    }
    return size;
}
