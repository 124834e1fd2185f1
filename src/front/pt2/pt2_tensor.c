/* Tensors of a .pt2 archive: their metas, and the bytes of parameters, buffers and constants. */

#include "front/pt2/importer.h"
#include "host/numbers.h"
#include "ir/shapes/shapes.h"

#define MAX_EXPANDED ((int64_t)1 << 24) /* elements of a tensor whose elements overlap */

/* Numbers of torch/_export/serde/schema.py; 0 marks those without a counterpart here. */
static const struct {
    bool known;
    enum nuc_dtype dtype; /* of complex numbers that of their parts */
} dtypes[] = {
    [1] = {true, NUC_U8},    [2] = {true, NUC_I8},   [3] = {true, NUC_I16},  [4] = {true, NUC_I32},
    [5] = {true, NUC_I64},   [6] = {true, NUC_F16},  [7] = {true, NUC_F32},  [8] = {true, NUC_F64},
    [9] = {true, NUC_F16},   [10] = {true, NUC_F32}, [11] = {true, NUC_F64}, [12] = {true, NUC_BOOL},
    [13] = {true, NUC_BF16}, [28] = {true, NUC_U16},
};

int nuc_torch_dtype(enum nuc_dtype dtype)
{
    int number = 0;

    while (!dtypes[number].known || dtypes[number].dtype != dtype)
        number++;
    return number;
}

bool nuc_is_complex_dtype(int64_t number)
{
    return number >= 9 && number <= 11;
}

/* Its place in the list is the format's number, counted from 1. */
static const enum nuc_memory_format memory_formats[] = {NUC_CONTIGUOUS_FORMAT, NUC_CHANNELS_LAST, NUC_CHANNELS_LAST_3D,
                                                        NUC_PRESERVE_FORMAT};

int nuc_torch_memory_format(enum nuc_memory_format format)
{
    int number = 1;

    while (memory_formats[number - 1] != format)
        number++;
    return number;
}

/* As the archive has it. */
static enum nuc_dtype stored_dtype(const struct nuc_json *j)
{
    int64_t number = nuc_json_int(j);

    if (number < 0 || number >= (int64_t)(sizeof dtypes / sizeof dtypes[0]) || !dtypes[number].known)
        nuc_json_fail(j, NUC_UNSUPPORTED, "element type %lld is not handled (1 to 13 and 28 are)", (long long)number);
    return dtypes[number].dtype;
}

enum nuc_dtype nuc_read_dtype(const struct nuc_importer *im, const struct nuc_json *j)
{
    enum nuc_dtype dtype = stored_dtype(j);
    bool narrow = dtype == NUC_F16 || dtype == NUC_BF16 || (dtype == NUC_F64 && im->is_double);

    return narrow ? NUC_F32 : dtype;
}

enum nuc_memory_format nuc_read_memory_format(const struct nuc_json *j)
{
    int64_t number = nuc_json_int(j);

    if (number < 1 || number > 4)
        nuc_json_fail(j, NUC_BAD_INPUT, "%lld is not a memory format", (long long)number);
    return memory_formats[number - 1];
}

/*
 * Sizes or strides. Each fits 31 bits, so that index arithmetic over all dimensions stays within 64: negative strides
 * do not exist in torch.
 */
static uint32_t read_numbers(const struct nuc_importer *im, const struct nuc_json *list, int64_t *out)
{
    size_t count = nuc_json_count(list);

    if (count > NUC_MAX_RANK)
        nuc_json_fail(list, NUC_UNSUPPORTED, "%zu dimensions; %d is the limit", count, NUC_MAX_RANK);
    for (size_t i = 0; i < count; i++) {
        struct nuc_json item = nuc_json_item(list, i);
        out[i] = nuc_read_sym_int(im, &item);
        if (out[i] < 0 || out[i] > NUC_MAX_ELEMENTS)
            nuc_json_fail(&item, NUC_BAD_INPUT, "%lld is outside 0 to %lld", (long long)out[i],
                          (long long)NUC_MAX_ELEMENTS);
    }
    return (uint32_t)count;
}

static struct nuc_tensor_meta read_tensor_meta(const struct nuc_importer *im, const struct nuc_json *j)
{
    struct nuc_tensor_meta t = {.offset = 0};
    struct nuc_json dtype = nuc_json_field(j, "dtype");
    struct nuc_json layout = nuc_json_field(j, "layout");
    struct nuc_json sizes = nuc_json_field(j, "sizes");
    struct nuc_json strides = nuc_json_field(j, "strides");
    struct nuc_json offset = nuc_json_field(j, "storage_offset");

    t.meta.dtype = nuc_read_dtype(im, &dtype);
    t.is_complex = nuc_is_complex_dtype(nuc_json_int(&dtype));
    if (nuc_json_int(&layout) != NUC_TORCH_STRIDED)
        nuc_json_fail(&layout, NUC_UNSUPPORTED, "layout %lld: only strided tensors (%d) are handled",
                      (long long)nuc_json_int(&layout), NUC_TORCH_STRIDED);
    t.meta.rank = (uint8_t)read_numbers(im, &sizes, t.meta.sizes);
    if (read_numbers(im, &strides, t.strides) != t.meta.rank)
        nuc_json_fail(&strides, NUC_BAD_INPUT, "there are not as many strides as sizes");
    t.offset = nuc_read_sym_int(im, &offset);
    if (t.offset < 0 || t.offset > NUC_MAX_ELEMENTS)
        nuc_json_fail(&offset, NUC_BAD_INPUT, "%lld is not an offset in a storage", (long long)t.offset);
    if (nuc_checked_elements(t.meta.sizes, t.meta.rank) < 0)
        nuc_json_fail(&sizes, NUC_UNSUPPORTED, "the tensor has more than %lld elements", (long long)NUC_MAX_ELEMENTS);
    nuc_dim_order_of_strides(t.meta.sizes, t.strides, t.meta.rank, t.meta.dim_order);
    t.offset *= t.is_complex ? 2 : 1;
    for (uint32_t i = 0; i < t.meta.rank; i++)
        t.strides[i] *= t.is_complex ? 2 : 1;
    return t;
}

struct nuc_tensor_meta nuc_value_meta(const struct nuc_importer *im, const char *name, const struct nuc_json *at)
{
    struct nuc_json value = nuc_json_entry(&im->scope->tensor_values, name);

    if (!nuc_json_is_there(&value))
        nuc_json_fail(at, NUC_BAD_INPUT, "'%s' is not among the tensor values", name);
    return read_tensor_meta(im, &value);
}

/* ---- bytes ---- */

/* The raw little-endian bytes of a configuration entry; several entries may name one file. */
static struct nuc_span read_payload(const struct nuc_importer *im, const struct nuc_json *entry, const char *folder)
{
    struct nuc_json path = nuc_json_field(entry, "path_name");
    struct nuc_json pickled = nuc_json_optional(entry, "use_pickle");
    const char *name = nuc_format(im->cx, "%sdata/%s/%s", im->top, folder, nuc_json_string(&path));
    const struct nuc_zip_entry *file = nuc_zip_find(im->zip, name);

    if (nuc_json_is_there(&pickled) && nuc_json_bool(&pickled))
        nuc_json_fail(&pickled, NUC_UNSUPPORTED, "the tensor is pickled: use plain tensors as parameters");
    if (file == NULL)
        nuc_json_fail(&path, NUC_BAD_INPUT, "the archive has no entry %s", name);
    return nuc_zip_read(im->zip, file);
}

const struct nuc_data *nuc_read_data(const struct nuc_importer *im, const char *target, const struct nuc_meta *meta,
                                     const struct nuc_json *at)
{
    struct nuc_json entry = nuc_json_entry(&im->weight_config, target);
    const char *folder = "weights";

    if (!nuc_json_is_there(&entry)) {
        entry = nuc_json_entry(&im->constant_config, target);
        folder = "constants";
    }
    if (!nuc_json_is_there(&entry))
        nuc_json_fail(at, NUC_BAD_INPUT, "'%s' is neither among the weights nor the constants", target);
    struct nuc_json tensor_meta = nuc_json_field(&entry, "tensor_meta");
    struct nuc_tensor_meta t = read_tensor_meta(im, &tensor_meta);
    if (t.meta.dtype != meta->dtype || !nuc_same_sizes(&t.meta, meta))
        nuc_json_fail(&tensor_meta, NUC_BAD_INPUT, "is %s, in the graph %s", nuc_meta_text(im->cx, &t.meta),
                      nuc_meta_text(im->cx, meta));
    t.offset += t.is_complex && im->part == NUC_PART_IMAGINARY;
    struct nuc_span bytes = read_payload(im, &entry, folder);
    struct nuc_json dtype = nuc_json_field(&tensor_meta, "dtype");
    enum nuc_dtype stored = stored_dtype(&dtype);
    size_t size = nuc_dtype_size(stored);
    int64_t last = nuc_last_element(t.meta.sizes, t.strides, t.meta.rank, t.offset);
    if (last >= 0 && (uint64_t)last >= bytes.size / size)
        nuc_json_fail(&tensor_meta, NUC_BAD_INPUT, "the tensor reaches to element %lld, its file has %zu",
                      (long long)last, bytes.size / size);
    /* A small file may expand (stride 0) to gigabytes once it is laid out densely. */
    int64_t elements = nuc_elements(&t.meta), held = last - t.offset + 1;
    if (elements > MAX_EXPANDED && elements > held)
        nuc_json_fail(&tensor_meta, NUC_UNSUPPORTED,
                      "the tensor repeats its elements %lld times over: make it contiguous",
                      (long long)(elements / held));
    /* An empty tensor may have any offset; it keeps the start of its file. */
    if (last >= 0)
        bytes = (struct nuc_span){bytes.data + (size_t)t.offset * size, bytes.size - (size_t)t.offset * size};
    /* torch aligns its files to 64 bytes; readers rely on elements being aligned. */
    if ((uintptr_t)bytes.data % size != 0)
        bytes.data = nuc_copy(im->cx, bytes.data, bytes.size);
    if (stored != meta->dtype) {
        /* All elements of the storage as float32. */
        size_t count = bytes.size / size;
        float *wide = nuc_alloc_array(im->cx, count, sizeof *wide);
        for (size_t i = 0; i < count; i++)
            wide[i] = (float)nuc_number_at(stored, bytes.data, i);
        bytes = (struct nuc_span){(const uint8_t *)wide, count * sizeof *wide};
    }
    return nuc_data_make(im->cx, bytes, t.strides, t.meta.rank);
}
