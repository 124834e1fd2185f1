#include <string.h>

#include "compiler/passes/decompose.h"
#include "compiler/passes/functionalize.h"
#include "compiler/passes/passes.h"
#include "compiler/support/support.h"
#include "compiler/target/target.h"

struct row {
    decomposition rewrite;
    enum nuc_op param;
    decomposition as_reference; /* in compatibility mode; NULL: the same */
};

static const struct row rows[NUC_OP_COUNT] = {
    [NUC_OP_CONV1D] = {nuc_to_convolution, NUC_OP_EDGE_CONVOLUTION, NULL},
    [NUC_OP_CONV2D] = {nuc_to_convolution, NUC_OP_EDGE_CONVOLUTION, NULL},
    [NUC_OP_CONV3D] = {nuc_to_convolution, NUC_OP_EDGE_CONVOLUTION, NULL},
    [NUC_OP_CONV_TRANSPOSE1D] = {nuc_to_convolution, NUC_OP_EDGE_CONVOLUTION, NULL},
    [NUC_OP_CONV_TRANSPOSE2D] = {nuc_to_convolution, NUC_OP_EDGE_CONVOLUTION, NULL},
    [NUC_OP_CONV1D_PADDING] = {nuc_to_padded_convolution, NUC_OP_EDGE_CONVOLUTION, NULL},
    [NUC_OP_CONV2D_PADDING] = {nuc_to_padded_convolution, NUC_OP_EDGE_CONVOLUTION, NULL},
    [NUC_OP_BATCH_NORM] = {nuc_to_batch_norm, NUC_OP_EDGE_BATCH_NORM, NULL},
    [NUC_OP_MAX_POOL1D] = {nuc_to_pool_of_rows, NUC_OP_EDGE_MAX_POOL2D, NULL},
    [NUC_OP_MAX_POOL2D] = {nuc_to_max_pool, NUC_OP_EDGE_MAX_POOL2D, NULL},
    [NUC_OP_MAX_POOL2D_INDICES] = {nuc_to_same_args, NUC_OP_EDGE_MAX_POOL2D, NULL},
    [NUC_OP_AVG_POOL1D] = {nuc_to_pool_of_rows, NUC_OP_EDGE_AVG_POOL2D, NULL},
    [NUC_OP_AVG_POOL2D] = {nuc_to_same_args, NUC_OP_EDGE_AVG_POOL2D, NULL},
    [NUC_OP_ADAPTIVE_AVG_POOL2D] = {nuc_to_adaptive_pool, NUC_OP_EDGE_ADAPTIVE_AVG_POOL2D, NULL},
    [NUC_OP_ABS] = {nuc_to_same_args, NUC_OP_EDGE_ABS, NULL},
    [NUC_OP_ABS_] = {nuc_to_same_args, NUC_OP_EDGE_ABS, NULL},
    [NUC_OP_NEG] = {nuc_to_same_args, NUC_OP_EDGE_NEG, NULL},
    [NUC_OP_NEG_] = {nuc_to_same_args, NUC_OP_EDGE_NEG, NULL},
    [NUC_OP_EXP] = {nuc_to_same_args, NUC_OP_EDGE_EXP, NULL},
    [NUC_OP_EXP_] = {nuc_to_same_args, NUC_OP_EDGE_EXP, NULL},
    [NUC_OP_LOG] = {nuc_to_same_args, NUC_OP_EDGE_LOG, NULL},
    [NUC_OP_LOG_] = {nuc_to_same_args, NUC_OP_EDGE_LOG, NULL},
    [NUC_OP_SQRT] = {nuc_to_same_args, NUC_OP_EDGE_SQRT, NULL},
    [NUC_OP_SQRT_] = {nuc_to_same_args, NUC_OP_EDGE_SQRT, NULL},
    [NUC_OP_RSQRT] = {nuc_to_same_args, NUC_OP_EDGE_RSQRT, NULL},
    [NUC_OP_RSQRT_] = {nuc_to_same_args, NUC_OP_EDGE_RSQRT, NULL},
    [NUC_OP_SIGMOID] = {nuc_to_same_args, NUC_OP_EDGE_SIGMOID, NULL},
    [NUC_OP_SIGMOID_] = {nuc_to_same_args, NUC_OP_EDGE_SIGMOID, NULL},
    [NUC_OP_TANH] = {nuc_to_same_args, NUC_OP_EDGE_TANH, NULL},
    [NUC_OP_TANH_] = {nuc_to_same_args, NUC_OP_EDGE_TANH, NULL},
    [NUC_OP_RELU] = {nuc_to_same_args, NUC_OP_EDGE_RELU, NULL},
    [NUC_OP_RELU_] = {nuc_to_same_args, NUC_OP_EDGE_RELU, NULL},
    [NUC_OP_HARDTANH] = {nuc_to_same_args, NUC_OP_EDGE_HARDTANH, NULL},
    [NUC_OP_HARDTANH_] = {nuc_to_same_args, NUC_OP_EDGE_HARDTANH, NULL},
    [NUC_OP_LEAKY_RELU] = {nuc_to_same_args, NUC_OP_EDGE_LEAKY_RELU, NULL},
    [NUC_OP_LEAKY_RELU_] = {nuc_to_same_args, NUC_OP_EDGE_LEAKY_RELU, NULL},
    [NUC_OP_CLAMP] = {nuc_to_same_args, NUC_OP_EDGE_CLAMP, NULL},
    [NUC_OP_CLAMP_] = {nuc_to_same_args, NUC_OP_EDGE_CLAMP, NULL},
    [NUC_OP_ADD] = {nuc_to_same_args, NUC_OP_EDGE_ADD, NULL},
    [NUC_OP_ADD_] = {nuc_to_same_args, NUC_OP_EDGE_ADD, NULL},
    [NUC_OP_SUB] = {nuc_to_same_args, NUC_OP_EDGE_SUB, NULL},
    [NUC_OP_SUB_] = {nuc_to_same_args, NUC_OP_EDGE_SUB, NULL},
    [NUC_OP_MUL] = {nuc_to_same_args, NUC_OP_EDGE_MUL, NULL},
    [NUC_OP_MUL_] = {nuc_to_same_args, NUC_OP_EDGE_MUL, NULL},
    [NUC_OP_DIV] = {nuc_to_same_args, NUC_OP_EDGE_DIV, NULL},
    [NUC_OP_DIV_] = {nuc_to_same_args, NUC_OP_EDGE_DIV, NULL},
    [NUC_OP_RELU6] = {nuc_to_relu6, NUC_OP_EDGE_HARDTANH, NULL},
    [NUC_OP_RELU6_] = {nuc_to_relu6, NUC_OP_EDGE_HARDTANH, NULL},
    [NUC_OP_HARDSWISH] = {nuc_to_hardswish, NUC_OP_HARDSWISH, NULL},
    [NUC_OP_HARDSWISH_] = {nuc_to_hardswish, NUC_OP_HARDSWISH, NULL},
    [NUC_OP_HARDSIGMOID] = {nuc_to_hardswish, NUC_OP_HARDSIGMOID, NULL},
    [NUC_OP_HARDSIGMOID_] = {nuc_to_hardswish, NUC_OP_HARDSIGMOID, NULL},
    [NUC_OP_SILU] = {nuc_to_silu, NUC_OP_PLACEHOLDER, NULL},
    [NUC_OP_SILU_] = {nuc_to_silu, NUC_OP_PLACEHOLDER, NULL},
    [NUC_OP_GELU] = {nuc_to_same_args, NUC_OP_EDGE_GELU, NULL},
    [NUC_OP_PRELU] = {nuc_to_prelu, NUC_OP_PLACEHOLDER, NULL},
    [NUC_OP_MAXIMUM] = {nuc_to_same_args, NUC_OP_EDGE_MAXIMUM, NULL},
    [NUC_OP_MINIMUM] = {nuc_to_same_args, NUC_OP_EDGE_MINIMUM, NULL},
    [NUC_OP_SOFTMAX] = {nuc_to_softmax, NUC_OP_EDGE_SOFTMAX, NULL},
    [NUC_OP_MEAN_DIM] = {nuc_to_same_args, NUC_OP_EDGE_MEAN_DIM, NULL},
    [NUC_OP_AMAX] = {nuc_to_same_args, NUC_OP_EDGE_AMAX, NULL},
    [NUC_OP_AMIN] = {nuc_to_same_args, NUC_OP_EDGE_AMIN, NULL},
    [NUC_OP_SUM_DIM] = {nuc_to_same_args, NUC_OP_EDGE_SUM_DIM, NULL},
    [NUC_OP_SUM] = {nuc_to_sum, NUC_OP_EDGE_SUM_DIM, NULL},
    [NUC_OP_LINEAR] = {nuc_to_linear, NUC_OP_PLACEHOLDER, NULL},
    [NUC_OP_MATMUL] = {nuc_to_matmul, NUC_OP_PLACEHOLDER, NULL},
    [NUC_OP_MM] = {nuc_to_same_args, NUC_OP_EDGE_MM, NULL},
    [NUC_OP_BMM] = {nuc_to_same_args, NUC_OP_EDGE_BMM, NULL},
    [NUC_OP_ADDMM] = {nuc_to_same_args, NUC_OP_EDGE_ADDMM, NULL},
    [NUC_OP_GRU] = {nuc_to_gru, NUC_OP_PLACEHOLDER, NULL},
    [NUC_OP_PAD] = {nuc_to_pad, NUC_OP_PLACEHOLDER, nuc_to_traced_pad},
    [NUC_OP_UPSAMPLE_BILINEAR] = {nuc_to_same_args, NUC_OP_EDGE_UPSAMPLE_BILINEAR, NULL},
    [NUC_OP_UPSAMPLE_NEAREST] = {nuc_to_same_args, NUC_OP_EDGE_UPSAMPLE_NEAREST, NULL},
    [NUC_OP_CAT] = {nuc_to_same_args, NUC_OP_EDGE_CAT, NULL},
    [NUC_OP_VIEW] = {nuc_to_view, NUC_OP_EDGE_VIEW, NULL},
    [NUC_OP_RESHAPE] = {nuc_to_view, NUC_OP_EDGE_VIEW, NULL},
    [NUC_OP_FLATTEN] = {nuc_to_view, NUC_OP_EDGE_VIEW, NULL},
    [NUC_OP_PERMUTE] = {nuc_to_same_args, NUC_OP_EDGE_PERMUTE, NULL},
    [NUC_OP_TRANSPOSE] = {nuc_to_transpose, NUC_OP_TRANSPOSE, NULL},
    [NUC_OP_T] = {nuc_to_transpose, NUC_OP_T, NULL},
    [NUC_OP_SQUEEZE] = {nuc_to_same_args, NUC_OP_EDGE_SQUEEZE, NULL},
    [NUC_OP_SQUEEZE_DIM] = {nuc_to_same_args, NUC_OP_EDGE_SQUEEZE_DIM, NULL},
    [NUC_OP_SQUEEZE_DIMS] = {nuc_to_same_args, NUC_OP_EDGE_SQUEEZE_DIMS, NULL},
    [NUC_OP_UNSQUEEZE] = {nuc_to_same_args, NUC_OP_EDGE_UNSQUEEZE, NULL},
    [NUC_OP_SLICE] = {nuc_to_same_args, NUC_OP_EDGE_SLICE, NULL},
    [NUC_OP_ALIAS] = {nuc_to_same_args, NUC_OP_EDGE_ALIAS, NULL},
    [NUC_OP_SPLIT] = {nuc_to_split, NUC_OP_EDGE_SPLIT_WITH_SIZES, NULL},
    [NUC_OP_SPLIT_SIZES] = {nuc_to_split, NUC_OP_EDGE_SPLIT_WITH_SIZES, NULL},
    [NUC_OP_SPLIT_WITH_SIZES] = {nuc_to_split, NUC_OP_EDGE_SPLIT_WITH_SIZES, NULL},
    [NUC_OP_CHUNK] = {nuc_to_split, NUC_OP_EDGE_SPLIT_WITH_SIZES, NULL},
    [NUC_OP_DROPOUT] = {nuc_to_dropout, NUC_OP_PLACEHOLDER, NULL},
    [NUC_OP_CLONE] = {nuc_to_clone, NUC_OP_PLACEHOLDER, NULL},
    [NUC_OP_CONTIGUOUS] = {nuc_to_clone, NUC_OP_PLACEHOLDER, NULL},
    [NUC_OP_TO_DTYPE] = {nuc_to_copy, NUC_OP_TO_DTYPE, NULL},
    [NUC_OP_TO_DTYPE_LAYOUT] = {nuc_to_copy, NUC_OP_TO_DTYPE_LAYOUT, NULL},
    [NUC_OP_ZEROS] = {nuc_to_zeros, NUC_OP_PLACEHOLDER, NULL},
    [NUC_OP_ASSERT_TENSOR_METADATA] = {nuc_to_nothing, NUC_OP_PLACEHOLDER, NULL},
};

/* Operators that may stay as they are instead of being decomposed: those with an Edge operator of their own. */
static const enum nuc_op preserved[NUC_OP_COUNT] = {
    [NUC_OP_PRELU] = NUC_OP_EDGE_PRELU,         [NUC_OP_PAD] = NUC_OP_EDGE_PAD,
    [NUC_OP_HARDSWISH] = NUC_OP_EDGE_HARDSWISH, [NUC_OP_HARDSWISH_] = NUC_OP_EDGE_HARDSWISH,
    [NUC_OP_LINEAR] = NUC_OP_EDGE_LINEAR,
};

struct to_edge {
    struct nuc_graph *g;
    const struct nuc_edge_options *options;
    struct nuc_support support;
    bool wanted[NUC_OP_COUNT]; /* the caller wants it preserved */
    uint32_t n_wanted;         /* nodes met so far that the caller wants preserved */
};

/* "aten.pad.default", "aten::pad" and "pad" all name the operator. */
static bool names(const char *text, enum nuc_op op)
{
    const char *name = nuc_op_name(op);
    size_t length;

    if (strcmp(text, name) == 0)
        return true;
    if (strncmp(text, "aten::", 6) == 0)
        text += 6;
    name += strlen("aten.");
    length = strlen(text);
    return strncmp(text, name, length) == 0 && (name[length] == '\0' || name[length] == '.');
}

static bool is_aten(enum nuc_op op)
{
    return strncmp(nuc_op_name(op), "aten.", 5) == 0;
}

/* A functional name means the operator in place too: it becomes functional before the question comes up. */
static void read_wanted(struct to_edge *e)
{
    for (size_t i = 0; i < e->options->n_preserve_ops; i++) {
        const char *text = e->options->preserve_ops[i];
        bool known = false;
        for (int op = 0; op < NUC_OP_COUNT; op++) {
            if (!is_aten((enum nuc_op)op) || !names(text, (enum nuc_op)op))
                continue;
            known = e->wanted[op] = true;
            if (op == NUC_OP_HARDSWISH)
                e->wanted[NUC_OP_HARDSWISH_] = true;
        }
        if (!known)
            nuc_fail(e->g->cx, NUC_BAD_USAGE,
                     "preserve-ops: '%s' is no ATen operator: give names such as aten.pad.default", text);
    }
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
    if (node->n_users == 1 && !nuc_is_quantize(node->users[0]) &&
        (node->users[0]->op == NUC_OP_RELU || node->users[0]->op == NUC_OP_RELU_))
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
    const struct nuc_node *source = nuc_arg_node(arg, 0);
    return !constant || (source != NULL && nuc_is_static(source));
}

/*
 * Kept for the CPU: a linear layer between quantized values where there is no NPU, and where it would not become one
 * matrix product; the others always.
 */
static bool keep_for_cpu(const struct to_edge *e, const struct nuc_node *node)
{
    enum nuc_op op = preserved[node->op];
    bool no_npu = e->support.target->npu_name == NULL;

    if (!e->options->keep_for_cpu || op == NUC_OP_EDGE_PAD || (op == NUC_OP_EDGE_PRELU && !e->options->keep_prelu))
        return false;
    if (op != NUC_OP_EDGE_LINEAR)
        return true;
    const struct nuc_node *input = nuc_arg_node(node, 0);
    bool split = input != NULL && input->vals[0].rank > 2 && !nuc_is_contiguous(&input->vals[0]);
    return (no_npu || split) && reads_quantized(node, 0, false) && reads_quantized(node, 1, true) &&
           (nuc_arg_node(node, 2) == NULL || reads_quantized(node, 2, true)) && is_quantized(node);
}

/* The node with its Edge operator, if the NPU takes it; else NULL, and nothing is changed. */
static struct nuc_node *preserve(struct to_edge *e, struct nuc_node *node)
{
    enum nuc_op op = preserved[node->op];

    bool keep = keep_for_cpu(e, node);
    if (op == NUC_OP_PLACEHOLDER || (!e->wanted[node->op] && !keep))
        return NULL;
    struct nuc_preserved_op *entry = next_preserved(e);
    if (entry != NULL && entry->decompose && !keep)
        return NULL;
    struct nuc_node *edge = nuc_to_same_args(e->g, node, op);
    nuc_replace_uses(e->g, node, edge, NULL);
    /* The only operator whose rules ask for a format demands one for itself. */
    edge->format = NUC_CHANNELS_FIRST;
    bool ok =
        nuc_check_support(&e->support, edge).ok &&
        (e->options->check_op_support == NULL || e->options->check_op_support(e->options->check_op_support_user, edge));
    edge->format = NUC_FORMAT_UNSET;
    /* The CPU has a form of what is kept for it: there is no second round without. */
    if (ok && entry != NULL && !keep)
        entry->id = edge->id;
    if (ok || keep)
        return edge;
    nuc_replace_uses(e->g, edge, node, NULL);
    nuc_remove_node(e->g, edge);
    return NULL;
}

/* Returns the node behind it. */
static struct nuc_node *rewrite_node(struct to_edge *e, struct nuc_node *node)
{
    const struct row *row = &rows[node->op];
    struct nuc_graph *g = e->g;

    if (!is_aten(node->op))
        return node->next;
    if (row->rewrite == NULL)
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s has no Edge form: replace the operator in the model", g->file,
                 nuc_node_text(g->cx, node));
    if (preserve(e, node) == NULL) {
        bool compat = e->options->reference_compat && row->as_reference != NULL;
        struct nuc_node *value = (compat ? row->as_reference : row->rewrite)(g, node, row->param);
        if (value != NULL)
            nuc_replace_uses(g, node, value, NULL);
    }
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

void nuc_to_edge(struct nuc_graph *g, const struct nuc_edge_options *options)
{
    static const struct nuc_edge_options defaults = {.preserve_ops = NULL};
    struct to_edge e = {.g = g, .options = options != NULL ? options : &defaults};

    e.support = (struct nuc_support){
        .g = g,
        .target = e.options->target != NULL ? e.options->target : nuc_target_find(g->cx, NULL),
        .flavor = e.options->flavor != NULL ? e.options->flavor : nuc_flavor_find(g->cx, NULL),
    };
    read_wanted(&e);
    nuc_functionalize(g);
    for (struct nuc_node *n = g->first; n != NULL;)
        n = rewrite_node(&e, n);
    nuc_remove_dead(g);
    /* Edge operators give some values another dim order than ATen does; it spreads to their readers. */
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_is_call(n))
            nuc_infer_shape(g, n);
    }
    rename_placeholders(g);
    nuc_rename_as_traced(g);
}

bool nuc_has_edge_form(enum nuc_op op)
{
    return rows[op].rewrite != NULL;
}
