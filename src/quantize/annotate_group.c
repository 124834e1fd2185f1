/* Nodes whose tensors all have the same parameters, and the concat cluster of the reference. */
#include <math.h>

#include "ir/args.h"
#include "ir/op_list.h"
#include "quantize/annotate_private.h"

/* ---- which parameters ---- */

/*
 * The tensors of the group: the elements of the list, or both arguments. What is written at indices is requantized: a
 * value that goes round, as a cache does, keeps its own parameters; where it is added, the node computes in float.
 */
static uint32_t members(const struct nuc_annotator *a, const struct nuc_node *node, struct nuc_node ***out)
{
    bool puts = nuc_op_is_in(node->op, NUC_OPS(NUC_OP_INDEX_PUT, NUC_OP_SCATTER));
    uint32_t count = nuc_inputs(node, NULL, 0);

    *out = nuc_alloc_array(a->g->cx, count, sizeof **out);
    nuc_inputs(node, *out, count);
    if (node->op == NUC_OP_INDEX_PUT && nuc_flag(node, NUC_ARG(INDEX_PUT, accumulate)))
        return 0;
    return puts ? 1 : count;
}

/* Fixed parameters that any other tensor of the group would be clipped by. */
static bool is_too_narrow(const struct nuc_annotator *a, const struct nuc_qspec *spec, struct nuc_node *const *inputs,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count && spec->kind == NUC_QSPEC_FIXED; i++) {
        const struct nuc_qspec *other = nuc_output_spec(a, inputs[i]);
        if (other == NULL || other->kind != NUC_QSPEC_FIXED || other->scale != spec->scale ||
            other->zero_point != spec->zero_point)
            return true;
    }
    return false;
}

static bool is_apart(const struct nuc_annotator *a, const struct nuc_node *cat, const struct nuc_node *value)
{
    for (size_t i = 0; a->apart != NULL && i < a->apart->count; i++) {
        if (a->apart->values[i].cat == cat->id && a->apart->values[i].value == value->id)
            return true;
    }
    return false;
}

/*
 * The argument with whose output the group shares: the first annotated one of its width that does not clip others;
 * NULL: none.
 */
static struct nuc_node *choose_source(const struct nuc_annotator *a, const struct nuc_node *node,
                                      struct nuc_node *const *inputs, uint32_t count)
{
    const enum nuc_dtype own = nuc_spec_for(a, node, NUC_SPEC_ACTIVATION)->dtype;

    for (uint32_t i = 0; i < count; i++) {
        const struct nuc_qspec *spec = nuc_output_spec(a, inputs[i]);
        if (spec != NULL && nuc_output_dtype(a, inputs[i]) == own && !is_apart(a, node, inputs[i]) &&
            (a->reference_compat || !is_too_narrow(a, spec, inputs, count)))
            return inputs[i];
    }
    return NULL;
}

static bool any_annotated(const struct nuc_annotator *a, struct nuc_node *const *inputs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (nuc_output_spec(a, inputs[i]) != NULL)
            return true;
    }
    return false;
}

/* ---- annotating ---- */

static void share_with(struct nuc_annotator *a, struct nuc_node *node, struct nuc_node *const *inputs, uint32_t count,
                       struct nuc_place source)
{
    struct nuc_qspec shared = {.kind = NUC_QSPEC_SHARED, .from = {source}};

    nuc_annotate_output(a, node, &shared);
    for (uint32_t i = 0; i < count; i++) {
        if (source.user == NULL || inputs[i] != source.node)
            nuc_annotate_input(a, node, inputs[i], &shared);
    }
}

static void mark_apart(struct nuc_annotator *a, const struct nuc_node *node)
{
    struct nuc_annotation *at = a->by_id[node->id];

    for (uint32_t i = 0; at != NULL && i < at->n_inputs; i++)
        at->inputs[i].apart = is_apart(a, node, at->inputs[i].arg);
}

void nuc_annotate_group(struct nuc_annotator *a, struct nuc_node *node)
{
    struct nuc_node **inputs;
    uint32_t count = members(a, node, &inputs);

    for (uint32_t i = 0; i < count; i++) {
        if (!nuc_is_quantizable(inputs[i]))
            return;
    }
    struct nuc_node *source = choose_source(a, node, inputs, count);
    if (source != NULL) {
        share_with(a, node, inputs, count, (struct nuc_place){source, NULL});
        mark_apart(a, node);
    } else if (count > 0 && (nuc_pattern_for(a, node)->form == NUC_FORM_LIST || any_annotated(a, inputs, count))) {
        /* All tensors are observed as what the node reads and writes: by one observer, in the reference by one each. */
        const struct nuc_qspec *activation = nuc_spec_for(a, node, NUC_SPEC_ACTIVATION);
        nuc_annotate_input(a, node, inputs[0], activation);
        if (!a->reference_compat) {
            share_with(a, node, inputs, count, (struct nuc_place){inputs[0], node});
            mark_apart(a, node);
            return;
        }
        for (uint32_t i = 1; i < count; i++)
            nuc_annotate_input(a, node, inputs[i], activation);
        nuc_annotate_output(a, node, activation);
    }
}

/* ---- the concat cluster ---- */

static enum nuc_cluster cluster_of(const struct nuc_node *node)
{
    return nuc_pattern_of(NUC_SIDE_NPU, node->op)->cluster;
}

static bool is_relu(const struct nuc_node *node)
{
    return cluster_of(node) == NUC_CLUSTER_RELU ||
           (cluster_of(node) == NUC_CLUSTER_CLAMP &&
            nuc_joins_compute(node, nuc_pattern_of(NUC_SIDE_NPU, node->op), true) && isinf(nuc_bounds_of(node).max));
}

static bool is_fusable_compute(const struct nuc_node *node)
{
    const struct nuc_quant_pattern *p = nuc_pattern_of(NUC_SIDE_NPU, node->op);

    return p->cluster == NUC_CLUSTER_COMPUTE && node->n_vals == 1 && node->vals[0].rank <= p->joint_rank;
}

static bool is_cluster(struct nuc_node *const *inputs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct nuc_node *n = inputs[i];
        bool equal = cluster_of(n) == cluster_of(inputs[0]) || (is_relu(n) && is_relu(inputs[0]));
        if (cluster_of(n) <= NUC_CLUSTER_COMPUTE || !nuc_joins_compute(n, nuc_pattern_of(NUC_SIDE_NPU, n->op), true) ||
            !equal)
            return false;
        const struct nuc_node *compute = nuc_arg_node(n, NUC_SELF);
        if (compute == NULL || !is_fusable_compute(compute))
            return false;
    }
    return count > 0;
}

static void annotate_cluster(struct nuc_annotator *a, struct nuc_node *cat)
{
    struct nuc_node **inputs;
    uint32_t count = members(a, cat, &inputs);

    if (!is_cluster(inputs, count))
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct nuc_node *compute = nuc_arg_node(inputs[i], NUC_SELF);
        if (compute == NULL)
            continue;
        nuc_annotate_like(a, compute, nuc_annotate_node);
        if (a->by_id[compute->id] != NULL)
            a->by_id[compute->id]->output.kind = NUC_QSPEC_NONE;
    }
    for (uint32_t i = 0; i < count; i++) {
        nuc_annotate_like(a, inputs[i], nuc_annotate_alone);
        if (a->by_id[inputs[i]->id] != NULL)
            a->by_id[inputs[i]->id]->n_inputs = 0;
    }
    if (a->by_id[inputs[0]->id] != NULL)
        share_with(a, cat, inputs, count, (struct nuc_place){inputs[0], NULL});
}

void nuc_annotate_concat_clusters(struct nuc_annotator *a)
{
    for (struct nuc_node *n = a->g->first; n != NULL; n = n->next) {
        if (n->op == NUC_OP_CAT && a->by_id[n->id] == NULL && nuc_is_quantizable(n))
            annotate_cluster(a, n);
    }
}
