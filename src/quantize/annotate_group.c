/* Nodes whose tensors all have the same parameters. */
#include "ir/args.h"
#include "ir/op_list.h"
#include "quantize/annotate_private.h"

/* ---- which parameters ---- */

uint32_t nuc_group_members(const struct nuc_annotator *a, const struct nuc_node *node, struct nuc_node ***out)
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

void nuc_group_share(struct nuc_annotator *a, struct nuc_node *node, struct nuc_node *const *inputs, uint32_t count,
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
    uint32_t count = nuc_group_members(a, node, &inputs);

    for (uint32_t i = 0; i < count; i++) {
        if (!nuc_is_quantizable(inputs[i]))
            return;
    }
    struct nuc_node *source = choose_source(a, node, inputs, count);
    if (source != NULL) {
        nuc_group_share(a, node, inputs, count, (struct nuc_place){source, NULL});
        mark_apart(a, node);
    } else if (count > 0 && (nuc_pattern_for(a, node)->form == NUC_FORM_LIST || any_annotated(a, inputs, count))) {
        /* All tensors are observed as what the node reads and writes: by one observer, in the reference by one each. */
        const struct nuc_qspec *activation = nuc_spec_for(a, node, NUC_SPEC_ACTIVATION);
        nuc_annotate_input(a, node, inputs[0], activation);
        if (!a->reference_compat) {
            nuc_group_share(a, node, inputs, count, (struct nuc_place){inputs[0], node});
            mark_apart(a, node);
            return;
        }
        for (uint32_t i = 1; i < count; i++)
            nuc_annotate_input(a, node, inputs[i], activation);
        nuc_annotate_output(a, node, activation);
    }
}
