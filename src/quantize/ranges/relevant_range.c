#include "quantize/ranges/relevant_range.h"

#include <math.h>

#include "host/clones.h"
#include "ir/args.h"
#include "ir/op_list.h"

static const struct nuc_range everything = {-INFINITY, INFINITY};

bool nuc_moves_values(const struct nuc_node *node)
{
    enum nuc_family family = nuc_op_family(node->op);

    return nuc_op_rearranges(node->op) || family == NUC_FAMILY_SLICE || family == NUC_FAMILY_PAD ||
           family == NUC_FAMILY_CAT;
}

bool nuc_commutes_with_clamp(const struct nuc_node *node)
{
    return nuc_moves_values(node) ||
           nuc_op_is_in(node->op, NUC_OPS(NUC_OP_MAX_POOL1D, NUC_OP_MAX_POOL2D, NUC_OP_MAXIMUM, NUC_OP_MINIMUM));
}

/* sigmoid(x) * 256 rounds to 0 below -ln(511) and to 255 from ln(254.5 / 1.5) on. */
static struct nuc_range range_of_sigmoid(void)
{
    /* A step further on both sides: the rounding of the zero point moves a range by half a step at most. */
    double min = -log(511);
    double max = log(254.5 / 1.5);
    double step = (max - min) / 253;
    return (struct nuc_range){(float)(min - step), (float)(max + step)};
}

static struct nuc_range range_of_reader(const struct nuc_range *ranges, struct nuc_annotation *const *annotations,
                                        const struct nuc_node *user)
{
    const struct nuc_annotation *a = annotations[user->id];
    bool fixed = a != NULL && a->output.kind == NUC_QSPEC_FIXED && a->output.dtype == NUC_I8;

    if (!nuc_is_call(user))
        return everything;
    if (nuc_commutes_with_clamp(user))
        return ranges[user->id];
    switch ((int)user->op) {
    case NUC_OP_RELU:
    case NUC_OP_RELU6:
    case NUC_OP_HARDTANH:
    case NUC_OP_CLAMP: {
        struct nuc_bounds b = nuc_bounds_of(user);
        return b.min <= b.max ? (struct nuc_range){(float)b.min, (float)b.max} : everything;
    }
    case NUC_OP_HARDSWISH:
        return (struct nuc_range){-3, INFINITY};
    case NUC_OP_HARDSIGMOID:
        return (struct nuc_range){-3, 3};
    case NUC_OP_SIGMOID:
        return fixed ? range_of_sigmoid() : everything;
    default:
        return everything;
    }
}

struct nuc_range *nuc_relevant_ranges(struct nuc_graph *g, struct nuc_annotation *const *annotations)
{
    struct nuc_range *ranges = nuc_alloc_array(g->cx, g->next_id, sizeof *ranges);

    for (const struct nuc_node *n = g->last; n != NULL; n = n->prev) {
        struct nuc_range all = {INFINITY, -INFINITY};
        for (uint32_t i = 0; i < n->n_users; i++) {
            struct nuc_range one = range_of_reader(ranges, annotations, n->users[i]);
            all.min = one.min < all.min ? one.min : all.min;
            all.max = one.max > all.max ? one.max : all.max;
        }
        ranges[n->id] = n->n_users > 0 && nuc_is_call(n) && !n->is_tuple ? all : everything;
    }
    return ranges;
}

NUC_CLONES static bool all_inside(struct nuc_range range, const float *x, size_t count)
{
    enum { BLOCK = 1024 };

    for (size_t i = 0; i < count; i += BLOCK) {
        size_t n = count - i < BLOCK ? count - i : BLOCK;
        int32_t outside = 0;
        for (size_t k = 0; k < n; k++)
            outside |= (x[i + k] < range.min) | (x[i + k] > range.max);
        if (outside != 0)
            return false;
    }
    return true;
}

NUC_CLONES static void clip_all(struct nuc_range range, const float *x, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = x[i] < range.min ? range.min : x[i] > range.max ? range.max : x[i];
}

const float *nuc_clip(struct nuc_range range, const float *x, size_t count, float *copy)
{
    if (all_inside(range, x, count))
        return x;
    clip_all(range, x, count, copy);
    return copy;
}
