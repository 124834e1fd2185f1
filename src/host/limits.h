/*
 * What a file may make the host hold. Every limit is far above what honest files need, and is there so that a small
 * file cannot exhaust memory; what exceeds one is refused with a message that names it. docs/security.md lists them.
 */
#ifndef NUC_HOST_LIMITS_H
#define NUC_HOST_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* Half of the memory of the machine: the most that one file may take in memory. */
uint64_t nuc_memory_limit(void);

/* Entries of an archive inflate to at most this and as many times the size of the file, all together. */
#define NUC_MAX_INFLATED ((uint64_t)1 << 30)
#define NUC_MAX_INFLATION_OF_FILE 16u

/* Of the directory of an archive: about half a million entries. */
#define NUC_MAX_ZIP_DIRECTORY ((uint64_t)64 << 20)

/* Arrays of a data set up to this size, all together, are held in memory; others are read sample by sample. */
#define NUC_MAX_ARRAYS_IN_MEMORY ((uint64_t)256 << 20)

/* Of a .npy file; NumPy itself refuses headers above 10,000 bytes unless told otherwise. */
#define NUC_MAX_NPY_HEADER ((size_t)64 << 10)

/* Of one JSON text. Its values take up to six times as much in memory, mostly once. */
#define NUC_MAX_JSON ((size_t)96 << 20)

/* Files that are listed in a data set's folder, its classes included. */
#define NUC_MAX_FOLDER_FILES ((size_t)1 << 21)

/* Of an image, along one side and altogether. */
#define NUC_MAX_IMAGE_SIDE 16384u
#define NUC_MAX_IMAGE_PIXELS ((size_t)1 << 26)

/* Of a progressive JPEG file: each scan goes over all pixels again. Encoders make about ten. */
#define NUC_MAX_JPEG_SCANS 100

/* Of a value that a model makes or takes, in bytes, and of all products of one run: ten seconds of the NPU, many
 * minutes of a CPU. */
#define NUC_MAX_VALUE_BYTES ((uint64_t)256 << 20)
#define NUC_MAX_RUN_PRODUCTS 2e11

#endif
