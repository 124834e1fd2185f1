/* ATen passes: graphs before and after, in both modes, and what they compute. */
#include "rewrites.h"

static void by_default(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_aten_passes, NUC_PASSES_DEFAULT, NULL);
}

static void as_reference(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_aten_passes, NUC_PASSES_COMPAT, NULL);
}

static const struct rewrite rewrites[] = {
    {"split_of_three", by_default,
     "%x = input : float32[2, 8]\n"
     "%s = aten.split.Tensor(%x, 3, -1) : (float32[2, 3], float32[2, 3], float32[2, 2])\n"
     "%a = getitem(%s, 0) : float32[2, 3]\n"
     "%b = getitem(%s, 1) : float32[2, 3]\n"
     "%c = getitem(%s, 2) : float32[2, 2]\n"
     "%output = output([%a, %b, %c])\n",
     "%x = input : float32[2, 8]\n"
     "%slice_tensor_2 = aten.slice.Tensor(%x, 1, 6, 8) : float32[2, 2]\n"
     "%slice_tensor_1 = aten.slice.Tensor(%x, 1, 3, 6) : float32[2, 3]\n"
     "%slice_tensor = aten.slice.Tensor(%x, 1, 0, 3) : float32[2, 3]\n"
     "%output = output([%slice_tensor, %slice_tensor_1, %slice_tensor_2])\n"},
    {"split_with_an_unread_chunk", by_default,
     "%x = input : float32[2, 8]\n"
     "%s = aten.split_with_sizes.default(%x, [1, 5, 2], 1) : (float32[2, 1], float32[2, 5], float32[2, 2])\n"
     "%a = getitem(%s, 0) : float32[2, 1]\n"
     "%c = getitem(%s, 2) : float32[2, 2]\n"
     "%output = output([%c, %a])\n",
     "%x = input : float32[2, 8]\n"
     "%slice_tensor_1 = aten.slice.Tensor(%x, 1, 6, 8) : float32[2, 2]\n"
     "%slice_tensor = aten.slice.Tensor(%x, 1, 0, 1) : float32[2, 1]\n"
     "%output = output([%slice_tensor_1, %slice_tensor])\n"},
    {"split_with_an_unread_chunk_as_the_reference", as_reference,
     "%x = input : float32[2, 8]\n"
     "%s = aten.split_with_sizes.default(%x, [1, 5, 2], 1) : (float32[2, 1], float32[2, 5], float32[2, 2])\n"
     "%a = getitem(%s, 0) : float32[2, 1]\n"
     "%c = getitem(%s, 2) : float32[2, 2]\n"
     "%output = output([%c, %a])\n",
     "%x = input : float32[2, 8]\n"
     "%slice_tensor_1 = aten.slice.Tensor(%x, 1, 6, 8) : float32[2, 2]\n"
     "%slice_tensor = aten.slice.Tensor(%x, 1, 0, 1) : float32[2, 1]\n"
     "%output = output([%slice_tensor_1, %slice_tensor])\n"},
    {"split_into_one", by_default,
     "%x = input : float32[2, 8]\n"
     "%s = aten.split.Tensor(%x, 8, 1) : (float32[2, 8])\n"
     "%a = getitem(%s, 0) : float32[2, 8]\n"
     "%r = aten.relu.default(%a) : float32[2, 8]\n"
     "%output = output([%r])\n",
     "%x = input : float32[2, 8]\n"
     "%r = aten.relu.default(%x) : float32[2, 8]\n"
     "%output = output([%r])\n"},
    {"chunk_stays", by_default,
     "%x = input : float32[2, 8]\n"
     "%s = aten.chunk.default(%x, 2, 1) : (float32[2, 4], float32[2, 4])\n"
     "%a = getitem(%s, 0) : float32[2, 4]\n"
     "%b = getitem(%s, 1) : float32[2, 4]\n"
     "%y = aten.add.Tensor(%a, %b) : float32[2, 4]\n"
     "%output = output([%y])\n",
     "%x = input : float32[2, 8]\n"
     "%s = aten.chunk.default(%x, 2, 1) : (float32[2, 4], float32[2, 4])\n"
     "%a = getitem(%s, 0) : float32[2, 4]\n"
     "%b = getitem(%s, 1) : float32[2, 4]\n"
     "%y = aten.add.Tensor(%a, %b) : float32[2, 4]\n"
     "%output = output([%y])\n"},
    {"chunk_stays_as_the_reference", as_reference,
     "%x = input : float32[2, 8]\n"
     "%s = aten.chunk.default(%x, 2, 1) : (float32[2, 4], float32[2, 4])\n"
     "%a = getitem(%s, 0) : float32[2, 4]\n"
     "%b = getitem(%s, 1) : float32[2, 4]\n"
     "%y = aten.add.Tensor(%a, %b) : float32[2, 4]\n"
     "%output = output([%y])\n",
     "%x = input : float32[2, 8]\n"
     "%s = aten.chunk.default(%x, 2, 1) : (float32[2, 4], float32[2, 4])\n"
     "%a = getitem(%s, 0) : float32[2, 4]\n"
     "%b = getitem(%s, 1) : float32[2, 4]\n"
     "%y = aten.add.Tensor(%a, %b) : float32[2, 4]\n"
     "%output = output([%y])\n"},
    {"group_convolution", by_default,
     "%w = parameter \"w\" : float32[4, 2, 3, 3]\n"
     "%b = parameter \"b\" : float32[4]\n"
     "%x = input : float32[1, 4, 5, 5]\n"
     "%y = aten.conv2d.default(%x, %w, %b, [1, 1], [1, 1], [1, 1], 2) : float32[1, 4, 5, 5]\n"
     "%output = output([%y])\n",
     "%x = input : float32[1, 4, 5, 5]\n"
     "%b_1_0 = parameter \"b_1_0\" : float32[2]\n"
     "%b_0_0 = parameter \"b_0_0\" : float32[2]\n"
     "%w_1_0 = parameter \"w_1_0\" : float32[2, 2, 3, 3]\n"
     "%w_0_0 = parameter \"w_0_0\" : float32[2, 2, 3, 3]\n"
     "%slice_tensor_1 = aten.slice.Tensor(%x, 1, 2, 4) : float32[1, 2, 5, 5]\n"
     "%slice_tensor = aten.slice.Tensor(%x, 1, 0, 2) : float32[1, 2, 5, 5]\n"
     "%conv2d_default_1 = aten.conv2d.default(%slice_tensor_1, %w_1_0, %b_1_0, [1, 1], [1, 1], [1, 1], 1) : "
     "float32[1, 2, 5, 5]\n"
     "%conv2d_default = aten.conv2d.default(%slice_tensor, %w_0_0, %b_0_0, [1, 1], [1, 1], [1, 1], 1) : "
     "float32[1, 2, 5, 5]\n"
     "%cat_default = aten.cat.default([%conv2d_default, %conv2d_default_1], 1) : float32[1, 4, 5, 5]\n"
     "%output = output([%cat_default])\n"},
    {"group_convolution_as_the_reference", as_reference,
     "%w = parameter \"w\" : float32[4, 2, 3, 3]\n"
     "%b = parameter \"b\" : float32[4]\n"
     "%x = input : float32[1, 4, 5, 5]\n"
     "%y = aten.conv2d.default(%x, %w, %b, [1, 1], [1, 1], [1, 1], 2) : float32[1, 4, 5, 5]\n"
     "%output = output([%y])\n",
     "%x = input : float32[1, 4, 5, 5]\n"
     "%b_1_0 = parameter \"b_1_0\" : float32[2]\n"
     "%b_0_0 = parameter \"b_0_0\" : float32[2]\n"
     "%w_1_0 = parameter \"w_1_0\" : float32[2, 2, 3, 3]\n"
     "%w_0_0 = parameter \"w_0_0\" : float32[2, 2, 3, 3]\n"
     "%split_with_sizes_default = aten.split_with_sizes.default(%x, [2, 2], 1) : (float32[1, 2, 5, 5], "
     "float32[1, 2, 5, 5])\n"
     "%getitem_1 = getitem(%split_with_sizes_default, 1) : float32[1, 2, 5, 5]\n"
     "%getitem = getitem(%split_with_sizes_default, 0) : float32[1, 2, 5, 5]\n"
     "%conv2d_default_1 = aten.conv2d.default(%getitem_1, %w_1_0, %b_1_0, [1, 1], [1, 1], [1, 1], 1) : "
     "float32[1, 2, 5, 5]\n"
     "%conv2d_default = aten.conv2d.default(%getitem, %w_0_0, %b_0_0, [1, 1], [1, 1], [1, 1], 1) : float32[1, 2, "
     "5, 5]\n"
     "%cat_default = aten.cat.default([%conv2d_default, %conv2d_default_1], 1) : float32[1, 4, 5, 5]\n"
     "%output = output([%cat_default])\n"},
    {"group_convolution_of_rows", by_default,
     "%w = parameter \"w\" : float32[2, 2, 3]\n"
     "%x = input : float32[1, 4, 6]\n"
     "%y = aten.conv1d.default(%x, %w, none, [2], [1], [1], 2) : float32[1, 2, 3]\n"
     "%output = output([%y])\n",
     "%x = input : float32[1, 4, 6]\n"
     "%w_1_00 = parameter \"w_1_00\" : float32[1, 2, 1, 3]\n"
     "%w_0_00 = parameter \"w_0_00\" : float32[1, 2, 1, 3]\n"
     "%slice_tensor_1 = aten.slice.Tensor(%x, 1, 2, 4) : float32[1, 2, 6]\n"
     "%slice_tensor = aten.slice.Tensor(%x, 1, 0, 2) : float32[1, 2, 6]\n"
     "%unsqueeze_default = aten.unsqueeze.default(%slice_tensor_1, -2) : float32[1, 2, 1, 6]\n"
     "%conv2d_default = aten.conv2d.default(%unsqueeze_default, %w_1_00, none, [1, 2], [0, 1], [1, 1], 1) : "
     "float32[1, 1, 1, 3]\n"
     "%squeeze_dim = aten.squeeze.dim(%conv2d_default, -2) : float32[1, 1, 3]\n"
     "%unsqueeze_default_1 = aten.unsqueeze.default(%slice_tensor, -2) : float32[1, 2, 1, 6]\n"
     "%conv2d_default_1 = aten.conv2d.default(%unsqueeze_default_1, %w_0_00, none, [1, 2], [0, 1], [1, 1], 1) : "
     "float32[1, 1, 1, 3]\n"
     "%squeeze_dim_1 = aten.squeeze.dim(%conv2d_default_1, -2) : float32[1, 1, 3]\n"
     "%cat_default = aten.cat.default([%squeeze_dim_1, %squeeze_dim], 1) : float32[1, 2, 3]\n"
     "%output = output([%cat_default])\n"},
    {"group_convolution_without_batch", by_default,
     "%w = parameter \"w\" : float32[2, 2, 1, 1]\n"
     "%x = input : float32[4, 3, 3]\n"
     "%y = aten.conv2d.default(%x, %w, none, [1, 1], [0, 0], [1, 1], 2) : float32[2, 3, 3]\n"
     "%output = output([%y])\n",
     "%x = input : float32[4, 3, 3]\n"
     "%w_1_0 = parameter \"w_1_0\" : float32[1, 2, 1, 1]\n"
     "%w_0_0 = parameter \"w_0_0\" : float32[1, 2, 1, 1]\n"
     "%slice_tensor_1 = aten.slice.Tensor(%x, 0, 2, 4) : float32[2, 3, 3]\n"
     "%slice_tensor = aten.slice.Tensor(%x, 0, 0, 2) : float32[2, 3, 3]\n"
     "%conv2d_default_1 = aten.conv2d.default(%slice_tensor_1, %w_1_0, none, [1, 1], [0, 0], [1, 1], 1) : "
     "float32[1, 3, 3]\n"
     "%conv2d_default = aten.conv2d.default(%slice_tensor, %w_0_0, none, [1, 1], [0, 0], [1, 1], 1) : float32[1, "
     "3, 3]\n"
     "%cat_default = aten.cat.default([%conv2d_default, %conv2d_default_1], 0) : float32[2, 3, 3]\n"
     "%output = output([%cat_default])\n"},
    {"depthwise_convolution_stays", by_default,
     "%w = parameter \"w\" : float32[4, 1, 3, 3]\n"
     "%x = input : float32[1, 4, 5, 5]\n"
     "%y = aten.conv2d.default(%x, %w, none, [1, 1], [0, 0], [1, 1], 4) : float32[1, 4, 3, 3]\n"
     "%output = output([%y])\n",
     "%w = parameter \"w\" : float32[4, 1, 3, 3]\n"
     "%x = input : float32[1, 4, 5, 5]\n"
     "%y = aten.conv2d.default(%x, %w, none, [1, 1], [0, 0], [1, 1], 4) : float32[1, 4, 3, 3]\n"
     "%output = output([%y])\n"},
    {"eleven_groups_stay", by_default,
     "%w = parameter \"w\" : float32[11, 2, 1, 1]\n"
     "%x = input : float32[1, 22, 2, 2]\n"
     "%y = aten.conv2d.default(%x, %w, none, [1, 1], [0, 0], [1, 1], 11) : float32[1, 11, 2, 2]\n"
     "%output = output([%y])\n",
     "%w = parameter \"w\" : float32[11, 2, 1, 1]\n"
     "%x = input : float32[1, 22, 2, 2]\n"
     "%y = aten.conv2d.default(%x, %w, none, [1, 1], [0, 0], [1, 1], 11) : float32[1, 11, 2, 2]\n"
     "%output = output([%y])\n"},
    {"gru_of_two_layers", by_default,
     "%a = parameter \"a\" : float32[6, 3]\n"
     "%b = parameter \"b\" : float32[6, 2]\n"
     "%c = parameter \"c\" : float32[6, 2]\n"
     "%d = parameter \"d\" : float32[6, 2]\n"
     "%h = input : float32[2, 1, 2]\n"
     "%x = input : float32[4, 1, 3]\n"
     "%g = aten.gru.input(%x, %h, [%a, %b, %c, %d], false, 2, 0.5, false, false, false) : (float32[4, 1, 2], "
     "float32[2, 1, 2])\n"
     "%y = getitem(%g, 0) : float32[4, 1, 2]\n"
     "%n = getitem(%g, 1) : float32[2, 1, 2]\n"
     "%output = output([%y, %n])\n",
     "%a = parameter \"a\" : float32[6, 3]\n"
     "%b = parameter \"b\" : float32[6, 2]\n"
     "%c = parameter \"c\" : float32[6, 2]\n"
     "%d = parameter \"d\" : float32[6, 2]\n"
     "%h = input : float32[2, 1, 2]\n"
     "%x = input : float32[4, 1, 3]\n"
     "%slice_tensor_1 = aten.slice.Tensor(%h, 0, 1, 2) : float32[1, 1, 2]\n"
     "%slice_tensor = aten.slice.Tensor(%h, 0, 0, 1) : float32[1, 1, 2]\n"
     "%gru_input = aten.gru.input(%x, %slice_tensor, [%a, %b], false, 1, 0.5, false, false, false) : (float32[4, "
     "1, 2], float32[1, 1, 2])\n"
     "%getitem_2 = getitem(%gru_input, 0) : float32[4, 1, 2]\n"
     "%getitem_3 = getitem(%gru_input, 1) : float32[1, 1, 2]\n"
     "%gru_input_1 = aten.gru.input(%getitem_2, %slice_tensor_1, [%c, %d], false, 1, 0.5, false, false, false) : "
     "(float32[4, 1, 2], float32[1, 1, 2])\n"
     "%getitem_4 = getitem(%gru_input_1, 0) : float32[4, 1, 2]\n"
     "%getitem_5 = getitem(%gru_input_1, 1) : float32[1, 1, 2]\n"
     "%cat_default = aten.cat.default([%getitem_3, %getitem_5], 0) : float32[2, 1, 2]\n"
     "%output = output([%getitem_4, %cat_default])\n"},
    {"gru_of_two_layers_and_directions", by_default,
     "%a = parameter \"a\" : float32[6, 3]\n"
     "%b = parameter \"b\" : float32[6, 2]\n"
     "%c = parameter \"c\" : float32[6]\n"
     "%d = parameter \"d\" : float32[6]\n"
     "%e = parameter \"e\" : float32[6, 4]\n"
     "%h = input : float32[4, 1, 2]\n"
     "%x = input : float32[1, 4, 3]\n"
     "%g = aten.gru.input(%x, %h, [%a, %b, %c, %d, %a, %b, %d, %c, %e, %b, %c, %c, %e, %b, %d, %d], true, 2, "
     "0.0, false, true, true) : (float32[1, 4, 4], float32[4, 1, 2])\n"
     "%y = getitem(%g, 0) : float32[1, 4, 4]\n"
     "%output = output([%y])\n",
     "%a = parameter \"a\" : float32[6, 3]\n"
     "%b = parameter \"b\" : float32[6, 2]\n"
     "%c = parameter \"c\" : float32[6]\n"
     "%d = parameter \"d\" : float32[6]\n"
     "%e = parameter \"e\" : float32[6, 4]\n"
     "%h = input : float32[4, 1, 2]\n"
     "%x = input : float32[1, 4, 3]\n"
     "%slice_tensor_1 = aten.slice.Tensor(%h, 0, 2, 4) : float32[2, 1, 2]\n"
     "%slice_tensor = aten.slice.Tensor(%h, 0, 0, 2) : float32[2, 1, 2]\n"
     "%gru_input = aten.gru.input(%x, %slice_tensor, [%a, %b, %c, %d, %a, %b, %d, %c], true, 1, 0.0, false, "
     "true, true) : (float32[1, 4, 4], float32[2, 1, 2])\n"
     "%getitem_2 = getitem(%gru_input, 0) : float32[1, 4, 4]\n"
     "%gru_input_1 = aten.gru.input(%getitem_2, %slice_tensor_1, [%e, %b, %c, %c, %e, %b, %d, %d], true, 1, 0.0, "
     "false, true, true) : (float32[1, 4, 4], float32[2, 1, 2])\n"
     "%getitem_4 = getitem(%gru_input_1, 0) : float32[1, 4, 4]\n"
     "%output = output([%getitem_4])\n"},
    {"division_by_a_number", by_default,
     "%two = constant \"two\" : float32[]\n"
     "%x = input : float32[2, 3]\n"
     "%y = aten.div.Tensor(%x, %two) : float32[2, 3]\n"
     "%output = output([%y])\n",
     "%x = input : float32[2, 3]\n"
     "%multiplier_0 = parameter \"multiplier_0\" : float32[]\n"
     "%mul_tensor = aten.mul.Tensor(%x, %multiplier_0) : float32[2, 3]\n"
     "%output = output([%mul_tensor])\n"},
    {"division_by_a_number_as_the_reference", as_reference,
     "%two = constant \"two\" : float32[]\n"
     "%x = input : float32[2, 3]\n"
     "%y = aten.div.Tensor(%x, %two) : float32[2, 3]\n"
     "%output = output([%y])\n",
     "%x = input : float32[2, 3]\n"
     "%multiplier_0 = parameter \"multiplier_0\" : float32[2, 3]\n"
     "%mul_tensor = aten.mul.Tensor(%x, %multiplier_0) : float32[2, 3]\n"
     "%output = output([%mul_tensor])\n"},
    {"division_by_a_tensor", by_default,
     "%d = parameter \"d\" : float32[3]\n"
     "%x = input : float32[2, 3]\n"
     "%y = aten.div.Tensor(%x, %d) : float32[2, 3]\n"
     "%z = aten.add.Tensor(%y, %d) : float32[2, 3]\n"
     "%output = output([%z])\n",
     "%d = parameter \"d\" : float32[3]\n"
     "%x = input : float32[2, 3]\n"
     "%multiplier_0 = parameter \"multiplier_0\" : float32[3]\n"
     "%mul_tensor = aten.mul.Tensor(%x, %multiplier_0) : float32[2, 3]\n"
     "%z = aten.add.Tensor(%mul_tensor, %d) : float32[2, 3]\n"
     "%output = output([%z])\n"},
    {"division_in_place", by_default,
     "%d = parameter \"d\" : float32[3]\n"
     "%x = input : float32[2, 3]\n"
     "%a = aten.relu.default(%x) : float32[2, 3]\n"
     "%y = aten.div_.Tensor(%a, %d) : float32[2, 3]\n"
     "%output = output([%y])\n",
     "%x = input : float32[2, 3]\n"
     "%multiplier_0 = parameter \"multiplier_0\" : float32[3]\n"
     "%a = aten.relu.default(%x) : float32[2, 3]\n"
     "%mul__tensor = aten.mul_.Tensor(%a, %multiplier_0) : float32[2, 3]\n"
     "%output = output([%mul__tensor])\n"},
    {"division_in_place_as_the_reference", as_reference,
     "%d = parameter \"d\" : float32[3]\n"
     "%x = input : float32[2, 3]\n"
     "%a = aten.relu.default(%x) : float32[2, 3]\n"
     "%y = aten.div_.Tensor(%a, %d) : float32[2, 3]\n"
     "%output = output([%y])\n",
     "%d = parameter \"d\" : float32[3]\n"
     "%x = input : float32[2, 3]\n"
     "%a = aten.relu.default(%x) : float32[2, 3]\n"
     "%y = aten.div_.Tensor(%a, %d) : float32[2, 3]\n"
     "%output = output([%y])\n"},
    {"division_by_zero_stays", by_default,
     "%zero = parameter \"z\" : float32[3]\n"
     "%x = input : float32[2, 3]\n"
     "%y = aten.div.Tensor(%x, %zero) : float32[2, 3]\n"
     "%output = output([%y])\n",
     "%zero = parameter \"z\" : float32[3]\n"
     "%x = input : float32[2, 3]\n"
     "%y = aten.div.Tensor(%x, %zero) : float32[2, 3]\n"
     "%output = output([%y])\n"},
    {"division_by_an_input_stays", by_default,
     "%d = input : float32[3]\n"
     "%x = input : float32[2, 3]\n"
     "%y = aten.div.Tensor(%x, %d) : float32[2, 3]\n"
     "%output = output([%y])\n",
     "%d = input : float32[3]\n"
     "%x = input : float32[2, 3]\n"
     "%y = aten.div.Tensor(%x, %d) : float32[2, 3]\n"
     "%output = output([%y])\n"},
    {"activation_behind_cat", by_default,
     "%w = parameter \"w\" : float32[3, 4]\n"
     "%x = input : float32[2, 4]\n"
     "%a = aten.linear.default(%x, %w) : float32[2, 3]\n"
     "%b = aten.linear.default(%x, %w) : float32[2, 3]\n"
     "%k = aten.cat.default([%a, %b], 1) : float32[2, 6]\n"
     "%y = aten.hardtanh.default(%k, 0.0, 6.0) : float32[2, 6]\n"
     "%output = output([%y])\n",
     "%w = parameter \"w\" : float32[3, 4]\n"
     "%x = input : float32[2, 4]\n"
     "%a = aten.linear.default(%x, %w) : float32[2, 3]\n"
     "%hardtanh_default = aten.hardtanh.default(%a, 0.0, 6.0) : float32[2, 3]\n"
     "%b = aten.linear.default(%x, %w) : float32[2, 3]\n"
     "%hardtanh_default_1 = aten.hardtanh.default(%b, 0.0, 6.0) : float32[2, 3]\n"
     "%k = aten.cat.default([%hardtanh_default, %hardtanh_default_1], 1) : float32[2, 6]\n"
     "%output = output([%k])\n"},
    {"activation_behind_cat_of_one_input_twice", by_default,
     "%w = parameter \"w\" : float32[3, 4]\n"
     "%x = input : float32[2, 4]\n"
     "%a = aten.linear.default(%x, %w) : float32[2, 3]\n"
     "%k = aten.cat.default([%a, %a], 1) : float32[2, 6]\n"
     "%y = aten.tanh.default(%k) : float32[2, 6]\n"
     "%output = output([%y])\n",
     "%w = parameter \"w\" : float32[3, 4]\n"
     "%x = input : float32[2, 4]\n"
     "%a = aten.linear.default(%x, %w) : float32[2, 3]\n"
     "%tanh_default = aten.tanh.default(%a) : float32[2, 3]\n"
     "%k = aten.cat.default([%tanh_default, %tanh_default], 1) : float32[2, 6]\n"
     "%output = output([%k])\n"},
    {"activation_behind_cat_of_an_input_stays", by_default,
     "%w = parameter \"w\" : float32[3, 4]\n"
     "%x = input : float32[2, 4]\n"
     "%a = aten.linear.default(%x, %w) : float32[2, 3]\n"
     "%k = aten.cat.default([%a, %x], 1) : float32[2, 7]\n"
     "%y = aten.relu.default(%k) : float32[2, 7]\n"
     "%output = output([%y])\n",
     "%w = parameter \"w\" : float32[3, 4]\n"
     "%x = input : float32[2, 4]\n"
     "%a = aten.linear.default(%x, %w) : float32[2, 3]\n"
     "%k = aten.cat.default([%a, %x], 1) : float32[2, 7]\n"
     "%y = aten.relu.default(%k) : float32[2, 7]\n"
     "%output = output([%y])\n"},
    {"clipping_behind_cat_stays", by_default,
     "%w = parameter \"w\" : float32[3, 4]\n"
     "%x = input : float32[2, 4]\n"
     "%a = aten.linear.default(%x, %w) : float32[2, 3]\n"
     "%k = aten.cat.default([%a], 1) : float32[2, 3]\n"
     "%y = aten.hardtanh.default(%k, 0.0, 5.0) : float32[2, 3]\n"
     "%output = output([%y])\n",
     "%w = parameter \"w\" : float32[3, 4]\n"
     "%x = input : float32[2, 4]\n"
     "%a = aten.linear.default(%x, %w) : float32[2, 3]\n"
     "%k = aten.cat.default([%a], 1) : float32[2, 3]\n"
     "%y = aten.hardtanh.default(%k, 0.0, 5.0) : float32[2, 3]\n"
     "%output = output([%y])\n"},
    {"convolution_of_rows", by_default,
     "%w = parameter \"w\" : float32[2, 3, 3]\n"
     "%b = parameter \"b\" : float32[2]\n"
     "%x = input : float32[1, 3, 8]\n"
     "%y = aten.conv1d.default(%x, %w, %b, [2], [1]) : float32[1, 2, 4]\n"
     "%output = output([%y])\n",
     "%b = parameter \"b\" : float32[2]\n"
     "%x = input : float32[1, 3, 8]\n"
     "%w0 = parameter \"w0\" : float32[2, 3, 1, 3]\n"
     "%unsqueeze_default = aten.unsqueeze.default(%x, -2) : float32[1, 3, 1, 8]\n"
     "%conv2d_default = aten.conv2d.default(%unsqueeze_default, %w0, %b, [1, 2], [0, 1], [1, 1]) : float32[1, 2, "
     "1, 4]\n"
     "%squeeze_dim = aten.squeeze.dim(%conv2d_default, -2) : float32[1, 2, 4]\n"
     "%output = output([%squeeze_dim])\n"},
    {"convolution_of_rows_with_batch_norm_behind_another_reader", by_default,
     "%w = parameter \"w\" : float32[2, 3, 3]\n"
     "%m = buffer \"m\" : float32[2]\n"
     "%v = buffer \"v\" : float32[2]\n"
     "%x = input : float32[1, 3, 8]\n"
     "%y = aten.conv1d.default(%x, %w, none, [2], [1]) : float32[1, 2, 4]\n"
     "%n = aten.batch_norm.default(%y, none, none, %m, %v, false, 0.1, 1e-05, false) : float32[1, 2, 4]\n"
     "%r = aten.relu.default(%n) : float32[1, 2, 4]\n"
     "%output = output([%r, %y])\n",
     "%m = buffer \"m\" : float32[2]\n"
     "%v = buffer \"v\" : float32[2]\n"
     "%x = input : float32[1, 3, 8]\n"
     "%w0 = parameter \"w0\" : float32[2, 3, 1, 3]\n"
     "%unsqueeze_default = aten.unsqueeze.default(%x, -2) : float32[1, 3, 1, 8]\n"
     "%conv2d_default = aten.conv2d.default(%unsqueeze_default, %w0, none, [1, 2], [0, 1], [1, 1]) : float32[1, "
     "2, 1, 4]\n"
     "%squeeze_dim = aten.squeeze.dim(%conv2d_default, -2) : float32[1, 2, 4]\n"
     "%n = aten.batch_norm.default(%squeeze_dim, none, none, %m, %v, false, 0.1, 1e-05, false) : float32[1, 2, 4]\n"
     "%r = aten.relu.default(%n) : float32[1, 2, 4]\n"
     "%output = output([%r, %squeeze_dim])\n"},
    {"convolution_of_rows_with_batch_norm_and_activation", by_default,
     "%w = parameter \"w\" : float32[2, 3, 3]\n"
     "%v = buffer \"v\" : float32[2]\n"
     "%m = input : float32[2]\n"
     "%x = input : float32[1, 3, 8]\n"
     "%y = aten.conv1d.default(%x, %w, none, [2], [1]) : float32[1, 2, 4]\n"
     "%n = aten.batch_norm.default(%y, none, none, %m, %v, false, 0.1, 1e-05, false) : float32[1, 2, 4]\n"
     "%r = aten.relu_.default(%n) : float32[1, 2, 4]\n"
     "%s = aten.neg.default(%r) : float32[1, 2, 4]\n"
     "%output = output([%s])\n",
     "%v = buffer \"v\" : float32[2]\n"
     "%m = input : float32[2]\n"
     "%x = input : float32[1, 3, 8]\n"
     "%w0 = parameter \"w0\" : float32[2, 3, 1, 3]\n"
     "%unsqueeze_default = aten.unsqueeze.default(%x, -2) : float32[1, 3, 1, 8]\n"
     "%conv2d_default = aten.conv2d.default(%unsqueeze_default, %w0, none, [1, 2], [0, 1], [1, 1]) : float32[1, "
     "2, 1, 4]\n"
     "%batch_norm_default = aten.batch_norm.default(%conv2d_default, none, none, %m, %v, false, 0.1, 1e-05, "
     "false) : float32[1, 2, 1, 4]\n"
     "%relu__default = aten.relu_.default(%batch_norm_default) : float32[1, 2, 1, 4]\n"
     "%squeeze_dim = aten.squeeze.dim(%relu__default, -2) : float32[1, 2, 4]\n"
     "%s = aten.neg.default(%squeeze_dim) : float32[1, 2, 4]\n"
     "%output = output([%s])\n"},
    {"transposed_convolution_of_rows", by_default,
     "%w = parameter \"w\" : float32[3, 2, 4]\n"
     "%x = input : float32[1, 3, 5]\n"
     "%y = aten.conv_transpose1d.default(%x, %w, none, [3], [1], [1], 1, [2]) : float32[1, 2, 18]\n"
     "%output = output([%y])\n",
     "%x = input : float32[1, 3, 5]\n"
     "%w0 = parameter \"w0\" : float32[3, 2, 1, 4]\n"
     "%unsqueeze_default = aten.unsqueeze.default(%x, -2) : float32[1, 3, 1, 5]\n"
     "%conv_transpose2d_input = aten.conv_transpose2d.input(%unsqueeze_default, %w0, none, [1, 3], [0, 1], [0, "
     "1], 1, [1, 2]) : float32[1, 2, 1, 18]\n"
     "%squeeze_dim = aten.squeeze.dim(%conv_transpose2d_input, -2) : float32[1, 2, 18]\n"
     "%output = output([%squeeze_dim])\n"},
    {"padded_convolution_of_rows", by_default,
     "%w = parameter \"w\" : float32[2, 3, 3]\n"
     "%x = input : float32[1, 3, 8]\n"
     "%y = aten.conv1d.padding(%x, %w, none, [1], \"same\") : float32[1, 2, 8]\n"
     "%output = output([%y])\n",
     "%x = input : float32[1, 3, 8]\n"
     "%w0 = parameter \"w0\" : float32[2, 3, 1, 3]\n"
     "%unsqueeze_default = aten.unsqueeze.default(%x, -2) : float32[1, 3, 1, 8]\n"
     "%conv2d_padding = aten.conv2d.padding(%unsqueeze_default, %w0, none, [1, 1], \"same\", [1, 1]) : "
     "float32[1, 2, 1, 8]\n"
     "%squeeze_dim = aten.squeeze.dim(%conv2d_padding, -2) : float32[1, 2, 8]\n"
     "%output = output([%squeeze_dim])\n"},
    {"padded_convolution_of_rows_as_the_reference", as_reference,
     "%w = parameter \"w\" : float32[2, 3, 3]\n"
     "%x = input : float32[1, 3, 8]\n"
     "%y = aten.conv1d.padding(%x, %w, none, [1], \"same\") : float32[1, 2, 8]\n"
     "%output = output([%y])\n",
     "%w = parameter \"w\" : float32[2, 3, 3]\n"
     "%x = input : float32[1, 3, 8]\n"
     "%y = aten.conv1d.padding(%x, %w, none, [1], \"same\") : float32[1, 2, 8]\n"
     "%output = output([%y])\n"},
    {"batch_norm_of_a_transposed_convolution_in_groups", by_default,
     "%w = parameter \"w\" : float32[4, 3, 2, 2]\n"
     "%g = parameter \"g\" : float32[6]\n"
     "%m = buffer \"m\" : float32[6]\n"
     "%v = buffer \"v\" : float32[6]\n"
     "%x = input : float32[1, 4, 3, 3]\n"
     "%y = aten.conv_transpose2d.input(%x, %w, none, [2, 2], [0, 0], [0, 0], 2) : float32[1, 6, 6, 6]\n"
     "%n = aten.batch_norm.default(%y, %g, none, %m, %v, false, 0.1, 1e-05, false) : float32[1, 6, 6, 6]\n"
     "%output = output([%n])\n",
     "%w_folded = parameter \"w_folded\" : float32[4, 3, 2, 2]\n"
     "%x = input : float32[1, 4, 3, 3]\n"
     "%w_bias = parameter \"w_bias\" : float32[6]\n"
     "%y = aten.conv_transpose2d.input(%x, %w_folded, %w_bias, [2, 2], [0, 0], [0, 0], 2) : float32[1, 6, 6, 6]\n"
     "%output = output([%y])\n"},
    {"batch_norm_of_rows", by_default,
     "%w = parameter \"w\" : float32[2, 3, 3]\n"
     "%b = parameter \"b\" : float32[2]\n"
     "%m = buffer \"m\" : float32[2]\n"
     "%v = buffer \"v\" : float32[2]\n"
     "%x = input : float32[1, 3, 8]\n"
     "%y = aten.conv1d.default(%x, %w, %b) : float32[1, 2, 6]\n"
     "%n = aten.batch_norm.default(%y, none, %b, %m, %v, false, 0.1, 1e-05, false) : float32[1, 2, 6]\n"
     "%r = aten.relu.default(%n) : float32[1, 2, 6]\n"
     "%output = output([%r])\n",
     "%b_folded = parameter \"b_folded\" : float32[2]\n"
     "%x = input : float32[1, 3, 8]\n"
     "%w_folded0 = parameter \"w_folded0\" : float32[2, 3, 1, 3]\n"
     "%unsqueeze_default = aten.unsqueeze.default(%x, -2) : float32[1, 3, 1, 8]\n"
     "%conv2d_default = aten.conv2d.default(%unsqueeze_default, %w_folded0, %b_folded, [1, 1], [0, 0], [1, 1]) : "
     "float32[1, 2, 1, 6]\n"
     "%relu_default = aten.relu.default(%conv2d_default) : float32[1, 2, 1, 6]\n"
     "%squeeze_dim = aten.squeeze.dim(%relu_default, -2) : float32[1, 2, 6]\n"
     "%output = output([%squeeze_dim])\n"},
    {"batch_norm_of_a_linear_with_rows_stays", by_default,
     "%w = parameter \"w\" : float32[3, 4]\n"
     "%m = buffer \"m\" : float32[3]\n"
     "%v = buffer \"v\" : float32[3]\n"
     "%x = input : float32[2, 3, 4]\n"
     "%y = aten.linear.default(%x, %w) : float32[2, 3, 3]\n"
     "%n = aten.batch_norm.default(%y, none, none, %m, %v, false, 0.1, 1e-05, false) : float32[2, 3, 3]\n"
     "%output = output([%n])\n",
     "%w = parameter \"w\" : float32[3, 4]\n"
     "%m = buffer \"m\" : float32[3]\n"
     "%v = buffer \"v\" : float32[3]\n"
     "%x = input : float32[2, 3, 4]\n"
     "%y = aten.linear.default(%x, %w) : float32[2, 3, 3]\n"
     "%n = aten.batch_norm.default(%y, none, none, %m, %v, false, 0.1, 1e-05, false) : float32[2, 3, 3]\n"
     "%output = output([%n])\n"},
    {"constants_are_computed", by_default,
     "%p = parameter \"p\" : float32[4, 2]\n"
     "%x = input : float32[3, 2]\n"
     "%s = aten.split.Tensor(%p, 2) : (float32[2, 2], float32[2, 2])\n"
     "%a = getitem(%s, 0) : float32[2, 2]\n"
     "%b = getitem(%s, 1) : float32[2, 2]\n"
     "%k = aten.add.Tensor(%a, %b) : float32[2, 2]\n"
     "%y = aten.mm.default(%x, %k) : float32[3, 2]\n"
     "%output = output([%y])\n",
     "%x = input : float32[3, 2]\n"
     "%k_1 = parameter \"k_1\" : float32[2, 2]\n"
     "%y = aten.mm.default(%x, %k_1) : float32[3, 2]\n"
     "%output = output([%y])\n"},
};

static void test_rewrites(void **state)
{
    (void)state;
    run_rewrites(rewrites, sizeof rewrites / sizeof rewrites[0]);
}

/* The passes leave nothing for a second run. */
static void run_twice(struct nuc_context *cx, void *arg)
{
    const struct rewrite *r = arg;
    struct nuc_graph *g = parse_graph(cx, r->before);

    fill_constants(g);
    r->stage(g);
    const char *once = nuc_graph_print(g, false);
    r->stage(g);
    assert_string_equal(nuc_graph_print(g, false), once);
}

static void test_second_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rewrites / sizeof rewrites[0]; i++) {
        struct rewrite r = rewrites[i];
        /* The reference's order leaves the splits of groups to a second run. */
        if (r.stage == by_default)
            run_in_context(run_twice, &r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rewrites),
        cmocka_unit_test(test_second_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
