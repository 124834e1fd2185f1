/*
 * The patterns of the NeutronQuantizer: one row an operator says which arguments and outputs are quantized, and how.
 * Source: ExecuTorch backends/nxp/quantizer/{neutron_quantizer,patterns}.py.
 */
#include <math.h>
#include <string.h>

#include "compiler/quantize/annotation.h"

/* ---- specs ---- */

enum spec {
    SPEC_NONE,
    SPEC_ACTIVATION,
    SPEC_WEIGHT,             /* of a fully connected layer */
    SPEC_WEIGHT_PER_CHANNEL, /* of a convolution: output channels along axis 0 */
    SPEC_BIAS,
    SPEC_BIAS_PER_CHANNEL,
    SPEC_PROBABILITY, /* values in [0, 1): scale 1/256 */
    SPEC_COUNT
};

#define FLOAT32_EPS 0x1p-23f /* what torchao's observers take when no eps is given */

/* Bias specs get their places in derive(). */
static const struct nuc_qspec specs[SPEC_COUNT] = {
    [SPEC_ACTIVATION] = {.kind = NUC_QSPEC_OBSERVED,
                         .observer = NUC_OBSERVER_HISTOGRAM,
                         .dtype = NUC_I8,
                         .quant_min = -128,
                         .quant_max = 127,
                         .scheme = NUC_PER_TENSOR_AFFINE,
                         .ch_axis = -1,
                         .eps = 0x1p-12f},
    [SPEC_WEIGHT] = {.kind = NUC_QSPEC_OBSERVED,
                     .observer = NUC_OBSERVER_MIN_MAX,
                     .dtype = NUC_I8,
                     .quant_min = -127,
                     .quant_max = 127,
                     .scheme = NUC_PER_TENSOR_SYMMETRIC,
                     .ch_axis = -1,
                     .eps = FLOAT32_EPS},
    [SPEC_WEIGHT_PER_CHANNEL] = {.kind = NUC_QSPEC_OBSERVED,
                                 .observer = NUC_OBSERVER_PER_CHANNEL_MIN_MAX,
                                 .dtype = NUC_I8,
                                 .quant_min = -127,
                                 .quant_max = 127,
                                 .scheme = NUC_PER_CHANNEL_SYMMETRIC,
                                 .ch_axis = 0,
                                 .eps = FLOAT32_EPS},
    [SPEC_BIAS] = {.kind = NUC_QSPEC_DERIVED,
                   .observer = NUC_OBSERVER_DERIVED,
                   .dtype = NUC_I32,
                   .quant_min = INT32_MIN,
                   .quant_max = INT32_MAX,
                   .scheme = NUC_PER_TENSOR_AFFINE,
                   .ch_axis = -1},
    [SPEC_BIAS_PER_CHANNEL] = {.kind = NUC_QSPEC_DERIVED,
                               .observer = NUC_OBSERVER_DERIVED,
                               .dtype = NUC_I32,
                               .quant_min = -INT32_MAX,
                               .quant_max = INT32_MAX,
                               .scheme = NUC_PER_CHANNEL_SYMMETRIC,
                               .ch_axis = 0},
    [SPEC_PROBABILITY] = {.kind = NUC_QSPEC_FIXED,
                          .observer = NUC_OBSERVER_FIXED,
                          .dtype = NUC_I8,
                          .quant_min = -128,
                          .quant_max = 127,
                          .scheme = NUC_PER_TENSOR_AFFINE,
                          .ch_axis = -1,
                          .scale = 1.0f / 256,
                          .zero_point = -128},
};

/* ---- patterns ---- */

enum form {
    FORM_NONE,
    FORM_OWN,     /* specs of the row */
    FORM_SHARED,  /* one tensor argument; the output shares its producer's parameters: none without those */
    FORM_BOUNDED, /* clamps: OWN when the bounds are those of a ReLU the NPU has, otherwise SHARED */
};

/* How an operator joins with the compute operator before it: no quantization in between. */
enum joins {
    JOINS_NEVER,
    JOINS_ALWAYS,
    JOINS_BOUNDS, /* only as ReLU or ReLU6, bounds written out */
};

#define MAX_ANCHORS 3
#define ANY_RANK NUC_MAX_RANK

struct pattern {
    enum form form;
    struct {
        enum spec spec; /* SPEC_NONE ends the list */
        uint32_t arg;
    } anchors[MAX_ANCHORS]; /* a bias, derived from the first two, is third */
    enum spec output;
    uint8_t joint_rank; /* outputs up to this rank are quantized together with the activation that follows; 0: none */
    enum joins joins;
    bool extension; /* the reference leaves the operator in float */
};

#define ACTIVATION_IN .anchors = {{SPEC_ACTIVATION, 0}}, .output = SPEC_ACTIVATION
#define SHARED_IN .form = FORM_SHARED, .anchors = {{SPEC_ACTIVATION, 0}}

static const struct pattern patterns[NUC_OP_COUNT] = {
    [NUC_OP_CONV2D] = {.form = FORM_OWN,
                       .anchors = {{SPEC_ACTIVATION, 0}, {SPEC_WEIGHT_PER_CHANNEL, 1}, {SPEC_BIAS_PER_CHANNEL, 2}},
                       .output = SPEC_ACTIVATION,
                       .joint_rank = ANY_RANK},
    [NUC_OP_LINEAR] = {.form = FORM_OWN,
                       .anchors = {{SPEC_ACTIVATION, 0}, {SPEC_WEIGHT, 1}, {SPEC_BIAS, 2}},
                       .output = SPEC_ACTIVATION,
                       .joint_rank = 2},
    [NUC_OP_ADDMM] = {.form = FORM_OWN,
                      .anchors = {{SPEC_ACTIVATION, 1}, {SPEC_WEIGHT, 2}, {SPEC_BIAS, 0}},
                      .output = SPEC_ACTIVATION,
                      .joint_rank = ANY_RANK},
    [NUC_OP_ADD] = {.form = FORM_OWN,
                    .anchors = {{SPEC_ACTIVATION, 0}, {SPEC_ACTIVATION, 1}},
                    .output = SPEC_ACTIVATION},
    [NUC_OP_RELU] = {.form = FORM_OWN, ACTIVATION_IN, .joins = JOINS_ALWAYS},
    [NUC_OP_RELU_] = {.form = FORM_OWN, ACTIVATION_IN, .joins = JOINS_ALWAYS},
    [NUC_OP_RELU6] = {.form = FORM_OWN, ACTIVATION_IN, .joins = JOINS_ALWAYS, .extension = true},
    [NUC_OP_HARDTANH] = {.form = FORM_BOUNDED, ACTIVATION_IN, .joins = JOINS_BOUNDS},
    [NUC_OP_HARDTANH_] = {.form = FORM_BOUNDED, ACTIVATION_IN, .joins = JOINS_BOUNDS},
    [NUC_OP_SOFTMAX] = {.form = FORM_OWN, .anchors = {{SPEC_ACTIVATION, 0}}, .output = SPEC_PROBABILITY},
    [NUC_OP_MAX_POOL2D] = {SHARED_IN},
    [NUC_OP_AVG_POOL2D] = {SHARED_IN},
    [NUC_OP_ADAPTIVE_AVG_POOL2D] = {SHARED_IN},
    [NUC_OP_MEAN_DIM] = {SHARED_IN},
    [NUC_OP_PAD] = {SHARED_IN},
    [NUC_OP_VIEW] = {SHARED_IN},
    [NUC_OP_RESHAPE] = {SHARED_IN},
    [NUC_OP_FLATTEN] = {SHARED_IN},
    [NUC_OP_DROPOUT] = {SHARED_IN},
};

bool nuc_quantize_has_op(enum nuc_op op)
{
    return patterns[op].form != FORM_NONE;
}

/* ---- conditions ---- */

/* Positions of min_val and max_val of hardtanh. */
#define BOUND_MIN 1
#define BOUND_MAX 2

static double bound(const struct nuc_node *node, uint32_t arg)
{
    const struct nuc_arg *a = &node->args[arg];

    if (a->kind == NUC_ARG_INT)
        return (double)a->u.i;
    return a->kind == NUC_ARG_FLOAT ? a->u.f : (double)NAN;
}

/* The bounds of the NPU's ReLU variants; infinity is no bound. */
static bool has_relu_bounds(const struct nuc_node *node)
{
    static const double variants[][2] = {{-1, 1}, {0, 1}, {0, 6}, {0, (double)INFINITY}};
    double min = bound(node, BOUND_MIN), max = bound(node, BOUND_MAX);

    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (min == variants[i][0] && max == variants[i][1])
            return true;
    }
    return false;
}

static bool joins_compute(const struct nuc_node *node)
{
    double max;

    switch (patterns[node->op].joins) {
    case JOINS_ALWAYS:
        return true;
    case JOINS_BOUNDS:
        max = bound(node, BOUND_MAX);
        return bound(node, BOUND_MIN) == 0 && (max == 6 || max == (double)INFINITY);
    case JOINS_NEVER:
    default:
        return false;
    }
}

/* ---- annotating ---- */

struct annotator {
    struct nuc_graph *g;
    struct nuc_annotation **by_id;

    /* reference_compat only: lists of the nodes not annotated yet, an operator each, in graph order. */
    bool reference_compat;
    bool applied[NUC_OP_COUNT]; /* the pattern's only run over the graph is done */
    struct nuc_node *waiting[NUC_OP_COUNT];
    struct nuc_node **next_waiting; /* by node id */
};

static bool is_float(const struct nuc_node *node)
{
    return !node->is_tuple && node->n_vals == 1 && node->vals[0].dtype == NUC_F32;
}

static struct nuc_annotation *make_annotation(struct annotator *a, const struct nuc_node *node)
{
    struct nuc_annotation **slot = &a->by_id[node->id];

    if (*slot == NULL)
        *slot = nuc_alloc(a->g->cx, sizeof **slot);
    return *slot;
}

/* An argument that occurs twice keeps its place and takes the later spec. */
static void add_input(struct annotator *a, struct nuc_node *node, struct nuc_node *arg, const struct nuc_qspec *spec)
{
    struct nuc_annotation *at = make_annotation(a, node);
    uint32_t i = 0;

    if (!is_float(arg))
        return;
    while (i < at->n_inputs && at->inputs[i].arg != arg)
        i++;
    if (i == at->n_inputs) {
        at->inputs = nuc_grow(a->g->cx, at->inputs, &at->inputs_capacity, i + 1, sizeof *at->inputs);
        at->n_inputs++;
    }
    at->inputs[i] = (struct nuc_qinput){arg, *spec};
}

static void set_output(struct annotator *a, struct nuc_node *node, const struct nuc_qspec *spec)
{
    if (is_float(node))
        make_annotation(a, node)->output = *spec;
}

static struct nuc_node *anchor_arg(const struct nuc_node *node, const struct pattern *p, uint32_t i)
{
    return p->anchors[i].spec != SPEC_NONE ? nuc_arg_node(node, p->anchors[i].arg) : NULL;
}

static void annotate_anchors(struct annotator *a, struct nuc_node *node, const struct pattern *p)
{
    for (uint32_t i = 0; i < MAX_ANCHORS; i++) {
        struct nuc_node *arg = anchor_arg(node, p, i);
        if (arg == NULL)
            continue;
        struct nuc_qspec spec = specs[p->anchors[i].spec];
        if (spec.kind == NUC_QSPEC_DERIVED) {
            spec.from[0] = (struct nuc_place){anchor_arg(node, p, 0), node};
            spec.from[1] = (struct nuc_place){anchor_arg(node, p, 1), node};
        }
        add_input(a, node, arg, &spec);
    }
}

/*
 * The output takes the parameters of its producer, if that has any. So does the input, except that the
 * reference reads it as an activation: behind fixed parameters it quantizes a second time.
 */
static void annotate_shared(struct annotator *a, struct nuc_node *node, struct nuc_node *input)
{
    const struct nuc_annotation *producer = a->by_id[input->id];
    struct nuc_qspec shared = {.kind = NUC_QSPEC_SHARED, .from = {{input, NULL}}};

    if (producer == NULL || producer->output.kind == NUC_QSPEC_NONE)
        return;
    set_output(a, node, &shared);
    add_input(a, node, input, a->reference_compat ? &specs[SPEC_ACTIVATION] : &shared);
}

/* The activation that is quantized together with `node`, or NULL. */
static struct nuc_node *joint_activation(const struct annotator *a, const struct nuc_node *node,
                                         const struct pattern *p)
{
    if (node->n_users != 1 || node->n_vals != 1 || node->vals[0].rank > p->joint_rank || p->joint_rank == 0)
        return NULL;
    struct nuc_node *user = node->users[0];
    if (!joins_compute(user) || (patterns[user->op].extension && a->reference_compat))
        return NULL;
    return user;
}

static bool takes_own(const struct nuc_node *node, const struct pattern *p)
{
    return p->form == FORM_OWN || (p->form == FORM_BOUNDED && has_relu_bounds(node));
}

/* Annotates one node by its own specs or its producer's, unless it is annotated already or cannot be. */
static void annotate_alone(struct annotator *a, struct nuc_node *node)
{
    const struct pattern *p = &patterns[node->op];
    struct nuc_node *input = nuc_arg_node(node, p->anchors[0].arg);

    if (a->by_id[node->id] != NULL || input == NULL || !is_float(node) || !is_float(input))
        return;
    if (!takes_own(node, p)) {
        annotate_shared(a, node, input);
        return;
    }
    set_output(a, node, &specs[p->output]);
    annotate_anchors(a, node, p);
}

/*
 * Annotates `node`; in reference_compat all waiting nodes of its operator, as the reference runs a pattern over the
 * whole graph. The difference shows where a node depends on its producer's annotation and the pattern runs only once.
 */
static void annotate_like(struct annotator *a, struct nuc_node *node,
                          void (*annotate)(struct annotator *, struct nuc_node *))
{
    struct nuc_node **link = &a->waiting[node->op];

    if (!a->reference_compat) {
        annotate(a, node);
        return;
    }
    while (*link != NULL) {
        struct nuc_node *n = *link;
        annotate(a, n);
        if (a->by_id[n->id] != NULL)
            *link = a->next_waiting[n->id];
        else
            link = &a->next_waiting[n->id];
    }
}

static void annotate_node(struct annotator *a, struct nuc_node *node)
{
    struct nuc_node *activation = joint_activation(a, node, &patterns[node->op]);

    if (a->by_id[node->id] != NULL)
        return;
    if (activation != NULL)
        annotate_like(a, activation, annotate_alone);
    annotate_alone(a, node);
    if (activation == NULL || a->by_id[activation->id] == NULL || a->by_id[node->id] == NULL)
        return;
    a->by_id[activation->id]->n_inputs = 0;
    a->by_id[node->id]->output.kind = NUC_QSPEC_NONE;
}

static void list_waiting(struct annotator *a)
{
    a->next_waiting = nuc_alloc_array(a->g->cx, a->g->next_id, sizeof *a->next_waiting);
    for (struct nuc_node *n = a->g->last; n != NULL; n = n->prev) {
        a->next_waiting[n->id] = a->waiting[n->op];
        a->waiting[n->op] = n;
    }
}

static void annotate_inputs(struct annotator *a)
{
    for (struct nuc_node *n = a->g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (n->input_kind == NUC_USER_INPUT && n->n_users > 0)
            set_output(a, n, &specs[SPEC_ACTIVATION]);
    }
}

struct nuc_annotation **nuc_annotate(struct nuc_graph *g, bool reference_compat)
{
    struct annotator a = {.g = g, .reference_compat = reference_compat};

    a.by_id = nuc_alloc_array(g->cx, g->next_id, sizeof *a.by_id);
    if (reference_compat)
        list_waiting(&a);
    annotate_inputs(&a);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const struct pattern *p = &patterns[n->op];
        if (p->form == FORM_NONE || (reference_compat && (p->extension || a.applied[n->op])))
            continue;
        annotate_like(&a, n, annotate_node);
        a.applied[n->op] = p->form != FORM_SHARED;
    }
    return a.by_id;
}

bool nuc_is_annotated(const struct nuc_annotation *a)
{
    return a != NULL && (a->n_inputs > 0 || a->output.kind != NUC_QSPEC_NONE);
}
