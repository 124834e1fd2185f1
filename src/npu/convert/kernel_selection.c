#include "npu/convert/kernel_selection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/base/npu_kernels.h"
#include "host/text.h"

struct kernel {
    uint32_t opcode;
    const char *name, *function;
};

static const struct kernel kernels[] = {
#define ROW(opcode, function) {NUC_MC_OP_##opcode, #opcode, #function},
    NUC_NPU_KERNELS(ROW)
#undef ROW
};

#define N_KERNELS (sizeof kernels / sizeof kernels[0])

/* Lines the reader looks for. */
#define VERSION_LINE "#define NEUTRON_KERNELS_VERSION "
#define ROW_LINE "    [NeutronKernel_"

static const struct kernel *find_kernel(const char *name, size_t length)
{
    for (size_t k = 0; k < N_KERNELS; k++) {
        if (strlen(kernels[k].name) == length && memcmp(kernels[k].name, name, length) == 0)
            return &kernels[k];
    }
    return NULL;
}

void nuc_kernel_selection_add(struct nuc_kernel_selection *s, const struct nuc_neutron_image *image)
{
    for (uint32_t i = 0; i < image->n_calls; i++) {
        const struct kernel *k = find_kernel(image->calls[i].opcode, strlen(image->calls[i].opcode));
        if (k != NULL)
            s->used[k->opcode] = true;
    }
}

struct nuc_span nuc_kernel_selection_write(struct nuc_context *cx, const struct nuc_kernel_selection *s)
{
    struct nuc_text out = {.cx = cx};

    nuc_text_addf(&out,
                  "/* NPU kernels of a firmware's programs: link this file before the driver library. Made by nucleon. "
                  "*/\n#include <stdint.h>\n\n" VERSION_LINE "0x%08Xu\n\ntypedef enum NeutronKernelKind {\n",
                  NUC_MC_VERSION);
    for (size_t k = 0; k < N_KERNELS; k++)
        nuc_text_addf(&out, "    NeutronKernel_%s = %u,\n", kernels[k].name, kernels[k].opcode);
    nuc_text_addf(&out,
                  "    NeutronKernelCount = %u\n} NeutronKernelKind;\n\nstruct nuc_npu_memory;\n"
                  "union nuc_mc_record;\n\n"
                  "extern const uint32_t neutronKernelsVersion;\n"
                  "extern int32_t (*const neutronKernels[NeutronKernelCount])(const struct nuc_npu_memory *m,\n"
                  "                                                           const union nuc_mc_record *r);\n\n",
                  (unsigned)NUC_MC_OPCODE_COUNT);
    /* Prototypes of the functions, each once; then a function of the table's type for each opcode. */
    const char *last = "";
    for (size_t k = 0; k < N_KERNELS; k++) {
        if (!s->used[kernels[k].opcode] || strcmp(kernels[k].function, last) == 0)
            continue;
        last = kernels[k].function;
        nuc_text_addf(&out, "void %s(const struct nuc_npu_memory *m, const union nuc_mc_record *r);\n", last);
    }
    for (size_t k = 0; k < N_KERNELS; k++) {
        if (s->used[kernels[k].opcode])
            nuc_text_addf(&out,
                          "\nstatic int32_t run_%s(const struct nuc_npu_memory *m, const union nuc_mc_record *r)\n{\n"
                          "    %s(m, r);\n    return 0;\n}\n",
                          kernels[k].name, kernels[k].function);
    }
    nuc_text_addf(&out, "\nconst uint32_t neutronKernelsVersion = NEUTRON_KERNELS_VERSION;\n\n"
                        "int32_t (*const neutronKernels[NeutronKernelCount])(const struct nuc_npu_memory *m,\n"
                        "                                                    const union nuc_mc_record *r) = {\n"
                        "    [0] = 0,\n");
    for (size_t k = 0; k < N_KERNELS; k++) {
        if (s->used[kernels[k].opcode])
            nuc_text_addf(&out, ROW_LINE "%s] = run_%s,\n", kernels[k].name, kernels[k].name);
    }
    nuc_text_addf(&out, "};\n");
    return (struct nuc_span){(const uint8_t *)nuc_text_string(&out), out.length};
}

/* ---- reading ---- */

void nuc_kernel_selection_read(struct nuc_context *cx, const char *file, struct nuc_span bytes,
                               struct nuc_kernel_selection *s)
{
    char *text = nuc_alloc(cx, bytes.size + 1);
    bool found = false;

    if (bytes.size > 0)
        memcpy(text, bytes.data, bytes.size);
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, VERSION_LINE, strlen(VERSION_LINE)) == 0) {
            unsigned long version = strtoul(line + strlen(VERSION_LINE), NULL, 16);
            if (version != NUC_MC_VERSION)
                nuc_fail(cx, NUC_BAD_INPUT,
                         "%s: made for microcode version 0x%08lX, this nucleon has 0x%08X: compile its model again",
                         file, version, NUC_MC_VERSION);
            found = true;
        }
        if (strncmp(line, ROW_LINE, strlen(ROW_LINE)) == 0) {
            const char *name = line + strlen(ROW_LINE);
            size_t length = strcspn(name, "]\n");
            const struct kernel *k = find_kernel(name, length);
            if (k == NULL)
                nuc_fail(cx, NUC_BAD_INPUT, "%s: there is no kernel '%.*s': make the file again with this nucleon",
                         file, (int)(length > 40 ? 40 : length), name);
            s->used[k->opcode] = true;
        }
    }
    if (!found)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: is not a kernel selection file: it has no line '%s...'", file, VERSION_LINE);
}
