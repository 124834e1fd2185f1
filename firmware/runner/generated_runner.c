/*
 * Runs generated code (nucleon codegen --name model) on samples and prints what it cost:
 *
 *     runner [INPUT [OUTPUT]]
 *
 * INPUT: samples of input 0 back to back in the order of its memory, without a header; without it one of zeros. OUTPUT
 * gets output 0 of each sample.
 */
#include <string.h>

#include "model.h"
#include "port/port.h"
#include "port/print.h"

#if MODEL_DELEGATES > 0
#include "nucleon/runtime.h"
#endif

static int failed(const struct nuc_detail *d)
{
    nuc_port_print("runner: ");
    nuc_port_print(d->message != NULL ? d->message : "fails");
    nuc_port_print("\n");
    return 1;
}

static int run_samples(int in, int out)
{
    struct nuc_detail detail;
    uint32_t count = 0;
    size_t n = in < 0 ? MODEL_INPUT0_BYTES : nuc_port_read(in, model_input0(), MODEL_INPUT0_BYTES);
    bool more = n == MODEL_INPUT0_BYTES;

    if (n >= 6 && memcmp(model_input0(), "\x93NUMPY", 6) == 0) {
        nuc_port_print("runner: the input is an .npy file: this image takes its elements alone\n");
        return 1;
    }
    while (more) {
        uint32_t start = nuc_port_instructions();
        if (model_run(&detail) != NUC_OK)
            return failed(&detail);
        if (count++ == 0)
            nuc_print_line("execution instructions ", (int64_t)(nuc_port_instructions() - start), "\n");
        if (out >= 0 && nuc_port_write(out, model_output0(), MODEL_OUTPUT0_BYTES) != 0)
            return 1;
#ifdef MODEL_FOUND
        nuc_print_found(count - 1, model_decide());
#endif
        nuc_port_wait();
        n = in < 0 ? 0 : nuc_port_read(in, model_input0(), MODEL_INPUT0_BYTES);
        more = in >= 0 && n == MODEL_INPUT0_BYTES;
    }
    nuc_print_line("samples ", (int64_t)count, "\n");
    if (in < 0 || (n == 0 && count != 0))
        return 0;
    nuc_print_line("runner: the input is no whole number of samples of ", MODEL_INPUT0_BYTES, " bytes\n");
    return 1;
}

int nuc_firmware_main(void)
{
    const char *words[3] = {NULL, NULL, NULL};
    struct nuc_detail detail = {.message = "the NPU's driver does not start"};
    size_t n_words = nuc_port_arguments(words, 3);
    int in = n_words > 1 ? nuc_port_open(words[1], 0) : -1;
    int out = n_words > 2 ? nuc_port_open(words[2], 1) : -1;

    if ((n_words > 1 && in < 0) || (n_words > 2 && out < 0)) {
        nuc_port_print("runner: a file cannot be opened\n");
        return 1;
    }
#if MODEL_DELEGATES > 0
    if (NUC_NPU_START() != NUC_OK)
        return failed(&detail);
#endif
    if (model_load(&detail) != NUC_OK)
        return failed(&detail);
    memset(model_input0(), 0, MODEL_INPUT0_BYTES);
    int code = run_samples(in, out);
    if (in >= 0)
        nuc_port_close(in);
    if (out >= 0)
        nuc_port_close(out);
    return code;
}
