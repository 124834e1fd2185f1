/*
 * Products of matrices and softmax as the NPU has them: a fully connected layer of a matrix and constant weights, a
 * product of two batches of matrices, a softmax along the last dimension. Views and permutations lead there.
 */
#include "rewrite/npu_forms/npu_forms.h"

#include <math.h>
#include <string.h>

#include "npu/support/estimate.h"
#include "rewrite/fused_activation.h"
#include "rewrite/npu_forms/npu_function.h"

static bool is_constant(const struct nuc_node *x)
{
    return x != NULL && nuc_is_static(x);
}

static int64_t from_end(const struct nuc_node *x, uint32_t i)
{
    const struct nuc_meta *m = &x->vals[0];

    return i < m->rank ? m->sizes[m->rank - 1 - i] : 1;
}

/* ---- constant weights ---- */

/* x [.., K] times constant weights [O, K], and those transposed: [.., O]. */
static struct nuc_node *dense(const struct nuc_support *s, struct nuc_node *node, struct nuc_node *x,
                              struct nuc_node *weight, struct nuc_node *bias)
{
    return nuc_built(s, node, "dense", NUC_ARGS(x, weight, bias));
}

/* Constant weights [K, O] as [O, K]: what a fully connected layer reads, which else would be transposed at run time. */
static struct nuc_node *transposed_constant(struct nuc_graph *g, struct nuc_node *weight)
{
    const int64_t rows = from_end(weight, 1), columns = from_end(weight, 0), sizes[2] = {columns, rows};
    const struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, 2);
    const float *from = nuc_const_contiguous(g, weight);
    float *to = nuc_alloc_array(g->cx, (size_t)(rows * columns), sizeof *to);

    for (int64_t i = 0; i < rows * columns; i++)
        to[i % columns * rows + i / columns] = from[i];
    return nuc_take_parameter(g, weight, "_transposed", &meta, to);
}

/* A constant matrix that is the same for the whole batch, which is that of the other factor. */
static bool is_constant_matrix(struct nuc_graph *g, const struct nuc_node *x, const struct nuc_node *other)
{
    if (!is_constant(x) || x->vals[0].rank < 2)
        return false;
    for (uint32_t i = 2; i < x->vals[0].rank; i++) {
        if (from_end(x, i) != 1 && from_end(x, i) != from_end(other, i))
            return false;
    }
    int64_t matrix = from_end(x, 0) * from_end(x, 1), count = nuc_elements(&x->vals[0]);
    /* As an expanded one is once it has been computed: what is behind the first matrix begins with that. */
    const float *data = count > matrix && x->vals[0].dtype == NUC_F32 ? nuc_const_contiguous(g, x) : NULL;
    return count == matrix ||
           (data != NULL && memcmp(data, data + matrix, (size_t)(count - matrix) * sizeof *data) == 0);
}

/* A view of a constant is a constant. */
static struct nuc_node *as_constant_matrix(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x, int64_t rows,
                                           int64_t columns)
{
    const int64_t sizes[2] = {rows, columns};

    return x->vals[0].rank == 2 ? x : nuc_insert_floats(g, node, nuc_const_contiguous(g, x), sizes, 2);
}

/* ---- products of two tensors ---- */

/* A vector is a row on the left and a column on the right. */
static struct nuc_node *as_matrix(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *x, bool is_row)
{
    const int64_t sizes[2] = {is_row ? 1 : from_end(x, 0), is_row ? from_end(x, 0) : 1};

    if (x->vals[0].rank == 1 && is_constant(x))
        return as_constant_matrix(g, node, x, sizes[0], sizes[1]);
    return x->vals[0].rank == 1 ? nuc_insert_reshaped(g, node, x, sizes, 2) : x;
}

static struct nuc_node *product_of(const struct nuc_support *s, struct nuc_node *node, struct nuc_node *a,
                                   struct nuc_node *b)
{
    struct nuc_graph *g = s->g;

    a = as_matrix(g, node, a, true);
    b = as_matrix(g, node, b, false);
    if (is_constant_matrix(g, b, a))
        return dense(s, node, a, transposed_constant(g, b), NULL);
    if (is_constant_matrix(g, a, b))
        return nuc_built(s, node, "dense_of_columns",
                         NUC_ARGS(b, as_constant_matrix(g, node, a, from_end(a, 1), from_end(a, 0))));
    return nuc_built(s, node, "batched_product", NUC_ARGS(a, b));
}

/* ---- forms ---- */

/* Functions that the NPU neither has nor computes by others stay in float on the CPU. */
static bool is_float_function(const struct nuc_support *s, const struct nuc_node *node)
{
    return node->op == NUC_OP_GRID_SAMPLER_2D ||
           (nuc_op_family(node->op) == NUC_FAMILY_MAP && !nuc_has_bounds(node) &&
            nuc_support_row(s, node->op) == NULL && !nuc_has_npu_function(s, node));
}

/* All that reads a value, behind moves and bounds, are such functions. */
static bool is_read_by_float_functions(const struct nuc_support *s, const struct nuc_node *node, int depth)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        enum nuc_family family = nuc_op_family(user->op);
        bool passes = nuc_has_bounds(user) || family == NUC_FAMILY_VIEW || family == NUC_FAMILY_PERMUTE;
        if (!is_float_function(s, user) && (!passes || depth == 0 || !is_read_by_float_functions(s, user, depth - 1)))
            return false;
    }
    return node->n_users > 0;
}

/* The value comes from a constant, or behind moves from an operator that stays on the CPU. */
static bool is_made_on_cpu(const struct nuc_support *s, const struct nuc_node *x)
{
    while (x != NULL && x->n_users == 1 &&
           (nuc_op_family(x->op) == NUC_FAMILY_VIEW || nuc_op_family(x->op) == NUC_FAMILY_PERMUTE))
        x = nuc_arg_node(x, NUC_SELF);
    return x == NULL || is_constant(x) || nuc_op_family(x->op) == NUC_FAMILY_SELECT || is_float_function(s, x);
}

/*
 * What comes from the CPU in any case, and all the more what goes on in float there and so loses precision, has to be
 * worth it for the cycles of the product alone.
 */
static bool gains(const struct nuc_support *s, const struct nuc_node *node)
{
    uint64_t cpu = nuc_estimate_cpu(s->target, node, s->target->cpu == NULL), npu = nuc_estimate_npu(s->target, node);
    const uint64_t worth = 4;

    if (is_read_by_float_functions(s, node, 8))
        return cpu / worth > npu;
    return cpu > npu || !is_made_on_cpu(s, nuc_arg_node(node, NUC_SELF)) ||
           !is_made_on_cpu(s, nuc_arg_node(node, NUC_OTHER));
}

/* Of matrices with a constant one in any case; of batches of them with a constant for the whole batch alone. */
static struct nuc_node *form_matmul(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);
    const struct nuc_meta out = node->vals[0];

    if (!nuc_is_float_value(a) || !nuc_is_float_value(b) || a->vals[0].rank == 0 || b->vals[0].rank == 0 ||
        (node->op == NUC_OP_MM && is_constant(b) ? is_constant(a) : !gains(s, node)) ||
        (node->op == NUC_OP_BMM && !is_constant_matrix(s->g, a, b) && !is_constant_matrix(s->g, b, a)))
        return NULL;
    return nuc_insert_reshaped(s->g, node, product_of(s, node, a, b), out.sizes, out.rank);
}

/* ---- numbers that a factor is multiplied with ---- */

/* The number of x * number, when nothing else reads the product; NULL for anything else. */
static struct nuc_node *scale_of(const struct nuc_node *mul)
{
    struct nuc_node *number = mul->op == NUC_OP_MUL ? nuc_arg_node(mul, NUC_OTHER) : NULL;
    const struct nuc_node *x = mul->op == NUC_OP_MUL ? nuc_arg_node(mul, NUC_SELF) : NULL;

    return nuc_is_float_value(x) && nuc_is_float_value(number) && is_constant(number) &&
                   nuc_elements(&number->vals[0]) == 1 && mul->n_users == 1 && !mul->in_place &&
                   nuc_same_sizes(&mul->vals[0], &x->vals[0])
               ? number
               : NULL;
}

/* A view or permutation that nothing else reads. */
static bool is_reordered(const struct nuc_node *x)
{
    enum nuc_family family = nuc_op_family(x->op);

    return (family == NUC_FAMILY_VIEW || family == NUC_FAMILY_PERMUTE) && x->n_users == 1 &&
           nuc_arg_node(x, NUC_SELF) != NULL;
}

static struct nuc_node *scaled_behind(struct nuc_node *factor)
{
    while (factor != NULL && is_reordered(factor))
        factor = nuc_arg_node(factor, NUC_SELF);
    return factor;
}

static bool is_scaled(const struct nuc_node *product, uint32_t arg)
{
    const struct nuc_node *mul = scaled_behind(nuc_arg_node(product, arg));

    return mul != NULL && scale_of(mul) != NULL;
}

/* The factor without the number, by which *scale is multiplied. */
static struct nuc_node *unscaled(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *factor, double *scale)
{
    struct nuc_node *mul = scaled_behind(factor), *number = mul == NULL ? NULL : scale_of(mul);

    if (number == NULL)
        return factor;
    if (factor == mul) {
        *scale *= (double)*(const float *)nuc_const_contiguous(g, number);
        return nuc_operand(g, mul, NUC_SELF);
    }
    struct nuc_node *inner = unscaled(g, node, nuc_operand(g, factor, NUC_SELF), scale);
    return nuc_emit_like(g, node, factor, NUC_ARGS(inner));
}

/* The number goes behind the product, whose kernel takes it with it. */
static struct nuc_node *form_scaled_bmm(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_ARG(BMM, mat2));
    double scale = 1.0;

    if (!nuc_is_float_value(node) || a == b || (!is_scaled(node, NUC_SELF) && !is_scaled(node, NUC_ARG(BMM, mat2))))
        return NULL;
    a = unscaled(s->g, node, a, &scale);
    b = unscaled(s->g, node, b, &scale);
    return nuc_insert_with_number(s->g, node, NUC_OP_MUL, nuc_insert_binary(s->g, node, NUC_OP_BMM, a, b), scale);
}

static struct nuc_node *form_addmm(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_ARG(ADDMM, mat1)), *b = nuc_arg_node(node, NUC_ARG(ADDMM, mat2));
    struct nuc_node *bias = nuc_arg_node(node, NUC_SELF);

    if (!nuc_is_float_value(a) || !nuc_is_float_value(b) || !nuc_is_float_value(bias) ||
        !nuc_numbers_equal(nuc_scalar(node, NUC_ARG(ADDMM, beta), 1.0), 1.0) ||
        !nuc_numbers_equal(nuc_scalar(node, NUC_ARG(ADDMM, alpha), 1.0), 1.0))
        return NULL;
    if (!is_constant(b))
        return nuc_insert_binary(s->g, node, NUC_OP_ADD, product_of(s, node, a, b), bias);
    return is_constant(bias) && bias->vals[0].rank == 1 && bias->vals[0].sizes[0] == from_end(b, 0)
               ? dense(s, node, a, transposed_constant(s->g, b), bias)
               : NULL;
}

/* What a product computes with it: the reference's way with other activations loses half of the range. */
static bool is_bound(const struct nuc_node *node)
{
    return node->op == NUC_OP_RELU || node->op == NUC_OP_RELU6 ||
           (node->op == NUC_OP_HARDTANH && nuc_is_fused_activation(node));
}

/* Those that are a view, a matrix and a view in any case stay: quantized as a whole the views are as well. */
static struct nuc_node *form_linear(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *x = nuc_arg_node(node, NUC_ARG(LINEAR, input)),
                    *weight = nuc_arg_node(node, NUC_ARG(LINEAR, weight)),
                    *bias = nuc_arg_node(node, NUC_ARG(LINEAR, bias));

    if (!nuc_is_float_value(x) || !nuc_is_float_value(weight) || weight->vals[0].rank != 2 || x->vals[0].rank == 0)
        return NULL;
    if (!is_constant(weight)) {
        struct nuc_node *product = product_of(s, node, x, nuc_built(s, node, "swapped_last", NUC_ARGS(weight)));
        return nuc_built(s, node, "stated_with_bias", NUC_ARGS(product, bias));
    }
    return x->vals[0].rank != 2 && (x->vals[0].rank == 1 || !nuc_is_contiguous(&x->vals[0]) ||
                                    (node->n_users == 1 && is_bound(node->users[0])))
               ? dense(s, node, x, weight, bias)
               : NULL;
}

/* ---- activations ---- */

static bool is_view(const struct nuc_node *node)
{
    return node != NULL && node->n_users == 1 && (node->op == NUC_OP_RESHAPE || node->op == NUC_OP_VIEW);
}

static struct nuc_node *form_activation(const struct nuc_support *s, struct nuc_node *node)
{
    const struct nuc_node *view = nuc_arg_node(node, NUC_SELF);
    struct nuc_node *product = is_view(view) ? nuc_arg_node(view, NUC_SELF) : NULL;
    const struct nuc_meta out = node->vals[0];

    if (!is_bound(node) || product == NULL || product->n_users != 1 || product->op == NUC_OP_CONV2D ||
        !nuc_takes_activation(product))
        return NULL;
    return nuc_insert_reshaped(s->g, node, nuc_emit_like(s->g, node, node, NUC_ARGS(product)), out.sizes, out.rank);
}

/* ---- softmax ---- */

bool nuc_is_of_images(const struct nuc_node *x)
{
    for (int depth = 0; x != NULL && depth < 64; depth++) {
        switch ((int)nuc_op_family(x->op)) {
        case NUC_FAMILY_CONV:
        case NUC_FAMILY_POOL:
        case NUC_FAMILY_RESIZE:
            return true;
        case NUC_FAMILY_MAP:
        case NUC_FAMILY_BINARY:
        case NUC_FAMILY_SOFTMAX:
        case NUC_FAMILY_SLICE:
        case NUC_FAMILY_PAD:
            x = nuc_arg_node(x, NUC_SELF);
            break;
        default:
            return x->n_vals == 1 && nuc_is_channels_last(&x->vals[0]);
        }
    }
    return false;
}

static int64_t softmax_dim(const struct nuc_node *node)
{
    return nuc_dim(node, NUC_ARG(SOFTMAX, dim), -1, node->vals[0].rank);
}

static bool is_plain_softmax(const struct nuc_node *node)
{
    const struct nuc_node *x = nuc_arg_node(node, NUC_SELF);

    return nuc_is_float_value(x) && nuc_is_float_value(node) && x->vals[0].rank > 1 &&
           (node->op != NUC_OP_NATIVE_SOFTMAX || !nuc_flag(node, NUC_ARG(NATIVE_SOFTMAX, half_to_float)));
}

/* The dimension goes to the end and comes back; a view keeps images of one order from being images. */
static struct nuc_node *form_softmax(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_graph *g = s->g;
    const struct nuc_meta out = node->vals[0];
    int64_t dim = softmax_dim(node), last = out.rank - 1;

    if (!is_plain_softmax(node) || dim < 0 || dim > last || out.sizes[dim] > s->target->max_softmax_channels ||
        dim == (last > 1 && nuc_is_of_images(nuc_arg_node(node, NUC_SELF)) ? 1 : last))
        return NULL;
    struct nuc_node *x = nuc_insert_moved_dims(g, node, nuc_operand(g, node, NUC_SELF), &dim, &last, 1);
    const struct nuc_meta moved = x->vals[0];

    x = nuc_built(s, node, "as_rows_of_last", NUC_ARGS(x));
    x = nuc_emit_like(g, node, node, NUC_ARGS(x, 1));
    x = nuc_insert_reshaped(g, node, x, moved.sizes, moved.rank);
    return nuc_insert_moved_dims(g, node, x, &last, &dim, 1);
}

/* The dimension to halve: of rows their number, of images the first one behind the channels that has several. */
static int64_t halved_dim(const struct nuc_node *node)
{
    const struct nuc_meta *m = &node->vals[0];
    int64_t d = 2;

    if (softmax_dim(node) != 1 || m->rank < 3 || !nuc_is_of_images(nuc_arg_node(node, NUC_SELF)))
        return softmax_dim(node) == m->rank - 1 ? 0 : m->rank;
    while (d < m->rank && m->sizes[d] < 2)
        d++;
    return d;
}

static struct nuc_node *form_softmax_halves(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_graph *g = s->g;
    const struct nuc_target *t = s->target;
    const struct nuc_meta out = node->vals[0];

    if (!is_plain_softmax(node) || out.rank < 2 || halved_dim(node) == out.rank)
        return NULL;
    int64_t columns = out.sizes[softmax_dim(node)], elements = nuc_elements(&out), rows = elements / columns;
    if (columns > t->max_softmax_channels || rows <= 1 ||
        (rows <= t->max_softmax_rows && elements <= t->max_softmax_elements))
        return NULL;
    int64_t d = halved_dim(node), dim = d == 0 ? 1 : softmax_dim(node);
    struct nuc_node *x = nuc_operand(g, node, NUC_SELF), *parts[2];
    if (d == 0)
        x = nuc_built(s, node, "as_rows_of_last", NUC_ARGS(x));
    int64_t size = x->vals[0].sizes[d], half = (size + 1) / 2;
    for (int i = 0; i < 2; i++) {
        struct nuc_node *part = nuc_insert_part(g, node, x, (uint32_t)d, i * half, i == 0 ? half : size);
        parts[i] = nuc_emit_like(g, node, node, NUC_ARGS(part, dim));
    }
    return nuc_insert_reshaped(g, node, nuc_insert_cat(g, node, parts, 2, d), out.sizes, out.rank);
}

/* ---- the forms ---- */

const struct nuc_npu_form nuc_matrix_forms[] = {
    /* linear of an input that is not a matrix, or with weights that are computed. */
    {NUC_OPS(NUC_OP_LINEAR), form_linear},
    /* matmul of float tensors of any rank; mm and bmm: linear where a matrix is constant, mm else bmm. */
    {NUC_OPS(NUC_OP_MATMUL, NUC_OP_MM, NUC_OP_BMM), form_matmul},
    /* bmm of factors that are multiplied with a number. */
    {NUC_OPS(NUC_OP_BMM), form_scaled_bmm},
    /* addmm: linear where the second matrix is constant, else bmm. */
    {NUC_OPS(NUC_OP_ADDMM), form_addmm},
    /* relu(reshape(linear)) as reshape(relu(linear)): the two are one kernel. */
    {NUC_OPS(NUC_OP_RELU, NUC_OP_RELU6, NUC_OP_HARDTANH), form_activation},
    /* softmax of more rows than the NPU takes at once. */
    {NUC_OPS(NUC_OP_SOFTMAX, NUC_OP_NATIVE_SOFTMAX), form_softmax_halves},
    /* softmax along a dimension that is not the channels, in the order in which they lie on the NPU. */
    {NUC_OPS(NUC_OP_SOFTMAX, NUC_OP_NATIVE_SOFTMAX), form_softmax},
    {.form = NULL},
};
