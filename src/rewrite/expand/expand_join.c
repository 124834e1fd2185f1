/* Expansions of repetitions, values put together, diagonals, casts. */
#include <string.h>

#include "rewrite/expand/expand_list.h"
#include "rewrite/known.h"

#define MAX_DIAGONAL 16384 /* elements of a diagonal: its matrix has the square of them */

/* ---- repetitions ---- */

/* expand_as, broadcast_to: to the sizes the archive states */
struct nuc_node *nuc_expand_broadcast(struct nuc_graph *g, struct nuc_node *node)
{
    return nuc_insert_expanded(g, node, nuc_operand(g, node, NUC_SELF), node->vals[0].sizes, node->vals[0].rank);
}

static const struct nuc_arg *tensors_of(struct nuc_graph *g, const struct nuc_node *node)
{
    const struct nuc_arg *list = nuc_arg_at(node, NUC_SELF);

    for (uint32_t i = 0; i < list->count; i++) {
        const struct nuc_node *item = list->u.nodes[i];
        if (item == NULL || item->is_tuple || item->n_vals != 1)
            nuc_expand_fail(g, node, "element %u of the list is not a single tensor", (unsigned)i);
    }
    if (list->count == 0)
        nuc_expand_fail(g, node, "the list of tensors is empty");
    return list;
}

static void check_count(struct nuc_graph *g, const struct nuc_node *node, uint32_t count)
{
    if (node->n_vals != count)
        nuc_expand_fail(g, node, "the archive states %u values, the operator makes %u", (unsigned)node->n_vals,
                        (unsigned)count);
}

/* broadcast_tensors, and atleast_1d to atleast_3d of several: each in the sizes that are stated. */
struct nuc_node *nuc_expand_broadcast_tensors(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *list = tensors_of(g, node);

    check_count(g, node, list->count);
    for (uint32_t i = 0; i < list->count; i++) {
        struct nuc_node *item = list->u.nodes[i];
        const struct nuc_meta *out = &node->vals[i];
        bool same = nuc_elements(&item->vals[0]) == nuc_elements(out);
        nuc_expand_item(g, node, i,
                        same ? nuc_insert_reshaped(g, node, item, out->sizes, out->rank)
                             : nuc_insert_expanded(g, node, item, out->sizes, out->rank));
    }
    return NULL;
}

/* repeat, tile: a number of repetitions for each dimension, counted from the last; new ones stand in front */
struct nuc_node *nuc_expand_repeat(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *value = nuc_operand(g, node, NUC_SELF);
    const struct nuc_arg *times = nuc_arg_at(node, NUC_ARG(REPEAT, repeats));
    struct nuc_meta m = value->vals[0];

    if (times->count > NUC_MAX_RANK || (node->op == NUC_OP_REPEAT && times->count < m.rank))
        nuc_expand_fail(g, node, "%u numbers of repetitions for %s", (unsigned)times->count, nuc_meta_text(g->cx, &m));
    uint32_t lead = times->count > m.rank ? times->count - m.rank : 0, skipped = m.rank + lead - times->count;
    memmove(&m.sizes[lead], m.sizes, m.rank * sizeof *m.sizes);
    for (uint32_t i = 0; i < lead; i++)
        m.sizes[i] = 1;
    value = nuc_insert_reshaped(g, node, value, m.sizes, m.rank + lead);
    for (uint32_t i = times->count; i > 0; i--) {
        if (times->u.ints[i - 1] < 0)
            nuc_expand_fail(g, node, "%lld repetitions are asked for", (long long)times->u.ints[i - 1]);
        value = nuc_insert_repeated(g, node, value, skipped + i - 1, times->u.ints[i - 1]);
    }
    return value;
}

/* The dimension of repeat_interleave, of the flattened value where none is named. */
static struct nuc_node *interleaved_operand(struct nuc_graph *g, struct nuc_node *node, uint32_t index, uint32_t *dim)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    const int64_t elements = nuc_elements(&self->vals[0]);
    bool flat = nuc_arg_at(node, index)->kind == NUC_ARG_NONE;

    if (flat || self->vals[0].rank == 0)
        self = nuc_insert_reshaped(g, node, self, &elements, 1);
    *dim = flat ? 0 : nuc_expand_dim(g, node, nuc_integer(node, index, 0), self->vals[0].rank);
    return self;
}

/* Each element `repeats` times. */
struct nuc_node *nuc_expand_repeat_interleave(struct nuc_graph *g, struct nuc_node *node)
{
    uint32_t dim;
    struct nuc_node *self = interleaved_operand(g, node, NUC_ARG(REPEAT_INTERLEAVE, dim), &dim);
    int64_t times = nuc_integer(node, NUC_ARG(REPEAT_INTERLEAVE, repeats), 1);

    if (times < 0 || self->vals[0].rank == NUC_MAX_RANK)
        nuc_expand_fail(g, node, "%lld repetitions are asked for", (long long)times);
    if (times == 1)
        return self;
    struct nuc_node *value = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, self, (int64_t)dim + 1);
    value = nuc_insert_repeated(g, node, value, dim + 1, times);
    return nuc_insert_reshaped(g, node, value, node->vals[0].sizes, node->vals[0].rank);
}

/* As often as a constant says for each: its values decide the shape. */
struct nuc_node *nuc_expand_repeat_interleave_tensor(struct nuc_graph *g, struct nuc_node *node)
{
    uint32_t dim;
    struct nuc_node *self = interleaved_operand(g, node, NUC_ARG(REPEAT_INTERLEAVE_TENSOR, dim), &dim);
    struct nuc_node *repeats = nuc_operand(g, node, NUC_ARG(REPEAT_INTERLEAVE_TENSOR, repeats));
    const int64_t *times = nuc_known_integers(g, repeats);
    int64_t size = self->vals[0].sizes[dim], given = nuc_elements(&repeats->vals[0]), count = 0;
    int64_t wanted = node->vals[0].rank > dim ? node->vals[0].sizes[dim] : 0;

    if (times == NULL)
        nuc_expand_fail(g, node, "the repetitions are computed: the shape of the result would depend on them");
    if (given != size && given != 1)
        nuc_expand_fail(g, node, "%lld numbers of repetitions for %lld elements", (long long)given, (long long)size);
    int64_t *indices = nuc_alloc_array(g->cx, (size_t)wanted + 1, sizeof *indices);
    for (int64_t i = 0; i < size; i++) {
        for (int64_t k = 0; k < times[given == 1 ? 0 : i]; k++, count++) {
            if (count < wanted)
                indices[count] = i;
        }
    }
    if (count != wanted)
        nuc_expand_fail(g, node, "the archive states %lld elements, the repetitions make %lld", (long long)wanted,
                        (long long)count);
    return nuc_insert_taken(g, node, self, dim, indices, count);
}

/* ---- grids of values ---- */

/* Value i repeated along all dimensions but `dim`. */
static struct nuc_node *along(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t dim,
                              const struct nuc_meta *grid)
{
    int64_t sizes[NUC_MAX_RANK];

    for (uint32_t i = 0; i < grid->rank; i++)
        sizes[i] = i == dim ? grid->sizes[i] : 1;
    return nuc_insert_expanded(g, node, nuc_insert_reshaped(g, node, input, sizes, grid->rank), grid->sizes,
                               grid->rank);
}

struct nuc_node *nuc_expand_meshgrid(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *list = tensors_of(g, node);
    bool swaps = node->op == NUC_OP_MESHGRID_INDEXING && list->count > 1 &&
                 strcmp(nuc_arg_at(node, NUC_ARG(MESHGRID_INDEXING, indexing))->u.string, "xy") == 0;

    check_count(g, node, list->count);
    for (uint32_t i = 0; i < list->count; i++) {
        if (node->vals[i].rank != list->count)
            nuc_expand_fail(g, node, "a value is not of rank %u", (unsigned)list->count);
        uint32_t dim = swaps && i < 2 ? 1 - i : i;
        nuc_expand_item(g, node, i, along(g, node, list->u.nodes[i], dim, &node->vals[i]));
    }
    return NULL;
}

/* Every combination of an element of each: [product of sizes, count]. */
struct nuc_node *nuc_expand_cartesian_prod(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *list = tensors_of(g, node);
    struct nuc_node *columns[NUC_MAX_RANK];
    struct nuc_meta grid = {.rank = (uint8_t)list->count};
    int64_t column[] = {1, 1};

    if (list->count == 1)
        return list->u.nodes[0];
    if (list->count > NUC_MAX_RANK)
        nuc_expand_fail(g, node, "%u tensors; %d is the limit", (unsigned)list->count, NUC_MAX_RANK);
    for (uint32_t i = 0; i < list->count; i++) {
        grid.sizes[i] = nuc_elements(&list->u.nodes[i]->vals[0]);
        column[0] *= grid.sizes[i];
    }
    for (uint32_t i = 0; i < list->count; i++)
        columns[i] = nuc_insert_reshaped(g, node, along(g, node, list->u.nodes[i], i, &grid), column, 2);
    return nuc_insert_cat(g, node, columns, list->count, 1);
}

/* Indices of the next choice of `r` out of `n`; false after the last one. */
static bool next_choice(int64_t *choice, int64_t r, int64_t n, bool repeats)
{
    for (int64_t i = r; i > 0; i--) {
        int64_t last = repeats ? n - 1 : n - 1 - (r - i);
        if (choice[i - 1] >= last)
            continue;
        choice[i - 1]++;
        for (int64_t k = i; k < r; k++)
            choice[k] = repeats ? choice[k - 1] : choice[k - 1] + 1;
        return true;
    }
    return false;
}

/* The choices of r elements of a vector, one in each row. */
struct nuc_node *nuc_expand_combinations(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    int64_t r = nuc_integer(node, NUC_ARG(COMBINATIONS, r), 2), n = nuc_elements(&self->vals[0]), count = 0;
    bool repeats = nuc_flag(node, NUC_ARG(COMBINATIONS, with_replacement)), more = r > 0 && (repeats ? n > 0 : n >= r);
    int64_t wanted = nuc_elements(&node->vals[0]);

    if (self->vals[0].rank != 1 || r < 1 || r > wanted + 1)
        nuc_expand_fail(g, node, "makes no choices of %lld elements", (long long)r);
    int64_t *choice = nuc_alloc_array(g->cx, (size_t)r, sizeof *choice);
    int64_t *indices = nuc_alloc_array(g->cx, (size_t)wanted + 1, sizeof *indices);
    for (int64_t i = 0; i < r && !repeats; i++)
        choice[i] = i;
    for (; more && count + r <= wanted; count += r) {
        memcpy(&indices[count], choice, (size_t)r * sizeof *indices);
        more = next_choice(choice, r, n, repeats);
    }
    if (count == 0)
        return nuc_insert_reshaped(g, node, nuc_insert_slice(g, node, self, 0, 0, 0), node->vals[0].sizes,
                                   node->vals[0].rank);
    return nuc_insert_reshaped(g, node, nuc_insert_taken(g, node, self, 0, indices, count), node->vals[0].sizes,
                               node->vals[0].rank);
}

/* ---- values put together ---- */

struct nuc_node *nuc_expand_stack(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *list = tensors_of(g, node);
    struct nuc_node **parts = nuc_alloc_array(g->cx, list->count, sizeof(struct nuc_node *));
    uint32_t dim =
        nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(STACK, dim), 0), list->u.nodes[0]->vals[0].rank + 1u);

    for (uint32_t i = 0; i < list->count; i++)
        parts[i] = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, list->u.nodes[i], dim);
    return nuc_insert_cat(g, node, parts, list->count, dim);
}

/* Whether tensors of several types are put together: in the type of the result. */
bool nuc_is_mixed_cat(const struct nuc_node *node)
{
    const struct nuc_arg *list = nuc_arg_at(node, NUC_ARG(CAT, tensors));

    for (uint32_t i = 0; i < list->count; i++) {
        if (list->u.nodes[i]->vals[0].dtype != node->vals[0].dtype)
            return true;
    }
    return false;
}

struct nuc_node *nuc_expand_mixed_cat(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *list = tensors_of(g, node);
    struct nuc_node **parts = nuc_alloc_array(g->cx, list->count, sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < list->count; i++)
        parts[i] = nuc_insert_cast(g, node, list->u.nodes[i], node->vals[0].dtype);
    return nuc_insert_cat(g, node, parts, list->count, nuc_integer(node, NUC_ARG(CAT, dim), 0));
}

/* Sizes with dimensions added so that there are at least `rank`: a vector is a row of a matrix, of one layer. */
static struct nuc_node *at_least(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, uint32_t rank)
{
    struct nuc_meta m = input->vals[0];

    if (m.rank == 0)
        m.sizes[m.rank++] = 1;
    if (m.rank == 1 && rank > 1) {
        m.sizes[m.rank++] = m.sizes[0];
        m.sizes[0] = 1;
    }
    if (m.rank == 2 && rank > 2)
        m.sizes[m.rank++] = 1;
    return nuc_insert_reshaped(g, node, input, m.sizes, m.rank);
}

struct nuc_node *nuc_expand_stack_dim(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *list = tensors_of(g, node);
    struct nuc_node **parts = nuc_alloc_array(g->cx, list->count, sizeof(struct nuc_node *));
    int64_t dim = node->op == NUC_OP_DSTACK ? 2 : node->op == NUC_OP_VSTACK ? 0 : 1;

    for (uint32_t i = 0; i < list->count; i++) {
        struct nuc_node *item = list->u.nodes[i];
        const int64_t column[] = {nuc_elements(&item->vals[0]), 1};
        if (node->op == NUC_OP_COLUMN_STACK && item->vals[0].rank < 2)
            parts[i] = nuc_insert_reshaped(g, node, item, column, 2);
        else
            parts[i] = at_least(g, node, item, node->op == NUC_OP_HSTACK ? 1 : dim == 2 ? 3 : 2);
    }
    if (node->op == NUC_OP_HSTACK && parts[0]->vals[0].rank == 1)
        dim = 0;
    return nuc_insert_cat(g, node, parts, list->count, dim);
}

struct nuc_node *nuc_insert_padded(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                   const int64_t *pads, uint32_t count)
{
    uint32_t i = 0;

    while (i < count && pads[i] == 0)
        i++;
    if (i == count)
        return input;
    struct nuc_node *pad = nuc_insert(g, node, NUC_OP_PAD, node);
    nuc_set_arg_node(pad, g, NUC_SELF, input);
    nuc_set_arg_ints(pad, g, NUC_ARG(PAD, pad), pads, count);
    nuc_set_arg_float(pad, NUC_ARG(PAD, value), 0.0);
    nuc_infer_shape(g, pad);
    return pad;
}

struct nuc_node *nuc_expand_block_diag(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_arg *list = tensors_of(g, node);
    struct nuc_node **rows = nuc_alloc_array(g->cx, list->count, sizeof(struct nuc_node *));
    int64_t before = 0, width = node->vals[0].rank == 2 ? node->vals[0].sizes[1] : 0;

    for (uint32_t i = 0; i < list->count; i++) {
        struct nuc_node *block = at_least(g, node, list->u.nodes[i], 2);
        int64_t own = block->vals[0].sizes[1];
        if (block->vals[0].rank != 2 || own > width - before)
            nuc_expand_fail(g, node, "the blocks do not fit into %s", nuc_meta_text(g->cx, &node->vals[0]));
        const int64_t pads[] = {before, width - before - own};
        rows[i] = nuc_insert_padded(g, node, block, pads, 2);
        before += own;
    }
    return nuc_insert_cat(g, node, rows, list->count, 0);
}

/* ---- diagonals ---- */

/*
 * [.., n] on a diagonal of [.., n, n]: each element is followed by n zeros, and the last of these go; then rows and
 * columns in front or behind for an offset.
 */
static struct nuc_node *on_diagonal(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, int64_t offset)
{
    struct nuc_meta m = input->vals[0];
    uint32_t last = m.rank - 1u;
    int64_t n = m.sizes[last];

    if (m.rank >= NUC_MAX_RANK || offset > MAX_DIAGONAL || offset < -MAX_DIAGONAL || n > MAX_DIAGONAL)
        nuc_expand_fail(g, node, "a matrix with the diagonal %lld of %s is too large", (long long)offset,
                        nuc_meta_text(g->cx, &m));
    struct nuc_node *value = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, input, m.rank);
    value = nuc_insert_padded(g, node, value, (const int64_t[]){0, n}, 2);
    m.sizes[last] = n * (n + 1);
    value = nuc_insert_reshaped(g, node, value, m.sizes, m.rank);
    value = nuc_insert_part(g, node, value, last, 0, n * n);
    m.sizes[last] = m.sizes[last + 1] = n;
    value = nuc_insert_reshaped(g, node, value, m.sizes, m.rank + 1u);
    int64_t above = offset > 0 ? offset : 0, below = offset < 0 ? -offset : 0;
    return nuc_insert_padded(g, node, value, (const int64_t[]){above, below, below, above}, 4);
}

struct nuc_node *nuc_expand_diag_embed(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    uint32_t rank = self->vals[0].rank;

    if (rank == 0 || rank >= NUC_MAX_RANK)
        nuc_expand_fail(g, node, "%s has no diagonal", nuc_meta_text(g->cx, &self->vals[0]));
    int64_t to[] = {nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(DIAG_EMBED, dim1), -2), rank + 1),
                    nuc_expand_dim(g, node, nuc_integer(node, NUC_ARG(DIAG_EMBED, dim2), -1), rank + 1)};
    int64_t offset = nuc_integer(node, NUC_ARG(DIAG_EMBED, offset), 0);
    struct nuc_node *value = on_diagonal(g, node, self, offset);
    const int64_t from[] = {rank - 1, rank};
    return nuc_insert_moved_dims(g, node, value, from, to, 2);
}

static struct nuc_node *diagonal_of(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, int64_t offset)
{
    return nuc_emit(g, node, NUC_OP_DIAGONAL, node, NUC_ARGS(nuc_node_arg(input), nuc_int_arg(offset)));
}

/* diag, diagflat: of a vector the matrix, of a matrix the vector, which diagflat makes of it in any case */
struct nuc_node *nuc_expand_diag(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    int64_t offset = nuc_integer(node, NUC_ARG(DIAG, diagonal), 0);
    const int64_t elements = nuc_elements(&self->vals[0]);

    if (node->op == NUC_OP_DIAGFLAT)
        self = nuc_insert_reshaped(g, node, self, &elements, 1);
    return self->vals[0].rank == 1 ? on_diagonal(g, node, self, offset) : diagonal_of(g, node, self, offset);
}

struct nuc_node *nuc_expand_trace(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *diagonal = diagonal_of(g, node, nuc_operand(g, node, NUC_SELF), 0);

    return nuc_emit(g, node, NUC_OP_SUM, node, NUC_ARGS(nuc_node_arg(diagonal)));
}

/* What is not kept is zero: chosen, not multiplied, since it may be infinite. */
struct nuc_node *nuc_expand_triangle(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    const struct nuc_meta *m = &self->vals[0];
    int64_t offset = nuc_integer(node, NUC_ARG(TRIL, diagonal), 0);

    if (m->rank < 2)
        nuc_expand_fail(g, node, "%s is not a matrix", nuc_meta_text(g->cx, m));
    int64_t h = m->sizes[m->rank - 2], w = m->sizes[m->rank - 1];
    struct nuc_meta mask = nuc_meta_make(NUC_BOOL, (const int64_t[]){h, w}, 2);
    bool *keep = nuc_alloc(g->cx, (size_t)(h * w) + 1);
    for (int64_t i = 0; i < h * w; i++)
        keep[i] = node->op == NUC_OP_TRIL ? i % w - i / w <= offset : i % w - i / w >= offset;
    struct nuc_node *condition = nuc_add_constant(g, nuc_format(g->cx, "%s_mask", node->name), &mask, keep);
    struct nuc_node *zero = nuc_insert_constant(g, node, m->dtype, 0);
    return nuc_emit(g, node, NUC_OP_WHERE, node,
                    NUC_ARGS(nuc_node_arg(condition), nuc_node_arg(self), nuc_node_arg(zero)));
}

/* ---- copies and casts ---- */

/* In the type that is stated, and in the dim order of a memory format where one is given. */
static struct nuc_node *converted(struct nuc_graph *g, struct nuc_node *node, const struct nuc_arg *format)
{
    struct nuc_node *value = nuc_insert_cast(g, node, nuc_operand(g, node, NUC_SELF), node->vals[0].dtype);

    if (format == NULL || format->kind != NUC_ARG_MEMORY_FORMAT || format->u.memory_format == NUC_PRESERVE_FORMAT)
        return value;
    struct nuc_node *copy = nuc_insert(g, node, NUC_OP_CONTIGUOUS, node);
    nuc_set_arg_node(copy, g, NUC_SELF, value);
    copy->args[NUC_ARG(CONTIGUOUS, memory_format)] = *format;
    nuc_infer_shape(g, copy);
    return copy;
}

/* What copies, and where its memory format stands; type_as has none. */
struct nuc_node *nuc_expand_cast(struct nuc_graph *g, struct nuc_node *node)
{
    static const struct {
        enum nuc_op op;
        uint32_t argument;
    } formats[] = {
        {NUC_OP_TO_COPY, NUC_ARG(TO_COPY, memory_format)},
        {NUC_OP_TO_OTHER, NUC_ARG(TO_OTHER, memory_format)},
        {NUC_OP_TO_DEVICE, NUC_ARG(TO_DEVICE, memory_format)},
    };

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (formats[i].op == node->op)
            return converted(g, node, nuc_arg_at(node, formats[i].argument));
    }
    return converted(g, node, NULL);
}

/* Dropout of any kind passes its input on: an archive in training mode is refused at import. */
struct nuc_node *nuc_expand_no_dropout(struct nuc_graph *g, struct nuc_node *node)
{
    return nuc_operand(g, node, NUC_SELF);
}

/* The mask of what is kept says that everything is. */
struct nuc_node *nuc_expand_native_dropout(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);

    nuc_expand_item(g, node, 0, self);
    if (nuc_is_item_read(node, 1))
        nuc_expand_item(g, node, 1, nuc_insert_filled(g, node, &node->vals[1], 1.0));
    return NULL;
}

/* The slope of negative values, which training draws, is the mean of its bounds. */
struct nuc_node *nuc_expand_rrelu(struct nuc_graph *g, struct nuc_node *node)
{
    double slope = (nuc_scalar(node, NUC_ARG(RRELU, lower), 0) + nuc_scalar(node, NUC_ARG(RRELU, upper), 0)) / 2;
    struct nuc_node *value = nuc_insert(g, node, NUC_OP_LEAKY_RELU, node);

    nuc_set_arg_node(value, g, NUC_SELF, nuc_operand(g, node, NUC_SELF));
    nuc_set_arg_float(value, NUC_ARG(LEAKY_RELU, negative_slope), slope);
    nuc_infer_shape(g, value);
    return value;
}
