/* Public calls that take files and not a model: descriptions, profiles, lists, LiteRT models. */
#include <sys/stat.h>

#include "nucleon/json.h"

#include "back/program/out_variant.h"
#include "cpu/cortexm.h"
#include "data/file_kind.h"
#include "driver/driver.h"
#include "host/file.h"
#include "npu/container/container.h"
#include "npu/convert/kernel_selection.h"
#include "npu/support/support.h"
#include "npu/target/target.h"
#include "rewrite/passes.h"
#include "tools/describe/extract_litert.h"
#include "tools/describe/inspect.h"
#include "tools/describe/list_operators.h"
#include "tools/describe/profile.h"

/* ---- kernel selections ---- */

static void merge(struct nuc_call *k)
{
    struct nuc_context *cx = k->c->cx;
    struct nuc_kernel_selection selection = {.used = {false}};

    for (size_t i = 0; i < k->count; i++)
        nuc_kernel_selection_read(cx, k->names[i], nuc_read_file(cx, k->names[i]), &selection);
    nuc_write_file(cx, k->output, nuc_kernel_selection_write(cx, &selection));
}

enum nuc_status nuc_merge_kernel_selections(struct nuc_compiler *c, const char *const *inputs, size_t n_inputs,
                                            const char *output)
{
    return nuc_enter(&(struct nuc_call){.c = c, .names = inputs, .count = n_inputs, .output = output}, merge);
}

/* ---- descriptions ---- */

static void inspect(struct nuc_call *k)
{
    *k->out.text =
        nuc_inspect(k->c->cx, (struct nuc_stored){k->path, k->bytes}, (enum nuc_inspect_form)k->form, k->flag);
}

enum nuc_status nuc_inspect_file(struct nuc_compiler *c, const char *path, enum nuc_inspect_form form, bool disassemble,
                                 const char **text)
{
    return nuc_enter(&(struct nuc_call){.c = c, .path = path, .form = (int)form, .flag = disassemble, .out.text = text},
                     inspect);
}

enum nuc_status nuc_inspect_bytes(struct nuc_compiler *c, const char *name, const void *bytes, size_t size,
                                  enum nuc_inspect_form form, bool disassemble, const char **text)
{
    struct nuc_call call = {
        .c = c, .path = name, .bytes = {bytes, size}, .form = (int)form, .flag = disassemble, .out.text = text};

    return bytes != NULL ? nuc_enter(&call, inspect) : NUC_BAD_USAGE;
}

static void extract(struct nuc_call *k)
{
    struct nuc_context *cx = k->c->cx;

    nuc_expect_file(cx, k->path, NUC_FILE_PROGRAM);
    const struct nuc_program_view *view = nuc_program_view_open(cx, k->path, nuc_read_file(cx, k->path));
    const struct nuc_extracted *models = nuc_extract_litert(cx, view, k->out_count);
    const char **paths = nuc_alloc_array(cx, *k->out_count, sizeof *paths);
    if (*k->out_count == 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: nothing in it is on the NPU, there is no LiteRT model to take out", k->path);
    mkdir(k->output, 0777); /* when it cannot be made, writing into it says why */
    for (size_t i = 0; i < *k->out_count; i++) {
        paths[i] = nuc_format(cx, "%s/npu_%u.tflite", k->output, models[i].instruction);
        nuc_write_file(cx, paths[i], models[i].bytes);
    }
    *k->out.names = paths;
}

enum nuc_status nuc_extract_models(struct nuc_compiler *c, const char *path, const char *folder,
                                   const char *const **files, size_t *count)
{
    return nuc_enter(&(struct nuc_call){.c = c, .path = path, .output = folder, .out.names = files, .out_count = count},
                     extract);
}

/* Functions of one value and chains of them are int8 tables; copies and checks are gone before anything runs. */
static struct nuc_runs_on runs_on(struct nuc_context *cx, const struct nuc_flavor *flavor, enum nuc_op op)
{
    enum nuc_family family = nuc_op_family(op);
    enum nuc_op carrier = family == NUC_FAMILY_COMPOSITE ? NUC_OP_COUNT : nuc_edge_carrier(cx, op);
    struct nuc_runs_on r = {.nothing = family == NUC_FAMILY_ASSERT || op == NUC_OP_DROPOUT || op == NUC_OP_ALIAS,
                            .npu = nuc_support_row(flavor, op) != NULL,
                            .int8 = family == NUC_FAMILY_MAP};

    if (carrier == NUC_OP_COUNT)
        return r;
    r.npu = r.npu || nuc_support_row(flavor, carrier) != NULL;
    r.int8 = r.int8 || nuc_cortexm_has_kernel(carrier);
    r.real = nuc_out_variant(cx, carrier).name != NULL;
    return r;
}

static void list_operators(struct nuc_call *k)
{
    *k->out.text = k->flag ? nuc_operators_markdown(k->c->cx, runs_on)
                           : nuc_operators_text(k->c->cx, nuc_settings(k->c)->flavor, runs_on);
}

enum nuc_status nuc_list_operators(struct nuc_compiler *c, bool markdown, const char **text)
{
    return nuc_enter(&(struct nuc_call){.c = c, .flag = markdown, .out.text = text}, list_operators);
}

static void operators_json(struct nuc_call *k)
{
    *k->out.text = nuc_operators_tree(k->c->cx, nuc_settings(k->c)->flavor, runs_on);
}

enum nuc_status nuc_operators_json(struct nuc_compiler *c, const char **text)
{
    return nuc_enter(&(struct nuc_call){.c = c, .out.text = text}, operators_json);
}

static void list_targets(struct nuc_call *k)
{
    *k->out.text = nuc_targets_text(k->c->cx);
}

const char *nuc_target_name(size_t index)
{
    const struct nuc_target *target = nuc_target_at(index);

    return target != NULL ? target->name : NULL;
}

const char *nuc_flavor_name(size_t index)
{
    const struct nuc_flavor *flavor = nuc_flavor_at(index);

    return flavor != NULL ? flavor->name : NULL;
}

enum nuc_status nuc_list_targets(struct nuc_compiler *c, const char **text)
{
    return nuc_enter(&(struct nuc_call){.c = c, .out.text = text}, list_targets);
}

static void targets_json(struct nuc_call *k)
{
    *k->out.text = nuc_targets_tree(k->c->cx);
}

enum nuc_status nuc_targets_json(struct nuc_compiler *c, const char **text)
{
    return nuc_enter(&(struct nuc_call){.c = c, .out.text = text}, targets_json);
}

/* ---- profiles of programs that ran ---- */

static const struct nuc_profile *read_run(const struct nuc_call *k, size_t i)
{
    return nuc_profile_read(k->c->cx, nuc_settings(k->c)->target, k->path, k->bytes,
                            k->in.runs != NULL ? &k->in.runs[i] : NULL);
}

static void print_profile(struct nuc_call *k)
{
    *k->out.text = nuc_profile_table(k->c->cx, read_run(k, 0));
}

enum nuc_status nuc_profile_text(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                 const struct nuc_profile_run *run, const char **text)
{
    return nuc_enter(
        &(struct nuc_call){.c = c, .path = file, .bytes = {program, size}, .in.runs = run, .out.text = text},
        print_profile);
}

static void profile_json(struct nuc_call *k)
{
    *k->out.text = nuc_profile_tree(k->c->cx, read_run(k, 0));
}

enum nuc_status nuc_profile_json(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                 const struct nuc_profile_run *run, const char **text)
{
    return nuc_enter(
        &(struct nuc_call){.c = c, .path = file, .bytes = {program, size}, .in.runs = run, .out.text = text},
        profile_json);
}

static void write_etdump(struct nuc_call *k)
{
    const struct nuc_profile **runs = nuc_alloc_array(k->c->cx, k->count, sizeof(struct nuc_profile *));

    for (size_t i = 0; i < k->count; i++)
        runs[i] = read_run(k, i);
    nuc_write_file(k->c->cx, k->output, nuc_profile_dump(k->c->cx, runs, k->count));
}

enum nuc_status nuc_write_etdump(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                 const struct nuc_profile_run *runs, size_t n_runs, const char *output)
{
    return nuc_enter(
        &(struct nuc_call){
            .c = c, .path = file, .bytes = {program, size}, .in.runs = runs, .count = n_runs, .output = output},
        write_etdump);
}

/* ---- LiteRT models with what the NPU takes converted ---- */

static void fill_report(struct nuc_context *cx, const struct nuc_lt_model *before, const struct nuc_lt_model *after,
                        const struct nuc_container_report *r, struct nuc_convert_report *out)
{
    uint32_t n_outside = r->n_ops - r->n_inside;
    const char **outside = nuc_alloc_array(cx, n_outside, sizeof *outside);
    const struct nuc_lt_subgraph *s = &after->subgraphs[0];

    for (uint32_t i = 0; i < n_outside; i++) {
        const struct nuc_container_outside *o = &r->outside[i];
        outside[i] = nuc_format(cx, "operator %u (%s): %s", o->op,
                                nuc_lt_code_name(cx, before->subgraphs[0].ops[o->op].code), o->reason);
    }
    *out = (struct nuc_convert_report){
        .n_graphs = r->n_graphs, .n_operators = r->n_ops, .n_inside = r->n_inside, .outside = outside};
    for (uint32_t i = 0; i < s->n_ops && out->n_graphs > 0; i++) {
        if (!nuc_is_neutron_graph(&s->ops[i]))
            continue;
        size_t scratch = nuc_neutron_graph_read(cx, after, i).header.scratch;
        out->scratch = scratch > out->scratch ? scratch : out->scratch;
    }
}

/* Why, by the first operator: the others often follow from it. */
static void note_nothing_converted(const struct nuc_call *k, const struct nuc_lt_model *m,
                                   const struct nuc_container_report *r)
{
    struct nuc_context *cx = k->c->cx;
    uint32_t n_before = 0;

    for (uint32_t i = 0; i < m->subgraphs[0].n_ops; i++)
        n_before += nuc_is_neutron_graph(&m->subgraphs[0].ops[i]);
    if (n_before > 0)
        nuc_warn(cx, "%s: nothing is converted: it is a converted model already, with %u NeutronGraph operator%s",
                 k->path, n_before, n_before == 1 ? "" : "s");
    else if (r->n_ops == 0)
        nuc_warn(cx, "%s: nothing is converted: the model has no operators", k->path);
    else
        nuc_warn(cx,
                 "%s: nothing is converted: the NPU takes none of its %u operators; operator %u (%s): %s; --verbose "
                 "lists all",
                 k->path, r->n_ops, r->outside[0].op, nuc_lt_code_name(cx, m->subgraphs[0].ops[r->outside[0].op].code),
                 r->outside[0].reason);
}

static void convert(struct nuc_call *k)
{
    struct nuc_context *cx = k->c->cx;
    struct nuc_container_options options = {.target = nuc_settings(k->c)->target};
    struct nuc_container_report report;
    double started = nuc_seconds();

    if (options.target->npu_name == NULL)
        nuc_fail(cx, NUC_BAD_USAGE, "--target: %s has no NPU to convert for: use imxrt700", options.target->name);
    options.convert.costs = options.target->npu;
    if (k->in.convert != NULL) {
        options.min_ops = (uint32_t)k->in.convert->min_operators;
        options.convert.profile = k->in.convert->profile;
        options.convert.fetch_constants = k->in.convert->fetch_constants_to_sram;
    }
    nuc_expect_file(cx, k->path, NUC_FILE_LITERT);
    const struct nuc_lt_model *m = nuc_lt_read(cx, k->path, nuc_read_file(cx, k->path));
    nuc_note_seconds(k->c, "read", started);
    started = nuc_seconds();
    struct nuc_lt_model *converted = nuc_container_build(cx, m, &options, &report);
    nuc_note_seconds(k->c, "convert", started);
    if (report.n_graphs == 0)
        note_nothing_converted(k, m, &report);
    started = nuc_seconds();
    nuc_write_file(cx, k->output, nuc_lt_write(converted));
    nuc_note_seconds(k->c, "write", started);
    if (k->out.convert != NULL)
        fill_report(cx, m, converted, &report, k->out.convert);
}

enum nuc_status nuc_convert_model(struct nuc_compiler *c, const char *model, const char *output,
                                  const struct nuc_convert_model_options *options, struct nuc_convert_report *report)
{
    return nuc_enter(
        &(struct nuc_call){.c = c, .path = model, .output = output, .in.convert = options, .out.convert = report},
        convert);
}
