/*
 * C sources of programs, and tables of what they call: what is generated is plain text, and of a program that the
 * runtime takes. `inspect --json` and the rest of what describes one are fuzz_report.c's.
 */

#include "fuzz_support.h"
#include "nucleon/runtime.h"
#include "tools/codegen/codegen.h"

#define MEMORY ((size_t)64 << 20)

/* A byte of the file that gets into the sources as it is could end a string or a comment. */
static void check_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text != '\n' && (*text < ' ' || *text > '~'))
            fuzz_broken("generated code holds a byte that is not printable");
    }
}

static void list_kernels(struct nuc_context *cx, void *arg)
{
    const struct nuc_program_view *view = nuc_program_view_open(cx, "input", *(const struct nuc_span *)arg);
    struct nuc_table_files files = nuc_kernel_tables(cx, &view, 1, "tables", "kernels", "");

    check_text(files.header);
    check_text(files.source);
    struct nuc_memory_plan_info info;
    files = nuc_memory_plan(cx, &view, 1, "tables", &info);
    check_text(files.header);
    check_text(files.source);
}

static void generate(struct nuc_context *cx, void *arg)
{
    const struct nuc_span *bytes = arg;

    nuc_attempt(cx, list_kernels, arg); /* other operators are refused there than here: the verdict is codegen's */
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
