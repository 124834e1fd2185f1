#include <string.h>

#include "compiler/passes/decompose.h"
#include "compiler/passes/functionalize.h"
#include "compiler/passes/passes.h"

struct row {
    decomposition rewrite;
    enum nuc_op param;
};

static const struct row rows[NUC_OP_COUNT] = {
    [NUC_OP_CONV2D] = {to_convolution, NUC_OP_EDGE_CONVOLUTION},
    [NUC_OP_BATCH_NORM] = {to_batch_norm, NUC_OP_EDGE_BATCH_NORM},
    [NUC_OP_RELU] = {to_same_args, NUC_OP_EDGE_RELU},
    [NUC_OP_RELU_] = {to_same_args, NUC_OP_EDGE_RELU},
    [NUC_OP_RELU6] = {to_relu6, NUC_OP_EDGE_HARDTANH},
    [NUC_OP_HARDTANH] = {to_same_args, NUC_OP_EDGE_HARDTANH},
    [NUC_OP_HARDTANH_] = {to_same_args, NUC_OP_EDGE_HARDTANH},
    [NUC_OP_ADD] = {to_same_args, NUC_OP_EDGE_ADD},
    [NUC_OP_MAX_POOL2D] = {to_max_pool, NUC_OP_EDGE_MAX_POOL2D},
    [NUC_OP_AVG_POOL2D] = {to_same_args, NUC_OP_EDGE_AVG_POOL2D},
    [NUC_OP_ADAPTIVE_AVG_POOL2D] = {to_adaptive_pool, NUC_OP_EDGE_ADAPTIVE_AVG_POOL2D},
    [NUC_OP_MEAN_DIM] = {to_same_args, NUC_OP_EDGE_MEAN_DIM},
    [NUC_OP_PAD] = {to_constant_pad, NUC_OP_EDGE_CONSTANT_PAD},
    [NUC_OP_VIEW] = {to_view, NUC_OP_EDGE_VIEW},
    [NUC_OP_RESHAPE] = {to_view, NUC_OP_EDGE_VIEW},
    [NUC_OP_FLATTEN] = {to_view, NUC_OP_EDGE_VIEW},
    [NUC_OP_LINEAR] = {to_matrix_product, NUC_OP_EDGE_ADDMM},
    [NUC_OP_ADDMM] = {to_same_args, NUC_OP_EDGE_ADDMM},
    [NUC_OP_SOFTMAX] = {to_softmax, NUC_OP_EDGE_SOFTMAX},
    [NUC_OP_DROPOUT] = {to_dropout, NUC_OP_EDGE_CLONE_DIM_ORDER},
    [NUC_OP_CLONE] = {to_clone, NUC_OP_EDGE_CLONE_DIM_ORDER},
    [NUC_OP_CONTIGUOUS] = {to_clone, NUC_OP_EDGE_CLONE_DIM_ORDER},
    [NUC_OP_TO_DTYPE_LAYOUT] = {to_copy, NUC_OP_EDGE_TO_DIM_ORDER_COPY},
    [NUC_OP_ASSERT_TENSOR_METADATA] = {to_nothing, NUC_OP_PLACEHOLDER},
};

static void rewrite_node(struct nuc_graph *g, struct nuc_node *node)
{
    const struct row *row = &rows[node->op];

    if (strncmp(nuc_op_name(node->op), "aten.", 5) != 0)
        return;
    if (row->rewrite == NULL)
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s has no Edge form: replace the operator in the model", g->file,
                 nuc_node_text(g->cx, node));
    struct nuc_node *value = row->rewrite(g, node, row->param);
    if (value != NULL)
        nuc_replace_uses(g, node, value, NULL);
    nuc_remove_node(g, node);
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

static void rename_placeholders(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
            if (strcmp(n->name, reserved[i]) == 0) {
                nuc_rename(g, n, nuc_format(g->cx, "%s_1", n->name));
                break;
            }
        }
    }
}

void nuc_to_edge(struct nuc_graph *g)
{
    struct nuc_node *next;

    nuc_functionalize(g);
    for (struct nuc_node *n = g->first; n != NULL; n = next) {
        next = n->next;
        rewrite_node(g, n);
    }
    nuc_remove_dead(g);
    /* Edge operators give some values another dim order than ATen does; it spreads to their readers. */
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_is_call(n))
            nuc_infer_shape(g, n);
    }
    rename_placeholders(g);
    nuc_rename_as_traced(g);
}
