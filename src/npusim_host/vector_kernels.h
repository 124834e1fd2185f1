/*
 * The vector kernels, once for all instruction sets: vector_isa.c includes the primitives of one (vec_i32 and the
 * functions on it), then this. Every function here is static; VEC_ISA is the table of them.
 */
#ifndef NUC_NPUSIM_HOST_VECTOR_KERNELS_H
#define NUC_NPUSIM_HOST_VECTOR_KERNELS_H

#include "npusim_host/vector.h"

#define VEC_VECTORS (VEC_BLOCK / VEC_LANES)
#define VEC_AT_ONCE (VEC_VECTORS > 1 ? 2 : 1) /* blocks of the depthwise kernel, as registers allow */

/* Tiles are instances of one function whose sizes the compiler knows. */
#define VEC_INLINE static inline __attribute__((always_inline))

static inline int32_t vec_smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* ---- where an instruction set has no better way ---- */

#if !VEC_OFFSET
static inline vec_x vec_staged_inputs(const int8_t *p)
{
    return vec_inputs(p);
}
#endif

VEC_INLINE vec_x vec_inputs_of(const int8_t *p, const bool staged)
{
    return staged ? vec_staged_inputs(p) : vec_inputs(p);
}

#if !VEC_LINES /* no parameters have these forms */
#define vec_requant_line vec_requant_any
#define vec_requant_bent vec_requant_any
#endif

#ifndef VEC_WORDS /* results have all bits of their lanes */
static inline vec_i32 vec_to_word(vec_i32 v)
{
    return v;
}

static inline vec_i32 vec_from_word(vec_i32 v)
{
    return v;
}
#endif

#ifndef VEC_ROW
#define VEC_ROW 1 /* vectors that are stored at once */
#endif

#include "npusim_host/vector_moves.h"

/* `n` vectors of the same outputs by one function, which reads what it needs of their parameters. */
#define VEC_REQUANT_ALL(function)                                                                                      \
    do {                                                                                                               \
        VEC_UNROLL                                                                                                     \
        for (int i = 0; i < n; i++)                                                                                    \
            v[i] = function(v[i], p);                                                                                  \
    } while (0)

/* The only form whose results may be beyond 16 bits. */
static inline vec_i32 vec_requant_any_word(vec_i32 v, const struct vec_params *p)
{
    return vec_to_word(vec_requant_any(v, p));
}

/* By the form of their parameters. The shortest has the registers. */
VEC_INLINE void vec_requant_all(vec_i32 *v, const int n, const struct vec_params *p)
{
    if (VEC_LINES && __builtin_expect(p->form == VEC_LINE, 1))
        VEC_REQUANT_ALL(vec_requant_line);
    else if (VEC_LINES && p->form == VEC_BENT)
        VEC_REQUANT_ALL(vec_requant_bent);
    else if (p->form == VEC_BOUNDED)
        VEC_REQUANT_ALL(vec_requant);
    else
        VEC_REQUANT_ALL(vec_requant_any_word);
}

/* VEC_ROW vectors of columns next to each other, of which there are `n` or all. */
VEC_INLINE void vec_store_row(const vec_i32 *v, const struct vec_output *o, int8_t *out, int32_t n)
{
#if VEC_ROW > 1
    vec_store_four(v, o, VEC_ROW, out, 0, n);
#else
    vec_store(vec_from_word(*v), o, out, vec_smaller(n, VEC_LANES));
#endif
}

/* The results of a tile, by block. */
VEC_INLINE void vec_store_tile(const struct vec_gemm *g, const vec_i32 (*v)[16], const int pixels, const int blocks,
                               int8_t *out)
{
    const int each = 4 / blocks, packed = VEC_ROW > 1 ? pixels / each * each : 0;

#if VEC_ROW > 1
    /* 16 columns and no others: pixels lie next to each other. */
    bool dense = blocks == 1 && g->columns == VEC_LANES && g->out_pixel == VEC_LANES;
    VEC_UNROLL
    for (int i = 0; i < packed; i += each) {
        vec_i32 four[4];
        VEC_UNROLL
        for (int k = 0; k < 4; k++)
            four[k] = v[k % blocks][i + k / blocks];
        if (dense)
            vec_store_row(four, &g->output, out + i * VEC_LANES, VEC_ROW * VEC_LANES);
        else
            vec_store_four(four, &g->output, blocks, out + i * g->out_pixel, g->out_pixel, g->columns);
    }
#endif
    VEC_UNROLL
    for (int i = packed; i < pixels; i++) {
        VEC_UNROLL
        for (int j = 0; j < blocks; j++)
            vec_store(vec_from_word(v[j][i]), &g->output, out + i * g->out_pixel + j * VEC_LANES,
                      vec_smaller(g->columns - j * VEC_LANES, VEC_LANES));
    }
}

/* The blocks of a single pixel, of which the last ones may be no columns. One set of parameters is read once. */
VEC_INLINE void vec_finish_pixel(const struct vec_gemm *g, vec_i32 *acc, const int blocks, int8_t *out)
{
    if (g->params_step == 0) {
        vec_requant_all(acc, blocks, g->params);
    } else {
        VEC_UNROLL
        for (int j = 0; j < blocks; j++)
            vec_requant_all(acc + j, 1, g->params + j);
    }
    VEC_UNROLL
    for (int j = 0; j < blocks; j += VEC_ROW) {
        if (j * VEC_LANES < g->columns)
            vec_store_row(acc + j, &g->output, out + j * VEC_LANES, g->columns - j * VEC_LANES);
    }
}

/*
 * The first blocks of `pixels`, of 16 columns each: their accumulators stay in registers over the whole window. Runs
 * are of `taps` that are a pixel apart, so that what is read of one serves as many pixels.
 */
VEC_INLINE void vec_tile(const struct vec_gemm *g, const int8_t *const *segment, ptrdiff_t at, const int pixels,
                         const int blocks, const int taps, const bool staged, int8_t *out)
{
    vec_i32 acc[16][8], result[8][16];
    const bool by_turns = blocks == VEC_TILE_WIDE;
    const size_t vector = VEC_BLOCK_WEIGHTS / VEC_VECTORS, step = by_turns ? vector * VEC_TILE_WIDE : vector;
    const size_t tap = step * (size_t)(taps > 1 ? g->run / taps : 0), block = by_turns ? vector : g->block_bytes;
    const uint8_t *w = g->weights;

    VEC_UNROLL
    for (int i = 0; i < pixels; i++) {
        VEC_UNROLL
        for (int j = 0; j < blocks; j++)
            acc[i][j] = vec_load(g->bias + j * VEC_LANES);
    }
    if (g->addend) {
        const int32_t *addend = g->addend + at / g->pixel;
        VEC_UNROLL
        for (int i = 0; i < pixels; i++) {
            VEC_UNROLL
            for (int j = 0; j < blocks; j++)
                acc[i][j] = vec_add(acc[i][j], vec_splat(addend[i]));
        }
    }
    for (int32_t s = 0; s < g->segments; s++) {
        const int8_t *x = segment[s] + at, *y = x + 8 * g->pixel;
        __asm__("" : "+r"(y)); /* a second start, so that registers hold all distances */
        for (int32_t k = 0; k < g->run; k += taps, x += VEC_DEPTH, y += VEC_DEPTH, w += step) {
            VEC_UNROLL
            for (int i = 0; i < pixels + taps - 1; i++) {
                const int8_t *from = i < 8 ? x + i * g->pixel : y + (i - 8) * g->pixel;
                vec_x inputs = vec_inputs_of(from, staged);
                VEC_UNROLL
                for (int t = 0; t < taps; t++) {
                    VEC_UNROLL
                    for (int j = 0; j < blocks; j++) {
                        if (i >= t && i - t < pixels)
                            acc[i - t][j] = vec_dot(acc[i - t][j], inputs, w + (size_t)t * tap + (size_t)j * block);
                    }
                }
            }
        }
        w += (size_t)(taps - 1) * tap;
    }
    if (by_turns) {
        vec_finish_pixel(g, acc[0], blocks, out);
        return;
    }
    VEC_UNROLL
    for (int j = 0; j < blocks; j++) {
        VEC_UNROLL
        for (int i = 0; i < pixels; i++)
            result[j][i] = acc[i][j];
        vec_requant_all(result[j], pixels, g->params + j * g->params_step);
    }
    vec_store_tile(g, result, pixels, blocks, out);
}

/* `tiles` of as many pixels, one after the other. */
VEC_INLINE void vec_tiles(const struct vec_gemm *g, const int8_t *const *segment, ptrdiff_t at, const int pixels,
                          int32_t tiles, const int blocks, const int taps, const bool staged, int8_t *out)
{
    for (int32_t t = 0; t < tiles; t++) {
        vec_tile(g, segment, at, pixels, blocks, taps, staged, out);
        at += pixels * g->pixel;
        out += pixels * g->out_pixel;
    }
}

/* The blocks from `first` on. */
static inline struct vec_gemm vec_gemm_from(const struct vec_gemm *g, int32_t first)
{
    struct vec_gemm rest = *g;

    rest.weights += (size_t)first * g->block_bytes;
    rest.bias += first * VEC_LANES;
    rest.params += first * g->params_step;
    rest.columns -= first * VEC_LANES;
    return rest;
}

/* A function whose last arguments are whether inputs are staged, which the compiler is to know, and the output. */
#define VEC_BY_STAGED(function, ...)                                                                                   \
    do {                                                                                                               \
        if (VEC_OFFSET && g->staged)                                                                                   \
            function(__VA_ARGS__, true, out);                                                                          \
        else                                                                                                           \
            function(__VA_ARGS__, false, out);                                                                         \
    } while (0)

#define VEC_TILES_CASE(n)                                                                                              \
    case n:                                                                                                            \
        if (blocks < VEC_TILE_HIGH || n <= VEC_TILE_FEW)                                                               \
            vec_tiles(g, segment, at, n, tiles, blocks, 1, staged, out);                                               \
        break

/* Tiles of up to 4 pixels, and of up to 8 where there are the registers. */
VEC_INLINE void vec_tiles_of(const struct vec_gemm *of, int32_t first, const int8_t *const *segment, ptrdiff_t at,
                             int32_t pixels, int32_t tiles, const int blocks, const bool staged, int8_t *out)
{
    const struct vec_gemm own = vec_gemm_from(of, first), *g = &own; /* no results lie over it: it stays in registers */

    switch (pixels) {
        VEC_TILES_CASE(1);
        VEC_TILES_CASE(2);
        VEC_TILES_CASE(3);
        VEC_TILES_CASE(4);
#if VEC_TILE_PIXELS > 4
        VEC_TILES_CASE(5);
        VEC_TILES_CASE(6);
        VEC_TILES_CASE(7);
        VEC_TILES_CASE(8);
#endif
    }
}

static void vec_tiles_any(const struct vec_gemm *g, int32_t first, const int8_t *const *segment, ptrdiff_t at,
                          int32_t pixels, int32_t tiles, int32_t blocks, int8_t *out)
{
    if (VEC_TILE_BLOCKS == 1 || blocks == 1)
        VEC_BY_STAGED(vec_tiles_of, g, first, segment, at, pixels, tiles, 1);
    else if (blocks > VEC_TILE_BLOCKS)
        VEC_BY_STAGED(vec_tiles_of, g, first, segment, at, pixels, tiles, VEC_TILE_HIGH);
    else
        VEC_BY_STAGED(vec_tiles_of, g, first, segment, at, pixels, tiles, VEC_TILE_BLOCKS);
}

/* As many tiles of one block as the pixels fill. Returns their pixels. */
static int32_t vec_tiles_long(const struct vec_gemm *g, int32_t first, const int8_t *const *segment, int32_t pixels,
                              int8_t *out)
{
    const struct vec_gemm own = vec_gemm_from(g, first);
    int32_t tiles = VEC_TILE_LONG > VEC_TILE_PIXELS ? pixels / VEC_TILE_LONG : 0;

    if (tiles > 0 && VEC_OFFSET != 0 && g->staged && g->taps == 3)
        vec_tiles(&own, segment, 0, VEC_TILE_LONG, tiles, 1, 3, true, out);
    else if (tiles > 0)
        VEC_BY_STAGED(vec_tiles, &own, segment, 0, VEC_TILE_LONG, tiles, 1, 1);
    return tiles * VEC_TILE_LONG;
}

#if VEC_TILE_BLOCKS > 1
/* Eight pixels of 24 columns: pixels next to each other share the vector of the last 8. */
VEC_INLINE void vec_tile_shared(const struct vec_gemm *g, const int8_t *const *segment, ptrdiff_t at, const bool staged,
                                int8_t *out)
{
    vec_i32 acc[8], both[4];
    const uint8_t *w = g->weights;

    VEC_UNROLL
    for (int i = 0; i < 8; i++) {
        acc[i] = vec_load(g->bias);
        both[i / 2] = vec_load(g->bias + VEC_LANES);
    }
    for (int32_t s = 0; s < g->segments; s++) {
        const int8_t *x = segment[s] + at;
        for (int32_t k = 0; k < g->run; k++, x += VEC_DEPTH, w += VEC_BLOCK_WEIGHTS / VEC_VECTORS) {
            vec_x inputs[8];
            VEC_UNROLL
            for (int i = 0; i < 8; i++) {
                inputs[i] = vec_inputs_of(x + i * g->pixel, staged);
                acc[i] = vec_dot(acc[i], inputs[i], w);
            }
            VEC_UNROLL
            for (int i = 0; i < 4; i++)
                both[i] = vec_dot(both[i], vec_inputs_of_two(inputs[2 * i], inputs[2 * i + 1]), w + g->block_bytes);
        }
    }
    vec_requant_all(acc, 8, g->params);
    vec_requant_all(both, 4, g->params + g->params_step);
    VEC_UNROLL
    for (int i = 0; i < 4; i++)
        vec_store_two(acc[2 * i], both[i], acc[2 * i + 1], &g->output, out + 2 * i * g->out_pixel, g->out_pixel);
}

/* As many of these tiles as the pixels fill. Returns their pixels. */
static int32_t vec_tiles_shared(const struct vec_gemm *g, int32_t first, const int8_t *const *segment, int32_t pixels,
                                int8_t *out)
{
    const struct vec_gemm own = vec_gemm_from(g, first);
    int32_t done = 0;

    if (own.columns != 24 || own.addend)
        return 0;
    for (; done + 8 <= pixels; done += 8, out += 8 * g->out_pixel)
        VEC_BY_STAGED(vec_tile_shared, &own, segment, done * g->pixel);
    return done;
}
#else /* blocks are alone */
#define vec_tiles_shared vec_tiles_long
#endif

/* A single pixel whose blocks take turns. */
static void vec_gemm_wide(const struct vec_gemm *g, const int8_t *const *segment, int8_t *out)
{
    for (int32_t first = 0; first * VEC_LANES < g->columns; first += VEC_TILE_WIDE, out += VEC_TILE_WIDE * VEC_LANES) {
        const struct vec_gemm own = vec_gemm_from(g, first);
        VEC_BY_STAGED(vec_tile, &own, segment, 0, 1, VEC_TILE_WIDE, 1);
    }
}

/* A single pixel of one block: accumulators take turns, of which one would wait for itself. */
VEC_INLINE void vec_gemm_deep(const struct vec_gemm *g, const int8_t *const *segment, const bool staged, int8_t *out)
{
    const size_t step = VEC_BLOCK_WEIGHTS / VEC_VECTORS;
    const uint8_t *w = g->weights;
    vec_i32 acc[VEC_TILE_WIDE];

    acc[0] = vec_load(g->bias);
    VEC_UNROLL
    for (int j = 1; j < VEC_TILE_WIDE; j++)
        acc[j] = vec_splat(0);
    for (int32_t s = 0; s < g->segments; s++) {
        const int8_t *x = segment[s];
        int32_t k = 0;
        for (; k + VEC_TILE_WIDE <= g->run; k += VEC_TILE_WIDE, w += VEC_TILE_WIDE * step) {
            VEC_UNROLL
            for (int j = 0; j < VEC_TILE_WIDE; j++) {
                const int8_t *from = x + (k + j) * VEC_DEPTH;
                acc[j] = vec_dot(acc[j], vec_inputs_of(from, staged), w + (size_t)j * step);
            }
        }
        for (; k < g->run; k++, w += step)
            acc[0] = vec_dot(acc[0], vec_inputs_of(x + k * VEC_DEPTH, staged), w);
    }
    VEC_UNROLL
    for (int j = 1; j < VEC_TILE_WIDE; j++)
        acc[0] = vec_add(acc[0], acc[j]);
    vec_requant_all(acc, 1, g->params);
    vec_store(vec_from_word(acc[0]), &g->output, out, vec_smaller(g->columns, VEC_LANES));
}

/* `blocks` of the pixels from `at` on, in tiles of about the same size: 5 and 5 rather than 8 and 2. */
static void vec_gemm_tiles(const struct vec_gemm *g, int32_t first, const int8_t *const *segment, int32_t at,
                           int32_t pixels, int32_t blocks, int8_t *out)
{
    int32_t most = blocks < VEC_TILE_HIGH ? VEC_TILE_PIXELS : VEC_TILE_FEW;
    int32_t tiles = (pixels + most - 1) / most, n = (pixels + tiles - 1) / tiles;
    int32_t whole = pixels - (n - 1) * tiles, rest = at + whole * n; /* tiles of n; those after `rest` have one less */

    vec_tiles_any(g, first, segment, at * g->pixel, n, whole, blocks, out + at * g->out_pixel);
    if (whole < tiles)
        vec_tiles_any(g, first, segment, rest * g->pixel, n - 1, tiles - whole, blocks, out + rest * g->out_pixel);
}

#define VEC_KEPT 32768 /* bytes of weights that the nearest cache keeps while tiles pass */

/* Blocks of the next tiles: of 40 columns the last 24 are done together. */
static int32_t vec_blocks_of(const struct vec_gemm *g, int32_t columns)
{
    int32_t blocks = (columns + VEC_LANES - 1) / VEC_LANES;

    if (blocks >= VEC_TILE_HIGH && VEC_TILE_HIGH * g->block_bytes <= VEC_KEPT)
        return VEC_TILE_HIGH;
    return blocks >= VEC_TILE_BLOCKS && columns != 40 ? VEC_TILE_BLOCKS : 1;
}

static void vec_gemm_row(const struct vec_gemm *g, const int8_t *const *segment, int32_t pixels, int8_t *out)
{
    if (g->by_turns) {
        vec_gemm_wide(g, segment, out);
        return;
    }
    if (pixels == 1 && g->columns <= VEC_LANES && !g->addend) {
        VEC_BY_STAGED(vec_gemm_deep, g, segment);
        return;
    }
    for (int32_t first = 0, blocks; first * VEC_LANES < g->columns; first += blocks, out += blocks * VEC_LANES) {
        int32_t done = 0;
        blocks = vec_blocks_of(g, g->columns - first * VEC_LANES);
        if (blocks <= VEC_TILE_BLOCKS)
            done = (blocks == 1 ? vec_tiles_long : vec_tiles_shared)(g, first, segment, pixels, out);
        if (done < pixels)
            vec_gemm_tiles(g, first, segment, done, pixels - done, blocks, out);
    }
}

/* Blocks of a table that share what is read of it. */
struct vec_blocks {
    ptrdiff_t at, step; /* bytes from the taps */
    int8_t *out;
    ptrdiff_t out_step;
    int32_t n, n_step; /* outputs: of the first, and how many fewer the next one has */
};

/* `blocks` of one or two rows of outputs at once; of two, the second is stored when it is one of the output's. */
VEC_INLINE void vec_depthwise_blocks(const struct vec_depthwise *d, const int8_t *const *tap, int32_t table,
                                     const int rows, const int32_t groups, const int blocks, int32_t stored,
                                     const struct vec_blocks *b)
{
    const uint8_t *w = d->weights + (size_t)table * d->table_bytes;
    const struct vec_params *p = d->params + table * VEC_VECTORS;
    const struct vec_output output = d->output;
    vec_i32 acc[2 * VEC_AT_ONCE * VEC_VECTORS];

    VEC_UNROLL
    for (int v = 0; v < rows * blocks * VEC_VECTORS; v++)
        acc[v] = vec_load(d->bias + table * VEC_BLOCK + v % VEC_VECTORS * VEC_LANES);
    for (int32_t t = 0; t < groups; t++, w += rows * VEC_BLOCK_WEIGHTS) {
        vec_mixed x[VEC_AT_ONCE];
        VEC_UNROLL
        for (int k = 0; k < blocks; k++)
            x[k] = rows > 1 ? vec_mix_pairs(tap + t * VEC_DEPTH / 2, b->at + k * b->step)
                            : vec_mix(tap + t * VEC_DEPTH, b->at + k * b->step);
        VEC_UNROLL
        for (int r = 0; r < rows; r++)
            vec_dot_mixed(acc + r * VEC_VECTORS, rows * VEC_VECTORS, x, blocks, w + r * VEC_BLOCK_WEIGHTS);
    }
    VEC_UNROLL
    for (int v = 0; v < VEC_VECTORS; v++) {
        vec_i32 all[2 * VEC_AT_ONCE];
        VEC_UNROLL
        for (int r = 0; r < rows * blocks; r++)
            all[r] = acc[r * VEC_VECTORS + v];
        vec_requant_all(all, rows * blocks, p + v);
        VEC_UNROLL
        for (int r = 0; r < rows * blocks; r++)
            acc[r * VEC_VECTORS + v] = all[r];
    }
    VEC_UNROLL
    for (int k = 0; k < blocks; k++) {
        vec_store_block(acc + k * rows * VEC_VECTORS, &output, rows > 1, b->out + k * b->out_step,
                        b->n - k * b->n_step);
        if (rows > 1 && stored > 1)
            vec_store_block(acc + (k * rows + 1) * VEC_VECTORS, &output, true, b->out + k * b->out_step + d->out_row,
                            b->n - k * b->n_step);
    }
}

/* All blocks of a table one after the other: tables of many channels are larger than the cache that is nearest. */
VEC_INLINE void vec_depthwise_rows(const struct vec_depthwise *d, const int8_t *const *tap, const int rows,
                                   const int32_t groups, int32_t stored, int8_t *out)
{
    int32_t step = d->tables * VEC_BLOCK;
    bool flat = d->lines == 1;

    for (int32_t table = 0; table < d->tables; table++) {
        int32_t first = table * VEC_BLOCK, i = 0;
        int32_t n = flat ? (d->line - first + step - 1) / step : d->lines;
        struct vec_blocks b = {.at = first * rows,
                               .step = flat ? step * rows : d->in_line,
                               .out = out + first,
                               .out_step = flat ? step : d->out_line,
                               .n = d->line - first,
                               .n_step = flat ? step : 0};
        for (; i + VEC_AT_ONCE <= n; i += VEC_AT_ONCE) {
            vec_depthwise_blocks(d, tap, table, rows, groups, VEC_AT_ONCE, stored, &b);
            b.at += VEC_AT_ONCE * b.step;
            b.out += VEC_AT_ONCE * b.out_step;
            b.n -= VEC_AT_ONCE * b.n_step;
        }
        for (; i < n; i++) {
            vec_depthwise_blocks(d, tap, table, rows, groups, 1, stored, &b);
            b.at += b.step;
            b.out += b.out_step;
            b.n -= b.n_step;
        }
    }
}

static void vec_depthwise(const struct vec_depthwise *d, const int8_t *const *tap, int32_t rows, int8_t *out)
{
    /* A window of 3 x 3 has three groups: their loop is laid out flat. */
    if (d->rows == 2 && d->groups == 3)
        vec_depthwise_rows(d, tap, 2, 3, rows, out);
    else if (d->rows == 2)
        vec_depthwise_rows(d, tap, 2, d->groups, rows, out);
    else
        vec_depthwise_rows(d, tap, 1, d->groups, rows, out);
}

VEC_INLINE vec_i32 vec_binary_value(const struct vec_binary *e, const uint32_t opcode, vec_i32 qa, vec_i32 qb)
{
    vec_i32 a = vec_sub(qa, vec_splat(e->a_zero)), b = vec_sub(qb, vec_splat(e->b_zero));

    if (opcode == NUC_MC_OP_MAXIMUM)
        return vec_if_negative(vec_sub(qa, qb), qb, qa);
    if (opcode == NUC_MC_OP_MINIMUM)
        return vec_if_negative(vec_sub(qa, qb), qa, qb);
    if (opcode == NUC_MC_OP_MUL)
        return vec_requant_any(vec_mul(a, b), &e->out);
    if (opcode == NUC_MC_OP_PRELU)
        return vec_if_negative(a, vec_requant_any(vec_mul(a, b), &e->out), vec_requant_any(a, &e->a));
    vec_i32 unit = vec_splat(1 << e->left_shift);
    vec_i32 sa = vec_requant_any(vec_mul(a, unit), &e->a), sb = vec_requant_any(vec_mul(b, unit), &e->b);
    return vec_requant_any(opcode == NUC_MC_OP_SUB ? vec_sub(sa, sb) : vec_add(sa, sb), &e->out);
}

VEC_INLINE void vec_binary_loop(const struct vec_binary *e, const uint32_t opcode, const int8_t *a, int32_t a_stride,
                                const int8_t *b, int32_t b_stride, int32_t n, int8_t *out)
{
    for (int32_t i = 0; i < n; i += VEC_LANES) {
        int32_t count = vec_smaller(n - i, VEC_LANES);
        vec_i32 qa = a_stride ? vec_widen(a + i, count) : vec_splat(*a);
        vec_i32 qb = b_stride ? vec_widen(b + i, count) : vec_splat(*b);
        vec_store(vec_binary_value(e, opcode, qa, qb), &e->output, out + i, count);
    }
}

/* `vectors` times 16 values, the last of them `n`. */
VEC_INLINE void vec_linear_block(const struct vec_binary *e, const int8_t *a, int32_t a_stride, const int8_t *b,
                                 int32_t b_stride, const int vectors, int32_t n, int8_t *out)
{
    const struct vec_linear *l = &e->linear;
    vec_i32 sum[VEC_ROW];

    VEC_UNROLL
    for (int i = 0; i < vectors; i++) {
        vec_i32 qa = a_stride ? vec_widen(a + i * VEC_LANES, n) : vec_splat(*a);
        vec_i32 qb = b_stride ? vec_widen(b + i * VEC_LANES, n) : vec_splat(*b), v = vec_two_words(qa, qb);
        vec_i32 low = vec_line(v, vec_splat(l->low_words), vec_splat(l->low), vec_splat(VEC_LOW_BITS));
        sum[i] = vec_line(v, vec_splat(l->high_words), vec_add(low, vec_splat(l->high)), vec_splat(l->shift));
    }
    if (vectors > 1)
        vec_store_row(sum, &e->output, out, VEC_ROW * VEC_LANES);
    else
        vec_store(sum[0], &e->output, out, n);
}

static void vec_linear_run(const struct vec_binary *of, const int8_t *a, int32_t a_stride, const int8_t *b,
                           int32_t b_stride, int32_t n, int8_t *out)
{
    const struct vec_binary own = *of, *e = &own; /* which no results lie over */
    int32_t i = 0;

    for (; i + VEC_ROW * VEC_LANES <= n; i += VEC_ROW * VEC_LANES)
        vec_linear_block(e, a + i * a_stride, a_stride, b + i * b_stride, b_stride, VEC_ROW, VEC_LANES, out + i);
    for (; i < n; i += VEC_LANES)
        vec_linear_block(e, a + i * a_stride, a_stride, b + i * b_stride, b_stride, 1, vec_smaller(n - i, VEC_LANES),
                         out + i);
}

#define VEC_BINARY_CASE(opcode)                                                                                        \
    case opcode:                                                                                                       \
        vec_binary_loop(e, opcode, a, a_stride, b, b_stride, n, out);                                                  \
        break

static void vec_binary(const struct vec_binary *e, const int8_t *a, int32_t a_stride, const int8_t *b, int32_t b_stride,
                       int32_t n, int8_t *out)
{
    if (e->is_linear) {
        vec_linear_run(e, a, a_stride, b, b_stride, n, out);
        return;
    }
    switch (e->opcode) {
        VEC_BINARY_CASE(NUC_MC_OP_ADD);
        VEC_BINARY_CASE(NUC_MC_OP_SUB);
        VEC_BINARY_CASE(NUC_MC_OP_MUL);
        VEC_BINARY_CASE(NUC_MC_OP_PRELU);
        VEC_BINARY_CASE(NUC_MC_OP_MAXIMUM);
        VEC_BINARY_CASE(NUC_MC_OP_MINIMUM);
    }
}

VEC_INLINE void vec_scale_block(const struct vec_scaled_rows *of, const int8_t *in, int32_t at, const int vectors,
                                int32_t n, int8_t *out)
{
    const struct vec_scaled_rows own = *of, *s = &own; /* which results do not lie over */
    vec_i32 words[VEC_ROW], addend[VEC_ROW], shift[VEC_ROW], zero = vec_splat(s->zero), result[VEC_ROW];

    VEC_UNROLL
    for (int i = 0; i < vectors; i++) {
        words[i] = vec_load(s->words + at + i * VEC_LANES);
        addend[i] = vec_load(s->addend + at + i * VEC_LANES);
        shift[i] = vec_load(s->shift + at + i * VEC_LANES);
    }
    for (int64_t r = 0; r < s->rows; r++) {
        const int8_t *from = in + r * s->in_row + at;
        int8_t *to = out + r * s->out_row + at;
        VEC_UNROLL
        for (int i = 0; i < vectors; i++) {
            vec_i32 v = vec_sub(vec_widen(from + i * VEC_LANES, vec_smaller(n, VEC_LANES)), zero);
            result[i] = vec_line(v, words[i], addend[i], shift[i]);
        }
        if (vectors > 1)
            vec_store_row(result, &s->output, to, n);
        else
            vec_store(result[0], &s->output, to, n);
    }
}

static void vec_scale_rows(const struct vec_scaled_rows *s, const int8_t *in, int32_t n, int8_t *out)
{
    int32_t at = 0;

    for (; at + VEC_ROW * VEC_LANES <= n; at += VEC_ROW * VEC_LANES)
        vec_scale_block(s, in, at, VEC_ROW, VEC_ROW * VEC_LANES, out);
    for (; at + VEC_LANES <= n; at += VEC_LANES)
        vec_scale_block(s, in, at, 1, VEC_LANES, out);
    if (at < n)
        vec_scale_block(s, in, at, 1, n - at, out);
}

#define VEC_CHANNELS 64 /* of a block of pools */

/* `vectors` times 16 channels, the last of them `n`, of all pixels. */
VEC_INLINE void vec_average_block(const struct vec_pool *of, const int8_t *in, const int vectors, int32_t n,
                                  int8_t *out)
{
    const struct vec_pool own = *of, *p = &own; /* which no results lie over */
    const vec_i32 half = vec_splat(p->count / 2), less = vec_sub(vec_splat(0), half), start = vec_splat(p->start);

    for (int32_t i = 0; i < p->pixels; i++, in += p->step, out += p->out_pixel) {
        const int8_t *row = in;
        vec_i32 sum[4];
        VEC_UNROLL
        for (int v = 0; v < vectors; v++)
            sum[v] = start;
        for (int32_t y = 0; y < p->rows; y++, row += p->row) {
            const int8_t *tap = row;
            for (int32_t x = 0; x < p->columns; x++, tap += p->pixel) {
                VEC_UNROLL
                for (int v = 0; v < vectors; v++)
                    sum[v] = vec_add(sum[v], vec_widen(tap + v * VEC_LANES, n));
            }
        }
        /* Half away from zero: half of the count is added to or taken off the sum. */
        VEC_UNROLL
        for (int v = 0; v < vectors; v++) {
            vec_i32 rounded = vec_add(sum[v], vec_if_negative(sum[v], less, half));
            vec_store(vec_quotient(rounded, p->reciprocal), &p->output, out + v * VEC_LANES, n);
        }
    }
}

/* `bytes` channels. */
#define VEC_MAXIMUM_OF(bytes)                                                                                          \
    VEC_INLINE void vec_maximum_##bytes(const struct vec_pool *p, const int8_t *in, int8_t *out)                       \
    {                                                                                                                  \
        const vec_bytes##bytes low = (vec_bytes##bytes){0} + (int8_t)p->output.low;                                    \
        const vec_bytes##bytes high = (vec_bytes##bytes){0} + (int8_t)p->output.high;                                  \
                                                                                                                       \
        for (int32_t i = 0; i < p->pixels; i++, in += p->step, out += p->out_pixel) {                                  \
            vec_bytes##bytes best = low;                                                                               \
            for (int32_t y = 0; y < p->rows; y++) {                                                                    \
                const int8_t *tap = in + y * p->row;                                                                   \
                for (int32_t x = 0; x < p->columns; x++, tap += p->pixel) {                                            \
                    vec_bytes##bytes v = *(const vec_loose##bytes *)tap, more = (vec_bytes##bytes)(v > best);          \
                    best = (v & more) | (best & ~more);                                                                \
                }                                                                                                      \
            }                                                                                                          \
            const vec_bytes##bytes above = (vec_bytes##bytes)(best > high);                                            \
            *(vec_loose##bytes *)out = (high & above) | (best & ~above);                                               \
        }                                                                                                              \
    }

VEC_MAXIMUM_OF(16)
VEC_MAXIMUM_OF(8)
#ifdef __AVX2__
VEC_MAXIMUM_OF(32)
#endif
#ifdef __AVX512BW__
VEC_MAXIMUM_OF(64)
#endif

static void vec_average(const struct vec_pool *p, const int8_t *in, int8_t *out)
{
    int32_t i = 0;

    for (; i + VEC_CHANNELS <= p->channels; i += VEC_CHANNELS)
        vec_average_block(p, in + i, VEC_CHANNELS / VEC_LANES, VEC_LANES, out + i);
    for (; i + 2 * VEC_LANES <= p->channels; i += 2 * VEC_LANES)
        vec_average_block(p, in + i, 2, VEC_LANES, out + i);
    for (; i + VEC_LANES <= p->channels; i += VEC_LANES)
        vec_average_block(p, in + i, 1, VEC_LANES, out + i);
    if (i == p->channels)
        return;
    /* A whole vector with some of those in front once more, or a part of one. */
    if (i > 0)
        vec_average_block(p, in + p->channels - VEC_LANES, 1, VEC_LANES, out + p->channels - VEC_LANES);
    else
        vec_average_block(p, in, 1, p->channels, out);
}

static void vec_maximum(const struct vec_pool *p, const int8_t *in, int8_t *out)
{
    int32_t i = 0, n = p->channels;

#ifdef __AVX512BW__
    for (; i + 64 <= n; i += 64)
        vec_maximum_64(p, in + i, out + i);
#endif
#ifdef __AVX2__
    for (; i + 32 <= n; i += 32)
        vec_maximum_32(p, in + i, out + i);
#endif
    for (; i + 16 <= n; i += 16)
        vec_maximum_16(p, in + i, out + i);
    for (; i + 8 <= n; i += 8)
        vec_maximum_8(p, in + i, out + i);
    if (i < n && n > 8) { /* some of those in front once more */
        vec_maximum_8(p, in + n - 8, out + n - 8);
        return;
    }
    for (int32_t pixel = 0; pixel < p->pixels; pixel++, in += p->step, out += p->out_pixel) {
        for (int32_t c = i; c < n; c++) {
            int32_t best = (int8_t)p->output.low;
            for (int32_t t = 0; t < p->rows * p->columns; t++) {
                int32_t v = in[t / p->columns * p->row + t % p->columns * p->pixel + c];
                best = v > best ? v : best;
            }
            out[c] = (int8_t)vec_smaller(best, (int8_t)p->output.high);
        }
    }
}

#define VEC_SUMMED_ROWS 64 /* whose sums 16 bits hold, and which the nearest cache keeps */

/* Adds `rows` of as many channels to their sums. words: how they are widened. */
#define VEC_SUM_OF(channels, words)                                                                                    \
    typedef int8_t vec_summands##channels __attribute__((vector_size(channels), aligned(1), may_alias));               \
    typedef int16_t vec_sums##channels __attribute__((vector_size(2 * (channels))));                                   \
                                                                                                                       \
    VEC_INLINE void vec_sum_##channels(const int8_t *in, ptrdiff_t row, int32_t rows, int32_t *sum)                    \
    {                                                                                                                  \
        vec_sums##channels even = {0}, odd = {0}; /* neither waits for the other */                                    \
        int32_t r = 0;                                                                                                 \
                                                                                                                       \
        for (; r + 2 <= rows; r += 2, in += 2 * row) {                                                                 \
            even += (vec_sums##channels)words(*(const vec_summands##channels *)in);                                    \
            odd += (vec_sums##channels)words(*(const vec_summands##channels *)(in + row));                             \
        }                                                                                                              \
        if (r < rows)                                                                                                  \
            even += (vec_sums##channels)words(*(const vec_summands##channels *)in);                                    \
        even += odd;                                                                                                   \
        for (int k = 0; k < (channels); k++)                                                                           \
            sum[k] += even[k];                                                                                         \
    }

#define VEC_WORDS_8(v) __builtin_convertvector(v, vec_sums8)
#define VEC_WORDS_16(v) __builtin_convertvector(v, vec_sums16)

VEC_SUM_OF(8, VEC_WORDS_8)
VEC_SUM_OF(16, VEC_WORDS_16)
#ifdef __AVX512BW__
#define VEC_WORDS_32(v) _mm512_cvtepi8_epi16((__m256i)(v)) /* which gcc makes of halves */
VEC_SUM_OF(32, VEC_WORDS_32)
#endif

static void vec_sum_rows(const int8_t *in, ptrdiff_t row, int32_t rows, int32_t n, int32_t *sum)
{
    for (int32_t done = 0; done < rows; done += VEC_SUMMED_ROWS, in += VEC_SUMMED_ROWS * row) {
        int32_t some = vec_smaller(rows - done, VEC_SUMMED_ROWS), i = 0;
#ifdef __AVX512BW__
        for (; i + 32 <= n; i += 32)
            vec_sum_32(in + i, row, some, sum + i);
#endif
        for (; i + 16 <= n; i += 16)
            vec_sum_16(in + i, row, some, sum + i);
        for (; i + 8 <= n; i += 8)
            vec_sum_8(in + i, row, some, sum + i);
        for (; i < n; i++) {
            for (int32_t r = 0; r < some; r++)
                sum[i] += in[r * row + i];
        }
    }
}

static void vec_scale_sums(const struct vec_params *p, const struct vec_output *o, const int32_t *sum, int32_t n,
                           int8_t *out)
{
    for (int32_t i = 0; i < n; i += VEC_LANES) {
        vec_i32 v = vec_load(sum + i);
        vec_requant_all(&v, 1, p);
        vec_store(vec_from_word(v), o, out + i, vec_smaller(n - i, VEC_LANES));
    }
}

/* Modulo 2^32: a part beyond 0 to 1024 belongs to two equal values. */
static inline int32_t vec_blended(int32_t low, int32_t high, int32_t part)
{
    return (int32_t)((uint32_t)low * (1024u - (uint32_t)part) + (uint32_t)high * (uint32_t)part);
}

static void vec_blend_rows(const int8_t *low, const int8_t *high, int32_t part, int32_t n, int32_t *out)
{
    for (int32_t i = 0; i < n; i++)
        out[i] = vec_blended(low[i], high[i], part);
}

/* A sum in units of 2^-20, half away from zero. A weighted mean of int8: it needs no saturation. */
static inline int8_t vec_from_sum(int32_t sum)
{
    return (int8_t)((sum + (1 << 19) + (sum >> 31)) >> 20);
}

/* `run` values from `low` and `high` on; up to VEC_LANES - 1 more are read. */
static inline void vec_blend_run(const int32_t *low, const int32_t *high, int32_t part, int32_t run, int8_t *out)
{
    static const struct vec_output any = {0, 0x80808080, 0x7F7F7F7F};
    vec_i32 of_low = vec_splat(1024 - part), of_high = vec_splat(part);
    vec_i32 half = vec_splat(1 << 19), less = vec_splat((1 << 19) - 1);

    for (int32_t i = 0; i < run; i += VEC_LANES) {
        vec_i32 sum = vec_add(vec_mul(vec_load(low + i), of_low), vec_mul(vec_load(high + i), of_high));
        vec_i32 rounded = vec_shift_right(vec_add(sum, vec_if_negative(sum, less, half)), 20);
        vec_store(rounded, &any, out + i, vec_smaller(run - i, VEC_LANES));
    }
}

static void vec_blend_columns(const struct vec_blend *b, const int32_t *restrict row, int8_t *restrict out)
{
    const int32_t *low = b->at.low, *high = b->at.high, *part = b->at.part;

    if (b->run == 1 && b->pitch == 1) {
        for (int32_t i = 0; i < b->n; i++)
            out[i] = vec_from_sum(vec_blended(row[low[i]], row[high[i]], part[i]));
        return;
    }
    for (int32_t p = 0; p < b->n; p++, out += b->pitch)
        vec_blend_run(row + low[p], row + high[p], part[p], b->run, out);
}

#define VEC_ISA(its_path, bytes, its_bits)                                                                             \
    {                                                                                                                  \
        .path = (its_path), .input_offset = VEC_OFFSET, .weight_bytes = (bytes), .bits = (its_bits),                   \
        .lines = VEC_LINES, .wide = VEC_TILE_WIDE, .block = VEC_BLOCK, .order = {vec_order, vec_order_pairs},          \
        .gemm = vec_gemm_row, .depthwise = vec_depthwise, .binary = vec_binary, .scale_rows = vec_scale_rows,          \
        .copy = vec_copy, .pair = vec_pair, .pair_turns = vec_pair_turns, .average = vec_average,                      \
        .maximum = vec_maximum, .sum_rows = vec_sum_rows, .scale_sums = vec_scale_sums, .lookup = vec_lookup,          \
        .blend_rows = vec_blend_rows, .blend_columns = vec_blend_columns, .transpose = vec_transpose,                  \
    }

#endif
