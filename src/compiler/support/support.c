#include "compiler/support/support.h"

#include "compiler/support/facts.h"

/* One row an Edge operator; an operator without a row never runs on the NPU. */
static const struct nuc_support_row rows[NUC_OP_COUNT] = {
    [NUC_OP_EDGE_CONVOLUTION] = {.supported = true,
                                 .channels_first = true,
                                 .ir = convolution_ir,
                                 .target = convolution_target},
    [NUC_OP_EDGE_RELU] = {.supported = true, .target = relu_target, .partition = relu_partition},
    [NUC_OP_EDGE_HARDTANH] = {.supported = true, .target = hardtanh_target, .partition = hardtanh_partition},
    [NUC_OP_EDGE_ADD] = {.supported = true, .no_op = NUC_NO_OP_BY_TRIAL, .ir = add_ir, .target = add_target},
    [NUC_OP_EDGE_MAX_POOL2D] = {.supported = true,
                                .channels_first = true,
                                .ir = max_pool_ir,
                                .target = max_pool_target},
    [NUC_OP_EDGE_AVG_POOL2D] = {.supported = true,
                                .channels_first = true,
                                .ir = avg_pool_ir,
                                .target = avg_pool_target},
    [NUC_OP_EDGE_ADAPTIVE_AVG_POOL2D] = {.supported = true,
                                         .channels_first = true,
                                         .ir = adaptive_pool_ir,
                                         .target = adaptive_pool_target},
    [NUC_OP_EDGE_MEAN_DIM] = {.supported = true, .ir = mean_ir, .target = mean_target, .partition = mean_partition},
    [NUC_OP_EDGE_CONSTANT_PAD] = {.supported = true, .ir = pad_ir, .target = pad_target},
    [NUC_OP_EDGE_VIEW] = {.supported = true, .no_op = NUC_ALWAYS_NO_OP, .ir = view_ir},
    [NUC_OP_EDGE_PERMUTE] = {.supported = true,
                             .no_op = NUC_NO_OP_BY_TRIAL,
                             .ir = permute_ir,
                             .target = permute_target,
                             .partition = permute_partition},
    [NUC_OP_EDGE_ADDMM] = {.supported = true, .ir = addmm_ir, .target = addmm_target},
    [NUC_OP_EDGE_MM] = {.supported = true, .ir = mm_ir, .target = mm_target},
    [NUC_OP_EDGE_SOFTMAX] = {.supported = true, .ir = softmax_ir, .target = softmax_target},
    [NUC_OP_EDGE_CLONE] = {.supported = true, .no_op = NUC_ALWAYS_NO_OP, .ir = clone_ir, .partition = clone_partition},
    [NUC_OP_EDGE_CLONE_DIM_ORDER] = {.supported = true,
                                     .no_op = NUC_ALWAYS_NO_OP,
                                     .ir = clone_ir,
                                     .partition = clone_partition},
};

static const struct nuc_verdict passed = {true, NULL, "", ""};

const struct nuc_support_row *nuc_support_row(enum nuc_op op)
{
    return &rows[op];
}

static struct nuc_verdict check_rules(const struct nuc_support *s, const struct nuc_node *node,
                                      const struct nuc_support_rule *rules)
{
    for (const struct nuc_support_rule *r = rules; r != NULL && r->text != NULL; r++) {
        struct nuc_verdict v = {false, r->text, "", ""};
        struct nuc_rule_query q = {s, node, r->param, &v};
        if (!r->holds(&q))
            return v;
    }
    return passed;
}

struct nuc_verdict nuc_check_format(const struct nuc_support *s, const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_arg_node(node, 0);

    (void)s;
    if (!rows[node->op].channels_first ||
        (node->format == NUC_CHANNELS_FIRST && input != NULL && input->format == NUC_CHANNELS_FIRST))
        return passed;
    return (struct nuc_verdict){false, "input and output are channels-first data", "another format", "CHANNELS_FIRST"};
}

struct nuc_verdict nuc_check_ir(const struct nuc_support *s, const struct nuc_node *node)
{
    return check_rules(s, node, rows[node->op].ir);
}

struct nuc_verdict nuc_check_target(const struct nuc_support *s, const struct nuc_node *node)
{
    return check_rules(s, node, rows[node->op].target);
}

struct nuc_verdict nuc_check_support(const struct nuc_support *s, const struct nuc_node *node)
{
    if (!rows[node->op].supported)
        return (struct nuc_verdict){false, "the NPU has the operator", nuc_op_name(node->op), ""};
    struct nuc_verdict v = nuc_check_format(s, node);
    if (v.ok)
        v = nuc_check_ir(s, node);
    if (v.ok)
        v = nuc_check_target(s, node);
    return v;
}

struct nuc_verdict nuc_check_partition(const struct nuc_support *s, const struct nuc_node *node)
{
    return check_rules(s, node, rows[node->op].partition);
}
