/* Operators that move bytes: views, permutations, parts, concatenations, padding, copies in another dim order. */
#include <math.h>
#include <string.h>

#include "compiler/cortexm/cortexm_private.h"
#include "compiler/eval/eval.h"
#include "compiler/layout/orders.h"

struct move {
    struct nuc_cm_value in;
    struct nuc_cm_result out;
    bool quantized; /* the result is; else a dequantize node with the parameters of the input stands behind it */
};

static bool read_move(struct nuc_node *node, struct move *m)
{
    if (!nuc_cm_tensor(node, 0, &m->in))
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

    if (!nuc_is_static(nuc_operand(c->g, node, 0)) || !nuc_eval_constant(c->g, node, &bytes))
        return node;
    struct nuc_node *constant =
        nuc_cm_constant(c, node, "_constant", node->vals[0].dtype, node->vals[0].sizes, node->vals[0].rank, bytes);
    nuc_remove_node(c->g, node);
    return constant;
}

static void dequantize_behind(struct nuc_cm *c, struct nuc_node *node, const struct nuc_node *like,
                              struct nuc_node *value)
{
    struct nuc_node *last = nuc_is_call(value) && value != nuc_arg_node(like, 0) ? value : node;
    struct nuc_node *behind = nuc_insert(c->g, last->next, NUC_OP_DEQUANTIZE_PER_TENSOR, node);

    for (uint32_t i = 1; i <= 5; i++)
        nuc_copy_arg(c->g, behind, i, like, i);
    nuc_set_arg_node(behind, c->g, 0, value);
    nuc_set_val(c->g, behind, &node->vals[0]);
    nuc_replace_uses(c->g, node, behind, NULL);
}

/* `value` is what the int8 form of `node` made, with the parameters of the input. */
static void finish(struct nuc_cm *c, struct nuc_node *node, const struct move *m, struct nuc_node *value)
{
    struct nuc_cm_value made = m->in;

    made.node = value;
    if (m->quantized)
        nuc_cm_replace(c, &m->out,
                       nuc_cm_requantize(c, &made, &m->out.params, nuc_is_call(value) ? value->next : node->next));
    else
        dequantize_behind(c, node, nuc_arg_node(node, 0), value);
}

/* The same operator over int8, other arguments as they are. */
static struct nuc_node *same_operator(struct nuc_cm *c, struct nuc_node *node, const struct move *m)
{
    struct nuc_node *moved = nuc_cm_insert(c, &m->out, node->op);

    for (uint32_t i = 1; i < node->n_args; i++)
        nuc_copy_arg(c->g, moved, i, node, i);
    return moved;
}

bool nuc_cm_lower_view(struct nuc_cm *c, struct nuc_node *node)
{
    struct move m;

    /* The reference indexes in float. */
    if (!read_move(node, &m) || (node->op == NUC_OP_INDEX && c->options->reference_compat))
        return false;
    struct nuc_node *view = same_operator(c, node, &m);
    bool as_it_is = c->options->reference_compat || nuc_is_static(m.in.node);
    struct nuc_node *in = as_it_is ? m.in.node : nuc_cm_contiguous(c, m.in.node, view);
    /* The order of an indexed tensor goes by the name of its input's. */
    if (node->op == NUC_OP_INDEX && !nuc_is_contiguous(&in->vals[0])) {
        in = nuc_cm_copy(c, in, view);
        nuc_set_contiguous(&in->vals[0]);
    }
    nuc_set_arg_node(view, c->g, 0, in);
    nuc_infer_shape(c->g, view);
    finish(c, node, &m, folded(c, view));
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

static struct nuc_node *emit_permutation(struct nuc_cm *c, struct nuc_node *node, const struct move *m,
                                         const int64_t *perm)
{
    const struct nuc_meta *in = &m->in.node->vals[0];
    struct nuc_meta placed = node->vals[0];
    bool in_place = !c->options->reference_compat && !nuc_is_static(m->in.node) && stays_in_place(in, perm, &placed);
    bool small = in->rank >= 1 && in->rank <= 4 && !nuc_is_static(m->in.node);
    enum nuc_op op = in_place ? NUC_OP_NUCLEON_PERMUTE_VIEW : small ? NUC_OP_CORTEXM_TRANSPOSE : NUC_OP_PERMUTE;
    struct nuc_node *permuted = nuc_cm_insert(c, &m->out, op);
    bool as_it_is = in_place || c->options->reference_compat || nuc_is_static(m->in.node);

    nuc_set_arg_node(permuted, c->g, 0, as_it_is ? m->in.node : nuc_cm_contiguous(c, m->in.node, permuted));
    nuc_set_arg_ints(permuted, c->g, 1, perm, in->rank);
    nuc_infer_shape(c->g, permuted);
    if (in_place) {
        placed.dtype = NUC_I8;
        permuted->vals[0] = placed;
    }
    return folded(c, permuted);
}

bool nuc_cm_lower_permute(struct nuc_cm *c, struct nuc_node *node)
{
    struct move m;
    int64_t perm[NUC_MAX_RANK], rank = node->vals[0].rank;

    if (!read_move(node, &m))
        return false;
    for (int64_t i = 0; i < rank; i++)
        perm[i] = node->args[1].u.ints[i] < 0 ? node->args[1].u.ints[i] + rank : node->args[1].u.ints[i];
    finish(c, node, &m, emit_permutation(c, node, &m, perm));
    return true;
}

/* ---- parts and concatenations: along dimensions of [N, H, W, C] where that is the order ---- */

static int64_t nhwc_dim(int64_t dim, uint32_t rank)
{
    static const int64_t place[4] = {0, 3, 1, 2};

    return place[(dim < 0 ? dim + rank : dim) % 4];
}

bool nuc_cm_lower_slice(struct nuc_cm *c, struct nuc_node *node)
{
    struct move m;

    if (!read_move(node, &m))
        return false;
    struct nuc_node *slice = same_operator(c, node, &m);
    bool nhwc = !c->options->reference_compat && nuc_cm_is_nhwc(m.in.node);
    if (nhwc)
        nuc_set_arg_int(slice, 1, nhwc_dim(node->args[1].u.i, 4));
    nuc_set_arg_node(slice, c->g, 0, nhwc ? nuc_cm_as_nhwc(c, m.in.node, slice) : m.in.node);
    nuc_infer_shape(c->g, slice);
    finish(c, node, &m, nhwc ? nuc_cm_as_nchw(c, slice, slice->next) : folded(c, slice));
    return true;
}

static bool read_parts(struct nuc_node *cat, struct nuc_cm_value *parts)
{
    for (uint32_t i = 0; i < cat->args[0].count; i++) {
        struct nuc_node *part = cat->args[0].u.nodes[i];
        if (!nuc_cm_operand(part, &parts[i]) || parts[i].scales != NULL || parts[i].dtype != NUC_I8)
            return false;
    }
    return cat->args[0].count > 0;
}

bool nuc_cm_lower_cat(struct nuc_cm *c, struct nuc_node *node)
{
    uint32_t count = node->args[0].kind == NUC_ARG_NODES ? node->args[0].count : 0;
    struct nuc_cm_value *parts = nuc_alloc_array(c->g->cx, (size_t)count + 1, sizeof *parts);
    struct nuc_node **values = nuc_alloc_array(c->g->cx, (size_t)count + 1, sizeof(struct nuc_node *));
    struct nuc_cm_result out;
    int64_t dim = node->args[1].u.i;

    if (!read_parts(node, parts) || !nuc_cm_result(node, false, &out))
        return false;
    struct nuc_node *cat = nuc_cm_insert(c, &out, node->op);
    bool nhwc = !c->options->reference_compat && nuc_cm_is_nhwc(parts[0].node);
    for (uint32_t i = 0; i < count; i++) {
        struct nuc_node *value = nuc_cm_requantize(c, &parts[i], &out.params, cat);
        if (nhwc)
            value = nuc_cm_as_nhwc(c, nuc_cm_channels_last(c, value, cat), cat);
        else if (!c->options->reference_compat)
            value = nuc_cm_contiguous(c, value, cat);
        values[i] = value;
    }
    nuc_set_arg_nodes(cat, c->g, 0, values, count);
    nuc_set_arg_int(cat, 1, nhwc ? nhwc_dim(dim, 4) : dim);
    nuc_infer_shape(c->g, cat);
    nuc_cm_replace(c, &out, nhwc ? nuc_cm_as_nchw(c, cat, cat->next) : cat);
    return true;
}

/* A part of a tensor that is split: the getitem node stands for a slice. */
bool nuc_cm_lower_part(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_node *split = nuc_arg_node(node, 0);
    int64_t index = node->args[1].u.i, start = 0;
    struct nuc_cm_value in;
    struct nuc_cm_result out;

    if (split == NULL || split->op != NUC_OP_SPLIT_WITH_SIZES || c->options->reference_compat ||
        !nuc_cm_tensor(split, 0, &in) || !nuc_cm_result(node, false, &out))
        return false;
    struct nuc_node *slice = nuc_cm_insert(c, &out, NUC_OP_SLICE);
    bool nhwc = nuc_cm_is_nhwc(in.node);
    for (int64_t i = 0; i < index; i++)
        start += split->args[1].u.ints[i];
    nuc_set_arg_node(slice, c->g, 0, nhwc ? nuc_cm_as_nhwc(c, in.node, slice) : in.node);
    nuc_set_arg_int(slice, 1, nhwc ? nhwc_dim(split->args[2].u.i, 4) : split->args[2].u.i);
    nuc_set_arg_int(slice, 2, start);
    nuc_set_arg_int(slice, 3, start + split->args[1].u.ints[index]);
    nuc_infer_shape(c->g, slice);
    struct nuc_cm_value made = in;
    made.node = nhwc ? nuc_cm_as_nchw(c, slice, slice->next) : slice;
    nuc_cm_replace(c, &out, nuc_cm_requantize(c, &made, &out.params, made.node->next));
    return true;
}

/* ---- padding ---- */

/* Pairs from the last dimension on become lists in physical order, aligned right. */
static bool read_pads(const struct nuc_node *node, const struct nuc_meta *in, int64_t pre[4], int64_t post[4])
{
    const struct nuc_arg *pads = &node->args[1];
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
    const struct nuc_arg *arg = &node->args[node->op == NUC_OP_PAD ? 3 : 2];

    return arg->kind == NUC_ARG_FLOAT ? arg->u.f : arg->kind == NUC_ARG_INT ? (double)arg->u.i : 0;
}

/* The kernel takes any tensor of rank 4 with one channel, or one pixel, for channels-last. */
static struct nuc_meta as_kernel_sees_it(const struct nuc_node *value)
{
    struct nuc_meta m = value->vals[0];

    if (m.rank == 4 && (m.sizes[1] == 1 || (m.sizes[2] == 1 && m.sizes[3] == 1)))
        nuc_set_channels_last(&m);
    return m;
}

/* A float result may be padded with a value that int8 has not. */
static bool has_pad_value(const struct nuc_cm *c, const struct move *m, double value)
{
    double exact = (double)(nuc_cm_quantize(&m->in, value) - m->in.zero_point) * m->in.scale;

    return m->quantized || c->options->reference_compat || fabs(exact - value) <= 1e-6 * m->in.scale;
}

bool nuc_cm_lower_pad(struct nuc_cm *c, struct nuc_node *node)
{
    struct move m;
    int64_t pre[4], post[4];

    if (!read_move(node, &m))
        return false;
    struct nuc_meta seen = as_kernel_sees_it(m.in.node);
    if (!read_pads(node, &seen, pre, post) || !has_pad_value(c, &m, pad_value(node)))
        return false;
    if (node->op == NUC_OP_PAD && strcmp(node->args[2].u.string, "constant") != 0)
        return false;
    struct nuc_node *pad = nuc_cm_insert(c, &m.out, NUC_OP_CORTEXM_PAD);
    nuc_set_arg_node(pad, c->g, 0, m.in.node);
    nuc_set_arg_ints(pad, c->g, 1, pre, 4);
    nuc_set_arg_ints(pad, c->g, 2, post, 4);
    nuc_set_arg_int(pad, 3, nuc_cm_quantize(&m.in, pad_value(node)));
    nuc_infer_shape(c->g, pad);
    finish(c, node, &m, pad);
    return true;
}

/* ---- copies ---- */

bool nuc_cm_lower_clone(struct nuc_cm *c, struct nuc_node *node)
{
    struct move m;

    if (!read_move(node, &m) || node->vals[0].dtype != nuc_operand(c->g, node, 0)->vals[0].dtype)
        return false;
    if (c->options->reference_compat && node->op == NUC_OP_TO_DIM_ORDER_COPY)
        return false;
    if (c->options->reference_compat) {
        struct nuc_node *clone = same_operator(c, node, &m);
        nuc_set_arg_node(clone, c->g, 0, m.in.node);
        nuc_infer_shape(c->g, clone);
        finish(c, node, &m, clone);
        return true;
    }
    struct nuc_meta wanted = node->vals[0];
    finish(c, node, &m, nuc_cm_in_order(c, m.in.node, &wanted, m.out.value->next));
    return true;
}
