/* Members of a report's tree that occur in several of its parts. */
#include <math.h>

#include "compiler/export/json_build.h"
#include "compiler/full_report/full_report.h"

void nuc_put_text(struct nuc_context *cx, json_t *to, const char *key, const char *text)
{
    if (text != NULL)
        nuc_put_string(cx, to, key, text);
    else
        nuc_put_null(cx, to, key);
}

void nuc_put_id(struct nuc_context *cx, json_t *to, const char *key, uint32_t id)
{
    if (id != NUC_NO_ID)
        nuc_put_int(cx, to, key, id);
    else
        nuc_put_null(cx, to, key);
}

void nuc_put_count(struct nuc_context *cx, json_t *to, const char *key, uint64_t count)
{
    nuc_put_int(cx, to, key, (int64_t)count);
}

void nuc_put_measure(struct nuc_context *cx, json_t *to, const char *key, double value)
{
    if (isnan(value))
        nuc_put_null(cx, to, key);
    else
        nuc_put_double(cx, to, key, value);
}

void nuc_put_sizes(struct nuc_context *cx, json_t *to, const struct nuc_meta *meta)
{
    json_t *sizes = nuc_put_array(cx, to, "sizes");

    for (uint32_t i = 0; i < meta->rank; i++)
        nuc_put_int(cx, sizes, NULL, meta->sizes[i]);
}
