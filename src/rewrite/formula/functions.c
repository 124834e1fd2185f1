/* The functions of formulas that are no operators: sizes, lists, constants, views that leave out what changes nothing.
 */
#include <math.h>
#include <string.h>

#include "host/numbers.h"
#include "host/text.h"
#include "ir/args.h"
#include "ir/masks.h"
#include "ir/quant.h"
#include "npu/layout/orders.h"
#include "rewrite/expand/expand.h"
#include "rewrite/formula/term.h"
#include "rewrite/insert.h"
#include "rewrite/known.h"

/* ---- constants ---- */

bool nuc_formula_constant(const char *name, struct nuc_arg *value)
{
    static const struct {
        const char *name;
        struct nuc_arg value;
    } rows[] = {
        {"none", {.kind = NUC_ARG_NONE}},
        {"true", {.kind = NUC_ARG_BOOL, .u.b = true}},
        {"false", {.kind = NUC_ARG_BOOL, .u.b = false}},
        {"inf", {.kind = NUC_ARG_FLOAT, .u.f = HUGE_VAL}},
        {"pi", {.kind = NUC_ARG_FLOAT, .u.f = M_PI}},
        {"ln2", {.kind = NUC_ARG_FLOAT, .u.f = M_LN2}},
        {"float_max", {.kind = NUC_ARG_FLOAT, .u.f = 0x1.fffffep127}},
        {"float_min", {.kind = NUC_ARG_FLOAT, .u.f = 0x1p-126}},
        {"masked", {.kind = NUC_ARG_FLOAT, .u.f = (double)NUC_MASKED}},
        {"preserve_format", {.kind = NUC_ARG_MEMORY_FORMAT, .u.memory_format = NUC_PRESERVE_FORMAT}},
        {"float32", {.kind = NUC_ARG_DTYPE, .u.dtype = NUC_F32}},
        {"float64", {.kind = NUC_ARG_DTYPE, .u.dtype = NUC_F64}},
        {"int64", {.kind = NUC_ARG_DTYPE, .u.dtype = NUC_I64}},
        {"int32", {.kind = NUC_ARG_DTYPE, .u.dtype = NUC_I32}},
        {"int16", {.kind = NUC_ARG_DTYPE, .u.dtype = NUC_I16}},
        {"int8", {.kind = NUC_ARG_DTYPE, .u.dtype = NUC_I8}},
        {"uint8", {.kind = NUC_ARG_DTYPE, .u.dtype = NUC_U8}},
        {"bool", {.kind = NUC_ARG_DTYPE, .u.dtype = NUC_BOOL}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            *value = rows[i].value;
            return true;
        }
    }
    return false;
}

bool nuc_formula_number(const char *name, const struct nuc_arg *args, uint32_t count, struct nuc_arg *value)
{
    static const struct {
        const char *name;
        double (*of)(double x);
    } rows[] = {{"sqrt", sqrt}, {"log", log},  {"exp", exp},         {"floor", floor},
                {"ceil", ceil}, {"abs", fabs}, {"round", nearbyint}, {"cos", cos}};
    bool whole = true;

    for (uint32_t i = 0; i < count; i++) {
        if (!nuc_is_number_arg(&args[i]))
            return false;
        whole = whole && args[i].kind == NUC_ARG_INT;
    }
    if (count == 0)
        return false;
    double x = nuc_number_arg(&args[0]), y = count == 2 ? nuc_number_arg(&args[1]) : 0;
    if (strcmp(name, "neg") == 0)
        *value = whole && args[0].u.i != INT64_MIN ? nuc_int_arg(-args[0].u.i) : nuc_float_arg(-x);
    else if (count == 2 && strcmp(name, "minimum") == 0)
        *value = args[x <= y ? 0 : 1];
    else if (count == 2 && strcmp(name, "maximum") == 0)
        *value = args[x >= y ? 0 : 1];
    else if (count == 2 && strcmp(name, "pow") == 0)
        *value = nuc_float_arg(pow(x, y));
    else if (strcmp(name, "isinf") == 0)
        *value = nuc_bool_arg(isinf(x));
    else if (strcmp(name, "isfinite") == 0)
        *value = nuc_bool_arg(isfinite(x));
    else if (strcmp(name, "single") == 0) /* rounded to float32 */
        *value = nuc_float_arg((double)(float)x);
    else if (strcmp(name, "whole") == 0) /* the int that a number is */
        *value = nuc_int_arg(fabs(x) < 0x1p62 ? (int64_t)x : 0);
    else {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (count == 1 && strcmp(rows[i].name, name) == 0) {
                *value = whole && strcmp(name, "abs") == 0 ? nuc_int_arg(args[0].u.i < 0 ? -args[0].u.i : args[0].u.i)
                                                           : nuc_float_arg(rows[i].of(x));
                return true;
            }
        }
        return false;
    }
    return true;
}

/* ---- reading arguments ---- */

static struct nuc_node *tensor(const struct nuc_formula_site *s, const struct nuc_arg *a)
{
    if (a->kind != NUC_ARG_NODE || a->u.node->n_vals == 0)
        nuc_formula_fail(s, "an argument is not a tensor: export the model again");
    return a->u.node;
}

static const struct nuc_meta *meta(const struct nuc_formula_site *s, const struct nuc_arg *a)
{
    return &tensor(s, a)->vals[0];
}

static int64_t whole(const struct nuc_formula_site *s, const struct nuc_arg *a)
{
    if (a->kind != NUC_ARG_INT)
        nuc_formula_fail(s, "an argument is not an int: export the model again");
    return a->u.i;
}

static const struct nuc_arg *ints(const struct nuc_formula_site *s, const struct nuc_arg *a)
{
    if (a->kind != NUC_ARG_INTS)
        nuc_formula_fail(s, "an argument is not a list of ints: export the model again");
    return a;
}

/* Of a type or a tensor. */
static enum nuc_dtype type(const struct nuc_formula_site *s, const struct nuc_arg *a)
{
    return a->kind == NUC_ARG_DTYPE ? a->u.dtype : meta(s, a)->dtype;
}

/* Of a tensor, a list of sizes or a number of dimensions. */
static uint32_t rank_of(const struct nuc_formula_site *s, const struct nuc_arg *a)
{
    return a->kind == NUC_ARG_INT ? (uint32_t)a->u.i : a->kind == NUC_ARG_INTS ? a->count : meta(s, a)->rank;
}

static uint32_t axis_of(const struct nuc_formula_site *s, const struct nuc_arg *dim, uint32_t rank)
{
    const int64_t d = whole(s, dim);
    uint32_t found;

    if (!nuc_find_dim(d, rank, &found))
        nuc_formula_fail(s, "dimension %lld does not exist in a tensor of rank %u", (long long)d, (unsigned)rank);
    return found;
}

static struct nuc_arg new_list(const struct nuc_formula_site *s, uint32_t count, int64_t **values)
{
    *values = nuc_alloc_array(s->g->cx, (size_t)count + 1, sizeof **values);
    return nuc_ints_arg(*values, count);
}

enum { MAX_WAVES = 1 << 22, MAX_WEIGHTS = 1 << 24 }; /* numbers in the matrix of a transform, of a resizing */

#define FUNCTION(name) static struct nuc_arg call_##name(const struct nuc_formula_site *s, const struct nuc_arg *args)

/* ---- sizes and types ---- */

FUNCTION(rank)
{
    return nuc_int_arg(meta(s, &args[0])->rank);
}

FUNCTION(shape)
{
    return nuc_ints_arg(meta(s, &args[0])->sizes, meta(s, &args[0])->rank);
}

/* A tensor without dimensions is one element along each. */
FUNCTION(size)
{
    const struct nuc_meta *m = meta(s, &args[0]);

    return nuc_int_arg(m->rank == 0 ? 1 : m->sizes[axis_of(s, &args[1], m->rank)]);
}

FUNCTION(numel)
{
    return nuc_int_arg(nuc_elements(meta(s, &args[0])));
}

FUNCTION(dtype)
{
    return (struct nuc_arg){.kind = NUC_ARG_DTYPE, .u.dtype = type(s, &args[0])};
}

FUNCTION(floating)
{
    return nuc_bool_arg(nuc_is_floating(type(s, &args[0])));
}

FUNCTION(is_edge)
{
    (void)args;
    return nuc_bool_arg(s->g->dialect == NUC_EDGE);
}

FUNCTION(read)
{
    return nuc_bool_arg(nuc_is_item_read(s->node, (uint32_t)whole(s, &args[0])));
}

/* ---- lists ---- */

FUNCTION(len)
{
    if (args[0].kind != NUC_ARG_INTS && args[0].kind != NUC_ARG_FLOATS && args[0].kind != NUC_ARG_NODES)
        nuc_formula_fail(s, "an argument is not a list: export the model again");
    return nuc_int_arg(args[0].count);
}

/* The sums of the elements up to each. */
FUNCTION(sums_to)
{
    int64_t *sums, sum = 0;
    const struct nuc_arg *list = ints(s, &args[0]), out = new_list(s, list->count, &sums);

    for (uint32_t i = 0; i < list->count; i++) {
        if (__builtin_add_overflow(sum, list->u.ints[i], &sum))
            nuc_formula_fail(s, "a list has numbers whose sum is out of range");
        sums[i] = sum;
    }
    return out;
}

/* Sizes that the archive states for item i. */
FUNCTION(stated)
{
    int64_t i = whole(s, &args[0]);

    if (i < 0 || i >= (int64_t)s->node->n_vals)
        nuc_formula_fail(s, "the archive states %u values", (unsigned)s->node->n_vals);
    return nuc_ints_arg(s->node->vals[i].sizes, s->node->vals[i].rank);
}

FUNCTION(same)
{
    return nuc_bool_arg(tensor(s, &args[0]) == tensor(s, &args[1]));
}

/* Whether a tensor is a parameter, a buffer or a constant. */
FUNCTION(static)
{
    return nuc_bool_arg(nuc_is_static(tensor(s, &args[0])));
}

/* Whether a tensor is known to be zero everywhere. */
FUNCTION(zero)
{
    const struct nuc_node *x = tensor(s, &args[0]);
    const void *data = nuc_is_static(x) && x->data != NULL ? nuc_const_contiguous(s->g, x) : NULL;
    bool is_zero = data != NULL;

    for (int64_t i = 0; is_zero && i < nuc_elements(&x->vals[0]); i++)
        is_zero = nuc_numbers_equal(nuc_number_at(x->vals[0].dtype, data, (size_t)i), 0);
    return nuc_bool_arg(is_zero);
}

FUNCTION(quantized)
{
    return nuc_bool_arg(nuc_is_dequantize(tensor(s, &args[0])));
}

FUNCTION(finite)
{
    return nuc_bool_arg(nuc_is_finite(s->g, tensor(s, &args[0])));
}

/* What lies beyond as many operators as are looked at may be anything. */
FUNCTION(stays_float)
{
    enum { MOST = 64 };
    const struct nuc_node *reached[MOST] = {tensor(s, &args[0])};
    uint32_t count = 1;

    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < reached[i]->n_users; k++) {
            const struct nuc_node *user = reached[i]->users[k];
            enum nuc_family family = nuc_op_family(user->op);
            if (user->op == NUC_OP_OUTPUT || family == NUC_FAMILY_CONV || family == NUC_FAMILY_MATRIX ||
                family == NUC_FAMILY_NORM || family == NUC_FAMILY_RECURRENT)
                continue;
            for (uint32_t v = 0; v < user->n_vals; v++) {
                if (user->vals[v].dtype != NUC_F32)
                    return nuc_bool_arg(false);
            }
            uint32_t known = 0;
            while (known < count && reached[known] != user)
                known++;
            if (known == MOST)
                return nuc_bool_arg(false);
            reached[known] = user;
            count += known == count;
        }
    }
    return nuc_bool_arg(true);
}

/* The elements of a tensor of ints that is known when the model is compiled; none where it is not. */
FUNCTION(known)
{
    struct nuc_node *x = tensor(s, &args[0]);
    const int64_t *values = nuc_known_integers(s->g, x);

    return values == NULL ? (struct nuc_arg){.kind = NUC_ARG_NONE}
                          : nuc_ints_arg(values, (uint32_t)nuc_elements(&x->vals[0]));
}

/* A constant, where a tensor is computed of constants alone. */
FUNCTION(folded)
{
    struct nuc_node *x = tensor(s, &args[0]);
    struct nuc_meta m = nuc_meta_make(x->vals[0].dtype, x->vals[0].sizes, x->vals[0].rank);
    const void *data = nuc_known_value(s->g, x);

    return nuc_node_arg(
        data == NULL ? x : nuc_add_constant(s->g, nuc_format(s->g->cx, "%s_constant", s->node->name), &m, data));
}

/* The bytes of a constant as those of another type and sizes; those of a computed value cannot be read so. */
FUNCTION(bytes_as)
{
    struct nuc_node *x = tensor(s, &args[0]);
    const struct nuc_meta *like = meta(s, &args[1]);
    const struct nuc_meta m = nuc_meta_make(like->dtype, like->sizes, like->rank);
    const void *bytes = nuc_known_value(s->g, x);

    if (bytes == NULL || nuc_bytes(&x->vals[0]) != nuc_bytes(&m))
        nuc_formula_fail(s, "takes the bytes of %s for %s: use to() to convert values",
                         nuc_dtype_name(x->vals[0].dtype), nuc_dtype_name(m.dtype));
    return nuc_node_arg(nuc_add_constant(s->g, nuc_format(s->g->cx, "%s_constant", s->node->name), &m, bytes));
}

/* The number in a constant of one element. */
FUNCTION(element_value)
{
    struct nuc_node *x = tensor(s, &args[0]);
    const void *data = nuc_elements(&x->vals[0]) == 1 ? nuc_known_value(s->g, x) : NULL;

    if (data == NULL)
        nuc_formula_fail(s, "has a parameter that is no constant of one element: make it one");
    return nuc_float_arg(nuc_number_at(x->vals[0].dtype, data, 0));
}

/*
 * x in the integers that another tensor is read from, as a model rounds it between two operators, in steps so much
 * larger if a factor is given; else x itself.
 */
FUNCTION(settled)
{
    struct nuc_node *x = tensor(s, &args[0]);
    struct nuc_quant quant;

    if (tensor(s, &args[1])->op != NUC_OP_DEQUANTIZE_PER_TENSOR || !nuc_dequantize_quant(args[1].u.node, &quant))
        return args[0];
    const struct nuc_int_range range = nuc_int_range(quant.dtype);
    quant.scale *= args[2].kind == NUC_ARG_NONE ? 1 : nuc_number_arg(&args[2]);
    quant.quant_min = range.low;
    quant.quant_max = range.high;
    x = nuc_insert_quant(s->g, s->node, NUC_OP_QUANTIZE_PER_TENSOR, x, &quant);
    return nuc_node_arg(nuc_insert_quant(s->g, s->node, NUC_OP_DEQUANTIZE_PER_TENSOR, x, &quant));
}

FUNCTION(axis)
{
    return nuc_int_arg(axis_of(s, &args[0], rank_of(s, &args[1])));
}

/* The dimensions that a reduction's argument names: None, an int or a list; none of a tensor without dimensions. */
FUNCTION(axes)
{
    int64_t *values;
    struct nuc_arg list;

    if (args[0].kind == NUC_ARG_NONE || meta(s, &args[1])->rank == 0)
        return nuc_ints_arg(NULL, 0);
    if (args[0].kind != NUC_ARG_INT)
        return *ints(s, &args[0]);
    list = new_list(s, 1, &values);
    values[0] = args[0].u.i;
    return list;
}

/* Elements [from, to) of a list, to its end where `to` is left out. */
FUNCTION(sub_list)
{
    struct nuc_arg list = args[0];
    int64_t from = whole(s, &args[1]);
    int64_t to = args[2].kind != NUC_ARG_NONE ? whole(s, &args[2]) : (int64_t)list.count;

    if ((list.kind != NUC_ARG_INTS && list.kind != NUC_ARG_NODES) || from < 0 || to < from || to > (int64_t)list.count)
        nuc_formula_fail(s, "a list of %u has no elements %lld to %lld", (unsigned)list.count, (long long)from,
                         (long long)to);
    list.count = (uint32_t)(to - from);
    if (list.count > 0 && list.kind == NUC_ARG_INTS)
        list.u.ints += from;
    else if (list.count > 0)
        list.u.nodes += from;
    return list;
}

FUNCTION(join)
{
    const struct nuc_arg *a = &args[0], *b = &args[1];
    uint32_t count = a->count + b->count;
    int64_t *values;

    if (a->kind == NUC_ARG_NODES || b->kind == NUC_ARG_NODES) {
        struct nuc_node **nodes = nuc_alloc_array(s->g->cx, count, sizeof(struct nuc_node *));
        for (uint32_t i = 0; i < count; i++)
            nodes[i] = i < a->count ? a->u.nodes[i] : b->u.nodes[i - a->count];
        return nuc_nodes_arg(nodes, count);
    }
    struct nuc_arg out = new_list(s, ints(s, a)->count + ints(s, b)->count, &values);
    for (uint32_t i = 0; i < out.count; i++)
        values[i] = i < a->count ? a->u.ints[i] : b->u.ints[i - a->count];
    return out;
}

/* Where each element that is not 0 stands among those; of others, one that exists. */
FUNCTION(ranks)
{
    const struct nuc_arg *list = ints(s, &args[0]);
    int64_t *values, before = 0;
    struct nuc_arg result = new_list(s, list->count, &values);

    for (uint32_t i = 0; i < list->count; i++) {
        before += list->u.ints[i] != 0;
        values[i] = before > 0 ? before - 1 : 0;
    }
    return result;
}

/* Each place as often as the list says, or its only number: [0, 1, 1] of [1, 2]. As many as the archive states. */
FUNCTION(places_times)
{
    const struct nuc_arg *times = ints(s, &args[0]);
    const int64_t n = whole(s, &args[1]), wanted = whole(s, &args[2]);
    double made = 0;

    if (times->count != n && times->count != 1)
        nuc_formula_fail(s, "%lld numbers of repetitions for %lld elements", (long long)times->count, (long long)n);
    for (uint32_t i = 0; i < times->count; i++)
        made += (double)nuc_at_least_0(times->u.ints[i]) * (times->count == 1 ? (double)n : 1);
    if (!nuc_numbers_equal(made, (double)wanted))
        nuc_formula_fail(s, "the archive states %lld elements, the repetitions make %.0f", (long long)wanted, made);
    int64_t *places = nuc_alloc_array(s->g->cx, (size_t)wanted + 1, sizeof *places), count = 0;
    for (int64_t i = 0; count < wanted; i++) {
        for (int64_t k = 0; k < times->u.ints[times->count == 1 ? 0 : i]; k++)
            places[count++] = i;
    }
    return nuc_ints_arg(places, (uint32_t)count);
}

/* Places from start to end of a dimension of n: outside of it the one at the edge, or the mirror of what is next to it.
 */
FUNCTION(bent_places)
{
    const int64_t n = whole(s, &args[0]), start = whole(s, &args[1]), count = whole(s, &args[2]) - start;
    int64_t *places = nuc_alloc_array(s->g->cx, (size_t)count + 1, sizeof *places);

    for (int64_t i = 0; i < count; i++) {
        int64_t at = i + start, far = at < 0 ? -at : at;
        places[i] = args[3].u.b ? (far < n ? far : 2 * (n - 1) - far) : at < 0 ? 0 : at < n ? at : n - 1;
    }
    return nuc_ints_arg(places, (uint32_t)count);
}

/* Indices of the next choice of `r` out of `n`; false after the last one. */
static bool next_choice(int64_t *choice, int64_t r, int64_t n, bool repeats)
{
    for (int64_t i = r; i > 0; i--) {
        int64_t last = repeats ? n - 1 : n - 1 - (r - i);
        if (choice[i - 1] >= last)
            continue;
        choice[i - 1]++;
        for (int64_t k = i; k < r; k++)
            choice[k] = repeats ? choice[k - 1] : choice[k - 1] + 1;
        return true;
    }
    return false;
}

FUNCTION(choices)
{
    const int64_t n = whole(s, &args[0]), r = whole(s, &args[1]), wanted = whole(s, &args[3]);
    const bool repeats = args[2].u.b;
    int64_t *choice = nuc_alloc_array(s->g->cx, (size_t)r, sizeof *choice);
    int64_t *places = nuc_alloc_array(s->g->cx, (size_t)wanted + 1, sizeof *places);
    struct nuc_arg out = nuc_ints_arg(places, 0);

    for (int64_t i = 0; i < r && !repeats; i++)
        choice[i] = i;
    for (bool more = repeats ? n > 0 : n >= r; more && out.count + r <= wanted; out.count += (uint32_t)r) {
        memcpy(places + out.count, choice, (size_t)r * sizeof *choice);
        more = next_choice(choice, r, n, repeats);
    }
    return out;
}

/* ---- constants of the graph ---- */

FUNCTION(number)
{
    if (!nuc_is_number_arg(&args[0]))
        nuc_formula_fail(s, "an argument is not a number: export the model again");
    return nuc_node_arg(nuc_insert_constant(s->g, s->node, type(s, &args[1]), nuc_number_arg(&args[0])));
}

/* int64 of ints and float32 of others, where no type is given. */
FUNCTION(numbers)
{
    const struct nuc_arg *list = &args[0], *sizes = ints(s, &args[1]);
    enum nuc_dtype dtype = args[2].kind != NUC_ARG_NONE ? type(s, &args[2])
                           : list->kind == NUC_ARG_INTS ? NUC_I64
                                                        : NUC_F32;
    struct nuc_meta m = nuc_meta_make(dtype, sizes->u.ints, sizes->count);
    double *values = nuc_alloc_array(s->g->cx, list->count + (size_t)1, sizeof *values);

    if ((list->kind != NUC_ARG_INTS && list->kind != NUC_ARG_FLOATS) || nuc_elements(&m) != (int64_t)list->count)
        nuc_formula_fail(s, "a constant of %s has not %u elements", nuc_meta_text(s->g->cx, &m), list->count);
    for (uint32_t i = 0; i < list->count; i++)
        values[i] = list->kind == NUC_ARG_INTS ? (double)list->u.ints[i] : list->u.floats[i];
    return nuc_node_arg(nuc_insert_values(s->g, s->node, &m, values));
}

FUNCTION(filled)
{
    struct nuc_meta m = nuc_meta_make(type(s, &args[2]), ints(s, &args[0])->u.ints, args[0].count);

    return nuc_node_arg(nuc_insert_filled(s->g, s->node, &m, nuc_number_arg(&args[1])));
}

/* In sizes, type and dim order of another tensor. */
FUNCTION(filled_as)
{
    return nuc_node_arg(nuc_insert_filled(s->g, s->node, meta(s, &args[0]), nuc_number_arg(&args[1])));
}

/*
 * The matrix [outputs, inputs] of a Fourier transform of length n by exp(+-2 pi i j k / n), times |factor|, whose sign
 * is that of the angles. Kinds: from real numbers to 0: real parts, 1: imaginary parts; from real parts and imaginary
 * ones behind them to 2 and 3: the same, 4: real numbers, where the inputs are half of a spectrum.
 */
FUNCTION(waves)
{
    const int64_t n = whole(s, &args[0]), inputs = whole(s, &args[1]), outputs = whole(s, &args[2]);
    const double factor = nuc_number_arg(&args[3]), turn = (factor < 0 ? -2 : 2) * M_PI / (double)n;
    const int64_t kind = whole(s, &args[4]), rows = kind < 2 ? 1 : 2, sizes[2] = {outputs, rows * inputs};

    if (n < 1 || inputs < 1 || outputs < 1)
        nuc_formula_fail(s, "transforms no elements");
    if ((double)sizes[0] * (double)sizes[1] > MAX_WAVES)
        nuc_formula_fail(s,
                         "is a transform of %lld elements, with a matrix of %lld x %lld where %d constants are the "
                         "limit: transform shorter frames (torch.stft), or do it outside of the model",
                         (long long)n, (long long)sizes[0], (long long)sizes[1], MAX_WAVES);
    float *matrix = nuc_alloc_array(s->g->cx, (size_t)(sizes[0] * sizes[1]), sizeof *matrix);
    for (int64_t k = 0; k < outputs; k++) {
        for (int64_t j = 0; j < inputs; j++) {
            const int64_t at_turn = j * k % n;
            const double angle = turn * (double)at_turn, twice = kind == 4 && j > 0 && 2 * j != n ? 2 : 1;
            /* Zero where it is: of what is real, the angle is that of a negative number or 0, never -pi. */
            const bool is_real = 2 * at_turn % n == 0, is_imaginary = !is_real && 4 * at_turn % n == 0;
            const double c = is_imaginary ? 0 : fabs(factor) * twice * cos(angle);
            const double z = is_real ? 0 : fabs(factor) * twice * sin(angle);
            float *at = matrix + k * sizes[1] + j;
            at[0] = (float)(kind % 2 == 0 ? c : z);
            if (rows == 2)
                at[inputs] = (float)(kind % 2 == 0 ? -z : c);
        }
    }
    return nuc_node_arg(nuc_insert_floats(s->g, s->node, matrix, sizes, 2));
}

/* Keys' kernel with parameter a: 1 at 0, 0 at other whole numbers. */
static double cubic(double x, double a)
{
    x = fabs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double triangle(double x)
{
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

/* Weights of four neighbours of a place, of which those outside stand for the pixel at the edge. */
static void weigh_four(float *row, int64_t n, double at)
{
    for (int k = -1; k <= 2; k++) {
        double place = floor(at) + k;
        int64_t index = place < 0 ? 0 : place < (double)n ? (int64_t)place : n - 1;
        row[index] += (float)cubic(at - place, -0.75);
    }
}

/* Of all pixels that the kernel, as wide as an output pixel, covers; weights sum up to 1. */
static void weigh_covered(float *row, int64_t n, double centre, double scale, bool is_cubic)
{
    double reach = (is_cubic ? 2.0 : 1.0) * (scale >= 1 ? scale : 1.0), shrink = scale >= 1 ? 1 / scale : 1.0, sum = 0;
    int64_t from = (int64_t)(centre - reach + 0.5), to = (int64_t)(centre + reach + 0.5);

    from = from < 0 ? 0 : from;
    to = to < n ? to : n;
    for (int64_t k = from; k < to; k++) {
        double x = ((double)k - centre + 0.5) * shrink;
        row[k] = (float)(is_cubic ? cubic(x, -0.5) : triangle(x));
        sum += (double)row[k];
    }
    for (int64_t k = from; k < to; k++)
        row[k] = (float)((double)row[k] / sum);
}

/* [m, n]: n elements, `scale` of them for each of m others, weighed as aten/src/ATen/native/cpu/UpSampleKernel.cpp. */
FUNCTION(resampled)
{
    const int64_t sizes[] = {whole(s, &args[0]), whole(s, &args[1])};
    const double scale = nuc_number_arg(&args[2]);
    const char *kernel = args[3].u.string;

    if (sizes[0] > MAX_WEIGHTS / sizes[1])
        nuc_formula_fail(s, "makes %lld of %lld elements, which takes too large a matrix: resize in two steps",
                         (long long)sizes[0], (long long)sizes[1]);
    float *matrix = nuc_alloc_array(s->g->cx, (size_t)(sizes[0] * sizes[1]), sizeof *matrix);
    for (int64_t i = 0; i < sizes[0]; i++) {
        double centre = scale * ((double)i + 0.5);
        if (strcmp(kernel, "cubic") == 0)
            weigh_four(matrix + i * sizes[1], sizes[1], args[4].u.b ? scale * (double)i : centre - 0.5);
        else
            weigh_covered(matrix + i * sizes[1], sizes[1], centre, scale, strcmp(kernel, "antialias_cubic") == 0);
    }
    return nuc_node_arg(nuc_insert_floats(s->g, s->node, matrix, sizes, 2));
}

FUNCTION(einstein)
{
    if (args[0].kind != NUC_ARG_STRING)
        nuc_formula_fail(s, "the equation or the operands are missing");
    return nuc_node_arg(nuc_insert_einsum(s->g, s->node, args[0].u.string, &args[1], &args[2]));
}

/* The equation of tensors, then of their sum, whose dimensions are numbered. */
FUNCTION(equation)
{
    const uint32_t count = args[3].kind == NUC_ARG_NONE ? 3 : 4;
    struct nuc_text out = {.cx = s->g->cx};

    for (uint32_t i = 0; i < count; i++) {
        nuc_text_addf(&out, "%s", i == 0 ? "" : i + 1 == count ? "->" : ",");
        for (uint32_t k = 0; k < ints(s, &args[i])->count; k++)
            nuc_text_addf(&out, "%c", 'A' + (int)(args[i].u.ints[k] % 26));
    }
    return (struct nuc_arg){.kind = NUC_ARG_STRING, .u.string = nuc_text_string(&out)};
}

/* Einstein's equation of two tensors that both have another dimension in front, over which it sums. */
FUNCTION(over_parts)
{
    const char *equation = args[0].kind == NUC_ARG_STRING ? args[0].u.string : "", *second = strchr(equation, ',');
    char letter = 'A';

    while (letter < 'Z' && strchr(equation, letter) != NULL)
        letter++;
    if (second == NULL)
        nuc_formula_fail(s, "has an equation of one tensor for two");
    return (struct nuc_arg){.kind = NUC_ARG_STRING,
                            .u.string = nuc_format(s->g->cx, "%c%.*s,%c%s", letter, (int)(second - equation), equation,
                                                   letter, second + 1)};
}

/* A constant that torch's tracing lifts: a buffer in front of the inputs, numbered on from those that there are. */
FUNCTION(lifted)
{
    const int64_t value = whole(s, &args[0]);
    struct nuc_meta m = nuc_meta_make(NUC_I64, NULL, 0);
    struct nuc_node *first_input = NULL;
    uint32_t buffers = 0;

    for (struct nuc_node *n = s->g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        buffers += n->input_kind == NUC_BUFFER;
        first_input = first_input == NULL && n->input_kind == NUC_USER_INPUT ? n : first_input;
    }
    struct nuc_node *number =
        nuc_add_constant(s->g, nuc_format(s->g->cx, "_lifted_tensor_constant%u", buffers), &m, &value);
    number->input_kind = NUC_BUFFER;
    if (first_input != NULL)
        nuc_move_before(s->g, number, first_input);
    return nuc_node_arg(number);
}

/* ---- views and copies ---- */

FUNCTION(cast)
{
    return nuc_node_arg(nuc_insert_cast(s->g, s->node, tensor(s, &args[0]), type(s, &args[1])));
}

FUNCTION(reshape)
{
    const struct nuc_arg *sizes = ints(s, &args[1]);

    return nuc_node_arg((s->g->dialect == NUC_ATEN ? nuc_insert_reshaped : nuc_insert_reshape)(
        s->g, s->node, tensor(s, &args[0]), sizes->u.ints, sizes->count));
}

/* A parameter in `parts`, of which number 3 comes in front of number 1, in `sizes`. */
FUNCTION(flat_parameter)
{
    const struct nuc_node *x = tensor(s, &args[0]);
    const int64_t *parts = ints(s, &args[1])->u.ints, *sizes = ints(s, &args[2])->u.ints;
    const struct nuc_meta meta = nuc_meta_make(x->vals[0].dtype, sizes, 4);
    const size_t bytes = (size_t)parts[4] * nuc_dtype_size(meta.dtype);
    const uint8_t *from = nuc_const_contiguous(s->g, x);

    if (parts[0] * parts[1] * parts[2] * parts[3] * parts[4] != nuc_elements(&x->vals[0]))
        nuc_formula_fail(s, "the weight %s has not the channels of the input", nuc_meta_text(s->g->cx, &x->vals[0]));
    uint8_t *data = nuc_alloc_array(s->g->cx, (size_t)(sizes[0] * sizes[1]), bytes), *to = data;

    for (int64_t o = 0; o < parts[0]; o++) {
        for (int64_t k = 0; k < parts[3]; k++) {
            for (int64_t i = 0; i < parts[1] * parts[2]; i++, to += bytes)
                memcpy(to, from + (size_t)((o * parts[1] * parts[2] + i) * parts[3] + k) * bytes, bytes);
        }
    }
    return nuc_node_arg(nuc_take_parameter(s->g, x, "_2d", &meta, data));
}

/* Channels last where `like` is, and x itself where that is not; contiguous where there is none. */
FUNCTION(in_order_of)
{
    struct nuc_node *x = tensor(s, &args[0]);
    const struct nuc_meta *m = &x->vals[0], *like = args[1].kind == NUC_ARG_NONE ? NULL : meta(s, &args[1]);

    if (like != NULL ? !nuc_is_channels_last(like) : nuc_is_contiguous(m))
        return args[0];
    const struct nuc_meta wanted = like != NULL ? nuc_in_channels_last_order(m) : nuc_in_contiguous_order(m);
    return nuc_node_arg(nuc_insert_clone(s->g, s->node, x, &wanted));
}

/* view_copy of a value as it lies in memory. */
FUNCTION(viewed)
{
    const struct nuc_arg *sizes = ints(s, &args[1]);

    return nuc_node_arg(nuc_insert_view(s->g, s->node, tensor(s, &args[0]), sizes->u.ints, sizes->count));
}

FUNCTION(permute)
{
    struct nuc_node *x = tensor(s, &args[0]);

    if (ints(s, &args[1])->count != x->vals[0].rank)
        nuc_formula_fail(s, "a tensor of rank %u has not %u dimensions", (unsigned)x->vals[0].rank,
                         (unsigned)args[1].count);
    return nuc_node_arg(nuc_insert_permuted(s->g, s->node, x, args[1].u.ints));
}

/* x [.., m, n] as [.., n, m]; of a transposed view the two permutations become one. */
FUNCTION(transposed)
{
    struct nuc_node *x = tensor(s, &args[0]);
    const uint32_t rank = x->vals[0].rank;
    int64_t dims[NUC_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i + 2 < rank ? i : 2 * rank - 3 - i;
    if (x->op == NUC_OP_TRANSPOSE && !x->in_place) {
        int64_t p = nuc_dim(x, NUC_ARG(TRANSPOSE, dim0), 0, rank), q = nuc_dim(x, NUC_ARG(TRANSPOSE, dim1), 0, rank);
        for (uint32_t i = 0; i < rank; i++)
            dims[i] = dims[i] == p ? q : dims[i] == q ? p : dims[i];
        x = nuc_operand(s->g, x, NUC_SELF);
    }
    return nuc_node_arg(nuc_insert_permuted(s->g, s->node, x, dims));
}

/* The matrices of a batch, in an order of batches of its own. */
static bool keeps_matrices(const struct nuc_node *node)
{
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF), *out = &node->vals[0];

    return (node->op == NUC_OP_EXPAND || node->op == NUC_OP_VIEW) && in != NULL && in->rank >= 2 && out->rank > 2 &&
           in->sizes[in->rank - 1] == out->sizes[out->rank - 1] && in->sizes[in->rank - 2] == out->sizes[out->rank - 2];
}

/* The parameter [out, in] of which a matrix, or each of a batch, is the transposed view; none: it is something else. */
FUNCTION(layer_weight)
{
    const struct nuc_node *x = tensor(s, &args[0]);

    while (keeps_matrices(x) || (x->op == NUC_OP_VIEW && nuc_same_sizes(&x->vals[0], nuc_input_meta(x, NUC_SELF))))
        x = nuc_arg_node(x, NUC_SELF);
    struct nuc_node *weight =
        x->op == NUC_OP_T || x->op == NUC_OP_TRANSPOSE || x->op == NUC_OP_PERMUTE ? nuc_arg_node(x, NUC_SELF) : NULL;
    const struct nuc_arg *dims = x->op == NUC_OP_PERMUTE ? nuc_arg_at(x, NUC_ARG(PERMUTE, dims)) : NULL;
    bool is_turned = weight != NULL && weight->vals[0].rank == 2 && nuc_is_static(weight) && x->vals[0].rank == 2 &&
                     x->vals[0].sizes[0] == weight->vals[0].sizes[1] &&
                     (dims != NULL ? dims->count == 2 && nuc_positive_dim(dims->u.ints[0], 2) == 1
                                   : x->op == NUC_OP_T || nuc_dim(x, NUC_ARG(TRANSPOSE, dim0), 0, 2) !=
                                                              nuc_dim(x, NUC_ARG(TRANSPOSE, dim1), 1, 2));
    return nuc_node_arg(is_turned ? weight : NULL);
}

/* What was flattened to rows of k elements; another value as it is. */
FUNCTION(unflattened)
{
    const struct nuc_node *x = tensor(s, &args[0]);
    const struct nuc_meta *m = x->op == NUC_OP_VIEW ? nuc_input_meta(x, NUC_SELF) : NULL;

    return m != NULL && m->rank > 2 && m->sizes[m->rank - 1] == whole(s, &args[1]) ? x->args[NUC_SELF] : args[0];
}

FUNCTION(expand)
{
    const struct nuc_arg *sizes = ints(s, &args[1]);

    return nuc_node_arg(nuc_insert_expanded(s->g, s->node, tensor(s, &args[0]), sizes->u.ints, sizes->count));
}

FUNCTION(part)
{
    struct nuc_node *x = tensor(s, &args[0]);
    uint32_t dim = axis_of(s, &args[1], x->vals[0].rank);

    return nuc_node_arg(nuc_insert_part(s->g, s->node, x, dim, whole(s, &args[2]), whole(s, &args[3])));
}

FUNCTION(taken)
{
    struct nuc_node *x = tensor(s, &args[0]);
    const struct nuc_arg *places = ints(s, &args[2]);

    return nuc_node_arg(
        nuc_insert_taken(s->g, s->node, x, axis_of(s, &args[1], x->vals[0].rank), places->u.ints, places->count));
}

FUNCTION(repeated)
{
    struct nuc_node *x = tensor(s, &args[0]);
    uint32_t dim = axis_of(s, &args[1], x->vals[0].rank);

    return nuc_node_arg(nuc_insert_repeated(s->g, s->node, x, dim, whole(s, &args[2])));
}

FUNCTION(linear_along)
{
    struct nuc_node *x = tensor(s, &args[0]);
    uint32_t dim = axis_of(s, &args[1], x->vals[0].rank);

    return nuc_node_arg(nuc_insert_along(s->g, s->node, x, dim, tensor(s, &args[2])));
}

FUNCTION(moved_dims)
{
    const struct nuc_arg *from = ints(s, &args[1]), *to = ints(s, &args[2]);

    if (from->count != to->count)
        nuc_formula_fail(s, "source and destination differ in length");
    return nuc_node_arg(
        nuc_insert_moved_dims(s->g, s->node, tensor(s, &args[0]), from->u.ints, to->u.ints, from->count));
}

/* The comparison that compare() of a pattern found, and the one that is true where it is false. */
FUNCTION(compare)
{
    return nuc_node_arg(nuc_insert_with_number(s->g, s->node, (enum nuc_op)whole(s, &args[2]), tensor(s, &args[0]),
                                               nuc_number_arg(&args[1])));
}

FUNCTION(opposite)
{
    enum nuc_op c = (enum nuc_op)whole(s, &args[0]);

    return nuc_int_arg(c == NUC_OP_GT   ? NUC_OP_LE
                       : c == NUC_OP_GE ? NUC_OP_LT
                       : c == NUC_OP_LT ? NUC_OP_GE
                                        : NUC_OP_GT);
}

/* ---- the table ---- */

const struct nuc_formula_function *nuc_formula_function(const char *name)
{
    static const struct nuc_formula_function rows[] = {
        {"rank", 1, 1, call_rank, "number of dimensions"},
        {"shape", 1, 1, call_shape, "sizes, as a list"},
        {"size", 2, 2, call_size, "size(x, dim)"},
        {"numel", 1, 1, call_numel, "number of elements"},
        {"dtype", 1, 1, call_dtype, "type of the elements"},
        {"floating", 1, 1, call_floating, "whether a tensor or type is float"},
        {"is_edge", 0, 0, call_is_edge, "whether the graph has operators of the Edge dialect"},
        {"read", 1, 1, call_read, "whether something reads item i of the result"},
        {"len", 1, 1, call_len, "length of a list"},
        {"sums_to", 1, 1, call_sums_to, "the sums of a list up to each element"},
        {"stated", 1, 1, call_stated, "sizes that the archive states for item i"},
        {"same", 2, 2, call_same, "whether two tensors are one value"},
        {"static", 1, 1, call_static, "whether a tensor is a parameter, a buffer or a constant"},
        {"zero", 1, 1, call_zero, "whether a tensor is known to be zero everywhere"},
        {"finite", 1, 1, call_finite, "whether zero times a tensor is zero"},
        {"stays_float", 1, 1, call_stays_float, "whether what reads a tensor computes floats, up to the next layers"},
        {"known", 1, 1, call_known, "elements of a constant of ints, or none"},
        {"bytes_as", 2, 2, call_bytes_as, "bytes_as(x, y): a constant's bytes in type and sizes of y"},
        {"element_value", 1, 1, call_element_value, "the number in a constant of one element"},
        {"folded", 1, 1, call_folded, "a constant, where a tensor is computed of constants alone"},
        {"quantized", 1, 1, call_quantized, "whether a tensor is read from integers that stand for it"},
        {"settled", 2, 3, call_settled, "settled(x, y): x in the integers that y is read from, x itself if it is not"},
        {"axis", 2, 2, call_axis, "axis(dim, x): a dimension of x counted from the front"},
        {"axes", 2, 2, call_axes, "axes(dim, x): dimensions as a list, whatever form the argument has"},
        {"sub_list", 2, 3, call_sub_list, "sub_list(list, from, to)"},
        {"join", 2, 2, call_join, "one list after the other"},
        {"ranks", 1, 1, call_ranks, "of the elements of a list that are not 0, among each other"},
        {"places_times", 3, 3, call_places_times, "places_times(list, n, count): each place as often as the list says"},
        {"bent_places", 4, 4, call_bent_places, "bent_places(n, start, end, mirrors): of what a padding repeats"},
        {"choices", 4, 4, call_choices, "choices(n, r, repeats, count): places of r elements of n, again and again"},
        {"number", 2, 2, call_number, "number(v, type): a constant without dimensions"},
        {"numbers", 2, 3, call_numbers, "numbers(list, sizes, type): a constant"},
        {"filled_as", 2, 2, call_filled_as, "filled_as(x, v): a constant of sizes, type and dim order of x"},
        {"filled", 3, 3, call_filled, "filled(sizes, v, type): a constant"},
        {"lifted", 1, 1, call_lifted, "an int as torch's tracing has it: a buffer without dimensions"},
        {"cast", 2, 2, call_cast, "cast(x, type): x itself where it has the type"},
        {"reshape", 2, 2, call_reshape, "reshape(x, sizes): x itself where it has the sizes, but for the Edge dialect"},
        {"flat_parameter", 3, 3, call_flat_parameter, "the weight of a 3-D convolution as that of a 2-D one"},
        {"viewed", 2, 2, call_viewed, "viewed(x, sizes): a view, whatever the sizes"},
        {"in_order_of", 2, 2, call_in_order_of, "in_order_of(x, y): channels last where y is; none: contiguous"},
        {"permute", 2, 2, call_permute, "permute(x, dims): x itself where they are in order"},
        {"transposed", 1, 1, call_transposed, "a matrix or several, [.., m, n], as [.., n, m]"},
        {"layer_weight", 1, 1, call_layer_weight, "the parameter that a matrix is the transposed view of, or none"},
        {"unflattened", 2, 2, call_unflattened, "unflattened(x, k): what was flattened to rows of k elements"},
        {"expand", 2, 2, call_expand, "expand(x, sizes): x itself where it has the sizes"},
        {"part", 4, 4, call_part, "part(x, dim, start, end): x itself where that is all of it"},
        {"taken", 3, 3, call_taken, "taken(x, dim, places): x itself where they are all in order"},
        {"repeated", 3, 3, call_repeated, "repeated(x, dim, times)"},
        {"linear_along", 3, 3, call_linear_along,
         "linear_along(x, dim, matrix): the product with [out, in] along a dimension"},
        {"waves", 5, 5, call_waves, "waves(n, inputs, outputs, factor, kind): the matrix of a Fourier transform"},
        {"resampled", 5, 5, call_resampled, "resampled(m, n, scale, kernel, align): the matrix of a resizing"},
        {"einstein", 2, 3, call_einstein, "einstein(equation, tensors, path): their sum, as torch.einsum has it"},
        {"equation", 3, 4, call_equation, "equation(a, b, sum): of tensors whose dimensions are numbered"},
        {"over_parts", 1, 1, call_over_parts, "an equation of einsum that sums over a dimension in front, too"},
        {"moved_dims", 3, 3, call_moved_dims, "moved_dims(x, from, to)"},
        {"compare", 3, 3, call_compare, "compare(x, v, c): x and a number by a comparison that a pattern found"},
        {"opposite", 1, 1, call_opposite, "of a comparison that a pattern found: <= of >"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    }
    return NULL;
}
