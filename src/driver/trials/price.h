/* The price of a decibel in cycles: docs/quantization.md. */
#ifndef NUC_DRIVER_TRIALS_PRICE_H
#define NUC_DRIVER_TRIALS_PRICE_H

#include <math.h>
#include <stdint.h>

/* What twice the cycles have to gain, in dB, and the power of the cycles that the error has to fall with. */
#define NUC_OF_TWICE_THE_CYCLES 15.0
#define NUC_POWER_OF_CYCLES (NUC_OF_TWICE_THE_CYCLES / (10 * log10(2)))

/* The error that nobody asks less of, 50 dB; one of little use, 10 dB; how many times that no more is felt of. */
#define NUC_FAINT 1e-5
#define NUC_POOR 0.1
#define NUC_MOST_POOR 1e4

/*
 * An error, relative to the power of the outputs, as it is felt: decibels of one that is faint already count for
 * little, those of outputs of little use up to 13 times, so that what is of use is worth nearly any cycles.
 */
static inline double nuc_felt(double error)
{
    const double x = fmin(error / NUC_POOR, NUC_MOST_POOR);

    return (error + NUC_FAINT) * pow(1 + x + x * x + x * x * x, 4);
}

/* By how many times the error that is felt has to fall for the cycles. */
static inline double nuc_price(uint64_t cycles, uint64_t without)
{
    return pow((double)cycles / (double)without, NUC_POWER_OF_CYCLES);
}

#endif
