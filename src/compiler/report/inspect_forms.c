/* What the forms share: texts of files as JSON and dot strings. */
#include "compiler/report/inspect_forms.h"

#include "compiler/import/json_build.h"

void nuc_put_bytes_text(struct nuc_context *cx, json_t *parent, const char *key, const char *text, size_t length)
{
    struct nuc_text out;

    nuc_text_init(&out, cx);
    for (size_t i = 0; i < length; i++) {
        bool plain = text[i] >= ' ' && text[i] < 127;
        nuc_text_addf(&out, plain ? "%c" : "\\x%02x", plain ? text[i] : (unsigned char)text[i]);
    }
    nuc_put_string(cx, parent, key, nuc_text_string(&out));
}

/* A line end stays one; other control characters, which dot has no escape for, become spaces. */
void nuc_dot_string(struct nuc_text *out, const char *text)
{
    nuc_text_addf(out, "\"");
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            nuc_text_addf(out, "\\n");
        else if (*text == '"' || *text == '\\')
            nuc_text_addf(out, "\\%c", *text);
        else
            nuc_text_addf(out, "%c", (unsigned char)*text < ' ' || *text == 127 ? ' ' : *text);
    }
    nuc_text_addf(out, "\"");
}
