/* Shape rules of matrix products and recurrent layers. Results of products are contiguous. */
#include "compiler/graph/shapes.h"

/* input [..., in], weight [out, in] or [in], bias [out] */
void nuc_shape_linear(const struct nuc_shape_call *c)
{
    const struct nuc_meta *in = nuc_shape_input(c, NUC_SELF);
    const struct nuc_meta *w = nuc_shape_input(c, NUC_ARG(LINEAR, weight));
    const struct nuc_meta *bias = nuc_shape_optional_input(c, NUC_ARG(LINEAR, bias));
    struct nuc_meta m = *in;

    if (in->rank < 1 || w->rank < 1 || w->rank > 2 || in->sizes[in->rank - 1] != w->sizes[w->rank - 1])
        nuc_shape_fail(c, "the input %s and the weight %s do not fit each other", nuc_meta_text(c->g->cx, in),
                       nuc_meta_text(c->g->cx, w));
    if (in->dtype != w->dtype)
        nuc_shape_fail(c, "the input is %s, the weight %s", nuc_dtype_name(in->dtype), nuc_dtype_name(w->dtype));
    if (w->rank == 2)
        m.sizes[m.rank - 1] = w->sizes[0];
    else
        m.rank--;
    if (bias != NULL && (bias->rank > 1 || (bias->rank == 1 && (w->rank != 2 || bias->sizes[0] != w->sizes[0]))))
        nuc_shape_fail(c, "the bias %s does not fit the weight %s", nuc_meta_text(c->g->cx, bias),
                       nuc_meta_text(c->g->cx, w));
    nuc_order_as(&m, false);
    nuc_shape_result(c, &m);
}

static struct nuc_meta matrix_product(const struct nuc_shape_call *c, const struct nuc_meta *a,
                                      const struct nuc_meta *b)
{
    if (a->rank != 2 || b->rank != 2 || a->sizes[1] != b->sizes[0] || a->dtype != b->dtype)
        nuc_shape_fail(c, "%s and %s cannot be multiplied", nuc_meta_text(c->g->cx, a), nuc_meta_text(c->g->cx, b));
    struct nuc_meta m = nuc_meta_make(a->dtype, (const int64_t[]){a->sizes[0], b->sizes[1]}, 2);
    nuc_order_as(&m, false);
    return m;
}

/* self + mat1 * mat2, self broadcast */
void nuc_shape_addmm(const struct nuc_shape_call *c)
{
    const struct nuc_meta *self = nuc_shape_input(c, NUC_SELF);
    struct nuc_meta m =
        matrix_product(c, nuc_shape_input(c, NUC_ARG(ADDMM, mat1)), nuc_shape_input(c, NUC_ARG(ADDMM, mat2)));
    bool fits = self->rank <= 2;

    for (uint32_t i = 0; fits && i < self->rank; i++) {
        int64_t size = self->sizes[i];
        fits = size == 1 || size == m.sizes[i + 2 - self->rank];
    }
    if (!fits)
        nuc_shape_fail(c, "%s cannot be added to %s", nuc_meta_text(c->g->cx, self), nuc_meta_text(c->g->cx, &m));
    nuc_shape_result(c, &m);
}

void nuc_shape_mm(const struct nuc_shape_call *c)
{
    struct nuc_meta m = matrix_product(c, nuc_shape_input(c, NUC_SELF), nuc_shape_input(c, NUC_ARG(MM, mat2)));

    nuc_shape_result(c, &m);
}

/* [batch, n, k] times [batch, k, m] */
void nuc_shape_bmm(const struct nuc_shape_call *c)
{
    const struct nuc_meta *a = nuc_shape_input(c, NUC_SELF);
    const struct nuc_meta *b = nuc_shape_input(c, NUC_ARG(BMM, mat2));

    if (a->rank != 3 || b->rank != 3 || a->sizes[0] != b->sizes[0] || a->sizes[2] != b->sizes[1] ||
        a->dtype != b->dtype)
        nuc_shape_fail(c, "%s and %s cannot be multiplied", nuc_meta_text(c->g->cx, a), nuc_meta_text(c->g->cx, b));
    struct nuc_meta m = nuc_meta_make(a->dtype, (const int64_t[]){a->sizes[0], a->sizes[1], b->sizes[2]}, 3);
    nuc_order_as(&m, false);
    nuc_shape_result(c, &m);
}

/* The batch dimensions of a product, those in front of the matrices, broadcast. */
static void broadcast_batch(const struct nuc_shape_call *c, const struct nuc_meta *a, const struct nuc_meta *b,
                            struct nuc_meta *m)
{
    int batch_a = a->rank - 2, batch_b = b->rank - 2;
    int rank = batch_a > batch_b ? batch_a : batch_b;

    for (int i = 0; i < rank; i++) {
        int at_a = i - (rank - batch_a), at_b = i - (rank - batch_b);
        int64_t size_a = at_a < 0 ? 1 : a->sizes[at_a];
        int64_t size_b = at_b < 0 ? 1 : b->sizes[at_b];
        if (size_a != size_b && size_a != 1 && size_b != 1)
            nuc_shape_fail(c, "the batches of %s and %s do not broadcast", nuc_meta_text(c->g->cx, a),
                           nuc_meta_text(c->g->cx, b));
        m->sizes[m->rank++] = size_a == 1 ? size_b : size_a;
    }
}

/* torch.matmul: a vector on the left is a row, on the right a column, and leaves no dimension in the result. */
void nuc_shape_matmul(const struct nuc_shape_call *c)
{
    const struct nuc_meta *a = nuc_shape_input(c, NUC_SELF);
    const struct nuc_meta *b = nuc_shape_input(c, NUC_ARG(MATMUL, other));
    struct nuc_meta m = {.dtype = a->dtype};

    if (a->rank == 0 || b->rank == 0 || a->dtype != b->dtype ||
        a->sizes[a->rank - 1] != b->sizes[b->rank == 1 ? 0 : b->rank - 2])
        nuc_shape_fail(c, "%s and %s cannot be multiplied", nuc_meta_text(c->g->cx, a), nuc_meta_text(c->g->cx, b));
    broadcast_batch(c, a, b, &m);
    if (a->rank > 1)
        m.sizes[m.rank++] = a->sizes[a->rank - 2];
    if (b->rank > 1)
        m.sizes[m.rank++] = b->sizes[b->rank - 1];
    nuc_order_as(&m, false);
    nuc_shape_result(c, &m);
}

/* ---- gru ---- */

struct gru {
    const struct nuc_meta *input, *hidden; /* [T, B, in] or, batch first, [B, T, in]; [layers * directions, B, H] */
    const struct nuc_arg *params;
    int64_t layers, directions;
    uint32_t n_each; /* tensors of one layer and direction: two weights, two biases */
    bool batch_first;
};

static const struct nuc_meta *gru_param(const struct nuc_shape_call *c, const struct gru *v, uint32_t index)
{
    const struct nuc_node *node = v->params->u.nodes[index];

    if (node == NULL || node->is_tuple || node->n_vals != 1)
        nuc_shape_fail(c, "parameter %u is not a tensor", (unsigned)index);
    return &node->vals[0];
}

static void check_gru_matrix(const struct nuc_shape_call *c, const struct gru *v, uint32_t index, int64_t columns)
{
    const struct nuc_meta *m = gru_param(c, v, index);
    int64_t rows = 3 * v->hidden->sizes[2];

    if (m->rank != 2 || m->sizes[0] != rows || m->sizes[1] != columns)
        nuc_shape_fail(c, "weight %u is %s instead of [%lld, %lld]", (unsigned)index, nuc_meta_text(c->g->cx, m),
                       (long long)rows, (long long)columns);
}

/* weight_ih [3H, in], weight_hh [3H, H], then biases [3H] for each layer and direction */
static void check_gru_params(const struct nuc_shape_call *c, const struct gru *v)
{
    int64_t hidden = v->hidden->sizes[2];

    for (uint32_t i = 0; i < v->params->count; i += v->n_each) {
        bool first_layer = i / v->n_each < v->directions;
        check_gru_matrix(c, v, i, first_layer ? v->input->sizes[2] : hidden * v->directions);
        check_gru_matrix(c, v, i + 1, hidden);
        for (uint32_t k = 2; k < v->n_each; k++) {
            const struct nuc_meta *bias = gru_param(c, v, i + k);
            if (bias->rank != 1 || bias->sizes[0] != 3 * hidden)
                nuc_shape_fail(c, "bias %u is %s instead of [%lld]", (unsigned)(i + k), nuc_meta_text(c->g->cx, bias),
                               (long long)(3 * hidden));
        }
    }
}

/* The output is made with time first and, batch first, seen transposed. */
static struct nuc_meta gru_output(const struct gru *v)
{
    const struct nuc_meta *in = v->input;
    struct nuc_meta m = *in;
    int64_t strides[NUC_MAX_RANK];

    m.sizes[2] = v->hidden->sizes[2] * v->directions;
    nuc_set_contiguous(&m);
    if (nuc_checked_elements(m.sizes, m.rank) < 0)
        return m;
    strides[2] = 1;
    strides[v->batch_first ? 0 : 1] = m.sizes[2];
    strides[v->batch_first ? 1 : 0] = m.sizes[2] * m.sizes[v->batch_first ? 0 : 1];
    nuc_dim_order_of_strides(m.sizes, strides, 3, m.dim_order);
    return m;
}

/* input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first */
void nuc_shape_gru(const struct nuc_shape_call *c)
{
    struct gru v = {.input = nuc_shape_input(c, NUC_SELF), .hidden = nuc_shape_input(c, NUC_ARG(GRU, hx))};

    v.params = nuc_shape_arg(c, NUC_ARG(GRU, params), NUC_ARG_NODES);
    v.n_each = nuc_shape_bool(c, NUC_ARG(GRU, has_biases)) ? 4 : 2;
    v.layers = nuc_shape_int(c, NUC_ARG(GRU, num_layers));
    v.directions = nuc_shape_bool(c, NUC_ARG(GRU, bidirectional)) ? 2 : 1;
    v.batch_first = nuc_shape_bool(c, NUC_ARG(GRU, batch_first));
    if (v.input->rank != 3 || v.hidden->rank != 3 || v.layers < 1 || v.hidden->sizes[0] != v.layers * v.directions ||
        v.hidden->sizes[1] != v.input->sizes[v.batch_first ? 0 : 1] || v.hidden->dtype != v.input->dtype)
        nuc_shape_fail(c, "the input %s and the hidden state %s do not fit each other",
                       nuc_meta_text(c->g->cx, v.input), nuc_meta_text(c->g->cx, v.hidden));
    if (v.params->count != v.layers * v.directions * v.n_each)
        nuc_shape_fail(c, "%u parameters are given, %lld are expected", (unsigned)v.params->count,
                       (long long)(v.layers * v.directions * v.n_each));
    check_gru_params(c, &v);
    struct nuc_meta state = *v.hidden;
    nuc_order_as(&state, false);
    struct nuc_meta output = gru_output(&v);
    nuc_shape_results(c, (struct nuc_meta[]){output, state}, 2);
}
