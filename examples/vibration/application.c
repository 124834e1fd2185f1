/*
 * Watches a machine: features in, a score and perhaps an alarm out, with the program as generated C (model.h) and the
 * threshold that the program gets on sound machines (example.h, printed by measure.py).
 *
 *     application FEATURES [SCORES]
 *
 * FEATURES: float32, recordings back to back. SCORES gets a float32 for each. Prints how many raise an alarm.
 */
#include <string.h>

#include "../application.h"
#include "example.h"

#define FEATURES (MODEL_INPUT0_BYTES / sizeof(float))

_Static_assert(MODEL_INPUT0_BYTES == MODEL_OUTPUT0_BYTES, "an autoencoder gives what it takes");

/* Mean square of what the program does not reproduce, or a negative number when it fails. */
static float anomaly(const float *features, struct nuc_detail *detail)
{
    float sum = 0.0F;

    memcpy(model_input0(), features, MODEL_INPUT0_BYTES);
    if (model_run(detail) != NUC_OK)
        return -1.0F;
    const float *back = model_output0();
    for (size_t i = 0; i < FEATURES; i++) {
        float difference = features[i] - back[i];
        sum += difference * difference;
    }
    return sum / (float)FEATURES;
}

static int watch(int in, int out)
{
    static float features[FEATURES];
    struct nuc_detail detail = {.message = NULL};
    int64_t count = 0;
    int64_t alarms = 0;

    while (nuc_port_read(in, features, sizeof features) == sizeof features) {
        uint32_t start = nuc_port_instructions();
        float score = anomaly(features, &detail);
        if (count++ == 0)
            nuc_print_line("execution instructions ", (int64_t)(nuc_port_instructions() - start), "\n");
        if (score < 0.0F)
            return failed(&detail);
        if (score > ANOMALY_THRESHOLD)
            alarms++;
        nuc_port_wait();
        if (out >= 0 && nuc_port_write(out, &score, sizeof score) != 0)
            return 1;
    }
    nuc_print_line("alarms ", alarms, "");
    nuc_print_line(" of ", count, "\n");
    return 0;
}
