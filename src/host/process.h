/* The cores there are; another program, run without a shell: its arguments, a time limit, and what it says. */
#ifndef NUC_HOST_PROCESS_H
#define NUC_HOST_PROCESS_H

#include "host/context.h"

/* Of the machine, those that work now: at least one. */
unsigned nuc_cores(void);

/* Whether this process may fork and go on in the child: no other thread holds a lock then. False: or nobody knows. */
bool nuc_has_one_thread(void);

enum nuc_process_end {
    NUC_PROCESS_EXIT,   /* code: of the exit */
    NUC_PROCESS_SIGNAL, /* code: of the signal */
    NUC_PROCESS_TIMEOUT /* it was ended with all processes it had started */
};

struct nuc_process_result {
    enum nuc_process_end end;
    int code;
    const char *said; /* the end of its standard output and error: one line, "" when it said nothing */
};

/*
 * Runs argv[0], looked up in PATH, with the arguments up to a NULL, standard input empty, in a process group of its
 * own, for at most `seconds`. Fails with NUC_IO when it cannot be started.
 */
struct nuc_process_result nuc_run_process(struct nuc_context *cx, const char *const *argv, unsigned seconds);

/*
 * A new folder below TMPDIR (or /tmp), for the owner only. It is removed with the files in it when the current arena is
 * freed.
 */
const char *nuc_temporary_folder(struct nuc_context *cx);

#endif
