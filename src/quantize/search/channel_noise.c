#include "quantize/search/channel_noise.h"

#include <math.h>
#include <stdlib.h>

#include "host/clones.h"

/* ---- the estimate ---- */

/*
 * Its parts that grow and fall with the factor of each label are wanted for a step towards less noise. A maximum has no
 * such parts but for one of its values, so that there the norm stands for it.
 */
struct estimate {
    const double *factor; /* by label, of the last one 1 */
    nuc_label one;        /* stands for NUC_ANY_LABEL */
    double total;
    double *up, *down; /* by label; NULL: not wanted, and ranges are exact */
    /* Room for the largest tensor and matrix. */
    double *part, *part_below, *in_factor, *in_part, *group_power, *group_ranges;
};

static double factor_of(const struct estimate *s, nuc_label l)
{
    return s->factor[l == NUC_ANY_LABEL ? s->one : l];
}

static double factor_of_share(const struct estimate *s, const struct nuc_noise_share *h)
{
    double f = factor_of(s, h->label);

    return h->squared ? f * f : f;
}

/* A part of the noise that grows with the factor, or, below 0, falls. */
static void note(struct estimate *s, nuc_label l, double growing)
{
    if (s->up != NULL && l != NUC_ANY_LABEL)
        (growing > 0 ? s->up : s->down)[l] += fabs(growing);
}

/* Range on one side of 0; what each share has in the square of the norm goes to `part`. */
static double side(const struct nuc_noise_tensor *t, const struct estimate *s, bool above, double *part)
{
    double most = 0, sum = 0;

    for (uint32_t i = 0; i < t->count; i++) {
        const struct nuc_noise_share *h = &t->shares[i];
        double x = (double)(above ? h->above : h->below) / factor_of_share(s, h);
        most = fmax(most, x);
        part[i] = x * x;
        sum += part[i];
    }
    for (uint32_t i = 0; i < t->count; i++)
        part[i] = sum > 0 ? part[i] / sum : 0;
    return s->up != NULL ? sqrt(sum) : most;
}

static void add_tensor(const struct nuc_noise_tensor *t, struct estimate *s)
{
    double above = side(t, s, true, s->part), below = side(t, s, false, s->part_below), sum = 0;
    double range = above + below, unit = range / (12 * NUC_STEPS_OF_VALUES * NUC_STEPS_OF_VALUES);

    for (uint32_t i = 0; i < t->count; i++) {
        double f = factor_of_share(s, &t->shares[i]);
        sum += t->shares[i].weight * f * f;
    }
    s->total += unit * range * sum;
    for (uint32_t i = 0; i < t->count && s->up != NULL; i++) {
        const struct nuc_noise_share *h = &t->shares[i];
        double f = factor_of_share(s, h), power = h->squared ? 2 : 1;
        note(s, h->label, power * unit * range * h->weight * f * f);
        note(s, h->label, -power * unit * sum * (above * s->part[i] + below * s->part_below[i]));
    }
}

/* ---- weights ---- */

static double largest_of(const double *x, uint32_t count)
{
    double most = 0;

    for (uint32_t i = 0; i < count; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* part[i]: the square of what a weight reaches. */
NUC_CLONES static void square_row(const float *w, const double *read, double f, uint32_t count, double *part)
{
    for (uint32_t i = 0; i < count; i++) {
        double x = (double)w[i] * read[i] / f;
        part[i] = x * x;
    }
}

/*
 * The sum of the parts, in an order that lets several additions go on at a time; each, times the noise of its row, is
 * added to that of its input.
 */
NUC_CLONES static double sum_row(const double *part, double noise, uint32_t count, double *in)
{
    double sums[4] = {0, 0, 0, 0};
    uint32_t i = 0;

    for (; count - i >= 4; i += 4) {
        for (uint32_t k = 0; k < 4; k++) {
            sums[k] += part[i + k];
            in[i + k] += part[i + k] * noise;
        }
    }
    for (; i < count; i++) {
        sums[0] += part[i];
        in[i] += part[i] * noise;
    }
    return sums[0] + sums[1] + sums[2] + sums[3];
}

/* Outputs [first, end) of a matrix have one scale. */
static void add_rows(const struct nuc_noise_matrix *m, uint32_t first, uint32_t end, struct estimate *s)
{
    uint32_t ins = m->in / m->groups, outs = m->out / m->groups;
    double unit = 1 / (12 * NUC_STEPS_OF_WEIGHTS * NUC_STEPS_OF_WEIGHTS * m->out), powers = 0, squared_range = 0;

    for (uint32_t o = first; o < end; o++) {
        double f = m->per_output ? 1 : factor_of(s, m->written[o]);
        powers += f * f * s->group_power[o / outs];
    }
    for (uint32_t o = first; o < end; o++) {
        const float *w = m->largest + (size_t)o * ins;
        double f = m->per_output ? 1 : factor_of(s, m->written[o]), *in = s->in_part + (size_t)(o / outs) * ins;
        const double *read = s->in_factor + (size_t)(o / outs) * ins;
        square_row(w, read, f, ins, s->part);
        if (s->up == NULL) {
            squared_range = fmax(squared_range, largest_of(s->part, ins));
            continue;
        }
        double noise = unit * powers, row = sum_row(s->part, noise, ins, in);
        squared_range += row;
        if (!m->per_output)
            note(s, m->written[o], -row * noise);
    }
    s->total += unit * squared_range * powers;
    for (uint32_t o = first; o < end && s->up != NULL; o++) {
        double f = m->per_output ? 1 : factor_of(s, m->written[o]);
        s->group_ranges[o / outs] += unit * squared_range * f * f;
        if (!m->per_output)
            note(s, m->written[o], unit * squared_range * f * f * s->group_power[o / outs]);
    }
}

static void add_matrix(const struct nuc_noise_matrix *m, struct estimate *s)
{
    uint32_t ins = m->in / m->groups, step = m->per_output ? 1 : m->out;

    for (uint32_t g = 0; g < m->groups; g++)
        s->group_power[g] = s->group_ranges[g] = 0;
    for (uint32_t i = 0; i < m->in; i++) {
        s->in_factor[i] = factor_of(s, m->read[i]);
        s->in_part[i] = 0;
        s->group_power[i / ins] += m->power[i] / (s->in_factor[i] * s->in_factor[i]);
    }
    for (uint32_t o = 0; o < m->out; o += step)
        add_rows(m, o, o + step, s);
    for (uint32_t i = 0; i < m->in && s->up != NULL; i++) {
        note(s, m->read[i], s->in_part[i]);
        note(s, m->read[i], -s->group_ranges[i / ins] * m->power[i] / (s->in_factor[i] * s->in_factor[i]));
    }
}

/* ---- less noise ---- */

static int by_label(const void *a, const void *b)
{
    const struct nuc_noise_share *x = a, *y = b;

    return x->label != y->label ? (x->label < y->label ? -1 : 1) : (int)x->squared - (int)y->squared;
}

static void merge_shares(struct nuc_noise_tensor *t)
{
    uint32_t count = 0;

    if (t->count > 0)
        qsort(t->shares, t->count, sizeof *t->shares, by_label);
    for (uint32_t i = 0; i < t->count; i++) {
        struct nuc_noise_share *s = &t->shares[i], *last = count > 0 ? &t->shares[count - 1] : NULL;
        if (last == NULL || by_label(last, s) != 0) {
            t->shares[count++] = *s;
            continue;
        }
        last->above = fmaxf(last->above, s->above);
        last->below = fmaxf(last->below, s->below);
        last->weight = fmax(last->weight, s->weight);
    }
    t->count = count;
}

void nuc_noise_add_share(struct nuc_noise_model *m, uint32_t tensor, struct nuc_noise_share share)
{
    struct nuc_noise_tensor *t = &m->tensors[tensor];

    t->shares = nuc_grow(m->cx, t->shares, &t->capacity, t->count + 1, sizeof *t->shares);
    t->shares[t->count++] = share;
}

/* Of the logarithm of the balance: what the square of a norm takes without overshooting, and half of it where a factor
 * is squared. */
#define RATE 0.25

static double *rates_of(const struct nuc_noise_model *m)
{
    double *rate = nuc_alloc_array(m->cx, m->n_labels, sizeof *rate);

    for (uint32_t i = 0; i < m->n_labels; i++)
        rate[i] = RATE;
    for (uint32_t i = 0; i < m->n_tensors; i++) {
        for (uint32_t k = 0; k < m->tensors[i].count; k++) {
            const struct nuc_noise_share *h = &m->tensors[i].shares[k];
            if (h->squared && h->label != NUC_ANY_LABEL)
                rate[h->label] = RATE / 2;
        }
    }
    return rate;
}

static struct estimate make_room(const struct nuc_noise_model *m, const double *factor)
{
    struct nuc_context *cx = m->cx;
    uint32_t parts = 0, in = 0, groups = 0;

    for (uint32_t i = 0; i < m->n_tensors; i++)
        parts = m->tensors[i].count > parts ? m->tensors[i].count : parts;
    for (uint32_t i = 0; i < m->n_matrices; i++) {
        const struct nuc_noise_matrix *x = &m->matrices[i];
        in = x->in > in ? x->in : in;
        groups = x->groups > groups ? x->groups : groups;
    }
    parts = in > parts ? in : parts;
    return (struct estimate){
        .factor = factor,
        .one = m->n_labels,
        .part = nuc_alloc_array(cx, parts, sizeof(double)),
        .part_below = nuc_alloc_array(cx, parts, sizeof(double)),
        .in_factor = nuc_alloc_array(cx, in, sizeof(double)),
        .in_part = nuc_alloc_array(cx, in, sizeof(double)),
        .group_power = nuc_alloc_array(cx, groups, sizeof(double)),
        .group_ranges = nuc_alloc_array(cx, groups, sizeof(double)),
    };
}

static double estimate(const struct nuc_noise_model *m, struct estimate *s, double *factor, const double *exponents)
{
    s->total = 0;
    for (uint32_t i = 0; i < m->n_labels; i++) {
        factor[i] = exp(exponents[i]);
        if (s->up != NULL)
            s->up[i] = s->down[i] = 0;
    }
    factor[s->one] = 1;
    for (uint32_t i = 0; i < m->n_tensors; i++)
        add_tensor(&m->tensors[i], s);
    for (uint32_t i = 0; i < m->n_matrices; i++)
        add_matrix(&m->matrices[i], s);
    return s->total;
}

/*
 * Steps, each of which balances what grows and what falls with every factor. They end near the
 * least estimate: the last of it rests on what the estimate leaves out.
 */
#define STEPS 16
#define LEAST_FALL 1e-6 /* of the estimate by a step, below which those after it find nothing more */

double nuc_noise_reduce(struct nuc_noise_model *m, double *exponents)
{
    for (uint32_t i = 0; i < m->n_tensors; i++)
        merge_shares(&m->tensors[i]);
    struct nuc_arena *outer = nuc_push_arena(m->cx);
    double *factor = nuc_alloc_array(m->cx, (size_t)m->n_labels + 1, sizeof *factor), *rate = rates_of(m);
    struct estimate exact = make_room(m, factor), s = exact;
    s.up = nuc_alloc_array(m->cx, m->n_labels, sizeof *s.up);
    s.down = nuc_alloc_array(m->cx, m->n_labels, sizeof *s.down);
    for (uint32_t i = 0; i < m->n_labels; i++)
        exponents[i] = 0;
    double before = estimate(m, &exact, factor, exponents);
    for (unsigned k = 0; k < STEPS; k++) {
        double last = s.total;
        estimate(m, &s, factor, exponents);
        if (k > 0 && last - s.total < LEAST_FALL * last)
            break;
        for (uint32_t i = 0; i < m->n_labels; i++) {
            double x = exponents[i];
            if (s.up[i] > 0 && s.down[i] > 0)
                x -= rate[i] * log(s.up[i] / s.down[i]);
            exponents[i] = fmin(fmax(x, m->lowest[i]), 0);
        }
    }
    double after = estimate(m, &exact, factor, exponents);
    nuc_pop_arena(m->cx, outer);
    return after < before ? 10 * log10(before / after) : 0;
}
