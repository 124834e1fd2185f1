#include "algorithms/constant_channels.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define SMALL_BIAS (1 << 24)
#define MOST_SHIFT 22 /* fast kernels add an output offset shifted by it */

/* 2^-8: a bias of 256 for each step of the result, exact, rounded and shifted to the right as kernels do it. */
static const struct nuc_multiplier own_multiplier = {1 << 30, -7};
#define BIAS_OF_STEP 256

struct range {
    int64_t low, high;
};

/* Whether a sum can be requantized without an overflow, and what becomes of it. */
static bool result_of(const struct nuc_channels *s, int64_t sum, struct nuc_multiplier m, int32_t *out)
{
    int64_t room = (int64_t)INT32_MAX >> (m.shift > 0 ? m.shift : 0);

    if (sum > room || sum < -room)
        return false;
    *out = nuc_clamp_i32(nuc_saturate_i32((int64_t)nuc_requantize((int32_t)sum, m) + s->output_zero), s->low, s->high);
    return true;
}

/* Requantization never falls as the sum rises: the ends decide. */
static bool is_constant(const struct nuc_channels *s, const struct range *sums, struct nuc_multiplier m, int32_t *out)
{
    int32_t high;

    return result_of(s, sums->low, m, out) && result_of(s, sums->high, m, &high) && *out == high;
}

static int64_t first_weight(const struct nuc_channels *s, int64_t channel)
{
    return channel / s->of_group * s->group_stride + channel % s->of_group * s->channel_stride;
}

/*
 * Proves a channel constant: a tap adds between w (-128 - zero) and w (127 - zero), or nothing where it lies in the
 * padding. The range only grows, so that most channels end after few weights.
 */
static bool prove(const struct nuc_channels *s, const struct nuc_channel_constants *k, int64_t channel,
                  struct nuc_multiplier m, bool *is_zero, int32_t *out)
{
    const int64_t least = INT8_MIN - s->input_zero, most = INT8_MAX - s->input_zero;
    struct range sums = {k->bias[channel], k->bias[channel]};

    *is_zero = true;
    if (!is_constant(s, &sums, m, out))
        return false;
    for (int64_t r = 0; r < s->rows; r++) {
        const int8_t *row = k->weights + first_weight(s, channel) + r * s->row_stride;
        for (int64_t i = 0; i < s->row; i++) {
            int64_t w = row[i * s->stride];
            if (w == 0)
                continue;
            *is_zero = false;
            sums.low += w > 0 ? w * least : w * most;
            sums.high += w > 0 ? w * most : w * least;
            if (!is_constant(s, &sums, m, out))
                return false;
        }
    }
    return true;
}

/* Steps from the zero point that make the result; where it is clamped to, the fewest. */
static int64_t steps_to(const struct nuc_channels *s, int32_t result)
{
    int64_t steps = (int64_t)result - s->output_zero;

    if (result == s->low && steps > 0)
        return 0;
    return result == s->high && steps < 0 ? 0 : steps;
}

static bool makes(const struct nuc_channels *s, int64_t bias, struct nuc_multiplier m, int32_t result)
{
    int32_t made;

    return result_of(s, bias, m, &made) && made == result;
}

/* The bias that is nearest to so many steps under a multiplier, which may not exist. */
static bool bias_of(const struct nuc_channels *s, int32_t result, struct nuc_multiplier m, int64_t *out)
{
    double bias = 0;

    if (steps_to(s, result) != 0 && m.multiplier != 0)
        bias = nearbyint(ldexp((double)steps_to(s, result) / m.multiplier, 31 - m.shift));
    if (!(fabs(bias) <= INT32_MAX))
        return false;
    *out = (int64_t)bias;
    return makes(s, *out, m, result);
}

static bool is_bounded(int64_t bias, struct nuc_multiplier m)
{
    return llabs((long long)bias) <= SMALL_BIAS && m.shift < 0 && m.shift >= -MOST_SHIFT && m.multiplier != 0;
}

/* The bias, and perhaps another multiplier, of a channel that is `result` and had the bias `before`. */
static int64_t choose(const struct nuc_channels *s, int32_t result, int64_t before, struct nuc_multiplier *m)
{
    int64_t bias;
    bool exists = bias_of(s, result, *m, &bias);

    if (exists && is_bounded(bias, *m))
        return bias;
    if (s->one_multiplier)
        return exists && llabs((long long)bias) < llabs((long long)before) ? bias : before;
    *m = own_multiplier;
    assert(makes(s, steps_to(s, result) * BIAS_OF_STEP, *m, result));
    return steps_to(s, result) * BIAS_OF_STEP;
}

int64_t nuc_fold_constant_channels(struct nuc_context *cx, const struct nuc_channels *shape,
                                   struct nuc_channel_constants *constants)
{
    const struct nuc_channels *s = shape;
    int8_t *weights = NULL;
    int32_t *biases = NULL;
    int64_t changed = 0;

    for (int64_t c = 0; c < s->channels && constants->bias != NULL; c++) {
        struct nuc_multiplier *rescale = &constants->rescale[s->one_multiplier ? 0 : c], m = *rescale;
        int64_t before = constants->bias[c];
        bool is_zero;
        int32_t result;
        if (!prove(s, constants, c, m, &is_zero, &result) || (is_zero && is_bounded(before, m)))
            continue;
        int64_t bias = choose(s, result, before, &m);
        if (is_zero && bias == before && s->one_multiplier)
            continue;
        if (weights == NULL) {
            constants->weights = weights = nuc_copy(cx, constants->weights, constants->n_weights);
            constants->bias = biases = nuc_copy(cx, constants->bias, (size_t)s->channels * sizeof *biases);
        }
        for (int64_t r = 0; r < s->rows; r++) {
            for (int64_t i = 0; i < s->row; i++)
                weights[first_weight(s, c) + r * s->row_stride + i * s->stride] = 0;
        }
        biases[c] = (int32_t)bias;
        if (!s->one_multiplier)
            *rescale = m;
        changed++;
    }
    return changed;
}
