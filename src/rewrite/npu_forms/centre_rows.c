/*
 * A layer norm takes the mean off each row, and so may what writes the rows: layers whose outputs lose the mean of all
 * of them, and constants. In a network whose residual stream only layer norms read, these are all that add to it.
 * What reads the rows otherwise, or writes them by another operator, leaves all that is connected as it is.
 */
#include "ir/args.h"
#include "ir/axis_map.h"
#include "ir/conv_args.h"
#include "rewrite/npu_forms/npu_forms.h"

/* Values that are rows of the same sums and moves. */
struct connected {
    struct nuc_graph *g;
    struct nuc_node **values;
    uint32_t first, count; /* of this walk; those before are others' */
    uint32_t *places;      /* by node id: 1 + the index in values; 0: none */
    uint32_t *dims;        /* by node id: along which a row lies */
    bool holds;
};

static void reach(struct connected *c, struct nuc_node *value, uint32_t dim)
{
    uint32_t place = c->places[value->id];

    if (place > 0 || !nuc_is_float_value(value) || dim >= value->vals[0].rank) {
        c->holds = c->holds && place > c->first && c->dims[value->id] == dim;
        return;
    }
    c->values[c->count++] = value;
    c->places[value->id] = c->count;
    c->dims[value->id] = dim;
}

/* Rows of the result are sums of rows of the operands, or these at another place. */
static bool keeps_rows(const struct nuc_node *node)
{
    return node->op == NUC_OP_CAT || nuc_op_rearranges(node->op) || nuc_op_family(node->op) == NUC_FAMILY_SLICE ||
           (node->op == NUC_OP_ADD && nuc_arg_node(node, NUC_OTHER) != NULL);
}

/* Reaches the operands of a value (from NULL), or what makes it of the operand `from`. */
static void follow(struct connected *c, struct nuc_node *node, const struct nuc_node *from, uint32_t dim)
{
    for (uint32_t arg = 0; arg < node->n_args && c->holds; arg++) {
        const struct nuc_arg *a = &node->args[arg];
        uint32_t n = a->kind == NUC_ARG_NODES ? a->count : a->kind == NUC_ARG_NODE ? 1 : 0;
        for (uint32_t i = 0; i < n && c->holds; i++) {
            struct nuc_node *operand = a->kind == NUC_ARG_NODES ? a->u.nodes[i] : a->u.node;
            struct nuc_axis_map map;
            if (from != NULL && operand != from)
                continue;
            c->holds = nuc_is_float_value(operand) && nuc_axis_map(node, 0, arg, i, &map);
            const struct nuc_meta *m = &operand->vals[0], *to = &node->vals[0];
            uint32_t d = from != NULL ? dim : 0;
            while (c->holds && from == NULL && d < m->rank && nuc_whole_dim(&map, m, to, d) != dim)
                d++;
            if (c->holds)
                reach(c, from != NULL ? node : operand, from != NULL ? nuc_whole_dim(&map, m, to, d) : d);
        }
    }
}

static bool is_norm_of(const struct nuc_node *node, const struct nuc_node *value, uint32_t dim)
{
    return node->op == NUC_OP_LAYER_NORM && nuc_arg_node(node, NUC_SELF) == value &&
           nuc_arg_at(node, NUC_ARG(LAYER_NORM, normalized_shape))->count == 1 && dim + 1 == value->vals[0].rank;
}

/* Constants that a row is the sum of, and their dimension along it. */
struct terms {
    uint32_t args[2], count, dim;
};

/* A layer, or rows of a table; count 0: another operator. */
static struct terms terms_of(const struct nuc_node *node, uint32_t dim)
{
    const struct nuc_meta *m = &node->vals[0];
    struct terms t = {.count = 0};

    if (node->op == NUC_OP_LINEAR && dim + 1 == m->rank)
        t = (struct terms){{NUC_ARG(LINEAR, weight), NUC_ARG(LINEAR, bias)}, 2, 0};
    else if (node->op == NUC_OP_CONV2D && dim + 3 == m->rank && nuc_integer(node, NUC_ARG(CONV2D, groups), 1) == 1)
        t = (struct terms){{NUC_ARG(CONV2D, weight), NUC_ARG(CONV2D, bias)}, 2, 0};
    else if (node->op == NUC_OP_EMBEDDING && dim + 1 == m->rank)
        t = (struct terms){{NUC_ARG(EMBEDDING, weight)}, 1, 1};
    for (uint32_t i = 0; i < t.count; i++) {
        const struct nuc_node *value = nuc_arg_node(node, t.args[i]);
        /* One that others read, too, would be there twice. */
        if (value != NULL ? !nuc_is_static_float(value) || value->n_users > 1 : i == 0)
            t.count = 0;
    }
    return t;
}

/* All that is connected with the value. False: some of it cannot lose its mean. */
static bool connect(struct connected *c, struct nuc_node *value, uint32_t dim)
{
    c->first = c->count;
    c->holds = true;
    reach(c, value, dim);
    for (uint32_t at = c->first; at < c->count && c->holds; at++) {
        struct nuc_node *v = c->values[at];
        uint32_t d = c->dims[v->id];
        if (keeps_rows(v))
            follow(c, v, NULL, d);
        else
            c->holds = nuc_is_static(v) || terms_of(v, d).count > 0;
        for (uint32_t i = 0; i < v->n_users && c->holds; i++) {
            c->holds = keeps_rows(v->users[i]) || is_norm_of(v->users[i], v, d);
            if (c->holds && !is_norm_of(v->users[i], v, d))
                follow(c, v->users[i], v, d);
        }
    }
    return c->holds;
}

/* The constant without its means along a dimension. */
static struct nuc_node *centred(struct nuc_graph *g, const struct nuc_node *constant, uint32_t dim)
{
    const struct nuc_meta m = nuc_meta_make(NUC_F32, constant->vals[0].sizes, constant->vals[0].rank);
    const float *from = nuc_const_contiguous(g, constant);
    size_t n = (size_t)m.sizes[dim], inner = (size_t)nuc_elements_between(&m, dim + 1, m.rank);
    size_t count = (size_t)nuc_elements(&m);
    float *to = nuc_alloc_array(g->cx, count, sizeof *to);
    double *means = nuc_alloc_array(g->cx, inner, sizeof *means);

    for (size_t start = 0; start < count; start += n * inner) {
        for (size_t k = 0; k < inner; k++)
            means[k] = 0;
        for (size_t i = start; i < start + n * inner; i += inner) {
            for (size_t k = 0; k < inner; k++)
                means[k] += (double)from[i + k] / (double)n;
        }
        for (size_t i = start; i < start + n * inner; i += inner) {
            for (size_t k = 0; k < inner; k++)
                to[i + k] = (float)((double)from[i + k] - means[k]);
        }
    }
    return nuc_take_parameter(g, constant, "_centred", &m, to);
}

static void take_off_mean(struct nuc_graph *g, struct nuc_node *value, uint32_t dim)
{
    struct terms t = terms_of(value, dim);
    struct nuc_source *source = nuc_copy(g->cx, value->source, sizeof *source);

    source->is_centred = true;
    value->source = source;
    for (uint32_t i = 0; i < value->n_users; i++)
        value->users[i]->is_centred |= is_norm_of(value->users[i], value, dim);
    for (uint32_t i = 0; i < t.count; i++) {
        if (nuc_arg_node(value, t.args[i]) != NULL)
            nuc_set_arg_node(value, g, t.args[i], centred(g, nuc_arg_node(value, t.args[i]), t.dim));
    }
    if (nuc_is_static(value))
        nuc_replace_uses(g, value, centred(g, value, dim), NULL);
}

/* Walks that go over all values from the norms; returns whether one finds rows that can lose their mean. */
static bool find_rows(struct nuc_graph *g, bool takes_off)
{
    const uint32_t n_ids = g->next_id;
    struct connected c = {.g = g};
    uint32_t n_norms;
    bool found = false;
    struct nuc_node **norms = nuc_collect(g, NUC_OPS(NUC_OP_LAYER_NORM), &n_norms);

    c.values = nuc_alloc_array(g->cx, n_ids, sizeof(struct nuc_node *));
    c.places = nuc_alloc_array(g->cx, n_ids, sizeof *c.places);
    c.dims = nuc_alloc_array(g->cx, n_ids, sizeof *c.dims);
    for (uint32_t k = 0; k < n_norms; k++) {
        struct nuc_node *value = nuc_operand(g, norms[k], NUC_SELF);
        uint32_t last = value->vals[0].rank - 1u;
        if (norms[k]->is_centred || c.places[value->id] > 0 || !is_norm_of(norms[k], value, last) ||
            !connect(&c, value, last))
            continue;
        found = true;
        for (uint32_t i = c.first; i < c.count && takes_off; i++)
            take_off_mean(g, c.values[i], c.dims[c.values[i]->id]);
    }
    return found;
}

bool nuc_can_centre_rows(struct nuc_graph *g)
{
    return find_rows(g, false);
}

void nuc_centre_rows(struct nuc_graph *g)
{
    if (find_rows(g, true))
        nuc_remove_dead(g);
}
