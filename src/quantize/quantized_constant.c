/* The arithmetic is that of torch's quantized_decomposed operators (torch/ao/quantization/fx/_decomposed.py). */
#include <math.h>
#include <string.h>

#include "quantize/quantized_constant.h"

#include "host/clones.h"

struct nuc_node *nuc_add_buffer(struct nuc_graph *to, const char *target, const struct nuc_meta *meta,
                                const void *bytes)
{
    struct nuc_node *node = nuc_add_placeholder(to, nuc_format(to->cx, "b_%s", target), NUC_BUFFER, meta);

    node->data = nuc_dense_data(to->cx, meta, bytes);
    node->target = nuc_strdup(to->cx, target);
    return node;
}

/* Saturates in double, which holds every int32: float32 does not hold the largest. */
static double quantize(float x, float inverse, const struct nuc_observer *o, int64_t zero_point)
{
    double q = (double)(rintf(x * inverse) + (float)zero_point);

    q = q > (double)o->spec->quant_min ? q : (double)o->spec->quant_min;
    return q < (double)o->spec->quant_max ? q : (double)o->spec->quant_max;
}

NUC_CLONES static void quantize_slice(const float *x, size_t count, const struct nuc_observer *o, uint32_t channel,
                                      void *out, size_t at)
{
    float inverse = 1.0f / o->scale[channel];
    int64_t zero_point = o->zero_point[channel];

    if (o->spec->dtype == NUC_I8) {
        /* Of whole numbers that a float32 holds. */
        int8_t *q = (int8_t *)out + at;
        float zero = (float)zero_point, low = (float)o->spec->quant_min, high = (float)o->spec->quant_max;
        for (size_t i = 0; i < count; i++) {
            float v = rintf(x[i] * inverse) + zero;
            v = v > low ? v : low;
            q[i] = (int8_t)(v < high ? v : high);
        }
    } else if (o->spec->dtype == NUC_I16) {
        int16_t *q = out;
        for (size_t i = 0; i < count; i++)
            q[at + i] = (int16_t)quantize(x[i], inverse, o, zero_point);
    } else {
        int32_t *q = out;
        for (size_t i = 0; i < count; i++)
            q[at + i] = (int32_t)quantize(x[i], inverse, o, zero_point);
    }
}

const void *nuc_quantize_constant(struct nuc_graph *from, const struct nuc_node *node, const float *values,
                                  const struct nuc_observer *o, struct nuc_meta *meta)
{
    struct nuc_slices s = nuc_slices_along(&node->vals[0], o->spec->ch_axis);

    /* The channels of the constant are to be those of the observer. */
    if (o->spec->ch_axis >= 0 && (o->spec->ch_axis >= node->vals[0].rank || s.channels != o->n))
        nuc_fail(from->cx, NUC_BAD_INPUT, "%s: %s does not have one value for each of %u channels", from->file,
                 nuc_node_text(from->cx, node), (unsigned)o->n);
    void *logical = nuc_alloc_unset(from->cx, from->cx->arena, s.count * nuc_dtype_size(o->spec->dtype));
    for (size_t i = 0; s.inner != 0 && i < s.count / s.inner; i++)
        quantize_slice(values + i * s.inner, s.inner, o, (uint32_t)(i % s.channels), logical, i * s.inner);

    *meta = node->vals[0];
    meta->dtype = o->spec->dtype;
    /*
     * torch calls a tensor contiguous when its dimensions of size 1 alone are out of order, and computes contiguous
     * results from it.
     */
    struct nuc_meta contiguous = *meta;
    nuc_set_contiguous(&contiguous);
    if (nuc_same_layout(meta, &contiguous))
        *meta = contiguous;
    return nuc_in_dim_order(from->cx, meta, logical);
}

NUC_CLONES void nuc_fake_quantize(const struct nuc_observer *o, uint32_t channel, const float *x, size_t count,
                                  float *out)
{
    /* Of whole numbers that a float32 holds. */
    float scale = o->scale[channel], inverse = 1.0f / scale, zero = (float)o->zero_point[channel];
    float low = (float)o->spec->quant_min, high = (float)o->spec->quant_max;

    for (size_t i = 0; i < count; i++) {
        float v = rintf(x[i] * inverse) + zero;
        v = v > low ? v : low;
        v = v < high ? v : high;
        out[i] = (v - zero) * scale;
    }
}
