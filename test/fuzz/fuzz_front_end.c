/* Descriptions of front ends: what is accepted is a graph in order, and its text on one line makes the same graph. */
#include <string.h>

#include "front/sensor/front_end.h"
#include "fuzz_support.h"
#include "graph_text/parse_graph.h"

#define MEMORY ((size_t)64 << 20)

/* Of a model whose input has the sizes of frames and features, of axes of these, or of an image. */
static const char *make(struct nuc_context *cx, struct nuc_span text, const char *sizes, const char **front_end)
{
    struct nuc_graph *g = nuc_graph_parse(
        cx, "model",
        nuc_format(cx,
                   "nucleon-graph 1\n%%x = input : float32%s\n%%y = aten.relu.default(%%x)\n%%output = output([%%y])\n",
                   sizes));

    *front_end = nuc_put_front_end(g, "front end", text, false);
    nuc_graph_verify(g, "front end");
    return nuc_graph_print(g, true);
}

static void describe(struct nuc_context *cx, void *arg)
{
    const struct nuc_span *bytes = arg;
    const char *text = nuc_format(cx, "%.*s", (int)bytes->size, (const char *)bytes->data), *again, *same;
    const char *sizes = strstr(text, "image") != NULL    ? "[1, 3, 6, 8]"
                        : strstr(text, "sensor") != NULL ? "[1, 3, 7, 16]"
                                                         : "[1, 49, 10]";
    const char *first = make(cx, *bytes, sizes, &again);
    const char *second = make(cx, (struct nuc_span){(const uint8_t *)again, strlen(again)}, sizes, &same);

    if (strcmp(first, second) != 0 || strcmp(again, same) != 0)
        fuzz_broken("a front end that is described on one line is another one");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_bytes(data, size, MEMORY, describe);
}
