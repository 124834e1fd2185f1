/*
 * A value that is needed with other parameters than its own, as a dequantize node and a quantize node after it say, is
 * multiplied by 1 in between: the NPU takes a product of any parameters and so computes the other ones, where a
 * quantize node alone would end its partition. 1 is the int8 value 1 of scale 1, so the product is LiteRT's
 * requantization: (q - zero_in) * scale_in / scale_out + zero_out. Its kernels round the product once more before they
 * shift to the right, which every fourth result would show: to steps more than twice as large, 1 is 64 of scale 1/64.
 */
#include "ir/args.h"
#include "ir/quant.h"
#include "rewrite/pass_list.h"
#include "rewrite/passes.h"
#include "rewrite/rewrite.h"

static struct nuc_quant unit(int8_t one)
{
    return (struct nuc_quant){
        .scale = 1.0 / one, .axis = -1, .quant_min = INT8_MIN, .quant_max = INT8_MAX, .dtype = NUC_I8};
}

static bool is_unit(struct nuc_graph *g, const struct nuc_node *node)
{
    const struct nuc_node *value = node != NULL ? nuc_arg_node(node, NUC_SELF) : NULL;
    struct nuc_quant q;

    if (value == NULL || !nuc_is_static(value) || !nuc_dequantize_quant(node, &q) || q.dtype != NUC_I8 ||
        nuc_elements(&value->vals[0]) != 1)
        return false;
    const int8_t one = *(const int8_t *)nuc_const_contiguous(g, value);
    const struct nuc_quant expected = unit(one > 0 ? one : 1);
    return one > 0 && nuc_same_quant(&q, &expected);
}

bool nuc_is_requantization(struct nuc_graph *g, const struct nuc_node *node)
{
    return node->op == NUC_OP_MUL && is_unit(g, nuc_arg_node(node, NUC_OTHER));
}

/*
 * The dequantize node of a value computed at run time that `quantize` gives other int8 parameters; or NULL. A product
 * with one element of one dimension has a dimension itself.
 */
static struct nuc_node *origin_of(const struct nuc_node *quantize)
{
    struct nuc_node *from = nuc_arg_node(quantize, NUC_SELF);
    struct nuc_quant before, after;

    if (from == NULL || from->op != NUC_OP_DEQUANTIZE_PER_TENSOR || !nuc_dequantize_quant(from, &before) ||
        !nuc_quantize_quant(quantize, &after) || nuc_same_parameters(&before, &after))
        return NULL;
    const struct nuc_node *value = nuc_arg_node(from, NUC_SELF);
    bool int8 = before.dtype == NUC_I8 && after.dtype == NUC_I8 && after.quant_min <= -127 && after.quant_max == 127;
    return int8 && value != NULL && !nuc_is_static(value) && value->vals[0].rank > 0 ? from : NULL;
}

/* A view that is quantized as what it reads is; NULL: the value is something else. */
static struct nuc_node *quantized_view(struct nuc_graph *g, const struct nuc_node *value)
{
    struct nuc_node *view = nuc_is_quantize(value) ? nuc_arg_node(value, NUC_SELF) : NULL;

    if (view == NULL || view->op != NUC_OP_VIEW)
        return NULL;
    const struct nuc_node *read = nuc_operand(g, view, NUC_SELF);
    return nuc_is_dequantize(read) && nuc_same_quantization(value, read) ? view : NULL;
}

/* What is computed already of the same quantized value, or of a view of it, with the same parameters; or NULL. */
static struct nuc_node *twin_of(struct nuc_graph *g, const struct nuc_node *quantize, const struct nuc_node *value)
{
    for (uint32_t i = 0; i < value->n_users; i++) {
        const struct nuc_node *dequantize = value->users[i];
        for (uint32_t k = 0; k < dequantize->n_users && nuc_is_dequantize(dequantize); k++) {
            const struct nuc_node *reader = dequantize->users[k];
            for (uint32_t u = 0; u < reader->n_users; u++) {
                struct nuc_node *result = reader->users[u], *twin = NULL;
                if (nuc_is_requantization(g, reader) && nuc_same_quantization(quantize, result))
                    return result;
                if (quantized_view(g, result) == reader)
                    twin = twin_of(g, quantize, result);
                if (twin != NULL)
                    return twin;
            }
        }
    }
    return NULL;
}

/* The twin of what is made of a value, or of what that is a view of: then a view of it in the same place. */
static struct nuc_node *find_twin(struct nuc_graph *g, struct nuc_node *quantize, const struct nuc_node *value)
{
    const struct nuc_meta *wanted = &quantize->vals[0];
    const struct nuc_node *view;
    struct nuc_quant parameters;

    while ((view = quantized_view(g, value)) != NULL)
        value = nuc_operand(g, nuc_operand(g, view, NUC_SELF), NUC_SELF);
    struct nuc_node *twin = twin_of(g, quantize, value);
    if (twin == NULL || nuc_same_sizes(&twin->vals[0], wanted) || !nuc_quantize_quant(quantize, &parameters))
        return twin;
    struct nuc_node *x = nuc_insert_quant(g, quantize, NUC_OP_DEQUANTIZE_PER_TENSOR, twin, &parameters);
    x = nuc_emit(g, quantize, NUC_OP_VIEW, quantize, NUC_ARGS(x, nuc_ints_arg(wanted->sizes, wanted->rank)));
    x->is_step = true;
    return nuc_insert_quant(g, quantize, NUC_OP_QUANTIZE_PER_TENSOR, x, &parameters);
}

static void multiply(struct nuc_graph *g, struct nuc_node *quantize, const struct nuc_node *from)
{
    const struct nuc_meta one = nuc_meta_make(NUC_I8, &(int64_t){1}, 1);
    struct nuc_quant parameters, after;

    if (!nuc_dequantize_quant(from, &parameters) || !nuc_quantize_quant(quantize, &after))
        return;
    const int8_t value = 2 * parameters.scale < after.scale ? 64 : 1;
    const struct nuc_quant of_one = unit(value);
    struct nuc_node *factor = nuc_add_constant(g, "one", &one, &value);
    struct nuc_node *x =
        nuc_insert_quant(g, quantize, NUC_OP_DEQUANTIZE_PER_TENSOR, nuc_operand(g, from, NUC_SELF), &parameters);
    struct nuc_node *product = nuc_insert(g, quantize, NUC_OP_MUL, quantize);
    nuc_set_arg_node(product, g, NUC_SELF, x);
    nuc_set_arg_node(product, g, NUC_OTHER,
                     nuc_insert_quant(g, product, NUC_OP_DEQUANTIZE_PER_TENSOR, factor, &of_one));
    nuc_set_val(g, product, &x->vals[0]);
    product->is_step = true;
    nuc_set_arg_node(quantize, g, NUC_SELF, product);
}

static bool requantize(struct nuc_graph *g, struct nuc_node *quantize)
{
    const struct nuc_node *from = quantize->n_users > 0 ? origin_of(quantize) : NULL;
    struct nuc_node *twin = from != NULL ? find_twin(g, quantize, nuc_operand(g, from, NUC_SELF)) : NULL;

    if (twin != NULL)
        nuc_replace_uses(g, quantize, twin, NULL);
    else if (from != NULL)
        multiply(g, quantize, from);
    return from != NULL;
}

bool nuc_insert_requantize(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_QUANTIZE_PER_TENSOR), requantize);
}

/* Value and result belong to operators on the NPU. */
static bool is_between_partitions(struct nuc_graph *g, const struct nuc_node *product)
{
    const struct nuc_node *value = nuc_operand(g, nuc_operand(g, product, NUC_SELF), NUC_SELF);
    bool is_read = false;

    for (uint32_t i = 0; i < product->n_users; i++) {
        const struct nuc_node *quantize = product->users[i];
        for (uint32_t k = 0; k < quantize->n_users; k++)
            is_read = is_read || quantize->users[k]->partition >= 0;
    }
    return product->partition >= 0 && nuc_is_call(value) && value->partition >= 0 && is_read;
}

static bool drop_requantization(struct nuc_graph *g, struct nuc_node *product)
{
    if (!nuc_is_requantization(g, product) || is_between_partitions(g, product))
        return false;
    nuc_replace_uses(g, product, nuc_operand(g, product, NUC_SELF), NULL);
    return true;
}

bool nuc_drop_requantizations(struct nuc_graph *g)
{
    bool changed = nuc_rewrite_each(g, NUC_OPS(NUC_OP_MUL), drop_requantization);

    if (changed)
        nuc_rename_as_traced(g);
    return changed;
}
