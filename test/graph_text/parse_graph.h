/* Graphs from text (docs/formats.md), of which tests, fuzzers and benchmarks make theirs; src/ir prints them. */
#ifndef NUC_TEST_PARSE_GRAPH_H
#define NUC_TEST_PARSE_GRAPH_H

#include "ir/graph.h"

/* `file` is named in errors. Constants have the bytes that nuc_graph_print() adds with_data. */
struct nuc_graph *nuc_graph_parse(struct nuc_context *cx, const char *file, const char *text);

#endif
