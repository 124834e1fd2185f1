/*
 * The converter maps one operator per cluster. A view or permutation in front of an operator, or an activation after
 * it, moves into a cluster of its own by a quantize and a dequantize node between the two.
 */
#include "ir/quant.h"
#include "npu/support/cluster.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

/*
 * Auxiliary operators that are separated from a main operator; the list ends with NUC_OP_PLACEHOLDER, which is 0. Of
 * `computes` those, too, that the NPU computes with the operator in front.
 */
struct pair_row {
    enum nuc_op main;
    bool computes;
    enum nuc_op aux[3];
};

static const struct pair_row leading[] = {
    {NUC_OP_ADDMM, false, {NUC_OP_VIEW, NUC_OP_PERMUTE}},
    {NUC_OP_MM, false, {NUC_OP_VIEW, NUC_OP_PERMUTE}},
    {NUC_OP_VIEW, false, {NUC_OP_CLONE, NUC_OP_CLONE_DIM_ORDER}},
    {NUC_OP_CONVOLUTION, false, {NUC_OP_VIEW}},
    {NUC_OP_AVG_POOL2D, false, {NUC_OP_VIEW, NUC_OP_UNSQUEEZE}},
    {NUC_OP_MAX_POOL2D_INDICES, false, {NUC_OP_VIEW, NUC_OP_UNSQUEEZE}},
    {NUC_OP_PLACEHOLDER, false, {NUC_OP_PLACEHOLDER}},
};

static const struct pair_row trailing[] = {
    {NUC_OP_ADDMM, true, {NUC_OP_VIEW}},
    {NUC_OP_MM, true, {NUC_OP_VIEW}},
    {NUC_OP_CONVOLUTION, true, {NUC_OP_VIEW}},
    {NUC_OP_VIEW, false, {NUC_OP_CLONE, NUC_OP_CLONE_DIM_ORDER}},
    {NUC_OP_AVG_POOL2D, false, {NUC_OP_VIEW, NUC_OP_SQUEEZE_DIMS}},
    {NUC_OP_GETITEM, false, {NUC_OP_VIEW, NUC_OP_SQUEEZE_DIMS}},
    {NUC_OP_PLACEHOLDER, false, {NUC_OP_PLACEHOLDER}},
};

static bool is_pair(const struct pair_row *rows, const struct nuc_node *main, const struct nuc_node *aux)
{
    const struct pair_row *row = rows;

    while (row->main != NUC_OP_PLACEHOLDER && row->main != main->op)
        row++;
    for (const enum nuc_op *op = row->aux; *op != NUC_OP_PLACEHOLDER; op++) {
        if (aux->op == *op)
            return true;
    }
    return row->computes && nuc_is_activation(aux->op);
}

/* quantize and dequantize with the parameters of `like` after `anchor`; whoever read it reads the dequantize node. */
static void insert_pair(struct nuc_graph *g, struct nuc_node *anchor, const struct nuc_node *like)
{
    struct nuc_node *quantize = nuc_insert(g, anchor->next, NUC_OP_QUANTIZE_PER_TENSOR, anchor);
    struct nuc_node *dequantize = nuc_insert(g, quantize->next, NUC_OP_DEQUANTIZE_PER_TENSOR, anchor);
    struct nuc_meta quantized = anchor->vals[0];
    struct nuc_quant parameters;

    if (nuc_quant_of(like, &parameters)) {
        nuc_set_quant(quantize, &parameters);
        nuc_set_quant(dequantize, &parameters);
        quantized.dtype = parameters.dtype;
    }
    nuc_set_val(g, quantize, &quantized);
    nuc_set_val(g, dequantize, &anchor->vals[0]);
    nuc_replace_uses(g, anchor, dequantize, NULL);
    nuc_set_arg_node(quantize, g, NUC_SELF, anchor);
    nuc_set_arg_node(dequantize, g, NUC_SELF, quantize);
}

/*
 * What is a cluster, as it was before the sweep: a separation only shortens what has to be quantized around other
 * nodes, so what was a cluster stays one; new ones are found by the next sweep. Few sweeps find anything to ask for.
 */
struct clusters {
    struct nuc_graph *g;
    struct nuc_cluster_ends ends; /* NULL: nothing was asked yet */
};

static const struct nuc_cluster_ends *ends_of(struct clusters *c)
{
    if (c->ends.inputs == NULL)
        c->ends = nuc_cluster_ends(c->g);
    return &c->ends;
}

static bool separate_leading(struct clusters *c, struct nuc_node *aux)
{
    struct nuc_node *dequantize = nuc_arg_node(aux, NUC_SELF);
    struct nuc_node *main = aux->n_users == 1 ? aux->users[0] : NULL;

    if (dequantize == NULL || dequantize->op != NUC_OP_DEQUANTIZE_PER_TENSOR || main == NULL)
        return false;
    if (!is_pair(leading, main, aux) || !nuc_has_cluster(ends_of(c), main))
        return false;
    insert_pair(c->g, aux, dequantize);
    return true;
}

static bool separate_trailing(struct clusters *c, struct nuc_node *aux)
{
    struct nuc_node *main = nuc_arg_node(aux, NUC_SELF);
    struct nuc_node *quantize = aux->n_users == 1 ? aux->users[0] : NULL;

    if (main == NULL || quantize == NULL || quantize->op != NUC_OP_QUANTIZE_PER_TENSOR || !is_pair(trailing, main, aux))
        return false;
    const struct nuc_node *compute = main->op == NUC_OP_GETITEM ? nuc_operand(c->g, main, NUC_SELF) : main;
    if (!nuc_has_cluster(ends_of(c), compute))
        return false;
    insert_pair(c->g, main, quantize);
    return true;
}

static bool sweep(struct nuc_graph *g, bool (*separate)(struct clusters *c, struct nuc_node *aux))
{
    struct clusters c = {.g = g};
    uint32_t count;
    struct nuc_node **candidates = nuc_collect(g, nuc_auxiliary_ops, &count);
    bool changed = false;

    for (uint32_t i = 0; i < count; i++)
        changed |= separate(&c, candidates[i]);
    return changed;
}

bool nuc_separate_leading(struct nuc_graph *g)
{
    return sweep(g, separate_leading);
}

/* There the permutation of a weight stays in the cluster of its matrix product. */
static bool separate_leading_sdk31(struct clusters *c, struct nuc_node *aux)
{
    return aux->op != NUC_OP_PERMUTE && separate_leading(c, aux);
}

bool nuc_separate_leading_sdk31(struct nuc_graph *g)
{
    return sweep(g, separate_leading_sdk31);
}

bool nuc_separate_trailing(struct nuc_graph *g)
{
    return sweep(g, separate_trailing);
}

/* ---- beyond the reference: whatever moves values is a cluster of its own ---- */

static bool moves(enum nuc_op op)
{
    return nuc_is_auxiliary(op) && !nuc_is_activation(op) && op != NUC_OP_GETITEM;
}

/* The dequantize node whose values arrive at a node that moves them, of one scale and not of a constant; or NULL. */
static struct nuc_node *origin_of(const struct nuc_node *node)
{
    struct nuc_node *from = nuc_arg_node(node, NUC_SELF);

    while (from != NULL && moves(from->op))
        from = nuc_arg_node(from, NUC_SELF);
    if (from == NULL || from->op != NUC_OP_DEQUANTIZE_PER_TENSOR)
        return NULL;
    const struct nuc_node *quantized = nuc_arg_node(from, NUC_SELF);
    return quantized != NULL && nuc_is_static(quantized) ? NULL : from;
}

/* Quantize and dequantize nodes of one scale, zero point and range. */
static bool same_parameters(const struct nuc_node *a, const struct nuc_node *b)
{
    struct nuc_quant x, y;

    return nuc_quant_of(a, &x) && nuc_quant_of(b, &y) && nuc_same_parameters(&x, &y) && x.quant_min == y.quant_min &&
           x.quant_max == y.quant_max;
}

static bool is_quantize(const struct nuc_node *node)
{
    return node->op == NUC_OP_QUANTIZE_PER_TENSOR;
}

/* Moved values keep their parameters, so they may be quantized anywhere on the way. */
static bool separate_moved(struct clusters *c, struct nuc_node *aux)
{
    const struct nuc_node *origin = moves(aux->op) ? origin_of(aux) : NULL;
    bool wanted = false;

    for (uint32_t i = 0; origin != NULL && i < aux->n_users; i++) {
        const struct nuc_node *user = aux->users[i];
        wanted |= is_quantize(user) ? nuc_has_cluster(ends_of(c), aux) && !same_parameters(user, origin)
                                    : nuc_has_cluster(ends_of(c), user);
    }
    if (wanted)
        insert_pair(c->g, aux, origin);
    return wanted;
}

/* The same backwards: what is quantized after the move may be quantized in front of it. */
static bool separate_moving(struct clusters *c, struct nuc_node *aux)
{
    struct nuc_node *main = nuc_arg_node(aux, NUC_SELF);

    if (!moves(aux->op) || main == NULL || main->n_users != 1 || moves(main->op) || nuc_is_dequantize(main) ||
        !nuc_is_call(main) || !nuc_has_cluster(ends_of(c), main) || aux->n_users == 0)
        return false;
    for (uint32_t i = 0; i < aux->n_users; i++) {
        if (!is_quantize(aux->users[i]) || !same_parameters(aux->users[i], aux->users[0]))
            return false;
    }
    insert_pair(c->g, main, aux->users[0]);
    return true;
}

bool nuc_separate_moves(struct nuc_graph *g)
{
    bool changed = sweep(g, separate_moved);

    return sweep(g, separate_moving) || changed;
}

/* The earlier one of two quantize nodes that make the same of `node`; they stand after it in some order. */
static bool merge_pair(struct nuc_graph *g, const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        for (uint32_t k = i + 1; k < node->n_users; k++) {
            struct nuc_node *first = node->users[i], *second = node->users[k];
            if (!is_quantize(first) || !is_quantize(second) || !same_parameters(first, second) ||
                first->vals[0].dtype != second->vals[0].dtype)
                continue;
            if (first->prev != node)
                nuc_move_before(g, first, node->next);
            nuc_replace_uses(g, second, first, NULL);
            nuc_remove_node(g, second);
            return true;
        }
    }
    return false;
}

bool nuc_merge_quantize(struct nuc_graph *g)
{
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        while (!n->is_tuple && nuc_is_call(n) && merge_pair(g, n))
            changed = true;
    }
    return changed;
}

bool nuc_split_dequantize(struct nuc_graph *g)
{
    struct clusters c = {.g = g};
    uint32_t count;
    struct nuc_node **nodes =
        nuc_collect(g, NUC_OPS(NUC_OP_DEQUANTIZE_PER_TENSOR, NUC_OP_DEQUANTIZE_PER_CHANNEL), &count);
    bool changed = false;

    for (uint32_t i = 0; i < count; i++) {
        struct nuc_node *node = nodes[i];
        for (uint32_t k = node->n_users; k-- > 0 && node->n_users > 1;) {
            struct nuc_node *user = node->users[k];
            if (!nuc_is_call(user) || nuc_is_quantize(user) || !ends_of(&c)->inputs[user->id])
                continue;
            struct nuc_node *copy = nuc_insert(g, node->next, node->op, node);
            for (uint32_t m = 0; m < node->n_args; m++)
                nuc_copy_arg(g, copy, m, node, m);
            nuc_set_val(g, copy, &node->vals[0]);
            nuc_replace_input(g, user, node, copy);
            changed = true;
        }
    }
    return changed;
}
