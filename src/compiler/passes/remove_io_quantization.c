#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

static void take_quantized(struct nuc_graph *g, struct nuc_node *input)
{
    struct nuc_node *quantize = input->n_users > 0 ? input->users[0] : NULL;

    if (input->n_users > 1)
        nuc_fail(g->cx, NUC_UNSUPPORTED,
                 "%s: input '%s' has %u readers, so it cannot become an input of quantized values: keep float inputs",
                 g->file, input->name, input->n_users);
    if (quantize == NULL || quantize->op != NUC_OP_QUANTIZE_PER_TENSOR)
        return;
    nuc_set_val(g, input, &quantize->vals[0]);
    nuc_replace_uses(g, quantize, input, NULL);
    nuc_remove_node(g, quantize);
}

static void give_quantized(struct nuc_graph *g, struct nuc_node *output)
{
    struct nuc_arg *values = &output->args[0];
    struct nuc_node **given = nuc_alloc_array(g->cx, values->count, sizeof *given);

    for (uint32_t i = 0; i < values->count; i++) {
        struct nuc_node *value = values->u.nodes[i];
        bool quantized = value != NULL && value->op == NUC_OP_DEQUANTIZE_PER_TENSOR;
        given[i] = quantized ? nuc_operand(g, value, 0) : value;
    }
    nuc_set_arg_nodes(output, g, 0, given, values->count);
}

void nuc_remove_io_quantization(struct nuc_graph *g)
{
    struct nuc_node *output = nuc_output_node(g);

    for (struct nuc_node *n = g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (n->input_kind == NUC_USER_INPUT)
            take_quantized(g, n);
    }
    if (output != NULL && output->args[0].kind == NUC_ARG_NODES)
        give_quantized(g, output);
    nuc_remove_dead(g);
    nuc_rename_as_traced(g);
}
