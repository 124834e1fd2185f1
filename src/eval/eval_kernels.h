/*
 * The loops of eval_gemm.h for one way to compute. Included once for each, with these macros, which end with it:
 *
 *     KERNEL(name)          the name of a function
 *     TARGET                its attribute
 *     MULTIPLY_ADD(a, b, c) a * b + c of vectors
 *     LANES                 floats of a vector: NUC_VECTOR, or more, where there is no finish
 *     MAXIMUM(a, b)         a > b ? a : b of each of their floats, MINIMUM alike
 *     MOST_VECTORS          side by side, for which there are registers in four rows
 */

/* ---- matrices ---- */

/* The sums of a tile begin with start[row] or, NULL, with what is there. Instances whose sizes the compiler knows. */
TARGET static inline __attribute__((always_inline)) void
KERNEL(sum_tile)(const int rows, const int vectors, const float *a, size_t a_stride, const float *b, size_t b_stride,
                 size_t k, const float *start, float *out, size_t out_stride)
{
    const float *a0 = a, *a1 = a + a_stride, *a2 = a1 + a_stride, *a3 = a2 + a_stride;
    vector c[NUC_TILE_ROWS * MOST_VECTORS];

    UNROLL
    for (int i = 0; i < rows * vectors; i++)
        c[i] = start != NULL ? SPREAD(start[i / vectors])
                             : LOAD(out + (size_t)(i / vectors) * out_stride + i % vectors * LANES);
    for (size_t i = 0; i < k; i++, b += b_stride) {
        vector columns[MOST_VECTORS];
        UNROLL
        for (int j = 0; j < vectors; j++)
            columns[j] = LOAD(b + j * LANES);
        UNROLL
        for (int r = 0; r < rows; r++) {
            vector row = SPREAD((r == 0 ? a0 : r == 1 ? a1 : r == 2 ? a2 : a3)[i]);
            UNROLL
            for (int j = 0; j < vectors; j++)
                c[r * vectors + j] = MULTIPLY_ADD(row, columns[j], c[r * vectors + j]);
        }
    }
    UNROLL
    for (int i = 0; i < rows * vectors; i++)
        STORE(out + (size_t)(i / vectors) * out_stride + i % vectors * LANES, c[i]);
}

TARGET static void KERNEL(tile)(const float *a, size_t a_stride, const float *panel, size_t k, size_t rows, float *tile)
{
    enum { WIDTH = NUC_TILE_COLUMNS, VECTORS = WIDTH / LANES };

    if (rows == NUC_TILE_ROWS) {
        KERNEL(sum_tile)(NUC_TILE_ROWS, VECTORS, a, a_stride, panel, WIDTH, k, NULL, tile, WIDTH);
        return;
    }
    for (size_t r = 0; r < rows; r++)
        KERNEL(sum_tile)(1, VECTORS, a + r * a_stride, 0, panel, WIDTH, k, NULL, tile + r * WIDTH, WIDTH);
}

/* Some columns of all rows. */
TARGET static inline __attribute__((always_inline)) void KERNEL(sum_columns)(const struct nuc_block *g, size_t j,
                                                                             const int vectors)
{
    const float *a = g->a, *b = g->b + j, *start = g->start;
    float *out = g->out + j;
    size_t row = 0;

    for (; g->rows - row >= NUC_TILE_ROWS; row += NUC_TILE_ROWS, a += NUC_TILE_ROWS * g->a_stride)
        KERNEL(sum_tile)
    (NUC_TILE_ROWS, vectors, a, g->a_stride, b, g->columns, g->k, start + row, out + row * g->columns, g->columns);
    for (; row < g->rows; row++, a += g->a_stride)
        KERNEL(sum_tile)(1, vectors, a, 0, b, g->columns, g->k, start + row, out + row * g->columns, g->columns);
}

/* As many vectors at a time as there are registers for, as long as no single one is left. */
TARGET static void KERNEL(block)(const struct nuc_block *g)
{
    for (size_t j = 0, count; j < g->columns; j += count * LANES) {
        size_t left = (g->columns - j) / LANES;
        count = left <= MOST_VECTORS ? left : left == MOST_VECTORS + 1 ? 2 : MOST_VECTORS;
        switch (count) {
#if MOST_VECTORS > 3
        case 4:
            KERNEL(sum_columns)(g, j, 4);
            break;
#endif
#if MOST_VECTORS > 2
        case 3:
            KERNEL(sum_columns)(g, j, 3);
            break;
#endif
        case 2:
            KERNEL(sum_columns)(g, j, 2);
            break;
        default:
            KERNEL(sum_columns)(g, j, 1);
            break;
        }
    }
}

/* ---- taps ---- */

/* With a number of taps that the compiler knows the weights stay in registers. */
TARGET static inline __attribute__((always_inline)) void
KERNEL(sum_known_taps)(const int n, const struct nuc_taps *t, const float *in, size_t count, float *out)
{
    enum { MOST = 9, VECTORS = NUC_TAPS_STEP / LANES };
    const float *from[MOST];
    vector weights[MOST], start = SPREAD(t->start);

    UNROLL
    for (int k = 0; k < n; k++) {
        from[k] = in + t->offsets[k];
        weights[k] = SPREAD(t->weights[k]);
    }
    for (size_t i = 0; i < count; i += NUC_TAPS_STEP) {
        vector c[VECTORS];
        UNROLL
        for (int j = 0; j < VECTORS; j++)
            c[j] = start;
        UNROLL
        for (int k = 0; k < n; k++) {
            UNROLL
            for (int j = 0; j < VECTORS; j++)
                c[j] = MULTIPLY_ADD(weights[k], LOAD(from[k] + i + j * LANES), c[j]);
        }
        UNROLL
        for (int j = 0; j < VECTORS; j++)
            STORE(out + i + j * LANES, c[j]);
    }
}

TARGET static void KERNEL(taps)(const struct nuc_taps *t, const float *in, size_t count, float *out)
{
    enum { VECTORS = NUC_TAPS_STEP / LANES };

    if (t->count == 9) {
        KERNEL(sum_known_taps)(9, t, in, count, out);
        return;
    }
    for (size_t i = 0; i < count; i += NUC_TAPS_STEP) {
        vector c[VECTORS];
        UNROLL
        for (int j = 0; j < VECTORS; j++)
            c[j] = SPREAD(t->start);
        for (size_t k = 0; k < t->count; k++) {
            const float *from = in + t->offsets[k] + i;
            vector weight = SPREAD(t->weights[k]);
            UNROLL
            for (int j = 0; j < VECTORS; j++)
                c[j] = MULTIPLY_ADD(weight, LOAD(from + j * LANES), c[j]);
        }
        UNROLL
        for (int j = 0; j < VECTORS; j++)
            STORE(out + i + j * LANES, c[j]);
    }
}

#if LANES == NUC_VECTOR
/* ---- what becomes of sums ---- */

/* Instances for each combination; whole vectors, of which the last one of a row overlaps. */
TARGET static inline __attribute__((always_inline)) void KERNEL(finish_rows)(const struct nuc_finish *f,
                                                                             const struct nuc_rows *r, const bool adds,
                                                                             const bool clamps, const bool rounds)
{
    const vector low = SPREAD(f->low), high = SPREAD(f->high), inverse = SPREAD(f->inverse), least = SPREAD(f->least);
    const vector most = SPREAD(f->most), scale = SPREAD(f->scale), magic = SPREAD(NUC_ROUNDING_BIAS);

    for (size_t row = 0; row < r->rows; row++) {
        const float *sums = r->sums + row * r->pitch;
        float *out = r->out + row * r->out_pitch;
        vector bias = SPREAD(adds ? r->bias[row * r->bias_step] : 0.0f);
        for (size_t i = 0, next;; i = next) {
            vector v = LOAD(sums + i);
            v = adds ? v + bias : v;
            if (clamps) {
                v = MAXIMUM(low, v);
                v = MINIMUM(high, v);
            }
            if (rounds) {
                v *= inverse;
                v = MAXIMUM(v, least);
                v = MINIMUM(v, most);
                v = ((v + magic) - magic) * scale;
            }
            STORE(out + i, v);
            if (i + NUC_VECTOR >= r->width)
                break;
            next = i + 2 * NUC_VECTOR <= r->width ? i + NUC_VECTOR : r->width - NUC_VECTOR;
        }
    }
}

TARGET static inline __attribute__((always_inline)) void
KERNEL(finish_with)(const struct nuc_finish *f, const struct nuc_rows *r, const bool clamps, const bool rounds)
{
    if (r->bias != NULL)
        KERNEL(finish_rows)(f, r, true, clamps, rounds);
    else
        KERNEL(finish_rows)(f, r, false, clamps, rounds);
}

/* With a vector of room behind each row. */
TARGET static inline __attribute__((always_inline)) void KERNEL(finish_any)(const struct nuc_finish *f,
                                                                            const struct nuc_rows *r)
{
    if (f->clamps && f->rounds)
        KERNEL(finish_with)(f, r, true, true);
    else if (f->clamps)
        KERNEL(finish_with)(f, r, true, false);
    else if (f->rounds)
        KERNEL(finish_with)(f, r, false, true);
    else
        KERNEL(finish_with)(f, r, false, false);
}

TARGET static void KERNEL(finish)(const struct nuc_finish *f, const struct nuc_rows *r)
{
    float floats[NUC_VECTOR];
    struct nuc_rows one = *r;

    if (r->width >= NUC_VECTOR) {
        KERNEL(finish_any)(f, r);
        return;
    }
    one.rows = 1;
    one.out = floats;
    for (size_t row = 0; row < r->rows; row++) {
        one.sums = r->sums + row * r->pitch;
        one.bias = r->bias == NULL ? NULL : r->bias + row * r->bias_step;
        KERNEL(finish_any)(f, &one);
        for (size_t i = 0; i < r->width; i++)
            r->out[row * r->out_pitch + i] = floats[i];
    }
}
#endif

#undef KERNEL
#undef TARGET
#undef MULTIPLY_ADD
#undef MAXIMUM
#undef MINIMUM
#undef MOST_VECTORS
#undef LANES
