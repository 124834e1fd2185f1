/*
 * Windows that reach beyond their input unevenly: ceil_mode, 'same' with an even kernel, means that do not count the
 * padding. The padding becomes an operator in front, what a mean was divided by a factor behind it.
 */
#include <math.h>
#include <string.h>

#include "ir/conv_args.h"
#include "ir/float_chain.h"
#include "rewrite/npu_forms/npu_forms.h"

#define SPATIAL 2 /* height, width */

/* The poolings' arguments have the same places, up to the padding; the 1-D forms', too. */
#define POOL(name) NUC_ARG(AVG_POOL2D, name)

struct window {
    uint32_t spatial;
    int64_t in[SPATIAL], out[SPATIAL]; /* sizes; of a 1-D pooling the first is 1 */
    int64_t kernel[SPATIAL], stride[SPATIAL], padding[SPATIAL];
    int64_t more[SPATIAL]; /* what the last window needs after input and padding */
};

static uint32_t spatial_of(enum nuc_op pool)
{
    return pool == NUC_OP_MAX_POOL1D || pool == NUC_OP_AVG_POOL1D ? 1 : 2;
}

static struct window window_of(const struct nuc_node *pool)
{
    struct window w = {
        .spatial = spatial_of(pool->op), .in = {1, 1}, .out = {1, 1}, .kernel = {1, 1}, .stride = {1, 1}};
    const struct nuc_meta *in = nuc_input_meta(pool, NUC_SELF), *out = &pool->vals[0];
    uint32_t first = SPATIAL - w.spatial;

    nuc_conv_numbers(pool, POOL(kernel_size), w.spatial, 1, w.kernel + first);
    memcpy(w.stride, w.kernel, sizeof w.stride);
    if (nuc_arg_at(pool, POOL(stride))->count > 0)
        nuc_conv_numbers(pool, POOL(stride), w.spatial, 1, w.stride + first);
    nuc_conv_numbers(pool, POOL(padding), w.spatial, 0, w.padding + first);
    for (uint32_t i = first; i < SPATIAL; i++) {
        w.in[i] = in->sizes[in->rank - SPATIAL + i];
        w.out[i] = out->sizes[out->rank - SPATIAL + i];
        int64_t more = (w.out[i] - 1) * w.stride[i] + w.kernel[i] - w.in[i] - 2 * w.padding[i];
        w.more[i] = more > 0 ? more : 0;
    }
    return w;
}

/* One operator of the window, what is around its input (`value`) in front of it where the sides differ. */
static struct nuc_node *insert_windows(const struct nuc_support *s, struct nuc_node *node, const char *name,
                                       const struct window *w, double value)
{
    return nuc_built(s, node, name,
                     NUC_ARGS(nuc_operand(s->g, node, NUC_SELF), w->spatial, nuc_ints_arg(w->kernel, SPATIAL),
                              nuc_ints_arg(w->stride, SPATIAL), nuc_ints_arg(w->padding, SPATIAL),
                              nuc_ints_arg(w->more, SPATIAL), value));
}

static int64_t channels_of(const struct nuc_node *pool)
{
    const struct nuc_meta *in = nuc_input_meta(pool, NUC_SELF);

    return in->sizes[in->rank - spatial_of(pool->op) - 1];
}

/* The rules of the NPU for an operator of that window and further arguments after the input. */
static bool is_taken(const struct nuc_support *s, const struct nuc_node *pool, enum nuc_op op, struct nuc_arg *args,
                     uint32_t n_args)
{
    struct window w = window_of(pool);
    struct nuc_meta image = nuc_meta_make(NUC_F32, (const int64_t[]){1, channels_of(pool), w.in[0], w.in[1]}, 4);
    struct nuc_node input = {.n_vals = 1, .vals = &image};
    struct nuc_node node = {.op = op, .args = args, .n_args = n_args, .n_vals = 1, .vals = &image};

    args[NUC_SELF] = nuc_node_arg(&input);
    return nuc_check_unquantized(s, op, &node).ok;
}

/* A batch is there or not, there are values, and the NPU takes the pooling without what it cannot do itself. */
static bool is_possible(const struct nuc_support *s, const struct nuc_node *pool, enum nuc_op as)
{
    const struct nuc_meta *in = nuc_input_meta(pool, NUC_SELF);
    uint32_t spatial = spatial_of(pool->op);

    if (in->dtype != NUC_F32 || (in->rank != spatial + 1 && in->rank != spatial + 2) || nuc_elements(in) == 0)
        return false;
    struct window w = window_of(pool);
    struct nuc_arg args[] = {nuc_node_arg(NULL), nuc_ints_arg(w.kernel, SPATIAL), nuc_ints_arg(w.stride, SPATIAL)};
    return is_taken(s, pool, as, args, sizeof args / sizeof *args);
}

/* ---- greatest values: what never wins is around them ---- */

static struct nuc_node *form_max_pool(const struct nuc_support *s, struct nuc_node *node)
{
    const uint32_t spatial = spatial_of(node->op);
    int64_t dilation[SPATIAL] = {1, 1};

    nuc_conv_numbers(node, NUC_ARG(MAX_POOL2D, dilation), spatial, 1, dilation);
    if (dilation[0] != 1 || dilation[1] != 1 || !is_possible(s, node, NUC_OP_MAX_POOL2D_INDICES) ||
        (!nuc_flag(node, NUC_ARG(MAX_POOL2D, ceil_mode)) && nuc_input_meta(node, NUC_SELF)->rank != spatial + 1))
        return NULL;
    const struct window w = window_of(node);
    return insert_windows(s, node, "greatest_of_windows", &w, -HUGE_VAL);
}

/*
 * ---- means: zeros are around them, and what they are divided by is put right. A pool would give them the steps of its
 * input, of which means have few ----
 */

static bool divides_by_window(const struct nuc_node *pool)
{
    struct window w = window_of(pool);
    bool one_dim = pool->op == NUC_OP_AVG_POOL1D;

    if (!one_dim && nuc_arg_at(pool, NUC_ARG(AVG_POOL2D, divisor_override))->kind != NUC_ARG_NONE)
        return false;
    return !nuc_flag(pool, POOL(ceil_mode)) &&
           (nuc_flag(pool, POOL(count_include_pad)) || (w.padding[0] == 0 && w.padding[1] == 0));
}

/*
 * Means that a pool leaves as they are: powers that stay in float, and few values of functions whose steps are those
 * of their range, which the means reach as well.
 */
static bool stays_pool(const struct nuc_node *node)
{
    const struct nuc_node *input = nuc_arg_node(node, NUC_SELF);
    struct window w = window_of(node);

    return input == NULL || nuc_is_summed_power(input) || nuc_is_exact_product(input) ||
           (nuc_op_is_in(input->op, NUC_OPS(NUC_OP_TANH, NUC_OP_SIGMOID)) && w.kernel[0] * w.kernel[1] <= 4);
}

static bool is_avg_pool_to_pad(const struct nuc_support *s, const struct nuc_node *node)
{
    bool batched = nuc_input_meta(node, NUC_SELF)->rank == spatial_of(node->op) + 2;

    if (!is_possible(s, node, NUC_OP_AVG_POOL2D))
        return false;
    if (divides_by_window(node) && (!batched || stays_pool(node)))
        return !batched;
    /* A convolution with a kernel of that size for each channel. */
    struct window w = window_of(node);
    struct nuc_meta kernel =
        nuc_meta_make(NUC_F32, (const int64_t[]){channels_of(node), 1, w.kernel[0], w.kernel[1]}, 4);
    struct nuc_node weight = {.op = NUC_OP_PLACEHOLDER, .input_kind = NUC_CONSTANT, .n_vals = 1, .vals = &kernel};
    struct nuc_arg args[] = {nuc_node_arg(NULL), nuc_node_arg(&weight), nuc_node_arg(NULL),
                             nuc_ints_arg(w.stride, SPATIAL)};
    return is_taken(s, node, NUC_OP_CONVOLUTION, args, sizeof args / sizeof *args);
}

/* How many elements the window at place `at` is divided by in one dimension: never by what ceil_mode adds. */
static int64_t counted(const struct window *w, uint32_t i, int64_t at, bool with_padding)
{
    int64_t around = with_padding ? w->padding[i] : 0, start = at * w->stride[i] - w->padding[i];
    int64_t end = start + w->kernel[i];

    end = end < w->in[i] + around ? end : w->in[i] + around;
    return end - (start > -around ? start : -around);
}

static double divisor_at(const struct nuc_node *node, const struct window *w, int64_t h, int64_t v)
{
    bool with_padding = nuc_flag(node, POOL(count_include_pad));

    if (node->op == NUC_OP_AVG_POOL2D && nuc_arg_at(node, NUC_ARG(AVG_POOL2D, divisor_override))->kind == NUC_ARG_INT)
        return (double)nuc_integer(node, NUC_ARG(AVG_POOL2D, divisor_override), 1);
    return (double)(counted(w, 0, h, with_padding) * counted(w, 1, v, with_padding));
}

static struct nuc_node *form_avg_pool(const struct nuc_support *s, struct nuc_node *node)
{
    if (!is_avg_pool_to_pad(s, node))
        return NULL;
    struct nuc_graph *g = s->g;
    struct window w = window_of(node);
    const int64_t count = w.out[0] * w.out[1], sizes[4] = {1, 1, w.out[0], w.out[1]};
    float *factors = nuc_alloc_array(g->cx, (size_t)count, sizeof *factors);
    double window = (double)(w.kernel[0] * w.kernel[1]), first = divisor_at(node, &w, 0, 0);
    bool same = true;
    for (int64_t i = 0; i < count; i++) {
        double divisor = divisor_at(node, &w, i / w.out[1], i % w.out[1]);
        factors[i] = (float)(window / divisor);
        same = same && nuc_numbers_equal(divisor, first);
    }
    if (same && nuc_numbers_equal(first, window) && nuc_input_meta(node, NUC_SELF)->rank != w.spatial + 2)
        return insert_windows(s, node, "means_of_windows", &w, 0);
    struct nuc_node *value = insert_windows(s, node, "sums_of_windows", &w, 1 / (same ? first : window));
    if (!same)
        value = nuc_insert_binary(g, node, NUC_OP_MUL, value, nuc_insert_floats(g, node, factors, sizes, 4));
    return nuc_built(s, node, "as_stated_windows", NUC_ARGS(value, w.spatial));
}

/* ---- convolutions ---- */

static struct nuc_node *form_unevenly_padded(const struct nuc_support *s, struct nuc_node *node)
{
    int64_t before[SPATIAL], more[SPATIAL];
    const struct nuc_conv_args *args = nuc_conv_args(node->op);

    nuc_conv_padding(node, SPATIAL, before, more);
    if (more[0] == 0 && more[1] == 0)
        return NULL;
    return nuc_built(s, node, "unevenly_padded",
                     NUC_ARGS(node->args[NUC_CONV_INPUT], node->args[NUC_CONV_WEIGHT], node->args[NUC_CONV_BIAS],
                              node->args[args->stride], node->args[args->dilation], node->args[args->groups],
                              nuc_ints_arg(before, SPATIAL), nuc_ints_arg(more, SPATIAL)));
}

/* ---- the forms ---- */

const struct nuc_npu_form nuc_window_forms[] = {
    {NUC_OPS(NUC_OP_MAX_POOL1D, NUC_OP_MAX_POOL2D), form_max_pool},
    {NUC_OPS(NUC_OP_AVG_POOL1D, NUC_OP_AVG_POOL2D), form_avg_pool},
    {NUC_OPS(NUC_OP_CONV2D_PADDING), form_unevenly_padded},
    {.form = NULL},
};
