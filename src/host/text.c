#include "host/text.h"

#include <stdio.h>
#include <string.h>

void nuc_text_init(struct nuc_text *text, struct nuc_context *cx)
{
    *text = (struct nuc_text){cx, NULL, 0, 0};
}

void nuc_text_add(struct nuc_text *text, const char *bytes, size_t length)
{
    text->data = nuc_grow(text->cx, text->data, &text->capacity, text->length + length + 1, 1);
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void nuc_text_addf(struct nuc_text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        nuc_fail(text->cx, NUC_INTERNAL, "a text could not be formatted");
    size_t needed = text->length + (size_t)length + 1;
    text->data = nuc_grow(text->cx, text->data, &text->capacity, needed, 1);
    va_start(args, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, args);
    va_end(args);
    text->length += (size_t)length;
}

const char *nuc_text_string(struct nuc_text *text)
{
    return text->data == NULL ? "" : text->data;
}

const char *nuc_sizes_text(struct nuc_context *cx, const int64_t *sizes, size_t rank)
{
    struct nuc_text text;

    nuc_text_init(&text, cx);
    nuc_text_addf(&text, "[");
    for (size_t i = 0; i < rank; i++)
        nuc_text_addf(&text, "%s%lld", i == 0 ? "" : ", ", (long long)sizes[i]);
    nuc_text_addf(&text, "]");
    return nuc_text_string(&text);
}

void nuc_text_add_column(struct nuc_text *out, const char *text, size_t width, size_t head)
{
    size_t length = strlen(text);

    if (length <= width)
        nuc_text_addf(out, "%-*s ", (int)width, text);
    else
        nuc_text_addf(out, "%.*s..%s ", (int)head, text, text + length - (width - 2 - head));
}
