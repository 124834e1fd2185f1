/* Which values are observed and which share an observer, in the mode of the reference and in the default one. */
#include "unit/quantize_graphs.h"

#include "ir/quant.h"

#define VECTORS(shape) "%x = input : float32[" shape "]; %y = input : float32[" shape "]\n"

struct pattern {
    const char *graph;
    /* Node, kind of observer, and the first observation of the same one. NULL: not looked at. */
    const char *by_default, *as_reference;
};

static const struct pattern patterns[] = {
    /* Integers pass as they are. */
    {"%x = input : int64[4]; %c = aten.clone.default(%x)", "", ""},
    /* The reference cuts factors off at -0.5 and 0.5; x itself, which others may read, keeps its range. */
    {VECTORS("4") "%m = aten.mul.Tensor(%x, %y)", "x Histogram 0, y Histogram 1, m Histogram 2",
     "x Histogram 0, x FixedQParams 1, y Histogram 2, y FixedQParams 3, m Histogram 4"},
    /* What goes into a sigmoid has a range of its own, in place or not; in the reference it gets the sigmoid's. */
    {CONV "%s = aten.sigmoid.default(%c)", "w PerChannelMinMax 0, x Histogram 1, c Histogram 2, s FixedQParams 3",
     "w PerChannelMinMax 0, x Histogram 1, s FixedQParams 2"},
    {CONV "%s = aten.sigmoid_.default(%c)", "w PerChannelMinMax 0, x Histogram 1, c Histogram 2, s FixedQParams 3",
     "w PerChannelMinMax 0, x Histogram 1, c Histogram 2"},
    {CONV "%s = aten.tanh_.default(%c)", NULL, "w PerChannelMinMax 0, x Histogram 1, s FixedQParams 2"},
    /* abs and exp may have ranges of their own; the reference gives them their input's. */
    {"%x = input : float32[4]; %a = aten.abs.default(%x); %e = aten.exp.default(%a)",
     "x Histogram 0, a Histogram 1, e Histogram 2", "x Histogram 0, a Histogram 0, e Histogram 0"},
    /*
     * relu -> view -> maximum, with another maximum in front: the reference runs the pattern once, at the first
     * maximum, when the view has no parameters yet to share, and leaves the second in float.
     */
    {VECTORS("4") "%m = aten.maximum.default(%x, %y); %r = aten.relu.default(%m); %v = aten.view.default(%r, [4])\n"
                  "%n = aten.maximum.default(%v, %v)",
     "x Histogram 0, y Histogram 0, m Histogram 0, r Histogram 3, v Histogram 3, n Histogram 3",
     "x Histogram 0, y Histogram 0, m Histogram 0, r Histogram 3, v Histogram 3"},
    /* A sigmoid's fixed parameters are not for its neighbour: [0, 1) would cut x off. */
    {"%x = input : float32[1, 4]; %s = aten.sigmoid.default(%x); %c = aten.cat.default([%s, %x])",
     "x Histogram 0, s FixedQParams 1, s Histogram 0, c Histogram 0",
     "x Histogram 0, x FixedQParams 1, s FixedQParams 1, c FixedQParams 1"},
/* conv -> relu twice into one concatenation: both ReLU and the result are one group in either mode. */
#define CLUSTER "v PerChannelMinMax 0, w PerChannelMinMax 1, x Histogram 2, r Histogram 3, s Histogram 3, t Histogram 3"
    {"%v = parameter : float32[2, 2, 1, 1] values(1, -0.5, 0.25, 2)\n"
     "%w = parameter : float32[2, 2, 1, 1] values(3, -0.5, 0.25, 2); %x = input : float32[1, 2, 4, 4]\n"
     "%c = aten.conv2d.default(%x, %v); %r = aten.relu.default(%c)\n"
     "%d = aten.conv2d.default(%x, %w); %s = aten.relu_.default(%d); %t = aten.cat.default([%r, %s])",
     CLUSTER, CLUSTER},
    /* Logarithms of what a number is added to, p log p and sums of normalized products stay in float. */
    {"%e = constant : float32[] values(0.001); %x = input : float32[2, 4]; %p = aten.softmax.int(%x, 1)\n"
     "%a = aten.add.Tensor(%p, %e); %l = aten.log.default(%a)",
     "", NULL},
    {"%x = input : float32[2, 4]; %p = aten.softmax.int(%x, 1); %l = aten.log_softmax.int(%x, 1)\n"
     "%m = aten.mul.Tensor(%l, %p); %s = aten.sum.dim_IntList(%m, [1])",
     "", NULL},
    {"%x = input : float32[2, 4]; %y = input : float32[2, 4]; %a = aten.rms_norm.default(%x, [4])\n"
     "%b = aten.rms_norm.default(%y, [4]); %m = aten.mul.Tensor(%a, %b); %s = aten.sum.dim_IntList(%m, [1])",
     "", NULL},
    /* So does a square under the root of a sum, which is a norm; its argument does not, nor does another's square. */
    {"%x = input : float32[2, 4]; %n = aten.neg.default(%x); %m = aten.mul.Tensor(%n, %n)\n"
     "%s = aten.sum.dim_IntList(%m, [1]); %r = aten.sqrt.default(%s)",
     "x Histogram 0, n Histogram 1", NULL},
    {"%x = input : float32[2, 4]; %n = aten.neg.default(%x); %m = aten.mul.Tensor(%n, %n)\n"
     "%s = aten.sum.dim_IntList(%m, [1])",
     "x Histogram 0, n Histogram 1, m Histogram 2, s Histogram 2", NULL},
    /* Another value's probability is quantized as any. */
    {"%x = input : float32[2, 4]; %y = input : float32[2, 4]; %p = aten.softmax.int(%x, 1)\n"
     "%l = aten.log_softmax.int(%y, 1); %m = aten.mul.Tensor(%l, %p)",
     "x Histogram 0, p FixedQParams 1, p Histogram 2, l Histogram 3, m Histogram 4", NULL},
    /* Weights that choose values leave their parameters as they are; a mean has a range of its own. */
    {"%w = parameter : float32[2, 2, 1, 1] values(0, 1, 0, 1); %z = parameter : float32[2] values(0, 0)\n"
     "%x = input : float32[1, 2, 4, 4]; %c = aten.conv2d.default(%x, %w, %z)",
     "w PerChannelMinMax 0, z Derived 1, x Histogram 2, c Histogram 2",
     "w PerChannelMinMax 0, z Derived 1, x Histogram 2, c Histogram 3"},
    {"%w = parameter : float32[1, 2, 1, 1] values(0.5, 0.5); %x = input : float32[1, 2, 4, 4]\n"
     "%c = aten.conv2d.default(%x, %w)",
     "w PerChannelMinMax 0, x Histogram 1, c Histogram 2", "w PerChannelMinMax 0, x Histogram 1, c Histogram 2"},
    /* Nothing around it is quantized: the reference observes each tensor, which no target operator can concatenate. */
    {"%x = input : float32[1, 4]; %a = aten.gelu.default(%x); %b = aten.gelu.default(%x)\n"
     "%c = aten.cat.default([%a, %b])",
     "a Histogram 0, b Histogram 0, c Histogram 0", "x Histogram 0, a Histogram 1, b Histogram 2, c Histogram 3"},
    /* Operands of a batched product are symmetric: what produces them as an activation is quantized a second time. */
    {VECTORS("2, 4, 4") "%b = aten.bmm.default(%x, %y)", NULL,
     "x Histogram 0, x MinMax 1, y Histogram 2, y MinMax 3, b Histogram 4"},
    /* A second reader needs the convolution's own value: both are quantized. */
    {CONV_WITH_BIAS "%r = aten.relu.default(%c); %a = aten.add.Tensor(%c, %r)", NULL,
     "w PerChannelMinMax 0, b Derived 1, x Histogram 2, c Histogram 3, r Histogram 4, a Histogram 5"},
/* Fully connected: one scale for the weight, a bias per tensor; joined with an activation up to rank 2 only. */
#define LINEAR_RELU(shape)                                                                                             \
    "%w = parameter : float32[2, 4] values(1, 2, 3, 4, -4, -3, -2, -1); %x = input : float32[" shape "]\n"             \
    "%l = aten.linear.default(%x, %w); %r = aten.relu_.default(%l)"
    {LINEAR_RELU("2, 4"), NULL, "w MinMax 0, x Histogram 1, r Histogram 2"},
    {LINEAR_RELU("2, 1, 4"), NULL, "w MinMax 0, x Histogram 1, l Histogram 2, r Histogram 3"},
    /*
     * Operators that move values only: one observer sees all tensors. Softmax has fixed parameters of its own; the
     * reference quantizes what follows once more.
     */
    {"%x = input : float32[1, 2, 4, 4]; %d = aten.dropout.default(%x, 0.5, false)\n"
     "%f = aten.flatten.using_ints(%d); %s = aten.softmax.int(%f, 0); %e = aten.dropout.default(%s, 0.5, false)",
     "x Histogram 0, d Histogram 0, f Histogram 0, s FixedQParams 3, e FixedQParams 3",
     "x Histogram 0, d Histogram 0, f Histogram 0, s FixedQParams 3, s Histogram 4, e FixedQParams 3"},
    /* The reference runs the pattern of hardtanh once, before the relu in front of the second one is annotated. */
    {"%x = input : float32[4, 2]; %h = aten.hardtanh.default(%x, -2.0, 3.0); %r = aten.relu.default(%h)\n"
     "%i = aten.hardtanh.default(%r, -2.0, 3.0)",
     "x Histogram 0, h Histogram 0, r Histogram 2, i Histogram 2", "x Histogram 0, h Histogram 0, r Histogram 2"},
/* A clamp with the bounds of a ReLU has parameters of its own, others those of their producer. */
#define CLAMPED(bounds) "%x = input : float32[4, 2]; %h = aten.hardtanh.default(%x, " bounds ")"
    {CLAMPED("0.0, 6.0"), NULL, "x Histogram 0, h Histogram 1"},
    {CLAMPED("-1.0, 1.0"), NULL, "x Histogram 0, h Histogram 1"},
    {CLAMPED("0.0, 1.0"), NULL, "x Histogram 0, h Histogram 1"},
    {CLAMPED("0.0, inf"), NULL, "x Histogram 0, h Histogram 1"},
    {CLAMPED("0.0, 2.0"), NULL, "x Histogram 0, h Histogram 0"},
    {CLAMPED("-6.0, 6.0"), NULL, "x Histogram 0, h Histogram 0"},
};

static const char *observations(struct nuc_context *cx, struct nuc_calibration *c)
{
    struct nuc_text text;

    nuc_text_init(&text, cx);
    for (size_t i = 0; i < nuc_quantize_n_observations(c); i++) {
        struct nuc_observation o;
        nuc_quantize_observation(c, i, &o);
        const char *kind = nuc_observer_kind_name(o.kind), *end = strstr(kind, "Observer");
        assert_non_null(end);
        nuc_text_addf(&text, "%s%s %.*s %zu", i == 0 ? "" : ", ", o.node->name, (int)(end - kind), kind, o.shared_with);
    }
    return nuc_text_string(&text);
}

static void check_pattern(struct nuc_context *cx, void *arg)
{
    const struct pattern *p = arg;
    const char *expected[2] = {p->by_default, p->as_reference};

    for (int compat = 0; compat < 2; compat++) {
        struct nuc_calibration *c = calibrate(cx, p->graph, compat != 0);
        if (expected[compat] != NULL)
            assert_string_equal(observations(cx, c), expected[compat]);
        nuc_graph_verify(nuc_quantize_convert(c), "quantized");
    }
}

/* ---- what the target decides ---- */

struct target_case {
    struct nuc_quantize_options options;
    const char *graph, *observations;
};

#define POOL(size)                                                                                                     \
    "%x = input : float32[1, 2, 4, 4]; %a = aten.neg.default(%x)\n"                                                    \
    "%p = aten.adaptive_avg_pool2d.default(%a, [" size ", " size "])"
#define LAYER                                                                                                          \
    "%w = parameter : float32[2, 16] values(1, 2, -1); %b = parameter : float32[2] values(1, 2)\n"                     \
    "%x = input : float32[2, 16]; %l = aten.linear.default(%x, %w, %b)"
#define POOLED_APART "x Histogram 0, a Histogram 1, p Histogram 2"
#define POOLED "x Histogram 0, a Histogram 1, p Histogram 1"

static const struct target_case target_cases[] = {
    /* The kernel of a CPU that sums gives the average of a channel a range of its own; others have none. */
    {{.observer = NUC_OBSERVE_HISTOGRAM, .threads = 1, .side = NUC_SIDE_CPU}, POOL("1"), POOLED_APART},
    {{.observer = NUC_OBSERVE_HISTOGRAM, .threads = 1, .side = NUC_SIDE_CPU}, POOL("2"), POOLED},
    {{.observer = NUC_OBSERVE_HISTOGRAM, .threads = 1, .side = NUC_SIDE_CPU, .executorch_ops_only = true},
     POOL("1"),
     POOLED},
    {{.observer = NUC_OBSERVE_HISTOGRAM, .threads = 1, .one_scale = true}, POOL("1"), POOLED},
    /* A layer for the NPU has a scale for each output, up to the inputs of a convolution. */
    {{.observer = NUC_OBSERVE_HISTOGRAM, .threads = 1, .one_scale = true, .max_matrix_inputs = 16},
     LAYER,
     "w PerChannelMinMax 0, b Derived 1, x Histogram 2, l Histogram 3"},
    {{.observer = NUC_OBSERVE_HISTOGRAM, .threads = 1, .one_scale = true, .max_matrix_inputs = 15},
     LAYER,
     "w MinMax 0, b Derived 1, x Histogram 2, l Histogram 3"},
    {{.observer = NUC_OBSERVE_HISTOGRAM, .threads = 1, .side = NUC_SIDE_CPU, .max_matrix_inputs = 16},
     LAYER,
     "w MinMax 0, b Derived 1, x Histogram 2, l Histogram 3"},
};

static void check_target(struct nuc_context *cx, void *arg)
{
    const struct target_case *t = arg;
    struct nuc_calibration *c = nuc_quantize_prepare(parse_quantized(cx, t->graph), &t->options);

    nuc_quantize_sample(c, (const void *const[]){ramp});
    assert_string_equal(observations(cx, c), t->observations);
    nuc_graph_verify(nuc_quantize_convert(c), "quantized");
}

/* ---- one scale of a value ---- */

static struct nuc_calibration *calibrate_once(struct nuc_context *cx, const char *graph)
{
    struct nuc_quantize_options options = {.observer = NUC_OBSERVE_HISTOGRAM, .threads = 1, .one_scale = true};
    struct nuc_calibration *c = nuc_quantize_prepare(parse_quantized(cx, graph), &options);

    nuc_quantize_sample(c, (const void *const[]){ramp, ramp, ramp});
    return c;
}

struct once {
    const char *graph, *observations;
};

#define ONE_VECTOR "%x = input : float32[1, 32]\n"
#define TWO_VECTORS "%x = input : float32[1, 32]; %y = input : float32[1, 32]\n"

/* In none is a value quantized twice. */
static const struct once once[] = {
    /* What is fixed is read as it is, behind moves as well. */
    {TWO_VECTORS "%s = aten.sigmoid.default(%x); %m = aten.mul.Tensor(%y, %s)",
     "x Histogram 0, y Histogram 1, s FixedQParams 2, m Histogram 3"},
    {ONE_VECTOR "%t = aten.sigmoid.default(%x); %v = aten.view.default(%t, [32]); %e = aten.exp.default(%v)",
     "x Histogram 0, t FixedQParams 1, v FixedQParams 1, e Histogram 3"},
    {"%w = parameter : float32[2, 32] values(1, 2, -1); %x = input : float32[1, 32]\n"
     "%s = aten.softmax.int(%x, 1); %l = aten.linear.default(%s, %w)",
     "w MinMax 0, x Histogram 1, s FixedQParams 2, l Histogram 3"},
    /* A copy keeps the parameters, where the reference leaves it in float. */
    {ONE_VECTOR "%n = aten.neg.default(%x); %c = aten.contiguous.default(%n); %e = aten.exp.default(%c)",
     "x Histogram 0, n Histogram 1, c Histogram 1, e Histogram 3"},
    /* Moves of what is computed in float are of int8 where all that reads them takes it, */
    {ONE_VECTOR "%g = aten.gelu.default(%x); %v = aten.view.default(%g, [8, 4]); "
                "%t = aten.permute.default(%v, [1, 0]); %e = aten.exp.default(%t)",
     "g Histogram 0, v Histogram 0, t Histogram 0, e Histogram 3"},
    /* not where a reader does not, where its scale would be too coarse, or where a part of the value is read. */
    {ONE_VECTOR "%g = aten.gelu.default(%x); %v = aten.view.default(%g, [8, 4]); "
                "%e = aten.exp.default(%v); %h = aten.gelu.default(%v)",
     "v Histogram 0, e Histogram 1"},
    {ONE_VECTOR "%g = aten.gelu.default(%x); %v = aten.view.default(%g, [8, 4]); "
                "%m = aten.mean.dim(%v, [1]); %e = aten.exp.default(%m)",
     "m Histogram 0, e Histogram 1"},
    {ONE_VECTOR "%g = aten.gelu.default(%x); %p = aten.slice.Tensor(%g, 1, 0, 8); %e = aten.exp.default(%p)",
     "p Histogram 0, e Histogram 1"},
    /* A clamp of what nothing else reads; behind a move; of what is not quantized otherwise. */
    {TWO_VECTORS "%a = aten.add.Tensor(%x, %y); %r = aten.relu.default(%a)",
     "x Histogram 0, y Histogram 1, a Histogram 2, r Histogram 2"},
    {TWO_VECTORS "%a = aten.add.Tensor(%x, %y); %v = aten.view.default(%a, [32]); %r = aten.relu6.default(%v)",
     "x Histogram 0, y Histogram 1, a Histogram 2, v Histogram 2, r Histogram 2"},
    {ONE_VECTOR "%g = aten.gelu.default(%x); %h = aten.hardtanh.default(%g)", "g Histogram 0, h Histogram 0"},
    /* Others read what the clamp reads, or have a say in its parameters. */
    {TWO_VECTORS "%a = aten.add.Tensor(%x, %y); %r = aten.relu.default(%a); %e = aten.exp.default(%a)",
     "x Histogram 0, y Histogram 1, a Histogram 2, r Histogram 3, e Histogram 4"},
    {TWO_VECTORS "%a = aten.maximum.default(%x, %y); %r = aten.relu.default(%a)",
     "x Histogram 0, y Histogram 0, a Histogram 0, r Histogram 3"},
    /* Only read with zero point 0, behind moves as well. */
    {"%x = input : float32[2, 4, 4]; %n = aten.neg.default(%x); %p = aten.permute.default(%n, [0, 2, 1])\n"
     "%b = aten.bmm.default(%n, %p)",
     "x Histogram 0, n MinMax 1, p MinMax 1, b Histogram 3"},
    /* An input that is read in float alone stays in float, moves of it, too. */
    {ONE_VECTOR "%v = aten.view.default(%x, [8, 4]); %g = aten.gelu.default(%v); %e = aten.exp.default(%g)",
     "g Histogram 0, e Histogram 1"},
    {ONE_VECTOR "%v = aten.view.default(%x, [8, 4]); %g = aten.gelu.default(%v); %e = aten.exp.default(%v)",
     "x Histogram 0, v Histogram 0, e Histogram 2"},
    /* An input of the model is not the clamp's alone. */
    {ONE_VECTOR "%r = aten.relu.default(%x)", "x Histogram 0, r Histogram 1"},
};

static void check_once(struct nuc_context *cx, void *arg)
{
    const struct once *row = arg;
    struct nuc_calibration *c = calibrate_once(cx, row->graph);

    assert_string_equal(observations(cx, c), row->observations);
    nuc_graph_verify(nuc_quantize_convert(c), "quantized");
}

struct adoption {
    const char *graph;
    unsigned requantizations;
};

#define CUBE "%x = input : float32[2, 4, 4]; %n = aten.neg.default(%x)\n"

static const struct adoption adoptions[] = {
    /* A range as wide on both sides: zero point 0 costs the other reader nothing. */
    {CUBE "%e = aten.exp.default(%n); %b = aten.bmm.default(%n, %n)", 0},
    {CUBE "%e = aten.exp.default(%n); %p = aten.permute.default(%n, [0, 2, 1]); %b = aten.bmm.default(%n, %p)", 0},
    /* Of one sign: quantized again, every other value would be rounded the same way. */
    {CUBE "%r = aten.relu.default(%n); %e = aten.neg.default(%r); %b = aten.bmm.default(%r, %r)", 0},
    /* The product reads small ones only, which have finer steps as they are. */
    {CUBE "%r = aten.relu.default(%n); %e = aten.neg.default(%r); %s = aten.slice.Tensor(%r, 1, 1, 3)\n"
          "%m = aten.abs.default(%x); %b = aten.bmm.default(%s, %m)",
     1},
    {CUBE "%s = aten.softmax.int(%n, 2); %b = aten.bmm.default(%s, %n)", 1},
    /* All of the group lies within [0, 1), or some is outside of it, or it has finer steps. */
    {CUBE "%s = aten.sigmoid.default(%n); %h = aten.hardtanh.default(%x, 0.0, 1.0); %c = aten.cat.default([%h, %s])",
     0},
    {CUBE "%s = aten.sigmoid.default(%n); %h = aten.hardtanh.default(%n, 0.0, 3.0); %c = aten.cat.default([%h, %s])",
     1},
    {CUBE "%s = aten.softmax.int(%n, 0); %m = aten.minimum.default(%s, %x); %c = aten.maximum.default(%s, %m)", 1},
};

static void check_adoption(struct nuc_context *cx, void *arg)
{
    const struct adoption *row = arg;
    const struct nuc_graph *g = nuc_quantize_convert(calibrate_once(cx, row->graph));
    unsigned found = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const struct nuc_node *from = nuc_is_quantize(n) ? nuc_arg_node(n, NUC_SELF) : NULL;
        struct nuc_quant a, b;
        found += nuc_dequantize_quant(from, &a) && nuc_quantize_quant(n, &b) && !nuc_same_quant(&a, &b);
    }
    if (found != row->requantizations)
        fail_msg("%s: %u values are quantized again", row->graph, found);
}

struct reach {
    const char *graph; /* of which the second observation is looked at */
    float min, max;
};

/* The ramp goes from -8 to 8, and from 8 to -8. */
#define RAMP ONE_VECTOR "%n = aten.neg.default(%x); "
static const struct reach reaches[] = {
    {RAMP "%s = aten.sigmoid.default(%n)", -6.26f, 5.16f},
    {RAMP "%v = aten.view.default(%n, [32]); %s = aten.sigmoid.default(%v)", -6.26f, 5.16f},
    {RAMP "%h = aten.hardswish.default(%n)", -3, 8},
    {RAMP "%r = aten.clamp.default(%n, -2.0, 5.0)", -2, 5},
    {RAMP "%r = aten.relu6.default(%n); %s = aten.sigmoid.default(%n)", -6.26f, 6},
    /* Of other readers nothing is known. */
    {RAMP "%r = aten.relu.default(%n); %e = aten.exp.default(%n)", -8, 8},
    {RAMP "%s = aten.log_softmax.int(%n, 1)", -8, 8},
    {RAMP "%m = aten.mean.dim(%n, [1]); %r = aten.relu.default(%m)", -8, 8},
};

static void check_reach(struct nuc_context *cx, void *arg)
{
    const struct reach *row = arg;
    struct nuc_observation o;

    nuc_quantize_observation(calibrate_once(cx, row->graph), 1, &o);
    float min = o.scale[0] * (float)(-128 - o.zero_point[0]), max = o.scale[0] * (float)(127 - o.zero_point[0]);
    if (fabsf(min - row->min) > o.scale[0] || fabsf(max - row->max) > o.scale[0])
        fail_msg("%s: %g to %g, expected %g to %g", row->graph, (double)min, (double)max, (double)row->min,
                 (double)row->max);
}

/* ---- parameters ---- */

/* Softmax: 1 / 256 and -128, whatever was seen. A padding of 20 is seen by the observer of the input, too. */
static void check_fixed_and_shared(struct nuc_context *cx, void *arg)
{
    struct nuc_observation o;

    (void)arg;
    for (int compat = 0; compat < 2; compat++) {
        nuc_quantize_observation(
            calibrate(
                cx, "%x = input : float32[32]; %d = aten.dropout.default(%x, 0.5, false); %s = aten.softmax.int(%d, 0)",
                compat != 0),
            2, &o);
        assert_true(o.scale[0] == 1.0f / 256);
        assert_int_equal(o.zero_point[0], -128);
        assert_null(o.min);
    }
    struct nuc_calibration *c =
        calibrate(cx, "%x = input : float32[1, 2, 4, 4]; %p = aten.pad.default(%x, [1, 1], value=20.0)", true);
    for (size_t i = 0; i < 2; i++) {
        nuc_quantize_observation(c, i, &o);
        assert_int_equal(o.shared_with, 0);
        assert_true(o.min[0] == -8 && o.max[0] == 20);
    }
}

/* Two groups share the scales of axis 1: the bias goes through them twice. */
static void check_grouped_transposed(struct nuc_context *cx, void *arg)
{
    struct nuc_calibration *c = calibrate(cx,
                                          "%w = parameter : float32[2, 2, 2, 1] values(1, 2, 3, 4, 5, 6, 7, 8)\n"
                                          "%b = parameter : float32[4] values(1); %x = input : float32[1, 2, 4, 4]\n"
                                          "%c = aten.conv_transpose2d.input(%x, %w, %b, groups=2)",
                                          true);
    struct nuc_observation ow, ob, ox;

    (void)arg;
    nuc_quantize_observation(c, 0, &ow);
    nuc_quantize_observation(c, 1, &ob);
    nuc_quantize_observation(c, 2, &ox);
    assert_int_equal(ow.ch_axis, 1);
    assert_int_equal(ow.n, 2);
    assert_true(ow.scale[0] == 6.0f / 127 && ow.scale[1] == 8.0f / 127);
    assert_int_equal(ob.n, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(ob.scale[i] == ox.scale[0] * ow.scale[i % 2]);
    nuc_graph_verify(nuc_quantize_convert(c), "quantized");
}

/* One scale for a convolution's weight, so one for its bias. */
static void check_weights_per_tensor(struct nuc_context *cx, void *arg)
{
    struct nuc_quantize_options options = {
        .observer = NUC_OBSERVE_HISTOGRAM, .threads = 1, .weights = NUC_WEIGHTS_PER_TENSOR};
    struct nuc_calibration *c = nuc_quantize_prepare(parse_quantized(cx, CONV), &options);
    struct nuc_observation o;

    (void)arg;
    nuc_quantize_sample(c, (const void *const[]){ramp});
    nuc_quantize_observation(c, 0, &o);
    assert_string_equal(o.node->name, "w");
    assert_int_equal(o.n, 1);
    assert_true(o.scale[0] == 2.0f / 127);
}

static void parameters(void **state)
{
    (void)state;
    run_in_context(check_fixed_and_shared, NULL);
    run_in_context(check_grouped_transposed, NULL);
    run_in_context(check_weights_per_tensor, NULL);
}

/* ---- observers ---- */

static void range_of(struct nuc_context *cx, enum nuc_observe observer, const float *const *samples, size_t count,
                     float *min, float *max)
{
    struct nuc_graph *g = parse_quantized(cx, "%x = input : float32[32]; %r = aten.relu.default(%x)");
    struct nuc_quantize_options options = {.threads = 1, .observer = observer};
    struct nuc_observation o;

    struct nuc_calibration *c = nuc_quantize_prepare(g, &options);
    for (size_t i = 0; i < count; i++)
        nuc_quantize_sample(c, (const void *const[]){samples[i]});
    nuc_quantize_observation(c, 0, &o);
    *min = o.scale[0] * (float)(-128 - o.zero_point[0]);
    *max = o.scale[0] * (float)(127 - o.zero_point[0]);
}

/* One sample of a second one far wider: everything, or a hundredth of the step towards it. */
static void observers_differ_on_an_outlier(void **state)
{
    struct nuc_context *cx = *state;
    float wide[32], min, max;
    const float *const samples[] = {ramp, wide};

    memcpy(wide, ramp, sizeof wide);
    wide[5] = 108;
    range_of(cx, NUC_OBSERVE_MIN_MAX, samples, 2, &min, &max);
    assert_true(fabsf(min + 8) < 0.5f && fabsf(max - 108) < 0.5f);
    range_of(cx, NUC_OBSERVE_MOVING_AVERAGE, samples, 2, &min, &max);
    assert_true(fabsf(min + 8) < 0.05f && fabsf(max - 9) < 0.05f);
}

/* 1 of 40,000 values is less than a percentile on one side. */
static void percentile_cuts_rare_values(void **state)
{
    struct nuc_context *cx = *state;
    const float *samples[1250];
    float wide[32], min, max;

    memcpy(wide, ramp, sizeof wide);
    wide[5] = 200;
    for (size_t i = 0; i < COUNT(samples); i++)
        samples[i] = i == 600 ? wide : ramp;
    range_of(cx, NUC_OBSERVE_PERCENTILE, samples, COUNT(samples), &min, &max);
    assert_true(fabsf(min + 8) < 0.5f && fabsf(max - 8) < 1);
}

/* Squared error of quantizing the samples to 256 steps of [min, max]. */
static double squared_error(const float *x, size_t count, double min, double max)
{
    double s = (max - min) / 255, error = 0;

    for (size_t i = 0; i < count; i++) {
        double steps = rint(((double)x[i] - min) / s);
        steps = steps < 0 ? 0 : steps > 255 ? 255 : steps;
        double difference = min + steps * s - (double)x[i];
        error += difference * difference;
    }
    return error;
}

/* Values of a steep distribution: no range between zero and what was seen is much better. */
static void mse_finds_the_least_error(void **state)
{
    enum { SAMPLES = 400, COUNT_ALL = SAMPLES * 32 };
    struct nuc_context *cx = *state;
    const float *samples[SAMPLES];
    float *x = nuc_alloc_array(cx, COUNT_ALL, sizeof *x), min, max;
    double least = HUGE_VAL, low = 0, high = 0;
    uint32_t seed = 1;

    for (size_t i = 0; i < COUNT_ALL; i++) {
        seed = seed * 1664525u + 1013904223u;
        double u = (double)(seed >> 8) * 0x1p-23 - 1;
        x[i] = (float)(u * u * u * u * u * u * u * u * (u < 0 ? -3 : 1));
        low = fmin(low, (double)x[i]);
        high = fmax(high, (double)x[i]);
    }
    for (size_t i = 0; i < SAMPLES; i++)
        samples[i] = x + 32 * i;
    range_of(cx, NUC_OBSERVE_MSE, samples, SAMPLES, &min, &max);
    for (int a = 1; a <= 50; a++) {
        for (int b = 1; b <= 50; b++)
            least = fmin(least, squared_error(x, COUNT_ALL, low * a / 50, high * b / 50));
    }
    assert_true(squared_error(x, COUNT_ALL, (double)min, (double)max) < 1.1 * least);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW_TEST(check_pattern, patterns),
        ROW_TEST(check_target, target_cases),
        ROW_TEST(check_once, once),
        ROW_TEST(check_adoption, adoptions),
        ROW_TEST(check_reach, reaches),
        cmocka_unit_test(parameters),
        STATE_TEST(observers_differ_on_an_outlier),
        STATE_TEST(percentile_cuts_rare_values),
        STATE_TEST(mse_finds_the_least_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
