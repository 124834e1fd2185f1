/*
 * Runs the program on samples and says what an inference takes. In QEMU (run.sh) the samples come from a file of the
 * host and the outputs go to one: main [SAMPLES [OUTPUT]], per sample all inputs, or outputs, one after the other.
 * Without files there is one sample of zeros.
 */
#include <string.h>

#include "inference.h"
#include "port/port.h"
#include "port/print.h"

static int failed(const char *what, enum nuc_status status, const struct nuc_detail *d)
{
    nuc_port_print(what);
    nuc_port_print(": ");
    nuc_port_print(d->message != NULL ? d->message : nuc_status_name(status));
    if (d->argument != NULL) {
        nuc_port_print(": ");
        nuc_port_print(d->argument);
    }
    nuc_port_print("\n");
    return 1;
}

/* The next sample, from its sensor in a firmware; 1: there is none, -1: the file ends inside of it. */
static int read_inputs(int file)
{
    for (size_t i = 0; i < N_INPUTS; i++) {
        struct tensor t = inference_input(i);
        size_t n = nuc_port_read(file, t.data, t.bytes);
        if (n != t.bytes)
            return i == 0 && n == 0 ? 1 : -1;
    }
    return 0;
}

static int write_outputs(int file)
{
    for (size_t i = 0; i < N_OUTPUTS; i++) {
        struct tensor t = inference_output(i);
        if (nuc_port_write(file, t.data, t.bytes) != 0)
            return -1;
    }
    return 0;
}

/* One inference; its instructions, where the board counts them. */
static enum nuc_status run(uint32_t *instructions, struct nuc_detail *detail)
{
    uint32_t start = nuc_port_instructions();
    enum nuc_status status = inference_run(detail);

    *instructions = nuc_port_instructions() - start;
    return status;
}

static int run_samples(int in, int out)
{
    struct nuc_detail detail = {.message = NULL};
    uint32_t instructions, count = 0;
    int more = in < 0 ? 0 : read_inputs(in);

    while (more == 0) {
        enum nuc_status status = run(&instructions, &detail);
        if (status != NUC_OK)
            return failed("run", status, &detail);
        if (count++ == 0)
            nuc_print_line("instructions of an inference: ", instructions, "\n");
        if (out >= 0 && write_outputs(out) != 0)
            return failed("write", NUC_IO, &detail);
#ifdef @UPPER@_FOUND
        nuc_print_found(count - 1, inference_decide());
#endif
        nuc_port_wait();
        more = in < 0 ? 1 : read_inputs(in);
    }
    nuc_print_line("samples: ", count, "\n");
    detail.message = "the file holds no whole number of samples";
    return more < 0 || count == 0 ? failed("read", NUC_BAD_INPUT, &detail) : 0;
}

int nuc_firmware_main(void)
{
    const char *words[3] = {NULL, NULL, NULL};
    struct nuc_detail detail = {.message = NULL};
    size_t n_words = nuc_port_arguments(words, 3);
    int in = n_words > 1 ? nuc_port_open(words[1], 0) : -1;
    int out = n_words > 2 ? nuc_port_open(words[2], 1) : -1;
    enum nuc_status status = inference_load(&detail);

    if (status != NUC_OK)
        return failed("load", status, &detail);
    if ((n_words > 1 && in < 0) || (n_words > 2 && out < 0))
        return failed("open", NUC_IO, &detail);
    for (size_t i = 0; i < N_INPUTS; i++)
        memset(inference_input(i).data, 0, inference_input(i).bytes);
    int code = run_samples(in, out);
    if (out >= 0)
        nuc_port_close(out);
    return code;
}
