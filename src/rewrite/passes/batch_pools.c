#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

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

static bool batch_pool(struct nuc_graph *g, struct nuc_node *pool)
{
    struct nuc_node *input = nuc_operand(g, pool, NUC_SELF);

    if (input->vals[0].rank != 3)
        return false;
    struct nuc_meta in = with_batch(&input->vals[0]), out3 = pool->vals[0], out = with_batch(&pool->vals[0]);
    nuc_set_arg_node(pool, g, NUC_SELF, add_reshape(g, pool, input, pool, &in));
    nuc_set_val(g, pool, &out);
    struct nuc_node *back = add_reshape(g, pool->next, pool, pool, &out3);
    nuc_replace_uses(g, pool, back, back);
    return true;
}

bool nuc_batch_pools(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_ADAPTIVE_AVG_POOL2D, NUC_OP_AVG_POOL2D, NUC_OP_MAX_POOL2D), batch_pool);
}
