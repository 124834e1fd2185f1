/* Rule set sdk-3.1: the shapes and permutations its rules reason about. */
#include "npu/support/compat/rules31.h"

/* ---- shapes ---- */

struct nuc_meta nuc_stored_meta(const struct nuc_node *node)
{
    const struct nuc_meta *m = &node->vals[0];

    return nuc_is_channels_first(node) ? nuc_permuted31(m, nuc_to_channels_last(m->rank)) : *m;
}

uint32_t nuc_stored_axis(const struct nuc_node *node, int64_t dim)
{
    uint32_t rank = node->vals[0].rank;
    int64_t axis = nuc_positive_dim(dim, rank);
    bool moves = nuc_is_channels_first(node) && axis >= 0 && axis < rank;

    return moves ? nuc_to_channels_first(rank).map[axis] : (uint32_t)axis;
}

bool nuc_is_multiple(const struct nuc_rule_query *q, const char *what, int64_t size)
{
    int64_t macs = q->s->target->num_macs;

    if (size % macs == 0)
        return true;
    return nuc_rule_report(q, nuc_rule_text(q, "a multiple of %lld", (long long)macs), "%s %lld", what,
                           (long long)size);
}

/* ---- permutations ---- */

struct perm31 nuc_to_channels_last(uint32_t rank)
{
    struct perm31 p = {{0}};

    for (uint32_t i = 0; i < rank; i++)
        p.map[i] = rank < 3 || i == 0 ? i : i == rank - 1 ? 1 : i + 1;
    return p;
}

struct perm31 nuc_to_channels_first(uint32_t rank)
{
    struct perm31 p = {{0}};

    for (uint32_t i = 0; i < rank; i++)
        p.map[i] = rank < 3 || i == 0 ? i : i == 1 ? rank - 1 : i - 1;
    return p;
}

struct perm31 nuc_combined31(struct perm31 a, struct perm31 b, uint32_t rank)
{
    struct perm31 c = {{0}};

    for (uint32_t i = 0; i < rank; i++)
        c.map[i] = a.map[b.map[i]];
    return c;
}

struct nuc_meta nuc_permuted31(const struct nuc_meta *m, struct perm31 perm)
{
    struct nuc_meta permuted = *m;

    for (uint32_t i = 0; i < m->rank; i++)
        permuted.sizes[i] = m->sizes[perm.map[i]];
    return permuted;
}

bool nuc_keeps_data_order(const struct nuc_meta *m, struct perm31 perm)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < m->rank; i++) {
        uint32_t from = perm.map[i];
        if (m->sizes[from] == 1)
            continue;
        if (from < last)
            return false;
        last = from;
    }
    return true;
}

/*
 * Two groups of dimensions change places like rows and columns of a matrix, whose sizes are both multiples of the dot
 * product's length. Towards channels-first the rows are height * width, towards channels-last they are the width.
 */
bool nuc_can_transpose31(const struct nuc_target *target, const struct nuc_meta *m, struct perm31 perm)
{
    const int64_t *s = m->sizes, macs = target->num_macs;

    if (nuc_keeps_data_order(m, perm))
        return true;
    if (m->rank != 4 || s[0] != 1 || perm.map[0] != 0)
        return false;
    if (perm.map[1] == 3 && perm.map[2] == 1 && perm.map[3] == 2)
        return s[3] % macs == 0 && (s[1] % macs) * (s[2] % macs) % macs == 0;
    if (perm.map[1] == 2 && perm.map[2] == 3 && perm.map[3] == 1)
        return s[3] % macs == 0 && s[1] % macs == 0;
    return false;
}

bool nuc_can_transpose(const struct nuc_target *target, const struct nuc_flavor *flavor, const int32_t *sizes,
                       const int32_t *perm, uint32_t rank)
{
    struct nuc_meta m = {.rank = (uint8_t)rank};
    struct perm31 p = {{0}};

    for (uint32_t i = 0; i < rank; i++) {
        m.sizes[i] = sizes[i];
        p.map[i] = (uint32_t)perm[i];
    }
    if (!nuc_has_firmware_kernel(target, NUC_FW_Transpose))
        return nuc_keeps_data_order(&m, p);
    return flavor->rules != NUC_RULES_SDK_3_1 || nuc_can_transpose31(target, &m, p);
}
