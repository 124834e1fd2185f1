/* What can be known of formulas without a graph: names, numbers of arguments, locals that nothing reads. */
#include "tools/formula_check.h"

#include <string.h>

struct checker {
    struct nuc_formulas *formulas;
    struct nuc_context *cx;
    const char *title;
    enum nuc_dialect dialect; /* whose operators may be called; a definition may use both */
    bool any_dialect;
    const struct nuc_schema *schema; /* NULL in a definition */
    uint32_t count;
    const char *names[NUC_FORMULA_NAMES];
    bool used[NUC_FORMULA_NAMES];
};

_Noreturn static void fail(const struct checker *c, const char *what, const char *name)
{
    nuc_fail(c->cx, NUC_INTERNAL, "formula '%s': %s '%s'", c->title, what, name);
}

static void declare(struct checker *c, const char *name)
{
    struct nuc_arg value;

    if (nuc_formula_constant(name, &value) || strcmp(name, "out") == 0 ||
        (c->schema != NULL && nuc_schema_arg_index(c->schema, name) >= 0))
        fail(c, "hides what it names:", name);
    if (c->count == NUC_FORMULA_NAMES)
        fail(c, "too many names at", name);
    c->names[c->count] = name;
    c->used[c->count++] = false;
}

/* Whether an operator of that name has an overload that a call of this form fits. */
static bool is_operator_call(const struct checker *c, const struct nuc_term *t)
{
    for (unsigned op = 0; op < NUC_OP_COUNT; op++) {
        const struct nuc_schema *schema = nuc_op_schema((enum nuc_op)op);
        bool fits = t->count <= schema->n_args;
        if (!nuc_formula_names_op(t->name, (enum nuc_op)op, c->dialect) &&
            !(c->any_dialect && nuc_formula_names_op(t->name, (enum nuc_op)op, NUC_EDGE)))
            continue;
        for (uint32_t i = 0; fits && i < t->count; i++)
            fits = t->keywords[i] == NULL || nuc_schema_arg_index(schema, t->keywords[i]) >= 0;
        for (uint32_t i = t->count; fits && i < schema->n_args; i++)
            fits = schema->args[i].has_default || schema->args[i].optional ||
                   (t->count > 0 && t->keywords[t->count - 1] != NULL);
        if (fits)
            return true;
    }
    return false;
}

static void check_term(struct checker *c, const struct nuc_term *t);

static void check_call(struct checker *c, const struct nuc_term *t)
{
    const struct nuc_formula_function *function = nuc_formula_function(t->name);
    const struct nuc_definition *definition = nuc_find_definition(c->formulas, t->name);
    struct nuc_arg two[2] = {{.kind = NUC_ARG_FLOAT, .u.f = 1}, {.kind = NUC_ARG_FLOAT, .u.f = 1}}, number;

    if (strcmp(t->name, "each") == 0) {
        if (t->count < 3 || t->count > 4 || t->terms[0]->kind != NUC_TERM_NAME)
            fail(c, "each(i, n, term) is not", t->name);
        check_term(c, t->terms[1]);
        declare(c, t->terms[0]->name);
        for (uint32_t i = 2; i < t->count; i++)
            check_term(c, t->terms[i]);
        c->count--;
        return;
    }
    if (strcmp(t->name, "fold") == 0) {
        if (t->count != 5 || t->terms[0]->kind != NUC_TERM_NAME || t->terms[1]->kind != NUC_TERM_NAME)
            fail(c, "fold(s, i, n, start, term) is not", t->name);
        check_term(c, t->terms[2]);
        check_term(c, t->terms[3]);
        declare(c, t->terms[0]->name);
        declare(c, t->terms[1]->name);
        check_term(c, t->terms[4]);
        c->count -= 2;
        return;
    }
    for (uint32_t i = 0; i < t->count; i++)
        check_term(c, t->terms[i]);
    bool is_sign = strchr("+-*/%=!<>|&", t->name[0]) != NULL;
    if (function != NULL && (t->count < function->least || t->count > function->most))
        fail(c, "wrong number of arguments of", t->name);
    if (definition != NULL && t->count != definition->n_parameters)
        fail(c, "wrong number of arguments of", t->name);
    if (function == NULL && definition == NULL && !is_sign && !is_operator_call(c, t) &&
        (t->count == 0 || t->count > 2 || !nuc_formula_number(t->name, two, t->count, &number)))
        fail(c, "no operator takes such a call of", t->name);
}

static void check_term(struct checker *c, const struct nuc_term *t)
{
    if (t->kind == NUC_TERM_NAME) {
        const char *name = t->name;
        struct nuc_arg value;
        for (uint32_t i = c->count; i-- > 0;) {
            if (strcmp(c->names[i], name) == 0) {
                c->used[i] = true;
                return;
            }
        }
        if (strcmp(name, "out") != 0 && (c->schema == NULL || nuc_schema_arg_index(c->schema, name) < 0) &&
            !nuc_formula_constant(name, &value))
            fail(c, "there is no", name);
    } else if (t->kind == NUC_TERM_CALL) {
        check_call(c, t);
    } else {
        for (uint32_t i = 0; i < t->count; i++)
            check_term(c, t->terms[i]);
    }
}

static void check_formula(struct checker *c, const struct nuc_formula *f)
{
    uint32_t outer = c->count;

    for (uint32_t i = 0; i < f->n_statements; i++) {
        const struct nuc_statement *s = &f->statements[i];
        if (s->kind == NUC_STATEMENT_CHECK) {
            const struct nuc_term *t = s->term;
            if (t->kind != NUC_TERM_CALL || strcmp(t->name, "refuse") != 0 || t->count != 2 ||
                t->terms[1]->value.kind != NUC_ARG_STRING)
                fail(c, "a statement is neither 'name = term', 'when term' nor", "refuse(condition, \"text\")");
            check_term(c, t->terms[0]);
            /* {names} in the text of refuse(condition, "text"). */
            const char *text = t->terms[1]->value.u.string;
            while ((text = strchr(text, '{')) != NULL) {
                size_t length = strcspn(text, "}");
                check_term(c, nuc_read_term(c->cx, c->title, nuc_format(c->cx, "%.*s", (int)length - 1, text + 1)));
                text += length;
            }
            continue;
        }
        if (s->kind == NUC_STATEMENT_WHEN && i > 0 && f->statements[i - 1].kind != NUC_STATEMENT_WHEN)
            fail(c, "conditions come first:", c->title);
        check_term(c, s->term);
        if (s->kind == NUC_STATEMENT_LET)
            declare(c, s->name);
    }
    for (uint32_t i = 0; i < f->n_results; i++)
        check_term(c, f->results[i]);
    for (uint32_t i = outer; i < c->count; i++) {
        if (!c->used[i])
            fail(c, "nothing reads", c->names[i]);
    }
    c->count = outer;
}

/* The names that a pattern binds: those that stand where values do. */
static void declare_names(struct checker *c, const struct nuc_term *t)
{
    static const char *const functions[] = {"number", "mask", "compare", "once", "is", "bounded", "pow", "neg"};
    bool is_function = strchr("+-*/<>=", t->name != NULL ? t->name[0] : ' ') != NULL;
    uint32_t i = 0;

    if (t->kind == NUC_TERM_NAME) {
        while (i < c->count && strcmp(c->names[i], t->name) != 0)
            i++;
        if (i == c->count)
            declare(c, t->name);
        c->used[i] = true;
        return;
    }
    for (i = 0; i < sizeof functions / sizeof *functions && t->kind == NUC_TERM_CALL; i++)
        is_function = is_function || strcmp(functions[i], t->name) == 0;
    if (t->kind == NUC_TERM_CALL && !is_function && !is_operator_call(c, t))
        fail(c, "no operator takes such a call of", t->name);
    for (i = 0; i < t->count; i++)
        declare_names(c, t->terms[i]);
}

void nuc_check_pattern(struct nuc_formulas *formulas, struct nuc_context *cx, const char *title,
                       const struct nuc_pattern *p)
{
    struct checker c = {formulas, cx, title, NUC_ATEN, false, NULL, 0, {0}, {0}};

    declare_names(&c, p->pattern);
    check_term(&c, p->result);
    if (p->guard != NULL)
        check_term(&c, p->guard);
}

void nuc_check_formula(struct nuc_formulas *formulas, struct nuc_context *cx, const struct nuc_formula_row *row)
{
    const char *name = nuc_op_name(row->op, NUC_ATEN);
    enum nuc_dialect dialect = row->use == NUC_FORMULA_EXPAND ? NUC_ATEN : NUC_EDGE;
    struct checker c = {formulas, cx, name, dialect, false, nuc_op_schema(row->op), 0, {0}, {0}};
    struct nuc_formula f;

    nuc_read_formula(cx, name, row->text, &f);
    check_formula(&c, &f);
    if (row->title[0] == '\0')
        fail(&c, "a line for users is missing:", name);
}

void nuc_formulas_check(struct nuc_context *cx)
{
    struct nuc_formulas *formulas = nuc_formulas_new(cx);

    for (size_t i = 0; nuc_definition_texts[i][0] != NULL; i++) {
        struct nuc_definition d;
        struct checker c = {formulas, cx, nuc_definition_texts[i][0], NUC_ATEN, true, NULL, 0, {0}, {0}};
        nuc_read_definition(cx, nuc_definition_texts[i][0], nuc_definition_texts[i][1], &d);
        if (nuc_formula_function(d.name) != NULL)
            fail(&c, "hides what it names:", d.name);
        for (uint32_t k = 0; k < d.n_parameters; k++)
            declare(&c, d.parameters[k]);
        check_formula(&c, &d.body);
    }
    for (size_t i = 0; i < nuc_n_formula_rows; i++)
        nuc_check_formula(formulas, cx, &nuc_formula_rows[i]);
    for (size_t i = 0; i < nuc_n_patterns; i++)
        nuc_check_pattern(formulas, cx, nuc_pattern_rows[i].title, nuc_pattern_at(formulas, i));
    for (size_t i = 0; i < nuc_n_changes; i++)
        nuc_check_pattern(formulas, cx, nuc_changes[i].name, nuc_change_at(formulas, i));
}
