/*
 * Convolutions and matrix products in float32 for CPUs with vectors of floats: sums of sixteen output elements, and of
 * up to four output channels or rows, side by side. Each of them takes the products of the reference in its order, none
 * fused with an addition, so that the bytes are the same.
 */
#include "device/kernels/ref/ref.h"
#include "device/kernels/select/select.h"

#define LANES 8
#define VECTORS 2
#define PIXELS (LANES * VECTORS)
#define ROWS 4
#define MOST_TAPS 128 /* of a window; those of larger ones are summed one by one */

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t mask __attribute__((vector_size(LANES * sizeof(float))));
/* Unaligned, and allowed to read an array. */
typedef float loose __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* ---- output elements of a convolution, in the order of rows and columns ---- */

struct tap {
    ptrdiff_t in, weight; /* places less those of the first tap */
    bool adjacent;        /* the elements lie next to each other, where all of them may be read */
    bool all;             /* and all of them are inside the image */
    union {
        int32_t inside[PIXELS];
        mask masks[VECTORS];
    } of;
};

struct tile {
    int32_t n;                    /* elements, at most PIXELS */
    int32_t y[PIXELS], x[PIXELS]; /* of the output */
    ptrdiff_t at[PIXELS];         /* of the first tap in a channel of the input; may lie in the padding */
    int32_t n_taps;               /* that are inside the image for one of them */
    struct tap taps[MOST_TAPS];
};

/* Position of tap `k` along an axis, at output `o`. */
static int64_t position(const struct nuc_conv2d *c, int axis, int32_t o, int32_t k)
{
    return (int64_t)o * c->stride[axis] - c->padding[axis] + (int64_t)k * c->dilation[axis];
}

/* Unless it is outside the image for all of them. */
static void add_tap(const struct nuc_conv2d *c, struct tile *t, int32_t ky, int32_t kx, bool adjacent)
{
    struct tap *tap = &t->taps[t->n_taps];
    int32_t inside = 0;

    *tap = (struct tap){.weight = ky * c->weight_strides[2] + kx * c->weight_strides[3]};
    for (int32_t j = 0; j < t->n; j++) {
        int64_t y = position(c, 0, t->y[j], ky), x = position(c, 1, t->x[j], kx);
        bool is_inside = y >= 0 && y < c->in_size[0] && x >= 0 && x < c->in_size[1];
        tap->of.inside[j] = is_inside ? -1 : 0;
        inside += is_inside;
    }
    if (inside == 0)
        return;
    tap->in = (ptrdiff_t)((int64_t)ky * c->dilation[0]) * c->in_strides[2] +
              (ptrdiff_t)((int64_t)kx * c->dilation[1]) * c->in_strides[3];
    ptrdiff_t first = t->at[0] + tap->in, plane = (ptrdiff_t)c->in_size[0] * c->in_size[1];
    tap->adjacent = adjacent && first >= 0 && first + PIXELS <= plane;
    tap->all = tap->adjacent && inside == PIXELS;
    t->n_taps++;
}

/* The tile of `n` elements from element `first` of a plane on. */
static void make_tile(const struct nuc_conv2d *c, int32_t first, int32_t n, struct tile *t)
{
    bool adjacent = c->in_strides[3] == 1 && c->in_strides[2] == c->in_size[1];

    t->n = n;
    t->n_taps = 0;
    for (int32_t j = 0; j < n; j++) {
        t->y[j] = (first + j) / c->out_size[1];
        t->x[j] = (first + j) % c->out_size[1];
        t->at[j] = (ptrdiff_t)position(c, 0, t->y[j], 0) * c->in_strides[2] +
                   (ptrdiff_t)position(c, 1, t->x[j], 0) * c->in_strides[3];
        adjacent = adjacent && t->at[j] == t->at[0] + j;
    }
    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        for (int32_t kx = 0; kx < c->kernel[1]; kx++)
            add_tap(c, t, ky, kx, adjacent);
    }
}

/* The elements at a tap; those that may not be read are 0. */
INLINE void gather(const struct tile *t, const struct tap *tap, const float *in, vector x[VECTORS])
{
    float values[PIXELS] = {0};

    for (int32_t j = 0; j < t->n; j++) {
        if (tap->of.inside[j] != 0)
            values[j] = in[t->at[j] + tap->in];
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++)
        x[v] = *(const loose *)(values + v * LANES);
}

/* Sums of `rows` output channels; `in` and `weight` are those of the first channel of their group. */
INLINE void tile_sums(const struct nuc_conv2d *c, const struct tile *t, const float *in, const float *weight,
                      const int rows, float sums[ROWS][PIXELS])
{
    int32_t channels = c->in_channels / c->groups;
    vector acc[ROWS][VECTORS] = {{{0}}};

    for (int32_t channel = 0; channel < channels; channel++) {
        const float *from = in + channel * c->in_strides[1];
        for (int32_t k = 0; k < t->n_taps; k++) {
            const struct tap *tap = &t->taps[k];
            const float *w = weight + channel * c->weight_strides[1] + tap->weight;
            vector x[VECTORS];
            if (tap->adjacent) {
                UNROLL
                for (int v = 0; v < VECTORS; v++)
                    x[v] = *(const loose *)(from + (t->at[0] + tap->in) + v * LANES);
            } else {
                gather(t, tap, from, x);
            }
            UNROLL
            for (int i = 0; i < rows * VECTORS; i++) {
                int r = i / VECTORS, v = i % VECTORS;
                vector sum = acc[r][v] + x[v] * w[r * c->weight_strides[0]];
                if (!tap->all)
                    sum = (vector)(((mask)sum & tap->of.masks[v]) | ((mask)acc[r][v] & ~tap->of.masks[v]));
                acc[r][v] = sum;
            }
        }
    }
    UNROLL
    for (int i = 0; i < rows * VECTORS; i++)
        *(loose *)(sums[i / VECTORS] + i % VECTORS * LANES) = acc[i / VECTORS][i % VECTORS];
}

INLINE void tile_channels(const struct nuc_conv2d *c, const struct tile *t, const float *in, const float *weight,
                          int32_t rows, float sums[ROWS][PIXELS])
{
    if (rows == ROWS)
        tile_sums(c, t, in, weight, ROWS, sums);
    for (int32_t r = 0; r < rows && rows != ROWS; r++)
        tile_sums(c, t, in, weight + r * c->weight_strides[0], 1, sums + r);
}

/* ---- columns of a matrix product ---- */

/* sums[j] = x[0] * y[j] + x[1] * y[p + j] + ..., for PIXELS columns. */
INLINE void column_sums(const float *x, const float *y, size_t n, size_t p, float *sums)
{
    vector acc[VECTORS] = {{0}};

    for (size_t k = 0; k < n; k++, y += p) {
        UNROLL
        for (int v = 0; v < VECTORS; v++)
            acc[v] += *(const loose *)(y + v * LANES) * x[k];
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++)
        *(loose *)(sums + v * LANES) = acc[v];
}

/* ---- for the CPU at hand ---- */

static void channels_any(const struct nuc_conv2d *c, const struct tile *t, const float *in, const float *weight,
                         int32_t rows, float sums[ROWS][PIXELS])
{
    tile_channels(c, t, in, weight, rows, sums);
}

static void columns_any(const float *x, const float *y, size_t n, size_t p, float *sums)
{
    column_sums(x, y, n, p, sums);
}

#if defined(__x86_64__)

/* Without "fma". */
__attribute__((target("avx2"))) static void channels_avx2(const struct nuc_conv2d *c, const struct tile *t,
                                                          const float *in, const float *weight, int32_t rows,
                                                          float sums[ROWS][PIXELS])
{
    tile_channels(c, t, in, weight, rows, sums);
}

__attribute__((target("avx2"))) static void columns_avx2(const float *x, const float *y, size_t n, size_t p,
                                                         float *sums)
{
    column_sums(x, y, n, p, sums);
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") != 0;
}

#else

#define channels_avx2 channels_any
#define columns_avx2 columns_any

static bool has_avx2(void)
{
    return false;
}

#endif

/* ---- the kernels ---- */

static void store(const struct nuc_conv2d *c, const struct tile *t, const float *sums, const float *bias, float *out)
{
    for (int32_t j = 0; j < t->n; j++)
        out[t->y[j] * c->out_strides[2] + t->x[j] * c->out_strides[3]] = bias != NULL ? sums[j] + *bias : sums[j];
}

/* All channels of an image. */
static void convolve_tile(const struct nuc_conv2d *c, const struct tile *t, bool avx2, const float *in,
                          const float *weight, const float *bias, float *out)
{
    int32_t out_per_group = c->out_channels / c->groups;
    float sums[ROWS][PIXELS];

    for (int32_t oc = 0, rows; oc < c->out_channels; oc += rows) {
        int32_t group = oc / out_per_group, left = (group + 1) * out_per_group - oc;
        const float *from = in + (ptrdiff_t)group * (c->in_channels / c->groups) * c->in_strides[1];
        rows = left < ROWS ? left : ROWS;
        (avx2 ? channels_avx2 : channels_any)(c, t, from, weight + oc * c->weight_strides[0], rows, sums);
        for (int32_t r = 0; r < rows; r++)
            store(c, t, sums[r], bias != NULL ? bias + oc + r : NULL, out + (oc + r) * c->out_strides[1]);
    }
}

void nuc_wide_convolution_f32(const struct nuc_conv2d *c, const float *in, const float *weight, const float *bias,
                              float *out)
{
    const bool avx2 = has_avx2();
    const int64_t plane = (int64_t)c->out_size[0] * c->out_size[1];
    struct tile t;

    if ((int64_t)c->kernel[0] * c->kernel[1] > MOST_TAPS || plane > INT32_MAX - PIXELS) {
        nuc_ref_convolution_f32(c, in, weight, bias, out);
        return;
    }
    for (int32_t first = 0; first < plane; first += PIXELS) {
        make_tile(c, first, plane - first < PIXELS ? (int32_t)plane - first : PIXELS, &t);
        for (int32_t n = 0; n < c->batch; n++)
            convolve_tile(c, &t, avx2, in + n * c->in_strides[0], weight, bias, out + n * c->out_strides[0]);
    }
}

/* The last columns of a row are not read beyond their end, but taken once more with those in front of them. */
void nuc_wide_matmul_f32(const struct nuc_matmul *mm, const float *x, const float *y, float *out)
{
    const bool avx2 = has_avx2();

    if (mm->p < PIXELS) {
        nuc_ref_matmul_f32(mm, x, y, out);
        return;
    }
    for (size_t row = 0; row < mm->batch * mm->m; row++, x += mm->n, out += mm->p) {
        const float *matrix = y + row / mm->m * mm->n * mm->p;
        for (size_t j = 0; j < mm->p; j += PIXELS) {
            size_t column = j + PIXELS <= mm->p ? j : mm->p - PIXELS;
            (avx2 ? columns_avx2 : columns_any)(x, matrix + column, mm->n, mm->p, out + column);
        }
    }
}
