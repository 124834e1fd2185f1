/* Constants of the program: their bytes in physical order, each distinct content once. */
#include <string.h>

#include "compiler/program/emit.h"

static bool lies_densely(const struct nuc_meta *m, const struct nuc_data *data)
{
    int64_t dense[NUC_MAX_RANK];

    nuc_dense_strides(m, dense);
    for (uint32_t d = 0; d < m->rank; d++) {
        if (m->sizes[d] > 1 && data->strides[d] != dense[d])
            return false;
    }
    return true;
}

/* Walks memory order: the last entry of dim_order is innermost. */
static void gather(const struct nuc_meta *m, const struct nuc_data *data, uint8_t *out)
{
    size_t size = nuc_dtype_size(m->dtype);
    size_t count = (size_t)nuc_elements(m);
    int64_t position[NUC_MAX_RANK] = {0};
    int64_t at = 0;

    for (size_t i = 0; i < count; i++) {
        memcpy(out + i * size, data->bytes.data + (size_t)at * size, size);
        for (uint32_t k = m->rank; k-- > 0;) {
            uint32_t d = m->dim_order[k];
            at += data->strides[d];
            if (++position[d] < m->sizes[d])
                break;
            at -= data->strides[d] * m->sizes[d];
            position[d] = 0;
        }
    }
}

struct nuc_span nuc_physical_bytes(struct nuc_graph *g, const struct nuc_node *node)
{
    const struct nuc_meta *m = &node->vals[0];
    size_t bytes = nuc_bytes(m);

    if (node->data == NULL)
        nuc_fail(g->cx, NUC_INTERNAL, "%s: %s has no data", g->file, nuc_node_text(g->cx, node));
    if (lies_densely(m, node->data))
        return (struct nuc_span){node->data->bytes.data, bytes};
    uint8_t *copy = nuc_alloc(g->cx, bytes);
    gather(m, node->data, copy);
    return (struct nuc_span){copy, bytes};
}

static bool same_bytes(struct nuc_span a, struct nuc_span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

uint32_t nuc_emit_constant(struct nuc_emission *e, struct nuc_span bytes)
{
    for (size_t i = 1; i < e->n_constants; i++) {
        if (same_bytes(e->constants[i], bytes))
            return (uint32_t)i;
    }
    e->constants = nuc_grow(e->cx, e->constants, &e->constants_capacity, e->n_constants + 1, sizeof *e->constants);
    e->constants[e->n_constants] = bytes;
    return (uint32_t)e->n_constants++;
}
