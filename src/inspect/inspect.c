/* Finds out what a file is and hands it to the part that describes it. */
#include "inspect/inspect.h"

#include <string.h>

#include "archive/bundle.h"
#include "archive/file_kind.h"
#include "archive/json_build.h"
#include "archive/program_package.h"
#include "archive/zip.h"
#include "front/pt2/pt2.h"
#include "host/file.h"
#include "inspect/inspect_forms.h"
#include "ir/graph.h"
#include "litert/litert.h"

static void count_operators(struct nuc_text *out, const struct nuc_graph *g)
{
    for (size_t form = 0; form < NUC_FORM_COUNT; form++) {
        const struct nuc_node *first = NULL;
        unsigned count = 0;
        for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
            if (!nuc_is_call(n) || nuc_form_index(n) != form)
                continue;
            first = first == NULL ? n : first;
            count++;
        }
        if (first != NULL)
            nuc_text_addf(out, "#   %4u %s\n", count, nuc_node_op_name(first));
    }
}

static size_t constant_bytes(const struct nuc_graph *g)
{
    size_t bytes = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        bytes += nuc_is_static(n) ? nuc_bytes(&n->vals[0]) : 0;
    return bytes;
}

/* ---- the three kinds of files ---- */

static json_t *new_tree(const struct nuc_inspection *in, const char *kind, uint64_t size)
{
    json_t *tree = nuc_json_tree(in->cx);

    nuc_put_string(in->cx, tree, "kind", kind);
    nuc_put_int(in->cx, tree, "bytes", (int64_t)size);
    return tree;
}

/* The text is the graph's own text form, which can be read again. */
static void inspect_archive(const struct nuc_inspection *in, struct nuc_text *out, enum nuc_inspect_form form,
                            struct nuc_stored input)
{
    struct nuc_graph *g = nuc_import_pt2(in->cx, input, NULL);

    if (in->disassemble)
        nuc_warn(in->cx, "--disassemble: without effect, %s is a model without code for the NPU", in->file);

    if (form == NUC_INSPECT_DOT) {
        nuc_inspect_graph_dot(out, g);
    } else if (form == NUC_INSPECT_JSON) {
        json_t *tree = new_tree(in, "pt2", nuc_stored_size(in->cx, input));
        nuc_put_int(in->cx, tree, "constant_bytes", (int64_t)constant_bytes(g));
        nuc_inspect_graph_json(in->cx, g, tree);
        nuc_text_addf(out, "%s", nuc_json_text(in->cx, tree));
    } else {
        nuc_text_addf(out, "# torch.export archive: %u nodes, %zu bytes of parameters, buffers and constants\n",
                      g->n_nodes, constant_bytes(g));
        count_operators(out, g);
        nuc_text_addf(out, "%s", nuc_graph_print(g, false));
    }
}

static void inspect_litert(const struct nuc_inspection *in, struct nuc_text *out, enum nuc_inspect_form form,
                           struct nuc_span bytes)
{
    struct nuc_lt_model *m = nuc_lt_read(in->cx, in->file, bytes);
    json_t *tree = new_tree(in, "tflite", bytes.size);

    if (form == NUC_INSPECT_DOT) {
        nuc_inspect_litert_dot(out, m);
    } else if (form == NUC_INSPECT_JSON) {
        nuc_inspect_litert_json(in->cx, m, tree);
        nuc_inspect_neutron_graphs(in, m, tree);
        nuc_text_addf(out, "%s", nuc_json_text(in->cx, tree));
    } else {
        nuc_text_addf(out, "LiteRT model, %zu bytes\n%s", bytes.size, nuc_lt_print(m));
        nuc_inspect_neutron_graphs(in, m, tree);
        nuc_print_neutron_graphs(out, tree);
    }
}

static void inspect_program(const struct nuc_inspection *in, struct nuc_text *out, enum nuc_inspect_form form,
                            struct nuc_span file)
{
    const struct nuc_span program = nuc_program_of(in->cx, in->file, file);
    json_t *tree = new_tree(in, "pte", program.size);
    struct nuc_package package;

    if (form == NUC_INSPECT_DOT) {
        nuc_inspect_program_dot(out, in->file, program);
        return;
    }
    if (nuc_package_of(in->cx, in->file, file, &package))
        nuc_package_put(in->cx, &package, nuc_put_object(in->cx, tree, "package"));
    if (nuc_is_bundle(file)) {
        /* Its program is described as if it were alone. */
        const uint32_t n = nuc_bundle_read(in->cx, in->file, file)->n_cases;
        if (form == NUC_INSPECT_TEXT)
            nuc_text_addf(out, "bundled program, %zu bytes, with %u test case%s; its program:\n", file.size, n,
                          n == 1 ? "" : "s");
        nuc_put_count(in->cx, tree, "test_cases", n);
    }
    nuc_inspect_program(in, program, tree);
    if (form == NUC_INSPECT_JSON)
        nuc_text_addf(out, "%s", nuc_json_text(in->cx, tree));
    else
        nuc_print_program(out, tree);
}

const char *nuc_inspect(struct nuc_context *cx, struct nuc_stored input, enum nuc_inspect_form form, bool disassemble)
{
    const struct nuc_inspection in = {cx, input.path, disassemble, form == NUC_INSPECT_TEXT};
    struct nuc_text out = {.cx = cx};

    nuc_expect_stored(cx, input, NUC_FILE_DESCRIBED);
    struct nuc_span head = nuc_read_head(cx, input, 8);
    if (nuc_is_zip(head))
        inspect_archive(&in, &out, form, input);
    else if (head.size >= 8 && memcmp(head.data + 4, "TFL3", 4) == 0)
        inspect_litert(&in, &out, form, nuc_read_stored(cx, input));
    else
        inspect_program(&in, &out, form, nuc_read_stored(cx, input));
    return nuc_text_string(&out);
}
