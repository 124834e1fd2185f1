/*
 * A LiteRT (TensorFlow Lite) model in memory: one flat structure that the reader fills, the lowering builds, the tidy
 * pass rewrites, the verifier checks, the writer serializes and the converter reads. One subgraph is the normal case;
 * models with several are kept whole by the reader. Everything lives in the arena of the context. Tensors are N..C.
 */
#ifndef NUC_LITERT_H
#define NUC_LITERT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "host/context.h"
#include "nucleon/types.h"

/* Builtin operators that are known by name; the values are those of BuiltinOperator in the public schema. */
#define NUC_LT_OPS(X)                                                                                                  \
    X(ADD, 0)                                                                                                          \
    X(AVERAGE_POOL_2D, 1)                                                                                              \
    X(CONCATENATION, 2)                                                                                                \
    X(CONV_2D, 3)                                                                                                      \
    X(DEPTHWISE_CONV_2D, 4)                                                                                            \
    X(DEQUANTIZE, 6)                                                                                                   \
    X(FULLY_CONNECTED, 9)                                                                                              \
    X(L2_NORMALIZATION, 11)                                                                                            \
    X(LOGISTIC, 14)                                                                                                    \
    X(MAX_POOL_2D, 17)                                                                                                 \
    X(MUL, 18)                                                                                                         \
    X(RELU, 19)                                                                                                        \
    X(RELU_N1_TO_1, 20)                                                                                                \
    X(RELU6, 21)                                                                                                       \
    X(RESHAPE, 22)                                                                                                     \
    X(RESIZE_BILINEAR, 23)                                                                                             \
    X(SOFTMAX, 25)                                                                                                     \
    X(TANH, 28)                                                                                                        \
    X(CUSTOM, 32)                                                                                                      \
    X(PAD, 34)                                                                                                         \
    X(GATHER, 36)                                                                                                      \
    X(TRANSPOSE, 39)                                                                                                   \
    X(MEAN, 40)                                                                                                        \
    X(SUB, 41)                                                                                                         \
    X(SQUEEZE, 43)                                                                                                     \
    X(STRIDED_SLICE, 45)                                                                                               \
    X(EXP, 47)                                                                                                         \
    X(LOG_SOFTMAX, 50)                                                                                                 \
    X(PRELU, 54)                                                                                                       \
    X(MAXIMUM, 55)                                                                                                     \
    X(MINIMUM, 57)                                                                                                     \
    X(PADV2, 60)                                                                                                       \
    X(SLICE, 65)                                                                                                       \
    X(TRANSPOSE_CONV, 67)                                                                                              \
    X(TILE, 69)                                                                                                        \
    X(LOG, 73)                                                                                                         \
    X(SUM, 74)                                                                                                         \
    X(RSQRT, 76)                                                                                                       \
    X(REDUCE_MAX, 82)                                                                                                  \
    X(REDUCE_MIN, 89)                                                                                                  \
    X(RESIZE_NEAREST_NEIGHBOR, 97)                                                                                     \
    X(LEAKY_RELU, 98)                                                                                                  \
    X(MIRROR_PAD, 100)                                                                                                 \
    X(ABS, 101)                                                                                                        \
    X(GATHER_ND, 107)                                                                                                  \
    X(QUANTIZE, 114)                                                                                                   \
    X(HARD_SWISH, 117)                                                                                                 \
    X(SCATTER_ND, 122)                                                                                                 \
    X(SELECT_V2, 123)                                                                                                  \
    X(BATCH_MATMUL, 126)                                                                                               \
    X(BROADCAST_TO, 130)                                                                                               \
    X(RELU_0_TO_1, 152)

enum nuc_lt_code {
#define NUC_LT_ENUM(name, value) NUC_LT_##name = value,
    NUC_LT_OPS(NUC_LT_ENUM)
#undef NUC_LT_ENUM
};

enum nuc_lt_padding { NUC_LT_SAME = 0, NUC_LT_VALID = 1 };
enum nuc_lt_activation { NUC_LT_ACT_NONE = 0, NUC_LT_ACT_RELU = 1, NUC_LT_ACT_RELU_N1_TO_1 = 2, NUC_LT_ACT_RELU6 = 3 };

struct nuc_lt_quant {
    uint32_t count; /* 0: not quantized; 1: per tensor; else one a channel of `axis` */
    const float *scale;
    const int64_t *zero_point; /* as many as scales */
    int32_t axis;
};

struct nuc_lt_tensor {
    const char *name;
    enum nuc_dtype dtype;
    uint32_t rank;
    int32_t shape[NUC_MAX_RANK];
    struct nuc_lt_quant quant;
    struct nuc_span data; /* constants: dense bytes; data == NULL: no data */
    bool is_variable;
};

/* Options of the operators; which member is valid follows from the code. */
union nuc_lt_options {
    struct {
        enum nuc_lt_padding padding;
        int32_t stride_w, stride_h, dilation_w, dilation_h;
        int32_t depth_multiplier; /* depthwise only */
        enum nuc_lt_activation activation;
    } conv; /* CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV (without dilation) */
    struct {
        enum nuc_lt_padding padding;
        int32_t stride_w, stride_h, filter_w, filter_h;
        enum nuc_lt_activation activation;
    } pool;
    struct {
        enum nuc_lt_activation activation;
        bool keep_num_dims;
        int8_t weights_format;
        bool asymmetric_quantize_inputs;
    } fully_connected;
    struct {
        enum nuc_lt_activation activation;
        bool pot_scale_int16; /* ADD and SUB: default true in the schema */
    } arith;                  /* ADD, SUB, MUL */
    struct {
        float beta;
    } softmax;
    struct {
        uint32_t rank; /* new_shape; has_shape false: the vector is absent */
        bool has_shape;
        int32_t shape[NUC_MAX_RANK];
    } reshape;
    struct {
        bool keep_dims;
    } reduce;
    struct {
        int32_t axis;
        enum nuc_lt_activation activation;
    } concat;
    struct {
        bool align_corners, half_pixel_centers;
    } resize;
    struct {
        bool adj_x, adj_y, asymmetric_quantize_inputs;
    } batch_matmul;
    struct {
        float alpha;
    } leaky_relu;
    struct {
        int8_t mode; /* 0 REFLECT, 1 SYMMETRIC */
    } mirror_pad;
    struct {
        uint32_t rank; /* of the list; 0: every dimension of size 1 */
        int32_t dims[NUC_MAX_RANK];
    } squeeze;
    struct {
        int32_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
        bool offset;
    } strided_slice;
    struct {
        struct nuc_span options; /* custom_options */
    } custom;
};

struct nuc_lt_op {
    int32_t code;            /* enum nuc_lt_code, or another builtin's number for one that is not known */
    const char *custom_code; /* CUSTOM only */
    int32_t version;
    uint32_t n_inputs, n_outputs;
    int32_t *inputs; /* tensor indices; -1: an optional input left out */
    int32_t *outputs;
    union nuc_lt_options options;
    uint32_t debug_handle; /* 1 + id of the graph's node it was lowered from; 0: none */
};

struct nuc_lt_subgraph {
    const char *name;
    uint32_t n_tensors, n_ops, n_inputs, n_outputs;
    size_t tensors_capacity, ops_capacity;
    struct nuc_lt_tensor *tensors;
    struct nuc_lt_op *ops; /* in execution order */
    int32_t *inputs;
    int32_t *outputs;
};

struct nuc_lt_model {
    struct nuc_context *cx;
    const char *file; /* for messages */
    const char *description;
    uint32_t n_subgraphs;
    struct nuc_lt_subgraph *subgraphs;
};

/* ---- building ---- */

struct nuc_lt_model *nuc_lt_model_new(struct nuc_context *cx, const char *file); /* one empty subgraph */

/* Index of the new tensor; the struct is copied, what it points to is not. */
int32_t nuc_lt_add_tensor(struct nuc_lt_model *m, const struct nuc_lt_tensor *tensor);

/* Appends an operator with zeroed options; the index lists are copied. The pointer is valid until the next addition. */
struct nuc_lt_op *nuc_lt_add_op(struct nuc_lt_model *m, int32_t code, const int32_t *inputs, uint32_t n_inputs,
                                const int32_t *outputs, uint32_t n_outputs);

/* "CONV_2D", or "BUILTIN_<n>" for one that is not in the list. */
const char *nuc_lt_code_name(struct nuc_context *cx, int32_t code);

int64_t nuc_lt_elements(const struct nuc_lt_tensor *t);

/* The same scales, zero points and, with more than one of them, axis. */
bool nuc_lt_quant_equal(const struct nuc_lt_quant *a, const struct nuc_lt_quant *b);

/* ---- reader, writer, verifier ---- */

/* Reads an untrusted .tflite; tensor data stays in place in `bytes`. `file` names it in messages. */
struct nuc_lt_model *nuc_lt_read(struct nuc_context *cx, const char *file, struct nuc_span bytes);

/* Same model, same bytes. File identifier TFL3, version 3. */
struct nuc_span nuc_lt_write(struct nuc_lt_model *m);

/*
 * Structure: indices in range, execution order, one producer a tensor. Quantization: the rules of the reference's
 * quantization_verification (shared parameters of reshapes and pools, fixed output parameters, bias scale). Fails with
 * NUC_BAD_INPUT naming operator, tensor and rule.
 */
void nuc_lt_verify(struct nuc_lt_model *m);

/* One line a tensor and an operator. */
const char *nuc_lt_print(struct nuc_lt_model *m);

#endif
