/* nucleon inspect, ops, targets, version, merge-kernel-selection. */

#include "nucleon/json.h"
#include "tools/cli/commands/commands.h"
#include "tools/cli/terminal/json_output.h"

/* The memory that the runtime takes for a program file; nothing of other files. */
static int say_memory(struct nuc_compiler *c, const char *path)
{
    struct nuc_program_sizes sizes;
    size_t planned = 0;
    const enum nuc_status status = nuc_runner_sizes(c, path, &sizes);

    if (status != NUC_OK)
        return status == NUC_NO_MEMORY || status == NUC_IO ? cli_check(c, status) : CLI_OK;
    for (size_t i = 0; i < sizes.n_planned; i++)
        planned += sizes.planned[i];
    cli_printf(
        "memory of the runtime: state %zu, planned %zu, temporary %zu bytes (scratch and what else a call takes)\n",
        sizes.state, planned, sizes.temporary);
    cli_json_number("runtime_state_bytes", sizes.state);
    cli_json_number("runtime_planned_bytes", planned);
    cli_json_number("runtime_temporary_bytes", sizes.temporary);
    return CLI_OK;
}

static int inspect(struct nuc_compiler *c, struct cli_args *args)
{
    const char *path = args->positional[0], *text;

    if (args->output != NULL) {
        const char *const *files;
        size_t count;
        int extracted = cli_check(c, nuc_extract_models(c, path, args->output, &files, &count));
        for (size_t i = 0; extracted == CLI_OK && !cli_is_quiet() && i < count; i++)
            cli_printf("%s\n", files[i]);
        return extracted;
    }
    const enum nuc_inspect_form form = args->json ? NUC_INSPECT_JSON : args->form;
    int code = cli_result(c, nuc_inspect_file(c, path, form, args->disassemble, &text), &text);
    return code == CLI_OK && form != NUC_INSPECT_DOT ? say_memory(c, path) : code;
}

int cli_inspect(struct cli_args *args)
{
    if (args->json && args->form == NUC_INSPECT_DOT)
        return cli_usage("inspect: --json and --dot are two forms of one description: leave one of them out");
    return cli_with_compiler(args, inspect);
}

static int list_operators(struct nuc_compiler *c, struct cli_args *args)
{
    const char *text;

    if (args->markdown)
        cli_warn_unused_options(args, CLI_ONE_RULE_SET, "--markdown has all rule sets");
    return cli_result(c,
                      args->json               ? nuc_operators_json(c, &text)
                      : args->n_positional > 0 ? nuc_describe_operator(c, args->positional[0], &text)
                                               : nuc_list_operators(c, args->markdown, &text),
                      &text);
}

int cli_ops(struct cli_args *args)
{
    if (args->json && args->markdown)
        return cli_usage("ops: --json and --markdown are two forms of one list: leave one of them out");
    if (args->n_positional > 0 && (args->json || args->markdown))
        return cli_usage("ops: --json and --markdown list all operators: leave '%s' out", args->positional[0]);
    return cli_with_compiler(args, list_operators);
}

int cli_targets(struct nuc_compiler *c, struct cli_args *args)
{
    const char *text;

    return cli_result(c, args->json ? nuc_targets_json(c, &text) : nuc_list_targets(c, &text), &text);
}

int cli_version(struct cli_args *args)
{
    (void)args;
    cli_printf("nucleon %s\n", nuc_version());
    return CLI_OK;
}

int cli_merge_kernel_selection(struct nuc_compiler *c, struct cli_args *args)
{
    char file[128];
    int code = cli_check(c, nuc_merge_kernel_selections(c, args->positional, args->n_positional, args->output));

    if (code != CLI_OK || args->quiet)
        return code;
    cli_printf("%s, the NPU kernels of %zu file%s\n", cli_file_text(args->output, file, sizeof file),
               args->n_positional, args->n_positional == 1 ? "" : "s");
    cli_print_row("next", "compile it into the firmware instead of the driver's table of kernels");
    return code;
}
