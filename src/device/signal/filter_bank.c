/* From samples to a spectrum's energies and on to the logarithms of its channels, but for the transform. */
#include "device/signal/features.h"

/* ---- samples ---- */

void nuc_signal_window_s16(const int16_t *in, const int16_t *window, size_t count, int32_t shift, int16_t *out)
{
    for (size_t i = 0; i < count; i++) {
        int32_t v = in[i] * window[i] >> shift;
        out[i] = (int16_t)(v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v);
    }
}

/* Bits of a number, 0 of 0. */
static inline int32_t width_of(uint32_t v)
{
    return v == 0 ? 0 : 32 - __builtin_clz(v);
}

int32_t nuc_signal_auto_scale_s16(const int16_t *in, size_t count, int16_t *out)
{
    int16_t largest = 0; /* of 16 bits: -32768 becomes its own negative, and is the largest no more */

    for (size_t i = 0; i < count; i++) {
        if (in[i] > largest)
            largest = in[i];
        else if (-in[i] > largest)
            largest = (int16_t)(uint16_t)-in[i];
    }
    /* Silence, and what seems to be below it, stays as it is: the source takes 32 for the width of 0. */
    const int32_t width = largest == 0 ? 32 : width_of((uint32_t)(int32_t)largest);
    const int32_t bits = width > 15 ? 0 : 15 - width;
    for (size_t i = 0; i < count; i++)
        out[i] = (int16_t)(uint16_t)((uint32_t)in[i] << bits);
    return bits;
}

/* ---- channels ---- */

void nuc_signal_energy(const int16_t *spectrum, size_t bins, size_t start, size_t end, uint32_t *out)
{
    for (size_t i = 0; i < bins; i++) {
        int32_t re = spectrum[2 * i], im = spectrum[2 * i + 1];
        out[i] = i >= start && i < end ? (uint32_t)(re * re) + (uint32_t)(im * im) : 0;
    }
}

static bool lies_inside(int32_t from, int32_t count, size_t size)
{
    return from >= 0 && count >= 0 && (size_t)from + (size_t)count <= size;
}

bool nuc_filter_bank_fits(const struct nuc_filter_bank *p, size_t bins, size_t weights)
{
    for (size_t band = 0; band < p->channels + 1; band++) {
        if (!lies_inside(p->starts[band], p->widths[band], bins) ||
            !lies_inside(p->weight_starts[band], p->widths[band], weights))
            return false;
    }
    return true;
}

void nuc_signal_filter_bank(const struct nuc_filter_bank *p, const uint32_t *energy, uint64_t *out)
{
    uint64_t of_next = 0;

    for (size_t band = 0; band < p->channels + 1; band++) {
        const uint32_t *bins = energy + p->starts[band];
        const int16_t *weights = p->weights + p->weight_starts[band], *rest = p->unweights + p->weight_starts[band];
        uint64_t sum = of_next;
        of_next = 0;
        for (int32_t i = 0; i < p->widths[band]; i++) {
            sum += (uint64_t)weights[i] * bins[i];
            of_next += (uint64_t)rest[i] * bins[i];
        }
        if (band > 0)
            out[band - 1] = sum;
    }
}

/* Bit by bit from the highest pair; what remains decides the rounding, unless `most` would be passed. */
static uint64_t root(uint64_t v, uint64_t bit, uint64_t most)
{
    uint64_t result = 0;

    for (; bit > 0; bit >>= 2) {
        const bool fits = v >= result + bit;
        if (fits)
            v -= result + bit;
        result = (result >> 1) + (fits ? bit : 0);
    }
    return v > result && result != most ? result + 1 : result;
}

void nuc_signal_filter_bank_root(const uint64_t *in, size_t channels, int32_t scale_bits, uint32_t *out)
{
    for (size_t i = 0; i < channels; i++) {
        const bool is_short = in[i] <= UINT32_MAX;
        uint64_t r = in[i] == 0 ? 0
                                : root(in[i], (uint64_t)1 << ((63 - __builtin_clzll(in[i])) & ~1),
                                       is_short ? UINT16_MAX : UINT32_MAX);
        out[i] = (uint32_t)r >> (scale_bits & 31);
    }
}

bool nuc_noise_reduction_read(const int64_t *n, size_t count, struct nuc_noise_reduction *p)
{
    if (count != NUC_NOISE_NUMBERS || n[5] < 0 || n[5] > 31 || n[6] < 0 || n[6] > 32 || (n[7] | 1) != 1)
        return false;
    for (size_t i = 0; i < 5; i++) {
        if (n[i] < 0 || n[i] > INT32_MAX)
            return false;
    }
    for (size_t i = 0; i < 2; i++) {
        p->smoothing[i] = (uint32_t)n[i];
        p->one_minus_smoothing[i] = (uint32_t)n[2 + i];
    }
    p->min_remaining = (uint32_t)n[4];
    p->smoothing_bits = (int32_t)n[5];
    p->bits = (int32_t)n[6];
    p->clamping = n[7] != 0;
    return true;
}

void nuc_signal_noise_reduction(const struct nuc_noise_reduction *p, const uint32_t *in, const uint32_t *noise,
                                uint32_t *noise_out, uint32_t *out)
{
    for (size_t i = 0; i < p->channels; i++) {
        const uint32_t x = in[i], scaled = x << p->smoothing_bits;
        const uint64_t mean =
            (uint64_t)scaled * p->smoothing[i & 1] + (uint64_t)noise[i] * p->one_minus_smoothing[i & 1];
        const uint32_t estimate = (uint32_t)(mean >> p->bits), taken = estimate > scaled ? scaled : estimate;
        const uint32_t rest = (scaled - taken) >> p->smoothing_bits;
        const uint32_t least = (uint32_t)((uint64_t)x * p->min_remaining >> p->bits);
        noise_out[i] = p->clamping ? taken : estimate;
        out[i] = rest > least ? rest : least;
    }
}

/* ---- gain control ---- */

enum { SNR_BITS = 12, GAIN_BITS = 6 };

/* A polynomial of degree 2 in each octave: value, slope and curvature at its begin. */
static int16_t gain_of(uint32_t noise, const int16_t *gains)
{
    if (noise <= 2)
        return gains[noise];
    const int32_t octave = width_of(noise);
    const int16_t *g = gains + 4 * octave - 6;
    const int32_t fraction = (int32_t)(octave < 11 ? noise << (11 - octave) : noise >> (octave - 11)) & 0x3FF;
    uint32_t result = (uint32_t)(g[2] * fraction >> 5) + ((uint32_t)g[1] << 5);
    result = result * (uint32_t)fraction + (1u << 14);
    return (int16_t)(uint16_t)(uint32_t)(((int32_t)result >> 15) + g[0]);
}

/* x^2 / 4 below 2, x - 1 from there. */
static uint32_t shrunk(uint32_t snr)
{
    if (snr < 2u << SNR_BITS)
        return snr * snr >> (2 + 2 * SNR_BITS - GAIN_BITS);
    return (snr >> (SNR_BITS - GAIN_BITS)) - (1u << GAIN_BITS);
}

void nuc_signal_pcan(const uint32_t *in, const uint32_t *noise, size_t channels, const int16_t *gains,
                     int32_t snr_shift, uint32_t *out)
{
    for (size_t i = 0; i < channels; i++) {
        const uint32_t gain = (uint32_t)(int32_t)gain_of(noise[i], gains);
        out[i] = shrunk((uint32_t)((uint64_t)in[i] * gain >> snr_shift));
    }
}

/* ---- logarithms ---- */

const uint16_t nuc_log2_corrections[129] = {
    0,    224,  442,  654,  861,  1063, 1259, 1450, 1636, 1817, 1992, 2163, 2329, 2490, 2646, 2797, 2944, 3087, 3224,
    3358, 3487, 3611, 3732, 3848, 3960, 4068, 4172, 4272, 4368, 4460, 4549, 4633, 4714, 4791, 4864, 4934, 5001, 5063,
    5123, 5178, 5231, 5280, 5326, 5368, 5408, 5444, 5477, 5507, 5533, 5557, 5578, 5595, 5610, 5622, 5631, 5637, 5640,
    5641, 5638, 5633, 5626, 5615, 5602, 5586, 5568, 5547, 5524, 5498, 5470, 5439, 5406, 5370, 5332, 5291, 5249, 5203,
    5156, 5106, 5054, 5000, 4944, 4885, 4825, 4762, 4697, 4630, 4561, 4490, 4416, 4341, 4264, 4184, 4103, 4020, 3935,
    3848, 3759, 3668, 3575, 3481, 3384, 3286, 3186, 3084, 2981, 2875, 2768, 2659, 2549, 2437, 2323, 2207, 2090, 1971,
    1851, 1729, 1605, 1480, 1353, 1224, 1094, 963,  830,  695,  559,  421,  282,  142,  0};

/* Of a number from 1, in units of 2^-16. The step between corrections is taken with a 128th of its weight, as there. */
static uint32_t log2_of(uint32_t v)
{
    const int32_t whole = width_of(v) - 1;
    const uint32_t part = v - (1u << whole), fraction = whole < 16 ? part << (16 - whole) : part >> (whole - 16);
    const uint32_t segment = fraction >> 9;
    const int32_t low = nuc_log2_corrections[segment], high = nuc_log2_corrections[segment + 1];
    const int32_t between = (high - low) * (int32_t)(fraction - (segment << 9)) >> 16;

    return ((uint32_t)whole << 16) + fraction + (uint32_t)(low + between);
}

void nuc_signal_filter_bank_log(const uint32_t *in, size_t channels, uint32_t scale, int32_t correction_bits,
                                int16_t *out)
{
    const uint64_t ln_2 = 45426; /* in units of 2^-16 */

    for (size_t i = 0; i < channels; i++) {
        const uint32_t x = in[i] << correction_bits;
        const uint32_t natural = x > 1 ? (uint32_t)((ln_2 * log2_of(x) + (1u << 15)) >> 16) : 0;
        const uint32_t scaled = (scale * natural + (x > 1 ? 1u << 15 : 0)) >> 16;
        out[i] = (int16_t)(scaled < INT16_MAX ? scaled : INT16_MAX);
    }
}
