/*
 * Check on models of the vendor's converter: every NeutronGraph is read, taken out as a model of its own, and becomes a
 * payload that holds the same bytes and whose header agrees with the tensors of the container.
 */
#include <stdio.h>
#include <string.h>

#include "conformance.h"
#include "host/file.h"
#include "litert/litert.h"
#include "npu/container/container.h"
#include "npu/container/payload.h"

struct converted_call {
    const char *path;
    struct conf_report *r;
    bool equal;
};

/* The NeutronGraph alone, its data as inputs and outputs of the model. */
static struct nuc_lt_model *single(struct nuc_context *cx, const struct nuc_lt_model *m,
                                   const struct nuc_neutron_graph *n)
{
    struct nuc_lt_model *alone = nuc_alloc(cx, sizeof *alone);
    struct nuc_lt_subgraph *s = nuc_copy(cx, m->subgraphs, sizeof *s);

    s->ops = &m->subgraphs[0].ops[n->op];
    s->n_ops = 1;
    s->inputs = nuc_copy(cx, n->inputs, n->n_inputs * sizeof *n->inputs);
    s->outputs = nuc_copy(cx, n->outputs, n->n_outputs * sizeof *n->outputs);
    s->n_inputs = n->n_inputs;
    s->n_outputs = n->n_outputs;
    *alone = *m;
    alone->subgraphs = s;
    return nuc_lt_read(cx, m->file, nuc_lt_write(alone));
}

static bool same_block(struct nuc_span a, struct nuc_span b)
{
    return a.size >= b.size && a.size - b.size < 16 && memcmp(a.data, b.data, b.size) == 0;
}

static bool check_graph_node(struct nuc_context *cx, const struct nuc_lt_model *m, const struct nuc_neutron_graph *n,
                             struct conf_report *r)
{
    const struct nuc_lt_op *op = &m->subgraphs[0].ops[n->op];
    const struct nuc_lt_tensor *scratch = &m->subgraphs[0].tensors[op->outputs[op->n_outputs - 1]];
    struct nuc_lt_model *alone = single(cx, m, n);
    struct nuc_neutron_graph taken = nuc_neutron_graph_single(cx, alone);
    uint8_t inputs[256], outputs[256];
    struct nuc_payload_io *io = nuc_alloc_array(cx, 512, sizeof *io);

    nuc_neutron_graph_map(cx, alone, &taken, inputs, outputs);
    for (uint32_t i = 0; i < taken.n_inputs; i++)
        io[i].map = inputs[i];
    for (uint32_t i = 0; i < taken.n_outputs; i++)
        io[256 + i].map = outputs[i];
    const struct nuc_payload payload = {.n_inputs = (uint8_t)taken.n_inputs,
                                        .n_outputs = (uint8_t)taken.n_outputs,
                                        .n_args = (uint8_t)taken.n_inputs,
                                        .version = taken.form,
                                        .inputs = io,
                                        .outputs = io + 256,
                                        .microcode = taken.microcode,
                                        .weights = taken.weights,
                                        .kernels = taken.kernels};
    struct nuc_payload parsed = nuc_payload_parse(cx, "payload", nuc_payload_compose(cx, &payload));
    if (!same_block(parsed.microcode, n->microcode) || !same_block(parsed.weights, n->weights) ||
        !same_block(parsed.kernels, n->kernels))
        return conf_differ(r, "the payload's blocks are not those of the container") == CONF_EQUAL;
    if (nuc_payload_sizes_of(&parsed).scratch != (uint32_t)scratch->shape[0])
        return conf_differ(r, "scratch is %u in the header, %d in the container", nuc_payload_sizes_of(&parsed).scratch,
                           scratch->shape[0]) == CONF_EQUAL;
    return n->name[0] != '\0' || conf_differ(r, "the custom options name no subgraph") == CONF_EQUAL;
}

static void check_file(struct nuc_context *cx, void *arg)
{
    struct converted_call *call = arg;
    const struct nuc_lt_model *m = nuc_lt_read(cx, call->path, nuc_read_file(cx, call->path));
    uint32_t found = 0;

    call->equal = true;
    for (uint32_t i = 0; i < m->subgraphs[0].n_ops && call->equal; i++) {
        if (!nuc_is_neutron_graph(&m->subgraphs[0].ops[i]))
            continue;
        struct nuc_neutron_graph n = nuc_neutron_graph_read(cx, m, i);
        call->equal = check_graph_node(cx, m, &n, call->r);
        found++;
    }
    if (found == 0)
        call->equal = conf_differ(call->r, "holds no NeutronGraph") == CONF_EQUAL;
}

enum conf_result check_converted(struct nuc_compiler *none, const struct conf_case *c, struct conf_report *r)
{
    struct converted_call call = {.r = r};
    size_t length = strlen(c->folder);
    char path[4096];

    (void)none;
    if (length < 10 || strcmp(c->folder + length - 10, "/converted") != 0 || !conf_path(c, "tflite", path, sizeof path))
        return CONF_ABSENT;
    struct nuc_context *cx = nuc_context_new(NULL);
    call.path = path;
    if (cx == NULL || nuc_try(cx, check_file, &call) != NUC_OK) {
        conf_differ(r, "%s", cx == NULL ? "out of memory" : cx->message);
        call.equal = false;
    }
    nuc_context_free(cx);
    return call.equal ? CONF_EQUAL : CONF_DIFFERENT;
}
