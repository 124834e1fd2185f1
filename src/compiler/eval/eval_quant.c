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

#include "compiler/eval/eval_private.h"

/* Elements handled at a time: they stay in the first-level cache. */
#define CHUNK 512

/* Within these bounds a float32 sum with 1.5 * 2^23 rounds to an integer, and a clamp does not change the result. */
#define FAST_LIMIT (1 << 20)
#define FAST_BOUND 4194304.0f /* 2^22 */
#define ROUNDING_BIAS 12582912.0f

/* Arguments by position. */
enum { INPUT, SCALE, ZERO_POINT };
enum { TENSOR_MIN = 3 }; /* quant_max follows */
enum { CHANNEL_AXIS = 3, CHANNEL_MIN };

struct quant {
    enum nuc_dtype dtype; /* of the quantized side */
    float scale;          /* per tensor: what to multiply with */
    int64_t zero_point, low, high;
    bool fast;
    bool wide; /* per channel: scales are float64 */
    size_t outer, channels, inner;
};

struct quant_run {
    const struct quant *q;
    const void *in;
    void *out;
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
        out[i] = (int32_t)nuc_eval_load_int(dtype, data, first + i);
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
        nuc_eval_store_int(dtype, data, first + i, in[i]);
}

static bool dtype_range(enum nuc_dtype dtype, int64_t *low, int64_t *high)
{
    static const struct {
        bool known;
        int64_t low, high;
    } ranges[NUC_DTYPE_COUNT] = {
        [NUC_U8] = {true, 0, UINT8_MAX},          [NUC_I8] = {true, INT8_MIN, INT8_MAX},
        [NUC_I16] = {true, INT16_MIN, INT16_MAX}, [NUC_U16] = {true, 0, UINT16_MAX},
        [NUC_I32] = {true, INT32_MIN, INT32_MAX},
    };

    *low = ranges[dtype].low;
    *high = ranges[dtype].high;
    return ranges[dtype].known;
}

/* ---- one value, or one chunk, float32 ---- */

static int32_t to_int(double rounded, int64_t low, int64_t high)
{
    if (isnan(rounded))
        return 0;
    if (rounded <= (double)low)
        return (int32_t)low;
    return rounded >= (double)high ? (int32_t)high : (int32_t)rounded;
}

/* Branch-free and without a library call, so that it becomes vector code. NaN gives 0. */
static void quantize_fast(const float *in, size_t count, float scale, float zero_point, float low, float high,
                          int32_t *out)
{
    for (size_t i = 0; i < count; i++) {
        float product = in[i] * scale;
        float v = product > -FAST_BOUND ? product : -FAST_BOUND;
        v = v < FAST_BOUND ? v : FAST_BOUND;
        v = ((v + ROUNDING_BIAS) - ROUNDING_BIAS) + zero_point;
        v = v > low ? v : low;
        v = v < high ? v : high;
        v = product == product ? v : 0.0f;
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

/* ---- per tensor ---- */

static void set_range(struct nuc_eval_call *c, struct quant *q, uint32_t min_arg)
{
    int64_t low, high;

    if (!dtype_range(q->dtype, &low, &high))
        nuc_eval_fail(c, "%s is no dtype of quantized values", nuc_dtype_name(q->dtype));
    q->low = nuc_eval_int(c, min_arg, low);
    q->high = nuc_eval_int(c, min_arg + 1, high);
    if (q->low > q->high || q->low < low || q->high > high)
        nuc_eval_fail(c, "quant_min %lld and quant_max %lld are no range of %s", (long long)q->low, (long long)q->high,
                      nuc_dtype_name(q->dtype));
    q->fast = is_small(q->low) && is_small(q->high);
}

static struct quant *prepare_tensor(struct nuc_eval_call *c, enum nuc_dtype dtype)
{
    struct quant *q = nuc_alloc(c->cx, sizeof *q);

    q->dtype = dtype;
    q->zero_point = nuc_eval_int(c, ZERO_POINT, 0);
    set_range(c, q, TENSOR_MIN);
    c->state = q;
    return q;
}

static void prepare_quantize_tensor(struct nuc_eval_call *c)
{
    nuc_eval_want(c, INPUT, NUC_F32);
    struct quant *q = prepare_tensor(c, nuc_eval_out_meta(c, 0)->dtype);
    q->scale = (float)(1.0 / nuc_eval_number(c, SCALE, 1.0));
}

static void prepare_dequantize_tensor(struct nuc_eval_call *c)
{
    struct quant *q = prepare_tensor(c, nuc_eval_in_meta(c, INPUT)->dtype);

    if (nuc_eval_out_meta(c, 0)->dtype != NUC_F32)
        nuc_eval_fail(c, "values are dequantized to float32 only");
    q->scale = (float)nuc_eval_number(c, SCALE, 1.0);
}

static size_t chunk_at(size_t at, size_t end)
{
    return end - at < CHUNK ? end - at : CHUNK;
}

static void quantize_range(void *arg, size_t begin, size_t end, unsigned worker)
{
    const struct quant_run *r = arg;
    int32_t chunk[CHUNK];

    (void)worker;
    for (size_t at = begin; at < end; at += CHUNK) {
        size_t count = chunk_at(at, end);
        quantize_chunk(r->q, (const float *)r->in + at, count, r->q->scale, r->q->zero_point, chunk);
        store_ints(r->q->dtype, r->out, at, count, chunk);
    }
}

static void dequantize_range(void *arg, size_t begin, size_t end, unsigned worker)
{
    const struct quant_run *r = arg;
    float scale = r->q->scale, zero_point = (float)r->q->zero_point;
    int32_t chunk[CHUNK];

    (void)worker;
    for (size_t at = begin; at < end; at += CHUNK) {
        size_t count = chunk_at(at, end);
        float *out = (float *)r->out + at;
        load_ints(r->q->dtype, r->in, at, count, chunk);
        for (size_t i = 0; i < count; i++)
            out[i] = ((float)chunk[i] - zero_point) * scale;
    }
}

static void run_tensor(const struct nuc_eval_call *c, nuc_parallel_fn fn)
{
    struct quant_run r = {c->state, nuc_eval_in(c, INPUT), c->out[0]};
    size_t elements = (size_t)nuc_elements(nuc_eval_out_meta(c, 0));

    nuc_parallel_for(c->pool, elements, (double)elements, fn, &r);
}

static void run_quantize_tensor(const struct nuc_eval_call *c)
{
    run_tensor(c, quantize_range);
}

static void run_dequantize_tensor(const struct nuc_eval_call *c)
{
    run_tensor(c, dequantize_range);
}

const struct nuc_eval_op nuc_eval_quantize_per_tensor = {.prepare = prepare_quantize_tensor,
                                                         .run = run_quantize_tensor};
const struct nuc_eval_op nuc_eval_dequantize_per_tensor = {.prepare = prepare_dequantize_tensor,
                                                           .run = run_dequantize_tensor};

/* ---- per channel ---- */

static void prepare_channel(struct nuc_eval_call *c, enum nuc_dtype dtype)
{
    struct quant *q = nuc_alloc(c->cx, sizeof *q);
    const struct nuc_meta *in = nuc_eval_in_meta(c, INPUT), *scales = nuc_eval_in_meta(c, SCALE);
    uint32_t axis = nuc_eval_dim(c, nuc_eval_int(c, CHANNEL_AXIS, 0), in->rank);

    if (in->rank == 0)
        nuc_eval_fail(c, "a scalar has no channels");
    q->dtype = dtype;
    set_range(c, q, CHANNEL_MIN);
    q->wide = scales->dtype == NUC_F64;
    q->outer = nuc_eval_product(in, 0, axis);
    q->channels = (size_t)in->sizes[axis];
    q->inner = nuc_eval_product(in, axis + 1, in->rank);
    if ((scales->dtype != NUC_F32 && !q->wide) || (size_t)nuc_elements(scales) != q->channels)
        nuc_eval_fail(c, "scales are %s, not one float for each of %zu channels", nuc_meta_text(c->cx, scales),
                      q->channels);
    if (nuc_eval_has_in(c, ZERO_POINT)) {
        const struct nuc_meta *zeros = nuc_eval_in_meta(c, ZERO_POINT);
        if (!nuc_eval_is_integer(zeros->dtype) || (size_t)nuc_elements(zeros) != q->channels)
            nuc_eval_fail(c, "zero points are %s, not one integer for each of %zu channels",
                          nuc_meta_text(c->cx, zeros), q->channels);
    }
    c->state = q;
}

static void prepare_quantize_channel(struct nuc_eval_call *c)
{
    nuc_eval_want(c, INPUT, NUC_F32);
    prepare_channel(c, nuc_eval_out_meta(c, 0)->dtype);
}

static void prepare_dequantize_channel(struct nuc_eval_call *c)
{
    if (nuc_eval_out_meta(c, 0)->dtype != NUC_F32)
        nuc_eval_fail(c, "values are dequantized to float32 only");
    prepare_channel(c, nuc_eval_in_meta(c, INPUT)->dtype);
}

struct channel {
    double scale;
    int64_t zero_point;
    size_t first; /* element */
};

static struct channel channel_at(const struct nuc_eval_call *c, size_t index)
{
    const struct quant *q = c->state;
    size_t ch = index % q->channels;
    const void *zeros = nuc_eval_in(c, ZERO_POINT);
    double scale = nuc_eval_load_number(q->wide ? NUC_F64 : NUC_F32, nuc_eval_in(c, SCALE), ch);

    return (struct channel){scale,
                            zeros == NULL ? 0 : nuc_eval_load_int(nuc_eval_in_meta(c, ZERO_POINT)->dtype, zeros, ch),
                            index * q->inner};
}

static void quantize_channel(const struct quant *q, const float *in, void *out, struct channel ch)
{
    int32_t chunk[CHUNK];

    for (size_t at = 0; at < q->inner; at += CHUNK) {
        size_t count = chunk_at(at, q->inner);
        const float *from = in + ch.first + at;
        if (q->wide) {
            for (size_t i = 0; i < count; i++)
                chunk[i] = to_int(rint((double)from[i] * (1.0 / ch.scale)) + (double)ch.zero_point, q->low, q->high);
        } else {
            quantize_chunk(q, from, count, 1.0f / (float)ch.scale, ch.zero_point, chunk);
        }
        store_ints(q->dtype, out, ch.first + at, count, chunk);
    }
}

static void dequantize_channel(const struct quant *q, const void *in, float *out, struct channel ch)
{
    int32_t chunk[CHUNK];

    for (size_t at = 0; at < q->inner; at += CHUNK) {
        size_t count = chunk_at(at, q->inner);
        float *to = out + ch.first + at;
        load_ints(q->dtype, in, ch.first + at, count, chunk);
        for (size_t i = 0; i < count; i++) {
            int64_t v = (int64_t)((uint64_t)chunk[i] - (uint64_t)ch.zero_point);
            to[i] = q->wide ? (float)((double)v * ch.scale) : (float)v * (float)ch.scale;
        }
    }
}

static void run_quantize_channel(const struct nuc_eval_call *c)
{
    const struct quant *q = c->state;

    for (size_t i = 0; i < q->outer * q->channels; i++)
        quantize_channel(q, nuc_eval_in(c, INPUT), c->out[0], channel_at(c, i));
}

static void run_dequantize_channel(const struct nuc_eval_call *c)
{
    const struct quant *q = c->state;

    for (size_t i = 0; i < q->outer * q->channels; i++)
        dequantize_channel(q, nuc_eval_in(c, INPUT), c->out[0], channel_at(c, i));
}

const struct nuc_eval_op nuc_eval_quantize_per_channel = {.prepare = prepare_quantize_channel,
                                                          .run = run_quantize_channel};
const struct nuc_eval_op nuc_eval_dequantize_per_channel = {.prepare = prepare_dequantize_channel,
                                                            .run = run_dequantize_channel};
