/* One trial of `nucleon tune`: a compilation, its program's figures, its outputs next to the float model's. */
#include <math.h>

#include "data/class_folders.h"
#include "host/numbers.h"
#include "nucleon/runner.h"
#include "tools/tune/tune_trial.h"

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

static size_t n_elements(const struct nuc_tensor_info *t)
{
    return t->bytes / nuc_dtype_size(t->dtype);
}

/* All but one of its sizes are 1. */
static bool is_class_vector(const struct nuc_tensor_info *t)
{
    for (size_t i = 0; i < t->rank; i++) {
        if ((size_t)t->sizes[i] == n_elements(t))
            return t->dtype == NUC_F32 && n_elements(t) > 1;
    }
    return false;
}

/* One for each sample of the whole data set. */
static void read_labels(struct nuc_comparison *with, struct nuc_dataset *d)
{
    struct nuc_context *cx = d->cx;
    const struct nuc_array *found = nuc_find_array(&d->arrays, "label");

    if (found == NULL || with->n_outputs == 0 || !is_class_vector(&with->infos[0]))
        return;
    struct nuc_array *a = &d->arrays.items[found - d->arrays.items];
    int64_t *labels = nuc_alloc_array(cx, with->n_samples, sizeof *labels);
    if (a->data.size / nuc_dtype_size(a->dtype) != d->n_samples || !nuc_is_integer(a->dtype))
        nuc_fail(cx, NUC_BAD_INPUT, "%s: array 'label': give one integer for each of the %zu samples", d->path,
                 d->n_samples);
    const void *elements = nuc_array_elements(cx, a);
    for (size_t k = 0; k < with->n_samples; k++)
        labels[k] = nuc_int_at(a->dtype, elements, with->index[k]);
    with->labels = labels;
}

static void keep_outputs(struct nuc_model *m, struct nuc_comparison *with, const struct nuc_dataset *d)
{
    struct nuc_context *cx = nuc_model_context(m);
    const void **inputs = nuc_alloc_array(cx, with->n_inputs + 1, sizeof(void *));
    void **outputs = nuc_alloc_array(cx, with->n_samples * with->n_outputs + 1, sizeof *outputs);

    for (size_t i = 0; i < with->n_samples * with->n_outputs; i++) {
        const struct nuc_tensor_info *t = &with->infos[i % with->n_outputs];
        outputs[i] = t->dtype == NUC_F32 ? nuc_alloc(cx, t->bytes + 1) : NULL; /* NULL: not compared */
    }
    for (size_t k = 0; k < with->n_samples; k++) {
        nuc_check(cx, nuc_dataset_sample(d, with->index[k], inputs));
        if (nuc_dataset_begins(d, with->index[k]))
            nuc_model_reset(m);
        nuc_check(cx, nuc_model_run(m, inputs, outputs + k * with->n_outputs));
    }
    with->outputs = outputs;
}

/* The samples of a part of the data. */
static struct nuc_dataset *open_samples(const struct nuc_comparison *with, struct nuc_compiler *c,
                                        struct nuc_sample_source samples, enum nuc_samples part)
{
    struct nuc_dataset *d = nuc_dataset_for(nuc_context_of(c), nuc_compiler_options(c), samples);
    size_t count;

    d->part = part;
    d->has_states = with->has_states;
    nuc_check(nuc_context_of(c), nuc_dataset_bind(d, with->inputs, with->n_inputs, &count));
    return d;
}

static size_t count_samples(const struct nuc_comparison *with, struct nuc_compiler *c, enum nuc_samples part)
{
    struct nuc_arena *outer = nuc_push_arena(nuc_context_of(c));
    size_t count = open_samples(with, c, with->calibration, part)->n_samples;

    nuc_pop_arena(nuc_context_of(c), outer);
    return count;
}

/* A data set of its own is in the unit of the calibration data, and its folders are classes of theirs. */
static void compare_data(const struct nuc_comparison *with, struct nuc_compiler *c, struct nuc_dataset *d)
{
    struct nuc_context *cx = d->cx;
    struct nuc_dataset *calibration = open_samples(with, c, with->calibration, NUC_SAMPLES_ALL);
    struct nuc_metadata *facts = nuc_metadata_new(cx, with->n_inputs, with->n_outputs);
    struct nuc_classes known = {.n_names = 0};

    nuc_dataset_look(calibration);
    for (size_t i = 0; i < with->n_inputs; i++) {
        if (calibration->ranges[i].least > calibration->ranges[i].most)
            continue;
        facts->inputs[i].least = calibration->ranges[i].least;
        facts->inputs[i].most = calibration->ranges[i].most;
    }
    d->metadata = facts;
    nuc_dataset_look(d);
    for (size_t i = 0; i < with->n_inputs; i++) {
        if (d->ranges[i].n_nan > 0)
            nuc_fail(cx, NUC_BAD_INPUT, "%s: sample %zu has a NaN for input '%s': take it out",
                     nuc_samples_name(with->samples), d->ranges[i].first, with->inputs[i].name);
    }
    nuc_dataset_judge(d);
    if (d->files == NULL || d->files->classes == NULL || with->n_outputs == 0)
        return;
    known.most = n_elements(&with->infos[0]);
    if (calibration->files != NULL && calibration->files->n_classes == known.most) {
        known.n_names = known.most;
        known.names = nuc_class_folder_names(calibration);
    }
    if (!nuc_label_class_folders(d, &known) && d->files->n_classes != known.most)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: has folders of %zu classes, the model %zu: name them 0 to %zu", d->path,
                 d->files->n_classes, known.most, known.most - 1);
}

struct nuc_comparison *nuc_comparison_new(const struct nuc_model *m, struct nuc_sample_source calibration,
                                          struct nuc_sample_source dataset)
{
    struct nuc_context *cx = nuc_model_context(m);
    struct nuc_comparison *with = nuc_alloc(cx, sizeof *with);
    bool has_own = nuc_has_samples(dataset);

    if (!nuc_has_samples(calibration))
        return with;
    with->n_inputs = nuc_model_n_inputs(m);
    with->n_outputs = nuc_model_n_outputs(m);
    with->has_states = nuc_model_n_states(m) > 0;
    with->inputs = nuc_alloc_array(cx, with->n_inputs + 1, sizeof *with->inputs);
    with->infos = nuc_alloc_array(cx, with->n_outputs + 1, sizeof *with->infos);
    for (size_t i = 0; i < with->n_inputs; i++) {
        nuc_check(cx, nuc_model_input(m, i, &with->inputs[i]));
        with->inputs[i].name = nuc_input_facts(m, i).name;
    }
    for (size_t i = 0; i < with->n_outputs; i++)
        nuc_check(cx, nuc_model_output(m, i, &with->infos[i]));
    with->calibration = calibration;
    with->samples = has_own ? dataset : calibration;
    with->part = has_own ? NUC_SAMPLES_ALL : NUC_SAMPLES_HELD_OUT;
    with->calibration_part = has_own ? NUC_SAMPLES_ALL : NUC_SAMPLES_KEPT;
    with->n_calibration = count_samples(with, nuc_model_compiler(m), with->calibration_part);
    with->calibrated_on = !has_own && count_samples(with, nuc_model_compiler(m), NUC_SAMPLES_ALL) == 1;
    struct nuc_sub_arena *sub = nuc_enter_sub_arena(cx);
    struct nuc_dataset *d = open_samples(with, nuc_model_compiler(m), with->samples, with->part);
    if (has_own)
        compare_data(with, nuc_model_compiler(m), d);
    struct nuc_model *runs = nuc_model_apart(m); /* let go with the sub-arena */
    nuc_leave_sub_arena(cx, sub);
    size_t bytes = 1;
    for (size_t i = 0; i < with->n_outputs; i++)
        bytes += with->infos[i].bytes;
    size_t by_time = (size_t)(MOST_VALUES / (1 + nuc_values_per_run(m))), by_memory = MOST_BYTES / bytes + 1;
    by_time = by_time > LEAST_SAMPLES ? by_time : LEAST_SAMPLES;
    size_t available = d->n_samples, most = by_time < by_memory ? by_time : by_memory;
    /* Evenly over the data set, whose samples may be sorted by class; with states the first ones of sequences. */
    with->n_samples = available < most ? available : most;
    with->index = nuc_alloc_array(cx, with->n_samples, sizeof *with->index);
    for (size_t k = 0; k < with->n_samples; k++)
        with->index[k] = with->has_states ? k : (size_t)((double)k * (double)available / (double)with->n_samples);
    if (with->part == NUC_SAMPLES_ALL)
        read_labels(with, d);
    keep_outputs(runs, with, d);
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

/* NaN: no output is compared, or no sample. */
static double mean_noise(const struct nuc_sqnr *outputs, const struct nuc_comparison *with)
{
    double total = 0;
    size_t n = 0;

    for (size_t i = 0; i < with->n_outputs; i++) {
        if (with->outputs[i] == NULL)
            continue;
        total += outputs[i].signal > 0 ? outputs[i].noise / outputs[i].signal : outputs[i].noise;
        n++;
    }
    return n > 0 ? total / (double)n : (double)NAN;
}

static void add(struct nuc_sqnr *to, const struct nuc_sqnr *what)
{
    to->signal += what->signal;
    to->noise += what->noise;
}

/* Of outputs that are no tensors of float32 as the model's nothing is compared. */
static bool is_like_model(const struct nuc_runner *r, const struct nuc_comparison *with)
{
    struct nuc_tensor_info t;

    if (nuc_runner_n_outputs(r) != with->n_outputs || nuc_runner_n_inputs(r) != with->n_inputs)
        return false;
    for (size_t i = 0; i < with->n_outputs; i++) {
        if (nuc_runner_output(r, i, &t) != NUC_OK || t.bytes != with->infos[i].bytes)
            return false;
    }
    return true;
}

static void run_program(const struct nuc_model *m, const struct nuc_tried_program *p, const struct nuc_comparison *with,
                        struct nuc_figures *out)
{
    struct nuc_compiler *c = nuc_model_compiler(m);
    struct nuc_context *cx = nuc_model_context(m);
    struct nuc_dataset *d = open_samples(with, c, with->samples, with->part);
    struct nuc_sqnr *sums = nuc_alloc_array(cx, (NUC_COMPARED_PARTS + 1) * with->n_outputs + 1, sizeof *sums);
    struct nuc_sqnr *all = sums + NUC_COMPARED_PARTS * with->n_outputs;
    size_t n_right = 0;
    void **outputs = nuc_alloc_array(cx, with->n_outputs + 1, sizeof *outputs);
    const void **inputs = nuc_alloc_array(cx, with->n_inputs + 1, sizeof(void *));
    struct nuc_runner *r;

    nuc_check(cx, nuc_runner_open_bytes(c, nuc_model_file(m), p->bytes, p->size, NULL, &r));
    nuc_runner_suit(r, d);
    nuc_runner_float_outputs(r);
    for (size_t i = 0; i < with->n_outputs; i++)
        outputs[i] = nuc_alloc(cx, with->infos[i].bytes + 1);
    size_t n_samples = is_like_model(r, with) ? with->n_samples : 0;
    for (size_t k = 0; k < n_samples; k++) {
        nuc_check(cx, nuc_dataset_sample(d, with->index[k], inputs));
        if (nuc_dataset_begins(d, with->index[k]))
            nuc_check(cx, nuc_runner_reset(r));
        nuc_check(cx, nuc_runner_run(r, inputs, outputs));
        void *const *wanted = with->outputs + k * with->n_outputs;
        for (size_t i = 0; i < with->n_outputs; i++) {
            struct nuc_sqnr one = {0};
            if (wanted[i] != NULL)
                nuc_sqnr_add(&one, wanted[i], outputs[i], n_elements(&with->infos[i]));
            add(&all[i], &one);
            add(&sums[k % NUC_COMPARED_PARTS * with->n_outputs + i], &one);
            if (i == 0 && with->labels != NULL)
                n_right += (int64_t)largest(outputs[0], n_elements(&with->infos[0])) == with->labels[k];
        }
    }
    nuc_runner_close(r);
    if (n_samples == 0)
        return;
    out->noise = mean_noise(all, with);
    for (size_t j = 0; j < NUC_COMPARED_PARTS && n_samples >= NUC_COMPARED_PARTS; j++)
        out->part_noise[j] = mean_noise(sums + j * with->n_outputs, with);
    if (with->labels != NULL)
        out->accuracy = (double)n_right / (double)n_samples;
}

struct compilation {
    const struct nuc_model *m;
    const struct nuc_comparison *with;
    struct nuc_figures *out;
};

static void judge(void *user, const struct nuc_tried_program *p)
{
    const struct compilation *k = user;

    k->out->cycles = p->report->cycles;
    k->out->milliseconds = (double)p->report->cycles / p->report->clock_hz * 1e3;
    k->out->arena = p->report->arena;
    k->out->memory = p->report->arena + (p->report->scratch_in_arena ? 0 : p->report->delegate_scratch);
    k->out->program = p->report->program;
    if (nuc_has_samples(k->with->calibration) && p->report->runs_on_simulator)
        run_program(k->m, p, k->with, k->out);
}

enum nuc_status nuc_try_compilation(const struct nuc_model *m, const struct nuc_options *as,
                                    const struct nuc_comparison *with, struct nuc_figures *out)
{
    struct compilation k = {m, with, out};

    *out = (struct nuc_figures){.noise = (double)NAN, .accuracy = (double)NAN};
    for (size_t j = 0; j < NUC_COMPARED_PARTS; j++)
        out->part_noise[j] = (double)NAN;
    return nuc_try_program(m, as, with->calibration, with->calibration_part, judge, &k);
}
