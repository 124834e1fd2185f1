#include "cpu/kernel_cycles.h"

#include "ir/args.h"
#include "ir/conv_args.h"
#include "ir/op_list.h"

#define CONV(name) NUC_ARG(CORTEXM_CONV2D, name) /* the other convolutions have these in the same places */

/*
 * Instructions of one call, by what its loops go over: products, values written and read, pixels written (columns of
 * inputs are made for each), weights and channels (set up once for a call). Least squares of relative errors over the
 * operators of the nine models of bench/README.md, of MobileNetV2 and of two small networks, as they are and in strips,
 * counted by bench/m33/bench.sh (gcc 12.2, QEMU 7.2): the error of a row is the worst one met.
 */
struct fit {
    double call, product, written, read, pixel, weight, channel;
};

static const struct fit windows = {
    .call = 6800, .product = 0.83, .written = 12.9, .pixel = 271, .weight = 1.6}; /* 13 % */
static const struct fit pointwise = {
    .call = 5400, .product = 0.83, .written = 11.6, .pixel = 80, .weight = 0.5};                    /* 19 % */
static const struct fit few_pixels = {.call = 2790, .product = 1.23, .written = 30.4};              /* 40 % */
static const struct fit depthwise_3x3 = {.call = 3590, .product = 2, .read = 1.97, .channel = 209}; /* 15 % */
static const struct fit depthwise_else = {.call = 17600, .product = 3.45, .channel = 144};          /* 13 % */
static const struct fit depthwise_of_one = {
    .call = 5470, .product = 0.92, .written = 17.4, .pixel = 193, .channel = 401}; /* 1 % */

static const struct fit transposed = {.call = 5000, .product = 23}; /* 18 % */

/* The same without products. */
static const struct {
    const enum nuc_op *ops;
    struct fit fit;
} others[] = {
    {NUC_OPS(NUC_OP_CORTEXM_ADD), {.call = 7540, .written = 13}}, /* 1 %; sums of both operands' 256 values first */
    {NUC_OPS(NUC_OP_CORTEXM_MUL), {.call = 1500, .written = 64}}, /* 2 % */
    {NUC_OPS(NUC_OP_CORTEXM_ACTIVATION), {.call = 765, .written = 6}},                   /* 1 % */
    {NUC_OPS(NUC_OP_CORTEXM_AVG_POOL2D), {.call = 1075, .written = 25.5, .read = 2.23}}, /* 19 % */
    {NUC_OPS(NUC_OP_CORTEXM_MAX_POOL2D), {.call = 1075, .written = 16.5, .read = 2.5}},  /* 17 % */
    {NUC_OPS(NUC_OP_NUCLEON_SUM), {.call = 1000, .read = 18}},                           /* 40 % */
    {NUC_OPS(NUC_OP_TO_DIM_ORDER_COPY), {.call = 1000, .written = 33}},                  /* 15 % */
    {NUC_OPS(NUC_OP_CORTEXM_SOFTMAX), {.call = 2740, .written = 127}},                   /* 50 %: of ten values */
    {NUC_OPS(NUC_OP_NUCLEON_COPY), {.call = 616, .written = 0.75}},                      /* 1 % */
};

/* The constants are those of a core for which a product is two cycles in the target's own terms. */
static double scale(const struct nuc_kernel_costs *costs)
{
    return costs->mac / 2;
}

static uint64_t cycles(const struct nuc_kernel_costs *costs, const struct fit *f, double written, double read,
                       double products)
{
    return (uint64_t)(scale(costs) * (f->call + f->product * products + f->written * written + f->read * read));
}

static const enum nuc_op *const convolutions =
    NUC_OPS(NUC_OP_CORTEXM_CONV2D, NUC_OP_NUCLEON_CONV2D, NUC_OP_CORTEXM_DEPTHWISE, NUC_OP_NUCLEON_DEPTHWISE);

static const struct fit *fit_of_conv(const struct nuc_meta *in, const struct nuc_meta *w, bool depthwise, double pixels)
{
    if (depthwise && in->sizes[1] == 1)
        return &depthwise_of_one;
    if (depthwise)
        return w->sizes[1] == 3 && w->sizes[2] == 3 ? &depthwise_3x3 : &depthwise_else;
    if (w->sizes[1] * w->sizes[2] > 1)
        return &windows;
    return pixels > 2 ? &pointwise : &few_pixels;
}

static double share_of_rows(const struct nuc_meta *m, uint32_t dim, int64_t rows)
{
    return (double)nuc_elements(m) / (double)m->sizes[dim] * (double)rows;
}

/* Rows of the input that windows over so many rows of the result touch, paddings aside. */
static int64_t rows_touched(const struct nuc_node *node, int64_t rows)
{
    int64_t stride[2], height = nuc_input_meta(node, NUC_SELF)->sizes[2];
    int64_t kernel = nuc_input_meta(node, CONV(weight))->sizes[1];

    nuc_conv_numbers(node, CONV(stride), 2, 1, stride);
    int64_t touched = (rows - 1) * stride[0] + kernel;
    return touched < height ? touched : height;
}

static uint64_t conv_cycles(const struct nuc_kernel_costs *costs, const struct nuc_node *node, uint32_t dim,
                            int64_t rows)
{
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF), *m = &node->vals[0];
    const struct nuc_meta *w = nuc_input_meta(node, CONV(weight));
    bool depthwise = node->op == NUC_OP_CORTEXM_DEPTHWISE || node->op == NUC_OP_NUCLEON_DEPTHWISE;
    double written = share_of_rows(m, dim, rows), pixels = written / (double)m->sizes[1];
    double taps = (double)(w->sizes[1] * w->sizes[2] * (depthwise ? 1 : w->sizes[3]));
    double read = dim == 2 ? share_of_rows(in, 2, rows_touched(node, rows)) : (double)nuc_elements(in);
    const struct fit *f = fit_of_conv(in, w, depthwise, pixels);
    struct fit whole = *f;

    whole.call += f->pixel * pixels + f->weight * (double)nuc_elements(w) + f->channel * (double)m->sizes[1];
    return cycles(costs, &whole, written, read, written * taps);
}

static bool computes(const struct nuc_node *node)
{
    return nuc_is_call(node) && node->n_vals > 0 && nuc_op_kind(node->op) != NUC_KIND_GRAPH &&
           nuc_op_family(node->op) != NUC_FAMILY_VIEW &&
           !nuc_op_is_in(node->op, NUC_OPS(NUC_OP_NUCLEON_PERMUTE_VIEW, NUC_OP_NUCLEON_ROWS_VIEW,
                                           NUC_OP_NUCLEON_JOINED_ROWS, NUC_OP_CALL_DELEGATE, NUC_OP_ALLOC));
}

uint64_t nuc_kernel_cycles(const struct nuc_kernel_costs *costs, const struct nuc_node *node, uint32_t dim,
                           int64_t rows)
{
    if (!computes(node))
        return 0;
    const struct nuc_meta *m = &node->vals[0], *in = nuc_input_meta(node, NUC_SELF);
    double part = dim < m->rank && m->sizes[dim] > 0 ? (double)rows / (double)m->sizes[dim] : 1;
    double written = part * (double)nuc_elements(m);

    if (nuc_op_is_in(node->op, convolutions))
        return conv_cycles(costs, node, dim, rows);
    if (nuc_op_is_in(node->op, NUC_OPS(NUC_OP_CORTEXM_LINEAR, NUC_OP_CORTEXM_BATCH_MATMUL)) && in->rank > 0)
        return cycles(costs, &few_pixels, written, 0, written * (double)in->sizes[in->rank - 1]);
    if (node->op == NUC_OP_CORTEXM_TRANSPOSE_CONV2D)
        return cycles(costs, &transposed, written, 0,
                      (double)nuc_elements(in) * (double)nuc_elements(nuc_input_meta(node, CONV(weight))) /
                          (double)in->sizes[1]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (nuc_op_is_in(node->op, others[i].ops))
            return cycles(costs, &others[i].fit, written, part * (double)nuc_elements(in), 0);
    }
    return (uint64_t)(costs->call + written * costs->element);
}

uint64_t nuc_all_kernel_cycles(const struct nuc_kernel_costs *costs, const struct nuc_graph *g)
{
    uint64_t sum = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        sum += nuc_is_call(n) && n->n_vals > 0 && n->vals[0].rank > 0
                   ? nuc_kernel_cycles(costs, n, n->vals[0].rank - 1, n->vals[0].sizes[n->vals[0].rank - 1])
                   : 0;
    return sum;
}

uint64_t nuc_copy_cycles(const struct nuc_kernel_costs *costs, uint64_t bytes)
{
    return (uint64_t)(scale(costs) * (616 + 0.75 * (double)bytes));
}
