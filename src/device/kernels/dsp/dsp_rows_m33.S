/*
 * The loops of dsp_rows.h on cores with the DSP extension: one takes every register, and a compiler spills. The same in
 * C, for all other machines, is in dsp_rows.c.
 *
 * Stack, for tools/stack_bound.sh:
 * stack nuc_dsp_widen_row 20
 * stack nuc_dsp_multiply_triples 80
 * stack nuc_dsp_rescale_each 20
 */
#ifdef __ARM_FEATURE_DSP

#include "device/kernels/dsp/assembly.inc"

/* void nuc_dsp_widen_row(const int8_t *in, uint32_t offset, int32_t blocks, uint32_t *x) */
    function nuc_dsp_widen_row
    push    {r4-r7, lr}
    cbz     r2, 2f
1:
    ldr     r5, [r0], #4
    ldr     r7, [r0], #4
    sxtab16 r4, r1, r5
    sxtab16 r5, r1, r5, ror #8
    sxtab16 r6, r1, r7
    sxtab16 r7, r1, r7, ror #8
    stmia   r3!, {r4-r7}
    subs    r2, r2, #1
    bne     1b
2:
    pop     {r4-r7, pc}
    .size   nuc_dsp_widen_row, . - nuc_dsp_widen_row

/* Eight elements of one row, whose input is in r8 to r11. */
    .macro  eight row, sum
    ldrd    r7, lr, [\row], #8
    sxtb16  r12, r7
    smlad   \sum, r8, r12, \sum
    sxtb16  r7, r7, ror #8
    smlad   \sum, r9, r7, \sum
    sxtb16  r12, lr
    smlad   \sum, r10, r12, \sum
    sxtb16  lr, lr, ror #8
    smlad   \sum, r11, lr, \sum
    .endm

/* nuc_fused_twice() of the doubled sum, with the multiplier in r9, the shift in r10 and what is added in r11. */
    .macro  rescale sum, negative
    qadd    \sum, \sum, \sum
    .if     \negative
    add     lr, r11, \sum, asr #31
    smmlar  \sum, \sum, r9, lr
    .else
    smmlar  \sum, \sum, r9, r11
    .endif
    asr     \sum, \sum, r10
    ssat    \sum, #8, \sum
    .endm

/* Three results, to r7. */
    .macro  finish negative
    rescale r4, \negative
    rescale r5, \negative
    rescale r6, \negative
    strb    r4, [r7], #1
    strb    r5, [r7], #1
    strb    r6, [r7], #1
    .endm

/*
 * r0: x, r1 to r3: rows, r4 to r6: their sums, r7, r12, lr: weights, r8 to r11: input. On the stack: 0 x, 4 out,
 * 8 sums, 12 multiplier, 16 shift, 20 added, 24 step, 28 end of the sums, 32 that of x, 36 where the loop is entered,
 * 40 how rows end.
 */
    function nuc_dsp_multiply_triples
    push    {r4-r11, lr}
    ldmia   r0, {r0-r10}            /* x, out, sums, multiplier, shift, add, step, weight, stride, blocks, end */
    add     r11, r0, r9, lsl #4
    rsb     r12, r9, #0
    and     r12, r12, #7
    rsb     r12, r12, r12, lsl #3   /* a block is 28 instructions of 4 bytes */
    adr.w   lr, 2f + 1
    add     r12, lr, r12, lsl #4
    adr.w   lr, 4f + 1
    cbz     r1, 1f
    adr.w   lr, 3f + 1
    sub     r9, r4, #1              /* with the least offset, -255 times half of what the shift drops is added: */
    asr     r9, r5, r9
    cmn     r9, #255
    bne     1f
    adr.w   lr, 6f + 1              /* what is negative saturates, however it is rounded */
1:
    push    {r0-r6, r10-r12, lr}
    mov     r12, r2
    mov     lr, r1
    mov     r1, r7
    add     r2, r1, r8
    add     r3, r2, r8
    mov     r7, lr
    mov     r8, r12
1:
    ldmia   r8!, {r4-r6}
    strd    r7, r8, [sp, #4]
    ldr     pc, [sp, #36]
    .balign 4
2:
    .rept   8
    ldmia.w r0!, {r8-r11}
    eight   r1, r4
    eight   r2, r5
    eight   r3, r6
    .endr
    ldr     r12, [sp, #32]
    cmp     r0, r12
    bne     2b
    ldmia.w sp, {r0, r7-r12}
    ldr     pc, [sp, #40]
    .balign 4
3:
    finish 1
    b       5f
    .balign 4
6:
    finish 0
    b       5f
    .balign 4
4:
    stmdb   r8, {r4-r6}
5:
    add     r1, r1, r12
    add     r2, r2, r12
    add     r3, r3, r12
    ldr     lr, [sp, #28]
    cmp     r8, lr
    bne     1b
    add     sp, sp, #44
    pop     {r4-r11, pc}
    .size   nuc_dsp_multiply_triples, . - nuc_dsp_multiply_triples

/*
 * int32_t nuc_dsp_rescale_each(const int32_t *sums, const int32_t *multipliers, const int32_t *shifts, int32_t odd,
 *                              int8_t *out, const int8_t *end)
 *
 * r4: out, r5: one less than the shift to the right, r6: multiplier, r7: what is added, r12: what is returned, lr: sum.
 */
    function nuc_dsp_rescale_each
    push    {r4-r7, lr}
    ldr     r4, [sp, #20]
    mov     r12, #0
1:
    ldr     r5, [r2], #4
    ldr     r6, [r1], #4
    ldr     lr, [r0], #4
    mvns    r5, r5
    orr     r12, r12, r5
    orr     r12, r12, r6, asr #31
    lsl     r7, r3, r5
    qadd    lr, lr, lr
    add     r7, r7, lr, asr #31
    smmlar  lr, lr, r6, r7
    asr     lr, lr, r5
    ssat    lr, #8, lr, asr #1
    strb    lr, [r4], #1
    ldr     r7, [sp, #24]
    cmp     r4, r7
    bne     1b
    mov     r0, r12
    pop     {r4-r7, pc}
    .size   nuc_dsp_rescale_each, . - nuc_dsp_rescale_each

#endif
