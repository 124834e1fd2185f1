/*
 * cost PASSES COMMAND ARGUMENT...: what a command takes, as the least of its passes: seconds from start to end, seconds
 * of processors, and the most memory it had at a time (bench/README.md). What the command prints goes nowhere. Passes
 * end early when they take long. The exit code is the command's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ENOUGH_SECONDS 10.0

struct cost {
    double seconds, processors;
    long kilobytes;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

/* The exit code, 127 when there is no such command. */
static int run(char **command, struct cost *cost)
{
    double start = now();
    pid_t child = fork();
    struct rusage use;
    int status = 0;

    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0)
            _exit(127);
        execvp(command[0], command);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &use) != child)
        return 127;
    *cost = (struct cost){now() - start, seconds_of(use.ru_utime) + seconds_of(use.ru_stime), use.ru_maxrss};
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int main(int argc, char **argv)
{
    struct cost least = {0, 0, 0}, one;
    long passes = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
    double whole = 0;

    if (passes < 1) {
        fprintf(stderr, "usage: cost PASSES COMMAND ARGUMENT...\n");
        return 2;
    }
    for (long i = 0; i < passes && whole < ENOUGH_SECONDS; i++) {
        int code = run(argv + 2, &one);
        if (code != 0)
            return code;
        whole += one.seconds;
        least.seconds = i == 0 || one.seconds < least.seconds ? one.seconds : least.seconds;
        least.processors = i == 0 || one.processors < least.processors ? one.processors : least.processors;
        least.kilobytes = i == 0 || one.kilobytes < least.kilobytes ? one.kilobytes : least.kilobytes;
    }
    printf("seconds %.4f processors %.4f kilobytes %ld\n", least.seconds, least.processors, least.kilobytes);
    return 0;
}
