/* Results of compilations, conversions and quantizations as JSON (docs/json.md). */
#include "explain/explain_members.h"
#include "nucleon/json.h"

#include <math.h>
#include <string.h>

#include "archive/json_build.h"
#include "data/dataset.h"
#include "driver/driver.h"
#include "host/numbers.h"
#include "npu/target/target.h"

/* ---- quantization ---- */

static void put_quantization(struct nuc_compiler *c, json_t *to)
{
    struct nuc_context *cx = c->cx;
    struct nuc_output_quality quality;
    json_t *list = nuc_put_array(cx, to, "data");

    for (size_t i = 0; nuc_calibration_line(c, i) != NULL; i++)
        nuc_put_text(cx, list, NULL, nuc_calibration_line(c, i));
    list = nuc_put_array(cx, to, "outputs");
    for (size_t i = 0; nuc_quality(c, i, &quality) == NUC_OK; i++) {
        json_t *o = nuc_put_object(cx, list, NULL);
        nuc_put_text(cx, o, "name", quality.name);
        nuc_put_count(cx, o, "samples", quality.samples);
        nuc_put_count(cx, o, "held_out", quality.held_out);
        nuc_put_bool(cx, o, "float", quality.is_float);
        if (!quality.is_float)
            continue;
        nuc_put_double(cx, o, "sqnr_db", quality.sqnr_db);
        nuc_put_double(cx, o, "sqnr_lowest_db", quality.lowest_db);
        nuc_put_double(cx, o, "sqnr_highest_db", quality.highest_db);
        nuc_put_double(cx, o, "min", (double)quality.min);
        nuc_put_double(cx, o, "max", (double)quality.max);
        nuc_put_bool(cx, o, "float_varies", quality.float_varies);
        nuc_put_bool(cx, o, "varies", quality.varies);
    }
}

enum nuc_status nuc_quantization_json(struct nuc_compiler *c, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, text != NULL);
        json_t *tree = nuc_json_tree(c->cx);
        put_quantization(c, tree);
        *text = nuc_json_text(c->cx, tree);
    }
    return nuc_leave(&call);
}

/* ---- programs ---- */

static void put_strips(struct nuc_context *cx, json_t *to, const struct nuc_program_report *r)
{
    if (r->n_strip_stages == 0) {
        nuc_put_null(cx, to, "strips");
        return;
    }
    json_t *o = nuc_put_object(cx, to, "strips");
    nuc_put_count(cx, o, "stages", r->n_strip_stages);
    nuc_put_count(cx, o, "strips", r->n_strips);
    nuc_put_count(cx, o, "plain_arena_bytes", r->plain_arena);
    nuc_put_count(cx, o, "least_arena_bytes", r->least_arena);
    nuc_put_count(cx, o, "more_cycles", r->strip_cycles);
    nuc_put_count(cx, o, "plain_cycles", r->plain_cycles);
}

static const char *program_text(struct nuc_compiler *c)
{
    struct nuc_context *cx = c->cx;
    const struct nuc_program_report *r = &c->report;

    if (r->program == 0)
        nuc_fail(cx, NUC_BAD_USAGE, "no program has been made");
    json_t *tree = nuc_json_tree(cx);
    nuc_put_text(cx, tree, "target", nuc_settings(c)->target->name);
    nuc_put_text(cx, tree, "converter", r->converter);
    nuc_put_bool(cx, tree, "runs_on_simulator", r->runs_on_simulator);
    nuc_put_count(cx, tree, "operators", r->n_operators);
    nuc_put_count(cx, tree, "on_npu", r->n_operators_delegated);
    nuc_put_count(cx, tree, "on_cpu", r->n_operators - r->n_operators_delegated);
    nuc_put_count(cx, tree, "cpu_int8", r->n_cpu_int8);
    nuc_put_count(cx, tree, "cpu_int16", r->n_cpu_int16);
    nuc_put_count(cx, tree, "cpu_integers", r->n_cpu_integers);
    nuc_put_count(cx, tree, "cpu_float", r->n_cpu_float);
    nuc_put_count(cx, tree, "partitions", r->n_partitions);
    nuc_put_count(cx, tree, "transposes", r->n_transposes);
    nuc_put_count(cx, tree, "transposed_bytes", r->moved_bytes);
    /* 0 cycles: there is no model of a converter's kernels. */
    bool known = r->cycles > 0;
    nuc_put_measure(cx, tree, "clock_hz", r->clock_hz);
    nuc_put_measure(cx, tree, "latency_us", known ? (double)r->cycles / r->clock_hz * 1e6 : (double)NAN);
    nuc_put_known_count(cx, tree, "cycles", known, r->cycles);
    nuc_put_known_count(cx, tree, "npu_cycles", known, r->npu_cycles);
    nuc_put_known_count(cx, tree, "cpu_cycles", known, r->cycles - r->npu_cycles);
    nuc_put_count(cx, tree, "arena_bytes", r->arena);
    nuc_put_count(cx, tree, "arena_bound_bytes", r->arena_lower_bound);
    nuc_put_bool(cx, tree, "arena_proven", r->arena_proven);
    nuc_put_count(cx, tree, "scratch_bytes", r->delegate_scratch);
    nuc_put_count(cx, tree, "scratch_bound_bytes", r->scratch_bound);
    nuc_put_bool(cx, tree, "scratch_proven", r->scratch_proven);
    nuc_put_bool(cx, tree, "scratch_in_arena", r->scratch_in_arena);
    nuc_put_count(cx, tree, "staging_bytes", r->staging);
    nuc_put_count(cx, tree, "fetched_bytes", r->fetched);
    nuc_put_count(cx, tree, "fetch_cycles", r->fetch_cycles);
    nuc_put_count(cx, tree, "fetch_by_dma_cycles", r->fetch_cycles_by_dma);
    nuc_put_count(cx, tree, "delegate_bytes", r->delegate_data);
    nuc_put_count(cx, tree, "program_bytes", r->program);
    nuc_put_banks(cx, tree, r);
    put_strips(cx, tree, r);
    nuc_put_stream(cx, tree, r->stream);
    /* "nucleon::quantized_sum, nucleon::...": the report has them in one text. */
    json_t *list = nuc_put_array(cx, tree, "executorch_lacks");
    for (const char *name = r->executorch_lacks, *end; *name != '\0'; name = *end == '\0' ? end : end + 2) {
        end = name + strcspn(name, ",");
        nuc_put_text(cx, list, NULL, nuc_format(cx, "%.*s", (int)(end - name), name));
    }
    put_quantization(c, nuc_put_object(cx, tree, "quantization"));
    return nuc_json_text(cx, tree);
}

enum nuc_status nuc_program_json(struct nuc_compiler *c, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, text != NULL);
        *text = program_text(c);
    }
    return nuc_leave(&call);
}

/* ---- conversions ---- */

enum nuc_status nuc_conversion_json(struct nuc_compiler *c, const struct nuc_convert_report *report, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, report != NULL && text != NULL);
        struct nuc_context *cx = c->cx;
        json_t *tree = nuc_json_tree(cx);
        nuc_put_count(cx, tree, "operators", report->n_operators);
        nuc_put_count(cx, tree, "on_npu", report->n_inside);
        nuc_put_count(cx, tree, "graphs", report->n_graphs);
        nuc_put_count(cx, tree, "scratch_bytes", report->scratch);
        nuc_put_texts(cx, tree, "outside", report->outside, report->n_operators - report->n_inside);
        *text = nuc_json_text(cx, tree);
    }
    return nuc_leave(&call);
}

/* ---- arrays ---- */

static void put_array(struct nuc_context *cx, json_t *list, const struct nuc_array *a, bool with_values)
{
    json_t *o = nuc_put_object(cx, list, NULL);
    size_t n = a->data.size / nuc_dtype_size(a->dtype);

    nuc_put_text(cx, o, "name", a->name);
    nuc_put_text(cx, o, "dtype", nuc_dtype_name(a->dtype));
    nuc_put_sizes(cx, o, a->shape, a->rank);
    if (!with_values)
        return;
    json_t *values = nuc_put_array(cx, o, "values");
    for (size_t i = 0; i < n; i++) {
        if (nuc_is_integer(a->dtype))
            nuc_put_int(cx, values, NULL, nuc_int_at(a->dtype, a->data.data, i));
        else
            nuc_put_double(cx, values, NULL, nuc_number_at(a->dtype, a->data.data, i));
    }
}

enum nuc_status nuc_arrays_json(struct nuc_compiler *c, const struct nuc_array_info *list, size_t count,
                                bool with_values, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, (list != NULL || count == 0) && text != NULL);
        const struct nuc_arrays given = nuc_arrays_given(c->cx, __func__, list, count);
        json_t *tree = nuc_json_tree(c->cx), *outputs = nuc_put_array(c->cx, tree, "outputs");
        for (size_t i = 0; i < count; i++)
            put_array(c->cx, outputs, &given.items[i], with_values);
        *text = nuc_json_text(c->cx, tree);
    }
    return nuc_leave(&call);
}
