#include "back/program/legalize.h"

#include "ir/args.h"
#include "ir/op_list.h"
#include "npu/layout/orders.h"

/* Which dim orders an operator needs: rows NEEDS of the schema (src/ir/ops.def). */
enum need { NEED_NOTHING, NEED_FIRST, NEED_ALL, NEED_SAME, NEED_RESULT, NEED_KEPT };

/* Of kernels that refuse other dim orders, or read tensors as if they were contiguous. */
static const enum need needs[NUC_OP_COUNT] = {
#define NEEDS(op, order) [NUC_OP_##op] = NEED_##order,
#include "ir/ops.def"
};

/* What ExecuTorch's LegalizePortableDimOrderPass looks after, and norms, which fail there when the program runs. */
static const enum nuc_op *const reference_ops =
    NUC_OPS(NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D, NUC_OP_AVG_POOL2D, NUC_OP_EXPAND, NUC_OP_MEAN_DIM, NUC_OP_SUM_DIM,
            NUC_OP_NATIVE_LAYER_NORM, NUC_OP_NATIVE_GROUP_NORM);

static bool operands_differ(const struct nuc_node *node)
{
    struct nuc_cursor at = {0, 0};
    const struct nuc_node *first = nuc_next_input(node, &at);

    for (const struct nuc_node *in = first; in != NULL; in = nuc_next_input(node, &at)) {
        if (!nuc_same_order(&first->vals[0], &in->vals[0]) || !nuc_same_sizes(&first->vals[0], &in->vals[0]))
            return true;
    }
    return false;
}

/* How many of the operands, from the first on, have to be contiguous. */
static uint32_t contiguous_operands(enum need need, const struct nuc_node *node)
{
    if (need == NEED_FIRST)
        return 1;
    return need == NEED_ALL || (need == NEED_SAME && operands_differ(node)) ? UINT32_MAX : 0;
}

/*
 * A delegate's payload and a convolution's result were made for the dim order they read, as were the int8 operators of
 * a Cortex-M, but for those that go value by value.
 */
static bool keeps_order(const struct nuc_node *user)
{
    return user->op == NUC_OP_CALL_DELEGATE || needs[user->op] == NEED_RESULT || needs[user->op] == NEED_KEPT;
}

/* The meta follows from the inputs again; results of a tuple are restored where they are read. */
static void refresh(struct nuc_graph *g, struct nuc_node *node, bool *stale)
{
    struct nuc_meta before = node->vals[0];

    nuc_infer_shape(g, node);
    if (!node->is_tuple) {
        if (nuc_meta_equal(&before, &node->vals[0]))
            return;
        nuc_keep_order_for(g, node, &before, keeps_order);
    }
    /* Marks what reads `node`, because its meta is another one now. */
    for (uint32_t i = 0; i < node->n_users; i++)
        stale[node->users[i]->id] = true;
}

static void legalize(struct nuc_graph *g, struct nuc_node *node, enum need need, bool *stale)
{
    uint32_t left = contiguous_operands(need, node);
    struct nuc_cursor at = {0, 0};

    for (struct nuc_node *in; left > 0 && (in = nuc_next_input(node, &at)) != NULL; left--) {
        if (nuc_is_contiguous(&in->vals[0]))
            continue;
        struct nuc_meta contiguous = nuc_in_contiguous_order(&in->vals[0]);
        nuc_replace_input(g, node, in, nuc_insert_in_order(g, node, NUC_OP_TO_DIM_ORDER_COPY, in, &contiguous));
        stale[node->id] = true;
    }
    if (stale[node->id])
        refresh(g, node, stale);
    if (need == NEED_RESULT) {
        /* The first operand in the dim order of the result, which stays. */
        struct nuc_node *first = nuc_arg_node(node, NUC_SELF);
        if (first != NULL && !nuc_same_order(&first->vals[0], &node->vals[0]))
            nuc_set_arg_node(node, g, NUC_SELF,
                             nuc_insert_in_order(g, node, NUC_OP_TO_DIM_ORDER_COPY, first, &node->vals[0]));
    }
}

/* ExecuTorch's kernel that quantizes per channel takes float64 scales alone; the one that dequantizes takes either. */
static void widen_scales(struct nuc_graph *g, struct nuc_node *quantize)
{
    struct nuc_node *scales = nuc_arg_node(quantize, NUC_ARG(QUANTIZE_PER_CHANNEL, scales));

    if (scales == NULL || !nuc_is_static(scales) || scales->data == NULL || scales->vals[0].dtype != NUC_F32)
        return;
    struct nuc_meta meta = scales->vals[0];
    size_t count = (size_t)nuc_elements(&meta);
    const float *narrow = nuc_const_contiguous(g, scales);
    double *wide = nuc_alloc_array(g->cx, count, sizeof *wide);
    for (size_t i = 0; i < count; i++)
        wide[i] = (double)narrow[i];
    meta.dtype = NUC_F64;
    struct nuc_node *widened =
        nuc_add_placeholder(g, nuc_format(g->cx, "%s_float64", scales->name), NUC_PARAMETER, &meta);
    widened->data = nuc_dense_data(g->cx, &meta, wide);
    widened->target = widened->name;
    nuc_made_of(widened, scales);
    nuc_replace_input(g, quantize, scales, widened);
}

void nuc_legalize_dim_orders(struct nuc_graph *g, bool as_reference)
{
    /* Upper bound of the ids in use when all copies are there: one per use in front of and one after each node. */
    size_t ids = (size_t)g->next_id + 1;
    for (const struct nuc_node *node = g->first; node != NULL; node = node->next)
        ids += 2 + (size_t)nuc_inputs(node, NULL, 0);
    bool *stale = nuc_alloc_array(g->cx, ids, sizeof *stale);

    for (struct nuc_node *node = g->first; node != NULL; node = node->next) {
        if (nuc_is_call(node) && node->op != NUC_OP_CALL_DELEGATE)
            legalize(g, node, as_reference && !nuc_op_is_in(node->op, reference_ops) ? NEED_NOTHING : needs[node->op],
                     stale);
        else if (node->op == NUC_OP_CALL_DELEGATE && !as_reference) {
            /* Where both orders are the same bytes a delegate knows the name contiguous alone. */
            const struct nuc_arg *inputs = &node->args[NUC_ARG(CALL_DELEGATE, inputs)];
            for (uint32_t i = 0; i < inputs->count; i++) {
                struct nuc_node *in = inputs->u.nodes[i];
                if (in == NULL || nuc_is_contiguous(&in->vals[0]) || !nuc_lies_contiguous(&in->vals[0]))
                    continue;
                struct nuc_meta contiguous = nuc_in_contiguous_order(&in->vals[0]);
                nuc_replace_input(g, node, in, nuc_insert_in_order(g, node, NUC_OP_TO_DIM_ORDER_COPY, in, &contiguous));
            }
        }
        if (node->op == NUC_OP_QUANTIZE_PER_CHANNEL && !as_reference)
            widen_scales(g, node);
    }
}

/* The tensor that the value is, or is a view of. */
static const struct nuc_node *viewed(const struct nuc_node *value)
{
    while (nuc_op_family(value->op) == NUC_FAMILY_VIEW || value->op == NUC_OP_NUCLEON_PERMUTE_VIEW)
        value = nuc_arg_node(value, NUC_SELF);
    return value;
}

void nuc_settle_states(struct nuc_graph *g)
{
    struct nuc_node *output = nuc_output_node(g);
    const struct nuc_arg *list = &output->args[NUC_ARG(OUTPUT, values)];
    const struct nuc_states states = nuc_states_of(g);
    struct nuc_node **values = nuc_copy(g->cx, list->u.nodes, list->count * sizeof(struct nuc_node *));

    if (states.count == 0)
        return;
    for (uint32_t i = 0; i < states.first_next; i++) {
        if (values[i] != NULL && nuc_is_state(viewed(values[i])))
            values[i] = nuc_insert_in_order(g, output, NUC_OP_TO_DIM_ORDER_COPY, values[i], &values[i]->vals[0]);
    }
    for (uint32_t i = 0; i < states.count; i++) {
        const struct nuc_node *n = states.nodes[i];
        struct nuc_node **next = &values[states.first_next + i];
        bool is_other = nuc_is_state(viewed(*next)) && *next != n;
        if (is_other || !nuc_same_layout(&(*next)->vals[0], &n->vals[0]))
            *next = nuc_insert_in_order(g, output, NUC_OP_TO_DIM_ORDER_COPY, *next, &n->vals[0]);
    }
    nuc_set_arg_nodes(output, g, NUC_ARG(OUTPUT, values), values, list->count);
}

void nuc_sink_constant_operators(struct nuc_graph *g)
{
    bool *constant = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof *constant);

    for (const struct nuc_node *node = g->first; node != NULL; node = node->next) {
        /* An operator over constants alone, which comes out the same in every run. */
        struct nuc_cursor at = {0, 0};
        const struct nuc_node *in = nuc_next_input(node, &at);
        while (in != NULL && (nuc_is_static(in) || constant[in->id]))
            in = nuc_next_input(node, &at);
        constant[node->id] = nuc_is_call(node) && node->op != NUC_OP_CALL_DELEGATE && in == NULL;
    }
    /* From the back: the users of a node are where they stay when it is its turn. */
    for (struct nuc_node *node = g->last, *before; node != NULL; node = before) {
        struct nuc_node *user = node->next;
        before = node->prev;
        while (constant[node->id] && user != NULL && !nuc_is_user(node, user))
            user = user->next;
        if (user != NULL && user != node->next)
            nuc_move_before(g, node, user);
    }
}
