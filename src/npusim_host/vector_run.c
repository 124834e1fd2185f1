/* Calls on the vector kernels: rows of outputs, shared out to threads. */
#include <string.h>

#include "npusim/npu_math.h"
#include "npusim_host/vector_plan.h"

#define LEAST_WORK 16384 /* products or bytes below which more threads cost more than they bring */

static uint8_t *scratch_of(const struct vec_machine *v, uint32_t thread)
{
    return v->scratch + thread * v->scratch_size;
}

void vec_share(const struct vec_machine *v, vec_work work, void *arg, int64_t n, int64_t each)
{
    vec_threads_run(n * each < LEAST_WORK ? NULL : v->threads, work, arg, n);
}

struct window_job {
    const struct vec_machine *v;
    const void *plan;
    const int8_t *in;
    int8_t *out;
};

static void conv_rows(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct window_job *job = arg;
    const struct vec_conv_plan *p = job->plan;
    const int8_t *tap[VEC_MAX_TAPS];
    struct vec_cursor cursor;
    struct vec_gemm g = p->gemm;

    vec_cursor_start(&cursor, &p->window, job->in, scratch_of(job->v, thread));
    for (int64_t row = begin; row < end; row++) {
        int8_t *out = job->out + row * p->window.out_row;
        int32_t pixels = row == p->rows - 1 ? p->last_w : p->window.out_w;
        vec_cursor_row(&cursor, row / p->window.out_h, (int32_t)(row % p->window.out_h), tap);
        g.weights = p->gemm.weights;
        g.params = p->gemm.params;
        for (int32_t group = 0; group < p->groups; group++) {
            job->v->isa->gemm(&g, tap, pixels, out + group * p->group_out);
            for (int32_t t = 0; t < p->window.n_taps; t++)
                tap[t] += p->group_in;
            g.weights += p->group_weights;
            g.params += p->group_params;
        }
    }
}

void vec_run_conv(const struct vec_machine *v, const struct vec_conv_plan *p, const int8_t *in, int8_t *out)
{
    struct window_job job = {v, p, in, out};
    int64_t work = (int64_t)p->window.out_w * p->groups * p->gemm.columns * p->gemm.segments * p->gemm.run;

    vec_share(v, conv_rows, &job, p->rows, work);
}

static void depthwise_rows(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct window_job *job = arg;
    const struct vec_depthwise_plan *p = job->plan;
    const int8_t *tap[VEC_MAX_TAPS + VEC_DEPTH];
    struct vec_cursor cursor;

    vec_cursor_start(&cursor, &p->window, job->in, scratch_of(job->v, thread));
    int32_t each = p->depthwise.rows, jobs = (p->window.out_h + each - 1) / each;

    for (int64_t job_row = begin; job_row < end; job_row++) {
        int64_t image = job_row / jobs;
        int32_t oy = (int32_t)(job_row % jobs) * each;
        vec_cursor_row(&cursor, image, oy, tap);
        job->v->isa->depthwise(&p->depthwise, tap, p->window.out_h - oy < each ? 1 : each,
                               job->out + (image * p->window.out_h + oy) * p->window.out_row);
    }
}

void vec_run_depthwise(const struct vec_machine *v, const struct vec_depthwise_plan *p, const int8_t *in, int8_t *out)
{
    struct window_job job = {v, p, in, out};

    int32_t each = p->depthwise.rows;

    vec_share(v, depthwise_rows, &job, p->images * ((p->window.out_h + each - 1) / each),
              (int64_t)p->depthwise.lines * p->depthwise.line * p->window.n_taps);
}

struct binary_job {
    const struct vec_isa *isa;
    const struct vec_binary *plan;
    const struct nuc_mc_binary *e;
    const int8_t *a, *b;
    int8_t *out;
};

/* Offsets of the operands at row `row` of all dimensions but the last. */
static void binary_rows(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct binary_job *job = arg;
    const struct nuc_mc_binary *e = job->e;
    int32_t last = e->rank - 1;
    int64_t pitch = npu_pitch(e->out_pitch, e->shape[last]);

    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        int64_t rest = row, at_a = 0, at_b = 0;
        for (int32_t d = last - 1; d >= 0; d--) {
            at_a += rest % e->shape[d] * e->a_stride[d];
            at_b += rest % e->shape[d] * e->b_stride[d];
            rest /= e->shape[d];
        }
        job->isa->binary(job->plan, job->a + at_a, e->a_stride[last], job->b + at_b, e->b_stride[last], e->shape[last],
                         job->out + row * pitch);
    }
}

/* One long row: threads take parts of it. */
static void binary_part(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct binary_job *job = arg;
    int32_t a_stride = job->e->a_stride[0], b_stride = job->e->b_stride[0];

    (void)thread;
    job->isa->binary(job->plan, job->a + begin * a_stride, a_stride, job->b + begin * b_stride, b_stride,
                     (int32_t)(end - begin), job->out + begin);
}

void vec_run_binary(const struct vec_machine *v, const struct vec_binary *p, const struct nuc_mc_binary *e,
                    const int8_t *a, const int8_t *b, int8_t *out)
{
    struct binary_job job = {v->isa, p, e, a, b, out};
    int64_t rows = 1;

    if (e->rank == 1) {
        vec_share(v, binary_part, &job, e->shape[0], 1);
        return;
    }
    for (int32_t d = 0; d < e->rank - 1; d++)
        rows *= e->shape[d];
    vec_share(v, binary_rows, &job, rows, e->shape[e->rank - 1]);
}

struct table_job {
    const struct vec_isa *isa;
    const int8_t *table, *in;
    int8_t *out;
    int32_t run; /* values of a run; 0: all are next to each other, and threads share single ones */
    int64_t in_pitch, pitch;
};

static void table_runs(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct table_job *job = arg;

    (void)thread;
    if (job->run == 0)
        job->isa->lookup(job->table, job->in + begin, (int32_t)(end - begin), job->out + begin);
    for (int64_t r = begin; r < end && job->run > 0; r++)
        job->isa->lookup(job->table, job->in + r * job->in_pitch, job->run, job->out + r * job->pitch);
}

void vec_run_table(const struct vec_machine *v, const struct nuc_mc_lut *l, const int8_t *table, const int8_t *in,
                   int8_t *out)
{
    bool dense = l->out_pitch == 0 && l->in_pitch == 0;
    struct table_job job = {
        v->isa, table, in, out, dense ? 0 : l->run, npu_pitch(l->in_pitch, l->run), npu_pitch(l->out_pitch, l->run)};

    vec_share(v, table_runs, &job, job.run == 0 ? l->count : l->count / l->run, job.run == 0 ? 1 : l->run);
}

void vec_run_last_table(const struct vec_machine *v, const struct nuc_mc_result *result, const int8_t *table,
                        int8_t *out)
{
    bool dense = result->pitch == result->row;
    int64_t rows = (int64_t)result->rows;
    struct table_job job = {v->isa, table, out, out, dense ? 0 : result->row, result->pitch, result->pitch};

    vec_share(v, table_runs, &job, dense ? rows * result->row : rows, dense ? 1 : result->row);
}

struct pool_job {
    const struct vec_isa *isa;
    const struct nuc_mc_pool *p;
    bool average;
    const int8_t *in;
    int8_t *out;
};

/* First tap of a window at `origin` that is inside [0, size), and their number. */
static int32_t taps_inside(int32_t origin, int32_t size, int32_t taps, int32_t *first)
{
    int32_t end = size - origin < taps ? size - origin : taps;

    *first = origin < 0 ? -origin : 0;
    return end > *first ? end - *first : 0;
}

static void pool_row(const struct pool_job *job, const int8_t *image, int32_t oy, int8_t *out)
{
    const struct nuc_mc_pool *p = job->p;
    struct vec_pool w = {.channels = p->channels,
                         .row = (ptrdiff_t)(p->in_w * npu_pitch(p->in_pitch, p->channels)),
                         .pixel = (ptrdiff_t)npu_pitch(p->in_pitch, p->channels),
                         .output = {0, p->clamp_min, p->clamp_max}};
    int64_t pitch = npu_pitch(p->out_pitch, p->channels);
    int32_t y = oy * p->stride_h - p->pad_top, all = p->k_h * p->k_w, y0, x0;
    int32_t rows = taps_inside(y, p->in_h, p->k_h, &y0);

    for (int32_t ox = 0; ox < p->out_w; ox++, out += pitch) {
        int32_t x = ox * p->stride_w - p->pad_left;
        w.columns = taps_inside(x, p->in_w, p->k_w, &x0);
        w.rows = w.columns > 0 ? rows : 0;
        w.start = p->count_pad ? (all - w.rows * w.columns) * p->pad_value : 0;
        w.count = p->count_pad ? all : w.rows * w.columns;
        /* Without taps the mean is 0: so is that of nothing in one. */
        w.count = w.count == 0 ? 1 : w.count;
        const int8_t *in = w.rows > 0 ? image + (y + y0) * w.row + (x + x0) * w.pixel : image;
        if (job->average)
            job->isa->average(&w, in, out);
        else
            job->isa->maximum(&w, in, out);
    }
}

static void pool_rows(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct pool_job *job = arg;
    const struct nuc_mc_pool *p = job->p;
    int64_t image = (int64_t)p->in_h * p->in_w * npu_pitch(p->in_pitch, p->channels);
    int64_t row_bytes = p->out_w * npu_pitch(p->out_pitch, p->channels);

    (void)thread;
    for (int64_t row = begin; row < end; row++)
        pool_row(job, job->in + row / p->out_h * image, (int32_t)(row % p->out_h), job->out + row * row_bytes);
}

bool vec_pools(const struct nuc_mc_pool *p)
{
    return p->k_h * p->k_w <= VEC_MAX_POOLED;
}

void vec_run_pool(const struct vec_machine *v, const struct nuc_mc_pool *p, bool average, const int8_t *in, int8_t *out)
{
    struct pool_job job = {v->isa, p, average, in, out};

    vec_share(v, pool_rows, &job, (int64_t)p->batches * p->out_h, (int64_t)p->out_w * p->channels * p->k_h * p->k_w);
}

#define REDUCED_BLOCK 64
#define MOST_REDUCED (1 << 23) /* sums of as many int8 stay inside 31 bits */

bool vec_reduces(const struct nuc_mc_reduce *d)
{
    int64_t count = 1;

    for (int32_t i = 0; i < d->reduced_rank; i++)
        count *= d->reduced_shape[i];
    return d->rank > 0 && d->stride[d->rank - 1] == 1 && d->shape[d->rank - 1] > 1 && count <= MOST_REDUCED;
}

/* `n` values next to each other. */
static void reduce_block(const struct vec_machine *v, const struct nuc_mc_reduce *d, const int8_t *in, int32_t n,
                         int8_t *out)
{
    static const int32_t none[NUC_MC_MAX_RANK] = {0};
    int32_t last = d->reduced_rank - 1, sum[REDUCED_BLOCK] = {0};
    struct npu_walk walk = {.rank = last, .shape = d->reduced_shape};
    int64_t at = 0, unused = 0, count = 1;

    for (int32_t i = 0; i < d->reduced_rank; i++)
        count *= d->reduced_shape[i];
    do {
        v->isa->sum_rows(in + at, d->reduced_stride[last], d->reduced_shape[last], n, sum);
    } while (npu_step(&walk, &at, d->reduced_stride, &unused, none));
    for (int32_t i = 0; i < n; i++)
        out[i] = (int8_t)nuc_clamp_i32(npu_reduced_sum(d, sum[i] - count * d->input_zero), d->clamp_min, d->clamp_max);
}

void vec_run_reduce(const struct vec_machine *v, const struct nuc_mc_reduce *d, const int8_t *in, int8_t *out)
{
    static const int32_t none[NUC_MC_MAX_RANK] = {0};
    int32_t last = d->rank - 1, size = d->shape[last];
    struct npu_walk walk = {.rank = last, .shape = d->shape};
    int64_t at = 0, unused = 0;

    do {
        for (int32_t i = 0; i < size; i += REDUCED_BLOCK)
            reduce_block(v, d, in + at + i, size - i < REDUCED_BLOCK ? size - i : REDUCED_BLOCK, out + i);
        out += size;
    } while (npu_step(&walk, &at, d->stride, &unused, none));
}
