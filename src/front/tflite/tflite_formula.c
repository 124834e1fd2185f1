/* Operators that formulas.def expresses: what a text calls `x`, `axes` or `alpha`, and its values as results. */
#include <string.h>

#include "ir/quant.h"
#include "litert/flexbuffer.h"
#include "litert/litert_ops.h"
#include "rewrite/formula/formula.h"
#include "tflite_import.h"

/* What formulas.def says of forms. */
enum form { PLAIN, IMAGE, OWN, OWN1, COMMON, LEFT };

struct row {
    int16_t code;
    uint8_t form;
    bool is_real; /* refuses quantized tensors */
    const char *text;
    const char *custom; /* the name of a custom operator, else NULL */
};

static const struct row rows[] = {
#define ANY false
#define REAL true
#define IS(name, form, numbers, ...) {NUC_LT_##name, form, numbers, #__VA_ARGS__, NULL},
#define CUSTOM(name, ...) {NUC_LT_CUSTOM, PLAIN, false, #__VA_ARGS__, name},
#include "formulas.def"
#define LT_CLIP(name, number, low, high) {number, OWN, false, "hardtanh(x, " #low ".0, " #high ".0)", NULL},
#include "litert/lt_ops.def"
};

enum { N_ROWS = sizeof rows / sizeof *rows, MOST_OPERANDS = 4 };

/* Those of a model, read as they are needed. */
struct nuc_ti_formulas {
    struct nuc_formulas *all;
    struct nuc_formula *read[N_ROWS];
};

struct nuc_ti_formulas *nuc_ti_new_formulas(struct nuc_context *cx)
{
    struct nuc_ti_formulas *f = nuc_alloc(cx, sizeof *f);

    f->all = nuc_formulas_new(cx);
    return f;
}

/* One that is built. */
struct build {
    struct nuc_ti *ti;
    enum form form_of_row;
    enum nuc_ti_form form;
    struct nuc_node *operands[MOST_OPERANDS]; /* those that were named */
};

static struct nuc_node *operand(struct build *b, uint32_t i)
{
    struct nuc_node *real = i < MOST_OPERANDS ? b->operands[i] : NULL;

    if (real == NULL)
        real = b->form_of_row == COMMON ? nuc_ti_broadcast(b->ti, i, b->form) : nuc_ti_real(b->ti, i, b->form);
    if (i < MOST_OPERANDS)
        b->operands[i] = real;
    return real;
}

/* ---- lists ---- */

static struct nuc_arg list_of(const struct nuc_ti *ti, const int64_t *values, uint32_t count)
{
    return nuc_ints_arg(nuc_copy(ti->cx, values, (count + (size_t)1) * sizeof *values), count);
}

/* The axes that constant operand 1 names, as a set of bits. */
static uint32_t axes_of(const struct nuc_ti *ti)
{
    const uint32_t rank = nuc_ti_in(ti, 0)->rank;
    int64_t list[NUC_MAX_RANK];
    uint32_t count = nuc_ti_integers(ti, 1, NUC_MAX_RANK, list), set = 0;

    for (uint32_t i = 0; i < count; i++) {
        int32_t axis = nuc_lt_axis(list[i], rank);
        if (axis < 0)
            nuc_ti_fail(ti, "axis %lld does not exist", (long long)list[i]);
        set |= 1u << axis;
    }
    if (set == 0)
        nuc_ti_fail(ti, "no axis is given");
    return set;
}

/* The same as dimensions of the operand in its form, in their order. */
static struct nuc_arg axes(const struct build *b)
{
    uint32_t set = axes_of(b->ti), count = 0;
    int64_t dims[NUC_MAX_RANK + 1];

    for (uint32_t dim = 0; dim < nuc_ti_in(b->ti, 0)->rank; dim++) {
        if (set >> nuc_ti_axis(b->form, dim) & 1u)
            dims[count++] = dim;
    }
    return list_of(b->ti, dims, count);
}

/* The dimension for each axis of the operand whose form it is. */
static struct nuc_arg dims(const struct build *b)
{
    int64_t dims[NUC_MAX_RANK + 1];
    uint32_t rank = nuc_ti_in(b->ti, b->form_of_row == OWN1)->rank;

    for (uint32_t axis = 0; axis < rank; axis++)
        dims[axis] = nuc_ti_dim(b->form, axis);
    return list_of(b->ti, dims, rank);
}

/* torch's list: pairs from the last dimension to the first. Pairs at its end that pad nothing are left out. */
static struct nuc_arg pads(const struct build *b)
{
    struct nuc_ti *ti = b->ti;
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    int64_t pairs[2 * NUC_MAX_RANK], list[2 * NUC_MAX_RANK + 1] = {0};
    uint32_t used = 2;

    if (nuc_ti_integers(ti, 1, 2 * NUC_MAX_RANK, pairs) != 2 * x->rank)
        nuc_ti_fail(ti, "needs two numbers for each of %u dimensions", x->rank);
    for (uint32_t k = 0; k < x->rank; k++) {
        uint32_t axis = nuc_ti_axis(b->form, x->rank - 1 - k);
        for (uint32_t side = 0; side < 2; side++) {
            int64_t n = pairs[2 * axis + side];
            if (n < 0 || n > INT32_MAX)
                nuc_ti_fail(ti, "pads axis %u by %lld", axis, (long long)n);
            list[2 * k + side] = n;
            used = n != 0 ? 2 * (k + 1) : used;
        }
    }
    return list_of(ti, list, used);
}

/* The real value of PADV2's number, which has the quantization of the input. */
static struct nuc_arg pad_value(const struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *value = nuc_ti_in(ti, 2);

    if (value->data.data == NULL || nuc_lt_elements(value) != 1 || value->dtype != x->dtype)
        nuc_ti_fail(ti, "the padded number must be one constant of the operand's type");
    struct nuc_lt_tensor number = *value;
    number.quant = x->quant;
    return nuc_float_arg((double)*(const float *)(const void *)nuc_ti_as_floats(ti, &number).data);
}

/* Begin, end and step of each axis. */
static struct nuc_arg cuts(const struct nuc_ti *ti)
{
    struct nuc_ti_cut cuts[NUC_MAX_RANK];
    int64_t list[3 * NUC_MAX_RANK + 1] = {0};
    const uint32_t rank = nuc_ti_in(ti, 0)->rank;

    if (!nuc_ti_strided_cuts(ti, cuts))
        nuc_ti_fail(ti, "needs as many constant begins as ends and steps");
    for (uint32_t axis = 0; axis < rank; axis++) {
        list[3 * axis] = cuts[axis].begin;
        list[3 * axis + 1] = cuts[axis].end;
        list[3 * axis + 2] = cuts[axis].step;
    }
    return list_of(ti, list, 3 * rank);
}

/* ---- names ---- */

/* An option that has a name in lt_ops.def, or among those of a custom operator. */
static bool option(const struct nuc_ti *ti, const char *name, struct nuc_arg *value)
{
    const struct nuc_lt_fields fields = nuc_lt_fields(ti->op->code);
    int64_t number;

    if (ti->op->code == NUC_LT_CUSTOM && nuc_flex_int(ti->op->options.custom.options, name, &number)) {
        *value = nuc_int_arg(number);
        return true;
    }
    for (size_t i = 0; i < fields.n; i++) {
        const struct nuc_lt_field *f = &fields.list[i];
        if (f->text == NULL || strcmp(f->text, name) != 0)
            continue;
        if (f->kind == NUC_LT_FIELD_REAL)
            *value = nuc_float_arg((double)*(const float *)nuc_lt_member(&ti->op->options, f));
        else if (f->kind == NUC_LT_FIELD_FLAG)
            *value = nuc_bool_arg(nuc_lt_field_int(&ti->op->options, f, 0) != 0);
        else
            *value = nuc_int_arg(nuc_lt_field_int(&ti->op->options, f, 0));
        return true;
    }
    if (ti->op->code == NUC_LT_CUSTOM && strcmp(name, "activation") != 0)
        nuc_ti_fail(ti, "has no number '%s' among its options", name);
    return false;
}

/* "ints2" is "ints" of operand 2. */
static bool is_numbered(const char *name, const char *word)
{
    const size_t length = strlen(word);

    return strncmp(name, word, length) == 0 && name[length] >= '0' && name[length] <= '9' && name[length + 1] == '\0';
}

/* What formulas.def says of names. */
static bool value_of(void *of, const char *name, struct nuc_arg *value)
{
    struct build *b = of;
    struct nuc_ti *ti = b->ti;
    const union nuc_lt_options *o = &ti->op->options;
    static const char letters[] = "xyzw";
    const char *letter = strchr(letters, name[0]);
    const char *digit = name + strcspn(name, "0123456789");
    uint32_t number = *digit == '\0' ? 0 : (uint32_t)(*digit - '0');

    if (letter != NULL && name[1] == '\0') {
        *value = nuc_node_arg(operand(b, (uint32_t)(letter - letters)));
    } else if (strcmp(name, "operands") == 0) {
        struct nuc_node **all = nuc_alloc_array(ti->cx, ti->op->n_inputs, sizeof(struct nuc_node *));
        for (uint32_t i = 0; i < ti->op->n_inputs; i++)
            all[i] = operand(b, i);
        *value = nuc_nodes_arg(all, ti->op->n_inputs);
    } else if (is_numbered(name, "ints") || is_numbered(name, "lengths")) {
        const uint32_t most = name[0] == 'i' ? NUC_MAX_RANK : ti->op->n_outputs;
        int64_t *list = nuc_alloc_array(ti->cx, most, sizeof *list);
        *value = nuc_ints_arg(list, nuc_ti_integers(ti, number, most, list));
    } else if (is_numbered(name, "sizes")) {
        const struct nuc_meta meta = nuc_ti_meta(nuc_ti_in(ti, number), NUC_TI_PLAIN);
        *value = list_of(ti, meta.sizes, meta.rank);
    } else if (is_numbered(name, "name")) {
        *value = (struct nuc_arg){.kind = NUC_ARG_STRING, .u.string = nuc_ti_in(ti, number)->name};
    } else if (is_numbered(name, "is_constant")) {
        *value = nuc_bool_arg(nuc_ti_in(ti, number)->data.data != NULL);
    } else if (is_numbered(name, "flat")) {
        static const int64_t one = 1;
        const int64_t count = nuc_lt_elements(nuc_ti_in(ti, number));
        const struct nuc_meta meta = nuc_meta_make(nuc_ti_in(ti, number)->dtype, &count, 1);
        *value = nuc_node_arg(nuc_ti_constant(ti, nuc_ti_in(ti, number), &meta, &one, 0));
    } else if (strcmp(name, "axes") == 0) {
        *value = axes(b);
    } else if (strcmp(name, "dims") == 0) {
        *value = dims(b);
    } else if (strcmp(name, "pads") == 0) {
        *value = pads(b);
    } else if (strcmp(name, "cuts") == 0) {
        *value = cuts(ti);
    } else if (strcmp(name, "reshapes") == 0) {
        *value = nuc_bool_arg((o->strided_slice.shrink_axis_mask | o->strided_slice.new_axis_mask) != 0);
    } else if (strcmp(name, "pad_value") == 0) {
        *value = pad_value(ti);
    } else if (strcmp(name, "results") == 0) {
        *value = nuc_int_arg(ti->op->n_outputs);
    } else {
        return option(ti, name, value);
    }
    return true;
}

static void refuse(void *of, const char *text)
{
    const struct build *b = of;

    nuc_ti_fail(b->ti, "%s", text);
}

/* ---- building ---- */

static bool keeps_dims(const struct nuc_ti *ti)
{
    struct nuc_arg value;

    return option(ti, "keep_dims", &value) && value.u.b;
}

static enum nuc_ti_form form_of(const struct nuc_ti *ti, enum form form)
{
    switch (form) {
    case IMAGE:
        return NUC_TI_IMAGE;
    case OWN:
    case OWN1:
        return nuc_ti_form_of(ti, form == OWN1);
    case COMMON:
        return nuc_ti_common_form(ti, ti->op->n_inputs);
    case LEFT: {
        /* What is left of an image is in the tensor's order when the channels go, or height and width do. */
        const uint32_t set = axes_of(ti);
        const bool is_plain_left = (set & 8u) != 0 || (set & 6u) == 6u;
        return keeps_dims(ti) || is_plain_left ? nuc_ti_form_of(ti, 0) : NUC_TI_PLAIN;
    }
    case PLAIN:
    default:
        return NUC_TI_PLAIN;
    }
}

/* `out` of a formula, in front of which it is built: of the result's type and sizes, read as the result will be. */
static struct nuc_node *add_place(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *y = nuc_ti_out(ti);
    const bool is_quantized = nuc_ti_is_quantized(y);
    struct nuc_meta meta = nuc_ti_meta(y, NUC_TI_PLAIN);
    const enum nuc_op op = is_quantized ? NUC_OP_DEQUANTIZE_PER_TENSOR : NUC_OP_CLONE;
    struct nuc_node *place = nuc_add_node(ti->g, NULL, op, "result");

    /* It goes when the operator is done: the others are counted as if it had not been there. */
    place->id = --ti->g->next_id;
    place->source = ti->source;
    if (is_quantized) {
        const struct nuc_quant quant = {
            .scale = (double)y->quant.scale[0], .zero_point = y->quant.zero_point[0], .axis = -1, .dtype = y->dtype};
        nuc_set_quant(place, &quant);
        meta.dtype = NUC_F32;
    }
    nuc_set_val(ti->g, place, &meta);
    return place;
}

/* The options' fused activation, where they have one. */
static enum nuc_lt_activation activation_of(const struct nuc_ti *ti)
{
    struct nuc_arg value = {.kind = NUC_ARG_NONE};

    return option(ti, "activation", &value) ? (enum nuc_lt_activation)value.u.i : NUC_LT_ACT_NONE;
}

static void give(void *of, uint32_t k, struct nuc_node *value)
{
    const struct build *b = of;
    struct nuc_ti *ti = b->ti;
    const bool goes_plain = b->form_of_row == LEFT && !keeps_dims(ti);

    if (k >= ti->op->n_outputs)
        nuc_ti_fail(ti, "makes more than the %u results it has", ti->op->n_outputs);
    if (k == 0)
        value = nuc_ti_activate(ti, value, activation_of(ti));
    if (b->form_of_row == PLAIN && ti->op->n_outputs == 1)
        nuc_ti_define_viewed(ti, value);
    else
        nuc_ti_define_result(ti, k, value, goes_plain ? NUC_TI_PLAIN : b->form);
}

void nuc_ti_formula(struct nuc_ti *ti)
{
    struct nuc_ti_formulas *f = ti->formulas;
    struct nuc_node *place = ti->before = add_place(ti);

    for (uint32_t i = 0; i < N_ROWS; i++) {
        if (rows[i].code != ti->op->code ||
            (rows[i].custom != NULL && strcmp(rows[i].custom, ti->op->custom_code) != 0))
            continue;
        struct build b = {.ti = ti, .form_of_row = (enum form)rows[i].form};
        const struct nuc_formula_host host = {ti->g, place, &b, value_of, refuse, give};
        if (rows[i].is_real)
            nuc_ti_need_float(ti);
        b.form = form_of(ti, b.form_of_row);
        if (f->read[i] == NULL)
            f->read[i] = nuc_formula_new(ti->cx, nuc_lt_code_name(ti->cx, rows[i].code), rows[i].text);
        if (!nuc_host_formula_holds(f->all, f->read[i], &host))
            continue;
        if (nuc_host_formula_build(f->all, f->read[i], &host) < ti->op->n_outputs)
            nuc_ti_fail(ti, "does not make all of the %u results it has", ti->op->n_outputs);
        break;
    }
    ti->before = NULL;
    nuc_remove_node(ti->g, place);
}
