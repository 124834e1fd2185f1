/* The walk over the model: inputs, operators by table, outputs. */
#include "front/tflite/tflite.h"

#include <string.h>

#include "host/characters.h"
#include "host/file.h"
#include "host/text.h"
#include "ir/invariants.h"
#include "ir/labels.h"
#include "ir/obstacles.h"
#include "tflite_import.h"

const char *const nuc_tflite_preserved[NUC_TFLITE_N_PRESERVED] = {"aten.prelu.default", "aten.pad.default",
                                                                  "aten.hardswish.default"};

static nuc_ti_importer *const importers[NUC_LT_CODES] = {
#define nuc_ti_none NULL
#define LT(name, number, type, fields, least, most, rule, axes, kernel, importer) [number] = nuc_ti_##importer,
#include "litert/lt_ops.def"
};

static bool is_plain(const struct nuc_lt_tensor *t)
{
    return t->quant.count == 0 && (t->dtype == NUC_F32 || t->dtype == NUC_BOOL || t->dtype == NUC_I8 ||
                                   t->dtype == NUC_I16 || nuc_ti_is_index(t));
}

/* Pixels, which a CAST makes numbers of. */
static bool is_bytes(const struct nuc_lt_tensor *t)
{
    return t->quant.count == 0 && t->dtype == NUC_U8;
}

/* Numbers of a front end: samples, features, and integers without a sign, for which others stand. */
static bool is_of_signals(const struct nuc_lt_tensor *t)
{
    return t->unhandled == NULL &&
           (t->is_unsigned || (t->quant.count == 0 && (t->dtype == NUC_I8 || t->dtype == NUC_I16)));
}

/* Operators that take such numbers for bits, or know what they are. A CAST has signed ones on its other side. */
static bool takes_signals(const struct nuc_lt_op *op)
{
    switch (op->code) {
    case NUC_LT_CAST:
    case NUC_LT_CUSTOM:
    case NUC_LT_RESHAPE:
    case NUC_LT_SQUEEZE:
    case NUC_LT_EXPAND_DIMS:
    case NUC_LT_CONCATENATION:
    case NUC_LT_SLICE:
    case NUC_LT_STRIDED_SLICE:
    case NUC_LT_SPLIT:
    case NUC_LT_PACK:
    case NUC_LT_UNPACK:
        return true;
    default:
        return false;
    }
}

/* Quantized integers with one scale, or numbers without: what values between operators may be. */
static void check_value(const struct nuc_ti *ti, const struct nuc_lt_tensor *t)
{
    if (t->unhandled != NULL)
        nuc_fail(ti->cx, NUC_UNSUPPORTED, "%s: %s", ti->m->file, nuc_lt_type_text(ti->cx, t->name, t->unhandled));
    if (is_plain(t))
        return;
    if (!nuc_ti_is_quantized(t) || t->quant.count != 1)
        nuc_fail(
            ti->cx, NUC_UNSUPPORTED,
            "%s: tensor %s is %s with %u scale%s: int8, int16 and int32 with one scale, float32, int16, int32, int64 "
            "and bool are handled; convert the model with int8 quantization, or without any",
            ti->m->file,
            *t->name != '\0' ? nuc_format(ti->cx, "'%s'", t->name)
                             : nuc_format(ti->cx, "%d", (int)(t - ti->s->tensors)),
            nuc_dtype_name(t->dtype), t->quant.count, t->quant.count == 1 ? "" : "s");
    int64_t zero = t->quant.zero_point[0];
    if (!(t->quant.scale[0] > 0.0f) || !(t->quant.scale[0] < 1e30f) || zero < nuc_int_range(t->dtype).low ||
        zero > nuc_int_range(t->dtype).high)
        nuc_fail(ti->cx, NUC_BAD_INPUT, "%s: tensor '%s' has scale %g and zero point %lld", ti->m->file, t->name,
                 (double)t->quant.scale[0], (long long)zero);
}

/* False: its sizes are those of no value. Then the operators that read it say so, where obstacles are not collected. */
static bool add_input(struct nuc_ti *ti, const struct nuc_lt_tensor *t, struct nuc_ti_value *v, const char *name)
{
    const enum nuc_ti_form form = nuc_ti_own_form(t);
    const struct nuc_meta meta = nuc_ti_meta(t, form);

    if (ti->cx->obstacles != NULL && !nuc_meta_is_valid(&meta))
        return false;
    v->nodes[form] = nuc_add_placeholder(ti->g, name, NUC_USER_INPUT, &meta);
    v->ordered[form] = true;
    v->form = form;
    return true;
}

static void import_input(struct nuc_ti *ti, uint32_t i)
{
    const struct nuc_lt_tensor *t = &ti->s->tensors[ti->s->inputs[i]];
    struct nuc_ti_value *v = &ti->values[ti->s->inputs[i]];

    if (!is_bytes(t))
        check_value(ti, t);
    if (v->nodes[nuc_ti_own_form(t)] != NULL || t->data.data != NULL)
        nuc_fail(ti->cx, NUC_BAD_INPUT, "%s: input %u ('%s') is given twice or is a constant", ti->m->file, i, t->name);
    if (!add_input(ti, t, v, nuc_ti_identifier(ti->cx, t->name, nuc_format(ti->cx, "input_%u", i))))
        nuc_fail(ti->cx, NUC_UNSUPPORTED, "%s: input '%s' has no static sizes from 1: give it some in the model",
                 ti->m->file, t->name);
}

struct importing {
    struct nuc_ti *ti;
    uint32_t index;
};

static void import_input_in_attempt(struct nuc_context *cx, void *arg)
{
    const struct importing *i = arg;

    (void)cx;
    import_input(i->ti, i->index);
}

/* Operators whose results are a list, or values and positions. */
static bool has_several_results(int32_t code)
{
    return code == NUC_LT_SPLIT || code == NUC_LT_SPLIT_V || code == NUC_LT_UNPACK || code == NUC_LT_TOPK_V2 ||
           code == NUC_LT_IF || code == NUC_LT_WHILE || code == NUC_LT_CUSTOM;
}

/* Operators that read and write variable tensors. */
static bool has_state(int32_t code)
{
    return code == NUC_LT_UNIDIRECTIONAL_SEQUENCE_LSTM || code == NUC_LT_UNIDIRECTIONAL_SEQUENCE_RNN ||
           code == NUC_LT_SVDF;
}

static bool is_of_variables(int32_t code)
{
    return code == NUC_LT_VAR_HANDLE || code == NUC_LT_READ_VARIABLE || code == NUC_LT_ASSIGN_VARIABLE ||
           code == NUC_LT_CALL_ONCE;
}

/* Sizes are static, and one result is handled unless the operator has several or none. */
static void check_operands(const struct nuc_ti *ti)
{
    const struct nuc_lt_op *op = ti->op;

    for (uint32_t i = 0; i < op->n_inputs; i++) {
        const struct nuc_lt_tensor *t = op->inputs[i] < 0 ? NULL : &ti->s->tensors[op->inputs[i]];
        /* No sizes: the shape of a number. */
        bool is_empty_list = t != NULL && i > 0 && t->rank == 1 && t->shape[0] == 0 && nuc_ti_is_index(t);
        const bool is_open = t != NULL && (t->data.data == NULL || nuc_lt_elements(t) == 0) && !is_empty_list;
        for (uint32_t d = 0; is_open && d < t->rank; d++) {
            if (t->shape[d] < 1)
                nuc_ti_fail(ti, "tensor '%s' has size %d in dimension %u: sizes must be static and from 1", t->name,
                            t->shape[d], d);
        }
        if (t != NULL && is_bytes(t) && op->code != NUC_LT_CAST)
            nuc_ti_fail(ti, "tensor '%s' is uint8 without a scale, which CAST alone may read", t->name);
        if (t != NULL && is_of_signals(t) && !takes_signals(op))
            nuc_ti_fail(
                ti,
                "tensor '%s' is %s without a scale, which CAST to int32, moves and signal operators alone may read: "
                "convert the model with int8 quantization, or without any",
                t->name, t->is_unsigned ? "an integer without a sign" : nuc_dtype_name(t->dtype));
        if (t != NULL && t->is_variable && !has_state(op->code))
            nuc_ti_fail(ti, "tensor '%s' keeps a state, which SVDF and recurrent layers alone may read", t->name);
    }
    const bool has_none = op->code == NUC_LT_ASSIGN_VARIABLE || op->code == NUC_LT_CALL_ONCE;
    if (op->n_outputs != (has_none ? 0 : 1) && (op->n_outputs == 0 || !has_several_results(op->code)))
        nuc_ti_fail(ti, "has %u results, %s is handled", op->n_outputs, has_none ? "none" : "one");
    for (uint32_t k = 0; k < op->n_outputs && op->code != NUC_LT_VAR_HANDLE; k++) {
        const struct nuc_lt_tensor *t = &ti->s->tensors[op->outputs[k]];
        check_value(ti, t);
        if (is_of_signals(t) && !takes_signals(op))
            nuc_ti_fail(
                ti,
                "makes '%s', %s without a scale, as CAST from int32, moves and signal operators alone may: convert "
                "the model with int8 quantization, or without any",
                t->name, t->is_unsigned ? "an integer without a sign" : nuc_dtype_name(t->dtype));
    }
}

/* ---- weights as floats ---- */

/* Quantized and half-precision constants among float values: what LiteRT calls dynamic-range quantization. */
static bool stands_for_floats(const struct nuc_lt_tensor *t)
{
    bool scaled = t->quant.count > 0 && (t->dtype == NUC_I8 || t->dtype == NUC_U8 || t->dtype == NUC_I16);

    return t->data.data != NULL && (scaled || t->dtype == NUC_F16 || t->dtype == NUC_BF16);
}

/*
 * The operator as its importer sees it: with float weights where its result is float. Each constant is converted once;
 * an operator in int8 that reads it, too, goes on reading the integers.
 */
static struct nuc_lt_op read_as_float(struct nuc_ti *ti, const struct nuc_lt_op *op)
{
    struct nuc_lt_op copy = *op;
    uint32_t n = ti->s->n_tensors;
    bool is_float = op->n_outputs > 0 && ti->tensors[op->outputs[0]].dtype == NUC_F32;

    copy.inputs = nuc_copy(ti->cx, op->inputs, op->n_inputs * sizeof *op->inputs);
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        const struct nuc_lt_tensor *t = op->inputs[i] < 0 ? NULL : &ti->tensors[op->inputs[i]];
        if (t == NULL || !is_float || op->code == NUC_LT_DEQUANTIZE || op->code == NUC_LT_CAST || !stands_for_floats(t))
            continue;
        struct nuc_lt_tensor *as_float = &ti->tensors[n + (uint32_t)op->inputs[i]];
        if (as_float->data.data == NULL) {
            *as_float = *t;
            as_float->data = nuc_ti_as_floats(ti, t);
            as_float->dtype = NUC_F32;
            as_float->quant.count = 0;
        }
        copy.inputs[i] += (int32_t)n;
    }
    return copy;
}

/* Operands of no elements have no part in what is joined. */
static void leave_out_nothing(struct nuc_ti *ti)
{
    struct nuc_lt_op *op = &ti->current;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < op->n_inputs; i++) {
        const struct nuc_lt_tensor *t = op->inputs[i] < 0 ? NULL : &ti->tensors[op->inputs[i]];
        if (t == NULL || t->data.data == NULL || nuc_lt_elements(t) != 0)
            op->inputs[kept++] = op->inputs[i];
    }
    op->n_inputs = kept > 0 ? kept : op->n_inputs;
}

/* ---- operators ---- */

/* The first name of the tensor that the operator makes: converters join those of all operators that became one. */
static const char *operator_label(const struct nuc_ti *ti)
{
    const char *name = ti->op->n_outputs > 0 ? ti->s->tensors[ti->op->outputs[0]].name : NULL;

    if (name == NULL || *name == '\0' || *name == ';')
        return NULL;
    return nuc_plain_text(ti->cx, nuc_format(ti->cx, "%.*s", (int)strcspn(name, ";"), name));
}

/* Of types that no tensor is read with, handles of variables alone are handled. */
static void check_types(const struct nuc_ti *ti)
{
    const struct nuc_lt_op *op = ti->op;

    for (uint32_t k = 0; k < op->n_inputs + op->n_outputs; k++) {
        const int32_t of = k < op->n_inputs ? op->inputs[k] : op->outputs[k - op->n_inputs];
        const struct nuc_lt_tensor *t = of < 0 ? NULL : &ti->s->tensors[of];
        if (t != NULL && t->unhandled != NULL && !(t->is_resource && is_of_variables(op->code)))
            nuc_ti_fail(ti, "%s", nuc_lt_type_text(ti->cx, t->name, t->unhandled));
    }
}

void nuc_ti_import_operator(struct nuc_ti *ti, uint32_t index)
{
    ti->op = &ti->s->ops[index];
    ti->index = index;
    check_types(ti);
    ti->before = NULL;
    ti->current = read_as_float(ti, ti->op);
    ti->op = &ti->current;
    if (ti->op->code == NUC_LT_CONCATENATION)
        leave_out_nothing(ti);
    struct nuc_source *source = nuc_alloc(ti->cx, sizeof *source);
    *source = (struct nuc_source){.file = nuc_base_name(ti->m->file),
                                  .line = (int)ti->index,
                                  .op = nuc_lt_code_name(ti->cx, ti->op->code),
                                  .call = nuc_format(ti->cx, "%u", ti->index),
                                  .label = operator_label(ti)};
    ti->source = source;
    nuc_ti_restate(ti);
    if (nuc_ti_fold(ti))
        return;
    if (ti->op->code >= 0 && ti->op->code < NUC_LT_CODES && importers[ti->op->code] != NULL) {
        check_operands(ti);
        importers[ti->op->code](ti);
        nuc_ti_fold_result(ti);
        return;
    }
    if (ti->op->code == NUC_LT_CUSTOM) {
        const char *name = ti->op->custom_code;
        uint32_t n_operands = 3;
        nuc_ti_importer *import = strcmp(name, "Convolution2DTransposeBias") == 0 ? nuc_ti_transpose_conv_bias
                                                                                  : nuc_ti_signal(name, &n_operands);
        if (import == NULL)
            nuc_ti_fail(ti,
                        "custom operator '%s' is not handled: express it by operators of LiteRT, or cut the model "
                        "before it",
                        name);
        check_operands(ti);
        if (ti->op->n_inputs != n_operands)
            nuc_ti_fail(ti, "'%s' has %u operands instead of %u", name, ti->op->n_inputs, n_operands);
        import(ti);
        return;
    }
    nuc_ti_fail(ti, "is not handled: replace it in the model, or cut the model before it");
}

/* ---- operators that are not handled, where obstacles are collected ---- */

/* Reads what an operator would have made that was left out, and that cannot be an input. */
static bool misses_value(const struct nuc_ti *ti, const struct nuc_lt_op *op)
{
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        const struct nuc_lt_tensor *t = op->inputs[i] < 0 ? NULL : &ti->s->tensors[op->inputs[i]];
        const struct nuc_ti_value *v = t == NULL ? NULL : &ti->values[op->inputs[i]];
        if (t != NULL && t->data.data == NULL && !t->is_variable && t->unhandled == NULL && v->nodes[v->form] == NULL)
            return true;
    }
    return false;
}

static void check_result(struct nuc_context *cx, void *arg)
{
    const struct nuc_ti *ti = arg;

    (void)cx;
    for (uint32_t k = 0; k < ti->op->n_outputs; k++)
        check_value(ti, &ti->s->tensors[ti->op->outputs[k]]);
}

static void import_in_attempt(struct nuc_context *cx, void *arg)
{
    const struct importing *i = arg;

    (void)cx;
    nuc_ti_import_operator(i->ti, i->index);
}

static void import_or_cut(struct nuc_ti *ti, uint32_t index)
{
    const struct nuc_lt_op *op = &ti->s->ops[index];
    const bool misses = misses_value(ti, op);

    if (!misses && nuc_attempt(ti->cx, import_in_attempt, &(struct importing){ti, index}) == NUC_OK)
        return;
    if (!misses)
        nuc_add_obstacle(ti->cx, ti->m->file,
                         &(struct nuc_obstacle){.op = nuc_lt_code_name(ti->cx, op->code),
                                                .file = nuc_base_name(ti->m->file),
                                                .line = (int)index,
                                                .text = nuc_strdup(ti->cx, ti->cx->message)});
    ti->op = op;
    ti->index = index;
    if (ti->is_cut_read == NULL)
        ti->is_cut_read = nuc_alloc_array(ti->cx, (size_t)ti->s->n_tensors + 1, sizeof *ti->is_cut_read);
    for (uint32_t i = 0; i < op->n_inputs; i++) {
        if (op->inputs[i] >= 0)
            ti->is_cut_read[op->inputs[i]] = true;
    }
    /* Its results as inputs of the model. What has no such type or no sizes is left out with what reads it. */
    if (nuc_attempt(ti->cx, check_result, ti) != NUC_OK)
        return;
    for (uint32_t k = 0; k < ti->op->n_outputs; k++) {
        struct nuc_lt_tensor *t = &ti->tensors[ti->op->outputs[k]];
        struct nuc_ti_value *v = &ti->values[ti->op->outputs[k]];
        *v = (struct nuc_ti_value){.form = nuc_ti_own_form(t)};
        if (t->data.data == NULL && add_input(ti, t, v, nuc_format(ti->cx, "operator_%u_%u", ti->index, k)))
            ti->n_cut++;
    }
}

/* The value as its reader outside finds it: bytes in the order of the tensor's, and whether as an image. */
static struct nuc_node *result(struct nuc_ti *ti, uint32_t i, bool *image)
{
    const struct nuc_lt_tensor *t = &ti->s->tensors[ti->s->outputs[i]];
    const struct nuc_ti_value *v = &ti->values[ti->s->outputs[i]];

    if (v->nodes[v->form] == NULL && t->data.data != NULL) {
        /* A copy: no program gives one of its constants away. */
        int64_t strides[NUC_MAX_RANK];
        const struct nuc_meta meta = nuc_ti_meta(t, NUC_TI_PLAIN);
        nuc_dense_strides(&meta, strides);
        if (nuc_ti_is_quantized(t) || nuc_elements(&meta) != nuc_ti_held(t))
            nuc_fail(ti->cx, NUC_UNSUPPORTED, "%s: output '%s' is a constant: leave it out", ti->m->file, t->name);
        return nuc_ti_emit(ti, NUC_OP_CLONE, NUC_ARGS(nuc_ti_constant(ti, t, &meta, strides, 0)));
    }
    if (v->nodes[v->form] == NULL)
        nuc_fail(ti->cx, NUC_BAD_INPUT, "%s: output %u is computed by no operator", ti->m->file, i);
    struct nuc_node *node = v->nodes[v->form];
    *image = v->ordered[v->form] && v->form == NUC_TI_IMAGE;
    if (v->ordered[v->form])
        return node;
    bool quantized = nuc_ti_is_quantized(t);
    struct nuc_node *real = quantized ? nuc_ti_dequantize(ti, node, t) : node;
    if (v->form == NUC_TI_IMAGE) {
        static const int64_t to_plain[4] = {0, 2, 3, 1};
        real = nuc_ti_permute(ti, real, to_plain, 4);
    } else {
        real = nuc_ti_call(ti, NUC_OP_CONTIGUOUS, real);
        nuc_ti_infer(ti, real);
    }
    return quantized ? nuc_ti_quantize(ti, real, t) : real;
}

void nuc_ti_prepare(struct nuc_ti *ti, struct nuc_lt_subgraph *s)
{
    /* Those of the model and room for constants as floats. */
    struct nuc_lt_tensor *tensors = nuc_alloc_array(ti->cx, 2 * (size_t)s->n_tensors, sizeof *tensors);
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        tensors[i] = s->tensors[i];
        /* A scale that says nothing: that of a type without scales, which training leaves, or zero. */
        const struct nuc_lt_tensor *t = &s->tensors[i];
        bool scaled = t->dtype == NUC_I8 || t->dtype == NUC_U8 || t->dtype == NUC_I16 || t->dtype == NUC_I32;
        if (!scaled ||
            (t->dtype == NUC_I32 && t->quant.count == 1 && !(t->quant.scale[0] > 0) && !(t->quant.scale[0] < 0)))
            tensors[i].quant.count = 0;
    }
    s->tensors = ti->tensors = tensors;
    nuc_ti_adapt_tensors(ti);
    ti->values = nuc_alloc_array(ti->cx, 2 * (size_t)s->n_tensors, sizeof *ti->values);
}

static const bool *image_inputs(const struct nuc_ti *ti, uint32_t count)
{
    bool *images = nuc_alloc_array(ti->cx, count, sizeof *images);
    uint32_t i = 0;

    for (const struct nuc_node *n = ti->g->first; n != NULL; n = n->next) {
        if (nuc_is_user_input(n))
            images[i++] = n->vals[0].rank == 4;
    }
    return images;
}

static bool is_computed(const struct nuc_ti *ti, uint32_t tensor)
{
    const struct nuc_ti_value *v = &ti->values[tensor];

    return v->nodes[v->form] != NULL && nuc_is_call(v->nodes[v->form]);
}

/* Where operators were left out: outputs that are computed, and what those operators read; else an input. */
static void keep_outputs(const struct nuc_ti *ti, struct nuc_lt_subgraph *s)
{
    int32_t *kept = nuc_alloc_array(ti->cx, (size_t)s->n_outputs + s->n_tensors + 1, sizeof *kept);
    bool *is_kept = nuc_alloc_array(ti->cx, (size_t)s->n_tensors + 1, sizeof *is_kept);
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->n_outputs; i++) {
        if (is_computed(ti, (uint32_t)s->outputs[i]))
            is_kept[kept[count++] = s->outputs[i]] = true;
    }
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        if (ti->is_cut_read[i] && !is_kept[i] && is_computed(ti, i))
            kept[count++] = (int32_t)i;
    }
    if (count == 0 && s->n_inputs > 0)
        kept[count++] = s->inputs[0];
    s->outputs = kept;
    s->n_outputs = count;
}

/* Returns how many inputs that stand for results stay. */
static uint32_t remove_unread_cuts(const struct nuc_ti *ti)
{
    uint32_t i = 0, kept = 0;

    for (struct nuc_node *n = ti->g->first, *next; n != NULL && ti->n_cut > 0; n = next) {
        next = n->next;
        if (!nuc_is_user_input(n) || i++ < ti->s->n_inputs)
            continue;
        kept += n->n_users > 0;
        if (n->n_users == 0)
            nuc_remove_node(ti->g, n);
    }
    return kept;
}

/* Operators that other NPU compilers leave in a model: what they stand for is not to be had from the file. */
static void refuse_converted(struct nuc_context *cx, const struct nuc_lt_model *m, const struct nuc_lt_subgraph *s)
{
    static const struct {
        const char *code, *compiler;
    } known[] = {{"NeutronGraph", "the Neutron converter"},
                 {"ethos-u", "Vela, for an Ethos-U NPU"},
                 {"edgetpu-custom-op", "the Edge TPU Compiler"}};

    for (uint32_t i = 0; i < s->n_ops; i++) {
        for (size_t k = 0; k < sizeof known / sizeof known[0] && s->ops[i].code == NUC_LT_CUSTOM; k++) {
            if (strcmp(s->ops[i].custom_code, known[k].code) == 0)
                nuc_fail(cx, NUC_UNSUPPORTED,
                         "%s: operator %u (CUSTOM) is '%s': the model was compiled by %s: import it from before that",
                         m->file, i, known[k].code, known[k].compiler);
        }
    }
}

struct nuc_graph *nuc_import_litert(struct nuc_context *cx, const struct nuc_lt_model *m, uint32_t index,
                                    struct nuc_litert_io *io)
{
    struct nuc_lt_subgraph s = m->subgraphs[index];
    refuse_converted(cx, m, &s);
    nuc_lt_verify_structure(m);
    uint32_t n_inlined = 0;
    struct nuc_ti_state *states = NULL;
    struct nuc_ti ti = {.cx = cx,
                        .m = m,
                        .s = &s,
                        .g = nuc_graph_new(cx, m->file),
                        .formulas = nuc_ti_new_formulas(cx),
                        .n_inlined = &n_inlined,
                        .states = &states,
                        .subgraph = index,
                        .eight_bit_weights = io != NULL && io->eight_bit_weights};
    ti.g->short_names = true;
    nuc_ti_prepare(&ti, &s);
    /* Where obstacles are collected, an input that cannot be is one, and what reads it is left out. */
    int32_t *kept = nuc_alloc_array(cx, (size_t)s.n_inputs + 1, sizeof *kept);
    uint32_t count = 0;
    for (uint32_t i = 0; i < s.n_inputs; i++) {
        if (cx->obstacles == NULL)
            import_input(&ti, i);
        else if (nuc_attempt(cx, import_input_in_attempt, &(struct importing){&ti, i}) != NUC_OK) {
            nuc_add_obstacle(cx, m->file, &(struct nuc_obstacle){.text = nuc_strdup(cx, cx->message)});
            continue;
        }
        kept[count++] = s.inputs[i];
    }
    s.inputs = kept;
    s.n_inputs = count;
    for (uint32_t i = 0; i < ti.s->n_ops; i++)
        cx->obstacles != NULL ? import_or_cut(&ti, i) : nuc_ti_import_operator(&ti, i);
    if (ti.s->n_outputs == 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the model has no outputs", m->file);
    if (ti.is_cut_read != NULL)
        keep_outputs(&ti, &s);
    struct nuc_node **results = nuc_alloc_array(cx, (size_t)ti.s->n_outputs + ti.g->n_nodes, sizeof *results);
    bool *images = nuc_alloc_array(cx, ti.s->n_outputs, sizeof *images);
    for (uint32_t i = 0; i < ti.s->n_outputs; i++)
        results[i] = result(&ti, i, &images[i]);
    const uint32_t n_results = nuc_ti_return_states(&ti, results, ti.s->n_outputs);
    struct nuc_node *output = nuc_add_node(ti.g, NULL, NUC_OP_OUTPUT, "output");
    nuc_set_arg_nodes(output, ti.g, NUC_ARG(OUTPUT, values), results, n_results);
    nuc_remove_dead(ti.g);
    const uint32_t n_inputs = ti.s->n_inputs + remove_unread_cuts(&ti);
    if (io != NULL)
        *io = (struct nuc_litert_io){io->eight_bit_weights, n_inputs, ti.s->n_outputs, image_inputs(&ti, n_inputs),
                                     images};
    ti.g->short_names = false;
    nuc_label_sources(ti.g);
    nuc_give_back(cx, ti.tensors, 2 * (size_t)s.n_tensors * sizeof *ti.tensors);
    nuc_give_back(cx, ti.values, 2 * (size_t)s.n_tensors * sizeof *ti.values);
    return ti.g;
}

struct nuc_graph *nuc_import_tflite(struct nuc_context *cx, struct nuc_stored input, const char *signature,
                                    struct nuc_litert_io *io)
{
    const char *kept = nuc_strdup(cx, input.path); /* nodes name it as their source for as long as the graph lives */
    const struct nuc_lt_model *m = nuc_lt_read(cx, kept, nuc_read_stored(cx, input));

    /* The subgraph that a signature stands for. */
    struct nuc_text keys = {.cx = cx};
    const struct nuc_lt_signature *found = m->n_signatures > 0 ? &m->signatures[0] : NULL;
    for (uint32_t i = 0; i < m->n_signatures; i++) {
        const struct nuc_lt_signature *s = &m->signatures[i];
        nuc_text_addf(&keys, "%s'%s'", i == 0 ? "" : ", ", nuc_plain_text(cx, s->key));
        if (strcmp(s->key, signature != NULL ? signature : "serving_default") == 0)
            found = s;
    }
    if (signature != NULL && (found == NULL || strcmp(found->key, signature) != 0))
        nuc_fail(cx, NUC_BAD_USAGE, "--signature %s: %s has %s", signature, m->file,
                 m->n_signatures == 0 ? "no signatures: leave the option out"
                                      : nuc_format(cx, "these: %s", nuc_text_string(&keys)));
    if (signature == NULL && m->n_signatures > 1)
        nuc_warn(cx, "%s: of the signatures %s it is '%s' that is taken: --signature NAME takes another", m->file,
                 nuc_text_string(&keys), nuc_plain_text(cx, found->key));
    const uint32_t index = found == NULL ? 0 : found->subgraph;
    struct nuc_graph *g = nuc_import_litert(cx, m, index, io);

    /* Names, scales and the bytes of constants stay. */
    nuc_give_back(cx, m->subgraphs[index].tensors, m->subgraphs[index].n_tensors * sizeof(struct nuc_lt_tensor));
    nuc_give_back(cx, m->subgraphs[index].ops, m->subgraphs[index].n_ops * sizeof(struct nuc_lt_op));
    return g;
}
