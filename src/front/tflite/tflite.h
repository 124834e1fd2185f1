/*
 * Reads a LiteRT model (.tflite) into a graph of the ATen dialect. An int8 one has quantize and dequantize nodes around
 * every operator: the form of a quantized .pt2 archive, so that partitioner, lowering, other targets and the program
 * writer take it from there as they take those. A float one is as a float archive; weights that are quantized or of
 * half precision among float values become float parameters.
 *
 *     struct nuc_graph *g = nuc_import_tflite(cx, "model.tflite", NULL);
 *     nuc_to_edge(g, &(struct nuc_edge_options){.preserve_ops = nuc_tflite_preserved, ...});
 *
 * Parameters are exact: an int8 tensor of the model is the value of one quantize node with its scale and zero point;
 * constants are buffers read through dequantize nodes, per channel where the model has several scales. int8 inputs and
 * outputs stay int8; where the model has QUANTIZE or DEQUANTIZE at its boundary they are float32.
 *
 * Layout: a tensor [N, H, W, C] becomes a value [N, C, H, W] in channels-last dim order, which are the same bytes;
 * other ranks stay as they are. Operators that need the sizes in the model's own order (RESHAPE, FULLY_CONNECTED,
 * BATCH_MATMUL) read a permuted value unless one of H * W and C is 1.
 *
 * What is computed from constants alone (a TRANSPOSE, a DEQUANTIZE, the arithmetic of shapes) is a constant.
 *
 * SAME padding that is not equal on both sides becomes a pad of its own before it; fused activations become operators
 * after it, left out where the quantized range keeps them from doing anything.
 *
 * Each node's source names the file and, as its line, the index of the LiteRT operator. Fails with NUC_UNSUPPORTED
 * naming file, operator and what about it is not handled, and with NUC_BAD_INPUT for a damaged file.
 */
#ifndef NUC_FRONT_TFLITE_TFLITE_H
#define NUC_FRONT_TFLITE_TFLITE_H

#include "host/file.h"
#include "ir/graph.h"
#include "litert/litert.h"

/*
 * What the caller says, and the boundary in the model's own order: which user inputs and outputs of the graph are
 * images, [N, C, H, W] in the graph for a tensor [N, H, W, C]. The bytes in memory are the same.
 */
struct nuc_litert_io {
    /*
     * Given: layers compute with eight bits to a weight, as those of an NPU do. uint8 weights have nine about their
     * zero point: channels that need them are rounded then, with a note, else weights keep their zero point.
     */
    bool eight_bit_weights;
    uint32_t n_inputs, n_outputs;
    const bool *image_inputs, *image_outputs;
};

/*
 * `signature` names the one of several ways to call the model; NULL: serving_default, or the first, with a note where
 * there are others. `io` is filled when it is not NULL; NULL: zeros are given.
 */
struct nuc_graph *nuc_import_tflite(struct nuc_context *cx, struct nuc_stored input, const char *signature,
                                    struct nuc_litert_io *io);

/* The same for a model in memory, of which subgraph `index` is read. Constants stay where the model has them. */
struct nuc_graph *nuc_import_litert(struct nuc_context *cx, const struct nuc_lt_model *m, uint32_t index,
                                    struct nuc_litert_io *io);

/* ATen operators that are one LiteRT operator each and so stay whole where the NPU takes them. */
#define NUC_TFLITE_N_PRESERVED 3
extern const char *const nuc_tflite_preserved[NUC_TFLITE_N_PRESERVED];

#endif
