/*
 * How far off int8 would be with the roots of a norm in parts, by the sums of squares of the rows that samples have.
 * The steps are those of the forms (npu_norm.c): the sum rounded, a table of its root's inverse, rounded, in ranges of
 * other samples than those that are looked at.
 */
#include <math.h>

#include "ir/args.h"
#include "rewrite/npu_forms/npu_forms.h"

/* Rows that are looked at, of each sample, at places spread over all. */
#define MOST_ROWS 256

/* The square of a relative error that disappears beside what rounding a row costs: that of a kernel of the CPU, too. */
#define LEAST_ERROR 1e-4

/* Error of rounding a row of the largest deviation, whose values reach four times that. */
#define ROUNDING (16.0 / (127.0 * 127.0 * 12.0))

struct nuc_norm_sums *nuc_norm_sums_new(struct nuc_context *cx, const struct nuc_node *norm, size_t n_samples)
{
    struct nuc_norm_sums *s = nuc_alloc(cx, sizeof *s);

    for (unsigned part = 0; part < 2; part++) {
        s->of[part].values = nuc_alloc_array(cx, n_samples * MOST_ROWS, sizeof(double));
        s->of[part].least = HUGE_VAL;
    }
    s->norm = norm;
    return s;
}

/* Whose values are seen: what is normalized, of a sum of squares itself. */
const struct nuc_node *nuc_norm_source(const struct nuc_node *norm)
{
    return nuc_op_family(norm->op) == NUC_FAMILY_REDUCE ? norm : nuc_arg_node(norm, NUC_SELF);
}

/* Values of a row or group, which lie one behind the other. */
static size_t row_size(const struct nuc_node *norm)
{
    const struct nuc_meta *m = &norm->vals[0];

    if (nuc_op_family(norm->op) == NUC_FAMILY_REDUCE)
        return 1;
    if (norm->op == NUC_OP_GROUP_NORM)
        return (size_t)(nuc_elements_between(m, 1, m->rank) / nuc_integer(norm, NUC_ARG(GROUP_NORM, num_groups), 1));
    uint32_t dims = nuc_arg_at(norm, NUC_ARG(LAYER_NORM, normalized_shape))->count;
    return (size_t)nuc_elements_between(m, m->rank - dims, m->rank);
}

static double sum_of_squares(const struct nuc_node *norm, const float *x, size_t n)
{
    double mean = 0, sum = 0;

    if (nuc_op_family(norm->op) == NUC_FAMILY_REDUCE)
        return (double)x[0];
    for (size_t i = 0; norm->op != NUC_OP_RMS_NORM && i < n; i++)
        mean += (double)x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        sum += ((double)x[i] - mean) * ((double)x[i] - mean);
    return sum;
}

void nuc_norm_see(struct nuc_norm_sums *s, unsigned part, const float *x, size_t count)
{
    size_t n = row_size(s->norm), rows = count / n, kept = rows < MOST_ROWS ? rows : MOST_ROWS, next = 0;
    struct nuc_row_sums *of = &s->of[part];

    for (size_t i = 0; i < rows; i++) {
        double sum = sum_of_squares(s->norm, x + i * n, n);
        bool is_empty = !(sum > 0), is_kept = i >= next * rows / kept;
        next += is_kept ? 1 : 0;
        s->has_empty |= is_empty;
        if (is_empty)
            continue;
        of->least = fmin(of->least, sum);
        of->most = fmax(of->most, sum);
        if (is_kept)
            of->values[of->count++] = sum;
    }
}

/* ---- what int8 makes of them ---- */

static double rounded(double value, double most)
{
    return fmin(round(value * UINT8_MAX / most), UINT8_MAX) * most / UINT8_MAX;
}

static double inverse_root(double sum, double eps)
{
    return 1 / sqrt(fmax(sum + eps, 1e-30));
}

/* (sum + eps)^(-1/4) of a rounded sum, rounded: the first factor. */
static double first_factor(double sum, double eps, const struct nuc_row_sums *ranges)
{
    double most = sqrt(inverse_root(ranges->least, eps));

    return rounded(sqrt(inverse_root(rounded(sum, ranges->most), eps)), most);
}

/* The square of the relative error that a row of that sum has by its rounding already. */
static double error_of_row(double sum, double most)
{
    return LEAST_ERROR + fmin(ROUNDING * most / fmax(sum, 1e-30), 1);
}

/*
 * The mean square of the relative errors of rows in the ranges of others, each in parts of what its own rounding costs:
 * few rows of small deviations tell nothing of the others.
 */
static double error_within(const struct nuc_row_sums *rows, const struct nuc_row_sums *ranges, double eps, bool wide)
{
    const double most_sum = fmax(rows->most, ranges->most);
    double error = 0, most = ranges->most, most_root = inverse_root(ranges->least, eps);

    if (wide) {
        /* sum / sqrt(sum + eps) rises with the sum. */
        most *= inverse_root(most, eps);
        most_root = inverse_root(ranges->least * inverse_root(ranges->least, eps), eps * most_root);
    }
    for (size_t i = 0; i < rows->count; i++) {
        double sum = rows->values[i], exact = inverse_root(sum, eps), factor = 1;
        if (wide)
            factor = first_factor(sum, eps, ranges);
        double squares = sum * factor * factor;
        double root = rounded(inverse_root(rounded(squares, most), eps * factor * factor), most_root);
        double off = root * factor / exact - 1;
        error += (off * off + (wide ? ROUNDING * fmin(most / fmax(squares, 1e-30), 1 / ROUNDING) : 0)) /
                 error_of_row(sum, most_sum);
    }
    return error / (double)rows->count;
}

static double eps_of(const struct nuc_node *norm)
{
    switch ((int)norm->op) {
    case NUC_OP_LAYER_NORM:
        return nuc_scalar(norm, NUC_ARG(LAYER_NORM, eps), 1e-5);
    case NUC_OP_RMS_NORM:
        return nuc_scalar(norm, NUC_ARG(RMS_NORM, eps), 1e-7);
    case NUC_OP_GROUP_NORM:
        return nuc_scalar(norm, NUC_ARG(GROUP_NORM, eps), 1e-5);
    default:
        return 0;
    }
}

struct nuc_norm_of nuc_norm_form_of(const struct nuc_norm_sums *s, double *error)
{
    static const enum nuc_norm_form forms[] = {NUC_NORM_FINE, NUC_NORM_WIDE};
    double eps = eps_of(s->norm) * (double)row_size(s->norm);
    double least = fmin(s->of[0].least, s->of[1].least);
    struct nuc_norm_of out = {.name = s->norm->name, .form = NUC_NORM_FINE};

    *error = 0;
    if (s->of[0].count == 0 || s->of[1].count == 0)
        return out;
    /* Only where nothing but rows is asked for: the root of a mean of squares. */
    out.least = s->has_empty && eps < least ? least : 0;
    if (out.least > 0 && s->norm->op != NUC_OP_RMS_NORM)
        out.form = NUC_NORM_WHOLE;
    for (size_t k = 0; k < sizeof forms / sizeof *forms && out.form != NUC_NORM_WHOLE; k++) {
        *error = 0;
        for (unsigned part = 0; part < 2; part++)
            *error += error_within(&s->of[part], &s->of[1 - part], eps, forms[k] == NUC_NORM_WIDE) / 2;
        /* The short form of a group norm rounds once more than the fine one, which the network shows. */
        out.form = forms[k] == NUC_NORM_FINE && s->norm->op == NUC_OP_GROUP_NORM ? NUC_NORM_SHORT : forms[k];
        if (*error <= 1)
            return out;
    }
    out.form = NUC_NORM_WHOLE;
    return out;
}
