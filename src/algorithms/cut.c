/*
 * Least cut by Dinic's maximum flow: rounds of shortest paths. By the theorem of Ford and Fulkerson the flow fills the
 * least cuts, and of these the one with the fewest yes ends at what can still reach the sink.
 */
#include "algorithms/cut.h"

#include <string.h>

#define SOURCE 0 /* the side of no */
#define SINK 1   /* the side of yes */
#define NO_EDGE UINT32_MAX
#define NO_WAY UINT32_MAX

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
    uint32_t *distance; /* by node, to the sink */
    uint32_t *current;  /* by node: the edge to try next */
    uint32_t *stack;    /* nodes of a breadth first search, edges of a path */
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

/* Distances to the sink over edges with something left, breadth first from there. */
static void measure(struct nuc_cut *cut)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < cut->n_nodes; i++)
        cut->distance[i] = NO_WAY;
    cut->distance[SINK] = 0;
    cut->stack[count++] = SINK;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = cut->stack[i];
        for (uint32_t e = cut->first[node]; e != NO_EDGE; e = cut->edges[e].next) {
            uint32_t from = cut->edges[e].to;
            if (cut->distance[from] != NO_WAY || cut->edges[e ^ 1u].left == 0)
                continue;
            cut->distance[from] = cut->distance[node] + 1;
            cut->stack[count++] = from;
        }
    }
}

/* The next edge of the node with something left that comes nearer to the sink. */
static uint32_t next_edge(const struct nuc_cut *cut, uint32_t node)
{
    uint32_t e = cut->current[node];

    while (e != NO_EDGE && (cut->edges[e].left == 0 || cut->distance[cut->edges[e].to] + 1 != cut->distance[node]))
        e = cut->edges[e].next;
    return e;
}

/* Paths of least length, until there are no more. An edge that led to a dead end is not tried again. */
static void fill_shortest(struct nuc_cut *cut)
{
    uint32_t node = SOURCE, depth = 0;

    memcpy(cut->current, cut->first, cut->n_nodes * sizeof *cut->current);
    for (;;) {
        if (node == SINK) {
            /* Fill the path of the stack, and go back to before the first of its edges that is full. */
            uint64_t most = UINT64_MAX;
            for (uint32_t i = 0; i < depth; i++)
                most = cut->edges[cut->stack[i]].left < most ? cut->edges[cut->stack[i]].left : most;
            for (uint32_t i = depth; i > 0; i--) {
                uint32_t e = cut->stack[i - 1];
                cut->edges[e].left -= most;
                cut->edges[e ^ 1u].left += most;
                depth = cut->edges[e].left == 0 ? i - 1 : depth;
            }
            node = cut->edges[cut->stack[depth] ^ 1u].to;
        }
        uint32_t e = cut->current[node] = next_edge(cut, node);
        if (e != NO_EDGE) {
            cut->stack[depth++] = e;
            node = cut->edges[e].to;
            continue;
        }
        if (depth == 0)
            return;
        e = cut->stack[--depth];
        node = cut->edges[e ^ 1u].to;
        cut->current[node] = cut->edges[e].next;
    }
}

void nuc_cut_solve(struct nuc_cut *cut, bool *yes)
{
    cut->distance = nuc_alloc_array(cut->cx, cut->n_nodes, sizeof *cut->distance);
    cut->current = nuc_alloc_array(cut->cx, cut->n_nodes, sizeof *cut->current);
    cut->stack = nuc_alloc_array(cut->cx, cut->n_nodes, sizeof *cut->stack);
    for (measure(cut); cut->distance[SOURCE] != NO_WAY; measure(cut))
        fill_shortest(cut);
    for (uint32_t i = 2; i < cut->n_nodes; i++)
        yes[i - 2] = cut->distance[i] != NO_WAY;
}
