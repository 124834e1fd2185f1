/* Runs the program on the samples of the host and compares all bytes of the outputs with the host's. */
#include <string.h>

#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "model.h"
#if MODEL_DELEGATES > 0
#include "nucleon/runtime.h"
#endif

static const uint8_t samples[] = {
#include "samples.bin.inc"
};
static const uint8_t expected[] = {
#include "expected.bin.inc"
};

static int failed(const char *what, const struct nuc_detail *detail)
{
    printk("FAIL: %s: %s\n", what, detail->message != NULL ? detail->message : "no message");
    return 1;
}

int main(void)
{
    struct nuc_detail detail = {.message = "the driver does not start"};
    const size_t count = sizeof samples / MODEL_INPUT0_BYTES;
    uint32_t cycles = 0;

#if MODEL_DELEGATES > 0
    if (NUC_NPU_START() != NUC_OK)
        return failed("NPU", &detail);
#endif
    if (model_load(&detail) != NUC_OK)
        return failed("load", &detail);
    for (size_t i = 0; i < count; i++) {
        memcpy(model_input0(), samples + i * MODEL_INPUT0_BYTES, MODEL_INPUT0_BYTES);
        uint32_t start = k_cycle_get_32();
        if (model_run(&detail) != NUC_OK)
            return failed("run", &detail);
        cycles += k_cycle_get_32() - start;
        if (memcmp(model_output0(), expected + i * MODEL_OUTPUT0_BYTES, MODEL_OUTPUT0_BYTES) != 0) {
            printk("FAIL: sample %u has other outputs than on the host\n", (unsigned int)i);
            return 1;
        }
    }
    printk("%u us an inference\n", (unsigned int)(k_cyc_to_us_floor32(cycles) / count));
    printk("PASS: %u samples have the host's bytes\n", (unsigned int)count);
    return 0;
}
