/*
 * The graph every compiler stage works on: a list of nodes in execution order, each the call of one operator of
 * ops.def with every schema argument present. It mirrors torch.fx: inputs, parameters, buffers and constants are
 * placeholder nodes in front, one output node is last, an operator with several results has a tuple value read by
 * getitem nodes. Nodes with their arguments, users and values lie in memory of the graph, close together. What graphs
 * share that are made of each other (names, sources, lists of numbers, data) lives in the arena that is current when it
 * is added, so a graph is never edited between nuc_push_arena() and nuc_pop_arena().
 */
#ifndef NUC_IR_GRAPH_H
#define NUC_IR_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/base/span.h"
#include "host/context.h"
#include "nucleon/types.h"

enum nuc_op {
#define OP(enumerator, ...) NUC_OP_##enumerator,
#include "ir/ops.def"
    NUC_OP_COUNT
};

/* What operators of a kind have in common; each table of the compiler has a default for some families. */
enum nuc_family {
    NUC_FAMILY_GRAPH,   /* placeholder, output, getitem, delegate call: not operators of the model */
    NUC_FAMILY_QUANT,   /* real to quantized */
    NUC_FAMILY_DEQUANT, /* quantized to real */
    NUC_FAMILY_MAP,     /* a function of each element of the first operand, numbers its parameters */
    NUC_FAMILY_BINARY,  /* a function of two broadcast operands */
    NUC_FAMILY_COMPARE, /* bool of an element and a number or of two elements */
    NUC_FAMILY_SELECT,  /* elements chosen by the values of another operand */
    NUC_FAMILY_CONV,
    NUC_FAMILY_NORM,
    NUC_FAMILY_POOL,
    NUC_FAMILY_RESIZE,
    NUC_FAMILY_REDUCE,
    NUC_FAMILY_SOFTMAX,
    NUC_FAMILY_SCAN,  /* running results along a dimension */
    NUC_FAMILY_ORDER, /* elements of a dimension in order of size */
    NUC_FAMILY_MATRIX,
    NUC_FAMILY_RECURRENT,
    NUC_FAMILY_VIEW,    /* another shape of the same values */
    NUC_FAMILY_PERMUTE, /* dimensions in another order */
    NUC_FAMILY_SLICE,   /* parts, or repetitions, of a tensor: views where strides express them */
    NUC_FAMILY_COPY,    /* the same values, perhaps in another dim order */
    NUC_FAMILY_CAST,    /* the same values in another type */
    NUC_FAMILY_ASSERT,  /* has no value */
    NUC_FAMILY_CAT,
    NUC_FAMILY_PAD,
    NUC_FAMILY_SCATTER,   /* a tensor written into another */
    NUC_FAMILY_FILL,      /* has no tensor operand */
    NUC_FAMILY_CORTEXM,   /* int8 arithmetic of a Cortex-M, with its parameters as numbers */
    NUC_FAMILY_COMPOSITE, /* what others express: gone after the stage `expand` */
    NUC_FAMILY_COUNT
};

/* A coarser division than by family. */
enum nuc_op_kind {
    NUC_KIND_GRAPH,   /* not an operator of the model */
    NUC_KIND_COMPUTE, /* computes values */
    NUC_KIND_SHAPE,   /* changes shape or layout only */
    NUC_KIND_QUANT,   /* real to quantized */
    NUC_KIND_DEQUANT, /* quantized to real */
};

/* The torch.export archive's operators, and those of ExecuTorch's Edge dialect, which are functional. */
enum nuc_dialect { NUC_ATEN, NUC_EDGE };

/*
 * NUC_ARG(CONV2D, stride): position of an argument of an operator. Operators of a family that have an argument of that
 * name have it in the same place where the families' readers (graph/args.h) say so.
 */
#define OP(enumerator, name, overload, family, forms, results, arguments)                                              \
    struct nuc_args_##enumerator {                                                                                     \
        arguments char nuc_end;                                                                                        \
    };
#define NO_ARGS
#define A(type, name) char name;
#define D(type, name, value) char name;
#define K(type, name, value) char name;
#include "ir/ops.def"
#undef NO_ARGS
#define NUC_ARG(op, name) ((uint32_t)offsetof(struct nuc_args_##op, name))

/* The first operand of every operator that has one, and the second of those of two. */
#define NUC_SELF 0u
#define NUC_OTHER 1u

enum nuc_memory_format { NUC_CONTIGUOUS_FORMAT, NUC_CHANNELS_LAST, NUC_CHANNELS_LAST_3D, NUC_PRESERVE_FORMAT };

/* Type, shape and physical order of one tensor value. Values are dense: strides follow from sizes and dim_order. */
struct nuc_meta {
    enum nuc_dtype dtype;
    uint8_t rank;
    uint8_t dim_order[NUC_MAX_RANK]; /* dimensions from outermost to innermost in memory */
    int64_t sizes[NUC_MAX_RANK];
};

/* The bytes of a parameter, buffer or constant, used in place from the mapped archive when possible. */
struct nuc_data {
    struct nuc_span bytes;  /* first element at bytes.data; little-endian */
    const int64_t *strides; /* by dimension, in elements; every element lies inside `bytes` */
};

enum nuc_arg_kind {
    NUC_ARG_NONE,
    NUC_ARG_NODE,
    NUC_ARG_NODES, /* list of tensors; an element may be NULL in an optional list */
    NUC_ARG_INT,
    NUC_ARG_INTS,
    NUC_ARG_FLOAT,
    NUC_ARG_FLOATS,
    NUC_ARG_BOOL,
    NUC_ARG_STRING,
    NUC_ARG_DTYPE,
    NUC_ARG_MEMORY_FORMAT,
    NUC_ARG_OTHER /* layout, device: carried by the archive, without meaning here */
};

struct nuc_node;

struct nuc_arg {
    enum nuc_arg_kind kind : 8;
    bool given : 1; /* false: filled in from the schema's default */
    uint32_t count; /* elements of a list */
    union {
        struct nuc_node *node;
        struct nuc_node **nodes;
        int64_t i;
        const int64_t *ints;
        double f;
        const double *floats;
        bool b;
        const char *string;
        enum nuc_dtype dtype;
        enum nuc_memory_format memory_format;
    } u;
};

/*
 * A state is a buffer that the model changes: what one run leaves in it the next one reads. The last values of the
 * output node are what the states become, in the order of the states.
 */
enum nuc_input_kind { NUC_USER_INPUT, NUC_PARAMETER, NUC_BUFFER, NUC_CONSTANT, NUC_STATE, NUC_INPUT_KINDS };

/*
 * The operator of the model's file that a node is, or is a part of, and where the user's Python called it: the
 * innermost frame outside the torch package, or inside of it where there is no other.
 */
/* Numbers that the values of an operator have; OPEN: what the options say for all, where nothing is said of it. */
enum nuc_width { NUC_WIDTH_OPEN, NUC_WIDTH_INT8, NUC_WIDTH_INT16, NUC_WIDTH_FLOAT };

struct nuc_source {
    const char *file;   /* NULL when the archive does not say */
    const char *module; /* module path such as "blocks.0.c1", "" at top level, NULL when unknown */
    const char *op;     /* operator as the model's file has it: "aten.silu.default", "CONV_2D"; NULL when unknown */
    const char *call;   /* what tells this call of it from others in the file; NULL when unknown */
    /* The same in the float model that the file was quantized from; NULL where it was not, or does not say. */
    const char *first_call;
    /* What people call it (labels.h), which the parts that it becomes share; NULL: as the values that it reads. */
    const char *label;
    const char *form; /* "rows 0 to 7": which part of that value; NULL: all of it */
    const char *wide; /* why it has its width: "int8 loses 7.5 dB here on 32 samples held out"; NULL: nothing is said */
    int line;
    enum nuc_width width : 8; /* of its values */
    bool is_centred;          /* its rows lost their mean, which the float model's have */
};

/* Tensor format of a value on the NPU's side (specs of the reference backend: CF becomes N..C). */
enum nuc_format { NUC_FORMAT_UNSET, NUC_FORMAT_NONE, NUC_FORMATLESS, NUC_CHANNELS_FIRST };

/* Two cache lines: most of a compilation's time goes by fetching the nodes of a long graph. */
struct nuc_node {
    /* The first line: what passes ask of every node that they walk past. */
    uint32_t id; /* unique in the graph, below graph->next_id: index of side tables */
    enum nuc_op op : 16;
    enum nuc_dialect dialect : 2; /* which of the operator's names it goes by */
    bool in_place : 1;            /* ATen dialect: the result takes the place of the first operand */
    bool is_tuple : 1;            /* the value is a tuple of n_vals tensors; otherwise n_vals is 1, 0 for output */
    enum nuc_input_kind input_kind : 3; /* placeholders only */
    enum nuc_format format : 3;         /* set by layout */
    bool do_not_delegate : 1;
    bool is_step : 1;    /* one of several nodes that an operator became, another of which is counted for it */
    bool is_centred : 1; /* layer_norm: the rows that it reads have the mean 0 */
    int partition;       /* index of the partition, -1: none */
    uint32_t n_users;    /* nodes that read this one, each once, in the order in which they began to */
    struct nuc_node *prev, *next;
    struct nuc_node **users; /* &first_user where there is room for one */
    struct nuc_arg *args;
    const struct nuc_meta *vals; /* nodes share them where they are equal */
    uint32_t n_args;             /* number of schema arguments; getitem: tensor, index; output: one NODES argument */
    uint32_t n_vals;

    struct nuc_node *first_user;
    uint32_t users_capacity;
    uint32_t origin;  /* id + 1 of the node of an earlier graph it is made of, where that was marked; 0: not */
    const char *name; /* unique in the graph */
    const struct nuc_source *source; /* shared by what is made of the operator; never NULL in a graph */

    /* Placeholders only. */
    const char *target;          /* state-dict name; NULL for a user input */
    const struct nuc_data *data; /* of a state: before the first run; NULL for a user input */

    struct nuc_node *cluster; /* compute node of the QDQ cluster the node is tagged with, or NULL */

    /* Delegate calls only: what the backend made of the partition (struct nuc_delegate of partition.h). */
    struct nuc_delegate *delegate;
};

/*
 * How Python calls a model whose arguments or results are more than single tensors (dictionaries, tuples, keywords):
 * the texts of torch.utils._pytree.treespec_dumps(), carried from archive to archive. Leaves are the user inputs and
 * the outputs, in order.
 */
struct nuc_call_spec {
    const char *in_spec, *out_spec;
    uint32_t n_names;
    const char *const *names; /* of the arguments of forward() */
};

/* The node is what `from` is, or a part of it. */
static inline void nuc_made_of(struct nuc_node *node, const struct nuc_node *from)
{
    node->source = from->source;
    node->origin = from->origin;
    node->is_step = from->is_step;
}

/* The call of the float model that the node is made of; NULL: unknown. */
static inline const char *nuc_first_call(const struct nuc_node *node)
{
    return node->source->first_call != NULL ? node->source->first_call : node->source->call;
}

/* Memory for structures of a kind. */
struct nuc_graph_pool {
    uint8_t *next;
    size_t left, block; /* bytes: after `next`, of the whole block */
};

struct nuc_graph {
    struct nuc_context *cx;
    const char *file;                      /* where it came from, for messages */
    const struct nuc_call_spec *call_spec; /* NULL: single tensors by position */
    const char *const *output_names;       /* as imported: by place, an entry or all may be NULL */
    struct nuc_span facts;    /* text of facts.h in an archive, as imported or to be written; empty: none */
    enum nuc_dialect dialect; /* of the nodes that are added */
    bool short_names;         /* what rewrites add is named after its operator without the overload: during an import */
    struct nuc_node *first, *last;
    struct nuc_node *body; /* the first node that is no placeholder; NULL: there is none */
    uint32_t n_nodes;
    uint32_t next_id;
    uint32_t n_of_op[NUC_OP_COUNT]; /* nodes by operator */
    struct nuc_name_table *names;
    struct nuc_meta_table *metas;
    struct nuc_sub_arena *memory; /* of nodes with their arguments, users and values */
    struct nuc_graph_pool nodes, args;
};

/* ---- operators ---- */

struct nuc_schema_arg {
    const char *name;
    bool optional; /* Tensor?, int?, ... : may be None */
    bool is_list;
    uint32_t list_size; /* int[2]: 2, and a single int stands for both; 0: any length */
    bool keyword_only;
    bool has_default;
    enum nuc_arg_kind kind; /* of a value that is not None */
    bool is_scalar;         /* kind is NUC_ARG_FLOAT, and an int is as good */
    struct nuc_arg fallback;
};

struct nuc_schema {
    uint32_t n_args;
    const struct nuc_schema_arg *args;
    uint32_t n_returns;
    bool returns_list; /* a tuple whose length depends on the arguments; n_returns is 0 */
};

/* "aten.conv2d.default", "edge.aten.view_copy.default", "placeholder": its name in that dialect, else in the other. */
const char *nuc_op_name(enum nuc_op op, enum nuc_dialect dialect);

/* "aten.relu_.default", "edge.aten.view_copy.default": its name in the node's dialect and form. */
const char *nuc_node_op_name(const struct nuc_node *node);

/* The same without the prefix "edge.": how messages name an operator. */
const char *nuc_short_op_name(const char *name);

enum nuc_family nuc_op_family(enum nuc_op op);
enum nuc_op_kind nuc_op_kind(enum nuc_op op);

/* Whether its values are those of its operand in another shape, order or memory. */
bool nuc_op_rearranges(enum nuc_op op);

/* Whether the operator occurs in the dialect; "any" dialect is both. */
bool nuc_op_in_dialect(enum nuc_op op, enum nuc_dialect dialect);

/* Whether the ATen dialect has it in place, too. */
bool nuc_op_has_in_place(enum nuc_op op);

/* Whether it makes float32 of integers (the functional form). */
bool nuc_op_makes_real(enum nuc_op op);

/* Whether a finite number may give one that is not: a function that has poles, overflows, or ends somewhere. */
bool nuc_op_is_partial(enum nuc_op op);

/* The int8 operator of a Cortex-M that it becomes as a rule; the operator itself where the table has none. */
enum nuc_op nuc_int8_op(enum nuc_op op);

/* An operator as a name says it. */
struct nuc_op_form {
    enum nuc_op op; /* NUC_OP_COUNT when no row has that name */
    enum nuc_dialect dialect;
    bool in_place;
};
struct nuc_op_form nuc_op_find(const char *name);

const struct nuc_schema *nuc_op_schema(enum nuc_op op);

/* Index of the schema argument of that name, or -1. */
int nuc_schema_arg_index(const struct nuc_schema *schema, const char *name);

/* ---- building ---- */

struct nuc_graph *nuc_graph_new(struct nuc_context *cx, const char *file);

/* Zeroed memory that lives as long as the nodes of the graph. */
void *nuc_graph_alloc(struct nuc_graph *g, size_t size);

/* A graph of its own with equal nodes, names, annotations and order; the bytes of constants are shared. */
struct nuc_graph *nuc_graph_copy(const struct nuc_graph *g);

/*
 * Nodes that were added and moved come to lie in memory as they follow each other, which is how passes are going to
 * walk past them. They keep ids and names; what names them by their addresses is gone.
 */
void nuc_graph_gather(struct nuc_graph *g);

/* Frees what no copy shares: the graph and its nodes are not read again. */
void nuc_graph_let_go(struct nuc_graph *g);

/* Frees the table of names of a graph that is only copied from now on: its nodes keep their names. */
void nuc_names_let_go(struct nuc_graph *g);

/*
 * A new node in front of `before` (NULL: at the end) with its schema's defaults in every argument. `name` is made
 * unique by a suffix _1, _2, ...; NULL names it after the operator as torch does ("aten_conv2d_default"). It is of the
 * graph's dialect if the operator occurs there.
 */
struct nuc_node *nuc_add_node(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op, const char *name);

/* A placeholder after the last placeholder. */
struct nuc_node *nuc_add_placeholder(struct nuc_graph *g, const char *name, enum nuc_input_kind kind,
                                     const struct nuc_meta *meta);

/* A constant placeholder holding a dense copy of `bytes` in the order of meta->dim_order. */
struct nuc_node *nuc_add_constant(struct nuc_graph *g, const char *name, const struct nuc_meta *meta,
                                  const void *bytes);

/* Setting arguments keeps users up to date. `index` is the schema position. The list is copied. */
void nuc_set_arg_node(struct nuc_node *node, struct nuc_graph *g, uint32_t index, struct nuc_node *value);
void nuc_set_arg_nodes(struct nuc_node *node, struct nuc_graph *g, uint32_t index, struct nuc_node *const *values,
                       uint32_t count);
void nuc_set_arg_int(struct nuc_node *node, uint32_t index, int64_t value);
void nuc_set_arg_ints(struct nuc_node *node, struct nuc_graph *g, uint32_t index, const int64_t *values,
                      uint32_t count);
void nuc_set_arg_float(struct nuc_node *node, uint32_t index, double value);
void nuc_set_arg_bool(struct nuc_node *node, uint32_t index, bool value);
void nuc_set_arg_string(struct nuc_node *node, uint32_t index, const char *value);
void nuc_set_arg_dtype(struct nuc_node *node, uint32_t index, enum nuc_dtype value);

/* The node becomes another operator of the same arguments. */
void nuc_set_op(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op);

/* One tensor value of that meta; nodes of the graph share equal ones. */
void nuc_set_val(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *meta);
void nuc_set_tuple(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *metas, uint32_t count);

/* Every use of `from` reads `to` instead, except in `except` (may be NULL). */
void nuc_replace_uses(struct nuc_graph *g, struct nuc_node *from, struct nuc_node *to, const struct nuc_node *except);

/* In one user: every argument that is `from` becomes `to`. */
void nuc_replace_input(struct nuc_graph *g, struct nuc_node *user, struct nuc_node *from, struct nuc_node *to);

/* The node has no users. */
void nuc_remove_node(struct nuc_graph *g, struct nuc_node *node);

void nuc_move_before(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *before);

/* Removes compute nodes without users, then parameters, buffers and constants without users. Inputs stay. */
void nuc_remove_dead(struct nuc_graph *g);

void nuc_rename(struct nuc_graph *g, struct nuc_node *node, const char *name);

/* Numbers nodes, and gives names up that no node has, as a copy would: in place of one when `g` is not needed as it
 * was.
 */
void nuc_renumber(struct nuc_graph *g);

/* Renames every operator node as torch's re-tracing does: after its operator, numbered in graph order. */
void nuc_rename_as_traced(struct nuc_graph *g);

/* ---- reading ---- */

/* Index of tables in which an operator and the same one in place differ. */
#define NUC_FORM_COUNT (2 * NUC_OP_COUNT)

static inline size_t nuc_form_index(const struct nuc_node *node)
{
    return 2 * (size_t)node->op + (node->in_place ? 1 : 0);
}

static inline struct nuc_node *nuc_arg_node(const struct nuc_node *node, uint32_t index)
{
    return index < node->n_args && node->args[index].kind == NUC_ARG_NODE ? node->args[index].u.node : NULL;
}

static inline bool nuc_is_placeholder(const struct nuc_node *node)
{
    return node->op == NUC_OP_PLACEHOLDER;
}

static inline bool nuc_is_call(const struct nuc_node *node)
{
    return node->op != NUC_OP_PLACEHOLDER && node->op != NUC_OP_OUTPUT;
}

/* What the caller gives. */
static inline bool nuc_is_user_input(const struct nuc_node *node)
{
    return nuc_is_placeholder(node) && node->input_kind == NUC_USER_INPUT;
}

static inline bool nuc_is_state(const struct nuc_node *node)
{
    return nuc_is_placeholder(node) && node->input_kind == NUC_STATE;
}

/* What the caller gives, or the run before. */
static inline bool nuc_is_input(const struct nuc_node *node)
{
    return nuc_is_user_input(node) || nuc_is_state(node);
}

/* A parameter, buffer or constant. */
static inline bool nuc_is_static(const struct nuc_node *node)
{
    return nuc_is_placeholder(node) && !nuc_is_input(node);
}

/* The same of float32; NULL is none. */
static inline bool nuc_is_static_float(const struct nuc_node *node)
{
    return node != NULL && nuc_is_static(node) && node->vals[0].dtype == NUC_F32;
}

/* A value of one float32 tensor; NULL is none. */
static inline bool nuc_is_real_value(const struct nuc_node *node)
{
    return node != NULL && !node->is_tuple && node->n_vals == 1 && node->vals[0].dtype == NUC_F32;
}

static inline bool nuc_is_quantize(const struct nuc_node *node)
{
    return nuc_op_kind(node->op) == NUC_KIND_QUANT;
}

static inline bool nuc_is_dequantize(const struct nuc_node *node)
{
    return nuc_op_kind(node->op) == NUC_KIND_DEQUANT;
}

/* The operand, before it is dequantized. */
static inline struct nuc_node *nuc_quantized_operand(const struct nuc_node *node, uint32_t index)
{
    struct nuc_node *in = nuc_arg_node(node, index);

    return in != NULL && nuc_is_dequantize(in) ? nuc_arg_node(in, NUC_SELF) : in;
}

static inline bool nuc_is_quantization(const struct nuc_node *node)
{
    return nuc_is_quantize(node) || nuc_is_dequantize(node);
}

/* An operator of the model: not the quantization of a value, an item of a tuple or the call of a delegate. */
static inline bool nuc_is_operator(const struct nuc_node *node)
{
    return nuc_is_call(node) && nuc_op_kind(node->op) != NUC_KIND_GRAPH && !nuc_is_quantization(node);
}

/* Of those that are counted: an operator of the model is one, whatever nodes ranges and placement make of it. */
static inline bool nuc_is_counted(const struct nuc_node *node)
{
    return nuc_is_operator(node) && !node->is_step;
}

/*
 * Tensor arguments in order, list elements and repetitions included: one after the other, from a cursor of zeros on,
 * then NULL. What was given already may be replaced meanwhile.
 */
struct nuc_cursor {
    uint32_t argument, element;
};
struct nuc_node *nuc_next_input(const struct nuc_node *node, struct nuc_cursor *at);

/* By node id, in the arena: the values follow from an input or a state, the others are constants of the model. */
const bool *nuc_nodes_that_vary(const struct nuc_graph *g);

/* The same as an array of at most `max`; returns how many there are in all. */
uint32_t nuc_inputs(const struct nuc_node *node, struct nuc_node **out, uint32_t max);

/* Whether `user` is among the readers of the node, and whether the graph's output is. */
bool nuc_is_user(const struct nuc_node *node, const struct nuc_node *user);
bool nuc_feeds_output(const struct nuc_node *node);

/* What a value is another shape of, or itself. */
struct nuc_node *nuc_past_views(struct nuc_node *value);

/* Whether an operator works in place. */
bool nuc_has_in_place(const struct nuc_graph *g);

struct nuc_node *nuc_output_node(const struct nuc_graph *g);

/* How many states there are, and how many values the model returns: those of the output node but the states'. */
uint32_t nuc_n_states(const struct nuc_graph *g);
uint32_t nuc_n_results(const struct nuc_graph *g);

/* The states in the order of the inputs. What the i-th becomes is the output's value `first_next + i`. */
struct nuc_states {
    struct nuc_node **nodes;
    uint32_t count, first_next;
};

struct nuc_states nuc_states_of(const struct nuc_graph *g);

struct nuc_node *nuc_find_node(const struct nuc_graph *g, const char *name);

/* ---- metas ---- */

struct nuc_meta nuc_meta_make(enum nuc_dtype dtype, const int64_t *sizes, uint32_t rank); /* contiguous */
bool nuc_meta_equal(const struct nuc_meta *a, const struct nuc_meta *b);
bool nuc_same_sizes(const struct nuc_meta *a, const struct nuc_meta *b);
/* Type, sizes and bytes in memory agree: dim orders may differ in where they put dimensions of size 1. */
bool nuc_is_outermost(const struct nuc_meta *m, uint32_t dim); /* in memory, but for dimensions of size 1 */
bool nuc_same_layout(const struct nuc_meta *a, const struct nuc_meta *b);
bool nuc_is_contiguous(const struct nuc_meta *m);
/* rank >= 3 and order 0, 2, ..., 1. */
bool nuc_is_channels_last(const struct nuc_meta *m);
void nuc_set_contiguous(struct nuc_meta *m);
void nuc_set_channels_last(struct nuc_meta *m);
int64_t nuc_elements(const struct nuc_meta *m);
int64_t nuc_elements_between(const struct nuc_meta *m, uint32_t from, uint32_t to); /* of dimensions from .. to - 1 */
int64_t nuc_value_elements(const struct nuc_node *node); /* of its first value; NULL, and what has none: 0 */
size_t nuc_bytes(const struct nuc_meta *m);
/* Strides in elements of a dense tensor of that meta. */
void nuc_dense_strides(const struct nuc_meta *m, int64_t strides[NUC_MAX_RANK]);

/* The data of a static node as a dense array in logical (contiguous) order: in place when it lies so, else a copy. */
const void *nuc_const_contiguous(struct nuc_graph *g, const struct nuc_node *node);

/* A static float32 tensor that has zeros alone. */
bool nuc_is_static_zero(struct nuc_graph *g, const struct nuc_node *node);

/* The same in the order of the node's dim order. */
const void *nuc_const_in_dim_order(struct nuc_graph *g, const struct nuc_node *node);

/* The other way round: elements in logical order as a dense array in the dim order of the meta, a copy unless that is
 * contiguous. */
const void *nuc_in_dim_order(struct nuc_context *cx, const struct nuc_meta *m, const void *logical);

/* Data of a static node: elements of `rank` dimensions with these strides, which are copied; the bytes are not. */
const struct nuc_data *nuc_data_make(struct nuc_context *cx, struct nuc_span bytes, const int64_t *strides,
                                     uint32_t rank);

/* The same for a dense array in the dim order of the meta, which is not copied. */
const struct nuc_data *nuc_dense_data(struct nuc_context *cx, const struct nuc_meta *m, const void *bytes);

/* "float32[1, 3, 32, 32]", with " channels-last" or the dim order at the end when not contiguous. */
const char *nuc_meta_text(struct nuc_context *cx, const struct nuc_meta *m);

/* The label of a node's value (labels.h) as far as the node alone says it: for messages, where no graph is at hand. */
const char *nuc_own_label(const struct nuc_node *node);

/* "node 'layers.0.conv1' (aten.conv2d.default, train.py:23)": how messages name a node, by its label (labels.h). */
const char *nuc_node_text(struct nuc_context *cx, const struct nuc_node *node);

/* ---- text form, verification (text.c, verify.c, shapes.c) ---- */

/* Prints in the form of docs/formats.md; with_data adds the bytes of constants, so that it can be read back whole. */
const char *nuc_graph_print(struct nuc_graph *g, bool with_data);

/* Fails with NUC_INTERNAL, naming `stage` and the node, when an invariant or a shape rule does not hold. */
void nuc_graph_verify(struct nuc_graph *g, const char *stage);

/*
 * Computes node->vals from its arguments by the operator's shape rule, dim order included (as eager torch propagates
 * memory formats). Fails with NUC_BAD_INPUT naming the node when the arguments do not fit.
 */
void nuc_infer_shape(struct nuc_graph *g, struct nuc_node *node);

#endif
