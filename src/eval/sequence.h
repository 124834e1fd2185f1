/* Runs one after the other: each begins with the states that the one before left. */
#ifndef NUC_EVAL_SEQUENCE_H
#define NUC_EVAL_SEQUENCE_H

#include "eval/eval.h"

struct nuc_sequence;

/* One of runs of graphs with the inputs, states and outputs of `g`. It begins with the initial values of the states. */
struct nuc_sequence *nuc_sequence_new(struct nuc_graph *g);

/* The next run begins with the initial values again. */
void nuc_sequence_reset(struct nuc_sequence *s);

/*
 * All inputs of an evaluator: what the caller gives, `inputs` by user input, and the states. They are valid until the
 * next call; without states they are `inputs`.
 */
const void *const *nuc_sequence_inputs(struct nuc_sequence *s, const void *const *inputs);

/* After a run of `e`: the next one begins with what it left. */
void nuc_sequence_advance(struct nuc_sequence *s, const struct nuc_evaluator *e);

#endif
