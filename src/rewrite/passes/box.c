#include "rewrite/passes/box.h"

#include <string.h>

struct nuc_box nuc_box_of(const struct nuc_meta *m)
{
    struct nuc_box b = {.lo = {0}};

    memcpy(b.hi, m->sizes, m->rank * sizeof *b.hi);
    return b;
}

int64_t nuc_box_extent(const struct nuc_box *b, uint32_t dim)
{
    return b->at[dim] != NULL ? b->n[dim] : b->hi[dim] - b->lo[dim];
}

int64_t nuc_box_place(const struct nuc_box *b, uint32_t dim, int64_t i)
{
    return b->at[dim] != NULL ? b->at[dim][i] : b->lo[dim] + i;
}

int64_t nuc_box_index(const struct nuc_box *b, uint32_t dim, int64_t at)
{
    int64_t low = 0, high = nuc_box_extent(b, dim);

    if (b->at[dim] == NULL)
        return at - b->lo[dim];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        low = b->at[dim][middle] < at ? middle + 1 : low;
        high = b->at[dim][middle] < at ? high : middle;
    }
    return low;
}

int64_t nuc_box_count(const struct nuc_box *b, uint32_t from, uint32_t to)
{
    int64_t n = 1;

    for (uint32_t d = from; d < to; d++)
        n *= nuc_box_extent(b, d);
    return n;
}

bool nuc_box_is_all(const struct nuc_box *b, const struct nuc_meta *m)
{
    return nuc_box_count(b, 0, m->rank) == nuc_elements(m);
}

void nuc_box_set(struct nuc_box *b, uint32_t dim, int64_t lo, int64_t hi)
{
    b->lo[dim] = lo;
    b->hi[dim] = hi;
    b->at[dim] = NULL;
}

void nuc_box_set_list(struct nuc_box *b, uint32_t dim, const int64_t *at, int64_t n)
{
    nuc_box_set(b, dim, at[0], at[n - 1] + 1);
    b->n[dim] = n;
    if (nuc_box_extent(b, dim) > n)
        b->at[dim] = at;
}

void nuc_box_widen(struct nuc_box *b, const struct nuc_meta *m, uint32_t from, uint32_t to)
{
    for (uint32_t d = from; d < to; d++)
        nuc_box_set(b, d, 0, m->sizes[d]);
}

void nuc_box_set_along(struct nuc_box *b, uint32_t dim, const struct nuc_box *from, uint32_t along)
{
    nuc_box_set(b, dim, from->lo[along], from->hi[along]);
    b->n[dim] = from->n[along];
    b->at[dim] = from->at[along];
}

static bool is_same_along(const struct nuc_box *a, const struct nuc_box *b, uint32_t dim)
{
    bool lists = a->at[dim] != NULL && b->at[dim] != NULL;

    return a->lo[dim] == b->lo[dim] && a->hi[dim] == b->hi[dim] && nuc_box_extent(a, dim) == nuc_box_extent(b, dim) &&
           (!lists || memcmp(a->at[dim], b->at[dim], (size_t)b->n[dim] * sizeof *b->at[dim]) == 0);
}

bool nuc_box_is_same(const struct nuc_box *a, const struct nuc_box *b, uint32_t rank)
{
    bool same = true;

    for (uint32_t d = 0; d < rank && same; d++)
        same = is_same_along(a, b, d);
    return same;
}

struct nuc_box nuc_box_hull(struct nuc_box a, const struct nuc_box *b, uint32_t rank)
{
    for (uint32_t d = 0; d < rank; d++) {
        if (!is_same_along(&a, b, d))
            nuc_box_set(&a, d, b->lo[d] < a.lo[d] ? b->lo[d] : a.lo[d], b->hi[d] > a.hi[d] ? b->hi[d] : a.hi[d]);
    }
    return a;
}

/* Lists of places in several dimensions are no longer than that. */
#define MOST_PLACES 4096

struct nuc_box nuc_box_flat(struct nuc_context *cx, const struct nuc_box *b, const struct nuc_meta *m, uint32_t from,
                            uint32_t to)
{
    int64_t n = nuc_box_count(b, from, to);
    struct nuc_box f = {.n = {n}};

    for (uint32_t d = from; d < to; d++) {
        f.lo[0] = f.lo[0] * m->sizes[d] + b->lo[d];
        f.hi[0] = f.hi[0] * m->sizes[d] + b->hi[d] - 1;
    }
    f.hi[0]++;
    if (f.hi[0] - f.lo[0] == n || n > MOST_PLACES)
        return f;
    int64_t *at = nuc_alloc_array(cx, (size_t)n, sizeof *at);
    for (int64_t i = 0; i < n; i++) {
        at[i] = 0;
        for (uint32_t d = from; d < to; d++)
            at[i] = at[i] * m->sizes[d] + nuc_box_place(b, d, i / nuc_box_count(b, d + 1, to) % nuc_box_extent(b, d));
    }
    f.at[0] = at;
    return f;
}

/* Those of dimension `d` that listed places lie at; `inner` places for each. */
static void unfold_along(struct nuc_context *cx, struct nuc_box *b, uint32_t d, int64_t size, int64_t inner,
                         const struct nuc_box *flat)
{
    bool *taken = nuc_alloc_array(cx, (size_t)size, sizeof *taken);
    int64_t *at = nuc_alloc_array(cx, (size_t)size, sizeof *at), n = 0;

    memset(taken, 0, (size_t)size * sizeof *taken);
    for (int64_t i = 0; i < flat->n[0]; i++)
        taken[flat->at[0][i] / inner % size] = true;
    for (int64_t i = 0; i < size; i++) {
        if (taken[i])
            at[n++] = i;
    }
    nuc_box_set_list(b, d, at, n);
}

void nuc_box_unfold(struct nuc_context *cx, struct nuc_box *b, const struct nuc_meta *m, uint32_t from, uint32_t to,
                    const struct nuc_box *flat)
{
    int64_t lo = flat->lo[0], last = flat->hi[0] - 1;

    for (uint32_t d = from; d < to; d++) {
        int64_t inner = nuc_elements_between(m, d + 1, to);
        if (flat->at[0] != NULL) {
            unfold_along(cx, b, d, m->sizes[d], inner, flat);
            continue;
        }
        nuc_box_set(b, d, lo / inner, last / inner + 1);
        lo -= b->lo[d] * inner;
        last -= b->lo[d] * inner;
        if (nuc_box_extent(b, d) > 1) {
            nuc_box_widen(b, m, d + 1, to);
            return;
        }
    }
}

bool nuc_box_is_even(const struct nuc_box *b, uint32_t dim)
{
    bool even = true;

    for (int64_t i = 2; even && i < nuc_box_extent(b, dim); i++)
        even = nuc_box_place(b, dim, i) - nuc_box_place(b, dim, i - 1) ==
               nuc_box_place(b, dim, 1) - nuc_box_place(b, dim, 0);
    return even;
}
