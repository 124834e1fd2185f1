/* Numbers as text, also through the port. */
#ifndef NUC_PORT_PRINT_H
#define NUC_PORT_PRINT_H

#include <stdint.h>

struct nuc_decider;

#define NUC_NUMBER_BYTES 24

/* The value in decimal, at the end of `text`. */
char *nuc_number(int64_t value, char text[NUC_NUMBER_BYTES]);

/* "<before><value in decimal><after>". */
void nuc_print_line(const char *before, int64_t value, const char *after);

/* " <millionths>e-6"; what is not within 2^48 millionths of 0 is cut off there. */
void nuc_print_millionths(float value);

/* "sample <n>: <label>, <score> <left> <top> <width> <height>" for each that was found; NULL: nothing was decided. */
void nuc_print_found(int64_t sample, const struct nuc_decider *decider);

#endif
