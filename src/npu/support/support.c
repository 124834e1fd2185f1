#include "npu/support/support.h"

#include <assert.h>
#include <string.h>

#include "host/text.h"
#include "ir/op_list.h"
#include "npu/support/compat/rules31.h"
#include "npu/support/rules.h"

#define MAX_ROW_LISTS 8

static const struct nuc_support_row *const rule_sets[NUC_RULE_SET_COUNT][MAX_ROW_LISTS] = {
    [NUC_RULES_SDK_3_2] = {nuc_activation_rows, nuc_conv_rows, nuc_elementwise_rows, nuc_math_rows, nuc_move_rows,
                           nuc_shape_rows},
    [NUC_RULES_SDK_3_1] = {nuc_math31_rows, nuc_move31_rows},
};

static const struct nuc_verdict passed = {true, NULL, "", "", NULL};

const struct nuc_support_row *nuc_support_row(const struct nuc_flavor *flavor, enum nuc_op op)
{
    const struct nuc_support_row *const *lists = rule_sets[flavor->rules];

    for (uint32_t i = 0; i < MAX_ROW_LISTS && lists[i] != NULL; i++) {
        for (const struct nuc_support_row *row = lists[i]; row->ops != NULL; row++) {
            if (nuc_op_is_in(op, row->ops))
                return row;
        }
    }
    return NULL;
}

enum nuc_no_op nuc_no_op_kind(const struct nuc_flavor *flavor, enum nuc_op op)
{
    const struct nuc_support_row *row = nuc_support_row(flavor, op);

    return row != NULL ? row->no_op : NUC_NEVER_NO_OP;
}

/* ---- operators the NPU does not have ---- */

/* What to use in their place. */
static const struct {
    enum nuc_op op;
    const char *fix;
} replacements[] = {
    {NUC_OP_GELU, "use hardswish or relu instead"},
    {NUC_OP_NATIVE_BATCH_NORM, "put the batch norm right after a convolution or linear, where it is folded"},
    {NUC_OP_DIV, "multiply by the reciprocal instead"},
    {NUC_OP_SQRT, "use rsqrt and a product instead"},
    {NUC_OP_WHERE, "use minimum, maximum or clamp instead"},
    {NUC_OP_GT_SCALAR, "use clamp or a sigmoid instead"},
    {NUC_OP_SPLIT_WITH_SIZES, "use slices instead"},
    {NUC_OP_INDEX, "use slices instead"},
    {NUC_OP_SLICE_SCATTER, "use cat of slices instead"},
    {NUC_OP_EXPAND, "let the operator after it broadcast instead"},
    {NUC_OP_SQUEEZE_DIM, "use view instead"},
    {NUC_OP_SQUEEZE, "use view instead"},
    {NUC_OP_SQUEEZE_DIMS, "use view instead"},
    {NUC_OP_UNSQUEEZE, "use view instead"},
};

static struct nuc_verdict no_operator(enum nuc_op op)
{
    struct nuc_verdict v = {false, "the NPU supports the operator", nuc_op_name(op, NUC_EDGE), "",
                            "use an operator that 'nucleon ops' lists"};

    for (size_t i = 0; i < sizeof replacements / sizeof replacements[0]; i++) {
        if (replacements[i].op == op)
            v.fix = replacements[i].fix;
    }
    return v;
}

/* ---- rules ---- */

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

static bool rule_holds(const struct nuc_rule_query *q, const struct nuc_support_rule *r)
{
    assert((r->holds != NULL) != (r->measure != NULL));
    if ((r->waived_by & q->s->waived) != 0)
        return true;
    if (r->measure == NULL)
        return r->holds(q);
    return nuc_rule_within(q, r->measure(q), *(const int64_t *)((const char *)q->s->target + r->limit));
}

static struct nuc_verdict check_rules(const struct nuc_support *s, const struct nuc_node *node,
                                      const struct nuc_support_rule *rules)
{
    for (const struct nuc_support_rule *r = rules; r != NULL && r->text != NULL; r++) {
        struct nuc_verdict v = {false, r->text, "", "", NULL};
        struct nuc_rule_query q = {s, node, r->param, &v};
        if (rule_holds(&q, r))
            continue;
        if (v.fix == NULL && r->fix != NULL)
            v.fix = filled_in(s->g->cx, r->fix, &v);
        return v;
    }
    return passed;
}

static const struct nuc_support_row *row_of(const struct nuc_support *s, const struct nuc_node *node)
{
    static const struct nuc_support_row none = {.ops = NULL};
    const struct nuc_support_row *row = nuc_support_row(s->flavor, node->op);

    return row != NULL ? row : &none;
}

struct nuc_verdict nuc_check_format(const struct nuc_support *s, const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_arg_node(node, NUC_SELF);

    if (!row_of(s, node)->channels_first || (nuc_is_channels_first(node) && nuc_is_channels_first(input)))
        return passed;
    return (struct nuc_verdict){false, "input and output are channels-first data", "another format", "CHANNELS_FIRST",
                                "give the operator a batch dimension"};
}

struct nuc_verdict nuc_check_ir(const struct nuc_support *s, const struct nuc_node *node)
{
    return check_rules(s, node, row_of(s, node)->ir);
}

static bool has_elements(const struct nuc_rule_query *q)
{
    struct nuc_cursor at = {0, 0};

    for (const struct nuc_node *in = nuc_next_input(q->node, &at); in != NULL; in = nuc_next_input(q->node, &at)) {
        if (in->n_vals > 0 && nuc_elements(&in->vals[0]) == 0)
            return nuc_rule_report(q, "", "%s", nuc_rule_shape_text(q, in));
    }
    return q->node->n_vals == 0 || nuc_elements(&q->node->vals[0]) > 0 ||
           nuc_rule_report(q, "", "%s", nuc_rule_shape_text(q, q->node));
}

/* Torch takes a number for a tensor of one dimension there. */
static bool has_its_dimension(const struct nuc_rule_query *q)
{
    return nuc_input_meta(q->node, NUC_SELF)->rank > 0 ||
           !nuc_op_is_in(q->node->op,
                         NUC_OPS(NUC_OP_NATIVE_SOFTMAX, NUC_OP_AMAX, NUC_OP_AMIN, NUC_OP_SUM_DIM, NUC_OP_MEAN_DIM)) ||
           nuc_rule_report(q, "", "0 dimensions");
}

/* Of every operator: LiteRT has no such tensors. */
static const struct nuc_support_rule any_target[] = {
    RULE("its tensors have elements", has_elements, 0, "drop the operator: it computes nothing"),
    RULE("what works along a dimension has one", has_its_dimension, 0, "give the tensor a dimension"),
    RULES_END,
};

struct nuc_verdict nuc_check_target(const struct nuc_support *s, const struct nuc_node *node)
{
    struct nuc_verdict v = check_rules(s, node, any_target);

    return v.ok ? check_rules(s, node, row_of(s, node)->target) : v;
}

struct nuc_verdict nuc_check_support(const struct nuc_support *s, const struct nuc_node *node)
{
    if (nuc_support_row(s->flavor, node->op) == NULL)
        return no_operator(node->op);
    struct nuc_verdict v = nuc_check_format(s, node);
    if (v.ok)
        v = nuc_check_ir(s, node);
    if (v.ok)
        v = nuc_check_target(s, node);
    return v;
}

struct nuc_verdict nuc_check_unquantized(const struct nuc_support *s, enum nuc_op as, const struct nuc_node *node)
{
    const struct nuc_support_row *row = nuc_support_row(s->flavor, as);
    struct nuc_support unquantized = *s;

    if (row == NULL)
        return no_operator(as);
    unquantized.waived |= NUC_WAIVE_QUANTIZATION;
    struct nuc_verdict v = check_rules(&unquantized, node, row->ir);
    return v.ok ? check_rules(&unquantized, node, row->target) : v;
}

struct nuc_verdict nuc_check_partition(const struct nuc_support *s, const struct nuc_node *node)
{
    return check_rules(s, node, row_of(s, node)->partition);
}
