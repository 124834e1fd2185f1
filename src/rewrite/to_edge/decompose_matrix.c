/* Matrix products of tensors of any rank, as torch's linear and matmul lead them back to mm, addmm and bmm. */
#include <string.h>

#include "ir/args.h"
#include "ir/quant.h"
#include "npu/layout/orders.h"
#include "rewrite/insert.h"
#include "rewrite/to_edge/decompose.h"

/* Weight [O, I] to [I, O]. */
static struct nuc_node *insert_transposed(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *weight)
{
    const int64_t dims[2] = {1, 0};

    return nuc_insert_permute(g, node, weight, dims);
}

/* ---- matmul ---- */

/* A product of two vectors or of a matrix and a vector runs on matrices: the vector gets a dimension of size 1. */
static struct nuc_node *as_matrix(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *vector, bool is_row)
{
    int64_t n = vector->vals[0].sizes[0];
    const int64_t sizes[2] = {is_row ? 1 : n, is_row ? n : 1};

    return vector->vals[0].rank == 1 ? nuc_insert_view(g, node, vector, sizes, 2) : vector;
}

/* [..., M, K] x [K, N] is one product of [... * M, K], when that is a view: its leading dimensions nest. */
static bool folds(const struct nuc_meta *a, const struct nuc_meta *b)
{
    int64_t strides[NUC_MAX_RANK];

    if (a->rank < 3 || b->rank != 2)
        return false;
    if (nuc_elements(a) == 0)
        return true;
    nuc_dense_strides(a, strides);
    for (uint32_t i = 0; i + 2 < a->rank; i++) {
        if (strides[i] != strides[i + 1] * a->sizes[i + 1])
            return false;
    }
    return true;
}

/*
 * Whether the batch dimensions of an expanded tensor nest, so that they become one without a copy: as torch traces it,
 * an expanded dimension has stride 0 and the others keep those of the tensor.
 */
static bool batches_nest(const struct nuc_meta *m, const int64_t *sizes, uint32_t n_batch)
{
    int64_t dense[NUC_MAX_RANK], strides[NUC_MAX_RANK] = {0};
    uint32_t missing = n_batch + 2 - m->rank;
    int32_t inner = -1; /* last dimension met that is not 1 */

    nuc_dense_strides(m, dense);
    for (uint32_t i = n_batch; i-- > 0;) {
        if (i >= missing && m->sizes[i - missing] != 1)
            strides[i] = dense[i - missing];
        if (sizes[i] == 1)
            continue;
        if (inner >= 0 && strides[i] != strides[inner] * sizes[inner])
            return false;
        inner = (int32_t)i;
    }
    return true;
}

/* [..., M, K] expanded to the batch dimensions of `batch`, `n_batch` of them, and those made one: [B, M, K]. */
static struct nuc_node *insert_batches(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *matrix,
                                       const int64_t *batch, uint32_t n_batch)
{
    const struct nuc_meta m = matrix->vals[0];
    int64_t sizes[NUC_MAX_RANK], flat[3] = {1, m.sizes[m.rank - 2], m.sizes[m.rank - 1]};

    for (uint32_t i = 0; i < n_batch; i++) {
        sizes[i] = batch[i];
        flat[0] *= batch[i];
    }
    sizes[n_batch] = flat[1];
    sizes[n_batch + 1] = flat[2];
    matrix = nuc_insert_expand(g, node, matrix, sizes, n_batch + 2);
    if (!batches_nest(&m, sizes, n_batch)) {
        struct nuc_meta contiguous = matrix->vals[0];
        nuc_set_contiguous(&contiguous);
        matrix = nuc_insert_clone(g, node, matrix, &contiguous);
    }
    return nuc_insert_view(g, node, matrix, flat, 3);
}

static struct nuc_node *insert_matmul(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *a,
                                      struct nuc_node *b)
{
    a = as_matrix(g, node, a, true);
    b = as_matrix(g, node, b, false);
    if (a->vals[0].rank == 2 && b->vals[0].rank == 2)
        return nuc_insert_binary(g, node, NUC_OP_MM, a, b);
    if (folds(&a->vals[0], &b->vals[0])) {
        const struct nuc_meta *m = &a->vals[0];
        int64_t k = m->sizes[m->rank - 1], sizes[NUC_MAX_RANK];
        const int64_t rows[2] = {k == 0 ? 0 : nuc_elements(m) / k, k};
        uint32_t rank = m->rank;
        memcpy(sizes, m->sizes, sizeof sizes);
        sizes[rank - 1] = b->vals[0].sizes[1];
        struct nuc_node *product = nuc_insert_binary(g, node, NUC_OP_MM, nuc_insert_reshape(g, node, a, rows, 2), b);
        return nuc_insert_view(g, node, product, sizes, rank);
    }
    const struct nuc_meta x = a->vals[0], y = b->vals[0];
    uint32_t rank = x.rank > y.rank ? x.rank : y.rank;
    int64_t sizes[NUC_MAX_RANK];
    for (uint32_t i = 0; i + 2 < rank; i++) {
        int64_t s = i + x.rank < rank ? 1 : x.sizes[i + x.rank - rank];
        int64_t t = i + y.rank < rank ? 1 : y.sizes[i + y.rank - rank];
        sizes[i] = s == 1 ? t : s;
    }
    sizes[rank - 2] = x.sizes[x.rank - 2];
    sizes[rank - 1] = y.sizes[y.rank - 1];
    struct nuc_node *left = insert_batches(g, node, a, sizes, rank - 2);
    struct nuc_node *right = insert_batches(g, node, b, sizes, rank - 2);
    return nuc_insert_view(g, node, nuc_insert_binary(g, node, NUC_OP_BMM, left, right), sizes, rank);
}

static struct nuc_node *to_matmul(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *a = nuc_operand(g, node, NUC_SELF), *b = nuc_operand(g, node, NUC_OTHER);
    const struct nuc_meta out = node->vals[0];

    if (a->vals[0].rank == 0 || b->vals[0].rank == 0)
        nuc_fail(g->cx, NUC_BAD_INPUT, "%s: %s multiplies a tensor without dimensions: use mul", g->file,
                 nuc_node_text(g->cx, node));
    struct nuc_node *product = insert_matmul(g, node, a, b);
    return product->vals[0].rank == out.rank ? product : nuc_insert_view(g, node, product, out.sizes, out.rank);
}

/* ---- linear ---- */

/* Weights with a scale for each output, which a product of activations cannot have. */
static bool has_scale_for_each_row(const struct nuc_node *weight)
{
    struct nuc_quant q;

    return nuc_dequantize_quant(weight, &q) && q.per_channel;
}

/* bias + input * weight^T for an input [..., I] as [N, I]; without a bias the product alone. */
static struct nuc_node *insert_dense(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                     struct nuc_node *weight, struct nuc_node *bias)
{
    const struct nuc_meta out = node->vals[0], *in = &input->vals[0];
    int64_t features = in->sizes[in->rank - 1];
    const int64_t rows[2] = {features == 0 ? 0 : nuc_elements(in) / features, features};
    bool flat = in->rank == 2;

    if (!flat)
        input = nuc_insert_reshape(g, node, input, rows, 2);
    struct nuc_node *transposed = insert_transposed(g, node, weight);
    struct nuc_node *product = bias == NULL ? nuc_insert_binary(g, node, NUC_OP_MM, input, transposed)
                                            : nuc_emit(g, node, NUC_OP_ADDMM, node, NUC_ARGS(bias, input, transposed));
    return flat ? product : nuc_insert_view(g, node, product, out.sizes, out.rank);
}

/*
 * addmm where the input is a matrix or lies contiguously, else matmul, with the bias added. Torch transposes the weight
 * before it touches the input in matmul, and after in addmm.
 */
static struct nuc_node *to_linear(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *input = nuc_operand(g, node, NUC_ARG(LINEAR, input)),
                    *weight = nuc_operand(g, node, NUC_ARG(LINEAR, weight)),
                    *bias = nuc_arg_node(node, NUC_ARG(LINEAR, bias));
    const struct nuc_meta out = node->vals[0];

    if ((bias != NULL && (input->vals[0].rank == 2 || nuc_is_contiguous(&input->vals[0]))) ||
        (input->vals[0].rank > 1 && has_scale_for_each_row(weight)))
        return insert_dense(g, node, input, weight, bias);
    struct nuc_node *transposed = insert_transposed(g, node, weight);
    struct nuc_node *product = insert_matmul(g, node, input, transposed);
    if (product->vals[0].rank != out.rank)
        product = nuc_insert_view(g, node, product, out.sizes, out.rank);
    return bias == NULL ? product : nuc_insert_binary(g, node, NUC_OP_ADD, product, bias);
}

const struct nuc_decomposition nuc_matrix_decompositions[] = {
    {.op = NUC_OP_LINEAR, .rewrite = to_linear, .carrier = NUC_OP_ADDMM},
    {.op = NUC_OP_MATMUL, .rewrite = to_matmul, .carrier = NUC_OP_BMM},
    {.rewrite = NULL},
};
