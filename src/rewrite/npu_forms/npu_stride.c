/*
 * Slices with a step. Of an image they are a pooling whose window is one pixel; else the dimension is split into pieces
 * as long as the step, of which an element each is taken. All phases of a tensor behind each other (space to depth, the
 * first layer of a detector, the merging of patches) are one permutation.
 */
#include "rewrite/npu_forms/npu_forms.h"

/* What is left of `root` after slices one after the other: `count` elements from `start` on, each `step`-th. */
struct strided {
    struct nuc_node *root;
    uint32_t rank;
    int64_t start[NUC_MAX_RANK], step[NUC_MAX_RANK], count[NUC_MAX_RANK];
};

/* A slice that takes something of a dimension there is. */
static bool is_slice(const struct nuc_node *node)
{
    const struct nuc_meta *m = nuc_input_meta(node, NUC_SELF);

    if (node->op != NUC_OP_SLICE || nuc_elements(&node->vals[0]) == 0)
        return false;
    int64_t dim = nuc_dim(node, NUC_ARG(SLICE, dim), 0, m->rank);
    return dim >= 0 && dim < (int64_t)m->rank && nuc_integer(node, NUC_ARG(SLICE, step), 1) > 0;
}

static struct strided strided_of(const struct nuc_node *node)
{
    struct strided s = {.rank = node->vals[0].rank};

    for (uint32_t i = 0; i < s.rank; i++) {
        s.step[i] = 1;
        s.count[i] = node->vals[0].sizes[i];
    }
    for (; is_slice(node); node = s.root) {
        const struct nuc_meta *m = nuc_input_meta(node, NUC_SELF);
        int64_t dim = nuc_dim(node, NUC_ARG(SLICE, dim), 0, s.rank);
        int64_t step = nuc_integer(node, NUC_ARG(SLICE, step), 1);
        s.root = nuc_arg_node(node, NUC_SELF);
        s.start[dim] = nuc_slice_end(nuc_integer(node, NUC_ARG(SLICE, start), 0), m->sizes[dim]) + step * s.start[dim];
        s.step[dim] *= step;
    }
    return s;
}

static bool has_step(const struct strided *s)
{
    for (uint32_t i = 0; i < s->rank; i++) {
        if (s->step[i] > 1)
            return true;
    }
    return false;
}

/* One element stands next to none. */
static bool is_stepped(const struct strided *s, uint32_t dim)
{
    return s->step[dim] > 1 && s->count[dim] > 1;
}

/* ---- all phases ---- */

struct phases {
    struct nuc_node *root;
    uint32_t n_dims, dims[2]; /* that are stepped through; those of dims[0] are the slowest */
    int64_t step[2];
};

/* Operand `index` of a concatenation is the phase of that number. */
static bool is_phase(const struct phases *p, const struct strided *s, uint32_t index)
{
    const struct nuc_meta *m = &p->root->vals[0];
    int64_t number = 0;

    for (uint32_t d = 0; d < m->rank; d++) {
        uint32_t i = d == p->dims[0] ? 0 : p->n_dims > 1 && d == p->dims[1] ? 1 : 2;
        bool whole = s->start[d] == 0 && s->count[d] == m->sizes[d];
        if (i == 2 ? !whole : s->step[d] != p->step[i] || s->count[d] * s->step[d] != m->sizes[d])
            return false;
    }
    for (uint32_t i = 0; i < p->n_dims; i++)
        number = number * p->step[i] + s->start[p->dims[i]];
    return number == (int64_t)index;
}

static bool are_phases(const struct phases *p, const struct nuc_arg *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct strided s = strided_of(list->u.nodes[i]);
        if (s.root != p->root || !is_phase(p, &s, i))
            return false;
    }
    return true;
}

/* `n_dims` is 0 where the concatenation is another one. */
static struct phases phases_of(const struct nuc_node *cat)
{
    const struct nuc_arg *list = nuc_arg_at(cat, NUC_ARG(CAT, tensors));
    int64_t joined = nuc_dim(cat, NUC_ARG(CAT, dim), 0, cat->vals[0].rank), phases = 1;
    struct phases none = {.n_dims = 0}, p = none;

    if (list->kind != NUC_ARG_NODES || list->count < 2 || !is_slice(list->u.nodes[0]))
        return none;
    struct strided first = strided_of(list->u.nodes[0]);
    p.root = first.root;
    for (uint32_t d = 0; d < first.rank; d++) {
        if (first.step[d] == 1)
            continue;
        if (p.n_dims == 2 || d == joined)
            return none;
        p.dims[p.n_dims] = d;
        p.step[p.n_dims++] = first.step[d];
        phases *= first.step[d];
    }
    if (p.n_dims == 0 || phases != list->count || are_phases(&p, list))
        return p.n_dims == 0 || phases != list->count ? none : p;
    struct phases other = {p.root, p.n_dims, {p.dims[1], p.dims[0]}, {p.step[1], p.step[0]}};
    return p.n_dims == 2 && are_phases(&other, list) ? other : none;
}

/* False: it is another concatenation, or one that has no form. */
static bool read_phases(const struct nuc_support *s, const struct nuc_node *cat, struct phases *p)
{
    *p = phases_of(cat);
    return p->n_dims > 0 && cat->vals[0].dtype == NUC_F32 && nuc_can_view(s, cat->vals[0].rank + p->n_dims);
}

/* Which dimension of the phases that is, or -1. */
static int phase_dim(const struct phases *p, uint32_t dim)
{
    for (uint32_t i = 0; i < p->n_dims; i++) {
        if (p->dims[i] == dim)
            return (int)i;
    }
    return -1;
}

static struct nuc_node *form_permuted_phases(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_graph *g = s->g;
    struct phases p;

    if (!read_phases(s, node, &p))
        return NULL;
    const struct nuc_meta *m = &p.root->vals[0];
    int64_t joined = nuc_dim(node, NUC_ARG(CAT, dim), 0, m->rank), sizes[NUC_MAX_RANK], dims[NUC_MAX_RANK];
    uint32_t whole[NUC_MAX_RANK], piece[2] = {0, 0}, rank = 0, n = 0;
    for (uint32_t d = 0; d < m->rank; d++) {
        int i = phase_dim(&p, d);
        whole[d] = rank;
        sizes[rank++] = i < 0 ? m->sizes[d] : m->sizes[d] / p.step[i];
        if (i < 0)
            continue;
        piece[i] = rank;
        sizes[rank++] = p.step[i];
    }
    for (uint32_t d = 0; d < m->rank; d++) {
        for (uint32_t i = 0; d == joined && i < p.n_dims; i++)
            dims[n++] = piece[i];
        dims[n++] = whole[d];
    }
    struct nuc_node *value = nuc_insert_reshaped(g, node, p.root, sizes, rank);
    value = nuc_insert_permuted(g, node, value, dims);
    return nuc_insert_reshaped(g, node, value, node->vals[0].sizes, node->vals[0].rank);
}

/* ---- a slice ---- */

/* Whether what reads the node makes something of its step itself: another slice, or all phases together. */
static bool is_taken_up(const struct nuc_support *s, const struct nuc_node *node)
{
    struct phases p;

    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        if (!is_slice(user) && !(user->op == NUC_OP_CAT && read_phases(s, user, &p)))
            return false;
    }
    return node->n_users > 0;
}

/* The rules name both ends, and no step, even of 1. */
static bool is_open(const struct nuc_node *slice)
{
    return nuc_arg_at(slice, NUC_ARG(SLICE, start))->kind != NUC_ARG_INT ||
           nuc_arg_at(slice, NUC_ARG(SLICE, end))->kind != NUC_ARG_INT ||
           nuc_arg_at(slice, NUC_ARG(SLICE, step))->given;
}

/* Height and width of an image, or the length of a row, and nothing else is stepped through. */
static bool steps_through_pixels(const struct strided *s)
{
    bool any = false;

    for (uint32_t d = 0; d < s->rank; d++) {
        if (is_stepped(s, d) && d < 2)
            return false;
        any = any || is_stepped(s, d);
    }
    return any && (s->rank == 4 || s->rank == 3);
}

/* The window of one pixel stands where the slice takes one. */
static struct nuc_node *insert_pooled(const struct nuc_support *support, struct nuc_node *node, struct nuc_node *value,
                                      const struct strided *s)
{
    int64_t stride[2] = {1, 1};

    for (uint32_t d = 2; d < s->rank; d++)
        stride[s->rank == 3 ? 1 : d - 2] = is_stepped(s, d) ? s->step[d] : 1;
    return nuc_built(support, node, "pooled_pixels", NUC_ARGS(value, nuc_ints_arg(stride, 2)));
}

static struct nuc_node *form_plain_slices(const struct nuc_support *support, struct nuc_node *node)
{
    struct nuc_graph *g = support->g;

    if (!is_slice(node) || node->vals[0].dtype != NUC_F32)
        return NULL;
    const struct strided s = strided_of(node);
    if (has_step(&s) ? is_taken_up(support, node) || !nuc_can_view(support, s.rank + 1) : !is_open(node))
        return NULL;
    struct nuc_node *value = s.root;
    bool pooled = steps_through_pixels(&s);
    for (uint32_t d = 0; d < s.rank; d++) {
        int64_t last = s.start[d] + (s.count[d] - 1) * (is_stepped(&s, d) ? s.step[d] : 1);
        /*
         * A pooling begins with the first element, and takes what is left over at the end only where a window starts
         * there.
         */
        if (!is_stepped(&s, d) ||
            (pooled && (s.start[d] > 0 || (value->vals[0].sizes[d] - 1) / s.step[d] >= s.count[d])))
            value = nuc_insert_part(g, node, value, d, s.start[d], last + 1);
    }
    if (pooled)
        return insert_pooled(support, node, value, &s);
    for (uint32_t d = 0; d < s.rank; d++) {
        if (is_stepped(&s, d))
            value = nuc_built(support, node, "taken_of_pieces", NUC_ARGS(value, d, s.start[d], s.step[d], s.count[d]));
    }
    return value;
}

/* ---- the forms ---- */

const struct nuc_npu_form nuc_stride_forms[] = {
    /* A slice with a step, or one whose start or end is left open. */
    {NUC_OPS(NUC_OP_SLICE), form_plain_slices},
    /* A concatenation of all phases of a tensor: every n-th element along some dimensions, from each start. */
    {NUC_OPS(NUC_OP_CAT), form_permuted_phases},
    {.form = NULL},
};
