/* Rows are chosen and built, patterns recognized and rewritten. */
#include "rewrite/formula/term.h"
#include "rewrite/insert.h"

const struct nuc_formula_row *nuc_formula_of(struct nuc_formulas *f, enum nuc_formula_use use, struct nuc_graph *g,
                                             struct nuc_node *node)
{
    for (uint32_t i = f->first[node->op]; i < f->first[node->op + 1]; i++) {
        const struct nuc_formula_row *row = &nuc_formula_rows[f->order[i]];
        if (row->use == use && nuc_formula_holds(f, nuc_formula_at(f, f->order[i]), g, node))
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
    return nuc_formula_result(f, nuc_formula_at(f, (size_t)(row - nuc_formula_rows)), g, node);
}

struct nuc_node *nuc_recognize(struct nuc_formulas *f, enum nuc_pattern_use use, struct nuc_graph *g,
                               struct nuc_node *node)
{
    for (const uint16_t *i = nuc_patterns_of(f, node->op, g->dialect); *i < nuc_n_patterns; i++) {
        enum nuc_pattern_use of_row = nuc_pattern_rows[*i].use;
        if (of_row != use && !(use == NUC_PATTERN_WRITTEN && of_row == NUC_PATTERN_DECOMPOSED))
            continue;
        struct nuc_formula_site s = {f, g, node, nuc_pattern_rows[*i].title, 0, 0, {{0}}};
        if (!nuc_pattern_fits(&s, nuc_pattern_at(f, *i)) || !nuc_pattern_keeps_sizes(&s))
            continue;
        node->in_place = false;
        struct nuc_node *value = nuc_formula_value(&s, nuc_pattern_at(f, *i)->result);
        /* Dimensions of size 1 may have come from an operand that is gone. */
        return nuc_insert_reshaped(g, node, value, node->vals[0].sizes, node->vals[0].rank);
    }
    return NULL;
}

struct nuc_node *nuc_change_node(struct nuc_formulas *f, const struct nuc_change *row, struct nuc_graph *g,
                                 struct nuc_node *node, const char **from, const char **to)
{
    struct nuc_formula_site s = {f, g, node, row->name, 0, 0, {{0}}};
    const struct nuc_pattern *p = nuc_change_at(f, (size_t)(row - nuc_changes));

    if (!nuc_pattern_fits(&s, p))
        return NULL;
    node->in_place = false;
    *from = nuc_formula_text(&s, row->from);
    *to = nuc_formula_text(&s, row->to);
    struct nuc_node *value = nuc_formula_value(&s, p->result);
    return nuc_is_real_value(value) && nuc_same_sizes(&value->vals[0], &node->vals[0]) ? value : NULL;
}

/*
 * Whether a term, an argument of the operator or a value, has the kind that an argument of another one has. What is
 * computed for one that is no tensor builds no operator.
 */
static bool is_argument(enum nuc_op op, const struct nuc_term *t, const struct nuc_schema_arg *wanted)
{
    const struct nuc_schema *schema = nuc_op_schema(op);
    int index = t->kind == NUC_TERM_NAME ? nuc_schema_arg_index(schema, t->name) : -1;
    struct nuc_arg value = t->value;

    if (index >= 0)
        return schema->args[index].kind == wanted->kind;
    if (t->kind == NUC_TERM_CALL || t->kind == NUC_TERM_CHOICE)
        return wanted->kind != NUC_ARG_NODE && wanted->kind != NUC_ARG_NODES;
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
