/* nucleon compile: a program, what it takes, and why an option had no effect. */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"

static void dump(void *user, const char *stage, const char *text)
{
    (void)user;
    cli_printf("== %s\n%s", stage, text);
}

/* The end of a long path is what tells programs apart. */
static void print_program(const char *path, size_t bytes)
{
    enum { ROOM = 80 - (int)sizeof ": 18446744073709551615 bytes" };
    size_t length = strlen(path);

    cli_printf("%s%s: %zu bytes\n", length > ROOM ? ".." : "", length > ROOM ? path + length - (ROOM - 2) : path,
               bytes);
}

static void print_npu(const struct nuc_program_report *r, bool delegate)
{
    if (r->n_partitions == 0) {
        cli_printf("  NPU      none of %zu operators: %s\n", r->n_operators,
                   !r->has_npu ? "the target has no NPU"
                   : !delegate ? "nothing is delegated"
                               : "'nucleon explain' says why none is on the NPU");
        return;
    }
    cli_printf("  NPU      %zu of %zu operators in %zu partition%s\n", r->n_operators_delegated, r->n_operators,
               r->n_partitions, r->n_partitions == 1 ? "" : "s");
    cli_printf("           %zu transpose%s (%zu bytes), %zu bytes of microcode and weights\n", r->n_transposes,
               r->n_transposes == 1 ? "" : "s", r->moved_bytes, r->delegate_data);
}

static void print_memory(const struct nuc_program_report *r)
{
    cli_printf("  memory   arena %zu bytes (%zu alive at the peak%s)", r->arena, r->arena_lower_bound,
               r->arena_proven ? ", proven optimal" : "");
    if (r->n_partitions != 0)
        cli_printf(",\n           NPU scratch %zu bytes (%zu%s)%s", r->delegate_scratch, r->scratch_bound,
                   r->scratch_proven ? ", proven optimal" : "", r->scratch_in_arena ? " inside" : "");
    cli_put("\n");
    if (r->fetched > 0)
        cli_printf("  flash    %zu bytes of weights, fetched to %zu bytes of SRAM: %llu cycles of the CPU,\n"
                   "           %llu when a DMA copies beside the kernels\n",
                   r->fetched, r->staging, (unsigned long long)r->fetch_cycles,
                   (unsigned long long)r->fetch_cycles_by_dma);
}

/* What the memory budget costs. */
static void print_strips(const struct nuc_program_report *r)
{
    if (r->n_strip_stages == 0)
        return;
    cli_printf("  strips   %zu in %zu stage%s for the budget, %zu bytes without them;\n"
               "           about %llu more cycles (%.1f %%)\n",
               r->n_strips, r->n_strip_stages, r->n_strip_stages == 1 ? "" : "s", r->plain_arena,
               (unsigned long long)r->strip_cycles, 100 * (double)r->strip_cycles / (double)r->plain_cycles);
}

static void print_executorch(const struct nuc_program_report *r)
{
    if (r->n_executorch_lacks == 0)
        return;
    cli_printf("  runtime  nucleon's: ExecuTorch has no kernel for %zu instruction%s:\n", r->n_executorch_lacks,
               r->n_executorch_lacks == 1 ? "" : "s");
    for (const char *name = r->executorch_lacks, *end; *name != '\0'; name = *end == '\0' ? end : end + 2) {
        end = name + strcspn(name, ",");
        cli_printf("           %.*s\n", (int)(end - name), name);
    }
    cli_printf("           --executorch-ops-only does without\n");
}

static void print_report(const struct nuc_compiler *c, const struct cli_args *args)
{
    struct nuc_program_report r;

    if (nuc_program_report(c, &r) != NUC_OK)
        return;
    if (nuc_dim_order_table(c) != NULL)
        cli_put(nuc_dim_order_table(c));
    print_program(args->output, r.program);
    if (r.n_cpu_int8 + r.n_cpu_float > 0)
        cli_printf("  CPU      %zu operator%s in int8, %zu in float\n", r.n_cpu_int8, r.n_cpu_int8 == 1 ? "" : "s",
                   r.n_cpu_float);
    print_npu(&r, args->o.delegate);
    print_memory(&r);
    print_strips(&r);
    print_executorch(&r);
    cli_print_calibration(c);
    cli_print_quality(c);
    if (r.n_partitions == 0)
        return;
    cli_printf("  made by %s: %s\n", strcmp(r.converter, "nucleon") == 0 ? "nucleon's converter" : r.converter,
               r.runs_on_simulator ? "runs on the simulator, not on silicon"
                                   : "microcode for the firmware it was made for, not for the simulator");
}

/* When it is the memory that was too much. */
static void print_peak(struct nuc_compiler *c)
{
    const char *text;

    if (nuc_memory_map(c, NUC_MAP_PEAK, &text) == NUC_OK)
        cli_put(text);
}

static void warn_for_model(const struct cli_args *args, const struct nuc_model *m)
{
    char why[CLI_MESSAGE];

    snprintf(why, sizeof why, "%s is quantized already", args->positional[0]);
    if (args->o.no_quantize)
        cli_warn_unused_options(args, CLI_FLOAT_MODEL, "nothing is quantized");
    else if (nuc_model_is_quantized(m))
        cli_warn_unused_options(args, CLI_FLOAT_MODEL, why);
}

static int compile(struct nuc_compiler *c, struct cli_args *args)
{
    struct nuc_model *m;
    int code = cli_warn_for_target(c, args);

    if (code != CLI_OK)
        return code;
    enum nuc_status status = nuc_model_open(c, args->positional[0], &m);
    if (status != NUC_OK)
        return cli_check(c, status);
    warn_for_model(args, m);
    status = nuc_compile_model(m, args->calibration, args->output);
    code = cli_check(c, status);
    if (status == NUC_OK)
        print_report(c, args);
    if (status == NUC_PROPERTY)
        print_peak(c);
    if (status == NUC_OK && args->timings)
        cli_print_timings(c);
    return code;
}

int cli_compile(struct cli_args *args)
{
    args->o.dump = dump;
    return cli_with_compiler(args, compile);
}
