/*
 * Attention as products of matrices: softmax(scale * q k^T + mask) v, heads and batches in one dimension.
 *
 * What a mask takes out gets a large negative addend, NUC_MASKED, that exp() makes zero of. It is finite, so that it
 * can be quantized, and rows that are masked as a whole, of which torch makes zeros, are multiplied by zero.
 */
#include <math.h>
#include <string.h>

#include "ir/masks.h"
#include "rewrite/expand/expand.h"
#include "rewrite/insert.h"
#include "rewrite/known.h"

struct attention {
    struct nuc_graph *g;
    struct nuc_node *node;
    struct nuc_node *query, *key, *value; /* [.., L, E], [.., S, E], [.., S, V] */
    struct nuc_node *mask;                /* bool: true stays; float: added; broadcasts to [.., L, S]; NULL: none */
    struct nuc_node *bias;                /* added, too; NULL: nothing */
    bool causal;                          /* query l sees keys 0 to l */
    bool grouped;                         /* several heads of the query share one of the keys */
    double scale;
    int64_t lead[NUC_MAX_RANK]; /* sizes in front of the matrices */
    uint32_t n_lead;
    int64_t batch; /* their product */
    int64_t rows, columns, width;
    struct nuc_node *weights; /* the result of softmax, [batch, L, S] */
    struct nuc_node *scores;  /* what it is of */
    struct nuc_node *alive;   /* float 0 or 1 for each row, broadcasts to [.., L, 1]; NULL: all 1 */
};

static int64_t size_from_end(const struct nuc_node *x, uint32_t i)
{
    return i < x->vals[0].rank ? x->vals[0].sizes[x->vals[0].rank - 1 - i] : 1;
}

/* ---- masks ---- */

/*
 * A constant mask: what is added to the scores, and which rows are alive. Values far below
 * the largest of their row are as good as masked.
 */
struct constant_mask {
    float *addend; /* finite values of a float mask */
    float *hidden; /* 0 or NUC_MASKED: for itself, as its steps are much larger when both are quantized */
    float *alive;
    size_t rows, columns;
    bool adds, hides, kills;
};

static void read_mask_row(struct constant_mask *m, size_t row, const bool *flags, const float *values, bool causal,
                          size_t causal_row)
{
    float *addend = m->addend + row * m->columns, *hidden = m->hidden + row * m->columns, most = -INFINITY;

    for (size_t i = 0; i < m->columns; i++) {
        bool seen = (flags == NULL || flags[i]) && (!causal || i <= causal_row);
        addend[i] = !seen ? -INFINITY : values != NULL ? values[i] : 0.0f;
        most = addend[i] > most ? addend[i] : most;
    }
    m->alive[row] = isinf(most) ? 0.0f : 1.0f;
    m->kills = m->kills || isinf(most);
    for (size_t i = 0; i < m->columns; i++) {
        bool far = !isinf(most) && addend[i] < most + NUC_MASKED / 2;
        hidden[i] = far ? NUC_MASKED : 0.0f;
        addend[i] = far || isinf(most) ? 0.0f : addend[i];
        m->hides = m->hides || far;
        m->adds = m->adds || addend[i] < 0.0f || addend[i] > 0.0f;
    }
}

/* Sizes of the addend [.., L, S]: those of the mask, its last two dimensions made whole. */
static void use_constant_mask(struct attention *a, struct nuc_node *mask)
{
    struct nuc_graph *g = a->g;
    struct constant_mask m = {.rows = (size_t)a->rows, .columns = (size_t)a->columns};
    int64_t sizes[NUC_MAX_RANK] = {a->rows, a->columns};
    uint32_t rank = 2;
    const void *data = NULL;

    if (mask != NULL) {
        const struct nuc_meta *in = &mask->vals[0];
        rank = in->rank > 2 ? in->rank : 2;
        memcpy(sizes, in->sizes, in->rank * sizeof *sizes);
        sizes[rank - 2] = a->rows;
        sizes[rank - 1] = a->columns;
        data = nuc_known_value(g, nuc_insert_expand(g, a->node, mask, sizes, rank));
    }
    struct nuc_meta whole = nuc_meta_make(NUC_F32, sizes, rank);
    m.addend = nuc_alloc_array(g->cx, (size_t)nuc_elements(&whole), sizeof *m.addend);
    m.hidden = nuc_alloc_array(g->cx, (size_t)nuc_elements(&whole), sizeof *m.hidden);
    m.alive = nuc_alloc_array(g->cx, (size_t)nuc_elements(&whole) / m.columns, sizeof *m.alive);
    for (size_t row = 0; row < (size_t)nuc_elements(&whole) / m.columns; row++) {
        bool flags = mask != NULL && mask->vals[0].dtype == NUC_BOOL;
        read_mask_row(&m, row, flags ? (const bool *)data + row * m.columns : NULL,
                      mask != NULL && !flags ? (const float *)data + row * m.columns : NULL, a->causal, row % m.rows);
    }
    a->bias = m.adds ? nuc_insert_floats(g, a->node, m.addend, sizes, rank) : NULL;
    a->mask = m.hides ? nuc_insert_floats(g, a->node, m.hidden, sizes, rank) : NULL;
    sizes[rank - 1] = 1;
    a->alive = m.kills ? nuc_insert_floats(g, a->node, m.alive, sizes, rank) : NULL;
}

/* Largest value of each row, [.., 1]. */
static struct nuc_node *largest(const struct attention *a, struct nuc_node *x)
{
    const int64_t last[1] = {-1};

    return nuc_emit(a->g, a->node, NUC_OP_AMAX, a->node, NUC_ARGS(x, nuc_ints_arg(last, 1), nuc_bool_arg(true)));
}

static void prepare_mask(struct attention *a)
{
    bool constant = a->mask != NULL && nuc_known_value(a->g, a->mask) != NULL;

    if (a->rows < 1 || a->columns < 1)
        nuc_expand_fail(a->g, a->node, "there are no queries or keys");
    if (a->mask != NULL && a->mask->vals[0].dtype != NUC_BOOL && a->mask->vals[0].dtype != NUC_F32)
        nuc_expand_fail(a->g, a->node, "a mask of %s is neither bool nor float32",
                        nuc_dtype_name(a->mask->vals[0].dtype));
    if (a->mask != NULL && !constant && a->causal)
        nuc_expand_fail(a->g, a->node, "has a mask and is causal: give one of the two");
    if (constant || (a->mask == NULL && a->causal)) {
        use_constant_mask(a, a->mask);
    } else if (a->mask != NULL) {
        /* A mask that is known at run time: 0 or NUC_MASKED for a bool one, no less than that for the others. */
        struct nuc_graph *g = a->g;
        struct nuc_node *node = a->node, *mask = a->mask;
        if (mask->vals[0].dtype == NUC_BOOL) {
            const int64_t last[1] = {-1};
            struct nuc_node *some =
                nuc_emit(g, node, NUC_OP_ANY_DIMS, node, NUC_ARGS(mask, nuc_ints_arg(last, 1), nuc_bool_arg(true)));
            struct nuc_node *zero = nuc_insert_constant(g, node, NUC_F32, 0);
            struct nuc_node *masked = nuc_insert_constant(g, node, NUC_F32, (double)NUC_MASKED);
            a->alive = nuc_insert_cast(g, node, some, NUC_F32);
            a->mask = nuc_emit(g, node, NUC_OP_WHERE, node, NUC_ARGS(mask, zero, masked));
            return;
        }
        struct nuc_node *finite = nuc_emit(g, node, NUC_OP_CLAMP, node, NUC_ARGS(mask, (double)NUC_MASKED));
        struct nuc_node *some = nuc_insert_with_number(g, node, NUC_OP_GT, largest(a, mask), (double)-INFINITY);
        a->alive = nuc_insert_cast(g, node, some, NUC_F32);
        a->mask = finite;
    }
}

/* ---- matrices ---- */

/* x [.., rows, columns] with the dimensions in front broadcast to the common ones and made one. */
static struct nuc_node *as_batch(const struct attention *a, struct nuc_node *x, int64_t rows, int64_t columns)
{
    int64_t sizes[NUC_MAX_RANK];
    const int64_t flat[3] = {a->batch, rows, columns};
    bool same = x->vals[0].rank == a->n_lead + 2;

    memcpy(sizes, a->lead, sizeof a->lead);
    for (uint32_t i = 0; i < a->n_lead; i++)
        same = same && x->vals[0].sizes[i] == a->lead[i];
    sizes[a->n_lead] = rows;
    sizes[a->n_lead + 1] = columns;
    if (!same)
        x = nuc_insert_expand(a->g, a->node, x, sizes, a->n_lead + 2);
    return nuc_insert_reshaped(a->g, a->node, x, flat, 3);
}

/* x [.., S, E] as [.., E, S]; of a transposed view the two permutations become one. */
static struct nuc_node *transposed(const struct attention *a, struct nuc_node *x)
{
    uint32_t rank = x->vals[0].rank;
    int64_t dims[NUC_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i;
    dims[rank - 2] = rank - 1;
    dims[rank - 1] = rank - 2;
    if (x->op == NUC_OP_TRANSPOSE && !x->in_place) {
        int64_t p = nuc_dim(x, NUC_ARG(TRANSPOSE, dim0), 0, rank), q = nuc_dim(x, NUC_ARG(TRANSPOSE, dim1), 0, rank);
        for (uint32_t i = 0; i < rank; i++)
            dims[i] = dims[i] == p ? q : dims[i] == q ? p : dims[i];
        x = nuc_operand(a->g, x, NUC_SELF);
    }
    return nuc_insert_permuted(a->g, a->node, x, dims);
}

/* Heads of the query that share keys and values become more rows of one head. */
static struct nuc_node *grouped_query(struct attention *a, int64_t *group)
{
    struct nuc_node *q = a->query;
    const struct nuc_meta *m = &q->vals[0];
    int64_t sizes[NUC_MAX_RANK], heads = size_from_end(a->key, 2);

    *group = 1;
    if (!a->grouped || m->rank < 3 || heads == 0 || m->sizes[m->rank - 3] == heads)
        return q;
    *group = m->sizes[m->rank - 3] / heads;
    if (*group * heads != m->sizes[m->rank - 3] || heads != size_from_end(a->value, 2))
        nuc_expand_fail(a->g, a->node, "%lld heads of the query do not share %lld heads of the key",
                        (long long)m->sizes[m->rank - 3], (long long)heads);
    memcpy(sizes, m->sizes, sizeof sizes);
    sizes[m->rank - 3] = heads;
    sizes[m->rank - 2] *= *group;
    return nuc_insert_reshaped(a->g, a->node, q, sizes, m->rank);
}

/* Whether a mask is the same for the whole batch. */
static bool is_one_matrix(const struct nuc_node *mask)
{
    for (uint32_t i = 0; i + 2 < mask->vals[0].rank; i++) {
        if (mask->vals[0].sizes[i] != 1)
            return false;
    }
    return true;
}

/* op(x [batch, rows, n], mask [.., rows, n]), where the heads are, if need be, dimensions again. */
static struct nuc_node *with_mask(const struct attention *a, enum nuc_op op, struct nuc_node *x, struct nuc_node *mask)
{
    const struct nuc_meta m = mask->vals[0], flat = x->vals[0];
    int64_t sizes[NUC_MAX_RANK];
    const int64_t matrix[3] = {1, size_from_end(mask, 1), size_from_end(mask, 0)};

    if (is_one_matrix(mask))
        return nuc_insert_binary(a->g, a->node, op, x, nuc_insert_reshaped(a->g, a->node, mask, matrix, 3));
    memcpy(sizes, a->lead, sizeof a->lead);
    sizes[a->n_lead] = flat.sizes[1];
    sizes[a->n_lead + 1] = flat.sizes[2];
    if (m.rank > a->n_lead + 2)
        nuc_expand_fail(a->g, a->node, "the mask has more dimensions than the query");
    x = nuc_insert_reshaped(a->g, a->node, x, sizes, a->n_lead + 2);
    return nuc_insert_reshaped(a->g, a->node, nuc_insert_binary(a->g, a->node, op, x, mask), flat.sizes, 3);
}

/* [batch, L, V] of operands whose batches have been joined. */
static struct nuc_node *attend(struct attention *a)
{
    struct nuc_graph *g = a->g;
    struct nuc_node *node = a->node;
    int64_t group, depth = size_from_end(a->query, 0), rows = a->rows;
    int64_t whole_batch = 0;

    prepare_mask(a);
    struct nuc_node *full_query = a->query;
    a->query = grouped_query(a, &group);
    /* The common sizes in front of the matrices. */
    const struct nuc_node *all[3] = {a->query, a->key, a->value};
    a->n_lead = 0;
    for (int i = 0; i < 3; i++) {
        if (all[i]->vals[0].rank < 2)
            nuc_expand_fail(a->g, a->node, "the operands are not matrices");
        a->n_lead = all[i]->vals[0].rank - 2u > a->n_lead ? all[i]->vals[0].rank - 2u : a->n_lead;
    }
    a->batch = 1;
    for (uint32_t i = 0; i < a->n_lead; i++) {
        a->lead[i] = 1;
        for (int k = 0; k < 3; k++) {
            int64_t size = size_from_end(all[k], a->n_lead + 1 - i);
            if (size != 1 && a->lead[i] != 1 && size != a->lead[i])
                nuc_expand_fail(a->g, a->node, "the batches of query, key and value differ");
            a->lead[i] = size == 1 ? a->lead[i] : size;
        }
        a->batch *= a->lead[i];
    }
    a->rows = size_from_end(a->query, 1);
    a->columns = size_from_end(a->key, 1);
    a->width = size_from_end(a->value, 0);
    struct nuc_node *q = as_batch(a, a->query, a->rows, depth);
    struct nuc_node *k = as_batch(a, transposed(a, a->key), depth, a->columns);
    struct nuc_node *v = as_batch(a, a->value, a->columns, a->width);
    if (!nuc_numbers_equal(a->scale, 1.0))
        q = nuc_insert_with_number(g, node, NUC_OP_MUL, q, a->scale);
    struct nuc_node *x = nuc_insert_binary(g, node, NUC_OP_BMM, q, k);
    const int64_t grouped[3] = {a->batch, a->rows, a->columns};
    if (group > 1) { /* masks and softmax see one head each */
        whole_batch = a->batch * group;
        a->query = full_query;
        a->lead[a->n_lead - 1] *= group;
        a->batch = whole_batch;
        a->rows = rows;
        x = nuc_insert_reshaped(g, node, x, (const int64_t[]){whole_batch, rows, a->columns}, 3);
    }
    if (a->bias != NULL)
        x = with_mask(a, NUC_OP_ADD, x, a->bias);
    if (a->mask != NULL)
        x = with_mask(a, NUC_OP_ADD, x, a->mask);
    a->scores = x;
    a->weights = nuc_emit(g, node, NUC_OP_SOFTMAX, node, NUC_ARGS(x, -1));
    x = a->alive == NULL ? a->weights : with_mask(a, NUC_OP_MUL, a->weights, a->alive);
    x = nuc_insert_reshaped(g, node, x, grouped, 3);
    x = nuc_insert_binary(g, node, NUC_OP_BMM, x, v);
    if (group > 1)
        x = nuc_insert_reshaped(g, node, x, (const int64_t[]){a->batch, a->rows, a->width}, 3);
    return x;
}

/* The result with the dimensions in front as they were. */
static struct nuc_node *finish(struct attention *a, struct nuc_node *x)
{
    int64_t sizes[NUC_MAX_RANK];

    memcpy(sizes, a->lead, sizeof a->lead);
    sizes[a->n_lead] = a->rows;
    sizes[a->n_lead + 1] = a->width;
    return nuc_insert_reshaped(a->g, a->node, x, sizes, a->n_lead + 2);
}

/* ---- scaled_dot_product_attention ---- */

/* Where the two forms of the operator have what they do not have in the same place. */
struct places {
    uint32_t mask, dropout, causal, scale;
};

static struct attention read_attention(struct nuc_graph *g, struct nuc_node *node, const struct places *at)
{
    struct attention a = {.g = g,
                          .node = node,
                          .query = nuc_operand(g, node, NUC_ARG(SDPA, query)),
                          .key = nuc_operand(g, node, NUC_ARG(SDPA, key)),
                          .value = nuc_operand(g, node, NUC_ARG(SDPA, value)),
                          .mask = nuc_arg_node(node, at->mask),
                          .causal = nuc_flag(node, at->causal)};

    uint32_t arg = at->dropout;
    if (nuc_scalar(node, arg, 0.0) > 0.0)
        nuc_expand_fail(g, node, "drops values at random: give dropout_p=0.0 in evaluation mode");
    double depth = (double)size_from_end(a.query, 0);
    a.scale = nuc_scalar(node, at->scale, depth > 0 ? 1.0 / sqrt(depth) : 1.0);
    a.rows = size_from_end(a.query, 1);
    a.columns = size_from_end(a.key, 1);
    return a;
}

static struct nuc_node *expand_sdpa(struct nuc_graph *g, struct nuc_node *node)
{
    static const struct places at = {NUC_ARG(SDPA, attn_mask), NUC_ARG(SDPA, dropout_p), NUC_ARG(SDPA, is_causal),
                                     NUC_ARG(SDPA, scale)};
    struct attention a = read_attention(g, node, &at);

    a.grouped = nuc_flag(node, NUC_ARG(SDPA, enable_gqa));
    return finish(&a, attend(&a));
}

/* log(sum(exp(scores))) over the last dimension, without overflow: [batch, L, 1] to [.., L]. */
static struct nuc_node *log_sum_exp(struct attention *a)
{
    struct nuc_graph *g = a->g;
    struct nuc_node *node = a->node, *most = largest(a, a->scores);
    const int64_t last[1] = {-1};
    int64_t sizes[NUC_MAX_RANK];

    struct nuc_node *x = nuc_insert_unary(g, node, NUC_OP_EXP, nuc_insert_binary(g, node, NUC_OP_SUB, a->scores, most));
    x = nuc_insert_unary(g, node, NUC_OP_LOG, nuc_insert_sum(g, node, x, last, 1, true));
    memcpy(sizes, a->lead, sizeof a->lead);
    sizes[a->n_lead] = a->rows;
    return nuc_insert_reshaped(g, node, nuc_insert_binary(g, node, NUC_OP_ADD, x, most), sizes, a->n_lead + 1);
}

/* output, logsumexp */
static struct nuc_node *expand_sdpa_flash(struct nuc_graph *g, struct nuc_node *node)
{
    static const struct places at = {NUC_ARG(SDPA_FLASH, attn_mask), NUC_ARG(SDPA_FLASH, dropout_p),
                                     NUC_ARG(SDPA_FLASH, is_causal), NUC_ARG(SDPA_FLASH, scale)};
    struct attention a = read_attention(g, node, &at);

    struct nuc_node *x = finish(&a, attend(&a));
    if (nuc_is_item_read(node, 1))
        nuc_replace_item(g, node, 1, log_sum_exp(&a));
    nuc_replace_item(g, node, 0, x);
    return NULL;
}

/* ---- multi-head attention with packed weights ---- */

struct heads {
    struct nuc_graph *g;
    struct nuc_node *node;
    struct nuc_node *weight, *bias; /* of query, key and value: [3 E, E], [3 E] */
    struct nuc_node *proj_weight, *proj_bias;
    int64_t embed, n_heads;
    struct nuc_node *mask; /* bool, true: taken out; NULL: none */
    int64_t mask_type;     /* 0: [L, S], 1: [B, S], 2: any of four dimensions */
};

static struct nuc_node *linear(const struct heads *h, struct nuc_node *x, struct nuc_node *weight,
                               struct nuc_node *bias)
{
    return nuc_emit(h->g, h->node, NUC_OP_LINEAR, h->node, NUC_ARGS(x, weight, bias));
}

/* Part 0, 1 or 2 of the packed projection of x [B, L, E], as [B, heads, L, E / heads]. */
static struct nuc_node *projected(const struct heads *h, struct nuc_node *x, int64_t part)
{
    struct nuc_graph *g = h->g;
    int64_t from = part * h->embed, to = from + h->embed;
    const int64_t sizes[4] = {x->vals[0].sizes[0], x->vals[0].sizes[1], h->n_heads, h->embed / h->n_heads};

    struct nuc_node *weight = nuc_insert_slice(g, h->node, h->weight, 0, from, to);
    struct nuc_node *bias = nuc_insert_slice(g, h->node, h->bias, 0, from, to);
    struct nuc_node *y = linear(h, x, weight, bias);
    y = nuc_insert_reshaped(g, h->node, y, sizes, 4);
    return nuc_emit(g, h->node, NUC_OP_TRANSPOSE, h->node, NUC_ARGS(y, 1, 2));
}

/* The mask as attention has it: true stays, [B or 1, 1, L or 1, S]. */
static struct nuc_node *attention_mask(const struct heads *h)
{
    if (h->mask == NULL)
        return NULL;
    const struct nuc_meta *m = &h->mask->vals[0];
    int64_t sizes[4] = {1, 1, size_from_end(h->mask, 1), size_from_end(h->mask, 0)};

    if (m->dtype != NUC_BOOL)
        return h->mask;
    if (h->mask_type == 1 && m->rank == 2) {
        sizes[0] = m->sizes[0];
        sizes[2] = 1;
    }
    struct nuc_node *mask = m->rank == 2 ? nuc_insert_reshaped(h->g, h->node, h->mask, sizes, 4) : h->mask;
    return nuc_insert_unary(h->g, h->node, NUC_OP_LOGICAL_NOT, mask);
}

static struct nuc_node *attend_heads(const struct heads *h, struct nuc_node *query, struct nuc_node *key,
                                     struct nuc_node *value, struct attention *a)
{
    struct nuc_graph *g = h->g;
    struct nuc_node *node = h->node;

    if (query->vals[0].rank != 3 || key->vals[0].rank != 3 || value->vals[0].rank != 3 || h->n_heads < 1 ||
        h->embed % h->n_heads != 0)
        nuc_expand_fail(g, node, "the operands are not [batch, length, %lld]", (long long)h->embed);
    *a = (struct attention){.g = g, .node = node, .scale = 1.0 / sqrt((double)(h->embed / h->n_heads))};
    a->query = projected(h, query, 0);
    a->key = projected(h, key, 1);
    a->value = projected(h, value, 2);
    a->mask = attention_mask(h);
    a->rows = size_from_end(a->query, 1);
    a->columns = size_from_end(a->key, 1);
    struct nuc_node *x = finish(a, attend(a));
    x = nuc_emit(g, node, NUC_OP_TRANSPOSE, node, NUC_ARGS(x, 1, 2));
    x = nuc_insert_reshaped(g, node, x, query->vals[0].sizes, 3);
    return linear(h, x, h->proj_weight, h->proj_bias);
}

/* Weights [B, heads, L, S], or their mean over the heads. */
static struct nuc_node *attention_weights(const struct attention *a, bool mean)
{
    int64_t sizes[NUC_MAX_RANK];
    const int64_t dim[1] = {1};
    struct nuc_node *x = a->weights;

    if (a->alive != NULL)
        x = with_mask(a, NUC_OP_MUL, x, a->alive);
    memcpy(sizes, a->lead, sizeof a->lead);
    sizes[a->n_lead] = a->rows;
    sizes[a->n_lead + 1] = a->columns;
    x = nuc_insert_reshaped(a->g, a->node, x, sizes, a->n_lead + 2);
    if (!mean)
        return x;
    return nuc_emit(a->g, a->node, NUC_OP_MEAN_DIM, a->node, NUC_ARGS(x, nuc_ints_arg(dim, 1)));
}

/* output, weights */
static struct nuc_node *expand_multi_head_attention(struct nuc_graph *g, struct nuc_node *node)
{
    struct heads h = {.g = g,
                      .node = node,
                      .weight = nuc_operand(g, node, NUC_ARG(MULTI_HEAD_ATTENTION, qkv_weight)),
                      .bias = nuc_operand(g, node, NUC_ARG(MULTI_HEAD_ATTENTION, qkv_bias)),
                      .proj_weight = nuc_operand(g, node, NUC_ARG(MULTI_HEAD_ATTENTION, proj_weight)),
                      .proj_bias = nuc_operand(g, node, NUC_ARG(MULTI_HEAD_ATTENTION, proj_bias)),
                      .embed = nuc_integer(node, NUC_ARG(MULTI_HEAD_ATTENTION, embed_dim), 0),
                      .n_heads = nuc_integer(node, NUC_ARG(MULTI_HEAD_ATTENTION, num_head), 0),
                      .mask = nuc_arg_node(node, NUC_ARG(MULTI_HEAD_ATTENTION, mask)),
                      .mask_type = nuc_integer(node, NUC_ARG(MULTI_HEAD_ATTENTION, mask_type), 2)};
    struct attention a;

    struct nuc_node *x = attend_heads(&h, nuc_operand(g, node, NUC_ARG(MULTI_HEAD_ATTENTION, query)),
                                      nuc_operand(g, node, NUC_ARG(MULTI_HEAD_ATTENTION, key)),
                                      nuc_operand(g, node, NUC_ARG(MULTI_HEAD_ATTENTION, value)), &a);
    if (nuc_is_item_read(node, 1))
        nuc_replace_item(g, node, 1,
                         attention_weights(&a, nuc_flag(node, NUC_ARG(MULTI_HEAD_ATTENTION, average_attn_weights))));
    nuc_replace_item(g, node, 0, x);
    return NULL;
}

static struct nuc_node *layer_norm(const struct heads *h, struct nuc_node *x, struct nuc_node *weight,
                                   struct nuc_node *bias, double eps)
{
    return nuc_emit(h->g, h->node, NUC_OP_LAYER_NORM, h->node,
                    NUC_ARGS(x, nuc_ints_arg(&h->embed, 1), weight, bias, eps));
}

#define LAYER(name) nuc_operand(g, node, NUC_ARG(TRANSFORMER_ENCODER_LAYER, name))

static struct nuc_node *expand_transformer_layer(struct nuc_graph *g, struct nuc_node *node)
{
    struct heads h = {.g = g,
                      .node = node,
                      .weight = LAYER(qkv_weight),
                      .bias = LAYER(qkv_bias),
                      .proj_weight = LAYER(proj_weight),
                      .proj_bias = LAYER(proj_bias),
                      .embed = nuc_integer(node, NUC_ARG(TRANSFORMER_ENCODER_LAYER, embed_dim), 0),
                      .n_heads = nuc_integer(node, NUC_ARG(TRANSFORMER_ENCODER_LAYER, num_heads), 0),
                      .mask = nuc_arg_node(node, NUC_ARG(TRANSFORMER_ENCODER_LAYER, mask)),
                      .mask_type = nuc_integer(node, NUC_ARG(TRANSFORMER_ENCODER_LAYER, mask_type), 2)};
    bool first = nuc_flag(node, NUC_ARG(TRANSFORMER_ENCODER_LAYER, norm_first));
    bool gelu = nuc_flag(node, NUC_ARG(TRANSFORMER_ENCODER_LAYER, use_gelu));
    double eps = nuc_scalar(node, NUC_ARG(TRANSFORMER_ENCODER_LAYER, eps), 1e-5);
    struct attention a;

    struct nuc_node *x = LAYER(src);
    struct nuc_node *y = first ? layer_norm(&h, x, LAYER(norm_weight_1), LAYER(norm_bias_1), eps) : x;
    x = nuc_insert_binary(g, node, NUC_OP_ADD, attend_heads(&h, y, y, y, &a), x);
    if (!first)
        x = layer_norm(&h, x, LAYER(norm_weight_1), LAYER(norm_bias_1), eps);
    y = first ? layer_norm(&h, x, LAYER(norm_weight_2), LAYER(norm_bias_2), eps) : x;
    y = nuc_insert_unary(g, node, gelu ? NUC_OP_GELU : NUC_OP_RELU,
                         linear(&h, y, LAYER(ffn_weight_1), LAYER(ffn_bias_1)));
    x = nuc_insert_binary(g, node, NUC_OP_ADD, linear(&h, y, LAYER(ffn_weight_2), LAYER(ffn_bias_2)), x);
    return first ? x : layer_norm(&h, x, LAYER(norm_weight_2), LAYER(norm_bias_2), eps);
}

const struct nuc_expansion nuc_attention_expansions[] = {
    {.op = NUC_OP_SDPA, .expand = expand_sdpa},
    {.op = NUC_OP_SDPA_FLASH, .expand = expand_sdpa_flash},
    {.op = NUC_OP_MULTI_HEAD_ATTENTION, .expand = expand_multi_head_attention},
    {.op = NUC_OP_TRANSFORMER_ENCODER_LAYER, .expand = expand_transformer_layer},
    {.expand = NULL},
};
