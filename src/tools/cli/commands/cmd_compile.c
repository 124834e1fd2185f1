/* nucleon compile: a program, what it takes, and why an option had no effect. */
#include <stdio.h>
#include <string.h>

#include "nucleon/json.h"
#include "tools/cli/commands/commands.h"
#include "tools/cli/terminal/json_output.h"

static void dump(void *user, const char *stage, const char *text)
{
    (void)user;
    cli_printf("== %s\n%s", stage, text);
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- the summary: at most ten lines ---- */

/* Why nothing is on the NPU. */
static const char *why_none(const struct nuc_program_report *r, const struct cli_args *args)
{
    return !r->has_npu           ? "the target has no NPU"
           : args->o.no_quantize ? "nothing is quantized"
           : !args->o.delegate   ? "nothing is delegated"
                                 : "'nucleon explain' says why";
}

static void print_latency(const struct nuc_program_report *r)
{
    char time[32];

    if (r->cycles == 0) {
        cli_print_row("latency", "unknown: there is no model of this converter's kernels");
        return;
    }
    cli_time_text(r->cycles, r->clock_hz, time, sizeof time);
    cli_print_row("latency", "about %s at %.0f MHz: %s cycles, NPU %s, CPU %s", time, r->clock_hz * 1e-6,
                  cli_commas(r->cycles), cli_commas(r->npu_cycles), cli_commas(r->cycles - r->npu_cycles));
}

static void print_memory(const struct nuc_program_report *r)
{
    if (r->n_partitions == 0)
        cli_print_row("memory", "arena %s bytes", cli_commas(r->arena));
    else if (r->scratch_in_arena)
        cli_print_row("memory", "arena %s bytes, NPU scratch %s inside", cli_commas(r->arena),
                      cli_commas(r->delegate_scratch));
    else
        cli_print_row("memory", "%s bytes: arena %s, NPU scratch %s", cli_commas(r->arena + r->delegate_scratch),
                      cli_commas(r->arena), cli_commas(r->delegate_scratch));
    for (size_t i = 0; i < r->n_banks; i++) {
        const struct nuc_bank_use *b = &r->banks[i];
        char rest[160] = "";
        if (b->temporary > 0)
            snprintf(rest, sizeof rest, ", NPU calls %s", cli_commas(b->temporary));
        if (b->states > 0)
            snprintf(rest + strlen(rest), sizeof rest - strlen(rest), ", states %s", cli_commas(b->states));
        if (b->weights > 0)
            snprintf(rest + strlen(rest), sizeof rest - strlen(rest), ", weights %s", cli_commas(b->weights));
        cli_print_row("bank", "%s %s of %s bytes: buffers %s%s", b->name,
                      cli_commas(b->planned + b->temporary + b->states + b->weights), cli_commas(b->size),
                      cli_commas(b->planned), rest);
    }
    if (r->fetched > 0)
        cli_print_row("flash", "%s bytes of weights, fetched in %s cycles, %s by a DMA", cli_commas(r->fetched),
                      cli_commas(r->fetch_cycles), cli_commas(r->fetch_cycles_by_dma));
    if (r->n_strip_stages > 0)
        cli_print_row("strips", "%zu in %zu stage%s, %.1f %% more cycles: %s bytes without", r->n_strips,
                      r->n_strip_stages, plural(r->n_strip_stages),
                      100 * (double)r->strip_cycles / (double)r->plain_cycles, cli_commas(r->plain_arena));
}

static void print_stream(const struct nuc_stream_report *s)
{
    if (s == NULL)
        return;
    cli_print_row("stream",
                  "a hop of %lld frame%s, %lld late: %.3g of the window's multiply-accumulates, rings of %s "
                  "bytes",
                  (long long)s->hop, plural((size_t)s->hop), (long long)s->latency,
                  s->window_macs > 0 ? s->macs / s->window_macs : 1, cli_commas(s->ring_bytes));
    if (s->window_from != NULL)
        cli_print_row("window", "from %s on the latest %lld frames are computed anew", s->window_from,
                      (long long)(s->window + s->overhang));
}

/* What --dim-order auto chose: the row of the table that begins with a star. */
static void print_dim_order(const struct nuc_compiler *c)
{
    const char *table = nuc_dim_order_table(c), *star = table != NULL ? strstr(table, "\n*") : NULL;

    if (star == NULL)
        return;
    star += 2 + strspn(star + 2, " ");
    const char *end = strstr(star, "  ");
    size_t length = end != NULL ? (size_t)(end - star) : strlen(star);
    cli_print_row("dim order", "%.*s takes the fewest cycles; --verbose shows all", (int)length, star);
}

static void print_summary(const struct nuc_compiler *c, const struct cli_args *args, const struct nuc_program_report *r)
{
    char file[128];

    cli_printf("%s", cli_file_text(args->output, file, sizeof file));
    if (cli_warnings() > 0)
        cli_printf(" (%zu note%s above)", cli_warnings(), plural(cli_warnings()));
    cli_put("\n");
    size_t rest = r->n_operators - r->n_operators_delegated;
    char in_float[80] = "", on_cpu[120] = "", in_int16[40] = "";
    if (r->n_cpu_int16 > 0)
        snprintf(in_int16, sizeof in_int16, "%zu in int16, ", r->n_cpu_int16);
    if (r->n_cpu_int8 + r->n_cpu_int16 + r->n_cpu_integers + r->n_cpu_float > 0)
        snprintf(in_float, sizeof in_float, " (%s%zu in float)", in_int16, r->n_cpu_float);
    if (rest > 0)
        snprintf(on_cpu, sizeof on_cpu, ", CPU %zu%s", rest, in_float);
    if (r->n_partitions > 0)
        cli_print_row("placement", "NPU %zu of %zu operator%s in %zu partition%s%s", r->n_operators_delegated,
                      r->n_operators, plural(r->n_operators), r->n_partitions, plural(r->n_partitions), on_cpu);
    else
        cli_print_row("placement", "CPU %zu of %zu operator%s%s: %s", rest, r->n_operators, plural(r->n_operators),
                      in_float, why_none(r, args));
    print_latency(r);
    print_memory(r);
    print_stream(r->stream);
    print_dim_order(c);
    cli_print_quality(c);
    if (r->n_executorch_lacks > 0)
        cli_print_row("runtime", "nucleon's: ExecuTorch has no kernel for %zu instruction%s", r->n_executorch_lacks,
                      plural(r->n_executorch_lacks));
    size_t length = strlen(r->converter), room = 20;
    bool is_long = length > room;
    if (r->n_partitions > 0)
        cli_print_row("made by", "%s%s: %s", is_long ? ".." : "",
                      strcmp(r->converter, "nucleon") == 0 ? "nucleon's converter"
                      : is_long                            ? r->converter + length - (room - 2)
                                                           : r->converter,
                      r->runs_on_simulator ? "runs on the simulator, not on silicon"
                                           : "microcode for firmware, not for the simulator");
    if (args->self_test > 0)
        cli_print_row("next", "'nucleon run' compares its test cases; a self-test of the firmware: docs/firmware.md");
}

/* ---- --verbose ---- */

void cli_print_program(const struct nuc_compiler *c, const struct cli_args *args)
{
    struct nuc_program_report r;

    if (nuc_program_report(c, &r) != NUC_OK || args->quiet)
        return;
    print_summary(c, args, &r);
    if (args->verbose) {
        cli_print_row("arena", "%s bytes are alive at the peak%s", cli_commas(r.arena_lower_bound),
                      r.arena_proven ? ": proven optimal" : "");
        if (r.n_partitions > 0) {
            cli_print_row("scratch", "%s bytes are alive at the peak%s", cli_commas(r.scratch_bound),
                          r.scratch_proven ? ": proven optimal" : "");
            cli_print_row("NPU", "%zu transpose%s (%s bytes), %s bytes of microcode and weights", r.n_transposes,
                          plural(r.n_transposes), cli_commas(r.moved_bytes), cli_commas(r.delegate_data));
        }
        if (r.n_strip_stages > 0)
            cli_print_row("strips", "about %s cycles more, %s without", cli_commas(r.strip_cycles),
                          cli_commas(r.plain_cycles));
        if (r.fetched > 0)
            cli_print_row("staging", "%s bytes of SRAM for weights from flash", cli_commas(r.staging));
        if (r.n_executorch_lacks > 0)
            cli_print_row("lacking", "%s; --executorch-ops-only does without", r.executorch_lacks);
        cli_print_calibration(c);
        if (nuc_dim_order_table(c) != NULL)
            cli_printf("\n%s", nuc_dim_order_table(c));
    }
}

/* Also of a program that exceeds its budget and is not written. */
static int add_json(struct nuc_compiler *c, int code)
{
    struct nuc_program_report r;
    const char *text;

    if (nuc_program_report(c, &r) != NUC_OK)
        return code;
    int failed = cli_result(c, nuc_program_json(c, &text), &text);
    return code == CLI_OK ? failed : code;
}

/* The program with test cases, whose outputs it computes itself on the simulator. */
static enum nuc_status compile_bundle(struct nuc_compiler *c, const struct cli_args *args)
{
    struct nuc_dataset *samples = NULL;
    struct nuc_runner *r = NULL;
    struct nuc_model *m;
    const uint8_t *bytes;
    size_t size;
    enum nuc_status s = nuc_model_open(c, args->positional[0], &m);

    if (s == NUC_OK && args->calibration != NULL)
        s = nuc_dataset_open(c, args->calibration, &samples);
    if (s == NUC_OK)
        s = nuc_compile_to_memory(m, samples, &bytes, &size);
    if (s == NUC_OK)
        s = nuc_runner_open_bytes(c, args->output, bytes, size, NULL, &r);
    if (s == NUC_OK)
        s = nuc_runner_write_bundle(r, samples, m, args->self_test, args->output);
    nuc_runner_close(r);
    return s;
}

static bool has_quantized(const struct nuc_compiler *c)
{
    struct nuc_timing stages[64];
    size_t count = nuc_timings(c, stages, sizeof stages / sizeof *stages);
    bool has = false;

    for (size_t i = 0; i < count && i < sizeof stages / sizeof *stages; i++)
        has = has || strcmp(stages[i].stage, "quantize") == 0;
    return has;
}

static int compile(struct nuc_compiler *c, struct cli_args *args)
{
    int code = cli_warn_for_target(c, args);

    if (code != CLI_OK)
        return code;
    /* A model that is open stays as it is, and is held beside what becomes of it. */
    enum nuc_status status = args->self_test > 0
                                 ? compile_bundle(c, args)
                                 : nuc_compile_file(c, args->positional[0], args->calibration, args->output);
    char why[CLI_MESSAGE];
    snprintf(why, sizeof why, "%s is quantized already", args->positional[0]);
    if (args->o.no_quantize)
        cli_warn_unused_options(args, CLI_FLOAT_MODEL, "nothing is quantized");
    else if (status == NUC_OK && !has_quantized(c))
        cli_warn_unused_options(args, CLI_FLOAT_MODEL, why);
    code = cli_check(c, status);
    if (args->json)
        return add_json(c, code);
    if (status == NUC_OK)
        cli_print_program(c, args);
    if (status == NUC_PROPERTY && !args->quiet) {
        /* When it is the memory that was too much. */
        const char *text;
        if (nuc_memory_map(c, NUC_MAP_PEAK, &text) == NUC_OK)
            cli_put(text);
    }
    if (status == NUC_OK && args->timings)
        cli_print_timings(c);
    return code;
}

int cli_compile(struct cli_args *args)
{
    const char *suffix = strrchr(args->output, '.');

    if (suffix != NULL && args->self_test > 0 && strcmp(suffix, ".pte") == 0)
        return cli_usage("compile: -o %s: --self-test writes a bundled program, whose name ends in .bpte",
                         args->output);
    if (suffix != NULL && args->self_test == 0 && strcmp(suffix, ".bpte") == 0)
        return cli_usage(
            "compile: -o %s: a bundled program has test cases: say how many, from 1 on, with --self-test N, or name "
            "the program .pte",
            args->output);
    if (args->json && args->o.dump_after != NULL)
        return cli_usage(
            "compile: --json prints one object, without the graphs of --dump-after: leave one of them out");
    args->o.dump = dump;
    return cli_with_compiler(args, compile);
}
