/*
 * Names for people. Nodes are named after operators, as torch.fx names them ("aten_convolution_default_3"), which says
 * little to who wrote the model; a label says where in the model a value comes from.
 *
 * Importers label the operators of a model once, as its author wrote it (nuc_label_sources()); what passes make of an
 * operator inherits the label with the rest of its source. At any stage nuc_label_graph() gives each node a label of
 * its own:
 *
 *   "conv1", "layers.0.ff.linear1"   a module without others inside, of which it is the only operator that computes;
 *                                    "pool_1" where the module is called again
 *   "layers.0/add", "layers.0/add_1" any other operator of a module: its path and the operator as written
 *   "relu"                           the same of the model itself
 *   "conv2d_1"                       the name of the call, where the file says nothing of modules
 *   "model/activation/Relu"          LiteRT: the tensor that the operator makes
 *   "x", "conv1.weight"              inputs; parameters, buffers and constants by their state-dict names
 *   "conv1 (int8)"                   the value of that label in another form: quantized, dequantized, copied
 *   "attn/softmax (exp)"             a part of an operator; the last part that computes has the plain label
 *   "conv1 (scratch)"                memory that an operator takes while it runs
 *   "lstm[1]"                        a further result of an operator with several
 *   "tag1"                           the call of a partition; its results have the labels of what comes out
 *
 * In a graph that no importer labelled, operators that compute go by their names.
 */
#ifndef NUC_IR_LABELS_H
#define NUC_IR_LABELS_H

#include "ir/graph.h"

/*
 * Gives labels to the placeholders and operators of a graph as imported. Nodes that have one already (the archive
 * or the LiteRT model gave it) keep it, but for a suffix _1, _2, ... where another call (nuc_first_call()) has the
 * same. Labels depend on modules, operators as written and their order alone.
 */
void nuc_label_sources(struct nuc_graph *g);

/* Gives a node a label, or a form (struct nuc_source), that others of the same source do not have. The text is kept. */
void nuc_set_label(struct nuc_graph *g, struct nuc_node *node, const char *label);
void nuc_set_form(struct nuc_graph *g, struct nuc_node *node, const char *form);

struct nuc_labels {
    const char *const *of;    /* by node id: unique in the graph */
    const char *const *value; /* by node id: the same without what tells forms and parts of one value apart */
};

/*
 * Labels of all nodes of a graph, at any stage; they live in the context's current arena. Equal graphs give equal
 * labels. Ids of nodes that are no longer in the graph have NULL.
 */
struct nuc_labels nuc_label_graph(const struct nuc_graph *g);

/* Of result `index` of a node: "lstm[1]" where it has several that are read, of a delegate what comes out there. */
const char *nuc_label_of_result(struct nuc_context *cx, const struct nuc_labels *labels, const struct nuc_node *node,
                                uint32_t index);

#endif
