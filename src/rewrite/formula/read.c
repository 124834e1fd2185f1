/*
 * From text to tree, by recursive descent. The loosest operator first:
 *
 *     c ? a : b    a | b    a & b    == != < <= > >=    + -    * / %    - !    a[i]
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ir/args.h"
#include "rewrite/formula/term.h"

struct reader {
    struct nuc_context *cx;
    const char *title, *text, *at;
};

_Noreturn static void fail(const struct reader *r, const char *what)
{
    nuc_fail(r->cx, NUC_INTERNAL, "formula '%s': %s at '%.24s'", r->title, what, r->at);
}

static void skip_space(struct reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

static bool take(struct reader *r, const char *sign)
{
    size_t length = strlen(sign);

    skip_space(r);
    if (strncmp(r->at, sign, length) != 0)
        return false;
    r->at += length;
    return true;
}

static void expect(struct reader *r, const char *sign)
{
    if (!take(r, sign))
        fail(r, nuc_format(r->cx, "'%s' is missing", sign));
}

static bool is_name_character(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static const char *read_name(struct reader *r)
{
    const char *begin;

    skip_space(r);
    begin = r->at;
    if (!isalpha((unsigned char)*begin) && *begin != '_')
        fail(r, "a name is missing");
    while (is_name_character(*r->at))
        r->at++;
    return nuc_format(r->cx, "%.*s", (int)(r->at - begin), begin);
}

static struct nuc_term *new_term(struct reader *r, enum nuc_term_kind kind, const char *name)
{
    struct nuc_term *t = nuc_alloc(r->cx, sizeof *t);

    t->kind = kind;
    t->name = name;
    return t;
}

static void append(struct reader *r, struct nuc_term *t, struct nuc_term *part, const char *keyword)
{
    enum { MAX_TERMS = 24 };

    if (t->terms == NULL) {
        t->terms = nuc_alloc_array(r->cx, MAX_TERMS, sizeof(struct nuc_term *));
        t->keywords = nuc_alloc_array(r->cx, MAX_TERMS, sizeof(const char *));
    }
    if (t->count == MAX_TERMS)
        fail(r, "there are too many terms");
    t->keywords[t->count] = keyword;
    t->terms[t->count++] = part;
}

static struct nuc_term *call_of(struct reader *r, const char *name, struct nuc_term *a, struct nuc_term *b)
{
    struct nuc_term *t = new_term(r, NUC_TERM_CALL, name);

    append(r, t, a, NULL);
    if (b != NULL)
        append(r, t, b, NULL);
    return t;
}

static struct nuc_term *read_expression(struct reader *r);

/* A number with a point or an exponent is a float, another one an int. */
static struct nuc_term *read_number(struct reader *r)
{
    struct nuc_term *t = new_term(r, NUC_TERM_VALUE, NULL);
    char *end;

    if (r->at[strspn(r->at, "0123456789")] == '.' || strpbrk(r->at, "e") == r->at + strspn(r->at, "0123456789")) {
        t->value = nuc_float_arg(strtod(r->at, &end));
    } else {
        t->value = nuc_int_arg(strtoll(r->at, &end, 10));
    }
    r->at = end;
    return t;
}

static struct nuc_term *read_text(struct reader *r)
{
    struct nuc_term *t = new_term(r, NUC_TERM_VALUE, NULL);
    const char *begin = r->at, *end = strchr(begin, '"');

    if (end == NULL)
        fail(r, "the text does not end");
    t->value =
        (struct nuc_arg){.kind = NUC_ARG_STRING, .u.string = nuc_format(r->cx, "%.*s", (int)(end - begin), begin)};
    r->at = end + 1;
    return t;
}

/* Terms up to `end`; of a call they may have keywords. */
static void read_terms(struct reader *r, struct nuc_term *t, const char *end)
{
    if (take(r, end))
        return;
    do {
        const char *keyword = NULL, *begin;
        skip_space(r);
        begin = r->at;
        if (t->kind == NUC_TERM_CALL && (isalpha((unsigned char)*begin) || *begin == '_')) {
            keyword = read_name(r);
            skip_space(r);
            if (r->at[0] != '=' || r->at[1] == '=') {
                keyword = NULL;
                r->at = begin;
            } else {
                r->at++;
            }
        }
        append(r, t, read_expression(r), keyword);
    } while (take(r, ","));
    expect(r, end);
}

static struct nuc_term *read_primary(struct reader *r)
{
    struct nuc_term *t;

    skip_space(r);
    if (isdigit((unsigned char)*r->at)) {
        t = read_number(r);
    } else if (take(r, "\"")) {
        t = read_text(r);
    } else if (take(r, "(")) {
        t = read_expression(r);
        expect(r, ")");
    } else if (take(r, "[")) {
        t = new_term(r, NUC_TERM_LIST, NULL);
        read_terms(r, t, "]");
    } else {
        t = new_term(r, NUC_TERM_NAME, read_name(r));
        if (take(r, "(")) {
            t->kind = NUC_TERM_CALL;
            read_terms(r, t, ")");
        }
    }
    while (take(r, "[")) {
        struct nuc_term *index = new_term(r, NUC_TERM_INDEX, NULL);
        append(r, index, t, NULL);
        append(r, index, read_expression(r), NULL);
        expect(r, "]");
        t = index;
    }
    return t;
}

static struct nuc_term *read_unary(struct reader *r)
{
    skip_space(r);
    if (r->at[0] == '!' && r->at[1] != '=') {
        r->at++;
        return call_of(r, "!", read_unary(r), NULL);
    }
    return take(r, "-") ? call_of(r, "neg", read_unary(r), NULL) : read_primary(r);
}

/* Left-associative signs by level, the loosest first; a longer sign before its beginning. */
static struct nuc_term *read_level(struct reader *r, int level)
{
    static const char *const signs[][7] = {
        {"|"}, {"&"}, {"==", "!=", "<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"},
    };
    struct nuc_term *t;
    int i = 0;

    if (level == sizeof signs / sizeof *signs)
        return read_unary(r);
    t = read_level(r, level + 1);
    while (signs[level][i] != NULL) {
        if (take(r, signs[level][i])) {
            t = call_of(r, signs[level][i], t, read_level(r, level + 1));
            i = 0;
        } else {
            i++;
        }
    }
    return t;
}

static struct nuc_term *read_expression(struct reader *r)
{
    struct nuc_term *t = read_level(r, 0), *choice;

    if (!take(r, "?"))
        return t;
    choice = new_term(r, NUC_TERM_CHOICE, NULL);
    append(r, choice, t, NULL);
    append(r, choice, read_expression(r), NULL);
    expect(r, ":");
    append(r, choice, read_expression(r), NULL);
    return choice;
}

static void expect_end(struct reader *r)
{
    skip_space(r);
    if (*r->at != '\0')
        fail(r, "something follows");
}

/* "name =" of a statement, or NULL. */
static const char *read_target(struct reader *r)
{
    const char *begin, *name;

    skip_space(r);
    begin = r->at;
    if (isalpha((unsigned char)*begin) || *begin == '_') {
        name = read_name(r);
        skip_space(r);
        if (r->at[0] == '=' && r->at[1] != '=') {
            r->at++;
            return name;
        }
    }
    r->at = begin;
    return NULL;
}

void nuc_read_formula(struct nuc_context *cx, const char *title, const char *text, struct nuc_formula *out)
{
    struct reader r = {cx, title, text, text};

    *out = (struct nuc_formula){.title = title};
    for (;;) {
        struct nuc_statement s = {.kind = NUC_STATEMENT_CHECK, .name = read_target(&r)};
        if (s.name != NULL)
            s.kind = NUC_STATEMENT_LET;
        else if (strncmp(r.at, "when ", 5) == 0) {
            s.kind = NUC_STATEMENT_WHEN;
            r.at += 5;
        }
        s.term = read_expression(&r);
        if (!take(&r, ";")) {
            if (s.kind != NUC_STATEMENT_CHECK)
                fail(&r, "';' and a result are missing");
            out->results[out->n_results++] = s.term;
            break;
        }
        if (out->n_statements == NUC_FORMULA_NAMES)
            fail(&r, "there are too many statements");
        out->statements[out->n_statements++] = s;
    }
    while (take(&r, ",") && out->n_results < sizeof out->results / sizeof *out->results)
        out->results[out->n_results++] = read_expression(&r);
    expect_end(&r);
}

void nuc_read_definition(struct nuc_context *cx, const char *signature, const char *text, struct nuc_definition *out)
{
    struct reader r = {cx, signature, signature, signature};

    *out = (struct nuc_definition){.name = read_name(&r)};
    expect(&r, "(");
    do {
        if (out->n_parameters == sizeof out->parameters / sizeof *out->parameters)
            fail(&r, "there are too many parameters");
        out->parameters[out->n_parameters++] = read_name(&r);
    } while (take(&r, ","));
    expect(&r, ")");
    nuc_read_formula(cx, signature, text, &out->body);
}

struct nuc_term *nuc_read_term(struct nuc_context *cx, const char *title, const char *text)
{
    struct reader r = {cx, title, text, text};
    struct nuc_term *t = read_expression(&r);

    expect_end(&r);
    return t;
}

void nuc_read_pattern(struct nuc_context *cx, const char *title, const char *text, struct nuc_pattern *out)
{
    struct reader r = {cx, title, text, text};

    *out = (struct nuc_pattern){.pattern = read_expression(&r)};
    expect(&r, "=>");
    out->result = read_expression(&r);
    if (take(&r, ","))
        out->guard = read_expression(&r);
    expect_end(&r);
}
