/* Formulas as trees. Private to this folder. */
#ifndef NUC_REWRITE_FORMULA_TERM_H
#define NUC_REWRITE_FORMULA_TERM_H

#include "rewrite/formula/formula.h"

struct nuc_formula_function;
struct nuc_definition;

enum nuc_term_kind {
    NUC_TERM_VALUE,  /* a number or a text, in `value` */
    NUC_TERM_NAME,   /* `name` */
    NUC_TERM_CALL,   /* name(terms); operators go by their signs */
    NUC_TERM_LIST,   /* [terms] */
    NUC_TERM_CHOICE, /* terms[0] ? terms[1] : terms[2] */
    NUC_TERM_INDEX   /* terms[0][terms[1]] */
};

/* What a call means, looked up when it is evaluated for the first time. */
struct nuc_callee {
    bool is_known;
    const char *operator_name;                   /* of a sign or an operator */
    const struct nuc_formula_function *function; /* of functions.c; NULL: none */
    const struct nuc_definition *definition;     /* NULL: none */
    const enum nuc_op *overloads;                /* those of operator_name in the graph's dialect, NUC_OP_COUNT last */
};

struct nuc_term {
    enum nuc_term_kind kind;
    const char *name;
    struct nuc_arg value;
    uint32_t count;
    struct nuc_term **terms;
    const char **keywords; /* of each term of a call: NULL where it is given by position */
    struct nuc_callee callee;
};

/* "name = term;", or a condition "when term;" without a name, or a check such as "refuse(...);". */
struct nuc_statement {
    enum { NUC_STATEMENT_LET, NUC_STATEMENT_WHEN, NUC_STATEMENT_CHECK } kind;
    const char *name;
    struct nuc_term *term;
};

#define NUC_FORMULA_NAMES 40 /* locals of a formula */

struct nuc_formula {
    const char *title;
    uint32_t n_statements, n_results;
    struct nuc_statement statements[NUC_FORMULA_NAMES];
    struct nuc_term *results[8];
};

/* A function that rows share: DEF(name(parameters), text). */
struct nuc_definition {
    const char *name;
    uint32_t n_parameters;
    const char *parameters[10];
    struct nuc_formula body;
};

struct nuc_pattern_row {
    enum nuc_pattern_use use;
    const char *title, *text;
};
extern const struct nuc_pattern_row nuc_pattern_rows[];
extern const size_t nuc_n_patterns;

struct nuc_pattern;
struct nuc_formulas {
    struct nuc_context *cx;
    struct nuc_arena *arena;
    struct nuc_formula **read;        /* by row; NULL: not yet */
    uint16_t first[NUC_OP_COUNT + 1]; /* rows of operator i: order[first[i]] up to order[first[i + 1]] */
    uint16_t *order;
    const struct nuc_definition **definitions;
    const struct nuc_pattern **patterns;
    const uint16_t **patterns_of; /* by operator, those that its nodes may be; NULL: not looked for yet */
    const struct nuc_pattern **changes;
    const struct nuc_formula_host *host; /* of the formula that is built; NULL: a row of a rewrite */
};

extern const char *const nuc_definition_texts[][2]; /* {"name(parameters)", text}, up to a NULL */

/* Fails with NUC_INTERNAL, naming `title` and the place. */
void nuc_read_formula(struct nuc_context *cx, const char *title, const char *text, struct nuc_formula *out);
void nuc_read_definition(struct nuc_context *cx, const char *signature, const char *text, struct nuc_definition *out);

/* One expression. */
struct nuc_term *nuc_read_term(struct nuc_context *cx, const char *title, const char *text);

/* Rows as they are read, each once: of formulas, of patterns.def and of changes.def. */
const struct nuc_formula *nuc_formula_at(struct nuc_formulas *f, size_t row);
const struct nuc_pattern *nuc_pattern_at(struct nuc_formulas *f, size_t row);
const struct nuc_pattern *nuc_change_at(struct nuc_formulas *f, size_t row);

/* The definition of that name, or NULL. */
const struct nuc_definition *nuc_find_definition(struct nuc_formulas *f, const char *name);

/* Whether the conditions at the beginning hold for a node; and its value, as nuc_formula_build() returns it. */
bool nuc_formula_holds(struct nuc_formulas *formulas, const struct nuc_formula *f, struct nuc_graph *g,
                       struct nuc_node *node);
struct nuc_node *nuc_formula_result(struct nuc_formulas *formulas, const struct nuc_formula *f, struct nuc_graph *g,
                                    struct nuc_node *node);

/* ---- names ---- */

/* Constants: inf, true, float32, ...; false when there is none of that name. */
bool nuc_formula_constant(const char *name, struct nuc_arg *value);

/* The node that is rewritten, and what is known while its formula is built. */
struct nuc_formula_site {
    struct nuc_formulas *formulas;
    struct nuc_graph *g;
    struct nuc_node *node;
    const char *title;
    int depth;
    uint32_t count;
    struct {
        const char *name;
        struct nuc_arg value;
    } names[NUC_FORMULA_NAMES];
};

/* Fails with NUC_UNSUPPORTED naming the node that is rewritten, or as the host does. */
_Noreturn void nuc_formula_fail(const struct nuc_formula_site *site, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The text; {term} in it stands for a value. */
const char *nuc_formula_text(struct nuc_formula_site *s, const char *text);

/* Functions of functions.c: from arguments, NUC_ARG_NONE where there are none, to a value. */
struct nuc_formula_function {
    const char *name;
    uint32_t least, most; /* arguments */
    struct nuc_arg (*call)(const struct nuc_formula_site *s, const struct nuc_arg *args);
    const char *meaning; /* for docs/contributing/rewrites.md */
};
const struct nuc_formula_function *nuc_formula_function(const char *name);

/* A number computed when the formula is built: sqrt, log, ... of numbers. False when there is no such function. */
bool nuc_formula_number(const char *name, const struct nuc_arg *args, uint32_t count, struct nuc_arg *value);

/* ---- patterns ---- */

/* "pattern => result", and after a comma a condition on the names that the pattern binds. */
struct nuc_pattern {
    struct nuc_term *pattern, *result, *guard; /* guard: NULL: none */
};
void nuc_read_pattern(struct nuc_context *cx, const char *title, const char *text, struct nuc_pattern *out);

/* In order, those that nodes of the operator may be; nuc_n_patterns is last. Of one dialect all the time. */
const uint16_t *nuc_patterns_of(struct nuc_formulas *f, enum nuc_op op, enum nuc_dialect dialect);

/* Whether the node of the site is what the pattern says; then the site has its names. */
bool nuc_pattern_fits(struct nuc_formula_site *s, const struct nuc_pattern *p);

/* One of the values that names stand for has the sizes of the whole, where these follow from broadcasting. */
bool nuc_pattern_keeps_sizes(const struct nuc_formula_site *s);

/* Values of a term: a tensor; a bool. */
struct nuc_node *nuc_formula_value(struct nuc_formula_site *s, struct nuc_term *t);
bool nuc_formula_condition(struct nuc_formula_site *s, struct nuc_term *t);

/* What a call of the graph's dialect means. */
const struct nuc_callee *nuc_formula_callee(const struct nuc_formula_site *s, struct nuc_term *t);

/* ---- operators ---- */

/* The name of the operator that a sign stands for; any other name itself. */
const char *nuc_formula_operator(const char *name);

/* Whether name(args) calls the operator: a base name as in "aten.NAME.overload", or one with its overload. */
bool nuc_formula_names_op(const char *name, enum nuc_op op, enum nuc_dialect dialect);

/*
 * The operators that a name means: those of later stages before composite ones, each in the order of ops.def, which has
 * NUC_OP_COUNT at the end.
 */
const enum nuc_op *nuc_formula_overloads(struct nuc_context *cx, const char *name, enum nuc_dialect dialect);

/*
 * The first overload that takes the arguments, keywords[i] naming argument i or NULL. One that takes numbers comes
 * before one for which constants are made of them.
 */
struct nuc_node *nuc_formula_emit(const struct nuc_formula_site *s, const struct nuc_callee *callee,
                                  const struct nuc_arg *args, const char *const *keywords, uint32_t count);

/*
 * The number args[index] as a constant next to the tensors among the arguments: of their type, or float32 where that is
 * an integer and the number is not.
 */
struct nuc_node *nuc_formula_constant_beside(const struct nuc_formula_site *s, const struct nuc_arg *args,
                                             uint32_t count, uint32_t index);

/* Whether a value is a tensor, a list of tensors, a number. */
static inline bool nuc_is_tensor_arg(const struct nuc_arg *a)
{
    return a->kind == NUC_ARG_NODE || a->kind == NUC_ARG_NODES;
}

static inline bool nuc_is_number_arg(const struct nuc_arg *a)
{
    return a->kind == NUC_ARG_INT || a->kind == NUC_ARG_FLOAT;
}

static inline double nuc_number_arg(const struct nuc_arg *a)
{
    return a->kind == NUC_ARG_INT ? (double)a->u.i : a->u.f;
}

#endif
