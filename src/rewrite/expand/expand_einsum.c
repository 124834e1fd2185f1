/*
 * Einstein's sums: tensors whose dimensions have letters are multiplied two by two, in the order of the path or from
 * the left. Source: torch/functional.py, einsum; aten/src/ATen/native/Linear.cpp.
 */
#include <string.h>

#include "rewrite/expand/expand.h"
#include "rewrite/insert.h"

#define N_LETTERS 52 /* labels of the letters, upper case first; those of an ellipsis follow */

static uint64_t bit(uint8_t label)
{
    return (uint64_t)1 << label;
}

static uint64_t labels_of(const struct nuc_labelled *x)
{
    uint64_t set = 0;

    for (uint32_t i = 0; i < x->rank; i++)
        set |= bit(x->labels[i]);
    return set;
}

static uint32_t place_of(const struct nuc_labelled *x, uint8_t label)
{
    uint32_t i = 0;

    while (i < x->rank && x->labels[i] != label)
        i++;
    return i;
}

/* ---- building blocks ---- */

/* The tensor summed over the labels that are not kept. */
static struct nuc_labelled sum_labels(struct nuc_graph *g, struct nuc_node *node, struct nuc_labelled x, uint64_t kept)
{
    int64_t dims[NUC_MAX_RANK];
    uint32_t count = 0, rank = 0;
    struct nuc_labelled sum = x;

    for (uint32_t i = 0; i < x.rank; i++) {
        if ((kept & bit(x.labels[i])) == 0)
            dims[count++] = i;
        else
            sum.labels[rank++] = x.labels[i];
    }
    sum.rank = rank;
    if (count > 0)
        sum.value =
            nuc_insert_cast(g, node, nuc_insert_sum(g, node, x.value, dims, count, false), x.value->vals[0].dtype);
    return sum;
}

struct nuc_node *nuc_order_labels(struct nuc_graph *g, struct nuc_node *node, struct nuc_labelled x,
                                  const uint8_t *labels)
{
    int64_t dims[NUC_MAX_RANK];

    for (uint32_t i = 0; i < x.rank; i++)
        dims[i] = place_of(&x, labels[i]);
    return nuc_insert_permuted(g, node, x.value, dims);
}

/* Labels of x that are in the set, appended in their order; returns the product of their sizes. */
static int64_t append(const struct nuc_labelled *x, uint64_t set, uint8_t *labels, uint32_t *count)
{
    int64_t product = 1;

    for (uint32_t i = 0; i < x->rank; i++) {
        if ((set & bit(x->labels[i])) == 0)
            continue;
        labels[(*count)++] = x->labels[i];
        product *= x->value->vals[0].sizes[i];
    }
    return product;
}

/* The two operands of one product, by what their labels are in it. */
struct product {
    struct nuc_labelled a, b;
    uint64_t batch, summed, a_only, b_only;
    struct nuc_labelled result;
    int64_t sizes[NUC_MAX_RANK]; /* of the result */
};

/* x with its dimensions as the result has them, of size 1 where it has none. */
static struct nuc_node *aligned(struct nuc_graph *g, struct nuc_node *node, const struct product *p,
                                struct nuc_labelled x)
{
    uint8_t labels[NUC_MAX_RANK];
    int64_t sizes[NUC_MAX_RANK];
    uint32_t count = 0;

    for (uint32_t i = 0; i < p->result.rank; i++) {
        bool has = (labels_of(&x) & bit(p->result.labels[i])) != 0;
        sizes[i] = has ? p->sizes[i] : 1;
        if (has)
            labels[count++] = p->result.labels[i];
    }
    return nuc_insert_reshaped(g, node, nuc_order_labels(g, node, x, labels), sizes, p->result.rank);
}

/* x as [batch, rows, columns]. */
static struct nuc_node *as_matrices(struct nuc_graph *g, struct nuc_node *node, struct nuc_labelled x, uint64_t batch,
                                    uint64_t rows, uint64_t columns, const struct nuc_labelled *order)
{
    uint8_t labels[NUC_MAX_RANK];
    uint32_t count = 0;
    int64_t sizes[3];

    /* Summed labels, and those of the batch, stand in one order on both sides. */
    struct nuc_labelled like = *order;
    like.value = NULL;
    for (int part = 0; part < 3; part++) {
        uint64_t set = part == 0 ? batch : part == 1 ? rows : columns;
        sizes[part] = 1;
        for (uint32_t i = 0; i < like.rank; i++) {
            if ((set & bit(like.labels[i])) == 0)
                continue;
            labels[count++] = like.labels[i];
            sizes[part] *= x.value->vals[0].sizes[place_of(&x, like.labels[i])];
        }
        sizes[part] *= append(&x, set & ~labels_of(&like), labels, &count);
    }
    return nuc_insert_reshaped(g, node, nuc_order_labels(g, node, x, labels), batch == 0 ? sizes + 1 : sizes,
                               batch == 0 ? 2 : 3);
}

struct nuc_labelled nuc_contract(struct nuc_graph *g, struct nuc_node *node, struct nuc_labelled a,
                                 struct nuc_labelled b, uint64_t kept)
{
    a = sum_labels(g, node, a, kept | labels_of(&b));
    b = sum_labels(g, node, b, kept | labels_of(&a));
    struct product p = {.a = a, .b = b};
    uint64_t both = labels_of(&a) & labels_of(&b);

    p.batch = both & kept;
    p.summed = both & ~kept;
    p.a_only = labels_of(&a) & ~both;
    p.b_only = labels_of(&b) & ~both;
    uint32_t rank = 0;
    uint8_t labels[2 * NUC_MAX_RANK];
    append(&p.a, p.batch, labels, &rank);
    append(&p.a, p.a_only, labels, &rank);
    append(&p.b, p.b_only, labels, &rank);
    if (rank > NUC_MAX_RANK)
        nuc_expand_fail(g, node, "a product has %u dimensions: at most %d are possible", (unsigned)rank, NUC_MAX_RANK);
    memcpy(p.result.labels, labels, rank);
    p.result.rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        bool in_a = (labels_of(&p.a) & bit(labels[i])) != 0;
        const struct nuc_labelled *x = in_a ? &p.a : &p.b;
        p.sizes[i] = x->value->vals[0].sizes[place_of(x, labels[i])];
    }
    if (p.summed == 0) {
        struct nuc_node *right = aligned(g, node, &p, b), *left = aligned(g, node, &p, a);
        p.result.value = nuc_insert_binary(g, node, NUC_OP_MUL, left, right);
        return p.result;
    }
    struct nuc_node *left = as_matrices(g, node, a, p.batch, p.a_only, p.summed, &a);
    struct nuc_node *right = as_matrices(g, node, b, p.batch, p.summed, p.b_only, &a);
    struct nuc_node *product = nuc_insert_binary(g, node, p.batch == 0 ? NUC_OP_MM : NUC_OP_BMM, left, right);
    p.result.value = nuc_insert_reshaped(g, node, product, p.sizes, p.result.rank);
    return p.result;
}

/* ---- einsum ---- */

struct einsum {
    struct nuc_graph *g;
    struct nuc_node *node;
    const char *equation, *at; /* what is read next of it */
    const struct nuc_arg *path;
    uint32_t count;
    struct nuc_labelled *operands;
    uint32_t n_ellipsis; /* dimensions an ellipsis stands for, at most */
    uint64_t seen, repeated;
    struct nuc_labelled output;
    int64_t sizes[NUC_MAX_LABELS];
};

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static uint8_t label_of(char c)
{
    return (uint8_t)(c <= 'Z' ? c - 'A' : c - 'a' + 26);
}

static _Noreturn void bad_equation(const struct einsum *e)
{
    nuc_expand_fail(e->g, e->node, "the equation '%s' does not fit the operands", e->equation);
}

/* One operand's letters: letters[i] is a label, or 255 for the ellipsis. Stops at ',', '-' and the end. */
static uint32_t read_letters(struct einsum *e, uint8_t letters[2 * NUC_MAX_RANK])
{
    uint32_t n = 0;

    for (; *e->at != '\0' && *e->at != ',' && *e->at != '-'; e->at++) {
        if (*e->at == ' ')
            continue;
        if (n == NUC_MAX_RANK + 1 || (!is_letter(*e->at) && strncmp(e->at, "...", 3) != 0))
            bad_equation(e);
        letters[n++] = is_letter(*e->at) ? label_of(*e->at) : UINT8_MAX;
        e->at += is_letter(*e->at) ? 0 : 2;
    }
    return n;
}

static uint32_t ellipsis_dims(const uint8_t *letters, uint32_t n, uint32_t rank)
{
    for (uint32_t i = 0; i < n; i++) {
        if (letters[i] == UINT8_MAX)
            return rank + 1 - n;
    }
    return 0;
}

static void number_labels(struct einsum *e, struct nuc_labelled *x, const uint8_t *letters, uint32_t n)
{
    uint32_t inner = ellipsis_dims(letters, n, x->rank), rank = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (rank + (letters[i] == UINT8_MAX ? inner : 1) > x->rank)
            bad_equation(e);
        for (uint32_t k = 0; letters[i] == UINT8_MAX && k < inner; k++)
            x->labels[rank++] = (uint8_t)(N_LETTERS + e->n_ellipsis - inner + k);
        if (letters[i] != UINT8_MAX)
            x->labels[rank++] = letters[i];
    }
    if (rank != x->rank)
        bad_equation(e);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t size = x->value->vals[0].sizes[i], *known = &e->sizes[x->labels[i]];
        if (*known > 1 && size != 1 && size != *known)
            bad_equation(e);
        *known = *known > 1 || (*known == 0 && (e->seen & bit(x->labels[i])) != 0) ? *known : size;
        e->repeated |= e->seen & bit(x->labels[i]);
        e->seen |= bit(x->labels[i]);
    }
}

static void read_output(struct einsum *e)
{
    uint8_t letters[2 * NUC_MAX_RANK];

    if (strncmp(e->at, "->", 2) != 0)
        bad_equation(e);
    e->at += 2;
    uint32_t n = read_letters(e, letters);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; letters[i] == UINT8_MAX && k < e->n_ellipsis && e->output.rank < NUC_MAX_RANK; k++)
            e->output.labels[e->output.rank++] = (uint8_t)(N_LETTERS + k);
        if (letters[i] == UINT8_MAX)
            continue;
        if ((e->seen & bit(letters[i])) == 0 || e->output.rank == NUC_MAX_RANK)
            bad_equation(e);
        e->output.labels[e->output.rank++] = letters[i];
    }
    if (*e->at != '\0')
        bad_equation(e);
}

static void read_equation(struct einsum *e)
{
    const char *start = e->at;
    uint8_t letters[2 * NUC_MAX_RANK];

    /* The widest ellipsis first: the dimensions of the others are its last ones. */
    for (int round = 0; round < 2; round++) {
        e->at = start;
        for (uint32_t i = 0; i < e->count; i++) {
            uint32_t n = read_letters(e, letters);
            uint32_t inner = ellipsis_dims(letters, n, e->operands[i].rank);
            if (inner > NUC_MAX_RANK || (i + 1 < e->count && *e->at != ','))
                bad_equation(e);
            e->at += i + 1 < e->count ? 1 : 0;
            if (round == 0)
                e->n_ellipsis = inner > e->n_ellipsis ? inner : e->n_ellipsis;
            else
                number_labels(e, &e->operands[i], letters, n);
        }
    }
    if (*e->at == '\0') {
        /* Without "->": the ellipsis, then every letter that occurs once, in order. */
        for (uint32_t i = 0; i < e->n_ellipsis; i++)
            e->output.labels[e->output.rank++] = (uint8_t)(N_LETTERS + i);
        for (uint8_t label = 0; label < N_LETTERS; label++) {
            if ((e->seen & ~e->repeated & bit(label)) == 0)
                continue;
            if (e->output.rank == NUC_MAX_RANK)
                bad_equation(e);
            e->output.labels[e->output.rank++] = label;
        }
    } else {
        read_output(e);
    }
}

/* Two dimensions of one label become their diagonal, the last dimension. */
static void take_diagonals(struct einsum *e, struct nuc_labelled *x)
{
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t k = i + 1;
        while (k < x->rank && x->labels[k] != x->labels[i])
            k++;
        if (k == x->rank)
            continue;
        uint8_t label = x->labels[i];
        x->value = nuc_emit(e->g, e->node, NUC_OP_DIAGONAL, e->node, NUC_ARGS(x->value, 0, i, k));
        memmove(&x->labels[k], &x->labels[k + 1], x->rank - k - 1);
        memmove(&x->labels[i], &x->labels[i + 1], x->rank - i - 2);
        x->rank--;
        x->labels[x->rank - 1] = label;
        i--; /* the dimension that came here */
    }
}

/* The next two operands: the path's, else the first two. */
static void next_pair(const struct einsum *e, uint32_t step, uint32_t *first, uint32_t *second)
{
    const struct nuc_arg *path = e->path;

    *first = 0;
    *second = 1;
    if (path->kind != NUC_ARG_INTS || path->count < 2 * step + 2)
        return;
    int64_t a = path->u.ints[2 * step], b = path->u.ints[2 * step + 1];
    if (a < 0 || b < 0 || a == b || a >= e->count || b >= e->count)
        bad_equation(e);
    *first = (uint32_t)(a < b ? a : b);
    *second = (uint32_t)(a < b ? b : a);
}

static void contract_all(struct einsum *e, uint64_t kept)
{
    bool has_path = e->path->kind == NUC_ARG_INTS;

    for (uint32_t step = 0; e->count > 1; step++) {
        uint32_t first, second;
        uint64_t needed = kept;
        next_pair(e, step, &first, &second);
        for (uint32_t i = 0; i < e->count; i++)
            needed |= i == first || i == second ? 0 : labels_of(&e->operands[i]);
        struct nuc_labelled product = nuc_contract(e->g, e->node, e->operands[first], e->operands[second], needed);
        memmove(&e->operands[second], &e->operands[second + 1], (e->count - second - 1) * sizeof *e->operands);
        e->count--;
        if (!has_path) {
            e->operands[first] = product;
            continue;
        }
        memmove(&e->operands[first], &e->operands[first + 1], (e->count - first - 1) * sizeof *e->operands);
        e->operands[e->count - 1] = product;
    }
}

struct nuc_node *nuc_insert_einsum(struct nuc_graph *g, struct nuc_node *node, const char *equation,
                                   const struct nuc_arg *tensors, const struct nuc_arg *path)
{
    struct einsum e = {
        .g = g, .node = node, .equation = equation, .at = equation, .count = tensors->count, .path = path};

    if (tensors->kind != NUC_ARG_NODES || tensors->count == 0)
        nuc_expand_fail(g, node, "the equation or the operands are missing");
    e.operands = nuc_alloc_array(g->cx, e.count, sizeof *e.operands);
    for (uint32_t i = 0; i < e.count; i++) {
        if (tensors->u.nodes[i] == NULL)
            nuc_expand_fail(g, node, "an operand is missing");
    }
    for (uint32_t i = 0; i < e.count; i++)
        e.operands[i] = (struct nuc_labelled){.value = tensors->u.nodes[i], .rank = tensors->u.nodes[i]->vals[0].rank};
    read_equation(&e);
    for (uint32_t i = 0; i < e.count; i++) {
        /* A dimension of size 1 that others are wider along is not a dimension of this operand. */
        struct nuc_labelled *x = &e.operands[i];
        int64_t sizes[NUC_MAX_RANK];
        uint32_t rank = 0;

        for (uint32_t k = 0; k < x->rank; k++) {
            int64_t size = x->value->vals[0].sizes[k];
            if (size == 1 && e.sizes[x->labels[k]] != 1)
                continue;
            sizes[rank] = size;
            x->labels[rank++] = x->labels[k];
        }
        x->value = nuc_insert_reshaped(e.g, e.node, x->value, sizes, rank);
        x->rank = rank;
        take_diagonals(&e, &e.operands[i]);
    }
    contract_all(&e, labels_of(&e.output));
    struct nuc_labelled sum = sum_labels(g, node, e.operands[0], labels_of(&e.output));
    if (sum.rank != e.output.rank)
        bad_equation(&e);
    return nuc_order_labels(g, node, sum, e.output.labels);
}
