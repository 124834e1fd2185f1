/* Constant channels of every kind of layer on the NPU and the CPU: other constants in the program, the same results. */
#include "quantized_text.h"

#include <math.h>

#include "driver/driver.h"
#include "driver/stages.h"
#include "nucleon/runner.h"

/* Every second channel has a bias that drowns its products: the result is clamped to 127. */
#define DROWNED 1073741809
#define BIAS(count) "%b = buffer : int32[" #count "] values(100, 1073741809) ! 0.000625\n"
#define WEIGHT(shape) "%w = buffer : int8" shape " values(1, -2, 3, 4, -5, 60, -7) ! 0.01\n"
#define INPUT(shape) "%x = input : float32" shape " ! 0.0625, -3\n"
#define RESULT " ! 0.125, 5\n"
#define STEP 0.125f
#define SCALES                                                                                                         \
    "%s = buffer : float32[4] values(0.01, 0.00000001); %z = buffer : int64[4] values(0)\n"                            \
    "%t = buffer : float32[4] values(0.000625, 0.000000000625)\n"
#define PER_CHANNEL                                                                                                    \
    "%dw = quantized_decomposed.dequantize_per_channel.default(%w, %s, %z, 0, -127, 127, int8)\n"                      \
    "%db = quantized_decomposed.dequantize_per_channel.default(%b, %t, %z, 0, -2147483648, 2147483647, int32)\n"

struct layer {
    const char *what, *lines;
};

static const struct layer layers[] = {
    {"convolution", WEIGHT("[4, 3, 3, 3]") BIAS(4)
                        INPUT("[1, 3, 6, 6]") "%y = aten.conv2d.default(%dx, %dw, %db, [1, 1], [1, 1])" RESULT},
    {"convolution with a scale for each channel, clamped",
     "%w = buffer : int8[4, 3, 3, 3] values(1, -2, 3, 4, -5, 60, -7)\n"
     "%b = buffer : int32[4] values(100, 1073741809)\n" SCALES INPUT("[1, 3, 6, 6]") PER_CHANNEL
     "%c = aten.conv2d.default(%dx, %dw, %db); %y = aten.relu.default(%c)" RESULT},
    {"depthwise convolution",
     WEIGHT("[8, 1, 3, 3]") BIAS(8)
         INPUT("[1, 8, 6, 6]") "%y = aten.conv2d.default(%dx, %dw, %db, [1, 1], [1, 1], [1, 1], 8)" RESULT},
    {"groups", WEIGHT("[8, 4, 1, 1]") BIAS(8)
                   INPUT("[1, 8, 6, 6]") "%y = aten.conv2d.default(%dx, %dw, %db, [1, 1], [0, 0], [1, 1], 2)" RESULT},
    {"transposed convolution", WEIGHT("[3, 4, 2, 2]") BIAS(4) INPUT(
                                   "[1, 3, 5, 5]") "%y = aten.conv_transpose2d.input(%dx, %dw, %db, [2, 2])" RESULT},
    {"linear layer", WEIGHT("[4, 16]") BIAS(4) INPUT("[3, 16]") "%y = aten.linear.default(%dx, %dw, %db)" RESULT},
};

/* The NPU has none. The reference computes the transposed one in float and rounds once, so that its results may be a
 * step off.
 */
static const struct layer cpu_layers[] = {
    {"linear layer with a scale for each output",
     "%w = buffer : int8[4, 16] values(1, -2, 3, 4, -5, 60, -7)\n"
     "%b = buffer : int32[4] values(100, 1073741809)\n" SCALES INPUT("[3, 16]") PER_CHANNEL
     "%y = aten.linear.default(%dx, %dw, %db)" RESULT},
    /* The first channel of the second group alone: its weights lie between those of the first group's. */
    {"transposed convolution of groups",
     WEIGHT("[4, 2, 2, 2]") "%b = buffer : int32[4] values(100, 200, 1073741809, 300) ! 0.000625\n" INPUT(
         "[1, 4, 5, 5]") "%y = aten.conv_transpose2d.input(%dx, %dw, %db, [2, 2], [0, 0], [0, 0], 2)" RESULT},
};

struct flow {
    const struct layer *layer;
    struct nuc_compiler *c;
    const uint8_t *program;
    size_t size;
    float result[1024];
    size_t count;
};

static bool holds_drowned(const struct flow *f)
{
    const int32_t bias = DROWNED;

    for (size_t i = 0; i + 4 <= f->size; i++) {
        if (memcmp(f->program + i, &bias, 4) == 0)
            return true;
    }
    return false;
}

static void compile_and_run(struct nuc_context *cx, void *arg)
{
    struct flow *f = arg;
    struct nuc_model *m = nuc_model_make(f->c, parse_quantized(cx, f->layer->lines));
    struct nuc_model *lowered = nuc_advance(m, NUC_STAGE_DIM_ORDER, NUC_STAGE_LOWER);
    struct nuc_runner *r;
    struct nuc_tensor_info in, out;
    float x[1024];

    if (nuc_program(lowered, &f->program, &f->size) != NUC_OK ||
        nuc_runner_open_bytes(f->c, "program", f->program, f->size, NULL, &r) != NUC_OK)
        nuc_fail_again(cx, cx->status);
    assert_int_equal(nuc_runner_input(r, 0, &in), NUC_OK);
    assert_int_equal(nuc_runner_output(r, 0, &out), NUC_OK);
    assert_true(in.bytes <= sizeof x && out.bytes <= sizeof f->result);
    for (size_t i = 0; i < in.bytes / sizeof x[0]; i++)
        x[i] = (float)(i * 71 % 256) * 0.0625f - 8.0f;
    assert_int_equal(nuc_runner_run(r, (const void *[]){x}, (void *[]){f->result}), NUC_OK);
    f->count = out.bytes / sizeof f->result[0];
    nuc_runner_close(r);
}

static void run(struct flow *f, const char *target, bool compat)
{
    struct nuc_options o;

    nuc_options_default(&o);
    o.target = target;
    o.reference_compat = compat;
    o.threads = 1;
    f->c = nuc_compiler_new(&o, NULL);
    assert_non_null(f->c);
    if (nuc_try(f->c->cx, compile_and_run, f) != NUC_OK)
        fail_msg("%s for %s: %s", f->layer->what, target, nuc_compiler_message(f->c));
    /* Programs for the Cortex-M55 hold the sums of linear layers instead. */
    if (holds_drowned(f) != compat && (!compat || strcmp(target, "cortex-m55") != 0))
        fail_msg("%s for %s: the bias is %s", f->layer->what, target, compat ? "lost" : "still there");
    nuc_compiler_free(f->c);
}

/* `step`: by how much results may differ. */
static void check(const struct layer *layer, const char *target, float step)
{
    struct flow plain = {.layer = layer}, folded = {.layer = layer};

    run(&plain, target, true);
    run(&folded, target, false);
    assert_int_equal(plain.count, folded.count);
    for (size_t i = 0; i < plain.count; i++) {
        if (fabsf(plain.result[i] - folded.result[i]) > step)
            fail_msg("%s for %s: result %zu is %g, was %g", layer->what, target, i, (double)folded.result[i],
                     (double)plain.result[i]);
    }
}

static void same_results(void **state)
{
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        check(&layers[i], "imxrt700", 0);
        check(&layers[i], "cortex-m33", 0);
        check(&layers[i], "cortex-m55", 0);
    }
    for (size_t i = 0; i < sizeof cpu_layers / sizeof cpu_layers[0]; i++) {
        check(&cpu_layers[i], "cortex-m33", STEP);
        check(&cpu_layers[i], "cortex-m55", STEP);
    }
}

RUN_TESTS(cmocka_unit_test(same_results))
