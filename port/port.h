/*
 * What a board gives the firmware: text output, files of the machine it is attached to, a count of instructions.
 * A port implements it together with the start-up code, which calls nuc_firmware_main() and ends with its result.
 */
#ifndef NUC_PORT_PORT_H
#define NUC_PORT_PORT_H

#include <stddef.h>
#include <stdint.h>

/* The firmware's entry; the exit code. */
int nuc_firmware_main(void);

void nuc_port_print(const char *text);

/* Words of the command line, at most `most`; 0 where there is none. The words live as long as the program. */
size_t nuc_port_arguments(const char **words, size_t most);

/* A file of the host, or -1. Writing creates it or empties it. */
int nuc_port_open(const char *path, int write);
/* Bytes read: fewer than asked for at the end of the file. */
size_t nuc_port_read(int file, void *data, size_t size);
/* 0: all is written. */
int nuc_port_write(int file, const void *data, size_t size);
void nuc_port_close(int file);

/* Instructions since start-up, exact to one; 0 when the board does not count them. A board may stop counting in the
 * billions.
 */
uint32_t nuc_port_instructions(void);

/*
 * Between inferences: sleeps until there is something to do (WFE). An interrupt of a sensor or a timer ends it; QEMU's
 * board goes on at once.
 */
static inline void nuc_port_wait(void)
{
    __asm volatile("wfe" ::: "memory");
}

/* Memory for the program's state and tensors, aligned to NUC_MEMORY_ALIGNMENT. */
void *nuc_port_memory(size_t *size);

#endif
