/* What start-up code, board and input and output need of each other. */
#ifndef NUC_PORT_STARTUP_H
#define NUC_PORT_STARTUP_H

/* The count of instructions begins, or begins anew. */
void nuc_port_start(void);

_Noreturn void nuc_port_exit(int code);

#endif
