/*
 * The reference writes a number as divisor as a whole tensor, which costs memory and gains nothing. Where its results
 * are to be reproduced, so is that.
 */
#include <string.h>

#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

static bool materialize(struct nuc_graph *g, struct nuc_node *div)
{
    struct nuc_node *divisor = nuc_arg_node(div, NUC_OTHER);
    const struct nuc_meta *in = &nuc_operand(g, div, NUC_SELF)->vals[0];

    /* A number in the source became a constant that has no state-dict name of its own. */
    if (!(nuc_is_static_float(divisor) && divisor->input_kind == NUC_CONSTANT && divisor->vals[0].rank == 0 &&
          strcmp(divisor->target, divisor->name) == 0) ||
        in->rank == 0)
        return false;
    struct nuc_meta meta = nuc_meta_make(NUC_F32, in->sizes, in->rank);
    size_t elements = (size_t)nuc_elements(&meta);
    float *data = nuc_alloc_array(g->cx, elements, sizeof *data);
    for (size_t k = 0; k < elements; k++)
        data[k] = *(const float *)nuc_const_contiguous(g, divisor);
    nuc_set_arg_node(div, g, NUC_OTHER, nuc_take_parameter(g, divisor, "_spread", &meta, data));
    return true;
}

bool nuc_materialize_divisors(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_DIV), materialize);
}
