/* Networks of one operator %r for tests of support rules, in the shorthand of quantized_text.h. */
#ifndef NUC_TEST_SUPPORT_NETS_H
#define NUC_TEST_SUPPORT_NETS_H

#include "quantized_text.h"

#include "npu/support/support.h"

/* A quantization that differs from that of the inputs. */
#define OTHER "0.25, 0"

#define INPUT(name, shape) "%" name " = input : float32[" shape "] !\n"
#define STATIC(name, dtype, shape) "%" name " = buffer : " dtype "[" shape "] ! 0.5, 0, -127, 127, " dtype "\n"
#define RESULT(call, quantization) "%r = edge." call " ! " quantization "\n"

#define UNARY_Q(call, in, quantization) INPUT("x", in) RESULT(call, quantization)
#define UNARY(call, in) UNARY_Q(call, in, "")
#define BINARY_Q(call, a, b, quantization) INPUT("x", a) INPUT("y", b) RESULT(call, quantization)
#define BINARY(call, a, b) BINARY_Q(call, a, b, "")
#define CONV(in, w, bias, args)                                                                                        \
    STATIC("w", "int8", w)                                                                                             \
    STATIC("b", "int32", bias) INPUT("x", in) RESULT("aten.convolution.default(%dx, %dw, %db, " args ")", "")
/* The weight is computed at run time. */
#define DYNAMIC_CONV(in, w, args)                                                                                      \
    STATIC("b", "int32", "8")                                                                                          \
    INPUT("x", in) INPUT("w", w) RESULT("aten.convolution.default(%dx, %dw, %db, " args ")", "")
/* The pooling node is %r; its values are quantized by %qi. */
#define POOL(in, args)                                                                                                 \
    INPUT("x", in)                                                                                                     \
    "%r = edge.aten.max_pool2d_with_indices.default(%dx, " args ")\n"                                                  \
    "%i = getitem(%r, 0) !\n"
#define MATRIX(call, w) STATIC("w", "int8", w) STATIC("b", "int32", "4") INPUT("x", "2, 3") RESULT(call, "")

/* The verdict about %r: `rule` is a part of the one that fails, NULL where it is supported. */
static inline struct nuc_verdict check_verdict(const struct nuc_support *s, const char *rule)
{
    struct nuc_verdict v = nuc_check_support(s, node_of(s->g, "r"));

    if (v.ok != (rule == NULL) || (rule != NULL && strstr(v.rule, rule) == NULL))
        fail_msg("'%s' instead of '%s' (%s, limit %s) in:\n%s", v.ok ? "supported" : v.rule,
                 rule == NULL ? "supported" : rule, v.actual, v.limit, nuc_graph_print(s->g, false));
    return v;
}

static inline struct nuc_support support_of(struct nuc_graph *g, const char *flavor)
{
    return (struct nuc_support){
        .g = g, .target = nuc_target_find(g->cx, NULL), .flavor = nuc_flavor_find(g->cx, flavor)};
}

#endif
