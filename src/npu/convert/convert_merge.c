/*
 * Operators that become part of others. Each rule keeps every output byte: pads go into windows that treat positions
 * outside the input as the pad's value, tables that only clip go into the clamp of the operator before, tables after
 * tables are composed, both also across operators that only move values, slices that are joined become one gather,
 * products write in the order of a permutation that reads them, and operators that keep all bytes in place become
 * aliases of their input.
 */
#include "npu/convert/conversion.h"

/* The node that computes a tensor used once only and not given out, else NULL. */
static struct nuc_cv_node *only_producer(struct nuc_cv *cv, int32_t tensor)
{
    const struct nuc_cv_tensor *t = &cv->tensors[tensor];

    if (t->producer < 0 || t->n_uses != 1 || t->output_index >= 0)
        return NULL;
    return cv->nodes[t->producer].dropped ? NULL : &cv->nodes[t->producer];
}

/* table[q] = clamp(q, low, high) for all q. */
static bool is_clamp(const int8_t *table, int32_t *low, int32_t *high)
{
    *low = table[0];
    *high = table[255];
    for (int32_t q = INT8_MIN; q <= INT8_MAX; q++) {
        if (table[q + 128] != (q < *low ? *low : q > *high ? *high : q))
            return false;
    }
    return *low <= *high;
}

/* `n` took over what `into` was; the tensor between them is gone. */
static void join(struct nuc_cv *cv, struct nuc_cv_node *into, struct nuc_cv_node *n)
{
    into->output = n->output;
    cv->tensors[n->output].producer = (int32_t)into->index;
    n->dropped = true;
    n->whole = into->index + 1;
}

/* Operators whose results are some of the values of their one operand. */
static bool moves(const struct nuc_cv_node *n)
{
    return !n->table && (n->op->code == NUC_LT_RESHAPE || n->op->code == NUC_LT_SQUEEZE ||
                         n->op->code == NUC_LT_TRANSPOSE || n->op->code == NUC_LT_SLICE);
}

/* The operator that computes the values of a tensor, before those that only move them, when nothing else reads any. */
static struct nuc_cv_node *only_source(struct nuc_cv *cv, int32_t tensor)
{
    struct nuc_cv_node *n = only_producer(cv, tensor);

    while (n && moves(n))
        n = only_producer(cv, n->input);
    return n;
}

/* outer[inner[q]] for all q. */
static const int8_t *composed(struct nuc_cv *cv, const int8_t *outer, const int8_t *inner)
{
    int8_t *table = nuc_alloc(cv->cx, 256);

    for (int i = 0; i < 256; i++)
        table[i] = outer[inner[i] + 128];
    return table;
}

/*
 * A function of each value may come before moves as well as after them. What only clips is part of the clamp of the
 * operator before; any other function is the last step of its call.
 */
static void merge_table(struct nuc_cv *cv, struct nuc_cv_node *n)
{
    struct nuc_cv_node *before = only_source(cv, n->input), *last = only_producer(cv, n->input);
    int32_t low, high;

    if (!before)
        return;
    const struct nuc_cv_kernel *kernel = nuc_cv_kernel(before->op->code);
    if (before->table || before->last_table) {
        const int8_t **table = before->table ? &before->table : &before->last_table;
        *table = composed(cv, n->table, *table);
        join(cv, last, n);
        return;
    }
    if (!kernel->clamps || !is_clamp(n->table, &low, &high)) {
        if (!kernel->tables || cv->revision_3)
            return;
        before->last_table = n->table;
        join(cv, last, n);
        return;
    }
    /* A clamp after a clamp: [low, high] applied to both ends is the range of the composition. */
    before->clamp_min = nuc_clamp_i32(before->clamp_min, low, high);
    before->clamp_max = nuc_clamp_i32(before->clamp_max, low, high);
    join(cv, last, n);
}

/* Pads of an image's H and W only: top, left, and the value they are filled with. */
static bool image_pad(struct nuc_cv *cv, const struct nuc_cv_node *pad, int64_t *top, int64_t *left, int32_t *value)
{
    const struct nuc_lt_tensor *x = nuc_cv_in(cv, pad, 0);
    int64_t p[2 * NUC_MAX_RANK];

    if (pad->op->code != NUC_LT_PAD && pad->op->code != NUC_LT_PADV2)
        return false;
    if (x->rank != 4 || nuc_cv_integers(cv, pad, 1, 2 * NUC_MAX_RANK, p) != 8)
        return false;
    for (int i = 0; i < 8; i++) {
        if (p[i] < 0 || ((i < 2 || i > 5) && p[i] != 0) || p[i] > NUC_MC_MAX_DIM)
            return false;
    }
    *top = p[2];
    *left = p[4];
    if (!nuc_cv_pad_value(cv, pad, value))
        return false;
    return nuc_cv_same_params(cv, pad, x, nuc_cv_y(cv, pad));
}

/* Whether a window operator sees positions outside its input as `value`. */
static bool takes_pad(struct nuc_cv *cv, const struct nuc_cv_node *n, int32_t value)
{
    switch (n->op->code) {
    case NUC_LT_CONV_2D:
    case NUC_LT_DEPTHWISE_CONV_2D:
        return n->op->options.conv.padding == NUC_LT_VALID && value == nuc_cv_params(cv, n, nuc_cv_x(cv, n)).zero;
    case NUC_LT_MAX_POOL_2D:
        return n->op->options.pool.padding == NUC_LT_VALID && value == INT8_MIN;
    case NUC_LT_AVERAGE_POOL_2D:
        return n->op->options.pool.padding == NUC_LT_VALID;
    default:
        return false;
    }
}

/* Whether all that reads the pad's result sees positions outside its input as `value`. */
static bool all_take_pad(struct nuc_cv *cv, const struct nuc_cv_node *pad, int32_t value)
{
    const struct nuc_cv_tensor *t = &cv->tensors[pad->output];
    uint32_t takers = 0;

    for (uint32_t i = 0; i < cv->graph->n_ops; i++) {
        const struct nuc_cv_node *n = &cv->nodes[i];
        takers += !n->dropped && n->input == pad->output && takes_pad(cv, n, value);
    }
    return t->output_index < 0 && takers == t->n_uses;
}

/* The pad goes when the last operator that reads its result has taken it. */
static void merge_pad(struct nuc_cv *cv, struct nuc_cv_node *n)
{
    int32_t producer = cv->tensors[n->input].producer;
    struct nuc_cv_node *pad = producer < 0 || cv->nodes[producer].dropped ? NULL : &cv->nodes[producer];
    int64_t top, left;
    int32_t value;

    if (!pad || !image_pad(cv, pad, &top, &left, &value) || !takes_pad(cv, n, value) || !all_take_pad(cv, pad, value))
        return;
    n->has_pad = true;
    n->pad_top = (int32_t)top;
    n->pad_left = (int32_t)left;
    n->pad_value = value;
    n->input = pad->input;
    cv->tensors[pad->input].n_uses++;
    if (--cv->tensors[pad->output].n_uses > 0)
        return;
    cv->tensors[pad->input].n_uses--;
    pad->dropped = true;
    pad->whole = n->index + 1;
}

/* Whether the result is the input's bytes in the same order. */
static bool keeps_bytes(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    int64_t perm[NUC_MAX_RANK], last = -1;

    if (!x || x->dtype != y->dtype || nuc_lt_elements(x) != nuc_lt_elements(y))
        return false;
    if (n->table) {
        int32_t low, high;
        return is_clamp(n->table, &low, &high) && low == INT8_MIN && high == INT8_MAX;
    }
    switch (n->op->code) {
    case NUC_LT_RESHAPE:
    case NUC_LT_SQUEEZE:
    case NUC_LT_PAD:
    case NUC_LT_PADV2:
    case NUC_LT_SLICE:
    case NUC_LT_MIRROR_PAD:
        return nuc_cv_same_params(cv, n, x, y);
    case NUC_LT_CONCATENATION:
        return n->op->n_inputs == 1 && nuc_cv_same_params(cv, n, x, y);
    case NUC_LT_TRANSPOSE:
        break;
    default:
        return false;
    }
    if (nuc_cv_integers(cv, n, 1, NUC_MAX_RANK, perm) != x->rank)
        return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (perm[i] < 0 || perm[i] >= (int64_t)x->rank)
            return false;
        if (x->shape[perm[i]] == 1)
            continue;
        if (perm[i] < last)
            return false;
        last = perm[i];
    }
    return nuc_cv_same_params(cv, n, x, y);
}

/* Whether the node takes values of one tensor along `axis` alone; *begin: the first of them. */
static bool slices_axis(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t axis, int64_t *begin)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    int64_t first[NUC_MAX_RANK];

    if (n->op->code != NUC_LT_SLICE || n->table || n->dropped || x->rank != y->rank || x->dtype != y->dtype ||
        !nuc_cv_same_params(cv, n, x, y) || nuc_cv_integers(cv, n, 1, NUC_MAX_RANK, first) != x->rank)
        return false;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (first[d] < 0 || first[d] + y->shape[d] > x->shape[d] || (d != axis && y->shape[d] != x->shape[d]))
            return false;
    }
    *begin = first[axis];
    return true;
}

/*
 * Slices of one tensor along one axis, one behind the other, as a roll, a flip or channels in another order are
 * written: one gather instead of a copy for each, and the same for two axes after each other.
 */
static void merge_slices(struct nuc_cv *cv, struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *y = nuc_cv_y(cv, n);
    int32_t axis = n->op->code == NUC_LT_CONCATENATION && !cv->revision_3 ? nuc_cv_concat_axis(cv, n) : -1;
    uint32_t parts = n->op->n_inputs;
    int32_t at = 0, of = -1;

    if (axis < 0 || parts < 2 || y->rank > NUC_MC_MAX_RANK ||
        nuc_mc_count_all(y->shape, axis + 1) > (uint64_t)(parts - 1) * cv->costs->kernel * cv->costs->pipelines)
        return;
    int32_t *pick = nuc_alloc_array(cv->cx, (size_t)y->shape[axis], sizeof *pick);
    for (uint32_t i = 0; i < parts; i++) {
        const struct nuc_cv_node *part = only_producer(cv, n->op->inputs[i]);
        int64_t begin;
        if (!part || !slices_axis(cv, part, (uint32_t)axis, &begin) || (of >= 0 && part->input != of))
            return;
        of = part->input;
        for (int32_t k = 0; k < nuc_cv_y(cv, part)->shape[axis]; k++)
            pick[at++] = (int32_t)begin + k;
    }
    for (uint32_t i = 0; i < parts; i++) {
        struct nuc_cv_node *part = &cv->nodes[cv->tensors[n->op->inputs[i]].producer];
        part->dropped = true;
        part->whole = n->index + 1;
    }
    n->picks = nuc_alloc_array(cv->cx, NUC_MAX_RANK, sizeof *n->picks);
    n->picks[axis] = pick;
    n->input = of;
    cv->tensors[of].n_uses -= parts - 1;
    struct nuc_cv_node *before = only_producer(cv, of);
    if (!before || !before->picks || before->picks[axis])
        return;
    for (uint32_t d = 0; d < y->rank; d++)
        n->picks[d] = (int32_t)d == axis ? pick : before->picks[d];
    n->input = before->input;
    before->dropped = true;
    before->whole = n->index + 1;
}

/* A permutation that alone reads a product, as it is or in another shape, is the order in which its call writes. */
static void merge_turn(struct nuc_cv *cv, struct nuc_cv_node *n)
{
    struct nuc_cv_node *product = only_producer(cv, n->input), *shape;

    while (product && product->op->code == NUC_LT_RESHAPE && !product->table && keeps_bytes(cv, product))
        product = only_producer(cv, product->input);
    if (cv->revision_3 || n->op->code != NUC_LT_TRANSPOSE || n->table || keeps_bytes(cv, n) || !product ||
        product->op->code != NUC_LT_BATCH_MATMUL || product->last_table || product->turn != 0 ||
        n->output != n->op->outputs[0] || !nuc_cv_same_params(cv, n, nuc_cv_x(cv, n), nuc_cv_y(cv, n)))
        return;
    int32_t own = product->output;
    struct nuc_cv_matrices matrices[3];
    product->turn = n->index + 1;
    product->output = n->output;
    if (!nuc_cv_product_matrices(cv, product, matrices)) {
        product->turn = 0;
        product->output = own;
        return;
    }
    for (int32_t t = n->input; t != own; t = shape->input) {
        shape = &cv->nodes[cv->tensors[t].producer];
        shape->dropped = true;
        shape->whole = product->index + 1;
    }
    join(cv, product, n);
}

/* Makes the result an alias of the input, unless both are given from outside. */
static void merge_alias(struct nuc_cv *cv, struct nuc_cv_node *n)
{
    if (!keeps_bytes(cv, n))
        return;
    struct nuc_cv_tensor *x = &cv->tensors[nuc_cv_place(cv, n->input).holder], *y = &cv->tensors[n->output];
    if (y->output_index >= 0) {
        if (x->input_index >= 0 || x->constant || x->output_index >= 0)
            return;
        x->output_index = y->output_index;
    }
    y->alias = n->input;
    n->dropped = true;
}

/* The operand of a table that varies. */
static int32_t varying_input(const struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    if (n->op->n_inputs > 1 && cv->tensors[n->op->inputs[0]].constant && nuc_cv_is_binary(n->op->code))
        return n->op->inputs[1];
    return n->op->inputs[0];
}

/* To each operator that no rule has taken before. */
static void apply(struct nuc_cv *cv, void (*rule)(struct nuc_cv *cv, struct nuc_cv_node *n))
{
    for (uint32_t i = 0; i < cv->graph->n_ops; i++) {
        if (!cv->nodes[i].dropped)
            rule(cv, &cv->nodes[i]);
    }
}

void nuc_cv_merge(struct nuc_cv *cv)
{
    for (uint32_t i = 0; i < cv->graph->n_ops; i++) {
        struct nuc_cv_node *n = &cv->nodes[i];
        n->table = nuc_cv_table(cv, n);
        if (n->table)
            n->input = varying_input(cv, n);
    }
    if (!cv->revision_3)
        nuc_cv_find_functions(cv);
    for (uint32_t i = 0; i < cv->graph->n_ops; i++) {
        struct nuc_cv_node *n = &cv->nodes[i];
        if (n->dropped)
            continue;
        if (n->table)
            merge_table(cv, n);
        else
            merge_pad(cv, n);
    }
    apply(cv, merge_slices);
    apply(cv, merge_turn);
    apply(cv, merge_alias);
}
