/* Small graphs for the tests of the quantizer, from the shorthand of quantized_text.h. */
#ifndef NUC_TEST_QUANTIZE_GRAPHS_H
#define NUC_TEST_QUANTIZE_GRAPHS_H

#include "unit/quantized_text.h"

#include <math.h>

#include "quantize/quantize.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* What the inputs of all samples begin with. */
static const float ramp[32] = {-8, -7, -6, -5, -4, -3, -2, -1, 0,  1,  2,  3,  4,  5,  6,  7,
                               8,  7,  6,  5,  4,  3,  2,  1,  -1, -2, -3, -4, -5, -6, -7, -8};

/* x[1, 2, 4, 4] -> conv2d 1x1 to 2 channels */
#define CONV                                                                                                           \
    "%w = parameter : float32[2, 2, 1, 1] values(1, -0.5, 0.25, 2); %x = input : float32[1, 2, 4, 4]\n"                \
    "%c = aten.conv2d.default(%x, %w)\n"
#define CONV_WITH_BIAS                                                                                                 \
    "%w = parameter : float32[2, 2, 1, 1] values(1, -0.5, 0.25, 2); %b = parameter : float32[2] values(0.75, -3)\n"    \
    "%x = input : float32[1, 2, 4, 4]; %c = aten.conv2d.default(%x, %w, %b)\n"

static inline struct nuc_calibration *calibrate_on(struct nuc_graph *g, bool reference_compat, const float *in)
{
    struct nuc_quantize_options options = {
        .reference_compat = reference_compat, .observer = NUC_OBSERVE_HISTOGRAM, .threads = 1};
    struct nuc_calibration *c = nuc_quantize_prepare(g, &options);

    nuc_quantize_sample(c, (const void *const[]){in, in, in});
    return c;
}

static inline struct nuc_calibration *calibrate(struct nuc_context *cx, const char *graph, bool reference_compat)
{
    return calibrate_on(parse_quantized(cx, graph), reference_compat, ramp);
}

#endif
