#include <string.h>

#include "device/kernels/ref/copy_nest.h"

/* The builtin: freestanding code would call a function. */
static void copy_word(const uint8_t *in, uint8_t *out)
{
    uint32_t word;

    __builtin_memcpy(&word, in, sizeof word);
    __builtin_memcpy(out, &word, sizeof word);
}

/* A call for a few bytes would take longer than they do. */
static void copy_run(const uint8_t *in, uint8_t *out, size_t bytes)
{
    if (bytes > 32 || (out > in && out < in + bytes)) {
        memmove(out, in, bytes);
        return;
    }
    for (; bytes >= 4; bytes -= 4, in += 4, out += 4)
        copy_word(in, out);
    for (; bytes > 0; bytes--)
        *out++ = *in++;
}

/* Rows whose elements lie side by side on both sides move in one piece. */
static void copy_row(size_t size, const uint8_t *in, ptrdiff_t in_step, uint8_t *out, ptrdiff_t out_step, int32_t count)
{
    ptrdiff_t bytes = (ptrdiff_t)size;

    if (in_step == 1 && out_step == 1) {
        copy_run(in, out, size * (size_t)count);
        return;
    }
    if (size == 1 && in_step == 0 && out_step == 1) {
        memset(out, *in, (size_t)count);
        return;
    }
    if (size == 1) {
        for (int32_t i = 0; i < count; i++, in += in_step, out += out_step)
            *out = *in;
        return;
    }
    in_step *= bytes;
    out_step *= bytes;
    for (int32_t i = 0; size == 4 && i < count; i++, in += in_step, out += out_step)
        copy_word(in, out);
    for (int32_t i = 0; size == 2 && i < count; i++, in += in_step, out += out_step)
        __builtin_memcpy(out, in, 2);
    for (int32_t i = 0; size != 2 && size != 4 && i < count; i++, in += in_step, out += out_step)
        memmove(out, in, size);
}

/* Rows that take longer to begin than to move: the two inner dimensions change places. */
static bool is_worth_turning(const struct nuc_loops *loops, size_t element_size)
{
    uint32_t last = loops->rank - 1;

    return loops->rank > 1 && (size_t)loops->sizes[last] * element_size <= 4 &&
           loops->sizes[last - 1] > 4 * loops->sizes[last];
}

/* Not inlined: others take no stack for it. */
static __attribute__((noinline)) void copy_turned(const struct nuc_loops *loops, size_t element_size, const void *in,
                                                  void *out)
{
    nuc_copy_turned(loops, loops->rank - 2, element_size, in, out, copy_row);
}

void nuc_ref_copy(const struct nuc_loops *loops, size_t element_size, const void *in, void *out)
{
    if (is_worth_turning(loops, element_size) && nuc_is_apart(loops, element_size, in, out))
        copy_turned(loops, element_size, in, out);
    else
        nuc_copy_rows(loops, element_size, in, out, copy_row);
}

void nuc_kernel_fill(size_t element_size, const void *value, void *out, size_t count)
{
    const uint8_t *bytes = value;
    uint8_t *to = out;
    bool equal = true;

    for (size_t i = 1; i < element_size; i++)
        equal = equal && bytes[i] == bytes[0];
    if (equal) { /* as those of 0 */
        memset(to, bytes[0], count * element_size);
        return;
    }
    for (size_t i = 0; element_size == 2 && i < count; i++)
        __builtin_memcpy(to + 2 * i, value, 2);
    for (size_t i = 0; element_size == 4 && i < count; i++)
        copy_word(value, to + 4 * i);
    for (size_t i = 0; element_size > 4 && i < count; i++)
        memcpy(to + i * element_size, value, element_size);
}
