/* The steps of mfcc.py; their tables are what it prints: python3 mfcc.py >mfcc_tables.h */
#include "mfcc.h"

#include <math.h>
#include <stddef.h>

#include "mfcc_tables.h"

struct complex {
    float re, im;
};

/* In place, radix 2; `x` is in bit-reversed order. */
static void fft(struct complex x[MFCC_FFT])
{
    for (unsigned half = 1; half < MFCC_FFT; half *= 2) {
        for (unsigned i = 0; i < MFCC_FFT; i++) {
            if (i & half)
                continue;
            unsigned turn = (i & (half - 1)) * (MFCC_FFT / 2 / half);
            float re = mfcc_cosine[turn];
            float im = -mfcc_sine[turn];
            struct complex *a = &x[i];
            struct complex *b = &x[i + half];
            struct complex t = {b->re * re - b->im * im, b->re * im + b->im * re};
            *b = (struct complex){a->re - t.re, a->im - t.im};
            *a = (struct complex){a->re + t.re, a->im + t.im};
        }
    }
}

static unsigned reversed(unsigned i)
{
    unsigned r = 0;

    for (unsigned bit = 1; bit < MFCC_FFT; bit *= 2)
        r = r * 2 + ((i & bit) != 0);
    return r;
}

static void frame(const int16_t *sound, float coefficients[MFCC_COEFFICIENTS])
{
    struct complex x[MFCC_FFT];
    float sums[MFCC_COEFFICIENTS] = {0.0F};

    for (unsigned i = 0; i < MFCC_FFT; i++)
        x[reversed(i)] = (struct complex){i < MFCC_WINDOW ? (float)sound[i] / 32768.0F * mfcc_window[i] : 0.0F, 0.0F};
    fft(x);
    const float *weight = mfcc_weights;
    for (unsigned band = 0; band < MFCC_BANDS; band++) {
        float sum = 0.0F;
        for (unsigned i = 0; i < mfcc_band[band].bins; i++) {
            struct complex bin = x[mfcc_band[band].first + i];
            sum += sqrtf(bin.re * bin.re + bin.im * bin.im) * *weight++;
        }
        float loudness = logf(sum + MFCC_FLOOR);
        for (unsigned k = 0; k < MFCC_COEFFICIENTS; k++)
            sums[k] += loudness * mfcc_dct[band][k];
    }
    for (unsigned k = 0; k < MFCC_COEFFICIENTS; k++)
        coefficients[k] = rintf(sums[k] * MFCC_STEPS) / MFCC_STEPS;
}

void mfcc(const int16_t sound[MFCC_SAMPLES], float features[MFCC_FRAMES * MFCC_COEFFICIENTS])
{
    for (unsigned i = 0; i < MFCC_FRAMES; i++)
        frame(sound + (size_t)i * MFCC_STRIDE, features + (size_t)i * MFCC_COEFFICIENTS);
}
