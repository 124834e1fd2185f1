/*
 * An instruction of the Armv8-M DSP extension as a function, and the same in C for other cores and hosts, so that what
 * is written in it is tested everywhere. A word holds four int8 (lane 0 in the lowest bits) or two int16.
 */
#ifndef NUC_DEVICE_BASE_INSTRUCTION_H
#define NUC_DEVICE_BASE_INSTRUCTION_H

#include <stdint.h>

/* Rows of the result's type, name, parameters, the same in C, the instruction, where its result and operands are. */
#ifdef __ARM_FEATURE_DSP
#define NUC_INSTRUCTION(type, name, parameters, same, instruction, output, ...)                                        \
    static inline type name parameters                                                                                 \
    {                                                                                                                  \
        type result;                                                                                                   \
                                                                                                                       \
        __asm(instruction : output(result) : __VA_ARGS__);                                                             \
        return result;                                                                                                 \
    }
#else
#define NUC_INSTRUCTION(type, name, parameters, same, instruction, output, ...)                                        \
    static inline type name parameters                                                                                 \
    {                                                                                                                  \
        return same;                                                                                                   \
    }

static inline int32_t nuc_lane(uint32_t word, int lane)
{
    return (int16_t)(word >> (16 * lane));
}
#endif

#endif
