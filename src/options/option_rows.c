/* The options of a compilation, in the order of their help: those that most people need first. */
#include <string.h>

#include "options/options.h"

#define TO(member) .offset = offsetof(struct nuc_options, member), .size = sizeof(((struct nuc_options *)0)->member)
#define COUNT_IN(member) .count = offsetof(struct nuc_options, member)
#define CHOICES(...)                                                                                                   \
    .choices = (const char *const[])                                                                                   \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }

const struct nuc_option_info nuc_option_rows[] = {
    {"target", NUC_OPTION_STRING, "NAME", "imxrt700 (default); 'nucleon targets' lists them", TO(target)},
    {"cpu", NUC_OPTION_CHOICE, "auto|int8|float",
     "how the CPU computes what the NPU does not: auto (default) takes int8 where the cycles are worth the decibels",
     TO(cpu), CHOICES("auto", "int8", "float")},
    {"io", NUC_OPTION_CHOICE, "float|int8",
     "element type of inputs and outputs (default float); int8: raw quantized values, whose scale and zero point are "
     "stored in the program",
     TO(io), CHOICES("float", "int8")},
    {"accuracy", NUC_OPTION_CHOICE, "fast|default|high",
     "effort spent on accuracy: fast skips the search, high takes more samples", TO(accuracy),
     CHOICES("fast", "default", "high")},
    {"size", NUC_OPTION_LIST, "NAME=N,...",
     "sizes that a model exported with dynamic_shapes leaves open: a dimension of an input (x.2=64) or torch's symbol "
     "(s39=32); default: those of the calibration data, or of the example inputs",
     TO(sizes), COUNT_IN(n_sizes)},
    {"signature", NUC_OPTION_STRING, "NAME", "of a LiteRT model with several ways to call it: the one that is compiled",
     TO(signature)},
    {"rewrite", NUC_OPTION_LIST, "NAME[@NODE],...",
     "changes of the model's source that 'nucleon explain' names, made without it: everywhere, or at nodes by label or "
     "name; * and ? as in a shell",
     TO(rewrites), COUNT_IN(n_rewrites)},
    {"stream", NUC_OPTION_STRING, "AXIS[:HOP]",
     "a network over a window of time, dimension AXIS of its input, becomes one that takes HOP new frames (default: as "
     "few as go) and remembers what it needs of the others",
     TO(stream)},
    {"front-end", NUC_OPTION_STRING, "FILE.json|JSON",
     "what makes the model's input of a sensor's values (docs/applications.md): the program takes these",
     TO(front_end)},
    {"no-quantize", NUC_OPTION_FLAG, NULL, "a float program for the CPU: no calibration, nothing on the NPU",
     TO(no_quantize), .set = true},
    {"require-full-delegation", NUC_OPTION_FLAG, NULL, "no operator stays on the CPU", TO(require_full_delegation),
     .set = true},
    {"memory-budget", NUC_OPTION_BYTES, "BYTES",
     "arena and NPU scratch need no more: 300k is 300,000, 64Ki and 64K 65,536; int8 operators on a CPU are computed "
     "in strips of rows where that makes it fit; else a table shows what is alive at the peak",
     TO(memory_budget)},
    {"memory", NUC_OPTION_LIST, "NAME=SIZE,...",
     "banks of SRAM that the buffers are split over, by the target's names ('nucleon targets'); may be given for each",
     TO(memories), COUNT_IN(n_memories)},
    {"weights-memory", NUC_OPTION_STRING, "NAME",
     "where the weights of the NPU, or of a program without it, lie: flash, or a bank, which then has to have room",
     TO(weights_memory)},
    {"observer", NUC_OPTION_CHOICE, "NAME",
     "ranges of activations: auto (default), histogram, minmax, mse, percentile, moving-average", TO(observer),
     CHOICES("auto", "histogram", "minmax", "mse", "percentile", "moving-average")},
    {"weights", NUC_OPTION_CHOICE, "per-channel|per-tensor", "scales of convolution weights (default per-channel)",
     TO(weights), CHOICES("per-channel", "per-tensor")},
    {"activations", NUC_OPTION_CHOICE, "int8|int16|mixed",
     "values between operators: int8 (default), int16, with which the CPU computes, or mixed: int16 where up to a "
     "quarter more cycles gain most",
     TO(activations), CHOICES("int8", "int16", "mixed")},
    {"precision", NUC_OPTION_LIST, "PATTERN=int8|int16|float,...",
     "of operators by label, name or module (decoder.*=int16); * and ? as in a shell; the last one that matches holds",
     TO(precision), COUNT_IN(n_precision)},
    {"no-bias-correction", NUC_OPTION_FLAG, NULL, "leave the mean error of rounded weights in the results",
     TO(bias_correction), .set = false},
    {"reference-compat", NUC_OPTION_FLAG, NULL,
     "reproduce the reference backend's decisions where nucleon would do better", TO(reference_compat), .set = true},
    {"threads", NUC_OPTION_NUMBER, "N", "threads of the calibration (default: one per core)", TO(threads)},
    {"no-delegate", NUC_OPTION_FLAG, NULL, "leave everything on the CPU", TO(delegate), .set = false},
    {"operators-not-to-delegate", NUC_OPTION_LIST, "LIST",
     "operators (aten.add.Tensor, aten::add, add) or nodes (layers.0/add) that stay on the CPU; * and ? as in a shell",
     TO(operators_not_to_delegate), COUNT_IN(n_operators_not_to_delegate)},
    {"placement", NUC_OPTION_CHOICE, "greedy|cost",
     "what the NPU could run: all of it there, or where the model takes the fewest cycles (default)", TO(placement),
     CHOICES("greedy", "cost")},
    {"dim-order", NUC_OPTION_CHOICE, "ORDER",
     "memory order of 4-D inputs and weights: as-is (default), contiguous, channels-last, or auto: the faster",
     TO(dim_order), CHOICES("as-is", "contiguous", "channels-last", "auto")},
    {"preserve-ops", NUC_OPTION_LIST, "LIST",
     "ATen operators kept whole where the NPU takes them; by default pad, prelu, hardswish", TO(preserve_ops),
     COUNT_IN(n_preserve_ops)},
    {"allow-no-op-partitions", NUC_OPTION_FLAG, NULL, "delegate partitions that compute nothing, too",
     TO(allow_no_op_partitions), .set = true},
    {"executorch-ops-only", NUC_OPTION_FLAG, NULL,
     "no operator that ExecuTorch's runtime does not have: what nucleon has a kernel of its own for is decomposed",
     TO(executorch_ops_only), .set = true},
    {"converter-flavor", NUC_OPTION_STRING, "NAME", "operator rule set: sdk-3.2 (default) or sdk-3.1",
     TO(converter_flavor)},
    {"force-delegate-cat", NUC_OPTION_FLAG, NULL, "sdk-3.1: delegate concatenations of any size",
     TO(force_delegate_cat), .set = true},
    {"neutron-format-conversion", NUC_OPTION_CHOICE, "on|off",
     "the NPU transposes contiguous inputs and outputs (default on); off: the CPU does",
     TO(use_neutron_for_format_conversion), CHOICES("on", "off"), .set = true},
    {"memory-map", NUC_OPTION_STRING, "FILE",
     "write where every tensor lies and when it lives: a table, or a picture when FILE ends in .svg", TO(memory_map)},
    {"plan-delegate-scratch", NUC_OPTION_FLAG, NULL,
     "the arena holds the NPU scratch, too: less memory with nucleon's runtime, more with others",
     TO(plan_delegate_scratch), .set = true},
    {"fetch-constants-to-sram", NUC_OPTION_FLAG, NULL,
     "weights lie in flash: they are copied to a staging buffer while the NPU computes", TO(fetch_constants_to_sram),
     .set = true},
    {"profile", NUC_OPTION_FLAG, NULL, "the program records the time of each NPU kernel: see 'nucleon run --profile'",
     TO(profile), .set = true},
    {"classes", NUC_OPTION_LIST, "FILE|LIST",
     "names of the classes by index, one per line or between commas (default: the folders of calibration images)",
     TO(classes), COUNT_IN(n_classes)},
    {"decision", NUC_OPTION_STRING, "FILE.json|JSON",
     "what the outputs mean: boxes, keypoints, classes over time or anomalies; run, evaluate and firmware decide by it",
     TO(decision)},
    {"no-metadata", NUC_OPTION_FLAG, NULL,
     "leave out what the program says about its data: names, classes, ranges, how images were prepared",
     TO(no_metadata), .set = true},
    {"delegate-data", NUC_OPTION_CHOICE, "inline|segment", "where the NPU payload lies in the program (default inline)",
     TO(delegate_data), CHOICES("inline", "segment")},
    {"payload-version", NUC_OPTION_CHOICE, "1|0",
     "of the NPU payload (default 1); 0: for older runtimes of the driver, without profiles", TO(payload_version_0),
     CHOICES("1", "0")},
    {"extra-flags", NUC_OPTION_TEXT, "FLAGS", "given in the program's compile spec compile_flags", TO(extra_flags)},
    {"mean", NUC_OPTION_FLOATS, "R,G,B", "images: taken from pixel / 255 (default 0; one number: for all channels)",
     TO(image_mean), COUNT_IN(n_image_mean)},
    {"std", NUC_OPTION_FLOATS, "R,G,B", "images: what that is divided by (default 1)", TO(image_std),
     COUNT_IN(n_image_std)},
    {"resize", NUC_OPTION_CHOICE, "none|stretch|crop",
     "images of another size than the input: refuse, scale, or scale the centre (default: as in calibration)",
     TO(image_resize), CHOICES("auto", "none", "stretch", "crop")},
    {"unlike-calibration", NUC_OPTION_FLAG, NULL,
     "take data in another unit, or images prepared otherwise, than for calibration", TO(unlike_calibration),
     .set = true},
    {"converter", NUC_OPTION_STRING, "builtin|COMMAND",
     "what converts partitions (default builtin): a program that takes --input, --output and --target", TO(converter),
     CHOICES("builtin")},
    {"converter-timeout", NUC_OPTION_COUNT, "SECONDS", "time it has for each partition (default 300)",
     TO(converter_timeout)},
    {"intermediates-dir", NUC_OPTION_STRING, "DIR",
     "write each partition's LiteRT model to DIR/<tag>_pure.et.tflite, converted to DIR/<tag>_neutron.et.tflite",
     TO(intermediates_dir)},
    {"dump-kernel-selection", NUC_OPTION_STRING, "FILE.c",
     "write the table of the NPU kernels needed, to link instead of the driver's", TO(dump_kernel_selection)},
    {"dump-after", NUC_OPTION_STRING, "NAME",
     "print the graph after a stage or pass ('all': after each stage; 'help' lists them)", TO(dump_after)},
};

const size_t nuc_n_option_rows = sizeof nuc_option_rows / sizeof nuc_option_rows[0];

void nuc_options_default(struct nuc_options *options)
{
    *options = (struct nuc_options){
        .target = "imxrt700",
        .converter_flavor = "sdk-3.2",
        .delegate = true,
        .use_neutron_for_format_conversion = true,
        .accuracy = NUC_ACCURACY_DEFAULT,
        .bias_correction = true,
        .delegate_data = NUC_DELEGATE_INLINE,
        .placement = NUC_PLACEMENT_COST,
    };
}

void nuc_options_check(struct nuc_context *cx, const struct nuc_options *o)
{
    for (size_t i = 0; i < nuc_n_option_rows; i++) {
        const struct nuc_option_info *row = &nuc_option_rows[i];
        unsigned value, count = 0;
        if (row->kind != NUC_OPTION_CHOICE || row->size != sizeof value)
            continue;
        memcpy(&value, (const char *)o + row->offset, sizeof value);
        while (row->choices[count] != NULL)
            count++;
        if (value >= count)
            nuc_fail(cx, NUC_BAD_USAGE, "--%s: %u is not an enumerator: take one of compile.h", row->name, value);
    }
}

bool nuc_option_at(size_t index, struct nuc_option_info *out)
{
    if (index >= nuc_n_option_rows)
        return false;
    *out = nuc_option_rows[index];
    return true;
}

static bool is_called(const char *name, const char *text)
{
    for (; *name != '\0' && (*name == *text || (*name == '-' && *text == '_')); name++)
        text++;
    return *name == '\0' && *text == '\0';
}

const struct nuc_option_info *nuc_option_find(const char *name)
{
    if (strncmp(name, "--", 2) == 0)
        name += 2;
    for (size_t i = 0; i < nuc_n_option_rows; i++) {
        if (is_called(nuc_option_rows[i].name, name))
            return &nuc_option_rows[i];
    }
    return NULL;
}
