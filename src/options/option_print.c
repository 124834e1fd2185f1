/* The text of an option's value, as nuc_option_set() takes it. */
#include <string.h>

#include "host/text.h"
#include "options/options.h"

static uint64_t number_at(const struct nuc_option_info *row, const void *at)
{
    uint64_t wide;
    unsigned narrow;

    if (row->size == sizeof(bool))
        return *(const bool *)at;
    if (row->size == sizeof wide) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

static size_t count_at(const struct nuc_option_info *row, const char *members)
{
    size_t count;

    memcpy(&count, members + row->count, sizeof count);
    return count;
}

static bool differs(const struct nuc_option_info *row, const char *a, const char *b)
{
    const char *x, *y;

    if (row->kind == NUC_OPTION_LIST || row->kind == NUC_OPTION_FLOATS)
        return count_at(row, a) != count_at(row, b) || memcmp(a + row->offset, b + row->offset, row->size) != 0;
    if (row->kind != NUC_OPTION_STRING && row->kind != NUC_OPTION_TEXT)
        return memcmp(a + row->offset, b + row->offset, row->size) != 0;
    memcpy(&x, a + row->offset, sizeof x);
    memcpy(&y, b + row->offset, sizeof y);
    return x == NULL || y == NULL ? x != y : strcmp(x, y) != 0;
}

static void put_list(struct nuc_text *to, const struct nuc_option_info *row, const char *members)
{
    const char *const *items;

    memcpy(&items, members + row->offset, sizeof items);
    for (size_t i = 0; i < count_at(row, members); i++)
        nuc_text_addf(to, "%s%s", i > 0 ? "," : "", items[i]);
}

static void put_floats(struct nuc_text *to, const struct nuc_option_info *row, const char *members)
{
    const float *values = (const void *)(members + row->offset);

    for (size_t i = 0; i < count_at(row, members); i++)
        nuc_text_addf(to, "%s%.9g", i > 0 ? "," : "", (double)values[i]);
}

static void put_value(struct nuc_text *to, const struct nuc_option_info *row, const char *members)
{
    const void *at = members + row->offset;
    const char *text;
    int64_t integer;
    double real;

    switch (row->kind) {
    case NUC_OPTION_FLAG:
        nuc_text_addf(to, "%s", number_at(row, at) == row->set ? "true" : "false");
        break;
    case NUC_OPTION_STRING:
    case NUC_OPTION_TEXT:
        memcpy(&text, at, sizeof text);
        nuc_text_addf(to, "%s", text != NULL ? text : row->choices != NULL ? row->choices[0] : "");
        break;
    case NUC_OPTION_NUMBER:
    case NUC_OPTION_COUNT:
    case NUC_OPTION_CYCLES:
    case NUC_OPTION_BYTES:
        nuc_text_addf(to, "%llu", (unsigned long long)number_at(row, at));
        break;
    case NUC_OPTION_CHOICE:
        nuc_text_addf(to, "%s", row->choices[row->set == 0 ? number_at(row, at) : row->set - number_at(row, at)]);
        break;
    case NUC_OPTION_INTEGER:
        memcpy(&integer, at, sizeof integer);
        nuc_text_addf(to, "%lld", (long long)integer);
        break;
    case NUC_OPTION_REAL:
    case NUC_OPTION_SHARE:
        memcpy(&real, at, sizeof real);
        nuc_text_addf(to, "%.17g", real);
        break;
    case NUC_OPTION_FLOATS:
        put_floats(to, row, members);
        break;
    case NUC_OPTION_LIST:
        put_list(to, row, members);
        break;
    }
}

const char *nuc_option_print(struct nuc_context *cx, const struct nuc_option_info *row, const struct nuc_options *o,
                             const struct nuc_options *from)
{
    struct nuc_text text = {.cx = cx};

    if (!differs(row, (const char *)o, (const char *)from))
        return NULL;
    if (row->kind == NUC_OPTION_FLAG && number_at(row, (const char *)o + row->offset) != row->set)
        return NULL; /* another option of the same member says it */
    put_value(&text, row, (const char *)o);
    return nuc_text_string(&text);
}
