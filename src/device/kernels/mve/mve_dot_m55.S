/*
 * The loops of mve_dot.h: a compiler ends a loop that is no multiple of a vector by itself with code for the rest, these
 * end in a part of a vector, and what lies beyond the depth is not read. The same in C, for other machines, is in
 * mve_dot.c.
 *
 * Stack, for tools/stack_bound.sh:
 * stack nuc_mve_dot_pairs 60
 * stack nuc_mve_dot_fours 44
 * stack nuc_mve_sum_fours 36
 * stack nuc_mve_sum_windows 32
 */
#ifdef __ARM_FEATURE_MVE

#include "device/kernels/dsp/assembly.inc"

    function nuc_mve_dot_pairs
    push    {r4-r11, lr}
    ldm     r0, {r1-r6, r7, r11}
    push    {r1-r6}                     /* row, depth, three inputs, end */
1:
    ldrd    r9, lr, [sp]
    add     r9, r7, r9
    mov     r12, r9
    ldrd    r1, r3, [sp, #8]
    ldr     r5, [sp, #16]
    movs    r0, #0
    movs    r2, #0
    movs    r4, #0
    movs    r6, #0
    mov     r8, r0
    mov     r10, r0
    dlstp.8 lr, lr
2:
    vldrb.8 q0, [r7], #16
    vldrb.8 q2, [r1], #16
    vmladava.s8 r0, q0, q2
    vldrb.8 q1, [r9], #16
    vmladava.s8 r2, q1, q2
    vldrb.8 q3, [r3], #16
    vmladava.s8 r4, q0, q3
    vldrb.8 q2, [r5], #16
    vmladava.s8 r6, q1, q3
    vmladava.s8 r8, q0, q2
    vmladava.s8 r10, q1, q2
    letp    lr, 2b
    strd    r0, r2, [r11], #8
    ldr     r7, [sp]
    strd    r4, r6, [r11, #248]
    ldr     r0, [sp, #20]
    add     r7, r12, r7
    cmp     r11, r0
    strd    r8, r10, [r11, #504]
    bne     1b
    add     sp, sp, #24
    pop     {r4-r11, pc}
    .size   nuc_mve_dot_pairs, . - nuc_mve_dot_pairs

    function nuc_mve_dot_fours
    push    {r4-r11, lr}
    ldm     r0, {r2, r4}
    ldrd    r1, r9, [r0, #8]
    ldrd    r10, r11, [r0, #16]
    push    {r2, r4}                    /* input, end */
1:
    ldr     r8, [sp]
    add     r3, r1, r9
    add     r5, r3, r9
    add     r7, r5, r9
    add     r12, r7, r9
    movs    r0, #0
    movs    r2, #0
    movs    r4, #0
    movs    r6, #0
    dlstp.8 lr, r10
2:
    vldrb.8 q0, [r8], #16
    vldrb.8 q1, [r1], #16
    vmladava.s8 r0, q0, q1
    vldrb.8 q2, [r3], #16
    vmladava.s8 r2, q0, q2
    vldrb.8 q1, [r5], #16
    vmladava.s8 r4, q0, q1
    vldrb.8 q2, [r7], #16
    vmladava.s8 r6, q0, q2
    letp    lr, 2b
    strd    r0, r2, [r11], #16
    mov     r1, r12
    strd    r4, r6, [r11, #-8]
    ldr     r0, [sp, #4]
    cmp     r11, r0
    bne     1b
    add     sp, sp, #8
    pop     {r4-r11, pc}
    .size   nuc_mve_dot_fours, . - nuc_mve_dot_fours

    function nuc_mve_sum_fours
    push    {r4-r11, lr}
    ldrd    r8, r1, [r0, #4]            /* end, weight */
    ldrd    r9, r10, [r0, #12]
    ldr     r11, [r0, #20]
1:
    add     r3, r1, r9
    add     r5, r3, r9
    add     r7, r5, r9
    add     r12, r7, r9
    movs    r0, #0
    movs    r2, #0
    movs    r4, #0
    movs    r6, #0
    dlstp.8 lr, r10
2:
    vldrb.8 q0, [r1], #16
    vaddva.s8 r0, q0
    vldrb.8 q1, [r3], #16
    vaddva.s8 r2, q1
    vldrb.8 q2, [r5], #16
    vaddva.s8 r4, q2
    vldrb.8 q3, [r7], #16
    vaddva.s8 r6, q3
    letp    lr, 2b
    strd    r0, r2, [r11], #16
    mov     r1, r12
    strd    r4, r6, [r11, #-8]
    cmp     r11, r8
    bne     1b
    pop     {r4-r11, pc}
    .size   nuc_mve_sum_fours, . - nuc_mve_sum_fours

    function nuc_mve_sum_windows
    push    {r4-r10, lr}
    ldm     r0, {r1, r3-r8}             /* at, weights, sums, count, step, channel, channels */
1:
    vldrb.8 q0, [r3]
    mov     r9, r1
    mov     r10, r4
    lsrs    lr, r5, #1
    wls     lr, lr, 3f
2:
    vldrb.8 q1, [r9]
    add     r9, r6
    vmladav.s8 r0, q0, q1
    vldrb.8 q2, [r9]
    add     r9, r6
    vmladav.s8 r2, q0, q2
    str     r0, [r10], #16
    str     r2, [r10], #16
    le      lr, 2b
3:
    lsls    r0, r5, #31
    beq     4f
    vldrb.8 q1, [r9]
    vmladav.s8 r0, q0, q1
    str     r0, [r10]
4:
    add     r1, r7
    adds    r3, #64
    adds    r4, #4
    subs    r8, #1
    bne     1b
    pop     {r4-r10, pc}
    .size   nuc_mve_sum_windows, . - nuc_mve_sum_windows

#endif
