/*
 * The program file as it is: read in place, aligned to 16. With delegates it lies in memory that the NPU can read: on the
 * board of this project all is, elsewhere -DPROGRAM_SECTION=... names a section that start-up code copies to SRAM.
 */
#ifndef PROGRAM_SECTION
#define PROGRAM_SECTION .program
#endif
    .section PROGRAM_SECTION, "a", %progbits
    .balign 16
    .global program_start, program_end
program_start:
    .incbin PROGRAM
program_end:
