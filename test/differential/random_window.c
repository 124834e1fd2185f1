/* Operators with windows: convolutions, pools, resizes, and batch norm. */
#include <math.h>

#include "random_build.h"

/* Weights that keep the size of values: variance 1 / terms of a sum. */
static float weight_range(int64_t terms)
{
    return 1.5f / sqrtf((float)(terms > 0 ? terms : 1));
}

/* A bias that may push all results to one side. */
static struct nuc_node *bias_of(struct rb *b, int64_t channels, float bound)
{
    float most = fminf(bound, 20), shift = random_one_of(&b->r, 4) ? (random_one_of(&b->r, 2) ? most : -most) : 0;

    if (random_one_of(&b->r, 3))
        return NULL;
    if (shift == 0)
        return rb_parameter(b, &channels, 1, 0.5f);
    return rb_parameter_in(b, &channels, 1, shift * 0.9f, shift * 1.1f);
}

/* Groups that divide the channels: 1, all of them, or something between. */
static int64_t groups_of(struct rb *b, int64_t channels)
{
    int64_t groups = rb_in(b, 0, 3);

    if (groups < 2)
        return 1;
    if (groups == 2)
        return channels;
    groups = rb_in(b, 2, 4);
    return channels % groups == 0 ? groups : 1;
}

struct window {
    uint32_t n; /* spatial dimensions: 1 or 2 */
    int64_t kernel[2], stride[2], pad[2], dilation[2];
};

static struct window window_of(struct rb *b, const struct nuc_meta *x, uint32_t n)
{
    struct window w = {.n = n};

    for (uint32_t i = 0; i < n; i++) {
        int64_t size = x->sizes[x->rank - n + i];
        w.kernel[i] = rb_in(b, 1, random_one_of(&b->r, 4) ? 5 : 3);
        w.pad[i] = random_one_of(&b->r, 2) ? 0 : rb_in(b, 0, w.kernel[i] / 2);
        w.stride[i] = rb_in(b, 1, random_one_of(&b->r, 4) ? 3 : 2);
        w.dilation[i] = random_one_of(&b->r, 5) ? 2 : 1;
        if (w.dilation[i] * (w.kernel[i] - 1) + 1 > size + 2 * w.pad[i])
            w.kernel[i] = w.dilation[i] = 1, w.pad[i] = 0;
    }
    return w;
}

/* Without and with a batch dimension: [C, ...] and [N, C, ...]. */
static bool has_window_rank(struct rb *b, const struct nuc_meta *x, uint32_t n)
{
    return x->rank == n + 2 || (x->rank == n + 1 && random_one_of(&b->r, 3));
}

static bool conv(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    bool named_pad = op == NUC_OP_CONV1D_PADDING || op == NUC_OP_CONV2D_PADDING;
    uint32_t n = op == NUC_OP_CONV1D || op == NUC_OP_CONV1D_PADDING ? 1 : 2;
    const struct nuc_meta *m = rb_meta(x);

    if (!has_window_rank(b, m, n))
        return false;
    struct window w = window_of(b, m, n);
    int64_t in = m->sizes[m->rank - n - 1], groups = groups_of(b, in);
    int64_t out = groups == in && !random_one_of(&b->r, 4) ? in : groups * rb_in(b, 1, groups == 1 ? 12 : 3);
    int64_t sizes[] = {out, in / groups, w.kernel[0], w.kernel[1]};
    int64_t terms = sizes[1] * w.kernel[0] * (n == 2 ? w.kernel[1] : 1);
    struct nuc_node *weight = rb_parameter(b, sizes, n + 2, weight_range(terms));
    struct nuc_node *bias = bias_of(b, out, x->bound);
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_node(node, b->g, 1, weight);
    if (bias != NULL)
        nuc_set_arg_node(node, b->g, 2, bias);
    if (named_pad && random_one_of(&b->r, 2)) {
        nuc_set_arg_string(node, 4, "same");
    } else {
        nuc_set_arg_ints(node, b->g, 3, w.stride, n);
        if (!named_pad)
            nuc_set_arg_ints(node, b->g, 4, w.pad, n);
    }
    nuc_set_arg_ints(node, b->g, 5, w.dilation, n);
    nuc_set_arg_int(node, 6, groups);
    return rb_finish(b, node, 2 * x->bound + 1);
}

static bool conv_transpose(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    uint32_t n = op == NUC_OP_CONV_TRANSPOSE1D ? 1 : 2;
    const struct nuc_meta *m = rb_meta(x);

    if (!has_window_rank(b, m, n))
        return false;
    int64_t in = m->sizes[m->rank - n - 1], groups = random_one_of(&b->r, 5) ? groups_of(b, in) : 1;
    int64_t out = groups * rb_in(b, 1, groups == 1 ? 10 : 2), stride[2], pad[2], extra[2] = {0, 0};
    int64_t sizes[] = {in, out / groups, rb_in(b, 1, 4), rb_in(b, 1, 4)};
    for (uint32_t i = 0; i < n; i++) {
        stride[i] = rb_in(b, 1, random_one_of(&b->r, 5) ? 3 : 2);
        pad[i] = random_one_of(&b->r, 2) ? 0 : rb_in(b, 0, (sizes[2 + i] - 1) / 2);
        extra[i] = random_one_of(&b->r, 6) ? stride[i] - 1 : 0;
    }
    struct nuc_node *weight = rb_parameter(b, sizes, n + 2, weight_range(in / groups * 2));
    struct nuc_node *bias = bias_of(b, out, x->bound);
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_node(node, b->g, 1, weight);
    if (bias != NULL)
        nuc_set_arg_node(node, b->g, 2, bias);
    nuc_set_arg_ints(node, b->g, 3, stride, n);
    nuc_set_arg_ints(node, b->g, 4, pad, n);
    nuc_set_arg_ints(node, b->g, 5, extra, n);
    nuc_set_arg_int(node, 6, groups);
    return rb_finish(b, node, 2 * x->bound + 1);
}

/* The first values of x as a tensor of these sizes, perhaps times a parameter that is as large or larger. */
static struct nuc_node *computed_weight(struct rb *b, const struct rb_value *x, const int64_t sizes[4])
{
    int64_t own[] = {sizes[0], sizes[1], sizes[2], sizes[3]}, all = nuc_elements(rb_meta(x));
    const int64_t kind = rb_in(b, 0, 3);

    /* A weight of values, a constant with a factor for each of its inputs or outputs, or for all. */
    for (int i = 0; i < 4 && kind > 0; i++)
        own[i] = i + 1 == kind ? own[i] : 1;
    int64_t count = own[0] * own[1] * own[2] * own[3];
    if (count > all)
        return NULL;
    struct nuc_node *flat = rb_call(b, NUC_OP_RESHAPE, x);
    nuc_set_arg_ints(flat, b->g, 1, &all, 1);
    if (!rb_finish(b, flat, x->bound))
        return NULL;
    struct nuc_node *part = rb_call(b, NUC_OP_SLICE, &b->values[b->n_values - 1]);
    nuc_set_arg_int(part, 1, 0);
    nuc_set_arg_int(part, 2, 0);
    nuc_set_arg_int(part, 3, count);
    if (!rb_finish(b, part, x->bound))
        return NULL;
    struct nuc_node *weight = rb_call(b, NUC_OP_RESHAPE, &b->values[b->n_values - 1]);
    nuc_set_arg_ints(weight, b->g, 1, own, 4);
    if (!rb_finish(b, weight, x->bound))
        return NULL;
    if (kind == 0)
        return weight;
    float range = weight_range(sizes[1] * sizes[2] * sizes[3]);
    struct nuc_node *product = rb_call(b, NUC_OP_MUL, &b->values[b->n_values - 1]);
    nuc_set_arg_node(product, b->g, 1, rb_parameter(b, sizes, 4, range));
    return rb_finish(b, product, x->bound * range) ? product : NULL;
}

static bool conv_of_computed(struct rb *b, const struct rb_value *value, enum nuc_op op)
{
    const struct rb_value x = *value; /* values are added below */
    const struct nuc_meta *m = rb_meta(&x);
    bool transposed = op == NUC_OP_CONV_TRANSPOSE2D;

    if (m->rank != 4 || b->n_values + 5 > RB_MAX_VALUES || x.bound > 8)
        return false;
    struct window w = window_of(b, m, 2);
    int64_t in = m->sizes[1], groups = groups_of(b, in), out = groups * rb_in(b, 1, 4);
    int64_t sizes[] = {transposed ? in : out, transposed ? out / groups : in / groups, w.kernel[0], w.kernel[1]};
    struct nuc_node *weight = computed_weight(b, &x, sizes);
    if (weight == NULL)
        return false;
    struct nuc_node *bias = bias_of(b, out, x.bound), *node = rb_call(b, op, &x);
    nuc_set_arg_node(node, b->g, 1, weight);
    if (bias != NULL)
        nuc_set_arg_node(node, b->g, 2, bias);
    nuc_set_arg_ints(node, b->g, 3, w.stride, 2);
    nuc_set_arg_ints(node, b->g, 4, w.pad, 2);
    if (!transposed)
        nuc_set_arg_ints(node, b->g, 5, w.dilation, 2);
    nuc_set_arg_int(node, 6, groups);
    return rb_finish(b, node, x.bound * x.bound * 4 + 1);
}

static bool pool(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    uint32_t n = op == NUC_OP_MAX_POOL1D || op == NUC_OP_AVG_POOL1D ? 1 : 2;
    bool max = op == NUC_OP_MAX_POOL1D || op == NUC_OP_MAX_POOL2D;
    const struct nuc_meta *m = rb_meta(x);

    if (!has_window_rank(b, m, n))
        return false;
    struct window w = window_of(b, m, n);
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_ints(node, b->g, 1, w.kernel, n);
    if (!random_one_of(&b->r, 4))
        nuc_set_arg_ints(node, b->g, 2, w.stride, n);
    nuc_set_arg_ints(node, b->g, 3, w.pad, n);
    /* With both, a window may lie in the padding alone. */
    if (max && w.pad[0] == 0 && w.pad[1] == 0 && random_one_of(&b->r, 4))
        nuc_set_arg_ints(node, b->g, 4, w.dilation, n);
    if (random_one_of(&b->r, 8))
        nuc_set_arg_bool(node, max ? 5 : 4, true);
    if (!max && random_one_of(&b->r, 4))
        nuc_set_arg_bool(node, 5, false);
    if (op == NUC_OP_AVG_POOL2D && random_one_of(&b->r, 10))
        nuc_set_arg_int(node, 6, rb_in(b, 1, 6));
    return rb_finish(b, node, op == NUC_OP_AVG_POOL2D ? 4 * x->bound : x->bound);
}

static bool adaptive_pool(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    const struct nuc_meta *m = rb_meta(x);
    int64_t sizes[2] = {1, 1};

    if (!has_window_rank(b, m, 2))
        return false;
    for (uint32_t i = 0; i < 2 && !random_one_of(&b->r, 3); i++) {
        int64_t in = m->sizes[m->rank - 2 + i], parts = rb_in(b, 1, 4);
        sizes[i] = in % parts == 0 ? in / parts : rb_in(b, 1, in + 2);
    }
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_ints(node, b->g, 1, sizes, 2);
    return rb_finish(b, node, x->bound);
}

static bool resize(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    static const int64_t factors[] = {1, 2, 2, 2, 4, 8, 3};
    const struct nuc_meta *m = rb_meta(x);
    int64_t sizes[2];

    if (m->rank != 4)
        return false;
    bool align = op == NUC_OP_UPSAMPLE_BILINEAR && random_one_of(&b->r, 3);
    int64_t same = factors[rb_in(b, 0, 6)];
    for (uint32_t i = 0; i < 2; i++) {
        int64_t in = m->sizes[2 + i], factor = random_one_of(&b->r, 2) ? same : factors[rb_in(b, 0, 6)];
        sizes[i] = random_one_of(&b->r, 4)                       ? rb_in(b, 1, 3 * in)
                   : align && in > 1 && !random_one_of(&b->r, 3) ? (in - 1) * factor + 1
                                                                 : in * factor;
    }
    struct nuc_node *node = rb_call(b, op, x);
    nuc_set_arg_ints(node, b->g, 1, sizes, 2);
    if (op == NUC_OP_UPSAMPLE_BILINEAR)
        nuc_set_arg_bool(node, 2, align);
    node->args[node->n_args - 1].given = true; /* no scale factors */
    return rb_finish(b, node, x->bound);
}

static bool batch_norm(struct rb *b, const struct rb_value *x, enum nuc_op op)
{
    static const float ranges[4][2] = {{0.5f, 1.5f}, {-0.5f, 0.5f}, {-1, 1}, {0.4f, 2}};
    const struct nuc_meta *m = rb_meta(x);

    if (m->rank < 2)
        return false;
    struct nuc_node *statistics[4];
    for (uint32_t i = 0; i < 4; i++)
        statistics[i] = rb_parameter_in(b, &m->sizes[1], 1, ranges[i][0], ranges[i][1]);
    struct nuc_node *node = rb_call(b, op, x);
    for (uint32_t i = 0; i < 4; i++)
        nuc_set_arg_node(node, b->g, 1 + i, statistics[i]);
    nuc_set_arg_bool(node, 5, false);
    nuc_set_arg_float(node, 6, 0.1);
    nuc_set_arg_float(node, 7, 1e-5);
    nuc_set_arg_bool(node, 8, true);
    return rb_finish(b, node, 3 * x->bound);
}

const struct rb_row rb_window_rows[] = {
    {NUC_OP_CONV2D, conv},
    {NUC_OP_CONV2D, conv},
    {NUC_OP_CONV2D, conv},
    {NUC_OP_CONV2D_PADDING, conv},
    {NUC_OP_CONV1D, conv},
    {NUC_OP_CONV1D, conv},
    {NUC_OP_CONV1D_PADDING, conv},
    {NUC_OP_CONV_TRANSPOSE2D, conv_transpose},
    {NUC_OP_CONV_TRANSPOSE2D, conv_transpose},
    {NUC_OP_CONV_TRANSPOSE1D, conv_transpose},
    {NUC_OP_CONV2D, conv_of_computed},
    {NUC_OP_CONV_TRANSPOSE2D, conv_of_computed},
    {NUC_OP_MAX_POOL2D, pool},
    {NUC_OP_AVG_POOL2D, pool},
    {NUC_OP_MAX_POOL1D, pool},
    {NUC_OP_AVG_POOL1D, pool},
    {NUC_OP_ADAPTIVE_AVG_POOL2D, adaptive_pool},
    {NUC_OP_UPSAMPLE_BILINEAR, resize},
    {NUC_OP_UPSAMPLE_NEAREST, resize},
    {NUC_OP_BATCH_NORM, batch_norm},
    {.make = NULL},
};
