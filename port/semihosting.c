/* The port's input and output by semihosting (Arm's specification 3.0). */
#include "port/port.h"
#include "port/startup.h"

enum semihosting {
    SYS_OPEN = 0x01,
    SYS_CLOSE = 0x02,
    SYS_WRITE0 = 0x04,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_GET_CMDLINE = 0x15,
    SYS_EXIT_EXTENDED = 0x20
};

#define OPEN_READ_BINARY 1
#define OPEN_WRITE_BINARY 5
#define ADP_STOPPED_APPLICATION_EXIT 0x20026

static intptr_t call(enum semihosting operation, const void *argument)
{
    register intptr_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;

    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

_Noreturn void nuc_port_exit(int code)
{
    const intptr_t arguments[2] = {ADP_STOPPED_APPLICATION_EXIT, code};

    call(SYS_EXIT_EXTENDED, arguments);
    for (;;)
        __asm volatile("wfi");
}

void nuc_port_print(const char *text)
{
    call(SYS_WRITE0, text);
}

size_t nuc_port_arguments(const char **words, size_t most)
{
    static char line[512];
    const struct {
        char *line;
        intptr_t size;
    } arguments = {line, sizeof line};
    size_t count = 0;

    if (call(SYS_GET_CMDLINE, &arguments) != 0)
        return 0;
    for (char *at = line; *at != '\0' && count < most;) {
        words[count++] = at;
        while (*at != '\0' && *at != ' ')
            at++;
        while (*at == ' ')
            *at++ = '\0';
    }
    return count;
}

int nuc_port_open(const char *path, int write)
{
    size_t length = 0;

    while (path[length] != '\0')
        length++;
    const struct {
        const char *path;
        intptr_t mode;
        size_t length;
    } arguments = {path, write ? OPEN_WRITE_BINARY : OPEN_READ_BINARY, length};
    return (int)call(SYS_OPEN, &arguments);
}

/* A transfer: the call returns how many bytes are left over. */
struct transfer {
    intptr_t file;
    const void *data;
    size_t size;
};

size_t nuc_port_read(int file, void *data, size_t size)
{
    const struct transfer t = {file, data, size};
    size_t left = (size_t)call(SYS_READ, &t);

    return left > size ? 0 : size - left;
}

int nuc_port_write(int file, const void *data, size_t size)
{
    const struct transfer t = {file, data, size};

    return call(SYS_WRITE, &t) == 0 ? 0 : -1;
}

void nuc_port_close(int file)
{
    const intptr_t argument = file;

    call(SYS_CLOSE, &argument);
}

extern uint8_t nuc_memory_start[], nuc_memory_end[];

void *nuc_port_memory(size_t *size)
{
    *size = (size_t)(nuc_memory_end - nuc_memory_start);
    return nuc_memory_start;
}
