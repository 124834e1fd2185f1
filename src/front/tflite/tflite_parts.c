/* Blocks of pixels, and lists of parts: SPACE_TO_DEPTH and its kin, SPLIT, PACK, TILE. */
#include "tflite_import.h"

/* A constant axis of a tensor of that rank. */
static uint32_t axis_of(const struct nuc_ti *ti, int64_t axis, uint32_t rank)
{
    int32_t from_front = nuc_lt_axis(axis, rank);

    if (from_front < 0)
        nuc_ti_fail(ti, "axis %lld does not exist", (long long)axis);
    return (uint32_t)from_front;
}

/* ---- blocks ---- */

static int64_t block_of(const struct nuc_ti *ti)
{
    int64_t size = ti->op->options.block.size;

    if (size < 1 || size > INT16_MAX || nuc_ti_in(ti, 0)->rank != 4 || nuc_ti_out(ti)->rank != 4)
        nuc_ti_fail(ti, "needs images and blocks of at least one pixel, not of %lld", (long long)size);
    return size;
}

/* Divisible, as a size of the result is. */
static int64_t part_of(const struct nuc_ti *ti, int64_t size, int64_t block)
{
    if (size % block != 0)
        nuc_ti_fail(ti, "%lld are not a multiple of %lld", (long long)size, (long long)block);
    return size / block;
}

/* [N, H, W, C] as its parts, permuted, as the result. */
static void define_regrouped(struct nuc_ti *ti, struct nuc_node *x, const int64_t *parts, const int64_t *order,
                             uint32_t rank)
{
    const struct nuc_lt_tensor *from = nuc_ti_in(ti, 0), *y = nuc_ti_out(ti);
    int64_t elements = 1;

    for (uint32_t d = 0; d < rank; d++)
        elements *= parts[d];
    if (elements != nuc_lt_elements(y))
        nuc_ti_fail(ti, "the result '%s' has another number of elements than its operand", y->name);
    x = nuc_ti_settle(ti, nuc_ti_view(ti, x, parts, rank), from);
    x = nuc_ti_settle(ti, nuc_ti_permute(ti, x, order, rank), from);
    nuc_ti_define(ti, nuc_ti_view_as(ti, x, y, NUC_TI_PLAIN), NUC_TI_PLAIN);
}

/* A block of pixels becomes the channels of one, row by row. */
void nuc_ti_space_to_depth(struct nuc_ti *ti)
{
    static const int64_t order[6] = {0, 1, 3, 2, 4, 5};
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    int64_t b = block_of(ti);
    const int64_t parts[6] = {x->shape[0], part_of(ti, x->shape[1], b), b, part_of(ti, x->shape[2], b), b, x->shape[3]};

    define_regrouped(ti, nuc_ti_real(ti, 0, NUC_TI_PLAIN), parts, order, 6);
}

void nuc_ti_depth_to_space(struct nuc_ti *ti)
{
    static const int64_t order[6] = {0, 1, 3, 2, 4, 5};
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    int64_t b = block_of(ti);
    const int64_t parts[6] = {x->shape[0], x->shape[1], x->shape[2], b, b, part_of(ti, x->shape[3], b * b)};

    define_regrouped(ti, nuc_ti_real(ti, 0, NUC_TI_PLAIN), parts, order, 6);
}

/* Block sizes and pairs of pads or cuts of the dimensions between the batches and the last one. */
struct blocks {
    uint32_t n;
    int64_t size[2], pair[4];
};

static struct blocks blocks_of(const struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    struct blocks b = {0, {1, 1}, {0}};

    b.n = nuc_ti_integers(ti, 1, 2, b.size);
    if (b.n == 0 || x->rank != b.n + 2 || nuc_ti_integers(ti, 2, 4, b.pair) != 2 * b.n)
        nuc_ti_fail(ti, "needs blocks of one or two dimensions of '%s' and a pair of numbers for each", x->name);
    for (uint32_t i = 0; i < b.n; i++) {
        if (b.size[i] < 1 || b.size[i] > INT16_MAX || b.pair[2 * i] < 0 || b.pair[2 * i + 1] < 0 ||
            b.pair[2 * i] > INT16_MAX || b.pair[2 * i + 1] > INT16_MAX)
            nuc_ti_fail(ti, "has a block or a pad that is out of range");
    }
    return b;
}

/* [N, H, W, C] padded, in blocks: each position inside a block becomes a batch of its own. */
void nuc_ti_space_to_batch(struct nuc_ti *ti)
{
    static const int64_t order[6] = {2, 4, 0, 1, 3, 5}, order_1d[4] = {2, 0, 1, 3};
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    const struct blocks b = blocks_of(ti);
    const int64_t *pair = b.pair;
    const int64_t pads[6] = {0, 0, b.n == 2 ? pair[2] : pair[0], b.n == 2 ? pair[3] : pair[1], pair[0], pair[1]};

    nuc_ti_need_float(ti);
    struct nuc_node *real = nuc_ti_padded(ti, nuc_ti_real(ti, 0, NUC_TI_PLAIN), pads, 2 + 2 * b.n, "constant", 0);
    const int64_t *s = real->vals[0].sizes;
    if (b.n == 1) {
        const int64_t parts[4] = {s[0], part_of(ti, s[1], b.size[0]), b.size[0], x->shape[2]};
        define_regrouped(ti, real, parts, order_1d, 4);
        return;
    }
    const int64_t parts[6] = {
        s[0], part_of(ti, s[1], b.size[0]), b.size[0], part_of(ti, s[2], b.size[1]), b.size[1], x->shape[3]};
    define_regrouped(ti, real, parts, order, 6);
}

/* The reverse: batches become positions inside blocks, and the pads are cut off. */
void nuc_ti_batch_to_space(struct nuc_ti *ti)
{
    static const int64_t order[6] = {2, 3, 0, 4, 1, 5}, order_1d[4] = {1, 2, 0, 3};
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    const struct blocks b = blocks_of(ti);
    bool plane = b.n == 2;
    int64_t batches = part_of(ti, x->shape[0], b.size[0] * b.size[1]);
    const int64_t line[4] = {b.size[0], batches, x->shape[1], x->shape[2]};
    const int64_t square[6] = {b.size[0], b.size[1], batches, x->shape[1], x->shape[2], plane ? x->shape[3] : 1};
    int64_t sizes[4] = {batches, x->shape[1] * b.size[0], plane ? x->shape[2] * b.size[1] : x->shape[2],
                        plane ? x->shape[3] : 1};

    nuc_ti_need_float(ti);
    struct nuc_node *real = nuc_ti_real(ti, 0, NUC_TI_PLAIN);
    real = nuc_ti_view(ti, real, plane ? square : line, plane ? 6 : 4);
    real = nuc_ti_permute(ti, real, plane ? order : order_1d, plane ? 6 : 4);
    real = nuc_ti_view(ti, real, sizes, 2 + b.n);
    for (uint32_t i = 0; i < b.n; i++) {
        int64_t begin = b.pair[2 * i], end = sizes[1 + i] - b.pair[2 * i + 1];
        if (begin >= end)
            nuc_ti_fail(ti, "cuts off all of an axis");
        if (begin > 0 || end < sizes[1 + i])
            real = nuc_ti_emit(ti, NUC_OP_SLICE, NUC_ARGS(real, 1 + i, begin, end));
    }
    nuc_ti_define(ti, real, NUC_TI_PLAIN);
}

/* ---- lists of parts ---- */

static struct nuc_node *part(struct nuc_ti *ti, struct nuc_node *x, int64_t dim, int64_t begin, int64_t end)
{
    if (begin < 0 || end > x->vals[0].sizes[dim] || begin >= end)
        nuc_ti_fail(ti, "takes elements %lld to %lld of %lld", (long long)begin, (long long)end,
                    (long long)x->vals[0].sizes[dim]);
    return nuc_ti_emit(ti, NUC_OP_SLICE, NUC_ARGS(x, dim, begin, end));
}

static const struct nuc_lt_tensor *result(const struct nuc_ti *ti, uint32_t k)
{
    return &ti->s->tensors[ti->op->outputs[k]];
}

/* SPLIT has the axis first, SPLIT_V last. The results say how long the parts are. */
void nuc_ti_split(struct nuc_ti *ti)
{
    uint32_t data = ti->op->code == NUC_LT_SPLIT ? 1 : 0;
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, data);
    int64_t wanted;

    if (nuc_ti_integers(ti, data == 1 ? 0 : 2, 1, &wanted) != 1)
        nuc_ti_fail(ti, "operand %u must be one axis", data == 1 ? 0u : 2u);
    uint32_t axis = axis_of(ti, wanted, x->rank);
    enum nuc_ti_form form = nuc_ti_form_of(ti, data);
    struct nuc_node *real = nuc_ti_real(ti, data, form);
    int64_t begin = 0, dim = nuc_ti_dim(form, axis);
    for (uint32_t k = 0; k < ti->op->n_outputs; k++) {
        if (result(ti, k)->rank != x->rank)
            nuc_ti_fail(ti, "the result '%s' has %u dimensions", result(ti, k)->name, result(ti, k)->rank);
        int64_t end = begin + result(ti, k)->shape[axis];
        nuc_ti_define_result(ti, k, part(ti, real, dim, begin, end), form);
        begin = end;
    }
    if (begin != x->shape[axis])
        nuc_ti_fail(ti, "the results have %lld of %d elements of axis %u", (long long)begin, x->shape[axis], axis);
}

/* Operands side by side along an axis of their own. */
void nuc_ti_pack(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *y = nuc_ti_out(ti);
    uint32_t count = ti->op->n_inputs, axis = axis_of(ti, ti->op->options.pack.axis, y->rank);
    struct nuc_node **parts = nuc_alloc_array(ti->cx, count, sizeof(struct nuc_node *));
    struct nuc_meta one = nuc_ti_meta(y, NUC_TI_PLAIN);

    one.sizes[axis] = 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct nuc_lt_tensor *x = nuc_ti_in(ti, i);
        if (nuc_lt_elements(x) != nuc_lt_elements(y) / count || x->rank + 1 != y->rank)
            nuc_ti_fail(ti, "operand '%s' is not a part of '%s'", x->name, y->name);
        parts[i] = nuc_ti_settle(ti, nuc_ti_view(ti, nuc_ti_real(ti, i, NUC_TI_PLAIN), one.sizes, y->rank), x);
    }
    struct nuc_node *cat = nuc_ti_emit(ti, NUC_OP_CAT, NUC_ARGS(nuc_nodes_arg(parts, count), axis));
    nuc_ti_define(ti, cat, NUC_TI_PLAIN);
}

/* The elements of an axis as tensors without it. */
void nuc_ti_unpack(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    uint32_t axis = axis_of(ti, ti->op->options.pack.axis, x->rank);
    struct nuc_node *real = nuc_ti_real(ti, 0, NUC_TI_PLAIN);

    for (uint32_t k = 0; k < ti->op->n_outputs; k++) {
        const struct nuc_lt_tensor *y = result(ti, k);
        struct nuc_node *one = nuc_ti_settle(ti, part(ti, real, axis, k, k + 1), x);
        if (nuc_lt_elements(y) != nuc_elements(&one->vals[0]))
            nuc_ti_fail(ti, "the result '%s' has another number of elements than a part", y->name);
        nuc_ti_define_result(ti, k, nuc_ti_view_as(ti, one, y, NUC_TI_PLAIN), NUC_TI_PLAIN);
    }
}

/* ---- repetition ---- */

void nuc_ti_tile(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *y = nuc_ti_out(ti);
    int64_t times[NUC_MAX_RANK];

    if (x->rank != y->rank)
        nuc_ti_fail(ti, "'%s' and '%s' differ in their number of dimensions", x->name, y->name);
    for (uint32_t d = 0; d < x->rank; d++) {
        if (x->shape[d] < 1 || y->shape[d] % x->shape[d] != 0)
            nuc_ti_fail(ti, "size %d of axis %u is not a multiple of %d", y->shape[d], d, x->shape[d]);
        times[d] = y->shape[d] / x->shape[d];
    }
    struct nuc_node *real = nuc_ti_real(ti, 0, NUC_TI_PLAIN);
    nuc_ti_define(ti, nuc_ti_emit(ti, NUC_OP_REPEAT, NUC_ARGS(real, nuc_ints_arg(times, x->rank))), NUC_TI_PLAIN);
}

/* BROADCAST_TO of operand 0, FILL of operand 1. */
void nuc_ti_expand(struct nuc_ti *ti)
{
    const struct nuc_meta meta = nuc_ti_meta(nuc_ti_out(ti), NUC_TI_PLAIN);
    const struct nuc_arg sizes = nuc_ints_arg(meta.sizes, meta.rank);
    struct nuc_node *real = nuc_ti_real(ti, ti->op->code == NUC_LT_FILL ? 1 : 0, NUC_TI_PLAIN);

    nuc_ti_define(ti, nuc_ti_emit(ti, NUC_OP_EXPAND, NUC_ARGS(real, sizes)), NUC_TI_PLAIN);
}

void nuc_ti_reverse(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    int64_t dims[NUC_MAX_RANK];
    uint32_t count = nuc_ti_integers(ti, 1, NUC_MAX_RANK, dims);

    for (uint32_t i = 0; i < count; i++)
        dims[i] = nuc_ti_dim(form, axis_of(ti, dims[i], x->rank));
    struct nuc_node *real = nuc_ti_real(ti, 0, form);
    nuc_ti_define(ti, nuc_ti_emit(ti, NUC_OP_FLIP, NUC_ARGS(real, nuc_ints_arg(dims, count))), form);
}
