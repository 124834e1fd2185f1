#include "quantize/ranges/masked_range.h"

#include <math.h>
#include <string.h>

#include "ir/args.h"
#include "ir/masks.h"
#include "quantize/ranges/relevant_range.h"

/* A value so far below the largest of its row is less than a step of any quantized probability: exp(-32) is 1e-14. */
#define VANISHES 32.0f

/* The largest value of a row that nothing is left of: masks add or put in less than that. */
#define ALL_MASKED (-4096.0f)

/* A number below this is no value but stands for minus infinity. */
#define FAR 1e4f

/* A mask is added, or chooses; what comes out of a layer is a score. */
static bool is_masked(const struct nuc_node *node)
{
    while (node != NULL && nuc_moves_values(node))
        node = nuc_arg_node(node, NUC_SELF);
    return node != NULL && (node->op == NUC_OP_ADD || node->op == NUC_OP_WHERE);
}

/* Elements `step` apart from one row of a softmax to the next element of it. */
struct rows {
    size_t count, columns, step;
};

static const float *row_at(const struct rows *r, const float *x, size_t i)
{
    return x + i / r->step * r->step * r->columns + i % r->step;
}

static float largest(const struct rows *r, const float *row)
{
    float most = -INFINITY;

    for (size_t i = 0; i < r->columns; i++)
        most = row[i * r->step] > most ? row[i * r->step] : most;
    return most;
}

static bool has_masked(const struct rows *r, const float *x)
{
    for (size_t k = 0; k < r->count; k++) {
        const float *row = row_at(r, x, k);
        float bound = largest(r, row) - VANISHES;
        for (size_t i = 0; i < r->columns; i++) {
            if (!(row[i * r->step] >= bound) || row[i * r->step] < ALL_MASKED)
                return true;
        }
    }
    return false;
}

/*
 * How far below the logarithm of the sum of all exponentials of a row `count` values have to lie that are to be 0 in
 * steps of 1/256: beyond ln(512), by as much as other samples may differ, and so that together they take no more than
 * 1/64 of the row.
 */
static float reach_of(size_t count)
{
    return fmaxf(logf(512) + 2, logf(64.0f * (float)count));
}

/* What hides is replaced by what int8 needs of it; `hides`: there is such a value in any row. */
static void replace_masked(const struct rows *r, const float *x, float *to, bool hides)
{
    for (size_t k = 0; k < r->count; k++) {
        const float *row = row_at(r, x, k);
        float *out = to + (row - x), most = largest(r, row), sum = 0;
        size_t least = 0, hidden = 0, end = r->columns * r->step;
        for (size_t i = 0; i < end; i += r->step) {
            bool is_hidden = row[i] < most - VANISHES;
            hidden += is_hidden;
            sum += is_hidden ? 0.0f : expf(row[i] - most);
        }
        float low = hidden > 0 ? most + logf(sum) - reach_of(hidden) : most - reach_of(r->columns);
        for (size_t i = 0; i < end; i += r->step) {
            out[i] = most < ALL_MASKED ? 0.0f : row[i] < most - VANISHES ? low : row[i];
            least = out[i] < out[least] ? i : least;
        }
        if (hides && !(most < ALL_MASKED) && out[least] > low)
            out[least] = low;
    }
}

/* Places behind the first one that still count. */
#define RUNNERS_UP 2

/* Values that do not win their row, nor come close behind, are as far from the winner as the last that does. */
static void replace_losers(const struct rows *r, const float *x, float *to, bool smallest)
{
    for (size_t k = 0; k < r->count; k++) {
        const float *row = row_at(r, x, k);
        float *out = to + (row - x), best[RUNNERS_UP + 1];
        size_t n = 0, end = r->columns * r->step;
        for (size_t i = 0; i < end; i += r->step) {
            float value = smallest ? row[i] : -row[i];
            size_t at = n <= RUNNERS_UP ? n++ : n;
            for (; at > 0 && value < best[at - 1]; at--) {
                if (at <= RUNNERS_UP)
                    best[at] = best[at - 1];
            }
            if (at <= RUNNERS_UP)
                best[at] = value;
        }
        for (size_t i = 0; i < end; i += r->step) {
            float value = smallest ? row[i] : -row[i], bounded = value > best[n - 1] ? best[n - 1] : value;
            out[i] = smallest ? bounded : -bounded;
        }
    }
}

bool nuc_is_never_greatest(const struct nuc_node *node)
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

struct nuc_masked_rows nuc_masked_rows_of(struct nuc_graph *g, const struct nuc_node *node)
{
    struct nuc_masked_rows m = {-1, false, false};

    if (node->n_vals == 0 || node->vals[0].dtype != NUC_F32 || nuc_elements(&node->vals[0]) == 0)
        return m;
    m.dim = nuc_is_call(node) ? nuc_ranked_dim(g, node, &m.smallest) : -1;
    m.ranked = m.dim >= 0;
    if (!m.ranked && is_masked(node))
        m.dim = nuc_softmax_dim(g, node);
    return m;
}

const float *nuc_without_masked(const struct nuc_masked_rows *m, const struct nuc_meta *meta, const float *x,
                                bool hides, float *copy)
{
    if (m->dim < 0)
        return x;
    const size_t columns = (size_t)meta->sizes[m->dim];
    struct rows r = {(size_t)nuc_elements(meta) / columns, columns, 1};
    for (uint32_t i = (uint32_t)m->dim + 1; i < meta->rank; i++)
        r.step *= (size_t)meta->sizes[i];
    if (!m->ranked && !hides && !has_masked(&r, x))
        return x;
    if (m->ranked)
        replace_losers(&r, x, copy, m->smallest);
    else
        replace_masked(&r, x, copy, hides);
    return copy;
}

const float *nuc_mask_biases(const float *x, size_t count, float *copy, bool *hides)
{
    *hides = false;
    for (size_t i = 0; i < count && !*hides; i++)
        *hides = x[i] <= NUC_FAR;
    if (!*hides)
        return x;
    for (size_t i = 0; i < count; i++)
        copy[i] = x[i] <= NUC_FAR ? 0.0f : x[i];
    return copy;
}
