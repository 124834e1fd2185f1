/* Networks over a window of time against what --stream makes of them, hop by hop, byte by byte. */
#include "quantized_text.h"
#include "random.h"
#include "text_cases.h"

#include <math.h>

#include "eval/sequence.h"
#include "ir/args.h"
#include "rewrite/rewrite.h"
#include "rewrite/stream/stream.h"

#define NO_AXIS UINT32_MAX

/* Values of both signs, the smaller the more of them there are in a row. */
static void *random_values(struct nuc_context *cx, const struct nuc_meta *m, uint32_t seed)
{
    size_t count = (size_t)nuc_elements(m);
    float *values = nuc_alloc_array(cx, count + 1, sizeof *values);
    int8_t *bytes = nuc_alloc(cx, count + 1);
    float width = m->rank > 1 ? 3.0f / sqrtf((float)nuc_elements_between(m, 1, m->rank)) : 0.5f;

    for (size_t i = 0; i < count; i++) {
        float unit = noise(&seed);
        values[i] = unit * width;
        bytes[i] = (int8_t)(unit * 127.0f);
    }
    return m->dtype == NUC_F32 ? (void *)values : (void *)bytes;
}

static void fill_constants(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_is_static(n) && n->data == NULL)
            n->data = nuc_dense_data(g->cx, &n->vals[0], random_values(g->cx, &n->vals[0], n->id));
    }
}

/* ---- a run of the whole, and one of all hops ---- */

static float *run_whole(struct nuc_graph *g, const float *input)
{
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    float *result = nuc_alloc(g->cx, nuc_bytes(&nuc_eval_output(e, 0)->vals[0]));

    nuc_eval_run(e, (const void *const[]){input}, (void *const[]){result});
    return result;
}

/* Index `at` of dimension `axis`, `count` of them, between dense arrays of different length there. */
static void copy_frames(float *to, const struct nuc_meta *m, uint32_t axis, int64_t at, const float *from,
                        const struct nuc_meta *of, int64_t from_at, int64_t count)
{
    int64_t inner = nuc_elements_between(m, axis + 1, m->rank), outer = nuc_elements_between(m, 0, axis);

    for (int64_t i = 0; i < outer; i++)
        memcpy(to + (i * m->sizes[axis] + at) * inner, from + (i * of->sizes[axis] + from_at) * inner,
               (size_t)(count * inner) * sizeof *to);
}

/* The results of the hops one after the other along their axis, or the last one where they have none. */
static float *run_hops(struct nuc_graph *g, const struct nuc_meta *whole, uint32_t in_axis, const float *input,
                       uint32_t axis, struct nuc_meta *all)
{
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    struct nuc_sequence *s = nuc_sequence_new(g);
    const struct nuc_meta in = nuc_eval_input(e, 0)->vals[0], out = nuc_eval_output(e, 0)->vals[0];
    const int64_t hops = whole->sizes[in_axis] / in.sizes[in_axis];
    float *x = nuc_alloc(g->cx, nuc_bytes(&in)), *y = nuc_alloc(g->cx, nuc_bytes(&out)), *results;

    *all = out;
    if (axis != NO_AXIS)
        all->sizes[axis] *= hops;
    results = nuc_alloc(g->cx, nuc_bytes(all));
    void **outputs = nuc_alloc_array(g->cx, nuc_eval_n_outputs(e), sizeof *outputs);
    for (size_t i = 1; i < nuc_eval_n_outputs(e); i++)
        outputs[i] = NULL;
    outputs[0] = y;
    for (int64_t k = 0; k < hops; k++) {
        copy_frames(x, &in, in_axis, 0, input, whole, k * in.sizes[in_axis], in.sizes[in_axis]);
        nuc_eval_run(e, nuc_sequence_inputs(s, (const void *const[]){x}), outputs);
        nuc_sequence_advance(s, e);
        if (axis == NO_AXIS)
            memcpy(results, y, nuc_bytes(&out));
        else
            copy_frames(results, all, axis, k * out.sizes[axis], y, &out, 0, out.sizes[axis]);
    }
    return results;
}

static uint32_t axis_that_differs(const struct nuc_meta *a, const struct nuc_meta *b)
{
    assert_int_equal(a->rank, b->rank);
    for (uint32_t d = 0; d < a->rank; d++) {
        if (a->sizes[d] != b->sizes[d])
            return d;
    }
    return NO_AXIS;
}

/*
 * Frame i of the whole network is frame i + late of the stream. Frames near the end see the padding there, and a stream
 * sees none. Returns how many were compared.
 */
static int64_t compare(const char *name, struct nuc_graph *before, struct nuc_graph *after,
                       const struct nuc_stream_report *r, uint32_t in_axis)
{
    const struct nuc_node *input = before->first;
    while (!nuc_is_user_input(input))
        input = input->next;
    const struct nuc_meta in = input->vals[0], out = nuc_output_node(before)->args[0].u.nodes[0]->vals[0],
                          hop = nuc_output_node(after)->args[0].u.nodes[0]->vals[0];
    const float *x = random_values(before->cx, &in, 7), *whole = run_whole(before, x);
    uint32_t axis = axis_that_differs(&out, &hop);
    struct nuc_meta all;

    const float *streamed = run_hops(after, &in, in_axis, x, axis, &all);
    if (axis == NO_AXIS) {
        if (memcmp(whole, streamed, nuc_bytes(&out)) != 0)
            fail_msg("%s: the last window is another one", name);
        return 1;
    }
    int64_t late = r->latency * hop.sizes[axis] / r->hop,
            frames = out.sizes[axis] < all.sizes[axis] ? out.sizes[axis] : all.sizes[axis];
    struct nuc_meta part = out;
    part.sizes[axis] = frames - 2 * late;
    if (part.sizes[axis] <= 0)
        return 0;
    float *a = nuc_alloc(before->cx, nuc_bytes(&part)), *b = nuc_alloc(before->cx, nuc_bytes(&part));
    copy_frames(a, &part, axis, 0, whole, &out, 0, part.sizes[axis]);
    /* The latency is told in whole frames of the input, so that frames of a lower rate come a little earlier. */
    for (int64_t early = 0; early <= hop.sizes[axis] && early <= late; early++) {
        copy_frames(b, &part, axis, 0, streamed, &all, late - early, part.sizes[axis]);
        if (memcmp(a, b, nuc_bytes(&part)) == 0)
            return part.sizes[axis];
    }
    fail_msg("%s: a hop of %d, %d late: the stream differs from the whole in\n%s", name, (int)r->hop, (int)late,
             nuc_graph_print(before, false));
    return 0;
}

/* ---- cases from a file ---- */

static void check_case(struct nuc_context *cx, void *arg)
{
    struct text_case *c = arg;
    char *option = split_at(c->name, ": "), *after = split_at(c->lines, "=>");
    long axis = 0, hop = 0;
    struct nuc_stream_report r;

    assert_non_null(option);
    assert_true(sscanf(option, "%ld:%ld", &axis, &hop) >= 1);
    struct nuc_graph *g = parse_quantized(cx, c->lines), *before;
    fill_constants(g);
    before = nuc_graph_copy(g);
    nuc_stream_graph(g, axis, hop, &r);
    nuc_graph_verify(g, c->name);
    if (after != NULL) {
        take_line(&after);
        assert_graph(g, after);
    }
    compare(c->name, before, g, &r, (uint32_t)axis);
}

/* The case ends in "!> TEXT", of what the message says. */
static void fail_case(struct nuc_context *cx, void *arg)
{
    struct text_case *c = arg;
    char *option = split_at(c->name, ": ");
    long axis = 0, hop = 0;
    struct nuc_stream_report r;

    assert_true(option != NULL && sscanf(option, "%ld:%ld", &axis, &hop) >= 1);
    nuc_stream_graph(parse_quantized(cx, c->lines), axis, hop, &r);
}

static void check_error(struct nuc_context *cx, void *arg)
{
    struct text_case *c = arg;
    char *text = split_at(c->lines, "!> "), *status = split_at(c->name, ", ");

    (void)cx;
    assert_true(text != NULL && status != NULL);
    text[strcspn(text, "\n")] = '\0';
    expect_failure(fail_case, c, strcmp(status, "usage") == 0 ? NUC_BAD_USAGE : NUC_UNSUPPORTED, text);
}

/* ---- random networks ---- */

struct net {
    struct nuc_graph *g;
    struct nuc_node *output;
    uint32_t seed;
    bool quantized;
    int64_t rate; /* of strides, so that hops stay short */
};

static struct nuc_node *quantized(struct net *n, struct nuc_node *value)
{
    const int64_t zero_point = (int64_t)random_below(&n->seed, 40) - 20;

    for (int i = 0; i < 2 && n->quantized; i++)
        value = nuc_emit(n->g, n->output, i == 0 ? NUC_OP_QUANTIZE_PER_TENSOR : NUC_OP_DEQUANTIZE_PER_TENSOR, value,
                         NUC_ARGS(value, 1.0 / 24, zero_point, INT8_MIN, INT8_MAX,
                                  ((struct nuc_arg){.kind = NUC_ARG_DTYPE, .u.dtype = NUC_I8})));
    return value;
}

static struct nuc_node *constant(struct net *n, const int64_t *sizes, uint32_t rank)
{
    const struct nuc_meta m = nuc_meta_make(NUC_F32, sizes, rank);

    return nuc_add_constant(n->g, "c", &m, random_values(n->g->cx, &m, next_random(&n->seed)));
}

#define EMIT(n, op, value, ...) quantized(n, nuc_emit((n)->g, (n)->output, op, value, NUC_ARGS(__VA_ARGS__)))

static int64_t channels(const struct nuc_node *x)
{
    return x->vals[0].sizes[1];
}

static struct nuc_arg one(int64_t *number)
{
    return nuc_ints_arg(number, 1);
}

/* A convolution of any stride, dilation and padding, causal, in the middle or with none; or a transposed one. */
static struct nuc_node *add_conv(struct net *n, struct nuc_node *x, int64_t out, bool keeps)
{
    int64_t groups = random_below(&n->seed, 3) == 0 && out % 2 == 0 && channels(x) % 2 == 0 ? 2 : 1;
    int64_t taps = 1 + random_below(&n->seed, 4), dilation = 1 + random_below(&n->seed, 3), stride = 1, reach,
            padding = 0;

    if (keeps)
        taps |= 1;
    else if (n->rate < 4 && random_below(&n->seed, 3) == 0)
        stride = 2;
    n->rate *= stride;
    reach = (taps - 1) * dilation;
    const int64_t sizes[3] = {out, channels(x) / groups, taps}, outs = out;
    if (random_below(&n->seed, 2) == 0)
        x = EMIT(n, NUC_OP_PAD, x, nuc_node_arg(x), nuc_ints_arg((const int64_t[]){reach, 0}, 2));
    else if (keeps || random_below(&n->seed, 3) > 0)
        padding = reach / 2;
    struct nuc_node *w = constant(n, sizes, 3), *b = constant(n, &outs, 1);
    return EMIT(n, NUC_OP_CONV1D, x, nuc_node_arg(x), nuc_node_arg(w), nuc_node_arg(b), one(&stride), one(&padding),
                one(&dilation), nuc_int_arg(groups));
}

static struct nuc_node *add_transposed(struct net *n, struct nuc_node *x)
{
    int64_t stride = 1 + random_below(&n->seed, 2), padding = random_below(&n->seed, 3),
            more = stride > 1 ? random_below(&n->seed, 2) : 0;
    const int64_t sizes[3] = {channels(x), 4, 2 + (int64_t)random_below(&n->seed, 4)};
    struct nuc_node *w = constant(n, sizes, 3);

    padding = padding < sizes[2] ? padding : 0;
    return EMIT(n, NUC_OP_CONV_TRANSPOSE1D, x, nuc_node_arg(x), nuc_node_arg(w), nuc_node_arg(NULL), one(&stride),
                one(&padding), one(&more));
}

static struct nuc_node *add_pool(struct net *n, struct nuc_node *x)
{
    int64_t kernel = 3, stride = 1, padding = 1;

    if (n->rate < 4 && random_below(&n->seed, 2) == 0) {
        kernel = stride = 2;
        padding = 0;
        n->rate *= 2;
    }
    return EMIT(n, random_below(&n->seed, 2) == 0 ? NUC_OP_MAX_POOL1D : NUC_OP_AVG_POOL1D, x, nuc_node_arg(x),
                one(&kernel), one(&stride), one(&padding));
}

/* Contiguous: sums go in the order of memory, of which a single frame has no other than that. */
static struct nuc_node *swap(struct net *n, struct nuc_node *x)
{
    x = EMIT(n, NUC_OP_PERMUTE, x, nuc_node_arg(x), nuc_ints_arg((const int64_t[]){0, 2, 1}, 3));
    return EMIT(n, NUC_OP_CONTIGUOUS, x, nuc_node_arg(x));
}

/* Steps over the frames, or a norm or a product of each frame. */
static struct nuc_node *add_per_frame(struct net *n, struct nuc_node *x)
{
    const int64_t in = channels(x), hidden = 3;
    uint32_t kind = random_below(&n->seed, 3);

    x = swap(n, x);
    if (kind == 0) {
        struct nuc_node *w = constant(n, (const int64_t[]){4, in}, 2);
        x = EMIT(n, NUC_OP_LINEAR, x, nuc_node_arg(x), nuc_node_arg(w));
    } else if (kind == 1) {
        x = EMIT(n, NUC_OP_LAYER_NORM, x, nuc_node_arg(x), nuc_ints_arg(&in, 1));
    } else {
        struct nuc_node *params[2] = {constant(n, (const int64_t[]){3 * hidden, in}, 2),
                                      constant(n, (const int64_t[]){3 * hidden, hidden}, 2)};
        struct nuc_node *h = constant(n, (const int64_t[]){1, 1, hidden}, 3);
        struct nuc_node *gru =
            nuc_emit(n->g, n->output, NUC_OP_GRU, x,
                     NUC_ARGS(x, h, nuc_nodes_arg(params, 2), nuc_bool_arg(false), 1, nuc_float_arg(0),
                              nuc_bool_arg(false), nuc_bool_arg(false), nuc_bool_arg(true)));
        x = quantized(n, nuc_insert_getitem(n->g, n->output, gru, 0));
    }
    return swap(n, x);
}

static struct nuc_node *add_joined(struct net *n, struct nuc_node *x)
{
    struct nuc_node *y = add_conv(n, x, channels(x), true), *z = x;

    if (y->vals[0].sizes[2] != x->vals[0].sizes[2])
        return y;
    if (random_below(&n->seed, 2) == 0)
        z = EMIT(n, NUC_OP_TANH, x, nuc_node_arg(x));
    switch (random_below(&n->seed, 3)) {
    case 0:
        return EMIT(n, NUC_OP_ADD, x, nuc_node_arg(y), nuc_node_arg(z));
    case 1:
        return EMIT(n, NUC_OP_MUL, x, nuc_node_arg(z), nuc_node_arg(y));
    default:
        return EMIT(n, NUC_OP_CAT, x, nuc_nodes_arg((struct nuc_node *[]){y, z}, 2), nuc_int_arg(1));
    }
}

/* What is cropped at both ends goes with a convolution that has no padding. */
static struct nuc_node *add_cropped(struct net *n, struct nuc_node *x)
{
    struct nuc_node *w = constant(n, (const int64_t[]){channels(x), channels(x), 3}, 3);
    struct nuc_node *y = EMIT(n, NUC_OP_CONV1D, x, nuc_node_arg(x), nuc_node_arg(w));
    int64_t end = x->vals[0].sizes[2] - 1;

    x = EMIT(n, NUC_OP_SLICE, x, nuc_node_arg(x), nuc_int_arg(2), nuc_int_arg(1), nuc_int_arg(end));
    return EMIT(n, NUC_OP_ADD, x, nuc_node_arg(x), nuc_node_arg(y));
}

/* Through another shape and back. */
static struct nuc_node *add_views(struct net *n, struct nuc_node *x)
{
    const int64_t frames = x->vals[0].sizes[2], in = channels(x);

    x = EMIT(n, NUC_OP_UNSQUEEZE, x, nuc_node_arg(x), nuc_int_arg(2));
    x = EMIT(n, NUC_OP_RELU, x, nuc_node_arg(x));
    return EMIT(n, NUC_OP_VIEW, x, nuc_node_arg(x), nuc_ints_arg((const int64_t[]){1, in, frames}, 3));
}

static struct nuc_node *add_layer(struct net *n, struct nuc_node *x)
{
    switch (random_below(&n->seed, 7)) {
    case 0:
        return add_conv(n, x, 2 + random_below(&n->seed, 4), false);
    case 1:
        return n->rate > 1 ? add_transposed(n, x) : add_joined(n, x);
    case 2:
        return add_pool(n, x);
    case 3:
        return add_per_frame(n, x);
    case 4:
        return add_cropped(n, x);
    case 5:
        return add_views(n, x);
    default:
        return add_joined(n, x);
    }
}

#define N_NETS 1000

static void stream_random(struct nuc_context *cx, bool is_quantized)
{
    int64_t compared = 0, n_late = 0;

    for (uint32_t i = 0; i < N_NETS; i++) {
        struct nuc_arena *outer = nuc_push_arena(cx);
        struct nuc_graph *g = parse_graph(cx, "%x = input : float32[1, 4, 96]\n%output = output([%x])\n");
        struct net n = {.g = g, .output = nuc_output_node(g), .seed = i + 1, .quantized = is_quantized, .rate = 1};
        struct nuc_node *x = quantized(&n, node_of(g, "x"));
        uint32_t layers = 2 + random_below(&n.seed, 5);
        struct nuc_stream_report r;
        for (uint32_t k = 0; k < layers; k++)
            x = add_layer(&n, x);
        nuc_set_arg_nodes(n.output, g, 0, &x, 1);
        nuc_graph_verify(g, "random");
        struct nuc_graph *after = nuc_graph_copy(g);
        const int64_t least = nuc_stream_graph(nuc_graph_copy(g), -1, 0, &r);
        nuc_stream_graph(after, 2, least * (1 + random_below(&n.seed, 4)), &r);
        nuc_graph_verify(after, "stream");
        assert_null(r.window_from);
        compared += compare(nuc_format(cx, "network %u", i), g, after, &r, 2);
        n_late += r.latency > 0;
        nuc_pop_arena(cx, outer);
    }
    assert_true(compared > N_NETS * 20 && n_late > N_NETS / 4 && n_late < N_NETS);
}

static void random_floats(struct nuc_context *cx, void *arg)
{
    (void)arg;
    stream_random(cx, false);
}

static void random_int8(struct nuc_context *cx, void *arg)
{
    (void)arg;
    stream_random(cx, true);
}

RUN_TESTS(TEXT_TEST("rewrites/stream.txt", check_case, NULL),
          TEXT_TEST("rewrites/stream_errors.txt", check_error, NULL), CONTEXT_TEST(random_floats),
          CONTEXT_TEST(random_int8))
