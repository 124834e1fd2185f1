/* The arithmetic is that of torchao/quantization/pt2e/observer.py, in float32 as there. */
#include <math.h>

#include "quantize/ranges/observer.h"

const char *nuc_observer_kind_name(enum nuc_observer_kind kind)
{
    static const char *const names[NUC_OBSERVER_KIND_COUNT] = {
        [NUC_OBSERVER_HISTOGRAM] = "HistogramObserver",
        [NUC_OBSERVER_MIN_MAX] = "MinMaxObserver",
        [NUC_OBSERVER_PER_CHANNEL_MIN_MAX] = "PerChannelMinMaxObserver",
        [NUC_OBSERVER_FIXED] = "FixedQParamsObserver",
        [NUC_OBSERVER_DERIVED] = "DerivedObserverOrFakeQuantize",
        [NUC_OBSERVER_MSE] = "MSEObserver",
        [NUC_OBSERVER_PERCENTILE] = "PercentileObserver",
        [NUC_OBSERVER_MOVING_AVERAGE] = "MovingAverageMinMaxObserver",
        [NUC_OBSERVER_AUTO] = "AutoObserver",
    };

    return kind < NUC_OBSERVER_KIND_COUNT ? names[kind] : "unknown";
}

static void set_channels(struct nuc_context *cx, struct nuc_observer *o, uint32_t n)
{
    o->n = n;
    o->min = nuc_alloc_array(cx, n, sizeof *o->min);
    o->max = nuc_alloc_array(cx, n, sizeof *o->max);
}

struct nuc_observer *nuc_observer_new(struct nuc_context *cx, const struct nuc_qspec *spec)
{
    struct nuc_observer *o = nuc_alloc(cx, sizeof *o);

    o->spec = spec;
    o->arena = cx->arena;
    o->reach = spec->observer == NUC_OBSERVER_AUTO ? 0 : NUC_AS_SEEN;
    o->chosen = spec->observer == NUC_OBSERVER_AUTO ? NUC_OBSERVER_MIN_MAX : spec->observer;
    if (spec->kind == NUC_QSPEC_OBSERVED && spec->observer != NUC_OBSERVER_PER_CHANNEL_MIN_MAX)
        set_channels(cx, o, 1);
    if (spec->observer == NUC_OBSERVER_HISTOGRAM || spec->observer == NUC_OBSERVER_MSE ||
        spec->observer == NUC_OBSERVER_PERCENTILE || spec->observer == NUC_OBSERVER_AUTO)
        o->histogram = nuc_alloc(cx, sizeof *o->histogram);
    return o;
}

void nuc_observer_divide(struct nuc_context *cx, struct nuc_observer *o)
{
    if (o->spec->observer != NUC_OBSERVER_AUTO)
        return;
    o->parts = nuc_alloc_array(cx, 2, sizeof *o->parts);
    o->histogram = NULL;
}

struct nuc_slices nuc_slices_along(const struct nuc_meta *m, int axis)
{
    struct nuc_slices s = {(size_t)nuc_elements(m), 1, (size_t)nuc_elements(m)};

    if (axis < 0 || axis >= m->rank)
        return s;
    s.channels = (size_t)m->sizes[axis];
    s.inner = 1;
    for (uint32_t d = (uint32_t)axis + 1; d < m->rank; d++)
        s.inner *= (size_t)m->sizes[d];
    return s;
}

/* ---- seeing ---- */

/* The step from the range so far towards the range of this sample; torchao's averaging_constant. */
#define AVERAGING 0.01f

static bool see_average(struct nuc_observer *o, const float *x, size_t count)
{
    float min, max;

    if (!nuc_min_max(x, count, &min, &max) || isinf(min) || isinf(max))
        return false;
    o->min[0] = o->seen ? o->min[0] + AVERAGING * (min - o->min[0]) : min;
    o->max[0] = o->seen ? o->max[0] + AVERAGING * (max - o->max[0]) : max;
    return true;
}

/* The range of each channel; one for all when the tensor does not have the axis. */
static bool see_channels(struct nuc_context *cx, struct nuc_observer *o, const struct nuc_meta *meta, const float *x)
{
    struct nuc_slices s = nuc_slices_along(meta, o->spec->ch_axis);

    if (o->n != s.channels)
        set_channels(cx, o, (uint32_t)s.channels);
    for (size_t i = 0; i < s.count / s.inner; i++) {
        /* The range of a channel, wider than what was seen before. */
        uint32_t channel = (uint32_t)(i % s.channels);
        bool first = !o->seen && i < s.channels;
        float min, max;
        if (!nuc_min_max(x + i * s.inner, s.inner, &min, &max) || isinf(min) || isinf(max))
            return false;
        o->min[channel] = first || min < o->min[channel] ? min : o->min[channel];
        o->max[channel] = first || max > o->max[channel] ? max : o->max[channel];
    }
    return true;
}

static bool are_whole(const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (x[i] != rintf(x[i]))
            return false;
    }
    return true;
}

size_t nuc_observer_room(const struct nuc_observer *o)
{
    bool keeps = o->spec->kind == NUC_QSPEC_OBSERVED && nuc_observer_counts(o) && !o->whole;

    return keeps ? (o->parts != NULL ? 2u : 1u) * NUC_HISTOGRAM_BINS * sizeof(float) : 0;
}

void nuc_observer_reserve(struct nuc_context *cx, struct nuc_observer *o, uint32_t count)
{
    if (o->spec->kind != NUC_QSPEC_OBSERVED)
        return;
    nuc_extremes_reserve(cx, &o->extremes, count);
    for (unsigned part = 0; part < 2 && o->parts != NULL; part++) {
        nuc_extremes_reserve(cx, &o->parts[part].extremes, count);
        if (!o->whole)
            nuc_histogram_reserve(cx, o->arena, &o->parts[part].histogram);
    }
    if (o->histogram != NULL && !o->whole)
        nuc_histogram_reserve(cx, o->arena, o->histogram);
}

bool nuc_observer_see(struct nuc_context *cx, struct nuc_observer *o, const struct nuc_meta *meta,
                      struct nuc_seen_values *values)
{
    const float *x = values->x;
    size_t count = values->count;

    if (count == 0 || o->spec->kind != NUC_QSPEC_OBSERVED)
        return true;
    o->fractions = o->fractions || !are_whole(x, count);
    if (nuc_observer_counts(o)) {
        struct nuc_kept_histogram *kept = o->parts != NULL ? &o->parts[o->part].histogram : o->histogram;
        struct nuc_histogram h;
        float min, max;
        if (o->whole) {
            if (!nuc_seen_range(values))
                return false;
            if (nuc_finite_range(values, &min, &max)) {
                kept->min = kept->seen && kept->min < min ? kept->min : min;
                kept->max = kept->seen && kept->max > max ? kept->max : max;
                kept->seen = true;
            }
        } else {
            nuc_histogram_take(kept, &h);
            if (!nuc_histogram_add(&h, values))
                return false;
            nuc_histogram_keep(cx, o->arena, kept, &h);
        }
        if (!kept->seen)
            return true;
        o->min[0] = o->seen && o->min[0] < kept->min ? o->min[0] : kept->min;
        o->max[0] = o->seen && o->max[0] > kept->max ? o->max[0] : kept->max;
        o->seen = true;
        return true;
    }
    bool average = o->spec->observer == NUC_OBSERVER_MOVING_AVERAGE;
    bool ok = average ? see_average(o, x, count) : see_channels(cx, o, meta, x);
    o->seen = o->seen || ok;
    return ok;
}

/* ---- parameters ---- */

/* What steps of another rounding are larger by, each: ranges reach as much farther, which costs 0.07 dB. */
#define ROUNDING_STEP 0x1p-7f

/* The range always includes 0. One wider than a float32 can say has an infinite scale, which its user refuses. */
static void parameters_of_range(const struct nuc_observer *o, float min, float max, float *scale, int64_t *zero_point)
{
    const struct nuc_qspec *spec = o->spec;
    float low = min < 0 ? min : 0, high = max > 0 ? max : 0, steps = (float)(spec->quant_max - spec->quant_min);
    bool affine = spec->scheme == NUC_PER_TENSOR_AFFINE;
    float s = affine ? (high - low) / steps : (-low > high ? -low : high) / (steps / 2);
    if (spec->whole && (low >= 0 || high <= 0))
        s = low < 0 ? low / (float)spec->quant_min : high / (float)spec->quant_max;
    s *= affine ? 1 + ROUNDING_STEP * (float)o->rounding : 1;

    /* Counts, signs and places stay what they are, also where they are compared; 0 is in the middle of signs. */
    if (o->spec->observer == NUC_OBSERVER_AUTO && affine && !o->fractions && high - low > 1 && s <= 1) {
        int exponent;
        bool is_power = frexpf(s, &exponent) <= 0.5F; /* whatever a logarithm rounds to */
        s = ldexpf(1, is_power ? exponent - 1 : exponent);
        low -= low < 0 ? s * rintf((steps - (high - low) / s) / 2) : 0;
    }

    float least = s > 0 ? spec->least : fmaxf(spec->eps, spec->least);
    *scale = s > least ? s : least;
    *zero_point = 0;
    if (!affine || isinf(s))
        return;
    float zero = (float)spec->quant_min - rintf(low / *scale);
    *zero_point = zero > (float)spec->quant_max ? spec->quant_max : (int64_t)zero;
}

/* Of the values on each side of the range of a percentile observer. */
#define OUTSIDE 1e-4

/*
 * Cut off at least: no single value is rarer. Where ranges are compared, what few values make of this one says nothing
 * of those to come; and what a part of the samples shows is to be what all of them show.
 */
#define ONE_VALUE 1.0
#define FEW_VALUES 8.0

/* Everything seen, for which no bin has to be looked at. */
static struct nuc_candidate_range whole_range(const struct nuc_observer *o, unsigned part)
{
    const struct nuc_kept_histogram *h = o->parts == NULL ? o->histogram : &o->parts[part].histogram;

    if (o->parts != NULL && part == NUC_BOTH_PARTS)
        return (struct nuc_candidate_range){o->min[0], o->max[0]};
    return (struct nuc_candidate_range){h->min, h->max};
}

struct nuc_candidate_range nuc_observer_range(const struct nuc_observer *o, unsigned part, enum nuc_observer_kind kind)
{
    double steps = (double)(o->spec->quant_max - o->spec->quant_min);
    double few = part == NUC_BOTH_PARTS ? FEW_VALUES : FEW_VALUES / 2, least = o->parts != NULL ? few : ONE_VALUE;
    struct nuc_candidate_range r = whole_range(o, part);
    struct nuc_histogram h;

    if (kind == NUC_OBSERVER_MIN_MAX)
        return r;
    struct nuc_histogram parts[2];
    if (o->parts == NULL) {
        nuc_histogram_take(o->histogram, &h);
    } else if (part != NUC_BOTH_PARTS) {
        nuc_histogram_take(&o->parts[part].histogram, &h);
    } else {
        for (unsigned p = 0; p < 2; p++)
            nuc_histogram_take(&o->parts[p].histogram, &parts[p]);
        nuc_histogram_join(&h, &parts[0], &parts[1]);
    }
    if (kind == NUC_OBSERVER_MSE)
        nuc_histogram_least_squares(&h, (unsigned)steps + 1, &r.min, &r.max);
    else if (kind == NUC_OBSERVER_PERCENTILE)
        nuc_histogram_percentile(&h, OUTSIDE, least, &r.min, &r.max);
    else if (kind == NUC_OBSERVER_HISTOGRAM)
        nuc_histogram_search(&h, &r.min, &r.max);
    return r;
}

/* How much farther than what is expected ranges of int16 reach, always: one of 15 bits, beside weights of 7. */
#define HEADROOM 2

void nuc_observer_candidate(const struct nuc_observer *o, unsigned part, struct nuc_candidate_range r, double reach,
                            float *scale, int64_t *zero_point)
{
    const struct nuc_extremes *all = o->shown != NULL ? o->shown : &o->extremes,
                              *extremes = part == NUC_BOTH_PARTS ? all : &o->parts[part].extremes;

    bool is_wide = o->spec->dtype == NUC_I16;
    const double steps = (double)(o->spec->quant_max - o->spec->quant_min);
    if (reach >= 0 || is_wide)
        nuc_extremes_widen(extremes, fmax(reach, 0), steps, &r.min, &r.max);
    if (o->follows_tails)
        nuc_extremes_follow_tails(extremes, steps, &r.min, &r.max);
    if (is_wide && extremes->n_samples > 0) {
        r.min = fmaxf(HEADROOM * r.min, fminf(r.min, extremes->bounds.min));
        r.max = fminf(HEADROOM * r.max, fmaxf(r.max, extremes->bounds.max));
    }
    parameters_of_range(o, r.min, r.max, scale, zero_point);
}

void nuc_observer_parameters(struct nuc_context *cx, struct nuc_observer *o)
{
    bool derived = o->spec->kind == NUC_QSPEC_DERIVED, fixed = o->spec->kind == NUC_QSPEC_FIXED;

    if (derived)
        o->n = o->from[1]->n * o->spec->repeats;
    else if (o->n == 0)
        o->n = 1;
    o->scale = nuc_alloc_array(cx, o->n, sizeof *o->scale);
    o->zero_point = nuc_alloc_array(cx, o->n, sizeof *o->zero_point);
    for (uint32_t i = 0; i < o->n; i++) {
        if (derived) {
            o->scale[i] = o->from[0]->scale[0] * o->from[1]->scale[i % o->from[1]->n];
        } else if (fixed) {
            o->scale[i] = o->spec->scale;
            o->zero_point[i] = o->spec->zero_point;
        } else if (nuc_is_plain_mask(o)) {
            o->scale[i] = NUC_MASK_STEP;
            o->zero_point[i] = o->spec->quant_max;
        } else {
            o->scale[i] = 1;
            if (!o->seen)
                continue;
            struct nuc_candidate_range r = {o->min[i], o->max[i]};
            if (nuc_observer_counts(o))
                r = nuc_observer_range(o, NUC_BOTH_PARTS, o->chosen);
            if (o->shown != NULL)
                nuc_extremes_cut(&o->extremes, o->shown, &r.min, &r.max);
            nuc_observer_candidate(o, NUC_BOTH_PARTS, r, nuc_observer_counts(o) ? o->reach : NUC_AS_SEEN, &o->scale[i],
                                   &o->zero_point[i]);
        }
    }
}
