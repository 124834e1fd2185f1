/*
 * Two streams of one program as generated C, which take turns with the samples of a file; their states are read from
 * the file states.bin when it is there and written to it at the end.
 *
 *     power_loss SAMPLES OUTPUTS
 */
#include "model.h"
#include "port/port.h"

#if MODEL_DELEGATES > 0
#include "nucleon/NeutronDriver.h"
#endif

static struct model_states streams[2];

static int run(int in, int out, struct nuc_detail *detail)
{
    for (size_t i = 0; nuc_port_read(in, model_input0(), MODEL_INPUT0_BYTES) == MODEL_INPUT0_BYTES; i++) {
        model_restore(&streams[i % 2]);
        if (model_run(detail) != NUC_OK || nuc_port_write(out, model_output0(), MODEL_OUTPUT0_BYTES) != 0)
            return 1;
        model_save(&streams[i % 2]);
    }
    return 0;
}

int nuc_firmware_main(void)
{
    const char *words[3] = {NULL, NULL, NULL};
    struct nuc_detail detail = {.message = NULL};

#if MODEL_DELEGATES > 0
    if (neutronInit() != ENONE)
        return 1;
#endif
    if (nuc_port_arguments(words, 3) != 3 || model_load(&detail) != NUC_OK)
        return 1;
    int in = nuc_port_open(words[1], 0), out = nuc_port_open(words[2], 1), stored = nuc_port_open("states.bin", 0);
    model_save(&streams[0]);
    model_save(&streams[1]);
    if (stored >= 0 && nuc_port_read(stored, streams, sizeof streams) != sizeof streams)
        return 1;
    if (stored >= 0)
        nuc_port_close(stored);
    int code = run(in, out, &detail);
    stored = nuc_port_open("states.bin", 1);
    if (stored < 0 || nuc_port_write(stored, streams, sizeof streams) != 0)
        return 1;
    nuc_port_close(stored);
    nuc_port_close(out);
    nuc_port_close(in);
    return code;
}
