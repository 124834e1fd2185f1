#include "quantize/search/channel_factors.h"

#include <math.h>
#include <string.h>

#include "ir/args.h"
#include "ir/conv_args.h"
#include "ir/op_list.h"
#include "quantize/search/choices.h"

#define ALL_DIMS UINT32_MAX

/* A constant beside computed values may be scaled element by element where it has at most that many. */
#define MOST_OWN ((int64_t)1 << 20)

typedef struct nuc_channel_factors factors;

/* ---- labels of values ---- */

static bool is_float(const struct nuc_node *n, uint32_t value)
{
    return value < n->n_vals && n->vals[value].dtype == NUC_F32 && nuc_elements(&n->vals[value]) > 0;
}

static struct nuc_channel_labels *pinned_value(factors *f, const struct nuc_meta *m)
{
    struct nuc_channel_labels *l = nuc_labels_new(f->sets, m, 0);

    nuc_labels_pin(f->sets, l);
    return l;
}

static void add_constant(factors *f, struct nuc_node *node, struct nuc_channel_labels *written)
{
    f->constants = nuc_grow(f->g->cx, f->constants, &f->constants_capacity, f->n_constants + 1, sizeof *f->constants);
    f->constants[f->n_constants++] = (struct nuc_channel_constant){node, written};
}

/*
 * Of value 0, or of what getitem takes, which may be squared; a constant among the values gets its own here. NULL: it
 * is not float32.
 */
static struct nuc_channel_labels *any_labels_of(factors *f, struct nuc_node *n)
{
    if (n == NULL || !is_float(n, 0))
        return NULL;
    struct nuc_channel_labels **own = f->labels[n->id];
    if (own == NULL)
        own = f->labels[n->id] = nuc_alloc_array(f->g->cx, n->n_vals, sizeof(struct nuc_channel_labels *));
    if (own[0] == NULL && nuc_is_static(n) && nuc_elements(&n->vals[0]) <= MOST_OWN) {
        own[0] = nuc_labels_new(f->sets, &n->vals[0], ALL_DIMS);
        add_constant(f, n, own[0]);
    } else if (own[0] == NULL) {
        own[0] = pinned_value(f, &n->vals[0]);
    }
    return own[0];
}

/* Those that are squared have the factor 1 from now on. */
static struct nuc_channel_labels *labels_of(factors *f, struct nuc_node *n)
{
    struct nuc_channel_labels *l = any_labels_of(f, n);

    if (l != NULL && l->squared)
        nuc_labels_pin(f->sets, l);
    return l;
}

static void pin_value(factors *f, struct nuc_node *n)
{
    struct nuc_channel_labels *l = labels_of(f, n);

    if (l != NULL)
        nuc_labels_pin(f->sets, l);
}

static struct nuc_channel_labels *labels_of_arg(factors *f, const struct nuc_node *n, uint32_t index)
{
    return labels_of(f, nuc_arg_node(n, index));
}

/* ---- constants ---- */

/* The constant in argument `index` is divided by the factors of `written`, or is not there; false when it is no such
 * constant. */
static bool writes(factors *f, const struct nuc_node *n, uint32_t index, const nuc_label *written, uint32_t count)
{
    struct nuc_node *constant = nuc_arg_node(n, index);

    if (constant == NULL)
        return nuc_arg_at(n, index)->kind == NUC_ARG_NONE;
    if (!nuc_is_static(constant) || !is_float(constant, 0) || nuc_elements(&constant->vals[0]) != (int64_t)count)
        return false;
    struct nuc_channel_labels *own = labels_of(f, constant);
    if (own->count != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        nuc_label_join(f->sets, own->at[i], written[i]);
    return true;
}

static bool is_zero(factors *f, const struct nuc_node *constant)
{
    return constant == NULL || nuc_is_static_zero(f->g, constant);
}

/* ---- layers ---- */

static const struct nuc_channel_layer *layer_with(const factors *f, const struct nuc_node *weight)
{
    for (uint32_t i = 0; i < f->n_layers; i++) {
        if (f->layers[i].weight == weight)
            return &f->layers[i];
    }
    return NULL;
}

static void pin_layer(factors *f, const struct nuc_channel_layer *l)
{
    for (uint32_t o = 0; o < l->out; o++)
        nuc_label_pin(f->sets, l->written[o]);
    for (uint32_t i = 0; i < l->in; i++)
        nuc_label_pin(f->sets, l->read[i]);
}

/*
 * Layers that share a weight scale alike. A weight whose elements are also values (as a table of words that is also the
 * last layer) cannot be scaled in two ways.
 */
static void share_weight(factors *f, const struct nuc_channel_layer *l)
{
    const struct nuc_channel_layer *other = layer_with(f, l->weight);

    if (other != NULL && other->out == l->out && other->in == l->in && other->groups == l->groups &&
        other->of_group == l->of_group && other->of_out == l->of_out && other->of_in == l->of_in) {
        for (uint32_t o = 0; o < l->out; o++)
            nuc_label_join(f->sets, other->written[o], l->written[o]);
        for (uint32_t i = 0; i < l->in; i++)
            nuc_label_join(f->sets, other->read[i], l->read[i]);
    } else if (other != NULL) {
        pin_layer(f, l);
        pin_layer(f, other);
    }
}

/*
 * Channels of `input` lie along dimension `from`, those of the node along `to`. A product that takes each place by
 * itself (`by_place`) lets factors of other dimensions through, where no bias is added.
 */
static bool layer(factors *f, struct nuc_channel_layer l, uint32_t from, uint32_t to, uint32_t bias, bool by_place)
{
    struct nuc_context *cx = f->g->cx;
    struct nuc_channel_labels *in = labels_of(f, l.input);
    uint32_t others = ~((uint32_t)1 << from);

    if (in == NULL || !is_float(l.node, 0) || nuc_elements(&l.weight->vals[0]) == 0)
        return false;
    if (by_place && nuc_labels_vary(in, others) && is_zero(f, nuc_arg_node(l.node, bias))) {
        if (l.node->vals[0].rank != in->rank || from != to)
            return false;
        f->labels[l.node->id][0] = nuc_labels_even(f->sets, in, ~others);
        return true;
    }
    in = nuc_labels_even(f->sets, in, others);
    l.read = nuc_alloc_array(cx, l.in, sizeof *l.read);
    for (uint32_t i = 0; i < l.in; i++)
        l.read[i] = in->at[in->count == 1 ? 0 : i];
    struct nuc_channel_labels *out = nuc_labels_new(f->sets, &l.node->vals[0], (uint32_t)1 << to);
    if (out->count != l.out)
        return false;
    l.written = out->at;
    f->labels[l.node->id][0] = out;
    if (!writes(f, l.node, bias, out->at, l.out))
        nuc_labels_pin(f->sets, out);
    share_weight(f, &l);
    f->layers = nuc_grow(cx, f->layers, &f->layers_capacity, f->n_layers + 1, sizeof *f->layers);
    f->layers[f->n_layers++] = l;
    return true;
}

static bool is_weight(const struct nuc_node *n, uint32_t rank)
{
    return n != NULL && nuc_is_static(n) && is_float(n, 0) && (rank == 0 || n->vals[0].rank == rank);
}

/* Every result is an element of one channel: the factor of that channel goes on. */
static bool choose(factors *f, const struct nuc_channel_layer *l, uint32_t channel)
{
    const float *w = nuc_const_contiguous(f->g, l->weight);
    struct nuc_channel_labels *in = nuc_labels_even(f->sets, labels_of(f, l->input), ~((uint32_t)1 << channel));
    struct nuc_channel_labels *out = nuc_labels_new(f->sets, &l->node->vals[0], (uint32_t)1 << channel);

    for (uint32_t o = 0; o < l->out; o++) {
        for (uint32_t i = 0; i < l->in / l->groups; i++) {
            for (uint32_t t = 0; t < l->taps; t++) {
                float tap = w[nuc_channel_tap(l, o, i) + t];
                uint32_t k = nuc_channel_input(l, o, i);
                if (tap < 0 || tap > 0)
                    nuc_label_join(f->sets, out->at[out->count == 1 ? 0 : o], in->at[in->count == 1 ? 0 : k]);
            }
        }
    }
    f->labels[l->node->id][0] = out;
    return true;
}

static bool convolve(factors *f, struct nuc_node *n)
{
    const struct nuc_conv_args *at = nuc_conv_args(n->op);
    struct nuc_node *input = nuc_arg_node(n, NUC_CONV_INPUT), *weight = nuc_arg_node(n, NUC_CONV_WEIGHT);

    if (!is_weight(weight, 0) || input == NULL || weight->vals[0].rank < 3)
        return false;
    const struct nuc_meta *w = &weight->vals[0], *x = &input->vals[0], *y = &n->vals[0];
    bool transposed = at->transposed || (at->is_transposed != NUC_NO_ARG && nuc_flag(n, at->is_transposed));
    uint32_t groups = (uint32_t)nuc_integer(n, at->groups, 1), channel = (uint32_t)x->rank + 1 - w->rank;
    struct nuc_channel_layer l = {.node = n, .input = input, .weight = weight, .groups = groups, .taps = 1};
    bool by_place = true;
    for (uint32_t d = 2; d < w->rank; d++) {
        l.taps *= (uint32_t)w->sizes[d];
        by_place = by_place && w->sizes[d] == 1 && x->sizes[channel + d - 1] == y->sizes[channel + d - 1];
    }
    if (x->rank < w->rank - 1 || x->rank != y->rank || groups == 0)
        return false;
    l.in = (uint32_t)(transposed ? w->sizes[0] : w->sizes[1] * groups);
    l.out = (uint32_t)(transposed ? w->sizes[1] * groups : w->sizes[0]);
    size_t first = (size_t)w->sizes[1] * l.taps;
    l.of_group = first * ((transposed ? l.in : l.out) / groups);
    l.of_out = transposed ? l.taps : first;
    l.of_in = transposed ? first : l.taps;
    if (nuc_only_chooses(f->g, n) && is_zero(f, nuc_arg_node(n, NUC_CONV_BIAS)) && labels_of(f, input) != NULL)
        return choose(f, &l, channel);
    return layer(f, l, channel, channel, NUC_CONV_BIAS, by_place);
}

/* Which arguments of a matrix product are what. */
struct product {
    uint32_t left, right, addend; /* addend: NUC_NO_ARG where the operator has none */
    uint32_t summed;              /* dimension of the right operand */
};

static bool read_product(const struct nuc_node *n, struct product *p)
{
    uint32_t n_sums = 0;

    *p = (struct product){.addend = NUC_NO_ARG};
    for (uint32_t i = 0; i < n->n_args; i++) {
        struct nuc_axis_map map;
        if (nuc_axis_map(n, 0, i, 0, &map) && nuc_has_axis(&map, NUC_AXIS_WHOLE)) {
            for (uint32_t k = 0; k < map.count; k++)
                p->summed = map.axes[k].kind == NUC_AXIS_WHOLE ? map.axes[k].from : p->summed;
            *(n_sums++ == 0 ? &p->left : &p->right) = i;
        } else if (nuc_op_schema(n->op)->args[i].kind == NUC_ARG_NODE) {
            p->addend = i;
        }
    }
    return n_sums == 2;
}

/* x [..., in] times weight [out, in] or [in, out]. */
static bool multiply(factors *f, struct nuc_node *n, const struct product *p)
{
    struct nuc_node *input = nuc_arg_node(n, p->left), *weight = nuc_arg_node(n, p->right);
    bool transposed = p->summed == 0;

    if (!is_weight(weight, 2) || input->vals[0].rank != n->vals[0].rank)
        return false;
    const int64_t *sizes = weight->vals[0].sizes;
    struct nuc_channel_layer l = {.node = n, .input = input, .weight = weight, .groups = 1, .taps = 1};
    l.out = (uint32_t)sizes[transposed ? 1 : 0];
    l.in = (uint32_t)sizes[transposed ? 0 : 1];
    l.of_out = transposed ? 1 : l.in;
    l.of_in = transposed ? l.out : 1;
    uint32_t last = input->vals[0].rank - 1;
    return layer(f, l, last, last, p->addend, true);
}

/*
 * Factors of rows of the left or columns of the right operand go on, where the other one has none. Two operands with
 * factors have the same ones, one for each product of the batch, whose square goes on.
 */
static bool multiply_computed(factors *f, struct nuc_node *n)
{
    struct nuc_channel_labels *a = labels_of_arg(f, n, 0), *b = labels_of_arg(f, n, 1);

    if (a == NULL || b == NULL || a->rank != b->rank || a->rank < 2 || n->vals[0].rank != a->rank)
        return false;
    uint32_t rows = (uint32_t)1 << (a->rank - 2), columns = (uint32_t)1 << (a->rank - 1);
    if (nuc_labels_are_pinned(f->sets, a)) {
        f->labels[n->id][0] = nuc_labels_even(f->sets, b, rows);
    } else if (nuc_labels_are_pinned(f->sets, b)) {
        f->labels[n->id][0] = nuc_labels_even(f->sets, a, columns);
    } else {
        a = nuc_labels_even(f->sets, a, rows | columns);
        f->labels[n->id][0] = nuc_labels_join(f->sets, a, nuc_labels_even(f->sets, b, rows | columns));
        f->labels[n->id][0]->squared = true;
    }
    return true;
}

static bool matrix_product(factors *f, struct nuc_node *n)
{
    struct product p;

    if (!read_product(n, &p) || !nuc_numbers_equal(nuc_scalar(n, nuc_arg_named(n, "beta"), 1), 1) ||
        !nuc_numbers_equal(nuc_scalar(n, nuc_arg_named(n, "alpha"), 1), 1))
        return false;
    return multiply(f, n, &p) || (p.addend == NUC_NO_ARG && multiply_computed(f, n));
}

/* What a norm gives has the scale of its gamma and beta; what it reads has one scale. */
static bool normalize(factors *f, struct nuc_node *n)
{
    uint32_t weight = nuc_arg_named(n, "weight"), bias = nuc_arg_named(n, "bias");
    struct nuc_axis_map map;

    if (n->n_vals != 1 || !is_weight(nuc_arg_node(n, weight), 0) || !is_float(n, 0) ||
        !nuc_axis_map(n, 0, weight, 0, &map))
        return false;
    struct nuc_channel_labels *out = nuc_labels_new(f->sets, &n->vals[0], nuc_axis_dims(&map));
    pin_value(f, nuc_arg_node(n, NUC_SELF));
    if (!writes(f, n, weight, out->at, (uint32_t)out->count) || !writes(f, n, bias, out->at, (uint32_t)out->count))
        nuc_labels_pin(f->sets, out);
    f->labels[n->id][0] = out;
    return true;
}

/* Rows of a table have the factors of their columns. */
static bool embed(factors *f, struct nuc_node *n)
{
    struct nuc_node *table = nuc_arg_node(n, NUC_ARG(EMBEDDING, weight));
    uint32_t rank = n->vals[0].rank;

    if (!is_weight(table, 2) || f->labels[table->id] != NULL || !is_float(n, 0))
        return false;
    struct nuc_channel_labels *out = nuc_labels_new(f->sets, &n->vals[0], (uint32_t)1 << (rank - 1));
    f->labels[table->id] = nuc_alloc_array(f->g->cx, 1, sizeof(struct nuc_channel_labels *));
    f->labels[table->id][0] = nuc_labels_along(f->sets, &table->vals[0], 1, out->at);
    add_constant(f, table, f->labels[table->id][0]);
    f->labels[n->id][0] = out;
    return true;
}

/* ---- operators that let factors through ---- */

/* Each element of a result has the factor of those it is made of. */
static bool pass(factors *f, struct nuc_node *n)
{
    struct nuc_node *from = nuc_arg_node(n, NUC_SELF);

    for (uint32_t v = 0; v < n->n_vals; v++) {
        struct nuc_channel_labels *labels = any_labels_of(f, from);
        struct nuc_axis_map map;
        if (labels == NULL || !is_float(n, v) || !nuc_axis_map(n, v, NUC_SELF, 0, &map))
            return false;
        if (!nuc_is_same_place(&map, &from->vals[0], &n->vals[v]))
            labels = nuc_labels_follow(f->sets, labels, &map, &from->vals[0], &n->vals[v]);
        f->labels[n->id][v] = labels;
    }
    return true;
}

static bool concatenate(factors *f, struct nuc_node *n)
{
    const struct nuc_arg *list = nuc_arg_at(n, NUC_ARG(CAT, tensors));
    uint32_t dim = (uint32_t)nuc_dim(n, NUC_ARG(CAT, dim), 0, n->vals[0].rank);
    struct nuc_channel_labels **parts = nuc_alloc_array(f->g->cx, list->count, sizeof(struct nuc_channel_labels *));

    for (uint32_t i = 0; i < list->count; i++) {
        parts[i] = labels_of(f, list->u.nodes[i]);
        if (parts[i] == NULL || !is_float(n, 0) || list->u.nodes[i]->vals[0].rank != n->vals[0].rank)
            return false;
    }
    f->labels[n->id][0] = nuc_labels_concatenate(f->sets, parts, list, dim, &n->vals[0]);
    return true;
}

static bool clip(factors *f, struct nuc_node *n)
{
    struct nuc_bounds b = nuc_bounds_of(n);

    if (b.min < 0 || b.min > 0 || !(b.max > 0))
        return false;
    if (!isinf(b.max)) {
        labels_of_arg(f, n, NUC_SELF); /* Not squared. */
        f->clips = nuc_grow(f->g->cx, f->clips, &f->clips_capacity, f->n_clips + 1, sizeof *f->clips);
        f->clips[f->n_clips++] = (struct nuc_channel_clip){n, b.max};
    }
    return pass(f, n);
}

/* A number that keeps a divisor from 0: beside any other value there it is none. */
#define MOST_EPSILON 1e-6

static bool adds_epsilon(const factors *f, const struct nuc_node *n)
{
    const struct nuc_node *number = n->op == NUC_OP_ADD ? nuc_arg_node(n, NUC_OTHER) : NULL;

    if (number == NULL || !nuc_is_static(number) || !is_float(number, 0) || nuc_elements(&number->vals[0]) != 1 ||
        fabs((double)*(const float *)nuc_const_contiguous(f->g, number) * nuc_scalar(n, NUC_ARG(ADD, alpha), 1)) >
            MOST_EPSILON)
        return false;
    for (uint32_t i = 0; i < n->n_users; i++) {
        if (n->users[i]->op != NUC_OP_DIV || nuc_arg_node(n->users[i], NUC_OTHER) != n)
            return false;
    }
    return true;
}

static bool join(factors *f, struct nuc_node *n)
{
    uint32_t a = n->op == NUC_OP_WHERE ? NUC_ARG(WHERE, self) : NUC_SELF;

    if (adds_epsilon(f, n))
        return pass(f, n);
    struct nuc_channel_labels *x = labels_of_arg(f, n, a), *y = labels_of_arg(f, n, a + 1);

    if (x == NULL || y == NULL)
        return false;
    struct nuc_channel_labels *out = nuc_labels_join(f->sets, x, y);
    while (out->rank < n->vals[0].rank) { /* a condition of more dimensions */
        struct nuc_channel_labels *one = nuc_labels_of_one(f->sets, n->vals[0].rank, NUC_ANY_LABEL);
        out = nuc_labels_join(f->sets, one, out);
    }
    f->labels[n->id][0] = out;
    return true;
}

/* Of a quotient of values with the same factors these are gone, as in an attention that is divided by its own sums. */
static bool cancels(factors *f, struct nuc_node *n)
{
    const struct nuc_channel_labels *x = any_labels_of(f, nuc_arg_node(n, NUC_SELF));
    const struct nuc_channel_labels *z = any_labels_of(f, nuc_arg_node(n, NUC_OTHER));

    if (n->op != NUC_OP_DIV || x == NULL || z == NULL || x->rank != z->rank || x->rank != n->vals[0].rank ||
        x->count != z->count || x->squared != z->squared ||
        memcmp(x->sizes, z->sizes, x->rank * sizeof *x->sizes) != 0 || nuc_labels_are_pinned(f->sets, x))
        return false;
    for (size_t i = 0; i < x->count; i++) {
        if (x->at[i] == NUC_ANY_LABEL || z->at[i] == NUC_ANY_LABEL ||
            nuc_label_root(f->sets, x->at[i]) != nuc_label_root(f->sets, z->at[i]))
            return false;
    }
    f->labels[n->id][0] = pinned_value(f, &n->vals[0]);
    f->quotients = nuc_grow(f->g->cx, f->quotients, &f->quotients_capacity, f->n_quotients + 1, sizeof *f->quotients);
    f->quotients[f->n_quotients++] = n;
    return true;
}

/* A product or quotient carries the factors of the first operand; those of a gate are 1. */
static bool scale(factors *f, struct nuc_node *n)
{
    struct nuc_node *a = nuc_arg_node(n, NUC_SELF), *b = nuc_arg_node(n, NUC_OTHER);
    const struct nuc_meta *y = &n->vals[0];

    if (b == NULL)
        return pass(f, n);
    if (cancels(f, n))
        return true;
    struct nuc_channel_labels *x = labels_of(f, a), *z = labels_of(f, b);
    bool other = n->op == NUC_OP_MUL && z != NULL && z->rank == y->rank &&
                 (x == NULL || x->rank != y->rank || nuc_is_static(a) || nuc_labels_are_pinned(f->sets, x) ||
                  nuc_elements(&a->vals[0]) < nuc_elements(&b->vals[0]));
    if (other && !nuc_is_static(b)) {
        struct nuc_channel_labels *swap = x;
        x = z;
        z = swap;
    }
    if (x == NULL || x->rank != y->rank)
        return false;
    if (z != NULL)
        nuc_labels_pin(f->sets, z);
    f->labels[n->id][0] = x;
    return true;
}

static bool getitem(factors *f, struct nuc_node *n)
{
    struct nuc_node *tuple = nuc_arg_node(n, NUC_ARG(GETITEM, self));
    int64_t index = nuc_integer(n, NUC_ARG(GETITEM, index), 0);

    if (tuple == NULL || f->labels[tuple->id] == NULL || index < 0 || index >= tuple->n_vals ||
        f->labels[tuple->id][index] == NULL)
        return false;
    f->labels[n->id][0] = f->labels[tuple->id][index];
    return true;
}

/* Zeros, or minus infinity in front of a maximum, stay what they are; repeated edges have the factor of their place. */
static bool pad(factors *f, struct nuc_node *n)
{
    double value = nuc_scalar(n, nuc_arg_named(n, "value"), 0);
    struct nuc_axis_map map;

    if (!nuc_axis_map(n, 0, NUC_SELF, 0, &map))
        return false;
    bool constant = !nuc_has_axis(&map, NUC_AXIS_WHOLE);
    return (!constant || nuc_numbers_equal(value, 0) || (isinf(value) && value < 0)) && pass(f, n);
}

/* ---- all of them ---- */

/* false: its operands have the factor 1, and so have its results */
typedef bool follower(factors *f, struct nuc_node *n);

/* Moves let every factor through, and so does what takes the greatest of some elements or a sum of them. */
static follower *const of_family[NUC_FAMILY_COUNT] = {
    [NUC_FAMILY_CONV] = convolve,  [NUC_FAMILY_MATRIX] = matrix_product,
    [NUC_FAMILY_NORM] = normalize, [NUC_FAMILY_POOL] = pass,
    [NUC_FAMILY_RESIZE] = pass,    [NUC_FAMILY_VIEW] = pass,
    [NUC_FAMILY_PERMUTE] = pass,   [NUC_FAMILY_SLICE] = pass,
    [NUC_FAMILY_COPY] = pass,      [NUC_FAMILY_CAT] = concatenate,
    [NUC_FAMILY_PAD] = pad,
};

static const struct {
    const enum nuc_op *ops;
    follower *follow;
} of_ops[] = {
    {NUC_OPS(NUC_OP_LEAKY_RELU, NUC_OP_ABS, NUC_OP_NEG, NUC_OP_PRELU, NUC_OP_MEAN_DIM, NUC_OP_SUM_DIM, NUC_OP_AMAX,
             NUC_OP_AMIN),
     pass},
    {NUC_OPS(NUC_OP_ADD, NUC_OP_SUB, NUC_OP_MAXIMUM, NUC_OP_MINIMUM, NUC_OP_WHERE), join},
    {NUC_OPS(NUC_OP_MUL, NUC_OP_DIV), scale},
    {NUC_OPS(NUC_OP_EMBEDDING), embed},
    {NUC_OPS(NUC_OP_GETITEM), getitem},
};

static bool follow(factors *f, struct nuc_node *n)
{
    follower *of_kind = of_family[nuc_op_family(n->op)];

    if (of_kind != NULL || nuc_has_bounds(n))
        return of_kind != NULL ? of_kind(f, n) : clip(f, n);
    for (size_t i = 0; i < sizeof of_ops / sizeof of_ops[0]; i++) {
        if (nuc_op_is_in(n->op, of_ops[i].ops))
            return of_ops[i].follow(f, n);
    }
    return false;
}

struct nuc_channel_factors *nuc_channel_factors_find(struct nuc_graph *g)
{
    factors *f = nuc_alloc(g->cx, sizeof *f);

    f->g = g;
    f->sets = nuc_label_sets_new(g->cx);
    f->labels = nuc_alloc_array(g->cx, g->next_id, sizeof *f->labels);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_is_placeholder(n))
            continue;
        f->labels[n->id] = nuc_alloc_array(g->cx, n->n_vals, sizeof(struct nuc_channel_labels *));
        if (n->op != NUC_OP_OUTPUT && follow(f, n))
            continue;
        struct nuc_cursor at = {0, 0};
        for (struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at))
            pin_value(f, in);
        for (uint32_t i = 0; i < n->n_vals; i++) {
            if (is_float(n, i))
                f->labels[n->id][i] = pinned_value(f, &n->vals[i]);
        }
    }
    /* A weight that is also read as a value keeps its elements. */
    for (uint32_t i = 0; i < f->n_layers; i++) {
        struct nuc_channel_labels **own = f->labels[f->layers[i].weight->id];
        if (own != NULL && own[0] != NULL) {
            nuc_labels_pin(f->sets, own[0]);
            pin_layer(f, &f->layers[i]);
        }
    }
    return f;
}
