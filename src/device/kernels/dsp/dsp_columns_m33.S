/*
 * The loops of dsp_columns.h on cores with the DSP extension: they take every register, and a compiler spills. The same
 * in C, for all other machines, is in dsp_columns.c.
 *
 * Stack, for tools/stack_bound.sh:
 * stack nuc_dsp_widen_five 40
 * stack nuc_dsp_dot 64
 * stack nuc_dsp_finish_five 44
 */
#ifdef __ARM_FEATURE_DSP

#include "device/kernels/dsp/assembly.inc"

/*
 * void nuc_dsp_widen_five(const int8_t *in, ptrdiff_t step, uint32_t offset, int32_t blocks, uint32_t *out)
 *
 * r0: in, r1: step, r2: offset, r3: out, r4 to r8: four elements of each pixel, r9 to lr: half of them widened.
 * sp: the end of the first pixel's elements.
 */
    .macro  widen rotation:vararg
    sxtab16 r9, r2, r4 \rotation
    sxtab16 r10, r2, r5 \rotation
    sxtab16 r11, r2, r6 \rotation
    sxtab16 r12, r2, r7 \rotation
    sxtab16 lr, r2, r8 \rotation
    stmia   r3!, {r9-r12, lr}
    .endm

    function nuc_dsp_widen_five
    push    {r4-r11, lr}
    add     r3, r0, r3, lsl #2
    push    {r3}
    ldr     r3, [sp, #40]
1:
    add     r9, r1, r1, lsl #1
    ldr     r5, [r0, r1]
    ldr     r6, [r0, r1, lsl #1]
    ldr     r7, [r0, r9]
    ldr     r8, [r0, r1, lsl #2]
    ldr     r4, [r0], #4
    widen
    widen   , ror #8
    ldr     r9, [sp]
    cmp     r0, r9
    bne     1b
    add     sp, #4
    pop     {r4-r11, pc}
    .size   nuc_dsp_widen_five, . - nuc_dsp_widen_five

/*
 * void nuc_dsp_dot(const struct nuc_dot *d)
 *
 * r0: columns, r1: weight, r2 to r6: sums of five pixels, r7 to r11: half a block of columns, r12: four weights, lr: two
 * of them widened. On the stack: 0 columns, 4 where the loop is entered, 8 end of the columns, 12 sums, 16 from the end
 * of a row's blocks to the next row, 20 end of the sums, 24 bias.
 */
    .macro  half_block
    smlad   r2, r7, lr, r2
    smlad   r3, r8, lr, r3
    smlad   r4, r9, lr, r4
    smlad   r5, r10, lr, r5
    smlad   r6, r11, lr, r6
    .endm

/* 15 instructions of 4 bytes for 20 products. */
    .macro  block
    ldr.w   r12, [r1], #4
    ldmia.w r0!, {r7-r11}
    sxtb16  lr, r12
    half_block
    ldmia.w r0!, {r7-r11}
    sxtb16  lr, r12, ror #8
    half_block
    .endm

    function nuc_dsp_dot
    push    {r4-r11, lr}
    ldmia   r0, {r0-r6}             /* columns, blocks, weight, row, bias, sums, rows */
    rsb     r7, r1, #0              /* the loop takes four blocks: it is entered where the odd ones remain */
    and     r7, r7, #3
    rsb     r7, r7, r7, lsl #4
    adr.w   r8, 4f
    add     r7, r8, r7, lsl #2
    orr     r7, r7, #1
    add     r8, r1, r1, lsl #2
    add     r8, r0, r8, lsl #3
    mov     r9, r5
    sub     r10, r3, r1, lsl #2
    add     r11, r6, r6, lsl #2
    add     r11, r5, r11, lsl #2
    mov     r12, r4
    push    {r0, r7-r12}
    mov     r1, r2
1:
    ldr     r0, [sp, #24]
    cbnz    r0, 2f
    ldr     r7, [sp, #12]
    ldmia   r7, {r2-r6}
    b       3f
2:
    ldr     r2, [r0], #4
    str     r0, [sp, #24]
    mov     r3, r2
    mov     r4, r2
    mov     r5, r2
    mov     r6, r2
3:
    ldrd    r0, r12, [sp]
    bx      r12
4:
    block
    block
    block
    block
    ldr     r12, [sp, #8]
    cmp     r0, r12
    bne     4b
    ldrd    r7, r8, [sp, #12]
    ldr     r9, [sp, #20]
    add     r1, r8
    stmia   r7!, {r2-r6}
    str     r7, [sp, #12]
    cmp     r7, r9
    bne     1b
    add     sp, #28
    pop     {r4-r11, pc}
    .size   nuc_dsp_dot, . - nuc_dsp_dot

/*
 * void nuc_dsp_finish_five(const struct nuc_finish_five *f)
 *
 * r0: sums, r1: multipliers, r2: shifts, r3: out, r4: step, r5 to r9: sums of five pixels, r10: twice the multiplier less
 * 2^32, r11: shift, r12: what is added. sp: end of the sums, sp + 4: twice the offset and one.
 */
    .macro  rescale sum
    add     lr, \sum, r12
    add     lr, lr, \sum, asr #31
    smmlar  \sum, \sum, r10, lr
    asr     \sum, \sum, r11
    ssat    \sum, #8, \sum
    .endm

    function nuc_dsp_finish_five
    push    {r4-r11, lr}
    ldmia   r0, {r0-r6}
    push    {r5, r6}
1:
    ldr     r11, [r2], #4
    ldr     r10, [r1], #4
    ldr     r12, [sp, #4]
    ldmia   r0!, {r5-r9}
    mvn     lr, r11
    lsl     r12, r12, lr
    lsl     r10, r10, #1
    rsb     r11, r11, #0
    rescale r5
    rescale r6
    rescale r7
    rescale r8
    rescale r9
    add     lr, r4, r4, lsl #1
    strb    r6, [r3, r4]
    strb    r7, [r3, r4, lsl #1]
    strb    r8, [r3, lr]
    strb    r9, [r3, r4, lsl #2]
    strb    r5, [r3], #1
    ldr     lr, [sp]
    cmp     r0, lr
    bne     1b
    add     sp, #8
    pop     {r4-r11, pc}
    .size   nuc_dsp_finish_five, . - nuc_dsp_finish_five

#endif

    .section .note.GNU-stack, "", %progbits
