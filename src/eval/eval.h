/*
 * The reference evaluator: computes a graph in float32 as eager PyTorch does on a CPU, quantize and dequantize nodes
 * included. It is the oracle other computations are compared with, the engine of calibration and of constant folding.
 *
 * Every value is kept dense in logical (contiguous) order whatever its dim order is: a dim order is layout, not value,
 * so clones and dim-order copies cost nothing. Results do not depend on the number of threads nor on the host's
 * vector unit: each sum is taken in one fixed order, that of torch's kernels (eval_order.h), and products are fused
 * with additions only where that order says so.
 */
#ifndef NUC_EVAL_EVAL_H
#define NUC_EVAL_EVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/graph.h"

struct nuc_evaluator;

/*
 * Called for every value in execution order as soon as it is known: user inputs, parameters, results. `data` holds
 * `elements` elements of node->vals[val_index].dtype in logical order and is valid during the call only.
 */
typedef void (*nuc_eval_observer)(void *user, const struct nuc_node *node, uint32_t val_index, const void *data,
                                  size_t elements);

/*
 * Plans the evaluation of a verified graph: what depends on constants only is computed here once, activations share an
 * arena by live range. Kinds of arguments and shapes are trusted to be what the shape rules let through, which every
 * verified graph has seen. Fails with NUC_UNSUPPORTED naming the node when an operator or dtype cannot be computed. The
 * graph stays unchanged while the evaluator is used. threads 0: as many as cores.
 */
struct nuc_evaluator *nuc_eval_new(struct nuc_graph *g, unsigned threads);

/*
 * One of which nothing is looked at but results and, by the observer, the values of nodes with seen[id]; NULL: of none.
 * What only leads to them is not kept apart: a function of single values is computed where the values are made. It does
 * whole runs.
 */
struct nuc_evaluator *nuc_eval_new_observed(struct nuc_graph *g, unsigned threads, const bool *seen);

/* Its threads, which wait while it does not run. They end with it. */
struct nuc_pool *nuc_eval_pool(const struct nuc_evaluator *e);

size_t nuc_eval_n_inputs(const struct nuc_evaluator *e);
size_t nuc_eval_n_outputs(const struct nuc_evaluator *e);

/* The placeholder of input `index`, the user's before the states, and the node whose value is output `index`. */
const struct nuc_node *nuc_eval_input(const struct nuc_evaluator *e, size_t index);
const struct nuc_node *nuc_eval_output(const struct nuc_evaluator *e, size_t index);

/* NULL ends the observation. */
void nuc_eval_observe(struct nuc_evaluator *e, nuc_eval_observer observer, void *user);

/*
 * One inference. inputs[i] and outputs[i] hold nuc_bytes() of the value in logical order, aligned to its element.
 * `outputs`, or single elements of it, may be NULL: not wanted. Fails where an operator refuses its values.
 */
void nuc_eval_run(struct nuc_evaluator *e, const void *const *inputs, void *const *outputs);

/*
 * The evaluator of a quantized graph for comparing parameters. A quantize node per tensor whose integers only
 * dequantize nodes read becomes one rounding of floats, which is changed between runs, or left out; at first all are
 * left out. The values of the nodes in `kept` stay until the end of a run, and no others are looked at, or all where
 * that is NULL. branches: steps may be run again from any quantize node that was run, or from any node where all are
 * looked at, with other roundings from there on: those before it stay as they are.
 */
struct nuc_rounding {
    bool clips;  /* to the range of the integers */
    bool rounds; /* to the steps between them */
    float scale;
    int64_t zero_point, quant_min, quant_max;
};
struct nuc_evaluator *nuc_eval_new_adjustable(struct nuc_graph *g, unsigned threads, const struct nuc_node *const *kept,
                                              size_t n_kept, bool branches);
bool nuc_eval_can_round(const struct nuc_evaluator *e, const struct nuc_node *quantize);
void nuc_eval_round(struct nuc_evaluator *e, const struct nuc_node *quantize, struct nuc_rounding rounding);

/*
 * An evaluator that shares what is constant with `e`, which has to outlive it, and has activations and roundings of its
 * own: both may run at the same time. It takes no thread but the caller's.
 */
struct nuc_evaluator *nuc_eval_fork(const struct nuc_evaluator *e);

/* Bytes of what a fork computes with: activations, which take less than their sum, and scratch. */
size_t nuc_eval_fork_size(const struct nuc_evaluator *e);

/*
 * An adjustable evaluator, and each fork of it, goes on with another graph that was converted of the same calibration
 * and that lives until the next one is taken. False where more differs than roundings and biases of layers: then it is
 * of no use any more.
 */
bool nuc_eval_take_biases(struct nuc_evaluator *e, struct nuc_graph *g);

/*
 * An inference in pieces: steps [0, nuc_eval_n_steps()) are the nodes in order of execution. The inputs are read until
 * the last step. Result `index` is valid after the last step, until one is run again.
 */
uint32_t nuc_eval_n_steps(const struct nuc_evaluator *e);
const struct nuc_node *nuc_eval_step_node(const struct nuc_evaluator *e, uint32_t step);
void nuc_eval_start(struct nuc_evaluator *e, const void *const *inputs);
void nuc_eval_steps(struct nuc_evaluator *e, uint32_t from, uint32_t to);

/*
 * Steps end at an operator that refuses its values, as an index out of bounds, whatever the thread. After that the
 * thread that the context belongs to fails with NUC_UNSUPPORTED: "<file>: <node> cannot be evaluated: <why><where>".
 */
bool nuc_eval_is_refused(const struct nuc_evaluator *e);
void nuc_eval_check(const struct nuc_evaluator *e, const char *where);
const void *nuc_eval_result_data(const struct nuc_evaluator *e, size_t index);

/* The first value of a node, right after its step; until the end, where it is kept. */
const void *nuc_eval_node_data(const struct nuc_evaluator *e, const struct nuc_node *node);

/* Adds to that value, of float32, where all values stay: steps after it go on with the sum. */
void nuc_eval_shift(struct nuc_evaluator *e, const struct nuc_node *node, const float *by);

/*
 * Constant folding: when every tensor argument of `node` is a parameter, buffer or constant, or it is a range or zeros,
 * computes the node and sets out[0..n_vals) to its values, dense in logical order, in the current arena. False, and
 * nothing done, otherwise or when the node is not an operator of its own (placeholder, output, delegate call).
 */
bool nuc_eval_constant(struct nuc_graph *g, const struct nuc_node *node, void **out);

#endif
