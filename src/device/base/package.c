#include "device/base/package.h"

#include "device/base/program_sum.h"

enum nuc_status nuc_package_refuse(struct nuc_detail *detail, enum nuc_status status, const char *message)
{
    *detail = (struct nuc_detail){.message = message, .instruction = -1, .value = -1};
    return status;
}

static uint32_t word(const struct nuc_package *p, size_t at)
{
    return nuc_load_u32(p->bytes + at);
}

static bool begins_with(struct nuc_span bytes, const char *magic)
{
    return bytes.size >= 4 && __builtin_memcmp(bytes.data, magic, 4) == 0;
}

enum nuc_status nuc_package_start(struct nuc_span bytes, struct nuc_package *out, struct nuc_detail *detail)
{
    *out = (struct nuc_package){.bytes = bytes.data};
    if (bytes.size < NUC_PACKAGE_RECORDS || !begins_with(bytes, NUC_PACKAGE_MAGIC))
        return nuc_package_refuse(detail, NUC_BAD_INPUT, NUC_TEXT("no package begins here"));
    if (word(out, NUC_PACKAGE_AT_FORMAT) != NUC_PACKAGE_FORMAT)
        return nuc_package_refuse(detail, NUC_UNSUPPORTED,
                                  NUC_TEXT("the package has another format than this firmware reads"));
    size_t header = word(out, NUC_PACKAGE_HEADER_SIZE);
    out->program_size = word(out, NUC_PACKAGE_PROGRAM_SIZE);
    out->version = word(out, NUC_PACKAGE_VERSION);
    if (header < NUC_PACKAGE_RECORDS || header > NUC_PACKAGE_HEADER_MAX || header % NUC_PACKAGE_ALIGNMENT != 0 ||
        !nuc_add_size(header, out->program_size, &out->size))
        return nuc_package_refuse(detail, NUC_BAD_INPUT, NUC_TEXT("the package has an impossible size"));
    out->program = bytes.data + header;
    return NUC_OK;
}

/* A text of the header, "" for offset 0; NULL: it lies outside. */
static const char *text_at(const struct nuc_package *p, size_t offset)
{
    const size_t header = (size_t)(p->program - p->bytes);

    return offset == 0 ? "" : offset < header ? (const char *)p->bytes + offset : NULL;
}

static bool records_fit(const struct nuc_package *p)
{
    bool fit = p->n_memories <= NUC_MAX_MEMORIES + 2 &&
               NUC_PACKAGE_RECORDS + (size_t)p->n_memories * NUC_PACKAGE_RECORD_SIZE <= (size_t)(p->program - p->bytes);

    for (uint32_t i = 0; fit && i < p->n_memories; i++) {
        const uint8_t *r = p->records + (size_t)i * NUC_PACKAGE_RECORD_SIZE;
        fit = nuc_load_u32(r) <= NUC_PACKAGE_IO && text_at(p, nuc_load_u32(r + 8)) != NULL;
    }
    return fit;
}

static bool names_fit(const struct nuc_package *p)
{
    uint64_t left = (uint64_t)p->n_kernels + p->n_backends;
    size_t header = (size_t)(p->program - p->bytes), at = word(p, NUC_PACKAGE_NAMES);

    for (; left > 0 && at < header; left--, at++) {
        while (p->bytes[at] != 0)
            at++;
    }
    return left == 0;
}

enum nuc_status nuc_package_header(struct nuc_span bytes, struct nuc_package *out, struct nuc_detail *detail)
{
    enum nuc_status status = nuc_package_start(bytes, out, detail);

    if (status != NUC_OK)
        return status;
    if (bytes.size < (size_t)(out->program - out->bytes))
        return nuc_package_refuse(detail, NUC_BAD_INPUT, NUC_TEXT("the package is cut off"));
    out->microcode = word(out, NUC_PACKAGE_MICROCODE);
    out->cpu = text_at(out, word(out, NUC_PACKAGE_CPU));
    out->records = out->bytes + NUC_PACKAGE_RECORDS;
    out->n_memories = word(out, NUC_PACKAGE_N_MEMORIES);
    out->n_kernels = word(out, NUC_PACKAGE_N_KERNELS);
    out->n_backends = word(out, NUC_PACKAGE_N_BACKENDS);
    out->names = text_at(out, word(out, NUC_PACKAGE_NAMES));
    if (out->program[-1] != 0 || out->cpu == NULL || out->names == NULL || !records_fit(out) || !names_fit(out) ||
        (word(out, NUC_PACKAGE_RESERVED) | word(out, NUC_PACKAGE_RESERVED + 4) | word(out, NUC_PACKAGE_RESERVED + 8) |
         word(out, NUC_PACKAGE_RESERVED + 12)) != 0)
        return nuc_package_refuse(detail, NUC_BAD_INPUT, NUC_TEXT("the header of the package is damaged"));
    return NUC_OK;
}

enum nuc_status nuc_package_open(const void *bytes, size_t size, struct nuc_package *out, struct nuc_detail *detail)
{
    const struct nuc_span all = {bytes, bytes != NULL ? size : 0};
    struct nuc_detail unused;

    detail = detail != NULL ? detail : &unused;
    *detail = (struct nuc_detail){.instruction = -1, .value = -1};
    if (out == NULL)
        return NUC_BAD_USAGE;
    enum nuc_status status = nuc_package_start(all, out, detail);
    if (status != NUC_OK)
        return status;
    if (out->size > size)
        return nuc_package_refuse(detail, NUC_BAD_INPUT, NUC_TEXT("the package is cut off"));
    if (nuc_crc32(0, out->bytes + NUC_PACKAGE_AT_FORMAT, out->size - NUC_PACKAGE_AT_FORMAT) !=
        word(out, NUC_PACKAGE_CHECKSUM))
        return nuc_package_refuse(detail, NUC_BAD_INPUT, NUC_TEXT("the package is damaged: its checksum does not fit"));
    status = nuc_package_header(all, out, detail);
    struct nuc_span rest = {out->bytes + out->size, size - out->size};
    if (status == NUC_OK && begins_with(rest, NUC_PACKAGE_SIGNATURE) && rest.size >= 8 &&
        nuc_load_u32(rest.data + 4) <= rest.size - 8) {
        out->signature = rest.data + 8;
        out->signature_size = nuc_load_u32(rest.data + 4);
    }
    return status;
}

const char *nuc_package_holds_name(enum nuc_package_holds holds)
{
    return holds == NUC_PACKAGE_PLANNED     ? "planned"
           : holds == NUC_PACKAGE_TEMPORARY ? "temporary"
                                            : "inputs and outputs";
}

struct nuc_package_memory nuc_package_memory(const struct nuc_package *package, uint32_t index)
{
    const uint8_t *r = package->records + (size_t)index * NUC_PACKAGE_RECORD_SIZE;
    uint32_t bank = nuc_load_u32(r + 8);

    return (struct nuc_package_memory){(enum nuc_package_holds)nuc_load_u32(r), nuc_load_u32(r + 4),
                                       bank != 0 ? text_at(package, bank) : NULL};
}
