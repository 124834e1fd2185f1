/* What the forms share: texts of files as JSON and dot strings, and trees as text. */
#include "inspect/inspect_forms.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "archive/json_build.h"
#include "archive/program_view.h"
#include "host/characters.h"

#define MAX_SHOWN 64u /* items of a list */

void nuc_put_bytes_text(struct nuc_context *cx, json_t *parent, const char *key, const char *text)
{
    const struct nuc_view_list bytes = {(const uint8_t *)text, text != NULL ? (uint32_t)strlen(text) : 0, 1};

    nuc_put_string(cx, parent, key, nuc_view_text(cx, bytes));
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

/* ---- trees as text ---- */

/* Infinities and NaN are texts in the tree, which strtod() reads. */
static void print_double(struct nuc_text *out, const json_t *value, int digits)
{
    double number = json_is_string(value) ? strtod(json_string_value(value), NULL) : json_real_value(value);

    nuc_text_addf(out, "%.*g", digits, number);
}

/* `member` ends before a '}'. */
static void print_member(struct nuc_text *out, const json_t *object, const char *member)
{
    size_t length = strcspn(member, ":}");
    const json_t *value = json_object_get(object, nuc_format(out->cx, "%.*s", (int)length, member));

    assert(value != NULL);
    char format = member[length] == ':' ? member[length + 1] : '\0';
    if (json_is_array(value)) {
        bool bare = format == ',' || format == 't';
        nuc_text_addf(out, bare ? "" : "[");
        for (size_t i = 0; i < json_array_size(value) && i < MAX_SHOWN; i++) {
            const json_t *item = json_array_get(value, i);
            nuc_text_addf(out, i == 0 ? "" : ", ");
            if (json_is_integer(item))
                nuc_text_addf(out, "%lld", (long long)json_integer_value(item));
            else if (json_is_string(item) && format == 't')
                nuc_text_addf(out, "%s", json_string_value(item));
            else
                print_double(out, item, 9);
        }
        nuc_text_addf(out, json_array_size(value) > MAX_SHOWN ? ", ..." : "");
        nuc_text_addf(out, bare ? "" : "]");
    } else if (json_is_string(value) && format != 'g') {
        nuc_text_addf(out, "%s", nuc_plain_text(out->cx, json_string_value(value)));
    } else if (json_is_boolean(value)) {
        nuc_text_addf(out, json_is_true(value) ? "true" : "false");
    } else if (json_is_integer(value)) {
        nuc_text_addf(out, format == 'x' ? "0x%08llx" : "%lld", (long long)json_integer_value(value));
    } else {
        print_double(out, value, format == '6' ? 6 : 17);
    }
}

void nuc_print_members(struct nuc_text *out, const json_t *object, const char *template)
{
    while (*template != '\0') {
        size_t plain = strcspn(template, "{");
        nuc_text_add(out, template, plain);
        template += plain;
        if (*template == '{') {
            print_member(out, object, template + 1);
            template += strcspn(template, "}") + 1;
        }
    }
}
