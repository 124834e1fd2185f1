/* check_formulas: reads every formula and pattern and checks its names and arities. The build runs it. */
#include <stdio.h>

#include "host/context.h"
#include "tools/formula_check.h"

static void check(struct nuc_context *cx, void *unused)
{
    (void)unused;
    nuc_formulas_check(cx);
}

int main(void)
{
    struct nuc_context *cx = nuc_context_new(NULL);
    enum nuc_status status = cx == NULL ? NUC_NO_MEMORY : nuc_try(cx, check, NULL);

    if (status != NUC_OK)
        fprintf(stderr, "check_formulas: %s\n", cx == NULL ? "no memory" : cx->message);
    nuc_context_free(cx);
    return status == NUC_OK ? 0 : 1;
}
