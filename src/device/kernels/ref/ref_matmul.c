#include <string.h>

#include "device/kernels/ref/element.h"
#include "device/kernels/ref/ref.h"

static float dot(const float *x, const float *y, size_t count, size_t y_step)
{
    float sum = 0.0f;

    for (size_t k = 0; k < count; k++)
        sum += x[k] * y[k * y_step];
    return sum;
}

void nuc_ref_matmul_f32(const struct nuc_matmul *mm, const float *x, const float *y, float *out)
{
    for (size_t b = 0; b < mm->batch; b++) {
        for (size_t i = 0; i < mm->m; i++) {
            for (size_t j = 0; j < mm->p; j++)
                out[(b * mm->m + i) * mm->p + j] =
                    dot(x + (b * mm->m + i) * mm->n, y + b * mm->n * mm->p + j, mm->n, mm->p);
        }
    }
}

void nuc_kernel_add_scaled_f32(const struct nuc_matmul *mm, const float *addend, const ptrdiff_t addend_strides[2],
                               float beta, float alpha, float *out)
{
    for (size_t i = 0; i < mm->m; i++) {
        for (size_t j = 0; j < mm->p; j++, out++)
            *out = *out * alpha + addend[(ptrdiff_t)i * addend_strides[0] + (ptrdiff_t)j * addend_strides[1]] * beta;
    }
}

static int64_t dot_int(enum nuc_dtype dtype, const uint8_t *x, const uint8_t *y, size_t n, size_t y_step)
{
    uint64_t sum = 0;

    for (size_t k = 0; k < n; k++)
        sum += (uint64_t)nuc_load_whole(dtype, x, (ptrdiff_t)k) *
               (uint64_t)nuc_load_whole(dtype, y, (ptrdiff_t)(k * y_step));
    return (int64_t)sum;
}

void nuc_kernel_matmul_int(const struct nuc_matmul *mm, enum nuc_dtype dtype, const void *x, const void *y, void *out)
{
    size_t size = nuc_dtype_size(dtype);
    uint8_t *to = out;

    for (size_t b = 0; b < mm->batch; b++) {
        for (size_t i = 0; i < mm->m; i++) {
            for (size_t j = 0; j < mm->p; j++, to += size) {
                int64_t sum = dot_int(dtype, (const uint8_t *)x + (b * mm->m + i) * mm->n * size,
                                      (const uint8_t *)y + (b * mm->n * mm->p + j) * size, mm->n, mm->p);
                memcpy(to, &sum, size);
            }
        }
    }
}
