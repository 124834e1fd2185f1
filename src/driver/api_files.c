/* Public calls that take files and not a model: data sets, descriptions, profiles, lists, LiteRT models. */
#include <string.h>

#include "nucleon/json.h"
#include "nucleon/runtime.h"

#include "archive/file_kind.h"
#include "archive/program_package.h"
#include "back/profile/profile.h"
#include "back/program/out_variant.h"
#include "cpu/cortexm.h"
#include "data/arrays.h"
#include "data/dataset.h"
#include "data/metadata.h"
#include "driver/model_metadata.h"
#include "driver/stages.h"
#include "explain/list_operators.h"
#include "host/file.h"
#include "inspect/inspect.h"
#include "npu/container/container.h"
#include "npu/convert/kernel_selection.h"
#include "npu/support/support.h"
#include "npu/target/target.h"
#include "rewrite/passes.h"

/* ---- data sets ---- */

enum nuc_status nuc_dataset_open(struct nuc_compiler *c, const char *path, struct nuc_dataset **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, path != NULL && out != NULL);
        *out = nuc_dataset_read(c->cx, &c->options, path);
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_size_samples(struct nuc_compiler *c, const char *path)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, true);
        c->size_samples = (struct nuc_sample_source){path != NULL ? nuc_strdup(c->cx, path) : NULL, NULL};
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_size_dataset(struct nuc_compiler *c, const struct nuc_dataset *data)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, data != NULL);
        c->size_samples = (struct nuc_sample_source){NULL, data};
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_dataset_of_arrays(struct nuc_compiler *c, const char *name, const struct nuc_array_info *arrays,
                                      size_t count, struct nuc_dataset **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, (arrays != NULL || count == 0) && out != NULL);
        *out = nuc_dataset_take(c->cx, &c->options, name, arrays, count);
    }
    return nuc_leave(&call);
}

const char *nuc_calibration_line(const struct nuc_compiler *c, size_t index)
{
    return c->data != NULL && index < c->data->count ? c->data->items[index] : NULL;
}

enum nuc_status nuc_write_arrays(struct nuc_compiler *c, const char *path, const struct nuc_array_info *arrays,
                                 size_t count)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, path != NULL && (arrays != NULL || count == 0));
        const struct nuc_arrays given = nuc_arrays_given(c->cx, path, arrays, count);
        nuc_write_npz(c->cx, path, &given);
    }
    return nuc_leave(&call);
}

struct nuc_dataset *nuc_dataset_again(struct nuc_compiler *c, struct nuc_sample_source source)
{
    return nuc_dataset_for(c->cx, &c->options, source);
}

void nuc_dataset_bind_model(struct nuc_dataset *d, const struct nuc_model *m)
{
    size_t n = nuc_model_n_inputs(m);
    struct nuc_tensor_info *inputs = nuc_alloc_array(d->cx, n, sizeof *inputs);
    bool *turned = nuc_alloc_array(d->cx, n, sizeof *turned);

    for (size_t i = 0; i < n; i++) {
        nuc_model_input(m, i, &inputs[i]);
        inputs[i].name = nuc_input_name(m, i);
        turned[i] = nuc_is_image_input(m, i);
    }
    d->has_states = nuc_n_states(m->graph) > 0;
    d->front_end = m->front_end;
    nuc_dataset_bind_inputs(d, inputs, n, turned);
}

struct nuc_sub_arena *nuc_open_samples(struct nuc_job *j)
{
    struct nuc_sub_arena *memory = nuc_enter_sub_arena(j->c->cx);

    j->samples = nuc_dataset_again(j->c, j->source);
    j->samples->part = j->part;
    nuc_leave_sub_arena(j->c->cx, memory);
    return memory;
}

void nuc_close_samples(struct nuc_job *j, struct nuc_sub_arena *memory)
{
    nuc_free_sub_arena(memory);
    j->samples = NULL;
}

/* ---- kernel selections ---- */

enum nuc_status nuc_merge_kernel_selections(struct nuc_compiler *c, const char *const *inputs, size_t n_inputs,
                                            const char *output)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, inputs != NULL && output != NULL);
        struct nuc_kernel_selection selection = {.used = {false}};
        for (size_t i = 0; i < n_inputs; i++)
            nuc_kernel_selection_read(c->cx, inputs[i], nuc_read_file(c->cx, inputs[i]), &selection);
        nuc_write_file(c->cx, output, nuc_kernel_selection_write(c->cx, &selection));
    }
    return nuc_leave(&call);
}

/* ---- descriptions ---- */

static enum nuc_status inspect(const char *name, struct nuc_compiler *c, struct nuc_stored input, bool given,
                               enum nuc_inspect_form form, bool disassemble, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), name,
                  given && input.path != NULL && form >= NUC_INSPECT_TEXT && form <= NUC_INSPECT_DOT && text != NULL);
        *text = nuc_inspect(c->cx, input, form, disassemble);
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_inspect_file(struct nuc_compiler *c, const char *path, enum nuc_inspect_form form, bool disassemble,
                                 const char **text)
{
    return inspect(__func__, c, (struct nuc_stored){.path = path}, true, form, disassemble, text);
}

enum nuc_status nuc_inspect_bytes(struct nuc_compiler *c, const char *name, const void *bytes, size_t size,
                                  enum nuc_inspect_form form, bool disassemble, const char **text)
{
    return inspect(__func__, c, (struct nuc_stored){name, {bytes, size}}, bytes != NULL, form, disassemble, text);
}

enum nuc_status nuc_extract_models(struct nuc_compiler *c, const char *path, const char *folder,
                                   const char *const **files, size_t *count)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, path != NULL && folder != NULL && files != NULL && count != NULL);
        struct nuc_context *cx = c->cx;
        size_t n;
        const struct nuc_program_view *view = nuc_program_view_open(cx, path, nuc_read_program(cx, path));
        const struct nuc_extracted *models = nuc_extract_litert(cx, view, &n);
        if (n == 0)
            nuc_fail(cx, NUC_BAD_INPUT, "%s: nothing in it is on the NPU, there is no LiteRT model to take out", path);
        const char **paths = nuc_alloc_array(cx, n, sizeof *paths);
        nuc_make_folder(cx, folder);
        for (size_t i = 0; i < n; i++) {
            paths[i] = nuc_format(cx, "%s/npu_%u.tflite", folder, models[i].instruction);
            nuc_write_file(cx, paths[i], models[i].bytes);
        }
        *files = paths;
        *count = n;
    }
    return nuc_leave(&call);
}

/* Functions of one value and chains of them are int8 tables; copies and checks are gone before anything runs. */
static struct nuc_runs_on runs_on(struct nuc_context *cx, const struct nuc_support *s, enum nuc_op op)
{
    enum nuc_family family = nuc_op_family(op);
    enum nuc_op carrier = family == NUC_FAMILY_COMPOSITE ? NUC_OP_COUNT : nuc_edge_carrier(cx, op);
    struct nuc_runs_on r = {.nothing = family == NUC_FAMILY_ASSERT || op == NUC_OP_DROPOUT || op == NUC_OP_ALIAS,
                            .npu = s->target->npu_name != NULL && nuc_support_row(s, op) != NULL,
                            .int8 = family == NUC_FAMILY_MAP};

    if (carrier == NUC_OP_COUNT)
        return r;
    r.npu = r.npu || (s->target->npu_name != NULL && nuc_support_row(s, carrier) != NULL);
    r.int8 = r.int8 || nuc_cortexm_has_kernel(carrier);
    r.real = nuc_out_variant(cx, carrier).name != NULL;
    return r;
}

static struct nuc_support rules_of(struct nuc_compiler *c)
{
    const struct nuc_settings *s = nuc_settings(c);

    return (struct nuc_support){.target = s->target, .flavor = s->flavor};
}

enum nuc_status nuc_list_operators(struct nuc_compiler *c, bool markdown, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, text != NULL);
        const struct nuc_support s = rules_of(c);
        *text = markdown ? nuc_operators_markdown(c->cx, runs_on) : nuc_operators_text(c->cx, &s, runs_on);
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_describe_operator(struct nuc_compiler *c, const char *name, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, name != NULL && text != NULL);
        const struct nuc_support s = rules_of(c);
        *text = nuc_operator_text(c->cx, &s, runs_on, name);
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_operators_json(struct nuc_compiler *c, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, text != NULL);
        const struct nuc_support s = rules_of(c);
        *text = nuc_operators_tree(c->cx, &s, runs_on);
    }
    return nuc_leave(&call);
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
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, text != NULL);
        *text = nuc_targets_text(c->cx);
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_targets_json(struct nuc_compiler *c, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, text != NULL);
        *text = nuc_targets_tree(c->cx);
    }
    return nuc_leave(&call);
}

/* ---- profiles of programs that ran ---- */

/* The target of the options, in the place of the default one that which the program says it is for. */
static const struct nuc_target *target_of(struct nuc_compiler *c, const void *program, size_t size)
{
    const struct nuc_settings *s = nuc_settings(c);
    const struct nuc_target *said = NULL;
    struct nuc_span text = {0};
    const void *data;
    const char *why;

    if (s->row != nuc_target_at(0) ||
        nuc_program_named_data(program, size, NUC_METADATA_KEY, &data, &text.size, NULL) != NUC_OK)
        return s->target;
    text.data = data;
    const struct nuc_metadata *m = nuc_metadata_read(c->cx, text, &why);
    const char *name = m != NULL && m->n_target > 0 ? m->target->name : NULL;
    for (size_t i = 0; name != NULL && nuc_target_at(i) != NULL; i++)
        said = strcmp(nuc_target_at(i)->name, name) == 0 ? nuc_target_at(i) : said;
    return said != NULL ? said : s->target;
}

static const struct nuc_profile *read_run(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                          const struct nuc_profile_run *run)
{
    const struct nuc_program_view *view = nuc_program_view_open(c->cx, file, (struct nuc_span){program, size});

    return nuc_profile_read(c->cx, target_of(c, program, size), view, run);
}

enum nuc_status nuc_profile_text(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                 const struct nuc_profile_run *run, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, file != NULL && program != NULL && text != NULL);
        *text = nuc_profile_table(c->cx, read_run(c, file, program, size, run));
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_profile_json(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                 const struct nuc_profile_run *run, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, file != NULL && program != NULL && text != NULL);
        *text = nuc_profile_tree(c->cx, read_run(c, file, program, size, run));
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_write_etdump(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                 const struct nuc_profile_run *runs, size_t n_runs, const char *output)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__,
                  file != NULL && program != NULL && (runs != NULL || n_runs == 0) && output != NULL);
        const struct nuc_profile **profiles = nuc_alloc_array(c->cx, n_runs, sizeof(struct nuc_profile *));
        for (size_t i = 0; i < n_runs; i++)
            profiles[i] = read_run(c, file, program, size, &runs[i]);
        nuc_write_file(c->cx, output, nuc_profile_dump(c->cx, profiles, n_runs));
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_write_etrecord(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                   const char *output)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, file != NULL && program != NULL && output != NULL);
        const struct nuc_pieces record = nuc_profile_record(c->cx, read_run(c, file, program, size, NULL), output);
        nuc_write_pieces(c->cx, output, &record);
    }
    return nuc_leave(&call);
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

/* What is converted has the sizes that the file states: none is inferred. */
static void check_sizes(struct nuc_context *cx, const struct nuc_lt_model *m)
{
    const struct nuc_lt_subgraph *s = &m->subgraphs[0];

    for (uint32_t i = 0; i < s->n_tensors; i++) {
        if (s->tensors[i].is_open)
            nuc_fail(cx, NUC_UNSUPPORTED,
                     "%s: a size of tensor '%s' is not known: compile it, or convert it with sizes", m->file,
                     s->tensors[i].name);
    }
}

static void convert(struct nuc_compiler *c, const char *path, const char *output,
                    const struct nuc_convert_model_options *asked, struct nuc_convert_report *out)
{
    struct nuc_context *cx = c->cx;
    struct nuc_container_options options = {.target = nuc_settings(c)->target};
    struct nuc_container_report report;
    double started = nuc_seconds();

    if (options.target->npu_name == NULL)
        nuc_fail(cx, NUC_BAD_USAGE, "--target: %s has no NPU to convert for: use imxrt700", options.target->name);
    options.convert.costs = options.target->npu;
    if (asked != NULL) {
        options.min_ops = (uint32_t)asked->min_operators;
        options.convert.profile = asked->profile;
        options.convert.fetch_constants = asked->fetch_constants_to_sram;
        if (asked->fetch_constants_to_sram)
            nuc_check_fetches(cx, options.target);
    }
    nuc_expect_file(cx, path, NUC_FILE_LITERT);
    const struct nuc_lt_model *m = nuc_lt_read(cx, path, nuc_read_file(cx, path));
    check_sizes(cx, m);
    nuc_note_seconds(c, "read", started);
    started = nuc_seconds();
    struct nuc_lt_model *converted = nuc_container_build(cx, m, &options, &report);
    nuc_note_seconds(c, "convert", started);
    if (report.n_graphs == 0) {
        /* Why, by the first operator: the others often follow from it. */
        uint32_t n_before = 0;
        for (uint32_t i = 0; i < m->subgraphs[0].n_ops; i++)
            n_before += nuc_is_neutron_graph(&m->subgraphs[0].ops[i]);
        if (n_before > 0)
            nuc_warn(cx, "%s: nothing is converted: it is a converted model already, with %u NeutronGraph operator%s",
                     m->file, n_before, n_before == 1 ? "" : "s");
        else if (report.n_ops == 0)
            nuc_warn(cx, "%s: nothing is converted: the model has no operators", m->file);
        else
            nuc_warn(
                cx,
                "%s: nothing is converted: the NPU takes none of its %u operators; operator %u (%s): %s; --verbose "
                "lists all",
                m->file, report.n_ops, report.outside[0].op,
                nuc_lt_code_name(cx, m->subgraphs[0].ops[report.outside[0].op].code), report.outside[0].reason);
    }
    started = nuc_seconds();
    nuc_write_file(cx, output, nuc_lt_write(converted));
    nuc_note_seconds(c, "write", started);
    if (out != NULL)
        fill_report(cx, m, converted, &report, out);
}

enum nuc_status nuc_convert_model(struct nuc_compiler *c, const char *model, const char *output,
                                  const struct nuc_convert_model_options *options, struct nuc_convert_report *report)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, model != NULL && output != NULL);
        convert(c, model, output, options, report);
    }
    return nuc_leave(&call);
}
