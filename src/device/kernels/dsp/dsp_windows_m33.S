/*
 * The loops of dsp_windows.h on cores with the DSP extension: they take every register, and a compiler spills. The same
 * in C, for all other machines, is in dsp_windows.c.
 *
 * Stack, for tools/stack_bound.sh:
 * stack nuc_dsp_widen_lines 36
 * stack nuc_dsp_widen_lines_twice 36
 * stack nuc_dsp_sum_windows 92
 * stack nuc_dsp_sum_three_by_two 80
 */
#ifdef __ARM_FEATURE_DSP

#include "device/kernels/dsp/assembly.inc"

/*
 * r0 and r1: the two rows, r2 and r3: their steps, r4: columns to do, r5: offset, r6: out, r7: the structure, r8 to r11:
 * a column, r12: number of the row, lr: the upper row of the line.
 */
    .macro  widen_lines name, twice
    function \name
    push    {r4-r11, lr}
    mov     r7, r0
    ldrd    lr, r12, [r7]
    ldrd    r5, r6, [r7, #32]
1:
    ldrd    r8, r9, [r7, #12]       /* height, outside */
    ldrd    r10, r11, [r7, #20]     /* row, step */
    ldr     r4, [r7, #28]
    mov     r0, lr
    mov     r2, r11
    cmp     r12, r8
    itt     hs
    movhs   r0, r9
    movhs   r2, #0
    add     r1, lr, r10
    mov     r3, r11
    add     r12, r12, #1
    cmp     r12, r8
    itt     hs
    movhs   r1, r9
    movhs   r3, #0
    add     r12, r12, #1
    add     lr, lr, r10, lsl #1
2:
    ldr     r8, [r0]
    ldr     r11, [r1]
    add     r0, r0, r2
    add     r1, r1, r3
    pkhbt   r9, r8, r11, lsl #16
    pkhtb   r11, r11, r8, asr #16
    sxtab16 r8, r5, r9
    sxtab16 r9, r5, r9, ror #8
    sxtab16 r10, r5, r11
    sxtab16 r11, r5, r11, ror #8
    .if     \twice
    sadd16  r8, r8, r8
    sadd16  r9, r9, r9
    sadd16  r10, r10, r10
    sadd16  r11, r11, r11
    .endif
    stmia   r6!, {r8-r11}
    subs    r4, r4, #1
    bne     2b
    ldr     r8, [r7, #40]
    ldr     r9, [r7, #8]
    add     r6, r6, r8
    cmp     r12, r9
    bne     1b
    pop     {r4-r11, pc}
    .size   \name, . - \name
    .endm

    widen_lines nuc_dsp_widen_lines, 0
    widen_lines nuc_dsp_widen_lines_twice, 1

/*
 * r0: data, r1: stream, r3 to r6: sums of four channels, r8 to r11: inputs of a place, r2, r7, r12, lr: its weights.
 * On the stack lies a copy of the structure: 0 stream, 4 out, 8 step, 12 end, 16 next, 20 data, 24 across, 28 row,
 * 32 back, 36 out_back, 40 rows.
 */

/* Six instructions of 4 bytes for 8 products. */
    .macro  place
    ldmia.w r0!, {r8-r11}
    ldmia.w r1!, {r2, r7, r12, lr}
    smlad   r3, r8, r2, r3
    smlad   r4, r9, r7, r4
    smlad   r5, r10, r12, r5
    smlad   r6, r11, lr, r6
    .endm

/* Numbers added before the shift, r2, r7, r12, lr: halves of negative sums are moved below the tie. */
    .macro  away
    add     r2, r2, r3, asr #31
    add     r7, r7, r4, asr #31
    add     r12, r12, r5, asr #31
    add     lr, lr, r6, asr #31
    .endm

/* Rescales and stores the sums, and goes on with the next window at 1, or falls through after the last one. */
    .macro  finish negative=1
    ldmia   r1!, {r8-r11}
    ldmia   r1!, {r2, r7, r12, lr}
    .if     \negative
    away
    .endif
    smmlar  r3, r3, r8, r2
    smmlar  r4, r4, r9, r7
    smmlar  r5, r5, r10, r12
    smmlar  r6, r6, r11, lr
    ldmia   r1, {r8-r11}
    asr     r3, r3, r8
    asr     r4, r4, r9
    asr     r5, r5, r10
    asr     r6, r6, r11
    ssat    r3, #8, r3
    ssat    r4, #8, r4
    ssat    r5, #8, r5
    ssat    r6, #8, r6
    ldmia.w sp, {r1, r2, r8, r9, r10}
    bfi     r3, r4, #8, #8
    bfi     r3, r5, #16, #8
    bfi     r3, r6, #24, #8
    str     r3, [r2]
    add     r2, r2, r8
    str     r2, [sp, #4]
    add     r0, r0, r10
    cmp     r0, r9
    bne     1b
    ldrd    r4, r5, [sp, #28]
    ldrd    r6, r7, [sp, #36]
    add     r9, r9, r4
    add     r0, r0, r5
    add     r2, r2, r6
    str     r9, [sp, #12]
    str     r2, [sp, #4]
    subs    r7, r7, #1
    str     r7, [sp, #40]
    bne     1b
    .endm

    function nuc_dsp_sum_three_by_two
    push    {r4-r11, lr}
    ldmia   r0, {r1-r11}
    push    {r1-r11}
    mov     r0, r6
1:
    ldmia   r1!, {r3-r6}
    .rept   3
    place
    .endr
    ldr     r2, [sp, #24]
    add     r0, r0, r2
    .rept   3
    place
    .endr
    finish  negative=0
    add     sp, sp, #44
    pop     {r4-r11, pc}
    .size   nuc_dsp_sum_three_by_two, . - nuc_dsp_sum_three_by_two

/* On the stack, too: 44 lines, 48 where a line of so many places is entered, 52 lines still to do. */
    function nuc_dsp_sum_windows
    push    {r4-r11, lr}
    ldrd    r2, r3, [r0, #44]
    rsb     r3, r3, #8
    add     r3, r3, r3, lsl #1
    adr.w   r1, 3f
    add     r3, r1, r3, lsl #3
    orr     r3, r3, #1
    push    {r2-r4}
    ldmia   r0, {r1-r11}
    push    {r1-r11}
    mov     r0, r6
1:
    ldr     r7, [sp, #44]
    ldmia   r1!, {r3-r6}
2:
    str     r7, [sp, #52]
    ldr     pc, [sp, #48]
    .balign 4
3:
    .rept   8
    place
    .endr
    ldr     r7, [sp, #52]
    subs    r7, r7, #1
    beq     4f
    ldr     r2, [sp, #24]
    add     r0, r0, r2
    b       2b
4:
    finish
    add     sp, sp, #56
    pop     {r4-r11, pc}
    .size   nuc_dsp_sum_windows, . - nuc_dsp_sum_windows

#endif
