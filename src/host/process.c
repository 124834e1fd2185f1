#include "host/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/clock.h"

unsigned nuc_cores(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : (unsigned)n;
}

/* The folder has two links and one for each thread; one that was joined may be there a moment longer. */
bool nuc_has_one_thread(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    struct stat threads;

    for (int tries = 0; tries < 3; tries++) {
        if (stat("/proc/self/task", &threads) != 0)
            return false;
        if (threads.st_nlink == 3)
            return true;
        nanosleep(&moment, NULL);
    }
    return false;
}

/* What is kept of the output: its end. */
#define TAIL 600

extern char **environ;

struct tail {
    char text[TAIL];
    size_t length;
};

static void add_tail(struct tail *t, const char *bytes, size_t size)
{
    if (size > TAIL) {
        bytes += size - TAIL;
        size = TAIL;
    }
    if (t->length + size > TAIL) {
        size_t gone = t->length + size - TAIL;
        memmove(t->text, t->text + gone, t->length - gone);
        t->length -= gone;
    }
    memcpy(t->text + t->length, bytes, size);
    t->length += size;
}

/* Lines are joined, other control characters and what is not ASCII left out. */
static const char *one_line(struct nuc_context *cx, const struct tail *t)
{
    char *line = nuc_alloc(cx, 2 * t->length + 1);
    size_t n = 0;

    for (size_t i = 0; i < t->length; i++) {
        char c = t->text[i];
        bool ends = n == 0 || line[n - 1] == ' ';
        if (c == '\n' && !ends) {
            line[n++] = ';';
            line[n++] = ' ';
        } else if (c >= ' ' && c <= '~' && !(c == ' ' && ends)) {
            line[n++] = c;
        }
    }
    while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == ';'))
        n--;
    line[n] = '\0';
    return line;
}

/* Both output streams go into the pipe, and signals are as they were before this process changed any. */
static int start(const char *const *argv, const int pipe_ends[2], pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    /* posix_spawnp() does not write to its arguments, only its prototype says so. */
    union {
        const char *const *in;
        char *const *out;
    } arguments = {argv};

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, pipe_ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addclose(&files, pipe_ends[0]);
    posix_spawn_file_actions_addclose(&files, pipe_ends[1]);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawnp(pid, argv[0], &files, &attributes, arguments.out, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* Waits for output until there is more, the pipe is closed, or it is time. */
static bool read_more(int fd, struct tail *t, double until)
{
    double left = until - nuc_seconds();
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char buffer[4096];

    if (left <= 0)
        return false;
    int ready = poll(&p, 1, left > 0.1 ? 100 : (int)(left * 1000));
    if (ready <= 0)
        return true;
    ssize_t got = read(fd, buffer, sizeof buffer);
    if (got > 0)
        add_tail(t, buffer, (size_t)got);
    return got > 0 || (got < 0 && errno == EINTR);
}

enum outcome { ENDED, OUT_OF_TIME, UNKNOWN };

/*
 * Follows the process until it ends or its time is over. A process that outlives it may keep the pipe open: the end of
 * the first one counts. UNKNOWN: the system does not say how it ended, errno why.
 */
static enum outcome follow(pid_t pid, int fd, struct tail *t, double until, int *status)
{
    bool is_open = true;

    for (;;) {
        if (is_open)
            is_open = read_more(fd, t, until);
        pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended < 0 && errno != EINTR)
            return UNKNOWN;
        if (ended == pid) {
            while (is_open && poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) > 0)
                is_open = read_more(fd, t, until);
            return ENDED;
        }
        if (nuc_seconds() >= until)
            return OUT_OF_TIME;
        if (!is_open)
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

struct nuc_process_result nuc_run_process(struct nuc_context *cx, const char *const *argv, unsigned seconds)
{
    struct tail tail = {.length = 0};
    struct nuc_unfinished_item *item = NULL;
    sigset_t every, old;
    int ends[2], status = 0;
    pid_t pid = 0;

    if (pipe2(ends, O_CLOEXEC) != 0)
        nuc_fail(cx, NUC_IO, "%s: cannot be started: %s", argv[0], strerror(errno));
    /* A signal that comes now waits until it is known what has to be ended. */
    sigfillset(&every);
    pthread_sigmask(SIG_BLOCK, &every, &old);
    int error = start(argv, ends, &pid);
    if (error == 0)
        item = nuc_enter_unfinished(&cx->unfinished, NUC_UNFINISHED_PROCESS, -1, NULL, pid);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        nuc_fail(cx, NUC_IO, "%s: cannot be started: %s", argv[0], strerror(error));
    }
    enum outcome outcome = follow(pid, ends[0], &tail, nuc_seconds() + seconds, &status);
    error = errno;
    /* What the process has left running ends with it. */
    kill(-pid, SIGKILL);
    nuc_take_out_unfinished(item);
    while (outcome != ENDED && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    close(ends[0]);
    if (outcome == UNKNOWN)
        nuc_fail(cx, NUC_IO, "%s: how it ended is not known: %s", argv[0], strerror(error));
    struct nuc_process_result result = {.end = NUC_PROCESS_TIMEOUT, .said = one_line(cx, &tail)};
    if (outcome == ENDED) {
        result.end = WIFSIGNALED(status) ? NUC_PROCESS_SIGNAL : NUC_PROCESS_EXIT;
        result.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    }
    return result;
}

/* ---- temporary files ---- */

struct temporary_folder {
    int base; /* the folder it is in, open; -1 */
    struct nuc_unfinished_item *item;
};

static void remove_folder(void *object)
{
    struct temporary_folder *folder = object;

    if (folder->item != NULL)
        nuc_remove_tree(folder->base, folder->item->name);
    nuc_take_out_unfinished(folder->item);
    folder->item = NULL;
    if (folder->base >= 0)
        close(folder->base);
    folder->base = -1;
}

const char *nuc_temporary_folder(struct nuc_context *cx)
{
    const char *set = getenv("TMPDIR"), *base = set != NULL && *set != '\0' ? set : "/tmp";
    struct temporary_folder *folder = nuc_alloc(cx, sizeof *folder);
    char name[NUC_TEMPORARY_NAME];

    /* Registered before it exists, so that running out of memory in between leaves no folder. */
    folder->base = -1;
    nuc_defer(cx, remove_folder, folder);
    nuc_temporary_name(name);
    const char *path = nuc_format(cx, "%s/%s", base, name);
    folder->base = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->base < 0)
        nuc_fail(cx, NUC_IO, "%s: cannot be opened: %s: set TMPDIR to a folder for temporary files", base,
                 strerror(errno));
    struct nuc_unfinished_item *item =
        nuc_enter_unfinished(&cx->unfinished, NUC_UNFINISHED_FOLDER, folder->base, name, 0);
    if (item == NULL || mkdirat(folder->base, name, 0700) != 0) {
        int error = item == NULL ? EMFILE : errno;
        nuc_take_out_unfinished(item);
        nuc_fail(cx, NUC_IO, "%s: cannot be made: %s: set TMPDIR to a folder for temporary files", path,
                 strerror(error));
    }
    folder->item = item;
    return path;
}
