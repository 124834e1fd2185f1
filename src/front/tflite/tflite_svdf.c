/*
 * SVDF: a matrix product of each frame, then a filter over time for each of its rows, of which the state holds the last
 * `memory` values; the rows of a unit, its rank, are added up.
 */
#include "tflite_import.h"

static struct nuc_ti_svdf sizes_of(const struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, NUC_TI_SVDF_FRAME), *features = nuc_ti_in(ti, NUC_TI_SVDF_FEATURES);
    const struct nuc_lt_tensor *times = nuc_ti_in(ti, NUC_TI_SVDF_TIMES), *y = nuc_ti_out(ti);
    const int32_t rank = ti->op->options.svdf.rank;

    if (x->rank != 2 || features->rank != 2 || times->rank != 2 || y->rank != 2 || rank < 1 ||
        features->shape[1] != x->shape[1] || times->shape[0] != features->shape[0] || features->shape[0] % rank != 0)
        nuc_ti_fail(ti, "needs frames, weights of features and of times that fit each other and rank %d", (int)rank);
    if (nuc_ti_held(features) == 0 || nuc_ti_held(times) == 0)
        nuc_ti_fail(ti, "'%s' and '%s' must be constants", features->name, times->name);
    return (struct nuc_ti_svdf){x->shape[0], x->shape[1], features->shape[0], times->shape[1], rank};
}

/* The frame joins the state, from which the oldest value of each row goes. */
static struct nuc_node *shifted(struct nuc_ti *ti, const struct nuc_ti_svdf *z)
{
    const int64_t state[3] = {z->batches, z->rows, z->memory}, column[3] = {z->batches, z->rows, 1};
    struct nuc_node *before = nuc_ti_state(ti, NUC_TI_SVDF_STATE, state, 3);
    struct nuc_node *x = nuc_ti_real(ti, NUC_TI_SVDF_FRAME, NUC_TI_PLAIN),
                    *weights = nuc_ti_real(ti, NUC_TI_SVDF_FEATURES, NUC_TI_PLAIN);
    struct nuc_node *new = nuc_ti_view(ti, nuc_ti_emit(ti, NUC_OP_LINEAR, NUC_ARGS(x, weights)), column, 3);

    if (z->memory == 1)
        return new;
    struct nuc_node *kept = nuc_ti_emit(ti, NUC_OP_SLICE, NUC_ARGS(before, 2, 1, z->memory));
    struct nuc_node *parts[2] = {kept, new};
    return nuc_ti_emit(ti, NUC_OP_CAT, NUC_ARGS(nuc_nodes_arg(parts, 2), 2));
}

static struct nuc_node *added_up(struct nuc_ti *ti, struct nuc_node *x, int64_t dim)
{
    return nuc_ti_emit(ti, NUC_OP_SUM_DIM, NUC_ARGS(x, nuc_ints_arg(&dim, 1), nuc_bool_arg(false)));
}

void nuc_ti_svdf(struct nuc_ti *ti)
{
    const struct nuc_ti_svdf z = sizes_of(ti);
    const int64_t by_unit[3] = {z.batches, z.rows / z.rank, z.rank};

    if (nuc_ti_is_quantized(nuc_ti_in(ti, NUC_TI_SVDF_FRAME)) && nuc_ti_is_quantized(nuc_ti_out(ti))) {
        nuc_ti_integer_svdf(ti, &z);
        return;
    }
    if (nuc_ti_in(ti, NUC_TI_SVDF_FRAME)->dtype != NUC_F32 || nuc_ti_out(ti)->dtype != NUC_F32)
        nuc_ti_fail(ti,
                    "is handled from int8 to int8 and from float32 to float32: convert the model without quantization");
    struct nuc_node *state = shifted(ti, &z), *times = nuc_ti_real(ti, NUC_TI_SVDF_TIMES, NUC_TI_PLAIN);
    nuc_ti_set_state(ti, NUC_TI_SVDF_STATE, state);
    struct nuc_node *products = nuc_ti_emit(ti, NUC_OP_MUL, NUC_ARGS(state, times));
    struct nuc_node *sums = added_up(ti, products, 2);
    if (z.rank > 1)
        sums = added_up(ti, nuc_ti_view(ti, sums, by_unit, 3), 2);
    if (nuc_ti_has(ti, NUC_TI_SVDF_BIAS)) {
        struct nuc_node *bias = nuc_ti_real(ti, NUC_TI_SVDF_BIAS, NUC_TI_PLAIN);
        sums = nuc_ti_emit(ti, NUC_OP_ADD, NUC_ARGS(sums, bias));
    }
    const int8_t activation = ti->op->options.svdf.activation;
    if (activation < NUC_LT_ACT_NONE || activation > NUC_LT_ACT_RELU6)
        nuc_ti_fail(ti, "has activation %d: NONE, RELU, RELU_N1_TO_1 and RELU6 are handled", activation);
    nuc_ti_define(ti, nuc_ti_activate(ti, sums, (enum nuc_lt_activation)activation), NUC_TI_PLAIN);
}
