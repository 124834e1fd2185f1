/* Arrays of .npz archives, .npy files and folders. */
#include "data/arrays.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/zip.h"
#include "data/folder.h"
#include "data/npy_header.h"
#include "host/characters.h"
#include "host/file.h"
#include "host/half.h"
#include "host/limits.h"

/* ---- one .npy file ---- */

/* Fortran order (first dimension innermost) to C order. */
static const uint8_t *transpose(struct nuc_context *cx, const struct nuc_array *a, const uint8_t *from)
{
    size_t size = nuc_dtype_size(a->dtype), count = a->data.size / size;
    uint8_t *out = nuc_alloc_array(cx, count, size);
    size_t strides[NUC_MAX_RANK];
    int64_t index[NUC_MAX_RANK] = {0};
    size_t offset = 0;
    size_t stride = 1;

    for (uint32_t i = 0; i < a->rank; i++) {
        strides[i] = stride;
        stride *= (size_t)a->shape[i];
    }
    for (size_t n = 0; n < count; n++) {
        memcpy(out + n * size, from + offset * size, size);
        for (uint32_t d = a->rank; d-- > 0;) {
            offset += strides[d];
            if (++index[d] < a->shape[d])
                break;
            offset -= strides[d] * (size_t)a->shape[d];
            index[d] = 0;
        }
    }
    return out;
}

struct nuc_array nuc_read_npy(struct nuc_context *cx, const char *where, struct nuc_span file)
{
    struct nuc_npy_header h = nuc_parse_npy_header(cx, where, file, file.size);
    struct nuc_array *a = &h.array;

    a->data.data = file.data + h.data_offset;
    if (h.fortran_order && a->rank > 1)
        a->data.data = transpose(cx, a, a->data.data);
    return *a;
}

/* The array whose .npy file are `size` bytes of a file from `offset` on; up to *room bytes are held in memory. */
static struct nuc_array read_from(struct nuc_context *cx, const char *where, const struct nuc_file *file,
                                  uint64_t offset, uint64_t size, uint64_t *room)
{
    struct nuc_span head =
        nuc_read_part(file, cx->arena, offset, size < NUC_MAX_NPY_HEADER ? size : NUC_MAX_NPY_HEADER);
    struct nuc_npy_header h = nuc_parse_npy_header(cx, where, head, size);
    struct nuc_array array = h.array;
    bool is_turned = h.fortran_order && array.rank > 1;

    array.file = file;
    array.offset = offset + h.data_offset;
    if (!is_turned && array.data.size > *room)
        return array;
    *room -= array.data.size < *room ? array.data.size : *room;
    array.data = nuc_read_part(file, cx->arena, array.offset, array.data.size);
    if (is_turned)
        array.data.data = transpose(cx, &array, array.data.data);
    return array;
}

/* NumPy aligns the elements to the beginning of their .npy file, which need not be aligned itself. */
const void *nuc_array_elements(struct nuc_context *cx, struct nuc_array *array)
{
    if (array->data.data == NULL)
        array->data = nuc_read_part(array->file, cx->arena, array->offset, array->data.size);
    else if (!nuc_array_is_in_place(array))
        array->data.data = nuc_copy(cx, array->data.data, array->data.size);
    return array->data.data;
}

struct nuc_array nuc_array_of(const char *name, enum nuc_dtype dtype, size_t count, const void *data, size_t bytes)
{
    return (struct nuc_array){
        .name = name, .dtype = dtype, .rank = 1, .shape = {(int64_t)count}, .data = {data, bytes}};
}

bool nuc_array_is_in_place(const struct nuc_array *array)
{
    return array->data.data != NULL && (uintptr_t)array->data.data % nuc_dtype_size(array->dtype) == 0;
}

void nuc_array_part(const struct nuc_array *array, size_t offset, size_t size, void *to)
{
    assert(offset <= array->data.size && size <= array->data.size - offset);
    if (array->data.data == NULL)
        nuc_read_at(array->file, array->offset + offset, to, size);
    else if (size != 0)
        memcpy(to, array->data.data + offset, size);
}

/* ---- elements as float32 ---- */

bool nuc_stands_for_float(enum nuc_dtype dtype)
{
    return dtype == NUC_F16 || dtype == NUC_BF16 || dtype == NUC_F64;
}

static float read_float(enum nuc_dtype dtype, const uint8_t *at)
{
    uint32_t upper = (uint32_t)nuc_load_u16(at) << 16;
    double wide;
    float value;

    if (dtype == NUC_F16)
        return nuc_half_to_float(nuc_load_u16(at));
    if (dtype == NUC_BF16) {
        memcpy(&value, &upper, sizeof value);
        return value;
    }
    uint64_t bits = nuc_load_u64(at);
    memcpy(&wide, &bits, sizeof wide);
    return (float)wide;
}

void nuc_array_floats(const struct nuc_array *array, size_t first, size_t count, float *to)
{
    uint8_t piece[4096];
    size_t size = nuc_dtype_size(array->dtype), room = sizeof piece / size;

    assert(nuc_stands_for_float(array->dtype));
    while (count > 0) {
        size_t n = count < room ? count : room;
        nuc_array_part(array, first * size, n * size, piece);
        for (size_t i = 0; i < n; i++)
            to[i] = read_float(array->dtype, piece + i * size);
        first += n;
        count -= n;
        to += n;
    }
}

static const char suffix[] = ".npy";

static bool is_npy(const char *name)
{
    size_t length = strlen(name);

    return length >= sizeof suffix && strcmp(name + length - (sizeof suffix - 1), suffix) == 0;
}

/* "x.npy" -> "x" */
static const char *strip_suffix(struct nuc_context *cx, const char *name)
{
    char *stripped = nuc_strdup(cx, name);

    if (is_npy(name))
        stripped[strlen(name) - (sizeof suffix - 1)] = '\0';
    return nuc_plain_text(cx, stripped);
}

/* ---- many ---- */

static struct nuc_array read_entry(struct nuc_context *cx, const struct nuc_zip *zip, const struct nuc_zip_entry *e,
                                   uint64_t *room)
{
    const char *where = nuc_format(cx, "%s: %s", zip->path, e->name);

    if (e->packed_size == e->size && e->size > *room) {
        struct nuc_array array = read_from(cx, where, zip->file, e->offset, e->size, room);
        nuc_zip_check(zip, e);
        return array;
    }
    *room -= e->size < *room ? e->size : *room;
    return nuc_read_npy(cx, where, nuc_zip_read(zip, e));
}

/* Array i is entry i of the archive; entries that are not arrays are an error, as NumPy writes none. */
static struct nuc_arrays read_archive(struct nuc_context *cx, const char *path)
{
    const struct nuc_zip *zip = nuc_zip_open(cx, (struct nuc_stored){.path = path});
    struct nuc_arrays arrays = {zip->count, nuc_alloc_array(cx, zip->count, sizeof *arrays.items)};
    uint64_t room = NUC_MAX_ARRAYS_IN_MEMORY;

    for (size_t i = 0; i < zip->count; i++) {
        arrays.items[i] = read_entry(cx, zip, &zip->entries[i], &room);
        arrays.items[i].name = strip_suffix(cx, zip->entries[i].name);
    }
    return arrays;
}

/* A file stays open only when the array is left in it. */
static struct nuc_array read_file(struct nuc_context *cx, const char *path, uint64_t *room)
{
    struct nuc_file *file = nuc_open_file(cx, path);
    struct nuc_array array = read_from(cx, file->path, file, 0, file->size, room);

    array.name = strip_suffix(cx, nuc_base_name(path));
    if (array.data.data != NULL)
        nuc_close_file(file);
    return array;
}

bool nuc_holds_arrays(struct nuc_context *cx, const char *folder)
{
    return nuc_list_folder(cx, folder, is_npy).count != 0;
}

static struct nuc_arrays read_folder(struct nuc_context *cx, const char *path)
{
    struct nuc_paths files = nuc_list_folder(cx, path, is_npy);
    struct nuc_arrays arrays = {files.count, nuc_alloc_array(cx, files.count, sizeof *arrays.items)};

    if (arrays.count == 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the folder holds no .npy file", path);
    uint64_t room = NUC_MAX_ARRAYS_IN_MEMORY;
    for (size_t i = 0; i < arrays.count; i++)
        arrays.items[i] = read_file(cx, files.items[i], &room);
    return arrays;
}

struct nuc_arrays nuc_read_arrays(struct nuc_context *cx, const char *path)
{
    uint64_t room = NUC_MAX_ARRAYS_IN_MEMORY;
    struct stat st;

    if (stat(path, &st) != 0)
        nuc_fail(cx, NUC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return read_folder(cx, path);
    if (nuc_is_zip(nuc_read_head(cx, (struct nuc_stored){.path = path}, 4)))
        return read_archive(cx, path);
    struct nuc_arrays arrays = {1, nuc_alloc(cx, sizeof *arrays.items)};
    arrays.items[0] = read_file(cx, path, &room);
    return arrays;
}

const struct nuc_array *nuc_find_array(const struct nuc_arrays *arrays, const char *name)
{
    for (size_t i = 0; i < arrays->count; i++) {
        if (strcmp(arrays->items[i].name, name) == 0)
            return &arrays->items[i];
    }
    return NULL;
}
