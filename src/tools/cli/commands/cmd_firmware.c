/* nucleon codegen and kernels: sources of a firmware. */
#include <string.h>

#include "nucleon/firmware.h"
#include "tools/cli/commands/commands.h"

/* ---- codegen ---- */

static void print_files(const struct nuc_compiler *c)
{
    const char *path;
    char file[128];
    size_t bytes;

    for (size_t i = 0; nuc_written_file(c, i, &path, &bytes); i++)
        cli_printf("%s\n", cli_file_text(path, file, sizeof file));
}

static int generate(struct nuc_compiler *c, struct cli_args *args)
{
    int code = cli_check(c, nuc_codegen_program(c, args->positional[0], args->output, args->name));

    if (code != CLI_OK || args->quiet)
        return code;
    print_files(c);
    cli_print_row("next", "add them to the sources of the firmware: docs/firmware.md");
    return code;
}

static int write_project(struct nuc_compiler *c, struct cli_args *args)
{
    const struct nuc_project_options options = {
        .name = args->name, .data = args->input, .others = args->positional + 1, .n_others = args->n_positional - 1};
    int code = cli_check(c, nuc_write_project(c, args->positional[0], args->project, &options));
    const char *path;
    size_t bytes, count = 0;

    if (code != CLI_OK || args->quiet)
        return code;
    while (nuc_written_file(c, count, &path, &bytes))
        count++;
    cli_printf("%s: %zu files\n", args->project, count);
    cli_print_row("next", "%s/README.md: three commands build it and run it in QEMU", args->project);
    return code;
}

int cli_codegen(struct cli_args *args)
{
    if (args->output == NULL && args->project == NULL)
        return cli_usage("codegen: -o DIR is missing: it says where the sources go; or --project DIR for a project");
    if (args->output != NULL && args->project != NULL)
        return cli_usage("codegen: -o and --project are two things to make: leave one of them out");
    if (args->input != NULL && args->project == NULL)
        return cli_usage("codegen: --input is for --project DIR, whose images run the samples");
    if (args->n_positional > 1 && args->project == NULL)
        return cli_usage("codegen: several programs are for --project DIR, whose firmware runs one after the other; -o "
                         "takes one");
    return cli_with_compiler(args, args->project != NULL ? write_project : generate);
}

/* ---- kernels ---- */

int cli_kernels(struct nuc_compiler *c, struct cli_args *args)
{
    struct nuc_kernel_tables_info info;
    const char *text;
    int code = cli_check(c, nuc_write_kernel_tables(c, args->positional, args->n_positional, args->output, &info));

    if (code == CLI_OK && args->json)
        code = cli_result(c, nuc_kernel_tables_json(c, &info, &text), &text);
    if (code == CLI_OK && !args->quiet) {
        print_files(c);
        for (size_t i = 0; i < info.n_operators; i++)
            cli_print_row(i == 0 ? "operators" : "", "%s", info.operators[i]);
        if (info.n_operators == 0)
            cli_print_row("operators", "none");
        cli_print_row("backends", "%s", info.n_backends > 0 ? info.backends[0] : "none: no driver is linked");
        cli_print_row("next", "%1$s_start(), then &%1$s_kernels and &%1$s_backends for nuc_program_load()", info.name);
    }
    return code;
}

int cli_plan(struct nuc_compiler *c, struct cli_args *args)
{
    struct nuc_memory_plan_info info;
    const char *text;
    int code = cli_check(c, nuc_write_memory_plan(c, args->positional, args->n_positional, args->output, &info));

    if (code == CLI_OK && args->json)
        code = cli_result(c, nuc_memory_plan_json(c, &info, &text), &text);
    if (code != CLI_OK || args->quiet)
        return code;
    print_files(c);
    for (size_t i = 0; i < info.n_programs; i++) {
        const struct nuc_planned_program *p = &info.programs[i];
        cli_print_row(i == 0 ? "programs" : "", "%s: planned %s bytes, temporary %s, states %s, runtime %s", p->name,
                      cli_commas(p->planned), cli_commas(p->temporary), cli_commas(p->states), cli_commas(p->state));
    }
    cli_print_row("shared", "planned %s bytes, temporary %s: those of the program that needs most",
                  cli_commas(info.shared), cli_commas(info.temporary));
    cli_print_row("of each", "%s bytes: states, and what the runtime keeps", cli_commas(info.own));
    cli_print_row("next", "%1$s_start(), then %1$s_kernels, %1$s_backends and %1$s_memories[] for nuc_program_load()",
                  info.tables.name);
    return code;
}

/* ---- pack ---- */

int cli_pack(struct nuc_compiler *c, struct cli_args *args)
{
    struct nuc_package info;
    const char *text;
    int code = cli_check(
        c, nuc_pack_program(c, args->positional[0], args->output, args->program_version, args->signature, &info));

    if (code == CLI_OK && args->json)
        code = cli_result(c, nuc_package_json(c, &info, &text), &text);
    if (code == CLI_OK && !args->quiet) {
        const char *name = info.names;
        print_files(c);
        cli_print_row("program", "version %u, %s bytes%s%s", info.version, cli_commas(info.program_size),
                      info.cpu[0] != '\0' ? ", for a " : "", info.cpu);
        for (uint32_t i = 0; i < info.n_memories; i++) {
            const struct nuc_package_memory m = nuc_package_memory(&info, i);
            cli_print_row(i == 0 ? "memory" : "", "%s %s bytes%s%s", nuc_package_holds_name(m.holds),
                          cli_commas(m.bytes), m.bank != NULL ? " in " : "", m.bank != NULL ? m.bank : "");
        }
        for (uint32_t i = 0; i < info.n_kernels + info.n_backends; i++, name += strlen(name) + 1)
            cli_print_row(i == 0 ? "operators" : i == info.n_kernels ? "backends" : "", "%s", name);
        cli_print_row("signature", info.signature_size > 0 ? "%s bytes" : "none", cli_commas(info.signature_size));
        cli_print_row("next", "nuc_update_write() takes it in pieces: docs/update.md");
    }
    return code;
}
