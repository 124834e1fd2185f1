/*
 * FlatBuffers, field by field: LiteRT models, programs of ExecuTorch and bundles of these, each with its schema as a
 * table. The checksum of a program is written by fuzz_copy().
 */
#include <stdbool.h>
#include <string.h>

#include "device/base/program_schema.h"
#include "mutate.h"

/*
 * Tables by their letters; A is the root. Fields by their ids: b 1 byte, i 4 bytes, l 8 bytes, s a string; B, I, F, Q,
 * D lists of bytes, int32, float32, int64, double; :X a table, [X a list of tables, ?X a union whose first table is X,
 * its type being the field before; - a field that stays.
 */
typedef const char *const tables[128];

static tables model_tables = {
    ['A'] = "i[B[Cs[HI--",  /* Model */
    ['B'] = "bsii",         /* OperatorCode */
    ['C'] = "[DII[Es",      /* SubGraph */
    ['D'] = "Ibis:Fb:GIb",  /* Tensor */
    ['E'] = "iIIb:IBb",     /* Operator */
    ['F'] = "FFFQb-i",      /* QuantizationParameters */
    ['G'] = "II[J",         /* SparsityParameters */
    ['H'] = "B",            /* Buffer */
    ['I'] = "iiiiiiiiiiii", /* options of any operator: what has one byte is part of the word around it */
    ['J'] = "bib:Ib:I",     /* DimensionMetadata */
};

static tables program_tables = {
    ['A'] = "i[B[e[e[f:g[g[h", /* Program */
    ['B'] = "s:C[DII[R[a[bQ",  /* ExecutionPlan */
    ['C'] = "ss",              /* ContainerMetadata */
    ['D'] = "b?E",             /* EValue */
    ['E'] = "",
    ['F'] = "l",
    ['G'] = "b",
    ['H'] = "l",            /* Null, Int, Bool, Double */
    ['I'] = "biIBbi:Pbb:Q", /* Tensor */
    ['J'] = "s",
    ['K'] = "Q",
    ['L'] = "D",
    ['M'] = "B", /* String, IntList, DoubleList, BoolList */
    ['N'] = "I",
    ['O'] = "I", /* TensorList, OptionalTensorList */
    ['P'] = "iii",
    ['Q'] = "isb", /* AllocationDetails, ExtraTensorInfo */
    ['R'] = "II[S[Y",
    ['S'] = "b?T", /* Chain, Instruction */
    ['T'] = "iI",
    ['U'] = "iI",
    ['V'] = "ii",
    ['W'] = "ii", /* KernelCall, DelegateCall, MoveCall, JumpFalseCall */
    ['X'] = "i",
    ['Y'] = "[Z",
    ['Z'] = "siss", /* FreeCall, FrameList, Frame */
    ['a'] = "ss",
    ['b'] = "s:c[d",
    ['c'] = "bi",
    ['d'] = "sB", /* Operator, BackendDelegate, its data, CompileSpec */
    ['e'] = "B",
    ['f'] = "ll",
    ['g'] = "iQ",
    ['h'] = "si", /* Buffer, DataSegment, SubsegmentOffsets, NamedData */
};

static tables bundle_tables = {
    ['A'] = "i[BB",                           /* BundledProgram */
    ['B'] = "s[C",                            /* BundledMethodTestSuite */
    ['C'] = "[D[D",                           /* BundledMethodTestCase */
    ['D'] = "b?E",                            /* Value */
    ['E'] = "bIBB",                           /* Tensor */
    ['F'] = "l",    ['G'] = "b", ['H'] = "l", /* Int, Bool, Double */
};

#define MOST_FIELDS 16384
#define ROOT 8 /* bytes of the offset of the root, and the identifier */

struct field {
    uint32_t entry; /* of the vtable */
    uint32_t at;    /* its bytes in the table */
    char kind, table;
};

struct fields {
    uint8_t *data;
    size_t size, count;
    const char *const *tables;
    uint32_t visits; /* of tables, which lists of any length may name over and over */
    struct field items[MOST_FIELDS];
};

static bool inside(const struct fields *f, uint64_t at, uint64_t bytes)
{
    return at <= f->size && bytes <= f->size - at;
}

/* Of 1, 2 or 4 bytes; 0 outside. */
static uint32_t number(const struct fields *f, uint32_t at, uint32_t bytes)
{
    uint32_t v = 0;

    if (inside(f, at, bytes))
        memcpy(&v, f->data + at, bytes);
    return v;
}

/* Where the offset at `at` leads. */
static uint32_t target_of(const struct fields *f, uint32_t at)
{
    return at + number(f, at, 4);
}

static void add_field(struct fields *f, uint32_t entry, uint32_t at, char kind, char table)
{
    if (f->count < MOST_FIELDS && inside(f, entry, 2) && inside(f, at, 4))
        f->items[f->count++] = (struct field){entry, at, kind, table};
}

/* Every field that is there, of the table and of those it leads to. */
static void find_fields(struct fields *f, char table, uint32_t at, uint32_t depth)
{
    const uint32_t vtable = at - number(f, at, 4), entries = number(f, vtable, 2) / 2;
    const char *k = (table & 0x80) == 0 ? f->tables[(int)table] : NULL;
    uint32_t id = 2, type = 0;

    f->visits++;
    for (; k != NULL && *k != '\0' && depth < 8 && id < entries && f->visits < MOST_FIELDS; k++, id++) {
        const char kind = *k;
        const bool leads = kind == '[' || kind == ':' || kind == '?';
        const uint32_t entry = vtable + 2 * id, offset = number(f, entry, 2), field = at + offset;
        char inner = 0;
        if (leads)
            inner = *++k;
        if (kind == '?')
            inner = (char)((uint32_t)inner + type - 1);
        type = offset == 0 ? 0 : number(f, field, 1);
        if (offset == 0 || kind == '-')
            continue;
        add_field(f, entry, field, kind, inner);
        const uint32_t target = target_of(f, field);
        for (uint32_t i = 0; kind == '[' && i < number(f, target, 4) && f->visits < MOST_FIELDS; i++)
            find_fields(f, inner, target_of(f, target + 4 + 4 * i), depth + 1);
        if (kind == ':' || kind == '?')
            find_fields(f, inner, target, depth + 1);
    }
}

/* The extended header of a program: its length, and size of the program, base and size of the segments. */
static void find_header(struct fields *f)
{
    const uint32_t at = NUC_PROGRAM_HEADER_AT + 4;

    add_field(f, at, at, 'i', 0);
    for (uint32_t i = 0; i < 3; i++)
        add_field(f, at + 4 + 8 * i, at + 4 + 8 * i, 'l', 0);
}

/* 0: the kind is no number, nor a list of numbers or characters. */
static uint32_t bytes_of(char kind)
{
    const char *const widths = "bBs.iIF.lQD", *found = kind == '.' ? NULL : strchr(widths, kind);

    return found == NULL ? 0 : found < widths + 3 ? 1 : found < widths + 7 ? 4 : 8;
}

/* Of 1, 4 or 8 bytes. */
static void change_number(const struct fields *f, uint32_t *state, uint32_t at, uint32_t bytes)
{
    static const int64_t values[] = {0,    1,   2,   3,     -1,    4,         127,       128,
                                     -128, 255, 256, 32767, 65536, INT32_MAX, INT32_MIN, INT64_MAX};
    static const int64_t floats[] = {0x7FC00000, 0x7F800000, 0x00000001, 0x7FF8000000000000, 0x7FF0000000000000};
    const uint32_t choice = fuzz_next(state) % 21;
    uint64_t v = 0;

    if (!inside(f, at, bytes))
        return;
    memcpy(&v, f->data + at, bytes);
    v = choice < 16    ? (uint64_t)values[choice]
        : choice == 16 ? v + 1
        : choice == 17 ? v - 1
        : choice == 18 ? (uint64_t)floats[fuzz_next(state) % 5]
                       : fuzz_next(state) % (choice == 19 ? 16 : 162);
    memcpy(f->data + at, &v, bytes);
}

/* The offset at `at` leads to `target` when that lies behind it: offsets lead forwards. */
static void lead(const struct fields *f, uint32_t at, uint32_t target)
{
    const uint32_t offset = target - at;

    if (target > at && inside(f, at, 4))
        memcpy(f->data + at, &offset, sizeof offset);
}

/* The list is longer or shorter, or has another element. */
static void change_list(const struct fields *f, uint32_t *state, const struct field *field)
{
    const uint32_t target = target_of(f, field->at), count = number(f, target, 4), each = bytes_of(field->kind);
    const uint32_t counts[] = {0, 1, count - 1, count + 1, count / 2, 2 * count};
    const uint32_t i = count == 0 ? 0 : fuzz_next(state) % count, other = count == 0 ? 0 : fuzz_next(state) % count;

    if (!inside(f, target, 4))
        return;
    if (count == 0 || fuzz_next(state) % 4 == 0)
        memcpy(f->data + target, &counts[fuzz_next(state) % 6], 4);
    else if (field->kind == '[')
        lead(f, target + 4 + 4 * i, target_of(f, target + 4 + 4 * other));
    else if (inside(f, target + 4, (uint64_t)each * count))
        change_number(f, state, target + 4 + each * i, each);
}

/* Another object of the kind. */
static void redirect(const struct fields *f, uint32_t *state, const struct field *field)
{
    const struct field *other = &f->items[fuzz_next(state) % f->count];

    if (other->kind == field->kind && other->table == field->table)
        lead(f, field->at, target_of(f, other->at));
}

static void change_field(const struct fields *f, uint32_t *state, const struct field *field)
{
    const bool is_number = field->kind >= 'a' && field->kind != 's', is_list = !is_number && bytes_of(field->kind) != 0;

    if (fuzz_next(state) % 6 == 0)
        memset(f->data + field->entry, 0, 2);
    else if (is_number)
        change_number(f, state, field->at, bytes_of(field->kind));
    else if ((is_list || field->kind == '[') && fuzz_next(state) % 4 != 0)
        change_list(f, state, field);
    else
        redirect(f, state, field);
}

size_t fuzz_mutate_flat(uint8_t *data, size_t size, uint32_t seed)
{
    static struct fields f;
    uint32_t state = seed | 1;
    const bool is_program = size >= ROOT && memcmp(data + 4, NUC_PROGRAM_IDENTIFIER, 4) == 0;

    const bool is_bundle = size >= ROOT && memcmp(data + 4, NUC_BUNDLE_IDENTIFIER, 4) == 0;

    if (!is_program && !is_bundle && (size < ROOT || memcmp(data + 4, "TFL3", 4) != 0))
        return 0;
    f.data = data;
    f.size = size;
    f.count = f.visits = 0;
    f.tables = is_program ? program_tables : is_bundle ? bundle_tables : model_tables;
    if (is_program)
        find_header(&f);
    find_fields(&f, 'A', number(&f, 0, 4), 0);
    for (uint32_t n = 1 + fuzz_next(&state) % 3; n > 0 && f.count != 0; n--)
        change_field(&f, &state, &f.items[fuzz_next(&state) % f.count]);
    return f.count == 0 ? 0 : size;
}
