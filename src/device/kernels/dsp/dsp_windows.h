/*
 * Sums of windows of four channels over lines: a line has four words for each column, one a channel, each of two
 * vertically adjacent inputs, and a place of the kernel has four words of two weights.
 */
#ifndef NUC_DEVICE_KERNELS_DSP_DSP_WINDOWS_H
#define NUC_DEVICE_KERNELS_DSP_DSP_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

#define NUC_WINDOW_WORDS 4
#define NUC_WINDOW_PLACES 8 /* the most of a line of a window */

/* Lines to be made of rows; dsp_windows_m33.S reads the structure. Distances are in bytes. */
struct nuc_lines {
    const int8_t *at;      /* the upper row of the first line, at its first column */
    int32_t y;             /* its number */
    int32_t end;           /* that of the upper row after the last line */
    int32_t height;        /* rows outside [0, height) are `outside`, */
    const int8_t *outside; /* which holds four bytes */
    ptrdiff_t row;         /* from a row to the next */
    ptrdiff_t step;        /* from a column to the next */
    int32_t columns;       /* from 1 */
    uint32_t offset;       /* added to both halves of a word */
    uint32_t *out;
    ptrdiff_t skip; /* from the end of a line to the next one */
};

/* Four words for each column: an element of the upper row in the lower half, one of the lower row in the upper half. */
void nuc_dsp_widen_lines(const struct nuc_lines *l);

/* The same, doubled. */
void nuc_dsp_widen_lines_twice(const struct nuc_lines *l);

/* Parameters of struct nuc_fused, of four channels. */
struct nuc_window_scales {
    int32_t multipliers[NUC_WINDOW_WORDS], adds[NUC_WINDOW_WORDS], shifts[NUC_WINDOW_WORDS];
};

/* dsp_windows_m33.S reads the structure. Distances are in bytes. */
struct nuc_windows {
    const uint32_t *stream; /* four sums to begin with, weights place by place, struct nuc_window_scales */
    int8_t *out;
    ptrdiff_t step;       /* from one window's results to the next's */
    const uint32_t *end;  /* of the first row: where the window after its last one would begin */
    ptrdiff_t next;       /* from the end in its last line to the next window in the first */
    const uint32_t *data; /* the first window, in its first line */
    ptrdiff_t across;     /* from the end of a window in one of its lines to the next line */
    ptrdiff_t row;        /* from one row's data to the next's */
    ptrdiff_t back;       /* the same from the end of a row */
    ptrdiff_t out_back;   /* from the end of a row of results to the next row */
    int32_t rows;
    int32_t lines;  /* of a window */
    int32_t places; /* of a line of it, 1 to NUC_WINDOW_PLACES */
};

/* Twice the sums of rows of windows, rescaled by nuc_fused_twice() and saturated. At least one row of one window. */
void nuc_dsp_sum_windows(const struct nuc_windows *w);

/* The same for two lines of three places, when results of negative sums saturate: the offset is -128. */
void nuc_dsp_sum_three_by_two(const struct nuc_windows *w);

#endif
