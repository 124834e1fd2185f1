/* nucleon report: everything about one network, as a page or as JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "nucleon/report.h"
#include "tools/cli/commands/commands.h"
#include "tools/cli/terminal/json_output.h"

/* Members that options about accuracy are written to. */
enum {
    EVALUATION_BEGIN = offsetof(struct cli_args, evaluate),
    EVALUATION_END = EVALUATION_BEGIN + sizeof(struct nuc_evaluate_options)
};

/* What the page says first. */
static void print_report(const struct nuc_compiler *c, const struct cli_args *args, const struct nuc_report *r)
{
    struct nuc_report_figures f;
    char of[80] = "";

    if (args->quiet)
        return;
    cli_print_program(c, args);
    nuc_report_figures(r, &f);
    if (!isnan(f.reference_accuracy))
        snprintf(of, sizeof of, ", the float model %.1f %%", 100 * f.reference_accuracy);
    if (!isnan(f.accuracy))
        cli_print_row("accuracy", "%.1f %% of %zu samples%s", 100 * f.accuracy, f.samples, of);
    else if (!isnan(f.agreement))
        cli_print_row("accuracy", "%.1f %% of %zu samples decided as by the float model", 100 * f.agreement, f.samples);
    if (f.worst_node != NULL)
        cli_print_row("worst", "%s costs most: its error alone leaves the outputs %.1f dB", f.worst_node, f.worst_db);
}

static int report(struct nuc_compiler *c, struct cli_args *args)
{
    char *invocation = cli_invocation_text(args->argc, args->argv);
    const struct nuc_report_options options = {.calibration = args->calibration,
                                               .dataset = args->input,
                                               .evaluate = &args->evaluate,
                                               .compare = args->compare,
                                               .device = args->device,
                                               .baud = args->baud,
                                               .invocation = invocation};
    struct nuc_report *r = NULL;
    struct nuc_model *m = NULL;
    const char *text = NULL;
    int code = cli_warn_for_target(c, args);

    if (code == CLI_OK && invocation == NULL)
        code = cli_report(NUC_NO_MEMORY, NULL);
    if (code == CLI_OK)
        code = cli_check(c, nuc_model_open_in_part(c, args->positional[0], &m));
    if (code == CLI_OK)
        code = cli_check(c, nuc_report_make(m, &options, &r));
    if (code == CLI_OK && args->output != NULL)
        code = cli_check(c, nuc_report_write(r, args->output));
    if (code == CLI_OK && args->json)
        code = cli_check(c, nuc_report_json(r, &text));
    if (code == CLI_OK && args->json)
        cli_json_whole(text);
    if (code == CLI_OK && args->output != NULL)
        print_report(c, args, r);
    free(invocation);
    if (code == CLI_OK && nuc_model_refusal(m) != NULL)
        return cli_report(NUC_UNSUPPORTED, nuc_model_refusal(m));
    return code == CLI_OK && nuc_report_missed(r) != NULL ? cli_report(NUC_PROPERTY, nuc_report_missed(r)) : code;
}

/* What is asked of accuracy needs data to measure it on. */
static int check_dataset(const struct cli_args *args)
{
    for (size_t i = 0; i < cli_n_options && args->input == NULL; i++) {
        const unsigned both = EVALUATE | REPORT;
        if (args->given[i] && (cli_options[i].commands & both) == both && cli_options[i].offset >= EVALUATION_BEGIN &&
            cli_options[i].offset < EVALUATION_END)
            return cli_usage("report: %s is about samples with labels: give them with --dataset DATA",
                             cli_options[i].name);
    }
    return CLI_OK;
}

int cli_make_report(struct cli_args *args)
{
    int code = check_dataset(args);

    if (code != CLI_OK)
        return code;
    if (args->output == NULL && !args->json)
        return cli_usage("report: -o FILE.html is missing: it says where the report goes (.json: the data alone); or "
                         "print the data with --json");
    return cli_with_compiler(args, report);
}

/* ---- compare-device ---- */

int cli_compare_device(struct nuc_compiler *c, struct cli_args *args)
{
    const struct nuc_device_test *t;
    const char *text;
    int code = cli_check(c, nuc_device_read(c, args->positional[0], args->baud, &t));

    if (code == CLI_OK && args->json)
        code = cli_result(c, nuc_device_json(c, t, &text), &text);
    else if (code == CLI_OK && !args->quiet)
        code = cli_check(c, nuc_device_text(c, t, &text));
    if (code == CLI_OK && !args->json && !args->quiet) {
        cli_printf("%s\n", text);
        if (t->passed)
            cli_printf("%s\n", t->verdict);
        else
            cli_print_row("usually", "%s", t->usually);
    }
    return code == CLI_OK && !t->passed ? cli_report(NUC_PROPERTY, t->verdict) : code;
}
