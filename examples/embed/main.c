/* Runs the program of embed.c on the host: samples from standard input, one after the other, outputs to standard
 * output.
 */
#include <stdio.h>

#include "embed.h"

static int failed(const struct nuc_detail *detail)
{
    fprintf(stderr, "embed: %s%s%s\n", detail->message != NULL ? detail->message : "no output",
            detail->argument != NULL ? ": " : "", detail->argument != NULL ? detail->argument : "");
    return 1;
}

int main(void)
{
    static _Alignas(16) unsigned char input[1 << 20];
    struct nuc_detail detail = {.message = NULL};
    const void *output;

    if (NUC_NPU_START() != NUC_OK)
        detail.message = "the NPU's driver does not start";
    if (detail.message != NULL || embed_load(&detail) != NUC_OK)
        return failed(&detail);
    size_t wanted = embed_input_bytes();
    while (wanted <= sizeof input && fread(input, 1, wanted, stdin) == wanted) {
        size_t bytes = embed_run(input, wanted, &output, &detail);
        if (bytes == 0)
            return failed(&detail);
        if (fwrite(output, 1, bytes, stdout) != bytes)
            return 1;
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
