#include "cli/quantize_options.h"

#include <string.h>

void cli_quantize_options(struct cli_quantize_flags *flags, struct cli_option rows[CLI_QUANTIZE_ROWS])
{
    static const char *const observers[] = {"histogram", "minmax", "mse", "percentile", "moving-average", NULL};
    static const char *const weights[] = {"per-channel", "per-tensor", NULL};
    const struct cli_option table[] = {
        {"--calibration", NULL, CLI_STRING, &flags->calibration, "DATA",
         "samples for quantization: .npz, .npy, a folder of .npy or of images; not for a quantized model", NULL},
        {"--reference-compat", NULL, CLI_FLAG, &flags->reference_compat, NULL,
         "reproduce the reference backend's decisions where nucleon would do better", NULL},
        {"--observer", NULL, CLI_CHOICE, &flags->observer, "NAME",
         "ranges of activations: histogram (default), minmax, mse, percentile, moving-average", observers},
        {"--weights", NULL, CLI_CHOICE, &flags->weights, "per-channel|per-tensor",
         "scales of convolution weights (default per-channel)", weights},
        {"--equalize", NULL, CLI_FLAG, &flags->equalize, NULL,
         "even out the ranges of weight channels across layers first", NULL},
        {"--bias-correction", NULL, CLI_FLAG, &flags->bias_correction, NULL,
         "take the mean error of rounded weights off the biases; by default where calibration samples gain by it",
         NULL},
        {"--no-bias-correction", NULL, CLI_FLAG, &flags->no_bias_correction, NULL, "leave biases as they are", NULL},
        {"--threads", NULL, CLI_NUMBER, &flags->threads, "N", "threads of the calibration (default: one a core)", NULL},
    };
    const size_t count = sizeof table / sizeof table[0];
    _Static_assert(sizeof table / sizeof table[0] + CLI_IMAGE_ROWS <= CLI_QUANTIZE_ROWS,
                   "more rows than the callers provide");

    memcpy(rows, table, sizeof table);
    cli_image_options(&flags->images, rows + count);
}

int cli_quantize_check(const char *command, const struct cli_quantize_flags *flags)
{
    if (flags->bias_correction && flags->no_bias_correction)
        return cli_usage("%s: --bias-correction and --no-bias-correction exclude each other", command);
    return CLI_OK;
}

void cli_quantize_apply(const struct cli_quantize_flags *flags, struct nuc_options *options)
{
    static const enum nuc_observe observers[] = {NUC_OBSERVE_HISTOGRAM, NUC_OBSERVE_MIN_MAX, NUC_OBSERVE_MSE,
                                                 NUC_OBSERVE_PERCENTILE, NUC_OBSERVE_MOVING_AVERAGE};

    options->reference_compat = flags->reference_compat;
    options->observer = observers[flags->observer];
    options->weights = flags->weights == 0 ? NUC_WEIGHTS_PER_CHANNEL : NUC_WEIGHTS_PER_TENSOR;
    options->equalize = flags->equalize;
    if (flags->no_bias_correction)
        options->bias_correction = NUC_BIAS_CORRECTION_OFF;
    else if (flags->bias_correction)
        options->bias_correction = NUC_BIAS_CORRECTION_ON;
    options->threads = flags->threads;
    cli_image_apply(&flags->images, options);
}
