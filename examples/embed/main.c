/* Runs the program of embed.c on the host: reads the input from standard input, writes the output to standard output.
 */
#include <stdio.h>

#include "nucleon/NeutronDriver.h"
#include "nucleon/kernels.h"

size_t embed_run(const void *input, size_t input_bytes, const void **output, struct nuc_detail *detail);

int main(void)
{
    static _Alignas(16) unsigned char input[1 << 20];
    struct nuc_detail detail = {.message = NULL};
    const void *output;
    size_t bytes = fread(input, 1, sizeof input, stdin);

    neutronInit();
    bytes = embed_run(input, bytes, &output, &detail);
    if (bytes == 0)
        fprintf(stderr, "embed: %s\n", detail.message != NULL ? detail.message : "no output");
    return bytes != 0 && fwrite(output, 1, bytes, stdout) == bytes ? 0 : 1;
}
