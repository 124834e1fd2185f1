/*
 * Recurrent layers on the CPU. Gates and states need no observer: their int8 kernel keeps them in 16 and 32 bits, which
 * hold whatever they can become. Biases stay as they are until the kernel's numbers are computed.
 */
#include "compiler/graph/recurrent_args.h"
#include "compiler/quantize/annotate_private.h"

/* One layer without projection, all of whose weights are constants. */
static bool has_kernel(const struct nuc_recurrent *r)
{
    if (r->layers != 1 || r->projected || !nuc_is_quantizable(r->input))
        return false;
    for (uint32_t i = 0; i < r->per_cell * r->directions; i++) {
        if (!nuc_is_static(r->params[i]) || !nuc_is_quantizable(r->params[i]))
            return false;
    }
    return true;
}

void nuc_annotate_recurrent(struct nuc_annotator *a, struct nuc_node *node)
{
    struct nuc_recurrent r = nuc_recurrent_of(node);
    const struct nuc_qspec *activation = nuc_spec_for(a, node, NUC_SPEC_ACTIVATION);

    if (a->side[node->id] != NUC_SIDE_CPU || !has_kernel(&r))
        return;
    nuc_annotate_input(a, node, r.input, activation);
    for (uint32_t s = 0; s < r.n_states; s++) {
        if (!nuc_is_zero_state(a->g, r.states[s]))
            nuc_annotate_input(a, node, r.states[s], activation);
    }
    for (uint32_t i = 0; i < r.directions; i++) {
        struct nuc_recurrent_cell cell = nuc_recurrent_cell(&r, i);
        nuc_annotate_input(a, node, cell.w_ih, nuc_spec_for(a, node, NUC_SPEC_WEIGHT_AXIS_0));
        nuc_annotate_input(a, node, cell.w_hh, nuc_spec_for(a, node, NUC_SPEC_WEIGHT_AXIS_0));
    }
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (node->users[i]->op == NUC_OP_GETITEM)
            nuc_annotate_output(a, node->users[i], activation);
    }
}
