/* Small lowered graphs, and a program in memory to run what was written of them. */
#ifndef NUC_TEST_PROGRAM_GRAPHS_H
#define NUC_TEST_PROGRAM_GRAPHS_H

#include "unit/quantized_text.h"

#include "back/program/program.h"
#include "npu/partition/delegate.h"
#include "nucleon/runtime.h"

/* x [1, 2, 2, 2] -> quantize -> dequantize -> 1x1 convolution -> relu -> view [1, 4] twice -> add -> output. */
static inline struct nuc_graph *test_graph(struct nuc_context *cx, bool channels_last)
{
    return parse_quantized(
        cx, nuc_format(cx,
                       "%%weight = constant : float32[1, 2, 1, 1] values(1, 10); %%x = input : float32[1, 2, 2, 2]%s "
                       "! 0.5, 1\n%%c = edge.aten.convolution.default(%%dx, %%weight, none, [1, 1], [0, 0], [1, 1], "
                       "false, [0, 0], 1); %%r = edge.aten.relu.default(%%c)\n"
                       "%%v = edge.aten.view_copy.default(%%r, [1, 4]); %%a = edge.aten.add.Tensor(%%v, %%v)\n",
                       channels_last ? " channels-last" : ""));
}

/* x [1, c, 2, 2] -> quantize -> delegate with that payload -> dequantize -> output. */
static inline struct nuc_graph *test_delegate_graph(struct nuc_context *cx, int64_t channels, bool channels_last,
                                                    struct nuc_span payload)
{
    static const struct nuc_compile_spec specs[2] = {{"output_format", "tflite"}, {"compile_flags", ""}};
    const char *order = channels_last ? " channels-last" : "";
    struct nuc_graph *g = parse_quantized(
        cx, nuc_format(cx,
                       "%%x = input : float32[1, %d, 2, 2]%s\n"
                       "%%q = quantized_decomposed.quantize_per_tensor.default(%%x, 0.5, 1, -128, 127, int8)\n"
                       "%%call = call_delegate([%%q]) : (int8[1, %d, 2, 2]%s); %%i = getitem(%%call, 0)\n"
                       "%%d = quantized_decomposed.dequantize_per_tensor.default(%%i, 0.5, 1, -128, 127, int8)\n",
                       (int)channels, order, (int)channels, order));
    struct nuc_node *call = node_of(g, "call");

    call->delegate = nuc_alloc(cx, sizeof *call->delegate);
    *call->delegate = (struct nuc_delegate){.backend_id = "NeutronBackend",
                                            .tag = "tag0",
                                            .n_compile_specs = 2,
                                            .compile_specs = specs,
                                            .payload = payload};
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
