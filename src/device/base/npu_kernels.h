/*
 * Which function of the driver runs which opcode: the driver's own table and the kernel selection files that replace it
 * in a firmware are made of this list. FETCH and WAIT are part of the driver.
 */
#ifndef NUC_DEVICE_BASE_NPU_KERNELS_H
#define NUC_DEVICE_BASE_NPU_KERNELS_H

/* X(opcode, function). */
#define NUC_NPU_KERNELS(X)                                                                                             \
    X(CONV_2D, npu_conv)                                                                                               \
    X(DEPTHWISE_CONV_2D, npu_depthwise)                                                                                \
    X(TRANSPOSE_CONV, npu_transpose_conv)                                                                              \
    X(FULLY_CONNECTED, npu_matmul)                                                                                     \
    X(BATCH_MATMUL, npu_matmul)                                                                                        \
    X(ADD, npu_binary)                                                                                                 \
    X(SUB, npu_binary)                                                                                                 \
    X(MUL, npu_binary)                                                                                                 \
    X(MAXIMUM, npu_binary)                                                                                             \
    X(MINIMUM, npu_binary)                                                                                             \
    X(PRELU, npu_binary)                                                                                               \
    X(AVERAGE_POOL_2D, npu_average_pool)                                                                               \
    X(MAX_POOL_2D, npu_max_pool)                                                                                       \
    X(MEAN, npu_reduce)                                                                                                \
    X(SUM, npu_reduce)                                                                                                 \
    X(REDUCE_MAX, npu_reduce)                                                                                          \
    X(REDUCE_MIN, npu_reduce)                                                                                          \
    X(SOFTMAX, npu_softmax)                                                                                            \
    X(LUT, npu_lut)                                                                                                    \
    X(COPY, npu_copy)                                                                                                  \
    X(GATHER, npu_gather)                                                                                              \
    X(RESIZE_BILINEAR, npu_resize_bilinear)                                                                            \
    X(SOFTMAX_TABLE, npu_softmax_table)

#endif
