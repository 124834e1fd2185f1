/* Operators that move values: views, permutations, parts, concatenations, pads, copies in another order. */
#include "random_build.h"

/* ---- views ---- */

/* Sizes of the same number of elements: neighbours joined, or one dimension split in two. */
static uint32_t other_sizes(struct rb *b, const struct nuc_meta *m, int64_t *sizes)
{
    uint32_t at = (uint32_t)rb_in(b, 0, m->rank - 1), n = 0;
    bool split = m->rank < 5 && random_one_of(&b->r, 2);

    for (uint32_t i = 0; i < m->rank; i++) {
        int64_t size = m->sizes[i];
        int64_t factor = size % 2 == 0 && random_one_of(&b->r, 2) ? 2 : 1;
        if (split && i == at) {
            sizes[n++] = factor;
            sizes[n++] = size / factor;
        } else if (!split && i == at && i + 1 < m->rank) {
            sizes[n++] = size * m->sizes[++i];
        } else {
            sizes[n++] = size;
        }
    }
    return n;
}

static bool view(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    const struct nuc_meta *m = rb_meta(x);
    int64_t sizes[6];
    uint32_t n;

    if (m->rank == 0 || (op == NUC_OP_VIEW && !nuc_is_contiguous(m)))
        return false;
    if (m->rank > 2 && random_one_of(&b->r, 2)) {
        sizes[0] = m->sizes[0];
        sizes[1] = nuc_elements(m) / m->sizes[0];
        n = 2;
    } else {
        n = other_sizes(b, m, sizes);
    }
    if (random_one_of(&b->r, 3))
        sizes[rb_in(b, 0, n - 1)] = -1;
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_ints(node, b->g, 1, sizes, n);
    return rb_finish(b, node, x->bound);
}

static bool flatten(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    int64_t rank = rb_meta(x)->rank;
    struct nuc_node *node = rb_call(b, op, x);

    if (rank > 1)
        nuc_set_arg_int(node, 1, rb_in(b, 0, rank - 1));
    if (rank > 2 && random_one_of(&b->r, 3))
        nuc_set_arg_int(node, 2, rank - 2);
    return rb_finish(b, node, x->bound);
}

static bool permute(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    static const int64_t common[][4] = {{0, 2, 3, 1}, {0, 3, 1, 2}, {0, 1, 3, 2}};
    uint32_t rank = rb_meta(x)->rank;
    int64_t order[5] = {0, 1, 2, 3, 4};

    for (uint32_t i = rank; i-- > 1;) {
        int64_t k = rb_in(b, 0, i), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
    bool usual = rank == 4 && random_one_of(&b->r, 2);
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_ints(node, b->g, 1, usual ? common[rb_in(b, 0, 2)] : order, rank);
    return rb_finish(b, node, x->bound);
}

static bool transpose(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    int64_t rank = rb_meta(x)->rank;

    if (rank < 2)
        return false;
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_int(node, 1, rb_in(b, -rank, rank - 1));
    nuc_set_arg_int(node, 2, rb_in(b, 0, rank - 1));
    return rb_finish(b, node, x->bound);
}

static bool plain(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    if (rb_meta(x)->rank == 0 || (op == NUC_OP_T && rb_meta(x)->rank > 2))
        return false;
    return rb_finish(b, rb_call(b, op, x), x->bound);
}

/* squeeze and unsqueeze, with a dimension or a list of one. */
static bool with_dim(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    int64_t rank = rb_meta(x)->rank + (op == NUC_OP_UNSQUEEZE ? 1 : 0);

    if (rank == 0)
        return false;
    int64_t dim = rb_in(b, -rank, rank - 1);
    struct nuc_node *node = rb_call(b, op, x);
    if (op == NUC_OP_SQUEEZE_DIMS)
        nuc_set_arg_ints(node, b->g, 1, &dim, 1);
    else
        nuc_set_arg_int(node, 1, dim);
    return rb_finish(b, node, x->bound);
}

/* ---- copies ---- */

static void set_format(struct nuc_node *node, uint32_t index, enum nuc_memory_format format)
{
    node->args[index] = (struct nuc_arg){.kind = NUC_ARG_MEMORY_FORMAT, .given = true, .u = {.memory_format = format}};
}

static bool copy(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    struct nuc_node *node = rb_call(b, op, x);
    if (op == NUC_OP_DROPOUT) {
        nuc_set_arg_float(node, 1, 0.5);
        nuc_set_arg_bool(node, 2, false);
    } else if (random_one_of(&b->r, 2)) {
        set_format(node, 1,
                   rb_meta(x)->rank == 4 && random_one_of(&b->r, 2) ? NUC_CHANNELS_LAST : NUC_CONTIGUOUS_FORMAT);
    }
    return rb_finish(b, node, x->bound);
}

/* x.to(memory_format=torch.channels_last) and back. */
static bool to_format(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    if (rb_meta(x)->rank != 4)
        return false;
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_dtype(node, 1, NUC_F32);
    set_format(node, op == NUC_OP_TO_DTYPE_LAYOUT ? 7 : 4,
               random_one_of(&b->r, 3) ? NUC_CONTIGUOUS_FORMAT : NUC_CHANNELS_LAST);
    return rb_finish(b, node, x->bound);
}

/* ---- parts ---- */

static bool slice(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    const struct nuc_meta *m = rb_meta(x);

    if (m->rank == 0)
        return false;
    int64_t dim = rb_in(b, 0, m->rank - 1), size = m->sizes[dim], start = rb_in(b, 0, size - 1);
    int64_t end = random_one_of(&b->r, 3) ? INT64_MAX : rb_in(b, start + 1, size);
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_int(node, 1, random_one_of(&b->r, 3) ? dim - m->rank : dim);
    nuc_set_arg_int(node, 2, random_one_of(&b->r, 3) ? start - size : start);
    nuc_set_arg_int(node, 3, end);
    if (random_one_of(&b->r, 4))
        nuc_set_arg_int(node, 4, rb_in(b, 2, 3));
    return rb_finish(b, node, x->bound);
}

static bool split(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    const struct nuc_meta *m = rb_meta(x);

    if (m->rank == 0)
        return false;
    int64_t dim = rb_in(b, 0, m->rank - 1), size = m->sizes[dim];
    if (size < 2)
        return false;
    int64_t first = rb_in(b, 1, size - 1), sizes[] = {first, size - first};
    struct nuc_node *node = rb_call(b, op, x);
    if (op == NUC_OP_CHUNK)
        nuc_set_arg_int(node, 1, rb_in(b, 1, 3));
    else if (op == NUC_OP_SPLIT)
        nuc_set_arg_int(node, 1, (size + 1) / rb_in(b, 2, 3));
    else
        nuc_set_arg_ints(node, b->g, 1, sizes, 2);
    nuc_set_arg_int(node, 2, dim);
    return rb_finish_parts(b, node, x->bound);
}

/* Whether the values can be joined along `dim`. */
static bool joins(const struct nuc_meta *a, const struct nuc_meta *m, int64_t dim)
{
    bool same = a->rank == m->rank;

    for (uint32_t i = 0; same && i < m->rank; i++)
        same = i == dim || a->sizes[i] == m->sizes[i];
    return same;
}

static bool cat(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    const struct nuc_meta *m = rb_meta(x);
    struct nuc_node *parts[6] = {x->node};
    uint32_t count = 1, most = (uint32_t)rb_in(b, 1, 6);
    float bound = x->bound;

    if (m->rank == 0)
        return false;
    int64_t dim = rb_in(b, 0, m->rank - 1);
    for (unsigned i = 0; i < b->n_values && count < most; i++) {
        const struct rb_value *v = &b->values[b->n_values - 1 - i];
        if (!joins(rb_meta(v), m, dim) || random_one_of(&b->r, 3))
            continue;
        bound = v->bound > bound ? v->bound : bound;
        parts[count++] = v->node;
    }
    if (count == 1 && !random_one_of(&b->r, 6))
        return false;
    struct nuc_node *node = nuc_add_node(b->g, NULL, op, NULL);
    nuc_set_arg_nodes(node, b->g, 0, parts, count);
    nuc_set_arg_int(node, 1, random_one_of(&b->r, 3) ? dim - m->rank : dim);
    return rb_finish(b, node, bound);
}

/* Dimensions of size 1 repeated, and a new one in front. */
static bool expand(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    const struct nuc_meta *m = rb_meta(x);
    bool front = m->rank < 5 && random_one_of(&b->r, 2);
    int64_t sizes[6] = {rb_in(b, 1, 3)};

    for (uint32_t i = 0; i < m->rank; i++)
        sizes[i + front] = m->sizes[i] == 1 ? rb_in(b, 1, 4) : random_one_of(&b->r, 2) ? -1 : m->sizes[i];
    if (m->rank == 0)
        return false;
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_ints(node, b->g, NUC_ARG(EXPAND, size), sizes, m->rank + front);
    return rb_finish(b, node, x->bound);
}

static bool flip(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    int64_t rank = rb_meta(x)->rank, dims[2] = {0, rank - 1};

    if (rank == 0)
        return false;
    dims[0] = rb_in(b, 0, rank - 1);
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_ints(node, b->g, NUC_ARG(FLIP, dims), dims, dims[0] != dims[1] && random_one_of(&b->r, 2) ? 2 : 1);
    return rb_finish(b, node, x->bound);
}

/* ---- pads ---- */

static bool pad(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    static const char *const modes[] = {"constant", "constant", "constant", "reflect", "replicate"};
    const struct nuc_meta *m = rb_meta(x);
    const char *mode = modes[rb_in(b, 0, 4)];
    bool constant = mode == modes[0];
    int64_t pads[10], n = constant ? rb_in(b, 0, m->rank) : m->rank - (m->rank > 3 ? 2 : 1);

    if (n < 1 || n > (constant ? 5 : 2))
        return false;
    for (int64_t i = 0; i < 2 * n; i++) {
        int64_t size = m->sizes[m->rank - 1 - i / 2], most = mode == modes[3] && size < 3 ? size - 1 : 2;
        pads[i] = random_one_of(&b->r, 3) ? 0 : rb_in(b, 0, most);
    }
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_ints(node, b->g, 1, pads, (uint32_t)(2 * n));
    nuc_set_arg_string(node, 2, mode);
    if (constant && random_one_of(&b->r, 2))
        nuc_set_arg_float(node, 3, (double)random_float(&b->r, -1, 2));
    return rb_finish(b, node, x->bound);
}

const struct rb_row rb_move_rows[] = {
    {NUC_OP_VIEW, view},
    {NUC_OP_VIEW, view},
    {NUC_OP_RESHAPE, view},
    {NUC_OP_FLATTEN, flatten},
    {NUC_OP_PERMUTE, permute},
    {NUC_OP_PERMUTE, permute},
    {NUC_OP_TRANSPOSE, transpose},
    {NUC_OP_T, plain},
    {NUC_OP_SQUEEZE, plain},
    {NUC_OP_SQUEEZE_DIM, with_dim},
    {NUC_OP_SQUEEZE_DIMS, with_dim},
    {NUC_OP_UNSQUEEZE, with_dim},
    {NUC_OP_CLONE, copy},
    {NUC_OP_CONTIGUOUS, copy},
    {NUC_OP_DROPOUT, copy},
    {NUC_OP_TO_DTYPE_LAYOUT, to_format},
    {NUC_OP_TO_DTYPE, to_format},
    {NUC_OP_ALIAS, plain},
    {NUC_OP_SLICE, slice},
    {NUC_OP_SLICE, slice},
    {NUC_OP_SPLIT, split},
    {NUC_OP_SPLIT_SIZES, split},
    {NUC_OP_SPLIT_WITH_SIZES, split},
    {NUC_OP_CHUNK, split},
    {NUC_OP_CAT, cat},
    {NUC_OP_CAT, cat},
    {NUC_OP_CAT, cat},
    {NUC_OP_EXPAND, expand},
    {NUC_OP_FLIP, flip},
    {NUC_OP_PAD, pad},
    {NUC_OP_PAD, pad},
    {NUC_OP_PAD, pad},
    {.make = NULL},
};
