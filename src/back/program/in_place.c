/* Results that may lie where an input did: what the int8 kernels of the CPU allow. */
#include "back/program/emit.h"
#include "ir/args.h"
#include "ir/conv_args.h"
#include "ir/op_list.h"

/* Element by element: each is read before it is written. */
static const enum nuc_op *const by_elements =
    NUC_OPS(NUC_OP_CORTEXM_ADD, NUC_OP_CORTEXM_MUL, NUC_OP_CORTEXM_MINIMUM, NUC_OP_CORTEXM_MAXIMUM, NUC_OP_CORTEXM_DIV,
            NUC_OP_CORTEXM_ACTIVATION, NUC_OP_NUCLEON_PRELU, NUC_OP_NUCLEON_SQUARED_DIFFERENCE);

/* The storage that the node's only tensor fills; NUC_NO_STORAGE when it is a constant or a part of one. */
static uint32_t whole_storage(const struct nuc_emission *e, const struct nuc_node *node)
{
    const uint32_t *values = node != NULL && node->n_vals == 1 ? e->value_of[node->id] : NULL;
    const struct nuc_emit_value *v = values != NULL ? &e->values[values[0]] : NULL;
    bool whole = v != NULL && v->kind == NUC_EMIT_TENSOR && v->storage != NUC_NO_STORAGE && v->offset == 0 &&
                 !e->storages[v->storage].in_parts && nuc_bytes(v->meta) == e->storages[v->storage].bytes;

    return whole ? v->storage : NUC_NO_STORAGE;
}

static uint32_t add(const struct nuc_emission *e, const struct nuc_node *input, uint32_t *storages, uint32_t n)
{
    uint32_t s = whole_storage(e, input);

    return s == NUC_NO_STORAGE ? n : nuc_plan_add_once(storages, n, s);
}

uint32_t nuc_overlays(const struct nuc_emission *e, const struct nuc_emit_instruction *in,
                      uint32_t storages[NUC_MOST_OVERLAYS], uint32_t *result)
{
    const struct nuc_node *node = in->node;
    uint32_t n = 0;

    if (in->delegate || node == NULL || (*result = whole_storage(e, node)) == NUC_NO_STORAGE)
        return 0;
    if (node->op == NUC_OP_NUCLEON_DEPTHWISE) {
        /* It keeps rows of the input aside. */
        const struct nuc_node *scratch = nuc_arg_node(node, NUC_ARG(NUCLEON_DEPTHWISE, scratch));
        const int64_t needed = nuc_depthwise_overlay(node);
        if (needed > 0 && scratch != NULL && nuc_bytes(&scratch->vals[0]) >= (size_t)needed)
            return add(e, nuc_arg_node(node, NUC_ARG(NUCLEON_DEPTHWISE, input)), storages, n);
    }
    /* Tables and slopes are constants. */
    struct nuc_cursor at = {0, 0};
    const struct nuc_node *input = nuc_op_is_in(node->op, by_elements) ? nuc_next_input(node, &at) : NULL;
    for (; input != NULL && n < NUC_MOST_OVERLAYS; input = nuc_next_input(node, &at)) {
        if (nuc_same_layout(&input->vals[0], &node->vals[0]))
            n = add(e, input, storages, n);
    }
    return n;
}
