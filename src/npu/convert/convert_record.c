/* What the kernels of the converter share: tensors as they see them and where they lie, references, records. */
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "npu/convert/conversion.h"

_Noreturn void nuc_cv_fail(const struct nuc_cv *cv, const struct nuc_cv_node *n, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    nuc_lt_refuse(cv->model, n->index, n->op, format, args);
}

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

int32_t nuc_cv_quantized(struct nuc_cv_params p, float value)
{
    float q = roundf(value / p.scale);

    return nuc_clamp_i32(p.zero + (int32_t)fminf(fmaxf(q, -1024.0f), 1024.0f), INT8_MIN, INT8_MAX);
}

bool nuc_cv_same_params(const struct nuc_cv *cv, const struct nuc_cv_node *n, const struct nuc_lt_tensor *a,
                        const struct nuc_lt_tensor *b)
{
    if (a->dtype != NUC_I8 && b->dtype != NUC_I8)
        return true;
    struct nuc_cv_params pa = nuc_cv_params(cv, n, a), pb = nuc_cv_params(cv, n, b);
    return pa.zero == pb.zero && !(pa.scale < pb.scale) && !(pa.scale > pb.scale);
}

void nuc_cv_clamp(const struct nuc_cv *cv, const struct nuc_cv_node *n, enum nuc_lt_activation activation, int32_t *low,
                  int32_t *high)
{
    struct nuc_cv_params p = nuc_cv_params(cv, n, nuc_cv_y(cv, n));
    struct nuc_lt_bounds bounds = nuc_lt_bounds(activation);

    *low = nuc_clamp_i32(nuc_cv_quantized(p, bounds.low), n->clamp_min, n->clamp_max);
    *high = nuc_clamp_i32(nuc_cv_quantized(p, bounds.high), n->clamp_min, n->clamp_max);
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

/* ---- places ---- */

int64_t nuc_cv_bytes(const struct nuc_cv *cv, int32_t tensor)
{
    const struct nuc_lt_tensor *t = &cv->graph->tensors[tensor];

    return nuc_lt_elements(t) * (int64_t)nuc_dtype_size(t->dtype);
}

bool nuc_cv_compose(struct nuc_cv_layout *layout, int64_t bytes, const struct nuc_cv_layout *outer)
{
    int64_t first = outer->row > 0 ? layout->at / outer->row : 0, rest = layout->at - first * outer->row;

    if (outer->row == 0) {
        layout->at += outer->at;
        return true;
    }
    if (layout->row > 0) {
        if (layout->pitch % outer->row != 0 || rest + layout->row > outer->row)
            return false;
        layout->pitch = layout->pitch / outer->row * outer->pitch;
    } else if (rest + bytes > outer->row) {
        if (rest != 0 || bytes % outer->row != 0)
            return false;
        layout->row = outer->row;
        layout->pitch = outer->pitch;
    }
    layout->at = outer->at + first * outer->pitch + rest;
    return true;
}

bool nuc_cv_find_place(const struct nuc_cv *cv, int32_t tensor, struct nuc_cv_place *place)
{
    int64_t bytes = nuc_cv_bytes(cv, tensor);

    *place = (struct nuc_cv_place){tensor, {0, 0, 0}};
    while (cv->tensors[place->holder].alias != place->holder) {
        const struct nuc_cv_tensor *t = &cv->tensors[place->holder];
        if (!nuc_cv_compose(&place->layout, bytes, &t->inside))
            return false;
        place->holder = t->alias;
    }
    return true;
}

struct nuc_cv_place nuc_cv_place(const struct nuc_cv *cv, int32_t tensor)
{
    struct nuc_cv_place place;

    if (!nuc_cv_find_place(cv, tensor, &place))
        nuc_fail(cv->cx, NUC_INTERNAL, "%s: tensor %d has no place", cv->model->file, tensor);
    return place;
}

bool nuc_cv_in_scratch(const struct nuc_cv *cv, int32_t tensor)
{
    const struct nuc_cv_tensor *s = &cv->tensors[tensor];

    return !s->constant && s->input_index < 0 && s->output_index < 0;
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

/* It is not looked for beyond so many. */
#define SHARED_BYTES ((size_t)1 << 16)

static size_t find_shared(const struct nuc_cv *cv, const void *data, size_t size)
{
    const uint8_t *weights = cv->weights.data, *firsts = cv->firsts.data;
    const uint8_t first = *(const uint8_t *)data, last = ((const uint8_t *)data)[size - 1];
    size_t i = shared_from(cv) / NUC_MC_ALIGNMENT;
    size_t end = cv->weights.size < size ? 0 : (cv->weights.size - size) / NUC_MC_ALIGNMENT + 1;

    for (const uint8_t *at; i < end && (at = memchr(firsts + i, first, end - i)) != NULL; i++) {
        i = (size_t)(at - firsts);
        const uint8_t *there = weights + i * NUC_MC_ALIGNMENT;
        if (there[size - 1] == last && memcmp(there, data, size) == 0)
            return i * NUC_MC_ALIGNMENT;
    }
    return SIZE_MAX;
}

static size_t append_weights(struct nuc_cv *cv, const void *data, size_t size)
{
    struct nuc_cv_bytes *f = &cv->firsts;
    const size_t at = append(cv, &cv->weights, data, size);

    for (size_t i = at; i < cv->weights.size && i < SHARED_BYTES; i += NUC_MC_ALIGNMENT) {
        f->data = nuc_grow(cv->cx, f->data, &f->capacity, f->size + 1, 1);
        f->data[f->size++] = cv->weights.data[i];
    }
    return at;
}

struct nuc_mc_ref nuc_cv_weights_ref(struct nuc_cv *cv, const void *data, size_t size)
{
    size_t at =
        size > 0 && size <= SHARED_SIZE && cv->weights.size < SHARED_BYTES ? find_shared(cv, data, size) : SIZE_MAX;

    if (size == 0)
        at = 0;
    else if (at == SIZE_MAX)
        at = append_weights(cv, data, size);
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

void nuc_cv_add_record(struct nuc_cv *cv, const void *record, size_t size)
{
    size_t at = append(cv, &cv->records, record, size);
    const uint8_t *call = cv->records.data + at;

    cv->calls = nuc_grow(cv->cx, cv->calls, &cv->calls_capacity, (size_t)cv->n_calls + 1, sizeof *cv->calls);
    cv->calls[cv->n_calls++] = (struct nuc_neutron_call){.opcode = nuc_mc_opcode_name(nuc_load_u32(call) & 0xFFFFu),
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
    /* Copies of weights are calls of their own. */
    if (cv->current->last_table && opcode != NUC_MC_OP_FETCH && opcode != NUC_MC_OP_WAIT) {
        if (!nuc_mc_result_of(r, &result))
            nuc_fail(cv->cx, NUC_INTERNAL, "%s: a call of operator %u takes no table", cv->model->file,
                     cv->current->index);
        struct nuc_mc_ref table = nuc_cv_weights_ref(cv, cv->current->last_table, 256);
        r->call.opcode |= NUC_MC_TABLE;
        r->call.words = nuc_mc_whole_size(r->call.opcode) / 4;
        memcpy(record + size, &table, sizeof table);
    }
    uint32_t revision = nuc_mc_revision(r->call.opcode);
    cv->revision = revision > cv->revision ? revision : cv->revision;
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

/* ---- kernels ---- */

static const struct nuc_cv_kernel none = {CV_ROWS_NONE, false, false}, binary = {CV_ROWS_BINARY, true, true},
                                  extremum = {CV_ROWS_BINARY, false, true}, conv = {CV_ROWS_LAST, true, true},
                                  transpose_conv = {CV_ROWS_LAST, true, true},
                                  fully_connected = {CV_ROWS_LAST, true, true},
                                  batch_matmul = {CV_ROWS_LAST, true, true}, pool = {CV_ROWS_LAST, true, true},
                                  reduce = {CV_ROWS_NONE, true, true}, softmax = {CV_ROWS_LAST, false, true},
                                  reshape = {CV_ROWS_MOVED, false, false}, transpose = {CV_ROWS_MOVED, false, false},
                                  concat = {CV_ROWS_MOVED, false, false}, slice = {CV_ROWS_MOVED, false, false},
                                  pad = {CV_ROWS_NONE, false, false}, mirror_pad = {CV_ROWS_NONE, false, false},
                                  nearest = {CV_ROWS_NONE, false, false}, bilinear = {CV_ROWS_LAST, false, false};

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
    return nuc_cv_kernel(code)->rows == CV_ROWS_BINARY;
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
