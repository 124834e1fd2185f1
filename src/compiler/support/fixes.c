/*
 * What to change in a model so that a rule holds: the nearest change, in the words of the model's Python. Rules that
 * know a size to pad to say so themselves (advise); the others stand here by their sentence.
 */
#include <string.h>

#include "compiler/support/support.h"

static const struct {
    const char *rule, *fix;
} fixes[] = {
    /* shared */
    {"the data input is quantized to int8 or uint8", "feed a quantized value: quantize the operator in front"},
    {"both inputs are quantized to int8 or uint8", "feed quantized values: quantize the operators in front"},
    {"the output is read by one quantize node of int8 or uint8", "quantize the operator that reads the result"},
    {"input and output have the same scale and zero point", "quantize input and output with shared parameters"},
    {"the weight is quantized to int8", "quantize the weight to int8"},
    {"the bias is quantized to int32", "quantize the bias to int32 with the product of both scales"},
    {"the weight is a parameter", "make the weight a parameter instead of a computed value"},
    {"the bias is a parameter", "make the bias a parameter instead of a computed value"},
    /* convolution */
    {"the weight has 4 dimensions", "use a 2-D convolution"},
    {"a transposed convolution is not depthwise", "use groups=1, or upsample and a depthwise convolution"},
    {"a transposed convolution has no dilation", "use dilation=1"},
    {"output_padding is 0 when the convolution is not transposed", "use output_padding=0"},
    {"without a bias the weight is float32, int8 or uint8", "give the convolution a bias or an int8 weight"},
    {"a transposed convolution has 1 group", "use groups=1, or one transposed convolution a group"},
    {"the kernel fits the hardware", "use a kernel of at most {limit}"},
    {"the stride fits the hardware", "use a stride of at most {limit}"},
    {"the dilation fits the hardware", "use a dilation of at most {limit}"},
    {"the padding of a transposed convolution is smaller than its kernel", "use a padding {limit}"},
    {"kernel height * kernel width * input channels, rounded up to the dot product's length, fit the MAC buffer",
     "use a smaller kernel or fewer input channels: their product may be {limit}"},
    {"the batch size is 1", "run the samples one by one: batch 1 instead of {actual}"},
    {"there is one group, or one a channel", "use {limit}, or one convolution a group"},
    {"the kernel of a transposed convolution is one row of even width", "use a kernel of {limit}"},
    {"a transposed convolution pads its width only", "use padding {limit}"},
    {"the stride of a transposed convolution is its kernel's width, or half of it", "use stride {limit}"},
    /* pooling */
    {"padding is counted in the mean (count_include_pad)", "use count_include_pad=True, or padding=0"},
    {"there is no divisor_override", "leave divisor_override out"},
    {"ceil_mode is false", "use ceil_mode=False and pad the input"},
    {"the output size divides the input size", "use an output size of {limit}"},
    {"the pooling window fits the hardware", "use a window of at most {limit}"},
    {"there is no dilation", "use dilation=1"},
    {"the indices are not used", "use return_indices=False"},
    {"the vertical stride is 1 or 2", "use a vertical stride of {limit}"},
    {"the padding is at most the kernel", "use a padding of at most {limit}"},
    /* resampling */
    {"the result has 4 dimensions", "reshape to 4 dimensions before the operator"},
    {"height and width grow by one factor, 2 or 4", "upsample by {limit}"},
    /* matrix products */
    {"bias, input and weight are three different tensors", "use three different tensors"},
    {"input and weight are two different tensors", "use two different tensors"},
    {"the weight has 2 dimensions", "use a 2-D weight"},
    {"beta and alpha are 1", "fold beta into the bias and alpha into the weight"},
    {"the result has 2 dimensions", "flatten the input to 2 dimensions"},
    {"the bias has one element for each output feature", "use a bias of shape {limit}"},
    {"the factors are two different tensors", "copy one of the factors"},
    {"both factors have 3 dimensions", "reshape both factors to 3 dimensions"},
    {"when the first factor is channels-first data, the second one is too", "put the other factor first"},
    {"channels-first results can be transposed", "reshape the factors before the product"},
    /* arithmetic */
    {"alpha is 1", "multiply the second input by alpha={actual} first"},
    {"one input has as many elements as the output", "expand one input to {limit} first"},
    {"the inputs have one shape", "expand the inputs to one shape, {limit}"},
    {"the input has one scale and zero point", "quantize the input per tensor"},
    {"both factors have zero point 0", "quantize both factors with symmetric parameters"},
    {"with a slope for each channel the data is channels-first", "use one slope for all channels"},
    {"all inputs are quantized to int8 or uint8", "feed quantized values: quantize the operators in front"},
    {"start and end are given", "give both start and end"},
    {"the padding mirrors the data (mode reflect)", "use mode='reflect', or a constant padding"},
    {"height and width grow by 1, 2, 4 or 8", "upsample by {limit}"},
    {"alone in its partition the resampling changes the size", "drop the resampling: it changes nothing"},
    /* softmax, means, activations */
    {"the dimension is the channels: 1 for channels-first data, else the last", "softmax over dim {limit}"},
    {"half_to_float is false", "convert to float32 before the softmax"},
    {"the channels fit the hardware", "use at most {limit} channels"},
    {"the product of the other dimensions fits the hardware", "split the input into parts of at most {limit} rows"},
    {"the number of elements fits the hardware", "split the input into parts of at most {limit} elements"},
    {"there are at least 2 dimensions", "add a batch dimension"},
    {"alone in its partition the reduction changes its data", "drop the reduction: it changes nothing"},
    {"alone in its partition the activation clips some value of its input",
     "drop the activation: it changes nothing in the calibrated range"},
    {"at least one bound is finite", "drop the operator: it changes nothing"},
    {"input and output have the same scale and zero point, or the bounds are those of a ReLU",
     "use one of the bounds -1..1, 0..1, 0..6, 0..inf"},
    {"the bounds are those of a ReLU", "use one of the bounds {limit}"},
    {"the input has 4 dimensions", "reshape the input to 4 dimensions"},
    {"keepdim is true", "use keepdim=True and reshape the result"},
    {"the mean is taken over height and width", "take the mean over dimensions {limit}"},
    {"height * width fits the hardware", "use at most {limit} pixels"},
    /* moving data */
    {"paddings come in pairs", "give two paddings for each dimension"},
    {"there are at most two paddings for each dimension", "give two paddings for each dimension"},
    {"the channels are not padded", "pad height and width only, and make the channels a size that needs none"},
    {"the input is static or quantized to int8 or uint8", "feed a quantized value: quantize the operator in front"},
    {"the input is static, or the output is read by one quantize node of int8 or uint8",
     "quantize the operator that reads the result"},
    {"alone in its partition the permutation has data to permute at run time",
     "permute the parameter once, before export"},
    {"the permutation swaps two groups of dimensions like the axes of a matrix, or keeps the order of the data",
     "use {limit}"},
    {"the result has fewer dimensions than the converter's limit", "reshape to {limit} dimensions"},
    {"input and result have as many elements", "reshape to a size with as many elements"},
    {"the copy is contiguous", "use memory_format=torch.contiguous_format"},
    {"the copy is not alone in its partition", "drop the copy: it changes nothing"},
    {"a copy of a partition's input reads a dim order the runtime can pass", "use a contiguous or channels-last value"},
    {"a copy that leaves its partition has a dim order the runtime can pass",
     "use a contiguous or channels-last value"},
    {"there is no step", "use step 1, or a strided pooling"},
    {"the dimension exists", "use a dimension the tensor has"},
    {"the slice is not empty", "drop the slice, or take at least one element"},
    {"the sliced dimension can be swapped with the last one", "slice {limit}"},
    {"all inputs and the result have the same type, scale and zero point",
     "quantize the inputs with shared parameters"},
    {"at least two different tensors are joined", "repeat the tensor in another way: the same one twice is one input"},
    {"when an input comes from outside the partition, a dimension before the axis is larger than 1",
     "compute the input on the NPU, for example by adding 0"},
    {"channels-first data to be reshaped can be transposed, or a fully connected layer takes the transpose over",
     "reshape to [N, features] right in front of a linear, or use {limit}"},
    {"a channels-first result can be transposed", "use {limit}"},
};

/* Replacements for operators the NPU does not have. */
static const struct {
    enum nuc_op op;
    const char *fix;
} replacements[] = {
    {NUC_OP_EDGE_GELU, "use hardswish or relu instead"},
    {NUC_OP_EDGE_BATCH_NORM, "put the batch norm right behind a convolution or linear, where it is folded"},
    {NUC_OP_EDGE_DIV, "multiply by the reciprocal instead"},
    {NUC_OP_EDGE_SQRT, "use rsqrt and a product instead"},
    {NUC_OP_EDGE_WHERE, "use minimum, maximum or clamp instead"},
    {NUC_OP_EDGE_GT_SCALAR, "use clamp or a sigmoid instead"},
    {NUC_OP_EDGE_SPLIT_WITH_SIZES, "use slices instead"},
    {NUC_OP_EDGE_INDEX, "use slices instead"},
    {NUC_OP_EDGE_SLICE_SCATTER, "use cat of slices instead"},
    {NUC_OP_EDGE_EXPAND, "let the operator behind broadcast instead"},
    {NUC_OP_EDGE_SQUEEZE_DIM, "use view instead"},
    {NUC_OP_EDGE_SQUEEZE, "use view instead"},
    {NUC_OP_EDGE_SQUEEZE_DIMS, "use view instead"},
    {NUC_OP_EDGE_UNSQUEEZE, "use view instead"},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

const char *nuc_rule_fix(const char *rule)
{
    for (size_t i = 0; i < COUNT(fixes); i++) {
        if (strcmp(fixes[i].rule, rule) == 0)
            return fixes[i].fix;
    }
    return NULL;
}

const char *nuc_operator_fix(enum nuc_op op)
{
    for (size_t i = 0; i < COUNT(replacements); i++) {
        if (replacements[i].op == op)
            return replacements[i].fix;
    }
    return "use an operator that 'nucleon ops' lists";
}
