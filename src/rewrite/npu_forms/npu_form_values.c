#include "rewrite/formula/formula.h"
#include "rewrite/npu_forms/npu_forms.h"

struct nuc_node *nuc_built(const struct nuc_support *s, struct nuc_node *node, const char *name,
                           const struct nuc_arg *args, size_t n_args)
{
    return nuc_formula_call(s->formulas, s->g, node, name, args, n_args);
}

bool nuc_can_view(const struct nuc_support *s, uint32_t rank)
{
    struct nuc_meta meta = {.dtype = NUC_F32, .rank = (uint8_t)rank};
    struct nuc_node input = {.n_vals = 1, .vals = &meta};
    struct nuc_arg args[] = {nuc_node_arg(&input)};
    struct nuc_node view = {.op = NUC_OP_VIEW, .args = args, .n_args = 1, .n_vals = 1, .vals = &meta};

    return rank <= NUC_MAX_RANK && nuc_check_unquantized(s, NUC_OP_VIEW, &view).ok;
}

bool nuc_is_float_value(const struct nuc_node *x)
{
    return x != NULL && !x->is_tuple && x->n_vals == 1 && x->vals[0].dtype == NUC_F32 && nuc_elements(&x->vals[0]) > 0;
}

/* What a quotient by few values has at least for each of them. */
#define LEAST_QUOTIENTS 4

bool nuc_divides_by_few(const struct nuc_node *node)
{
    const struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);

    return nuc_is_real_value(node) && nuc_is_real_value(a) && nuc_is_real_value(b) && !nuc_is_static(b) &&
           LEAST_QUOTIENTS * nuc_elements(&b->vals[0]) <= nuc_elements(&node->vals[0]);
}
