/*
 * Groups of heads that share keys or values, which a model repeats for each of them: a product of matrices with a
 * factor that is the same for several neighbours of the batch. Rows of these neighbours become rows of one matrix:
 *
 *     [.., h, m, k] times the [.., h / r, k, n] of h is [.., h / r, r m, k] times that
 */
#include "ir/args.h"
#include "ir/axis_map.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"
#include "rewrite/recognize/written.h"

enum { MOST_OPERATORS = 16 };

/* Element i of the value is one of `times` equal ones, which are those of i with another (i / inner) % times. */
struct repeats {
    int64_t times, inner;
};

/* The dimension that `times` is a part of, *inner being the part after it; -1: it is spread over several. */
static int64_t place_of(const struct nuc_meta *m, const struct repeats *r, int64_t *inner)
{
    int64_t stride = 1;

    for (uint32_t d = m->rank; d > 0; stride *= m->sizes[--d]) {
        if (r->inner >= stride * m->sizes[d - 1])
            continue;
        *inner = r->inner / stride;
        return r->inner % stride == 0 && m->sizes[d - 1] % (*inner * r->times) == 0 ? (int64_t)d - 1 : -1;
    }
    return -1;
}

/* Where a dimension of size 1 is repeated; NULL: nowhere. */
static struct nuc_node *repeated(const struct nuc_node *value, struct repeats *r)
{
    const struct nuc_arg *list = &value->args[NUC_SELF];
    struct nuc_node *x = value->op == NUC_OP_CAT ? list->u.nodes[0] : nuc_arg_node(value, NUC_SELF);
    const struct nuc_meta *m = &value->vals[0];
    uint32_t differing = 0;

    for (uint32_t i = 1; value->op == NUC_OP_CAT && i < list->count; i++) {
        if (list->u.nodes[i] != x)
            return NULL;
    }
    if ((value->op != NUC_OP_CAT && value->op != NUC_OP_EXPAND) || x == NULL || x->vals[0].rank != m->rank)
        return NULL;
    *r = (struct repeats){.inner = 1};
    for (uint32_t d = 0; d < m->rank; d++) {
        differing += x->vals[0].sizes[d] != m->sizes[d];
        r->inner *= differing > 0 && r->times > 0 ? m->sizes[d] : 1;
        if (x->vals[0].sizes[d] != m->sizes[d])
            r->times = x->vals[0].sizes[d] == 1 ? m->sizes[d] : 0;
    }
    return differing == 1 && r->times > 1 ? x : NULL;
}

static struct nuc_node *without(struct nuc_graph *g, struct nuc_node *value, struct nuc_node *before, int depth,
                                struct repeats *r);

/* before: NULL asks only whether there is such a value. */
static struct nuc_node *without_behind_view(struct nuc_graph *g, struct nuc_node *value, struct nuc_node *before,
                                            int depth, struct repeats *r)
{
    struct nuc_node *x = without(g, nuc_arg_node(value, NUC_SELF), before, depth, r);
    struct nuc_meta m = value->vals[0];
    int64_t inner, dim = x == NULL ? -1 : place_of(&m, r, &inner);

    if (dim < 0 || before == NULL)
        return dim < 0 ? NULL : x;
    m.sizes[dim] /= r->times;
    return nuc_insert_reshaped(g, before, x, m.sizes, m.rank);
}

static struct nuc_node *without_behind_permutation(struct nuc_graph *g, struct nuc_node *value, struct nuc_node *before,
                                                   int depth, struct repeats *r)
{
    struct nuc_node *input = nuc_arg_node(value, NUC_SELF), *x = without(g, input, before, depth, r);
    const struct nuc_meta *m = &value->vals[0];
    int64_t dims[NUC_MAX_RANK], inner, stride = 1, dim = x == NULL ? -1 : place_of(&input->vals[0], r, &inner);
    struct nuc_axis_map map;

    if (dim < 0 || !nuc_axis_map(value, 0, NUC_SELF, 0, &map))
        return NULL;
    for (uint32_t d = m->rank; d > 0; stride *= m->sizes[--d]) {
        const struct nuc_axis *axis = nuc_axis_to(&map, d - 1);
        if (axis == NULL)
            return NULL;
        dims[d - 1] = axis->from;
        r->inner = axis->from == dim ? inner * stride : r->inner;
    }
    return before == NULL ? x : nuc_insert_permuted(g, before, x, dims);
}

/* The value without what is repeated, in its place. */
static struct nuc_node *without(struct nuc_graph *g, struct nuc_node *value, struct nuc_node *before, int depth,
                                struct repeats *r)
{
    struct nuc_node *x = value == NULL || !nuc_is_real_value(value) ? NULL : repeated(value, r);
    double number;

    if (x != NULL || depth == 0 || value == NULL || !nuc_is_call(value) || !nuc_is_real_value(value))
        return x;
    struct nuc_node *input = nuc_arg_node(value, NUC_SELF), *other = nuc_arg_node(value, NUC_OTHER);
    if (input == NULL || nuc_elements(&input->vals[0]) != nuc_elements(&value->vals[0]))
        return NULL;
    if (nuc_op_family(value->op) == NUC_FAMILY_PERMUTE)
        return without_behind_permutation(g, value, before, depth - 1, r);
    if (nuc_op_family(value->op) == NUC_FAMILY_VIEW || nuc_is_plain_copy(value) || value->op == NUC_OP_EXPAND)
        return without_behind_view(g, value, before, depth - 1, r);
    if (value->op != NUC_OP_MUL || other == NULL || !nuc_number_of(g, other, &number))
        return NULL;
    x = without(g, input, before, depth - 1, r);
    return x == NULL || before == NULL ? x : nuc_insert_binary(g, before, NUC_OP_MUL, x, other);
}

static bool group(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *a = nuc_operand(g, node, NUC_SELF), *b = nuc_operand(g, node, NUC_OTHER);
    const uint32_t rank = node->vals[0].rank;
    struct nuc_meta m = a->vals[0];
    struct repeats r;
    int64_t inner;

    if (rank < 3 || m.rank != rank || b->vals[0].rank != rank || without(g, b, NULL, MOST_OPERATORS, &r) == NULL ||
        place_of(&b->vals[0], &r, &inner) != (int64_t)rank - 3 || inner != 1)
        return false;
    for (uint32_t d = 0; d + 2 < rank; d++) {
        if (m.sizes[d] != b->vals[0].sizes[d])
            return false;
    }
    m.sizes[rank - 3] /= r.times;
    m.sizes[rank - 2] *= r.times;
    struct nuc_node *rows = nuc_insert_reshaped(g, node, a, m.sizes, rank);
    struct nuc_node *one = without(g, b, node, MOST_OPERATORS, &r);
    struct nuc_node *value = nuc_insert_binary(g, node, node->op, rows, one);
    nuc_replace_uses(g, node, nuc_insert_reshaped(g, node, value, node->vals[0].sizes, rank), NULL);
    return true;
}

bool nuc_written_groups(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_BMM, NUC_OP_MATMUL), group);
}
