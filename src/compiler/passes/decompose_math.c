#include <string.h>

#include "compiler/passes/decompose.h"
#include "compiler/passes/rewrite.h"

struct nuc_node *to_same_args(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param)
{
    struct nuc_node *edge = nuc_insert(g, node, param, node);

    for (uint32_t i = 0; i < node->n_args && i < edge->n_args; i++)
        nuc_copy_arg(g, edge, i, node, i);
    nuc_set_val(g, edge, &node->vals[0]);
    return edge;
}

/* One element of an int[2] argument stands for both. */
static void copy_pair(struct nuc_graph *g, struct nuc_node *edge, uint32_t index, const struct nuc_node *node,
                      uint32_t from, int64_t fallback)
{
    const struct nuc_arg *a = &node->args[from];
    int64_t pair[2] = {fallback, fallback};

    if (a->kind == NUC_ARG_INT)
        pair[0] = pair[1] = a->u.i;
    else if (a->kind == NUC_ARG_INTS && a->count > 0) {
        pair[0] = a->u.ints[0];
        pair[1] = a->u.ints[a->count == 1 ? 0 : 1];
    }
    nuc_set_arg_ints(edge, g, index, pair, 2);
}

static struct nuc_node *insert_convolution(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input)
{
    struct nuc_node *conv = nuc_insert(g, node, NUC_OP_EDGE_CONVOLUTION, node);
    const int64_t zeros[2] = {0, 0};

    nuc_set_arg_node(conv, g, 0, input);
    nuc_copy_arg(g, conv, 1, node, 1);
    nuc_copy_arg(g, conv, 2, node, 2);
    conv->args[2].given = true;
    copy_pair(g, conv, 3, node, 3, 1);
    copy_pair(g, conv, 4, node, 4, 0);
    copy_pair(g, conv, 5, node, 5, 1);
    nuc_set_arg_bool(conv, 6, false);
    nuc_set_arg_ints(conv, g, 7, zeros, 2);
    nuc_set_arg_int(conv, 8, node->args[6].kind == NUC_ARG_INT ? node->args[6].u.i : 1);
    return conv;
}

/* Input [C, H, W] gets a batch dimension, which the result loses again. */
struct nuc_node *to_convolution(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param)
{
    struct nuc_node *input = nuc_operand(g, node, 0);
    const struct nuc_meta *in = &input->vals[0], *out = &node->vals[0];

    (void)param;
    if (in->rank != 3) {
        struct nuc_node *conv = insert_convolution(g, node, input);
        nuc_set_val(g, conv, out);
        return conv;
    }
    const int64_t in4[4] = {1, in->sizes[0], in->sizes[1], in->sizes[2]};
    const int64_t out4[4] = {1, out->sizes[0], out->sizes[1], out->sizes[2]};
    struct nuc_node *conv = insert_convolution(g, node, insert_view(g, node, input, in4, 4));
    nuc_set_contiguous_val(g, conv, out->dtype, out4, 4);
    return insert_view(g, node, conv, out->sizes, 3);
}

static struct nuc_node *insert_getitem(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *tuple)
{
    struct nuc_node *item = nuc_add_node(g, node, NUC_OP_GETITEM, NULL);

    item->source = node->source;
    nuc_set_arg_node(item, g, 0, tuple);
    nuc_set_arg_int(item, 1, 0);
    nuc_set_val(g, item, &tuple->vals[0]);
    return item;
}

/* From (input, weight, bias, mean, var, training, momentum, eps, cudnn); saved statistics are empty in inference. */
struct nuc_node *to_batch_norm(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param)
{
    struct nuc_node *norm = nuc_insert(g, node, param, node);
    const int64_t none[1] = {0};
    struct nuc_meta metas[3] = {node->vals[0], nuc_meta_make(NUC_F32, none, 1), nuc_meta_make(NUC_F32, none, 1)};

    if (node->args[5].kind == NUC_ARG_BOOL && node->args[5].u.b)
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s is in training mode: export the model after model.eval()", g->file,
                 nuc_node_text(g->cx, node));
    for (uint32_t i = 0; i < 5; i++)
        nuc_copy_arg(g, norm, i, node, i);
    nuc_copy_arg(g, norm, 5, node, 6);
    nuc_copy_arg(g, norm, 6, node, 7);
    nuc_set_tuple(g, norm, metas, 3);
    return insert_getitem(g, node, norm);
}

struct nuc_node *to_relu6(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param)
{
    struct nuc_node *edge = nuc_insert(g, node, param, node);

    nuc_copy_arg(g, edge, 0, node, 0);
    nuc_set_arg_float(edge, 1, 0.0);
    nuc_set_arg_float(edge, 2, 6.0);
    nuc_set_val(g, edge, &node->vals[0]);
    return edge;
}

struct nuc_node *to_max_pool(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param)
{
    struct nuc_node *pool = nuc_insert(g, node, param, node);
    struct nuc_meta metas[2] = {node->vals[0], node->vals[0]};

    metas[1].dtype = NUC_I64;
    for (uint32_t i = 0; i < node->n_args; i++)
        nuc_copy_arg(g, pool, i, node, i);
    nuc_set_tuple(g, pool, metas, 2);
    return insert_getitem(g, node, pool);
}

/* An output of 1 x 1 is the mean over height and width, which is contiguous whatever its input. */
struct nuc_node *to_adaptive_pool(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param)
{
    const struct nuc_meta *out = &node->vals[0];
    const int64_t dims[2] = {-1, -2};

    if (out->sizes[out->rank - 1] != 1 || out->sizes[out->rank - 2] != 1)
        return to_same_args(g, node, param);
    struct nuc_node *mean = nuc_insert(g, node, NUC_OP_EDGE_MEAN_DIM, node);
    nuc_copy_arg(g, mean, 0, node, 0);
    nuc_set_arg_ints(mean, g, 1, dims, 2);
    nuc_set_arg_bool(mean, 2, true);
    nuc_set_contiguous_val(g, mean, out->dtype, out->sizes, out->rank);
    return mean;
}

struct nuc_node *to_constant_pad(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param)
{
    const struct nuc_arg *mode = &node->args[2], *value = &node->args[3];

    if (mode->kind == NUC_ARG_STRING && strcmp(mode->u.string, "constant") != 0)
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s pads with mode '%s': use mode 'constant'", g->file,
                 nuc_node_text(g->cx, node), mode->u.string);
    struct nuc_node *pad = nuc_insert(g, node, param, node);
    nuc_copy_arg(g, pad, 0, node, 0);
    nuc_copy_arg(g, pad, 1, node, 1);
    nuc_set_arg_float(pad, 2, value->kind == NUC_ARG_FLOAT ? value->u.f : 0.0);
    nuc_set_val(g, pad, &node->vals[0]);
    return pad;
}

struct nuc_node *to_softmax(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param)
{
    struct nuc_node *input = nuc_operand(g, node, 0);

    if (node->args[2].kind == NUC_ARG_DTYPE && node->args[2].u.dtype != input->vals[0].dtype)
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s computes in %s from %s: leave out its dtype", g->file,
                 nuc_node_text(g->cx, node), nuc_dtype_name(node->args[2].u.dtype),
                 nuc_dtype_name(input->vals[0].dtype));
    struct nuc_node *softmax = nuc_insert(g, node, param, node);
    nuc_copy_arg(g, softmax, 0, node, 0);
    nuc_copy_arg(g, softmax, 1, node, 1);
    nuc_set_arg_bool(softmax, 2, false);
    nuc_set_val(g, softmax, &node->vals[0]);
    return softmax;
}

/* ---- linear ---- */

/* Weight [O, I] to [I, O]. */
static struct nuc_node *insert_transpose(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *weight)
{
    struct nuc_node *permute = nuc_insert(g, node, NUC_OP_EDGE_PERMUTE, node);
    const struct nuc_meta *w = &weight->vals[0];
    const int64_t dims[2] = {1, 0}, sizes[2] = {w->sizes[1], w->sizes[0]};

    nuc_set_arg_node(permute, g, 0, weight);
    nuc_set_arg_ints(permute, g, 1, dims, 2);
    nuc_set_contiguous_val(g, permute, w->dtype, sizes, 2);
    return permute;
}

/* Input [..., I] to [N, I], through a contiguous copy where torch's view needs one. */
static struct nuc_node *insert_rows(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input)
{
    const struct nuc_meta *in = &input->vals[0];
    int64_t features = in->sizes[in->rank - 1];
    const int64_t sizes[2] = {features == 0 ? 0 : nuc_elements(in) / features, features};

    if (!nuc_is_contiguous(in)) {
        struct nuc_meta contiguous = *in;
        nuc_set_contiguous(&contiguous);
        input = insert_clone(g, node, input, &contiguous);
    }
    return insert_view(g, node, input, sizes, 2);
}

/*
 * linear: addmm with a bias, mm without. Torch permutes the weight before it brings the input to two dimensions when
 * there is no bias, and after when there is one. An input of one or more than two dimensions passes through views.
 */
struct nuc_node *to_matrix_product(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param)
{
    struct nuc_node *input = nuc_operand(g, node, 0), *weight = nuc_operand(g, node, 1), *bias = nuc_arg_node(node, 2);
    const struct nuc_meta out = node->vals[0];
    bool flat = input->vals[0].rank == 2;
    struct nuc_node *transposed = NULL;

    (void)param;
    if (bias == NULL)
        transposed = insert_transpose(g, node, weight);
    if (!flat)
        input = insert_rows(g, node, input);
    if (bias != NULL)
        transposed = insert_transpose(g, node, weight);
    struct nuc_node *product = nuc_insert(g, node, bias != NULL ? NUC_OP_EDGE_ADDMM : NUC_OP_EDGE_MM, node);
    const int64_t sizes[2] = {input->vals[0].sizes[0], weight->vals[0].sizes[0]};
    uint32_t at = 0;
    if (bias != NULL)
        nuc_set_arg_node(product, g, at++, bias);
    nuc_set_arg_node(product, g, at++, input);
    nuc_set_arg_node(product, g, at, transposed);
    nuc_set_contiguous_val(g, product, out.dtype, sizes, 2);
    if (flat)
        return product;
    struct nuc_node *result = insert_view(g, node, product, out.sizes, out.rank);
    return nuc_is_contiguous(&out) ? result : insert_clone(g, node, result, &out);
}
