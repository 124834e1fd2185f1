/* From the LiteRT model to the image: checks, order of the parts, addresses, the microcode's bytes. */
#include "npu/convert/convert.h"

#include <string.h>

#include "npu/convert/conversion.h"

/* ---- operators ---- */

static void nuc_cv_emit_none(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    nuc_cv_fail(cv, n, "has no kernel on the NPU: leave it to the CPU (operators-not-to-delegate)");
}

static void nuc_cv_emit_extremum(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    nuc_cv_emit_binary(cv, n);
}

static void emit_node(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    static nuc_cv_emitter *const emitters[NUC_LT_CODES] = {
#define LT(name, number, type, fields, least, most, rule, axes, kernel, ...) [number] = nuc_cv_emit_##kernel,
#include "litert/lt_ops.def"
    };
    const int32_t code = n->op->code;
    const bool known = code >= 0 && code < NUC_LT_CODES && emitters[code] != NULL;

    cv->current = n;
    if (n->table)
        nuc_cv_emit_table(cv, n);
    else
        (known ? emitters[code] : nuc_cv_emit_none)(cv, n);
}

/* Positive sizes, not too many bytes, constants of the size their shape asks for. Index lists may be empty. */
static void check_tensor(const struct nuc_cv *cv, int32_t index)
{
    const struct nuc_lt_tensor *t = &cv->graph->tensors[index];
    bool list = t->data.data && (t->dtype == NUC_I32 || t->dtype == NUC_I64);
    int64_t elements = 1;

    if (t->is_variable)
        nuc_fail(cv->cx, NUC_UNSUPPORTED,
                 "%s: tensor '%s' keeps a state, the NPU does not: make it an input and output", cv->model->file,
                 t->name);
    for (uint32_t d = 0; d < t->rank; d++) {
        int32_t size = t->shape[d];
        if (size < (list ? 0 : 1) || size > NUC_MC_MAX_DIM || (elements *= size) > NUC_MC_MAX_DIM)
            nuc_fail(cv->cx, NUC_UNSUPPORTED,
                     "%s: tensor '%s': dimension %u is %d; sizes must be static, from 1, and at most 2^28 elements "
                     "together",
                     cv->model->file, t->name, d, size);
    }
    if (t->data.data && t->data.size != (size_t)elements * nuc_dtype_size(t->dtype))
        nuc_fail(cv->cx, NUC_BAD_INPUT, "%s: tensor '%s' has %zu bytes of data, its shape and type ask for %zu",
                 cv->model->file, t->name, t->data.size, (size_t)elements * nuc_dtype_size(t->dtype));
}

/* Tensors that operators or the boundary use; dead ones may be anything. */
static void check_graph(const struct nuc_cv *cv)
{
    const struct nuc_lt_subgraph *g = cv->graph;

    if (g->n_inputs > NUC_MC_MAX_IO || g->n_outputs > NUC_MC_MAX_IO)
        nuc_fail(cv->cx, NUC_UNSUPPORTED, "%s: %u inputs and %u outputs, the program takes %d each", cv->model->file,
                 g->n_inputs, g->n_outputs, NUC_MC_MAX_IO);
    nuc_lt_verify_structure(cv->model);
    for (uint32_t i = 0; i < g->n_inputs; i++)
        check_tensor(cv, g->inputs[i]);
    for (uint32_t i = 0; i < g->n_ops; i++) {
        if (g->ops[i].n_inputs < 1 || g->ops[i].inputs[0] < 0 || g->ops[i].n_outputs != 1)
            nuc_cv_fail(cv, &cv->nodes[i], "needs a first operand and exactly one result");
        check_tensor(cv, g->ops[i].outputs[0]);
        for (uint32_t k = 0; k < g->ops[i].n_inputs; k++) {
            if (g->ops[i].inputs[k] >= 0)
                check_tensor(cv, g->ops[i].inputs[k]);
        }
    }
}

static void set_up_tensors(struct nuc_cv *cv)
{
    const struct nuc_lt_subgraph *g = cv->graph;

    cv->tensors = nuc_alloc_array(cv->cx, g->n_tensors, sizeof *cv->tensors);
    for (uint32_t i = 0; i < g->n_tensors; i++)
        cv->tensors[i] = (struct nuc_cv_tensor){.alias = (int32_t)i,
                                                .producer = -1,
                                                .input_index = -1,
                                                .output_index = -1,
                                                .constant = g->tensors[i].data.data != NULL};
    for (uint32_t i = 0; i < g->n_ops; i++) {
        cv->tensors[g->ops[i].outputs[0]].producer = (int32_t)i;
        for (uint32_t k = 0; k < g->ops[i].n_inputs; k++) {
            if (g->ops[i].inputs[k] >= 0)
                cv->tensors[g->ops[i].inputs[k]].n_uses++;
        }
    }
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        struct nuc_cv_tensor *t = &cv->tensors[g->inputs[i]];
        if (t->input_index >= 0 || t->constant)
            nuc_fail(cv->cx, NUC_BAD_INPUT, "%s: input %u is given twice or is a constant", cv->model->file, i);
        t->input_index = (int32_t)i;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        struct nuc_cv_tensor *t = &cv->tensors[g->outputs[i]];
        if (t->output_index >= 0 || t->producer < 0)
            nuc_fail(cv->cx, NUC_UNSUPPORTED, "%s: output %u is given out twice or computed by no operator: add a copy",
                     cv->model->file, i);
        t->output_index = (int32_t)i;
        t->n_uses++;
    }
}

/* The table of names after the records, empty without profiling. */
static struct nuc_span names_table(struct nuc_cv *cv, const struct nuc_convert_options *options, size_t at)
{
    if (!options || !options->profile || options->n_names == 0)
        return (struct nuc_span){NULL, 0};
    return nuc_kernel_names_write(cv->cx, nuc_cv_call_names(cv, options), cv->n_calls, (uint32_t)at);
}

/* Header, sizes of inputs and outputs, records, names. */
static void write_microcode(struct nuc_cv *cv, const struct nuc_convert_options *options,
                            struct nuc_neutron_image *image)
{
    const struct nuc_lt_subgraph *g = cv->graph;
    uint32_t io = NUC_MC_HEADER_WORDS * 4, calls = io + (g->n_inputs + g->n_outputs) * 4;
    size_t names_at = calls + cv->records.size;
    struct nuc_span names = names_table(cv, options, names_at);
    size_t size = names_at + names.size;
    uint8_t *mc = nuc_alloc(cv->cx, nuc_align_up(size, NUC_MC_ALIGNMENT));
    const uint32_t header[NUC_MC_HEADER_WORDS] = {
        [NUC_MC_WORD_MAGIC] = NUC_MC_MAGIC,
        [NUC_MC_WORD_VERSION] = (NUC_MC_VERSION & ~0xFFFFu) | cv->revision,
        [NUC_MC_WORD_HEADER_SIZE] = NUC_MC_HEADER_WORDS * 4,
        [NUC_MC_WORD_NPU] = cv->costs->code,
        [NUC_MC_WORD_SIZE] = (uint32_t)size,
        [NUC_MC_WORD_WEIGHTS] = (uint32_t)image->weights.size,
        [NUC_MC_WORD_KERNELS] = (uint32_t)image->kernels.size,
        [NUC_MC_WORD_SCRATCH] = image->scratch_size,
        [NUC_MC_WORD_PROFILE] = image->profile_size,
        [NUC_MC_WORD_PREFETCH] = image->staging_size,
        [NUC_MC_WORD_INPUTS] = g->n_inputs,
        [NUC_MC_WORD_OUTPUTS] = g->n_outputs,
        [NUC_MC_WORD_CALLS] = cv->n_calls,
        [NUC_MC_WORD_IO_OFFSET] = io,
        [NUC_MC_WORD_CALLS_OFFSET] = calls,
        [NUC_MC_WORD_NAMES_OFFSET] = names.size > 0 ? (uint32_t)names_at : 0,
    };

    for (uint32_t i = 0; i < NUC_MC_HEADER_WORDS; i++)
        nuc_store_u32(mc + i * 4, header[i]);
    if (options != NULL && options->payload_version_0) {
        /* The words of an older header, and a note of it: nothing else differs. */
        nuc_store_u32(mc + 4 * NUC_MC_WORD_LAYOUT, NUC_MC_LAYOUT_0);
        nuc_store_u32(mc + 4 * NUC_MC_WORD_PREFETCH_0, image->staging_size);
        nuc_store_u32(mc + 4 * NUC_MC_WORD_INPUTS_0, g->n_inputs);
        nuc_store_u32(mc + 4 * NUC_MC_WORD_OUTPUTS_0, g->n_outputs);
        nuc_store_u32(mc + 4 * NUC_MC_WORD_INPUTS, 0);
        nuc_store_u32(mc + 4 * NUC_MC_WORD_OUTPUTS, 0);
    }
    for (uint32_t i = 0; i < g->n_inputs; i++)
        nuc_store_u32(mc + io + i * 4, (uint32_t)nuc_cv_bytes(cv, g->inputs[i]));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        nuc_store_u32(mc + io + (g->n_inputs + i) * 4, (uint32_t)nuc_cv_bytes(cv, g->outputs[i]));
    if (cv->records.size > 0)
        memcpy(mc + calls, cv->records.data, cv->records.size);
    if (names.size > 0)
        memcpy(mc + names_at, names.data, names.size);
    for (uint32_t i = 0; i < cv->n_calls; i++)
        cv->calls[i].offset += calls;
    image->microcode = (struct nuc_span){mc, size};
}

/* Addresses do not matter for the time of a call, but the order of calls may. */
static struct nuc_neutron_fetches count_cycles(struct nuc_cv *cv)
{
    struct nuc_npu_fetching f = {.bytes = 0};

    for (uint32_t i = 0; i < cv->n_calls; i++) {
        const uint8_t *record = cv->records.data + cv->calls[i].offset;
        union nuc_mc_record r;
        uint64_t started = f.clock.now;

        nuc_mc_load(record, &r);
        cv->calls[i].cycles = nuc_npu_fetching_step(cv->costs, &f, &r) - started;
    }
    return (struct nuc_neutron_fetches){f.bytes, f.clock.now - f.calls, f.dma.now - f.calls};
}

/*
 * Operators become nodes; merging, views and the order decide which of them remain, where their results lie and when
 * they run. Emission then goes through them once. Its records name tensors, not addresses: those are known only when
 * all calls are, because a buffer lives from the first call that touches it to the last.
 */
struct nuc_neutron_image *nuc_convert_litert(struct nuc_context *cx, const struct nuc_lt_model *m,
                                             const struct nuc_convert_options *options)
{
    struct nuc_cv cv = {.cx = cx, .model = m, .fetch = options && options->fetch_constants};
    struct nuc_neutron_image *image = nuc_alloc(cx, sizeof *image);

    if (m->n_subgraphs != 1)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s: %u subgraphs, the converter takes one", m->file, m->n_subgraphs);
    cv.graph = &m->subgraphs[0];
    const struct nuc_lt_subgraph *g = cv.graph;
    cv.nodes = nuc_alloc_array(cv.cx, g->n_ops, sizeof *cv.nodes);
    for (uint32_t i = 0; i < g->n_ops; i++)
        cv.nodes[i] = (struct nuc_cv_node){.op = &g->ops[i], .index = i, .clamp_min = INT8_MIN, .clamp_max = INT8_MAX};
    check_graph(&cv);
    for (uint32_t i = 0; i < g->n_ops; i++) {
        cv.nodes[i].input = g->ops[i].inputs[0];
        cv.nodes[i].output = g->ops[i].outputs[0];
    }
    set_up_tensors(&cv);
    cv.pool_boundaries = options && options->pool_boundaries;
    cv.revision_3 = options && options->revision_3;
    cv.revision = 3;
    cv.costs = options && options->costs ? options->costs : &nuc_npus[NUC_NPU_N3_64];
    nuc_cv_merge(&cv);
    nuc_cv_make_views(&cv);
    nuc_cv_find_order(&cv);
    for (uint32_t i = 0; i < cv.graph->n_ops; i++) {
        struct nuc_cv_node *n = &cv.nodes[cv.order[i]];
        if (n->dropped)
            continue;
        if (cv.fetch) {
            cv.windows = nuc_grow(cv.cx, cv.windows, &cv.windows_capacity, cv.n_windows + 1, sizeof *cv.windows);
            cv.windows[cv.n_windows++] = (struct nuc_cv_window){
                .first_call = cv.n_calls, .start = nuc_align_up(cv.weights.size, NUC_MC_ALIGNMENT)};
        }
        emit_node(&cv, n);
        if (cv.fetch) {
            cv.windows[cv.n_windows - 1].end_call = cv.n_calls;
            cv.windows[cv.n_windows - 1].end = cv.weights.size;
        }
    }
    image->staging_size = cv.fetch ? nuc_cv_add_fetches(&cv) : 0;
    nuc_cv_assign_addresses(&cv, image);
    image->fetches = count_cycles(&cv);
    /* A weights block and a kernels block always exist: their pointers are arguments of the driver. */
    if (cv.weights.size == 0)
        nuc_cv_weights_ref(&cv, "", 1);
    image->weights = (struct nuc_span){cv.weights.data, cv.weights.size};
    image->kernels = (struct nuc_span){nuc_alloc(cx, NUC_MC_ALIGNMENT), 1};
    image->profile_size = options && options->profile ? (cv.n_calls + 1) * NUC_MC_PROFILE_RECORD : 0;
    nuc_cv_collect_handles(&cv);
    write_microcode(&cv, options, image);
    image->n_inputs = cv.graph->n_inputs;
    image->n_outputs = cv.graph->n_outputs;
    image->n_calls = cv.n_calls;
    image->calls = cv.calls;
    return image;
}
