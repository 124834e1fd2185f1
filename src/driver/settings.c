#include "driver/settings.h"

#include <string.h>

#include "driver/pipeline.h"
#include "host/nearest.h"
#include "npu/target/target.h"
#include "options/options.h"

static const char *dump_point_name(const void *list, size_t index)
{
    struct nuc_dump_point point;

    (void)list;
    return nuc_dump_point(index, &point) ? point.name : NULL;
}

static void check_dump_point(struct nuc_context *cx, const char *wanted)
{
    struct nuc_dump_point point;
    bool known = wanted == NULL || strcmp(wanted, "all") == 0;

    for (size_t i = 0; !known && nuc_dump_point(i, &point); i++)
        known = strcmp(point.name, wanted) == 0;
    if (!known)
        nuc_fail(cx, NUC_BAD_USAGE, "--dump-after: '%s' is not a stage or pass%s; '--dump-after help' lists them",
                 wanted, nuc_did_you_mean(cx, wanted, dump_point_name, NULL));
}

bool nuc_expresses_for_npu(const struct nuc_settings *s)
{
    return s->delegates && !s->o.reference_compat && s->flavor->rules != NUC_RULES_SDK_3_1;
}

bool nuc_rounds_on_cpu(const struct nuc_settings *s, enum nuc_op op)
{
    return s->target->cpu != NULL && (s->o.cpu == NUC_CPU_INT8 || (s->rounds != NULL && s->rounds[op]));
}

bool nuc_rounds_any_on_cpu(const struct nuc_settings *s)
{
    bool any = false;

    for (int op = 0; op < NUC_OP_COUNT && !any; op++)
        any = nuc_rounds_on_cpu(s, (enum nuc_op)op);
    return any;
}

/*
 * What the CPU computes with is said by the option, by the target's name, or follows: without an NPU int8 is what a
 * network is quantized for.
 */
static void resolve_cpu(struct nuc_context *cx, struct nuc_settings *s)
{
    bool has_npu = s->target->npu_name != NULL;
    enum nuc_cpu_kernels named = s->target->named, *cpu = &s->o.cpu;

    if (named != NUC_CPU_AUTO && *cpu != NUC_CPU_AUTO && *cpu != named)
        nuc_fail(cx, NUC_BAD_USAGE, "--cpu: --target %s is %s: take --target %s, or leave --cpu out", s->target->name,
                 s->target->description, s->target->npu_name);
    if (*cpu == NUC_CPU_AUTO)
        *cpu = named != NUC_CPU_AUTO ? named : !has_npu ? NUC_CPU_INT8 : *cpu;
    if (s->o.no_quantize || (s->o.reference_compat && *cpu == NUC_CPU_AUTO))
        *cpu = has_npu ? NUC_CPU_FLOAT : *cpu;
    if (*cpu != NUC_CPU_FLOAT)
        return;
    if (!has_npu) {
        s->o.no_quantize = true;
        return;
    }
    struct nuc_target *in_float = nuc_copy(cx, s->target, sizeof *in_float);
    in_float->cpu = NULL;
    s->target = in_float;
}

bool nuc_allows_in_place(const struct nuc_settings *s)
{
    return !s->o.reference_compat && !s->o.executorch_ops_only;
}

void nuc_settings_resolve(struct nuc_context *cx, const struct nuc_options *options, struct nuc_settings *out)
{
    struct nuc_settings s = {.o = *options};

    nuc_options_check(cx, options);
    s.target = s.row = nuc_target_find(cx, options->target);
    s.flavor = nuc_flavor_find(cx, options->converter_flavor);
    resolve_cpu(cx, &s);
    s.delegates = s.target->npu_name != NULL && options->delegate && !s.o.no_quantize;
    check_dump_point(cx, options->dump_after);
    nuc_check_rewrites(cx, options);
    nuc_stream_option(cx, options->stream);
    if (options->payload_version_0 && options->profile)
        nuc_fail(cx, NUC_BAD_USAGE, "--payload-version 0 has no place for profiles: leave --profile out");
    if (options->no_quantize && options->io == NUC_IO_INT8)
        nuc_fail(cx, NUC_BAD_USAGE,
                 "--io int8: a program with --no-quantize has no int8 values: leave one of them out");
    /* The reference backend changes neither weights nor biases. */
    if (options->reference_compat) {
        s.o.accuracy = NUC_ACCURACY_FAST;
        s.o.bias_correction = false;
    }
    /* They say where operators run: on the NPU wherever it can. */
    if (options->reference_compat || s.flavor->rules == NUC_RULES_SDK_3_1 || options->require_full_delegation)
        s.o.placement = NUC_PLACEMENT_GREEDY;
    *out = s;
}

void nuc_settings_check(struct nuc_context *cx, const char *name, const struct nuc_options *options)
{
    if (strcmp(name, "target") == 0)
        nuc_target_find(cx, options->target);
    if (strcmp(name, "converter-flavor") == 0)
        nuc_flavor_look_up(cx, options->converter_flavor);
    if (strcmp(name, "dump-after") == 0)
        check_dump_point(cx, options->dump_after);
    if (strcmp(name, "stream") == 0)
        nuc_stream_option(cx, options->stream);
    if (strcmp(name, "rewrite") == 0)
        nuc_check_rewrites(cx, options);
}
