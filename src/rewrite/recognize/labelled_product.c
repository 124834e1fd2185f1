#include "rewrite/recognize/labelled_product.h"

#include <math.h>
#include <string.h>

#include "ir/axis_map.h"
#include "ir/op_list.h"
#include "rewrite/known.h"
#include "rewrite/recognize/written.h"

#define MAX_DEPTH 32
#define MAX_VISITS 4096 /* of nodes: operands may be shared many times over */
#define MAX_KNOWN 3e7

typedef struct nuc_labelled_factor factor;

static uint64_t bit(uint8_t label)
{
    return (uint64_t)1 << label;
}

uint64_t nuc_factor_labels(const factor *f)
{
    uint64_t set = 0;

    for (uint32_t i = 0; i < f->count; i++)
        set |= bit(f->labels[i]);
    return set;
}

uint64_t nuc_term_labels(const struct nuc_labelled_term *t, bool known)
{
    uint64_t set = 0;

    for (uint32_t i = 0; i < t->count; i++)
        set |= (t->factors[i].known != NULL) == known ? nuc_factor_labels(&t->factors[i]) : 0;
    return set;
}

uint32_t nuc_list_labels(uint64_t set, uint8_t *labels)
{
    uint32_t n = 0;

    for (uint8_t label = 0; label < NUC_MAX_LABELS; label++) {
        if ((set >> label & 1) != 0)
            labels[n++] = label;
    }
    return n;
}

double nuc_labelled_elements(const struct nuc_labelled_sum *e, uint64_t labels)
{
    double elements = 1;

    for (uint8_t i = 0; i < e->n_labels; i++)
        elements *= (labels & bit(i)) != 0 ? (double)e->sizes[i] : 1;
    return elements;
}

bool nuc_same_factor(const factor *a, const factor *b)
{
    return a->value == b->value && a->known == b->known && a->power == b->power && a->count == b->count &&
           memcmp(a->labels, b->labels, a->count) == 0;
}

/* ---- labels of operands ---- */

#define MAX_SUMS 16
#define MAX_PARTS 4

/* Labels of one dimension that is summed. */
struct summed {
    uint32_t count;
    uint8_t labels[MAX_PARTS];
};

struct taking {
    struct nuc_graph *g;
    struct nuc_labelled_sum *e;
    uint32_t n_given; /* labels */
    /* The dimensions that are summed, in the order in which they are met: what is in it is several dimensions of a
     * factor, and takes as many labels. */
    uint32_t n_sums;
    struct {
        uint32_t count;
        int64_t sizes[MAX_PARTS];
    } sums[MAX_SUMS];
    uint8_t sum_of[NUC_MAX_LABELS], part_of[NUC_MAX_LABELS];
    bool again; /* one of them has got another part */
    uint32_t visits;
};

/* The label is two: of `outer` times the rest. */
static void divide(struct taking *t, uint8_t label, int64_t outer)
{
    int64_t size = t->e->sizes[label];

    if (label < t->n_given || t->again || size % outer != 0 || t->sums[t->sum_of[label]].count == MAX_PARTS)
        return;
    uint32_t part = t->part_of[label], *count = &t->sums[t->sum_of[label]].count;
    int64_t *sizes = t->sums[t->sum_of[label]].sizes;
    memmove(sizes + part + 1, sizes + part, (*count - part) * sizeof *sizes);
    sizes[part] = outer;
    sizes[part + 1] = size / outer;
    ++*count;
    t->again = true;
}

/* The labels of what is summed: new ones where *s has none. */
static bool add_summed(struct taking *t, int64_t size, struct summed *s, factor *out)
{
    struct nuc_labelled_sum *e = t->e;
    int64_t product = 1;

    if (s->count == 0) {
        uint32_t index = t->n_sums++;
        if (index >= MAX_SUMS)
            return false;
        if (t->sums[index].count == 0) {
            t->sums[index].count = 1;
            t->sums[index].sizes[0] = size;
        }
        for (uint32_t i = 0; i < t->sums[index].count && i < MAX_PARTS && e->n_labels < NUC_MAX_LABELS; i++) {
            uint8_t label = s->labels[s->count++] = (uint8_t)e->n_labels++;
            e->sizes[label] = t->sums[index].sizes[i];
            e->whole[0] |= e->products_only ? 0 : bit(label);
            e->whole[1] |= e->products_only ? 0 : bit(label);
            t->sum_of[label] = (uint8_t)index;
            t->part_of[label] = (uint8_t)i;
        }
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (out->count == NUC_MAX_RANK)
            return false;
        out->labels[out->count++] = s->labels[i];
        product *= e->sizes[s->labels[i]];
    }
    return product == size;
}

/* The operand in argument `arg` of a factor that is a call; *summed: of the one dimension that is summed. */
static bool operand_of(struct taking *t, const factor *f, uint32_t arg, struct summed *summed, factor *out)
{
    struct nuc_node *x = nuc_arg_node(f->value, arg);
    struct nuc_axis_map map;
    uint32_t first[NUC_MAX_RANK + 1];

    /* Where the labels of each dimension of the value begin: a label belongs to one. */
    if (!nuc_is_real_value(x) || !nuc_axis_map(f->value, 0, arg, 0, &map))
        return false;
    const struct nuc_meta *m = &f->value->vals[0];
    uint32_t at = 0;
    for (uint32_t d = 0; d < m->rank; d++) {
        int64_t size = 1;
        first[d] = at;
        while (size < m->sizes[d] && at < f->count) {
            int64_t of_label = t->e->sizes[f->labels[at]];
            if (size * of_label > m->sizes[d] && m->sizes[d] % size == 0)
                divide(t, f->labels[at], m->sizes[d] / size);
            size *= of_label;
            at++;
        }
        if (size != m->sizes[d])
            return false;
    }
    first[m->rank] = at;
    if (at != f->count)
        return false;
    *out = (factor){.value = x, .power = f->power};
    const struct nuc_meta *from = &x->vals[0], *to = &f->value->vals[0];
    for (uint32_t d = 0; d < from->rank; d++) {
        const struct nuc_axis *a = map.axes;
        while (a < map.axes + map.count && a->from != d)
            a++;
        if (a == map.axes + map.count) /* inside of an axis that began before */
            continue;
        int64_t size = nuc_elements_between(from, a->from, a->from_end);
        if (size == 1)
            continue;
        if (a->kind == NUC_AXIS_WHOLE) {
            struct summed own = {.count = 0};
            if (!add_summed(t, size, summed != NULL ? summed : &own, out))
                return false;
            continue;
        }
        if (a->kind != NUC_AXIS_ELEMENT || a->start != 0 || a->step != 1 ||
            size != nuc_elements_between(to, a->to, a->to_end))
            return false;
        for (uint32_t i = first[a->to]; i < first[a->to_end]; i++) {
            if (out->count == NUC_MAX_RANK)
                return false;
            out->labels[out->count++] = f->labels[i];
        }
    }
    return true;
}

/* ---- terms ---- */

struct terms {
    uint32_t count;
    struct nuc_labelled_term *list;
};

static struct terms no_terms(struct nuc_graph *g, uint32_t count)
{
    return (struct terms){count, nuc_alloc_array(g->cx, (size_t)count + 1, sizeof(struct nuc_labelled_term))};
}

/* Equal factors are one to the sum of their powers. */
static bool append(struct nuc_labelled_term *t, const factor *f)
{
    for (uint32_t i = 0; i < t->count; i++) {
        factor *own = &t->factors[i];
        factor same = *f;
        same.power = own->power;
        if (nuc_same_factor(own, &same)) {
            own->power += f->power;
            return true;
        }
    }
    if (t->count == NUC_MAX_LABELLED_FACTORS)
        return false;
    t->factors[t->count++] = *f;
    return true;
}

static bool multiply(struct nuc_graph *g, const struct terms *a, const struct terms *b, struct terms *out)
{
    if (a->count * b->count > NUC_MAX_LABELLED_TERMS)
        return false;
    *out = no_terms(g, a->count * b->count);
    for (uint32_t i = 0; i < out->count; i++) {
        const struct nuc_labelled_term *x = &a->list[i / b->count], *y = &b->list[i % b->count];
        out->list[i] = *x;
        out->list[i].number *= y->number;
        for (uint32_t k = 0; k < y->count; k++) {
            if (!append(&out->list[i], &y->factors[k]))
                return false;
        }
    }
    return true;
}

static bool add(struct nuc_graph *g, const struct terms *a, const struct terms *b, double sign, struct terms *out)
{
    if (a->count + b->count > NUC_MAX_LABELLED_TERMS)
        return false;
    *out = no_terms(g, a->count + b->count);
    memcpy(out->list, a->list, a->count * sizeof *a->list);
    memcpy(out->list + a->count, b->list, b->count * sizeof *b->list);
    for (uint32_t i = a->count; i < out->count; i++)
        out->list[i].number *= sign;
    return true;
}

/* What is summed along a label that no factor of a term has is a multiple of that term. */
static void count_repeated(const struct nuc_labelled_sum *e, struct terms *terms, uint8_t first, uint8_t end)
{
    for (uint32_t i = 0; i < terms->count; i++) {
        struct nuc_labelled_term *t = &terms->list[i];
        uint64_t labels = nuc_term_labels(t, true) | nuc_term_labels(t, false);
        for (uint8_t label = first; label < end; label++)
            t->number *= (labels & bit(label)) == 0 ? (double)e->sizes[label] : 1;
    }
}

/* ---- taking apart ---- */

static bool take(struct taking *t, const factor *f, int depth, struct terms *out);

static bool take_operand(struct taking *t, const factor *f, uint32_t arg, int power, struct summed *summed, int depth,
                         struct terms *out)
{
    factor x;

    if (!operand_of(t, f, arg, summed, &x))
        return false;
    x.power = power;
    return take(t, &x, depth - 1, out);
}

/* Two operands, multiplied or added. */
static bool take_two(struct taking *t, const factor *f, int depth, struct terms *out)
{
    const struct nuc_node *node = f->value;
    bool product = node->op == NUC_OP_MUL || node->op == NUC_OP_DIV;
    struct terms a, b;

    if (!take_operand(t, f, NUC_SELF, f->power, NULL, depth, &a) ||
        !take_operand(t, f, NUC_OTHER, node->op == NUC_OP_DIV ? -f->power : f->power, NULL, depth, &b))
        return false;
    /* A power of a sum is no sum of powers. */
    if (product)
        return multiply(t->g, &a, &b, out);
    return f->power == 1 && nuc_has_plain_alpha(node) && add(t->g, &a, &b, node->op == NUC_OP_SUB ? -1 : 1, out);
}

static bool take_matrix_product(struct taking *t, const factor *f, int depth, struct terms *out)
{
    const struct nuc_node *node = f->value;
    bool adds = node->op == NUC_OP_ADDMM;
    uint32_t left = adds ? NUC_ARG(ADDMM, mat1) : NUC_SELF, bias = NUC_NO_ARG;
    struct terms a, b, product, c;
    struct summed summed = {.count = 0};

    if (node->op == NUC_OP_LINEAR && nuc_arg_node(node, NUC_ARG(LINEAR, bias)) != NULL)
        bias = NUC_ARG(LINEAR, bias);
    if (adds && nuc_numbers_equal(nuc_scalar(node, NUC_ARG(ADDMM, beta), 1), 1) &&
        nuc_numbers_equal(nuc_scalar(node, NUC_ARG(ADDMM, alpha), 1), 1))
        bias = NUC_SELF;
    if (f->power != 1 || (adds && bias == NUC_NO_ARG) || !take_operand(t, f, left, 1, &summed, depth, &a) ||
        !take_operand(t, f, left + 1, 1, &summed, depth, &b) || !multiply(t->g, &a, &b, &product))
        return false;
    if (summed.count > 0)
        count_repeated(t->e, &product, summed.labels[0], (uint8_t)(summed.labels[0] + summed.count));
    if (bias == NUC_NO_ARG) {
        *out = product;
        return true;
    }
    return take_operand(t, f, bias, 1, NULL, depth, &c) && add(t->g, &product, &c, 1, out);
}

static bool take_call(struct taking *t, const factor *f, int depth, struct terms *out)
{
    const struct nuc_node *node = f->value;
    enum nuc_family family = nuc_op_family(node->op);

    if (node->op == NUC_OP_MUL || node->op == NUC_OP_DIV)
        return take_two(t, f, depth, out);
    if (nuc_numbers_equal(nuc_power_of(node), 2))
        return take_operand(t, f, NUC_SELF, 2 * f->power, NULL, depth, out);
    if (family == NUC_FAMILY_VIEW || family == NUC_FAMILY_PERMUTE || node->op == NUC_OP_EXPAND ||
        nuc_is_plain_copy(node))
        return take_operand(t, f, NUC_SELF, f->power, NULL, depth, out);
    if (node->op == NUC_OP_NEG && take_operand(t, f, NUC_SELF, f->power, NULL, depth, out)) {
        for (uint32_t i = 0; i < out->count; i++)
            out->list[i].number *= f->power % 2 == 0 ? 1 : -1;
        return true;
    }
    if (t->e->products_only && depth < MAX_DEPTH)
        return false;
    if (node->op == NUC_OP_ADD || node->op == NUC_OP_SUB)
        return take_two(t, f, depth, out);
    if (node->op == NUC_OP_SUM_DIM || node->op == NUC_OP_MEAN_DIM) {
        uint8_t before = (uint8_t)t->e->n_labels;
        factor x;
        if (f->power != 1 || !operand_of(t, f, NUC_SELF, NULL, &x))
            return false;
        uint8_t after = (uint8_t)t->e->n_labels;
        if (!take(t, &x, depth - 1, out))
            return false;
        count_repeated(t->e, out, before, after);
        double count = (double)nuc_elements(&x.value->vals[0]) / (double)nuc_elements(&f->value->vals[0]);
        for (uint32_t i = 0; i < out->count && f->value->op == NUC_OP_MEAN_DIM; i++)
            out->list[i].number /= count;
        return true;
    }
    return nuc_op_is_in(node->op, NUC_OPS(NUC_OP_MM, NUC_OP_BMM, NUC_OP_MATMUL, NUC_OP_LINEAR, NUC_OP_ADDMM)) &&
           take_matrix_product(t, f, depth, out);
}

static bool stays_whole(const struct nuc_labelled_sum *e, const factor *f)
{
    uint64_t labels = nuc_factor_labels(f);

    return (labels & ~e->whole[0]) == 0 || (labels & ~e->whole[1]) == 0;
}

/* What cannot be taken apart is a factor; the labels that the attempt has added are not used then. */
static bool take(struct taking *t, const factor *f, int depth, struct terms *out)
{
    const float *known = nuc_is_static(f->value) ? nuc_const_contiguous(t->g, f->value) : NULL;

    if (known == NULL && depth > 0 && nuc_is_call(f->value) && !f->value->in_place && !stays_whole(t->e, f) &&
        ++t->visits < MAX_VISITS) {
        if (take_call(t, f, depth, out))
            return true;
        known = nuc_known_value(t->g, f->value);
    }
    *out = no_terms(t->g, 1);
    out->list[0] = (struct nuc_labelled_term){.number = 1, .count = 1, .factors = {*f}};
    out->list[0].factors[0].known = known;
    return true;
}

bool nuc_take_labelled(struct nuc_graph *g, struct nuc_labelled_sum *e, const factor *root)
{
    const struct nuc_labelled_sum before = *e;
    struct taking t = {.g = g, .e = e, .n_given = e->n_labels, .again = true};
    struct terms terms;

    if (!nuc_is_real_value(root->value) || nuc_elements(&root->value->vals[0]) == 0)
        return false;
    for (int round = 0; t.again && round < MAX_SUMS * MAX_PARTS; round++) {
        *e = before;
        t.n_sums = t.visits = 0;
        t.again = false;
        if (!take(&t, root, MAX_DEPTH, &terms))
            return false;
    }
    e->count = terms.count;
    e->terms = terms.list;
    return true;
}

/* ---- building ---- */

static double raised(double x, int power)
{
    return power == 1 ? x : power == 2 ? x * x : pow(x, power);
}

float *nuc_known_product(struct nuc_graph *g, const struct nuc_labelled_sum *e, const struct nuc_labelled_term *t,
                         const uint8_t *labels, uint32_t count)
{
    uint8_t order[NUC_MAX_LABELS];
    size_t index[NUC_MAX_LABELS] = {0}, strides[NUC_MAX_LABELLED_FACTORS][NUC_MAX_LABELS], total = 1, summed = 1;
    uint64_t kept = 0, known = nuc_term_labels(t, true);
    uint32_t n = count;

    memcpy(order, labels, count);
    for (uint32_t i = 0; i < count; i++)
        kept |= bit(labels[i]);
    for (uint8_t i = 0; i < e->n_labels; i++) {
        if ((known & ~kept & bit(i)) != 0)
            order[n++] = i;
    }
    if (nuc_labelled_elements(e, kept | known) > MAX_KNOWN)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        total *= (size_t)e->sizes[order[i]];
        summed *= i < count ? 1 : (size_t)e->sizes[order[i]];
    }
    for (uint32_t k = 0; k < t->count; k++) {
        if (t->factors[k].known != NULL) {
            /* How far apart the elements of a factor are along each label. */
            const factor *f = &t->factors[k];
            size_t stride = 1;
            memset(strides[k], 0, NUC_MAX_LABELS * sizeof *strides[k]);
            for (uint32_t i = f->count; i-- > 0;) {
                strides[k][f->labels[i]] = stride;
                stride *= (size_t)e->sizes[f->labels[i]];
            }
        }
    }
    float *out = nuc_alloc_array(g->cx, total / summed, sizeof *out);
    double sum = 0;
    for (size_t i = 0; i < total; i++) {
        double product = t->number;
        for (uint32_t k = 0; k < t->count; k++) {
            const float *values = t->factors[k].known;
            size_t at = 0;
            for (uint32_t d = 0; d < n && values != NULL; d++)
                at += index[d] * strides[k][order[d]];
            product *= values != NULL ? raised((double)values[at], t->factors[k].power) : 1;
        }
        sum += product;
        if ((i + 1) % summed == 0) {
            out[i / summed] = (float)sum;
            sum = 0;
        }
        for (uint32_t d = n; d-- > 0 && ++index[d] == (size_t)e->sizes[order[d]];)
            index[d] = 0;
    }
    return out;
}

struct nuc_labelled nuc_insert_factor(struct nuc_graph *g, struct nuc_node *node, const struct nuc_labelled_sum *e,
                                      const factor *f)
{
    struct nuc_labelled x = {.value = f->value, .rank = f->count};
    int64_t sizes[NUC_MAX_RANK];

    memcpy(x.labels, f->labels, f->count);
    for (uint32_t i = 0; i < f->count; i++)
        sizes[i] = e->sizes[f->labels[i]];
    x.value = nuc_insert_reshaped(g, node, x.value, sizes, f->count);
    struct nuc_node *root = nuc_behind_views(f->value);
    if (f->power == -1 && root->op == NUC_OP_SQRT)
        x.value = nuc_insert_reshaped(g, node, nuc_insert_unary(g, node, NUC_OP_RSQRT, nuc_operand(g, root, NUC_SELF)),
                                      sizes, f->count);
    else if (f->power < 0)
        x.value = nuc_insert_unary(g, node, NUC_OP_RECIPROCAL, x.value);
    struct nuc_node *base = x.value;
    for (int i = f->power < 0 ? -f->power : f->power; i > 1; i--)
        x.value = i == 2 && x.value == base ? nuc_insert_unary(g, node, NUC_OP_SQUARE, base)
                                            : nuc_insert_binary(g, node, NUC_OP_MUL, x.value, base);
    return x;
}
