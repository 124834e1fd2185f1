/* Small graphs for the tests of the quantizer. */
#ifndef NUC_TEST_QUANTIZE_GRAPHS_H
#define NUC_TEST_QUANTIZE_GRAPHS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compiler/graph/graph.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define INTS(...) ((const int64_t[]){__VA_ARGS__}), (uint32_t)COUNT(((const int64_t[]){__VA_ARGS__}))

/* A graph in a context of its own, which free_context() frees as the test's teardown. */
static inline struct nuc_graph *new_graph(void **state)
{
    struct nuc_context *cx = nuc_context_new(NULL);

    assert_non_null(cx);
    *state = cx;
    return nuc_graph_new(cx, "test");
}

static inline int free_context(void **state)
{
    nuc_context_free(*state);
    return 0;
}

static inline struct nuc_node *input(struct nuc_graph *g, const char *name, const int64_t *sizes, uint32_t rank)
{
    struct nuc_meta m = nuc_meta_make(NUC_F32, sizes, rank);

    return nuc_add_placeholder(g, name, NUC_USER_INPUT, &m);
}

static inline struct nuc_node *parameter(struct nuc_graph *g, const char *name, const float *data, const int64_t *sizes,
                                         uint32_t rank)
{
    struct nuc_meta m = nuc_meta_make(NUC_F32, sizes, rank);
    struct nuc_node *node = nuc_add_constant(g, name, &m, data);

    node->input_kind = NUC_PARAMETER;
    return node;
}

/* A call of `op` on up to three tensors, NULL ends them; other arguments keep their defaults. */
static inline struct nuc_node *unshaped(struct nuc_graph *g, enum nuc_op op, struct nuc_node *a, struct nuc_node *b,
                                        struct nuc_node *c)
{
    struct nuc_node *args[] = {a, b, c}, *node = nuc_add_node(g, NULL, op, NULL);

    for (uint32_t i = 0; i < 3 && args[i] != NULL; i++)
        nuc_set_arg_node(node, g, i, args[i]);
    return node;
}

/* The same with its shape. */
static inline struct nuc_node *call(struct nuc_graph *g, enum nuc_op op, struct nuc_node *a, struct nuc_node *b,
                                    struct nuc_node *c)
{
    struct nuc_node *node = unshaped(g, op, a, b, c);

    nuc_infer_shape(g, node);
    return node;
}

#endif
