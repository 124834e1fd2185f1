/* Members of a report's tree that occur in several of its parts. */
#include "archive/json_build.h"
#include "tools/report/full_report.h"

void nuc_put_id(struct nuc_context *cx, json_t *to, const char *key, uint32_t id)
{
    if (id != NUC_NO_ID)
        nuc_put_int(cx, to, key, id);
    else
        nuc_put_null(cx, to, key);
}

void nuc_put_sizes(struct nuc_context *cx, json_t *to, const struct nuc_meta *meta)
{
    json_t *sizes = nuc_put_array(cx, to, "sizes");

    for (uint32_t i = 0; i < meta->rank; i++)
        nuc_put_int(cx, sizes, NULL, meta->sizes[i]);
}
