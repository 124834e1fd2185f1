/* Samples to the features of the micro frontend. */
#include "device/signal/micro.h"

bool nuc_micro_read(const int64_t *n, size_t count, struct nuc_micro *p)
{
    static const int64_t most[NUC_MICRO_NUMBERS] = {
        [NUC_MICRO_HOP] = INT16_MAX,          [NUC_MICRO_LENGTH] = NUC_RFFT_LONGEST, [NUC_MICRO_WINDOW_SHIFT] = 31,
        [NUC_MICRO_START] = NUC_RFFT_LONGEST, [NUC_MICRO_END] = NUC_RFFT_LONGEST,    [NUC_MICRO_SNR_SHIFT] = 63,
        [NUC_MICRO_LOG_SCALE] = INT32_MAX,    [NUC_MICRO_CORRECTION_BITS] = 31,
    };

    for (size_t i = 0; i < NUC_MICRO_NUMBERS && count == NUC_MICRO_NUMBERS; i++) {
        if ((i < NUC_MICRO_NOISE || i >= NUC_MICRO_SNR_SHIFT) && (n[i] < 0 || n[i] > most[i]))
            return false;
    }
    if (count != NUC_MICRO_NUMBERS || n[NUC_MICRO_HOP] < 1 ||
        !nuc_noise_reduction_read(n + NUC_MICRO_NOISE, NUC_NOISE_NUMBERS, &p->noise))
        return false;
    p->hop = (size_t)n[NUC_MICRO_HOP];
    p->length = (size_t)n[NUC_MICRO_LENGTH];
    p->window_shift = (int32_t)n[NUC_MICRO_WINDOW_SHIFT];
    p->start = (size_t)n[NUC_MICRO_START];
    p->end = (size_t)n[NUC_MICRO_END];
    p->snr_shift = (int32_t)n[NUC_MICRO_SNR_SHIFT];
    p->log_scale = (uint32_t)n[NUC_MICRO_LOG_SCALE];
    p->correction_bits = (int32_t)n[NUC_MICRO_CORRECTION_BITS];
    return p->length >= NUC_RFFT_SHORTEST && (p->length & (p->length - 1)) == 0 && p->end <= p->length / 2 + 1;
}

bool nuc_micro_fits(const struct nuc_micro *p, size_t weights)
{
    return p->window_size > 0 && p->window_size <= p->length && p->bank.channels > 0 &&
           p->bank.channels <= p->window_size && nuc_filter_bank_fits(&p->bank, p->length / 2 + 1, weights);
}

size_t nuc_micro_frames(const struct nuc_micro *p, size_t samples)
{
    return samples < p->window_size ? 0 : (samples - p->window_size) / p->hop + 1;
}

/* Sums of the channels, then 32 bits of each and of each bin's energy, then the spectrum and the frame. */
size_t nuc_micro_scratch(const struct nuc_micro *p)
{
    const size_t bytes = 12 * p->bank.channels + 4 * (p->length / 2 + 1) + 2 * (p->length + 2) + 2 * p->window_size;

    return (bytes + 7) / 8;
}

void nuc_signal_micro(const struct nuc_micro *p, const int16_t *in, size_t samples, uint32_t *noise, int64_t *scratch,
                      float *out)
{
    const size_t channels = p->bank.channels, bins = p->length / 2 + 1, frames = nuc_micro_frames(p, samples);
    struct nuc_noise_reduction reduction = p->noise;
    uint64_t *sums = (uint64_t *)scratch;
    uint32_t *values = (uint32_t *)(sums + channels), *energy = values + channels;
    int16_t *spectrum = (int16_t *)(energy + bins), *frame = spectrum + p->length + 2;

    reduction.channels = channels;
    for (size_t i = 0; i < frames; i++, out += channels) {
        nuc_signal_window_s16(in + i * p->hop, p->window, p->window_size, p->window_shift, frame);
        const int32_t bits = nuc_signal_auto_scale_s16(frame, p->window_size, frame);
        nuc_signal_rfft_s16(frame, p->window_size, p->length, p->table, spectrum);
        nuc_signal_energy(spectrum, bins, p->start, p->end, energy);
        nuc_signal_filter_bank(&p->bank, energy, sums);
        nuc_signal_filter_bank_root(sums, channels, bits, values);
        nuc_signal_noise_reduction(&reduction, values, noise, noise, values);
        if (p->gains != NULL)
            nuc_signal_pcan(values, noise, channels, p->gains, p->snr_shift, values);
        nuc_signal_filter_bank_log(values, channels, p->log_scale, p->correction_bits, frame);
        for (size_t c = 0; c < channels; c++)
            out[c] = (float)frame[c] * p->factor;
    }
}
