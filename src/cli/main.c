/* nucleon: picks the subcommand. */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/heap.h"
#include "cli/signals.h"

static const struct cli_command commands[] = {
    {"compile", COMPILE, cli_compile, "make a program (.pte) from an exported model (.pt2, .tflite)",
     "MODEL.pt2|MODEL.tflite -o OUT.pte [--calibration DATA] [options]",
     "Compiles a torch.export archive or a LiteRT model to an ExecuTorch program for the i.MX RT700.", 1, 1,
     "the model"},
    {"convert", CONVERT, cli_convert, "make a LiteRT model with NeutronGraph operators from one without",
     "--input IN.tflite --output OUT.tflite [--target imxrt700] [options]",
     "Replaces what the NPU takes in an int8 LiteRT model by NeutronGraph operators. Other operators stay around them.",
     0, 0, NULL},
    {"quantize", QUANTIZE, cli_quantize, "make a quantized model (.pt2) from a float one and samples",
     "MODEL.pt2 --calibration DATA -o OUT.pt2 [options]",
     "Quantizes a float torch.export archive to int8; torch.export.load reads the result once Python has done\n"
     "'import torch.ao.quantization.fx._decomposed'.",
     1, 1, "the model"},
    {"tune", TUNE, cli_tune, "find the options that suit a model best, by trials",
     "MODEL.pt2|MODEL.tflite --for sqnr|latency|memory --calibration DATA [-o BEST.pte]",
     "Compiles a model under one option after the other, compares SQNR on held-out samples, cycles and memory, and\n"
     "prints the command that makes the best program. Options that are given are not varied.",
     1, 1, "the model"},
    {"run", RUN, cli_run, "run a program on the host, its NPU parts on the simulator",
     "PROGRAM.pte --input DATA [--output FILE.npz] [--profile] [--etdump FILE]",
     "Runs a program on the host, its NPU parts on the simulator.", 1, 1, "the program"},
    {"evaluate", EVALUATE, cli_evaluate, "accuracy and signal-to-noise ratio of a program over a data set",
     "PROGRAM.pte --dataset DATA [--reference MODEL.pt2 [--quantized MODEL.pt2]] [options]",
     "Compares the outputs of a program over a data set with those of its float model, and with labels.", 1, 1, NULL},
    {"explain", EXPLAIN, cli_explain, "say where every node of a model runs, and why",
     "MODEL.pt2|MODEL.tflite [--json] [options]",
     "Says where every node runs and, if not on the NPU, the rule, what was found, what is allowed and the fix.\n"
     "A float model without samples is quantized with made-up ranges.",
     1, 1, NULL},
    {"report", REPORT, cli_make_report, "everything about a model in one page: placement, cycles, memory, accuracy",
     "MODEL.pt2|MODEL.tflite [--calibration DATA] [--dataset DATA] -o FILE.html|FILE.json",
     "Compiles a model and writes one page for browsers, or its data as JSON: where each operator runs and why, "
     "cycles,\n"
     "memory, the error of each node, accuracy. The page needs no network.",
     1, 1, "the model"},
    {"inspect", INSPECT, cli_inspect, "describe a .pt2, .tflite or .pte file",
     "FILE.pt2|FILE.tflite|FILE.pte [--json|--dot] [--disassemble] [--tflite DIR]",
     "Describes a file; its kind is found by content.", 1, 1, NULL},
    {"codegen", CODEGEN, cli_codegen, "make C sources of a program, for a firmware", "PROGRAM.pte -o DIR [--name NAME]",
     "Writes C sources for a firmware: static tables and buffers instead of the program file and its reader.", 1, 1,
     NULL},
    {"merge-kernel-selection", MERGE, cli_merge_kernel_selection, "merge the NPU kernels that programs need",
     "IN.c ... -o OUT.c", "Merges kernel selection files, for a firmware with several programs.", 1, CLI_LIST_MAX,
     NULL},
    {"ops", OPS, cli_ops, "list operators, what runs them, and the rules of the NPU",
     "[--converter-flavor NAME] [--markdown]", "Lists the operators the NPU runs and what has to hold.", 0, 0, NULL},
    {"targets", TARGETS, cli_targets, "list chips and converter flavors", "", "Lists chips and converter flavors.", 0,
     0, NULL},
    {"version", VERSION, cli_version, "print the versions of this build", "", "Prints the versions of this build.", 0,
     0, NULL},
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(FILE *to)
{
    fprintf(to, "usage: nucleon COMMAND ...\n\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-22s %s\n", commands[i].name, commands[i].brief);
    fprintf(to, "\n'nucleon COMMAND --help' describes a command.\n");
}

static int unknown_command(const char *name)
{
    const char *names[N_COMMANDS];

    for (size_t i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    const char *nearest = nuc_nearest_word(name, names, N_COMMANDS);
    const char *suffix = strrchr(name, '.');
    if (nearest != NULL)
        return cli_usage("'%s' is not a command, did you mean '%s'? 'nucleon --help' lists them", name, nearest);
    if (suffix != NULL && strchr(suffix, '/') == NULL)
        return cli_usage("'%s' is not a command: the command comes before the file; 'nucleon --help' lists them", name);
    return cli_usage("'%s' is not a command; 'nucleon --help' lists them", name);
}

static int run_command(int argc, char **argv)
{
    struct cli_args args;
    bool stop;

    if (argc < 2) {
        print_help(stderr);
        return CLI_BAD_USAGE;
    }
    const char *name = strcmp(argv[1], "--version") == 0 ? "version" : argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_help(stdout);
        return CLI_OK;
    }
    /* "help COMMAND" is "COMMAND --help". */
    bool help = strcmp(name, "help") == 0;
    if (help && argc == 2) {
        print_help(stdout);
        return CLI_OK;
    }
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(help ? argv[2] : name, commands[i].name) != 0)
            continue;
        if (help) {
            cli_print_help(&commands[i]);
            return CLI_OK;
        }
        cli_handle_signals();
        int code = cli_parse(&commands[i], argc - 1, argv + 1, &args, &stop);
        return stop ? code : commands[i].run(&args);
    }
    return unknown_command(help ? argv[2] : argv[1]);
}

int main(int argc, char **argv)
{
    cli_prepare_heap();
    cli_hold_streams();
    return cli_finish(run_command(argc, argv));
}
