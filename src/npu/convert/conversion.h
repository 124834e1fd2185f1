/* State of a conversion, shared by the files convert_*.c. */
#ifndef NUC_NPU_CONVERT_CONVERSION_H
#define NUC_NPU_CONVERT_CONVERSION_H

#include "device/base/fixed_point.h"
#include "device/base/microcode_header.h"
#include "device/base/microcode_table.h"
#include "npu/convert/convert.h"

/* Space of an operand that stands for tensor `where >> 8` until addresses are known. */
#define CV_TENSOR NUC_MC_SPACE_COUNT

/* An operator on its way to kernel calls. */
struct nuc_cv_node {
    const struct nuc_lt_op *op;
    uint32_t index; /* of the LiteRT operator */
    bool dropped;   /* became part of another, or an alias */
    uint32_t whole; /* 1 + index of the node this one became part of, 0: none */
    int32_t input;  /* tensor of the first operand: the operator's, or that of a pad that was merged */
    int32_t output; /* tensor of the result: the operator's, or that of an activation that was merged */
    bool has_pad;   /* zeros around H and W of the input, merged from a PAD */
    int32_t pad_top, pad_left;
    int32_t pad_value;
    int32_t clamp_min, clamp_max; /* merged activation, in steps of the output */
    const int8_t *table; /* 256 results of q = -128 ... 127, when the operator is a function of one value; else NULL */
    const int8_t *last_table; /* of a function that the operator's call applies to its result, or NULL */
    uint32_t turn;            /* 1 + index of the TRANSPOSE in whose order a product writes its result, 0: none */
    const int32_t **picks;    /* of a concatenation of slices of n->input alone: by dimension, the index there of each
                                 index of the result, NULL: its own; else NULL */
};

/* Where the bytes of one tensor lie inside another: from `at` on, in rows of `row` bytes, `pitch` bytes apart. */
struct nuc_cv_layout {
    int64_t at;
    int64_t row, pitch; /* row 0: without gaps */
};

struct nuc_cv_place {
    int32_t holder; /* tensor that has a buffer of its own */
    struct nuc_cv_layout layout;
};

struct nuc_cv_tensor {
    int32_t alias;               /* tensor that holds the bytes: itself, or another */
    struct nuc_cv_layout inside; /* where in the other */
    int32_t producer;            /* node, -1: none */
    uint32_t n_uses;             /* by nodes, and as output of the graph */
    int32_t input_index;         /* of the graph, -1 */
    int32_t output_index;        /* of the graph, -1; on the tensor that holds the bytes */
    bool constant;
    bool
        turned; /* an alias in the order of the operand of the TRANSPOSE that makes it: strides of products undo that */
    uint32_t weights_at; /* offset + 1 of a constant once it is in the weights; 0 before */
};

/* Bytes that grow. */
struct nuc_cv_bytes {
    uint8_t *data;
    size_t size, capacity;
};

/* The weights of the calls of one node, when they are fetched: bytes [start, end). */
struct nuc_cv_window {
    uint32_t first_call, end_call;
    size_t start, end;
};

struct nuc_cv {
    struct nuc_context *cx;
    const struct nuc_lt_model *model;
    const struct nuc_lt_subgraph *graph;
    struct nuc_cv_node *nodes; /* graph->n_ops */
    struct nuc_cv_tensor *tensors;
    uint32_t *order;            /* nodes in order of execution */
    struct nuc_cv_views *views; /* of convert_view.c */
    struct nuc_cv_bytes weights, records;
    struct nuc_cv_bytes firsts; /* the byte at each place in the weights that a constant may be shared from */
    struct nuc_neutron_call *calls;
    size_t calls_capacity;
    uint32_t n_calls;
    bool fetch;                    /* weights of different nodes are kept apart: */
    struct nuc_cv_window *windows; /* of the nodes so far */
    size_t n_windows, windows_capacity;
    bool pool_boundaries;              /* inputs and outputs are planned with the intermediates */
    bool revision_3;                   /* calls are those of the microcode's revision 3 */
    const struct nuc_npu_costs *costs; /* of the NPU */
    uint32_t revision;                 /* the oldest one that has all calls so far */
    const struct nuc_cv_node *current; /* node whose calls are being emitted */
};

/* Quantization of an int8 tensor with one scale. */
struct nuc_cv_params {
    float scale;
    int32_t zero;
};

/* Fails with NUC_UNSUPPORTED: "<file>: operator <i> (<NAME>): <message>". */
_Noreturn void nuc_cv_fail(const struct nuc_cv *cv, const struct nuc_cv_node *n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- tensors ---- */

/* How many operands the node reads, the first of them n->input: one when it is a table. */
static inline uint32_t nuc_cv_n_operands(const struct nuc_cv_node *n)
{
    return n->table || n->picks ? 1 : n->op->n_inputs;
}

/* The tensor of operand `k` of these, negative where it is left out. */
static inline int32_t nuc_cv_operand(const struct nuc_cv_node *n, uint32_t k)
{
    return k == 0 ? n->input : n->op->inputs[k];
}

/* Operand `i` of the LiteRT operator, or NULL when it is left out or beyond the list. */
const struct nuc_lt_tensor *nuc_cv_in(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t i);
/*
 * The first operand after merging, and the operator's own result: its quantization is what the operator computes in,
 * also when the bytes go to the tensor of a merged activation.
 */
const struct nuc_lt_tensor *nuc_cv_x(const struct nuc_cv *cv, const struct nuc_cv_node *n);
const struct nuc_lt_tensor *nuc_cv_y(const struct nuc_cv *cv, const struct nuc_cv_node *n);

/* Fails unless the tensor is int8 with one scale. */
struct nuc_cv_params nuc_cv_params(const struct nuc_cv *cv, const struct nuc_cv_node *n, const struct nuc_lt_tensor *t);
bool nuc_cv_same_params(const struct nuc_cv *cv, const struct nuc_cv_node *n, const struct nuc_lt_tensor *a,
                        const struct nuc_lt_tensor *b);

/* The int8 value nearest to a real one. */
int32_t nuc_cv_quantized(struct nuc_cv_params p, float value);

/*
 * The range of the result: the operator's fused activation, then merged ones. Clamping both ends of a range by the
 * next gives the range of the two clamps after each other, also when they do not meet.
 */
void nuc_cv_clamp(const struct nuc_cv *cv, const struct nuc_cv_node *n, enum nuc_lt_activation activation, int32_t *low,
                  int32_t *high);

/* The int32 (or int64) values of constant operand `i`. Fails when it is absent, not constant or of another type. */
uint32_t nuc_cv_integers(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t i, uint32_t max, int64_t *out);

/* Axes of constant operand 1, non-negative, as a set of bits. */
uint32_t nuc_cv_axes(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t rank);

/* Dimensions of a record: sizes, and distances between neighbours in two operands. */
struct nuc_cv_dimensions {
    int32_t *rank, *shape, *a, *b;
};

/*
 * Adds an inner dimension. One of size 1 is left out, and one that both operands run through widens the dimension
 * before it unless they are to stay apart. False: there are too many.
 */
bool nuc_cv_add_dimension(struct nuc_cv_dimensions *d, int64_t size, int64_t a, int64_t b, bool apart);

/* What a pad fills with: PAD the zero point, PADV2 its third operand. False: that is not an int8 constant. */
bool nuc_cv_pad_value(const struct nuc_cv *cv, const struct nuc_cv_node *n, int32_t *value);

/* ---- places ---- */

/* Bytes of the tensor's elements without gaps. */
int64_t nuc_cv_bytes(const struct nuc_cv *cv, int32_t tensor);
struct nuc_cv_place nuc_cv_place(const struct nuc_cv *cv, int32_t tensor);

/* The same; false: strides do not describe where it lies. */
bool nuc_cv_find_place(const struct nuc_cv *cv, int32_t tensor, struct nuc_cv_place *place);

/* Neither a constant nor an input or output: it takes place in the scratch buffer. */
bool nuc_cv_in_scratch(const struct nuc_cv *cv, int32_t tensor);

/* Moves *layout of a tensor of `bytes` from inside another tensor to inside that one's holder. False: it has none. */
bool nuc_cv_compose(struct nuc_cv_layout *layout, int64_t bytes, const struct nuc_cv_layout *outer);

/* Distance in bytes between neighbours along each dimension of tensor `t` in its holder. False: there are none. */
bool nuc_cv_strides(const struct nuc_lt_tensor *t, const struct nuc_cv_layout *layout, int64_t *stride);

/*
 * Sizes of a TRANSPOSE's operand and distances in bytes between neighbours, in the order of the result. A dimension in
 * which rows of memory end, or that lies in the order of another TRANSPOSE, is several, the outer one first.
 */
struct nuc_cv_turned {
    uint32_t rank;
    int64_t size[NUC_MAX_RANK], stride[NUC_MAX_RANK];
    uint32_t of[NUC_MAX_RANK]; /* dimension of the result */
};

/* False: there are none, or the permutation does not lead to the result. */
bool nuc_cv_turn(const struct nuc_cv *cv, const struct nuc_cv_node *n, struct nuc_cv_turned *out);

/*
 * Distances between the matrices, rows and columns of a product's operand or result where it lies; 0 where there is one
 * alone. With inner > 0 every inner matrices have their own distance, and stride[0] is from one such group to the next.
 */
struct nuc_cv_matrices {
    int64_t stride[3], inner, inner_stride;
};

/* Of both operands and the result of a product, all with one `inner`. False: strides do not describe them. */
bool nuc_cv_product_matrices(const struct nuc_cv *cv, const struct nuc_cv_node *n, struct nuc_cv_matrices of[3]);

/* What the tensor is an alias of, past those of all its bytes as they are, and whether that is turned. */
int32_t nuc_cv_turned_alias(const struct nuc_cv *cv, int32_t tensor, bool *turned);

/* The axis of a concatenation, or -1 when operands and result do not fit each other; it is refused when it is emitted.
 */
int32_t nuc_cv_concat_axis(const struct nuc_cv *cv, const struct nuc_cv_node *n);

/* The layout of operand `i` of a concatenation, which begins at position `at` of the axis, inside the result. */
struct nuc_cv_layout nuc_cv_concat_part(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t i, int64_t at);

/* ---- output ---- */

struct nuc_mc_ref nuc_cv_tensor_ref(struct nuc_cv *cv, int32_t tensor); /* constants go into the weights */
struct nuc_mc_ref nuc_cv_input_ref(struct nuc_cv *cv, uint32_t i);      /* operand `i` of the current node */
/* The result of the current node, whose kernel writes without gaps, and the pitch of one that writes rows. */
struct nuc_mc_ref nuc_cv_output_ref(struct nuc_cv *cv);
int32_t nuc_cv_out_pitch(const struct nuc_cv *cv);
struct nuc_mc_ref nuc_cv_weights_ref(struct nuc_cv *cv, const void *data, size_t size); /* 16-byte aligned, shared */

/* Appends a call for the current node. The record's call words are filled in, and the node's last table is added. */
void nuc_cv_emit(struct nuc_cv *cv, uint32_t opcode, union nuc_mc_record *r);

/* Appends a call whose record is complete. */
void nuc_cv_add_record(struct nuc_cv *cv, const void *record, size_t size);

/* Number of operands a record begins with. */
uint32_t nuc_cv_refs_of(uint32_t opcode);

/* ---- kernels ---- */

/* What the rows of a kernel's output are. */
enum nuc_cv_rows {
    CV_ROWS_NONE,
    CV_ROWS_LAST,   /* the last dimension */
    CV_ROWS_BINARY, /* what broadcasting leaves whole */
    CV_ROWS_MOVED,  /* any that strides describe */
};

/* Appends the calls of one node. */
typedef void nuc_cv_emitter(struct nuc_cv *cv, const struct nuc_cv_node *n);

/* What the kernel calls of operators of one kind are like. */
struct nuc_cv_kernel {
    enum nuc_cv_rows rows;
    bool clamps; /* its result, to a range that activations after it become part of */
    bool tables; /* one call, which can apply a table to its result */
};

/* The one of a LiteRT operator, by the word in lt_ops.def. */
const struct nuc_cv_kernel *nuc_cv_kernel(int32_t code);
bool nuc_cv_is_binary(int32_t code);

/* The opcode of an elementwise operator of two operands, or of a reduction. */
uint32_t nuc_cv_opcode(int32_t code);

/* ---- parts ---- */

/* convert_table.c: the table of an operator that is a function of one int8 value, NULL for others. */
const int8_t *nuc_cv_table(struct nuc_cv *cv, const struct nuc_cv_node *n);

/* convert_binary.c */
struct nuc_mc_binary nuc_cv_binary(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t *opcode);
/* Shape and strides; with row > 0 the last dimension has that many elements. False: that cannot be. */
bool nuc_cv_binary_shape(const struct nuc_cv *cv, const struct nuc_cv_node *n, int64_t row, struct nuc_mc_binary *e);

/* convert_pixels.c: neighbouring pixels as one of more channels, where that takes fewer cycles. */
struct nuc_channel_constants;
void nuc_cv_fold_pixels(struct nuc_cv *cv, struct nuc_mc_conv *c, struct nuc_channel_constants *k);

/* convert_merge.c: tables, merged pads and activations, joined slices, turned products, aliases. */
void nuc_cv_merge(struct nuc_cv *cv);

/*
 * convert_function.c: an operator of two operands that are functions of one tensor is a function of that tensor, too.
 * Tables have been made for operators of one operand.
 */
void nuc_cv_find_functions(struct nuc_cv *cv);

/*
 * convert_read.c: whether the node can do its work where `tensor` lies now, an operand or its result: read all operands
 * where they lie, but for a concatenation, which reads one whatever the others are.
 */
bool nuc_cv_can_use(const struct nuc_cv *cv, const struct nuc_cv_node *n, int32_t tensor);
/* The pitch of the rows a tensor lies in, 0: without gaps. */
int32_t nuc_cv_in_pitch(const struct nuc_cv *cv, int32_t tensor);

/* convert_fetch.c: puts the copies of weights between the calls. Returns the bytes of the staging buffer. */
uint32_t nuc_cv_add_fetches(struct nuc_cv *cv);

/* convert_names.c: the debug handles of all operators in each call. */
void nuc_cv_collect_handles(struct nuc_cv *cv);
/* The names of the calls by their handles, for the microcode. */
const struct nuc_kernel_name *nuc_cv_call_names(struct nuc_cv *cv, const struct nuc_convert_options *options);

/* convert_view.c: parts of concatenations and contiguous slices become places inside other tensors. */
void nuc_cv_make_views(struct nuc_cv *cv);

/* convert_order.c: the order of execution that needs the least memory. */
void nuc_cv_find_order(struct nuc_cv *cv);

/* convert_plan.c: addresses of all operands of the records, the scratch plan of the image. */
void nuc_cv_assign_addresses(struct nuc_cv *cv, struct nuc_neutron_image *image);

/* Emission, by kind of kernel. */
nuc_cv_emitter nuc_cv_emit_conv, nuc_cv_emit_transpose_conv, nuc_cv_emit_fully_connected, nuc_cv_emit_batch_matmul,
    nuc_cv_emit_binary, nuc_cv_emit_pool, nuc_cv_emit_reduce, nuc_cv_emit_softmax, nuc_cv_emit_table,
    nuc_cv_emit_reshape, nuc_cv_emit_transpose, nuc_cv_emit_pad, nuc_cv_emit_concat, nuc_cv_emit_slice,
    nuc_cv_emit_mirror_pad, nuc_cv_emit_nearest, nuc_cv_emit_bilinear;

#endif
