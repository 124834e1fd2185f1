/* Options that were given and change nothing, so that nobody waits for their effect. */
#include "compiler/driver/converter.h"
#include "compiler/target/target.h"

struct idle_option {
    const char *name;
    bool given;
};

/* One note for all of them. */
static void tell(struct nuc_context *cx, const struct idle_option *options, size_t count, const char *why)
{
    const char *names = NULL;

    for (size_t i = 0; i < count; i++) {
        if (options[i].given)
            names = names == NULL ? options[i].name : nuc_format(cx, "%s, %s", names, options[i].name);
    }
    if (names != NULL)
        nuc_warn(cx, "%s: without effect, %s", names, why);
}

static void tell_npu_options(struct nuc_compiler *c, const char *why)
{
    const struct nuc_options *o = &c->options;
    const struct idle_option rows[] = {
        {"--converter", !nuc_is_builtin_converter(o)},
        {"--intermediates-dir", o->intermediates_dir != NULL},
        {"--delegate-data", o->delegate_data != NUC_DELEGATE_INLINE},
        {"--plan-delegate-scratch", o->plan_delegate_scratch},
        {"--fetch-constants-to-sram", o->fetch_constants_to_sram},
        {"--operators-not-to-delegate", o->n_operators_not_to_delegate != 0},
        {"--allow-no-op-partitions", o->allow_no_op_partitions},
        {"--force-delegate-cat", o->force_delegate_cat},
    };

    tell(c->cx, rows, sizeof rows / sizeof rows[0], why);
}

void nuc_tell_idle_options(struct nuc_compiler *c)
{
    const struct nuc_options *o = &c->options;
    const struct nuc_target *target = nuc_settings(c)->target;
    const struct idle_option placement = {"--placement", o->placement != NUC_PLACEMENT_GREEDY},
                             executorch = {"--executorch-ops-only", o->executorch_ops_only};

    if (target->npu_name == NULL)
        tell_npu_options(c, nuc_format(c->cx, "target %s has no NPU", target->name));
    else if (!o->delegate)
        tell_npu_options(c, "nothing is delegated");
    if (target->npu_name == NULL || target->cpu == NULL)
        tell(c->cx, &placement, 1,
             nuc_format(c->cx, "target %s has not both an NPU and int8 operators of its CPU: use imxrt700cm",
                        target->name));
    if (target->cpu == NULL)
        tell(c->cx, &executorch, 1,
             nuc_format(c->cx, "target %s has no int8 operators of its CPU: use a Cortex-M target or imxrt700cm",
                        target->name));
}

void nuc_tell_idle_quantization(struct nuc_compiler *c, const char *model)
{
    const struct nuc_options *o = &c->options;
    const struct idle_option rows[] = {
        {"--observer", o->observer != NUC_OBSERVE_HISTOGRAM},
        {"--weights", o->weights != NUC_WEIGHTS_PER_CHANNEL},
        {"--equalize", o->equalize},
        {"--bias-correction", o->bias_correction == NUC_BIAS_CORRECTION_ON},
    };

    tell(c->cx, rows, sizeof rows / sizeof rows[0], nuc_format(c->cx, "%s is quantized already", model));
}
