/* Plans without packed weights: elementwise operators, softmax. */
#include <stdlib.h>
#include <string.h>

#include "npusim_host/vector_call.h"

/* A pair in every lane, in the form that is exact for any sum. */
static bool set_pair(const struct vec_isa *isa, struct vec_params *p, int32_t zero, int32_t multiplier, int32_t shift)
{
    const struct vec_output out = vec_output_of(zero, INT8_MIN, INT8_MAX);

    for (int32_t lane = 0; lane < VEC_LANES; lane++) {
        if (!vec_params_set(p, lane, VEC_LIMIT, multiplier, shift))
            return false;
    }
    vec_params_close(isa, p, &out, NULL);
    return true;
}

#define WORTH_A_PROOF 4096 /* elements */

/* Whether an operator becomes a linear function. */
static bool becomes_linear(struct vec_binary *p, const struct nuc_mc_binary *e, struct vec_budget *budget)
{
    int64_t elements = 1;

    for (int32_t d = 0; d < e->rank; d++)
        elements *= e->shape[d];
    if ((p->opcode != NUC_MC_OP_ADD && p->opcode != NUC_MC_OP_SUB) || elements < WORTH_A_PROOF || budget->proofs == 0)
        return false;
    budget->proofs--;
    return vec_sum_is_linear(&p->linear, e);
}

/* Rows next to each other that share operand `shared`: dimensions in front of the last in which it stays. */
static int32_t rows_that_share(const struct nuc_mc_binary *e, const int32_t *shared, const int32_t *other)
{
    int32_t rows = 1, d = e->rank - 2;

    for (; d >= 0 && shared[d] == 0; d--) {
        if (d < e->rank - 2 && other[d] != (int64_t)e->shape[d + 1] * other[d + 1])
            break;
        rows *= e->shape[d];
    }
    return other[e->rank - 1] == 1 ? rows : 1;
}

#define WORTH_LINES 8 /* rows */

/* Whether a product of rows becomes lines. */
static bool becomes_lines(struct vec_lines *l, const struct nuc_mc_binary *e, struct vec_budget *budget)
{
    int32_t a_rows = rows_that_share(e, e->a_stride, e->b_stride),
            b_rows = rows_that_share(e, e->b_stride, e->a_stride);

    l->a_is_shared = a_rows > b_rows;
    l->rows = l->a_is_shared ? a_rows : b_rows;
    if (nuc_mc_opcode_of(&e->call) != NUC_MC_OP_MUL || l->rows < WORTH_LINES ||
        (int64_t)l->rows * e->shape[e->rank - 1] < WORTH_A_PROOF || budget->proofs == 0)
        return false;
    budget->proofs--;
    return vec_product_is_lines(l, e);
}

struct vec_plan *vec_plan_binary(const struct vec_isa *isa, const struct nuc_npu *npu, const union nuc_mc_record *r,
                                 struct vec_budget *budget)
{
    const struct nuc_mc_binary *e = &r->binary;
    int32_t last = e->rank - 1;
    uint8_t *memory;

    (void)npu;
    if (e->a_stride[last] < 0 || e->a_stride[last] > 1 || e->b_stride[last] < 0 || e->b_stride[last] > 1)
        return NULL;
    struct vec_plan *plan = vec_plan_new(budget, vec_run_binary, sizeof(struct vec_lines), &memory);
    if (!plan)
        return NULL;
    plan->u.binary = (struct vec_binary){.a_zero = e->a_zero,
                                         .b_zero = e->b_zero,
                                         .left_shift = e->left_shift,
                                         .opcode = nuc_mc_opcode_of(&e->call),
                                         .output = vec_output_of(e->output_zero, e->clamp_min, e->clamp_max)};
    struct vec_binary *p = &plan->u.binary;
    int32_t zero = p->opcode == NUC_MC_OP_PRELU ? e->output_zero : 0;
    if (p->opcode == NUC_MC_OP_MAXIMUM || p->opcode == NUC_MC_OP_MINIMUM)
        p->output = vec_output_of(0, INT8_MIN, INT8_MAX);
    if (set_pair(isa, &p->a, zero, e->a_multiplier, e->a_shift) &&
        set_pair(isa, &p->b, 0, e->b_multiplier, e->b_shift) &&
        set_pair(isa, &p->out, e->output_zero, e->out_multiplier, e->out_shift)) {
        struct vec_lines *lines = (struct vec_lines *)(void *)memory;
        p->is_linear = becomes_linear(p, e, budget);
        p->lines = becomes_lines(lines, e, budget) ? lines : NULL;
        return plan;
    }
    free(plan);
    return NULL;
}

struct vec_plan *vec_plan_softmax(const struct vec_isa *isa, const struct nuc_npu *npu, const union nuc_mc_record *r,
                                  struct vec_budget *budget)
{
    uint8_t *memory;
    struct vec_plan *plan = vec_plan_new(budget, vec_run_softmax, 0, &memory);

    (void)isa;
    (void)npu;
    if (plan) {
        npu_softmax_exponentials(&r->softmax, plan->u.softmax.exponentials);
        npu_softmax_addends(plan->u.softmax.exponentials, plan->u.softmax.addends);
    }
    return plan;
}
