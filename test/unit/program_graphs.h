/* Small lowered graphs, and a program in memory to run what was written of them. */
#ifndef NUC_TEST_PROGRAM_GRAPHS_H
#define NUC_TEST_PROGRAM_GRAPHS_H

#include <string.h>

#include "compiler/graph/graph.h"
#include "compiler/partition/delegate.h"
#include "compiler/program/program.h"
#include "nucleon/runtime.h"

#define TEST_SCALE 0.5

static inline struct nuc_meta test_meta(enum nuc_dtype dtype, bool channels_last, uint32_t rank, const int64_t *sizes)
{
    struct nuc_meta m = nuc_meta_make(dtype, sizes, rank);

    if (channels_last)
        nuc_set_channels_last(&m);
    return m;
}

/* quantize or dequantize with scale 0.5, zero point 1; the result has the input's shape. */
static inline struct nuc_node *test_qdq(struct nuc_graph *g, struct nuc_node *in, bool quantize)
{
    struct nuc_node *n =
        nuc_add_node(g, NULL, quantize ? NUC_OP_QUANTIZE_PER_TENSOR : NUC_OP_DEQUANTIZE_PER_TENSOR, NULL);
    struct nuc_meta m = in->vals[0];

    m.dtype = quantize ? NUC_I8 : NUC_F32;
    nuc_set_arg_node(n, g, 0, in);
    nuc_set_arg_float(n, 1, TEST_SCALE);
    nuc_set_arg_int(n, 2, 1);
    nuc_set_arg_int(n, 3, -128);
    nuc_set_arg_int(n, 4, 127);
    nuc_set_arg_dtype(n, 5, NUC_I8);
    nuc_set_val(g, n, &m);
    return n;
}

static inline struct nuc_node *test_output(struct nuc_graph *g, struct nuc_node *value)
{
    struct nuc_node *n = nuc_add_node(g, NULL, NUC_OP_OUTPUT, "output");

    nuc_set_arg_nodes(n, g, 0, &value, 1);
    return n;
}

/* A 1x1 convolution from 2 to `out_channels` channels with weights 1, 2, 3, ... and no bias. */
static inline struct nuc_node *test_conv(struct nuc_graph *g, struct nuc_node *in, struct nuc_node *weight)
{
    static const int64_t one[2] = {1, 1};
    static const int64_t zero[2] = {0, 0};
    struct nuc_node *n = nuc_add_node(g, NULL, NUC_OP_CONVOLUTION, NULL);
    struct nuc_meta m = in->vals[0];

    m.sizes[1] = weight->vals[0].sizes[0];
    nuc_set_arg_node(n, g, 0, in);
    nuc_set_arg_node(n, g, 1, weight);
    nuc_set_arg_ints(n, g, 3, one, 2);
    nuc_set_arg_ints(n, g, 4, zero, 2);
    nuc_set_arg_ints(n, g, 5, one, 2);
    nuc_set_arg_bool(n, 6, false);
    nuc_set_arg_ints(n, g, 7, zero, 2);
    nuc_set_arg_int(n, 8, 1);
    nuc_set_val(g, n, &m);
    return n;
}

/* x [1, 2, 2, 2] -> quantize -> dequantize -> 1x1 convolution -> relu -> view [1, 4] twice -> add -> output. */
static inline struct nuc_graph *test_graph(struct nuc_context *cx, bool channels_last)
{
    static const int64_t image[4] = {1, 2, 2, 2};
    static const int64_t kernel[4] = {1, 2, 1, 1};
    static const int64_t flat[2] = {1, 4};
    static const float weights[2] = {1.0f, 10.0f};
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    g->dialect = NUC_EDGE;
    struct nuc_meta weight_meta = test_meta(NUC_F32, false, 4, kernel);
    struct nuc_meta image_meta = test_meta(NUC_F32, channels_last, 4, image);
    struct nuc_meta flat_meta = test_meta(NUC_F32, false, 2, flat);
    struct nuc_node *weight = nuc_add_constant(g, "weight", &weight_meta, weights);
    struct nuc_node *x = nuc_add_placeholder(g, "x", NUC_USER_INPUT, &image_meta);
    struct nuc_node *conv = test_conv(g, test_qdq(g, test_qdq(g, x, true), false), weight);
    struct nuc_node *relu = nuc_add_node(g, NULL, NUC_OP_RELU, NULL);
    struct nuc_node *view = nuc_add_node(g, NULL, NUC_OP_VIEW, NULL);
    struct nuc_node *add = nuc_add_node(g, NULL, NUC_OP_ADD, NULL);

    nuc_set_arg_node(relu, g, 0, conv);
    nuc_set_val(g, relu, &conv->vals[0]);
    nuc_set_arg_node(view, g, 0, relu);
    nuc_set_arg_ints(view, g, 1, flat, 2);
    nuc_set_val(g, view, &flat_meta);
    nuc_set_arg_node(add, g, 0, view);
    nuc_set_arg_node(add, g, 1, view);
    nuc_set_val(g, add, &flat_meta);
    test_output(g, add);
    return g;
}

/* x [1, c, 2, 2] -> quantize -> delegate with that payload -> dequantize -> output. */
static inline struct nuc_graph *test_delegate_graph(struct nuc_context *cx, int64_t channels, bool channels_last,
                                                    struct nuc_span payload)
{
    static const struct nuc_compile_spec specs[2] = {{"output_format", "tflite"}, {"compile_flags", ""}};
    const int64_t image[4] = {1, channels, 2, 2};
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    g->dialect = NUC_EDGE;
    struct nuc_meta meta = test_meta(NUC_F32, channels_last, 4, image);
    struct nuc_node *q = test_qdq(g, nuc_add_placeholder(g, "x", NUC_USER_INPUT, &meta), true);
    struct nuc_node *call = nuc_add_node(g, NULL, NUC_OP_CALL_DELEGATE, NULL);
    struct nuc_node *item = nuc_add_node(g, NULL, NUC_OP_GETITEM, NULL);

    call->delegate = nuc_alloc(cx, sizeof *call->delegate);
    *call->delegate = (struct nuc_delegate){.backend_id = "NeutronBackend",
                                            .tag = "tag0",
                                            .n_compile_specs = 2,
                                            .compile_specs = specs,
                                            .payload = payload};
    nuc_set_arg_nodes(call, g, 0, &q, 1);
    nuc_set_tuple(g, call, &q->vals[0], 1);
    nuc_set_arg_node(item, g, 0, call);
    nuc_set_arg_int(item, 1, 0);
    nuc_set_val(g, item, &q->vals[0]);
    test_output(g, test_qdq(g, item, false));
    return g;
}

/* A program with memory of its own from `cx`; the image is copied to exactly its size. */
struct test_program {
    struct nuc_program program;
    struct nuc_program_sizes sizes;
    struct nuc_detail detail;
    enum nuc_status status; /* of sizes or load */
};

static inline void test_load(struct nuc_context *cx, struct test_program *p, struct nuc_span file,
                             const struct nuc_backend_table *backends)
{
    struct nuc_program_memory m = {.state = NULL};

    p->status = nuc_program_sizes(file.data, file.size, backends, &p->sizes, &p->detail);
    if (p->status != NUC_OK)
        return;
    m.state_size = p->sizes.state;
    m.state = nuc_alloc(cx, m.state_size + 1);
    m.temporary_size = p->sizes.temporary;
    m.temporary = nuc_alloc(cx, m.temporary_size + 1);
    for (size_t i = 0; i < p->sizes.n_planned; i++) {
        m.planned_size[i] = p->sizes.planned[i];
        m.planned[i] = nuc_alloc(cx, m.planned_size[i] + 1);
    }
    p->status = nuc_program_load(&p->program, file.data, file.size, &m, &nuc_default_kernels, backends, &p->detail);
}

#endif
