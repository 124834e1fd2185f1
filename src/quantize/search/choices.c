#include "quantize/search/choices.h"

#include "ir/args.h"
#include "ir/conv_args.h"

/* One of the weights is 1, the others are 0. */
static bool is_choice(const float *weights, int64_t count)
{
    int64_t ones = 0;

    for (int64_t i = 0; i < count; i++) {
        bool one = nuc_numbers_equal((double)weights[i], 1);
        if (!one && !nuc_numbers_equal((double)weights[i], 0))
            return false;
        ones += one;
    }
    return ones == 1;
}

static bool has_no_padding(const struct nuc_node *conv)
{
    struct nuc_pair p = nuc_pair(conv, NUC_ARG(CONV2D, padding), (struct nuc_pair){0, 0});

    return p.h == 0 && p.w == 0;
}

/* One of zeros is there to be corrected. */
static bool has_no_bias(struct nuc_graph *g, const struct nuc_node *bias)
{
    return bias == NULL || nuc_is_static_zero(g, bias);
}

bool nuc_only_chooses(struct nuc_graph *g, const struct nuc_node *node)
{
    const struct nuc_node *weight = node->op == NUC_OP_CONV2D ? nuc_arg_node(node, NUC_CONV_WEIGHT) : NULL;

    if (!nuc_is_static_float(weight) || !has_no_bias(g, nuc_arg_node(node, NUC_CONV_BIAS)) || !has_no_padding(node) ||
        weight->vals[0].sizes[0] == 0)
        return false;
    const float *weights = nuc_const_contiguous(g, weight);
    int64_t rows = weight->vals[0].sizes[0], count = nuc_elements(&weight->vals[0]) / rows;
    for (int64_t i = 0; i < rows; i++) {
        if (!is_choice(weights + i * count, count))
            return false;
    }
    return true;
}

bool nuc_is_times_truth(const struct nuc_node *node)
{
    const struct nuc_node *truth = node->op == NUC_OP_MUL ? nuc_arg_node(node, NUC_OTHER) : NULL;
    const struct nuc_node *test = truth != NULL && truth->op == NUC_OP_TO_DTYPE ? nuc_arg_node(truth, NUC_SELF) : NULL;

    return test != NULL && test->n_vals == 1 && test->vals[0].dtype == NUC_BOOL;
}
