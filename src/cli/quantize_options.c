#include "cli/quantize_options.h"

#include <string.h>

void cli_quantize_options(struct cli_quantize_flags *flags, struct cli_option rows[CLI_QUANTIZE_ROWS])
{
    const struct cli_option table[] = {
        {"--calibration", NULL, CLI_STRING, &flags->calibration, "DATA",
         "samples for quantization: .npz, .npy, a folder of .npy or of images; not for a quantized model", NULL},
        {"--reference-compat", NULL, CLI_FLAG, &flags->reference_compat, NULL,
         "reproduce the reference backend's decisions where nucleon would do better", NULL},
        {"--threads", NULL, CLI_NUMBER, &flags->threads, "N", "threads of the calibration (default: one a core)", NULL},
    };
    const size_t count = sizeof table / sizeof table[0];
    _Static_assert(sizeof table / sizeof table[0] + CLI_IMAGE_ROWS <= CLI_QUANTIZE_ROWS,
                   "more rows than the callers provide");

    memcpy(rows, table, sizeof table);
    cli_image_options(&flags->images, rows + count);
}

void cli_quantize_apply(const struct cli_quantize_flags *flags, struct nuc_options *options)
{
    options->reference_compat = flags->reference_compat;
    options->threads = flags->threads;
    cli_image_apply(&flags->images, options);
}
