/* What lowerings share: the tensors of values, and their axes and numbers. */
#include "npu/lower/lowering.h"

#include <math.h>

#include "ir/labels.h"

_Noreturn void nuc_lower_refuse(const struct nuc_lowering *l, const struct nuc_node *node, const char *what)
{
    nuc_fail(l->cx, NUC_INTERNAL,
             "%s: %s cannot be lowered to LiteRT: %s: the partitioner should have kept it on the "
             "CPU, exclude it from delegation",
             l->g->file, nuc_node_text(l->cx, node), what);
}

/* -1: it has none. */
static int32_t tensor_of(const struct nuc_lowering *l, const struct nuc_node *node)
{
    struct nuc_index_search s = nuc_index_search(&l->tensors, nuc_index_number(node->id));

    return nuc_index_next(&s) ? (int32_t)s.place : -1;
}

/* Quantization is no operator of a LiteRT model: its tensors are the values that are quantized. */
static const char *label_of(const struct nuc_lowering *l, const struct nuc_node *node, uint32_t index)
{
    while (nuc_is_quantization(node) && node->args[NUC_SELF].kind == NUC_ARG_NODE)
        node = node->args[NUC_SELF].u.node;
    if (node->op == NUC_OP_GETITEM) {
        index = (uint32_t)node->args[NUC_ARG(GETITEM, index)].u.i;
        node = node->args[NUC_SELF].u.node;
    }
    return nuc_label_of_result(l->cx, l->options.labels, node, index);
}

static void add_value(struct nuc_lowering *l, const struct nuc_node *node, uint32_t index)
{
    const struct nuc_meta *meta = &node->vals[index];
    struct nuc_lt_tensor t = {.name = node->name, .dtype = meta->dtype, .rank = meta->rank};
    int32_t sizes[NUC_MAX_RANK], perm[NUC_MAX_RANK];
    bool first = node->format == NUC_CHANNELS_FIRST;

    if (node->n_vals > 1)
        t.name = nuc_format(l->cx, "%s_<getitem_extracted_output_%u>", node->name, index);
    for (uint32_t i = 0; i < meta->rank; i++) {
        if (meta->sizes[i] > INT32_MAX)
            nuc_lower_refuse(l, node, "a dimension exceeds 2^31");
        sizes[i] = (int32_t)meta->sizes[i];
    }
    for (uint32_t i = 0; i < meta->rank; i++)
        perm[i] = (int32_t)i;
    if (first)
        nuc_perm_to_last(perm, meta->rank);
    nuc_perm_apply(t.shape, sizes, perm, meta->rank);
    if (nuc_is_static(node)) {
        t.data.size = nuc_bytes(meta);
        t.data.data = nuc_const_contiguous(l->g, node);
        if (first)
            t.data.data = nuc_permute_data(l->cx, t.data.data, nuc_dtype_size(t.dtype), sizes, meta->rank, perm);
    }
    enum nuc_ltb_format format = first                            ? NUC_LTB_CHANNELS_LAST
                                 : node->format == NUC_FORMATLESS ? NUC_LTB_FORMATLESS
                                                                  : NUC_LTB_NONE;
    int32_t tensor = nuc_ltb_add(l->b, &t, format);
    if (l->options.labels != NULL)
        l->b->notes[tensor].label = label_of(l, node, index);
    if (index == 0)
        nuc_index_add(l->cx, &l->tensors, nuc_index_number(node->id), (uint32_t)tensor);
}

/* Scales and zero points are no values of a LiteRT model. */
static bool is_parameter(const struct nuc_node *node)
{
    bool all = node->n_users > 0 && nuc_is_static(node);

    for (uint32_t i = 0; i < node->n_users && all; i++)
        all = nuc_is_quantization(node->users[i]) && nuc_arg_node(node->users[i], NUC_SELF) != node;
    return all;
}

bool nuc_lower_is_one_of(const struct nuc_node *node, struct nuc_node *const *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] == node)
            return true;
    }
    return false;
}

bool nuc_lower_is_its_input(const struct nuc_lowering *l, const struct nuc_node *node)
{
    const struct nuc_partition *p = l->partition;
    const struct nuc_node *input = nuc_arg_node(node, NUC_SELF);

    return nuc_is_quantize(node) || (nuc_is_dequantize(node) && !nuc_lower_is_one_of(input, p->inputs, p->n_inputs) &&
                                     !nuc_lower_is_one_of(input, p->outputs, p->n_outputs));
}

void nuc_lower_add_values(struct nuc_lowering *l, struct nuc_node *const *nodes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (tensor_of(l, nodes[i]) >= 0 || is_parameter(nodes[i]))
            continue;
        if (nodes == l->partition->nodes && nuc_lower_is_its_input(l, nodes[i])) {
            const int32_t input = nuc_lower_first_value(l, nuc_arg_node(nodes[i], NUC_SELF));
            nuc_index_add(l->cx, &l->tensors, nuc_index_number(nodes[i]->id), (uint32_t)input);
            continue;
        }
        for (uint32_t k = 0; k < nodes[i]->n_vals; k++)
            add_value(l, nodes[i], k);
    }
}

int32_t nuc_lower_first_value(const struct nuc_lowering *l, const struct nuc_node *node)
{
    const int32_t tensor = tensor_of(l, node);

    if (tensor < 0)
        nuc_fail(l->cx, NUC_INTERNAL, "%s: %s is read in partition '%s' but belongs neither to it nor to its inputs",
                 l->g->file, nuc_node_text(l->cx, node), l->partition->tag);
    return tensor;
}

int32_t nuc_lower_input(const struct nuc_lowering *l, const struct nuc_node *node, uint32_t index)
{
    const struct nuc_node *input = nuc_arg_node(node, index);

    return input == NULL ? -1 : nuc_ltb_root(l->b, nuc_lower_first_value(l, input));
}

int32_t nuc_lower_output(const struct nuc_lowering *l, const struct nuc_node *node)
{
    return nuc_ltb_root(l->b, nuc_lower_first_value(l, node));
}

int32_t nuc_lower_axis(const struct nuc_lowering *l, const struct nuc_node *node, uint32_t index, int32_t tensor)
{
    uint32_t rank = nuc_ltb_at(l->b, tensor)->rank;
    int64_t axis = nuc_dim(node, index, INT32_MAX, rank);
    int32_t place[NUC_MAX_RANK];

    if (axis < 0 || axis >= (int64_t)rank)
        nuc_lower_refuse(l, node, "its dimension is outside the tensor");
    if (!nuc_ltb_is_last(l->b, tensor))
        return (int32_t)axis;
    nuc_perm_to_first(place, rank); /* position in [N, ..., C] of each dimension of [N, C, ...] */
    return place[axis];
}

int64_t nuc_lower_quantized(double value, double scale, int64_t zero_point, int64_t low, int64_t high)
{
    double q = nearbyint(value / scale) + (double)zero_point;

    if (!(q > (double)low))
        return low;
    return q > (double)high ? high : (int64_t)q;
}

void nuc_lower_propagate(struct nuc_lowering *l, int32_t from, int32_t to)
{
    const struct nuc_lt_tensor *x = nuc_ltb_at(l->b, from);
    struct nuc_lt_tensor *y = nuc_ltb_at(l->b, to);

    if (x->quant.count == 0 || y->quant.count != 0)
        return;
    y->quant = x->quant;
    y->dtype = x->dtype;
}
