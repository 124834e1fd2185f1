/* All options of all commands, in the order of their help: groups, those that most people need first. */
#include <stdio.h>

#include "cli/args.h"

#define TO(member) .offset = offsetof(struct cli_args, member), .size = sizeof(((struct cli_args *)0)->member)
#define COUNT_IN(member) .count = offsetof(struct cli_args, member)
#define CHOICES(...)                                                                                                   \
    .choices = (const char *const[])                                                                                   \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }

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

const struct cli_option cli_options[] = {
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
    {"--dataset", REPORT, CLI_STRING, TO(input), "DATA",
     "samples, and 'label' for accuracy and confusion; or a folder with a subfolder of images per class",
     .file = CLI_READ},
    {"--compare", REPORT, CLI_STRING, TO(compare), "OLD.json|OLD.html", "an older report of the model: what changed",
     .file = CLI_READ},
    {"--output", TUNE, CLI_STRING, TO(output), "BEST.pte", "where the best program goes", .alias = "-o",
     .file = CLI_WRITTEN},
    {"--input", RUN, CLI_STRING, TO(input), "DATA",
     "inputs by name or in order, samples along axis 0: .npz, .npy, a folder of .npy or of images", .alias = "-i",
     .file = CLI_READ, .missing = "--input DATA is missing: it holds the inputs"},
    {"--output", RUN, CLI_STRING, TO(output), "FILE.npz", "where the outputs go; without it they are printed",
     .alias = "-o", .file = CLI_WRITTEN},
    {"--profile", RUN, CLI_FLAG, TO(profile), NULL,
     "print the cycles of every operator and NPU kernel (compile with --profile for labels and lines)"},
    {"--etdump", RUN, CLI_STRING, TO(etdump), "FILE.etdump", "write them for ExecuTorch's Inspector",
     .file = CLI_WRITTEN},
    {"--dataset", EVALUATE, CLI_STRING, TO(input), "DATA",
     "inputs, samples along axis 0, and 'label' for accuracy; or a folder with a subfolder of images per class",
     .missing = "--dataset DATA is missing: it holds the inputs"},
    {"--reference", EVALUATE, CLI_STRING, TO(reference), "MODEL.pt2", "the model to compare with: SQNR and agreement"},
    {"--shard", EVALUATE, CLI_STRING, TO(shard), "I/N",
     "with --json: part I of N of the samples, for 'nucleon merge-evaluations'"},
    {"--quantized", EVALUATE, CLI_STRING, TO(quantized), "MODEL.pt2",
     "what the program was compiled from, of 'nucleon quantize': SQNR at every node"},
    {"--target", PLACES | CONVERT | QUANTIZE | EVALUATE, CLI_STRING, TO(o.target), "NAME",
     "imxrt700 (default); 'nucleon targets' lists them", .needs = CLI_A_QUANTIZED, .name_at = nuc_target_name},
    {"--target", RUN, CLI_STRING, TO(o.target), "NAME",
     "the chip whose cycles --profile and --etdump tell (default imxrt700)", .needs = CLI_A_PROFILE,
     .name_at = nuc_target_name},
    {"--io", MAKES | EXPLAIN, CLI_CHOICE, TO(o.io), "float|int8",
     "what the program takes and gives (default float); int8: the values inside, and the program gives their scales",
     CHOICES("float", "int8")},
    {"--accuracy", CALIBRATES, CLI_CHOICE, TO(o.accuracy), "fast|default|high",
     "seconds spent on accuracy: fast runs no quantized network, high changes weights, too",
     CHOICES("fast", "default", "high"), .needs = CLI_FLOAT_MODEL | CLI_FREE_TO_CHOOSE},
    {"--no-quantize", COMPILE | REPORT, CLI_FLAG, TO(o.no_quantize), NULL,
     "a float program for the CPU: no calibration, nothing on the NPU"},

    GROUP("Demands (exit code 3 when one does not hold)"),
    {"--require-full-delegation", PLACES, CLI_FLAG, TO(o.require_full_delegation), NULL,
     "no operator stays on the CPU"},
    {"--memory-budget", MAKES | EXPLAIN, CLI_BYTES, TO(o.memory_budget), "BYTES",
     "arena and NPU scratch need no more: 300k is 300,000, 64Ki 65,536; int8 operators on a CPU are computed in strips "
     "of rows where that makes it fit; else a table shows what is alive at the peak"},
    {"--cycle-budget", EXPLAIN | TUNE, CLI_CYCLES, TO(cycle_budget), "N",
     "an inference takes at most N cycles, by estimate: 300k, 1.5M"},
    {"--min-accuracy", EVALUATE | MERGE_EVALUATIONS | REPORT, CLI_SHARE, TO(evaluate.min_accuracy), "PERCENT",
     "as many decisions are right; of several outputs the worst counts"},
    {"--min-agreement", EVALUATE | MERGE_EVALUATIONS | REPORT, CLI_SHARE, TO(evaluate.min_agreement), "PERCENT",
     "program and reference agree in as many decisions"},
    {"--min-sqnr", EVALUATE | MERGE_EVALUATIONS | REPORT, CLI_REAL, TO(evaluate.min_sqnr), "DB",
     "no output's SQNR is lower"},
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
    {"--observer", CALIBRATES, CLI_CHOICE, TO(o.observer), "NAME",
     "ranges of activations: auto (default), histogram, minmax, mse, percentile, moving-average",
     CHOICES("auto", "histogram", "minmax", "mse", "percentile", "moving-average"), .needs = CLI_FLOAT_MODEL},
    {"--weights", CALIBRATES, CLI_CHOICE, TO(o.weights), "per-channel|per-tensor",
     "scales of convolution weights (default per-channel)", CHOICES("per-channel", "per-tensor"),
     .needs = CLI_FLOAT_MODEL},
    {"--equalize", CALIBRATES, CLI_FLAG, TO(o.equalize), NULL,
     "even out the ranges of weight channels across layers first", .needs = CLI_FLOAT_MODEL},
    {"--bias-correction", CALIBRATES, CLI_SET, TO(o.bias_correction), NULL,
     "take the mean error of rounded weights off the biases; by default where calibration samples gain by it",
     .value = NUC_BIAS_CORRECTION_ON, .needs = CLI_FLOAT_MODEL | CLI_FREE_TO_CHOOSE},
    {"--no-bias-correction", CALIBRATES, CLI_SET, TO(o.bias_correction), NULL, "leave biases as they are",
     .value = NUC_BIAS_CORRECTION_OFF, .needs = CLI_FLOAT_MODEL},
    {"--reference-compat", CALIBRATES, CLI_FLAG, TO(o.reference_compat), NULL,
     "reproduce the reference backend's decisions where nucleon would do better"},
    {"--threads", CALIBRATES, CLI_NUMBER, TO(o.threads), "N", "threads of the calibration (default: one per core)",
     .needs = CLI_FLOAT_MODEL},

    GROUP("Where operators run"),
    {"--no-delegate", PLACES, CLI_SET, TO(o.delegate), NULL, "leave everything on the CPU", .value = false},
    {"--operators-not-to-delegate", PLACES, CLI_LIST, TO(o.operators_not_to_delegate), "LIST",
     "operators (aten.add.Tensor, aten::add, add) or nodes (layers.0/add) that stay on the CPU; * and ? as in a shell",
     COUNT_IN(o.n_operators_not_to_delegate), .needs = CLI_AN_NPU},
    {"--placement", PLACES, CLI_CHOICE, TO(o.placement), "greedy|cost",
     "what the NPU could run: all of it there, or where the model takes the fewest cycles (default)",
     CHOICES("greedy", "cost"), .needs = CLI_AN_NPU | CLI_FREE_PLACEMENT | CLI_FREE_TO_CHOOSE},
    {"--dim-order", PLACES, CLI_CHOICE, TO(o.dim_order), "ORDER",
     "memory order of 4-D inputs and weights: as-is (default), contiguous, channels-last, or auto: the faster",
     CHOICES("as-is", "contiguous", "channels-last", "auto")},
    {"--preserve-ops", PLACES, CLI_LIST, TO(o.preserve_ops), "LIST",
     "ATen operators kept whole where the NPU takes them; by default pad, prelu, hardswish", COUNT_IN(o.n_preserve_ops),
     .needs = CLI_AN_NPU},
    {"--allow-no-op-partitions", PLACES, CLI_FLAG, TO(o.allow_no_op_partitions), NULL,
     "delegate partitions that compute nothing, too", .needs = CLI_AN_NPU},
    {"--executorch-ops-only", PLACES, CLI_FLAG, TO(o.executorch_ops_only), NULL,
     "no operator that ExecuTorch's runtime does not have: what nucleon has a kernel of its own for is decomposed"},
    {"--converter-flavor", PLACES | OPS, CLI_STRING, TO(o.converter_flavor), "NAME",
     "operator rule set: sdk-3.2 (default) or sdk-3.1", .needs = CLI_AN_NPU | CLI_ONE_RULE_SET,
     .name_at = nuc_flavor_name},
    {"--force-delegate-cat", PLACES, CLI_FLAG, TO(o.force_delegate_cat), NULL,
     "sdk-3.1: delegate concatenations of any size", .needs = CLI_AN_NPU | CLI_SDK_3_1},
    {"--neutron-format-conversion", MAKES, CLI_CHOICE, TO(o.use_neutron_for_format_conversion), "on|off",
     "the NPU transposes contiguous inputs and outputs (default on); off: the CPU does", CHOICES("on", "off"),
     .value = true, .needs = CLI_AN_NPU},

    GROUP("Memory"),
    {"--memory-map", COMPILE, CLI_STRING, TO(o.memory_map), "FILE",
     "write where every tensor lies and when it lives: a table, or a picture when FILE ends in .svg",
     .file = CLI_WRITTEN},
    {"--plan-delegate-scratch", MAKES, CLI_FLAG, TO(o.plan_delegate_scratch), NULL,
     "the arena holds the NPU scratch, too: less memory with nucleon's runtime, more with others", .needs = CLI_AN_NPU},
    {"--fetch-constants-to-sram", MAKES | EXPLAIN | CONVERT, CLI_FLAG, TO(o.fetch_constants_to_sram), NULL,
     "weights lie in flash: they are copied to a staging buffer while the NPU computes", .needs = CLI_AN_NPU},

    GROUP("What the program holds"),
    {"--profile", MAKES, CLI_FLAG, TO(o.profile), NULL,
     "the program records the time of each NPU kernel: see 'nucleon run --profile'", .needs = CLI_AN_NPU},
    {"--classes", MAKES, CLI_LIST, TO(o.classes), "FILE|LIST",
     "names of the classes by index, one per line or between commas (default: the folders of calibration images)",
     COUNT_IN(o.n_classes)},
    {"--no-metadata", MAKES, CLI_FLAG, TO(o.no_metadata), NULL,
     "leave out what the program says about its data: names, classes, ranges, how images were prepared"},
    {"--delegate-data", MAKES, CLI_CHOICE, TO(o.delegate_data), "inline|segment",
     "where the NPU payload lies in the program (default inline)", CHOICES("inline", "segment"), .needs = CLI_AN_NPU},
    {"--payload-version", MAKES, CLI_CHOICE, TO(o.payload_version_0), "1|0",
     "of the NPU payload (default 1); 0: for older runtimes of the driver, without profiles", CHOICES("1", "0"),
     .needs = CLI_AN_NPU},
    {"--extra-flags", MAKES, CLI_TEXT, TO(o.extra_flags), "FLAGS", "given in the program's compile spec compile_flags",
     .needs = CLI_AN_NPU},

    GROUP("Images as data"),
    {"--mean", READS_DATA, CLI_FLOATS, TO(o.image_mean), "R,G,B",
     "images: taken from pixel / 255 (default 0; one number: for all channels)", COUNT_IN(o.n_image_mean),
     .needs = CLI_IMAGES},
    {"--std", READS_DATA, CLI_FLOATS, TO(o.image_std), "R,G,B", "images: what that is divided by (default 1)",
     COUNT_IN(o.n_image_std), .needs = CLI_IMAGES},
    {"--resize", READS_DATA, CLI_CHOICE, TO(o.image_resize), "none|stretch|crop",
     "images of another size than the input: refuse, scale, or scale the centre (default: as in calibration)",
     CHOICES("auto", "none", "stretch", "crop"), .needs = CLI_IMAGES},
    {"--unlike-calibration", RUN | EVALUATE | TUNE | REPORT, CLI_FLAG, TO(o.unlike_calibration), NULL,
     "take data in another unit, or images prepared otherwise, than for calibration"},

    GROUP("The converter of partitions"),
    {"--converter", MAKES, CLI_STRING, TO(o.converter), "builtin|COMMAND",
     "what converts partitions (default builtin): a program that takes --input, --output and --target",
     CHOICES("builtin"), .needs = CLI_AN_NPU},
    {"--converter-timeout", MAKES, CLI_COUNT, TO(o.converter_timeout), "SECONDS",
     "time it has for each partition (default 300)", .needs = CLI_AN_NPU | CLI_A_CONVERTER},
    {"--intermediates-dir", COMPILE, CLI_STRING, TO(o.intermediates_dir), "DIR",
     "write each partition's LiteRT model to DIR/<tag>_pure.et.tflite, converted to DIR/<tag>_neutron.et.tflite",
     .file = CLI_FOLDER, .needs = CLI_AN_NPU},
    {"--dump-kernel-selection", COMPILE, CLI_STRING, TO(o.dump_kernel_selection), "FILE.c",
     "write the table of the NPU kernels needed, to link instead of the driver's", .file = CLI_WRITTEN},
    {"--min-num-ops-per-graph", CONVERT, CLI_NUMBER, TO(convert.min_operators), "N",
     "leave groups of fewer operators as they are (default 1)"},
    {"--exclude-graph-passes", CONVERT, CLI_LIST, TO(excluded_passes), "LIST",
     "passes of the vendor's converter that nucleon's does not have: HoistSliceAboveTranspose, MergeTranspose",
     COUNT_IN(n_excluded_passes)},
    {"--use-profiling", CONVERT, CLI_FLAG, TO(convert.profile), NULL, "programs record the time of each kernel"},

    GROUP("The simulator"),
    {"--threads", RUN, CLI_NUMBER, TO(simulator.threads), "N", "threads of the simulator (default: 1)",
     .needs = CLI_NPU_PARTS},
    {"--threads", EVALUATE, CLI_NUMBER, TO(simulator.threads), "N",
     "threads of the reference (default: one per core) and of the simulator (default: 1)"},
    {"--simulator", RUN | EVALUATE, CLI_CHOICE, TO(simulator.path), "PATH",
     "instructions of the simulator: best (default), plain, avx2, avx512vnni, neondot; the results are the same",
     CHOICES("best", "plain", "avx2", "avx512vnni", "neondot"), .needs = CLI_NPU_PARTS},

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
    {"--dump-after", COMPILE, CLI_STRING, TO(o.dump_after), "NAME",
     "print the graph after a stage or pass ('all': after each stage; 'help' lists them)", .list = list_dump_points,
     .name_at = dump_name},
    {"--help", EVERY, CLI_FLAG, TO(help), NULL, "this text; 'nucleon help COMMAND', too", .alias = "-h"},
};

const size_t cli_n_options = sizeof cli_options / sizeof cli_options[0];

_Static_assert(sizeof cli_options / sizeof cli_options[0] <= CLI_MAX_OPTIONS, "struct cli_args has a mark per option");
