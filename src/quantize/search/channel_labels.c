#include "quantize/search/channel_labels.h"

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
    s->parent[s->count] = s->count;
    s->pinned[s->count] = false;
    return s->count++;
}

nuc_label nuc_label_root(const struct nuc_label_sets *s, nuc_label l)
{
    while (s->parent[l] != l)
        l = s->parent[l] = s->parent[s->parent[l]]; /* halves the path */
    return l;
}

void nuc_label_join(struct nuc_label_sets *s, nuc_label a, nuc_label b)
{
    if (a == NUC_ANY_LABEL || b == NUC_ANY_LABEL)
        return;
    a = nuc_label_root(s, a);
    b = nuc_label_root(s, b);
    s->parent[b] = a;
    s->pinned[a] = s->pinned[a] || s->pinned[b];
}

void nuc_label_pin(struct nuc_label_sets *s, nuc_label l)
{
    if (l != NUC_ANY_LABEL)
        s->pinned[nuc_label_root(s, l)] = true;
}

bool nuc_label_is_pinned(const struct nuc_label_sets *s, nuc_label l)
{
    return l == NUC_ANY_LABEL || s->pinned[nuc_label_root(s, l)];
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

/* ---- through operators ---- */

struct nuc_channel_labels *nuc_labels_concatenate(struct nuc_label_sets *s, struct nuc_channel_labels *const *parts,
                                                  const struct nuc_arg *values, uint32_t dim,
                                                  const struct nuc_meta *whole)
{
    int64_t sizes[NUC_MAX_RANK], before = 0;

    for (uint32_t d = 0; d < whole->rank; d++) {
        bool varies = d == dim && values->count > 1;
        for (uint32_t i = 0; i < values->count && !varies; i++)
            varies = parts[i]->sizes[d] != 1;
        sizes[d] = varies ? whole->sizes[d] : 1;
    }
    struct nuc_channel_labels *out = make(s, whole->rank, sizes);
    for (uint32_t i = 0; i < values->count; before += values->u.nodes[i++]->vals[0].sizes[dim]) {
        struct nuc_channel_labels place = *out;
        int64_t index[NUC_MAX_RANK] = {0};
        place.sizes[dim] = sizes[dim] == 1 ? 1 : values->u.nodes[i]->vals[0].sizes[dim];
        for (bool more = nuc_elements(&values->u.nodes[i]->vals[0]) > 0; more; more = next_index(&place, index)) {
            const nuc_label label = parts[i]->at[nuc_labels_offset(parts[i], index)];
            index[dim] += before;
            out->at[nuc_labels_offset(out, index)] = label;
            index[dim] -= before;
        }
    }
    return out;
}

static uint32_t dims_between(uint32_t first, uint32_t end)
{
    return (1u << end) - (1u << first);
}

struct nuc_channel_labels *nuc_labels_follow(struct nuc_label_sets *s, const struct nuc_channel_labels *l,
                                             const struct nuc_axis_map *map, const struct nuc_meta *from,
                                             const struct nuc_meta *to)
{
    int64_t sizes[NUC_MAX_RANK], index[NUC_MAX_RANK] = {0}, source[NUC_MAX_RANK] = {0};
    struct nuc_axis_map varying = *map;
    const bool squared = l->squared;
    uint32_t joined = 0, dims = 0; /* dims: of the result, along which its labels vary */
    size_t i = 0;

    for (uint32_t k = 0; k < map->count; k++)
        joined |= map->axes[k].kind == NUC_AXIS_ELEMENT ? 0 : dims_between(map->axes[k].from, map->axes[k].from_end);
    if (nuc_labels_vary(l, joined))
        l = nuc_labels_even(s, l, joined);
    for (uint32_t k = 0; k < map->count; k++) {
        struct nuc_axis *a = &varying.axes[k];
        if (nuc_labels_vary(l, dims_between(a->from, a->from_end)))
            dims |= dims_between(a->to, a->to_end);
        else if ((dims & dims_between(a->to, a->to_end)) == 0)
            a->kind = NUC_AXIS_WHOLE; /* one label, also of zeros around */
    }
    for (uint32_t d = 0; d < to->rank; d++)
        sizes[d] = dims >> d & 1 ? to->sizes[d] : 1;
    struct nuc_channel_labels *out = make(s, to->rank, sizes);
    out->squared = squared;
    if (out->count == 0)
        return out;
    do {
        bool inside = nuc_axis_source(&varying, from, to, index, source);
        out->at[i++] = inside ? l->at[nuc_labels_offset(l, source)] : NUC_ANY_LABEL;
    } while (next_index(out, index));
    return out;
}
