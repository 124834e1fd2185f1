#include <stdio.h>

#include "cli/cli.h"

static int list_operators(const char *flavor, bool markdown)
{
    const char *text;
    struct nuc_options o;

    nuc_options_default(&o);
    o.converter_flavor = flavor;
    o.warn = cli_warn;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    if (c == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    enum nuc_status status = nuc_list_operators(c, markdown, &text);
    int code = status == NUC_OK ? CLI_OK : cli_report(status, nuc_compiler_message(c));
    if (status == NUC_OK && (fputs(text, stdout) < 0 || fflush(stdout) != 0))
        code = cli_report(NUC_IO, "standard output: cannot be written");
    nuc_compiler_free(c);
    return code;
}

int cli_ops(int argc, char **argv)
{
    const char *flavor = "sdk-3.2";
    bool markdown = false;
    const struct cli_option options[] = {
        {"--converter-flavor", NULL, CLI_STRING, &flavor, "NAME", "whose rules: sdk-3.2 (default) or sdk-3.1", NULL},
        {"--markdown", NULL, CLI_FLAG, &markdown, NULL, "all rule sets as docs/supported-ops.md", NULL},
        {.name = NULL},
    };
    const struct cli_command command = {
        "ops",
        "[--converter-flavor NAME] [--markdown]",
        "Lists the operators the NPU runs and what has to hold.",
        options,
        NULL,
        0,
        0,
    };
    const char *none[1];
    size_t count;
    bool stop;
    int code = cli_parse(&command, argc, argv, none, &count, &stop);

    return stop ? code : list_operators(flavor, markdown);
}
