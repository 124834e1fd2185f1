/* Values of nodes. Most tensors of a graph have the type, sizes and order of others, and share one meta with them. */
#include <assert.h>

#include "ir/graph.h"
#include "ir/values.h"

void *nuc_graph_alloc(struct nuc_graph *g, size_t size)
{
    return nuc_alloc_in(g->cx, nuc_memory_of(g->memory), size);
}

/* Open addressing; metas are never removed. */
struct nuc_meta_table {
    const struct nuc_meta **entries;
    uint32_t capacity; /* power of two */
    uint32_t used;
};

#define FIRST_CAPACITY 16u

static uint32_t hash_meta(const struct nuc_meta *m)
{
    uint64_t h = 14695981039346656037u ^ (uint64_t)m->dtype << 8 ^ m->rank;

    for (uint8_t i = 0; i < m->rank; i++)
        h = (h ^ (uint64_t)m->sizes[i] << 8 ^ m->dim_order[i]) * 1099511628211u;
    return (uint32_t)(h ^ h >> 32);
}

static const struct nuc_meta **find_meta(const struct nuc_meta_table *t, const struct nuc_meta *meta)
{
    uint32_t i = hash_meta(meta) & (t->capacity - 1);

    while (t->entries[i] != NULL && !nuc_meta_equal(t->entries[i], meta))
        i = (i + 1) & (t->capacity - 1);
    return &t->entries[i];
}

static void make_entries(struct nuc_graph *g, struct nuc_meta_table *t, uint32_t capacity)
{
    t->entries = nuc_graph_alloc(g, capacity * sizeof(const struct nuc_meta *));
    t->capacity = capacity;
}

struct nuc_meta_table *nuc_meta_table_new(struct nuc_graph *g)
{
    struct nuc_meta_table *t = nuc_graph_alloc(g, sizeof *t);

    make_entries(g, t, FIRST_CAPACITY);
    return t;
}

static struct nuc_meta *copy_metas(struct nuc_graph *g, const struct nuc_meta *metas, uint32_t count)
{
    struct nuc_meta *copy = nuc_graph_alloc(g, count * sizeof *copy);

    for (uint32_t i = 0; i < count; i++)
        copy[i] = metas[i];
    return copy;
}

void nuc_set_val(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *meta)
{
    struct nuc_meta_table *t = g->metas;
    const struct nuc_meta **entry = find_meta(t, meta);

    assert(meta->rank <= NUC_MAX_RANK);
    if (*entry == NULL) {
        *entry = copy_metas(g, meta, 1);
        t->used++;
    }
    node->is_tuple = false;
    node->n_vals = 1;
    node->vals = *entry;
    if (2 * t->used > t->capacity) {
        const struct nuc_meta_table old = *t;
        make_entries(g, t, 4 * old.capacity);
        for (uint32_t i = 0; i < old.capacity; i++) {
            if (old.entries[i] != NULL)
                *find_meta(t, old.entries[i]) = old.entries[i];
        }
    }
}

void nuc_set_tuple(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *metas, uint32_t count)
{
    node->is_tuple = true;
    node->n_vals = count;
    node->vals = copy_metas(g, metas, count);
}
