#include "data/sample_check.h"

#include <math.h>
#include <string.h>

#define TINY 1e-4f
#define LARGE 1e4f

struct input_range {
    float min, max; /* of the finite values; min > max: none yet */
    bool fraction;  /* one of them is no whole number */
    void *first;    /* the first sample */
};

struct nuc_sample_check {
    struct nuc_dataset *samples;
    size_t n_samples;
    bool differ; /* the samples */
    struct input_range *ranges;
};

struct nuc_sample_check *nuc_sample_check_new(struct nuc_dataset *samples)
{
    struct nuc_sample_check *s = nuc_alloc(samples->cx, sizeof *s);

    s->samples = samples;
    s->ranges = nuc_alloc_array(samples->cx, samples->n_inputs, sizeof *s->ranges);
    for (size_t i = 0; i < samples->n_inputs; i++)
        s->ranges[i] = (struct input_range){.min = INFINITY, .max = -INFINITY};
    return s;
}

void nuc_sample_check_add(struct nuc_sample_check *s, const void *const *inputs)
{
    for (size_t i = 0; i < s->samples->n_inputs; i++) {
        const struct nuc_tensor_info *t = &s->samples->inputs[i];
        struct input_range *r = &s->ranges[i];
        if (s->n_samples == 0)
            r->first = nuc_copy(s->samples->cx, inputs[i], t->bytes);
        s->differ = s->differ || memcmp(r->first, inputs[i], t->bytes) != 0;
        const float *x = inputs[i];
        size_t count = t->dtype == NUC_F32 ? t->bytes / sizeof *x : 0;
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
static bool warn_of_input(const struct nuc_sample_check *s, size_t i)
{
    struct nuc_context *cx = s->samples->cx;
    const struct input_range *r = &s->ranges[i];
    const char *file = s->samples->path, *name = s->samples->inputs[i].name;
    float largest = -r->min > r->max ? -r->min : r->max;

    if (r->min > r->max)
        return false;
    if (r->min == r->max)
        nuc_warn(cx, "%s: input '%s' is %g throughout all samples: give samples of what the model will see", file, name,
                 (double)r->min);
    else if (largest < TINY)
        nuc_warn(cx, "%s: input '%s' has no value beyond %.2g: scale the samples as those of the training were", file,
                 name, (double)largest);
    else if (largest > LARGE)
        nuc_warn(cx, "%s: input '%s' has values up to %.2g: normalise the samples as those of the training were", file,
                 name, (double)largest);
    else if (nuc_may_be_image(&s->samples->inputs[i]) && !r->fraction && r->min >= 0 && r->max > 127 && r->max <= 255)
        nuc_warn(cx,
                 "%s: input '%s' has whole numbers of 0 to 255, as pixels: divide them by 255 if those of the "
                 "training were",
                 file, name);
    else
        return false;
    return true;
}

bool nuc_sample_check_end(const struct nuc_sample_check *s)
{
    struct nuc_dataset *d = s->samples;
    bool warned = false;

    d->ranges = nuc_alloc_array(d->cx, d->n_inputs, sizeof *d->ranges);
    d->n_looked_at = d->n_samples;
    for (size_t i = 0; i < d->n_inputs; i++) {
        d->ranges[i] = (struct nuc_data_range){.least = (double)s->ranges[i].min, .most = (double)s->ranges[i].max};
        warned |= warn_of_input(s, i);
    }
    if (!warned && !s->differ && s->n_samples > 1)
        nuc_warn(d->cx, "%s: all %zu samples are the same: give samples that differ", d->path, s->n_samples);
    return s->differ;
}
