/*
 * The operators' table. Field ids are positions in the tables of the public schema
 * (tensorflow/compiler/mlir/lite/schema/schema.fbs).
 */
#include "litert/litert_ops.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- the rows of lt_ops.def ---- */

#define AT(member) (uint16_t) offsetof(union nuc_lt_options, member)
#define PAIR(text, h, h_id, w, w_id, absent) {NUC_LT_FIELD_PAIR, text, {AT(h), AT(w)}, {h_id, w_id}, absent},
#define FIELD(kind, text, member, id, absent) {NUC_LT_FIELD_##kind, text, {AT(member), 0}, {id, -1}, absent},
#define INT(text, member, id) FIELD(INT, text, member, id, 0)
#define COUNT(text, member, id) FIELD(COUNT, text, member, id, 0)
#define BYTE(text, member, id) FIELD(BYTE, text, member, id, 0)
#define FLAG(text, member, id, absent) FIELD(FLAG, text, member, id, absent)
#define REAL(text, member, id) FIELD(REAL, text, member, id, 0)
#define PADDING(member, id) FIELD(PADDING, "padding", member, id, NUC_LT_SAME)
#define ACTIVATION(member, id) FIELD(ACTIVATION, "activation", member, id, NUC_LT_ACT_NONE)
#define LIST(text, member, id, empty) FIELD(LIST, text, member, id, empty)
#define TEXT(text, member, id) FIELD(TEXT, text, member, id, 0)
#define BYTES(text, member) FIELD(BYTES, text, member, -1, 0)
#define LT_FIELDS(name, fields) static const struct nuc_lt_field name##_fields[] = {fields};
#include "litert/lt_ops.def"

enum fields_name {
    FIELDS_none,
#define LT_FIELDS(name, fields) FIELDS_##name,
#include "litert/lt_ops.def"
};

static const struct nuc_lt_fields field_lists[] = {
    [FIELDS_none] = {NULL, 0},
#define LT_FIELDS(name, fields) [FIELDS_##name] = {name##_fields, sizeof name##_fields / sizeof *name##_fields},
#include "litert/lt_ops.def"
};

struct row {
    const char *name;
    uint8_t type; /* of the options */
    uint8_t fields;
};

static const struct row rows[NUC_LT_CODES] = {
#define LT(name, number, type, fields, ...) [number] = {#name, type, FIELDS_##fields},
#include "litert/lt_ops.def"
};

/* The row of an operator; for one that is not known an empty one. */
static const struct row *row_of(int32_t code)
{
    static const struct row unknown;

    return code >= 0 && code < NUC_LT_CODES ? &rows[code] : &unknown;
}

const char *nuc_lt_code_name(struct nuc_context *cx, int32_t code)
{
    const char *name = row_of(code)->name;

    return name != NULL ? name : nuc_format(cx, "BUILTIN_%d", (int)code);
}

bool nuc_lt_is_known(int32_t code)
{
    return row_of(code)->name != NULL;
}

uint8_t nuc_lt_options_type(int32_t code)
{
    return row_of(code)->type;
}

struct nuc_lt_fields nuc_lt_fields(int32_t code)
{
    return field_lists[row_of(code)->fields];
}

struct nuc_lt_bounds nuc_lt_bounds(enum nuc_lt_activation activation)
{
    static const struct nuc_lt_bounds bounds[] = {
#define LT_ACTIVATION(name, value, text, low, high) [value] = {low, high},
#include "litert/lt_ops.def"
    };

    assert((size_t)activation < sizeof bounds / sizeof *bounds);
    return bounds[activation];
}

const char *nuc_lt_field_name(const union nuc_lt_options *o, const struct nuc_lt_field *f)
{
    static const char *const activations[] = {
#define LT_ACTIVATION(name, value, text, low, high) [value] = text,
#include "litert/lt_ops.def"
    };

    int32_t value = nuc_lt_field_int(o, f, 0);

    if (f->kind == NUC_LT_FIELD_PADDING)
        return value == NUC_LT_VALID ? "valid" : "same";
    assert(f->kind == NUC_LT_FIELD_ACTIVATION && (size_t)value < sizeof activations / sizeof *activations);
    return activations[value];
}

const char *nuc_lt_field_text(const union nuc_lt_options *o, const struct nuc_lt_field *f)
{
    const char *text = *(const char *const *)nuc_lt_member(o, f);

    return text == NULL ? "" : text;
}

/* ---- element types ---- */

static const int types[NUC_DTYPE_COUNT] = {
    [NUC_U8] = 3,  [NUC_I8] = 9,   [NUC_I16] = 7,  [NUC_I32] = 2,   [NUC_I64] = 4,  [NUC_F16] = 1,
    [NUC_F32] = 0, [NUC_F64] = 10, [NUC_BOOL] = 6, [NUC_BF16] = 18, [NUC_U16] = 16,
};

int nuc_lt_type_from_dtype(enum nuc_dtype dtype)
{
    return dtype < NUC_DTYPE_COUNT ? types[dtype] : -1;
}

enum nuc_dtype nuc_lt_dtype_from_type(int type)
{
    for (int i = 0; i < NUC_DTYPE_COUNT; i++) {
        if (types[i] == type)
            return (enum nuc_dtype)i;
    }
    return NUC_DTYPE_COUNT;
}

/* ---- fields ---- */

static bool is_pair(const struct nuc_lt_field *f)
{
    return f->kind == NUC_LT_FIELD_PAIR;
}

/* Bytes of a member that is a whole number, by kind; 0 of the others. */
static const uint8_t widths[] = {
    [NUC_LT_FIELD_PAIR] = sizeof(int32_t),
    [NUC_LT_FIELD_INT] = sizeof(int32_t),
    [NUC_LT_FIELD_COUNT] = sizeof(int32_t),
    [NUC_LT_FIELD_BYTE] = sizeof(int8_t),
    [NUC_LT_FIELD_FLAG] = sizeof(bool),
    [NUC_LT_FIELD_PADDING] = sizeof(enum nuc_lt_padding),
    [NUC_LT_FIELD_ACTIVATION] = sizeof(enum nuc_lt_activation),
    [NUC_LT_FIELD_BYTES] = 0,
};
_Static_assert(sizeof(enum nuc_lt_padding) == sizeof(int32_t) && sizeof(enum nuc_lt_activation) == sizeof(int32_t) &&
                   sizeof(bool) == sizeof(int8_t),
               "a number has one byte, or four");

int32_t nuc_lt_field_int(const union nuc_lt_options *o, const struct nuc_lt_field *f, int part)
{
    const void *member = (const uint8_t *)o + f->offset[part];
    int32_t value = 0;

    if (widths[f->kind] == sizeof(int8_t))
        return *(const int8_t *)member;
    memcpy(&value, member, widths[f->kind]);
    return value;
}

/* False: an activation outside the four that fuse. Ignoring it would change results. */
static bool set_field(uint8_t *options, const struct nuc_lt_field *f, int part, int32_t value)
{
    int8_t byte = (int8_t)(f->kind == NUC_LT_FIELD_FLAG ? value != 0 : value);

    if (f->kind == NUC_LT_FIELD_ACTIVATION && (value < NUC_LT_ACT_NONE || value > NUC_LT_ACT_RELU6))
        return false;
    if (f->kind == NUC_LT_FIELD_PADDING)
        value = value == NUC_LT_VALID ? NUC_LT_VALID : NUC_LT_SAME;
    memcpy(options + f->offset[part], widths[f->kind] == sizeof byte ? (const void *)&byte : &value, widths[f->kind]);
    return true;
}

/* The schema has int for pairs, numbers and counts, a byte for the rest. */
static bool is_wide(const struct nuc_lt_field *f)
{
    return is_pair(f) || f->kind == NUC_LT_FIELD_INT || f->kind == NUC_LT_FIELD_COUNT;
}

/* ---- reading ---- */

/* A list of at most NUC_MAX_RANK ints; a longer one makes the file bad. */
static struct nuc_lt_list read_list(struct nuc_fb_reader *r, struct nuc_fb_table t, const struct nuc_lt_field *f)
{
    struct nuc_fb_vector v = nuc_fb_vec(r, t, f->id[0], 4);
    struct nuc_lt_list list = {.present = v.at != 0 && (v.count != 0 || f->value_absent)};

    if (v.count > NUC_MAX_RANK) {
        r->bad = true;
        return list;
    }
    for (list.count = 0; list.count < v.count; list.count++)
        list.values[list.count] = nuc_fb_vec_i32(r, v, list.count);
    return list;
}

void nuc_lt_options_read(struct nuc_fb_reader *r, struct nuc_fb_table t, int32_t code, union nuc_lt_options *o)
{
    struct nuc_lt_fields fields = nuc_lt_fields(code);

    for (size_t i = 0; i < fields.n; i++) {
        const struct nuc_lt_field *f = &fields.list[i];
        uint8_t *options = (uint8_t *)o;
        void *member = options + f->offset[0];
        if (f->kind == NUC_LT_FIELD_REAL)
            *(float *)member = nuc_fb_f32(r, t, f->id[0], f->value_absent);
        else if (f->kind == NUC_LT_FIELD_LIST)
            *(struct nuc_lt_list *)member = read_list(r, t, f);
        else if (f->kind == NUC_LT_FIELD_TEXT)
            *(const char **)member = nuc_fb_string(r, t, f->id[0], NULL);
        for (int part = 0; part <= is_pair(f); part++) {
            int32_t value = f->id[part] < 0 ? f->value_absent
                            : is_wide(f)    ? nuc_fb_i32(r, t, f->id[part], f->value_absent)
                                            : nuc_fb_i8(r, t, f->id[part], f->value_absent);
            r->bad = !set_field(options, f, part, value) || r->bad;
        }
    }
}

/* ---- writing ---- */

enum { MOST_REFS = 8 }; /* fields of an operator */

/* Options are present even where every field has its default: readers take an absent table for an old file. */
nuc_fb_ref nuc_lt_options_write(struct nuc_fb_builder *b, int32_t code, const union nuc_lt_options *o)
{
    struct nuc_lt_fields fields = nuc_lt_fields(code);
    nuc_fb_ref refs[MOST_REFS] = {0};

    if (nuc_lt_options_type(code) == 0)
        return 0;
    /* What a table refers to is written before it. */
    assert(fields.n <= MOST_REFS);
    for (size_t i = 0; i < fields.n; i++) {
        const void *member = nuc_lt_member(o, &fields.list[i]);
        const struct nuc_lt_list *list = member;
        if (fields.list[i].kind == NUC_LT_FIELD_LIST && (list->count != 0 || list->present))
            refs[i] = nuc_fb_add_vector(b, list->values, list->count, 4, 4);
        const char *text = fields.list[i].kind == NUC_LT_FIELD_TEXT ? *(const char *const *)member : NULL;
        if (text != NULL)
            refs[i] = nuc_fb_add_string(b, text);
    }
    nuc_fb_table_begin(b);
    for (size_t i = 0; i < fields.n; i++) {
        const struct nuc_lt_field *f = &fields.list[i];
        for (int part = 0; part <= is_pair(f) && f->id[part] >= 0; part++) {
            int32_t value = nuc_lt_field_int(o, f, part);
            if (f->kind == NUC_LT_FIELD_REAL)
                nuc_fb_put_f32(b, f->id[part], *(const float *)nuc_lt_member(o, f), f->value_absent);
            else if (f->kind == NUC_LT_FIELD_LIST || f->kind == NUC_LT_FIELD_TEXT)
                nuc_fb_put_ref(b, f->id[part], refs[i]);
            else if (is_wide(f))
                nuc_fb_put_i32(b, f->id[part], value, f->value_absent);
            else
                nuc_fb_put_i8(b, f->id[part], (int8_t)value, f->value_absent);
        }
    }
    return nuc_fb_table_end(b);
}
