/* Decompositions to Edge, Edge passes and those behind partitioning: graphs before and after, and what they compute. */
#include "rewrites.h"

static const char *const wanted[] = {"prelu", "aten::pad", "aten.hardswish.default"};

static void to_edge(struct nuc_graph *g)
{
    nuc_to_edge(g, NULL);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        assert_true(strncmp(nuc_node_op_name(n), "aten.", 5) != 0);
}

static void preserving(struct nuc_graph *g)
{
    struct nuc_edge_options options = {.preserve_ops = wanted, .n_preserve_ops = 3};

    nuc_to_edge(g, &options);
}

static void run_edge_passes(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_edge_passes, NUC_PASSES_DEFAULT, NULL);
}

static void run_cluster_passes(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_plain_passes, NUC_PASSES_DEFAULT, NULL);
    nuc_run_passes(g, &nuc_cluster_passes, NUC_PASSES_DEFAULT, NULL);
}

static void run_lowered_passes(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_lowered_passes, NUC_PASSES_DEFAULT, NULL);
}

static const struct rewrite decompositions[] = {
    {"rows_stay_rows", to_edge,
     "%w = parameter \"w\" : float32[2, 3, 3]\n"
     "%x = input : float32[1, 3, 8]\n"
     "%y = aten.conv1d.default(%x, %w, none, [2], [1]) : float32[1, 2, 4]\n"
     "%output = output([%y])\n",
     NULL},
    {"convolution_of_three_dimensions", to_edge,
     "%w = parameter \"w\" : float32[2, 1, 2, 2, 2]\n"
     "%b = parameter \"b\" : float32[2]\n"
     "%x = input : float32[1, 1, 3, 3, 3]\n"
     "%y = aten.conv3d.default(%x, %w, %b, [1, 1, 1], [1, 0, 0]) : float32[1, 2, 4, 2, 2]\n"
     "%output = output([%y])\n",
     NULL},
    {"transposed_convolution", to_edge,
     "%w = parameter \"w\" : float32[2, 3, 2, 2]\n"
     "%x = input : float32[1, 2, 3, 3]\n"
     "%y = aten.conv_transpose2d.input(%x, %w, none, [2, 2], [1, 1], [1, 1], 1, [1, 1]) : float32[1, 3, 5, 5]\n"
     "%output = output([%y])\n",
     "%w = parameter \"w\" : float32[2, 3, 2, 2]\n"
     "%x = input : float32[1, 2, 3, 3]\n"
     "%aten_convolution_default = edge.aten.convolution.default(%x, %w, none, [2, 2], [1, 1], [1, 1], true, [1, "
     "1], 1) : float32[1, 3, 5, 5]\n"
     "%output = output([%aten_convolution_default])\n"},
    {"padding_same_of_an_even_kernel", to_edge,
     "%w = parameter \"w\" : float32[2, 1, 2, 3]\n"
     "%x = input : float32[1, 1, 4, 4]\n"
     "%y = aten.conv2d.padding(%x, %w, none, [1, 1], \"same\") : float32[1, 2, 4, 4]\n"
     "%output = output([%y])\n",
     "%w = parameter \"w\" : float32[2, 1, 2, 3]\n"
     "%x = input : float32[1, 1, 4, 4]\n"
     "%aten_constant_pad_nd_default = edge.aten.constant_pad_nd.default(%x, [0, 0, 0, 1], 0.0) : float32[1, 1, "
     "5, 4]\n"
     "%aten_convolution_default = edge.aten.convolution.default(%aten_constant_pad_nd_default, %w, none, [1, 1], "
     "[0, 1], [1, 1], false, [0, 0], 1) : float32[1, 2, 4, 4]\n"
     "%output = output([%aten_convolution_default])\n"},
    {"padding_valid", to_edge,
     "%w = parameter \"w\" : float32[2, 1, 2, 3]\n"
     "%x = input : float32[1, 1, 4, 4]\n"
     "%y = aten.conv2d.padding(%x, %w, none, [1, 1], \"valid\") : float32[1, 2, 3, 2]\n"
     "%output = output([%y])\n",
     "%w = parameter \"w\" : float32[2, 1, 2, 3]\n"
     "%x = input : float32[1, 1, 4, 4]\n"
     "%aten_convolution_default = edge.aten.convolution.default(%x, %w, none, [1, 1], [0], [1, 1], false, [0], "
     "1) : float32[1, 2, 3, 2]\n"
     "%output = output([%aten_convolution_default])\n"},
    {"poolings_of_rows", to_edge,
     "%x = input : float32[1, 2, 9]\n"
     "%a = aten.max_pool1d.default(%x, [3], [2], [1], [2]) : float32[1, 2, 4]\n"
     "%b = aten.avg_pool1d.default(%a, [2]) : float32[1, 2, 2]\n"
     "%output = output([%b])\n",
     "%x = input : float32[1, 2, 9]\n"
     "%aten_unsqueeze_copy_default = edge.aten.unsqueeze_copy.default(%x, -2) : float32[1, 2, 1, 9]\n"
     "%aten_max_pool2d_with_indices_default = "
     "edge.aten.max_pool2d_with_indices.default(%aten_unsqueeze_copy_default, [1, 3], [1, 2], [0, 1], [1, 2]) : "
     "(float32[1, 2, 1, 4], int64[1, 2, 1, 4])\n"
     "%getitem = getitem(%aten_max_pool2d_with_indices_default, 0) : float32[1, 2, 1, 4]\n"
     "%aten_squeeze_copy_dim = edge.aten.squeeze_copy.dim(%getitem, -2) : float32[1, 2, 4]\n"
     "%aten_unsqueeze_copy_default_1 = edge.aten.unsqueeze_copy.default(%aten_squeeze_copy_dim, -2) : float32[1, "
     "2, 1, 4]\n"
     "%aten_avg_pool2d_default = edge.aten.avg_pool2d.default(%aten_unsqueeze_copy_default_1, [1, 2], [1, 2]) : "
     "float32[1, 2, 1, 2]\n"
     "%aten_squeeze_copy_dim_1 = edge.aten.squeeze_copy.dim(%aten_avg_pool2d_default, -2) : float32[1, 2, 2]\n"
     "%output = output([%aten_squeeze_copy_dim_1])\n"},
    {"max_pool_with_indices", to_edge,
     "%x = input : float32[1, 1, 4, 4]\n"
     "%p = aten.max_pool2d_with_indices.default(%x, [2, 2]) : (float32[1, 1, 2, 2], int64[1, 1, 2, 2])\n"
     "%a = getitem(%p, 0) : float32[1, 1, 2, 2]\n"
     "%output = output([%a])\n",
     "%x = input : float32[1, 1, 4, 4]\n"
     "%aten_max_pool2d_with_indices_default = edge.aten.max_pool2d_with_indices.default(%x, [2, 2]) : "
     "(float32[1, 1, 2, 2], int64[1, 1, 2, 2])\n"
     "%getitem = getitem(%aten_max_pool2d_with_indices_default, 0) : float32[1, 1, 2, 2]\n"
     "%output = output([%getitem])\n"},
    {"hard_activations", to_edge,
     "%b = buffer \"b\" : float32[2]\n"
     "%x = input : float32[2]\n"
     "%a = aten.hardswish.default(%x) : float32[2]\n"
     "%c = aten.add.Tensor(%a, %b) : float32[2]\n"
     "%d = aten.hardsigmoid_.default(%c) : float32[2]\n"
     "%output = output([%d])\n",
     "%b = buffer \"b\" : float32[2]\n"
     "%_lifted_tensor_constant1 = buffer \"_lifted_tensor_constant1\" : int64[]\n"
     "%_lifted_tensor_constant2 = buffer \"_lifted_tensor_constant2\" : int64[]\n"
     "%_lifted_tensor_constant3 = buffer \"_lifted_tensor_constant3\" : int64[]\n"
     "%_lifted_tensor_constant4 = buffer \"_lifted_tensor_constant4\" : int64[]\n"
     "%x = input : float32[2]\n"
     "%dim_order_ops__to_dim_order_copy_default = "
     "edge.dim_order_ops._to_dim_order_copy.default(%_lifted_tensor_constant1, dtype=float32, dim_order=[]) : "
     "float32[]\n"
     "%aten_add_tensor = edge.aten.add.Tensor(%x, %dim_order_ops__to_dim_order_copy_default) : float32[2]\n"
     "%aten_clamp_default = edge.aten.clamp.default(%aten_add_tensor, 0.0) : float32[2]\n"
     "%aten_clamp_default_1 = edge.aten.clamp.default(%aten_clamp_default, none, 6.0) : float32[2]\n"
     "%aten_mul_tensor = edge.aten.mul.Tensor(%x, %aten_clamp_default_1) : float32[2]\n"
     "%dim_order_ops__to_dim_order_copy_default_1 = "
     "edge.dim_order_ops._to_dim_order_copy.default(%_lifted_tensor_constant2, dtype=float32, dim_order=[]) : "
     "float32[]\n"
     "%aten_div_tensor = edge.aten.div.Tensor(%aten_mul_tensor, %dim_order_ops__to_dim_order_copy_default_1) : "
     "float32[2]\n"
     "%aten_add_tensor_1 = edge.aten.add.Tensor(%aten_div_tensor, %b) : float32[2]\n"
     "%dim_order_ops__to_dim_order_copy_default_2 = "
     "edge.dim_order_ops._to_dim_order_copy.default(%_lifted_tensor_constant3, dtype=float32, dim_order=[]) : "
     "float32[]\n"
     "%aten_add_tensor_2 = edge.aten.add.Tensor(%aten_add_tensor_1, %dim_order_ops__to_dim_order_copy_default_2) "
     ": float32[2]\n"
     "%aten_clamp_default_2 = edge.aten.clamp.default(%aten_add_tensor_2, 0.0) : float32[2]\n"
     "%aten_clamp_default_3 = edge.aten.clamp.default(%aten_clamp_default_2, none, 6.0) : float32[2]\n"
     "%dim_order_ops__to_dim_order_copy_default_3 = "
     "edge.dim_order_ops._to_dim_order_copy.default(%_lifted_tensor_constant4, dtype=float32, dim_order=[]) : "
     "float32[]\n"
     "%aten_div_tensor_1 = edge.aten.div.Tensor(%aten_clamp_default_3, "
     "%dim_order_ops__to_dim_order_copy_default_3) : float32[2]\n"
     "%output = output([%aten_div_tensor_1])\n"},
    {"smooth_activations", to_edge,
     "%x = input : float32[2]\n"
     "%a = aten.silu.default(%x) : float32[2]\n"
     "%b = aten.gelu.default(%a, approximate=\"tanh\") : float32[2]\n"
     "%c = aten.tanh_.default(%b) : float32[2]\n"
     "%d = aten.leaky_relu.default(%c, 0.5) : float32[2]\n"
     "%g = aten.abs_.default(%d) : float32[2]\n"
     "%f = aten.sqrt.default(%g) : float32[2]\n"
     "%output = output([%f])\n",
     NULL},
    {"slopes_of_images", to_edge,
     "%w = parameter \"w\" : float32[2]\n"
     "%x = input : float32[1, 2, 3, 3]\n"
     "%y = aten.prelu.default(%x, %w) : float32[1, 2, 3, 3]\n"
     "%output = output([%y])\n",
     "%w = parameter \"w\" : float32[2]\n"
     "%x = input : float32[1, 2, 3, 3]\n"
     "%aten_view_copy_default = edge.aten.view_copy.default(%w, [1, 2, 1, 1]) : float32[1, 2, 1, 1]\n"
     "%aten_gt_scalar = edge.aten.gt.Scalar(%x, 0.0) : bool[1, 2, 3, 3]\n"
     "%aten_mul_tensor = edge.aten.mul.Tensor(%aten_view_copy_default, %x) : float32[1, 2, 3, 3]\n"
     "%aten_where_self = edge.aten.where.self(%aten_gt_scalar, %x, %aten_mul_tensor) : float32[1, 2, 3, 3]\n"
     "%output = output([%aten_where_self])\n"},
    {"one_slope", to_edge,
     "%w = parameter \"w\" : float32[1]\n"
     "%x = input : float32[3]\n"
     "%y = aten.prelu.default(%x, %w) : float32[3]\n"
     "%output = output([%y])\n",
     "%w = parameter \"w\" : float32[1]\n"
     "%x = input : float32[3]\n"
     "%aten_gt_scalar = edge.aten.gt.Scalar(%x, 0.0) : bool[3]\n"
     "%aten_mul_tensor = edge.aten.mul.Tensor(%w, %x) : float32[3]\n"
     "%aten_where_self = edge.aten.where.self(%aten_gt_scalar, %x, %aten_mul_tensor) : float32[3]\n"
     "%output = output([%aten_where_self])\n"},
    {"clamps", to_edge,
     "%x = input : float32[2]\n"
     "%a = aten.clamp.default(%x, none, 3.0) : float32[2]\n"
     "%b = aten.clamp_.default(%a, -1.0) : float32[2]\n"
     "%c = aten.relu6_.default(%b) : float32[2]\n"
     "%output = output([%c])\n",
     NULL},
    {"sums", to_edge,
     "%x = input : float32[2, 3]\n"
     "%a = aten.sum.default(%x) : float32[]\n"
     "%b = aten.sum.dim_IntList(%x, [1], true) : float32[2, 1]\n"
     "%c = aten.amax.default(%x, [0]) : float32[3]\n"
     "%output = output([%a, %b, %c])\n",
     NULL},
    {"matrix_and_vector", to_edge,
     "%x = input : float32[2, 3]\n"
     "%v = input : float32[3]\n"
     "%u = input : float32[2]\n"
     "%a = aten.matmul.default(%x, %v) : float32[2]\n"
     "%b = aten.matmul.default(%u, %x) : float32[3]\n"
     "%c = aten.matmul.default(%v, %v) : float32[]\n"
     "%output = output([%a, %b, %c])\n",
     "%x = input : float32[2, 3]\n"
     "%v = input : float32[3]\n"
     "%u = input : float32[2]\n"
     "%aten_view_copy_default = edge.aten.view_copy.default(%v, [3, 1]) : float32[3, 1]\n"
     "%aten_mm_default = edge.aten.mm.default(%x, %aten_view_copy_default) : float32[2, 1]\n"
     "%aten_view_copy_default_1 = edge.aten.view_copy.default(%aten_mm_default, [2]) : float32[2]\n"
     "%aten_view_copy_default_2 = edge.aten.view_copy.default(%u, [1, 2]) : float32[1, 2]\n"
     "%aten_mm_default_1 = edge.aten.mm.default(%aten_view_copy_default_2, %x) : float32[1, 3]\n"
     "%aten_view_copy_default_3 = edge.aten.view_copy.default(%aten_mm_default_1, [3]) : float32[3]\n"
     "%aten_view_copy_default_4 = edge.aten.view_copy.default(%v, [1, 3]) : float32[1, 3]\n"
     "%aten_view_copy_default_5 = edge.aten.view_copy.default(%v, [3, 1]) : float32[3, 1]\n"
     "%aten_mm_default_2 = edge.aten.mm.default(%aten_view_copy_default_4, %aten_view_copy_default_5) : "
     "float32[1, 1]\n"
     "%aten_view_copy_default_6 = edge.aten.view_copy.default(%aten_mm_default_2, []) : float32[]\n"
     "%output = output([%aten_view_copy_default_1, %aten_view_copy_default_3, %aten_view_copy_default_6])\n"},
    {"batches_of_matrices", to_edge,
     "%x = input : float32[2, 1, 3, 4]\n"
     "%y = input : float32[5, 4, 2]\n"
     "%a = aten.matmul.default(%x, %y) : float32[2, 5, 3, 2]\n"
     "%output = output([%a])\n",
     "%x = input : float32[2, 1, 3, 4]\n"
     "%y = input : float32[5, 4, 2]\n"
     "%aten_expand_copy_default = edge.aten.expand_copy.default(%x, [2, 5, 3, 4]) : float32[2, 5, 3, 4]\n"
     "%dim_order_ops__clone_dim_order_default = "
     "edge.dim_order_ops._clone_dim_order.default(%aten_expand_copy_default, dim_order=[0, 1, 2, 3]) : "
     "float32[2, 5, 3, 4]\n"
     "%aten_view_copy_default = edge.aten.view_copy.default(%dim_order_ops__clone_dim_order_default, [10, 3, 4]) "
     ": float32[10, 3, 4]\n"
     "%aten_expand_copy_default_1 = edge.aten.expand_copy.default(%y, [2, 5, 4, 2]) : float32[2, 5, 4, 2]\n"
     "%dim_order_ops__clone_dim_order_default_1 = "
     "edge.dim_order_ops._clone_dim_order.default(%aten_expand_copy_default_1, dim_order=[0, 1, 2, 3]) : "
     "float32[2, 5, 4, 2]\n"
     "%aten_view_copy_default_1 = edge.aten.view_copy.default(%dim_order_ops__clone_dim_order_default_1, [10, 4, "
     "2]) : float32[10, 4, 2]\n"
     "%aten_bmm_default = edge.aten.bmm.default(%aten_view_copy_default, %aten_view_copy_default_1) : "
     "float32[10, 3, 2]\n"
     "%aten_view_copy_default_2 = edge.aten.view_copy.default(%aten_bmm_default, [2, 5, 3, 2]) : float32[2, 5, "
     "3, 2]\n"
     "%output = output([%aten_view_copy_default_2])\n"},
    {"rows_times_a_matrix", to_edge,
     "%x = input : float32[2, 3, 4]\n"
     "%y = input : float32[4, 2]\n"
     "%a = aten.matmul.default(%x, %y) : float32[2, 3, 2]\n"
     "%output = output([%a])\n",
     "%x = input : float32[2, 3, 4]\n"
     "%y = input : float32[4, 2]\n"
     "%aten_view_copy_default = edge.aten.view_copy.default(%x, [6, 4]) : float32[6, 4]\n"
     "%aten_mm_default = edge.aten.mm.default(%aten_view_copy_default, %y) : float32[6, 2]\n"
     "%aten_view_copy_default_1 = edge.aten.view_copy.default(%aten_mm_default, [2, 3, 2]) : float32[2, 3, 2]\n"
     "%output = output([%aten_view_copy_default_1])\n"},
    {"linear_of_channels_last", to_edge,
     "%w = parameter \"w\" : float32[2, 3]\n"
     "%b = parameter \"b\" : float32[2]\n"
     "%x = input : float32[1, 4, 5, 3] channels-last\n"
     "%a = aten.linear.default(%x, %w, %b) : float32[1, 4, 5, 2]\n"
     "%output = output([%a])\n",
     "%w = parameter \"w\" : float32[2, 3]\n"
     "%b = parameter \"b\" : float32[2]\n"
     "%x = input : float32[1, 4, 5, 3] channels-last\n"
     "%aten_permute_copy_default = edge.aten.permute_copy.default(%w, [1, 0]) : float32[3, 2]\n"
     "%aten_expand_copy_default = edge.aten.expand_copy.default(%x, [1, 4, 5, 3]) : float32[1, 4, 5, 3]\n"
     "%aten_view_copy_default = edge.aten.view_copy.default(%aten_expand_copy_default, [4, 5, 3]) : float32[4, "
     "5, 3]\n"
     "%aten_expand_copy_default_1 = edge.aten.expand_copy.default(%aten_permute_copy_default, [1, 4, 3, 2]) : "
     "float32[1, 4, 3, 2]\n"
     "%aten_view_copy_default_1 = edge.aten.view_copy.default(%aten_expand_copy_default_1, [4, 3, 2]) : "
     "float32[4, 3, 2]\n"
     "%aten_bmm_default = edge.aten.bmm.default(%aten_view_copy_default, %aten_view_copy_default_1) : float32[4, "
     "5, 2]\n"
     "%aten_view_copy_default_2 = edge.aten.view_copy.default(%aten_bmm_default, [1, 4, 5, 2]) : float32[1, 4, "
     "5, 2]\n"
     "%aten_add_tensor = edge.aten.add.Tensor(%aten_view_copy_default_2, %b) : float32[1, 4, 5, 2]\n"
     "%output = output([%aten_add_tensor])\n"},
    {"linear_of_a_vector", to_edge,
     "%w = parameter \"w\" : float32[2, 3]\n"
     "%b = parameter \"b\" : float32[2]\n"
     "%x = input : float32[3]\n"
     "%a = aten.linear.default(%x, %w, %b) : float32[2]\n"
     "%output = output([%a])\n",
     NULL},
    {"reflect_padding", to_edge,
     "%x = input : float32[1, 1, 3, 4]\n"
     "%a = aten.pad.default(%x, [2, 1, 1, 0], \"reflect\") : float32[1, 1, 4, 7]\n"
     "%output = output([%a])\n",
     "%x = input : float32[1, 1, 3, 4]\n"
     "%a_indices = parameter \"a_indices\" : int64[4]\n"
     "%a_indices_1 = parameter \"a_indices_1\" : int64[7]\n"
     "%aten_index_tensor = edge.aten.index.Tensor(%x, [none, none, %a_indices, none]) : float32[1, 1, 4, 4]\n"
     "%aten_index_tensor_1 = edge.aten.index.Tensor(%aten_index_tensor, [none, none, none, %a_indices_1]) : "
     "float32[1, 1, 4, 7]\n"
     "%output = output([%aten_index_tensor_1])\n"},
    {"replicate_padding", to_edge,
     "%x = input : float32[1, 2, 4]\n"
     "%a = aten.pad.default(%x, [1, 2], \"replicate\") : float32[1, 2, 7]\n"
     "%output = output([%a])\n",
     "%x = input : float32[1, 2, 4]\n"
     "%a_indices = parameter \"a_indices\" : int64[7]\n"
     "%aten_index_tensor = edge.aten.index.Tensor(%x, [none, none, %a_indices]) : float32[1, 2, 7]\n"
     "%output = output([%aten_index_tensor])\n"},
    {"circular_padding", to_edge,
     "%x = input : float32[1, 1, 3, 4]\n"
     "%a = aten.pad.default(%x, [2, 1, 0, 1], \"circular\") : float32[1, 1, 4, 7]\n"
     "%output = output([%a])\n",
     NULL},
    {"circular_padding_of_rows", to_edge,
     "%x = input : float32[1, 1, 4]\n"
     "%a = aten.pad.default(%x, [0, 3], \"circular\") : float32[1, 1, 7]\n"
     "%output = output([%a])\n",
     "%x = input : float32[1, 1, 4]\n"
     "%dim_order_ops__empty_dim_order_default = edge.dim_order_ops._empty_dim_order.default([1, 1, 7], "
     "dtype=float32, pin_memory=false, dim_order=[0, 1, 2]) : float32[1, 1, 7]\n"
     "%aten_slice_copy_tensor = edge.aten.slice_copy.Tensor(%dim_order_ops__empty_dim_order_default, 2, 0, 4) : "
     "float32[1, 1, 4]\n"
     "%aten_copy_default = edge.aten.copy.default(%aten_slice_copy_tensor, %x) : float32[1, 1, 4]\n"
     "%aten_slice_scatter_default = edge.aten.slice_scatter.default(%dim_order_ops__empty_dim_order_default, "
     "%aten_copy_default, 2, 0, 4) : float32[1, 1, 7]\n"
     "%aten_slice_copy_tensor_1 = edge.aten.slice_copy.Tensor(%aten_slice_scatter_default, 2, 4, 7) : float32[1, "
     "1, 3]\n"
     "%aten_slice_copy_tensor_2 = edge.aten.slice_copy.Tensor(%aten_slice_scatter_default, 2, 0, 3) : float32[1, "
     "1, 3]\n"
     "%aten_copy_default_1 = edge.aten.copy.default(%aten_slice_copy_tensor_1, %aten_slice_copy_tensor_2) : "
     "float32[1, 1, 3]\n"
     "%aten_slice_scatter_default_1 = edge.aten.slice_scatter.default(%aten_slice_scatter_default, "
     "%aten_copy_default_1, 2, 4, 7) : float32[1, 1, 7]\n"
     "%output = output([%aten_slice_scatter_default_1])\n"},
    {"transposes", to_edge,
     "%x = input : float32[2, 3]\n"
     "%a = aten.t.default(%x) : float32[3, 2] dim-order(1, 0)\n"
     "%b = aten.transpose.int(%a, 0, -1) : float32[2, 3]\n"
     "%c = aten.permute.default(%b, [1, 0]) : float32[3, 2] dim-order(1, 0)\n"
     "%output = output([%c])\n",
     "%x = input : float32[2, 3]\n"
     "%aten_permute_copy_default = edge.aten.permute_copy.default(%x, [1, 0]) : float32[3, 2]\n"
     "%aten_permute_copy_default_1 = edge.aten.permute_copy.default(%aten_permute_copy_default, [1, 0]) : "
     "float32[2, 3]\n"
     "%aten_permute_copy_default_2 = edge.aten.permute_copy.default(%aten_permute_copy_default_1, [1, 0]) : "
     "float32[3, 2]\n"
     "%output = output([%aten_permute_copy_default_2])\n"},
    {"squeezes", to_edge,
     "%x = input : float32[1, 2, 1]\n"
     "%a = aten.squeeze.default(%x) : float32[2]\n"
     "%b = aten.unsqueeze.default(%a, 0) : float32[1, 2]\n"
     "%c = aten.squeeze.dim(%b, 0) : float32[2]\n"
     "%d = aten.unsqueeze.default(%c, -1) : float32[2, 1]\n"
     "%f = aten.squeeze.dims(%d, [1]) : float32[2]\n"
     "%g = aten.alias.default(%f) : float32[2]\n"
     "%output = output([%g])\n",
     "%x = input : float32[1, 2, 1]\n"
     "%aten_squeeze_copy_default = edge.aten.squeeze_copy.default(%x) : float32[2]\n"
     "%aten_unsqueeze_copy_default = edge.aten.unsqueeze_copy.default(%aten_squeeze_copy_default, 0) : "
     "float32[1, 2]\n"
     "%aten_squeeze_copy_dim = edge.aten.squeeze_copy.dim(%aten_unsqueeze_copy_default, 0) : float32[2]\n"
     "%aten_unsqueeze_copy_default_1 = edge.aten.unsqueeze_copy.default(%aten_squeeze_copy_dim, -1) : float32[2, "
     "1]\n"
     "%aten_squeeze_copy_dims = edge.aten.squeeze_copy.dims(%aten_unsqueeze_copy_default_1, [1]) : float32[2]\n"
     "%aten_alias_copy_default = edge.aten.alias_copy.default(%aten_squeeze_copy_dims) : float32[2]\n"
     "%output = output([%aten_alias_copy_default])\n"},
    {"pieces", to_edge,
     "%x = input : float32[2, 8]\n"
     "%s = aten.chunk.default(%x, 3, 1) : (float32[2, 3], float32[2, 3], float32[2, 2])\n"
     "%a = getitem(%s, 2) : float32[2, 2]\n"
     "%t = aten.split.Tensor(%x, 6, -1) : (float32[2, 6], float32[2, 2])\n"
     "%b = getitem(%t, 1) : float32[2, 2]\n"
     "%c = aten.cat.default([%a, %b]) : float32[4, 2]\n"
     "%d = aten.slice.Tensor(%c, 0, 1, 4, 2) : float32[2, 2]\n"
     "%output = output([%d])\n",
     "%x = input : float32[2, 8]\n"
     "%aten_split_with_sizes_copy_default = edge.aten.split_with_sizes_copy.default(%x, [3, 3, 2], 1) : "
     "(float32[2, 3], float32[2, 3], float32[2, 2])\n"
     "%getitem = getitem(%aten_split_with_sizes_copy_default, 2) : float32[2, 2]\n"
     "%aten_split_with_sizes_copy_default_1 = edge.aten.split_with_sizes_copy.default(%x, [6, 2], -1) : "
     "(float32[2, 6], float32[2, 2])\n"
     "%getitem_1 = getitem(%aten_split_with_sizes_copy_default_1, 1) : float32[2, 2]\n"
     "%aten_cat_default = edge.aten.cat.default([%getitem, %getitem_1]) : float32[4, 2]\n"
     "%aten_slice_copy_tensor = edge.aten.slice_copy.Tensor(%aten_cat_default, 0, 1, 4, 2) : float32[2, 2]\n"
     "%output = output([%aten_slice_copy_tensor])\n"},
    {"types", to_edge,
     "%x = input : int8[2]\n"
     "%a = aten.to.dtype(%x, float32) : float32[2]\n"
     "%b = aten.to.dtype(%a, float32) : float32[2]\n"
     "%z = aten.zeros.default([2]) : float32[2]\n"
     "%c = aten.maximum.default(%b, %z) : float32[2]\n"
     "%output = output([%c])\n",
     "%x = input : int8[2]\n"
     "%z_1 = parameter \"z_1\" : float32[2]\n"
     "%dim_order_ops__to_dim_order_copy_default = edge.dim_order_ops._to_dim_order_copy.default(%x, "
     "dtype=float32, dim_order=[0]) : float32[2]\n"
     "%aten_maximum_default = edge.aten.maximum.default(%dim_order_ops__to_dim_order_copy_default, %z_1) : "
     "float32[2]\n"
     "%output = output([%aten_maximum_default])\n"},
    {"gru", to_edge,
     "%a = parameter \"a\" : float32[3, 2]\n"
     "%b = parameter \"b\" : float32[3, 1]\n"
     "%c = parameter \"c\" : float32[3]\n"
     "%h = input : float32[1, 1, 1]\n"
     "%x = input : float32[1, 2, 2]\n"
     "%g = aten.gru.input(%x, %h, [%a, %b, %c, %c], true, 1, 0.0, false, false, true) : (float32[1, 2, 1], "
     "float32[1, 1, 1])\n"
     "%y = getitem(%g, 0) : float32[1, 2, 1]\n"
     "%n = getitem(%g, 1) : float32[1, 1, 1]\n"
     "%output = output([%y, %n])\n",
     NULL},
    {"preserved", preserving,
     "%w = parameter \"w\" : float32[2]\n"
     "%x = input : float32[1, 2, 4, 4]\n"
     "%q0 = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 0, -128, 127, int8) : int8[1, 2, 4, 4]\n"
     "%d0 = quantized_decomposed.dequantize_per_tensor.default(%q0, 0.5, 0, -128, 127, int8) : float32[1, 2, 4, "
     "4]\n"
     "%a = aten.hardswish_.default(%d0) : float32[1, 2, 4, 4]\n"
     "%q1 = quantized_decomposed.quantize_per_tensor.default(%a, 0.25, 1, -128, 127, int8) : int8[1, 2, 4, 4]\n"
     "%d1 = quantized_decomposed.dequantize_per_tensor.default(%q1, 0.25, 1, -128, 127, int8) : float32[1, 2, 4, "
     "4]\n"
     "%p = aten.pad.default(%d1, [1, 1], \"reflect\") : float32[1, 2, 4, 6]\n"
     "%q2 = quantized_decomposed.quantize_per_tensor.default(%p, 0.25, 1, -128, 127, int8) : int8[1, 2, 4, 6]\n"
     "%d2 = quantized_decomposed.dequantize_per_tensor.default(%q2, 0.25, 1, -128, 127, int8) : float32[1, 2, 4, "
     "6]\n"
     "%output = output([%d2])\n",
     "%x = input : float32[1, 2, 4, 4]\n"
     "%quantized_decomposed_quantize_per_tensor_default = quantized_decomposed.quantize_per_tensor.default(%x, "
     "0.5, 0, -128, 127, int8) : int8[1, 2, 4, 4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default, 0.5, "
     "0, -128, 127, int8) : float32[1, 2, 4, 4]\n"
     "%aten_hardswish_default = edge.aten.hardswish.default(%quantized_decomposed_dequantize_per_tensor_default) "
     ": float32[1, 2, 4, 4]\n"
     "%quantized_decomposed_quantize_per_tensor_default_1 = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_hardswish_default, 0.25, 1, -128, 127, int8) : "
     "int8[1, 2, 4, 4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_1 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default_1, "
     "0.25, 1, -128, 127, int8) : float32[1, 2, 4, 4]\n"
     "%aten_pad_default = edge.aten.pad.default(%quantized_decomposed_dequantize_per_tensor_default_1, [1, 1], "
     "\"reflect\") : float32[1, 2, 4, 6]\n"
     "%quantized_decomposed_quantize_per_tensor_default_2 = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_pad_default, 0.25, 1, -128, 127, int8) : int8[1, 2, "
     "4, 6]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_2 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default_2, "
     "0.25, 1, -128, 127, int8) : float32[1, 2, 4, 6]\n"
     "%output = output([%quantized_decomposed_dequantize_per_tensor_default_2])\n"},
    {"decomposed_although_wanted", preserving,
     "%x = input : float32[2]\n"
     "%a = aten.hardswish.default(%x) : float32[2]\n"
     "%output = output([%a])\n",
     "%_lifted_tensor_constant0 = buffer \"_lifted_tensor_constant0\" : int64[]\n"
     "%_lifted_tensor_constant1 = buffer \"_lifted_tensor_constant1\" : int64[]\n"
     "%x = input : float32[2]\n"
     "%dim_order_ops__to_dim_order_copy_default = "
     "edge.dim_order_ops._to_dim_order_copy.default(%_lifted_tensor_constant0, dtype=float32, dim_order=[]) : "
     "float32[]\n"
     "%aten_add_tensor = edge.aten.add.Tensor(%x, %dim_order_ops__to_dim_order_copy_default) : float32[2]\n"
     "%aten_clamp_default = edge.aten.clamp.default(%aten_add_tensor, 0.0) : float32[2]\n"
     "%aten_clamp_default_1 = edge.aten.clamp.default(%aten_clamp_default, none, 6.0) : float32[2]\n"
     "%aten_mul_tensor = edge.aten.mul.Tensor(%x, %aten_clamp_default_1) : float32[2]\n"
     "%dim_order_ops__to_dim_order_copy_default_1 = "
     "edge.dim_order_ops._to_dim_order_copy.default(%_lifted_tensor_constant1, dtype=float32, dim_order=[]) : "
     "float32[]\n"
     "%aten_div_tensor = edge.aten.div.Tensor(%aten_mul_tensor, %dim_order_ops__to_dim_order_copy_default_1) : "
     "float32[2]\n"
     "%output = output([%aten_div_tensor])\n"},
};

static void test_decompositions(void **state)
{
    (void)state;
    run_rewrites(decompositions, sizeof decompositions / sizeof decompositions[0]);
}

/* ---- passes on the Edge graph ---- */

static const struct rewrite edge_rewrites[] = {
    {"reshapes_become_views", run_edge_passes,
     "%x = input : float32[1, 2, 1]\n"
     "%a = edge.aten.squeeze_copy.default(%x) : float32[2]\n"
     "%b = edge.aten.unsqueeze_copy.default(%a, 0) : float32[1, 2]\n"
     "%c = edge.aten.squeeze_copy.dim(%b, 0) : float32[2]\n"
     "%d = edge.aten.squeeze_copy.dims(%x, [0, 2]) : float32[2]\n"
     "%e = edge.aten.add.Tensor(%c, %d) : float32[2]\n"
     "%output = output([%e])\n",
     "%x = input : float32[1, 2, 1]\n"
     "%aten_view_copy_default = edge.aten.view_copy.default(%x, [2]) : float32[2]\n"
     "%aten_view_copy_default_1 = edge.aten.view_copy.default(%aten_view_copy_default, [1, 2]) : float32[1, 2]\n"
     "%aten_view_copy_default_2 = edge.aten.view_copy.default(%aten_view_copy_default_1, [2]) : float32[2]\n"
     "%aten_view_copy_default_3 = edge.aten.view_copy.default(%x, [2]) : float32[2]\n"
     "%aten_add_tensor = edge.aten.add.Tensor(%aten_view_copy_default_2, %aten_view_copy_default_3) : float32[2]\n"
     "%output = output([%aten_add_tensor])\n"},
    {"strides_of_a_mean_go", run_edge_passes,
     "%x = input : float32[1, 2, 4, 4]\n"
     "%a = edge.aten.mean.dim(%x, [-1, -2], true) : float32[1, 2, 1, 1]\n"
     "%b = edge.aten.as_strided_copy.default(%a, [1, 2, 1, 1], [2, 1, 2, 2]) : float32[1, 2, 1, 1]\n"
     "%output = output([%b])\n",
     "%x = input : float32[1, 2, 4, 4]\n"
     "%aten_mean_dim = edge.aten.mean.dim(%x, [-1, -2], true) : float32[1, 2, 1, 1]\n"
     "%output = output([%aten_mean_dim])\n"},
    {"strides_that_move_data_stay", run_edge_passes,
     "%x = input : float32[2, 3, 4]\n"
     "%a = edge.aten.mean.dim(%x, [2]) : float32[2, 3]\n"
     "%b = edge.aten.as_strided_copy.default(%a, [2, 3], [1, 1]) : float32[2, 3]\n"
     "%output = output([%b])\n",
     "%x = input : float32[2, 3, 4]\n"
     "%aten_mean_dim = edge.aten.mean.dim(%x, [2]) : float32[2, 3]\n"
     "%aten_as_strided_copy_default = edge.aten.as_strided_copy.default(%aten_mean_dim, [2, 3], [1, 1]) : "
     "float32[2, 3]\n"
     "%output = output([%aten_as_strided_copy_default])\n"},
    {"what_moves_is_a_cluster_of_its_own", run_cluster_passes,
     "%x = input : int8[1, 2, 5]\n"
     "%d = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : "
     "float32[1, 2, 5]\n"
     "%v = edge.aten.view_copy.default(%d, [1, 10]) : float32[1, 10]\n"
     "%s = edge.aten.slice_copy.Tensor(%v, 1, 0, 4) : float32[1, 4]\n"
     "%q = quantized_decomposed.quantize_per_tensor.default(%s, 0.25, 0, -128, 127, int8) : "
     "int8[1, 4]\n"
     "%e = quantized_decomposed.dequantize_per_tensor.default(%q, 0.25, 0, -128, 127, int8) : "
     "float32[1, 4]\n"
     "%output = output([%e])\n",
     "%x = input : int8[1, 2, 5]\n"
     "%quantized_decomposed_dequantize_per_tensor_default = quantized_decomposed.dequantize_per_tensor.default(%x, "
     "0.5, 3, -128, 127, int8) : "
     "float32[1, 2, 5]\n"
     "%aten_view_copy_default = edge.aten.view_copy.default(%quantized_decomposed_dequantize_per_tensor_default, [1, "
     "10]) : float32[1, 10]\n"
     "%quantized_decomposed_quantize_per_tensor_default = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_view_copy_default, 0.5, 3, -128, 127, int8) : "
     "int8[1, 10]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_1 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default, 0.5, 3, "
     "-128, 127, int8) : "
     "float32[1, 10]\n"
     "%aten_slice_copy_tensor = edge.aten.slice_copy.Tensor(%quantized_decomposed_dequantize_per_tensor_default_1, 1, "
     "0, 4) : float32[1, 4]\n"
     "%quantized_decomposed_quantize_per_tensor_default_1 = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_slice_copy_tensor, 0.25, 0, -128, 127, int8) : "
     "int8[1, 4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_2 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default_1, 0.25, 0, "
     "-128, 127, int8) : "
     "float32[1, 4]\n"
     "%output = output([%quantized_decomposed_dequantize_per_tensor_default_2])\n"},
    {"operators_share_no_dequantize", run_cluster_passes,
     "%x = input : int8[4]\n"
     "%d = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : "
     "float32[4]\n"
     "%a = edge.aten.abs.default(%d) : float32[4]\n"
     "%q = quantized_decomposed.quantize_per_tensor.default(%a, 0.25, 0, -128, 127, int8) : "
     "int8[4]\n"
     "%e = quantized_decomposed.dequantize_per_tensor.default(%q, 0.25, 0, -128, 127, int8) : "
     "float32[4]\n"
     "%output = output([%e, %d])\n",
     "%x = input : int8[4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default = quantized_decomposed.dequantize_per_tensor.default(%x, "
     "0.5, 3, -128, 127, int8) : "
     "float32[4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_1 = quantized_decomposed.dequantize_per_tensor.default(%x, "
     "0.5, 3, -128, 127, int8) : "
     "float32[4]\n"
     "%aten_abs_default = edge.aten.abs.default(%quantized_decomposed_dequantize_per_tensor_default_1) : float32[4]\n"
     "%quantized_decomposed_quantize_per_tensor_default = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_abs_default, 0.25, 0, -128, 127, int8) : "
     "int8[4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_2 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default, 0.25, 0, "
     "-128, 127, int8) : "
     "float32[4]\n"
     "%output = output([%quantized_decomposed_dequantize_per_tensor_default_2, "
     "%quantized_decomposed_dequantize_per_tensor_default])\n"},
    {"equal_quantize_nodes_are_one", run_cluster_passes,
     "%x = input : float32[4]\n"
     "%a = edge.aten.abs.default(%x) : float32[4]\n"
     "%q = quantized_decomposed.quantize_per_tensor.default(%a, 0.25, 0, -128, 127, int8) : "
     "int8[4]\n"
     "%r = quantized_decomposed.quantize_per_tensor.default(%a, 0.25, 0, -128, 127, int8) : "
     "int8[4]\n"
     "%s = quantized_decomposed.quantize_per_tensor.default(%a, 0.25, 1, -128, 127, int8) : "
     "int8[4]\n"
     "%d = quantized_decomposed.dequantize_per_tensor.default(%q, 0.25, 0, -128, 127, int8) : "
     "float32[4]\n"
     "%e = quantized_decomposed.dequantize_per_tensor.default(%r, 0.25, 0, -128, 127, int8) : "
     "float32[4]\n"
     "%f = quantized_decomposed.dequantize_per_tensor.default(%s, 0.25, 1, -128, 127, int8) : "
     "float32[4]\n"
     "%output = output([%d, %e, %f])\n",
     "%x = input : float32[4]\n"
     "%aten_abs_default = edge.aten.abs.default(%x) : float32[4]\n"
     "%quantized_decomposed_quantize_per_tensor_default = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_abs_default, 0.25, 0, -128, 127, int8) : "
     "int8[4]\n"
     "%quantized_decomposed_quantize_per_tensor_default_1 = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_abs_default, 0.25, 1, -128, 127, int8) : "
     "int8[4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default, 0.25, 0, "
     "-128, 127, int8) : "
     "float32[4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_1 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default, 0.25, 0, "
     "-128, 127, int8) : "
     "float32[4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_2 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default_1, 0.25, 1, "
     "-128, 127, int8) : "
     "float32[4]\n"
     "%output = output([%quantized_decomposed_dequantize_per_tensor_default, "
     "%quantized_decomposed_dequantize_per_tensor_default_1, "
     "%quantized_decomposed_dequantize_per_tensor_default_2])\n"},
    {"pooling_of_rows_is_separated", run_edge_passes,
     "%x = input : int8[1, 2, 5]\n"
     "%d0 = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : float32[1, 2, 5]\n"
     "%u = edge.aten.unsqueeze_copy.default(%d0, -2) : float32[1, 2, 1, 5]\n"
     "%p = edge.aten.avg_pool2d.default(%u, [1, 2], [1, 1]) : float32[1, 2, 1, 4]\n"
     "%s = edge.aten.squeeze_copy.dims(%p, [-2]) : float32[1, 2, 4]\n"
     "%q1 = quantized_decomposed.quantize_per_tensor.default(%s, 0.5, 3, -128, 127, int8) : int8[1, 2, 4]\n"
     "%d1 = quantized_decomposed.dequantize_per_tensor.default(%q1, 0.5, 3, -128, 127, int8) : float32[1, 2, 4]\n"
     "%output = output([%d1])\n",
     "%x = input : int8[1, 2, 5]\n"
     "%quantized_decomposed_dequantize_per_tensor_default = "
     "quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : float32[1, 2, 5]\n"
     "%aten_view_copy_default = edge.aten.view_copy.default(%quantized_decomposed_dequantize_per_tensor_default, "
     "[1, 2, 1, 5]) : float32[1, 2, 1, 5]\n"
     "%quantized_decomposed_quantize_per_tensor_default = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_view_copy_default, 0.5, 3, -128, 127, int8) : "
     "int8[1, 2, 1, 5]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_1 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default, 0.5, "
     "3, -128, 127, int8) : float32[1, 2, 1, 5]\n"
     "%aten_avg_pool2d_default = "
     "edge.aten.avg_pool2d.default(%quantized_decomposed_dequantize_per_tensor_default_1, [1, 2], [1, 1]) : "
     "float32[1, 2, 1, 4]\n"
     "%quantized_decomposed_quantize_per_tensor_default_1 = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_avg_pool2d_default, 0.5, 3, -128, 127, int8) : "
     "int8[1, 2, 1, 4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_2 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default_1, "
     "0.5, 3, -128, 127, int8) : float32[1, 2, 1, 4]\n"
     "%aten_view_copy_default_1 = "
     "edge.aten.view_copy.default(%quantized_decomposed_dequantize_per_tensor_default_2, [1, 2, 4]) : float32[1, "
     "2, 4]\n"
     "%quantized_decomposed_quantize_per_tensor_default_2 = "
     "quantized_decomposed.quantize_per_tensor.default(%aten_view_copy_default_1, 0.5, 3, -128, 127, int8) : "
     "int8[1, 2, 4]\n"
     "%quantized_decomposed_dequantize_per_tensor_default_3 = "
     "quantized_decomposed.dequantize_per_tensor.default(%quantized_decomposed_quantize_per_tensor_default_2, "
     "0.5, 3, -128, 127, int8) : float32[1, 2, 4]\n"
     "%output = output([%quantized_decomposed_dequantize_per_tensor_default_3])\n"},
    {"int8_is_joined", run_lowered_passes,
     "%x = input : int8[2, 3]\n"
     "%y = input : int8[2, 3]\n"
     "%d0 = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : float32[2, 3]\n"
     "%d1 = quantized_decomposed.dequantize_per_tensor.default(%y, 0.5, 3, -128, 127, int8) : float32[2, 3]\n"
     "%c = edge.aten.cat.default([%d0, %d1], 1) : float32[2, 6]\n"
     "%q1 = quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 3, -128, 127, int8) : int8[2, 6]\n"
     "%d2 = quantized_decomposed.dequantize_per_tensor.default(%q1, 0.5, 3, -128, 127, int8) : float32[2, 6]\n"
     "%output = output([%d2])\n",
     "%x = input : int8[2, 3]\n"
     "%y = input : int8[2, 3]\n"
     "%aten_cat_default = edge.aten.cat.default([%x, %y], 1) : int8[2, 6]\n"
     "%quantized_decomposed_dequantize_per_tensor_default = "
     "quantized_decomposed.dequantize_per_tensor.default(%aten_cat_default, 0.5, 3, -128, 127, int8) : "
     "float32[2, 6]\n"
     "%output = output([%quantized_decomposed_dequantize_per_tensor_default])\n"},
    {"int8_of_two_scales_is_requantized", run_lowered_passes,
     "%x = input : int8[2, 3]\n"
     "%y = input : int8[2, 3]\n"
     "%d0 = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : float32[2, 3]\n"
     "%d1 = quantized_decomposed.dequantize_per_tensor.default(%y, 0.25, 3, -128, 127, int8) : float32[2, 3]\n"
     "%c = edge.aten.cat.default([%d0, %d1], 1) : float32[2, 6]\n"
     "%q1 = quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 3, -128, 127, int8) : int8[2, 6]\n"
     "%d2 = quantized_decomposed.dequantize_per_tensor.default(%q1, 0.5, 3, -128, 127, int8) : float32[2, 6]\n"
     "%output = output([%d2])\n",
     "%x = input : int8[2, 3]\n"
     "%y = input : int8[2, 3]\n"
     "%d0 = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : float32[2, 3]\n"
     "%d1 = quantized_decomposed.dequantize_per_tensor.default(%y, 0.25, 3, -128, 127, int8) : float32[2, 3]\n"
     "%c = edge.aten.cat.default([%d0, %d1], 1) : float32[2, 6]\n"
     "%q1 = quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 3, -128, 127, int8) : int8[2, 6]\n"
     "%d2 = quantized_decomposed.dequantize_per_tensor.default(%q1, 0.5, 3, -128, 127, int8) : float32[2, 6]\n"
     "%output = output([%d2])\n"},
    {"int8_is_permuted_twice", run_lowered_passes,
     "%x = input : int8[2, 3]\n"
     "%d0 = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : float32[2, 3]\n"
     "%c = edge.aten.permute_copy.default(%d0, [1, 0]) : float32[3, 2]\n"
     "%q1 = quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 3, -128, 127, int8) : int8[3, 2]\n"
     "%d2 = quantized_decomposed.dequantize_per_tensor.default(%q1, 0.5, 3, -128, 127, int8) : float32[3, 2]\n"
     "%e = edge.aten.permute_copy.default(%d2, [1, 0]) : float32[2, 3]\n"
     "%q3 = quantized_decomposed.quantize_per_tensor.default(%e, 0.5, 3, -128, 127, int8) : int8[2, 3]\n"
     "%d4 = quantized_decomposed.dequantize_per_tensor.default(%q3, 0.5, 3, -128, 127, int8) : float32[2, 3]\n"
     "%output = output([%d4])\n",
     "%x = input : int8[2, 3]\n"
     "%aten_permute_copy_default = edge.aten.permute_copy.default(%x, [1, 0]) : int8[3, 2]\n"
     "%aten_permute_copy_default_1 = edge.aten.permute_copy.default(%aten_permute_copy_default, [1, 0]) : "
     "int8[2, 3]\n"
     "%quantized_decomposed_dequantize_per_tensor_default = "
     "quantized_decomposed.dequantize_per_tensor.default(%aten_permute_copy_default_1, 0.5, 3, -128, 127, int8) "
     ": float32[2, 3]\n"
     "%output = output([%quantized_decomposed_dequantize_per_tensor_default])\n"},
    {"a_value_read_as_float_too_stays", run_lowered_passes,
     "%x = input : int8[2, 3]\n"
     "%d0 = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : float32[2, 3]\n"
     "%c = edge.aten.permute_copy.default(%d0, [1, 0]) : float32[3, 2]\n"
     "%q1 = quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 3, -128, 127, int8) : int8[3, 2]\n"
     "%d2 = quantized_decomposed.dequantize_per_tensor.default(%q1, 0.5, 3, -128, 127, int8) : float32[3, 2]\n"
     "%output = output([%d2, %c])\n",
     "%x = input : int8[2, 3]\n"
     "%d0 = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : float32[2, 3]\n"
     "%c = edge.aten.permute_copy.default(%d0, [1, 0]) : float32[3, 2]\n"
     "%q1 = quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 3, -128, 127, int8) : int8[3, 2]\n"
     "%d2 = quantized_decomposed.dequantize_per_tensor.default(%q1, 0.5, 3, -128, 127, int8) : float32[3, 2]\n"
     "%output = output([%d2, %c])\n"},
};

static void test_edge_rewrites(void **state)
{
    (void)state;
    run_rewrites(edge_rewrites, sizeof edge_rewrites / sizeof edge_rewrites[0]);
}

static void quantized_borders(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_graph(cx, "%x = input : float32[2, 3]\n"
                                          "%y = input : float32[2, 3]\n"
                                          "%q0 = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, "
                                          "3, -128, 127, int8) : int8[2, 3]\n"
                                          "%d0 = quantized_decomposed.dequantize_per_tensor.default(%q0, "
                                          "0.5, 3, -128, 127, int8) : float32[2, 3]\n"
                                          "%c = edge.aten.add.Tensor(%d0, %y) : float32[2, 3]\n"
                                          "%q1 = quantized_decomposed.quantize_per_tensor.default(%c, 0.5, "
                                          "3, -128, 127, int8) : int8[2, 3]\n"
                                          "%d2 = quantized_decomposed.dequantize_per_tensor.default(%q1, "
                                          "0.5, 3, -128, 127, int8) : float32[2, 3]\n"
                                          "%output = output([%d2, %c])\n");

    struct nuc_io_quantizations io;

    (void)arg;
    nuc_remove_io_quantization(g, true, &io);
    nuc_graph_verify(g, "borders");
    assert_int_equal(io.n_inputs, 2);
    assert_true(io.inputs[0].quantized && io.inputs[0].dtype == NUC_I8 && io.inputs[0].zero_point == 3);
    assert_false(io.inputs[1].quantized);
    assert_int_equal(io.n_outputs, 2);
    assert_true(io.outputs[0].quantized && io.outputs[0].quant_min == -128 && io.outputs[0].quant_max == 127);
    assert_false(io.outputs[1].quantized);
    assert_string_equal(nuc_graph_print(g, false), "nucleon-graph 1\n"
                                                   "%x = input : int8[2, 3]\n"
                                                   "%y = input : float32[2, 3]\n"
                                                   "%quantized_decomposed_dequantize_per_tensor_default = "
                                                   "quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, "
                                                   "3, -128, 127, int8) : float32[2, 3]\n"
                                                   "%aten_add_tensor = "
                                                   "edge.aten.add.Tensor(%quantized_decomposed_dequantize_per_ten"
                                                   "sor_default, %y) : float32[2, 3]\n"
                                                   "%quantized_decomposed_quantize_per_tensor_default = "
                                                   "quantized_decomposed.quantize_per_tensor.default(%aten_add_te"
                                                   "nsor, 0.5, 3, -128, 127, int8) : int8[2, 3]\n"
                                                   "%output = "
                                                   "output([%quantized_decomposed_quantize_per_tensor_default, "
                                                   "%aten_add_tensor])\n");
}

static struct nuc_graph *two_readers(struct nuc_context *cx)
{
    return parse_graph(cx, "%x = input : float32[2]\n"
                           "%q = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : "
                           "int8[2]\n"
                           "%r = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : "
                           "int8[2]\n"
                           "%s = quantized_decomposed.quantize_per_tensor.default(%x, 0.25, 3, -128, 127, int8) : "
                           "int8[2]\n"
                           "%output = output([%q, %r, %s, %x])\n");
}

static void refuse_readers(struct nuc_context *cx, void *arg)
{
    struct nuc_io_quantizations io;

    (void)arg;
    nuc_remove_io_quantization(two_readers(cx), true, &io);
}

/* Equal steps read the input itself, others its dequantized values. */
static void share_input(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = two_readers(cx);
    struct nuc_io_quantizations io;

    (void)arg;
    nuc_remove_io_quantization(g, false, &io);
    nuc_graph_verify(g, "readers");
    assert_string_equal(nuc_graph_print(g, false),
                        "nucleon-graph 1\n"
                        "%x = input : int8[2]\n"
                        "%quantized_decomposed_dequantize_per_tensor_default = "
                        "quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8) : "
                        "float32[2]\n"
                        "%quantized_decomposed_quantize_per_tensor_default = "
                        "quantized_decomposed.quantize_per_tensor.default(%quantized_decomposed_dequantize_per_tensor_"
                        "default, 0.25, 3, -128, 127, int8) : int8[2]\n"
                        "%output = output([%x, %x, %quantized_decomposed_quantize_per_tensor_default, "
                        "%x])\n");
}

static void test_quantized_borders(void **state)
{
    (void)state;
    run_in_context(quantized_borders, NULL);
    run_in_context(share_input, NULL);
    expect_failure(refuse_readers, NULL, NUC_UNSUPPORTED, "'x'");
}

/* ---- preserved operators ---- */

static bool refuse(void *user, const struct nuc_node *node)
{
    assert_int_equal(node->op, NUC_OP_HARDSWISH);
    ++*(int *)user;
    return false;
}

static const char quantized_hardswish[] =
    "%x = input : int8[2]\n"
    "%d = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -128, 127, int8) : float32[2]\n"
    "%a = aten.hardswish.default(%d) : float32[2]\n"
    "%q = quantized_decomposed.quantize_per_tensor.default(%a, 0.5, 0, -128, 127, int8) : int8[2]\n"
    "%output = output([%q])\n";

/* The caller's check is asked where the rules accept, and its refusal decomposes the operator. */
static void check_decides(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_graph(cx, quantized_hardswish);
    int asked = 0;
    struct nuc_edge_options options = {
        .preserve_ops = wanted, .n_preserve_ops = 3, .check_op_support = refuse, .check_op_support_user = &asked};

    (void)arg;
    nuc_to_edge(g, &options);
    assert_int_equal(asked, 1);
    assert_non_null(nuc_find_node(g, "aten_div_tensor"));
    g = parse_graph(cx, quantized_hardswish);
    options.check_op_support = NULL;
    nuc_to_edge(g, &options);
    assert_non_null(nuc_find_node(g, "aten_hardswish_default"));
    g = parse_graph(cx, quantized_hardswish);
    options.n_preserve_ops = 2;
    nuc_to_edge(g, &options);
    assert_null(nuc_find_node(g, "aten_hardswish_default"));
}

static void unknown_operator(struct nuc_context *cx, void *arg)
{
    static const char *const names[] = {"aten.hard.default"};
    struct nuc_edge_options options = {.preserve_ops = names, .n_preserve_ops = 1};

    (void)arg;
    nuc_to_edge(parse_graph(cx, quantized_hardswish), &options);
}

static void test_preserved(void **state)
{
    (void)state;
    run_in_context(check_decides, NULL);
    expect_failure(unknown_operator, NULL, NUC_BAD_USAGE, "'aten.hard.default'");
}

/* ---- refusals ---- */

static void run_to_edge(struct nuc_context *cx, void *arg)
{
    nuc_to_edge(parse_graph(cx, arg), NULL);
}

static void test_refusals(void **state)
{
    char training[] =
        "%w = parameter \"w\" : float32[3, 1]\n%h = input : float32[1, 1, 1]\n%x = input : float32[2, 1, 1]\n"
        "%g = aten.gru.input(%x, %h, [%w, %w], false, 1, 0.0, true, false, false) : (float32[2, 1, 1], "
        "float32[1, 1, 1])\n%y = getitem(%g, 0) : float32[2, 1, 1]\n%output = output([%y])\n";
    char sequence[] =
        "%w = parameter \"w\" : float32[3, 1]\n%h = input : float32[1, 1, 1]\n%x = input : float32[513, 1, 1]\n"
        "%g = aten.gru.input(%x, %h, [%w, %w], false, 1, 0.0, false, false, false) : (float32[513, 1, 1], "
        "float32[1, 1, 1])\n%y = getitem(%g, 0) : float32[513, 1, 1]\n%output = output([%y])\n";

    (void)state;
    expect_failure(run_to_edge, training, NUC_UNSUPPORTED, "model.eval()");
    expect_failure(run_to_edge, sequence, NUC_UNSUPPORTED, "513 steps");
}

static void test_completeness(void **state)
{
    (void)state;
    for (int op = 0; op < NUC_OP_COUNT; op++) {
        if (strncmp(nuc_op_name((enum nuc_op)op, NUC_ATEN), "aten.", 5) == 0 && !nuc_has_edge_form((enum nuc_op)op))
            fail_msg("%s has no Edge form", nuc_op_name((enum nuc_op)op, NUC_ATEN));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decompositions),    cmocka_unit_test(test_edge_rewrites),
        cmocka_unit_test(test_quantized_borders), cmocka_unit_test(test_preserved),
        cmocka_unit_test(test_refusals),          cmocka_unit_test(test_completeness),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
