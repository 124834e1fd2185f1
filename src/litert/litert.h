/*
 * A LiteRT (TensorFlow Lite) model in memory: one flat structure that the reader fills, the lowering builds, the tidy
 * pass rewrites, the verifier checks, the writer serializes and the converter reads. One subgraph is the normal case;
 * models with several are kept whole by the reader. Everything lives in the arena of the context. Tensors are N..C.
 */
#ifndef NUC_LITERT_LITERT_H
#define NUC_LITERT_LITERT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/base/span.h"
#include "host/context.h"
#include "nucleon/types.h"

/* Builtin operators that are known by name; the values are those of BuiltinOperator in the public schema. */
enum nuc_lt_code {
#define LT(name, number, ...) NUC_LT_##name = number,
#include "litert/lt_ops.def"
};

/* Numbers of known operators are below. */
#define NUC_LT_CODES 162

enum nuc_lt_padding { NUC_LT_SAME = 0, NUC_LT_VALID = 1 };

enum nuc_lt_activation {
#define LT_ACTIVATION(name, value, text, low, high) NUC_LT_ACT_##name = value,
#include "litert/lt_ops.def"
};

/* What an activation lets through. */
struct nuc_lt_bounds {
    float low, high;
};

struct nuc_lt_quant {
    uint32_t count; /* 0: not quantized; 1: per tensor; else one per channel of `axis` */
    const float *scale;
    const int64_t *zero_point; /* as many as scales */
    int32_t axis;
};

struct nuc_lt_tensor {
    const char *name;
    enum nuc_dtype dtype : 8;
    bool is_variable : 1;
    bool is_resource : 1; /* stands for a variable that VAR_HANDLE names, and has no type of elements */
    bool is_open : 1;     /* a size that is not known, for which 1 stands */
    bool is_unsigned : 1; /* uint32 or uint64, for which int32 and int64 of the same bits stand */
    uint32_t rank;
    int32_t shape[NUC_MAX_RANK];
    struct nuc_lt_quant quant;
    struct nuc_span data;  /* constants: dense bytes; data == NULL: no data */
    const char *unhandled; /* its type, which `dtype` does not stand for, so that no operator may read it; else NULL */
};

/* A list of sizes in the options. */
struct nuc_lt_list {
    uint32_t count;
    bool present; /* false: the vector is absent */
    int32_t values[NUC_MAX_RANK];
};

/* Options of the operators; which member is valid follows from the code (lt_ops.def). */
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
    struct nuc_lt_list reshape; /* to this shape; absent: operand 1 has it */
    struct nuc_lt_list squeeze; /* these dimensions; empty: every one of size 1 */
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
        int32_t axis, batch_dims;
    } gather;
    struct {
        int32_t count, axis; /* of operands, or of results */
    } pack;                  /* PACK, UNPACK */
    struct {
        int32_t count;
    } split; /* SPLIT, SPLIT_V */
    struct {
        int32_t size;
    } block; /* DEPTH_TO_SPACE, SPACE_TO_DEPTH */
    struct {
        int8_t from, to; /* TensorType of the schema */
    } cast;
    struct {
        bool approximate; /* by the hyperbolic tangent */
    } gelu;
    struct {
        bool exclusive, reverse;
    } cumsum;
    struct {
        int8_t activation; /* of the schema, beyond those that fuse: 4 is TANH */
        float cell_clip, proj_clip;
        int8_t kernel_type; /* LSTM only */
        bool time_major, merge_outputs, asymmetric_quantize_inputs, diagonal_recurrent_tensors;
    } lstm; /* LSTM, RNN and the operators on sequences */
    struct {
        int32_t rank;
        int8_t activation;
        bool asymmetric_quantize_inputs;
    } svdf;
    struct {
        int32_t radius;
        float bias, alpha, beta;
    } response; /* LOCAL_RESPONSE_NORMALIZATION */
    struct {
        int32_t first, second;
    } subgraphs; /* IF: then and else; WHILE: condition and body; CALL_ONCE: one; REVERSE_SEQUENCE: two dimensions */
    struct {
        const char *container, *name; /* NULL: empty */
    } variable;                       /* VAR_HANDLE */
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
    bool has_unknown_options; /* of an operator that is not known: they cannot be written again */
    uint32_t debug_handle;    /* 1 + id of the graph's node it was lowered from; 0: none */
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

/* A way to call the model, by name: a subgraph. */
struct nuc_lt_signature {
    const char *key;
    uint32_t subgraph;
};

struct nuc_lt_model {
    struct nuc_context *cx;
    const char *file; /* for messages */
    const char *description;
    uint32_t n_subgraphs;
    struct nuc_lt_subgraph *subgraphs;
    uint32_t n_signatures; /* as read: a writer leaves them out */
    struct nuc_lt_signature *signatures;
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

struct nuc_lt_bounds nuc_lt_bounds(enum nuc_lt_activation activation);

/* Who writes and who reads each tensor, as of the moment it was made. */
struct nuc_lt_uses {
    int32_t *producer; /* operator that writes a tensor, -1: none */
    uint32_t *first;   /* readers of tensor t are reader[first[t]] to reader[first[t + 1] - 1], in order of execution */
    uint32_t *reader;
};

struct nuc_lt_uses nuc_lt_uses(struct nuc_context *cx, const struct nuc_lt_subgraph *s);

/* Removes tensors of the first subgraph that no operator, input or output names, and renumbers the others. */
void nuc_lt_remove_dead(struct nuc_lt_model *m);

bool nuc_lt_contains(const int32_t *list, uint32_t count, int32_t value);

/* A list that is present. */
struct nuc_lt_list nuc_lt_list(const int32_t *values, uint32_t count);

int64_t nuc_lt_elements(const struct nuc_lt_tensor *t);

/* Distance in elements between neighbours along each dimension. */
void nuc_lt_strides(const struct nuc_lt_tensor *t, int64_t *stride);

/* The int32 or int64 values of a constant, at most `max`. Returns how many; UINT32_MAX: it is not such a constant. */
uint32_t nuc_lt_integers(const struct nuc_lt_tensor *t, uint32_t max, int64_t *out);

/* An axis counted from the front, -1 when the tensor does not have it. */
int32_t nuc_lt_axis(int64_t axis, uint32_t rank);

/* Positions of a window along an axis, and what SAME padding puts before and after the axis. */
struct nuc_lt_windows {
    int64_t count, before, after;
};

/* `span` is the extent of the window with its dilation. */
struct nuc_lt_windows nuc_lt_windows(enum nuc_lt_padding padding, int64_t size, int64_t span, int64_t stride);

/* The same scales, zero points and, with more than one of them, axis. */
bool nuc_lt_quant_equal(const struct nuc_lt_quant *a, const struct nuc_lt_quant *b);

/* Fails with NUC_UNSUPPORTED: "<file>: operator <index> (<NAME>): <message>". */
_Noreturn void nuc_lt_refuse(const struct nuc_lt_model *m, uint32_t index, const struct nuc_lt_op *op,
                             const char *format, va_list args) __attribute__((format(printf, 4, 0)));

/* ---- reader, writer, verifier ---- */

/* Of the elements, as models name it. */
const char *nuc_lt_type_name(const struct nuc_lt_tensor *t);

/* That a tensor is of a type that is not handled. */
const char *nuc_lt_type_text(struct nuc_context *cx, const char *name, const char *type);

/* Reads an untrusted .tflite; tensor data stays in place in `bytes`. `file` names it in messages. */
struct nuc_lt_model *nuc_lt_read(struct nuc_context *cx, const char *file, struct nuc_span bytes);

/* Same model, same bytes. File identifier TFL3, version 3. */
struct nuc_span nuc_lt_write(struct nuc_lt_model *m);

/*
 * Structure: indices in range, execution order, one producer per tensor. Quantization: the rules of the reference's
 * quantization_verification (shared parameters of reshapes and pools, fixed output parameters, bias scale). Fails with
 * NUC_BAD_INPUT naming operator, tensor and rule.
 */
void nuc_lt_verify(const struct nuc_lt_model *m);

/* The structure alone: what may be assumed of a model that was read. */
void nuc_lt_verify_structure(const struct nuc_lt_model *m);

/* A line per tensor and per operator. */
const char *nuc_lt_print(struct nuc_lt_model *m);

#endif
