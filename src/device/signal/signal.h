/*
 * Front ends for sound in integers, as LiteRT Micro's signal library computes them (tflite-micro, signal/src, whose
 * transform is kissfft's of 16 bits): bytes are equal to theirs. Frames are int16 samples; a spectrum of a frame of N
 * samples is N / 2 + 1 pairs of a real and an imaginary part.
 */
#ifndef NUC_DEVICE_SIGNAL_SIGNAL_H
#define NUC_DEVICE_SIGNAL_SIGNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* out = in * window >> shift, saturated; shift in [0, 31]. in may be out. */
void nuc_signal_window_s16(const int16_t *in, const int16_t *window, size_t count, int32_t shift, int16_t *out);

/* Shifts the samples to the left as far as the largest one allows and returns by how many bits. in may be out. */
int32_t nuc_signal_auto_scale_s16(const int16_t *in, size_t count, int16_t *out);

/* A transform takes a length that is a power of two in these bounds. */
#define NUC_RFFT_SHORTEST 4
#define NUC_RFFT_LONGEST 8192

/*
 * Numbers of the table of a transform: with N = length / 2, cos and sin in units of 2^-15 at the angles -2 pi i / N of
 * the first 3 N / 4 values of i (one where N is 2), then at -pi ((i + 1) / N + 1 / 2) of the first N / 2.
 */
static inline size_t nuc_rfft_table_numbers(size_t length)
{
    const size_t n = length / 2, of_stages = n < 4 ? 1 : 3 * n / 4;

    return 2 * (of_stages + n / 2);
}

/*
 * The spectrum of `count` samples, zeros behind them up to `length`, divided by the length. out: length + 2 numbers,
 * not the input. Sums wrap around, as kissfft's do, where samples are full scale.
 */
void nuc_signal_rfft_s16(const int16_t *in, size_t count, size_t length, const int16_t *table, int16_t *out);

/* Squares of the magnitudes of the bins from `start` up to `end`, 0 of the others. */
void nuc_signal_energy(const int16_t *spectrum, size_t bins, size_t start, size_t end, uint32_t *out);

/*
 * Triangular filters over a spectrum's energies. Band i of channels + 1 begins at bin starts[i], is widths[i] wide, and
 * its weights begin at weight_starts[i]; a band adds to the channel before it by `unweights` and to its own by
 * `weights`. Channel i of the result is that of band i + 1.
 */
struct nuc_filter_bank {
    size_t channels;
    const int16_t *starts, *weight_starts, *widths; /* channels + 1 each */
    const int16_t *weights, *unweights;
};

/* Whether the bands lie inside so many bins and weights. */
bool nuc_filter_bank_fits(const struct nuc_filter_bank *p, size_t bins, size_t weights);

void nuc_signal_filter_bank(const struct nuc_filter_bank *p, const uint32_t *energy, uint64_t *out);

/* Square roots, rounded below 2^32 and above on their own as the source does, then shifted by scale_bits, in [0, 31].
 */
void nuc_signal_filter_bank_root(const uint64_t *in, size_t channels, int32_t scale_bits, uint32_t *out);

/*
 * Takes from each channel an estimate of its noise, a running mean. Even channels, from 0, smooth by the first factor
 * and odd ones by the second, in units of 2^-bits; at least min_remaining of a channel stays. With clamping the
 * estimate does not rise above the channel. smoothing_bits in [0, 31], bits in [0, 32].
 */
struct nuc_noise_reduction {
    size_t channels;
    uint32_t smoothing[2], one_minus_smoothing[2], min_remaining;
    int32_t smoothing_bits, bits;
    bool clamping;
};

/* Members of the list of numbers of the operator: all but channels, in their order. False: one is out of range. */
#define NUC_NOISE_NUMBERS 8
bool nuc_noise_reduction_read(const int64_t *n, size_t count, struct nuc_noise_reduction *p);

/* in may be out. noise: the estimate before, which may be where the one after goes. */
void nuc_signal_noise_reduction(const struct nuc_noise_reduction *p, const uint32_t *in, const uint32_t *noise,
                                uint32_t *noise_out, uint32_t *out);

/* Numbers of the table of gains: two, then four of each position of a 32-bit number's highest bit from 2, an end. */
#define NUC_PCAN_GAINS 125

/*
 * Automatic gain control by channel: the gain of a noise estimate is a piecewise polynomial of its logarithm, and the
 * product with it, shifted by snr_shift in [0, 63], is compressed.
 */
void nuc_signal_pcan(const uint32_t *in, const uint32_t *noise, size_t channels, const int16_t *gains,
                     int32_t snr_shift, uint32_t *out);

/* Natural logarithms times `scale` of numbers shifted to the left by correction_bits in [0, 31]; 0 of 0 and 1. */
void nuc_signal_filter_bank_log(const uint32_t *in, size_t channels, uint32_t scale, int32_t correction_bits,
                                int16_t *out);

#endif
