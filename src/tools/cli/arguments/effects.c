/* Options that were given and have no effect: noted, so that nobody waits for it. */
#include <stdio.h>
#include <string.h>

#include "tools/cli/arguments/command_args.h"

/* From the default: an option given as it is anyway needs no note. */
static bool differs(const struct cli_args *args, const struct cli_option *o)
{
    struct cli_args standard = {.command = NULL, .threshold = 20};

    nuc_options_default(&standard.o);
    nuc_evaluate_options_default(&standard.evaluate);
    return memcmp((const char *)args + o->offset, (const char *)&standard + o->offset, o->size) != 0;
}

void cli_warn_unused_options(const struct cli_args *args, unsigned needs, const char *why)
{
    char text[CLI_MESSAGE] = "";
    size_t length = 0;

    for (size_t i = 0; i < cli_n_options; i++) {
        const struct cli_option *o = &cli_options[i];
        if (!args->given[i] || (o->needs & needs) == 0 || !differs(args, o))
            continue;
        int n = snprintf(text + length, sizeof text - length, "%s%s", length > 0 ? ", " : "", o->name);
        if (n < 0 || (size_t)n >= sizeof text - length)
            return;
        length += (size_t)n;
    }
    if (length == 0)
        return;
    snprintf(text + length, sizeof text - length, ": without effect, %s", why);
    cli_warn(NULL, text);
}

int cli_warn_for_target(struct nuc_compiler *c, const struct cli_args *args)
{
    struct nuc_target_facts target;
    enum nuc_status status = nuc_target_facts(c, &target);

    if (status != NUC_OK)
        return cli_check(c, status);
    char why[160];
    if (!target.has_npu)
        snprintf(why, sizeof why, "target %s has no NPU", target.name);
    else
        snprintf(why, sizeof why, "nothing is delegated");
    if (!target.has_npu || !args->o.delegate || args->o.no_quantize)
        cli_warn_unused_options(args, CLI_AN_NPU, why);
    else if (args->o.require_full_delegation)
        cli_warn_unused_options(args, CLI_FREE_PLACEMENT,
                                "--require-full-delegation places all on the NPU that it takes");
    if (args->o.reference_compat)
        cli_warn_unused_options(args, CLI_FREE_TO_CHOOSE, "--reference-compat does as the reference");
    if (args->o.converter_flavor != NULL && strcmp(args->o.converter_flavor, "sdk-3.2") == 0)
        cli_warn_unused_options(args, CLI_SDK_3_1, "it is one of --converter-flavor sdk-3.1");
    if (args->o.converter == NULL)
        cli_warn_unused_options(args, CLI_A_CONVERTER, "the converter is the built-in one");
    return CLI_OK;
}
