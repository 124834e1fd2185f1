/* What the parts of the .pt2 importer share. Private to the folder. */
#ifndef NUC_FRONT_PT2_IMPORTER_H
#define NUC_FRONT_PT2_IMPORTER_H

#include "archive/json.h"
#include "archive/zip.h"
#include "front/pt2/pt2.h"
#include "front/pt2/torch_schema.h"

/* A graph of the archive: the model's, or one that an operator of torch.ops.higher_order has as an argument. */
struct nuc_scope {
    struct nuc_json graph, tensor_values;

    bool is_region;   /* inside of another graph */
    bool has_complex; /* one of its values is complex */
    size_t n_values;
    uint32_t *tokens;        /* of the values in tensor_values, in order */
    struct nuc_node **nodes; /* that these names stand for, NULL before they are made */
};

/* Operators of names that were met, by their hash: archives have few of them many times. */
#define NUC_N_KNOWN_OPS 64
struct nuc_known_ops {
    struct {
        const char *name;
        struct nuc_op_form form;
    } of[NUC_N_KNOWN_OPS];
};

/* Which part of complex values is read: none, since the operator works on real ones alone; one of the two. */
enum nuc_part { NUC_PART_NONE, NUC_PART_REAL, NUC_PART_IMAGINARY };

struct nuc_importer {
    struct nuc_context *cx;
    const struct nuc_zip *zip;
    const char *top; /* the folder everything lies in, with its '/'; "" when there is none */
    struct nuc_graph *g;

    struct nuc_json model; /* models/model.json, and what is needed of it */
    struct nuc_json graph_module;
    struct nuc_scope *scope; /* the graph that is being read */
    struct nuc_known_ops known;

    bool is_double; /* an input is float64: a module after double(), of which a program computes in float32 */

    /* By the id of the node that has a complex value's name: its real and imaginary part; NULL: it is real. */
    enum nuc_part part;
    struct nuc_node *(*parts)[2];
    size_t n_parts, parts_capacity;

    struct nuc_symbol *symbols; /* sizes that the archive leaves open */
    size_t n_symbols, symbols_capacity;

    /* data/weights and data/constants: name -> where its bytes are */
    struct nuc_json weights, weight_config;
    struct nuc_json constants, constant_config;

    /* Where obstacles are collected: a value was asked for that no node makes; what nodes read that were left out. */
    bool misses_value, is_cut;
    struct nuc_node **cut_reads;
    size_t n_cut_reads, cut_reads_capacity;

    size_t n_copies; /* of operators and values of loops, so far */

    bool has_constant_leaf; /* an input or output that is not a tensor was left out */

    struct nuc_node **identities; /* nodes to remove at the end */
    size_t n_identities, identities_capacity;
};

/* ---- pt2_tensor.c ---- */

/* A tensor as the archive describes it: strides in elements, as torch has them. */
struct nuc_tensor_meta {
    struct nuc_meta meta;
    int64_t strides[NUC_MAX_RANK];
    int64_t offset;  /* of the first element in its storage, in elements */
    bool is_complex; /* meta, strides and offset are those of a part: a real number has the type of both */
};

/* An element type or memory format by torch's number. half, bfloat16 and the double of a double module: float32; of a
 * complex type that of its parts. */
enum nuc_dtype nuc_read_dtype(const struct nuc_importer *im, const struct nuc_json *j);
enum nuc_memory_format nuc_read_memory_format(const struct nuc_json *j);

/* Whether torch's number stands for a complex type. */
bool nuc_is_complex_dtype(int64_t number);

/* The meta of the value `name` in the graph's tensor_values. `at` is where it is named. */
struct nuc_tensor_meta nuc_value_meta(const struct nuc_importer *im, const char *name, const struct nuc_json *at);

/* The bytes that the state-dict name `target` stands for, checked against `meta`. `at` is where it is named. */
const struct nuc_data *nuc_read_data(const struct nuc_importer *im, const char *target, const struct nuc_meta *meta,
                                     const struct nuc_json *at);

/* ---- pt2_ops.c ---- */

/* The operator's name as the archive writes it, without "torch.ops.". */
const char *nuc_pt2_op_name(const struct nuc_json *node);

/* The operator that an archive's name stands for; its op is NUC_OP_COUNT when it is not handled. The name stays. */
struct nuc_op_form nuc_pt2_find_op(struct nuc_known_ops *known, const char *name);

/* The operator of complex numbers that goes by the archive's name: "aten.mul.complex"; NUC_OP_COUNT: none. */
enum nuc_op nuc_find_complex_op(const char *name);

/* Whether the result of the operator of that name is its operand. */
bool nuc_pt2_is_identity(const char *name);

/* What applies a graph that it has as an argument, by its name in torch.ops.higher_order. */
struct nuc_region_row {
    const char *name;
    bool is_loop;   /* over the slices of tensors along their first dimension, one after the other */
    bool has_state; /* the first list of tensors goes from step to step, and is a result as the last step leaves it */
    bool joins;     /* the graph reads what the step before made, first the first slice, and a slice */
};

/* The row of such a node; NULL: it has no graph. */
const struct nuc_region_row *nuc_find_region(const struct nuc_json *node);

/* ---- pt2_scope.c ---- */

/* The place in scope->nodes of the value `name`, NULL for another name. */
struct nuc_node **nuc_scope_slot(const struct nuc_scope *scope, const char *name);

/* Opens the graph `graph` with no values yet. What it is read from has to outlive it. */
struct nuc_scope *nuc_open_scope(struct nuc_context *cx, struct nuc_json graph);

/* Whether what an argument or a result names is complex: {"name": ...}, or a list of such, also within unions. */
bool nuc_names_complex(const struct nuc_importer *im, const struct nuc_json *value);

/* Whether an operator's result is, an operand, or one of them. */
bool nuc_has_complex_result(const struct nuc_importer *im, const struct nuc_json *json);
bool nuc_has_complex_operand(const struct nuc_importer *im, const struct nuc_json *json);
bool nuc_is_complex_call(const struct nuc_importer *im, const struct nuc_json *json);

/* A name for a new value; fails when it is empty or taken. nuc_name_value() says which node has it. */
const char *nuc_unused_name(const struct nuc_importer *im, const struct nuc_json *name);
void nuc_name_value(const struct nuc_importer *im, const char *name, struct nuc_node *node);

/* What the graph that is read calls `name`; NULL: nothing so far. */
struct nuc_node *nuc_find_value(const struct nuc_importer *im, const char *name);

/* The node of that name, which stands in front of this; of a complex value the part that is being read. */
struct nuc_node *nuc_named_value(struct nuc_importer *im, const struct nuc_json *name);

/* Whether the node's value has parts of its own. */
bool nuc_has_parts(const struct nuc_importer *im, const struct nuc_node *node);

/* The part of the node's value that is being read; fails where it is complex and none is. */
struct nuc_node *nuc_part_of(struct nuc_importer *im, struct nuc_node *node, const struct nuc_json *name);

/* A parameter or buffer of that name has an imaginary part. */
void nuc_set_parts(struct nuc_importer *im, struct nuc_node *node, struct nuc_node *real, struct nuc_node *imaginary);

/* ---- pt2_live.c ---- */

/*
 * For each node whether something may see what it does: it is used by the outputs or by such a node, or it writes or
 * checks something.
 */
bool *nuc_live_nodes(struct nuc_context *cx, const struct nuc_scope *scope);

/* These, and the others that are known; what reads an unknown one is left out with it. */
const bool *nuc_nodes_to_import(struct nuc_context *cx, const struct nuc_scope *scope);

/* ---- pt2_unknown.c ---- */

/* Fails with NUC_UNSUPPORTED when a live operator is not handled: which, where, why, and what helps. */
void nuc_check_operators(struct nuc_importer *im);

/* The same for a node whose operator is not. */
_Noreturn void nuc_fail_unknown(struct nuc_importer *im, const struct nuc_json *node);

/* ---- pt2_complex.c ---- */

/* Adds what the operator does to both parts of complex numbers. */
void nuc_import_complex(struct nuc_importer *im, struct nuc_op_form form, const struct nuc_json *json);

/* Splits the model's complex inputs, which are pairs of numbers; makes such pairs of a complex output. */
void nuc_split_inputs(struct nuc_importer *im);
struct nuc_node *nuc_output_value(struct nuc_importer *im, const struct nuc_json *name);

/* ---- pt2_symbols.c ---- */

/* A size that the archive leaves open, by torch's name for it. */
struct nuc_symbol {
    const char *name;
    int64_t value;
};

/*
 * Gives every symbol in the sizes of the inputs its value: of `sizes`, of its samples, or else of the example inputs,
 * with a note. Fails where an entry of `sizes` belongs to nothing or the archive's own range excludes it.
 */
void nuc_bind_sizes(struct nuc_importer *im, const struct nuc_sizes *sizes);

/* An integer, {"as_int": n}, or what names or expresses one: {"as_name": ...}, {"as_expr": ...}. */
int64_t nuc_read_sym_int(const struct nuc_importer *im, const struct nuc_json *j);

/* Whether the node computes sizes alone, or checks them: the archive states their values besides. */
bool nuc_is_about_sizes(const struct nuc_json *node);

/* ---- pt2_region.c ---- */

/* Adds a call node for every node of the scope that is being read. */
void nuc_import_nodes(struct nuc_importer *im);

/* ---- pt2_call.c ---- */

/* How Python calls the model, NULL when the archive does not say. Never fails: the compiler does not need it. */
const struct nuc_call_spec *nuc_read_call_spec(struct nuc_context *cx, const struct nuc_json *graph_module);

/*
 * Names of the outputs, of which there are `expected`: keys of dictionaries, fields of named tuples and dataclasses,
 * those inside each other joined by '_'; NULL for an output without a key. NULL when the archive does not say.
 */
const char *const *nuc_read_output_names(struct nuc_context *cx, const struct nuc_json *graph_module, size_t expected);

/* ---- pt2_cut.c ---- */

/*
 * Imports the node with `take`. Where that fails the node is an obstacle, unless it reads what another one would
 * have made, and its results become inputs of the model.
 */
void nuc_import_or_cut(struct nuc_importer *im, const struct nuc_json *node,
                       void (*take)(struct nuc_importer *im, const struct nuc_json *node));

/* Removes inputs after the first `n_inputs` that nothing reads. */
void nuc_remove_unread_inputs(struct nuc_importer *im, size_t n_inputs);

/*
 * Of `count` values that the model returns, with room for im->n_cut_reads more, those that nodes make, and what nodes
 * that were left out read of these; an input where there are none. Returns how many.
 */
size_t nuc_outputs_in_part(const struct nuc_importer *im, struct nuc_node **values, size_t count);

/* ---- pt2_node.c ---- */

/*
 * A call of the operator with its source and arguments, named `text` unless that is NULL; results are to follow. And
 * all of it, where the archive's results are those of the operator.
 */
struct nuc_node *nuc_start_call(struct nuc_importer *im, struct nuc_op_form form, const char *text,
                                const struct nuc_json *json);
struct nuc_node *nuc_add_call(struct nuc_importer *im, struct nuc_op_form form, const struct nuc_json *json);

/* Marks a node whose result is its operand: it goes when nothing more is going to read values by name. */
void nuc_add_identity(struct nuc_importer *im, struct nuc_node *node);

/* Removes what only passes its input on, when nothing more is going to read values by name. */
void nuc_remove_identities(struct nuc_importer *im);

/* ---- pt2_args.c ---- */

/* Sets the arguments of a new node; those that are not given keep their defaults. */
void nuc_read_args(struct nuc_importer *im, struct nuc_node *node, const struct nuc_json *json);

/* Sets argument `index` to what the archive gives, {"as_int": 3} for instance. */
void nuc_read_arg_value(struct nuc_importer *im, struct nuc_node *node, uint32_t index, const struct nuc_json *arg);

/* ---- pt2_source.c ---- */

/*
 * Where the user called the operator, from the metadata of a node. Never fails: what cannot be read stays unknown.
 * It shares texts with that of the call before, or NULL.
 */
struct nuc_source *nuc_read_source(struct nuc_context *cx, const struct nuc_json *metadata,
                                   const struct nuc_source *before);

#endif
