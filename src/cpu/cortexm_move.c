/* Operators that move bytes: views, permutations, parts, concatenations, padding, copies in another dim order. */
#include <math.h>
#include <string.h>

#include "cpu/cortexm_site.h"
#include "eval/eval.h"
#include "npu/layout/orders.h"

struct move {
    struct nuc_cm_value in;
    struct nuc_cm_result out;
    bool quantized; /* the result is; else a dequantize node with the parameters of the input stands after it */
};

static bool read_move(struct nuc_node *node, struct move *m)
{
    if (!nuc_cm_tensor(node, NUC_SELF, &m->in))
        return false;
    m->quantized = nuc_cm_result(node, false, &m->out);
    if (!m->quantized)
        m->out = (struct nuc_cm_result){.value = node, .params = m->in};
    return !node->is_tuple && node->n_users > 0;
}

/* The value of constants is known now. */
static struct nuc_node *folded(struct nuc_cm *c, struct nuc_node *node)
{
    void *bytes;

    if (!nuc_is_static(nuc_operand(c->g, node, NUC_SELF)) || !nuc_eval_constant(c->g, node, &bytes))
        return node;
    struct nuc_node *constant =
        nuc_cm_constant(c, node, "_constant", node->vals[0].dtype, node->vals[0].sizes, node->vals[0].rank, bytes);
    nuc_remove_node(c->g, node);
    return constant;
}

/* `value` is what the int8 form of `node` made, with the parameters of the input. */
static void finish(struct nuc_cm *c, struct nuc_node *node, const struct move *m, struct nuc_node *value)
{
    struct nuc_node *like = nuc_arg_node(node, NUC_SELF);

    if (m->quantized) {
        nuc_cm_replace_as(c, &m->in, &m->out, value);
        return;
    }
    bool made = nuc_is_call(value) && value != nuc_arg_node(like, NUC_SELF);
    struct nuc_node *dequantize =
        nuc_cm_insert_quant(c->g, (made ? value : node)->next, NUC_OP_DEQUANTIZE_PER_TENSOR, value, like);
    nuc_made_of(dequantize, node);
    nuc_set_val(c->g, dequantize, &node->vals[0]);
    nuc_replace_uses(c->g, node, dequantize, NULL);
}

bool nuc_cm_lower_view(struct nuc_cm *c, struct nuc_node *node)
{
    struct move m;

    /* The reference indexes in float. */
    if (!read_move(node, &m) || (node->op == NUC_OP_INDEX && c->options->reference_compat))
        return false;
    struct nuc_node *before = nuc_cm_place(&m.out), *in = m.in.node;
    if (!c->options->reference_compat && !nuc_is_static(in))
        in = nuc_cm_contiguous(c, in, before);
    /* The order of an indexed tensor goes by the name of its input's. */
    if (node->op == NUC_OP_INDEX && !nuc_is_contiguous(&in->vals[0])) {
        in = nuc_cm_copy(c, in, before);
        nuc_cm_name_contiguous(c, in);
    }
    bool repeats = !nuc_same_sizes(&in->vals[0], &node->vals[0]);
    if (node->op == NUC_OP_EXPAND && !repeats && !c->options->reference_compat)
        finish(c, node, &m, in);
    else
        finish(c, node, &m, folded(c, nuc_emit_like(c->g, before, node, NUC_ARGS(in))));
    return true;
}

/* ---- permutations ---- */

/* The meta of the permuted tensor when every byte stays: contiguous or channels-last. */
static bool stays_in_place(const struct nuc_meta *in, const int64_t *perm, struct nuc_meta *out)
{
    nuc_set_contiguous(out);
    if (nuc_is_permuted_in_place(in, perm, out))
        return true;
    if (in->rank == 4)
        nuc_set_channels_last(out);
    return in->rank == 4 && nuc_is_permuted_in_place(in, perm, out);
}

bool nuc_cm_lower_permute(struct nuc_cm *c, struct nuc_node *node)
{
    const int64_t *dims = node->args[NUC_ARG(PERMUTE, dims)].u.ints;
    struct move m;
    int64_t perm[NUC_MAX_RANK];

    if (!read_move(node, &m))
        return false;
    for (uint32_t i = 0; i < node->vals[0].rank; i++)
        perm[i] = nuc_positive_dim(dims[i], node->vals[0].rank);
    const struct nuc_meta *in = &m.in.node->vals[0];
    struct nuc_meta placed = node->vals[0];
    bool in_place = !c->options->reference_compat && !nuc_is_static(m.in.node) && stays_in_place(in, perm, &placed);
    bool small = m.in.dtype == NUC_I8 && in->rank >= 1 && in->rank <= 4 && !nuc_is_static(m.in.node);
    enum nuc_op op = in_place ? NUC_OP_NUCLEON_PERMUTE_VIEW : small ? NUC_OP_CORTEXM_TRANSPOSE : NUC_OP_PERMUTE;
    bool as_it_is = in_place || c->options->reference_compat || nuc_is_static(m.in.node);
    struct nuc_node *before = nuc_cm_place(&m.out);
    struct nuc_node *value = as_it_is ? m.in.node : nuc_cm_contiguous(c, m.in.node, before);
    struct nuc_node *permuted = nuc_emit(c->g, before, op, node, NUC_ARGS(value, nuc_ints_arg(perm, in->rank)));
    if (in_place) {
        placed.dtype = m.in.dtype;
        nuc_set_val(c->g, permuted, &placed);
    }
    finish(c, node, &m, folded(c, permuted));
    return true;
}

/* ---- parts and concatenations: along dimensions of [N, H, W, C] where that is the order ---- */

bool nuc_cm_lower_slice(struct nuc_cm *c, struct nuc_node *node)
{
    struct move m;

    if (!read_move(node, &m))
        return false;
    struct nuc_node *before = nuc_cm_place(&m.out);
    if (c->options->reference_compat || !nuc_cm_is_nhwc(m.in.node)) {
        finish(c, node, &m, folded(c, nuc_emit_like(c->g, before, node, NUC_ARGS(m.in.node))));
        return true;
    }
    struct nuc_node *view = nuc_cm_as_nhwc(c, m.in.node, before);
    int64_t dim = nuc_cm_nhwc_dim(nuc_integer(node, NUC_ARG(SLICE, dim), 0));
    struct nuc_node *slice = nuc_emit(c->g, before, NUC_OP_SLICE, node,
                                      NUC_ARGS(view, dim, node->args[NUC_ARG(SLICE, start)],
                                               node->args[NUC_ARG(SLICE, end)], node->args[NUC_ARG(SLICE, step)]));
    finish(c, node, &m, nuc_cm_as_nchw(c, slice, before));
    return true;
}

bool nuc_cm_lower_flip(struct nuc_cm *c, struct nuc_node *node)
{
    const struct nuc_arg *list = nuc_arg_at(node, NUC_ARG(FLIP, dims));
    int64_t dims[NUC_MAX_RANK];
    struct move m;

    if (!read_move(node, &m) || list->count > NUC_MAX_RANK)
        return false;
    struct nuc_node *before = nuc_cm_place(&m.out);
    bool nhwc = nuc_cm_is_nhwc(m.in.node);
    struct nuc_node *in = nhwc ? nuc_cm_as_nhwc(c, m.in.node, before) : nuc_cm_contiguous(c, m.in.node, before);
    for (uint32_t i = 0; i < list->count; i++) {
        int64_t dim = nuc_positive_dim(list->u.ints[i], node->vals[0].rank);
        dims[i] = nhwc ? nuc_cm_nhwc_dim(dim) : dim;
    }
    struct nuc_node *flip = nuc_emit(c->g, before, NUC_OP_FLIP, node, NUC_ARGS(in, nuc_ints_arg(dims, list->count)));
    finish(c, node, &m, nhwc ? nuc_cm_as_nchw(c, flip, before) : flip);
    return true;
}

/* Both tensors get the parameters of the result. */
bool nuc_cm_lower_slice_scatter(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_binary v;

    if (!nuc_cm_read_binary(node, false, &v))
        return false;
    struct nuc_node *before = nuc_cm_place(&v.out);
    struct nuc_node *self = nuc_cm_requantize(c, &v.a, &v.out.params, before);
    struct nuc_node *part = nuc_cm_requantize(c, &v.b, &v.out.params, before);
    bool nhwc = nuc_cm_is_nhwc(self);
    int64_t dim = nuc_dim(node, NUC_ARG(SLICE_SCATTER, dim), 0, node->vals[0].rank);
    if (nhwc) {
        self = nuc_cm_as_nhwc(c, self, before);
        part = nuc_cm_as_nhwc(c, nuc_cm_channels_last(c, part, before), before);
    } else {
        self = nuc_cm_contiguous(c, self, before);
        part = nuc_cm_contiguous(c, part, before);
    }
    struct nuc_node *value =
        nuc_emit(c->g, before, NUC_OP_SLICE_SCATTER, node,
                 NUC_ARGS(self, part, nhwc ? nuc_cm_nhwc_dim(dim) : dim, node->args[NUC_ARG(SLICE_SCATTER, start)],
                          node->args[NUC_ARG(SLICE_SCATTER, end)], node->args[NUC_ARG(SLICE_SCATTER, step)]));
    return nuc_cm_replace(c, &v.out, nhwc ? nuc_cm_as_nchw(c, value, before) : value);
}

/* What indices pick becomes other values. */
bool nuc_cm_lower_put(struct nuc_cm *c, struct nuc_node *node)
{
    uint32_t src = node->op == NUC_OP_INDEX_PUT ? NUC_ARG(INDEX_PUT, values) : NUC_ARG(SCATTER, src);
    struct nuc_cm_value self, values;
    struct nuc_cm_result out;

    if ((node->op == NUC_OP_INDEX_PUT && nuc_flag(node, NUC_ARG(INDEX_PUT, accumulate))) ||
        !nuc_cm_tensor(node, NUC_SELF, &self) || !nuc_cm_tensor(node, src, &values) ||
        !nuc_cm_result(node, false, &out))
        return false;
    struct nuc_node *before = nuc_cm_place(&out);
    struct nuc_node *into = nuc_cm_contiguous(c, nuc_cm_requantize(c, &self, &out.params, before), before);
    struct nuc_node *from = nuc_cm_contiguous(c, nuc_cm_requantize(c, &values, &out.params, before), before);
    struct nuc_node *value = nuc_insert(c->g, before, node->op, node);
    for (uint32_t i = 0; i < node->n_args; i++)
        nuc_copy_arg(c->g, value, i, node, i);
    nuc_set_arg_node(value, c->g, NUC_SELF, into);
    nuc_set_arg_node(value, c->g, src, from);
    nuc_infer_shape(c->g, value);
    return nuc_cm_replace(c, &out, value);
}

bool nuc_cm_lower_cat(struct nuc_cm *c, struct nuc_node *node)
{
    const struct nuc_arg *list = nuc_arg_at(node, NUC_ARG(CAT, tensors));
    struct nuc_cm_value *parts = nuc_alloc_array(c->g->cx, (size_t)list->count + 1, sizeof *parts);
    struct nuc_node **values = nuc_alloc_array(c->g->cx, (size_t)list->count + 1, sizeof(struct nuc_node *));
    struct nuc_cm_result out;
    int64_t dim = nuc_integer(node, NUC_ARG(CAT, dim), 0);

    for (uint32_t i = 0; i < list->count; i++) {
        if (!nuc_cm_values(list->u.nodes[i], &parts[i]))
            return false;
    }
    if (list->count == 0 || !nuc_cm_result(node, false, &out))
        return false;
    struct nuc_node *before = nuc_cm_place(&out);
    bool nhwc = !c->options->reference_compat && nuc_cm_is_nhwc(parts[0].node);
    for (uint32_t i = 0; i < list->count; i++) {
        struct nuc_node *value = nuc_cm_requantize(c, &parts[i], &out.params, before);
        if (nhwc)
            value = nuc_cm_as_nhwc(c, nuc_cm_channels_last(c, value, before), before);
        else if (!c->options->reference_compat)
            value = nuc_cm_contiguous(c, value, before);
        values[i] = value;
    }
    struct nuc_node *cat = nuc_emit(c->g, before, node->op, node,
                                    NUC_ARGS(nuc_nodes_arg(values, list->count), nhwc ? nuc_cm_nhwc_dim(dim) : dim));
    return nuc_cm_replace(c, &out, nhwc ? nuc_cm_as_nchw(c, cat, before) : cat);
}

/* A part of a tensor that is split: the getitem node stands for a slice. */
bool nuc_cm_lower_part(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_node *split = nuc_arg_node(node, NUC_ARG(GETITEM, self));
    int64_t index = nuc_integer(node, NUC_ARG(GETITEM, index), 0), start = 0;
    struct nuc_cm_value in;
    struct nuc_cm_result out;

    if (split == NULL || split->op != NUC_OP_SPLIT_WITH_SIZES || c->options->reference_compat ||
        !nuc_cm_tensor(split, NUC_SELF, &in) || !nuc_cm_result(node, false, &out))
        return false;
    const int64_t *sizes = split->args[NUC_ARG(SPLIT_WITH_SIZES, split_sizes)].u.ints;
    int64_t dim = nuc_integer(split, NUC_ARG(SPLIT_WITH_SIZES, dim), 0);
    struct nuc_node *before = nuc_cm_place(&out);
    for (int64_t i = 0; i < index; i++)
        start += sizes[i];
    bool nhwc = nuc_cm_is_nhwc(in.node);
    struct nuc_node *whole = nhwc ? nuc_cm_as_nhwc(c, in.node, before) : in.node;
    struct nuc_node *part =
        nuc_cm_slice(c, whole, nhwc ? nuc_cm_nhwc_dim(dim) : dim, start, start + sizes[index], 1, before);
    nuc_cm_replace_as(c, &in, &out, nhwc ? nuc_cm_as_nchw(c, part, before) : part);
    return true;
}

/* ---- padding ---- */

/* Pairs from the last dimension on become lists in physical order, aligned right. */
static bool read_pads(const struct nuc_node *node, const struct nuc_meta *in, int64_t pre[4], int64_t post[4])
{
    const struct nuc_arg *pads = nuc_arg_at(node, NUC_ARG(PAD, pad)); /* constant_pad_nd's, too */
    int64_t low[NUC_MAX_RANK] = {0}, high[NUC_MAX_RANK] = {0};

    if (pads->kind != NUC_ARG_INTS || pads->count % 2 != 0 || pads->count / 2 > in->rank || in->rank < 1 ||
        in->rank > 4)
        return false;
    for (uint32_t i = 0; i < pads->count / 2; i++) {
        low[in->rank - 1 - i] = pads->u.ints[2 * i];
        high[in->rank - 1 - i] = pads->u.ints[2 * i + 1];
        if (pads->u.ints[2 * i] < 0 || pads->u.ints[2 * i + 1] < 0)
            return false;
    }
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t skipped = 4u - in->rank;
        pre[i] = i < skipped ? 0 : low[in->dim_order[i - skipped]];
        post[i] = i < skipped ? 0 : high[in->dim_order[i - skipped]];
    }
    return true;
}

static double pad_value(const struct nuc_node *node)
{
    return nuc_scalar(node, node->op == NUC_OP_PAD ? NUC_ARG(PAD, value) : NUC_ARG(CONSTANT_PAD, value), 0);
}

/*
 * The padding is written with the parameters of the input, which may not have its value: a result of other parameters,
 * or a float one, is then padded in float.
 */
static bool has_pad_value(const struct nuc_cm *c, const struct move *m, double value)
{
    const struct nuc_cm_value *out = &m->out.params;
    double exact = (double)(nuc_cm_quantize(&m->in, value) - m->in.zero_point) * m->in.scale;

    if (c->options->reference_compat)
        return true;
    if (!m->quantized)
        return fabs(exact - value) <= 1e-6 * m->in.scale;
    return nuc_cm_quantize(out, exact) == nuc_cm_quantize(out, value);
}

bool nuc_cm_lower_pad(struct nuc_cm *c, struct nuc_node *node)
{
    struct move m;
    int64_t pre[4], post[4];

    if (!read_move(node, &m))
        return false;
    /* The kernel takes any tensor of rank 4 with one channel, or one pixel, for channels-last. */
    struct nuc_meta seen = m.in.node->vals[0];
    if (seen.rank == 4 && (seen.sizes[1] == 1 || (seen.sizes[2] == 1 && seen.sizes[3] == 1)))
        nuc_set_channels_last(&seen);
    if (!read_pads(node, &seen, pre, post) || !has_pad_value(c, &m, pad_value(node)))
        return false;
    if (node->op == NUC_OP_PAD && strcmp(node->args[NUC_ARG(PAD, mode)].u.string, "constant") != 0)
        return false;
    finish(c, node, &m,
           nuc_cm_pad(c, m.in.node, pre, post, nuc_cm_quantize(&m.in, pad_value(node)), nuc_cm_place(&m.out)));
    return true;
}

/* ---- copies ---- */

/* Truth values as numbers, if no table has them: in int8 they are whole already. */
static bool lower_number_of_truth(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_node *truth = nuc_arg_node(node, NUC_SELF);
    struct nuc_cm_value in = {.node = truth, .dtype = NUC_I8, .scale = 1};
    struct nuc_cm_result out;

    if (truth == NULL || truth->n_vals != 1 || truth->vals[0].dtype != NUC_BOOL || !nuc_cm_is_own(c) ||
        nuc_cm_is_table(c, node) || !nuc_cm_result(node, false, &out))
        return false;
    struct nuc_node *before = nuc_cm_place(&out);
    in.node = nuc_cm_in_order(c, truth, &node->vals[0], before);
    return nuc_cm_replace(c, &out, nuc_cm_emit_requantize(c, &in, &out, 1 / out.params.scale, before));
}

bool nuc_cm_lower_clone(struct nuc_cm *c, struct nuc_node *node)
{
    struct move m;

    if (lower_number_of_truth(c, node))
        return true;
    if (!read_move(node, &m) || node->vals[0].dtype != nuc_input_meta(node, NUC_SELF)->dtype ||
        (c->options->reference_compat && node->op == NUC_OP_TO_DIM_ORDER_COPY))
        return false;
    struct nuc_node *before = nuc_cm_place(&m.out);
    finish(c, node, &m,
           c->options->reference_compat ? nuc_emit_like(c->g, before, node, NUC_ARGS(m.in.node))
                                        : nuc_cm_in_order(c, m.in.node, &node->vals[0], before));
    return true;
}
