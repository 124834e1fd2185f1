/*
 * The network that NXP's example tflm_label_image_ext_mem runs on the i.MX RT700, whose file is not public in full:
 * MobileNetV1 1.0/224 as TensorFlow has it (arXiv:1704.04861, table 1), int8, with 1,001 classes, up to the logits.
 */
#ifndef NUC_TEST_MOBILENET_V1_H
#define NUC_TEST_MOBILENET_V1_H

#include "litert/litert.h"

#define MOBILENET_V1_CLASSES 1001

/* One input [1, 224, 224, 3], one output [1, 1001]; weights and biases are zero: cycles follow from sizes alone. */
struct nuc_lt_model *mobilenet_v1(struct nuc_context *cx);

#endif
