/* What the data are, against what a program was calibrated with: ranges, how images are prepared, what is bound. */
#include <math.h>

#include "data/dataset.h"
#include "host/hash.h"
#include "host/text.h"

/* ---- looking at the data ---- */

#define MOST_VALUES ((size_t)1 << 26) /* of arrays that are looked at; beyond, samples are left out evenly */
#define MOST_IMAGES 8                 /* of a folder: each is decoded */

/* Values this many times the largest one in calibration are far from it. */
#define FAR 8.0

/* Values this share of the range outside of it are no chance of which samples were taken. */
#define BEYOND 0.25

static double largest(double least, double most)
{
    return fabs(least) > fabs(most) ? fabs(least) : fabs(most);
}

struct nuc_data_range *nuc_new_ranges(struct nuc_context *cx, size_t n_inputs)
{
    struct nuc_data_range *ranges = nuc_alloc_array(cx, n_inputs, sizeof *ranges);

    for (size_t i = 0; i < n_inputs; i++)
        ranges[i] = (struct nuc_data_range){.least = (double)INFINITY, .most = -(double)INFINITY};
    return ranges;
}

void nuc_look_at(struct nuc_data_range *r, size_t sample, const float *x, size_t count, double least, double most)
{
    double far = FAR * largest(least, most), margin = BEYOND * (most - least);

    for (size_t k = 0; k < count; k++) {
        double v = (double)x[k];
        r->n_nan += isnan(v) ? 1 : 0;
        r->n_infinite += isinf(v) ? 1 : 0;
        if (!isfinite(v)) {
            r->first = r->n_nan + r->n_infinite == 1 ? sample : r->first;
            continue;
        }
        r->least = v < r->least ? v : r->least;
        r->most = v > r->most ? v : r->most;
        r->fraction = r->fraction || v != floor(v);
        r->n_beyond += v < least - margin || v > most + margin;
        if (v < 0 || v > 0) {
            r->n_not_zero++;
            r->n_far += fabs(v) > far;
        }
    }
}

bool nuc_warn_of_not_finite(struct nuc_context *cx, const char *file, const char *name, const struct nuc_data_range *r)
{
    bool infinite = r->n_infinite > 0 && r->least < r->most;

    if (r->n_nan > 0)
        nuc_warn(cx, "%s: '%.60s' has NaN (%zu), the first in sample %zu: leave such samples out, or replace it", file,
                 name, r->n_nan, r->first);
    if (infinite)
        nuc_warn(cx, "%s: '%.60s' has infinity (%zu), the first in sample %zu: leave such samples out, or replace it",
                 file, name, r->n_infinite, r->first);
    return infinite || r->n_nan > 0;
}

/* ---- the same samples ---- */

#define MARK_PIECES 64 /* of an input, evenly spread, that a mark is made of */
#define MARK_BYTES 64

double nuc_sample_mark(const struct nuc_tensor_info *inputs, size_t n_inputs, const void *const *sample)
{
    uint64_t hash = NUC_HASH_OF_NOTHING;

    for (size_t i = 0; i < n_inputs; i++) {
        const uint8_t *bytes = sample[i];
        size_t size = inputs[i].bytes, pieces = size / MARK_BYTES / MARK_PIECES;
        size_t step = (pieces == 0 ? 1 : pieces) * MARK_BYTES;
        for (size_t at = 0; at < size; at += step)
            hash = nuc_hash_bytes(hash, bytes + at, size - at < MARK_BYTES ? size - at : MARK_BYTES);
    }
    return (double)(hash % 999999937u); /* the largest prime of nine digits */
}

static bool was_calibrated_with(const struct nuc_dataset *d, const void *const *sample)
{
    bool known = d->metadata != NULL && d->metadata->n_calibration > 0;
    const struct nuc_calibration_metadata *c = known ? d->metadata->calibration : NULL;
    double mark = c != NULL ? nuc_sample_mark(d->inputs, d->n_inputs, sample) : 0;

    for (size_t i = 0; c != NULL && i < c->n_marks; i++) {
        if (!(c->marks[i] < mark || c->marks[i] > mark))
            return true;
    }
    return false;
}

/* The calibrated range of an input, NaN where it is not known. */
static void calibrated_range(const struct nuc_dataset *d, size_t i, double *least, double *most)
{
    bool known = d->metadata != NULL && i < d->metadata->n_inputs && d->inputs[i].dtype == NUC_F32;

    *least = known ? d->metadata->inputs[i].least : (double)NAN;
    *most = known ? d->metadata->inputs[i].most : (double)NAN;
}

void nuc_dataset_look(struct nuc_dataset *d)
{
    struct nuc_context *cx = d->cx;
    const void **inputs = nuc_alloc_array(cx, d->n_inputs, sizeof(void *));
    size_t values = 1;

    for (size_t i = 0; i < d->n_inputs; i++)
        values += d->inputs[i].bytes / sizeof(float);
    size_t looks = d->images != NULL ? MOST_IMAGES / d->per_sample : MOST_VALUES / values;
    looks = looks == 0 ? 1 : looks;
    size_t step = (d->n_samples + looks - 1) / looks;
    d->ranges = nuc_new_ranges(cx, d->n_inputs);
    d->n_looked_at = d->n_calibrated_with = 0;
    for (size_t k = 0; k < d->n_samples; k += step) {
        nuc_dataset_read_sample(d, k, inputs);
        d->n_looked_at++;
        d->n_calibrated_with += was_calibrated_with(d, inputs);
        for (size_t i = 0; i < d->n_inputs; i++) {
            double least, most;
            calibrated_range(d, i, &least, &most);
            if (d->inputs[i].dtype == NUC_F32)
                nuc_look_at(&d->ranges[i], k, inputs[i], d->inputs[i].bytes / sizeof(float), least, most);
        }
    }
}

/* ---- what kind of numbers they are ---- */

/* Ranges that pixels usually have. */
enum pixels { OTHER, RAW, UNIT, SIGNED_UNIT, NORMALISED };

static enum pixels kind_of(double least, double most)
{
    if (least >= 0)
        return most > 1.5 ? most > 32 && most <= 256 ? RAW : OTHER : most > 0.1 ? UNIT : OTHER;
    if (least < -0.25 && least >= -1.01 && most <= 1.01)
        return SIGNED_UNIT;
    return least < -0.5 && least >= -4 && most > 0.5 && most <= 4 ? NORMALISED : OTHER;
}

bool nuc_may_be_image(const struct nuc_tensor_info *t)
{
    if (t->rank != 3 && t->rank != 4)
        return false;
    const int64_t *sizes = &t->sizes[t->rank - 3];
    return sizes[0] == 1 || sizes[0] == 3 || sizes[2] == 1 || sizes[2] == 3;
}

static const char *remedy(const struct nuc_dataset *d, enum pixels calibrated, enum pixels data)
{
    bool folder = d->images != NULL;

    if (data == RAW && calibrated == UNIT)
        return "divide the array by 255, as for calibration";
    if (data == RAW && calibrated == SIGNED_UNIT)
        return "prepare it as for calibration: divided by 255, or by 127.5 less 1";
    if (data == RAW && calibrated == NORMALISED)
        return "prepare it as for calibration: (pixel / 255 - mean) / std";
    if (data == UNIT && calibrated == RAW)
        return folder ? "images become pixel / 255: give --std 0.00392157 for pixels of 0 to 255"
                      : "multiply the array by 255, as for calibration";
    if (data == UNIT && calibrated == SIGNED_UNIT)
        return folder ? "give --mean and --std as for calibration, 0.5 and 0.5 make -1 to 1 of pixels"
                      : "take off the mean and divide by std, as for calibration";
    if (data == UNIT && calibrated == NORMALISED)
        return folder
                   ? "give --mean and --std as for calibration; those of ImageNet are --mean 0.485,0.456,0.406 --std "
                     "0.229,0.224,0.225"
                   : "take off the mean and divide by std, as for calibration";
    if ((data == NORMALISED || data == SIGNED_UNIT) && (calibrated == UNIT || calibrated == RAW))
        return folder ? "leave --mean and --std out, as for calibration"
                      : "do not take off a mean, as calibration did not";
    return "prepare the data as those of calibration were";
}

/* ---- judging ---- */

#define FACTOR 32.0   /* between the largest values: no other scale is as far off by chance */
#define FAR_SHARE 0.1 /* of the values that are not zero */
#define BEYOND_SHARE 0.01

/* As far off as values of another unit are: 0 to 255 instead of 0 to 1. One outlier is not. */
static bool is_other_unit(const struct nuc_data_range *r, enum pixels calibrated, enum pixels data, double seen,
                          double given)
{
    if (given > FACTOR * seen)
        return (double)r->n_far >= FAR_SHARE * (double)r->n_not_zero;
    return calibrated == RAW && data == UNIT && r->most > 0.5;
}

static bool is_suspicious(const struct nuc_tensor_info *t, const struct nuc_data_range *r, double least, double most,
                          enum pixels calibrated, enum pixels data)
{
    double seen = largest(least, most), given = largest(r->least, r->most), span = most - least;

    if (given > 4 * seen || given * FACTOR < seen)
        return true;
    if (r->least < least - span || r->most > most + span)
        return true;
    if (!nuc_may_be_image(t))
        return false;
    bool centred = calibrated == NORMALISED || calibrated == SIGNED_UNIT;
    return (data == UNIT && centred) || (calibrated == UNIT && (data == NORMALISED || data == SIGNED_UNIT));
}

static void judge(const struct nuc_dataset *d, size_t i)
{
    const struct nuc_data_range *r = &d->ranges[i];
    const struct nuc_tensor_info *t = &d->inputs[i];
    const char *array = d->images != NULL ? "images" : d->bound[i]->name;
    double least, most;

    nuc_warn_of_not_finite(d->cx, d->path, t->name, r);
    calibrated_range(d, i, &least, &most);
    /* Nothing is known, or calibration had one value, or there is none but zeros. */
    if (!(least < most) || r->n_not_zero == 0)
        return;
    enum pixels calibrated = kind_of(least, most), data = kind_of(r->least, r->most);
    bool wrong = is_other_unit(r, calibrated, data, largest(least, most), largest(r->least, r->most));
    if (!wrong && !is_suspicious(t, r, least, most, calibrated, data)) {
        if ((double)r->n_beyond >= BEYOND_SHARE * (double)r->n_not_zero)
            nuc_warn(d->cx,
                     "%s: '%.60s' for input '%.60s' has values of %.4g to %.4g, calibration had %.4g to %.4g: what is "
                     "beyond is clipped; calibrate with such samples",
                     d->path, array, t->name, r->least, r->most, least, most);
        return;
    }
    const char *what =
        nuc_format(d->cx, "%s: '%.60s' for input '%.60s' has values of %.4g to %.4g, calibration had %.4g to %.4g: %s",
                   d->path, array, t->name, r->least, r->most, least, most, remedy(d, calibrated, data));
    if (wrong && !d->options->unlike_calibration)
        nuc_fail(d->cx, NUC_BAD_INPUT, "%s; --unlike-calibration takes it as it is", what);
    nuc_warn(d->cx, "%s", what);
}

void nuc_dataset_judge(const struct nuc_dataset *d)
{
    for (size_t i = 0; i < d->n_inputs; i++)
        judge(d, i);
}

/* ---- what is bound ---- */

static void add_line(struct nuc_dataset *d, const char *line)
{
    struct nuc_data_lines *l = &d->lines;

    l->items = nuc_grow(d->cx, l->items, &d->lines_capacity, l->count + 1, sizeof *l->items);
    l->items[l->count++] = line;
}

static bool differs(double a, double b, double span)
{
    return fabs(a - b) > 0.02 * span;
}

static const char *sequences_line(const struct nuc_dataset *d)
{
    size_t least = d->n_samples, most = 0, steps = 0;

    for (size_t k = 0; k < d->n_samples; k++) {
        steps++;
        if (!nuc_dataset_ends(d, k))
            continue;
        least = steps < least ? steps : least;
        most = steps > most ? steps : most;
        steps = 0;
    }
    if (least == most)
        return nuc_samples_text(d->cx, d->n_samples, most);
    return nuc_format(d->cx, "%zu sequences of %zu to %zu steps", d->n_sequences, least, most);
}

void nuc_dataset_describe(struct nuc_dataset *d)
{
    d->lines.count = 0;
    for (size_t i = 0; i < d->n_inputs; i++) {
        struct nuc_context *cx = d->cx;
        const struct nuc_tensor_info *t = &d->inputs[i];
        const struct nuc_data_range *r = &d->ranges[i];
        struct nuc_text text = {.cx = cx};
        double least, most;
        nuc_text_addf(&text, "%.20s -> %.20s [",
                      d->images != NULL ? "images" : nuc_metadata_text(cx, d->bound[i]->name), t->name);
        for (size_t k = 0; k < t->rank; k++)
            nuc_text_addf(&text, "%s%lld", k == 0 ? "" : ",", (long long)t->sizes[k]);
        nuc_text_addf(&text, r->least <= r->most ? "], %.4g to %.4g" : "]", r->least, r->most);
        add_line(d, nuc_text_string(&text));
        if (d->n_looked_at < d->n_samples && r->least <= r->most)
            add_line(d, nuc_format(cx, "    in %zu of %zu samples", d->n_looked_at, d->n_samples));
        calibrated_range(d, i, &least, &most);
        if (least <= most && r->least <= r->most &&
            (differs(least, r->least, most - least) || differs(most, r->most, most - least)))
            add_line(d, nuc_format(cx, "    calibrated with %.4g to %.4g", least, most));
    }
    if (d->has_states)
        add_line(d, sequences_line(d));
    for (size_t i = 0; i < d->n_unused; i++)
        add_line(d, nuc_format(d->cx, "not used: %.40s", nuc_metadata_text(d->cx, d->unused[i])));
}
