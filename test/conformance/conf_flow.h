/* Compares two graphs along their data flow, when their lists of nodes are in different orders. */
#ifndef NUC_CONF_FLOW_H
#define NUC_CONF_FLOW_H

#include "conformance.h"

/* Compares one node of each side; fills the report when they differ. */
typedef enum conf_result (*conf_node_check)(json_t *graph, json_t *node, const struct nuc_node_info *own,
                                            struct conf_report *r);

/*
 * Pairs nodes from the outputs backwards, argument by argument. Equal when every node of ours is paired with one of the
 * reference's and `same` holds for every pair of calls.
 */
enum conf_result conf_same_flow(json_t *graph, struct nuc_model *own, conf_node_check same, struct conf_report *r);

#endif
