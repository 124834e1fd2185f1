#include "rewrite/recognize/written.h"

#include <math.h>
#include <string.h>

#include "ir/args.h"

/* ---- values ---- */

bool nuc_number_of(struct nuc_graph *g, const struct nuc_node *node, double *value)
{
    if (node == NULL || !nuc_is_static(node) || nuc_elements(&node->vals[0]) != 1)
        return false;
    const void *data = nuc_const_contiguous(g, node);
    if (node->vals[0].dtype == NUC_F32)
        *value = (double)*(const float *)data;
    else if (node->vals[0].dtype == NUC_I64)
        *value = (double)*(const int64_t *)data;
    else
        return false;
    return true;
}

bool nuc_is_same_number(struct nuc_graph *g, const struct nuc_node *a, const struct nuc_node *b)
{
    if (a == b)
        return true;
    return a != NULL && b != NULL && nuc_is_static(a) && nuc_is_static(b) && a->input_kind == NUC_CONSTANT &&
           b->input_kind == NUC_CONSTANT && a->vals[0].dtype == b->vals[0].dtype &&
           nuc_same_sizes(&a->vals[0], &b->vals[0]) && nuc_elements(&a->vals[0]) == 1 &&
           memcmp(nuc_const_contiguous(g, a), nuc_const_contiguous(g, b), nuc_dtype_size(a->vals[0].dtype)) == 0;
}

bool nuc_is_number(double value, double wanted)
{
    return fabs(value - wanted) <= 1e-5 * fabs(wanted);
}

bool nuc_is_plain_copy(const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_arg_node(node, NUC_SELF);

    return nuc_op_family(node->op) == NUC_FAMILY_COPY && input != NULL && nuc_is_real_value(node) &&
           nuc_is_real_value(input) && nuc_same_sizes(&input->vals[0], &node->vals[0]);
}

static bool is_view(const struct nuc_node *node)
{
    return nuc_op_family(node->op) == NUC_FAMILY_VIEW || nuc_is_plain_copy(node);
}

struct nuc_node *nuc_behind_views(struct nuc_node *node)
{
    while (is_view(node) && nuc_is_real_value(nuc_arg_node(node, NUC_SELF)))
        node = nuc_arg_node(node, NUC_SELF);
    return node;
}

struct nuc_node *nuc_behind_expand(struct nuc_node *node)
{
    while (node != NULL && node->op == NUC_OP_EXPAND)
        node = nuc_arg_node(node, NUC_SELF);
    return node;
}

/* ---- products ---- */

/* Values that may be looked at for one product: where one is shared by many, the ways to it grow as powers of two. */
#define MOST_VISITS 512

struct taking {
    struct nuc_graph *g;
    const struct nuc_node *whole;
    struct nuc_product *out;
    uint32_t *visits;
};

static bool append(const struct taking *t, const struct nuc_written_factor *f)
{
    struct nuc_product *p = t->out;

    for (uint32_t i = 0; i < p->count; i++) {
        if (p->factors[i].value == f->value && nuc_same_sizes(&p->factors[i].met, &f->met)) {
            p->factors[i].power += f->power;
            return true;
        }
    }
    if (p->count == NUC_MAX_FACTORS)
        return false;
    p->factors[p->count++] = *f;
    return true;
}

static bool take(const struct taking *t, struct nuc_written_factor f, int depth);

/* An operand of the factor: it meets the frame as the factor does, or by broadcasting to the factor. */
static bool take_operand(const struct taking *t, const struct nuc_written_factor *f, struct nuc_node *operand,
                         double power, int depth)
{
    struct nuc_written_factor of = {operand, power, f->frame, f->met};

    if (nuc_elements(&operand->vals[0]) != nuc_elements(&f->met))
        of.met = operand->vals[0];
    return take(t, of, depth - 1);
}

/* Whether each operand has as many elements as the factor, is a number, or broadcasts to the frame by its own sizes. */
static bool meets(struct nuc_graph *g, const struct nuc_written_factor *f, const struct nuc_node *operand)
{
    double number;

    return nuc_is_real_value(operand) &&
           (nuc_elements(&operand->vals[0]) == nuc_elements(&f->met) || nuc_number_of(g, operand, &number) ||
            nuc_same_sizes(&f->value->vals[0], &f->met));
}

static bool is_whole_number(double power)
{
    return nuc_numbers_equal(power, nearbyint(power));
}

/* What a power that is not whole takes apart is positive. */
static bool is_scaled(struct nuc_graph *g, const struct nuc_node *a, const struct nuc_node *b)
{
    double number;

    return (nuc_number_of(g, a, &number) || nuc_number_of(g, b, &number)) && number > 0;
}

static bool take_quotient(const struct taking *t, const struct nuc_written_factor *f, int depth)
{
    struct nuc_node *a = nuc_arg_node(f->value, NUC_SELF), *b = nuc_arg_node(f->value, NUC_OTHER);
    double sign = f->value->op == NUC_OP_DIV ? -1 : 1;

    return take_operand(t, f, a, f->power, depth) && take_operand(t, f, b, sign * f->power, depth);
}

static bool take(const struct taking *t, struct nuc_written_factor f, int depth)
{
    struct nuc_node *node = f.value, *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);
    double number, exponent = nuc_power_of(node);

    if (++*t->visits > MOST_VISITS)
        return false;
    if (nuc_number_of(t->g, node, &number)) {
        t->out->number *= pow(number, f.power);
        return true;
    }
    if (nuc_elements(&f.value->vals[0]) == nuc_elements(&f.frame))
        f.frame = f.met = node->vals[0];
    if (depth == 0 || nuc_is_placeholder(node) || (t->whole != NULL && nuc_behind_views(node) == t->whole) ||
        !nuc_is_real_value(a))
        return append(t, &f);
    bool product = (node->op == NUC_OP_MUL || node->op == NUC_OP_DIV) && meets(t->g, &f, a) && meets(t->g, &f, b);
    if (product && (is_whole_number(f.power) || is_scaled(t->g, a, b)))
        return take_quotient(t, &f, depth);
    bool root = exponent < 0 || exponent > 0;
    if (root && (!is_whole_number(exponent) || is_whole_number(f.power)))
        return take_operand(t, &f, a, f.power * exponent, depth);
    if (node->op == NUC_OP_NEG && is_whole_number(f.power)) {
        t->out->number *= pow(-1, f.power);
        return take_operand(t, &f, a, f.power, depth);
    }
    if (is_view(node) || (node->op == NUC_OP_EXPAND && nuc_same_sizes(&node->vals[0], &f.met)))
        return take_operand(t, &f, a, f.power, depth);
    return append(t, &f);
}

bool nuc_take_apart(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *frame,
                    const struct nuc_meta *met, const struct nuc_node *whole, struct nuc_product *out)
{
    uint32_t visits = 0;
    const struct taking t = {g, whole, out, &visits};
    const int depth = 24;

    *out = (struct nuc_product){.number = 1};
    return nuc_is_real_value(node) && take(&t, (struct nuc_written_factor){node, 1, *frame, *met}, depth) &&
           isfinite(out->number);
}

/* ---- sums ---- */

struct adding {
    struct nuc_graph *g;
    struct nuc_summand *terms;
    uint32_t count;
};

static bool add_terms(struct adding *s, struct nuc_summand t, int depth)
{
    struct nuc_node *node = t.value, *operands[2] = {nuc_arg_node(node, NUC_SELF), nuc_arg_node(node, NUC_OTHER)};
    bool sum = (node->op == NUC_OP_ADD || node->op == NUC_OP_SUB) && nuc_has_plain_alpha(node);

    if (nuc_elements(&node->vals[0]) == nuc_elements(&t.frame))
        t.frame = t.met = node->vals[0];
    if (depth > 0 && is_view(node) && nuc_is_real_value(operands[0]))
        return add_terms(s, (struct nuc_summand){operands[0], t.sign, t.frame, t.met}, depth - 1);
    if (depth > 0 && sum && nuc_is_real_value(operands[0]) && nuc_is_real_value(operands[1]) &&
        nuc_same_sizes(&node->vals[0], &t.met)) {
        for (int i = 0; i < 2; i++) {
            double sign = i == 1 && node->op == NUC_OP_SUB ? -t.sign : t.sign;
            if (!add_terms(s, (struct nuc_summand){operands[i], sign, t.frame, operands[i]->vals[0]}, depth - 1))
                return false;
        }
        return true;
    }
    if (s->count == NUC_MAX_TERMS)
        return false;
    s->terms[s->count++] = t;
    return true;
}

uint32_t nuc_terms_of(struct nuc_graph *g, struct nuc_node *node, struct nuc_summand terms[NUC_MAX_TERMS])
{
    struct adding s = {g, terms, 0};
    const int depth = 8;

    if (!nuc_is_real_value(node) || !add_terms(&s, (struct nuc_summand){node, 1, node->vals[0], node->vals[0]}, depth))
        return 0;
    return s.count;
}

/* ---- constants in a frame ---- */

/* The element of a tensor of the sizes `met` that meets element `index` of the frame. */
static size_t met_by(const struct nuc_meta *frame, const struct nuc_meta *met, size_t index)
{
    size_t at = 0, step = 1;

    for (uint32_t i = 0; i < frame->rank; i++) {
        uint32_t d = frame->rank - 1 - i;
        size_t place = index % (size_t)frame->sizes[d];
        index /= (size_t)frame->sizes[d];
        if (i >= met->rank)
            continue;
        int64_t size = met->sizes[met->rank - 1 - i];
        at += size == 1 ? 0 : place * step;
        step *= (size_t)size;
    }
    return at;
}

void nuc_multiply_static(struct nuc_graph *g, const struct nuc_written_factor *f, float *values)
{
    const float *constant = nuc_const_contiguous(g, f->value);

    for (size_t i = 0; i < (size_t)nuc_elements(&f->frame); i++)
        values[i] *= (float)pow((double)constant[met_by(&f->frame, &f->met, i)], f->power);
}

void nuc_add_static(struct nuc_graph *g, const struct nuc_summand *t, float *values)
{
    const float *constant = nuc_const_contiguous(g, t->value);

    for (size_t i = 0; i < (size_t)nuc_elements(&t->frame); i++)
        values[i] += (float)t->sign * constant[met_by(&t->frame, &t->met, i)];
}
