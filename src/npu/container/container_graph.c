/* The one operator that a container is about. */
#include <string.h>

#include "litert/flexbuffer.h"
#include "npu/container/container.h"

static int32_t add_bytes(struct nuc_lt_model *m, const char *name, struct nuc_span data, size_t size)
{
    struct nuc_lt_tensor t = {.name = name, .dtype = NUC_U8, .rank = 1, .shape = {(int32_t)size}, .data = data};

    if (size > INT32_MAX)
        nuc_fail(m->cx, NUC_UNSUPPORTED, "%s: %s has more than 2 GiB", m->file, name);
    return nuc_lt_add_tensor(m, &t);
}

static int32_t *with_room(struct nuc_context *cx, const int32_t *tensors, uint32_t count, uint32_t more)
{
    int32_t *list = nuc_alloc_array(cx, (size_t)count + more, sizeof *list);

    if (count > 0)
        memcpy(list, tensors, count * sizeof *list);
    return list;
}

void nuc_container_add_graph(struct nuc_lt_model *out, const char *name, const struct nuc_neutron_parts *parts,
                             const struct nuc_lt_subgraph *s)
{
    const struct nuc_span none = {NULL, 0};
    uint32_t n_ins = s->n_inputs, n_outs = s->n_outputs;
    int32_t *ins = with_room(out->cx, s->inputs, n_ins, 3), *outs = with_room(out->cx, s->outputs, n_outs, 3);

    int32_t scratch = add_bytes(out, "NeutronScratch", none, parts->scratch);
    if (parts->form == 1) {
        outs[n_outs++] = add_bytes(out, "NeutronProfile", none, parts->profile);
        outs[n_outs++] = add_bytes(out, "NeutronDebug", none, parts->debug);
    }
    outs[n_outs++] = scratch;
    ins[n_ins++] = add_bytes(out, "NeutronMicrocode", parts->microcode, parts->microcode.size);
    ins[n_ins++] = add_bytes(out, "NeutronWeights", parts->weights, parts->weights.size);
    ins[n_ins++] = add_bytes(out, "NeutronKernels", parts->kernels, parts->kernels.size);
    struct nuc_lt_op *op = nuc_lt_add_op(out, NUC_LT_CUSTOM, ins, n_ins, outs, n_outs);
    op->custom_code = "NeutronGraph";
    op->options.custom.options = nuc_flex_write(out->cx, "subgraph", name);
}
