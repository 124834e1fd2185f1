#include "compiler/report/list_operators.h"

#include <string.h>

#include "compiler/support/support.h"
#include "host/text.h"

/* Without the dialect, which all of them are in. */
static const char *short_name(enum nuc_op op)
{
    return nuc_short_op_name(nuc_op_name(op, NUC_EDGE));
}

/* The operators of a rule set by name, in the arena. */
static const enum nuc_op *sorted_operators(struct nuc_context *cx, const struct nuc_flavor *flavor, uint32_t *count)
{
    enum nuc_op *ops = nuc_alloc_array(cx, NUC_OP_COUNT, sizeof *ops);

    *count = 0;
    for (enum nuc_op op = 0; op < NUC_OP_COUNT; op++) {
        if (nuc_support_row(flavor, op) == NULL)
            continue;
        uint32_t at = (*count)++;
        for (; at > 0 && strcmp(short_name(ops[at - 1]), short_name(op)) > 0; at--)
            ops[at] = ops[at - 1];
        ops[at] = op;
    }
    return ops;
}

/* The sentences of two lists of rules, after `first` when it is not NULL; "" when there are none. */
static const char *join(struct nuc_context *cx, const char *first, const struct nuc_support_rule *one,
                        const struct nuc_support_rule *other, const char *separator)
{
    const struct nuc_support_rule *const lists[] = {one, other};
    struct nuc_text out;

    nuc_text_init(&out, cx);
    nuc_text_addf(&out, "%s", first != NULL ? first : "");
    for (size_t i = 0; i < 2; i++) {
        for (const struct nuc_support_rule *r = lists[i]; r != NULL && r->text != NULL; r++)
            nuc_text_addf(&out, "%s%s", out.length > 0 ? separator : "", r->text);
    }
    return nuc_text_string(&out);
}

/* What has to hold of the node itself. */
static const char *node_rules(struct nuc_context *cx, const struct nuc_support_row *row, const char *separator)
{
    return join(cx, row->channels_first ? "input and output are channels-first data" : NULL, row->ir, row->target,
                separator);
}

const char *nuc_operators_text(struct nuc_context *cx, const struct nuc_flavor *flavor)
{
    uint32_t count;
    const enum nuc_op *ops = sorted_operators(cx, flavor, &count);
    struct nuc_text out;

    nuc_text_init(&out, cx);
    nuc_text_addf(&out, "%u operators in the rules of %s\n", count, flavor->name);
    for (uint32_t i = 0; i < count; i++) {
        const struct nuc_support_row *row = nuc_support_row(flavor, ops[i]);
        const char *own = node_rules(cx, row, "\n  ");
        const char *all = join(cx, *own != '\0' ? own : NULL, row->partition, NULL, "\n  ");
        nuc_text_addf(&out, "\n%s\n%s%s%s", short_name(ops[i]), *all != '\0' ? "  " : "", all,
                      *all != '\0' ? "\n" : "");
    }
    return nuc_text_string(&out);
}

static void add_table(struct nuc_text *out, const struct nuc_flavor *flavor)
{
    uint32_t count;
    const enum nuc_op *ops = sorted_operators(out->cx, flavor, &count);

    nuc_text_addf(out, "\n## %s\n\n%s. %u operators.\n\n| Operator | Has to hold | In its partition |\n|---|---|---|\n",
                  flavor->name, flavor->description, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct nuc_support_row *row = nuc_support_row(flavor, ops[i]);
        const char *own = node_rules(out->cx, row, "; ");
        const char *partition = join(out->cx, NULL, row->partition, NULL, "; ");
        nuc_text_addf(out, "| `%s` | %s | %s |\n", short_name(ops[i]), *own != '\0' ? own : "-",
                      *partition != '\0' ? partition : "-");
    }
}

const char *nuc_operators_markdown(struct nuc_context *cx)
{
    struct nuc_text out;

    nuc_text_init(&out, cx);
    nuc_text_addf(
        &out, "# Operators the NPU runs\n\nGenerated from the rule tables by `nucleon ops --markdown`; do not edit. "
              "Names are those of the Edge dialect, which\n`nucleon explain` prints next to the line of Python they "
              "come from. An operator runs on the NPU when it stands between\ndequantize and quantize nodes, all "
              "its rules hold, and those about its partition, too. Limits of the hardware are\nthose of the target "
              "(`nucleon targets`).\n");
    for (size_t i = 0; nuc_flavor_at(i) != NULL; i++)
        add_table(&out, nuc_flavor_at(i));
    return nuc_text_string(&out);
}

/* ---- targets ---- */

static void add_npu(struct nuc_text *out, const struct nuc_target *t)
{
    nuc_text_addf(out, "  NPU %u pipelines of %u multiply-accumulates, %.0f MHz: %.1f G per second\n", t->pipelines,
                  t->num_macs, t->clock_hz * 1e-6, nuc_target_peak_macs(t) * 1e-9);
    for (uint32_t i = 0; i < t->n_memories; i++)
        nuc_text_addf(out, "  %-6s %10llu bytes%s\n", t->memories[i].name, (unsigned long long)t->memories[i].bytes,
                      t->memories[i].npu_reads ? ", read by the NPU" : "");
    nuc_text_addf(out, "  window at most %lld, MAC buffer %lld, softmax %lld channels x %lld rows, %lld elements\n",
                  (long long)t->max_window, (long long)t->max_mac_buffer, (long long)t->max_softmax_channels,
                  (long long)t->max_softmax_rows, (long long)t->max_softmax_elements);
}

static void add_target(struct nuc_text *out, const struct nuc_target *t)
{
    nuc_text_addf(out, "%s\n  %s\n", t->name, t->description);
    if (t->npu_name != NULL)
        add_npu(out, t);
    if (t->cpu != NULL)
        nuc_text_addf(out, "  CPU %s, int8 kernels, scratch memory of the %s ones\n", t->cpu->name,
                      nuc_isa_name(t->cpu->isa));
    else
        nuc_text_addf(out, "  CPU in float\n");
}

const char *nuc_targets_text(struct nuc_context *cx)
{
    struct nuc_text out;

    nuc_text_init(&out, cx);
    for (size_t i = 0; nuc_target_at(i) != NULL; i++)
        add_target(&out, nuc_target_at(i));
    nuc_text_addf(&out, "\nconverter flavors\n");
    for (size_t i = 0; nuc_flavor_at(i) != NULL; i++) {
        const struct nuc_flavor *f = nuc_flavor_at(i);
        nuc_text_addf(&out, "  %-8s %s", f->name, f->description);
        for (size_t k = 0; k < NUC_MAX_FLAVOR_ALIASES && f->aliases[k] != NULL; k++)
            nuc_text_addf(&out, "%s%s", k == 0 ? "; also for " : ", ", f->aliases[k]);
        nuc_text_addf(&out, "\n");
    }
    return nuc_text_string(&out);
}
