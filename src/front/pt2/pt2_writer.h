/* What the parts of the .pt2 writer share. Private to the folder. */
#ifndef NUC_FRONT_PT2_PT2_WRITER_H
#define NUC_FRONT_PT2_PT2_WRITER_H

#include "archive/json_build.h"
#include "ir/graph.h"

struct nuc_pt2_writer {
    struct nuc_context *cx;
    struct nuc_graph *g;
    json_t *graph; /* graph_module.graph */
    struct nuc_json_long tensor_values;
    struct nuc_json_long inputs, input_specs, nodes; /* of the graph, of its signature, of the graph */
    const char **names; /* by node id: what the value is called; a getitem may share the name of another */
    bool *is_scalar;    /* by node id: a constant that is written as a number where it is read */
};

/* ---- pt2_write_node.c ---- */

/* {"name": ...} */
void nuc_put_name(struct nuc_context *cx, json_t *parent, const char *key, const char *name);

/* {"as_tensor": {"name": ...}} */
void nuc_put_tensor(struct nuc_context *cx, json_t *parent, const char *key, const char *name);

/* Type, sizes, strides and the rest of what torch says of a tensor. */
void nuc_put_tensor_meta(struct nuc_context *cx, json_t *parent, const char *key, const struct nuc_meta *meta,
                         const int64_t *strides, bool requires_grad);

/* Notes a value among the graph's tensor_values. */
void nuc_put_value(struct nuc_pt2_writer *w, const char *name, const struct nuc_meta *meta, bool requires_grad);

/* Finds the constants that the importer made from numbers; comes before everything else. */
void nuc_find_scalars(struct nuc_pt2_writer *w);

/* graph.nodes; fills names of calls. */
void nuc_put_nodes(struct nuc_pt2_writer *w);

#endif
