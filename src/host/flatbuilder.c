#include "host/flatbuilder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Offsets of the format are signed 32 bit where a table names its vtable. */
#define MAX_SIZE ((size_t)INT32_MAX)

#define FIRST_CAPACITY ((size_t)4096)

struct field {
    int id;
    uint8_t size;  /* 1, 4 or 8 bytes */
    bool is_ref;   /* bits is a nuc_fb_ref */
    uint64_t bits; /* little-endian value */
};

/* The objects lie at the end of `data`: `used` bytes, and a reference is the distance of an object's start to it. */
struct nuc_fb_builder {
    struct nuc_context *cx;
    uint8_t *data;
    size_t capacity; /* a multiple of 64, so that alignments up to 64 hold in memory as they do in the file */
    size_t used;
    size_t alignment; /* largest asked for so far */

    bool in_table;
    struct field *fields; /* of the table under way */
    size_t n_fields, fields_capacity;
    uint32_t *slots; /* by field id: where its value begins, as a distance from the end; 0: absent */
    size_t slots_capacity;
    uint8_t *vtable;
    size_t vtable_capacity;

    nuc_fb_ref *vtables; /* every different one, to be shared */
    size_t n_vtables, vtables_capacity;
};

struct nuc_fb_builder *nuc_fb_builder_new(struct nuc_context *cx)
{
    struct nuc_fb_builder *b = nuc_alloc(cx, sizeof *b);

    b->cx = cx;
    b->alignment = 4;
    return b;
}

static void reserve(struct nuc_fb_builder *b, size_t more)
{
    if (more > MAX_SIZE || b->used > MAX_SIZE - more)
        nuc_fail(b->cx, NUC_UNSUPPORTED,
                 "FlatBuffer: the file would exceed 2 GiB, the format's limit: split the model");
    if (more <= b->capacity - b->used)
        return;
    size_t larger = b->capacity == 0 ? FIRST_CAPACITY : b->capacity * 2;
    while (larger - b->used < more)
        larger *= 2;
    uint8_t *data = nuc_alloc_unset(b->cx, b->cx->arena, larger);
    if (b->used != 0)
        memcpy(data + larger - b->used, b->data + b->capacity - b->used, b->used);
    nuc_give_back(b->cx, b->data, b->capacity);
    b->data = data;
    b->capacity = larger;
}

/* Puts bytes in front of what is there; NULL: zeros. */
static void push(struct nuc_fb_builder *b, const void *bytes, size_t size)
{
    reserve(b, size);
    b->used += size;
    if (size != 0 && bytes != NULL)
        memcpy(b->data + b->capacity - b->used, bytes, size);
    else if (size != 0)
        memset(b->data + b->capacity - b->used, 0, size);
}

static void push_little_endian(struct nuc_fb_builder *b, uint64_t bits, size_t size)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(bits >> 8 * i);
    push(b, bytes, size);
}

/* Pads so that after `size` more bytes the front is aligned. */
static void align_front(struct nuc_fb_builder *b, size_t alignment, size_t size)
{
    assert(alignment != 0 && (alignment & (alignment - 1)) == 0);
    if (alignment > b->alignment)
        b->alignment = alignment;
    if (size > MAX_SIZE)
        reserve(b, size);
    push(b, NULL, (0 - (b->used + size)) & (alignment - 1));
}

/* The offset to `target` that is pushed next is relative to its own position. */
static void push_offset(struct nuc_fb_builder *b, nuc_fb_ref target)
{
    assert(target != 0 && target <= b->used); /* children are finished before their parents */
    push_little_endian(b, b->used + 4 - target, 4);
}

static void require_outside_table(const struct nuc_fb_builder *b)
{
    if (b->in_table)
        nuc_fail(b->cx, NUC_INTERNAL, "FlatBuffer builder: an object was begun inside a table");
}

nuc_fb_ref nuc_fb_add_string(struct nuc_fb_builder *b, const char *text)
{
    size_t length = strlen(text);

    require_outside_table(b);
    align_front(b, 4, length + 1);
    push(b, text, length + 1);
    push_little_endian(b, length, 4);
    return (nuc_fb_ref)b->used;
}

nuc_fb_ref nuc_fb_add_vector(struct nuc_fb_builder *b, const void *elements, size_t count, size_t element_size,
                             size_t alignment)
{
    size_t size;

    require_outside_table(b);
    if (!nuc_mul_size(count, element_size, &size))
        size = SIZE_MAX;
    align_front(b, alignment < 4 ? 4 : alignment, size);
    push(b, elements, size);
    push_little_endian(b, count, 4);
    return (nuc_fb_ref)b->used;
}

nuc_fb_ref nuc_fb_add_refs(struct nuc_fb_builder *b, const nuc_fb_ref *refs, size_t count)
{
    require_outside_table(b);
    align_front(b, 4, 0);
    for (size_t i = count; i > 0; i--)
        push_offset(b, refs[i - 1]);
    push_little_endian(b, count, 4);
    return (nuc_fb_ref)b->used;
}

void nuc_fb_table_begin(struct nuc_fb_builder *b)
{
    require_outside_table(b);
    b->in_table = true;
    b->n_fields = 0;
}

static void put(struct nuc_fb_builder *b, int id, uint8_t size, bool is_ref, uint64_t bits)
{
    if (!b->in_table)
        nuc_fail(b->cx, NUC_INTERNAL, "FlatBuffer builder: field %d was put outside a table", id);
    b->fields = nuc_grow(b->cx, b->fields, &b->fields_capacity, b->n_fields + 1, sizeof *b->fields);
    b->fields[b->n_fields++] = (struct field){id, size, is_ref, bits};
}

/* Wide fields end up after narrow ones, so that padding occurs once per table; ids decide within a width. */
static int compare_fields(const void *a, const void *b)
{
    const struct field *x = a;
    const struct field *y = b;

    if (x->size != y->size)
        return y->size - x->size;
    return y->id - x->id;
}

/* The vtable of those bytes: an equal earlier one, or a new one pushed here. */
static nuc_fb_ref share_vtable(struct nuc_fb_builder *b, const uint8_t *vtable, size_t size)
{
    for (size_t i = 0; i < b->n_vtables; i++) {
        const uint8_t *other = b->data + b->capacity - b->vtables[i];
        if (nuc_load_u16(other) == size && memcmp(other, vtable, size) == 0)
            return b->vtables[i];
    }
    push(b, vtable, size);
    b->vtables = nuc_grow(b->cx, b->vtables, &b->vtables_capacity, b->n_vtables + 1, sizeof *b->vtables);
    b->vtables[b->n_vtables++] = (nuc_fb_ref)b->used;
    return (nuc_fb_ref)b->used;
}

static void store_u16(uint8_t *p, size_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

nuc_fb_ref nuc_fb_table_end(struct nuc_fb_builder *b)
{
    if (!b->in_table)
        nuc_fail(b->cx, NUC_INTERNAL, "FlatBuffer builder: a table was ended that had not been begun");
    b->in_table = false;
    /* Number of vtable slots; b->slots (zeroed) and b->vtable have as many. */
    size_t n_slots = 0;
    for (size_t i = 0; i < b->n_fields; i++) {
        if ((size_t)b->fields[i].id >= n_slots)
            n_slots = (size_t)b->fields[i].id + 1;
    }
    b->slots = nuc_grow(b->cx, b->slots, &b->slots_capacity, n_slots + 1, sizeof *b->slots);
    b->vtable = nuc_grow(b->cx, b->vtable, &b->vtable_capacity, 4 + 2 * n_slots, 1);
    memset(b->slots, 0, n_slots * sizeof *b->slots);
    if (b->n_fields != 0) {
        qsort(b->fields, b->n_fields, sizeof *b->fields, compare_fields);
        /* Padding in front of the widest field stays outside, so that equal tables have equal vtables. */
        align_front(b, b->fields[0].size, 0);
    }
    size_t end = b->used;
    /* Pushes the fields' values and notes in b->slots[id] where each begins, as a distance from the end. */
    for (size_t i = 0; i < b->n_fields; i++) {
        const struct field *f = &b->fields[i];
        if (b->slots[f->id] != 0)
            nuc_fail(b->cx, NUC_INTERNAL, "FlatBuffer builder: field %d was put twice", f->id);
        align_front(b, f->size, 0);
        if (f->is_ref)
            push_offset(b, (nuc_fb_ref)f->bits);
        else
            push_little_endian(b, f->bits, f->size);
        b->slots[f->id] = (uint32_t)b->used;
    }
    align_front(b, 4, 0);
    push(b, NULL, 4); /* the distance to the vtable, known below */
    nuc_fb_ref table = (nuc_fb_ref)b->used;

    assert(4 + 2 * n_slots <= UINT16_MAX && table - end <= UINT16_MAX); /* what a vtable can express */
    store_u16(b->vtable, 4 + 2 * n_slots);
    store_u16(b->vtable + 2, table - end);
    for (size_t i = 0; i < n_slots; i++)
        store_u16(b->vtable + 4 + 2 * i, b->slots[i] == 0 ? 0 : table - b->slots[i]);
    nuc_fb_ref vtable = share_vtable(b, b->vtable, 4 + 2 * n_slots);
    nuc_store_u32(b->data + b->capacity - table, vtable - table);
    return table;
}

void nuc_fb_put_u8(struct nuc_fb_builder *b, int id, uint8_t value, uint8_t fallback)
{
    if (value != fallback)
        put(b, id, 1, false, value);
}

void nuc_fb_put_i8(struct nuc_fb_builder *b, int id, int8_t value, int8_t fallback)
{
    nuc_fb_put_u8(b, id, (uint8_t)value, (uint8_t)fallback);
}

void nuc_fb_put_bool(struct nuc_fb_builder *b, int id, bool value, bool fallback)
{
    nuc_fb_put_u8(b, id, value ? 1 : 0, fallback ? 1 : 0);
}

void nuc_fb_put_u32(struct nuc_fb_builder *b, int id, uint32_t value, uint32_t fallback)
{
    if (value != fallback)
        put(b, id, 4, false, value);
}

void nuc_fb_put_i32(struct nuc_fb_builder *b, int id, int32_t value, int32_t fallback)
{
    nuc_fb_put_u32(b, id, (uint32_t)value, (uint32_t)fallback);
}

void nuc_fb_put_u64(struct nuc_fb_builder *b, int id, uint64_t value, uint64_t fallback)
{
    if (value != fallback)
        put(b, id, 8, false, value);
}

void nuc_fb_put_i64(struct nuc_fb_builder *b, int id, int64_t value, int64_t fallback)
{
    nuc_fb_put_u64(b, id, (uint64_t)value, (uint64_t)fallback);
}

/* By bits, so that -0.0 and NaN survive. */
void nuc_fb_put_f32(struct nuc_fb_builder *b, int id, float value, float fallback)
{
    uint32_t bits, fallback_bits;

    memcpy(&bits, &value, sizeof bits);
    memcpy(&fallback_bits, &fallback, sizeof fallback_bits);
    nuc_fb_put_u32(b, id, bits, fallback_bits);
}

void nuc_fb_put_f64(struct nuc_fb_builder *b, int id, double value, double fallback)
{
    uint64_t bits, fallback_bits;

    memcpy(&bits, &value, sizeof bits);
    memcpy(&fallback_bits, &fallback, sizeof fallback_bits);
    nuc_fb_put_u64(b, id, bits, fallback_bits);
}

void nuc_fb_put_ref(struct nuc_fb_builder *b, int id, nuc_fb_ref ref)
{
    if (ref != 0)
        put(b, id, 4, true, ref);
}

struct nuc_span nuc_fb_finish(struct nuc_fb_builder *b, nuc_fb_ref root, const char identifier[4], const void *header,
                              size_t header_size, size_t alignment)
{
    require_outside_table(b);
    size_t largest = alignment > b->alignment ? alignment : b->alignment;
    align_front(b, largest, 8 + header_size);
    push(b, header, header_size);
    push(b, identifier, 4);
    push_offset(b, root);
    return (struct nuc_span){b->data + b->capacity - b->used, b->used};
}

struct nuc_span nuc_fb_finish_prefixed(struct nuc_fb_builder *b, nuc_fb_ref root, const char identifier[4])
{
    uint8_t size[4];

    require_outside_table(b);
    align_front(b, b->alignment, sizeof size + 8);
    push(b, identifier, 4);
    push_offset(b, root);
    nuc_store_u32(size, (uint32_t)b->used);
    push(b, size, sizeof size);
    return (struct nuc_span){b->data + b->capacity - b->used, b->used};
}
