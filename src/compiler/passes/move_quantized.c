/*
 * A permutation or concatenation that stays on the CPU between dequantize and quantize nodes of one scale and zero
 * point moves the quantized values: dequantizing and quantizing again changes none of them.
 */
#include "compiler/graph/quant.h"
#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/cluster.h"

static bool same_parameters(const struct nuc_node *a, const struct nuc_node *b)
{
    struct nuc_quant x, y;

    return nuc_quant_of(a, &x) && nuc_quant_of(b, &y) && nuc_same_parameters(&x, &y);
}

struct members {
    const struct nuc_node *first; /* whose parameters all others have */
    bool equal;
};

static void check_input(void *user, struct nuc_node *input)
{
    struct members *m = user;

    if (m->first == NULL)
        m->first = input;
    m->equal &= input->op == NUC_OP_DEQUANTIZE_PER_TENSOR && input->n_users == 1 && same_parameters(input, m->first);
}

/* Each dequantize node read by it alone, each reader a quantize node, all of one type. */
static bool can_move(const struct nuc_node *node)
{
    struct members m = {NULL, true};

    nuc_for_each_input(node, check_input, &m);
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        m.equal &= user->op == NUC_OP_QUANTIZE_PER_TENSOR && m.first != NULL && same_parameters(user, m.first);
    }
    return m.equal && m.first != NULL && node->n_users > 0 && !node->is_tuple;
}

/* What the dequantize nodes read, in their places. */
static void read_quantized(struct nuc_graph *g, struct nuc_node *node)
{
    uint32_t count = nuc_inputs(node, NULL, 0);
    struct nuc_node **inputs = nuc_alloc_array(g->cx, count, sizeof *inputs);

    nuc_inputs(node, inputs, count);
    for (uint32_t i = 0; i < count; i++) {
        if (nuc_is_dequantize(inputs[i]))
            nuc_replace_input(g, node, inputs[i], nuc_operand(g, inputs[i], NUC_SELF));
    }
}

bool nuc_move_quantized(struct nuc_graph *g)
{
    uint32_t count;
    struct nuc_node **nodes = nuc_collect(g, NUC_OPS(NUC_OP_PERMUTE, NUC_OP_CAT), &count);
    bool changed = false;

    for (uint32_t i = 0; i < count; i++) {
        struct nuc_node *n = nodes[i];
        if (!can_move(n))
            continue;
        read_quantized(g, n);
        nuc_infer_shape(g, n);
        while (n->n_users > 0 && nuc_is_quantize(n->users[0])) {
            struct nuc_node *quantize = n->users[0];
            nuc_replace_uses(g, quantize, n, NULL);
            nuc_remove_node(g, quantize);
        }
        changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
