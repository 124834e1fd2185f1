/* Small graphs for the tests of the evaluator. */
#ifndef NUC_TEST_EVAL_GRAPHS_H
#define NUC_TEST_EVAL_GRAPHS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "compiler/eval/eval.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Sizes of a shape, and how many there are: SHAPE(1, 3, 8, 8). */
#define SHAPE(...) ((const int64_t[]){__VA_ARGS__}), COUNT(((const int64_t[]){__VA_ARGS__}))

/* A list argument. */
#define INTS(...) ((const int64_t[]){__VA_ARGS__}), COUNT(((const int64_t[]){__VA_ARGS__}))

static inline struct nuc_graph *new_graph(void)
{
    struct nuc_context *cx = nuc_context_new(NULL);

    assert_non_null(cx);
    return nuc_graph_new(cx, "test");
}

static inline void free_graph(struct nuc_graph *g)
{
    nuc_context_free(g->cx);
}

static inline struct nuc_node *add_input(struct nuc_graph *g, enum nuc_dtype dtype, const int64_t *sizes, size_t rank)
{
    struct nuc_meta m = nuc_meta_make(dtype, sizes, (uint32_t)rank);

    return nuc_add_placeholder(g, "x", NUC_USER_INPUT, &m);
}

static inline struct nuc_node *add_constant(struct nuc_graph *g, enum nuc_dtype dtype, const int64_t *sizes,
                                            size_t rank, const void *data)
{
    struct nuc_meta m = nuc_meta_make(dtype, sizes, (uint32_t)rank);

    return nuc_add_constant(g, "c", &m, data);
}

/* A node whose first argument is `in`; finish_node() follows when all arguments are set. */
static inline struct nuc_node *add_node(struct nuc_graph *g, enum nuc_op op, struct nuc_node *in)
{
    struct nuc_node *node = nuc_add_node(g, NULL, op, NULL);

    nuc_set_arg_node(node, g, 0, in);
    return node;
}

static inline void set_ints(struct nuc_graph *g, struct nuc_node *node, uint32_t index, const int64_t *values,
                            size_t count)
{
    nuc_set_arg_ints(node, g, index, values, (uint32_t)count);
}

/* A node whose only tensor argument is `in` and whose other arguments have their defaults. */
static inline struct nuc_node *add_simple(struct nuc_graph *g, enum nuc_op op, struct nuc_node *in)
{
    struct nuc_node *node = add_node(g, op, in);

    nuc_infer_shape(g, node);
    return node;
}

static inline void add_output(struct nuc_graph *g, struct nuc_node *value)
{
    struct nuc_node *out = nuc_add_node(g, NULL, NUC_OP_OUTPUT, "output");

    nuc_set_arg_nodes(out, g, 0, &value, 1);
}

/* Infers the shape of the last node, makes it the output and runs the graph on one input. */
static inline const struct nuc_meta *run_node(struct nuc_graph *g, struct nuc_node *node, const void *in, void *out)
{
    nuc_infer_shape(g, node);
    add_output(g, node);
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    nuc_eval_run(e, &in, &out);
    return &node->vals[0];
}

/* Deterministic values in [-1, 1) with 12 significant bits. */
static inline float next_float(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)((int32_t)(*seed >> 20) - 2048) / 2048.0f;
}

static inline int64_t next_int(uint32_t *seed, int64_t low, int64_t high)
{
    *seed = *seed * 1664525u + 1013904223u;
    return low + (int64_t)((*seed >> 8) % (uint32_t)(high - low + 1));
}

static inline void fill_floats(uint32_t *seed, float *data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        data[i] = next_float(seed);
}

/* Equal bit for bit, but for the sign of zero. */
static inline void assert_floats(const float *got, const float *want, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!(got[i] == want[i]) && !(got[i] != got[i] && want[i] != want[i]))
            fail_msg("element %zu is %.9g instead of %.9g", i, (double)got[i], (double)want[i]);
    }
}

#endif
