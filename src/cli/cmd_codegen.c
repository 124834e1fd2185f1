#include <stdio.h>

#include "cli/cli.h"

int cli_codegen(int argc, char **argv)
{
    const char *folder = NULL, *name = NULL;
    const struct cli_option options[] = {
        {"--output", "-o", CLI_STRING, &folder, "DIR", "where NAME.h, NAME.c and NAME_data.c go", NULL},
        {"--name", NULL, CLI_STRING, &name, "NAME", "what the functions begin with (default: the file's name)", NULL},
        {.name = NULL},
    };
    const struct cli_command command = {
        "codegen",
        "PROGRAM.pte -o DIR [--name NAME]",
        "Writes C sources for a firmware: static tables and buffers instead of the program file and its reader.",
        options,
        NULL,
        1,
        1,
    };
    const char *path[1];
    size_t count;
    bool stop;
    int code = cli_parse(&command, argc, argv, path, &count, &stop);

    if (stop)
        return code;
    if (folder == NULL)
        return cli_usage("codegen: -o DIR is missing: it says where the sources go");
    struct nuc_options o;
    nuc_options_default(&o);
    o.warn = cli_warn;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    if (c == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    enum nuc_status status = nuc_codegen_program(c, path[0], folder, name);
    if (status != NUC_OK)
        code = cli_report(status, nuc_compiler_message(c));
    nuc_compiler_free(c);
    return code;
}
