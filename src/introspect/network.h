/*
 * One compilation of a model, and a list of nodes that everything said about it refers to: inputs, operators of the
 * partitioned graph, outputs, in this order. The nuc_put_...() put members of a JSON tree (docs/json.md has the
 * fields).
 */
#ifndef NUC_INTROSPECT_NETWORK_H
#define NUC_INTROSPECT_NETWORK_H

#include <jansson.h>

#include "data/dataset.h"
#include "introspect/introspect.h"

struct nuc_network;
struct nuc_node;
struct nuc_explain_row;

/*
 * Quantizes and compiles the model as `nucleon compile` does and measures the error of its nodes on the samples; none:
 * a float model is quantized with made-up ranges, unless it stays float. Fails as nuc_compile_model() does, but not for
 * properties that are demanded and do not hold.
 */
struct nuc_network *nuc_compile_network(struct nuc_model *m, struct nuc_sample_source calibration);

/* ---- figures ---- */

enum nuc_where { NUC_ON_NPU, NUC_ON_CPU, NUC_ON_CPU_IN_FLOAT, NUC_FOLDED, NUC_BOUNDARY };

/* A node of the network; its id is its index. */
struct nuc_network_node {
    const struct nuc_node *node;       /* of the partitioned graph; of an output: what gives its value. Not for tools */
    const struct nuc_explain_row *row; /* of an operator; NULL: an input or an output. Not for tools */
    const char *label, *name;
    bool is_operator, is_output;
    enum nuc_where where;
    uint64_t cycles; /* where it runs */
    /* On the calibration samples that were run; NaN: not measured. */
    double sqnr_db;        /* of the value, against that of the float network */
    double sqnr_own_db;    /* the same with the inputs that the quantized network gives it */
    double sqnr_output_db; /* of the outputs of the float network with that error of the node alone */
};

struct nuc_network_facts {
    const uint8_t *program;
    size_t program_size;
    const struct nuc_program_report *report;
    const char *missed;                /* the demanded properties that do not hold, one line; NULL: there are none */
    const struct nuc_model *quantized; /* what placement began with */
    bool made_up;                      /* its ranges */
    size_t n_measured;                 /* samples on which the errors of nodes were measured */
    const struct nuc_network_node *nodes;
    uint32_t n_nodes;
};
struct nuc_network_facts nuc_network_facts(const struct nuc_network *net);

/* What quantization measured of the output that has lost most; false: nothing. */
bool nuc_network_quality(const struct nuc_network *net, struct nuc_output_quality *out);

/* "npu"; NULL for inputs and outputs. */
const char *nuc_where_word(enum nuc_where where);

/* ---- members of a tree ---- */

void nuc_put_network_model(struct nuc_network *net, json_t *tree); /* model, target */
void nuc_put_network_figures(struct nuc_network *net, json_t *to); /* operators, cycles, memory, one by one */
void nuc_put_network_obstacles(struct nuc_network *net, json_t *tree);
void nuc_put_network_nodes(struct nuc_network *net, json_t *tree); /* nodes, boundaries */
void nuc_put_network_partitions(struct nuc_network *net, json_t *tree);
void nuc_put_network_instructions(struct nuc_network *net, json_t *tree);
void nuc_put_network_memory(struct nuc_network *net, json_t *tree);
void nuc_put_network_placement(struct nuc_network *net, json_t *tree); /* on_cpu, splits, fixes, trials */

#endif
