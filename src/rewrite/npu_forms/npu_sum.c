/*
 * Sums and means over dimensions as convolutions, whose result has a scale of its own: that of the NPU's SUM and MEAN
 * is their input's, which saturates a sum and leaves a mean of many values few steps.
 */
#include "ir/float_chain.h"
#include "rewrite/npu_forms/npu_forms.h"
#include "rewrite/npu_forms/npu_function.h"

#include <string.h>

#include "npu/support/estimate.h"

/*
 * The convolution: of all channels into one, or channel by channel, with a kernel of what is summed. An image's
 * dimensions stay where they are, so that it stays one; of another tensor those before, between and after what is
 * summed are batch, image and channels.
 */
struct reduction {
    bool by_channel;
    bool is_image;    /* the input as it is */
    bool is_row;      /* the input with its height */
    int64_t input[4]; /* [N, C, H, W]; of another tensor before the last two dimensions change places */
    int64_t kernel[2];
    double weight; /* of each value */
};

static bool is_sum(const struct nuc_node *node)
{
    return node->op == NUC_OP_SUM || node->op == NUC_OP_SUM_DIM;
}

static uint32_t summed_dims(const struct nuc_node *node)
{
    uint32_t rank = nuc_input_meta(node, NUC_SELF)->rank;

    if (node->op == NUC_OP_ADAPTIVE_AVG_POOL2D)
        return 3u << (rank - 2);
    return node->op == NUC_OP_SUM ? (1u << rank) - 1 : nuc_dims_mask(node, NUC_ARG(SUM_DIM, dim), rank);
}

/* Dimensions [from, to) of those in the mask, which follow each other; those of size 1 do not count. */
static bool find_run(const struct nuc_meta *m, uint32_t mask, uint32_t *from, uint32_t *to)
{
    bool ended = false;

    *from = *to = m->rank;
    for (uint32_t i = 0; i < m->rank; i++) {
        bool summed = (mask >> i & 1) != 0;
        if (m->sizes[i] == 1)
            continue;
        if (summed && ended)
            return false;
        if (summed) {
            *from = *from == m->rank ? i : *from;
            *to = i + 1;
        }
        ended = ended || (!summed && *from != m->rank);
    }
    return *from != m->rank;
}

/* [N, C, L] of a convolution along L is an image [N, C, 1, L] without its height. */
static bool is_row(const struct nuc_node *value)
{
    while (value != NULL && nuc_op_family(value->op) == NUC_FAMILY_MAP)
        value = nuc_arg_node(value, NUC_SELF);
    return value != NULL && value->op == NUC_OP_SQUEEZE_DIM && value->vals[0].rank == 3 &&
           nuc_input_meta(value, NUC_SELF)->sizes[2] == 1;
}

/* False when what is summed is not one run of dimensions, or is nothing. */
static bool read_reduction(const struct nuc_node *node, struct reduction *r)
{
    const struct nuc_meta *m = nuc_input_meta(node, NUC_SELF);
    uint32_t from, to;

    memset(r, 0, sizeof *r);
    if (m->dtype != NUC_F32 || node->vals[0].dtype != NUC_F32 || !find_run(m, summed_dims(node), &from, &to))
        return false;
    int64_t count = nuc_elements_between(m, from, to), after = nuc_elements_between(m, to, m->rank);
    r->weight = is_sum(node) ? 1.0 : 1.0 / (double)count;
    r->is_row = from > 0 && is_row(nuc_arg_node(node, NUC_SELF));
    r->is_image = r->is_row || (m->rank == 4 && from > 0);
    if (r->is_image) {
        const int64_t row[] = {m->sizes[0], m->sizes[1], 1, m->sizes[2]};
        memcpy(r->input, r->is_row ? row : m->sizes, sizeof r->input);
        from = r->is_row && from > 1 ? 3 : from;
        to = r->is_row && to > 2 ? 4 : to;
        r->by_channel = from > 1;
        r->kernel[0] = from <= 2 && to > 2 ? r->input[2] : 1;
        r->kernel[1] = to > 3 ? r->input[3] : 1;
        return true;
    }
    r->by_channel = after > 1;
    const int64_t rows[] = {nuc_elements_between(m, 0, from), r->by_channel ? 1 : count, r->by_channel ? count : 1,
                            after};
    memcpy(r->input, rows, sizeof rows);
    r->kernel[0] = r->by_channel ? count : 1;
    r->kernel[1] = 1;
    return true;
}

static int64_t channels_of(const struct reduction *r)
{
    return r->by_channel && !r->is_image ? r->input[3] : r->input[1];
}

/* Weights of the same value are still stored one by one; a running sum has as many as the square of its length. */
#define MAX_WEIGHTS ((int64_t)1 << 14)
#define MAX_SCAN 256

/* What moves or chooses values. */
static const bool moves[NUC_FAMILY_COUNT] = {
    [NUC_FAMILY_POOL] = true,    [NUC_FAMILY_RESIZE] = true, [NUC_FAMILY_REDUCE] = true, [NUC_FAMILY_VIEW] = true,
    [NUC_FAMILY_PERMUTE] = true, [NUC_FAMILY_SLICE] = true,  [NUC_FAMILY_COPY] = true,   [NUC_FAMILY_PAD] = true,
};

/* What the value, of a concatenation its first one, is made of by operators that only move or choose values. */
static const struct nuc_node *origin_of(const struct nuc_node *value)
{
    for (;;) {
        const struct nuc_node *from = NULL;
        struct nuc_cursor at = {0, 0};
        if (value->op == NUC_OP_CAT)
            from = nuc_next_input(value, &at);
        else if (moves[nuc_op_family(value->op)])
            from = nuc_arg_node(value, NUC_SELF);
        if (from == NULL)
            return value;
        value = from;
    }
}

/* A value of an operator that the NPU has not stays in float, and so does what is made of it. */
static bool is_quantized(const struct nuc_support *s, const struct nuc_node *origin)
{
    if (nuc_is_exact_product(origin))
        return false;
    switch ((int)nuc_op_family(origin->op)) {
    case NUC_FAMILY_MAP:
    case NUC_FAMILY_BINARY:
        return nuc_support_row(s, origin->op) != NULL;
    case NUC_FAMILY_CONV:
    case NUC_FAMILY_MATRIX:
    case NUC_FAMILY_SOFTMAX:
        return true;
    default:
        return nuc_is_placeholder(origin) && !nuc_is_static(origin);
    }
}

/*
 * What a layer makes is far from its mean: values of both signs cancel each other, and of those above 0 few are large.
 * The MEAN of the NPU gives it the steps of the values. An input of the model is what it is, and most often its mean is
 * taken off it; a mean that layers read gets steps of its own, too, but for that of a whole image, whose kernel would
 * be as large.
 */
static bool wants_own_steps(const struct nuc_node *node, const struct nuc_node *origin, const struct reduction *r)
{
    bool is_for_layers = !(r->is_image && r->by_channel);

    if (!nuc_is_placeholder(origin))
        return true;
    for (uint32_t i = 0; i < node->n_users && is_for_layers; i++) {
        const struct nuc_node *user = node->users[i];
        while (moves[nuc_op_family(user->op)] && user->n_users == 1)
            user = user->users[0];
        const enum nuc_family family = nuc_op_family(user->op);
        is_for_layers = family == NUC_FAMILY_CONV || family == NUC_FAMILY_MATRIX;
    }
    return is_for_layers;
}

/* Whether the NPU takes a kernel of that size over these channels. */
static bool takes_kernel(const struct nuc_target *t, int64_t height, int64_t width, int64_t channels)
{
    int64_t pixels = height * width;

    return pixels * channels <= MAX_WEIGHTS && height <= t->max_window && width <= t->max_window &&
           pixels * (channels + t->num_macs - 1) <= t->max_mac_buffer;
}

static bool is_reduction(const struct nuc_support *s, const struct nuc_node *node, struct reduction *r)
{
    const struct nuc_node *input = nuc_arg_node(node, NUC_SELF);
    const struct nuc_meta *out = &node->vals[0];

    if (node->op == NUC_OP_ADAPTIVE_AVG_POOL2D && nuc_elements_between(out, out->rank - 2, out->rank) != 1)
        return false;
    if (input == NULL || nuc_elements(&input->vals[0]) == 0 || !read_reduction(node, r))
        return false;
    const struct nuc_node *origin = origin_of(input);
    /* In the steps of its sum, a function that the NPU is going to have would have hardly any. */
    return is_sum(node) ? is_quantized(s, origin) || nuc_has_npu_function(s, origin)
                        : is_quantized(s, origin) && wants_own_steps(node, origin, r);
}

/* ---- sums of more than one kernel has ---- */

/*
 * How many parts `count` values are summed in before the parts are, about as many as are in each: the last one has no
 * zeros where that is near.
 */
static int64_t parts_of(int64_t count)
{
    int64_t root = 1;

    while ((root + 1) * (root + 1) <= count)
        root++;
    for (int64_t i = root; 2 * i > root; i--) {
        if (count % i == 0)
            return i;
    }
    return root;
}

static int64_t part_of(int64_t count, int64_t parts)
{
    return (count + parts - 1) / parts;
}

/* A sum in the steps of its values saturates; a mean only loses some, and gets no more weights than in one kernel. */
static bool has_parts(const struct nuc_support *s, const struct nuc_node *node, const struct reduction *r)
{
    int64_t channels = channels_of(r), parts = r->is_image ? r->kernel[1] : parts_of(r->kernel[0]);
    int64_t part = r->is_image ? r->kernel[0] : part_of(r->kernel[0], parts);
    bool has_two = r->is_image ? !r->is_row && parts > 1 && part > 1 : r->by_channel;

    return has_two && takes_kernel(s->target, r->is_image ? 1 : parts, r->is_image ? parts : 1, channels) &&
           takes_kernel(s->target, part, 1, channels) && (is_sum(node) || (parts + part) * channels <= MAX_WEIGHTS);
}

static struct nuc_node *form_sum(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_node *x = nuc_arg_node(node, NUC_SELF);
    struct reduction r;

    if (!is_reduction(s, node, &r))
        return NULL;
    const struct nuc_arg sizes = nuc_ints_arg(r.input, r.is_image && !r.is_row ? 0 : 4),
                         kernel = nuc_ints_arg(r.kernel, 2);
    const struct nuc_arg weight = is_sum(node) ? nuc_node_arg(NULL) : nuc_float_arg(r.weight);
    if (takes_kernel(s->target, r.kernel[0], r.kernel[1], channels_of(&r)))
        return nuc_built(s, node, "summed_by_kernel",
                         NUC_ARGS(x, sizes, nuc_bool_arg(r.by_channel && !r.is_image), kernel, r.weight,
                                  nuc_bool_arg(r.by_channel)));
    if (!has_parts(s, node, &r))
        return NULL;
    return r.is_image
               ? nuc_built(s, node, "summed_by_rows", NUC_ARGS(x, nuc_bool_arg(r.by_channel), weight))
               : nuc_built(s, node, "summed_by_parts", NUC_ARGS(x, sizes, r.kernel[0], parts_of(r.kernel[0]), weight));
}

/* ---- sums of products with constants ---- */

/*
 * sum(x c) along the last dimensions, as a linear layer. The constant varies along those and perhaps some before them:
 * each of these groups of `inputs` values makes one result for every `summed` values.
 */
struct weighted {
    struct nuc_node *x, *c;
    int64_t rows, inputs, summed;
    double weight; /* of each product */
};

static bool read_weighted(const struct nuc_node *node, struct weighted *w)
{
    const struct nuc_node *mul = nuc_arg_node(node, NUC_SELF);
    bool is_product = mul != NULL && mul->op == NUC_OP_MUL && mul->n_users == 1;
    struct nuc_node *a = is_product ? nuc_arg_node(mul, NUC_SELF) : NULL;
    struct nuc_node *b = is_product ? nuc_arg_node(mul, NUC_OTHER) : NULL;

    memset(w, 0, sizeof *w);
    if (a == NULL || b == NULL)
        return false;
    w->x = nuc_is_static(a) ? b : a;
    w->c = nuc_is_static(a) ? a : b;
    const struct nuc_meta *m = &mul->vals[0], *c = &w->c->vals[0];
    uint32_t mask = summed_dims(node), from = m->rank;
    while (from > 0 && (mask >> (from - 1) & 1) != 0)
        from--;
    bool is_sum_of_last = from < m->rank && mask >> from << from == mask;
    if (!is_sum_of_last || !nuc_is_static(w->c) || nuc_is_static(w->x) || !nuc_is_float_value(w->x) ||
        !nuc_is_float_value(w->c) || !nuc_is_float_value(node) || !nuc_same_sizes(m, &w->x->vals[0]) ||
        nuc_elements(c) < 2)
        return false;
    uint32_t varies = 0;
    while (varies < from && (varies + c->rank < m->rank || c->sizes[varies + c->rank - m->rank] == 1))
        varies++;
    w->rows = nuc_elements_between(m, 0, varies);
    w->inputs = nuc_elements_between(m, varies, m->rank);
    w->summed = nuc_elements_between(m, from, m->rank);
    w->weight = is_sum(node) ? 1.0 : 1.0 / (double)w->summed;
    return true;
}

/* Of x's element at place `i`, counted in logical order. */
static double factor_at(const struct weighted *w, const float *factors, int64_t i)
{
    const struct nuc_meta *m = &w->x->vals[0], *c = &w->c->vals[0];
    int64_t at = 0, stride = 1;

    for (uint32_t k = 0; k < c->rank; k++) {
        int64_t size = m->sizes[m->rank - 1 - k], own = c->sizes[c->rank - 1 - k];
        at += own == 1 ? 0 : i % size * stride;
        stride *= own;
        i /= size;
    }
    return (double)factors[at];
}

static struct nuc_node *form_weighted_sum(const struct nuc_support *s, struct nuc_node *node)
{
    struct nuc_graph *g = s->g;
    struct weighted w;

    if (!read_weighted(node, &w) || nuc_elements(&w.x->vals[0]) == 0 || !is_quantized(s, origin_of(w.x)) ||
        w.inputs / w.summed > MAX_WEIGHTS / w.inputs || w.inputs > s->target->max_mac_buffer - s->target->num_macs)
        return NULL;
    int64_t outputs = w.inputs / w.summed;
    const int64_t rows[] = {w.rows, w.inputs}, sizes[] = {outputs, w.inputs};
    const float *factors = nuc_const_contiguous(g, w.c);
    float *weights = nuc_alloc_array(g->cx, (size_t)(outputs * w.inputs), sizeof *weights);

    for (int64_t i = 0; i < w.inputs; i++)
        weights[i / w.summed * w.inputs + i] = (float)(w.weight * factor_at(&w, factors, i));
    struct nuc_node *value = nuc_insert_reshaped(g, node, w.x, rows, 2);
    struct nuc_node *linear =
        nuc_emit(g, node, NUC_OP_LINEAR, node, NUC_ARGS(value, nuc_insert_floats(g, node, weights, sizes, 2)));
    return nuc_insert_reshaped(g, node, linear, node->vals[0].sizes, node->vals[0].rank);
}

/* ---- running sums ---- */

/*
 * The elements are channels: each result is the sum of those up to its own. Two copies beside the product, against the
 * CPU, which has it in float alone, and the way there and back.
 */
static struct nuc_node *form_cumsum(const struct nuc_support *s, struct nuc_node *node)
{
    const struct nuc_kernel_costs *c = &s->target->costs.int8;
    struct nuc_node *input = nuc_operand(s->g, node, NUC_SELF);
    const struct nuc_meta *m = &input->vals[0];
    const uint64_t elements = (uint64_t)nuc_elements(&node->vals[0]);

    if (elements == 0 || m->rank == 0 || m->dtype != NUC_F32 || node->vals[0].dtype != NUC_F32 ||
        !is_quantized(s, origin_of(input)))
        return NULL;
    const uint32_t dim = (uint32_t)nuc_dim(node, NUC_ARG(CUMSUM, dim), 0, m->rank);
    const int64_t n = m->sizes[dim],
                  image[] = {nuc_elements_between(m, 0, dim), n, nuc_elements_between(m, dim + 1, m->rank), 1};
    const int64_t sizes[] = {n, n, 1, 1};
    if (n > s->target->max_mac_buffer - s->target->num_macs || n > MAX_SCAN)
        return NULL;
    uint64_t npu = nuc_estimate_product(s->target, (uint64_t)(image[0] * image[2]), (uint64_t)n, (uint64_t)n) +
                   2 * nuc_estimate_move(s->target, elements);
    uint64_t cpu = nuc_estimate_cpu(s->target, node, true) + s->target->costs.npu_call;
    if (npu >= cpu + nuc_cpu_cycles(c, 2 * (double)elements, c->element))
        return NULL;
    float *ones = nuc_alloc_array(s->g->cx, (size_t)(n * n), sizeof *ones);
    for (int64_t i = 0; i < n * n; i++)
        ones[i] = i % n <= i / n ? 1.0f : 0.0f;
    struct nuc_node *value = nuc_insert_reshaped(s->g, node, input, image, 4);
    struct nuc_node *weight = nuc_insert_floats(s->g, node, ones, sizes, 4);
    value = nuc_emit(s->g, node, NUC_OP_CONV2D, node, NUC_ARGS(value, weight));
    return nuc_insert_reshaped(s->g, node, value, node->vals[0].sizes, node->vals[0].rank);
}

/* ---- the forms ---- */

const struct nuc_npu_form nuc_sum_forms[] = {
    /*
     * sum or mean along the last dimensions of x times a constant, a product that nothing else reads: a linear layer,
     * which rounds once.
     */
    {NUC_OPS(NUC_OP_SUM, NUC_OP_SUM_DIM, NUC_OP_MEAN_DIM), form_weighted_sum},
    /* sum, sum.dim_IntList, mean.dim, adaptive_avg_pool2d to one pixel. */
    {NUC_OPS(NUC_OP_SUM, NUC_OP_SUM_DIM, NUC_OP_MEAN_DIM, NUC_OP_ADAPTIVE_AVG_POOL2D), form_sum},
    /* cumsum */
    {NUC_OPS(NUC_OP_CUMSUM), form_cumsum},
    {.form = NULL},
};
