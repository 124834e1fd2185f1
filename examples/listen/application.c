/*
 * A microphone's samples in, keywords out, with the program, its front end and its decision as generated C (model.h).
 *
 *     application SAMPLES [OUTPUTS]
 *
 * SAMPLES: int16, 8,000 a second. OUTPUTS gets the network's output of each step. Prints each keyword when it is
 * noticed.
 */
#include "../application.h"

#define RATE 8000

static const char *const names[] = MODEL_OUTPUT0_CLASS_NAMES;

static int watch(int in, int out)
{
    static int16_t block[RATE / 100]; /* 10 ms, as a microphone's DMA leaves them */
    int64_t heard = 0, steps = 0, events = 0;
    size_t bytes;

    while ((bytes = nuc_port_read(in, block, sizeof block)) > 0) {
        const int16_t *samples = block;
        size_t count = bytes / sizeof *block;
        uint32_t begin = nuc_port_instructions();
        heard += (int64_t)count;
        while (model_push(&samples, &count)) {
            const struct nuc_decider *d = model_decide();
            if (d == NULL)
                return failed(&(struct nuc_detail){.message = "an inference fails"});
            if (steps++ == 0)
                nuc_print_line("execution instructions ", (int64_t)(nuc_port_instructions() - begin), "\n");
            if (d->is_new && d->n_found > 0) {
                nuc_print_line("after ", heard * 1000 / RATE, " ms: ");
                nuc_port_print(names[d->found[0].label]);
                nuc_print_line(", ", (int64_t)(100 * d->found[0].score), " %\n");
                events++;
            }
            if (out >= 0 && nuc_port_write(out, model_output0(), MODEL_OUTPUT0_BYTES) != 0)
                return 1;
        }
        nuc_port_wait();
    }
    nuc_print_line("events ", events, "");
    nuc_print_line(" in ", steps, " steps\n");
    return 0;
}
