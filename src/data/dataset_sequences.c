/* Samples of models that remember: which of them are steps of one sequence. */
#include <string.h>

#include "data/dataset.h"
#include "host/numbers.h"
#include "host/text.h"

const char *nuc_samples_text(struct nuc_context *cx, size_t n_samples, size_t n_steps)
{
    size_t n = n_steps != 0 ? n_samples / n_steps : n_samples;

    if (n_steps == 0)
        return nuc_format(cx, "%zu sample%s", n, n == 1 ? "" : "s");
    return nuc_format(cx, "%zu sequence%s of %zu step%s", n, n == 1 ? "" : "s", n_steps, n_steps == 1 ? "" : "s");
}

bool nuc_dataset_begins(const struct nuc_dataset *d, size_t sample)
{
    return d->begins != NULL ? d->begins[sample] : sample == 0;
}

bool nuc_dataset_ends(const struct nuc_dataset *d, size_t sample)
{
    return sample + 1 == d->n_samples || nuc_dataset_begins(d, sample + 1);
}

size_t nuc_dataset_n_steps(const struct nuc_dataset *d)
{
    return d->n_steps;
}

bool nuc_is_marks(const struct nuc_dataset *d, const struct nuc_array *a)
{
    return d->has_states && strcmp(a->name, NUC_RESET_ARRAY) == 0;
}

bool nuc_is_bound(const struct nuc_dataset *d, const struct nuc_array *a)
{
    for (size_t i = 0; i < d->n_inputs; i++) {
        if (d->bound[i] == a)
            return true;
    }
    return false;
}

/* The array of marks; NULL: there is none. It is read once and kept. */
static struct nuc_array *find_marks(const struct nuc_dataset *d)
{
    for (size_t i = 0; d->images == NULL && i < d->arrays.count; i++) {
        struct nuc_array *a = &d->arrays.items[i];
        if (!nuc_is_bound(d, a) && nuc_is_marks(d, a))
            return a;
    }
    return NULL;
}

/* Sequence `index` of `n`, or of a single one step `index` of `n`: whether it is held out. */
static bool is_held_out(size_t index, size_t n, bool single)
{
    size_t period = n < 4 ? n : 4;

    return single ? index >= n - (n + 3) / 4 : (index + 1) % period == 0;
}

/* Keeps the samples of the part. */
static void take_part(struct nuc_dataset *d, const bool *all, size_t n_sequences)
{
    size_t *order = nuc_alloc_array(d->cx, d->n_samples, sizeof *order);
    bool *begins = nuc_alloc_array(d->cx, d->n_samples, sizeof *begins), single = n_sequences == 1, last = false;
    size_t n = 0, index = 0;

    d->n_sequences = 0;
    for (size_t k = 0; k < d->n_samples; k++) {
        index += all[k] && k > 0;
        bool held_out = is_held_out(single ? k : index, single ? d->n_samples : n_sequences, single);
        if (held_out == (d->part == NUC_SAMPLES_HELD_OUT)) {
            begins[n] = all[k] || n == 0 || held_out != last;
            d->n_sequences += begins[n];
            order[n++] = k;
        }
        last = held_out;
    }
    d->n_samples = n;
    d->order = order;
    d->begins = begins;
}

void nuc_dataset_find_sequences(struct nuc_dataset *d)
{
    struct nuc_array *marks = find_marks(d);
    bool *begins = nuc_alloc_array(d->cx, d->n_samples, sizeof *begins);
    size_t n = 0;

    for (size_t k = 0; k < d->n_samples; k++)
        begins[k] = k == 0 || (d->n_steps != 0 && k % d->n_steps == 0);
    if (marks != NULL) {
        if (d->n_steps != 0)
            nuc_fail(d->cx, NUC_BAD_INPUT,
                     "%s: array '%s' marks where sequences begin, and array '%s' has an axis of time that says so, "
                     "too: leave '%s' out, or join the sequences along axis 0",
                     d->path, marks->name, d->bound[0]->name, marks->name);
        if (!nuc_is_integer(marks->dtype) || marks->rank != 1 || (size_t)marks->shape[0] != d->n_samples)
            nuc_fail(d->cx, NUC_BAD_INPUT,
                     "%s: array '%s' is %s %s: give a bool or an integer for each of the %zu samples, 1 where a "
                     "sequence begins and else 0",
                     d->path, marks->name, nuc_dtype_name(marks->dtype),
                     nuc_sizes_text(d->cx, marks->shape, marks->rank), d->n_samples);
        const void *data = nuc_array_elements(d->cx, marks);
        for (size_t k = 0; k < d->n_samples; k++) {
            int64_t mark = nuc_int_at(marks->dtype, data, k);
            if (mark != 0 && mark != 1)
                nuc_fail(d->cx, NUC_BAD_INPUT,
                         "%s: array '%s' has %lld at sample %zu: give 1 where a sequence begins and else 0", d->path,
                         marks->name, (long long)mark, k);
            begins[k] = mark != 0 || k == 0;
        }
    }
    for (size_t k = 0; k < d->n_samples; k++)
        n += begins[k];
    if (n == d->n_samples && n > 1)
        nuc_warn(
            d->cx,
            "%s: every sample begins a sequence, so that the model remembers nothing: give 1 in '%s' for the first "
            "step of each sequence alone",
            d->path, NUC_RESET_ARRAY);
    d->begins = begins;
    d->n_sequences = n;
    if (d->part != NUC_SAMPLES_ALL && d->n_samples > 1)
        take_part(d, begins, n);
}
