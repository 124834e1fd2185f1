/* What an image is linked from: the program and its input; the tables are those of nucleon kernels, tables.h. */
#ifndef NUC_FIRMWARE_RUNNER_H
#define NUC_FIRMWARE_RUNNER_H

#include "nucleon/runtime.h"

extern const uint8_t nuc_image[], nuc_image_end[];
extern const uint8_t nuc_input[], nuc_input_end[];

/* What is left of the board's memory. */
struct nuc_board_memory {
    uint8_t *at;
    size_t left;
};

/* NULL when `size` bytes are not left. */
void *nuc_take(struct nuc_board_memory *m, size_t size);

/* The program of the image, which may be bundled with test cases. */
enum nuc_status nuc_find_image(const void **image, size_t *size, struct nuc_detail *detail);

/* Loads it, with memory for it and for outputs that are not planned. */
enum nuc_status nuc_load_image(struct nuc_program *p, const void *image, size_t size, struct nuc_board_memory *m,
                               struct nuc_detail *detail);

#endif
