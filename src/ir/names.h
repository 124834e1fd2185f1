/* Names of nodes, each of one node of the graph. Private to the graph folder. */
#ifndef NUC_IR_NAMES_H
#define NUC_IR_NAMES_H

#include "ir/graph.h"

struct nuc_name_table *nuc_names_new(struct nuc_context *cx);

/* The names of all nodes of a graph for those that are copies of them, by id. */
void nuc_names_copy(struct nuc_graph *to, const struct nuc_graph *from, struct nuc_node *const *copies);

/* The nodes of a graph have become their copies. */
void nuc_names_follow(struct nuc_graph *g, struct nuc_node *const *copies);

/* What the node is called from now on: `wanted`, or that with a suffix; NULL stands for the name of its operator. */
const char *nuc_claim_name(struct nuc_graph *g, struct nuc_node *node, const char *wanted);
void nuc_release_name(struct nuc_graph *g, const struct nuc_node *node);

/*
 * A node that goes by another name than the table has for it, or has a name and is not among the nodes seen, by id. The
 * first node when there are as many names as nodes no more. NULL: each node, and nothing else, has its name.
 */
const struct nuc_node *nuc_find_misnamed(const struct nuc_graph *g, struct nuc_node *const *seen);

#endif
