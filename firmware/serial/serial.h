/* A serial line of the board, byte by byte. */
#ifndef NUC_FIRMWARE_SERIAL_H
#define NUC_FIRMWARE_SERIAL_H

void nuc_serial_start(void);

/* Sleeps until there is a byte. */
char nuc_serial_get(void);

void nuc_serial_put(const char *text);

#endif
