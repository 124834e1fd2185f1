/* Private to the importer: what must hold of a JPEG file before stb_image may see it. */
#ifndef NUC_IMPORT_IMAGE_CHECK_H
#define NUC_IMPORT_IMAGE_CHECK_H

#include "base/span.h"

/*
 * Huffman tables hold at most 256 codes: stb_image 2.27 writes beyond its tables otherwise. True for every file that
 * does not begin as a JPEG.
 */
bool nuc_jpeg_tables_fit(struct nuc_span file);

#endif
