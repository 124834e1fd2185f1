/* nucleon explain: where every node runs and why, and two properties that may be demanded. */
#include "tools/cli/commands/commands.h"
#include "tools/cli/terminal/json_output.h"

/* The model as it is, or quantized when there are samples for a float one. */
static enum nuc_status open_model(struct nuc_compiler *c, const char *path, const char *calibration,
                                  struct nuc_explain_options *options, struct nuc_model **m)
{
    struct nuc_dataset *samples;
    enum nuc_status status = nuc_model_open_in_part(c, path, m);

    if (status != NUC_OK || calibration == NULL || nuc_model_is_quantized(*m) || nuc_model_refusal(*m) != NULL)
        return status;
    status = nuc_dataset_open(c, calibration, &samples);
    options->calibration = status == NUC_OK ? samples : NULL;
    return status == NUC_OK ? nuc_quantize(*m, samples, m) : status;
}

static int explain(struct nuc_compiler *c, struct cli_args *args)
{
    const char *path = args->positional[0];
    struct nuc_explain_result r;
    struct nuc_model *m;
    int code = cli_warn_for_target(c, args);

    if (code != CLI_OK)
        return code;
    enum nuc_status status = open_model(c, path, args->calibration, &args->explain, &m);
    if (status == NUC_OK)
        status = nuc_explain(m, &args->explain, &r);
    if (status != NUC_OK)
        return cli_check(c, status);
    if (args->json)
        cli_json_members(r.text);
    else if (!args->quiet) {
        if (nuc_dim_order_table(c) != NULL)
            cli_printf("%s\n", nuc_dim_order_table(c));
        cli_put_placed(r.text);
    }
    if (nuc_model_refusal(m) != NULL)
        return cli_report(NUC_UNSUPPORTED, nuc_model_refusal(m));
    if (args->o.require_full_delegation && r.n_delegated < r.n_operators)
        return cli_missed("%s: %zu of %zu operators stay on the CPU, all must be delegated; the first is %.700s", path,
                          r.n_operators - r.n_delegated, r.n_operators, r.first_on_cpu);
    if (r.least_arena > 0)
        return cli_missed("%s: in strips the least arena found is %s bytes, the budget is %s", path,
                          cli_commas(r.least_arena), cli_commas(args->o.memory_budget));
    if (r.cycles > args->cycle_budget)
        return cli_missed("%s: about %s cycles per inference, %s are allowed", path, cli_commas(r.cycles),
                          cli_commas(args->cycle_budget));
    return CLI_OK;
}

int cli_explain(struct cli_args *args)
{
    args->explain.json = args->json;
    return cli_with_compiler(args, explain);
}
