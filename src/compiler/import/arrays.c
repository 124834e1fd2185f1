/* Arrays of .npz archives, .npy files and folders. */
#include "compiler/import/arrays.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/import/folder.h"
#include "compiler/import/npy_header.h"
#include "compiler/import/zip.h"
#include "host/file.h"
#include "host/text.h"

/* ---- one .npy file ---- */

/* Fortran order (first dimension innermost) to C order. */
static const uint8_t *transpose(struct nuc_context *cx, const struct nuc_npy_header *h, const uint8_t *from,
                                size_t count)
{
    size_t size = nuc_dtype_size(h->dtype);
    uint8_t *out = nuc_alloc_array(cx, count, size);
    size_t strides[NUC_MAX_RANK];
    int64_t index[NUC_MAX_RANK] = {0};
    size_t offset = 0;
    size_t stride = 1;

    for (uint32_t i = 0; i < h->rank; i++) {
        strides[i] = stride;
        stride *= (size_t)h->shape[i];
    }
    for (size_t n = 0; n < count; n++) {
        memcpy(out + n * size, from + offset * size, size);
        for (uint32_t d = h->rank; d-- > 0;) {
            offset += strides[d];
            if (++index[d] < h->shape[d])
                break;
            offset -= strides[d] * (size_t)h->shape[d];
            index[d] = 0;
        }
    }
    return out;
}

struct nuc_array nuc_read_npy(struct nuc_context *cx, const char *where, struct nuc_span file)
{
    struct nuc_npy_header h = nuc_parse_npy_header(cx, where, file);
    struct nuc_array array = {.name = where, .dtype = h.dtype, .rank = h.rank};
    size_t size = nuc_dtype_size(h.dtype);
    size_t count = 1;

    memcpy(array.shape, h.shape, sizeof h.shape);
    for (uint32_t i = 0; i < h.rank; i++) {
        if (h.shape[i] == 0)
            count = 0;
    }
    for (uint32_t i = 0; count != 0 && i < h.rank; i++)
        count *= (size_t)h.shape[i]; /* checked with the header: the elements are in the file */
    array.data = (struct nuc_span){file.data + h.data_offset, count * size};
    if (h.fortran_order && h.rank > 1)
        array.data.data = transpose(cx, &h, array.data.data, count);
    return array;
}

/* NumPy aligns the elements to the beginning of their .npy file, which lies anywhere in an .npz archive. */
const void *nuc_array_elements(struct nuc_context *cx, struct nuc_array *array)
{
    if ((uintptr_t)array->data.data % nuc_dtype_size(array->dtype) != 0)
        array->data.data = nuc_copy(cx, array->data.data, array->data.size);
    return array->data.data;
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
    return stripped;
}

/* ---- many ---- */

/* Array i is entry i of the archive; entries that are not arrays are an error, as NumPy writes none. */
static struct nuc_arrays read_archive(struct nuc_context *cx, const char *path)
{
    const struct nuc_zip *zip = nuc_zip_open(cx, path);
    struct nuc_arrays arrays = {zip->count, nuc_alloc_array(cx, zip->count, sizeof *arrays.items)};

    for (size_t i = 0; i < zip->count; i++) {
        const struct nuc_zip_entry *e = &zip->entries[i];
        const char *where = nuc_format(cx, "%s: %s", path, e->name);
        arrays.items[i] = nuc_read_npy(cx, where, nuc_zip_read(zip, e));
        arrays.items[i].name = strip_suffix(cx, e->name);
    }
    return arrays;
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
    for (size_t i = 0; i < arrays.count; i++) {
        arrays.items[i] = nuc_read_npy(cx, files.items[i], nuc_map_file(cx, files.items[i]));
        arrays.items[i].name = strip_suffix(cx, nuc_base_name(files.items[i]));
    }
    return arrays;
}

struct nuc_arrays nuc_read_arrays(struct nuc_context *cx, const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        nuc_fail(cx, NUC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return read_folder(cx, path);
    struct nuc_span file = nuc_map_file(cx, path);
    if (nuc_is_zip(file))
        return read_archive(cx, path);
    struct nuc_arrays arrays = {1, nuc_alloc(cx, sizeof *arrays.items)};
    arrays.items[0] = nuc_read_npy(cx, path, file);
    arrays.items[0].name = strip_suffix(cx, nuc_base_name(path));
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
