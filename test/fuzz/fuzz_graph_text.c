/* The text form of graphs: what parses and verifies prints to a text that parses to the same text. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_support.h"
#include "graph_text/parse_graph.h"

#define MEMORY ((size_t)128 << 20)

static void parse(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = nuc_graph_parse(cx, "input", arg);

    nuc_graph_verify(g, "parse");
    const char *first = nuc_graph_print(g, true);
    const char *second = nuc_graph_print(nuc_graph_parse(cx, "printed", first), true);
    if (strcmp(first, second) != 0)
        fuzz_broken("a graph that is printed, parsed and printed again changes");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_memory memory;
    struct nuc_context *cx = fuzz_context(&memory, MEMORY);
    char *text = malloc(size + 1);

    if (text == NULL)
        abort();
    if (size != 0)
        memcpy(text, data, size);
    text[size] = '\0';
    fuzz_verdict(nuc_try(cx, parse, text) == NUC_OK ? NULL : cx->message);
    nuc_context_free(cx);
    free(text);
    return 0;
}
