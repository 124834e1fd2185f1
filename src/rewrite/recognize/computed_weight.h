/*
 * Convolutions whose weight is computed: what the weight is made of decides whether a constant weight does the same.
 */
#ifndef NUC_REWRITE_RECOGNIZE_COMPUTED_WEIGHT_H
#define NUC_REWRITE_RECOGNIZE_COMPUTED_WEIGHT_H

#include "npu/support/support.h"

/*
 * A weight that is a constant times factors for input and output channels becomes that constant: the factors are
 * multiplied with input and result. One that is a sum of such products becomes the constants side by side, if the NPU
 * takes fewer cycles so; `npu` is NULL where there is none. Biases that are computed are added. Results stay the same
 * in real numbers. Returns whether anything changed. Only an ATen graph without quantize nodes.
 */
bool nuc_keep_weights_constant(struct nuc_graph *g, const struct nuc_support *npu);

#endif
