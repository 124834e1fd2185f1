/* The program as data: MODEL is the path of the .pte. */
    .section .rodata.model, "a"
    .balign 16
    .global model_start, model_end
model_start:
    .incbin MODEL
model_end:
    .section .note.GNU-stack, "", %progbits
