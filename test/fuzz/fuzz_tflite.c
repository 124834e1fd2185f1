/* LiteRT models as input of the compiler: what is imported is a graph that holds its invariants, and prints. */

#include "front/tflite/tflite.h"
#include "fuzz_support.h"
#include "ir/obstacles.h"

#define MEMORY ((size_t)256 << 20)

/* What cannot be imported is left out: what stays holds its invariants, too. */
static void import_in_part(struct nuc_context *cx, void *arg)
{
    const struct nuc_span *bytes = arg;

    nuc_collect_obstacles(cx);
    nuc_graph_verify(nuc_import_litert(cx, nuc_lt_read(cx, "input", *bytes), 0, NULL), "import in part");
}

static void import(struct nuc_context *cx, void *arg)
{
    const struct nuc_span *bytes = arg;
    enum nuc_status status = nuc_try(cx, import_in_part, arg);

    cx->obstacles = NULL;
    if (status == NUC_INTERNAL)
        nuc_fail_again(cx, status);
    struct nuc_graph *g = nuc_import_litert(cx, nuc_lt_read(cx, "input", *bytes), 0, NULL);

    nuc_graph_verify(g, "import");
    nuc_graph_print(g, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_bytes(data, size, MEMORY, import);
}
