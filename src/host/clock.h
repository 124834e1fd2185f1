/* Time that passes; no result depends on it. */
#ifndef NUC_HOST_CLOCK_H
#define NUC_HOST_CLOCK_H

/* Wall-clock seconds from an arbitrary start. */
double nuc_seconds(void);

#endif
