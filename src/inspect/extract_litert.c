#include "inspect/inspect.h"

#include "host/text.h"
#include "npu/container/container.h"
#include "npu/container/payload.h"

struct extraction {
    struct nuc_context *cx;
    const struct nuc_program_view *view;
    const struct nuc_view_method *method;
    uint32_t instruction; /* of the call */
};

static _Noreturn void refuse(const struct extraction *e, const char *what)
{
    nuc_fail(e->cx, NUC_BAD_INPUT, "%s: instruction %u, a delegate call: %s: make the program again", e->view->file,
             e->instruction, what);
}

static const struct nuc_view_tensor *argument(const struct extraction *e, struct nuc_view_list args, uint32_t i)
{
    if (i >= args.count)
        refuse(e, "it has fewer arguments than its payload takes");
    const struct nuc_view_value *value = &e->method->values[nuc_view_int(args, i)];
    if (value->kind != NUC_VALUE_TENSOR)
        refuse(e, nuc_format(e->cx, "argument %u is not a tensor", i));
    if (value->u.tensor.dtype == NUC_DTYPE_COUNT || value->u.tensor.sizes.count > NUC_MAX_RANK)
        refuse(e, nuc_format(e->cx, "argument %u is a tensor of no type or rank that LiteRT has", i));
    return &value->u.tensor;
}

/* Sizes in the order in which the NPU has the axes: `channels_last` also for a tensor that lies contiguously. */
static int32_t add_tensor(const struct extraction *e, struct nuc_lt_model *m, const char *name,
                          const struct nuc_view_tensor *t, bool channels_last)
{
    uint32_t rank = t->sizes.count;
    struct nuc_lt_tensor out = {.name = name, .dtype = t->dtype, .rank = rank};

    for (uint32_t i = 0; i < rank; i++) {
        uint32_t axis = i < t->dim_order.count ? (uint32_t)nuc_view_int(t->dim_order, i) : i;
        if (channels_last)
            axis = i == 0 ? 0 : i + 1 == rank ? 1 : i + 1;
        if (axis >= rank)
            refuse(e, "the dim order of an argument is none");
        out.shape[i] = (int32_t)nuc_view_int(t->sizes, axis);
    }
    return nuc_lt_add_tensor(m, &out);
}

/* The tensors that the NPU is given, or gives, in its order: `first` is that of the call's arguments. */
static int32_t *add_boundary(const struct extraction *e, struct nuc_lt_model *m, struct nuc_view_list args,
                             const struct nuc_payload_io *io, uint32_t count, uint32_t first, const char *what)
{
    int32_t *tensors = nuc_alloc_array(e->cx, count, sizeof *tensors);

    for (uint32_t i = 0; i < count; i++)
        tensors[i] = add_tensor(e, m, nuc_format(e->cx, "%s%u", what, i), argument(e, args, first + io[i].map),
                                io[i].format == 1);
    return tensors;
}

static struct nuc_span model_of(const struct extraction *e, struct nuc_view_list args, const struct nuc_payload *p)
{
    struct nuc_lt_model *m = nuc_lt_model_new(e->cx, e->view->file);
    struct nuc_lt_subgraph *s = &m->subgraphs[0];
    const struct nuc_payload_sizes sizes = nuc_payload_sizes_of(p);
    const struct nuc_neutron_parts parts = {.form = p->version,
                                            .microcode = p->microcode,
                                            .weights = p->weights,
                                            .kernels = p->kernels,
                                            .scratch = sizes.scratch,
                                            .profile = sizes.profile,
                                            .debug = sizes.debug};

    s->n_inputs = p->n_inputs;
    s->inputs = add_boundary(e, m, args, p->inputs, p->n_inputs, 0, "input");
    s->n_outputs = p->n_outputs;
    s->outputs = add_boundary(e, m, args, p->outputs, p->n_outputs, p->n_args, "output");
    nuc_container_add_graph(m, "subgraph_000", &parts, s);
    return nuc_lt_write(m);
}

const struct nuc_extracted *nuc_extract_litert(struct nuc_context *cx, const struct nuc_program_view *view,
                                               size_t *count)
{
    struct extraction e = {.cx = cx, .view = view, .method = view->methods};
    const struct nuc_view_chain *chain = e.method->chains; /* the runtime executes programs of one chain */
    struct nuc_extracted *models = NULL;
    size_t capacity = 0;

    *count = 0;
    for (; e.method->n_chains > 0 && e.instruction < chain->n_instructions; e.instruction++) {
        const struct nuc_view_instruction *call = &chain->instructions[e.instruction];
        if (call->kind != NUC_INSTRUCTION_DELEGATE ||
            !nuc_view_is(e.method->delegates[call->index].backend, "NeutronBackend"))
            continue;
        struct nuc_payload payload = nuc_payload_parse(cx, view->file, e.method->delegates[call->index].data);
        models = nuc_grow(cx, models, &capacity, *count + 1, sizeof *models);
        models[(*count)++] = (struct nuc_extracted){e.instruction, model_of(&e, call->args, &payload)};
    }
    return models;
}
