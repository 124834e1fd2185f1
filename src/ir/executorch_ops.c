#include "ir/executorch_ops.h"

#include <stddef.h>
#include <string.h>

#include "host/text.h"

/* No kernel of that name in kernels/portable, kernels/quantized or backends/cortex_m. */
static const char *const torch_alone[] = {
    "aten::gru",      "aten::grid_sampler_3d", "aten::lstm",           "aten::rms_norm",
    "aten::rnn_relu", "aten::rnn_tanh",        "aten::scatter_reduce", "aten::sort",
};

bool nuc_in_executorch(const char *name)
{
    return !nuc_is_one_of(name, torch_alone, sizeof torch_alone / sizeof torch_alone[0]) &&
           strncmp(name, "nucleon::", 9) != 0;
}

bool nuc_executorch_transposes(const struct nuc_transposed_window *w, int dimension)
{
    /* These are a convolution with the reversed kernel. */
    bool is_reversed = w->channels > 16 && w->stride[0] <= 2 && w->stride[1] <= 2;
    int64_t kernel = w->kernel[dimension], stride = w->stride[dimension], padding = w->padding[dimension];

    if (is_reversed)
        return padding < kernel;
    if (dimension == 1)
        return stride <= kernel;
    return padding % stride == 0 && stride + padding <= kernel && padding / stride < w->height;
}
