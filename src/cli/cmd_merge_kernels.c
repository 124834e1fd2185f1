#include "cli/cli.h"

/* As many programs as a firmware may hold. */
#define MAX_FILES 64

int cli_merge_kernel_selection(int argc, char **argv)
{
    const char *output = NULL, *files[MAX_FILES];
    const struct cli_option options[] = {
        {"--output", "-o", CLI_STRING, &output, "OUT.c", "where the merged file goes", NULL},
        {.name = NULL},
    };
    const struct cli_command command = {
        "merge-kernel-selection",
        "IN.c ... -o OUT.c",
        "Merges kernel selection files, for a firmware with several programs.",
        options,
        NULL,
        1,
        MAX_FILES,
    };
    struct nuc_options o;
    size_t count;
    bool stop;
    int code = cli_parse(&command, argc, argv, files, &count, &stop);

    if (stop)
        return code;
    if (output == NULL)
        return cli_usage("merge-kernel-selection: -o OUT.c is missing: it says where the file goes");
    nuc_options_default(&o);
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    if (c == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    enum nuc_status status = nuc_merge_kernel_selections(c, files, count, output);
    code = status == NUC_OK ? CLI_OK : cli_report(status, nuc_compiler_message(c));
    nuc_compiler_free(c);
    return code;
}
