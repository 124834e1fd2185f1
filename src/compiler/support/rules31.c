/* Rule set sdk-3.1: one row an Edge operator, and the shapes and permutations its rules reason about. */
#include "compiler/support/rules31.h"

/* An operator without a row never runs on the NPU. */
const struct nuc_support_row nuc_rules31_rows[NUC_OP_COUNT] = {
    [NUC_OP_EDGE_ABS] = {.supported = true},
    [NUC_OP_EDGE_ADAPTIVE_AVG_POOL2D] = {.supported = true, .channels_first = true, .ir = nuc_adaptive_pool_ir},
    [NUC_OP_EDGE_ADD] = {.supported = true, .no_op = NUC_NO_OP_BY_TRIAL, .target = nuc_same_shape31},
    [NUC_OP_EDGE_ADDMM] = {.supported = true, .ir = nuc_addmm31_ir},
    [NUC_OP_EDGE_AVG_POOL2D] = {.supported = true, .ir = nuc_avg_pool_ir},
    [NUC_OP_EDGE_BMM] = {.supported = true, .ir = nuc_bmm31_ir, .target = nuc_bmm31_target},
    [NUC_OP_EDGE_CAT] = {.supported = true,
                         .ir = nuc_cat31_ir,
                         .target = nuc_cat31_target,
                         .partition = nuc_cat31_partition},
    [NUC_OP_EDGE_CLAMP] = {.supported = true, .target = nuc_clamp31_target, .partition = nuc_clamp31_partition},
    [NUC_OP_EDGE_CLONE] = {.supported = true,
                           .no_op = NUC_ALWAYS_NO_OP,
                           .ir = nuc_clone_ir,
                           .partition = nuc_clone_partition},
    [NUC_OP_EDGE_CLONE_DIM_ORDER] = {.supported = true,
                                     .no_op = NUC_ALWAYS_NO_OP,
                                     .ir = nuc_clone_ir,
                                     .partition = nuc_clone_partition},
    [NUC_OP_EDGE_CONSTANT_PAD] = {.supported = true, .ir = nuc_pad_ir, .target = nuc_pad31_target},
    [NUC_OP_EDGE_CONVOLUTION] = {.supported = true, .ir = nuc_convolution_ir, .target = nuc_conv31_target},
    [NUC_OP_EDGE_HARDTANH] = {.supported = true,
                              .target = nuc_hardtanh31_target,
                              .partition = nuc_hardtanh31_partition},
    [NUC_OP_EDGE_LEAKY_RELU] = {.supported = true},
    [NUC_OP_EDGE_MAX_POOL2D] = {.supported = true, .ir = nuc_max_pool_ir, .target = nuc_max_pool31_target},
    [NUC_OP_EDGE_MEAN_DIM] = {.supported = true, .ir = nuc_mean_ir, .target = nuc_mean31_target},
    [NUC_OP_EDGE_MM] = {.supported = true, .ir = nuc_mm31_ir},
    [NUC_OP_EDGE_MUL] = {.supported = true, .no_op = NUC_NO_OP_BY_TRIAL, .target = nuc_mul31_target},
    [NUC_OP_EDGE_NEG] = {.supported = true, .ir = nuc_neg31_ir},
    [NUC_OP_EDGE_PERMUTE] = {.supported = true, .ir = nuc_permute_ir, .target = nuc_permute31_target},
    [NUC_OP_EDGE_PRELU] = {.supported = true, .target = nuc_prelu31_target},
    [NUC_OP_EDGE_RELU] = {.supported = true, .partition = nuc_relu31_partition},
    [NUC_OP_EDGE_SIGMOID] = {.supported = true},
    [NUC_OP_EDGE_SLICE] = {.supported = true, .ir = nuc_slice31_ir, .target = nuc_slice31_target},
    [NUC_OP_EDGE_SOFTMAX] = {.supported = true, .ir = nuc_softmax31_ir, .target = nuc_softmax31_target},
    [NUC_OP_EDGE_SUB] = {.supported = true, .no_op = NUC_NO_OP_BY_TRIAL, .target = nuc_same_shape31},
    [NUC_OP_EDGE_TANH] = {.supported = true},
    [NUC_OP_EDGE_UPSAMPLE_BILINEAR] = {.supported = true,
                                       .channels_first = true,
                                       .ir = nuc_upsample31_ir,
                                       .target = nuc_upsample31_target},
    [NUC_OP_EDGE_UPSAMPLE_NEAREST] = {.supported = true,
                                      .channels_first = true,
                                      .ir = nuc_upsample31_ir,
                                      .target = nuc_upsample31_target},
    [NUC_OP_EDGE_VIEW] = {.supported = true,
                          .no_op = NUC_ALWAYS_NO_OP,
                          .ir = nuc_view_ir,
                          .partition = nuc_view31_partition},
};

/* ---- shapes ---- */

bool nuc_is_channels_first(const struct nuc_node *node)
{
    return node != NULL && node->format == NUC_CHANNELS_FIRST;
}

struct shape31 nuc_rule_edge_shape(const struct nuc_node *node)
{
    struct shape31 shape = {.rank = 0};

    if (node == NULL || node->n_vals == 0)
        return shape;
    shape.rank = node->vals[0].rank;
    for (uint32_t i = 0; i < shape.rank; i++)
        shape.sizes[i] = node->vals[0].sizes[i];
    return shape;
}

struct shape31 nuc_rule_stored_shape(const struct nuc_node *node)
{
    struct shape31 edge = nuc_rule_edge_shape(node), shape = edge;
    struct perm31 last = nuc_to_channels_last(edge.rank);

    if (!nuc_is_channels_first(node) || edge.rank < 3)
        return edge;
    for (uint32_t i = 0; i < shape.rank; i++)
        shape.sizes[i] = edge.sizes[last.map[i]];
    return shape;
}

int64_t nuc_rule_channels_of(const struct nuc_node *node)
{
    struct shape31 shape = nuc_rule_stored_shape(node);

    return shape.rank > 0 ? shape.sizes[shape.rank - 1] : 1;
}

int64_t nuc_positive_dim(const struct nuc_node *node, int64_t dim)
{
    int64_t rank = node != NULL && node->n_vals > 0 ? node->vals[0].rank : 0;

    return dim < 0 ? dim + rank : dim;
}

int64_t nuc_multiple_above(int64_t size, int64_t factor)
{
    int64_t rest = size % factor;

    return rest == 0 || size > INT64_MAX - factor ? size : size + factor - rest;
}

bool nuc_refuse_multiple(const struct nuc_rule_query *q, const char *what, int64_t size)
{
    int64_t macs = q->s->target->num_macs;

    nuc_rule_advise(q, "pad %s %lld to %lld", what, (long long)size, (long long)nuc_multiple_above(size, macs));
    return nuc_rule_report(q, nuc_format(q->s->g->cx, "a multiple of %lld", (long long)macs), "%s %lld", what,
                           (long long)size);
}

/* ---- permutations ---- */

struct perm31 nuc_to_channels_last(uint32_t rank)
{
    struct perm31 p = {{0}};

    for (uint32_t i = 0; i < rank; i++)
        p.map[i] = i == 0 ? 0 : i == rank - 1 ? 1 : i + 1;
    if (rank < 3) {
        for (uint32_t i = 0; i < rank; i++)
            p.map[i] = i;
    }
    return p;
}

struct perm31 nuc_to_channels_first(uint32_t rank)
{
    struct perm31 p = {{0}};

    for (uint32_t i = 0; i < rank; i++)
        p.map[i] = rank < 3 || i == 0 ? i : i == 1 ? rank - 1 : i - 1;
    return p;
}

struct perm31 nuc_rule_combined31(struct perm31 a, struct perm31 b, uint32_t rank)
{
    struct perm31 c = {{0}};

    for (uint32_t i = 0; i < rank; i++)
        c.map[i] = a.map[b.map[i]];
    return c;
}

bool nuc_keeps_data_order(const struct shape31 *shape, struct perm31 perm)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < shape->rank; i++) {
        uint32_t from = perm.map[i];
        if (shape->sizes[from] == 1)
            continue;
        if (from < last)
            return false;
        last = from;
    }
    return true;
}

/*
 * Two groups of dimensions change places like rows and columns of a matrix, whose sizes are both multiples of the dot
 * product's length. Towards channels-first the rows are height * width, towards channels-last they are the width.
 */
bool nuc_can_transpose31(const struct nuc_target *target, const struct shape31 *shape, struct perm31 perm)
{
    const int64_t *s = shape->sizes, macs = target->num_macs;

    if (nuc_keeps_data_order(shape, perm))
        return true;
    if (shape->rank != 4 || s[0] != 1 || perm.map[0] != 0)
        return false;
    if (perm.map[1] == 3 && perm.map[2] == 1 && perm.map[3] == 2)
        return s[3] % macs == 0 && (s[1] % macs) * (s[2] % macs) % macs == 0;
    if (perm.map[1] == 2 && perm.map[2] == 3 && perm.map[3] == 1)
        return s[3] % macs == 0 && s[1] % macs == 0;
    return false;
}

bool nuc_can_transpose(const struct nuc_target *target, const struct nuc_flavor *flavor, const int64_t *sizes,
                       const uint32_t *perm, uint32_t rank)
{
    struct shape31 shape = {.rank = rank};
    struct perm31 p = {{0}};

    if (flavor->rules != NUC_RULES_SDK_3_1)
        return true;
    for (uint32_t i = 0; i < rank; i++) {
        shape.sizes[i] = sizes[i];
        p.map[i] = perm[i];
    }
    return nuc_can_transpose31(target, &shape, p);
}
