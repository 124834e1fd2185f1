/* One trial of `nucleon tune`: a compilation, its program's figures, its outputs next to the float ones. */
#include <math.h>
#include <string.h>

#include "compiler/driver/lower.h"
#include "compiler/eval/eval.h"
#include "compiler/eval/sqnr.h"
#include "compiler/report/profile.h"
#include "compiler/target/target.h"
#include "compiler/tune/trial.h"

/* Values that the runs of one comparison may compute, about a second; but LEAST_SAMPLES are always run. */
#define MOST_VALUES ((int64_t)100000000)
#define LEAST_SAMPLES 16

/* Bytes of float outputs that are kept. */
#define MOST_BYTES ((size_t)256 << 20)

double nuc_noise_db(double noise)
{
    return noise > 0 ? -10 * log10(noise) : noise == 0 ? (double)INFINITY : (double)NAN;
}

/* ---- what is compared ---- */

static size_t affordable_samples(const struct nuc_graph *g, const struct nuc_evaluator *e)
{
    int64_t values = 1;
    size_t bytes = 1;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; i < n->n_vals && nuc_is_call(n); i++)
            values += nuc_elements(&n->vals[i]);
    }
    for (size_t i = 0; i < nuc_eval_n_outputs(e); i++)
        bytes += nuc_bytes(&nuc_eval_output(e, i)->vals[0]);
    size_t by_time = (size_t)(MOST_VALUES / values), by_memory = MOST_BYTES / bytes + 1;
    by_time = by_time > LEAST_SAMPLES ? by_time : LEAST_SAMPLES;
    return by_time < by_memory ? by_time : by_memory;
}

/* All but one of its sizes are 1. */
static bool is_class_vector(const struct nuc_meta *m)
{
    int64_t elements = nuc_elements(m);

    for (uint32_t i = 0; i < m->rank; i++) {
        if (m->sizes[i] == elements)
            return m->dtype == NUC_F32 && elements > 1;
    }
    return false;
}

/* False: it holds something else than integers. */
static bool read_integers(const struct nuc_array *a, const void *elements, const size_t *index, size_t count,
                          int64_t *out)
{
    for (size_t k = 0; k < count; k++) {
        size_t i = index[k];
        if (a->dtype == NUC_I64)
            out[k] = ((const int64_t *)elements)[i];
        else if (a->dtype == NUC_I32)
            out[k] = ((const int32_t *)elements)[i];
        else if (a->dtype == NUC_I16)
            out[k] = ((const int16_t *)elements)[i];
        else if (a->dtype == NUC_U16)
            out[k] = ((const uint16_t *)elements)[i];
        else if (a->dtype == NUC_I8)
            out[k] = ((const int8_t *)elements)[i];
        else if (a->dtype == NUC_U8 || a->dtype == NUC_BOOL)
            out[k] = ((const uint8_t *)elements)[i];
        else
            return false;
    }
    return true;
}

/* One for each sample of the whole data set. */
static void read_labels(struct nuc_comparison *with, struct nuc_dataset *d, const struct nuc_evaluator *e)
{
    struct nuc_context *cx = d->c->cx;
    const struct nuc_array *found = nuc_find_array(&d->arrays, "label");

    if (found == NULL || nuc_eval_n_outputs(e) == 0 || !is_class_vector(&nuc_eval_output(e, 0)->vals[0]))
        return;
    struct nuc_array *a = &d->arrays.items[found - d->arrays.items];
    int64_t *labels = nuc_alloc_array(cx, with->n_samples, sizeof *labels);
    if (a->rank != 1 || (size_t)a->shape[0] != d->n_samples ||
        !read_integers(a, nuc_array_elements(cx, a), with->index, with->n_samples, labels))
        nuc_fail(cx, NUC_BAD_INPUT, "%s: array 'label': give one integer for each of the %zu samples", d->path,
                 d->n_samples);
    with->labels = labels;
}

/* Evenly over the data set, whose samples may be sorted by class. */
static void choose_samples(struct nuc_context *cx, struct nuc_comparison *with, size_t available, size_t most)
{
    with->n_samples = available < most ? available : most;
    with->index = nuc_alloc_array(cx, with->n_samples, sizeof *with->index);
    for (size_t k = 0; k < with->n_samples; k++)
        with->index[k] = (size_t)((double)k * (double)available / (double)with->n_samples);
}

static void refuse_nans(struct nuc_context *cx, const struct nuc_comparison *with, size_t sample,
                        const struct nuc_evaluator *e, const void *const *inputs)
{
    for (size_t i = 0; i < nuc_eval_n_inputs(e); i++) {
        const struct nuc_node *input = nuc_eval_input(e, i);
        const float *x = inputs[i];
        size_t count = input->vals[0].dtype == NUC_F32 ? (size_t)nuc_elements(&input->vals[0]) : 0;
        for (size_t k = 0; k < count; k++) {
            if (isnan(x[k]))
                nuc_fail(cx, NUC_BAD_INPUT, "%s: sample %zu has a NaN for input '%s': take it out", with->path, sample,
                         input->name);
        }
    }
}

static void keep_outputs(struct nuc_context *cx, struct nuc_comparison *with, const struct nuc_dataset *d,
                         struct nuc_evaluator *e)
{
    const void **inputs = nuc_alloc_array(cx, d->n_inputs + 1, sizeof(void *));
    void **outputs = nuc_alloc_array(cx, with->n_samples * with->n_outputs + 1, sizeof(void *));

    for (size_t k = 0; k < with->n_samples; k++) {
        void **own = outputs + k * with->n_outputs;
        for (size_t i = 0; i < with->n_outputs; i++) {
            const struct nuc_meta *meta = &nuc_eval_output(e, i)->vals[0];
            own[i] = meta->dtype == NUC_F32 ? nuc_alloc(cx, nuc_bytes(meta) + 1) : NULL;
        }
        nuc_dataset_read_sample(d, with->index[k], inputs);
        refuse_nans(cx, with, with->index[k], e, inputs);
        nuc_eval_run(e, inputs, own);
    }
    with->outputs = (const float **)outputs;
}

static size_t count_samples(struct nuc_model *m, const char *path, enum nuc_samples part)
{
    struct nuc_arena *outer = nuc_push_arena(m->c->cx);
    struct nuc_dataset *d = nuc_dataset_read(m->c, path);

    d->part = part;
    nuc_dataset_bind_model(d, m);
    size_t count = d->n_samples;
    nuc_pop_arena(m->c->cx, outer);
    return count;
}

struct nuc_comparison *nuc_comparison_new(struct nuc_model *m, const char *calibration, const char *dataset)
{
    struct nuc_context *cx = m->c->cx;
    struct nuc_comparison *with = nuc_alloc(cx, sizeof *with);

    if (calibration == NULL)
        return with;
    with->calibration = calibration;
    with->path = dataset != NULL ? dataset : calibration;
    with->part = dataset != NULL ? NUC_SAMPLES_ALL : NUC_SAMPLES_HELD_OUT;
    with->calibration_part = dataset != NULL ? NUC_SAMPLES_ALL : NUC_SAMPLES_KEPT;
    with->n_calibration = count_samples(m, calibration, with->calibration_part);
    with->calibrated_on = dataset == NULL && count_samples(m, calibration, NUC_SAMPLES_ALL) == 1;

    struct nuc_sub_arena *sub = nuc_enter_sub_arena(cx);
    struct nuc_dataset *d = nuc_dataset_read(m->c, with->path);
    struct nuc_evaluator *e = nuc_eval_new(m->graph, m->settings->o.threads);
    d->part = with->part;
    nuc_dataset_bind_model(d, m);
    nuc_leave_sub_arena(cx, sub);

    with->n_outputs = nuc_eval_n_outputs(e);
    choose_samples(cx, with, d->n_samples, affordable_samples(m->graph, e));
    if (with->part == NUC_SAMPLES_ALL)
        read_labels(with, d, e);
    keep_outputs(cx, with, d, e);
    nuc_free_sub_arena(sub);
    return with;
}

/* ---- one trial ---- */

static size_t largest(const float *v, size_t count)
{
    size_t best = 0;

    for (size_t i = 1; i < count; i++)
        best = v[i] > v[best] ? i : best;
    return best;
}

struct sums {
    struct nuc_sqnr *outputs;
    size_t n_right;
};

static void add_sample(struct sums *s, const struct nuc_comparison *with, size_t sample, const struct nuc_evaluator *e,
                       void *const *outputs)
{
    const float *const *wanted = with->outputs + sample * with->n_outputs;

    for (size_t i = 0; i < with->n_outputs; i++) {
        size_t count = (size_t)nuc_elements(&nuc_eval_output(e, i)->vals[0]);
        if (wanted[i] != NULL)
            nuc_sqnr_add(&s->outputs[i], wanted[i], outputs[i], count);
        if (i == 0 && with->labels != NULL)
            s->n_right += (int64_t)largest(outputs[0], count) == with->labels[sample];
    }
}

static double mean_noise(const struct sums *s, const struct nuc_comparison *with)
{
    double total = 0;
    size_t n = 0;

    for (size_t i = 0; i < with->n_outputs; i++) {
        const struct nuc_sqnr *one = &s->outputs[i];
        if (with->n_samples == 0 || with->outputs[i] == NULL)
            continue;
        total += one->signal > 0 ? one->noise / one->signal : one->noise;
        n++;
    }
    return n > 0 ? total / (double)n : (double)NAN;
}

/* The partitioned graph computes what the program does, up to what kernels round otherwise. */
static void compare(struct nuc_model *partitioned, const struct nuc_comparison *with, struct nuc_figures *out)
{
    struct nuc_context *cx = partitioned->c->cx;
    struct nuc_dataset *d = nuc_dataset_read(partitioned->c, with->path);
    struct nuc_evaluator *e = nuc_eval_new(partitioned->graph, partitioned->settings->o.threads);
    struct sums s = {nuc_alloc_array(cx, with->n_outputs + 1, sizeof *s.outputs), 0};
    void **outputs = nuc_alloc_array(cx, with->n_outputs + 1, sizeof *outputs);

    d->part = with->part;
    nuc_dataset_bind_model(d, partitioned);
    const void **inputs = nuc_alloc_array(cx, d->n_inputs + 1, sizeof(void *));
    for (size_t i = 0; i < with->n_outputs; i++)
        outputs[i] = nuc_alloc(cx, nuc_bytes(&nuc_eval_output(e, i)->vals[0]) + 1);
    for (size_t k = 0; k < with->n_samples; k++) {
        nuc_dataset_read_sample(d, with->index[k], inputs);
        nuc_eval_run(e, inputs, outputs);
        add_sample(&s, with, k, e, outputs);
    }
    out->noise = mean_noise(&s, with);
    if (with->labels != NULL)
        out->accuracy = (double)s.n_right / (double)with->n_samples;
}

struct compilation {
    const struct nuc_comparison *with;
    struct nuc_figures *out;
};

static void note_program(const struct nuc_job *j, struct nuc_figures *out)
{
    const struct nuc_program_report *r = &j->made.report;
    const struct nuc_target *target = j->m->settings->target;
    const struct nuc_profile *p = nuc_profile_read(j->c->cx, target, j->m->graph->file, j->made.bytes, NULL);

    out->cycles = p->foreign ? 0 : p->cycles;
    out->milliseconds = (double)out->cycles / target->clock_hz * 1e3;
    out->arena = r->arena;
    out->memory = r->arena + (r->scratch_in_arena ? 0 : r->delegate_scratch);
    out->program = r->program;
}

static void compile_and_compare(struct nuc_model *m, void *arg)
{
    const struct compilation *k = arg;
    struct nuc_settings settings = *m->settings;
    struct nuc_job j = {.c = m->c, .m = m};

    settings.trial = false; /* placement weighs less in a trial than in a compilation */
    m->settings = &settings;
    if (k->with->calibration != NULL)
        nuc_quantize_with(&j, k->with->calibration, k->with->calibration_part);
    nuc_run_stages(&j, NUC_STAGE_DIM_ORDER, NUC_STAGE_PARTITION);
    if (settings.o.require_full_delegation)
        nuc_require_full_delegation(j.m);
    struct nuc_model *partitioned = j.m;
    nuc_run_stages(&j, NUC_STAGE_DELEGATE, NUC_STAGE_PROGRAM);
    nuc_rehearse_program(&j);
    note_program(&j, k->out);
    if (k->with->calibration != NULL)
        compare(partitioned, k->with, k->out);
}

enum nuc_status nuc_try_compilation(const struct nuc_model *m, const struct nuc_options *as,
                                    const struct nuc_comparison *with, struct nuc_figures *out)
{
    struct compilation k = {with, out};
    struct nuc_options quiet = *as;
    size_t n_timings = m->c->n_timings;

    *out = (struct nuc_figures){.noise = (double)NAN, .accuracy = (double)NAN};
    quiet.progress = NULL;
    quiet.dump = NULL;
    enum nuc_status status = nuc_trial(m, &quiet, compile_and_compare, &k);
    m->c->n_timings = n_timings;
    return status;
}
