/*
 * Norms that a model writes out: w (x - mean) / sqrt(var + eps) + b and w x / sqrt(mean of squares + eps) + b in any
 * order of operands, through views, with the statistics as torch or a decomposed archive computes them. As one operator
 * they are computed exactly and rounded once; their parts, squares above all, have more decades than int8.
 */
#include <math.h>

#include "ir/args.h"
#include "rewrite/expand/expand.h"
#include "rewrite/pass_list.h"
#include "rewrite/recognize/written.h"

/* ---- groups: which elements of a tensor are normalized together ---- */

/* Sizes of kept and normalized dimensions by turns, the first one kept; neighbours of a kind are one. */
struct groups {
    uint32_t count;
    int64_t sizes[NUC_MAX_RANK + 1];
};

static struct groups groups_of(const struct nuc_meta *m, uint32_t normalized)
{
    struct groups out = {1, {1}};

    for (uint32_t d = 0; d < m->rank; d++) {
        bool is_normalized = (normalized >> d & 1) != 0, last_is = out.count % 2 == 0;
        if (m->sizes[d] == 1)
            continue;
        if (is_normalized != last_is)
            out.sizes[out.count++] = 1;
        out.sizes[out.count - 1] *= m->sizes[d];
    }
    return out;
}

static bool same_groups(const struct groups *a, const struct groups *b)
{
    bool same = a->count == b->count;

    for (uint32_t i = 0; same && i < a->count; i++)
        same = a->sizes[i] == b->sizes[i];
    return same;
}

/* Elements of one group. */
static double size_of_group(const struct groups *g)
{
    double size = 1;

    for (uint32_t i = 1; i < g->count; i += 2)
        size *= (double)g->sizes[i];
    return size;
}

/* Those whose statistics meet the frame in these sizes. */
static struct groups groups_met(const struct nuc_meta *frame, const struct nuc_meta *met)
{
    uint32_t normalized = 0;

    for (uint32_t i = 0; i < frame->rank; i++) {
        if (i >= met->rank || met->sizes[met->rank - 1 - i] == 1)
            normalized |= 1u << (frame->rank - 1 - i);
    }
    return groups_of(frame, normalized);
}

/* ---- statistics ---- */

enum statistic { MEAN, MOMENT, VARIANCE };

/* factor * statistic of the groups of x, which is behind no view. */
struct statistics {
    enum statistic kind;
    struct nuc_node *x;
    struct groups groups;
    double factor;
};

/* The operand of a sum, mean or variance, and the dimensions of it that are reduced; NULL: it is something else. */
static struct nuc_node *reduced_along(const struct nuc_node *node, uint32_t *dims)
{
    struct nuc_node *in = nuc_arg_node(node, NUC_SELF);

    if (!nuc_is_real_value(in) || !nuc_is_real_value(node))
        return NULL;
    const struct nuc_meta *m = &in->vals[0];
    if (node->op == NUC_OP_MEAN_DIM || node->op == NUC_OP_SUM_DIM)
        *dims = nuc_dims_mask(node, NUC_ARG(MEAN_DIM, dim), m->rank);
    else if (node->op == NUC_OP_VAR)
        *dims = nuc_dims_mask(node, NUC_ARG(VAR, dim), m->rank);
    else if (node->op == NUC_OP_SUM)
        *dims = (1u << m->rank) - 1;
    else if (node->op == NUC_OP_ADAPTIVE_AVG_POOL2D && m->rank >= 2 &&
             nuc_elements(&node->vals[0]) * m->sizes[m->rank - 1] * m->sizes[m->rank - 2] == nuc_elements(m))
        *dims = 3u << (m->rank - 2);
    else
        return NULL;
    return in;
}

static bool is_sum(const struct nuc_node *node)
{
    return node->op == NUC_OP_SUM || node->op == NUC_OP_SUM_DIM;
}

/* The dimensions of the operand that `dims` of the result are, where those of `gone` may be missing in it. */
static uint32_t dims_before(const struct nuc_meta *operand, const struct nuc_meta *result, uint32_t dims, uint32_t gone)
{
    uint32_t out = 0, at = 0;

    if (result->rank == operand->rank)
        return dims;
    for (uint32_t d = 0; d < operand->rank; d++) {
        if ((gone >> d & 1) == 0)
            out |= (dims >> at++ & 1) << d;
    }
    return out;
}

/* The operand of a sum or mean, or of several one after the other, and what it is divided by: 1 for a sum. */
static struct nuc_node *reduced_by(const struct nuc_node *node, struct groups *groups, double *divisor)
{
    uint32_t dims, inner;
    struct nuc_node *in = reduced_along(node, &dims);

    if (in == NULL)
        return NULL;
    bool sums = is_sum(node);
    for (struct nuc_node *x; node->op != NUC_OP_VAR && in->op != NUC_OP_VAR && is_sum(in) == sums &&
                             (x = reduced_along(in, &inner)) != NULL;
         in = x)
        dims = inner | dims_before(&x->vals[0], &in->vals[0], dims, inner);
    *groups = groups_of(&in->vals[0], dims);
    *divisor = sums ? 1 : size_of_group(groups);
    return in;
}

/* Factors of a value by itself. */
static bool apart(struct nuc_graph *g, struct nuc_node *node, struct nuc_product *p)
{
    return nuc_take_apart(g, node, &node->vals[0], &node->vals[0], NULL, p);
}

static bool is_mean_of(struct nuc_graph *g, struct nuc_node *node, struct statistics *out)
{
    struct nuc_product p;
    double divisor;

    if (!apart(g, node, &p) || p.count != 1 || !nuc_is_number(p.factors[0].power, 1))
        return false;
    struct nuc_node *x = reduced_by(p.factors[0].value, &out->groups, &divisor);
    if (x == NULL || p.factors[0].value->op == NUC_OP_VAR)
        return false;
    out->kind = MEAN;
    out->x = nuc_behind_views(x);
    out->factor = p.number * size_of_group(&out->groups) / divisor;
    return true;
}

static bool is_same(const struct statistics *a, const struct statistics *b)
{
    return a->x == b->x && same_groups(&a->groups, &b->groups);
}

/* x - mean of x */
static bool is_centred(struct nuc_graph *g, struct nuc_node *node, struct statistics *out)
{
    node = nuc_behind_views(node);
    struct nuc_node *x = nuc_arg_node(node, NUC_SELF), *mean = nuc_arg_node(node, NUC_OTHER);

    if (node->op != NUC_OP_SUB || !nuc_is_real_value(x) || !nuc_is_real_value(mean) || !nuc_has_plain_alpha(node) ||
        nuc_elements(&x->vals[0]) != nuc_elements(&node->vals[0]))
        return false;
    mean = nuc_behind_expand(mean);
    if (!is_mean_of(g, mean, out) || !nuc_is_number(out->factor, 1) || out->x != nuc_behind_views(x))
        return false;
    struct groups met = groups_met(&node->vals[0], &mean->vals[0]);
    return same_groups(&met, &out->groups);
}

/* What is squared, perhaps by a product of two that are written alike; NULL when there is nothing such. */
static struct nuc_node *squared(struct nuc_graph *g, struct nuc_node *node)
{
    node = nuc_behind_views(node);
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);
    struct statistics of_a, of_b;

    if (nuc_numbers_equal(nuc_power_of(node), 2))
        return a;
    if (node->op != NUC_OP_MUL || a == NULL || b == NULL)
        return NULL;
    return a == b || (is_centred(g, a, &of_a) && is_centred(g, b, &of_b) && is_same(&of_a, &of_b)) ? a : NULL;
}

/* The mean of squares, of x or of x - mean: a variance. */
static bool is_mean_square(struct nuc_graph *g, struct nuc_node *node, struct statistics *out)
{
    struct nuc_product p;
    double divisor;

    if (!apart(g, node, &p) || p.count != 1 || !nuc_is_number(p.factors[0].power, 1) || !(p.number > 0))
        return false;
    struct nuc_node *reduce = p.factors[0].value, *in = reduced_by(reduce, &out->groups, &divisor);
    if (in == NULL)
        return false;
    struct groups groups = out->groups;
    double size = size_of_group(&groups);
    bool is_var = reduce->op == NUC_OP_VAR;
    struct nuc_node *x = is_var ? in : squared(g, in);
    if (!nuc_is_real_value(x))
        return false;
    if (is_var)
        divisor = size - nuc_scalar(reduce, NUC_ARG(VAR, correction), 1);
    bool centred = is_centred(g, x, out);
    if ((centred && !same_groups(&groups, &out->groups)) || !(divisor > 0))
        return false;
    if (!centred)
        out->x = nuc_behind_views(x);
    out->groups = groups;
    out->kind = centred || is_var ? VARIANCE : MOMENT;
    out->factor = p.number * size / divisor;
    return true;
}

/* The mean of squares less the square of the mean. */
static bool is_difference_of_squares(struct nuc_graph *g, const struct nuc_node *node, struct statistics *out)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);
    struct nuc_node *mean = node->op == NUC_OP_SUB && nuc_is_real_value(b) ? squared(g, b) : NULL;
    struct statistics of_mean;

    if (mean == NULL || !nuc_is_real_value(a) || !nuc_has_plain_alpha(node) || !is_mean_square(g, a, out) ||
        out->kind != MOMENT || !nuc_is_number(out->factor, 1))
        return false;
    out->kind = VARIANCE;
    return is_mean_of(g, mean, &of_mean) && nuc_is_number(of_mean.factor, 1) && is_same(&of_mean, out);
}

/* ---- 1 / sqrt(factor * statistic + eps) ---- */

/*
 * A number in place of eps that is below what anyone measures in the units of a network's values: the root of a sum
 * and the sum of a root, or the greater of two, do not differ by it.
 */
#define SMALL 1.01e-5

struct deviation {
    struct statistics of;
    double eps;
    bool exact; /* else eps stands outside of the root */
};

/* u + number, max(u, number): u, else the value itself. */
static struct nuc_node *without_floor(struct nuc_graph *g, struct nuc_node *node, double *floor)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);

    *floor = 0;
    if (nuc_has_bounds(node)) {
        struct nuc_bounds bounds = nuc_bounds_of(node);
        if (bounds.min < 0 || bounds.max < HUGE_VAL || !nuc_is_real_value(a))
            return node;
        *floor = bounds.min;
        return a;
    }
    bool adds = node->op == NUC_OP_ADD && nuc_has_plain_alpha(node);
    if (!adds && node->op != NUC_OP_MAXIMUM)
        return node;
    for (int i = 0; i < 2; i++) {
        struct nuc_node *number = i == 0 ? b : a, *other = i == 0 ? a : b;
        if (nuc_number_of(g, number, floor) && nuc_is_real_value(other) && *floor >= 0)
            return other;
    }
    *floor = 0;
    return node;
}

/* What stands below a root; views in between are of statistics. */
static bool read_square(struct nuc_graph *g, struct nuc_node *node, struct deviation *out)
{
    double floor, second;
    struct nuc_node *u = without_floor(g, nuc_behind_views(node), &floor);
    struct nuc_node *v = without_floor(g, nuc_behind_views(u), &second);

    out->exact = true;
    out->eps = floor + second;
    return out->eps <= 1 &&
           (is_mean_square(g, v, &out->of) || is_difference_of_squares(g, nuc_behind_views(v), &out->of));
}

/* The root itself, with eps outside. */
static bool read_root(struct nuc_graph *g, struct nuc_node *node, struct deviation *out)
{
    struct nuc_product p;
    double floor;
    struct nuc_node *u = without_floor(g, nuc_behind_views(node), &floor);

    if (u == node || !apart(g, u, &p) || p.count != 1 || !nuc_is_number(p.factors[0].power, 0.5) || !(p.number > 0) ||
        !(floor <= SMALL) || !read_square(g, p.factors[0].value, out))
        return false;
    out->exact = !(floor > 0);
    out->of.factor *= p.number * p.number;
    out->eps = out->eps * p.number * p.number + floor * floor;
    return true;
}

static bool read_deviation(struct nuc_graph *g, const struct nuc_written_factor *f, struct deviation *out)
{
    bool found = nuc_is_number(f->power, -0.5) ? read_square(g, f->value, out)
                 : nuc_is_number(f->power, -1) ? read_root(g, f->value, out)
                                               : false;
    if (!found)
        return false;
    struct groups met = groups_met(&f->frame, &f->met);
    return out->of.kind != MEAN && size_of_group(&out->of.groups) > 1 && same_groups(&met, &out->of.groups);
}

/* ---- norms ---- */

struct norm {
    bool centred;
    struct nuc_node *x; /* elements in the order of the result */
    struct groups groups;
    double eps, number;
    float *weight, *bias; /* of each element of the result; NULL: none */
};

/* A value of the model itself, perhaps moved: it may be of any unit. */
static bool is_measured(const struct nuc_node *node)
{
    while (nuc_is_call(node) && nuc_op_kind(node->op) == NUC_KIND_SHAPE && nuc_arg_node(node, NUC_SELF) != NULL)
        node = nuc_arg_node(node, NUC_SELF);
    return nuc_is_placeholder(node);
}

/* The factor of a product that is a deviation; -1 when none is. */
static int find_deviation(struct nuc_graph *g, const struct nuc_product *p, struct deviation *out)
{
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->factors[i].power < 0 && read_deviation(g, &p->factors[i], out) &&
            (out->exact || !is_measured(out->of.x)))
            return (int)i;
    }
    return -1;
}

static float *ones(struct nuc_graph *g, const struct nuc_node *like)
{
    size_t count = (size_t)nuc_elements(&like->vals[0]);
    float *values = nuc_alloc_array(g->cx, count, sizeof *values);

    for (size_t i = 0; i < count; i++)
        values[i] = 1;
    return values;
}

enum role { NORMALIZED, MEANS };

/*
 * A term that is constants times x, x - mean or mean of x over its deviation. Says which; constants are multiplied
 * into *weight, which is made where there are any.
 */
static bool read_term(struct nuc_graph *g, const struct nuc_node *root, const struct nuc_summand *t,
                      struct deviation *d, enum role *role, double *number, float **weight)
{
    struct nuc_product p;
    struct statistics s;
    uint32_t found = 0;

    if (!nuc_take_apart(g, t->value, &t->frame, &t->met, NULL, &p) || find_deviation(g, &p, d) < 0 ||
        !nuc_take_apart(g, t->value, &t->frame, &t->met, d->of.x, &p))
        return false;
    int deviation = find_deviation(g, &p, d);
    for (uint32_t i = 0; deviation >= 0 && i < p.count; i++) {
        struct nuc_written_factor *f = &p.factors[i];
        if ((int)i == deviation)
            continue;
        if (nuc_is_static(f->value)) {
            *weight = *weight == NULL ? ones(g, root) : *weight;
            nuc_multiply_static(g, f, *weight);
            continue;
        }
        bool is_x = nuc_behind_views(f->value) == d->of.x;
        bool is_difference = !is_x && d->of.kind == VARIANCE && is_centred(g, f->value, &s) && is_same(&s, &d->of);
        if (!nuc_is_number(f->power, 1) || found++ > 0)
            return false;
        if (is_x || is_difference) {
            d->of.kind = is_difference ? MEAN : d->of.kind;
            *role = NORMALIZED;
        } else if (is_mean_of(g, f->value, &s) && is_same(&s, &d->of) && nuc_is_number(s.factor, 1)) {
            struct groups met = groups_met(&f->frame, &f->met);
            *role = MEANS;
            if (!same_groups(&met, &d->of.groups))
                return false;
        } else {
            return false;
        }
    }
    *number = t->sign * p.number / sqrt(d->of.factor);
    return deviation >= 0 && found == 1;
}

/* x / deviation - mean / deviation */
static bool is_opposite(struct nuc_graph *g, const struct nuc_node *root, const struct nuc_summand *t,
                        const struct deviation *d, const struct norm *n)
{
    float *weight = NULL;
    struct deviation other;
    double number;
    enum role role;

    size_t count = (size_t)nuc_elements(&root->vals[0]);
    if (!read_term(g, root, t, &other, &role, &number, &weight) || role != MEANS || !is_same(&other.of, &d->of) ||
        !nuc_is_number(other.eps / other.of.factor, d->eps / d->of.factor) || !nuc_is_number(number, -n->number))
        return false;
    for (size_t i = 0; i < count; i++) {
        float x = n->weight == NULL ? 1.0f : n->weight[i], y = weight == NULL ? 1.0f : weight[i];
        if (!(fabsf(x - y) <= 1e-6f * fabsf(x)))
            return false;
    }
    return true;
}

static bool find(struct nuc_graph *g, struct nuc_node *root, struct norm *out)
{
    const int64_t most = 1 << 22;
    struct nuc_summand terms[NUC_MAX_TERMS];
    struct deviation d = {.eps = 0};
    int computed[2] = {-1, -1}, count = 0;
    enum role role = MEANS;

    *out = (struct norm){.centred = false};
    if (!nuc_is_real_value(root) || nuc_elements(&root->vals[0]) > most || nuc_elements(&root->vals[0]) == 0)
        return false;
    uint32_t n = nuc_terms_of(g, root, terms);
    for (uint32_t i = 0; i < n; i++) {
        if (nuc_is_static(terms[i].value))
            continue;
        if (count == 2)
            return false;
        computed[count++] = (int)i;
    }
    if (count == 0)
        return false;
    /* x first. */
    for (int k = 0; k < count && role == MEANS; k++) {
        out->weight = NULL;
        if (!read_term(g, root, &terms[computed[k]], &d, &role, &out->number, &out->weight))
            return false;
        if (role == NORMALIZED && k == 1)
            computed[1] = computed[0];
    }
    /* A difference is over its own deviation, x alone over the root of its squares, or with its mean in another term.
     */
    bool in_two = count == 2 && d.of.kind == VARIANCE;
    if (role != NORMALIZED || (count == 1 && d.of.kind == VARIANCE) || (count == 2 && !in_two) ||
        (in_two && !is_opposite(g, root, &terms[computed[1]], &d, out)) ||
        nuc_elements(&d.of.x->vals[0]) != nuc_elements(&root->vals[0]))
        return false;
    out->centred = d.of.kind != MOMENT;
    out->x = d.of.x;
    out->groups = d.of.groups;
    out->eps = d.eps / d.of.factor;
    for (uint32_t i = 0; i < n; i++) {
        if (!nuc_is_static(terms[i].value))
            continue;
        if (out->bias == NULL)
            out->bias = nuc_alloc_array(g->cx, (size_t)nuc_elements(&root->vals[0]), sizeof(float));
        nuc_add_static(g, &terms[i], out->bias);
    }
    return isfinite(out->number) && isfinite(out->eps);
}

/* ---- the operator ---- */

/* Which dimensions of the result the values differ along. */
static uint32_t dims_of(const struct nuc_meta *m, const float *values)
{
    struct nuc_meta dense = nuc_meta_make(NUC_F32, m->sizes, m->rank);
    int64_t strides[NUC_MAX_RANK];
    uint32_t mask = 0;

    nuc_dense_strides(&dense, strides);
    for (uint32_t d = 0; values != NULL && d < m->rank; d++) {
        for (int64_t i = 0; i < nuc_elements(m) && (mask >> d & 1) == 0; i++) {
            bool first = i / strides[d] % m->sizes[d] == 0;
            if (!first && !nuc_numbers_equal((double)values[i], (double)values[i - strides[d]]))
                mask |= 1u << d;
        }
    }
    return mask;
}

/* The values along the dimensions of a mask, in order, times a number; NULL for none is a tensor of that number. */
static struct nuc_node *along(struct nuc_graph *g, struct nuc_node *node, const float *values, uint32_t mask,
                              double number, bool keepdim)
{
    const struct nuc_meta *m = &node->vals[0];
    struct nuc_meta dense = nuc_meta_make(NUC_F32, m->sizes, m->rank);
    int64_t strides[NUC_MAX_RANK], sizes[NUC_MAX_RANK], steps[NUC_MAX_RANK];
    uint32_t rank = 0;
    size_t count = 1;

    nuc_dense_strides(&dense, strides);
    for (uint32_t d = 0; d < m->rank; d++) {
        bool in = (mask >> d & 1) != 0;
        if (!in && !keepdim)
            continue;
        sizes[rank] = in ? m->sizes[d] : 1;
        steps[rank] = strides[d];
        count *= (size_t)sizes[rank++];
    }
    float *out = nuc_alloc_array(g->cx, count + 1, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        size_t rest = i, at = 0;
        for (uint32_t d = rank; d-- > 0; rest /= (size_t)sizes[d])
            at += rest % (size_t)sizes[d] * (size_t)steps[d];
        out[i] = (float)((values == NULL ? 1 : (double)values[at]) * number);
    }
    return nuc_insert_floats(g, node, out, sizes, rank);
}

/* Dimensions of the result that make up these groups; 0: none do. */
static uint32_t normalized_dims(const struct nuc_meta *m, const struct groups *groups)
{
    for (uint32_t mask = 1; mask < 1u << m->rank; mask++) {
        struct groups of = groups_of(m, mask);
        uint32_t real = 0;
        for (uint32_t d = 0; d < m->rank; d++)
            real |= m->sizes[d] > 1 ? 1u << d : 0;
        if ((mask & ~real) == 0 && same_groups(&of, groups))
            return mask;
    }
    return 0;
}

/* Of [N, C, ...] with C / channels whole groups each; 0 when they do not lie so. */
static int64_t channel_groups(const struct nuc_meta *m, const struct groups *groups)
{
    if (m->rank < 2 || groups->count != 2 || groups->sizes[0] % m->sizes[0] != 0)
        return 0;
    int64_t count = groups->sizes[0] / m->sizes[0];
    return count > 0 && m->sizes[1] % count == 0 ? count : 0;
}

static struct nuc_node *insert_rows(struct nuc_graph *g, struct nuc_node *node, const struct norm *n,
                                    struct nuc_node *x, uint32_t first, struct nuc_node *weight, struct nuc_node *bias)
{
    const struct nuc_meta *m = &x->vals[0];
    struct nuc_arg sizes = nuc_ints_arg(m->sizes + first, m->rank - first);
    /* No number, where the model has 0 / 0. */
    double eps = n->eps > 0 ? n->eps : 1e-30;

    if (n->centred)
        return nuc_emit(g, node, NUC_OP_LAYER_NORM, node, NUC_ARGS(x, sizes, weight, bias, eps));
    return nuc_emit(g, node, NUC_OP_RMS_NORM, node, NUC_ARGS(x, sizes, weight, eps));
}

/* Where weight and bias are still to be applied. */
struct affine {
    bool weight, bias;
};

static struct nuc_node *apply(struct nuc_graph *g, struct nuc_node *node, const struct norm *n, struct affine left,
                              struct nuc_node *y)
{
    const struct nuc_meta *m = &node->vals[0];

    if (left.weight)
        y = nuc_insert_binary(g, node, NUC_OP_MUL, y, along(g, node, n->weight, dims_of(m, n->weight), 1, true));
    if (left.bias && n->bias != NULL)
        y = nuc_insert_binary(g, node, NUC_OP_ADD, y, along(g, node, n->bias, dims_of(m, n->bias), 1, true));
    return y;
}

/* [normalized] of a number, as the weight of rows; NULL for 1. */
static struct nuc_node *number_of_rows(struct nuc_graph *g, struct nuc_node *node, const struct nuc_node *x,
                                       uint32_t first, double number)
{
    const struct nuc_meta m = nuc_meta_make(NUC_F32, x->vals[0].sizes + first, x->vals[0].rank - first);
    size_t count = (size_t)nuc_elements(&m);
    float *values = nuc_alloc_array(g->cx, count, sizeof *values);

    for (size_t i = 0; i < count; i++)
        values[i] = (float)number;
    return fabs(number - 1) < 1e-7 ? NULL : nuc_insert_floats(g, node, values, m.sizes, m.rank);
}

/* Normalized dimensions last; those of size 1 stay where they are in the order of the rest. */
static uint32_t normalized_last(const struct nuc_meta *m, uint32_t mask, int64_t order[NUC_MAX_RANK])
{
    uint32_t first = nuc_list_dims(~mask, m->rank, order);

    nuc_list_dims(mask, m->rank, order + first);
    return first;
}

static struct nuc_node *permuted_back(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *y,
                                      const int64_t *order)
{
    int64_t back[NUC_MAX_RANK];

    for (uint32_t d = 0; d < y->vals[0].rank; d++)
        back[order[d]] = d;
    return nuc_insert_permuted(g, node, y, back);
}

/* As a norm of the last dimensions, permuted before and after where they are others. */
static struct nuc_node *as_rows(struct nuc_graph *g, struct nuc_node *node, const struct norm *n, struct nuc_node *x,
                                uint32_t mask)
{
    const struct nuc_meta *m = &node->vals[0];
    int64_t order[NUC_MAX_RANK];
    uint32_t first = normalized_last(m, mask, order), weights = dims_of(m, n->weight), biases = dims_of(m, n->bias);
    bool in_weight = n->weight != NULL && (weights & ~mask) == 0,
         in_bias = n->centred && n->bias != NULL && (biases & ~mask) == 0;
    struct affine left = {n->weight != NULL && !in_weight, true};

    in_bias = in_bias && !left.weight;
    left.bias = !in_bias;
    struct nuc_node *rows = nuc_insert_permuted(g, node, x, order);
    struct nuc_node *weight =
        in_weight ? along(g, node, n->weight, mask, n->number, false) : number_of_rows(g, node, rows, first, n->number);
    struct nuc_node *y =
        insert_rows(g, node, n, rows, first, weight, in_bias ? along(g, node, n->bias, mask, 1, false) : NULL);
    return apply(g, node, n, left, permuted_back(g, node, y, order));
}

/* One dimension c is kept besides those in front of it, and has weights: [kept..., c, normalized...] is [N, C, M]. */
static struct nuc_node *as_moved_channels(struct nuc_graph *g, struct nuc_node *node, const struct norm *n,
                                          struct nuc_node *x, uint32_t mask, uint32_t c)
{
    const struct nuc_meta *m = &node->vals[0];
    int64_t order[NUC_MAX_RANK], images[3] = {1, m->sizes[c], 1};
    uint32_t first = normalized_last(m, mask, order);
    struct nuc_node *weight = along(g, node, n->weight, 1u << c, n->number, false);
    struct nuc_node *bias = n->bias == NULL ? NULL : along(g, node, n->bias, 1u << c, 1, false);

    for (uint32_t d = 0; d < m->rank; d++)
        images[d < first ? 0 : 2] *= order[d] == (int64_t)c ? 1 : m->sizes[order[d]];
    struct nuc_node *moved = nuc_insert_permuted(g, node, x, order);
    struct nuc_node *y = nuc_emit(g, node, NUC_OP_GROUP_NORM, node,
                                  NUC_ARGS(nuc_insert_reshaped(g, node, moved, images, 3), m->sizes[c], weight, bias,
                                           n->eps > 0 ? n->eps : 1e-30));
    y = nuc_insert_reshaped(g, node, y, moved->vals[0].sizes, m->rank);
    return permuted_back(g, node, y, order);
}

/* The last kept dimension of more than one element, where weight and bias differ along it alone; -1: there is none. */
static int channels_of(const struct nuc_meta *m, const struct norm *n, uint32_t mask)
{
    uint32_t along_dims = dims_of(m, n->weight) | dims_of(m, n->bias);
    int last = -1;

    for (uint32_t d = 0; d < m->rank; d++)
        last = (mask >> d & 1) == 0 && m->sizes[d] > 1 ? (int)d : last;
    return last >= 0 && along_dims == 1u << last && n->centred ? last : -1;
}

static struct nuc_node *build(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_meta *m = &node->vals[0];
    struct norm n;

    if (!find(g, node, &n))
        nuc_fail(g->cx, NUC_INTERNAL, "%s: %s is no norm", g->file, nuc_node_text(g->cx, node));
    uint32_t mask = normalized_dims(m, &n.groups), affine = dims_of(m, n.weight) | dims_of(m, n.bias);
    int64_t groups = channel_groups(m, &n.groups);
    struct nuc_node *x = nuc_insert_reshaped(g, node, n.x, m->sizes, m->rank);
    const uint32_t channels = 1u << 1;
    bool of_rows = mask != 0 && (affine & ~mask) == 0, by_channel = affine == channels && mask != channels;

    if (groups > 0 && n.centred && (affine & ~channels) == 0 && (by_channel || !of_rows)) {
        /* As a norm of groups of channels, whose weights have fewer elements than those of rows. */
        struct nuc_node *weight = along(g, node, n.weight, channels, n.number, false);
        struct nuc_node *bias = n.bias == NULL ? NULL : along(g, node, n.bias, channels, 1, false);
        return nuc_emit(g, node, NUC_OP_GROUP_NORM, node, NUC_ARGS(x, groups, weight, bias, n.eps > 0 ? n.eps : 1e-30));
    }
    int c = mask == 0 || of_rows ? -1 : channels_of(m, &n, mask);
    if (c >= 0)
        return as_moved_channels(g, node, &n, x, mask, (uint32_t)c);
    if (mask != 0)
        return as_rows(g, node, &n, x, mask);
    const int64_t rows[2] = {n.groups.sizes[0], n.groups.sizes[1]};
    struct nuc_node *flat = nuc_insert_reshaped(g, node, x, rows, 2);
    struct nuc_node *y = insert_rows(g, node, &n, flat, 1, number_of_rows(g, node, flat, 1, n.number), NULL);
    return apply(g, node, &n, (struct affine){n.weight != NULL, true},
                 nuc_insert_reshaped(g, node, y, m->sizes, m->rank));
}

bool nuc_written_norms(struct nuc_graph *g)
{
    static const enum nuc_op roots[] = {NUC_OP_ADD, NUC_OP_SUB, NUC_OP_MUL, NUC_OP_DIV, NUC_OP_COUNT};
    bool changed = false;
    uint32_t count;
    struct nuc_node **nodes = nuc_collect(g, roots, &count);

    /* From the end, so that a norm is found with what is applied to it; parts of one that is found are dead then. */
    for (uint32_t i = count; i-- > 0;) {
        struct norm n;
        if (nodes[i]->n_users == 0 || !find(g, nodes[i], &n) ||
            (normalized_dims(&nodes[i]->vals[0], &n.groups) == 0 && n.groups.count != 2))
            continue;
        struct nuc_node *before = nodes[i]->prev;
        uint32_t old_ids = g->next_id;
        nodes[i]->in_place = false;
        nuc_replace_expanded(g, nodes[i], before, old_ids, build(g, nodes[i]));
        nuc_remove_dead(g);
        changed = true;
    }
    return changed;
}
