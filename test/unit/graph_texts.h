/* Tests that read a graph from text. */
#ifndef NUC_TEST_GRAPH_TEXTS_H
#define NUC_TEST_GRAPH_TEXTS_H

#include "unit/contexts.h"

#include "graph_text/parse_graph.h"

/* A graph from the lines after "nucleon-graph 1". */
static inline struct nuc_graph *parse_graph(struct nuc_context *cx, const char *lines)
{
    struct nuc_graph *g = nuc_graph_parse(cx, "test", nuc_format(cx, "nucleon-graph 1\n%s", lines));

    nuc_graph_verify(g, "text");
    return g;
}

/* The graph prints as the one these lines describe. */
static inline void assert_graph(struct nuc_graph *g, const char *lines)
{
    const char *printed = nuc_graph_print(g, false), *expected = nuc_graph_print(parse_graph(g->cx, lines), false);
    size_t at = 0, line = 0;

    while (printed[at] != '\0' && printed[at] == expected[at])
        line = printed[at++] == '\n' ? at : line;
    if (printed[at] != expected[at])
        fail_msg("instead of\n%.*s\nit is\n%.*s\nin\n%s", (int)strcspn(expected + line, "\n"), expected + line,
                 (int)strcspn(printed + line, "\n"), printed + line, printed);
}

static inline struct nuc_node *node_of(struct nuc_graph *g, const char *name)
{
    struct nuc_node *node = nuc_find_node(g, name);

    if (node == NULL)
        fail_msg("no node '%s'", name);
    return node;
}

/* Tensor argument `index`, which is there. */
static inline struct nuc_node *argument_of(const struct nuc_node *node, uint32_t index)
{
    struct nuc_node *argument = nuc_arg_node(node, index);

    if (argument == NULL) {
        fail_msg("'%s' has no tensor argument %u", node->name, index);
        abort();
    }
    return argument;
}

#endif
