/* What start-up code, board and input and output need of each other. */
#ifndef NUC_PORT_STARTUP_H
#define NUC_PORT_STARTUP_H

/* Starts the count of instructions. */
void nuc_port_start(void);

_Noreturn void nuc_port_exit(int code);

#endif
