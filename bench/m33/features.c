/*
 * MFCC of a frame by our operator and by CMSIS-DSP's of 16 bits: instructions of each, of the same sound. features.sh
 * builds and runs it. Both have an FFT of 512, 40 bands from 20 to 4,000 Hz and 10 coefficients; their window is as
 * long as the FFT, since theirs has no other.
 */
#include <math.h>
#include <string.h>

#include "arm_math.h"
#include "device/signal/features.h"
#include "port/port.h"
#include "port/print.h"

enum { FFT = 512, BINS = FFT / 2 + 1, BANDS = 40, COEFFICIENTS = 10, REPEATS = 20 };

static int16_t sound[FFT], copy[FFT];
static double edges[BANDS + 2];

static int16_t starts[3][BANDS + 1], weights[2][BINS], cosines[COEFFICIENTS * BANDS];
static int32_t window[FFT], table[5 * FFT / 4], scratch[FFT + 2 + BANDS];
static float ours[COEFFICIENTS];

static arm_mfcc_instance_q15 theirs;
static uint32_t positions[BANDS], lengths[BANDS];
static q15_t filters[2 * BINS + BANDS], their_window[FFT], result[COEFFICIENTS];
static q31_t temporary[2 * FFT];

static double mel(double hz)
{
    return 1127 * log1p(hz / 700);
}

static int32_t clamped(double v)
{
    return v >= 2147483647.0 ? INT32_MAX : (int32_t)floor(v + 0.5);
}

static void make_tables(void)
{
    const double pi = 3.14159265358979323846, step = (mel(4000) - mel(20)) / (BANDS + 1);
    int16_t at = 0;
    size_t filter = 0;

    for (int i = 0; i < FFT; i++) {
        sound[i] = (int16_t)(8000 * sin(i * 0.11) + 3000 * sin(i * 0.7) + (i * 7919 % 801 - 400));
        window[i] = clamped((0.5 - 0.5 * cos(2 * pi * i / FFT)) * 2147483648.0);
        their_window[i] = (q15_t)(window[i] >> 16);
    }
    for (int i = 0; i < 5 * FFT / 8; i++) {
        const int end = i - 3 * FFT / 8;
        const double angle = end < 0 ? 2 * pi * i / (FFT / 2) : pi * ((end + 1.0) / (FFT / 2) + 0.5);
        table[2 * i] = clamped(cos(angle) * (end < 0 ? 1073741824.0 : 2147483648.0));
        table[2 * i + 1] = clamped(sin(angle) * (end < 0 ? 1073741824.0 : 2147483648.0));
    }
    for (int i = 0; i < BANDS + 2; i++)
        edges[i] = mel(20) + step * i;
    for (int band = 0, bin = 1; band <= BANDS; band++) {
        starts[0][band] = (int16_t)bin;
        starts[1][band] = at;
        for (; bin < BINS && mel(bin * 31.25) < edges[band + 1]; bin++, at++) {
            const double share = (mel(bin * 31.25) - edges[band]) / step;
            weights[0][at] = (int16_t)(32767 * (1 - share));
            weights[1][at] = (int16_t)(32767 * share);
        }
        starts[2][band] = (int16_t)(at - starts[1][band]);
    }
    for (int band = 0; band < BANDS; band++) {
        positions[band] = (uint32_t)starts[0][band];
        lengths[band] = (uint32_t)(starts[2][band] + starts[2][band + 1]);
        for (int i = 0; i < starts[2][band]; i++)
            filters[filter++] = weights[1][starts[1][band] + i];
        for (int i = 0; i < starts[2][band + 1]; i++)
            filters[filter++] = weights[0][starts[1][band + 1] + i];
        for (int k = 0; k < COEFFICIENTS; k++)
            cosines[k * BANDS + band] = (int16_t)(32767 * sqrt(2.0 / BANDS) * cos(pi * k * (band + 0.5) / BANDS));
    }
}

int nuc_firmware_main(void)
{
    make_tables();
    const struct nuc_features p = {.hop = FFT,
                                   .length = FFT,
                                   .window_size = FFT,
                                   .coefficients = COEFFICIENTS,
                                   .power = 1,
                                   .log = NUC_FEATURE_LOG_ADD,
                                   .floor = 1 << 30,
                                   .floor_shift = -14,
                                   .multiplier = 186065279,
                                   .offset = -2359791,
                                   .window = window,
                                   .table = table,
                                   .bank = {BANDS, starts[0], starts[1], starts[2], weights[0], weights[1]},
                                   .cosines = cosines};
    uint32_t best[2] = {UINT32_MAX, UINT32_MAX}; /* REPEATS: what is done once, is not counted */

    arm_mfcc_init_512_q15(&theirs, BANDS, COEFFICIENTS, cosines, positions, lengths, filters, their_window);
    for (int i = 0; i < REPEATS; i++) {
        uint32_t begin = nuc_port_instructions();
        nuc_signal_features(&p, sound, FFT, scratch, ours);
        uint32_t taken = nuc_port_instructions() - begin;
        best[0] = taken < best[0] ? taken : best[0];
        memcpy(copy, sound, sizeof copy);
        begin = nuc_port_instructions();
        arm_mfcc_q15(&theirs, copy, result, temporary);
        taken = nuc_port_instructions() - begin;
        best[1] = taken < best[1] ? taken : best[1];
    }
    nuc_print_line("MFCC of a frame of 512\t", best[0], "");
    nuc_print_line("\t", best[1], "\n");
    for (int k = 0; k < COEFFICIENTS; k++) { /* theirs in units of 2^-7 */
        nuc_print_line("\t", (int64_t)(ours[k] * 128), "");
        nuc_print_line("\t", result[k], "\n");
    }
    return 0;
}
