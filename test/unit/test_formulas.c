/*
 * The notation of formulas and patterns: read, checked, built, matched. Cases of cases/formulas.txt (text_cases.h) are
 * "== KIND: NAME" with lines
 *
 *   TEXT => RESULT
 *   TEXT ! MESSAGE
 *
 * behind the last " => " or " ! " of a line. Kinds are the functions of the table below.
 */
#include "host/text.h"
#include "quantized_text.h"
#include "rewrite/formula/term.h"
#include "rewrite/recognize/written.h"
#include "text_cases.h"
#include "tools/formula_check.h"

/* A line of a case: what is read, and the graph in front of it. */
struct notation {
    const char *graph, *text;
    const char *result; /* for `put` to be compared with */
    struct nuc_formula_row row;
};

static void put(struct nuc_text *out, struct nuc_graph *g, const struct nuc_node *node);

static void put_arg(struct nuc_text *out, struct nuc_graph *g, const struct nuc_arg *a)
{
    if (a->kind == NUC_ARG_NODE && a->u.node != NULL)
        put(out, g, a->u.node);
    else if (a->kind == NUC_ARG_INT)
        nuc_text_addf(out, "%lld", (long long)a->u.i);
    else if (a->kind == NUC_ARG_FLOAT)
        nuc_text_addf(out, "%g", a->u.f);
    else if (a->kind == NUC_ARG_BOOL)
        nuc_text_addf(out, "%s", a->u.b ? "true" : "false");
    else if (a->kind == NUC_ARG_STRING)
        nuc_text_addf(out, "'%s'", a->u.string);
    else if (a->kind == NUC_ARG_DTYPE)
        nuc_text_addf(out, "%s", nuc_dtype_name(a->u.dtype));
    else if (a->kind == NUC_ARG_INTS || a->kind == NUC_ARG_NODES) {
        nuc_text_addf(out, "[");
        for (uint32_t i = 0; i < a->count; i++) {
            nuc_text_addf(out, "%s", i == 0 ? "" : ", ");
            if (a->kind == NUC_ARG_INTS)
                nuc_text_addf(out, "%lld", (long long)a->u.ints[i]);
            else
                put(out, g, a->u.nodes[i]);
        }
        nuc_text_addf(out, "]");
    } else
        nuc_text_addf(out, "none");
}

/* A value as a term: an input by its name, a number by its type, a call by the operator, up to the last given argument.
 */
static void put(struct nuc_text *out, struct nuc_graph *g, const struct nuc_node *node)
{
    const char *name = nuc_node_op_name(node);
    uint32_t last = 0;
    double number;

    if (nuc_number_of(g, node, &number)) {
        nuc_text_addf(out, "%g%s", number, node->vals[0].dtype == NUC_F32 ? "" : "i");
        return;
    }
    if (nuc_is_static(node) || node->op == NUC_OP_PLACEHOLDER) {
        nuc_text_addf(out, "%s", node->name);
        return;
    }
    name += strncmp(name, "aten.", 5) == 0 ? 5 : 0;
    const char *overload = strstr(name, ".default");
    nuc_text_addf(out, "%.*s(", overload == NULL ? (int)strlen(name) : (int)(overload - name), name);
    for (uint32_t i = 0; i < node->n_args; i++)
        last = node->args[i].given ? i + 1 : last;
    for (uint32_t i = 0; i < last; i++) {
        nuc_text_addf(out, "%s", i == 0 ? "" : ", ");
        put_arg(out, g, &node->args[i]);
    }
    nuc_text_addf(out, ")");
}

static void assert_value(const struct notation *n, struct nuc_graph *g, const struct nuc_node *node)
{
    struct nuc_text out = {.cx = g->cx};

    if (node == NULL)
        nuc_text_addf(&out, "nothing");
    else
        put(&out, g, node);
    if (n->result != NULL && strcmp(nuc_text_string(&out), n->result) != 0)
        fail_msg("'%s' is %s, not %s", n->text, nuc_text_string(&out), n->result);
}

/* The node that is rewritten, %y. */
static struct nuc_node *subject(struct nuc_context *cx, const struct notation *n, struct nuc_graph **g)
{
    *g = parse_quantized(cx, n->graph);
    return node_of(*g, "y");
}

/* A formula of aten.hypot(self, other). "fine" is the result. */
static void check_formula(struct nuc_context *cx, struct notation *n, enum nuc_formula_use use)
{
    n->row = (struct nuc_formula_row){use, NUC_OP_HYPOT, "title", n->text};
    nuc_check_formula(nuc_formulas_new(cx), cx, &n->row);
    assert_true(n->result == NULL || strcmp(n->result, "fine") == 0);
}

static void check(struct nuc_context *cx, void *arg)
{
    check_formula(cx, arg, NUC_FORMULA_EXPAND);
}

static void check_edge(struct nuc_context *cx, void *arg)
{
    check_formula(cx, arg, NUC_FORMULA_EDGE);
}

static void check_pattern(struct nuc_context *cx, void *arg)
{
    struct notation *n = arg;
    struct nuc_pattern p;

    nuc_read_pattern(cx, "pattern", n->text, &p);
    nuc_check_pattern(nuc_formulas_new(cx), cx, "pattern", &p);
    assert_true(n->result == NULL || strcmp(n->result, "fine") == 0);
}

/* What the formula builds in front of %y; "nothing" where a condition does not hold. */
static void build(struct nuc_context *cx, void *arg)
{
    struct notation *n = arg;
    struct nuc_formulas *formulas = nuc_formulas_new(cx);
    struct nuc_formula f;
    struct nuc_graph *g;
    struct nuc_node *y = subject(cx, n, &g);

    nuc_read_formula(cx, "formula", n->text, &f);
    assert_value(n, g, nuc_formula_holds(formulas, &f, g, y) ? nuc_formula_result(formulas, &f, g, y) : NULL);
}

/* What the result of a pattern becomes where it fits %y; "nothing" where it does not. */
static void match(struct nuc_context *cx, void *arg)
{
    struct notation *n = arg;
    struct nuc_pattern p;
    struct nuc_graph *g;
    struct nuc_node *y = subject(cx, n, &g);
    struct nuc_formula_site s = {nuc_formulas_new(cx), g, y, "pattern", 0, 0, {{0}}};

    nuc_read_pattern(cx, "pattern", n->text, &p);
    assert_value(n, g, nuc_pattern_fits(&s, &p) ? nuc_formula_value(&s, p.result) : NULL);
}

/* What is behind the views of a value. */
static void behind(struct nuc_context *cx, void *arg)
{
    struct notation *n = arg;
    struct nuc_graph *g;

    subject(cx, n, &g);
    assert_value(n, g, nuc_behind_views(node_of(g, n->text)));
}

static const struct kind {
    const char *name;
    void (*run)(struct nuc_context *cx, void *arg);
    enum nuc_status refusal;
} kinds[] = {
    {"check", check, NUC_INTERNAL},
    {"check of Edge", check_edge, NUC_INTERNAL},
    {"check of a pattern", check_pattern, NUC_INTERNAL},
    {"build", build, NUC_UNSUPPORTED},
    {"match", match, NUC_OK},
    {"behind views", behind, NUC_OK},
};

/* The last " => " or " ! " of a line ends what is in front of it. */
static char *split_last(char *line, bool *refused)
{
    char *found = NULL;

    for (char *at = line; *at != '\0'; at++) {
        if (strncmp(at, " => ", 4) == 0 || strncmp(at, " ! ", 3) == 0)
            found = at;
    }
    if (found == NULL) {
        fail_msg("'%s' has neither a result nor a message", line);
        abort();
    }
    *refused = found[1] == '!';
    *found = '\0';
    return found + (*refused ? 3 : 4);
}

static void check_case(struct nuc_context *cx, void *arg)
{
    struct text_case *c = arg;
    const struct kind *kind = NULL;
    struct notation n = {.graph = ""};
    char *line;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strncmp(c->name, kinds[i].name, strlen(kinds[i].name)) == 0 && c->name[strlen(kinds[i].name)] == ':')
            kind = &kinds[i];
    }
    if (kind == NULL) {
        fail_msg("'%s' begins with no kind of case", c->name);
        abort();
    }
    while ((line = take_line(&c->lines)) != NULL) {
        bool refused;
        if (*line == '%')
            n.graph = nuc_format(cx, "%s%s\n", n.graph, line);
        if (*line == '%' || *line == '\0')
            continue;
        const char *result = split_last(line, &refused);
        n.text = line;
        n.result = refused ? NULL : result;
        if (refused)
            expect_failure(kind->run, &n, kind->refusal, result);
        else
            run_in_context(kind->run, &n);
    }
}

RUN_TESTS(TEXT_TEST("cases/formulas.txt", check_case, NULL))
