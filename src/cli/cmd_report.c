/* nucleon report: everything about one network, as a page or as JSON. */
#include <stdlib.h>

#include "cli/args.h"
#include "cli/json_output.h"
#include "nucleon/report.h"

/* Members that options about accuracy are written to. */
enum {
    EVALUATION_BEGIN = offsetof(struct cli_args, evaluate),
    EVALUATION_END = EVALUATION_BEGIN + sizeof(struct nuc_evaluate_options)
};

static enum nuc_status make(struct nuc_compiler *c, const struct cli_args *args,
                            const struct nuc_report_options *options, struct nuc_report **out)
{
    struct nuc_model *m;
    enum nuc_status status = nuc_model_open(c, args->positional[0], &m);

    if (status == NUC_OK)
        status = nuc_report_make(m, options, out);
    return status;
}

static int report(struct nuc_compiler *c, struct cli_args *args)
{
    char *invocation = cli_invocation_text(args->argc, args->argv);
    const struct nuc_report_options options = {.calibration = args->calibration,
                                               .dataset = args->input,
                                               .evaluate = &args->evaluate,
                                               .compare = args->compare,
                                               .invocation = invocation};
    struct nuc_report *r = NULL;
    const char *text = NULL;
    char file[128];
    int code = cli_warn_for_target(c, args);

    if (code == CLI_OK)
        code = invocation == NULL ? cli_report(NUC_NO_MEMORY, NULL) : cli_check(c, make(c, args, &options, &r));
    if (code == CLI_OK && args->output != NULL)
        code = cli_check(c, nuc_report_write(r, args->output));
    if (code == CLI_OK && args->output != NULL && !args->json && !args->quiet)
        cli_printf("%s\n", cli_file_text(args->output, file, sizeof file));
    if (code == CLI_OK && args->json)
        code = cli_check(c, nuc_report_json(r, &text));
    if (code == CLI_OK && args->json)
        cli_json_whole(text);
    free(invocation);
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
