/*
 * Watches a machine: samples of an accelerometer in, alarms out, with the program, its front end and its decision as
 * generated C (model.h).
 *
 *     application SAMPLES [OUTPUTS]
 *
 * SAMPLES: int16 as they come. OUTPUTS gets the network's output of each second. Prints how many raise an alarm.
 */
#include "../application.h"

static int watch(int in, int out)
{
    static int16_t samples[500]; /* what a sensor's buffer holds, no part of a second */
    struct nuc_detail detail = {.message = NULL};
    int64_t count = 0, alarms = 0;
    size_t bytes;

    while ((bytes = nuc_port_read(in, samples, sizeof samples)) > 0) {
        const int16_t *at = samples;
        size_t left = bytes / sizeof *samples;
        uint32_t begin = nuc_port_instructions();
        while (model_push(&at, &left)) {
            const struct nuc_decider *d = model_decide();
            if (d == NULL)
                return failed(&detail);
            if (count++ == 0)
                nuc_print_line("execution instructions ", (int64_t)(nuc_port_instructions() - begin), "\n");
            alarms += d->found[0].label;
            if (out >= 0 && nuc_port_write(out, model_output0(), MODEL_OUTPUT0_BYTES) != 0)
                return 1;
        }
        nuc_port_wait();
    }
    nuc_print_line("alarms ", alarms, "");
    nuc_print_line(" of ", count, "\n");
    return 0;
}
