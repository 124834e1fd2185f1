/* What the start-up code needs of the board's port. */
#ifndef NUC_PORT_MPS2_AN505_H
#define NUC_PORT_MPS2_AN505_H

/* Starts the timer. */
void nuc_port_start(void);

_Noreturn void nuc_port_exit(int code);

#endif
