/* Small pictures as text: PNG files that are not compressed, so that their bytes depend on no library's version. */
#ifndef NUC_TOOLS_REPORT_PNG_WRITE_H
#define NUC_TOOLS_REPORT_PNG_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "host/context.h"

/* `channels` is 1 or 3, innermost; rows from the top. Sides from 1 to 1024. */
const char *nuc_png_data_url(struct nuc_context *cx, const uint8_t *pixels, uint32_t width, uint32_t height,
                             uint32_t channels);

#endif
