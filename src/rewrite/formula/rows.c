/* The rows, and where they are kept once they have been read. */
#include <string.h>

#include "rewrite/formula/term.h"
#include "rewrite/recognize/written.h"

#define EXPAND NUC_FORMULA_EXPAND
#define TO_EDGE NUC_FORMULA_EDGE
#define TO_EDGE_AS_REFERENCE NUC_FORMULA_REFERENCE
#define TO_EDGE_FOR_EXECUTORCH NUC_FORMULA_EXECUTORCH

const struct nuc_formula_row nuc_formula_rows[] = {
#define IS(use, op, title, ...) {use, NUC_OP_##op, title, #__VA_ARGS__},
#include "ir/ops.def"
};
const size_t nuc_n_formula_rows = sizeof nuc_formula_rows / sizeof *nuc_formula_rows;

const char *const nuc_definition_texts[][2] = {
#define DEF(signature, ...) {#signature, #__VA_ARGS__},
#include "rewrite/formula/definitions.def"
    {NULL, NULL},
};

#define WRITTEN NUC_PATTERN_WRITTEN
#define NPU NUC_PATTERN_NPU

static const struct {
    enum nuc_pattern_use use;
    const char *title, *text;
} pattern_rows[] = {
#define PATTERN(use, title, ...) {use, title, #__VA_ARGS__},
#include "rewrite/recognize/patterns.def"
};
enum { N_PATTERNS = sizeof pattern_rows / sizeof *pattern_rows };

#define EXACT NUC_CHANGE_EXACT
#define CLOSE NUC_CHANGE_CLOSE
#define TRAIN NUC_CHANGE_TRAIN
#define MOVED NUC_CHANGE_MOVED

const struct nuc_change nuc_changes[] = {
#define CHANGE(name, effect, from, to, ...) {name, effect, from, to, #__VA_ARGS__},
#include "rewrite/recognize/changes.def"
};
const size_t nuc_n_changes = sizeof nuc_changes / sizeof *nuc_changes;
enum { N_CHANGES = sizeof nuc_changes / sizeof *nuc_changes };

#define N_DEFINITIONS (sizeof nuc_definition_texts / sizeof *nuc_definition_texts)

struct nuc_formulas {
    struct nuc_context *cx;
    struct nuc_arena *arena;
    struct nuc_formula **read;        /* by row; NULL: not yet */
    uint16_t first[NUC_OP_COUNT + 1]; /* rows of operator i: order[first[i]] up to order[first[i + 1]] */
    uint16_t *order;
    const struct nuc_definition *definitions[N_DEFINITIONS];
    const struct nuc_pattern *patterns[N_PATTERNS];
    const struct nuc_pattern *changes[N_CHANGES];
};

struct nuc_formulas *nuc_formulas_new(struct nuc_context *cx)
{
    struct nuc_formulas *f = nuc_alloc(cx, sizeof *f);
    uint32_t place = 0;

    f->cx = cx;
    f->read = nuc_alloc_array(cx, nuc_n_formula_rows, sizeof(struct nuc_formula *));
    f->order = nuc_alloc_array(cx, nuc_n_formula_rows, sizeof *f->order);
    for (size_t i = 0; i < nuc_n_formula_rows; i++)
        f->first[nuc_formula_rows[i].op + 1]++;
    for (unsigned op = 0; op < NUC_OP_COUNT; op++)
        f->first[op + 1] = (uint16_t)(f->first[op + 1] + f->first[op]);
    for (unsigned op = 0; op < NUC_OP_COUNT; op++) {
        for (size_t i = 0; f->first[op + 1] > f->first[op] && i < nuc_n_formula_rows; i++) {
            if (nuc_formula_rows[i].op == op)
                f->order[place++] = (uint16_t)i;
        }
    }
    return f;
}

static const struct nuc_formula *read_row(struct nuc_formulas *f, size_t row)
{
    if (f->read[row] == NULL) {
        f->read[row] = nuc_alloc(f->cx, sizeof **f->read);
        nuc_read_formula(f->cx, nuc_op_name(nuc_formula_rows[row].op, NUC_ATEN), nuc_formula_rows[row].text,
                         f->read[row]);
    }
    return f->read[row];
}

const struct nuc_definition *nuc_find_definition(struct nuc_formulas *f, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; nuc_definition_texts[i][0] != NULL; i++) {
        const char *signature = nuc_definition_texts[i][0];
        if (strncmp(signature, name, length) != 0 || signature[length] != '(')
            continue;
        if (f->definitions[i] == NULL) {
            struct nuc_definition *d = nuc_alloc(f->cx, sizeof *d);
            nuc_read_definition(f->cx, signature, nuc_definition_texts[i][1], d);
            f->definitions[i] = d;
        }
        return f->definitions[i];
    }
    return NULL;
}

const struct nuc_formula_row *nuc_formula_of(struct nuc_formulas *f, enum nuc_formula_use use, struct nuc_graph *g,
                                             struct nuc_node *node)
{
    for (uint32_t i = f->first[node->op]; i < f->first[node->op + 1]; i++) {
        const struct nuc_formula_row *row = &nuc_formula_rows[f->order[i]];
        if (row->use == use && nuc_formula_holds(f, read_row(f, f->order[i]), g, node))
            return row;
    }
    return NULL;
}

bool nuc_has_formula(enum nuc_formula_use use, enum nuc_op op)
{
    for (size_t i = 0; i < nuc_n_formula_rows; i++) {
        if (nuc_formula_rows[i].use == use && nuc_formula_rows[i].op == op)
            return true;
    }
    return false;
}

struct nuc_node *nuc_formula_build(struct nuc_formulas *f, const struct nuc_formula_row *row, struct nuc_graph *g,
                                   struct nuc_node *node)
{
    return nuc_formula_result(f, read_row(f, (size_t)(row - nuc_formula_rows)), g, node);
}

static const struct nuc_pattern *read_pattern(struct nuc_formulas *f, const struct nuc_pattern **read,
                                              const char *title, const char *text)
{
    if (*read == NULL) {
        struct nuc_pattern *p = nuc_alloc(f->cx, sizeof *p);
        nuc_read_pattern(f->cx, title, text, p);
        *read = p;
    }
    return *read;
}

void nuc_patterns_check(struct nuc_formulas *f)
{
    for (size_t i = 0; i < N_PATTERNS; i++)
        nuc_check_pattern(f, f->cx, pattern_rows[i].title,
                          read_pattern(f, &f->patterns[i], pattern_rows[i].title, pattern_rows[i].text));
    for (size_t i = 0; i < N_CHANGES; i++)
        nuc_check_pattern(f, f->cx, nuc_changes[i].name,
                          read_pattern(f, &f->changes[i], nuc_changes[i].name, nuc_changes[i].text));
}

struct nuc_node *nuc_recognize(struct nuc_formulas *f, enum nuc_pattern_use use, struct nuc_graph *g,
                               struct nuc_node *node)
{
    for (size_t i = 0; i < N_PATTERNS; i++) {
        struct nuc_formula_site s = {f, g, node, pattern_rows[i].title, 0, 0, {{0}}};
        if (pattern_rows[i].use != use ||
            !nuc_pattern_fits(&s, read_pattern(f, &f->patterns[i], pattern_rows[i].title, pattern_rows[i].text)) ||
            !nuc_pattern_keeps_sizes(&s))
            continue;
        node->in_place = false;
        return nuc_formula_value(&s, f->patterns[i]->result);
    }
    return NULL;
}

struct nuc_node *nuc_change_node(struct nuc_formulas *f, const struct nuc_change *row, struct nuc_graph *g,
                                 struct nuc_node *node, const char **from, const char **to)
{
    struct nuc_formula_site s = {f, g, node, row->name, 0, 0, {{0}}};
    const struct nuc_pattern *p = read_pattern(f, &f->changes[row - nuc_changes], row->name, row->text);

    if (!nuc_pattern_fits(&s, p))
        return NULL;
    node->in_place = false;
    *from = nuc_formula_text(&s, row->from);
    *to = nuc_formula_text(&s, row->to);
    struct nuc_node *value = nuc_formula_value(&s, p->result);
    return nuc_is_real_value(value) && nuc_same_sizes(&value->vals[0], &node->vals[0]) ? value : NULL;
}

/* Whether a term, an argument of the operator or a value, has the kind that an argument of another one has. */
static bool is_argument(enum nuc_op op, const struct nuc_term *t, const struct nuc_schema_arg *wanted)
{
    const struct nuc_schema *schema = nuc_op_schema(op);
    int index = t->kind == NUC_TERM_NAME ? nuc_schema_arg_index(schema, t->name) : -1;
    struct nuc_arg value = t->value;

    if (index >= 0)
        return schema->args[index].kind == wanted->kind;
    return t->kind == NUC_TERM_VALUE || (t->kind == NUC_TERM_NAME && nuc_formula_constant(t->name, &value))
               ? value.kind == wanted->kind || (value.kind == NUC_ARG_INT && wanted->kind == NUC_ARG_FLOAT)
               : t->kind == NUC_TERM_LIST && t->count == 0;
}

/* Whether `carrier` may be what a call with arguments of `op` alone means. */
static bool carries(enum nuc_op op, const struct nuc_term *call, enum nuc_op carrier)
{
    const struct nuc_schema *schema = nuc_op_schema(carrier);

    if (!nuc_formula_names_op(call->name, carrier, NUC_EDGE) || call->count > schema->n_args)
        return false;
    for (uint32_t i = 0; i < call->count; i++) {
        int at = call->keywords[i] == NULL ? (int)i : nuc_schema_arg_index(schema, call->keywords[i]);
        if (at < 0 || !is_argument(op, call->terms[i], &schema->args[at]))
            return false;
    }
    return true;
}

enum nuc_op nuc_formula_carrier(struct nuc_context *cx, enum nuc_formula_use use, enum nuc_op op)
{
    struct nuc_formula f;
    size_t row = 0;

    while (nuc_formula_rows[row].use != use || nuc_formula_rows[row].op != op)
        row++;
    nuc_read_formula(cx, nuc_op_name(op, NUC_ATEN), nuc_formula_rows[row].text, &f);
    const struct nuc_term *t = f.results[0];
    if (t->kind == NUC_TERM_INDEX)
        t = t->terms[0];
    for (unsigned i = 0; i < NUC_OP_COUNT && f.n_results == 1 && t->kind == NUC_TERM_CALL; i++) {
        if (carries(op, t, (enum nuc_op)i))
            return (enum nuc_op)i;
    }
    return NUC_OP_COUNT;
}
