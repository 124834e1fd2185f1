/* Kernels that move bytes and compute nothing: transposes, copies, pairs. A part of vector_kernels.h. */
#ifndef NUC_NPUSIM_HOST_VECTOR_MOVES_H
#define NUC_NPUSIM_HOST_VECTOR_MOVES_H

/* Bytes in a register of the compiler's choice, and as they lie anywhere in memory. */
#define VEC_BYTES(n)                                                                                                   \
    typedef int8_t vec_bytes##n __attribute__((vector_size(n)));                                                       \
    typedef int8_t vec_loose##n __attribute__((vector_size(n), aligned(1), may_alias));
VEC_BYTES(8)
VEC_BYTES(16)
VEC_BYTES(32)
VEC_BYTES(64)

/* Bytes of `a` and then `b`, by their numbers. */
#ifdef __clang__
#define VEC_BYTES_OF(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define VEC_BYTES_OF(a, b, ...) __builtin_shuffle(a, b, (vec_bytes16){__VA_ARGS__})
#endif
#define VEC_ZIP_LOW(a, b) VEC_BYTES_OF(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define VEC_ZIP_HIGH(a, b) VEC_BYTES_OF(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

/* A tile of 16 columns; with 64 rows, one of 16 in each 128 bits. */
#define VEC_TRANSPOSE_OF(rows, load, low, high)                                                                        \
    VEC_INLINE void vec_transpose_##rows(const int8_t *in, ptrdiff_t in_row, int8_t *out, ptrdiff_t out_row)           \
    {                                                                                                                  \
        vec_bytes##rows v[16], w[16];                                                                                  \
                                                                                                                       \
        VEC_UNROLL                                                                                                     \
        for (int i = 0; i < 16; i++)                                                                                   \
            v[i] = load(in + i * in_row, 16 * in_row);                                                                 \
        VEC_UNROLL                                                                                                     \
        for (int round = 0; round < 4; round++) {                                                                      \
            VEC_UNROLL                                                                                                 \
            for (int i = 0; i < 8; i++) {                                                                              \
                w[2 * i] = low(v[i], v[i + 8]);                                                                        \
                w[2 * i + 1] = high(v[i], v[i + 8]);                                                                   \
            }                                                                                                          \
            VEC_UNROLL                                                                                                 \
            for (int i = 0; i < 16; i++)                                                                               \
                v[i] = w[i];                                                                                           \
        }                                                                                                              \
        VEC_UNROLL                                                                                                     \
        for (int i = 0; i < 16; i++)                                                                                   \
            *(vec_loose##rows *)(out + i * out_row) = v[i];                                                            \
    }

#define VEC_ROW_OF(in, step) (*(const vec_loose16 *)(in))

VEC_TRANSPOSE_OF(16, VEC_ROW_OF, VEC_ZIP_LOW, VEC_ZIP_HIGH)
#ifdef __AVX512BW__
#define VEC_TALL 64
#define VEC_ZIPPED(unpack, a, b) ((vec_bytes64)unpack((__m512i)(a), (__m512i)(b)))
#define VEC_ZIP_LOW_64(a, b) VEC_ZIPPED(_mm512_unpacklo_epi8, a, b)
#define VEC_ZIP_HIGH_64(a, b) VEC_ZIPPED(_mm512_unpackhi_epi8, a, b)

VEC_INLINE vec_bytes64 vec_rows_of(const int8_t *in, ptrdiff_t step)
{
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const void *)in));

    v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(in + step)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(in + 2 * step)), 2);
    return (vec_bytes64)_mm512_inserti32x4(v, _mm_loadu_si128((const void *)(in + 3 * step)), 3);
}

VEC_TRANSPOSE_OF(64, vec_rows_of, VEC_ZIP_LOW_64, VEC_ZIP_HIGH_64)
#define vec_transpose_tall vec_transpose_64
#else
#define VEC_TALL 16 /* rows of the largest tile */
#define vec_transpose_tall vec_transpose_16
#endif

/* Three rows next to each other in the output: planes of an image become pixels. Returns the columns it did. */
static int32_t vec_transpose_three(const int8_t *in, ptrdiff_t in_row, int32_t columns, int8_t *out)
{
    int32_t c = 0;

    /* Stores reach four bytes into what the next one writes. */
    for (; c + 18 <= columns; c += 16, out += 48) {
        vec_bytes16 v0 = *(const vec_loose16 *)(in + c), v1 = *(const vec_loose16 *)(in + in_row + c);
        vec_bytes16 v2 = *(const vec_loose16 *)(in + 2 * in_row + c);
        vec_bytes16 low = VEC_ZIP_LOW(v0, v1), high = VEC_ZIP_HIGH(v0, v1);
        *(vec_loose16 *)out = VEC_BYTES_OF(low, v2, 0, 1, 16, 2, 3, 17, 4, 5, 18, 6, 7, 19, 0, 0, 0, 0);
        *(vec_loose16 *)(out + 12) = VEC_BYTES_OF(low, v2, 8, 9, 20, 10, 11, 21, 12, 13, 22, 14, 15, 23, 0, 0, 0, 0);
        *(vec_loose16 *)(out + 24) = VEC_BYTES_OF(high, v2, 0, 1, 24, 2, 3, 25, 4, 5, 26, 6, 7, 27, 0, 0, 0, 0);
        *(vec_loose16 *)(out + 36) = VEC_BYTES_OF(high, v2, 8, 9, 28, 10, 11, 29, 12, 13, 30, 14, 15, 31, 0, 0, 0, 0);
    }
    return c;
}

/* Tiles at the ends overlap those before them. */
static void vec_transpose(const int8_t *in, ptrdiff_t in_row, int32_t rows, int32_t columns, int8_t *out,
                          ptrdiff_t out_row)
{
    if (rows >= 16 && columns >= 16) {
        for (int32_t r = 0, tall; r < rows; r += tall) {
            tall = rows - r >= VEC_TALL ? VEC_TALL : 16;
            int32_t row = vec_smaller(r, rows - tall);
            for (int32_t c = 0; c < columns; c += 16) {
                int32_t column = vec_smaller(c, columns - 16);
                const int8_t *from = in + row * in_row + column;
                int8_t *to = out + column * out_row + row;
                if (tall == VEC_TALL)
                    vec_transpose_tall(from, in_row, to, out_row);
                else
                    vec_transpose_16(from, in_row, to, out_row);
            }
        }
        return;
    }
    int32_t done = rows == 3 && out_row == 3 ? vec_transpose_three(in, in_row, columns, out) : 0;
    for (int32_t r = 0; r < rows; r++) {
        for (int32_t c = done; c < columns; c++)
            out[c * out_row + r] = in[r * in_row + c];
    }
}

VEC_INLINE void vec_copy_words(int8_t *to, const int8_t *from, const int n, uint64_t flip)
{
    uint64_t word[4];

    memcpy(word, from, (size_t)n * 8);
    for (int i = 0; i < n; i++)
        word[i] ^= flip;
    memcpy(to, word, (size_t)n * 8);
}

/* In steps of sizes that registers have. */
static void vec_copy(int8_t *to, const int8_t *from, int32_t n, int32_t bytes, ptrdiff_t step, int8_t flip)
{
    uint64_t flips = (uint8_t)flip * UINT64_C(0x0101010101010101);

    if (n > 1 && step == bytes) {
        bytes *= n;
        n = 1;
    }
    for (int32_t i = 0; i < n; i++, from += step, to += bytes) {
        /* What is left of a size is copied with the end of what was. */
        if (bytes >= VEC_COPY) {
            for (int32_t b = 0; b < bytes; b += VEC_COPY) {
                int32_t at = vec_smaller(b, bytes - VEC_COPY);
                vec_copy_step(to + at, from + at, flip);
            }
        } else if (bytes >= 32) {
            vec_copy_words(to, from, 4, flips);
            vec_copy_words(to + bytes - 32, from + bytes - 32, 4, flips);
        } else if (bytes >= 16) {
            for (int32_t b = 0; b < bytes; b += 16)
                vec_copy_words(to + vec_smaller(b, bytes - 16), from + vec_smaller(b, bytes - 16), 2, flips);
        } else if (bytes >= 8) {
            vec_copy_words(to, from, 1, flips);
            vec_copy_words(to + bytes - 8, from + bytes - 8, 1, flips);
        } else {
            for (int32_t b = 0; b < bytes; b++)
                to[b] = (int8_t)(from[b] ^ flip);
        }
    }
}

/* Eight bytes in front of as many of 0: a register, where copies to a part of one are in memory. */
VEC_INLINE vec_bytes16 vec_eight(const int8_t *p)
{
    typedef int64_t vec_two __attribute__((vector_size(16)));
    int64_t v;

    memcpy(&v, p, sizeof v);
    return (vec_bytes16)(vec_two){v, 0};
}

/* The bytes of b between those of a. What is left of a size is done with the end of what was. */
static void vec_pair(int8_t *to, ptrdiff_t pitch, struct vec_line a, struct vec_line b, int32_t n, int32_t bytes,
                     int8_t flip)
{
    const vec_bytes16 turned = (vec_bytes16){0} + flip;

    for (; n > 0; n--, to += pitch, a.at += a.step, b.at += b.step) {
#ifdef __AVX512BW__
        for (int32_t i = 0; bytes >= 64 && i < bytes; i += 64) {
            int32_t at = vec_smaller(i, bytes - 64);
            vec_pair_64(to + 2 * at, to + 2 * at + 64, a.at + at, b.at + at, vec_turns_order(32), flip);
        }
        if (bytes >= 64)
            continue;
#endif
        for (int32_t i = 0; bytes >= 16 && i < bytes; i += 16) {
            int32_t at = vec_smaller(i, bytes - 16);
            vec_bytes16 x = *(const vec_loose16 *)(a.at + at) ^ turned, y = *(const vec_loose16 *)(b.at + at) ^ turned;
            *(vec_loose16 *)(to + 2 * at) = VEC_ZIP_LOW(x, y);
            *(vec_loose16 *)(to + 2 * at + 16) = VEC_ZIP_HIGH(x, y);
        }
        for (int32_t i = 0; bytes >= 8 && bytes < 16 && i < bytes; i += 8) {
            int32_t at = vec_smaller(i, bytes - 8);
            vec_bytes16 x = vec_eight(a.at + at) ^ turned, y = vec_eight(b.at + at) ^ turned;
            *(vec_loose16 *)(to + 2 * at) = VEC_ZIP_LOW(x, y);
        }
        for (int32_t i = 0; bytes < 8 && i < bytes; i++) {
            to[2 * i] = (int8_t)(a.at[i] ^ flip);
            to[2 * i + 1] = (int8_t)(b.at[i] ^ flip);
        }
    }
}

/* The same of `n` pixels next to each other that go to two places by turns. */
static void vec_pair_turns(int8_t *const *to, const int8_t *a, const int8_t *b, int32_t n, int32_t bytes, int8_t flip)
{
    int8_t *place[2] = {to[0], to[1]};
    int32_t i = 0;

#ifdef __AVX512BW__
    if (bytes == 8 || bytes == 16 || bytes == 32) {
        __m512i order = vec_turns_order(bytes);
        for (; i + 64 / bytes <= n; i += 64 / bytes, a += 64, b += 64, place[0] += 64, place[1] += 64)
            vec_pair_64(place[0], place[1], a, b, order, flip);
    }
#endif
    for (; i < n; i++, a += bytes, b += bytes) {
        vec_pair(place[i % 2], 0, (struct vec_line){a, 0}, (struct vec_line){b, 0}, 1, bytes, flip);
        place[i % 2] += 2 * bytes;
    }
}

#endif
