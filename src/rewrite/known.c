#include "rewrite/known.h"

#include "eval/eval.h"
#include "rewrite/rewrite.h"

/* Operators between a value and its constants; deeper trees do not decide shapes. */
#define MAX_DEPTH 16

/* What an operator of constants alone computes takes its place, from the constants on. */
static struct nuc_node *fold(struct nuc_graph *g, struct nuc_node *node, int depth)
{
    struct nuc_cursor at = {0, 0};
    void *value;

    if (nuc_is_static(node) || !nuc_is_call(node) || depth == 0 || node->is_tuple || node->in_place)
        return node;
    for (struct nuc_node *input = nuc_next_input(node, &at); input != NULL; input = nuc_next_input(node, &at)) {
        if (!nuc_is_static(fold(g, input, depth - 1)))
            return node;
    }
    if (!nuc_eval_constant(g, node, &value))
        return node;
    struct nuc_node *constant = nuc_add_parameter(g, node, "_constant", &node->vals[0], value);
    nuc_replace_uses(g, node, constant, NULL);
    return constant;
}

const void *nuc_known_value(struct nuc_graph *g, struct nuc_node *node)
{
    node = fold(g, node, MAX_DEPTH);
    return nuc_is_static(node) && node->data != NULL ? nuc_const_contiguous(g, node) : NULL;
}

struct nuc_node *nuc_insert_known(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *node)
{
    const struct nuc_meta m = nuc_meta_make(node->vals[0].dtype, node->vals[0].sizes, node->vals[0].rank);

    return nuc_add_constant(g, nuc_format(g->cx, "%s_constant", before->name), &m, nuc_known_value(g, node));
}

const int64_t *nuc_known_integers(struct nuc_graph *g, struct nuc_node *node)
{
    const void *data = nuc_known_value(g, node);
    const struct nuc_meta *m = &node->vals[0];
    size_t count = (size_t)nuc_elements(m);
    int64_t *values = nuc_alloc_array(g->cx, count + 1, sizeof *values);

    for (size_t i = 0; data != NULL && i < count; i++) {
        switch ((unsigned)m->dtype) {
        case NUC_I64:
            values[i] = ((const int64_t *)data)[i];
            break;
        case NUC_I32:
            values[i] = ((const int32_t *)data)[i];
            break;
        case NUC_I16:
            values[i] = ((const int16_t *)data)[i];
            break;
        case NUC_I8:
            values[i] = ((const int8_t *)data)[i];
            break;
        case NUC_U8:
        case NUC_BOOL:
            values[i] = ((const uint8_t *)data)[i];
            break;
        default:
            return NULL;
        }
    }
    return data == NULL ? NULL : values;
}
