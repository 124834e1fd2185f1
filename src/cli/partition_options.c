#include "cli/partition_options.h"

#include <string.h>

/* In the order of enum nuc_dim_order. */
static const char *const dim_orders[] = {"as-is", "contiguous", "channels-last", "auto", NULL};

static const char *const placements[] = {"greedy", "cost", NULL};

void cli_partition_options(struct cli_partition_flags *flags, struct cli_option *rows)
{
    const struct cli_option table[] = {
        {"--target", NULL, CLI_STRING, &flags->target, "NAME", "imxrt700 (default); 'nucleon targets' lists them",
         NULL},
        {"--converter-flavor", NULL, CLI_STRING, &flags->flavor, "NAME",
         "operator rule set: sdk-3.2 (default) or sdk-3.1", NULL},
        {"--no-delegate", NULL, CLI_FLAG, &flags->no_delegate, NULL, "leave everything on the CPU", NULL},
        {"--operators-not-to-delegate", NULL, CLI_LIST, &flags->not_delegated, "LIST",
         "operators (aten.add.Tensor, aten::add, add) or nodes that stay on the CPU; * and ? as in a shell", NULL},
        {"--preserve-ops", NULL, CLI_LIST, &flags->preserved, "LIST",
         "ATen operators kept whole where the NPU takes them: pad, prelu, hardswish", NULL},
        {"--allow-no-op-partitions", NULL, CLI_FLAG, &flags->allow_no_op_partitions, NULL,
         "delegate partitions that compute nothing, too", NULL},
        {"--force-delegate-cat", NULL, CLI_FLAG, &flags->force_delegate_cat, NULL,
         "sdk-3.1: delegate concatenations of any size", NULL},
        {"--placement", NULL, CLI_CHOICE, &flags->placement, "greedy|cost",
         "imxrt700cm: all the NPU can run (default), or only partitions that gain more than their call costs",
         placements},
        {"--executorch-ops-only", NULL, CLI_FLAG, &flags->executorch_ops_only, NULL,
         "Cortex-M targets: no operator that ExecuTorch's runtime does not have", NULL},
        {"--require-full-delegation", NULL, CLI_FLAG, &flags->require_full_delegation, NULL,
         "fail (exit code 3) when an operator stays on the CPU", NULL},
        {"--dim-order", NULL, CLI_CHOICE, &flags->dim_order, "ORDER",
         "memory order of 4-D inputs and weights: as-is (default), contiguous, channels-last, or auto: the faster",
         dim_orders},
    };
    _Static_assert(sizeof table / sizeof table[0] == CLI_PARTITION_ROWS, "as many rows as callers leave room for");

    memcpy(rows, table, sizeof table);
}

void cli_partition_apply(const struct cli_partition_flags *flags, struct nuc_options *options)
{
    if (flags->target != NULL)
        options->target = flags->target;
    if (flags->flavor != NULL)
        options->converter_flavor = flags->flavor;
    options->delegate = !flags->no_delegate;
    options->operators_not_to_delegate = flags->not_delegated.items;
    options->n_operators_not_to_delegate = flags->not_delegated.count;
    options->preserve_ops = flags->preserved.items;
    options->n_preserve_ops = flags->preserved.count;
    options->allow_no_op_partitions = flags->allow_no_op_partitions;
    options->force_delegate_cat = flags->force_delegate_cat;
    options->placement = flags->placement == 0 ? NUC_PLACEMENT_GREEDY : NUC_PLACEMENT_COST;
    options->executorch_ops_only = flags->executorch_ops_only;
    options->require_full_delegation = flags->require_full_delegation;
    options->dim_order = (enum nuc_dim_order)flags->dim_order;
}
