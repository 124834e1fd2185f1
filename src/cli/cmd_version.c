#include <stdio.h>

#include "cli/cli.h"

int cli_version(int argc, char **argv)
{
    static const struct cli_option options[] = {{.name = NULL}};
    static const struct cli_command command = {"version", "", "Prints the versions of this build.", options, NULL,
                                               0,         0};
    const char *positional[1];
    size_t count;
    bool stop;
    int code = cli_parse(&command, argc, argv, positional, &count, &stop);

    if (stop)
        return code;
    printf("nucleon %s\n", nuc_version());
    return CLI_OK;
}
