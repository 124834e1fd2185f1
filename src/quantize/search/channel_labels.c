#include "quantize/search/channel_labels.h"

#include <assert.h>

/* ---- sets ---- */

struct nuc_label_sets *nuc_label_sets_new(struct nuc_context *cx)
{
    struct nuc_label_sets *s = nuc_alloc(cx, sizeof *s);

    s->cx = cx;
    return s;
}

static nuc_label new_label(struct nuc_label_sets *s)
{
    s->parent = nuc_grow(s->cx, s->parent, &s->capacity, s->count + 1, sizeof *s->parent);
    s->pinned = nuc_grow(s->cx, s->pinned, &s->pinned_capacity, s->count + 1, sizeof *s->pinned);
    s->parent[s->count] = 2 * s->count;
    s->pinned[s->count] = false;
    return 2 * s->count++;
}

nuc_label nuc_label_root(const struct nuc_label_sets *s, nuc_label l)
{
    while (s->parent[l / 2] != (l & ~1u)) {
        nuc_label up = s->parent[l / 2];
        s->parent[l / 2] = s->parent[up / 2] ^ (up & 1u); /* halves the path */
        l = s->parent[l / 2] ^ (l & 1u);
    }
    return l;
}

void nuc_label_join(struct nuc_label_sets *s, nuc_label a, nuc_label b)
{
    if (a == NUC_ANY_LABEL || b == NUC_ANY_LABEL)
        return;
    a = nuc_label_root(s, a);
    b = nuc_label_root(s, b);
    if (a / 2 == b / 2) {
        s->pinned[a / 2] = s->pinned[a / 2] || a != b;
        return;
    }
    s->parent[b / 2] = a ^ (b & 1u);
    s->pinned[a / 2] = s->pinned[a / 2] || s->pinned[b / 2];
}

void nuc_label_pin(struct nuc_label_sets *s, nuc_label l)
{
    if (l != NUC_ANY_LABEL)
        s->pinned[nuc_label_root(s, l) / 2] = true;
}

bool nuc_label_is_pinned(const struct nuc_label_sets *s, nuc_label l)
{
    return l == NUC_ANY_LABEL || s->pinned[nuc_label_root(s, l) / 2];
}

/* ---- tensors ---- */

static struct nuc_channel_labels *make(struct nuc_label_sets *s, uint32_t rank, const int64_t *sizes)
{
    struct nuc_channel_labels *l = nuc_alloc(s->cx, sizeof *l);

    l->rank = rank;
    l->count = 1;
    for (uint32_t d = 0; d < rank; d++) {
        l->sizes[d] = sizes[d];
        l->count *= (size_t)sizes[d];
    }
    l->at = nuc_alloc_array(s->cx, l->count, sizeof *l->at);
    return l;
}

struct nuc_channel_labels *nuc_labels_new(struct nuc_label_sets *s, const struct nuc_meta *m, uint32_t dims)
{
    int64_t sizes[NUC_MAX_RANK];

    for (uint32_t d = 0; d < m->rank; d++)
        sizes[d] = dims >> d & 1 ? m->sizes[d] : 1;
    struct nuc_channel_labels *l = make(s, m->rank, sizes);
    for (size_t i = 0; i < l->count; i++)
        l->at[i] = new_label(s);
    return l;
}

struct nuc_channel_labels *nuc_labels_of_one(struct nuc_label_sets *s, uint32_t rank, nuc_label label)
{
    int64_t sizes[NUC_MAX_RANK];

    for (uint32_t d = 0; d < rank; d++)
        sizes[d] = 1;
    struct nuc_channel_labels *l = make(s, rank, sizes);
    l->at[0] = label;
    return l;
}

struct nuc_channel_labels *nuc_labels_along(struct nuc_label_sets *s, const struct nuc_meta *m, uint32_t dim,
                                            const nuc_label *at)
{
    int64_t sizes[NUC_MAX_RANK];

    for (uint32_t d = 0; d < m->rank; d++)
        sizes[d] = d == dim ? m->sizes[d] : 1;
    struct nuc_channel_labels *l = make(s, m->rank, sizes);
    for (size_t i = 0; i < l->count; i++)
        l->at[i] = at[i];
    return l;
}

bool nuc_labels_vary(const struct nuc_channel_labels *l, uint32_t dims)
{
    for (uint32_t d = 0; d < l->rank; d++) {
        if ((dims >> d & 1) && l->sizes[d] != 1)
            return true;
    }
    return false;
}

bool nuc_labels_are_pinned(const struct nuc_label_sets *s, const struct nuc_channel_labels *l)
{
    for (size_t i = 0; i < l->count; i++) {
        if (!nuc_label_is_pinned(s, l->at[i]))
            return false;
    }
    return true;
}

void nuc_labels_pin(struct nuc_label_sets *s, const struct nuc_channel_labels *l)
{
    for (size_t i = 0; i < l->count; i++)
        nuc_label_pin(s, l->at[i]);
}

size_t nuc_labels_offset(const struct nuc_channel_labels *l, const int64_t *index)
{
    size_t at = 0;

    for (uint32_t d = 0; d < l->rank; d++)
        at = at * (size_t)l->sizes[d] + (l->sizes[d] == 1 ? 0 : (size_t)index[d]);
    return at;
}

/* The index after `index` in logical order; false after the last. */
static bool next_index(const struct nuc_channel_labels *l, int64_t *index)
{
    for (uint32_t d = l->rank; d-- > 0;) {
        if (++index[d] < l->sizes[d])
            return true;
        index[d] = 0;
    }
    return false;
}

struct nuc_channel_labels *nuc_labels_even(struct nuc_label_sets *s, const struct nuc_channel_labels *l, uint32_t dims)
{
    int64_t sizes[NUC_MAX_RANK], index[NUC_MAX_RANK] = {0};
    size_t i = 0;

    for (uint32_t d = 0; d < l->rank; d++)
        sizes[d] = dims >> d & 1 ? 1 : l->sizes[d];
    struct nuc_channel_labels *out = make(s, l->rank, sizes);
    for (size_t k = 0; k < out->count; k++)
        out->at[k] = NUC_ANY_LABEL;
    if (l->count == 0)
        return out;
    do {
        nuc_label *to = &out->at[nuc_labels_offset(out, index)];
        if (*to == NUC_ANY_LABEL)
            *to = l->at[i];
        nuc_label_join(s, *to, l->at[i++]);
    } while (next_index(l, index));
    return out;
}

/* As a tensor of more dimensions, which are added in front. */
static struct nuc_channel_labels with_rank(const struct nuc_channel_labels *l, uint32_t rank)
{
    struct nuc_channel_labels out = {.rank = rank, .count = l->count, .at = l->at};

    for (uint32_t d = 0; d < rank; d++)
        out.sizes[d] = d < rank - l->rank ? 1 : l->sizes[d - (rank - l->rank)];
    return out;
}

struct nuc_channel_labels *nuc_labels_join(struct nuc_label_sets *s, const struct nuc_channel_labels *a,
                                           const struct nuc_channel_labels *b)
{
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    struct nuc_channel_labels x = with_rank(a, rank), y = with_rank(b, rank);
    int64_t sizes[NUC_MAX_RANK], index[NUC_MAX_RANK] = {0};
    size_t i = 0;

    for (uint32_t d = 0; d < rank; d++)
        sizes[d] = x.sizes[d] == 1 ? y.sizes[d] : x.sizes[d];
    struct nuc_channel_labels *out = make(s, rank, sizes);
    if (out->count == 0)
        return out;
    do {
        nuc_label p = x.at[nuc_labels_offset(&x, index)], q = y.at[nuc_labels_offset(&y, index)];
        nuc_label_join(s, p, q);
        out->at[i++] = p == NUC_ANY_LABEL ? q : p;
    } while (next_index(out, index));
    return out;
}

/* ---- moves ---- */

struct nuc_channel_labels *nuc_labels_permute(struct nuc_label_sets *s, const struct nuc_channel_labels *l,
                                              const uint32_t *dims)
{
    int64_t sizes[NUC_MAX_RANK], index[NUC_MAX_RANK] = {0}, from[NUC_MAX_RANK];
    size_t i = 0;

    for (uint32_t d = 0; d < l->rank; d++)
        sizes[d] = l->sizes[dims[d]];
    struct nuc_channel_labels *out = make(s, l->rank, sizes);
    if (out->count == 0)
        return out;
    do {
        for (uint32_t d = 0; d < l->rank; d++)
            from[dims[d]] = index[d];
        out->at[i++] = l->at[nuc_labels_offset(l, from)];
    } while (next_index(out, index));
    return out;
}

struct nuc_channel_labels *nuc_labels_slice(struct nuc_label_sets *s, const struct nuc_channel_labels *l, uint32_t dim,
                                            int64_t start, int64_t step, int64_t size)
{
    struct nuc_channel_labels sizes = *l;
    int64_t index[NUC_MAX_RANK] = {0}, from[NUC_MAX_RANK] = {0};
    size_t i = 0;

    sizes.sizes[dim] = l->sizes[dim] == 1 ? 1 : size;
    struct nuc_channel_labels *out = make(s, l->rank, sizes.sizes);
    if (out->count == 0)
        return out;
    do {
        for (uint32_t d = 0; d < l->rank; d++)
            from[d] = index[d];
        from[dim] = start + step * index[dim];
        out->at[i++] = l->at[nuc_labels_offset(l, from)];
    } while (next_index(out, index));
    return out;
}

struct nuc_channel_labels *nuc_labels_pad(struct nuc_label_sets *s, const struct nuc_channel_labels *l, uint32_t dim,
                                          int64_t before, int64_t own, int64_t size)
{
    struct nuc_channel_labels sizes = *l;
    int64_t index[NUC_MAX_RANK] = {0}, from[NUC_MAX_RANK] = {0};
    size_t i = 0;

    sizes.sizes[dim] = l->sizes[dim] == 1 ? 1 : size;
    struct nuc_channel_labels *out = make(s, l->rank, sizes.sizes);
    if (out->count == 0)
        return out;
    do {
        for (uint32_t d = 0; d < l->rank; d++)
            from[d] = index[d];
        from[dim] = index[dim] - (l->sizes[dim] == 1 ? 0 : before);
        bool inside = l->sizes[dim] == 1 || (from[dim] >= 0 && from[dim] < own);
        out->at[i++] = inside ? l->at[nuc_labels_offset(l, from)] : NUC_ANY_LABEL;
    } while (next_index(out, index));
    return out;
}

struct nuc_channel_labels *nuc_labels_cat(struct nuc_label_sets *s, struct nuc_channel_labels *const *parts,
                                          const int64_t *sizes, uint32_t count, uint32_t dim)
{
    struct nuc_channel_labels all = *parts[0];
    int64_t index[NUC_MAX_RANK] = {0}, from[NUC_MAX_RANK] = {0};
    size_t i = 0;

    all.sizes[dim] = 0;
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t d = 0; d < all.rank; d++) {
            if (d != dim && parts[k]->sizes[d] != 1)
                all.sizes[d] = parts[k]->sizes[d];
        }
        all.sizes[dim] += sizes[k];
    }
    struct nuc_channel_labels *out = make(s, all.rank, all.sizes);
    if (out->count == 0)
        return out;
    do {
        uint32_t k = 0;
        for (uint32_t d = 0; d < all.rank; d++)
            from[d] = index[d];
        while (from[dim] >= sizes[k])
            from[dim] -= sizes[k++];
        out->at[i++] = parts[k]->at[nuc_labels_offset(parts[k], from)];
    } while (next_index(out, index));
    return out;
}

/* Dimensions of one shape that hold the same elements as dimensions of the other. */
struct block {
    uint32_t from, from_end, to, to_end;
    bool varies;
};

static uint32_t find_blocks(const struct nuc_channel_labels *l, const struct nuc_meta *from, const struct nuc_meta *to,
                            struct block *blocks)
{
    uint32_t i = 0, j = 0, count = 0;

    while (i < from->rank || j < to->rank) {
        struct block b = {.from = i, .to = j};
        int64_t p = 1, q = 1;
        do {
            if (p <= q && i < from->rank)
                p *= from->sizes[i++];
            else if (j < to->rank)
                q *= to->sizes[j++];
            else
                p *= from->sizes[i++];
        } while (p != q);
        b.from_end = i;
        b.to_end = j;
        for (uint32_t d = b.from; d < b.from_end; d++)
            b.varies = b.varies || l->sizes[d] != 1;
        blocks[count++] = b;
    }
    return count;
}

struct nuc_channel_labels *nuc_labels_view(struct nuc_label_sets *s, const struct nuc_channel_labels *l,
                                           const struct nuc_meta *from, const struct nuc_meta *to)
{
    struct block blocks[2 * NUC_MAX_RANK];
    int64_t sizes[NUC_MAX_RANK], index[NUC_MAX_RANK] = {0}, source[NUC_MAX_RANK] = {0};
    size_t i = 0;

    assert(nuc_elements(from) == nuc_elements(to) && nuc_elements(from) > 0);
    uint32_t count = find_blocks(l, from, to, blocks);
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t d = blocks[k].to; d < blocks[k].to_end; d++)
            sizes[d] = blocks[k].varies ? to->sizes[d] : 1;
    }
    struct nuc_channel_labels *out = make(s, to->rank, sizes);
    do {
        for (uint32_t k = 0; k < count; k++) {
            int64_t flat = 0;
            for (uint32_t d = blocks[k].to; d < blocks[k].to_end; d++)
                flat = flat * to->sizes[d] + index[d];
            for (uint32_t d = blocks[k].from_end; d-- > blocks[k].from; flat /= from->sizes[d])
                source[d] = flat % from->sizes[d];
        }
        out->at[i++] = l->at[nuc_labels_offset(l, source)];
    } while (next_index(out, index));
    return out;
}
