/*
 * Runs the program on samples and says what an inference takes. In QEMU (run.sh) the samples come from a file of the
 * host and the outputs go to one: main [SAMPLES [OUTPUT [PACKAGE SAMPLES OUTPUT]...]], per sample all inputs, or
 * outputs, one after the other. Without files there is one sample of zeros. A package takes the place of the program;
 * one that is refused leaves it there.
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
    if (d->where != NULL) {
        nuc_port_print(", at ");
        nuc_port_print(d->where);
    }
    if (d->missing > 0)
        nuc_print_line(", ", (int64_t)d->missing, " bytes are missing");
    nuc_port_print("\n");
    return 1;
}

/* The next sample, from its sensor in a firmware; 1: there is none, -1: the file ends inside of it. */
static int read_inputs(int file)
{
    for (size_t i = 0; i < inference_inputs(); i++) {
        struct tensor t = inference_input(i);
        size_t n = nuc_port_read(file, t.data, t.bytes);
        if (n != t.bytes)
            return i == 0 && n == 0 ? 1 : -1;
    }
    return 0;
}

static int write_outputs(int file)
{
    for (size_t i = 0; i < inference_outputs(); i++) {
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

/* Loads the program that is to run; a newer one that was passed over is said. */
static int load(void)
{
    struct nuc_detail detail = {.message = NULL};
    enum nuc_status status = inference_load(&detail);

    if (status != NUC_OK)
        return failed("load", status, &detail);
    if (detail.message != NULL)
        failed("passed over", status, &detail);
    for (size_t i = 0; i < inference_inputs(); i++)
        memset(inference_input(i).data, 0, inference_input(i).bytes);
    return 0;
}

/* A package as it comes over a wire: in pieces. */
static int update(const char *path)
{
    static uint8_t piece[300];
    struct nuc_detail detail = {.message = NULL};
    int file = nuc_port_open(path, 0);
    enum nuc_status status = file < 0 ? NUC_IO : inference_update_begin(&detail);

    for (size_t n = sizeof piece; status == NUC_OK && n == sizeof piece;) {
        n = nuc_port_read(file, piece, sizeof piece);
        status = inference_update_write(piece, n, &detail);
    }
    if (status == NUC_OK)
        status = inference_update_finish(&detail);
    if (file >= 0)
        nuc_port_close(file);
    if (status != NUC_OK)
        failed("update refused", status, &detail);
    int code = load();
    if (code == 0)
        nuc_print_line("program: version ", inference_version(), "\n");
    return code;
}

static int run_files(const char *samples, const char *output)
{
    struct nuc_detail detail = {.message = NULL};
    int in = samples != NULL ? nuc_port_open(samples, 0) : -1;
    int out = output != NULL ? nuc_port_open(output, 1) : -1;

    if ((samples != NULL && in < 0) || (output != NULL && out < 0))
        return failed("open", NUC_IO, &detail);
    int code = run_samples(in, out);
    if (in >= 0)
        nuc_port_close(in);
    if (out >= 0)
        nuc_port_close(out);
    return code;
}

int nuc_firmware_main(void)
{
    const char *words[32] = {NULL};
    size_t n_words = nuc_port_arguments(words, 32);
    int code = load();

    if (code == 0)
        code = run_files(words[1], words[2]);
    for (size_t i = 3; i + 2 < n_words && code == 0; i += 3) {
        code = update(words[i]);
        if (code == 0)
            code = run_files(words[i + 1], words[i + 2]);
    }
    return code;
}
