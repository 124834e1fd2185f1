/* One run of a program whose n-th system call of a kind fails, or at whose n-th it is killed (ptrace). */
#ifndef NUC_FAULT_TRACE_H
#define NUC_FAULT_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum fault_family {
    FAULT_OPEN,
    FAULT_READ,
    FAULT_WRITE,
    FAULT_SYNC,
    FAULT_RENAME,
    FAULT_MAP,
    FAULT_TRUNCATE,
    FAULT_FOLDER, /* mkdir, unlink, chmod */
    FAULT_STAT,
    FAULT_CLOSE,
    FAULT_PROCESS, /* threads and processes */
    FAULT_OTHER,   /* pipes, waiting, descriptors, random numbers */
    FAULT_CHANGE,  /* every call that changes the file system: where a process is killed */
    FAULT_FAMILIES
};

extern const char *const fault_family_names[FAULT_FAMILIES];

enum fault_action {
    FAULT_NONE,
    FAULT_ERROR, /* the call is not made and gives an error number */
    FAULT_SHORT, /* a read or write of half the bytes */
    FAULT_KILL,  /* SIGKILL instead of the call */
    FAULT_SIGNAL /* a signal while it is made */
};

struct fault {
    enum fault_family family;
    enum fault_action action;
    int number;  /* errno or signal */
    uint64_t at; /* from 1 */
};

struct fault_run {
    int status;                /* of waitpid() */
    bool timeout;              /* ended because it took too long */
    bool fired;                /* there were that many calls */
    bool at_stdout, at_stderr; /* the call was for one of these */
    bool at_removal;           /* it may have been part of removing a folder */
    uint64_t counts[FAULT_FAMILIES];
};

/* The errors that calls of a family can have; ends with 0. */
const int *fault_errors(enum fault_family family);

/* Has to be called by the process to be traced, before exec. */
void fault_trace_me(void);

/* Follows the process until it ends. Calls before FAULT_BEGIN and those for standard error are not counted. */
struct fault_run fault_follow(pid_t pid, const struct fault *fault, unsigned seconds);

/* Whether this system lets processes be traced, and the machine's registers are known here. */
bool fault_can_trace(void);

#endif
