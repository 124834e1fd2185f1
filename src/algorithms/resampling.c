#include "algorithms/resampling.h"

#include <math.h>

static double ratio_of(const struct nuc_resampling *r)
{
    return (r->to - r->from) / r->count;
}

/* From the centre to where weights end. */
static double support_of(const struct nuc_resampling *r)
{
    double ratio = ratio_of(r) > 1 ? ratio_of(r) : 1;

    return r->filter == NUC_FILTER_BILINEAR ? ratio : ratio / 2;
}

uint32_t nuc_resampling_taps(const struct nuc_resampling *r)
{
    return r->filter == NUC_FILTER_NEAREST ? 1 : (uint32_t)ceil(2 * support_of(r)) + 1;
}

static uint32_t within(double at, uint32_t size)
{
    return at < 0 ? 0 : at > size ? size : (uint32_t)at;
}

uint32_t nuc_resample(const struct nuc_resampling *r, uint32_t i, uint32_t *first, double *weights)
{
    double centre = r->from + (i + 0.5) * ratio_of(r), support = support_of(r), sum = 0;

    if (r->filter == NUC_FILTER_NEAREST) {
        *first = within(floor(centre), r->size - 1);
        weights[0] = 1;
        return 1;
    }
    *first = within(floor(centre - support + 0.5), r->size - 1);
    const uint32_t end = within(floor(centre + support + 0.5), r->size);
    const uint32_t count = end > *first ? end - *first : 1;
    for (uint32_t k = 0; k < count; k++) {
        weights[k] = r->filter == NUC_FILTER_AREA ? 1 : fmax(0, 1 - fabs(*first + k + 0.5 - centre) / support);
        sum += weights[k];
    }
    for (uint32_t k = 0; k < count; k++)
        weights[k] /= sum;
    return count;
}
