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

static const struct nuc_verdict passed = {true, NULL, "", ""};

static const uint8_t functions[NUC_OP_COUNT] = {
#define NPU(op, function) [NUC_OP_##op] = NUC_FW_##function,
#include "ir/ops.def"
};

const struct nuc_support_row *nuc_support_row(const struct nuc_support *s, enum nuc_op op)
{
    const struct nuc_support_row *const *lists = rule_sets[s->flavor->rules];

    if (s->target != NULL && !nuc_has_firmware_kernel(s->target, functions[op]))
        return NULL;
    for (uint32_t i = 0; i < MAX_ROW_LISTS && lists[i] != NULL; i++) {
        for (const struct nuc_support_row *row = lists[i]; row->ops != NULL; row++) {
            if (nuc_op_is_in(op, row->ops))
                return row;
        }
    }
    bool is_function = nuc_op_family(op) == NUC_FAMILY_MAP && functions[op] != NUC_FW_NONE;
    return is_function && s->flavor->rules == NUC_RULES_SDK_3_2 ? &nuc_function_row : NULL;
}

enum nuc_no_op nuc_no_op_kind(const struct nuc_support *s, enum nuc_op op)
{
    const struct nuc_support_row *row = nuc_support_row(s, op);

    return row != NULL ? row->no_op : NUC_NEVER_NO_OP;
}

/* ---- operators the NPU does not have ---- */

const char nuc_has_operator_rule[] = "the NPU supports the operator";

static const char *const nouns[NUC_OP_COUNT] = {
#define NOUN(op, text) [NUC_OP_##op] = (text),
#include "ir/ops.def"
};

const char *nuc_operator_noun(struct nuc_context *cx, enum nuc_op op)
{
    const char *name = nuc_short_op_name(nuc_op_name(op, NUC_EDGE)), *base = strchr(name, '.');

    if (nouns[op] != NULL)
        return nouns[op];
    if (nuc_op_family(op) == NUC_FAMILY_COMPARE)
        return "comparison";
    base = base == NULL ? name : base + 1;
    base += strspn(base, "_");
    size_t length = strcspn(base, "."), copy = strlen("_copy");
    if (length > copy && strncmp(base + length - copy, "_copy", copy) == 0)
        length -= copy;
    return nuc_format(cx, "%.*s", (int)length, base);
}

static struct nuc_verdict no_operator(struct nuc_context *cx, enum nuc_op op)
{
    return (struct nuc_verdict){false, nuc_has_operator_rule, nuc_operator_noun(cx, op), ""};
}

/* ---- rules ---- */

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
        struct nuc_verdict v = {false, r->text, "", ""};
        struct nuc_rule_query q = {s, node, r->param, &v};
        if (!rule_holds(&q, r))
            return v;
    }
    return passed;
}

static const struct nuc_support_row *row_of(const struct nuc_support *s, const struct nuc_node *node)
{
    static const struct nuc_support_row none = {.ops = NULL};
    const struct nuc_support_row *row = nuc_support_row(s, node->op);

    return row != NULL ? row : &none;
}

struct nuc_verdict nuc_check_format(const struct nuc_support *s, const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_arg_node(node, NUC_SELF);

    if (!row_of(s, node)->channels_first || (nuc_is_channels_first(node) && nuc_is_channels_first(input)))
        return passed;
    return (struct nuc_verdict){false, "input and output are channels-first data", "another format", "CHANNELS_FIRST"};
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

/* Of every flavor: what a user can ask for, and the NPU does not have. */
static bool has_no_int16(const struct nuc_rule_query *q)
{
    struct nuc_cursor at = {0, 0};
    struct nuc_quant found;

    for (const struct nuc_node *in = nuc_next_input(q->node, &at); in != NULL; in = nuc_next_input(q->node, &at)) {
        if (nuc_dequantize_quant(in, &found) && found.dtype == NUC_I16)
            return nuc_rule_report(q, "int8", "int16");
    }
    for (uint32_t i = 0; i < q->node->n_users; i++) {
        if (nuc_quantize_quant(q->node->users[i], &found) && found.dtype == NUC_I16)
            return nuc_rule_report(q, "int8", "int16");
    }
    return true;
}

/* Of every operator: LiteRT has no such tensors. */
static const struct nuc_support_rule any_target[] = {
    RULE("its values are int8", has_no_int16, 0),
    RULE("its tensors have elements", has_elements, 0),
    RULE("what works along a dimension has one", has_its_dimension, 0),
    RULES_END,
};

struct nuc_verdict nuc_check_target(const struct nuc_support *s, const struct nuc_node *node)
{
    struct nuc_verdict v = check_rules(s, node, any_target);

    return v.ok ? check_rules(s, node, row_of(s, node)->target) : v;
}

struct nuc_verdict nuc_check_support(const struct nuc_support *s, const struct nuc_node *node)
{
    if (nuc_support_row(s, node->op) == NULL)
        return no_operator(s->g->cx, node->op);
    struct nuc_verdict v = nuc_check_format(s, node);
    if (v.ok)
        v = nuc_check_ir(s, node);
    if (v.ok)
        v = nuc_check_target(s, node);
    return v;
}

struct nuc_verdict nuc_check_unquantized(const struct nuc_support *s, enum nuc_op as, const struct nuc_node *node)
{
    const struct nuc_support_row *row = nuc_support_row(s, as);
    struct nuc_support unquantized = *s;

    if (row == NULL)
        return no_operator(s->g->cx, as);
    unquantized.waived |= NUC_WAIVE_QUANTIZATION;
    struct nuc_verdict v = check_rules(&unquantized, node, row->ir);
    return v.ok ? check_rules(&unquantized, node, row->target) : v;
}

struct nuc_verdict nuc_check_partition(const struct nuc_support *s, const struct nuc_node *node)
{
    return check_rules(s, node, row_of(s, node)->partition);
}
