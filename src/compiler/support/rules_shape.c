/* Operators that move or relabel data: padding, permutation, view, clone. */
#include "compiler/support/facts.h"

/* ---- constant_pad_nd: self, pad, value ---- */

static bool pad_pairs(const struct nuc_rule_query *q)
{
    uint32_t count = q->node->args[1].kind == NUC_ARG_INTS ? q->node->args[1].count : 0;
    return count % 2 == 0 || nuc_rule_report(q, "an even number", "%u", count);
}

static bool pad_rank(const struct nuc_rule_query *q)
{
    uint32_t count = q->node->args[1].kind == NUC_ARG_INTS ? q->node->args[1].count : 0;
    uint32_t rank = nuc_input_meta(q->node, 0)->rank;
    return count <= 2 * rank || nuc_rule_report(q, nuc_format(q->s->g->cx, "%u", 2 * rank), "%u", count);
}

const struct nuc_support_rule nuc_pad_ir[] = {
    {"there are at most two paddings for each dimension", pad_rank, 0},
    {"paddings come in pairs", pad_pairs, 0},
    RULE_SHARED_QUANTIZATION,
    {NULL, NULL, 0},
};

const struct nuc_support_rule nuc_pad_target[] = {
    RULE_INPUT_8BIT,
    RULE_OUTPUT_8BIT,
    {NULL, NULL, 0},
};

/* ---- permute_copy: self, dims ---- */

const struct nuc_support_rule nuc_permute_ir[] = {
    RULE_SHARED_QUANTIZATION,
    {NULL, NULL, 0},
};

/* A permutation of static data is done while compiling. */
static bool permute_input(const struct nuc_rule_query *q)
{
    return nuc_is_effectively_static(nuc_arg_node(q->node, 0)) || nuc_inputs_are_8bit(q);
}

static bool permute_output(const struct nuc_rule_query *q)
{
    return nuc_is_effectively_static(nuc_arg_node(q->node, 0)) || nuc_output_is_8bit(q);
}

const struct nuc_support_rule nuc_permute_target[] = {
    {"the input is static or quantized to int8 or uint8", permute_input, 1},
    {"the input is static, or the output is read by one quantize node of int8 or uint8", permute_output, 0},
    {NULL, NULL, 0},
};

static bool permute_not_static_alone(const struct nuc_rule_query *q)
{
    return !nuc_is_alone(q->s, q->node) || !nuc_is_effectively_static(nuc_arg_node(q->node, 0)) ||
           nuc_rule_report(q, "", "a parameter is permuted");
}

const struct nuc_support_rule nuc_permute_partition[] = {
    {"alone in its partition the permutation has data to permute at run time", permute_not_static_alone, 0},
    {NULL, NULL, 0},
};

/* ---- view_copy: self, size ---- */

static bool view_rank(const struct nuc_rule_query *q)
{
    uint32_t rank = q->node->vals[0].rank;
    return rank < q->s->target->view_rank_limit ||
           nuc_rule_report(q, nuc_format(q->s->g->cx, "below %u", q->s->target->view_rank_limit), "%u", rank);
}

/* Dimensions below 2 count as 1. */
static int64_t flat_size(const struct nuc_meta *m)
{
    int64_t n = 1;

    for (uint32_t i = 0; i < m->rank; i++) {
        if (m->sizes[i] > 1 && __builtin_mul_overflow(n, m->sizes[i], &n))
            return INT64_MAX;
    }
    return n;
}

static bool view_elements(const struct nuc_rule_query *q)
{
    const struct nuc_meta *input = nuc_input_meta(q->node, 0);
    return flat_size(input) == flat_size(&q->node->vals[0]) ||
           nuc_rule_report(q, nuc_meta_text(q->s->g->cx, input), "%s", nuc_meta_text(q->s->g->cx, &q->node->vals[0]));
}

const struct nuc_support_rule nuc_view_ir[] = {
    {"the result has fewer dimensions than the converter's limit", view_rank, 0},
    {"input and result have as many elements", view_elements, 0},
    {NULL, NULL, 0},
};

/* ---- clone (memory_format) and _clone_dim_order (dim_order) ---- */

static bool is_identity_order(const struct nuc_arg *order, uint32_t rank)
{
    if (order->kind != NUC_ARG_INTS || order->count != rank)
        return false;
    for (uint32_t i = 0; i < rank; i++) {
        if (order->u.ints[i] != (int64_t)i)
            return false;
    }
    return true;
}

static bool clone_format(const struct nuc_rule_query *q)
{
    if (q->node->op == NUC_OP_EDGE_CLONE) {
        const struct nuc_arg *a = &q->node->args[1];
        bool keeps = a->kind == NUC_ARG_MEMORY_FORMAT &&
                     (a->u.memory_format == NUC_CONTIGUOUS_FORMAT || a->u.memory_format == NUC_PRESERVE_FORMAT);
        return keeps || nuc_rule_report(q, "contiguous or preserved", "another memory format");
    }
    return is_identity_order(&q->node->args[2], q->node->vals[0].rank) ||
           nuc_rule_report(q, "the contiguous dim order", "%s", nuc_meta_text(q->s->g->cx, &q->node->vals[0]));
}

const struct nuc_support_rule nuc_clone_ir[] = {
    {"the copy is contiguous", clone_format, 0},
    {NULL, NULL, 0},
};

static bool clone_not_alone(const struct nuc_rule_query *q)
{
    return !nuc_is_alone(q->s, q->node) || nuc_rule_report(q, "", "it would leave the partition empty");
}

static bool has_border_order(const struct nuc_meta *m)
{
    return nuc_is_contiguous(m) || nuc_is_channels_last(m);
}

/* The producer behind a dequantize and a quantize node, or NULL. */
static const struct nuc_node *parent_of(const struct nuc_node *node)
{
    const struct nuc_node *dequantize = nuc_arg_node(node, 0);
    const struct nuc_node *quantize =
        dequantize != NULL && nuc_is_dequantize(dequantize) ? nuc_arg_node(dequantize, 0) : NULL;

    return quantize != NULL && nuc_is_quantize(quantize) ? nuc_arg_node(quantize, 0) : NULL;
}

static bool is_inside(const struct nuc_support *s, const struct nuc_node *node, const struct nuc_node *other)
{
    return other != NULL && s->partitions->of[other->id] == s->partitions->of[node->id];
}

static bool clone_input_order(const struct nuc_rule_query *q)
{
    const struct nuc_meta *input = nuc_input_meta(q->node, 0);
    return is_inside(q->s, q->node, parent_of(q->node)) || has_border_order(input) ||
           nuc_rule_report(q, "contiguous or channels-last", "%s", nuc_meta_text(q->s->g->cx, input));
}

/* Some operator behind the clone's quantize node and its dequantize nodes lies outside the partition. */
static bool is_read_outside(const struct nuc_support *s, const struct nuc_node *node)
{
    if (node->n_users != 1 || !nuc_is_quantize(node->users[0]))
        return false;
    const struct nuc_node *quantize = node->users[0];
    for (uint32_t i = 0; i < quantize->n_users; i++) {
        if (!nuc_is_dequantize(quantize->users[i]))
            return false;
    }
    for (uint32_t i = 0; i < quantize->n_users; i++) {
        const struct nuc_node *dequantize = quantize->users[i];
        for (uint32_t k = 0; k < dequantize->n_users; k++) {
            if (!is_inside(s, node, dequantize->users[k]))
                return true;
        }
    }
    return false;
}

static bool clone_output_order(const struct nuc_rule_query *q)
{
    return !is_read_outside(q->s, q->node) || has_border_order(&q->node->vals[0]) ||
           nuc_rule_report(q, "contiguous or channels-last", "%s", nuc_meta_text(q->s->g->cx, &q->node->vals[0]));
}

const struct nuc_support_rule nuc_clone_partition[] = {
    {"the copy is not alone in its partition", clone_not_alone, 0},
    {"a copy of a partition's input reads a dim order the runtime can pass", clone_input_order, 0},
    {"a copy that leaves its partition has a dim order the runtime can pass", clone_output_order, 0},
    {NULL, NULL, 0},
};
