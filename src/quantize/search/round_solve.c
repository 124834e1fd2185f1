#include "quantize/search/round_solve.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "eval/eval_gemm.h"

#define LANES NUC_TILE_COLUMNS

/* Columns of a Gram matrix that are summed up at a time. */
#define CHUNK 512u

/* Pivots of the Cholesky factorization that are taken together. */
#define PIVOTS 32u

/* Added to the diagonal, as a share of its mean. */
#define DAMPING 1e-3

#define MOST_SWEEPS 6

/* What the columns of a half say. */
struct sums {
    double columns, batches;
    float *gram;                        /* [depth][ld], upper triangle of inputs * inputs^T */
    float *cross;                       /* [depth][ld_out], inputs * residuals^T */
    double *input, *residual;           /* sums */
    double power;                       /* of the residuals */
    double gram_squares, cross_squares; /* over the batches, of means of products: off the diagonal, all */
};

/* What one worker needs while it rounds sixteen outputs. */
struct lanes {
    float *weight, *shift, *error, *best; /* [depth][16]; errors are negated */
    float *gradient, *row;                /* [depth] */
};

/* Squares: of what errors of weights and biases make of columns; of what is left of the residuals then. */
struct loss {
    double made, left;
};

struct nuc_rounder {
    struct nuc_pool *pool;
    struct nuc_gemm gemm;
    uint32_t most_depth, most_out;
    struct sums halves[2], both;
    float *panels, *batch_gram, *batch_cross;
    double *factor;       /* [depth][ld], upper triangle */
    float *upper, *lower; /* the factor and its transpose in float */
    float *moments;       /* [depth][ld]: the regularized moments, in the order of rounding */
    float *target;        /* [depth][ld_out]: their right-hand sides */
    uint32_t *order;      /* of rounding, backwards: the last one is rounded first */
    double *diagonal;
    double *input_mean, *residual_mean;
    struct lanes *lanes;       /* by worker */
    size_t chunk_begin, chunk; /* columns in the panels */
    struct loss *losses;       /* by four outputs */
    struct loss *held_out;     /* by way and batch */
    uint32_t most_batches;
    int8_t *integers; /* of a trial */
    float *scales;
    double *bias;
};

static uint32_t padded(uint32_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

static void loop(struct nuc_pool *pool, size_t count, double cost, nuc_parallel_fn fn, const void *arg)
{
    if (pool != NULL)
        nuc_parallel_for(pool, count, cost, fn, arg);
    else if (count != 0)
        fn(arg, (struct nuc_part){0, count, 0});
}

static void new_sums(struct nuc_context *cx, struct sums *s, size_t depth, size_t out)
{
    s->gram = nuc_alloc_array(cx, depth * depth, sizeof(float));
    s->cross = nuc_alloc_array(cx, depth * out, sizeof(float));
    s->input = nuc_alloc_array(cx, depth, sizeof(double));
    s->residual = nuc_alloc_array(cx, out, sizeof(double));
}

struct nuc_rounder *nuc_rounder_new(struct nuc_context *cx, struct nuc_pool *pool, uint32_t depth, uint32_t out,
                                    uint32_t batches)
{
    struct nuc_rounder *r = nuc_alloc(cx, sizeof *r);
    size_t d = padded(depth), o = padded(out), widest = d > o ? d : o;
    unsigned workers = pool != NULL ? nuc_pool_threads(pool) : 1;

    *r = (struct nuc_rounder){.pool = pool,
                              .gemm = nuc_gemm_select(false, false),
                              .most_depth = depth,
                              .most_out = out,
                              .most_batches = batches};
    new_sums(cx, &r->halves[0], d, o);
    new_sums(cx, &r->halves[1], d, o);
    new_sums(cx, &r->both, d, o);
    r->panels = nuc_alloc_array(cx, CHUNK * widest, sizeof(float));
    r->batch_gram = nuc_alloc_array(cx, d * d, sizeof(float));
    r->batch_cross = nuc_alloc_array(cx, d * o, sizeof(float));
    r->factor = nuc_alloc_array(cx, d * d, sizeof(double));
    r->upper = nuc_alloc_array(cx, d * d, sizeof(float));
    r->lower = nuc_alloc_array(cx, d * d, sizeof(float));
    r->moments = nuc_alloc_array(cx, d * d, sizeof(float));
    r->target = nuc_alloc_array(cx, d * o, sizeof(float));
    r->order = nuc_alloc_array(cx, d, sizeof *r->order);
    r->diagonal = nuc_alloc_array(cx, d, sizeof(double));
    r->input_mean = nuc_alloc_array(cx, d, sizeof(double));
    r->residual_mean = nuc_alloc_array(cx, o, sizeof(double));
    r->losses = nuc_alloc_array(cx, o, sizeof *r->losses);
    r->held_out = nuc_alloc_array(cx, (size_t)NUC_WAYS * batches, sizeof *r->held_out);
    r->integers = nuc_alloc_array(cx, (size_t)out * depth, 1);
    r->scales = nuc_alloc_array(cx, o, sizeof(float));
    r->bias = nuc_alloc_array(cx, o, sizeof(double));
    r->lanes = nuc_alloc_array(cx, workers, sizeof *r->lanes);
    for (unsigned i = 0; i < workers; i++) {
        struct lanes *l = &r->lanes[i];
        l->weight = nuc_alloc_array(cx, 4 * d * LANES, sizeof(float));
        l->shift = l->weight + d * LANES;
        l->error = l->shift + d * LANES;
        l->best = l->error + d * LANES;
        l->gradient = nuc_alloc_array(cx, 2 * d, sizeof(float));
        l->row = l->gradient + d;
    }
    return r;
}

/* ---- sums over columns ---- */

/* The mean of each row over all columns is taken off it. */
static void centre(float *rows, size_t count, size_t stride, size_t columns, double *mean)
{
    for (size_t i = 0; i < count; i++) {
        float *row = rows + i * stride;
        double sum = 0;
        for (size_t k = 0; k < columns; k++)
            sum += (double)row[k];
        mean[i] = sum / (double)columns;
        for (size_t k = 0; k < columns; k++)
            row[k] -= (float)mean[i];
    }
}

/* Products of all rows of a with all rows of b over some columns; those of b are packed into panels. */
struct products {
    const struct nuc_rounder *r;
    const float *a;
    size_t stride, columns;
    uint32_t rows, width;
    bool upper; /* a and b are the same: nothing below the diagonal */
    float *out;
};

static void add_products(const void *arg, struct nuc_part part)
{
    const struct products *p = arg;
    float tile[NUC_TILE_ROWS * LANES];

    for (size_t i = part.begin * NUC_TILE_ROWS; i < part.end * NUC_TILE_ROWS && i < p->rows; i += NUC_TILE_ROWS) {
        size_t rows = p->rows - i < NUC_TILE_ROWS ? p->rows - i : NUC_TILE_ROWS;
        for (size_t j = p->upper ? i / LANES * LANES : 0; j < p->width; j += LANES) {
            for (size_t k = 0; k < rows; k++)
                memcpy(tile + k * LANES, p->out + (i + k) * p->width + j, LANES * sizeof(float));
            p->r->gemm.tile(p->a + i * p->stride, p->stride, p->r->panels + j * p->columns, p->columns, rows, tile);
            for (size_t k = 0; k < rows; k++)
                memcpy(p->out + (i + k) * p->width + j, tile + k * LANES, LANES * sizeof(float));
        }
    }
}

static void multiply(struct nuc_rounder *r, const float *a, uint32_t rows, const float *b, uint32_t b_rows,
                     size_t stride, size_t columns, bool upper, float *out)
{
    struct products p = {r, a, stride, columns, rows, padded(b_rows), upper, out};

    nuc_pack_panels(b, columns, b_rows, 1, stride, r->panels);
    loop(r->pool, (rows + NUC_TILE_ROWS - 1) / NUC_TILE_ROWS,
         (double)rows * (double)columns * p.width / (upper ? 2 : 1), add_products, &p);
}

/* Adds the sum over a batch to that over its half; returns the sum of squares of the batch's means. */
static double add_batch(float *sum, const float *batch, uint32_t rows, uint32_t width, bool upper, double columns)
{
    double squares = 0;

    for (size_t i = 0; i < rows; i++) {
        float part = 0;
        for (size_t j = upper ? i : 0; j < width; j++) {
            float x = batch[i * width + j];
            sum[i * width + j] += x;
            part += upper && i == j ? 0 : x * x;
        }
        squares += (double)part;
    }
    return squares / (columns * columns);
}

static void add_rows(const float *rows, size_t count, size_t stride, const struct nuc_round_batch *b, double *sums,
                     double *power)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = b->begin; k < b->end; k++) {
            double x = (double)rows[i * stride + k];
            sums[i] += x;
            *power += x * x;
        }
    }
}

static void see_batch(struct nuc_rounder *r, const struct nuc_round_problem *p, const struct nuc_round_batch *b)
{
    struct sums *s = &r->halves[b->half];
    uint32_t width = padded(p->depth), out = padded(p->out);
    double columns = (double)(b->end - b->begin), unused = 0;

    memset(r->batch_gram, 0, (size_t)p->depth * width * sizeof(float));
    memset(r->batch_cross, 0, (size_t)p->depth * out * sizeof(float));
    for (size_t k = b->begin; k < b->end; k += CHUNK) {
        size_t count = b->end - k < CHUNK ? b->end - k : CHUNK;
        multiply(r, p->inputs + k, p->depth, p->inputs + k, p->depth, p->stride, count, true, r->batch_gram);
        multiply(r, p->inputs + k, p->depth, p->residuals + k, p->out, p->stride, count, false, r->batch_cross);
    }
    s->gram_squares += add_batch(s->gram, r->batch_gram, p->depth, width, true, columns);
    s->cross_squares += add_batch(s->cross, r->batch_cross, p->depth, out, false, columns);
    add_rows(p->inputs, p->depth, p->stride, b, s->input, &unused);
    add_rows(p->residuals, p->out, p->stride, b, s->residual, &s->power);
    s->columns += columns;
    s->batches += 1;
}

static void clear(struct sums *s, const struct nuc_round_problem *p)
{
    memset(s->gram, 0, (size_t)p->depth * padded(p->depth) * sizeof(float));
    memset(s->cross, 0, (size_t)p->depth * padded(p->out) * sizeof(float));
    memset(s->input, 0, p->depth * sizeof(double));
    memset(s->residual, 0, p->out * sizeof(double));
    s->columns = s->batches = s->power = s->gram_squares = s->cross_squares = 0;
}

static void add_sums(struct sums *to, const struct sums *s, const struct nuc_round_problem *p)
{
    for (size_t i = 0; i < (size_t)p->depth * padded(p->depth); i++)
        to->gram[i] += s->gram[i];
    for (size_t i = 0; i < (size_t)p->depth * padded(p->out); i++)
        to->cross[i] += s->cross[i];
    for (size_t i = 0; i < p->depth; i++)
        to->input[i] += s->input[i];
    for (size_t i = 0; i < p->out; i++)
        to->residual[i] += s->residual[i];
    to->columns += s->columns;
    to->batches += s->batches;
    to->power += s->power;
    to->gram_squares += s->gram_squares;
    to->cross_squares += s->cross_squares;
}

/* ---- moments ---- */

/*
 * The share of the power of mean values that is chance. `squares` sums the squares of each batch's means up, `power` is
 * that of the mean over all.
 */
static double share_of_chance(double squares, double power, double batches)
{
    if (batches < 2 || !(power > 0))
        return 1;
    double variance = (squares - batches * power) / (batches * (batches - 1));
    return fmin(fmax(variance / power, 0), 1);
}

/* Second moment of inputs i and j, central where the bias moves. */
static double moment(const struct sums *s, const struct nuc_round_problem *p, uint32_t i, uint32_t j)
{
    double m =
        (double)s->gram[i < j ? (size_t)i * padded(p->depth) + j : (size_t)j * padded(p->depth) + i] / s->columns;

    return p->moves_bias ? m - s->input[i] / s->columns * (s->input[j] / s->columns) : m;
}

static double cross_moment(const struct sums *s, const struct nuc_round_problem *p, uint32_t i, uint32_t o)
{
    double m = (double)s->cross[(size_t)i * padded(p->out) + o] / s->columns;

    return p->moves_bias ? m - s->input[i] / s->columns * (s->residual[o] / s->columns) : m;
}

/* Heap sort by the diagonal, equal ones by their position. */
static bool comes_before(const struct nuc_rounder *r, uint32_t a, uint32_t b)
{
    return r->diagonal[a] < r->diagonal[b] || (!(r->diagonal[b] < r->diagonal[a]) && a < b);
}

static void sift(struct nuc_rounder *r, uint32_t at, uint32_t count)
{
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && comes_before(r, r->order[child], r->order[child + 1]))
            child++;
        if (!comes_before(r, r->order[at], r->order[child]))
            return;
        uint32_t held = r->order[at];
        r->order[at] = r->order[child];
        r->order[child] = held;
    }
}

/* The regularized moments in the order of rounding; false when all inputs are constant. */
static bool set_moments(struct nuc_rounder *r, const struct nuc_round_problem *p, const struct sums *s)
{
    uint32_t d = p->depth;
    size_t ld = padded(d);
    double power = 0, trace = 0;

    for (uint32_t i = 0; i < d; i++) {
        r->diagonal[i] = fmax(moment(s, p, i, i), 0);
        trace += r->diagonal[i];
        for (uint32_t j = i + 1; j < d; j++) {
            double m = (double)s->gram[i * ld + j] / s->columns;
            power += m * m;
        }
    }
    if (!(trace > 0) || !isfinite(trace))
        return false;
    double keep = 1 - share_of_chance(s->gram_squares, power, s->batches), damping = DAMPING * trace / d;
    for (uint32_t i = 0; i < d; i++)
        r->order[i] = i;
    for (uint32_t i = d / 2; i-- > 0;)
        sift(r, i, d);
    for (uint32_t end = d; end-- > 1;) {
        uint32_t held = r->order[0];
        r->order[0] = r->order[end];
        r->order[end] = held;
        sift(r, 0, end);
    }
    for (uint32_t i = 0; i < d; i++) {
        for (uint32_t j = i; j < d; j++) {
            uint32_t a = r->order[i], b = r->order[j];
            double m = i == j ? r->diagonal[a] + damping : keep * moment(s, p, a, b);
            r->factor[i * ld + j] = m;
            r->moments[i * ld + j] = r->moments[j * ld + i] = (float)m;
        }
    }
    return true;
}

/* ---- Cholesky factorization ---- */

struct update {
    double *a;
    size_t ld;
    uint32_t first, pivots, depth;
};

/* Rows behind the pivots, counted from there. */
static void subtract_pivots(const void *arg, struct nuc_part part)
{
    const struct update *u = arg;
    uint32_t begin = u->first + u->pivots;

    for (size_t i = begin + part.begin; i < begin + part.end; i++) {
        double *row = u->a + i * u->ld;
        for (uint32_t k = u->first; k < begin; k++) {
            const double *pivot = u->a + k * u->ld;
            double x = pivot[i];
            for (size_t j = i; j < u->depth; j++)
                row[j] -= x * pivot[j];
        }
    }
}

/* U with U^T U = A in the upper triangle of A. Pivots that rounding has made too small become `least`. */
static void factorize(struct nuc_rounder *r, uint32_t depth, double least)
{
    double *a = r->factor;
    size_t ld = padded(depth);

    for (uint32_t first = 0; first < depth; first += PIVOTS) {
        uint32_t last = first + PIVOTS < depth ? first + PIVOTS : depth;
        for (size_t k = first; k < last; k++) {
            double root = sqrt(fmax(a[k * ld + k], least));
            a[k * ld + k] = root;
            for (size_t j = k + 1; j < depth; j++)
                a[k * ld + j] /= root;
            for (size_t i = k + 1; i < last; i++) {
                for (size_t j = i; j < depth; j++)
                    a[i * ld + j] -= a[k * ld + i] * a[k * ld + j];
            }
        }
        struct update u = {a, ld, first, last - first, depth};
        double rows = depth - last;
        loop(r->pool, depth - last, rows * rows / 2 * (last - first), subtract_pivots, &u);
    }
    for (size_t i = 0; i < depth; i++) {
        for (size_t j = i; j < depth; j++)
            r->upper[i * ld + j] = r->lower[j * ld + i] = (float)a[i * ld + j];
    }
}

/* ---- rounding ---- */

/* What the scale of an output may become, times its own: many where few weights may happen to suit one. */
#define MANY_FACTORS 33
#define FEW_FACTORS 3
#define FEW_WEIGHTS 64
#define SMALLEST_FACTOR_OF_MANY 0.8f
#define SMALLEST_FACTOR_OF_FEW 0.9f

static unsigned factors_for(const struct nuc_round_problem *p)
{
    if (!p->moves_scales)
        return 1;
    return p->depth <= FEW_WEIGHTS ? MANY_FACTORS : FEW_FACTORS;
}

static float factor_at(unsigned i, unsigned count)
{
    float smallest = count == MANY_FACTORS ? SMALLEST_FACTOR_OF_MANY : SMALLEST_FACTOR_OF_FEW;

    return count == 1 ? 1 : 1 - (1 - smallest) * (float)i / (float)(count - 1);
}

struct rounding {
    struct nuc_rounder *r;
    const struct nuc_round_problem *p;
};

static float on_grid(float x, float scale, float most)
{
    float q = rintf(x / scale);

    return q > most ? most : q >= -most ? q : -most;
}

/* shift = U^-T target: what the factor times the errors should be. */
static void find_shift(const struct nuc_rounder *r, uint32_t depth, const float *target, size_t ld_target, float *shift,
                       float *negative)
{
    size_t ld = padded(depth);
    float tile[NUC_TILE_ROWS * LANES];

    for (size_t first = 0; first < depth; first += NUC_TILE_ROWS) {
        size_t rows = depth - first < NUC_TILE_ROWS ? depth - first : NUC_TILE_ROWS;
        for (size_t i = 0; i < rows; i++)
            memcpy(tile + i * LANES, target + (first + i) * ld_target, LANES * sizeof(float));
        r->gemm.tile(r->lower + first * ld, ld, negative, first, rows, tile);
        for (size_t i = 0; i < rows; i++) {
            for (size_t lane = 0; lane < LANES; lane++) {
                float sum = tile[i * LANES + lane];
                for (size_t k = 0; k < i; k++)
                    sum += r->lower[(first + i) * ld + first + k] * negative[(first + k) * LANES + lane];
                sum /= r->lower[(first + i) * ld + first + i];
                shift[(first + i) * LANES + lane] = sum;
                negative[(first + i) * LANES + lane] = -sum;
            }
        }
    }
}

/* Rounds sixteen outputs at their scales; errors are negated. Adds the squared error of each up in `loss`. */
static void round_lanes(const struct nuc_rounder *r, uint32_t depth, const struct lanes *l, const float *scales,
                        float most, float *errors, float *loss)
{
    size_t ld = padded(depth);
    float tile[NUC_TILE_ROWS * LANES];

    memset(loss, 0, LANES * sizeof(float));
    for (size_t end = depth; end > 0;) {
        size_t first = (end - 1) / NUC_TILE_ROWS * NUC_TILE_ROWS, rows = end - first;
        memcpy(tile, l->shift + first * LANES, rows * LANES * sizeof(float));
        r->gemm.tile(r->upper + first * ld + end, ld, errors + end * LANES, depth - end, rows, tile);
        for (size_t i = rows; i-- > 0;) {
            const float *u = r->upper + (first + i) * ld + first;
            for (size_t lane = 0; lane < LANES; lane++) {
                float sum = tile[i * LANES + lane];
                for (size_t k = i + 1; k < rows; k++)
                    sum += u[k] * errors[(first + k) * LANES + lane];
                float w = l->weight[(first + i) * LANES + lane];
                float error = on_grid(w + sum / u[i], scales[lane], most) * scales[lane] - w;
                float missed = sum - u[i] * error;
                errors[(first + i) * LANES + lane] = -error;
                loss[lane] += missed * missed;
            }
        }
        end = first;
    }
}

/* Tries scales; leaves the best errors of each lane in l->best and its scale in `scales`. */
static void try_scales(const struct nuc_rounder *r, const struct nuc_round_problem *p, struct lanes *l, float *scales)
{
    unsigned count = factors_for(p);
    float own[LANES], tried[LANES], loss[LANES], least[LANES];

    memcpy(own, scales, sizeof own);
    for (unsigned f = 0; f < count; f++) {
        for (size_t lane = 0; lane < LANES; lane++)
            tried[lane] = own[lane] * factor_at(f, count);
        round_lanes(r, p->depth, l, tried, p->most, l->error, loss);
        for (size_t lane = 0; lane < LANES; lane++) {
            if (f != 0 && !(loss[lane] < least[lane]))
                continue;
            least[lane] = loss[lane];
            scales[lane] = tried[lane];
            for (size_t i = 0; i < p->depth; i++)
                l->best[i * LANES + lane] = l->error[i * LANES + lane];
        }
    }
}

/* Moves single weights of one output where that gains. l->row holds errors, l->gradient half the slopes. */
static void descend(const struct nuc_rounder *r, const struct nuc_round_problem *p, const struct lanes *l, size_t lane,
                    float scale)
{
    size_t ld = padded(p->depth);
    bool moved = true;

    for (int sweep = 0; sweep < MOST_SWEEPS && moved; sweep++) {
        moved = false;
        for (size_t i = 0; i < p->depth; i++) {
            const float *row = r->moments + i * ld;
            float w = l->weight[i * LANES + lane], now = w + l->row[i];
            float to = on_grid(now - l->gradient[i] / row[i], scale, p->most) * scale;
            float step = to - now;
            if (fabsf(step) < 0.5f * scale)
                continue;
            l->row[i] += step;
            for (size_t j = 0; j < p->depth; j++)
                l->gradient[j] += step * row[j];
            moved = true;
        }
    }
}

static void find_gradient(const struct nuc_rounder *r, const struct nuc_round_problem *p, const float *target,
                          size_t ld_target, const float *errors, float *gradient)
{
    size_t ld = padded(p->depth);
    float tile[NUC_TILE_ROWS * LANES];

    for (size_t first = 0; first < p->depth; first += NUC_TILE_ROWS) {
        size_t rows = p->depth - first < NUC_TILE_ROWS ? p->depth - first : NUC_TILE_ROWS;
        for (size_t i = 0; i < rows; i++)
            memcpy(tile + i * LANES, target + (first + i) * ld_target, LANES * sizeof(float));
        r->gemm.tile(r->moments + first * ld, ld, errors, p->depth, rows, tile);
        memcpy(gradient + first * LANES, tile, rows * LANES * sizeof(float));
    }
}

/* Sixteen outputs from `first` on: integers and scales. */
static void round_panel(const struct rounding *a, size_t first, struct lanes *l)
{
    struct nuc_rounder *r = a->r;
    const struct nuc_round_problem *p = a->p;
    size_t count = p->out - first < LANES ? p->out - first : LANES, ld = padded(p->out);
    float scales[LANES];

    for (size_t lane = 0; lane < LANES; lane++) {
        scales[lane] = lane < count ? p->scales[first + lane] : 1;
        for (size_t i = 0; i < p->depth; i++)
            l->weight[i * LANES + lane] = lane < count ? p->weights[(first + lane) * p->depth + r->order[i]] : 0;
    }
    find_shift(r, p->depth, r->target + first, ld, l->shift, l->error);
    try_scales(r, p, l, scales);
    /* `best` holds negated errors: target - moments * errors, the slopes' negative. */
    find_gradient(r, p, r->target + first, ld, l->best, l->shift);
    for (size_t lane = 0; lane < count; lane++) {
        for (size_t i = 0; i < p->depth; i++) {
            l->row[i] = -l->best[i * LANES + lane];
            l->gradient[i] = -l->shift[i * LANES + lane];
        }
        descend(r, p, l, lane, scales[lane]);
        for (size_t i = 0; i < p->depth; i++)
            r->integers[(first + lane) * p->depth + r->order[i]] =
                (int8_t)rintf((l->weight[i * LANES + lane] + l->row[i]) / scales[lane]);
        r->scales[first + lane] = scales[lane];
    }
}

static void round_panels(const void *arg, struct nuc_part part)
{
    const struct rounding *a = arg;

    for (size_t i = part.begin; i < part.end; i++)
        round_panel(a, i * LANES, &a->r->lanes[part.worker]);
}

/* ---- errors ---- */

static float error_of(const struct nuc_rounder *r, const struct nuc_round_problem *p, size_t o, size_t i)
{
    return (float)r->integers[o * p->depth + i] * r->scales[o] - p->weights[o * p->depth + i];
}

/* ---- ways to round, and what they are worth ---- */

/*
 * The difference that bias and errors of the weights make together to the mean of an output, by what the columns of `s`
 * say: zero or that of the residuals; where the bias stays, what the errors make.
 */
static void set_bias(struct nuc_rounder *r, const struct nuc_round_problem *p, const struct sums *s,
                     enum nuc_round_way way)
{
    bool moves = p->moves_bias && way != NUC_WAY_NEAREST;

    for (size_t o = 0; o < p->out; o++) {
        bool to_mean = moves && way >= NUC_WAY_ROUNDED_TO_MEAN;
        double c = to_mean ? r->residual_mean[o] + s->residual[o] / s->columns : 0;
        for (size_t i = 0; i < p->depth; i++)
            c += (double)error_of(r, p, o, i) * (moves ? -s->input[i] / s->columns : r->input_mean[i]);
        r->bias[o] = c;
    }
}

/* Integers, scales and bias of a way, by what the columns of `s` say. False: they say nothing. */
static bool take(struct nuc_rounder *r, const struct nuc_round_problem *p, const struct sums *s, enum nuc_round_way way,
                 bool *has_moments)
{
    if (way <= NUC_WAY_NEAREST_CENTRED) {
        for (size_t o = 0; o < p->out; o++) {
            r->scales[o] = p->scales[o];
            for (size_t i = 0; i < p->depth; i++)
                r->integers[o * p->depth + i] = (int8_t)on_grid(p->weights[o * p->depth + i], p->scales[o], p->most);
        }
        set_bias(r, p, s, way);
        return true;
    }
    if (!*has_moments) {
        if (s->columns < 2 || !set_moments(r, p, s))
            return false;
        factorize(r, p->depth, DAMPING * (double)r->moments[0]);
        *has_moments = true;
    }
    /* Right-hand sides; zero where residuals do not count. */
    bool counts = way == NUC_WAY_ROUNDED_TO_RESULT;
    size_t ld = padded(p->out);
    double power = 0, keep = 0;
    for (size_t i = 0; i < (size_t)p->depth * ld; i++) {
        double m = (double)s->cross[i] / s->columns;
        power += m * m;
    }
    if (counts)
        keep = 1 - share_of_chance(s->cross_squares, power, s->batches);
    for (uint32_t i = 0; i < p->depth; i++) {
        for (uint32_t o = 0; o < ld; o++)
            r->target[i * ld + o] = o < p->out ? (float)(keep * cross_moment(s, p, r->order[i], o)) : 0;
    }
    /* Into r->integers and r->scales, for moments and target. */
    struct rounding a = {r, p};
    double products = (double)p->depth * p->depth / 2 * (factors_for(p) + 3);
    loop(r->pool, nuc_panel_count(p->out), products * p->out, round_panels, &a);
    set_bias(r, p, s, way);
    return true;
}

struct measuring {
    struct nuc_rounder *r;
    const struct nuc_round_problem *p;
    unsigned half;
    enum nuc_round_way way;
};

/* Adds what the errors of four outputs do to the columns of a panel, and what is left of the residuals. */
static void measure_tile(const struct measuring *m, const float *tile, size_t first, size_t rows, size_t column,
                         size_t count, struct loss *loss)
{
    const struct nuc_rounder *r = m->r;

    for (size_t i = 0; i < rows; i++) {
        const float *d = m->p->residuals + (first + i) * m->p->stride + column;
        double mean = r->bias[first + i], residual_mean = r->residual_mean[first + i];
        for (size_t j = 0; j < count; j++) {
            double made = (double)tile[i * LANES + j] + mean, left = (double)d[j] + residual_mean - made;
            loss->made += made * made;
            loss->left += left * left;
        }
    }
}

static void measure_outputs(const void *arg, struct nuc_part part)
{
    const struct measuring *m = arg;
    struct nuc_rounder *r = m->r;
    const struct nuc_round_problem *p = m->p;
    size_t ld = padded(p->depth);
    float tile[NUC_TILE_ROWS * LANES];

    for (size_t quad = part.begin; quad < part.end; quad++) {
        size_t first = quad * NUC_TILE_ROWS, rows = p->out - first < NUC_TILE_ROWS ? p->out - first : NUC_TILE_ROWS;
        float *errors = r->lanes[part.worker].weight;
        for (size_t i = 0; i < rows; i++) {
            for (size_t k = 0; k < p->depth; k++)
                errors[i * ld + k] = error_of(r, p, first + i, k);
        }
        for (size_t k = 0; k < r->chunk; k += LANES) {
            size_t count = r->chunk - k < LANES ? r->chunk - k : LANES;
            memset(tile, 0, sizeof tile);
            r->gemm.tile(errors, ld, r->panels + k * p->depth, p->depth, rows, tile);
            measure_tile(m, tile, first, rows, r->chunk_begin + k, count, &r->losses[quad]);
        }
    }
}

/* On the columns of a batch. */
static struct loss measure_batch(const struct measuring *m, const struct nuc_round_batch *b)
{
    struct nuc_rounder *r = m->r;
    size_t quads = (m->p->out + NUC_TILE_ROWS - 1) / NUC_TILE_ROWS;
    struct loss total = {0, 0};

    memset(r->losses, 0, quads * sizeof *r->losses);
    for (size_t k = b->begin; k < b->end; k += CHUNK) {
        r->chunk_begin = k;
        r->chunk = b->end - k < CHUNK ? b->end - k : CHUNK;
        nuc_pack_panels(m->p->inputs + k, m->p->depth, r->chunk, m->p->stride, 1, r->panels);
        loop(r->pool, quads, (double)m->p->depth * m->p->out * (double)r->chunk, measure_outputs, m);
    }
    for (size_t i = 0; i < quads; i++) {
        total.made += r->losses[i].made;
        total.left += r->losses[i].left;
    }
    return total;
}

/* Weights of an output from which on what is found on the first half alone is held against the other one. */
#define MANY_WEIGHTS 256

static bool is_measured(const struct nuc_round_problem *p, uint32_t batch)
{
    return p->depth < MANY_WEIGHTS || p->batches[batch].half == 1;
}

/* By batch, what each way does when it is found on the other half. False: none but the nearest can be found. */
static bool hold_out(struct nuc_rounder *r, const struct nuc_round_problem *p)
{
    for (unsigned half = 0; half < (p->depth < MANY_WEIGHTS ? 2 : 1); half++) {
        bool has_moments = false;
        for (int way = 0; way <= (int)p->most_way; way++) {
            if (!take(r, p, &r->halves[half], (enum nuc_round_way)way, &has_moments))
                return false;
            struct measuring m = {r, p, 1 - half, (enum nuc_round_way)way};
            for (uint32_t i = 0; i < p->n_batches; i++) {
                if (p->batches[i].half != half)
                    r->held_out[(size_t)way * p->n_batches + i] = measure_batch(&m, &p->batches[i]);
            }
        }
    }
    return true;
}

/* Gains in standard deviations of their mean from which on a way that goes after residuals is believed. */
#define CERTAIN 2.0

static double made_by(const struct nuc_rounder *r, const struct nuc_round_problem *p, int way)
{
    double total = 0;

    for (uint32_t i = 0; i < p->n_batches; i++)
        total += is_measured(p, i) ? r->held_out[(size_t)way * p->n_batches + i].made : 0;
    return total;
}

/*
 * What is left of the residuals depends on the samples far more than what the weights make: a gain has to stand out
 * from its spread over the batches.
 */
static bool surely_gains(const struct nuc_rounder *r, const struct nuc_round_problem *p, int way, int over)
{
    double sum = 0, squares = 0, n = 0;

    for (uint32_t i = 0; i < p->n_batches; i++) {
        if (!is_measured(p, i))
            continue;
        n++;
        double gain =
            r->held_out[(size_t)over * p->n_batches + i].left - r->held_out[(size_t)way * p->n_batches + i].left;
        sum += gain;
        squares += gain * gain;
    }
    double variance = n < 2 ? 0 : (squares - sum * sum / n) / (n * (n - 1));
    return n >= 2 && sum / n > CERTAIN * sqrt(fmax(variance, 0));
}

static int choose_way(struct nuc_rounder *r, const struct nuc_round_problem *p)
{
    int best = NUC_WAY_NEAREST;

    if (!(r->halves[0].columns > 1) || !(r->halves[1].columns > 1) || !hold_out(r, p))
        return NUC_WAY_NEAREST;
    for (int way = 1; way <= NUC_WAY_ROUNDED; way++)
        best = made_by(r, p, way) < made_by(r, p, best) ? way : best;
    for (int way = NUC_WAY_ROUNDED_TO_MEAN; way <= (int)p->most_way; way++)
        best = surely_gains(r, p, way, best) ? way : best;
    return best;
}

void nuc_round(struct nuc_rounder *r, const struct nuc_round_problem *p, struct nuc_round_solution *s)
{
    bool has_moments = false;

    assert(p->depth <= r->most_depth && p->out <= r->most_out && p->n_batches > 0 && p->n_batches <= r->most_batches);
    size_t columns = p->batches[p->n_batches - 1].end;
    memset(r->input_mean, 0, p->depth * sizeof(double));
    memset(r->residual_mean, 0, p->out * sizeof(double));
    if (p->moves_bias) {
        centre(p->inputs, p->depth, p->stride, columns, r->input_mean);
        centre(p->residuals, p->out, p->stride, columns, r->residual_mean);
    }
    clear(&r->halves[0], p);
    clear(&r->halves[1], p);
    clear(&r->both, p);
    for (uint32_t i = 0; i < p->n_batches; i++)
        see_batch(r, p, &p->batches[i]);
    add_sums(&r->both, &r->halves[0], p);
    add_sums(&r->both, &r->halves[1], p);
    int best = choose_way(r, p);
    take(r, p, &r->both, (enum nuc_round_way)best, &has_moments);
    s->rounds = best >= NUC_WAY_ROUNDED;
    memcpy(s->integers, r->integers, (size_t)p->out * p->depth);
    memcpy(s->scales, r->scales, p->out * sizeof(float));
    for (size_t o = 0; o < p->out; o++) {
        double c = r->bias[o];
        for (size_t i = 0; i < p->depth; i++)
            c -= (double)error_of(r, p, o, i) * r->input_mean[i];
        s->bias_change[o] = best == NUC_WAY_NEAREST ? 0 : c;
    }
}
