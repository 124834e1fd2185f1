/*
 * From samples to features: frames of a window, their spectra, sums of bands, logarithms and the first cosines of these
 * (MFCC). In integers of 32 bits, whose exponent goes with each frame, so that what is quiet keeps its digits; one
 * frame lies in memory at a time.
 */
#ifndef NUC_DEVICE_SIGNAL_FEATURES_H
#define NUC_DEVICE_SIGNAL_FEATURES_H

#include "device/signal/signal.h"

/* ---- the transform (fft_s32.c) ---- */

/*
 * As nuc_signal_rfft_s16() and in its order, of int32. `x` holds `length` numbers, the samples in the order of
 * nuc_rfft_place(), of which no magnitude is above 2^30, and becomes length + 2: the spectrum, divided by the length.
 * table: nuc_rfft_table_numbers(length) numbers, cosines and sines of the same angles, the first three quarters
 * in units of 2^-30, those of the last stage of 2^-31.
 */
void nuc_rfft_s32(int32_t *x, size_t length, const int32_t *table);

/*
 * The products of a frame, shifted to the left by 16 to 31 bits, and its window, in units of 2^-31, in the order that
 * the transform takes them; zeros behind them up to the length. Returns the bits that any of them has, of negative ones
 * those that are not set.
 */
uint32_t nuc_rfft_place(const int16_t *frame, const int32_t *window, size_t count, int32_t shift, size_t length,
                        int32_t *x);

/* ---- the features ---- */

enum nuc_feature_log {
    NUC_FEATURE_LINEAR,
    NUC_FEATURE_LOG_MAX, /* of what is at least the floor */
    NUC_FEATURE_LOG_ADD, /* of the sum with the floor */
    NUC_FEATURE_LOGS
};

/* The list of numbers of the operator. */
enum nuc_feature_number {
    NUC_FEATURE_HOP,      /* samples between frames */
    NUC_FEATURE_LENGTH,   /* of the transform */
    NUC_FEATURE_PAD,      /* samples in front of the first one that frames begin at */
    NUC_FEATURE_PAD_BOTH, /* the same, and behind the last one */
    NUC_FEATURE_REFLECT,  /* 1: they are those inside, mirrored; 0: zeros */
    NUC_FEATURE_POWER,    /* 1: bands are sums of magnitudes, 2: of their squares */
    NUC_FEATURE_LOG,      /* enum nuc_feature_log */
    NUC_FEATURE_FLOOR,    /* what sums are at least: floor * 2^floor_shift of a frame that is not shifted */
    NUC_FEATURE_FLOOR_SHIFT,
    NUC_FEATURE_MULTIPLIER, /* of a binary logarithm, in units of 2^-28 */
    NUC_FEATURE_OFFSET,     /* added to the logarithm before, in units of 2^-16 */
    NUC_FEATURE_PEAK,       /* 1: samples are divided by the largest one of the recording */
    NUC_FEATURE_NUMBERS
};

struct nuc_features {
    size_t hop, length, pad, pad_both, window_size, coefficients; /* coefficients 0: bands are what is given */
    bool reflect, peak;
    int32_t power, log, floor_shift, multiplier, offset;
    uint32_t floor;
    float factor; /* of NUC_FEATURE_LINEAR: of a sum of a frame that is not shifted */
    const int32_t *window, *table;
    struct nuc_filter_bank bank;
    const int16_t *cosines; /* [coefficients, channels], in units of 2^-15 */
};

/* Reads the list, whose bounds it checks. */
bool nuc_features_read(const int64_t *numbers, size_t count, struct nuc_features *p);

/* Whether a frame fits into its transform, and bands of so many weights into its spectrum. */
bool nuc_features_fit(const struct nuc_features *p, size_t weights);

/* Frames of so many samples; 0: they are too few. */
size_t nuc_features_frames(const struct nuc_features *p, size_t samples);

/* int32 numbers of scratch that a frame takes. */
size_t nuc_features_scratch(const struct nuc_features *p);

/* Frames of a recording, each of them its coefficients or channels. */
void nuc_signal_features(const struct nuc_features *p, const int16_t *in, size_t samples, int32_t *scratch, float *out);

/* ---- shared with the logarithm of LiteRT's front end (filter_bank.c) ---- */

/* 65536 (log2(1 + i / 128) - i / 128), rounded. */
extern const uint16_t nuc_log2_corrections[129];

#endif
