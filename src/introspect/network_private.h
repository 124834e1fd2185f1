/* A network under way: the stages of its compilation leave models, from which its nodes are listed. */
#ifndef NUC_INTROSPECT_NETWORK_PRIVATE_H
#define NUC_INTROSPECT_NETWORK_PRIVATE_H

#include "back/program/memory_map.h"
#include "driver/lowered.h"
#include "driver/model_metadata.h"
#include "explain/explain.h"
#include "introspect/network.h"

#define NUC_NO_ID UINT32_MAX

struct nuc_network {
    struct nuc_compiler *c;
    struct nuc_context *cx;
    struct nuc_sample_source calibration;
    struct nuc_job job;
    struct nuc_model *model;       /* as it was opened */
    struct nuc_model *quantized;   /* what placement began with */
    struct nuc_model *partitioned; /* and what it made */
    struct nuc_explanation *e;
    bool made_up; /* ranges */
    const char *missed;
    struct nuc_network_node *nodes;
    uint32_t n_nodes;
    size_t n_measured; /* samples on which the errors of nodes were measured */
    uint32_t *id_of;   /* by id of a node of the partitioned graph: index of an input or an operator, or NUC_NO_ID */
    const struct nuc_node **by_id;           /* nodes of the partitioned graph */
    const struct nuc_explain_cycles *cycles; /* of its program */
};

/* Nodes and their ids, from the partitioned model. */
void nuc_list_network_nodes(struct nuc_network *net);

/*
 * The id of a value of the partitioned graph, or of a lowered one made of it: that of what computes it, quantize and
 * dequantize nodes and parts of tuples left out. NUC_NO_ID: it is constant.
 */
uint32_t nuc_network_id(const struct nuc_network *net, const struct nuc_node *node);
uint32_t nuc_network_id_of_lowered(const struct nuc_network *net, const struct nuc_node *lowered);
uint32_t nuc_network_id_of_handle(const struct nuc_network *net, uint32_t handle);

/* sqnr_db and sqnr_own_db of all nodes, from runs of the float and the quantized network (node_errors.c). */
void nuc_measure_network_nodes(struct nuc_network *net);

void nuc_put_id(struct nuc_context *cx, json_t *to, const char *key, uint32_t id); /* NUC_NO_ID: null */

#endif
