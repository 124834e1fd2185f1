/* Choice by positions and values: GATHER and its kin, ARG_MAX, TOPK_V2, SELECT; and CAST. */
#include "tflite_import.h"

/* Product of the sizes of axes [from, to). */
static int64_t extent(const struct nuc_lt_tensor *t, uint32_t from, uint32_t to)
{
    int64_t product = 1;

    for (uint32_t d = from; d < to; d++)
        product *= t->shape[d];
    return product;
}

/* Operand i as int64 of those sizes: what torch's operators take for positions. */
static struct nuc_node *positions(struct nuc_ti *ti, uint32_t i, const int64_t *sizes, uint32_t rank)
{
    const struct nuc_lt_tensor *t = nuc_ti_in(ti, i);

    if (!nuc_ti_is_index(t))
        nuc_ti_fail(ti, "positions '%s' are %s: int32 and int64 are handled", t->name, nuc_dtype_name(t->dtype));
    struct nuc_node *x = nuc_ti_to_type(ti, nuc_ti_real(ti, i, NUC_TI_PLAIN), NUC_I64);
    struct nuc_meta wanted = nuc_meta_make(NUC_I64, sizes, rank);
    return nuc_same_sizes(&wanted, &x->vals[0]) ? x : nuc_ti_view(ti, x, sizes, rank);
}

static struct nuc_node *positions_as_they_are(struct nuc_ti *ti, uint32_t i)
{
    const struct nuc_meta meta = nuc_ti_meta(nuc_ti_in(ti, i), NUC_TI_PLAIN);

    return positions(ti, i, meta.sizes, meta.rank);
}

/* Rows of a constant table. */
static void define_rows(struct nuc_ti *ti, uint32_t table, uint32_t rows)
{
    struct nuc_node *weights = nuc_ti_real(ti, table, NUC_TI_PLAIN), *at = positions_as_they_are(ti, rows);

    nuc_ti_define_viewed(ti, nuc_ti_emit(ti, NUC_OP_EMBEDDING, NUC_ARGS(weights, at)));
}

/*
 * With batches: the values as [batches, along the axis, inside], each batch with positions of its own, which are the
 * same for all that lies inside.
 */
static struct nuc_node *gather_in_batches(struct nuc_ti *ti, uint32_t axis, uint32_t batch_dims)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *at = nuc_ti_in(ti, 1);
    int64_t batches = extent(x, 0, batch_dims), inside = extent(x, axis + 1, x->rank);

    if (axis != batch_dims || at->rank < batch_dims || extent(at, 0, batch_dims) != batches)
        nuc_ti_fail(ti, "takes axis %u in batches of %u dimensions: the axis must come right after them", axis,
                    batch_dims);
    const int64_t each = extent(at, batch_dims, at->rank);
    const int64_t values[3] = {batches, x->shape[axis], inside}, chosen[3] = {batches, each, inside};
    const int64_t column[3] = {batches, each, 1};
    struct nuc_node *real = nuc_ti_view(ti, nuc_ti_real(ti, 0, NUC_TI_PLAIN), values, 3);
    struct nuc_node *index =
        nuc_ti_emit(ti, NUC_OP_EXPAND, NUC_ARGS(positions(ti, 1, column, 3), nuc_ints_arg(chosen, 3)));
    return nuc_ti_emit(ti, NUC_OP_GATHER, NUC_ARGS(real, 1, index));
}

void nuc_ti_gather(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *at = nuc_ti_in(ti, 1);
    int64_t batch_dims = ti->op->options.gather.batch_dims;
    int32_t axis = nuc_lt_axis(ti->op->options.gather.axis, x->rank);
    const int64_t count = nuc_lt_elements(at);

    batch_dims += batch_dims < 0 ? at->rank : 0;
    if (axis < 0 || batch_dims < 0 || batch_dims > axis)
        nuc_ti_fail(ti, "has axis %d and %lld dimensions of batches, '%s' has %u dimensions",
                    ti->op->options.gather.axis, (long long)batch_dims, x->name, x->rank);
    if (batch_dims != 0) {
        nuc_ti_define_viewed(ti, gather_in_batches(ti, (uint32_t)axis, (uint32_t)batch_dims));
        return;
    }
    if (x->rank == 2 && axis == 0 && x->data.data != NULL) {
        define_rows(ti, 0, 1);
        return;
    }
    struct nuc_node *real = nuc_ti_real(ti, 0, NUC_TI_PLAIN), *index = positions(ti, 1, &count, 1);
    nuc_ti_define_viewed(ti, nuc_ti_emit(ti, NUC_OP_INDEX_SELECT, NUC_ARGS(real, axis, index)));
}

/* Operands: rows, table. */
void nuc_ti_embedding(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *table = nuc_ti_in(ti, 1);
    const int64_t flat[2] = {table->rank > 0 ? table->shape[0] : 0, extent(table, 1, table->rank)};

    if (table->rank < 1 || nuc_ti_in(ti, 0)->rank != 1)
        nuc_ti_fail(ti, "needs a list of rows and a table");
    if (table->rank == 2) {
        define_rows(ti, 1, 0);
        return;
    }
    struct nuc_node *weights = nuc_ti_view(ti, nuc_ti_real(ti, 1, NUC_TI_PLAIN), flat, 2);
    struct nuc_node *at = positions_as_they_are(ti, 0);
    nuc_ti_define_viewed(ti, nuc_ti_emit(ti, NUC_OP_EMBEDDING, NUC_ARGS(weights, at)));
}

/* The last axis of the positions holds one for each of the first axes of the values. */
void nuc_ti_gather_nd(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *at = nuc_ti_in(ti, 1);
    uint32_t axes = at->rank > 0 ? (uint32_t)nuc_ti_size_from_end(at, 0) : 0;
    const int64_t rows = axes > 0 ? nuc_lt_elements(at) / axes : 0, table[2] = {rows, axes};

    if (axes == 0 || axes > x->rank)
        nuc_ti_fail(ti, "positions '%s' have %u numbers each for %u dimensions", at->name, axes, x->rank);
    struct nuc_node **list = nuc_alloc_array(ti->cx, axes, sizeof(struct nuc_node *));
    struct nuc_node *all = positions(ti, 1, table, 2);
    for (uint32_t k = 0; k < axes; k++) {
        struct nuc_node *column = nuc_ti_emit(ti, NUC_OP_SLICE, NUC_ARGS(all, 1, k, (int64_t)k + 1));
        list[k] = nuc_ti_view(ti, column, &rows, 1);
    }
    struct nuc_node *real = nuc_ti_real(ti, 0, NUC_TI_PLAIN);
    nuc_ti_define_viewed(ti, nuc_ti_emit(ti, NUC_OP_INDEX, NUC_ARGS(real, nuc_nodes_arg(list, axes))));
}

/* ---- numbers as positions ---- */

/* A constant number, operand i. */
static double number_operand(const struct nuc_ti *ti, uint32_t i)
{
    const struct nuc_lt_tensor *t = nuc_ti_in(ti, i);
    int64_t whole;

    if (nuc_ti_held(t) != 1)
        nuc_ti_fail(ti, "operand '%s' must be a constant number", t->name);
    if (nuc_lt_integers(t, 1, &whole) == 1)
        return (double)whole;
    if (nuc_ti_is_quantized(t))
        nuc_ti_fail(ti, "operand '%s' is quantized: int32, int64, float32 and bool are handled", t->name);
    const struct nuc_span value = nuc_ti_as_floats(ti, t);
    return (double)*(const float *)(const void *)value.data;
}

/* Operands: positions, how many there are, the value at each of them and elsewhere. */
void nuc_ti_one_hot(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *at = nuc_ti_in(ti, 0), *y = nuc_ti_out(ti);
    int64_t depth, numbers[NUC_MAX_RANK];
    struct nuc_meta one = nuc_ti_meta(y, NUC_TI_PLAIN);
    int64_t stated = ti->op->options.concat.axis;
    int32_t axis = nuc_lt_axis(stated, y->rank);
    double on = number_operand(ti, 2), off = number_operand(ti, 3);

    if (axis < 0 || y->rank != at->rank + 1 || nuc_ti_integers(ti, 1, 1, &depth) != 1 || depth < 1 ||
        y->shape[axis] != depth || nuc_ti_is_quantized(y))
        nuc_ti_fail(ti, "axis %lld of the result must be as long as there are positions", (long long)stated);
    one.sizes[axis] = 1;
    for (uint32_t d = 0; d < y->rank; d++)
        numbers[d] = d == (uint32_t)axis ? depth : 1;
    int64_t *each = nuc_alloc_array(ti->cx, (size_t)depth, sizeof *each);
    for (int64_t k = 0; k < depth; k++)
        each[k] = k;
    struct nuc_node *wanted = positions(ti, 0, one.sizes, y->rank);
    struct nuc_node *hot = nuc_ti_emit(ti, NUC_OP_EQ, NUC_ARGS(wanted, nuc_ti_indices(ti, each, numbers, y->rank)));
    if (on < 1 || on > 1 || off < 0 || off > 0) {
        struct nuc_node *value = nuc_ti_number(ti, on), *other = nuc_ti_number(ti, off);
        hot = nuc_ti_emit(ti, NUC_OP_WHERE, NUC_ARGS(hot, value, other));
    }
    nuc_ti_define(ti, nuc_ti_to_type(ti, hot, y->dtype), NUC_TI_PLAIN);
}

/* The largest of the last axis, and where they were. */
void nuc_ti_topk(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    int64_t k;

    if (ti->op->n_outputs != 2 || nuc_ti_integers(ti, 1, 1, &k) != 1 || x->rank == 0)
        nuc_ti_fail(ti, "needs a constant number and has two results");
    struct nuc_node *real = nuc_ti_real(ti, 0, NUC_TI_PLAIN);
    struct nuc_node *both = nuc_ti_emit(ti, NUC_OP_TOPK, NUC_ARGS(real, k));
    nuc_ti_define_result(ti, 0, nuc_ti_item(ti, both, 0), NUC_TI_PLAIN);
    nuc_ti_define_result(ti, 1, nuc_ti_item(ti, both, 1), NUC_TI_PLAIN);
}

void nuc_ti_arg_extremum(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    enum nuc_op op = ti->op->code == NUC_LT_ARG_MAX ? NUC_OP_ARGMAX : NUC_OP_ARGMIN;
    int64_t list[1];
    int32_t axis = nuc_ti_integers(ti, 1, 1, list) == 1 ? nuc_lt_axis(list[0], x->rank) : -1;

    if (axis < 0)
        nuc_ti_fail(ti, "needs one axis of '%s'", x->name);
    /* What is left of an image is in the tensor's order when the channels go. */
    enum nuc_ti_form form = axis == 3 ? nuc_ti_form_of(ti, 0) : NUC_TI_PLAIN;
    struct nuc_node *real = nuc_ti_real(ti, 0, form);
    const struct nuc_arg dim = nuc_int_arg(nuc_ti_dim(form, (uint32_t)axis));
    nuc_ti_define(ti, nuc_ti_emit(ti, op, NUC_ARGS(real, dim)), NUC_TI_PLAIN);
}

/* ---- by conditions ---- */

void nuc_ti_select(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *condition = nuc_ti_in(ti, 0), *y = nuc_ti_out(ti);
    /* Operand 0 of SELECT may have one element for each row of the others. */
    bool rows = ti->op->code == NUC_LT_SELECT && nuc_ti_in(ti, 0)->rank == 1 && nuc_ti_in(ti, 1)->rank > 1;
    enum nuc_ti_form form = rows ? NUC_TI_PLAIN : nuc_ti_common_form(ti, 3);
    int64_t sizes[NUC_MAX_RANK];

    if (condition->dtype != NUC_BOOL)
        nuc_ti_fail(ti, "condition '%s' is %s: bool is handled", condition->name, nuc_dtype_name(condition->dtype));
    struct nuc_node *which = nuc_ti_broadcast(ti, 0, form);
    for (uint32_t d = 0; d < y->rank; d++)
        sizes[d] = d == 0 ? condition->shape[0] : 1;
    which = rows ? nuc_ti_view(ti, which, sizes, y->rank) : which;
    struct nuc_node *x = nuc_ti_broadcast(ti, 1, form), *other = nuc_ti_broadcast(ti, 2, form);
    nuc_ti_define(ti, nuc_ti_emit(ti, NUC_OP_WHERE, NUC_ARGS(which, x, other)), form);
}

/* Numbers in another type; of quantized ones LiteRT would take the integers. */
void nuc_ti_cast(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);

    nuc_ti_need_float(ti);
    if (nuc_ti_in(ti, 0)->is_unsigned != nuc_ti_out(ti)->is_unsigned &&
        (nuc_ti_in(ti, 0)->dtype != NUC_I32 || nuc_ti_out(ti)->dtype != NUC_I32))
        nuc_ti_fail(ti, "from and to integers without a sign, int32 and uint32 are handled");
    nuc_ti_define(ti, nuc_ti_to_type(ti, nuc_ti_real(ti, 0, form), nuc_ti_out(ti)->dtype), form);
}
