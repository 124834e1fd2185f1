/*
 * Padding. A constant one is an operator of its own. Of the others torch takes rows by index, dimension by dimension
 * (reflect, replicate), or writes into an uninitialised tensor piece by piece (circular).
 */
#include <string.h>

#include "ir/args.h"
#include "npu/layout/orders.h"
#include "rewrite/insert.h"
#include "rewrite/to_edge/decompose.h"

/* Padding i of the list belongs to dimension rank - 1 - i / 2. */
struct padding {
    struct nuc_graph *g;
    struct nuc_node *node, *input;
    const int64_t *pad;
    uint32_t n_dims; /* padded ones, from the last on */
    bool traced;     /* indices are computed at run time where the reference does */
};

static uint32_t dim_of(const struct padding *p, uint32_t i)
{
    return p->input->vals[0].rank - 1u - i;
}

/* ---- reflect, replicate ---- */

/* clamp(arange(start, end), 0, size - 1), as torch traces it. */
static struct nuc_node *traced_indices(const struct padding *p, int64_t start, int64_t end, int64_t size)
{
    struct nuc_node *places =
        nuc_emit(p->g, p->node, NUC_OP_ARANGE, p->node,
                 NUC_ARGS((double)start, (double)end, NULL, NULL, NULL, NULL, nuc_bool_arg(false)));

    return nuc_emit(p->g, p->node, NUC_OP_CLAMP, p->node, NUC_ARGS(places, 0, size - 1));
}

/* last - |last - |index|| mirrors, clipping repeats. */
static int64_t source_of(int64_t index, int64_t size, bool reflect)
{
    if (!reflect)
        return index < 0 ? 0 : index < size ? index : size - 1;
    index = index < 0 ? -index : index;
    return index < size ? index : 2 * (size - 1) - index;
}

static struct nuc_node *constant_indices(const struct padding *p, int64_t start, int64_t end, int64_t size,
                                         bool reflect)
{
    const int64_t count = end - start;
    struct nuc_meta meta = nuc_meta_make(NUC_I64, &count, 1);
    int64_t *indices = nuc_alloc_array(p->g->cx, (size_t)count, sizeof *indices);

    for (int64_t i = 0; i < count; i++)
        indices[i] = source_of(i + start, size, reflect);
    return nuc_add_parameter(p->g, p->node, "_indices", &meta, indices);
}

/* ---- circular ---- */

static struct nuc_node *insert_scatter(const struct padding *p, struct nuc_node *into, struct nuc_node *from,
                                       uint32_t dim, int64_t start, int64_t end)
{
    return nuc_emit(p->g, p->node, NUC_OP_SLICE_SCATTER, p->node, NUC_ARGS(into, from, dim, start, end));
}

struct range {
    int64_t start, end;
};

static struct nuc_node *insert_range(const struct padding *p, struct nuc_node *input, uint32_t dim, struct range r)
{
    return nuc_insert_part(p->g, p->node, input, dim, r.start, r.end);
}

/* Where the input's dimension lies in the result, and which part of it is taken. */
static struct range inner_range(const struct padding *p, uint32_t i, const struct nuc_meta *out)
{
    return (struct range){nuc_at_least_0(p->pad[2 * i]), out->sizes[dim_of(p, i)] - nuc_at_least_0(p->pad[2 * i + 1])};
}

static struct range taken_range(const struct padding *p, uint32_t i)
{
    return (struct range){nuc_at_least_0(-p->pad[2 * i]),
                          p->input->vals[0].sizes[dim_of(p, i)] - nuc_at_least_0(-p->pad[2 * i + 1])};
}

/* value[to] = value[from] along a dimension. */
static struct nuc_node *insert_wrapped(const struct padding *p, struct nuc_node *value, uint32_t dim, struct range to,
                                       struct range from)
{
    struct nuc_node *old = insert_range(p, value, dim, to), *data = insert_range(p, value, dim, from);
    struct nuc_node *copy = nuc_insert_binary(p->g, p->node, NUC_OP_COPY, old, data);

    return insert_scatter(p, value, copy, dim, to.start, to.end);
}

static struct nuc_node *to_circular(const struct padding *p)
{
    const struct nuc_meta out = p->node->vals[0];
    /* Writes the input into the middle of `empty`: slice after slice inwards, then back outwards. */
    int64_t order[NUC_MAX_RANK];
    for (uint32_t i = 0; i < out.rank; i++)
        order[i] = i;
    struct nuc_node *empty = nuc_emit(p->g, p->node, NUC_OP_EMPTY_DIM_ORDER, p->node,
                                      NUC_ARGS(nuc_ints_arg(out.sizes, out.rank), nuc_dtype_arg(out.dtype), NULL, NULL,
                                               nuc_bool_arg(false), nuc_ints_arg(order, out.rank)));
    struct nuc_node *outer[NUC_MAX_RANK], *value = empty, *taken = p->input;

    for (uint32_t i = 0; i < p->n_dims; i++) {
        value = insert_range(p, value, dim_of(p, i), inner_range(p, i, &out));
        taken = insert_range(p, taken, dim_of(p, i), taken_range(p, i));
    }
    value = nuc_insert_binary(p->g, p->node, NUC_OP_COPY, value, taken);
    outer[0] = empty;
    for (uint32_t i = 0; i + 1 < p->n_dims; i++)
        outer[i + 1] = insert_range(p, outer[i], dim_of(p, i), inner_range(p, i, &out));
    for (uint32_t i = p->n_dims; i-- > 0;) {
        struct range r = inner_range(p, i, &out);
        value = insert_scatter(p, outer[i], value, dim_of(p, i), r.start, r.end);
    }
    for (uint32_t i = 0; i < p->n_dims; i++) {
        uint32_t dim = dim_of(p, i);
        int64_t left = p->pad[2 * i], right = p->pad[2 * i + 1], size = out.sizes[dim];
        int64_t end = size - nuc_at_least_0(right), start = nuc_at_least_0(left);
        if (left > 0)
            value = insert_wrapped(p, value, dim, (struct range){0, left}, (struct range){end - left, end});
        if (right > 0)
            value = insert_wrapped(p, value, dim, (struct range){end, size}, (struct range){start, start + right});
    }
    return value;
}

/* ---- all modes ---- */

/* A negative padding takes a part: kernels only add. The reference leaves it to them. */
static struct nuc_node *to_constant(const struct padding *p)
{
    const struct nuc_arg *value = &p->node->args[NUC_ARG(PAD, value)];
    struct nuc_node *input = p->input;
    int64_t added[2 * NUC_MAX_RANK], any = 0;

    for (uint32_t i = 0; i < p->n_dims && !p->traced; i++)
        input = insert_range(p, input, dim_of(p, i), taken_range(p, i));
    for (uint32_t i = 0; i < 2 * p->n_dims; i++)
        any |= added[i] = p->traced ? p->pad[i] : nuc_at_least_0(p->pad[i]);
    if (input != p->input && any == 0)
        return input;
    struct nuc_node *pad = nuc_insert(p->g, p->node, NUC_OP_CONSTANT_PAD, p->node);
    nuc_set_arg_node(pad, p->g, NUC_SELF, input);
    nuc_set_arg_ints(pad, p->g, NUC_ARG(CONSTANT_PAD, pad), added, 2 * p->n_dims);
    nuc_set_arg_float(pad, NUC_ARG(CONSTANT_PAD, value), value->kind == NUC_ARG_FLOAT ? value->u.f : 0.0);
    nuc_set_val(p->g, pad, &p->node->vals[0]);
    return pad;
}

static struct nuc_node *insert_padding(struct nuc_graph *g, struct nuc_node *node, bool traced)
{
    const struct nuc_arg *pad = &node->args[NUC_ARG(PAD, pad)], *mode = &node->args[NUC_ARG(PAD, mode)];
    const char *name = mode->kind == NUC_ARG_STRING ? mode->u.string : "constant";
    struct padding p = {.g = g, .node = node, .input = nuc_operand(g, node, NUC_SELF), .traced = traced};

    if (pad->kind != NUC_ARG_INTS || pad->count % 2 != 0 || pad->count / 2 > p.input->vals[0].rank)
        nuc_fail(g->cx, NUC_BAD_INPUT, "%s: %s: the paddings are not pairs for its dimensions: export the model again",
                 g->file, nuc_node_text(g->cx, node));
    p.pad = pad->u.ints;
    p.n_dims = pad->count / 2;
    if (strcmp(name, "constant") == 0)
        return to_constant(&p);
    if (strcmp(name, "reflect") == 0 || strcmp(name, "replicate") == 0) {
        bool reflect = name[2] == 'f';
        const struct nuc_meta in = p.input->vals[0];
        struct nuc_node *value = p.input;
        /* What is taken by index out of another order has an order no kernel takes. */
        if (!p.traced && !nuc_is_contiguous(&in)) {
            struct nuc_meta contiguous = nuc_in_contiguous_order(&in);
            value = nuc_insert_clone(p.g, p.node, value, &contiguous);
        }
        for (uint32_t i = p.n_dims; i-- > 0;) {
            uint32_t dim = dim_of(&p, i);
            int64_t size = in.sizes[dim], start = -p.pad[2 * i], end = size + p.pad[2 * i + 1];
            struct nuc_node *index = p.traced && !reflect ? traced_indices(&p, start, end, size)
                                                          : constant_indices(&p, start, end, size, reflect);
            struct nuc_node *indices[NUC_MAX_RANK] = {NULL};
            indices[dim] = index;
            value = nuc_emit(p.g, p.node, NUC_OP_INDEX, p.node,
                             NUC_ARGS(value, nuc_nodes_arg(indices, value->vals[0].rank)));
        }
        if (!nuc_is_channels_last(&in))
            return value;
        struct nuc_meta like = nuc_in_channels_last_order(&value->vals[0]);
        return nuc_insert_clone(p.g, p.node, value, &like);
    }
    if (strcmp(name, "circular") == 0)
        return to_circular(&p);
    nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s pads with mode '%s': use constant, reflect, replicate or circular",
             g->file, nuc_node_text(g->cx, node), name);
}

static struct nuc_node *to_pad(struct nuc_graph *g, struct nuc_node *node)
{
    return insert_padding(g, node, false);
}

static struct nuc_node *to_traced_pad(struct nuc_graph *g, struct nuc_node *node)
{
    return insert_padding(g, node, true);
}

const struct nuc_decomposition nuc_pad_decompositions[] = {
    {NUC_OP_PAD, to_pad, NUC_OP_CONSTANT_PAD, to_traced_pad, NULL},
    {.rewrite = NULL},
};
