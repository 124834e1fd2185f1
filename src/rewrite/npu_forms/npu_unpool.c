/*
 * Values that are put back where a max pool found the greatest ones (max_unpool2d). The NPU has neither indices nor
 * scatter, but the greatest of a window is where the image is not below its pool: of such places of one window the
 * first counts, as the index of a pool does.
 */
#include "ir/conv_args.h"
#include "ir/op_list.h"
#include "rewrite/npu_forms/npu_forms.h"

/* A convolution, a product and a part of the result for each place of a window. */
#define MOST_PLACES 9

struct unpool {
    struct nuc_node *pool, *values;
    int64_t window[2];
};

/* The only index of index_put; NULL: others, or it adds. */
static struct nuc_node *place_of(const struct nuc_node *put)
{
    const struct nuc_arg *indices = nuc_arg_at(put, NUC_ARG(INDEX_PUT, indices));

    return indices->kind == NUC_ARG_NODES && indices->count == 1 && !nuc_flag(put, NUC_ARG(INDEX_PUT, accumulate))
               ? nuc_past_views(indices->u.nodes[0])
               : NULL;
}

/* The index of each plane's elements in the tensor, one after the other: number i begins at i * plane. */
static bool are_planes(struct nuc_graph *g, const struct nuc_node *starts, int64_t planes, int64_t plane)
{
    if (starts == NULL || !nuc_is_static(starts) || starts->data == NULL || starts->vals[0].dtype != NUC_I64 ||
        nuc_elements(&starts->vals[0]) != planes)
        return false;
    const int64_t *at = nuc_const_contiguous(g, starts);
    int64_t i = 0;
    while (i < planes && at[i] == i * plane)
        i++;
    return i == planes;
}

/*
 * What an element's place in its plane is taken from: scatter has planes for rows, and index_put of decomposed archives
 * adds where they begin.
 */
static struct nuc_node *index_of(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_meta *image)
{
    const int64_t planes = image->sizes[0] * image->sizes[1], plane = image->sizes[2] * image->sizes[3];
    const int64_t rows[] = {image->sizes[0], image->sizes[1], plane};
    const struct nuc_meta as_rows = nuc_meta_make(NUC_F32, rows, 3);

    if (node->op == NUC_OP_SCATTER)
        return nuc_same_sizes(&node->vals[0], &as_rows) && nuc_integer(node, NUC_ARG(SCATTER, dim), 0) == 2
                   ? nuc_past_views(nuc_arg_node(node, NUC_ARG(SCATTER, index)))
                   : NULL;
    struct nuc_node *sum = place_of(node);
    if (node->vals[0].rank != 1 || sum == NULL || sum->op != NUC_OP_ADD || !nuc_has_plain_alpha(sum) ||
        !are_planes(g, nuc_arg_node(sum, NUC_OTHER), planes, plane))
        return NULL;
    return nuc_arg_node(sum, NUC_SELF);
}

/* Windows side by side that cover the image. */
static bool read_window(struct unpool *u)
{
    const struct nuc_meta *in = nuc_input_meta(u->pool, NUC_SELF), *out = &u->pool->vals[0];
    int64_t stride[2], padding[2], dilation[2];

    nuc_conv_numbers(u->pool, NUC_ARG(MAX_POOL2D_INDICES, kernel_size), 2, 1, u->window);
    stride[0] = u->window[0];
    stride[1] = u->window[1];
    if (nuc_arg_at(u->pool, NUC_ARG(MAX_POOL2D_INDICES, stride))->count > 0)
        nuc_conv_numbers(u->pool, NUC_ARG(MAX_POOL2D_INDICES, stride), 2, 1, stride);
    nuc_conv_numbers(u->pool, NUC_ARG(MAX_POOL2D_INDICES, padding), 2, 0, padding);
    nuc_conv_numbers(u->pool, NUC_ARG(MAX_POOL2D_INDICES, dilation), 2, 1, dilation);
    if (in->rank != 4 || in->dtype != NUC_F32)
        return false;
    for (uint32_t d = 0; d < 2; d++) {
        if (u->window[d] > MOST_PLACES || stride[d] != u->window[d] || padding[d] != 0 || dilation[d] != 1 ||
            in->sizes[2 + d] != out->sizes[2 + d] * u->window[d])
            return false;
    }
    return u->window[0] * u->window[1] <= MOST_PLACES;
}

static bool read_unpool(struct nuc_graph *g, const struct nuc_node *node, struct unpool *u)
{
    bool scatters = node->op == NUC_OP_SCATTER;
    struct nuc_node *place = scatters ? nuc_past_views(nuc_arg_node(node, NUC_ARG(SCATTER, index))) : place_of(node);

    if (place != NULL && place->op == NUC_OP_ADD)
        place = nuc_arg_node(place, NUC_SELF);
    if (place == NULL || place->op != NUC_OP_GETITEM || nuc_integer(place, NUC_ARG(GETITEM, index), 0) != 1)
        return false;
    u->pool = nuc_arg_node(place, NUC_SELF);
    u->values = nuc_arg_node(node, scatters ? NUC_ARG(SCATTER, src) : NUC_ARG(INDEX_PUT, values));
    return u->pool != NULL && u->pool->op == NUC_OP_MAX_POOL2D_INDICES && read_window(u) &&
           index_of(g, node, nuc_input_meta(u->pool, NUC_SELF)) == place && nuc_is_float_value(u->values) &&
           !nuc_is_static(u->values) && nuc_elements(&u->values->vals[0]) == nuc_elements(&u->pool->vals[0]) &&
           nuc_elements(&node->vals[0]) == nuc_elements(nuc_input_meta(u->pool, NUC_SELF)) &&
           nuc_is_static_zero(g, nuc_arg_node(node, NUC_SELF));
}

/* The pool without indices, for all who read its values. */
static struct nuc_node *insert_pool(struct nuc_graph *g, const struct unpool *u)
{
    struct nuc_node *pool =
        nuc_emit(g, u->pool->next, NUC_OP_MAX_POOL2D, u->pool,
                 NUC_ARGS(nuc_operand(g, u->pool, NUC_SELF), nuc_ints_arg(u->window, 2), nuc_ints_arg(u->window, 2)));

    for (uint32_t i = 0; i < u->pool->n_users; i++) {
        if (nuc_integer(u->pool->users[i], NUC_ARG(GETITEM, index), 0) == 0)
            nuc_replace_uses(g, u->pool->users[i], pool, NULL);
    }
    return pool;
}

static struct nuc_node *form_unpool(const struct nuc_support *s, struct nuc_node *node)
{
    struct unpool u;

    if (!read_unpool(s->g, node, &u))
        return NULL;
    return nuc_built(
        s, node, "unpooled_by_windows",
        NUC_ARGS(u.values, nuc_operand(s->g, u.pool, NUC_SELF), insert_pool(s->g, &u), u.window[0], u.window[1]));
}

const struct nuc_npu_form nuc_unpool_forms[] = {
    {NUC_OPS(NUC_OP_SCATTER, NUC_OP_INDEX_PUT), form_unpool},
    {.form = NULL},
};
