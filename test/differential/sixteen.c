#include "sixteen.h"

#include <math.h>
#include <stdlib.h>

#include "device/base/fixed_point.h"
#include "device/base/logistic.h"
#include "device/base/sampled.h"
#include "ir/args.h"
#include "ir/op_list.h"

static int32_t cut(int64_t v)
{
    return (int32_t)(v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v);
}

/* ---- lines ---- */

/* The entry at or before `q`, and how far behind it `q` is. */
static int32_t octave_of(int32_t q, int32_t *rest, int32_t *shift)
{
    const int32_t size = q < 0 ? -1 - q : q;

    for (*shift = 0; size >> *shift >= 64;)
        ++*shift;
    *rest = size % (1 << *shift);
    return (q < 0 ? NUC_OCTAVES : 0) + 32 * *shift + (size >> *shift);
}

int32_t sixteen_end(enum sixteen_ends end, int32_t q)
{
    int32_t rest, shift;

    if (end == EVEN_LOWER || end == EVEN_UPPER)
        return nuc_even_number((q - INT16_MIN) / 128 + (end == EVEN_UPPER));
    return nuc_octave_number(octave_of(q, &rest, &shift) + (end == OCTAVE_UPPER));
}

static bool is_line(const struct teacher_value *v, const int32_t *source, const int32_t *lower, const int32_t *upper,
                    bool even, const int32_t *got)
{
    size_t k = 0;

    for (bool near = true; k < v->elements && near; k += near) {
        const int32_t ends[2] = {lower[k], upper[k]};
        int32_t rest = (source[k] - INT16_MIN) % 128, shift = 7;
        if (!even)
            octave_of(source[k], &rest, &shift);
        near = abs(cut(nuc_between(ends, rest, shift)) - got[k]) <= 1;
    }
    return k == v->elements;
}

/* ---- the logistic function ---- */

/* LiteRT's factor from numbers of that scale to its units: a number of 15 bits. */
static void logistic(const struct nuc_node *node, const struct teacher_value *of, const int32_t *source, int32_t *out)
{
    struct nuc_q15_units units = {0, 0};
    double factor = of->scale * 12288;

    for (; factor <= 32767.0 / 2 && units.shift <= 30; factor *= 2)
        units.shift++;
    units.factor = (int32_t)factor;
    for (size_t k = 0; k < of->elements; k++) {
        const int32_t x = nuc_to_q15_units(units, source[k]);
        out[k] = node->op == NUC_OP_TANH ? nuc_tanh_q15(x) : nuc_logistic_q15(x);
    }
}

/* ---- softmax ---- */

static float reciprocal(float x)
{
    return 1 / (1 + x);
}

static float exponential(float x)
{
    return (float)exp((double)x);
}

/* fn in Q0.15 of a number of 16 bits, the least of which is `low` and the largest `high`, by 512 lines. */
static int32_t by_lines(float (*fn)(float), float low, float high, int32_t q)
{
    const int32_t at = (q - INT16_MIN) / 128, rest = (q - INT16_MIN) % 128;
    const float step = (high - low) / 512;
    int32_t ends[2];

    for (int i = 0; i < 2; i++) {
        float x = low + (float)(at + i) * step, sample = roundf(fn(x) * 32768);
        float between = roundf((fn(low + (float)(at + i + 1) * step) * 32768 + sample) / 2);
        float error = at + i < 512 ? between - roundf(fn(x + step / 2) * 32768) : 0;
        ends[i] = cut((int64_t)(at + i < 512 ? sample - roundf(error / 2) : roundf(fn(high) * 32768)));
    }
    return nuc_between(ends, rest, 7);
}

/* Of `count` numbers `stride` apart. */
static void softmax_row(const int32_t *q, double scale, size_t count, size_t stride, int32_t *out)
{
    const struct nuc_multiplier m = nuc_multiplier_from_scale(scale / (10.0 / UINT16_MAX));
    int32_t largest = q[0], headroom = 0;
    int64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        largest = q[i * stride] > largest ? q[i * stride] : largest;
    for (size_t i = 0; i < count; i++) {
        const int32_t below = cut((int64_t)nuc_requantize(q[i * stride] - largest, m) + INT16_MAX);
        sum += out[i * stride] = by_lines(exponential, -10.0f / UINT16_MAX * UINT16_MAX, 0, below);
    }
    while (sum << (headroom + 1) < 1LL << 31)
        headroom++;
    const int32_t over = cut((((sum << headroom) + (1 << 13)) >> 14) - (1 << 15) - (1 << 16));
    const int64_t times = by_lines(reciprocal, 0, 1, over);
    for (size_t i = 0; i < count; i++) {
        const int64_t p = (out[i * stride] * times + (1LL << (29 - headroom))) >> (30 - headroom);
        out[i * stride] = (int32_t)(p < 0 ? 0 : p > INT16_MAX ? INT16_MAX : p);
    }
}

static void softmax(const struct nuc_node *node, const struct teacher_value *of, const int32_t *source, int32_t *out)
{
    const struct nuc_meta *m = &node->vals[0];
    const int64_t dim = nuc_integer(node, NUC_ARG(SOFTMAX, dim), -1);
    const uint32_t axis = (uint32_t)(dim < 0 ? dim + m->rank : dim);
    size_t inner = 1, count = (size_t)m->sizes[axis], elements = (size_t)nuc_elements(m);

    for (uint32_t d = axis + 1; d < m->rank; d++)
        inner *= (size_t)m->sizes[d];
    for (size_t r = 0; r < elements / count; r++) {
        const size_t first = r / inner * inner * count + r % inner;
        softmax_row(source + first, of->scale, count, inner, out + first);
    }
}

/* ---- images ---- */

struct place {
    int64_t at[2], weight[2]; /* in units of 1 / 1024 */
};

static struct place place_of(int64_t in, int64_t out, bool corners, int64_t at)
{
    int64_t p = corners ? (out > 1 ? (2048 * at * (in - 1) + out - 1) / (2 * (out - 1)) : 0)
                        : ((2 * at + 1) * in * 1024 + out) / (2 * out) - 512;

    p = p < 0 ? 0 : p > 1024 * (in - 1) ? 1024 * (in - 1) : p;
    return (struct place){{p / 1024, (p + 1023) / 1024}, {1024 - p % 1024, p % 1024}};
}

static void resize(const struct nuc_node *node, const int32_t *source, int32_t *out)
{
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF), *m = &node->vals[0];
    const bool corners = nuc_flag(node, NUC_ARG(UPSAMPLE_BILINEAR, align_corners));
    const int64_t rows = m->sizes[2], columns = m->sizes[3], size = in->sizes[2] * in->sizes[3];

    for (int64_t k = 0; k < nuc_elements(m); k++) {
        const struct place y = place_of(in->sizes[2], rows, corners, k / columns % rows);
        const struct place x = place_of(in->sizes[3], columns, corners, k % columns);
        const int32_t *plane = source + k / columns / rows * size;
        int64_t sum = 0;
        for (int i = 0; i < 4; i++)
            sum += plane[y.at[i / 2] * in->sizes[3] + x.at[i % 2]] * y.weight[i / 2] * x.weight[i % 2];
        out[k] = (int32_t)((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));
    }
}

static const struct nuc_node *without_copies(const struct nuc_node *node)
{
    while (node != NULL && (nuc_op_family(node->op) == NUC_FAMILY_CAST || nuc_op_family(node->op) == NUC_FAMILY_COPY))
        node = nuc_arg_node(node, NUC_SELF);
    return node;
}

/* What computes the value, where it has a definition of its own; what turns the axes of that follows. */
static const struct nuc_node *operator_of(const struct teacher_value *v, const struct nuc_node **permute)
{
    const struct nuc_node *node = without_copies(nuc_arg_node(v->quantize, NUC_SELF));

    *permute = node != NULL && node->op == NUC_OP_PERMUTE ? node : NULL;
    if (*permute != NULL)
        node = without_copies(nuc_arg_node(node, NUC_SELF));
    if (node == NULL ||
        !nuc_op_is_in(node->op, NUC_OPS(NUC_OP_SIGMOID, NUC_OP_TANH, NUC_OP_SOFTMAX, NUC_OP_UPSAMPLE_BILINEAR)))
        return NULL;
    const struct nuc_node *in = without_copies(nuc_arg_node(node, NUC_SELF));
    return in != NULL && nuc_is_dequantize(in) ? node : NULL;
}

static void turn(const struct nuc_node *permute, const int32_t *from, int32_t *to)
{
    const struct nuc_meta *in = nuc_input_meta(permute, NUC_SELF), *m = &permute->vals[0];
    const int64_t *dims = permute->args[NUC_ARG(PERMUTE, dims)].u.ints, elements = nuc_elements(m);

    for (int64_t k = 0; k < elements; k++) {
        int64_t rest = k, at = 0;
        for (uint32_t d = m->rank; d-- > 0; rest /= m->sizes[d]) {
            int64_t stride = 1;
            for (int64_t i = (dims[d] + in->rank) % in->rank + 1; i < in->rank; i++)
                stride *= in->sizes[i];
            at += rest % m->sizes[d] * stride;
        }
        to[k] = from[at];
    }
}

/* The numbers, of another scale where the parameters of a value do not allow the kernel's. */
static bool is_of_scale(const struct teacher_value *v, double scale, const int32_t *numbers, const int32_t *got)
{
    const bool other = fabs(scale / v->scale - 1) > 1e-6;
    size_t k = 0;

    while (k < v->elements &&
           (other ? fabs(fmax(fmin(numbers[k] * scale / v->scale, INT16_MAX), INT16_MIN) - got[k]) <= 1
                  : numbers[k] == got[k]))
        k++;
    return k == v->elements;
}

bool sixteen_defines(const struct teacher_value *v, const struct teacher_value *of, const int32_t *source,
                     const int32_t *const at[SIXTEEN_ENDS], const int32_t *got)
{
    const struct nuc_node *permute, *node = operator_of(v, &permute);
    bool same = v->elements == of->elements && (is_line(v, source, at[EVEN_LOWER], at[EVEN_UPPER], true, got) ||
                                                is_line(v, source, at[OCTAVE_LOWER], at[OCTAVE_UPPER], false, got));

    if (same || node == NULL)
        return same;
    int32_t *defined = malloc(v->elements * sizeof *defined), *turned = malloc(v->elements * sizeof *turned);
    if (node->op == NUC_OP_SOFTMAX)
        softmax(node, of, source, defined);
    else if (node->op == NUC_OP_UPSAMPLE_BILINEAR)
        resize(node, source, defined);
    else
        logistic(node, of, source, defined);
    if (permute != NULL)
        turn(permute, defined, turned);
    same = is_of_scale(v, node->op == NUC_OP_UPSAMPLE_BILINEAR ? of->scale : 0x1p-15,
                       permute != NULL ? turned : defined, got);
    free(defined);
    free(turned);
    return same;
}
