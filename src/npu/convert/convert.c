/* From the LiteRT model to the image: checks, order of the parts, addresses, the microcode's bytes. */
#include "npu/convert/convert.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "npu/convert/convert_private.h"

_Noreturn void nuc_cv_fail(const struct nuc_cv *cv, const struct nuc_cv_node *n, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    nuc_lt_refuse(cv->model, n->index, n->op, format, args);
}

/* ---- tensors ---- */

const struct nuc_lt_tensor *nuc_cv_in(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t i)
{
    if (i >= n->op->n_inputs || n->op->inputs[i] < 0)
        return NULL;
    return &cv->graph->tensors[n->op->inputs[i]];
}

const struct nuc_lt_tensor *nuc_cv_x(const struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    return &cv->graph->tensors[n->input];
}

const struct nuc_lt_tensor *nuc_cv_y(const struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    return &cv->graph->tensors[n->op->outputs[0]];
}

struct nuc_cv_params nuc_cv_params(const struct nuc_cv *cv, const struct nuc_cv_node *n, const struct nuc_lt_tensor *t)
{
    if (t->dtype != NUC_I8 || t->quant.count != 1)
        nuc_cv_fail(cv, n, "tensor '%s' is %s with %u scales, the NPU takes int8 with one: quantize it", t->name,
                    nuc_dtype_name(t->dtype), t->quant.count);
    int64_t zero = t->quant.zero_point[0];
    if (!(t->quant.scale[0] > 0.0f) || zero < INT8_MIN || zero > INT8_MAX)
        nuc_cv_fail(cv, n, "tensor '%s' has scale %g and zero point %lld", t->name, (double)t->quant.scale[0],
                    (long long)zero);
    return (struct nuc_cv_params){t->quant.scale[0], (int32_t)zero};
}

bool nuc_cv_same_params(const struct nuc_cv *cv, const struct nuc_cv_node *n, const struct nuc_lt_tensor *a,
                        const struct nuc_lt_tensor *b)
{
    if (a->dtype != NUC_I8 && b->dtype != NUC_I8)
        return true;
    struct nuc_cv_params pa = nuc_cv_params(cv, n, a), pb = nuc_cv_params(cv, n, b);
    return pa.zero == pb.zero && !(pa.scale < pb.scale) && !(pa.scale > pb.scale);
}

uint32_t nuc_cv_integers(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t i, uint32_t max, int64_t *out)
{
    uint32_t count = nuc_lt_integers(nuc_cv_in(cv, n, i), max, out);

    if (count == UINT32_MAX)
        nuc_cv_fail(cv, n, "operand %u must be a constant of at most %u integers", i, max);
    return count;
}

uint32_t nuc_cv_axes(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t rank)
{
    int64_t axes[NUC_MAX_RANK];
    uint32_t count = nuc_cv_integers(cv, n, 1, NUC_MAX_RANK, axes), set = 0;

    for (uint32_t i = 0; i < count; i++) {
        int32_t axis = nuc_lt_axis(axes[i], rank);
        if (axis < 0)
            nuc_cv_fail(cv, n, "axis %lld does not exist", (long long)axes[i]);
        set |= 1u << axis;
    }
    return set;
}

bool nuc_cv_add_dimension(struct nuc_cv_dimensions *d, int64_t size, int64_t a, int64_t b, bool apart)
{
    int32_t last = *d->rank - 1;

    if (size == 1)
        return true;
    if (!apart && last >= 0 && d->a[last] == a * size && d->b[last] == b * size)
        d->shape[last] *= (int32_t)size;
    else if (last + 1 < NUC_MC_MAX_RANK)
        d->shape[last = (*d->rank)++] = (int32_t)size;
    else
        return false;
    d->a[last] = (int32_t)a;
    d->b[last] = (int32_t)b;
    return true;
}

/* ---- output ---- */

static size_t append(struct nuc_cv *cv, struct nuc_cv_bytes *b, const void *data, size_t size)
{
    size_t at = nuc_align_up(b->size, b == &cv->weights ? NUC_MC_ALIGNMENT : 4);

    if (at + size > (size_t)INT32_MAX)
        nuc_fail(cv->cx, NUC_UNSUPPORTED, "%s: more than 2 GiB of weights", cv->model->file);
    b->data = nuc_grow(cv->cx, b->data, &b->capacity, at + size, 1);
    memset(b->data + b->size, 0, at - b->size);
    if (size > 0)
        memcpy(b->data + at, data, size);
    b->size = at + size;
    return at;
}

/* Tables of a few sizes recur (activations, multipliers): one of at most this many bytes is looked for. */
#define SHARED_SIZE 256

/* Bytes that a constant may be shared from: with fetching, those of the current node. */
static size_t shared_from(const struct nuc_cv *cv)
{
    return cv->n_windows > 0 ? cv->windows[cv->n_windows - 1].start : 0;
}

static size_t find_shared(const struct nuc_cv *cv, const void *data, size_t size)
{
    for (size_t at = shared_from(cv); at + size <= cv->weights.size; at += NUC_MC_ALIGNMENT) {
        if (memcmp(cv->weights.data + at, data, size) == 0)
            return at;
    }
    return SIZE_MAX;
}

struct nuc_mc_ref nuc_cv_weights_ref(struct nuc_cv *cv, const void *data, size_t size)
{
    size_t at = size > 0 && size <= SHARED_SIZE && cv->weights.size < 1 << 16 ? find_shared(cv, data, size) : SIZE_MAX;

    if (size == 0)
        at = 0;
    else if (at == SIZE_MAX)
        at = append(cv, &cv->weights, data, size);
    return (struct nuc_mc_ref){nuc_mc_where(NUC_MC_WEIGHTS, 0), (uint32_t)at};
}

struct nuc_mc_ref nuc_cv_tensor_ref(struct nuc_cv *cv, int32_t tensor)
{
    struct nuc_cv_place place = nuc_cv_place(cv, tensor);
    int32_t t = place.holder;
    struct nuc_cv_tensor *state = &cv->tensors[t];
    const struct nuc_span *data = &cv->graph->tensors[t].data;

    if (!state->constant)
        return (struct nuc_mc_ref){(uint32_t)CV_TENSOR | (uint32_t)t << 8, (uint32_t)place.layout.at};
    if (state->weights_at == 0 || state->weights_at - 1 < shared_from(cv))
        state->weights_at = nuc_cv_weights_ref(cv, data->data, data->size).offset + 1;
    return (struct nuc_mc_ref){nuc_mc_where(NUC_MC_WEIGHTS, 0), state->weights_at - 1 + (uint32_t)place.layout.at};
}

struct nuc_mc_ref nuc_cv_input_ref(struct nuc_cv *cv, uint32_t i)
{
    return nuc_cv_tensor_ref(cv, cv->current->op->inputs[i]);
}

struct nuc_mc_ref nuc_cv_output_ref(struct nuc_cv *cv)
{
    return nuc_cv_tensor_ref(cv, cv->current->output);
}

int32_t nuc_cv_out_pitch(const struct nuc_cv *cv)
{
    return (int32_t)nuc_cv_place(cv, cv->current->output).layout.pitch;
}

static const char *opcode_name(uint32_t opcode)
{
    static const char *const names[NUC_MC_OPCODE_COUNT] = {
#define NAME(name, number, record) [number] = #name,
        NUC_MC_OPCODES(NAME)
#undef NAME
    };
    return names[opcode];
}

void nuc_cv_add_record(struct nuc_cv *cv, const void *record, size_t size)
{
    size_t at = append(cv, &cv->records, record, size);
    const uint8_t *call = cv->records.data + at;

    cv->calls = nuc_grow(cv->cx, cv->calls, &cv->calls_capacity, (size_t)cv->n_calls + 1, sizeof *cv->calls);
    cv->calls[cv->n_calls++] = (struct nuc_neutron_call){.opcode = opcode_name(nuc_load_u32(call) & 0xFFFFu),
                                                         .lt_op = cv->current->index,
                                                         .handle = cv->current->op->debug_handle,
                                                         .offset = (uint32_t)at};
}

void nuc_cv_emit(struct nuc_cv *cv, uint32_t opcode, union nuc_mc_record *r)
{
    uint32_t first_word = nuc_mc_first_word(opcode, r), size = nuc_mc_fields_size(first_word);
    uint8_t record[sizeof *r + sizeof(struct nuc_mc_ref)];
    struct nuc_mc_result result;

    assert(size > 0 && cv->current != NULL && cv->current->whole == 0);
    r->call = (struct nuc_mc_call){first_word, size / 4, cv->current->index, cv->current->op->debug_handle};
    if (cv->current->last_table && nuc_mc_result_of(r, &result)) {
        struct nuc_mc_ref table = nuc_cv_weights_ref(cv, cv->current->last_table, 256);
        r->call.opcode |= NUC_MC_TABLE;
        r->call.words = nuc_mc_whole_size(r->call.opcode) / 4;
        memcpy(record + size, &table, sizeof table);
    }
    cv->revision_4 = cv->revision_4 || r->call.opcode != opcode;
    memcpy(record, r, size);
    nuc_cv_add_record(cv, record, (size_t)r->call.words * 4);
}

uint32_t nuc_cv_refs_of(uint32_t opcode)
{
    /* Operands come first in every record: as many as its list of fields has. */
    enum {
#define COUNT_R(field) +1
#define COUNT_NONE(field)
#define COUNT(name, fields) CV_REFS_##name = 0 fields(COUNT_R, COUNT_NONE, COUNT_NONE),
        NUC_MC_RECORDS(COUNT)
#undef COUNT
#undef COUNT_NONE
#undef COUNT_R
    };
    static const uint8_t counts[NUC_MC_OPCODE_COUNT] = {
#define REFS(name, number, record) [number] = (uint8_t)CV_REFS_##record,
        NUC_MC_OPCODES(REFS)
#undef REFS
    };
    return counts[opcode];
}

/* ---- operators ---- */

static const struct nuc_cv_kernel none = {NULL, CV_ROWS_NONE, false, false},
                                  binary = {nuc_cv_emit_binary, CV_ROWS_BINARY, true, true},
                                  extremum = {nuc_cv_emit_binary, CV_ROWS_BINARY, false, true},
                                  conv = {nuc_cv_emit_conv, CV_ROWS_LAST, true, true},
                                  transpose_conv = {nuc_cv_emit_transpose_conv, CV_ROWS_LAST, true, true},
                                  fully_connected = {nuc_cv_emit_fully_connected, CV_ROWS_LAST, true, true},
                                  batch_matmul = {nuc_cv_emit_batch_matmul, CV_ROWS_LAST, true, true},
                                  pool = {nuc_cv_emit_pool, CV_ROWS_LAST, true, true},
                                  reduce = {nuc_cv_emit_reduce, CV_ROWS_NONE, true, true},
                                  softmax = {nuc_cv_emit_softmax, CV_ROWS_LAST, false, false},
                                  reshape = {nuc_cv_emit_reshape, CV_ROWS_MOVED, false, false},
                                  transpose = {nuc_cv_emit_transpose, CV_ROWS_MOVED, false, false},
                                  concat = {nuc_cv_emit_concat, CV_ROWS_MOVED, false, false},
                                  slice = {nuc_cv_emit_slice, CV_ROWS_MOVED, false, false},
                                  pad = {nuc_cv_emit_pad, CV_ROWS_NONE, false, false},
                                  mirror_pad = {nuc_cv_emit_mirror_pad, CV_ROWS_NONE, false, false},
                                  nearest = {nuc_cv_emit_nearest, CV_ROWS_NONE, false, false},
                                  bilinear = {nuc_cv_emit_bilinear, CV_ROWS_LAST, false, false};

const struct nuc_cv_kernel *nuc_cv_kernel(int32_t code)
{
    static const struct nuc_cv_kernel *const kernels[NUC_LT_CODES] = {
#define LT(name, number, type, fields, least, most, rule, axes, kernel, ...) [number] = &kernel,
#include "litert/lt_ops.def"
    };

    return code >= 0 && code < NUC_LT_CODES && kernels[code] != NULL ? kernels[code] : &none;
}

bool nuc_cv_is_binary(int32_t code)
{
    return nuc_cv_kernel(code)->emit == nuc_cv_emit_binary;
}

uint32_t nuc_cv_opcode(int32_t code)
{
    static const uint8_t opcodes[NUC_LT_CODES] = {
#define LT_BINARY(name, number, ...) [number] = NUC_MC_OP_##name,
#define LT_REDUCE(name, number, ...) [number] = NUC_MC_OP_##name,
#include "litert/lt_ops.def"
        [NUC_LT_PRELU] = NUC_MC_OP_PRELU,
    };

    assert(code >= 0 && code < NUC_LT_CODES && opcodes[code] != 0);
    return opcodes[code];
}

static void emit_node(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    void (*emit)(struct nuc_cv * cv, const struct nuc_cv_node *n) =
        n->table ? nuc_cv_emit_table : nuc_cv_kernel(n->op->code)->emit;

    cv->current = n;
    if (emit == NULL)
        nuc_cv_fail(cv, n, "has no kernel on the NPU: leave it to the CPU (operators-not-to-delegate)");
    emit(cv, n);
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

static const struct nuc_npu_costs *costs_of(const struct nuc_convert_options *options)
{
    return options != NULL && options->costs != NULL ? options->costs : &nuc_npus[NUC_NPU_N3_64];
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
        [NUC_MC_WORD_VERSION] = cv->revision_5   ? NUC_MC_VERSION
                                : cv->revision_4 ? NUC_MC_VERSION_4
                                                 : NUC_MC_VERSION_3,
        [NUC_MC_WORD_HEADER_SIZE] = NUC_MC_HEADER_WORDS * 4,
        [NUC_MC_WORD_NPU] = costs_of(options)->code,
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
static struct nuc_neutron_fetches count_cycles(struct nuc_cv *cv, const struct nuc_npu_costs *costs)
{
    struct nuc_npu_fetching f = {.bytes = 0};

    for (uint32_t i = 0; i < cv->n_calls; i++) {
        const uint8_t *record = cv->records.data + cv->calls[i].offset;
        union nuc_mc_record r;
        uint64_t started = f.clock.now;

        nuc_mc_load(record, &r);
        cv->calls[i].cycles = nuc_npu_fetching_step(costs, &f, &r) - started;
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
    image->fetches = count_cycles(&cv, costs_of(options));
    /* A weights block and a kernels block always exist: their pointers are arguments of the driver. */
    if (cv.weights.size == 0)
        append(&cv, &cv.weights, "", 1);
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
