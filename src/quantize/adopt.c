#include "quantize/adopt.h"

#include <math.h>

#include "ir/args.h"
#include "ir/op_list.h"

/* ---- before calibration ---- */

static bool is_symmetric(const struct nuc_qspec *spec)
{
    return spec->kind == NUC_QSPEC_OBSERVED && spec->scheme == NUC_PER_TENSOR_SYMMETRIC && spec->dtype == NUC_I8;
}

static bool is_affine(const struct nuc_qspec *spec)
{
    return spec->kind == NUC_QSPEC_OBSERVED && spec->scheme == NUC_PER_TENSOR_AFFINE;
}

static const struct nuc_qspec *input_spec(const struct nuc_annotation *at, const struct nuc_node *value)
{
    for (uint32_t i = 0; at != NULL && i < at->n_inputs; i++) {
        if (at->inputs[i].arg == value)
            return &at->inputs[i].spec;
    }
    return NULL;
}

/* What one reader wants of the value: through a move, what all of the move's readers want. */
static const struct nuc_qspec *wanted_by(const struct nuc_annotator *a, const struct nuc_qspec *const *wanted,
                                         const struct nuc_node *value, const struct nuc_node *user)
{
    const struct nuc_annotation *at = a->by_id[user->id];
    const struct nuc_qspec *spec = input_spec(at, value);

    if (spec == NULL)
        return NULL;
    if (is_symmetric(spec))
        return spec;
    bool moves = at->n_inputs == 1 && at->output.kind == NUC_QSPEC_SHARED && at->output.from[0].node == value &&
                 at->output.from[0].user == NULL && nuc_commutes_with_clamp(user);
    return moves ? wanted[user->id] : NULL;
}

void nuc_annotate_symmetric(struct nuc_annotator *a)
{
    const struct nuc_qspec **wanted = nuc_alloc_array(a->g->cx, a->g->next_id, sizeof *wanted);

    for (struct nuc_node *n = a->g->last; n != NULL; n = n->prev) {
        bool all = n->n_users > 0;
        for (uint32_t i = 0; i < n->n_users && all; i++) {
            wanted[n->id] = wanted_by(a, wanted, n, n->users[i]);
            all = wanted[n->id] != NULL;
        }
        struct nuc_annotation *at = a->by_id[n->id];
        if (wanted[n->id] != NULL && at != NULL && is_affine(&at->output))
            at->output = *wanted[n->id];
    }
}

/* ---- after it ---- */

static double square(double x)
{
    return x * x;
}

struct steps {
    double size, low, high;
};

static struct steps steps_of(const struct nuc_observer *o)
{
    double s = (double)o->scale[0], zero = (double)o->zero_point[0];

    return (struct steps){s, ((double)o->spec->quant_min - zero) * s, ((double)o->spec->quant_max - zero) * s};
}

static void take(struct nuc_observer *o, double scale, int64_t zero_point)
{
    o->scale[0] = (float)scale;
    o->zero_point[0] = zero_point;
}

/*
 * What going from one number of steps to another adds to the squared error, in units of 1/12, over all of the values
 * that there are; their mean error counts a second time, since it does not average out in a sum of products. With steps
 * twice as large, every other value lies between two of them and is rounded the same way.
 */
static double error_of_requantization(struct steps from, double to)
{
    double squares = 0, sum = 0, count = 0;

    for (double x = from.low; x <= from.high + from.size / 2; x += from.size, count++) {
        double error = to * round(x / to) - x;
        squares += square(error);
        sum += error;
    }
    return 12 * (squares / count + square(sum / count));
}

#define WORTH_AN_OPERATION 1.122 /* 0.5 dB */

/* ---- groups ---- */

/* Points of the group that moves alone make of `node`, itself included; of more than `most` one more. */
static uint32_t moved_points(const struct nuc_calibration *c, const struct nuc_node *node, uint32_t group,
                             uint32_t most)
{
    uint32_t count = 1;

    for (uint32_t i = 0; i < node->n_users && count <= most; i++) {
        const struct nuc_node *user = node->users[i];
        if (nuc_moves_values(user) && c->observed[user->id].output == group)
            count += moved_points(c, user, group, most - count);
    }
    return count;
}

static bool makes_group(const struct nuc_calibration *c, const struct nuc_node *node, uint32_t group)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < c->n_points; i++)
        count += c->points[i].group == group;
    return count == moved_points(c, node, group, count);
}

/* ---- functions whose steps are given ---- */

/*
 * Results of a tanh, in steps of 1/128, that reach so far at most, and those of a sigmoid, in steps of 1/256, take
 * steps of their own: most of the codes would never occur. The NPU has them in parts then (npu_function.c), the CPU as
 * a table.
 */
#define NARROW_TANH 0.5
#define NARROW_SIGMOID 0.0625

static void narrow_sigmoid(const struct nuc_node *x, struct nuc_observer *value, struct nuc_observer *result)
{
    float min = value->min[0], max = value->max[0], steps = (float)(result->spec->quant_max - result->spec->quant_min);

    nuc_extremes_widen(&value->extremes, fmax(value->reach, 0), (double)steps, &min, &max);
    double reach = 1 / (1 + exp(-(double)max)), size = reach / (double)steps, low = log(size / 2);
    if (reach > NARROW_SIGMOID || size < (double)value->spec->least)
        return;
    take(result, size, result->spec->quant_min);
    /* What is below half a step of 1/256 was left out of the range. */
    if (x->n_users == 1 && low < (double)min)
        take(value, -low / (double)steps, value->spec->quant_max);
}

static void narrow_results(struct nuc_calibration *c, const struct nuc_node *n)
{
    const struct nuc_node *x = nuc_arg_node(n, NUC_SELF);
    uint32_t to = c->observed[n->id].output, from = x == NULL ? NUC_NO_GROUP : nuc_observed_group(c, x, n);

    if (to == NUC_NO_GROUP || from == NUC_NO_GROUP || from == to || !makes_group(c, n, to))
        return;
    struct nuc_observer *value = c->observers[from], *result = c->observers[to];
    if (!is_affine(value->spec) || !value->seen || value->n != 1 || result->spec->kind != NUC_QSPEC_FIXED ||
        result->spec->dtype != NUC_I8)
        return;
    const struct steps in = steps_of(value);
    double reach = tanh(fmax(in.high, -in.low));
    if (n->op == NUC_OP_SIGMOID)
        narrow_sigmoid(x, value, result);
    else if (reach > 0 && reach <= NARROW_TANH)
        take(result, reach / (double)result->spec->quant_max, 0);
}

/* ---- products that round nothing ---- */

/* What moves alone have made the value of, where nothing else reads any of them; NULL: something does. */
static const struct nuc_node *read_once(const struct nuc_calibration *c, const struct nuc_node *node, uint32_t group)
{
    const struct nuc_node *input = node;

    while (input != NULL && input->n_users == 1 && c->observed[input->id].output == group) {
        node = input;
        if (!nuc_moves_values(node))
            return node;
        input = nuc_arg_node(node, NUC_SELF);
    }
    return NULL;
}

/* Whether all that the group has are the node's result and what moves make of it, and its readers take it as it is. */
static bool has_own_group(const struct nuc_calibration *c, const struct nuc_node *node, uint32_t group)
{
    for (uint32_t i = 0; i < c->n_points; i++) {
        if (c->observed[c->points[i].node->id].output == group && c->points[i].group != group)
            return false;
    }
    return makes_group(c, node, group);
}

static bool has_steps(const struct nuc_observer *value)
{
    return value->n == 1 && (value->spec->kind == NUC_QSPEC_FIXED || (is_affine(value->spec) && value->seen)) &&
           value->spec->dtype == NUC_I8;
}

/* What a product multiplies with a number other than 0, or NULL. */
static const struct nuc_node *scaled_value(const struct nuc_calibration *c, const struct nuc_node *mul, float *factor)
{
    const struct nuc_node *number = nuc_arg_node(mul, NUC_OTHER), *x = nuc_arg_node(mul, NUC_SELF);

    if (number != NULL && x != NULL && nuc_is_static(x)) {
        const struct nuc_node *swapped = x;
        x = number;
        number = swapped;
    }
    if (number == NULL || !nuc_is_static(number) || nuc_elements(&number->vals[0]) != 1 ||
        number->vals[0].dtype != NUC_F32)
        return NULL;
    *factor = *(const float *)nuc_const_contiguous(c->g, number);
    return isnormal(*factor) ? x : NULL;
}

/*
 * x times a number: with steps of x as those of the product divided by it, the product is the same integers, and x is
 * rounded once, to the steps that its reader has. Where others read x, too, the product takes its steps below.
 */
static void adopt_scaled(struct nuc_calibration *c, const struct nuc_node *mul)
{
    float factor = 0;
    const struct nuc_node *x = scaled_value(c, mul, &factor);
    uint32_t to = c->observed[mul->id].output, from = x == NULL ? NUC_NO_GROUP : nuc_observed_group(c, x, mul);
    const struct nuc_node *maker = from == NUC_NO_GROUP ? NULL : read_once(c, x, from);

    if (!(factor > 0) || maker == NULL || to == NUC_NO_GROUP || from == to || !makes_group(c, maker, from))
        return;
    struct nuc_observer *value = c->observers[from], *product = c->observers[to];
    if (is_affine(value->spec) && is_affine(product->spec) && value->seen && product->seen)
        take(value, (double)(product->scale[0] / factor), product->zero_point[0]);
}

/*
 * What is a multiple of x, for NEG by -1, takes its steps: it is not rounded again. Much finer ones have a reason,
 * which is that its readers look at a part of it alone, as a clamp, a comparison or argmax does.
 */
#define MUCH_FINER 0.75

static void adopt_multiple(struct nuc_calibration *c, const struct nuc_node *node)
{
    float factor = node->op == NUC_OP_NEG ? -1 : 1;
    const struct nuc_node *x = node->op == NUC_OP_NEG ? nuc_arg_node(node, NUC_SELF) : scaled_value(c, node, &factor);
    uint32_t to = c->observed[node->id].output, from = x == NULL ? NUC_NO_GROUP : nuc_observed_group(c, x, node);

    if (to == NUC_NO_GROUP || from == NUC_NO_GROUP || from == to)
        return;
    const struct nuc_observer *value = c->observers[from];
    struct nuc_observer *result = c->observers[to];
    if (!has_steps(value) || !is_affine(result->spec) || !result->seen || result->n != 1)
        return;
    double size = (double)value->scale[0] * fabs((double)factor);
    bool is_whole = c->relevant == NULL || (isinf(c->relevant[node->id].min) && isinf(c->relevant[node->id].max));
    if (is_whole && (double)result->scale[0] >= MUCH_FINER * size && has_own_group(c, node, to))
        take(result, size, factor > 0 ? value->zero_point[0] : -1 - value->zero_point[0]);
}

/* x times a mask of 0 and 1 is x or 0, which is one of its steps. */
static void adopt_gated(struct nuc_calibration *c, const struct nuc_node *mul)
{
    for (uint32_t i = NUC_SELF; i <= NUC_OTHER; i++) {
        const struct nuc_node *gate = nuc_arg_node(mul, i);
        const struct nuc_node *x = nuc_arg_node(mul, i == NUC_SELF ? NUC_OTHER : NUC_SELF);
        uint32_t to = c->observed[mul->id].output;
        if (gate == NULL || x == NULL || gate == x || !c->gates[gate->id] || to == NUC_NO_GROUP)
            continue;
        uint32_t from = nuc_observed_group(c, x, mul);
        if (from == NUC_NO_GROUP || from == to || !makes_group(c, mul, to))
            return;
        const struct nuc_observer *value = c->observers[from];
        struct nuc_observer *product = c->observers[to];
        if (has_steps(value) && is_affine(product->spec) && product->seen)
            take(product, (double)value->scale[0], value->zero_point[0]);
        return;
    }
}

/* ---- values that are compared ---- */

/*
 * The number that all readers compare the value with, perhaps behind moves; false: they do not, with several, or behind
 * more moves than are `left`.
 */
static bool compared_number(const struct nuc_calibration *c, const struct nuc_node *node, uint32_t group,
                            uint32_t *left, float *number)
{
    if ((*left)-- == 0)
        return false;
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i], *other = nuc_arg_node(user, NUC_OTHER);
        float own = *number;
        if (nuc_moves_values(user) && c->observed[user->id].output == group) {
            if (!compared_number(c, user, group, left, &own))
                return false;
        } else {
            if (!nuc_op_is_in(user->op, NUC_OPS(NUC_OP_GT, NUC_OP_LT, NUC_OP_GE, NUC_OP_LE)) || other == NULL ||
                nuc_arg_node(user, NUC_SELF) != node || !nuc_is_static_float(other) ||
                nuc_elements(&other->vals[0]) != 1)
                return false;
            own = *(const float *)nuc_const_contiguous(c->g, other);
        }
        if (!isnan(*number) && (own < *number || own > *number))
            return false;
        *number = own;
    }
    return node->n_users > 0 && isfinite(*number);
}

/* How much finer the steps may become, and how far from 0 the number may be in them. */
#define FINER 16
#define MOST_STEPS 120

/* Which side of a number a value is on is told by values near it: there are the steps, and others saturate. */
static void adopt_compared(struct nuc_calibration *c, const struct nuc_node *node)
{
    uint32_t group = c->observed[node->id].output, left = c->g->n_nodes;
    float number = NAN;

    if (group == NUC_NO_GROUP || nuc_moves_values(node) || !nuc_is_call(node))
        return;
    struct nuc_observer *o = c->observers[group];
    if (!is_affine(o->spec) || !o->seen || o->n != 1 || !compared_number(c, node, group, &left, &number) ||
        !makes_group(c, node, group))
        return;
    double size = fmax((double)o->scale[0] / FINER, fabs((double)number) / MOST_STEPS);
    if (size < (double)o->scale[0])
        take(o, size, -(int64_t)llround((double)number / size));
}

/* ---- values that readers requantize ---- */

/*
 * All that reads the value in the group are sums of its squares, as norms in parts have them. There errors average out:
 * what is rounded once more does for them, and others keep their steps.
 */
static bool is_squared(const struct nuc_calibration *c, struct nuc_node *node, uint32_t group)
{
    bool is_read = false;

    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        if (nuc_observed_group(c, node, user) != group)
            continue;
        if (user->op != NUC_OP_BMM || user->vals[0].sizes[1] != 1 || user->vals[0].sizes[2] != 1 ||
            nuc_past_views(nuc_arg_node(user, NUC_SELF)) != nuc_past_views(nuc_arg_node(user, NUC_OTHER)))
            return false;
        is_read = true;
    }
    return is_read;
}

static void adopt_parameters(struct nuc_calibration *c)
{
    struct steps *before = nuc_alloc_array(c->g->cx, c->sharing->n_groups, sizeof *before);
    bool *adopted = nuc_alloc_array(c->g->cx, c->sharing->n_groups, sizeof *adopted);

    for (uint32_t i = 0; i < c->sharing->n_groups; i++) {
        if (c->observers[i]->n == 1 && c->observers[i]->spec->kind != NUC_QSPEC_DERIVED)
            before[i] = steps_of(c->observers[i]);
    }
    for (uint32_t i = 0; i < c->n_points; i++) {
        uint32_t from = c->observed[c->points[i].node->id].output, to = c->points[i].group;
        if (from == NUC_NO_GROUP || from == to)
            continue;
        struct nuc_observer *value = c->observers[from], *reader = c->observers[to];
        if (!value->seen && value->spec->kind == NUC_QSPEC_OBSERVED)
            continue;
        if (is_affine(value->spec) && is_symmetric(reader->spec) && reader->n == 1) {
            /* `affine` is what the value had before. */
            struct steps affine = before[from];
            double reach = affine.high > -affine.low ? affine.high : -affine.low;
            double t = reach / (double)value->spec->quant_max;
            double apart = 2 * square(affine.size) + error_of_requantization(affine, (double)reader->scale[0]);
            bool differs = is_squared(c, c->points[i].node, to) ? square(t) > WORTH_AN_OPERATION * square(affine.size)
                                                                : 2 * square(t) > WORTH_AN_OPERATION * apart;

            if (differs)
                continue;
            take(value, t, 0);
            take(reader, t, 0);
        } else if (value->spec->kind == NUC_QSPEC_FIXED && value->zero_point[0] == 0 && is_symmetric(reader->spec) &&
                   reader->n == 1) {
            /* A tanh: its values are whole steps already. */
            take(reader, (double)value->scale[0], 0);
        } else if (value->spec->kind == NUC_QSPEC_FIXED && value->zero_point[0] != 0 && is_affine(reader->spec) &&
                   !adopted[to]) {
            /* The last step of the fixed parameters is short of 1. */
            struct steps fixed = steps_of(value), own = steps_of(reader);
            bool fits = own.low >= fixed.low - fixed.size / 2 && own.high <= fixed.high + fixed.size;

            if (fits && square(fixed.size) <= 2 * square(own.size))
                take(reader, fixed.size, value->zero_point[0]);
            adopted[to] =
                reader->zero_point[0] == value->zero_point[0] && steps_of(reader).size == (double)value->scale[0];
        }
    }
}

/* ---- all of it ---- */

void nuc_adopt(struct nuc_calibration *c)
{
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        if (n->op == NUC_OP_TANH || n->op == NUC_OP_SIGMOID)
            narrow_results(c, n);
    }
    if (c->one_scale)
        adopt_parameters(c);
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next)
        adopt_compared(c, n);
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        if (n->op == NUC_OP_MUL)
            adopt_gated(c, n);
    }
    for (const struct nuc_node *n = c->g->last; n != NULL; n = n->prev) {
        if (n->op == NUC_OP_MUL)
            adopt_scaled(c, n);
    }
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        if (n->op == NUC_OP_MUL || n->op == NUC_OP_NEG)
            adopt_multiple(c, n);
    }
}
