/* Finds out what a file is and hands it to the part that describes it. */
#include "compiler/report/inspect.h"

#include <string.h>

#include "compiler/graph/graph.h"
#include "compiler/import/pt2.h"
#include "compiler/litert/litert.h"
#include "compiler/neutron/convert.h"
#include "host/file.h"

static void count_operators(struct nuc_text *out, const struct nuc_graph *g)
{
    uint32_t counts[NUC_OP_COUNT] = {0};

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        counts[n->op]++;
    for (unsigned op = 0; op < NUC_OP_COUNT; op++) {
        bool shown = counts[op] != 0 && op != NUC_OP_PLACEHOLDER && op != NUC_OP_OUTPUT;
        if (shown)
            nuc_text_addf(out, "#   %4u %s\n", counts[op], nuc_op_name((enum nuc_op)op));
    }
}

static size_t constant_bytes(const struct nuc_graph *g)
{
    size_t bytes = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        bytes += nuc_is_static(n) ? nuc_bytes(&n->vals[0]) : 0;
    return bytes;
}

static const char *inspect_archive(struct nuc_context *cx, const char *path)
{
    struct nuc_graph *g = nuc_import_pt2(cx, path);
    struct nuc_text out;

    nuc_text_init(&out, cx);
    nuc_text_addf(&out, "# torch.export archive: %u nodes, %zu bytes of parameters, buffers and constants\n",
                  g->n_nodes, constant_bytes(g));
    count_operators(&out, g);
    nuc_text_addf(&out, "%s", nuc_graph_print(g, false));
    return nuc_text_string(&out);
}

static bool has_identifier(struct nuc_span bytes, const char identifier[4])
{
    return bytes.size >= 8 && memcmp(bytes.data + 4, identifier, 4) == 0;
}

const char *nuc_inspect(struct nuc_context *cx, const char *path, bool disassemble)
{
    struct nuc_span bytes = nuc_map_file(cx, path);
    struct nuc_text out;

    nuc_text_init(&out, cx);
    if (bytes.size >= 4 && memcmp(bytes.data, "PK", 2) == 0)
        return inspect_archive(cx, path);
    if (has_identifier(bytes, "TFL3")) {
        struct nuc_lt_model *m = nuc_lt_read(cx, path, bytes);
        nuc_text_addf(&out, "LiteRT model, %zu bytes\n%s", bytes.size, nuc_lt_print(m));
    } else if (has_identifier(bytes, "ET12")) {
        nuc_inspect_program(&out, path, bytes, disassemble);
    } else {
        nuc_fail(cx, NUC_BAD_INPUT,
                 "%s: is neither a torch.export archive (.pt2), nor a LiteRT model (.tflite), nor a program (.pte)",
                 path);
    }
    return nuc_text_string(&out);
}
