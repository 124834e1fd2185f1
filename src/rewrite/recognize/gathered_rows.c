/*
 * gather() by indices that are the same along the last dimensions, as points, tokens or the last step of a sequence are
 * chosen, takes whole rows; by constant ones it takes rows of what is the same in front of it, too. Then there is one
 * index for a row, where gather() has one for each element.
 */
#include "ir/args.h"
#include "rewrite/insert.h"
#include "rewrite/known.h"
#include "rewrite/pass_list.h"

/* Elements of a row from which on an addition to its index is worth it. */
#define LEAST_OF_ROW 4

/* Dimensions [first, last) are indexed together: in front of them the indices are the same, a row is behind them. */
struct rows {
    struct nuc_node *x, *index;
    const struct nuc_meta *from, *out;
    uint32_t dim, first, last;
};

/* What was repeated along the dimensions of the mask, and of size 1 there; the node itself where it is not expanded. */
static struct nuc_node *before_repeats(struct nuc_node *node, uint32_t *repeated)
{
    struct nuc_node *from = node->op == NUC_OP_EXPAND ? nuc_arg_node(node, NUC_SELF) : NULL;
    struct nuc_node *base = from != NULL ? from : node;
    uint32_t more = node->vals[0].rank - base->vals[0].rank;

    *repeated = 0;
    for (uint32_t d = 0; d < node->vals[0].rank; d++) {
        if (d < more || base->vals[0].sizes[d - more] == 1)
            *repeated |= 1u << d;
    }
    return base;
}

/* Rows as the mask of the dimensions along which the indices are the same has them. */
static void find_rows(struct rows *r, uint32_t same)
{
    r->first = 0;
    r->last = r->out->rank;
    while (r->first < r->dim && (same >> r->first & 1) != 0 && r->from->sizes[r->first] == r->out->sizes[r->first])
        r->first++;
    while (r->last > r->dim + 1 && (same >> (r->last - 1) & 1) != 0 &&
           r->from->sizes[r->last - 1] == r->out->sizes[r->last - 1])
        r->last--;
}

/* The dimensions along which constant indices are the same. */
static uint32_t same_dims(const struct nuc_meta *m, const int64_t *index)
{
    uint32_t same = 0;

    for (uint32_t d = 0; d < m->rank; d++) {
        int64_t inner = nuc_elements_between(m, d + 1, m->rank), size = m->sizes[d], count = nuc_elements(m), i = 0;
        while (i < count && index[i] == index[i - i / inner % size * inner])
            i++;
        same |= (uint32_t)(i == count) << d;
    }
    return same;
}

/* x as [in front, places, row], of which those at the indices are taken. */
static struct nuc_node *as_places(struct nuc_graph *g, struct nuc_node *node, const struct rows *r, struct nuc_node *x,
                                  int64_t places)
{
    const int64_t sizes[3] = {nuc_elements_between(r->out, 0, r->first), places,
                              nuc_elements_between(r->out, r->last, r->out->rank)};

    return nuc_insert_reshaped(g, node, x, sizes, sizes[2] > 1 ? 3 : 2);
}

/* The indices into places that several dimensions make. NULL: one is outside of its dimension. */
static int64_t *constant_places(struct nuc_graph *g, const struct rows *r, const int64_t *index)
{
    int64_t count = nuc_elements_between(r->out, r->first, r->last),
            row = nuc_elements_between(r->out, r->last, r->out->rank);
    int64_t *places = nuc_alloc_array(g->cx, (size_t)count, sizeof *places);

    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, stride = 1;
        for (uint32_t d = r->last; d-- > r->first;) {
            int64_t at = d == r->dim ? index[i * row] : rest % r->out->sizes[d];
            if (at < 0 || at >= r->from->sizes[d])
                return NULL;
            places[i] += at * stride;
            stride *= r->from->sizes[d];
            rest /= r->out->sizes[d];
        }
    }
    return places;
}

static struct nuc_node *take_constant(struct nuc_graph *g, struct nuc_node *node, struct rows *r, const int64_t *index)
{
    find_rows(r, same_dims(r->out, index));
    int64_t *places = constant_places(g, r, index);

    if (places == NULL)
        return NULL;
    struct nuc_node *x = as_places(g, node, r, r->x, nuc_elements_between(r->from, r->first, r->last));
    return nuc_insert_places(g, node, x, 1, places, nuc_elements_between(r->out, r->first, r->last));
}

/* Of each place in dimensions in front of the one that is gathered, as a constant. */
static struct nuc_node *insert_offsets(struct nuc_graph *g, struct nuc_node *node, const struct rows *r,
                                       enum nuc_dtype dtype)
{
    const int64_t sizes[2] = {nuc_elements_between(r->out, r->first, r->dim), 1};
    const struct nuc_meta m = nuc_meta_make(dtype, sizes, 2);
    double *offsets = nuc_alloc_array(g->cx, (size_t)sizes[0], sizeof *offsets);

    for (int64_t i = 0; i < sizes[0]; i++)
        offsets[i] = (double)(i * r->from->sizes[r->dim]);
    return nuc_insert_values(g, node, &m, offsets);
}

/* What x was before it was repeated in front of the dimension that is gathered; NULL: it is something else. */
static struct nuc_node *single_line(const struct rows *r)
{
    uint32_t repeated;
    struct nuc_node *x = before_repeats(r->x, &repeated);

    for (uint32_t d = 0; d < r->from->rank; d++) {
        if (r->from->sizes[d] != 1 && (repeated >> d & 1) != (d >= r->first && d < r->dim))
            return NULL;
    }
    return x;
}

static struct nuc_node *take_computed(struct nuc_graph *g, struct nuc_node *node, struct rows *r)
{
    uint32_t same;
    struct nuc_node *base = before_repeats(r->index, &same);

    find_rows(r, same);
    int64_t lines = nuc_elements_between(r->out, r->first, r->dim), count = lines * r->out->sizes[r->dim];
    int64_t places = r->from->sizes[r->dim];
    if (r->last != r->dim + 1 || nuc_elements(&base->vals[0]) != count)
        return NULL;
    struct nuc_node *x = single_line(r);
    if (x == NULL) {
        if (nuc_elements_between(r->out, r->last, r->out->rank) < LEAST_OF_ROW ||
            nuc_elements_between(r->from, r->first, r->dim) != lines)
            return NULL;
        base = nuc_insert_reshaped(g, node, base, (const int64_t[]){lines, r->out->sizes[r->dim]}, 2);
        base = nuc_insert_binary(g, node, NUC_OP_ADD, base, insert_offsets(g, node, r, base->vals[0].dtype));
        places *= lines;
        x = r->x;
    }
    base = nuc_insert_reshaped(g, node, base, &count, 1);
    x = as_places(g, node, r, x, places);
    return nuc_emit(g, node, NUC_OP_INDEX_SELECT, node, NUC_ARGS(x, (int64_t)1, base));
}

static bool take_rows(struct nuc_graph *g, struct nuc_node *node)
{
    struct rows r = {.x = nuc_operand(g, node, NUC_SELF), .index = nuc_operand(g, node, NUC_ARG(GATHER, index))};
    uint32_t ids = g->next_id;

    r.from = &r.x->vals[0];
    r.out = &r.index->vals[0];
    if (r.out->rank == 0 || r.from->rank != r.out->rank || nuc_elements(r.out) == 0)
        return false;
    r.dim = (uint32_t)nuc_dim(node, NUC_ARG(GATHER, dim), 0, r.out->rank);
    const int64_t *index = nuc_known_integers(g, r.index);
    struct nuc_node *taken = index != NULL ? take_constant(g, node, &r, index) : take_computed(g, node, &r);
    if (taken == NULL)
        return false;
    nuc_take_place(g, node, ids, nuc_insert_reshaped(g, node, taken, r.out->sizes, r.out->rank));
    return true;
}

bool nuc_gathered_rows(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_GATHER), take_rows);
}
