/*
 * Sums of elements that are taken at constant places and multiplied with constants, as decomposed archives resample:
 * along one dimension after the other such a sum is an image resized, or a product with a constant matrix.
 */
#include <math.h>
#include <string.h>

#include "host/numbers.h"
#include "ir/args.h"
#include "rewrite/expand/expand.h"
#include "rewrite/formula/formula.h"
#include "rewrite/known.h"
#include "rewrite/pass_list.h"

#define MAX_LEAVES 16
#define MAX_MATRIX ((int64_t)1 << 20)

/* x at constant places, times a constant (NULL: 1), or 1 less that. */
struct leaf {
    struct nuc_node *x, *weight;
    bool is_rest;
    struct places {
        const int64_t *at; /* NULL: all of the dimension */
        int64_t count;
    } of[NUC_MAX_RANK];
};

/* The places of each dimension alone. False: the operator takes others, or of a dimension that has places already. */
static bool read_index(struct nuc_graph *g, const struct nuc_node *node, struct leaf *leaf)
{
    const struct nuc_arg *list = nuc_arg_at(node, NUC_ARG(INDEX, indices));
    uint32_t first = NUC_MAX_RANK, count = 0, rank = 0;

    if (node->op != NUC_OP_INDEX || list->kind != NUC_ARG_NODES || !nuc_is_real_value(nuc_arg_node(node, NUC_SELF)))
        return false;
    for (uint32_t d = 0; d < list->count; d++) {
        if (list->u.nodes[d] == NULL)
            continue;
        first = count == 0 ? d : first;
        if (d != first + count++ || list->u.nodes[d]->vals[0].dtype != NUC_I64)
            return false;
        rank = list->u.nodes[d]->vals[0].rank > rank ? list->u.nodes[d]->vals[0].rank : rank;
    }
    leaf->x = nuc_arg_node(node, NUC_SELF);
    for (uint32_t k = 0; k < count; k++) {
        struct nuc_node *places = list->u.nodes[first + k];
        const struct nuc_meta *m = &places->vals[0];
        struct places *p = &leaf->of[first + k];
        if (p->at != NULL)
            return false;
        for (uint32_t d = 0; d < m->rank; d++) {
            if (m->sizes[d] != 1 && rank - m->rank + d != k)
                return false;
        }
        *p = (struct places){nuc_known_integers(g, places), nuc_elements(m)};
        if (p->at == NULL || p->count != node->vals[0].sizes[first + k])
            return false;
    }
    return count > 0 && count == rank;
}

/* The same of operators in a row, of which each takes other dimensions. */
static bool read_places(struct nuc_graph *g, const struct nuc_node *node, struct leaf *leaf)
{
    struct leaf all = *leaf, next;

    for (; next = all, read_index(g, node, &next); node = next.x)
        all = next;
    if (all.x == NULL)
        return false;
    *leaf = all;
    return true;
}

static bool is_weight(struct nuc_graph *g, struct nuc_node *weight, const struct nuc_node *of)
{
    return nuc_is_real_value(weight) && weight->vals[0].dtype == NUC_F32 &&
           nuc_elements(&weight->vals[0]) <= nuc_elements(&of->vals[0]) && nuc_known_value(g, weight) != NULL;
}

static bool read_leaf(struct nuc_graph *g, struct nuc_node *node, struct leaf *leaf)
{
    memset(leaf, 0, sizeof *leaf);
    if (read_places(g, node, leaf))
        return true;
    for (uint32_t i = 0; i < 2 && node->op == NUC_OP_MUL; i++) {
        struct nuc_node *taken = nuc_arg_node(node, i == 0 ? NUC_SELF : NUC_OTHER);
        struct nuc_node *weight = nuc_arg_node(node, i == 0 ? NUC_OTHER : NUC_SELF);
        memset(leaf, 0, sizeof *leaf);
        if (!nuc_is_real_value(taken) || !nuc_is_call(taken) ||
            nuc_elements(&taken->vals[0]) != nuc_elements(&node->vals[0]) || !read_places(g, taken, leaf) ||
            !is_weight(g, weight, node))
            continue;
        leaf->weight = weight;
        return true;
    }
    return false;
}

static bool adds(const struct nuc_node *node)
{
    return node->op == NUC_OP_ADD && nuc_is_real_value(node) && nuc_is_real_value(nuc_arg_node(node, NUC_OTHER)) &&
           nuc_has_plain_alpha(node);
}

/* a + (b - a) w, as linear interpolation has it: a (1 - w) + b w. */
static bool read_interpolation(struct nuc_graph *g, struct nuc_node *sum, struct leaf leaves[2])
{
    struct nuc_node *a = nuc_operand(g, sum, NUC_SELF), *step = nuc_operand(g, sum, NUC_OTHER);

    for (uint32_t i = 0; step->op == NUC_OP_MUL && i < 2; i++) {
        struct nuc_node *rise = nuc_arg_node(step, i), *weight = nuc_arg_node(step, 1 - i);
        struct nuc_node *b = rise != NULL && rise->op == NUC_OP_SUB ? nuc_arg_node(rise, NUC_SELF) : NULL;
        if (b == NULL || nuc_arg_node(rise, NUC_OTHER) != a || !nuc_is_real_value(a) || !nuc_is_real_value(b) ||
            !nuc_has_plain_alpha(rise) || !is_weight(g, weight, sum))
            continue;
        memset(leaves, 0, 2 * sizeof *leaves);
        if (!read_places(g, a, &leaves[0]) || !read_places(g, b, &leaves[1]))
            return false;
        leaves[0].weight = leaves[1].weight = weight;
        leaves[0].is_rest = true;
        return true;
    }
    return false;
}

/* The terms of a sum. Each term that is one itself is read by the sum alone. */
static bool read_leaves(struct nuc_graph *g, struct nuc_node *sum, struct leaf leaves[MAX_LEAVES], uint32_t *count)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct nuc_node *term = nuc_arg_node(sum, i == 0 ? NUC_SELF : NUC_OTHER);
        if (!nuc_is_real_value(term) || nuc_elements(&term->vals[0]) != nuc_elements(&sum->vals[0]))
            return false;
        if (adds(term) && term->n_users == 1) {
            if (!read_leaves(g, term, leaves, count))
                return false;
        } else if (*count == MAX_LEAVES || !read_leaf(g, term, &leaves[(*count)++])) {
            return false;
        }
    }
    return true;
}

static bool same_places(const struct places *a, const struct places *b)
{
    return a->at == NULL || b->at == NULL
               ? a->at == b->at
               : a->count == b->count && memcmp(a->at, b->at, (size_t)a->count * sizeof *a->at) == 0;
}

/* The one dimension along which the leaves differ; NUC_MAX_RANK: there is none, or there are several. */
static uint32_t varied_dim(const struct leaf *leaves, uint32_t count, uint32_t rank)
{
    uint32_t dim = NUC_MAX_RANK;

    for (uint32_t d = 0; d < rank; d++) {
        bool same = true;
        for (uint32_t k = 1; k < count; k++)
            same = same && leaves[k].x == leaves[0].x && same_places(&leaves[k].of[d], &leaves[0].of[d]);
        if (same)
            continue;
        if (dim != NUC_MAX_RANK)
            return NUC_MAX_RANK;
        dim = d;
    }
    return dim;
}

/* Adds what a leaf takes to the matrix [out, in]. False: its weights vary along another dimension. */
static bool add_to_matrix(struct nuc_graph *g, const struct leaf *leaf, uint32_t dim, uint32_t rank, int64_t in,
                          float *matrix)
{
    const struct places *p = &leaf->of[dim];
    const float *weights = leaf->weight != NULL ? nuc_known_value(g, leaf->weight) : NULL;
    bool varies = false;

    if (p->at == NULL)
        return false;
    for (uint32_t d = 0; leaf->weight != NULL && d < leaf->weight->vals[0].rank; d++) {
        bool is_dim = rank - leaf->weight->vals[0].rank + d == dim;
        varies = varies || (is_dim && leaf->weight->vals[0].sizes[d] > 1);
        if (!is_dim && leaf->weight->vals[0].sizes[d] != 1)
            return false;
    }
    for (int64_t o = 0; o < p->count; o++) {
        int64_t at = p->at[o] < 0 ? p->at[o] + in : p->at[o];
        if (at < 0 || at >= in)
            return false;
        float weight = weights != NULL ? weights[varies ? o : 0] : 1;
        matrix[o * in + at] += leaf->is_rest ? 1 - weight : weight;
    }
    return true;
}

/*
 * Whether each row of the matrix [out, in] weighs the two neighbours of its place, as torch resizes rows and images:
 * by corners or by centres. Sizes decide the places, which torch computes in float.
 */
static bool is_linear_resize(const float *matrix, int64_t out, int64_t in, bool by_corners)
{
    if (in <= 1 || in == out)
        return false;
    const double ratio = by_corners && out > 1 ? (double)(in - 1) / (double)(out - 1) : (double)in / (double)out;

    for (int64_t o = 0; o < out; o++) {
        double at = by_corners ? ratio * (double)o : fmax(ratio * ((double)o + 0.5) - 0.5, 0);
        int64_t first = (int64_t)at, next = first + 1 < in ? first + 1 : in - 1;
        for (int64_t i = 0; i < in; i++) {
            double part = at - (double)first;
            double weight = (i == first ? 1 - part : 0) + (i == next ? part : 0);
            if (fabs(weight - (double)matrix[o * in + i]) > 1e-4)
                return false;
        }
    }
    return true;
}

/* A row or an image resized to these sizes: by whole factors where they are, as the importer has it. */
static struct nuc_node *insert_resized(struct nuc_graph *g, struct nuc_node *node, bool linear, struct nuc_node *x,
                                       const int64_t *to, bool by_corners)
{
    return nuc_formula_call(
        nuc_formulas_new(g->cx), g, node, "resized_to",
        NUC_ARGS(x, nuc_ints_arg(to, x->vals[0].rank), nuc_bool_arg(linear), nuc_bool_arg(by_corners)));
}

/* The last products, which other sums may be of, too. */
enum { MOST_PRODUCTS = 8 };

struct products {
    struct product {
        struct nuc_node *x, *value;
        const float *matrix;
        int64_t sizes[2];
        uint32_t dim;
    } made[MOST_PRODUCTS];
    uint32_t count;
};

static struct nuc_node *insert_product(struct nuc_graph *g, struct products *all, struct nuc_node *node,
                                       const struct product *p)
{
    for (uint32_t i = 0; i < all->count && i < MOST_PRODUCTS; i++) {
        const struct product *q = &all->made[i];
        if (q->x == p->x && q->dim == p->dim && q->sizes[0] == p->sizes[0] && q->value->n_users > 0 &&
            memcmp(q->matrix, p->matrix, (size_t)(p->sizes[0] * p->sizes[1]) * sizeof *p->matrix) == 0)
            return q->value;
    }
    struct product *new = &all->made[all->count++ % MOST_PRODUCTS];
    const struct nuc_meta *m = &p->x->vals[0];
    bool in_image = (m->rank == 3 || m->rank == 4) && p->dim >= 2;
    int64_t to[NUC_MAX_RANK];
    *new = *p;
    memcpy(to, m->sizes, m->rank * sizeof *to);
    to[p->dim] = p->sizes[0];
    for (int by_corners = 0; in_image && by_corners < 2; by_corners++) {
        if (!is_linear_resize(p->matrix, p->sizes[0], p->sizes[1], by_corners != 0))
            continue;
        new->value = insert_resized(g, node, true, p->x, to, by_corners != 0);
        return new->value;
    }
    new->value = nuc_insert_along(g, node, p->x, p->dim, nuc_insert_floats(g, node, p->matrix, p->sizes, 2));
    return new->value;
}

static struct nuc_node *rewritten(struct nuc_graph *g, struct products *made, struct nuc_node *node)
{
    struct leaf leaves[MAX_LEAVES];
    uint32_t count = 0, rank = node->vals[0].rank;

    if (read_interpolation(g, node, leaves))
        count = 2;
    else if (!read_leaves(g, node, leaves, &count))
        return NULL;
    uint32_t dim = varied_dim(leaves, count, rank);
    if (dim == NUC_MAX_RANK)
        return NULL;
    const int64_t sizes[] = {node->vals[0].sizes[dim], leaves[0].x->vals[0].sizes[dim]};
    if (sizes[1] == 0 || sizes[0] > MAX_MATRIX / sizes[1])
        return NULL;
    float *matrix = nuc_alloc_array(g->cx, (size_t)(sizes[0] * sizes[1]), sizeof *matrix);
    for (uint32_t k = 0; k < count; k++) {
        if (!add_to_matrix(g, &leaves[k], dim, rank, sizes[1], matrix))
            return NULL;
    }
    const struct product product = {leaves[0].x, NULL, matrix, {sizes[0], sizes[1]}, dim};
    struct nuc_node *value = insert_product(g, made, node, &product);
    for (uint32_t d = 0; d < rank; d++) {
        const struct places *p = &leaves[0].of[d];
        if (d != dim && p->at != NULL)
            value = nuc_insert_taken(g, node, value, d, p->at, p->count);
    }
    return value;
}

/*
 * Windows, as decomposed archives unfold them: indices of neighbouring dimensions, each along dimensions of its own,
 * which are those of the result in this order. Along one dimension after the other there is one index each.
 */
static bool split_windows(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *list = nuc_arg_at(node, NUC_ARG(INDEX, indices));
    struct nuc_node *value = nuc_operand(g, node, NUC_SELF);
    uint32_t count = 0, rank = 0, next = 0;
    const int64_t *at[NUC_MAX_RANK] = {NULL};

    for (uint32_t d = 0; list->kind == NUC_ARG_NODES && d < list->count; d++) {
        const struct nuc_node *places = list->u.nodes[d];
        rank = places != NULL && places->vals[0].rank > rank ? places->vals[0].rank : rank;
    }
    for (uint32_t d = 0, last = 0; list->kind == NUC_ARG_NODES && d < list->count; d++) {
        struct nuc_node *places = list->u.nodes[d];
        if (places == NULL)
            continue;
        const struct nuc_meta *m = &places->vals[0];
        at[d] = m->dtype == NUC_I64 ? nuc_known_integers(g, places) : NULL;
        if (at[d] == NULL || (count > 0 && last + 1 != d))
            return false;
        for (uint32_t k = 0, first = next; k < m->rank; k++) {
            if (m->sizes[k] != 1 && rank - m->rank + k < first)
                return false;
            next = m->sizes[k] != 1 ? rank - m->rank + k + 1 : next;
        }
        last = d;
        count++;
    }
    if (count < 2 || count == rank)
        return false;
    for (uint32_t d = 0; d < list->count; d++) {
        if (at[d] != NULL)
            value = nuc_insert_taken(g, node, value, d, at[d], nuc_elements(&list->u.nodes[d]->vals[0]));
    }
    nuc_replace_uses(g, node, nuc_insert_reshaped(g, node, value, node->vals[0].sizes, node->vals[0].rank), NULL);
    return true;
}

/* Rows and images with each pixel several times, as decomposed archives resample them to the nearest. */
static bool to_nearest(struct nuc_graph *g, struct nuc_node *node)
{
    struct leaf leaf = {.weight = NULL};
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF);
    const struct nuc_meta *m = &x->vals[0];
    const int64_t *to = node->vals[0].sizes;
    bool repeats = false;

    if ((m->rank != 3 && m->rank != 4) || !read_places(g, node, &leaf))
        return false;
    for (uint32_t d = 0; d < m->rank; d++) {
        const struct places *p = &leaf.of[d];
        if (p->at == NULL)
            continue;
        if (d < 2 || m->sizes[d] == 0 || p->count == 0 || p->count % m->sizes[d] != 0)
            return false;
        for (int64_t i = 0; i < p->count; i++) {
            if (p->at[i] != i / (p->count / m->sizes[d]))
                return false;
        }
        repeats = repeats || p->count > m->sizes[d];
    }
    if (!repeats)
        return false;
    nuc_replace_uses(g, node, insert_resized(g, node, false, x, to, false), NULL);
    return true;
}

/* Whether factors say no other places than sizes do. */
static bool has_places_of_sizes(const struct nuc_node *resize)
{
    const struct nuc_arg *factors = nuc_arg_at(resize, NUC_ARG(UPSAMPLE_BILINEAR, scale_factors));
    const int64_t *from = nuc_input_meta(resize, NUC_SELF)->sizes + 2, *to = resize->vals[0].sizes + 2;

    return factors->kind != NUC_ARG_FLOATS ||
           (nuc_numbers_equal(factors->u.floats[0] * (double)from[0], (double)to[0]) &&
            nuc_numbers_equal(factors->u.floats[1] * (double)from[1], (double)to[1]));
}

/* The image of another dimension resized in the same way, which nothing else reads: both at once. */
static bool join_resizes(struct nuc_graph *g, struct nuc_node *second)
{
    struct nuc_node *first = nuc_operand(g, second, NUC_SELF), *x;
    uint32_t corners = NUC_ARG(UPSAMPLE_BILINEAR, align_corners);

    if (first->op != NUC_OP_UPSAMPLE_BILINEAR || first->n_users != 1 ||
        nuc_flag(first, corners) != nuc_flag(second, corners))
        return false;
    x = nuc_operand(g, first, NUC_SELF);
    const int64_t *from = x->vals[0].sizes, *between = first->vals[0].sizes, *to = second->vals[0].sizes;
    uint32_t d = between[2] == from[2] ? 2 : 3, other = 5 - d;
    if (between[d] != from[d] || between[other] != to[other] || !has_places_of_sizes(first) ||
        !has_places_of_sizes(second))
        return false;
    nuc_replace_uses(g, second, insert_resized(g, second, true, x, to, nuc_flag(first, corners)), NULL);
    return true;
}

/* Sums that are no terms of a larger one first; where the larger one is nothing such, its largest terms. */
bool nuc_written_gathers(struct nuc_graph *g)
{
    struct products made = {.count = 0};
    uint32_t count;
    struct nuc_node **nodes = nuc_collect(g, NUC_OPS(NUC_OP_ADD), &count);
    bool changed = false;

    for (uint32_t i = 0; i < 2 * count; i++) {
        struct nuc_node *node = nodes[i < count ? i : 2 * count - 1 - i];
        bool is_term = node->n_users == 1 && adds(node->users[0]);
        if (i >= count) /* backwards: what was made stands behind */
            made.count = 0;
        uint32_t old_ids = g->next_id;
        struct nuc_node *value =
            node->n_users > 0 && adds(node) && is_term == (i >= count) ? rewritten(g, &made, node) : NULL;
        if (value == NULL)
            continue;
        nuc_replace_uses(g, node, value, NULL);
        nuc_remove_dead(g);
        if (value->id >= old_ids)
            nuc_rename(g, value, node->name);
        changed = true;
    }
    changed |= nuc_rewrite_each(g, NUC_OPS(NUC_OP_UPSAMPLE_BILINEAR), join_resizes);
    changed |= nuc_rewrite_each(g, NUC_OPS(NUC_OP_INDEX), to_nearest);
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_INDEX), split_windows) || changed;
}
