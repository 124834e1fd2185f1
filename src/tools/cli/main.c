/* nucleon: picks the subcommand. */
#include <string.h>

#include "tools/cli/arguments/manual.h"
#include "tools/cli/commands/commands.h"
#include "tools/cli/heap.h"
#include "tools/cli/terminal/json_output.h"
#include "tools/cli/terminal/signals.h"

static const struct cli_command commands[] = {
    {"Make programs", "compile", COMPILE, cli_compile, NULL, "a program (.pte) of a model (.pt2, .tflite)",
     "MODEL.pt2|MODEL.tflite -o OUT.pte [--calibration DATA] [options]",
     "Compiles a torch.export archive or a LiteRT model to an ExecuTorch program for the i.MX RT700. A float model is "
     "quantized with the samples of --calibration; a quantized one needs none.",
     "nucleon compile model.pt2 --calibration samples.npz -o model.pte\n"
     "nucleon compile model.pt2 --calibration samples.npz -o small.pte \\\n"
     "    --target imxrt700cm --memory-budget 64Ki",
     1, 1, "the model"},
    {NULL, "tune", TUNE, cli_tune, NULL, "the options that suit a model best, by trials",
     "MODEL.pt2|MODEL.tflite --for sqnr|latency|memory --calibration DATA [-o BEST.pte]",
     "Compiles a model under one option after the other, compares SQNR on held-out samples, cycles and memory, and "
     "prints the command that makes the best program. Options that are given are not varied.",
     "nucleon tune model.pt2 --for latency --calibration samples.npz -o best.pte", 1, 1, "the model"},
    {NULL, "quantize", QUANTIZE, cli_quantize, NULL, "a quantized model (.pt2) of a float one",
     "MODEL.pt2 --calibration DATA -o OUT.pt2 [options]",
     "Quantizes a float torch.export archive to int8; torch.export.load reads the result once Python has done "
     "'import torch.ao.quantization.fx._decomposed'.",
     "nucleon quantize model.pt2 --calibration samples.npz -o quantized.pt2", 1, 1, "the model"},
    {NULL, "convert", CONVERT, NULL, cli_convert, "a LiteRT model with NeutronGraph operators",
     "--input IN.tflite --output OUT.tflite [--target imxrt700] [options]",
     "Replaces what the NPU takes in an int8 LiteRT model by NeutronGraph operators. Other operators stay around them.",
     "nucleon convert --input model.tflite --output npu.tflite --target imxrt700", 0, 0, NULL},
    {"Look at them", "explain", EXPLAIN, cli_explain, NULL, "where every node of a model runs, why, and what helps",
     "MODEL.pt2|MODEL.tflite [options]",
     "Says where every node runs and, if not on the NPU, why, and which changes of options or source that were tried "
     "on the model help. A float model without samples is quantized with made-up ranges.",
     "nucleon explain model.pt2\nnucleon explain model.pt2 --require-full-delegation --cycle-budget 1.5M", 1, 1, NULL},
    {NULL, "report", REPORT, cli_make_report, NULL, "all about a model in one page for browsers",
     "MODEL.pt2|MODEL.tflite [--calibration DATA]\n[--dataset DATA] -o FILE.html|FILE.json",
     "Compiles a model and writes one page for browsers, or its data as JSON: where each operator runs and why, "
     "cycles, memory, the error of each node, accuracy. The page needs no network.",
     "nucleon report model.pt2 --calibration samples.npz -o model.html \\\n    --dataset test.npz", 1, 1, "the model"},
    {NULL, "run", RUN, NULL, cli_run, "run a program on the host, the NPU simulated",
     "PROGRAM.pte --input DATA [--output FILE.npz] [--profile] [--etdump FILE] [--etrecord FILE]",
     "Runs a program on the host, its NPU parts on the simulator. A bundled program (.bpte) without --input runs its "
     "test cases and says whether its outputs are the expected ones.",
     "nucleon run model.pte --input samples.npz --output results.npz\nnucleon run model.pte --input samples.npz "
     "--profile",
     1, 1, "the program"},
    {NULL, "evaluate", EVALUATE, cli_evaluate, NULL, "accuracy and SQNR of a program over a data set",
     "PROGRAM.pte --dataset DATA [--reference MODEL.pt2 [--quantized MODEL.pt2]] [options]",
     "Compares the outputs of a program over a data set with those of its float model, and with labels.",
     "nucleon evaluate model.pte --dataset test.npz --reference model.pt2\n"
     "nucleon evaluate model.pte --dataset test.npz --min-accuracy 90",
     1, 1, NULL},
    {NULL, "compare-device", COMPARE_DEVICE, NULL, cli_compare_device,
     "the first node that a device computes otherwise", "PORT|FILE [--baud N]",
     "Reads what a firmware with a self-test prints on a serial port, or printed into a file: every node of the "
     "program next to what the simulator computes, the first one that differs and what usually causes it.",
     "nucleon compare-device device.log\nnucleon compare-device device.log --json", 1, 1, NULL},
    {NULL, "merge-evaluations", MERGE_EVALUATIONS, NULL, cli_merge_evaluations, "one evaluation of its shards",
     "SHARD.json ... [options]",
     "Makes one evaluation of what 'nucleon evaluate --shard I/N --json' printed for each of N parts of a data set, on "
     "as many machines: every number is that of one run over all samples.",
     "nucleon evaluate model.pte --dataset test.npz --shard 1/2 --json >1.json\n"
     "nucleon evaluate model.pte --dataset test.npz --shard 2/2 --json >2.json\n"
     "nucleon merge-evaluations 1.json 2.json --min-accuracy 90",
     1, CLI_MAX_ARGUMENTS, NULL},
    {NULL, "inspect", INSPECT, cli_inspect, NULL, "describe a model or a program",
     "FILE.pt2|FILE.tflite|FILE.pte [--dot] [--disassemble] [--tflite DIR]",
     "Describes a file, a package (.npk) or bundled program (.bpte), too; its kind is found by content.",
     "nucleon inspect model.pte --disassemble\nnucleon inspect model.pte --tflite parts", 1, 1, NULL},
    {"Build a firmware", "codegen", CODEGEN, cli_codegen, NULL, "C sources of a program, for a firmware",
     "PROGRAM.pte -o DIR [--name NAME]\nPROGRAM.pte ... --project DIR [--name NAME] [--input DATA]",
     "Writes C sources for a firmware: static tables and buffers instead of the program file and its reader. With "
     "--project a complete CMake project around them, which runs in QEMU; its memory and kernels suffice for each of "
     "the programs.",
     "nucleon codegen model.pte -o src --name digits\n"
     "nucleon codegen model.pte --project firmware --input samples.npz",
     1, CLI_MAX_ARGUMENTS, "the program"},
    {NULL, "kernels", KERNELS, NULL, cli_kernels, "tables that link only what programs call",
     "PROGRAM.pte ... -o NAME.c",
     "Writes the tables of operators and backends that nuc_program_load() takes, with what the programs call: the "
     "linker drops all other kernels.",
     "nucleon kernels model.pte -o tables.c", 1, CLI_MAX_ARGUMENTS, NULL},
    {NULL, "plan", PLAN, NULL, cli_plan, "one memory for several programs", "PROGRAM.pte ... -o NAME.c",
     "Writes the tables of 'nucleon kernels' and memory for programs that run one after the other: buffers are those "
     "of the program that needs most, states are each program's own.",
     "nucleon plan model.pte best.pte -o plan.c", 1, CLI_MAX_ARGUMENTS, NULL},
    {NULL, "pack", PACK, NULL, cli_pack, "a package of a program, for firmware that replaces it",
     "PROGRAM.pte -o FILE.npk --program-version N [--signature FILE]",
     "Writes a package: the program, and in front of it what a firmware checks before it uses one, its version, "
     "memory, kernels and checksum.",
     "nucleon pack model.pte -o model.npk --program-version 2", 1, 1, "the program"},
    {NULL, "merge-kernel-selection", MERGE, NULL, cli_merge_kernel_selection,
     "the NPU kernels that several programs need", "IN.c ... -o OUT.c",
     "Merges kernel selection files, which 'nucleon compile --dump-kernel-selection' writes, for a firmware with "
     "several programs.",
     "nucleon merge-kernel-selection one.c two.c -o kernels.c", 1, CLI_MAX_ARGUMENTS, NULL},
    {"Look up", "ops", OPS, cli_ops, NULL, "operators, what runs them, rules of the NPU",
     "[OPERATOR] [--converter-flavor NAME] [--markdown]",
     "Lists the operators, what runs them, and what has to hold on the NPU. Of one operator it shows by which formulas "
     "others express it, too; its name may leave out dialect and overload.",
     "nucleon ops --converter-flavor sdk-3.1\nnucleon ops aten.mish", 0, 1, NULL},
    {NULL, "targets", TARGETS, NULL, cli_targets, "chips and converter flavors", "",
     "Lists chips and converter flavors.", "nucleon targets", 0, 0, NULL},
    {NULL, "version", VERSION, cli_version, NULL, "the version of this build", "", "Prints the version of this build.",
     "nucleon version", 0, 0, NULL},
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static const struct cli_commands all = {commands, N_COMMANDS};

static bool is_help(const char *name)
{
    return strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
}

/* A command line that cannot be taken may have asked for JSON all the same. */
static bool asks_for_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--json") == 0)
            return true;
    }
    return false;
}

/* "nucleon --version", "nucleon help" and "nucleon help COMMAND" are what they say. */
static int run_command(int argc, char **argv)
{
    struct cli_args args;
    bool stop;
    const char *name = argc < 2 ? "help" : strcmp(argv[1], "--version") == 0 ? "version" : argv[1];
    bool help = is_help(name);

    if (help && argc > 3 && strcmp(argv[2], "--format") == 0)
        return cli_print_format(&all, argv[3], argv[4]);
    if (help && argc < 3) {
        cli_print_commands(&all);
        return argc < 2 ? CLI_BAD_USAGE : CLI_OK;
    }
    if (help)
        name = argv[2];
    if (help && is_help(name)) {
        cli_print_commands(&all);
        return CLI_OK;
    }
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(name, commands[i].name) != 0)
            continue;
        if (help) {
            cli_print_help(&commands[i]);
            return CLI_OK;
        }
        cli_handle_signals();
        int code = cli_parse(&all, &commands[i], argc - 1, argv + 1, &args, &stop);
        if (code == CLI_OK ? args.json && !stop : asks_for_json(argc - 1, argv + 1))
            cli_json_begin(argc - 1, argv + 1);
        return stop                      ? code
               : commands[i].run != NULL ? commands[i].run(&args)
                                         : cli_with_compiler(&args, commands[i].with_compiler);
    }
    if (asks_for_json(argc - 1, argv + 1))
        cli_json_begin(argc - 1, argv + 1);
    const char *names[N_COMMANDS];
    for (size_t i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    const char *nearest = nuc_nearest_word(name, names, N_COMMANDS);
    const char *suffix = strrchr(name, '.');
    if (name[0] == '-')
        return cli_usage("'%s' is not a command: options come after it, 'nucleon COMMAND ... %s'", name, name);
    if (nearest != NULL)
        return cli_usage("'%s' is not a command, did you mean '%s'? 'nucleon help' lists them", name, nearest);
    if (suffix != NULL && strchr(suffix, '/') == NULL)
        return cli_usage("'%s' is not a command: the command comes before the file; 'nucleon help' lists them", name);
    return cli_usage("'%s' is not a command; 'nucleon help' lists them", name);
}

int main(int argc, char **argv)
{
    cli_prepare_heap();
    cli_complete_options();
    cli_hold_streams();
    return cli_finish(run_command(argc, argv));
}
