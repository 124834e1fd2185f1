/* The package of a program: what a firmware has to know before it uses it, in front of the file (docs/update.md). */
#include <string.h>

#include "device/base/package.h"
#include "device/base/program_sum.h"
#include "tools/codegen/codegen_program.h"

struct packing {
    struct nuc_context *cx;
    uint32_t words[NUC_PACKAGE_RECORDS / 4]; /* of the header, by offset */
    struct nuc_text records, texts;
    uint32_t texts_at; /* behind the records */
};

static void set(struct packing *p, uint32_t at, size_t value)
{
    p->words[at / 4] = (uint32_t)value;
}

static void add_word(struct nuc_text *out, uint32_t value)
{
    uint8_t bytes[4];

    nuc_store_u32(bytes, value);
    nuc_text_add(out, (const char *)bytes, sizeof bytes);
}

/* Its offset in the package. */
static uint32_t add_text(struct packing *p, const char *text)
{
    uint32_t at = p->texts_at + (uint32_t)p->texts.length;

    nuc_text_add(&p->texts, text, strlen(text) + 1);
    return at;
}

static void add_memory(struct packing *p, enum nuc_package_holds holds, size_t bytes, const char *bank)
{
    add_word(&p->records, holds);
    add_word(&p->records, (uint32_t)bytes);
    add_word(&p->records, bank != NULL ? add_text(p, bank) : 0);
}

/* ---- what the program says ---- */

static uint64_t bytes_of(const struct nuc_view_value *v)
{
    const struct nuc_view_tensor *t = &v->u.tensor;
    uint64_t bytes = v->kind == NUC_VALUE_TENSOR ? nuc_dtype_size(t->dtype) : 0;

    for (uint32_t i = 0; bytes > 0 && bytes <= UINT32_MAX && i < t->sizes.count; i++)
        bytes *= (uint64_t)nuc_view_int(t->sizes, i);
    return (bytes + NUC_MEMORY_ALIGNMENT - 1) / NUC_MEMORY_ALIGNMENT * NUC_MEMORY_ALIGNMENT;
}

static void add_memories(struct packing *p, const struct nuc_program_view *view, struct nuc_span image,
                         const struct nuc_metadata *metadata)
{
    struct nuc_detail d = {.message = NULL};
    struct nuc_program_sizes sizes;
    enum nuc_status status = nuc_program_sizes(image.data, image.size, &nuc_default_backends, &sizes, &d);
    /* Inputs and outputs that lie where the caller says. */
    uint64_t io = 0;

    for (uint32_t i = 0; i < view->methods->inputs.count + view->methods->outputs.count; i++) {
        bool input = i < view->methods->inputs.count;
        int64_t index = nuc_view_int(input ? view->methods->inputs : view->methods->outputs,
                                     input ? i : i - view->methods->inputs.count);
        const struct nuc_view_value *v = &view->methods->values[index];
        if (v->kind == NUC_VALUE_TENSOR && !v->u.tensor.planned && (input || v->u.tensor.constant == 0))
            io += bytes_of(v);
    }
    if (status != NUC_OK || io > INT32_MAX)
        nuc_fail(p->cx, status != NUC_OK ? status : NUC_UNSUPPORTED, "%s: %s", view->file,
                 d.message != NULL ? d.message : "its inputs and outputs are too large for a microcontroller");
    nuc_codegen_check_memory(p->cx, view->file, &sizes);
    size_t count = sizes.n_planned + (sizes.temporary > 0) + (io > 0);
    p->texts_at = NUC_PACKAGE_RECORDS + (uint32_t)count * NUC_PACKAGE_RECORD_SIZE;
    set(p, NUC_PACKAGE_N_MEMORIES, count);
    set(p, NUC_PACKAGE_MICROCODE, sizes.microcode);
    for (size_t i = 0; i < sizes.n_planned; i++)
        add_memory(p, NUC_PACKAGE_PLANNED, sizes.planned[i], nuc_metadata_memory(metadata, NUC_HOLDS_PLANNED, i));
    if (sizes.temporary > 0)
        add_memory(p, NUC_PACKAGE_TEMPORARY, sizes.temporary, nuc_metadata_memory(metadata, NUC_HOLDS_TEMPORARY, 0));
    if (io > 0)
        add_memory(p, NUC_PACKAGE_IO, (size_t)io, NULL);
}

/* ---- the bytes ---- */

struct nuc_span nuc_make_package(struct nuc_context *cx, const struct nuc_program_view *view, uint32_t version)
{
    const struct nuc_span image = {nuc_copy(cx, view->bytes.data, view->bytes.size), view->bytes.size};
    struct packing p = {.cx = cx, .records = {.cx = cx}, .texts = {.cx = cx}};
    const struct nuc_metadata *metadata = nuc_metadata_of(cx, view);

    add_memories(&p, view, image, metadata);
    set(&p, NUC_PACKAGE_VERSION, version);
    set(&p, NUC_PACKAGE_CPU,
        add_text(&p, metadata != NULL && metadata->n_target > 0 && metadata->target->cpu != NULL ? metadata->target->cpu
                                                                                                 : ""));
    struct nuc_table_files called = nuc_kernel_tables(cx, &view, 1, "package", "codegen", "");
    set(&p, NUC_PACKAGE_N_KERNELS, called.n_operators);
    set(&p, NUC_PACKAGE_N_BACKENDS, called.n_backends);
    set(&p, NUC_PACKAGE_NAMES, p.texts_at + p.texts.length);
    for (size_t i = 0; i < called.n_operators; i++)
        add_text(&p, called.operators[i]);
    for (size_t i = 0; i < called.n_backends; i++)
        add_text(&p, called.backends[i]);
    const size_t header = nuc_align_up(p.texts_at + p.texts.length, NUC_PACKAGE_ALIGNMENT);
    if (header > NUC_PACKAGE_HEADER_MAX || image.size > INT32_MAX)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s: is too large for a package", view->file);
    const size_t size = header + image.size;
    uint8_t *out = nuc_alloc(cx, size);
    set(&p, NUC_PACKAGE_AT_FORMAT, NUC_PACKAGE_FORMAT);
    set(&p, NUC_PACKAGE_HEADER_SIZE, header);
    set(&p, NUC_PACKAGE_PROGRAM_SIZE, image.size);
    for (uint32_t at = NUC_PACKAGE_AT_FORMAT; at < NUC_PACKAGE_RECORDS; at += 4)
        nuc_store_u32(out + at, p.words[at / 4]);
    memcpy(out, NUC_PACKAGE_MAGIC, 4);
    memcpy(out + NUC_PACKAGE_RECORDS, nuc_text_string(&p.records), p.records.length);
    memcpy(out + p.texts_at, nuc_text_string(&p.texts), p.texts.length);
    memcpy(out + header, image.data, image.size);
    nuc_store_u32(out + NUC_PACKAGE_CHECKSUM, nuc_crc32(0, out + NUC_PACKAGE_AT_FORMAT, size - NUC_PACKAGE_AT_FORMAT));
    return (struct nuc_span){out, size};
}

struct nuc_span nuc_sign_package(struct nuc_context *cx, struct nuc_span package, struct nuc_span signature)
{
    uint8_t *out = nuc_alloc(cx, package.size + 8 + signature.size);

    memcpy(out, package.data, package.size);
    memcpy(out + package.size, NUC_PACKAGE_SIGNATURE, 4);
    nuc_store_u32(out + package.size + 4, (uint32_t)signature.size);
    memcpy(out + package.size + 8, signature.data, signature.size);
    return (struct nuc_span){out, package.size + 8 + signature.size};
}
