#include "eval/eval.h"
#include "ir/quant.h"
#include "rewrite/passes.h"
#include "rewrite/rewrite.h"

const struct nuc_quant *nuc_io_quantization_of(struct nuc_context *cx, const struct nuc_node *node, enum nuc_op op)
{
    struct nuc_quant q;
    bool says = node != NULL && node->op == op && nuc_quant_of(node, &q);

    return says ? nuc_copy(cx, &q, sizeof q) : NULL;
}

/* The reader whose parameters the input gets: the first one in graph order that quantizes. */
static struct nuc_node *first_quantize(const struct nuc_node *input)
{
    for (struct nuc_node *n = input->next; n != NULL; n = n->next) {
        if (n->op == NUC_OP_QUANTIZE_PER_TENSOR && nuc_arg_node(n, NUC_SELF) == input)
            return n;
    }
    return NULL;
}

/* The float values of the input for readers that need them, or need them in other steps. */
static void dequantize_for_others(struct nuc_graph *g, struct nuc_node *input, const struct nuc_node *quantize)
{
    struct nuc_meta meta = input->vals[0];
    struct nuc_node *first_call = input;

    while (nuc_is_placeholder(first_call))
        first_call = first_call->next;
    struct nuc_node *d = nuc_insert(g, first_call, NUC_OP_DEQUANTIZE_PER_TENSOR, quantize);
    nuc_replace_uses(g, input, d, NULL);
    nuc_set_arg_node(d, g, NUC_SELF, input);
    for (uint32_t i = 1; i < 6; i++)
        nuc_copy_arg(g, d, i, quantize, i);
    nuc_set_val(g, d, &meta);
}

static const struct nuc_quant *take_quantized(struct nuc_graph *g, struct nuc_node *input, bool strict)
{
    struct nuc_node *quantize = first_quantize(input);

    if (strict && input->n_users > 1)
        nuc_fail(g->cx, NUC_UNSUPPORTED,
                 "%s: input '%s' has %u readers, so it cannot become an input of quantized values: keep float inputs",
                 g->file, input->name, input->n_users);
    if (quantize == NULL)
        return NULL;
    const struct nuc_quant *parameters = nuc_io_quantization_of(g->cx, quantize, NUC_OP_QUANTIZE_PER_TENSOR);
    struct nuc_meta meta = quantize->vals[0];
    struct nuc_node **merged = nuc_alloc_array(g->cx, input->n_users, sizeof(struct nuc_node *));
    uint32_t n_merged = 0;

    for (uint32_t i = 0; i < input->n_users; i++) {
        struct nuc_node *reader = input->users[i];
        if (reader->op == NUC_OP_QUANTIZE_PER_TENSOR && nuc_same_quantization(reader, quantize))
            merged[n_merged++] = reader;
    }
    if (n_merged < input->n_users)
        dequantize_for_others(g, input, quantize);
    nuc_set_val(g, input, &meta);
    for (uint32_t i = 0; i < n_merged; i++) {
        nuc_replace_uses(g, merged[i], input, NULL);
        nuc_remove_node(g, merged[i]);
    }
    return parameters;
}

/* What a state begins with, as its quantize node gives it. */
static void quantize_initial(struct nuc_graph *g, struct nuc_node *state, struct nuc_node *quantize)
{
    struct nuc_node *first_call = state;
    void *bytes;

    while (nuc_is_placeholder(first_call))
        first_call = first_call->next;
    struct nuc_node *initial = nuc_add_constant(g, "initial", &state->vals[0], nuc_const_in_dim_order(g, state));
    struct nuc_node *node = nuc_insert(g, first_call, NUC_OP_QUANTIZE_PER_TENSOR, quantize);
    nuc_set_arg_node(node, g, NUC_SELF, initial);
    for (uint32_t i = 1; i < 6; i++)
        nuc_copy_arg(g, node, i, quantize, i);
    nuc_set_val(g, node, &quantize->vals[0]);
    if (!nuc_eval_constant(g, node, &bytes))
        nuc_fail(g->cx, NUC_INTERNAL, "%s: the initial value of '%s' is not known", g->file, state->name);
    state->data = nuc_dense_data(g->cx, &quantize->vals[0], nuc_in_dim_order(g->cx, &quantize->vals[0], bytes));
    nuc_remove_node(g, node);
    nuc_remove_node(g, initial);
}

void nuc_quantize_states(struct nuc_graph *g)
{
    struct nuc_node *output = nuc_output_node(g);
    const struct nuc_arg *values = &output->args[NUC_ARG(OUTPUT, values)];
    const struct nuc_states states = nuc_states_of(g);
    struct nuc_node **given = nuc_copy(g->cx, values->u.nodes, values->count * sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < states.count; i++) {
        struct nuc_node **next = &given[states.first_next + i], *quantize = first_quantize(states.nodes[i]);
        if (quantize != NULL && (*next)->op == NUC_OP_DEQUANTIZE_PER_TENSOR && nuc_same_quantization(*next, quantize))
            *next = nuc_operand(g, *next, NUC_SELF);
    }
    nuc_set_arg_nodes(output, g, NUC_ARG(OUTPUT, values), given, values->count);
    /* What a state becomes may be the quantized value of another state, which is replaced here. */
    for (uint32_t i = 0; i < states.count; i++) {
        struct nuc_node *n = states.nodes[i];
        if (values->u.nodes[states.first_next + i]->vals[0].dtype == n->vals[0].dtype)
            continue;
        quantize_initial(g, n, first_quantize(n));
        take_quantized(g, n, false);
    }
    nuc_remove_dead(g);
}

void nuc_remove_io_quantization(struct nuc_graph *g, bool strict, struct nuc_io_quantizations *out)
{
    struct nuc_node *output = nuc_output_node(g);
    uint32_t n_inputs = 0;

    for (struct nuc_node *n = g->first; n != NULL && nuc_is_placeholder(n); n = n->next)
        n_inputs += n->input_kind == NUC_USER_INPUT;
    *out = (struct nuc_io_quantizations){.inputs = nuc_alloc_array(g->cx, n_inputs, sizeof *out->inputs)};
    for (struct nuc_node *n = g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (n->input_kind == NUC_USER_INPUT)
            out->inputs[out->n_inputs++] = take_quantized(g, n, strict);
    }
    if (output != NULL && output->args[NUC_ARG(OUTPUT, values)].kind == NUC_ARG_NODES) {
        struct nuc_arg *values = &output->args[NUC_ARG(OUTPUT, values)];
        struct nuc_node **given = nuc_alloc_array(g->cx, values->count, sizeof *given);
        out->n_outputs = nuc_n_results(g);
        out->outputs = nuc_alloc_array(g->cx, values->count, sizeof *out->outputs);
        for (uint32_t i = out->n_outputs; i < values->count; i++)
            given[i] = values->u.nodes[i];
        for (uint32_t i = 0; i < out->n_outputs; i++) {
            struct nuc_node *value = values->u.nodes[i];
            bool quantized = value != NULL && value->op == NUC_OP_DEQUANTIZE_PER_TENSOR;
            if (quantized)
                out->outputs[i] = nuc_io_quantization_of(g->cx, value, NUC_OP_DEQUANTIZE_PER_TENSOR);
            given[i] = quantized ? nuc_operand(g, value, NUC_SELF) : value;
        }
        nuc_set_arg_nodes(output, g, NUC_ARG(OUTPUT, values), given, values->count);
    }
    nuc_remove_dead(g);
    nuc_rename_as_traced(g);
}
