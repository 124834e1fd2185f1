/*
 * C sources of programs: what is generated is plain text, and of a program that the runtime takes. `inspect --json` and
 * the rest of what describes one are fuzz_report.c's.
 */
#include <string.h>

#include "compiler/codegen/codegen.h"
#include "fuzz_support.h"
#include "nucleon/runtime.h"

#define MEMORY ((size_t)64 << 20)

/* A byte of the file that gets into the sources as it is could end a string or a comment. */
static void check_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text != '\n' && (*text < ' ' || *text > '~'))
            fuzz_broken("generated code holds a byte that is not printable");
    }
}

static void generate(struct nuc_context *cx, void *arg)
{
    const struct nuc_span *bytes = arg;
    struct nuc_codegen_files files = nuc_generate_code(cx, "input", *bytes, "model");
    struct nuc_program_sizes sizes;

    check_text(files.header);
    check_text(files.source);
    check_text(files.data);
    if (nuc_program_sizes(bytes->data, bytes->size, &nuc_default_backends, &sizes, NULL) == NUC_BAD_INPUT)
        fuzz_broken("code is generated of a program that the runtime refuses");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_bytes(data, size, MEMORY, generate);
}
