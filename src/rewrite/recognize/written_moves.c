/*
 * Views and permutations in a row, as decomposed archives have them around products: all of them together permute parts
 * of dimensions once, with a view on either side where those parts are no dimensions, or more than the NPU permutes.
 */
#include <string.h>

#include "ir/args.h"
#include "ir/axis_map.h"
#include "npu/support/support.h"
#include "rewrite/insert.h"
#include "rewrite/moves.h"
#include "rewrite/pass_list.h"
#include "rewrite/recognize/written.h"

enum { MOST_PARTS = 2 * NUC_MAX_RANK };

/* Elements that are `stride` apart in the source, in logical order. */
struct part {
    int64_t size, stride;
};

/* The parts that dimensions consist of, those of dimension d from first[d] on; of a dimension of size 1 none. */
struct parts {
    uint32_t count, rank, first[NUC_MAX_RANK + 1];
    struct part at[MOST_PARTS];
};

static void start(struct parts *p, const struct nuc_meta *m)
{
    int64_t stride = nuc_elements(m);

    *p = (struct parts){.rank = m->rank};
    for (uint32_t d = 0; d < m->rank; d++) {
        stride /= m->sizes[d];
        if (m->sizes[d] != 1)
            p->at[p->count++] = (struct part){m->sizes[d], stride};
        p->first[d + 1] = p->count;
    }
}

/* The same elements in dimensions of other sizes. False: they are cut where no part ends. */
static bool view(struct parts *p, const struct nuc_meta *m)
{
    struct parts out = {.rank = m->rank};
    struct part left = {1, 1};
    uint32_t next = 0;

    for (uint32_t d = 0; d < m->rank; d++) {
        for (int64_t need = m->sizes[d], size; need > 1; need /= size, left.size /= size) {
            if (left.size == 1)
                left = p->at[next++];
            size = need % left.size == 0 ? left.size : need;
            if (left.size % size != 0 || out.count == MOST_PARTS)
                return false;
            out.at[out.count++] = (struct part){size, left.stride * (left.size / size)};
        }
        out.first[d + 1] = out.count;
    }
    *p = out;
    return true;
}

static bool permute(struct parts *p, const struct nuc_node *node)
{
    struct parts out = {.rank = node->vals[0].rank};
    struct nuc_axis_map map;

    if (!nuc_axis_map(node, 0, NUC_SELF, 0, &map))
        return false;
    for (uint32_t d = 0; d < out.rank; d++) {
        const struct nuc_axis *axis = nuc_axis_to(&map, d);
        uint32_t from = axis != NULL ? axis->from : p->rank;
        if (from == p->rank && node->vals[0].sizes[d] != 1)
            return false;
        for (uint32_t i = from < p->rank ? p->first[from] : 0; from < p->rank && i < p->first[from + 1]; i++)
            out.at[out.count++] = p->at[i];
        out.first[d + 1] = out.count;
    }
    *p = out;
    return true;
}

/* Parts that stay next to each other are one. */
static void merge(struct parts *p)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < p->count; i++) {
        if (count > 0 && p->at[count - 1].stride == p->at[i].stride * p->at[i].size)
            p->at[count - 1] = (struct part){p->at[count - 1].size * p->at[i].size, p->at[i].stride};
        else
            p->at[count++] = p->at[i];
    }
    p->count = count;
}

/*
 * Whether dimensions but those of size 1 are parts of these sizes: those from first[i] on are part i. Of no more
 * dimensions than the NPU permutes.
 */
static bool are_dims(const int64_t *sizes, uint32_t count, const struct nuc_meta *m, uint32_t *first)
{
    uint32_t d = 0;

    if (m->rank > NUC_MAX_TRANSPOSE_RANK)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        int64_t size = 1;
        first[i] = d;
        while (size < sizes[i] && d < m->rank)
            size *= m->sizes[d++];
        if (size != sizes[i])
            return false;
    }
    first[count] = m->rank;
    return true;
}

static bool permutation_of(const struct parts *p, struct nuc_permuted_parts *out)
{
    *out = (struct nuc_permuted_parts){.count = p->count};
    if (p->count > NUC_MAX_RANK)
        return false;
    for (uint32_t i = 0; i < p->count; i++) {
        for (uint32_t k = 0; k < p->count; k++)
            out->order[i] += p->at[k].stride > p->at[i].stride;
        out->to[i] = p->at[i].size;
        out->from[out->order[i]] = p->at[i].size;
    }
    return true;
}

/* Rows that stay rows keep their dimension, which norms and layers are told by. */
static void keep_rows(struct nuc_permuted_parts *p, const struct nuc_meta *in, const struct nuc_meta *out,
                      uint32_t most)
{
    int64_t row = in->rank > 0 && out->rank > 0 ? in->sizes[in->rank - 1] : 1;
    uint32_t last = p->count - 1;

    if (p->count < 2 || p->count >= most || p->order[last] != last || row <= 1 || out->sizes[out->rank - 1] != row ||
        p->from[last] == row || p->from[last] % row != 0)
        return;
    p->from[last] /= row;
    p->to[last] /= row;
    p->from[p->count] = p->to[p->count] = row;
    p->order[p->count] = p->count;
    p->count++;
}

/*
 * Dimensions of parts in the order `order`, of which part i holds those of m from first[i] on. Those of size 1 stay
 * where they are.
 */
static void order_dims(const struct nuc_meta *m, const uint32_t *first, const uint32_t *order, uint32_t count,
                       int64_t *dims)
{
    uint32_t next = 0;

    for (uint32_t d = 0; d < m->rank; d++)
        dims[d] = m->sizes[d] == 1 ? (int64_t)d : -1;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t d = first[order[i]]; d < first[order[i] + 1]; d++) {
            if (m->sizes[d] == 1)
                continue;
            while (dims[next] >= 0)
                next++;
            dims[next++] = d;
        }
    }
}

/* What the moves make of x. */
static struct nuc_node *moved(struct nuc_graph *g, struct nuc_node *last, struct nuc_node *x,
                              const struct nuc_permuted_parts *p)
{
    const struct nuc_meta out = last->vals[0];
    uint32_t first[NUC_MAX_RANK + 1], back[NUC_MAX_RANK];
    int64_t dims[NUC_MAX_RANK], there[NUC_MAX_RANK], sizes[NUC_MAX_RANK];

    if (p->count > 1 && are_dims(p->from, p->count, &x->vals[0], first)) {
        order_dims(&x->vals[0], first, p->order, p->count, dims);
        x = nuc_insert_permuted(g, last, x, dims);
    } else if (p->count > 1 && are_dims(p->to, p->count, &out, first)) {
        for (uint32_t i = 0; i < p->count; i++)
            back[p->order[i]] = i;
        order_dims(&out, first, back, p->count, there);
        for (uint32_t d = 0; d < out.rank; d++) {
            sizes[d] = out.sizes[there[d]];
            dims[there[d]] = d;
        }
        x = nuc_insert_permuted(g, last, nuc_insert_reshaped(g, last, x, sizes, out.rank), dims);
    } else if (p->count > 1) {
        for (uint32_t i = 0; i < p->count; i++)
            dims[i] = p->order[i];
        x = nuc_insert_permuted(g, last, nuc_insert_reshaped(g, last, x, p->from, p->count), dims);
    }
    return nuc_insert_reshaped(g, last, x, out.sizes, out.rank);
}

/* What that takes: operators, at most, and the dimensions that are permuted. */
static uint32_t n_operators(const struct nuc_meta *in, const struct nuc_meta *out, const struct nuc_permuted_parts *p,
                            uint32_t *rank)
{
    uint32_t first[NUC_MAX_RANK + 1];

    if (p->count <= 1)
        return nuc_same_sizes(in, out) ? 0 : 1;
    bool from = are_dims(p->from, p->count, in, first), to = are_dims(p->to, p->count, out, first);
    *rank = from ? in->rank : to ? out->rank : p->count;
    return from || to ? 2 : 3;
}

static bool is_move(const struct nuc_node *node)
{
    enum nuc_family family = nuc_op_family(node->op);

    return nuc_is_call(node) && node->n_vals == 1 && !node->in_place && nuc_arg_node(node, NUC_SELF) != NULL &&
           (family == NUC_FAMILY_VIEW || family == NUC_FAMILY_PERMUTE) && nuc_elements(&node->vals[0]) > 0 &&
           node->vals[0].dtype == nuc_input_meta(node, NUC_SELF)->dtype;
}

static bool is_copy(const struct nuc_node *node)
{
    return nuc_is_plain_copy(node) || (node->op == NUC_OP_TO_DIM_ORDER_COPY && nuc_arg_node(node, NUC_SELF) != NULL &&
                                       node->vals[0].dtype == nuc_input_meta(node, NUC_SELF)->dtype);
}

/* The operator in front that nothing else reads. */
static struct nuc_node *before(const struct nuc_node *node)
{
    struct nuc_node *x = nuc_arg_node(node, NUC_SELF);

    return x != NULL && x->n_users == 1 && nuc_is_call(x) && (is_move(x) || is_copy(x)) ? x : NULL;
}

uint32_t nuc_moves_before(struct nuc_node *last, struct nuc_node *moves[NUC_MOST_MOVES])
{
    uint32_t count = 0;

    for (struct nuc_node *n = is_move(last) ? last : NULL; n != NULL && count < NUC_MOST_MOVES; n = before(n))
        moves[count++] = n;
    return count;
}

static bool is_read_by_move(const struct nuc_node *node)
{
    const struct nuc_node *user = node->n_users == 1 ? node->users[0] : NULL;

    while (user != NULL && is_copy(user))
        user = user->n_users == 1 ? user->users[0] : NULL;
    return user != NULL && is_move(user);
}

/* What the moves do, of which the last one comes first, and the dimensions that they permute at most. */
static bool follow(struct parts *p, struct nuc_node *const *moves, uint32_t count, uint32_t *rank)
{
    bool fits = true;

    *rank = 0;
    start(p, nuc_input_meta(moves[count - 1], NUC_SELF));
    for (uint32_t i = count; fits && i-- > 0;) {
        bool permutes = nuc_op_family(moves[i]->op) == NUC_FAMILY_PERMUTE;
        if (nuc_op_family(moves[i]->op) == NUC_FAMILY_VIEW)
            fits = view(p, &moves[i]->vals[0]);
        else if (permutes)
            fits = permute(p, moves[i]);
        *rank = permutes && p->rank > *rank ? p->rank : *rank;
    }
    return fits;
}

bool nuc_join_moves(struct nuc_node *const *moves, uint32_t count, struct nuc_permuted_parts *parts)
{
    struct parts p;
    uint32_t rank;

    if (count == 0 || !follow(&p, moves, count, &rank))
        return false;
    merge(&p);
    return permutation_of(&p, parts);
}

static bool join(struct nuc_graph *g, struct nuc_node *last)
{
    struct nuc_node *moves[NUC_MOST_MOVES];
    struct nuc_permuted_parts order;
    struct parts p = {0};
    uint32_t count, most = 0, rank = 0;

    if (last->n_users == 0 || !is_move(last) || is_read_by_move(last))
        return false;
    count = nuc_moves_before(last, moves);
    while (count > 0 && (!is_move(moves[count - 1]) || !follow(&p, moves, count, &most)))
        count--;
    if (count == 0)
        return false;
    bool is_large = most > NUC_MAX_TRANSPOSE_RANK;
    struct nuc_node *x = nuc_operand(g, moves[count - 1], NUC_SELF);
    merge(&p);
    if ((count < 2 && !is_large) || !permutation_of(&p, &order))
        return false;
    keep_rows(&order, &x->vals[0], &last->vals[0], is_large ? NUC_MAX_TRANSPOSE_RANK : most);
    uint32_t takes = n_operators(&x->vals[0], &last->vals[0], &order, &rank);
    if ((is_large ? rank > NUC_MAX_TRANSPOSE_RANK : takes >= count || rank > most) ||
        (takes == 0 && nuc_feeds_output(last) && (x->n_users > 1 || !nuc_is_call(x))))
        return false; /* an output has a value of its own */
    uint32_t old_ids = g->next_id;
    nuc_take_place(g, last, old_ids, moved(g, last, x, &order));
    return true;
}

bool nuc_written_moves(struct nuc_graph *g)
{
    bool changed = false;

    for (struct nuc_node *n = g->last, *previous; n != NULL; n = previous) {
        previous = n->prev;
        changed = join(g, n) || changed;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
