/*
 * Functions of one value that a model writes out. A function that is known is quantized once, at both ends; its parts
 * were quantized each. All of them are products, so the factors are looked at, whatever their order.
 */
#include "rewrite/npu_forms/npu_function_forms.h"

#include <math.h>

#include "ir/args.h"
#include "rewrite/recognize/written.h"

/* ---- products and sums ---- */

enum { MAX_FACTORS = 4 };

struct product {
    double number;
    struct nuc_node *factors[MAX_FACTORS];
    uint32_t count;
};

/* Takes a product apart as far as its sizes are those of the whole; false when it has too many factors. */
static bool add_factors(struct nuc_graph *g, struct nuc_node *node, struct product *p, int depth)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);
    bool times = node->op == NUC_OP_MUL, over = node->op == NUC_OP_DIV;
    double number;

    if (depth > 0 && (times || over) && nuc_number_of(g, b, &number)) {
        p->number *= over ? 1 / number : number;
        return add_factors(g, a, p, depth - 1);
    }
    if (depth > 0 && times && nuc_number_of(g, a, &number)) {
        p->number *= number;
        return add_factors(g, b, p, depth - 1);
    }
    if (depth > 0 && times && nuc_is_real_value(a) && nuc_is_real_value(b) && nuc_same_sizes(&a->vals[0], &b->vals[0]))
        return add_factors(g, a, p, depth - 1) && add_factors(g, b, p, depth - 1);
    if (p->count == MAX_FACTORS)
        return false;
    p->factors[p->count++] = node;
    return true;
}

static bool product_of(struct nuc_graph *g, struct nuc_node *node, struct product *p)
{
    *p = (struct product){.number = 1};
    return nuc_is_real_value(node) && add_factors(g, node, p, MAX_FACTORS);
}

/* The other operand where one is this number: u of u + 1; else NULL. */
static struct nuc_node *added_to(struct nuc_graph *g, const struct nuc_node *sum, double wanted)
{
    struct nuc_node *a = nuc_arg_node(sum, NUC_SELF), *b = nuc_arg_node(sum, NUC_OTHER);
    double number;

    if (sum->op != NUC_OP_ADD || !nuc_numbers_equal(nuc_scalar(sum, NUC_ARG(ADD, alpha), 1), 1))
        return NULL;
    if (nuc_number_of(g, b, &number) && nuc_is_number(number, wanted))
        return a;
    return nuc_number_of(g, a, &number) && nuc_is_number(number, wanted) ? b : NULL;
}

/* `number` times x to that power. */
static bool is_power(struct nuc_graph *g, struct nuc_node *node, double number, const struct nuc_node *x,
                     uint32_t power)
{
    struct product p;

    if (!product_of(g, node, &p) || !nuc_is_number(p.number, number))
        return false;
    uint32_t found = 0;
    for (uint32_t i = 0; i < p.count; i++) {
        const struct nuc_node *f = p.factors[i];
        bool raised = f->op == NUC_OP_POW_SCALAR && nuc_arg_node(f, NUC_SELF) == x;
        double exponent = raised ? nuc_scalar(f, NUC_ARG(POW_SCALAR, exponent), 0) : f == x ? 1 : 0;
        if (f->op == NUC_OP_SQUARE && nuc_arg_node(f, NUC_SELF) == x)
            exponent = 2;
        if (!(exponent >= 1) || exponent > power || floor(exponent) < exponent)
            return false;
        found += (uint32_t)exponent;
    }
    return found == power;
}

/* ---- functions ---- */

/* x of relu6(x + 3), or NULL. */
static struct nuc_node *shifted_relu6(struct nuc_graph *g, const struct nuc_node *node)
{
    if (!nuc_has_bounds(node))
        return NULL;
    struct nuc_bounds bounds = nuc_bounds_of(node);
    const struct nuc_node *sum = nuc_arg_node(node, NUC_SELF);
    return nuc_is_real_value(sum) && nuc_numbers_equal(bounds.min, 0) && nuc_numbers_equal(bounds.max, 6)
               ? added_to(g, sum, 3)
               : NULL;
}

static bool is_shifted_relu6(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *x)
{
    return shifted_relu6(g, node) == x;
}

static bool is_hardsigmoid(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *x)
{
    (void)g;
    return node->op == NUC_OP_HARDSIGMOID && nuc_arg_node(node, NUC_SELF) == x;
}

static bool is_softplus(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *x)
{
    const struct nuc_node *a = nuc_arg_node(node, NUC_SELF);

    if (node->op == NUC_OP_SOFTPLUS)
        return a == x && nuc_numbers_equal(nuc_scalar(node, NUC_ARG(SOFTPLUS, beta), 1), 1);
    if (node->op == NUC_OP_LOG && a != NULL)
        a = added_to(g, a, 1);
    else if (node->op != NUC_OP_LOG1P)
        return false;
    return a != NULL && a->op == NUC_OP_EXP && nuc_arg_node(a, NUC_SELF) == x;
}

static bool is_tanh_of_softplus(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *x)
{
    const struct nuc_node *a = nuc_arg_node(node, NUC_SELF);

    return node->op == NUC_OP_TANH && a != NULL && is_softplus(g, a, x);
}

/* 1 + erf(x / sqrt(2)) */
static bool is_normal(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *x)
{
    struct nuc_node *function = added_to(g, node, 1);

    return function != NULL && function->op == NUC_OP_ERF &&
           is_power(g, nuc_arg_node(function, NUC_SELF), M_SQRT1_2, x, 1);
}

#define CUBIC 0.044715 /* torch's number in the form of the tangent */

/* x + 0.044715 x^3 */
static bool is_cubic(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *x)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);

    return node->op == NUC_OP_ADD && nuc_numbers_equal(nuc_scalar(node, NUC_ARG(ADD, alpha), 1), 1) &&
           ((a == x && is_power(g, b, CUBIC, x, 3)) || (b == x && is_power(g, a, CUBIC, x, 3)));
}

/* 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)), the bracket also as x (1 + 0.044715 x^2) */
static bool is_nearly_normal(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *x)
{
    struct nuc_node *function = added_to(g, node, 1), *square;
    struct product p;

    if (function == NULL || function->op != NUC_OP_TANH || !product_of(g, nuc_arg_node(function, NUC_SELF), &p) ||
        !nuc_is_number(p.number, M_SQRT1_2 * M_2_SQRTPI))
        return false;
    if (p.count == 1)
        return is_cubic(g, p.factors[0], x);
    if (p.count != 2 || (p.factors[0] != x && p.factors[1] != x))
        return false;
    square = added_to(g, p.factors[p.factors[0] == x ? 1 : 0], 1);
    return square != NULL && is_power(g, square, CUBIC, x, 2);
}

/* number times x times the other factor */
static const struct written {
    double number;
    bool (*factor)(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *x);
    enum nuc_op op;
    const char *approximate; /* of a GELU; NULL: the default */
} written[] = {
    {1.0 / 6.0, is_shifted_relu6, NUC_OP_HARDSWISH, NULL}, {1, is_hardsigmoid, NUC_OP_HARDSWISH, NULL},
    {1, is_tanh_of_softplus, NUC_OP_MISH, NULL},           {0.5, is_normal, NUC_OP_GELU, NULL},
    {0.5, is_nearly_normal, NUC_OP_GELU, "tanh"},
};

struct found {
    enum nuc_op op;
    struct nuc_node *x;
    const char *approximate;
};

static bool find(struct nuc_graph *g, struct nuc_node *node, struct found *out)
{
    struct product p;

    if (!product_of(g, node, &p) || p.count == 0 || p.count > 2)
        return false;
    if (p.count == 1) {
        *out = (struct found){NUC_OP_HARDSIGMOID, shifted_relu6(g, p.factors[0]), NULL};
        return nuc_is_number(p.number, 1.0 / 6.0) && nuc_is_real_value(out->x);
    }
    for (size_t i = 0; i < 2 * (sizeof written / sizeof *written); i++) {
        const struct written *w = &written[i / 2];
        struct nuc_node *x = p.factors[i % 2], *other = p.factors[1 - i % 2];
        *out = (struct found){w->op, x, w->approximate};
        if (nuc_is_number(p.number, w->number) && nuc_is_call(other) && w->factor(g, other, x))
            return true;
    }
    return false;
}

bool nuc_is_written_function(const struct nuc_support *s, const struct nuc_node *node)
{
    struct found f;

    return find(s->g, nuc_find_node(s->g, node->name), &f) && nuc_same_sizes(&f.x->vals[0], &node->vals[0]);
}

struct nuc_node *nuc_to_written_function(struct nuc_graph *g, struct nuc_node *node)
{
    struct found f;

    if (!find(g, node, &f))
        nuc_fail(g->cx, NUC_INTERNAL, "%s: %s is no function", g->file, nuc_node_text(g->cx, node));
    struct nuc_node *made = nuc_insert(g, node, f.op, node);
    made->in_place = false;
    nuc_set_arg_node(made, g, NUC_SELF, f.x);
    if (f.approximate != NULL)
        nuc_set_arg_string(made, NUC_ARG(GELU, approximate), f.approximate);
    nuc_infer_shape(g, made);
    return made;
}

/* ---- roots ---- */

/* The inverse in int8 has half a step of 1/255 of its range, which float on the CPU has not; its int8 kernels err more.
 */
bool nuc_is_over_root(const struct nuc_support *s, const struct nuc_node *node)
{
    const struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *root = nuc_arg_node(node, NUC_OTHER);

    return s->target->cpu != NULL && nuc_is_real_value(node) && nuc_is_real_value(a) && nuc_is_real_value(root) &&
           root->op == NUC_OP_SQRT && root->n_users == 1;
}

struct nuc_node *nuc_to_times_root(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *root = nuc_operand(g, node, NUC_OTHER);
    struct nuc_node *inverse = nuc_insert_unary(g, node, NUC_OP_RSQRT, nuc_operand(g, root, NUC_SELF));

    return nuc_insert_binary(g, node, NUC_OP_MUL, nuc_operand(g, node, NUC_SELF), inverse);
}
