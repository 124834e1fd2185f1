#include "npu/convert/kernel_names.h"

#include <string.h>

#include "device/base/microcode_header.h"

bool nuc_is_microcode(struct nuc_span microcode)
{
    return microcode.size >= NUC_MC_HEADER_WORDS * 4 &&
           nuc_load_u32(microcode.data + (size_t)NUC_MC_WORD_MAGIC * 4) == NUC_MC_MAGIC &&
           nuc_mc_is_version(nuc_load_u32(microcode.data + (size_t)NUC_MC_WORD_VERSION * 4));
}

/* A row: offsets of the node's and of the source's text from the start of the microcode, 0: none. */
#define ROW_BYTES 8

static size_t text_bytes(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

struct nuc_span nuc_kernel_names_write(struct nuc_context *cx, const struct nuc_kernel_name *names, uint32_t n_calls,
                                       uint32_t at)
{
    size_t rows = (size_t)n_calls * ROW_BYTES, size = rows;

    for (uint32_t i = 0; i < n_calls; i++)
        size += text_bytes(names[i].node) + text_bytes(names[i].source);
    size = nuc_align_up(size, 4);
    uint8_t *bytes = nuc_alloc(cx, size);
    size_t end = rows;
    for (uint32_t i = 0; i < n_calls; i++) {
        const char *const texts[2] = {names[i].node, names[i].source};
        for (size_t k = 0; k < 2; k++) {
            if (texts[k] == NULL)
                continue;
            nuc_store_u32(bytes + (size_t)i * ROW_BYTES + k * 4, (uint32_t)(at + end));
            memcpy(bytes + end, texts[k], text_bytes(texts[k]));
            end += text_bytes(texts[k]);
        }
    }
    return (struct nuc_span){bytes, size};
}

/* The text at an offset, when it ends inside the microcode. */
static const char *text_at(struct nuc_context *cx, struct nuc_span microcode, uint32_t offset)
{
    struct nuc_span rest;

    if (offset == 0 || offset >= microcode.size || !nuc_span_slice(microcode, offset, microcode.size - offset, &rest) ||
        memchr(rest.data, 0, rest.size) == NULL)
        return NULL;
    char *text = nuc_strdup(cx, (const char *)rest.data);
    for (char *c = text; *c != '\0'; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    return text;
}

struct nuc_kernel_name nuc_kernel_name_read(struct nuc_context *cx, struct nuc_span microcode, uint32_t call)
{
    struct nuc_kernel_name name = {.node = NULL};
    struct nuc_span row;

    if (!nuc_is_microcode(microcode))
        return name;
    uint32_t at = nuc_load_u32(microcode.data + (size_t)NUC_MC_WORD_NAMES_OFFSET * 4);
    if (at == 0 || !nuc_span_slice(microcode, at + (uint64_t)call * ROW_BYTES, ROW_BYTES, &row))
        return name;
    name.node = text_at(cx, microcode, nuc_load_u32(row.data));
    name.source = text_at(cx, microcode, nuc_load_u32(row.data + 4));
    return name;
}
