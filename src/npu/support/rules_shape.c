/* Operators that move or relabel data: padding, permutation, view, clone. */
#include "npu/support/rules.h"

/* ---- constant_pad_nd: self, pad, value ---- */

static uint32_t pad_count(const struct nuc_node *node)
{
    const struct nuc_arg *pad = nuc_arg_at(node, NUC_ARG(CONSTANT_PAD, pad));

    return pad->kind == NUC_ARG_INTS ? pad->count : 0;
}

static bool pad_pairs(const struct nuc_rule_query *q)
{
    uint32_t count = pad_count(q->node);

    return count % 2 == 0 || nuc_rule_report(q, "an even number", "%u", count);
}

static bool pad_rank(const struct nuc_rule_query *q)
{
    uint32_t count = pad_count(q->node), rank = nuc_input_meta(q->node, NUC_SELF)->rank;

    return count <= 2 * rank || nuc_rule_report(q, nuc_rule_text(q, "%u", 2 * rank), "%u", count);
}

/* Elements are taken off before others are added. */
static bool pad_leaves(const struct nuc_rule_query *q)
{
    const struct nuc_arg *pad = nuc_arg_at(q->node, NUC_ARG(CONSTANT_PAD, pad));
    const struct nuc_meta *in = nuc_input_meta(q->node, NUC_SELF);
    uint32_t count = pad_count(q->node);

    for (uint32_t i = 0; i + 1 < count && i / 2 < in->rank; i += 2) {
        int64_t before = pad->u.ints[i], after = pad->u.ints[i + 1], size = in->sizes[in->rank - 1 - i / 2];
        if (size + (before < 0 ? before : 0) + (after < 0 ? after : 0) <= 0)
            return nuc_rule_report(q, "an element at least", "%lld and %lld of %lld", (long long)before,
                                   (long long)after, (long long)size);
    }
    return true;
}

const struct nuc_support_rule nuc_pad_ir[] = {
    RULE("there are at most two paddings for each dimension", pad_rank, 0),
    RULE("paddings come in pairs", pad_pairs, 0),
    RULE("negative paddings leave something of each dimension", pad_leaves, 0),
    RULE_SHARED_QUANTIZATION,
    RULES_END,
};

/* ---- permute_copy: self, dims ---- */

const struct nuc_support_rule nuc_shared_quantization_ir[] = {RULE_SHARED_QUANTIZATION, RULES_END};

/* A permutation of static data is done while compiling. */
static bool permute_input(const struct nuc_rule_query *q)
{
    return nuc_is_effectively_static(nuc_arg_node(q->node, NUC_SELF)) || nuc_inputs_are_8bit(q);
}

static bool permute_output(const struct nuc_rule_query *q)
{
    return nuc_is_effectively_static(nuc_arg_node(q->node, NUC_SELF)) || nuc_output_is_8bit(q);
}

static bool permute_rank(const struct nuc_rule_query *q)
{
    uint32_t rank = q->node->vals[0].rank;

    return rank <= NUC_MAX_TRANSPOSE_RANK || nuc_is_effectively_static(nuc_arg_node(q->node, NUC_SELF)) ||
           nuc_rule_report(q, nuc_rule_text(q, "up to %d", NUC_MAX_TRANSPOSE_RANK), "%u", rank);
}

static bool permute_not_static_alone(const struct nuc_rule_query *q)
{
    return !nuc_is_alone(q->s, q->node) || !nuc_is_effectively_static(nuc_arg_node(q->node, NUC_SELF)) ||
           nuc_rule_report(q, "", "a parameter is permuted");
}

/* ---- view_copy: self, size ---- */

static bool view_rank(const struct nuc_rule_query *q)
{
    uint32_t rank = q->node->vals[0].rank;
    return rank < q->s->target->view_rank_limit ||
           nuc_rule_report(q, nuc_rule_text(q, "below %u", q->s->target->view_rank_limit), "%u", rank);
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
    const struct nuc_meta *input = nuc_input_meta(q->node, NUC_SELF);
    return flat_size(input) == flat_size(&q->node->vals[0]) ||
           nuc_rule_report(q, nuc_meta_text(q->s->g->cx, input), "%s", nuc_meta_text(q->s->g->cx, &q->node->vals[0]));
}

const struct nuc_support_rule nuc_view_ir[] = {
    RULE("the result has fewer dimensions than the converter's limit", view_rank, 0),
    RULE("input and result have as many elements", view_elements, 0),
    RULES_END,
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
    if (q->node->op == NUC_OP_CLONE) {
        const struct nuc_arg *a = nuc_arg_at(q->node, NUC_ARG(CLONE, memory_format));
        bool keeps = a->kind == NUC_ARG_MEMORY_FORMAT &&
                     (a->u.memory_format == NUC_CONTIGUOUS_FORMAT || a->u.memory_format == NUC_PRESERVE_FORMAT);
        return keeps || nuc_rule_report(q, "contiguous or preserved", "another memory format");
    }
    return is_identity_order(nuc_arg_at(q->node, NUC_ARG(CLONE_DIM_ORDER, dim_order)), q->node->vals[0].rank) ||
           nuc_rule_report(q, "the contiguous dim order", "%s", nuc_meta_text(q->s->g->cx, &q->node->vals[0]));
}

const struct nuc_support_rule nuc_clone_ir[] = {
    RULE("the copy is contiguous", clone_format, 0),
    RULES_END,
};

static bool clone_not_alone(const struct nuc_rule_query *q)
{
    return !nuc_is_alone(q->s, q->node) || nuc_rule_report(q, "", "it would leave the partition empty");
}

static bool has_boundary_order(const struct nuc_meta *m)
{
    return nuc_is_contiguous(m) || nuc_is_channels_last(m);
}

static bool clone_input_order(const struct nuc_rule_query *q)
{
    const struct nuc_meta *input = nuc_input_meta(q->node, NUC_SELF);
    return nuc_is_in_same_partition(q->s, q->node,
                                    nuc_quantize_source(nuc_dequantize_source(nuc_arg_node(q->node, NUC_SELF)))) ||
           has_boundary_order(input) ||
           nuc_rule_report(q, "contiguous or channels-last", "%s", nuc_meta_text(q->s->g->cx, input));
}

/* Some operator after the clone's quantize node and its dequantize nodes lies outside the partition. */
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
            if (!nuc_is_in_same_partition(s, node, dequantize->users[k]))
                return true;
        }
    }
    return false;
}

static bool clone_output_order(const struct nuc_rule_query *q)
{
    return !is_read_outside(q->s, q->node) || has_boundary_order(&q->node->vals[0]) ||
           nuc_rule_report(q, "contiguous or channels-last", "%s", nuc_meta_text(q->s->g->cx, &q->node->vals[0]));
}

const struct nuc_support_rule nuc_clone_partition[] = {
    RULE("the copy is not alone in its partition", clone_not_alone, 0),
    RULE("a copy of a partition's input reads a dim order the runtime can pass", clone_input_order, 0),
    RULE("a copy that leaves its partition has a dim order the runtime can pass", clone_output_order, 0),
    RULES_END,
};

/* ---- rows ---- */

const struct nuc_support_row nuc_shape_rows[] = {
    {.ops = NUC_OPS(NUC_OP_CONSTANT_PAD), .ir = nuc_pad_ir, .target = nuc_unary_target},
    {.ops = NUC_OPS(NUC_OP_VIEW), .no_op = NUC_ALWAYS_NO_OP, .ir = nuc_view_ir},
    {.ops = NUC_OPS(NUC_OP_PERMUTE),
     .no_op = NUC_NO_OP_BY_TRIAL,
     .ir = nuc_shared_quantization_ir,
     .target = RULES(
         RULE("as many dimensions as the converter transposes, unless the input is static", permute_rank, 0),
         RULE("the input is static or quantized to int8 or uint8", permute_input, 1),
         RULE("the input is static, or the output is read by one quantize node of int8 or uint8", permute_output, 0)),
     .partition = RULES(
         RULE("alone in its partition the permutation has data to permute at run time", permute_not_static_alone, 0))},
    {.ops = NUC_OPS(NUC_OP_CLONE, NUC_OP_CLONE_DIM_ORDER),
     .no_op = NUC_ALWAYS_NO_OP,
     .ir = nuc_clone_ir,
     .partition = nuc_clone_partition},
    ROWS_END,
};
