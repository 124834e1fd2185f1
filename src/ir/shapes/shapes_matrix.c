/* Shape rules of matrix products, whose results are contiguous. */
#include "ir/shapes/shapes.h"

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

/* [n, k] times [k, m]; of rank 3 with a batch in front */
static struct nuc_meta matrix_product(const struct nuc_shape_call *c, const struct nuc_meta *a,
                                      const struct nuc_meta *b, int rank)
{
    if (a->rank != rank || b->rank != rank || a->sizes[rank - 1] != b->sizes[rank - 2] ||
        (rank == 3 && a->sizes[0] != b->sizes[0]) || a->dtype != b->dtype)
        nuc_shape_fail(c, "%s and %s cannot be multiplied", nuc_meta_text(c->g->cx, a), nuc_meta_text(c->g->cx, b));
    struct nuc_meta m = *a;
    m.sizes[rank - 1] = b->sizes[rank - 1];
    nuc_order_as(&m, false);
    return m;
}

/* self + mat1 * mat2, self broadcast */
void nuc_shape_addmm(const struct nuc_shape_call *c)
{
    const struct nuc_meta *self = nuc_shape_input(c, NUC_SELF);
    struct nuc_meta m =
        matrix_product(c, nuc_shape_input(c, NUC_ARG(ADDMM, mat1)), nuc_shape_input(c, NUC_ARG(ADDMM, mat2)), 2);

    if (self->rank > 2 || !nuc_broadcasts_to(self, &m))
        nuc_shape_fail(c, "%s cannot be added to %s", nuc_meta_text(c->g->cx, self), nuc_meta_text(c->g->cx, &m));
    nuc_shape_result(c, &m);
}

/* mm and bmm */
void nuc_shape_mm(const struct nuc_shape_call *c)
{
    struct nuc_meta m = matrix_product(c, nuc_shape_input(c, NUC_SELF), nuc_shape_input(c, NUC_ARG(MM, mat2)),
                                       c->node->op == NUC_OP_BMM ? 3 : 2);

    nuc_shape_result(c, &m);
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
    /* The batch dimensions of a product, those in front of the matrices, broadcast. */
    struct nuc_meta batch_a = nuc_meta_make(a->dtype, a->sizes, a->rank < 2 ? 0 : a->rank - 2u);
    struct nuc_meta batch_b = nuc_meta_make(b->dtype, b->sizes, b->rank < 2 ? 0 : b->rank - 2u);
    if (!nuc_broadcast_sizes(&batch_a, &batch_b, &m))
        nuc_shape_fail(c, "the batches of %s and %s do not broadcast", nuc_meta_text(c->g->cx, a),
                       nuc_meta_text(c->g->cx, b));
    if (a->rank > 1)
        m.sizes[m.rank++] = a->sizes[a->rank - 2];
    if (b->rank > 1)
        m.sizes[m.rank++] = b->sizes[b->rank - 1];
    nuc_order_as(&m, false);
    nuc_shape_result(c, &m);
}
