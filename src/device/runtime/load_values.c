#include <string.h>

#include "device/runtime/loader.h"

#define NO_DTYPE NUC_DTYPE_COUNT

/*
 * Bytes of the elements; false when they overflow or a size is negative. A size of 0 counts as 1 for that: strides of a
 * tensor without elements are products of its other sizes, and are computed all the same.
 */
static bool count_bytes(const struct nuc_tensor *t, size_t *bytes)
{
    size_t count = nuc_dtype_size((enum nuc_dtype)t->dtype);
    bool empty = false;

    for (uint32_t d = 0; d < t->rank; d++) {
        int32_t size = t->sizes[d];
        empty = empty || size == 0;
        if (size < 0 || !nuc_mul_size(count, size == 0 ? 1 : (size_t)size, &count) || count > SIZE_MAX / 4)
            return false;
    }
    *bytes = empty ? 0 : count;
    return true;
}

static bool is_permutation(const uint8_t *dim_order, uint32_t rank)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < rank; i++) {
        if (dim_order[i] >= rank || (seen >> dim_order[i] & 1) != 0)
            return false;
        seen |= 1U << dim_order[i];
    }
    return true;
}

/* Sizes and dim order are used in place, hence their alignment. */
static bool read_shape(struct nuc_image *im, struct nuc_fb_table t, struct nuc_tensor *out)
{
    struct nuc_fb_vector sizes = nuc_fb_vec(&im->reader, t, NUC_TENSOR_SIZES, 4);
    struct nuc_span order = nuc_fb_bytes(&im->reader, t, NUC_TENSOR_DIM_ORDER);
    const void *size_data = im->reader.bytes.data + sizes.at;

    out->dtype = (uint8_t)nuc_dtype_of_scalar_type(nuc_fb_i8(&im->reader, t, NUC_TENSOR_TYPE, 0));
    if (!nuc_image_ok(im) ||
        !nuc_image_need(im, out->dtype != NO_DTYPE, NUC_TEXT("a tensor has an element type that is not supported")) ||
        !nuc_image_need(im, sizes.at != 0 && sizes.at % 4 == 0 && sizes.count <= NUC_MAX_RANK,
                        NUC_TEXT("a tensor has no sizes, misaligned sizes, or a rank above 16")) ||
        !nuc_image_need(im, order.data != NULL && order.size == sizes.count && is_permutation(order.data, sizes.count),
                        NUC_TEXT("the dim order of a tensor is not a permutation of its dimensions")))
        return false;
    out->sizes = size_data;
    out->dim_order = order.data;
    out->rank = (uint8_t)sizes.count;
    return nuc_image_need(im, count_bytes(out, &out->bytes), NUC_TEXT("a tensor has impossible sizes"));
}

bool nuc_read_shape(struct nuc_image *im, uint32_t index, struct nuc_tensor *out, bool *is_tensor)
{
    struct nuc_fb_table entry = nuc_fb_vec_table(&im->reader, im->values, index);
    struct nuc_fb_table t = nuc_fb_sub(&im->reader, entry, NUC_EVALUE_VALUE);

    *out = (struct nuc_tensor){.data = NULL};
    *is_tensor = nuc_fb_u8(&im->reader, entry, NUC_EVALUE_TYPE, 0) == NUC_VALUE_TENSOR;
    return nuc_image_ok(im) && (!*is_tensor || read_shape(im, t, out));
}

static bool check_allocation(struct nuc_image *im, struct nuc_fb_table allocation, size_t bytes)
{
    uint32_t id = nuc_fb_u32(&im->reader, allocation, NUC_ALLOCATION_MEMORY, 0);
    uint64_t offset = nuc_fb_u32(&im->reader, allocation, NUC_ALLOCATION_LOW, 0) |
                      (uint64_t)nuc_fb_u32(&im->reader, allocation, NUC_ALLOCATION_HIGH, 0) << 32;
    size_t available;

    return nuc_image_need(im, id >= 1 && id < im->buffer_sizes.count,
                          NUC_TEXT("a tensor is planned in a memory that does not exist")) &&
           nuc_image_planned(im, id - 1, &available) &&
           nuc_image_need(im, offset <= available && bytes <= available - offset,
                          NUC_TEXT("a tensor lies outside its planned memory"));
}

static bool give_initial_data(struct nuc_image *im, uint32_t buffer, const struct nuc_tensor *t)
{
    struct nuc_span initial;

    if (buffer == 0)
        return true;
    if (!nuc_image_initial(im, buffer, t->bytes, &initial))
        return false;
    memcpy(t->data, initial.data, t->bytes);
    return true;
}

bool nuc_is_of_caller(struct nuc_image *im, struct nuc_fb_table t)
{
    return nuc_fb_sub(&im->reader, t, NUC_TENSOR_ALLOCATION).at == 0 &&
           nuc_fb_u32(&im->reader, t, NUC_TENSOR_DATA_BUFFER, 0) == 0;
}

/* Checks the tensor, then reads it as every call will. Constants are read in place. */
static bool load_tensor(struct nuc_program *p, struct nuc_image *im, struct nuc_fb_table t, uint32_t index)
{
    struct nuc_fb_table allocation = nuc_fb_sub(&im->reader, t, NUC_TENSOR_ALLOCATION);
    struct nuc_fb_table extra = nuc_fb_sub(&im->reader, t, NUC_TENSOR_EXTRA);
    uint32_t buffer = nuc_fb_u32(&im->reader, t, NUC_TENSOR_DATA_BUFFER, 0);
    struct nuc_tensor shape;
    struct nuc_value v;
    struct nuc_span bytes;

    if (!read_shape(im, t, &shape) ||
        !nuc_image_need(im, nuc_fb_i32(&im->reader, t, NUC_TENSOR_STORAGE_OFFSET, 0) == 0,
                        NUC_TEXT("a tensor has a storage offset")) ||
        !nuc_image_need(im, nuc_fb_i8(&im->reader, t, NUC_TENSOR_DYNAMISM, 0) != 2,
                        NUC_TEXT("a tensor has an unbounded dynamic shape")) ||
        !nuc_image_need(im, nuc_fb_i8(&im->reader, extra, NUC_EXTRA_LOCATION, 0) == 0,
                        NUC_TEXT("a tensor's data lies in another file")) ||
        (allocation.at != 0 && !check_allocation(im, allocation, shape.bytes)) ||
        (allocation.at == 0 && buffer != 0 && !nuc_image_constant(im, buffer, shape.bytes, &bytes)) ||
        !nuc_image_ok(im))
        return false;
    if (nuc_is_of_caller(im, t)) {
        p->slots[p->n_slots].table = t.at;
        p->places[index] = p->n_slots++;
        p->kinds[index] |= NUC_KIND_OF_SLOT;
        return true;
    }
    nuc_value_read(p, index, &v);
    return nuc_image_need(im, (uintptr_t)v.u.tensor.data % nuc_dtype_size((enum nuc_dtype)v.u.tensor.dtype) == 0,
                          v.u.tensor.planned ? NUC_TEXT("a planned tensor is misaligned")
                                             : NUC_TEXT("a constant is misaligned")) &&
           (!v.u.tensor.planned || give_initial_data(im, buffer, &v.u.tensor));
}

uint32_t nuc_list_item_size(uint8_t kind)
{
    switch (kind) {
    case NUC_VALUE_INTS:
    case NUC_VALUE_DOUBLES:
        return 8;
    case NUC_VALUE_TENSORS:
    case NUC_VALUE_OPTIONAL_TENSORS:
        return 4;
    default:
        return 1;
    }
}

static bool load_value(struct nuc_program *p, struct nuc_image *im, uint32_t index)
{
    struct nuc_fb_table entry = nuc_fb_vec_table(&im->reader, im->values, index);
    struct nuc_fb_table t = nuc_fb_sub(&im->reader, entry, NUC_EVALUE_VALUE);
    uint8_t kind = nuc_fb_u8(&im->reader, entry, NUC_EVALUE_TYPE, 0);
    struct nuc_fb_vector items;

    p->kinds[index] = kind;
    p->places[index] = t.at;
    if (!nuc_image_ok(im) || !nuc_image_need(im, kind == NUC_VALUE_NONE || t.at != 0, NUC_TEXT("a value is missing")))
        return false;
    switch (kind) {
    case NUC_VALUE_NONE:
        return true;
    case NUC_VALUE_INT:
    case NUC_VALUE_DOUBLE:
    case NUC_VALUE_BOOL:
        p->places[index] = nuc_fb_field(&im->reader, t, 0, kind == NUC_VALUE_BOOL ? 1 : 8);
        return nuc_image_ok(im);
    case NUC_VALUE_TENSOR:
        return load_tensor(p, im, t, index);
    case NUC_VALUE_STRING:
    case NUC_VALUE_INTS:
    case NUC_VALUE_DOUBLES:
    case NUC_VALUE_BOOLS:
    case NUC_VALUE_TENSORS:
    case NUC_VALUE_OPTIONAL_TENSORS:
        items = nuc_fb_vec(&im->reader, t, 0, nuc_list_item_size(kind));
        return nuc_image_ok(im) && nuc_image_need(im, items.at != 0, NUC_TEXT("a list has no items"));
    default:
        return nuc_image_need(im, false, NUC_TEXT("a value is of an unknown kind"));
    }
}

/* Item `i` of a list of value indices names a value of the right kind, or is -1 where None is allowed. */
static bool item_fits(const struct nuc_program *p, const struct nuc_value *list, uint32_t i)
{
    if (list->kind == NUC_VALUE_INTS) {
        uint64_t index = nuc_load_u64(list->u.list.items + 8 * (size_t)i);
        return index < p->n_values && nuc_value_kind_of(p, (uint32_t)index) == NUC_VALUE_INT;
    }
    uint32_t index = nuc_load_u32(list->u.list.items + 4 * (size_t)i);
    if (list->kind == NUC_VALUE_OPTIONAL_TENSORS && index == UINT32_MAX)
        return true;
    return index < p->n_values && nuc_value_kind_of(p, index) == NUC_VALUE_TENSOR;
}

/* Lists may share their items, so the sum is bounded too: verification stays linear in the file. */
static bool check_lists(struct nuc_program *p, struct nuc_image *im, uint32_t *culprit)
{
    uint64_t items = 0;

    for (uint32_t v = 0; v < p->n_values; v++) {
        uint8_t kind = p->kinds[v];
        struct nuc_value value;
        if (kind != NUC_VALUE_INTS && kind != NUC_VALUE_TENSORS && kind != NUC_VALUE_OPTIONAL_TENSORS)
            continue;
        nuc_value_read(p, v, &value);
        items += value.u.list.count;
        *culprit = v;
        if (!nuc_image_need(im, items <= im->file.size, NUC_TEXT("the lists hold more items than the file")))
            return false;
        for (uint32_t i = 0; i < value.u.list.count; i++) {
            if (!nuc_image_need(im, item_fits(p, &value, i), NUC_TEXT("a list names a value that does not fit")))
                return false;
        }
    }
    return true;
}

enum nuc_status nuc_load_values(struct nuc_program *p, struct nuc_image *im)
{
    uint32_t culprit = 0;

    for (uint32_t v = 0; v < p->n_values; v++) {
        if (!load_value(p, im, v)) {
            im->detail->value = (int32_t)v;
            return NUC_BAD_INPUT;
        }
    }
    if (check_lists(p, im, &culprit))
        return NUC_OK;
    im->detail->value = (int32_t)culprit;
    return NUC_BAD_INPUT;
}
