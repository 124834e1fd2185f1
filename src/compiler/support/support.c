#include "compiler/support/support.h"

#include <string.h>

#include "compiler/support/facts.h"
#include "compiler/support/rules31.h"
#include "host/text.h"

/* One row an Edge operator; an operator without a row never runs on the NPU. */
static const struct nuc_support_row rows[NUC_OP_COUNT] = {
    [NUC_OP_EDGE_CONVOLUTION] = {.supported = true,
                                 .channels_first = true,
                                 .ir = nuc_convolution_ir,
                                 .target = nuc_convolution_target},
    [NUC_OP_EDGE_ABS] = {.supported = true, .target = nuc_unary_target},
    [NUC_OP_EDGE_EXP] = {.supported = true, .target = nuc_unary_target},
    [NUC_OP_EDGE_HARDSWISH] = {.supported = true, .target = nuc_unary_target},
    [NUC_OP_EDGE_LEAKY_RELU] = {.supported = true, .target = nuc_unary_target},
    [NUC_OP_EDGE_LOG] = {.supported = true, .target = nuc_unary_target},
    [NUC_OP_EDGE_NEG] = {.supported = true, .ir = nuc_neg31_ir, .target = nuc_unary_target},
    [NUC_OP_EDGE_RSQRT] = {.supported = true, .target = nuc_unary_target},
    [NUC_OP_EDGE_SIGMOID] = {.supported = true, .target = nuc_unary_target},
    [NUC_OP_EDGE_TANH] = {.supported = true, .target = nuc_unary_target},
    [NUC_OP_EDGE_PRELU] = {.supported = true, .ir = nuc_prelu_ir, .target = nuc_binary_target},
    [NUC_OP_EDGE_CLAMP] = {.supported = true, .target = nuc_hardtanh_target, .partition = nuc_hardtanh_partition},
    [NUC_OP_EDGE_SUB] = {.supported = true, .no_op = NUC_NO_OP_BY_TRIAL, .ir = nuc_add_ir, .target = nuc_add_target},
    [NUC_OP_EDGE_MUL] = {.supported = true, .no_op = NUC_NO_OP_BY_TRIAL, .target = nuc_binary_target},
    [NUC_OP_EDGE_MAXIMUM] = {.supported = true, .ir = nuc_extreme_ir, .target = nuc_binary_target},
    [NUC_OP_EDGE_MINIMUM] = {.supported = true, .ir = nuc_extreme_ir, .target = nuc_binary_target},
    [NUC_OP_EDGE_BMM] = {.supported = true, .ir = nuc_bmm31_ir, .target = nuc_bmm_target},
    [NUC_OP_EDGE_AMAX] = {.supported = true, .no_op = NUC_NO_OP_BY_TRIAL, .ir = nuc_mean_ir, .target = nuc_mean_target},
    [NUC_OP_EDGE_AMIN] = {.supported = true, .no_op = NUC_NO_OP_BY_TRIAL, .ir = nuc_mean_ir, .target = nuc_mean_target},
    [NUC_OP_EDGE_SUM_DIM] = {.supported = true,
                             .no_op = NUC_NO_OP_BY_TRIAL,
                             .ir = nuc_mean_ir,
                             .target = nuc_mean_target},
    [NUC_OP_EDGE_CAT] = {.supported = true, .no_op = NUC_NO_OP_OF_ONE, .ir = nuc_cat31_ir, .target = nuc_cat_target},
    [NUC_OP_EDGE_SLICE] = {.supported = true, .ir = nuc_slice31_ir, .target = nuc_slice_target},
    [NUC_OP_EDGE_PAD] = {.supported = true, .ir = nuc_reflect_ir, .target = nuc_unary_target},
    [NUC_OP_EDGE_UPSAMPLE_BILINEAR] = {.supported = true,
                                       .channels_first = true,
                                       .ir = nuc_upsample31_ir,
                                       .target = nuc_bilinear_target,
                                       .partition = nuc_upsample_partition},
    [NUC_OP_EDGE_UPSAMPLE_NEAREST] = {.supported = true,
                                      .channels_first = true,
                                      .ir = nuc_upsample31_ir,
                                      .target = nuc_nearest_target,
                                      .partition = nuc_upsample_partition},
    [NUC_OP_EDGE_RELU] = {.supported = true, .target = nuc_unary_target, .partition = nuc_relu_partition},
    [NUC_OP_EDGE_HARDTANH] = {.supported = true, .target = nuc_hardtanh_target, .partition = nuc_hardtanh_partition},
    [NUC_OP_EDGE_ADD] = {.supported = true, .no_op = NUC_NO_OP_BY_TRIAL, .ir = nuc_add_ir, .target = nuc_add_target},
    [NUC_OP_EDGE_MAX_POOL2D] = {.supported = true,
                                .channels_first = true,
                                .ir = nuc_max_pool_ir,
                                .target = nuc_max_pool_target},
    [NUC_OP_EDGE_AVG_POOL2D] = {.supported = true,
                                .channels_first = true,
                                .ir = nuc_avg_pool_ir,
                                .target = nuc_avg_pool_target},
    [NUC_OP_EDGE_ADAPTIVE_AVG_POOL2D] = {.supported = true,
                                         .channels_first = true,
                                         .ir = nuc_adaptive_pool_ir,
                                         .target = nuc_adaptive_pool_target},
    [NUC_OP_EDGE_MEAN_DIM] = {.supported = true,
                              .ir = nuc_mean_ir,
                              .target = nuc_mean_target,
                              .partition = nuc_mean_partition},
    [NUC_OP_EDGE_CONSTANT_PAD] = {.supported = true, .ir = nuc_pad_ir, .target = nuc_pad_target},
    [NUC_OP_EDGE_VIEW] = {.supported = true, .no_op = NUC_ALWAYS_NO_OP, .ir = nuc_view_ir},
    [NUC_OP_EDGE_PERMUTE] = {.supported = true,
                             .no_op = NUC_NO_OP_BY_TRIAL,
                             .ir = nuc_permute_ir,
                             .target = nuc_permute_target,
                             .partition = nuc_permute_partition},
    [NUC_OP_EDGE_ADDMM] = {.supported = true, .ir = nuc_addmm_ir, .target = nuc_addmm_target},
    [NUC_OP_EDGE_MM] = {.supported = true, .ir = nuc_mm_ir, .target = nuc_mm_target},
    [NUC_OP_EDGE_SOFTMAX] = {.supported = true, .ir = nuc_softmax_ir, .target = nuc_softmax_target},
    [NUC_OP_EDGE_CLONE] = {.supported = true,
                           .no_op = NUC_ALWAYS_NO_OP,
                           .ir = nuc_clone_ir,
                           .partition = nuc_clone_partition},
    [NUC_OP_EDGE_CLONE_DIM_ORDER] = {.supported = true,
                                     .no_op = NUC_ALWAYS_NO_OP,
                                     .ir = nuc_clone_ir,
                                     .partition = nuc_clone_partition},
};

static const struct nuc_support_row *const rule_sets[NUC_RULE_SET_COUNT] = {
    [NUC_RULES_SDK_3_2] = rows,
    [NUC_RULES_SDK_3_1] = nuc_rules31_rows,
};

static const struct nuc_verdict passed = {true, NULL, "", "", NULL};

const struct nuc_support_row *nuc_support_row(const struct nuc_flavor *flavor, enum nuc_op op)
{
    return &rule_sets[flavor->rules][op];
}

static const struct nuc_support_row *row_of(const struct nuc_support *s, const struct nuc_node *node)
{
    return nuc_support_row(s->flavor, node->op);
}

/* The template with what was found and what is allowed in it. */
static const char *filled_in(struct nuc_context *cx, const char *template, const struct nuc_verdict *v)
{
    struct nuc_text text;

    nuc_text_init(&text, cx);
    for (const char *p = template; *p != '\0'; p++) {
        if (strncmp(p, "{actual}", 8) == 0) {
            nuc_text_addf(&text, "%s", v->actual);
            p += 7;
        } else if (strncmp(p, "{limit}", 7) == 0) {
            nuc_text_addf(&text, "%s", v->limit);
            p += 6;
        } else {
            nuc_text_addf(&text, "%c", *p);
        }
    }
    return nuc_text_string(&text);
}

static struct nuc_verdict check_rules(const struct nuc_support *s, const struct nuc_node *node,
                                      const struct nuc_support_rule *rules)
{
    for (const struct nuc_support_rule *r = rules; r != NULL && r->text != NULL; r++) {
        struct nuc_verdict v = {false, r->text, "", "", NULL};
        struct nuc_rule_query q = {s, node, r->param, &v};
        if (r->holds(&q))
            continue;
        if (v.fix == NULL && nuc_rule_fix(r->text) != NULL)
            v.fix = filled_in(s->g->cx, nuc_rule_fix(r->text), &v);
        return v;
    }
    return passed;
}

struct nuc_verdict nuc_check_format(const struct nuc_support *s, const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_arg_node(node, 0);

    if (!row_of(s, node)->channels_first ||
        (node->format == NUC_CHANNELS_FIRST && input != NULL && input->format == NUC_CHANNELS_FIRST))
        return passed;
    return (struct nuc_verdict){false, "input and output are channels-first data", "another format", "CHANNELS_FIRST",
                                "give the operator a batch dimension"};
}

struct nuc_verdict nuc_check_ir(const struct nuc_support *s, const struct nuc_node *node)
{
    return check_rules(s, node, row_of(s, node)->ir);
}

struct nuc_verdict nuc_check_target(const struct nuc_support *s, const struct nuc_node *node)
{
    return check_rules(s, node, row_of(s, node)->target);
}

struct nuc_verdict nuc_check_support(const struct nuc_support *s, const struct nuc_node *node)
{
    if (!row_of(s, node)->supported)
        return (struct nuc_verdict){false, "the NPU has the operator", nuc_op_name(node->op), "",
                                    nuc_operator_fix(node->op)};
    struct nuc_verdict v = nuc_check_format(s, node);
    if (v.ok)
        v = nuc_check_ir(s, node);
    if (v.ok)
        v = nuc_check_target(s, node);
    return v;
}

struct nuc_verdict nuc_check_partition(const struct nuc_support *s, const struct nuc_node *node)
{
    return check_rules(s, node, row_of(s, node)->partition);
}
