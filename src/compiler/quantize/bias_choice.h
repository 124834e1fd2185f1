/*
 * Whether corrected biases are better, by measure. The correction takes off the mean error of each layer by itself; the
 * errors of a deep network's activations may outweigh that, or add up with it. So the quantized graph is run on
 * calibration samples both ways, and the outputs are compared with the float ones.
 */
#ifndef NUC_QUANTIZE_BIAS_CHOICE_H
#define NUC_QUANTIZE_BIAS_CHOICE_H

#include "compiler/quantize/calibration.h"

#define NUC_CHOICE_MOST 32

/* Inputs and float outputs of the first samples of the calibration. */
struct nuc_choice_samples {
    size_t wanted, count, n_inputs, n_outputs;
    const void **inputs[NUC_CHOICE_MOST];
    void **outputs[NUC_CHOICE_MOST];
};

/* Room for as many samples as the size of the graph makes cheap, 4 at least. */
struct nuc_choice_samples *nuc_choice_samples_new(const struct nuc_graph *g);

/* Keeps copies of the inputs of one more sample and memory for its outputs, which nuc_eval_run() fills. */
void nuc_choice_keep(struct nuc_context *cx, struct nuc_choice_samples *s, const struct nuc_evaluator *e,
                     const void *const *inputs);

/*
 * The better of two quantized graphs of the calibration's float graph: the one whose float outputs have the smaller
 * error relative to their power, summed over the outputs; `a` when they are equal.
 */
struct nuc_graph *nuc_choose_graph(const struct nuc_choice_samples *s, struct nuc_graph *a, struct nuc_graph *b,
                                   unsigned threads);

#endif
