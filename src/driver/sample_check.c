#include "driver/sample_check.h"

#include <math.h>
#include <string.h>

#include "driver/model_facts.h"

#define TINY 1e-4f
#define LARGE 1e4f

struct input_range {
    struct nuc_tensor_info info;
    float min, max; /* of the finite values; min > max: none yet */
    bool fraction;  /* one of them is no whole number */
    void *first;    /* the first sample */
};

struct nuc_sample_check {
    struct nuc_context *cx;
    size_t n_inputs, n_samples;
    bool differ; /* the samples */
    struct input_range *ranges;
};

struct nuc_sample_check *nuc_sample_check_new(const struct nuc_model *m)
{
    struct nuc_context *cx = m->c->cx;
    struct nuc_sample_check *s = nuc_alloc(cx, sizeof *s);

    s->cx = cx;
    s->n_inputs = nuc_model_n_inputs(m);
    s->ranges = nuc_alloc_array(cx, s->n_inputs, sizeof *s->ranges);
    for (size_t i = 0; i < s->n_inputs; i++) {
        nuc_model_input(m, i, &s->ranges[i].info);
        s->ranges[i].min = INFINITY;
        s->ranges[i].max = -INFINITY;
    }
    return s;
}

void nuc_sample_check_add(struct nuc_sample_check *s, const void *const *inputs)
{
    for (size_t i = 0; i < s->n_inputs; i++) {
        struct input_range *r = &s->ranges[i];
        if (s->n_samples == 0)
            r->first = nuc_copy(s->cx, inputs[i], r->info.bytes);
        s->differ = s->differ || memcmp(r->first, inputs[i], r->info.bytes) != 0;
        const float *x = inputs[i];
        size_t count = r->info.dtype == NUC_F32 ? r->info.bytes / sizeof *x : 0;
        for (size_t k = 0; k < count; k++) {
            if (!isfinite(x[k]))
                continue;
            r->min = x[k] < r->min ? x[k] : r->min;
            r->max = x[k] > r->max ? x[k] : r->max;
            r->fraction = r->fraction || x[k] != floorf(x[k]);
        }
    }
    s->n_samples++;
}

/* Whether there was something to say. */
static bool warn_of_input(const struct nuc_sample_check *s, const struct input_range *r, const char *file)
{
    float largest = -r->min > r->max ? -r->min : r->max;
    const char *name = r->info.name;

    if (r->min == r->max)
        nuc_warn(s->cx, "%s: input '%s' is %g throughout all samples: give samples of what the model will see", file,
                 name, (double)r->min);
    else if (largest < TINY)
        nuc_warn(s->cx, "%s: input '%s' has no value beyond %.2g: scale the samples as those of the training were",
                 file, name, (double)largest);
    else if (largest > LARGE)
        nuc_warn(s->cx, "%s: input '%s' has values up to %.2g: normalise the samples as those of the training were",
                 file, name, (double)largest);
    else if (nuc_may_be_image(&r->info) && !r->fraction && r->min >= 0 && r->max > 127 && r->max <= 255)
        nuc_warn(s->cx,
                 "%s: input '%s' has whole numbers of 0 to 255, as pixels: divide them by 255 if those of the "
                 "training were",
                 file, name);
    else
        return false;
    return true;
}

bool nuc_warn_of_samples(const struct nuc_sample_check *s, const struct nuc_dataset *samples)
{
    bool warned = false;

    for (size_t i = 0; i < s->n_inputs; i++) {
        if (s->ranges[i].min <= s->ranges[i].max)
            warned |= warn_of_input(s, &s->ranges[i], samples->path);
    }
    if (!warned && !s->differ && s->n_samples > 1)
        nuc_warn(s->cx, "%s: all %zu samples are the same: give samples that differ", samples->path, s->n_samples);
    return s->differ;
}

void nuc_sample_check_note(const struct nuc_sample_check *s, struct nuc_model *prepared, struct nuc_dataset *samples)
{
    float *least = nuc_alloc_array(s->cx, s->n_inputs, sizeof *least);
    float *most = nuc_alloc_array(s->cx, s->n_inputs, sizeof *most);

    for (size_t i = 0; i < s->n_inputs; i++) {
        least[i] = s->ranges[i].min;
        most[i] = s->ranges[i].max;
    }
    nuc_note_calibrated(prepared, samples, least, most);
    if (prepared->settings->trial)
        return;
    samples->ranges = nuc_alloc_array(s->cx, s->n_inputs, sizeof *samples->ranges);
    for (size_t i = 0; i < s->n_inputs; i++)
        samples->ranges[i] = (struct nuc_data_range){.least = (double)least[i], .most = (double)most[i]};
    samples->n_looked_at = samples->n_samples;
    nuc_dataset_describe(samples);
    prepared->c->data = nuc_copy(s->cx, &samples->lines, sizeof samples->lines);
}

/* ---- outputs ---- */

#define LEAST_DB 15.0

/* By id of a node: whether its value follows from a user input. */
static bool *mark_dependent(struct nuc_graph *g)
{
    bool *marks = nuc_alloc_array(g->cx, g->next_id, sizeof *marks);

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct nuc_cursor at = {0, 0};
        marks[n->id] = nuc_is_user_input(n);
        for (const struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at))
            marks[n->id] |= marks[in->id];
    }
    return marks;
}

static void warn_of_output(const struct nuc_model *m, const struct nuc_output_quality *q, bool samples_differ)
{
    struct nuc_context *cx = m->c->cx;
    const char *file = m->graph->file;
    bool high = m->settings->o.accuracy == NUC_ACCURACY_HIGH;

    if (samples_differ && q->samples > 1 && !q->float_varies)
        nuc_warn(
            cx,
            "%s: output '%s' of the float model is the same for all %zu samples: give samples that differ, or look "
            "where the model loses them",
            file, q->name, q->samples);
    else if (samples_differ && q->samples > 1 && !q->varies)
        nuc_warn(cx,
                 "%s: output '%s' is the same for all %zu samples once it is quantized: 'nucleon evaluate --quantized' "
                 "shows where they are lost; --observer minmax keeps whole ranges",
                 file, q->name, q->samples);
    else if (q->sqnr_db < LEAST_DB)
        nuc_warn(cx,
                 "%s: output '%s' has an SQNR of %.1f dB on the calibration samples: try %smore samples or 'nucleon "
                 "tune'; 'nucleon evaluate --quantized' shows which node loses",
                 file, q->name, q->sqnr_db, high ? "" : "--accuracy high, ");
}

/* Those that are constants of the model are so on purpose. */
void nuc_warn_of_outputs(const struct nuc_model *quantized, bool samples_differ)
{
    const bool *dependent = mark_dependent(quantized->graph);
    struct nuc_cursor at = {0, 0};
    const struct nuc_node *output = quantized->graph->last;

    for (size_t i = 0; i < nuc_model_n_qualities(quantized); i++) {
        const struct nuc_node *value = nuc_next_input(output, &at);
        struct nuc_output_quality q;
        if (value != NULL && dependent[value->id] && nuc_model_quality(quantized, i, &q) == NUC_OK && q.is_float)
            warn_of_output(quantized, &q, samples_differ);
    }
}
