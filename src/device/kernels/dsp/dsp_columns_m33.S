/*
 * The loops of dsp_columns.h on cores with the DSP extension: they take every register, and a compiler spills. The same
 * in C, for all other machines, is in dsp_columns.c.
 *
 * Stack, for tools/stack_bound.sh:
 * stack nuc_dsp_widen 12
 * stack nuc_dsp_widen_five 40
 * stack nuc_dsp_copy_five 28
 * stack nuc_dsp_dot 96
 */
#ifdef __ARM_FEATURE_DSP

#include "device/kernels/dsp/assembly.inc"

/* Five accesses `step` apart, with three steps in `three`; `base` moves on by `next`. */
    .macro  five op, base, step, three, next, a, b, c, d, e
    \op     \b, [\base, \step]
    \op     \c, [\base, \step, lsl #1]
    \op     \d, [\base, \three]
    \op     \e, [\base, \step, lsl #2]
    \op     \a, [\base], #\next
    .endm

/* void nuc_dsp_widen(const int8_t *in, uint32_t offset, int32_t blocks, int32_t width, uint32_t *out) */
    function nuc_dsp_widen
    push    {r4, r5, lr}
    ldr     r4, [sp, #12]
    cbz     r2, 2f
1:
    ldr     r12, [r0], #4
    sxtab16 r5, r1, r12
    sxtab16 r12, r1, r12, ror #8
    str     r5, [r4]
    str     r12, [r4, r3, lsl #2]
    add     r4, r4, r3, lsl #3
    subs    r2, r2, #1
    bne     1b
2:
    pop     {r4, r5, pc}
    .size   nuc_dsp_widen, . - nuc_dsp_widen

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
    five    ldr, r0, r1, r9, 4, r4, r5, r6, r7, r8
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
    five    ldr, r0, r1, r5, 4, lr, r7, r8, r9, r12
    five    str, r2, r3, r6, 4, lr, r7, r8, r9, r12
    subs    r4, r4, #4
    bgt     1b
    pop     {r4-r9, pc}
    .size   nuc_dsp_copy_five, . - nuc_dsp_copy_five

/*
 * void nuc_dsp_dot(const struct nuc_dot *d)
 *
 * r0: columns, r1: weight, r2 to r6: sums of five pixels, r7 to r11: half a block of columns, r12: four weights, lr: two
 * of them widened. On the stack: 0 columns, 4 step, 8 multiplier, or row of the table, 12 out, or where sums go, 16 how a
 * row begins, 20 end of the columns, 24 where the loop is entered, 28 how a row ends, 32 from the end of a row's blocks
 * to the next row, 36 end of the sums that are written, of the multipliers or of the table, 40 from a multiplier to the
 * bias, 44 sums that a row begins with, 48 from a multiplier to the shift, 52 offset, 56 how a row is rescaled.
 */
    .equ    NUC_LAST_ROW, 256       /* dsp_columns.h */

    .macro  half_block a=r2, b=r3, c=r4, d=r5
    smlad   r2, r7, lr, \a
    smlad   r3, r8, lr, \b
    smlad   r4, r9, lr, \c
    smlad   r5, r10, lr, \d
    smlad   r6, r11, lr, r6
    .endm

/* 15 instructions of 4 bytes for 20 products; what the sums begin with, if it is not in each of them. */
    .macro  block begin:vararg
    ldr.w   r12, [r1], #4
    ldmia.w r0!, {r7-r11}
    sxtb16  lr, r12
    half_block \begin
    ldmia.w r0!, {r7-r11}
    sxtb16  lr, r12, ror #8
    half_block
    .endm

/* With the shift in r8, twice the multiplier less 2^32 in r9 and what is added in r10. */
    .macro  rescale sum, negative
    add     r11, \sum, r10
    .if     \negative
    add     r11, r11, \sum, asr #31
    .endif
    smmlar  \sum, \sum, r9, r11
    asr     \sum, \sum, r8
    ssat    \sum, #8, \sum
    .endm

/* A row by the table: shift, of which a shift takes the lowest byte, multiplier, what is added, bias of the next row. */
    .macro  next_of_table
    ldmia.w sp, {r0, r7, r12, lr}
    ldmia   r12!, {r8-r10}
    .endm

/* The next row, or the end of the function where `at` has reached `end`. */
    .macro  next_row at, end
    cmp     \at, \end
    it      ne
    ldrne   pc, [sp, #16]
    add     sp, sp, #60
    pop     {r4-r11, pc}
    .endm

/* With step in r7, what follows in the table, or the multiplier, in r12, and out in lr. */
    .macro  rescale_row negative
    rescale r2, \negative
    rescale r3, \negative
    rescale r4, \negative
    rescale r5, \negative
    rescale r6, \negative
    add     r11, r7, r7, lsl #1
    five    strb, lr, r7, r11, 1, r2, r3, r4, r5, r6
    ldr     r6, [r12], #4
    strd    r12, lr, [sp, #8]
    add     r1, r1, r8, asr #16
    tst     r8, #NUC_LAST_ROW
    beq     10b
    ldr     r7, [sp, #36]
    next_row r12, r7
    .endm

    function nuc_dsp_dot
    push    {r4-r11, lr}
    ldmia   r0, {r1-r12} /* columns, blocks, weight, row, bias, sums, rows, out, step, multipliers, shifts, offset */
    adr.w   lr, 8f + 1
    cmn     r12, #255
    bne     1f
    adr.w   lr, 9f + 1
1:
    push    {r12, lr}
    mov     r12, r2
    sub     r4, r4, r2, lsl #2
    add     r2, r2, r2, lsl #2
    add     r2, r1, r2, lsl #3
    adr.w   r0, 3f + 1
    cbz     r5, 1f
    adr.w   r0, 4f + 1
    sub     r12, r12, #1            /* the first block is apart */
1:
    cmp     r8, #0
    bne     1f
    mov     r8, r6
    add     r7, r7, r7, lsl #2
    add     r7, r6, r7, lsl #2
    adr.w   lr, 7f + 1
    b       2f
1:
    adr.w   lr, 11f + 1
    cmp     r11, #0
    bne     1f
    ldr     r6, [r5]
    lsl     r7, r7, #2
    adr.w   r0, 10f + 1
    ldr     lr, [sp, #4]
    sub     lr, lr, #8              /* next_of_table is in front of rescale_row */
1:
    add     r7, r10, r7, lsl #2
2:
    sub     r5, r5, r10
    sub     r11, r11, r10
    push    {r5, r6, r11}
    push    {r4, r7}
    rsbs    r4, r12, #0             /* the loop takes 16 blocks: it is entered where the odd ones remain */
    and     r4, r4, #15
    it      eq
    moveq   r4, #16
    rsb     r4, r4, r4, lsl #4
    adr.w   r5, 6f + 1
    add     r4, r5, r4, lsl #2
    push    {r0, r2, r4, lr}
    mov     r11, r8
    push    {r1, r9-r11}
    mov     r12, r0
    mov     r0, r1
    mov     r1, r3
    bx      r12
    .balign 4
3:
    ldr     r7, [sp, #44]
    ldmia   r7!, {r2-r6}
    str     r7, [sp, #44]
    ldr     r0, [sp]
    ldr     pc, [sp, #24]
    .balign 4
4:
    ldr.w   r7, [sp, #8]
    ldr     r8, [sp, #40]
    ldr.w   r6, [r7, r8]
    ldr.w   r0, [sp]
10: /* with the bias in r6 */
    block   r6, r6, r6, r6
    ldr     pc, [sp, #24]
    .balign 4
6:
    .rept   16
    block
    .endr
    ldr     r12, [sp, #20]
    cmp     r0, r12
    bne     6b
    ldr     pc, [sp, #28]
    .balign 4
7:
    ldrd    r12, r7, [sp, #8]
    ldrd    r8, r9, [sp, #32]
    stmia   r7!, {r2-r6}
    add     r12, r12, #4
    strd    r12, r7, [sp, #8]
    add     r1, r1, r8
    next_row r7, r9
    .balign 4
11:
    ldr     r12, [sp, #8]
    ldr     r8, [sp, #48]
    ldr     r8, [r12, r8]
    ldr     r9, [r12]
    ldr     r10, [sp, #52]
    mvn     r11, r8
    lsl     r10, r10, r11
    lsl     r9, r9, #1
    ldr     r7, [sp, #32]
    rsb     r8, r8, #0
    orr     r8, r8, r7, lsl #16
    orr     r8, r8, #NUC_LAST_ROW   /* of a table: the end decides */
    ldr     r7, [sp, #4]
    ldr     lr, [sp, #12]
    ldr     pc, [sp, #56]
    .balign 4
    next_of_table
8:
    rescale_row 1
    .balign 4
    next_of_table
9:  /* with the least offset: what is negative saturates, however it is rounded */
    rescale_row 0
    .size   nuc_dsp_dot, . - nuc_dsp_dot

#endif

    .section .note.GNU-stack, "", %progbits
