/* Least cut by shortest augmenting paths (Edmonds and Karp). */
#include <string.h>

#include "compiler/neutron/arrange/arrange_private.h"

#define SOURCE 0 /* the side of no */
#define SINK 1   /* the side of yes */
#define NO_EDGE UINT32_MAX

/* Edges 2k and 2k + 1 are each other's reverse. */
struct edge {
    uint32_t to, next;
    uint64_t left;
};

struct nuc_cut {
    struct nuc_context *cx;
    uint32_t n_nodes, n_edges;
    size_t edges_capacity;
    uint32_t *first;
    struct edge *edges;
};

struct nuc_cut *nuc_cut_new(struct nuc_context *cx, uint32_t n_variables)
{
    struct nuc_cut *cut = nuc_alloc(cx, sizeof *cut);

    cut->cx = cx;
    cut->n_nodes = n_variables + 2;
    cut->first = nuc_alloc_array(cx, cut->n_nodes, sizeof *cut->first);
    for (uint32_t i = 0; i < cut->n_nodes; i++)
        cut->first[i] = NO_EDGE;
    return cut;
}

static void half_edge(struct nuc_cut *cut, uint32_t from, uint32_t to, uint64_t capacity)
{
    cut->edges[cut->n_edges] = (struct edge){to, cut->first[from], capacity};
    cut->first[from] = cut->n_edges++;
}

static void add_edge(struct nuc_cut *cut, uint32_t from, uint32_t to, uint64_t capacity)
{
    if (capacity == 0)
        return;
    cut->edges = nuc_grow(cut->cx, cut->edges, &cut->edges_capacity, (size_t)cut->n_edges + 2, sizeof *cut->edges);
    half_edge(cut, from, to, capacity);
    half_edge(cut, to, from, 0);
}

void nuc_cut_single(struct nuc_cut *cut, uint32_t variable, int64_t cost_of_yes)
{
    if (cost_of_yes > 0)
        add_edge(cut, SOURCE, variable + 2, (uint64_t)cost_of_yes);
    else
        add_edge(cut, variable + 2, SINK, (uint64_t)-cost_of_yes);
}

void nuc_cut_pair(struct nuc_cut *cut, uint32_t no, uint32_t yes, uint64_t cost)
{
    add_edge(cut, no + 2, yes + 2, cost);
}

/*
 * Breadth first from `start` over edges with something left; `backwards` walks them against their direction. by[node]
 * is the edge a node was reached through.
 */
static void walk(const struct nuc_cut *cut, uint32_t start, bool backwards, uint32_t *by, uint32_t *queue, bool *seen)
{
    uint32_t count = 0;

    memset(seen, 0, cut->n_nodes * sizeof *seen);
    seen[start] = true;
    queue[count++] = start;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t e = cut->first[queue[i]]; e != NO_EDGE; e = cut->edges[e].next) {
            uint32_t to = cut->edges[e].to;
            if (seen[to] || cut->edges[backwards ? e ^ 1u : e].left == 0)
                continue;
            seen[to] = true;
            by[to] = e;
            queue[count++] = to;
        }
    }
}

static void augment(struct nuc_cut *cut, const uint32_t *by)
{
    uint64_t most = UINT64_MAX;

    for (uint32_t node = SINK; node != SOURCE; node = cut->edges[by[node] ^ 1u].to)
        most = cut->edges[by[node]].left < most ? cut->edges[by[node]].left : most;
    for (uint32_t node = SINK; node != SOURCE; node = cut->edges[by[node] ^ 1u].to) {
        cut->edges[by[node]].left -= most;
        cut->edges[by[node] ^ 1u].left += most;
    }
}

void nuc_cut_solve(struct nuc_cut *cut, bool *yes)
{
    uint32_t *by = nuc_alloc_array(cut->cx, cut->n_nodes, sizeof *by);
    uint32_t *queue = nuc_alloc_array(cut->cx, cut->n_nodes, sizeof *queue);
    bool *seen = nuc_alloc_array(cut->cx, cut->n_nodes, sizeof *seen);

    for (;;) {
        walk(cut, SOURCE, false, by, queue, seen);
        if (!seen[SINK])
            break;
        augment(cut, by);
    }
    walk(cut, SINK, true, by, queue, seen);
    memcpy(yes, seen + 2, (cut->n_nodes - 2) * sizeof *yes);
}
