/* How far numbers are from others: sums, and what follows from them. */
#include <math.h>

#include "host/numbers.h"
#include "tools/evaluate/scored_output.h"

static bool is_finite(double v)
{
    return fabs(v) < NUC_LARGEST;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Of the elements of one call, in their order: the sums of calls are added without rounding. */
struct partial {
    double signal, noise, absolute;
};

void nuc_deviation_add(struct nuc_context *cx, struct nuc_deviation *d, enum nuc_dtype of_type, const void *of,
                       enum nuc_dtype x_type, const void *x, size_t count)
{
    struct partial p = {0, 0, 0};
    bool integers = nuc_is_integer(of_type) && nuc_is_integer(x_type);

    for (size_t i = 0; i < count; i++) {
        double a = nuc_number_at(of_type, of, i), b = nuc_number_at(x_type, x, i);
        bool equal = integers ? nuc_int_at(of_type, of, i) == nuc_int_at(x_type, x, i) : same(a, b);
        d->n_elements++;
        d->n_equal += equal;
        d->n_nan += isnan(b) != 0;
        d->n_infinite += (size_t)(!isnan(b) && !is_finite(b));
        if (is_finite(a) && is_finite(b)) {
            double error = a - b;
            bool first = d->n_elements == d->n_not_finite + 1;
            p.signal += a * a;
            p.noise += error * error;
            p.absolute += fabs(error);
            d->max_error = fmax(d->max_error, fabs(error));
            d->min = first ? a : fmin(d->min, a);
            d->max = first ? a : fmax(d->max, a);
        } else {
            d->n_not_finite++;
            d->n_of_not_finite += (size_t)!is_finite(a);
            d->n_broken += !equal;
        }
    }
    if (d->sums == NULL)
        d->sums = nuc_alloc(cx, sizeof *d->sums);
    nuc_exact_add(cx, &d->sums->signal, p.signal);
    nuc_exact_add(cx, &d->sums->noise, p.noise);
    nuc_exact_add(cx, &d->sums->absolute, p.absolute);
}

void nuc_deviation_merge(struct nuc_context *cx, struct nuc_deviation *to, const struct nuc_deviation *from)
{
    bool to_none = to->n_elements == to->n_not_finite, from_none = from->n_elements == from->n_not_finite;

    if (!from_none) {
        to->min = to_none ? from->min : fmin(to->min, from->min);
        to->max = to_none ? from->max : fmax(to->max, from->max);
    }
    to->n_elements += from->n_elements;
    to->n_equal += from->n_equal;
    to->n_nan += from->n_nan;
    to->n_infinite += from->n_infinite;
    to->n_of_not_finite += from->n_of_not_finite;
    to->n_not_finite += from->n_not_finite;
    to->n_broken += from->n_broken;
    to->max_error = fmax(to->max_error, from->max_error);
    if (from->sums == NULL)
        return;
    if (to->sums == NULL)
        to->sums = nuc_alloc(cx, sizeof *to->sums);
    nuc_exact_merge(cx, &to->sums->signal, &from->sums->signal);
    nuc_exact_merge(cx, &to->sums->noise, &from->sums->noise);
    nuc_exact_merge(cx, &to->sums->absolute, &from->sums->absolute);
}

void nuc_deviation_count(struct nuc_deviation *d, enum nuc_dtype type, const void *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double v = nuc_number_at(type, x, i);
        d->n_elements++;
        d->n_nan += isnan(v) != 0;
        d->n_infinite += (size_t)(!isnan(v) && !is_finite(v));
        d->n_not_finite += (size_t)!is_finite(v);
    }
}

void nuc_deviation_finish(struct nuc_deviation *d)
{
    size_t n = d->n_elements - d->n_not_finite;
    double range = d->max - d->min;

    if (d->sums != NULL) {
        d->signal = nuc_exact_value(&d->sums->signal);
        d->noise = nuc_exact_value(&d->sums->noise);
        d->absolute = nuc_exact_value(&d->sums->absolute);
    }
    if (n == 0) {
        d->min = 0;
        d->max = -1;
        range = 0;
    }
    d->mse = n == 0 ? 0 : d->noise / (double)n;
    d->mae = n == 0 ? 0 : d->absolute / (double)n;
    d->sqnr_db = nuc_sqnr_db(&(struct nuc_sqnr){d->signal, d->noise});
    d->psnr_db = nuc_sqnr_db(&(struct nuc_sqnr){range * range, d->mse});
    if (d->n_broken != 0) {
        d->mse = d->mae = d->max_error = (double)INFINITY;
        d->sqnr_db = d->psnr_db = -(double)INFINITY;
    }
}
