#include "driver/settings.h"

#include <stdlib.h>
#include <string.h>

#include "back/program/banks.h"
#include "driver/stages.h"
#include "host/nearest.h"
#include "host/text.h"
#include "npu/target/target.h"
#include "options/options.h"
#include "quantize/precision.h"

/* Beyond what any axis has. */
#define MOST_FRAMES 1000000000L

static bool read_number(const char **at, long least, int64_t *out)
{
    char *end;
    long number = strtol(*at, &end, 10);

    if (end == *at || number < least || number > MOST_FRAMES)
        return false;
    *at = end;
    *out = number;
    return true;
}

struct nuc_stream_option nuc_stream_option(struct nuc_context *cx, const char *text)
{
    struct nuc_stream_option o = {0, 0};
    const char *at = text;

    if (text == NULL)
        return o;
    bool good = read_number(&at, -NUC_MAX_RANK, &o.axis);
    if (good && *at == ':') {
        at++;
        good = read_number(&at, 1, &o.hop);
    }
    if (!good || *at != '\0')
        nuc_fail(cx, NUC_BAD_USAGE,
                 "--stream: '%s' is not AXIS or AXIS:HOP: give the input's axis of time and frames of a hop, as 2:10",
                 text);
    return o;
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

/* ---- memories ---- */

static const struct nuc_memory *memory_of(const struct nuc_target *t, const char *name)
{
    for (uint32_t i = 0; i < t->n_memories; i++) {
        if (strcmp(t->memories[i].name, name) == 0)
            return &t->memories[i];
    }
    return NULL;
}

static const char *memory_name(const void *target, size_t index)
{
    const struct nuc_target *t = target;

    return index < t->n_memories ? t->memories[index].name : NULL;
}

static const char *memory_names(struct nuc_context *cx, const struct nuc_target *t, bool flash)
{
    struct nuc_text out = {.cx = cx};

    for (uint32_t i = 0; i < t->n_memories; i++) {
        if (flash || !t->memories[i].flash)
            nuc_text_addf(&out, "%s%s", out.length > 0 ? ", " : "", t->memories[i].name);
    }
    return nuc_text_string(&out);
}

static struct nuc_bank bank_of(struct nuc_context *cx, const struct nuc_target *t, const struct nuc_memory_size *given)
{
    const struct nuc_memory *m = memory_of(t, given->name);

    /* A Cortex-M alone is many chips: all of their banks are the CPU's, and as fast. */
    if (t->npu_name == NULL && (m == NULL || !m->flash))
        return (struct nuc_bank){given->name, given->bytes, UINT64_MAX, NUC_BY_ALL, 0};
    if (m == NULL || m->flash)
        nuc_fail(cx, NUC_BAD_USAGE, "--memory: %s has no SRAM named '%s'%s: use one of %s", t->name, given->name,
                 nuc_did_you_mean(cx, given->name, memory_name, t), memory_names(cx, t, false));
    if (given->bytes > m->bytes)
        nuc_fail(cx, NUC_BAD_USAGE, "--memory: %s of %s has %llu bytes: give at most these", m->name, t->name,
                 (unsigned long long)m->bytes);
    return (struct nuc_bank){m->name, given->bytes, m->bytes, m->reach, m->speed};
}

/* Fast before slow and small before large; the first one is reached by the NPU where the scratch is planned. */
static void sort_banks(struct nuc_banks *b, bool npu_first)
{
    for (uint32_t i = 1; i < b->n; i++) {
        for (uint32_t k = i; k > 0; k--) {
            const struct nuc_bank *x = &b->of[k - 1], *y = &b->of[k], swapped = *x;
            bool reach = npu_first && (x->reach & NUC_BY_NPU) < (y->reach & NUC_BY_NPU);
            bool same = !npu_first || (x->reach & NUC_BY_NPU) == (y->reach & NUC_BY_NPU);
            if (!reach && !(same && (x->speed > y->speed || (x->speed == y->speed && x->bytes > y->bytes))))
                break;
            b->of[k - 1] = b->of[k];
            b->of[k] = swapped;
        }
    }
}

static void resolve_banks(struct nuc_context *cx, struct nuc_settings *s)
{
    const struct nuc_memory_size *sizes = nuc_memory_sizes(cx, &s->o);
    const char *weights = s->o.weights_memory;
    struct nuc_banks *b = nuc_alloc(cx, sizeof *b);
    bool in_bank = false;

    if (s->o.n_memories > NUC_MOST_BANKS)
        nuc_fail(cx, NUC_BAD_USAGE, "--memory gives %zu banks: give at most %d", s->o.n_memories, NUC_MOST_BANKS);
    for (size_t i = 0; i < s->o.n_memories; i++) {
        b->of[b->n++] = bank_of(cx, s->row, &sizes[i]);
        in_bank |= weights != NULL && strcmp(weights, sizes[i].name) == 0;
    }
    sort_banks(b, s->o.plan_delegate_scratch);
    const struct nuc_memory *m = weights != NULL ? memory_of(s->row, weights) : NULL;
    if (weights != NULL && !in_bank && m == NULL)
        nuc_fail(cx, NUC_BAD_USAGE, "--weights-memory: %s has no memory named '%s'%s: use one of %s", s->row->name,
                 weights, nuc_did_you_mean(cx, weights, memory_name, s->row), memory_names(cx, s->row, true));
    if (s->delegates && m != NULL && (m->reach & NUC_BY_NPU) == 0 && !(m->flash && s->o.fetch_constants_to_sram))
        nuc_fail(cx, NUC_BAD_USAGE, "--weights-memory: the NPU of %s does not read %s%s", s->row->name, weights,
                 m->flash ? ": with --fetch-constants-to-sram its weights may lie there" : ": use a memory it reads");
    if (weights != NULL && b->n == 0)
        nuc_fail(cx, NUC_BAD_USAGE, "--weights-memory: has an effect with --memory NAME=SIZE: give both");
    if (b->n > 0 && s->o.reference_compat)
        nuc_fail(cx, NUC_BAD_USAGE, "--memory: --reference-compat writes one arena: leave one of them out");
    b->weights = weights;
    s->banks = b->n > 0 ? b : NULL;
}

/* Int16 is what kernels of this library on the CPU have. */
static void check_widths(struct nuc_context *cx, const struct nuc_settings *s)
{
    const struct nuc_options *o = &s->o;
    bool int16 = nuc_names_width(o->precision, o->n_precision, NUC_WIDTH_INT16);
    const char *name = o->activations != NUC_ACTIVATIONS_INT8 ? "--activations" : "--precision";

    nuc_check_precision(cx, o->precision, o->n_precision);
    if (o->activations == NUC_ACTIVATIONS_INT8 && o->n_precision == 0)
        return;
    if (o->reference_compat)
        nuc_fail(cx, NUC_BAD_USAGE, "%s: the reference has int8 alone: leave it or --reference-compat out", name);
    if (o->no_quantize)
        nuc_fail(cx, NUC_BAD_USAGE, "%s: a program with --no-quantize is float: leave one of them out", name);
    if (o->activations == NUC_ACTIVATIONS_MIXED &&
        (o->accuracy == NUC_ACCURACY_FAST || o->observer != NUC_OBSERVE_AUTO))
        nuc_fail(cx, NUC_BAD_USAGE, "--activations mixed compares networks: leave %s out",
                 o->accuracy == NUC_ACCURACY_FAST ? "--accuracy fast" : "--observer");
    if (o->activations == NUC_ACTIVATIONS_INT8 && !int16)
        return;
    if (o->executorch_ops_only)
        nuc_fail(cx, NUC_BAD_USAGE, "%s: ExecuTorch has no kernels of int16: leave it or --executorch-ops-only out",
                 name);
    if (s->target->cpu == NULL)
        nuc_fail(cx, NUC_BAD_USAGE, "%s: the CPU computes in float: leave --cpu float out for kernels of int16", name);
}

bool nuc_allows_in_place(const struct nuc_settings *s)
{
    return !s->o.reference_compat && !s->o.executorch_ops_only;
}

void nuc_check_fetches(struct nuc_context *cx, const struct nuc_target *target)
{
    if (!nuc_has_firmware_kernel(target, NUC_FW_ReadFlash))
        nuc_fail(cx, NUC_BAD_USAGE,
                 "--fetch-constants-to-sram: the NPU of %s reads weights in flash where they are: leave it out",
                 target->name);
}

void nuc_settings_resolve(struct nuc_context *cx, const struct nuc_options *options, struct nuc_settings *out)
{
    struct nuc_settings s = {.o = *options};

    nuc_options_check(cx, options);
    s.target = s.row = nuc_target_find(cx, options->target);
    s.flavor = nuc_flavor_find(cx, options->converter_flavor);
    resolve_cpu(cx, &s);
    check_widths(cx, &s);
    s.delegates = s.target->npu_name != NULL && options->delegate && !s.o.no_quantize;
    if (s.delegates && options->fetch_constants_to_sram)
        nuc_check_fetches(cx, s.target);
    resolve_banks(cx, &s);
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
    if (strcmp(name, "memory") == 0)
        nuc_memory_sizes(cx, options);
    if (strcmp(name, "stream") == 0)
        nuc_stream_option(cx, options->stream);
    if (strcmp(name, "precision") == 0)
        nuc_check_precision(cx, options->precision, options->n_precision);
    if (strcmp(name, "rewrite") == 0)
        nuc_check_rewrites(cx, options);
}

/* ---- of a compiler ---- */

struct nuc_context *nuc_context_of(const struct nuc_compiler *c)
{
    return c != NULL ? c->cx : NULL;
}

const struct nuc_settings *nuc_settings(struct nuc_compiler *c)
{
    if (c->settings == NULL) {
        struct nuc_settings *settings = nuc_alloc_in(c->cx, c->arena, sizeof *settings);
        nuc_settings_resolve(c->cx, &c->options, settings);
        settings->without = c->without;
        c->settings = settings;
    }
    return c->settings;
}

void nuc_note_seconds(struct nuc_compiler *c, const char *stage, double started)
{
    struct nuc_stage_seconds *s = &c->seconds;
    size_t at = 0;

    while (at < s->count && strcmp(s->stages[at].stage, stage) != 0)
        at++;
    if (at == NUC_MAX_TIMINGS)
        return;
    if (at == s->count)
        s->stages[s->count++] = (struct nuc_timing){stage, 0};
    s->stages[at].seconds += nuc_seconds() - started;
}
