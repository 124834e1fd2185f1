#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

static bool is_pool(enum nuc_op op)
{
    return op == NUC_OP_ADAPTIVE_AVG_POOL2D || op == NUC_OP_AVG_POOL2D || op == NUC_OP_MAX_POOL2D;
}

static struct nuc_node *add_reshape(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *input,
                                    const struct nuc_node *from, const struct nuc_meta *meta)
{
    struct nuc_node *reshape = nuc_insert(g, before, NUC_OP_RESHAPE, from);

    nuc_set_arg_node(reshape, g, NUC_SELF, input);
    nuc_set_arg_ints(reshape, g, NUC_ARG(RESHAPE, shape), meta->sizes, meta->rank);
    nuc_set_val(g, reshape, meta);
    return reshape;
}

/* [C, H, W] with a batch dimension of 1 in front. */
static struct nuc_meta with_batch(const struct nuc_meta *m)
{
    int64_t sizes[4] = {1, m->sizes[0], m->sizes[1], m->sizes[2]};

    return nuc_meta_make(m->dtype, sizes, 4);
}

bool nuc_batch_pools(struct nuc_graph *g)
{
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!is_pool(n->op))
            continue;
        struct nuc_node *input = nuc_operand(g, n, NUC_SELF);
        if (input->vals[0].rank != 3)
            continue;
        struct nuc_meta in = with_batch(&input->vals[0]), out3 = n->vals[0], out = with_batch(&n->vals[0]);
        nuc_set_arg_node(n, g, NUC_SELF, add_reshape(g, n, input, n, &in));
        nuc_set_val(g, n, &out);
        struct nuc_node *back = add_reshape(g, n->next, n, n, &out3);
        nuc_replace_uses(g, n, back, back);
        changed = true;
    }
    return changed;
}
