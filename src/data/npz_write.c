#include "data/arrays.h"

#include <string.h>

#include "archive/zip_write.h"
#include "data/npy_header.h"
#include "host/characters.h"
#include "host/file.h"
#include "host/text.h"

#define HEADER_ALIGNMENT 64u

static const char magic[] = "\x93NUMPY";

static struct nuc_pieces make_npy(struct nuc_context *cx, const struct nuc_array *a)
{
    size_t wanted = nuc_dtype_size(a->dtype);
    struct nuc_pieces file = {0};

    for (uint32_t d = 0; d < a->rank; d++)
        wanted *= (size_t)a->shape[d];
    if (wanted != a->data.size)
        nuc_fail(cx, NUC_BAD_USAGE, "array '%s' has %zu bytes, its shape has %zu", a->name, a->data.size, wanted);
    /* The header for an array, padded so that the data after it are aligned to 64 bytes. */
    const char *descr = nuc_npy_descr(a->dtype);
    struct nuc_text text = {.cx = cx};
    if (descr == NULL)
        nuc_fail(cx, NUC_UNSUPPORTED, "array '%s': NumPy has no %s", a->name, nuc_dtype_name(a->dtype));
    nuc_text_add(&text, magic, sizeof magic - 1);
    nuc_text_add(&text, (const char[]){1, 0, 0, 0}, 4);
    nuc_text_addf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (uint32_t i = 0; i < a->rank; i++)
        nuc_text_addf(&text, "%lld%s", (long long)a->shape[i], i + 1 < a->rank || i == 0 ? "," : "");
    nuc_text_addf(&text, "), }");
    size_t padded = nuc_align_up(text.length + 1, HEADER_ALIGNMENT);
    nuc_text_addf(&text, "%*s\n", (int)(padded - text.length - 1), "");
    size_t length = padded - 10;
    text.data[8] = (char)(length & 0xff);
    text.data[9] = (char)(length >> 8);
    nuc_add_piece(cx, &file, (struct nuc_span){(const uint8_t *)text.data, text.length});
    nuc_add_piece(cx, &file, a->data);
    return file;
}

bool nuc_npz_leads_out(const char *name)
{
    bool out = *name == '/' || *name == '\\';

    for (const char *part = name; part != NULL && !out; part = strpbrk(part, "/\\")) {
        part += part != name;
        out = strncmp(part, "..", 2) == 0 && (part[2] == '\0' || part[2] == '/' || part[2] == '\\');
    }
    return out;
}

void nuc_write_npz(struct nuc_context *cx, const char *path, const struct nuc_arrays *arrays)
{
    struct nuc_arena *outer = nuc_push_arena(cx);
    struct nuc_zip_writer *w = nuc_zip_writer_new(cx);

    for (size_t i = 0; i < arrays->count; i++) {
        const struct nuc_array *a = &arrays->items[i];
        if (nuc_npz_leads_out(a->name))
            nuc_fail(cx, NUC_BAD_USAGE,
                     "%s: array '%s': who unpacks the archive would write outside of its folder: "
                     "give the array another name",
                     path, nuc_plain_text(cx, a->name));
        struct nuc_pieces file = make_npy(cx, a);
        nuc_zip_add_pieces(w, nuc_format(cx, "%s.npy", a->name), &file);
    }
    struct nuc_pieces archive = nuc_zip_finish(w, path);
    nuc_write_pieces(cx, path, &archive);
    nuc_pop_arena(cx, outer);
}
