#include "archive/program_package.h"

#include <string.h>

#include "archive/bundle.h"
#include "archive/file_kind.h"
#include "archive/json_build.h"
#include "device/base/package.h"

bool nuc_package_of(struct nuc_context *cx, const char *file, struct nuc_span bytes, struct nuc_package *out)
{
    struct nuc_detail detail;

    if (bytes.size < 4 || memcmp(bytes.data, NUC_PACKAGE_MAGIC, 4) != 0)
        return false;
    if (nuc_package_open(bytes.data, bytes.size, out, &detail) != NUC_OK)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: %s: 'nucleon pack' makes it of its program again", file, detail.message);
    return true;
}

struct nuc_span nuc_program_of(struct nuc_context *cx, const char *file, struct nuc_span bytes)
{
    struct nuc_package p;

    return nuc_package_of(cx, file, bytes, &p) ? (struct nuc_span){p.program, p.program_size}
                                               : nuc_bundled_program(cx, file, bytes);
}

struct nuc_span nuc_read_program(struct nuc_context *cx, const char *path)
{
    nuc_expect_file(cx, path, NUC_FILE_PROGRAM);
    return nuc_program_of(cx, path, nuc_read_file(cx, path));
}

/* ---- JSON ---- */

void nuc_package_put(struct nuc_context *cx, const struct nuc_package *p, json_t *to)
{
    const char *name = p->names;

    nuc_put_count(cx, to, "package_bytes", p->size);
    nuc_put_count(cx, to, "program_bytes", p->program_size);
    nuc_put_count(cx, to, "program_version", p->version);
    nuc_put_text(cx, to, "cpu", p->cpu);
    nuc_put_count(cx, to, "microcode_version", p->microcode);
    nuc_put_count(cx, to, "signature_bytes", p->signature_size);
    json_t *list = nuc_put_array(cx, to, "memories");
    for (uint32_t i = 0; i < p->n_memories; i++) {
        struct nuc_package_memory m = nuc_package_memory(p, i);
        json_t *item = nuc_put_object(cx, list, NULL);
        nuc_put_string(cx, item, "holds", nuc_package_holds_name(m.holds));
        nuc_put_count(cx, item, "bytes", m.bytes);
        if (m.bank != NULL)
            nuc_put_text(cx, item, "bank", m.bank);
    }
    list = nuc_put_array(cx, to, "operators");
    for (uint32_t i = 0; i < p->n_kernels + p->n_backends; i++, name += strlen(name) + 1) {
        if (i == p->n_kernels)
            list = nuc_put_array(cx, to, "backends");
        nuc_put_text(cx, list, NULL, name);
    }
    if (p->n_backends == 0)
        nuc_put_array(cx, to, "backends");
}
