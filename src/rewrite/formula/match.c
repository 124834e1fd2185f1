/*
 * Patterns: whether a value is what a term says. A name stands for one value wherever it occurs; + and * are
 * commutative, and products are compared as a number and factors with whole powers, however they are written.
 */
#include <math.h>
#include <string.h>

#include "host/numbers.h"
#include "ir/args.h"
#include "ir/op_list.h"
#include "rewrite/formula/term.h"
#include "rewrite/recognize/written.h"

enum { MAX_FACTORS = 6 };

struct factor {
    struct nuc_term *term; /* of a pattern */
    struct nuc_node *node; /* of a value */
    int64_t power;
};

struct product {
    double number;
    const char *free; /* name of a pattern's number(n) among the factors; NULL: it has none */
    uint32_t count;
    struct factor factors[MAX_FACTORS];
};

static bool match(struct nuc_formula_site *s, struct nuc_term *t, struct nuc_node *node);

static bool bind(struct nuc_formula_site *s, const char *name, struct nuc_arg value)
{
    for (uint32_t i = 0; i < s->count; i++) {
        if (strcmp(s->names[i].name, name) == 0)
            return nuc_same_value(&s->names[i].value, &value);
    }
    if (s->count == NUC_FORMULA_NAMES)
        return false;
    value.given = true;
    s->names[s->count].name = name;
    s->names[s->count++].value = value;
    return true;
}

/* A number of the pattern: 6, -1, 1 / 6. */
static bool is_number(const struct nuc_term *t, double *value)
{
    double a, b;

    if (t->kind == NUC_TERM_VALUE && nuc_is_number_arg(&t->value)) {
        *value = nuc_number_arg(&t->value);
        return true;
    }
    if (t->kind != NUC_TERM_CALL || (strcmp(t->name, "neg") != 0 && strcmp(t->name, "/") != 0) ||
        !is_number(t->terms[0], &a) || (t->count == 2 && !is_number(t->terms[1], &b)))
        return false;
    *value = t->count == 2 ? a / b : -a;
    return true;
}

/* ---- products ---- */

static bool append(struct product *p, struct factor f)
{
    for (uint32_t i = 0; i < p->count; i++) {
        bool same = f.node != NULL ? p->factors[i].node == f.node
                                   : f.term->kind == NUC_TERM_NAME && p->factors[i].term->kind == NUC_TERM_NAME &&
                                         strcmp(f.term->name, p->factors[i].term->name) == 0;
        if (same) {
            p->factors[i].power += f.power;
            return true;
        }
    }
    if (p->count == MAX_FACTORS)
        return false;
    p->factors[p->count++] = f;
    return true;
}

static bool is_product_term(const struct nuc_term *t)
{
    double number;

    return t->kind == NUC_TERM_CALL &&
           (strcmp(t->name, "*") == 0 || (strcmp(t->name, "/") == 0 && is_number(t->terms[1], &number)));
}

static bool take_term(struct nuc_term *t, struct product *p)
{
    double number;

    if (is_number(t, &number)) {
        p->number *= number;
        return true;
    }
    if (t->kind == NUC_TERM_CALL && strcmp(t->name, "number") == 0 && p->free == NULL) {
        p->free = t->terms[0]->name;
        return true;
    }
    if (is_product_term(t) && t->name[0] == '/' && is_number(t->terms[1], &number)) {
        p->number /= number;
        return take_term(t->terms[0], p);
    }
    if (is_product_term(t))
        return take_term(t->terms[0], p) && take_term(t->terms[1], p);
    if (t->kind == NUC_TERM_CALL && strcmp(t->name, "pow") == 0 && is_number(t->terms[1], &number))
        return append(p, (struct factor){t->terms[0], NULL, (int64_t)number});
    return append(p, (struct factor){t, NULL, 1});
}

/* Factors that broadcast are factors as well, and truths. */
static bool take_node(struct nuc_graph *g, struct nuc_node *node, int64_t power, struct product *p, int depth)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);
    double number, exponent = nuc_power_of(node);

    if (exponent >= 1 && exponent <= MAX_FACTORS && nuc_numbers_equal(exponent, floor(exponent)) &&
        nuc_is_real_value(a))
        return append(p, (struct factor){NULL, a, power * (int64_t)exponent});
    if (depth > 0 && (node->op == NUC_OP_MUL || node->op == NUC_OP_DIV) && nuc_number_of(g, b, &number)) {
        p->number *= node->op == NUC_OP_DIV ? 1 / number : number;
        return take_node(g, a, power, p, depth - 1);
    }
    if (depth > 0 && node->op == NUC_OP_MUL && nuc_number_of(g, a, &number)) {
        p->number *= number;
        return take_node(g, b, power, p, depth - 1);
    }
    if (depth > 0 && node->op == NUC_OP_MUL && nuc_is_real_value(node) && a != NULL && b != NULL)
        return take_node(g, a, power, p, depth - 1) && take_node(g, b, power, p, depth - 1);
    return append(p, (struct factor){NULL, node, power});
}

/* Factor i of the pattern and those after it against what is left of the value's. */
static bool match_factors(struct nuc_formula_site *s, const struct product *pattern, struct product *value, uint32_t i)
{
    uint32_t bound = s->count;

    if (i == pattern->count)
        return true;
    for (uint32_t k = 0; k < value->count; k++) {
        struct factor *f = &value->factors[k];
        if (f->power != pattern->factors[i].power)
            continue;
        f->power = 0; /* taken */
        if (match(s, pattern->factors[i].term, f->node) && match_factors(s, pattern, value, i + 1))
            return true;
        f->power = pattern->factors[i].power;
        s->count = bound;
    }
    return false;
}

/* a / b, also as a product with a reciprocal, and a reciprocal where a is 1. */
static bool match_quotient(struct nuc_formula_site *s, struct nuc_term *t, struct nuc_node *node)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);
    uint32_t bound = s->count;
    double number;

    if (node->op == NUC_OP_RECIPROCAL)
        return is_number(t->terms[0], &number) && nuc_is_number(number, 1) && match(s, t->terms[1], a);
    if (node->op == NUC_OP_DIV)
        return match(s, t->terms[0], a) && match(s, t->terms[1], b);
    for (int i = 0; node->op == NUC_OP_MUL && i < 2; i++) {
        struct nuc_node *inverse = i == 0 ? b : a;
        if (inverse != NULL && inverse->op == NUC_OP_RECIPROCAL && match(s, t->terms[0], i == 0 ? a : b) &&
            match(s, t->terms[1], nuc_arg_node(inverse, NUC_SELF)))
            return true;
        s->count = bound;
    }
    return false;
}

/* ---- calls ---- */

static bool match_argument(struct nuc_formula_site *s, struct nuc_term *t, const struct nuc_arg *a)
{
    double number;

    if (a->kind == NUC_ARG_NODE)
        return match(s, t, a->u.node);
    if (t->kind == NUC_TERM_NAME)
        return bind(s, t->name, *a);
    if (is_number(t, &number))
        return nuc_is_number_arg(a) && nuc_numbers_equal(nuc_number_arg(a), number);
    return t->kind == NUC_TERM_VALUE && nuc_same_value(&t->value, a);
}

/* Arguments that the pattern does not name have their defaults. */
static bool match_arguments(struct nuc_formula_site *s, struct nuc_term *t, const struct nuc_node *node)
{
    const struct nuc_schema *schema = nuc_op_schema(node->op);

    for (uint32_t i = 0; i < node->n_args; i++) {
        uint32_t k = 0;
        while (k < t->count && (t->keywords[k] == NULL ? k != i : strcmp(t->keywords[k], schema->args[i].name) != 0))
            k++;
        if (k < t->count ? !match_argument(s, t->terms[k], nuc_arg_at(node, i))
                         : node->args[i].given && !nuc_same_value(&node->args[i], &schema->args[i].fallback))
            return false;
    }
    return true;
}

/* Functions that only patterns have; 0: it is none. */
static int match_special(struct nuc_formula_site *s, struct nuc_term *t, struct nuc_node *node)
{
    double low, high, number;

    if (strcmp(t->name, "number") == 0) /* a constant of one element */
        return nuc_number_of(s->g, node, &number) && bind(s, t->terms[0]->name, nuc_float_arg(number)) ? 1 : -1;
    if (strcmp(t->name, "mask") == 0) /* truths, or integers in place of them, of any size */
        return !nuc_is_floating(node->vals[0].dtype) && bind(s, t->terms[0]->name, nuc_node_arg(node)) ? 1 : -1;
    if (strcmp(t->name, "compare") == 0) /* compare(a, b, c): a > b, >=, < or <=; c stands for which */
        return nuc_op_is_in(node->op, NUC_OPS(NUC_OP_GT, NUC_OP_GE, NUC_OP_LT, NUC_OP_LE)) &&
                       match_arguments(s, t, node) && bind(s, t->terms[2]->name, nuc_int_arg(node->op))
                   ? 1
                   : -1;
    if (strcmp(t->name, "once") == 0) /* nothing else reads it */
        return node->n_users == 1 && match(s, t->terms[0], node) ? 1 : -1;
    if (strcmp(t->name, "is") == 0) /* is(y, pattern): y stands for what the pattern fits */
        return bind(s, t->terms[0]->name, nuc_node_arg(node)) && match(s, t->terms[1], node) ? 1 : -1;
    if (strcmp(t->name, "bounded") == 0) /* bounded(x, low, high) by a clamp, relu6, ... */
        return nuc_has_bounds(node) && is_number(t->terms[1], &low) && is_number(t->terms[2], &high) &&
                       nuc_numbers_equal(nuc_bounds_of(node).min, low) &&
                       nuc_numbers_equal(nuc_bounds_of(node).max, high) &&
                       match(s, t->terms[0], nuc_arg_node(node, NUC_SELF))
                   ? 1
                   : -1;
    return 0;
}

static bool match_call(struct nuc_formula_site *s, struct nuc_term *t, struct nuc_node *node)
{
    uint32_t bound = s->count;
    int special = match_special(s, t, node);

    if (special != 0)
        return special > 0;
    if (is_product_term(t)) {
        struct product pattern = {.number = 1}, value = {.number = 1};
        if (!take_term(t, &pattern) || !take_node(s->g, node, 1, &value, MAX_FACTORS) || pattern.count != value.count)
            return false;
        return (pattern.free != NULL ? bind(s, pattern.free, nuc_float_arg(value.number / pattern.number))
                                     : nuc_is_number(value.number, pattern.number)) &&
               match_factors(s, &pattern, &value, 0);
    }
    if (t->name[0] == '/')
        return match_quotient(s, t, node);
    const enum nuc_op *op = nuc_formula_callee(s, t)->overloads;
    while (*op != NUC_OP_COUNT && *op != node->op)
        op++;
    /* An overload with fewer arguments than the pattern names is not meant: a sum of all elements. */
    if (*op == NUC_OP_COUNT || (t->count > node->n_args && t->keywords[node->n_args] == NULL))
        return false;
    if (match_arguments(s, t, node))
        return true;
    s->count = bound;
    if (node->op != NUC_OP_ADD && node->op != NUC_OP_MAXIMUM && node->op != NUC_OP_MINIMUM)
        return false;
    return match(s, t->terms[0], nuc_arg_node(node, NUC_OTHER)) &&
           match(s, t->terms[1], nuc_arg_node(node, NUC_SELF)) &&
           nuc_numbers_equal(node->op == NUC_OP_ADD ? nuc_scalar(node, NUC_ARG(ADD, alpha), 1) : 1, 1);
}

static bool match(struct nuc_formula_site *s, struct nuc_term *t, struct nuc_node *node)
{
    double number, value;

    if (node == NULL || node->is_tuple || node->n_vals != 1)
        return false;
    if (is_number(t, &number))
        return nuc_number_of(s->g, node, &value) && nuc_is_number(value, number);
    if (t->kind == NUC_TERM_NAME)
        return nuc_is_real_value(node) && bind(s, t->name, nuc_node_arg(node));
    return t->kind == NUC_TERM_CALL && match_call(s, t, node);
}

/* ---- rows ---- */

/* Whether nodes of the operator are looked into: false only where none of them is what the term says. */
static bool may_be(struct nuc_term *t, enum nuc_op op, enum nuc_dialect dialect)
{
    struct product p = {.number = 1};

    if (t->kind != NUC_TERM_CALL || strcmp(t->name, "number") == 0 || strcmp(t->name, "mask") == 0 ||
        strcmp(t->name, "compare") == 0)
        return true;
    if (strcmp(t->name, "once") == 0 || strcmp(t->name, "is") == 0)
        return may_be(t->terms[t->count - 1], op, dialect);
    if (strcmp(t->name, "bounded") == 0)
        return nuc_op_family(op) == NUC_FAMILY_MAP;
    if (is_product_term(t) && op != NUC_OP_MUL && op != NUC_OP_DIV && take_term(t, &p))
        return p.count == 1 && (p.factors[0].power > 1 || may_be(p.factors[0].term, op, dialect));
    if (is_product_term(t) || t->name[0] == '/')
        return op == NUC_OP_MUL || op == NUC_OP_DIV || op == NUC_OP_RECIPROCAL;
    return nuc_formula_names_op(nuc_formula_operator(t->name), op, dialect);
}

const uint16_t *nuc_patterns_of(struct nuc_formulas *f, enum nuc_op op, enum nuc_dialect dialect)
{
    if (f->patterns_of[op] == NULL) {
        uint16_t *rows = nuc_alloc_array(f->cx, nuc_n_patterns + 1, sizeof *rows), count = 0;
        for (size_t i = 0; i < nuc_n_patterns; i++) {
            if (may_be(nuc_pattern_at(f, i)->pattern, op, dialect))
                rows[count++] = (uint16_t)i;
        }
        rows[count] = (uint16_t)nuc_n_patterns;
        f->patterns_of[op] = rows;
    }
    return f->patterns_of[op];
}

bool nuc_pattern_keeps_sizes(const struct nuc_formula_site *s)
{
    if (nuc_op_family(s->node->op) == NUC_FAMILY_CONV ||
        nuc_op_is_in(s->node->op, NUC_OPS(NUC_OP_BMM, NUC_OP_LINEAR, NUC_OP_SLICE)))
        return true; /* it does not broadcast */
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->names[i].value.kind == NUC_ARG_NODE &&
            nuc_same_sizes(&s->names[i].value.u.node->vals[0], &s->node->vals[0]))
            return true;
    }
    return false;
}

bool nuc_pattern_fits(struct nuc_formula_site *s, const struct nuc_pattern *p)
{
    s->count = 0;
    return (nuc_is_real_value(s->node) || s->node->vals[0].dtype == NUC_BOOL) && match(s, p->pattern, s->node) &&
           (p->guard == NULL || nuc_formula_condition(s, p->guard));
}
