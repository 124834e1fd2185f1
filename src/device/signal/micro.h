/*
 * LiteRT's micro frontend as one operator: the functions of signal.h one after the other, frame by frame. The estimate
 * of the noise goes from frame to frame.
 */
#ifndef NUC_DEVICE_SIGNAL_MICRO_H
#define NUC_DEVICE_SIGNAL_MICRO_H

#include "device/signal/signal.h"

/* The list of numbers of the operator. */
enum nuc_micro_number {
    NUC_MICRO_HOP,          /* samples between frames */
    NUC_MICRO_LENGTH,       /* of the transform */
    NUC_MICRO_WINDOW_SHIFT, /* of products with the window */
    NUC_MICRO_START,        /* bins whose energies count */
    NUC_MICRO_END,
    NUC_MICRO_NOISE,                           /* the numbers of nuc_noise_reduction_read() */
    NUC_MICRO_SNR_SHIFT = NUC_MICRO_NOISE + 8, /* of the gain control */
    NUC_MICRO_LOG_SCALE,
    NUC_MICRO_CORRECTION_BITS,
    NUC_MICRO_NUMBERS
};

struct nuc_micro {
    size_t window_size, hop, length, start, end;
    int32_t window_shift, snr_shift, correction_bits;
    uint32_t log_scale;
    struct nuc_noise_reduction noise;
    struct nuc_filter_bank bank;
    const int16_t *window, *table, *gains; /* gains NULL: no gain control */
    float factor;                          /* of a logarithm in the result */
};

/* Members that are numbers; false: one is out of range. */
bool nuc_micro_read(const int64_t *n, size_t count, struct nuc_micro *p);

/* Whether the bands lie inside the spectrum and so many weights, and the window in the transform. */
bool nuc_micro_fits(const struct nuc_micro *p, size_t weights);

/* Frames of so many samples, and elements of the scratch memory of one. */
size_t nuc_micro_frames(const struct nuc_micro *p, size_t samples);
size_t nuc_micro_scratch(const struct nuc_micro *p);

/* noise: the estimate before the first frame, then that after the last one. out: channels of each frame. */
void nuc_signal_micro(const struct nuc_micro *p, const int16_t *in, size_t samples, uint32_t *noise, int64_t *scratch,
                      float *out);

#endif
