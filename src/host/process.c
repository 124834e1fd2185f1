#include "host/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What is kept of the output: its end. */
#define TAIL 600

extern char **environ;

struct tail {
    char text[TAIL];
    size_t length;
};

static int64_t milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

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
static bool read_more(int fd, struct tail *t, int64_t until)
{
    int64_t left = until - milliseconds();
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char buffer[4096];

    if (left <= 0)
        return false;
    int ready = poll(&p, 1, left > 100 ? 100 : (int)left);
    if (ready <= 0)
        return true;
    ssize_t got = read(fd, buffer, sizeof buffer);
    if (got > 0)
        add_tail(t, buffer, (size_t)got);
    return got > 0 || (got < 0 && errno == EINTR);
}

/*
 * Follows the process until it ends or its time is over. A process that outlives it may keep the pipe open: the end of
 * the first one counts.
 */
static bool follow(pid_t pid, int fd, struct tail *t, int64_t until, int *status)
{
    bool is_open = true;

    for (;;) {
        if (is_open)
            is_open = read_more(fd, t, until);
        pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR)) {
            while (is_open && poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) > 0)
                is_open = read_more(fd, t, until);
            return true;
        }
        if (milliseconds() >= until)
            return false;
        if (!is_open)
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

struct nuc_process_result nuc_run_process(struct nuc_context *cx, const char *const *argv, unsigned seconds)
{
    struct tail tail = {.length = 0};
    int ends[2], status = 0;
    pid_t pid = 0;

    if (pipe(ends) != 0)
        nuc_fail(cx, NUC_IO, "%s: cannot be started: %s", argv[0], strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    int error = start(argv, ends, &pid);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        nuc_fail(cx, NUC_IO, "%s: cannot be started: %s", argv[0], strerror(error));
    }
    bool ended = follow(pid, ends[0], &tail, milliseconds() + (int64_t)seconds * 1000, &status);
    /* What the process has left running ends with it. */
    kill(-pid, SIGKILL);
    while (!ended && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    close(ends[0]);
    struct nuc_process_result result = {.end = NUC_PROCESS_TIMEOUT, .said = one_line(cx, &tail)};
    if (ended) {
        result.end = WIFSIGNALED(status) ? NUC_PROCESS_SIGNAL : NUC_PROCESS_EXIT;
        result.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    }
    return result;
}

/* ---- temporary files ---- */

/* path NULL: the folder is not made yet. */
struct temporary_folder {
    const char *path;
};

static void remove_folder(void *object)
{
    const char *folder = ((const struct temporary_folder *)object)->path;
    char path[4096];

    if (folder == NULL)
        return;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        int n = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && n > 0 && (size_t)n < sizeof path)
            unlink(path);
    }
    if (dir != NULL)
        closedir(dir);
    rmdir(folder);
}

const char *nuc_temporary_folder(struct nuc_context *cx)
{
    const char *base = getenv("TMPDIR");
    char *path = nuc_format(cx, "%s/nucleon.XXXXXX", base != NULL && *base != '\0' ? base : "/tmp");
    struct temporary_folder *folder = nuc_alloc(cx, sizeof *folder);

    /* Registered before it exists, so that running out of memory in between leaves no folder. */
    nuc_defer(cx, remove_folder, folder);
    if (mkdtemp(path) == NULL)
        nuc_fail(cx, NUC_IO, "%s: cannot be made: %s", path, strerror(errno));
    folder->path = path;
    return path;
}
