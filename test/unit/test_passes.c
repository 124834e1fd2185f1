/* Graphs before and after the passes; the arithmetic of folded batch norms; what has no Edge form. */
#include "graph_texts.h"

#include <math.h>
#include <string.h>

#include "compiler/passes/passes.h"

static void to_edge(struct nuc_graph *g)
{
    nuc_to_edge(g, NULL);
}

static void run_aten_passes(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_aten_passes, NUC_PASSES_DEFAULT, NULL);
}

static void run_edge_passes(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_edge_passes, NUC_PASSES_DEFAULT, NULL);
}

struct rewrite {
    const char *name;
    void (*stage)(struct nuc_graph *g);
    const char *before, *after;
};

static const struct rewrite rewrites[] = {
    {"conv2d_gets_all_arguments", to_edge,
     "%w = parameter \"w\" : float32[2, 3, 3, 3] channels-last\n"
     "%x = input : float32[1, 3, 8, 8] channels-last\n"
     "%conv = aten.conv2d.default(%x, %w, none, [2, 2], [1, 1]) : float32[1, 2, 4, 4] channels-last\n"
     "%output = output([%conv])\n",
     "%w = parameter \"w\" : float32[2, 3, 3, 3] channels-last\n"
     "%x = input : float32[1, 3, 8, 8] channels-last\n"
     "%aten_convolution_default = edge.aten.convolution.default(%x, %w, none, [2, 2], [1, 1], [1, 1], false, [0, 0], "
     "1) : float32[1, 2, 4, 4] channels-last\n"
     "%output = output([%aten_convolution_default])\n"},
    {"conv2d_without_batch", to_edge,
     "%w = parameter \"w\" : float32[2, 3, 3, 3]\n"
     "%b = parameter \"b\" : float32[2]\n"
     "%x = input : float32[3, 8, 8]\n"
     "%conv = aten.conv2d.default(%x, %w, %b) : float32[2, 6, 6]\n"
     "%output = output([%conv])\n",
     "%w = parameter \"w\" : float32[2, 3, 3, 3]\n"
     "%b = parameter \"b\" : float32[2]\n"
     "%x = input : float32[3, 8, 8]\n"
     "%aten_view_copy_default = edge.aten.view_copy.default(%x, [1, 3, 8, 8]) : float32[1, 3, 8, 8]\n"
     "%aten_convolution_default = edge.aten.convolution.default(%aten_view_copy_default, %w, %b, [1, 1], [0, 0], [1, "
     "1], false, [0, 0], 1) : float32[1, 2, 6, 6]\n"
     "%aten_view_copy_default_1 = edge.aten.view_copy.default(%aten_convolution_default, [2, 6, 6]) : float32[2, 6, "
     "6]\n"
     "%output = output([%aten_view_copy_default_1])\n"},
    {"batch_norm", to_edge,
     "%g = parameter \"g\" : float32[4]\n"
     "%b = parameter \"b\" : float32[4]\n"
     "%m = buffer \"m\" : float32[4]\n"
     "%v = buffer \"v\" : float32[4]\n"
     "%x = input : float32[1, 4, 6, 6]\n"
     "%bn = aten.batch_norm.default(%x, %g, %b, %m, %v, false, 0.1, 1e-05, false) : float32[1, 4, 6, 6]\n"
     "%output = output([%bn])\n",
     "%g = parameter \"g\" : float32[4]\n"
     "%b = parameter \"b\" : float32[4]\n"
     "%m = buffer \"m\" : float32[4]\n"
     "%v = buffer \"v\" : float32[4]\n"
     "%x = input : float32[1, 4, 6, 6]\n"
     "%aten__native_batch_norm_legit_no_training_default = edge.aten._native_batch_norm_legit_no_training.default(%x, "
     "%g, %b, %m, %v, 0.1, 1e-05) : (float32[1, 4, 6, 6], float32[0], float32[0])\n"
     "%getitem = getitem(%aten__native_batch_norm_legit_no_training_default, 0) : float32[1, 4, 6, 6]\n"
     "%output = output([%getitem])\n"},
    {"activations", to_edge,
     "%x = input : float32[1, 4]\n"
     "%a = aten.relu.default(%x) : float32[1, 4]\n"
     "%b = aten.relu6.default(%a) : float32[1, 4]\n"
     "%c = aten.hardtanh.default(%b) : float32[1, 4]\n"
     "%d = aten.softmax.int(%c, -1) : float32[1, 4]\n"
     "%output = output([%d])\n",
     "%x = input : float32[1, 4]\n"
     "%aten_relu_default = edge.aten.relu.default(%x) : float32[1, 4]\n"
     "%aten_hardtanh_default = edge.aten.hardtanh.default(%aten_relu_default, 0.0, 6.0) : float32[1, 4]\n"
     "%aten_hardtanh_default_1 = edge.aten.hardtanh.default(%aten_hardtanh_default) : float32[1, 4]\n"
     "%aten__softmax_default = edge.aten._softmax.default(%aten_hardtanh_default_1, -1, false) : float32[1, 4]\n"
     "%output = output([%aten__softmax_default])\n"},
    {"in_place_operators", to_edge,
     "%x = input : float32[1, 4]\n"
     "%a = aten.relu.default(%x) : float32[1, 4]\n"
     "%b = aten.relu.default(%a) : float32[1, 4]\n"
     "%c = aten.hardtanh_.default(%a, 0.0, 6.0) : float32[1, 4]\n"
     "%d = aten.add.Tensor(%a, %b) : float32[1, 4]\n"
     "%output = output([%c, %d])\n",
     "%x = input : float32[1, 4]\n"
     "%aten_relu_default = edge.aten.relu.default(%x) : float32[1, 4]\n"
     "%aten_relu_default_1 = edge.aten.relu.default(%aten_relu_default) : float32[1, 4]\n"
     "%aten_hardtanh_default = edge.aten.hardtanh.default(%aten_relu_default, 0.0, 6.0) : float32[1, 4]\n"
     "%aten_add_tensor = edge.aten.add.Tensor(%aten_hardtanh_default, %aten_relu_default_1) : float32[1, 4]\n"
     "%output = output([%aten_hardtanh_default, %aten_add_tensor])\n"},
    {"poolings", to_edge,
     "%x = input : float32[1, 4, 8, 8] channels-last\n"
     "%a = aten.max_pool2d.default(%x, [2, 2], [2, 2]) : float32[1, 4, 4, 4] channels-last\n"
     "%b = aten.avg_pool2d.default(%a, [2, 2]) : float32[1, 4, 2, 2] channels-last\n"
     "%c = aten.adaptive_avg_pool2d.default(%b, [1, 1]) : float32[1, 4, 1, 1] channels-last\n"
     "%d = aten.adaptive_avg_pool2d.default(%b, [2, 2]) : float32[1, 4, 2, 2] channels-last\n"
     "%output = output([%c, %d])\n",
     "%x = input : float32[1, 4, 8, 8] channels-last\n"
     "%aten_max_pool2d_with_indices_default = edge.aten.max_pool2d_with_indices.default(%x, [2, 2], [2, 2]) : "
     "(float32[1, 4, 4, 4] channels-last, int64[1, 4, 4, 4] channels-last)\n"
     "%getitem = getitem(%aten_max_pool2d_with_indices_default, 0) : float32[1, 4, 4, 4] channels-last\n"
     "%aten_avg_pool2d_default = edge.aten.avg_pool2d.default(%getitem, [2, 2]) : float32[1, 4, 2, 2] channels-last\n"
     "%aten_mean_dim = edge.aten.mean.dim(%aten_avg_pool2d_default, [-1, -2], true) : float32[1, 4, 1, 1]\n"
     "%aten__adaptive_avg_pool2d_default = edge.aten._adaptive_avg_pool2d.default(%aten_avg_pool2d_default, [2, 2]) : "
     "float32[1, 4, 2, 2] channels-last\n"
     "%output = output([%aten_mean_dim, %aten__adaptive_avg_pool2d_default])\n"},
    {"linear_of_two_dimensions", to_edge,
     "%w = parameter \"w\" : float32[3, 4]\n"
     "%b = parameter \"b\" : float32[3]\n"
     "%x = input : float32[2, 4]\n"
     "%a = aten.linear.default(%x, %w, %b) : float32[2, 3]\n"
     "%c = aten.linear.default(%x, %w) : float32[2, 3]\n"
     "%output = output([%a, %c])\n",
     "%w = parameter \"w\" : float32[3, 4]\n"
     "%b = parameter \"b\" : float32[3]\n"
     "%x = input : float32[2, 4]\n"
     "%aten_permute_copy_default = edge.aten.permute_copy.default(%w, [1, 0]) : float32[4, 3]\n"
     "%aten_addmm_default = edge.aten.addmm.default(%b, %x, %aten_permute_copy_default) : float32[2, 3]\n"
     "%aten_permute_copy_default_1 = edge.aten.permute_copy.default(%w, [1, 0]) : float32[4, 3]\n"
     "%aten_mm_default = edge.aten.mm.default(%x, %aten_permute_copy_default_1) : float32[2, 3]\n"
     "%output = output([%aten_addmm_default, %aten_mm_default])\n"},
    {"linear_of_three_dimensions", to_edge,
     "%w = parameter \"w\" : float32[3, 4]\n"
     "%b = parameter \"b\" : float32[3]\n"
     "%x = input : float32[2, 5, 4]\n"
     "%a = aten.linear.default(%x, %w, %b) : float32[2, 5, 3]\n"
     "%c = aten.linear.default(%x, %w) : float32[2, 5, 3]\n"
     "%output = output([%a, %c])\n",
     "%w = parameter \"w\" : float32[3, 4]\n"
     "%b = parameter \"b\" : float32[3]\n"
     "%x = input : float32[2, 5, 4]\n"
     "%aten_view_copy_default = edge.aten.view_copy.default(%x, [10, 4]) : float32[10, 4]\n"
     "%aten_permute_copy_default = edge.aten.permute_copy.default(%w, [1, 0]) : float32[4, 3]\n"
     "%aten_addmm_default = edge.aten.addmm.default(%b, %aten_view_copy_default, %aten_permute_copy_default) : "
     "float32[10, 3]\n"
     "%aten_view_copy_default_1 = edge.aten.view_copy.default(%aten_addmm_default, [2, 5, 3]) : float32[2, 5, 3]\n"
     "%aten_permute_copy_default_1 = edge.aten.permute_copy.default(%w, [1, 0]) : float32[4, 3]\n"
     "%aten_view_copy_default_2 = edge.aten.view_copy.default(%x, [10, 4]) : float32[10, 4]\n"
     "%aten_mm_default = edge.aten.mm.default(%aten_view_copy_default_2, %aten_permute_copy_default_1) : float32[10, "
     "3]\n"
     "%aten_view_copy_default_3 = edge.aten.view_copy.default(%aten_mm_default, [2, 5, 3]) : float32[2, 5, 3]\n"
     "%output = output([%aten_view_copy_default_1, %aten_view_copy_default_3])\n"},
    {"views", to_edge,
     "%x = input : float32[2, 3, 4, 4]\n"
     "%a = aten.view.default(%x, [2, -1]) : float32[2, 48]\n"
     "%b = aten.reshape.default(%x, [6, 16]) : float32[6, 16]\n"
     "%c = aten.flatten.using_ints(%x, 1) : float32[2, 48]\n"
     "%d = aten.flatten.using_ints(%a, 1) : float32[2, 48]\n"
     "%output = output([%a, %b, %c, %d])\n",
     "%x = input : float32[2, 3, 4, 4]\n"
     "%aten_view_copy_default = edge.aten.view_copy.default(%x, [2, -1]) : float32[2, 48]\n"
     "%aten_view_copy_default_1 = edge.aten.view_copy.default(%x, [6, 16]) : float32[6, 16]\n"
     "%aten_view_copy_default_2 = edge.aten.view_copy.default(%x, [2, 48]) : float32[2, 48]\n"
     "%output = output([%aten_view_copy_default, %aten_view_copy_default_1, %aten_view_copy_default_2, "
     "%aten_view_copy_default])\n"},
    {"views_of_channels_last", to_edge,
     "%x = input : float32[2, 3, 4, 4] channels-last\n"
     "%y = input : float32[2, 8, 1, 1] channels-last\n"
     "%a = aten.reshape.default(%x, [-1, 48]) : float32[2, 48]\n"
     "%b = aten.flatten.using_ints(%y, 1) : float32[2, 8]\n"
     "%output = output([%a, %b])\n",
     "%x = input : float32[2, 3, 4, 4] channels-last\n"
     "%y = input : float32[2, 8, 1, 1] channels-last\n"
     "%dim_order_ops__clone_dim_order_default = edge.dim_order_ops._clone_dim_order.default(%x, dim_order=[0, 1, 2, "
     "3]) : float32[2, 3, 4, 4]\n"
     "%aten_view_copy_default = edge.aten.view_copy.default(%dim_order_ops__clone_dim_order_default, [2, 48]) : "
     "float32[2, 48]\n"
     "%aten_view_copy_default_1 = edge.aten.view_copy.default(%y, [2, 8]) : float32[2, 8]\n"
     "%output = output([%aten_view_copy_default, %aten_view_copy_default_1])\n"},
    {"copies", to_edge,
     "%x = input : float32[1, 3, 4, 4] channels-last\n"
     "%a = aten.dropout.default(%x, 0.5, false) : float32[1, 3, 4, 4] channels-last\n"
     "%b = aten.clone.default(%a, memory_format=contiguous) : float32[1, 3, 4, 4]\n"
     "%c = aten.contiguous.default(%b) : float32[1, 3, 4, 4]\n"
     "%d = aten.contiguous.default(%a) : float32[1, 3, 4, 4]\n"
     "%e = aten.to.dtype_layout(%c, dtype=float32, memory_format=channels-last) : float32[1, 3, 4, 4] channels-last\n"
     "%f = aten.to.dtype_layout(%e, dtype=float32) : float32[1, 3, 4, 4] channels-last\n"
     "%output = output([%d, %f])\n",
     "%x = input : float32[1, 3, 4, 4] channels-last\n"
     "%dim_order_ops__clone_dim_order_default = edge.dim_order_ops._clone_dim_order.default(%x, dim_order=[0, 2, 3, "
     "1]) : float32[1, 3, 4, 4] channels-last\n"
     "%dim_order_ops__clone_dim_order_default_1 = "
     "edge.dim_order_ops._clone_dim_order.default(%dim_order_ops__clone_dim_order_default, dim_order=[0, 1, 2, 3]) : "
     "float32[1, 3, 4, 4]\n"
     "%dim_order_ops__clone_dim_order_default_2 = "
     "edge.dim_order_ops._clone_dim_order.default(%dim_order_ops__clone_dim_order_default, dim_order=[0, 1, 2, 3]) : "
     "float32[1, 3, 4, 4]\n"
     "%dim_order_ops__to_dim_order_copy_default = "
     "edge.dim_order_ops._to_dim_order_copy.default(%dim_order_ops__clone_dim_order_default_1, dtype=float32, "
     "dim_order=[0, 2, 3, 1]) : float32[1, 3, 4, 4] channels-last\n"
     "%output = output([%dim_order_ops__clone_dim_order_default_2, %dim_order_ops__to_dim_order_copy_default])\n"},
    {"padding", to_edge,
     "%x = input : float32[1, 3, 4, 4]\n"
     "%a = aten.pad.default(%x, [1, 1, 2, 2]) : float32[1, 3, 8, 6]\n"
     "%b = aten.pad.default(%a, [1, 1], \"constant\", 2.0) : float32[1, 3, 8, 8]\n"
     "%output = output([%b])\n",
     "%x = input : float32[1, 3, 4, 4]\n"
     "%aten_constant_pad_nd_default = edge.aten.constant_pad_nd.default(%x, [1, 1, 2, 2], 0.0) : float32[1, 3, 8, 6]\n"
     "%aten_constant_pad_nd_default_1 = edge.aten.constant_pad_nd.default(%aten_constant_pad_nd_default, [1, 1], 2.0) "
     ": float32[1, 3, 8, 8]\n"
     "%output = output([%aten_constant_pad_nd_default_1])\n"},
    {"permuted_weight_is_separated", run_edge_passes,
     "%w = buffer \"w\" : int8[3, 4]\n"
     "%x = input : float32[2, 4]\n"
     "%q0 = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : int8[2, 4]\n"
     "%d0 = quantized_decomposed.dequantize_per_tensor.default(%q0, 0.5, 3, -128, 127, int8) : float32[2, 4]\n"
     "%d1 = quantized_decomposed.dequantize_per_tensor.default(%w, 0.25, 0, -127, 127, int8) : float32[3, 4]\n"
     "%p = edge.aten.permute_copy.default(%d1, [1, 0]) : float32[4, 3]\n"
     "%m = edge.aten.mm.default(%d0, %p) : float32[2, 3]\n"
     "%q1 = quantized_decomposed.quantize_per_tensor.default(%m, 1.0, -5, -128, 127, int8) : int8[2, 3]\n"
     "%d2 = quantized_decomposed.dequantize_per_tensor.default(%q1, 1.0, -5, -128, 127, int8) : float32[2, 3]\n"
     "%output = output([%d2])\n",
     "%w = buffer \"w\" : int8[3, 4]\n"
     "%x = input : float32[2, 4]\n"
     "%quantized_decomposed_quantize_per_tensor_default = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 3, "
     "-128, 127, int8) : int8[2, 4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default, 0.5, 3, "
     "-128, 127, int8) : float32[2, 4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_1 = quantized_decomposed.dequantize_per_tensor.default(%w, "
     "0.25, 0, -127, 127, int8) : float32[3, 4]\n"
     "%aten_permute_copy_default = "
     "edge.aten.permute_copy.default(%quantized_decomposed_dequantize_per_tensor_default_1, [1, 0]) : float32[4, 3]\n"
     "%quantized_decomposed_quantize_per_tensor_default_1 = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_permute_copy_default, 0.25, 0, -127, 127, int8) : int8[4, "
     "3]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_2 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default_1, 0.25, 0, "
     "-127, 127, int8) : float32[4, 3]\n"
     "%aten_mm_default = edge.aten.mm.default(%quantized_decomposed_dequantize_per_tensor_default, "
     "%quantized_decomposed_dequantize_per_tensor_default_2) : float32[2, 3]\n"
     "%quantized_decomposed_quantize_per_tensor_default_2 = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_mm_default, 1.0, -5, -128, 127, int8) : int8[2, 3]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_3 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default_2, 1.0, -5, "
     "-128, 127, int8) : float32[2, 3]\n"
     "%output = output([%quantized_decomposed_dequantize_per_tensor_default_3])\n"},
    {"relu_behind_mm_is_separated", run_edge_passes,
     "%w = buffer \"w\" : int8[4, 3]\n"
     "%x = input : float32[2, 4]\n"
     "%q0 = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : int8[2, 4]\n"
     "%d0 = quantized_decomposed.dequantize_per_tensor.default(%q0, 0.5, 3, -128, 127, int8) : float32[2, 4]\n"
     "%d1 = quantized_decomposed.dequantize_per_tensor.default(%w, 0.25, 0, -127, 127, int8) : float32[4, 3]\n"
     "%m = edge.aten.mm.default(%d0, %d1) : float32[2, 3]\n"
     "%r = edge.aten.relu.default(%m) : float32[2, 3]\n"
     "%q1 = quantized_decomposed.quantize_per_tensor.default(%r, 1.0, -128, -128, 127, int8) : int8[2, 3]\n"
     "%d2 = quantized_decomposed.dequantize_per_tensor.default(%q1, 1.0, -128, -128, 127, int8) : float32[2, 3]\n"
     "%output = output([%d2])\n",
     "%w = buffer \"w\" : int8[4, 3]\n"
     "%x = input : float32[2, 4]\n"
     "%quantized_decomposed_quantize_per_tensor_default = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 3, "
     "-128, 127, int8) : int8[2, 4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default, 0.5, 3, "
     "-128, 127, int8) : float32[2, 4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_1 = quantized_decomposed.dequantize_per_tensor.default(%w, "
     "0.25, 0, -127, 127, int8) : float32[4, 3]\n"
     "%aten_mm_default = edge.aten.mm.default(%quantized_decomposed_dequantize_per_tensor_default, "
     "%quantized_decomposed_dequantize_per_tensor_default_1) : float32[2, 3]\n"
     "%quantized_decomposed_quantize_per_tensor_default_1 = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_mm_default, 1.0, -128, -128, 127, int8) : int8[2, 3]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_2 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default_1, 1.0, "
     "-128, -128, 127, int8) : float32[2, 3]\n"
     "%aten_relu_default = edge.aten.relu.default(%quantized_decomposed_dequantize_per_tensor_default_2) : float32[2, "
     "3]\n"
     "%quantized_decomposed_quantize_per_tensor_default_2 = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_relu_default, 1.0, -128, -128, 127, int8) : int8[2, 3]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_3 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default_2, 1.0, "
     "-128, -128, 127, int8) : float32[2, 3]\n"
     "%output = output([%quantized_decomposed_dequantize_per_tensor_default_3])\n"},
    {"relu_of_an_unquantized_mm_stays", run_edge_passes,
     "%w = buffer \"w\" : int8[4, 3]\n"
     "%x = input : float32[2, 4]\n"
     "%d1 = quantized_decomposed.dequantize_per_tensor.default(%w, 0.25, 0, -127, 127, int8) : float32[4, 3]\n"
     "%m = edge.aten.mm.default(%x, %d1) : float32[2, 3]\n"
     "%r = edge.aten.relu.default(%m) : float32[2, 3]\n"
     "%q1 = quantized_decomposed.quantize_per_tensor.default(%r, 1.0, -128, -128, 127, int8) : int8[2, 3]\n"
     "%d2 = quantized_decomposed.dequantize_per_tensor.default(%q1, 1.0, -128, -128, 127, int8) : float32[2, 3]\n"
     "%output = output([%d2])\n",
     "%w = buffer \"w\" : int8[4, 3]\n"
     "%x = input : float32[2, 4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default = quantized_decomposed.dequantize_per_tensor.default(%w, "
     "0.25, 0, -127, 127, int8) : float32[4, 3]\n"
     "%aten_mm_default = edge.aten.mm.default(%x, %quantized_decomposed_dequantize_per_tensor_default) : float32[2, "
     "3]\n"
     "%aten_relu_default = edge.aten.relu.default(%aten_mm_default) : float32[2, 3]\n"
     "%quantized_decomposed_quantize_per_tensor_default = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_relu_default, 1.0, -128, -128, 127, int8) : int8[2, 3]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_1 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default, 1.0, -128, "
     "-128, 127, int8) : float32[2, 3]\n"
     "%output = output([%quantized_decomposed_dequantize_per_tensor_default_1])\n"},
    {"requantization_is_folded", run_edge_passes,
     "%x = input : int8[2, 4]\n"
     "%d0 = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : float32[2, 4]\n"
     "%q0 = quantized_decomposed.quantize_per_tensor.default(%d0, 0.5, 3, -128, 127, int8) : int8[2, 4]\n"
     "%d1 = quantized_decomposed.dequantize_per_tensor.default(%q0, 0.5, 3, -128, 127, int8) : float32[2, 4]\n"
     "%q1 = quantized_decomposed.quantize_per_tensor.default(%d1, 0.5, 4, -128, 127, int8) : int8[2, 4]\n"
     "%d2 = quantized_decomposed.dequantize_per_tensor.default(%q1, 0.5, 4, -128, 127, int8) : float32[2, 4]\n"
     "%output = output([%d2])\n",
     "%x = input : int8[2, 4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default = quantized_decomposed.dequantize_per_tensor.default(%x, "
     "0.5, 3, -128, 127, int8) : float32[2, 4]\n"
     "%quantized_decomposed_quantize_per_tensor_default = "
     "quantized_decomposed.quantize_per_tensor.default(%quantized_decomposed_dequantize_per_tensor_default, 0.5, 4, "
     "-128, 127, int8) : int8[2, 4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_1 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default, 0.5, 4, "
     "-128, 127, int8) : float32[2, 4]\n"
     "%output = output([%quantized_decomposed_dequantize_per_tensor_default_1])\n"},
    {"poolings_get_a_batch", run_aten_passes,
     "%x = input : float32[3, 8, 8]\n"
     "%a = aten.max_pool2d.default(%x, [2, 2]) : float32[3, 4, 4]\n"
     "%b = aten.relu.default(%a) : float32[3, 4, 4]\n"
     "%output = output([%b])\n",
     "%x = input : float32[3, 8, 8]\n"
     "%reshape_default = aten.reshape.default(%x, [1, 3, 8, 8]) : float32[1, 3, 8, 8]\n"
     "%a = aten.max_pool2d.default(%reshape_default, [2, 2]) : float32[1, 3, 4, 4]\n"
     "%reshape_default_1 = aten.reshape.default(%a, [3, 4, 4]) : float32[3, 4, 4]\n"
     "%b = aten.relu.default(%reshape_default_1) : float32[3, 4, 4]\n"
     "%output = output([%b])\n"},
    {"dead_nodes_go", run_aten_passes,
     "%w = parameter \"w\" : float32[2, 3]\n"
     "%x = input : float32[2, 3]\n"
     "%y = input : float32[2, 3]\n"
     "%a = aten.add.Tensor(%x, %w) : float32[2, 3]\n"
     "%b = aten.relu.default(%x) : float32[2, 3]\n"
     "%output = output([%b])\n",
     "%x = input : float32[2, 3]\n"
     "%y = input : float32[2, 3]\n"
     "%b = aten.relu.default(%x) : float32[2, 3]\n"
     "%output = output([%b])\n"},
};

static void run_rewrite(struct nuc_context *cx, void *arg)
{
    const struct rewrite *r = arg;
    struct nuc_graph *g = parse_graph(cx, r->before);

    r->stage(g);
    nuc_graph_verify(g, r->name);
    assert_string_equal(nuc_graph_print(g, false), nuc_format(cx, "nucleon-graph 1\n%s", r->after));
}

static void test_rewrites(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rewrites / sizeof rewrites[0]; i++) {
        struct rewrite r = rewrites[i];
        run_in_context(run_rewrite, &r);
    }
}

/* A second run of a stage finds nothing more. */
static void run_twice(struct nuc_context *cx, void *arg)
{
    const struct rewrite *r = arg;
    struct nuc_graph *g = parse_graph(cx, r->before);

    r->stage(g);
    const char *once = nuc_graph_print(g, false);
    r->stage(g);
    assert_string_equal(nuc_graph_print(g, false), once);
}

static void test_stages_are_idempotent(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rewrites / sizeof rewrites[0]; i++) {
        struct rewrite r = rewrites[i];
        run_in_context(run_twice, &r);
    }
}

/* ---- refusals ---- */

static void run_to_edge(struct nuc_context *cx, void *arg)
{
    nuc_to_edge(parse_graph(cx, arg), NULL);
}

static void test_refusals(void **state)
{
    char training[] = "%x = input : float32[1, 4]\n%d = aten.dropout.default(%x, 0.5, true) : float32[1, 4]\n"
                      "%output = output([%d])\n";
    char mirror[] = "%x = input : float32[1, 4, 4]\n"
                    "%p = aten.pad.default(%x, [1, 1], \"mirror\") : float32[1, 4, 6]\n%output = output([%p])\n";
    char aliased[] = "%x = input : float32[1, 4]\n%v = aten.view.default(%x, [4]) : float32[4]\n"
                     "%r = aten.relu_.default(%v) : float32[4]\n%s = aten.relu.default(%x) : float32[1, 4]\n"
                     "%output = output([%r, %s])\n";

    char viewed[] = "%x = input : float32[1, 4]\n%a = aten.relu.default(%x) : float32[1, 4]\n"
                    "%v = aten.view.default(%a, [4]) : float32[4]\n"
                    "%r = aten.relu_.default(%a) : float32[1, 4]\n%s = aten.relu.default(%v) : float32[4]\n"
                    "%output = output([%r, %s])\n";

    (void)state;
    expect_failure(run_to_edge, viewed, NUC_UNSUPPORTED, "'v'");
    expect_failure(run_to_edge, training, NUC_UNSUPPORTED, "model.eval()");
    expect_failure(run_to_edge, mirror, NUC_UNSUPPORTED, "'mirror'");
    expect_failure(run_to_edge, aliased, NUC_UNSUPPORTED, "in place");
}

/* ---- batch norms ---- */

static struct nuc_node *vector(struct nuc_graph *g, const char *name, const float *data, int64_t count)
{
    struct nuc_meta meta = nuc_meta_make(NUC_F32, &count, 1);
    struct nuc_node *node = nuc_add_constant(g, name, &meta, data);

    node->input_kind = NUC_PARAMETER;
    return node;
}

static const float gammas[2] = {1.5f, -0.25f}, betas[2] = {0.5f, 3.0f}, means[2] = {0.125f, -2.0f},
                   variances[2] = {0.75f, 4.0f}, biases[2] = {1.0f, -1.0f};

/* x -> layer (weight of 2 output channels) -> batch norm -> output */
struct normed {
    struct nuc_graph *g;
    struct nuc_node *layer, *norm, *output;
};

static struct normed build_normed(struct nuc_context *cx, enum nuc_op op, const struct nuc_meta *x,
                                  const struct nuc_meta *w, const float *weight, bool bias)
{
    struct normed t = {.g = nuc_graph_new(cx, "test")};
    struct nuc_node *in = nuc_add_placeholder(t.g, "x", NUC_USER_INPUT, x);

    t.layer = nuc_add_node(t.g, NULL, op, "layer");
    t.norm = nuc_add_node(t.g, NULL, NUC_OP_BATCH_NORM, "norm");
    t.output = nuc_add_node(t.g, NULL, NUC_OP_OUTPUT, "output");
    nuc_set_arg_node(t.layer, t.g, 0, in);
    struct nuc_node *constant = nuc_add_constant(t.g, "weight", w, weight);
    constant->input_kind = NUC_PARAMETER;
    nuc_set_arg_node(t.layer, t.g, 1, constant);
    if (bias)
        nuc_set_arg_node(t.layer, t.g, 2, vector(t.g, "bias", biases, 2));
    nuc_infer_shape(t.g, t.layer);
    nuc_set_arg_node(t.norm, t.g, 0, t.layer);
    nuc_set_arg_node(t.norm, t.g, 1, vector(t.g, "gamma", gammas, 2));
    nuc_set_arg_node(t.norm, t.g, 2, vector(t.g, "beta", betas, 2));
    nuc_set_arg_node(t.norm, t.g, 3, vector(t.g, "mean", means, 2));
    nuc_set_arg_node(t.norm, t.g, 4, vector(t.g, "variance", variances, 2));
    nuc_set_arg_bool(t.norm, 5, false);
    nuc_set_arg_float(t.norm, 6, 0.1);
    nuc_set_arg_float(t.norm, 7, 1e-3);
    nuc_set_arg_bool(t.norm, 8, false);
    nuc_infer_shape(t.g, t.norm);
    nuc_set_arg_nodes(t.output, t.g, 0, &t.norm, 1);
    nuc_graph_verify(t.g, "built");
    return t;
}

/* gamma / sqrt(variance + epsilon) */
static double scale_of(int channel)
{
    return (double)gammas[channel] / sqrt((double)variances[channel] + 1e-3);
}

static void check_folded(const struct normed *t, const float *weight, size_t row, bool bias)
{
    const struct nuc_node *w = argument_of(t->layer, 1), *b = argument_of(t->layer, 2);

    assert_ptr_equal(t->output->args[0].u.nodes[0], t->layer);
    assert_int_equal(w->input_kind, NUC_PARAMETER);
    const float *folded = nuc_const_contiguous(t->g, w), *offset = nuc_const_contiguous(t->g, b);
    for (size_t c = 0; c < 2; c++) {
        double s = scale_of((int)c);
        for (size_t i = 0; i < row; i++)
            assert_true(fabs((double)folded[c * row + i] - (double)weight[c * row + i] * s) < 1e-6);
        double expected = ((bias ? (double)biases[c] : 0.0) - (double)means[c]) * s + (double)betas[c];
        assert_true(fabs((double)offset[c] - expected) < 1e-6);
    }
}

static void folds_into_conv(struct nuc_context *cx, void *arg)
{
    const float logical[16] = {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8};
    /* [2, 2, 2, 2] in the order 0, 2, 3, 1 */
    const float stored[16] = {1, 5, 2, 6, 3, 7, 4, 8, -1, -5, -2, -6, -3, -7, -4, -8};
    const int64_t x_sizes[4] = {1, 2, 4, 4}, w_sizes[4] = {2, 2, 2, 2};
    struct nuc_meta x = nuc_meta_make(NUC_F32, x_sizes, 4), w = nuc_meta_make(NUC_F32, w_sizes, 4);

    (void)arg;
    struct normed t = build_normed(cx, NUC_OP_CONV2D, &x, &w, logical, false);
    run_aten_passes(t.g);
    nuc_graph_verify(t.g, "folded");
    check_folded(&t, logical, 8, false);
    nuc_set_channels_last(&w);
    t = build_normed(cx, NUC_OP_CONV2D, &x, &w, stored, true);
    run_aten_passes(t.g);
    check_folded(&t, logical, 8, true);
    assert_true(nuc_is_channels_last(&argument_of(t.layer, 1)->vals[0]));
}

static void folds_into_linear(struct nuc_context *cx, void *arg)
{
    const float weight[6] = {1, 2, 3, -4, -5, -6};
    const int64_t x_sizes[2] = {5, 3}, w_sizes[2] = {2, 3};
    struct nuc_meta x = nuc_meta_make(NUC_F32, x_sizes, 2), w = nuc_meta_make(NUC_F32, w_sizes, 2);

    (void)arg;
    struct normed t = build_normed(cx, NUC_OP_LINEAR, &x, &w, weight, true);
    run_aten_passes(t.g);
    check_folded(&t, weight, 3, true);
}

/* A convolution with a second reader keeps its values, so the batch norm stays. */
static void shared_conv_is_not_folded(struct nuc_context *cx, void *arg)
{
    const float weight[4] = {1, 2, 3, 4};
    const int64_t x_sizes[4] = {1, 2, 4, 4}, w_sizes[4] = {2, 2, 1, 1};
    struct nuc_meta x = nuc_meta_make(NUC_F32, x_sizes, 4), w = nuc_meta_make(NUC_F32, w_sizes, 4);

    (void)arg;
    struct normed t = build_normed(cx, NUC_OP_CONV2D, &x, &w, weight, true);
    struct nuc_node *results[2] = {t.norm, t.layer};
    nuc_set_arg_nodes(t.output, t.g, 0, results, 2);
    run_aten_passes(t.g);
    assert_ptr_equal(t.output->args[0].u.nodes[0], t.norm);
    const float *kept = nuc_const_contiguous(t.g, argument_of(t.layer, 1));
    assert_memory_equal(kept, weight, sizeof weight);
}

static void test_batch_norms(void **state)
{
    (void)state;
    run_in_context(folds_into_conv, NULL);
    run_in_context(folds_into_linear, NULL);
    run_in_context(shared_conv_is_not_folded, NULL);
}

/* ---- linear + add, constants ---- */

struct biased {
    bool bias;
    double alpha;
    float expected[2]; /* of the fused bias */
};

static void fuses_linear_add(struct nuc_context *cx, void *arg)
{
    const struct biased *t = arg;
    const int64_t x_sizes[2] = {5, 3}, w_sizes[2] = {2, 3};
    struct nuc_meta x = nuc_meta_make(NUC_F32, x_sizes, 2), w = nuc_meta_make(NUC_F32, w_sizes, 2);
    const float weight[6] = {1, 2, 3, 4, 5, 6};
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    struct nuc_node *in = nuc_add_placeholder(g, "x", NUC_USER_INPUT, &x);
    struct nuc_node *linear = nuc_add_node(g, NULL, NUC_OP_LINEAR, "linear");
    struct nuc_node *add = nuc_add_node(g, NULL, NUC_OP_ADD, "add"), *output;

    nuc_set_arg_node(linear, g, 0, in);
    nuc_set_arg_node(linear, g, 1, nuc_add_constant(g, "weight", &w, weight));
    if (t->bias)
        nuc_set_arg_node(linear, g, 2, vector(g, "bias", biases, 2));
    nuc_infer_shape(g, linear);
    nuc_set_arg_node(add, g, 0, linear);
    nuc_set_arg_node(add, g, 1, vector(g, "other", betas, 2));
    nuc_set_arg_float(add, 2, t->alpha);
    nuc_infer_shape(g, add);
    output = nuc_add_node(g, NULL, NUC_OP_OUTPUT, "output");
    nuc_set_arg_nodes(output, g, 0, &add, 1);
    run_aten_passes(g);
    nuc_graph_verify(g, "fused");
    assert_ptr_equal(output->args[0].u.nodes[0], linear);
    const float *fused = nuc_const_contiguous(g, argument_of(linear, 2));
    assert_memory_equal(fused, t->expected, sizeof t->expected);
}

static void test_linear_add(void **state)
{
    struct biased plain = {false, 1.0, {0.5f, 3.0f}}, scaled = {false, 2.0, {1.0f, 6.0f}};
    struct biased both = {true, 2.0, {2.0f, 5.0f}};

    (void)state;
    run_in_context(fuses_linear_add, &plain);
    run_in_context(fuses_linear_add, &scaled);
    run_in_context(fuses_linear_add, &both);
}

static void folds_constants(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    struct nuc_node *relu = nuc_add_node(g, NULL, NUC_OP_RELU, "relu");
    struct nuc_node *output = nuc_add_node(g, NULL, NUC_OP_OUTPUT, "output");
    const float expected[2] = {0.125f, 0.0f};

    (void)arg;
    nuc_set_arg_node(relu, g, 0, vector(g, "mean", means, 2));
    nuc_infer_shape(g, relu);
    nuc_set_arg_nodes(output, g, 0, &relu, 1);
    run_aten_passes(g);
    const struct nuc_node *constant = output->args[0].u.nodes[0];
    assert_true(nuc_is_static(constant));
    assert_memory_equal(nuc_const_contiguous(g, constant), expected, sizeof expected);
    assert_int_equal(g->n_nodes, 2);
}

static void test_constants(void **state)
{
    (void)state;
    run_in_context(folds_constants, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rewrites),   cmocka_unit_test(test_stages_are_idempotent),
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_batch_norms),
        cmocka_unit_test(test_linear_add), cmocka_unit_test(test_constants),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
