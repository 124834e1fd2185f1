#include "host/text.h"

#include <stdio.h>
#include <string.h>

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

    for (;;) {
        const size_t room = text->capacity - text->length;
        va_start(args, format);
        int length = vsnprintf(room == 0 ? NULL : text->data + text->length, room, format, args);
        va_end(args);
        if (length < 0)
            nuc_fail(text->cx, NUC_INTERNAL, "a text could not be formatted");
        if ((size_t)length < room) {
            text->length += (size_t)length;
            return;
        }
        text->data = nuc_grow(text->cx, text->data, &text->capacity, text->length + (size_t)length + 1, 1);
    }
}

const char *nuc_text_string(struct nuc_text *text)
{
    return text->data == NULL ? "" : text->data;
}

const char *nuc_with_commas(struct nuc_context *cx, uint64_t value)
{
    char digits[32], grouped[48];
    size_t length = 0, k = 0;

    do {
        digits[length++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (size_t i = length; i > 0; i--) {
        grouped[k++] = digits[i - 1];
        if (i > 1 && (i - 1) % 3 == 0)
            grouped[k++] = ',';
    }
    grouped[k] = '\0';
    return nuc_strdup(cx, grouped);
}

const char *nuc_time_text(struct nuc_context *cx, uint64_t cycles, double clock_hz)
{
    static const char *const units[] = {"us", "ms", "s"};
    double value = (double)cycles / clock_hz * 1e6;
    size_t unit = 0;

    for (; value >= 999.5 && unit < 2; unit++)
        value *= 1e-3;
    return nuc_format(cx, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit]);
}

const char *nuc_sizes_text(struct nuc_context *cx, const int64_t *sizes, size_t rank)
{
    struct nuc_text text = {.cx = cx};

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

bool nuc_is_one_of(const char *text, const char *const *list, size_t count)
{
    size_t i = 0;

    while (i < count && list[i] != NULL && strcmp(list[i], text) != 0)
        i++;
    return i < count && list[i] != NULL;
}
