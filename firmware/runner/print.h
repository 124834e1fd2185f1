/* Numbers as text, through the port. */
#ifndef NUC_FIRMWARE_PRINT_H
#define NUC_FIRMWARE_PRINT_H

#include <stdint.h>

/* "<before><value in decimal><after>". */
void nuc_print_line(const char *before, int64_t value, const char *after);

#endif
