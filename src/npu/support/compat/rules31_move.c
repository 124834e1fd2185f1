/* Rule set sdk-3.1: concatenation, padding, permutation, slices, views. */
#include "npu/support/compat/rules31.h"

/* ---- cat: tensors, dim ---- */

static const struct nuc_arg *tensors_of(const struct nuc_node *node)
{
    return nuc_arg_at(node, NUC_ARG(CAT, tensors));
}

/* Where the axis lies in stored order. */
static uint32_t cat_axis(const struct nuc_node *node)
{
    return nuc_stored_axis(node, nuc_integer(node, NUC_ARG(CAT, dim), 0));
}

/* Channels of an input, by the format of the concatenation. */
static int64_t cat_channels(const struct nuc_node *node, const struct nuc_node *value)
{
    return value->vals[0].rank == 0 ? 1 : value->vals[0].sizes[nuc_channels_dim(node)];
}

/* Equal pieces along the last axis, which the converter pads itself. */
static bool cat_pads_itself(const struct nuc_node *node)
{
    const struct nuc_arg *list = tensors_of(node);

    for (uint32_t i = 1; i < list->count; i++) {
        if (!nuc_same_sizes(&list->u.nodes[0]->vals[0], &list->u.nodes[i]->vals[0]))
            return false;
    }
    return node->vals[0].rank > 0 && cat_axis(node) + 1 == node->vals[0].rank;
}

static bool cat_input_channels(const struct nuc_rule_query *q)
{
    const struct nuc_arg *list = tensors_of(q->node);
    bool ok = true;

    for (uint32_t i = 0; ok && i < list->count && !cat_pads_itself(q->node); i++)
        ok = nuc_is_multiple(q, "input channels", cat_channels(q->node, list->u.nodes[i]));
    return ok;
}

static bool cat_output_channels(const struct nuc_rule_query *q)
{
    return cat_pads_itself(q->node) || nuc_is_multiple(q, "output channels", cat_channels(q->node, q->node));
}

static bool cat_count(const struct nuc_rule_query *q)
{
    const struct nuc_node *inputs[2];
    uint32_t count = nuc_distinct_inputs(q->node, inputs, 2);

    return count >= 2 || nuc_rule_report(q, "at least 2", "%u", count);
}

/* What computes `value`, before quantize and dequantize nodes. */
static const struct nuc_node *producer_of(const struct nuc_node *value)
{
    while (value != NULL && nuc_is_quantization(value))
        value = nuc_arg_node(value, NUC_SELF);
    return value;
}

static bool has_leading_size(const struct nuc_node *value, const struct nuc_node *node, uint32_t axis)
{
    const struct nuc_meta *m = &value->vals[0];
    struct perm31 last = nuc_to_channels_last(m->rank);

    for (uint32_t i = 0; i < axis && i < m->rank; i++) {
        if (m->sizes[nuc_is_channels_first(node) ? last.map[i] : i] != 1)
            return true;
    }
    return false;
}

/* The converter joins inputs of the program wrongly when nothing stands before the axis. */
static bool cat_of_boundaries(const struct nuc_rule_query *q)
{
    const struct nuc_arg *list = tensors_of(q->node);
    uint32_t axis = cat_axis(q->node);
    const struct nuc_node *outside = NULL;

    for (uint32_t i = 0; i < list->count && outside == NULL; i++) {
        if (!nuc_is_in_same_partition(q->s, q->node, producer_of(list->u.nodes[i])))
            outside = list->u.nodes[i];
    }
    for (uint32_t i = 0; i < list->count && outside != NULL; i++) {
        if (!has_leading_size(list->u.nodes[i], q->node, axis))
            return nuc_rule_report(q, "", "%s comes from outside, %s", outside->name,
                                   nuc_rule_shape_text(q, list->u.nodes[i]));
    }
    return true;
}

/* ---- constant_pad_nd: self, pad, value ---- */

static bool pad_channels(const struct nuc_rule_query *q)
{
    const struct nuc_arg *pad = nuc_arg_at(q->node, NUC_ARG(CONSTANT_PAD, pad));
    uint32_t at = nuc_is_channels_first(q->node) ? 4 : 0;

    if (pad->kind != NUC_ARG_INTS || pad->count < at + 2 || (pad->u.ints[at] == 0 && pad->u.ints[at + 1] == 0))
        return true;
    return nuc_rule_report(q, "0, 0", "%lld, %lld", (long long)pad->u.ints[at], (long long)pad->u.ints[at + 1]);
}

/* ---- permute_copy: self, dims ---- */

/*
 * Between formats a permutation is up to three transposes: channels-last to channels-first (`pre`), torch's own
 * (`main`) and back (`post`); neighbours may be done as one.
 */
static bool permute_possible(const struct nuc_target *target, const struct nuc_node *node, struct perm31 perm)
{
    const struct nuc_node *input = nuc_arg_node(node, NUC_SELF);
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF), *out = &node->vals[0];
    uint32_t rank = in->rank;
    struct perm31 first = nuc_to_channels_first(rank), last = nuc_to_channels_last(rank);
    struct perm31 first_perm = nuc_combined31(first, perm, rank);
    struct nuc_meta stored = nuc_permuted31(in, last);
    bool pre = nuc_can_transpose31(target, &stored, first), main = nuc_can_transpose31(target, in, perm);
    bool post = nuc_can_transpose31(target, out, last);
    bool pre_main = nuc_can_transpose31(target, &stored, first_perm);
    bool main_post = nuc_can_transpose31(target, in, nuc_combined31(perm, last, rank));
    /* Asked about the Edge shape, as the converter does, although the tensor has the stored one. */
    bool all = nuc_can_transpose31(target, in, nuc_combined31(first_perm, last, rank));

    if (nuc_is_channels_first(input) && nuc_is_channels_first(node))
        return (pre && main && post) || (pre && main_post) || (pre_main && post) || all;
    if (nuc_is_channels_first(input))
        return (pre && main) || pre_main;
    return nuc_is_channels_first(node) ? (main && post) || main_post : main;
}

static bool permute_transposes(const struct nuc_rule_query *q)
{
    const struct nuc_node *input = nuc_arg_node(q->node, NUC_SELF);
    const struct nuc_meta *in = nuc_input_meta(q->node, NUC_SELF);
    struct perm31 perm = {{0}};

    if (nuc_is_effectively_static(input))
        return true;
    const struct nuc_arg *dims = nuc_arg_at(q->node, NUC_ARG(PERMUTE, dims));
    if (dims->kind != NUC_ARG_INTS || dims->count != in->rank)
        return nuc_rule_report(q, "", "no permutation");
    for (uint32_t i = 0; i < in->rank; i++) {
        int64_t d = dims->u.ints[i] < 0 ? dims->u.ints[i] + in->rank : dims->u.ints[i];
        if (d < 0 || d >= (int64_t)in->rank)
            return nuc_rule_report(q, "", "no permutation");
        perm.map[i] = (uint32_t)d;
    }
    struct nuc_meta stored = nuc_stored_meta(input);
    if (nuc_keeps_data_order(in, perm) && nuc_keeps_data_order(&stored, perm))
        return true;
    return permute_possible(q->s->target, q->node, perm) ||
           nuc_rule_report(q,
                           nuc_rule_text(q, "batch 1, the moved groups multiples of %u, [0, 3, 1, 2] or [0, 2, 3, 1]",
                                         q->s->target->num_macs),
                           "%s by dimensions %u, %u, ...", nuc_rule_shape_text(q, input), perm.map[0],
                           in->rank > 1 ? perm.map[1] : 0);
}

/* ---- slice_copy: self, dim, start, end, step ---- */

static uint32_t slice_axis(const struct nuc_node *node)
{
    return nuc_stored_axis(nuc_arg_node(node, NUC_SELF), nuc_integer(node, NUC_ARG(SLICE, dim), 0));
}

static bool slice_multiple(const struct nuc_rule_query *q)
{
    struct nuc_meta shape = nuc_stored_meta(nuc_arg_node(q->node, NUC_SELF));
    uint32_t axis = slice_axis(q->node);

    return nuc_is_multiple(q, "the sliced dimension", axis < shape.rank ? shape.sizes[axis] : 0);
}

/* A slice along another axis is one along the last axis between two swaps of the two. */
static bool slice_swap(const struct nuc_rule_query *q)
{
    struct nuc_meta shape = nuc_stored_meta(nuc_arg_node(q->node, NUC_SELF));
    uint32_t axis = slice_axis(q->node), last = shape.rank > 0 ? shape.rank - 1 : 0;
    struct perm31 swap = {{0}};

    for (uint32_t i = 0; i < shape.rank; i++)
        swap.map[i] = i == axis ? last : i == last ? axis : i;
    return axis >= last || nuc_can_transpose31(q->s->target, &shape, swap) ||
           nuc_rule_report(q, "the last axis, or one with only ones after it", "axis %u of %u in stored order", axis,
                           shape.rank);
}

/* ---- view_copy: self, size ---- */

/* The only reader after quantize and dequantize nodes, or NULL. */
static const struct nuc_node *only_reader(const struct nuc_node *node)
{
    while (node->n_users == 1) {
        node = node->users[0];
        if (!nuc_is_quantization(node))
            return node;
    }
    return NULL;
}

/* Flattening in front of a fully connected layer, whose weights can be permuted instead. */
static bool is_absorbed(const struct nuc_support *s, const struct nuc_node *node)
{
    const struct nuc_node *linear = only_reader(node);
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF), *out = &node->vals[0];

    if (linear == NULL || (linear->op != NUC_OP_ADDMM && linear->op != NUC_OP_MM) ||
        !nuc_is_in_same_partition(s, node, linear))
        return false;
    const struct nuc_meta *weight =
        nuc_input_meta(linear, linear->op == NUC_OP_ADDMM ? NUC_ARG(ADDMM, mat2) : NUC_OTHER);
    return out->rank == 2 && in->rank > 0 && out->sizes[0] == in->sizes[0] && out->sizes[1] == weight->sizes[0];
}

static bool view_input(const struct nuc_rule_query *q)
{
    const struct nuc_node *input = nuc_arg_node(q->node, NUC_SELF);
    struct nuc_meta shape = nuc_stored_meta(input);

    if (!nuc_is_channels_first(input) || nuc_can_transpose31(q->s->target, &shape, nuc_to_channels_first(shape.rank)))
        return true;
    return (!nuc_is_channels_first(q->node) && is_absorbed(q->s, q->node)) ||
           nuc_rule_report(
               q, nuc_rule_text(q, "batch 1, channels and height * width multiples of %u", q->s->target->num_macs),
               "%s", nuc_rule_shape_text(q, input));
}

static bool view_output(const struct nuc_rule_query *q)
{
    const struct nuc_meta *out = &q->node->vals[0];

    return !nuc_is_channels_first(q->node) || nuc_can_transpose31(q->s->target, out, nuc_to_channels_last(out->rank)) ||
           nuc_rule_report(q, nuc_rule_text(q, "batch 1, channels and width multiples of %u", q->s->target->num_macs),
                           "%s", nuc_rule_shape_text(q, q->node));
}

/* ---- rows ---- */

const struct nuc_support_row nuc_move31_rows[] = {
    {.ops = NUC_OPS(NUC_OP_CAT),
     .ir = nuc_cat_ir,
     .target = RULES(
         WAIVABLE(
             NUC_WAIVE_CAT_SIZES,
             "the inputs' channels are multiples of the dot product's length, or equal pieces are joined along the "
             "last axis",
             cat_input_channels, 0),
         WAIVABLE(
             NUC_WAIVE_CAT_SIZES,
             "the result's channels are a multiple of the dot product's length, or equal pieces are joined along the "
             "last axis",
             cat_output_channels, 0),
         WAIVABLE(NUC_WAIVE_CAT_SIZES, "at least two different tensors are joined", cat_count, 0)),
     .partition =
         RULES(RULE("when an input comes from outside the partition, a dimension before the axis is larger than 1",
                    cat_of_boundaries, 0))},
    {.ops = NUC_OPS(NUC_OP_CONSTANT_PAD),
     .ir = nuc_pad_ir,
     .target = RULES(RULE("the channels are not padded", pad_channels, 0))},
    {.ops = NUC_OPS(NUC_OP_PERMUTE),
     .ir = nuc_shared_quantization_ir,
     .target = RULES(RULE(
         "the permutation swaps two groups of dimensions like the axes of a matrix, or keeps the order of the data",
         permute_transposes, 0))},
    {.ops = NUC_OPS(NUC_OP_SLICE),
     .ir = nuc_slice_ir,
     .target = RULES(RULE("the sliced dimension is a multiple of the dot product's length", slice_multiple, 0),
                     RULE("the sliced dimension can be swapped with the last one", slice_swap, 0))},
    {.ops = NUC_OPS(NUC_OP_VIEW),
     .no_op = NUC_ALWAYS_NO_OP,
     .ir = nuc_view_ir,
     .partition = RULES(RULE("channels-first data to be reshaped can be transposed, or a fully connected layer takes "
                             "the transpose over",
                             view_input, 0),
                        RULE("a channels-first result can be transposed", view_output, 0))},
    {.ops = NUC_OPS(NUC_OP_CLONE, NUC_OP_CLONE_DIM_ORDER),
     .no_op = NUC_ALWAYS_NO_OP,
     .ir = nuc_clone_ir,
     .partition = nuc_clone_partition},
    ROWS_END,
};
