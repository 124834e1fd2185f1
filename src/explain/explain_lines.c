/* Words and places, as the lines of an explanation have them. */
#include "explain/explain_lines.h"

#include <string.h>

#include "host/file.h"

const char *nuc_shortened(struct nuc_context *cx, const char *text, size_t width)
{
    size_t length = strlen(text), head = (width - 2) / 2;

    if (length <= width)
        return text;
    return nuc_format(cx, "%.*s..%s", (int)head, text, text + length - (width - 2 - head));
}

void nuc_print_words(struct nuc_text *out, size_t column, size_t indent, const char *text)
{
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        word = word > NUC_LINE_WIDTH - indent ? NUC_LINE_WIDTH - indent : word;
        if (column + word > NUC_LINE_WIDTH) {
            nuc_text_addf(out, "\n%*s", (int)indent, "");
            column = indent;
        }
        nuc_text_addf(out, "%.*s", (int)word, text);
        text += word;
        column += word;
        if (*text == ' ' && text[strspn(text, " ")] != '\0' &&
            column + 1 + strcspn(text + strspn(text, " "), " ") <= NUC_LINE_WIDTH) {
            nuc_text_addf(out, " ");
            column++;
        } else if (*text == ' ') {
            column = NUC_LINE_WIDTH;
        }
        text += strspn(text, " ");
    }
    nuc_text_addf(out, "\n");
}

bool nuc_is_text(const char *text)
{
    return text != NULL && *text != '\0';
}

const char *nuc_source_text(struct nuc_context *cx, const struct nuc_source *source)
{
    return source->file == NULL ? "-" : nuc_format(cx, "%s:%d", nuc_base_name(source->file), source->line);
}

const char *nuc_place_text(struct nuc_context *cx, const struct nuc_node *node)
{
    const struct nuc_source *source = node->source;
    bool has_line = source->file != NULL;
    const char *module = has_line ? NULL : source->call;

    if (nuc_is_text(source->module))
        module = nuc_shortened(cx, source->module, 40);
    else if (source->module == NULL && source->label != NULL)
        module = nuc_shortened(cx, source->label, 40);

    return nuc_format(cx, "%s%s%s%s%s%s", nuc_written_operator(cx, node), has_line ? " at " : "",
                      has_line ? nuc_source_text(cx, source) : "", module != NULL ? " (" : "",
                      module != NULL ? module : "", module != NULL ? ")" : "");
}

const char *nuc_part_name(struct nuc_context *cx, const struct nuc_node *node)
{
    const char *name = nuc_short_op_name(nuc_node_op_name(node)), *dot = strchr(name, '.');

    return dot == NULL ? name : nuc_format(cx, "%.*s", (int)strcspn(dot + 1, "."), dot + 1);
}

/* The node of that name; NULL: none. */
static const struct nuc_node *named(const struct nuc_explanation *e, const char *name, size_t length)
{
    for (uint32_t i = 0; i < e->n_rows; i++) {
        const struct nuc_node *node = e->rows[i].node;
        if (strncmp(node->name, name, length) == 0 && node->name[length] == '\0')
            return nuc_is_operator(node) ? node : NULL;
    }
    return NULL;
}

/* Node names in what a rule found become places in the model. True: there are some. */
static bool print_found(struct nuc_text *out, const struct nuc_explanation *e, const struct nuc_node *of,
                        const char *found)
{
    bool any = false;

    while (*found != '\0') {
        size_t length = strcspn(found, " ,:;"), gap = strspn(found + length, " ,:;");
        const struct nuc_node *node = length > 0 && memchr(found, '_', length) != NULL ? named(e, found, length) : NULL;
        if (node != NULL && nuc_is_same_call(node, of))
            nuc_text_addf(out, "its own %s", nuc_part_name(out->cx, node));
        else if (node != NULL)
            nuc_text_addf(out, "%s", nuc_place_text(out->cx, node));
        else
            nuc_text_add(out, found, length);
        nuc_text_add(out, found + length, gap);
        any = any || node != NULL;
        found += length + gap;
    }
    return any;
}

const char *nuc_found_text(struct nuc_context *cx, const struct nuc_explanation *e, const struct nuc_decision *d,
                           bool *names_place)
{
    struct nuc_text out = {.cx = cx};

    bool any = d->actual != NULL && print_found(&out, e, d->node, d->actual);
    if (names_place != NULL)
        *names_place = any;
    return nuc_text_string(&out);
}
