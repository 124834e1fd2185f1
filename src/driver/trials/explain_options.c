/* Options that may make a model faster; explain_trials.c tries them. */
#include "driver/trials/explain_options.h"

#include <math.h>
#include <string.h>

#include "driver/node_cycles.h"
#include "ir/args.h"
#include "npu/partition/partition.h"
#include "npu/target/target.h"
#include "options/options.h"
#include "quantize/precision.h"

/* What there is to gain by. */
enum gain {
    FLOAT_ON_CPU,
    UNUSED_NPU,
    OLDER_RULES,
    REFERENCE,
    EXECUTORCH,
    WIDER_VALUES,
    NAMED_OPERATORS,
    OTHER_ORDER,
    WORK_ON_CPU,
    FLOAT_IO
};

static bool is_there(const struct nuc_trying *t, enum gain gain)
{
    const struct nuc_settings *s = t->partitioned->settings;
    const struct nuc_options *o = &s->o;
    const bool has_npu = t->e->target->npu_name != NULL, some_on_cpu = t->e->n_delegated < t->e->n_operators;
    const bool is[] = {
        [FLOAT_ON_CPU] = has_npu && o->cpu != NUC_CPU_INT8 && !o->no_quantize && some_on_cpu,
        [UNUSED_NPU] = has_npu && !o->delegate,
        [OLDER_RULES] = s->delegates && s->flavor->rules == NUC_RULES_SDK_3_1,
        [REFERENCE] = o->reference_compat,
        [EXECUTORCH] = o->executorch_ops_only,
        [WIDER_VALUES] = o->activations != NUC_ACTIVATIONS_INT8,
        [NAMED_OPERATORS] = s->delegates && o->n_operators_not_to_delegate > 0,
        [OTHER_ORDER] = t->quantized->settings->o.dim_order == NUC_DIM_ORDER_AS_IS && !t->partitioned->from_litert &&
                        nuc_takes_images(t->partitioned->graph) && (t->e->format_cycles > 0 || some_on_cpu),
        [WORK_ON_CPU] = s->delegates && !o->allow_no_op_partitions && some_on_cpu,
        [FLOAT_IO] = o->io == NUC_IO_FLOAT && !o->no_quantize,
    };

    return is[gain];
}

static bool is_quantized_at_ends(const struct nuc_graph *g)
{
    const struct nuc_arg *outputs = nuc_arg_at(g->last, NUC_ARG(OUTPUT, values));

    for (const struct nuc_node *n = g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        for (uint32_t i = 0; i < n->n_users; i++) {
            if (n->input_kind == NUC_USER_INPUT && n->vals[0].dtype == NUC_F32 && !nuc_is_quantize(n->users[i]))
                return false;
        }
    }
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct nuc_node *n = outputs->u.nodes[i];
        if (n != NULL && n->vals[0].dtype == NUC_F32 && !nuc_is_dequantize(n))
            return false;
    }
    return true;
}

/* What the CPU computes in int8 is chosen by cycles, which change with what is tried; elsewhere nothing is chosen. */
static bool keeps_choice(const struct nuc_trying *t)
{
    return t->quantized->settings->o.cpu != NUC_CPU_AUTO || t->e->n_delegated == t->e->n_operators;
}

/* The quantizer is asked for nothing that it does not do anyway. */
static bool keeps_int8_io(const struct nuc_trying *t)
{
    return keeps_choice(t) && !nuc_has_wide_values(t->quantized->graph) && is_quantized_at_ends(t->quantized->graph);
}

static const struct option {
    const char *given, *without; /* "--NAME VALUE" is given, or --NAME is left out */
    enum gain gain;
    const char *about;                         /* the rule that comes from it */
    bool (*keeps)(const struct nuc_trying *t); /* the quantizer does not ask for it, of this model; NULL: it does */
} options[] = {
    {"--cpu int8", NULL, FLOAT_ON_CPU, NULL, NULL},
    {NULL, "--no-delegate", UNUSED_NPU, NULL, NULL},
    {"--converter-flavor sdk-3.2", NULL, OLDER_RULES, NULL, NULL},
    {NULL, "--reference-compat", REFERENCE, NULL, NULL},
    {NULL, "--executorch-ops-only", EXECUTORCH, NULL, NULL},
    {NULL, "--activations", WIDER_VALUES, NULL, NULL},
    {NULL, "--operators-not-to-delegate", NAMED_OPERATORS, nuc_not_named_rule, keeps_choice},
    {"--dim-order channels-last", NULL, OTHER_ORDER, NULL, keeps_choice},
    {"--dim-order contiguous", NULL, OTHER_ORDER, NULL, keeps_choice},
    {"--allow-no-op-partitions", NULL, WORK_ON_CPU, NULL, keeps_choice},
    {"--io int8", NULL, FLOAT_IO, NULL, keeps_int8_io},
};

/* Does what the row says to the options. */
static void take(struct nuc_context *cx, const struct option *row, struct nuc_options *o)
{
    const char *said = row->given != NULL ? row->given : row->without;
    size_t length = strcspn(said, " ");
    const struct nuc_option_info *info = nuc_option_find(nuc_format(cx, "%.*s", (int)length, said));
    struct nuc_options defaults;

    if (row->given != NULL) {
        nuc_option_assign(cx, info, said[length] == '\0' ? NULL : said + length + 1, o);
        return;
    }
    nuc_options_default(&defaults);
    memcpy((char *)o + info->offset, (const char *)&defaults + info->offset, info->size);
    if (info->kind == NUC_OPTION_LIST)
        memset((char *)o + info->count, 0, sizeof(size_t));
}

bool nuc_option_to_try(const struct nuc_trying *t, size_t index, struct nuc_options *o, bool *requantizes,
                       struct nuc_explain_trial *out)
{
    if (index >= sizeof options / sizeof *options)
        return false;
    const struct option *row = &options[index];
    *requantizes = row->keeps == NULL || !row->keeps(t);
    *out = (struct nuc_explain_trial){.options = row->given, .without = row->without, .about = row->about};
    if (!is_there(t, row->gain))
        return true;
    take(t->partitioned->c->cx, row, o);
    out->compiles = true;
    out->sqnr_db = *requantizes ? (double)NAN : t->e->sqnr_db;
    return true;
}

/* ---- the two placements ---- */

static void sum_cycles(struct nuc_model *quantized, void *arg)
{
    struct nuc_model *partitioned = nuc_advance(quantized, NUC_STAGE_DIM_ORDER, NUC_STAGE_PARTITION);

    *(uint64_t *)arg = nuc_explained_cycles(nuc_explain_partitioned(partitioned, true));
}

void nuc_compare_placements(struct nuc_explanation *e, const struct nuc_model *quantized,
                            const struct nuc_partitions *partitions)
{
    struct nuc_options other = quantized->settings->o;
    uint64_t own_cycles = nuc_explained_cycles(e), other_cycles = own_cycles;
    bool greedy = other.placement == NUC_PLACEMENT_GREEDY;

    e->greedy_cycles = e->cost_cycles = own_cycles;
    if (!greedy && partitions->n_by_cost == 0)
        return;
    other.placement = greedy ? NUC_PLACEMENT_COST : NUC_PLACEMENT_GREEDY;
    enum nuc_status status = nuc_trial(quantized, &other, sum_cycles, &other_cycles);
    nuc_check(quantized->c->cx, status);
    e->greedy_cycles = greedy ? own_cycles : other_cycles;
    e->cost_cycles = !greedy ? own_cycles : other_cycles < own_cycles ? other_cycles : own_cycles;
}
