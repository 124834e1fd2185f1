/* What kernels and delegates call back: list elements, temporary memory, errors. */
#include <string.h>

#include "device/base/span.h"
#include "device/runtime/loader.h"
#include "device/runtime/same_text.h"

const struct nuc_kernel_entry *nuc_kernel_find(const struct nuc_kernel_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++) {
        if (nuc_same_text(table->entries[i].name, name))
            return &table->entries[i];
    }
    return NULL;
}

void *nuc_kernel_temporary(struct nuc_kernel_context *cx, size_t bytes, size_t alignment)
{
    size_t address = (size_t)(uintptr_t)cx->temporary + cx->temporary_used;
    size_t gap = (alignment - address % alignment) % alignment;

    if (cx->temporary == NULL || gap > cx->temporary_size - cx->temporary_used ||
        bytes > cx->temporary_size - cx->temporary_used - gap)
        return NULL;
    uint8_t *at = cx->temporary + cx->temporary_used + gap;
    cx->temporary_used += gap + bytes;
    return at;
}

enum nuc_status nuc_kernel_error(struct nuc_kernel_context *cx, enum nuc_status status, const char *message)
{
    cx->detail->message = message;
    return status;
}

/* The items of int and tensor lists are value indices; they have been checked when the program was loaded. */
int64_t nuc_list_int(const struct nuc_kernel_context *cx, const struct nuc_value *list, uint32_t index)
{
    size_t at = (size_t)nuc_load_u64(list->u.list.items + 8 * (size_t)index);

    return cx->values != NULL ? cx->values[at].u.i : (int64_t)nuc_load_u64(nuc_scalar_place(cx->program, at));
}

double nuc_list_double(const struct nuc_value *list, uint32_t index)
{
    uint64_t bits = nuc_load_u64(list->u.list.items + 8 * (size_t)index);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

const struct nuc_value *nuc_list_value(const struct nuc_kernel_context *cx, const struct nuc_value *list,
                                       uint32_t index)
{
    uint32_t at = nuc_load_u32(list->u.list.items + 4 * (size_t)index);

    if (at == UINT32_MAX)
        return NULL;
    return list->u.list.tensors != NULL ? &list->u.list.tensors[index] : &cx->values[at];
}

double nuc_value_scalar(const struct nuc_value *value)
{
    return value->kind == NUC_VALUE_DOUBLE ? value->u.f : (double)value->u.i;
}

/* What exceeds 32 bits keeps its first 32, which are more than a float32 has, and whether a later one is set. */
float nuc_value_float(const struct nuc_value *value)
{
    uint64_t bits = value->u.i < 0 ? 0 - (uint64_t)value->u.i : (uint64_t)value->u.i;
    float scale = value->u.i < 0 ? -1.0f : 1.0f;

    if (value->kind == NUC_VALUE_DOUBLE)
        return (float)value->u.f;
    for (; bits > UINT32_MAX; scale *= 2)
        bits = bits >> 1 | (bits & 1);
    return (float)(uint32_t)bits * scale;
}
