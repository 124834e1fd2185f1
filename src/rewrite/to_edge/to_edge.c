#include <string.h>

#include "host/nearest.h"
#include "ir/quant.h"
#include "npu/layout/orders.h"
#include "npu/support/support.h"
#include "npu/target/target.h"
#include "rewrite/formula/formula.h"
#include "rewrite/npu_forms/npu_average.h"
#include "rewrite/npu_forms/npu_function.h"
#include "rewrite/passes.h"
#include "rewrite/rewrite.h"
#include "rewrite/to_edge/decompose.h"
#include "rewrite/to_edge/functionalize.h"

static const struct nuc_decomposition *const families[] = {
    nuc_conv_decompositions,
    nuc_matrix_decompositions,
    nuc_shape_decompositions,
};

static const struct nuc_decomposition *row_of(enum nuc_op op)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        for (const struct nuc_decomposition *row = families[i]; row->rewrite != NULL; row++) {
            if (row->op == op)
                return row;
        }
    }
    return NULL;
}

struct nuc_node *nuc_to_same(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *edge = nuc_insert(g, node, node->op, node);

    for (uint32_t i = 0; i < node->n_args; i++)
        nuc_copy_arg(g, edge, i, node, i);
    edge->is_tuple = node->is_tuple;
    edge->n_vals = node->n_vals;
    edge->vals = node->vals;
    return edge;
}

/* NULL when the operator has no Edge form. */
static decomposition rewrite_of(enum nuc_op op)
{
    const struct nuc_decomposition *row = row_of(op);

    if (row == NULL)
        return nuc_op_in_dialect(op, NUC_ATEN) && nuc_op_in_dialect(op, NUC_EDGE) ? nuc_to_same : NULL;
    return row->rewrite;
}

/* Operators that may stay as they are instead of being decomposed. */
static bool may_be_preserved(enum nuc_op op)
{
    return op == NUC_OP_PRELU || op == NUC_OP_PAD || op == NUC_OP_HARDSWISH || op == NUC_OP_LINEAR;
}

struct to_edge {
    struct nuc_graph *g;
    struct nuc_formulas *formulas;
    const struct nuc_edge_options *options;
    struct nuc_support support;
    bool wanted[NUC_OP_COUNT]; /* the caller asks for it to be preserved */
    uint32_t n_wanted;         /* nodes met so far that the caller asks for */
};

/* "aten.pad.default", "aten::pad" and "pad" all name the operator. */
static bool names(const char *text, enum nuc_op op)
{
    const char *name = nuc_op_name(op, NUC_ATEN) + strlen("aten.");
    size_t length = strcspn(name, ".");

    if (strncmp(text, "aten.", 5) == 0)
        text += 5;
    else if (strncmp(text, "aten::", 6) == 0)
        text += 6;
    if (strncmp(text, name, length) != 0)
        return false;
    text += length + (text[length] == '_' ? 1 : 0);
    return *text == '\0' || strcmp(text, name + length) == 0;
}

static bool is_aten(const struct nuc_node *node)
{
    return node->dialect == NUC_ATEN && nuc_op_kind(node->op) != NUC_KIND_GRAPH && !nuc_is_quantize(node) &&
           !nuc_is_dequantize(node);
}

/* Names of operators with an Edge form; "" stands for others. */
static const char *operator_name(const void *list, size_t index)
{
    (void)list;
    if (index >= NUC_OP_COUNT)
        return NULL;
    return nuc_has_edge_form((enum nuc_op)index) ? nuc_op_name((enum nuc_op)index, NUC_ATEN) : "";
}

/* The entry of the next wanted node in the caller's list, or NULL. */
static struct nuc_preserved_op *next_preserved(struct to_edge *e)
{
    struct nuc_preserved *list = e->options->preserved;
    uint32_t index = e->n_wanted++;

    if (list == NULL)
        return NULL;
    if (list->ops == NULL)
        list->ops = nuc_alloc_array(e->g->cx, e->g->n_nodes, sizeof *list->ops);
    list->count = index + 1 > list->count ? index + 1 : list->count;
    list->ops[index].id = NUC_NOT_PRESERVED;
    return &list->ops[index];
}

/* Whether every reader is a quantize node, one activation in between. */
static bool is_quantized(const struct nuc_node *node)
{
    if (node->n_users == 1 && !nuc_is_quantize(node->users[0]) && (node->users[0]->op == NUC_OP_RELU))
        node = node->users[0];
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (!nuc_is_quantize(node->users[i]))
            return false;
    }
    return node->n_users > 0;
}

static bool reads_quantized(const struct nuc_node *node, uint32_t index, bool constant)
{
    const struct nuc_node *arg = nuc_arg_node(node, index);

    if (arg == NULL || arg->op != NUC_OP_DEQUANTIZE_PER_TENSOR)
        return false;
    const struct nuc_node *source = nuc_arg_node(arg, NUC_SELF);
    return !constant || (source != NULL && nuc_is_static(source));
}

/* Int8 comes in and goes out, or int16 where that has a kernel, too. */
static bool is_between_quantized(const struct nuc_node *node, bool int16)
{
    struct nuc_quant q;
    bool is = nuc_dequantize_quant(nuc_arg_node(node, NUC_SELF), &q) && (q.dtype == NUC_I8 || int16);

    for (uint32_t i = 0; i < node->n_users && is; i++)
        is = nuc_quantize_quant(node->users[i], &q) && (q.dtype == NUC_I8 || int16);
    return is;
}

/*
 * Kept for the CPU: a linear layer between quantized values where there is no NPU, and where it would not become one
 * matrix product; the others between values that there are kernels for.
 */
static bool keep_for_cpu(const struct to_edge *e, const struct nuc_node *node)
{
    enum nuc_op op = node->op;
    bool no_npu = e->support.target->npu_name == NULL;

    if (!e->options->keep_for_cpu || op == NUC_OP_PAD ||
        (op == NUC_OP_PRELU && (e->options->executorch_ops_only || e->options->reference_compat)))
        return false;
    if (op != NUC_OP_LINEAR)
        return e->options->reference_compat || is_between_quantized(node, op == NUC_OP_PRELU);
    const struct nuc_node *input = nuc_arg_node(node, NUC_SELF);
    bool split = input != NULL && input->vals[0].rank > 2 && !nuc_is_contiguous(&input->vals[0]);
    return (no_npu || split) && reads_quantized(node, 0, false) && reads_quantized(node, 1, true) &&
           (nuc_arg_node(node, NUC_ARG(LINEAR, bias)) == NULL || reads_quantized(node, 2, true)) && is_quantized(node);
}

/* The node with its Edge operator, if the NPU takes it; else NULL, and nothing is changed. */
static struct nuc_node *preserve(struct to_edge *e, struct nuc_node *node)
{
    bool keep = may_be_preserved(node->op) && keep_for_cpu(e, node);

    if (!may_be_preserved(node->op) || (!e->wanted[node->op] && !keep))
        return NULL;
    struct nuc_preserved_op *entry = next_preserved(e);
    if (entry != NULL && entry->decompose && !keep)
        return NULL;
    struct nuc_node *edge = nuc_to_same(e->g, node);
    nuc_replace_uses(e->g, node, edge, NULL);
    /* The only operator whose rules ask for a format demands one for itself. */
    edge->format = NUC_CHANNELS_FIRST;
    bool ok =
        nuc_check_support(&e->support, edge).ok &&
        (e->options->check_op_support == NULL || e->options->check_op_support(e->options->check_op_support_user, edge));
    edge->format = NUC_FORMAT_UNSET;
    /* The CPU has a form of what is kept for it: there is no second round without. */
    if (ok && entry != NULL && !keep) {
        entry->id = edge->id;
        entry->end = edge->id + 1;
    }
    if (ok || keep)
        return edge;
    nuc_replace_uses(e->g, edge, node, NULL);
    nuc_remove_node(e->g, edge);
    return NULL;
}

/* The function, or the average, in operators of the NPU, or NULL; all of them go there, or in another round it is none.
 */
static struct nuc_node *express(struct to_edge *e, struct nuc_node *node)
{
    uint32_t first = e->g->next_id;
    bool is_average = nuc_has_npu_average(&e->support, node);

    if (e->options->express == NULL || !(is_average || nuc_has_npu_function(&e->support, node)) ||
        !e->options->express(e->options->express_user, node))
        return NULL;
    struct nuc_preserved_op *entry = next_preserved(e);
    if (entry != NULL && entry->decompose)
        return NULL;
    struct nuc_node *value = is_average ? nuc_to_npu_average(e->g, node) : nuc_to_npu_function(&e->support, node);
    if (value == NULL)
        return NULL;
    if (entry != NULL) {
        entry->id = first;
        entry->end = e->g->next_id;
    }
    nuc_replace_uses(e->g, node, value, NULL);
    return value;
}

/* The row of formulas that applies; NULL: a function does it, or the operator stays. */
static const struct nuc_formula_row *formula_of(const struct to_edge *e, struct nuc_node *node)
{
    const struct nuc_formula_row *row = NULL;

    if (e->options->executorch_ops_only)
        row = nuc_formula_of(e->formulas, NUC_FORMULA_EXECUTORCH, e->g, node);
    if (row == NULL && e->options->reference_compat)
        row = nuc_formula_of(e->formulas, NUC_FORMULA_REFERENCE, e->g, node);
    if (row == NULL && (e->options->executorch_ops_only || e->options->reference_compat))
        row = nuc_formula_of(e->formulas, NUC_FORMULA_PORTABLE, e->g, node);
    return row != NULL ? row : nuc_formula_of(e->formulas, NUC_FORMULA_EDGE, e->g, node);
}

/* Returns the node after it. */
static struct nuc_node *rewrite_node(struct to_edge *e, struct nuc_node *node)
{
    struct nuc_graph *g = e->g;

    if (!is_aten(node))
        return node->next;
    const struct nuc_formula_row *row = formula_of(e, node);
    decomposition rewrite = rewrite_of(node->op);
    if (row == NULL && rewrite == NULL)
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s has no Edge form: replace the operator in the model", g->file,
                 nuc_node_text(g->cx, node));
    const uint32_t first = g->next_id;
    struct nuc_node *value = preserve(e, node);
    if (value == NULL)
        value = express(e, node);
    if (value == NULL) {
        value = row != NULL ? nuc_formula_build(e->formulas, row, g, node) : rewrite(g, node);
        if (value != NULL)
            nuc_replace_uses(g, node, value, NULL);
    }
    if (value != NULL)
        nuc_count_once(node, value, first);
    struct nuc_node *next = node->next;
    nuc_remove_node(g, node);
    return next;
}

/* Names of Python itself, which a traced graph's values cannot have: they get a number. */
static const char *const reserved[] = {
    "abs",   "all",    "and",   "any",    "bool",  "bytes",  "dict",   "dir",   "filter", "float",     "format",
    "hash",  "help",   "hex",   "id",     "in",    "input",  "int",    "is",    "iter",   "len",       "list",
    "map",   "max",    "min",   "next",   "not",   "object", "open",   "or",    "pow",    "print",     "range",
    "round", "set",    "slice", "sorted", "str",   "sum",    "super",  "tuple", "type",   "vars",      "zip",
    "as",    "assert", "async", "await",  "break", "class",  "def",    "del",   "device", "elif",      "else",
    "for",   "from",   "from",  "global", "if",    "import", "lambda", "None",  "pass",   "property",  "return",
    "torch", "try",    "while", "with",   "yield", "inf",    "nan",    "eval",  "exec",   "frozenset",
};

static struct to_edge begin(struct nuc_graph *g, const struct nuc_edge_options *options)
{
    static const struct nuc_edge_options defaults = {.preserve_ops = NULL};
    struct to_edge e = {.g = g, .options = options != NULL ? options : &defaults};
    bool has_form[NUC_OP_COUNT] = {false};

    for (int op = 0; e.options->n_preserve_ops > 0 && op < NUC_OP_COUNT; op++)
        has_form[op] = nuc_has_edge_form((enum nuc_op)op);
    e.support = (struct nuc_support){
        .g = g,
        .target = e.options->target != NULL ? e.options->target : nuc_target_find(g->cx, NULL),
        .flavor = e.options->flavor != NULL ? e.options->flavor : nuc_flavor_find(g->cx, NULL),
    };
    /* The in-place name means the same: such an operator becomes functional before the question comes up. */
    for (size_t i = 0; i < e.options->n_preserve_ops; i++) {
        const char *text = e.options->preserve_ops[i];
        bool known = false;
        for (int op = 0; op < NUC_OP_COUNT; op++) {
            if (has_form[op] && names(text, (enum nuc_op)op))
                known = e.wanted[op] = true;
        }
        if (!known)
            nuc_fail(g->cx, NUC_BAD_USAGE,
                     "--preserve-ops: '%s' is not an ATen operator%s: give names such as aten.pad.default", text,
                     nuc_did_you_mean(g->cx, text, operator_name, NULL));
    }
    return e;
}

bool nuc_may_preserve(struct nuc_graph *g, const struct nuc_edge_options *options)
{
    const struct to_edge e = begin(g, options);

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (is_aten(n) &&
            ((may_be_preserved(n->op) && e.wanted[n->op]) ||
             (options->express != NULL && (nuc_may_have_npu_average(n) || nuc_has_npu_function(&e.support, n)))))
            return true;
    }
    return false;
}

void nuc_to_edge(struct nuc_graph *g, const struct nuc_edge_options *options)
{
    struct to_edge e = begin(g, options);

    e.formulas = nuc_formulas_new(g->cx);
    nuc_functionalize(g);
    g->dialect = NUC_EDGE;
    for (struct nuc_node *n = g->first; n != NULL;)
        n = rewrite_node(&e, n);
    nuc_remove_dead(g);
    /* Edge operators give some values another dim order than ATen does; it spreads to their readers. */
    nuc_infer_all(g);
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        struct nuc_node *n = nuc_find_node(g, reserved[i]);
        if (n != NULL && nuc_is_placeholder(n))
            nuc_rename(g, n, nuc_format(g->cx, "%s_1", n->name));
    }
    nuc_rename_as_traced(g);
}

enum nuc_op nuc_edge_carrier(struct nuc_context *cx, enum nuc_op op)
{
    const struct nuc_decomposition *row = row_of(op);

    if (nuc_has_formula(NUC_FORMULA_EDGE, op))
        return nuc_formula_carrier(cx, NUC_FORMULA_EDGE, op);
    if (row == NULL)
        return rewrite_of(op) != NULL ? op : NUC_OP_COUNT;
    return row->carrier != NUC_OP_PLACEHOLDER ? row->carrier : NUC_OP_COUNT;
}

bool nuc_has_edge_form(enum nuc_op op)
{
    return nuc_has_formula(NUC_FORMULA_EDGE, op) || rewrite_of(op) != NULL;
}
