/* NPU programs, in the payloads of delegates and in the NeutronGraph operators of LiteRT models. */
#include <string.h>

#include "archive/json_build.h"
#include "inspect/inspect_forms.h"
#include "npu/container/container.h"
#include "npu/container/disassemble.h"
#include "npu/container/payload.h"

struct reading {
    const struct nuc_lt_model *m;
    uint32_t op;
    struct nuc_neutron_graph graph;
};

/* ---- trees ---- */

static void put_disassembly(const struct nuc_inspection *in, json_t *out, struct nuc_span microcode)
{
    struct nuc_text text = {.cx = in->cx};

    if (!in->disassemble)
        return;
    nuc_disassemble(&text, microcode);
    nuc_put_string(in->cx, out, "disassembly", nuc_text_string(&text));
}

static void put_buffers(struct nuc_context *cx, json_t *out, uint32_t scratch, uint32_t profile, uint32_t debug,
                        uint32_t prefetch)
{
    nuc_put_int(cx, out, "scratch_bytes", scratch);
    nuc_put_int(cx, out, "profile_bytes", profile);
    nuc_put_int(cx, out, "debug_bytes", debug);
    nuc_put_int(cx, out, "prefetch_bytes", prefetch);
}

static void put_boundary(struct nuc_context *cx, json_t *list, const struct nuc_payload_io *io, uint8_t count)
{
    for (uint8_t i = 0; i < count; i++) {
        json_t *item = nuc_put_object(cx, list, NULL);
        nuc_put_int(cx, item, "argument", io[i].map);
        nuc_put_bool(cx, item, "channels_last", io[i].format == 1);
    }
}

void nuc_inspect_payload(const struct nuc_inspection *in, struct nuc_span bytes, json_t *out)
{
    struct nuc_context *cx = in->cx;
    struct nuc_payload p = nuc_payload_parse(cx, in->file, bytes);
    struct nuc_payload_sizes sizes = nuc_payload_sizes_of(&p);

    nuc_put_int(cx, out, "version", p.version);
    nuc_put_string(cx, out, "converter", nuc_is_microcode(p.microcode) ? "nucleon" : "other");
    nuc_put_int(cx, out, "microcode_bytes", (int64_t)p.microcode.size);
    nuc_put_int(cx, out, "weights_bytes", (int64_t)p.weights.size);
    nuc_put_int(cx, out, "kernels_bytes", (int64_t)p.kernels.size);
    put_buffers(cx, out, sizes.scratch, sizes.profile, sizes.debug, sizes.prefetch);
    put_boundary(cx, nuc_put_array(cx, out, "inputs"), p.inputs, p.n_inputs);
    put_boundary(cx, nuc_put_array(cx, out, "outputs"), p.outputs, p.n_outputs);
    put_disassembly(in, out, p.microcode);
    if (in->for_text)
        nuc_put_int(cx, out, "microcode_version", p.microcode.size >= 8 ? nuc_load_u32(p.microcode.data + 4) : 0);
}

static void put_tensors(struct nuc_context *cx, json_t *list, const char *what, const struct nuc_lt_subgraph *s,
                        const int32_t *tensors, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        json_t *item = nuc_put_object(cx, list, NULL);
        nuc_put_string(cx, item, "what", what);
        nuc_put_int(cx, item, "number", i);
        nuc_put_int(cx, item, "tensor", tensors[i]);
        nuc_put_bytes_text(cx, item, "name", s->tensors[tensors[i]].name);
    }
}

static void put_graph(const struct nuc_inspection *in, json_t *out, const struct reading *r)
{
    const struct nuc_neutron_graph *n = &r->graph;
    const struct nuc_container_header *h = &n->header;
    struct nuc_context *cx = in->cx;

    nuc_put_bytes_text(cx, out, "name", n->name);
    nuc_put_int(cx, out, "container_version", n->form);
    nuc_put_string(cx, out, "converter", n->is_ours ? "nucleon" : "other");
    nuc_put_int(cx, out, "microcode_version", h->version);
    nuc_put_int(cx, out, "microcode_bytes", h->microcode);
    nuc_put_int(cx, out, "weights_bytes", h->weights);
    nuc_put_int(cx, out, "kernels_bytes", h->kernels);
    put_buffers(cx, out, h->scratch, h->profile, h->debug, h->prefetch);
    nuc_put_int(cx, out, "inputs", h->n_inputs);
    nuc_put_int(cx, out, "outputs", h->n_outputs);
    put_disassembly(in, out, n->microcode);
    if (!in->for_text)
        return;
    /* The header's sizes may leave out padding that the constants have. */
    nuc_put_int(cx, out, "microcode", (int64_t)n->microcode.size);
    nuc_put_int(cx, out, "weights", (int64_t)n->weights.size);
    nuc_put_int(cx, out, "kernels", (int64_t)n->kernels.size);
    json_t *tensors = nuc_put_array(cx, out, "tensors");
    put_tensors(cx, tensors, "input", &r->m->subgraphs[0], n->inputs, n->n_inputs);
    put_tensors(cx, tensors, "output", &r->m->subgraphs[0], n->outputs, n->n_outputs);
}

static void read_graph(struct nuc_context *cx, void *arg)
{
    struct reading *r = arg;

    r->graph = nuc_neutron_graph_read(cx, r->m, r->op);
}

void nuc_inspect_neutron_graphs(const struct nuc_inspection *in, const struct nuc_lt_model *m, json_t *out)
{
    json_t *list = NULL;

    for (uint32_t i = 0; i < m->subgraphs[0].n_ops; i++) {
        struct reading r = {.m = m, .op = i};
        if (!nuc_is_neutron_graph(&m->subgraphs[0].ops[i]))
            continue;
        if (list == NULL)
            list = nuc_put_array(in->cx, out, "neutron_graphs");
        json_t *graph = nuc_put_object(in->cx, list, NULL);
        nuc_put_int(in->cx, graph, "operator", i);
        if (nuc_attempt(in->cx, read_graph, &r) == NUC_OK)
            put_graph(in, graph, &r);
        else /* described by what is wrong with it */
            nuc_put_bytes_text(in->cx, graph, "damaged", in->cx->message);
    }
}

/* ---- text ---- */

/* Which converter made the microcode, and where it therefore runs. */
static void print_converter(struct nuc_text *out, const json_t *object, const char *before)
{
    bool ours = strcmp(json_string_value(json_object_get(object, "converter")), "nucleon") == 0;

    nuc_print_members(out, object, before);
    nuc_print_members(out, object,
                      ours ? "nucleon: runs on its simulator\n"
                           : "another one than nucleon's: opaque, runs on firmware of microcode version "
                             "{microcode_version:x}\n");
}

static void print_disassembly(struct nuc_text *out, const json_t *object)
{
    if (json_object_get(object, "disassembly") != NULL)
        nuc_text_addf(out, "%s", json_string_value(json_object_get(object, "disassembly"))); /* several lines */
}

static void print_boundary(struct nuc_text *out, const json_t *list, const char *what)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        nuc_text_addf(out, "      %s %zu: ", what, i);
        nuc_print_members(out, item, "argument {argument}, ");
        nuc_text_addf(out, json_is_true(json_object_get(item, "channels_last")) ? "channels-last\n" : "as it is\n");
    }
}

void nuc_print_payload(struct nuc_text *out, const json_t *payload)
{
    print_converter(out, payload,
                    "    Neutron payload version {version}: microcode {microcode_bytes}, weights {weights_bytes}, "
                    "kernels {kernels_bytes} bytes\n"
                    "      scratch {scratch_bytes}, profile {profile_bytes}, debug {debug_bytes}, prefetch "
                    "{prefetch_bytes} bytes\n"
                    "      converter ");
    print_boundary(out, json_object_get(payload, "inputs"), "input");
    print_boundary(out, json_object_get(payload, "outputs"), "output");
    print_disassembly(out, payload);
}

void nuc_print_neutron_graphs(struct nuc_text *out, const json_t *tree)
{
    const json_t *graphs = json_object_get(tree, "neutron_graphs");

    for (size_t i = 0; i < json_array_size(graphs); i++) {
        const json_t *graph = json_array_get(graphs, i);
        if (json_object_get(graph, "damaged") != NULL)
            nuc_print_members(out, graph, "NeutronGraph, operator {operator}: damaged: {damaged}\n");
        else {
            const json_t *tensors = json_object_get(graph, "tensors");
            print_converter(
                out, graph,
                "NeutronGraph '{name}', operator {operator}, container version {container_version}\n  converter ");
            nuc_print_members(
                out, graph,
                "  microcode {microcode}, weights {weights}, kernels {kernels} bytes\n"
                "  header: version {microcode_version:x}, microcode {microcode_bytes}, weights {weights_bytes}, "
                "kernels {kernels_bytes}, scratch {scratch_bytes}, profile {profile_bytes}, debug {debug_bytes}, "
                "prefetch {prefetch_bytes} bytes, {inputs} inputs, {outputs} outputs\n");
            for (size_t k = 0; k < json_array_size(tensors); k++)
                nuc_print_members(out, json_array_get(tensors, k), "  {what} {number}: %{tensor} '{name}'\n");
            print_disassembly(out, graph);
        }
    }
}
