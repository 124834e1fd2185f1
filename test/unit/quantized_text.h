/*
 * A shorthand of the graph text for quantized networks. On top of the text form (docs/formats.md):
 *
 *   "; "                         ends a line, too
 *   "! 0.25, -3" at the end      the value is quantized and dequantized again: %r is followed by %qr and %dr. Of a
 *                                constant only the dequantize node is added. Without numbers: 0.5, 0. int8 ranges are
 *                                -128 to 127, int32 ones all of int32; with five parameters, these as they are
 *   "= buffer : int8[4]"         the state-dict name is the node's
 *   no output line               the output is the last value, dequantized if it is quantized
 */
#ifndef NUC_TEST_QUANTIZED_TEXT_H
#define NUC_TEST_QUANTIZED_TEXT_H

#include "host/text.h"
#include "unit/graph_texts.h"

struct expansion {
    struct nuc_context *cx;
    struct nuc_text placeholders, pairs, calls; /* `pairs`: the quantize and dequantize nodes of placeholders */
    const char *last;
};

/* "0.5, 0, -128, 127, int8" from what stands after the '!'. */
static inline const char *quantization_of(struct expansion *e, const char *given, const char *line, bool is_static)
{
    bool wide = is_static && strstr(line, ": int32[") != NULL;
    int commas = 0;

    for (const char *p = given; *p != '\0'; p++)
        commas += *p == ',';
    if (commas >= 4)
        return given;
    return nuc_format(e->cx, "%s%s, %s", given[0] == '\0' ? "0.5" : given, commas == 0 ? ", 0" : "",
                      wide ? "-2147483648, 2147483647, int32" : "-128, 127, int8");
}

static inline void expand_line(struct expansion *e, char *line)
{
    char *mark = strstr(line, " !"), *stop = strstr(line, " = ");
    bool is_static =
        strstr(line, "= buffer") != NULL || strstr(line, "= parameter") != NULL || strstr(line, "= constant") != NULL;
    bool is_placeholder = is_static || strstr(line, "= input") != NULL;
    struct nuc_text *body = is_placeholder ? &e->placeholders : &e->calls;
    struct nuc_text *more = is_placeholder ? &e->pairs : &e->calls;

    assert_non_null(stop);
    const char *name = nuc_format(e->cx, "%.*s", (int)(stop - line - 1), line + 1);
    if (mark != NULL)
        *mark = '\0';
    char *anonymous = is_static ? strstr(line, " : ") : NULL;
    if (anonymous != NULL && memchr(line, '"', (size_t)(anonymous - line)) == NULL)
        nuc_text_addf(body, "%.*s \"%s\"%s\n", (int)(anonymous - line), line, name, anonymous);
    else
        nuc_text_addf(body, "%s\n", line);
    e->last = nuc_format(e->cx, "%s%s", mark != NULL ? "d" : "", name);
    if (mark == NULL)
        return;
    const char *q = quantization_of(e, mark + 2 + strspn(mark + 2, " "), line, is_static);
    if (!is_static)
        nuc_text_addf(more, "%%q%s = quantized_decomposed.quantize_per_tensor.default(%%%s, %s)\n", name, name, q);
    nuc_text_addf(more, "%%d%s = quantized_decomposed.dequantize_per_tensor.default(%%%s%s, %s)\n", name,
                  is_static ? "" : "q", name, q);
}

/* The lines of the text form, without its first one. */
static inline const char *expand_text(struct nuc_context *cx, const char *text)
{
    struct expansion e = {.cx = cx, .placeholders = {.cx = cx}, .pairs = {.cx = cx}, .calls = {.cx = cx}, .last = ""};
    char *copy = nuc_strdup(cx, text);

    while (*copy != '\0') {
        char *semicolon = strstr(copy, "; "), *end = copy + strcspn(copy, "\n");
        if (semicolon != NULL && semicolon < end)
            end = semicolon;
        bool ended = *end != '\0';
        *end = '\0';
        if (*copy == '%')
            expand_line(&e, copy);
        copy = ended ? end + 1 : end;
        copy += strspn(copy, " ");
    }
    if (strcmp(e.last, "output") != 0)
        nuc_text_addf(&e.calls, "%%output = output([%%%s])\n", e.last);
    return nuc_format(cx, "%s%s%s", nuc_text_string(&e.placeholders), nuc_text_string(&e.pairs),
                      nuc_text_string(&e.calls));
}

static inline struct nuc_graph *parse_quantized(struct nuc_context *cx, const char *text)
{
    return parse_graph(cx, expand_text(cx, text));
}

/* Without the verifier: what a call says of its result may be wrong. */
static inline struct nuc_graph *parse_unverified(struct nuc_context *cx, const char *text)
{
    return nuc_graph_parse(cx, "test", nuc_format(cx, "nucleon-graph 1\n%s", expand_text(cx, text)));
}

#endif
