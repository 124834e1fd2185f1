/* What a graph keeps of names, and of the metas its nodes share. Private to the graph folder. */
#ifndef NUC_GRAPH_VALUES_H
#define NUC_GRAPH_VALUES_H

struct nuc_graph;

/* Room for the names of that many nodes. */
void nuc_graph_reserve(struct nuc_graph *g, uint32_t n_nodes);

struct nuc_meta_table *nuc_meta_table_new(struct nuc_graph *g);

#endif
