/*
 * The layout of a package (docs/update.md): words of its header, little-endian, then records of memories, texts, the
 * program at a multiple of NUC_PACKAGE_ALIGNMENT, and a signature, which the checksum leaves out. Freestanding.
 */
#ifndef NUC_DEVICE_BASE_PACKAGE_H
#define NUC_DEVICE_BASE_PACKAGE_H

#include "device/base/span.h"
#include "nucleon/update.h"

#define NUC_PACKAGE_MAGIC "NUCP"
#define NUC_PACKAGE_SIGNATURE "NUCS" /* then the bytes of the signature, then these */
#define NUC_PACKAGE_FORMAT 1
#define NUC_PACKAGE_ALIGNMENT NUC_MEMORY_ALIGNMENT
#define NUC_PACKAGE_HEADER_MAX 65536

/* Offsets. The checksum is the CRC-32 of all that follows it, up to the end of the program. */
enum {
    NUC_PACKAGE_CHECKSUM = 4,
    NUC_PACKAGE_AT_FORMAT = 8,
    NUC_PACKAGE_HEADER_SIZE = 12,
    NUC_PACKAGE_PROGRAM_SIZE = 16,
    NUC_PACKAGE_VERSION = 20,
    NUC_PACKAGE_MICROCODE = 24,
    NUC_PACKAGE_CPU = 28, /* offset of a text, as all texts are given; the last byte of the header ends them */
    NUC_PACKAGE_N_MEMORIES = 32,
    NUC_PACKAGE_N_KERNELS = 36,
    NUC_PACKAGE_N_BACKENDS = 40,
    NUC_PACKAGE_NAMES = 44,
    NUC_PACKAGE_RESERVED = 48, /* four words of 0 */
    NUC_PACKAGE_RECORDS = 64,
    NUC_PACKAGE_RECORD_SIZE = 12 /* what it holds, bytes, offset of the bank's name or 0 */
};

/* That message, which names no place in a program; returns the status. */
enum nuc_status nuc_package_refuse(struct nuc_detail *detail, enum nuc_status status, const char *message);

/* Whether the first NUC_PACKAGE_RECORDS bytes are those of a package; `out` has its sizes and its version then. */
enum nuc_status nuc_package_start(struct nuc_span bytes, struct nuc_package *out, struct nuc_detail *detail);

/* The rest of the header, which lies in `bytes`. */
enum nuc_status nuc_package_header(struct nuc_span bytes, struct nuc_package *out, struct nuc_detail *detail);

#endif
