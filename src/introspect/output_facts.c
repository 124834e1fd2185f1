/* What the graph says of its inputs and outputs. */
#include <math.h>

#include "driver/model_metadata.h"
#include "introspect/introspect.h"
#include "ir/args.h"

/* ---- inputs ---- */

struct nuc_input_facts nuc_input_facts(const struct nuc_model *m, size_t input)
{
    const struct nuc_seen *seen = m->seen;
    struct nuc_input_facts facts = {
        .name = nuc_input_name(m, input), .least = (double)NAN, .most = (double)NAN, .images = NULL};

    if (seen != NULL && input < seen->n_inputs) {
        facts.least = seen->least[input];
        facts.most = seen->most[input];
    }
    if (seen != NULL)
        facts.images = seen->images;
    return facts;
}

/* ---- outputs ---- */

/* Elements keep their values and their number: the shape alone may be another. */
static bool is_reshaping(const struct nuc_node *n)
{
    enum nuc_family f = nuc_op_family(n->op);

    return f == NUC_FAMILY_VIEW || f == NUC_FAMILY_COPY || f == NUC_FAMILY_CAST || f == NUC_FAMILY_QUANT ||
           f == NUC_FAMILY_DEQUANT;
}

static const struct nuc_node *operand(const struct nuc_node *n)
{
    return n->n_args != 0 && n->args[NUC_SELF].kind == NUC_ARG_NODE ? n->args[NUC_SELF].u.node : NULL;
}

/*
 * The axis of a softmax in an output that may be a view of its value: that of the same size, where it is the only one.
 */
static bool find_axis(const struct nuc_node *softmax, const struct nuc_meta *output, size_t *axis)
{
    const struct nuc_meta *m = &softmax->vals[0];
    int64_t dim = softmax->args[NUC_ARG(SOFTMAX, dim)].u.i;
    size_t at = (size_t)(dim < 0 ? dim + m->rank : dim), found = 0;

    if (m->rank == 0)
        return false;
    *axis = at;
    if (nuc_same_sizes(m, output))
        return true;
    for (size_t i = 0; i < output->rank; i++) {
        if (output->sizes[i] != m->sizes[at])
            continue;
        *axis = i;
        found++;
    }
    return found == 1;
}

struct nuc_output_facts nuc_output_facts(const struct nuc_model *m, size_t output)
{
    struct nuc_output_facts facts = {.name = nuc_output_name(m, output),
                                     .has_channels_last = nuc_is_image_output(m, output)};
    const struct nuc_graph *g = m->graph;
    const struct nuc_node *n = nuc_output_node(g)->args[NUC_ARG(OUTPUT, values)].u.nodes[output];
    const struct nuc_meta *last = &n->vals[0];
    bool reshaped = false;
    while (n != NULL && is_reshaping(n)) {
        reshaped |= nuc_op_family(n->op) == NUC_FAMILY_VIEW;
        n = operand(n);
    }
    if (n == NULL)
        return facts;
    if (nuc_op_family(n->op) == NUC_FAMILY_SOFTMAX)
        facts.has_softmax = find_axis(n, last, &facts.axis);
    if (facts.has_softmax && facts.has_channels_last)
        facts.axis = facts.axis == 1 ? 3 : facts.axis == 0 ? 0 : facts.axis - 1;
    const struct nuc_node *tuple = n->op == NUC_OP_GETITEM ? operand(n) : NULL;
    facts.is_index = n->op == NUC_OP_ARGMAX || (tuple != NULL && nuc_op_family(tuple->op) == NUC_FAMILY_ORDER);
    facts.has_sigmoid = n->op == NUC_OP_SIGMOID || n->op == NUC_OP_HARDSIGMOID;
    facts.is_map = facts.has_sigmoid || n->op == NUC_OP_TANH;
    /* Through what each element goes through alone, a view may lie before. */
    while (n != NULL && (is_reshaping(n) || nuc_op_family(n->op) == NUC_FAMILY_MAP)) {
        reshaped |= nuc_op_family(n->op) == NUC_FAMILY_VIEW;
        n = operand(n);
    }
    /* Dimensions with more than one element after the first, which is the batch. */
    size_t n_real = 0;
    for (size_t i = 1; n != NULL && n->n_vals != 0 && i < n->vals[0].rank; i++)
        n_real += n->vals[0].sizes[i] > 1;
    facts.is_image = reshaped && n_real >= 2;
    return facts;
}
