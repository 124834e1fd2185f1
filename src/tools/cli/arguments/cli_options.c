/* All options of all commands, in the order of their help: groups, those that most people need first. */
#include <assert.h>
#include <string.h>

#include "nucleon/options.h"
#include "tools/cli/arguments/command_args.h"

#define TO(member) .offset = offsetof(struct cli_args, member), .size = sizeof(((struct cli_args *)0)->member)
#define COUNT_IN(member) .count = offsetof(struct cli_args, member)
#define CHOICES(...)                                                                                                   \
    .choices = (const char *const[])                                                                                   \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }

/* Kinds, for short. */
#define CLI_FLAG NUC_OPTION_FLAG
#define CLI_SET NUC_OPTION_FLAG /* with a value */
#define CLI_STRING NUC_OPTION_STRING
#define CLI_NUMBER NUC_OPTION_NUMBER
#define CLI_CYCLES NUC_OPTION_CYCLES
#define CLI_CHOICE NUC_OPTION_CHOICE
#define CLI_INTEGER NUC_OPTION_INTEGER
#define CLI_REAL NUC_OPTION_REAL
#define CLI_SHARE NUC_OPTION_SHARE
#define CLI_FLOATS NUC_OPTION_FLOATS
#define CLI_LIST NUC_OPTION_LIST

/* An option of the compiler: nucleon/options.h says what is not said here. */
#define SHARED(name_, commands_) .name = (name_), .commands = (commands_), .shared = true

/* A heading: what follows it, up to the next one. */
#define GROUP(text)                                                                                                    \
    {                                                                                                                  \
        .help = text                                                                                                   \
    }

/* Commands that share options. */
enum {
    EVERY = 0x7FFFFFFF,
    SUMMARIZES = COMPILE | CONVERT | QUANTIZE,
    MAKES = COMPILE | TUNE | REPORT,            /* a program */
    PLACES = COMPILE | EXPLAIN | TUNE | REPORT, /* decides where operators run */
    CALIBRATES = COMPILE | EXPLAIN | QUANTIZE | TUNE | REPORT,
    READS_DATA = CALIBRATES | RUN | EVALUATE
};

static void list_dump_points(void)
{
    struct nuc_dump_point point;

    for (size_t i = 0; nuc_dump_point(i, &point); i++)
        cli_printf("%s%s\n", point.stage != NULL ? "  " : "", point.name);
    cli_printf("all\n");
}

static const char *dump_name(size_t index)
{
    struct nuc_dump_point point;

    return index == 0 ? "all" : nuc_dump_point(index - 1, &point) ? point.name : NULL;
}

static struct cli_option rows[] = {
    GROUP("Common options"),
    {"--input", CONVERT, CLI_STRING, TO(input), "FILE.tflite", "the int8 model", .alias = "-i", .file = CLI_READ,
     .missing = "--input and --output say which model is converted and where it goes"},
    {"--output", CONVERT, CLI_STRING, TO(output), "FILE.tflite", "where the converted model goes", .alias = "-o",
     .file = CLI_WRITTEN, .missing = "--input and --output say which model is converted and where it goes"},
    {"--output", COMPILE, CLI_STRING, TO(output), "FILE.pte", "where the program goes", .alias = "-o",
     .file = CLI_WRITTEN, .missing = "-o FILE.pte is missing: it says where the program goes"},
    {"--output", QUANTIZE, CLI_STRING, TO(output), "FILE.pt2", "where the quantized model goes", .alias = "-o",
     .file = CLI_WRITTEN, .missing = "-o OUT.pt2 is missing: it says where the quantized model goes"},
    {"--output", CODEGEN, CLI_STRING, TO(output), "DIR", "where NAME.h, NAME.c and NAME_data.c go", .alias = "-o",
     .file = CLI_FOLDER},
    {"--project", CODEGEN, CLI_STRING, TO(project), "DIR",
     "instead: a complete example project, with build files, board, both forms of the program, samples",
     .file = CLI_FOLDER},
    {"--input", CODEGEN, CLI_STRING, TO(input), "DATA",
     "samples that the project's images run, .npz or what else 'nucleon run' takes (default: one of zeros)",
     .alias = "-i", .file = CLI_READ},
    {"--output", KERNELS, CLI_STRING, TO(output), "NAME.c",
     "where the tables go; NAME.h, next to it, declares NAME_kernels, NAME_backends and NAME_start()", .alias = "-o",
     .file = CLI_WRITTEN, .missing = "-o NAME.c is missing: it says where the tables go"},
    {"--output", PLAN, CLI_STRING, TO(output), "NAME.c",
     "where tables and memory go; NAME.h, next to it, declares NAME_kernels, NAME_backends, NAME_start() and "
     "NAME_memories[]",
     .alias = "-o", .file = CLI_WRITTEN, .missing = "-o NAME.c is missing: it says where tables and memory go"},
    {"--output", PACK, CLI_STRING, TO(output), "FILE.npk", "where the package goes", .alias = "-o", .file = CLI_WRITTEN,
     .missing = "-o FILE.npk is missing: it says where the package goes"},
    {"--program-version", PACK, CLI_NUMBER, TO(program_version), "N", "a greater number for a newer program",
     .missing = "--program-version N is missing: a firmware takes a program with a greater one than its own"},
    {"--signature", PACK, CLI_STRING, TO(signature), "FILE",
     "a signature of what the same command writes without this option, to put behind it", .file = CLI_READ},
    {"--output", MERGE, CLI_STRING, TO(output), "OUT.c", "where the merged file goes", .alias = "-o",
     .file = CLI_WRITTEN, .missing = "-o OUT.c is missing: it says where the file goes"},
    {"--output", REPORT, CLI_STRING, TO(output), "FILE.html|FILE.json", "where the report goes: a page or the data",
     .alias = "-o", .file = CLI_WRITTEN},
    {"--name", CODEGEN, CLI_STRING, TO(name), "NAME", "what the functions begin with (default: the file's name)"},
    {"--for", TUNE, CLI_CHOICE, TO(tune.goal), "sqnr|latency|memory", "what the program is to be best in",
     CHOICES("sqnr", "latency", "memory"), .missing = "--for sqnr|latency|memory is missing: it says what is sought"},
    {"--calibration", CALIBRATES, CLI_STRING, TO(calibration), "DATA",
     "samples for quantization: .npz, .npy, a folder of .npy or of images; not for a quantized model",
     .file = CLI_READ},
    {"--dataset", TUNE, CLI_STRING, TO(tune.dataset), "DATA",
     "samples to compare on, with 'label' for accuracy; without it a fourth of the calibration's is held out",
     .file = CLI_READ},
    {"--vary-io", TUNE, CLI_FLAG, TO(tune.varies_io), NULL,
     "try int8 inputs and outputs, too, which the caller then has to quantize"},
    {"--dataset", REPORT, CLI_STRING, TO(input), "DATA",
     "samples, and 'label' for accuracy and confusion; or a folder with a subfolder of images per class",
     .file = CLI_READ},
    {"--compare", REPORT, CLI_STRING, TO(compare), "OLD.json|OLD.html", "an older report of the model: what changed",
     .file = CLI_READ},
    {"--device", REPORT, CLI_STRING, TO(device), "PORT|FILE",
     "a self-test of the program on a device, as 'nucleon compare-device' takes it", .file = CLI_READ},
    {"--baud", COMPARE_DEVICE | REPORT, CLI_NUMBER, TO(baud), "N", "the speed of a serial port (default 115200)"},
    {"--output", TUNE, CLI_STRING, TO(output), "BEST.pte", "where the best program goes", .alias = "-o",
     .file = CLI_WRITTEN},
    {"--input", RUN, CLI_STRING, TO(input), "DATA",
     "inputs by name or in order, samples, or sequences and steps, first: .npz, .npy, a folder of .npy or of images",
     .alias = "-i", .file = CLI_READ},
    {"--output", RUN, CLI_STRING, TO(output), "FILE.npz",
     "where the outputs go, by their keys or as out0, out1, ...; without it they are printed", .alias = "-o",
     .file = CLI_WRITTEN},
    {"--profile", RUN, CLI_FLAG, TO(profile), NULL,
     "print the cycles of every operator and NPU kernel (compile with --profile for labels and lines)"},
    {"--etdump", RUN, CLI_STRING, TO(etdump), "FILE.etdump", "write them for ExecuTorch's Inspector",
     .file = CLI_WRITTEN},
    {"--etrecord", RUN, CLI_STRING, TO(etrecord), "FILE.etrecord",
     "write what its events are, of an ETDump of a device, too", .file = CLI_WRITTEN},
    {"--dataset", EVALUATE, CLI_STRING, TO(input), "DATA",
     "inputs, samples or sequences and steps first, and 'label' for accuracy; or a folder with a subfolder of images "
     "per class",
     .missing = "--dataset DATA is missing: it holds the inputs"},
    {"--reference", EVALUATE, CLI_STRING, TO(reference), "MODEL.pt2", "the model to compare with: SQNR and agreement"},
    {"--shard", EVALUATE, CLI_STRING, TO(shard), "I/N",
     "with --json: part I of N of the samples, for 'nucleon merge-evaluations'"},
    {"--quantized", EVALUATE, CLI_STRING, TO(quantized), "MODEL.pt2",
     "what the program was compiled from, of 'nucleon quantize': SQNR at every node"},
    {SHARED("--target", PLACES | CONVERT | QUANTIZE | EVALUATE | OPS), .needs = CLI_A_QUANTIZED,
     .name_at = nuc_target_name},
    {SHARED("--target", RUN), .help = "the chip whose cycles --profile and --etdump tell (default imxrt700)",
     .needs = CLI_A_PROFILE, .name_at = nuc_target_name},
    {SHARED("--target", CODEGEN), .help = "with --project: the chip whose CPU and board it is for (default imxrt700)",
     .name_at = nuc_target_name},
    {SHARED("--cpu", PLACES | QUANTIZE)},
    {SHARED("--io", MAKES | EXPLAIN)},
    {SHARED("--accuracy", CALIBRATES), .needs = CLI_FLOAT_MODEL | CLI_FREE_TO_CHOOSE},
    {SHARED("--no-quantize", COMPILE | REPORT)},

    GROUP("Demands (exit code 3 when one does not hold)"),
    {SHARED("--require-full-delegation", PLACES)},
    {SHARED("--memory-budget", MAKES | EXPLAIN)},
    {SHARED("--memory", MAKES)},
    {SHARED("--weights-memory", MAKES)},
    {"--cycle-budget", EXPLAIN | TUNE, CLI_CYCLES, TO(cycle_budget), "N",
     "an inference takes at most N cycles, by estimate: 300k, 1.5M"},
    {"--min-accuracy", EVALUATE | MERGE_EVALUATIONS | REPORT, CLI_SHARE, TO(evaluate.min_accuracy), "PERCENT",
     "at least this share of predictions is right; the worst output counts"},
    {"--min-agreement", EVALUATE | MERGE_EVALUATIONS | REPORT, CLI_SHARE, TO(evaluate.min_agreement), "PERCENT",
     "program and reference agree in at least this share of predictions"},
    {"--min-sqnr", EVALUATE | MERGE_EVALUATIONS | REPORT, CLI_REAL, TO(evaluate.min_sqnr), "DB",
     "no output's SQNR is lower"},
    {"--max-false-alarms", EVALUATE | MERGE_EVALUATIONS | REPORT, CLI_REAL, TO(evaluate.max_false_alarms), "N",
     "the decision raises no more: events an hour, or percent of samples without anomaly"},
    {"--min-sqnr", TUNE, CLI_FLOATS, TO(min_sqnr), "DB",
     "least SQNR of the best program (default for latency and memory: 0.1 dB less than as given)",
     COUNT_IN(n_min_sqnr)},

    GROUP("How outputs are judged"),
    {"--task", EVALUATE | REPORT, CLI_CHOICE, TO(evaluate.task), "TASK",
     "what the outputs are: auto (default; by labels, model, shape), classify, segment, regress",
     CHOICES("auto", "classify", "segment", "regress"), .needs = CLI_LABELS_OR_REFERENCE},
    {"--class-axis", EVALUATE | REPORT, CLI_NUMBER, TO(evaluate.class_axis), "N", "axis of the classes' scores"},
    {"--ignore-label", EVALUATE | REPORT, CLI_INTEGER, TO(evaluate.ignore_label), "N",
     "leave decisions with this label out", .needs = CLI_LABELS},
    {"--confusion", EVALUATE | MERGE_EVALUATIONS, CLI_FLAG, TO(confusion), NULL,
     "print confusions of more than 20 classes, too: the most frequent ones", .needs = CLI_LABELS},
    {"--disagreements", EVALUATE | REPORT, CLI_NUMBER, TO(evaluate.max_disagreements), "N",
     "list the first N decisions in which program and reference differ", .needs = CLI_A_REFERENCE},
    {"--threshold", EVALUATE | MERGE_EVALUATIONS, CLI_NUMBER, TO(threshold), "DB", "a node below diverges (default 20)",
     .needs = CLI_A_QUANTIZED},

    GROUP("Quantization"),
    {SHARED("--observer", CALIBRATES), .needs = CLI_FLOAT_MODEL},
    {SHARED("--weights", CALIBRATES), .needs = CLI_FLOAT_MODEL},
    {SHARED("--activations", CALIBRATES), .needs = CLI_FLOAT_MODEL},
    {SHARED("--precision", CALIBRATES), .needs = CLI_FLOAT_MODEL},
    {SHARED("--no-bias-correction", CALIBRATES), .needs = CLI_FLOAT_MODEL | CLI_FREE_TO_CHOOSE},
    {SHARED("--reference-compat", CALIBRATES)},
    {SHARED("--size", CALIBRATES)},
    {SHARED("--signature", CALIBRATES)},
    {SHARED("--stream", PLACES)},
    {SHARED("--front-end", COMPILE | EXPLAIN | TUNE | REPORT | EVALUATE)},
    {SHARED("--rewrite", CALIBRATES), .needs = CLI_FLOAT_MODEL},
    {SHARED("--threads", CALIBRATES), .needs = CLI_FLOAT_MODEL},

    GROUP("Where operators run"),
    {SHARED("--no-delegate", PLACES)},
    {SHARED("--operators-not-to-delegate", PLACES), .needs = CLI_AN_NPU},
    {SHARED("--placement", PLACES), .needs = CLI_AN_NPU | CLI_FREE_PLACEMENT | CLI_FREE_TO_CHOOSE},
    {SHARED("--dim-order", PLACES)},
    {SHARED("--preserve-ops", PLACES), .needs = CLI_AN_NPU},
    {SHARED("--allow-no-op-partitions", PLACES), .needs = CLI_AN_NPU},
    {SHARED("--executorch-ops-only", PLACES)},
    {SHARED("--converter-flavor", PLACES | OPS), .needs = CLI_AN_NPU | CLI_ONE_RULE_SET, .name_at = nuc_flavor_name},
    {SHARED("--force-delegate-cat", PLACES), .needs = CLI_AN_NPU | CLI_SDK_3_1},
    {SHARED("--neutron-format-conversion", MAKES), .needs = CLI_AN_NPU},

    GROUP("Memory"),
    {SHARED("--memory-map", COMPILE), .file = CLI_WRITTEN},
    {SHARED("--plan-delegate-scratch", MAKES), .needs = CLI_AN_NPU},
    {SHARED("--fetch-constants-to-sram", MAKES | EXPLAIN | CONVERT), .needs = CLI_AN_NPU},

    GROUP("What the program holds"),
    {SHARED("--profile", MAKES), .needs = CLI_AN_NPU},
    {SHARED("--classes", MAKES)},
    {SHARED("--decision", MAKES)},
    {SHARED("--no-metadata", MAKES)},
    {"--self-test", COMPILE, CLI_NUMBER, TO(self_test), "N",
     "write a bundled program (.bpte): the program with N samples of --calibration and the outputs that the simulator "
     "gives, for 'nucleon run' and a self-test of the firmware"},
    {SHARED("--delegate-data", MAKES), .needs = CLI_AN_NPU},
    {SHARED("--payload-version", MAKES), .needs = CLI_AN_NPU},
    {SHARED("--extra-flags", MAKES), .needs = CLI_AN_NPU},

    GROUP("Images as data"),
    {SHARED("--mean", READS_DATA), .needs = CLI_IMAGES},
    {SHARED("--std", READS_DATA), .needs = CLI_IMAGES},
    {SHARED("--resize", READS_DATA), .needs = CLI_IMAGES},
    {SHARED("--unlike-calibration", RUN | EVALUATE | TUNE | REPORT)},

    GROUP("The converter of partitions"),
    {SHARED("--converter", MAKES), .needs = CLI_AN_NPU},
    {SHARED("--converter-timeout", MAKES), .needs = CLI_AN_NPU | CLI_A_CONVERTER},
    {SHARED("--intermediates-dir", COMPILE), .file = CLI_FOLDER, .needs = CLI_AN_NPU},
    {SHARED("--dump-kernel-selection", COMPILE), .file = CLI_WRITTEN},
    {"--min-num-ops-per-graph", CONVERT, CLI_NUMBER, TO(convert.min_operators), "N",
     "leave groups of fewer operators as they are (default 1)"},
    {"--exclude-graph-passes", CONVERT, CLI_LIST, TO(excluded_passes), "LIST",
     "passes of the vendor's converter that nucleon's does not have: HoistSliceAboveTranspose, MergeTranspose",
     COUNT_IN(n_excluded_passes)},
    {"--use-profiling", CONVERT, CLI_FLAG, TO(convert.profile), NULL, "programs record the time of each kernel"},

    GROUP("The simulator"),
    {"--threads", RUN, CLI_NUMBER, TO(simulator.threads), "N", "threads of the simulator (default: 1)"},
    {"--threads", EVALUATE, CLI_NUMBER, TO(simulator.threads), "N",
     "threads of the reference, and samples of the program side by side (default: one per core)"},
    {"--simulator", RUN | EVALUATE, CLI_CHOICE, TO(simulator.path), "PATH",
     "instructions of the simulator: best (default), plain, avx2, avx512vnni, neondot; the results are the same",
     CHOICES("best", "plain", "avx2", "avx512vnni", "neondot")},

    GROUP("What is printed"),
    {"--dot", INSPECT, CLI_SET, TO(form), NULL,
     "the graph of a .pt2 or .tflite, or the instructions of a .pte, for graphviz", .value = NUC_INSPECT_DOT},
    {"--tflite", INSPECT, CLI_STRING, TO(output), "DIR",
     "write what a .pte runs on the NPU to DIR/npu_N.tflite, which Netron opens", .file = CLI_FOLDER},
    {"--disassemble", INSPECT, CLI_FLAG, TO(disassemble), NULL, "list the kernel calls of NPU payloads"},
    {"--all", EXPLAIN, CLI_FLAG, TO(explain.all_nodes), NULL, "list quantize and dequantize nodes, too"},
    {"--markdown", OPS, CLI_FLAG, TO(markdown), NULL, "all rule sets as docs/supported-ops.md"},
    {"--verbose", SUMMARIZES, CLI_FLAG, TO(verbose), NULL,
     "more lines: data bindings, peaks, transposes, what stays outside and why", .alias = "-v"},
    {"--json", EVERY, CLI_FLAG, TO(json), NULL,
     "one JSON object instead of text, with more than the text says: docs/json.md"},
    {"--quiet", EVERY, CLI_FLAG, TO(quiet), NULL, "no summary, notes and progress: what was asked for, and errors",
     .alias = "-q"},
    {"--color", EVERY, CLI_CHOICE, TO(color), "WHEN",
     "auto (default): on a terminal, unless NO_COLOR is set or TERM is dumb; always, never",
     CHOICES("auto", "always", "never")},
    {"--timings", COMPILE | CONVERT | QUANTIZE, CLI_FLAG, TO(timings), NULL, "print the seconds of each stage"},
    {SHARED("--dump-after", COMPILE), .list = list_dump_points, .name_at = dump_name},
    {"--help", EVERY, CLI_FLAG, TO(help), NULL, "this text; 'nucleon help COMMAND', too", .alias = "-h"},
};

const struct cli_option *const cli_options = rows;
const size_t cli_n_options = sizeof rows / sizeof rows[0];

_Static_assert(sizeof rows / sizeof rows[0] <= CLI_MAX_OPTIONS, "struct cli_args has a mark per option");

void cli_complete_options(void)
{
    for (size_t i = 0; i < cli_n_options; i++) {
        if (rows[i].shared) {
            struct cli_option *o = &rows[i];
            struct nuc_option_info info = {.name = ""};
            for (size_t k = 0; strcmp(info.name, o->name + 2) != 0; k++) {
                bool found = nuc_option_at(k, &info);
                assert(found);
                (void)found;
            }
            o->kind = info.kind;
            o->offset = offsetof(struct cli_args, o) + info.offset;
            o->size = info.size;
            o->count = offsetof(struct cli_args, o) + info.count;
            o->argument = info.value;
            o->help = o->help != NULL ? o->help : info.help;
            o->choices = info.choices;
            o->value = info.set;
        } else if (rows[i].kind == NUC_OPTION_FLAG && rows[i].value == 0)
            rows[i].value = true;
    }
}
