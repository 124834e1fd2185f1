/*
 * The loop of dsp_rows.h on cores with the DSP extension: it takes every register, and a compiler spills. The same in C,
 * for all other machines, is in dsp_rows.c.
 *
 * Stack, for tools/stack_bound.sh:
 * stack nuc_dsp_multiply_pairs 60
 */
#ifdef __ARM_FEATURE_DSP

#include "device/kernels/dsp/assembly.inc"

/* Eight elements of one row, whose input is in r8 to r11. */
    .macro  eight row, sum
    ldrd    r6, lr, [\row], #8
    sxtb16  r12, r6
    smlad   \sum, r8, r12, \sum
    sxtb16  r6, r6, ror #8
    smlad   \sum, r9, r6, \sum
    sxtb16  r12, lr
    smlad   \sum, r10, r12, \sum
    sxtb16  lr, lr, ror #8
    smlad   \sum, r11, lr, \sum
    .endm

    .macro  eight_of_both
    ldmia.w r0!, {r8-r11}
    eight   r1, r4
    eight   r2, r5
    .endm

/*
 * r0: x, r1: first row, r2: second row, r3: turns of four blocks, r4 and r5: their sums, r6, r12, lr: weights, r7: sums,
 * r8 to r11: input. On the stack: 0 x, 4 turns, 8 where the first one is entered, 12 pairs to do, 16 step.
 */
    function nuc_dsp_multiply_pairs
    push    {r4-r11, lr}
    ldmia   r0, {r0-r6}             /* x, blocks, first, second, sums, count, step */
    mov     r7, r4
    add     r9, r1, #3
    lsr     r9, r9, #2
    rsb     r1, r1, #0
    and     r1, r1, #3
    mov     r10, #76                /* a block is 19 instructions of 4 bytes */
    adr.w   r12, 2f + 1
    mla     r10, r1, r10, r12
    mov     r8, r0
    mov     r11, r5
    mov     r12, r6
    push    {r8-r12, lr}
    mov     r1, r2
    mov     r2, r3
1:
    ldrd    r0, r3, [sp]
    ldrd    r4, r5, [r7]
    ldr     pc, [sp, #8]
    .balign 4
2:
    .rept   4
    eight_of_both
    .endr
    subs    r3, r3, #1
    bne     2b
    ldrd    r8, r9, [sp, #12]
    strd    r4, r5, [r7], #8
    add     r1, r1, r9
    add     r2, r2, r9
    subs    r8, r8, #1
    str     r8, [sp, #12]
    bne     1b
    add     sp, sp, #24
    pop     {r4-r11, pc}
    .size   nuc_dsp_multiply_pairs, . - nuc_dsp_multiply_pairs

#endif
