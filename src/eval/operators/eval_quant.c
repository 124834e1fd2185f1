/*
 * Quantization as torch's quantized_decomposed operators compute it on a CPU:
 *
 *     quantize:    clamp(round(input * (1 / scale)) + zero_point, quant_min, quant_max), ties to even
 *     dequantize:  (input - zero_point) * scale
 *
 * Per tensor, 1 / scale is taken in double and rounded to float32, and the rest is float32. Per channel, the dtype of
 * the scales is the dtype of the arithmetic, and the zero point is subtracted in integers.
 */
#include <math.h>
#include <string.h>

#include "eval/eval_call.h"
#include "host/clones.h"
#include "ir/quant.h"

/* Elements handled at a time: they stay in the first-level cache. */
#define CHUNK 512

/* Within these bounds a clamp does not change what is rounded by a sum. */
#define FAST_LIMIT (1 << 20)
#define FAST_BOUND NUC_ROUNDING_BOUND

/* Both directions have their tensors in the same places. */
#define INPUT NUC_ARG(QUANTIZE_PER_CHANNEL, input)
#define SCALES NUC_ARG(QUANTIZE_PER_CHANNEL, scales)
#define ZERO_POINTS NUC_ARG(QUANTIZE_PER_CHANNEL, zero_points)

struct quant {
    enum nuc_dtype dtype; /* of the quantized side */
    float scale;          /* per tensor: what to multiply with */
    int64_t zero_point, low, high;
    bool fast;
    bool wide;                   /* per channel: scales are float64 */
    struct nuc_eval_lines lines; /* along the channels */
};

/* ---- arrays of integers of any width ---- */

static void load_ints(enum nuc_dtype dtype, const void *data, size_t first, size_t count, int32_t *out)
{
    if (dtype == NUC_I8) {
        const int8_t *in = (const int8_t *)data + first;
        for (size_t i = 0; i < count; i++)
            out[i] = in[i];
        return;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = (int32_t)nuc_int_at(dtype, data, first + i);
}

static void store_ints(enum nuc_dtype dtype, void *data, size_t first, size_t count, const int32_t *in)
{
    if (dtype == NUC_I8) {
        int8_t *out = (int8_t *)data + first;
        for (size_t i = 0; i < count; i++)
            out[i] = (int8_t)in[i];
        return;
    }
    for (size_t i = 0; i < count; i++)
        nuc_store_int(dtype, data, first + i, in[i]);
}

/* Of 64 bits, which float32 alone would round twice. */
static void dequantize_long(const int64_t *in, size_t count, int64_t zero_point, double scale, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (float)((double)(int64_t)((uint64_t)in[i] - (uint64_t)zero_point) * scale);
}

/* ---- one value, or one chunk, float32 ---- */

static int32_t to_int(double rounded, int64_t low, int64_t high)
{
    if (!(rounded > (double)low))
        return (int32_t)low;
    return rounded >= (double)high ? (int32_t)high : (int32_t)rounded;
}

/* Branch-free and without a library call, so that it becomes vector code. NaN is the least value, here and above. */
static void quantize_fast(const float *in, size_t count, float scale, float zero_point, float low, float high,
                          int32_t *out)
{
    for (size_t i = 0; i < count; i++) {
        float product = in[i] * scale;
        float v = product > -FAST_BOUND ? product : -FAST_BOUND;
        v = v < FAST_BOUND ? v : FAST_BOUND;
        v = ((v + NUC_ROUNDING_BIAS) - NUC_ROUNDING_BIAS) + zero_point;
        v = v > low ? v : low;
        v = v < high ? v : high;
        out[i] = (int32_t)v;
    }
}

static bool is_small(int64_t v)
{
    return v >= -FAST_LIMIT && v <= FAST_LIMIT;
}

static void quantize_chunk(const struct quant *q, const float *in, size_t count, float scale, int64_t zero_point,
                           int32_t *out)
{
    if (q->fast && is_small(zero_point)) {
        quantize_fast(in, count, scale, (float)zero_point, (float)q->low, (float)q->high, out);
        return;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = to_int((double)(rintf(in[i] * scale) + (float)zero_point), q->low, q->high);
}

/* ---- what both forms and directions share ---- */

static struct quant *new_quant(struct nuc_eval_call *c, struct nuc_quant *stated)
{
    struct quant *q = nuc_alloc(c->cx, sizeof *q);

    if (!nuc_quant_of(c->node, stated))
        nuc_eval_fail(c, "its parameters are not numbers");
    if (nuc_is_quantize(c->node))
        nuc_eval_expect(c, INPUT, NUC_F32);
    else if (nuc_eval_result(c)->dtype != NUC_F32)
        nuc_eval_fail(c, "values are dequantized to float32 only");
    q->dtype = nuc_is_quantize(c->node) ? nuc_eval_result(c)->dtype : nuc_eval_in_meta(c, INPUT)->dtype;
    q->zero_point = stated->zero_point;
    q->low = stated->quant_min;
    q->high = stated->quant_max;
    if (!nuc_is_integer(q->dtype) || q->dtype == NUC_BOOL || (nuc_is_quantize(c->node) && q->dtype == NUC_I64))
        nuc_eval_fail(c, "%s is not a type of quantized values", nuc_dtype_name(q->dtype));
    const struct nuc_int_range range = nuc_int_range(q->dtype);
    if (q->low > q->high || q->low < range.low || q->high > range.high)
        nuc_eval_fail(c, "quant_min %lld and quant_max %lld are not a range of %s", (long long)q->low,
                      (long long)q->high, nuc_dtype_name(q->dtype));
    q->fast = is_small(q->low) && is_small(q->high);
    c->state = q;
    return q;
}

static size_t chunk_at(size_t at, size_t end)
{
    return end - at < CHUNK ? end - at : CHUNK;
}

/* ---- per tensor ---- */

static void prepare_tensor(struct nuc_eval_call *c)
{
    struct nuc_quant stated;
    struct quant *q = new_quant(c, &stated);

    q->scale = (float)(nuc_is_quantize(c->node) ? 1.0 / stated.scale : stated.scale);
}

/* Values with the same parameters: all, or those of a channel. */
struct channel {
    double scale; /* what to multiply with */
    int64_t zero_point;
    size_t first, count; /* elements */
};

static void quantize_values(const struct quant *q, const float *in, void *out, struct channel ch)
{
    int32_t chunk[CHUNK];

    for (size_t at = ch.first; at < ch.first + ch.count; at += CHUNK) {
        size_t count = chunk_at(at, ch.first + ch.count);
        for (size_t i = 0; q->wide && i < count; i++)
            chunk[i] = to_int(rint((double)in[at + i] * ch.scale) + (double)ch.zero_point, q->low, q->high);
        if (!q->wide)
            quantize_chunk(q, in + at, count, (float)ch.scale, ch.zero_point, chunk);
        store_ints(q->dtype, out, at, count, chunk);
    }
}

static void quantize_range(const void *arg, struct nuc_part part)
{
    const struct nuc_eval_call *c = arg;
    const struct quant *q = c->state;

    quantize_values(q, nuc_eval_in(c, INPUT), c->out[0],
                    (struct channel){(double)q->scale, q->zero_point, part.begin, part.end - part.begin});
}

static void dequantize_range(const void *arg, struct nuc_part part)
{
    const struct nuc_eval_call *c = arg;
    const struct quant *q = c->state;
    float scale = q->scale, zero_point = (float)q->zero_point;
    int32_t chunk[CHUNK];

    for (size_t at = part.begin; at < part.end; at += CHUNK) {
        size_t count = chunk_at(at, part.end);
        float *out = (float *)c->out[0] + at;
        if (q->dtype == NUC_I64) {
            dequantize_long((const int64_t *)nuc_eval_in(c, INPUT) + at, count, q->zero_point, (double)scale, out);
            continue;
        }
        load_ints(q->dtype, nuc_eval_in(c, INPUT), at, count, chunk);
        for (size_t i = 0; i < count; i++)
            out[i] = ((float)chunk[i] - zero_point) * scale;
    }
}

static void run_tensor(const struct nuc_eval_call *c)
{
    size_t elements = nuc_eval_elements(c);

    nuc_parallel_for(c->pool, elements, (double)elements, nuc_is_quantize(c->node) ? quantize_range : dequantize_range,
                     c);
}

const struct nuc_eval_op nuc_eval_quant = {.prepare = prepare_tensor, .run = run_tensor};

/* ---- both directions at once ---- */

/*
 * The values of quantize_fast() and dequantize_range(): bounds are whole numbers, so that it is the same to keep within
 * them before rounding, and the zero point of no more than 2^20 comes and goes without a trace.
 */
static bool describe_rounding(const struct nuc_eval_call *c, struct nuc_finish *f)
{
    const struct nuc_rounding *r = c->state;
    float zero = (float)r->zero_point;
    float least = r->clips ? (float)r->quant_min : -FAST_BOUND, most = r->clips ? (float)r->quant_max : FAST_BOUND;

    f->rounds = r->rounds;
    f->inverse = (float)(1.0 / (double)r->scale);
    f->least = fmaxf(least - zero, -FAST_BOUND);
    f->most = fminf(most - zero, FAST_BOUND);
    f->scale = r->scale;
    return r->rounds || !r->clips;
}

NUC_CLONES static void round_floats(const struct nuc_finish *finish, const float *in, float *out, size_t count)
{
    const struct nuc_finish f = *finish;

    for (size_t i = 0; i < count; i++)
        out[i] = nuc_round_float(&f, in[i]);
}

NUC_CLONES static void clip_floats(const struct nuc_rounding *r, const float *in, float *out, size_t count)
{
    float low = (float)(r->quant_min - r->zero_point) * r->scale;
    float high = (float)(r->quant_max - r->zero_point) * r->scale;

    for (size_t i = 0; i < count; i++) {
        float v = in[i] > low ? in[i] : low;
        out[i] = v < high ? v : high;
    }
}

static void apply_rounding(const struct nuc_eval_call *c, const float *in, float *out, size_t count)
{
    const struct nuc_rounding *r = c->state;
    struct nuc_finish f;

    if (describe_rounding(c, &f) && f.rounds)
        round_floats(&f, in, out, count);
    else if (r->clips)
        clip_floats(r, in, out, count);
    else
        memcpy(out, in, count * sizeof *out);
}

static void round_range(const void *arg, struct nuc_part part)
{
    const struct nuc_eval_call *c = arg;

    nuc_eval_apply(c, nuc_eval_in(c, NUC_SELF), part);
}

static void run_rounding(const struct nuc_eval_call *c)
{
    const struct nuc_rounding *r = c->state;
    const bool shows = c->shows && c->then == NULL && !r->rounds && !r->clips;
    size_t elements = nuc_eval_elements(c);

    c->values[c->out_slot].data = shows ? nuc_eval_in(c, NUC_SELF) : c->out[0];
    if (shows)
        return;
    nuc_parallel_for(c->pool, elements, (double)elements, round_range, c);
}

const struct nuc_eval_op nuc_eval_rounding = {
    .run = run_rounding, .apply = apply_rounding, .describe = describe_rounding, .finishes = true};

/* ---- per channel ---- */

static void prepare_channels(struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT), *scales = nuc_eval_in_meta(c, SCALES);
    const struct nuc_meta *zeros = nuc_eval_in_meta(c, ZERO_POINTS);
    struct nuc_quant stated;
    struct quant *q = new_quant(c, &stated);
    uint32_t axis = (uint32_t)nuc_positive_dim(stated.axis, in->rank);

    q->wide = scales->dtype == NUC_F64;
    q->lines = nuc_eval_lines_of(in, axis);
    if ((scales->dtype != NUC_F32 && !q->wide) || (size_t)nuc_elements(scales) != q->lines.size)
        nuc_eval_fail(c, "scales are %s, not one float for each of %zu channels", nuc_meta_text(c->cx, scales),
                      q->lines.size);
    if (nuc_eval_has_in(c, ZERO_POINTS) &&
        (!nuc_is_integer(zeros->dtype) || (size_t)nuc_elements(zeros) != q->lines.size))
        nuc_eval_fail(c, "zero points are %s, not one integer for each of %zu channels", nuc_meta_text(c->cx, zeros),
                      q->lines.size);
}

static struct channel channel_at(const struct nuc_eval_call *c, size_t index)
{
    const struct quant *q = c->state;
    size_t ch = index % q->lines.size;
    const void *zeros = nuc_eval_in(c, ZERO_POINTS);
    double scale = nuc_number_at(q->wide ? NUC_F64 : NUC_F32, nuc_eval_in(c, SCALES), ch);

    if (nuc_is_quantize(c->node))
        scale = q->wide ? 1.0 / scale : (double)(1.0f / (float)scale);
    return (struct channel){scale, zeros == NULL ? 0 : nuc_int_at(nuc_eval_in_meta(c, ZERO_POINTS)->dtype, zeros, ch),
                            index * q->lines.inner, q->lines.inner};
}

NUC_CLONES static void subtract_and_scale(const int32_t *in, size_t count, int32_t zero_point, float scale, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (float)(in[i] - zero_point) * scale;
}

static void dequantize_channel(const struct quant *q, const void *in, float *out, struct channel ch)
{
    int32_t chunk[CHUNK];

    if (q->dtype == NUC_I64) {
        dequantize_long((const int64_t *)in + ch.first, ch.count, ch.zero_point, ch.scale, out + ch.first);
        return;
    }
    for (size_t at = ch.first; at < ch.first + ch.count; at += CHUNK) {
        size_t count = chunk_at(at, ch.first + ch.count);
        float *to = out + at;
        load_ints(q->dtype, in, at, count, chunk);
        if (!q->wide && is_small(ch.zero_point) && nuc_dtype_size(q->dtype) <= 2) {
            subtract_and_scale(chunk, count, (int32_t)ch.zero_point, (float)ch.scale, to);
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            int64_t v = (int64_t)((uint64_t)chunk[i] - (uint64_t)ch.zero_point);
            to[i] = q->wide ? (float)((double)v * ch.scale) : (float)v * (float)ch.scale;
        }
    }
}

static void compute_channels(const void *arg, struct nuc_part part)
{
    const struct nuc_eval_call *c = arg;
    const struct quant *q = c->state;

    for (size_t i = part.begin; i < part.end; i++) {
        if (nuc_is_quantize(c->node))
            quantize_values(q, nuc_eval_in(c, INPUT), c->out[0], channel_at(c, i));
        else
            dequantize_channel(q, nuc_eval_in(c, INPUT), c->out[0], channel_at(c, i));
    }
}

static void run_channels(const struct nuc_eval_call *c)
{
    const struct quant *q = c->state;

    nuc_parallel_for(c->pool, q->lines.outer * q->lines.size, (double)nuc_eval_elements(c), compute_channels, c);
}

const struct nuc_eval_op nuc_eval_quant_channels = {.prepare = prepare_channels, .run = run_channels};
