#include "cli/image_options.h"

#include <string.h>

/* In the order of enum nuc_resize. */
static const char *const resizes[] = {"none", "stretch", "crop", NULL};

void cli_image_options(struct cli_image_flags *flags, struct cli_option rows[CLI_IMAGE_ROWS])
{
    const struct cli_option table[CLI_IMAGE_ROWS] = {
        {"--mean", NULL, CLI_FLOATS, &flags->mean, "R,G,B",
         "images: taken from pixel / 255 (default 0; one number: for all channels)", NULL},
        {"--std", NULL, CLI_FLOATS, &flags->std, "R,G,B", "images: what that is divided by (default 1)", NULL},
        {"--resize", NULL, CLI_CHOICE, &flags->resize, "none|stretch|crop",
         "images of another size than the input: refuse (default), scale, or scale the centre", resizes},
        {.name = NULL},
    };

    memcpy(rows, table, sizeof table);
}

void cli_image_apply(const struct cli_image_flags *flags, struct nuc_options *options)
{
    memcpy(options->image_mean, flags->mean.values, sizeof options->image_mean);
    options->n_image_mean = flags->mean.count;
    memcpy(options->image_std, flags->std.values, sizeof options->image_std);
    options->n_image_std = flags->std.count;
    options->image_resize = (enum nuc_resize)flags->resize;
}
