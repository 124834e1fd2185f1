/* What a report begins with: model, target, warnings, figures of the whole. */
#include <math.h>

#include "archive/json_build.h"
#include "driver/model_metadata.h"
#include "npu/convert/convert.h"
#include "npu/explain/list_operators.h"
#include "quantize/quantize.h"
#include "tools/report/full_report.h"

/* ---- the model ---- */

static void put_tensor(const struct nuc_report *r, json_t *to, const char *name, const struct nuc_tensor_info *t)
{
    nuc_put_text(r->cx, to, "name", name);
    nuc_put_text(r->cx, to, "dtype", nuc_dtype_name(t->dtype));
    json_t *sizes = nuc_put_array(r->cx, to, "sizes");
    for (size_t i = 0; i < t->rank; i++)
        nuc_put_int(r->cx, sizes, NULL, t->sizes[i]);
}

static void put_range(const struct nuc_report *r, json_t *to, size_t input)
{
    const struct nuc_seen *seen = r->made_up ? NULL : r->quantized->seen;
    bool known = seen != NULL && input < seen->n_inputs;

    nuc_put_measure(r->cx, to, "min", known ? seen->least[input] : (double)NAN);
    nuc_put_measure(r->cx, to, "max", known ? seen->most[input] : (double)NAN);
}

static void put_model(const struct nuc_report *r, json_t *to)
{
    struct nuc_tensor_info t;

    nuc_put_text(r->cx, to, "file", nuc_model_file(r->model));
    nuc_put_text(r->cx, to, "kind", r->model->from_litert ? "tflite" : "pt2");
    nuc_put_bool(r->cx, to, "quantized", nuc_model_is_quantized(r->model));
    json_t *list = nuc_put_array(r->cx, to, "inputs");
    for (size_t i = 0; nuc_model_input(r->model, i, &t) == NUC_OK; i++) {
        json_t *input = nuc_put_object(r->cx, list, NULL);
        put_tensor(r, input, nuc_input_name(r->model, i), &t);
        put_range(r, input, i);
    }
    list = nuc_put_array(r->cx, to, "outputs");
    for (size_t i = 0; nuc_model_output(r->model, i, &t) == NUC_OK; i++)
        put_tensor(r, nuc_put_object(r->cx, list, NULL), nuc_output_name(r->model, i), &t);
}

static void put_target(const struct nuc_report *r, json_t *to)
{
    const struct nuc_target *target = r->e->target;

    nuc_put_text(r->cx, to, "name", target->name);
    nuc_put_text(r->cx, to, "description", target->description);
    nuc_put_text(r->cx, to, "converter_flavor", r->e->flavor->name);
    nuc_put_double(r->cx, to, "clock_hz", target->clock_hz);
    nuc_put_bool(r->cx, to, "npu", target->npu_name != NULL);
    nuc_put_bool(r->cx, to, "int8_cpu", target->cpu != NULL);
    nuc_put_memories(r->cx, to, target);
}

void nuc_put_report_model(struct nuc_report *r)
{
    nuc_put_int(r->cx, r->tree, "schema", 1);
    nuc_put_string(r->cx, r->tree, "command", "report");
    nuc_put_string(r->cx, r->tree, "nucleon", nuc_version());
    nuc_put_text(r->cx, r->tree, "invocation", r->o.invocation);
    put_model(r, nuc_put_object(r->cx, r->tree, "model"));
    put_target(r, nuc_put_object(r->cx, r->tree, "target"));
    json_t *list = nuc_put_array(r->cx, r->tree, "warnings");
    for (const struct nuc_report_note *n = r->notes; n != NULL; n = n->next)
        nuc_put_string(r->cx, list, NULL, n->text);
}

/* ---- figures ---- */

/* Of the worst output; NaN: none was measured. */
static double calibration_sqnr(const struct nuc_report *r)
{
    const struct nuc_model *m = r->made_up ? r->model : r->quantized;
    struct nuc_output_quality q;
    double worst = (double)NAN;

    for (size_t i = 0; i < nuc_model_n_qualities(m); i++) {
        if (nuc_model_quality(m, i, &q) == NUC_OK && q.is_float && !(q.sqnr_db >= worst))
            worst = q.sqnr_db;
    }
    return worst;
}

static uint64_t weights_of(const struct nuc_report *r)
{
    const struct nuc_lowered *l = r->job.m->lowered;
    uint64_t bytes = r->job.made.constants;

    for (uint32_t i = 0; i < l->n_partitions; i++)
        bytes += l->partitions[i].image->weights.size;
    return bytes;
}

static void put_operators(const struct nuc_report *r, json_t *to)
{
    uint64_t on_npu = 0, in_float = 0, all = 0, folded = 0;

    for (uint32_t i = 0; i < r->n_nodes; i++) {
        all += r->nodes[i].where != NUC_BOUNDARY;
        on_npu += r->nodes[i].where == NUC_ON_NPU;
        in_float += r->nodes[i].where == NUC_ON_CPU_IN_FLOAT;
        folded += r->nodes[i].where == NUC_FOLDED;
    }
    nuc_put_count(r->cx, to, "operators", all);
    nuc_put_count(r->cx, to, "on_npu", on_npu);
    nuc_put_count(r->cx, to, "on_cpu", all - on_npu);
    nuc_put_count(r->cx, to, "cpu_int8", all - on_npu - in_float - folded);
    nuc_put_count(r->cx, to, "cpu_float", in_float);
    nuc_put_count(r->cx, to, "folded", folded);
    nuc_put_count(r->cx, to, "partitions", r->e->n_partitions);
}

static uint64_t macs_of(const struct nuc_report *r)
{
    uint64_t macs = 0;

    for (uint32_t i = 0; i < r->n_nodes; i++)
        macs += r->nodes[i].row != NULL ? r->nodes[i].row->macs : 0;
    return macs;
}

static void put_memory(const struct nuc_report *r, json_t *to)
{
    const struct nuc_program_report *p = &r->job.made.report;
    size_t budget = r->model->settings->o.memory_budget;
    size_t scratch = p->scratch_in_arena ? 0 : p->delegate_scratch;

    nuc_put_count(r->cx, to, "arena_bytes", p->arena);
    nuc_put_count(r->cx, to, "scratch_bytes", p->delegate_scratch);
    nuc_put_bool(r->cx, to, "scratch_in_arena", p->scratch_in_arena);
    nuc_put_count(r->cx, to, "staging_bytes", p->staging);
    nuc_put_count(r->cx, to, "memory_bytes", p->arena + scratch + p->staging);
    if (budget > 0)
        nuc_put_count(r->cx, to, "memory_budget_bytes", budget);
    else
        nuc_put_null(r->cx, to, "memory_budget_bytes");
    nuc_put_count(r->cx, to, "strips", p->n_strips);
    nuc_put_count(r->cx, to, "program_bytes", p->program);
    nuc_put_count(r->cx, to, "weights_bytes", weights_of(r));
}

/* The first output with labels, and the first with classes: what people mean by accuracy. */
static void find_accuracy(const struct nuc_evaluation *e, struct nuc_report_figures *f)
{
    f->samples = e->n_samples;
    for (size_t i = 0; i < e->n_outputs; i++) {
        const struct nuc_output_score *o = &e->outputs[i];
        if (isnan(f->accuracy) && o->program_accuracy.n > 0) {
            f->accuracy = (double)o->program_accuracy.n_right / (double)o->program_accuracy.n;
            if (e->has_reference)
                f->reference_accuracy = (double)o->reference_accuracy.n_right / (double)o->reference_accuracy.n;
        }
        if (isnan(f->agreement) && e->has_reference && o->n_decisions > 0)
            f->agreement = (double)o->n_agree / (double)o->n_decisions;
    }
}

void nuc_report_figures(const struct nuc_report *r, struct nuc_report_figures *out)
{
    *out = (struct nuc_report_figures){
        .accuracy = (double)NAN, .reference_accuracy = (double)NAN, .agreement = (double)NAN, .worst_db = (double)NAN};
    if (r->evaluation != NULL)
        find_accuracy(r->evaluation, out);
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        double db = r->nodes[i].sqnr_own_db;
        if (r->nodes[i].row == NULL || !isfinite(db) || db >= out->worst_db)
            continue;
        out->worst_node = r->nodes[i].label;
        out->worst_db = db;
    }
}

static void put_accuracy(const struct nuc_report *r, json_t *to)
{
    const struct nuc_evaluation *e = r->evaluation;
    struct nuc_report_figures f;

    nuc_report_figures(r, &f);
    nuc_put_measure(r->cx, to, "sqnr_db", e != NULL && e->has_reference ? nuc_total_sqnr(e) : calibration_sqnr(r));
    nuc_put_measure(r->cx, to, "accuracy", f.accuracy);
    nuc_put_measure(r->cx, to, "reference_accuracy", f.reference_accuracy);
    nuc_put_measure(r->cx, to, "agreement", f.agreement);
    nuc_put_count(r->cx, to, "samples", f.samples);
}

static void put_cycles(const struct nuc_report *r, json_t *to, const char *key, uint64_t cycles)
{
    if (r->foreign)
        nuc_put_null(r->cx, to, key);
    else
        nuc_put_count(r->cx, to, key, cycles);
}

void nuc_put_report_summary(struct nuc_report *r)
{
    json_t *to = nuc_put_object(r->cx, r->tree, "summary");

    put_operators(r, to);
    put_cycles(r, to, "cycles", r->cycles);
    put_cycles(r, to, "npu_cycles", r->npu_cycles);
    put_cycles(r, to, "cpu_cycles", r->cycles - r->npu_cycles);
    nuc_put_count(r->cx, to, "lost_cycles", r->e->lost_cycles);
    nuc_put_measure(r->cx, to, "latency_us",
                    r->foreign ? (double)NAN : (double)r->cycles / r->e->target->clock_hz * 1e6);
    nuc_put_count(r->cx, to, "macs", macs_of(r));
    put_memory(r, to);
    put_accuracy(r, to);
    nuc_put_count(r->cx, to, "node_samples", r->n_measured);
    nuc_put_bool(r->cx, to, "made_up_ranges", r->made_up);
    nuc_put_text(r->cx, to, "missed", r->missed);
}
