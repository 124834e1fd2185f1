/*
 * NeutronGraph containers: whatever a converter writes is refused or gives a graph whose blocks lie in the file, and a
 * payload that is read back as it was. What the builder makes of a model is read by the reader.
 */
#include <string.h>

#include "fuzz_support.h"
#include "npu/container/container.h"
#include "npu/container/disassemble.h"
#include "npu/container/payload.h"

#define MEMORY ((size_t)256 << 20)

struct model_call {
    struct nuc_lt_model *m;
    uint32_t op;
};

/* What fails of the first of these calls is the verdict. */
static char why[NUC_MESSAGE_SIZE];

static void try(struct nuc_context *cx, void (*fn)(struct nuc_context *, void *), struct model_call *call)
{
    enum nuc_status status = nuc_try(cx, fn, call);

    if (status == NUC_INTERNAL)
        fuzz_broken(cx->message);
    if (status != NUC_OK && why[0] == '\0')
        memcpy(why, cx->message, sizeof why);
}

static void compose(struct nuc_context *cx, const struct nuc_neutron_graph *n, uint32_t n_args, const uint8_t *inputs,
                    const uint8_t *outputs)
{
    struct nuc_payload_io *io = nuc_alloc_array(cx, 512, sizeof *io);

    for (uint32_t i = 0; i < n->n_inputs; i++)
        io[i].map = inputs[i];
    for (uint32_t i = 0; i < n->n_outputs; i++)
        io[256 + i].map = outputs[i];
    const struct nuc_payload payload = {.n_inputs = (uint8_t)n->n_inputs,
                                        .n_outputs = (uint8_t)n->n_outputs,
                                        .n_args = (uint8_t)n_args,
                                        .version = n->form,
                                        .inputs = io,
                                        .outputs = io + 256,
                                        .microcode = n->microcode,
                                        .weights = n->weights,
                                        .kernels = n->kernels};
    struct nuc_payload parsed = nuc_payload_parse(cx, "payload", nuc_payload_compose(cx, &payload));
    if (parsed.microcode.size != n->header.microcode || parsed.weights.size != n->header.weights ||
        memcmp(parsed.microcode.data, n->microcode.data, parsed.microcode.size) != 0)
        fuzz_broken("a payload holds other bytes than its container");
}

static void take_apart(struct nuc_context *cx, void *arg)
{
    struct model_call *call = arg;
    struct nuc_neutron_graph n = nuc_neutron_graph_read(cx, call->m, call->op);
    uint8_t inputs[256], outputs[256];
    struct nuc_text text = {.cx = cx};

    nuc_disassemble(&text, n.microcode);
    n = nuc_neutron_graph_single(cx, call->m);
    if (call->m->subgraphs[0].n_inputs > 255 || n.n_inputs > 255 || n.n_outputs > 255)
        return;
    nuc_neutron_graph_map(cx, call->m, &n, inputs, outputs);
    nuc_neutron_graph_restore_handles(cx, &n, call->m);
    compose(cx, &n, call->m->subgraphs[0].n_inputs, inputs, outputs);
}

static void build(struct nuc_context *cx, void *arg)
{
    const struct model_call *call = arg;
    struct nuc_lt_model *m = nuc_container_build(cx, call->m, NULL, NULL);
    const struct nuc_lt_subgraph *s = &m->subgraphs[0];

    for (uint32_t i = 0; i < s->n_ops; i++) {
        struct model_call made = {m, i};
        if (nuc_is_neutron_graph(&s->ops[i]))
            try(cx, take_apart, &made);
    }
    nuc_lt_write(m);
}

static void read_model(struct nuc_context *cx, void *arg)
{
    const struct nuc_span *bytes = arg;
    struct model_call call = {nuc_lt_read(cx, "input", *bytes), 0};

    for (; call.op < call.m->subgraphs[0].n_ops; call.op++) {
        if (nuc_is_neutron_graph(&call.m->subgraphs[0].ops[call.op]))
            try(cx, take_apart, &call);
    }
    try(cx, build, &call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    why[0] = '\0';
    fuzz_bytes(data, size, MEMORY, read_model);
    if (why[0] != '\0')
        fuzz_verdict(why);
    return 0;
}
