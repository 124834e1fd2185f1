/* The path of a model, and the public calls that are pieces of it. */
#include "driver/pipeline.h"

#include <string.h>

#include "archive/file_kind.h"
#include "archive/json.h"
#include "archive/zip.h"
#include "driver/lowered.h"
#include "driver/model_metadata.h"
#include "front/pt2/pt2.h"
#include "front/sensor/front_end.h"
#include "front/tflite/tflite.h"
#include "host/file.h"
#include "host/nearest.h"
#include "ir/obstacles.h"
#include "ir/work.h"
#include "npu/layout/orders.h"

static void import_model(struct nuc_job *j);
static void write_output(struct nuc_job *j);

/*
 * The path of a model from top to bottom. A float model takes all rows, a quantized one those from stream on.
 * `compile.h` offers pieces of it: the functions at the end of this file say which.
 */
const struct nuc_stage_row nuc_pipeline[NUC_STAGE_COUNT] = {
    [NUC_STAGE_IMPORT] = {"import", import_model, .leaves_graph = true},
    [NUC_STAGE_EXPAND] = {"expand", nuc_expand_model, .leaves_graph = true},
    [NUC_STAGE_ATEN_PASSES] = {"aten-passes", nuc_run_aten_stage, .leaves_graph = true,
                               .passes = {&nuc_aten_passes, &nuc_norm_passes, &nuc_written_passes, &nuc_int8_passes}},
    [NUC_STAGE_ANNOTATE] = {"annotate", nuc_annotate_model, .leaves_graph = true},
    [NUC_STAGE_CALIBRATE] = {"calibrate", nuc_calibrate_model, .leaves_graph = false},
    [NUC_STAGE_EQUALIZE] = {"equalize", nuc_equalize_model, .leaves_graph = true, .applies = nuc_is_to_equalize,
                            .repeat_from = NUC_STAGE_CALIBRATE},
    [NUC_STAGE_WIDEN] = {"widen", nuc_widen_model, .applies = nuc_may_widen, .repeat_from = NUC_STAGE_ANNOTATE},
    [NUC_STAGE_QUANTIZE] = {"quantize", nuc_quantize_model, .leaves_graph = true},
    [NUC_STAGE_STREAM] = {"stream", nuc_stream_model, .leaves_graph = true, .applies = nuc_is_to_stream},
    [NUC_STAGE_DIM_ORDER] = {"dim-order", nuc_choose_dim_order, .leaves_graph = true},
    [NUC_STAGE_DECOMPOSE] = {"decompose", nuc_decompose_model, .leaves_graph = true,
                             .passes = {&nuc_quantized_passes, &nuc_archive_passes}},
    [NUC_STAGE_EDGE] = {"edge", nuc_settle_orders, .leaves_graph = true, .passes = {&nuc_order_passes}},
    [NUC_STAGE_EDGE_PASSES] = {"edge-passes", nuc_run_edge_stage, .leaves_graph = true,
                               .passes = {&nuc_edge_passes, &nuc_float_passes, &nuc_plain_passes, &nuc_cluster_passes,
                                          &nuc_npu_passes}},
    [NUC_STAGE_PARTITION] = {"partition", nuc_partition_model, .leaves_graph = true,
                             .repeat_from = NUC_STAGE_DECOMPOSE},
    [NUC_STAGE_DELEGATE] = {"delegate", nuc_delegate_model, .leaves_graph = true},
    [NUC_STAGE_CPU_PASSES] = {"cpu-passes", nuc_run_cpu_passes, .leaves_graph = true, .applies = nuc_has_float_cpu,
                              .passes = {&nuc_lowered_passes}},
    [NUC_STAGE_QUANTIZE_IO] = {"quantize-io", nuc_quantize_io, .leaves_graph = true,
                               .applies = nuc_has_quantized_boundary},
    [NUC_STAGE_LOWER] = {"lower", nuc_lower_for_cpu, .leaves_graph = true},
    [NUC_STAGE_BOUNDARY] = {"boundary", nuc_present_boundary, .leaves_graph = true, .applies = nuc_is_from_litert},
    [NUC_STAGE_STRIPS] = {"strips", nuc_compute_in_strips, .leaves_graph = true, .applies = nuc_may_need_strips},
    [NUC_STAGE_PROGRAM] = {"program", nuc_make_program, .leaves_graph = false},
    [NUC_STAGE_WRITE] = {"write", write_output, .leaves_graph = false},
};

bool nuc_dump_point(size_t index, struct nuc_dump_point *out)
{
    for (size_t s = 0; s < NUC_STAGE_COUNT; s++) {
        for (size_t k = 0; k < NUC_MAX_STAGE_LISTS && nuc_pipeline[s].passes[k] != NULL; k++) {
            const struct nuc_pass_list *list = nuc_pipeline[s].passes[k];
            if (index < list->count) {
                *out = (struct nuc_dump_point){nuc_pass_name(list, (uint32_t)index), nuc_pipeline[s].name};
                return true;
            }
            index -= list->count;
        }
        if (nuc_pipeline[s].leaves_graph && index-- == 0) {
            *out = (struct nuc_dump_point){nuc_pipeline[s].name, NULL};
            return true;
        }
    }
    return false;
}

static const char *dump_point_name(const void *list, size_t index)
{
    struct nuc_dump_point point;

    (void)list;
    return nuc_dump_point(index, &point) ? point.name : NULL;
}

void nuc_check_dump_point(struct nuc_context *cx, const char *wanted)
{
    struct nuc_dump_point point;
    bool known = wanted == NULL || strcmp(wanted, "all") == 0;

    for (size_t i = 0; !known && nuc_dump_point(i, &point); i++)
        known = strcmp(point.name, wanted) == 0;
    if (!known)
        nuc_fail(cx, NUC_BAD_USAGE, "--dump-after: '%s' is not a stage or pass%s; '--dump-after help' lists them",
                 wanted, nuc_did_you_mean(cx, wanted, dump_point_name, NULL));
}

/* ---- the two ends ---- */

static void import_model(struct nuc_job *j)
{
    struct nuc_context *cx = j->c->cx;

    nuc_check_dump_point(cx, j->c->options.dump_after);
    nuc_expect_stored(cx, j->input, NUC_FILE_MODEL);
    bool litert = !nuc_is_zip(nuc_read_head(cx, j->input, 4));

    const struct nuc_options *o = &j->c->options;
    if (litert && o->n_sizes > 0)
        nuc_fail(cx, NUC_BAD_USAGE, "--size: %s is a LiteRT model, whose sizes are fixed: leave the option out",
                 j->input.path);
    if (!litert && o->signature != NULL)
        nuc_fail(cx, NUC_BAD_USAGE, "--signature: %s is no LiteRT model, so it has none: leave the option out",
                 j->input.path);
    struct nuc_sample_source samples = j->source.path != NULL ? j->source : j->c->size_samples;
    struct nuc_sizes sizes = {o->sizes, o->n_sizes, samples, o};
    struct nuc_litert_io *io = nuc_alloc(cx, sizeof *io);
    io->eight_bit_weights = nuc_settings(j->c)->delegates || !nuc_allows_in_place(nuc_settings(j->c));
    struct nuc_graph *g =
        litert ? nuc_import_tflite(cx, j->input, o->signature, io) : nuc_import_pt2(cx, j->input, &sizes);
    const char *front_end = NULL;
    if (o->front_end != NULL) {
        const struct nuc_meta *outputs = nuc_output_metas(g);
        const bool is_text = nuc_is_json_object(o->front_end);
        const struct nuc_span text = is_text ? (struct nuc_span){(const uint8_t *)o->front_end, strlen(o->front_end)}
                                             : nuc_read_file(cx, o->front_end);
        const char *name = is_text ? "--front-end" : nuc_format(cx, "--front-end %s", o->front_end);
        front_end = nuc_put_front_end(g, name, text, litert && io->image_inputs[0]);
        nuc_refresh_layouts(g); /* its result is contiguous, whatever the model's input was */
        nuc_restore_output_orders(g, outputs);
        io->image_inputs = nuc_alloc(cx, sizeof *io->image_inputs); /* the sensor's is none of the model's */
    }
    j->m = nuc_model_make(j->c, g);
    j->m->front_end = front_end;
    nuc_check_work(j->m->graph);
    j->m->from_litert = litert;
    j->m->io = litert ? io : NULL;
    if (litert) {
        const struct nuc_io_quantizations noted = nuc_note_io(j->m);
        j->m->noted = nuc_copy(cx, &noted, sizeof noted);
    }
}

/* The program, or the model itself where none was made. */
static void write_output(struct nuc_job *j)
{
    if (j->made.bytes.data != NULL) {
        nuc_write_file(j->c->cx, j->output, j->made.bytes);
        return;
    }
    struct nuc_pieces archive = nuc_model_archive(j->m);
    nuc_write_pieces(j->c->cx, j->output, &archive);
}

/* ---- public calls: from file to file ---- */

void nuc_remember(const struct nuc_job *j)
{
    struct nuc_compiler *c = j->c;

    if (j->m->dim_order_table != NULL)
        c->dim_order_table = j->m->dim_order_table;
    c->measured = j->m->measured;
    if (j->made.bytes.data == NULL)
        return;
    c->report = j->made.report;
    c->memory = j->made.memory;
    c->report.stream = j->m->stream;
}

void nuc_check_model(const struct nuc_job *j, struct nuc_sample_source calibration)
{
    struct nuc_context *cx = j->c->cx;
    const char *file = j->m->graph->file;
    bool has_samples = nuc_has_samples(calibration);

    nuc_check_input_orders(j->m);
    nuc_check_given_classes(j->m);
    nuc_check_decision(j->m, has_samples);
    const bool is_unused = has_samples && !nuc_takes_quantile(j->m);
    if (nuc_model_is_quantized(j->m) && is_unused)
        nuc_warn(cx, "%s: is quantized already; the calibration data is not used", file);
    if (j->m->settings->o.no_quantize && nuc_model_is_quantized(j->m))
        nuc_warn(cx, "%s: is quantized already; --no-quantize only keeps it off the NPU", file);
    if (j->m->settings->o.no_quantize && is_unused)
        nuc_warn(cx, "%s: is not quantized; the calibration data is not used", file);
    if (!nuc_model_is_quantized(j->m) && !has_samples && !j->m->settings->o.no_quantize)
        nuc_fail(cx, NUC_BAD_USAGE,
                 "%s: is a float model: give samples with --calibration DATA, or a quantized model, or ask for a float "
                 "program with --no-quantize",
                 file);
}

static void quantize_job(struct nuc_job *j, struct nuc_sample_source calibration)
{
    nuc_quantize_with(j, calibration, NUC_SAMPLES_ALL);
    nuc_warn_of_outputs(j->m, j->samples_differ);
}

void nuc_quantize_if_asked(struct nuc_job *j, struct nuc_sample_source calibration)
{
    if (nuc_model_is_quantized(j->m))
        return;
    if (j->m->settings->o.no_quantize)
        nuc_run_stages(j, NUC_STAGE_ATEN_PASSES, NUC_STAGE_ATEN_PASSES);
    else
        quantize_job(j, calibration);
}

/* What files and bytes are made of: a model that is open or a file, samples, and where the result goes. */
struct order {
    struct nuc_model *m; /* NULL: the file */
    const char *path;
    struct nuc_sample_source calibration;
    const char *output; /* NULL: the bytes are given */
    const uint8_t **bytes;
    size_t *size;
};

static struct nuc_job begin(struct nuc_compiler *c, const struct order *o)
{
    struct nuc_job j = {
        .c = c, .m = o->m, .given = o->m, .input = {.path = o->path}, .output = o->output, .source = o->calibration};

    if (j.m == NULL)
        nuc_run_stages(&j, NUC_STAGE_IMPORT, NUC_STAGE_EXPAND);
    return j;
}

/* No other round of DECOMPOSE begins with it, unless a caller holds the graph, or it became another model's. */
static void let_go_of_quantized(const struct nuc_job *j)
{
    struct nuc_graph *g = j->quantized->graph;

    if (g != j->m->graph && !nuc_is_given(j, g) && (j->m->from_float == NULL || g != j->m->from_float->graph))
        nuc_graph_let_go(g);
}

/* Everything that can refuse a program comes before its file is written, or its bytes are given. */
static void compile(struct nuc_compiler *c, const struct order *o)
{
    struct nuc_job j = begin(c, o);

    j.use_up = true;
    nuc_check_model(&j, o->calibration);
    nuc_quantize_if_asked(&j, o->calibration);
    nuc_note_threshold(&j);
    nuc_run_stages(&j, NUC_STAGE_STREAM, NUC_STAGE_PARTITION);
    let_go_of_quantized(&j);
    if (j.m->settings->o.require_full_delegation)
        nuc_require_full_delegation(j.m);
    nuc_run_stages(&j, NUC_STAGE_DELEGATE, NUC_STAGE_PROGRAM);
    nuc_remember(&j);
    nuc_rehearse_program(&j);
    nuc_write_kernel_selection(&j);
    nuc_write_memory_map(&j);
    nuc_check_memory_budget(&j);
    if (o->output != NULL) {
        nuc_run_stages(&j, NUC_STAGE_WRITE, NUC_STAGE_WRITE);
        return;
    }
    *o->bytes = j.made.bytes.data;
    *o->size = j.made.bytes.size;
}

enum nuc_status nuc_compile_file(struct nuc_compiler *c, const char *model, const char *calibration, const char *output)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, model != NULL && output != NULL);
        compile(c, &(struct order){.path = model, .calibration = {calibration, NULL}, .output = output});
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_compile_model(struct nuc_model *m, const char *calibration, const char *output)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(m), __func__, output != NULL);
        compile(m->c, &(struct order){.m = m, .calibration = {calibration, NULL}, .output = output});
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_compile_to_memory(struct nuc_model *m, const struct nuc_dataset *calibration, const uint8_t **bytes,
                                      size_t *size)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(m), __func__, bytes != NULL && size != NULL);
        compile(m->c, &(struct order){.m = m, .calibration = {NULL, calibration}, .bytes = bytes, .size = size});
    }
    return nuc_leave(&call);
}

static void quantize(struct nuc_compiler *c, const struct order *o)
{
    if (!nuc_has_samples(o->calibration))
        nuc_fail(c->cx, NUC_BAD_USAGE, "%s: give samples to quantize it with",
                 o->m != NULL ? o->m->graph->file : o->path);
    struct nuc_job j = begin(c, o);
    quantize_job(&j, o->calibration);
    nuc_remember(&j);
    if (o->output != NULL) {
        nuc_run_stages(&j, NUC_STAGE_WRITE, NUC_STAGE_WRITE);
        return;
    }
    struct nuc_pieces archive = nuc_model_archive(j.m);
    struct nuc_span bytes = nuc_join_pieces(c->cx, &archive);
    *o->bytes = bytes.data;
    *o->size = bytes.size;
}

enum nuc_status nuc_quantize_file(struct nuc_compiler *c, const char *model, const char *calibration,
                                  const char *output)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, model != NULL && output != NULL);
        quantize(c, &(struct order){.path = model, .calibration = {calibration, NULL}, .output = output});
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_quantize_to_memory(struct nuc_model *m, const struct nuc_dataset *calibration,
                                       const uint8_t **bytes, size_t *size)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(m), __func__, bytes != NULL && size != NULL);
        quantize(m->c, &(struct order){.m = m, .calibration = {NULL, calibration}, .bytes = bytes, .size = size});
    }
    return nuc_leave(&call);
}

/* ---- public calls: pieces of the path ---- */

/* As the error is of a model with one obstacle, else their number. */
static const char *refusal_text(struct nuc_context *cx, const char *file, const struct nuc_obstacles *all)
{
    return all->count == 1
               ? nuc_format(cx, "%s: %s", file, all->first->text)
               : nuc_format(cx, "%s: has %zu obstacles; the first is: %s", file, all->count, all->first->text);
}

static enum nuc_status open_model(const char *name, struct nuc_compiler *c, struct nuc_stored input, bool given,
                                  bool in_part, struct nuc_model **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), name, given && input.path != NULL && out != NULL);
        struct nuc_job j = {.c = c, .input = input, .for_caller = true};
        struct nuc_obstacles *obstacles = in_part ? nuc_collect_obstacles(c->cx) : NULL;
        nuc_run_stages(&j, NUC_STAGE_IMPORT, NUC_STAGE_EXPAND);
        nuc_remember(&j);
        if (in_part && obstacles->count > 0) {
            obstacles->message = refusal_text(c->cx, j.m->graph->file, obstacles);
            j.m->refused = obstacles;
        }
        *out = j.m;
    }
    if (c != NULL)
        c->cx->obstacles = NULL;
    return nuc_leave(&call);
}

enum nuc_status nuc_model_open(struct nuc_compiler *c, const char *path, struct nuc_model **out)
{
    return open_model(__func__, c, (struct nuc_stored){.path = path}, true, false, out);
}

enum nuc_status nuc_model_open_in_part(struct nuc_compiler *c, const char *path, struct nuc_model **out)
{
    return open_model(__func__, c, (struct nuc_stored){.path = path}, true, true, out);
}

const char *nuc_model_refusal(const struct nuc_model *m)
{
    return m->refused != NULL ? m->refused->message : NULL;
}

enum nuc_status nuc_model_open_bytes(struct nuc_compiler *c, const char *name, const void *bytes, size_t size,
                                     struct nuc_model **out)
{
    return open_model(__func__, c, (struct nuc_stored){name, {bytes, size}}, bytes != NULL, false, out);
}

/* `samples` NULL: the stages take none. `out` NULL: the model stays what it is. */
static enum nuc_status advance(const char *name, struct nuc_model *m, struct nuc_dataset *samples, enum nuc_stage first,
                               enum nuc_stage last, bool given, struct nuc_model **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(m), name, given);
        if (m->lowered != NULL || (m->partitions != NULL && first < NUC_STAGE_DELEGATE))
            nuc_fail(m->c->cx, NUC_BAD_USAGE, "%s: is %s already: take the model that it was made of", m->graph->file,
                     m->lowered != NULL ? "lowered" : "partitioned");
        if (samples != NULL && samples->cx != m->c->cx)
            nuc_fail(m->c->cx, NUC_BAD_USAGE, "%s: the data set belongs to another compiler than the model",
                     samples->path);
        struct nuc_job j = {.c = m->c, .m = m, .samples = samples, .for_caller = true};
        nuc_run_stages(&j, first, last);
        nuc_remember(&j);
        if (out != NULL)
            *out = j.m;
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_prepare(struct nuc_model *m, struct nuc_model **prepared)
{
    return advance(__func__, m, NULL, NUC_STAGE_ATEN_PASSES, NUC_STAGE_ANNOTATE, prepared != NULL, prepared);
}

enum nuc_status nuc_calibrate(struct nuc_model *prepared, struct nuc_dataset *samples)
{
    return advance(__func__, prepared, samples, NUC_STAGE_CALIBRATE, NUC_STAGE_EQUALIZE, samples != NULL, NULL);
}

enum nuc_status nuc_convert(struct nuc_model *prepared, struct nuc_model **quantized)
{
    return advance(__func__, prepared, NULL, NUC_STAGE_QUANTIZE, NUC_STAGE_QUANTIZE, quantized != NULL, quantized);
}

enum nuc_status nuc_quantize(struct nuc_model *m, struct nuc_dataset *samples, struct nuc_model **quantized)
{
    return advance(__func__, m, samples, NUC_STAGE_ATEN_PASSES, NUC_STAGE_QUANTIZE,
                   samples != NULL && quantized != NULL, quantized);
}

enum nuc_status nuc_partition(struct nuc_model *quantized, struct nuc_model **partitioned)
{
    return advance(__func__, quantized, NULL, NUC_STAGE_STREAM, NUC_STAGE_PARTITION, partitioned != NULL, partitioned);
}

enum nuc_status nuc_lower(struct nuc_model *partitioned, struct nuc_model **lowered)
{
    return advance(__func__, partitioned, NULL, NUC_STAGE_DELEGATE, NUC_STAGE_STRIPS, lowered != NULL, lowered);
}

enum nuc_status nuc_program(struct nuc_model *lowered, const uint8_t **bytes, size_t *size)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(lowered), __func__, bytes != NULL && size != NULL);
        struct nuc_job j = {.c = lowered->c, .m = lowered};
        nuc_run_stages(&j, NUC_STAGE_PROGRAM, NUC_STAGE_PROGRAM);
        nuc_remember(&j);
        *bytes = j.made.bytes.data;
        *size = j.made.bytes.size;
    }
    return nuc_leave(&call);
}
