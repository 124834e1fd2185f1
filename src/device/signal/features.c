/* One frame after the other, from samples to features. */
#include "device/signal/features.h"

/* Root of the middle of each 256th from a quarter on, in units of a 256th. */
static const uint8_t roots[192] = {
    128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140, 141, 142, 143, 144, 144, 145, 146, 147, 148,
    149, 150, 151, 151, 152, 153, 154, 155, 156, 156, 157, 158, 159, 160, 160, 161, 162, 163, 164, 164, 165, 166,
    167, 167, 168, 169, 170, 170, 171, 172, 173, 173, 174, 175, 176, 176, 177, 178, 179, 179, 180, 181, 181, 182,
    183, 183, 184, 185, 186, 186, 187, 188, 188, 189, 190, 190, 191, 192, 192, 193, 194, 194, 195, 196, 196, 197,
    198, 198, 199, 200, 200, 201, 201, 202, 203, 203, 204, 205, 205, 206, 206, 207, 208, 208, 209, 210, 210, 211,
    211, 212, 213, 213, 214, 214, 215, 216, 216, 217, 217, 218, 219, 219, 220, 220, 221, 221, 222, 223, 223, 224,
    224, 225, 225, 226, 227, 227, 228, 228, 229, 229, 230, 230, 231, 232, 232, 233, 233, 234, 234, 235, 235, 236,
    237, 237, 238, 238, 239, 239, 240, 240, 241, 241, 242, 242, 243, 243, 244, 244, 245, 246, 246, 247, 247, 248,
    248, 249, 249, 250, 250, 251, 251, 252, 252, 253, 253, 254, 254, 255, 255, 255,
};

/* 17 bits of it are exact but for the last one: a step of Newton's from a value of 8 bits. */
static inline uint32_t root_of(uint64_t v)
{
    if (v == 0)
        return 0;
    const int32_t zeros = __builtin_clzll(v) & ~1;
    const uint32_t x = (uint32_t)(v << zeros >> 32), seed = (uint32_t)roots[(x >> 24) - 64] << 8;
    const uint32_t r = seed + x / seed; /* of 17 bits, for a number of 34 */
    const int32_t shift = 15 - zeros / 2;
    return shift >= 0 ? r << shift : r >> -shift;
}

/* Binary logarithm of a number from 1 on, in units of 2^-16. */
static inline int32_t log2_of(uint64_t v)
{
    const int32_t zeros = __builtin_clzll(v);
    const uint32_t fraction = (uint32_t)(v << zeros << 1 >> 32), segment = fraction >> 25;
    const int32_t low = nuc_log2_corrections[segment], high = nuc_log2_corrections[segment + 1];

    return ((63 - zeros) << 16) + (int32_t)(fraction >> 16) + low +
           ((high - low) * (int32_t)(fraction >> 9 & 0xFFFF) >> 16);
}

/* ---- the list of numbers ---- */

bool nuc_features_read(const int64_t *n, size_t count, struct nuc_features *p)
{
    static const struct {
        int64_t least, most;
    } bounds[NUC_FEATURE_NUMBERS] = {
        [NUC_FEATURE_HOP] = {1, INT16_MAX},
        [NUC_FEATURE_LENGTH] = {NUC_RFFT_SHORTEST, NUC_RFFT_LONGEST},
        [NUC_FEATURE_PAD] = {0, NUC_RFFT_LONGEST},
        [NUC_FEATURE_PAD_BOTH] = {0, 2 * NUC_RFFT_LONGEST},
        [NUC_FEATURE_REFLECT] = {0, 1},
        [NUC_FEATURE_POWER] = {1, 2},
        [NUC_FEATURE_LOG] = {0, NUC_FEATURE_LOGS - 1},
        [NUC_FEATURE_FLOOR] = {0, INT32_MAX},
        [NUC_FEATURE_FLOOR_SHIFT] = {-256, 256},
        [NUC_FEATURE_MULTIPLIER] = {0, INT32_MAX},
        [NUC_FEATURE_OFFSET] = {-(1 << 26), 1 << 26},
        [NUC_FEATURE_PEAK] = {0, 1},
    };

    if (count != NUC_FEATURE_NUMBERS)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (n[i] < bounds[i].least || n[i] > bounds[i].most)
            return false;
    }
    p->hop = (size_t)n[NUC_FEATURE_HOP];
    p->length = (size_t)n[NUC_FEATURE_LENGTH];
    p->pad = (size_t)n[NUC_FEATURE_PAD];
    p->pad_both = (size_t)n[NUC_FEATURE_PAD_BOTH];
    p->reflect = n[NUC_FEATURE_REFLECT] != 0;
    p->peak = n[NUC_FEATURE_PEAK] != 0;
    p->power = (int32_t)n[NUC_FEATURE_POWER];
    p->log = (int32_t)n[NUC_FEATURE_LOG];
    p->floor = (uint32_t)n[NUC_FEATURE_FLOOR];
    p->floor_shift = (int32_t)n[NUC_FEATURE_FLOOR_SHIFT];
    p->multiplier = (int32_t)n[NUC_FEATURE_MULTIPLIER];
    p->offset = (int32_t)n[NUC_FEATURE_OFFSET];
    return (p->length & (p->length - 1)) == 0 && p->pad <= p->pad_both;
}

bool nuc_features_fit(const struct nuc_features *p, size_t weights)
{
    return p->window_size > 0 && p->window_size <= p->length && p->bank.channels > 0 &&
           nuc_filter_bank_fits(&p->bank, p->length / 2 + 1, weights) &&
           (p->log != NUC_FEATURE_LINEAR || p->coefficients == 0);
}

size_t nuc_features_frames(const struct nuc_features *p, size_t samples)
{
    if (samples + p->pad_both < p->window_size || (p->reflect && samples <= p->pad_both))
        return 0;
    return (samples + p->pad_both - p->window_size) / p->hop + 1;
}

size_t nuc_features_scratch(const struct nuc_features *p)
{
    return p->length + 2 + p->bank.channels + (p->pad_both > 0 ? (p->window_size + 1) / 2 : 0);
}

/* ---- a frame ---- */

/* Of a recording, some of it outside. */
static const int16_t *padded_frame(const struct nuc_features *p, const int16_t *in, size_t samples, size_t start,
                                   int16_t *to)
{
    for (size_t i = 0; i < p->window_size; i++) {
        size_t at = start + i; /* behind the padding in front */
        if (p->reflect)
            at = at < p->pad ? 2 * p->pad - at : at - p->pad < samples ? at : 2 * (p->pad + samples - 1) - at;
        to[i] = at >= p->pad && at - p->pad < samples ? in[at - p->pad] : (int16_t)0;
    }
    return to;
}

/* By how many bits the largest sample may be shifted. */
static int32_t room_of(const int16_t *frame, size_t count)
{
    uint32_t any = 0;

    for (size_t i = 0; i < count; i++)
        any |= (uint16_t)(frame[i] ^ (frame[i] >> 15));
    return any == 0 ? 15 : (int32_t)__builtin_clz(any) - 17;
}

/*
 * The spectrum of a frame, which is shifted by as many bits as there is room for, and how many these are. Where the
 * window takes most of what is loud, there is more of it than the samples show.
 */
static int32_t spectrum_of(const struct nuc_features *p, const int16_t *frame, int32_t *x)
{
    const int32_t room = room_of(frame, p->window_size);
    const uint32_t any = nuc_rfft_place(frame, p->window, p->window_size, room + 16, p->length, x);
    const int32_t more = any == 0 ? 0 : (int32_t)__builtin_clz(any) - 2;

    for (size_t i = 0; i < p->length && more > 1; i++)
        x[i] = (int32_t)((uint32_t)x[i] << more);
    nuc_rfft_s32(x, p->length, p->table);
    return more > 1 ? room + more : room;
}

static inline uint64_t magnitude_of(const int32_t *bin, int32_t power)
{
    const uint64_t square = (uint64_t)((int64_t)bin[0] * bin[0]) + (uint64_t)((int64_t)bin[1] * bin[1]);

    return power == 2 ? square >> 12 : root_of(square);
}

/* Sum of a band and what it adds to the next one, of which the bands go up by turns. */
static inline void add_band(const struct nuc_filter_bank *b, size_t band, const int32_t *spectrum, int32_t power,
                            uint64_t sums[2])
{
    const int32_t *bin = spectrum + 2 * b->starts[band];
    const int16_t *weights = b->weights + b->weight_starts[band], *rest = b->unweights + b->weight_starts[band];
    uint64_t own = sums[0], next = 0;

    for (int32_t i = 0; i < b->widths[band]; i++, bin += 2) {
        const uint64_t v = magnitude_of(bin, power);
        own += v * (uint16_t)weights[i];
        next += v * (uint16_t)rest[i];
    }
    sums[0] = own;
    sums[1] = next;
}

/* 2^shift * v, as much as there is room for. */
static uint64_t shifted(uint32_t v, int32_t shift)
{
    if (shift >= 0)
        return v == 0 ? 0 : shift > 30 ? (uint64_t)1 << 62 : (uint64_t)v << shift;
    return shift < -31 ? 0 : v >> -shift;
}

/* 2^-bits, below 127. */
static float fraction(int32_t bits)
{
    union {
        uint32_t bits;
        float value;
    } u = {(uint32_t)(127 - bits) << 23};

    return u.value;
}

struct level {
    int32_t bits;   /* by which a frame's sums are too large: 2^bits */
    uint64_t floor; /* in units of them */
    int32_t offset; /* of their logarithms */
};

static int32_t channel_of(const struct nuc_features *p, const struct level *l, uint64_t sum)
{
    if (p->log == NUC_FEATURE_LOG_ADD)
        sum += l->floor;
    else if (sum < l->floor)
        sum = l->floor;
    const int64_t log = log2_of(sum == 0 ? 1 : sum) + l->offset;
    return (int32_t)((log * p->multiplier + (1 << 27)) >> 28);
}

/* The channels: numbers in units of 2^-16, or of the linear scale float32 in `out`. */
static void channels_of(const struct nuc_features *p, const struct level *l, const int32_t *spectrum, int32_t *channels,
                        float *out)
{
    uint64_t sums[2] = {0, 0};

    for (size_t band = 0; band < p->bank.channels + 1; band++) {
        if (p->power == 2)
            add_band(&p->bank, band, spectrum, 2, sums);
        else
            add_band(&p->bank, band, spectrum, 1, sums);
        if (band > 0 && p->log == NUC_FEATURE_LINEAR)
            out[band - 1] = (float)sums[0] * p->factor * fraction(l->bits);
        else if (band > 0)
            channels[band - 1] = channel_of(p, l, sums[0]);
        sums[0] = sums[1];
    }
}

static void cosines_of(const struct nuc_features *p, const int32_t *channels, float *out)
{
    const int16_t *c = p->cosines;

    for (size_t k = 0; k < p->coefficients; k++) {
        int64_t sum = 1 << 14;
        for (size_t i = 0; i < p->bank.channels; i++)
            sum += (int64_t)channels[i] * *c++;
        out[k] = (float)(int32_t)(sum >> 15) * fraction(16);
    }
}

/* What samples are divided by, as a number of 15 bits and its logarithm. */
struct peak {
    uint32_t most;
    int32_t log;
};

static struct peak peak_of(const struct nuc_features *p, const int16_t *in, size_t samples)
{
    int32_t most = 1;

    if (!p->peak)
        return (struct peak){0, 0};
    for (size_t i = 0; i < samples; i++)
        most = in[i] > most ? in[i] : most;
    return (struct peak){(uint32_t)most, (15 << 16) - log2_of((uint64_t)most)};
}

static struct level level_of(const struct nuc_features *p, struct peak peak, int32_t room)
{
    const int32_t bits = p->power * room;
    uint32_t floor = p->floor;

    for (int32_t i = 0; i < p->power && p->peak; i++)
        floor = (uint32_t)((uint64_t)floor * peak.most >> 15);
    return (struct level){bits, shifted(floor, p->floor_shift + bits), p->offset + p->power * peak.log - (bits << 16)};
}

void nuc_signal_features(const struct nuc_features *p, const int16_t *in, size_t samples, int32_t *scratch, float *out)
{
    const size_t frames = nuc_features_frames(p, samples),
                 each = p->coefficients > 0 ? p->coefficients : p->bank.channels;
    int32_t *channels = scratch + p->length + 2;
    const struct peak peak = peak_of(p, in, samples);

    for (size_t i = 0; i < frames; i++, out += each) {
        const size_t start = i * p->hop;
        const bool inside = start >= p->pad && start - p->pad + p->window_size <= samples;
        const int16_t *frame = inside ? in + start - p->pad
                                      : padded_frame(p, in, samples, start, (int16_t *)(channels + p->bank.channels));
        const struct level level = level_of(p, peak, spectrum_of(p, frame, scratch));
        channels_of(p, &level, scratch, channels, out);
        if (p->log == NUC_FEATURE_LINEAR)
            continue;
        if (p->coefficients > 0)
            cosines_of(p, channels, out);
        for (size_t c = 0; c < p->bank.channels && p->coefficients == 0; c++)
            out[c] = (float)channels[c] * fraction(16);
    }
}
