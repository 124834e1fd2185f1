/*
 * Mutations of LiteRT models field by field, for targets that read them: a field is dropped, another number or
 * enumerator, a list of another length, one object in the place of another of its kind. Bytes that a blind mutation
 * hits are nearly all weights and names.
 */
#include <stdbool.h>
#include <string.h>

#include "fuzz_support.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/*
 * Fields of the tables, by their ids: b 1 byte, i 4 bytes, s a string; B, I, F, Q lists of bytes, int32, float32,
 * int64; a digit is a table of that number, a digit after [ a list of such tables, - a field that stays.
 */
static const char *const tables[] = {
    "i[1[2s[7I--",  /* Model */
    "bsii",         /* OperatorCode */
    "[3II[4s",      /* SubGraph */
    "Ibis5b6Ib",    /* Tensor */
    "iIIb8Bb",      /* Operator */
    "FFFQb-i",      /* QuantizationParameters */
    "II[9",         /* SparsityParameters */
    "B",            /* Buffer */
    "iiiiiiiiiiii", /* options of any operator: what has one byte is part of the word around it */
    "bib8b8",       /* DimensionMetadata */
};

#define MOST_FIELDS 16384

struct field {
    uint32_t entry; /* of the vtable */
    uint32_t at;    /* its bytes in the table */
    char kind, table;
};

struct fields {
    uint8_t *data;
    size_t size, count;
    uint32_t visits; /* of tables, which lists of any length may name over and over */
    struct field items[MOST_FIELDS];
};

static bool inside(const struct fields *f, uint64_t at, uint64_t bytes)
{
    return at <= f->size && bytes <= f->size - at;
}

static uint32_t number(const struct fields *f, uint32_t at)
{
    uint32_t v = 0;

    if (inside(f, at, sizeof v))
        memcpy(&v, f->data + at, sizeof v);
    return v;
}

static uint32_t half(const struct fields *f, uint32_t at)
{
    uint16_t v = 0;

    if (inside(f, at, sizeof v))
        memcpy(&v, f->data + at, sizeof v);
    return v;
}

/* Every field that is there, of the table and of those it leads to. */
static void find_fields(struct fields *f, uint32_t table, uint32_t at, uint32_t depth)
{
    const uint32_t vtable = at - number(f, at), entries = half(f, vtable) / 2;
    uint32_t id = 2;

    f->visits++;
    for (const char *k = tables[table]; *k != '\0' && depth < 8 && id < entries && f->visits < MOST_FIELDS; k++, id++) {
        const bool is_list = *k == '[';
        const uint32_t entry = vtable + 2 * id, offset = half(f, entry);
        k += is_list;
        const bool is_table = *k >= '0' && *k <= '9';
        if (offset == 0 || *k == '-' || !inside(f, entry, 2) || !inside(f, at + offset, 4) || f->count == MOST_FIELDS)
            continue;
        f->items[f->count++] = (struct field){entry, at + offset, is_list ? '[' : *k, is_table ? *k : 0};
        const uint32_t target = at + offset + number(f, at + offset);
        for (uint32_t i = 0; is_list && i < number(f, target) && f->visits < MOST_FIELDS; i++)
            find_fields(f, (uint32_t)(*k - '0'), target + 4 + 4 * i + number(f, target + 4 + 4 * i), depth + 1);
        if (!is_list && is_table)
            find_fields(f, (uint32_t)(*k - '0'), target, depth + 1);
    }
}

/* xorshift32 */
static uint32_t next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Of 1, 4 or 8 bytes. */
static void change_number(const struct fields *f, uint32_t *state, uint32_t at, uint32_t bytes)
{
    static const int64_t values[] = {0,    1,   2,   3,     -1,    4,         127,       128,
                                     -128, 255, 256, 32767, 65536, INT32_MAX, INT32_MIN, INT64_MAX};
    const uint32_t choice = next(state) % 20;
    int64_t v = 0;

    if (!inside(f, at, bytes))
        return;
    memcpy(&v, f->data + at, bytes);
    v = choice < 16 ? values[choice] : choice == 16 ? v + 1 : choice == 17 ? v - 1 : (int64_t)(next(state) % 162);
    memcpy(f->data + at, &v, bytes);
}

static uint32_t element_bytes(char kind)
{
    return kind == 'B' ? 1 : kind == 'Q' ? 8 : 4;
}

/* The list begins elsewhere, is longer or shorter, or has another element. */
static void change_list(const struct fields *f, uint32_t *state, const struct field *field)
{
    const uint32_t target = field->at + number(f, field->at), count = number(f, target);
    const uint32_t each = element_bytes(field->kind), i = count == 0 ? 0 : next(state) % count;
    const uint32_t counts[] = {0, 1, count - 1, count + 1, count / 2, 2 * count};

    if (!inside(f, target, 4))
        return;
    if (count == 0 || next(state) % 4 == 0)
        memcpy(f->data + target, &counts[next(state) % 6], 4);
    else if (field->kind != '[' && inside(f, target + 4, (uint64_t)each * count))
        change_number(f, state, target + 4 + each * i, each);
}

/* Another object of the kind behind it: offsets lead forwards. */
static void redirect(const struct fields *f, uint32_t *state, const struct field *field)
{
    const struct field *other = &f->items[next(state) % f->count];
    const uint32_t target = other->at + number(f, other->at);

    if (other->kind == field->kind && other->table == field->table && target > field->at) {
        const uint32_t offset = target - field->at;
        memcpy(f->data + field->at, &offset, sizeof offset);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static struct fields f;
    uint32_t state = seed | 1;
    uint16_t absent = 0;

    f.data = data;
    f.size = size;
    f.count = f.visits = 0;
    if (size >= 8)
        find_fields(&f, 0, number(&f, 0), 0);
    if (f.count == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    for (uint32_t n = 1 + next(&state) % 3; n > 0; n--) {
        const struct field *field = &f.items[next(&state) % f.count];
        const bool is_number = field->kind == 'b' || field->kind == 'i', is_list = !is_number && field->table == 0;
        if (next(&state) % 6 == 0)
            memcpy(data + field->entry, &absent, sizeof absent);
        else if (is_number)
            change_number(&f, &state, field->at, field->kind == 'b' ? 1 : 4);
        else if ((is_list || field->kind == '[') && next(&state) % 4 != 0)
            change_list(&f, &state, field);
        else
            redirect(&f, &state, field);
    }
    return size;
}
