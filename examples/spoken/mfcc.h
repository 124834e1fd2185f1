/* MFCC of a second of sound on a microcontroller: the features of mfcc.py, in float32. */
#ifndef SPOKEN_MFCC_H
#define SPOKEN_MFCC_H

#include <stdint.h>

#define MFCC_SAMPLES 16000 /* of a second */
#define MFCC_FRAMES 49
#define MFCC_COEFFICIENTS 10

/*
 * The order of `features` is that of the program's input. They are those of mfcc.py but where float32 rounds to the
 * eighth next to it. Takes 4,200 bytes of stack, and logf, sqrtf and rintf of the C library.
 */
void mfcc(const int16_t sound[MFCC_SAMPLES], float features[MFCC_FRAMES * MFCC_COEFFICIENTS]);

#endif
