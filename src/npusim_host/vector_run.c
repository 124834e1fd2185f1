/* Calls on the vector kernels: rows of outputs, shared out to threads. */
#include <float.h>

#include "device/base/span.h"
#include "device/npusim/npu_math.h"
#include "npusim_host/vector_call.h"

static uint8_t *scratch_of(const struct vec_machine *v, uint32_t thread)
{
    return v->scratch + thread * v->scratch_size;
}

void vec_share(const struct vec_machine *v, nuc_thread_work work, void *arg, int64_t n, int64_t each)
{
    int64_t grain = v->least > 0 && v->threads ? (VEC_STEPS_GRAIN + each - 1) / each : 1;

    nuc_threads_run(n * each < v->least ? NULL : v->threads, work, arg, n, grain);
}

static int64_t conv_pixel_steps(const struct vec_conv_plan *p)
{
    int64_t vectors = (int64_t)p->groups * vec_up(p->gemm.columns, VEC_LANES);

    return vectors * ((int64_t)p->gemm.segments * p->gemm.run + VEC_STEPS_REQUANT);
}

static int64_t conv_pixels(const struct vec_conv_plan *p)
{
    return p->pixels > 0 ? p->pixels : p->rows * p->window.out_w;
}

static int64_t depthwise_row_steps(const struct vec_depthwise_plan *p)
{
    const struct vec_depthwise *d = &p->depthwise;
    int64_t blocks = (int64_t)d->lines * vec_up(d->line, VEC_MAX_BLOCK);

    return blocks * (d->groups * VEC_STEPS_MIX + d->rows * VEC_STEPS_REQUANT * VEC_MAX_BLOCK / VEC_LANES);
}

static int64_t depthwise_jobs(const struct vec_depthwise_plan *p)
{
    return p->images * vec_up(p->window.out_h, p->depthwise.rows);
}

int64_t vec_plan_steps(const struct vec_plan *p)
{
    int64_t steps = 0;

    if (p->run == vec_run_depthwise)
        return depthwise_jobs(&p->u.depthwise) * depthwise_row_steps(&p->u.depthwise);
    for (; p && p->run == vec_run_conv; p = p->next)
        steps += p->u.conv.images * conv_pixels(&p->u.conv) * conv_pixel_steps(&p->u.conv);
    return steps;
}

/* Values next to each other are shared out in runs of as many. */
#define RUN 1024

static int64_t end_of_runs(int64_t end, int64_t n)
{
    return end * RUN < n ? end * RUN : n;
}

static struct vec_gemm gemm_of(const struct vec_conv_plan *p, int32_t group)
{
    struct vec_gemm g = p->gemm;

    g.weights += (size_t)group * p->group_weights;
    g.bias += group * p->group_params * VEC_LANES;
    g.params += group * p->group_params;
    return g;
}

static void conv_rows(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct vec_call *c = arg;
    const struct vec_conv_plan *p = &c->plan->u.conv;
    const int8_t *tap[VEC_MAX_TAPS];
    struct vec_cursor cursor;

    vec_cursor_start(&cursor, &p->window, c->in, scratch_of(c->v, thread));
    int64_t image = begin / p->window.out_h;
    int32_t y = (int32_t)(begin % p->window.out_h);
    for (int64_t row = begin; row < end; row++) {
        int8_t *out = c->out + row * p->window.out_row;
        vec_cursor_row(&cursor, image, y, tap);
        c->v->isa->gemm(&p->gemm, tap, p->window.out_w, out);
        for (int32_t group = 1; group < p->groups; group++) {
            const struct vec_gemm g = gemm_of(p, group);
            for (int32_t t = 0; t < p->window.n_taps; t++)
                tap[t] += p->group_in;
            c->v->isa->gemm(&g, tap, p->window.out_w, out + group * p->group_out);
        }
        y++;
        if (y == p->window.out_h) {
            y = 0;
            image++;
        }
    }
}

/* Pixels without rows, in tiles. */
static void conv_tiles(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct vec_call *c = arg;
    const struct vec_conv_plan *p = &c->plan->u.conv;
    int64_t last = end * VEC_TILE < p->pixels ? end * VEC_TILE : p->pixels;

    (void)thread;
    for (int32_t group = 0; group < p->groups; group++) {
        const struct vec_gemm g = gemm_of(p, group);
        for (int64_t at = begin * VEC_TILE; at < last; at += p->sweep) {
            const int8_t *segment = c->in + at * g.pixel + group * p->group_in;
            c->v->isa->gemm(&g, &segment, (int32_t)(last - at < p->sweep ? last - at : p->sweep),
                            c->out + at * g.out_pixel + group * p->group_out);
        }
    }
}

#define WIDE 8 /* blocks of columns that are handed out together: whole turns */

/* The columns of a single tile of pixels. */
static void conv_columns(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct vec_call *c = arg;
    const struct vec_conv_plan *p = &c->plan->u.conv;
    struct vec_gemm g = p->gemm;
    int64_t first = begin * WIDE, columns = (end - begin) * WIDE * VEC_LANES;

    (void)thread;
    g.weights += (size_t)first * g.block_bytes;
    g.bias += first * VEC_LANES;
    g.params += first * g.params_step;
    g.columns -= (int32_t)(first * VEC_LANES);
    g.columns = columns < g.columns ? (int32_t)columns : g.columns;
    c->v->isa->gemm(&g, &c->in, (int32_t)p->pixels, c->out + first * VEC_LANES);
}

static void run_image(struct vec_call *c, const struct vec_conv_plan *p)
{
    int64_t steps = c->v->threads ? conv_pixel_steps(p) : 0;
    int64_t blocks = (p->gemm.columns + WIDE * VEC_LANES - 1) / (WIDE * VEC_LANES);

    if (p->pixels == 0)
        vec_share(c->v, conv_rows, c, p->rows, p->window.out_w * steps);
    else if (p->pixels <= VEC_TILE && p->groups == 1)
        vec_share(c->v, conv_columns, c, blocks, steps * p->pixels * WIDE / vec_up(p->gemm.columns, VEC_LANES));
    else
        vec_share(c->v, conv_tiles, c, (p->pixels + VEC_TILE - 1) / VEC_TILE, steps * VEC_TILE);
}

bool vec_run_conv(struct vec_call *c)
{
    const int8_t *in = c->in;
    int8_t *out = c->out;

    for (; c->plan; c->plan = c->plan->next) {
        const struct vec_conv_plan *p = &c->plan->u.conv;
        for (int64_t b = 0; b < p->images; b++) {
            c->in = in + b * p->in_image + p->in_start;
            c->out = out + b * p->out_image + p->out_start;
            run_image(c, p);
        }
    }
    return true;
}

static void depthwise_rows(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct vec_call *c = arg;
    const struct vec_depthwise_plan *p = &c->plan->u.depthwise;
    const int8_t *tap[VEC_MAX_TAPS + VEC_DEPTH];
    struct vec_cursor cursor;

    vec_cursor_start(&cursor, &p->window, c->in, scratch_of(c->v, thread));
    int32_t each = p->depthwise.rows, jobs = vec_up(p->window.out_h, each), job = (int32_t)(begin % jobs);
    int64_t image = begin / jobs;
    for (int64_t row = begin; row < end; row++) {
        int32_t oy = job * each;
        vec_cursor_row(&cursor, image, job, tap);
        c->v->isa->depthwise(&p->depthwise, tap, p->window.out_h - oy < each ? 1 : each,
                             c->out + (image * p->window.out_h + oy) * p->window.out_row);
        job++;
        if (job == jobs) {
            job = 0;
            image++;
        }
    }
}

bool vec_run_depthwise(struct vec_call *c)
{
    const struct vec_depthwise_plan *p = &c->plan->u.depthwise;

    vec_share(c->v, depthwise_rows, c, depthwise_jobs(p), depthwise_row_steps(p));
    return true;
}

/* Offsets of the operands at row `row` of all dimensions but the last. */
static void places_of_row(const struct nuc_mc_binary *e, int64_t row, int64_t *at_a, int64_t *at_b)
{
    *at_a = 0;
    *at_b = 0;
    for (int32_t d = e->rank - 2; d >= 0; d--) {
        *at_a += row % e->shape[d] * e->a_stride[d];
        *at_b += row % e->shape[d] * e->b_stride[d];
        row /= e->shape[d];
    }
}

#define SCALED 64 /* values of a row at a time */

/* `rows` rows from `row` on, which share an operand. */
static void scale_rows(const struct vec_call *call, int64_t row, int64_t rows)
{
    const struct nuc_mc_binary *e = &call->r->binary;
    const struct vec_lines *l = call->plan->u.binary.lines;
    const int32_t last = e->rank - 1, values = e->shape[last];
    const int32_t step = (l->a_is_shared ? e->a_stride : e->b_stride)[last];
    int32_t words[SCALED] = {0}, addend[SCALED] = {0}, shift[SCALED] = {0};
    struct vec_scaled_rows s = {.words = words,
                                .addend = addend,
                                .shift = shift,
                                .zero = l->zero,
                                .rows = rows,
                                .in_row = (l->a_is_shared ? e->b_stride : e->a_stride)[last - 1],
                                .out_row = npu_pitch(e->out_pitch, values),
                                .output = vec_output_of(0, e->clamp_min, e->clamp_max)};
    int64_t at_a, at_b;

    places_of_row(e, row, &at_a, &at_b);
    const int8_t *a = call->in + at_a, *b = call->other + at_b, *shared = l->a_is_shared ? a : b;
    for (int32_t at = 0; at < values; at += SCALED) {
        int32_t n = values - at < SCALED ? values - at : SCALED;
        for (int32_t i = 0; i < n; i++) {
            int32_t byte = shared[(int64_t)(at + i) * step] - INT8_MIN;
            words[i] = l->words[byte];
            addend[i] = l->addend[byte];
            shift[i] = l->shift[byte];
        }
        call->v->isa->scale_rows(&s, (l->a_is_shared ? b : a) + at, n, call->out + row * s.out_row + at);
    }
}

static void scaled_rows(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct vec_call *call = arg;
    const int64_t rows = call->plan->u.binary.lines->rows;

    (void)thread;
    for (int64_t next; begin < end; begin = next) {
        next = (begin / rows + 1) * rows;
        next = next < end ? next : end;
        scale_rows(call, begin, next - begin);
    }
}

static void binary_rows(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct vec_call *call = arg;
    const struct nuc_mc_binary *e = &call->r->binary;
    int32_t last = e->rank - 1;
    int64_t pitch = npu_pitch(e->out_pitch, e->shape[last]);

    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        int64_t at_a, at_b;
        places_of_row(e, row, &at_a, &at_b);
        call->v->isa->binary(&call->plan->u.binary, call->in + at_a, e->a_stride[last], call->other + at_b,
                             e->b_stride[last], e->shape[last], call->out + row * pitch);
    }
}

/* One long row: threads take runs of it. */
static void binary_runs(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct vec_call *call = arg;
    int32_t a_stride = call->r->binary.a_stride[0], b_stride = call->r->binary.b_stride[0];
    int64_t at = begin * RUN, n = end_of_runs(end, call->r->binary.shape[0]) - at;

    (void)thread;
    call->v->isa->binary(&call->plan->u.binary, call->in + at * a_stride, a_stride, call->other + at * b_stride,
                         b_stride, (int32_t)n, call->out + at);
}

bool vec_run_binary(struct vec_call *c)
{
    const struct nuc_mc_binary *e = &c->r->binary;
    const bool lines = c->plan->u.binary.lines != NULL;
    int64_t rows = 1;

    c->other = npu_source_i8(c->m, e->b);
    for (int32_t d = 0; d < e->rank - 1; d++)
        rows *= e->shape[d];
    if (e->rank == 1)
        vec_share(c->v, binary_runs, c, vec_up(e->shape[0], RUN), RUN / VEC_LANES * VEC_STEPS_BINARY);
    else
        vec_share(c->v, lines ? scaled_rows : binary_rows, c, rows,
                  (int64_t)vec_up(e->shape[e->rank - 1], VEC_LANES) * (lines ? VEC_STEPS_SCALE : VEC_STEPS_BINARY));
    return true;
}

/* Rows of values, or all values in one, which is cut into runs. */
struct table_job {
    const struct vec_isa *isa;
    const int8_t *table, *in;
    int8_t *out;
    int64_t rows, row, in_pitch, pitch;
};

static void table_runs(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct table_job *job = arg;
    int64_t at = begin * RUN;

    (void)thread;
    if (job->rows == 1)
        job->isa->lookup(job->table, job->in + at, (int32_t)(end_of_runs(end, job->row) - at), job->out + at);
    for (int64_t r = begin; r < end && job->rows > 1; r++)
        job->isa->lookup(job->table, job->in + r * job->in_pitch, (int32_t)job->row, job->out + r * job->pitch);
}

static void share_table(const struct vec_machine *v, struct table_job job)
{
    job.isa = v->isa;
    if (job.in_pitch == job.row && job.pitch == job.row) {
        job.row *= job.rows;
        job.rows = 1;
    }
    if (job.rows == 1)
        vec_share(v, table_runs, &job, (job.row + RUN - 1) / RUN, RUN / VEC_MAX_BLOCK * VEC_STEPS_LOOKUP);
    else
        vec_share(v, table_runs, &job, job.rows, (int64_t)vec_up((int32_t)job.row, VEC_MAX_BLOCK) * VEC_STEPS_LOOKUP);
}

bool vec_run_table(struct vec_call *c)
{
    const struct nuc_mc_lut *l = &c->r->lut;
    const int32_t row = l->out_pitch == 0 && l->in_pitch == 0 ? l->count : l->run;

    share_table(c->v, (struct table_job){.table = npu_source_i8(c->m, l->table),
                                         .in = c->in,
                                         .out = c->out,
                                         .rows = l->count / row,
                                         .row = row,
                                         .in_pitch = npu_pitch(l->in_pitch, row),
                                         .pitch = npu_pitch(l->out_pitch, row)});
    return true;
}

void vec_run_last_table(const struct vec_machine *v, const struct nuc_mc_result *result, const int8_t *table,
                        int8_t *out)
{
    share_table(v, (struct table_job){.table = table,
                                      .in = out,
                                      .out = out,
                                      .rows = (int64_t)result->rows,
                                      .row = result->row,
                                      .in_pitch = result->pitch,
                                      .pitch = result->pitch});
}

/* Rounded up: `struct vec_pool`. */
static float reciprocal_of(int32_t count)
{
    float r = 1.0f / (float)count;

    return (double)r * count < 1.0 ? r * (1.0f + FLT_EPSILON) : r;
}

/* Pixels from `ox` on whose windows have as many taps as the first one's. */
static int32_t alike_from(const struct nuc_mc_pool *p, int32_t ox)
{
    int32_t last = (p->in_w - p->k_w + p->pad_left) / p->stride_w, x = ox * p->stride_w - p->pad_left;

    last = last < p->out_w - 1 ? last : p->out_w - 1;
    return x >= 0 && ox <= last ? last - ox + 1 : 1;
}

static void pool_row(const struct vec_call *c, const int8_t *image, int32_t oy, int8_t *out)
{
    const struct nuc_mc_pool *p = &c->r->pool;
    const int64_t pixel = npu_pitch(p->in_pitch, p->channels), out_pixel = npu_pitch(p->out_pitch, p->channels);
    const int32_t y = oy * p->stride_h - p->pad_top, all = p->k_h * p->k_w;
    const bool average = nuc_mc_opcode_of(&p->call) == NUC_MC_OP_AVERAGE_POOL_2D;
    int32_t y0, y1, x0, x1, n;

    npu_taps(y, p->in_h, p->k_h, 1, &y0, &y1);
    for (int32_t ox = 0; ox < p->out_w; ox += n, out += n * out_pixel) {
        const int32_t x = ox * p->stride_w - p->pad_left;
        npu_taps(x, p->in_w, p->k_w, 1, &x0, &x1);
        const int32_t rows = y1 - y0, columns = x1 - x0;
        const int32_t inside = rows * columns, taps = p->count_pad ? all : inside;
        n = alike_from(p, ox);
        const struct vec_pool w = {.pixels = n,
                                   .rows = columns > 0 ? rows : 0,
                                   .columns = columns,
                                   .channels = p->channels,
                                   .row = (ptrdiff_t)(p->in_w * pixel),
                                   .pixel = (ptrdiff_t)pixel,
                                   .step = (ptrdiff_t)(p->stride_w * pixel),
                                   .out_pixel = (ptrdiff_t)out_pixel,
                                   .start = p->count_pad ? (all - inside) * p->pad_value : 0,
                                   .count = taps > 0 ? taps : 1, /* the mean of nothing is 0 */
                                   .reciprocal = reciprocal_of(taps > 0 ? taps : 1),
                                   .output = vec_output_of(0, p->clamp_min, p->clamp_max)};
        const int8_t *in = inside > 0 ? image + (y + y0) * w.row + (x + x0) * w.pixel : image;
        (average ? c->v->isa->average : c->v->isa->maximum)(&w, in, out);
    }
}

static void pool_rows(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct vec_call *c = arg;
    const struct nuc_mc_pool *p = &c->r->pool;
    int64_t image = (int64_t)p->in_h * p->in_w * npu_pitch(p->in_pitch, p->channels);
    int64_t row_bytes = p->out_w * npu_pitch(p->out_pitch, p->channels);

    (void)thread;
    for (int64_t row = begin; row < end; row++)
        pool_row(c, c->in + row / p->out_h * image, (int32_t)(row % p->out_h), c->out + row * row_bytes);
}

bool vec_run_pool(struct vec_call *c)
{
    const struct nuc_mc_pool *p = &c->r->pool;
    int64_t vectors = (int64_t)p->out_w * vec_up(p->channels, VEC_LANES);

    if (p->k_h * p->k_w > VEC_MAX_POOLED)
        return false;
    vec_share(c->v, pool_rows, c, (int64_t)p->batches * p->out_h,
              vectors * ((int64_t)p->k_h * p->k_w + VEC_STEPS_REQUANT));
    return true;
}

#define REDUCED_BLOCK 512      /* values next to each other that are summed together */
#define MOST_REDUCED (1 << 23) /* sums of as many int8 stay inside 31 bits */

static int64_t reduced_count(const struct nuc_mc_reduce *d)
{
    int64_t count = 1;

    for (int32_t i = 0; i < d->reduced_rank; i++)
        count *= d->reduced_shape[i];
    return count;
}

/* `n` values next to each other: by `scale`, or, where it is NULL, one after the other by npu_reduced_sum(). */
static void reduce_block(const struct vec_machine *v, const struct nuc_mc_reduce *d, const struct vec_params *scale,
                         const struct vec_output *output, const int8_t *in, int32_t n, int8_t *out)
{
    static const int32_t none[NUC_MC_MAX_RANK] = {0};
    int32_t last = d->reduced_rank - 1, sum[REDUCED_BLOCK], start = -(int32_t)reduced_count(d) * d->input_zero;
    struct npu_walk walk = {.rank = last, .shape = d->reduced_shape};
    int64_t at = 0, unused = 0;

    for (int32_t i = 0; i < vec_up(n, VEC_LANES) * VEC_LANES; i++)
        sum[i] = start;
    do {
        v->isa->sum_rows(in + at, d->reduced_stride[last], d->reduced_shape[last], n, sum);
    } while (npu_step(&walk, &at, d->reduced_stride, &unused, none));
    if (scale) {
        v->isa->scale_sums(scale, output, sum, n, out);
        return;
    }
    for (int32_t i = 0; i < n; i++)
        out[i] = (int8_t)nuc_clamp_i32(npu_reduced_sum(d, sum[i]), d->clamp_min, d->clamp_max);
}

/* The last two reduced dimensions as one where that is a list of rows as well. */
static bool join_reduced(struct nuc_mc_reduce *d)
{
    int32_t last = d->reduced_rank - 1;

    if (last < 1 || d->reduced_stride[last - 1] != (int64_t)d->reduced_shape[last] * d->reduced_stride[last])
        return false;
    d->reduced_shape[last - 1] *= d->reduced_shape[last];
    d->reduced_stride[last - 1] = d->reduced_stride[last];
    d->reduced_rank = last;
    return true;
}

/* Sums of channels next to each other. */
bool vec_run_reduce(struct vec_call *c)
{
    static const int32_t none[NUC_MC_MAX_RANK] = {0};
    struct nuc_mc_reduce joined = c->r->reduce, *d = &joined;
    int32_t last = d->rank - 1, size = last < 0 ? 1 : d->shape[last];
    struct npu_walk walk = {.rank = last, .shape = d->shape};
    int64_t at = 0, unused = 0;
    const struct vec_output output = vec_output_of(d->output_zero, d->clamp_min, d->clamp_max);
    struct vec_params scale = {.form = VEC_ANY};
    bool is_mean = nuc_mc_opcode_of(&d->call) == NUC_MC_OP_MEAN;
    int8_t *out = c->out;

    if (last < 0 || d->stride[last] != 1 || size == 1 || reduced_count(d) > MOST_REDUCED)
        return false;
    for (int32_t i = 0; i < VEC_LANES && is_mean; i++)
        is_mean = vec_params_set_word(&scale, i, (uint64_t)reduced_count(d) * 255, d->multiplier, d->shift);
    if (is_mean)
        vec_params_close(c->v->isa, &scale, &output, NULL);
    while (join_reduced(d)) {
    }
    do {
        for (int32_t i = 0; i < size; i += REDUCED_BLOCK)
            reduce_block(c->v, d, is_mean ? &scale : NULL, &output, c->in + at + i,
                         size - i < REDUCED_BLOCK ? size - i : REDUCED_BLOCK, out + i);
        out += size;
    } while (npu_step(&walk, &at, d->stride, &unused, none));
    return true;
}

#define LARGEST_BLOCK 64
#define LONG_SOFTMAX 256 /* values: with more of them a table of all outputs pays */

/* The largest of `n`, LARGEST_BLOCK at a time as a pool of them has it. */
static int32_t largest_of(const struct vec_isa *isa, const int8_t *in, int32_t n)
{
    int8_t most[LARGEST_BLOCK];
    struct vec_pool w = {.pixels = 1,
                         .rows = 1,
                         .columns = n / LARGEST_BLOCK,
                         .channels = LARGEST_BLOCK,
                         .pixel = LARGEST_BLOCK,
                         .output = vec_output_of(0, INT8_MIN, INT8_MAX)};
    int32_t largest = INT8_MIN;

    isa->maximum(&w, in, most);
    for (int32_t i = 0; i < LARGEST_BLOCK; i++)
        largest = most[i] > largest ? most[i] : largest;
    for (int32_t i = w.columns * LARGEST_BLOCK; i < n; i++)
        largest = in[i] > largest ? in[i] : largest;
    return largest;
}

static void softmax_row(const struct vec_isa *isa, const struct vec_softmax_plan *p, const int8_t *in, int32_t n,
                        int8_t *out)
{
    int32_t largest = largest_of(isa, in, n);
    int8_t bytes[256];
    uint32_t sum = 0;

    for (int32_t i = 0; i < n; i++)
        sum += p->addends[largest - in[i]];
    npu_softmax_bytes(p->exponentials, sum, largest, bytes);
    isa->lookup(bytes, in, n, out);
}

bool vec_run_softmax(struct vec_call *c)
{
    const struct nuc_mc_softmax *s = &c->r->softmax;
    const struct vec_softmax_plan *p = &c->plan->u.softmax;
    const size_t pitch = (size_t)npu_pitch(s->out_pitch, s->depth), rows = (size_t)s->rows;
    bool apart = nuc_is_apart(c->out, pitch * rows, c->in, (size_t)s->depth * rows);
    bool in_place = c->out == c->in && pitch == (size_t)s->depth;

    /* A row that lies over another part of its input is computed value by value, as it is defined. */
    if (s->depth <= LONG_SOFTMAX || !(apart || in_place)) {
        npu_softmax_from(s, p->exponentials, c->in, c->out);
        return true;
    }
    for (size_t row = 0; row < rows; row++)
        softmax_row(c->v->isa, p, c->in + row * (size_t)s->depth, s->depth, c->out + row * pitch);
    return true;
}
