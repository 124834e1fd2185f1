#include "trace.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "page.h"
#include "tool.h"

const char *const fault_family_names[FAULT_FAMILIES] = {
    [FAULT_OPEN] = "open",     [FAULT_READ] = "read",   [FAULT_WRITE] = "write",       [FAULT_SYNC] = "sync",
    [FAULT_RENAME] = "rename", [FAULT_MAP] = "mmap",    [FAULT_TRUNCATE] = "truncate", [FAULT_FOLDER] = "folder",
    [FAULT_STAT] = "stat",     [FAULT_CLOSE] = "close", [FAULT_PROCESS] = "process",   [FAULT_OTHER] = "other",
    [FAULT_CHANGE] = "change",
};

/* ---- which calls ---- */

#define CHANGES 0x100 /* besides its family */

static const struct {
    long number;
    int family; /* with CHANGES */
} calls[] = {
#ifdef SYS_open
    {SYS_open, FAULT_OPEN},
#endif
    {SYS_openat, FAULT_OPEN},
    {SYS_read, FAULT_READ},
    {SYS_pread64, FAULT_READ},
    {SYS_readv, FAULT_READ},
    {SYS_getdents64, FAULT_READ},
    {SYS_write, FAULT_WRITE | CHANGES},
    {SYS_pwrite64, FAULT_WRITE | CHANGES},
    {SYS_writev, FAULT_WRITE | CHANGES},
    {SYS_fsync, FAULT_SYNC | CHANGES},
    {SYS_fdatasync, FAULT_SYNC | CHANGES},
#ifdef SYS_rename
    {SYS_rename, FAULT_RENAME | CHANGES},
    {SYS_link, FAULT_RENAME | CHANGES},
#endif
#ifdef SYS_renameat
    {SYS_renameat, FAULT_RENAME | CHANGES},
#endif
    {SYS_renameat2, FAULT_RENAME | CHANGES},
    {SYS_linkat, FAULT_RENAME | CHANGES},
    {SYS_mmap, FAULT_MAP},
    {SYS_mremap, FAULT_MAP},
    {SYS_brk, FAULT_MAP},
    {SYS_mprotect, FAULT_MAP},
    {SYS_ftruncate, FAULT_TRUNCATE | CHANGES},
    {SYS_fallocate, FAULT_TRUNCATE | CHANGES},
#ifdef SYS_mkdir
    {SYS_mkdir, FAULT_FOLDER | CHANGES},
    {SYS_unlink, FAULT_FOLDER | CHANGES},
    {SYS_rmdir, FAULT_FOLDER | CHANGES},
    {SYS_chmod, FAULT_FOLDER | CHANGES},
#endif
    {SYS_mkdirat, FAULT_FOLDER | CHANGES},
    {SYS_unlinkat, FAULT_FOLDER | CHANGES},
    {SYS_fchmod, FAULT_FOLDER | CHANGES},
    {SYS_fchmodat, FAULT_FOLDER | CHANGES},
#ifdef SYS_stat
    {SYS_stat, FAULT_STAT},
    {SYS_lstat, FAULT_STAT},
    {SYS_access, FAULT_STAT},
    {SYS_readlink, FAULT_STAT},
#endif
    {SYS_fstat, FAULT_STAT},
    {SYS_newfstatat, FAULT_STAT},
    {SYS_statx, FAULT_STAT},
    {SYS_faccessat, FAULT_STAT},
    {SYS_readlinkat, FAULT_STAT},
    {SYS_close, FAULT_CLOSE | CHANGES},
#ifdef SYS_fork
    {SYS_fork, FAULT_PROCESS},
    {SYS_vfork, FAULT_PROCESS},
#endif
    {SYS_clone, FAULT_PROCESS},
    {SYS_clone3, FAULT_PROCESS},
#ifdef SYS_pipe
    {SYS_pipe, FAULT_OTHER},
    {SYS_poll, FAULT_OTHER},
    {SYS_dup2, FAULT_OTHER},
#endif
    {SYS_pipe2, FAULT_OTHER},
    {SYS_ppoll, FAULT_OTHER},
    {SYS_wait4, FAULT_OTHER},
    {SYS_waitid, FAULT_OTHER},
    {SYS_dup, FAULT_OTHER},
    {SYS_dup3, FAULT_OTHER},
    {SYS_fcntl, FAULT_OTHER},
    {SYS_ioctl, FAULT_OTHER},
    {SYS_getcwd, FAULT_OTHER},
    {SYS_getrandom, FAULT_OTHER},
    {SYS_prlimit64, FAULT_OTHER},
    {SYS_sched_getaffinity, FAULT_OTHER},
    {SYS_lseek, FAULT_OTHER},
};

static int family_of(uint64_t number)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if ((uint64_t)calls[i].number == number)
            return calls[i].family;
    }
    return -1;
}

const int *fault_errors(enum fault_family family)
{
    static const int of[FAULT_FAMILIES][5] = {
        [FAULT_OPEN] = {EMFILE, EACCES, EIO},
        [FAULT_READ] = {EIO, EINTR},
        [FAULT_WRITE] = {ENOSPC, EIO, EINTR},
        [FAULT_SYNC] = {EIO, ENOSPC},
        [FAULT_RENAME] = {EIO, EACCES},
        [FAULT_MAP] = {ENOMEM},
        [FAULT_TRUNCATE] = {ENOSPC, EIO},
        [FAULT_FOLDER] = {EACCES, EIO},
        [FAULT_STAT] = {EIO, ENOMEM},
        [FAULT_CLOSE] = {EIO, EINTR},
        [FAULT_PROCESS] = {EAGAIN, ENOMEM},
        [FAULT_OTHER] = {EMFILE, EINTR},
        [FAULT_CHANGE] = {0},
    };

    return of[family];
}

/* ---- registers ---- */

#if defined(__x86_64__)
static void set_register(pid_t pid, size_t offset, uint64_t value)
{
    ptrace(PTRACE_POKEUSER, pid, (void *)offset, (void *)(uintptr_t)value);
}

static void skip_call(pid_t pid)
{
    set_register(pid, offsetof(struct user_regs_struct, orig_rax), UINT64_MAX);
}

static void set_third_argument(pid_t pid, uint64_t value)
{
    set_register(pid, offsetof(struct user_regs_struct, rdx), value);
}

static void set_result(pid_t pid, int64_t value)
{
    set_register(pid, offsetof(struct user_regs_struct, rax), (uint64_t)value);
}
#define KNOWN_MACHINE true
#elif defined(__aarch64__)
static void change_register(pid_t pid, size_t index, uint64_t value)
{
    struct user_regs_struct r;
    struct iovec io = {&r, sizeof r};

    ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &io);
    r.regs[index] = value;
    ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &io);
}

static void skip_call(pid_t pid)
{
    int none = -1;
    struct iovec io = {&none, sizeof none};

    ptrace(PTRACE_SETREGSET, pid, (void *)NT_ARM_SYSTEM_CALL, &io);
}

static void set_third_argument(pid_t pid, uint64_t value)
{
    change_register(pid, 2, value);
}

static void set_result(pid_t pid, int64_t value)
{
    change_register(pid, 0, (uint64_t)value);
}
#define KNOWN_MACHINE true
#else
static void skip_call(pid_t pid)
{
    (void)pid;
}

static void set_third_argument(pid_t pid, uint64_t value)
{
    (void)pid, (void)value;
}

static void set_result(pid_t pid, int64_t value)
{
    (void)pid, (void)value;
}
#define KNOWN_MACHINE false
#endif

/* ---- following ---- */

struct state {
    const struct fault *fault;
    struct fault_run *run;
    pid_t leader;
    bool begun;
    pid_t victim; /* whose call gets a result of ours when it returns; 0: none */
    int64_t result;
};

static bool is_stream_call(uint64_t number)
{
    return number == SYS_write || number == SYS_writev || number == SYS_close;
}

static void act(struct state *s, pid_t pid, const struct __ptrace_syscall_info *info)
{
    uint64_t number = info->entry.nr;
    const struct fault *f = s->fault;

    s->run->fired = true;
    s->run->at_stdout = info->entry.args[0] == STDOUT_FILENO && is_stream_call(number);
    s->run->at_stderr = info->entry.args[0] == STDERR_FILENO && is_stream_call(number);
    s->run->at_removal = number == SYS_getdents64 || number == SYS_unlinkat ||
                         (number == SYS_openat && (info->entry.args[2] & O_DIRECTORY) != 0);
    switch (f->action) {
    case FAULT_NONE:
        break;
    case FAULT_ERROR:
        s->victim = pid;
        /* A failed brk() gives the old end; close() closes whatever it gives. */
        s->result = number == SYS_brk ? 0 : -f->number;
        if (number != SYS_close)
            skip_call(pid);
        break;
    case FAULT_SHORT:
        if (info->entry.args[2] > 1 && number != SYS_writev && number != SYS_readv && number != SYS_getdents64)
            set_third_argument(pid, info->entry.args[2] / 2);
        break;
    case FAULT_KILL:
        kill(s->leader, SIGKILL);
        break;
    case FAULT_SIGNAL:
        kill(s->leader, f->number);
        break;
    }
}

static void enter(struct state *s, pid_t pid, const struct __ptrace_syscall_info *info)
{
    uint64_t number = info->entry.nr;
    int family = family_of(number), plain = family & ~CHANGES;
    const struct fault *f = s->fault;

    if (number == SYS_close && (int)info->entry.args[0] == FAULT_BEGIN)
        s->begun = true;
    else if (s->begun && family >= 0 && !(plain == FAULT_WRITE && info->entry.args[0] == STDERR_FILENO)) {
        bool changes = (family & CHANGES) != 0;
        s->run->counts[plain]++;
        s->run->counts[FAULT_CHANGE] += changes;
        if (f != NULL && f->at != 0 && (f->family == FAULT_CHANGE ? changes : (int)f->family == plain) &&
            s->run->counts[f->family] == f->at)
            act(s, pid, info);
    }
}

static void stopped_at_call(struct state *s, pid_t pid)
{
    struct __ptrace_syscall_info info;

    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof info, &info) <= 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
        enter(s, pid, &info);
    else if (info.op == PTRACE_SYSCALL_INFO_EXIT && s->victim == pid) {
        set_result(pid, s->result);
        s->victim = 0;
    }
}

void fault_trace_me(void)
{
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
}

/* SIGALRM interrupts waitpid() of a run that hangs: its handler does nothing. */
static void wake(int signal)
{
    (void)signal;
}

struct fault_run fault_follow(pid_t pid, const struct fault *fault, unsigned seconds)
{
    struct fault_run run = {.status = 0};
    struct state s = {.fault = fault, .run = &run, .leader = pid};
    struct sigaction action = {.sa_handler = wake}, before;
    double until = now() + seconds;
    int status;

    sigaction(SIGALRM, &action, &before);
    alarm(seconds + 1);
    while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
        continue;
    ptrace(PTRACE_SETOPTIONS, pid, NULL,
           (void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL));
    ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
    for (;;) {
        pid_t who = waitpid(-1, &status, __WALL);
        int deliver = 0;
        if (now() > until && !run.timeout) {
            run.timeout = true;
            kill(pid, SIGKILL);
        }
        if (who < 0 && errno == EINTR)
            continue;
        if (who < 0)
            break;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (who == pid)
                run.status = status;
            continue;
        }
        int signal = WSTOPSIG(status);
        if (signal == (SIGTRAP | 0x80))
            stopped_at_call(&s, who);
        else if (signal != SIGTRAP && signal != SIGSTOP)
            deliver = signal;
        ptrace(PTRACE_SYSCALL, who, NULL, (void *)(uintptr_t)deliver);
    }
    alarm(0);
    sigaction(SIGALRM, &before, NULL);
    return run;
}

bool fault_can_trace(void)
{
    int status = 0;
    pid_t pid = KNOWN_MACHINE ? fork() : -1;

    if (pid < 0)
        return false;
    if (pid == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 1);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
