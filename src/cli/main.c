/* nucleon: picks the subcommand. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"compile", cli_compile, "make a program (.pte) from an exported model (.pt2, .tflite)"},
    {"convert", cli_convert, "make a LiteRT model with NeutronGraph operators from one without"},
    {"quantize", cli_quantize, "make a quantized model (.pt2) from a float one and samples"},
    {"run", cli_run, "run a program on the host, its NPU parts on the simulator"},
    {"evaluate", cli_evaluate, "accuracy and signal-to-noise ratio of a program over a data set"},
    {"explain", cli_explain, "say where every node of a model runs, and why"},
    {"inspect", cli_inspect, "describe a .pt2, .tflite or .pte file"},
    {"codegen", cli_codegen, "make C sources of a program, for a firmware"},
    {"merge-kernel-selection", cli_merge_kernel_selection, "merge the NPU kernels that programs need"},
    {"ops", cli_ops, "list the operators the NPU runs"},
    {"targets", cli_targets, "list chips and converter flavors"},
    {"version", cli_version, "print the versions of this build"},
};

static void print_help(FILE *to)
{
    fprintf(to, "usage: nucleon COMMAND ...\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        fprintf(to, "  %-22s %s\n", commands[i].name, commands[i].summary);
    fprintf(to, "\n'nucleon COMMAND --help' describes a command.\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return CLI_BAD_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return CLI_OK;
    }
    if (strcmp(argv[1], "--version") == 0)
        return cli_version(argc - 1, argv + 1);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    return cli_usage("'%s' is no command; 'nucleon --help' lists them", argv[1]);
}
