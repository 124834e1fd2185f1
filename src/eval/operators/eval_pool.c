/*
 * Pooling over height and width of [C, H, W] or [N, C, H, W], one plane after the other. Pooling along one dimension,
 * [C, L] or [N, C, L], is that of images of height 1.
 */
#include <assert.h>
#include <math.h>

#include "eval/eval_call.h"
#include "host/clones.h"

enum { HEIGHT, WIDTH };

/* Every pooling with a window has these in the same places. */
#define WINDOW(name) NUC_ARG(MAX_POOL2D, name)

struct pool;

/* One plane; `indices` may be NULL. */
typedef void (*plane_fn)(const struct pool *p, const float *in, float *out, int64_t *indices);

struct pool {
    plane_fn fn;
    size_t planes;
    int64_t in[2], out[2];
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    struct positions *taps; /* of a maximum: along the width, those that lie inside the input somewhere */
    size_t n_taps;
    bool count_padding;
    int64_t divisor; /* 0: the number of elements */
};

/* The outputs of a row whose window has a tap inside the input, and where that lies in the row for the first of them.
 */
struct positions {
    size_t begin, count, from;
};

/* The part of a window inside the input along one axis. */
struct window {
    int64_t begin, end;
};

static bool is_line(const struct nuc_node *node)
{
    return node->op == NUC_OP_MAX_POOL1D || node->op == NUC_OP_AVG_POOL1D;
}

static struct pool *new_pool(struct nuc_eval_call *c)
{
    struct pool *p = nuc_alloc(c->cx, sizeof *p);
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF), *out = nuc_eval_result(c);
    uint32_t spatial = is_line(c->node) ? 1 : 2;

    nuc_eval_expect_float(c, NUC_SELF);
    p->planes = nuc_product_of_dims(in, 0, in->rank - spatial);
    for (uint32_t d = HEIGHT; d <= WIDTH; d++) {
        bool given = d + spatial >= 2;
        p->in[d] = given ? in->sizes[in->rank + d - 2] : 1;
        p->out[d] = given ? out->sizes[out->rank + d - 2] : 1;
    }
    c->state = p;
    return p;
}

/* What the argument says of both axes; `height` for the height of what has none. */
static void read_pair(const struct nuc_eval_call *c, uint32_t arg, const int64_t fallback[2], int64_t height,
                      int64_t out[2])
{
    struct nuc_pair pair = nuc_pair(c->node, arg, (struct nuc_pair){fallback[HEIGHT], fallback[WIDTH]});

    out[HEIGHT] = is_line(c->node) ? height : pair.h;
    out[WIDTH] = pair.w;
}

static struct pool *prepare_windows(struct nuc_eval_call *c)
{
    static const int64_t ones[2] = {1, 1}, zeros[2] = {0, 0};
    struct pool *p = new_pool(c);

    read_pair(c, WINDOW(kernel_size), ones, 1, p->kernel);
    read_pair(c, WINDOW(stride), p->kernel, 1, p->stride);
    read_pair(c, WINDOW(padding), zeros, 0, p->padding);
    p->dilation[HEIGHT] = p->dilation[WIDTH] = 1;
    assert(p->kernel[HEIGHT] >= 1 && p->kernel[WIDTH] >= 1 && p->stride[HEIGHT] >= 1 && p->stride[WIDTH] >= 1);
    return p;
}

static void pool_planes(const void *arg, struct nuc_part part)
{
    const struct nuc_eval_call *c = arg;
    const struct pool *p = c->state;
    const float *from = nuc_eval_in(c, NUC_SELF);
    float *to = c->out[0];
    int64_t *indices = c->node->n_vals > 1 ? c->out[1] : NULL;
    size_t in = (size_t)(p->in[HEIGHT] * p->in[WIDTH]), out = (size_t)(p->out[HEIGHT] * p->out[WIDTH]);

    for (size_t i = part.begin; i < part.end; i++)
        p->fn(p, from + i * in, to + i * out, indices == NULL ? NULL : indices + i * out);
}

static void run(const struct nuc_eval_call *c)
{
    const struct pool *p = c->state;
    double windows = (double)p->planes * (double)(p->out[HEIGHT] * p->out[WIDTH]);
    double taps = p->kernel[HEIGHT] > 0 ? (double)(p->kernel[HEIGHT] * p->kernel[WIDTH])
                                        : (double)(p->in[HEIGHT] * p->in[WIDTH]) / 4.0;

    nuc_parallel_for(c->pool, p->planes, windows * taps, pool_planes, c);
}

/* ---- maximum ---- */

/* Padding takes no part: windows begin at their first tap inside the input. */
static struct window max_window(const struct pool *p, int d, int64_t at)
{
    int64_t begin = at * p->stride[d] - p->padding[d];
    int64_t end = begin + (p->kernel[d] - 1) * p->dilation[d] + 1;

    if (begin < 0)
        begin += (-begin + p->dilation[d] - 1) / p->dilation[d] * p->dilation[d];
    return (struct window){begin, end < p->in[d] ? end : p->in[d]};
}

/* Index of the first largest element, or of the last NaN, as torch scans. */
static int64_t max_index(const struct pool *p, const float *in, struct window y, struct window x)
{
    int64_t best = y.begin * p->in[WIDTH] + x.begin;
    float value = -INFINITY;

    for (int64_t iy = y.begin; iy < y.end; iy += p->dilation[HEIGHT]) {
        for (int64_t ix = x.begin; ix < x.end; ix += p->dilation[WIDTH]) {
            float v = in[iy * p->in[WIDTH] + ix];
            if (v > value || isnan(v)) {
                value = v;
                best = iy * p->in[WIDTH] + ix;
            }
        }
    }
    return best;
}

static struct positions positions_with(const struct pool *p, int64_t x)
{
    int64_t at = x * p->dilation[WIDTH] - p->padding[WIDTH], stride = p->stride[WIDTH];
    int64_t begin = at < 0 ? (-at + stride - 1) / stride : 0;
    int64_t end = at < p->in[WIDTH] ? (p->in[WIDTH] - 1 - at) / stride + 1 : 0;

    end = end < p->out[WIDTH] ? end : p->out[WIDTH];
    if (begin >= end)
        return (struct positions){0, 0, 0};
    return (struct positions){(size_t)begin, (size_t)(end - begin), (size_t)(begin * stride + at)};
}

static inline float larger(float so_far, float v)
{
    return v > so_far || v != v ? v : so_far;
}

/* One tap of the windows at positions that lie side by side. */
static inline void take_larger(const float *restrict in, int64_t stride, size_t count, float *restrict out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = larger(out[i], in[(int64_t)i * stride]);
}

/* Two taps, one after the other, of windows at a distance of 2: what a vector of the input has is taken at once. */
static inline void take_larger_of_two(const float *restrict in, size_t count, float *restrict out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = larger(larger(out[i], in[2 * i]), in[2 * i + 1]);
}

static bool are_pair(const struct positions *a, const struct positions *b)
{
    return b->begin == a->begin && b->count == a->count && b->from == a->from + 1;
}

/* The same values tap by tap: as each window is scanned in this order, each ends with what max_index() finds. */
NUC_CLONES static void max_values(const struct pool *p, const float *in, float *out)
{
    for (int64_t oy = 0; oy < p->out[HEIGHT]; oy++, out += p->out[WIDTH]) {
        struct window y = max_window(p, HEIGHT, oy);
        for (int64_t i = 0; i < p->out[WIDTH]; i++)
            out[i] = -INFINITY;
        for (int64_t iy = y.begin; iy < y.end; iy += p->dilation[HEIGHT]) {
            for (size_t x = 0; x < p->n_taps; x++) {
                const struct positions at = p->taps[x];
                const float *from = in + iy * p->in[WIDTH] + at.from;
                const bool pair = p->stride[WIDTH] == 2 && x + 1 < p->n_taps && are_pair(&p->taps[x], &p->taps[x + 1]);
                x += pair;
                if (pair)
                    take_larger_of_two(from, at.count, out + at.begin);
                else if (p->stride[WIDTH] == 1)
                    take_larger(from, 1, at.count, out + at.begin);
                else if (p->stride[WIDTH] == 2)
                    take_larger(from, 2, at.count, out + at.begin);
                else
                    take_larger(from, p->stride[WIDTH], at.count, out + at.begin);
            }
        }
    }
}

static void max_plane(const struct pool *p, const float *in, float *out, int64_t *indices)
{
    if (indices == NULL) {
        max_values(p, in, out);
        return;
    }
    for (int64_t oy = 0; oy < p->out[HEIGHT]; oy++) {
        struct window y = max_window(p, HEIGHT, oy);
        for (int64_t ox = 0; ox < p->out[WIDTH]; ox++) {
            struct window x = max_window(p, WIDTH, ox);
            bool empty = y.begin >= y.end || x.begin >= x.end;
            int64_t best = empty ? 0 : max_index(p, in, y, x);
            *out++ = empty ? -INFINITY : in[best];
            *indices++ = best;
        }
    }
}

static void prepare_max(struct nuc_eval_call *c)
{
    struct pool *p = prepare_windows(c);

    read_pair(c, WINDOW(dilation), p->dilation, 1, p->dilation);
    for (int64_t x = 0; x < p->kernel[WIDTH]; x++)
        p->n_taps += positions_with(p, x).count != 0;
    p->taps = nuc_alloc_array(c->cx, p->n_taps, sizeof *p->taps);
    size_t n = 0;
    for (int64_t x = 0; n < p->n_taps; x++) {
        p->taps[n] = positions_with(p, x);
        n += p->taps[n].count != 0;
    }
    p->fn = max_plane;
}

const struct nuc_eval_op nuc_eval_max_pool = {.prepare = prepare_max, .run = run};

/* ---- average ---- */

static float window_sum(const struct pool *p, const float *in, struct window y, struct window x)
{
    float sum = 0.0f;

    for (int64_t iy = y.begin; iy < y.end; iy++) {
        for (int64_t ix = x.begin; ix < x.end; ix++)
            sum += in[iy * p->in[WIDTH] + ix];
    }
    return sum;
}

static struct window inside(const struct pool *p, int d, struct window w)
{
    return (struct window){w.begin < 0 ? 0 : w.begin, w.end < p->in[d] ? w.end : p->in[d]};
}

/* With its padding, but not with what ceil_mode adds after it. */
static struct window avg_window(const struct pool *p, int d, int64_t at)
{
    int64_t begin = at * p->stride[d] - p->padding[d];
    int64_t end = begin + p->kernel[d], limit = p->in[d] + p->padding[d];

    return (struct window){begin, end < limit ? end : limit};
}

static void avg_plane(const struct pool *p, const float *in, float *out, int64_t *indices)
{
    (void)indices;
    for (int64_t oy = 0; oy < p->out[HEIGHT]; oy++) {
        struct window full_y = avg_window(p, HEIGHT, oy), y = inside(p, HEIGHT, full_y);
        for (int64_t ox = 0; ox < p->out[WIDTH]; ox++) {
            struct window full_x = avg_window(p, WIDTH, ox), x = inside(p, WIDTH, full_x);
            int64_t divisor = p->divisor;
            if (divisor == 0 && p->count_padding)
                divisor = (full_y.end - full_y.begin) * (full_x.end - full_x.begin);
            else if (divisor == 0)
                divisor = (y.end - y.begin) * (x.end - x.begin);
            bool empty = y.begin >= y.end || x.begin >= x.end;
            *out++ = empty ? 0.0f : window_sum(p, in, y, x) / (float)divisor;
        }
    }
}

static void prepare_avg(struct nuc_eval_call *c)
{
    struct pool *p = prepare_windows(c);

    p->count_padding = nuc_flag(c->node, NUC_ARG(AVG_POOL2D, count_include_pad));
    p->divisor = is_line(c->node) ? 0 : nuc_integer(c->node, NUC_ARG(AVG_POOL2D, divisor_override), 0);
    p->fn = avg_plane;
}

const struct nuc_eval_op nuc_eval_avg_pool = {.prepare = prepare_avg, .run = run};

/* ---- adaptive average ---- */

/* floor(at * in / out) to ceil((at + 1) * in / out). */
static struct window adaptive_window(const struct pool *p, int d, int64_t at)
{
    return (struct window){at * p->in[d] / p->out[d], ((at + 1) * p->in[d] + p->out[d] - 1) / p->out[d]};
}

static void adaptive_plane(const struct pool *p, const float *in, float *out, int64_t *indices)
{
    (void)indices;
    for (int64_t oy = 0; oy < p->out[HEIGHT]; oy++) {
        struct window y = adaptive_window(p, HEIGHT, oy);
        for (int64_t ox = 0; ox < p->out[WIDTH]; ox++) {
            struct window x = adaptive_window(p, WIDTH, ox);
            *out++ = window_sum(p, in, y, x) / (float)(y.end - y.begin) / (float)(x.end - x.begin);
        }
    }
}

/* Unlike the operator of the Edge dialect, the one of ATen takes the mean when one pixel is left. */
static bool is_global(const struct nuc_eval_call *c)
{
    const struct nuc_meta *out = nuc_eval_result(c);

    return c->node->op == NUC_OP_ADAPTIVE_AVG_POOL2D && out->sizes[out->rank - 1] == 1 &&
           out->sizes[out->rank - 2] == 1;
}

static void prepare_adaptive(struct nuc_eval_call *c)
{
    if (is_global(c))
        nuc_eval_global_pool.prepare(c);
    else
        new_pool(c)->fn = adaptive_plane;
}

static void run_adaptive(const struct nuc_eval_call *c)
{
    (is_global(c) ? nuc_eval_global_pool.run : run)(c);
}

const struct nuc_eval_op nuc_eval_adaptive_avg_pool = {.prepare = prepare_adaptive, .run = run_adaptive};
