/* Activations that the NPU computes together with the convolution or matrix product in front of them. */
#ifndef NUC_REWRITE_FUSED_ACTIVATION_H
#define NUC_REWRITE_FUSED_ACTIVATION_H

#include "ir/graph.h"

/* relu, sigmoid, tanh and hardtanh with the bounds of ReLU or ReLU6, in place or not. */
bool nuc_is_fused_activation(const struct nuc_node *node);

/* A convolution of 2-D images or a matrix product whose result has two dimensions. */
bool nuc_takes_activation(const struct nuc_node *node);

#endif
