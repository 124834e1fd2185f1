/* Elementwise operators of two operands: parameters as LiteRT prepares them, broadcasting as strides. */
#include "npu/convert/conversion.h"

static void set_multiplier(int32_t *multiplier, int32_t *shift, double scale)
{
    struct nuc_multiplier m = nuc_multiplier_from_scale(scale);

    *multiplier = m.multiplier;
    *shift = m.shift;
}

struct nuc_mc_binary nuc_cv_binary(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t *opcode)
{
    const struct nuc_lt_tensor *ta = nuc_cv_in(cv, n, 0), *tb = nuc_cv_in(cv, n, 1);
    const struct nuc_lt_tensor *ty = &cv->graph->tensors[n->op->outputs[0]];

    if (!ta || !tb)
        nuc_cv_fail(cv, n, "needs two operands");
    struct nuc_cv_params a = nuc_cv_params(cv, n, ta), b = nuc_cv_params(cv, n, tb), y = nuc_cv_params(cv, n, ty);
    struct nuc_mc_binary e = {.a_zero = a.zero, .b_zero = b.zero, .output_zero = y.zero};
    *opcode = nuc_cv_opcode(n->op->code);
    e.clamp_min = n->clamp_min;
    e.clamp_max = n->clamp_max;
    double twice = 2.0 * (double)(a.scale > b.scale ? a.scale : b.scale);
    switch (*opcode) {
    case NUC_MC_OP_ADD:
    case NUC_MC_OP_SUB:
        /* Both operands in units of half the larger scale / 2^20. Source: LiteRT's preparation of ADD. */
        e.left_shift = 20;
        set_multiplier(&e.a_multiplier, &e.a_shift, (double)a.scale / twice);
        set_multiplier(&e.b_multiplier, &e.b_shift, (double)b.scale / twice);
        set_multiplier(&e.out_multiplier, &e.out_shift, twice / ((double)(1 << 20) * (double)y.scale));
        nuc_cv_clamp(cv, n, n->op->options.arith.activation, &e.clamp_min, &e.clamp_max);
        break;
    case NUC_MC_OP_MUL:
        set_multiplier(&e.out_multiplier, &e.out_shift, (double)(a.scale * b.scale / y.scale));
        nuc_cv_clamp(cv, n, n->op->options.arith.activation, &e.clamp_min, &e.clamp_max);
        break;
    case NUC_MC_OP_PRELU:
        set_multiplier(&e.a_multiplier, &e.a_shift, (double)(a.scale / y.scale));
        set_multiplier(&e.out_multiplier, &e.out_shift, (double)(a.scale * b.scale / y.scale));
        break;
    default:
        if (!nuc_cv_same_params(cv, n, ta, tb) || !nuc_cv_same_params(cv, n, ta, ty))
            nuc_cv_fail(cv, n, "operands and result must have one scale and zero point: share their quantization");
        break;
    }
    return e;
}

/*
 * Element strides of operand `k`, where it lies, aligned to the right of the result's shape; repeated dimensions have
 * stride 0. False when the shapes do not fit.
 */
static bool broadcast(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t k, int64_t *stride)
{
    const struct nuc_lt_tensor *t = nuc_cv_in(cv, n, k), *y = nuc_cv_y(cv, n);
    struct nuc_cv_place place = nuc_cv_place(cv, n->op->inputs[k]);
    int64_t own[NUC_MAX_RANK];

    if (t->rank > y->rank || !nuc_cv_strides(t, &place.layout, own))
        return false;
    for (uint32_t i = 0; i < y->rank; i++) {
        uint32_t d = y->rank - 1 - i;
        int32_t size = i < t->rank ? t->shape[t->rank - 1 - i] : 1;
        if (size != 1 && size != y->shape[d])
            return false;
        stride[d] = size == 1 ? 0 : own[t->rank - 1 - i];
    }
    return true;
}

bool nuc_cv_binary_shape(const struct nuc_cv *cv, const struct nuc_cv_node *n, int64_t row, struct nuc_mc_binary *e)
{
    const struct nuc_lt_tensor *y = nuc_cv_y(cv, n);
    int64_t sa[NUC_MAX_RANK], sb[NUC_MAX_RANK], rest = nuc_lt_elements(y);

    if (!broadcast(cv, n, 0, sa) || !broadcast(cv, n, 1, sb))
        nuc_cv_fail(cv, n, "shapes of the operands do not lead to the result's");
    struct nuc_cv_dimensions dimensions = {&e->rank, e->shape, e->a_stride, e->b_stride};
    e->rank = 0;
    for (uint32_t d = 0; d < y->rank; d++) {
        if (!nuc_cv_add_dimension(&dimensions, y->shape[d], sa[d], sb[d], rest == row))
            return false;
        rest /= y->shape[d];
    }
    if (e->rank == 0) {
        e->rank = 1;
        e->shape[0] = 1;
    }
    return row == 0 || e->shape[e->rank - 1] == row;
}

void nuc_cv_emit_binary(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    union nuc_mc_record r = {.binary = {.rank = 0}};
    uint32_t opcode;

    r.binary = nuc_cv_binary(cv, n, &opcode);
    if (!nuc_cv_binary_shape(cv, n, nuc_cv_place(cv, n->output).layout.row, &r.binary))
        nuc_cv_fail(cv, n, "broadcasting needs more than %d dimensions: reshape the operands", NUC_MC_MAX_RANK);
    r.binary.a = nuc_cv_input_ref(cv, 0);
    r.binary.b = nuc_cv_input_ref(cv, 1);
    r.binary.output = nuc_cv_output_ref(cv);
    r.binary.out_pitch = nuc_cv_out_pitch(cv);
    nuc_cv_emit(cv, opcode, &r);
}
