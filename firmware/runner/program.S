/* The program and, when there is one, its input, as they lie in the files. */
    .section .program, "a", %progbits
    .balign 32 /* of a bundled program */
    .global nuc_image, nuc_image_end, nuc_input, nuc_input_end
nuc_image:
    .incbin NUC_PROGRAM
nuc_image_end:
    .balign 16
nuc_input:
#ifdef NUC_INPUT
    .incbin NUC_INPUT
#endif
nuc_input_end:
