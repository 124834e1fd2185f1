/*
 * The program file as it is: read in place, aligned to 16. With delegates it lies in memory that the NPU can read
 * (docs/firmware.md of nucleon).
 */
    .section .program, "a", %progbits
    .balign 16
    .global program_start, program_end
program_start:
    .incbin PROGRAM
program_end:
