#include "quantize/ranges/masked_range.h"

#include <math.h>
#include <string.h>

#include "ir/args.h"

/* A value so far below the largest of its row is less than a step of any quantized probability: exp(-32) is 1e-14. */
#define VANISHES 32.0f

/* The largest value of a row that nothing is left of: masks add or put in less than that. */
#define ALL_MASKED (-4096.0f)

/* A number below this is no value but stands for minus infinity. */
#define FAR 1e4f

/* A mask is added, or chooses; what comes out of a layer is a score. */
static bool is_masked(const struct nuc_node *node)
{
    while (node != NULL && nuc_op_family(node->op) == NUC_FAMILY_VIEW)
        node = nuc_arg_node(node, NUC_SELF);
    return node != NULL && (node->op == NUC_OP_ADD || node->op == NUC_OP_WHERE);
}

/* Every reader is a softmax along the last dimension, perhaps behind a view that leaves this dimension as it is. */
static bool is_read_by_softmax(const struct nuc_node *node)
{
    uint32_t rank = node->vals[0].rank;

    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        bool keeps_rows = nuc_op_family(user->op) == NUC_FAMILY_VIEW && user->vals[0].rank > 0 &&
                          user->vals[0].sizes[user->vals[0].rank - 1] == node->vals[0].sizes[rank - 1];
        bool softmax = nuc_op_family(user->op) == NUC_FAMILY_SOFTMAX &&
                       nuc_dim(user, NUC_ARG(SOFTMAX, dim), -1, rank) == (int64_t)rank - 1;
        if (!softmax && (!keeps_rows || !is_read_by_softmax(user)))
            return false;
    }
    return node->n_users > 0;
}

bool nuc_masks_softmax(const struct nuc_node *node)
{
    return node->vals[0].rank > 0 && is_masked(node) && is_read_by_softmax(node);
}

static float largest(const float *row, size_t count)
{
    float most = -INFINITY;

    for (size_t i = 0; i < count; i++)
        most = row[i] > most ? row[i] : most;
    return most;
}

static bool has_masked(const float *x, size_t rows, size_t columns)
{
    for (size_t r = 0; r < rows; r++, x += columns) {
        float bound = largest(x, columns) - VANISHES;
        for (size_t i = 0; i < columns; i++) {
            if (!(x[i] >= bound) || x[i] < ALL_MASKED)
                return true;
        }
    }
    return false;
}

static void replace_masked(const float *x, float *to, size_t rows, size_t columns)
{
    float reach = logf(256.0f * (float)columns);

    for (size_t r = 0; r < rows; r++, x += columns, to += columns) {
        float most = largest(x, columns);
        for (size_t i = 0; i < columns; i++)
            to[i] = most < ALL_MASKED ? 0.0f : x[i] < most - VANISHES ? most - reach : x[i];
    }
}

/* A padding that never wins: its readers take the greatest of several values, of which others are of the input. */
static bool is_never_greatest(const struct nuc_node *node)
{
    const struct nuc_arg *mode = nuc_arg_at(node, NUC_ARG(PAD, mode));

    if (node->op != NUC_OP_PAD || mode->kind != NUC_ARG_STRING || strcmp(mode->u.string, "constant") != 0 ||
        !(nuc_scalar(node, NUC_ARG(PAD, value), 0) < -(double)FAR))
        return false;
    for (uint32_t i = 0; i < node->n_users; i++) {
        enum nuc_op op = node->users[i]->op;
        if (op != NUC_OP_MAX_POOL2D && op != NUC_OP_MAX_POOL1D)
            return false;
    }
    return node->n_users > 0;
}

const float *nuc_without_masked(struct nuc_context *cx, struct nuc_masked_range *m, const struct nuc_node *node,
                                const float *x)
{
    const struct nuc_meta *meta = &node->vals[0];
    size_t count = (size_t)nuc_elements(meta);

    if (is_never_greatest(node))
        return NULL;
    if (count == 0 || meta->dtype != NUC_F32 || !nuc_masks_softmax(node))
        return x;
    size_t columns = (size_t)meta->sizes[meta->rank - 1];
    if (!has_masked(x, count / columns, columns))
        return x;
    m->values = nuc_grow(cx, m->values, &m->capacity, count, sizeof *m->values);
    replace_masked(x, m->values, count / columns, columns);
    return m->values;
}
