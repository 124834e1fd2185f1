/* The table that nuc_signal_rfft_s16() reads (device/signal/signal.h). */
#ifndef NUC_ALGORITHMS_RFFT_TABLE_H
#define NUC_ALGORITHMS_RFFT_TABLE_H

#include "host/context.h"

/* nuc_rfft_table_numbers(length) numbers, rounded as kissfft rounds them. */
int16_t *nuc_rfft_table_s16(struct nuc_context *cx, size_t length);

#endif
