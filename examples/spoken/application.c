/*
 * A microphone's samples in, digits out, with the program, its front end and its decision as generated C (model.h).
 *
 *     application SAMPLES [OUTPUTS]
 *
 * SAMPLES: int16, 8,000 a second, a digit in each second. OUTPUTS gets the network's output of each. Prints the first
 * digits.
 */
#include "../application.h"

#define SHOWN 10

static const char *const names[] = MODEL_OUTPUT0_CLASS_NAMES;

static void print_digit(const struct nuc_decider *d)
{
    nuc_port_print(d->n_found > 0 ? names[d->found[0].label] : "none of them");
    nuc_print_line(", ", d->n_found > 0 ? (int64_t)(100 * d->found[0].score) : 0, " %\n");
}

static int watch(int in, int out)
{
    static int16_t block[80]; /* 10 ms, as a microphone's DMA leaves them */
    int64_t seconds = 0;
    size_t bytes;

    while ((bytes = nuc_port_read(in, block, sizeof block)) > 0) {
        const int16_t *samples = block;
        size_t count = bytes / sizeof *block;
        uint32_t begin = nuc_port_instructions();
        while (model_push(&samples, &count)) {
            const struct nuc_decider *d = model_decide();
            if (d == NULL)
                return failed(&(struct nuc_detail){.message = "an inference fails"});
            if (seconds == 0)
                nuc_print_line("execution instructions ", (int64_t)(nuc_port_instructions() - begin), "\n");
            if (seconds++ < SHOWN)
                print_digit(d);
            if (out >= 0 && nuc_port_write(out, model_output0(), MODEL_OUTPUT0_BYTES) != 0)
                return 1;
        }
        nuc_port_wait();
    }
    return 0;
}
