/* Shapes, physical orders and how messages name things. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "host/file.h"
#include "host/text.h"
#include "ir/graph.h"

struct nuc_meta nuc_meta_make(enum nuc_dtype dtype, const int64_t *sizes, uint32_t rank)
{
    struct nuc_meta m = {.dtype = dtype, .rank = (uint8_t)rank};

    assert(rank <= NUC_MAX_RANK);
    for (uint32_t i = 0; i < rank; i++)
        m.sizes[i] = sizes[i];
    nuc_set_contiguous(&m);
    return m;
}

bool nuc_same_sizes(const struct nuc_meta *a, const struct nuc_meta *b)
{
    return a->rank == b->rank && memcmp(a->sizes, b->sizes, a->rank * sizeof a->sizes[0]) == 0;
}

bool nuc_meta_equal(const struct nuc_meta *a, const struct nuc_meta *b)
{
    return a->dtype == b->dtype && nuc_same_sizes(a, b) && memcmp(a->dim_order, b->dim_order, a->rank) == 0;
}

/* The dimension at the next place after *at that is stepped over in memory; rank when there is none. */
static uint8_t next_dim(const struct nuc_meta *m, uint8_t *at)
{
    while (*at < m->rank) {
        uint8_t dim = m->dim_order[(*at)++];
        if (m->sizes[dim] != 1)
            return dim;
    }
    return m->rank;
}

bool nuc_is_outermost(const struct nuc_meta *m, uint32_t dim)
{
    uint32_t i = 0;

    while (i < m->rank && m->dim_order[i] != dim && m->sizes[m->dim_order[i]] == 1)
        i++;
    return i < m->rank && m->dim_order[i] == dim;
}

bool nuc_same_layout(const struct nuc_meta *a, const struct nuc_meta *b)
{
    uint8_t at = 0, bt = 0;

    if (a->dtype != b->dtype || !nuc_same_sizes(a, b))
        return false;
    if (nuc_elements(a) == 0)
        return true;
    for (;;) {
        uint8_t x = next_dim(a, &at), y = next_dim(b, &bt);
        if (x != y)
            return false;
        if (x == a->rank)
            return true;
    }
}

bool nuc_is_contiguous(const struct nuc_meta *m)
{
    for (uint8_t i = 0; i < m->rank; i++) {
        if (m->dim_order[i] != i)
            return false;
    }
    return true;
}

bool nuc_is_channels_last(const struct nuc_meta *m)
{
    if (m->rank < 3 || m->dim_order[0] != 0 || m->dim_order[m->rank - 1] != 1)
        return false;
    for (uint8_t i = 1; i + 1 < m->rank; i++) {
        if (m->dim_order[i] != i + 1)
            return false;
    }
    return true;
}

void nuc_set_contiguous(struct nuc_meta *m)
{
    for (uint8_t i = 0; i < m->rank; i++)
        m->dim_order[i] = i;
}

void nuc_set_channels_last(struct nuc_meta *m)
{
    nuc_set_contiguous(m);
    if (m->rank < 3)
        return;
    for (uint8_t i = 1; i + 1 < m->rank; i++)
        m->dim_order[i] = (uint8_t)(i + 1);
    m->dim_order[m->rank - 1] = 1;
}

int64_t nuc_elements_between(const struct nuc_meta *m, uint32_t from, uint32_t to)
{
    int64_t count = 1;

    for (uint32_t i = from; i < to; i++)
        count *= m->sizes[i];
    return count;
}

int64_t nuc_elements(const struct nuc_meta *m)
{
    return nuc_elements_between(m, 0, m->rank);
}

int64_t nuc_value_elements(const struct nuc_node *node)
{
    return node == NULL || node->n_vals == 0 ? 0 : nuc_elements(&node->vals[0]);
}

size_t nuc_bytes(const struct nuc_meta *m)
{
    return (size_t)nuc_elements(m) * nuc_dtype_size(m->dtype);
}

void nuc_dense_strides(const struct nuc_meta *m, int64_t strides[NUC_MAX_RANK])
{
    int64_t stride = 1;

    for (uint8_t i = m->rank; i-- > 0;) {
        strides[m->dim_order[i]] = stride;
        stride *= m->sizes[m->dim_order[i]] > 0 ? m->sizes[m->dim_order[i]] : 1;
    }
}

/* Size-1 dimensions are never stepped over, so their strides do not matter. */
static bool same_strides(const struct nuc_meta *m, const int64_t *a, const int64_t *b)
{
    for (uint8_t i = 0; i < m->rank; i++) {
        if (m->sizes[i] != 1 && a[i] != b[i])
            return false;
    }
    return true;
}

/* Elements in logical order; either side lies in memory as its strides say. */
static void copy_elements(const struct nuc_meta *m, const uint8_t *from, const int64_t *from_strides, uint8_t *to,
                          const int64_t *to_strides)
{
    size_t size = nuc_dtype_size(m->dtype);
    int64_t index[NUC_MAX_RANK] = {0};
    int64_t count = nuc_elements(m);
    int64_t source = 0, target = 0;

    for (int64_t n = 0; n < count; n++) {
        memcpy(to + (size_t)target * size, from + (size_t)source * size, size);
        for (uint8_t d = m->rank; d-- > 0;) {
            source += from_strides[d];
            target += to_strides[d];
            if (++index[d] < m->sizes[d])
                break;
            source -= from_strides[d] * m->sizes[d];
            target -= to_strides[d] * m->sizes[d];
            index[d] = 0;
        }
    }
}

static void logical_strides(const struct nuc_meta *m, int64_t strides[NUC_MAX_RANK])
{
    struct nuc_meta logical = *m;

    nuc_set_contiguous(&logical);
    nuc_dense_strides(&logical, strides);
}

const void *nuc_in_dim_order(struct nuc_context *cx, const struct nuc_meta *m, const void *logical)
{
    int64_t from[NUC_MAX_RANK], to[NUC_MAX_RANK];

    if (nuc_is_contiguous(m))
        return logical;
    uint8_t *out = nuc_alloc(cx, nuc_bytes(m));
    logical_strides(m, from);
    nuc_dense_strides(m, to);
    copy_elements(m, logical, from, out, to);
    return out;
}

const struct nuc_data *nuc_data_make(struct nuc_context *cx, struct nuc_span bytes, const int64_t *strides,
                                     uint32_t rank)
{
    struct nuc_data *data = nuc_alloc(cx, sizeof *data + rank * sizeof *strides);
    int64_t *own = (int64_t *)(data + 1);

    for (uint32_t i = 0; i < rank; i++)
        own[i] = strides[i];
    *data = (struct nuc_data){bytes, own};
    return data;
}

const struct nuc_data *nuc_dense_data(struct nuc_context *cx, const struct nuc_meta *m, const void *bytes)
{
    int64_t strides[NUC_MAX_RANK];

    nuc_dense_strides(m, strides);
    return nuc_data_make(cx, (struct nuc_span){bytes, nuc_bytes(m)}, strides, m->rank);
}

/* The elements of a static node with other strides, in place where they have them. */
static const void *const_with_strides(struct nuc_graph *g, const struct nuc_node *node, const int64_t *strides)
{
    const struct nuc_meta *m = &node->vals[0];

    if (node->data == NULL)
        nuc_fail(g->cx, NUC_INTERNAL, "%s: %s has no data", g->file, nuc_node_text(g->cx, node));
    bool aligned = (uintptr_t)node->data->bytes.data % nuc_dtype_size(m->dtype) == 0;
    if (aligned && same_strides(m, node->data->strides, strides))
        return node->data->bytes.data;
    uint8_t *copy = nuc_alloc(g->cx, nuc_bytes(m));
    copy_elements(m, node->data->bytes.data, node->data->strides, copy, strides);
    return copy;
}

const void *nuc_const_contiguous(struct nuc_graph *g, const struct nuc_node *node)
{
    int64_t strides[NUC_MAX_RANK];

    assert(nuc_is_static(node) || nuc_is_state(node));
    logical_strides(&node->vals[0], strides);
    return const_with_strides(g, node, strides);
}

bool nuc_is_static_zero(struct nuc_graph *g, const struct nuc_node *node)
{
    const bool is_known = nuc_is_static_float(node);
    const float *values = is_known ? nuc_const_contiguous(g, node) : NULL;
    const int64_t count = is_known ? nuc_elements(&node->vals[0]) : 0;
    int64_t i = 0;

    while (i < count && fabsf(values[i]) <= 0)
        i++;
    return is_known && i == count;
}

const void *nuc_const_in_dim_order(struct nuc_graph *g, const struct nuc_node *node)
{
    int64_t strides[NUC_MAX_RANK];

    nuc_dense_strides(&node->vals[0], strides);
    return const_with_strides(g, node, strides);
}

const char *nuc_meta_text(struct nuc_context *cx, const struct nuc_meta *m)
{
    struct nuc_text text = {.cx = cx};

    nuc_text_addf(&text, "%s%s", nuc_dtype_name(m->dtype), nuc_sizes_text(cx, m->sizes, m->rank));
    if (nuc_is_channels_last(m)) {
        nuc_text_addf(&text, " channels-last");
    } else if (!nuc_is_contiguous(m)) {
        nuc_text_addf(&text, " dim-order(");
        for (uint8_t i = 0; i < m->rank; i++)
            nuc_text_addf(&text, "%s%d", i == 0 ? "" : ", ", m->dim_order[i]);
        nuc_text_addf(&text, ")");
    }
    return nuc_text_string(&text);
}

const char *nuc_node_text(struct nuc_context *cx, const struct nuc_node *node)
{
    const char *label = nuc_own_label(node);

    if (node->source->file == NULL)
        return nuc_format(cx, "node '%s' (%s)", label, nuc_node_op_name(node));
    return nuc_format(cx, "node '%s' (%s, %s:%d)", label, nuc_node_op_name(node), nuc_base_name(node->source->file),
                      node->source->line);
}

const char *nuc_own_label(const struct nuc_node *node)
{
    if (node->source->label != NULL)
        return node->source->label;
    return nuc_is_static(node) && node->target != NULL ? node->target : node->name;
}
