#include <string.h>

#include "ir/args.h"
#include "npu/lower/lowering.h"

/* ---- view ---- */

/*
 * The position of the one dimension of size 1 by which two shapes differ, or -1: counted in the longer shape. Shapes
 * of nothing but ones differ in position 0.
 */
static int single_one(const int32_t *shorter, uint32_t rank, const int32_t *longer)
{
    uint32_t front = 0;
    uint32_t back = rank; /* elements of the shorter shape that are not matched from the end */
    bool ones = true;

    for (uint32_t i = 0; i <= rank; i++)
        ones = ones && longer[i] == 1 && (i == rank || shorter[i] == 1);
    if (ones)
        return 0;
    while (front < rank && shorter[front] == longer[front])
        front++;
    while (back > 0 && shorter[back - 1] == longer[back])
        back--;
    /* Where one side matches whole, the other side's first mismatch is the place; else both must name one place. */
    uint32_t place = front == rank ? back : front;
    if (front != rank && back != 0 && front != back)
        return -1;
    return longer[place] == 1 ? (int)place : -1;
}

/*
 * Between two channels-last tensors of which one has a dimension of size 1 more, before or at the channels: one
 * transpose before the reshape does what two around it would. By rank of the input and position among N and C.
 */
static const int32_t remove_4[2][5] = {{0, 3, 2, 1}, {0, 2, 1, 3}};
static const int32_t remove_5[2][5] = {{0, 4, 2, 3, 1}, {0, 2, 3, 1, 4}};
static const int32_t add_3[2][5] = {{2, 1, 0}, {0, 2, 1}};
static const int32_t add_4[2][5] = {{3, 1, 2, 0}, {0, 3, 1, 2}};

/* NULL: the shapes do not differ so, or not in a rank the table has. */
static const int32_t *single_one_perm(const struct nuc_lt_tensor *from, const struct nuc_lt_tensor *to)
{
    int32_t perm[NUC_MAX_RANK], a[NUC_MAX_RANK], b[NUC_MAX_RANK];

    nuc_perm_to_first(perm, from->rank);
    nuc_perm_apply(a, from->shape, perm, from->rank);
    nuc_perm_to_first(perm, to->rank);
    nuc_perm_apply(b, to->shape, perm, to->rank);
    if (from->rank == to->rank + 1) {
        int place = single_one(b, to->rank, a);
        if (place < 0 || place > 1)
            return NULL;
        return from->rank == 4 ? remove_4[place] : from->rank == 5 ? remove_5[place] : NULL;
    }
    if (from->rank + 1 == to->rank) {
        int place = single_one(a, from->rank, b);
        if (place < 0 || place > 1)
            return NULL;
        return from->rank == 3 ? add_3[place] : from->rank == 4 ? add_4[place] : NULL;
    }
    return NULL;
}

/* Transposes around the reshape of `x` to `y`, so that it sees the dimensions in the order torch sees them. */
void nuc_lower_view(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    int32_t to_first[NUC_MAX_RANK], to_last[NUC_MAX_RANK];
    bool last_in = nuc_ltb_is_last(l->b, x), last_out = nuc_ltb_is_last(l->b, y);
    const int32_t *single = NULL;

    (void)node;
    nuc_lower_propagate(l, x, y);
    const struct nuc_lt_tensor *from = nuc_ltb_at(l->b, x), *to = nuc_ltb_at(l->b, y);
    /* Batch and channels stay where they are, so the reshape touches the dimensions between them alone. */
    bool plain =
        last_in && last_out && from->shape[0] == to->shape[0] && from->shape[from->rank - 1] == to->shape[to->rank - 1];
    if (last_in && last_out && !plain)
        single = single_one_perm(from, to);
    nuc_perm_to_first(to_first, from->rank);
    nuc_perm_to_last(to_last, to->rank);
    if (single != NULL)
        x = nuc_ltb_transpose_before(l->b, x, single, NUC_LTB_BETWEEN);
    else if (last_in && !plain)
        x = nuc_ltb_transpose_before(l->b, x, to_first, NUC_LTB_CHANNELS_FIRST);
    bool after = last_out && !plain && single == NULL;
    struct nuc_ltb_result result = nuc_ltb_begin_result(l->b, y, after ? to_last : NULL, NUC_LTB_CHANNELS_FIRST);
    nuc_ltb_reshape(l->b, x, result.written);
    nuc_ltb_end_result(l->b, &result);
}

/* ---- permute ---- */

/* Through dequantize, and dequantize of quantize of a permute, down to a constant. */
static bool is_static_value(const struct nuc_node *node)
{
    if (node != NULL && nuc_is_dequantize(node))
        node = nuc_arg_node(node, NUC_SELF);
    return node != NULL && nuc_is_static(node);
}

/* Permutations one after the other. */
struct steps {
    uint32_t count;
    int32_t perms[3][NUC_MAX_RANK];
};

/* The steps with those joined that have no cut between them; bit i of `cuts`: after step i. */
static struct steps joined(const struct steps *s, uint32_t cuts, uint32_t rank)
{
    struct steps out = {.count = 0};
    int32_t before[NUC_MAX_RANK];

    for (uint32_t i = 0; i < s->count; i++) {
        if (i == 0 || (cuts >> (i - 1) & 1u) != 0) {
            memcpy(out.perms[out.count++], s->perms[i], sizeof before);
            continue;
        }
        memcpy(before, out.perms[out.count - 1], sizeof before);
        nuc_perm_apply(out.perms[out.count - 1], before, s->perms[i], rank);
    }
    return out;
}

static bool can_do(const struct nuc_ltb *b, int32_t x, const struct steps *s)
{
    const struct nuc_lt_tensor *t = nuc_ltb_at(b, x);
    int32_t shape[NUC_MAX_RANK], next[NUC_MAX_RANK];

    memcpy(shape, t->shape, sizeof shape);
    for (uint32_t i = 0; i < s->count; i++) {
        if (!nuc_ltb_can_transpose(b, shape, s->perms[i], t->rank))
            return false;
        nuc_perm_apply(next, shape, s->perms[i], t->rank);
        memcpy(shape, next, t->rank * sizeof *shape);
    }
    return true;
}

/* As few transposes as the NPU can do: one in rule set sdk-3.2. The order of the tries is the reference's. */
static struct steps fewest(const struct nuc_ltb *b, int32_t x, const struct steps *s)
{
    static const uint32_t tries[] = {0, 2, 1, 3};
    uint32_t rank = nuc_ltb_at(b, x)->rank;

    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        struct steps candidate = joined(s, tries[i], rank);
        if (can_do(b, x, &candidate))
            return candidate;
    }
    return joined(s, 0, rank);
}

void nuc_lower_permute(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    uint32_t rank = nuc_ltb_at(l->b, x)->rank;
    int32_t perm[NUC_MAX_RANK] = {0};

    nuc_lower_propagate(l, x, y);
    const struct nuc_arg *dims = nuc_arg_at(node, NUC_ARG(PERMUTE, dims));
    uint32_t seen = 0;
    if (dims->kind != NUC_ARG_INTS || dims->count != rank)
        nuc_lower_refuse(l, node, "its permutation does not fit its input");
    for (uint32_t i = 0; i < rank; i++) {
        int64_t d = nuc_positive_dim(dims->u.ints[i], rank);
        if (d < 0 || d >= (int64_t)rank || (seen >> d & 1u) != 0)
            nuc_lower_refuse(l, node, "its dimensions are not a permutation");
        seen |= 1u << d;
        perm[i] = (int32_t)d;
    }
    /*
     * From the format of the input over torch's permutation to the format of the output. A constant input of one format
     * and an output of another keep torch's permutation: their data are moved already.
     */
    const struct nuc_node *input = nuc_arg_node(node, NUC_SELF);
    bool first_in = input != NULL && input->format == NUC_CHANNELS_FIRST;
    bool first_out = node->format == NUC_CHANNELS_FIRST;
    bool moved = first_in != first_out && is_static_value(input);
    struct steps all = {.count = 0};
    if (first_in && !moved)
        nuc_perm_to_first(all.perms[all.count++], rank);
    memcpy(all.perms[all.count++], perm, rank * sizeof *perm);
    if (first_out && !moved)
        nuc_perm_to_last(all.perms[all.count++], rank);
    struct steps s = fewest(l->b, x, &all);
    for (uint32_t i = 0; i + 1 < s.count; i++)
        x = nuc_ltb_transpose_before(l->b, x, s.perms[i], NUC_LTB_BETWEEN);
    nuc_ltb_transpose(l->b, x, y, s.perms[s.count - 1]);
}

/* ---- clone ---- */

void nuc_lower_clone(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    (void)node;
    nuc_lower_propagate(l, x, y);
    nuc_ltb_identity(l->b, x, y);
}
