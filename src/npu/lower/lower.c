#include "npu/lower/lower.h"

#include <string.h>

#include "npu/arrange/arrange.h"
#include "npu/arrange/tidy.h"
#include "npu/lower/lowering.h"
#include "npu/support/support.h"
#include "npu/target/target.h"

struct lowering {
    nuc_lower_fn *append;
    int32_t code; /* of LiteRT, where one operator becomes one other; else 0 */
};

static const struct lowering lowerings[NUC_OP_COUNT] = {
#define LT_FUNCTION(name, number, type, rule, function, graph) [NUC_OP_##graph] = {nuc_lower_unary, number},
#define LT_BINARY(name, number, type, fields, rule, kernel, graph) [NUC_OP_##graph] = {nuc_lower_binary, number},
#define LT_REDUCE(name, number, graph) [NUC_OP_##graph] = {nuc_lower_reduction, number},
#include "litert/lt_ops.def"
#define LITERT(op, lowering, code) [NUC_OP_##op] = {nuc_lower_##lowering, code},
#include "ir/ops.def"
};

bool nuc_can_lower(enum nuc_op op)
{
    return op < NUC_OP_COUNT && lowerings[op].append != NULL;
}

/* ---- the partition ---- */

/* Parameters first: they give the tensors their quantization. Parts of tuples have those of the whole. */
enum phase { PARAMETERS, PARTS, OPERATORS };

static enum phase phase_of(const struct nuc_node *node)
{
    if (node->op == NUC_OP_GETITEM)
        return PARTS;
    return nuc_is_quantization(node) ? PARAMETERS : OPERATORS;
}

static void append(struct nuc_lowering *l, const struct nuc_node *node)
{
    l->code = lowerings[node->op].code;
    lowerings[node->op].append(l, node, nuc_lower_input(l, node, NUC_SELF), nuc_lower_output(l, node));
}

/* Runs the lowerings of one phase. */
static void lower_phase(struct nuc_lowering *l, enum phase phase)
{
    const struct nuc_partition *p = l->partition;

    for (uint32_t i = 0; i < p->n_nodes; i++) {
        const struct nuc_node *node = p->nodes[i];
        if (lowerings[node->op].append != NULL && phase_of(node) == phase)
            append(l, node);
    }
}

static void lower_nodes(struct nuc_lowering *l)
{
    const struct nuc_partition *p = l->partition;

    lower_phase(l, PARAMETERS);
    lower_phase(l, PARTS);
    /* Identities at boundaries were made before getitem nodes gave their tensors up for those of the operators. */
    struct nuc_lt_subgraph *model = nuc_ltb_graph(l->b);
    for (uint32_t i = 0; i < model->n_ops; i++)
        model->ops[i].inputs[0] = nuc_ltb_root(l->b, model->ops[i].inputs[0]);
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        const struct nuc_node *node = p->nodes[i];
        if (!nuc_can_lower(node->op))
            nuc_lower_refuse(l, node, "there is no lowering for this operator");
        if (phase_of(node) != OPERATORS)
            continue;
        /* The partitioner read the same rules: a refusal here means that the graph changed since. */
        const struct nuc_support s = {.g = l->g,
                                      .target = l->options.target,
                                      .flavor = l->options.flavor,
                                      .waived = NUC_WAIVE_ALL}; /* whatever the partitioner's options were */
        struct nuc_verdict v = nuc_check_support(&s, node);
        if (!v.ok)
            nuc_lower_refuse(
                l, node,
                nuc_format(l->cx, "%s (%s%s%s)", v.rule, v.actual, *v.limit == '\0' ? "" : ", limit ", v.limit));
        l->b->debug_handle = node->id + 1;
        append(l, node);
        l->b->debug_handle = 0;
    }
}

/* ---- boundaries ---- */

/* Between a channels-last tensor inside and one in the graph's order outside. */
struct crossing {
    int32_t outer_shape[NUC_MAX_RANK], to_first[NUC_MAX_RANK], to_last[NUC_MAX_RANK];
};

static struct crossing crossing_of(const struct nuc_lt_tensor *inner)
{
    struct crossing c;

    nuc_perm_to_first(c.to_first, inner->rank);
    nuc_perm_to_last(c.to_last, inner->rank);
    nuc_perm_apply(c.outer_shape, inner->shape, c.to_first, inner->rank);
    return c;
}

/*
 * A contiguous value whose tensor is channels-last, which the model transposes at its boundary if the NPU can; the
 * runtime does otherwise, on the CPU. It transposes the last three dimensions, as of an image: other ranks come out
 * wrong there, so only the reference leaves them to it.
 */
static bool needs_conversion(const struct nuc_lowering *l, const struct nuc_node *node, int32_t tensor, bool is_input)
{
    const struct nuc_lt_tensor *t = nuc_ltb_at(l->b, tensor);

    if (!nuc_ltb_is_last(l->b, tensor) || nuc_is_channels_last(&node->vals[0]))
        return false;
    if (node->vals[0].rank != 4 && !l->options.reference_compat)
        return true;
    struct crossing c = crossing_of(t);
    return l->options.use_neutron_for_format_conversion &&
           nuc_ltb_can_transpose(l->b, is_input ? c.outer_shape : t->shape, is_input ? c.to_last : c.to_first, t->rank);
}

/* The new tensor outside takes over the name of the old one: names of boundaries are names of nodes. */
static int32_t convert(struct nuc_ltb *b, int32_t inner, bool is_input)
{
    struct crossing c = crossing_of(nuc_ltb_at(b, inner));

    if (!is_input && b->notes[inner].channels_first >= 0)
        return b->notes[inner].channels_first;
    int32_t outer = nuc_ltb_duplicate(b, inner, "_channels_first", false);
    nuc_ltb_set_shape(b, outer, c.outer_shape, nuc_ltb_at(b, inner)->rank);
    b->notes[outer].format = NUC_LTB_CHANNELS_FIRST;
    if (is_input) {
        struct nuc_lt_subgraph *s = nuc_ltb_graph(b);
        uint32_t count = s->n_ops;
        nuc_ltb_transpose(b, outer, inner, c.to_last);
        /* What was appended moves to the front: a transpose of an input runs before everything. */
        for (s = nuc_ltb_graph(b), count = s->n_ops - count; count > 0; count--) {
            struct nuc_lt_op last = s->ops[s->n_ops - 1];
            memmove(s->ops + 1, s->ops, (s->n_ops - 1) * sizeof last);
            s->ops[0] = last;
        }
    } else {
        nuc_ltb_transpose(b, inner, outer, c.to_first);
        b->notes[inner].channels_first = outer;
    }
    nuc_ltb_swap_names(b, outer, inner);
    return outer;
}

/*
 * One side of the model. What the runtime hands over is settled here: a tensor that tidying puts at the boundary later
 * holds the same bytes, whatever its axes are called.
 */
static struct nuc_lower_boundary *convert_side(struct nuc_lowering *l, struct nuc_node *const *nodes, uint32_t count,
                                               bool is_input, int32_t *tensors)
{
    struct nuc_lower_boundary *boundaries = nuc_alloc_array(l->cx, count, sizeof *boundaries);

    for (uint32_t i = 0; i < count; i++) {
        tensors[i] = nuc_lower_output(l, nodes[i]);
        if (needs_conversion(l, nodes[i], tensors[i], is_input))
            tensors[i] = convert(l->b, tensors[i], is_input);
        boundaries[i] =
            (struct nuc_lower_boundary){.node = nodes[i], .channels_last = nuc_ltb_is_last(l->b, tensors[i])};
    }
    return boundaries;
}

static void convert_boundaries(struct nuc_lowering *l, struct nuc_lower_io *io)
{
    struct nuc_lt_subgraph *s = nuc_ltb_graph(l->b);
    const struct nuc_partition *p = l->partition;

    s->n_inputs = io->n_inputs = p->n_inputs;
    s->n_outputs = io->n_outputs = p->n_outputs;
    s->inputs = nuc_alloc_array(l->cx, p->n_inputs, sizeof *s->inputs);
    s->outputs = nuc_alloc_array(l->cx, p->n_outputs, sizeof *s->outputs);
    io->inputs = convert_side(l, p->inputs, p->n_inputs, true, s->inputs);
    io->outputs = convert_side(l, p->outputs, p->n_outputs, false, s->outputs);
}

static void finish_side(const struct nuc_lowering *l, struct nuc_lower_boundary *boundaries, uint32_t count,
                        const int32_t *tensors)
{
    for (uint32_t i = 0; i < count; i++) {
        boundaries[i].tensor = tensors[i];
        boundaries[i].name = nuc_ltb_at(l->b, tensors[i])->name;
    }
}

/*
 * Values become tensors first, so that every operator finds its operands and its result whatever the order; what is
 * quantized and dequantized stays one. Quantize and dequantize nodes then say its parameters; operators are appended in
 * the order of the graph, with the transposes that formats ask for. What is left after that is about the model as a
 * whole: its boundary, transposes that cancel, the order of axes, tensors that nothing names.
 */
struct nuc_lt_model *nuc_lower_partition(struct nuc_graph *g, const struct nuc_partition *p,
                                         const struct nuc_lower_options *options, struct nuc_lower_io *io)
{
    struct nuc_lowering l = {.cx = g->cx, .g = g, .partition = p};

    l.options = options != NULL ? *options : (struct nuc_lower_options){.use_neutron_for_format_conversion = true};
    if (l.options.target == NULL)
        l.options.target = nuc_target_find(g->cx, NULL);
    if (l.options.flavor == NULL)
        l.options.flavor = nuc_flavor_find(g->cx, NULL);
    l.b = nuc_ltb_new(g->cx, nuc_format(g->cx, "%s (partition '%s')", g->file, p->tag));
    l.b->model->description = "nucleon";
    l.b->target = l.options.target;
    l.b->flavor = l.options.flavor;
    l.b->names_last = l.options.labels != NULL || l.options.unnamed;
    const size_t n_values = (size_t)p->n_constants + p->n_inputs + p->n_nodes;
    size_t n_tensors = n_values; /* lists and transposes take the place of scales and zero points */
    for (uint32_t i = 0; i < p->n_nodes; i++)
        n_tensors -= nuc_is_quantization(p->nodes[i]);
    nuc_ltb_reserve(l.b, n_tensors);
    nuc_index_reserve(g->cx, &l.tensors, n_values);
    nuc_lower_add_values(&l, p->constants, p->n_constants);
    nuc_lower_add_values(&l, p->inputs, p->n_inputs);
    nuc_lower_add_values(&l, p->nodes, p->n_nodes);
    lower_nodes(&l);
    nuc_tidy_sort(l.b);
    convert_boundaries(&l, io);
    nuc_index_free(l.cx, &l.tensors);
    nuc_tidy(l.b);
    /* The limits of rule set sdk-3.1 are about the axes as the rules saw them. */
    if (l.options.arrange && l.options.flavor->rules != NUC_RULES_SDK_3_1) {
        nuc_arrange(l.b);
        nuc_products_to_convolutions(l.b);
    }
    nuc_tidy_separate_factors(l.b);
    /* Outputs nothing produces have no place in a model: an input passed through, a constant. */
    struct nuc_arena *outer = nuc_push_arena(l.cx);
    struct nuc_lt_subgraph *s = nuc_ltb_graph(l.b);
    const struct nuc_lt_uses uses = nuc_lt_uses(l.cx, s);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        if (uses.producer[s->outputs[i]] < 0)
            continue;
        s->outputs[kept] = s->outputs[i];
        io->outputs[kept++] = io->outputs[i];
    }
    s->n_outputs = io->n_outputs = kept;
    nuc_pop_arena(l.cx, outer);
    if (l.options.labels != NULL)
        nuc_ltb_name_by_labels(l.b);
    nuc_ltb_close(l.b);
    nuc_lt_remove_dead(l.b->model);
    finish_side(&l, io->inputs, io->n_inputs, nuc_ltb_graph(l.b)->inputs);
    finish_side(&l, io->outputs, io->n_outputs, nuc_ltb_graph(l.b)->outputs);
    nuc_lt_verify(l.b->model);
    return l.b->model;
}
