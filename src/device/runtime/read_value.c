/*
 * Values of a loaded program, read from the image in place. Loading has checked every field that is read here, so
 * nothing is checked again: a call reads its arguments anew instead of keeping them in RAM.
 */
#include "device/runtime/loader.h"

struct table {
    const uint8_t *at, *vtable;
    uint32_t vtable_size;
};

static inline struct table table_at(const uint8_t *at)
{
    const uint8_t *vtable = at - (int32_t)nuc_load_u32(at);

    return (struct table){at, vtable, nuc_load_u16(vtable)};
}

/* 0 when the field is absent. */
static inline uint32_t offset_of(const struct table *t, uint32_t id)
{
    uint32_t slot = 4 + 2 * id;

    return slot < t->vtable_size ? nuc_load_u16(t->vtable + slot) : 0;
}

/* A field without which nothing is loaded. */
static inline const uint8_t *required(const struct table *t, uint32_t id)
{
    return t->at + nuc_load_u16(t->vtable + 4 + 2 * id);
}

static inline const uint8_t *follow(const uint8_t *at)
{
    return at + nuc_load_u32(at);
}

static inline uint32_t u32_of(const struct table *t, uint32_t id)
{
    uint32_t offset = offset_of(t, id);

    return offset != 0 ? nuc_load_u32(t->at + offset) : 0;
}

enum nuc_dtype nuc_dtype_of_scalar_type(int8_t scalar_type)
{
#define LAST_TYPE 27
    static const uint8_t dtypes[LAST_TYPE + 1] = {
#define ENTRY(number, dtype) [number] = (dtype) + 1,
        NUC_SCALAR_TYPES(ENTRY)
#undef ENTRY
            [22] = NUC_U16 + 1, /* 16 bits without a meaning */
    };
    uint8_t known = scalar_type >= 0 && scalar_type <= LAST_TYPE ? dtypes[scalar_type] : 0;

    return known != 0 ? (enum nuc_dtype)(known - 1) : NUC_DTYPE_COUNT;
}

static void *planned(const struct nuc_program *p, const uint8_t *at)
{
    struct table t = table_at(at);
    uint8_t *memory = p->memory.planned[nuc_load_u32(required(&t, NUC_ALLOCATION_MEMORY)) - 1];
    uint64_t offset = u32_of(&t, NUC_ALLOCATION_LOW) | (uint64_t)u32_of(&t, NUC_ALLOCATION_HIGH) << 32;

    /* A memory of size 0 may have no block: a tensor without elements in it gets any address. */
    return memory != NULL ? (void *)(memory + (size_t)offset) : p->memory.state;
}

static void *constant(const struct nuc_program *p, uint32_t buffer)
{
    const uint8_t *data;

    if (p->constant_offsets != NULL) {
        data = p->constants + (size_t)nuc_load_u64(p->constant_offsets + 8 * (size_t)buffer);
    } else {
        struct table t = table_at(follow(p->constant_buffers + 4 * (size_t)buffer));
        uint32_t bytes = offset_of(&t, 0);
        data = bytes != 0 ? follow(t.at + bytes) + 4 : p->image; /* of a constant without elements */
    }
    return (void *)(uintptr_t)data;
}

static void read_tensor(const struct nuc_program *p, const uint8_t *at, struct nuc_tensor *out)
{
    struct table t = table_at(at);
    uint32_t type = offset_of(&t, NUC_TENSOR_TYPE), allocation = offset_of(&t, NUC_TENSOR_ALLOCATION);
    const uint8_t *sizes = follow(required(&t, NUC_TENSOR_SIZES));
    uint32_t buffer = u32_of(&t, NUC_TENSOR_DATA_BUFFER);

    out->dtype = (uint8_t)nuc_dtype_of_scalar_type(type != 0 ? (int8_t)t.at[type] : 0);
    out->rank = (uint8_t)nuc_load_u32(sizes);
    out->sizes = (const void *)(sizes + 4);
    out->dim_order = follow(required(&t, NUC_TENSOR_DIM_ORDER)) + 4;
    out->bytes = nuc_dtype_size((enum nuc_dtype)out->dtype);
    for (uint32_t d = 0; d < out->rank; d++)
        out->bytes *= (size_t)out->sizes[d];
    out->planned = allocation != 0;
    out->constant = allocation == 0 && buffer != 0;
    if (allocation != 0)
        out->data = planned(p, follow(t.at + allocation));
    else
        out->data = buffer != 0 ? constant(p, buffer) : NULL;
}

uint32_t nuc_initial_of(const struct nuc_program *p, uint32_t index)
{
    if (p->kinds[index] != NUC_VALUE_TENSOR)
        return 0;
    struct table t = table_at(p->image + p->places[index]);
    return offset_of(&t, NUC_TENSOR_ALLOCATION) != 0 ? u32_of(&t, NUC_TENSOR_DATA_BUFFER) : 0;
}

bool nuc_value_read(const struct nuc_program *p, uint32_t index, struct nuc_value *out)
{
    const struct nuc_slot *slot;
    struct table list;

    out->kind = nuc_value_kind_of(p, index);
    switch (p->kinds[index]) {
    case NUC_VALUE_NONE:
        break;
    case NUC_VALUE_INT:
    case NUC_VALUE_DOUBLE: /* the bits of either */
        out->u.i = (int64_t)nuc_load_u64(nuc_scalar_place(p, index));
        break;
    case NUC_VALUE_BOOL:
        out->u.b = *nuc_scalar_place(p, index) != 0;
        break;
    case NUC_VALUE_TENSOR:
        read_tensor(p, p->image + p->places[index], &out->u.tensor);
        break;
    case NUC_VALUE_TENSOR | NUC_KIND_OF_SLOT:
        slot = &p->slots[p->places[index]];
        read_tensor(p, p->image + slot->table, &out->u.tensor);
        out->u.tensor.data = slot->data;
        break;
    default:
        list = table_at(p->image + p->places[index]);
        out->u.list.items = follow(required(&list, 0)) + 4;
        out->u.list.count = nuc_load_u32(out->u.list.items - 4);
        out->u.list.tensors = NULL;
        break;
    }
    return out->kind != NUC_VALUE_TENSOR || out->u.tensor.data != NULL || out->u.tensor.bytes == 0;
}
