/*
 * Pooling over height and width of [C, H, W] or [N, C, H, W], one plane after the other. Pooling along one dimension,
 * [C, L] or [N, C, L], is that of images of height 1.
 */
#include <math.h>

#include "compiler/eval/eval_private.h"

enum { HEIGHT, WIDTH };

/* Arguments of both poolings by position. */
enum { INPUT, KERNEL, STRIDE, PADDING, MAX_DILATION };
enum { AVG_COUNT_PAD = 5, AVG_DIVISOR };
enum { ADAPTIVE_SIZE = 1 };

struct pool {
    size_t planes;
    int64_t in[2], out[2];
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    bool count_padding;
    int64_t divisor; /* 0: the number of elements */
};

/* The part of a window inside the input along one axis. */
struct window {
    int64_t begin, end;
};

typedef void (*plane_fn)(const struct pool *p, const float *in, float *out, int64_t *indices);

struct pool_run {
    const struct pool *pool;
    plane_fn fn;
    const float *in;
    float *out;
    int64_t *indices; /* may be NULL */
};

/* [C, L] and [N, C, L] as images of height 1. */
static struct nuc_eval_image line_image(const struct nuc_eval_call *c, const struct nuc_meta *m)
{
    if (m->rank != 2 && m->rank != 3)
        nuc_eval_fail(c, "%s is not of rank 2 or 3", nuc_meta_text(c->cx, m));
    const int64_t *s = m->sizes + (m->rank - 2);
    return (struct nuc_eval_image){m->rank == 3 ? (size_t)m->sizes[0] : 1, (size_t)s[0], 1, (size_t)s[1]};
}

static bool is_line(const struct nuc_eval_call *c)
{
    return c->node->op == NUC_OP_MAX_POOL1D || c->node->op == NUC_OP_AVG_POOL1D;
}

static struct nuc_eval_image image_of(const struct nuc_eval_call *c, const struct nuc_meta *m)
{
    return is_line(c) ? line_image(c, m) : nuc_eval_image(c, m);
}

static struct pool *new_pool(struct nuc_eval_call *c)
{
    struct pool *p = nuc_alloc(c->cx, sizeof *p);
    struct nuc_eval_image in = image_of(c, nuc_eval_in_meta(c, INPUT));
    struct nuc_eval_image out = image_of(c, nuc_eval_out_meta(c, 0));

    nuc_eval_want_float(c, INPUT);
    p->planes = in.batch * in.channels;
    p->in[HEIGHT] = (int64_t)in.height;
    p->in[WIDTH] = (int64_t)in.width;
    p->out[HEIGHT] = (int64_t)out.height;
    p->out[WIDTH] = (int64_t)out.width;
    p->dilation[HEIGHT] = p->dilation[WIDTH] = 1;
    c->state = p;
    return p;
}

static struct pool *prepare_windows(struct nuc_eval_call *c)
{
    struct pool *p = new_pool(c);

    if (!nuc_eval_pair(c, KERNEL, p->kernel))
        nuc_eval_fail(c, "the kernel size is missing");
    if (!nuc_eval_pair(c, STRIDE, p->stride)) {
        p->stride[HEIGHT] = p->kernel[HEIGHT];
        p->stride[WIDTH] = p->kernel[WIDTH];
    }
    nuc_eval_pair(c, PADDING, p->padding);
    if (is_line(c)) {
        p->kernel[HEIGHT] = p->stride[HEIGHT] = 1;
        p->padding[HEIGHT] = 0;
    }
    return p;
}

static void check_windows(const struct nuc_eval_call *c, const struct pool *p)
{
    for (int d = HEIGHT; d <= WIDTH; d++) {
        if (p->kernel[d] < 1 || p->stride[d] < 1 || p->dilation[d] < 1 || p->padding[d] < 0)
            nuc_eval_fail(c, "kernel size, stride and dilation must be positive and padding not negative");
    }
}

static void pool_planes(void *arg, size_t begin, size_t end, unsigned worker)
{
    const struct pool_run *r = arg;
    size_t in = (size_t)(r->pool->in[HEIGHT] * r->pool->in[WIDTH]);
    size_t out = (size_t)(r->pool->out[HEIGHT] * r->pool->out[WIDTH]);

    (void)worker;
    for (size_t i = begin; i < end; i++)
        r->fn(r->pool, r->in + i * in, r->out + i * out, r->indices == NULL ? NULL : r->indices + i * out);
}

static void run_planes(const struct nuc_eval_call *c, plane_fn fn)
{
    const struct pool *p = c->state;
    struct pool_run r = {p, fn, nuc_eval_in(c, INPUT), c->out[0], c->node->n_vals > 1 ? c->out[1] : NULL};
    double windows = (double)p->planes * (double)(p->out[HEIGHT] * p->out[WIDTH]);
    double taps = p->kernel[HEIGHT] > 0 ? (double)(p->kernel[HEIGHT] * p->kernel[WIDTH])
                                        : (double)(p->in[HEIGHT] * p->in[WIDTH]) / 4.0;

    nuc_parallel_for(c->pool, p->planes, windows * taps, pool_planes, &r);
}

/* ---- maximum ---- */

static void prepare_max(struct nuc_eval_call *c)
{
    struct pool *p = prepare_windows(c);

    nuc_eval_pair(c, MAX_DILATION, p->dilation);
    if (is_line(c))
        p->dilation[HEIGHT] = 1;
    check_windows(c, p);
}

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

static void max_plane(const struct pool *p, const float *in, float *out, int64_t *indices)
{
    for (int64_t oy = 0; oy < p->out[HEIGHT]; oy++) {
        struct window y = max_window(p, HEIGHT, oy);
        for (int64_t ox = 0; ox < p->out[WIDTH]; ox++) {
            struct window x = max_window(p, WIDTH, ox);
            bool empty = y.begin >= y.end || x.begin >= x.end;
            int64_t best = empty ? 0 : max_index(p, in, y, x);
            *out++ = empty ? -INFINITY : in[best];
            if (indices != NULL)
                *indices++ = best;
        }
    }
}

static void run_max(const struct nuc_eval_call *c)
{
    run_planes(c, max_plane);
}

const struct nuc_eval_op nuc_eval_max_pool = {.prepare = prepare_max, .run = run_max};
const struct nuc_eval_op nuc_eval_max_pool1d = {.prepare = prepare_max, .run = run_max};

/* ---- average ---- */

static void prepare_avg(struct nuc_eval_call *c)
{
    struct pool *p = prepare_windows(c);

    check_windows(c, p);
    p->count_padding = nuc_eval_int(c, AVG_COUNT_PAD, 1) != 0;
    p->divisor = is_line(c) ? 0 : nuc_eval_int(c, AVG_DIVISOR, 0);
}

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

/* With its padding, but not with what ceil_mode adds behind it. */
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

static void run_avg(const struct nuc_eval_call *c)
{
    run_planes(c, avg_plane);
}

const struct nuc_eval_op nuc_eval_avg_pool = {.prepare = prepare_avg, .run = run_avg};
const struct nuc_eval_op nuc_eval_avg_pool1d = {.prepare = prepare_avg, .run = run_avg};

/* ---- adaptive average ---- */

static void prepare_adaptive(struct nuc_eval_call *c)
{
    new_pool(c);
}

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

static void run_edge_adaptive(const struct nuc_eval_call *c)
{
    run_planes(c, adaptive_plane);
}

const struct nuc_eval_op nuc_eval_edge_adaptive_avg_pool = {.prepare = prepare_adaptive, .run = run_edge_adaptive};

/* Unlike the operator of the Edge dialect, the one of ATen takes the mean when one pixel is left. */
static bool is_global(const struct nuc_eval_call *c)
{
    struct nuc_eval_image out = nuc_eval_image(c, nuc_eval_out_meta(c, 0));

    return out.height == 1 && out.width == 1;
}

static void prepare_aten_adaptive(struct nuc_eval_call *c)
{
    (is_global(c) ? nuc_eval_global_avg_pool.prepare : prepare_adaptive)(c);
}

static void run_aten_adaptive(const struct nuc_eval_call *c)
{
    (is_global(c) ? nuc_eval_global_avg_pool.run : run_edge_adaptive)(c);
}

const struct nuc_eval_op nuc_eval_adaptive_avg_pool = {.prepare = prepare_aten_adaptive, .run = run_aten_adaptive};
