#include "data/dataset.h"

#include <math.h>
#include <string.h>

#define TINY 1e-4
#define LARGE 1e4

struct nuc_sample_check {
    struct nuc_dataset *samples;
    size_t n_samples;
    bool differ;  /* the samples */
    void **first; /* the first sample */
    struct nuc_data_range *ranges;
    struct nuc_calibration_metadata seen; /* marks in order */
};

struct nuc_sample_check *nuc_sample_check_new(struct nuc_dataset *samples)
{
    struct nuc_sample_check *s = nuc_alloc(samples->cx, sizeof *s);

    s->samples = samples;
    s->first = nuc_alloc_array(samples->cx, samples->n_inputs, sizeof(void *));
    s->ranges = nuc_new_ranges(samples->cx, samples->n_inputs);
    return s;
}

void nuc_sample_check_add(struct nuc_sample_check *s, const void *const *inputs)
{
    const struct nuc_dataset *d = s->samples;

    for (size_t i = 0; i < d->n_inputs; i++) {
        const struct nuc_tensor_info *t = &d->inputs[i];
        if (s->n_samples == 0)
            s->first[i] = nuc_copy(d->cx, inputs[i], t->bytes);
        s->differ = s->differ || memcmp(s->first[i], inputs[i], t->bytes) != 0;
        if (t->dtype == NUC_F32)
            nuc_look_at(&s->ranges[i], nuc_sample_of_all(d, s->n_samples), inputs[i], t->bytes / sizeof(float),
                        (double)NAN, (double)NAN);
    }
    double mark = nuc_sample_mark(d->inputs, d->n_inputs, inputs);
    size_t at = s->seen.n_marks < NUC_MOST_MARKS ? s->seen.n_marks++ : NUC_MOST_MARKS;
    for (; at > 0 && s->seen.marks[at - 1] > mark; at--) {
        if (at < NUC_MOST_MARKS)
            s->seen.marks[at] = s->seen.marks[at - 1];
    }
    if (at < NUC_MOST_MARKS)
        s->seen.marks[at] = mark;
    s->n_samples++;
}

/* Whether there was something to say. */
static bool warn_of_input(const struct nuc_sample_check *s, size_t i)
{
    struct nuc_context *cx = s->samples->cx;
    const struct nuc_data_range *r = &s->ranges[i];
    const char *file = s->samples->path, *name = s->samples->inputs[i].name;
    double largest = -r->least > r->most ? -r->least : r->most;

    if (r->least > r->most)
        return false;
    if (!(r->least < r->most))
        nuc_warn(cx, "%s: input '%s' is %g throughout all samples: give samples of what the model will see", file, name,
                 r->least + 0); /* never -0 */
    else if (largest < TINY)
        nuc_warn(cx, "%s: input '%s' has no value beyond %.2g: scale the samples as those of the training were", file,
                 name, largest);
    else if (largest > LARGE)
        nuc_warn(cx, "%s: input '%s' has values up to %.2g: normalise the samples as those of the training were", file,
                 name, largest);
    else if (nuc_may_be_image(&s->samples->inputs[i]) && r->least >= 0 && r->most > (r->fraction ? 250 : 127) &&
             r->most <= 255)
        nuc_warn(cx, "%s: input '%s' has %s of 0 to 255, as pixels: divide them by 255 if those of the training were",
                 file, name, r->fraction ? "values" : "whole numbers");
    else
        return false;
    return true;
}

#define FEW 20 /* labels that say nothing about the data set */

/* Whether labels come with the samples, and all are the same: the ranges are those of one class. */
static bool warn_of_one_class(const struct nuc_dataset *d)
{
    for (size_t i = 0; i < d->arrays.count; i++) {
        const struct nuc_array *a = &d->arrays.items[i];
        const size_t size = nuc_dtype_size(a->dtype);
        if (!nuc_is_label_array(a->name) || a->data.data == NULL || a->rank != 1 || a->data.size < FEW * size ||
            memcmp(a->data.data, a->data.data + size, a->data.size - size) != 0)
            continue;
        nuc_warn(d->cx, "%s: array '%s': all %zu samples are of one class: take samples of all classes", d->path,
                 a->name, a->data.size / size);
        return true;
    }
    return false;
}

bool nuc_sample_check_end(const struct nuc_sample_check *s)
{
    struct nuc_dataset *d = s->samples;
    bool warned = false;

    d->ranges = s->ranges;
    d->n_looked_at = d->n_samples;
    d->calibration = s->seen;
    for (size_t i = 0; i < d->n_inputs; i++) {
        warned |= nuc_warn_of_not_finite(d->cx, d->path, d->inputs[i].name, &s->ranges[i]);
        warned |= warn_of_input(s, i);
    }
    warned |= warn_of_one_class(d);
    if (!warned && s->n_samples == 1)
        nuc_warn(d->cx,
                 "%s: one sample: ranges are those of it alone, and nothing tells how good they are: give 32 or more",
                 d->path);
    if (!warned && !s->differ && s->n_samples > 1)
        nuc_warn(d->cx, "%s: all %zu samples are the same: give samples that differ", d->path, s->n_samples);
    return s->differ;
}
