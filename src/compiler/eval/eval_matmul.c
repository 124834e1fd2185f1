/* Matrix products: out[i][j] = alpha * sum over k of a[i][k] * b[k][j] + beta * addend[i][j]. */
#include "compiler/eval/eval_gemm.h"
#include "compiler/eval/eval_private.h"

struct matmul {
    uint32_t a, b, addend; /* schema arguments; addend may be absent */
    size_t rows, columns, k;
    size_t b_k_stride, b_column_stride;             /* of element (k, j) of b */
    size_t addend_row_stride, addend_column_stride; /* 0: broadcast */
    float alpha, beta;
    const float *panels; /* of a constant b, else NULL */
    nuc_tile_fn tile;
};

struct matmul_run {
    const struct matmul *m;
    const float *a, *panels, *addend;
    float *out;
};

/* Repacks b once when it is constant, else leaves room for it. */
static void finish_prepare(struct nuc_eval_call *c, struct matmul *m)
{
    size_t size = nuc_panels_size(m->k, m->columns);

    nuc_eval_want_float(c, m->a);
    nuc_eval_want_float(c, m->b);
    if (nuc_eval_has_in(c, m->addend))
        nuc_eval_want_float(c, m->addend);
    m->tile = nuc_tile_select();
    if (nuc_eval_is_constant_in(c, m->b)) {
        float *panels = nuc_alloc_array(c->cx, size, sizeof *panels);
        nuc_pack_panels(nuc_eval_in(c, m->b), m->k, m->columns, m->b_k_stride, m->b_column_stride, panels);
        m->panels = panels;
    } else {
        c->scratch_size = size * sizeof(float);
    }
    c->state = m;
}

/* input [..., k] times weight [columns, k] transposed, plus bias [columns]. A weight [k] gives an output without it. */
static void prepare_linear(struct nuc_eval_call *c)
{
    struct matmul *m = nuc_alloc(c->cx, sizeof *m);
    const struct nuc_meta *in = nuc_eval_in_meta(c, 0), *weight = nuc_eval_in_meta(c, 1);

    if (in->rank < 1 || weight->rank < 1 || weight->rank > 2)
        nuc_eval_fail(c, "input must not be a scalar and weight must be of rank 1 or 2");
    m->a = 0;
    m->b = 1;
    m->addend = 2;
    m->k = (size_t)in->sizes[in->rank - 1];
    m->rows = nuc_eval_product(in, 0, in->rank - 1u);
    m->columns = weight->rank == 2 ? (size_t)weight->sizes[0] : 1;
    m->b_k_stride = 1;
    m->b_column_stride = m->k;
    if (nuc_eval_has_in(c, 2))
        m->addend_column_stride = nuc_elements(nuc_eval_in_meta(c, 2)) == 1 ? 0 : 1;
    m->alpha = m->beta = 1.0f;
    finish_prepare(c, m);
}

static void set_matrices(struct nuc_eval_call *c, struct matmul *m, uint32_t a, uint32_t b)
{
    const struct nuc_meta *am = nuc_eval_in_meta(c, a), *bm = nuc_eval_in_meta(c, b);

    if (am->rank != 2 || bm->rank != 2 || am->sizes[1] != bm->sizes[0])
        nuc_eval_fail(c, "%s and %s cannot be multiplied", nuc_meta_text(c->cx, am), nuc_meta_text(c->cx, bm));
    m->a = a;
    m->b = b;
    m->rows = (size_t)am->sizes[0];
    m->k = (size_t)am->sizes[1];
    m->columns = (size_t)bm->sizes[1];
    m->b_k_stride = m->columns;
    m->b_column_stride = 1;
    m->alpha = m->beta = 1.0f;
}

static void prepare_mm(struct nuc_eval_call *c)
{
    struct matmul *m = nuc_alloc(c->cx, sizeof *m);

    set_matrices(c, m, 0, 1);
    m->addend = 0;
    finish_prepare(c, m);
    m->beta = 0.0f;
}

/* self, mat1, mat2; beta, alpha. */
static void prepare_addmm(struct nuc_eval_call *c)
{
    struct matmul *m = nuc_alloc(c->cx, sizeof *m);
    const struct nuc_meta *self = nuc_eval_in_meta(c, 0);

    set_matrices(c, m, 1, 2);
    m->addend = 0;
    m->beta = (float)nuc_eval_number(c, 3, 1.0);
    m->alpha = (float)nuc_eval_number(c, 4, 1.0);
    if (self->rank > 2)
        nuc_eval_fail(c, "%s cannot be added to a matrix", nuc_meta_text(c->cx, self));
    if (self->rank >= 1 && self->sizes[self->rank - 1] != 1)
        m->addend_column_stride = 1;
    if (self->rank == 2 && self->sizes[0] != 1)
        m->addend_row_stride = (size_t)self->sizes[1];
    finish_prepare(c, m);
}

static void store_row(const struct matmul_run *r, const float *tile, size_t row, size_t first, size_t count)
{
    const struct matmul *m = r->m;
    float *out = r->out + row * m->columns + first;

    for (size_t j = 0; j < count; j++) {
        float sum = m->alpha * tile[j];
        if (r->addend != NULL)
            sum += m->beta * r->addend[row * m->addend_row_stride + (first + j) * m->addend_column_stride];
        out[j] = sum;
    }
}

static void compute_columns(void *arg, size_t begin, size_t end, unsigned worker)
{
    const struct matmul_run *r = arg;
    const struct matmul *m = r->m;
    float tile[NUC_TILE_ROWS * NUC_TILE_COLUMNS];

    (void)worker;
    for (size_t panel = begin; panel < end; panel++) {
        size_t first = panel * NUC_TILE_COLUMNS;
        size_t count = m->columns - first < NUC_TILE_COLUMNS ? m->columns - first : NUC_TILE_COLUMNS;
        for (size_t row = 0; row < m->rows; row += NUC_TILE_ROWS) {
            size_t rows = m->rows - row < NUC_TILE_ROWS ? m->rows - row : NUC_TILE_ROWS;
            m->tile(r->a + row * m->k, m->k, r->panels + first * m->k, m->k, rows, tile);
            for (size_t i = 0; i < rows; i++)
                store_row(r, tile + i * NUC_TILE_COLUMNS, row + i, first, count);
        }
    }
}

static void run(const struct nuc_eval_call *c)
{
    const struct matmul *m = c->state;
    const float *addend = m->beta != 0.0f ? nuc_eval_in(c, m->addend) : NULL;
    struct matmul_run r = {m, nuc_eval_in(c, m->a), m->panels, addend, c->out[0]};
    size_t panels = (m->columns + NUC_TILE_COLUMNS - 1) / NUC_TILE_COLUMNS;

    if (r.panels == NULL) {
        nuc_pack_panels(nuc_eval_in(c, m->b), m->k, m->columns, m->b_k_stride, m->b_column_stride, c->scratch);
        r.panels = c->scratch;
    }
    nuc_parallel_for(c->pool, panels, (double)m->rows * (double)m->columns * (double)m->k, compute_columns, &r);
}

const struct nuc_eval_op nuc_eval_linear = {.prepare = prepare_linear, .run = run};
const struct nuc_eval_op nuc_eval_addmm = {.prepare = prepare_addmm, .run = run};
const struct nuc_eval_op nuc_eval_mm = {.prepare = prepare_mm, .run = run};
