/* Which spec an argument and a result take, and adding it to the annotation of a node. */
#include <math.h>

#include "ir/args.h"
#include "ir/op_list.h"
#include "quantize/annotate_private.h"

const struct nuc_quant_pattern *nuc_pattern_for(const struct nuc_annotator *a, const struct nuc_node *node)
{
    static const struct nuc_quant_pattern none = {.form = NUC_FORM_NONE};
    bool sums =
        nuc_op_is_in(node->op, NUC_OPS(NUC_OP_MEAN_DIM, NUC_OP_SUM, NUC_OP_SUM_DIM, NUC_OP_ADAPTIVE_AVG_POOL2D));
    enum nuc_side side = a->no_kernels && sums ? NUC_SIDE_CPU : a->side[node->id];
    const struct nuc_quant_pattern *p = nuc_pattern_of(side, node->op);

    return p->asked && !a->npu_function[node->id] ? &none : p;
}

const struct nuc_qspec *nuc_spec_for(const struct nuc_annotator *a, const struct nuc_node *node, enum nuc_spec spec)
{
    return &a->specs[a->side[node->id]][spec];
}

bool nuc_is_wide(const struct nuc_annotator *a, const struct nuc_node *node)
{
    return a->side[node->id] == NUC_SIDE_WIDE;
}

bool nuc_is_quantizable(const struct nuc_node *node)
{
    return !node->is_tuple && node->n_vals == 1 && node->vals[0].dtype == NUC_F32;
}

static struct nuc_annotation *make_annotation(struct nuc_annotator *a, const struct nuc_node *node)
{
    struct nuc_annotation **slot = &a->by_id[node->id];

    if (*slot == NULL)
        *slot = nuc_alloc(a->g->cx, sizeof **slot);
    return *slot;
}

void nuc_annotate_input(struct nuc_annotator *a, struct nuc_node *node, struct nuc_node *arg,
                        const struct nuc_qspec *spec)
{
    struct nuc_annotation *at = make_annotation(a, node);
    uint32_t i = 0;

    if (!nuc_is_quantizable(arg))
        return;
    while (i < at->n_inputs && at->inputs[i].arg != arg)
        i++;
    if (i == at->n_inputs) {
        at->inputs = nuc_grow(a->g->cx, at->inputs, &at->inputs_capacity, i + 1, sizeof *at->inputs);
        at->n_inputs++;
    }
    at->inputs[i] = (struct nuc_qinput){.arg = arg, .spec = *spec};
}

void nuc_annotate_output(struct nuc_annotator *a, struct nuc_node *node, const struct nuc_qspec *spec)
{
    if (nuc_is_quantizable(node))
        make_annotation(a, node)->output = *spec;
}

struct nuc_node *nuc_anchor_arg(const struct nuc_quant_pattern *p, const struct nuc_node *node, uint32_t i)
{
    return p->anchors[i].spec != NUC_SPEC_NONE ? nuc_arg_node(node, p->anchors[i].arg) : NULL;
}

/*
 * Axis 1 of a transposed convolution's weight holds the output channels of one group: the bias, which has all, goes
 * through its scales once per group.
 */
static uint32_t weight_repeats(const struct nuc_node *node, const struct nuc_qspec *bias)
{
    if (node->op != NUC_OP_CONV_TRANSPOSE2D || bias->ch_axis < 0)
        return 1;
    return (uint32_t)nuc_integer(node, NUC_ARG(CONV_TRANSPOSE2D, groups), 1);
}

/*
 * Weights [O, I] whose rows are those of a convolution of one pixel, which has a scale for each output. With one scale
 * the CPU takes a quarter fewer instructions for one or two rows of input, for many half as many more.
 */
static bool has_scale_for_each_row(const struct nuc_annotator *a, enum nuc_side side, const struct nuc_node *node)
{
    const struct nuc_node *weight = node->op == NUC_OP_LINEAR ? nuc_arg_node(node, NUC_ARG(LINEAR, weight)) : NULL;

    if (a->reference_compat || weight == NULL || !nuc_is_static(weight) || weight->vals[0].rank != 2)
        return false;
    if (side == NUC_SIDE_NPU)
        return weight->vals[0].sizes[1] <= a->max_matrix_inputs;
    if (side == NUC_SIDE_WIDE) /* as many cycles either way */
        return true;
    if (nuc_elements(&node->vals[0]) > 2 * weight->vals[0].sizes[0])
        return true;
    /*
     * Whether a scale for each output takes a fifth of the power off the rounding of weights: steps of s give s^2 / 12.
     */
    const float *w = nuc_const_contiguous(a->g, weight);
    int64_t rows = weight->vals[0].sizes[0], row = weight->vals[0].sizes[1];
    double greatest = 0, sum = 0;
    for (int64_t r = 0; r < rows; r++) {
        double most = 0;
        for (int64_t i = 0; i < row; i++)
            most = fmax(most, fabs((double)w[r * row + i]));
        sum += most * most;
        greatest = fmax(greatest, most);
    }
    return 5 * sum < 4 * (double)rows * greatest * greatest;
}

bool nuc_computes_weight(const struct nuc_node *node)
{
    const struct nuc_node *weight =
        nuc_op_family(node->op) == NUC_FAMILY_CONV ? nuc_arg_node(node, NUC_ARG(CONV2D, weight)) : NULL;

    return weight != NULL && !nuc_is_static(weight);
}

/* One scale for the whole weight, and so for the bias. */
static enum nuc_spec spec_of_computed(enum nuc_spec of_constant)
{
    switch ((int)of_constant) {
    case NUC_SPEC_WEIGHT_AXIS_0:
    case NUC_SPEC_WEIGHT_AXIS_1:
        return NUC_SPEC_WEIGHT;
    case NUC_SPEC_BIAS_CHANNELS:
        return NUC_SPEC_BIAS;
    default:
        return of_constant;
    }
}

static enum nuc_spec spec_of_row(enum nuc_spec of_matrix)
{
    switch ((int)of_matrix) {
    case NUC_SPEC_WEIGHT:
        return NUC_SPEC_WEIGHT_AXIS_0;
    case NUC_SPEC_BIAS:
        return NUC_SPEC_BIAS_CHANNELS;
    default:
        return of_matrix;
    }
}

struct nuc_qspec nuc_anchor_spec(const struct nuc_annotator *a, enum nuc_side side, struct nuc_node *node, uint32_t i)
{
    const struct nuc_quant_pattern *p = nuc_pattern_of(side, node->op);
    enum nuc_spec which = p->anchors[i].spec;

    if (has_scale_for_each_row(a, side, node))
        which = spec_of_row(which);
    else if (!a->reference_compat && nuc_computes_weight(node))
        which = spec_of_computed(which);
    struct nuc_qspec spec = a->specs[side][which];
    if (spec.kind == NUC_QSPEC_DERIVED) {
        spec.from[0] = (struct nuc_place){nuc_anchor_arg(p, node, 0), node};
        spec.from[1] = (struct nuc_place){nuc_anchor_arg(p, node, 1), node};
        spec.repeats = weight_repeats(node, &spec);
    }
    return spec;
}

enum nuc_dtype nuc_output_dtype(const struct nuc_annotator *a, const struct nuc_node *node)
{
    const struct nuc_qspec *spec = a->by_id[node->id] != NULL ? &a->by_id[node->id]->output : NULL;

    for (uint32_t left = a->g->n_nodes; spec != NULL && spec->kind == NUC_QSPEC_SHARED && left > 0; left--) {
        const struct nuc_place *from = &spec->from[0];
        const struct nuc_annotation *at = a->by_id[from->user != NULL ? from->user->id : from->node->id];
        spec = at != NULL && from->user == NULL ? &at->output : NULL;
        for (uint32_t i = 0; at != NULL && from->user != NULL && i < at->n_inputs; i++)
            spec = at->inputs[i].arg == from->node ? &at->inputs[i].spec : spec;
    }
    return spec == NULL || spec->kind == NUC_QSPEC_NONE ? NUC_F32 : spec->dtype;
}

const struct nuc_qspec *nuc_output_spec(const struct nuc_annotator *a, const struct nuc_node *node)
{
    for (uint32_t steps = 0; steps <= a->g->n_nodes; steps++) {
        const struct nuc_annotation *at = a->by_id[node->id];
        if (at == NULL || at->output.kind == NUC_QSPEC_NONE)
            return NULL;
        if (at->output.kind != NUC_QSPEC_SHARED || at->output.from[0].user != NULL)
            return &at->output;
        node = at->output.from[0].node;
    }
    return NULL;
}
