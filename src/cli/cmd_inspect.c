#include <stdio.h>

#include "cli/cli.h"

int cli_inspect(int argc, char **argv)
{
    bool disassemble = false, json = false, dot = false;
    const struct cli_option options[] = {
        {"--disassemble", NULL, CLI_FLAG, &disassemble, NULL, "list the kernel calls of NPU payloads", NULL},
        {"--json", NULL, CLI_FLAG, &json, NULL, "as JSON", NULL},
        {"--dot", NULL, CLI_FLAG, &dot, NULL, "the graph of a .pt2 or .tflite, for graphviz", NULL},
        {.name = NULL},
    };
    const struct cli_command command = {
        "inspect",
        "FILE.pt2|FILE.tflite|FILE.pte [--json|--dot] [--disassemble]",
        "Describes a file; its kind is found by content.",
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
    if (json && dot)
        return cli_usage("inspect: --json and --dot exclude each other");
    enum nuc_inspect_form form = json ? NUC_INSPECT_JSON : dot ? NUC_INSPECT_DOT : NUC_INSPECT_TEXT;
    struct nuc_options o;
    nuc_options_default(&o);
    o.warn = cli_warn;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    if (c == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    const char *text;
    enum nuc_status status = nuc_inspect_file(c, path[0], form, disassemble, &text);
    if (status == NUC_OK)
        fputs(text, stdout);
    else
        code = cli_report(status, nuc_compiler_message(c));
    if (status == NUC_OK && form == NUC_INSPECT_TEXT)
        cli_print_memory(path[0]);
    nuc_compiler_free(c);
    if (fflush(stdout) != 0)
        code = cli_report(NUC_IO, "standard output: cannot be written");
    return code;
}
