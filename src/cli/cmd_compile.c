#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/partition_options.h"
#include "cli/quantize_options.h"

static const char *const on_off[] = {"on", "off", NULL};
static const char *const segment_modes[] = {"inline", "segment", NULL};
static const char *const payload_versions[] = {"1", "0", NULL};
static const char *const io_types[] = {"float", "int8", NULL};

struct compile_flags {
    const char *output, *dump_after, *intermediates, *converter, *memory_map, *kernels, *extra_flags;
    unsigned converter_timeout, memory_budget;
    bool plan_delegate_scratch;
    bool timings, fetch, profile;
    int payload_version;
    int format_conversion, delegate_data, io;
    struct cli_partition_flags partition;
    struct cli_quantize_flags quantize;
};

static void dump(void *user, const char *stage, const char *text)
{
    (void)user;
    printf("== %s\n%s", stage, text);
}

static void fill_options(struct nuc_options *o, const struct compile_flags *f)
{
    nuc_options_default(o);
    cli_partition_apply(&f->partition, o);
    o->use_neutron_for_format_conversion = f->format_conversion == 0;
    o->intermediates_dir = f->intermediates;
    o->converter = f->converter;
    o->converter_timeout = f->converter_timeout;
    o->memory_map = f->memory_map;
    o->memory_budget = f->memory_budget;
    o->plan_delegate_scratch = f->plan_delegate_scratch;
    o->profile = f->profile;
    o->payload_version_0 = f->payload_version == 1;
    o->dump_kernel_selection = f->kernels;
    o->extra_flags = f->extra_flags;
    o->fetch_constants_to_sram = f->fetch;
    o->io = f->io == 0 ? NUC_IO_FLOAT : NUC_IO_INT8;
    o->delegate_data = f->delegate_data == 0 ? NUC_DELEGATE_INLINE : NUC_DELEGATE_SEGMENT;
    cli_quantize_apply(&f->quantize, o);
    o->dump_after = f->dump_after;
    o->dump = dump;
    o->warn = cli_warn;
    o->progress = cli_progress;
}

static void print_npu(const struct nuc_program_report *r, bool delegate)
{
    if (r->n_partitions == 0) {
        printf("  NPU      none of %zu nodes: %s\n", r->n_nodes,
               !r->has_npu ? "the target has no NPU"
               : !delegate ? "nothing is delegated"
                           : "'nucleon explain' says why none is on the NPU");
        return;
    }
    printf("  NPU      %zu of %zu nodes in %zu partition%s, %zu transpose%s (%zu bytes), %zu bytes of microcode "
           "and weights\n",
           r->n_delegated, r->n_nodes, r->n_partitions, r->n_partitions == 1 ? "" : "s", r->n_transposes,
           r->n_transposes == 1 ? "" : "s", r->moved_bytes, r->delegate_data);
}

static void print_memory(const struct nuc_program_report *r)
{
    printf("  memory   arena %zu bytes (%zu alive at the peak%s)", r->arena, r->arena_lower_bound,
           r->arena_proven ? ", proven optimal" : "");
    if (r->n_partitions != 0)
        printf(", NPU scratch %zu bytes (%zu%s)%s", r->delegate_scratch, r->scratch_bound,
               r->scratch_proven ? ", proven optimal" : "", r->scratch_in_arena ? " inside" : "");
    putchar('\n');
}

static void print_report(const struct nuc_compiler *c, const struct compile_flags *f)
{
    struct nuc_program_report r;

    if (nuc_program_report(c, &r) != NUC_OK)
        return;
    if (nuc_dim_order_table(c) != NULL)
        fputs(nuc_dim_order_table(c), stdout);
    printf("%s: %zu bytes\n", f->output, r.program);
    if (r.n_cpu_int8 + r.n_cpu_float > 0)
        printf("  CPU      %zu operator%s in int8, %zu in float\n", r.n_cpu_int8, r.n_cpu_int8 == 1 ? "" : "s",
               r.n_cpu_float);
    print_npu(&r, !f->partition.no_delegate);
    print_memory(&r);
    if (r.n_partitions == 0)
        return;
    printf("  made by %s: %s\n", strcmp(r.converter, "nucleon") == 0 ? "nucleon's converter" : r.converter,
           r.runs_on_simulator ? "runs on the simulator, not on silicon"
                               : "microcode for the firmware it was made for, not for the simulator");
}

/* When it is the memory that was too much. */
static void print_peak(struct nuc_compiler *c)
{
    const char *text;

    if (nuc_memory_map(c, NUC_MAP_PEAK, &text) == NUC_OK)
        fputs(text, stdout);
}

static int compile(const char *model, const struct compile_flags *f)
{
    struct nuc_options o;

    fill_options(&o, f);
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    if (c == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    enum nuc_status status = nuc_compile_file(c, model, f->quantize.calibration, f->output);
    int code = status == NUC_OK ? CLI_OK : cli_report(status, nuc_compiler_message(c));
    if (status == NUC_OK)
        print_report(c, f);
    if (status == NUC_PROPERTY)
        print_peak(c);
    if (status == NUC_OK && f->timings)
        cli_print_timings(c);
    nuc_compiler_free(c);
    return code;
}

int cli_compile(int argc, char **argv)
{
    struct compile_flags f = {.output = NULL};
    const struct cli_option own[] = {
        {"--output", "-o", CLI_STRING, &f.output, "FILE.pte", "where the program goes", NULL},
        {"--neutron-format-conversion", NULL, CLI_CHOICE, &f.format_conversion, "on|off",
         "the NPU transposes contiguous inputs and outputs (default on); off: the CPU does", on_off},
        {"--io", NULL, CLI_CHOICE, &f.io, "float|int8",
         "what the program takes and gives (default float); int8: the values inside, and the program tells their "
         "scales",
         io_types},
        {"--delegate-data", NULL, CLI_CHOICE, &f.delegate_data, "inline|segment",
         "where the NPU payload lies in the program (default inline)", segment_modes},
        {"--intermediates-dir", NULL, CLI_STRING, &f.intermediates, "DIR",
         "write each partition's LiteRT model to DIR/<tag>_pure.et.tflite, converted to DIR/<tag>_neutron.et.tflite",
         NULL},
        {"--converter", NULL, CLI_STRING, &f.converter, "builtin|COMMAND",
         "what converts partitions (default builtin): a program that takes --input, --output and --target", NULL},
        {"--converter-timeout", NULL, CLI_COUNT, &f.converter_timeout, "SECONDS",
         "time it has for each partition (default 300)", NULL},
        {"--memory-budget", NULL, CLI_COUNT, &f.memory_budget, "BYTES",
         "fail (exit code 3) when arena and NPU scratch need more, with a table of what is alive at the peak", NULL},
        {"--plan-delegate-scratch", NULL, CLI_FLAG, &f.plan_delegate_scratch, NULL,
         "the arena holds the NPU scratch, too: less memory with nucleon's runtime, more with others", NULL},
        {"--memory-map", NULL, CLI_STRING, &f.memory_map, "FILE",
         "write where every tensor lies and when it lives: a table, or a picture when FILE ends in .svg", NULL},
        {"--fetch-constants-to-sram", NULL, CLI_FLAG, &f.fetch, NULL,
         "weights lie in flash: they are copied to a staging buffer while the NPU computes", NULL},
        {"--dump-kernel-selection", NULL, CLI_STRING, &f.kernels, "FILE.c",
         "write the table of the NPU kernels needed, to link instead of the driver's", NULL},
        {"--extra-flags", NULL, CLI_TEXT, &f.extra_flags, "FLAGS", "told in the program's compile spec compile_flags",
         NULL},
        {"--payload-version", NULL, CLI_CHOICE, &f.payload_version, "1|0",
         "of the NPU payload (default 1); 0: for older runtimes of the driver, without profiles", payload_versions},
        {"--profile", NULL, CLI_FLAG, &f.profile, NULL,
         "the program records the time of each NPU kernel: see 'nucleon run --profile'", NULL},
        {"--dump-after", NULL, CLI_STRING, &f.dump_after, "STAGE", "print the graph after a stage ('all': after each)",
         NULL},
        {"--timings", NULL, CLI_FLAG, &f.timings, NULL, "print the seconds of each stage", NULL},
        {.name = NULL},
    };
    struct cli_option options[CLI_PARTITION_ROWS + sizeof own / sizeof own[0]], shared[CLI_QUANTIZE_ROWS];
    const struct cli_command command = {
        "compile",
        "MODEL.pt2|MODEL.tflite -o OUT.pte [--calibration DATA] [options]",
        "Compiles a torch.export archive or an int8 LiteRT model to an ExecuTorch program for the i.MX RT700.",
        options,
        shared,
        1,
        1,
    };
    const char *model[1];
    size_t count;
    bool stop;

    cli_partition_options(&f.partition, options);
    memcpy(options + CLI_PARTITION_ROWS, own, sizeof own);
    cli_quantize_options(&f.quantize, shared);
    int code = cli_parse(&command, argc, argv, model, &count, &stop);
    if (stop)
        return code;
    if (f.output == NULL)
        return cli_usage("compile: -o FILE.pte is missing: it says where the program goes");
    const struct cli_path paths[] = {{"the model", model[0], false},
                                     {"--calibration", f.quantize.calibration, false},
                                     {"--output", f.output, true},
                                     {"--memory-map", f.memory_map, true},
                                     {"--dump-kernel-selection", f.kernels, true}};
    code = cli_quantize_check("compile", &f.quantize);
    if (code == CLI_OK)
        code = cli_check_paths("compile", paths, sizeof paths / sizeof paths[0]);
    return code == CLI_OK ? compile(model[0], &f) : code;
}
