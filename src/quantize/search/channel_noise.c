#include "quantize/search/channel_noise.h"

#include <math.h>
#include <stdlib.h>

/* ---- the estimate ---- */

/* Its parts that grow and fall with the factor of each variable are wanted for one step towards the least noise. */
struct estimate {
    const double *factor; /* by label, of the last one 1 */
    nuc_label one;        /* stands for NUC_ANY_LABEL */
    double total;
    double *up, *down;  /* by variable; NULL: not wanted */
    unsigned squarings; /* a maximum is the norm of the power 2^squarings of what it is of; 0: the maximum itself */
    /* Room for the largest tensor and matrix. */
    double *part, *part_below, *in_factor, *in_part, *out_factor, *group_power, *group_ranges;
};

static double to_the_power(double x, unsigned squarings)
{
    for (unsigned i = 0; i < squarings; i++)
        x *= x;
    return x;
}

static double root_of(double x, unsigned squarings)
{
    for (unsigned i = 0; i < squarings; i++)
        x = sqrt(x);
    return x;
}

static double factor_of(const struct estimate *s, nuc_label l)
{
    return s->factor[l == NUC_ANY_LABEL ? s->one : l];
}

/* A part of the noise that grows with the factor, or, below 0, falls. */
static void note(struct estimate *s, nuc_label l, double growing)
{
    if (s->up == NULL || l == NUC_ANY_LABEL)
        return;
    double *sum = (growing > 0) == !(l & 1u) ? s->up : s->down;
    sum[l / 2] += fabs(growing);
}

/* Range on one side of 0; what each share has in the norm goes to `part`. */
static double side(const struct nuc_noise_tensor *t, const struct estimate *s, bool above, double *part)
{
    double most = 0, sum = 0;

    for (uint32_t i = 0; i < t->count; i++) {
        const struct nuc_noise_share *h = &t->shares[i];
        part[i] = (double)(above ? h->above : h->below) / factor_of(s, h->label);
        most = fmax(most, part[i]);
    }
    if (s->squarings == 0 || !(most > 0))
        return most;
    for (uint32_t i = 0; i < t->count; i++) {
        part[i] = to_the_power(part[i] / most, s->squarings);
        sum += part[i];
    }
    for (uint32_t i = 0; i < t->count; i++)
        part[i] /= sum;
    return most * root_of(sum, s->squarings);
}

static void add_tensor(const struct nuc_noise_tensor *t, struct estimate *s)
{
    double above = side(t, s, true, s->part), below = side(t, s, false, s->part_below), sum = 0;
    double range = above + below, unit = range / (12 * NUC_STEPS_OF_VALUES * NUC_STEPS_OF_VALUES);

    for (uint32_t i = 0; i < t->count; i++) {
        double f = factor_of(s, t->shares[i].label);
        sum += t->shares[i].weight * f * f;
    }
    s->total += unit * range * sum;
    for (uint32_t i = 0; i < t->count && s->up != NULL; i++) {
        const struct nuc_noise_share *h = &t->shares[i];
        double f = factor_of(s, h->label);
        note(s, h->label, unit * range * h->weight * f * f);
        note(s, h->label, -unit * sum * (above * s->part[i] + below * s->part_below[i]));
    }
}

/* ---- weights ---- */

/* Outputs [first, end) of a matrix have one scale. */
struct rows {
    const struct nuc_noise_matrix *m;
    uint32_t first, end;
    double most; /* largest scaled weight */
};

static uint32_t ins_of(const struct nuc_noise_matrix *m)
{
    return m->in / m->groups;
}

static uint32_t group_of(const struct nuc_noise_matrix *m, uint32_t output)
{
    return output / (m->out / m->groups);
}

static double largest_of(const struct rows *r, const struct estimate *s)
{
    uint32_t ins = ins_of(r->m);
    double most = 0;

    for (uint32_t o = r->first; o < r->end; o++) {
        const float *w = r->m->largest + (size_t)o * ins;
        const double *f = s->in_factor + (size_t)group_of(r->m, o) * ins;
        double row = 0;
        for (uint32_t i = 0; i < ins; i++) {
            double x = (double)w[i] * f[i];
            row = x > row ? x : row;
        }
        row /= s->out_factor[o];
        most = row > most ? row : most;
    }
    return most;
}

/* The powers of the weights of an output go to part[]. Returns their sum. */
static double powers_of(const struct rows *r, const struct estimate *s, uint32_t o)
{
    uint32_t ins = ins_of(r->m);
    const float *w = r->m->largest + (size_t)o * ins;
    const double *f = s->in_factor + (size_t)group_of(r->m, o) * ins;
    double scale = 1 / (r->most * s->out_factor[o]), sum = 0;

    for (uint32_t i = 0; i < ins; i++)
        s->part[i] = (double)w[i] * f[i] * scale;
    for (unsigned k = 0; k < s->squarings; k++) {
        for (uint32_t i = 0; i < ins; i++)
            s->part[i] *= s->part[i];
    }
    for (uint32_t i = 0; i < ins; i++)
        sum += s->part[i];
    return sum;
}

/* What each factor has in the norm, of `noise` for each unit of the sum. */
static void note_rows(const struct rows *r, struct estimate *s, double noise)
{
    uint32_t ins = ins_of(r->m);
    bool is_known = r->end == r->first + 1; /* from the sum */

    for (uint32_t o = r->first; o < r->end; o++) {
        double row = is_known ? 0 : powers_of(r, s, o), *in = s->in_part + (size_t)group_of(r->m, o) * ins;
        for (uint32_t i = 0; i < ins; i++)
            in[i] += s->part[i] * noise;
        if (!r->m->per_output)
            note(s, r->m->written[o], -row * noise);
    }
}

/* Noise of outputs with one scale; what it is per power of an input goes to group_ranges. */
static void add_rows(struct rows *r, struct estimate *s, double unit)
{
    const struct nuc_noise_matrix *m = r->m;
    double norm = 1, powers = 0;

    r->most = largest_of(r, s);
    if (!(r->most > 0))
        return;
    if (s->squarings > 0) {
        norm = 0;
        for (uint32_t o = r->first; o < r->end; o++)
            norm += powers_of(r, s, o);
    }
    double range = r->most * root_of(norm, s->squarings), squared = unit * range * range;
    for (uint32_t o = r->first; o < r->end; o++) {
        double f2 = s->out_factor[o] * s->out_factor[o];
        powers += f2 * s->group_power[group_of(m, o)];
        s->group_ranges[group_of(m, o)] += squared * f2;
        if (!m->per_output)
            note(s, m->written[o], squared * f2 * s->group_power[group_of(m, o)]);
    }
    s->total += squared * powers;
    if (s->up != NULL)
        note_rows(r, s, squared * powers / norm);
}

static void add_matrix(const struct nuc_noise_matrix *m, struct estimate *s)
{
    uint32_t ins = ins_of(m), step = m->per_output ? 1 : m->out;

    for (uint32_t o = 0; o < m->out; o++)
        s->out_factor[o] = m->per_output ? 1 : factor_of(s, m->written[o]);
    for (uint32_t g = 0; g < m->groups; g++)
        s->group_power[g] = s->group_ranges[g] = 0;
    for (uint32_t i = 0; i < m->in; i++) {
        s->in_factor[i] = factor_of(s, m->read[i]);
        s->in_part[i] = 0;
        s->group_power[i / ins] += m->power[i] / (s->in_factor[i] * s->in_factor[i]);
    }
    double unit = 1 / (12 * NUC_STEPS_OF_WEIGHTS * NUC_STEPS_OF_WEIGHTS * m->out);
    for (uint32_t o = 0; o < m->out; o += step)
        add_rows(&(struct rows){.m = m, .first = o, .end = o + step}, s, unit);
    for (uint32_t i = 0; i < m->in && s->up != NULL; i++) {
        note(s, m->read[i], s->in_part[i]);
        note(s, m->read[i], -s->group_ranges[i / ins] * m->power[i] / (s->in_factor[i] * s->in_factor[i]));
    }
}

/* ---- the least noise ---- */

static int by_label(const void *a, const void *b)
{
    nuc_label x = ((const struct nuc_noise_share *)a)->label, y = ((const struct nuc_noise_share *)b)->label;

    return x < y ? -1 : x > y;
}

static void merge_shares(struct nuc_noise_tensor *t)
{
    uint32_t count = 0;

    if (t->count > 0)
        qsort(t->shares, t->count, sizeof *t->shares, by_label);
    for (uint32_t i = 0; i < t->count; i++) {
        struct nuc_noise_share *s = &t->shares[i], *last = count > 0 ? &t->shares[count - 1] : NULL;
        if (last == NULL || last->label != s->label) {
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

static struct estimate make_room(const struct nuc_noise_model *m, const double *factor)
{
    struct nuc_context *cx = m->cx;
    uint32_t parts = 0, in = 0, out = 0, groups = 0;

    for (uint32_t i = 0; i < m->n_tensors; i++)
        parts = m->tensors[i].count > parts ? m->tensors[i].count : parts;
    for (uint32_t i = 0; i < m->n_matrices; i++) {
        const struct nuc_noise_matrix *x = &m->matrices[i];
        in = x->in > in ? x->in : in;
        parts = in > parts ? in : parts;
        out = x->out > out ? x->out : out;
        groups = x->groups > groups ? x->groups : groups;
    }
    return (struct estimate){
        .factor = factor,
        .one = 2 * m->n_variables,
        .part = nuc_alloc_array(cx, parts, sizeof(double)),
        .part_below = nuc_alloc_array(cx, parts, sizeof(double)),
        .in_factor = nuc_alloc_array(cx, in, sizeof(double)),
        .in_part = nuc_alloc_array(cx, in, sizeof(double)),
        .out_factor = nuc_alloc_array(cx, out, sizeof(double)),
        .group_power = nuc_alloc_array(cx, groups, sizeof(double)),
        .group_ranges = nuc_alloc_array(cx, groups, sizeof(double)),
    };
}

static double estimate(const struct nuc_noise_model *m, struct estimate *s, double *factor, const double *exponents)
{
    s->total = 0;
    for (uint32_t i = 0; i < m->n_variables; i++) {
        factor[2 * i] = exp(exponents[i]);
        factor[2 * i + 1] = 1 / factor[2 * i];
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

/* Norms of higher and higher powers come close to the maximum. */
#define FIRST_SQUARINGS 2
#define NEAR_SQUARINGS 4
#define LAST_SQUARINGS 5
#define STEPS 12
#define STEPS_PER_LOOK 6

/* Balances what grows and what falls with each factor, as far at once as the norm lets it without overshooting. */
static void step(const struct nuc_noise_model *m, const struct estimate *s, double *x)
{
    double rate = 1.0 / (2 + (double)(1u << s->squarings));

    for (uint32_t i = 0; i < m->n_variables; i++) {
        if (s->up[i] > 0 && s->down[i] > 0)
            x[i] = fmin(fmax(x[i] - rate * log(s->up[i] / s->down[i]), m->lowest[i]), m->highest[i]);
    }
}

double nuc_noise_least(struct nuc_noise_model *m, double *exponents, bool is_near)
{
    for (uint32_t i = 0; i < m->n_tensors; i++)
        merge_shares(&m->tensors[i]);
    struct nuc_arena *outer = nuc_push_arena(m->cx);
    uint32_t n = m->n_variables;
    double *factor = nuc_alloc_array(m->cx, 2 * (size_t)n + 1, sizeof *factor);
    double *x = nuc_alloc_array(m->cx, n, sizeof *x);
    struct estimate s = make_room(m, factor), look = s;
    s.up = nuc_alloc_array(m->cx, n, sizeof *s.up);
    s.down = nuc_alloc_array(m->cx, n, sizeof *s.down);
    double first = estimate(m, &look, factor, x), least = first;
    for (uint32_t i = 0; i < n; i++) {
        x[i] = fmin(fmax(exponents[i], m->lowest[i]), m->highest[i]);
        exponents[i] = 0;
    }
    for (s.squarings = is_near ? NEAR_SQUARINGS : FIRST_SQUARINGS; s.squarings <= LAST_SQUARINGS; s.squarings++) {
        for (unsigned k = 1; k <= STEPS; k++) {
            estimate(m, &s, factor, x);
            step(m, &s, x);
            if (k % STEPS_PER_LOOK != 0)
                continue;
            double now = estimate(m, &look, factor, x);
            for (uint32_t i = 0; i < n && now < least; i++)
                exponents[i] = x[i];
            least = fmin(least, now);
        }
    }
    nuc_pop_arena(m->cx, outer);
    return least < first ? 10 * log10(first / least) : 0;
}
