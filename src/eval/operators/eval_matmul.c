/* Matrix products: out[i][j] = alpha * sum over k of a[i][k] * b[k][j] + beta * addend[i][j]. */
#include <assert.h>
#include <string.h>

#include "eval/eval_call.h"
#include "eval/eval_gemm.h"
#include "eval/eval_order.h"
#include "ir/op_list.h"
#include "ir/shapes/shapes.h"

struct matmul {
    uint32_t a, b, addend; /* arguments; the addend is read unless beta is 0 */
    size_t rows, columns, k;
    size_t b_k_stride, b_column_stride;             /* of element (k, j) of b */
    size_t addend_row_stride, addend_column_stride; /* 0: broadcast */
    float alpha, beta;
    size_t products;          /* matrix products of one call */
    size_t b_matrices;        /* different ones among their right sides */
    size_t *a_first, *b_item; /* by product: first element in a, index among the b matrices; NULL for one product */
    const float *panels;      /* of a constant b; NULL: each is packed when it is computed with */
    struct nuc_order order;
    struct nuc_gemm gemm;
    bool whole; /* of integers, which wrap */
};

static size_t columns_from(const struct matmul *m, size_t first)
{
    return m->columns - first < NUC_TILE_COLUMNS ? m->columns - first : NUC_TILE_COLUMNS;
}

/* Panels are counted through all b matrices. */
static void pack(const struct matmul *m, const float *b, size_t index, float *panel)
{
    size_t count = nuc_panel_count(m->columns), first = index % count * NUC_TILE_COLUMNS;

    nuc_pack_panel(b + index / count * m->k * m->columns + first * m->b_column_stride, m->k, columns_from(m, first),
                   m->b_k_stride, m->b_column_stride, panel);
}

/* A product of alpha 1 without addend; `b` lies with its rows together. */
static struct matmul *new_matmul(struct nuc_eval_call *c, uint32_t a, uint32_t b)
{
    struct matmul *m = nuc_alloc(c->cx, sizeof *m);

    m->whole = nuc_is_integer(nuc_eval_result(c)->dtype) &&
               nuc_op_is_in(c->node->op, NUC_OPS(NUC_OP_MM, NUC_OP_BMM, NUC_OP_MATMUL));
    if (!m->whole)
        nuc_eval_expect_float(c, a);
    nuc_eval_expect(c, b, nuc_eval_in_meta(c, a)->dtype);
    m->a = a;
    m->b = b;
    m->alpha = 1.0f;
    c->state = m;
    return m;
}

static void add_addend(struct nuc_eval_call *c, struct matmul *m, uint32_t arg, float beta)
{
    if (!nuc_eval_has_in(c, arg))
        return;
    nuc_eval_expect_float(c, arg);
    m->addend = arg;
    m->beta = beta;
}

/*
 * Rows that a panel is computed with, from which on packing it is little beside that. It is done in each run then, in a
 * cache: all panels take as much memory as the matrices.
 */
#define MANY_ROWS 64

/* Packs a constant b of few rows once, else leaves room for a panel in each thread. */
static void finish_prepare(struct nuc_eval_call *c, struct matmul *m)
{
    const size_t count = m->b_matrices * nuc_panel_count(m->columns);

    if (m->whole)
        return;
    m->order = nuc_matrix_order(m->b_k_stride == 1 && m->b_column_stride == m->k);
    m->gemm = nuc_gemm_select(m->order.fused, false);
    if (!nuc_eval_is_constant_in(c, m->b) || m->rows >= MANY_ROWS) {
        c->room_size = m->k * NUC_TILE_COLUMNS * sizeof(float);
        if (!nuc_mul_size(nuc_pool_threads(c->pool) * NUC_TILE_COLUMNS * sizeof(float), m->k, &(size_t){0}))
            nuc_eval_fail(c, "its rows are too long");
        return;
    }
    float *panels = nuc_alloc_array(c->cx, count, m->k * NUC_TILE_COLUMNS * sizeof *panels);
    for (size_t i = 0; i < count; i++)
        pack(m, nuc_eval_in(c, m->b), i, panels + i * m->k * NUC_TILE_COLUMNS);
    m->panels = panels;
}

/* input [..., k] times weight [columns, k] transposed, plus bias [columns]. A weight [k] gives an output without it. */
static void prepare_linear(struct nuc_eval_call *c)
{
    struct matmul *m = new_matmul(c, NUC_ARG(LINEAR, input), NUC_ARG(LINEAR, weight));
    const struct nuc_meta *in = nuc_eval_in_meta(c, m->a), *weight = nuc_eval_in_meta(c, m->b);

    m->k = (size_t)in->sizes[in->rank - 1];
    m->rows = nuc_product_of_dims(in, 0, in->rank - 1u);
    m->columns = weight->rank == 2 ? (size_t)weight->sizes[0] : 1;
    m->b_k_stride = 1;
    m->b_column_stride = m->k;
    m->products = m->b_matrices = 1;
    add_addend(c, m, NUC_ARG(LINEAR, bias), 1.0f);
    m->addend_column_stride = nuc_elements(nuc_eval_in_meta(c, NUC_ARG(LINEAR, bias))) == 1 ? 0 : 1;
    finish_prepare(c, m);
}

/* A vector on the left is a row, one on the right a column; the dimensions in front of matrices broadcast. */
static struct nuc_meta as_matrices(const struct nuc_meta *m, bool right)
{
    struct nuc_meta matrices = *m;

    if (m->rank == 1) {
        matrices.rank = 2;
        matrices.sizes[0] = right ? m->sizes[0] : 1;
        matrices.sizes[1] = right ? 1 : m->sizes[0];
    }
    return matrices;
}

static struct nuc_meta outer_dims(const struct nuc_meta *m)
{
    struct nuc_meta outer = *m;

    outer.rank = (uint8_t)(m->rank - 2);
    return outer;
}

static struct matmul *plan_product(struct nuc_eval_call *c, uint32_t left, uint32_t right)
{
    struct matmul *m = new_matmul(c, left, right);
    struct nuc_meta a = as_matrices(nuc_eval_in_meta(c, left), false);
    struct nuc_meta b = as_matrices(nuc_eval_in_meta(c, right), true);

    m->rows = (size_t)a.sizes[a.rank - 2];
    m->k = (size_t)a.sizes[a.rank - 1];
    m->columns = (size_t)b.sizes[b.rank - 1];
    m->b_k_stride = m->columns;
    m->b_column_stride = 1;
    /* Which matrix of a and of b each product takes. */
    struct nuc_meta a_outer = outer_dims(&a), b_outer = outer_dims(&b), outer = {.rank = 0};
    (void)nuc_broadcast_sizes(&a_outer, &b_outer, &outer); /* they do: the shape rule has seen it */
    size_t a_strides[NUC_MAX_RANK], b_strides[NUC_MAX_RANK];
    nuc_eval_broadcast_strides(&a_outer, &outer, a_strides);
    nuc_eval_broadcast_strides(&b_outer, &outer, b_strides);
    m->products = nuc_product_of_dims(&outer, 0, outer.rank);
    m->b_matrices = nuc_product_of_dims(&b_outer, 0, b_outer.rank);
    m->a_first = nuc_alloc_array(c->cx, m->products + 1, sizeof *m->a_first);
    m->b_item = nuc_alloc_array(c->cx, m->products + 1, sizeof *m->b_item);
    for (size_t i = 0; i < m->products; i++) {
        m->a_first[i] = nuc_eval_offset(&outer, i, a_strides) * m->rows * m->k;
        m->b_item[i] = nuc_eval_offset(&outer, i, b_strides);
    }
    assert(m->products * m->rows * m->columns == nuc_eval_elements(c));
    return m;
}

/* matmul, mm, bmm */
static void prepare_matmul(struct nuc_eval_call *c)
{
    finish_prepare(c, plan_product(c, NUC_SELF, NUC_OTHER));
}

static void prepare_addmm(struct nuc_eval_call *c)
{
    struct matmul *m = plan_product(c, NUC_ARG(ADDMM, mat1), NUC_ARG(ADDMM, mat2));
    const struct nuc_meta *self = nuc_eval_in_meta(c, NUC_ARG(ADDMM, self));

    add_addend(c, m, NUC_ARG(ADDMM, self), (float)nuc_scalar(c->node, NUC_ARG(ADDMM, beta), 1.0));
    m->alpha = (float)nuc_scalar(c->node, NUC_ARG(ADDMM, alpha), 1.0);
    if (self->rank >= 1 && self->sizes[self->rank - 1] != 1)
        m->addend_column_stride = 1;
    if (self->rank == 2 && self->sizes[0] != 1)
        m->addend_row_stride = (size_t)self->sizes[1];
    finish_prepare(c, m);
}

/* One product under way. */
struct matmul_run {
    const struct matmul *m;
    const float *a, *b, *addend;
    float *panels, *out; /* panels: room for one in each thread */
};

enum { TILE = NUC_TILE_ROWS * NUC_TILE_COLUMNS };

/* What is added to the sums of a tile; `nothing` where `adds` is false. */
static void set_addends(const struct matmul_run *r, bool adds, float nothing, size_t row, size_t first, float out[TILE])
{
    const struct matmul *m = r->m;

    for (size_t i = 0; i < NUC_TILE_ROWS; i++) {
        for (size_t j = 0; j < NUC_TILE_COLUMNS; j++) {
            float *to = &out[i * NUC_TILE_COLUMNS + j];
            *to = nothing;
            if (adds && row + i < m->rows && first + j < m->columns)
                *to = m->beta * r->addend[(row + i) * m->addend_row_stride + (first + j) * m->addend_column_stride];
        }
    }
}

/* Sixteen columns of one product. Adding -0 changes no value. */
static void compute_panel(const struct matmul_run *r, const float *panel, size_t first)
{
    const struct matmul *m = r->m;
    size_t count = columns_from(m, first);
    /* The sums start with the addend when the order says so and nothing scales them. */
    bool adds_first = m->order.bias_first && r->addend != NULL && m->alpha == 1.0f;
    bool adds_last = r->addend != NULL && !adds_first;
    float tile[TILE], before[TILE], after[TILE];

    for (size_t row = 0; row < m->rows; row += NUC_TILE_ROWS) {
        size_t rows = m->rows - row < NUC_TILE_ROWS ? m->rows - row : NUC_TILE_ROWS;
        if (row == 0 || m->addend_row_stride != 0) {
            set_addends(r, adds_first, 0.0f, row, first, before);
            set_addends(r, adds_last, -0.0f, row, first, after);
        }
        memcpy(tile, before, sizeof tile);
        m->gemm.tile(r->a + row * m->k, m->k, panel, m->k, rows, tile);
        for (size_t i = 0; i < TILE; i++)
            tile[i] = m->alpha * tile[i] + after[i];
        for (size_t i = 0; i < rows; i++)
            memcpy(r->out + (row + i) * m->columns + first, tile + i * NUC_TILE_COLUMNS, count * sizeof *tile);
    }
}

static void compute_panels(const void *arg, struct nuc_part part)
{
    const struct matmul_run *all = arg;
    const struct matmul *m = all->m;
    const size_t count = nuc_panel_count(m->columns), size = m->k * NUC_TILE_COLUMNS;
    float *packed = all->panels + part.worker * size;

    for (size_t i = part.begin; i < part.end; i++) {
        struct matmul_run r = *all;
        size_t product = i / count, index = i % count;
        if (m->a_first != NULL) {
            r.a += m->a_first[product];
            index += m->b_item[product] * count;
            r.out += product * m->rows * m->columns;
        }
        if (m->panels == NULL)
            pack(m, r.b, index, packed);
        compute_panel(&r, m->panels == NULL ? packed : m->panels + index * size, i % count * NUC_TILE_COLUMNS);
    }
}

static void run(const struct nuc_eval_call *c)
{
    const struct matmul *m = c->state;

    if (m->whole) {
        enum nuc_dtype dtype = nuc_eval_result(c)->dtype;
        const void *a = nuc_eval_in(c, m->a), *b = nuc_eval_in(c, m->b);
        size_t at = 0, size = nuc_dtype_size(dtype);
        for (size_t p = 0; p < m->products; p++) {
            size_t a_first = m->a_first[p], b_first = m->b_item[p] * m->k * m->columns;
            for (size_t i = 0; i < m->rows * m->columns; i++, at++) {
                uint64_t sum = 0;
                for (size_t k = 0; k < m->k; k++)
                    sum += (uint64_t)nuc_int_at(dtype, a, a_first + i / m->columns * m->k + k) *
                           (uint64_t)nuc_int_at(dtype, b, b_first + k * m->columns + i % m->columns);
                memcpy((char *)c->out[0] + at * size, &sum, size);
            }
        }
        return;
    }
    const float *addend = m->beta != 0.0f ? nuc_eval_in(c, m->addend) : NULL;
    struct matmul_run r = {m, nuc_eval_in(c, m->a), nuc_eval_in(c, m->b), addend, c->scratch, c->out[0]};
    double cost = (double)m->products * (double)m->rows * (double)m->columns * (double)m->k;

    nuc_parallel_for(c->pool, m->products * nuc_panel_count(m->columns), cost, compute_panels, &r);
}

const struct nuc_eval_op nuc_eval_linear = {.prepare = prepare_linear, .run = run};
const struct nuc_eval_op nuc_eval_addmm = {.prepare = prepare_addmm, .run = run};
const struct nuc_eval_op nuc_eval_matmul = {.prepare = prepare_matmul, .run = run};
