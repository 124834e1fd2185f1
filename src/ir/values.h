/* What a graph keeps of the metas its nodes share. Private to the graph folder. */
#ifndef NUC_IR_VALUES_H
#define NUC_IR_VALUES_H

struct nuc_graph;

struct nuc_meta_table *nuc_meta_table_new(struct nuc_graph *g);

#endif
