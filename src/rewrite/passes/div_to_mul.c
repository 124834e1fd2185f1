/* x / d with static d becomes x * (1 / d): the NPU has no division. */
#include <math.h>

#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

#define NEAR_ZERO 1e-12f /* a divisor of this size and below is left to the division */

/* 1 / d, or NULL when an element is too small. */
static struct nuc_node *reciprocal(struct nuc_graph *g, const struct nuc_node *divisor)
{
    size_t count = (size_t)nuc_elements(&divisor->vals[0]);
    const float *d = nuc_const_contiguous(g, divisor);
    float *r = nuc_alloc_array(g->cx, count, sizeof *r);
    uint32_t number = 0;

    for (size_t i = 0; i < count; i++) {
        if (fabsf(d[i]) <= NEAR_ZERO)
            return NULL;
        r[i] = 1.0f / d[i];
    }
    struct nuc_node *made = nuc_add_parameter(g, divisor, "", &divisor->vals[0], r);
    const char *name = nuc_format(g->cx, "multiplier_%u", number);
    while (nuc_find_node(g, name) != NULL)
        name = nuc_format(g->cx, "multiplier_%u", ++number);
    nuc_rename(g, made, name);
    made->target = made->name;
    return made;
}

static bool to_mul(struct nuc_graph *g, bool in_place)
{
    uint32_t count;
    struct nuc_node **divs = nuc_collect(g, NUC_OPS(NUC_OP_DIV), &count);
    bool changed = false;

    for (uint32_t i = 0; i < count; i++) {
        struct nuc_node *div = divs[i], *divisor = nuc_arg_node(div, NUC_OTHER);
        bool invertible = div->in_place == in_place && nuc_is_static_float(divisor);
        struct nuc_node *multiplier = invertible ? reciprocal(g, divisor) : NULL;
        if (multiplier == NULL)
            continue;
        struct nuc_node *mul = nuc_insert(g, div, NUC_OP_MUL, div);
        nuc_set_arg_node(mul, g, NUC_SELF, nuc_operand(g, div, NUC_SELF));
        nuc_set_arg_node(mul, g, NUC_OTHER, multiplier);
        nuc_set_val(g, mul, &div->vals[0]);
        nuc_replace_uses(g, div, mul, NULL);
        nuc_remove_node(g, div);
        changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}

bool nuc_div_to_mul(struct nuc_graph *g)
{
    return to_mul(g, false);
}

bool nuc_div_in_place_to_mul(struct nuc_graph *g)
{
    return to_mul(g, true);
}
