/*
 * w[b, o, i, k] = d[b, o] * sum over t of u_t[b, i] c_t[o, i, k]
 *
 * with constants c_t is what a modulated convolution (one term) and a mixture of experts (several) have as weight. The
 * convolution of x with w is that of [x u_1, x u_2, ..] with the constant weight [o, (t, i), k], times d.
 */
#include "rewrite/recognize/computed_weight.h"

#include <string.h>

#include "ir/axis_map.h"
#include "ir/conv_args.h"
#include "ir/op_list.h"
#include "npu/support/estimate.h"
#include "rewrite/known.h"
#include "rewrite/npu_forms/npu_forms.h"
#include "rewrite/recognize/labelled_product.h"
#include "rewrite/recognize/written.h"
#include "rewrite/rewrite.h"

typedef struct nuc_labelled_factor factor;
typedef struct nuc_labelled_term term;

/* Labels of the weight; those of what is summed follow. */
enum { BATCH, GROUP, OUTPUT, INPUT, SPACE, N_FIXED = SPACE + 3 };

#define BIT(label) ((uint64_t)1 << (label))
#define MAX_CHANNEL_FACTORS 8
#define MAX_WEIGHTS 3e7

struct conv {
    struct nuc_graph *g;
    struct nuc_node *node;
    const struct nuc_conv_args *args;
    struct nuc_node *x;          /* [batch, groups * inputs, ...] */
    int64_t batch;               /* of weights: samples have weights of their own, in groups */
    int64_t groups;              /* of a sample */
    int64_t inputs, outputs;     /* channels of a group */
    struct nuc_labelled_sum sum; /* the weight */
    /* Of each term the first one with the same computed factors: their constants are added up. */
    uint32_t first[NUC_MAX_LABELLED_TERMS];
    uint32_t n_outer;
    factor outer[MAX_CHANNEL_FACTORS]; /* for output channels, in all terms */
    /* A batch norm behind the convolution and views of its result, or the convolution itself; what the norm does to
     * each output channel, or NULL. Its factors are among those of all terms. */
    struct nuc_node *last;
    float *scales, *shifts;
    int64_t experts; /* of all terms */
    bool apart;      /* each expert has results of its own, in groups of its own; else all groups are one */
};

/* ---- reading ---- */

static int64_t elements_of(const struct nuc_node *x)
{
    return nuc_elements(&x->vals[0]);
}

/* What is [batch, channels, ...] where the samples are groups of channels of one image. */
static struct nuc_node *samples_of(const struct conv *c, struct nuc_node *input, int64_t groups)
{
    const struct nuc_meta *in = &input->vals[0];
    struct nuc_node *x = input;

    while (nuc_op_family(input->op) == NUC_FAMILY_VIEW && nuc_arg_node(input, NUC_SELF) != NULL &&
           nuc_same_sizes(&nuc_arg_node(input, NUC_SELF)->vals[0], in))
        input = x = nuc_arg_node(input, NUC_SELF);
    while (groups > 1 && in->sizes[0] == 1 && nuc_op_family(x->op) == NUC_FAMILY_VIEW && nuc_arg_node(x, NUC_SELF)) {
        x = nuc_arg_node(x, NUC_SELF);
        const struct nuc_meta *m = &x->vals[0];
        bool same = m->rank == in->rank && groups % (m->sizes[0] == 0 ? 1 : m->sizes[0]) == 0;
        for (uint32_t d = 0; same && d < c->args->spatial; d++)
            same = m->sizes[2 + d] == in->sizes[2 + d];
        if (same && m->sizes[0] * m->sizes[1] == in->sizes[1])
            return x;
    }
    return input;
}

/* A view, or a permutation that moves dimensions of size 1 alone. */
static bool keeps_order(const struct nuc_node *node)
{
    const struct nuc_node *x = nuc_arg_node(node, NUC_SELF);
    struct nuc_axis_map map;
    uint32_t next = 0;

    if (x == NULL || nuc_op_family(node->op) == NUC_FAMILY_VIEW)
        return x != NULL;
    if (nuc_op_family(node->op) != NUC_FAMILY_PERMUTE || !nuc_axis_map(node, 0, NUC_SELF, 0, &map))
        return false;
    for (uint32_t d = 0; d < node->vals[0].rank; d++) {
        const struct nuc_axis *a = nuc_axis_to(&map, d);
        if (a == NULL || (node->vals[0].sizes[d] != 1 && a->from < next))
            return false;
        next = node->vals[0].sizes[d] != 1 ? a->from : next;
    }
    return true;
}

static void read_norm(struct conv *c)
{
    static const uint8_t channels[] = {GROUP, OUTPUT};
    const struct nuc_meta *out = &c->node->vals[0];
    struct nuc_node *at = c->node;

    c->last = c->node;
    while (at->n_users == 1 && nuc_arg_node(at->users[0], NUC_SELF) == at && keeps_order(at->users[0]))
        at = at->users[0];
    struct nuc_node *norm = at->n_users == 1 && at->users[0]->op == NUC_OP_BATCH_NORM ? at->users[0] : NULL;
    const struct nuc_meta *m = norm != NULL ? &norm->vals[0] : out;
    bool same = norm != NULL && m->rank == out->rank && m->sizes[0] == c->x->vals[0].sizes[0] &&
                m->sizes[1] == c->groups * c->outputs && nuc_elements(m) == nuc_elements(out);
    for (uint32_t d = 0; same && d < c->args->spatial; d++)
        same = m->sizes[2 + d] == out->sizes[2 + d];
    for (uint32_t k = 0; k < c->sum.count; k++)
        same = same && c->sum.terms[k].count < NUC_MAX_LABELLED_FACTORS;
    if (!same || !nuc_batch_norm_factors(c->g, norm, &c->scales, &c->shifts))
        return;
    c->last = norm;
    for (uint32_t k = 0; k < c->sum.count; k++) {
        term *t = &c->sum.terms[k];
        factor *f = &t->factors[t->count++];
        *f = (factor){.power = 1, .known = c->scales};
        for (int i = 0; i < 2; i++) {
            if (c->sum.sizes[channels[i]] != 1)
                f->labels[f->count++] = channels[i];
        }
    }
}

static void add_label(struct conv *c, factor *root, uint8_t label, int64_t size)
{
    c->sum.sizes[label] = size;
    if (size != 1)
        root->labels[root->count++] = label;
}

static bool read_conv(struct conv *c)
{
    struct nuc_node *input = nuc_arg_node(c->node, NUC_CONV_INPUT), *weight = nuc_arg_node(c->node, NUC_CONV_WEIGHT);
    factor root = {.value = weight, .power = 1};

    c->args = nuc_conv_args(c->node->op);
    if (c->args == NULL || c->args->spatial == 0 || !nuc_is_real_value(input) || !nuc_is_real_value(weight) ||
        nuc_known_value(c->g, weight) != NULL || input->vals[0].rank != c->args->spatial + 2 ||
        weight->vals[0].rank != c->args->spatial + 2 || elements_of(input) == 0 || elements_of(weight) == 0)
        return false;
    const int64_t groups = nuc_integer(c->node, c->args->groups, 1), *w = weight->vals[0].sizes;
    c->x = samples_of(c, input, groups);
    c->batch = input->vals[0].sizes[0] == 1 ? c->x->vals[0].sizes[0] : 1;
    c->groups = groups / c->batch;
    c->inputs = c->args->transposed ? w[0] / groups : w[1];
    c->outputs = c->args->transposed ? w[1] : w[0] / groups;
    c->sum = (struct nuc_labelled_sum){.n_labels = N_FIXED};
    for (int label = 0; label < N_FIXED; label++)
        c->sum.sizes[label] = 1;
    add_label(c, &root, BATCH, c->batch);
    add_label(c, &root, GROUP, c->groups);
    add_label(c, &root, c->args->transposed ? INPUT : OUTPUT, c->args->transposed ? c->inputs : c->outputs);
    add_label(c, &root, c->args->transposed ? OUTPUT : INPUT, c->args->transposed ? c->outputs : c->inputs);
    for (uint32_t d = 0; d < c->args->spatial; d++)
        add_label(c, &root, (uint8_t)(SPACE + d), w[2 + d]);
    c->sum.whole[0] = BIT(BATCH) | BIT(GROUP) | BIT(INPUT);
    c->sum.whole[1] = BIT(BATCH) | BIT(GROUP) | BIT(OUTPUT);
    return nuc_take_labelled(c->g, &c->sum, &root);
}

/* ---- terms of one computed factor ---- */

static uint32_t place_in(const term *t, const factor *f)
{
    uint32_t i = 0;

    while (i < t->count && !nuc_same_factor(&t->factors[i], f))
        i++;
    return i;
}

/*
 * The slice of one index, perhaps behind views, that a factor is: of how many indices, and which. False for anything
 * else; *x is what is sliced, *place the number of the factor's labels in front of that dimension.
 */
static bool is_picked(const struct conv *c, const factor *f, struct nuc_node **x, uint32_t *place, int64_t *index)
{
    const struct nuc_node *slice = f->known == NULL ? nuc_behind_views(f->value) : NULL;
    struct nuc_axis_map map;
    const struct nuc_axis *picked = NULL;
    int64_t before = 1;

    if (slice == NULL || slice->op != NUC_OP_SLICE || !nuc_axis_map(slice, 0, NUC_SELF, 0, &map))
        return false;
    *x = nuc_operand(c->g, slice, NUC_SELF);
    for (uint32_t d = 0; d < map.count; d++) {
        bool same = (*x)->vals[0].sizes[d] == slice->vals[0].sizes[d];
        if (!same && (picked != NULL || slice->vals[0].sizes[d] != 1))
            return false;
        picked = same ? picked : &map.axes[d];
        before *= picked == NULL ? slice->vals[0].sizes[d] : 1;
    }
    for (*place = 0; *place < f->count && before > 1; ++*place)
        before /= c->sum.sizes[f->labels[*place]];
    *index = picked != NULL ? picked->start : 0;
    return picked != NULL && before == 1 && f->count < NUC_MAX_RANK;
}

/* a[:, i] is the sum of a[:, e] times a constant that is 1 for e = i: all terms with parts of `a` have one factor. */
static void take_whole(struct conv *c, term *t, uint32_t i)
{
    factor *f = &t->factors[i];
    struct nuc_node *x;
    uint32_t place, label = N_FIXED;
    int64_t index;

    if (t->count == NUC_MAX_LABELLED_FACTORS || c->sum.n_labels == NUC_MAX_LABELS ||
        !is_picked(c, f, &x, &place, &index))
        return;
    int64_t size = elements_of(x) / elements_of(f->value);
    /* The label of the first factor that is the same value with the same labels around, in another term. */
    factor whole = {.value = x, .power = f->power, .count = f->count + 1};
    memcpy(whole.labels, f->labels, place);
    memcpy(whole.labels + place + 1, f->labels + place, f->count - place);
    for (bool found = false; !found; label += found ? 0 : 1) {
        whole.labels[place] = (uint8_t)label;
        found = label == c->sum.n_labels;
        for (uint32_t k = 0; k < c->sum.count && !found && (nuc_term_labels(t, false) & BIT(label)) == 0; k++)
            found = place_in(&c->sum.terms[k], &whole) < c->sum.terms[k].count;
    }
    if (label == c->sum.n_labels) {
        c->sum.n_labels++;
        c->sum.sizes[label] = size;
        c->sum.whole[0] |= BIT(label);
    }
    float *one = nuc_alloc_array(c->g->cx, (size_t)size, sizeof *one);
    one[index] = 1.0f;
    *f = whole;
    t->factors[t->count++] = (factor){.power = 1, .known = one, .count = 1, .labels = {(uint8_t)label}};
}

static bool same_computed(const term *a, const term *b)
{
    uint32_t n = 0, m = 0;

    for (uint32_t i = 0; i < b->count; i++)
        m += b->factors[i].known == NULL;
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->factors[i].known == NULL && place_in(b, &a->factors[i]) == b->count)
            return false;
        n += a->factors[i].known == NULL;
    }
    return n == m;
}

/* The sum of the constants of all terms with the computed factors of term k. NULL: too large. */
static float *constant_of(const struct conv *c, uint32_t k, const uint8_t *labels, uint32_t n)
{
    float *sum = NULL;
    size_t count = 1;

    for (uint32_t i = 0; i < n; i++)
        count *= (size_t)c->sum.sizes[labels[i]];
    for (uint32_t m = k; m < c->sum.count; m++) {
        float *values = c->first[m] == k ? nuc_known_product(c->g, &c->sum, &c->sum.terms[m], labels, n) : sum;
        if (values == NULL)
            return NULL;
        for (size_t i = 0; i < count && sum != NULL && values != sum; i++)
            values[i] += sum[i];
        sum = values;
    }
    return sum;
}

/* ---- factors of output channels ---- */

static void drop(term *t, uint32_t i)
{
    memmove(&t->factors[i], &t->factors[i + 1], (t->count - i - 1) * sizeof *t->factors);
    t->count--;
}

/* A factor for samples alone goes to the side with fewer elements. */
static bool belongs_to_output(const struct conv *c, const factor *f)
{
    uint64_t labels = nuc_factor_labels(f);
    bool fits = (labels & ~(BIT(BATCH) | BIT(GROUP) | BIT(OUTPUT))) == 0;

    if (f->known != NULL || !fits || (labels & BIT(OUTPUT)) != 0)
        return fits && f->known == NULL;
    return c->sum.count > 1 || elements_of(c->node) <= elements_of(c->x);
}

/* What the factors of a term are summed over: the experts. */
static uint64_t experts_of(const term *t)
{
    return nuc_term_labels(t, false) & ~(BIT(N_FIXED) - 1);
}

/* ---- factors as tensors ---- */

/* The product of factors. */
static struct nuc_labelled multiply(const struct conv *c, const factor *factors, uint32_t count)
{
    struct nuc_labelled x = {.value = NULL};

    for (uint32_t i = 0; i < count; i++) {
        if (factors[i].known != NULL)
            continue;
        struct nuc_labelled f = nuc_insert_factor(c->g, c->node, &c->sum, &factors[i]);
        x = x.value == NULL ? f : nuc_contract(c->g, c->node, x, f, UINT64_MAX);
    }
    return x;
}

/* As [batch or 1, channels or 1, 1, ..]: `channels` are labels whose order is that of the channels. */
static struct nuc_node *for_channels(const struct conv *c, struct nuc_labelled x, const uint8_t *channels,
                                     uint32_t n_channels)
{
    uint8_t order[NUC_MAX_RANK];
    int64_t sizes[NUC_MAX_RANK], whole[NUC_MAX_RANK], out[NUC_MAX_RANK];
    uint64_t has = 0, varies = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < x.rank; i++)
        has |= BIT(x.labels[i]);
    for (uint32_t i = 0; i < n_channels; i++)
        varies |= has & BIT(channels[i]);
    sizes[0] = whole[0] = out[0] = (has & BIT(BATCH)) != 0 ? c->batch : 1;
    out[1] = 1;
    if ((has & BIT(BATCH)) != 0)
        order[n++] = BATCH;
    for (uint32_t i = 0; i < n_channels; i++) {
        bool own = (has & BIT(channels[i])) != 0;
        sizes[1 + i] = own ? c->sum.sizes[channels[i]] : 1;
        whole[1 + i] = varies != 0 ? c->sum.sizes[channels[i]] : 1;
        out[1] *= whole[1 + i];
        if (own)
            order[n++] = channels[i];
    }
    for (uint32_t d = 0; d < c->args->spatial; d++)
        out[2 + d] = 1;
    struct nuc_node *value = nuc_order_labels(c->g, c->node, x, order);
    if (memcmp(sizes, whole, (1 + n_channels) * sizeof *sizes) != 0) {
        value = nuc_insert_reshaped(c->g, c->node, value, sizes, 1 + n_channels);
        value = nuc_insert_expanded(c->g, c->node, value, whole, 1 + n_channels);
    }
    return nuc_insert_reshaped(c->g, c->node, value, out, 2 + c->args->spatial);
}

/* ---- weights ---- */

static int64_t taps_of(const struct conv *c)
{
    return (int64_t)nuc_labelled_elements(&c->sum, BIT(SPACE) | BIT(SPACE + 1) | BIT(SPACE + 2));
}

/* Of the convolution with a constant weight; groups with several experts are one group with zeros in between. */
static int64_t groups_of(const struct conv *c)
{
    return c->apart ? c->experts * c->groups : c->experts > 1 ? 1 : c->groups;
}

/* Its weight's first two sizes, of [outputs, inputs, ..], transposed [inputs, outputs, ..]. */
static void weight_sizes(const struct conv *c, int64_t sizes[2])
{
    int64_t inputs = c->groups * c->inputs * c->experts;
    int64_t outputs = c->groups * c->outputs * (c->apart ? c->experts : 1), groups = groups_of(c);

    sizes[0] = c->args->transposed ? inputs : outputs;
    sizes[1] = (c->args->transposed ? outputs : inputs) / groups;
}

/* Row `row` of the constants of the experts [expert, group, outputs, inputs], or transposed, in the weight. */
static int64_t place_of(const struct conv *c, int64_t row)
{
    bool transposed = c->args->transposed;
    int64_t minor = transposed ? c->outputs : c->inputs, major = transposed ? c->inputs : c->outputs, sizes[2];
    int64_t second = row % minor, first = row / minor % major, group = row / minor / major % c->groups;
    int64_t expert = row / minor / major / c->groups;

    weight_sizes(c, sizes);
    if (c->apart)
        return ((expert * c->groups + group) * major + first) * sizes[1] + second;
    bool is_one = groups_of(c) == 1;
    if (transposed)
        return ((expert * c->groups + group) * major + first) * sizes[1] + (is_one ? group * minor : 0) + second;
    return (group * major + first) * sizes[1] + (is_one ? (expert * c->groups + group) * minor : 0) + second;
}

/* The known factors of all terms as one weight; NULL when it is too large. */
static float *weight_of(const struct conv *c)
{
    const size_t taps = (size_t)taps_of(c);
    int64_t sizes[2], row = 0;

    weight_sizes(c, sizes);
    if ((double)sizes[0] * (double)sizes[1] * (double)taps > MAX_WEIGHTS)
        return NULL;
    float *weight = nuc_alloc_array(c->g->cx, (size_t)(sizes[0] * sizes[1]) * taps, sizeof *weight);
    for (uint32_t k = 0; k < c->sum.count; k++) {
        const term *t = &c->sum.terms[k];
        uint8_t labels[NUC_MAX_LABELS];
        if (c->first[k] != k)
            continue;
        uint32_t n = nuc_list_labels(experts_of(t), labels);
        labels[n++] = GROUP;
        labels[n++] = c->args->transposed ? INPUT : OUTPUT;
        labels[n++] = c->args->transposed ? OUTPUT : INPUT;
        for (uint8_t d = 0; d < c->args->spatial; d++)
            labels[n++] = (uint8_t)(SPACE + d);
        const float *values = constant_of(c, k, labels, n);
        if (values == NULL)
            return NULL;
        int64_t experts = (int64_t)nuc_labelled_elements(&c->sum, experts_of(t));
        int64_t rows = experts * c->groups * c->outputs * c->inputs;
        for (int64_t i = 0; i < rows; i++)
            memcpy(weight + (size_t)place_of(c, row + i) * taps, values + (size_t)i * taps, taps * sizeof *weight);
        row += rows;
    }
    return weight;
}

/* ---- one term ---- */

static struct nuc_node *insert_conv(const struct conv *c, struct nuc_node *x, const float *weight)
{
    const struct nuc_meta *old = nuc_input_meta(c->node, NUC_CONV_WEIGHT);
    int64_t sizes[NUC_MAX_RANK];

    memcpy(sizes, old->sizes, sizeof sizes);
    weight_sizes(c, sizes);
    struct nuc_node *operands[] = {x, nuc_insert_floats(c->g, c->node, weight, sizes, old->rank), NULL};
    return nuc_emit_conv_like(c->g, c->node, c->node, operands, groups_of(c));
}

/* The bias, and what a batch norm makes of it: for each channel, or those of each sample one after the other. */
static struct nuc_node *insert_bias(const struct conv *c, bool of_samples)
{
    struct nuc_node *bias = nuc_arg_node(c->node, NUC_CONV_BIAS);
    const int64_t channels = c->groups * c->outputs, all = c->batch * channels;
    const int64_t count = bias != NULL || of_samples ? all : channels, rows[] = {c->batch, channels};

    if (c->scales == NULL)
        return bias;
    if (bias != NULL && !nuc_is_static(bias)) {
        struct nuc_node *scale = nuc_insert_floats(c->g, c->node, c->scales, &channels, 1);
        struct nuc_node *shift = nuc_insert_floats(c->g, c->node, c->shifts, &channels, 1);
        bias = nuc_insert_reshaped(c->g, c->node, bias, rows, 2);
        bias = nuc_insert_binary(c->g, c->node, NUC_OP_MUL, bias, scale);
        return nuc_insert_reshaped(c->g, c->node, nuc_insert_binary(c->g, c->node, NUC_OP_ADD, bias, shift), &all, 1);
    }
    const float *old = bias != NULL ? nuc_const_contiguous(c->g, bias) : NULL;
    float *values = nuc_alloc_array(c->g->cx, (size_t)count, sizeof *values);
    for (int64_t i = 0; i < count; i++)
        values[i] = (old != NULL ? old[i] : 0.0f) * c->scales[i % channels] + c->shifts[i % channels];
    return nuc_insert_floats(c->g, c->node, values, &count, 1);
}

/* The convolution's result times the factors of output channels, plus the bias, in the sizes of what it stands for. */
static struct nuc_node *finish(const struct conv *c, struct nuc_node *conv)
{
    static const uint8_t channels[] = {GROUP, OUTPUT};
    struct nuc_node *bias = insert_bias(c, conv->vals[0].sizes[1] > c->groups * c->outputs), *value = conv;
    const struct nuc_meta *out = &c->last->vals[0];
    bool takes_bias =
        bias != NULL && nuc_is_static(bias) && c->n_outer == 0 && elements_of(bias) == conv->vals[0].sizes[1];

    if (takes_bias)
        nuc_set_arg_node(conv, c->g, NUC_CONV_BIAS, bias);
    const int64_t rows[NUC_MAX_RANK] = {c->x->vals[0].sizes[0], c->groups * c->outputs};
    int64_t sizes[NUC_MAX_RANK];
    memcpy(sizes, conv->vals[0].sizes, sizeof sizes);
    memcpy(sizes, rows, 2 * sizeof *sizes);
    value = nuc_insert_reshaped(c->g, c->node, value, sizes, 2 + c->args->spatial);
    if (c->n_outer > 0)
        value = nuc_insert_binary(c->g, c->node, NUC_OP_MUL, value,
                                  for_channels(c, multiply(c, c->outer, c->n_outer), channels, 2));
    if (bias != NULL && !takes_bias) {
        int64_t each[NUC_MAX_RANK] = {elements_of(bias) / rows[1], rows[1], 1, 1, 1};
        bias = nuc_insert_reshaped(c->g, c->node, bias, each, 2 + c->args->spatial);
        value = nuc_insert_binary(c->g, c->node, NUC_OP_ADD, value, bias);
    }
    return nuc_insert_reshaped(c->g, c->node, value, out->sizes, out->rank);
}

static struct nuc_node *modulate(const struct conv *c, const float *weight)
{
    static const uint8_t channels[] = {GROUP, INPUT};
    const term *t = &c->sum.terms[0];
    struct nuc_labelled u = multiply(c, t->factors, t->count);
    struct nuc_node *x = c->x;

    if (u.value != NULL)
        x = nuc_insert_binary(c->g, c->node, NUC_OP_MUL, x, for_channels(c, u, channels, 2));
    return finish(c, insert_conv(c, x, weight));
}

/* ---- several terms: experts ---- */

#define OF_INPUTS (BIT(GROUP) | BIT(INPUT))

/* The factor of a term for each of its experts, and each input channel where one varies along those: [.., n, m]. */
static struct nuc_node *factor_of_experts(const struct conv *c, const term *t, bool by_input)
{
    static const uint8_t inputs[] = {GROUP, INPUT};
    uint8_t labels[NUC_MAX_LABELS], order[NUC_MAX_LABELS];
    uint32_t n = nuc_list_labels(experts_of(t), labels), count = 0;
    struct nuc_labelled u = multiply(c, t->factors, t->count);
    const int64_t one[] = {1, 1, 1};
    uint64_t has = 0;

    if (u.value == NULL) { /* a constant */
        struct nuc_meta ones = nuc_meta_make(NUC_F32, one, 3);
        return nuc_insert_filled(c->g, c->node, &ones, 1.0);
    }
    for (uint32_t i = 0; i < u.rank; i++)
        has |= BIT(u.labels[i]);
    int64_t own[] = {(has & BIT(BATCH)) != 0 ? c->batch : 1, (int64_t)nuc_labelled_elements(&c->sum, experts_of(t)), 1,
                     1};
    int64_t whole[] = {own[0], own[1], by_input ? c->groups : 1, by_input ? c->inputs : 1};
    if ((has & BIT(BATCH)) != 0)
        order[count++] = BATCH;
    for (uint32_t i = 0; i < n; i++)
        order[count++] = labels[i];
    for (int i = 0; i < 2; i++) {
        if ((has & BIT(inputs[i])) == 0)
            continue;
        own[2 + i] = c->sum.sizes[inputs[i]];
        order[count++] = inputs[i];
    }
    struct nuc_node *value = nuc_order_labels(c->g, c->node, u, order);
    const int64_t out[] = {whole[0], whole[1], whole[2] * whole[3]};
    if (memcmp(own, whole, sizeof own) != 0)
        value = nuc_insert_expanded(c->g, c->node, nuc_insert_reshaped(c->g, c->node, value, own, 4), whole, 4);
    return nuc_insert_reshaped(c->g, c->node, value, out, 3);
}

/* Of all terms, one value for each of `channels` channels of an expert: [batch or 1, experts * channels, 1, ..]. */
static struct nuc_node *factors_of_experts(const struct conv *c, int64_t channels)
{
    struct nuc_node *parts[NUC_MAX_LABELLED_TERMS];
    int64_t batch = 1, experts = 0;
    uint32_t n = 0;
    bool by_input = false;

    for (uint32_t k = 0; k < c->sum.count; k++)
        by_input = by_input || (nuc_term_labels(&c->sum.terms[k], false) & OF_INPUTS) != 0;
    for (uint32_t k = 0; k < c->sum.count; k++) {
        if (c->first[k] != k)
            continue;
        const int64_t *sizes = (parts[n++] = factor_of_experts(c, &c->sum.terms[k], by_input))->vals[0].sizes;
        batch = sizes[0] > batch ? sizes[0] : batch;
        experts += sizes[1];
    }
    for (uint32_t k = 0; k < n; k++) {
        const int64_t *own = parts[k]->vals[0].sizes, sizes[] = {batch, own[1], own[2]};
        parts[k] = nuc_insert_expanded(c->g, c->node, parts[k], sizes, 3);
    }
    struct nuc_node *u = n == 1 ? parts[0] : nuc_insert_cat(c->g, c->node, parts, n, 1);
    const int64_t whole[] = {batch, experts, channels}, out[] = {batch, experts * channels, 1, 1, 1};
    u = nuc_insert_expanded(c->g, c->node, u, whole, 3);
    return nuc_insert_reshaped(c->g, c->node, u, out, 2 + c->args->spatial);
}

/* The sum over the experts, whose channels lie one behind the other. */
static struct nuc_node *sum_experts(const struct conv *c, struct nuc_node *value)
{
    int64_t channels = c->groups * c->outputs, all = c->experts * channels, sizes[] = {channels, all, 1, 1};
    float *ones = nuc_alloc_array(c->g->cx, (size_t)(channels * all), sizeof *ones);

    for (int64_t i = 0; i < all; i++)
        ones[i % channels * all + i] = 1.0f;
    struct nuc_node *weight = nuc_insert_floats(c->g, c->node, ones, sizes, 2 + c->args->spatial);
    return nuc_emit(c->g, c->node, c->args->spatial == 1 ? NUC_OP_CONV1D : NUC_OP_CONV2D, c->node,
                    NUC_ARGS(value, weight));
}

/* Inputs for each expert, summed by the convolution, or results for each expert, summed after it. */
static struct nuc_node *mix(const struct conv *c, const float *weight)
{
    struct nuc_node *x = nuc_insert_repeated(c->g, c->node, c->x, 1, c->experts);

    if (!c->apart) {
        x = nuc_insert_binary(c->g, c->node, NUC_OP_MUL, x, factors_of_experts(c, c->groups * c->inputs));
        return finish(c, insert_conv(c, x, weight));
    }
    struct nuc_node *conv = insert_conv(c, x, weight), *u = factors_of_experts(c, c->groups * c->outputs);
    return finish(c, sum_experts(c, nuc_insert_binary(c->g, c->node, NUC_OP_MUL, conv, u)));
}

/* ---- which of them ---- */

/* Each copy has twice the values of the one before. */
static uint64_t cycles_of_copies(const struct nuc_target *target, int64_t values, int64_t times)
{
    uint64_t cycles = 0;

    for (int64_t n = 1; n < times; n *= 2)
        cycles += nuc_estimate_move(target, (uint64_t)(2 * n < times ? values * n : values * (times - n)));
    return cycles;
}

/* Copies for each expert are in memory as a whole. */
static bool fit(const struct conv *c, const struct nuc_target *target, int64_t values)
{
    const uint64_t part = 4;

    return (double)values * (double)c->experts <= (double)(target->memories[0].bytes / part);
}

/* Cycles with the inputs of the experts side by side, all groups as one. */
static uint64_t cycles_of_inputs(const struct conv *c, const struct nuc_target *target)
{
    const struct nuc_meta *visited = c->args->transposed ? &c->x->vals[0] : &c->node->vals[0];
    int64_t pixels = nuc_elements(visited) / visited->sizes[1] * (c->args->transposed ? 1 : c->batch);
    int64_t in = elements_of(c->x), inputs = c->experts * c->groups * c->inputs, taps = taps_of(c);

    if (!fit(c, target, in) || (double)(inputs + target->num_macs) * (double)taps > (double)target->max_mac_buffer)
        return UINT64_MAX;
    return cycles_of_copies(target, in, c->experts) + nuc_estimate_move(target, (uint64_t)inputs) +
           nuc_estimate_move(target, (uint64_t)(in * c->experts)) +
           nuc_estimate_product(target, (uint64_t)pixels, (uint64_t)(c->groups * c->outputs),
                                (uint64_t)(inputs * taps));
}

/* Cycles channel by channel, with the results of the experts side by side. */
static uint64_t cycles_of_results(const struct conv *c, const struct nuc_target *target)
{
    int64_t out = elements_of(c->node), channels = c->groups * c->outputs;

    if (c->args->transposed || c->groups == 1 || c->inputs > 1 || !fit(c, target, elements_of(c->x)) ||
        !fit(c, target, out))
        return UINT64_MAX;
    for (uint32_t k = 0; k < c->sum.count; k++) {
        if ((nuc_term_labels(&c->sum.terms[k], false) & OF_INPUTS) != 0)
            return UINT64_MAX;
    }
    return cycles_of_copies(target, elements_of(c->x), c->experts) +
           nuc_estimate_move(target, (uint64_t)(channels * c->experts)) +
           nuc_estimate_move(target, (uint64_t)(out * c->experts)) +
           nuc_estimate_move(target, (uint64_t)(out * c->experts * taps_of(c))) +
           nuc_estimate_product(target, (uint64_t)(out / channels), (uint64_t)channels,
                                (uint64_t)(c->experts * channels));
}

/* The weight computed, and the convolution with it. */
static uint64_t cycles_of_weight(const struct conv *c, const struct nuc_support *npu)
{
    const struct nuc_node *weight = nuc_operand(c->g, c->node, NUC_CONV_WEIGHT);
    uint64_t cycles = nuc_computed_conv_cycles(npu, c->node);

    const struct nuc_kernel_costs *cpu = &npu->target->costs.real; /* which has no int8 kernel for such a weight */
    if (cycles == UINT64_MAX)
        cycles =
            nuc_cpu_cycles(cpu, (double)elements_of(c->node) * (double)c->inputs * (double)taps_of(c), cpu->conv_mac);
    return cycles + nuc_estimate_product(npu->target, (uint64_t)c->batch, (uint64_t)(elements_of(weight) / c->batch),
                                         (uint64_t)c->experts);
}

/*
 * Whether the experts are mixed by inputs or results, and by which. A constant weight has a scale for each channel and
 * batch norms in it, where a computed one has a single scale and activations with zero point 0 beside it: it has to be
 * faster by a fifth.
 */
static bool gains_by_mix(struct conv *c, const struct nuc_support *npu)
{
    if (npu == NULL || c->args->spatial > 2)
        return false;
    uint64_t inputs = cycles_of_inputs(c, npu->target), results = cycles_of_results(c, npu->target);
    uint64_t least = inputs < results ? inputs : results;
    c->apart = results < inputs;
    return least != UINT64_MAX && (double)least < 1.25 * (double)cycles_of_weight(c, npu);
}

/* ---- a weight that stays computed ---- */

/*
 * The weight as a linear layer of what the experts are weighted with, into whose constants a batch norm goes. NULL:
 * there is no norm, or more than that in the weight.
 */
static struct nuc_node *with_norm(const struct conv *c)
{
    const struct nuc_node *old = nuc_operand(c->g, c->node, NUC_CONV_WEIGHT);
    uint8_t labels[NUC_MAX_LABELS], order[1 + NUC_MAX_LABELS] = {BATCH};
    uint32_t n = 0, n_samples = c->batch > 1, of_experts = NUC_MAX_LABELLED_TERMS, constant = NUC_MAX_LABELLED_TERMS;

    for (uint32_t k = 0; k < c->sum.count; k++) {
        uint64_t computed = nuc_term_labels(&c->sum.terms[k], false);
        uint32_t *place = computed != 0 ? &of_experts : &constant;
        if (c->first[k] != k)
            continue;
        if (*place != NUC_MAX_LABELLED_TERMS || (computed & (BIT(N_FIXED) - 1) & ~BIT(BATCH)) != 0)
            return NULL;
        *place = k;
    }
    const term *mixed = &c->sum.terms[of_experts == NUC_MAX_LABELLED_TERMS ? 0 : of_experts];
    if (c->scales == NULL || experts_of(mixed) == 0)
        return NULL;
    labels[n++] = GROUP;
    labels[n++] = c->args->transposed ? INPUT : OUTPUT;
    labels[n++] = c->args->transposed ? OUTPUT : INPUT;
    for (uint8_t d = 0; d < c->args->spatial; d++)
        labels[n++] = (uint8_t)(SPACE + d);
    uint32_t n_experts = nuc_list_labels(experts_of(mixed), labels + n);
    const int64_t experts = (int64_t)nuc_labelled_elements(&c->sum, experts_of(mixed));
    const int64_t rows = elements_of(old) / c->batch, sizes[] = {rows, experts}, in[] = {c->batch, experts};
    bool has_constant = constant != NUC_MAX_LABELLED_TERMS;
    const float *values = constant_of(c, of_experts, labels, n + n_experts);
    const float *bias = has_constant ? constant_of(c, constant, labels, n) : NULL;
    if (values == NULL || (has_constant && bias == NULL))
        return NULL;
    struct nuc_node *weight = nuc_insert_floats(c->g, c->node, values, sizes, 2);
    struct nuc_node *added = bias != NULL ? nuc_insert_floats(c->g, c->node, bias, &rows, 1) : NULL;
    struct nuc_labelled u = multiply(c, mixed->factors, mixed->count);
    memcpy(order + 1, labels + n, n_experts);
    /* Labels that only some of the factors have are there once. */
    if (u.rank != n_samples + n_experts)
        return NULL;
    u.value = nuc_insert_reshaped(c->g, c->node, nuc_order_labels(c->g, c->node, u, order + 1 - n_samples), in, 2);
    weight = nuc_emit(c->g, c->node, NUC_OP_LINEAR, c->node, NUC_ARGS(u.value, weight, added));
    weight = nuc_insert_reshaped(c->g, c->node, weight, old->vals[0].sizes, old->vals[0].rank);
    struct nuc_node *x = c->batch == 1 ? c->x : nuc_operand(c->g, c->node, NUC_CONV_INPUT);
    return finish(
        c, nuc_emit_conv_like(c->g, c->node, c->node, (struct nuc_node *[]){x, weight, NULL}, c->batch * c->groups));
}

/* ---- any ---- */

/* What stands for c->last; NULL: the convolution stays. */
static struct nuc_node *with_constants(struct conv *c, const struct nuc_support *npu)
{
    for (uint32_t k = 0; k < c->sum.count; k++) {
        if ((nuc_term_labels(&c->sum.terms[k], true) & BIT(BATCH)) != 0)
            return NULL;
    }
    /* The factors for output channels are taken out of all terms. */
    term *first = &c->sum.terms[0];
    for (uint32_t i = 0; i < first->count;) {
        const factor f = first->factors[i];
        bool common = belongs_to_output(c, &f) && c->n_outer < MAX_CHANNEL_FACTORS;
        for (uint32_t k = 1; k < c->sum.count; k++)
            common = common && place_in(&c->sum.terms[k], &f) < c->sum.terms[k].count;
        for (uint32_t k = 0; common && k < c->sum.count; k++)
            drop(&c->sum.terms[k], place_in(&c->sum.terms[k], &f));
        if (common)
            c->outer[c->n_outer++] = f;
        else
            i++;
    }
    for (uint32_t k = 0; k < c->sum.count; k++) {
        const term *t = &c->sum.terms[k];
        for (uint32_t i = 0; i < t->count; i++) {
            if (t->factors[i].known == NULL && (nuc_factor_labels(&t->factors[i]) & ~c->sum.whole[0]) != 0)
                return NULL;
        }
    }
    for (uint32_t k = 0; k < c->sum.count && c->sum.count > 1; k++) {
        for (uint32_t i = 0; i < c->sum.terms[k].count; i++)
            take_whole(c, &c->sum.terms[k], i);
    }
    for (uint32_t k = 0; k < c->sum.count; k++) {
        c->first[k] = 0;
        while (!same_computed(&c->sum.terms[c->first[k]], &c->sum.terms[k]))
            c->first[k]++;
    }
    read_norm(c);
    double count = 0;
    for (uint32_t k = 0; k < c->sum.count; k++)
        count += c->first[k] == k ? nuc_labelled_elements(&c->sum, experts_of(&c->sum.terms[k])) : 0;
    c->experts = (int64_t)count;
    if (c->experts > 1 && !gains_by_mix(c, npu))
        return with_norm(c);
    const float *weight = weight_of(c);
    if (weight == NULL)
        return NULL;
    return c->experts == 1 ? modulate(c, weight) : mix(c, weight);
}

/* conv(x, w) + bias where the bias is computed; NULL where it is not. */
static struct nuc_node *with_bias_added(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *bias = nuc_arg_node(node, NUC_CONV_BIAS);
    const struct nuc_conv_args *args = nuc_conv_args(node->op);

    if (bias == NULL || nuc_is_static(bias) || !nuc_is_real_value(bias) || args->spatial == 0 ||
        node->vals[0].rank < args->spatial + 1)
        return NULL;
    int64_t sizes[NUC_MAX_RANK] = {elements_of(bias), 1, 1, 1};
    struct nuc_node *x = nuc_operand(g, node, NUC_CONV_INPUT), *weight = nuc_operand(g, node, NUC_CONV_WEIGHT);
    struct nuc_node *conv = nuc_emit_like(g, node, node, NUC_ARGS(x, weight, NULL));
    nuc_set_arg_node(conv, g, NUC_CONV_BIAS, NULL);
    return nuc_insert_binary(g, node, NUC_OP_ADD, conv, nuc_insert_reshaped(g, node, bias, sizes, 1 + args->spatial));
}

/* linear(x, w) + bias as a product of two activations, of which int8 kernels of the CPU have one; NULL: w is none. */
static struct nuc_node *with_product(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *x = nuc_arg_node(node, NUC_ARG(LINEAR, input)), *w = nuc_arg_node(node, NUC_ARG(LINEAR, weight)),
                    *bias = nuc_arg_node(node, NUC_ARG(LINEAR, bias));
    static const int64_t swapped[] = {1, 0};

    if (!nuc_is_real_value(x) || !nuc_is_real_value(w) || nuc_is_static(w) || w->vals[0].rank != 2)
        return NULL;
    struct nuc_node *y = nuc_insert_binary(g, node, NUC_OP_MATMUL, x, nuc_insert_permuted(g, node, w, swapped));
    return bias == NULL ? y : nuc_insert_binary(g, node, NUC_OP_ADD, y, bias);
}

/* Takes the place of `last`, which is computed from `first` by operators that nothing else reads. */
static void replace(struct nuc_graph *g, struct nuc_node *first, struct nuc_node *last, struct nuc_node *value)
{
    const char *name = last->name;

    nuc_replace_uses(g, last, value, NULL);
    for (struct nuc_node *n = last, *before; n != NULL; n = before) {
        before = n == first ? NULL : nuc_arg_node(n, NUC_SELF);
        nuc_remove_node(g, n);
    }
    nuc_rename(g, value, name);
}

bool nuc_keep_weights_constant(struct nuc_graph *g, const struct nuc_support *npu)
{
    uint32_t count;
    struct nuc_node **layers =
        nuc_collect(g,
                    NUC_OPS(NUC_OP_LINEAR, NUC_OP_CONV1D, NUC_OP_CONV2D, NUC_OP_CONV3D, NUC_OP_CONV1D_PADDING,
                            NUC_OP_CONV2D_PADDING, NUC_OP_CONV3D_PADDING, NUC_OP_CONV_TRANSPOSE1D,
                            NUC_OP_CONV_TRANSPOSE2D, NUC_OP_CONV_TRANSPOSE3D),
                    &count);
    bool changed = false;

    for (uint32_t i = 0; i < count; i++) {
        struct conv c = {.g = g, .node = layers[i], .last = layers[i]};
        struct nuc_node *value;
        if (layers[i]->op == NUC_OP_LINEAR)
            value = npu == NULL ? with_product(g, layers[i]) : NULL;
        else
            value = read_conv(&c) ? with_constants(&c, npu) : NULL;
        if (value == NULL && layers[i]->op != NUC_OP_LINEAR)
            value = with_bias_added(g, c.last = layers[i]);
        if (value != NULL)
            replace(g, layers[i], c.last, value);
        changed = changed || value != NULL;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
