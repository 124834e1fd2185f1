#include <string.h>

#include "eval/eval.h"
#include "ir/args.h"
#include "ir/quant.h"
#include "rewrite/formula/formula.h"
#include "rewrite/insert.h"
#include "rewrite/known.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

/* Values of a node with a tuple replace its getitem nodes; anything else that reads it keeps it alive. */
static void replace_items(struct nuc_graph *g, struct nuc_node *node, void *const *values)
{
    for (uint32_t i = node->n_users; i > 0; i--) {
        struct nuc_node *item = node->users[i - 1];
        int64_t index = item->op == NUC_OP_GETITEM ? nuc_integer(item, NUC_ARG(GETITEM, index), -1) : -1;
        if (index < 0)
            continue;
        nuc_replace_uses(g, item, nuc_add_parameter(g, item, "", &item->vals[0], values[index]), NULL);
    }
}

/* Positions, which masks and tables of indices are computed from, and zeros of which parts are read: those that a model
 * writes the others of. */
static bool is_filled(const struct nuc_node *n)
{
    for (uint32_t i = 0; n->op == NUC_OP_ZEROS && i < n->n_users; i++) {
        if (nuc_op_family(n->users[i]->op) == NUC_FAMILY_SLICE)
            return true;
    }
    return n->op == NUC_OP_ARANGE;
}

/* Quantize and dequantize nodes of parameters stay: they say how the parameter is stored. */
static bool is_foldable(const struct nuc_node *n)
{
    struct nuc_cursor at = {0, 0};

    return nuc_is_call(n) && n->n_users > 0 && n->op != NUC_OP_GETITEM && n->op != NUC_OP_CALL_DELEGATE &&
           !nuc_is_quantization(n) && n->n_vals > 0 && (is_filled(n) || nuc_next_input(n, &at) != NULL);
}

static bool fold(struct nuc_graph *g, struct nuc_node *n)
{
    void **values = is_foldable(n) ? nuc_alloc_array(g->cx, n->n_vals, sizeof(void *)) : NULL;

    if (values == NULL || !nuc_eval_constant(g, n, values))
        return false;
    if (n->is_tuple)
        replace_items(g, n, values);
    else
        nuc_replace_uses(g, n, nuc_add_parameter(g, n, "", &n->vals[0], values[0]), NULL);
    return true;
}

bool nuc_fold_constants(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NULL, fold);
}

/* Parameters that an archive quantizes when it runs, as convert_pt2e() leaves them with fold_quantize=False. */
static bool fold_quantized(struct nuc_graph *g, struct nuc_node *quantize)
{
    void *value;

    if (!nuc_is_static(nuc_operand(g, quantize, NUC_SELF)) || quantize->n_users == 0 ||
        !nuc_eval_constant(g, quantize, &value))
        return false;
    nuc_replace_uses(g, quantize, nuc_add_parameter(g, quantize, "", &quantize->vals[0], value), NULL);
    return true;
}

bool nuc_fold_quantized(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_QUANTIZE_PER_TENSOR, NUC_OP_QUANTIZE_PER_CHANNEL), fold_quantized);
}

/* A parameter that all move alike who read it: what it becomes is no larger. */
static bool is_moved_parameter(const struct nuc_node *n)
{
    const struct nuc_node *input = nuc_arg_node(n, NUC_SELF);

    if (n->n_users == 0 || input == NULL || !nuc_is_static(input) || input->vals[0].dtype != n->vals[0].dtype)
        return false;
    for (uint32_t i = 0; i < input->n_users; i++) {
        const struct nuc_node *user = input->users[i];
        bool same = user->op == n->op && nuc_meta_equal(&user->vals[0], &n->vals[0]);
        for (uint32_t k = NUC_SELF + 1; same && k < n->n_args; k++)
            same = nuc_same_value(&user->args[k], &n->args[k]);
        if (!same)
            return false;
    }
    return true;
}

/* NULL: it cannot be computed. */
static struct nuc_node *moved_parameter(struct nuc_graph *g, const struct nuc_node *n)
{
    void *value;

    return nuc_eval_constant(g, n, &value)
               ? nuc_take_parameter(g, nuc_operand(g, n, NUC_SELF), "_moved", &n->vals[0], value)
               : NULL;
}

static bool fold_move(struct nuc_graph *g, struct nuc_node *n)
{
    struct nuc_node *moved = is_moved_parameter(n) ? moved_parameter(g, n) : NULL;
    const struct nuc_node *input = nuc_arg_node(n, NUC_SELF);

    for (uint32_t i = 0; moved != NULL && i < input->n_users; i++)
        nuc_replace_uses(g, input->users[i], moved, NULL);
    return moved != NULL;
}

/* The parameter permuted as `permute` does it, once for all that read it so. */
static struct nuc_node *permuted_parameter(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *parameter,
                                           const struct nuc_node *permute)
{
    const struct nuc_arg *dims = &permute->args[NUC_ARG(PERMUTE, dims)];

    for (uint32_t i = 0; i < parameter->n_users; i++) {
        struct nuc_node *user = parameter->users[i];
        if (user->op == NUC_OP_PERMUTE &&
            memcmp(user->args[NUC_ARG(PERMUTE, dims)].u.ints, dims->u.ints, dims->count * sizeof *dims->u.ints) == 0)
            return user;
    }
    return nuc_emit(g, before, NUC_OP_PERMUTE, permute, NUC_ARGS(parameter, nuc_ints_arg(dims->u.ints, dims->count)));
}

/*
 * Weights with a scale for each channel, permuted as those of a linear layer are: the permutation comes first. Behind
 * it they could not be quantized again, as they are per tensor to make a cluster of it.
 */
static bool permute_channels_first(struct nuc_graph *g, struct nuc_node *permute)
{
    struct nuc_node *dequantize = nuc_arg_node(permute, NUC_SELF);
    uint32_t rank = permute->vals[0].rank, axis = 0;
    struct nuc_quant q;

    if (!nuc_dequantize_quant(dequantize, &q) || !q.per_channel || dequantize->n_users != 1 ||
        !nuc_is_static(nuc_operand(g, dequantize, NUC_SELF)))
        return false;
    const int64_t *dims = permute->args[NUC_ARG(PERMUTE, dims)].u.ints;
    while (nuc_positive_dim(dims[axis], rank) != nuc_positive_dim(q.axis, rank))
        axis++;
    struct nuc_node *moved = permuted_parameter(g, dequantize, nuc_operand(g, dequantize, NUC_SELF), permute);
    nuc_set_arg_node(dequantize, g, NUC_SELF, moved);
    nuc_set_arg_int(dequantize, NUC_ARG(DEQUANTIZE_PER_CHANNEL, axis), axis);
    nuc_infer_shape(g, dequantize);
    nuc_replace_uses(g, permute, dequantize, NULL);
    return true;
}

static bool fold_quantized_permute(struct nuc_graph *g, struct nuc_node *permute)
{
    if (!nuc_is_static(nuc_operand(g, permute, NUC_SELF)) || permute->vals[0].dtype != NUC_I8)
        return false;
    struct nuc_node *moved = moved_parameter(g, permute);
    if (moved != NULL)
        nuc_replace_uses(g, permute, moved, NULL);
    return moved != NULL;
}

bool nuc_fold_moves(struct nuc_graph *g)
{
    bool changed = nuc_rewrite_each(
        g, NUC_OPS(NUC_OP_PERMUTE, NUC_OP_VIEW, NUC_OP_CLONE, NUC_OP_CLONE_DIM_ORDER, NUC_OP_TO_DIM_ORDER_COPY),
        fold_move);

    if (!nuc_rewrite_each(g, NUC_OPS(NUC_OP_PERMUTE), permute_channels_first))
        return changed;
    nuc_rewrite_each(g, NUC_OPS(NUC_OP_PERMUTE), fold_quantized_permute);
    return true;
}

/* ---- permutations that another undoes ---- */

/* Where the dimensions of a permutation's or transposition's result are from. */
static bool permutation_of(const struct nuc_node *node, uint32_t rank, int64_t *dims)
{
    if (node->op == NUC_OP_TRANSPOSE) {
        int64_t a = nuc_dim(node, NUC_ARG(TRANSPOSE, dim0), 0, rank),
                b = nuc_dim(node, NUC_ARG(TRANSPOSE, dim1), 0, rank);
        for (uint32_t d = 0; d < rank; d++)
            dims[d] = d == a ? b : d == b ? a : d;
        return true;
    }
    const struct nuc_arg *list = node->op == NUC_OP_PERMUTE ? nuc_arg_at(node, NUC_ARG(PERMUTE, dims)) : NULL;
    if (list == NULL || list->kind != NUC_ARG_INTS || list->count != rank)
        return false;
    for (uint32_t d = 0; d < rank; d++)
        dims[d] = nuc_positive_dim(list->u.ints[d], rank);
    return true;
}

static bool fold_undone(struct nuc_graph *g, struct nuc_node *second)
{
    struct nuc_node *first = nuc_arg_node(second, NUC_SELF);
    uint32_t rank = second->vals[0].rank;
    int64_t a[NUC_MAX_RANK], b[NUC_MAX_RANK];

    if (first == NULL || !nuc_is_call(first) || !permutation_of(second, rank, b) || !permutation_of(first, rank, a))
        return false;
    for (uint32_t d = 0; d < rank; d++) {
        if (a[b[d]] != d)
            return false;
    }
    if (nuc_feeds_output(second)) /* which has a value of its own */
        return false;
    nuc_replace_uses(g, second, nuc_arg_node(first, NUC_SELF), NULL);
    return true;
}

bool nuc_fold_undone_permutes(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_PERMUTE, NUC_OP_TRANSPOSE), fold_undone);
}

/* ---- moves and casts that change nothing ---- */

/* All elements of x in their order, as the mean of an image is strided to say that it is contiguous. */
static bool strides_nothing(const struct nuc_node *as_strided, const struct nuc_meta *x)
{
    const struct nuc_arg *strides = nuc_arg_at(as_strided, NUC_ARG(AS_STRIDED, stride));
    int64_t stride = 1;

    for (uint32_t d = x->rank; d > 0; stride *= x->sizes[--d]) {
        if (strides->kind != NUC_ARG_INTS || strides->count != x->rank ||
            (x->sizes[d - 1] != 1 && strides->u.ints[d - 1] != stride))
            return false;
    }
    return nuc_integer(as_strided, NUC_ARG(AS_STRIDED, storage_offset), 0) == 0;
}

static bool fold_idle(struct nuc_graph *g, struct nuc_node *move)
{
    bool is_list = move->op == NUC_OP_CAT && move->args[NUC_SELF].count == 1;
    struct nuc_node *x = is_list ? move->args[NUC_SELF].u.nodes[0] : nuc_arg_node(move, NUC_SELF);
    int64_t dims[NUC_MAX_RANK];

    if (x == NULL || nuc_feeds_output(move) || x->vals[0].dtype != move->vals[0].dtype ||
        !nuc_same_sizes(&x->vals[0], &move->vals[0]) || nuc_format_asked(move) != NUC_PRESERVE_FORMAT ||
        (move->op == NUC_OP_AS_STRIDED && !(nuc_is_contiguous(&x->vals[0]) && strides_nothing(move, &x->vals[0]))))
        return false;
    bool permutes = permutation_of(move, move->vals[0].rank, dims);
    for (uint32_t d = 0; permutes && d < move->vals[0].rank; d++) {
        if (dims[d] != d)
            return false;
    }
    nuc_replace_uses(g, move, x, NULL);
    return true;
}

/* A permutation that moves dimensions of size 1 past the others, whose order stays. */
static bool fold_move_of_ones(struct nuc_graph *g, struct nuc_node *move)
{
    struct nuc_node *x = nuc_arg_node(move, NUC_SELF);
    const struct nuc_meta *m = &move->vals[0];
    int64_t dims[NUC_MAX_RANK], last = -1;

    if (x == NULL || nuc_feeds_output(move) || !permutation_of(move, m->rank, dims))
        return false;
    for (uint32_t d = 0; d < m->rank; d++) {
        if (m->sizes[d] == 1)
            continue;
        if (dims[d] < last)
            return false;
        last = dims[d];
    }
    uint32_t old_ids = g->next_id;
    nuc_take_place(g, move, old_ids, nuc_insert_reshaped(g, move, x, m->sizes, m->rank));
    return true;
}

/* All places of a dimension, from `first` on and around, as roll() of a decomposed archive takes them. */
static bool is_rolled(const int64_t *places, int64_t count, int64_t size, int64_t *first)
{
    bool is = places != NULL && count == size && size > 0 && places[0] >= 0;

    for (int64_t i = 0; is && i < count; i++)
        is = places[i] == (places[0] + i) % size;
    *first = is ? places[0] : 0;
    return is;
}

static bool fold_roll(struct nuc_graph *g, struct nuc_node *select)
{
    struct nuc_node *x = nuc_operand(g, select, NUC_SELF),
                    *index = nuc_operand(g, select, NUC_ARG(INDEX_SELECT, index));
    uint32_t dim = (uint32_t)nuc_dim(select, NUC_ARG(INDEX_SELECT, dim), 0, x->vals[0].rank);
    int64_t size = x->vals[0].rank > 0 ? x->vals[0].sizes[dim] : 0, first;

    if (index->vals[0].dtype != NUC_I64 ||
        !is_rolled(nuc_known_integers(g, index), nuc_elements(&index->vals[0]), size, &first) || first == 0)
        return false;
    struct nuc_node *parts[2];
    uint32_t old_ids = g->next_id;
    parts[0] = nuc_insert_slice(g, select, x, dim, first, size);
    parts[1] = nuc_insert_slice(g, select, x, dim, 0, first);
    nuc_take_place(g, select, old_ids, nuc_insert_cat(g, select, parts, 2, dim));
    return true;
}

bool nuc_fold_idle_moves(struct nuc_graph *g)
{
    bool changed = nuc_rewrite_each(g, NUC_OPS(NUC_OP_INDEX_SELECT), fold_roll);

    changed |= nuc_rewrite_each(g, NUC_OPS(NUC_OP_PERMUTE, NUC_OP_TRANSPOSE), fold_move_of_ones);
    return nuc_rewrite_each(g,
                            NUC_OPS(NUC_OP_VIEW, NUC_OP_RESHAPE, NUC_OP_FLATTEN, NUC_OP_EXPAND, NUC_OP_PERMUTE,
                                    NUC_OP_SLICE, NUC_OP_CAT, NUC_OP_AS_STRIDED, NUC_OP_ALIAS, NUC_OP_TO_DTYPE,
                                    NUC_OP_TO_DTYPE_LAYOUT),
                            fold_idle) ||
           changed;
}

/* x @ w.t() is a linear layer, which steps of a loop share the weight of and cells are recognized by. */
static bool fold_turned(struct nuc_graph *g, struct nuc_node *product)
{
    const struct nuc_node *turned = nuc_arg_node(product, NUC_OTHER);
    struct nuc_node *weight = turned != NULL && nuc_is_call(turned) ? nuc_arg_node(turned, NUC_SELF) : NULL;
    int64_t dims[NUC_MAX_RANK];

    if (weight == NULL || !nuc_is_static(weight) || weight->vals[0].rank != 2 || weight->vals[0].dtype != NUC_F32 ||
        (turned->op != NUC_OP_T && !(permutation_of(turned, 2, dims) && dims[0] == 1)))
        return false;
    nuc_replace_uses(g, product,
                     nuc_emit(g, product, NUC_OP_LINEAR, product, NUC_ARGS(product->args[NUC_SELF], weight)), NULL);
    return true;
}

bool nuc_fold_turned_weights(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_MATMUL), fold_turned);
}
