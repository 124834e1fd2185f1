#include <stdio.h>

#include "cli/cli.h"

static int list_targets(void)
{
    const char *text;
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);

    if (c == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    enum nuc_status status = nuc_list_targets(c, &text);
    int code = status == NUC_OK ? CLI_OK : cli_report(status, nuc_compiler_message(c));
    if (status == NUC_OK && (fputs(text, stdout) < 0 || fflush(stdout) != 0))
        code = cli_report(NUC_IO, "standard output: cannot be written");
    nuc_compiler_free(c);
    return code;
}

int cli_targets(int argc, char **argv)
{
    const struct cli_option options[] = {{.name = NULL}};
    const struct cli_command command = {
        "targets", "", "Lists chips and converter flavors.", options, NULL, 0, 0,
    };
    const char *none[1];
    size_t count;
    bool stop;
    int code = cli_parse(&command, argc, argv, none, &count, &stop);

    return stop ? code : list_targets();
}
