/*
 * Matrix products: of weights as convolutions, of two activations with both operands packed when the call runs, batch
 * by batch.
 */
#include <stdlib.h>
#include <string.h>

#include "device/base/span.h"
#include "npusim_host/vector_call.h"

/* Scratch of a thread, in bytes: weights, biases, one word per row, rows of the left operand. */
struct layout {
    size_t row, block, blocks; /* of a packed row, and of a block of weights; blocks of columns */
    size_t bias, addend, rows; /* from the first byte */
    uint64_t size;
};

static struct layout layout_of(const struct vec_isa *isa, const struct nuc_mc_matmul *g)
{
    struct layout l = {.row = nuc_align_up((size_t)g->depth, VEC_DEPTH),
                       .blocks = (size_t)vec_up(g->columns, VEC_LANES)};

    l.block = l.row * VEC_LANES * (size_t)isa->weight_bytes;
    l.bias = l.blocks * l.block;
    l.addend = l.bias + l.blocks * VEC_LANES * sizeof(int32_t);
    l.rows = l.addend + nuc_align_up((size_t)g->rows * sizeof(int32_t), VEC_ALIGNMENT);
    l.size = l.rows + (uint64_t)g->rows * l.row;
    return l;
}

#define MOST_OPERAND (1 << 20) /* rows, columns and depth: products of them stay inside 64 bits */

static struct vec_plan *plan_product(const struct vec_isa *isa, const struct nuc_npu *npu, const union nuc_mc_record *r,
                                     struct vec_budget *budget)
{
    const struct nuc_mc_matmul *g = &r->matmul;
    const int32_t *bias = g->has_bias ? vec_constant(npu, g->bias) : NULL;
    const int32_t *requant = vec_constant(npu, g->requant);
    const struct vec_output out = vec_output_of(g->output_zero, g->clamp_min, g->clamp_max);
    const struct layout l = layout_of(isa, g);
    uint8_t *memory;

    if (g->rows > MOST_OPERAND || g->columns > MOST_OPERAND || g->depth > MOST_OPERAND || l.size > VEC_MOST_SCRATCH)
        return NULL;
    struct vec_plan *plan = vec_plan_new(budget, vec_run_product, l.blocks * sizeof(struct vec_params), &memory);
    if (!plan)
        return NULL;
    struct vec_params *params = (struct vec_params *)(void *)memory;
    plan->scratch = (size_t)l.size;
    plan->u.product = (struct vec_product_plan){bias, params};
    for (int32_t j = 0; j < g->columns; j++) {
        const int32_t *pair = requant + (g->per_channel ? (int64_t)j * 2 : 0);
        uint64_t bound = (uint64_t)g->depth * 255 * 255 + (bias ? (uint64_t)llabs((long long)bias[j]) : 0);
        if (!vec_params_set_word(params + j / VEC_LANES, j % VEC_LANES, bound, pair[0], pair[1])) {
            free(plan);
            return NULL;
        }
    }
    for (size_t b = 0; b < l.blocks; b++)
        vec_params_close(isa, params + b, &out, NULL);
    return plan;
}

/*
 * A product whose right operand is weights is a convolution of its rows as pixels. Batches follow each other like rows,
 * or there is one.
 */
struct vec_plan *vec_plan_matmul(const struct vec_isa *isa, const struct nuc_npu *npu, const union nuc_mc_record *r,
                                 struct vec_budget *budget)
{
    const struct nuc_mc_matmul *g = &r->matmul;
    const int64_t pixels = (int64_t)g->batches * g->rows;
    const bool even =
        g->batches == 1 || (g->lhs_batch_stride == (int64_t)g->rows * g->lhs_row_stride && g->rhs_batch_stride == 0);

    if (g->inner > 0 || g->rhs_zero != 0 || !even || pixels > INT32_MAX || (g->lhs_depth_stride != 1 && g->depth > 1) ||
        (g->lhs_row_stride == 0 && pixels > 1))
        return plan_product(isa, npu, r, budget);
    const struct nuc_mc_conv c = {.bias = g->has_bias ? g->bias : (struct nuc_mc_ref){NUC_MC_INPUT, 0},
                                  .requant = g->requant,
                                  .batches = 1,
                                  .in_h = (int32_t)pixels,
                                  .in_w = 1,
                                  .in_c = g->depth,
                                  .out_h = (int32_t)pixels,
                                  .out_w = 1,
                                  .out_c = g->columns,
                                  .k_h = 1,
                                  .k_w = 1,
                                  .stride_h = 1,
                                  .stride_w = 1,
                                  .dilation_h = 1,
                                  .dilation_w = 1,
                                  .groups = 1,
                                  .input_zero = g->lhs_zero,
                                  .output_zero = g->output_zero,
                                  .clamp_min = g->clamp_min,
                                  .clamp_max = g->clamp_max,
                                  .out_pitch = g->out_pitch,
                                  .in_pitch = pixels > 1 ? g->lhs_row_stride : 0};
    const struct vec_weights w = {vec_constant(npu, g->rhs), g->rhs_column_stride, g->rhs_depth_stride, g->per_channel};
    struct vec_plan *plan = vec_plan_dense(isa, npu, &c, &w, budget);
    return plan ? plan : plan_product(isa, npu, r, budget);
}

/* Rows next to each other, the end of each filled with what weights of 0 meet; addend[i]: of the right zero point. */
static void pack_rows(const struct nuc_mc_matmul *g, size_t bytes, const int8_t *lhs, int8_t *rows, int32_t *addend)
{
    for (int64_t i = 0; i < g->rows; i++, rows += bytes) {
        const int8_t *from = lhs + i * g->lhs_row_stride;
        int32_t sum = 0; /* below 2^27 */
        for (int64_t k = 0; k < g->depth; k++) {
            rows[k] = from[k * g->lhs_depth_stride];
            sum += rows[k];
        }
        memset(rows + g->depth, 0, bytes - (size_t)g->depth);
        addend[i] = (int32_t)((uint32_t)-g->rhs_zero * (uint32_t)sum);
    }
}

/* sum (l - lz)(r - rz) = sum l r - lz sum r - rz sum l + depth lz rz; what depends on the column goes into its bias. */
static void pack_columns(const struct vec_isa *isa, const struct nuc_mc_matmul *g, const struct layout *l,
                         const int8_t *rhs, uint8_t *weights, const int32_t *bias, int32_t *folded)
{
    size_t step = (size_t)VEC_LANES * VEC_DEPTH * (size_t)isa->weight_bytes;
    uint32_t zeros = (uint32_t)g->depth * (uint32_t)(g->lhs_zero * g->rhs_zero);

    memset(weights, 0, l->bias);
    for (int64_t j = 0; j < g->columns; j++) {
        const int8_t *from = rhs + j * g->rhs_column_stride;
        uint8_t *to = weights + (size_t)(j / VEC_LANES) * l->block;
        int32_t sum = 0; /* below 2^27 */
        for (int32_t k = 0; k < g->depth; k++) {
            int8_t r = from[(int64_t)k * g->rhs_depth_stride];
            sum += r;
            vec_weight_set(isa, to + (size_t)(k / VEC_DEPTH) * step, (int32_t)(j % VEC_LANES), k % VEC_DEPTH, r);
        }
        folded[j] = (int32_t)((uint32_t)(bias ? bias[j] : 0) -
                              (uint32_t)(g->lhs_zero + isa->input_offset) * (uint32_t)sum + zeros);
    }
}

static void product_batches(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct vec_call *c = arg;
    const struct nuc_mc_matmul *g = &c->r->matmul;
    const struct vec_product_plan *p = &c->plan->u.product;
    const struct vec_isa *isa = c->v->isa;
    uint8_t *weights = c->v->scratch + thread * c->v->scratch_size;
    const struct layout l = layout_of(isa, g);
    int32_t *bias = (int32_t *)(void *)(weights + l.bias), *addend = (int32_t *)(void *)(weights + l.addend);
    int8_t *rows = (int8_t *)weights + l.rows;
    struct vec_gemm gemm = {.weights = weights,
                            .bias = bias,
                            .params = p->params,
                            .params_step = 1,
                            .block_bytes = l.block,
                            .segments = 1,
                            .run = (int32_t)(l.row / VEC_DEPTH),
                            .columns = g->columns,
                            .addend = addend,
                            .pixel = (ptrdiff_t)l.row,
                            .out_pixel = (ptrdiff_t)npu_pitch(g->out_pitch, g->columns),
                            .output = vec_output_of(g->output_zero, g->clamp_min, g->clamp_max)};
    const int8_t *segment[1] = {rows};

    for (int64_t b = begin; b < end; b++) {
        int64_t lhs = npu_matrix(g, b, g->lhs_batch_stride, g->lhs_inner_stride);
        int64_t rhs = npu_matrix(g, b, g->rhs_batch_stride, g->rhs_inner_stride);
        pack_rows(g, l.row, c->in + lhs, rows, addend);
        pack_columns(isa, g, &l, c->other + rhs, weights, p->bias, bias);
        isa->gemm(&gemm, segment, g->rows, c->out + npu_out_matrix(g, b));
    }
}

bool vec_run_product(struct vec_call *c)
{
    const struct nuc_mc_matmul *g = &c->r->matmul;

    c->other = npu_source_i8(c->m, g->rhs);
    /* Packing weights takes longer than products do. */
    vec_share(c->v, product_batches, c, g->batches,
              ((int64_t)g->rows * vec_up(g->columns, VEC_LANES) / VEC_DEPTH + g->columns) * g->depth);
    return true;
}
