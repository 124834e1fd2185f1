/* Post-processing of a lowered model: transposes that cancel or vanish, order of operators, what nothing reads. */
#ifndef NUC_NPU_ARRANGE_TIDY_H
#define NUC_NPU_ARRANGE_TIDY_H

#include "npu/arrange/builder.h"

/*
 * Order of execution by Kahn's algorithm: producers before consumers, otherwise the order there was. Fails with
 * NUC_INTERNAL when operators wait for each other.
 */
void nuc_tidy_sort(struct nuc_ltb *b);

/* The steps below, in turn, until none finds anything. Inputs and outputs of the model are set. */
void nuc_tidy(struct nuc_ltb *b);

/* Steps; true when the model changed. */

/* TRANSPOSE whose result is read by TRANSPOSEs alone: they read its input with the combined permutation. */
bool nuc_tidy_fuse_transposes(struct nuc_ltb *b);

/* TRANSPOSE that changes nothing, unless it connects an input of the model with an output, or two outputs. */
bool nuc_tidy_remove_identities(struct nuc_ltb *b);

/*
 * TRANSPOSE to channels-first -> RESHAPE to [N, C*H*W] -> FULLY_CONNECTED with constant weights: the weights' columns
 * move to the order H, W, C instead.
 */
bool nuc_tidy_permute_weights(struct nuc_ltb *b);

/* A BATCH_MATMUL of a tensor by itself, which the converter does not take, reads it again through a RESHAPE. */
void nuc_tidy_separate_factors(struct nuc_ltb *b);

#endif
