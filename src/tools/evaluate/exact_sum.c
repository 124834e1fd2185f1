#include "tools/evaluate/exact_sum.h"

#include <math.h>

/* a + b is `sum` and what its rounding left, `rest`, exactly. */
struct two {
    double sum, rest;
};

static struct two add(double a, double b)
{
    double large = fabs(a) < fabs(b) ? b : a, small = fabs(a) < fabs(b) ? a : b;
    double sum = large + small;

    return (struct two){sum, small - (sum - large)};
}

void nuc_exact_add(struct nuc_context *cx, struct nuc_exact_sum *s, double term)
{
    size_t kept = 0;

    if (s->count > 0 && isinf(s->parts[s->count - 1]))
        return;
    s->parts = nuc_grow(cx, s->parts, &s->capacity, s->count + 1, sizeof *s->parts);
    for (size_t i = 0; i < s->count && !isinf(term); i++) {
        struct two t = add(term, s->parts[i]);
        if (t.rest != 0)
            s->parts[kept++] = t.rest;
        term = t.sum;
    }
    if (isinf(term)) {
        s->parts = nuc_grow(cx, s->parts, &s->capacity, 1, sizeof *s->parts);
        s->parts[0] = term;
        s->count = 1;
        return;
    }
    s->parts[kept] = term;
    s->count = kept + 1;
}

void nuc_exact_merge(struct nuc_context *cx, struct nuc_exact_sum *to, const struct nuc_exact_sum *from)
{
    for (size_t i = 0; i < from->count; i++)
        nuc_exact_add(cx, to, from->parts[i]);
}

/*
 * From the largest part down until something is left over: that decides the rounding, but where it is exactly half of
 * the last bit. Then the parts below say to which side of the half the sum lies.
 */
double nuc_exact_value(const struct nuc_exact_sum *s)
{
    size_t i = s->count;
    struct two t = {0, 0};

    while (i > 0 && t.rest == 0)
        t = add(t.sum, s->parts[--i]);
    if (i == 0 || t.rest == 0 || isinf(t.sum))
        return t.sum;
    struct two twice = add(t.sum, 2 * t.rest);
    bool is_half = twice.rest == 0, is_beyond = (t.rest < 0) == (s->parts[i - 1] < 0);
    return is_half && is_beyond ? twice.sum : t.sum;
}
