/*
 * What the applications of examples share: the program as generated C (model.h) is started, two files of the host are
 * opened, and watch() runs the samples of one and writes to the other.
 *
 *     application INPUT [OUTPUT]
 */
#ifndef EXAMPLES_APPLICATION_H
#define EXAMPLES_APPLICATION_H

#include "model.h"
#include "port/port.h"
#include "port/print.h"

#if MODEL_DELEGATES > 0
#include "nucleon/runtime.h"
#endif

/* Samples from `in` until it ends; `out` is below 0 where nothing is to be written. Returns the exit code. */
static int watch(int in, int out);

static int failed(const struct nuc_detail *detail)
{
    nuc_port_print(detail->message != NULL ? detail->message : "the program fails");
    return 1;
}

/* The NPU's driver, when the program has parts for it, and these parts. */
static bool start(struct nuc_detail *detail)
{
#if MODEL_DELEGATES > 0
    if (NUC_NPU_START() != NUC_OK)
        return false;
#endif
    return model_load(detail) == NUC_OK;
}

int nuc_firmware_main(void)
{
    const char *words[3] = {NULL, NULL, NULL};
    struct nuc_detail detail = {.message = "the NPU's driver does not start"};
    size_t n_words = nuc_port_arguments(words, 3);
    int in = n_words > 1 ? nuc_port_open(words[1], 0) : -1;
    int out = n_words > 2 ? nuc_port_open(words[2], 1) : -1;

    if (in < 0 || (n_words > 2 && out < 0)) {
        nuc_port_print("application: a file cannot be opened\n");
        return 1;
    }
    if (!start(&detail))
        return failed(&detail);
    int code = watch(in, out);
    if (out >= 0)
        nuc_port_close(out);
    nuc_port_close(in);
    return code;
}

#endif
