/*
 * Rewrites as text. A row says in one expression what an operator is; this folder reads it and builds it in a graph.
 * docs/contributing/rewrites.md describes the notation.
 */
#ifndef NUC_REWRITE_FORMULA_FORMULA_H
#define NUC_REWRITE_FORMULA_FORMULA_H

#include "ir/graph.h"

/* Which rewrite a row belongs to. */
enum nuc_formula_use {
    NUC_FORMULA_EXPAND,     /* a composite operator, by operators of the ATen dialect */
    NUC_FORMULA_EDGE,       /* an ATen operator, by operators of the Edge dialect */
    NUC_FORMULA_REFERENCE,  /* the same as the reference backend has it */
    NUC_FORMULA_EXECUTORCH, /* the same for ExecuTorch's kernels alone */
    NUC_FORMULA_PORTABLE,   /* the same for both of these */
    NUC_FORMULA_USES
};

/* A row IS(use, op, title, text). The title is a line for users: what the operator becomes. */
struct nuc_formula_row {
    enum nuc_formula_use use;
    enum nuc_op op;
    const char *title, *text;
};
extern const struct nuc_formula_row nuc_formula_rows[];
extern const size_t nuc_n_formula_rows;

/* The rows, read as they are needed. Lives in the arena that is current when it is made. */
struct nuc_formulas;
struct nuc_formulas *nuc_formulas_new(struct nuc_context *cx);

/* The row that applies to a node, the first one whose conditions hold; NULL: none. */
const struct nuc_formula_row *nuc_formula_of(struct nuc_formulas *f, enum nuc_formula_use use, struct nuc_graph *g,
                                             struct nuc_node *node);

/* Whether there is a row for the operator. */
bool nuc_has_formula(enum nuc_formula_use use, enum nuc_op op);

/*
 * Builds what the row says in front of `node`, in the graph's dialect, and returns the node that stands for its value.
 * Of several results each that is read is put in place, and NULL returned. Fails with NUC_UNSUPPORTED where the row
 * refuses the node's arguments.
 */
struct nuc_node *nuc_formula_build(struct nuc_formulas *f, const struct nuc_formula_row *row, struct nuc_graph *g,
                                   struct nuc_node *node);

/* The value of a function of the .def files, which has as many parameters, built in front of `node`. */
struct nuc_node *nuc_formula_call(struct nuc_formulas *f, struct nuc_graph *g, struct nuc_node *node, const char *name,
                                  const struct nuc_arg *args, size_t n_args);

/* ---- formulas of a front end, whose operators no schema describes ---- */

/* Where such a formula is built, and the names that it has beside the constants. */
struct nuc_formula_host {
    struct nuc_graph *g;
    struct nuc_node *at; /* what is built comes in front of it, with its source; `out` in the text */
    void *of;
    bool (*value_of)(void *of, const char *name, struct nuc_arg *value); /* false: there is none of that name */
    void (*refuse)(void *of, const char *text);                          /* does not return */
    void (*give)(void *of, uint32_t k, struct nuc_node *value);          /* result k */
};

struct nuc_formula;
struct nuc_formula *nuc_formula_new(struct nuc_context *cx, const char *title, const char *text);

/* Whether its conditions hold; and its values, given one after the other. Returns how many there are. */
bool nuc_host_formula_holds(struct nuc_formulas *f, const struct nuc_formula *formula,
                            const struct nuc_formula_host *host);
uint32_t nuc_host_formula_build(struct nuc_formulas *f, const struct nuc_formula *formula,
                                const struct nuc_formula_host *host);

/* ---- patterns: rows PATTERN(use, title, text) of recognize/patterns.def ---- */

enum nuc_pattern_use { NUC_PATTERN_WRITTEN, NUC_PATTERN_DECOMPOSED /* also WRITTEN */, NUC_PATTERN_NPU };

/* Builds the operator that the node and those before it are written out for, in front of it; NULL: none. */
struct nuc_node *nuc_recognize(struct nuc_formulas *f, enum nuc_pattern_use use, struct nuc_graph *g,
                               struct nuc_node *node);

/* ---- changes of a model's source: rows CHANGE(name, effect, from, to, pattern) of recognize/changes.def ---- */

/* What a change does to the values: changes.def says what these mean. */
enum nuc_change_effect { NUC_CHANGE_EXACT, NUC_CHANGE_CLOSE, NUC_CHANGE_TRAIN, NUC_CHANGE_MOVED };

struct nuc_change {
    const char *name; /* as --rewrite takes it */
    enum nuc_change_effect effect;
    const char *from, *to; /* in Python; {term} stands for a value of the place */
    const char *text;      /* "pattern => term" */
};
extern const struct nuc_change nuc_changes[];
extern const size_t nuc_n_changes;

/* Builds what the row makes of the node, in front of it, and the row's texts for it. NULL: the row is not about it. */
struct nuc_node *nuc_change_node(struct nuc_formulas *f, const struct nuc_change *row, struct nuc_graph *g,
                                 struct nuc_node *node, const char **from, const char **to);

/*
 * The operator that alone makes the value, where the first row of an operator is one call of it with the operator's own
 * arguments and numbers; else NUC_OP_COUNT.
 */
enum nuc_op nuc_formula_carrier(struct nuc_context *cx, enum nuc_formula_use use, enum nuc_op op);

/* Whether two values are equal: numbers by value, tensors by being one node. */
bool nuc_same_value(const struct nuc_arg *a, const struct nuc_arg *b);

#endif
