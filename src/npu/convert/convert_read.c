/*
 * Operands in rows: how a tensor is read that lies in another one with gaps between its rows, and which kernels do.
 * Elementwise operators, reductions and moves have strides, matrix products rows, windows pixels with a pitch.
 */
#include <string.h>

#include "npu/convert/conversion.h"

bool nuc_cv_strides(const struct nuc_lt_tensor *t, const struct nuc_cv_layout *layout, int64_t *stride)
{
    int64_t step = (int64_t)nuc_dtype_size(t->dtype), row = layout->row;

    for (uint32_t d = t->rank; d-- > 0;) {
        int64_t next = step * t->shape[d];
        stride[d] = step;
        if (row > 0 && t->shape[d] > 1) {
            if (step % row == 0)
                stride[d] = step / row * layout->pitch;
            else if (row % next != 0)
                return false;
        }
        step = next;
    }
    return true;
}

/*
 * Makes two dimensions of the one of `t` in which rows of the layout end, which so has strides where it has none as it
 * is. Returns that dimension, or -1 where there is no need.
 */
static int32_t split_at_rows(struct nuc_lt_tensor *t, const struct nuc_cv_layout *layout)
{
    int64_t step = (int64_t)nuc_dtype_size(t->dtype), row = layout->row;

    for (uint32_t d = t->rank; d-- > 0 && t->rank < NUC_MAX_RANK; step *= t->shape[d]) {
        int32_t inner = row > step && row < step * t->shape[d] && row % step == 0 ? (int32_t)(row / step) : 1;
        if (inner == 1 || t->shape[d] % inner != 0)
            continue;
        memmove(t->shape + d + 1, t->shape + d, (t->rank - d) * sizeof *t->shape);
        t->shape[d] /= inner;
        t->shape[d + 1] = inner;
        t->rank++;
        return (int32_t)d;
    }
    return -1;
}

/* The dimensions of `lies`, split and joined into those of a tensor with the same values in the same order. */
static bool seen_as(const struct nuc_lt_tensor *t, const struct nuc_cv_turned *lies, struct nuc_cv_turned *out)
{
    int64_t size = 1, step = 0;
    uint32_t at = NUC_MAX_RANK;

    for (uint32_t d = t->rank, k = lies->rank; d-- > 0;) {
        for (int64_t left = t->shape[d]; left > 1;) {
            if (size == 1 && k == 0)
                return false;
            if (size == 1) {
                size = lies->size[--k];
                step = lies->stride[k];
                continue;
            }
            int64_t taken = left < size ? left : size;
            if (at == 0 || left % taken != 0 || size % taken != 0)
                return false;
            out->size[--at] = taken;
            out->stride[at] = step;
            out->of[at] = d;
            step *= taken;
            left /= taken;
            size /= taken;
        }
    }
    out->rank = NUC_MAX_RANK - at;
    memmove(out->size, out->size + at, out->rank * sizeof *out->size);
    memmove(out->stride, out->stride + at, out->rank * sizeof *out->stride);
    memmove(out->of, out->of + at, out->rank * sizeof *out->of);
    return true;
}

/* Where the operand of a TRANSPOSE lies, by its own dimensions. */
static bool operand_lies(const struct nuc_cv *cv, int32_t tensor, struct nuc_cv_turned *out)
{
    struct nuc_lt_tensor rows = cv->graph->tensors[tensor];
    struct nuc_cv_turned turn;
    struct nuc_cv_place place;
    bool turned;
    int32_t alias = nuc_cv_turned_alias(cv, tensor, &turned), split = -1;

    if (!nuc_cv_find_place(cv, tensor, &place))
        return false;
    if (turned)
        return alias >= 0 && nuc_cv_turn(cv, &cv->nodes[cv->tensors[alias].producer], &turn) &&
               seen_as(&rows, &turn, out);
    split = split_at_rows(&rows, &place.layout);
    out->rank = rows.rank;
    for (uint32_t i = 0; i < rows.rank; i++) {
        out->size[i] = rows.shape[i];
        out->of[i] = i - (split >= 0 && (int32_t)i > split);
    }
    return nuc_cv_strides(&rows, &place.layout, out->stride);
}

/* from[i]: the operand's dimension that is `i` of a TRANSPOSE's result. False: the permutation does not lead there. */
static bool permutation(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t from[NUC_MAX_RANK])
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    int64_t perm[NUC_MAX_RANK];
    uint32_t seen = 0;

    if (y->rank != x->rank || nuc_cv_integers(cv, n, 1, NUC_MAX_RANK, perm) != x->rank)
        return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        int32_t axis = nuc_lt_axis(perm[i], x->rank);
        if (axis < 0 || (seen >> axis & 1u) || y->shape[i] != x->shape[axis])
            return false;
        seen |= 1u << axis;
        from[i] = (uint32_t)axis;
    }
    return true;
}

bool nuc_cv_turn(const struct nuc_cv *cv, const struct nuc_cv_node *n, struct nuc_cv_turned *out)
{
    uint32_t from[NUC_MAX_RANK];
    struct nuc_cv_turned lies;

    out->rank = 0;
    if (!permutation(cv, n, from) || !operand_lies(cv, n->input, &lies))
        return false;
    for (uint32_t i = 0; i < nuc_cv_x(cv, n)->rank; i++) {
        for (uint32_t k = 0; k < lies.rank; k++) {
            if (lies.of[k] != from[i])
                continue;
            out->size[out->rank] = lies.size[k];
            out->stride[out->rank] = lies.stride[k];
            out->of[out->rank++] = i;
        }
    }
    return true;
}

int32_t nuc_cv_turned_alias(const struct nuc_cv *cv, int32_t tensor, bool *turned)
{
    int64_t bytes = nuc_cv_bytes(cv, tensor);
    int32_t t = tensor;

    while (!cv->tensors[t].turned && cv->tensors[t].alias != t)
        t = cv->tensors[t].alias;
    *turned = cv->tensors[t].turned;
    return nuc_cv_bytes(cv, t) == bytes ? t : -1;
}

/* Distances of matrices of a tensor's shape whose dimensions lie as `lies` says. False: there are none. */
static bool order_matrices(const struct nuc_lt_tensor *t, const struct nuc_cv_turned *lies, struct nuc_cv_matrices *out)
{
    struct nuc_lt_tensor wanted = {.rank = 3, .shape = {1, 1, 1}};
    int64_t next[3] = {0}, matrices = 1;
    struct nuc_cv_turned parts;

    *out = (struct nuc_cv_matrices){.inner = 0};
    for (uint32_t i = 0; i < t->rank; i++)
        wanted.shape[i + 3 < t->rank ? 0 : i + 3 - t->rank] *= t->shape[i];
    if (!seen_as(&wanted, lies, &parts))
        return false;
    for (uint32_t k = parts.rank; k-- > 0;) {
        uint32_t d = parts.of[k];
        if (next[d] != 0 && parts.stride[k] != next[d]) {
            if (d > 0 || out->inner > 0)
                return false;
            out->inner = matrices;
            out->inner_stride = out->stride[0];
            out->stride[0] = 0;
        }
        out->stride[d] = out->stride[d] != 0 ? out->stride[d] : parts.stride[k];
        next[d] = parts.stride[k] * parts.size[k];
        matrices *= d == 0 ? parts.size[k] : 1;
    }
    return true;
}

/* Of an operand; one that lies by itself keeps its own strides. */
static bool operand_matrices(const struct nuc_cv *cv, int32_t tensor, struct nuc_cv_matrices *out)
{
    const struct nuc_lt_tensor *t = &cv->graph->tensors[tensor];
    struct nuc_cv_turned lies = {.rank = t->rank};
    struct nuc_cv_place place;
    bool turned;
    int32_t alias = nuc_cv_turned_alias(cv, tensor, &turned);

    if (t->rank < 2 || !nuc_cv_find_place(cv, tensor, &place) || (turned && alias < 0))
        return false;
    if (!turned && place.layout.row == 0) {
        int64_t row = t->shape[t->rank - 1];
        *out = (struct nuc_cv_matrices){.stride = {t->shape[t->rank - 2] * row, row, 1}};
        return true;
    }
    if (turned ? !nuc_cv_turn(cv, &cv->nodes[cv->tensors[alias].producer], &lies)
               : !nuc_cv_strides(t, &place.layout, lies.stride))
        return false;
    for (uint32_t i = 0; i < t->rank && !turned; i++)
        lies.size[i] = t->shape[i];
    return order_matrices(t, &lies, out);
}

/* Of a result, in rows of values next to each other. */
static bool result_matrices(const struct nuc_cv *cv, const struct nuc_cv_node *n, struct nuc_cv_matrices *out)
{
    const struct nuc_lt_tensor *y = nuc_cv_y(cv, n);
    int64_t columns = y->shape[y->rank - 1], rows = y->shape[y->rank - 2];
    int64_t stride[NUC_MAX_RANK];
    uint32_t from[NUC_MAX_RANK];
    struct nuc_cv_place place;

    if (!nuc_cv_find_place(cv, n->output, &place))
        return false;
    if (n->turn == 0) {
        int64_t pitch = place.layout.pitch > 0 ? place.layout.pitch : columns;
        *out = (struct nuc_cv_matrices){.stride = {rows * pitch, pitch, 1}};
        return true;
    }
    const struct nuc_cv_node *turn = &cv->nodes[n->turn - 1];
    const struct nuc_lt_tensor *z = nuc_cv_y(cv, turn);
    struct nuc_cv_turned lies = {.rank = z->rank};
    if (!permutation(cv, turn, from) || !nuc_cv_strides(z, &place.layout, stride))
        return false;
    for (uint32_t i = 0; i < z->rank; i++) {
        lies.size[from[i]] = z->shape[i];
        lies.stride[from[i]] = stride[i];
    }
    return order_matrices(y, &lies, out) && (columns == 1 || out->stride[2] == 1);
}

bool nuc_cv_product_matrices(const struct nuc_cv *cv, const struct nuc_cv_node *n, struct nuc_cv_matrices of[3])
{
    const struct nuc_lt_tensor *y = nuc_cv_y(cv, n);
    int64_t inner = 0, matrices = 1;

    if (y->rank < 2 || !operand_matrices(cv, n->input, &of[0]) || !operand_matrices(cv, n->op->inputs[1], &of[1]) ||
        !result_matrices(cv, n, &of[2]))
        return false;
    for (uint32_t i = 0; i + 2 < y->rank; i++)
        matrices *= y->shape[i];
    for (int i = 0; i < 3; i++) {
        if (of[i].inner > 0 && inner > 0 && of[i].inner != inner)
            return false;
        inner = of[i].inner > 0 ? of[i].inner : inner;
    }
    /* Rows of a result follow each other with one distance, also across matrices. */
    if (inner == 0 && n->turn != 0)
        inner = matrices;
    for (int i = 0; i < 3 && inner > 0; i++) {
        if (of[i].inner == 0) {
            of[i].inner_stride = of[i].stride[0];
            of[i].stride[0] *= inner;
        }
        of[i].inner = inner;
    }
    return true;
}

int32_t nuc_cv_in_pitch(const struct nuc_cv *cv, int32_t tensor)
{
    struct nuc_cv_place place = nuc_cv_place(cv, tensor);

    return place.layout.row > 0 ? (int32_t)place.layout.pitch : 0;
}

/* The last dimension is a row. */
static bool is_row(const struct nuc_lt_tensor *t, int64_t row)
{
    return t->rank > 0 && t->shape[t->rank - 1] == row;
}

/* Whether the node's kernel reads a tensor that lies in rows. */
static bool reads_rows(const struct nuc_cv *cv, const struct nuc_cv_node *n, int32_t tensor,
                       const struct nuc_cv_layout *layout)
{
    const struct nuc_lt_tensor *t = &cv->graph->tensors[tensor];
    struct nuc_cv_turned turned;
    struct nuc_cv_matrices matrices[3];
    int64_t stride[NUC_MAX_RANK];
    struct nuc_cv_place y;

    if (t->dtype != NUC_I8)
        return false;
    /* Rows of a table are those of its result. */
    if (n->table)
        return nuc_cv_find_place(cv, n->output, &y) && (y.layout.row == 0 || y.layout.row == layout->row);
    switch (n->op->code) {
    case NUC_LT_CONV_2D:
    case NUC_LT_DEPTHWISE_CONV_2D:
    case NUC_LT_AVERAGE_POOL_2D:
    case NUC_LT_MAX_POOL_2D:
        return tensor == n->input && t->rank == 4 && is_row(t, layout->row);
    case NUC_LT_TRANSPOSE_CONV:
        return tensor == n->op->inputs[2] && t->rank == 4 && is_row(t, layout->row);
    case NUC_LT_FULLY_CONNECTED:
        return tensor == n->input && nuc_cv_in(cv, n, 1)->shape[1] == layout->row;
    case NUC_LT_TRANSPOSE:
        return nuc_cv_turn(cv, n, &turned);
    case NUC_LT_BATCH_MATMUL:
        return !cv->revision_3 && nuc_cv_product_matrices(cv, n, matrices);
    case NUC_LT_SLICE:
    case NUC_LT_CONCATENATION:
    case NUC_LT_PAD:
    case NUC_LT_PADV2:
    case NUC_LT_MEAN:
    case NUC_LT_SUM:
    case NUC_LT_REDUCE_MAX:
    case NUC_LT_REDUCE_MIN:
        return nuc_cv_strides(t, layout, stride);
    default:
        return nuc_cv_is_binary(n->op->code) && nuc_cv_strides(t, layout, stride);
    }
}

/* Whether the node can read that operand where it lies. */
static bool can_read(const struct nuc_cv *cv, const struct nuc_cv_node *n, int32_t tensor)
{
    struct nuc_cv_place place;
    bool turned;

    (void)nuc_cv_turned_alias(cv, tensor, &turned);
    if (turned)
        return !n->table && (n->op->code == NUC_LT_BATCH_MATMUL || n->op->code == NUC_LT_TRANSPOSE) &&
               reads_rows(cv, n, tensor, NULL);
    return nuc_cv_find_place(cv, tensor, &place) && (place.layout.row == 0 || reads_rows(cv, n, tensor, &place.layout));
}

bool nuc_cv_can_use(const struct nuc_cv *cv, const struct nuc_cv_node *n, int32_t tensor)
{
    if (n->op->code == NUC_LT_CONCATENATION && tensor != n->output)
        return can_read(cv, n, tensor);
    for (uint32_t k = 0; k < nuc_cv_n_operands(n); k++) {
        if (nuc_cv_operand(n, k) >= 0 && !can_read(cv, n, nuc_cv_operand(n, k)))
            return false;
    }
    return true;
}
