/* Constants of a quantized graph: integer weights and biases, and the parameters of per-channel quantization. */
#ifndef NUC_QUANTIZE_QUANTIZED_CONSTANT_H
#define NUC_QUANTIZE_QUANTIZED_CONSTANT_H

#include "quantize/ranges/observer.h"

/* A buffer `b_<target>` of graph `to`. `bytes` are dense in the order of meta->dim_order and stay in use. */
struct nuc_node *nuc_add_buffer(struct nuc_graph *to, const char *target, const struct nuc_meta *meta,
                                const void *bytes);

/*
 * Values, in logical order, of float constant `node` of graph `from`, quantized with the parameters of `o`: round half
 * to even of x * (1 / scale), plus zero point, saturated. *meta becomes the result's: the constant's shape, its dim
 * order, contiguous where only dimensions of size 1 say otherwise, and the observer's dtype.
 */
const void *nuc_quantize_constant(struct nuc_graph *from, const struct nuc_node *node, const float *values,
                                  const struct nuc_observer *o, struct nuc_meta *meta);

/* out[count]: values of a channel, quantized to int8 with the parameters of `o` and dequantized again. */
void nuc_fake_quantize(const struct nuc_observer *o, uint32_t channel, const float *x, size_t count, float *out);

#endif
