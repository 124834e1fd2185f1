/*
 * The loops of dsp_columns.h on cores with the DSP extension: they take every register, and a compiler spills. The same
 * in C, for all other machines, is in dsp_columns.c.
 *
 * Stack, for tools/stack_bound.sh:
 * stack nuc_dsp_widen_five 40
 * stack nuc_dsp_copy_five 28
 * stack nuc_dsp_dot 96
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

/* void nuc_dsp_copy_five(const int8_t *from, ptrdiff_t step, int8_t *to, ptrdiff_t line, int32_t count) */
    function nuc_dsp_copy_five
    push    {r4-r9, lr}
    ldr     r4, [sp, #28]
    add     r5, r1, r1, lsl #1
    add     r6, r3, r3, lsl #1
1:
    ldr     r7, [r0, r1]
    ldr     r8, [r0, r1, lsl #1]
    ldr     r9, [r0, r5]
    ldr     r12, [r0, r1, lsl #2]
    ldr     lr, [r0], #4
    str     r7, [r2, r3]
    str     r8, [r2, r3, lsl #1]
    str     r9, [r2, r6]
    str     r12, [r2, r3, lsl #2]
    str     lr, [r2], #4
    subs    r4, r4, #4
    bgt     1b
    pop     {r4-r9, pc}
    .size   nuc_dsp_copy_five, . - nuc_dsp_copy_five

/*
 * void nuc_dsp_dot(const struct nuc_dot *d)
 *
 * r0: columns, r1: weight, r2 to r6: sums of five pixels, r7 to r11: half a block of columns, r12: four weights, lr: two
 * of them widened. On the stack: 0 columns, 4 where the loop is entered, 8 from the end of a row's blocks to the next
 * row, 12 from the multiplier to the bias, 16 multiplier, 20 from it to the shift, 24 out, or where sums go, 28 step,
 * 32 end of the columns, 36 offset, 40 how a row begins, 44 sums that it begins with, 48 end of what is written, 52 how
 * a row ends, 56 how it is rescaled. With a table r11 is the bias of the row that begins, and 16 is its place there.
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

/* With the shift in r8, twice the multiplier less 2^32 in r9 and what is added in r10. */
    .macro  rescale sum, negative
    add     lr, \sum, r10
    .if     \negative
    add     lr, lr, \sum, asr #31
    .endif
    smmlar  \sum, \sum, r9, lr
    asr     \sum, \sum, r8
    ssat    \sum, #8, \sum
    .endm

    .macro  rescale_row negative
    rescale r2, \negative
    rescale r3, \negative
    rescale r4, \negative
    rescale r5, \negative
    rescale r6, \negative
    .endm

    function nuc_dsp_dot
    push    {r4-r11, lr}
    ldmia   r0, {r1-r12} /* columns, blocks, weight, row, bias, sums, rows, out, step, multipliers, shifts, offset */
    adr.w   lr, 8f + 1
    cmn     r12, #255
    bne     1f
    adr.w   lr, 9f + 1
1:
    push    {lr}
    adr.w   r0, 4f + 1
    cbnz    r5, 1f
    adr.w   r0, 3f + 1
1:
    cmp     r8, #0
    bne     1f
    mov     r8, r6
    add     r7, r7, r7, lsl #2
    add     r7, r6, r7, lsl #2
    adr.w   lr, 7f + 1
    b       2f
1:
    add     r7, r8, r7
    adr.w   lr, 11f + 1
    cmp     r11, #0
    bne     2f
    ldr     r11, [r5]
    adr.w   r0, 10f + 1
    adr.w   lr, 12f + 1
2:
    push    {r0, r6, r7, lr}
    sub     r4, r4, r2, lsl #2
    sub     r5, r5, r10
    mov     r6, r10
    sub     r7, r11, r10
    add     r10, r2, r2, lsl #2
    add     r10, r1, r10, lsl #3
    rsb     r2, r2, #0              /* the loop takes eight blocks: it is entered where the odd ones remain */
    and     r2, r2, #7
    rsb     r2, r2, r2, lsl #4
    adr.w   lr, 6f + 1
    add     r2, lr, r2, lsl #2
    push    {r1, r2, r4-r10, r12}
    add     r11, r6, r7
    mov     r1, r3
    ldr     pc, [sp, #40]
    .balign 4
3:
    ldr     r7, [sp, #44]
    ldmia   r7!, {r2-r6}
    str     r7, [sp, #44]
    b       5f
    .balign 4
4:
    ldrd    r7, r8, [sp, #12]
    ldr     r2, [r7, r8]
    mov     r3, r2
    mov     r4, r2
    mov     r5, r2
    mov     r6, r2
5:
    ldrd    r0, r12, [sp]
    bx      r12
    .balign 4
10:
    mov     r2, r11
    mov     r3, r11
    mov     r4, r11
    mov     r5, r11
    mov     r6, r11
    ldrd    r0, r12, [sp]
    bx      r12
    .balign 4
6:
    .rept   8
    block
    .endr
    ldr     r12, [sp, #32]
    cmp     r0, r12
    bne     6b
    ldr     pc, [sp, #52]
    .balign 4
7:
    ldr     r7, [sp, #24]
    ldr     r8, [sp, #16]
    stmia   r7!, {r2-r6}
    add     r8, r8, #4
    str     r8, [sp, #16]
    b       2f
    .balign 4
11:
    ldrd    r7, r8, [sp, #16]
    ldr     r8, [r7, r8]
    ldr     r9, [r7], #4
    str     r7, [sp, #16]
    ldr     r10, [sp, #36]
    mvn     r11, r8
    lsl     r10, r10, r11
    lsl     r9, r9, #1
    rsb     r8, r8, #0
    ldr     pc, [sp, #56]
    .balign 4
12:
    ldr     r7, [sp, #16]
    ldmia   r7!, {r8-r11}
    str     r7, [sp, #16]
    ldr     pc, [sp, #56]
    .balign 4
8:
    rescale_row 1
    b       1f
    .balign 4
9:  /* with the least offset: what is negative saturates, however it is rounded */
    rescale_row 0
1:
    ldrd    r7, r12, [sp, #24]
    add     lr, r12, r12, lsl #1
    strb    r3, [r7, r12]
    strb    r4, [r7, r12, lsl #1]
    strb    r5, [r7, lr]
    strb    r6, [r7, r12, lsl #2]
    strb    r2, [r7], #1
2:
    ldr     r8, [sp, #8]
    ldr     r9, [sp, #48]
    str     r7, [sp, #24]
    add     r1, r1, r8
    cmp     r7, r9
    it      ne
    ldrne   pc, [sp, #40]
    add     sp, sp, #60
    pop     {r4-r11, pc}
    .size   nuc_dsp_dot, . - nuc_dsp_dot

#endif

    .section .note.GNU-stack, "", %progbits
