#include "explain/list_operators.h"

#include <string.h>

#include "archive/json_build.h"
#include "front/pt2/importer.h"
#include "host/nearest.h"
#include "host/text.h"
#include "npu/support/support.h"
#include "rewrite/formula/formula.h"

#define CHANNELS_FIRST "input and output are channels-first data"

/* NULL: the target has no NPU, or its rules no such operator. */
static const struct nuc_support_row *row_of(const struct nuc_support *s, enum nuc_op op)
{
    return s->target->npu_name != NULL ? nuc_support_row(s, op) : NULL;
}

/* Without the dialect, which all of them are in. */
static const char *short_name(enum nuc_op op)
{
    return nuc_short_op_name(nuc_op_name(op, NUC_EDGE));
}

static const char *archive_name(enum nuc_op op)
{
    return nuc_op_name(op, NUC_ATEN);
}

/* The operators of a rule set by name, NULL: those of archives, in the arena. */
static const enum nuc_op *sorted_operators(struct nuc_context *cx, const struct nuc_support *s, uint32_t *count)
{
    const char *(*name)(enum nuc_op op) = s != NULL ? short_name : archive_name;
    enum nuc_op *ops = nuc_alloc_array(cx, NUC_OP_COUNT, sizeof *ops);

    *count = 0;
    for (enum nuc_op op = 0; op < NUC_OP_COUNT; op++) {
        if (s != NULL ? row_of(s, op) == NULL
                      : !nuc_op_in_dialect(op, NUC_ATEN) || (strncmp(archive_name(op), "aten.", 5) != 0 &&
                                                             strncmp(archive_name(op), "torchvision.", 12) != 0))
            continue;
        uint32_t at = (*count)++;
        for (; at > 0 && strcmp(name(ops[at - 1]), name(op)) > 0; at--)
            ops[at] = ops[at - 1];
        ops[at] = op;
    }
    return ops;
}

/* "NPU, int8, float"; "others" for an operator that others express, "nothing" for one that is gone before. */
static const char *what_runs(struct nuc_context *cx, struct nuc_runs_on r)
{
    if (r.nothing)
        return "nothing";
    if (!r.npu && !r.int8 && !r.real)
        return "others";
    return nuc_format(cx, "%s%s%s%s%s", r.npu ? "NPU" : "", r.npu && (r.int8 || r.real) ? ", " : "",
                      r.int8 ? "int8" : "", r.int8 && r.real ? ", " : "", r.real ? "float" : "");
}

/* Sentence `i` of what has to hold of a node, or in its partition; NULL: there are no more. */
static const char *rule_at(const struct nuc_support_row *row, bool in_partition, size_t i)
{
    const struct nuc_support_rule *const lists[] = {in_partition ? row->partition : row->ir,
                                                    in_partition ? NULL : row->target};

    if (!in_partition && row->channels_first && i-- == 0)
        return CHANNELS_FIRST;
    for (size_t k = 0; k < 2; k++) {
        for (const struct nuc_support_rule *r = lists[k]; r != NULL && r->text != NULL; r++) {
            if (i-- == 0)
                return r->text;
        }
    }
    return NULL;
}

static void add_rules(struct nuc_text *out, const struct nuc_support_row *row, bool in_partition, const char *separator)
{
    const char *text;

    for (size_t i = 0; (text = rule_at(row, in_partition, i)) != NULL; i++)
        nuc_text_addf(out, "%s%s", out->length > 0 ? separator : "", text);
}

static const char *all_rules(struct nuc_context *cx, const struct nuc_support_row *row, const char *separator)
{
    struct nuc_text out = {.cx = cx};

    add_rules(&out, row, false, separator);
    add_rules(&out, row, true, separator);
    return nuc_text_string(&out);
}

/* A line for each operator of archives: its name and what runs it. */
static void add_archive_operators(struct nuc_text *out, const struct nuc_support *s, nuc_runs_on_fn *runs_on,
                                  bool is_table)
{
    uint32_t count;
    const enum nuc_op *ops = sorted_operators(out->cx, NULL, &count);

    if (is_table)
        nuc_text_addf(out, "| Operator | Runs on |\n|---|---|\n");
    else
        nuc_text_addf(out,
                      "%u operators of torch.export archives, and what runs them where their arguments\n"
                      "allow it: the NPU; int8 kernels or tables of the CPU; float kernels of\n"
                      "the CPU; others that express them; nothing.\n\n",
                      count);
    for (uint32_t i = 0; i < count; i++) {
        const char *runs = what_runs(out->cx, runs_on(out->cx, s, ops[i]));
        nuc_text_addf(out, is_table ? "| `%s` | %s |\n" : "%-57s %s\n", archive_name(ops[i]), runs);
    }
}

const char *nuc_operators_text(struct nuc_context *cx, const struct nuc_support *s, nuc_runs_on_fn *runs_on)
{
    uint32_t count;
    const enum nuc_op *ops = sorted_operators(cx, s, &count);
    struct nuc_text out = {.cx = cx};

    add_archive_operators(&out, s, runs_on, false);
    if (s->target->npu_name == NULL)
        nuc_text_addf(&out, "\n%s has no NPU.\n", s->target->name);
    else
        nuc_text_addf(&out, "\n%u operators of %s in the rules of %s\n", count, s->target->name, s->flavor->name);
    for (uint32_t i = 0; i < count; i++) {
        const char *all = all_rules(cx, nuc_support_row(s, ops[i]), "\n  ");
        nuc_text_addf(&out, "\n%s\n%s%s%s", short_name(ops[i]), *all != '\0' ? "  " : "", all,
                      *all != '\0' ? "\n" : "");
    }
    return nuc_text_string(&out);
}

/* ---- one operator ---- */

static void add_operator(struct nuc_text *out, const struct nuc_support *s, nuc_runs_on_fn *runs_on, enum nuc_op op)
{
    static const char *const uses[] = {
        [NUC_FORMULA_EXPAND] = "as a model has it",
        [NUC_FORMULA_EDGE] = "in the Edge dialect",
        [NUC_FORMULA_REFERENCE] = "in the Edge dialect, with --reference-compat",
        [NUC_FORMULA_PORTABLE] = "in the Edge dialect, with --reference-compat or --executorch-ops-only",
        [NUC_FORMULA_EXECUTORCH] = "in the Edge dialect, with --executorch-ops-only",
    };
    const struct nuc_support_row *row = row_of(s, op);

    nuc_text_addf(out, "%s%s\n  runs on: %s\n", out->length > 0 ? "\n" : "", archive_name(op),
                  what_runs(out->cx, runs_on(out->cx, s, op)));
    for (size_t i = 0; i < nuc_n_formula_rows; i++) {
        if (nuc_formula_rows[i].op != op)
            continue;
        nuc_text_addf(out, "  %s: %s\n", uses[nuc_formula_rows[i].use], nuc_formula_rows[i].title);
        /* A formula with a line for each statement, which goes on in lines that are indented more. */
        const char *text = nuc_formula_rows[i].text;
        size_t column = 0;
        bool in_text = false;
        for (size_t length; *text != '\0'; text += length) {
            text += *text == ' ';
            length = strcspn(text, " ");
            const char *space = column == 0 ? "    " : column + 1 + length > 80 ? "\n        " : " ";
            nuc_text_addf(out, "%s%.*s", space, (int)length, text);
            column = (space[0] == '\n' ? 8 : column + strlen(space)) + length;
            for (size_t k = 0; k < length; k++)
                in_text = in_text != (text[k] == '"');
            if (text[length - 1] == ';' && !in_text) {
                nuc_text_addf(out, "\n");
                column = 0;
            }
        }
        nuc_text_addf(out, "\n");
    }
    if (row != NULL)
        nuc_text_addf(out, "  rules of %s:\n    %s\n", s->flavor->name, all_rules(out->cx, row, "\n    "));
}

/* Whether an operator's name is `name`, which leaves out dialect or overload or both. */
static bool is_named(enum nuc_op op, enum nuc_dialect dialect, const char *name)
{
    const char *full = nuc_op_name(op, dialect), *begin = full;
    size_t length = strlen(name);

    if (!nuc_op_in_dialect(op, dialect))
        return false;
    for (; begin != NULL; begin = strchr(begin, '.') != NULL ? strchr(begin, '.') + 1 : NULL) {
        if (strncmp(begin, name, length) == 0 && (begin[length] == '\0' || begin[length] == '.'))
            return true;
    }
    return false;
}

static const char *archive_name_at(const void *count, size_t index)
{
    return index < NUC_OP_COUNT ? archive_name((enum nuc_op)index) : count;
}

const char *nuc_operator_text(struct nuc_context *cx, const struct nuc_support *s, nuc_runs_on_fn *runs_on,
                              const char *name)
{
    struct nuc_known_ops none = {.of = {{.name = NULL}}};
    enum nuc_op alias = nuc_pt2_find_op(&none, name).op;
    uint32_t count;
    const enum nuc_op *ops = sorted_operators(cx, NULL, &count);
    struct nuc_text out = {.cx = cx};

    for (uint32_t i = 0; i < count; i++) {
        if (alias != NUC_OP_COUNT ? ops[i] == alias
                                  : is_named(ops[i], NUC_ATEN, name) || is_named(ops[i], NUC_EDGE, name))
            add_operator(&out, s, runs_on, ops[i]);
    }
    if (out.length == 0)
        nuc_fail(cx, NUC_BAD_USAGE, "no operator is named '%s'%s: 'nucleon ops' lists them", name,
                 nuc_did_you_mean(cx, name, archive_name_at, NULL));
    return nuc_text_string(&out);
}

const char *nuc_operators_markdown(struct nuc_context *cx, nuc_runs_on_fn *runs_on)
{
    const struct nuc_support newest = {.target = nuc_target_at(0), .flavor = nuc_flavor_at(0)};
    struct nuc_text out = {.cx = cx};

    nuc_text_addf(&out,
                  "# Operators\n\nGenerated from the tables by `nucleon ops --markdown`; do not edit.\n\n"
                  "## What runs an operator\n\nThe operators of torch.export archives, in the names of "
                  "`torch.export.export` and `run_decompositions()`; in-place\nforms and other names of the same "
                  "operator (`aten.relu_`, `aten.add.Scalar`, `aten.concat`) count with it. NPU: where the\nrules "
                  "below hold. int8: a kernel or a table of the Cortex-M. "
                  "float: a float\nkernel of the CPU. others: expressed by operators of this list. nothing: gone "
                  "before anything runs.\n`.complex`: on complex numbers, which are two values each, whatever overload "
                  "torch has.\n\n");
    add_archive_operators(&out, &newest, runs_on, true);
    nuc_text_addf(&out,
                  "\n# Rules of the NPU\n\nNames are those of the Edge dialect, which `nucleon explain` prints next "
                  "to the line of Python they come from. An\noperator runs on the NPU when it stands between "
                  "dequantize and quantize nodes, all its rules hold, and those about its\npartition, too. Limits of "
                  "the hardware are those of the target (`nucleon targets`).\n");
    for (size_t i = 0; nuc_flavor_at(i) != NULL; i++) {
        const struct nuc_support s = {.target = nuc_target_at(0), .flavor = nuc_flavor_at(i)};
        uint32_t count;
        const enum nuc_op *ops = sorted_operators(cx, &s, &count);
        nuc_text_addf(&out,
                      "\n## %s\n\n%s. %u operators.\n\n| Operator | Has to hold | In its partition |\n|---|---|---|\n",
                      s.flavor->name, s.flavor->description, count);
        for (uint32_t k = 0; k < count; k++) {
            const struct nuc_support_row *row = nuc_support_row(&s, ops[k]);
            struct nuc_text own = {.cx = cx}, partition = {.cx = cx};
            add_rules(&own, row, false, "; ");
            add_rules(&partition, row, true, "; ");
            nuc_text_addf(&out, "| `%s` | %s | %s |\n", short_name(ops[k]),
                          own.length > 0 ? nuc_text_string(&own) : "-",
                          partition.length > 0 ? nuc_text_string(&partition) : "-");
        }
    }
    return nuc_text_string(&out);
}

/* ---- JSON ---- */

static void put_rules(struct nuc_context *cx, json_t *to, const char *key, const struct nuc_support_row *row,
                      bool in_partition)
{
    json_t *list = nuc_put_array(cx, to, key);
    const char *text;

    for (size_t i = 0; (text = rule_at(row, in_partition, i)) != NULL; i++)
        nuc_put_text(cx, list, NULL, text);
}

static void put_archive_operators(struct nuc_context *cx, json_t *tree, const struct nuc_support *s,
                                  nuc_runs_on_fn *runs_on)
{
    uint32_t count;
    const enum nuc_op *ops = sorted_operators(cx, NULL, &count);
    json_t *list = nuc_put_array(cx, tree, "archive_operators");

    for (uint32_t i = 0; i < count; i++) {
        json_t *o = nuc_put_object(cx, list, NULL);
        struct nuc_runs_on r = runs_on(cx, s, ops[i]);
        nuc_put_text(cx, o, "operator", archive_name(ops[i]));
        nuc_put_bool(cx, o, "npu", r.npu);
        nuc_put_bool(cx, o, "cpu_int8", r.int8);
        nuc_put_bool(cx, o, "cpu_float", r.real);
        nuc_put_bool(cx, o, "gone", r.nothing);
    }
}

const char *nuc_operators_tree(struct nuc_context *cx, const struct nuc_support *s, nuc_runs_on_fn *runs_on)
{
    uint32_t count;
    const enum nuc_op *ops = sorted_operators(cx, s, &count);
    json_t *tree = nuc_json_tree(cx);

    nuc_put_text(cx, tree, "converter_flavor", s->flavor->name);
    put_archive_operators(cx, tree, s, runs_on);
    json_t *list = nuc_put_array(cx, tree, "npu_operators");
    for (uint32_t i = 0; i < count; i++) {
        const struct nuc_support_row *row = nuc_support_row(s, ops[i]);
        json_t *o = nuc_put_object(cx, list, NULL);
        nuc_put_text(cx, o, "operator", short_name(ops[i]));
        put_rules(cx, o, "rules", row, false);
        put_rules(cx, o, "partition_rules", row, true);
    }
    return nuc_json_text(cx, tree);
}

void nuc_put_memories(struct nuc_context *cx, json_t *to, const struct nuc_target *target)
{
    json_t *list = nuc_put_array(cx, to, "memories");

    for (uint32_t i = 0; i < target->n_memories; i++) {
        json_t *memory = nuc_put_object(cx, list, NULL);
        nuc_put_text(cx, memory, "name", target->memories[i].name);
        nuc_put_count(cx, memory, "bytes", target->memories[i].bytes);
        nuc_put_bool(cx, memory, "npu_reads", (target->memories[i].reach & NUC_BY_NPU) != 0);
        nuc_put_bool(cx, memory, "dma_reads", (target->memories[i].reach & NUC_BY_DMA) != 0);
        nuc_put_bool(cx, memory, "flash", target->memories[i].flash);
    }
}

static void put_npu(struct nuc_context *cx, json_t *to, const struct nuc_target *t)
{
    if (t->npu_name == NULL) {
        nuc_put_null(cx, to, "npu");
        return;
    }
    json_t *o = nuc_put_object(cx, to, "npu");
    nuc_put_text(cx, o, "name", t->npu_name);
    nuc_put_text(cx, o, "kind", t->npu_kind);
    nuc_put_int(cx, o, "pipelines", t->pipelines);
    nuc_put_int(cx, o, "macs_per_pipeline", t->num_macs);
    nuc_put_double(cx, o, "peak_macs_per_second", nuc_target_peak_macs(t));
    nuc_put_int(cx, o, "max_window", t->max_window);
    nuc_put_int(cx, o, "max_mac_buffer", t->max_mac_buffer);
    nuc_put_int(cx, o, "max_softmax_channels", t->max_softmax_channels);
    nuc_put_int(cx, o, "max_softmax_rows", t->max_softmax_rows);
    nuc_put_int(cx, o, "max_softmax_elements", t->max_softmax_elements);
    nuc_put_memories(cx, o, t);
}

const char *nuc_targets_tree(struct nuc_context *cx)
{
    json_t *tree = nuc_json_tree(cx), *list = nuc_put_array(cx, tree, "targets");

    for (size_t i = 0; nuc_target_at(i) != NULL; i++) {
        const struct nuc_target *t = nuc_target_at(i);
        json_t *o = nuc_put_object(cx, list, NULL);
        nuc_put_text(cx, o, "name", t->name);
        nuc_put_text(cx, o, "description", t->description);
        nuc_put_double(cx, o, "clock_hz", t->clock_hz);
        put_npu(cx, o, t);
        nuc_put_text(cx, o, "cpu", t->cpu != NULL ? t->cpu->name : NULL);
        nuc_put_text(cx, o, "cpu_kernels", t->cpu != NULL ? nuc_isa_name(t->cpu->isa) : "float");
    }
    list = nuc_put_array(cx, tree, "converter_flavors");
    for (size_t i = 0; nuc_flavor_at(i) != NULL; i++) {
        const struct nuc_flavor *f = nuc_flavor_at(i);
        json_t *o = nuc_put_object(cx, list, NULL), *aliases;
        nuc_put_text(cx, o, "name", f->name);
        nuc_put_text(cx, o, "description", f->description);
        aliases = nuc_put_array(cx, o, "aliases");
        for (size_t k = 0; k < NUC_MAX_FLAVOR_ALIASES && f->aliases[k] != NULL; k++)
            nuc_put_text(cx, aliases, NULL, f->aliases[k]);
    }
    return nuc_json_text(cx, tree);
}

/* ---- targets ---- */

static void add_target(struct nuc_text *out, const struct nuc_target *t)
{
    nuc_text_addf(out, "%s\n  %s\n", t->name, t->description);
    if (t->npu_name != NULL) {
        nuc_text_addf(out, "  NPU %s: %u pipelines of %u multiply-accumulates, %.0f MHz: %.1f G per second\n",
                      t->npu_kind, t->pipelines, t->num_macs, t->clock_hz * 1e-6, nuc_target_peak_macs(t) * 1e-9);
        for (uint32_t i = 0; i < t->n_memories; i++)
            nuc_text_addf(out, "  %-8s %10llu bytes%s\n", t->memories[i].name, (unsigned long long)t->memories[i].bytes,
                          (t->memories[i].reach & NUC_BY_NPU) != 0 ? ", read by the NPU" : "");
        nuc_text_addf(
            out, "  window at most %lld, MAC buffer %lld\n  softmax at most %lld channels x %lld rows, %lld elements\n",
            (long long)t->max_window, (long long)t->max_mac_buffer, (long long)t->max_softmax_channels,
            (long long)t->max_softmax_rows, (long long)t->max_softmax_elements);
    }
    if (t->cpu != NULL)
        nuc_text_addf(out, "  CPU %s, int8 kernels, scratch memory of the %s ones\n", t->cpu->name,
                      nuc_isa_name(t->cpu->isa));
    else
        nuc_text_addf(out, "  CPU in float\n");
}

const char *nuc_targets_text(struct nuc_context *cx)
{
    struct nuc_text out = {.cx = cx};

    for (size_t i = 0; nuc_target_at(i) != NULL; i++)
        add_target(&out, nuc_target_at(i));
    nuc_text_addf(&out, "\nconverter flavors\n");
    for (size_t i = 0; nuc_flavor_at(i) != NULL; i++) {
        const struct nuc_flavor *f = nuc_flavor_at(i);
        nuc_text_addf(&out, "  %-8s %s", f->name, f->description);
        for (size_t k = 0; k < NUC_MAX_FLAVOR_ALIASES && f->aliases[k] != NULL; k++)
            nuc_text_addf(&out, "%s%s", k == 0 ? "\n           also for " : ", ", f->aliases[k]);
        nuc_text_addf(&out, "\n");
    }
    return nuc_text_string(&out);
}
