/* NeutronGraph operators of a LiteRT model: what they hold, and their microcode. */
#include <string.h>

#include "compiler/import/json_build.h"
#include "compiler/neutron/container/container.h"
#include "compiler/neutron/container/disassemble.h"
#include "compiler/report/inspect_forms.h"

const char *nuc_inspect_maker(struct nuc_context *cx, struct nuc_span microcode)
{
    if (nuc_is_microcode(microcode))
        return "nucleon: runs on its simulator";
    uint32_t version = microcode.size >= 8 ? nuc_load_u32(microcode.data + 4) : 0;

    return nuc_format(cx, "another one than nucleon's: opaque, runs on firmware of microcode version 0x%08x", version);
}

struct reading {
    const struct nuc_lt_model *m;
    uint32_t op;
    struct nuc_neutron_graph graph;
};

static void read_graph(struct nuc_context *cx, void *arg)
{
    struct reading *r = arg;

    r->graph = nuc_neutron_graph_read(cx, r->m, r->op);
}

/* A damaged one is described by what is wrong with it. */
static bool try_read(struct nuc_context *cx, struct reading *r)
{
    enum nuc_status s = nuc_try(cx, read_graph, r);

    if (s == NUC_NO_MEMORY)
        nuc_fail_again(cx, s);
    return s == NUC_OK;
}

static void print_graph(struct nuc_text *out, const struct nuc_lt_model *m, const struct nuc_neutron_graph *n,
                        bool disassemble)
{
    const struct nuc_container_header *h = &n->header;
    const struct nuc_lt_subgraph *s = &m->subgraphs[0];

    nuc_text_addf(out, "NeutronGraph '%s', operator %u, container version %u\n", n->name, n->op, n->form);
    nuc_text_addf(out, "  converter %s\n", nuc_inspect_maker(out->cx, n->microcode));
    nuc_text_addf(out, "  microcode %zu, weights %zu, kernels %zu bytes\n", n->microcode.size, n->weights.size,
                  n->kernels.size);
    nuc_text_addf(out, "  header: version 0x%08x, microcode %u, weights %u, kernels %u, scratch %u, profile %u, ",
                  h->version, h->microcode, h->weights, h->kernels, h->scratch, h->profile);
    nuc_text_addf(out, "debug %u, prefetch %u bytes, %u inputs, %u outputs\n", h->debug, h->prefetch, h->n_inputs,
                  h->n_outputs);
    for (uint32_t i = 0; i < n->n_inputs; i++)
        nuc_text_addf(out, "  input %u: %%%d '%s'\n", i, (int)n->inputs[i], s->tensors[n->inputs[i]].name);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        nuc_text_addf(out, "  output %u: %%%d '%s'\n", i, (int)n->outputs[i], s->tensors[n->outputs[i]].name);
    if (disassemble)
        nuc_disassemble(out, n->microcode);
}

void nuc_inspect_neutron_graphs(struct nuc_text *out, const struct nuc_lt_model *m, bool disassemble)
{
    for (uint32_t i = 0; i < m->subgraphs[0].n_ops; i++) {
        struct reading r = {.m = m, .op = i};
        if (!nuc_is_neutron_graph(&m->subgraphs[0].ops[i]))
            continue;
        if (try_read(out->cx, &r))
            print_graph(out, m, &r.graph, disassemble);
        else
            nuc_text_addf(out, "NeutronGraph, operator %u: damaged: %s\n", i, out->cx->message);
    }
}

static void put_graph(struct nuc_context *cx, json_t *out, const struct nuc_neutron_graph *n, bool disassemble)
{
    const struct nuc_container_header *h = &n->header;
    struct nuc_text text;

    nuc_put_bytes_text(cx, out, "name", n->name, strlen(n->name));
    nuc_put_int(cx, out, "container_version", n->form);
    nuc_put_string(cx, out, "converter", n->is_ours ? "nucleon" : "other");
    nuc_put_int(cx, out, "microcode_version", h->version);
    nuc_put_int(cx, out, "microcode_bytes", h->microcode);
    nuc_put_int(cx, out, "weights_bytes", h->weights);
    nuc_put_int(cx, out, "kernels_bytes", h->kernels);
    nuc_put_int(cx, out, "scratch_bytes", h->scratch);
    nuc_put_int(cx, out, "profile_bytes", h->profile);
    nuc_put_int(cx, out, "debug_bytes", h->debug);
    nuc_put_int(cx, out, "prefetch_bytes", h->prefetch);
    nuc_put_int(cx, out, "inputs", h->n_inputs);
    nuc_put_int(cx, out, "outputs", h->n_outputs);
    if (!disassemble)
        return;
    nuc_text_init(&text, cx);
    nuc_disassemble(&text, n->microcode);
    nuc_put_string(cx, out, "disassembly", nuc_text_string(&text));
}

void nuc_inspect_neutron_graphs_json(struct nuc_context *cx, const struct nuc_lt_model *m, bool disassemble,
                                     json_t *out)
{
    json_t *list = NULL;

    for (uint32_t i = 0; i < m->subgraphs[0].n_ops; i++) {
        struct reading r = {.m = m, .op = i};
        if (!nuc_is_neutron_graph(&m->subgraphs[0].ops[i]))
            continue;
        if (list == NULL)
            list = nuc_put_array(cx, out, "neutron_graphs");
        json_t *graph = nuc_put_object(cx, list, NULL);
        nuc_put_int(cx, graph, "operator", i);
        if (try_read(cx, &r))
            put_graph(cx, graph, &r.graph, disassemble);
        else
            nuc_put_bytes_text(cx, graph, "damaged", cx->message, strlen(cx->message));
    }
}
