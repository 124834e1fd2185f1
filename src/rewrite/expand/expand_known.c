/* Expansions that depend on values known when the model is compiled, and choices that are counted through. */
#include <string.h>

#include "rewrite/expand/expand.h"
#include "rewrite/known.h"

/* view.dtype: the bytes of a constant can be read as those of another type; those of a computed value cannot. */
static struct nuc_node *expand_view_dtype(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    const struct nuc_meta *out = &node->vals[0];

    if (self->vals[0].dtype == out->dtype)
        return self;
    const void *bytes = nuc_known_value(g, self);
    if (bytes == NULL || nuc_bytes(&self->vals[0]) != nuc_bytes(out))
        nuc_expand_fail(g, node, "takes the bytes of %s for %s: use to() to convert values",
                        nuc_dtype_name(self->vals[0].dtype), nuc_dtype_name(out->dtype));
    struct nuc_meta meta = nuc_meta_make(out->dtype, out->sizes, out->rank);
    return nuc_add_constant(g, nuc_format(g->cx, "%s_constant", node->name), &meta, bytes);
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

/* As often as a constant says for each: its values decide the shape. */
static struct nuc_node *expand_repeat_interleave_tensor(struct nuc_graph *g, struct nuc_node *node)
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
static struct nuc_node *expand_combinations(struct nuc_graph *g, struct nuc_node *node)
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

const struct nuc_expansion nuc_known_expansions[] = {
    {.op = NUC_OP_VIEW_DTYPE, .expand = expand_view_dtype},
    {.op = NUC_OP_REPEAT_INTERLEAVE_TENSOR, .expand = expand_repeat_interleave_tensor},
    {.op = NUC_OP_COMBINATIONS, .expand = expand_combinations},
    {.expand = NULL},
};
