/*
 * A public call: what fails inside becomes its status, the files that it writes appear together when it succeeds, and
 * numbers are those of the locale C. Calls nest; the outermost counts for files and locale. Results are set last, so
 * that a call that fails leaves the caller's variables as they were.
 *
 *     enum nuc_status nuc_model_text(struct nuc_model *m, bool with_data, const char **out)
 *     {
 *         struct nuc_call call;
 *
 *         if (setjmp(call.catch.here) == 0) {
 *             nuc_enter(&call, nuc_model_context(m), __func__, out != NULL);
 *             *out = nuc_graph_print(m->graph, with_data);
 *         }
 *         return nuc_leave(&call);
 *     }
 */
#ifndef NUC_HOST_CALL_H
#define NUC_HOST_CALL_H

#include "host/context.h"

struct nuc_compiler;
struct nuc_model;

/* Whose calls they are; NULL: the caller gave none. The driver has them, who makes these objects. */
struct nuc_context *nuc_context_of(const struct nuc_compiler *c);
struct nuc_context *nuc_model_context(const struct nuc_model *m);

struct nuc_call {
    struct nuc_catch catch;
    struct nuc_context *volatile cx; /* NULL: the caller gave no object to take it from */
    volatile bool begun, outermost;  /* files wait for the end of this call; no other is around it */
};

/*
 * The call of the function `name` begins. Without a context it ends with NUC_BAD_USAGE, and unless what is `given` is
 * what the header asks for also with a line that says so.
 */
void nuc_enter(struct nuc_call *call, struct nuc_context *cx, const char *name, bool given);
enum nuc_status nuc_leave(struct nuc_call *call);

/* The locale "C" for this thread; gives the one that it had, a locale_t, to be left to. Nothing is allocated. */
void *nuc_enter_locale(void);
void nuc_leave_locale(void *outer);

#endif
