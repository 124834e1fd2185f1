/* What the C library of WebAssembly declares and lacks: a tab has one process and one thread. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>

int posix_spawnp(pid_t *restrict process, const char *restrict file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *restrict attributes, char *const argv[restrict], char *const envp[restrict])
{
    (void)process, (void)file, (void)actions, (void)attributes, (void)argv, (void)envp;
    return ENOTSUP;
}

int pthread_kill(pthread_t thread, int number)
{
    (void)thread, (void)number;
    return ENOTSUP;
}
