/* Finds out what a file is and hands it to the part that describes it. */
#include "compiler/report/inspect.h"

#include <string.h>

#include "compiler/graph/graph.h"
#include "compiler/import/json_build.h"
#include "compiler/import/pt2.h"
#include "compiler/litert/litert.h"
#include "compiler/neutron/convert/convert.h"
#include "compiler/report/inspect_forms.h"
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

static bool has_identifier(struct nuc_span bytes, const char identifier[4])
{
    return bytes.size >= 8 && memcmp(bytes.data + 4, identifier, 4) == 0;
}

enum file_kind { ARCHIVE, LITERT, PROGRAM };

static enum file_kind find_kind(struct nuc_context *cx, const char *path, struct nuc_span bytes)
{
    if (bytes.size >= 4 && memcmp(bytes.data, "PK", 2) == 0)
        return ARCHIVE;
    if (has_identifier(bytes, "TFL3"))
        return LITERT;
    if (has_identifier(bytes, "ET12"))
        return PROGRAM;
    nuc_fail(cx, NUC_BAD_INPUT,
             "%s: is neither a torch.export archive (.pt2), nor a LiteRT model (.tflite), nor a program (.pte)", path);
}

/* ---- text ---- */

static void print_archive(struct nuc_text *out, const char *path)
{
    struct nuc_graph *g = nuc_import_pt2(out->cx, path);

    nuc_text_addf(out, "# torch.export archive: %u nodes, %zu bytes of parameters, buffers and constants\n", g->n_nodes,
                  constant_bytes(g));
    count_operators(out, g);
    nuc_text_addf(out, "%s", nuc_graph_print(g, false));
}

static void print_file(struct nuc_text *out, const char *path, struct nuc_span bytes, bool disassemble)
{
    struct nuc_lt_model *m;

    switch (find_kind(out->cx, path, bytes)) {
    case ARCHIVE:
        print_archive(out, path);
        break;
    case LITERT:
        m = nuc_lt_read(out->cx, path, bytes);
        nuc_text_addf(out, "LiteRT model, %zu bytes\n%s", bytes.size, nuc_lt_print(m));
        nuc_inspect_neutron_graphs(out, m, disassemble);
        break;
    case PROGRAM:
        nuc_inspect_program(out, path, bytes, disassemble);
        break;
    }
}

/* ---- JSON ---- */

#define JSON_FLAGS (JSON_INDENT(1) | JSON_REAL_PRECISION(17) | JSON_ENSURE_ASCII)

static void dump_json(struct nuc_text *out, const json_t *tree)
{
    size_t size = json_dumpb(tree, NULL, 0, JSON_FLAGS);
    char *text = nuc_alloc(out->cx, size);

    if (size == 0 || json_dumpb(tree, text, size, JSON_FLAGS) != size)
        nuc_fail(out->cx, NUC_NO_MEMORY, "out of memory");
    nuc_text_add(out, text, size);
    nuc_text_add(out, "\n", 1);
}

static void print_json(struct nuc_text *out, const char *path, struct nuc_span bytes, bool disassemble)
{
    static const char *const names[] = {[ARCHIVE] = "pt2", [LITERT] = "tflite", [PROGRAM] = "pte"};
    struct nuc_context *cx = out->cx;
    enum file_kind kind = find_kind(cx, path, bytes);
    json_t *tree = nuc_json_tree(cx);
    struct nuc_lt_model *m;
    struct nuc_graph *g;

    nuc_put_string(cx, tree, "kind", names[kind]);
    nuc_put_int(cx, tree, "bytes", (int64_t)bytes.size);
    switch (kind) {
    case ARCHIVE:
        g = nuc_import_pt2(cx, path);
        nuc_put_int(cx, tree, "constant_bytes", (int64_t)constant_bytes(g));
        nuc_inspect_graph_json(cx, g, tree);
        break;
    case LITERT:
        m = nuc_lt_read(cx, path, bytes);
        nuc_inspect_litert_json(cx, m, tree);
        nuc_inspect_neutron_graphs_json(cx, m, disassemble, tree);
        break;
    case PROGRAM:
        nuc_inspect_program_json(cx, path, bytes, disassemble, tree);
        break;
    }
    dump_json(out, tree);
}

/* ---- dot ---- */

static void print_dot(struct nuc_text *out, const char *path, struct nuc_span bytes)
{
    switch (find_kind(out->cx, path, bytes)) {
    case ARCHIVE:
        nuc_inspect_graph_dot(out, nuc_import_pt2(out->cx, path));
        break;
    case LITERT:
        nuc_inspect_litert_dot(out, nuc_lt_read(out->cx, path, bytes));
        break;
    case PROGRAM:
        nuc_fail(out->cx, NUC_BAD_INPUT, "%s: is a program, a list of instructions: use --json", path);
    }
}

const char *nuc_inspect(struct nuc_context *cx, const char *path, enum nuc_inspect_form form, bool disassemble)
{
    struct nuc_span bytes = nuc_map_file(cx, path);
    struct nuc_text out;

    nuc_text_init(&out, cx);
    if (form == NUC_INSPECT_JSON)
        print_json(&out, path, bytes, disassemble);
    else if (form == NUC_INSPECT_DOT)
        print_dot(&out, path, bytes);
    else
        print_file(&out, path, bytes, disassemble);
    return nuc_text_string(&out);
}
