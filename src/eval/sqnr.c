#include "eval/sqnr.h"

#include <math.h>

void nuc_sqnr_add(struct nuc_sqnr *s, const float *reference, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double r = (double)reference[i];
        double d = r - (double)x[i];
        s->signal += r * r;
        s->noise += d * d;
    }
}

double nuc_sqnr_db(const struct nuc_sqnr *s)
{
    if (s->noise == 0.0)
        return (double)INFINITY;
    return 10.0 * log10(s->signal / s->noise);
}
