#include "random_graph.h"

#include <stdio.h>
#include <string.h>

#include "compiler/driver/driver.h"
#include "compiler/graph/graph.h"

#define MAX_VALUES 32

struct builder {
    struct random_state r;
    struct nuc_graph *g;
    struct nuc_node *values[MAX_VALUES]; /* results so far: what an addition may reach back to */
    unsigned n_values;
    unsigned n_constants;
    struct random_graph out;
};

struct random_state random_seeded(uint64_t seed)
{
    return (struct random_state){(seed + 1) * 0x9E3779B97F4A7C15u};
}

static uint64_t next(struct random_state *r)
{
    r->bits ^= r->bits << 13;
    r->bits ^= r->bits >> 7;
    r->bits ^= r->bits << 17;
    return r->bits;
}

int64_t random_in(struct random_state *r, int64_t lowest, int64_t highest)
{
    return lowest + (int64_t)((next(r) >> 16) % (uint64_t)(highest - lowest + 1));
}

float random_float(struct random_state *r, float lowest, float highest)
{
    return lowest + (highest - lowest) * (float)(next(r) >> 40) / 16777216.0f;
}

static struct nuc_node *last(const struct builder *b)
{
    return b->values[b->n_values - 1];
}

static const struct nuc_meta *shape(const struct builder *b)
{
    return &last(b)->vals[0];
}

/* A parameter of random values in +-range. */
static struct nuc_node *parameter(struct builder *b, const int64_t *sizes, uint32_t rank, float range)
{
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, rank);
    size_t count = (size_t)nuc_elements(&meta);
    float *values = nuc_alloc_array(b->g->cx, count, sizeof *values);
    const char *name = nuc_format(b->g->cx, "p_%u", b->n_constants++);

    for (size_t i = 0; i < count; i++)
        values[i] = random_float(&b->r, -range, range);
    struct nuc_node *node = nuc_add_constant(b->g, name, &meta, values);
    node->input_kind = NUC_PARAMETER;
    node->target = nuc_format(b->g->cx, "%u.weight", b->n_constants);
    return node;
}

static struct nuc_node *call(struct builder *b, enum nuc_op op)
{
    struct nuc_node *node = nuc_add_node(b->g, NULL, op, NULL);

    nuc_set_arg_node(node, b->g, 0, last(b));
    return node;
}

static void finish(struct builder *b, struct nuc_node *node, bool moves)
{
    size_t length = strlen(b->out.ops);

    nuc_infer_shape(b->g, node);
    snprintf(b->out.ops + length, sizeof b->out.ops - length, "%s%s", length != 0 ? " " : "", nuc_op_name(node->op));
    b->values[b->n_values++] = node;
    b->out.n_ops++;
    b->out.moves_only = b->out.moves_only && moves;
}

/* ---- operators; each returns false when the last value does not fit it ---- */

static bool convolution(struct builder *b, bool depthwise)
{
    const struct nuc_meta *x = shape(b);

    if (x->rank != 4 || (depthwise && x->sizes[1] < 2))
        return false;
    int64_t kernel = random_in(&b->r, 1, 3), pad = random_in(&b->r, 0, kernel / 2);
    int64_t stride = random_in(&b->r, 1, 2), groups = depthwise ? x->sizes[1] : 1;
    if (x->sizes[2] + 2 * pad < kernel || x->sizes[3] + 2 * pad < kernel)
        return false;
    int64_t out = depthwise ? x->sizes[1] : random_in(&b->r, 1, 16);
    int64_t weight_sizes[] = {out, x->sizes[1] / groups, kernel, kernel};
    float range = 1.5f / (float)(kernel * (int64_t)(depthwise ? 1 : 2));
    struct nuc_node *weight = parameter(b, weight_sizes, 4, range);
    struct nuc_node *bias = random_in(&b->r, 0, 3) != 0 ? parameter(b, &out, 1, 0.5f) : NULL;
    struct nuc_node *node = call(b, NUC_OP_CONV2D);
    nuc_set_arg_node(node, b->g, 1, weight);
    if (bias != NULL)
        nuc_set_arg_node(node, b->g, 2, bias);
    nuc_set_arg_ints(node, b->g, 3, (const int64_t[]){stride, stride}, 2);
    nuc_set_arg_ints(node, b->g, 4, (const int64_t[]){pad, pad}, 2);
    nuc_set_arg_ints(node, b->g, 5, (const int64_t[]){1, 1}, 2);
    nuc_set_arg_int(node, 6, groups);
    finish(b, node, false);
    return true;
}

static bool conv(struct builder *b)
{
    return convolution(b, false);
}

static bool depthwise(struct builder *b)
{
    return convolution(b, true);
}

static bool linear(struct builder *b)
{
    const struct nuc_meta *x = shape(b);

    if (x->rank != 2)
        return false;
    int64_t sizes[] = {random_in(&b->r, 1, 24), x->sizes[1]};
    struct nuc_node *weight = parameter(b, sizes, 2, 0.5f);
    struct nuc_node *bias = random_in(&b->r, 0, 3) != 0 ? parameter(b, sizes, 1, 0.5f) : NULL;
    struct nuc_node *node = call(b, NUC_OP_LINEAR);
    nuc_set_arg_node(node, b->g, 1, weight);
    if (bias != NULL)
        nuc_set_arg_node(node, b->g, 2, bias);
    finish(b, node, false);
    return true;
}

static bool relu(struct builder *b)
{
    finish(b, call(b, NUC_OP_RELU), false);
    return true;
}

static bool relu6(struct builder *b)
{
    finish(b, call(b, NUC_OP_RELU6), false);
    return true;
}

static bool add(struct builder *b)
{
    struct nuc_node *other = NULL;

    for (unsigned i = 0; i < b->n_values && other == NULL; i++) {
        if (nuc_same_sizes(&b->values[i]->vals[0], shape(b)))
            other = b->values[i];
    }
    struct nuc_node *node = call(b, NUC_OP_ADD);
    nuc_set_arg_node(node, b->g, 1, other);
    finish(b, node, false);
    return true;
}

static bool pool(struct builder *b, enum nuc_op op)
{
    const struct nuc_meta *x = shape(b);
    int64_t kernel = random_in(&b->r, 1, 3), stride = random_in(&b->r, 1, 3), pad = random_in(&b->r, 0, kernel / 2);

    if (x->rank != 4 || x->sizes[2] + 2 * pad < kernel || x->sizes[3] + 2 * pad < kernel)
        return false;
    struct nuc_node *node = call(b, op);
    nuc_set_arg_ints(node, b->g, 1, (const int64_t[]){kernel, kernel}, 2);
    nuc_set_arg_ints(node, b->g, 2, (const int64_t[]){stride, stride}, 2);
    nuc_set_arg_ints(node, b->g, 3, (const int64_t[]){pad, pad}, 2);
    finish(b, node, false);
    return true;
}

static bool max_pool(struct builder *b)
{
    return pool(b, NUC_OP_MAX_POOL2D);
}

static bool avg_pool(struct builder *b)
{
    return pool(b, NUC_OP_AVG_POOL2D);
}

static bool adaptive_pool(struct builder *b)
{
    if (shape(b)->rank != 4)
        return false;
    struct nuc_node *node = call(b, NUC_OP_ADAPTIVE_AVG_POOL2D);
    nuc_set_arg_ints(node, b->g, 1, (const int64_t[]){1, 1}, 2);
    finish(b, node, false);
    return true;
}

static bool mean(struct builder *b)
{
    if (shape(b)->rank != 4)
        return false;
    struct nuc_node *node = call(b, NUC_OP_MEAN_DIM);
    nuc_set_arg_ints(node, b->g, 1, (const int64_t[]){2, 3}, 2);
    nuc_set_arg_bool(node, 2, random_in(&b->r, 0, 1) != 0);
    finish(b, node, false);
    return true;
}

static bool pad(struct builder *b)
{
    int64_t pads[4];

    if (shape(b)->rank != 4)
        return false;
    for (int i = 0; i < 4; i++)
        pads[i] = random_in(&b->r, 0, 2);
    struct nuc_node *node = call(b, NUC_OP_PAD);
    nuc_set_arg_ints(node, b->g, 1, pads, 4);
    finish(b, node, true);
    return true;
}

static bool view(struct builder *b)
{
    const struct nuc_meta *x = shape(b);

    if (x->rank != 4 || !nuc_is_contiguous(x))
        return false;
    struct nuc_node *node = call(b, NUC_OP_VIEW);
    nuc_set_arg_ints(node, b->g, 1, (const int64_t[]){x->sizes[0], nuc_elements(x) / x->sizes[0]}, 2);
    finish(b, node, true);
    return true;
}

static bool softmax(struct builder *b)
{
    struct nuc_node *node = call(b, NUC_OP_SOFTMAX);

    nuc_set_arg_int(node, 1, shape(b)->rank == 2 ? -1 : 1);
    finish(b, node, false);
    return true;
}

static bool (*const operators[])(struct builder *) = {
    conv, depthwise, linear, relu, relu6, add, max_pool, avg_pool, adaptive_pool, mean, pad, view, softmax,
};

#define N_OPERATORS (sizeof operators / sizeof operators[0])

static void add_input(struct builder *b)
{
    int64_t sizes[4] = {1, random_in(&b->r, 1, 16), random_in(&b->r, 3, 12), random_in(&b->r, 3, 12)};
    bool flat = random_in(&b->r, 0, 4) == 0;
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, flat ? 2 : 4);

    if (!flat && random_in(&b->r, 0, 3) == 0)
        nuc_set_channels_last(&meta);
    b->values[b->n_values++] = nuc_add_placeholder(b->g, "x", NUC_USER_INPUT, &meta);
}

struct request {
    struct nuc_compiler *c;
    uint64_t seed;
    unsigned n_ops;
    struct random_graph *out;
};

static void make(struct nuc_context *cx, void *arg)
{
    struct request *q = arg;
    struct builder b = {.r = random_seeded(q->seed), .g = nuc_graph_new(cx, "random"), .out = {.moves_only = true}};

    add_input(&b);
    while (b.out.n_ops < q->n_ops && b.n_values < MAX_VALUES)
        operators[random_in(&b.r, 0, (int64_t)N_OPERATORS - 1)](&b);
    struct nuc_node *output = nuc_add_node(b.g, NULL, NUC_OP_OUTPUT, "output");
    struct nuc_node *result = last(&b);
    nuc_set_arg_nodes(output, b.g, 0, &result, 1);
    nuc_graph_verify(b.g, "random");
    b.out.model = nuc_model_make(q->c, b.g);
    *q->out = b.out;
}

enum nuc_status random_graph_make(struct nuc_compiler *c, uint64_t seed, unsigned n_ops, struct random_graph *out)
{
    struct request q = {c, seed, n_ops, out};

    return nuc_enter(c, make, &q);
}
