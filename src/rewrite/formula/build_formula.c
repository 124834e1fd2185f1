/* Formulas built in a graph: terms are computed in the order of the text, arguments from left to right. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "host/text.h"
#include "ir/args.h"
#include "rewrite/expand/expand.h"
#include "rewrite/formula/term.h"

enum { MAX_DEPTH = 128, MAX_ARGS = 24, MOST_TIMES = 1 << 24 };

_Noreturn static void does_not_fit(const struct nuc_formula_site *s, const char *name)
{
    nuc_formula_fail(s, "'%s' does not take its arguments: export the model again", name);
}

static struct nuc_arg evaluate(struct nuc_formula_site *s, struct nuc_term *t);

const char *nuc_formula_text(struct nuc_formula_site *s, const char *text)
{
    struct nuc_text out = {.cx = s->g->cx};

    while (*text != '\0') {
        size_t plain = strcspn(text, "{");
        nuc_text_add(&out, text, plain);
        text += plain;
        if (*text == '{') {
            size_t length = strcspn(text, "}");
            struct nuc_arg value =
                evaluate(s, nuc_read_term(s->g->cx, s->title, nuc_format(s->g->cx, "%.*s", (int)length - 1, text + 1)));
            if (value.kind == NUC_ARG_NODE)
                nuc_text_addf(&out, "%s", nuc_meta_text(s->g->cx, &value.u.node->vals[0]));
            else if (value.kind == NUC_ARG_INT)
                nuc_text_addf(&out, "%lld", (long long)value.u.i);
            else if (value.kind == NUC_ARG_FLOAT)
                nuc_text_addf(&out, "%g", value.u.f);
            else if (value.kind == NUC_ARG_STRING)
                nuc_text_addf(&out, "%s", value.u.string);
            else if (value.kind == NUC_ARG_DTYPE)
                nuc_text_addf(&out, "%s", nuc_dtype_name(value.u.dtype));
            text += length + 1;
        }
    }
    return nuc_text_string(&out);
}

/* ---- names ---- */

static struct nuc_arg value_of_name(struct nuc_formula_site *s, const char *name)
{
    struct nuc_arg value;

    for (uint32_t i = s->count; i-- > 0;) {
        if (strcmp(s->names[i].name, name) == 0)
            return s->names[i].value;
    }
    const struct nuc_formula_host *host = s->formulas->host;
    int index = host != NULL ? -1 : nuc_schema_arg_index(nuc_op_schema(s->node->op), name);
    if (index >= 0)
        return *nuc_arg_at(s->node, (uint32_t)index);
    if (strcmp(name, "out") == 0)
        return nuc_node_arg(s->node);
    if (!nuc_formula_constant(name, &value) && (host == NULL || !host->value_of(host->of, name, &value)))
        nuc_fail(s->g->cx, NUC_INTERNAL, "formula '%s': there is no '%s'", s->title, name);
    value.given = value.kind != NUC_ARG_NONE;
    return value;
}

static void bind(struct nuc_formula_site *s, const char *name, struct nuc_arg value)
{
    if (s->count == NUC_FORMULA_NAMES)
        nuc_fail(s->g->cx, NUC_INTERNAL, "formula '%s': there are too many names", s->title);
    s->names[s->count].name = name;
    s->names[s->count++].value = value;
}

/* That of an element of each(). */
static struct nuc_arg index_arg(int64_t i)
{
    return (struct nuc_arg){.kind = NUC_ARG_INT, .given = true, .u.i = i};
}

static struct nuc_node *node_of(const struct nuc_formula_site *s, const struct nuc_arg *value)
{
    if (value->kind != NUC_ARG_NODE)
        does_not_fit(s, s->title);
    return value->u.node;
}

bool nuc_formula_condition(struct nuc_formula_site *s, struct nuc_term *t)
{
    struct nuc_arg value = evaluate(s, t);

    if (value.kind != NUC_ARG_BOOL)
        does_not_fit(s, t->name == NULL ? "?" : t->name);
    return value.u.b;
}

/* ---- signs ---- */

bool nuc_same_value(const struct nuc_arg *a, const struct nuc_arg *b)
{
    if (nuc_is_number_arg(a) && nuc_is_number_arg(b))
        return nuc_numbers_equal(nuc_number_arg(a), nuc_number_arg(b));
    if (a->kind != b->kind)
        return false;
    switch ((int)a->kind) {
    case NUC_ARG_BOOL:
        return a->u.b == b->u.b;
    case NUC_ARG_STRING:
        return strcmp(a->u.string, b->u.string) == 0;
    case NUC_ARG_DTYPE:
        return a->u.dtype == b->u.dtype;
    case NUC_ARG_NODE:
        return a->u.node == b->u.node;
    case NUC_ARG_MEMORY_FORMAT:
        return a->u.memory_format == b->u.memory_format;
    case NUC_ARG_INTS:
        return a->count == b->count &&
               (a->count == 0 || memcmp(a->u.ints, b->u.ints, a->count * sizeof *a->u.ints) == 0);
    default:
        return a->kind == NUC_ARG_NONE;
    }
}

/* Ints are added, subtracted and multiplied where the result fits, divided as C does. */
static bool whole_sign(char sign, int64_t a, int64_t b, struct nuc_arg *out)
{
    const double limit = 0x1p62;
    double x = (double)a, y = (double)b, z = sign == '+' ? x + y : sign == '-' ? x - y : sign == '*' ? x * y : x;

    if (!(fabs(x) < limit) || !(fabs(y) < limit) || !(fabs(z) < limit) || ((sign == '/' || sign == '%') && b == 0))
        return false;
    *out = nuc_int_arg(sign == '+' ? a + b : sign == '-' ? a - b : sign == '*' ? a * b : sign == '/' ? a / b : a % b);
    return true;
}

/* Signs between numbers, and comparisons of what is no tensor. False where the operands do not fit. */
static bool known_sign(const char *sign, const struct nuc_arg *a, const struct nuc_arg *b, struct nuc_arg *out)
{
    double x, y;

    if (strcmp(sign, "==") == 0 || strcmp(sign, "!=") == 0) {
        *out = nuc_bool_arg(nuc_same_value(a, b) == (sign[0] == '='));
        return true;
    }
    if (!nuc_is_number_arg(a) || !nuc_is_number_arg(b))
        return false;
    x = nuc_number_arg(a);
    y = nuc_number_arg(b);
    if (sign[0] == '<' || sign[0] == '>') {
        bool or_equal = sign[1] == '=';
        *out = nuc_bool_arg(sign[0] == '<' ? (or_equal ? x <= y : x < y) : or_equal ? x >= y : x > y);
        return true;
    }
    if (a->kind == NUC_ARG_INT && b->kind == NUC_ARG_INT)
        return strchr("+-*/%", sign[0]) != NULL && whole_sign(sign[0], a->u.i, b->u.i, out);
    *out = nuc_float_arg(sign[0] == '+' ? x + y : sign[0] == '-' ? x - y : sign[0] == '*' ? x * y : x / y);
    return strchr("+-*/", sign[0]) != NULL;
}

const char *nuc_formula_operator(const char *name)
{
    static const char *const rows[][2] = {
        {"+", "add"}, {"-", "sub"},        {"*", "mul"},         {"/", "div"},         {"%", "remainder"},
        {"==", "eq"}, {"!=", "ne"},        {"<", "lt"},          {"<=", "le"},         {">", "gt"},
        {">=", "ge"}, {"|", "logical_or"}, {"&", "logical_and"}, {"!", "logical_not"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i][0], name) == 0)
            return rows[i][1];
    }
    return name;
}

static bool is_none_term(const struct nuc_term *t)
{
    return t->kind == NUC_TERM_NAME && strcmp(t->name, "none") == 0;
}

/* A sign with one or two operands. Of a condition known now the second operand is left where the first decides. */
static struct nuc_arg evaluate_sign(struct nuc_formula_site *s, struct nuc_term *t)
{
    struct nuc_arg args[2] = {evaluate(s, t->terms[0])}, out;
    bool asks_for_none = t->count == 2 && (is_none_term(t->terms[0]) || is_none_term(t->terms[1]));

    if (args[0].kind == NUC_ARG_BOOL && t->name[0] == '!' && t->count == 1)
        return nuc_bool_arg(!args[0].u.b);
    if (args[0].kind == NUC_ARG_BOOL && (t->name[0] == '|' || t->name[0] == '&')) {
        if (args[0].u.b == (t->name[0] == '|'))
            return args[0];
        return nuc_bool_arg(nuc_formula_condition(s, t->terms[1]));
    }
    if (t->count == 2)
        args[1] = evaluate(s, t->terms[1]);
    bool tensors = nuc_is_tensor_arg(&args[0]) || (t->count == 2 && nuc_is_tensor_arg(&args[1]));
    if (t->count == 2 && (!tensors || asks_for_none)) {
        if (!known_sign(t->name, &args[0], &args[1], &out))
            does_not_fit(s, t->name);
        return out;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        if (nuc_is_number_arg(&args[i]))
            args[i] = nuc_node_arg(nuc_formula_constant_beside(s, args, t->count, i));
        args[i].given = true;
    }
    return nuc_node_arg(nuc_formula_emit(s, &t->callee, args, NULL, t->count));
}

/* ---- lists ---- */

static struct nuc_arg list_of(struct nuc_formula_site *s, const struct nuc_arg *items, uint32_t count)
{
    struct nuc_arg list = {.kind = NUC_ARG_INTS, .count = count};
    bool nodes = false, whole = true;

    for (uint32_t i = 0; i < count; i++)
        nodes = nodes || items[i].kind == NUC_ARG_NODE;
    for (uint32_t i = 0; i < count; i++) {
        bool absent = nodes && items[i].kind == NUC_ARG_NONE;
        whole = whole && items[i].kind == NUC_ARG_INT;
        if (!absent && (nodes ? items[i].kind != NUC_ARG_NODE : !nuc_is_number_arg(&items[i])))
            does_not_fit(s, "[]");
    }
    if (nodes) {
        struct nuc_node **values = nuc_alloc_array(s->g->cx, count, sizeof(struct nuc_node *));
        for (uint32_t i = 0; i < count; i++)
            values[i] = items[i].kind == NUC_ARG_NODE ? items[i].u.node : NULL;
        return nuc_nodes_arg(values, count);
    }
    if (whole) {
        int64_t *values = nuc_alloc_array(s->g->cx, count + (size_t)1, sizeof *values);
        for (uint32_t i = 0; i < count; i++)
            values[i] = items[i].u.i;
        list.u.ints = values;
        return list;
    }
    double *values = nuc_alloc_array(s->g->cx, count, sizeof *values);
    for (uint32_t i = 0; i < count; i++)
        values[i] = nuc_number_arg(&items[i]);
    list.kind = NUC_ARG_FLOATS;
    list.u.floats = values;
    return list;
}

static struct nuc_arg evaluate_index(struct nuc_formula_site *s, struct nuc_term *t)
{
    struct nuc_arg list = evaluate(s, t->terms[0]), at = evaluate(s, t->terms[1]);
    bool is_tuple = list.kind == NUC_ARG_NODE && list.u.node->is_tuple;
    int64_t count = is_tuple ? (int64_t)list.u.node->n_vals : (int64_t)list.count;

    if (at.kind != NUC_ARG_INT)
        does_not_fit(s, "[]");
    int64_t i = at.u.i < 0 ? at.u.i + count : at.u.i;
    if (i < 0 || i >= count)
        nuc_formula_fail(s, "a list of %lld has no element %lld", (long long)count, (long long)at.u.i);
    if (is_tuple)
        return nuc_node_arg(nuc_insert_getitem(s->g, s->node, list.u.node, (uint32_t)i));
    switch ((int)list.kind) {
    case NUC_ARG_INTS:
        return nuc_int_arg(list.u.ints[i]);
    case NUC_ARG_FLOATS:
        return nuc_float_arg(list.u.floats[i]);
    case NUC_ARG_NODES:
        return nuc_node_arg(list.u.nodes[i]);
    default:
        does_not_fit(s, "[]");
    }
}

/* ---- calls ---- */

static void run_statements(struct nuc_formula_site *s, const struct nuc_formula *f)
{
    for (uint32_t i = 0; i < f->n_statements; i++) {
        const struct nuc_statement *st = &f->statements[i];
        if (st->kind == NUC_STATEMENT_LET)
            bind(s, st->name, evaluate(s, st->term));
        else if (st->kind == NUC_STATEMENT_CHECK && nuc_formula_condition(s, st->term->terms[0]))
            nuc_formula_fail(s, "%s", nuc_formula_text(s, st->term->terms[1]->value.u.string));
    }
}

static struct nuc_arg call_definition(const struct nuc_formula_site *caller, const struct nuc_definition *d,
                                      const struct nuc_arg *args)
{
    struct nuc_formula_site s = {caller->formulas, caller->g, caller->node, d->name, caller->depth + 1, 0, {{0}}};

    if (s.depth == MAX_DEPTH)
        nuc_formula_fail(&s, "needs too many steps");
    for (uint32_t i = 0; i < d->n_parameters; i++)
        bind(&s, d->parameters[i], args[i]);
    run_statements(&s, &d->body);
    return evaluate(&s, d->body.results[0]);
}

struct nuc_node *nuc_formula_call(struct nuc_formulas *f, struct nuc_graph *g, struct nuc_node *node, const char *name,
                                  const struct nuc_arg *args, size_t n_args)
{
    const struct nuc_definition *d = nuc_find_definition(f, name);
    const struct nuc_formula_site s = {f, g, node, name, 0, 0, {{0}}};
    struct nuc_arg given[MAX_ARGS], value;

    assert(d != NULL && d->n_parameters == n_args && n_args <= MAX_ARGS);
    for (size_t i = 0; i < n_args; i++) {
        given[i] = args[i];
        given[i].given = args[i].kind != NUC_ARG_NONE;
    }
    value = call_definition(&s, d, given);
    return node_of(&s, &value);
}

const struct nuc_callee *nuc_formula_callee(const struct nuc_formula_site *s, struct nuc_term *t)
{
    struct nuc_callee *c = &t->callee;

    if (c->is_known)
        return c;
    c->operator_name = nuc_formula_operator(t->name);
    c->function = nuc_formula_function(t->name);
    c->definition = nuc_find_definition(s->formulas, t->name);
    c->overloads = nuc_formula_overloads(s->g->cx, c->operator_name, s->g->dialect);
    c->is_known = true;
    return c;
}

/* How often the term of a loop is evaluated. */
static int64_t times_of(struct nuc_formula_site *s, const struct nuc_term *loop, struct nuc_term *times)
{
    struct nuc_arg n = evaluate(s, times);

    if (n.kind != NUC_ARG_INT || n.u.i < 0)
        does_not_fit(s, loop->name);
    if (n.u.i > MOST_TIMES)
        nuc_formula_fail(s, "takes a list of %lld elements: up to %d are handled", (long long)n.u.i, MOST_TIMES);
    return n.u.i;
}

/* each(i, n, term[, condition]): the list of the term's values for i from 0 to n - 1, where the condition holds. */
static struct nuc_arg evaluate_each(struct nuc_formula_site *s, struct nuc_term *t)
{
    const int64_t n = times_of(s, t, t->terms[1]);
    struct nuc_arg *items = nuc_alloc_array(s->g->cx, (size_t)n + 1, sizeof *items);
    uint32_t kept = 0;

    for (int64_t i = 0; i < n; i++) {
        bind(s, t->terms[0]->name, index_arg(i));
        if (t->count < 4 || nuc_formula_condition(s, t->terms[3]))
            items[kept++] = evaluate(s, t->terms[2]);
        s->count--;
    }
    return list_of(s, items, kept);
}

/* fold(s, i, n, start, term): s = term, for i from 0 to n - 1, from start on. */
static struct nuc_arg evaluate_fold(struct nuc_formula_site *s, struct nuc_term *t)
{
    const int64_t n = times_of(s, t, t->terms[2]);
    struct nuc_arg state = evaluate(s, t->terms[3]);

    for (int64_t i = 0; i < n; i++) {
        bind(s, t->terms[0]->name, state);
        bind(s, t->terms[1]->name, index_arg(i));
        state = evaluate(s, t->terms[4]);
        s->count -= 2;
    }
    return state;
}

static struct nuc_arg evaluate_call(struct nuc_formula_site *s, struct nuc_term *t)
{
    const struct nuc_callee *callee = nuc_formula_callee(s, t);
    struct nuc_arg args[MAX_ARGS] = {{0}}, number;

    if (callee->operator_name != t->name)
        return evaluate_sign(s, t);
    if (strcmp(t->name, "each") == 0)
        return evaluate_each(s, t);
    if (strcmp(t->name, "fold") == 0)
        return evaluate_fold(s, t);
    for (uint32_t i = 0; i < t->count; i++)
        args[i] = evaluate(s, t->terms[i]);
    if (callee->function != NULL)
        return callee->function->call(s, args);
    if (callee->definition != NULL)
        return call_definition(s, callee->definition, args);
    if (nuc_formula_number(t->name, args, t->count, &number))
        return number;
    return nuc_node_arg(nuc_formula_emit(s, callee, args, t->keywords, t->count));
}

/* An argument of the operator is `given` as the archive has it, what is computed always is. */
static struct nuc_arg evaluate(struct nuc_formula_site *s, struct nuc_term *t)
{
    struct nuc_arg items[MAX_ARGS], value;

    switch (t->kind) {
    case NUC_TERM_NAME:
        return value_of_name(s, t->name);
    case NUC_TERM_CHOICE:
        return evaluate(s, t->terms[nuc_formula_condition(s, t->terms[0]) ? 1 : 2]);
    case NUC_TERM_VALUE:
        value = t->value;
        break;
    case NUC_TERM_CALL:
        value = evaluate_call(s, t);
        break;
    case NUC_TERM_LIST:
        for (uint32_t i = 0; i < t->count; i++)
            items[i] = evaluate(s, t->terms[i]);
        value = list_of(s, items, t->count);
        break;
    case NUC_TERM_INDEX:
    default:
        value = evaluate_index(s, t);
        break;
    }
    value.given = true;
    return value;
}

struct nuc_node *nuc_formula_value(struct nuc_formula_site *s, struct nuc_term *t)
{
    struct nuc_arg value = evaluate(s, t);

    return node_of(s, &value);
}

/* ---- rows ---- */

bool nuc_formula_holds(struct nuc_formulas *formulas, const struct nuc_formula *f, struct nuc_graph *g,
                       struct nuc_node *node)
{
    struct nuc_formula_site s = {formulas, g, node, f->title, 0, 0, {{0}}};

    for (uint32_t i = 0; i < f->n_statements && f->statements[i].kind == NUC_STATEMENT_WHEN; i++) {
        if (!nuc_formula_condition(&s, f->statements[i].term))
            return false;
    }
    return true;
}

static bool is_each(const struct nuc_term *t)
{
    return t->kind == NUC_TERM_CALL && strcmp(t->name, "each") == 0;
}

/* Element i of each(i, n, term). */
static struct nuc_node *element(struct nuc_formula_site *s, struct nuc_term *each, int64_t i)
{
    bind(s, each->terms[0]->name, index_arg(i));
    struct nuc_node *value = nuc_formula_value(s, each->terms[2]);
    s->count--;
    return value;
}

/* A list each(i, n, term) as value of a tuple: of the parts those that are read, as many as the archive states. */
static void build_list(struct nuc_formula_site *s, struct nuc_term *each)
{
    struct nuc_node *node = s->node;
    struct nuc_arg n = evaluate(s, each->terms[1]);

    if (n.kind != NUC_ARG_INT || n.u.i != (int64_t)node->n_vals)
        nuc_formula_fail(s, "the archive states %u parts, the operator makes %lld", (unsigned)node->n_vals,
                         (long long)(n.kind == NUC_ARG_INT ? n.u.i : 0));
    for (uint32_t i = 0; i < node->n_vals; i++) {
        if (nuc_is_item_read(node, i))
            nuc_expand_item(s->g, node, i, element(s, each, i));
    }
}

struct nuc_node *nuc_formula_result(struct nuc_formulas *formulas, const struct nuc_formula *f, struct nuc_graph *g,
                                    struct nuc_node *node)
{
    struct nuc_formula_site s = {formulas, g, node, f->title, 0, 0, {{0}}};

    run_statements(&s, f);
    if (node->is_tuple && is_each(f->results[0])) {
        build_list(&s, f->results[0]);
        return NULL;
    }
    for (uint32_t i = 0; i < f->n_results; i++) {
        if (node->is_tuple && f->n_results > 1 && !nuc_is_item_read(node, i))
            continue;
        struct nuc_arg value = evaluate(&s, f->results[i]);
        if (!node->is_tuple || node_of(&s, &value)->is_tuple)
            return node_of(&s, &value);
        nuc_replace_item(g, node, i, value.u.node);
    }
    return NULL;
}

/* ---- of a front end ---- */

bool nuc_host_formula_holds(struct nuc_formulas *formulas, const struct nuc_formula *f,
                            const struct nuc_formula_host *host)
{
    formulas->host = host;
    return nuc_formula_holds(formulas, f, host->g, host->at);
}

uint32_t nuc_host_formula_build(struct nuc_formulas *formulas, const struct nuc_formula *f,
                                const struct nuc_formula_host *host)
{
    struct nuc_formula_site s = {formulas, host->g, host->at, f->title, 0, 0, {{0}}};
    uint32_t count = 0;

    formulas->host = host;
    run_statements(&s, f);
    for (uint32_t i = 0; i < f->n_results; i++) {
        struct nuc_term *t = f->results[i];
        const int64_t n = is_each(t) ? evaluate(&s, t->terms[1]).u.i : 1;
        for (int64_t k = 0; k < n; k++)
            host->give(host->of, count++, is_each(t) ? element(&s, t, k) : nuc_formula_value(&s, t));
    }
    return count;
}
