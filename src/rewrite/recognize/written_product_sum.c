/*
 * Sums of products with a constant that is larger than what it is multiplied with: the sum over i and k of
 * (c[o, i, k] s[b, i])^2, as the norms of modulated weights are, is the product of the matrices s^2 [b, i] and
 * sum over k of c^2 [o, i, k]. So is the sum of a product of two values that are repeated for it, each along dimensions
 * of its own, as similarities of all pairs are. The values in between are never there.
 *
 * Numbers that both factors of a product of matrices are multiplied with, as decomposed archives have the roots of the
 * scale of attention, are one.
 */
#include <string.h>

#include "host/numbers.h"
#include "ir/args.h"
#include "ir/masks.h"
#include "ir/op_list.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"
#include "rewrite/recognize/labelled_product.h"
#include "rewrite/recognize/written.h"

static bool is_matrix_product(const struct nuc_labelled_sum *e, uint64_t kept)
{
    const struct nuc_labelled_term *t = &e->terms[0];
    uint64_t known = nuc_term_labels(t, true), computed = nuc_term_labels(t, false), both = known & computed;

    for (uint32_t i = 0; i < t->count; i++) {
        if (t->factors[i].known == NULL && t->factors[i].power < 0)
            return false;
    }
    return e->count == 1 && (both & ~kept) != 0 && (both & kept) == 0 &&
           nuc_labelled_elements(e, known | computed) > nuc_labelled_elements(e, computed);
}

/* The product with what is known of the term, summed; its value is NULL when that is too large. */
static struct nuc_labelled times_known(struct nuc_graph *g, struct nuc_node *sum, const struct nuc_labelled_sum *e,
                                       uint64_t kept)
{
    const struct nuc_labelled_term *t = &e->terms[0];
    uint8_t labels[NUC_MAX_LABELS];
    int64_t sizes[NUC_MAX_RANK];
    uint64_t computed = nuc_term_labels(t, false);
    struct nuc_labelled x = {.value = NULL},
                        constant = {.rank = nuc_list_labels(nuc_term_labels(t, true) & (kept | computed), labels)};

    if (constant.rank > NUC_MAX_RANK)
        return x;
    const float *values = nuc_known_product(g, e, t, labels, constant.rank);
    if (values == NULL)
        return x;
    memcpy(constant.labels, labels, constant.rank);
    for (uint32_t i = 0; i < constant.rank; i++)
        sizes[i] = e->sizes[labels[i]];
    constant.value = nuc_insert_floats(g, sum, values, sizes, constant.rank);
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->factors[i].known != NULL)
            continue;
        struct nuc_labelled f = nuc_insert_factor(g, sum, e, &t->factors[i]);
        x = x.value == NULL ? f : nuc_contract(g, sum, x, f, UINT64_MAX);
    }
    return nuc_contract(g, sum, x, constant, kept);
}

/* Two computed factors that have the summed labels, and each a label that the other has not. */
static bool is_product_of_pairs(struct nuc_graph *g, const struct nuc_node *sum, const struct nuc_labelled_sum *e,
                                uint64_t kept)
{
    const struct nuc_labelled_term *t = &e->terms[0];
    const struct nuc_labelled_factor *f = t->factors;

    if (e->count != 1 || t->count != 2 || f[0].known != NULL || f[1].known != NULL || f[0].power != 1 ||
        f[1].power != 1 || nuc_operand(g, sum, NUC_SELF)->n_users != 1)
        return false;
    uint64_t a = nuc_factor_labels(&f[0]), b = nuc_factor_labels(&f[1]), summed = (a | b) & ~kept;
    return summed != 0 && (summed & ~(a & b)) == 0 && (a & ~b) != 0 && (b & ~a) != 0;
}

static struct nuc_labelled product_of_pairs(struct nuc_graph *g, struct nuc_node *sum, const struct nuc_labelled_sum *e,
                                            uint64_t kept)
{
    const struct nuc_labelled_term *t = &e->terms[0];
    const float number = (float)t->number;
    struct nuc_labelled x = nuc_contract(g, sum, nuc_insert_factor(g, sum, e, &t->factors[0]),
                                         nuc_insert_factor(g, sum, e, &t->factors[1]), kept);

    if (!nuc_numbers_equal(t->number, 1.0))
        x.value = nuc_insert_binary(g, sum, NUC_OP_MUL, x.value, nuc_insert_floats(g, sum, &number, NULL, 0));
    return x;
}

static bool write_product(struct nuc_graph *g, struct nuc_node *sum)
{
    struct nuc_labelled_sum e = {.products_only = true, .n_labels = NUC_MAX_RANK};
    struct nuc_labelled_factor root = {.value = sum, .power = 1};
    const struct nuc_meta *out = &sum->vals[0];
    uint8_t labels[NUC_MAX_LABELS];

    if (!nuc_is_real_value(sum))
        return false;
    for (uint8_t d = 0; d < out->rank; d++) {
        e.sizes[d] = out->sizes[d];
        if (out->sizes[d] != 1)
            root.labels[root.count++] = d;
    }
    uint64_t kept = nuc_factor_labels(&root);
    uint32_t old_ids = g->next_id;
    if (!nuc_take_labelled(g, &e, &root) ||
        (kept & ~(nuc_term_labels(&e.terms[0], true) | nuc_term_labels(&e.terms[0], false))) != 0)
        return false; /* the product is repeated behind itself */
    struct nuc_labelled x = is_matrix_product(&e, kept)             ? times_known(g, sum, &e, kept)
                            : is_product_of_pairs(g, sum, &e, kept) ? product_of_pairs(g, sum, &e, kept)
                                                                    : (struct nuc_labelled){.value = NULL};
    if (x.value == NULL)
        return false;
    nuc_list_labels(kept, labels);
    nuc_take_place(g, sum, old_ids,
                   nuc_insert_reshaped(g, sum, nuc_order_labels(g, sum, x, labels), out->sizes, out->rank));
    return true;
}

bool nuc_written_products(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_SUM_DIM, NUC_OP_MEAN_DIM), write_product);
}

/* The product with a number that a factor is behind moves, read by nothing else; NULL: it is none. */
static struct nuc_node *scaled(struct nuc_graph *g, struct nuc_node *factor, uint32_t *at, double *number)
{
    while (factor->n_users == 1 && factor->op != NUC_OP_MUL && nuc_moves_whole(factor))
        factor = nuc_operand(g, factor, NUC_SELF);
    if (factor->op != NUC_OP_MUL || factor->n_users != 1 || factor->in_place || factor->vals[0].dtype != NUC_F32)
        return NULL;
    for (*at = NUC_SELF; *at <= NUC_OTHER; ++*at) {
        const struct nuc_node *x = nuc_arg_node(factor, *at == NUC_SELF ? NUC_OTHER : NUC_SELF);
        if (x != NULL && x->vals[0].dtype == NUC_F32 && nuc_same_sizes(&x->vals[0], &factor->vals[0]) &&
            nuc_number_of(g, nuc_arg_node(factor, *at), number))
            return factor;
    }
    return NULL;
}

static bool join_scales(struct nuc_graph *g, struct nuc_node *product)
{
    struct nuc_node *muls[2];
    uint32_t at[2];
    double numbers[2];

    for (uint32_t i = 0; i < 2; i++) {
        muls[i] = scaled(g, nuc_operand(g, product, i), &at[i], &numbers[i]);
        if (muls[i] == NULL)
            return false;
    }
    if (muls[0] == muls[1]) /* a product of a matrix by itself */
        return false;
    nuc_set_arg_node(muls[0], g, at[0], nuc_insert_constant(g, muls[0], NUC_F32, numbers[0] * numbers[1]));
    nuc_replace_uses(g, muls[1], nuc_operand(g, muls[1], at[1] == NUC_SELF ? NUC_OTHER : NUC_SELF), NULL);
    return true;
}

bool nuc_join_scales(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_BMM, NUC_OP_MATMUL), join_scales);
}
