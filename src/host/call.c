#include "host/call.h"

#include <locale.h>

#include "host/file.h"

/* Where the locale cannot be had, the thread stays in its own. */
void *nuc_enter_locale(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

/* C libraries have one object for "C", and free nothing. */
void nuc_leave_locale(void *outer)
{
    locale_t inner = uselocale(outer);

    if (inner != outer && inner != LC_GLOBAL_LOCALE)
        freelocale(inner);
}

void nuc_enter(struct nuc_call *call, struct nuc_context *cx, const char *name, bool given)
{
    call->cx = cx;
    if (cx == NULL)
        longjmp(call->catch.here, 1);
    call->outermost = cx->on_error == NULL;
    call->begun = nuc_begin_outputs(cx);
    nuc_begin_catch(cx, &call->catch);
    cx->message[0] = '\0';
    if (call->outermost) {
        cx->locale = nuc_enter_locale();
        atomic_store(&cx->interrupted, false);
    }
    if (!given)
        nuc_fail(cx, NUC_BAD_USAGE, "%s(): an argument is NULL that may not be, or out of its range: see its header",
                 name);
}

static void commit(struct nuc_context *cx, void *arg)
{
    (void)arg;
    nuc_commit_outputs(cx);
}

enum nuc_status nuc_leave(struct nuc_call *call)
{
    struct nuc_context *cx = call->cx;

    if (cx == NULL)
        return NUC_BAD_USAGE;
    enum nuc_status status = nuc_end_catch(cx, &call->catch);
    if (status == NUC_OK && call->begun)
        status = nuc_try(cx, commit, NULL);
    if (call->outermost) {
        nuc_leave_locale(cx->locale);
        cx->locale = NULL;
    }
    if (call->begun)
        nuc_end_outputs(cx);
    /* Of a trial inside that failed, when the call itself did not. */
    if (status == NUC_OK)
        cx->message[0] = '\0';
    return status;
}
