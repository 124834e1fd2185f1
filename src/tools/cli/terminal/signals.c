#include "tools/cli/terminal/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "nucleon/compile.h"

/* `tune` compiles its result with a second one. */
#define MAX_COMPILERS 4

/* A handler has no argument to find them by. */
static _Atomic(struct nuc_compiler *) watched[MAX_COMPILERS];

/* The thread that starts processes and makes files, and holds signals off while it enters them. */
static pthread_t working;

/*
 * The system gives a signal to any thread that does not block it, and `timeout` sends it twice: only the working thread
 * may clear away, the second signal waits for it. Then the signal has its default effect again, so that whoever waits
 * for the process sees what ended it.
 */
static void clear_away(int number)
{
    if (pthread_equal(pthread_self(), working) == 0) {
        pthread_kill(working, number);
        return;
    }
    for (size_t i = 0; i < MAX_COMPILERS; i++) {
        struct nuc_compiler *c = atomic_load(&watched[i]);
        if (c != NULL)
            nuc_compiler_abandon(c);
    }
    signal(number, SIG_DFL);
    raise(number);
}

/*
 * A signal that was ignored when the process began, as by nohup, stays so. Writing beyond a file limit is an error, and
 * the end of a converter has to be waited for.
 */
void cli_handle_signals(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
    struct sigaction old, handler = {.sa_handler = clear_away};

    working = pthread_self();
    sigfillset(&handler.sa_mask);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending[i], &handler, NULL);
    }
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}

void cli_watch(struct nuc_compiler *c)
{
    for (size_t i = 0; i < MAX_COMPILERS; i++) {
        struct nuc_compiler *none = NULL;
        if (atomic_compare_exchange_strong(&watched[i], &none, c))
            return;
    }
}

void cli_unwatch(const struct nuc_compiler *c)
{
    for (size_t i = 0; i < MAX_COMPILERS; i++) {
        if (atomic_load(&watched[i]) == c)
            atomic_store(&watched[i], NULL);
    }
}
