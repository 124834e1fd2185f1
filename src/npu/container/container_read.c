/* NeutronGraph operators of untrusted models. */
#include <string.h>

#include "device/base/microcode_header.h"
#include "host/text.h"
#include "litert/flexbuffer.h"
#include "npu/container/container.h"

#define N_CONSTANTS 3 /* microcode, weights, kernels */
#define MIN_WORDS 15  /* a header whose words are all there in both forms */
#define ALIGNMENT ((size_t)NUC_MC_ALIGNMENT)

bool nuc_is_neutron_graph(const struct nuc_lt_op *op)
{
    return op->code == NUC_LT_CUSTOM && op->custom_code != NULL && strcmp(op->custom_code, "NeutronGraph") == 0;
}

_Noreturn static void bad(struct nuc_context *cx, const struct nuc_lt_model *m, uint32_t op, const char *what)
{
    nuc_fail(cx, NUC_BAD_INPUT, "%s: operator %u (NeutronGraph): %s", m->file, op, what);
}

static struct nuc_span block(struct nuc_context *cx, const struct nuc_lt_model *m, uint32_t op, int32_t tensor,
                             const char *what)
{
    const struct nuc_lt_subgraph *s = &m->subgraphs[0];

    if (tensor < 0 || s->tensors[tensor].dtype != NUC_U8 || s->tensors[tensor].data.data == NULL)
        bad(cx, m, op, nuc_format(cx, "its %s are not a constant of uint8", what));
    return s->tensors[tensor].data;
}

/* The form is that in which header and operator have the same numbers of inputs and outputs. */
static void find_form(struct nuc_context *cx, const struct nuc_lt_model *m, struct nuc_neutron_graph *n)
{
    const struct nuc_lt_op *op = &m->subgraphs[0].ops[n->op];

    n->n_inputs = op->n_inputs - N_CONSTANTS;
    for (n->form = 0; n->form <= 1; n->form++) {
        uint32_t extra = n->form == 0 ? 1 : 3;
        struct nuc_span mc = n->microcode;
        const struct nuc_mc_buffers b = nuc_mc_buffers_of(mc.data, n->form);
        n->header = (struct nuc_container_header){
            .version = nuc_mc_word(mc, NUC_MC_WORD_VERSION),
            .microcode = nuc_mc_word(mc, NUC_MC_WORD_SIZE),
            .weights = nuc_mc_word(mc, NUC_MC_WORD_WEIGHTS),
            .kernels = nuc_mc_word(mc, NUC_MC_WORD_KERNELS),
            .scratch = nuc_mc_word(mc, NUC_MC_WORD_SCRATCH),
            .profile = b.profile,
            .debug = b.debug,
            .prefetch = b.prefetch,
            .n_inputs = b.n_inputs,
            .n_outputs = b.n_outputs,
        };
        n->n_outputs = op->n_outputs > extra ? op->n_outputs - extra : 0;
        if (n->n_outputs > 0 && n->header.n_inputs == n->n_inputs && n->header.n_outputs == n->n_outputs)
            return;
    }
    bad(cx, m, n->op,
        nuc_format(
            cx,
            "its header fits no known version: %u inputs and %u outputs (%u and %u as version 0) for an operator "
            "with %u and %u",
            nuc_mc_word(n->microcode, NUC_MC_WORD_INPUTS), nuc_mc_word(n->microcode, NUC_MC_WORD_OUTPUTS),
            nuc_mc_word(n->microcode, NUC_MC_WORD_INPUTS_0), nuc_mc_word(n->microcode, NUC_MC_WORD_OUTPUTS_0),
            op->n_inputs, op->n_outputs));
}

static void check_indices(struct nuc_context *cx, const struct nuc_lt_model *m, uint32_t op, const int32_t *list,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] < 0)
            bad(cx, m, op, "an input or output is left out");
    }
}

struct nuc_neutron_graph nuc_neutron_graph_read(struct nuc_context *cx, const struct nuc_lt_model *m, uint32_t index)
{
    const struct nuc_lt_op *op = &m->subgraphs[0].ops[index];
    struct nuc_neutron_graph n = {.op = index, .inputs = op->inputs, .outputs = op->outputs};

    if (op->n_inputs < N_CONSTANTS)
        bad(cx, m, index,
            nuc_format(cx, "has %u inputs, microcode, weights and kernels are the last three", op->n_inputs));
    const int32_t *constants = op->inputs + op->n_inputs - N_CONSTANTS;
    n.microcode = block(cx, m, index, constants[0], "microcode bytes");
    n.weights = block(cx, m, index, constants[1], "weights");
    n.kernels = block(cx, m, index, constants[2], "kernels");
    if (n.microcode.size < MIN_WORDS * 4 || nuc_mc_word(n.microcode, NUC_MC_WORD_MAGIC) != NUC_MC_MAGIC)
        bad(cx, m, index, "its first constant is not Neutron microcode: the magic number is missing");
    find_form(cx, m, &n);
    check_indices(cx, m, index, op->inputs, op->n_inputs);
    check_indices(cx, m, index, op->outputs, op->n_outputs);
    /* The runtime finds the blocks by the header's sizes, each padded to 16 bytes. */
    const struct nuc_container_header *h = &n.header;
    bool fits = h->microcode <= n.microcode.size && h->weights <= n.weights.size && h->kernels <= n.kernels.size &&
                nuc_align_up(h->microcode, ALIGNMENT) == nuc_align_up(n.microcode.size, ALIGNMENT) &&
                nuc_align_up(h->weights, ALIGNMENT) == nuc_align_up(n.weights.size, ALIGNMENT);
    if (!fits)
        bad(cx, m, n.op,
            nuc_format(cx,
                       "its header states %u, %u and %u bytes, microcode, weights and kernels have %zu, %zu and %zu",
                       h->microcode, h->weights, h->kernels, n.microcode.size, n.weights.size, n.kernels.size));
    const char *name = nuc_flex_read(cx, op->options.custom.options, "subgraph");
    n.name = name == NULL ? "" : name;
    n.is_ours = n.form == 1 && nuc_is_microcode(n.microcode);
    return n;
}

struct nuc_neutron_graph nuc_neutron_graph_single(struct nuc_context *cx, const struct nuc_lt_model *m)
{
    const struct nuc_lt_subgraph *s = &m->subgraphs[0];
    struct nuc_text names = {.cx = cx};

    if (m->n_subgraphs != 1)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: converted to %u subgraphs instead of 1", m->file, m->n_subgraphs);
    for (uint32_t i = 0; i < s->n_ops && i < 8; i++)
        nuc_text_addf(&names, "%s%s", i == 0 ? ": " : ", ",
                      nuc_is_neutron_graph(&s->ops[i]) ? "NeutronGraph" : nuc_lt_code_name(cx, s->ops[i].code));
    if (s->n_ops != 1)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the converted model has %u operators instead of 1%s", m->file, s->n_ops,
                 nuc_text_string(&names));
    if (!nuc_is_neutron_graph(&s->ops[0]))
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the converted model has 0 NeutronGraph operators instead of 1%s", m->file,
                 nuc_text_string(&names));
    struct nuc_neutron_graph n = nuc_neutron_graph_read(cx, m, 0);
    /* The reference tells the forms apart by the outputs of the model. */
    if (s->n_outputs != n.n_outputs)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the NeutronGraph has %u outputs, the model %u", m->file, n.n_outputs,
                 s->n_outputs);
    return n;
}

static uint8_t find_once(struct nuc_context *cx, const struct nuc_lt_model *m, int32_t tensor, const int32_t *list,
                         uint32_t count, const char *what)
{
    uint32_t found = 0, at = 0;

    for (uint32_t i = 0; i < count; i++) {
        found += list[i] == tensor;
        at = list[i] == tensor ? i : at;
    }
    if (found != 1 || at > UINT8_MAX)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: tensor '%s' of the NeutronGraph is %u times an %s of the model, not once",
                 m->file, m->subgraphs[0].tensors[tensor].name, found, what);
    return (uint8_t)at;
}

void nuc_neutron_graph_map(struct nuc_context *cx, const struct nuc_lt_model *m, const struct nuc_neutron_graph *n,
                           uint8_t *inputs, uint8_t *outputs)
{
    const struct nuc_lt_subgraph *s = &m->subgraphs[0];

    for (uint32_t i = 0; i < n->n_inputs; i++)
        inputs[i] = find_once(cx, m, n->inputs[i], s->inputs, s->n_inputs, "input");
    for (uint32_t i = 0; i < n->n_outputs; i++)
        outputs[i] = find_once(cx, m, n->outputs[i], s->outputs, s->n_outputs, "output");
}

struct nuc_span nuc_neutron_graph_restore_handles(struct nuc_context *cx, const struct nuc_neutron_graph *n,
                                                  const struct nuc_lt_model *m)
{
    if (!n->is_ours)
        return n->microcode;
    uint8_t *copy = nuc_copy(cx, n->microcode.data, n->microcode.size);
    size_t at = nuc_mc_word(n->microcode, NUC_MC_WORD_CALLS_OFFSET), size = n->microcode.size;
    uint32_t n_calls = nuc_mc_word(n->microcode, NUC_MC_WORD_CALLS);

    for (uint32_t i = 0; i < n_calls && at <= size && size - at >= sizeof(struct nuc_mc_call); i++) {
        uint32_t words = nuc_load_u32(copy + at + 4), op = nuc_load_u32(copy + at + 8);
        if (words < sizeof(struct nuc_mc_call) / 4 || words > (size - at) / 4)
            break;
        if (op < m->subgraphs[0].n_ops)
            nuc_store_u32(copy + at + 12, m->subgraphs[0].ops[op].debug_handle);
        at += (size_t)words * 4;
    }
    return (struct nuc_span){copy, size};
}
